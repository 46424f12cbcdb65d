"""The five models in a kernel: what each reads, says and sees."""

import json

import pytest
import torch
from matplotlib.figure import Figure

from tfm_lib.descendants import order_mask
from tfm_lib.widgets.descendants import MODELS, FiveModels, family, order_of

WORDS = "the cat sat on the mat today again".split()


def test_bert_hides_one_word_in_seven_and_sees_everything() -> None:
    rows, cols, targets, mask = family(WORDS, "bert", 4)
    assert rows == cols and mask.all()
    assert [target for target in targets if target] == [word for word, read in zip(WORDS, rows) if read == "<mask>"]
    assert targets == family(WORDS, "bert", 1).targets != family(WORDS, "roberta", 4).targets


def test_gpt2_says_every_word_from_what_stands_on_its_left() -> None:
    rows, _, targets, mask = family(WORDS, "gpt2", 1)
    assert rows[1:] == WORDS == targets[:-1]
    assert not mask.triu(1).any() and mask.diagonal().all()


def test_an_xlnet_question_sees_the_words_before_it_in_the_order_and_itself() -> None:
    _, _, targets, mask = family(WORDS, "xlnet", 3)
    before = order_mask(torch.tensor(order_of(8, 3))) & ~torch.eye(8, dtype=torch.bool)
    assert mask[:, :-1].equal(before) and mask[:, -1].all() and targets == WORDS


def test_t5_puts_the_sentence_together_again() -> None:
    for epoch in range(1, 10):
        rows, _, targets, mask = family(WORDS, "t5", epoch)
        src, said = rows[: rows.index("<bos>")], targets[rows.index("<bos>") :]
        at = src.index("<1>")
        assert src[:at] + said[1:-1] + src[at + 1 :] == WORDS
        assert not mask[: len(src), len(src) :].any(), "the encoder reads what is to be said"


@pytest.mark.parametrize("value", MODELS)
def test_a_picture_and_a_sentence_with_numbers(value: str) -> None:
    widget = FiveModels("The cat sat", value=value)
    assert isinstance(widget.figure(), Figure)
    assert f"{int(widget.reading.mask.sum())} of {widget.reading.mask.numel()} cells are seen" in widget.alt


def test_nothing_typed_is_no_error() -> None:
    assert isinstance(FiveModels("  ").figure(), Figure) and FiveModels(" ").alt == "…"


def test_the_state_is_plain_data() -> None:
    state = FiveModels().get_state()
    json.dumps({key: value for key, value in state.items() if key != "layout"})
    assert state["_module"] == "descendants/five_models"
