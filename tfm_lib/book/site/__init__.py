"""What makes the book's pages: the only room that needs Sphinx."""
