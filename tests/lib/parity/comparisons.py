"""The comparisons: each builds theirs with random weights, biases and norms included, copies them into ours, and runs both.

All in double precision, so that what is left is rounding. Where a library follows another convention, the comparison
translates it and says so.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from tfm_lib.data import apply_merges
from tfm_lib.decoding import filter_logits, greedy_decode
from tfm_lib.layers import DecoderLayer, EncoderLayer, FeedForward, LayerNorm
from tfm_lib.masking import causal_mask
from tfm_lib.multihead import MultiHeadAttention
from tfm_lib.positional import alibi_bias, distance_buckets, distances, rotary, sinusoidal_encoding
from tfm_lib.training import label_smoothed_loss, smoothed_targets, warmup_lr
from tfm_lib.transformer import Transformer, TransformerConfig

D, H, FF, BATCH, N, M = 24, 3, 40, 2, 7, 9


@dataclass(frozen=True)
class Comparison:
    """`run` gives pairs (ours, theirs); `note` tells a convention that had to be translated."""

    library: str
    theirs: str
    ours: str
    run: Callable[[], Iterator[tuple[Tensor, Tensor]]]
    note: str = ""


COMPARISONS: list[Comparison] = []


def compares(library: str, theirs: str, ours: str, note: str = ""):
    """Register the decorated generator of pairs as a comparison."""

    def register(run):
        COMPARISONS.append(Comparison(library, theirs, ours, run, note))
        return run

    return register


@contextmanager
def double_precision(seed: int = 0) -> Iterator[None]:
    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)
    try:
        with torch.random.fork_rng(devices=[]), torch.no_grad():
            torch.manual_seed(seed)
            yield
    finally:
        torch.set_default_dtype(before)


def redrawn(module: nn.Module) -> nn.Module:
    """`module` in double precision and evaluation, every parameter drawn anew: no bias is 0, no gain is 1."""
    module = module.double().eval()
    for parameter in module.parameters():
        parameter.copy_(torch.randn_like(parameter) * 0.3)
    return module


def put(into: nn.Module, weight: Tensor, bias: Tensor | None = None) -> None:
    """Copy a matrix as `nn.Linear` keeps it, or a gain, and its bias."""
    (into.gain if isinstance(into, LayerNorm) else into.weight).copy_(weight)
    if bias is not None:
        into.bias.copy_(bias)


def put_attention(ours: MultiHeadAttention, q: nn.Module, k: nn.Module, v: nn.Module, o: nn.Module) -> None:
    for mine, their in zip((ours.W_Q, ours.W_K, ours.W_V, ours.W_O), (q, k, v, o)):
        put(mine, their.weight, their.bias)


def put_torch_attention(ours: MultiHeadAttention, theirs: nn.MultiheadAttention) -> None:
    weights, biases = theirs.in_proj_weight.chunk(3), theirs.in_proj_bias.chunk(3)
    for mine, weight, bias in zip((ours.W_Q, ours.W_K, ours.W_V), weights, biases):
        put(mine, weight, bias)
    put(ours.W_O, theirs.out_proj.weight, theirs.out_proj.bias)


def some(*shape: int) -> Tensor:
    return torch.randn(*shape)


def padded_mask(m: int = M) -> Tensor:
    """Which of `m` keys are real, (BATCH, 1, m): the second sentence ends early."""
    return torch.stack([torch.ones(m).bool(), torch.arange(m) < m - 3])[:, None]


def additive(mask: Tensor) -> Tensor:
    """A mask as most libraries want it: numbers to add to the scores of every head, (BATCH, 1, n, m)."""
    return torch.zeros(mask.shape).masked_fill(~mask, torch.finfo(torch.float64).min)[:, None]


# ── PyTorch ───────────────────────────────────────────────────────────────


@compares("torch", "nn.MultiheadAttention", "MultiHeadAttention", "its masks are True where ours are False")
def torch_attention():
    theirs = redrawn(nn.MultiheadAttention(D, H, batch_first=True))
    ours = MultiHeadAttention(D, H)
    put_torch_attention(ours, theirs)
    X, Y, mask = some(BATCH, N, D), some(BATCH, M, D), padded_mask()
    got, weights = ours(X, Y, Y, mask)
    want, theirs_weights = theirs(X, Y, Y, key_padding_mask=~mask[:, 0], average_attn_weights=False)
    yield got, want
    yield weights, theirs_weights
    yield ours(X, Y, Y, mask, need_weights=False)[0], want


def put_torch_layer(ours, theirs) -> None:
    put_torch_attention(ours.self_attention, theirs.self_attn)
    if isinstance(ours, DecoderLayer):
        put_torch_attention(ours.cross_attention, theirs.multihead_attn)
    put(ours.feed_forward.W_1, theirs.linear1.weight, theirs.linear1.bias)
    put(ours.feed_forward.W_2, theirs.linear2.weight, theirs.linear2.bias)
    for place, residual in enumerate(ours.residuals, start=1):
        norm = getattr(theirs, f"norm{place}")
        put(residual.norm, norm.weight, norm.bias)


@compares("torch", "nn.TransformerEncoderLayer", "EncoderLayer", "post-norm and pre-norm")
def torch_encoder_layer():
    for norm in ("post", "pre"):
        theirs = redrawn(nn.TransformerEncoderLayer(D, H, FF, 0.0, batch_first=True, norm_first=norm == "pre"))
        ours = EncoderLayer(D, H, FF, norm=norm)
        put_torch_layer(ours, theirs)
        X, mask = some(BATCH, N, D), padded_mask(N)
        with torch.enable_grad():  # without it a fused path runs that leaves padded places 0
            yield ours(X, mask)[0], theirs(X, src_key_padding_mask=~mask[:, 0]).detach()


@compares("torch", "nn.TransformerDecoderLayer", "DecoderLayer", "post-norm and pre-norm")
def torch_decoder_layer():
    for norm in ("post", "pre"):
        theirs = redrawn(nn.TransformerDecoderLayer(D, H, FF, 0.0, batch_first=True, norm_first=norm == "pre"))
        ours = DecoderLayer(D, H, FF, norm=norm)
        put_torch_layer(ours, theirs)
        Y, memory, mask = some(BATCH, N, D), some(BATCH, M, D), padded_mask()
        want = theirs(Y, memory, tgt_mask=~causal_mask(N), memory_key_padding_mask=~mask[:, 0])
        yield ours(Y, memory, causal_mask(N), mask)[0], want


@compares("torch", "F.layer_norm, F.cross_entropy", "LayerNorm, label_smoothed_loss")
def torch_functions():
    norm, X = redrawn(LayerNorm(D)), some(BATCH, N, D)
    yield norm(X), F.layer_norm(X, (D,), norm.gain, norm.bias)
    logits, targets = some(BATCH, N, D), torch.randint(1, D, (BATCH, N))
    targets[1, 5:] = 0
    theirs = F.cross_entropy(logits.flatten(0, 1), targets.flatten(), ignore_index=0, label_smoothing=0.1)
    yield label_smoothed_loss(logits, targets, 0.1, pad_id=0), theirs


# ── Hugging Face transformers ─────────────────────────────────────────────


def put_bart_attention(ours: MultiHeadAttention, theirs: nn.Module) -> None:
    put_attention(ours, theirs.q_proj, theirs.k_proj, theirs.v_proj, theirs.out_proj)


def put_bart_layer(ours, theirs) -> None:
    put_bart_attention(ours.self_attention, theirs.self_attn)
    norms = [theirs.self_attn_layer_norm]
    if isinstance(ours, DecoderLayer):
        put_bart_attention(ours.cross_attention, theirs.encoder_attn)
        norms.append(theirs.encoder_attn_layer_norm)
    put(ours.feed_forward.W_1, theirs.fc1.weight, theirs.fc1.bias)
    put(ours.feed_forward.W_2, theirs.fc2.weight, theirs.fc2.bias)
    for residual, norm in zip(ours.residuals, [*norms, theirs.final_layer_norm]):
        put(residual.norm, norm.weight, norm.bias)


SIZES = {
    "d_model": D,
    "encoder_attention_heads": H,
    "decoder_attention_heads": H,
    "encoder_ffn_dim": FF,
    "decoder_ffn_dim": FF,
    "encoder_layers": 2,
    "decoder_layers": 2,
    "dropout": 0.0,
    "activation_function": "relu",
    "attn_implementation": "eager",
}


def marian():
    """A Marian model with its configuration's wiring: post-norm, tied words, embeddings times √d_model."""
    from transformers import MarianConfig, MarianMTModel

    config = MarianConfig(
        vocab_size=31,
        pad_token_id=0,
        bos_token_id=1,
        eos_token_id=2,
        decoder_start_token_id=1,
        forced_eos_token_id=None,
        scale_embedding=True,
        max_position_embeddings=64,
        share_encoder_decoder_embeddings=True,
        tie_word_embeddings=True,
        **SIZES,
    )
    theirs = redrawn(MarianMTModel(config))
    theirs.final_logits_bias.zero_()
    ours = Transformer(TransformerConfig(31, D, H, FF, 2, dropout=0.0, max_len=64)).double().eval()
    ours.embedding.tokens.weight.copy_(theirs.model.shared.weight)
    table = sinusoidal_encoding(64, D)
    for side in (theirs.model.encoder, theirs.model.decoder):
        side.embed_positions.weight.copy_(table)
    for mine, their in zip(
        [*ours.encoder, *ours.decoder], [*theirs.model.encoder.layers, *theirs.model.decoder.layers]
    ):
        put_bart_layer(mine, their)
    return ours, theirs


