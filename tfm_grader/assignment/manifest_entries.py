"""Make an exercise's manifest entry: points, importable modules and forbidden calls."""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import Any

import yaml

from tfm_grader.assignment import bundle as bundles
from tfm_grader.assignment.exercise_source import BadSource, Written
from tfm_grader.assignment.handout import question

CHEAP = ("torch.nn.functional.scaled_dot_product_attention", "torch.nn.functional.multi_head_attention_forward")


def entry(root: Path, stem: str, exercise: Written, own: dict[str, Written]) -> dict[str, Any]:
    """Make the manifest entry of `exercise`; `own` holds its personal versions by student. Raises BadSource."""
    from tfm_exercises.judge import find

    made: dict[str, Any] = {"id": exercise.id, "title": exercise.title}
    points = exercise.option("points")
    if exercise.text_only:
        rubric = _rubric(exercise)
        total = sum(each["points"] for each in rubric)
        if rubric and points and _number(exercise, points) != total:
            raise BadSource(f"{exercise.path.name}: the rubric of {exercise.id} gives {total:g} points, not {points}.")
        given = total if rubric else _number(exercise, points or "1")
        made |= {"kind": "text", "answers": [], "points": given, "rubric": rubric, "question": question(exercise, root)}
        made["answer"] = "\n".join(exercise.solution.lines).strip() if exercise.solution else ""
        others = {student: question(each, root) for student, each in own.items()}
        if others := {student: text for student, text in others.items() if text != made["question"]}:
            made["own_questions"] = others
        return made
    earlier = _earlier(root, stem)
    made |= {"kind": "assigned" if exercise.assigned else "practice", "answers": exercise.answers}
    if exercise.carried:
        made["carried"] = exercise.weights.name
    if exercise.assigned:
        hidden = bundles.hidden_tests("\n\n".join(exercise.hidden), stem).get(exercise.id, [])
        given = sum(test.points for test in hidden)
        if points and _number(exercise, points) != given:
            raise BadSource(f"{exercise.path.name}: the tests of {exercise.id} give {given:g} points, not {points}.")
        if not given:
            raise BadSource(f"{exercise.path.name}: no hidden test names {exercise.id} and gives points for it.")
        allowed = [name.strip() for name in exercise.option("modules").split(",") if name.strip()]
        forbidden = [name.strip() for name in exercise.option("forbidden").split(",") if name.strip()]
        return {
            **made,
            "points": given,
            "modules": _closed(allowed or earlier),
            "forbidden": [*CHEAP, *forbidden],
            "may_change_input": "may-change-input" in exercise.statement.options,
        }
    found = find(exercise.id)
    return {
        **made,
        "answers": list(found.answers),
        "points": exercise.stars,
        "modules": _closed(earlier),
        "forbidden": [*CHEAP, *(name for name in found.forbids if "." in name)],
        "may_change_input": found.may_change_input,
    }


def _rubric(exercise: Written) -> list[dict[str, Any]]:
    """Parse the criteria of a written answer from `:rubric: 1 the mechanism; 0.5 a number`. Raises BadSource."""
    found = []
    for part in filter(None, map(str.strip, exercise.option("rubric").split(";"))):
        match = re.fullmatch(r"(\d{1,3}(?:\.\d{1,3})?) +(\S.{0,199})", part)
        if not match or not float(match[1]) or match[2] in (each["name"] for each in found):
            raise BadSource(
                f"{exercise.path.name}: the rubric of {exercise.id} must be points and words, each once, "
                f"as `1 the mechanism; 0.5 a number`, not {part!r}."
            )
        found.append({"name": match[2], "points": float(match[1])})
    return found


def _number(exercise: Written, text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise BadSource(f"{exercise.path.name}: the points of {exercise.id} are no number: {text!r}.") from None


def _earlier(root: Path, stem: str) -> list[str]:
    """List the library modules of the chapters before `stem` in the reading order."""
    toc = yaml.safe_load((root / "_toc.yml").read_text(encoding="utf-8"))
    order = [Path(entry["file"]).name for part in toc.get("parts", []) for entry in part["chapters"]]
    before = order[: order.index(stem)] if stem in order else []
    return [name for name in before if (bundles.PACKAGE / f"{name}.py").is_file()]


def _closed(names: list[str]) -> list[str]:
    """Return `names` together with the library modules that they import, directly or indirectly."""
    found, waiting = set(), list(names)
    while waiting:
        name = waiting.pop()
        path = bundles.PACKAGE / f"{name}.py"
        if name in found or not path.is_file():
            continue
        found.add(name)
        nodes = ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        modules = [node.module or "" for node in nodes if isinstance(node, ast.ImportFrom)]
        waiting += [module.split(".")[1] for module in modules if module.startswith("tfm_lib.")]
    return sorted(found)
