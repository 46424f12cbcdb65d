"""What the book's pages need around the core: figures, glued numbers, and the build itself."""

from tfm_lib.book.display import colours, figure, glue, show

__all__ = ["colours", "figure", "glue", "show"]
