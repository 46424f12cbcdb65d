"""Attention weights of any model, to look through; and what becomes of the softmax as scores spread."""

from __future__ import annotations

import math
from functools import cache

import numpy as np
import torch
import traitlets

from tfm_lib.attention import dot_score
from tfm_lib.self_attention import entropy, softmax_jacobian
from tfm_lib.widgets.base import Numbers, Widget, to_list, to_numpy, to_words

TOLD = 5  # keys that a sentence names
ROW_SUM = 0.02  # how far a row may be from 1: weights in half precision or rounded to two digits still pass

SIZES = tuple(2**power for power in range(11))  # d_k from 1 to 1024
QUERIES, KEYS, PAIRS = 21, 10, 4000
REACH, BINS = 4, 32  # the histogram goes from −4 to 4 times √d_k
SEED = 6  # its curves are smooth; those of other seeds zigzag a little around them


class AttentionWeights(Widget):
    """The weights of any model over a text; `value` is the row of the query that is looked at.

    `tokens` are the queries (a sentence or a list), `weights` (n, m) or (heads, n, m) as tensor, array or
    lists, each row about 1; `key_tokens` the keys where they are other words (cross-attention).
    `value` and `head` choose what is shown first: the query that looks hardest at another word, head 0.
    The trait `weights` is always (heads, n, m); `one_is` says what one of them is called, where it is no head.
    """

    _module = traitlets.Unicode("self_attention/attention_weights").tag(sync=True)
    title = traitlets.Unicode("Attention weights").tag(sync=True)
    question = traitlets.Unicode("Which words does each word look at?").tag(sync=True)
    tokens = traitlets.List(traitlets.Unicode()).tag(sync=True)
    key_tokens = traitlets.List(traitlets.Unicode()).tag(sync=True)
    weights = Numbers().tag(sync=True)
    value = traitlets.Int(0).tag(sync=True)
    head = traitlets.Int(0).tag(sync=True)
    one_is = traitlets.Unicode("head").tag(sync=True)

    def __init__(self, tokens, weights, key_tokens=None, value=None, head=0, **kwargs):
        words = to_words("tokens", tokens)
        keys = words if key_tokens is None else to_words("key_tokens", key_tokens)
        self._shape = (_heads(weights), len(words), len(keys))
        weights = _weights(weights, self._shape)
        if value is None:
            others = np.array(weights[0])
            if keys == words:
                np.fill_diagonal(others, 0)
            value = int(others.max(axis=1).argmax())
        super().__init__(tokens=words, key_tokens=keys, weights=weights, value=value, head=head, **kwargs)

    @traitlets.validate("tokens", "key_tokens")
    def _valid_words(self, proposal):
        axis = 1 if proposal["trait"].name == "tokens" else 2
        return to_words(proposal["trait"].name, proposal["value"], count=self._shape[axis])

    @traitlets.validate("weights")
    def _valid_weights(self, proposal):
        return _weights(proposal["value"], self._shape)

    @traitlets.validate("value", "head")
    def _valid_place(self, proposal):
        name, place = proposal["trait"].name, proposal["value"]
        count = self._shape[0 if name == "head" else 1]
        if not 0 <= place < count:
            what = "a head" if name == "head" else "a row"
            raise ValueError(f"{name} must be {what} from 0 to {count - 1}; it is {place}")
        return place

    @property
    def row(self) -> list[float]:
        """The weights of the query that is looked at, in the present head."""
        return self.weights[self.head][self.value]

    @property
    def alt(self) -> str:
        heads, _, keys = self._shape
        row = torch.tensor(self.row, dtype=torch.float64)
        told = row.argsort(descending=True, stable=True)[:TOLD].tolist()
        shares = ", ".join(f"{self.key_tokens[j]} {row[j]:.2f}" for j in told)
        place = f" in {self.one_is} {self.head + 1} of {heads}" if heads > 1 else ""
        largest = "" if keys <= TOLD else f", the {TOLD} largest"
        return (
            f"Attention weights of the query “{self.tokens[self.value]}”{place} over {keys} keys{largest}: {shares}. "
            f"Entropy {entropy(row / row.sum()):.2f} nats."
        )

    def figure(self):
        """The links of the present query beside the weights of all."""
        from tfm_lib.book.display import figure

        _, n, m = self._shape
        longest = max(n, m)
        fig, (left, right) = figure(1, 2, width=7.4, height=min(8, max(2.6, 0.27 * longest + 0.9)), width_ratios=(2, 3))
        size = min(10.5, 210 / longest)
        _links(left, self, size)
        _matrix(right, self, size)
        return fig


