"""The drawing room's records, under the name that widgets call them by."""

from tfm_lib.book.drawing.recorded import basis, recorded  # noqa: F401  # the same
