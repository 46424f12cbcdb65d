"""Draw figures that follow the page's colour scheme, and glue numbers for the prose to quote.

A figure becomes inline SVG whose colours are the CSS variables of `tokens.css`,
so that one drawing works in light mode, dark mode and print.
"""

from __future__ import annotations

import html
import io
import itertools
import re
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any, Literal

from tfm_lib._extras import needs
from tfm_lib.drawing.measured import noted
from tfm_lib.drawing.phone import narrow

if TYPE_CHECKING:
    from matplotlib.figure import Figure


_serial = itertools.count()


@cache
def colours(scheme: Literal["light", "dark"] = "light") -> dict[str, str]:
    """Return the colours of the visual identity by name: `colours()["query"]` is `"#0067a5"`."""
    css = files("tfm_lib.drawing").joinpath("tokens.css").read_text(encoding="utf-8")
    rules = dict(zip(("light", "dark"), css.split("}")))
    return dict(re.findall(r"--tfm-([\w-]+): (#[0-9a-f]{6});", rules[scheme]))


def figure(rows: int = 1, cols: int = 1, width: float = 6.4, height: float = 3.2, **kwargs: Any):
    """Return a matplotlib figure and its axes in the book's style; sizes in inches, `kwargs` as in `plt.subplots`.

    The style stays active, because legends and texts that are added later take their colours at that time.
    """
    needs("notebook", "matplotlib")
    import matplotlib.pyplot as plt

    plt.rcParams.update(_style())
    fig, axes = plt.subplots(rows, cols, figsize=(width, height), layout="constrained", **kwargs)
    plt.close(fig)  # `show` displays it, so the notebook must not display it again
    return fig, axes


WEIGHTS = "tfm_weights"  # name of the colour map below


def weights_colormap():
    """Return the colour map from weight 0 to weight 1 that all heat-maps of the book use."""
    from matplotlib.colors import LinearSegmentedColormap

    return LinearSegmentedColormap.from_list(WEIGHTS, [colours()["w0"], colours()["w1"]])


def show(fig: Figure, alt: str) -> Drawing:
    """Return `fig` as scheme-following SVG with the text alternative `alt` and a second layout for phones.

    `narrow` makes the second layout. It is hidden except on the book's pages, whose style sheet shows one of the two.
    """
    wide = svg_text(fig)
    narrow(fig)
    on_a_phone = svg_text(fig).replace("<svg ", '<svg class="tfm-narrow" style="display: none" ', 1)
    label = html.escape(alt)
    return Drawing(f'<div class="tfm-figure tfm-drawn" role="img" aria-label="{label}">{wide}{on_a_phone}</div>', alt)


class Drawing:
    """A figure that a notebook shows as HTML; a text-only front end shows its text alternative."""

    def __init__(self, data: str, alt: str) -> None:
        self.data, self.alt = data, alt

    def _repr_html_(self) -> str:
        return self.data

    def __repr__(self) -> str:
        return self.alt


def svg_text(fig: Figure) -> str:
    """Return `fig` as an SVG string whose identity colours are CSS variables with their light values as fallback."""
    import matplotlib.pyplot as plt

    _cells_for_pixels(fig)
    _powers_as_text(fig)
    buffer = io.StringIO()
    salt = f"figure {next(_serial)}"  # ids differ between the figures of a page, but not between builds
    with plt.rc_context({**_style(), "svg.hashsalt": salt}):
        fig.savefig(buffer, format="svg", transparent=True, metadata={"Date": None, "Creator": None})
    svg = buffer.getvalue()
    svg = svg[svg.index("<svg") :]
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg, flags=re.DOTALL)
    svg = svg.replace("<svg ", '<svg aria-hidden="true" ', 1)
    svg = re.sub(r' transform="rotate\(-?0 [^"]*\)"', "", svg)  # a turn by nothing, which matplotlib gives every text
    svg = re.sub(r'\b(?:d|x|y|transform)="[^"]*"', lambda place: _FRACTION.sub(_hundredths, place[0]), svg)
    names = {value: f"var(--tfm-{name}, {value})" for name, value in colours().items()}
    return re.sub(r"#[0-9a-f]{6}\b", lambda found: names.get(found[0]) or _between_weights(found[0]), svg)


_FRACTION = re.compile(r"-?\d+\.\d{3,}")


