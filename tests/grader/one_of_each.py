"""A class in which each case occurs once, graded by verdicts that its notebooks name: what happens to numbers afterwards.

How a verdict comes about is the matter of other tests.
"""

from __future__ import annotations

import csv
import io
import json
import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Self

from typer.testing import CliRunner

from tfm_grader.assignment import bundle as bundles
from tfm_grader.judging import pool
from tfm_grader.records import Begin, Bound, ExerciseResult, Job, Judged, NotJudged, Result, TestRow
from tfm_lib.cli import app

DUE = 1_900_000_000  # 2030-03-17T17:46:40 UTC
DAY = 86_400
BAND, LATENCY = "masking.band", "masking.latency"
ROSTER = """student,name,lms id
ann,Ann Right,11
lea,Lea Late,12
tom,Tom Twice,13
nan,Nan Notjudged,14
wil,Wil Waiting,15
vic,Vic Variant,16
wim,Wim Waived,17
ovi,Ovi Overridden,18
lef,Lef Leaving,19
nil,Nil Nothing,20
sue,Sue Stale,21
dde,"=cmd|' /C calc'!A0",22
"""
MARKS = """student,exercise,points,reason,author,time
ann,masking.latency,1.5,The twelve is missing.,Dr. Lee,2030-03-20
lea,masking.latency,2,All of it.,,
tom,masking.latency,0,No word about captions.,,
wim,masking.latency,2,All of it.,,
ovi,masking.latency,2,All of it.,,
ovi,masking.band,3,Right but for the name; we talked about it.,Dr. Lee,
lef,masking.latency,2,All of it.,,
sue,masking.latency,1,Half of it.,,
dde,masking.latency,1,"-half; =cmd|' /C calc'!A0",,
"""
WAIVERS = "student,chapter,days,reason\nwim,masking,all,ill\n"
# points of the test, words, days after the due date; None where there are none
HANDED_IN = {
    "ann": (4, "It adds up.", -1),
    "lea": (4, "Each layer waits.", 1.5),
    "tom": (2, "No idea.", -1),
    "nan": ("fails", "Words.", -1),
    "wil": (4, "<b>Unread</b> words.", -1),
    "vic": ("variant", "Words.", -1),
    "wim": (4, "Words on time.", 2.5),
    "ovi": (0, "Words of Ovi.", -1),
    "lef": (4, "Words of Lef.", -1),
    "sue": (4, "First words.", -1),
    "dde": (4, "=1+1", -1),
}
MANIFEST = {
    "format": 1,
    "name": "Masks",
    "seed": "spring",
    "late": {"due": "2030-03-17T17:46:40+00:00", "per_day": 0.1, "free_days": 0},
    "chapters": {
        "masking": {
            "exercises": [
                {"id": BAND, "title": "A band; wide", "kind": "assigned", "answers": ["band"], "points": 4},
                {"id": LATENCY, "title": "Why not the whole future?", "kind": "text", "points": 2},
            ]
        }
    },
}


def notebook(points: float | str, words: str) -> bytes:
    return json.dumps({"earns": points, "words": words, "cells": [], "nbformat": 4, "metadata": {}}).encode()


class Verdicts:
    """In place of the pool: each notebook earns what it says. `more` is given to all, as a mended test would."""

    more = 0.0

    def __init__(self, begin: Begin, _: int):
        self.bundle = bundles.Bundle(begin.manifest, begin.tests)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None: ...

    def start(self) -> list[str]:
        return ["nothing"]

    def at_work(self) -> list[str]:
        return []

    def results(self, jobs: Iterable[Job]) -> Iterator[tuple[Job, Result]]:
        for job in jobs:
            yield job, self._judged(job)

    def _judged(self, job: Job) -> Result:
        made = json.loads(job.data)
        if made["earns"] == "fails":
            return NotJudged(infrastructure="the judging process failed")
        if made["earns"] == "variant":
            return NotJudged(infrastructure=f"{job.student} is not on the roster that the numbers were made for")
        points = min(4.0, made["earns"] + self.more)
        outcome = "passed" if points == 4 else "refused"
        test = TestRow(name="looks", outcome=outcome, of=4, points=points, held=["it looks back"] if points else [])
        bound = Bound(grader=self.bundle.grader(job.stem, BAND))
        rows = {BAND: ExerciseResult(id=BAND, status="ok", of=4, points=points, tests=[test], bound=bound)}
        return Judged({id: row for id, row in rows.items() if id in job.ids}, {LATENCY: made["words"]})


def tfm(*words: object, ends: int = 0) -> str:
    """What `tfm` prints; it must end well, or as told."""
    result = CliRunner().invoke(app, [str(word) for word in words], catch_exceptions=False)
    assert result.exit_code == ends, result.output
    return result.output


class Course:
    """The folder of a course."""

    def __init__(self, folder: Path):
        self.folder, self.results, self.report = folder, folder / "results", folder / "report"
        self.write("bundle/manifest.json", json.dumps(MANIFEST))
        self.write("bundle/tests/masking.py", "# the hidden tests")
        for name, text in {"roster.csv": ROSTER, "marks.csv": MARKS, "waivers.csv": WAIVERS}.items():
            self.write(name, text)

    def write(self, name: str, text: str) -> Path:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return path

    def change(self, name: str, old: str, new: str) -> None:
        text = (self.folder / name).read_text(encoding="utf-8")
        assert old in text
        self.write(name, text.replace(old, new))

    def hand_in(self, student: str, points: float | str, words: str, days: float, name: str = "masking.ipynb") -> None:
        path = self.folder / "handed-in" / student / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(notebook(points, words))
        os.utime(path, (DUE + days * DAY, DUE + days * DAY))

    def collect(self) -> str:
        words = ["--bundle", self.folder / "bundle", "--to", self.folder / "submissions", "--dates", "mtime"]
        return tfm("collect", self.folder / "handed-in", "--roster", self.folder / "roster.csv", *words)

    def grade(self, *words: object) -> str:
        return tfm("grade", self.folder / "submissions", "--bundle", self.folder / "bundle", *words)

    def reported(self, *words: object, marks: bool = True) -> str:
        given = ["--marks", self.folder / "marks.csv", "--waivers", self.folder / "waivers.csv"] if marks else []
        return tfm("report", self.results, "--bundle", self.folder / "bundle", *given, *words)

    def table(self, name: str) -> list[dict[str, str]]:
        """The lines of a table of the report."""
        text = (self.report / name).read_text(encoding="utf-8-sig")
        return list(csv.DictReader(io.StringIO(text, newline="")))


def course(folder: Path, monkeypatch) -> Course:
    """The class, collected, graded and marked: Lef has left since, and Sue has handed in other words since her mark."""
    monkeypatch.setattr(pool, "Pool", Verdicts)
    made = Course(folder)
    for student, (points, words, days) in HANDED_IN.items():
        made.hand_in(student, points, words, days)
    made.hand_in("tom", 1, "My first words.", -3, "masking (1).ipynb")
    made.collect()
    made.grade()
    made.reported()
    made.hand_in("sue", 4, "Second words.", -0.5)
    made.change("roster.csv", "lef,Lef Leaving,19\n", "")
    (made.folder / "handed-in" / "lef" / "masking.ipynb").unlink()
    made.collect()
    made.grade()
    return made
