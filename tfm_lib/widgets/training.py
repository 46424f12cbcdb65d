"""The widgets of chapter `training`: the learning rate's curve, the smoothed target, and a run looked at on its way."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import traitlets

from tfm_lib.training import warmup_lr
from tfm_lib.widgets.base import Widget, to_numpy, to_words

WIDTHS = (64, 128, 256, 512, 1024)
RUNS = (1000, 2000, 5000, 10_000, 20_000, 50_000, 100_000)
RIVALS = ("constant", "inverse root", "cosine", "linear")  # schedules beside the paper's
VOCABULARIES = (2, 5, 10, 100, 1000, 37_000)
CONVENTIONS = {"all": "ε over all words", "others": "ε over the others"}


class LearningRate(Widget):
    """The paper's learning rate against the step, with its peak; `value` is the step that is read.

    `d_model` is one of 64 to 1024, `warmup` 10 to 16 000 steps, `factor` multiplies all, `steps` is the length of the run.
    `accumulate` above 1 adds the curve of a schedule that steps for each micro-batch by mistake. `compare` adds
    "constant", "inverse root" (no warm-up), "cosine", "linear", or "all" of them; `log` makes both axes logarithmic.
    """

    _module = traitlets.Unicode("training/learning_rate").tag(sync=True)
    title = traitlets.Unicode("Learning-rate curve").tag(sync=True)
    question = traitlets.Unicode("Where does the peak lie, and how high is it?").tag(sync=True)
    d_model = traitlets.Int(512).tag(sync=True)
    warmup = traitlets.Int(4000).tag(sync=True)
    factor = traitlets.Float(1.0).tag(sync=True)
    accumulate = traitlets.Int(1, min=1, max=16).tag(sync=True)
    steps = traitlets.Int(20_000).tag(sync=True)
    compare = traitlets.Unicode("none").tag(sync=True)
    log = traitlets.Bool(False).tag(sync=True)
    value = traitlets.Int(1000).tag(sync=True)

    @traitlets.validate("d_model")
    def _valid_d_model(self, proposal):
        return _one_of("d_model", proposal["value"], WIDTHS)

    @traitlets.validate("steps")
    def _valid_steps(self, proposal):
        return _one_of("steps", proposal["value"], RUNS)

    @traitlets.validate("compare")
    def _valid_compare(self, proposal):
        return _one_of("compare", proposal["value"], ("none", *RIVALS, "all"))

    @traitlets.validate("warmup")
    def _valid_warmup(self, proposal):
        return _between("warmup", proposal["value"], 10, 16_000)

    @traitlets.validate("factor")
    def _valid_factor(self, proposal):
        return _between("factor", proposal["value"], 0.1, 4)

    @traitlets.validate("value")
    def _valid_value(self, proposal):
        return _between("value", proposal["value"], 1, RUNS[-1])

    @property
    def peak(self) -> tuple[int, float]:
        """The step at which the rate is highest, and how high."""
        return self.warmup, self.factor * (self.d_model * self.warmup) ** -0.5

    def rates(self, step: int) -> dict[str, float]:
        """The rate at a step: the paper's, miscounted by micro-batches, and of the other schedules."""
        return rates(step, self.d_model, self.warmup, self.factor, self.steps, self.accumulate)

    @property
    def alt(self) -> str:
        step = min(self.value, self.steps)
        now, (where, peak) = self.rates(step), self.peak
        text = (
            f"d_model {self.d_model}, warm-up {self.warmup}, factor {self.factor:g}: the rate peaks at step {where} with "
            f"{peak:.2g}; it begins at {self.rates(1)['paper']:.2g} and at step {step} it is {now['paper']:.2g}."
        )
        if self.accumulate > 1:
            miscounted = self.rates(step)["miscounted"]
            text += f" Stepped for each of {self.accumulate} micro-batches it would be {miscounted:.2g} there."
        others = ", ".join(f"{name} {now[name]:.2g}" for name in self._rivals)
        return text + (f" Other schedules at that step: {others}." if others else "")

    @property
    def _rivals(self) -> tuple[str, ...]:
        return RIVALS if self.compare == "all" else tuple(name for name in RIVALS if name == self.compare)

    def figure(self):
        """The curve with its peak, the miscounted one and the others."""
        from tfm_lib.book.display import colours, figure

        c, (where, peak) = colours(), self.peak
        at = np.unique(np.geomspace(1, self.steps, 400).round().astype(int))
        if not self.log:
            at = np.unique(np.linspace(1, self.steps, 400).round().astype(int).tolist() + at.tolist())
        found = [self.rates(int(step)) for step in at]
        fig, ax = figure(width=6.4, height=3.3)
        looks = dict(zip(RIVALS, [("soft", ":"), ("key", "--"), ("value", "-."), ("decoder", (0, (5, 1, 1, 1)))]))
        for name in self._rivals:
            ax.plot(at, [rate[name] for rate in found], color=c[looks[name][0]], linestyle=looks[name][1], label=name)
        if self.accumulate > 1:
            ax.plot(
                at, [rate["miscounted"] for rate in found], "--", color=c["broken"], label="stepped per micro-batch"
            )
        ax.plot(at, [rate["paper"] for rate in found], color=c["query"], label="the paper’s")
        if where <= self.steps:
            ax.plot([where], [peak], "o", color=c["ink"])
            ax.annotate(f"{peak:.2g} at step {where}", (where, peak), (6, 4), textcoords="offset points")
        ax.set(xlabel="step, one update each", ylabel="learning rate")
        if self.log:
            ax.set(xscale="log", yscale="log", xlabel="step, one update each (log)", ylabel="learning rate (log)")
        else:
            ax.set(ylim=(0, 1.35 * peak))
        ax.legend()
        return fig


