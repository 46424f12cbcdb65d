"""The Transformer of *Attention Is All You Need*, one idea a module."""

__version__ = "0.1.0"
