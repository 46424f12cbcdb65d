"""Judges of the exercises in `chapters/layers.md`."""

import torch
from torch import Tensor

from tfm_lib.checks.judge import Mistake, exercise


@exercise("layers.layer-norm", answer="layer_norm", forbids=("torch.nn.functional.layer_norm", "torch.layer_norm"))
def layer_norm(student, expect):
    X = torch.tensor([[1.0, 3, 3, 9], [2, 0, 2, 0], [-4, 5, 1, 2]])
    gain, bias, eps = torch.tensor([1.0, 2, 3, 4]), torch.tensor([0.0, 1, 0, -1]), 0.5
    want = _normed(X, gain, bias, eps)
    centred = X - X.mean(dim=-1, keepdim=True)
    variance = centred.square().mean(dim=-1, keepdim=True)
    down = X - X.mean(dim=0)
    over_all = X - X.mean()
    expect.close(
        student.layer_norm(X, gain, bias, eps),
        want,
        holds="each word has mean 0 and variance 1, then γ and β",
        describe="three words of four features with ε = 0.5",
        mistakes=[
            Mistake(
                "ε outside the root",
                gain * centred / (variance.sqrt() + eps) + bias,
                "Is your ε inside the root? It stands under it, beside the variance: √(σ² + ε). Outside, the root's "
                "slope at variance 0 is infinite, and the gradient of a word with equal features is NaN.",
            ),
            Mistake(
                "variance unbiased",
                gain * centred / (X.var(dim=-1, keepdim=True) + eps).sqrt() + bias,
                "Your variance divides by d − 1, which is the default of torch.var and torch.std. Layer normalisation "
                "takes the plain mean of the squares: divide by d, or say correction=0.",
            ),
            Mistake(
                "over the words",
                gain * down / (down.square().mean(dim=0) + eps).sqrt() + bias,
                "You took mean and variance of each feature over the words. That is batch normalisation, and lets the "
                "words see each other. Take them along the last axis, over the features of one word.",
            ),
            Mistake(
                "over everything",
                gain * over_all / (over_all.square().mean() + eps).sqrt() + bias,
                "You have one mean and one variance for all words together. Each word has its own: dim=-1, keepdim=True.",
            ),
            Mistake(
                "divided by the variance",
                gain * centred / (variance + eps) + bias,
                "You divided by the variance. The spread of a vector is its root: √(σ² + ε).",
            ),
            Mistake(
                "no ε",
                gain * centred / variance.sqrt() + bias,
                "Your answer does not depend on ε. Here it is 0.5, to be seen: it belongs under the root.",
            ),
            Mistake(
                "γ and β forgotten",
                centred / (variance + eps).sqrt(),
                "That is the first step. The second multiplies each feature by its γ and adds its β.",
            ),
        ],
    )
    X = torch.randn(2, 3, 4)
    expect.close(
        student.layer_norm(X, gain, bias, 1e-5),
        _normed(X, gain, bias, 1e-5),
        holds="also for a batch of sentences",
        describe="a batch of shape (2, 3, 4)",
    )
    flat = torch.full((1, 4), 7.0)
    expect.close(
        student.layer_norm(flat, gain, bias, 1e-5),
        bias[None],
        holds="equal features become β, and not NaN",
        describe="a word with equal features",
    )


@exercise("layers.two-places", answer="two_places")
def two_places(student, expect):
    X = torch.tensor([[1.0, 3, 3, 9], [2, 0, -2, 4]])

    def sublayer(X: Tensor) -> Tensor:
        return X.flip(-1) ** 2 / 4 - 1

    def norm(X: Tensor) -> Tensor:
        return _normed(X, torch.tensor(2.0), torch.tensor(0.5), 1e-5)

    post, pre = _pair(student.two_places(X, sublayer, norm), expect, "(post-norm, pre-norm)")
    want_post, want_pre = norm(X + sublayer(X)), X + sublayer(norm(X))
    expect.close(
        post,
        want_post,
        holds="post-norm: the norm of the sum",
        describe="the post-norm layer",
        mistakes=[
            Mistake(
                "the two swapped",
                want_pre,
                "The first of your pair is the pre-norm layer. Post-norm comes first: it normalises after the sum.",
            ),
            Mistake(
                "no residual",
                norm(sublayer(X)),
                "Your post-norm layer normalises what the sub-layer says, and X itself is lost. Add X before the norm.",
            ),
            Mistake(
                "norm of the change only",
                X + norm(sublayer(X)),
                "You normed what the sub-layer says and then added X. In post-norm the norm comes last, over the sum.",
            ),
            Mistake(
                "X and the change normed apart",
                norm(X) + norm(sublayer(X)),
                "You took the norm of each and added. The norm of a sum is not the sum of the norms: add first.",
            ),
        ],
    )
    expect.close(
        pre,
        want_pre,
        holds="pre-norm: X, plus what the sub-layer says to its norm",
        describe="the pre-norm layer",
        mistakes=[
            Mistake(
                "the normed X goes round",
                norm(X) + sublayer(norm(X)),
                "Your sum takes the normed X. In pre-norm the way round is free of norms: add X itself.",
            ),
            Mistake(
                "no residual in pre-norm",
                sublayer(norm(X)),
                "Your pre-norm layer returns what the sub-layer says, and X itself is lost. Add X.",
            ),
            Mistake(
                "norm after the sub-layer",
                X + norm(sublayer(X)),
                "You normed what the sub-layer says. Pre-norm norms what it hears: sublayer(norm(X)).",
            ),
            Mistake(
                "norm twice",
                norm(X + sublayer(norm(X))),
                "You normed before the sub-layer and after the sum. Pre-norm has the first of these only.",
            ),
        ],
    )


