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
from tfm_grader.version import HOME, PACKAGES
from tfm_lib._packages import apt_install
from tfm_lib._refusal import Refusal

INSIDE = Path(__file__).parent / "inside"
SYSTEM_LINKS = ("/bin", "/sbin", "/lib", "/lib64", "/lib32")  # links on most systems, folders on some
TOO_WIDE = {
    "/",
    "/tmp",
    "/var/tmp",
    "/dev",
    "/dev/shm",
    "/run",
    "/proc",
    "/etc",
    "/home",
    "/root",
    os.path.realpath(os.path.expanduser("~")),
}
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
    shown = visible_folders()
    if wide := [folder for folder in shown if folder in TOO_WIDE]:
        raise NoSandbox(
            f"Packages that submissions need lie directly in {wide[0]}, beside files that submissions must not read. "
            "Install Python's packages in a folder of their own, such as a virtual environment."
        )
    for path in [*shown, *settings_files()]:
        words += ["--ro-bind", path, path]
    for folder in SYSTEM_LINKS:
        if os.path.isdir(folder) and not os.path.islink(folder):
            words += ["--ro-bind", folder, folder]
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
    """List the outermost folders of Python, its packages and the system libraries, without links in their paths.

    A submission can read these folders, `settings_files`, and no others. Paths that lead to them through links work in
    the sandbox because `links_to_python` makes these links again.
    """
    real = {os.path.realpath(path) for path in _named_folders() if os.path.isdir(path)}
    return sorted(path for path in real if not any(_below(path, other) for other in real))


def _named_folders() -> set[str]:
    """Return the folders that submissions need under the names that Python has for them; some may not exist."""
    paths = {os.path.join(prefix, name) for prefix in _prefixes() for name in ("bin", "lib", "lib64")}
    system = {"/usr/lib", "/usr/lib64", "/usr/lib32", "/usr/local/lib"}
    return {*paths, *system, sysconfig.get_path("stdlib"), *package_folders()}


def _prefixes() -> set[str]:
    return {sys.prefix, sys.base_prefix, sys.exec_prefix, sys.base_exec_prefix}


def settings_files() -> list[str]:
    """List the files, beside the visible folders, by which the interpreter of a virtual environment finds its packages."""
    folders, found = visible_folders(), {os.path.realpath(path) for path in _named_settings()}
    return sorted(path for path in found if not any(_below(path, folder) for folder in folders))


def _named_settings() -> set[str]:
    return {path for prefix in _prefixes() if os.path.isfile(path := os.path.join(prefix, "pyvenv.cfg"))}


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


def links_to_python() -> list[tuple[str, str]]:
    """List the links, with targets, that lead to Python and its packages through folders that are not visible."""
    named = {*_named_folders(), *_named_settings(), sys.executable, *SYSTEM_LINKS}
    folders = visible_folders()
    found = {link: target for path in named if os.path.exists(path) for link, target in links_on(path)}
    return sorted(item for item in found.items() if not any(_below(item[0], folder) for folder in folders))


def links_on(path: str) -> Iterator[tuple[str, str]]:
    """Yield each link, with its target, that the kernel follows to open `path`. The path of a link contains no link."""
    reached, ahead = "/", os.path.abspath(path).split("/")
    while ahead:
        part = ahead.pop(0)
        here = os.path.normpath(os.path.join(reached, part))  # no link is in `reached`, so ".." is its parent
        if os.path.islink(here):
            target = os.readlink(here)
            yield here, target
            ahead = [*target.split("/"), *ahead]
            reached = "/" if target.startswith("/") else reached
        else:
            reached = here


def book_folders() -> list[str]:
    """List where the book's packages are among what is visible; hidden in the sandbox, because they contain answers."""
    found = {os.path.join(folder, name) for folder in {*package_folders(), str(HOME)} for name in PACKAGES}
    folders = visible_folders()
    for folder in folders:  # also those of other Python versions
        found |= {str(path) for name in PACKAGES for path in Path(folder).glob(f"python3*/*-packages/{name}")}
    real = {os.path.realpath(path) for path in found if os.path.isdir(path)}
    return sorted(path for path in real if any(_below(path, folder) for folder in folders))


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
