"""The widgets of chapter `transformer`: one word's vector through the model, stage by stage, and the model's size."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
import traitlets
from torch import Tensor, nn

from tfm_lib._trace import Trace, trace
from tfm_lib._vocabulary import Vocabulary
from tfm_lib.transformer import Transformer, TransformerConfig, base_config, big_config, count_parameters
from tfm_lib.widgets import _figures as draw
from tfm_lib.widgets._film import FILM, SENTENCES, record, without_positions
from tfm_lib.widgets._live import Live
from tfm_lib.widgets.base import Widget, Words, as_read, one_of, within

WAY = Words(
    title="Follow a token",
    question="At which step does a vector stop to mean what it was?",
    shared={
        "steps": {
            "embedding": "embedding",
            "+ position": "+ position",
            "self-attention": "self-attention",
            "masked self-attention": "masked self-attention",
            "cross-attention": "cross-attention",
            "feed-forward": "feed-forward",
            "last norm": "last norm",
            "logits": "logits",
        },
        "vector": "the vector",
        "added": "what this step added",
        "source": "source",
        "target": "target",
        "shapes": {
            "ids": "ids {ids} → E[ids] · √{d_model} {rows}",
            "heads": "Q {Q}, K and V {K} → weights {weights} → {whole}",
        },
    },
    alt="“{token}” of the {sentence}, {place}: shapes {shapes}.{length}{most} {kind}: {told}.",
    place="layer {layer}, {step}",
    length=" The vector has length {length:.2f}{added}.",
    added=", what this step added {added:.2f}",
    most=" Most weight goes to “{word}”, {weight:.2f}.",
    nearest="Nearest words",
    say="It would say",
    nearest_words="nearest words",
    would_say="would say",
    number="number, of {width}",
    value="value",
)
SIZE = Words(
    title="Model size",
    question="Which parts grow fourfold when d_model and d_ff double, and which twofold?",
    shared={
        "work": {
            "attention, matrices": "attention, matrices",
            "feed-forward": "feed-forward",
            "scores and means": "scores and means",
            "logits": "logits",
        },
    },
    alt="{layers} layers, d_model {d_model}, d_ff {d_ff}, {heads} heads, {words:,} words, {norm}: {total:,} parameters "
    "({parts}). In 32 bits {held}, to train with Adam {trained}. At {length} words a word takes {work} operations, "
    "{share:.1%} of them in scores and means.",
    norms={"post": "post-norm", "pre": "pre-norm"},
    millions="parameters (millions)",
    heading="{total:,} parameters",
    parts={"norms": "norms"},  # the other parts are named as in the code
    stacks={"encoder": "encoder", "decoder": "decoder", "words": "words"},
)
LONGEST = 600  # seconds of a film, by far
FAINT = 0.1  # weights of the film's still picture that are not drawn
TOLD = 4  # most probable words listed for a vector


@dataclass
class Stage:
    """One stage of the model: its output state (words, d_model), and how it was computed."""

    name: str
    layer: int  # 0 is outside the stack
    shapes: str
    state: Tensor
    added: Tensor | None = None  # what was added to the previous state
    weights: Tensor | None = None  # (n_heads, words, keys)
    active: Tensor | None = None  # number of hidden units of the feed-forward network above 0
    says: list[list[tuple[str, float]]] = field(default_factory=list)


@torch.no_grad()
def follow(model: Transformer, src_ids: Tensor, tgt_ids: Tensor) -> tuple[list[Stage], list[Stage]]:
    """Return every state of one source and one target sentence through encoder and decoder, dropout off."""
    training = model.training
    try:
        with trace(model.eval()) as seen:
            model(src_ids, tgt_ids)
    finally:
        model.train(training)
    both = zip((src_ids, tgt_ids), seen.calls("embedding.tokens.output"), seen.calls("embedding.output"))
    encoder, decoder = (_entrance(model, ids, rows * model.embedding.scale, X) for ids, rows, X in both)
    for i, layer in enumerate(model.encoder):
        _climb(encoder, seen, f"encoder.{i}", layer, ["self-attention", "feed-forward"])
    for i, layer in enumerate(model.decoder):
        _climb(decoder, seen, f"decoder.{i}", layer, ["masked self-attention", "cross-attention", "feed-forward"])
    for stages, norm in (encoder, "encoder_norm"), (decoder, "decoder_norm"):
        if not isinstance(model.get_submodule(norm), nn.Identity):  # pre-norm stacks end with a norm
            X = seen[f"{norm}.output"]
            stages.append(Stage("last norm", 0, f"{_shape(X)} → {_shape(X)}", X[0]))
    Y, logits = seen["decoder_norm.output"], seen["output"]
    decoder.append(Stage("logits", 0, f"{_shape(Y)} · Eᵀ → {_shape(logits)}", logits[0]))
    return encoder, decoder


def _entrance(model: Transformer, ids: Tensor, rows: Tensor, whole: Tensor) -> list[Stage]:
    d_model = model.config.d_model
    first = Stage(
        "embedding", 0, WAY.shared["shapes"]["ids"].format(ids=_shape(ids), d_model=d_model, rows=_shape(rows)), rows[0]
    )
    return [first, Stage("+ position", 0, f"{_shape(rows)} + PE → {_shape(whole)}", whole[0], (whole - rows)[0])]


def _climb(stages: list[Stage], seen: Trace, path: str, layer: Any, names: list[str]) -> None:
    """Append the stages of one layer: its sub-layers, each with its residual connection."""
    number = int(path.rpartition(".")[2]) + 1
    for k, (around, name) in enumerate(zip(layer.residuals, names)):
        sublayer = f"{path}.{name.removeprefix('masked ').replace('-', '_')}"
        change, weights = seen[f"{sublayer}.output"][0], seen.get(f"{sublayer}.weights")
        state = seen[f"{path}.residuals.{k}.norm.output"][0] if around.is_post else stages[-1].state + change
        stage = Stage(name, number, "", state, change)
        whole = _shape(state[None])
        if weights is None:
            hidden = seen[f"{sublayer}.hidden"]
            stage.shapes, stage.active = f"{whole} → {_shape(hidden)} → {whole}", (hidden[0] > 0).sum(dim=-1)
        else:
            _, h, n, m = weights.shape
            d_k = state.shape[-1] // h
            Q, K = f"(1, {h}, {n}, {d_k})", f"(1, {h}, {m}, {d_k})"
            stage.shapes = WAY.shared["shapes"]["heads"].format(Q=Q, K=K, weights=_shape(weights), whole=whole)
            stage.weights = weights[0]
        stages.append(stage)


def _shape(X: Tensor) -> str:
    return f"({', '.join(map(str, X.shape))})"


class FollowToken(Live):
    """The vector of one word through a Transformer, stage by stage, with shapes and actual numbers.

    `model` is any Transformer, `src_ids` (1, m) a source and `tgt_ids` (1, n) the input of its decoder, <bos> first.
    `words` gives the text of an id. `translator` is the engine's, around the same model, for sentences of the reader's
    own. `value` counts the stages from the bottom, `word` the source words and then the target words, `head` is 0
    for the mean of all heads. The first `numbers` features of each vector are kept.
    """

    _module = traitlets.Unicode("transformer/follow_token").tag(sync=True)
    words = WAY
    src_tokens = traitlets.List(traitlets.Unicode()).tag(sync=True)
    tgt_tokens = traitlets.List(traitlets.Unicode()).tag(sync=True)
    encoder = traitlets.List(traitlets.Dict()).tag(sync=True)
    decoder = traitlets.List(traitlets.Dict()).tag(sync=True)
    width = traitlets.Int().tag(sync=True)
    value = traitlets.Int().tag(sync=True)
    word = traitlets.Int().tag(sync=True)
    head = traitlets.Int(0).tag(sync=True)
    number = traitlets.Int(1).tag(sync=True)

    def __init__(
        self, model=None, src_ids=None, tgt_ids=None, words: Callable[[int], str] = str, numbers=32, value=0,
        word=None, **kwargs,
    ):  # fmt: skip
        if model is None:
            model, src_ids, tgt_ids = _untrained()
        src, tgt = _one_sentence("src_ids", src_ids), _one_sentence("tgt_ids", tgt_ids)
        pieces = [words(i) for i in (*src[0].tolist(), *tgt[0].tolist()) if i >= len(Vocabulary.special)]
        encoder, decoder = follow(model, src, tgt)

        def read(i: int) -> str:
            return as_read(words(i), pieces)

        _nearest(model, encoder, read)
        _would_say(model, decoder, read)
        numbers = min(numbers, model.config.d_model)
        super().__init__(
            src_tokens=[_text(read, i) for i in src[0].tolist()],
            tgt_tokens=[_text(read, i) for i in tgt[0].tolist()],
            encoder=[_plain(stage, numbers) for stage in encoder],
            decoder=[_plain(stage, numbers) for stage in decoder],
            width=model.config.d_model,
            value=value,
            word=src.shape[1] if word is None else word,
            **kwargs,
        )

    @traitlets.validate("value")
    def _valid_value(self, proposal):
        return self._within("value", proposal["value"], 0, max(len(self.encoder), len(self.decoder)) - 1)

    @traitlets.validate("word")
    def _valid_word(self, proposal):
        return self._within("word", proposal["value"], 0, len(self.src_tokens) + len(self.tgt_tokens) - 1)

    @traitlets.validate("head")
    def _valid_head(self, proposal):
        heads = max((len(stage["weights"]) for stage in self.decoder), default=0)
        return self._within("head", proposal["value"], 0, heads)

    @traitlets.validate("number")
    def _valid_number(self, proposal):
        kept = max((len(rows[0]) for stage in self.decoder if (rows := stage["vectors"])), default=1)
        return self._within("number", proposal["value"], 1, kept)

    def _within(self, name: str, value: int, low: int, high: int) -> int:
        if not low <= value <= high:
            raise ValueError(f"{name} must be from {low} to {high}; it is {value}")
        return value

    @property
    def at(self) -> tuple[dict[str, Any], int, bool]:
        """The displayed stage, the word's index in its own sentence, and whether it is in the source."""
        m = len(self.src_tokens)
        stages = self.encoder if self.word < m else self.decoder
        stage = stages[min(self.value, len(stages) - 1)]
        return stage, self.word if self.word < m else self.word - m, self.word < m

    def weights(self) -> list[float]:
        """Return the word's weights at the displayed stage: of the selected head, or the mean of all; else []."""
        stage, i, _ = self.at
        rows = np.array([head[i] for head in stage["weights"]])
        if not len(rows):
            return []
        return (rows.mean(axis=0) if self.head == 0 else rows[self.head - 1]).tolist()

    def asked(self) -> list[str]:
        """Return the words that those weights belong to."""
        stage, _, of_source = self.at
        return self.src_tokens if of_source or stage["name"] == "cross-attention" else self.tgt_tokens

    @property
    def alt(self) -> str:
        say, (stage, i, of_source) = self.words, self.at
        length = most = ""
        if stage["lengths"]:
            added = say.added.format(added=stage["added_lengths"][i]) if stage["added_lengths"] else ""
            length = say.length.format(length=stage["lengths"][i], added=added)
        if weights := self.weights():
            best = int(np.argmax(weights))
            most = say.most.format(word=self.asked()[best], weight=weights[best])
        return say.alt.format(
            token=(self.src_tokens if of_source else self.tgt_tokens)[i],
            sentence=say.shared["source" if of_source else "target"],
            place=self._place(stage),
            shapes=stage["shapes"],
            length=length,
            most=most,
            kind=say.nearest if of_source else say.say,
            told=", ".join(f"“{word}” {share:.2f}" for word, share in stage["says"][i]),
        )

    def figure(self):
        """Draw the stored features of the vector, what the stage added, and the words that the vector predicts."""
        say, (stage, i, of_source) = self.words, self.at
        fig, (left, right) = draw.figure(cols=2, width=7.2, height=3, width_ratios=[3, 1])
        vector, c = np.array(stage["vectors"][i]), draw.colours()
        places = np.arange(1, len(vector) + 1)
        token = draw.plain((self.src_tokens if of_source else self.tgt_tokens)[i])
        heading = f"“{token}”, {self._place(stage)}"
        plane = draw.Plane(left, say.number.format(width=self.width), say.value, title=heading)
        plane.rule(y=0)
        left.bar(places, vector, color=c["encoder" if of_source else "decoder"], label=say.shared["vector"])
        if stage["added"]:
            plane.line(places, stage["added"][i], "ink", "", say.shared["added"], marker=".", markersize=4)
            plane.key(loc="upper right")
        said = stage["says"][i][::-1]
        right.barh([draw.plain(word) for word, _ in said], [share for _, share in said], color=c["w1"])
        right.set(title=say.nearest_words if of_source else say.would_say, xlim=(0, 1))
        return fig

    def _place(self, stage: dict[str, Any]) -> str:
        step = self.words.shared["steps"][stage["name"]]
        return self.words.place.format(layer=stage["layer"], step=step) if stage["layer"] else step


