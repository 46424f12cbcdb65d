"""The lines of a solution to be put in order: what depends on what, and that the wrong ones are what their sentence says."""

import json

import pytest
from checks.test_exercises import EXERCISES
from tiers import params

from tfm_book.site.lines import puzzle, taken_apart, wrong_lines
from tfm_exercises.judge import find, judged

KEPT = {"masking.decoder-mask"}


def told(id: str, line: str) -> set[str]:
    """What the check says to the solution with `line` in the place of one of its lines, whichever it is."""
    solution, said = EXERCISES[id].solution.splitlines(), set()
    for i, old in enumerate(solution[1:], 1):
        names: dict = {}
        text = "\n".join([*solution[:i], old[: len(old) - len(old.lstrip())] + line, *solution[i + 1 :]])
        try:
            exec(f"{EXERCISES[id].imports}\n{text}", names)  # noqa: S102 (our own solutions)
            said.add(judged(find(id), [names[name] for name in find(id).answers]).message)
        except (NameError, SyntaxError):  # the line does not fit there
            continue
    return said


@pytest.mark.usefixtures("as_readers_run_it")
@pytest.mark.parametrize("id", params(wrong_lines(), KEPT, rest=wrong_lines()))
def test_a_wrong_line_is_a_mistake_that_the_check_names_so(id):
    lines = [text for text, *_ in taken_apart(EXERCISES[id].solution)]
    assert len(set(lines)) == len(lines) > 2, "each line can be told from the others"
    for line, sentence in wrong_lines()[id]:
        assert line not in lines and sentence in told(id, line)


def test_nearly_every_chapter_has_two():
    chapters = [id.partition(".")[0] for id in wrong_lines()]
    assert {stem for stem in chapters if chapters.count(stem) != 2} == set()
    assert {id.partition(".")[0] for id in EXERCISES} - set(chapters) == {"mine"}


LOOP = '''
def f(x, rows):
    """What it does."""
    total = 0  # nothing yet
    found = []
    for row in rows:
        if row in x:
            found.append(row)
        total += row
    sort(found)
    show(x)
    return total, found
'''


def test_a_line_knows_its_block_and_what_has_to_stand_before_it():
    assert taken_apart(LOOP) == [
        ("def f(x, rows):", 0, -1, []),
        ("total = 0", 1, 0, []),
        ("found = []", 1, 0, []),
        ("for row in rows:", 1, 0, [1, 2]),
        ("if row in x:", 2, 3, []),
        ("found.append(row)", 3, 4, []),
        ("total += row", 2, 3, []),
        ("sort(found)", 1, 0, [2, 3]),
        ("show(x)", 1, 0, [3, 7]),
        ("return total, found", 1, 0, [1, 2, 3, 7, 8]),
    ]


def test_a_branch_without_a_line_of_its_own_is_refused_and_what_has_no_wrong_lines_is_no_puzzle():
    with pytest.raises(ValueError, match="a second block"):
        taken_apart("def f(x):\n    if x:\n        return 1\n    else:\n        return 2\n")
    assert puzzle("masking.leak-test", LOOP) == ""
    made = json.loads(puzzle("masking.decoder-mask", LOOP))
    assert len(made["lines"]) == 10 and made["wrong"] == wrong_lines()["masking.decoder-mask"]
