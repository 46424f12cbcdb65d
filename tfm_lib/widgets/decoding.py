"""The widgets of chapter `decoding`: beam search step by step, a truncated distribution, and the translator itself."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import torch
import traitlets
from torch import Tensor

from tfm_lib.drawing.recorded import recorded
from tfm_lib.decoding import Beam, Hypothesis, filter_logits
from tfm_lib.self_attention import entropy
from tfm_lib.widgets import _figures as draw
from tfm_lib.widgets._live import OWN, SHIPPED, Live, size_of, twin_refuses
from tfm_lib.widgets.base import Words, as_read, to_numpy, to_words, within

SEARCH = Words(
    title="Beam tree",
    question="Which continuations does the beam keep, and which sentence has the best score?",
    shared={"nothing": "(nothing)", "end": "⟨end⟩", "step": "step {step}"},
    alt="A beam of {width} with α = {alpha:.1f} ends after {steps} steps. Finished sentences, best first, with their scores: {found}.",
)
CUTTING = Words(
    title="Sampling",
    question="How many tokens can be drawn, and how likely is each of them?",
    shared={
        "all": "all",
        "cut": "cut",
        "others": "{count} others",
        "context": "Source: {source} · written: {written}",
        "unwritten": "nothing yet",
        "probability": "probability",
    },
    alt="At temperature {temperature:.1f}, top-k {top_k} and top-p {top_p:.2f}, {left:,} of {all:,} tokens are left. “{best}” "
    "has probability {now:.3f}, uncut at temperature 1 {before:.3f}; the entropy is {entropy:.2f} nats.",
    token="token {number}",
)
MACHINE = Words(
    title="The translator",
    question="Which part of the model can you remove without changing the translation?",
    shared={
        "places": {"cross": "decoder → source", "decoder": "decoder → itself", "encoder": "encoder → itself"},
        "nothing": "(nothing)",
    },
    alt="“{source}” becomes “{target}”. {word} has probability {p:.2f}; all heads of layer {layer} averaged, it looks most at {key}, with {weight:.2f}.",
    looks="What each written word looks at, layer {layer}, all heads averaged",
    sure="probability of each word",
)
EXAMPLES = (
    "The old man reads a book in the garden.",
    "I don't want to wait for you any longer.",
    "She gave him the keys because he had lost his own.",
    "Where did you buy that red car?",
    "We will meet at the station at half past seven.",
    "THAT IS NOT WHAT I MEANT!",
)
# Sentences that the shipped translator mistranslates with a beam of 4, and how; its own words are quoted last.
FAILURES = {
    "The spirit is willing, but the flesh is weak.": "“flesh” became “flèche”, an arrow",
    "Never leave a candle burning when you go to bed.": "“candle” became “bonbons”, sweets",
    "The bank of the river was covered with flowers.": "bank and river both became “banque”, where money lies",
    "Once upon a time a king had three daughters, and the youngest was so beautiful that even the sun, which had seen "
    "so much, marvelled whenever it shone on her face.": "so long a sentence falls apart; the sun is “aussi belle que le soleil”",
}
RIVALS = 6  # alternatives reported for each written word
END = "<eos>"
UNREAD = 0  # the search's <bos>: continuations are looked up by path, and the first path is empty
DIGITS = 5
MOST_ALPHA = 1.0
Tree = list[list[tuple[int, float, int]]]

# il pleut à verse, as a small model might translate it
RAIN = {
    (): {"it": 0.6, "rain": 0.4},
    ("it",): {"pours": 0.48, "is": 0.46, "rains": 0.06},
    ("it", "is"): {"pouring": 1.0},
    ("it", "is", "pouring"): {"down": 1.0},
    ("rain",): {"pours": 0.75, "falls": 0.25},
}


class Way(NamedTuple):
    """A continuation at one step of a search: its tokens, log-probability, rank, and whether it was kept."""

    path: list[int]
    log_p: float
    rank: int
    kept: bool


class BeamTree(Live):
    """A beam search, step by step, over the log-probabilities of a `tree`; `value` is the width of the beam.

    `tree[i]` lists the continuations of path i, as (token, log-probability, path that this leads to, or −1);
    `tree[0]` is the beginning, and token 0 ends a sentence. `beam_tree` and `translator_tree` make one.
    """

    _module = traitlets.Unicode("decoding/beam_tree").tag(sync=True)
    words = SEARCH
    tokens = traitlets.List(traitlets.Unicode()).tag(sync=True)
    tree = traitlets.List().tag(sync=True)
    source = traitlets.Unicode("").tag(sync=True)
    widest = traitlets.Int(4).tag(sync=True)
    max_len = traitlets.Int(6).tag(sync=True)
    depth = traitlets.Int(1).tag(sync=True)
    value = traitlets.Int(1).tag(sync=True)
    alpha = traitlets.Float(0.6).tag(sync=True)
    step = traitlets.Int(1).tag(sync=True)
    focus = traitlets.List(traitlets.Int(), [0, 0], 2, 2).tag(sync=True)  # step and place; step 0: the winner's path

    def __init__(self, tree: Tree | None = None, tokens: Sequence[str] | None = None, **kwargs: Any):
        if tree is None:
            rain = beam_tree(_rain, "il pleut à verse", widest=4, max_len=6)
            tree, tokens, kwargs = rain["tree"], rain["tokens"], {**rain, **kwargs}
        if not tokens or not tree:
            raise ValueError("tree and tokens must be given together; beam_tree makes both")
        settings: dict[str, Any] = {"tree": [[list(way) for way in ways] for ways in tree], "tokens": list(tokens)}
        settings |= {key: kwargs[key] for key in ("widest", "max_len") if key in kwargs}
        _require_tree(settings["tree"], len(tokens))
        widest, max_len = settings.setdefault("widest", 4), settings.setdefault("max_len", 6)
        depth = _deepest(settings["tree"], widest, max_len)
        super().__init__(**{**kwargs, **settings, "depth": depth})
        if "step" not in kwargs:
            self.step = len(search(self.tree, self.value, self.alpha, self.max_len)[1])

    @traitlets.validate("value", "step", "alpha")
    def _valid_setting(self, proposal):
        name, value = proposal["trait"].name, proposal["value"]
        low, high = {"value": (1, self.widest), "step": (1, self.depth), "alpha": (0, MOST_ALPHA)}[name]
        return within({"value": "value, the width of the beam,"}.get(name, name), value, low, high)

    @property
    def best(self) -> Hypothesis:
        """The hypothesis that the search returns."""
        return search(self.tree, self.value, self.alpha, self.max_len)[0].found[0]

    def text(self, path: Sequence[int]) -> str:
        """Return the words of a path."""
        return phrase(self.tokens, path)

    @property
    def alt(self) -> str:
        beam, steps = search(self.tree, self.value, self.alpha, self.max_len)
        say = self.words
        told = "; ".join(f"{self.text(h.ids) or say.shared['nothing']} {h.score:.2f}" for h in beam.found[:4])
        return say.alt.format(width=self.value, alpha=self.alpha, steps=len(steps), found=told)

    def figure(self):
        """Draw the columns of kept and pruned continuations; the winner's path is thick."""
        from matplotlib.patches import FancyBboxPatch

        beam, steps = search(self.tree, self.value, self.alpha, self.max_len)
        say, shown = self.words.shared, steps[: self.step][-7:]
        first, rows = min(self.step, len(steps)) - len(shown), self.value + 3
        fig, ax = draw.figure(width=7.4, height=0.5 + 0.42 * rows)
        plane = draw.Plane(ax)
        winner = [*beam.found[0].ids, 0]
        for column, ways in enumerate(shown):
            places = {tuple(way.path): way.rank for way in (shown[column - 1] if column else [])}
            for way in ways[:rows]:
                on = way.path == winner[: len(way.path)] and way.kept
                colour, dash = "decoder" if on else "ink" if way.kept else "soft", "-" if way.kept else ":"
                y = way.rank + 0.4 * (not way.kept)
                start = places.get(tuple(way.path[:-1]), 0)
                plane.line([column - 0.36, column - 0.06], [start, y], colour, dash, linewidth=2.2 if on else 0.8)
                frame: dict[str, Any] = {
                    "edgecolor": draw.colours()[colour],
                    "linewidth": 1.8 if on else 0.8,
                    "linestyle": dash,
                }
                corners = "round,pad=0,rounding_size=0.1"
                ax.add_patch(FancyBboxPatch((column - 0.04, y - 0.34), 0.66, 0.68, corners, fill=False, **frame))
                word = say["end"] if way.path[-1] == 0 else draw.plain(as_read(self.tokens[way.path[-1]], self.tokens))
                draw.write(ax, column, y, f"{word[:11]}\n{draw.number(way.log_p)}", colour, "left", fontsize=8)
        plane.rule(y=self.value - 0.3, dash=":", linewidth=0.8)
        ax.set(xlim=(-0.45, max(len(shown), 4) - 0.3), ylim=(rows - 0.1, -0.6), yticks=[])
        names = [say["step"].format(step=first + i + 1) for i in range(len(shown))]
        ax.set_xticks([i + 0.3 for i in range(len(shown))], names)
        draw.bare(ax)
        return fig


