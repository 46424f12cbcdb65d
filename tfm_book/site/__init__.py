"""What makes the book's pages: the only room that needs Sphinx."""

from tfm_lib._extras import needs

needs("book", "jupyter_book", "jupyter_cache", "myst_nb", "sphinx", "sphinx_exercise")
