"""Judges of the exercises in `chapters/layers.md`."""

import math
from collections.abc import Callable
from functools import partial, wraps

import torch
from torch import Tensor

from tfm_exercises.judge import Expect, Mistake, Slip, exercise, told
from tfm_exercises.watching import copied


def _sizes(count: int, low: int, high: int) -> list[int]:
    """`count` different whole numbers from `low` to `high`."""
    return (torch.randperm(high - low + 1)[:count] + low).tolist()


def _mean(X: Tensor) -> Tensor:
    return X.mean(dim=-1, keepdim=True)


def _centred(X: Tensor) -> Tensor:
    return X - _mean(X)


def _variance(X: Tensor, correction: int = 0) -> Tensor:
    return X.var(dim=-1, keepdim=True, correction=correction)


# layer normalisation


def _normed(X: Tensor, gain: Tensor, bias: Tensor, eps: float) -> Tensor:
    return gain * _centred(X) / (_variance(X) + eps).sqrt() + bias


def _over(X: Tensor, gain: Tensor, bias: Tensor, eps: float, *, dims: tuple[int, ...]) -> Tensor:
    centred = X - X.mean(dim=dims, keepdim=True)
    return gain * centred / (centred.square().mean(dim=dims, keepdim=True) + eps).sqrt() + bias


def _flat(X: Tensor, gain: Tensor, bias: Tensor, eps: float, correction: int) -> Tensor:
    return gain * (X - X.mean(-1)) / (X.var(-1, correction=correction) + eps).sqrt() + bias


OVER_WORDS = (
    "You took mean and variance of each feature over the words. That is batch normalisation, and lets the "
    "words see each other. Take them along the last axis, over the features of one word."
)
OVER_ALL = "You have one mean and one variance for several words together. Each word has its own: dim=-1, keepdim=True."


def _normed_over(X: Tensor, axes: list[int], eps: float) -> Tensor:
    """`X` with mean 0 and variance 1 over `axes`."""
    centred = X - X.mean(axes, keepdim=True)
    return centred / (centred.square().mean(axes, keepdim=True) + eps).sqrt()


NORM_SLIPS = [
    Slip(
        "ε outside the root",
        lambda X, gain, bias, eps: gain * _centred(X) / (_variance(X).sqrt() + eps) + bias,
        "Is your ε inside the root? It stands under it, beside the variance: √(σ² + ε). Outside, the root's "
        "slope at variance 0 is infinite, and the gradient of a word with equal features is NaN.",
    ),
    Slip(
        "variance unbiased",
        lambda X, gain, bias, eps: gain * _centred(X) / (_variance(X, 1) + eps).sqrt() + bias,
        "Your variance divides by d − 1, which is the default of torch.var and torch.std. Layer normalisation "
        "takes the plain mean of the squares: divide by d, or say correction=0.",
    ),
    Slip(
        "torch's std, and ε outside",
        lambda X, gain, bias, eps: gain * _centred(X) / (_variance(X, 1).sqrt() + eps) + bias,
        "Two things at once: `std` divides by d − 1 unless told correction=0, and ε belongs under the root, beside the "
        "variance.",
    ),
    Slip("over the words", lambda *a: _over(*a, dims=(-2,)), OVER_WORDS),
    Slip("over the words", lambda *a: _over(*a, dims=(0,)), OVER_WORDS),
    Slip("over everything", lambda *a: _over(*a, dims=(-1, -2)), OVER_ALL),
    Slip("over everything", lambda *a: _over(*a, dims=tuple(range(a[0].dim()))), OVER_ALL),
    Slip(
        "divided by the variance",
        lambda X, gain, bias, eps: gain * _centred(X) / (_variance(X) + eps) + bias,
        "You divided by the variance. The spread of a vector is its root: √(σ² + ε).",
    ),
    *(
        Slip(
            "no ε",
            lambda X, gain, bias, eps, own=own: _normed(X, gain, bias, own),
            "Your answer does not depend on the argument ε. Here it is large, to be seen: it belongs under the root.",
        )
        for own in (0.0, 1e-5, 1e-6)
    ),
    Slip(
        "all axes but the first",
        lambda X, gain, bias, eps: gain * _normed_over(X, [*range(1, X.dim())], eps) + bias,
        "You took one mean over all axes but the first, that is over a whole sentence. Each word has its own: the last axis alone.",
    ),
    Slip(
        "axis 1",
        lambda X, gain, bias, eps: gain * _normed_over(X, [1], eps) + bias,
        "You norm along axis 1, which is the features' only in a matrix. They are the last axis, -1, in any tensor.",
    ),
    Slip(
        "brackets forgotten",
        lambda X, gain, bias, eps: X - (X - _centred(X)) / (_variance(X) + eps).sqrt() * gain + bias,
        "Only the mean is divided. Put X − μ into brackets: / goes before −.",
    ),
    Slip(
        "ε squared",
        lambda X, gain, bias, eps: _normed(X, gain, bias, eps**2),
        "ε is squared under the root. It stands there as it is: √(σ² + ε).",
    ),
    *(
        Slip(
            "keepdim forgotten",
            lambda X, gain, bias, eps, k=k: _flat(X, gain, bias, eps, k),
            "Your means have lost their axis, so that word j's mean was taken from feature j. keepdim=True keeps the axis, "
            "and each word meets its own mean.",
        )
        for k in (0, 1)
    ),
    Slip(
        "γ and β forgotten",
        lambda X, gain, bias, eps: _centred(X) / (_variance(X) + eps).sqrt(),
        "That is the first step. The second multiplies each feature by its γ and adds its β.",
    ),
    Slip(
        "γ forgotten",
        lambda X, gain, bias, eps: _normed(X, torch.ones_like(gain), bias, eps),
        "β is added, and γ is missing: each feature is multiplied by its gain.",
    ),
    Slip(
        "β forgotten",
        lambda X, gain, bias, eps: _normed(X, gain, torch.zeros_like(bias), eps),
        "γ multiplies, and β is missing: to each feature its bias is added.",
    ),
    Slip(
        "β before γ",
        lambda X, gain, bias, eps: gain * _normed(X, torch.ones_like(gain), bias, eps),
        "You added β first and multiplied both by γ. γ stretches what is normed, then β is added.",
    ),
    Slip(
        "γ and β exchanged",
        lambda X, gain, bias, eps: _normed(X, bias, gain, eps),
        "γ and β changed places: the gain multiplies, the bias is added.",
    ),
    Slip(
        "mean not subtracted",
        lambda X, gain, bias, eps: gain * X / (X.square().mean(dim=-1, keepdim=True) + eps).sqrt() + bias,
        "You divided by the root of the mean square without subtracting the mean. That is RMSNorm; layer "
        "normalisation centres first.",
    ),
    Slip(
        "mean not subtracted",
        lambda X, gain, bias, eps: gain * X / (_variance(X) + eps).sqrt() + bias,
        "The spread is right, and the mean is still there. Subtract each word's mean before you divide.",
    ),
    Slip(
        "only centred",
        lambda X, gain, bias, eps: gain * _centred(X) + bias,
        "Each word has mean 0, and its spread is as it was. Divide by √(σ² + ε).",
    ),
    Slip(
        "divided by the length",
        lambda X, gain, bias, eps: (
            gain * _centred(X) / (_centred(X).square().sum(-1, keepdim=True) + eps).sqrt() + bias
        ),
        "You divided by the root of the sum of squares, the length of the vector. The variance is their mean.",
    ),
]


