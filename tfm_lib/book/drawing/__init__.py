"""What a chapter's cells draw and quote: needs matplotlib and IPython, and nothing that makes notebooks or pages."""