class SoftmaxSaturation(Widget):
    """What becomes of the softmax as queries and keys grow wider; `value` is d_k, from 1 to 1024.

    `scaled` divides the scores by √d_k, `temperature` divides them once more. Queries and keys are seeded normal
    numbers; a narrower pair is the beginning of a wider one. The page holds the powers of two and the `d_k` given.
    """

    _module = traitlets.Unicode("self_attention/softmax_saturation").tag(sync=True)
    title = traitlets.Unicode("Softmax saturation").tag(sync=True)
    question = traitlets.Unicode("At which d_k has the softmax made up its mind, and what does the scale change?").tag(
        sync=True
    )
    value = traitlets.Int(64).tag(sync=True)
    scaled = traitlets.Bool(False).tag(sync=True)
    temperature = traitlets.Float(1.0).tag(sync=True)
    query = traitlets.Int(7).tag(sync=True)  # near the middle of all, at most d_k
    sizes = traitlets.List(traitlets.Int()).tag(sync=True)
    scores = Numbers().tag(sync=True)
    histogram = Numbers().tag(sync=True)
    reach = traitlets.Float(REACH).tag(sync=True)

    def __init__(self, d_k=64, scaled=False, temperature=1.0, **kwargs):
        d_k = kwargs.pop("value", d_k)
        if isinstance(d_k, bool) or not isinstance(d_k, int) or not 1 <= d_k <= SIZES[-1]:
            raise ValueError(f"d_k must be a whole number from 1 to {SIZES[-1]}; it is {d_k!r}")
        sizes = tuple(sorted({*SIZES, d_k}))
        super().__init__(
            sizes=list(sizes),
            scores=[_scores(size) for size in sizes],
            histogram=[_histogram(size) for size in sizes],
            value=d_k,
            scaled=scaled,
            temperature=temperature,
            **kwargs,
        )

    @traitlets.validate("value")
    def _valid_value(self, proposal):
        if proposal["value"] not in self.sizes:
            raise ValueError(
                f"value must be one of the d_k that this widget holds, {', '.join(map(str, self.sizes))}; "
                f"it is {proposal['value']}. SoftmaxSaturation(d_k={proposal['value']}) makes a widget that holds it"
            )
        return proposal["value"]

    @traitlets.validate("temperature")
    def _valid_temperature(self, proposal):
        if not (math.isfinite(proposal["value"]) and proposal["value"] > 0):
            raise ValueError(f"temperature must be greater than 0; it is {proposal['value']}")
        return proposal["value"]

    @traitlets.validate("query")
    def _valid_query(self, proposal):
        if not 0 <= proposal["value"] < QUERIES:
            raise ValueError(f"query must be from 0 to {QUERIES - 1}; it is {proposal['value']}")
        return proposal["value"]

    @property
    def weights(self) -> list[list[float]]:
        """The weights of every query over its keys, as set."""
        return self._weights(self.value, self.scaled, self.temperature).tolist()

    def _weights(self, d_k, scaled, temperature):
        scores = torch.tensor(self.scores[self.sizes.index(d_k)], dtype=torch.float64)
        return (scores / (temperature * (math.sqrt(d_k) if scaled else 1))).softmax(dim=-1)

    @property
    def spread(self) -> float:
        """The standard deviation that theory expects of the scores that the softmax gets."""
        return (1 if self.scaled else math.sqrt(self.value)) / self.temperature

    @property
    def alt(self) -> str:
        p = self._weights(self.value, self.scaled, self.temperature)
        nats, norms = entropy(p), softmax_jacobian(p).flatten(1).norm(dim=1)
        scale = "divided by √d_k" if self.scaled else "not divided by √d_k"
        warmth = "" if self.temperature == 1 else f", at temperature {self.temperature:g}"
        return (
            f"At d_k = {self.value} the scores, {scale}{warmth}, spread with standard deviation {self.spread:.3g}. "
            f"Query {self.query + 1} gives its best key {p[self.query].max():.2f} of its weight. In the middle of "
            f"{QUERIES} queries the entropy is {nats.median():.2f} of {math.log(KEYS):.2f} nats, "
            f"and the Jacobian of the softmax has norm {norms.median():.2g}."
        )

    def figure(self):
        """Scores, weights of one query, and entropy and gradient norm against d_k."""
        from tfm_lib.book.display import colours, figure

        fig, ((scores, weights), (nats, norms)) = figure(2, 2, width=7.4, height=5)
        edges = np.linspace(-REACH, REACH, BINS + 1) * self.spread
        counts = np.array(self.histogram[self.sizes.index(self.value)], dtype=float)
        scores.stairs(counts / counts.sum() / np.diff(edges), edges, fill=True, color=colours()["query"], alpha=0.62)
        x = np.linspace(edges[0], edges[-1], 161)
        bell = np.exp(-((x / self.spread) ** 2) / 2) / (self.spread * math.sqrt(2 * math.pi))
        scores.plot(x, bell, color=colours()["ink"], linewidth=1.5)
        for side in (-1, 1):
            scores.axvline(side * self.spread, color=colours()["soft"], linestyle="--", linewidth=1)
        scores.set(title=f"Scores, expected spread ±{self.spread:.3g}", xlabel="score", ylabel="density")

        p = self._weights(self.value, self.scaled, self.temperature)
        weights.barh(range(1, KEYS + 1), p[self.query].tolist(), color=colours()["w1"])
        weights.set(
            title=f"Weights of query {self.query + 1}",
            xlabel="weight",
            ylabel="key",
            xlim=(0, 1),
            ylim=(KEYS + 0.6, 0.4),
        )
        weights.set_yticks(range(1, KEYS + 1))

        for ax, measure, title in ((nats, entropy, "Entropy (nats)"), (norms, _norms, "Norm of the Jacobian")):
            for name, scaled, line in (("with the scale", True, "-"), ("without", False, "--")):
                middle = [measure(self._weights(size, scaled, 1)).median().item() for size in self.sizes]
                ax.plot(
                    self.sizes,
                    middle,
                    line,
                    color=colours()["query" if scaled else "broken"],
                    label=f"{name}, middle of {QUERIES}",
                )
            ax.plot(
                [self.value],
                [measure(p)[self.query].item()],
                "o",
                color=colours()["ink"],
                label=f"query {self.query + 1}",
            )
            ax.set(xscale="log", xlabel="d_k (log)", title=title, ylim=(0, None))
            ax.set_xticks(SIZES[::2], SIZES[::2])
            ax.minorticks_off()
        look = {"fontsize": 9, "frameon": False, "labelcolor": colours()["ink"]}
        fig.legend(*nats.get_legend_handles_labels(), loc="outside lower center", ncols=3, **look)
        return fig