@exercise("layers.larger", answer="larger")
def larger(student, expect):
    found = student.larger()
    fits = isinstance(found, (tuple, list)) and len(found) == 4
    otherwise = "Expected four things, (W_1, b_1, W_2, b_2)."
    expect.true(fits, holds="four parameters come back", otherwise=otherwise)
    W_1, b_1, W_2, b_2 = (torch.as_tensor(part).float() for part in found)
    d_ff = b_1.numel()
    shapes = [tuple(part.shape) for part in (W_1, b_1, W_2, b_2)]
    wanted = [(2, d_ff), (d_ff,), (d_ff, 1), (1,)]
    turned = [(d_ff, 2), (d_ff,), (1, d_ff), (1,)]
    expect.true(
        shapes != turned or shapes == wanted,
        holds="four parameters come back",
        otherwise="Your matrices lie on their side, as nn.Linear keeps them. Here x stands on the left, xW_1, so W_1 is "
        "(2, d_ff) and W_2 is (d_ff, 1): transpose both.",
        mistake="matrices transposed",
    )
    expect.true(
        shapes == wanted,
        holds="their shapes fit together",
        otherwise=f"Expected shapes (2, d_ff), (d_ff,), (d_ff, 1) and (1,); got {', '.join(map(str, shapes))}.",
    )
    points = torch.tensor([[3.0, 1], [1, 3], [2, 2], [0, 0], [5, -2], [-2, 5], [-1, -4], [-4, -1], [0.5, -0.5]])
    a, b = points[:, :1], points[:, 1:]
    network = (points @ W_1 + b_1).clamp(min=0) @ W_2 + b_2
    expect.close(
        network,
        torch.maximum(a, b),
        holds="the larger of two, negative ones too",
        describe="nine pairs",
        mistakes=[
            Mistake(
                "negative numbers cut off",
                (a - b).clamp(min=0) + b.clamp(min=0),
                "Right where b is at least 0. A single unit max(0, b) loses b when it is negative: give −b a unit of its "
                "own and subtract it.",
            ),
            Mistake(
                "negative numbers cut off",
                (b - a).clamp(min=0) + a.clamp(min=0),
                "Right where a is at least 0. A single unit max(0, a) loses a when it is negative: give −a a unit of its "
                "own and subtract it.",
            ),
            Mistake(
                "each by itself",
                a.clamp(min=0) + b.clamp(min=0),
                "Your units look at a and at b one by one, and their sum is not the larger of the two. Which is larger "
                "can be seen from a − b.",
            ),
            Mistake(
                "the smaller",
                torch.minimum(a, b),
                "That is the smaller of the two. The larger is b + max(0, a − b), with plus signs.",
            ),
            Mistake(
                "only the difference",
                (a - b).clamp(min=0),
                "That is max(0, a − b), how much a is ahead. Add b, which has to pass the bend unharmed.",
            ),
            Mistake(
                "the sum of both",
                a + b,
                "That is a + b: your units let everything through, and nothing bends. One unit must see a − b.",
            ),
        ],
    )
    points = 10 * torch.randn(50, 2)
    network = (points @ W_1 + b_1).clamp(min=0) @ W_2 + b_2
    expect.close(
        network, points.amax(-1, keepdim=True), holds="and for 50 random pairs", describe="random pairs", tolerance=1e-4
    )


