"""The widgets of chapter `self_attention`: attention weights of any model, a word in its sentence, saturation of the softmax."""

from __future__ import annotations

import math
import re
from functools import cache
from types import MappingProxyType
from typing import Any

import numpy as np
import torch
import traitlets

from tfm_lib.attention import dot_score, scaled_dot_score
from tfm_lib.self_attention import entropy, softmax_jacobian
from tfm_lib.widgets import _figures as draw
from tfm_lib.widgets._typed import typed
from tfm_lib.widgets._attention_weights import TOLD, darkest, distributions, told
from tfm_lib.widgets.base import Numbers, Widget, Words, to_list, to_words, within

LOOKING = Words(
    title="Attention weights",
    question="Which words does each word attend to?",
    alt="Attention weights of the query “{query}”{head} over {keys} keys{most}: {shares}. Entropy {entropy:.2f} nats.{own}",
    head=" in head {head} of {heads}",
    most=", the {most} largest",
    own=" The words are the reader's own; “{query}” counts as {kind}, and the weights depend only on these kinds.",
    links="query → keys",
    heading="weights, 0 to {top:.1f}",
    headed="{heading}, head {head}",
)
CONTEXT = Words(
    title="A word in its sentence",
    question="Where does “bank” point if river and money both stand beside it?",
    shared={"axes": ["money", "water"]},
    alt="In “{sentence}”, “{word}” at {before} gathers {shares}. Its new vector is {after}{turned}.",
    turned=", turned {angle:.0f} degrees towards {axis}",
    now="{word}, now",
)
SATURATION = Words(
    title="Softmax saturation",
    question="From which d_k on is the softmax saturated, and what does the scale change?",
    shared={
        "score": "score",
        "density": "density",
        "weight": "weight",
        "key": "key",
        "query": "query {query}",
        "without": "without the scale",
        "with": "with the scale",
    },
    alt="At d_k = {d_k} the scores, {scale}{warmth}, have standard deviation {spread:.3g}. Query {query} gives its "
    "best key {best:.2f} of its weight. For the median of {queries} queries the entropy is {entropy:.2f} of {most:.2f} "
    "nats, and the Jacobian of the softmax has norm {norm:.2g}.",
    scaled="divided by √d_k",
    bare="not divided by √d_k",
    warmth=", at temperature {temperature:g}",
    scores="Scores, expected spread ±{spread:.3g}",
    weights="Weights of query {query}",
    entropy="Entropy (nats)",
    norm="Norm of the Jacobian",
    d_k="d_k (log)",
    middle="{which}, median of {queries}",
)
MOST = 12  # words in a reader's own sentence
SENTENCES = (
    "she took money to the bank",
    "she sat on the bank of the river",
    "the fish swim along the bank",
    "they robbed a bank and took the cash",
    "the bank by the river has money",
)
PLANE = {  # how much each word has to do with money, and with water; made up
    "bank": (1.2, 1.2), "money": (2.1, 0.25), "cash": (1.9, 0.55), "loan": (1.75, -0.05), "robbed": (1.3, -0.3),
    "river": (0.2, 2.15), "water": (0.55, 1.85), "fish": (-0.15, 1.75), "swim": (0.1, 1.4), "boat": (0.6, 1.5), "grass": (-0.4, 1.1),
}  # fmt: skip
KEPT = 2  # degrees that are no turn
SIZES = tuple(2**power for power in range(11))  # d_k from 1 to 1024
QUERIES, KEYS, PAIRS = 21, 10, 4000
REACH, BINS = 4, 32  # the histogram covers −4 to 4 times √d_k
SEED = 6  # gives smooth curves; those of other seeds fluctuate slightly around them


