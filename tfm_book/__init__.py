"""From chapters to pages, notebooks and paper: what makes the book, and what a new chapter begins with."""
