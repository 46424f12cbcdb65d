"""How an answer becomes a verdict: whatever a reader writes gets a sentence, and only what is right passes."""

import os
import subprocess
import sys
from contextlib import suppress
from dataclasses import dataclass
from types import ModuleType

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from tiers import params

from tfm_exercises import IN_PAGES, check, judge, random_inputs, watching
from tfm_exercises.judge import Exercise, Mistake, Verdict, find

X = torch.tensor([[1.0, 2.0], [3.0, 4.0]])
WANT = 2 * X
HALVED = Mistake("halved", X / 2, "You divided where you should multiply.")


def doubled(student, expect):
    """A judge like those of the chapters: the answer doubles its argument."""
    expect.close(student.double(X), WANT, holds="every number is doubled", mistakes=[HALVED], describe="double(X)")


@pytest.fixture
def ask(monkeypatch):
    """`ask(judge, answer)`: the verdict of an exercise that is registered for this test only."""

    def ask(judge_function, *answers, names=("double",)) -> Verdict:
        probe = Exercise("probe.x", names, judge_function)
        monkeypatch.setitem(judge._exercises, "probe.x", probe)
        return check("probe.x", *answers)

    return ask


# right, wrong, and not yet tried


@pytest.mark.parametrize(
    "answer",
    [
        lambda x: 2 * x,
        lambda x: (2 * x).double(),
        lambda x: (2 * x).tolist(),
        lambda x: (2 * x).numpy(),
        lambda x: tuple(2 * row for row in x),
        lambda x: [[2 * number for number in row] for row in x],
        lambda x: [(2 * row).numpy() for row in x],
        lambda x: (2 * x).long(),
        lambda x: (2 * x).requires_grad_(),
        lambda x: torch.nn.Parameter(2 * x),
        lambda x: (2 * x).to(torch.complex64),
        lambda x: 2 * x + 1e-7,
    ],
)
def test_right_answer_passes_in_any_style(ask, answer):
    verdict = ask(doubled, answer)
    assert verdict.passed
    assert bool(verdict)
    assert verdict.held == ("every number is doubled",)
    assert (verdict.message, verdict.mistake) == ("", None)


class Flatterer:
    """Claims to equal everything."""

    def __eq__(self, other):
        return True

    def __hash__(self):
        return 0


CALL = "The call was double([[1.0, 2.0], [3.0, 4.0]])."
FIRST = "For double(X) the first wrong entry is at [0, 0]: expected 2.0, got"
WRONG = {
    "another value": (
        lambda x: 3 * x,
        f"{FIRST} 3.0 (4 of 4 entries differ). Every number is 1.5 times what it should be. {CALL}",
    ),
    "another shape": (lambda x: 2 * x[0], "For double(X) expected shape (2, 2), got shape (2,)."),
    "a number": (lambda x: 2, "For double(X) expected shape (2, 2), got one number."),
    "NaN": (lambda x: x * torch.nan, "There is a NaN in double(X): [[nan, nan], [nan, nan]]."),
    "infinity": (
        lambda x: x / 0,
        f"{FIRST} inf (4 of 4 entries differ). An infinity comes of a division by 0, or of numbers that have grown too large. {CALL}",
    ),
    "truth values": (
        lambda x: x > 1,
        "For double(X) expected numbers, [[2.0, 4.0], [6.0, 8.0]], got truth values, [[False, True], [True, True]].",
    ),
    "imaginary part": (
        lambda x: 2 * x + 1j,
        f"{FIRST} (2+1j) (4 of 4 entries differ). {CALL}",
    ),
    "a word": (lambda x: "double", "Expected numbers (a tensor, an array or lists), got 'double'."),
    "a dictionary": (lambda x: {1: 2}, "Expected numbers (a tensor, an array or lists), got {1: 2}."),
    "ragged lists": (lambda x: [[1], [2, 3]], "Expected numbers (a tensor, an array or lists), got [[1], [2, 3]]."),
    "ragged tensors": (lambda x: [x, x[0]], "Expected numbers (a tensor, an array or lists), got [tensor("),
    "nothing inside": (lambda x: [None], "Expected numbers (a tensor, an array or lists), got [None]."),
    "an object that equals everything": (lambda x: Flatterer(), "Expected numbers (a tensor, an array or lists)"),
    "a class": (lambda x: torch.Tensor, "Expected numbers (a tensor, an array or lists)"),
    "a generator": (lambda x: (2 * row for row in x), "Expected numbers (a tensor, an array or lists)"),
    "an array of objects": (lambda x: np.array([None, 1]), "Expected numbers (a tensor, an array or lists)"),
    "no tensor at all": (3.5, "This is a float, perhaps what double returned. Hand over the function itself"),
    "too many arguments": (
        lambda: 2,
        "The check calls double with one argument, a tensor of shape (2, 2); yours is written for ().",
    ),
    "a forgotten return": (lambda x: print(end=""), "double returns nothing. Does it end with `return`?"),
    "in place, without return": (lambda x: x.mul_(2) and None, "double(a tensor of shape (2, 2)) raised"),
}


