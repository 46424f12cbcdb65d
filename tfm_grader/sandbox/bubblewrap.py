"""Build the bubblewrap command that starts a sandbox, and decide which files are visible in it."""

from __future__ import annotations

import importlib.util
import os
import platform
import shutil
import site
import sys
import sysconfig
from collections.abc import Iterator
from pathlib import Path

from tfm_grader.sandbox.inside import seccomp
from tfm_grader.version import PACKAGES
from tfm_lib._packages import apt_install
from tfm_lib._refusal import Refusal

INSIDE = Path(__file__).parent / "inside"
START = "import sys; sys.path.insert(0, {grader!r}); import runpy; sys.argv[1:] = {files!r}; runpy.run_module('inside', run_name='__main__')"
ENVIRONMENT = {
    "PATH": "/usr/bin:/bin",
    "HOME": "/tmp",
    "TMPDIR": "/tmp",
    "USER": "student",
    "LANG": "C.UTF-8",
    "OMP_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "PYTHONDONTWRITEBYTECODE": "1",
    "PYTHONHASHSEED": "0",
    "TORCHDYNAMO_DISABLE": "1",  # torch.compile returns functions unchanged: nothing is compiled in a sandbox
    "MPLBACKEND": "Agg",
    "MPLCONFIGDIR": "/tmp",
}


class NoSandbox(Refusal):
    """No sandbox works here; the message says why, and what to do."""


def require_bubblewrap() -> str:
    """Return the path of `bwrap`. Raises NoSandbox if it is missing or the platform is unsupported."""
    if platform.system() != "Linux" or not seccomp.supported():
        raise NoSandbox(
            "Submissions are run in a bubblewrap sandbox, which needs Linux on x86_64 or aarch64. Grade on such a machine."
        )
    program = shutil.which("bwrap")
    if program is None:
        raise NoSandbox(
            "bubblewrap is not installed, and submissions are not run without a sandbox. "
            "On Debian and Ubuntu: sudo apt install bubblewrap; on Fedora: sudo dnf install bubblewrap."
        )
    return program


def command(wire: int, report: int) -> list[str]:
    """Build the command that starts a sandbox, with its channel on `wire` and its exit report on `report`."""
    words = [require_bubblewrap(), "--unshare-all", "--die-with-parent", "--new-session"]
    words += ["--clearenv", "--hostname", "sandbox"]
    for name, value in ENVIRONMENT.items():
        words += ["--setenv", name, value]
    words += ["--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp"]  # must precede the bind mounts below
    for folder in visible_folders():
        words += ["--ro-bind", folder, folder]
    for settings in {os.path.join(prefix, "pyvenv.cfg") for prefix in (sys.prefix, sys.exec_prefix)}:
        words += ["--ro-bind-try", settings, settings]
    for link in ("/bin", "/sbin", "/lib", "/lib64", "/lib32"):
        if os.path.islink(link):
            words += ["--symlink", os.readlink(link), link]
        elif os.path.isdir(link):
            words += ["--ro-bind", link, link]
    for link, target in links_to_python():
        words += ["--symlink", target, link]
    if os.path.exists("/etc/ld.so.cache"):
        words += ["--ro-bind", "/etc/ld.so.cache", "/etc/ld.so.cache"]
    for hidden in book_folders():
        words += ["--tmpfs", hidden, "--remount-ro", hidden]
    words += ["--ro-bind", str(INSIDE), "/grader/inside"]
    words += ["--remount-ro", "/dev", "--remount-ro", "/", "--chdir", "/"]
    return [*words, sys.executable, "-I", "-c", START.format(grader="/grader", files=[str(wire), str(report)])]


def visible_folders() -> list[str]:
    """List the outermost folders of Python, its packages and the system libraries.

    A submission can read these folders and no others.
    """
    prefixes = {sys.prefix, sys.base_prefix, sys.exec_prefix, sys.base_exec_prefix}
    paths = {os.path.join(prefix, name) for prefix in prefixes for name in ("bin", "lib", "lib64")}
    paths |= {
        "/usr/lib",
        "/usr/lib64",
        "/usr/lib32",
        "/usr/local/lib",
        sysconfig.get_path("stdlib"),
        *package_folders(),
    }
    paths = {path for path in paths if os.path.isdir(path)}
    real = {os.path.abspath(path) for path in paths} | {os.path.realpath(path) for path in paths}
    return sorted(path for path in real if not any(_below(path, other) for other in real))


def package_folders() -> set[str]:
    """Return this interpreter's site-packages folders, and others that contain packages a submission needs."""
    found = {sysconfig.get_path("purelib"), sysconfig.get_path("platlib"), *site.getsitepackages()}
    if site.ENABLE_USER_SITE:
        found.add(site.getusersitepackages())
    for package in ("torch", "numpy", "jaxtyping", "IPython"):
        spec = importlib.util.find_spec(package)
        if spec is not None and spec.origin is not None:
            found.add(os.path.dirname(os.path.dirname(spec.origin)))
    return found


def links_to_python() -> Iterator[tuple[str, str]]:
    """Yield the links, with targets, that lead to the interpreter through folders that are not visible."""
    folders, link = visible_folders(), sys.executable
    while os.path.islink(link):
        target = os.readlink(link)
        if not any(Path(link).is_relative_to(folder) for folder in folders):
            yield link, target
        link = os.path.join(os.path.dirname(link), target)


def book_folders() -> list[str]:
    """List where the book's packages are installed; hidden in the sandbox, because they contain answers."""
    found = {os.path.join(folder, name) for folder in package_folders() for name in PACKAGES}
    for folder in visible_folders():  # also those of other Python versions
        found |= {str(path) for name in PACKAGES for path in Path(folder).glob(f"python3*/*-packages/{name}")}
    return sorted(path for path in found if os.path.isdir(path))


def require_outside(folders: list[Path]) -> None:
    """Require that submissions cannot read any of `folders`. Raises NoSandbox."""
    for folder in folders:
        for shown in visible_folders():
            if _below(os.path.realpath(folder), shown) or os.path.realpath(folder) == shown:
                raise NoSandbox(
                    f"{folder} lies inside {shown}, which submissions can read because Python is installed there. "
                    "Move it elsewhere, and run the command again."
                )


def _below(path: str, folder: str) -> bool:
    return path != folder and os.path.commonpath([path, folder]) == folder


def install_bubblewrap() -> None:
    """Install bubblewrap if it is missing. Raises NoSandbox if it cannot be installed."""
    if platform.system() == "Linux" and shutil.which("bwrap") is None:
        print("Sandbox: no bubblewrap found, installing it.", flush=True)
        apt_install("bubblewrap")
    require_bubblewrap()


if __name__ == "__main__":
    try:
        install_bubblewrap()
    except NoSandbox as missing:
        if platform.system() == "Linux":
            sys.exit(str(missing))
        print(f"{missing} The tests of grading will fail here; all others run.")
