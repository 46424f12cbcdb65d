"""Numbers for frontend/tests/film.test.mjs: what the film shows of the shipped model."""

from typing import Any

from tfm_lib.engine.translator import Translator
from tfm_lib.widgets._film import FILM, SENTENCES, record, without_positions

OWN = "I do not know where my younger brother lives now."


def numbers() -> dict[str, Any]:
    translator = Translator.shipped()
    one, two, own = (record(translator, sentence) for sentence in (*SENTENCES, OWN))
    plain = without_positions(translator, SENTENCES)
    return {"film": {"one": one, "two": two, "own": own, "plain": plain}, "shared": dict(FILM.shared)}
