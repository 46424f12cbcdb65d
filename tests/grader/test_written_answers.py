"""Answers in words: found wherever students put them, and never taken for what was handed out."""

import json
import time

import pytest

from tfm_grader.assignment.manifest import Chapter, Entry
from tfm_grader.notebook import read_notebook
from tfm_grader.written_answers import ANSWER_HERE, Answer, Handed, digests

QUESTION = "### Exercise 2 · Why not the future?\n\n*2 points*\n\nWhat does a user notice, and why?"
SECOND = "### Exercise 4 · What would *refute* it?\n\nName one measurement."
HEAD, CODE = "# Masks\n\nHand in this notebook.", "### Exercise 1 · A band\n\nMake that mask."
STUB, THIRD = "def band(n):\n    ...", "### Exercise 3 · A triangle\n\nMake this one."
SAID = "Twelve layers wait for twelve positions."
HANDED = Handed.of(
    Chapter(
        exercises=[
            Entry("m.band", "A band", "assigned", 4),
            Entry("m.future", "Why not the future?", "text", 2),
            Entry("m.triangle", "A triangle", "practice", 1),
            Entry("m.refute", "What would *refute* it?", "text", 1),
        ],
        given=digests([HEAD, CODE, STUB, QUESTION, ANSWER_HERE, THIRD, SECOND]),
    )
)
EMPTY = Answer("")


def cell(source: str, kind: str = "markdown", asked: str = "") -> dict:
    return {"cell_type": kind, "source": source, "metadata": {"tfm": {"text": asked}} if asked else {}}


def answered(*cells: dict) -> dict[str, Answer]:
    return read_notebook(json.dumps({"cells": cells}).encode(), {"band"}, HANDED).texts


BEFORE = [cell(HEAD), cell(CODE), cell(STUB, "code"), cell(QUESTION)]
AFTER = [cell(THIRD), cell(STUB, "code"), cell(SECOND), cell(ANSWER_HERE, asked="m.refute")]
PREPARED = cell(ANSWER_HERE, asked="m.future")
PLACES = {
    "in the prepared cell": [cell(SAID, asked="m.future")],
    "below the prepared words, in their cell": [cell(f"{ANSWER_HERE}\n\n{SAID}", asked="m.future")],
    "in a cell below": [PREPARED, cell(SAID)],
    "in a cell above the prepared one": [cell(SAID), PREPARED],
    "with its metadata stripped": [cell(SAID)],
    "with the prepared words re-emphasised": [cell("_Double-click here, and write your answer in words._"), cell(SAID)],
    "in a raw cell": [PREPARED, cell(SAID, "raw")],
    "in a code cell, as comments": [PREPARED, cell(f"# {SAID}", "code")],
    "in a code cell, as prose": [PREPARED, cell(SAID, "code")],
    "in the prepared cell, made code": [cell(f"# {SAID}", "code", asked="m.future")],
    "under a heading of one's own": [PREPARED, cell(f"## My answer\n\n{SAID}")],
}


@pytest.mark.parametrize("place", PLACES)
def test_found_under_its_question(place):
    found = answered(*BEFORE, *PLACES[place], *AFTER)
    assert found["m.future"].sure
    assert found["m.future"].text.removeprefix("## My answer").strip() == SAID
    assert found["m.refute"] == EMPTY


def test_found_in_the_cell_of_the_question_which_is_not_the_answer():
    together = cell(f"{QUESTION}\n\n{SAID}")
    assert answered(*BEFORE[:3], together, PREPARED, *AFTER)["m.future"] == Answer(SAID)
    merged = cell(f"{QUESTION}\n\n{SAID}\n\n{THIRD}\n\n{SECOND}\n\nA user study.")
    assert answered(*BEFORE[:3], merged) == {"m.future": Answer(SAID), "m.refute": Answer("A user study.")}


def test_several_cells_are_joined_in_their_order():
    found = answered(*BEFORE, PREPARED, cell("First."), cell("print(12)", "code"), cell("Then."), *AFTER)
    assert found["m.future"] == Answer("First.\n\nThen.\n\nprint(12)")


def test_the_prepared_cell_counts_wherever_it_was_moved():
    assert answered(cell(SAID, asked="m.future"), *BEFORE, *AFTER)["m.future"] == Answer(SAID)


