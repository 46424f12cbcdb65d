"""Make an assignment: notebooks for students, notebooks with solutions, and the bundle that grades them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from tfm_grader.assignment import bundle as bundles
from tfm_grader.assignment.exercise_source import BadSource, Written, chosen, parameters, visible_check, written_in
from tfm_grader.assignment.handout import Handout, Terms, put_wheel, readme
from tfm_grader.assignment.leaks import require_none
from tfm_grader.assignment.local_edits import MADE, Before, record
from tfm_grader.assignment.manifest import manifest as checked
from tfm_grader.assignment.manifest_entries import entry
from tfm_grader.sandbox.limits import Limits
from tfm_grader.written_answers import digests


@dataclass
class Assignment:
    """All files of an assignment, keyed by their path within its folder."""

    students: dict[str, str] = field(default_factory=dict)
    solutions: dict[str, str] = field(default_factory=dict)
    bundle: dict[str, str] = field(default_factory=dict)
    root: Path = Path()
    before: Before | None = None

    @property
    def files(self) -> dict[str, str]:
        return {**self.students, **self.solutions, **self.bundle}

    def write(self, folder: Path) -> str:
        """Write all files into `folder`. Returns a warning if students will lack the wheel or get an old one."""
        if self.before is not None:
            self.before.remove_stale(set(self.files))
        for name, text in self.files.items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        return put_wheel(self.root, sorted({(folder / name).parent for name in self.students}))


@dataclass(frozen=True)
class AssignOptions:
    """The instructor's options for `make`."""

    root: Path
    stems: list[str]
    seed: str
    private: Path | None = None
    only: frozenset[str] = frozenset()
    roster: tuple[str, ...] = ()
    name: str = ""
    due: str = ""
    teams: Mapping[str, str] = field(default_factory=dict)  # by student; a team shares its values


def make(wishes: AssignOptions, before: Before | None = None) -> Assignment:
    """Make the assignment that `wishes` describe, keeping the manual edits recorded in `before`.

    Raises BadSource, BadBundle, ChangedByHand, and Leak if students would receive secret material.
    """
    if wishes.only:
        _require_known(wishes)
    chosen_for = {
        (stem, student): _exercises(wishes, stem, student)
        for stem in wishes.stems
        for student in _students(wishes, stem)
    }
    manifest: dict[str, Any] = {
        "format": bundles.FORMAT,
        "name": wishes.name or ", ".join(wishes.stems),
        "seed": wishes.seed,
        "limits": Limits().as_dict(),
        "late": {"per_day": 0.0, "free_days": 0, "due": wishes.due},
        "chapters": {
            stem: {
                "exercises": [
                    entry(wishes.root, stem, each, _own(chosen_for, stem, each.id)) for each in chosen_for[stem, ""]
                ]
            }
            for stem in wishes.stems
        },
    }
    generated = json.loads(json.dumps(manifest))  # before manual edits are merged in
    manifest = before.revised(manifest) if before else manifest
    terms = Terms.of(checked(manifest))
    made = Assignment(root=wishes.root, before=before)
    parts = {key: Handout(wishes.root, key[0], wishes.name, exercises, terms) for key, exercises in chosen_for.items()}
    apart = any(student for _, student in parts)  # each student gets a folder with everything
    for (stem, student), part in parts.items():
        own = [student] if student else [each for each in wishes.roster if (stem, each) not in parts] if apart else [""]
        if own:
            notebook = part.notebook(solved=False)
            made.students |= {
                f"student/{name}/{stem}.ipynb" if name else f"student/{stem}.ipynb": notebook for name in own
            }
        made.solutions[f"solution/{student}/{stem}.ipynb" if student else f"solution/{stem}.ipynb"] = part.notebook(
            solved=True
        )
        if any(exercise.assigned for exercise in part.exercises):
            name = f"bundle/tests/{stem}/{student}.py" if student else f"bundle/tests/{stem}.py"
            made.bundle[name] = "\n\n\n".join(code for exercise in part.exercises for code in exercise.hidden) + "\n"
        if check := visible_check(wishes.root / "chapters" / f"{stem}.md", part.exercises):
            made.bundle[f"bundle/visible/{stem}/{student}.py" if student else f"bundle/visible/{stem}.py"] = check
    for folder in {name.rpartition("/")[0] for name in made.students}:
        stems = [stem for stem in wishes.stems if f"{folder}/{stem}.ipynb" in made.students]
        made.students[f"{folder}/README.md"] = readme(wishes.root, manifest["name"], stems, terms)
    require_none(made.students, _secrets(chosen_for.values()), [text for part in parts.values() for text in part.given])
    for stem, chapter in manifest["chapters"].items():
        chapter["given"] = _given(parts.values(), stem, before)
        chapter["handouts"] = {student: part.mark for (of, student), part in parts.items() if of == stem}
    generated_files = made.files
    if before:
        made.bundle = before.tests(made.bundle)
        before.require_untouched(made.students | made.solutions)
    made.bundle["bundle/manifest.json"] = json.dumps(manifest, ensure_ascii=False, indent=1) + "\n"
    made.bundle[MADE] = record(generated, generated_files)
    return made


