"""The widgets of chapter `training`: the learning-rate schedule, label smoothing, and the replay of a training run."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
import traitlets

from tfm_lib.training import warmup_lr
from tfm_lib.widgets import _figures as draw
from tfm_lib.widgets._live import Live
from tfm_lib.widgets._attention_weights import ROW_SUM, distributions
from tfm_lib.widgets.base import Widget, Words, one_of, to_numpy, to_words

RATE = Words(
    title="Learning-rate curve",
    question="If you halve the warm-up, where does the peak go, and how much higher is it?",
    shared={
        "paper": "the paper’s",
        "rate": "learning rate",
        "rivals": {
            "constant": "constant",
            "inverse root": "inverse root",
            "cosine": "cosine",
            "linear": "linear",
        },
    },
    alt="d_model {d_model}, warm-up {warmup}, factor {factor:g}: the rate peaks at step {where} with {peak:.2g}; it begins "
    "at {first:.2g} and at step {step} it is {now:.2g}.{miscounted}{others}",
    miscounted=" Stepped for each of {count} micro-batches it would be {rate:.2g} there.",
    others=" Other schedules at that step: {others}.",
    stepped="stepped per micro-batch",
    peak="{peak:.2g} at step {where}",
    step="step, one update each",
    log="{axis} (log)",
)
SMOOTHING = Words(
    title="Label smoothing",
    question="How does the lowest loss change when the smoothing ε grows?",
    shared={"right": "correct word", "each": "each other", "target": "target", "model": "model"},
    alt="{vocabulary} words, {convention}, ε = {epsilon:g}: the target is {right:.4g} for the correct word and {wrong:.3g} "
    "for each other. A model that says {p:.3g} has a loss of {loss:.3f} nats; the least, {least:.3f}, is at {right:.4g}.",
    conventions={"all": "ε over all words", "others": "ε over the others"},
    probability="probability",
    heading="{vocabulary} words, ε = {epsilon:g}",
    smoothed="smoothed",
    plain="not smoothed",
    least="least: {loss:.2f} at {right:.3g}",
    asked="model’s probability of the correct word",
    loss="loss (nats)",
)
REPLAY = Words(
    title="Training replay",
    question="What does the model learn first?",
    shared={"floor": "floor", "step": "step", "head": "head {head}", "untrained": "before training"},
    alt="Step {step} of {steps}: {trained}; {exact:.1%} of the held-out examples are exactly right. It writes “{written}”. "
    "{who}, writing “{word}”: most weight on “{source}”, {weight:.2f}.",
    trained="loss {loss:.2f}, learning rate {rate:.2g}",
    mean="On average the heads",
    head="Head {head}",
    loss="loss (nats per token)",
    heading="step {step}: {exact:.0%} exact",
    all="mean of the heads",
)
WIDTHS = (64, 128, 256, 512, 1024)
RUNS = (1000, 2000, 5000, 10_000, 20_000, 50_000, 100_000)
RIVALS = tuple(RATE.shared["rivals"])  # schedules compared with the paper's
VOCABULARIES = (2, 5, 10, 100, 1000, 37_000)
CONVENTIONS = tuple(SMOOTHING.conventions)
ROOM = 0.00145  # least height of the linear axis of learning rates
PERCENTS = 0.006  # tolerance of a recorded weight: percentages are rounded to integers


class LearningRate(Widget):
    """The paper's learning rate against the step, with its peak; `value` is the step at which it is read.

    `d_model` is one of 64 to 1024, `warmup` 10 to 16,000 steps, `factor` multiplies every rate, `steps` is the length
    of the run. `accumulate` above 1 adds the curve of a schedule that steps for each micro-batch by mistake. `compare`
    adds "constant", "inverse root" (no warm-up), "cosine", "linear", or "all" of them; `log` makes both axes
    logarithmic.
    """

    _module = traitlets.Unicode("training/learning_rate").tag(sync=True)
    words = RATE
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
        return one_of("d_model", proposal["value"], WIDTHS)

    @traitlets.validate("steps")
    def _valid_steps(self, proposal):
        return one_of("steps", proposal["value"], RUNS)

    @traitlets.validate("compare")
    def _valid_compare(self, proposal):
        return one_of("compare", proposal["value"], ("none", *RIVALS, "all"))

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
        """The step at which the rate is highest, and its value."""
        return self.warmup, self.factor * (self.d_model * self.warmup) ** -0.5

    def rates(self, step: int) -> dict[str, float]:
        """Return the rate at a step: the paper's, miscounted by micro-batches, and of the other schedules."""
        return rates(step, self.d_model, self.warmup, self.factor, self.steps, self.accumulate)

    @property
    def alt(self) -> str:
        say, step = self.words, min(self.value, self.steps)
        now, (where, peak) = self.rates(step), self.peak
        miscounted = say.miscounted.format(count=self.accumulate, rate=now["miscounted"]) if self.accumulate > 1 else ""
        others = ", ".join(f"{say.shared['rivals'][name]} {now[name]:.2g}" for name in self._rivals)
        return say.alt.format(
            d_model=self.d_model,
            warmup=self.warmup,
            factor=self.factor,
            where=where,
            peak=peak,
            first=self.rates(1)["paper"],
            step=step,
            now=now["paper"],
            miscounted=miscounted,
            others=say.others.format(others=others) if others else "",
        )

    @property
    def _rivals(self) -> tuple[str, ...]:
        return RIVALS if self.compare == "all" else tuple(name for name in RIVALS if name == self.compare)

    def figure(self):
        """Draw the curve with its peak, the miscounted one and the others."""
        say, (where, peak) = self.words, self.peak
        at = np.unique(np.geomspace(1, self.steps, 400).round().astype(int))
        if not self.log:
            at = np.unique(np.linspace(1, self.steps, 400).round().astype(int).tolist() + at.tolist())
        found = [self.rates(int(step)) for step in at]
        fig, ax = draw.figure(width=6.4, height=3.3)
        names = [say.log.format(axis=name) if self.log else name for name in (say.step, say.shared["rate"])]
        plane = draw.Plane(ax, names[0], names[1], log="xy" if self.log else "")
        looks = dict(zip(RIVALS, [("soft", ":"), ("two", "--"), ("three", "-."), ("decoder", (0, (5, 1, 1, 1)))]))
        lines = {name: (*looks[name], say.shared["rivals"][name]) for name in self._rivals}
        if self.accumulate > 1:
            lines["miscounted"] = ("broken", "--", say.stepped)
        lines["paper"] = ("one", "-", say.shared["paper"])
        for name, look in lines.items():
            plane.line(at, [rate[name] for rate in found], *look)
        if where <= self.steps:
            plane.dot(where, peak, words=say.peak.format(peak=peak, where=where))
        if not self.log:
            ax.set(ylim=(0, top(peak)))
        plane.key()
        return fig