class Sampling(Live):
    """The effect of `temperature`, top-k and top-p on the distribution of a next token; `value` is the temperature.

    `logits` are those of the whole vocabulary, best first, rounded to hundredths; `tokens` are the names of the
    first few. `translator_sampling` returns both. `top_k` 0 and `top_p` 1 cut nothing. For a reader's own sentence,
    `place` tokens of the translation, at most `places`, are already written.
    """

    _module = traitlets.Unicode("decoding/sampling").tag(sync=True)
    words = CUTTING
    tokens = traitlets.List(traitlets.Unicode()).tag(sync=True)
    steps = traitlets.List(traitlets.Int()).tag(sync=True)  # hundredths by which each logit is below the one before
    context = traitlets.Unicode("").tag(sync=True)
    place = traitlets.Int(0, min=0).tag(sync=True)
    places = traitlets.Int(0, min=0).tag(sync=True)
    value = traitlets.Float(1.0).tag(sync=True)
    top_k = traitlets.Int(0).tag(sync=True)
    top_p = traitlets.Float(1.0).tag(sync=True)

    def __init__(self, logits: Any = (2.0, 1.5, 1.0, 0.0, -1.0), tokens: Any = None, **kwargs: Any):
        z = to_numpy("logits", logits, ("v",))
        numbered = [self.words.token.format(number=i + 1) for i in range(min(len(z), 12))]
        names = to_words("tokens", numbered if tokens is None else tokens)
        if len(names) > len(z):
            raise ValueError(f"tokens must name at most the {len(z)} tokens of logits; there are {len(names)} names")
        below = [round(100 * (z[0] - each)) for each in z.tolist()]
        if any(b < a for a, b in pairwise(below)):
            raise ValueError("logits must come best first; sort them, and the tokens with them")
        super().__init__(tokens=names, steps=[b - a for a, b in zip([0, *below], below)], **kwargs)

    @traitlets.validate("value", "top_k", "top_p")
    def _valid_setting(self, proposal):
        name, value = proposal["trait"].name, proposal["value"]
        low, high, words = {
            "value": (0.1, 2.0, "value, the temperature, must be from 0.1 to 2"),
            "top_k": (0, math.inf, "top_k must be at least 0, which cuts nothing"),
            "top_p": (0.05, 1.0, "top_p must be from 0.05 to 1"),
        }[name]
        if not low - 1e-9 <= value <= high + 1e-9:
            raise ValueError(f"{words}; it is {value}")
        return value

    def distribution(self, as_it_is: bool = False) -> Tensor:
        """Return the probabilities to sample from, best first; with `as_it_is` at temperature 1 and uncut."""
        logits = -torch.tensor(self.steps, dtype=torch.float64).cumsum(0) / 100
        if as_it_is:
            return logits.softmax(-1)
        return filter_logits(logits / self.value, self.top_k or None, self.top_p).softmax(-1)

    @property
    def shares(self) -> dict[str, list[float]]:
        """The probabilities of the named tokens, and of all others together, with and without the settings."""
        n, both = len(self.tokens), {"now": self.distribution(), "as it is": self.distribution(as_it_is=True)}
        return {name: [*p[:n].tolist(), p[n:].sum().item()] for name, p in both.items()}

    @property
    def alt(self) -> str:
        p = self.distribution()
        settings = {"temperature": self.value, "top_k": self.top_k or self.words.shared["all"], "top_p": self.top_p}
        found = {"left": (p > 0).sum(), "all": len(p), "now": p[0], "before": self.shares["as it is"][0]}
        return self.words.alt.format(best=self.tokens[0], entropy=entropy(p), **settings, **found)

    def figure(self):
        """Draw the probabilities as bars, with outlines for their original values."""
        say, n, shares = self.words.shared, len(self.tokens), self.shares
        fig, ax = draw.figure(width=6.4, height=0.5 + 0.24 * (n + 1))
        ax.barh(range(n + 1), shares["now"], color=draw.colours()["decoder"], alpha=0.75, height=0.7)
        ax.barh(range(n + 1), shares["as it is"], fill=False, edgecolor=draw.colours()["soft"], ls="--", height=0.7)
        for i, p in enumerate(shares["now"]):
            end = max(p, shares["as it is"][i])
            draw.write(ax, end, i, f" {p:.3f}" if p else f" {say['cut']}", "soft", "left", fontsize=9)
        names = [*map(draw.plain, self.tokens), say["others"].format(count=f"{len(self.steps) - n:,}")]
        ax.set_yticks(range(n + 1), names)
        ax.set(ylim=(n + 0.6, -0.6), xlabel=say["probability"], xlim=(0, 1.12), xticks=(0, 0.5, 1))
        return fig