def _hundredths(number: re.Match[str]) -> str:
    """Round a coordinate to 1/100 pt, an invisible change that makes a page with many curves a fifth smaller."""
    return f"{float(number[0]):.2f}".rstrip("0").rstrip(".")


def _cells_for_pixels(fig: Figure) -> None:
    """Draw images of weights as cells: a bitmap would glare in dark mode, whereas cells follow the colour scheme."""
    import numpy as np

    for ax in fig.axes:
        for image in list(ax.images):
            if image.get_cmap().name != WEIGHTS:
                continue
            (left, right, bottom, top), (rows, columns) = image.get_extent(), image.get_array().shape
            limits = ax.get_xlim(), ax.get_ylim()
            edges = np.linspace(left, right, columns + 1), np.linspace(top, bottom, rows + 1)
            ax.pcolormesh(*edges, image.get_array(), cmap=image.get_cmap(), norm=image.norm, zorder=image.get_zorder())
            ax.set(xlim=limits[0], ylim=limits[1])
            image.remove()


def _powers_as_text(fig: Figure) -> None:
    """Write the ticks of log axes as text, 10³: as formulas they would have a typeface of their own."""
    from matplotlib.ticker import LogFormatterSciNotation

    class Powers(LogFormatterSciNotation):
        def __call__(self, x, pos=None):
            formula = super().__call__(x, pos)
            power = re.search(r"\{([^{]*)10\^\{(-?\d+)\}", formula)
            return power[1].replace(r"\times", "·") + _power_of_ten(power[2]) if power else formula

    for axis in (axis for ax in fig.axes for axis in (ax.xaxis, ax.yaxis)):
        for formatter in (axis.get_major_formatter(), axis.get_minor_formatter()):
            if isinstance(formatter, LogFormatterSciNotation):
                formatter.__class__ = Powers  # everything else about it stays as the figure has set it


def _between_weights(colour: str) -> str:
    """Return a heat-map colour as a mixture of the scheme's colours; return any other colour unchanged."""
    low, high = colours()["w0"], colours()["w1"]
    start, end, at = (tuple(bytes.fromhex(each[1:])) for each in (low, high, colour))
    share = min(max((at[0] - start[0]) / (end[0] - start[0]), 0), 1)
    if any(abs(a + share * (b - a) - c) > 2 for a, b, c in zip(start, end, at, strict=True)):
        return colour
    return f"color-mix(in srgb, var(--tfm-w1, {high}) {share:.1%}, var(--tfm-w0, {low}))"


def scientific(x: float, digits: int = 1) -> str:
    """Write a number as a power of ten: 0.00021 as 2.1·10⁻⁴."""
    front, exponent = f"{x:.{digits}e}".split("e")
    return f"{front}·{_power_of_ten(exponent)}"


def _power_of_ten(exponent: str) -> str:
    return "10" + str(int(exponent)).translate(str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"))


def glue(name: str, value: Any) -> None:
    """Keep `value` under `name`, so that the chapter's prose can quote it (`{glue:text}`).

    A page shows it where it is quoted. A notebook shows it under its cell, beside the book's value (`the_book_says`).
    """
    from IPython.display import display

    if noted(name, value):
        return
    display(
        {"application/papermill.record/text/plain": repr(value)},
        metadata={"scrapbook": {"name": name, "mime_prefix": "application/papermill.record/"}},
        raw=True,
    )


def _style() -> dict[str, Any]:
    from cycler import cycler

    c = colours()
    return {
        "svg.fonttype": "none",
        "font.family": "sans-serif",
        "font.sans-serif": ["Source Sans 3 Variable", "DejaVu Sans"],
        "font.size": 10.5,
        "text.color": c["ink"],
        "axes.edgecolor": c["soft"],
        "axes.labelcolor": c["ink"],
        "axes.titlesize": 11,
        "axes.titlelocation": "left",
        "axes.spines.top": False,
        "axes.spines.right": False,
        "axes.prop_cycle": cycler(color=[c["one"], c["two"], c["three"], c["encoder"], c["decoder"], c["ink"]]),
        "xtick.color": c["soft"],
        "ytick.color": c["soft"],
        "grid.color": c["line"],
        "legend.frameon": False,
        "lines.linewidth": 2,
    }
