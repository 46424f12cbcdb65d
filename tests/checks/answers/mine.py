"""Right and wrong answers to the exercise in `chapters/mine.md`."""


def _but(answer: str, old: str, new: str) -> str:
    """`answer` with `new` in the place of `old`; raises ValueError where there is no `old`."""
    if old not in answer:
        raise ValueError(f"The answer doesn't contain {old!r}.")
    return answer.replace(old, new)


FUSED = """
def sub(weights, start):
    return {name.removeprefix(start): W for name, W in weights.items() if name.startswith(start)}

def norm(p, X):
    return F.layer_norm(X, X.shape[-1:], p["gain"], p["bias"], eps=1e-5)

def linear(p, X):
    return F.linear(X, p["weight"], p["bias"])

def attention(p, X, M, n_heads, **mask):
    QKV = (linear(sub(p, name), Z) for name, Z in (("W_Q.", X), ("W_K.", M), ("W_V.", M)))
    QKV = (Z.view(*Z.shape[:2], n_heads, -1).transpose(1, 2) for Z in QKV)
    out = F.scaled_dot_product_attention(*QKV, **mask)
    return linear(sub(p, "W_O."), out.transpose(1, 2).reshape(X.shape))

def network(p, X):
    return linear(sub(p, "W_2."), F.relu(linear(sub(p, "W_1."), X)))

def embed(E, ids):
    width, place = E.shape[-1], torch.arange(ids.shape[1], dtype=torch.float32).unsqueeze(1)
    rate = torch.exp(torch.arange(0, width, 2) * (-math.log(10000.0) / width))
    table = torch.zeros(ids.shape[1], width)
    table[:, 0::2], table[:, 1::2] = torch.sin(place * rate), torch.cos(place * rate)
    return F.embedding(ids, E) * width**0.5 + table

def logits(weights, src_ids, tgt_ids, n_heads):
    E = weights["embedding.tokens.weight"]
    n_layers = 1 + max(int(name.split(".")[1]) for name in weights if name.startswith("encoder."))
    seen = src_ids.ne(0)[:, None, None]
    X, Y = embed(E, src_ids), embed(E, tgt_ids)
    for i in range(n_layers):
        p = sub(weights, f"encoder.{i}.")
        Z = norm(sub(p, "residuals.0.norm."), X)
        X = X + attention(sub(p, "self_attention."), Z, Z, n_heads, attn_mask=seen)
        X = X + network(sub(p, "feed_forward."), norm(sub(p, "residuals.1.norm."), X))
    memory = norm(sub(weights, "encoder_norm."), X)
    for i in range(n_layers):
        p = sub(weights, f"decoder.{i}.")
        Z = norm(sub(p, "residuals.0.norm."), Y)
        Y = Y + attention(sub(p, "self_attention."), Z, Z, n_heads, is_causal=True)
        Z = norm(sub(p, "residuals.1.norm."), Y)
        Y = Y + attention(sub(p, "cross_attention."), Z, memory, n_heads, attn_mask=seen)
        Y = Y + network(sub(p, "feed_forward."), norm(sub(p, "residuals.2.norm."), Y))
    Y = norm(sub(weights, "decoder_norm."), Y)
    return F.linear(Y, E)
"""

LOOPS = """
def logits(weights, src_ids, tgt_ids, n_heads):
    w, E = weights, weights["embedding.tokens.weight"]
    d = E.shape[1]

    def norm(name, X):
        mean, var = X.mean(1, keepdim=True), X.var(1, unbiased=False, keepdim=True)
        return (X - mean) / torch.sqrt(var + 1e-5) * w[name + ".gain"] + w[name + ".bias"]

    def linear(name, X):
        return X @ w[name + ".weight"].t() + w[name + ".bias"]

    def attend(name, X, M, causal=False):
        Q, K, V = linear(name + ".W_Q", X), linear(name + ".W_K", M), linear(name + ".W_V", M)
        heads = []
        for h in range(n_heads):
            own = slice(h * d // n_heads, (h + 1) * d // n_heads)
            scores = Q[:, own] @ K[:, own].t() / math.sqrt(d // n_heads)
            if causal:
                scores = scores + torch.full_like(scores, -math.inf).triu(1)
            heads.append(torch.softmax(scores, dim=1) @ V[:, own])
        return linear(name + ".W_O", torch.cat(heads, dim=1))

    def embed(ids):
        rates = [10000 ** (-2 * i / d) for i in range(d // 2)]
        rows = [[f(k * rate) for rate in rates for f in (math.sin, math.cos)] for k in range(len(ids))]
        return E[ids] * math.sqrt(d) + torch.tensor(rows)

    def think(name, Z):
        return linear(name + ".W_2", linear(name + ".W_1", Z).clamp(min=0))

    def around(name, X, sublayer):
        return X + sublayer(norm(name + ".norm", X))

    def one(src, tgt):
        X, i = embed(src[src != 0]), 0
        while f"encoder.{i}.feed_forward.W_1.bias" in w:
            at = f"encoder.{i}"
            X = around(at + ".residuals.0", X, lambda Z: attend(at + ".self_attention", Z, Z))
            X = around(at + ".residuals.1", X, lambda Z: think(at + ".feed_forward", Z))
            i += 1
        M, Y, i = norm("encoder_norm", X), embed(tgt), 0
        while f"decoder.{i}.feed_forward.W_1.bias" in w:
            at = f"decoder.{i}"
            Y = around(at + ".residuals.0", Y, lambda Z: attend(at + ".self_attention", Z, Z, causal=True))
            Y = around(at + ".residuals.1", Y, lambda Z: attend(at + ".cross_attention", Z, M))
            Y = around(at + ".residuals.2", Y, lambda Z: think(at + ".feed_forward", Z))
            i += 1
        return norm("decoder_norm", Y) @ E.t()

    return torch.stack([one(src, tgt) for src, tgt in zip(src_ids, tgt_ids)])
"""

