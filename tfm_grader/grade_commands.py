"""The commands `tfm grade` and `tfm report`."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    Task,
    TextColumn,
    TimeRemainingColumn,
)
from rich.text import Text

from tfm_grader.lock import FILE as HELD
from tfm_grader.output_folder import FILE as WRITTEN
from tfm_lib import _completion
from tfm_lib._refusal import Refusal

if TYPE_CHECKING:
    from tfm_grader.assignment.bundle import Bundle
    from tfm_grader.exports.lms import Filled
    from tfm_grader.judging.audit_log import AuditLog
    from tfm_grader.judging.cluster import Cluster
    from tfm_grader.judging.grade import Plan
    from tfm_grader.judging.pool import Pool
    from tfm_grader.records import Begin, StudentResult
    from tfm_grader.reports.report import Report
    from tfm_grader.scoring.scores import Score

READ_FROM = ".read_from"  # in the results: the folder of submissions, as seen from there, since both may be moved

console = Console(highlight=False)


def say(text: str) -> None:
    """Print `text` without control characters, since it may contain names and students' text."""
    console.print("".join(char if char.isprintable() else "?" for char in text), soft_wrap=True, markup=False)


def grade(
    submissions: Annotated[
        Path, typer.Argument(help="The folder with one folder for each student; with --visible also one notebook.")
    ],
    bundle: Annotated[Path, typer.Option(help="The bundle that `tfm assign` made.")],
    to: Annotated[Path | None, typer.Option(help="Where results go; results/ beside the submissions if none.")] = None,
    visible: Annotated[
        bool,
        typer.Option(
            "--visible", help="Only tell students what the checks in their notebooks say; no points, no hidden test."
        ),
    ] = False,
    jobs: Annotated[
        int,
        typer.Option(min=0, help="How many submissions are judged at a time (0: as many as there are processors)."),
    ] = 0,
    only: Annotated[
        list[str] | None,
        typer.Option(metavar="ID", help="Only this exercise; may be repeated.", autocompletion=_completion.exercises),
    ] = None,
    again: Annotated[
        bool, typer.Option("--again", help="Judge all anew, and show what would change; with --only, one exercise.")
    ] = False,
    write: Annotated[bool, typer.Option("--write", help="Write what --again has shown.")] = False,
    force: Annotated[bool, typer.Option("--force", help="Judge again what has a result, and write it.")] = False,
    engine: Annotated[str, typer.Option(help="local, or dask: on the workers of a scheduler.")] = "local",
    scheduler: Annotated[
        str, typer.Option(metavar="ADDRESS", help="For dask: the scheduler, as tcp://host:8786.")
    ] = "",
) -> None:
    """Judge submissions by the bundle's tests, each in a sandbox. What was judged before is not judged again."""
    from tfm_grader.assignment import bundle as bundles
    from tfm_grader.judging import grade as grading
    from tfm_grader.judging import regrade as anew
    from tfm_grader.judging.audit_log import AuditLog
    from tfm_grader.lock import only_one
    from tfm_grader.records import Begin
    from tfm_grader.sandbox.bubblewrap import require_outside

    if engine not in ("local", "dask") or (engine == "dask") != bool(scheduler):
        raise Refusal("Give --engine dask together with --scheduler tcp://host:8786, or neither.")
    if visible:
        if only or again or write or force or scheduler:
            raise Refusal("--visible judges nothing. Leave out --only, --again, --write, --force and --engine.")
        _show_visible(submissions, bundle, to, jobs)
        return
    to = to or submissions.resolve().parent / "results"
    if not submissions.is_dir():
        raise Refusal(f"There is no folder {submissions}. `tfm collect` makes it.")
    _require_beside(to, submissions)
    loaded, wanted = bundles.read_bundle(bundle), set(only or ())
    require_outside([submissions, bundle, to.parent])
    _require_known(wanted, loaded)
    with only_one(to, "tfm grade"):
        found, log = grading.submissions_in(submissions, loaded), AuditLog(to)
        if not found:
            raise Refusal(f"{submissions} holds no student's folder. `tfm collect` fills it.")
        _tell_passed_over(grading.passed_over(submissions, loaded))
        (to / READ_FROM).write_text(os.path.relpath(submissions.resolve(), to.resolve()), encoding="utf-8")
        if again or not write:
            place = anew.beside(to) if again else to
            plan = grading.plan(loaded, found, place, wanted, force or again)
            private = [str(path.resolve()) for path in (submissions, bundle, to)]
            begin = Begin(loaded.manifest, loaded.tests, private=private)
            with _engine(begin, scheduler, jobs, len(plan.jobs)) as pool:
                _judge(loaded, plan, pool, place, None if again else log)
        if _wanted(to, write) if again else write:
            say(f"The numbers of {anew.write_regraded(to, loaded, found, log)} students were written: {to}")


