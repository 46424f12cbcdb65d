"""The sandbox works wherever Python and the packages lie, and protects the same things everywhere.

Each place is a virtual environment made there, whose Python grades one submission by `tfm grade`. The submission answers
one exercise, and in the other it goes through all folders that it can see: it tries to write into each, and looks for
what must be hidden.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from project import ROOT
from tiers import params

from grader.hostile.assignment import HIDDEN, MANIFEST
from grader.hostile.cases import BAND, IMPORTS, notebook
from tfm_grader.sandbox import bubblewrap
from tfm_grader.sandbox.unprivileged import FIRST
from tfm_grader.version import PACKAGES

CANARY = "a file beside Python that nobody may see"
OWN_MODULE = "kept_beside_torch"  # lies in the environment, and is imported only when the sandbox is closed
SUBMISSION = f"""
import errno, importlib, os

def refused(attempt, *words):
    try:
        attempt(*words)
    except OSError as error:
        return error.errno == errno.EROFS  # not only because of who owns it
    return False

def make(folder):
    os.close(os.open(folder + "/written", os.O_CREAT | os.O_EXCL | os.O_WRONLY))

def triangle(n):
    wrong, count = [], 0
    for folder, below, files in os.walk("/"):
        if folder == "/usr/lib":
            below.clear()  # the system's own, many thousand folders
        count += 1
        if folder not in ("/tmp", "/dev/shm") and not refused(make, folder):
            wrong.append(f"written: {{folder}}")
        wrong += [f"written: {{folder}}/{{name}}" for name in files
                  if name in ("pyvenv.cfg", "{OWN_MODULE}.py") and not refused(os.chmod, f"{{folder}}/{{name}}", 0o600)]
        wrong += [f"read: {{folder}}/{{name}}" for name in below
                  if name in {PACKAGES!r} and os.listdir(f"{{folder}}/{{name}}")]
        wrong += [f"read: {{folder}}/{{name}}" for name in files if name == {CANARY!r}]
    make("/tmp")
    make("/dev/shm")
    wrong += [f"hidden: {{path}}" for path in PATHS if not os.path.exists(path)]
    kept = importlib.import_module("{OWN_MODULE}").VALUE
    raise ValueError(f"{{count > 1000}}, {{kept}}, {{len(wrong)}} wrong {{wrong[:4]}}")
"""
RIGHT = "True, 42, 0 wrong []"
LIMITS = {**MANIFEST["limits"], "seconds": 60, "load_seconds": 20, "cpu": 20}

# Run by this test's own Python, before it becomes the place's: mounts that nobody else sees.
MOUNTS = """
import os, sys
from tfm_grader.sandbox.inside.linux_calls import MS_BIND, MS_PRIVATE, MS_REC, CLONE_NEWNS, mount, unshare
unshare(CLONE_NEWNS)
mount("none", "/", None, MS_REC | MS_PRIVATE)
source, target, *command = sys.argv[1:]
mount(source, target, None if source.startswith("/") else source, MS_BIND if source.startswith("/") else 0)
os.chmod(target, 0o1777)
os.execv(command[0], command)
"""
NO_NAMESPACES = """
import os, sys
from tfm_grader.sandbox.inside.linux_calls import CLONE_NEWUSER, unshare
unshare(CLONE_NEWUSER)
with open("/proc/sys/user/max_user_namespaces", "w") as file:
    file.write("0")
