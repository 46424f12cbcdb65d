"""Misfits of `tfm_lib.decoding`, each with its sentence."""

import torch

from tfm_lib.decoding import beam_search, greedy_decode, sample
from tfm_lib.transformer import DecoderOnly, EncoderOnly, Transformer, TransformerConfig

BOS, EOS = 1, 2
CONFIG = TransformerConfig(7, d_model=8, n_heads=2, d_ff=12, n_layers=2, max_len=40)
MODEL, SRC = Transformer(CONFIG).eval(), torch.tensor([[3, 4, 5, 6, 3], [5, 6, 0, 0, 0]])

SENTENCES = {
    "floats for ids": (
        lambda: greedy_decode(MODEL, SRC.float(), BOS, EOS),
        TypeError,
        "src_ids must hold whole numbers; got torch.float32.",
    ),
    "one sentence without a batch": (
        lambda: beam_search(MODEL, SRC[0], BOS, EOS),
        ValueError,
        "src_ids must have two axes, (batch, m); got shape (5,).",
    ),
    "no source": (
        lambda: greedy_decode(MODEL, SRC[:0], BOS, EOS),
        ValueError,
        "src_ids must hold at least one token of one source; got shape (0, 5).",
    ),
    "a model in training": (
        lambda: greedy_decode(Transformer(CONFIG), SRC, BOS, EOS),
        ValueError,
        "model must be set to model.eval(), or dropout would distort its words; got a model in training.",
    ),
    "nothing to write": (
        lambda: greedy_decode(MODEL, SRC, BOS, EOS, max_len=0),
        ValueError,
        "max_len must be a whole number of at least 1; got 0.",
    ),
    "no beam": (
        lambda: beam_search(MODEL, SRC, BOS, EOS, beam=0),
        ValueError,
        "beam must be a whole number of at least 1; got 0.",
    ),
    "half a beam": (
        lambda: beam_search(MODEL, SRC, BOS, EOS, beam=2.5),
        ValueError,
        "beam must be a whole number of at least 1; got 2.5.",
    ),
    "a penalty for long ones": (
        lambda: beam_search(MODEL, SRC, BOS, EOS, alpha=-0.6),
        ValueError,
        "alpha must be at least 0, or a longer hypothesis would be punished twice; got -0.6.",
    ),
    "no temperature": (
        lambda: sample(MODEL, SRC, BOS, EOS, temperature=0),
        ValueError,
        "temperature must be above 0; greedy_decode is its limit; got 0.",
    ),
    "no temperature at all": (
        lambda: sample(MODEL, SRC, BOS, EOS, temperature=float("nan")),
        ValueError,
        "temperature must be above 0; greedy_decode is its limit; got nan.",
    ),
    "top none": (
        lambda: sample(MODEL, SRC, BOS, EOS, top_k=0),
        ValueError,
        "top_k must be a whole number of at least 1; got 0.",
    ),
    "a percentage": (
        lambda: sample(MODEL, SRC, BOS, EOS, top_p=90),
        ValueError,
        "top_p must be a share above 0 and at most 1; got 90.",
    ),
    "beginnings of several lengths": (
        lambda: greedy_decode(DecoderOnly(CONFIG).eval(), SRC, BOS, EOS),
        ValueError,
        "src_ids must be beginnings of one length; got some that are padded.",
    ),
    "half a machine": (
        lambda: greedy_decode(EncoderOnly(CONFIG), SRC, BOS, EOS),
        TypeError,
        "model must be a Transformer or a DecoderOnly; got an EncoderOnly.",
    ),
    "more than there are positions": (
        lambda: greedy_decode(MODEL, SRC, BOS, 99, max_len=41),
        ValueError,
        "ids must end before position max_len = 40; got 41 positions.",
    ),
}