@exercise(
    "layers.layer-norm",
    answer="layer_norm",
    forbids=("torch.nn.functional.layer_norm", "torch.layer_norm", "torch.nn.LayerNorm", "torch.native_layer_norm"),
)
def layer_norm(student, expect):
    def drawn(*shape: int, eps: float) -> tuple[Tensor, Tensor, Tensor, float]:
        d = shape[-1]
        return torch.randn(shape) * 2 + torch.randn(*shape[:-1], 1), torch.rand(d) + 0.5, torch.randn(d), eps

    batch, n, d = _sizes(3, 3, 7)
    inputs = [drawn(d, d, eps=0.4)]  # square: a mean that lost its axis runs, and is named
    inputs += [drawn(n, d, eps=0.5), drawn(batch, d, n, eps=0.3), drawn(n, batch, eps=0.8)]
    expect.agrees(
        student.layer_norm,
        _normed,
        inputs,
        "each word has mean 0 and variance 1, then γ and β",
        NORM_SLIPS,
        describe="the normed words",
    )
    level = torch.randint(1, 9, (n, 1)).float().expand(n, d)
    edges = [(level.clone(), *drawn(n, d, eps=1e-5)[1:]), drawn(d + 3, eps=1e-5), drawn(2, 2, 3, d, eps=1e-6)]
    expect.agrees(
        student.layer_norm,
        _normed,
        edges,
        "equal features become β, and not NaN; one word alone, or four axes",
        NORM_SLIPS,
        tolerance=1e-4,
        describe="the normed words",
    )


# a feed-forward network


def _relu(x: Tensor) -> Tensor:
    return x.clamp(min=0)


def _network(X: Tensor, W_1: Tensor, b_1: Tensor, W_2: Tensor, b_2: Tensor, *, bend: Callable = _relu) -> Tensor:
    return bend(X @ W_1 + b_1) @ W_2 + b_2


def _bent(bend: Callable[[Tensor], Tensor]) -> Callable[..., Tensor]:
    return lambda *case: _network(*case, bend=bend)


def _plain_norm(X: Tensor) -> Tensor:
    return _centred(X) / (_variance(X) + 1e-5).sqrt()


def _scaled(X: Tensor, W_1: Tensor, b_1: Tensor, W_2: Tensor, b_2: Tensor, *, axis: int, power: float) -> Tensor:
    return _network(X, W_1, b_1, W_2 / W_1.shape[axis] ** power, b_2)


def _one_maximum(H: Tensor, axis: int) -> Tensor:
    return _relu(H.amax(axis, keepdim=True)).expand_as(H)


NORMED = "You normalise the input or the output. The norm belongs to the layer around the network."
OTHER_BEND = "You used another non-linear function than the paper. It takes max(0, …), which torch calls relu."
NETWORK_SLIPS = [
    Slip(
        "no ReLU",
        _bent(lambda H: H),
        "Nothing non-linear happens between the two matrices, so they are one linear map. Set what is negative to 0.",
    ),
    Slip(
        "ReLU at the end only",
        lambda *case: _relu(_network(*case, bend=lambda H: H)),
        "Your ReLU comes after the second matrix. It belongs between the two.",
    ),
    Slip(
        "ReLU twice",
        lambda *case: _relu(_network(*case)),
        "You applied the ReLU to the output as well. The output may be negative: only the hidden layer has a ReLU.",
    ),
    Slip(
        "ReLU on the input",
        lambda X, *rest: _network(_relu(X), *rest, bend=lambda H: H),
        "Your ReLU is applied to X. It is applied to the hidden layer, xW_1 + b_1.",
    ),
    Slip(
        "b_1 after the ReLU",
        lambda X, W_1, b_1, W_2, b_2: (_relu(X @ W_1) + b_1) @ W_2 + b_2,
        "You added b_1 after the ReLU. It is added before, so that it decides where each hidden unit begins to respond.",
    ),
    Slip(
        "b_1 forgotten",
        lambda X, W_1, b_1, W_2, b_2: _relu(X @ W_1) @ W_2 + b_2,
        "The bias b_1 of the hidden layer is missing.",
    ),
    Slip(
        "b_2 forgotten",
        lambda X, W_1, b_1, W_2, b_2: _relu(X @ W_1 + b_1) @ W_2,
        "The bias b_2 of the output is missing.",
    ),
    Slip(
        "both biases forgotten",
        lambda X, W_1, b_1, W_2, b_2: _relu(X @ W_1) @ W_2,
        "Neither bias is there. b_1 belongs to the hidden layer, b_2 to the output.",
    ),
    Slip(
        "b_1 subtracted",
        lambda X, W_1, b_1, W_2, b_2: _network(X, W_1, -b_1, W_2, b_2),
        "You subtract b_1. A bias is added.",
    ),
    Slip(
        "b_2 subtracted",
        lambda X, W_1, b_1, W_2, b_2: _network(X, W_1, b_1, W_2, -b_2),
        "You subtract b_2. A bias is added.",
    ),
    Slip(
        "b_2 twice",
        lambda X, W_1, b_1, W_2, b_2: _network(X, W_1, b_1, W_2, 2 * b_2),
        "You add b_2 twice. Once is enough, after the product with W_2.",
    ),
    Slip(
        "b_2 after a second ReLU",
        lambda X, W_1, b_1, W_2, b_2: _relu(_relu(X @ W_1 + b_1) @ W_2) + b_2,
        "There is a second ReLU, between the product with W_2 and b_2. Only the hidden layer has a ReLU.",
    ),
    Slip(
        "b_2 after the ReLU at the end",
        lambda X, W_1, b_1, W_2, b_2: _relu((X @ W_1 + b_1) @ W_2) + b_2,
        "Your ReLU comes after the second matrix, before b_2 is added. It belongs between the two matrices.",
    ),
    Slip(
        "the matrices exchanged",
        lambda X, W_1, b_1, W_2, b_2: _relu(X @ W_2.T + b_1) @ W_1.T + b_2,
        "W_1 and W_2 have changed places, transposed so that they fit. X meets W_1 first, as it is.",
    ),
    Slip(
        "W_1 ignored",
        lambda X, W_1, b_1, W_2, b_2: _relu(X @ W_2.T + b_1) @ W_2 + b_2,
        "You used W_2 on the way in too. The first matrix is W_1.",
    ),
    *(
        Slip(
            "a softmax",
            _bent(partial(torch.softmax, dim=axis)),
            "You took a softmax of the hidden layer. Its units do not compete: each one is max(0, …) by itself.",
        )
        for axis in (-1, 0)
    ),
    Slip(
        "the ReLU squared",
        _bent(lambda H: _relu(H).square()),
        "You squared what the ReLU returns. The paper uses max(0, …) as it is.",
    ),
    Slip(
        "cut off above",
        _bent(lambda H: H.clamp(0, 1)),
        "Your hidden units stop at 1. max(0, …) has no upper end.",
    ),
    Slip(
        "cut off above",
        _bent(lambda H: H.clamp(0, 6)),
        "Your hidden units stop at 6. max(0, …) has no upper end.",
    ),
    Slip(
        "cut off at 1",
        _bent(lambda H: H.clamp(min=1)),
        "Your hidden units are at least 1. max(0, …) cuts at 0.",
    ),
    Slip(
        "0 or 1",
        _bent(lambda H: (H > 0).to(H)),
        "Your hidden units are 0 or 1. Where xW_1 + b_1 is positive, max(0, …) keeps its value.",
    ),
    *(
        Slip(
            "one maximum for several units",
            _bent(partial(_one_maximum, axis=axis)),
            "You took one maximum over several hidden units. max(0, …) compares each unit with 0.",
        )
        for axis in (-1, 0)
    ),
    *(
        Slip(
            "scaled",
            partial(_scaled, axis=axis, power=power),
            "You divide by the width of a layer, or by its root. The network scales nothing.",
        )
        for axis, power in ((1, 0.5), (1, 1), (0, 0.5))
    ),
    Slip("normed", lambda *case: _plain_norm(_network(*case)), NORMED),
    Slip("normed", lambda X, *rest: _network(_plain_norm(X), *rest), NORMED),
    Slip(
        "the last unit left out",
        lambda X, W_1, b_1, W_2, b_2: _network(X, W_1[:, :-1], b_1[:-1], W_2[:-1], b_2),
        "The last hidden unit is left out. Where does your loop, or your slice, end?",
    ),
    Slip(
        "the last word left out",
        lambda X, *rest: torch.cat([_network(X, *rest)[:-1], torch.zeros_like(X[-1:])]),
        "The last word's output is 0. Where does your loop end?",
    ),
    Slip("another function", _bent(torch.nn.functional.gelu), OTHER_BEND),
    Slip("another function", _bent(lambda H: torch.nn.functional.gelu(H, approximate="tanh")), OTHER_BEND),
    Slip("another function", _bent(torch.nn.functional.silu), OTHER_BEND),
    Slip("another function", _bent(torch.nn.functional.elu), OTHER_BEND),
    Slip("another function", _bent(torch.nn.functional.softplus), OTHER_BEND),
    Slip("another function", _bent(torch.sigmoid), OTHER_BEND),
    Slip("another function", _bent(torch.tanh), OTHER_BEND),
    Slip("another function", _bent(lambda H: torch.nn.functional.leaky_relu(H)), OTHER_BEND),
    Slip(
        "absolute value",
        _bent(torch.abs),
        "You took the absolute value, which turns negative numbers into positive ones. max(0, …) turns them into 0.",
    ),
    Slip(
        "the smaller of the two",
        _bent(lambda H: H.clamp(max=0)),
        "You kept the negative numbers and set the positive ones to 0. max(0, …) does the opposite.",
    ),
    Slip(
        "a residual connection",
        lambda X, *rest: X + _network(X, *rest),
        "You added X. The residual connection belongs to the layer around the network, not to the network.",
    ),
    Slip(
        "W_2 ignored",
        lambda X, W_1, b_1, W_2, b_2: _relu(X @ W_1 + b_1) @ W_1.T + b_2,
        "You used W_1 again on the way back. The second matrix is W_2.",
    ),
    Slip(
        "mixes the words",
        lambda X, *rest: _network(X, *rest).mean(dim=0, keepdim=True).expand_as(X),
        "Every word gets the same output, the mean over all words. The network treats each word by itself.",
    ),
]


