"""Draw the encoder–decoder as SVG that follows the colour scheme; the parts that the reader wrote are coloured in."""

from __future__ import annotations

import html
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from textwrap import wrap
from typing import Any

from tfm_exercises.mine import answers
from tfm_exercises.mine.catalogue import PARTS, find
from tfm_exercises.mine.chapters import CHAPTERS
from tfm_exercises.watching import Endless, clip
from tfm_lib._errors import require_kind, require_path
from tfm_lib._refusal import Refusal
from tfm_lib.drawing.display import colours

PATIENCE = 10.0  # seconds that a translation may take

#: From bottom to top, as data flows. A block is (title, its part, what is inside it); in place of a part it may have the
#: list of the parts on which it runs, whose names stand elsewhere. A small block is the name of its part.
NORM = ("Add & norm", ["layer_norm"])
MASKED, WRITING = ("decoder_mask", "causal_mask", "masked_softmax"), ("greedy", "beam_step", "winner", "corpus_bleu")
ENCODER_LAYER = (
    ("Self-attention", "multi_head", ("split_heads", "attention", "merge_heads")),
    ("Add & norm", "layer_norm"), ("Feed-forward", "feed_forward"), NORM,
)  # fmt: skip
DECODER_LAYER = (
    ("Masked self-attention", [*MASKED], MASKED), NORM,
    ("Cross-attention", "cross_attention"), NORM, ("Feed-forward", ["feed_forward"]), NORM,
)  # fmt: skip
ENCODER = (
    ("Embedding", "embed"), ("Positions", "sinusoidal_encoding"), ("Encoder N×", "encoder_layer", ENCODER_LAYER),
)  # fmt: skip
DECODER = (
    ("Embedding", ["embed"]), ("Positions", ["sinusoidal_encoding"]), ("Decoder N×", "decoder_layer", DECODER_LAYER),
    ("Linear", "unembed"),
)  # fmt: skip
EXERCISES = {part.name: part.exercise for part in PARTS}
TRAINING = ("Training", "train_step", ("label_smoothed_loss", "learning_rate", "adam_step"))
DECODING = ("Decoding & scoring", [*WRITING], WRITING)

NARROW, WIDE = 336, 760  # units of the drawing, which are pixels where it is shown in full size
#: For each width: where the encoder and the decoder stand, half a block, the room for residual wires, the room opposite.
SIZES = {NARROW: (88, 248, 68, 15, 5), WIDE: (132, 376, 92, 26, 12)}
RIGHT = "l-8 -4.5v9z"  # the head of an arrow
#: The length of the wire into a block, where it isn't 18.
LENGTHS = {
    "Add & norm": 13, "Feed-forward": 30, "Cross-attention": 42, "Self-attention": 46, "Masked self-attention": 46,
}  # fmt: skip


def machine(sentence: str | None = "I saw a black cat.") -> Machine:
    """The machine with the reader's parts as it is now, which draws itself in a notebook and translates `sentence`.

    A translation that takes longer than ten seconds is stopped, and the picture says so; with None there is no
    translation. Raises TypeError for a `sentence` that is neither a string nor None.
    """
    if sentence is not None:
        require_kind("sentence", sentence, str, "be a string, or None for the picture alone")
    return Machine(frozenset(answers.written()), _translated(sentence) if sentence is not None else "")


