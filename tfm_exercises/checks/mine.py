"""Judge of the exercise in `chapters/mine.md`."""

from functools import partial

import torch
import torch.nn.functional as F
from torch import Tensor

from tfm_exercises.judge import Mistake, Slip, exercise, told
from tfm_lib.transformer import Transformer, TransformerConfig

_FORBIDDEN = (
    *(f"tfm_lib.layers.{name}" for name in ("EncoderLayer", "DecoderLayer", "FeedForward", "LayerNorm", "Residual")),
    *(f"torch.nn.Transformer{name}" for name in ("", "Encoder", "EncoderLayer", "Decoder", "DecoderLayer")),
    *(f"torch.nn.{name}" for name in ("MultiheadAttention", "LayerNorm", "Linear", "Embedding")),
    "tfm_lib.transformer.Transformer",
)


@exercise("mine.from-weights", answer="logits", forbids=_FORBIDDEN)
def from_weights(student, expect):
    as_stored = r"mat1 and mat2 shapes cannot be multiplied \(\d+x8 and (12|11)x8\)"  # W_1, or the embedding
    too_deep = r"KeyError.*'(en|de)coder\.1\."  # the first machines have one layer
    answer = told(student.logits, {as_stored: _MISTAKES["stored"], too_deep: _TOO_DEEP})

    def logits(*case):
        full, (batch, n) = torch.as_tensor(answer(*case)), case[2].shape
        shapes = [Mistake(name, shape(batch, n), message) for name, shape, message in _SHAPES]
        expect.shape(full, (batch, n, 11), "logits for each place and word", shapes)
        return full[case[2] != 0]  # at padding, right answers differ

    short = [_case(3, 5, 5, 2, 1), _case(1, 4, 6, 4, 1), _case(3, 6, 4, 2, 1)]  # first m = n, where more mistakes run
    first, again = logits(*short[0]), logits(*short[0])
    expect.true(
        torch.allclose(first, again, equal_nan=True),
        "the same logits at each call",
        "A second call with the same arguments gives other logits. Something is drawn at random, perhaps a dropout.",
        "random",
    )
    padded = [_case(3, 6, 5, 4, 2, pad=2), _case(3, 4, 7, 2, 2, pad=1), _case(1, 7, 4, 2, 2, pad=2)]
    for inputs, holds, slips, tolerance in (
        (short, "one layer a side, no padding", _SLIPS, 1e-4),
        (padded, "two layers, and padding", _PADDED_SLIPS, 1e-4),
        ([_level(_case(2, 3, 4, 2, 1)), _level(_case(3, 4, 2, 4, 1))], "the norms' ε", _LEVEL_SLIPS, 1e-3),
        ([_case(1, 3, 2, 2, 11)], "eleven layers a side", _DEEP_SLIPS, 1e-3),
    ):
        expect.agrees(logits, _reference, inputs, holds, slips, tolerance, "the logits of the target's words")


def _model(n_heads: int, n_layers: int) -> Transformer:
    return Transformer(TransformerConfig(11, 8, n_heads, 12, n_layers, dropout=0.0, norm="pre", max_len=9))


def _case(batch: int, m: int, n: int, n_heads: int, n_layers: int, pad: int = 0) -> tuple:
    """Weights drawn at random, also of norms and biases; source and target ids; the number of heads."""
    shapes = {name: W.shape for name, W in _model(n_heads, n_layers).state_dict().items()}
    weights = {name: torch.randn(shape) / 2 + name.endswith("gain") for name, shape in shapes.items()}
    src_ids, tgt_ids = torch.randint(1, 11, (batch, m)), torch.randint(1, 11, (batch, n))
    src_ids[0, m - pad :], tgt_ids[-1, n - pad :] = 0, 0
    return weights, src_ids, tgt_ids, n_heads


def _level(case: tuple) -> tuple:
    """The case with a first word that its position nearly cancels, so that the ε of the first norms counts."""
    weights, src_ids, tgt_ids, n_heads = case
    E = weights["embedding.tokens.weight"]
    E[1] = (3e-3 * torch.randn(8) - torch.tensor([0.0, 1.0]).repeat(4)) / 8**0.5
    src_ids[:, 0], tgt_ids[:, 0] = 1, 1
    return weights, src_ids, tgt_ids, n_heads


def _depth(weights: dict[str, Tensor]) -> int:
    return sum(name.endswith("cross_attention.W_O.bias") for name in weights)


def _reference(weights: dict[str, Tensor], src_ids: Tensor, tgt_ids: Tensor, n_heads: int) -> Tensor:
    model = _model(n_heads, _depth(weights)).double()
    model.load_state_dict(weights)
    return model(src_ids, tgt_ids)[tgt_ids != 0]


