"""The film's numbers are the model's: what is weighed, mixed, added and written, from one scene to the next."""

from typing import Any

import pytest
import torch
from torch.testing import assert_close

from tfm_lib.engine.translator import Translator
from tfm_lib.widgets._film import FILM, FOCUS, SEEN, SENTENCES, record, without_positions


@pytest.fixture(scope="module")
def translator() -> Translator:
    return Translator.shipped()


@pytest.fixture(scope="module")
def one(translator: Translator) -> dict[str, Any]:
    return record(translator, SENTENCES[0])


def close(found: Any, wanted: Any, atol: float = 0.02) -> None:
    """Recorded numbers have two decimals."""
    assert_close(torch.tensor(found), torch.tensor(wanted), atol=atol, rtol=0)


def test_each_scene_goes_on_with_the_numbers_of_the_one_before(one: dict[str, Any]) -> None:
    focus = one["focus"]
    assert one["words"][focus] == FOCUS and one["words"][-1] == "<eos>"
    close(torch.tensor(one["embedded"]).add(torch.tensor(one["position"])).tolist(), one["states"][0])
    close(torch.tensor(one["scores"]).softmax(dim=0).tolist(), one["weights"])
    close((torch.tensor(one["weights"]) @ torch.tensor(one["values"])).tolist(), one["mixed"], atol=0.06)
    close(one["heads"][one["head"]], one["weights"])
    close(torch.tensor(one["states"][0][focus]).add(torch.tensor(one["added"])).tolist(), one["between"][focus])
    close(torch.tensor(one["between"][focus]).add(torch.tensor(one["thought"])).tolist(), one["states"][1][focus])


def test_what_the_captions_say_is_so(translator: Translator, one: dict[str, Any]) -> None:
    said = " ".join(words for scene in FILM.shared["scenes"].values() for _, words in scene)
    largest = max(range(len(one["weights"])), key=one["weights"].__getitem__)
    assert one["words"][largest] == SEEN and "The largest is that of black" in said
    assert f"{one['active']} of its {one['hidden']:,} hidden numbers" in said
    assert "column of 256 numbers" in said and translator.model.config.d_model == 256
    for word, source in {"noir": "black", "chat": "cat", "chien": "dog", "blanc": "white"}.items():
        row = one["crossed"][one["written"].index(word) - 1]
        assert one["words"][row.index(max(row))] == source and max(row) > 0.6
    swapped = record(translator, SENTENCES[1])["translation"]
    assert (one["translation"], swapped) == (
        "Le chat noir a mordu le chien blanc.", "Le chien noir a mordu le chat blanc."
    )  # fmt: skip
    for place, ways in enumerate(one["next"][:-1]):
        assert one["written"][place + 1].lstrip("-") == ways[0][0], "the most probable word is the one that is written"


def test_without_positions_both_sentences_become_one_and_the_model_stays_as_it_was(translator: Translator) -> None:
    before = translator.model.embedding.positions.clone()
    assert without_positions(translator) == "Le chien blanc."
    assert translator.model.embedding.positions.equal(before)