LIBRARY = """
from tfm_lib.attention import attention
from tfm_lib.masking import causal_mask, combine, padding_mask
from tfm_lib.multihead import merge_heads, split_heads
from tfm_lib.positional import sinusoidal_encoding

class Machine:
    def __init__(self, weights, n_heads):
        self.weights, self.n_heads, self.E = weights, n_heads, weights["embedding.tokens.weight"]

    def linear(self, name, X):
        return torch.einsum("bni,oi->bno", X, self.weights[name + ".weight"]) + self.weights[name + ".bias"]

    def norm(self, name, X):
        variance, mean = torch.var_mean(X, dim=-1, correction=0, keepdim=True)
        gain, bias = self.weights[name + ".gain"], self.weights[name + ".bias"]
        return torch.addcmul(bias, (X - mean) * (variance + 1e-5).rsqrt(), gain)

    def attend(self, name, X, M, mask):
        QKV = (split_heads(self.linear(name + W, Z), self.n_heads) for W, Z in ((".W_Q", X), (".W_K", M), (".W_V", M)))
        return self.linear(name + ".W_O", merge_heads(attention(*QKV, mask.unsqueeze(1))[0]))

    def layer(self, name, X, *looks):
        for k, (kind, M, mask) in enumerate(looks):
            Z = self.norm(f"{name}.residuals.{k}.norm", X)
            X = X + self.attend(f"{name}.{kind}_attention", Z, Z if M is None else M, mask)
        Z = self.norm(f"{name}.residuals.{len(looks)}.norm", X)
        return X + self.linear(name + ".feed_forward.W_2", self.linear(name + ".feed_forward.W_1", Z).relu())

    def stack(self, side, ids, *looks):
        X = self.E[ids] * self.E.shape[1] ** 0.5 + sinusoidal_encoding(ids.shape[1], self.E.shape[1])
        for i in sorted({int(name.split(".")[1]) for name in self.weights if name.startswith(side + ".")}):
            X = self.layer(f"{side}.{i}", X, *looks)
        return self.norm(side + "_norm", X)

def logits(weights, src_ids, tgt_ids, n_heads):
    machine = Machine(weights, n_heads)
    seen, words = padding_mask(src_ids, 0), padding_mask(tgt_ids, 0)
    own = combine(causal_mask(tgt_ids.shape[1]), words)
    memory = machine.stack("encoder", src_ids, ("self", None, seen))
    return machine.stack("decoder", tgt_ids, ("self", None, own), ("cross", memory, seen)) @ machine.E.mT
"""