def test_an_untouched_notebook_answers_nothing():
    assert answered(*BEFORE, PREPARED, *AFTER) == {"m.future": EMPTY, "m.refute": EMPTY}


@pytest.mark.parametrize(
    "elsewhere",
    [
        [cell(HEAD), cell(SAID), *BEFORE[1:], PREPARED, *AFTER],  # at the top
        [*BEFORE[:2], cell(SAID), *BEFORE[2:], PREPARED, *AFTER],  # under an exercise in code
        [*BEFORE[:3], cell("### The future\n\n" + SAID), *AFTER],  # the question's own heading rewritten
        [*BEFORE, PREPARED, cell(f"print('{SAID}')", "code"), *AFTER],  # as a program
        [cell(f"answer_2 = '{SAID}'\nprint(answer_2)", "code"), *BEFORE, PREPARED, *AFTER],
        [cell(f"# {SAID}\nband(3)", "code"), *BEFORE, PREPARED, *AFTER],
        [cell(f"%%markdown\n{SAID}", "code"), *BEFORE, PREPARED, *AFTER],
        [cell(f"from IPython.display import Markdown\ndisplay(Markdown('{SAID}'))", "code"), *BEFORE, PREPARED, *AFTER],
        [*BEFORE[:2], cell(f"def band(n):\n    # {SAID}\n    return n", "code"), BEFORE[3], PREPARED, *AFTER],
        [cell(f"# {SAID}", "code"), *BEFORE, PREPARED, *AFTER],  # comments far away
        [*BEFORE, PREPARED, *AFTER[:-1], cell(f"My numbers.\n\n2) {SAID}", asked="m.refute")],  # both in one cell
        [*BEFORE, PREPARED, *AFTER, cell(SAID), cell("A study.")],  # several cells under the last question
    ],
)
def test_what_may_be_an_answer_is_for_a_person_to_look_at(elsewhere):
    found = answered(*elsewhere)["m.future"]
    assert SAID in found.text and not found.sure


@pytest.mark.parametrize(
    "code",
    [
        "# the band\nband(3)  # try it",
        "%matplotlib inline\n!pip list\nband(3)",
        "%%writefile masks.py\ndef band(n):\n    return n",
        f"{STUB}  # a few words",
        "x = '" + "word " * 9000 + "'",
    ],
)
def test_a_program_is_no_answer(code):
    assert answered(cell(code, "code"), *BEFORE, PREPARED, *AFTER)["m.future"] == EMPTY


def test_half_a_character_in_a_string_is_told_as_a_question_mark():
    code = cell(f'x = """{SAID}\\n\\ud800"""', "code")
    assert answered(code, *BEFORE, PREPARED, *AFTER)["m.future"].text == f"{SAID}\n?"


def test_a_picture_is_told_and_not_carried():
    drawn = f"![drawn](data:image/png;base64,{'A' * 300_000}) and so on"
    assert answered(*BEFORE, cell(drawn), *AFTER)["m.future"] == Answer("![drawn](picture) and so on")


def test_every_variant_of_a_question_is_known():
    own = "### Exercise 1 · Of 7\n\nWhy?"
    entry = Entry("m.x", "Of 2", "text", 1, own_questions={"kim": own})
    handed = Handed.of(Chapter(exercises=[entry], given=digests([own])))
    data = json.dumps({"cells": [cell("### Exercise 1 · Of 7\n\nWhy?"), cell(SAID)]}).encode()
    assert read_notebook(data, set(), handed).texts == {"m.x": Answer(SAID)}


@pytest.mark.parametrize(
    "source", ["#" * (4 << 20), "# a\n" * (1 << 20), "data:image/" * (1 << 18), "\n" * (4 << 20), " \t" * (2 << 20)]
)
def test_a_huge_cell_takes_no_time(source):
    began = time.process_time()
    for kind in ("markdown", "raw"):
        answered(*BEFORE, *[cell(source, kind)] * 2, *AFTER)
    assert time.process_time() - began < 4


@pytest.mark.parametrize(
    "metadata", [None, [], {"tfm": []}, {"tfm": {"text": ["m.future"]}}, {"tfm": {"text": "m.band"}}]
)
def test_metadata_of_any_shape_misleads_nobody(metadata):
    odd = {"cell_type": "markdown", "source": SAID, "metadata": metadata}
    assert answered(*BEFORE, odd, *AFTER)["m.future"] == Answer(SAID)
