"""Turn chapters into web pages, notebooks and a printable PDF."""