def _same_again(answer: Callable[..., Tensor], case: tuple, expect: Expect) -> None:
    """A second call with the same arguments must return the same."""
    first, again = (torch.as_tensor(answer(*copied(case))) for _ in range(2))
    expect.true(
        first.shape != again.shape or torch.allclose(first, again, equal_nan=True),
        "the same result at each call",
        "A second call with the same arguments returns something else. Do you draw random numbers, as dropout does, or "
        "as a new module for its weights?",
        "random",
    )


OTHER_SHAPES = {
    "the hidden layer": "You return as many numbers a word as the hidden layer has units. A second matrix leads back.",
    "the axes exchanged": "Your result has the words along its last axis. It has the shape of X.",
    "one word": "You return one vector. Each word has its own: the result has the shape of X.",
    "a batch": "Your result has one axis too many, in front. It has the shape of X.",
}
UNFIT = (
    "a matrix lies on its side",
    "The shapes of a product don't fit. W_1 and W_2 are (in, out): do you transpose one, or does a function do so?",
)
OTHER_WIDTH = (
    "a bias of another width",
    "A bias does not fit where you add it. b_1 is as wide as the hidden layer, b_2 as wide as the output.",
)


_MODULES = ("Linear", "Sequential", "ReLU")  # bare names: a grader would block torch.nn.Linear while the chapter loads


@exercise("layers.feed-forward", answer="feed_forward", forbids=_MODULES)
def feed_forward(student, expect):
    def drawn(n: int, d: int, d_ff: int) -> tuple[Tensor, ...]:
        return torch.randn(n, d), torch.randn(d, d_ff), torch.randn(d_ff), torch.randn(d_ff, d), torch.randn(d)

    answer = told(student.feed_forward, {"shapes cannot be multiplied": UNFIT, "must match the size of": OTHER_WIDTH})

    @wraps(answer)
    def of_shape(X: Tensor, W_1: Tensor, *rest: Tensor) -> Tensor:
        came, (n, d) = answer(X, W_1, *rest), X.shape
        kind = "an array" if type(came).__module__ == "numpy" else f"a {type(came).__name__}"
        otherwise = f"You return {kind}. The text asks for a tensor."
        expect.true(isinstance(came, Tensor), "a tensor comes back", otherwise, "no tensor")
        shapes = [("the hidden layer", (n, W_1.shape[1])), ("the axes exchanged", (d, n)), ("one word", (d,))]
        known = [Mistake(name, shape, OTHER_SHAPES[name]) for name, shape in [*shapes, ("a batch", (1, n, d))]]
        expect.shape(came, X.shape, "it has the shape of X", known)
        return came

    n, d, d_ff = _sizes(3, 3, 8)
    inputs = [drawn(n, d, d_ff), drawn(d, d_ff, n), drawn(d_ff, n, 4 * n), drawn(n, d, d)]
    _same_again(of_shape, drawn(n, d, 10 * d_ff), expect)
    expect.agrees(
        of_shape,
        _network,
        inputs,
        "the hidden layer without what is negative, times W_2",
        NETWORK_SLIPS,
        tolerance=1e-4,
        describe="the output of the network",
    )
    few = [drawn(1, d, d_ff), drawn(n, 1, d_ff)]
    expect.agrees(of_shape, _network, few, "one word as well, or one feature", NETWORK_SLIPS, tolerance=1e-4)


# an encoder layer