@exercise("layers.stack-slope", answer="stack_slope")
def stack_slope(student, expect):
    J = [
        torch.tensor([[0.0, 1], [0, 0]]),
        torch.tensor([[0.0, 0], [2, 0]]),
        torch.tensor([[1.0, 1], [0, -1]]),
    ]
    eye, ones = torch.eye(2), torch.ones(2, 2)
    up = [eye + j for j in J]
    expect.close(
        student.stack_slope(J),
        up[2] @ up[1] @ up[0],
        holds="three layers: (I + J₃)(I + J₂)(I + J₁)",
        describe="the slope of three layers",
        mistakes=[
            Mistake(
                "no residual",
                J[2] @ J[1] @ J[0],
                "You multiplied the J alone. Each layer adds to its input, so its Jacobian is I + J.",
            ),
            Mistake(
                "the wrong order",
                up[0] @ up[1] @ up[2],
                "Your order is turned round. The chain rule puts the outermost function on the left, and the outermost "
                "layer is the top one, J_L.",
            ),
            Mistake(
                "a sum in place of a product",
                eye + sum(J),
                "You added the J. That is what remains of the product when all J are tiny; the paths through two and "
                "more layers are missing.",
            ),
            Mistake(
                "1 in every entry",
                (J[2] + ones) @ (J[1] + ones) @ (J[0] + ones),
                "You added 1 to every entry, which is what `J + 1` does. The 1 is the identity matrix: ones on the "
                "diagonal only, torch.eye(d).",
            ),
            Mistake(
                "the residual once only",
                eye + J[2] @ J[1] @ J[0],
                "You added I once, round the whole stack. Each layer has a way round of its own.",
            ),
            Mistake(
                "transposed",
                (up[2] @ up[1] @ up[0]).T,
                "Rows and columns are swapped: entry [i, j] says how output i moves with input j.",
            ),
        ],
    )
    J = list(torch.randn(4, 3, 3))
    want = torch.linalg.multi_dot([torch.eye(3) + j for j in reversed(J)])
    expect.close(student.stack_slope(J), want, holds="also for four layers of width 3", tolerance=1e-4)
    expect.close(student.stack_slope(J[:1]), torch.eye(3) + J[0], holds="and for one")


@exercise("layers.decoder-layer", answer="decoder_layer")
def decoder_layer(student, expect):
    Y, memory = torch.randn(3, 4), torch.randn(5, 4)
    mix = torch.randn(3, 3).tril().softmax(-1)
    queries, keys = torch.randn(2, 4, 4)
    norms = [lambda X, k=k: _normed(X, torch.tensor(1.0 + k), torch.tensor(0.1 * k), 1e-5) for k in range(3)]

    def self_attend(Q: Tensor, K: Tensor, V: Tensor) -> Tensor:
        return mix[: len(Q), : len(K)] @ V + 0.3 * Q.cos() + 0.1 * K.mean(0)

    def cross_attend(Q: Tensor, K: Tensor, V: Tensor) -> Tensor:
        return (Q @ queries @ (K @ keys).T / 2).softmax(-1) @ V

    def feed_forward(X: Tensor) -> Tensor:
        return X.clamp(min=0) * 0.7 - 0.2

    parts = (self_attend, cross_attend, feed_forward, norms)

    def build(order=(0, 1, 2), cross=None, around_self=True, around_cross=True, around_think=True):
        first, second, third = (norms[k] for k in order)
        Z = first(Y)
        X = around_self * Y + self_attend(Z, Z, Z)
        said = cross_attend(second(X), memory, memory) if cross is None else cross(second, X)
        X = around_cross * X + said
        return around_think * X + feed_forward(third(X))

    post = norms[0](Y + self_attend(Y, Y, Y))
    post = norms[1](post + cross_attend(post, memory, memory))
    post = norms[2](post + feed_forward(post))
    expect.close(
        student.decoder_layer(Y, memory, *parts),
        build(),
        holds="three sub-layers, each reads a norm and adds to the sum",
        describe="the output of the layer",
        mistakes=[
            Mistake(
                "post-norm",
                post,
                "That is the paper's layer, with each norm after its sum. Here the norm comes first: the sub-layer reads "
                "norm(Y), and the sum takes Y itself.",
            ),
            Mistake(
                "the memory normed",
                build(cross=lambda norm, X: cross_attend(norm(X), norm(memory), norm(memory))),
                "You normed the memory as well. The norm of a decoder's sub-layer is for what the decoder carries; the "
                "memory comes from an encoder that has normed it already.",
            ),
            Mistake(
                "cross-attention to itself",
                build(cross=lambda norm, X: cross_attend(norm(X), norm(X), norm(X))),
                "Your cross-attention never looks at the memory. Its keys and values come from there.",
            ),
            Mistake(
                "cross-attention reads the bare sum",
                build(cross=lambda norm, X: cross_attend(X, memory, memory)),
                "Your cross-attention reads Y without a norm. In pre-norm every sub-layer reads a norm: norms[1].",
            ),
            Mistake(
                "one norm for all",
                build(order=(0, 0, 0)),
                "You used the first norm three times. Each sub-layer has its own, with γ and β of its own.",
            ),
            Mistake(
                "a residual left out",
                build(around_self=False),
                "There is no way round self-attention: add Y to what it says.",
            ),
            Mistake(
                "a residual left out",
                build(around_cross=False),
                "There is no way round cross-attention: what the decoder carried is replaced by what the memory says. "
                "Add it.",
            ),
            Mistake(
                "a residual left out",
                build(around_think=False),
                "There is no way round the feed-forward network: add what came before to what it says.",
            ),
        ],
        tolerance=1e-4,
    )


