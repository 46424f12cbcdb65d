"""The widgets of page `playground`: a Transformer that is trained in the page, and one experiment with it for a chapter."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import traitlets

from tfm_lib.corpora.words import ANSWERS, COUNT, LETTERS, LONGEST
from tfm_lib.widgets import _figures as draw
from tfm_lib.widgets.base import Widget, Words, built, one_of, to_list, within

EXPERIMENTS: list[dict[str, Any]] = [
    {
        "title": "reverse without positions",
        "change": {"positions": "none"},
        "why": "Without positions, a word is only a bag of letters: it can't tell tide, edit and diet apart.",
    },
    {
        "title": "sort without positions",
        "change": {"task": "sort", "positions": "none"},
        "why": "To sort the letters, it only has to know which letters there are.",
    },
    {
        "title": "no causal mask",
        "change": {"causal": False},
        "why": "In training, it copies the letter that it should predict. When it writes, that letter isn't there yet. Now look at the loss.",
    },
    {
        "title": "a GRU that gets one vector",
        "change": {"machine": "gru"},
        "why": "One vector must hold the whole word. Type short words of your own, then long ones.",
    },
    {
        "title": "a GRU that can look back",
        "change": {"machine": "gru attention"},
        "why": "It can look back at each letter, so a single vector no longer has to hold the whole word.",
    },
    {
        "title": "one vector for longer words",
        "change": {"machine": "gru", "longest": 16},
        "why": "A vector of 32 numbers holds less of a longer word. Race it against a Transformer, under “more settings”.",
    },
    {
        "title": "one layer, no residual connections",
        "change": {"residuals": False},
        "why": "It learns more slowly without them. How far it gets depends on the seed: try another one.",
    },
    {
        "title": "two layers, no residual connections",
        "change": {"n_layers": 2, "residuals": False, "gradients": True},
        "why": "Each sub-layer passes on only what it computes itself. Little of the word survives, and little of the gradient comes back: see the third plot.",
    },
    {
        "title": "one head of 64, scores not divided",
        "change": {"d_model": 64, "n_heads": 1, "scale": False},
        "why": "With d_k = 64, the scores are so large from the start that the softmax saturates, and little gradient comes through. Now divide them.",
    },
    {
        "title": "four times the rate, no warm-up",
        "change": {"rate": 0.016, "warmup": 1},
        "why": "The first large steps can lead to a place from which the model doesn't recover. Try other seeds, and a warm-up.",
    },
    {
        "title": "sort with a GRU that gets one vector",
        "change": {"machine": "gru", "task": "sort"},
        "why": "This isn't in the book. What did you find, and why is it so?",
    },
    {
        "title": "copy without positions",
        "change": {"task": "copy", "positions": "none"},
        "why": "This isn't in the book either. Does the causal mask tell the decoder how far it has come?",
    },
]
WORDS = Words(
    title="Playground",
    question="Take the positions away: can it still learn to reverse a word? And to sort one?",
    shared={
        "machines": {"transformer": "Transformer", "gru attention": "GRU with attention", "gru": "GRU"},
        "tasks": {
            "reverse": "reverse",
            "sort": "sort",
            "copy": "copy",
            "before": "the letter before",
            "numbers": "numbers",
            "dates": "dates",
        },
        "asks": {
            "reverse": f"your word ({' '.join(LETTERS)})",
            "numbers": "your number (10 to 9999), in words or digits",
            "dates": "your date (1950 to 2049): 5 March 2031",
        },
        "maps": {"cross": "cross-attention", "encoder": "the encoder’s own", "decoder": "the decoder’s own"},
        "where": {
            "cross": "Where it looks, in the cross-attention of its last layer · rows: what is written, columns: what is read",
            "encoder": "Where the last layer of the encoder looks in what is read",
            "decoder": "Where the last layer of the decoder looks in what is already written · ▸ begins it",
        },
        "nouns": {"reverse": "words", "numbers": "numbers", "dates": "dates"},
        "examples": {
            "reverse": "stressed",
            "numbers": "three hundred and forty seven",
            "dates": "March 5, 2031",
        },
        "count": COUNT,
        "positions": {"sinusoidal": "sinusoidal", "learned": "learned", "rotary": "rotary", "none": "none"},
        "norms": {"post": "after (post)", "pre": "before (pre)", "none": "none"},
        "update": "update",
        "steps": ["{count} update", "{count} updates"],
        "exact": "unseen examples written exactly, %",
        "head": "head {head}",
        "experiments": EXPERIMENTS,
    },
    alt="After {step} updates of the task {task} it reads “{word}” and writes “{written}”; {exact} of {count} unseen words "
    "are written exactly.",
    heading="“{word}” → “{written}”",
)
EXPERIMENT = Words(
    question="How many unseen words will it write correctly?",
    shared={"update": "update", "exact": "unseen words written correctly, %", "count": COUNT},
    whole="all its parts",
    experiments=EXPERIMENTS,
    alt="With all its parts, a Transformer writes {exact} of {count} unseen words correctly after {updates} updates.",
    own="After {step} updates with one change ({title}), it is {exact} of {count}.",
)
HEADS = (1, 2, 4)
SIZES = (8, 16, 32, 64)
SHORT, LONG = 4, 16  # the longest words that can be asked for
TYPED = 48  # characters of a number or a date in words
SEEDS = 10
SWITCHES = (
    *("machine", "task", "positions", "n_heads", "residuals", "causal", "norm", "scale", "feed_forward"),
    *("n_layers", "d_model", "longest", "rate", "warmup", "smoothing", "seed"),
)


class Playground(Widget):
    """A Transformer that learns to reverse, sort or copy words, in the browser: `value` is the word that it is watched on.

    It rests on a recorded run. Once *Train* is pressed, a run of the chosen settings takes its place: `moments` holds
    what was kept of it (`step`, `loss`, `exact`, the `word`, what is `written` for it, the `weights` of each head of the
    cross-attention), `ran` its settings; `trained` says whether it is a run of the reader, and `step` is the update that
    is shown. `experiment` is one of EXPERIMENTS, or −1, and `guess` what the reader expects of it: 0 almost every word,
    1 some, 2 hardly any, −1 nothing yet. `rival` is another machine that learns the same task beside it, `map` the attention that is shown of a run of the reader. `focus` is the letter written whose row is lit.
    """

    _module = traitlets.Unicode("playground/playground").tag(sync=True)
    words = WORDS
    value = traitlets.Unicode().tag(sync=True)
    machine = traitlets.Unicode("transformer").tag(sync=True)
    task = traitlets.Unicode("reverse").tag(sync=True)
    positions = traitlets.Unicode("sinusoidal").tag(sync=True)
    n_heads = traitlets.Int(2).tag(sync=True)
    residuals = traitlets.Bool(True).tag(sync=True)
    causal = traitlets.Bool(True).tag(sync=True)
    norm = traitlets.Unicode("post").tag(sync=True)
    scale = traitlets.Bool(True).tag(sync=True)
    feed_forward = traitlets.Bool(True).tag(sync=True)
    n_layers = traitlets.Int(1).tag(sync=True)
    d_model = traitlets.Int(32).tag(sync=True)
    longest = traitlets.Int(LONGEST).tag(sync=True)
    rate = traitlets.Float(0.004).tag(sync=True)
    warmup = traitlets.Int(50).tag(sync=True)
    smoothing = traitlets.Float(0.0).tag(sync=True)
    seed = traitlets.Int(0).tag(sync=True)
    rival = traitlets.Unicode().tag(sync=True)
    gradients = traitlets.Bool(False).tag(sync=True)
    map = traitlets.Unicode("cross").tag(sync=True)
    focus = traitlets.Int(0).tag(sync=True)
    step = traitlets.Int().tag(sync=True)
    updates = traitlets.Int().tag(sync=True)
    moments = traitlets.List(traitlets.Dict()).tag(sync=True)
    ran = traitlets.Dict().tag(sync=True)
    experiment = traitlets.Int(-1).tag(sync=True)
    guess = traitlets.Int(-1).tag(sync=True)
    trained = traitlets.Bool(False).tag(sync=True)
    wanted = traitlets.Bool(False).tag(sync=True)
    engine = traitlets.Unicode().tag(sync=True)

    def __init__(self, **kwargs: Any):
        from tfm_lib.drawing import recorded

        record = recorded("playground")
        word, updates = record["word"], record["settings"]["updates"]
        right = ANSWERS[record["settings"]["task"]](word)
        moments = [_moment(moment, word, right) for moment in record["moments"]]
        about = {
            "value": self.words.shared["examples"].get(kwargs.get("task"), word),
            "updates": updates,
            "step": updates,
            "moments": moments,
            "ran": {name: record["settings"][name] for name in SWITCHES},
        }
        super().__init__(**{**about, **kwargs})

    @traitlets.validate("value")
    def _valid_value(self, proposal):
        text = proposal["value"]
        if self.task in ANSWERS and (strange := sorted(set(text) - set(LETTERS))):
            raise ValueError(f"value must be made of the letters {LETTERS}; it has {', '.join(strange)}")
        within("value", len(text), 1, LONG if self.task in ANSWERS else TYPED, "a word of a length ")
        return text

    @traitlets.validate("experiment")
    def _valid_experiment(self, proposal):
        return within("experiment", proposal["value"], -1, len(EXPERIMENTS) - 1)

    @traitlets.validate("guess")
    def _valid_guess(self, proposal):
        return within("guess", proposal["value"], -1, 2)

    @traitlets.validate("machine")
    def _valid_machine(self, proposal):
        return one_of("machine", proposal["value"], self.words.shared["machines"])

    @traitlets.validate("task")
    def _valid_task(self, proposal):
        return one_of("task", proposal["value"], self.words.shared["tasks"])

    @traitlets.validate("map")
    def _valid_map(self, proposal):
        return one_of("map", proposal["value"], self.words.shared["maps"])

    @traitlets.validate("positions")
    def _valid_positions(self, proposal):
        return one_of("positions", proposal["value"], self.words.shared["positions"])

    @traitlets.validate("n_heads")
    def _valid_n_heads(self, proposal):
        return one_of("n_heads", proposal["value"], HEADS)

    @traitlets.validate("norm")
    def _valid_norm(self, proposal):
        return one_of("norm", proposal["value"], self.words.shared["norms"])

    @traitlets.validate("n_layers")
    def _valid_n_layers(self, proposal):
        return within("n_layers", proposal["value"], 1, 6)

    @traitlets.validate("d_model")
    def _valid_d_model(self, proposal):
        return one_of("d_model", proposal["value"], SIZES)

    @traitlets.validate("longest")
    def _valid_longest(self, proposal):
        return within("longest", proposal["value"], SHORT, LONG)

    @traitlets.validate("rival")
    def _valid_rival(self, proposal):
        return proposal["value"] and one_of("rival", proposal["value"], self.words.shared["machines"])

    @traitlets.validate("rate")
    def _valid_rate(self, proposal):
        return within("rate", proposal["value"], 0.0005, 0.064)

    @traitlets.validate("warmup")
    def _valid_warmup(self, proposal):
        return within("warmup", proposal["value"], 1, 400)

    @traitlets.validate("smoothing")
    def _valid_smoothing(self, proposal):
        return within("smoothing", proposal["value"], 0, 0.3)

    @traitlets.validate("seed")
    def _valid_seed(self, proposal):
        return within("seed", proposal["value"], 0, SEEDS - 1)

    @traitlets.validate("focus")
    def _valid_focus(self, proposal):
        return within("focus", proposal["value"], 0, LONG)

    @traitlets.validate("step")
    def _valid_step(self, proposal):
        return within("step", proposal["value"], 0, self.updates)

    @traitlets.observe("wanted")
    def _hand_over(self, change: Any) -> None:
        if change["new"]:
            self.engine = built("page/engine.js") or ""

    @property
    def moment(self) -> Mapping[str, Any]:
        """The kept moment that is shown."""
        return [moment for moment in self.moments if moment["step"] <= max(self.step, self.moments[0]["step"])][-1]

    @property
    def alt(self) -> str:
        now = self.moment
        task = self.words.shared["tasks"][self.ran["task"]]
        exact = round(COUNT * now["exact"])
        shown = {"step": now["step"], **_said(now)}
        return self.words.alt.format(task=task, exact=exact, count=COUNT, **shown)

    def figure(self):
        """Draw how often unseen words were exact, and where each head looked."""
        say, now = self.words, self.moment
        heads = now["weights"] or [np.zeros((1, 1))]
        fig, axes = draw.figure(cols=1 + len(heads), width=2.6 * (1 + len(heads)), height=3)
        plane = draw.Plane(axes[0], say.shared["update"], say.shared["exact"])
        exact = [100 * moment["exact"] for moment in self.moments]
        plane.line([moment["step"] for moment in self.moments], exact, "one")
        plane.rule(x=now["step"])
        axes[0].set(ylim=(0, 105), title=say.heading.format(**_said(now)))
        for head, (ax, weights) in enumerate(zip(axes[1:], heads, strict=True)):
            rows = _rows(now["written"], len(weights))
            draw.heatmap(
                ax,
                np.array(weights),
                rows,
                [*now["word"], "·"],
                title=say.shared["head"].format(head=head + 1),
                square=False,
            )
        return fig


class Experiment(Widget):
    """One of EXPERIMENTS, for a chapter: `whole` is the recorded run of the unchanged Transformer, beside which another is trained.

    `value` is the reader's guess: 0 almost every word, 1 some, 2 hardly any, −1 nothing yet. It starts the training;
    `moments` holds what was kept of the run when it rests, and `trained` says whether there is one. `seed` is that of its
    first weights. With `loss`, the loss is drawn in place of the share of correct words.
    """

    _module = traitlets.Unicode("playground/experiment").tag(sync=True)
    words = EXPERIMENT
    experiment = traitlets.Int().tag(sync=True)
    value = traitlets.Int(-1).tag(sync=True)
    seed = traitlets.Int(0).tag(sync=True)
    loss = traitlets.Bool(False).tag(sync=True)
    whole = traitlets.List(traitlets.Dict()).tag(sync=True)
    moments = traitlets.List(traitlets.Dict()).tag(sync=True)
    trained = traitlets.Bool(False).tag(sync=True)
    wanted = traitlets.Bool(False).tag(sync=True)
    engine = traitlets.Unicode().tag(sync=True)

    def __init__(self, experiment: int, **kwargs: Any):
        from tfm_lib.drawing import recorded

        record = recorded("playground")
        alike = {*SWITCHES} - {"task", "longest"}  # other tasks have no recorded run to stand beside
        comparable = [i for i, plan in enumerate(EXPERIMENTS) if plan["change"].keys() <= alike]
        change = EXPERIMENTS[one_of("experiment", experiment, comparable)]["change"]
        plan = self.words.experiments[experiment]
        shared = {
            **self.words.shared,
            "names": [self.words.whole, plan["title"]],
            "why": plan["why"],
            "word": record["word"],
            "right": ANSWERS[record["settings"]["task"]](record["word"]),
            "settings": {name: record["settings"][name] for name in SWITCHES} | change,
        }
        whole = [{name: moment[name] for name in ("step", "loss", "exact")} for moment in record["moments"]]
        title = plan["title"][0].upper() + plan["title"][1:]
        super().__init__(**{"experiment": experiment, "title": title, "shared": shared, "whole": whole, **kwargs})

    @traitlets.validate("value")
    def _valid_value(self, proposal):
        return within("value", proposal["value"], -1, 2)

    @traitlets.validate("seed")
    def _valid_seed(self, proposal):
        return within("seed", proposal["value"], 0, SEEDS - 1)

    @traitlets.observe("wanted")
    def _hand_over(self, change: Any) -> None:
        if change["new"]:
            self.engine = built("page/engine.js") or ""

    @property
    def alt(self) -> str:
        last = self.whole[-1]
        said = [self.words.alt.format(exact=round(COUNT * last["exact"]), count=COUNT, updates=last["step"])]
        if self.moments:
            now, title = self.moments[-1], self.shared["names"][1]
            exact = round(COUNT * now["exact"])
            said.append(self.words.own.format(step=now["step"], title=title, exact=exact, count=COUNT))
        return " ".join(said)

    def figure(self):
        """Draw how often unseen words were correct: with all parts, and in the reader's run."""
        fig, ax = draw.figure(width=5, height=3)
        plane = draw.Plane(ax, self.shared["update"], self.shared["exact"])
        looks = zip((self.whole, self.moments), ("one", "broken"), ("-", "--"), self.shared["names"], strict=True)
        for run, colour, dash, name in looks:
            if run:
                exact = [100 * moment["exact"] for moment in run]
                plane.line([moment["step"] for moment in run], exact, colour, dash, name)
        ax.set(ylim=(0, 105))
        plane.key(loc="lower right")
        return fig


def _said(moment: Mapping[str, Any]) -> dict[str, str]:
    """Return what is read and written as text: letters side by side, words apart."""
    return {
        name: moment[name] if isinstance(moment[name], str) else " ".join(moment[name]) for name in ("word", "written")
    }


def _rows(written: Sequence[str], count: int) -> list[str]:
    """Return the labels of the rows: the letters that were written, and where they end."""
    return [*written, "·", *[" "] * count][:count]


def _moment(moment: Mapping[str, Any], word: str, right: str) -> dict[str, Any]:
    weights = [[[int(share) / 100 for share in row.split()] for row in head] for head in moment["weights"]]
    return {
        **moment,
        "word": word,
        "right": right,
        "weights": to_list("weights", weights, ("heads", "rows", len(word) + 1), 2),
    }
