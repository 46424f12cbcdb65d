"""The layout laws: where things stand, what they may import, what git holds."""

import ast
import re
import subprocess
import sys
from collections import Counter
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest
import yaml
from project import CHAPTERS, CORE, IN_THE_SANDBOX, PRIVATE, ROOT, imports, shown, tree

import tfm_lib
from book.distributions import EXTRAS, brought, foreign

PACKAGE = ROOT / "tfm_lib"
PACKAGES = ("tfm_lib", "tfm_exercises", "tfm_book", "tfm_grader")
BESIDE_THE_CORE = ("corpora", "engine", "widgets", "drawing", "families", "cli")
FOREIGN_TO_THE_CORE = (
    "tfm_exercises",
    "tfm_book",
    "tfm_grader",
    "IPython",
    "ipywidgets",
    "anywidget",
    "matplotlib",
    "typer",
    "rich",
)


def reading_order() -> list[str]:
    """The stems of the chapters as `_toc.yml` orders them."""
    toc = yaml.safe_load((ROOT / "_toc.yml").read_text(encoding="utf-8"))
    entries = [toc["root"]]
    for part in toc["parts"]:
        entries += [chapter["file"] for chapter in part["chapters"]]
    return [Path(entry).stem for entry in entries]


def all_imports(module: str) -> set[str]:
    """What `tfm_lib/<module>.py` imports anywhere, also inside functions."""
    return imports(ast.walk(tree(PACKAGE / f"{module}.py")))


def public_names(module: str) -> list[str]:
    """The module's `__all__`."""
    for node in tree(PACKAGE / f"{module}.py").body:
        if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", None) == "__all__":
            return ast.literal_eval(node.value)
    pytest.fail(f"tfm_lib/{module}.py has no __all__")


# law 1: same name


@pytest.mark.parametrize("module", CORE)
def test_core_module_has_a_chapter_and_a_test_of_its_name(module):
    for path in (CHAPTERS / f"{module}.md", ROOT / "tests" / "lib" / f"test_{module}.py"):
        assert path.exists(), f"tfm_lib/{module}.py has no {path.relative_to(ROOT)}: one idea, one name."


@pytest.mark.parametrize("folder", ["tfm_exercises/checks", "tests/checks/answers"])
def test_judges_and_banks_bear_the_name_of_a_chapter(folder):
    stems = {path.stem for path in (ROOT / folder).glob("*.py")} - {"__init__"}
    strange = stems - set(reading_order())
    assert not strange, f"In {folder} there are files of {strange}, and no chapters of these names in _toc.yml."


def test_every_chapter_stands_in_the_table_of_contents():
    parted = {*reading_order()} ^ {path.stem for path in CHAPTERS.glob("*.md")}
    assert not parted, f"_toc.yml and chapters/ part over {parted}."
    assert sorted(reading_order()) == sorted(path.stem for path in CHAPTERS.glob("*.md"))


#: Chapters that lead to the ideas, or back to them, and teach none that has code of its own.
WITHOUT_A_MODULE = {
    "intro",
    "notation",
    "before",
    "playground",
    "mine",
    "instructors",
    "glossary",
    "bibliography",
    "changes",
}


def test_a_chapter_without_a_core_module_is_one_of_those_that_need_none():
    assert {*reading_order()} - {*CORE} == WITHOUT_A_MODULE
    assert not {chapter for chapter, _, _ in shown()} & WITHOUT_A_MODULE


def test_the_on_ramp_stands_before_every_idea():
    order = reading_order()
    assert order.index("before") < min(order.index(module) for module in CORE)


# law 2: cover