def top(peak: float) -> float:
    """Return the top of the linear axis, which doubles when the peak would come near."""
    return ROOM * 2 ** max(0, math.ceil(math.log2(1.2 * peak / ROOM)))


def rates(step: int, d_model: int, warmup: int, factor: float, steps: int, accumulate: int = 1) -> dict[str, float]:
    """Return the learning rate at `step` of every schedule of `LearningRate`; the others have the paper's peak."""
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


class LabelSmoothing(Live):
    """The smoothed target, a model's output, and the loss; `value` is the model's probability of the correct word.

    The model spreads the rest evenly over the wrong words. `epsilon` is 0 to 0.5, `vocabulary` the number of words,
    one of 2 to 37,000; `convention` spreads ε over "all" words (the paper, PyTorch) or over the "others"
    (tensor2tensor). For a reader's own sentence it uses the results of `translator_smoothing`: `word` is the index of
    the selected one.
    """

    _module = traitlets.Unicode("training/label_smoothing").tag(sync=True)
    words = SMOOTHING
    epsilon = traitlets.Float(0.1).tag(sync=True)
    vocabulary = traitlets.Int(5).tag(sync=True)
    convention = traitlets.Unicode("all").tag(sync=True)
    value = traitlets.Float(0.5).tag(sync=True)
    written = traitlets.List(traitlets.Unicode()).tag(sync=True)
    sure = traitlets.List(traitlets.Float()).tag(sync=True)
    others = traitlets.List(traitlets.Float()).tag(sync=True)
    known = traitlets.Int(0, min=0).tag(sync=True)  # vocabulary size of the model that wrote
    word = traitlets.Int(0, min=0).tag(sync=True)

    @traitlets.validate("epsilon")
    def _valid_epsilon(self, proposal):
        return _between("epsilon", proposal["value"], 0, 0.5)

    @traitlets.validate("vocabulary")
    def _valid_vocabulary(self, proposal):
        if self.known and proposal["value"] == self.known:
            return self.known
        return one_of("vocabulary", proposal["value"], VOCABULARIES)

    @traitlets.validate("convention")
    def _valid_convention(self, proposal):
        return one_of("convention", proposal["value"], CONVENTIONS)

    @traitlets.validate("value")
    def _valid_value(self, proposal):
        return _between("value", proposal["value"], 0.001, 0.999)

    @property
    def target(self) -> tuple[float, float]:
        """The target's probability of the correct word, and of each wrong one."""
        return target(self.vocabulary, self.epsilon, self.convention)

    def loss(self, p: float) -> float:
        """Return the loss in nats of a model that gives the correct word `p` and spreads the rest evenly."""
        return loss(p, self.vocabulary, self.epsilon, self.convention)

    @property
    def alt(self) -> str:
        right, wrong = self.target
        return self.words.alt.format(
            vocabulary=self.vocabulary,
            convention=self.words.conventions[self.convention],
            epsilon=self.epsilon,
            right=right,
            wrong=wrong,
            p=self.value,
            loss=self.loss(self.value),
            least=self.loss(right),
        )

    def figure(self):
        """Draw target and model side by side, and the loss against the model's probability with its minimum."""
        say, (right, wrong), p = self.words, self.target, self.value
        fig, (bars, curve) = draw.figure(cols=2, width=7.2, height=3.1)
        places, model, c = np.arange(2), [p, (1 - p) / (self.vocabulary - 1)], draw.colours()
        bars.bar(places - 0.2, [right, wrong], 0.38, color=c["two"], label=say.shared["target"])
        hatched = {"hatch": "//", "edgecolor": c["card"], "label": say.shared["model"]}
        bars.bar(places + 0.2, model, 0.38, color=c["one"], **hatched)
        heading = say.heading.format(vocabulary=self.vocabulary, epsilon=self.epsilon)
        bars.set(ylim=(0, 1.05), ylabel=say.probability, title=heading)
        bars.set_xticks(places, [say.shared["right"], say.shared["each"]])
        bars.legend()
        at, plane = np.linspace(0.005, 0.998, 300), draw.Plane(curve, say.asked, say.loss, ylim=(0, 5))
        plane.line(at, [self.loss(x) for x in at], "one", name=say.smoothed)
        plane.line(at, -np.log(at), "soft", "--", say.plain)
        plane.dot(p, self.loss(p), "one", markersize=8)
        plane.dot(right, self.loss(right), "two", mark="v", label=say.least.format(loss=self.loss(right), right=right))
        plane.key()
        return fig


