"""What the book's pages need around the core: figures, glued numbers, and the build itself."""

from tfm_lib.book.drawing.display import colours, figure, glue, show
from tfm_lib.book.drawing.recorded import basis, recorded

__all__ = ["basis", "colours", "figure", "glue", "recorded", "show"]
