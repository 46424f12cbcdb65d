"""Judge of the exercise in `chapters/mine.md`."""

from functools import partial

import torch
import torch.nn.functional as F
from torch import Tensor

from tfm_lib.checks.judge import Mistake, Slip, exercise, told
from tfm_lib.transformer import Transformer, TransformerConfig

_FORBIDDEN = (
    *(f"tfm_lib.layers.{name}" for name in ("EncoderLayer", "DecoderLayer", "FeedForward", "LayerNorm", "Residual")),
    *(f"torch.nn.Transformer{name}" for name in ("", "EncoderLayer", "DecoderLayer")),
    *("tfm_lib.transformer.Transformer", "torch.nn.MultiheadAttention", "torch.nn.LayerNorm"),
)


@exercise("mine.from-weights", answer="logits", forbids=_FORBIDDEN)
def from_weights(student, expect):
    as_stored = r"mat1 and mat2 shapes cannot be multiplied \(\d+x8 and (12|11)x8\)"  # W_1, or the embedding
    answer = told(student.logits, {as_stored: _MISTAKES["stored"]})

    def logits(*case):
        full, shape = torch.as_tensor(answer(*case)), case[2].shape
        vectors = Mistake("no logits", (*shape, 8), "You return the decoder's vectors. Which matrix comes after them?")
        expect.shape(full, (*shape, 11), "logits for each place and word", [vectors])
        return full[case[2] != 0]  # at padding, right answers differ

    short = [_case(3, 5, 5, 2, 1), _case(1, 4, 6, 4, 1), _case(3, 6, 4, 2, 1)]  # first m = n, where more mistakes run
    padded = [_case(3, 6, 5, 4, 2, pad=2), _case(3, 4, 7, 2, 1, pad=1), _case(1, 7, 4, 2, 2, pad=2)]
    for inputs, holds in ((short, "one layer a side, no padding"), (padded, "two layers, and padding")):
        expect.agrees(logits, _reference, inputs, holds, _SLIPS, 1e-4, "the logits of the target's words")


def _model(n_heads: int, n_layers: int) -> Transformer:
    return Transformer(TransformerConfig(11, 8, n_heads, 12, n_layers, dropout=0.0, norm="pre", max_len=9))


def _case(batch: int, m: int, n: int, n_heads: int, n_layers: int, pad: int = 0) -> tuple:
    """Weights drawn at random, also of norms and biases; source and target ids; the number of heads."""
    shapes = {name: W.shape for name, W in _model(n_heads, n_layers).state_dict().items()}
    weights = {name: torch.randn(shape) / 2 + name.endswith("gain") for name, shape in shapes.items()}
    src_ids, tgt_ids = torch.randint(1, 11, (batch, m)), torch.randint(1, 11, (batch, n))
    src_ids[0, m - pad :], tgt_ids[-1, n - pad :] = 0, 0
    return weights, src_ids, tgt_ids, n_heads


def _reference(weights: dict[str, Tensor], src_ids: Tensor, tgt_ids: Tensor, n_heads: int) -> Tensor:
    model = _model(n_heads, sum(name.endswith("cross_attention.W_O.bias") for name in weights)).double()
    model.load_state_dict(weights)
    return model(src_ids, tgt_ids)[tgt_ids != 0]