def search(tree: Tree, width: int, alpha: float, max_len: int) -> tuple[Beam, list[list[Way]]]:
    """Run `Beam` over `tree`; return the finished search, and at each step all continuations, best first."""
    beam = Beam(bos_id=UNREAD, eos_id=0, beam=width, alpha=alpha, max_len=max_len)
    steps = []
    while not beam.is_over:
        follow = [_ways(tree, hypothesis.ids) for hypothesis in beam.open]
        every = [
            ([*hypothesis.ids, token], hypothesis.log_p + more)
            for hypothesis, ways in zip(beam.open, follow)
            for token, more, _ in ways
        ]
        every.sort(key=lambda way: -way[1])
        steps.append([Way(path, log_p, rank, rank < width) for rank, (path, log_p) in enumerate(every)])
        beam.advance([[way[0] for way in ways] for ways in follow], [[way[1] for way in ways] for ways in follow])
    return beam, steps


def beam_tree(
    next_log_p: Callable[[list[list[str]]], list[dict[str, float]]],
    source: str = "",
    widest: int = 6,
    max_len: int = 20,
) -> dict[str, Any]:
    """Build the tree that `BeamTree` needs to search with every beam up to `widest`.

    `next_log_p(paths)` returns the log-probabilities of the tokens that may follow each path, a list of tokens;
    the token `<eos>` ends a sentence.
    """
    tokens, tree = [END], [[]]
    where: dict[tuple[str, ...], int] = {(): 0}
    known: dict[tuple[str, ...], list[tuple[str, float]]] = {}
    for width in range(1, widest + 1):
        beam = Beam(bos_id=UNREAD, eos_id=0, beam=width, alpha=MOST_ALPHA, max_len=max_len)
        while not beam.is_over:
            paths = [tuple(tokens[i] for i in hypothesis.ids) for hypothesis in beam.open]
            missing = [path for path in paths if path not in known]
            for path, log_p in zip(missing, next_log_p([list(path) for path in missing]) if missing else []):
                best = sorted(log_p.items(), key=lambda item: -item[1])[:widest]
                known[path] = [(token, round(value, DIGITS)) for token, value in best]
                tokens += [token for token, _ in best if token not in tokens]
                if path:
                    where[path] = len(tree)
                    tree.append([])
            follow = [[(tokens.index(token), value) for token, value in known[path]] for path in paths]
            beam.advance([[t for t, _ in ways] for ways in follow], [[p for _, p in ways] for ways in follow])
    for path, node in where.items():
        tree[node] = [(tokens.index(token), value, where.get((*path, token), -1)) for token, value in known[path]]
    return {"tree": tree, "tokens": tokens, "source": source, "widest": widest, "max_len": max_len}


