"""The alignment widget in a kernel: its traits, its numbers, its sentences."""

import json

import pytest
import torch
from matplotlib.figure import Figure

from tfm_lib.alignment import MemoryNetwork, alignment_error_rate
from tfm_lib.corpora import load_corpus, memory_tensors
from tfm_lib.drawing import recorded
from tfm_lib.widgets.alignment import Alignment, MemoryHops, walks_of
from widgets.samples.alignment import EXAMPLE


def test_a_readers_own_weights() -> None:
    widget = Alignment([{"src": "ein Hund", "tgt": "a dog", "weights": [[0.9, 0.1], [0.2, 0.8]]}])
    assert widget.weights == [[0.9, 0.1], [0.2, 0.8]]
    assert widget.error_rate is None
    assert "Where each target word looks most: a at ein (0.90), dog at Hund (0.80)." in widget.alt


def test_error_rate_is_the_librarys() -> None:
    widget = Alignment([EXAMPLE])
    assert widget.error_rate == 0
    widget.score = "additive"
    predicted, sure = torch.tensor([[0, 0, 1], [0, 1, 0]]).bool(), torch.tensor([[1, 0, 0], [0, 1, 0]]).bool()
    assert widget.error_rate == alignment_error_rate(predicted, sure) == 0.5
    assert "Alignment error rate of this sentence: 0.50." in widget.alt


def test_words_without_a_true_link_do_not_count() -> None:
    example = {**EXAMPLE, "links": [(1, 1)], "possible": [(0, 0)]}
    assert Alignment([example], score="additive").error_rate == 0


def test_the_recorded_sentences_come_by_themselves() -> None:
    widget = Alignment()
    run = recorded("alignment_error")
    assert len(widget.examples) == len(run["examples"]) >= 8
    assert list(widget.examples[0]["weights"]) == ["dot", "scaled dot", "additive", "bilinear"]
    assert json.dumps(widget.examples[0]["tgt"]) == json.dumps(run["examples"][0]["tgt"])
    for example in widget.examples:
        for weights in example["weights"].values():
            assert all(abs(sum(row) - 1) < 0.02 for row in weights)


def test_another_sentence_may_be_shorter() -> None:
    short = {"src": "ja <eos> .", "tgt": "yes", "weights": {"dot": [[1, 0, 0]], "additive": [[0, 1, 0]]}}
    widget = Alignment([EXAMPLE, short], value=1)
    widget.sentence = 1
    assert widget.value == 0
    widget.examples = [short]
    assert widget.sentence == 0


@pytest.mark.parametrize("truth", [False, True])
def test_a_picture_with_and_without_the_truth(truth) -> None:
    figure = Alignment([EXAMPLE], truth=truth).figure()
    assert isinstance(figure, Figure)
    frames = [patch for patch in figure.axes[0].patches if patch.get_facecolor()[3] == 0]
    assert len(frames) == (2 if truth else 0)


def test_the_state_is_plain_data() -> None:
    state = Alignment([EXAMPLE]).get_state()
    json.dumps({key: value for key, value in state.items() if key != "layout"})
    assert state["_module"] == "alignment/alignment"


def test_the_walks_are_those_of_the_networks() -> None:
    corpus = load_corpus("questions", size=12)
    sizes = len(corpus.src_vocab), len(corpus.tgt_vocab)
    torch.manual_seed(0)
    networks = [MemoryNetwork(*sizes, d_model=8, n_hops=n_hops) for n_hops in (1, 2, 3)]
    widget = MemoryHops(walks_of(networks, corpus, corpus.pairs), value=3, story=5)
    facts, questions, _, needed = memory_tensors(corpus, corpus.pairs)
    logits, weights = networks[2](facts, questions)
    count = len(widget.stories[5]["facts"])
    torch.testing.assert_close(torch.tensor(widget.walk["weights"]), weights[5, :, :count], atol=6e-4, rtol=0)
    assert widget.walk["answer"] == corpus.tgt_vocab.tokens[logits[5].argmax()]
    assert widget.stories[5]["needed"] == needed[5].nonzero().flatten().tolist()
    assert f"with 3 hops over {count} facts" in widget.alt and widget.stories[5]["question"] in widget.alt
