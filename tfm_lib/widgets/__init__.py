"""The book's widgets: thin anywidget classes, one module a chapter."""