class LiveTranslator(Live):
    """A complete trained translator with a recorded sentence; its JavaScript twin translates others in the browser.

    `translator` is an engine's `Translator`, by default the shipped one. In a page the reader fetches the shipped
    weights from the book's folder; in Jupyter `wanted` asks the kernel for those of any translator, in 16 bits.
    `value` is the selected written word, `head` 0 averages all heads, `off` names what
    is switched off while `breaking`.
    """

    _module = traitlets.Unicode("decoding/translator").tag(sync=True)
    words = MACHINE
    found = traitlets.Dict().tag(sync=True)
    examples = traitlets.List(traitlets.Unicode(), list(EXAMPLES)).tag(sync=True)
    failures = traitlets.List().tag(sync=True)  # examples that it mistranslates, each with how
    switches = traitlets.Dict().tag(sync=True)
    example = traitlets.Int(0).tag(sync=True)  # the index of `sentence` among the examples, or one more
    by = traitlets.Enum(["greedy", "beam", "sample"], "beam").tag(sync=True)
    temperature = traitlets.Float(1.0).tag(sync=True)
    top_p = traitlets.Float(1.0).tag(sync=True)
    seed = traitlets.Int(0).tag(sync=True)
    place = traitlets.Enum(["cross", "decoder", "encoder"], "cross").tag(sync=True)
    layer = traitlets.Int(0).tag(sync=True)
    head = traitlets.Int(0).tag(sync=True)
    value = traitlets.Int(0).tag(sync=True)
    breaking = traitlets.Bool(False).tag(sync=True)
    off = traitlets.Unicode("").tag(sync=True)

    def __init__(self, translator: Any = None, sentence: str = EXAMPLES[0], **kwargs: Any):
        from tfm_lib.engine.translator import Translator

        machine = SHIPPED if translator is None else OWN
        translator = Translator.shipped() if translator is None else translator
        refusal = twin_refuses(translator)
        if refusal:
            raise ValueError(refusal)
        found = recorded_translation(translator, sentence)
        settings: dict[str, Any] = {
            "found": found,
            "sentence": sentence,
            "machine": machine,
            "size": size_of(translator, machine),
        }
        if machine == SHIPPED:
            settings |= {"switches": recorded_switches(), "failures": [list(each) for each in FAILURES.items()]}
        known = [*EXAMPLES, *(each for each, _ in settings.get("failures", []))]
        settings["example"] = known.index(sentence) if sentence in known else len(known)
        settings.setdefault("layer", translator.model.config.n_layers - 1)
        super().__init__(translator=translator, **{**settings, **kwargs})

    @traitlets.validate("value", "layer", "head", "temperature", "top_p")
    def _valid_setting(self, proposal):
        name, value, cross = proposal["trait"].name, proposal["value"], self.found["weights"]["cross"]
        highest = {"value": 10_000, "layer": len(cross) - 1, "head": len(cross[0]), "temperature": 2.0, "top_p": 1.0}
        return within(name, value, {"temperature": 0.1, "top_p": 0.05}.get(name, 0), highest[name])

    @property
    def tokens(self) -> tuple[list[str], list[str]]:
        """The source and target tokens, formatted for reading."""
        source, target = self.found["source"], self.found["target"]
        return [as_read(token, source) for token in source], [as_read(token, target) for token in target]

    @property
    def looks(self) -> Tensor:
        """The recorded cross-attention (written, read) of the selected layer and head."""
        heads = torch.tensor(self.found["weights"]["cross"][self.layer])
        return heads[self.head - 1] if self.head else heads.mean(dim=0)

    @property
    def alt(self) -> str:
        read, written = self.tokens
        i = min(self.value, len(written) - 1)
        weight, j = self.looks[i].max(dim=0)
        told = {"source": self.found["sentence"], "target": self.found["translation"], "word": written[i]}
        found = {"p": self.found["told"][i]["p"], "key": read[j], "weight": weight.item(), "layer": self.layer + 1}
        return self.words.alt.format(**told, **found)

    def figure(self):
        """Draw the cross-attention as a matrix, and the probability of each written word."""
        read, written = self.tokens
        fig, (left, right) = draw.figure(cols=2, width=7.4, height=0.9 + 0.3 * len(written), width_ratios=[2.4, 1])
        looks = self.looks
        draw.heatmap(
            left, looks, written, read, 1.0, text=lambda i, j: draw.number(float(looks[i, j])), text_size=7, square=False, focus=self.value
        )  # fmt: skip
        p = [told["p"] for told in self.found["told"]]
        plane = draw.Plane(right, self.words.sure, xlim=(0, 1.16), ylim=(len(p) - 0.5, -0.5), yticks=[])
        for i, own in enumerate(p):
            draw.box(right, 0, i - 0.3, own, 0.6, "one")
            draw.write(right, own + 0.02, i, draw.number(own), ha="left", fontsize=8)
        draw.bare(plane.ax)
        return fig