def _norms(p):
    return softmax_jacobian(p).flatten(1).norm(dim=1)


@cache
def _scores(d_k: int) -> list:
    """The scores of each query with its own keys, (QUERIES, KEYS), to about 1 % of their spread."""
    generator = torch.Generator().manual_seed(SEED)
    Q, K = (torch.randn(QUERIES, count, SIZES[-1], generator=generator)[..., :d_k] for count in (1, KEYS))
    return to_list("scores", dot_score(Q, K)[:, 0], (QUERIES, KEYS), digits=2 if d_k < 16 else 1)


@cache
def _histogram(d_k: int) -> list:
    """How many scores of PAIRS random pairs fall into each bin, in units of √d_k."""
    generator = torch.Generator().manual_seed(d_k)
    Q, K = (torch.randn(PAIRS, 1, d_k, generator=generator) for _ in "QK")
    return (dot_score(Q, K).flatten() / math.sqrt(d_k)).histc(BINS, -REACH, REACH).int().tolist()


def _axes(weights) -> int:
    try:
        return np.ndim(weights)
    except ValueError:  # rows of unequal length, of which to_numpy tells
        return 2


def _heads(weights) -> int:
    return len(weights) if _axes(weights) == 3 else 1


def _weights(weights, shape) -> list:
    """`weights` as lists of shape (heads, n, m) whose rows sum to 1, or an error that says what they may be instead."""
    heads, n, m = shape
    axes = _axes(weights)
    if axes == 4:
        raise ValueError(
            f"weights must be those of one text, of shape (n, m) or (heads, n, m); they have 4 axes. "
            f"Of a batch of shape {tuple(np.shape(weights))}, pass weights[0]"
        )
    array = to_numpy(
        "weights", weights, (n, m) if axes == 2 and heads == 1 else (heads if axes == 3 else "heads", n, m)
    )
    array = array.reshape(shape)
    if array.min() < 0:
        raise ValueError(
            f"weights must be at least 0; the smallest is {array.min():.3g}. Are they scores before the softmax?"
        )
    sums = array.sum(axis=-1)
    if (far := np.abs(sums - 1)).max() > ROW_SUM:
        head, row = np.unravel_index(far.argmax(), far.shape)
        raise ValueError(
            f"each row of weights must sum to about 1; row {row}{f' of head {head}' if heads > 1 else ''} "
            f"sums to {sums[head, row]:.3g}. {_guess(array)}"
        )
    return to_list("weights", array / sums[..., None], shape, digits=4)


