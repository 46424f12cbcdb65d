"""The command-line interface: assign, collect, grade, report, gradescope."""

from __future__ import annotations

import secrets
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from tfm_grader.grade_commands import console, grade, gradescope, report
from tfm_grader.names import counted
from tfm_lib import _completion
from tfm_lib._refusal import Refusal

errors = Console(stderr=True, highlight=False, soft_wrap=True)


def register(app: typer.Typer) -> None:
    """Register the commands on `app`."""
    for command in (assign, collect, grade, report, gradescope):
        app.command()(command)


def assign(
    chapters: Annotated[
        list[str],
        typer.Argument(
            metavar="CHAPTER...",
            help="Chapters whose exercises to take, as `masking`.",
            autocompletion=_completion.chapters,
        ),
    ],
    to: Annotated[Path, typer.Option(help="The folder to make: student/, solution/ and bundle/.")],
    seed: Annotated[
        str,
        typer.Option(metavar="WORD", help="Chooses parameters and hidden random inputs; drawn by the system if none."),
    ] = "",
    private: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Your own exercises with hidden tests, as DIR/<chapter>.md.")
    ] = None,
    exercise: Annotated[
        list[str] | None,
        typer.Option(metavar="ID", help="Only this exercise; may be repeated.", autocompletion=_completion.exercises),
    ] = None,
    roster: Annotated[
        Path | None,
        typer.Option(metavar="CSV", help="The class, a column `student` at least: each gets numbers of their own."),
    ] = None,
    name: Annotated[str, typer.Option(help="The title of the assignment.")] = "",
    due: Annotated[str, typer.Option(metavar="DATE", help="When it is due, as 2027-03-01T23:59+01:00.")] = "",
    fresh: Annotated[
        bool, typer.Option("--fresh", help="Move what is there aside first, with what you changed in it.")
    ] = False,
    verify: Annotated[
        bool, typer.Option("--verify/--no-verify", help="Grade solutions and empty notebooks first.")
    ] = True,
) -> None:
    """Make notebooks for students, with solutions for you, and the bundle that grades them.

    Made again, it keeps what you changed in the bundle.
    """
    from tfm_book.notebooks.contents import find_root
    from tfm_grader.assignment import assign as assigning
    from tfm_grader.assignment.local_edits import Before, move_aside
    from tfm_grader.assignment.manifest import BadBundle
    from tfm_grader.collecting import roster as rosters
    from tfm_grader.judging.verify import require_gradable
    from tfm_grader.sandbox.bubblewrap import NoSandbox

    if private and not private.is_dir():
        raise Refusal(
            f"There is no folder {private}. Your own exercises lie in a folder outside the book, as {private}/masking.md."
        )
    if due:
        _require_time(due)
    class_ = rosters.read_roster(roster) if roster else None
    if class_ is None and not fresh and to.is_dir():
        class_ = rosters.kept(to / "bundle")
    students = class_.students if class_ else ()
    stems = list(dict.fromkeys(chapters))
    before = Before(to) if fresh else Before.of(to)
    drawn = not (seed or before.seed)
    seed = seed or before.seed or secrets.token_hex(8)
    due = due or before.due
    teams = {person.student: person.team for person in class_.people if person.team} if class_ else {}
    only = frozenset(exercise or ())
    wishes = assigning.AssignOptions(find_root(), stems, seed, private, only, students, name, due, teams)
    made = assigning.make(wishes, None if fresh else before)
    try:
        if verify:
            with console.status("Trying the notebooks") as status:

                def tell(done: int, of: int) -> None:
                    status.update(f"Trying the notebooks: {done} of {of}")
                    if not console.is_terminal and done % 10 == 1:
                        console.print(f"Trying the notebooks: {done} of {of}")

                require_gradable(made, stems, tell)
    except NoSandbox as none:
        raise Refusal(f"{none} To make the assignment without trying it: tfm assign --no-verify") from None
    except BadBundle as bad:
        raise Refusal(f"{bad} The inputs were drawn by the seed {seed}: --seed {seed} draws the same again.") from None
    if fresh and (aside := move_aside(to)):
        console.print(f"What was there is in {aside}.", soft_wrap=True)
    missing = made.write(to)
    if class_:
        rosters.keep_roster(class_, to / "bundle")
    else:
        (to / "bundle" / rosters.FILE).unlink(missing_ok=True)
    again = class_ is not None and roster is None
    tried = "solutions earn full points and empty notebooks none" if verify else "not tried: no solution was graded"
    notebooks = sum(name.endswith(".ipynb") for name in made.students)
    for line in (
        f"{to / 'student'}: {counted(notebooks, 'notebook')} for students, without a piece of solution or hidden test.",
        f"{to / 'solution'}: {counted(len(made.solutions), 'notebook')} with solutions. {to / 'bundle'}: points, limits, tests ({tried}).",
        *(
            [f"Drawn for this class, and kept in the manifest: the seed {seed}, by which tests draw their inputs."]
            * drawn
        ),
        *(["The roster is that of the last run. To make it without one: --fresh"] * again),
        *before.changed_exercises(made.bundle),
        *([f"  {missing}"] if missing else []),
    ):
        console.print(line, soft_wrap=True, markup=False)


