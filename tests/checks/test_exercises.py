"""Every exercise of every chapter: stub, check, hints and solution as they stand there, and answers in many styles."""

import ast
import gc
import re
import runpy
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from types import SimpleNamespace
from typing import Any

import pytest
from project import CHAPTERS, ROOT
from tiers import CHAPTERS as KEPT
from tiers import params
from torch import Tensor

from tfm_book.notebooks.myst import Block, blocks
from tfm_exercises import Verdict, check
from tfm_exercises.judge import _exercises, find, judge_student

pytestmark = pytest.mark.usefixtures("as_readers_run_it")

DIFFICULTY = re.compile(r"\*(\d+) minutes · (★☆☆☆|★★☆☆|★★★☆|★★★★)\*")


@dataclass(frozen=True)
class Posed:
    """An exercise as a chapter poses it: the directives from `{exercise}` to its `{solution}`."""

    id: str
    parts: list[Block]
    imports: str

    @property
    def text(self) -> str:
        return "\n".join(self.parts[0].lines).strip()

    @property
    def cells(self) -> list[str]:
        return cells_of(self.parts)

    @property
    def hints(self) -> list[str]:
        return [part.argument for part in self.parts if part.name == "dropdown" and "hint" in str(part.options)]

    @property
    def solution(self) -> str:
        (solution,) = (part for part in self.parts if part.name == "solution")
        (code,) = (block.lines for block in blocks("\n".join(solution.lines)) if block.kind == "code")
        assert code[0] == "```python"
        return "\n".join(code[1:-1]) + "\n"


def posed_in(stem: str) -> list[Posed]:
    """The exercises of chapter `stem` that have a judge: not those whose answer is a text."""
    parts = directives_of(stem)
    starts = [index for index, part in enumerate(parts) if part.name == "exercise"]
    exercises = []
    for start, end in pairwise([*starts, len(parts)]):
        own = parts[start:end]
        if own[0].options.get("class") == "text":
            continue
        last = next((index for index, part in enumerate(own) if part.name == "solution"), len(own) - 1)
        exercises.append(Posed(own[0].options["label"], own[: last + 1], imports_of(parts[:start])))
    return exercises


def directives_of(stem: str) -> list[Block]:
    text = (CHAPTERS / f"{stem}.md").read_text(encoding="utf-8")
    return [block for block in blocks(text) if block.kind == "directive"]


def cells_of(parts: list[Block]) -> list[str]:
    return ["\n".join(part.lines) + "\n" for part in parts if part.name == "code-cell"]


def imports_of(parts: list[Block]) -> str:
    """The import statements that a reader has run by then, but for what only the page needs."""
    return "\n".join(line for cell in cells_of(parts) for line in imports_in(cell))


@cache
def imports_in(cell: str) -> list[str]:
    nodes = [node for node in ast.parse(cell).body if isinstance(node, (ast.Import, ast.ImportFrom))]
    return [line for node in nodes if "widgets" not in (line := ast.unparse(node))]


STEMS = sorted(path.stem for path in CHAPTERS.glob("*.md"))
POSED = {stem: exercises for stem in STEMS if (exercises := posed_in(stem))}
EXERCISES = {posed.id: posed for exercises in POSED.values() for posed in exercises}
ANSWERS = {
    path.stem: runpy.run_path(str(path)) for path in sorted((ROOT / "tests" / "checks" / "answers").glob("*.py"))
}
JUDGES = {path.stem for path in (ROOT / "tfm_exercises" / "checks").glob("*.py")} - {"__init__"}
every_exercise = pytest.mark.parametrize("id", EXERCISES)
#: What `make test` asks of the exercises of two chapters, the long tier of all, and `make quick` of a changed chapter.
some_exercises = pytest.mark.parametrize("id", params(EXERCISES, [id for id in EXERCISES if id.split(".")[0] in KEPT]))


def answers_to(id: str, kind: str) -> dict[str, str]:
    """The answers of one kind, "RIGHT" or "WRONG", to exercise `id` by their names."""
    return ANSWERS.get(id.split(".", maxsplit=1)[0], {}).get(kind, {}).get(id, {})


