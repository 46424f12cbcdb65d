"""The graded capstone: the parallel machine, as a function of its weights and as weights that were trained.

The right weights are tests/grader/assignments/parallel.safetensors, made with seed 1 as their solution says.
"""

import re
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import msgspec
import nbformat
import pytest
import torch
from project import ROOT
from torch import Tensor

from grader.test_classroom import PRIVATE, tfm
from tfm_exercises.carried import Weights, output, read_weights
from tfm_grader.assignment.bundle import read_bundle
from tfm_grader.assignment.exercise_source import written_in
from tfm_grader.judging.pool import JudgeProcess
from tfm_grader.records import Begin, Job

FUNCTION, TRAINED = "mine.parallel", "mine.trained"
SOLUTION = next(each.solution_code for each in written_in(PRIVATE / "mine.md", {}) if each.id == FUNCTION)
SEQUENTIAL = next(each for each in written_in(ROOT / "chapters" / "mine.md") if each.id == "mine.from-weights")
RIGHT = read_weights((PRIVATE / "parallel.safetensors").read_bytes(), "parallel")
LIBRARY = """
def logits(weights, src_ids, tgt_ids, n_heads):
    from tfm_lib.transformer import Transformer, TransformerConfig
    v, d_model = weights["embedding.tokens.weight"].shape
    n_layers, d_ff = sum(name.endswith("cross_attention.W_Q.bias") for name in weights), weights["encoder.0.feed_forward.W_1.bias"].numel()
    model = Transformer(TransformerConfig(v, d_model=d_model, n_heads=n_heads, d_ff=d_ff, n_layers=n_layers, norm="pre"))
    model.load_state_dict(weights)
    return model.eval()(src_ids, tgt_ids).detach()
"""


@pytest.fixture(scope="module")
def course(tmp_path_factory) -> Path:
    """The assignment, tried on its own solution before it is released."""
    here = tmp_path_factory.mktemp("capstone")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(ROOT)
        tfm("assign", "mine", "--private", PRIVATE, "--seed", "spring", "--to", here)
    return here


@pytest.fixture(scope="module")
def points(course) -> Callable[..., tuple[dict[str, float], str]]:
    """The points by exercise of a notebook with this code and these weights, and what is said."""
    bundle = read_bundle(course / "bundle")

    def graded(code: str = "", weights: Weights | None = None) -> tuple[dict[str, float], str]:
        made = nbformat.read(course / "student" / "mine.ipynb", 4)
        of = {cell.metadata.get("tfm", {}).get("exercise"): cell for cell in made.cells}
        if code:
            of[FUNCTION].source = code
        if weights:
            of[TRAINED].source = 'parallel = hand_in(model, name="parallel")'
            of[TRAINED].outputs = [nbformat.v4.new_output("display_data", data=output(weights))]
        data = nbformat.writes(made).encode()
        result = msgspec.to_builtins(judge.judge(Job(student="s", stem="mine", ids=[FUNCTION, TRAINED], data=data)))
        rows = {id: result["exercises"][id]["tests"] for id in (FUNCTION, TRAINED)}
        said = " ".join(test["message"] + test["cause"] for tests in rows.values() for test in tests)
        return {id: sum(test["points"] for test in tests) for id, tests in rows.items()}, said

    with closing(JudgeProcess(Begin(manifest=bundle.manifest, tests=bundle.tests))) as judge:
        yield graded


def noisy(size: float) -> Weights:
    """The right weights, each changed by this share of its tensor's spread."""
    torch.manual_seed(0)

    def changed(value: Tensor) -> Tensor:
        return value + size * value.std() * torch.randn_like(value) if value.dim() > 1 else value

    from safetensors.torch import save

    return read_weights(save({name: changed(value) for name, value in RIGHT.tensors.items()}, RIGHT.head), "parallel")


@pytest.mark.long
def test_the_function_and_the_weights_earn_what_they_deserve(points):
    assert points(SOLUTION, RIGHT)[0] == {FUNCTION: 6, TRAINED: 8}
    assert points()[0] == {FUNCTION: 0, TRAINED: 0}


@pytest.mark.long
@pytest.mark.parametrize(
    ("code", "earned", "says"),
    [
        (LIBRARY, 0, "logits raised RuntimeError in line 6"),
        (SEQUENTIAL.solution_code, 0, "one after the other"),
        (SOLUTION.replace("scores.masked_fill(~mask, -math.inf)", "scores"), 0, "one layer by hand"),
        (SOLUTION.replace("(src_ids != 0)[:, None, None, :]", "torch.ones(1, 1, 1, 1).bool()"), 2, "padding"),
        (SOLUTION.replace('in layers("encoder")', 'in layers("encoder")[:1]'), 4, "another number of layers"),
        (re.sub(r'H = norm\("encoder_norm", X\)', "H = X", SOLUTION), 0, "one layer by hand"),
    ],
    ids=["library", "sequential", "no mask", "padding seen", "one layer", "no last norm"],
)
def test_half_a_machine_earns_half(points, code, earned, says):
    assert code != SOLUTION
    found, said = points(code)
    assert found[FUNCTION] == earned and says in said, (found, said)


@pytest.mark.long
@pytest.mark.parametrize(("size", "earned"), [(0.1, 5), (0.3, 1)])
def test_a_machine_that_knows_less_earns_less(points, size, earned):
    found, said = points("", noisy(size))
    assert found[TRAINED] == earned, said