def _guess(array) -> str:
    if np.abs(array.sum(axis=-2) - 1).max() <= ROW_SUM:
        return "The columns do: rows must be queries, so pass the transpose of the last two axes"
    return "Was the text cut, or dropout still on (model.eval() turns it off)?"


def _links(ax, widget, size):
    from tfm_lib.book.display import colours

    n, m, i = len(widget.tokens), len(widget.key_tokens), widget.value
    longest = max(n, m)
    query_y, key_y = ([k + (longest - count) / 2 + 0.5 for k in range(count)] for count in (n, m))
    t = np.linspace(0, 1, 30)
    for j, weight in enumerate(widget.row):
        y = query_y[i] + (key_y[j] - query_y[i]) * (3 * t**2 - 2 * t**3)
        if weight >= 0.005:
            look = {"linewidth": 0.4 + 11 * weight, "alpha": 0.2 + 0.7 * math.sqrt(weight), "solid_capstyle": "round"}
            ax.plot(0.36 + 0.28 * t, y, color=colours()["query"], **look)
    for k, (word, y) in enumerate(zip(widget.tokens, query_y)):
        focused = {"color": colours()["query"], "fontweight": "bold"} if k == i else {"color": colours()["ink"]}
        ax.text(0.34, y, _escape(word), ha="right", va="center", fontsize=size, **focused)
    for word, y in zip(widget.key_tokens, key_y):
        ax.text(0.66, y, _escape(word), ha="left", va="center", fontsize=size, color=colours()["ink"])
    ax.set(xlim=(0, 1), ylim=(longest, 0), title="query → keys")
    ax.axis("off")


def _matrix(ax, widget, size):
    """Cells of the darkest colour, more or less transparent, so that they follow the scheme of the page."""
    from matplotlib.colors import to_rgba

    from tfm_lib.book.display import colours

    weights = np.array(widget.weights[widget.head])
    n, m = weights.shape
    top = math.ceil(10 * np.max(widget.weights) - 1e-9) / 10
    for (i, j), weight in np.ndenumerate(weights):
        if weight >= 0.002:
            cell = to_rgba(colours()["w1"], weight / top)
            ax.add_patch(_cell(j + 0.04, i + 0.04, 0.92, 0.92, facecolor=cell))
    ax.add_patch(_cell(0, 0, m, n, facecolor=colours()["w0"], zorder=0))
    ax.add_patch(
        _cell(-0.05, widget.value - 0.05, m + 0.1, 1.1, fill=False, edgecolor=colours()["query"], linewidth=1.2)
    )
    ax.set(
        xticks=np.arange(m) + 0.5, yticks=np.arange(n) + 0.5, xlim=(-0.1, m + 0.1), ylim=(n + 0.1, -0.1), aspect="equal"
    )
    keys, queries = ([_escape(word) for word in words] for words in (widget.key_tokens, widget.tokens))
    ax.set_xticklabels(keys, rotation=45, ha="left", rotation_mode="anchor", color=colours()["key"], fontsize=size)
    ax.set_yticklabels(queries, color=colours()["query"], fontsize=size)
    ax.xaxis.tick_top()
    ax.tick_params(length=0)
    ax.spines[:].set_visible(False)
    ax.set_title(
        f"weights, 0 to {top:.1f}" + (f", {widget.one_is} {widget.head + 1}" if len(widget.weights) > 1 else "")
    )


def _cell(x, y, width, height, **look):
    from matplotlib.patches import Rectangle

    return Rectangle((x, y), width, height, **{"linewidth": 0, **look})


def _escape(word: str) -> str:
    """A dollar sign in a token is no formula."""
    return word.replace("$", r"\$")
