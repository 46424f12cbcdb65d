"""Build the book's web pages; the only package that needs Sphinx."""

from tfm_lib._extras import needs

needs("book", "jupyter_book", "jupyter_cache", "myst_nb", "sphinx", "sphinx_exercise")