@pytest.mark.parametrize(("answer", "sentence"), WRONG.values(), ids=WRONG.keys())
def test_wrong_answer_is_refused_with_a_sentence(ask, answer, sentence):
    verdict = ask(doubled, answer)
    assert verdict.status == "refused"
    assert not verdict
    assert verdict.message.startswith(sentence)
    assert len(verdict.message) < 500


def test_known_mistake_is_named(ask):
    verdict = ask(doubled, lambda x: x / 2)
    assert (verdict.mistake, verdict.message) == ("halved", "You divided where you should multiply.")


def stub(x):
    """Twice `x`."""
    ...  # noqa: PIE790 (what a chapter's stub holds)


def raising_stub(x):
    raise NotImplementedError


@pytest.mark.parametrize("answer", [stub, raising_stub, None, ..., lambda x: ..., lambda x: None])
def test_stub_is_unsolved(ask, answer):
    verdict = ask(doubled, answer)
    assert verdict.status == "unsolved"
    assert not verdict.passed
    assert "stub" in verdict.message


def bare_return(x):
    return None


def passing(x):
    pass


def test_a_body_that_only_returns_none_is_no_stub(ask):
    verdict = ask(doubled, bare_return)
    assert (verdict.status, verdict.mistake) == ("refused", "no return")
    assert "returns None whatever it is given" in verdict.message
    assert ask(doubled, passing).status == "unsolved"


def test_one_stub_among_several_answers_is_unsolved(ask):
    assert ask(doubled, lambda x: 2 * x, None, names=("double", "half")).status == "unsolved"


# exceptions


def test_exception_becomes_a_sentence_with_its_line(ask):
    def double(x):
        y = 2
        return x @ torch.ones(5) * y

    line = double.__code__.co_firstlineno + 2
    message = ask(doubled, double).message
    assert message.startswith(f"double(a tensor of shape (2, 2)) raised RuntimeError in line {line} of your cell: ")


def test_the_line_is_where_the_answers_own_code_failed(ask):
    def double(x):
        def inner(y):
            return y.nope

        return inner(x)

    assert f"in line {double.__code__.co_firstlineno + 2} of your cell" in ask(doubled, double).message


@pytest.mark.parametrize(("inside", "said"), [("1", "is defined?"), ("", "is defined, and has that cell been run?")])
def test_a_page_has_no_cell_to_be_run(ask, monkeypatch, inside, said):
    monkeypatch.setenv(IN_PAGES, inside) if inside else monkeypatch.delenv(IN_PAGES, raising=False)
    assert f"Is it spelt the same where it {said}" in ask(doubled, lambda x: absent(x)).message  # noqa: F821 (defined nowhere, on purpose)


def recursing(x):
    return recursing(x)


@pytest.mark.parametrize(
    ("answer", "name"),
    [
        (lambda x: 1 / 0, "ZeroDivisionError"),
        (lambda x: undefined, "NameError"),  # noqa: F821 (what a reader forgets to define)
        (lambda x: sys.exit(0), "SystemExit"),
        (recursing, "RecursionError"),
        (lambda x: x.long().softmax(-1), "NotImplementedError"),  # torch's own, and not a stub
    ],
)
def test_no_exception_of_an_answer_escapes(ask, answer, name):
    verdict = ask(doubled, answer)
    assert verdict.status == "refused"
    assert f"raised {name}" in verdict.message


