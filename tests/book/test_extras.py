"""With the library and one extra alone: its commands work, and the others say how to install what they miss."""

import json
import os
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from lib.family_folders import folder_of
from project import CHAPTERS, CORE, ROOT
from tiers import params

from book.distributions import EXTRAS, not_brought, providers
from tfm_book.notebooks.export import built_wheel
from tfm_lib import __version__, _extras

ABSENT = """\
import sys
from importlib.machinery import PathFinder
from importlib.metadata import DistributionFinder

class Without(PathFinder):
    @classmethod
    def find_spec(cls, name, path=None, target=None):
        return None if name.partition(".")[0] in {names!r} else super().find_spec(name, path, target)

    @classmethod
    def find_distributions(cls, context=DistributionFinder.Context()):
        for found in super().find_distributions(context):
            if found.name not in {of!r}:
                yield found

sys.meta_path[sys.meta_path.index(PathFinder)] = Without
"""


def copied_sources(place: Path) -> Path:
    """The book's sources in a place of their own, with the files that chapters show; nothing is built there."""
    root = place / "book"
    shutil.copytree(CHAPTERS, root / "chapters")
    (root / "tfm_lib").mkdir()
    for name in ("_config.yml", "_toc.yml", "references.bib", *(f"tfm_lib/{stem}.py" for stem in CORE)):
        shutil.copyfile(ROOT / name, root / name)
    return root


@pytest.fixture
def sources(tmp_path: Path) -> Path:
    return copied_sources(tmp_path)


def python(*words: object, missing: list[str], library: Path, cwd: Path) -> subprocess.CompletedProcess[str]:
    """A Python that has `library` and all that is installed but for what is `missing`; its children miss it too."""
    before_all = cwd.with_name("before-all")
    before_all.mkdir(exist_ok=True)
    (before_all / "sitecustomize.py").write_text(
        ABSENT.format(names=set(missing), of=providers(missing)), encoding="utf-8"
    )
    return subprocess.run(
        [sys.executable, "-P", *map(str, words)],
        cwd=cwd,
        env={"PATH": os.environ["PATH"], "PYTHONPATH": f"{before_all}{os.pathsep}{library}"},
        capture_output=True,
        text=True,
        check=False,
    )


# what each extra's commands do in an environment that has nothing else


COMMANDS = {
    "lab": [("lab", "--no-start", "--to", "{place}/work")],
    "classroom": [
        ("assign", "masking", "attention", "--no-verify", "--to", "{place}/class"),
        ("assign", "masking", "--private", "{private}", "--no-verify", "--to", "{place}/own"),
    ],
    "load": [("load", "{place}/gpt2", "The animal was tired.", "--to", "{place}/heads.html")],
}
MADE = {
    "lab": {"masking.ipynb", "attention.ipynb"},
    "classroom": {"masking.ipynb", "attention.ipynb"},
    "load": {"heads.html"},
}


def needed(extra: str, place: Path) -> None:
    """Write to `place` what the extra's commands read."""
    if extra == "load":
        folder_of("gpt2", place / "gpt2")


@pytest.mark.long
@pytest.mark.parametrize("extra", COMMANDS)
def test_the_commands_of_an_extra_work_from_the_wheel_with_nothing_else_installed(
    extra, unpacked_wheel, sources, tmp_path
):
    absent = not_brought(extra)
    assert {"sphinx", "docutils", "pytest", "transformers"} <= set(absent)
    assert "torch" not in absent
    needed(extra, tmp_path)
    for words in COMMANDS[extra]:
        command = [word.format(place=tmp_path, private=ROOT / "tests" / "grader" / "assignments") for word in words]
        done = python("-m", "tfm_lib.cli", *command, missing=absent, library=unpacked_wheel, cwd=sources)
        assert done.returncode == 0, done.stderr
    assert MADE[extra] <= {path.name for path in tmp_path.rglob("*")}


