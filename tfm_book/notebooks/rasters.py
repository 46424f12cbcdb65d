"""Convert drawings to PNG: an SVG could carry a script, so most programs show it as text in a notebook's Markdown."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

PAPER, INK = "#fffdf9", "#1d2329"
DENSITY = 1.25  # pixels per unit of the drawing: sharper, and still no wider than a notebook's column
NARROWER = 0.88  # DejaVu's letters are wider than those of the page's font, for which the drawings are laid out


@cache
def raster(svg: str) -> bytes:
    """Return the drawing `svg` as a PNG in light colours on a paper background, with matplotlib's own fonts."""
    import matplotlib
    from resvg_py import svg_to_bytes

    fonts = Path(matplotlib.get_data_path()) / "fonts" / "ttf"
    return bytes(
        svg_to_bytes(
            svg_string=_on_paper(svg),
            background=PAPER,
            width=_width(svg),
            skip_system_fonts=True,
            font_files=sorted(map(str, fonts.glob("DejaVu*.ttf"))),
            font_family="DejaVu Sans",
            sans_serif_family="DejaVu Sans",
            serif_family="DejaVu Serif",
            monospace_family="DejaVu Sans Mono",
        )
    )


def _on_paper(svg: str) -> str:
    """Return `svg` with the light value of each themed colour, and with letters small enough to fit."""
    svg = re.sub(r"<!--.*?-->", "", svg, flags=re.DOTALL)
    svg = re.sub(r"var\(--[\w-]+,\s*((?:[^()]|\([^()]*\))*)\)", r"\1", svg)
    svg = re.sub(r"(font-size(?::|=\")\s*)([\d.]+)", lambda found: f"{found[1]}{NARROWER * float(found[2]):.4g}", svg)
    root = re.search(r"<svg\b[^>]*>", svg)
    style = f'style="color:{INK};font-family:sans-serif"'
    return svg.replace(root[0], root[0][:-1] + f" {style}>" if " style=" not in root[0] else root[0], 1)


def _width(svg: str) -> int:
    """Return the width in pixels: the one that the page gives the drawing, or that of its own coordinates."""
    root = re.search(r"<svg\b[^>]*>", svg)[0]
    found = re.search(r"max-width:\s*([\d.]+)px", root) or re.search(r'viewBox="\S+ \S+ ([\d.]+)', root)
    return round(DENSITY * float(found[1]))