def sentences() -> tuple[Tensor, Tensor]:
    src, tgt = torch.randint(3, 31, (BATCH, M)), torch.randint(3, 31, (BATCH, N))
    src[1, 6:] = 0
    return src, tgt


@compares(
    "transformers",
    "MarianMTModel, whole",
    "Transformer",
    "the table of positions is ours: Marian keeps all sines before all cosines",
)
def whole_marian():
    ours, theirs = marian()
    src, tgt = sentences()
    want = theirs(input_ids=src, attention_mask=(src != 0).long(), decoder_input_ids=tgt)
    yield ours(src, tgt), want.logits
    weights = ours.all_weights(src, tgt)
    theirs_weights = theirs(
        input_ids=src, attention_mask=(src != 0).long(), decoder_input_ids=tgt, output_attentions=True
    )
    yield weights["cross"], torch.stack(theirs_weights.cross_attentions, dim=1)
    yield weights["decoder"], torch.stack(theirs_weights.decoder_attentions, dim=1)


@compares("transformers", "MarianMTModel.generate, greedy", "greedy_decode", "token ids of 40 random sentences")
def greedy_marian():
    ours, theirs = marian()
    for _ in range(20):
        src, _ = sentences()
        want = theirs.generate(
            input_ids=src,
            attention_mask=(src != 0).long(),
            num_beams=1,
            do_sample=False,
            max_new_tokens=12,
            forced_eos_token_id=None,
        )
        got = greedy_decode(ours, src, bos_id=1, eos_id=2, max_len=12)
        width = max(got.shape[1], want.shape[1] - 1)
        yield filled(got, width), filled(want[:, 1:], width)


