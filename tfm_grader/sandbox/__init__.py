"""Run student code isolated in a bubblewrap sandbox. Only `inside/` runs within it."""