def rates(step: int, d_model: int, warmup: int, factor: float, steps: int, accumulate: int = 1) -> dict[str, float]:
    """The learning rate at `step` by every schedule of `LearningRate`; the others have the paper's peak."""
    peak = factor * (d_model * warmup) ** -0.5
    rise = min(1.0, step / warmup)
    left = max(0.0, 1 - step / steps)
    return {
        "paper": factor * warmup_lr(step, d_model, warmup),
        "miscounted": factor * warmup_lr(accumulate * step, d_model, warmup),
        "constant": peak,
        "inverse root": factor * (d_model * step) ** -0.5,
        "cosine": peak * rise * 0.5 * (1 - math.cos(math.pi * left)),
        "linear": peak * min(rise, left / (1 - warmup / steps)) if warmup < steps else peak * rise,
    }


class LabelSmoothing(Widget):
    """The smoothed target, a model's answer to it, and the loss; `value` is the model's probability of the right word.

    What is left the model shares evenly among the wrong words. `epsilon` is 0 to 0.5, `vocabulary` the number of words, one
    of 2 to 37 000; `convention` spreads ε over "all" words (the paper, PyTorch) or over the "others" (tensor2tensor).
    """

    _module = traitlets.Unicode("training/label_smoothing").tag(sync=True)
    title = traitlets.Unicode("Label smoothing").tag(sync=True)
    question = traitlets.Unicode("Where is the loss smallest?").tag(sync=True)
    epsilon = traitlets.Float(0.1).tag(sync=True)
    vocabulary = traitlets.Int(5).tag(sync=True)
    convention = traitlets.Unicode("all").tag(sync=True)
    value = traitlets.Float(0.5).tag(sync=True)

    @traitlets.validate("epsilon")
    def _valid_epsilon(self, proposal):
        return _between("epsilon", proposal["value"], 0, 0.5)

    @traitlets.validate("vocabulary")
    def _valid_vocabulary(self, proposal):
        return _one_of("vocabulary", proposal["value"], VOCABULARIES)

    @traitlets.validate("convention")
    def _valid_convention(self, proposal):
        return _one_of("convention", proposal["value"], tuple(CONVENTIONS))

    @traitlets.validate("value")
    def _valid_value(self, proposal):
        return _between("value", proposal["value"], 0.001, 0.999)

    @property
    def target(self) -> tuple[float, float]:
        """What the target gives to the right word, and to each wrong one."""
        return target(self.vocabulary, self.epsilon, self.convention)

    def loss(self, p: float) -> float:
        """The loss in nats of a model that gives the right word `p` and shares the rest."""
        return loss(p, self.vocabulary, self.epsilon, self.convention)

    @property
    def alt(self) -> str:
        right, wrong = self.target
        return (
            f"{self.vocabulary} words, {CONVENTIONS[self.convention]}, ε = {self.epsilon:g}: the target is {right:.4g} for the "
            f"right word and {wrong:.3g} for each other. A model that says {self.value:.3g} has a loss of "
            f"{self.loss(self.value):.3f} nats; the least, {self.loss(right):.3f}, is at {right:.4g}."
        )

    def figure(self):
        """Target and answer side by side, and the loss against the answer with its lowest point."""
        from tfm_lib.book.display import colours, figure

        c, (right, wrong), p = colours(), self.target, self.value
        fig, (bars, curve) = figure(cols=2, width=7.2, height=3.1)
        places, model = np.arange(2), [p, (1 - p) / (self.vocabulary - 1)]
        bars.bar(places - 0.2, [right, wrong], 0.38, color=c["value"], label="target")
        bars.bar(places + 0.2, model, 0.38, color=c["query"], hatch="//", edgecolor=c["card"], label="model")
        bars.set(ylim=(0, 1.05), ylabel="probability", title=f"{self.vocabulary} words, ε = {self.epsilon:g}")
        bars.set_xticks(places, ["right word", "each other"])
        bars.legend()
        at = np.linspace(0.005, 0.998, 300)
        curve.plot(at, [self.loss(x) for x in at], color=c["query"], label="smoothed")
        curve.plot(at, -np.log(at), "--", color=c["soft"], label="not smoothed")
        curve.plot([p], [self.loss(p)], "o", color=c["query"], markersize=8)
        curve.plot(
            [right], [self.loss(right)], "v", color=c["value"], label=f"least: {self.loss(right):.2f} at {right:.3g}"
        )
        curve.set(xlabel="model’s probability of the right word", ylabel="loss (nats)", ylim=(0, 5))
        curve.legend()
        return fig