def filled(ids: Tensor, width: int) -> Tensor:
    """`ids` up to <eos>, the rest 0, in `width` columns."""
    ended = (ids == 2).cumsum(-1) - (ids == 2).long() > 0
    return F.pad(ids.masked_fill(ended, 0), (0, width - ids.shape[1])).double()


@compares("transformers", "BartEncoderLayer, BartDecoderLayer", "EncoderLayer, DecoderLayer")
def bart_layers():
    from transformers import BartConfig
    from transformers.models.bart.modeling_bart import BartDecoderLayer, BartEncoderLayer

    config = BartConfig(**SIZES)
    X, Y, mask = some(BATCH, M, D), some(BATCH, N, D), padded_mask()
    theirs, ours = redrawn(BartEncoderLayer(config)), EncoderLayer(D, H, FF)
    put_bart_layer(ours, theirs)
    yield ours(X, mask)[0], first(theirs(X, additive(mask.expand(-1, M, -1))))
    theirs, ours = redrawn(BartDecoderLayer(config, layer_idx=0)), DecoderLayer(D, H, FF)
    put_bart_layer(ours, theirs)
    causal = additive(causal_mask(N).expand(BATCH, N, N))
    want = theirs(
        Y, causal, encoder_hidden_states=X, encoder_attention_mask=additive(mask.expand(-1, N, -1)), use_cache=False
    )
    yield ours(Y, X, causal_mask(N), mask)[0], first(want)


