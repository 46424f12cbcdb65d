"""Programs that are worth a look together: renaming hides nothing, and what a whole class writes accuses nobody."""

import time

import pytest

from tfm_grader.reports.similarity import pairs

ODD = """
def band(n):
    rows = []
    for i in range(n):
        row = [False] * n
        for j in range(max(0, i - 2), min(n, i + 2)):
            row[j] = True
        rows.append(row)
    made = torch.tensor(rows)
    assert made.shape == (n, n), "square"
    return made | made.new_zeros(n, n)
"""
RENAMED = (
    ODD.replace("rows", "lines")
    .replace("row", "line")
    .replace("made", "x")
    .replace("2", "3")
    .replace('"square"', "'no'")
)
SHORT = "def band(n):\n    d = torch.arange(n)[:, None] - torch.arange(n)\n    return (d <= 2) & (d >= -1)\n"
OTHER = """
def band(n):
    places = torch.arange(n)
    far = (places[:, None] - places).float()
    near = torch.where(far > 2, torch.zeros_like(far), torch.ones_like(far))
    near[far < -1] = 0
    with torch.no_grad():
        return near.bool() if near.numel() else torch.zeros(0, 0, dtype=torch.bool)
"""


def test_a_renamed_program_is_found_and_two_of_one_mind_in_short_are_not():
    found = pairs({"kim": [ODD], "lee": [f"# mine\n{RENAMED}"], "ann": [OTHER], "ben": [SHORT], "cho": [SHORT]})
    assert [(pair.first, pair.second) for pair in found] == [("kim", "lee")]
    assert found[0].share == 1


@pytest.mark.parametrize("filler", ["x = [" + "1, " * 60_000 + "]", "def f(:\n" + "((((" * 40_000, "x = '''", "# \r"])
def test_nothing_before_a_copy_hides_it(filler):
    for cells in ([filler, RENAMED], [f"{filler}\n'''\n{RENAMED}"] if "'" in filler else [f"{filler}\n{RENAMED}"]):
        found = pairs({"kim": [ODD], "lee": cells})
        assert [(pair.first, pair.second, pair.share) for pair in found] == [("kim", "lee", 1)]


def test_what_most_of_a_class_shares_accuses_nobody():
    shared = {f"s{number:02}": [ODD] for number in range(20)}
    assert pairs({**shared, "kim": [OTHER], "lee": [OTHER]})[0].share == 1
    assert {(pair.first, pair.second) for pair in pairs({**shared, "kim": [OTHER], "lee": [OTHER]})} == {("kim", "lee")}


@pytest.mark.long
def test_programs_that_cannot_be_read_or_are_huge_take_no_time():
    huge = "x = [" + "1, " * 60_000 + "]"
    broken = "def f(:\n" + "((((" * 40_000
    began = time.process_time()
    pairs({f"s{number}": [huge, broken] for number in range(20)})
    assert time.process_time() - began < 15