@exercise("layers.norm-backward", answer="norm_backward")
def norm_backward(student, expect):
    X = torch.tensor([[1.0, 3, 3, 9], [2, 0, -2, 4]])
    G = torch.tensor([[1.0, 0, 0, 2], [0, 1, 0, -1]])
    eps = 0.5
    centred = X - X.mean(dim=-1, keepdim=True)
    s = (centred.square().mean(dim=-1, keepdim=True) + eps).sqrt()
    Z = centred / s

    def mean(X: Tensor) -> Tensor:
        return X.mean(dim=-1, keepdim=True)

    want = (G - mean(G) - Z * mean(G * Z)) / s
    got = student.norm_backward(X, G, eps)
    expect.close(
        got,
        want,
        holds="the gradient of two words, with ε = 0.5",
        describe="the gradient of two words",
        mistakes=[
            Mistake(
                "μ and σ held fixed",
                G / s,
                "You took μ and σ for constants. They are made of X: moving one feature moves both, and with them every "
                "other output.",
            ),
            Mistake(
                "σ held fixed",
                (G - mean(G)) / s,
                "The mean is right, and σ is held fixed. Its derivative by x_j is z_j / d: a third term, with z, is "
                "missing.",
            ),
            Mistake(
                "μ held fixed",
                (G - Z * mean(G * Z)) / s,
                "σ is right, and μ is held fixed. Its derivative by each feature is 1/d: subtract the mean of G too.",
            ),
            Mistake(
                "not divided by σ",
                G - mean(G) - Z * mean(G * Z),
                "The bracket is right. All of it has to be divided by √(σ² + ε), as Z is.",
            ),
            Mistake(
                "sums in place of means",
                (G - G.sum(-1, keepdim=True) - Z * (G * Z).sum(-1, keepdim=True)) / s,
                "You took sums where the means belong: μ and σ² carry a 1/d each.",
            ),
            Mistake(
                "no ε",
                _backward(X, G, 0.0),
                "Right for ε = 0; here it is 0.5. It stands under the root in s, and so in Z.",
            ),
        ],
    )
    X, G = torch.randn(2, 3, 8), torch.randn(2, 3, 8)
    expect.close(
        student.norm_backward(X, G, 1e-5),
        _backward(X, G, 1e-5),
        holds="also for a batch of sentences",
        describe="a batch of shape (2, 3, 8)",
    )


def _normed(X: Tensor, gain: Tensor, bias: Tensor, eps: float) -> Tensor:
    centred = X - X.mean(dim=-1, keepdim=True)
    return gain * centred / (centred.square().mean(dim=-1, keepdim=True) + eps).sqrt() + bias


def _backward(X: Tensor, G: Tensor, eps: float) -> Tensor:
    centred = X - X.mean(dim=-1, keepdim=True)
    s = (centred.square().mean(dim=-1, keepdim=True) + eps).sqrt()
    Z = centred / s
    return (G - G.mean(dim=-1, keepdim=True) - Z * (G * Z).mean(dim=-1, keepdim=True)) / s


def _pair(answer, expect, names: str) -> tuple[Tensor, Tensor]:
    fits = isinstance(answer, (tuple, list)) and len(answer) == 2
    expect.true(fits, holds="a pair comes back", otherwise=f"Expected a pair, {names}.")
    return answer
