"""Every mistake that a judge knows is told by its name.

A slip is a function of the exercise's inputs, so it can be handed in as the answer, or as the part of one that a question
of the judge is about. Where it is named in neither, as another slip is that is asked about earlier and gives the same, the
chapter's answers hold one with it.
"""

from types import SimpleNamespace
from typing import NamedTuple

import pytest

from checks.test_exercises import answers_to, solved, some_exercises
from tfm_exercises import check, judge
from tfm_exercises.judge import Expect, Slip, Verdict, find, judge_student
from tfm_exercises.watching import watched


class Asked(NamedTuple):
    """A slip that a judge knows, the name of the answer it is looked for in, by which of the judge's questions, and the
    slip's place among those of that question.
    """

    slip: Slip
    answer: str
    question: int
    place: int


class Noting(Expect):
    """Notes what a judge knows: its slips, and the names of other mistakes; `put` is asked about in its answer's place."""

    slips: list[Asked]
    names: set[str]
    put: Asked | None
    asked = 0

    def agrees(self, answer, right, inputs, holds, slips=(), *args, **kwargs):
        name = judge._name_of(answer)
        self.slips += [Asked(slip, name, self.asked, place) for place, slip in enumerate(slips)]
        if self.put and self.put.question == self.asked:
            answer = watched(name, slips[self.put.place].of)  # anew: a slip may remember what its own judge drew
        self.asked += 1
        super().agrees(answer, right, inputs, holds, slips, *args, **kwargs)

    def close(self, got, want, holds, mistakes=(), *args, **kwargs):
        self.names |= {mistake.name for mistake in mistakes}
        super().close(got, want, holds, mistakes, *args, **kwargs)

    def shape(self, got, want, holds, mistakes=()):
        self.names |= {mistake.name for mistake in mistakes}
        super().shape(got, want, holds, mistakes)

    def equal(self, got, want, holds, mistakes=(), *args, **kwargs):
        self.names |= {mistake.name for mistake in mistakes}
        super().equal(got, want, holds, mistakes, *args, **kwargs)

    def true(self, condition, holds, otherwise, mistake=None):
        self.names |= {mistake} - {None}
        super().true(condition, holds, otherwise, mistake)


def known(id: str, put: Asked | None = None) -> tuple[Verdict, list[Asked], set[str]]:
    """The verdict on the solution, with `put` in the place of what one question is about; the slips of the exercise, and
    the names of its other mistakes.
    """
    noting = type("Noting", (Noting,), {"slips": [], "names": set(), "put": put})
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(judge, "Expect", noting)
        return judge_student(find(id), SimpleNamespace(**solved(id))), noting.slips, noting.names


def handed_in(id: str, asked: Asked) -> Verdict:
    """The verdict on the solution with the slip in the place of the answer it is looked for in, or of the only one."""
    answers = solved(id)
    name = asked.answer if len(answers) > 1 else next(iter(answers))
    return check(id, *(answers | {name: lambda *args: asked.slip.of(*args)}).values())


@some_exercises
def test_each_mistake_that_a_judge_knows_is_told_as_itself(id):
    verdict, slips, names = known(id)
    assert verdict.passed, verdict
    verdicts = [(asked.slip.name, handed_in(id, asked)) for asked in slips]
    passed = [name for name, verdict in verdicts if verdict.passed]
    assert not passed, f"{id} accepts its own slips: {passed}"
    other = [asked for asked, (name, verdict) in zip(slips, verdicts, strict=True) if verdict.mistake != name]
    verdicts += [(asked.slip.name, known(id, asked)[0]) for asked in other]
    told = {(name, verdict.message) for name, verdict in verdicts if verdict.mistake == name}
    heard = {name for name, _ in told} | answers_to(id, "WRONG").keys()
    unheard = sorted(names.union(name for name, _ in verdicts) - heard)
    assert not unheard, (
        f"Nothing tells whether {id} names {unheard}: handed in, they are told as something else. Write a wrong answer "
        f"with each into tests/checks/answers/{id.split('.')[0]}.py."
    )
    messages = {message: name for name, message in told}
    assert {(messages[message], message) for _, message in told} == told, f"Two mistakes of {id} get the same message."
