"""Whatever does not fit ends in a sentence of ours: which argument, what it must be, what came.

Each row of `TABLE` is a call that works, and for each of its arguments the misfits to put in its place.
"""

import importlib
import re
import traceback
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn

from lib.misfits import CALLABLE, NO_TENSOR, NUMBER, SHARE, SIZE, WHOLE, WORD
from tfm_lib.alignment import AttentiveSeq2Seq, MemoryHop, MemoryNetwork, alignment_error_rate
from tfm_lib.attention import AdditiveScore, BilinearScore, attention, dot_score, scaled_dot_score
from tfm_lib.corpora import load_corpus
from tfm_lib.data import Example, Tokenizer, apply_merges, batches, learn_merges, pad, padding_waste
from tfm_lib.decoding import (
    Beam,
    MaskedTranslator,
    NextToken,
    beam_search,
    filter_logits,
    greedy_decode,
    length_penalty,
    mask_predict,
    sample,
)
from tfm_lib.engine.trained import load_trained
from tfm_lib.engine.translator import Translator
from tfm_lib.layers import DecoderLayer, EncoderLayer, FeedForward, LayerNorm, Residual, standardise
from tfm_lib.masking import causal_mask, combine, leak, padding_mask
from tfm_lib.multihead import KeyValueCache, MemoryCache, MultiHeadAttention, merge_heads, split_heads, without_heads
from tfm_lib.positional import (
    AlibiAttention,
    LearnedPositions,
    RelativeAttention,
    RotaryAttention,
    ShawAttention,
    alibi_bias,
    angles,
    distance_buckets,
    distances,
    rotary,
    sinusoidal_encoding,
)
from tfm_lib.recurrence import DilatedConvolutions, Seq2Seq, WordWindow, gradient_reach, greedy
from tfm_lib.self_attention import SelfAttention, entropy, softmax_jacobian
from tfm_lib.training import Batch, label_smoothed_loss, paper_optimiser, smoothed_targets, train, warmup_lr
from tfm_lib.transformer import (
    DecoderOnly,
    Embedding,
    EncoderOnly,
    Memory,
    Transformer,
    TransformerConfig,
    base_config,
    big_config,
    count_parameters,
    decoder_caches,
)

PACKAGE = Path(__file__).parents[2] / "tfm_lib"


def floats(t: torch.Tensor, values: bool = True) -> list:
    """What is no tensor of floats like `t`: of another library, type, device and width, and not finite."""
    bad = [None, t.tolist(), t.numpy(), t.long(), t > 0, t[..., :-1]]
    return [*bad, torch.full_like(t, torch.nan), torch.full_like(t, torch.inf)] if values else bad


def like(t: torch.Tensor) -> list:
    """What is no partner of other tensors: of another precision and on another device."""
    return [t.double(), t.to("meta")]


def ids(t: torch.Tensor, most: int | None = None, axes: bool = True) -> list:
    """What are no ids: of another library, type and shape, and out of range."""
    bad = [None, t.tolist(), t.numpy(), t.float(), t > 0]
    bad += [] if most is None else [t.to(torch.uint8), t.to(torch.int16)]
    bad += [t[0], t[None]] if axes else []
    return bad if most is None else [*bad, t + most, t - most, t.to("meta")]


torch.manual_seed(0)
Q, K, V = torch.randn(2, 3, 4), torch.randn(2, 5, 4), torch.randn(2, 5, 6)
MASK = torch.ones(3, 5, dtype=torch.bool)
EMPTY = MASK & torch.tensor([[True], [False], [True]])
MASKS = (MASK.tolist(), MASK.numpy(), MASK.float(), MASK.T, MASK[:, :4], MASK[0], EMPTY, MASK.to("meta"), "causal")
SQUARE = torch.ones(3, 3, dtype=torch.bool).tril()
SQUARES = (SQUARE.tolist(), SQUARE.float(), SQUARE[:, :2], SQUARE[0], SQUARE.logical_not(), SQUARE.to("meta"))
X = torch.randn(2, 3, 4)
HALVES = nn.Linear(4, 4)  # has a gradient of its own, which leads to no input
P = torch.tensor([[0.5, 0.5], [1.0, 0.0]])
SRC, TGT = torch.tensor([[4, 5, 6], [7, 8, 0]]), torch.tensor([[1, 4], [1, 5]])
CONFIG = TransformerConfig(12, d_model=8, n_heads=2, d_ff=16, n_layers=1, dropout=0.0, max_len=16)
MODEL = Transformer(CONFIG).eval()
MASKED = MaskedTranslator(CONFIG, longest=5).eval()
MEMORY, SEEN = torch.randn(2, 3, 8), (SRC != 0)[:, None]
EXAMPLES = [Example([4, 5], [6]), Example([4], [5, 6, 7])]
RNN, LSTM = Seq2Seq(9, 9, 4), Seq2Seq(9, 9, 4, "lstm")
STATE = torch.zeros(1, 2, 4)
READER = AttentiveSeq2Seq(9, 9, 4)
FACTS, QUESTION = torch.tensor([[[4, 5], [6, 0]]] * 2), torch.tensor([[4, 5]] * 2)
SOURCE, ROWS = torch.tensor([[4, 5, 6]]), torch.tensor([[3], [4]])
LAYERS = dict(
    d_model=SIZE,
    n_heads=(*SIZE, 3),
    d_ff=SIZE,
    dropout=SHARE,
    norm=WORD,
    attention=CALLABLE,
    feed_forward=CALLABLE,
    norm_layer=CALLABLE,
)
HEADS = dict(d_model=SIZE, n_heads=(*SIZE, 3), dropout=SHARE)
SEARCH = dict(bos_id=(*WHOLE, -1), eos_id=(*WHOLE, -1), max_len=SIZE)
MODELS = (None, "model", 20, nn.Linear(2, 2))
SOURCES = (*ids(SRC, 12), SRC[:0], torch.zeros(1, 2, dtype=torch.long))