@pytest.mark.long
def test_the_book_is_built_from_the_wheel_with_its_extra_alone(unpacked_wheel, toy_book):
    words = ("-m", "tfm_lib.cli", "build")
    done = python(
        *words, missing=not_brought("book"), library=f"{unpacked_wheel}{os.pathsep}{toy_book.root}", cwd=toy_book.root
    )
    assert done.returncode == 0, done.stderr
    assert "marmalade" in toy_book.page("one")


@pytest.mark.long
def test_the_core_is_imported_with_what_the_library_itself_requires(unpacked_wheel, sources):
    code = "\n".join(["import tfm_lib", *(f"import tfm_lib.{stem}" for stem in CORE), "print(tfm_lib.__file__)"])
    done = python("-c", code, missing=not_brought(), library=unpacked_wheel, cwd=sources)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(str(unpacked_wheel))


MISSED = {
    ("assign masking --to x", "nbformat"): "classroom",
    ("assign masking --to x", "yaml"): "classroom",
    ("collect tests --bundle x --to y", "msgspec"): "classroom",
    ("grade tests --bundle x", "msgspec"): "classroom",
    ("report tests --bundle x", "msgspec"): "classroom",
    ("lab", "jupyterlab"): "lab",
    ("load a-folder", "tokenizers"): "load",
    ("load a-folder", "safetensors"): "load",
    ("build --force", "docutils sphinx jupyter_book myst_nb"): "book",
}


@pytest.mark.parametrize("missed", params(MISSED, [("grade tests --bundle x", "msgspec")], " without ".join))
def test_what_is_missing_is_named_with_a_command_that_installs_it(missed, sources):
    (words, absent), extra = map(str.split, missed), MISSED[missed]
    built = sources / "_build" / "html" / "index.html"
    built.parent.mkdir(parents=True)
    built.touch()
    done = python("-m", "tfm_lib.cli", *words, missing=absent, library=ROOT, cwd=sources)
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    assert f"pip install -c constraints.txt -e '.[{extra}]'" in " ".join(done.stderr.split())
    assert built.is_file(), "the book of the last build is there"