def _flawed(flaws: str, weights: dict[str, Tensor], src_ids: Tensor, tgt_ids: Tensor, n_heads: int) -> Tensor:
    """The machine with the `flaws`, words separated by spaces."""
    has, E = flaws.split().__contains__, weights["embedding.tokens.weight"]
    d_model, d_k = E.shape[1], E.shape[1] // n_heads

    def linear(name, X):
        W, b = weights[f"{name}.weight"], weights[f"{name}.bias"]
        return X @ (W if has("stored") and len(W) == W.shape[1] else W.T) + (0 if has("unbiased") else b)

    def norm(name, X):
        X = F.layer_norm(X, (d_model,)) * ((1 - 1 / d_model) ** 0.5 if has("std") else 1)
        return X * weights[f"{name}.gain"] + weights[f"{name}.bias"]

    def attend(name, X, H, mask):
        def heads(W, Z):
            Z = linear(f"{name}.{W}", Z)
            return Z.reshape(len(Z), n_heads, -1, d_k) if has("cut") else Z.unflatten(2, (n_heads, -1)).transpose(1, 2)

        H = X if H is None or has("asker") else H
        scores = heads("W_Q", X) @ heads("W_K", H).mT
        scores = scores / (1 if has("unscaled") else (d_model if has("wide") else d_k) ** 0.5)
        found = scores.masked_fill(~mask, -torch.inf).softmax(dim=-1) @ heads("W_V", H)
        return linear(f"{name}.W_O", (found if has("joined") else found.transpose(1, 2)).reshape(X.shape))

    def stack(side, ids, **looks):
        angles = torch.arange(ids.shape[1])[:, None] / 10000 ** (torch.arange(0, d_model, 2) / d_model)
        pairs = torch.stack([angles.sin(), angles.cos()], dim=-1) * (not has("nowhere"))
        X = E[ids] * (1 if has("short") else d_model**0.5) + (pairs.mT if has("halves") else pairs).flatten(1)
        for i in range(1 if has("first") else sum(name.endswith("cross_attention.W_O.bias") for name in weights)):
            for k, kind in enumerate([*looks, "feed_forward"]):
                at, around = f"{side}.{i}.{kind}", f"{side}.{i}.residuals.{k}.norm"
                Z = X if has("post") else norm(around, X)
                if kind in looks:
                    change = attend(at, Z, *looks[kind])
                else:
                    change = linear(f"{at}.W_2", (F.gelu if has("gelu") else F.relu)(linear(f"{at}.W_1", Z)))
                X = change if has(f"no-{kind}") else (Z if has("around") else X) + change
                X = norm(around, X) if has("post") else X
        return X if has(f"{side}_norm") else norm(f"{side}_norm", X)

    src, tgt = ((ids != 0)[:, None, None, :] for ids in (src_ids, tgt_ids))
    past = (torch.ones(2 * tgt.shape[-1:]).tril().bool() | has("future")) & (tgt & tgt.mT if has("rows") else True)
    H = stack("encoder", src_ids, self_attention=(None, src | has("encoder")))
    Y = stack("decoder", tgt_ids, self_attention=(None, past), cross_attention=(H, src | has("cross"))) @ E.T
    return (Y.softmax(dim=-1) if has("softmax") else Y)[tgt_ids != 0]


_MISTAKES = {
    "short": ("embedding not scaled", "Your word vectors are too short. What happens between look-up and positions?"),
    "nowhere": ("no positions", "Your logits don't depend on where a word stands. What else does the embedding do?"),
    "halves": ("sines before cosines", "Your positions hold all sines, then all cosines. Look at their order again."),
    "post": ("post-norm", "You normalise behind the sub-layers. Where does a pre-norm machine do it?"),
    "post encoder_norm decoder_norm": ("post-norm", "You normalise behind the sub-layers. Where does pre-norm do it?"),
    "around": ("normed residual", "You add each change to the normed vectors. Which vectors go around a sub-layer?"),
    "encoder_norm": ("no encoder_norm", "A step is missing between the encoder's last layer and the decoder."),
    "decoder_norm": ("no decoder_norm", "A step is missing between the decoder's last layer and the logits."),
    "std": ("n − 1 in the variance", "Your norm divides by d_model − 1. What does `std` do by default?"),
    "unscaled": ("scores not scaled", "Your scores are too large. Compare them with the formula of attention."),
    "wide": ("scores scaled by d_model", "Your scores are too small. How wide are the vectors of one head?"),
    "future": ("no causal mask", "Target words see what follows them. Look at the decoder's self-attention."),
    "encoder": ("padding read by the encoder", "The encoder attends to padding. Look at its mask."),
    "cross": ("padding read by the decoder", "The cross-attention attends to padding of the source. Look at its mask."),
    "encoder cross": ("padding read by both", "Both sides attend to padding of the source. Where is it masked?"),
    "asker": ("cross-attention sees the target", "Keys and values come from your decoder. See the paper's figure 1."),
    "cut": ("heads cut without a transpose", "Your heads mix several positions. Check the axes where you cut."),
    "joined": ("heads joined without a transpose", "Your heads are joined in a wrong order. Check the axes there."),
    "cut joined": ("heads by a view alone", "Your heads mix positions, cut and joined. Check the axes."),
    "stored": ("weights not transposed", "You use a matrix as it is stored. Compare it with the text's formula."),
    "unbiased": ("biases forgotten", "Your linear maps only multiply. Which of the weights do you never use?"),
    "first": ("first layer only", "Only the first layer of each side counts. Look at the loop, and at its `return`."),
    "gelu": ("GELU", "Between its two matrices, your feed-forward network has GPT's function, not the paper's."),
    "no-feed_forward": ("no residual of the network", "The feed-forward network replaces its input. Look around it."),
    "softmax": ("probabilities", "Those are probabilities. The text asks for the numbers before that step."),
    "rows": ("rows without a key", "Your mask hides a whole row of scores, which makes NaN. Which rows are they?"),
}
_SLIPS = [Slip(name, partial(_flawed, flaws), message) for flaws, (name, message) in _MISTAKES.items()]