def test_a_misspelt_name_is_recognised(ask):
    assert ask(doubled, lambda weights: weigths).message.endswith("Perhaps you mean weights")  # noqa: F821 (misspelt on purpose)


def test_interrupt_escapes(ask):
    def interrupted(x):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        ask(doubled, interrupted)


def test_one_result_where_the_judge_unpacks_two_is_refused(ask):
    def pair(student, expect):
        first, second = student.double(X[:1])
        expect.close(first, second, holds="both agree")

    verdict = ask(pair, lambda x: x)
    assert verdict.status == "refused"
    assert "not enough values to unpack" in verdict.message


def test_exception_of_a_function_that_the_answer_returned_does_not_escape(ask):
    def judge_closure(student, expect):
        expect.close(student.double(2)(X), WANT, holds="the function doubles")

    assert ask(judge_closure, lambda n: lambda x: n * x).passed
    assert ask(judge_closure, lambda n: lambda x: x[9]).status == "refused"


# what an answer cannot touch


def test_changing_the_arguments_changes_nothing_for_the_judge(ask):
    tensor, array, nested, named = torch.ones(2), np.ones(2), [torch.ones(2)], {"x": torch.ones(2)}
    computed = 1 * torch.ones(2, requires_grad=True)

    def judge_arguments(student, expect):
        student.double(tensor, array, nested, computed, named=named)

    def vandal(tensor, array, nested, computed, *, named):
        for value in (tensor, array, nested[0], computed, named["x"]):
            value *= 0
        nested.clear()
        return 1

    ask(judge_arguments, vandal)
    assert tensor.tolist() == array.tolist() == nested[0].tolist() == named["x"].tolist() == [1, 1]
    assert computed.tolist() == [1, 1]


def test_gradients_flow_through_an_answer(ask):
    def judge_gradient(student, expect):
        x = torch.ones(2, requires_grad=True)
        (gradient,) = torch.autograd.grad(student.double(x).sum(), x)
        expect.close(gradient, [2, 2], holds="the slope is 2")

    assert ask(judge_gradient, lambda x: 2 * x).passed


def test_random_numbers_repeat_and_are_left_alone(ask):
    drawn = []

    def judge_random(student, expect):
        drawn.append(torch.rand(3).tolist())
        student.double(X)

    torch.manual_seed(7)
    before = torch.get_rng_state()
    ask(judge_random, lambda x: torch.manual_seed(99) and x)
    ask(judge_random, lambda x: x)
    assert drawn[0] == drawn[1]
    assert torch.equal(torch.get_rng_state(), before)


# expectations


def expecting(method, *args, **kwargs):
    """A judge that states one expectation about whatever the answer returns."""
    return lambda student, expect: getattr(expect, method)(student.double(X), *args, holds="it holds", **kwargs)


@pytest.mark.parametrize("want", [[-torch.inf, 1.0], [torch.inf, 1.0], [torch.nan, 1.0]])
def test_infinities_and_nan_can_be_expected(ask, want):
    judge_function = expecting("close", torch.tensor(want))
    assert ask(judge_function, lambda x: torch.tensor(want)).passed
    assert ask(judge_function, lambda x: torch.tensor([0.0, 1.0])).message.startswith(
        f"For the result the first wrong entry is at [0]: expected {want[0]}, got 0.0."
    )


def test_equal_infinities_do_not_count_as_a_difference(ask):
    verdict = ask(expecting("close", torch.tensor([torch.inf, 1.0])), lambda x: torch.tensor([torch.inf, 3.0]))
    assert "the first wrong entry is at [1]: expected 1.0, got 3.0. The call" in verdict.message


def test_truth_values_are_asked_for_as_such(ask):
    mask = torch.tensor([[True, False]])
    assert ask(expecting("close", mask), lambda x: [[True, False]]).passed
    assert ask(expecting("close", mask), lambda x: mask.numpy()).passed
    assert ask(expecting("close", mask), lambda x: mask.float()).message == (
        "For the result expected truth values (bool), [[True, False]], got numbers, [[1.0, 0.0]]."
    )