def _show_visible(submissions: Path, bundle: Path, to: Path | None, jobs: int) -> None:
    """Run the visible checks on one notebook, or on a folder of submissions, and tell the students what they say."""
    from tfm_grader import visible_checks
    from tfm_grader.assignment import bundle as bundles
    from tfm_grader.collecting.collected_record import roster
    from tfm_grader.judging.grade import passed_over, submissions_in
    from tfm_grader.judging.pool import Pool
    from tfm_grader.output_folder import replace_files
    from tfm_grader.records import Begin
    from tfm_grader.sandbox.bubblewrap import require_outside

    loaded = bundles.read_bundle(bundle, visible=True)
    single = submissions.is_file()
    if not single and not submissions.is_dir():
        raise Refusal(f"There is no notebook and no folder {submissions}.")
    if single:
        found, people = [visible_checks.one_notebook(submissions, loaded)], {}
    else:
        found, people = submissions_in(submissions, loaded), roster(submissions)
        _tell_passed_over(passed_over(submissions, loaded))
        to = to or submissions.resolve().parent / "visible"
        _require_beside(to, submissions)
    if to is not None and to.exists() and not to.is_dir():
        raise Refusal(f"{to} is a file. Name a folder for the pages: --to")
    require_outside([submissions, bundle])
    private = [str(path.resolve()) for path in ([bundle] if single else [bundle, submissions])]
    begin = Begin(loaded.manifest, loaded.tests, private, visible=True)
    waiting = [each for each in found if each.data is not None]
    told = [*visible_checks.not_accepted(people)]
    for one in told:
        say(f"{one.student}: {one.told}")
    with Pool(begin, min(jobs or os.cpu_count() or 1, max(1, len(waiting)))) as pool:
        if waiting:
            say(f"The sandbox holds: {', '.join(pool.start())}.")
        for each in visible_checks.checked(loaded, found, pool):
            told.append(each)
            for line in each.lines if single else [f"{each.student}, {each.told}"]:
                say(line)
    if to is not None:
        names = {student: known.name for student, known in people.items()}
        if single:  # its name is the file's, whatever its numbers say about whose it is
            told = [replace(each, student=submissions.stem) for each in told]
        pages = visible_checks.visible_pages(loaded.manifest.name, told, names)
        replace_files(to, pages)
        say(f"{len(pages)} pages: {to}")


def _tell_passed_over(names: list[str]) -> None:
    if names:
        say(f"  passed over, since only folders are students': {', '.join(names)}. `tfm collect` makes the folders.")


def _require_beside(to: Path, submissions: Path) -> None:
    """Refuse to write among the students' folders, where the output would look like a student."""
    if to.resolve().is_relative_to(submissions.resolve()):
        raise Refusal(f"{to} lies in {submissions}, where every folder is a student's. Name one beside it with --to.")


def _require_known(only: set[str], bundle: Bundle) -> None:
    known = {entry.id for stem in bundle.stems for entry in bundle.exercises(stem)}
    if unknown := only - known:
        raise Refusal(f"The bundle has no exercise {', '.join(sorted(unknown))}. It has {', '.join(sorted(known))}.")


def _engine(begin: Begin, scheduler: str, jobs: int, waiting: int) -> Cluster | Pool:
    """Create the engine: a cluster if `scheduler` is given, else a local pool no larger than the work needs."""
    from tfm_grader.judging.cluster import Cluster
    from tfm_grader.judging.pool import Pool

    if scheduler:
        return Cluster(begin.but(private=[]), scheduler)
    return Pool(begin, min(jobs or os.cpu_count() or 1, max(1, waiting)))


