"""What pip is told about the library: its version, its ranges, its extras, and what each of its rooms imports."""

import ast
import os
import re
import subprocess
import sys
import tomllib
from functools import cache
from importlib.metadata import packages_distributions

import pytest
import yaml
from project import CORE, ROOT

import tfm_lib
from book.floors import floors
from tfm_lib import _extras
from tfm_lib.cli import app

PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
PROJECT = PYPROJECT["project"]
EXTRAS = PROJECT["optional-dependencies"]
NAME = re.compile(r"[\w.-]+")


def names(extra: str | None = None) -> set[str]:
    """The distributions that the library, or one of its extras, declares, with those of the extras that it is made of."""
    found = set()
    for line in PROJECT["dependencies"] if extra is None else EXTRAS[extra]:
        if line.startswith("tfm-lib["):
            found |= set().union(*map(names, line[len("tfm-lib[") : -1].split(",")))
        else:
            found.add(re.sub(r"[-_.]+", "-", NAME.match(line)[0]).lower())
    return found


# the rooms and what they import

OURS = {"tfm_lib", "tfm_exercises", "tfm_book", "tfm_grader"}
#: place → the extras whose declarations its imports may come from, beside the library's own
ROOMS = {
    **{f"tfm_lib/{stem}.py": ("notebook", "train") for stem in CORE},
    "tfm_lib/cli.py": ("command",),
    "tfm_lib/corpora": ("notebook", "wmt14"),
    "tfm_lib/drawing": ("notebook",),
    "tfm_lib/engine": ("train",),
    "tfm_lib/families": ("load",),
    "tfm_exercises": ("notebook", "command"),
    "tfm_lib/widgets": ("notebook",),
    "tfm_book": ("book", "paper", "lab"),
    "tfm_grader": ("classroom", "dask", "hub"),
}
INTERPRETER_ALONE = ("tfm_book/installing.py",)  # what runs before anything is installed
#: what comes with another distribution by its own promise
COMES_WITH = {
    "sqlalchemy": "nbgrader",
    "cycler": "matplotlib",
    "tornado": "jupyter-server",
    "traitlets": "ipywidgets",
    "ipython": "ipywidgets",
    "dask": "distributed",
    "psutil": "ipykernel",
}


def third_party(path) -> set[str]:
    nodes = list(ast.walk(ast.parse(path.read_text(encoding="utf-8"))))
    found = {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
    found |= {node.module for node in nodes if isinstance(node, ast.ImportFrom) and node.level == 0}
    return {name.partition(".")[0] for name in found} - sys.stdlib_module_names - OURS


@cache
def provided() -> dict[str, list[str]]:
    """By the name of an import what is installed for it; a few seconds' work."""
    return packages_distributions()


def undeclared(path, extras: tuple[str, ...]) -> set[str]:
    """The packages that the module imports, anywhere in it, and that neither the library nor one of `extras` declares."""
    declared = names().union(*map(names, extras))
    declared |= {name for name, by in COMES_WITH.items() if by in declared}
    providers = provided()
    return {
        name
        for name in third_party(path)
        if not declared & {re.sub(r"[-_.]+", "-", of).lower() for of in providers.get(name, [name])}
    }


@pytest.mark.parametrize("place", ROOMS)
def test_what_a_room_imports_is_declared(place):
    there = ROOT / place
    paths = [there] if there.is_file() else sorted(there.rglob("*.py"))
    assert {path.name: found for path in paths if (found := undeclared(path, ROOMS[place]))} == {}


def test_every_module_stands_in_a_room():
    library = {path.relative_to(ROOT / "tfm_lib").parts[0] for path in (ROOT / "tfm_lib").rglob("*.py")}
    places = {f"tfm_lib/{place}" for place in library if not place.startswith("_")}
    assert places | (OURS - {"tfm_lib"}) == ROOMS.keys()


def test_an_undeclared_import_is_found(tmp_path):
    (tmp_path / "one.py").write_text("def f():\n    import sphinx.util, torch\n    from yaml import load\n")
    assert undeclared(tmp_path / "one.py", ()) == {"sphinx", "yaml"}
    assert undeclared(tmp_path / "one.py", ("book",)) == set()


def test_the_core_alone_needs_three_packages():
    assert names() == {"torch", "numpy", "jaxtyping"}
    code = f"import sys; sys.modules |= dict.fromkeys({sorted(names('dev') | {'typer', 'rich', 'matplotlib'})!r})\n"
    code += "\n".join(f"import tfm_lib.{stem}" for stem in CORE)
    subprocess.run([sys.executable, "-c", code], check=True, cwd=ROOT)


# the command without what it needs


def test_each_command_has_an_extra():
    commands = {each.name or each.callback.__name__ for each in app.registered_commands}
    assert commands | {group.name for group in app.registered_groups} == _extras.EXTRA_OF.keys()
    for word, extra in _extras.EXTRA_OF.items():
        assert names("command") <= names(extra), f"`tfm {word}` could not even start with [{extra}]"


@pytest.mark.parametrize(("words", "extra"), [([], "command"), (["translate", "Hello."], "train"), (["lab"], "lab")])
def test_the_bare_command_says_which_extra_brings_it(words, extra, tmp_path):
    code = f"import sys; sys.modules['typer'] = None; sys.argv = {['tfm', *words]!r}\n"
    code += "from tfm_lib.cli import main\nmain()"
    environment = {"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT)}
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    assert "typer, which is not installed" in done.stderr
    assert f"'.[{extra}]'" in done.stderr


# what stands in several files


def test_versions_agree():
    assert yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))["version"] == tfm_lib.__version__
    assert f"\n## {tfm_lib.__version__}" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    released = re.search(rf"\n## {re.escape(tfm_lib.__version__)}, (.+)", (ROOT / "CHANGELOG.md").read_text("utf-8"))[1]
    date = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8")).get("date-released")
    assert (str(date) == released) if date else released == "not yet released"
    pinned = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    tools = [line for line in EXTRAS["dev"] if "==" in line]
    assert {"ruff", "mypy"} <= {NAME.match(line)[0] for line in tools}
    assert set(tools) <= set(pinned)


def test_each_range_has_a_floor_that_make_old_tries():
    lines = {*PROJECT["dependencies"], *(line for extra in EXTRAS.values() for line in extra)}
    ranges = {line for line in lines if not line.startswith("tfm-lib[") and "==" not in line}
    assert len(floors()) == len({NAME.match(line)[0] for line in ranges}), "a package has two floors, or none"


def test_the_metadata_names_no_address():
    """There is none yet that would exist."""
    assert "urls" not in PROJECT
    assert not re.search(r"https?://", "\n".join(PROJECT["keywords"] + PROJECT["classifiers"]))
    assert (ROOT / PROJECT["readme"]).is_file()
    assert (ROOT / "tfm_lib" / "py.typed").is_file()
