"""Helpers that chapters use beside the core: figures, glued numbers, recorded runs."""

from tfm_lib.drawing.display import colours, figure, glue, scientific, show, weights_colormap
from tfm_lib.drawing.measured import the_book_says
from tfm_lib.drawing.recorded import basis, recorded

__all__ = ["basis", "colours", "figure", "glue", "recorded", "scientific", "show", "the_book_says", "weights_colormap"]