def full_cache(rows: int) -> KeyValueCache:
    cache = KeyValueCache()
    cache.update(lambda: (torch.zeros(rows, 2, 1, 2), torch.zeros(rows, 2, 1, 2)))
    return cache


def memory_of(key: torch.Tensor) -> MemoryCache:
    cache = MemoryCache()
    MultiHeadAttention(4, 2)(key, key, key, cache=cache)
    return cache


def translator() -> Translator:
    return Translator.__new__(Translator)  # what its sentences must be is said before a model is asked


def shipped() -> Tokenizer:
    return Tokenizer.train(["a b"], 20)


# name: (call, the arguments with which it works, {argument: misfits}); "argument → word" where the sentence says another
TABLE = {
    "causal_mask": (causal_mask, dict(n=3), dict(n=(*SIZE, 10**6))),
    "padding_mask": (padding_mask, dict(ids=SRC, pad_id=0), dict(ids=(*ids(SRC), torch.zeros(1, 2, dtype=torch.long)), pad_id=(*WHOLE, "<pad>", 2**63))),
    "padding_mask of bytes": (padding_mask, dict(ids=SRC.to(torch.uint8), pad_id=0), dict(pad_id=(-1, 256))),
    "combine → masks": (lambda a, b: combine(a, b), dict(a=SQUARE, b=SQUARE), {"b → masks": (*SQUARES[:3], SQUARE.logical_not(), SQUARE.to("meta"))}),
    "leak": (leak, dict(model_fn=lambda x: x, x=X[0]), dict(x=(*floats(X[0])[:5], X[0] * torch.nan, X, X[0, 0]), model_fn=(*CALLABLE, lambda x: (x, x), lambda x: x[0], lambda x: x.flip(0).detach(), lambda x: HALVES(x.detach())))),
    "attention": (attention, dict(Q=Q, K=K, V=V, mask=MASK), dict(Q=floats(Q)[:5] + floats(Q)[6:], K=floats(K) + like(K) + [K[:1], K[:, :0]], V=floats(V)[:5] + floats(V)[6:] + like(V) + [V[:1], V[:, :4]], mask=MASKS)),
    "dot_score": (dot_score, dict(Q=Q, K=K), dict(Q=floats(Q)[:5], K=floats(K) + like(K))),
    "scaled_dot_score": (scaled_dot_score, dict(Q=Q, K=K), dict(Q=floats(Q)[:5], K=floats(K) + like(K))),
    "AdditiveScore": (AdditiveScore, dict(d_q=4, d_k=4, d_hidden=3), dict(d_q=SIZE, d_k=SIZE, d_hidden=SIZE)),
    "AdditiveScore()": (AdditiveScore(4, 4, 3), dict(Q=Q, K=K), dict(Q=floats(Q), K=floats(K) + like(K))),
    "BilinearScore": (BilinearScore, dict(d_q=4, d_k=4), dict(d_q=SIZE, d_k=SIZE)),
    "BilinearScore()": (BilinearScore(4, 4), dict(Q=Q, K=K), dict(Q=floats(Q), K=floats(K) + like(K))),
    "scores of another type": (AdditiveScore(4, 4, 3).double(), dict(Q=Q.double(), K=K.double()), dict(K=[K])),
    "SelfAttention": (SelfAttention, dict(d_model=4, d_k=3, d_v=2), dict(d_model=SIZE, d_k=SIZE, d_v=SIZE[1:])),
    "SelfAttention()": (SelfAttention(4, 3), dict(X=X, mask=SQUARE), dict(X=floats(X) + like(X), mask=SQUARES)),
    "softmax_jacobian": (softmax_jacobian, dict(p=P), dict(p=(*NO_TENSOR, P.long(), P * 2, P - 1, P * torch.nan, P.sum()))),
    "entropy": (entropy, dict(weights=P), dict(weights=(*NO_TENSOR, P.long(), P * 2, P - 1, P * torch.nan, P.sum()))),
    "split_heads": (split_heads, dict(X=X, n_heads=2), dict(X=(*NO_TENSOR, X[0, 0]), n_heads=(*SIZE, 3))),
    "merge_heads": (merge_heads, dict(heads=X), dict(heads=(*NO_TENSOR, X[0]))),
    "MultiHeadAttention": (MultiHeadAttention, dict(d_model=4, n_heads=2, dropout=0.1), HEADS),
    "MultiHeadAttention()": (MultiHeadAttention(4, 2), dict(query=Q, key=K, value=K, mask=MASK), dict(query=floats(Q) + like(Q), key=floats(K) + like(K) + [K[:1], K[:, :4]][:1], value=floats(K) + like(K) + [K[:1], K[:, :4]], mask=MASKS, cache=("cache", full_cache(1), full_cache(3), memory_of(K[:, :3]), memory_of(K + 1)), need_weights=("no", 0, None))),
    "a memory that is kept": (lambda key, cache: MultiHeadAttention(4, 2)(Q, key, key, cache=cache), dict(key=K, cache=memory_of(K)), {"key → cache": [K[:, :3], K + 1]}),
    "MultiHeadAttention(), fused": (lambda **given: MultiHeadAttention(4, 2)(**given, need_weights=False), dict(query=Q, key=K, value=K, mask=MASK), dict(query=floats(Q) + like(Q), key=floats(K) + like(K), value=floats(K) + like(K), mask=MASKS)),
    "KeyValueCache.select": (full_cache(2).select, dict(rows=torch.tensor([0, 1])), dict(rows=(None, [0], np.array([0]), torch.tensor([0.0]), torch.tensor([[0]]), torch.tensor([2])))),
    "without_heads": (lambda layer, off: without_heads(layer, off).__enter__(), dict(layer=MultiHeadAttention(4, 2), off=1), dict(layer=(None, nn.Linear(2, 2)), off=(2, -1, "1", None))),
    "standardise": (standardise, dict(X=X, eps=1e-5), dict(X=(*floats(X)[:5], *floats(X)[6:], X.sum()), eps=(*NUMBER, -1))),
    "LayerNorm": (LayerNorm, dict(d_model=4, eps=1e-5), dict(d_model=SIZE, eps=(*NUMBER, -1))),
    "LayerNorm()": (LayerNorm(4), dict(X=X), dict(X=floats(X, False) + like(X))),
    "FeedForward": (FeedForward, dict(d_model=4, d_ff=8), dict(d_model=SIZE, d_ff=SIZE)),
    "FeedForward()": (FeedForward(4, 8), dict(X=X), dict(X=floats(X, False) + like(X))),
    "Residual": (Residual, dict(d_model=4, dropout=0.1, norm="pre"), dict(d_model=SIZE, dropout=SHARE, norm=WORD, norm_layer=CALLABLE)),
    "Residual()": (Residual(4), dict(X=X, sublayer=lambda x: x), {"X": floats(X, False) + like(X), "sublayer": CALLABLE, "sublayer → change": [lambda x: x[..., :1], lambda x: (x, x), lambda x: x.double(), lambda x: x[:1]]}),
    "EncoderLayer": (EncoderLayer, dict(d_model=4, n_heads=2, d_ff=8, dropout=0.1, norm="pre"), LAYERS),
    "EncoderLayer()": (EncoderLayer(4, 2, 8), dict(X=X, mask=SQUARE), {"X": floats(X, False)[:1], "X → (X|query)": floats(X)[1:] + like(X), "mask": SQUARES}),
    "DecoderLayer": (DecoderLayer, dict(d_model=4, n_heads=2, d_ff=8, dropout=0.1, norm="pre"), LAYERS),
    "DecoderLayer()": (DecoderLayer(4, 2, 8), dict(Y=X, memory=K, tgt_mask=SQUARE, memory_mask=MASK), {"Y → (Y|query)": floats(X) + like(X), "memory → (memory|key)": floats(K) + like(K) + [K[:1]], "tgt_mask → (tgt_)?mask": SQUARES, "memory_mask → (memory_)?mask": MASKS}),
    "angles": (angles, dict(n=3, d=4, base=100.0, start=2), {"n": SIZE, "d → the width of a vector": (*SIZE, 3), "base": (*NUMBER, 0, -1), "start": WHOLE}),
    "sinusoidal_encoding": (sinusoidal_encoding, dict(n=3, d_model=4, base=100.0), {"n": SIZE, "d_model → the width of a vector": (*SIZE, 3), "base": (*NUMBER, 0, -1)}),
    "LearnedPositions": (LearnedPositions, dict(max_len=5, d_model=4), dict(max_len=SIZE, d_model=SIZE)),
    "LearnedPositions()": (LearnedPositions(5, 4), dict(n=3), dict(n=(*SIZE, 6))),
    "rotary": (rotary, dict(X=X, start=0, base=100.0), {"X": (*NO_TENSOR, X.long(), X > 0, X[0, 0]), "X → the width of a vector": [X[..., :3]], "start": WHOLE, "base": (*NUMBER, 0)}),
    "distances": (distances, dict(n=2, m=3), {"n": SIZE, "m": SIZE, "n → the queries": [4]}),
    "distance_buckets": (
        distance_buckets,
        dict(r=torch.tensor([0, 3, 500]), n_buckets=8, max_distance=20),
        {"r": (*NO_TENSOR, torch.ones(2), torch.tensor([True]), torch.tensor([2, -1])), "n_buckets": (*SIZE, 1), "max_distance": (*SIZE, 4)},
    ),
    "alibi_bias": (alibi_bias, dict(n_heads=2, n=3, m=3), {"n_heads": SIZE, "n": SIZE, "n → the queries": [4], "m": SIZE[1:]}),
    "RotaryAttention": (RotaryAttention, dict(d_model=4, n_heads=2, dropout=0.1), HEADS),
    "AlibiAttention": (AlibiAttention, dict(d_model=4, n_heads=2, dropout=0.1), HEADS),
    "ShawAttention": (ShawAttention, dict(d_model=4, n_heads=2, dropout=0.1, max_distance=2), {**HEADS, "max_distance": SIZE}),
    "RelativeAttention": (RelativeAttention, dict(d_model=4, n_heads=2, dropout=0.1, max_distance=2), {**HEADS, "max_distance": SIZE}),
    **{
        f"{kind.__name__}(), need_weights={need}": (lambda layer=layer, need=need, **given: layer(**given, need_weights=need), dict(query=X, key=X, value=X, mask=SQUARE), dict(query=[X * torch.nan, X.double()], mask=SQUARES))
        for kind in (RotaryAttention, AlibiAttention, ShawAttention, RelativeAttention)
        for layer in [kind(4, 2)]
        for need in (True, False)
    },
    "TransformerConfig": (TransformerConfig, dict(vocab_size=12, d_model=8, n_heads=2, d_ff=8, n_layers=1, dropout=0.1, norm="pre", pad_id=0, max_len=9), dict(vocab_size=SIZE, d_model=(*SIZE, 9), n_heads=(*SIZE, 3), d_ff=SIZE, n_layers=SIZE, dropout=SHARE, norm=WORD, pad_id=(*WHOLE, -1, 12), max_len=SIZE)),
    "base_config": (base_config, dict(vocab_size=9), dict(vocab_size=SIZE)),
    "big_config": (big_config, dict(vocab_size=9), dict(vocab_size=SIZE)),
    "Embedding": (Embedding, dict(config=CONFIG), dict(config=(None, 20, {"d_model": 8}))),
    "Embedding()": (Embedding(CONFIG), dict(ids=SRC, start=0), {"ids": (*ids(SRC, 12), SRC[:, :0]), "start": (*WHOLE, -1), "start → ids": [16]}),
    "Embedding.unembed": (MODEL.embedding.unembed, dict(X=MEMORY), dict(X=floats(MEMORY, False) + like(MEMORY))),
    "Transformer": (Transformer, dict(config=CONFIG), dict(config=(None, 20, {"d_model": 8}))),
    "EncoderOnly": (EncoderOnly, dict(config=CONFIG), dict(config=(None, 20, "base"))),
    "DecoderOnly": (DecoderOnly, dict(config=CONFIG, positions=torch.zeros, attention=RotaryAttention), dict(config=(None, 20, "base"), attention=CALLABLE, feed_forward=CALLABLE, norm_layer=CALLABLE, positions=CALLABLE)),
    "EncoderOnly()": (EncoderOnly(CONFIG), dict(ids=SRC), dict(ids=(*ids(SRC, 12), SRC * 0))),
    "DecoderOnly()": (DecoderOnly(CONFIG), dict(ids=SRC), {"ids": ids(SRC, 12), "ids → (ids|masks)": [SRC * 0, SRC.flip(1)], "caches": ("cache", [KeyValueCache()] * 2)}),
    "Transformer()": (MODEL, dict(src_ids=SRC, tgt_ids=TGT), {"src_ids → (src_)?ids": (*ids(SRC, 12), SRC * 0), "tgt_ids → (tgt_)?ids": (*ids(TGT, 12), TGT[:1])}),
    "Transformer.encode": (MODEL.encode, dict(src_ids=SRC), {"src_ids → (src_)?ids": ids(SRC, 12)}),
    "Transformer.decode": (MODEL.decode, dict(tgt_ids=TGT, memory=Memory(MEMORY, SEEN), caches=None), {"tgt_ids → (tgt_)?ids": ids(TGT, 12), "tgt_ids → memory.H": [TGT[:1]], "memory": [None, MEMORY], "memory → memory.H|query|key": [Memory(H, SEEN) for H in (None, MEMORY.tolist(), MEMORY.numpy(), MEMORY * torch.nan, MEMORY[..., :4], MEMORY.long(), *like(MEMORY), MEMORY[:1])], "memory → (memory.)?mask": [Memory(MEMORY, mask) for mask in ([True], SRC, (SRC == 99)[:, None])], "caches": ("cache", decoder_caches(2))}),
    "Transformer.all_weights": (MODEL.all_weights, dict(src_ids=SRC, tgt_ids=TGT), {"src_ids → (src_)?ids": ids(SRC, 12), "tgt_ids → (tgt_)?ids": ids(TGT, 12)}),
    "decoder_caches": (decoder_caches, dict(n_layers=2), dict(n_layers=SIZE)),
    "count_parameters": (count_parameters, dict(model=MODEL), dict(model=(None, "base", CONFIG))),
    "warmup_lr": (warmup_lr, dict(step=1, d_model=8, warmup=2), dict(step=(*NUMBER, 0, torch.tensor(3), float("inf")), d_model=SIZE, warmup=(*NUMBER, 0, float("inf")))),
    "smoothed_targets": (smoothed_targets, dict(targets=SRC, vocab_size=9, epsilon=0.1), dict(targets=(*ids(SRC, axes=False), SRC + 9, SRC - 9), vocab_size=SIZE, epsilon=SHARE)),
    "label_smoothed_loss": (label_smoothed_loss, dict(logits=torch.randn(2, 3, 9), targets=SRC, epsilon=0.1, pad_id=0), {"logits": (*NO_TENSOR, torch.ones(2, 3, 9).long(), torch.full((2, 3, 9), torch.nan), torch.full((2, 3, 9), -torch.inf)), "logits → targets": [torch.randn(2, 4, 9)], "logits → (logits)": [torch.tensor(1.0)], "targets": (*ids(SRC), SRC + 9, SRC - 9, SRC[:, :2], SRC.to("meta"), SRC * 0), "epsilon": SHARE, "pad_id": WHOLE}),
    "paper_optimiser": (paper_optimiser, dict(model=MODEL), dict(model=(None, "adam", CONFIG))),
    "train": (lambda **given: next(train(**given)), dict(model=Transformer(CONFIG), batches=[Batch.of(EXAMPLES)], lr=lambda step: 1e-3, epsilon=0.1, accumulate=1, clip=1.0), dict(model=(None, 3, nn.Linear(2, 2), Transformer(CONFIG).requires_grad_(False)), lr=(*CALLABLE, *(lambda step, rate=rate: rate for rate in (*NUMBER, -1, float("inf")))), epsilon=SHARE, accumulate=SIZE, batches=(None, 3), clip=(None, "1", -1.0, float("nan")))),
    "Batch.of": (Batch.of, dict(examples=EXAMPLES, vocabulary=shipped()), dict(examples=(None, 3, "text", [1, 2], []), vocabulary=(None, 3, "en", CONFIG))),
    "learn_merges": (learn_merges, dict(words={"low": 2}, n_merges=1), {"words": (None, ["low"], "low"), "words → each word of words": [{3: 1}], "words → each count of words": [{"low": 0}, {"low": "2"}], "n_merges": (*WHOLE, -1)}),
    "apply_merges": (apply_merges, dict(word="low", merges=[("l", "o")]), dict(word=(None, 3, ["l"], ""), merges=(None, 3, "lo", ["lo"], [("l",)], [("l", 3)]))),
    "pad": (pad, dict(rows=[[1], [2, 3]], pad_id=0), {"rows": (None, 3, "12", [1, 2], [], ["ab"]), "rows → each id of rows": [[[1.5]], [["1"]], [[None]]], "pad_id": WHOLE}),
    "batches": (lambda **given: list(batches(**given)), dict(examples=EXAMPLES, max_tokens=9, seed=1, pool=2), dict(examples=(None, 3, "text", [1, 2]), max_tokens=SIZE, seed=("x", 1.5, [3]), pool=SIZE)),
    "padding_waste": (padding_waste, dict(groups=[EXAMPLES]), dict(groups=(None, 3, "text", [1], []))),
    "NextToken": (NextToken, dict(model=MODEL, src_ids=SRC), {"model": MODELS, "src_ids → (src_)?ids": SOURCES, "use_cache": ("x", 1, None)}),
    "NextToken()": (lambda ids: NextToken(MODEL, SRC)(ids), dict(ids=ROWS), dict(ids=(*ids(ROWS, 12), ROWS[:1]))),
    "NextToken.select": (lambda rows: NextToken(MODEL, SRC).select(rows), dict(rows=torch.tensor([1])), dict(rows=(None, [0], torch.tensor([0.0]), torch.tensor([[0]]), torch.tensor([2])))),
    "greedy_decode": (greedy_decode, dict(model=MODEL, src_ids=SRC, bos_id=1, eos_id=2, max_len=3), {"model": MODELS, "src_ids → (src_)?ids": SOURCES, **SEARCH}),
    "sample": (sample, dict(model=MODEL, src_ids=SRC, bos_id=1, eos_id=2, max_len=3, temperature=1.0, top_k=3, top_p=0.9, generator=None), {"model": MODELS, "src_ids → (src_)?ids": SOURCES, **SEARCH, "temperature": (*NUMBER, 0, -1), "top_k": SIZE[1:], "top_p": (*NUMBER[1:], 0, 90), "generator": (0, "seed")}),
    "filter_logits": (filter_logits, dict(logits=Q, top_k=2, top_p=0.5), dict(logits=(*NO_TENSOR, Q.long(), Q * torch.nan), top_k=SIZE[1:], top_p=(*NUMBER[1:], 0, 90))),
    "length_penalty": (length_penalty, dict(length=3, alpha=0.6), dict(length=(*WHOLE, -5), alpha=(*NUMBER, -1))),
    "Beam": (Beam, dict(bos_id=1, eos_id=2, beam=2, alpha=0.6, max_len=3, n_best=1), {**SEARCH, "beam": SIZE, "alpha": (*NUMBER, -0.1), "n_best": (*SIZE, 3)}),
    "Beam.advance": (lambda **given: Beam(1, 2, beam=2).advance(**given), dict(tokens=[[3, 4]], log_p=[[-1.0, -2.0]]), {"tokens": (None, "34", [3, 4], [], [[3, 4]] * 2), "tokens → each id of tokens": [[["3", "4"]], [[3, 4.0]], [[3, -4]]], "log_p": (None, [-1.0], [], [[-1.0]], [[-1.0, -2.0, -3.0]]), "log_p → each number of log_p": [[[float("nan"), -1.0]], [[0.5, -1.0]], [["a", "b"]]]}),
    "beam_search": (beam_search, dict(model=MODEL, src_ids=SRC, bos_id=1, eos_id=2, beam=2, alpha=0.6, max_len=3, n_best=2), {"model": MODELS, "src_ids → (src_)?ids": SOURCES, **SEARCH, "beam": SIZE, "alpha": (*NUMBER, -0.1), "n_best": (*SIZE, 3)}),
    "MaskedTranslator": (lambda longest: MaskedTranslator(CONFIG, longest), dict(longest=5), dict(longest=SIZE)),
    "mask_predict": (mask_predict, dict(model=MASKED, src_ids=SRC, mask_id=11, passes=2), {"model": (*MODELS, MODEL), "src_ids → (src_)?ids": SOURCES, "mask_id": WHOLE, "passes": SIZE}),
    "Seq2Seq": (Seq2Seq, dict(src_vocab=9, tgt_vocab=9, d_model=4, cell="gru", pad_id=0), dict(src_vocab=SIZE, tgt_vocab=SIZE, d_model=SIZE, cell=WORD, pad_id=WHOLE)),
    "Seq2Seq()": (RNN, dict(src_ids=SRC, tgt_ids=TGT), dict(src_ids=(*ids(SRC, 9), SRC * 0, SRC.flip(1)), tgt_ids=ids(TGT, 9))),
    "Seq2Seq.decode": (RNN.decode, dict(tgt_ids=TGT, state=STATE), dict(tgt_ids=ids(TGT, 9), state=(None, "h", STATE[:, :1], STATE[0], (STATE, STATE), *like(STATE)))),
    "Seq2Seq.decode, lstm": (LSTM.decode, dict(tgt_ids=TGT, state=(STATE, STATE)), dict(state=(None, STATE, (STATE,), (STATE[:, :1], STATE)))),
    "greedy": (greedy, dict(start=lambda ids: None, step=lambda ids, state: (torch.ones(2, 1, 9), None), src_ids=SRC, bos_id=1, eos_id=0, max_len=2), dict(start=CALLABLE, step=(*CALLABLE, lambda ids, state: (torch.ones(5, 1, 9), None), lambda ids, state: (torch.ones(2, 9), None), lambda ids, state: (None, None)), src_ids=ids(SRC), **SEARCH)),
    "WordWindow": (WordWindow, dict(d_model=4, window=1), dict(d_model=SIZE, window=(*WHOLE, -1))),
    "WordWindow()": (WordWindow(4, 1), dict(X=X), dict(X=floats(X, False) + like(X) + [X[0]])),
    "DilatedConvolutions": (DilatedConvolutions, dict(d_model=4, k=2, n_layers=2), dict(d_model=SIZE, k=(*SIZE, 1), n_layers=SIZE)),
    "DilatedConvolutions()": (DilatedConvolutions(4, 2, 2), dict(X=X), dict(X=floats(X, False) + like(X) + [X[0]])),
    "gradient_reach": (gradient_reach, dict(output=lambda x: x[-1], X=X[0]), dict(output=(*CALLABLE, lambda x: x, lambda x: None, lambda x: x[-1].detach(), lambda x: HALVES(x.detach())[-1]), X=(*floats(X[0])[:5], X, X[0] * torch.nan))),
    "AttentiveSeq2Seq": (AttentiveSeq2Seq, dict(src_vocab=9, tgt_vocab=9, d_model=4, cell="gru", score="dot", pad_id=0), dict(src_vocab=SIZE, tgt_vocab=SIZE, d_model=SIZE, cell=WORD, score=WORD, pad_id=WHOLE)),
    "AttentiveSeq2Seq()": (READER, dict(src_ids=SRC, tgt_ids=TGT), dict(src_ids=ids(SRC, 9), tgt_ids=(*ids(TGT, 9)[:5], TGT + 9))),
    "AttentiveSeq2Seq.attend": (READER.attend, dict(tgt_ids=TGT, reading=READER.read(SRC)), {"tgt_ids": ids(TGT, 9), "reading": (None, "x", STATE, READER.read(SRC)._replace(mask=torch.zeros(2, 1, 3).bool())), "tgt_ids → reading.H": [TGT[:1]]}),
    "alignment_error_rate": (alignment_error_rate, dict(predicted=SQUARE, sure=SQUARE, possible=SQUARE), dict(predicted=(*NO_TENSOR, SQUARE.float()), sure=(*NO_TENSOR, SQUARE.float(), SQUARE[:2], SQUARE.to("meta")), possible=(*NO_TENSOR[1:], SQUARE.float(), SQUARE[:2]))),
    "MemoryHop": (MemoryHop(), dict(u=X[:, 0], M_in=X, M_out=X, mask=torch.ones(2, 3).bool()), {"u": [*NO_TENSOR, X, X[:, 0].long()], "M_in": floats(X) + like(X) + [X[:1]], "M_out": floats(X) + like(X) + [X[:, :2]], "mask": [[True], torch.ones(2, 3), torch.ones(2, 2).bool(), torch.zeros(2, 3).bool(), torch.ones(2, 3).bool().to("meta")]}),
    "MemoryNetwork": (MemoryNetwork, dict(vocab=9, answers=3, d_model=4, n_hops=2, oldest=5, pad_id=0), dict(vocab=SIZE, answers=SIZE, d_model=SIZE, n_hops=SIZE, oldest=SIZE, pad_id=(*WHOLE, -1, 9))),
    "MemoryNetwork()": (MemoryNetwork(9, 3, 4, 2, oldest=5), dict(facts=FACTS, question=QUESTION), dict(facts=(*ids(FACTS, 9), FACTS[:, [0] * 6]), question=(*ids(QUESTION, 9), QUESTION[:1]))),
    "Tokenizer.train": (Tokenizer.train, dict(sentences=["a b"], vocab_size=10**12), dict(min_count=(*WHOLE, float("nan")), lowercase=("no", 1, None), single_digits=("no", 1))),
    "Tokenizer.load": (Tokenizer.load, None, dict(path=(5, None, ["a"]))),
    "Tokenizer.save": (shipped().save, None, dict(path=(3, None, ["a"]))),
    "Corpus.split": (load_corpus("copy", size=20).split, dict(part="test"), dict(part=("tset", None, 3))),
    "Translator": (Translator, dict(model=MODEL, tokenizer=shipped()), dict(model=MODELS, tokenizer=(None, "en-fr", {}))),
    "Translator.load": (Translator.load, None, dict(folder=(None, 3, ["en-fr"]))),
    "Translator.translate": (translator().translate, None, {"sentences": (None, 3, "hello"), "sentences → each of sentences": [[3], [None], [b"hello"]]}),
    "Translator.search": (lambda **given: translator().search(**{"sentences": ["a"], **given}), None, {"sentences": (None, "hello"), "beam": SIZE, "alpha": (*NUMBER, -1), "at_once": SIZE}),
    "Translator.ids": (translator().ids, None, dict(sentence=(None, 3, ["hello"]))),
    "load_trained": (load_trained, None, dict(folder=(None, 3, ["en-fr"]))),
    "load_corpus": (lambda **given: load_corpus("dates", **given), dict(size=3), dict(size=(*SIZE,), seed=WHOLE, locales=(None, 3, "en"), first_year=WHOLE)),
    "load_corpus, wmt14": (lambda **given: load_corpus("wmt14-en-de", **given), dict(size=3), dict(size=SIZE[1:])),
    "load_corpus, options": (lambda option: load_corpus("copy", **{option: 3}), dict(option="size"), {"option → options": ["sise", "locales"]}),
}  # fmt: skip
for path in sorted(Path(__file__).parent.glob("test_*.py")):
    if "\nMISFITS = " in path.read_text(encoding="utf-8"):
        TABLE |= importlib.import_module(f"lib.{path.stem}").MISFITS


