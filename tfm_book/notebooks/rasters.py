"""Drawings as PNG: an SVG in a notebook's Markdown is text to most programs, for it could carry a script."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

PAPER, INK = "#fffdf9", "#1d2329"
DENSITY = 1.25  # pixels for one of the drawing's: sharper, and still no wider than a notebook's column
NARROWER = 0.88  # letters of DejaVu are wider than those of the page, for which the drawings are measured


@cache
def raster(svg: str) -> bytes:
    """The drawing `svg` as a PNG in its light colours, on paper, lettered in the fonts that matplotlib brings."""
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
    """`svg` with the light value of each colour that the page's scheme would choose, and letters that fit."""
    svg = re.sub(r"<!--.*?-->", "", svg, flags=re.DOTALL)
    svg = re.sub(r"var\(--[\w-]+,\s*((?:[^()]|\([^()]*\))*)\)", r"\1", svg)
    svg = re.sub(r"(font-size(?::|=\")\s*)([\d.]+)", lambda found: f"{found[1]}{NARROWER * float(found[2]):.4g}", svg)
    root = re.search(r"<svg\b[^>]*>", svg)
    style = f'style="color:{INK};font-family:sans-serif"'
    return svg.replace(root[0], root[0][:-1] + f" {style}>" if " style=" not in root[0] else root[0], 1)


def _width(svg: str) -> int:
    """Pixels: the width that the page gives the drawing, or that of its own coordinates."""
    root = re.search(r"<svg\b[^>]*>", svg)[0]
    found = re.search(r"max-width:\s*([\d.]+)px", root) or re.search(r'viewBox="\S+ \S+ ([\d.]+)', root)
    return round(DENSITY * float(found[1]))