EINSUM = """
def logits(weights, src_ids, tgt_ids, n_heads):
    E = weights["embedding.tokens.weight"]
    v, d = E.shape

    def mapped(X, name):
        return torch.einsum("...i,oi->...o", X, weights[name + ".weight"]) + weights[name + ".bias"]

    def norm(X, name):
        X = X - X.mean(-1, keepdim=True)
        return weights[name + ".gain"] * X / ((X * X).sum(-1, keepdim=True) / d + 1e-5) ** 0.5 + weights[name + ".bias"]

    def attend(X, M, name, hidden):
        q, k, v = [mapped(Z, f"{name}.W_{which}") for Z, which in ((X, "Q"), (M, "K"), (M, "V"))]
        q, k, v = [Z.reshape(*Z.shape[:2], n_heads, d // n_heads) for Z in (q, k, v)]
        e = torch.exp(torch.einsum("bihk,bjhk->bhij", q, k) * (d / n_heads) ** -0.5) * hidden
        found = torch.einsum("bhij,bjhk->bihk", e / e.sum(-1, keepdim=True), v)
        return mapped(found.flatten(2), name + ".W_O")

    def run(X, side, looks, i=0):
        if f"{side}.{i}.residuals.0.norm.gain" not in weights:
            return norm(X, side + "_norm")
        for k, look in enumerate(looks):
            Z = norm(X, f"{side}.{i}.residuals.{k}.norm")
            X = X + look(Z, f"{side}.{i}.")
        return run(X, side, looks, i + 1)

    def feed(X, at):
        hidden = mapped(X, at + "feed_forward.W_1")
        return mapped(torch.where(hidden > 0, hidden, 0.0), at + "feed_forward.W_2")

    def embed(ids):
        k, j = torch.arange(ids.shape[1])[:, None], torch.arange(d)
        places = torch.sin(k / 10000 ** ((j - j % 2) / d) + j % 2 * math.pi / 2)
        return torch.einsum("bnv,vd->bnd", F.one_hot(ids, v).float(), E) * d**0.5 + places

    seen = (src_ids > 0).float()[:, None, None, :]
    past = torch.ones(2 * tgt_ids.shape[1:]).tril()
    H = run(embed(src_ids), "encoder", [lambda X, at: attend(X, X, at + "self_attention", seen), feed])
    own = lambda X, at: attend(X, X, at + "self_attention", past)
    Y = run(embed(tgt_ids), "decoder", [own, lambda X, at: attend(X, H, at + "cross_attention", seen), feed])
    return torch.einsum("bnd,vd->bnv", Y, E)
"""

RIGHT = {"mine.from-weights": {"fused": FUSED, "loops": LOOPS, "the library's parts": LIBRARY, "einsum": EINSUM}}

WRONG = {
    "mine.from-weights": {
        "embedding not scaled": _but(LOOPS, "E[ids] * math.sqrt(d)", "E[ids]"),
        "no positions": _but(EINSUM, " + places", ""),
        "scores not scaled": _but(FUSED, "*QKV, **mask", "*QKV, scale=1, **mask"),
        "weights not transposed": _but(LOOPS, """w[name + ".weight"].t()""", """w[name + ".weight"]"""),
        "heads cut without a transpose": _but(
            FUSED, "Z.view(*Z.shape[:2], n_heads, -1).transpose(1, 2)", "Z.view(len(Z), n_heads, Z.shape[1], -1)"
        ),
        "no causal mask": _but(LIBRARY, "combine(causal_mask(tgt_ids.shape[1]), words)", "words"),
        "no encoder_norm": _but(LOOPS, """norm("encoder_norm", X)""", "X"),
        "padding read by both": _but(LOOPS, "src[src != 0]", "src"),
        "padding read by the decoder": _but(FUSED, "memory, n_heads, attn_mask=seen", "memory, n_heads"),
        "cross-attention sees the target": _but(LIBRARY, """"cross", memory""", """"cross", None"""),
        "rows without a key": _but(EINSUM, ".tril()", ".tril() * (tgt_ids > 0)[:, None, :, None]"),
        "first layer only": _but(EINSUM, "return run(X, side, looks, i + 1)", """return norm(X, side + "_norm")"""),
        "probabilities": _but(FUSED, "return F.linear(Y, E)", "return (Y @ E.T).softmax(2)"),
        "no logits": _but(LIBRARY, " @ machine.E.mT", ""),
        "random": _but(FUSED, "F.relu(linear", "F.dropout(linear"),
        "last place only": _but(FUSED, "return F.linear(Y, E)", "return F.linear(Y, E)[:, -1]"),
        "first sentence only": _but(EINSUM, "Y, E)", "Y, E)[:1]"),
        "axes exchanged": _but(EINSUM, "bnd,vd->bnv", "bnd,vd->bvn"),
        "a fixed number of layers": _but(
            LIBRARY,
            """sorted({int(name.split(".")[1]) for name in self.weights if name.startswith(side + ".")})""",
            "range(6)",
        ),
        "depth from sorted names": _but(
            FUSED,
            """1 + max(int(name.split(".")[1]) for name in weights if name.startswith("encoder."))""",
            """1 + int(sorted(name for name in weights if name.startswith("encoder."))[-1].split(".")[1])""",
        ),
        "no ε": _but(FUSED, "eps=1e-5", "eps=1e-12"),
        "changes its input": _but(FUSED, "    n_layers =", "    E *= 1.0000001\n    n_layers ="),
        "forbidden": """
def logits(weights, src_ids, tgt_ids, n_heads):
    from tfm_lib.transformer import Transformer, TransformerConfig
    (v, d), d_ff = weights["embedding.tokens.weight"].shape, len(weights["encoder.0.feed_forward.W_1.bias"])
    n_layers = sum(name.endswith("cross_attention.W_O.bias") for name in weights)
    model = Transformer(TransformerConfig(v, d, n_heads, d_ff, n_layers, 0.0, "pre"))
    model.load_state_dict(weights)
    return model.eval()(src_ids, tgt_ids)
""",
    }
}