@dataclass(frozen=True)
class Machine:
    """A picture of the machine: `mine` are the names of the reader's parts, `translated` tells of the translation."""

    mine: frozenset[str]
    translated: str = ""

    def save(self, file: Path | str) -> None:
        """Write the picture as an SVG file that needs no other; raises Refusal if `file` does not end in .svg."""
        require_path("file", file)
        path = Path(file)
        if path.suffix.lower() != ".svg":
            raise Refusal(f"The picture is an SVG file, and {path.name} is not called one. Write: save('machine.svg')")
        path.write_text(self._svg(WIDE, alone=True), encoding="utf-8")

    def _count(self) -> str:
        return f"{len(self.mine)} of the {len(PARTS)} parts of the machine are yours."

    def _next(self) -> str:
        missing = [part for part in PARTS if part.name not in self.mine]
        if not missing:
            return (
                'The machine is finished. `mine.machine().save("machine.svg")` keeps this picture, and '
                '`mine.export("mine.json")` keeps your code.'
            )
        part = min(missing, key=lambda part: CHAPTERS.index(part.chapter))
        return f"Next: write {part.name}, the exercise {part.exercise} in the chapter {part.chapter}."

    def __repr__(self) -> str:
        return "\n".join(text for text in (self._count(), self.translated, self._next()) if text)

    def _repr_html_(self) -> str:
        said = "".join(f"<p>{html.escape(text, quote=False)}</p>" for text in (self.translated, self._next()) if text)
        said = re.sub("`(.*?)`", r"<code>\1</code>", said)
        return (
            f'<div class="tfm-mine tfm-mine-box" role="group" aria-label="Your machine">{self._svg(WIDE)}{self._svg(NARROW)}'
            f'<div class="tfm-mine-said">{said}</div></div>'
        )

    def _svg(self, width: int, alone: bool = False) -> str:
        """The drawing `width` units wide; `alone`, as a file, it also tells of the translation."""
        drawing = _Drawing(self.mine, width)
        top, bottom = drawing.machine(), 26
        if alone and self.translated:
            drawing.text(clip(self.translated, 110), 8, bottom + 12, "mine-start")
            bottom += 28
        names = ", ".join(part.name for part in PARTS if part.name in self.mine) or "none yet"
        label = html.escape(f"The encoder–decoder of the Transformer. {self._count()} Yours: {names}.")
        size, place = "narrow" if width == NARROW else "wide", f'width="{width}" height="{bottom - top:g}"'
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" class="tfm-mine tfm-mine-{size}" '
            f'viewBox="0 {top:g} {width} {bottom - top:g}" role="img" aria-label="{label}"><title>{label}</title>'
            f"<style>{_style(alone)}</style>"
            f'<rect class="mine-paper" y="{top:g}" {place} rx="8"/>{"".join(drawing.drawn)}</svg>'
        )