def test_empty_results_can_be_expected(ask):
    assert ask(expecting("close", torch.zeros(0)), lambda x: []).passed
    assert ask(expecting("close", torch.zeros(0)), lambda x: torch.zeros(0, dtype=torch.bool)).status == "refused"


def test_mistake_that_gives_the_right_value_names_nobody(ask):
    harmless = Mistake("harmless here", WANT, "never said")
    verdict = ask(expecting("close", WANT, mistakes=[harmless, HALVED]), lambda x: x / 2)
    assert verdict.mistake == "halved"


def test_first_failing_expectation_ends_the_judging(ask):
    def judge_three(student, expect):
        expect.close(student.double(X), WANT, holds="numbers")
        expect.shape(student.double(X), (9, 9), holds="shape")
        expect.true(True, holds="never reached", otherwise="")

    verdict = ask(judge_three, lambda x: 2 * x)
    assert verdict.held == ("numbers",)
    assert verdict.message == "Expected shape (9, 9), got shape (2, 2)."


def test_shape_names_a_mistake(ask):
    judge_function = expecting("shape", (2, 2), mistakes=[Mistake("flat", (4,), "You flattened it.")])
    assert ask(judge_function, lambda x: x).passed
    assert ask(judge_function, lambda x: x.flatten()).mistake == "flat"


def test_true_says_what_is_wrong(ask):
    def judge_true(student, expect):
        expect.true(student.double(X) == 1, "it is 1", "It is not 1.", mistake="not one")

    assert ask(judge_true, lambda x: 1).held == ("it is 1",)
    assert ask(judge_true, lambda x: torch.tensor(1)).passed
    assert ask(judge_true, lambda x: 2).mistake == "not one"
    assert ask(judge_true, lambda x: x).status == "refused"  # four truth values where one is due


@pytest.mark.parametrize(
    ("want", "answer"),
    [
        ("yes", "yes"),
        (True, torch.tensor(True)),
        (True, np.bool_(True)),
        ([1, 2], torch.tensor([1, 2])),
        ([1, 2], np.array([1, 2])),
        ((2, 3), torch.Size([2, 3])),
        ([(0, 1)], [(torch.tensor(0), np.int64(1))]),
        ({"a": 1}, {"a": 1}),
        ({1, 2}, {1, 2}),
    ],
)
def test_equal_accepts_the_same_value_in_another_dress(ask, want, answer):
    assert ask(expecting("equal", want), lambda x: answer).passed


@pytest.mark.parametrize("answer", [Flatterer(), [Flatterer()], {"a": Flatterer()}, {Flatterer()}, "no", [2], 1.5])
@pytest.mark.parametrize("want", ["yes", [1], {"a": 1}])
def test_equal_trusts_nobody_elses_equality(ask, want, answer):
    assert ask(expecting("equal", want), lambda x: answer).status == "refused"


def test_equal_names_a_mistake(ask):
    judge_function = expecting("equal", "key", mistakes=[Mistake("query", "query", "That is who asks.")])
    assert ask(judge_function, lambda x: "query").mistake == "query"


# the verdict itself, and calls that are no answers


def test_verdict_reads_well_in_a_terminal(ask):
    assert repr(ask(doubled, lambda x: 2 * x)) == "✓ probe.x: That holds.\n  ✓ every number is doubled"
    assert repr(ask(doubled, lambda x: x / 2)) == "✗ probe.x: Not yet.\n  → You divided where you should multiply."
    assert repr(ask(doubled, None)).startswith("… probe.x: Yours to write.\n    The cell above")