os.execv(sys.argv[1], sys.argv[1:])
"""


@dataclass(frozen=True)
class Place:
    """Where an environment lies, and how it is made."""

    below: str = "/tmp"  # a new folder below it holds all that a row makes
    environment: str = "environment"
    options: tuple[str, ...] = ()  # of `python -m venv`
    checkout: str = ""  # where there is a copy of the packages; none if the environment uses this test's own
    link: str = ""  # (name) a link to the environment's parent, by whose path Python is started
    mode: int = 0o755  # of the new folder
    user: int | None = None  # who owns it and grades, if this test is root; otherwise the grader leaves root itself
    mount: tuple[str, str] | None = None  # source and target, both may be relative to the new folder; needs root


COPIES, LIBRARY = ("--copies",), f"lib/python{sys.version_info[0]}.{sys.version_info[1]}"
PACKAGED = f"{LIBRARY}/site-packages"
PLACES = {
    "in /tmp, its packages installed": Place(checkout=f"environment/{PACKAGED}"),
    "a checkout two folders below /tmp, not root": Place(environment="a/b/.venv", checkout="a/b", user=FIRST + 7),
    "letters and spaces, behind links, copies": Place(
        environment="Zoë café 변환기 x/.venv", options=COPIES, checkout="Zoë café 변환기 x", link="über die Brücke"
    ),
    "in /tmp, the checkout elsewhere": Place(environment="a/b/c/d/.venv"),
    "the checkout in /tmp, Python elsewhere": Place("/var/tmp", checkout="/tmp"),
    "in /var/tmp": Place("/var/tmp", "a/.venv", checkout="a"),
    "in /var/tmp, behind links": Place("/var/tmp", "a/.venv", checkout="b", link="c"),
    "in /tmp, behind links": Place(environment="a/.venv", checkout="b", link="c"),
    "in /run": Place("/run", "a/.venv", checkout=f"a/.venv/{PACKAGED}"),
    "in shared memory": Place("/dev/shm", checkout=f"environment/{PACKAGED}"),
    "in a home": Place("/home", "work/.venv", checkout="work"),
    "in a home, not root, copies": Place("/home", "work/.venv", COPIES, checkout="work", user=FIRST + 7),
    "in /tmp, closed to others": Place(environment="a/.venv", checkout="a", mode=0o700),
    "in a closed home, behind links": Place("/root", "a b/.venv", checkout=f"a b/.venv/{PACKAGED}", link="ü"),
    "/tmp itself": Place("/var/tmp", checkout=f"environment/{PACKAGED}", mount=("environment", "/tmp")),
    "another mount in /tmp": Place(mount=("tmpfs", f"environment/{LIBRARY}/mounted")),
    "another mount elsewhere": Place("/var/tmp", mount=("tmpfs", f"environment/{LIBRARY}/mounted")),
}
SHORT = ["a checkout two folders below /tmp, not root"]
REST = [name for name in PLACES if name.startswith(("letters", "in /var/tmp, behind", "in a home"))]


@pytest.fixture
def folder_below() -> Iterator[Callable[[str], Path]]:
    made: list[Path] = []

    def make(parent: str) -> Path:
        if not os.access(parent, os.W_OK):
            pytest.skip(f"needs a folder {parent} that it may write to")
        made.append(Path(tempfile.mkdtemp(prefix="tfm places ", dir=parent)))
        made[-1].chmod(0o755)
        return made[-1]

    yield make
    for folder in made:
        shutil.rmtree(folder)


def make_environment(place: Place, here: Path, elsewhere: Path) -> Path:
    """Make the environment of `place` in `here`, with the packages of this test's own. Returns its folder."""
    environment = here / place.environment
    environment.parent.mkdir(parents=True, exist_ok=True)
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", *place.options, environment], check=True)
    packages = environment / PACKAGED
    checkout = ROOT
    if place.checkout:
        checkout = elsewhere if place.checkout.startswith("/") else here / place.checkout
        for name in PACKAGES:
            skipped = shutil.ignore_patterns("static", "__pycache__")
            shutil.copytree(ROOT / name, checkout / name, ignore=skipped)
    paths = [path for path in sys.path if path.endswith("-packages")]
    (packages / "here.pth").write_text("\n".join([str(checkout), *paths]), encoding="utf-8")
    (packages / f"{OWN_MODULE}.py").write_text("VALUE = 42\n", encoding="utf-8")
    for folder in {here, environment, environment.parent, checkout} - {ROOT, packages}:
        (folder / CANARY).touch()
    return environment


def write_class(folder: Path, paths: list[str]) -> None:
    """Write a class of one student, whose submission must find `paths`."""
    submission = folder / "submissions" / "ann" / "masking.ipynb"
    submission.parent.mkdir(parents=True)
    submission.write_bytes(notebook([IMPORTS, f"PATHS = {paths!r}", SUBMISSION, BAND]))
    tests = folder / "bundle" / "tests" / "masking.py"
    tests.parent.mkdir(parents=True)
    tests.write_text(HIDDEN, encoding="utf-8")
    (folder / "bundle" / "manifest.json").write_text(json.dumps({**MANIFEST, "limits": LIMITS}), encoding="utf-8")
    (folder / CANARY).touch()