class _Drawing:
    """What is `drawn` so far, from bottom to top; `at` has the heights of the blocks to which wires lead."""

    def __init__(self, mine: frozenset[str], width: int) -> None:
        self.mine, self.width = mine, width
        self.drawn: list[str] = []
        self.at: dict[str, float] = {}

    def machine(self) -> float:
        """The two stacks, the memory between them and the two panels; returns the top."""
        left, right, half, _, _ = SIZES[self.width]
        self.tokens("the cat sleeps", left, -37, "source words")
        self.tokens("<bos> le chat", right, -37, "target words so far")
        self.stack(ENCODER, "encoder", left, -38)
        out = self.stack(DECODER, "decoder", right, -38)
        start, end, gap = self.at["encoder Add & norm"], self.at["decoder Cross-attention"], (left + right) / 2
        for letter, kind, by in (("K", "key", -1), ("V", "value", 1)):
            y = end + 8 * by
            self.wire(f"M{left + half} {start + 6 * by:g}H{gap - 3 * by:g}V{y:g}H{right - half - 7}", kind)
            self.head(right - half, y, kind, RIGHT)
            self.text(letter, right - half + 7, y + 5, f"mine-letter mine-port mine-{kind}")
        high, edge = out - 36, left + right
        size = f'width="{edge - 2}" height="{16 - high:g}"'
        self.drawn.insert(0, f'<rect class="mine-whole" x="1" y="{high:g}" {size} rx="12"/>')
        top = self.block(("The whole machine", "transformer"), "plain", left - 3, high + 22, 2 * half + 14)
        self.text(f"{len(self.mine)} of {len(PARTS)}", 14, high + 70, "mine-count")
        self.text("parts are yours", 15, high + 92, "mine-start")
        self.text("logits", right + 8, out - 20, "mine-start mine-does")
        return min(top, self.panels(left, right, out, high)) - 10

    def panels(self, left: int, right: int, out: float, high: float) -> float:
        """What training and decoding do with the logits: above the machine, or beside it; returns the top."""
        if self.width == NARROW:
            low = high - 50
            for panel, stem, middle, wide in ((TRAINING, left, 86, 168), (DECODING, right, 252, 152)):
                self.wire(f"M{right} {out:g}V{low + 16:g}H{stem}V{low + 7:g}")
                self.head(stem, low)
                top = self.block(panel, "plain", middle, low, wide)
        else:
            edge, wide, middle = left + right + 26, WIDE - left - right - 34, (left + right + WIDE + 18) // 2
            self.tokens("le chat dort", middle, -37, "words to predict")
            self.into("", middle, -38, -56)
            way = f"M{right} {out:g}v-5a9 9 0 0 1 9 -9H{edge - 22}a9 9 0 0 1 9 9"
            high -= _Drawing(self.mine, WIDE).block(DECODING, "plain", 0, 0, wide)  # its token at the machine's top
            for panel, low in ((TRAINING, -56), (DECODING, high + 46)):
                top = self.block(panel, "plain", middle, low, wide)
                self.wire(f"{way}V{top + 21:g}a9 9 0 0 0 9 9h2")
                self.head(edge, top + 30, shape=RIGHT)
                way = f"M{edge - 13} {out + 8:g}"
        self.into("", middle, top, top - 20)
        self.tokens("dort", middle, top - 46)
        return top - 46

    def tokens(self, words: str, middle: float, y: float, said: str = "") -> None:
        """Words in boxes beside each other, and what they are."""
        self.text(said, middle, y + 43, "mine-does")
        each = words.split()
        x = middle - 4 * len(words) - 4 * len(each) - 2
        for word in each:
            wide = 8 * len(word) + 12
            self.drawn.append(f'<rect class="mine-face" x="{x:g}" y="{y:g}" width="{wide}" height="26" rx="6"/>')
            self.text(word, x + wide / 2, y + 18)
            x += wide + 4

    def stack(self, rows: Iterable, side: str, middle: float, y: float) -> float:
        """Blocks on top of each other from `y` on, with the wires into and around them; returns the top."""
        half = SIZES[self.width][2]
        way, tap = -1 if side == "encoder" else 1, y
        for row in rows:
            title, bottom = row[0], y - LENGTHS.get(row[0], 18)
            if title.endswith("N×"):
                y = self.layer(row, side, middle, y)
                continue
            self.into(title, middle, y, bottom)
            top = self.block(row, side, middle, bottom, 2 * half + (0 if title in LENGTHS else 18))
            self.at[f"{side} {title}"] = centre = (top + bottom) / 2
            if title == "Add & norm":
                bend, edge = f"a9 9 0 0 {int(way < 0)} ", middle + way * half
                self.wire(f"M{middle} {tap:g}H{edge}{bend}{9 * way} -9V{centre + 9:g}{bend}{-9 * way} -9")
            tap, y = y - 8, top
        return y

    def layer(self, row: tuple, side: str, middle: float, bottom: float) -> float:
        """A frame around the rows of one layer, with its name on the upper edge; returns the top of that."""
        _, _, half, outer, inner = SIZES[self.width]
        at, x = len(self.drawn), middle - half - (outer if side == "encoder" else inner)
        self.wire(f"M{middle} {bottom:g}v-8")
        inside = self.stack(row[2], side, middle, bottom - 8)
        if side == "decoder":
            self.wire(f"M{middle} {inside:g}v-10")
        top = self.block(row[:2], side, middle, inside - 10, 2 * half - 20)
        edge = (top + inside - 10) / 2
        size = f'width="{2 * half + outer + inner}" height="{bottom - 8 - edge:g}"'
        self.drawn.insert(at, f'<rect class="mine-frame mine-{side}" x="{x}" y="{edge:g}" {size} rx="12"/>')
        return top

    def into(self, title: str, x: float, y: float, end: float) -> None:
        """The wire from `y` up into a block; into attention those of queries, keys and values."""
        if not title.endswith("ttention"):
            self.wire(f"M{x} {y:g}V{end + 7:g}")
            self.head(x, end)
            return
        self.wire(f"M{x} {y:g}V{end + 28:g}")
        ways = (0,) if title == "Cross-attention" else (-44, 44, 0)
        for letter, kind, by in zip("QVK", ("query", "value", "key"), ways):
            self.wire(f"M{x} {end + 28:g}h{by}V{end + 7:g}", kind)
            self.head(x + by, end, kind)
            self.text(letter, x + by + 12, end + 21, f"mine-letter mine-{kind}")

    def block(self, row: Any, side: str, middle: float, bottom: float, wide: float) -> float:
        """A block with what is inside it, coloured in if what runs in it is the reader's; returns its top."""
        title, of, inside = ("", row, ()) if isinstance(row, str) else (*row, ())[:3]
        at, y = len(self.drawn), bottom - 5
        for small in inside:
            y = self.block(small, side, middle, y, wide - (6 if self.width == NARROW else 20)) - 6
        part = find(of) if isinstance(of, str) else None
        runs_on = [of] if isinstance(of, str) else of
        yours = self.mine.issuperset(runs_on)
        lines = [(18, "title", line) for line in wrap(title, int(wide / 7.8), break_on_hyphens=False)]
        if part:
            lines.append((17, "name", part.name))
            if side == "plain" and self.width == WIDE:
                lines += [(16, "does", line) for line in wrap(part.does.partition(",")[0], int(wide / 7.2))]
        top = y - 5 - sum(high for high, _, _ in lines)
        said, whose = f"{title}: runs on {', '.join(of)}", "✓ yours" if yours else "library"
        if part:
            said = f"{part.name}, chapter {part.chapter}, {part.does}: {whose}"
        x, kind = middle - wide / 2, f"mine-{side} mine-{'yours' if yours else 'library'}"
        rect = f'x="{x:g}" y="{top:g}" width="{wide:g}" height="{bottom - top:g}" rx="{7 if title else 5}"/>'
        above, self.drawn = self.drawn, [f"<title>{html.escape(said)}</title>", f'<rect class="mine-face" {rect}']
        self.drawn.append(f'<rect class="mine-tint" {rect}')
        y = top + 3
        for high, style, words in lines:
            y += high
            self.text(words, middle, y - 2, f"mine-{style}")
        if title == "Positions":
            self.wire(f"M{middle - 62:g} {top + 15:g}c4 -11 8 -11 12 0s8 11 12 0")
        x += 2 if side == "encoder" else wide - 2
        tick = f'<path class="mine-tick" d="M{x - 4:g} {top + 2:g}l3 3.5l5.5 -7"/>'
        self.drawn.append(f'<circle cx="{x:g}" cy="{top + 2:g}" r="8"/>{tick}')
        name = f' data-part="{part.name}"' if part else ""
        needs = " ".join(EXERCISES[each] for each in runs_on)  # the page colours in what was solved since
        above.insert(at, f'<g class="{kind}"{name} data-needs="{needs}">{"".join(self.drawn)}</g>')
        self.drawn = above
        if title.endswith("ttention"):  # several heads, one behind the other
            top -= 5
            rect = f'x="{middle - wide / 2 + 6:g}" y="{top:g}" width="{wide - 12:g}" height="20" rx="7"'
            above.insert(at, f'<g class="{kind}"><rect class="mine-face" {rect}/></g>')
        return top

    def text(self, words: str, x: float, y: float, kind: str = "") -> None:
        self.drawn.append(f'<text class="{kind}" x="{x:g}" y="{y:g}">{html.escape(words)}</text>')

    def wire(self, path: str, kind: str = "soft") -> None:
        self.drawn.append(f'<path class="mine-wire mine-{kind}" d="{path}"/>')

    def head(self, x: float, y: float, kind: str = "soft", shape: str = "l-4.5 8h9z") -> None:
        self.drawn.append(f'<path class="mine-head mine-{kind}" d="M{x:g} {y:g}{shape}"/>')