def _students(wishes: AssignOptions, stem: str) -> tuple[str, ...]:
    """List "" for the shared version, plus every student on the roster if the chapter has parameters."""
    return ("", *wishes.roster) if wishes.roster and _varying(wishes, stem) else ("",)


def _secrets(chosen_for: Iterable[list[Written]]) -> dict[str, str]:
    """Collect the texts no student may receive, keyed by the name that an error message gives them."""
    secrets: dict[str, str] = {}
    for exercise in (exercise for exercises in chosen_for for exercise in exercises):
        if exercise.solution:
            solution = "\n".join(exercise.solution.lines)
            secrets[f"the solution of {exercise.id}"] = (
                f"{secrets.get(f'the solution of {exercise.id}', '')}\n{solution}"
            )
        for code in exercise.hidden:
            secrets[f"a hidden test of {exercise.id}"] = f"{secrets.get(f'a hidden test of {exercise.id}', '')}\n{code}"
    return secrets


def _own(chosen_for: dict[tuple[str, str], list[Written]], stem: str, id: str) -> dict[str, Written]:
    """Return the personal versions of exercise `id`, by student."""
    return {
        student: exercise
        for (of, student), exercises in chosen_for.items()
        if of == stem and student
        for exercise in exercises
        if exercise.id == id
    }


def _given(parts: Iterable[Handout], stem: str, before: Before | None) -> str:
    """Digest all lines handed out to students for chapter `stem`, including those of the run `before`."""
    given = digests(text for part in parts if part.stem == stem for text in part.given)
    return " ".join(sorted({*(before.given(stem) if before else "").split(), *given.split()}))


def _require_known(wishes: AssignOptions) -> None:
    """Refuse chosen exercises that no chapter of the assignment has. Raises BadSource."""
    found = [part for stem in wishes.stems for part in _written(wishes, stem, "")]
    known = [exercise.id for part in found for exercise in part]
    if unknown := sorted(wishes.only - set(known)):
        near = sorted({each for name in unknown for each in get_close_matches(name, known, n=1)})
        hint = f"Did you mean {' and '.join(near)}?" if near else f"There are {', '.join(known)}."
        raise BadSource(f"There is no exercise {' and no '.join(unknown)} in {' or '.join(wishes.stems)}. {hint}")


def _varying(wishes: AssignOptions, stem: str) -> dict[str, list[Any]]:
    path = _private(wishes, stem)
    return parameters(path) if path else {}


def _private(wishes: AssignOptions, stem: str) -> Path | None:
    path = wishes.private / f"{stem}.md" if wishes.private else None
    return path if path and path.is_file() else None


def _written(wishes: AssignOptions, stem: str, student: str) -> tuple[list[Written], list[Written]]:
    """Return a chapter's own exercises, and the instructor's with the values of one student."""
    chapter = wishes.root / "chapters" / f"{stem}.md"
    if not chapter.is_file():
        raise BadSource(f"There is no chapter {stem}: {chapter} does not exist.")
    private = _private(wishes, stem)
    whose = wishes.teams.get(student, student)
    return written_in(chapter), written_in(private, chosen(private, wishes.seed, whose)) if private else []


def _exercises(wishes: AssignOptions, stem: str, student: str) -> list[Written]:
    public, own = _written(wishes, stem, student)
    private, found = _private(wishes, stem), public + own
    if wishes.only:
        found = [exercise for exercise in found if exercise.id in wishes.only]
    elif own:
        found = own
    if not found:
        raise BadSource(f"No exercise was chosen in {stem}. It has {', '.join(each.id for each in public + own)}.")
    if twice := {each.id for each in found if [other.id for other in found].count(each.id) > 1}:
        raise BadSource(
            f"{', '.join(sorted(twice))} stands both in the chapter and in {private}. Give yours another label."
        )
    for exercise in own:
        if not exercise.text_only and not exercise.assigned:
            raise BadSource(f"{private}: {exercise.id} has no cell with `:tags: [hidden]`, so nothing would be tested.")
        if exercise.id.partition(".")[0] != stem:
            raise BadSource(f"{private}: the label {exercise.id} must begin with {stem}.")
    return found