def target(vocabulary: int, epsilon: float, convention: str) -> tuple[float, float]:
    """The smoothed target's share of the right word, and of each wrong one."""
    wrong = epsilon / (vocabulary if convention == "all" else vocabulary - 1)
    return 1 - (vocabulary - 1) * wrong, wrong


def loss(p: float, vocabulary: int, epsilon: float, convention: str) -> float:
    """Cross-entropy in nats of `p` on the right word and equal shares of the rest, against the smoothed target."""
    right, wrong = target(vocabulary, epsilon, convention)
    of_right = right * math.log(p) if p > 0 else -math.inf
    if not wrong:
        return -of_right
    of_wrong = (vocabulary - 1) * wrong * math.log((1 - p) / (vocabulary - 1)) if p < 1 else -math.inf
    return -of_right - of_wrong


class TrainingReplay(Widget):
    """A recorded training, step by step: loss, learning rate, cross-attention and what the model wrote; `value` is the look.

    `run` holds `losses` and `rates` of all steps, `src_tokens`, `tgt_tokens` (the watched example), and `looks`, each with
    `step`, `exact` (a share), `written` and `weights` (heads, target, source), numbers or percentages in words. None
    shows the recorded run of chapter `training`. `floor` is the least possible loss, or None. `head` counts from 0;
    −1 is the mean of the heads.
    """

    _module = traitlets.Unicode("training/training_replay").tag(sync=True)
    title = traitlets.Unicode("Training replay").tag(sync=True)
    question = traitlets.Unicode("What is learned first?").tag(sync=True)
    losses = traitlets.List(traitlets.Float()).tag(sync=True)
    rates = traitlets.List(traitlets.Float()).tag(sync=True)
    looks = traitlets.List(traitlets.Dict()).tag(sync=True)
    src_tokens = traitlets.List(traitlets.Unicode()).tag(sync=True)
    tgt_tokens = traitlets.List(traitlets.Unicode()).tag(sync=True)
    floor = traitlets.Float(None, allow_none=True).tag(sync=True)
    value = traitlets.Int(0).tag(sync=True)
    head = traitlets.Int(-1).tag(sync=True)
    focus = traitlets.Int(0).tag(sync=True)

    def __init__(self, run: Mapping[str, Any] | None = None, floor: float | None = None, **kwargs):
        if run is None:
            run = recorded_replay()
            floor = _floor(run["vocabulary"], run["settings"]["epsilon"]) if floor is None else floor
        src, tgt = to_words("src_tokens", run["src_tokens"]), to_words("tgt_tokens", run["tgt_tokens"])
        if not run["looks"]:
            raise ValueError("looks must hold at least one look; it is empty")
        looks = [_look(look, i, len(tgt), len(src)) for i, look in enumerate(run["looks"])]
        heads = {len(look["weights"]) for look in looks}
        if len(heads) > 1:
            raise ValueError(f"looks must hold as many heads each; they hold {', '.join(map(str, sorted(heads)))}")
        losses = [float(f"{x:.3g}") for x in to_numpy("losses", run["losses"], ("steps",))]
        lr = [float(f"{x:.3g}") for x in to_numpy("rates", run["rates"], (len(losses),))]
        least = None if floor is None else round(float(floor), 4)
        super().__init__(losses=losses, rates=lr, looks=looks, src_tokens=src, tgt_tokens=tgt, floor=least, **kwargs)

    @traitlets.validate("value")
    def _valid_value(self, proposal):
        return _place("value", proposal["value"], 0, len(self.looks))

    @traitlets.validate("head")
    def _valid_head(self, proposal):
        return _place("head", proposal["value"], -1, len(self.looks[0]["weights"]))

    @traitlets.validate("focus")
    def _valid_focus(self, proposal):
        return _place("focus", proposal["value"], 0, len(self.tgt_tokens))

    @property
    def step(self) -> int:
        """The step of the present look."""
        return self.looks[self.value]["step"]

    @property
    def matrix(self) -> np.ndarray:
        """The weights of the present look, (target, source): of one head, or their mean."""
        heads = np.array(self.looks[self.value]["weights"])
        return heads.mean(axis=0) if self.head < 0 else heads[self.head]

    @property
    def alt(self) -> str:
        look, at = self.looks[self.value], self.step
        row = self.matrix[self.focus]
        best = int(row.argmax())
        trained = f"loss {self.losses[at - 1]:.2f}, learning rate {self.rates[at - 1]:.2g}" if at else "before training"
        who = "On average the heads" if self.head < 0 else f"Head {self.head + 1}"
        return (
            f"Step {at} of {len(self.losses)}: {trained}; {look['exact']:.1%} of the held-out examples without a fault. "
            f"It writes “{look['written']}”. {who}, writing “{self.tgt_tokens[self.focus]}”: most weight on "
            f"“{self.src_tokens[best]}”, {row[best]:.2f}."
        )

    def figure(self):
        """The loss up to the present look, and where the decoder looks."""
        from tfm_lib.book.display import colours, figure, weights_colormap

        c, at = colours(), self.step
        fig, (curve, look) = figure(cols=2, width=7.4, height=3.4)
        curve.plot(range(1, len(self.losses) + 1), self.losses, color=c["line"], linewidth=1)
        curve.plot(range(1, at + 1), self.losses[:at], color=c["query"], linewidth=1.2)
        if self.floor is not None:
            curve.axhline(self.floor, color=c["ink"], linestyle="--", linewidth=1, label="floor")
            curve.legend()
        curve.axvline(at, color=c["soft"], linewidth=1)
        curve.set(xlabel="step", ylabel="loss (nats a token)", ylim=(0, None))
        curve.set_title(f"step {at}: {self.looks[self.value]['exact']:.0%} exact")
        look.imshow(self.matrix, cmap=weights_colormap(), vmin=0, vmax=1, aspect="auto")
        look.set_xticks(range(len(self.src_tokens)), self.src_tokens, rotation=45, ha="right")
        look.set_yticks(range(len(self.tgt_tokens)), self.tgt_tokens)
        look.set_title("mean of the heads" if self.head < 0 else f"head {self.head + 1}")
        return fig