STYLE = """
&-box{container-type:inline-size;max-width:760px;border-radius:8px;color:var(--tfm-ink);background:var(--tfm-paper)}
&-box,svg&{font:15px 'Source Sans 3 Variable','Source Sans 3','Segoe UI','DejaVu Sans',system-ui,sans-serif}
svg&{display:block;width:100%;height:auto}svg&-narrow{display:none;font-size:14px;max-width:440px;margin:auto}
@container (max-width:740px){svg&-narrow{display:block}svg&-wide{display:none}}
@media print{svg&-narrow{display:none}svg&-wide{display:block}}
&-said{padding:2px 8px 6px}&-said p{margin:4px 0}
& text{fill:var(--tfm-ink);text-anchor:middle}& .mine-start,& .mine-count{text-anchor:start}
& .mine-count{font-size:30px;font-weight:650}& .mine-name,& .mine-does{font-size:13.4px}
& .mine-does,& .mine-library text{fill:var(--tfm-soft)}& .mine-yours text{fill:var(--tfm-ink)}
& .mine-yours .mine-name{font-weight:650}
& .mine-letter{fill:var(--kind);font-weight:650}
& .mine-port{stroke:var(--tfm-card);stroke-width:4;stroke-linejoin:round;paint-order:stroke}
& .mine-paper{fill:var(--tfm-paper)}& .mine-whole{fill:none;stroke:var(--tfm-line);stroke-width:1.5}
& .mine-face{fill:var(--tfm-card);stroke:var(--kind,var(--tfm-soft))}
& .mine-tint{fill:var(--kind);fill-opacity:.2;stroke:var(--kind);stroke-width:1.5}
& .mine-library>.mine-tint,& .mine-library>circle,& .mine-library>.mine-tick{display:none}
& circle{fill:var(--kind)}& .mine-tick{fill:none;stroke:var(--tfm-card);stroke-width:2}
& .mine-frame{fill:none;stroke:var(--kind);stroke-width:1.5;stroke-dasharray:1 5;stroke-linecap:round}
& .mine-wire{fill:none;stroke:var(--kind);stroke-width:1.5}& .mine-head{fill:var(--kind)}
"""