def _encoder(X, self_attend, feed_forward, norms, order, *, post=None, pre=None, place=(0, 1)):
    """The layer with its parts open to slips: a sub-layer in each order, and which norm where."""
    post = post or (lambda X, sub, norm: norm(X + sub(X)))
    pre = pre or (lambda X, sub, norm: X + sub(norm(X)))
    around = post if order == "post" else pre
    X = around(X, lambda Z: self_attend(Z, Z, Z), norms[place[0]])
    return around(X, feed_forward, norms[place[1]])


def _each(around: Callable[..., Tensor]) -> Callable[..., Tensor]:
    """A slip in both sub-layers, whatever the order."""
    return lambda *case: _encoder(*case, post=around, pre=around)


def _heard(X, self_attend, norms, order):
    """X after the first sub-layer."""
    return norms[0](X + self_attend(X, X, X)) if order == "post" else X + self_attend(*[norms[0](X)] * 3)


def _second_from_X(X, self_attend, feed_forward, norms, order):
    Y = _heard(X, self_attend, norms, order)
    return norms[1](X + feed_forward(Y)) if order == "post" else X + feed_forward(norms[1](Y))


def _side_by_side(X, self_attend, feed_forward, norms, order):
    Y = _heard(X, self_attend, norms, order)
    return norms[1](Y + feed_forward(X)) if order == "post" else Y + feed_forward(norms[1](X))


def _network_first(X, self_attend, feed_forward, norms, order):
    return _encoder(X, lambda Q, K, V: feed_forward(Q), lambda Z: self_attend(Z, Z, Z), norms, order)


def _at(where: int | None, *, post: Callable | None = None, pre: Callable | None = None) -> Callable[..., Tensor]:
    """A slip in the sub-layer `where` (0 or 1), or in both if it is None, of a layer that is right otherwise."""

    def layer(X, self_attend, feed_forward, norms, order):
        usual, flawed = {"post": (_post, post or _post), "pre": (_pre, pre or _pre)}[order]
        for k, sub in enumerate((lambda Z: self_attend(Z, Z, Z), feed_forward)):
            X = (flawed if where in (k, None) else usual)(X, sub, norms[k])
        return X

    return layer


def _post(X, sub, norm):
    return norm(X + sub(X))


def _pre(X, sub, norm):
    return X + sub(norm(X))


WHERE = ((0, "self-attention"), (1, "the feed-forward network"))
SHARED_SLIPS = [
    *(
        Slip(
            f"no residual around {it}",
            _at(k, post=lambda X, sub, norm: norm(sub(X)), pre=lambda X, sub, norm: sub(norm(X))),
            f"The output of {it} replaces X, so that X is lost there. Add X to it; your other sum is right.",
        )
        for k, it in WHERE
    ),
    *(
        Slip(
            f"norm of the change of {it}",
            _at(k, post=lambda X, sub, norm: X + norm(sub(X)), pre=lambda X, sub, norm: X + norm(sub(X))),
            f"You normalise what {it} returns, and then add X. Look at what the norm takes in the formula.",
        )
        for k, it in WHERE
    ),
    *(
        Slip(
            "X added twice",
            _at(k, post=lambda X, sub, norm: norm(2 * X + sub(X)), pre=lambda X, sub, norm: 2 * X + sub(norm(X))),
            "In a sum X is added twice. Once is enough.",
        )
        for k in (0, 1, None)
    ),
    *(
        Slip(
            "a change subtracted",
            _at(k, post=lambda X, sub, norm: norm(X - sub(X)), pre=lambda X, sub, norm: X - sub(norm(X))),
            "You subtract what a sub-layer returns. A residual connection adds.",
        )
        for k in (0, 1, None)
    ),
    *(
        Slip(
            f"{it} in the other order",
            _at(k, post=_pre, pre=_post),
            f"One sub-layer is in the other order: look where the norm stands around {it}.",
        )
        for k, it in WHERE
    ),
    *(
        Slip(
            f"norm twice around {it}",
            _at(k, post=lambda X, sub, norm: norm(X + sub(norm(X))), pre=lambda X, sub, norm: norm(X + sub(norm(X)))),
            f"Around {it} you normalise both what it reads and the sum. Each order does one of these.",
        )
        for k, it in WHERE
    ),
    Slip(
        "a norm without γ and β",
        lambda X, s, f, norms, order: _encoder(X, s, f, [_plain_norm] * 2, order),
        "You wrote a norm of your own, without γ and β. Use the two `norms` that you are given.",
    ),
    Slip(
        "the second norm for both",
        lambda *a: _encoder(*a, place=(1, 1)),
        "You used the second norm twice. Self-attention has the first, with γ and β of its own.",
    ),
    Slip(
        "one norm for both",
        lambda *a: _encoder(*a, place=(0, 0)),
        "You used the first norm twice. Each sub-layer has its own, with γ and β of its own.",
    ),
    Slip(
        "the norms swapped",
        lambda *a: _encoder(*a, place=(1, 0)),
        "The two norms have changed places. The first belongs to self-attention, the second to the feed-forward network.",
    ),
    Slip(
        "the feed-forward network first",
        _network_first,
        "The feed-forward network came before self-attention. The words hear each other first, then each one thinks.",
    ),
    Slip(
        "the second sum starts from X",
        _second_from_X,
        "Your second sum adds to the X of the beginning, so the first sum is lost. Add to the result of the first "
        "sub-layer.",
    ),
    Slip(
        "sub-layers side by side",
        _side_by_side,
        "Your feed-forward network reads the X of the beginning. It reads the result of the first sub-layer.",
    ),
    Slip(
        "the feed-forward network forgotten",
        lambda X, s, f, n, order: _heard(X, s, n, order),
        "The layer ends after self-attention. The feed-forward network is missing.",
    ),
    Slip(
        "self-attention forgotten",
        lambda X, s, f, n, order: n[1](X + f(X)) if order == "post" else X + f(n[1](X)),
        "The words never hear each other: self-attention is missing.",
    ),
    Slip(
        "no residual",
        lambda *a: _encoder(*a, post=lambda X, sub, norm: norm(sub(X)), pre=lambda X, sub, norm: sub(norm(X))),
        "Each sub-layer replaces X by its own output, and X itself is lost. Add X to what the sub-layer returns.",
    ),
    Slip(
        "no norm",
        _each(lambda X, sub, norm: X + sub(X)),
        "Your layer has both sums and no norm. Each sub-layer has one, in either order.",
    ),
    Slip(
        "norm of the change only",
        _each(lambda X, sub, norm: X + norm(sub(X))),
        "You normalised what the sub-layer returns and then added X. In post-norm the norm comes last, over the sum; in "
        "pre-norm it comes first, before the sub-layer.",
    ),
    Slip(
        "norm twice",
        _each(lambda X, sub, norm: norm(X + sub(norm(X)))),
        "You normalised before the sub-layer and after the sum. Post-norm does the second of these only, and pre-norm "
        "the first.",
    ),
]
POST_SLIPS = [
    *(
        Slip(
            "X normed before the sum",
            _at(k, post=lambda X, sub, norm: norm(X) + sub(X)),
            "You normalise X and add the change to it. Post-norm takes the norm of the whole sum.",
        )
        for k in (0, 1, None)
    ),
    Slip(
        "both norms at the end",
        lambda X, s, f, n, order: n[1](n[0](X + s(X, X, X) + f(X + s(X, X, X)))),
        "Both of your norms stand at the end of the layer. The first belongs after the first sum.",
    ),
    *(
        Slip(
            "post runs on into pre",
            lambda X, s, f, n, order, rest=rest: rest(_encoder(X, s, f, n, "post"), s, f, n),
            'For order "post" your layer also does what belongs to "pre". Look at the `else`, and at the indentation.',
        )
        for rest in (
            lambda X, s, f, n: X + f(n[1](X)),
            lambda X, s, f, n: _encoder(X, s, f, n, "pre"),
        )
    ),
    Slip(
        "the two orders swapped",
        _each(lambda X, sub, norm: X + sub(norm(X))),
        'For order "post" your layer is pre-norm. Post-norm normalises after the sum.',
    ),
    Slip(
        "X and the change normed apart",
        _each(lambda X, sub, norm: norm(X) + norm(sub(X))),
        "You took the norm of each and added. The norm of a sum is not the sum of the norms: add first.",
    ),
    Slip(
        "the second norm left out",
        lambda X, s, f, n, order: _heard(X, s, n, order) + f(_heard(X, s, n, order)),
        "Your second sum has no norm. Each sub-layer ends with its own.",
    ),
    Slip(
        "one norm at the end",
        lambda X, s, f, n, order: n[1](X + s(X, X, X) + f(X + s(X, X, X))),
        "Your first sum has no norm. Each sub-layer ends with its own, the first one too.",
    ),
    *SHARED_SLIPS,
]