def recorded_replay() -> dict[str, Any]:
    """The recorded run of chapter `training`."""
    from tfm_lib.book.recorded import recorded

    return recorded("training_replay")


def _look(look: Mapping[str, Any], number: int, n: int, m: int) -> dict[str, Any]:
    weights = [[_percent(row) for row in head] for head in look["weights"]]
    weights = to_numpy(f"weights of look {number}", weights, ("heads", n, m))
    kept = {"step": int(look["step"]), "exact": float(look["exact"]), "written": " ".join(str(look["written"]).split())}
    return {**kept, "weights": weights.round(2).tolist()}


def _percent(row: Any) -> Any:
    """A row of weights; a recorded one is a string of percentages."""
    return [int(share) / 100 for share in row.split()] if isinstance(row, str) else row


def _floor(vocabulary: int, epsilon: float) -> float:
    right, _ = target(vocabulary, epsilon, "all")
    return loss(right, vocabulary, epsilon, "all")


def _one_of(name: str, value: Any, known: tuple) -> Any:
    if value not in known:
        raise ValueError(f"{name} must be one of {', '.join(map(str, known))}; it is {value!r}")
    return value


def _between(name: str, value: float, low: float, high: float) -> float:
    if not low <= value <= high:
        raise ValueError(f"{name} must lie between {low} and {high}; it is {value}")
    return value


def _place(name: str, value: int, first: int, count: int) -> int:
    if not first <= value < count:
        raise ValueError(f"{name} must lie between {first} and {count - 1}; it is {value}")
    return value
