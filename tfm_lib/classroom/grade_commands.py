"""The commands that make numbers: grade judges, report writes what the judging became."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from tfm_lib._refusal import Refusal

console = Console(highlight=False)


def grade(
    submissions: Annotated[Path, typer.Argument(help="The folder with one folder for each student.")],
    bundle: Annotated[Path, typer.Option(help="The bundle that `tfm assign` made.")],
    to: Annotated[Path | None, typer.Option(help="Where results go; results/ beside the submissions if none.")] = None,
    jobs: Annotated[int, typer.Option(min=0, help="How many are judged at a time; as many as processors if 0.")] = 0,
    only: Annotated[list[str] | None, typer.Option(metavar="ID", help="Only this exercise; may be repeated.")] = None,
    force: Annotated[bool, typer.Option("--force", help="Judge again what has a result.")] = False,
    engine: Annotated[str, typer.Option(help="local, or dask: on the workers of a scheduler.")] = "local",
    scheduler: Annotated[
        str, typer.Option(metavar="ADDRESS", help="For dask: the scheduler, as tcp://host:8786.")
    ] = "",
    sandbox: Annotated[str, typer.Option(help="bubblewrap, docker or podman.")] = "bubblewrap",
    image: Annotated[
        str, typer.Option(help="For docker and podman: an image with Python, torch and jaxtyping.")
    ] = "tfm-sandbox",
) -> None:
    """Judge submissions by the bundle's tests, each in a sandbox. What was judged before is not judged again."""
    from tfm_lib.classroom import bundle as bundles
    from tfm_lib.classroom import grade as grading
    from tfm_lib.classroom.backends import require_outside
    from tfm_lib.classroom.cluster import Cluster
    from tfm_lib.classroom.pool import Pool
    from tfm_lib.classroom.records import Begin

    if engine not in ("local", "dask") or (engine == "dask") != bool(scheduler):
        raise Refusal("Give --engine dask together with --scheduler tcp://host:8786, or neither.")
    to = to or submissions.resolve().parent / "results"
    if not submissions.is_dir():
        raise Refusal(f"There is no folder {submissions}. `tfm collect` makes it.")
    loaded = bundles.load(bundle)
    require_outside([submissions, bundle, to.parent])
    known = {entry.id for stem in loaded.stems for entry in loaded.exercises(stem)}
    if unknown := set(only or ()) - known:
        raise Refusal(f"The bundle has no exercise {', '.join(sorted(unknown))}. It has {', '.join(sorted(known))}.")
    plan = grading.plan(loaded, grading.submissions_in(submissions, loaded), to, set(only or ()), force)
    students = len({student for student, _ in plan.submissions})
    if not students:
        raise Refusal(f"{submissions} holds no student's folder. `tfm collect` fills it.")
    begin = Begin(
        manifest=loaded.manifest,
        tests=loaded.tests,
        sandbox=sandbox,
        image=image,
        private=[str(path.resolve()) for path in (submissions, bundle, to)],
    )
    to.mkdir(parents=True, exist_ok=True)
    size = min(jobs or os.cpu_count() or 1, max(1, len(plan.jobs)))
    with Pool(begin, size) if engine == "local" else Cluster(begin.but(private=[]), scheduler) as pool:
        if plan.jobs:
            console.print(f"The sandbox holds: {', '.join(pool.start())}.", soft_wrap=True)
        seen = _watched(grading.carry_out(loaded, plan, pool, to), len(plan.jobs))
    words = [f"{students} students", f"{len(plan.jobs)} notebooks judged", f"{plan.cached} exercises judged before"]
    console.print(f"{', '.join(words)}: {to}", soft_wrap=True)
    for status, meaning in (
        ("stopped", "something ended before its time"),
        ("infrastructure", "not judged; run again"),
    ):
        if names := sorted(student for student, result in seen.items() if result == status):
            console.print(f"  {status} ({meaning}): {', '.join(names)}", soft_wrap=True)


def _watched(judged, total: int) -> dict[str, str]:
    """Each student's status, with a line of progress while it comes."""
    seen: dict[str, str] = {}
    columns = TextColumn("Judging"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn()
    with Progress(*columns, console=console, transient=True) as progress:
        task = progress.add_task("", total=total)
        for result in judged:
            seen[result.student] = result.status
            progress.advance(task)
    return seen


def report(
    results: Annotated[Path, typer.Argument(help="The folder that `tfm grade` filled.")],
    bundle: Annotated[Path, typer.Option(help="The bundle that `tfm assign` made.")],
    to: Annotated[Path | None, typer.Option(help="Where reports go; report/ beside the results if none.")] = None,
    submissions: Annotated[
        Path | None, typer.Option(help="The collected submissions; beside the results if none.")
    ] = None,
    marks: Annotated[
        Path | None, typer.Option(metavar="CSV", help="Marks by hand: student,exercise,points,reason.")
    ] = None,
    canvas: Annotated[
        Path | None, typer.Option(metavar="CSV", help="The grade book that Canvas exported, to be filled in.")
    ] = None,
    nbgrader: Annotated[
        Path | None, typer.Option(metavar="DB", help="nbgrader's gradebook.db, to be filled in.")
    ] = None,
    column: Annotated[str, typer.Option(help="What the LMS calls the assignment; its title if none.")] = "",
    pseudonyms: Annotated[
        Path | None, typer.Option(metavar="KEY", help="Codes in place of names; the file keeps the key.")
    ] = None,
) -> None:
    """Write feedback for each student, grades for your records and your LMS, and a page about the class."""
    from tfm_lib.classroom import bundle as bundles
    from tfm_lib.classroom import exports, tables
    from tfm_lib.classroom.report import Report

    submissions = submissions or results.resolve().parent / "submissions"
    try:
        loaded = bundles.load(bundle)
        made = Report.of(results, loaded.manifest, submissions, marks)
        if not made.scores:
            raise Refusal(f"There are no results in {results}. `tfm grade` makes them.")
        if pseudonyms:
            made = made.under_pseudonyms(pseudonyms)
        column = column or made.assignment
        files = made.files(column)
        if canvas:
            files["canvas.csv"] = exports.canvas(made.scores, tables.read_text(canvas), column)
        if nbgrader:
            exports.nbgrader(made.scores, nbgrader, column)
    except OSError as fault:
        raise Refusal(f"{fault.filename} cannot be read: {fault.strerror}.") from None
    to = to or results.resolve().parent / "report"
    for name, text in files.items():
        (to / name).parent.mkdir(parents=True, exist_ok=True)
        (to / name).write_text(text, encoding="utf-8")
    waiting = sum(score.waits for score in made.scores)
    console.print(
        f"{len(made.scores)} students: {to / 'class.html'}, {to / 'grades.csv'}, {to / 'feedback'}.", soft_wrap=True
    )
    if waiting:
        console.print(
            f"  {waiting} still wait for a mark by hand or another run; give marks with --marks.", soft_wrap=True
        )