def _normed_parts(normed: str) -> Callable[..., Tensor]:
    """Pre-norm, but in self-attention only the parts named in `normed`, of Q, K and V, read the norm."""

    def layer(X, s, f, n, order):
        return _sub(X + s(*(n[0](X) if part in normed else X for part in "QKV")), n[1], f)

    return layer


PRE_SLIPS = [
    *(
        Slip(
            f"the normed X goes round {it}",
            _at(k, pre=lambda X, sub, norm: norm(X) + sub(norm(X))),
            f"Around {it} your sum takes the normed X. In pre-norm add X itself, as in your other sum.",
        )
        for k, it in WHERE
    ),
    *(
        Slip(
            f"{bare} not normed",
            _normed_parts(normed),
            f"In self-attention your {bare} are not normed, and the rest is. Queries, keys and values are all the normed X.",
        )
        for normed, bare in (
            ("KV", "queries"),
            ("QV", "keys"),
            ("QK", "values"),
            ("K", "queries and values"),
            ("V", "queries and keys"),
        )
    ),
    Slip(
        "the feed-forward network reads the old norm",
        lambda X, s, f, n, order: _heard(X, s, n, order) + f(n[0](X)),
        "Your feed-forward network reads the normed X of the beginning. It reads a norm of the first sum.",
    ),
    Slip(
        "a norm of the old norm",
        lambda X, s, f, n, order: _heard(X, s, n, order) + f(n[1](n[0](X))),
        "Your second norm takes what the first norm returned. It takes the first sum.",
    ),
    *(
        Slip(
            "a sum scaled",
            _at(k, pre=lambda X, sub, norm, by=by: (X + sub(norm(X))) * by),
            "You scale a sum. X and what the sub-layer returns are added, and nothing else.",
        )
        for k in (0, 1, None)
        for by in (0.5, 0.5**0.5)
    ),
    Slip(
        "a norm at the end",
        lambda X, s, f, n, order: n[0](_encoder(X, s, f, n, order)),
        "You normalised the output of the layer, with the first norm. In pre-norm the sum stays as it is.",
    ),
    Slip(
        "post-norm for both orders",
        _each(lambda X, sub, norm: norm(X + sub(X))),
        'For order "pre" your layer is post-norm too. Pre-norm normalises what the sub-layer reads, and nothing after.',
    ),
    Slip(
        "the normed X goes round",
        _each(lambda X, sub, norm: norm(X) + sub(norm(X))),
        "Your sums take the normed X. In pre-norm the thick line is free of norms: add X itself.",
    ),
    Slip(
        "only the queries normed",
        lambda X, s, f, n, order: _sub(X + s(n[0](X), X, X), n[1], f),
        "In self-attention your queries are normed, and keys and values are not. All three are the normed X.",
    ),
    Slip(
        "the feed-forward network reads the bare sum",
        lambda X, s, f, n, order: _heard(X, s, n, order) + f(_heard(X, s, n, order)),
        "Your feed-forward network reads the sum without a norm. In pre-norm each sub-layer reads a norm of its own.",
    ),
    Slip(
        "self-attention reads the bare X",
        lambda X, s, f, n, order: _sub(X + s(X, X, X), n[1], f),
        "Your self-attention reads X without a norm. In pre-norm each sub-layer reads a norm of its own.",
    ),
    Slip(
        "a norm at the end",
        lambda X, s, f, n, order: n[1](_encoder(X, s, f, n, order)),
        "You normalised the output of the layer too. In pre-norm the sum stays as it is.",
    ),
    *SHARED_SLIPS,
]


ONE_ARGUMENT = (
    "self_attend with too few arguments",
    "`self_attend` takes three arguments, (Q, K, V). What are the queries, the keys and the values of self-attention?",
)


@exercise("layers.encoder-layer", answer="encoder_layer")
def encoder_layer(student, expect):
    def drawn(n: int, d: int, order: str) -> tuple:
        X, _, self_attend, _, network, norms = _decoder_parts(n, 1, d)
        return X, self_attend, network, norms[:2], order

    answer = told(student.encoder_layer, {r"self_attend\(\) missing": ONE_ARGUMENT})
    a, b, c = _sizes(3, 3, 6)
    for order in ("post", "pre"):
        _same_again(answer, drawn(a, b, order), expect)
    for order, holds, slips in (
        ("post", "post-norm: each sub-layer ends with the norm of the sum", POST_SLIPS),
        ("pre", "pre-norm: each sub-layer reads a norm, and X itself is added", PRE_SLIPS),
    ):
        expect.agrees(
            answer,
            _encoder,
            [drawn(a, b, order), drawn(b, c, order), drawn(c, a + 4, order)],
            holds,
            slips,
            tolerance=1e-3,
            describe=f'the output of the layer with order "{order}"',
        )
    one = [drawn(1, 4, "post"), drawn(1, 4, "pre")]
    expect.agrees(answer, _encoder, one, "one word as well", tolerance=1e-3)


# the larger of two