@torch.no_grad()
def translator_smoothing(translator: Any, sentence: str) -> dict[str, Any]:
    """Return what `LabelSmoothing` needs of each token that a translator writes greedily for `sentence`.

    Its name, its probability, and the mean −log p of all others; the loss follows from the last two for any ε.
    """
    tokenizer, (ids,) = translator.tokenizer, translator.search([sentence], beam=1)
    read = torch.tensor([[tokenizer.bos_id, *ids]])
    log_p = translator.model(translator.ids(sentence), read)[0].double().log_softmax(dim=-1)
    own = log_p.gather(1, torch.tensor([*ids, tokenizer.eos_id]).unsqueeze(1)).squeeze(1)
    others = (own - log_p.sum(dim=1)) / (log_p.shape[1] - 1)
    written = [*map(tokenizer.piece, ids), "<eos>"]
    return {"written": written, "sure": own.exp().tolist(), "others": others.tolist(), "known": log_p.shape[1]}


def target(vocabulary: int, epsilon: float, convention: str) -> tuple[float, float]:
    """Return the smoothed target's share of the correct word, and of each wrong one."""
    wrong = epsilon / (vocabulary if convention == "all" else vocabulary - 1)
    return 1 - (vocabulary - 1) * wrong, wrong


def loss(p: float, vocabulary: int, epsilon: float, convention: str) -> float:
    """Return the cross-entropy in nats of `p` on the correct word, the rest spread evenly, and the smoothed target."""
    right, wrong = target(vocabulary, epsilon, convention)
    of_right = right * math.log(p) if p > 0 else -math.inf
    if not wrong:
        return -of_right
    of_wrong = (vocabulary - 1) * wrong * math.log((1 - p) / (vocabulary - 1)) if p < 1 else -math.inf
    return -of_right - of_wrong


