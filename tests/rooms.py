"""The rooms of the project: which files belong together, and which tests know them best.

Imports alone do not tell: no test imports a stylesheet or a script of the page. `tests/touched.py` reads here which
long tests a change needs, and `tests/power.py` which tests should find a planted fault.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import NamedTuple

from quick import OF_A_STEM, concerned
from samples import MODULES

#: Names in a test's parameters that belong to one chapter: its stem alone, or a widget as <stem>/<name>.
STEMS = sorted({module.split("/")[0] for module in MODULES})


class Room(NamedTuple):
    """The files of a room, as a pattern of their paths, and its test files, those that know it best first."""

    sources: str
    tests: tuple[str, ...] = ()
    built: bool = False  # whether its tests look at built pages


def browser(*names: str) -> tuple[str, ...]:
    return tuple(f"browser/test_{name}.py" for name in names)


ROOMS = {
    "core": Room(
        r"tfm_lib/(?!cli)\w+\.(py|typed)|tfm_lib/(corpora|engine|families)/.*|models/.*|experiments/.*",
        (
            *("test_mutations.py", "test_engine.py", "test_capture.py", "test_recorded.py", "test_experiments.py"),
            "test_habits.py",
        ),
    ),
    "checks": Room(
        r"tfm_lib/(checks|mine)/.*|tests/(banks|habits)/.*",
        (
            "test_exercises.py",
            "test_slips.py",
            "test_checks.py",
            "test_judges_look_at_arguments.py",
            "test_habits.py",
            "test_mine.py",
            "test_thread.py",
        ),
    ),
    "chapters": Room(
        r"chapters/.*", ("test_export.py", "test_taught.py", *browser("asks", "predictions", "readable", "paper")), True
    ),
    "widgets": Room(
        r"tfm_lib/widgets/.*|frontend/src/(?!kit|twin)\w+/.*|tests/samples/.*",
        (
            *("test_frontend.py", "test_widgets.py"),
            *browser("widgets_live", "widget_numbers", "own_sentence", "translator", "fingers", "jumps"),
            *browser("every_page", "readable", "widget_words"),
        ),
        True,
    ),
    "host": Room(
        r"frontend/(src/kit/.*|build\.mjs|package.*)|tfm_lib/widgets/base\.py",
        (
            "test_frontend.py",
            *browser("kit", "widgets_live", "fingers", "jumps", "translator", "foreign_widgets", "jupyterlab"),
            *browser("keyboard_chapter", "every_page", "readable", "firefox", "loaded_page"),
        ),
        True,
    ),
    "twin": Room(
        r"frontend/src/(playground/engine|twin)/.*|tfm_lib/engine/translator\w*\.py|tfm_lib/corpora/words\.py|experiments/playground\w*\.py",
        (
            "test_twin.py",
            "test_translator_behaviour.py",
            "test_playground.py",
            *browser("playground", "translator", "own_sentence", "foreign_widgets", "firefox", "jupyterlab"),
        ),
        True,
    ),
    "theme": Room(
        r"tfm_book/site/.*|tfm_lib/drawing/.*|_config\.yml|_toc\.yml",
        (
            "test_pages.py",
            *browser("search", "reading", "anchors", "every_page", "readable", "asks", "predictions"),
            *browser("keyboard_chapter", "paper", "widgets_live", "firefox", "loaded_page"),
            *("test_printed_book.py", "test_figures_on_a_phone.py", "test_build.py", "test_network_cut.py"),
        ),
        True,
    ),
    "export": Room(
        r"tfm_book/(notebooks|slides)/.*|tfm_book/(?!commands|installing)[\w.]+",
        (
            "test_export.py",
            "test_taught.py",
            "test_excerpts.py",
            "test_packaging.py",
            "test_extras.py",
            "test_pages.py",
            "test_slides.py",
            *browser("jupyterlab", "slides"),
        ),
        True,
    ),
    "command": Room(
        r"tfm_lib/cli\.py|tfm_book/(commands|installing)\.py|Makefile|pyproject\.toml|constraints\.txt",
        (
            "test_cli.py",
            "test_installing.py",
            "test_packaging.py",
            "test_export.py",
            "test_extras.py",
            "test_build.py",
        ),
    ),
    "grader": Room(
        r"tfm_grader/.*|classroom/.*|tests/(hostile|assignments)/.*",
        (
            *(
                "test_grades.py",
                "test_classroom.py",
                "test_projects.py",
                "test_capstone.py",
                "test_visible.py",
                "test_teams.py",
                "test_regrade_requests.py",
                "test_audit_log.py",
                "test_collect.py",
                "test_nbgrader.py",
            ),
            "test_collect_class.py",
            "test_honest_hand_ins.py",
            "test_patience.py",
            *(
                "test_marking.py",
                "test_marks.py",
                "test_returns.py",
                "test_similar.py",
                "test_class.py",
                "test_instructors.py",
            ),
            *(f"hostile/test_{name}.py" for name in "submissions replies judging whole changes quiet".split()),
            "test_cluster.py",
        ),
    ),
}


#: Rooms in which a change to one chapter's file leaves the other chapters' tests alone.
BY_STEM = ("core", "checks", "chapters", "widgets")


def rooms(path: str) -> list[str]:
    """The rooms that a file belongs to; none for what is prose or the tests' own."""
    return [name for name, room in ROOMS.items() if re.fullmatch(room.sources, path)]


class Selection(NamedTuple):
    """What of the tests a change needs: files by their rank, the smallest first, the stems and the widgets that it is about."""

    ranks: dict[str, int]
    stems: frozenset[str]
    widgets: frozenset[str] = frozenset()

    def rank(self, nodeid: str, fixtures: Collection[str] = ()) -> int | None:
        """The place of a test in the order of trying; None for one that the change does not need."""
        file, _, name = nodeid.removeprefix("tests/").partition("::")
        if file in self.ranks and any(widget in name for widget in self.widgets):
            return -1
        named = {*re.findall(r"[a-z_]+", name)} & {*STEMS} if "[" in name else set()
        return None if named and self.stems and not named & self.stems else self.ranks.get(file)


def selection(paths: list[str], only: str = "") -> Selection:
    """The tests of the rooms of these files: those that import them, then their rooms' own; of the room `only` alone."""
    found = concerned(paths)
    places = {name for path in paths for name in rooms(path) if only in ("", name)} | ({only} if only else set())
    stems = {stem for path in paths if (stem := _stem(path))}
    own = [file for file, rank in found.files.items() if 0 < rank <= 2]  # 2: imports a changed file itself
    own.sort(key=lambda file: not any(file.endswith(f"_{stem}.py") for stem in stems))
    listed = [file for name in ROOMS if name in places for file in ROOMS[name].tests]
    far = sorted((file for file, rank in found.files.items() if rank > 2), key=found.files.get)
    ranks = {}
    for file in [*own, *listed, *far]:
        ranks.setdefault(file, len(ranks))
    widgets = {path.removeprefix("frontend/src/").removesuffix(".js") for path in paths} & {*MODULES}
    whole = places - {*BY_STEM} or any(not _stem(path) for path in paths if rooms(path))
    return Selection(ranks, frozenset() if whole else frozenset(stems), frozenset(widgets))


def _stem(path: str) -> str | None:
    match = OF_A_STEM.fullmatch(path)
    stem = match and next(filter(None, match.groups()))
    return stem if stem in STEMS else None