def test_verdict_in_the_page_escapes_what_came(ask):
    page = ask(doubled, lambda x: "<script>alert(1)</script>")._repr_html_()
    assert "<script>" not in page
    assert "&lt;script&gt;" in page
    assert 'class="tfm-verdict tfm-refused"' in page
    held = judge.Verdict("probe.x", "refused", ("the shape",), "Use `masked_fill`.")._repr_html_()
    assert ">✓ the shape</" in held and "→ Use <code>masked_fill</code>." in held


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (
            ("masking.Leak_Test", doubled),
            "No exercise is called 'masking.Leak_Test'. Perhaps you mean \"masking.leak-test\"?",
        ),
        (("leak test", doubled), 'Perhaps you mean "masking.leak-test"?'),
        (("masking.leek-test", doubled), 'Perhaps you mean "masking.leak-test"?'),
        (("nothing like it", doubled), "The name of the exercise comes first, in quotation marks"),
        ((doubled, "masking.leak-test"), "What came first here is a function."),
        ((None, doubled), "What came first here is a NoneType."),
        ((b"masking.leak-test", doubled), "What came first here is a bytes."),
        (("masking.leak-test",), 'asks for 1 and was given 0. Write: check("masking.leak-test", '),
        (("masking.leak-test", doubled, doubled), "asks for 1 and was given 2."),
    ],
)
def test_a_wrong_name_or_number_of_answers_is_refused_with_what_to_write(words, said):
    verdict = check(*words)
    assert verdict.status == "refused" and said in verdict.message


def test_find_names_the_exercises_that_there_are(ask):
    ask(doubled, None)
    with pytest.raises(KeyError, match=r"No exercise is called 'probe\.y'; known: probe\.x\."):
        find("probe.y")
    with pytest.raises(KeyError, match="none in this chapter"):
        find("nowhere.x")


def test_a_patched_torch_and_another_default_type_change_nothing(ask, monkeypatch):
    monkeypatch.setattr(torch, "allclose", lambda *_, **__: True)

    def half(x):
        torch.set_default_dtype(torch.float64)
        return x / 2

    assert ask(doubled, half).status == "refused"
    assert torch.get_default_dtype() == torch.float32


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (lambda x: x.half() * 2.01, "The answer is in float16, which keeps two or three digits"),
        (lambda x: x.sum(), "got one number"),
        (lambda x: x / 0 * 0, "A NaN comes of 0/0"),
        (lambda x: x.mul, "itself, which was not called"),
    ],
)
def test_what_came_is_said_so_that_it_can_be_mended(ask, answer, said):
    assert said in ask(doubled, answer).message


def test_an_article_fits_its_noun(ask):
    assert "This is an int, perhaps" in ask(doubled, 3).message


# slips: mistakes known by what they compute


def power(student, expect):
    """The answer gives x ** n, or, with a base, base ** (x · n)."""
    inputs = [(torch.rand(2, 3) + 0.5, 3), (torch.rand(4) + 0.5, 2), (torch.rand(1, 2, 2) + 0.5, 4)]
    slips = [
        judge.Slip("n is ignored", lambda x, n: x**2, "You never used n."),
        judge.Slip("times n", lambda x, n: x * n, "That multiplies."),
        judge.Slip("has no value here", lambda x, n: x[5], "Never told."),
    ]
    expect.agrees(student.double, lambda x, n: x**n, inputs, "every power is right", slips)


def test_a_slip_is_named_by_what_it_computes_on_every_input(ask):
    assert ask(power, lambda x, n: x**n).passed
    assert ask(power, lambda x, n: x**2).mistake == "n is ignored"
    assert ask(power, lambda x, n: x * n).message == "That multiplies."


def test_what_no_slip_explains_is_told_by_its_first_wrong_entry_and_the_call(ask):
    verdict = ask(power, lambda x, n: x**n + (torch.arange(x.shape[-1]) == 1))
    assert verdict.mistake is None
    assert verdict.message.startswith("For the result the first wrong entry is at [0, 1]: expected ")
    assert "(2 of 6 entries differ). The call was double([[" in verdict.message and verdict.message.endswith(", 3).")


def test_a_slip_of_truth_values_needs_two_inputs_that_tell_it_apart(ask):
    def judge_once(student, expect):
        slip = judge.Slip("always", lambda x: True, "You always say yes.")
        expect.agrees(student.double, lambda x: x > 2, inputs, "yes and no", [slip])

    inputs = [(1,), (3,), (4,)]
    assert judge.unnamed(ask(judge_once, lambda x: True).mistake)
    inputs = [(1,), (0,), (4,)]
    assert ask(judge_once, lambda x: True).mistake == "always"


def test_an_exception_on_a_later_input_does_not_hide_a_slip(ask):
    assert ask(power, lambda x, n: x**2 if x.dim() == 2 else 1 / 0).mistake == "n is ignored"
    assert "ZeroDivisionError" in ask(power, lambda x, n: x**n if x.dim() == 2 else 1 / 0).message