class TrainingReplay(Widget):
    """A recorded training: loss, learning rate, cross-attention and model output per step; `value` is the snapshot.

    `run` holds `losses` and `rates` of all steps, `src_tokens`, `tgt_tokens` (the watched example), and `looks`
    (snapshots), each with `step`, `exact` (a share), `written` and `weights` (heads, target, source), numbers or
    percentages in words. None shows the recorded run of chapter `training`. `floor` is the least possible loss, or
    None. `head` counts from 0; −1 is the mean of the heads.
    """

    _module = traitlets.Unicode("training/training_replay").tag(sync=True)
    words = REPLAY
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
        """The step of the selected snapshot."""
        return self.looks[self.value]["step"]

    @property
    def matrix(self) -> np.ndarray:
        """The weights of the selected snapshot, (target, source): of one head, or their mean."""
        heads = np.array(self.looks[self.value]["weights"])
        return heads.mean(axis=0) if self.head < 0 else heads[self.head]

    @property
    def alt(self) -> str:
        say, look, at, row = self.words, self.looks[self.value], self.step, self.matrix[self.focus]
        best = int(row.argmax())
        trained = (
            say.trained.format(loss=self.losses[at - 1], rate=self.rates[at - 1]) if at else say.shared["untrained"]
        )
        return say.alt.format(
            step=at,
            steps=len(self.losses),
            trained=trained,
            exact=look["exact"],
            written=look["written"],
            who=say.mean if self.head < 0 else say.head.format(head=self.head + 1),
            word=self.tgt_tokens[self.focus],
            source=self.src_tokens[best],
            weight=row[best],
        )

    def figure(self):
        """Draw the loss up to the selected snapshot, and its cross-attention."""
        say, at, losses = self.words, self.step, self.losses
        fig, (curve, look) = draw.figure(cols=2, width=7.4, height=3.4)
        plane = draw.Plane(curve, say.shared["step"], say.loss)
        plane.line(range(1, len(losses) + 1), losses, "line", linewidth=1)
        plane.line(range(1, at + 1), losses[:at], "one", linewidth=1.2)
        if self.floor is not None:
            plane.rule(y=self.floor, colour="ink", dash="--", name=say.shared["floor"])
            plane.key()
        plane.rule(x=at)
        curve.set(ylim=(0, None), title=say.heading.format(step=at, exact=self.looks[self.value]["exact"]))
        who = say.all if self.head < 0 else say.shared["head"].format(head=self.head + 1)
        draw.heatmap(look, self.matrix, self.tgt_tokens, self.src_tokens, title=who, square=False)
        return fig


def recorded_replay() -> dict[str, Any]:
    """Return the recorded run of chapter `training`."""
    from tfm_lib.drawing import recorded

    return recorded("training_replay")


def _look(look: Mapping[str, Any], number: int, n: int, m: int) -> dict[str, Any]:
    weights = [[_percent(row) for row in head] for head in look["weights"]]
    whole = max(ROW_SUM, PERCENTS * m)
    shares = distributions(f"weights of look {number}", weights, ("heads", n, m), ("head",), whole)
    kept = {"step": int(look["step"]), "exact": float(look["exact"]), "written": " ".join(str(look["written"]).split())}
    return {**kept, "weights": shares.round(2).tolist()}


def _percent(row: Any) -> Any:
    """Return a row of weights; a recorded one is a string of percentages."""
    return [int(share) / 100 for share in row.split()] if isinstance(row, str) else row


def _floor(vocabulary: int, epsilon: float) -> float:
    right, _ = target(vocabulary, epsilon, "all")
    return loss(right, vocabulary, epsilon, "all")


def _between(name: str, value: float, low: float, high: float) -> float:
    if not low <= value <= high:
        raise ValueError(f"{name} must lie between {low} and {high}; it is {value}")
    return value


def _place(name: str, value: int, first: int, count: int) -> int:
    if not first <= value < count:
        raise ValueError(f"{name} must lie between {first} and {count - 1}; it is {value}")
    return value
