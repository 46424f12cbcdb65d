"""Make a Dask cluster's TLS key: `python -m tfm_grader.judging.cluster_keys FOLDER`.

Scheduler, workers and `tfm grade` share one key and reject peers without it. Dask finds it through the variable
DASK_CONFIG, which names the folder.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

from tfm_lib._refusal import Refusal

DAYS = 200  # one term plus the resits in the next
SETTINGS = """distributed:
  scheduler: {{http: {{routes: []}}}}  # pages about workers, tasks and logs, which anybody could read
  worker: {{http: {{routes: []}}}}
  comm:
    require-encryption: true
    tls:
      ca-file: {folder}/cert.pem
{parts}"""
PART = "      {part}:\n        cert: {folder}/cert.pem\n        key: {folder}/key.pem\n"


class NoKeys(Refusal):
    """The key cannot be made; the message says why."""


def make_keys(folder: Path) -> None:
    """Create a key, its certificate and Dask's settings in a new `folder`. Raises NoKeys."""
    program = shutil.which("openssl")
    if program is None:
        raise NoKeys("openssl is not installed, which makes the key. On Debian and Ubuntu: sudo apt install openssl.")
    try:
        folder.mkdir(mode=0o700, parents=True)
    except FileExistsError:
        raise NoKeys(f"{folder} is there already. Name a new folder, or go on using the key in it.") from None
    place = folder.resolve()
    command = [program, "req", "-x509", "-newkey", "rsa:3072", "-nodes", "-days", str(DAYS), "-subj", "/CN=tfm-grade"]
    made = subprocess.run(
        [*command, "-keyout", str(place / "key.pem"), "-out", str(place / "cert.pem")],
        capture_output=True,
        text=True,
        check=False,
    )
    if made.returncode:
        raise NoKeys(f"openssl did not make the key: {made.stderr.strip().splitlines()[-1]}")
    os.chmod(place / "key.pem", 0o600)
    parts = "".join(PART.format(part=part, folder=place) for part in ("client", "scheduler", "worker"))
    (place / "dask.yaml").write_text(SETTINGS.format(folder=place, parts=parts), encoding="utf-8")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("Name the folder for the key: python -m tfm_grader.judging.cluster_keys FOLDER")
    try:
        make_keys(Path(sys.argv[1]))
    except NoKeys as refused:
        sys.exit(str(refused))
    print(
        f"Copy {sys.argv[1]} to the same place on every machine, and there: export DASK_CONFIG={Path(sys.argv[1]).resolve()}"
    )