@torch.no_grad()
def recorded_translation(translator: Any, sentence: str, digits: int = 3) -> dict[str, Any]:
    """Return what the twin reports of a translation, from the library: tokens, probabilities, rivals, all weights.

    Probabilities have `digits` decimals; weights, of which there are thousands, one fewer.
    """
    seen = translator.attention(sentence)
    tokenizer = translator.tokenizer
    (ids,) = translator.search([sentence])
    logits = translator.model(translator.ids(sentence), torch.tensor([[tokenizer.bos_id, *ids]]))[0]
    p = logits.softmax(dim=-1)
    best, places = p.topk(min(RIVALS, p.shape[-1]))
    told = [
        {
            "p": round(p[i, own].item(), digits),
            "rivals": [{"piece": tokenizer.piece(k), "p": round(x, digits)} for x, k in zip(best[i].tolist(), places[i].tolist())],
        }
        for i, own in enumerate([*ids, tokenizer.eos_id])
    ]  # fmt: skip
    shades = 10 ** (digits - 1)
    weights = {
        place: (value.double() * shades).round().div(shades).tolist() for place, value in seen["weights"].items()
    }
    kept = {name: seen[name] for name in ("source", "target", "translation")}
    return {"sentence": sentence, **kept, "told": told, "weights": weights}