def wrongly_told(call, given: dict, name: str, said: str, misfit) -> str | None:
    """What is wrong with how a call refuses one misfit; None where it does so in a sentence of ours."""
    try:
        call(**{**given, name: misfit})
    except (ValueError, TypeError) as error:
        if not re.fullmatch(rf"({said}) must .+; got .+\.", str(error), re.DOTALL):
            return f"is told: {error}"
        place = Path(traceback.extract_tb(error.__traceback__)[-1].filename)
        return None if place.is_relative_to(PACKAGE) else f"is refused by {place}"
    except Exception as error:  # noqa: BLE001 (the row goes on, and lists it)
        return f"ends in {type(error).__name__}: {error}"
    return "is accepted"


@pytest.mark.parametrize("row", TABLE)
@pytest.mark.usefixtures("as_readers_run_it")
def test_every_misfit_ends_in_a_sentence(row):
    call, given, misfits = TABLE[row]
    if given is not None:
        call(**given)
    wrong = [
        f"{argument}, misfit {number}, {told}"
        for argument, bad in misfits.items()
        for number, misfit in enumerate(bad)
        for name, _, said in [argument.partition(" → ")]
        if (told := wrongly_told(call, given or {}, name, said or name, misfit))
    ]
    assert not wrong, "\n".join([row, *wrong])


