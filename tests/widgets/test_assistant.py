"""The widget of chapter `assistant` in a kernel: what it records, and what it sends to the browser."""

import json

import pytest
import torch
from safetensors.torch import load

from tfm_lib.corpora.stories import may_follow
from tfm_lib.engine.assistant import shipped
from tfm_lib.engine.trained import NoModel
from tfm_lib.engine.writer import VOCABULARY
from tfm_lib.widgets import assistant
from tfm_lib.widgets.assistant import (
    HEADS,
    SEEDS,
    PatchAHead,
    TalkToIt,
    examples,
    outcome,
    second,
    tokens,
    written,
)


def test_what_is_recorded_is_what_the_decoder_finds_likeliest() -> None:
    for prompt in (examples()["story"], examples()["question"]):
        told = written("base", prompt)
        words = [*tokens(prompt), *(each["word"] for each in told)]
        p = shipped("base")(torch.tensor([[VOCABULARY.bos_id, *VOCABULARY.encode(words)]]))[0].softmax(dim=-1)
        best = p[len(tokens(prompt)) :][: len(told)].topk(6)
        assert [each["word"] for each in told] == [VOCABULARY.tokens[i] for i in best.indices[:, 0]]
        shares = [[rival["p"] for rival in each["rivals"]] for each in told]
        assert torch.allclose(torch.tensor(shares), best.values, atol=2e-4)


def test_it_reads_words_and_signs() -> None:
    assert tokens("Once, Anna's  ball:") == ["once", ",", "anna's", "ball", ":"]


def test_a_stage_is_sent_when_it_is_wanted() -> None:
    widget = TalkToIt()
    assert widget.files == {}
    widget.wanted = "think"
    assert widget.files["config"]["words"] == list(VOCABULARY.tokens)
    assert sum(each.numel() for name, each in load(widget.files["bytes"]).items() if "scales" not in name) == sum(
        each.numel() for each in shipped("think").parameters()
    )
    assert len(json.dumps(widget.recorded)) < 100_000


def test_a_missing_stage_gets_a_sentence(monkeypatch, tmp_path) -> None:
    monkeypatch.setattr(assistant, "shipped_folder", lambda name: tmp_path)
    assert "base.safetensors" in assistant.writer_files("base")["error"]
    monkeypatch.setattr("tfm_lib.engine.assistant.shipped_folder", lambda name: tmp_path)
    with pytest.raises(NoModel, match=r"There is no prefer\.safetensors"):
        shipped.__wrapped__("prefer")
    with pytest.raises(ValueError, match="stage must be one of base, follow, prefer, think"):
        shipped("first")


def test_the_two_prompts_differ_in_who_has_the_thing() -> None:
    for told in PatchAHead().stories:
        after = [may_follow(text.split()) for text in told["texts"]]
        assert [list(each) for each in after] == [[name] for name in told["names"]]
        assert len(told["runs"]) == 1 + 16 + 4


def test_all_heads_patched_say_what_the_other_story_says() -> None:
    for seed in SEEDS:
        run, other = outcome(seed, tuple(HEADS)), second(seed)[1]
        assert run[:2] == pytest.approx(other[:2], abs=1e-3)


def test_heads_are_kept_in_order_each_once() -> None:
    assert PatchAHead(heads=[[3, 0], [0, 2], [3, 0]]).heads == [[0, 2], [3, 0]]