def _one_sentence(name: str, ids: Any) -> Tensor:
    ids = torch.as_tensor(ids)
    if ids.dim() != 2 or len(ids) != 1 or ids.shape[1] == 0:
        raise ValueError(f"{name} must be one sentence, ids of shape (1, length); it has shape {tuple(ids.shape)}")
    return ids


def _text(words: Callable[[int], str], i: int) -> str:
    return Vocabulary.special[i] if i < len(Vocabulary.special) else words(i)


def _nearest(model: Transformer, stages: Sequence[Stage], words: Callable[[int], str]) -> None:
    """Store the words whose embeddings have the largest cosine with each state, and the cosines."""
    E = nn.functional.normalize(model.embedding.tokens.weight.detach(), dim=-1)
    for stage in stages:
        _tell(stage, nn.functional.normalize(stage.state, dim=-1) @ E.T, words)


def _would_say(model: Transformer, stages: Sequence[Stage], words: Callable[[int], str]) -> None:
    """Store the words that each state would predict if it were the last, with their probabilities."""
    with torch.no_grad():
        for stage in stages:
            logits = stage.state
            if stage.name != "logits":
                normed = stage.state if stage.name == "last norm" else model.decoder_norm(stage.state)
                logits = model.embedding.unembed(normed)
            _tell(stage, logits.softmax(dim=-1), words)