def _require_time(due: str) -> None:
    """Require a date with a time. Raises Refusal."""
    from tfm_grader.assignment.manifest import Late

    try:
        Late(due=due)
    except ValueError:
        raise Refusal(f"--due is a date with a time, as 2027-03-01T23:59+01:00, and not {due!r}.") from None


def collect(
    source: Annotated[
        Path, typer.Argument(help="A folder, a zip archive of Canvas or Moodle, or an nbgrader exchange.")
    ],
    to: Annotated[Path, typer.Option(help="The folder to fill: one folder for each student.")],
    bundle: Annotated[Path, typer.Option(help="The bundle that `tfm assign` made.")],
    kind: Annotated[
        str, typer.Option(help="What the source is: folder, canvas, moodle or nbgrader; auto looks at its top level.")
    ] = "auto",
    roster: Annotated[
        Path | None,
        typer.Option(metavar="CSV", help="The class: student, folder, lms id, login; that of `tfm assign` if none."),
    ] = None,
    dates: Annotated[
        str, typer.Option(help="mtime: a folder's files were handed in at the dates that they bear.")
    ] = "",
    assignment: Annotated[str, typer.Option(help="Which of several in an nbgrader exchange.")] = "",
    recognised: Annotated[
        bool, typer.Option("--recognised", help="Also take notebooks whose names fit no chapter, by their contents.")
    ] = False,
) -> None:
    """Sort submissions into one folder for each student. Nothing is run; what is refused is said."""
    from tfm_grader.assignment import bundle as bundles
    from tfm_grader.collecting import collect as collecting
    from tfm_grader.collecting import messages
    from tfm_grader.collecting import roster as rosters
    from tfm_grader.collecting.identity import KINDS
    from tfm_grader.collecting.inbox import write_collected
    from tfm_grader.written_answers import Handed

    if kind not in ("auto", *KINDS):
        raise Refusal(f"There is no kind {kind!r}. There are auto, folder, canvas, moodle and nbgrader.")
    if dates not in ("", "mtime"):
        raise Refusal(f"There are no dates {dates!r}. `mtime` believes the dates that a folder's files bear.")
    if source.exists() and (_within(to, source) or _within(source, to)):
        raise Refusal(f"{to} and {source} lie in each other. Collect into a folder beside it.")
    loaded = bundles.read_bundle(bundle)
    known = rosters.read_roster(roster) if roster else rosters.kept(to) or rosters.kept(bundle)
    own = {stem: frozenset(texts) - {""} for stem, texts in loaded.tests.items() if set(texts) - {""}}
    given = {stem: Handed.of(loaded.manifest.chapters[stem]).lines for stem in loaded.stems}
    wishes = collecting.CollectOptions(known, dates, assignment, own, given, recognised)
    found = collecting.collect(source, loaded.stems, kind, wishes)
    write_collected(found, to)
    for line in messages.after(found):
        console.print(line, soft_wrap=True, markup=False)
    for line in messages.refusal_lines(found):
        errors.print(line, markup=False)
    students = len({one.student for one in found.kept})
    console.print(
        f"{counted(len(found.kept), 'notebook')} of {counted(students, 'student')}, {len(found.refused)} refused: {to}",
        soft_wrap=True,
    )
    if not found.kept:
        raise typer.Exit(1)


def _within(inner: Path, outer: Path) -> bool:
    return outer.is_dir() and inner.resolve().is_relative_to(outer.resolve())
