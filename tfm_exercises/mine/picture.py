"""Draw the encoder–decoder with the parts that the reader has written, as SVG that works in light and dark schemes."""

from __future__ import annotations

import html
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tfm_exercises.mine import answers
from tfm_exercises.mine.catalogue import PARTS, Part
from tfm_exercises.mine.chapters import CHAPTERS
from tfm_exercises.watching import Endless, clip
from tfm_lib._errors import require_kind, require_path
from tfm_lib._refusal import Refusal
from tfm_lib.drawing.display import colours

PATIENCE = 10.0  # seconds that a translation may take

#: A column from top to bottom; what is computed goes up. A row is a frame (title, rows), a box (title, names of the
#: parts it runs on), or the name of a part.
ENCODER: tuple[Any, ...] = (
    ("scoring", ("corpus_bleu",)),
    ("training", ("train_step", "adam_step", "learning_rate", "label_smoothed_loss")),
    ("the whole", ("transformer",)),
    (
        "encoder, each layer",
        (
            "encoder_layer",
            ("add and norm", ["layer_norm"]),
            "feed_forward",
            "layer_norm",
            ("self-attention", ("multi_head", "merge_heads", "attention", "split_heads")),
        ),
    ),
    "sinusoidal_encoding",
    "embed",
)
DECODER: tuple[Any, ...] = (
    ("writing", ("winner", "beam_step", "greedy")),
    "unembed",
    (
        "decoder, each layer",
        (
            "decoder_layer",
            ("add and norm", ["layer_norm"]),
            ("feed-forward", ["feed_forward"]),
            ("add and norm", ["layer_norm"]),
            "cross_attention",
            ("add and norm", ["layer_norm"]),
            ("masked self-attention", ("masked_softmax", "causal_mask", "decoder_mask")),
        ),
    ),
    ("positions", ["sinusoidal_encoding"]),
    ("embedding", ["embed"]),
)
MARGIN, GAP, TITLE, BOX, BLOCK = (
    6,
    7,
    18,
    24,
    37,
)  # units of the drawing, which are pixels where it is shown in full size
NARROW, WIDE = 336, 760


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
            f'<div class="tfm-machine tfm-machine-box" role="group" aria-label="Your machine">{self._svg(WIDE)}{self._svg(NARROW)}'
            f'<div class="tfm-machine-said">{said}</div></div>'
        )

    def _svg(self, width: int, alone: bool = False) -> str:
        """The drawing `width` units wide; `alone`, as a file, it also tells of the translation."""
        column = (width - 2 * MARGIN - 2 * GAP) // 2
        right = width - MARGIN - column
        high = max(map(_height, (ENCODER, DECODER)))
        top = 10
        drawn = [
            f'<text class="tfm-count" x="{right + 2}" y="{top + 26}">{len(self.mine)} of {len(PARTS)}</text>',
            f'<text x="{right + 2}" y="{top + 46}">parts are yours ✓</text>',
            *self._arrows(MARGIN + column, right, top),
            *self._rows(ENCODER, MARGIN, top + high - _height(ENCODER), column),
            *self._rows(DECODER, right, top + high - _height(DECODER), column),
        ]
        bottom = top + high + 18
        drawn.append(_soft("source words", MARGIN + column / 2, bottom, "middle"))
        drawn.append(_soft("target words so far", right + column / 2, bottom, "middle"))
        bottom += 10
        if alone and self.translated:
            drawn.append(f'<text x="{MARGIN}" y="{bottom + 16}">{html.escape(clip(self.translated, 110))}</text>')
            bottom += 28
        names = ", ".join(part.name for part in PARTS if part.name in self.mine) or "none yet"
        label = f"The encoder–decoder of the Transformer. {self._count()} Yours: {names}."
        size = "narrow" if width == NARROW else "wide"
        paper = f'<rect width="{width}" height="{bottom}" rx="8" fill="var(--tfm-card)"/>'
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" class="tfm-machine tfm-machine-{size}" '
            f'viewBox="0 0 {width} {bottom}" role="img" aria-label="{html.escape(label)}"><title>{html.escape(label)}</title>'
            f"<style>{_style(alone)}</style>{paper}{''.join(drawn)}</svg>"
        )

    def _arrows(self, left: float, right: float, top: float) -> list[str]:
        """From the top of the encoder's frame to the decoder's attention to the source."""
        low = max(map(_height, (ENCODER, DECODER)))
        start = top + low - _height(ENCODER) + _height(ENCODER[:3]) + GAP + TITLE / 2
        inside = DECODER[2][1]
        above = inside[: inside.index("cross_attention")]
        end = top + low - _height(DECODER) + _height(DECODER[:2]) + GAP + TITLE + 2 + _height(above) + GAP + BLOCK / 2
        middle = (left + right) / 2
        path = f"M{left} {start:g}H{middle:g}V{end:g}H{right + GAP - 5}"
        tip = f"M{right + GAP - 5} {end - 4:g}l5 4l-5 4z"
        return [f'<path class="tfm-way" d="{path}"/><path class="tfm-tip" d="{tip}"/>']

    def _rows(self, rows: tuple, x: float, y: float, wide: float, flows: bool = True) -> list[str]:
        """Rows under each other, with arrows up between them where one `flows` into the next."""
        drawn = []
        for place, row in enumerate(rows):
            if place and flows and rows[place - 1][0] not in ("scoring", "training", "the whole"):
                drawn.append(f'<path class="tfm-tip" d="M{x + wide / 2 - 4:g} {y - 1}l4 -5 4 5z"/>')
            if isinstance(row, str):
                drawn.append(self._part(next(part for part in PARTS if part.name == row), x, y, wide))
            elif isinstance(row[1], list):
                drawn.append(self._box(row[0], row[1], x, y, wide))
            else:
                frame = f'<rect class="tfm-frame" x="{x}" y="{y}" width="{wide}" height="{_height((row,))}" rx="6"/>'
                drawn += [frame, _soft(row[0], x + 8, y + 14)]
                drawn += self._rows(
                    row[1], x + GAP, y + TITLE + 2, wide - 2 * GAP, flows=row[0] not in ("writing", "training")
                )
            y += _height((row,)) + GAP
        return drawn

    def _part(self, part: Part, x: float, y: float, wide: float) -> str:
        """A block with the part's name, its chapter and whose it is; a wide one also says what the part does."""
        mine = part.name in self.mine
        whose = "✓ yours" if mine else "library"
        said = f"{part.name}, chapter {part.chapter}, {part.does}: {whose}"
        rest = _soft(f"{part.chapter} · {whose}", x + 7, y + 30)
        if wide > NARROW // 2:
            rest = _soft(f"{part.chapter} · {whose}", x + wide - 7, y + 15, "end")
            rest += _soft(part.does.partition(",")[0], x + 7, y + 30)
        return (
            f'<g class="{"tfm-mine" if mine else "tfm-library"}" data-part="{part.name}">'
            f"<title>{html.escape(said)}</title>"
            f'<rect x="{x}" y="{y}" width="{wide}" height="{_height((part.name,))}" rx="4"/>'
            f'<text class="tfm-name" x="{x + 7}" y="{y + 15}">{part.name}</text>{rest}</g>'
        )

    def _box(self, title: str, names: list[str], x: float, y: float, wide: float) -> str:
        """A piece of the machine in which parts work that have their blocks elsewhere, or none."""
        mine = bool(names) and self.mine.issuperset(names)
        runs = f"{title}: runs on {', '.join(names)}" if names else f"{title}: no exercise writes it"
        return (
            f'<g class="{"tfm-mine" if mine else "tfm-library"}"><title>{runs}</title>'
            f'<rect x="{x}" y="{y}" width="{wide}" height="{BOX}" rx="4"/>'
            f'<text x="{x + 7}" y="{y + 16}">{"✓ " if mine else ""}{title}</text>'
            f"{'' if names else _soft('library', x + wide - 7, y + 16, 'end')}</g>"
        )