CUT_OFF = "A single unit max(0, {0}) loses {0} when it is negative: give −{0} a unit of its own and subtract it."
LARGER_SLIPS = [
    Slip("negative numbers cut off", lambda a, b: _relu(a - b) + _relu(b), f"Right where b ≥ 0. {CUT_OFF.format('b')}"),
    Slip("negative numbers cut off", lambda a, b: _relu(b - a) + _relu(a), f"Right where a ≥ 0. {CUT_OFF.format('a')}"),
    Slip(
        "each by itself",
        lambda a, b: _relu(a) + _relu(b),
        "Your units look at a and at b one by one, and their sum is not the larger of the two. Which is larger "
        "can be seen from a − b.",
    ),
    Slip(
        "the smaller",
        torch.minimum,
        "That is the smaller of the two. The larger is b + max(0, a − b), with a plus.",
    ),
    Slip(
        "only the difference",
        lambda a, b: _relu(a - b),
        "That is max(0, a − b), how much a is ahead. Add b, which has to pass the bend unharmed.",
    ),
    Slip(
        "the distance",
        lambda a, b: (a - b).abs(),
        "That is |a − b|, how far apart they are. The larger is half the sum and half the distance, or b + max(0, a − b).",
    ),
    Slip(
        "the sum of both",
        lambda a, b: a + b,
        "That is a + b: your units let everything through, and nothing bends. One unit must see a − b.",
    ),
    Slip(
        "the mean of both",
        lambda a, b: (a + b) / 2,
        "That is the mean of the two: nothing bends. One unit must see a − b.",
    ),
    Slip(
        "not halved",
        lambda a, b: a + b + (a - b).abs(),
        "That is twice the larger: a + b + |a − b|. Halve what the second matrix adds up.",
    ),
    Slip(
        "only one of the two",
        lambda a, b: b,
        "Your network returns b, whatever a is. One unit must see a − b.",
    ),
    Slip(
        "only one of the two",
        lambda a, b: a,
        "Your network returns a, whatever b is. One unit must see b − a.",
    ),
    *(
        Slip(
            "lifted above 0",
            lambda a, b, k=k: _relu(a - b) + _relu(b + k) - k,
            "You lift b above 0 by a constant and take the constant away again. A b further below 0 is still cut "
            "off. A pair of units, for b and for −b, needs no constant.",
        )
        for k in (1, 10, 100, 1000, 10_000)
    ),
]


@exercise("layers.larger", answer="larger")
def larger(student, expect):
    found = student.larger()
    fits = isinstance(found, (tuple, list)) and len(found) == 4
    otherwise = f"Expected four things, (W_1, b_1, W_2, b_2), got a {type(found).__name__}."
    expect.true(fits, "four parameters come back", otherwise, mistake="no four parameters")
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
        mistake="shapes that do not fit",
    )

    def network(a: Tensor, b: Tensor) -> Tensor:
        return (_relu(torch.cat([a, b], dim=-1) @ W_1 + b_1) @ W_2 + b_2).detach()

    signs = torch.tensor([[1.0, 1], [1, -1], [-1, 1], [-1, -1]]).repeat(3, 1)
    pairs = [signs * (torch.rand(12, 2) + 0.1) * size for size in (3.0, 20.0, 30_000.0)]
    pairs += [torch.zeros(1, 2), torch.randn(4, 1).expand(4, 2)]
    expect.agrees(
        network,
        torch.maximum,
        [tuple(points.split(1, dim=-1)) for points in pairs],
        "the larger of two, of any sign and any size, and of two that are equal",
        LARGER_SLIPS,
        tolerance=1e-4,
        describe="what your network makes of (a, b)",
    )


# the slope of a stack


def _stacked(jacobians: list[Tensor], step: Callable[[Tensor], Tensor] | None = None) -> Tensor:
    slope = torch.eye(len(jacobians[0]))
    for J in jacobians:
        slope = (torch.eye(len(J)) + J if step is None else step(J)) @ slope
    return slope


SLOPE_SLIPS = [
    Slip(
        "no residual",
        lambda J: _stacked(J, lambda j: j),
        "You multiplied the J alone. Each layer adds to its input, so its Jacobian is I + J.",
    ),
    Slip(
        "the wrong order",
        lambda J: _stacked(J[::-1]),
        "Your order is turned round. The chain rule puts the outermost function on the left, and the outermost "
        "layer is the top one, J_L.",
    ),
    Slip(
        "a sum in place of a product",
        lambda J: torch.eye(len(J[0])) + sum(J),
        "You added the J. That is what remains of the product when all J are tiny; the paths through two and "
        "more layers are missing.",
    ),
    Slip(
        "1 in every entry",
        lambda J: _stacked(J, lambda j: j + 1),
        "You added 1 to every entry, which is what `J + 1` does. The 1 is the identity matrix: ones on the "
        "diagonal only, torch.eye(d).",
    ),
    Slip(
        "the residual once only",
        lambda J: torch.eye(len(J[0])) + _stacked(J, lambda j: j),
        "You added I once, round the whole stack. Each layer has a way round of its own.",
    ),
    Slip(
        "transposed",
        lambda J: _stacked(J).T,
        "Rows and columns are swapped: entry [i, j] says how output i moves with input j.",
    ),
    Slip(
        "the top layer left out",
        lambda J: _stacked(J[:-1]) if J[1:] else torch.eye(len(J[0])),
        "The top layer J_L is missing from the product. Does your range reach the last one?",
    ),
    Slip(
        "the bottom layer left out",
        lambda J: _stacked(J[1:]) if J[1:] else torch.eye(len(J[0])),
        "The bottom layer J_1 is missing from the product. Does your range begin with the first one?",
    ),
    Slip(
        "entry by entry",
        lambda J: torch.stack([torch.eye(len(j)) + j for j in J]).prod(0),
        "You multiplied entry by entry. The chain rule multiplies matrices: @ in place of *.",
    ),
    Slip(
        "a sum of the layers' slopes",
        lambda J: sum(torch.eye(len(j)) + j for j in J),
        "You added the slopes I + J. One layer after the other is a product of them.",
    ),
    Slip(
        "each one transposed",
        lambda J: _stacked(J, lambda j: torch.eye(len(j)) + j.T),
        "You transposed each J. Entry [i, j] says how output i moves with input j, as they are.",
    ),
    Slip(
        "J subtracted",
        lambda J: _stacked(J, lambda j: torch.eye(len(j)) - j),
        "You subtracted the J. Each layer adds what it says to its input: I + J.",
    ),
    Slip(
        "the residual subtracted",
        lambda J: _stacked(J, lambda j: j - torch.eye(len(j))),
        "You subtracted I. Each layer adds its input to what it says, so its Jacobian is J + I.",
    ),
]


@exercise("layers.stack-slope", answer="stack_slope")
def stack_slope(student, expect):
    sizes = [_sizes(2, 2, 5) for _ in range(3)]
    inputs = [(list(torch.randn(depth, d, d).unbind()),) for depth, d in sizes]
    expect.agrees(
        student.stack_slope,
        _stacked,
        inputs,
        "the top layer on the left, each with its I: (I + J_L) … (I + J_1)",
        SLOPE_SLIPS,
        tolerance=1e-4,
        describe="the slope of the stack",
    )
    one = [([torch.randn(3, 3)],), ([torch.randn(1, 1), torch.randn(1, 1)],)]
    expect.agrees(student.stack_slope, _stacked, one, "a single layer, or a width of 1, too", SLOPE_SLIPS)


# a decoder layer


def _sub(Z: Tensor, norm: Callable[[Tensor], Tensor], said: Callable[[Tensor], Tensor], around: float = 1.0) -> Tensor:
    return around * Z + said(norm(Z))


