"""Cost: what a layer asks for n words of d numbers each, and what a whole training asks for."""

from collections.abc import Callable
from typing import Literal, NamedTuple

from tfm_lib._errors import require_number, require_sizes, require_whole
from tfm_lib._shapes import checked

__all__ = [
    "Cost",
    "attention_cost",
    "convolutional_cost",
    "dilated_layers",
    "hardware_flops",
    "recurrent_cost",
    "restricted_attention_cost",
    "stacked_layers",
    "training_flops",
]

_MATRICES = {"rnn": 2, "gru": 6, "lstm": 8}  # d × d matrices that each word meets
_KEPT = {"rnn": 1, "gru": 7, "lstm": 7}  # vectors a word that PyTorch's own steps keep


class Cost(NamedTuple):
    """What one layer asks for a sentence.

    `multiplications` of its matrix products; `sequential` operations, which wait for each other;
    `path`, how many of them lie between the two words that are farthest apart, in as many layers as
    join these; `memory`, the numbers that it keeps for the backward pass beside its input and its
    parameters.

    Source: Vaswani et al. (2017), section 4, table 1.
    Differs: the table has no constant factors and no memory.
    """

    multiplications: int
    sequential: int
    path: int
    memory: int

    @property
    def layers(self) -> int:
        """How many such layers it takes to join any two words."""
        return self.path // self.sequential


def attention_cost(n: int, d: int, n_heads: int = 1, projections: int = 0) -> Cost:
    """Self-attention: 2n²d multiplications in scores and means, nd² in each d × d matrix beside.

    `projections` counts these matrices: 0 in the paper's table, 3 in `SelfAttention`, 4 in
    `MultiHeadAttention`. Each head keeps n² weights.

    Source: Vaswani et al. (2017), section 4, table 1, first row.
    """
    require_sizes(n=n)
    return restricted_attention_cost(n, d, max(n, 2), n_heads, projections)


def restricted_attention_cost(
    n: int,
    d: int,
    r: int,
    n_heads: int = 1,
    projections: int = 0,
) -> Cost:
    """Self-attention to the last `r` words only, the query itself among them: 2rnd multiplications.

    Source: Vaswani et al. (2017), section 4, table 1, last row.
    Differs: the paper's window is centred, and reaches back half as far as ours.
    """
    require_sizes(n=n, d=d, n_heads=n_heads)
    require_whole("r", r, 2)
    require_whole("projections", projections, 0)
    seen = min(r, n)
    return Cost(
        multiplications=2 * seen * n * d + projections * n * d**2,
        sequential=1,
        path=stacked_layers(n, r),
        memory=n_heads * seen * n + projections * n * d,
    )


@checked
def recurrent_cost(n: int, d: int, cell: Literal["rnn", "gru", "lstm"] = "gru") -> Cost:
    """A recurrent layer: n steps of 2, 6 or 8 products with a d × d matrix.

    Source: Vaswani et al. (2017), section 4, table 1, second row.
    """
    require_sizes(n=n, d=d)
    return Cost(_MATRICES[cell] * n * d**2, sequential=n, path=n, memory=_KEPT[cell] * n * d)


def dilated_layers(n: int, k: int) -> int:
    """⌈log_k n⌉, at least 1: convolutions over words 1, k, k² … apart that join all n words."""
    require_sizes(n=n)
    require_whole("k", k, 2)
    layers = 1
    while k**layers < n:  # whole numbers: a logarithm may come out a little above its true value
        layers += 1
    return layers


def stacked_layers(n: int, k: int) -> int:
    """⌈(n − 1)/(k − 1)⌉, at least 1: layers over the last `k` words that join all n words."""
    require_sizes(n=n)
    require_whole("k", k, 2)
    return max(1, -(-(n - 1) // (k - 1)))


@checked
def convolutional_cost(
    n: int,
    d: int,
    k: int,
    layers: Callable[[int, int], int] = dilated_layers,
) -> Cost:
    """A convolution over the last `k` words: knd² multiplications; it keeps its output.

    `layers(n, k)` says how many of them join any two words: `dilated_layers` as in the paper's
    table, or `stacked_layers`.

    Source: Vaswani et al. (2017), section 4, table 1, third row.
    """
    require_sizes(n=n, d=d)
    require_whole("k", k, 2)
    path = layers(n, k)
    require_whole("what layers(n, k) gives", path, 1)
    return Cost(k * n * d**2, sequential=1, path=path, memory=n * d)


def training_flops(n_parameters: int, n_tokens: int) -> int:
    """What a training asks for: 6 multiplications and additions for each parameter and token.

    A parameter meets a token in one multiplication and one addition forward, and in twice as many
    backward. In translation count the tokens of one side, since each token meets one of the two
    stacks. Scores and means are left out.

    Source: Kaplan et al. (2020), section 2.1.
    """
    require_sizes(n_parameters=n_parameters, n_tokens=n_tokens)
    return 6 * n_parameters * n_tokens


def hardware_flops(hours: float, n_devices: int = 8, rate: float = 9.5e12) -> float:
    """What the machines could have done meanwhile: seconds × devices × operations a second.

    The defaults are the paper's eight P100.

    Source: Vaswani et al. (2017), section 6.1 and table 2.
    """
    require_number("hours", hours, lambda hours: hours >= 0, "be a number of at least 0")
    require_sizes(n_devices=n_devices)
    require_number("rate", rate, lambda rate: rate > 0, "be a number above 0")
    return 3600 * hours * n_devices * rate