@compares("transformers", "MBart's encoder layer", 'EncoderLayer(norm="pre")')
def mbart_layer():
    from transformers import MBartConfig
    from transformers.models.mbart.modeling_mbart import MBartEncoderLayer

    theirs, ours = redrawn(MBartEncoderLayer(MBartConfig(**SIZES))), EncoderLayer(D, H, FF, norm="pre")
    put_bart_layer(ours, theirs)
    X, mask = some(BATCH, M, D), padded_mask()
    yield ours(X, mask)[0], first(theirs(X, additive(mask.expand(-1, M, -1))))


def first(output: Tensor | tuple) -> Tensor:
    return output[0] if isinstance(output, tuple) else output


@compares("transformers", "BertLayer", "EncoderLayer", "with ReLU for GELU, and ε = 1e-5 for 1e-12")
def bert_layer():
    from transformers import BertConfig
    from transformers.models.bert.modeling_bert import BertLayer

    config = BertConfig(
        hidden_size=D,
        num_attention_heads=H,
        intermediate_size=FF,
        hidden_act="relu",
        layer_norm_eps=1e-5,
        attn_implementation="eager",
    )
    theirs, ours = redrawn(BertLayer(config)), EncoderLayer(D, H, FF)
    own, out = theirs.attention.self, theirs.attention.output
    put_attention(ours.self_attention, own.query, own.key, own.value, out.dense)
    put(ours.feed_forward.W_1, theirs.intermediate.dense.weight, theirs.intermediate.dense.bias)
    put(ours.feed_forward.W_2, theirs.output.dense.weight, theirs.output.dense.bias)
    for residual, norm in zip(ours.residuals, (out.LayerNorm, theirs.output.LayerNorm)):
        put(residual.norm, norm.weight, norm.bias)
    X, mask = some(BATCH, M, D), padded_mask()
    yield ours(X, mask)[0], first(theirs(X, additive(mask.expand(-1, M, -1))))


@compares("transformers", "GPT2Attention", "MultiHeadAttention", "one matrix for all three there, not transposed")
def gpt2_attention():
    from transformers import GPT2Config
    from transformers.models.gpt2.modeling_gpt2 import GPT2Attention

    config = GPT2Config(n_embd=D, n_head=H, attn_pdrop=0.0, resid_pdrop=0.0, attn_implementation="eager")
    theirs, ours = redrawn(GPT2Attention(config, layer_idx=0)), MultiHeadAttention(D, H)
    weights, biases = theirs.c_attn.weight.T.chunk(3), theirs.c_attn.bias.chunk(3)
    for mine, weight, bias in zip((ours.W_Q, ours.W_K, ours.W_V), weights, biases):
        put(mine, weight, bias)
    put(ours.W_O, theirs.c_proj.weight.T, theirs.c_proj.bias)
    X = some(BATCH, N, D)
    mask = causal_mask(N).expand(BATCH, N, N)
    yield ours(X, X, X, causal_mask(N))[0], theirs(X, attention_mask=additive(mask))[0]


