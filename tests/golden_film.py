"""Numbers for frontend/tests/film.test.mjs: what the film shows of the shipped model."""

from typing import Any

from tfm_lib.engine.translator import Translator
from tfm_lib.widgets._film import FILM, SENTENCES, record, without_positions


def numbers() -> dict[str, Any]:
    translator = Translator.shipped()
    one, two = (record(translator, sentence) for sentence in SENTENCES)
    return {"film": {"one": one, "two": two, "plain": without_positions(translator)}, "shared": dict(FILM.shared)}