class AttentionWeights(Widget):
    """The weights of any model over a text; `value` is the row of the selected query.

    `tokens` are the queries (a sentence or a list), `weights` (n, m) or (heads, n, m) as tensor, array or
    lists, each row about 1; `key_tokens` the keys if they are other words (cross-attention).
    `value` and `head` set the initial view, by default the query with the largest weight on another word, head 0.
    The trait `weights` is always (heads, n, m).
    With `lexicon`, {kind: "words of it"}, and `scores`, the scores between kinds of words, `sentence` may
    hold the reader's own words. Words not in the lexicon belong to the last kind. `shown` are the displayed words.
    The row `guess` is not drawn before its query is selected.
    """

    _module = traitlets.Unicode("self_attention/attention_weights").tag(sync=True)
    words = LOOKING
    tokens = traitlets.List(traitlets.Unicode()).tag(sync=True)
    key_tokens = traitlets.List(traitlets.Unicode()).tag(sync=True)
    weights = Numbers().tag(sync=True)
    value = traitlets.Int(0).tag(sync=True)
    head = traitlets.Int(0).tag(sync=True)
    guess = traitlets.Int(-1).tag(sync=True)
    sentence = traitlets.Unicode("").tag(sync=True)
    kinds = traitlets.List(traitlets.Unicode()).tag(sync=True)
    lexicon = traitlets.List(traitlets.Unicode()).tag(sync=True)
    scores = Numbers().tag(sync=True)

    def __init__(
        self, tokens, weights, key_tokens=None, value=None, head=0, lexicon=MappingProxyType({}), scores=None, **kwargs
    ):
        words = to_words("tokens", tokens)
        keys = words if key_tokens is None else to_words("key_tokens", key_tokens)
        self._shape = (_heads(weights), len(words), len(keys))
        weights = _weights(weights, self._shape)
        kinds = {"kinds": list(lexicon), "lexicon": list(lexicon.values())}
        if lexicon:
            if self._shape[0] > 1 or keys != words:
                raise ValueError("lexicon must come with one head of a text that looks at itself: words ask words")
            kinds["scores"] = to_list("scores", scores, (len(lexicon), len(lexicon)))
        if value is None:
            others = np.array(weights[0])
            if keys == words:
                np.fill_diagonal(others, 0)
            value = int(others.max(axis=1).argmax())
        super().__init__(tokens=words, key_tokens=keys, weights=weights, value=value, head=head, **kinds, **kwargs)

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
        count = self._shape[0] if name == "head" else len(self.shown)
        return within(name, place, 0, count - 1, "a head " if name == "head" else "a row ")

    @traitlets.observe("sentence")
    def _fit(self, _):
        self.value = min(self.value, len(self.shown) - 1)

    @property
    def shown(self) -> list[str]:
        """The displayed queries: the words of `sentence`, or the example's."""
        return typed(self.sentence, self.tokens, MOST) if self.kinds else self.tokens

    @property
    def shown_keys(self) -> list[str]:
        """The displayed keys."""
        return self.shown if self._own else self.key_tokens

    @property
    def shown_weights(self) -> list:
        """The displayed weights, (heads, n, m); for a reader's own words, those of their kinds."""
        if not self._own:
            return self.weights
        kinds = [self._kind(word) for word in self.shown]
        scores = torch.tensor(self.scores, dtype=torch.float64)[kinds][:, kinds]
        return [scores.softmax(dim=-1).tolist()]

    @property
    def _own(self) -> bool:
        return bool(self.kinds and self.sentence.split())

    def _kind(self, word: str) -> int:
        """Return the index of the word's kind; the last one for a word that is not in the lexicon."""
        bare = _bare(word)
        return next((k for k, words in enumerate(self.lexicon) if bare in words.split(" ")), len(self.kinds) - 1)

    @property
    def row(self) -> list[float]:
        """The weights of the selected query, in the selected head."""
        return self.shown_weights[self.head][self.value]

    @property
    def alt(self) -> str:
        say, heads, keys, row = self.words, self._shape[0], len(self.shown_keys), torch.tensor(self.row).double()
        query = self.shown[self.value]
        head = {"head": self.head + 1, "heads": heads}
        return say.alt.format(
            query=query,
            head=say.head.format(**head) if heads > 1 else "",
            keys=keys,
            most=say.most.format(most=TOLD) if keys > TOLD else "",
            shares=told(self.shown_keys, self.row),
            entropy=entropy(row / row.sum()),
            own=say.own.format(query=query, kind=self.kinds[self._kind(query)]) if self._own else "",
        )

    def figure(self):
        """Draw the links of the selected query beside the weights of all."""
        say, heads, tokens, keys = self.words, self._shape[0], self.shown, self.shown_keys
        top, longest = darkest(self.shown_weights), max(len(tokens), len(keys))
        height = min(8, max(2.6, 0.27 * longest + 0.9))
        fig, (left, right) = draw.figure(1, 2, width=7.4, height=height, width_ratios=(2, 3))
        size = min(10.5, 210 / longest)
        _links(left, self, size)
        heading = say.heading.format(top=top)
        if heads > 1:
            heading = say.headed.format(heading=heading, head=self.head + 1)
        matrix = [
            [0] * len(keys) if i == self.guess != self.value and not self._own else row
            for i, row in enumerate(self.shown_weights[self.head])
        ]
        draw.heatmap(right, matrix, tokens, keys, top, heading, focus=self.value, size=size)
        return fig