def _tell(stage: Stage, shares: Tensor, words: Callable[[int], str]) -> None:
    best = shares.topk(min(TOLD, shares.shape[-1]), dim=-1)
    for ids, values in zip(best.indices.tolist(), best.values.tolist()):
        stage.says.append([(_text(words, i), value) for i, value in zip(ids, values)])


def _plain(stage: Stage, numbers: int) -> dict[str, Any]:
    """Return a stage as a page stores it."""
    is_logits = stage.name == "logits"
    kept = stage.state.sort(dim=-1, descending=True).values if is_logits else stage.state
    return {
        "name": stage.name,
        "layer": stage.layer,
        "shapes": stage.shapes,
        "vectors": _rounded(kept[:, :numbers], 2),
        "added": [] if stage.added is None else _rounded(stage.added[:, :numbers], 2),
        "lengths": [] if is_logits else _rounded(stage.state.norm(dim=-1), 2),
        "added_lengths": [] if stage.added is None else _rounded(stage.added.norm(dim=-1), 2),
        "says": [[[word, round(share, 3)] for word, share in told] for told in stage.says],
        "weights": [] if stage.weights is None else _rounded(stage.weights, 3),
        "active": [] if stage.active is None else stage.active.tolist(),
    }


def _rounded(X: Tensor, digits: int) -> list:
    return np.round(X.detach().double().numpy(), digits).tolist()