def recorded_switches() -> dict[str, Any]:
    """Return how often switching off each part changes the shipped translator's output, from the recorded run."""
    run = recorded("translator_switches")
    return {"trials": run["sentences"], **{name: switch["changed"] for name, switch in run["switches"].items()}}


def translator_tree(translator: Any, sentence: str, widest: int = 6, max_len: int | None = None) -> dict[str, Any]:
    """Return the `beam_tree` of a translator (`tfm_lib.engine.translator.Translator`) for one sentence."""
    model, tokenizer, src_ids = translator.model, translator.tokenizer, translator.ids(sentence)
    ids_of: dict[str, int] = {}

    @torch.no_grad()
    def next_log_p(paths: list[list[str]]) -> list[dict[str, float]]:
        read = torch.tensor([[tokenizer.bos_id, *(ids_of[piece] for piece in path)] for path in paths])
        log_p: Tensor = model(src_ids.expand(len(read), -1), read)[:, -1].log_softmax(dim=-1)
        best, ids = log_p.topk(widest)
        follow = []
        for values, row in zip(best.tolist(), ids.tolist()):
            pieces = [END if i == tokenizer.eos_id else tokenizer.piece(i) for i in row]
            ids_of.update(zip(pieces, row))
            follow.append(dict(zip(pieces, values)))
        return follow

    return beam_tree(next_log_p, sentence, widest, max_len or src_ids.shape[1] + 8)


@torch.no_grad()
def translator_sampling(translator: Any, sentence: str, written: Sequence[int] = (), named: int = 12) -> dict[str, Any]:
    """Return what `Sampling` needs of a translator's next token for `sentence`, after the ids `written`."""
    tokenizer = translator.tokenizer
    read = torch.tensor([[tokenizer.bos_id, *written]])
    logits, order = translator.model(translator.ids(sentence), read)[0, -1].sort(descending=True)
    names = [END if i == tokenizer.eos_id else tokenizer.piece(i) for i in order[:named].tolist()]
    so_far = "".join(map(tokenizer.piece, written)).replace("▁", " ").strip()
    return {
        "logits": logits,
        "tokens": names,
        "context": CUTTING.shared["context"].format(source=sentence, written=so_far or CUTTING.shared["unwritten"]),
    }


def phrase(tokens: Sequence[str], path: Sequence[int]) -> str:
    """Join words with spaces, or sub-words directly, where ▁ begins a word."""
    words = [tokens[i] for i in path if i != 0]
    if any(token.startswith("▁") for token in tokens):
        return "".join(words).replace("▁", " ").strip()
    return " ".join(words)


def _rain(paths: list[list[str]]) -> list[dict[str, float]]:
    choices = [RAIN.get(tuple(path), {END: 1.0}) for path in paths]
    return [{word: math.log(p) for word, p in choice.items()} for choice in choices]


def _ways(tree: Tree, path: Sequence[int]) -> list[tuple[int, float, int]]:
    """Return the continuations of `path`; none where the tree ends."""
    node = 0
    for token in path:
        node = next((behind for found, _, behind in tree[node] if found == token), -1)
        if node < 0:
            return []
    return tree[node]


def _deepest(tree: Tree, widest: int, max_len: int) -> int:
    """Return the most steps that any search of the widget takes; a larger α never ends it sooner."""
    return max(len(search(tree, width, MOST_ALPHA, max_len)[1]) for width in range(1, widest + 1))


def _require_tree(tree: Tree, count: int) -> None:
    for node, ways in enumerate(tree):
        for way in ways:
            fits = len(way) == 3 and 0 <= way[0] < count and way[1] <= 0 and -1 <= way[2] < len(tree)
            if not fits:
                raise ValueError(
                    f"tree[{node}] must hold triples (token below {count}, log-probability at most 0, path below "
                    f"{len(tree)} or −1); it holds {way}"
                )