def _style(alone: bool) -> str:
    """The colours, light and dark: a file follows the system, a notebook's output what the notebook shows."""
    kinds = ("soft", "query", "key", "value", "encoder", "decoder")
    used = ("paper", "card", "ink", "line", *kinds)
    light, dark = ("".join(f"--tfm-{name}:{colours(scheme)[name]};" for name in used) for scheme in ("light", "dark"))
    scheme = f"@media (prefers-color-scheme:dark){{&{{{dark}}}}}"
    if not alone:
        where = ('html[data-theme="dark"]', 'body[data-jp-theme-light="false"]', "body.vscode-dark")
        scheme = f"@media not print{{{','.join(f'{each} &' for each in where)}{{{dark}}}}}"
    scheme += "".join(f"& .mine-{kind}{{--kind:var(--tfm-{kind})}}" for kind in kinds)
    return f"&{{{light}}}{scheme}& .mine-plain{{--kind:var(--tfm-soft)}}{STYLE}".replace("&", ".tfm-mine").replace(
        "\n", ""
    )


# ── what the machine says ─────────────────────────────────────────────────


def _translated(sentence: str) -> str:
    """The translation of `sentence` by the machine as it is now, in words; an error of the reader's parts is told."""
    from tfm_exercises.mine.translating import quoted_last, written_within

    shown = f"“{clip(sentence, 80)}”"
    try:
        return f"It turns {shown} into {quoted_last(written_within(PATIENCE, sentence))}"
    except Endless:
        return (
            f"With your parts the translation of {shown} was not finished after {PATIENCE:.0f} seconds, so it was "
            "stopped. `mine.machine(None)` draws without translating."
        )
    except Exception as error:  # noqa: BLE001 (whatever the reader's parts raise is told)
        return f"With your parts the machine stops at {shown}: {type(error).__name__}, {clip(str(error))}"
