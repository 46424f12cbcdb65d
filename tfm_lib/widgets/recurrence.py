"""The widgets of chapter `recurrence`: the number of hops between two words, and gradient norms against distance."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import traitlets

from tfm_lib.widgets import _figures as draw
from tfm_lib.widgets.base import Numbers, Widget, Words, one_of, to_numpy, to_words, within

PATH = Words(
    title="Interaction path",
    question="How many hops does a signal need from one word to another?",
    shared={
        "kinds": {
            "rnn": "RNN",
            "window": "windows",
            "dilated": "dilated convolutions",
            "attention": "attention",
        },
        "word": ["{count} word", "{count} words"],
        "step": ["{count} step", "{count} steps"],
        "layer": ["{count} layer", "{count} layers"],
    },
    alt="From “{first}” to “{last}”, {words} apart: an RNN needs {rnn}; windows of {window} on each side, {windows}; dilated "
    "convolutions with k = {k}, {dilated}; attention, {attention}.",
)
REACH = Words(
    title="Gradient reach",
    question="How far back does the gradient of the last state reach?",
    shared={
        "word": ["{count} word", "{count} words"],
        "norm": "norm of ∂h_T/∂x_t",
        "heard": "{stage}: {heard} of {all} words reach the end",
    },
    alt="{kind}: {heard}. Norm of ∂h_T/∂x_t {stage}, {words} back, the geometric mean of the seeds: {norms}.",
    distance="distance T − t, in words",
    start="at the start",
    trained="trained",
    stage="stage {stage}",
)
SENTENCE = "The old man who sells maps at the station and knows every street of the town by heart has never left it"
LONG = (
    "Marie promised the old baker, on the first morning of the war, when the shops were still open and the children "
    "slept between the nets of the harbour, that she would keep his key until he came home, and forty years later, in "
    "a town with another name and another harbour, she put it into the hand of his grandson and smiled. Who did?"
)
FAINTEST, LOUDEST = 1e-7, 1.0  # norms drawn faintest and strongest
PALEST, TOO_LOUD = 0.07, 10  # opacity at or below the faintest norm; above this norm a word is marked as broken
ACROSS = 46  # letters per line of the static figure
KINDS = tuple(PATH.shared["kinds"])


class InteractionPath(Widget):
    """The shortest path from one word to a later one, `value` words apart, in four kinds of model.

    `tokens` is a sentence or a list of words, `word` the index of the later word (the last if None),
    `window` the words that a window sees on each side, `k` (2 to 5) the width of a causal convolution, `hop` how many
    hops the signals have made, all at the same time.
    """

    _module = traitlets.Unicode("recurrence/interaction_path").tag(sync=True)
    words = PATH
    tokens = traitlets.List(traitlets.Unicode()).tag(sync=True)
    value = traitlets.Int(12).tag(sync=True)
    word = traitlets.Int().tag(sync=True)
    window = traitlets.Int(2, min=1, max=4).tag(sync=True)
    k = traitlets.Int(3, min=2, max=5).tag(sync=True)
    hop = traitlets.Int(0, min=0).tag(sync=True)

    def __init__(self, tokens=None, value=12, word=None, **kwargs):
        words = to_words("tokens", SENTENCE if tokens is None else tokens)
        if len(words) < 2:
            raise ValueError("tokens must hold at least two words; it holds 1")
        super().__init__(tokens=words, word=len(words) - 1 if word is None else word, value=value, **kwargs)

    @traitlets.validate("tokens")
    def _valid_tokens(self, proposal):
        words = to_words("tokens", proposal["value"])
        if len(words) < 2:
            raise ValueError(f"tokens must hold at least two words; it holds {len(words)}")
        return words

    @traitlets.validate("value")
    def _valid_value(self, proposal):
        return within("value", proposal["value"], 1, len(self.tokens) - 1, "a distance ")

    @traitlets.validate("word")
    def _valid_word(self, proposal):
        return within("word", proposal["value"], 1, len(self.tokens) - 1, "a place ")

    @traitlets.observe("tokens")
    def _fit(self, change):
        """Clip the selection: a shorter sentence has fewer words and shorter paths."""
        last = len(self.tokens) - 1
        self.word, self.value = min(self.word, last), min(self.value, last)

    @traitlets.observe("value", "word")
    def _keep_inside(self, change):
        if self.word < self.value:  # the trait that was not changed follows
            if change["name"] == "value":
                self.word = self.value
            else:
                self.value = self.word

    @property
    def hops(self) -> dict[str, int]:
        """The number of steps or layers between the two words, by model."""
        return {kind: len(self._path(kind)) - 1 for kind in KINDS}

    def _path(self, kind: str) -> list[int]:
        return path(kind, self.value, window=self.window, k=self.k)

    @property
    def alt(self) -> str:
        say, hops = self.words, self.hops
        layers = {kind: _count(hops[kind], say.shared["layer"]) for kind in ("dilated", "attention")}
        return say.alt.format(
            first=self.tokens[self.word - self.value],
            last=self.tokens[self.word],
            words=_count(self.value, say.shared["word"]),
            rnn=_count(hops["rnn"], say.shared["step"]),
            window=self.window,
            windows=_count(hops["window"], say.shared["layer"]),
            k=self.k,
            **layers,
        )

    def figure(self):
        """Draw the four models below each other, each with the path through it."""
        say, n, start = self.words.shared, len(self.tokens), self.word - self.value
        fig, axes = draw.figure(rows=4, width=6.4, height=5.4)
        for ax, kind in zip(axes, KINDS):
            places = self._path(kind)
            levels = 1 if kind == "rnn" else len(places) - 1
            x = [start + place for place in places]
            y = [min(hop, levels) for hop in range(len(places))]
            if kind == "rnn":
                x, y = [start, *x], [0, 1, *y[1:]]
            hops = _count(len(places) - 1, say["step" if kind == "rnn" else "layer"])
            plane = draw.Plane(ax, title=f"{say['kinds'][kind]}: {hops}", xticks=[], yticks=[])
            grid = np.array([(i, level) for level in range(levels + 1) for i in range(n)])
            ax.scatter(*grid.T, s=4, color=draw.colours()["soft"], alpha=0.5)
            plane.line(x, y, "encoder", marker="o", markersize=3.5)
            plane.dot(x[0], y[0], "two")
            plane.dot(x[-1], y[-1], "one")
            ax.margins(y=0.2)
            ax.spines[:].set_visible(False)
        axes[-1].set_xticks([start, self.word], [draw.plain(self.tokens[start]), draw.plain(self.tokens[self.word])])
        return fig


def path(kind: str, distance: int, window: int = 2, k: int = 3) -> list[int]:
    """Return the position of a word's signal after each hop, relative to that word: from 0 to `distance`."""
    if kind == "rnn":
        return list(range(distance + 1))
    if kind == "window":
        return [min(distance, hop * window) for hop in range(math.ceil(distance / window) + 1)]
    if kind == "attention":
        return [0, distance]
    places, layer = [0], 0
    while places[-1] < distance:  # layer ℓ hops by multiples of k^ℓ: the digits of the distance in base k
        places.append(places[-1] + distance // k**layer % k * k**layer)
        layer += 1
    return places


class GradientReach(Widget):
    """A sentence whose words fade with their gradient norms ∂h_T/∂x_t, and these norms against the distance T − t.

    `reach` maps the name of a model to its norms, one array (seeds, distances) for each of `stages`; all above 0.
    `distances` counts words, 1, 2, … if None. Without `reach` it shows the recorded run of chapter `recurrence`.
    Norms below `floor` are drawn at the lower edge. `value` is the distance, `kind` the model; `stage` is that of the
    curves. Of `tokens`, a sentence or a list of words, as many are shown as there are distances, and the last.
    """

    _module = traitlets.Unicode("recurrence/gradient_reach").tag(sync=True)
    words = REACH
    reach = traitlets.Dict().tag(sync=True)
    kinds = traitlets.List(traitlets.Unicode()).tag(sync=True)  # the order of reach, which a page's JSON may not keep
    stages = traitlets.List(traitlets.Unicode()).tag(sync=True)
    distances = Numbers().tag(sync=True)
    value = traitlets.Int(32).tag(sync=True)
    kind = traitlets.Unicode().tag(sync=True)
    stage = traitlets.Unicode().tag(sync=True)
    floor = traitlets.Float(1e-25).tag(sync=True)
    tokens = traitlets.List(traitlets.Unicode()).tag(sync=True)

    def __init__(
        self, reach: Mapping[str, Any] | None = None, distances=None, stages=None, value=32, tokens=None, **kwargs
    ):
        say = self.words
        if reach is None:
            reach, distances, stages = recorded_reach()
        if not reach:
            raise ValueError("reach must hold at least one model; it is empty")
        arrays = {name: [_norms(f"reach[{name!r}]", rows) for rows in _stages(rows)] for name, rows in reach.items()}
        shapes = {(*rows[0].shape[1:], len(rows)) for rows in arrays.values()}
        if len(shapes) > 1:
            raise ValueError("reach must hold as many stages and distances for every model; they differ")
        (count, depth) = shapes.pop()
        stages = list(
            stages or ([say.start, say.trained] if depth == 2 else [say.stage.format(stage=i) for i in range(depth)])
        )
        if len(stages) != depth:
            raise ValueError(f"stages must name the {depth} stages of reach; it names {len(stages)}")
        distances = list(range(1, count + 1)) if distances is None else to_numpy("distances", distances, (count,))
        distances = [int(distance) for distance in distances]
        rounded = {name: [[_significant(row) for row in rows] for rows in both] for name, both in arrays.items()}
        kinds = list(rounded)
        if value < 1:
            raise ValueError(f"value must be a distance, at least 1; it is {value}")
        nearest = distances[int(np.abs(np.array(distances) - value).argmin())]
        words = to_words("tokens", LONG if tokens is None else tokens)[-distances[-1] - 1 :]
        first = {"kind": kinds[0], "stage": stages[0], "tokens": words}
        super().__init__(
            reach=rounded, kinds=kinds, distances=distances, stages=stages, value=nearest, **{**first, **kwargs}
        )

    @traitlets.validate("value")
    def _valid_value(self, proposal):
        return within("value", proposal["value"], self.distances[0], self.distances[-1], "a distance ")

    @traitlets.validate("kind")
    def _valid_kind(self, proposal):
        return one_of("kind", proposal["value"], self.kinds)

    @traitlets.validate("stage")
    def _valid_stage(self, proposal):
        return one_of("stage", proposal["value"], self.stages)

    def summary(self, kind: str, stage: str) -> dict[str, np.ndarray]:
        """Return geometric mean, minimum and maximum over the seeds, for each distance."""
        rows = np.array(self.reach[kind][self.stages.index(stage)])
        return {"mean": np.exp(np.log(rows).mean(0)), "low": rows.min(0), "high": rows.max(0)}

    def words_heard(self, stage: str) -> list[float]:
        """Return the norm of each word of the sentence but the last, at the nearest measured distance."""
        mean = self.summary(self.kind, stage)["mean"]
        back = np.arange(len(self.tokens) - 1, 0, -1)
        return mean[np.abs(np.array(self.distances)[:, None] - back).argmin(axis=0)].tolist()

    def _heard(self, stage: str) -> str:
        norms = self.words_heard(stage)
        heard = sum(norm > FAINTEST for norm in norms)
        return self.words.shared["heard"].format(stage=stage, heard=heard, all=len(norms))

    @property
    def alt(self) -> str:
        i = int(np.abs(np.array(self.distances) - self.value).argmin())
        heard = "; ".join(self._heard(stage) for stage in self.stages)
        norms = ", ".join(f"{kind} {self.summary(kind, self.stage)['mean'][i]:.2g}" for kind in self.kinds)
        words = _count(self.distances[i], self.words.shared["word"])
        return self.words.alt.format(kind=self.kind, heard=heard, stage=self.stage, words=words, norms=norms)

    def figure(self):
        """Draw for each stage the sentence, and below it one line for each model, with the range of the seeds."""
        size: dict[str, Any] = {
            "rows": 2,
            "cols": len(self.stages),
            "width": 7.2,
            "height": 5.2,
            "height_ratios": [2, 3],
        }
        fig, (sentences, axes) = draw.figure(**size, squeeze=False)
        for ax, stage in zip(sentences, self.stages):
            self._draw_words(ax, stage)
        cycle = ["ink", "encoder", "decoder", "two", "three"]
        plain = [kind for kind in self.kinds if "×" not in kind and kind != "attention"]
        looks = {kind: (cycle[i % len(cycle)], "--") for i, kind in enumerate(plain)} | {"attention": ("one", "-")}
        planes = [draw.Plane(ax, self.words.distance, log="y", title=stage) for ax, stage in zip(axes, self.stages)]
        for plane, stage in zip(planes, self.stages):
            for kind in self.kinds:
                colour, dash = looks.get(kind, ("broken", "-."))
                found = {name: np.maximum(norms, self.floor) for name, norms in self.summary(kind, stage).items()}
                plane.band(self.distances, found["low"], found["high"], colour, alpha=0.15)
                plane.line(self.distances, found["mean"], colour, dash, kind)
            plane.rule(x=self.value)
        low, high = (f([plane.ax.get_ylim()[i] for plane in planes]) for i, f in enumerate((min, max)))
        for plane in planes:
            plane.ax.set_ylim(low, high)
        planes[0].ax.set(ylabel=self.words.shared["norm"])
        planes[0].key(fontsize=8.5)
        return fig

    def _draw_words(self, ax, stage: str) -> None:
        """Draw the sentence in lines of a fixed width, each word with an opacity that shows its norm."""
        draw.bare(ax)
        ax.set(xlim=(0, ACROSS), ylim=(10, 0), xticks=[], yticks=[])
        ax.set_title(self._heard(stage), fontsize=9)
        x, y = 0, 0.7
        for word, norm in zip(self.tokens, [*self.words_heard(stage), LOUDEST]):
            if x + len(word) > ACROSS:
                x, y = 0, y + 1
            strong = float(strength(norm))
            look = {"fontfamily": "monospace", "fontsize": 7.5, "alpha": PALEST + (1 - PALEST) * strong}
            draw.write(ax, x, y, draw.plain(word), "ink" if norm <= TOO_LOUD else "broken", "left", **look)
            x += len(word) + 1


def strength(norm: float) -> float:
    """Return the strength of a word with that norm, from 0 to 1, on a logarithmic scale."""
    return np.clip(np.log(norm / FAINTEST) / np.log(LOUDEST / FAINTEST), 0, 1)


def recorded_reach(every: int = 1) -> tuple[dict[str, list], list[int], list[str]]:
    """Return norms, distances and stages of the recorded run, with every `every`-th distance."""
    from tfm_lib.drawing import recorded

    run = recorded("recurrence_reach")
    names = {"rnn": "RNN", "rnn ×4": "RNN, U × 4", "lstm": "LSTM", "gru": "GRU"}
    keep = slice(None, None, every)
    reach = {
        names.get(kind, kind): [[row[keep] for row in found[stage]] for stage in ("start", "trained")]
        for kind, found in run["kinds"].items()
    }
    return reach, run["distances"][keep], [REACH.start, REACH.trained]


def _stages(rows: Any) -> list:
    """Return the arrays of one model as a list, also if it was given as one array for a single stage."""
    return list(rows) if np.ndim(rows[0]) == 2 else [rows]


def _norms(name: str, rows: Any) -> np.ndarray:
    array = to_numpy(name, rows, ("seeds", "distances"))
    if (array <= 0).any():
        raise ValueError(f"{name} must be above 0, for a logarithmic scale; it holds {array.min():.3g}")
    return array


def _significant(row: np.ndarray) -> list[float]:
    return [float(f"{norm:.3g}") for norm in row]


def _count(number: int, forms: Sequence[str]) -> str:
    """Choose between two forms: singular, and any other number."""
    return forms[number != 1].format(count=number)