def test_results_of_several_parts_are_compared_part_by_part(ask):
    def pair(student, expect):
        want = lambda x: (x.sum(), [x, "word", True])  # noqa: E731
        expect.agrees(student.double, want, [(X,)], "both parts")

    assert ask(pair, lambda x: (x.sum(), [x, "word", True])).passed
    assert ask(pair, lambda x: [x.sum(), (x.numpy(), "word", True)]).passed
    assert "in part 1 in part 1" in ask(pair, lambda x: (x.sum(), [x, "other", True])).message
    assert "expected 2 parts, got 1" in ask(pair, lambda x: (x.sum(),)).message
    assert "in part 1 in part 2" in ask(pair, lambda x: (x.sum(), [x, "word", 1])).message
    assert "in part 0" in ask(pair, lambda x: (x.mean(), [x, "word", True])).message


def test_a_result_that_cannot_be_compared_may_still_be_a_known_slip(ask):
    def judge_sum(student, expect):
        both = judge.Slip("both", lambda x: (x.sum(), x), "Two things came.")
        rows = judge.Slip("rows", lambda x: x.sum(-1), "A sum for each row came.")
        expect.agrees(student.double, lambda x: x.sum(), [(X,), (X[0],)], "the sum", [rows, both])

    assert ask(judge_sum, lambda x: (x.sum(), x)).mistake == "both"
    assert "Expected numbers" in ask(judge_sum, lambda x: (x.sum(), x, x[0])).message


# what an answer does beside answering


@pytest.mark.parametrize(
    "answer",
    [
        lambda x: x.add_(x).clone(),
        lambda x: (2 * x, x.zero_())[0],
        lambda x: (2 * x, x.resize_(1, 4))[0],
        lambda x: (2 * x, x.t_())[0],
    ],
)
def test_an_answer_that_changes_its_input_is_told_so(ask, answer):
    verdict = ask(doubled, answer)
    assert verdict.mistake == "changes its input" and "its first argument" in verdict.message


def test_a_known_mistake_is_told_before_a_change_of_the_input(ask):
    assert ask(doubled, lambda x: x.div_(2)).mistake == "halved"
    assert ask(doubled, lambda x: x.mul_(5)).mistake == "changes its input"


def test_changes_of_lists_dictionaries_arrays_and_parameters_are_seen(ask):
    def all_kinds(student, expect):
        layer = torch.nn.Linear(1, 1)
        for given in ([[1, 2]], {"a": [1]}, np.ones(2), (torch.ones(2), 3), layer):
            expect.equal(student.double(given), "done", "it is done")

    def change(kind):
        def answer(x):
            if isinstance(x, kind):
                x = x[0] if isinstance(x, (list, tuple)) else x
                x["a"].append(2) if isinstance(x, dict) else x.append(3) if isinstance(x, list) else None
                if isinstance(x, (np.ndarray, torch.Tensor)):
                    x += 1
                if isinstance(x, torch.nn.Module):
                    x.weight.data.zero_()
            return "done"

        return answer

    assert ask(all_kinds, change(())).passed
    for kind in (list, dict, np.ndarray, tuple, torch.nn.Module):
        assert ask(all_kinds, change(kind)).mistake == "changes its input", kind


def test_an_endless_answer_is_stopped(ask, monkeypatch):
    monkeypatch.setattr(judge.watching, "PATIENCE", 0.5)

    def endless(x):
        while True:
            with suppress(Exception):  # a student's own guard
                x = x + 1

    verdict = ask(doubled, endless)
    assert verdict.mistake == "no end" and "Either a loop never ends, or it tries many more cases" in verdict.message
    assert ask(doubled, lambda x: 2 * x).passed


@pytest.mark.parametrize(("waits_for_a_processor", "passes"), [(True, True), (False, False)])
def test_waiting_for_a_processor_is_no_endless_answer_and_sleep_is(ask, monkeypatch, waits_for_a_processor, passes):
    import time

    monkeypatch.setattr(judge.watching, "PATIENCE", 0.3)
    monkeypatch.setattr(judge.watching, "_held_up", time.monotonic if waits_for_a_processor else lambda: 0.0)

    def slow(x):
        end = time.monotonic() + 2
        while time.monotonic() < end:
            time.sleep(0.1)
        return 2 * x

    assert ask(doubled, slow).passed == passes


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells")
def test_linux_tells_how_long_a_thread_waited_for_a_processor():
    assert 0 <= judge.watching._held_up() <= 1e6