def slowness() -> float:
    """How many times as long as where the bound of a second was set a piece of work takes here and now."""
    start = time.process_time()
    for _ in range(20_000):
        sum(range(500))
    return max(1, (time.process_time() - start) / 0.1)


def judged(id: str, source: str, before: str = "import math\nimport torch\nimport torch.nn.functional as F") -> Verdict:
    """The verdict on what `source` defines; the check itself takes at most a second of processor time, longer on a slow
    machine. What takes longer is tried once more: in a process of thousands of tests, clearing their garbage may fall into
    any one of them."""
    for _ in range(2):
        namespace = {}
        exec(f"{before}\n{source}", namespace)  # noqa: S102 (our own answers)
        answers = [namespace[name] for name in find(id).answers]
        start = time.process_time()
        verdict = check(id, *answers)
        took = time.process_time() - start
        if took > 1:  # a check may ask twice who holds a name, and here that walks what thousands of tests have left
            start = time.process_time()
            gc.get_referrers(object(), gc.get_referrers(object()))
            took -= time.process_time() - start
        if took <= 1 or took <= slowness():
            return verdict
    raise AssertionError(f"the check takes {took:.1f} seconds")


# the set of exercises


def test_chapters_with_exercises():
    assert {"attention", "self_attention", "masking"} <= POSED.keys()


@pytest.mark.parametrize("stem", [stem for stem in POSED if stem != "mine"])  # its exercise puts the others together
def test_chapter_has_at_least_four_exercises(stem):
    posed = len(POSED[stem])
    assert posed >= 4, f"chapters/{stem}.md poses {posed} of at least four exercises."


@pytest.mark.parametrize("stem", POSED)
def test_exercises_of_a_chapter_are_those_that_have_judges(stem):
    for posed in POSED[stem]:
        find(posed.id)
    judged, posed = {id for id in _exercises if id.startswith(f"{stem}.")}, {posed.id for posed in POSED[stem]}
    assert judged == posed, f"tfm_exercises/checks/{stem}.py and chapters/{stem}.md part over {judged ^ posed}."


@pytest.mark.parametrize("stem", sorted(ANSWERS.keys() | JUDGES))
def test_judges_and_banks_belong_to_a_chapter_with_exercises(stem):
    assert stem in POSED, f"chapters/{stem}.md poses no exercise, and there are judges or answers of it."
    ids = {posed.id for posed in POSED[stem]}
    assert stem in ANSWERS, f"The exercises of {stem} have no answers to try: write tests/checks/answers/{stem}.py."
    for kind in ("RIGHT", "WRONG"):
        parted = ANSWERS[stem][kind].keys() ^ ids
        assert not parted, (
            f"{kind} in tests/checks/answers/{stem}.py and the exercises of chapters/{stem}.md part over {parted}."
        )


def test_no_exercise_is_posed_twice():
    assert sum(len(exercises) for exercises in POSED.values()) == len(EXERCISES)


# as it stands in the chapter


@every_exercise
def test_the_exercise_has_its_parts(id):
    """Minutes and stars, a stub, a check, one to three folded hints and a folded solution."""
    opens = DIFFICULTY.match(EXERCISES[id].text)
    assert opens, f"{id} must open with its minutes and a difficulty of one to four stars: *8 minutes · ★★☆☆*"
    assert (int(opens[1]) > 30) == (opens[2] == "★★★★"), "four stars are for what takes more than 30 minutes"
    _, asked = EXERCISES[id].cells
    *before, last = ast.parse(asked).body
    assert all(isinstance(node, ast.ImportFrom) for node in before)
    call = last.value
    assert call.func.id == "check"
    assert call.args[0].value == id
    assert tuple(argument.id for argument in call.args[1:]) == find(id).answers
    hints = EXERCISES[id].hints
    numbered = any(hints == [f"Hint {k + 1}" for k in range(count)] for count in (1, 2, 3))
    assert numbered, f"{id} must have one to three folded hints, Hint 1 and so on; it has {hints or 'none'}."
    last = EXERCISES[id].parts[-1]
    assert (last.name, last.argument) == ("solution", id)
    assert last.options["class"] == "dropdown"