@pytest.mark.parametrize("module", CORE)
def test_every_public_name_is_shown_once_or_at_least_named(module):
    times = Counter(name for _, file, name in shown() if file == f"tfm_lib/{module}.py")
    parted = {name for name in times if times[name] > 1 or name not in public_names(module)}
    assert not parted, (
        f"{parted}: what an excerpt or a literalinclude shows of tfm_lib/{module}.py is in __all__, and shown once."
    )
    unnamed = {
        name for name in public_names(module) if not times[name] and not re.search(rf"\b{name}\b", words_of_chapters())
    }
    assert not unnamed, f"{unnamed}: no chapter shows or names these names in __all__ of tfm_lib/{module}.py."


@cache
def words_of_chapters() -> str:
    return "\n".join(path.read_text(encoding="utf-8") for path in sorted(CHAPTERS.glob("*.md")))


def test_nothing_is_shown_that_is_not_public_in_the_core():
    public = {(f"tfm_lib/{module}.py", name) for module in CORE for name in public_names(module)}
    assert [piece for piece in shown() if piece[1:] not in public] == []


@pytest.mark.parametrize("module", CORE)
def test_public_names_are_those_defined_without_an_underscore(module):
    definitions = (ast.FunctionDef, ast.ClassDef)
    defined = {node.name for node in tree(PACKAGE / f"{module}.py").body if isinstance(node, definitions)}
    parted = {name for name in defined if not name.startswith("_")} ^ set(public_names(module))
    assert not parted, f"tfm_lib/{module}.py defines, or lists in __all__, {parted}, and does not do both."


# law 3: reading order


@pytest.mark.parametrize("module", CORE)
def test_core_module_imports_only_what_the_reader_has_read(module):
    order = reading_order()
    known = {f"tfm_lib.{stem}" for stem in [*order[: order.index(module)], *PRIVATE]}
    ours = {".".join(name.split(".")[:2]) for name in all_imports(module) if name.startswith("tfm_lib.")}
    assert ours <= known, (
        f"tfm_lib/{module}.py imports {ours - known}, which the reader has not read by then (_toc.yml)."
    )


@pytest.mark.parametrize("module", PRIVATE)
def test_private_module_imports_nothing_of_the_core(module):
    assert not {f"tfm_lib.{stem}" for stem in CORE} & all_imports(module)


# law 4: pure core


@pytest.mark.parametrize("module", [*CORE, *PRIVATE])
def test_core_module_names_nothing_from_beside_the_core(module):
    forbidden = {*(f"tfm_lib.{name}" for name in BESIDE_THE_CORE), *FOREIGN_TO_THE_CORE}
    parts = [name.split(".") for name in all_imports(module)]
    assert not forbidden & {".".join(part[:depth]) for part in parts for depth in (1, 2)}


def imported_by(statement: str) -> set[str]:
    """The modules loaded in a fresh interpreter after `statement`, which must print nothing."""
    code = f"{statement}\nimport json, sys\nprint(json.dumps(sorted(sys.modules)), file=sys.stderr)"
    run = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert run.stdout == ""
    return set(yaml.safe_load(run.stderr.splitlines()[-1]))


def test_importing_the_core_is_silent_and_brings_in_nothing_from_beside_it():
    loaded = imported_by("\n".join(f"import tfm_lib.{module}" for module in CORE))
    assert not {*(f"tfm_lib.{name}" for name in BESIDE_THE_CORE), *FOREIGN_TO_THE_CORE} & loaded


def test_importing_the_package_brings_in_nothing_heavy():
    loaded = imported_by("import tfm_lib")
    assert not {"torch", "numpy", "jaxtyping", *FOREIGN_TO_THE_CORE} & loaded
    assert {name for name in loaded if name.startswith("tfm_lib.")} == set()


# names and what they import


