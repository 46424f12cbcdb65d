"""The book's widgets: thin anywidget classes, one module per chapter."""

from tfm_lib._extras import needs

needs("notebook", "anywidget", "matplotlib")