def _decoder(
    Y, memory, self_attend, cross_attend, feed_forward, norms,
    *, order=(0, 1, 2), cross=None, around=(1, 1, 1), hear=None,
):  # fmt: skip
    """The pre-norm layer with its parts open to slips: which norm where, cross-attention, ways round, first hearing."""
    hear = hear or (lambda Z, Y: self_attend(Z, Z, Z))
    cross = cross or (lambda Z, Y: cross_attend(Z, memory, memory))
    X = around[0] * Y + hear(norms[order[0]](Y), Y)
    X = around[1] * X + cross(norms[order[1]](X), X)
    return around[2] * X + feed_forward(norms[order[2]](X))


def _post_norm(Y, memory, self_attend, cross_attend, feed_forward, norms):
    Y = norms[0](Y + self_attend(Y, Y, Y))
    Y = norms[1](Y + cross_attend(Y, memory, memory))
    return norms[2](Y + feed_forward(Y))


def _normed_round(Y, memory, self_attend, cross_attend, feed_forward, norms):
    Z = norms[0](Y)
    Z = norms[1](Z + self_attend(Z, Z, Z))
    Z = norms[2](Z + cross_attend(Z, memory, memory))
    return Z + feed_forward(Z)


def _cross_first(Y, memory, self_attend, cross_attend, feed_forward, norms):
    Y = Y + cross_attend(norms[0](Y), memory, memory)
    Z = norms[1](Y)
    Y = Y + self_attend(Z, Z, Z)
    return Y + feed_forward(norms[2](Y))


def _bare_feed_forward(Y, memory, self_attend, cross_attend, feed_forward, norms):
    X = _decoder(Y, memory, self_attend, cross_attend, lambda X: 0 * X, norms)
    return X + feed_forward(X)


def _not_chained(Y, memory, self_attend, cross_attend, feed_forward, norms):
    Z = norms[0](Y)
    return Y + self_attend(Z, Z, Z) + cross_attend(norms[1](Y), memory, memory) + feed_forward(norms[2](Y))


LEFT_OUT = "There is no way round {0}: what came before is replaced by what it says. Add it."
BARE = "Your {0} reads the sum without a norm. In pre-norm every sub-layer reads a norm of its own."
FORGOTTEN = "{0} is missing: the layer has three sub-layers, each added to the sum."
DECODER_SLIPS = [
    Slip(
        "post-norm",
        _post_norm,
        "That is the paper's layer, with each norm after its sum. Here the norm comes first: the sub-layer reads "
        "norm(Y), and the sum takes Y itself.",
    ),
    Slip(
        "the memory normed",
        lambda Y, M, s, c, f, n: _decoder(Y, M, s, c, f, n, cross=lambda Z, X: c(Z, n[1](M), n[1](M))),
        "You normed the memory as well. The norm of a decoder's sub-layer is for what the decoder carries; the "
        "memory comes from an encoder that has normed it already.",
    ),
    Slip(
        "cross-attention to itself",
        lambda Y, M, s, c, f, n: _decoder(Y, M, s, c, f, n, cross=lambda Z, X: c(Z, Z, Z)),
        "Your cross-attention never looks at the memory. Its keys and values come from there.",
    ),
    Slip(
        "the memory asks",
        lambda Y, M, s, c, f, n: _decoder(Y, M, s, c, f, n, cross=lambda Z, X: c(M, Z, Z)),
        "In your cross-attention the memory asks and the decoder answers. Queries come from the decoder, keys and values "
        "from the memory.",
    ),
    Slip(
        "cross-attention reads the bare sum",
        lambda Y, M, s, c, f, n: _decoder(Y, M, s, c, f, n, cross=lambda Z, X: c(X, M, M)),
        BARE.format("cross-attention"),
    ),
    Slip(
        "self-attention reads the bare sum",
        lambda Y, M, s, c, f, n: _decoder(Y, M, s, c, f, n, hear=lambda Z, Y: s(Y, Y, Y)),
        BARE.format("self-attention"),
    ),
    Slip(
        "only the queries normed",
        lambda Y, M, s, c, f, n: _decoder(Y, M, s, c, f, n, hear=lambda Z, Y: s(Z, Y, Y)),
        "In self-attention your queries are normed, keys and values are not. All three are the normed Y.",
    ),
    Slip("the feed-forward network reads the bare sum", _bare_feed_forward, BARE.format("feed-forward network")),
    Slip(
        "one norm for all",
        lambda *a: _decoder(*a, order=(0, 0, 0)),
        "You used the first norm three times. Each sub-layer has its own, with γ and β of its own.",
    ),
    Slip(
        "norms in another order",
        lambda *a: _decoder(*a, order=(0, 2, 1)),
        "The second and third norm changed places. They come in the order of the sub-layers: self-attention, "
        "cross-attention, feed-forward.",
    ),
    Slip("a residual left out", lambda *a: _decoder(*a, around=(0, 1, 1)), LEFT_OUT.format("self-attention")),
    Slip("a residual left out", lambda *a: _decoder(*a, around=(1, 0, 1)), LEFT_OUT.format("cross-attention")),
    Slip("a residual left out", lambda *a: _decoder(*a, around=(1, 1, 0)), LEFT_OUT.format("the feed-forward network")),
    Slip(
        "no residual at all",
        lambda *a: _decoder(*a, around=(0, 0, 0)),
        "No sub-layer has a way round. Each adds what it says to what it was given: Y = Y + …, three times.",
    ),
    Slip(
        "the normed sum goes round",
        _normed_round,
        "Your sums take the normed Y. In pre-norm the way round is free of norms: only the sub-layer reads one.",
    ),
    Slip(
        "cross-attention first",
        _cross_first,
        "Cross-attention came before self-attention. The order is self-attention, cross-attention, feed-forward.",
    ),
    Slip(
        "sub-layers side by side",
        _not_chained,
        "All three sub-layers read the Y of the beginning. Each starts from the result of the one before.",
    ),
    Slip(
        "cross-attention forgotten",
        lambda Y, M, s, c, f, n: _decoder(Y, M, s, c, f, n, cross=lambda Z, X: 0 * X),
        FORGOTTEN.format("Cross-attention"),
    ),
    Slip(
        "self-attention forgotten",
        lambda Y, M, s, c, f, n: _decoder(Y, M, s, c, f, n, hear=lambda Z, Y: 0 * Y),
        FORGOTTEN.format("Self-attention"),
    ),
    Slip(
        "the feed-forward network forgotten",
        lambda Y, M, s, c, f, n: _decoder(Y, M, s, c, lambda X: 0 * X, n),
        FORGOTTEN.format("The feed-forward network"),
    ),
]


def _decoder_parts(n: int, m: int, d: int) -> tuple:
    Y, memory = torch.randn(n, d), torch.randn(m, d)
    A, B, C, D, E = torch.randn(5, d, d) / d**0.5
    scales = [(torch.rand(d) + 0.5, torch.randn(d)) for _ in range(3)]
    norms = [lambda X, gain=gain, bias=bias: _normed(X, gain, bias, 1e-5) for gain, bias in scales]

    def self_attend(Q: Tensor, K: Tensor, V: Tensor) -> Tensor:
        seen = torch.ones(Q.shape[-2], K.shape[-2], dtype=torch.bool).tril()
        return (Q @ A @ K.mT / math.sqrt(d)).masked_fill(~seen, -torch.inf).softmax(-1) @ V

    def cross_attend(Q: Tensor, K: Tensor, V: Tensor) -> Tensor:
        return (Q @ B @ (K @ C).mT / math.sqrt(d)).softmax(-1) @ V @ D

    def feed_forward(X: Tensor) -> Tensor:
        return (X @ E).clamp(min=0) * 0.7 - 0.2

    return Y, memory, self_attend, cross_attend, feed_forward, norms