@pytest.mark.long
def test_without_any_extra_the_help_says_what_to_install_for_which_command(unpacked_wheel, tmp_path):
    words = ("-m", "tfm_lib.cli")
    done = python(*words, "--help", missing=not_brought(), library=unpacked_wheel, cwd=tmp_path)
    assert done.returncode == 0 and not done.stderr
    assert "the library alone" in done.stdout
    assert all(f"tfm {name}" in done.stdout for name in _extras.EXTRA_OF)
    assert all(f"[{extra}]'" in done.stdout for extra in _extras.EXTRA_OF.values())
    done = python(*words, "--version", missing=not_brought(), library=unpacked_wheel, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (0, f"{__version__}\n")


@pytest.mark.parametrize("command", ["build", "slides", "paper"])
def test_where_there_is_no_book_nobody_is_asked_to_install_anything(command, unpacked_wheel, tmp_path):
    absent = "docutils sphinx jupyter_book myst_nb bs4 yaml playwright pypdf".split()
    done = python("-m", "tfm_lib.cli", command, missing=absent, library=unpacked_wheel, cwd=tmp_path)
    assert done.returncode == 1 and done.stderr.startswith(f"There is no book in {tmp_path}"), done.stderr


def test_an_unpacked_wheel_names_the_wheel(tmp_path):
    """As pip would leave it: the library, and the note of where it came from."""
    with zipfile.ZipFile(built_wheel(ROOT)) as archive:
        archive.extractall(tmp_path / "site")
    (info,) = (tmp_path / "site").glob("*.dist-info")
    (tmp_path / "site" / "tfm_lib" / "_extras.py").write_bytes((ROOT / "tfm_lib" / "_extras.py").read_bytes())
    wheel = tmp_path / "it's here" / "tfm_lib-0.1.0-py3-none-any.whl"
    wheel.parent.mkdir()
    wheel.touch()
    (info / "direct_url.json").write_text(json.dumps({"url": wheel.as_uri()}), encoding="utf-8")
    code = "from tfm_lib import _extras; print(_extras.command('lab'))"
    environment = {"PATH": os.environ["PATH"], "PYTHONPATH": str(tmp_path / "site")}
    words = [sys.executable, "-P", "-c", code]
    done = subprocess.run(words, cwd=tmp_path, env=environment, capture_output=True, text=True, check=True)
    said = subprocess.run(
        ["sh", "-c", f"printf %s {done.stdout.strip().removeprefix('pip install ')}"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert said.stdout == f"{wheel}[lab]"
    wheel.unlink()
    done = subprocess.run(words, cwd=tmp_path, env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.startswith("pip install './tfm_lib-0.1.0-py3-none-any.whl[lab]'")


def test_every_extra_that_is_named_exists_and_no_sentence_names_a_package_of_no_index():
    assert {*_extras.EXTRA_OF.values(), *_extras.APART.values()} <= EXTRAS.keys()
    for path in [*(ROOT / "tfm_lib").rglob("*.py"), ROOT / "README.md", *(ROOT / "chapters").glob("*.md")]:
        assert "pip install 'tfm-lib" not in path.read_text(encoding="utf-8"), path


ENTERED = """\
import importlib, sys
for name in sys.argv[1:]:
    try:
        importlib.import_module(name)
    except ModuleNotFoundError as error:
        print(name, "\\t", error, sep="")
"""
#: a room that Python code imports, and the extra that is asked for where it is entered; commands: as `tfm` says it
ROOMS = {
    "tfm_lib/corpora": "train",
    "tfm_lib/engine": "train",
    "tfm_lib/widgets": "notebook",
    "tfm_book/notebooks": "lab",
    "tfm_book/site": "book",
}


@pytest.mark.long
def test_a_room_that_is_entered_without_its_extra_says_which(sources):
    """Each of its modules is imported with what the library itself requires, or refuses with the sentence."""
    rooms = {}
    for room in ROOMS:
        for path in sorted((ROOT / room).glob("*.py")):
            rooms[f"{room.replace('/', '.')}.{path.stem}".removesuffix(".__init__")] = room
    names = [name for name in rooms if not name.endswith(".commands")]
    done = python("-c", ENTERED, *names, missing=not_brought(), library=ROOT, cwd=sources)
    assert done.returncode == 0, done.stderr
    said = dict(line.split("\t") for line in done.stdout.splitlines())
    assert {rooms[name] for name in said} == ROOMS.keys()
    assert {"tfm_lib.engine.trainer", "tfm_lib.engine.presets"} <= {*names} - said.keys(), (
        "a training needs torch alone"
    )
    for name, sentence in said.items():
        extras = "|".join({ROOMS[rooms[name]], "notebook", "train"})  # of the room, or of one that it stands on
        assert re.fullmatch(rf"This needs \w+, which is not installed: cd .* -e '\.\[({extras})\]'", sentence), name


def test_a_room_asks_for_its_own_extra_where_what_it_stands_on_is_there(sources):
    for package, module, extra in (
        ("sphinx", "tfm_book.site.build", "book"),
        ("nbformat", "tfm_book.notebooks.export", "lab"),
        ("anywidget", "tfm_lib.widgets.masking", "notebook"),
    ):
        done = python("-c", ENTERED, module, missing=[package], library=ROOT, cwd=sources)
        assert f"This needs {package}, which is not installed" in done.stdout
        assert done.stdout.endswith(f"-e '.[{extra}]'\n")


def test_a_figure_without_matplotlib_says_how_to_get_it(sources):
    code = "from tfm_lib.drawing import figure; figure()"
    done = python("-c", code, missing=["matplotlib"], library=ROOT, cwd=sources)
    assert "This needs matplotlib, which is not installed" in done.stderr
    assert done.stderr.rstrip().endswith("-e '.[notebook]'")