def _untrained() -> tuple[Transformer, Tensor, Tensor]:
    """Return a small untrained model as a default example."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        model = Transformer(TransformerConfig(20, d_model=16, n_heads=4, d_ff=64, n_layers=2, dropout=0.0))
    return model, torch.tensor([[5, 6, 7, 2]]), torch.tensor([[1, 11, 12]])


# the film


class Film(Live):
    """One sentence through the whole shipped translator, from words to numbers and back.

    `value` is the second of the film. `depth` is 0 for the whole machine, 1 for the head at work, 2 for the dot product
    of one of its queries with one key; `pick` names another pair of them, as "head.query.key". `swapped` shows the
    second sentence, in which the animals are swapped. With `plays` the film starts once when it comes into view.
    `translator` is the engine's, and must be the shipped one, which is the default.
    """

    _module = traitlets.Unicode("transformer/film").tag(sync=True)
    words = FILM
    film = traitlets.Dict().tag(sync=True)
    value = traitlets.Float(0.0).tag(sync=True)
    depth = traitlets.Int(0).tag(sync=True)
    pick = traitlets.Unicode("").tag(sync=True)
    swapped = traitlets.Bool(False).tag(sync=True)
    plays = traitlets.Bool(False).tag(sync=True)

    def __init__(self, translator: Any = None, **kwargs: Any):
        if translator is None:
            from tfm_lib.engine.translator import Translator

            translator = Translator.shipped()
        one, two = (record(translator, sentence) for sentence in SENTENCES)
        film = {"one": one, "two": two, "plain": without_positions(translator, SENTENCES)}
        super().__init__(translator=translator, film=film, **kwargs)

    @property
    def _one(self) -> dict[str, Any]:
        """The numbers of the displayed sentence."""
        return self.film["two" if self.swapped and "two" in self.film else "one"]

    @traitlets.validate("value")
    def _valid_value(self, proposal):
        return within("value", proposal["value"], 0, LONGEST)

    @traitlets.validate("depth")
    def _valid_depth(self, proposal):
        return one_of("depth", proposal["value"], range(3))

    @property
    def alt(self) -> str:
        one = self._one
        return self.words.alt.format(**one["names"], sentence=one["sentence"], translation=one["translation"])

    @property
    def in_sentences(self) -> list[str]:
        one, other = self._one, self.film["one" if self.swapped else "two"]
        weights = zip(one["words"], one["looks"]["first"]["weights"][one["focus"]])
        names = {
            **one["names"],
            "sentence": one["sentence"],
            "translation": one["translation"],
            "other": other["sentence"],
            "french": other["translation"],
            "plain": self.film["plain"],
            "weights": ", ".join(f"{word} {weight:.2f}" for word, weight in weights),
            "ways": ", ".join(f"{word} {p:.3f}" for word, p in one["next"][one["step"]]),
        }
        told: list[str] = []  # for each picture of the figure
        for name, scene in self.words.shared["scenes"].items():
            if name.endswith("_own"):
                continue
            if name in self.words.stills:
                told.append("")
            for _, *says in scene:
                told[-1] += " ".join(says).replace("*", "").format(**names) + " "
        return [each.strip() for each in told]

    def figure(self):
        """Draw six moments of the film, from the crossing lines to the translation without positions."""
        one, say = self._one, self.words
        stills = [title.format(**one["names"]) for title in say.stills.values()]
        fig, axes = draw.figure(rows=3, cols=2, width=7.4, height=7.6, height_ratios=[1, 1.6, 1.2])
        crossing, weighing, heads, masked, chances, removed = axes.flat
        for ax, title in zip(axes.flat, stills):
            ax.set_title(title)
        self._draw_crossing(crossing, one)
        words, look = one["words"], one["looks"]["first"]
        weighing.bar(range(len(words)), look["weights"][one["focus"]], color=draw.colours()["w1"])
        weighing.set(xticks=range(len(words)), ylabel=say.weight)
        weighing.set_xticklabels(words, rotation=60)
        rows = [str(k + 1) for k in range(len(one["heads"]))]
        draw.heatmap(heads, one["heads"], rows, words, title=stills[2], square=False)
        read = one["written"][:-1]
        hidden = [[j > i for j in range(len(read))] for i in range(len(read))]
        draw.heatmap(masked, one["looks_back"], read, read, hidden=hidden, title=stills[3], square=False)
        ways = one["next"][one["step"]][::-1]
        chances.barh([word for word, _ in ways], [p for _, p in ways], color=draw.colours()["decoder"])
        chances.set(xlim=(0, 1), xlabel=say.probability)
        draw.bare(removed)
        removed.set(xticks=[], yticks=[], xlim=(0, 1), ylim=(0, 1))
        for y, sentence in (0.7, self.film["one"]), (0.25, self.film.get("two", self.film["one"])):
            draw.write(removed, 0, y, sentence["sentence"], ha="left")
            draw.write(removed, 0, y - 0.17, self.film["plain"], "broken", ha="left")
        return fig

    def _draw_crossing(self, ax: Any, one: dict[str, Any]) -> None:
        """Draw the two sentences, and lines between their words as wide as the cross-attention's weights."""
        draw.bare(ax)
        ax.set(xticks=[], yticks=[], xlim=(-0.6, len(one["written"]) - 1.4), ylim=(-0.25, 1.25))
        for j, word in enumerate(one["written"][1:-1]):
            draw.write(ax, j, 1.12, word, "decoder", fontsize=7)
            for i, weight in enumerate(one["crossed"][j][:-1]):
                if weight > FAINT:
                    ax.plot([j, i + 0.4], [1, 0.12], color=draw.colours()["query"], linewidth=5 * weight)
        for i, word in enumerate(one["words"][:-1]):
            draw.write(ax, i + 0.4, 0, word, fontsize=7)