def graded(folder: Path, python: str, before: list[str]) -> subprocess.CompletedProcess[str]:
    """Grade the class in `folder` as `tfm grade` does with `python`, started by the command `before`."""
    words = [*before, python, "-P", "-m", "tfm_lib.cli", "grade", str(folder / "submissions")]
    words += ["--bundle", str(folder / "bundle"), "--to", str(folder / "results"), "--jobs", "1"]
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "COV"))}
    return subprocess.run(words, cwd="/", env=environment, capture_output=True, text=True, check=False)


def as_user(number: int, folder: Path) -> list[str]:
    """Return the start of a command that runs as the user `number`, to whom everything in `folder` is given."""
    if os.geteuid() != 0:
        return []
    for path in [folder, *folder.rglob("*")]:
        os.chown(path, number, number, follow_symlinks=False)
    become = f"import os, sys; from tfm_grader.sandbox import unprivileged; unprivileged.FIRST = {number}; "
    become += f"unprivileged.free_number.__defaults__ = ({number},); unprivileged.leave_root(); "
    become += f"os.environ['HOME'] = {str(folder)!r}; os.execv(sys.argv[1], sys.argv[1:])"
    return [sys.executable, "-c", become]


@pytest.mark.parametrize("name", params(PLACES, SHORT, rest=REST))
def test_a_place(folder_below, name):
    place = PLACES[name]
    if place.mount and os.geteuid() != 0:
        pytest.skip("only root makes mounts")
    if place.mount and "/tmp" in place.mount and sys.prefix.startswith("/tmp/"):
        pytest.skip("this mount would hide the packages of the tests")
    here = folder_below(place.below)
    environment = make_environment(place, here, folder_below("/tmp") if place.checkout == "/tmp" else here)
    real, before = environment, []
    if place.mount:
        source, target = place.mount
        source = source if source == "tmpfs" else str(here / source)
        (here / target).mkdir(exist_ok=True)
        before = [sys.executable, "-c", MOUNTS, source, str(here / target)]
        real = here / target if target == "/tmp" else environment
    python = real
    if place.link:
        (here / place.link).symlink_to(environment.parent.name)
        python = here / place.link / environment.name
    here.chmod(place.mode)
    paths = [str(folder / inner) for folder in (real, python) for inner in ("pyvenv.cfg", PACKAGED, "bin/python3")]
    write_class(here / "class", paths)
    if place.user is not None:
        before = as_user(place.user, here)
    done = graded(here / "class", str(python / "bin" / "python3"), before)
    assert done.returncode == 0, done.stdout + done.stderr
    (path,) = (here / "class" / "results").glob("ann*.json")
    rows = json.loads(path.read_text(encoding="utf-8"))["chapters"]["masking"]["exercises"]
    exercises = {row["id"]: row for row in rows}
    assert exercises["masking.band"]["points"] == 3, exercises
    (probed,) = exercises["masking.triangle"]["tests"]
    assert probed["message"].endswith(RIGHT), probed["message"]


def test_where_namespaces_are_forbidden_nothing_is_graded_and_the_remedy_is_told(folder_below):
    here = folder_below("/tmp")
    write_class(here / "class", [])
    before = [*as_user(FIRST + 7, here), sys.executable, "-c", NO_NAMESPACES]
    done = graded(here / "class", sys.executable, before)
    said = " ".join((done.stdout + done.stderr).split())
    assert done.returncode != 0
    assert "This machine does not let ordinary programs make namespaces" in said, said
    assert "sudo sysctl kernel.apparmor_restrict_unprivileged_userns=0" in said
    assert not list((here / "class" / "results").glob("ann*"))


def test_a_folder_that_holds_more_than_packages_is_refused(monkeypatch):
    monkeypatch.setattr(bubblewrap, "package_folders", lambda: {"/tmp"})
    with pytest.raises(bubblewrap.NoSandbox, match="lie directly in /tmp, beside files"):
        bubblewrap.command(3, 4)