class WordInContext(Widget):
    """A word as an arrow in a plane, pulled by the words beside it; `value` is the sentence, at most 12 words.

    The query, the key and the value of a word are all its vector, so this is self-attention without matrices. `focus`
    is the word that asks. `places` holds the vectors of the words in `names`; other words are the origin.
    """

    _module = traitlets.Unicode("self_attention/word_in_context").tag(sync=True)
    words = CONTEXT
    value = traitlets.Unicode(SENTENCES[0]).tag(sync=True)
    focus = traitlets.Unicode("bank").tag(sync=True)
    names = traitlets.List(traitlets.Unicode(), list(PLANE)).tag(sync=True)
    places = Numbers([list(place) for place in PLANE.values()]).tag(sync=True)
    axes = traitlets.List(traitlets.Unicode(), CONTEXT.shared["axes"]).tag(sync=True)
    sentences = traitlets.List(traitlets.Unicode(), list(SENTENCES)).tag(sync=True)

    @traitlets.validate("places")
    def _valid_places(self, proposal):
        return to_list("places", proposal["value"], (len(self.names), 2))

    @property
    def shown(self) -> list[str]:
        """The words of the sentence."""
        return typed(self.value, self.sentences[0].split(), MOST)

    @property
    def asked(self) -> int:
        """Where the word that asks stands: the first `focus`, else the first word with a place."""
        bare = [_bare(word) for word in self.shown]
        known = (i for i, word in enumerate(bare) if word in self.names)
        return bare.index(self.focus) if self.focus in bare else next(known, 0)

    @property
    def vectors(self) -> list[list[float]]:
        """The vector of each word, (n, 2)."""
        places = dict(zip(self.names, self.places))
        return [list(places.get(_bare(word), (0.0, 0.0))) for word in self.shown]

    @property
    def weights(self) -> list[float]:
        """What the asking word gives to each."""
        X = torch.tensor(self.vectors, dtype=torch.float64)
        return scaled_dot_score(X, X).softmax(dim=-1)[self.asked].tolist()

    @property
    def output(self) -> list[float]:
        """The new vector of the asking word."""
        X = torch.tensor(self.vectors, dtype=torch.float64)
        return (torch.tensor(self.weights, dtype=torch.float64) @ X).tolist()

    @property
    def turn(self) -> float:
        """Degrees from the old direction to the new one, against the clock; NaN if either vector is 0."""
        before, after = np.array(self.vectors[self.asked]), np.array(self.output)
        if min(np.linalg.norm(before), np.linalg.norm(after)) < 1e-9:
            return math.nan
        cross = before[0] * after[1] - before[1] * after[0]
        return math.degrees(math.atan2(cross, before @ after))

    @property
    def alt(self) -> str:
        say, angle = self.words, self.turn
        turned = say.turned.format(angle=abs(angle), axis=self.axes[angle > 0]) if abs(angle) >= KEPT else ""
        before, after = (f"({draw.number(x)}, {draw.number(y)})" for x, y in (self.vectors[self.asked], self.output))
        shares, word = told(self.shown, self.weights), self.shown[self.asked]
        return say.alt.format(
            sentence=" ".join(self.shown), word=word, before=before, shares=shares, after=after, turned=turned
        )

    def figure(self):
        """Draw the word's old vector and its new one, and how strongly each word pulls."""
        fig, ax = draw.figure(width=4.6, height=4.6)
        ends: dict[str, Any] = {"xlim": (-0.7, 2.7), "ylim": (-0.7, 2.7), "aspect": "equal"}
        plane = draw.Plane(ax, *self.axes, **ends)
        after, before = self.output, self.vectors[self.asked]
        for (x, y), weight in zip(self.vectors, self.weights):
            look: dict[str, Any] = {"linewidth": max(0.5, 12 * weight), "alpha": 0.35, "solid_capstyle": "round"}
            plane.line([x, after[0]], [y, after[1]], "value", **look)
        for (x, y), colour, width in ((before, "query", 1.5), (after, "value", 3)):
            look = {"color": draw.colours()[colour], "linewidth": width, "shrinkA": 0, "shrinkB": 0}
            ax.annotate("", (x, y), (0, 0), arrowprops={"arrowstyle": "->", **look})
        for i, (word, place) in enumerate(zip(self.shown, self.vectors)):
            if any(place):
                plane.dot(place[0], place[1], "query" if i == self.asked else "key")
                draw.write(ax, place[0] + 0.09, place[1] + 0.09, draw.plain(_bare(word)), ha="left")
        now = self.words.now.format(word=draw.plain(self.shown[self.asked]))
        draw.write(ax, after[0] + 0.09, after[1] - 0.14, now, "value", ha="left")
        return fig


