"""The drawing room's figures, under the name that widgets call them by."""

from tfm_lib.book.drawing.display import *  # noqa: F403  # every name
from tfm_lib.book.drawing.display import svg_text, weights_colormap  # noqa: F401
