"""`tfm new`: the files of a chapter, a widget, an exercise or an experiment, for somebody to fill in.

What is left to write bears the sign ✎ and says what is wanted; `tests/test_unfinished.py` finds each.
"""
