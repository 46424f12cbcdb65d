"""The film's numbers are the model's: what is weighed, mixed, added and written, from one scene to the next."""

from typing import Any

import pytest
import torch
from torch.testing import assert_close

from tfm_lib.engine.translator import Translator
from tfm_lib.widgets._film import FILM, FOCUS, SENTENCES, moment, record, without_positions


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
    weights = one["looks"]["first"]["weights"][focus]
    close(torch.tensor(one["scores"]).softmax(dim=0).tolist(), weights)
    close((torch.tensor(weights) @ torch.tensor(one["values"])).tolist(), one["mixed"], atol=0.06)
    close(one["heads"][one["looks"]["first"]["head"]], weights)
    close(torch.tensor(one["states"][0][focus]).add(torch.tensor(one["added"])).tolist(), one["between"][focus])
    close(torch.tensor(one["between"][focus]).add(torch.tensor(one["thought"])).tolist(), one["states"][1][focus])


def test_each_head_that_can_be_looked_into_is_computed_from_its_queries_and_keys(one: dict[str, Any]) -> None:
    for name, look in one["looks"].items():
        Q, K = torch.tensor(look["queries"]), torch.tensor(look["keys"])
        close((Q @ K.T).tolist(), look["dots"], atol=0.15)  # sums of products of rounded numbers
        scores = torch.tensor(look["dots"]) / Q.shape[1] ** 0.5
        if name == "own":
            scores = scores.masked_fill(torch.ones_like(scores).triu(1) > 0, -torch.inf)
        close(scores.softmax(dim=-1).tolist(), look["weights"], atol=0.0055)


def test_in_each_layer_the_words_look_at_each_other_with_the_mean_of_its_heads(one: dict[str, Any]) -> None:
    n = len(one["words"])
    assert [len(rows) for rows in one["around"]] == [n] * 3
    close(torch.tensor(one["around"]).sum(dim=-1).tolist(), torch.ones(3, n).tolist(), atol=0.06)
    close(one["around"][0][one["focus"]], torch.tensor(one["heads"]).mean(dim=0).tolist())


def test_what_the_captions_say_is_so(translator: Translator, one: dict[str, Any]) -> None:
    names, words, weights = one["names"], one["words"], one["looks"]["first"]["weights"][one["focus"]]
    assert (names["focus"], names["seen"]) == (FOCUS, "black") and weights.index(max(weights)) == words.index("black")
    assert (names["read"], names["next"], names["looked"], names["before"]) == ("chat", "noir", "black", "cat")
    config = translator.model.config
    assert (names["d_model"], names["hidden"]) == (str(config.d_model), f"{config.d_ff:,}")
    assert (names["heads"], names["layers"]) == (config.n_heads, config.n_layers)
    for word, source in {"noir": "black", "chat": "cat", "chien": "dog", "blanc": "white"}.items():
        row = one["crossed"][one["written"].index(word) - 1]
        assert words[row.index(max(row))] == source and max(row) > 0.6
    swapped = record(translator, SENTENCES[1])["translation"]
    assert (one["translation"], swapped) == (
        "Le chat noir a mordu le chien blanc.", "Le chien noir a mordu le chat blanc."
    )  # fmt: skip
    for place, ways in enumerate(one["next"][:-1]):
        assert one["written"][place + 1] == ways[0][0], "the most probable word is the one that is written"
    for scene in FILM.shared["scenes"].values():
        for _, text, *_ in scene:
            assert "{" not in text.format(**names)


def test_without_positions_both_sentences_become_one_and_the_model_stays_as_it_was(translator: Translator) -> None:
    before = translator.model.embedding.positions.clone()
    assert without_positions(translator, SENTENCES) == "Le chien blanc."
    assert translator.model.embedding.positions.equal(before)


def test_every_caption_stays_long_enough_to_be_read(one: dict[str, Any]) -> None:
    """Subtitles for adults run at up to 17 letters a second; the whole film takes up to 90 seconds."""
    seconds, slack = FILM.shared["seconds"], 1.02
    assert sum(each for name, each in seconds.items() if not name.endswith("_own")) <= 90 * slack
    for name, says in FILM.shared["scenes"].items():
        ends = [*(begin for begin, *_ in says[1:]), 1]
        for (begin, text, *_), end in zip(says, ends, strict=True):
            told = text.format(**one["names"]).replace("*", "")
            assert len(told) / ((end - begin) * seconds[name]) <= 17 * slack, told


def test_scenes_begin_when_those_before_have_ended() -> None:
    seconds = {name: each for name, each in FILM.shared["seconds"].items() if not name.endswith("_own")}
    assert seconds.keys() | {"hook_own", "removed_own"} == FILM.shared["scenes"].keys() == FILM.shared["seconds"].keys()
    assert (moment("transformer"), moment("positional"), moment("intro")) == (
        0,
        round(seconds["hook"] + seconds["numbers"], 1),
        None,
    )
    assert moment("descendants") == round(sum(seconds.values()) - seconds["removed"] - seconds["whole"], 1)