def _judge(bundle: Bundle, plan: Plan, pool: Cluster | Pool, place: Path, log: AuditLog | None) -> None:
    """Run `plan` and report the outcome."""
    from tfm_grader.judging.grade import carry_out
    from tfm_grader.names import counted

    if plan.jobs:
        say(f"The sandbox holds: {', '.join(pool.start())}.")
    seen: dict[str, str] = {}
    try:
        _watch(seen, carry_out(bundle, plan, pool, place, log), len(plan.jobs), pool.at_work)
    except KeyboardInterrupt:
        say(f"Stopped after {len(seen)} of {counted(len(plan.jobs), 'notebook')}, which are kept in {place}.")
        say("Run the same command again to judge the rest.")
        raise typer.Exit(130) from None
    students = len({student for student, _ in plan.submissions})
    judged = f"{counted(len(plan.jobs), 'notebook')} judged, {counted(plan.cached, 'exercise')} judged before"
    say(f"{counted(students, 'student')}, {judged}: {place}")
    _tell_troubles(seen, plan.foreign)


def _tell_troubles(seen: dict[str, str], foreign: int) -> None:
    for status, meaning in (
        ("stopped", "something ended before its time"),
        ("unreadable", "no notebook that can be read; blank until it is handed in again"),
        ("infrastructure", "not judged; run again"),
    ):
        if names := sorted(student for student, result in seen.items() if result == status):
            say(f"  {status} ({meaning}): {', '.join(names)}")
    if foreign:
        say(f"  {foreign} of them by another grader; `tfm grade --again` shows what this one would change")


def _wanted(to: Path, write: bool) -> bool:
    """Show what a regrade would change, and return whether to write it."""
    from tfm_grader.judging import regrade as anew

    found = anew.changes(to)
    for change in found.made:
        say(f"  {change.told}")
    students = len({change.student for change in found.made})
    say(f"{len(found.made)} numbers of {students} students would change, {found.same} stay.")
    if found.failed:
        say(f"  could not be judged anew, and stay as they are: {', '.join(found.failed)}")
    (to / anew.FOLDER / anew.SHOWN).write_text(found.as_csv(), encoding="utf-8")
    if write or (sys.stdin.isatty() and typer.confirm("Write them?")):
        return True
    say("Nothing was written. To write it: the same command with --write in place of --again.")
    return False


class AtWork(ProgressColumn):
    """A progress column with the students being judged."""

    def __init__(self, at_work: Callable[[], list[str]]):
        super().__init__()
        self.at_work = at_work

    def render(self, task: Task) -> Text:
        return Text(", ".join(self.at_work()))


