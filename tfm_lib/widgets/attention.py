"""The widget of chapter `attention`: a soft look-up of a query among keys, with weights and the mean of the values."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
import traitlets

from tfm_lib.attention import AdditiveScore, BilinearScore, dot_score, scaled_dot_score
from tfm_lib.widgets import _figures as draw
from tfm_lib.widgets.base import Numbers, Widget, Words, one_of, to_list, to_words

WORDS = Words(
    title="Soft look-up",
    question="Where must the query stand so that two keys get the same weight?",
    shared={"query": "query", "output": "output", "axes": ["first number", "second number"]},
    alt="A query at {query} among {keys} keys ({how}{heat}) gets the weights {shares}; the output, the "
    "weighted mean of the values, is {output}.",
    uniform="the same share for every key",
    score="score {score}",
    heat=", temperature {temperature:g}",
    compare="Compare: weights of the keys",
    mix="Mix: output {output}",
    first="first number of the value",
    second="second number",
    value="value",
    price="value: price in € per kilo",
    weight="weight",
    key="k{number}",
)
SCORES = ("dot", "scaled dot", "bilinear", "additive")
FRUIT = {"lemon": (-1.4, 1.6), "green apple": (1.0, 1.0), "strawberry": (1.8, -0.8)}  # sweet, sour
PRICES = [[2.0], [3.0], [9.0]]


class SoftLookup(Widget):
    """A draggable query among keys in the plane; `value` is the query, [x, y].

    `keys` is (m, 2), `values` (m,), (m, 1) or (m, 2); as traits they are called `K` and `V`. Without
    keys, there are three fruits, sweet and sour, and their prices; without values the keys are the values.
    `worth` names the values on their axis, if each is a single number. `score` is dot, scaled dot, bilinear or
    additive; the last two have seeded matrices, or pass your own `BilinearScore(2, 2)` or
    `AdditiveScore(2, 2, d_hidden)` instead of the name. The scores are divided by `temperature`: near 0 the
    look-up is hard. `uniform` gives every key the same weight.
    """

    _module = traitlets.Unicode("attention/soft_lookup").tag(sync=True)
    words = WORDS
    K = Numbers().tag(sync=True)  # not `keys`, which every ipywidget has already: the names of its traits
    V = Numbers().tag(sync=True)
    labels = traitlets.List(traitlets.Unicode()).tag(sync=True)
    axes = traitlets.List(traitlets.Unicode()).tag(sync=True)
    worth = traitlets.Unicode().tag(sync=True)
    value = Numbers().tag(sync=True)
    score = traitlets.Unicode("scaled dot").tag(sync=True)
    parameters = traitlets.Dict().tag(sync=True)
    temperature = traitlets.Float(1.0).tag(sync=True)
    uniform = traitlets.Bool(False).tag(sync=True)

    def __init__(self, keys=None, values=None, query=(0.6, 0.2), score="scaled dot", labels=None, axes=None, **kwargs):
        if keys is None:
            keys, labels, axes = list(FRUIT.values()), labels or list(FRUIT), axes or ["sweet", "sour"]
            if values is None:
                values, kwargs = PRICES, {"worth": self.words.price, **kwargs}
        K = to_list("keys", keys, ("m", 2))
        parameters = _seeded()
        if isinstance(score, torch.nn.Module):
            own, score = score, _name_of(score)
            parameters |= _matrices(own)
        super().__init__(
            K=K,
            V=_values("values", K if values is None else values, len(K)),
            labels=to_words("labels", self._letters(len(K)) if labels is None else labels, len(K)),
            axes=to_words("axes", axes or self.words.shared["axes"], 2),
            value=to_list("query", query, (2,)),
            score=score,
            parameters=parameters,
            **{"worth": self.words.value, **kwargs},
        )

    @property
    def scores(self) -> list[float]:
        """The score of each key, before division by the temperature."""
        return self._look_up()[0].tolist()

    @property
    def weights(self) -> list[float]:
        """The attention weight of each key."""
        return self._look_up()[1].tolist()

    @property
    def output(self) -> list[float]:
        """The mean of the values under these weights."""
        return self._look_up()[2].tolist()

    def _look_up(self):
        Q, K, V = (torch.tensor(rows, dtype=torch.float64) for rows in ([self.value], self.K, self.V))
        with torch.no_grad():
            scores = score_function(self.score, self.parameters)(Q, K)
        weights = (scores / self.temperature).softmax(dim=-1)
        if self.uniform:
            weights = torch.full_like(weights, 1 / len(K))
        return scores[0], weights[0], (weights @ V)[0]

    @traitlets.validate("value")
    def _valid_value(self, proposal):
        return to_list("value", proposal["value"], (2,))

    @traitlets.validate("K")
    def _valid_keys(self, proposal):
        return to_list("K", proposal["value"], (len(self.labels), 2))

    @traitlets.validate("V")
    def _valid_values(self, proposal):
        rows = _values("V", proposal["value"], len(self.labels))
        if len(rows[0]) != (d_v := len(self.V[0])):  # the drawing assumes one d_v
            raise ValueError(f"V must keep its shape ({len(rows)}, {d_v}); it has shape ({len(rows)}, {len(rows[0])})")
        return rows

    @traitlets.validate("score")
    def _valid_score(self, proposal):
        return one_of("score", proposal["value"], SCORES)

    @traitlets.validate("temperature")
    def _valid_temperature(self, proposal):
        if not 0 < proposal["value"] < np.inf:
            raise ValueError(f"temperature must be positive and finite; it is {proposal['value']}")
        return proposal["value"]

    @property
    def alt(self) -> str:
        say = self.words
        shares = ", ".join(f"{label} {weight:.2f}" for label, weight in zip(self.labels, self.weights))
        how = say.uniform if self.uniform else say.score.format(score=self.score)
        heat = "" if self.uniform or self.temperature == 1 else say.heat.format(temperature=self.temperature)
        place = {"query": _point(self.value), "output": _point(self.output)}
        return say.alt.format(keys=len(self.K), how=how, heat=heat, shares=shares, **place)

    def figure(self):
        """Draw the query among the keys, and the output among the values; line widths show the weights."""
        say, weights, output = self.words, self.weights, self.output
        fig, (left, right) = draw.figure(1, 2, width=7.2, height=3.7)
        reach = 1.5 * max(np.abs(self.K).max(), np.abs(self.value).max() / 1.4, 1e-9)
        wide: dict[str, Any] = {"xlim": (-reach, reach), "ylim": (-reach, reach), "aspect": "equal"}
        plane = draw.Plane(left, *self.axes, title=say.compare, **wide)
        plane.rule(y=0, colour="line")
        plane.rule(x=0, colour="line")
        tie = {"colour": "broken", "dash": "--"} if self.uniform else {"colour": "query"}
        _star(plane, self.K, self.value, weights, tie)
        _points(left, self.K, [f"{a} {w:.2f}" for a, w in zip(self.labels, weights)], "D", "key")
        _points(left, [self.value], [say.shared["query"]], "o", "query", beside=(8, 4))
        if len(output) == 2:
            plane = draw.Plane(right, say.first, say.second)
            _star(plane, self.V, output, weights, tie if self.uniform else {"colour": "value"})
            _points(right, self.V, self.labels, "s", "value")
            _points(right, [output], [say.shared["output"]], "o", "value", beside=(-12, -18))
            right.set(**(wide if self.K == self.V else {}))
        else:
            plane = draw.Plane(right, self.worth, say.weight, ylim=(0, 1.12))
            places = [value for (value,) in self.V]
            plane.stems(places, 0, weights, "value", alpha=0.5)
            _points(right, list(zip(places, weights)), self.labels, "s", "value")
            plane.rule(x=output[0], colour="value", dash=":", linewidth=1.5)
        right.margins(0.3)
        right.set_title(say.mix.format(output=_point(output)))
        return fig

    def _letters(self, m: int) -> list[str]:
        return [chr(ord("A") + j) if m <= 26 else self.words.key.format(number=j + 1) for j in range(m)]


def score_function(name: str, parameters: dict):
    """Return the score function of that name, with the given matrices if it has any."""
    if name in ("dot", "scaled dot"):
        return dot_score if name == "dot" else scaled_dot_score
    module = BilinearScore(2, 2) if name == "bilinear" else AdditiveScore(2, 2, len(parameters["v"]))
    matrices = {f"{matrix}.weight": torch.tensor(parameters[matrix], dtype=torch.float64) for matrix in _MATRICES[name]}
    module.double().load_state_dict({key: torch.atleast_2d(matrix) for key, matrix in matrices.items()})
    return module


_MATRICES = {"bilinear": ("W",), "additive": ("W_1", "W_2", "v")}


def _seeded():
    """Return matrices for the learned scores: untrained, and large enough to have a visible effect."""
    generator = torch.Generator().manual_seed(2)
    shapes: dict[str, tuple] = {"W": (2, 2), "W_1": (6, 2), "W_2": (6, 2), "v": (6,)}
    return {
        name: to_list(name, torch.randn(shape, generator=generator), shape, digits=1) for name, shape in shapes.items()
    }


def _name_of(module):
    for name, kind in (("bilinear", BilinearScore), ("additive", AdditiveScore)):
        if type(module) is kind:
            return name
    raise TypeError(
        f"score must be one of {', '.join(SCORES)}, or a BilinearScore or an AdditiveScore; it is a {type(module).__name__}"
    )


def _matrices(module):
    given = {name.removesuffix(".weight"): tensor for name, tensor in module.state_dict().items()}
    shapes: dict[str, tuple] = {"W": (2, 2), "W_1": ("d_hidden", 2), "W_2": ("d_hidden", 2), "v": (1, "d_hidden")}
    matrices = {name: to_list(f"score.{name}", tensor, shapes[name]) for name, tensor in given.items()}
    return {name: rows[0] if name == "v" else rows for name, rows in matrices.items()}


def _values(name, values, m):
    if np.ndim(values) == 1:  # one number for each key
        values = [[number] for number in to_list(name, values, (m,))]
    rows = to_list(name, values, (m, "1 or 2"))
    if len(rows[0]) > 2:
        raise ValueError(f"{name} must have shape ({m}, 1 or 2); it has shape ({m}, {len(rows[0])})")
    return rows


def _point(place):
    numbers = ", ".join(map(draw.number, place))
    return f"({numbers})" if len(place) > 1 else numbers


def _star(plane, places, centre, weights, look):
    for (x, y), weight in zip(places, weights):
        wide = {"linewidth": max(0.5, 11 * weight), "alpha": 0.45, "solid_capstyle": "round"}
        plane.line([x, centre[0]], [y, centre[1]], **look, **wide)


def _points(ax, places, words, marker, colour, beside=None):
    """Plot markers and names, away from the centre of all markers: short names sideways, long ones above or below."""
    colour = draw.colours()[colour]
    ax.plot(*zip(*places), linestyle="", marker=marker, color=colour, markersize=7)
    x_middle, y_middle = (np.min(places, axis=0) + np.max(places, axis=0)) / 2
    for (x, y), word in zip(places, words):
        if beside or len(word) < 8:
            shift, side = beside or (8, -3), "left"
            if not beside and x < x_middle:
                shift, side = (-8, -3), "right"
        else:
            shift, side = (0, 7 if y >= y_middle else -15), "center"
        look = {"xytext": shift, "textcoords": "offset points", "ha": side, "color": colour}
        ax.annotate(word, (x, y), in_layout=False, **look)