ALSO_WRONG = {
    "mine.from-weights": {
        "no residual around the encoder's self-attention": [_but(FUSED, "X = X + attention(sub", "X = attention(sub")],
        "no residual around the encoder's feed-forward network": [_but(FUSED, "X = X + network(", "X = network(")],
        "no residual around the cross-attention": [
            _but(
                LOOPS,
                """Y = around(at + ".residuals.1", Y, lambda Z:""",
                """Y = (lambda s: s(norm(at + ".residuals.1.norm", Y)))(lambda Z:""",
            )
        ],
        "no residual around the decoder's feed-forward network": [_but(FUSED, "Y = Y + network(", "Y = network(")],
        "no residual": [
            _but(LOOPS, "return X + sublayer(", "return sublayer("),
            _but(EINSUM, "X = X + look(", "X = look("),
        ],
        "post-norm": [
            _but(LOOPS, """X + sublayer(norm(name + ".norm", X))""", """norm(name + ".norm", X + sublayer(X))"""),
        ],
        "normed residual": [_but(EINSUM, "X = X + look(Z,", "X = Z + look(Z,")],
        "residuals.1 for the decoder's network": [_but(FUSED, "residuals.2.norm", "residuals.1.norm")],
        "one norm a layer": [_but(EINSUM, "residuals.{k}.norm", "residuals.0.norm")],
        "encoder_norm twice": [_but(LOOPS, """norm("decoder_norm", Y)""", """norm("encoder_norm", Y)""")],
        "causal mask too strict": [_but(LOOPS, "-math.inf).triu(1)", "-1e9).triu(0)")],
        "causal mask too generous": [_but(EINSUM, ".tril()", ".tril(1)")],
        "causal mask transposed": [_but(EINSUM, ".tril()", ".triu()")],
        "masked after the softmax": [
            _but(EINSUM, "* hidden\n", "\n").replace(
                "e / e.sum(-1, keepdim=True)", "e / e.sum(-1, keepdim=True) * hidden"
            )
        ],
        "padding mask inverted": [_but(FUSED, "src_ids.ne(0)", "src_ids.eq(0)")],
        "positions from 1": [_but(LOOPS, "for k in range(len(ids))", "for k in range(1, len(ids) + 1)")],
        "sine and cosine exchanged": [_but(LOOPS, "(math.sin, math.cos)", "(math.cos, math.sin)")],
        "base 1000": [_but(FUSED, "10000.0", "1000.0")],
        "frequencies grow": [_but(LOOPS, "10000 ** (-2 * i / d)", "10000 ** (2 * i / d)")],
        "no ReLU": [_but(LIBRARY, ", Z).relu()", ", Z)")],
        "W_O forgotten": [
            _but(EINSUM, """return mapped(found.flatten(2), name + ".W_O")""", "return found.flatten(2)")
        ],
        "one head": [
            _but(LOOPS, "heads = []", "heads, n_heads = [], 1").replace(
                "def attend(name, X, M, causal=False)", "def attend(name, X, M, causal=False, n_heads=1)"
            )
        ],
        "scores divided by d_k": [_but(LOOPS, "math.sqrt(d // n_heads)", "(d // n_heads)")],
        "ε too small": [_but(EINSUM, "1e-5", "1e-6")],
        "ε outside the root": [_but(LOOPS, "torch.sqrt(var + 1e-5)", "(torch.sqrt(var) + 1e-5)")],
        "n − 1 in the variance": [_but(LOOPS, "unbiased=False", "unbiased=True")],
        "log-probabilities": [_but(FUSED, "return F.linear(Y, E)", "return F.linear(Y, E).log_softmax(2)")],
        "layer 0 in every layer": [
            _but(EINSUM, """Z, f"{side}.{i}.")""", """Z, f"{side}.0.")""").replace(
                'norm(X, f"{side}.{i}.res', 'norm(X, f"{side}.0.res'
            )
        ],
        "forbidden": [
            _but(
                FUSED,
                """    return F.linear(X, p["weight"], p["bias"])""",
                """    layer = torch.nn.Linear(*p["weight"].T.shape)
    layer.load_state_dict(p)
    return layer.requires_grad_(False)(X)""",
            ),
            _but(FUSED, "F.embedding(ids, E)", "torch.nn.Embedding.from_pretrained(E)(ids)"),
        ],
    }
}