def modules() -> dict[str, Path]:
    """Every module of the four packages by its dotted name."""
    paths = [path for package in PACKAGES for path in (ROOT / package).rglob("*.py")]
    return {".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): path for path in paths}


def test_imports_make_no_circle():
    def of(path: Path) -> list[ast.stmt]:  # its own statements, those for types among them
        body = tree(path).body
        return [*body, *(inner for node in body if isinstance(node, ast.If) for inner in node.body)]

    graph = {
        name: imports(of(path), name.rpartition(".")[0]) & (modules().keys() - {name, IN_THE_SANDBOX})
        for name, path in modules().items()
    }
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        pytest.fail(f"these modules import each other: {' → '.join(error.args[1])}")


def test_no_name_is_defined_twice_in_the_core():
    definitions = (ast.FunctionDef, ast.ClassDef)
    modules = [tree(PACKAGE / f"{module}.py") for module in [*CORE, *PRIVATE]]
    times = Counter(node.name for module in modules for node in module.body if isinstance(node, definitions))
    assert {name for name, count in times.items() if count > 1} == set()


def test_no_name_is_defined_twice_in_the_grader():
    """Commands have the names that are typed: `collect` is one, and calls the function of that name."""
    paths = {*(ROOT / "tfm_grader").rglob("*.py")} - {*(ROOT / "tfm_grader").glob("*commands.py")}
    definitions = (ast.FunctionDef, ast.ClassDef)
    times = Counter(node.name for path in paths for node in tree(path).body if isinstance(node, definitions))
    assert {name for name, count in times.items() if count > 1 and not name.startswith("_")} == set()


# the four packages

#: place → the places of ours that it may import from, anywhere in its text, and the extras with each of which it has
#: all that it imports. Private modules of the library are open to all.
CORE_AND_BESIDE = tuple(f"tfm_lib.{name}" for name in [*CORE, *BESIDE_THE_CORE])
PLACES = {
    "tfm_lib": (CORE_AND_BESIDE, ()),
    "tfm_exercises": ((*CORE_AND_BESIDE, "tfm_exercises"), ()),
    "tfm_lib/drawing": (("tfm_lib.drawing",), (("notebook",),)),
    "tfm_book/notebooks": (
        # the chapters that write parts, after whose summary the machine is drawn
        ("tfm_lib.drawing", "tfm_exercises.mine.chapters", "tfm_book.notebooks"),
        (("lab",), ("classroom",)),
    ),
    "tfm_book/site": (
        # the film's scenes, to which each chapter links
        ("tfm_lib.drawing", "tfm_lib.engine.shipped", "tfm_lib.widgets._film", "tfm_book.notebooks", "tfm_book.site"),
        (("book",),),
    ),
    "tfm_book": (  # what is solved, which the pages mark
        ("tfm_lib.", "tfm_exercises.mine.chapters", "tfm_exercises.mine.store", "tfm_book"),
        (),
    ),
    "tfm_grader": (("tfm_exercises", "tfm_lib.drawing", "tfm_book.notebooks", "tfm_grader"), ()),
}


def imports_of(place: Path) -> set[str]:
    """What each module in a folder imports anywhere, also inside functions and for types only."""
    paths = place.rglob("*.py")
    return set().union(*(imports(ast.walk(tree(path)), ".".join(path.relative_to(ROOT).parts[:-1])) for path in paths))


@pytest.mark.parametrize("place", PLACES)
def test_a_package_imports_only_from_where_it_may(place):
    ours = imports_of(ROOT / place) & modules().keys() - set(PACKAGES)
    allowed = (*PLACES[place][0], "tfm_lib._")
    strange = {name for name in ours if not name.startswith(allowed)}
    assert not strange, f"{place} imports {strange}."


#: The grader's rooms, each of which imports only from those before it.
ROOMS = ("sandbox", "assignment", "collecting", "judging", "scoring", "exports", "reports")


@pytest.mark.parametrize("room", ROOMS)
def test_no_arrow_in_the_grader_runs_back_up(room):
    later = tuple(f"tfm_grader.{name}" for name in ROOMS[ROOMS.index(room) + 1 :])
    found = {name for name in imports_of(ROOT / "tfm_grader" / room) if later and name.startswith(later)}
    assert not found, f"tfm_grader/{room} imports {found}."


def test_no_experiment_needs_the_grader():
    assert not {name for name in imports_of(ROOT / "experiments") if name.startswith("tfm_grader")}


def test_the_grader_takes_checks_from_the_exercises_and_notebooks_from_the_book():
    """A law that nothing tests would be green: each of its arrows is there."""
    found = imports_of(ROOT / "tfm_grader")
    assert {"tfm_exercises.judge", "tfm_lib.drawing.display", "tfm_book.notebooks.export"} <= found


@pytest.mark.parametrize("place", [place for place in PLACES if PLACES[place][1]])
def test_the_extras_of_a_place_bring_all_that_it_imports(place):
    names = {name for name in imports_of(ROOT / place) if not name.startswith(PACKAGES)}
    for extras in PLACES[place][1]:
        assert foreign(names, extras) == set(), f"pyproject.toml: [{', '.join(extras)}] does not bring these"


def test_a_missing_declaration_would_be_seen():
    assert foreign({"sphinx.application", "json", "docutils"}, ("lab",)) == {"sphinx", "docutils"}
    assert foreign({"sphinx.application", "docutils"}, ("book",)) == set()
    assert "jupyterlab-server" in brought("lab") - brought()
    assert EXTRAS.keys() >= {"book", "lab", "classroom"}


# what a chapter says of its time

KICKER = re.compile(r":::\{kicker\} Part [IV]+ · [^·\n]+ · (\d+) minutes to read, (\d+) to practise\n")
TIMED = {
    path.stem: found
    for path in sorted(CHAPTERS.glob("*.md"))
    if (found := KICKER.search(path.read_text(encoding="utf-8")))
}


@pytest.mark.parametrize("stem", TIMED)
def test_minutes_to_practise_are_those_of_the_exercises(stem):
    text = (CHAPTERS / f"{stem}.md").read_text(encoding="utf-8")
    minutes = [int(number) for number in re.findall(r"^\*(\d+) minutes · ★", text, re.MULTILINE)]
    assert minutes
    said, found = int(TIMED[stem][2]), sum(minutes)
    assert said == found, f"chapters/{stem}.md says {said} minutes to practise; its exercises add up to {found}."


def test_a_kicker_that_speaks_of_practice_has_the_common_form():
    spoken = {
        path.stem
        for path in CHAPTERS.glob("*.md")
        if re.search(r"\{kicker\}.*(practise|exercises)", path.read_text(encoding="utf-8"))
    }
    assert spoken == TIMED.keys()


# what the guides name


def test_the_guide_names_tests_and_commands_that_are_there():
    guide = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    named = {*re.findall(r"tests/[\w/]+\.py", guide)}
    assert len(named) > 8 and all((ROOT / name).is_file() for name in named)
    targets = {*re.findall(r"^make ([\w-]+)", guide, re.MULTILINE), *re.findall(r"`make ([\w-]+)`", guide)}
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    assert targets and all(f"\n{target}:" in makefile for target in targets)


def test_the_readme_names_the_wheel_of_this_version():
    assert f"'./tfm_lib-{tfm_lib.__version__}-py3-none-any.whl[notebook]'" in (ROOT / "README.md").read_text("utf-8")


# git


def tracked() -> list[Path]:
    """The files that git holds and that still stand in the working tree."""
    run = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True)
    return [Path(name) for name in run.stdout.split("\0") if name and (ROOT / name).exists()]


def test_git_holds_no_large_file_outside_figures_and_models():
    roomy = ("chapters/figures/", "models/")
    small = [path for path in tracked() if not path.as_posix().startswith(roomy)]
    assert {str(path): size for path in small if (size := (ROOT / path).stat().st_size) > 100_000} == {}


def test_git_holds_no_products():
    folders = {"_build", "node_modules", "__pycache__", ".ipynb_checkpoints", "static"}
    products = [path for path in tracked() if folders & set(path.parts) or path.suffix in {".pyc", ".ipynb"}]
    assert products == []