def _watch(seen: dict[str, str], judged: Iterable[StudentResult], total: int, at_work: Callable[[], list[str]]) -> None:
    """Record each student's status in `seen`, with a progress bar that names those being judged."""
    columns = TextColumn("Judging"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn(), AtWork(at_work)
    with Progress(*columns, console=console, transient=True) as progress:
        task = progress.add_task("", total=total)
        for result in judged:
            seen[result.student] = result.status
            progress.advance(task)


def report(
    results: Annotated[Path, typer.Argument(help="The folder that `tfm grade` filled.")],
    bundle: Annotated[Path, typer.Option(help="The bundle that `tfm assign` made.")],
    to: Annotated[Path | None, typer.Option(help="Where reports go; report/ beside the results if none.")] = None,
    submissions: Annotated[
        Path | None, typer.Option(help="The collected submissions; those that `tfm grade` read if none.")
    ] = None,
    marks: Annotated[
        Path | None, typer.Option(metavar="CSV", help="Marks by hand: student (or team),exercise,points,reason.")
    ] = None,
    waivers: Annotated[
        Path | None,
        typer.Option(metavar="CSV", help="Late days that do not count, or due dates: student,chapter,days,due,reason."),
    ] = None,
    requests: Annotated[
        Path | None, typer.Option(metavar="CSV", help="Requests for a regrade: student,exercise,request,answer.")
    ] = None,
    missing: Annotated[
        str, typer.Option(metavar="blank|zero", help="For what was not handed in; the manifest's word if none.")
    ] = "",
    canvas: Annotated[
        Path | None, typer.Option(metavar="CSV", help="The grade book that Canvas exported, to be filled in.")
    ] = None,
    moodle: Annotated[
        Path | None, typer.Option(metavar="CSV", help="The grading worksheet that Moodle exported, to be filled in.")
    ] = None,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Write over scores that stand in Canvas's or Moodle's file.")
    ] = False,
    nbgrader: Annotated[
        Path | None, typer.Option(metavar="DB", help="nbgrader's gradebook.db, to be filled in.")
    ] = None,
    column: Annotated[str, typer.Option(help="What the LMS calls the assignment; its title if none.")] = "",
    pseudonyms: Annotated[
        Path | None,
        typer.Option(metavar="KEY", help="Codes in place of names, into a new folder; the file keeps the key."),
    ] = None,
    as_judged: Annotated[
        bool, typer.Option("--as-judged", help="Write numbers although what they were made from has changed.")
    ] = False,
) -> None:
    """Write feedback for each student, grades for your records and your LMS, and a page about the class."""
    from tfm_grader.assignment import bundle as bundles
    from tfm_grader.exports import nbgrader as gradebook
    from tfm_grader.exports.pseudonyms import require_empty
    from tfm_grader.judging.audit_log import AuditLog
    from tfm_grader.lock import only_one
    from tfm_grader.names import counted
    from tfm_grader.output_folder import replace_files
    from tfm_grader.reports.report import Report, Sources, exported

    if missing not in ("", "blank", "zero"):
        raise Refusal(f"--missing is blank or zero, and not {missing!r}.")
    if pseudonyms and (canvas or moodle or nbgrader):
        raise Refusal(
            "A grade book names its students. Fill it in without --pseudonyms, and give the codes by themselves."
        )
    _require_results(results)
    beside = results.resolve().parent
    to = to or beside / ("pseudonyms" if pseudonyms else "report")
    if to.resolve() == results.resolve():
        raise Refusal(f"{to} holds the results. Name another folder for the report.")
    submissions = submissions or _read_from(results) or beside / "submissions"
    _require_beside(to, submissions)
    if pseudonyms:
        require_empty(to, pseudonyms)
    loaded = bundles.read_bundle(bundle)
    nothing = 0.0 if (missing or loaded.manifest.missing) == "zero" else None
    sources = Sources(results, loaded, submissions, marks, waivers, requests, nothing)
    with only_one(results, "tfm report"), only_one(to, "tfm report"):
        try:
            log = AuditLog(results)
            made = Report.of(sources, log)
            _require_results(results, bool(made.scores))
            _require_fresh(made.stale, as_judged)
            column, notes = column or made.assignment, [*made.notes, *made.blanks()]
            shown = made.under_pseudonyms(pseudonyms) if pseudonyms else made
            files = shown.files()
            for name, filled in _filled(made.scores, column, canvas, moodle, overwrite):
                files[name], notes = filled.text, [*notes, *filled.notes]
            if nbgrader:
                notes += gradebook.nbgrader(made.scores, nbgrader, column)
        except OSError as fault:
            raise Refusal(f"{fault.filename} cannot be read: {fault.strerror}.") from None
        sheet, renamed = _beside_marks(files, made, to), _beside_answers(files, made, to)
        replace_files(to, files)
        log.add(*made.events, exported(to, files, bool(made.stale)), at=made.at)
    if pseudonyms:
        for name in (HELD, WRITTEN):
            (to / name).unlink(missing_ok=True)
    say(f"{counted(len(made.scores), 'student')}: {to / 'class.html'}, {to / 'grades.csv'}, {to / 'feedback'}.")
    if sheet and made.desk is not None and made.desk.waiting:
        waiting = f"{counted(made.desk.waiting, 'answer')} in words {'waits' if made.desk.waiting == 1 else 'wait'}"
        say(f"{waiting} for a mark: {to / 'marking.html'}, or {to / sheet}.")
    for line in [*notes, *renamed]:
        say(f"  {line}")


