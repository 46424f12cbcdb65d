"""Captured as a graph the model computes what it computes line by line; values are then not looked at, shapes are."""

import json
import os
import subprocess
import sys

import pytest
import torch
from project import ROOT

from tfm_lib.attention import attention
from tfm_lib.masking import causal_mask
from tfm_lib.multihead import MultiHeadAttention
from tfm_lib.transformer import Transformer, TransformerConfig

pytestmark = [
    pytest.mark.usefixtures("as_readers_run_it"),  # signatures are not executed, as outside pytest
    pytest.mark.filterwarnings("ignore::torch.jit.TracerWarning", "ignore::DeprecationWarning"),
]
SRC, TGT = torch.tensor([[1, 2, 3, 0], [4, 5, 6, 7]]), torch.tensor([[1, 2, 3], [4, 5, 0]])
BOTH = pytest.mark.parametrize("norm", ["post", "pre"])
CONFIG = dict(d_model=8, n_heads=2, d_ff=16, n_layers=2, max_len=16)


@pytest.fixture(scope="module", params=[pytest.param("in a process of its own", marks=pytest.mark.long)])
def captured(tmp_path_factory: pytest.TempPathFactory) -> dict:
    """How far the graphs' numbers are from those of plain calls."""
    result = tmp_path_factory.mktemp("captures") / "found.json"
    script = [sys.executable, str(ROOT / "tests/lib/captures.py"), str(result)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    run = subprocess.run(script, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr[-3000:]
    return json.loads(result.read_text(encoding="utf-8"))


@pytest.mark.parametrize(
    "way",
    [
        *(f"{way}, {norm}-norm" for way in ("compiled", "traced", "exported") for norm in ("post", "pre")),
        *("traced, EncoderOnly", "traced, DecoderOnly", "compiled for any shape"),
        *("traced, a mask", "compiled, a mask"),
    ],
)
def test_as_a_graph_the_model_is_the_same(way, captured):
    assert captured[way] <= 1e-6


@BOTH
def test_on_the_meta_device_there_are_shapes_only(norm):
    with torch.device("meta"):
        empty = Transformer(TransformerConfig(12, norm=norm, **CONFIG))
    logits = empty(SRC.to("meta"), TGT.to("meta"))
    assert logits.is_meta and logits.shape == (2, 3, 12)
    with pytest.raises(ValueError, match="^src_ids must be on the device of the weights, meta; got cpu.$"):
        empty(SRC, TGT)


@pytest.mark.parametrize("shared", [True, False])
def test_attention_under_vmap_is_attention_on_a_batch(shared):
    Q, K, V = torch.randn(5, 3, 4), torch.randn(5, 6, 4), torch.randn(5, 6, 2)
    mask = torch.rand(5, 3, 6) > 0.4
    mask[..., 0] = True
    if shared:
        mask = mask[0]
    together = torch.func.vmap(attention, in_dims=(0, 0, 0, None if shared else 0))(Q, K, V, mask)
    torch.testing.assert_close(together, attention(Q, K, V, mask))


def test_shapes_are_refused_while_a_graph_is_captured(captured):
    layer, X, narrow = MultiHeadAttention(8, 2).eval(), torch.randn(1, 3, 8), torch.randn(1, 3, 6)
    assert (
        "query must have shape (batch, n, d_model) with d_model = 8, as in the weights; got"
        in captured["refused while compiling"]
    )
    with pytest.raises(
        ValueError, match=r"^query must have shape \(batch, n, d_model\) with d_model = 8, .+; got shape \(1, 3, 6\)\.$"
    ):
        torch.jit.trace(layer, (narrow, narrow, narrow))
    with pytest.raises(ValueError, match="^K must have shape"):
        torch.func.vmap(attention)(X, narrow, narrow)
    with pytest.raises(ValueError, match="^K must have shape"):
        attention(X.to("meta"), narrow.to("meta"), narrow.to("meta"))


@pytest.mark.parametrize(
    ("n", "sentence"),
    [
        (True, "n must be a whole number of at least 1; got True."),
        ("5", "n must be a whole number of at least 1; got '5'."),
        (None, "n must be a whole number of at least 1; got None."),
        (torch.tensor(5), "n must be a whole number of at least 1; got a tensor of shape ()."),
        (10**6, "n must be at most 92681, for an n × n mask to be held; got 1000000, which takes 1000 GB."),
    ],
)
def test_causal_mask_refuses_what_is_no_length(n, sentence):
    with pytest.raises(ValueError) as caught:
        causal_mask(n)
    assert str(caught.value) == sentence


EMPTY_ROW = torch.tensor([[True, False], [False, False]])


@pytest.mark.parametrize("need_weights", [True, False])
@pytest.mark.parametrize("where", [(0, 1, 2), (1, 0, 0)])
def test_outside_of_capture_nan_is_refused_by_the_plain_and_the_fused_path(need_weights, where):
    X = torch.randn(2, 2, 8)
    X[where] = torch.nan
    for given in ((X, X, X), (torch.randn(2, 2, 8), X, X), (torch.randn(2, 2, 8), torch.randn(2, 2, 8), X)):
        name = ("query", "key", "value")[[tensor is X for tensor in given].index(True)]
        with pytest.raises(ValueError) as caught:
            MultiHeadAttention(8, 2)(*given, need_weights=need_weights)
        assert str(caught.value) == f"{name} must hold finite numbers only; got nan at index {where}."


@pytest.mark.parametrize("need_weights", [True, False])
def test_outside_of_capture_a_query_with_no_key_is_refused_by_the_plain_and_the_fused_path(need_weights):
    X = torch.randn(1, 2, 8)
    with pytest.raises(ValueError, match="^mask must allow every query at least one key; got none in row 1.$"):
        MultiHeadAttention(8, 2)(X, X, X, EMPTY_ROW, need_weights)


def test_large_numbers_are_finite_though_their_sum_is_not():
    X = torch.full((1, 2, 8), 3e38)
    attention(X * 0, X * 0, X)
    X[0, 1, 3] = torch.inf
    with pytest.raises(ValueError, match=r"^V must hold finite numbers only; got inf at index \(0, 1, 3\).$"):
        attention(X[:, :, :2] * 0, X[:, :, :2] * 0, X)


@pytest.fixture
def looks(monkeypatch) -> list[tuple]:
    """The shapes of the boolean tensors that are searched for an empty row."""
    from tfm_lib import _errors

    kept, numbers = [], _errors._numbers
    monkeypatch.setattr(
        _errors,
        "_numbers",
        lambda value, question: (
            kept.append(value.shape) if value.dtype == torch.bool else None,
            numbers(value, question),
        )[1],
    )
    return kept


@pytest.mark.parametrize("need_weights", [True, False])
def test_a_mask_is_looked_at_once_however_many_layers_it_passes(looks, need_weights):
    X, mask = torch.randn(1, 4, 8), causal_mask(4)
    layers = [MultiHeadAttention(8, 2) for _ in range(3)]
    for layer in layers:
        layer(X, X, X, mask, need_weights)
    assert looks == [(4, 4)]
    mask[2] = False  # written into: it is another mask
    with pytest.raises(ValueError, match="got none in row 2.$"):
        layers[0](X, X, X, mask, need_weights)
    mask[2, 0] = True
    layers[0](X, X, X, mask, need_weights)
    assert len(looks) == 3


def test_a_part_of_a_mask_is_another_mask():
    X, Y = torch.randn(1, 3, 8), torch.randn(1, 2, 8)
    mask, layer = torch.tensor([[1, 0, 0], [1, 1, 0], [1, 0, 1]]).bool(), MultiHeadAttention(8, 2)
    layer(X, X, X, mask)
    for part in (mask[:, 1:], mask.T[:, :2]):
        with pytest.raises(ValueError, match="got none in row"):
            layer(X, Y, Y, part)


def test_a_model_looks_at_each_mask_once(looks):
    Transformer(TransformerConfig(12, **CONFIG)).eval()(SRC, TGT)
    assert sorted(looks) == [(2, 4), (3, 3)]  # padding where it is made, once for encoder and decoder; the future


# mutations


MUTATED = "_errors"
MUTATIONS = {  # what is removed, and the test that must turn red
    "a query with no key goes unnoticed": (
        "if not _holds(mask, lambda mask: mask.any(dim=-1).all()):",
        "if False:",
        "test_error_sentences.py::test_a_misfit_ends_in_this_sentence[attention, a query with no key]",
    ),
    "NaN goes unnoticed": (
        "or value.isfinite().all(), once)",
        "or True, once)",
        "test_error_sentences.py::test_a_misfit_ends_in_this_sentence[attention, NaN]",
    ),
    "a mask once seen is seen for ever": (
        "    look = value._version, value.storage_offset()",
        "    look = 0, value.storage_offset()",
        "test_graph_capture.py::test_a_mask_is_looked_at_once_however_many_layers_it_passes[True]",
    ),
    "a part of a mask counts as the whole": (
        "value.storage_offset(), value.shape[-1:], axes",
        "True, True, True",
        "test_graph_capture.py::test_a_part_of_a_mask_is_another_mask",
    ),
    "nothing is remembered": (
        "    _seen[owner] = {look, *(",
        "    _seen[owner] = {*(",
        "test_graph_capture.py::test_a_mask_is_looked_at_once_however_many_layers_it_passes[False]",
    ),
    "a mask of floats goes unnoticed": (
        'require_tensor(argument, mask, "Mask")',
        "pass",
        "test_error_sentences.py::test_a_misfit_ends_in_this_sentence[masking, combine of floats]",
    ),
}
