"""What makes notebooks of chapters: needs no Sphinx and no docutils."""