@compares("transformers", "GPT-J's rotary positions", "rotary")
def gptj_rotary():
    from transformers.models.gptj.modeling_gptj import apply_rotary_pos_emb, create_sinusoidal_positions

    X = some(BATCH, N, H, 8)
    sin, cos = create_sinusoidal_positions(N, 8).double().chunk(2, dim=-1)
    want = apply_rotary_pos_emb(X, sin[None], cos[None])
    yield rotary(X.transpose(1, 2)).float(), want.transpose(1, 2).float()  # their table has single precision


@compares("transformers", "Llama's rotary positions", "rotary", "its pairs are (i, i + d/2), ours (2i, 2i + 1)")
def llama_rotary():
    from transformers.models.llama.modeling_llama import apply_rotary_pos_emb

    X = some(BATCH, H, N, 8)
    half = torch.cat([X[..., 0::2], X[..., 1::2]], dim=-1)
    turn = torch.arange(N)[:, None] * 10_000.0 ** (-torch.arange(0, 8, 2) / 8)
    angles = torch.cat([turn, turn], dim=-1)[None]
    want, _ = apply_rotary_pos_emb(half, half, angles.cos(), angles.sin())
    got = rotary(X)
    yield torch.cat([got[..., 0::2], got[..., 1::2]], dim=-1), want


@compares("transformers", "Marian's sinusoids", "sinusoidal_encoding", "all sines before all cosines there")
def marian_positions():
    from transformers.models.marian.modeling_marian import MarianSinusoidalPositionalEmbedding

    want = MarianSinusoidalPositionalEmbedding(50, D).create_weight()
    got = sinusoidal_encoding(50, D)
    yield torch.cat([got[:, 0::2], got[:, 1::2]], dim=-1).float(), want.float()  # their table has single precision


@compares("transformers", "BLOOM's and MPT's ALiBi slopes", "alibi_bias", "1 to 24 heads, powers of two or not")
def alibi_slopes():
    from transformers.models.bloom.modeling_bloom import build_alibi_tensor
    from transformers.models.mpt.modeling_mpt import build_mpt_alibi_tensor

    for heads in range(1, 25):
        ours = alibi_bias(heads, 1, N)[:, 0]  # of the last query, from far to near
        bloom = build_alibi_tensor(torch.ones(1, N), heads, torch.float64).view(heads, N)
        yield ours.float(), (bloom - bloom[:, -1:]).float()  # theirs differs by a constant, which the softmax takes out
        if heads & (heads - 1) == 0:
            yield ours.float(), build_mpt_alibi_tensor(heads, N).view(heads, N).float()


@compares("transformers", "T5's buckets", "distance_buckets", "both directions and one")
def t5_buckets():
    from transformers.models.t5.modeling_t5 import T5Attention

    d = distances(200, 200)
    theirs = T5Attention._relative_position_bucket
    yield distance_buckets((-d).clamp(min=0)).double(), theirs(d, bidirectional=False).double()
    both = distance_buckets(d.abs(), 16) + 16 * (d > 0)
    yield both.double(), theirs(d, bidirectional=True).double()


@compares("transformers", "TopKLogitsWarper, TopPLogitsWarper", "filter_logits")
def warpers():
    from transformers import TopKLogitsWarper, TopPLogitsWarper

    for k, p in ((1, 0.1), (5, 0.5), (20, 0.95)):
        logits = some(200, 50)
        for ours, warper in (
            (filter_logits(logits, k, None), TopKLogitsWarper(k)),
            (filter_logits(logits, None, p), TopPLogitsWarper(p)),
        ):
            yield ours.softmax(-1), warper(None, logits).softmax(-1)