def test_where_no_signal_can_stop_it_a_sentence_says_so(ask, monkeypatch):
    import time

    monkeypatch.setattr(judge.watching, "PATIENCE", 0.7)
    monkeypatch.delattr(judge.watching.signal, "setitimer")
    verdict = ask(doubled, lambda x: time.sleep(3))
    assert verdict.mistake == "no end" and "restart the kernel" in verdict.message
    assert ask(doubled, lambda x: 2 * x).passed


def test_a_result_in_place_of_the_function_is_told(ask):
    verdict = ask(doubled, 2 * X)
    assert (
        'Hand over the function itself, without brackets behind its name: check("probe.x", double)' in verdict.message
    )


def helper(x):
    return sum((x for _ in range(2)), 0 * x)


@pytest.mark.parametrize(
    ("answer", "forbids", "word"),
    [
        (lambda x: torch.add(x, x), ("torch.add",), "`add`"),
        (lambda x: x.mul(2), ("torch.Tensor.mul",), "`mul`"),
        (lambda x: helper(x), ("loop",), "loop"),
        (lambda x: torch.stack([2 * row for row in x]), ("loop",), "loop"),
        (lambda x: torch.func.jvp(lambda y: y * y, (x,), (torch.ones_like(x),))[1], ("autograd",), "differentiating"),
    ],
)
def test_a_right_answer_by_forbidden_means_is_told_kindly(ask, monkeypatch, answer, forbids, word):
    probe = Exercise("probe.x", ("double",), doubled, forbids)
    monkeypatch.setitem(judge._exercises, "probe.x", probe)
    verdict = check("probe.x", answer)
    assert verdict.mistake == "forbidden" and verdict.message.startswith(("Right, but", "Right, but PyTorch"))
    assert word in verdict.message and verdict.held == ("every number is doubled",)
    assert check("probe.x", lambda x: 2 * x).passed


def multiply(x):
    return x + x


def test_a_helper_of_the_reader_may_have_the_name_of_a_forbidden_call(ask, monkeypatch):
    probe = Exercise("probe.x", ("double",), doubled, ("torch.Tensor.multiply",))
    monkeypatch.setitem(judge._exercises, "probe.x", probe)
    assert check("probe.x", lambda x: multiply(x)).passed


@pytest.mark.parametrize("decorator", ["@dataclass", "@dataclass(frozen=True, slots=True)"])
def test_what_a_decorator_puts_into_a_class_is_not_the_readers_code(ask, monkeypatch, decorator):
    """`dataclass` adds methods of the standard library that loop: some everywhere, `__replace__` since Python 3.13."""
    namespace = {"torch": torch, "dataclass": dataclass, "__name__": "answer"}
    monkeypatch.setitem(sys.modules, "answer", ModuleType("answer"))
    exec(  # noqa: S102 (our own answers)
        f"{decorator}\nclass Pair:\n    x: torch.Tensor\n    def total(self):\n        return self.x + self.x\n"
        "def double(x):\n    return Pair(x).total()\n"
        "@torch.no_grad()\ndef looped(x):\n    return torch.stack([2 * row for row in x])\n"
        "def calls_looped(x):\n    return looped(x)",
        namespace,
    )
    monkeypatch.setitem(judge._exercises, "probe.x", Exercise("probe.x", ("double",), doubled, ("loop",)))
    assert check("probe.x", namespace["double"]).passed
    assert check("probe.x", namespace["looped"]).mistake == "forbidden", "a decorator hides no loop"
    assert check("probe.x", namespace["calls_looped"]).mistake == "forbidden"


def test_an_attribute_of_self_may_have_the_name_of_a_forbidden_call(ask, monkeypatch):
    """Python 3.13 loads `x` and `self` in one instruction."""

    class Adder:
        add = 1

        def double(self, x):
            return x + self.add * x

    monkeypatch.setitem(judge._exercises, "probe.x", Exercise("probe.x", ("double",), doubled, ("torch.add",)))
    assert check("probe.x", Adder().double).passed


