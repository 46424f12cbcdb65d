"""The Transformer of *Attention Is All You Need*, one idea a module."""
