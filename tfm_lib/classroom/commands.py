"""The commands of a class: assign, collect, grade, report."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

console = Console(highlight=False)
errors = Console(stderr=True, highlight=False, soft_wrap=True)


class Refusal(Exception):
    """Something that the user can mend; the message says what and how."""


def register(app: typer.Typer) -> None:
    """Add the commands to `app`."""
    for command in (grade,):
        app.command()(command)


def grade(
    submissions: Annotated[Path, typer.Argument(help="The folder with one folder for each student.")],
    bundle: Annotated[Path, typer.Option(help="The bundle that `tfm assign` made.")],
    to: Annotated[Path | None, typer.Option(help="Where results go; results/ beside the submissions if none.")] = None,
    jobs: Annotated[int, typer.Option(min=0, help="How many are judged at a time; as many as processors if 0.")] = 0,
    only: Annotated[list[str] | None, typer.Option(metavar="ID", help="Only this exercise; may be repeated.")] = None,
    force: Annotated[bool, typer.Option("--force", help="Judge again what has a result.")] = False,
    sandbox: Annotated[str, typer.Option(help="bubblewrap, docker or podman.")] = "bubblewrap",
    image: Annotated[str, typer.Option(help="For docker and podman: an image with Python, torch and jaxtyping.")] = "tfm-sandbox",
) -> None:
    """Judge submissions by the bundle's tests, each in a sandbox. What was judged before is not judged again."""
    from tfm_lib.classroom import bundle as bundles
    from tfm_lib.classroom import grade as grading
    from tfm_lib.classroom.pool import Pool
    from tfm_lib.classroom.sandbox import NoSandbox, require_outside

    to = to or submissions.resolve().parent / "results"
    if not submissions.is_dir():
        raise Refusal(f"There is no folder {submissions}. `tfm collect` makes it.")
    try:
        loaded = bundles.load(bundle)
        require_outside([submissions, bundle, to.parent])
        known = {entry["id"] for stem in loaded.stems for entry in loaded.exercises(stem)}
        if unknown := set(only or ()) - known:
            raise Refusal(f"The bundle has no exercise {', '.join(sorted(unknown))}. It has {', '.join(sorted(known))}.")
        plan = grading.plan(loaded, grading.submissions_in(submissions, loaded), to, set(only or ()), force)
        students = len({student for student, _ in plan.submissions})
        if not students:
            raise Refusal(f"{submissions} holds no student's folder. `tfm collect` fills it.")
        begin = {
            "manifest": loaded.manifest,
            "tests": loaded.tests,
            "sandbox": sandbox,
            "image": image,
            "private": [str(path.resolve()) for path in (submissions, bundle, to)],
        }
        to.mkdir(parents=True, exist_ok=True)
        size = min(jobs or os.cpu_count() or 1, max(1, len(plan.jobs)))
        with Pool(begin, size) as pool:
            if plan.jobs:
                console.print(f"The sandbox holds: {', '.join(pool.start())}.", soft_wrap=True)
            seen = _watched(grading.carry_out(loaded, plan, pool, to, {}), len(plan.jobs))
    except (bundles.BadBundle, NoSandbox) as refusal:
        raise Refusal(str(refusal)) from None
    words = [f"{students} students", f"{len(plan.jobs)} notebooks judged", f"{plan.cached} exercises judged before"]
    console.print(f"{', '.join(words)}: {to}", soft_wrap=True)
    for status, meaning in (("stopped", "something ended before its time"), ("infrastructure", "not judged; run again")):
        if names := sorted(student for student, result in seen.items() if result == status):
            console.print(f"  {status} ({meaning}): {', '.join(names)}", soft_wrap=True)


def _watched(judged, total: int) -> dict[str, str]:
    """Each student's status, with a line of progress while it comes."""
    seen: dict[str, str] = {}
    columns = TextColumn("Judging"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn()
    with Progress(*columns, console=console, transient=True) as progress:
        task = progress.add_task("", total=total)
        for result in judged:
            seen[result["student"]] = result["status"]
            progress.advance(task)
    return seen