#: Tuples that are given back, what a subclass makes whole, and the tokenizer, whose misfits are in test_data.
WITHOUT_MISFITS = {
    "Beam",
    "Bleu",
    "Cost",
    "Difference",
    "Reading",
    "Tokenizer",
    "Batch",
    "Example",
    "Hypothesis",
    "Memory",
    "Step",
    "KeyValueCache",
    "MemoryCache",
    "TiledAttention",
    "Written",
    "count_parameters",
}


@pytest.mark.parametrize("stem", [path.stem for path in sorted(PACKAGE.glob("[a-z]*.py")) if path.stem != "cli"])
def test_every_public_name_of_the_core_meets_misfits(stem):
    public = set(importlib.import_module(f"tfm_lib.{stem}").__all__)
    tried = {word for row in TABLE for word in re.findall(r"\w+", row)}
    untried = public - tried - WITHOUT_MISFITS
    assert untried == set(), (
        f"No bad input is tried on {untried}: write MISFITS in tests/lib/test_{stem}.py, or a row of TABLE here."
    )


@pytest.mark.parametrize("name", [None, 3, ["copy"], "no-such"])
def test_no_corpus_of_that_name(name):
    with pytest.raises(ValueError, match=r"^No corpus is called .+; there are copy, .+\.$"):
        load_corpus(name)