# ── labml.ai, subword-nmt ─────────────────────────────────


@compares("labml-nn", "MultiHeadAttention", "MultiHeadAttention", "positions before the batch there")
def labml_attention():
    from labml import tracker
    from labml_nn.transformers.mha import MultiHeadAttention as Theirs

    tracker.debug = lambda *_: None  # called by it, and gone from the package that it comes with
    theirs, ours = redrawn(Theirs(H, D, 0.0, bias=True)), MultiHeadAttention(D, H)
    put_attention(ours, theirs.query.linear, theirs.key.linear, theirs.value.linear, theirs.output)
    X, Y, mask = some(BATCH, N, D), some(BATCH, M, D), padded_mask().expand(-1, N, -1)
    want = theirs(query=X.transpose(0, 1), key=Y.transpose(0, 1), value=Y.transpose(0, 1), mask=mask.permute(1, 2, 0))
    yield ours(X, Y, Y, mask)[0], want.transpose(0, 1)


@compares("labml-nn", "FeedForward, get_positional_encoding", "FeedForward, sinusoidal_encoding")
def labml_parts():
    from labml_nn.transformers.feed_forward import FeedForward as Theirs
    from labml_nn.transformers.positional_encoding import get_positional_encoding

    theirs, ours = redrawn(Theirs(D, FF, 0.0)), FeedForward(D, FF)
    put(ours.W_1, theirs.layer1.weight, theirs.layer1.bias)
    put(ours.W_2, theirs.layer2.weight, theirs.layer2.bias)
    X = some(BATCH, N, D)
    yield ours(X), theirs(X)
    yield sinusoidal_encoding(50, D).float(), get_positional_encoding(D, 50)[:, 0].float()


@compares(
    "labml-nn", "LabelSmoothingLoss", "smoothed_targets", "it shares ε among the other words, two of them left out"
)
def labml_smoothing():
    from labml_nn.transformers.label_smoothing_loss import LabelSmoothingLoss

    words, targets = 9, torch.tensor([3, 5, 8])
    theirs = LabelSmoothingLoss(words, padding_idx=0, smoothing=0.1)
    theirs(some(3, words).log_softmax(-1), targets)
    ours = smoothed_targets(targets, words, 0.1 * words / (words - 2))
    keep = torch.ones(3, words).bool().scatter(1, targets[:, None], False)
    keep[:, 0] = False
    yield ours[keep], theirs.true_dist[keep].double()


@compares(
    "subword-nmt",
    "learn_bpe, BPE.segment",
    "apply_merges",
    "on its own merges: where pairs are equally frequent it learns another one first",
)
def subwords():
    from subword_nmt.apply_bpe import BPE
    from subword_nmt.learn_bpe import learn_bpe

    counts = {"lower": 13, "lowest": 7, "newer": 29, "newest": 17, "wider": 5, "widest": 3, "low": 41}
    learned = io.StringIO()
    learn_bpe(io.StringIO("\n".join(f"{word} {count}" for word, count in counts.items())), learned, 12, is_dict=True)
    learned.seek(0)
    merges = [tuple(line.replace("</w>", "·").split()) for line in learned.read().splitlines()[1:]]
    learned.seek(0)
    theirs = BPE(learned)
    for word in (*counts, "lowly", "newly", "wildest", "renew", "slower", "westend", "swindler"):
        pieces = [piece.removesuffix("·") for piece in apply_merges(word, merges)]
        same = pieces == [piece.removesuffix("@@") for piece in theirs.segment(word).split()]
        yield torch.tensor(float(same)), torch.tensor(1.0)


@compares("the paper", "equation 3 written out", "warmup_lr")
def schedule():
    for step in (1, 100, 4000, 4001, 100_000):
        want = 512**-0.5 * min(step**-0.5, step * 4000**-1.5)
        yield torch.tensor(warmup_lr(step, 512)), torch.tensor(want)