def gradescope(
    bundle: Annotated[Path, typer.Argument(help="The bundle that `tfm assign` made.")],
    to: Annotated[Path, typer.Option(metavar="ZIP", help="The archive to write, as autograder.zip.")],
    visible: Annotated[
        bool, typer.Option("--visible", help="Only the checks that students see; no hidden test leaves this machine.")
    ] = False,
) -> None:
    """Make the archive that grades an assignment on Gradescope, each submission in a container of its own."""
    from tfm_book.notebooks.contents import find_root
    from tfm_grader.assignment import bundle as bundles
    from tfm_grader.exports.autograder import autograder, settings

    loaded = bundles.read_bundle(bundle, visible)
    if not to.parent.is_dir():
        raise Refusal(f"There is no folder {to.parent} to write {to.name} into. Make it, or name another: --to")
    if to.suffix.lower() != ".zip" or to.is_dir():
        raise Refusal(f"{to} is no name for an archive. Give one that ends in .zip: --to")
    root = find_root()
    made = autograder(root, bundle, visible)
    to.write_bytes(made)
    say(f"{to} ({len(made) / 1e6:.1f} MB). Set on Gradescope:")
    for line in settings(root, loaded, bundle):
        say(f"  {line}")


def _filled(
    scores: list[Score], column: str, canvas: Path | None, moodle: Path | None, overwrite: bool
) -> Iterator[tuple[str, Filled]]:
    """Fill in the gradebooks exported from an LMS; yields their file names in the report."""
    from tfm_grader import tables
    from tfm_grader.exports import lms

    if canvas:
        yield "canvas.csv", lms.canvas(scores, tables.read_text(canvas), column, overwrite)
    if moodle:
        yield "moodle.csv", lms.moodle_worksheet(scores, tables.read_text(moodle), overwrite)


def _beside_marks(files: dict[str, str | bytes], made: Report, to: Path) -> str:
    """Rename the marking sheet in `files` if it would overwrite one with marks. Returns its name."""
    from tfm_grader.output_folder import free_name
    from tfm_grader.scoring import manual_grades, marking_sheet
    from tfm_grader.tables import BadTable

    desk = made.desk
    if "marking.csv" not in files or desk is None:
        return ""

    def may_be_replaced(path: Path) -> bool:
        try:
            return not marking_sheet.holds_more(manual_grades.lines(path), desk)
        except BadTable:
            return False

    name = free_name(to, "marking.csv", may_be_replaced)
    files[name] = files.pop("marking.csv")
    return name


def _beside_answers(files: dict[str, str | bytes], made: Report, to: Path) -> list[str]:
    """Rename the list of requests in `files` if it would overwrite one with lines that this report doesn't have.

    The older list stays as it is. Returns a line that names the new one.
    """
    from tfm_grader.output_folder import free_name
    from tfm_grader.scoring.regrade_requests import are_all_in

    if "requests.csv" not in files:
        return []
    name = free_name(to, "requests.csv", lambda path: are_all_in(path, made.requests))
    files[name] = files.pop("requests.csv")
    files |= {path.name: path.read_bytes() for path in to.glob("requests*.csv") if path.name != name}
    said = [f"the requests are now in {to / name}, since the list before has lines that this report doesn't have"]
    return said * (name != "requests.csv")


def _require_results(results: Path, there: bool = True) -> None:
    if not (there and results.is_dir()):
        raise Refusal(f"There are no results in {results}. `tfm grade` makes them.")


def _read_from(results: Path) -> Path | None:
    """Return the folder of submissions that `tfm grade` read for these results; None if it is not there any more."""
    try:
        folder = (results.resolve() / (results / READ_FROM).read_text(encoding="utf-8")).resolve()
    except (OSError, ValueError):
        return None
    return folder if folder.is_dir() else None


def _require_fresh(stale: list[str], as_judged: bool) -> None:
    """Refuse stale scores unless `as_judged` is set."""
    if not stale:
        return
    lines = "\n".join(f"  {line}" for line in stale)
    if as_judged:
        say(f"As they were judged, and not of what lies there now:\n{lines}")
        return
    raise Refusal(
        f"Some numbers are not of what lies there now. Nothing was written.\n{lines}\n"
        f"To write them as they were judged: tfm report --as-judged"
    )
