"""Convert chapters into notebooks; needs neither Sphinx nor docutils."""