class _Flawed:
    """The machine with `flaws`, words separated by spaces: `rms`, `post:decoder` at one place only, `base=1000` a value."""

    def __init__(self, flaws: str, weights: dict[str, Tensor], n_heads: int):
        self.flaws, self.weights, self.E = flaws.split(), weights, weights["embedding.tokens.weight"]
        self.values = dict(flaw.split("=") for flaw in self.flaws if "=" in flaw)
        self.d_model = self.E.shape[1]
        self.n_heads = 1 if self.has("one-head") else self.d_model // n_heads if self.has("d_k-heads") else n_heads

    def has(self, flaw: str, side: str = "", kind: str = "") -> bool:
        """Whether the machine has the `flaw`, here if it is one of a place."""
        return any(flaw + place in self.flaws for place in ("", f":{side}", f":{kind}", f":{side}.{kind}"))

    def number(self, name: str, usual: float) -> float:
        return float(self.values.get(name, usual))

    def linear(self, name: str, X: Tensor) -> Tensor:
        at, _, matrix = name.rpartition(".")
        matrix = self.values.get(f"matrix:{matrix}", matrix)
        if not matrix:
            return X
        W, b = self.weights[f"{at}.{matrix}.weight"], self.weights[f"{at}.{matrix}.bias"]
        W = W if self.has("stored") and len(W) == W.shape[1] else W.T
        return X @ W + (0 if self.has("unbiased", matrix) else b)

    def norm(self, name: str, X: Tensor) -> Tensor:
        name = self.values.get(f"norm:{name}", name)
        if not name:
            return X
        axes = {"": [2], "words": [1], "all": [1, 2]}[self.values.get("over", "")]
        mean = 0 if self.has("rms") else X.mean(axes, keepdim=True)
        variance, eps = (X - mean).square().mean(axes, keepdim=True), self.number("eps", 1e-5)
        variance = variance * (self.d_model / (self.d_model - 1) if self.has("std") else 1)
        spread = (
            variance.sqrt() + eps if self.has("outside") else (variance + eps) ** (1 if self.has("variance") else 0.5)
        )
        gain, bias = (self.weights[f"{name}.{part}"] for part in ("gain", "bias"))
        gain, bias = (bias, gain) if self.has("gain-bias") else (gain + self.has("gain-1"), bias)
        return (X - mean) / spread * (1 if self.has("no-gain") else gain) + (0 if self.has("no-bias") else bias)

    def heads(self, Z: Tensor) -> Tensor:
        if self.has("cut"):
            return Z.reshape(len(Z), self.n_heads, Z.shape[1], -1)
        if self.has("interleaved"):
            return Z.unflatten(2, (-1, self.n_heads)).permute(0, 3, 1, 2)
        return Z.unflatten(2, (self.n_heads, -1)).transpose(1, 2)

    def attend(self, name: str, X: Tensor, H: Tensor, mask: Tensor) -> Tensor:
        Q, K, V = (self.heads(self.linear(f"{name}.{W}", Z)) for W, Z in (("W_Q", X), ("W_K", H), ("W_V", H)))
        width = self.d_model if self.has("wide") else Q.shape[-1]
        scores, axis = Q @ K.mT / width ** self.number("power", 0.5), int(self.number("axis", -1))
        if self.has("after"):
            A = scores.softmax(axis) * mask
        else:
            A = scores.masked_fill(~mask, self.number("fill", -torch.inf)).softmax(axis)
        found = (A.nan_to_num(0) if self.has("zero") else A) @ V
        found = found.permute(0, 2, 3, 1) if self.has("joined-apart") else found.transpose(1, 2)
        return self.linear(f"{name}.W_O", (found.transpose(1, 2) if self.has("joined") else found).reshape(X.shape))

    def feed_forward(self, name: str, X: Tensor) -> Tensor:
        hidden = self.linear(f"{name}.W_1", X)
        hidden = hidden if self.has("linear") else getattr(F, self.values.get("bend", "relu"))(hidden)
        X = self.linear(f"{name}.W_2", hidden)
        return X.relu() if self.has("relu-last") else X

    def embed(self, side: str, ids: Tensor) -> Tensor:
        d = self.d_model
        pairs = torch.arange(d // 2)
        sines = pairs / {"": d / 2, "half": d, "last": d / 2 - 1}[self.values.get("exponent", "")]
        cosines = sines + (1 / d if self.has("odd") else 0)
        places, base = torch.arange(ids.shape[1])[:, None] + self.number("start", 0), self.number("base", 10000)
        turned = [places * base**e if self.has("growing") else places / base**e for e in (sines, cosines)]
        P = torch.stack([turned[0].sin(), turned[1].cos()], dim=-1)
        P = P.flip(-1) if self.has("cosine-first") else P.mT if self.has("halves") else P
        P = P.flatten(1) * (not self.has("nowhere", side))
        length = 1 if self.has("short", side) else d ** self.number("length", 0.5)
        X = (self.E[ids] + P) * length if self.has("sum") else self.E[ids] * length + P
        X = F.layer_norm(X, (d,)) * (1 - self.has("embedding-std") / d) ** 0.5 if self.has("embedding-norm") else X
        return X / d**0.5 if self.has("all-short") else X

    def sublayer(self, place: tuple, r: int | str, X: Tensor, H: Tensor | None, mask: Tensor | None) -> Tensor:
        """What comes out of one sub-layer and its sum; `place` is the side, the layer and the kind, `r` the norm's number."""
        side, i, kind = place
        around, post = f"{side}.{i}.residuals.{r}.norm", self.has("post", side, kind)
        Z = (
            X
            if post or any(self.has(flaw, side, kind) for flaw in ("unnormed", "normed-change"))
            else self.norm(around, X)
        )
        side_of, kind_of = self.values.get(f"weights:{side}.{kind}", f"{side}.{kind}").split(".")
        at = f"{side_of}.{i}.{kind_of}"
        if mask is None:
            change = self.feed_forward(at, Z)
        else:
            H = Z if H is None else self.norm(around, H) if self.has("memory-normed") else H
            change = self.attend(at, *((H, Z) if self.has("exchanged", kind) else (Z, H)), mask)
        change = self.norm(around, change) if self.has("normed-change", side, kind) else change
        if not self.has("no-residual", side, kind):
            change = change + (Z if self.has("around", side, kind) else X)
        return self.norm(around, change) if post else change

    def stack(self, side: str, ids: Tensor, looks: dict[str, tuple]) -> Tensor:
        X, usual = self.embed(side, ids), [*looks, "feed_forward"]
        kinds = self.values[f"order:{side}"].split(",") if f"order:{side}" in self.values else usual
        layers = range(int(min(_depth(self.weights), self.number("most", 99))))
        for i in reversed(layers) if self.has("reversed", side) else layers:
            for k, kind in enumerate(kinds):
                if not self.has("left-out", side, kind):
                    k = usual.index(kind) if self.has("own-norms") else k
                    place, r = (side, 0 if self.has("again", side) else i, kind), self.values.get(f"norm:{side}.{k}", k)
                    X = self.sublayer(place, r, X, *looks.get(kind, (None, None)))
            X = self.norm(f"{side}_norm", X) if self.has("norm-each", side) else X
        return X if self.has("norm-each", side) else self.norm(f"{side}_norm", X)

    def masks(self, src_ids: Tensor, tgt_ids: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """The masks of the encoder, of the decoder and of cross-attention."""
        src, tgt = ((ids > self.number("padding", 0))[:, None, None, :] for ids in (src_ids, tgt_ids))
        src = src[:1].expand_as(src) if self.has("first-sentence") else ~src if self.has("inverted") else src
        square, diagonal = torch.ones(2 * tgt.shape[-1:]).bool(), int(self.number("diagonal", 0))
        past = square.triu(diagonal) if self.has("transposed") else square.tril(diagonal)
        own = (past | self.has("future")) & (tgt & tgt.mT if self.has("rows") else True)
        encoder = src.mT if self.has("queries") else src | self.has("seen", "encoder")
        if self.has("causal-encoder"):
            encoder = encoder & torch.ones(2 * src.shape[-1:]).tril().bool()
        cross = src & past if self.has("causal-cross") else src | self.has("seen", "cross")
        cross = torch.ones(1).bool() if self.has("free-asker") else past if self.has("causal-asker") else cross
        return encoder, own, cross

    def logits(self, src_ids: Tensor, tgt_ids: Tensor) -> Tensor:
        words = tgt_ids != 0
        if "shifted" in self.values:
            tgt_ids = F.pad(tgt_ids[:, :-1], (1, 0), value=self.number("shifted", 0))
        encoder, own, cross = self.masks(src_ids, tgt_ids)
        memory = self.stack("encoder", src_ids, {"self_attention": (None, encoder)})
        memory = self.embed("encoder", src_ids) if self.has("embedded") else memory
        memory = self.norm("encoder_norm", memory) if self.has("norm-twice") else memory
        looks = {"self_attention": (None, own), "cross_attention": (None if self.has("asker") else memory, cross)}
        Y = self.stack("decoder", tgt_ids, looks) @ self.E.T * self.d_model ** self.number("times", 0)
        return (getattr(Y, self.values["out"])(dim=-1) if "out" in self.values else Y)[words]


def _flawed(flaws: str, weights: dict[str, Tensor], src_ids: Tensor, tgt_ids: Tensor, n_heads: int) -> Tensor:
    return _Flawed(flaws, weights, n_heads).logits(src_ids, tgt_ids)


_SHAPES = [
    ("no logits", lambda b, n: (b, n, 8), "You return the decoder's vectors. Which matrix comes after them?"),
    (
        "last place only",
        lambda b, n: (b, 1, 11),
        "You return the logits of one place. Every place of the target has its own.",
    ),
    (
        "last place only",
        lambda b, n: (b, 11),
        "You return the logits of one place. Every place of the target has its own.",
    ),
    ("first sentence only", lambda b, n: (1, n, 11), "You return one sentence. The batch holds several."),
    ("first sentence only", lambda b, n: (n, 11), "You return one sentence. The batch holds several."),
    (
        "axes exchanged",
        lambda b, n: (b, 11, n),
        "Your last two axes are exchanged: the words of the vocabulary come last.",
    ),
]
_TOO_DEEP = (
    "a fixed number of layers",
    "You look for a layer that these weights don't have. Count the layers by the names, and from 0.",
)
_PLACES = {
    "encoder.self_attention": "the encoder's self-attention",
    "encoder.feed_forward": "the encoder's feed-forward network",
    "decoder.self_attention": "the decoder's self-attention",
    "decoder.cross_attention": "the cross-attention",
    "decoder.feed_forward": "the decoder's feed-forward network",
    "encoder": "all sub-layers of the encoder",
    "decoder": "all sub-layers of the decoder",
    "self_attention": "both self-attentions",
    "feed_forward": "both feed-forward networks",
}
_OTHER_BEND = "Between its two matrices, your feed-forward network has another function than the paper's."
_OTHER_FILL = "Hidden scores keep some weight in your softmax. Which number makes their weight exactly 0?"
_ORDER = "The sub-layers of your {} come in another order than in the paper's figure 1."
_ONE_NORM = (
    "Several sub-layers of a layer use the same norm. Look at the numbers in the names residuals.0, residuals.1 …"
)
_STRICT = "In your decoder a word does not see itself. Look at the diagonal of the causal mask."
_QUERIES = "Your padding mask of the source lies along the wrong axis: it hides what asks, not what is read."
_INVERTED = "Your padding mask is inverted: it hides the words of the source. Does True mean seen or hidden there?"
_HIDDEN_PAST = (
    "Your causal mask is inverted: it hides the past and the word itself. Does True mean seen or hidden there?"
)
_SHIFTED = "You shift the target before you read it. It comes in as the decoder should read it."

_MISTAKES = {  # seen with one layer a side and without padding
    "short": ("embedding not scaled", "Your word vectors are too short. What happens between look-up and positions?"),
    "short:encoder": (
        "source embedding not scaled",
        "Your source's word vectors are too short. The target's are right.",
    ),
    "short:decoder": (
        "target embedding not scaled",
        "Your target's word vectors are too short. The source's are right.",
    ),
    "length=1": (
        "embedding times d_model",
        "Your word vectors are too long. By what power of d_model are they scaled?",
    ),
    "length=-0.5": ("embedding divided", "You divide the word vectors. The text scales them the other way."),
    "sum": (
        "positions scaled too",
        "Your positions are scaled together with the word vectors. Which of them is scaled?",
    ),
    "all-short": (
        "sum divided",
        "You scale the sum of word vectors and positions down. Only the word vectors are scaled.",
    ),
    **{
        f"embedding-norm{by}": (
            "embedding normed",
            "You normalise the embedding too. The first norm is in front of the first sub-layer.",
        )
        for by in ("", " embedding-std")
    },
    "nowhere": ("no positions", "Your logits don't depend on where a word stands. What else does the embedding do?"),
    "nowhere:encoder": ("no positions in the source", "Only your target has positions. The source needs them too."),
    "nowhere:decoder": ("no positions in the target", "Only your source has positions. The target needs them too."),
    "halves": ("sines before cosines", "Your positions hold all sines, then all cosines. Look at their order again."),
    "cosine-first": (
        "sine and cosine exchanged",
        "In each pair of your positions the cosine comes first. See the formula.",
    ),
    "start=1": ("positions from 1", "Your positions begin at 1. The first word stands at 0."),
    "base=1000": ("base 1000", "Your positions turn too fast: look at the large number in their formula."),
    "base=100000": ("base 100000", "Your positions turn too slowly: look at the large number in their formula."),
    "growing": (
        "frequencies grow",
        "Your frequencies grow from pair to pair, and should fall. Look at the exponent's sign.",
    ),
    "exponent=half": (
        "exponent halved",
        "Your frequencies fall too slowly. Is the exponent 2i/d_model, with i for the pair?",
    ),
    "odd": ("own exponent for the cosine", "Sine and cosine of a pair have different frequencies in your positions."),
    "exponent=half odd": (
        "another exponent",
        "Your frequencies are off. Each pair i has one, with 2i in its exponent.",
    ),
    "exponent=last": (
        "exponent over d/2 − 1",
        "Your lowest frequency is 1/10000. In the paper the last exponent stays below 1.",
    ),
    "post": ("post-norm", "You normalise behind the sub-layers. Where does a pre-norm machine do it?"),
    "post norm:encoder_norm= norm:decoder_norm=": (
        "post-norm",
        "You normalise behind the sub-layers, and not at the end. Where does pre-norm do it?",
    ),
    "post:encoder": (
        "post-norm in the encoder",
        "Your encoder normalises behind its sub-layers; your decoder is right.",
    ),
    "post:encoder norm:encoder_norm=": (
        "post-norm in the encoder",
        "Your encoder normalises behind its sub-layers, and not at its end; your decoder is right.",
    ),
    "post:decoder": (
        "post-norm in the decoder",
        "Your decoder normalises behind its sub-layers; your encoder is right.",
    ),
    "post:decoder norm:decoder_norm=": (
        "post-norm in the decoder",
        "Your decoder normalises behind its sub-layers, and not at its end; your encoder is right.",
    ),
    "normed-change": ("norm of the change", "You normalise what a sub-layer gives. Pre-norm normalises what it reads."),
    "around": ("normed residual", "You add each change to the normed vectors. Which vectors go around a sub-layer?"),
    "unnormed": (
        "no norms in the layers",
        "Your sub-layers read vectors that are not normed. What are `residuals.0.norm` … for?",
    ),
    "no-residual": ("no residual", "Each of your sub-layers replaces its input. What goes around it?"),
    **{
        f"no-residual:{at}": (f"no residual around {it}", f"The output of {it} replaces the input. What goes around?")
        for at, it in _PLACES.items()
    },
    **{
        f"around:{at}": (f"normed residual around {it}", f"Around {it}, you add the change to the normed vectors.")
        for at, it in _PLACES.items()
    },
    **{
        f"unnormed:{at}": (f"no norm before {it}", f"The norm in front of {it} is missing.")
        for at, it in _PLACES.items()
    },
    **{
        f"left-out:{at}": (f"without {it}", f"Your machine leaves out {it}. Count the sub-layers.")
        for at, it in _PLACES.items()
        if "_" in at  # without all, see "one layer too few"
    },
    "no-residual:self_attention no-residual:cross_attention": (
        "no residual around any attention",
        "The output of every attention replaces its input. What goes around?",
    ),
    "norm:encoder_norm=": ("no encoder_norm", "A step is missing between the encoder's last layer and the decoder."),
    "norm:decoder_norm=": ("no decoder_norm", "A step is missing between the decoder's last layer and the logits."),
    "norm:encoder_norm= norm:decoder_norm=": ("no final norms", "A step is missing after each of the two stacks."),
    "norm:encoder_norm=decoder_norm norm:decoder_norm=encoder_norm": (
        "final norms exchanged",
        "encoder_norm and decoder_norm have changed places. Each belongs after its own stack.",
    ),
    "norm:encoder_norm=decoder_norm": ("decoder_norm twice", "You use decoder_norm after the encoder too."),
    "norm:decoder_norm=encoder_norm": ("encoder_norm twice", "You use encoder_norm after the decoder too."),
    "norm-twice": ("memory normed twice", "The encoder's output goes through encoder_norm twice. Once is enough."),
    "norm:decoder.1=2 norm:decoder.2=1": (
        "decoder norms 1 and 2 exchanged",
        "In the decoder, residuals.1 and residuals.2 have changed places. They follow the order of the sub-layers.",
    ),
    "norm:decoder.0=1 norm:decoder.1=0": (
        "decoder norms 0 and 1 exchanged",
        "In the decoder, residuals.0 and residuals.1 have changed places. They follow the order of the sub-layers.",
    ),
    "norm:encoder.0=1 norm:encoder.1=0": (
        "encoder norms exchanged",
        "In the encoder, residuals.0 and residuals.1 have changed places. They follow the order of the sub-layers.",
    ),
    "norm:decoder.2=1": (
        "residuals.1 for the decoder's network",
        "The decoder's feed-forward network is its third sub-layer, and reads the norm of the second.",
    ),
    "norm:decoder.1=0": (
        "residuals.0 for cross-attention",
        "Your cross-attention reads the first norm. It is the second sub-layer.",
    ),
    "norm:decoder.1=0 norm:decoder.2=1": (
        "residuals.1 for the decoder's network",
        "In the decoder, the norms of the second and the third sub-layer are each one number too low.",
    ),
    "norm:encoder.1=0": ("one norm in the encoder", "Both sub-layers of your encoder use the same norm."),
    "norm:decoder.1=0 norm:decoder.2=0": (
        "one norm in the decoder",
        "All sub-layers of your decoder use the same norm.",
    ),
    "norm:encoder.1=0 norm:decoder.1=0 norm:decoder.2=0": ("one norm a layer", _ONE_NORM),
    "memory-normed": ("memory normed in the decoder", "Your cross-attention normalises the encoder's output again."),
    "std": ("n − 1 in the variance", "Your norm divides by d_model − 1. What does `std` do by default?"),
    "variance": ("divided by the variance", "Your norm divides by the variance. What does its formula divide by?"),
    "rms": ("mean not subtracted", "Your norm leaves the mean in. That is RMS norm, which this machine does not use."),
    "over=words": (
        "norm over the words",
        "Your norm takes mean and variance over the words, and should over the features.",
    ),
    "over=all": ("norm over words and features", "Your norm has one mean for all words. Each word has its own."),
    "no-gain": ("gain forgotten", "Your norm never uses its gain. What is it multiplied with?"),
    "no-bias": ("the norm's bias forgotten", "Your norm never uses its bias."),
    "no-gain no-bias": (
        "gain and bias forgotten",
        "Your norm stops after the division. It has two weights of its own.",
    ),
    "gain-1": ("1 + gain", "You add 1 to the gain. It is stored as it is used."),
    "gain-bias": ("gain and bias exchanged", "In your norm gain and bias have changed places: which one multiplies?"),
    **{f"eps={eps}": ("ε too large", "Your norms' ε is larger than the text says.") for eps in ("1e-3", "1e-4")},
    "power=0": ("scores not scaled", "Your scores are too large. Compare them with the formula of attention."),
    "power=1": ("scores divided by d_k", "You divide the scores by the width of a head, and so make them too small."),
    "power=-0.5": (
        "scores multiplied",
        "You multiply the scores by the root of a head's width. Look at the formula again.",
    ),
    "wide": ("scores scaled by d_model", "Your scores are too small. How wide are the vectors of one head?"),
    "axis=-2 zero": (
        "softmax over the queries",
        "Your softmax runs along the wrong axis: the weights of one query have sum 1.",
    ),
    "axis=1 zero": (
        "softmax over the heads",
        "Your softmax runs over the heads. The weights of one query, in one head, have sum 1.",
    ),
    "axis=1": ("softmax over the heads", "Your softmax runs over the heads, where all are hidden: that makes NaN."),
    "one-head": ("one head", "Your attention has one head, as wide as the model. Where does `n_heads` come in?"),
    "d_k-heads": (
        "n_heads taken for d_k",
        "Your heads are `n_heads` wide. It is their number; how wide are they then?",
    ),
    "interleaved": (
        "heads interleaved",
        "Your heads take every n-th feature. Each head has a block of neighbouring ones.",
    ),
    "interleaved joined-apart": (
        "heads interleaved",
        "Your heads take, and give back, every n-th feature, not a block each.",
    ),
    "joined-apart": (
        "heads joined alternately",
        "Joined again, the features of your heads alternate. Each head gives a block.",
    ),
    "cut": ("heads cut without a transpose", "Your heads mix several positions. Check the axes where you cut."),
    "joined": ("heads joined without a transpose", "Your heads are joined in a wrong order. Check the axes there."),
    "cut joined": ("heads by a view alone", "Your heads mix positions, cut and joined. Check the axes."),
    "stored": ("weights not transposed", "You use a matrix as it is stored. Compare it with the text's formula."),
    "matrix:W_O=": ("W_O forgotten", "The joined heads leave your attention as they are. Which matrix is missing?"),
    "matrix:W_V=": ("values not projected", "Your values are not projected. Which matrix is missing?"),
    "matrix:W_Q=": ("queries not projected", "Your queries are not projected. Which matrix is missing?"),
    "matrix:W_K=": ("keys not projected", "Your keys are not projected. Which matrix is missing?"),
    "matrix:W_V=W_K": ("values from W_K", "Your values are the keys. They have a matrix of their own."),
    "matrix:W_Q=W_K matrix:W_K=W_Q": ("W_Q and W_K exchanged", "Your queries come from W_K, and your keys from W_Q."),
    "matrix:W_K=W_V matrix:W_V=W_K": ("W_K and W_V exchanged", "Your keys come from W_V, and your values from W_K."),
    "unbiased": ("biases forgotten", "Your linear maps only multiply. Which of the weights do you never use?"),
    **{
        f"unbiased:{W}": (f"bias of {W} forgotten", f"The bias of {W} is missing.")
        for W in ("W_Q", "W_V", "W_O", "W_1", "W_2")
    },
    "unbiased:W_Q unbiased:W_V": (
        "biases of Q, K and V forgotten",
        "Queries, keys and values are missing their biases.",
    ),
    "unbiased:W_Q unbiased:W_V unbiased:W_O": ("attention's biases forgotten", "Your attention never uses its biases."),
    "unbiased:W_1 unbiased:W_2": ("the network's biases forgotten", "Your feed-forward network never uses its biases."),
    "linear": (
        "no ReLU",
        "Nothing stands between the two matrices of your feed-forward network. What keeps them apart?",
    ),
    "linear relu-last": ("ReLU at the end", "The ReLU comes behind your feed-forward network. It belongs inside."),
    "relu-last": ("ReLU twice", "Your feed-forward network has a second ReLU, at its end."),
    "bend=gelu": ("GELU", "Between its two matrices, your feed-forward network has GPT's function, not the paper's."),
    **{f"bend={bend}": ("another function", _OTHER_BEND) for bend in ("silu", "leaky_relu", "sigmoid", "tanh")},
    "future": ("no causal mask", "Target words see what follows them. Look at the decoder's self-attention."),
    "future causal-cross": (
        "causal mask in cross-attention",
        "The causal mask is in your cross-attention, and not where it belongs.",
    ),
    "causal-cross": (
        "causal cross-attention",
        "Your cross-attention hides the end of the source. Who may see what there?",
    ),
    "causal-encoder": (
        "causal encoder",
        "In your encoder a word sees only what comes before it. Which side needs the causal mask?",
    ),
    "transposed": (
        "causal mask transposed",
        "In your decoder a word sees itself and what follows, not what came before.",
    ),
    "diagonal=1": (
        "causal mask too generous",
        "In your decoder a word sees one place too far. Look at the diagonal of the mask.",
    ),
    **{f"diagonal=-1{fill}": ("causal mask too strict", _STRICT) for fill in ("", " fill=-1e9", " zero")},
    **{f"transposed diagonal=1{fill}": ("causal mask inverted", _HIDDEN_PAST) for fill in ("", " fill=-1e9", " zero")},
    **{
        f"inverted{fill}": ("padding mask inverted", _INVERTED)
        for fill in (" fill=-1e9", "", " zero", " fill=0", " after")
    },
    "fill=0": ("hidden scores set to 0", "You set hidden scores to 0, and exp(0) is 1. Which number has the weight 0?"),
    **{f"fill={fill}": ("hidden scores too large", _OTHER_FILL) for fill in (-1, -2, -5, -10, 1)},
    "after": ("masked after the softmax", "You hide weights behind the softmax, and what is left no longer has sum 1."),
    "asker": ("cross-attention sees the target", "Keys and values come from your decoder. See the paper's figure 1."),
    "asker causal-asker": (
        "cross-attention sees the target",
        "Keys and values of your cross-attention come from the decoder, with its mask. See the paper's figure 1.",
    ),
    "asker free-asker": (
        "cross-attention sees the target",
        "Keys and values of your cross-attention come from the decoder, unmasked. See the paper's figure 1.",
    ),
    "exchanged:cross_attention": (
        "cross-attention exchanged",
        "In your cross-attention the source asks. Which side needs an answer?",
    ),
    "weights:decoder.cross_attention=decoder.self_attention": (
        "self-attention's weights in cross-attention",
        "Your cross-attention uses the weights of self_attention. It has its own.",
    ),
    "weights:decoder.self_attention=decoder.cross_attention": (
        "cross-attention's weights in self-attention",
        "The decoder's self-attention uses the weights of cross_attention. It has its own.",
    ),
    "weights:decoder.self_attention=encoder.self_attention": (
        "the encoder's weights in the decoder's self-attention",
        "The decoder's self-attention uses the encoder's weights. Look at the names you put together.",
    ),
    "weights:decoder.feed_forward=encoder.feed_forward": (
        "the encoder's weights in the decoder's network",
        "The decoder's feed-forward network uses the encoder's weights. Look at the names you put together.",
    ),
    "embedded": (
        "cross-attention reads the embedding",
        "Your cross-attention reads the source's embedding. What has the encoder done?",
    ),
    **{
        f"order:{side}={kinds}{norms}": (f"another order in the {side}", _ORDER.format(side))
        for norms in ("", " own-norms")
        for side, kinds in (
            ("encoder", "feed_forward,self_attention"),
            ("decoder", "cross_attention,self_attention,feed_forward"),
            ("decoder", "self_attention,feed_forward,cross_attention"),
            ("decoder", "feed_forward,self_attention,cross_attention"),
        )
    },
    "left-out:decoder": (
        "one layer too few",
        "Your decoder misses a layer. The layers are counted from 0: how many are there?",
    ),
    "left-out:encoder": (
        "one layer too few in the encoder",
        "Your encoder misses a layer. The layers are counted from 0: how many are there?",
    ),
    "times=0.5": (
        "logits multiplied",
        "Your logits are too large by one factor. Nothing scales them after the last matrix.",
    ),
    "times=-0.5": (
        "logits divided",
        "Your logits are too small by one factor. Nothing scales them after the last matrix.",
    ),
    "out=softmax": ("probabilities", "Those are probabilities. The text asks for the numbers before that step."),
    "out=log_softmax": (
        "log-probabilities",
        "Those are logarithms of probabilities. The text asks for the numbers before.",
    ),
    **{f"shifted={start}": ("target shifted", _SHIFTED) for start in (0, 1, 2)},
    "padding=1": ("id 1 taken for padding", "Your mask hides the word with id 1. Which id is padding?"),
    "padding=2": ("id 2 taken for padding", "Your mask hides the words with ids 1 and 2. Which id is padding?"),
}
_PADDED_MISTAKES = {  # seen only with padding, or with two layers
    "seen:encoder": ("padding read by the encoder", "The encoder attends to padding. Look at its mask."),
    "seen:cross": (
        "padding read by the decoder",
        "The cross-attention attends to padding of the source. Look at its mask.",
    ),
    "seen": ("padding read by both", "Both sides attend to padding of the source. Where is it masked?"),
    "rows": ("rows without a key", "Your mask hides a whole row of scores, which makes NaN. Which rows are they?"),
    **{
        f"queries{fill}": ("padding mask on the queries", _QUERIES)
        for fill in (" fill=-1e9", "", " zero", " fill=-1e9 seen:cross")
    },
    "first-sentence": (
        "padding of the first sentence",
        "Every sentence loses as much as the first has padding. Each has its own.",
    ),
    "most=1": ("first layer only", "Only the first layer of each side counts. Look at the loop, and at its `return`."),
    "norm-each:encoder": (
        "encoder_norm in every layer",
        "You apply encoder_norm after every layer. It comes once, after the stack.",
    ),
    "norm-each:decoder": (
        "decoder_norm in every layer",
        "You apply decoder_norm after every layer. It comes once, after the stack.",
    ),
    "norm-each": (
        "final norms in every layer",
        "You apply the final norms after every layer. They come once, after each stack.",
    ),
    "reversed:encoder": ("encoder reversed", "The layers of your encoder run from the last to the first."),
    "reversed:decoder": ("decoder reversed", "The layers of your decoder run from the last to the first."),
    "reversed": ("layers reversed", "The layers of both sides run from the last to the first."),
    "again:encoder": ("encoder.0 in every layer", "Every layer of your encoder uses the weights of the first."),
    "again:decoder": ("decoder.0 in every layer", "Every layer of your decoder uses the weights of the first."),
    "again": ("layer 0 in every layer", "Every layer, on both sides, uses the weights of the first."),
}
_LEVEL_MISTAKES = {  # seen where the numbers of a vector are nearly equal
    "eps=0": (
        "no ε",
        "Where all features of a word are nearly equal, your norm is off: its ε is missing, or far too small.",
    ),
    "eps=1e-6": ("ε too small", "Your norms' ε is smaller than the text says."),
    "eps=1e-3": _MISTAKES["eps=1e-3"],
    "eps=1e-4": _MISTAKES["eps=1e-4"],
    "outside": ("ε outside the root", "Your norm adds ε to the root. It stands under the root, beside the variance."),
}
_DEEP_MISTAKES = {
    "most=10": (
        "depth from sorted names",
        'Of eleven layers you use ten. As texts, "9" comes after "10": compare numbers.',
    ),
}
_SLIPS, _PADDED_SLIPS, _LEVEL_SLIPS, _DEEP_SLIPS = (
    [Slip(name, partial(_flawed, flaws), message) for flaws, (name, message) in mistakes.items()]
    for mistakes in (_MISTAKES, _PADDED_MISTAKES, _LEVEL_MISTAKES, _DEEP_MISTAKES)
)