def test_no_model_in_that_folder(tmp_path):
    for load in (load_trained, Translator.load):
        for folder in (tmp_path, str(tmp_path)):
            with pytest.raises(FileNotFoundError, match="^There is no trained model in "):
                load(folder)


@pytest.mark.usefixtures("as_readers_run_it")
def test_numpy_s_numbers_are_numbers():
    two = np.int64(2)
    assert causal_mask(two).shape == (2, 2) and split_heads(X, two).shape == (2, 2, 3, 2)
    assert pad([[two], [1, 3]], two).tolist() == [[2, 2], [1, 3]]
    assert warmup_lr(two, 8, 4) == warmup_lr(2, 8, 4)
    assert TransformerConfig(np.int64(12), d_model=8, n_heads=2).d_model == 8


def test_a_search_does_not_go_on_past_its_last_token():
    search = Beam(1, 2, beam=2, max_len=1)
    search.advance([[3, 4]], [[-1.0, -2.0]])
    with pytest.raises(ValueError, match=r"^the search must end after max_len = 1 tokens; got one more\.$"):
        search.advance([[3, 4]] * 2, [[-1.0, -2.0]] * 2)


@pytest.mark.parametrize("of_type", [torch.int32, torch.int16, torch.uint8])
@pytest.mark.usefixtures("as_readers_run_it")
def test_targets_of_any_whole_type_have_the_same_loss(of_type):
    logits = torch.randn(2, 3, 9)
    assert label_smoothed_loss(logits, SRC.to(of_type)) == label_smoothed_loss(logits, SRC)
    assert smoothed_targets(SRC.to(of_type), 9).equal(smoothed_targets(SRC, 9))


def test_of_equal_logits_the_first_stay():
    kept = filter_logits(torch.tensor([[1.0] * 50, [0.0] * 48 + [1.0, 2.0]]), top_k=2).isfinite()
    assert kept.nonzero().tolist() == [[0, 0], [0, 1], [1, 48], [1, 49]]


def test_a_memory_may_be_an_equal_one_and_lose_rows():
    layer, cache = MultiHeadAttention(4, 2), MemoryCache()
    layer(Q, K, K, cache=cache)
    layer(Q, K.clone(), K.clone(), cache=cache)
    cache.select(torch.tensor([1]))
    layer(Q[1:], K[1:], K[1:], cache=cache)
    with pytest.raises(ValueError, match="^cache must hold the memory that key is"):
        layer(Q[:1], K[:1], K[:1], cache=cache)
