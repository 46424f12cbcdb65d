"""The decoder of stories, trained in a folder and asked: `tfm train --corpus stories`, `tfm write`, `Assistant`."""

from dataclasses import replace
from pathlib import Path

import pytest
import torch
from project import ROOT
from typer.testing import CliRunner

from tfm_lib.cli import app
from tfm_lib.corpora.stories import is_story, story_words
from tfm_lib.engine import assistant, writer_run
from tfm_lib.engine.assistant import Assistant, save_writer, tokens
from tfm_lib.engine.run import RunFolder
from tfm_lib.engine.trained import NoModel
from tfm_lib.engine.trainer import OtherRun
from tfm_lib.engine.writer import BASE, STAGES, VOCABULARY, writer

OPTIONS = replace(BASE, max_tokens=200, steps=4, validate_every=4)


class Watcher:
    def says(self, text): ...
    def updated(self, record, trainer):
        if record["step"] == self.stop:
            raise KeyboardInterrupt

    def validated(self, record, better): ...

    def __init__(self, stop=0):
        self.stop = stop


@pytest.fixture(scope="module")
def trained(tmp_path_factory) -> Path:
    """A run of four updates."""
    folder = tmp_path_factory.mktemp("trained")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(writer_run, "GLANCE", 2)
        writer_run.train_writer(OPTIONS, RunFolder(folder), Watcher(), checkpoint_every=2)
    return folder


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """The four stages, untrained."""
    torch.manual_seed(0)
    where = tmp_path_factory.mktemp("stages")
    for stage in STAGES:
        save_writer(where, stage, writer(), 8)
    return where


def test_a_stopped_run_goes_on_to_the_same_weights(trained, tmp_path, monkeypatch):
    monkeypatch.setattr(writer_run, "GLANCE", 2)
    run = RunFolder(tmp_path)
    with pytest.raises(KeyboardInterrupt):
        writer_run.train_writer(OPTIONS, run, Watcher(stop=3), checkpoint_every=2)
    record = writer_run.train_writer(OPTIONS, run, Watcher(), checkpoint_every=2)
    assert record["step"] == 4 and 0 <= record["consistent"] <= 1 and record["val_loss"] > 3
    assert (tmp_path / "base.safetensors").read_bytes() == (trained / "base.safetensors").read_bytes()
    with pytest.raises(OtherRun, match="holds a run on 'stories', not on 'numbers'"):
        run.require("numbers")


def test_the_command_trains_as_the_function(trained, tmp_path, monkeypatch):
    monkeypatch.setattr(writer_run, "GLANCE", 2)
    how = f"train --corpus stories --max-tokens 200 --steps 4 --precision float32 --bits 8 --to {tmp_path}"
    done = CliRunner().invoke(app, how.split())
    assert done.exit_code == 0, done.output
    assert f"Write with it: tfm write --model {tmp_path}" in done.output and "% of 2 stories" in done.output
    assert (tmp_path / "base.safetensors").read_bytes() == (trained / "base.safetensors").read_bytes()
    refused = CliRunner().invoke(app, ["train", "--corpus", "stories", "--config", "base"])
    assert refused.exit_code and "have a model of their own" in str(refused.exception)


def test_what_is_written_is_drawn_with_its_seed(folder):
    model = Assistant.load(folder, "follow")
    assert model.write("Once there were", seed=1) == model.write("once there were", seed=2)
    drawn = [model.write("Once", 1.0, 0.9, seed) for seed in (1, 1, 2)]
    assert drawn[0] == drawn[1] != drawn[2]
    assert len(tokens(drawn[0])) <= assistant.LONGEST - 3


def test_a_prompt_that_cannot_be_read_is_told(folder):
    model = Assistant.load(folder)
    with pytest.raises(ValueError, match=f"in the {len(VOCABULARY)} words of the stories; 'transformer' isn't"):
        model.write("once a transformer")
    with pytest.raises(ValueError, match="must have at most 317 words and signs; it has 400"):
        model.write("a " * 400)
    with pytest.raises(ValueError, match="temperature must be 0 or more"):
        model.write("once", -1)


def test_a_missing_or_damaged_stage_gets_a_sentence(tmp_path):
    with pytest.raises(NoModel, match=r"There is no prefer\.safetensors in .* tfm train --corpus stories"):
        Assistant.load(tmp_path, "prefer")
    (tmp_path / "base.safetensors").write_text("no")
    with pytest.raises(NoModel, match="cannot be read"):
        Assistant.load(tmp_path)
    with pytest.raises(ValueError, match="stage must be one of base, follow, prefer, think"):
        Assistant.load(tmp_path, "first")


def test_the_command_writes(folder):
    model = Assistant.load(folder, "think")
    how = ["write", "once there", "--model", str(folder), "--stage", "think", "--temperature", "1", "--seed", "3"]
    done = CliRunner().invoke(app, how)
    assert done.stdout == model.write("once there", 1.0, seed=3) + "\n"
    refused = CliRunner().invoke(app, ["write", "hello", "--model", str(folder)])
    assert refused.exit_code and "'hello' isn't among them." in str(refused.exception)


def test_a_story_is_one_and_its_half_is_none():
    words = story_words(3)
    assert is_story(words) and not is_story(words[:-5])


def test_the_shipped_stages_are_in_the_repository():
    for stage in STAGES:
        assert (ROOT / "models/stories" / f"{stage}.safetensors").is_file()
        assert isinstance(assistant.shipped(stage).config.d_model, int)