class SoftmaxSaturation(Widget):
    """Saturation of the softmax as queries and keys grow wider; `value` is d_k, from 1 to 1024.

    `scaled` divides the scores by √d_k, `temperature` divides them once more. Queries and keys are seeded normal
    numbers; a narrower pair is a prefix of a wider one. The page holds the powers of two and the `d_k` given.
    """

    _module = traitlets.Unicode("self_attention/softmax_saturation").tag(sync=True)
    words = SATURATION
    value = traitlets.Int(64).tag(sync=True)
    scaled = traitlets.Bool(False).tag(sync=True)
    temperature = traitlets.Float(1.0).tag(sync=True)
    query = traitlets.Int(6).tag(sync=True)  # its largest weight grows with d_k most steadily, to 1.00 at 128
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
        return within("query", proposal["value"], 0, QUERIES - 1)

    @property
    def weights(self) -> list[list[float]]:
        """The weights of every query over its keys, with the current settings."""
        return self._weights(self.value, self.scaled, self.temperature).tolist()

    def _weights(self, d_k, scaled, temperature):
        scores = torch.tensor(self.scores[self.sizes.index(d_k)], dtype=torch.float64)
        return (scores / (temperature * (math.sqrt(d_k) if scaled else 1))).softmax(dim=-1)

    @property
    def spread(self) -> float:
        """The standard deviation that theory predicts for the scores that enter the softmax."""
        return (1 if self.scaled else math.sqrt(self.value)) / self.temperature

    @property
    def alt(self) -> str:
        say, p = self.words, self._weights(self.value, self.scaled, self.temperature)
        return say.alt.format(
            d_k=self.value,
            scale=say.scaled if self.scaled else say.bare,
            warmth="" if self.temperature == 1 else say.warmth.format(temperature=self.temperature),
            spread=self.spread,
            query=self.query + 1,
            best=p[self.query].max(),
            queries=QUERIES,
            entropy=entropy(p).median(),
            most=math.log(KEYS),
            norm=_norms(p).median(),
        )

    def figure(self):
        """Draw scores, weights of one query, and entropy and gradient norm against d_k."""
        say, shared = self.words, self.words.shared
        fig, ((scores, weights), (nats, norms)) = draw.figure(2, 2, width=7.4, height=5)
        edges = np.linspace(-REACH, REACH, BINS + 1) * self.spread
        counts = np.array(self.histogram[self.sizes.index(self.value)], dtype=float)
        heading = say.scores.format(spread=self.spread)
        plane = draw.Plane(scores, shared["score"], shared["density"], title=heading)
        fill = {"fill": True, "color": draw.colours()["one"], "alpha": 0.62}
        scores.stairs(counts / counts.sum() / np.diff(edges), edges, **fill)
        x = np.linspace(edges[0], edges[-1], 161)
        bell = np.exp(-((x / self.spread) ** 2) / 2) / (self.spread * math.sqrt(2 * math.pi))
        plane.line(x, bell, linewidth=1.5)
        for side in (-1, 1):
            plane.rule(x=side * self.spread, dash="--")

        p, keys = self._weights(self.value, self.scaled, self.temperature), range(1, KEYS + 1)
        weights.barh(keys, p[self.query].tolist(), color=draw.colours()["w1"])
        weights.set(xlim=(0, 1), ylim=(KEYS + 0.6, 0.4), xlabel=shared["weight"], ylabel=shared["key"], yticks=keys)
        weights.set_title(say.weights.format(query=self.query + 1))

        for ax, measure, title in ((nats, entropy, say.entropy), (norms, _norms, say.norm)):
            plane = draw.Plane(ax, say.d_k, log="x", title=title)
            for scaled, which, colour, dash in ((True, "with", "one", "-"), (False, "without", "broken", "--")):
                middle = [measure(self._weights(size, scaled, 1)).median().item() for size in self.sizes]
                name = say.middle.format(which=shared[which], queries=QUERIES)
                plane.line(self.sizes, middle, colour, dash, name)
            present = {"label": shared["query"].format(query=self.query + 1)}
            plane.dot(self.value, measure(p)[self.query].item(), **present)
            ax.set_xticks(SIZES[::2], SIZES[::2])
            ax.minorticks_off()
            ax.set(ylim=(0, None))
        look = {"fontsize": 9, "frameon": False, "labelcolor": draw.colours()["ink"]}
        fig.legend(*nats.get_legend_handles_labels(), loc="outside lower center", ncols=3, **look)
        return fig