def _soft(words: str, x: float, y: float, anchor: str = "start") -> str:
    return f'<text class="tfm-soft" x="{x:g}" y="{y}" text-anchor="{anchor}">{html.escape(words)}</text>'


def _height(rows: tuple) -> int:
    """The height of rows under each other."""
    high = 0
    for row in rows:
        if isinstance(row, str):
            high += BLOCK
        elif isinstance(row[1], list):
            high += BOX
        else:
            high += TITLE + 2 + _height(row[1]) + GAP
    return high + GAP * (len(rows) - 1)


def _style(alone: bool) -> str:
    """The colours, light and dark: a file follows the system, a notebook's output what the notebook shows."""
    used = ("card", "ink", "soft", "line", "three")
    light, dark = ("".join(f"--tfm-{name}:{colours(scheme)[name]};" for name in used) for scheme in ("light", "dark"))
    if alone:
        scheme = f"@media (prefers-color-scheme:dark){{.tfm-machine{{{dark}}}}}"
    else:
        where = ('html[data-theme="dark"]', 'body[data-jp-theme-light="false"]', "body.vscode-dark")
        scheme = f"{','.join(f'{each} .tfm-machine' for each in where)}{{{dark}}}"
    return (
        f".tfm-machine{{{light}}}{scheme}"
        ".tfm-machine-box{container-type:inline-size;max-width:760px;color:var(--tfm-ink);"
        "background:var(--tfm-card);border-radius:8px}"
        "svg.tfm-machine{display:block;width:100%;height:auto;font:12px system-ui,'DejaVu Sans',sans-serif}"
        ".tfm-machine-box .tfm-machine-narrow{display:none;max-width:440px;margin:auto}"
        "@container (max-width:740px){.tfm-machine-box .tfm-machine-narrow{display:block}"
        ".tfm-machine-box .tfm-machine-wide{display:none}}"
        ".tfm-machine-said{padding:2px 8px 6px;font-size:14px}"
        ".tfm-machine-said p{margin:4px 0}"
        ".tfm-machine text{fill:var(--tfm-ink)}.tfm-machine text.tfm-soft{fill:var(--tfm-soft);font-size:11px}"
        ".tfm-machine text.tfm-name{font:11px ui-monospace,'DejaVu Sans Mono',monospace}"
        ".tfm-machine text.tfm-count{font-size:24px}"
        ".tfm-machine rect{stroke-width:1}.tfm-machine .tfm-frame{fill:none;stroke:var(--tfm-line)}"
        ".tfm-library rect{fill:var(--tfm-line);fill-opacity:.35;stroke:var(--tfm-soft);stroke-dasharray:3 3}"
        ".tfm-mine rect{fill:var(--tfm-three);fill-opacity:.16;stroke:var(--tfm-three);stroke-width:2}"
        ".tfm-machine .tfm-mine text,.tfm-machine .tfm-mine text.tfm-soft{fill:var(--tfm-ink)}"
        ".tfm-machine .tfm-way{fill:none;stroke:var(--tfm-soft)}.tfm-machine .tfm-tip{fill:var(--tfm-soft)}"
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
