"""Slides of the built book: one deck for each chapter, with its figures, formulas, questions and live widgets."""

from tfm_book.slides.folder import write_decks
from tfm_book.slides.outline import Deck, Slide, outline

__all__ = ["Deck", "Slide", "outline", "write_decks"]