def _bare(word: str) -> str:
    """Return the word in lower case, without what stands around it."""
    return re.sub(r"^[\W_]+|[\W_]+$", "", word.lower())


def _norms(p):
    return softmax_jacobian(p).flatten(1).norm(dim=1)


@cache
def _scores(d_k: int) -> list:
    """Return the scores of each query with its own keys, (QUERIES, KEYS), to about 1 % of their spread."""
    generator = torch.Generator().manual_seed(SEED)
    Q, K = (torch.randn(QUERIES, count, SIZES[-1], generator=generator)[..., :d_k] for count in (1, KEYS))
    return to_list("scores", dot_score(Q, K)[:, 0], (QUERIES, KEYS), digits=2 if d_k < 16 else 1)


@cache
def _histogram(d_k: int) -> list:
    """Count how many scores of PAIRS random pairs fall into each bin, in units of √d_k."""
    generator = torch.Generator().manual_seed(d_k)
    Q, K = (torch.randn(PAIRS, 1, d_k, generator=generator) for _ in "QK")
    return (dot_score(Q, K).flatten() / math.sqrt(d_k)).histc(BINS, -REACH, REACH).int().tolist()


def _axes(weights) -> int:
    try:
        return np.ndim(weights)
    except ValueError:  # rows of unequal length, which to_numpy reports
        return 2


def _heads(weights) -> int:
    return len(weights) if _axes(weights) == 3 else 1


def _weights(weights, shape) -> list:
    """Return `weights` as lists (heads, n, m) whose rows sum to 1, or raise an error that says what is allowed."""
    heads, n, m = shape
    axes = _axes(weights)
    if axes == 4:
        raise ValueError(
            f"weights must be those of one text, of shape (n, m) or (heads, n, m); they have 4 axes. "
            f"Of a batch of shape {tuple(np.shape(weights))}, pass weights[0]"
        )
    wanted = (n, m) if axes == 2 and heads == 1 else (heads if axes == 3 else "heads", n, m)
    array = distributions("weights", weights, wanted, ("head",) if heads > 1 else ())
    array = array.reshape(shape)
    return to_list("weights", array / array.sum(axis=-1, keepdims=True), shape, digits=4)


def _links(ax, widget, size):
    n, m, i = len(widget.shown), len(widget.shown_keys), widget.value
    longest, plane = max(n, m), draw.Plane(ax, title=widget.words.links)
    query_y, key_y = ([k + (longest - count) / 2 + 0.5 for k in range(count)] for count in (n, m))
    t = np.linspace(0, 1, 30)
    for j, weight in enumerate(widget.row):
        y = query_y[i] + (key_y[j] - query_y[i]) * (3 * t**2 - 2 * t**3)
        if weight >= 0.005:
            look = {"linewidth": 0.4 + 11 * weight, "alpha": 0.2 + 0.7 * math.sqrt(weight), "solid_capstyle": "round"}
            plane.line(0.36 + 0.28 * t, y, "query", **look)
    for k, (word, y) in enumerate(zip(widget.shown, query_y)):
        look = {"colour": "query", "fontweight": "bold"} if k == i else {}
        draw.write(ax, 0.34, y, draw.plain(word), ha="right", fontsize=size, **look)
    for word, y in zip(widget.shown_keys, key_y):
        draw.write(ax, 0.66, y, draw.plain(word), ha="left", fontsize=size)
    ax.set(xlim=(0, 1), ylim=(longest, 0))
    ax.axis("off")