# drawing inputs


def test_different_numbers_differ_and_come_from_torchs_seed():
    torch.manual_seed(5)
    first = random_inputs.different(4, 3, 7)
    assert len(set(first)) == 4
    assert set(first) <= {3, 4, 5, 6, 7}
    torch.manual_seed(5)
    assert random_inputs.different(4, 3, 7) == first
    assert {random_inputs.whole(2, 3) for _ in range(50)} == {2, 3}


def test_inputs_tell_each_slip_twice_and_one_slip_from_another():
    slips = [judge.Slip("always", lambda n: True, ""), judge.Slip("never", lambda n: False, "")]
    slips.append(judge.Slip("tens", lambda n: n % 10 == 0, ""))
    slips.append(judge.Slip("has no value at 7", lambda n: n % 2 == 0 if n != 7 else 1 / 0, ""))
    torch.manual_seed(0)
    inputs = random_inputs.telling(lambda: (random_inputs.whole(1, 30),), lambda n: n % 5 == 0, slips)
    assert (7,) not in inputs
    assert len(inputs) < 20
    for slip in slips:
        assert sum(slip.of(n) != (n % 5 == 0) for (n,) in inputs) >= 2
    assert all(any(a.of(n) != b.of(n) for (n,) in inputs) for a in slips for b in slips if a is not b)


def test_an_answer_with_the_name_of_the_forbidden_call_is_no_excuse(ask, monkeypatch):
    namespace = {"torch": torch, "__name__": "answer"}
    exec(  # noqa: S102 (our own answers)
        "def add(x):\n    return torch.add(x, x)\ndef twice(x):\n    return x + x\ndef mul(x):\n    return twice(x)",
        namespace,
    )
    for name, passed in (("add", False), ("mul", True)):
        probe = Exercise("probe.x", ("double",), doubled, ("torch.add", "torch.mul"))
        monkeypatch.setitem(judge._exercises, "probe.x", probe)
        assert check("probe.x", namespace[name]).passed == passed, name


# --- the salt of Python's hash -------------------------------------------------------------------------------------

SPLITS = """
import zlib
from tfm_exercises import check
by_hash = check("data.split", lambda source, target: hash(source) % 10 == 0)
by_sum = check("data.split", lambda source, target: zlib.crc32(source.encode()) % 10 == 0)
print(by_hash.mistake, by_sum.passed)
"""


@pytest.mark.parametrize("salt", params(["0", "1", "random"], ["1"]))
def test_a_verdict_on_a_split_does_not_hang_on_the_salt_of_this_process(salt):
    run = subprocess.run(
        [sys.executable, "-c", SPLITS], env={**os.environ, "PYTHONHASHSEED": salt}, capture_output=True, text=True
    )
    assert run.stdout.strip() == "Python's hash True", run.stderr[-2000:]


# what the text wants used


def by_attention(mask):
    from tfm_lib.attention import attention as found

    return found(mask, mask, mask)[0]


@pytest.mark.parametrize("answer", [by_attention, lambda x: x.softmax(-1), lambda x: F.softmax(x, -1), len])
def test_an_answer_that_uses_what_the_text_wants_is_told_nothing(answer):
    assert watching.unused_call([answer], ("attention", "softmax")) == ""


def test_an_answer_without_what_the_text_wants_is_told_which():
    def attention(x):  # a name is no use of it
        return 2 * x

    assert "`attention`" in watching.unused_call([lambda x: x.sum()], ("attention", "softmax"))
    assert "`attention`" in watching.unused_call([attention, lambda x: x.sum()], ("attention", "softmax"))
    assert watching.unused_call([lambda x: x.sum()], ()) == ""


def test_a_call_with_a_dictionary_of_tensors_is_told_in_a_line():
    weights = {"W": torch.zeros(3, 4), "b": torch.ones(2), "other": torch.ones(1)}
    told = "logits({'W': a tensor of shape (3, 4), 'b': [1.0, 1.0], and 1 more}, 2)"
    assert watching.call_text("logits", [weights, 2]) == told