@exercise("layers.decoder-layer", answer="decoder_layer")
def decoder_layer(student, expect):
    a, b, c = _sizes(3, 3, 6)
    sizes = [(a, a, b), (b, c, a), (c, a, b + 4)]  # the first with as many words as memories: exchanged, it still runs
    expect.agrees(
        student.decoder_layer,
        _decoder,
        [_decoder_parts(*size) for size in sizes],
        "three sub-layers, each reads a norm and adds to the sum",
        DECODER_SLIPS,
        tolerance=1e-3,
        describe="the output of the layer",
    )
    expect.agrees(student.decoder_layer, _decoder, [_decoder_parts(1, 4, 2)], "one word as well", tolerance=1e-3)


# back through the norm


def _backward(X: Tensor, G: Tensor, eps: float, *, means: Callable[[Tensor], Tensor] = _mean) -> Tensor:
    s = (_variance(X) + eps).sqrt()
    Z = _centred(X) / s
    return (G - means(G) - Z * means(G * Z)) / s


def _with(X: Tensor, G: Tensor, eps: float, *, of: Callable[..., Tensor]) -> Tensor:
    s = (_variance(X) + eps).sqrt()
    return of(G, _centred(X) / s, s)


def _along(X: Tensor, G: Tensor, eps: float) -> Tensor:
    centred = X - X.mean(dim=-2, keepdim=True)
    s = (centred.square().mean(dim=-2, keepdim=True) + eps).sqrt()
    Z = centred / s
    return (G - G.mean(-2, keepdim=True) - Z * (G * Z).mean(-2, keepdim=True)) / s


BACKWARD_SLIPS = [
    Slip(
        "μ and σ held fixed",
        lambda *a: _with(*a, of=lambda G, Z, s: G / s),
        "You took μ and σ for constants. They are made of X: moving one feature moves both, and with them every "
        "other output.",
    ),
    Slip(
        "σ held fixed",
        lambda *a: _with(*a, of=lambda G, Z, s: (G - _mean(G)) / s),
        "The mean is right, and σ is held fixed. Its derivative by x_j is z_j / d: a third term, with z, is missing.",
    ),
    Slip(
        "μ held fixed",
        lambda *a: _with(*a, of=lambda G, Z, s: (G - Z * _mean(G * Z)) / s),
        "σ is right, and μ is held fixed. Its derivative by each feature is 1/d: subtract the mean of G too.",
    ),
    Slip(
        "not divided by σ",
        lambda *a: _with(*a, of=lambda G, Z, s: G - _mean(G) - Z * _mean(G * Z)),
        "The bracket is right. All of it has to be divided by √(σ² + ε), as Z is.",
    ),
    Slip(
        "divided by the variance",
        lambda *a: _with(*a, of=lambda G, Z, s: (G - _mean(G) - Z * _mean(G * Z)) / s**2),
        "The bracket is right, and it is divided by σ² + ε. Divide by the root, once.",
    ),
    Slip(
        "only G divided by σ",
        lambda *a: _with(*a, of=lambda G, Z, s: G / s - _mean(G) - Z * _mean(G * Z)),
        "Only the first of the three terms is divided by √(σ² + ε). All of them are.",
    ),
    Slip(
        "sums in place of means",
        lambda *a: _backward(*a, means=lambda X: X.sum(-1, keepdim=True)),
        "You took sums where the means belong: μ and σ² carry a 1/d each.",
    ),
    Slip(
        "no ε",
        lambda X, G, eps: _backward(X, G, 0.0),
        "Right for ε = 0; here it is larger. It stands under the root in s, and so in Z.",
    ),
    Slip(
        "a sign turned",
        lambda *a: _with(*a, of=lambda G, Z, s: (G - _mean(G) + Z * _mean(G * Z)) / s),
        "The third term is added. A longer vector makes a larger σ, and a larger σ makes Z smaller: its sign is minus.",
    ),
    Slip(
        "a sign turned",
        lambda *a: _with(*a, of=lambda G, Z, s: (G + _mean(G) - Z * _mean(G * Z)) / s),
        "The mean of G is added. μ is subtracted in Z, so its share comes with a minus.",
    ),
    Slip(
        "z without its partner",
        lambda *a: _with(*a, of=lambda G, Z, s: (G - _mean(G) - _mean(G * Z)) / s),
        "The third term lacks a factor: the mean of g·z is multiplied by each feature's own z.",
    ),
    Slip(
        "X in place of Z",
        lambda X, G, eps: _with(X, G, eps, of=lambda G, Z, s: (G - _mean(G) - X * _mean(G * X)) / s),
        "The third term holds X. The derivative of s by x_j is z_j / d, with the standardised z.",
    ),
    Slip(
        "variance unbiased",
        lambda X, G, eps: _unbiased(X, G, eps),
        "Your variance divides by d − 1, which is the default of torch.var and torch.std. In the norm it is the plain "
        "mean of the squares.",
    ),
    Slip(
        "over the words",
        _along,
        "You took the means over the words. A word's norm knows that word only: means along the last axis.",
    ),
    Slip(
        "the forward pass",
        lambda *a: _with(*a, of=lambda G, Z, s: Z),
        "That is Z, what the norm makes of X. The text asks for the way back: how L moves with X, given G.",
    ),
    Slip(
        "G is ignored",
        lambda *a: _with(*a, of=lambda G, Z, s: Z * G),
        "That is G times Z. The chain rule multiplies G with the derivative of Z by X, not with Z.",
    ),
]


def _unbiased(X: Tensor, G: Tensor, eps: float) -> Tensor:
    s = (_variance(X, 1) + eps).sqrt()
    Z = _centred(X) / s
    return (G - _mean(G) - Z * _mean(G * Z)) / s


@exercise("layers.norm-backward", answer="norm_backward", forbids=("autograd",))
def norm_backward(student, expect):
    batch, n, d = _sizes(3, 3, 7)
    inputs = [
        (torch.randn(shape) * 1.5 + 1, torch.randn(shape), eps)
        for shape, eps in (((n, d), 0.5), ((batch, d, n), 0.2), ((d, batch), 0.7))
    ]
    expect.agrees(
        student.norm_backward,
        _backward,
        inputs,
        "the gradient knows that μ and σ move with X",
        BACKWARD_SLIPS,
        tolerance=1e-4,
        describe="the gradient",
    )
    small = [(torch.randn(d + 2), torch.randn(d + 2), 1e-5), (torch.full((2, d), 3.0), torch.randn(2, d), 0.1)]
    expect.agrees(
        student.norm_backward,
        _backward,
        small,
        "one word alone, and words of equal features",
        BACKWARD_SLIPS,
        tolerance=1e-3,
        describe="the gradient",
    )
