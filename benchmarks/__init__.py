"""What the book promises in numbers, measured beside its bars: `make bench`."""