# model sizes

PRESETS = {
    "base": base_config(37_000),
    "big": big_config(37_000),
    "translator": TransformerConfig(6000, d_model=256, n_heads=8, d_ff=1024, n_layers=3, norm="pre"),
}
ACROSS, ROW, GAP = (
    0.11,
    1 / 370,
    36,
)  # of the drawing: width per feature, height per row of numbers, pixels between stacks
FIELDS = ("n_layers", "value", "d_ff", "n_heads", "vocab_size", "norm")
CHOICES = {
    "value": [64, 128, 256, 512, 1024, 2048, 4096],
    "d_ff": [128, 256, 512, 1024, 2048, 4096, 8192, 16384],
    "n_heads": [1, 2, 4, 8, 16, 32],
}


class ModelSize(Widget):
    """A Transformer drawn with areas proportional to parameter counts; its memory, and its operations per word.

    `preset` is "base", "big", "translator" (the one shipped with the book) or "own"; `value` is d_model. `length`
    is the number of words in source and target, for counting operations.
    """

    _module = traitlets.Unicode("transformer/model_size").tag(sync=True)
    words = SIZE
    preset = traitlets.Unicode("base").tag(sync=True)
    n_layers = traitlets.Int(6).tag(sync=True)
    value = traitlets.Int(512).tag(sync=True)
    d_ff = traitlets.Int(2048).tag(sync=True)
    n_heads = traitlets.Int(8).tag(sync=True)
    vocab_size = traitlets.Int(37_000).tag(sync=True)
    norm: Any = traitlets.Unicode("post").tag(sync=True)
    length = traitlets.Int(32).tag(sync=True)
    presets = traitlets.Dict().tag(sync=True)

    def __init__(self, preset="base", **kwargs):
        given = set(kwargs) & set(FIELDS)
        start = _fields(PRESETS[preset if preset in PRESETS else "base"])
        presets = {name: _fields(config) for name, config in PRESETS.items()}
        super().__init__(preset="own" if given else preset, presets=presets, **{**start, **kwargs})
        self.observe(self._take_preset, "preset")
        self.observe(self._leave_preset, FIELDS)

    def _take_preset(self, _change) -> None:
        if self.preset in PRESETS:
            with self.hold_trait_notifications():
                for name, x in _fields(PRESETS[self.preset]).items():
                    setattr(self, name, x)

    def _leave_preset(self, _change) -> None:
        if self.preset in PRESETS and any(
            getattr(self, name) != x for name, x in _fields(PRESETS[self.preset]).items()
        ):
            self.preset = "own"

    @traitlets.validate("preset")
    def _valid_preset(self, proposal):
        if proposal["value"] not in (*PRESETS, "own"):
            raise ValueError(f"preset must be one of {', '.join(PRESETS)} or own; it is {proposal['value']!r}")
        return proposal["value"]

    @traitlets.validate("norm")
    def _valid_norm(self, proposal):
        if proposal["value"] not in ("post", "pre"):
            raise ValueError(f"norm must be post or pre; it is {proposal['value']!r}")
        return proposal["value"]

    @traitlets.validate("value", "d_ff", "n_heads")
    def _valid_choice(self, proposal):
        name, x = proposal["trait"].name, proposal["value"]
        if x not in CHOICES[name]:
            raise ValueError(f"{name} must be one of {', '.join(map(str, CHOICES[name]))}; it is {x}")
        return x

    @traitlets.validate("n_layers", "vocab_size", "length")
    def _valid_range(self, proposal):
        name, x = proposal["trait"].name, proposal["value"]
        low, high = {"n_layers": (1, 24), "vocab_size": (100, 200_000), "length": (1, 4096)}[name]
        if not low <= x <= high:
            raise ValueError(f"{name} must be from {low} to {high}; it is {x}")
        return x

    @property
    def config(self) -> TransformerConfig:
        """The displayed configuration."""
        return TransformerConfig(self.vocab_size, self.value, self.n_heads, self.d_ff, self.n_layers, norm=self.norm)

    @property
    def parts(self) -> dict[str, int]:
        """The parameters of each part, as `count_parameters` counts them."""
        with torch.device("meta"):
            return count_parameters(Transformer(self.config))

    @property
    def flops(self) -> dict[str, int]:
        """Floating-point operations for one source and one target word, two for each multiply-and-add."""
        return flops_per_word(self.config, self.length)

    @property
    def alt(self) -> str:
        parts, flops = self.parts, self.flops
        total, operations = sum(parts.values()), sum(flops.values())
        return self.words.alt.format(
            layers=self.n_layers,
            d_model=self.value,
            d_ff=self.d_ff,
            heads=self.n_heads,
            words=self.vocab_size,
            norm=self.words.norms[self.norm],
            total=total,
            parts=", ".join(f"{self.words.parts.get(part, part)} {count:,}" for part, count in parts.items()),
            held=_bytes(4 * total),
            trained=_bytes(16 * total),
            length=self.length,
            work=_short(operations),
            share=flops["scores and means"] / operations,
        )

    def figure(self):
        """Draw the model with areas proportional to parameter counts, beside the parts as bars."""
        say, c, parts = self.words, draw.colours(), self.parts
        fig, (drawn, bars) = draw.figure(cols=2, width=7.4, height=3.8)
        d, long = self.value * ACROSS, self.vocab_size * ROW
        draw.box(drawn, -long / 2, 0, long, d, ("ink", 0.6), gid="embedding.tokens")
        for stack, x in ("encoder", -GAP / 2 - d), ("decoder", GAP / 2):
            names, y = [name for name in parts if name.startswith(f"{stack}.")], d + GAP
            for name in names * self.n_layers:
                tall = parts[name] / self.value / self.n_layers * ROW
                look = {"hatch": "////"} if "cross" in name else {}
                fill = "card" if look else (stack, 0.4 if "feed" in name else 0.85)
                draw.box(drawn, x, y, d, tall, fill, stack if look else "card", gid=name, **{"linewidth": 0.4, **look})
                y += tall
            draw.write(drawn, x + d / 2, y + GAP / 3, say.stacks[stack], fontsize=9)
        draw.write(drawn, 0, -GAP / 3, say.stacks["words"], fontsize=9)
        draw.bare(drawn)
        drawn.set(xticks=[], yticks=[], aspect="equal")
        drawn.autoscale_view()
        names = list(parts)[::-1]
        colour = [c.get(name.split(".")[0], c["ink"]) for name in names]
        bars.barh([say.parts.get(name, name) for name in names], [parts[name] / 1e6 for name in names], color=colour)
        bars.set(xlabel=say.millions, title=say.heading.format(total=sum(parts.values())))
        return fig


def flops_per_word(config: TransformerConfig, length: int) -> dict[str, int]:
    """Return the operations of a forward pass over `length` source and `length` target words, divided by `length`.

    Matrix products only, two operations for each multiply-and-add; scores hidden by the causal mask are computed, too.
    """
    d, d_ff, N = config.d_model, config.d_ff, config.n_layers
    return {
        "attention, matrices": 3 * N * 2 * 4 * d * d,
        "feed-forward": 2 * N * 2 * 2 * d * d_ff,
        "scores and means": 3 * N * 2 * 2 * length * d,
        "logits": 2 * d * config.vocab_size,
    }


def _fields(config: TransformerConfig) -> dict[str, Any]:
    return {
        "n_layers": config.n_layers, "value": config.d_model, "d_ff": config.d_ff,
        "n_heads": config.n_heads, "vocab_size": config.vocab_size, "norm": config.norm,
    }  # fmt: skip


def _short(x: float) -> str:
    for size, name in ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")):
        if x >= size:
            return f"{x / size:.3g} {name}"
    return str(x)


def _bytes(x: float) -> str:
    return f"{_short(x)}B" if x >= 1e3 else f"{x} B"
