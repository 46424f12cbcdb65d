"""The checks of each chapter's exercises, one module a chapter."""