@every_exercise
def test_stub_is_unsolved_and_solution_passes(id):
    posed = EXERCISES[id]
    verdict = judged(id, posed.cells[0], posed.imports)
    assert verdict.status == "unsolved", f"The stub of {id} must end in `...`, and not be judged: {verdict}"
    verdict = judged(id, posed.solution, posed.imports)
    assert verdict.passed, verdict
    assert verdict.held


def namespace_of(id: str) -> dict[str, Any]:
    """The names that the chapter's solution of exercise `id` defines, and those it was given."""
    namespace: dict[str, Any] = {}
    exec(f"{EXERCISES[id].imports}\n{EXERCISES[id].solution}", namespace)  # noqa: S102 (our own answers)
    return namespace


def solved(id: str) -> dict[str, Callable]:
    """The answers of the chapter's solution by their names."""
    namespace = namespace_of(id)
    return {name: namespace[name] for name in find(id).answers}


def plain(value: object) -> object:
    """`value` as something that can be compared; functions are all one."""
    if isinstance(value, Tensor):
        return value.tolist()
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    return None if callable(value) else value


@some_exercises
def test_a_grader_chooses_the_inputs_by_its_seed(id):
    """Each seed asks something else, and what is right passes with each."""
    right = solved(id)

    def asked(seed: int) -> list:
        calls = []

        def noting(answer):
            return lambda *args: (calls.append(plain(args)), answer(*args))[1]

        student = SimpleNamespace(**{name: noting(answer) for name, answer in right.items()})
        verdict = judge_student(find(id), student, seed)
        assert verdict.passed, f"seed {seed}: {verdict}"
        return calls

    first, second, again = asked(1234), asked(98765), asked(1234)
    assert first == again
    assert second != first or not any(first), "an answer that takes nothing is asked for the same each time"


# the answers


@every_exercise
def test_one_right_and_one_wrong_answer(id):
    right, (mistake, wrong) = next(iter(answers_to(id, "RIGHT").values())), next(iter(answers_to(id, "WRONG").items()))
    assert (verdict := judged(id, right)).passed, verdict
    assert (verdict := judged(id, wrong)).mistake == mistake, verdict


@some_exercises
def test_right_answers_of_several_styles_pass(id):
    answers = answers_to(id, "RIGHT")
    assert len(answers) >= 4, (
        f"tests/checks/answers/{id.split('.')[0]}.py has {len(answers)} of at least four right answers to {id}."
    )
    for style, source in answers.items():
        verdict = judged(id, source)
        assert verdict.passed, f"{style}: {verdict}"


@some_exercises
def test_each_known_mistake_gets_its_own_message(id):
    answers = answers_to(id, "WRONG")
    assert len(answers) >= 4, (
        f"tests/checks/answers/{id.split('.')[0]}.py has {len(answers)} of at least four wrong answers to {id}."
    )
    messages = []
    for mistake, source in answers.items():
        verdict = judged(id, source)
        assert verdict.status == "refused", f"{mistake}: {verdict}"
        assert verdict.mistake == mistake, f"{mistake}: {verdict}"
        messages.append(verdict.message)
    assert len(set(messages)) == len(messages), f"Two mistakes of {id} get the same message."


ALSO_WRONG = {id: mistakes for those in ANSWERS.values() for id, mistakes in those.get("ALSO_WRONG", {}).items()}


@pytest.mark.parametrize("id", params(ALSO_WRONG, [id for id in ALSO_WRONG if id.split(".")[0] in KEPT]))
def test_a_known_mistake_is_named_in_another_dress_too(id):
    told = [
        (mistake, place, verdict.status, verdict.mistake)
        for mistake, sources in ALSO_WRONG[id].items()
        for place, source in enumerate(sources)
        for verdict in [judged(id, source)]
    ]
    assert not [each for each in told if (each[2], each[3]) != ("refused", each[0])]
