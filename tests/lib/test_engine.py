"""Long trainings: what is stopped goes on bit for bit, several processes train as one, and the commands say what they do."""

from __future__ import annotations

import io
import json
import os
import shutil
import signal
import subprocess
import sys
import time
import warnings
from collections import Counter
from dataclasses import replace
from itertools import count, takewhile
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch
from project import ROOT
from rich.console import Console
from safetensors.torch import load_file
from tiers import every, params
from typer.testing import CliRunner

from tfm_lib.cli import app
from tfm_lib.data import Example, Tokenizer
from tfm_lib.engine import progress
from tfm_lib.engine.commands import AT_ONCE, _lines
from tfm_lib.engine.loss import ROWS, linear_smoothed_loss
from tfm_lib.engine.presets import PRESETS, Preset
from tfm_lib.engine.run import GLANCE, FolderHeld, RunFolder, exact_match, glance, train_run
from tfm_lib.engine.shipped import shipped_folder
from tfm_lib.engine.trained import NoModel, load_trained, read, save_trained, stored
from tfm_lib.engine.trainer import OtherRun, Trainer, TrainOptions
from tfm_lib.engine.translator import Translator
from tfm_lib.training import Batch, label_smoothed_loss, train
from tfm_lib.transformer import Transformer, TransformerConfig

CONFIG = TransformerConfig(20, d_model=16, n_heads=2, d_ff=32, n_layers=1, dropout=0.1)
OPTIONS = TrainOptions(max_tokens=60, steps=12, warmup=4, schedule="cosine", peak=1e-2, average=0.9, validate_every=5)
EXAMPLES = [Example([4 + i % 16, 4 + (i * 7) % 16], [4 + (i * j) % 16 for j in range(1, 2 + i % 4)]) for i in range(64)]
ENVIRONMENT = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": str(ROOT)}
TFM = [sys.executable, "-m", "tfm_lib.cli"]


class Silent:
    """Watches a run and says nothing."""

    def __init__(self) -> None:
        self.said: list[str] = []
        self.records: list[dict] = []

    def says(self, text: str) -> None:
        self.said.append(text)

    def updated(self, record: dict, trainer: Trainer) -> None:
        self.records.append({**record, "loss": record["loss"].item()})

    def validated(self, record: dict, better: bool) -> None:
        self.records.append(record)


def trainer_of(options: TrainOptions = OPTIONS, config: TransformerConfig = CONFIG) -> Trainer:
    torch.manual_seed(options.seed)
    return Trainer(Transformer(config), EXAMPLES, options)


def weights(trainer: Trainer) -> dict[str, torch.Tensor]:
    return {name: p.detach().clone() for name, p in trainer.model.named_parameters()}


def losses(trainer: Trainer) -> list[float]:
    return [record["loss"].item() for record in trainer.run()]


def tiny(**changes) -> Preset:
    """A preset of seconds."""
    small = TransformerConfig(120, d_model=16, n_heads=2, d_ff=32, n_layers=1, dropout=0.1)
    return Preset(small, replace(OPTIONS, max_tokens=300, **changes), "for tests")


@pytest.fixture(scope="session")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a run that has come to its end; tests copy it."""
    folder = tmp_path_factory.mktemp("finished") / "run"
    last = train_run("copy", tiny(), RunFolder(folder), Silent())
    assert last["step"] == OPTIONS.steps and {"val_loss", "exact"} <= set(last)
    return folder


@pytest.fixture
def ran(finished: Path, tmp_path: Path) -> Path:
    """A finished run of one's own."""
    return Path(shutil.copytree(finished, tmp_path / "run"))


# --- the trainer ---------------------------------------------------------------------------------------------------


def test_the_trainer_is_the_plain_loop_and_machinery():
    options = TrainOptions(max_tokens=60, steps=6, schedule="cosine", peak=1e-2, warmup=2, clip=0.7)
    mine = trainer_of(options, replace(CONFIG, dropout=0.0))
    plain = trainer_of(options, replace(CONFIG, dropout=0.0))  # for its model and the order of its batches
    batches = (Batch.of(group[0]) for group, _ in zip(plain._updates(), range(6)))
    rates = []

    def lr(step: int) -> float:
        plain.progress.step = step
        rates.append(plain.lr())
        return rates[-1]

    slow = [step.loss for step in train(plain.model, batches, lr, options.epsilon, clip=0.7)]
    assert losses(mine) == pytest.approx(slow, abs=1e-5)
    for name, value in weights(mine).items():
        if not name.endswith("W_K.bias"):  # its gradient is 0 but for rounding, which Adam divides by itself
            torch.testing.assert_close(value, weights(plain)[name], rtol=0, atol=1e-4)


def test_micro_batches_add_up_to_one_batch():
    whole = trainer_of(replace(OPTIONS, steps=1), replace(CONFIG, dropout=0.0))
    group = [list(EXAMPLES[:10])]
    parts = trainer_of(replace(OPTIONS, steps=1), replace(CONFIG, dropout=0.0))
    whole._update(group), parts._update([list(EXAMPLES[:3]), list(EXAMPLES[3:10])])
    for name, value in weights(whole).items():
        torch.testing.assert_close(value, weights(parts)[name], rtol=0, atol=1e-6)


def test_one_schedule_step_for_each_update_also_with_accumulation():
    options = replace(OPTIONS, schedule="paper", warmup=100, steps=8)
    once, twice = trainer_of(options), trainer_of(replace(options, accumulate=2))
    assert [r["lr"] for r in once.run()] == [r["lr"] for r in twice.run()]


def test_an_epoch_uses_every_example_once_also_with_accumulation():
    trainer, seen = trainer_of(replace(OPTIONS, accumulate=2)), Counter()
    for group in takewhile(lambda _: trainer.progress.epoch == 0, trainer._updates()):
        seen.update(str(example) for batch in group for example in batch)
    assert seen == Counter(map(str, EXAMPLES))


@pytest.mark.parametrize("stop", params([1, 4, 7, 11], [4]))
@pytest.mark.parametrize("optimiser", ["adam", "muon"])
def test_resumed_bit_for_bit(tmp_path: Path, stop: int, optimiser: str):
    options = replace(OPTIONS, optimiser=optimiser)
    straight = trainer_of(options)
    expected = losses(straight)
    stopped = trainer_of(options)
    run = stopped.run()
    before = [next(run)["loss"].item() for _ in range(stop)]
    stopped.save(tmp_path / "checkpoint.pt")
    torch.manual_seed(99)  # whatever was drawn meanwhile
    resumed = Trainer(Transformer(CONFIG), EXAMPLES, options)
    resumed.resume(tmp_path / "checkpoint.pt")
    assert before + losses(resumed) == expected
    for name, value in weights(straight).items():
        assert torch.equal(value, weights(resumed)[name]), name
        assert torch.equal(straight.averaged[name], resumed.averaged[name]), name


@pytest.mark.parametrize("stop", [3, 9])
def test_resumed_bit_for_bit_when_the_examples_change_with_the_epoch(tmp_path: Path, stop: int):
    def examples(epoch: int) -> list[Example]:
        return [Example([4 + epoch, *src], tgt) for src, tgt in EXAMPLES]

    def trainer() -> Trainer:
        torch.manual_seed(OPTIONS.seed)
        return Trainer(Transformer(CONFIG), examples, OPTIONS)

    straight = trainer()
    expected = losses(straight)
    assert straight.progress.epoch >= 2
    stopped = trainer()
    run = stopped.run()
    before = [next(run)["loss"].item() for _ in range(stop)]
    stopped.save(tmp_path / "checkpoint.pt")
    resumed = trainer()
    resumed.resume(tmp_path / "checkpoint.pt")
    assert before + losses(resumed) == expected


def test_the_caller_s_modules_are_back_after_a_run():
    model = Transformer(CONFIG)
    own = list(model.modules())
    run = Trainer(model, EXAMPLES, OPTIONS).run()
    next(run)
    assert list(model.modules()) != own
    list(run)
    assert list(model.modules()) == own


def test_a_checkpoint_of_another_run_is_refused(tmp_path: Path):
    trainer_of().save(tmp_path / "checkpoint.pt")
    with pytest.raises(OtherRun, match="other options: peak was 0.01, now it is 0.02"):
        trainer_of(replace(OPTIONS, peak=2e-2)).resume(tmp_path / "checkpoint.pt")
    with pytest.raises(OtherRun, match="other config: d_ff was 32, now it is 64"):
        trainer_of(config=replace(CONFIG, d_ff=64)).resume(tmp_path / "checkpoint.pt")
    trainer_of(replace(OPTIONS, steps=50)).resume(tmp_path / "checkpoint.pt")  # more of the same is welcome


def test_a_cut_while_saving_leaves_the_old_checkpoint(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    trainer = trainer_of()
    trainer.save(tmp_path / "checkpoint.pt")
    before = (tmp_path / "checkpoint.pt").read_bytes()
    real = torch.save

    def cut(state: dict, path: Path) -> None:
        real(state, path)
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(torch, "save", cut)
    with pytest.raises(OSError, match="No space"):
        trainer.save(tmp_path / "checkpoint.pt")
    assert (tmp_path / "checkpoint.pt").read_bytes() == before


def test_the_loss_counts_real_tokens_only():
    trainer = trainer_of(config=replace(CONFIG, dropout=0.0))
    batch = Batch.of(EXAMPLES[:5])
    by_hand = label_smoothed_loss(trainer.model(batch.src, batch.tgt_in), batch.tgt_out, 0.1, 0)
    torch.testing.assert_close(trainer._loss(EXAMPLES[:5]), by_hand, rtol=0, atol=1e-6)


@pytest.mark.parametrize("epsilon", [0.0, 0.1])
@pytest.mark.parametrize("rows", [3, ROWS, ROWS + 7])  # one part, a full one, two
def test_the_fused_loss_is_the_clear_one(rows: int, epsilon: float):
    X, E = torch.randn(rows, 8, requires_grad=True), torch.randn(30, 8, requires_grad=True)
    targets = torch.randint(1, 30, (rows,))
    fused = linear_smoothed_loss(X, E, targets, epsilon)
    clear = label_smoothed_loss(X @ E.T, targets, epsilon)
    torch.testing.assert_close(fused, clear, rtol=0, atol=1e-5)
    for mine, theirs in zip(torch.autograd.grad(3 * fused, (X, E)), torch.autograd.grad(3 * clear, (X, E))):
        torch.testing.assert_close(mine, theirs, rtol=0, atol=1e-6)
    with torch.no_grad():
        assert linear_smoothed_loss(X, E, targets, epsilon) == fused


def test_early_stop():
    trainer = trainer_of(replace(OPTIONS, steps=100, patience=2, peak=0.0))
    run = trainer.run()
    for _ in range(3):
        next(run)
        trainer.validate(EXAMPLES[:10])
    assert trainer.progress.stale == 2 and trainer.done()
    assert next(run, None) is None


def test_a_run_on_the_clock_ends_on_time():
    trainer = trainer_of(replace(OPTIONS, steps=10**9, seconds=0.5, clock="cpu"))
    began = time.process_time()
    rates = [record["lr"] for record in trainer.run()]
    assert 0.5 <= time.process_time() - began < 3
    assert rates[-1] < 0.3 * max(rates)


def test_averaged_weights_are_a_mean_and_are_given_back():
    trainer = trainer_of()
    losses(trainer)
    own = weights(trainer)
    with trainer.averaged_weights() as model:
        assert not model.training
        assert any(not torch.equal(own[name], p) for name, p in model.named_parameters())
    assert all(torch.equal(own[name], p) for name, p in trainer.model.named_parameters()) and trainer.model.training


def test_bfloat16_trains_too():
    trainer = trainer_of(replace(OPTIONS, bfloat16=True))
    assert all(p.dtype == torch.float32 for p in trainer.model.parameters())
    both = losses(trainer), losses(trainer_of())
    assert both[0] == pytest.approx(both[1], abs=0.1) and both[0] != both[1]


# --- runs in folders -----------------------------------------------------------------------------------------------


def test_a_run_leaves_a_model_that_translates(finished: Path):
    translator = Translator.load(finished)
    assert translator.about["corpus"] == "copy"
    assert isinstance(translator.translate(["a b c"])[0], str)
    lines = [json.loads(line) for line in (finished / "metrics.jsonl").read_text().splitlines()]
    assert [line["step"] for line in lines if "val_loss" in line] == [5, 10, 12]
    assert lines[0]["step"] == 1 and lines[0]["loss"] > 0


@pytest.mark.release
def test_a_finished_run_stays_finished(tmp_path: Path):
    folder = RunFolder(tmp_path / "run")
    first = train_run("copy", tiny(), folder, Silent())
    before = (folder.path / "model.safetensors").read_bytes()
    assert train_run("copy", tiny(), folder, Silent()) == first
    assert (folder.path / "model.safetensors").read_bytes() == before


def test_another_corpus_is_refused(ran: Path):
    with pytest.raises(OtherRun, match="holds a run on 'copy', not on 'sort'"):
        train_run("sort", tiny(), RunFolder(ran), Silent())


def test_half_precision_keeps_the_translations(finished: Path, tmp_path: Path):
    model, tokenizer, about = load_trained(finished)
    save_trained(tmp_path / "half", model, tokenizer, about, bits=16)
    size = {
        name: (path / "model.safetensors").stat().st_size
        for name, path in [("full", finished), ("half", tmp_path / "half")]
    }
    assert size["half"] < 0.6 * size["full"]
    other = load_trained(tmp_path / "half")[0]
    for (name, p), q in zip(model.named_parameters(), other.parameters()):
        torch.testing.assert_close(p, q, rtol=1e-3, atol=1e-4, msg=name)


def test_eight_bits_are_a_quarter_and_what_is_loaded_is_what_is_stored(finished: Path, tmp_path: Path):
    model, tokenizer, about = load_trained(finished)
    about = {name: value for name, value in about.items() if name != "model"}
    save_trained(tmp_path / "eight", model, tokenizer, about, bits=8)
    file = load_file(tmp_path / "eight" / "model.safetensors")
    other = load_trained(tmp_path / "eight")[0]
    for name, p in other.named_parameters():
        kept, own = file[name], model.get_parameter(name)
        assert p.dtype == torch.float32
        if p.dim() == 2:
            scales = file[f"{name}.scales"]
            assert kept.dtype == torch.int8 and scales.shape == (len(p), 1) and kept.abs().amax() <= 127
            assert torch.equal(p, kept.float() * scales), name
            assert ((p - own).abs() <= 0.5001 * scales).all(), "no number is further off than half a step"
        else:
            assert kept.dtype == torch.float16 and torch.equal(p, kept.float()), name
    matrices = sum(p.numel() for p in model.parameters() if p.dim() == 2)
    assert sum(value.numel() for value in file.values() if value.dtype == torch.int8) == matrices
    save_trained(tmp_path / "again", other, tokenizer, about, bits=8)
    assert all(torch.equal(p, q) for p, q in zip(other.parameters(), load_trained(tmp_path / "again")[0].parameters()))


def test_a_row_of_zeros_stays_one():
    kept = stored({"W": torch.tensor([[0.0, 0.0], [1.0, -2.0]])}, 8)
    torch.testing.assert_close(read(kept)["W"], torch.tensor([[0.0, 0.0], [1.0, -2.0]]), atol=0.01, rtol=0)


def test_the_shipped_model_has_no_more_parameters_than_are_allowed():
    model, tokenizer, _ = load_trained(shipped_folder())
    assert sum(p.numel() for p in model.parameters()) <= 7_500_000 and len(tokenizer) == model.config.vocab_size


def test_bits_are_eight_sixteen_or_thirty_two():
    with pytest.raises(ValueError, match="bits must be 8, 16 or 32; got 4."):
        stored({}, 4)


def test_a_folder_without_a_whole_model_says_so(ran: Path, tmp_path: Path):
    with pytest.raises(NoModel, match="no model.safetensors.*Train one: tfm train"):
        load_trained(tmp_path)
    path = ran / "model.safetensors"
    path.write_bytes(path.read_bytes()[:100])
    with pytest.raises(NoModel, match="cannot be read"):
        load_trained(ran)


class Parrot:
    """Translates every sentence into itself."""

    def translate(self, sentences: list[str], beam: int) -> list[str]:
        return list(sentences)


def test_a_glance_sees_long_and_short_sentences_with_all_their_translations():
    pairs = [("a" * (i // 2), str(i)) for i in range(2, 2002)]  # sorted by length, two translations each
    seen = glance(pairs)
    lengths = [len(source) for source, _ in seen]
    assert len(seen) == 2 * GLANCE and len(set(lengths)) == GLANCE
    assert min(lengths) == 1 and max(lengths) > 990 and glance(pairs[:7]) == pairs[:7]


def test_exact_match_takes_any_reference():
    pairs = [("a", "a"), ("b", "x"), ("b", "b"), ("c", "d"), ("e", "f")]
    assert exact_match(Parrot(), pairs) == 0.5


# --- the translator ------------------------------------------------------------------------------------------------


class Copier(Translator):
    """Writes every sentence as it reads it."""

    def __init__(self, sentences: list[str], typed: bool = False):
        tokenizer = Tokenizer.train(sentences * 20, 120)
        config = TransformerConfig(len(tokenizer), d_model=8, n_heads=1, d_ff=8, n_layers=1, max_len=30)
        super().__init__(Transformer(config), tokenizer, {"typed": typed})

    def search(self, sentences, beam=4, alpha=0.6, at_once=32):
        return self.tokenizer.encode_all([self.as_read(sentence) for sentence in sentences])


def test_unknown_signs_are_copied_where_the_model_writes_that_it_does_not_know():
    translator = Copier(["The lamp is on the tower."])
    assert translator.translate(["The lamp ☃ is \U0001f642."]) == ["The lamp ☃ is \U0001f642."]


def test_another_script_and_mostly_unknown_signs_are_warned_of():
    translator = Copier(["The lamp is on the tower."])
    with pytest.warns(
        UserWarning, match="등대 holds Hangul letters, which this model cannot read; it can only copy them"
    ):
        translator.translate(["등대"])
    with pytest.warns(UserWarning, match="holds Cyrillic and Greek letters"):
        translator.translate(["The Ж lamp Ω."])
    with pytest.warns(UserWarning, match="is mostly signs that this model does not know"):
        translator.translate(["☃☃☃ on"])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        translator.translate(["The ñ lamp ☃.", "", "  ", "The lamp."])


def test_an_outcry_is_lowered_only_for_a_model_that_learned_to_raise_it():
    for typed, seen in [(True, "the lamp is on!"), (False, "THE LAMP IS ON!")]:
        translator = Copier(["The lamp is on!"], typed)
        assert translator.as_read("THE LAMP IS ON!") == seen
        for kept in ("The LAMP is on!", "TV", "OK!", "14:05", ""):
            assert translator.as_read(kept) == kept
        assert translator.ids("THE LAMP IS ON!").tolist()[0][:-1] == translator.tokenizer.encode(seen)


# --- commands ------------------------------------------------------------------------------------------------------


def tfm(*arguments: object, **options) -> subprocess.CompletedProcess:
    return subprocess.run([*TFM, *map(str, arguments)], capture_output=True, text=True, env=ENVIRONMENT, **options)


def translated(model: Path, lines: bytes) -> tuple[list[str], list[str]]:
    """What `tfm translate` writes and says of lines that come in, in this process."""
    run = CliRunner().invoke(app, ["translate", "--model", str(model)], input=lines)
    assert run.exit_code == 0, run.output
    return run.stdout.split("\n"), run.stderr.splitlines()


TRAIN = ("train", "--corpus", "copy", "--max-tokens", 300, "--checkpoint-every", 1)


@pytest.mark.release
def test_killed_at_a_random_step_and_resumed(tmp_path: Path):
    straight, killed = tmp_path / "straight", tmp_path / "killed"
    assert tfm(*TRAIN, "--steps", 60, "--dropout", 0.1, "--to", straight).returncode == 0
    command = [*TFM, *map(str, TRAIN), "--steps", "60", "--dropout", "0.1", "--to", str(killed)]
    run = subprocess.Popen(command, env=ENVIRONMENT, stdout=subprocess.DEVNULL)
    while not (killed / "checkpoint.pt").exists():
        assert run.poll() is None
        time.sleep(0.02)
    time.sleep(0.3)
    run.kill()
    run.wait()
    assert tfm(*TRAIN, "--steps", 60, "--dropout", 0.1, "--to", killed).returncode == 0
    ends = [torch.load(folder / "checkpoint.pt", weights_only=True) for folder in (straight, killed)]
    assert ends[0]["progress"]["step"] == ends[1]["progress"]["step"] == 60
    for part in ("model", "averaged"):
        assert all(torch.equal(value, ends[1][part][name]) for name, value in ends[0][part].items())


@pytest.mark.long
def test_ctrl_c_saves(tmp_path: Path):
    command = [*TFM, "train", "--corpus", "copy", "--steps", "100000", "--to", str(tmp_path / "run")]
    run = subprocess.Popen(command, env=ENVIRONMENT, stdout=subprocess.PIPE, text=True)
    while not (tmp_path / "run" / "metrics.jsonl").exists():
        assert run.poll() is None
        time.sleep(0.05)
    run.send_signal(signal.SIGINT)
    out, _ = run.communicate(timeout=60)
    assert run.returncode == 130 and "the same command goes on from there" in out
    assert (tmp_path / "run" / "checkpoint.pt").exists()


@pytest.mark.release
def test_two_processes_train_as_one(tmp_path: Path):
    options = ("--steps", 50, "--dropout", 0, "--precision", "float32")
    assert tfm(*TRAIN, *options, "--to", tmp_path / "one").returncode == 0
    command = [
        sys.executable,
        "-m",
        "torch.distributed.run",
        "--nproc-per-node",
        "2",
        "--master-port",
        "0",
        "--rdzv-backend",
        "c10d",
        "--rdzv-endpoint",
        "127.0.0.1:0",
        "-m",
        "tfm_lib.cli",
    ]
    arguments = [*map(str, (*TRAIN, *options)), "--to", str(tmp_path / "two")]
    run = subprocess.run([*command, *arguments], capture_output=True, text=True, env=ENVIRONMENT)
    assert run.returncode == 0, run.stderr[-2000:]
    curves = []
    for name in ("one", "two"):
        lines = [json.loads(line) for line in (tmp_path / name / "metrics.jsonl").read_text().splitlines()]
        curves.append([line.get("loss", line.get("val_loss")) for line in lines])
    assert len(curves[0]) >= 4 and curves[0] == pytest.approx(curves[1], abs=1e-4)


@pytest.mark.release
def test_translate_says_translations_and_nothing_else(finished: Path):
    by_line = tfm("translate", "--model", finished, input="a b c\n\nd e\n")
    assert by_line.returncode == 0 and by_line.stderr == ""
    lines = by_line.stdout.split("\n")
    assert len(lines) == 4 and lines[1] == lines[3] == ""
    by_name = tfm("translate", "--model", finished, "a b c", "d e")
    assert by_name.stdout.splitlines() == [lines[0], lines[2]]


@pytest.mark.release
def test_translate_gives_every_attention(finished: Path, tmp_path: Path):
    run = tfm("translate", "--model", finished, "--attention", tmp_path / "weights.json", "a b c")
    assert run.returncode == 0, run.stderr
    (seen,) = json.loads((tmp_path / "weights.json").read_text())
    assert seen["translation"] == run.stdout.rstrip("\n")
    cross = torch.tensor(seen["weights"]["cross"])
    assert cross.shape == (1, 2, len(seen["target"]), len(seen["source"]))
    torch.testing.assert_close(cross.sum(-1), torch.ones(cross.shape[:-1]))


def test_a_training_whose_output_is_a_file_says_something_early_and_now_and_then(monkeypatch):
    clock = count(0, 10)
    monkeypatch.setattr(progress, "time", SimpleNamespace(monotonic=lambda: next(clock)))
    file = io.StringIO()
    bar = progress.Bar(Console(file=file))
    for step in range(1, 9):
        trainer = SimpleNamespace(options=OPTIONS, progress=SimpleNamespace(step=step, seconds=0.0))
        bar.updated({"tokens": 60, "loss": torch.tensor(2.5), "lr": 1e-3}, trainer)
    lines = file.getvalue().splitlines()
    assert lines[0] == "step 1 · loss 2.500 · training has begun"
    assert [line.partition(" · ")[0] for line in lines[1:]] == ["step 4", "step 7"]
    terminal = progress.Bar(Console(file=io.StringIO(), force_terminal=True))
    terminal.updated({"tokens": 60, "loss": torch.tensor(2.5), "lr": 1e-3}, trainer)
    assert not terminal.console.file.getvalue(), "the moving line tells it there"


SENTENCES = {
    ("train", "--config", "huge"): "no preset 'huge'; there are tiny, small, base, big",
    ("train", "--corpus", "nothing"): "No corpus is called 'nothing'; there are copy",
    ("train", "--optimiser", "sgd"): "--optimiser must be adam or muon; got 'sgd'",
    ("train", "--weight-decay", "0.1"): "weight_decay goes with the optimiser muon",
    ("train", "--precision", "float8"): "must be auto, float32 or bfloat16",
    ("train", "--bits", "4"): "--bits must be 8, 16 or 32, and 16 beside --half; got 4.",
    ("train", "--bits", "8", "--half"): "got 8 with --half",
    ("train", "--typed", "--subword-dropout", "0.1"): "does not go with typed",
    ("train", "--corpus", "pairs.tsv"): "There is no file pairs.tsv.",
    ("translate", "--model", "nowhere", "Hello."): "no trained model in nowhere",
}


@pytest.mark.parametrize("arguments", params(SENTENCES, every(12, SENTENCES), " ".join, every(3, SENTENCES)))
def test_what_cannot_be_is_said_in_a_sentence(arguments: tuple, tmp_path: Path):
    run = tfm(*arguments, cwd=tmp_path)
    assert (
        run.returncode == 1 and SENTENCES[arguments] in run.stderr.replace("\n", " ") and "Traceback" not in run.stderr
    )
    assert "is kept" not in run.stdout, "nothing is promised that does not come"
    assert not list(tmp_path.iterdir()), "bad input leaves something behind"


@pytest.mark.release
def test_adam_in_the_place_of_a_presets_muon_has_no_decay(tmp_path: Path):
    run = tfm("train", "--corpus", "copy", "--config", "small", "--optimiser", "adam", "--steps", "1", cwd=tmp_path)
    assert run.returncode == 0, run.stderr
    options = json.loads((tmp_path / "trained/copy-small/run.json").read_text())["options"]
    assert PRESETS["small"].options.weight_decay > 0
    assert (options["optimiser"], options["weight_decay"]) == ("adam", 0.0)


@pytest.fixture(scope="module")
def small_model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model that has learned nothing and so always has something to say."""
    folder = tmp_path_factory.mktemp("model") / "run"
    torch.manual_seed(0)
    tokenizer = Tokenizer.train([" ".join("abcdefghijkl")] * 3, 40)
    model = Transformer(TransformerConfig(len(tokenizer), d_model=16, n_heads=2, d_ff=32, n_layers=1))
    save_trained(folder, model, tokenizer, {})
    return folder


def test_a_line_that_is_not_utf8_or_too_long_is_named_and_passed_over(small_model: Path):
    long = b"a " * 600
    written, said = translated(small_model, b"a b\nd \xe9 e\n" + long + b"\nd e\n")
    assert len(written) == 5 and written[1] == written[2] == "" and written[0] and written[3]
    assert said[0] == "Line 2 is not UTF-8 (byte 3 is 0xe9): passed over. Its translation is an empty line."
    assert said[1] == "Line 3 has 600 tokens and the model reads 511: passed over. Its translation is an empty line."
    assert len(said) == 2


def test_doubts_about_lines_bear_their_numbers_and_blank_lines_raise_none(small_model: Path):
    written, (first, *others) = translated(small_model, "a b\n \u00a0\t\u3000\n등대\n\u200b\n".encode())
    assert len(written) == 5
    assert first.startswith("Line 3: 등대 holds Hangul letters")
    assert all(other.startswith("Line 4: '\\u200b' is mostly signs") for other in others)


def test_letters_that_a_machine_of_the_playground_never_learned_are_named():
    machine = Translator.load(ROOT / "tests" / "grader" / "assignments" / "reverse.safetensors")
    with pytest.warns(
        UserWarning, match="Hello world holds H, a space, w, and this model knows only the letters a d e"
    ):
        machine.translate(["Hello world"], beam=1)
    assert machine.translate(["stressed"], beam=1) == ["desserts"]


@pytest.mark.long
def test_an_argument_that_is_not_utf8_is_passed_over_too(small_model: Path):
    command = [*map(os.fsencode, [*TFM, "translate", "--model", str(small_model)]), b"\xe9", b"a b"]
    run = subprocess.run(command, capture_output=True, env=ENVIRONMENT)
    assert run.returncode == 0 and run.stdout.startswith(b"\n") and len(run.stdout) > 3
    assert run.stderr.startswith(b"Sentence 1 is not UTF-8 (byte 1 is 0xe9): passed over.")


@pytest.mark.long
@pytest.mark.parametrize("locale", params(["C", "POSIX"], ["C"]))
def test_translate_reads_and_writes_utf8_whatever_the_locale(small_model: Path, locale: str):
    command = [*TFM, "translate", "--model", str(small_model)]
    environment = {**ENVIRONMENT, "LC_ALL": locale, "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    run = subprocess.run(command, input="a \u2603 b\n".encode(), capture_output=True, env=environment)
    assert run.returncode == 0 and b"Traceback" not in run.stderr


def test_blanks_and_carriage_returns_change_nothing(small_model: Path):
    (first, *others), _ = translated(small_model, b"a b c\na b c \na b c\r\n\ta  b\tc\n   \n\r\n")
    assert first and others == [first] * 3 + [""] * 3


def test_lines_are_translated_together_and_in_order(monkeypatch: pytest.MonkeyPatch):
    lines = [f"{'abcdefgh'[i % 8]} {'ijkl'[i % 4]}{' a' * (i % 5)}" for i in range(3 * AT_ONCE + 5)]
    sizes: list[int] = []

    class Counted(Copier):
        def search(self, sentences, *how):
            sizes.append(len(sentences))
            return super().search(sentences, *how)

    monkeypatch.setattr(Translator, "shipped", lambda: Counted(lines))
    run = CliRunner().invoke(app, ["translate"], input="\n".join(lines) + "\n")
    assert run.exit_code == 0 and run.stdout.split("\n")[:-1] == lines
    assert sizes == [AT_ONCE] * 3 + [5]


@pytest.mark.long
def test_who_types_one_line_is_answered_before_the_next(small_model: Path):
    command = [*TFM, "translate", "--model", str(small_model)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=ENVIRONMENT) as run:
        for line in (b"a b\n", b"c d\n"):
            run.stdin.write(line)
            run.stdin.flush()
            assert run.stdout.readline().endswith(b"\n")
        run.stdin.close()


def test_lines_come_whole_whatever_the_chunks():
    class Slow(io.BytesIO):
        def read1(self, size: int = -1) -> bytes:
            return super().read1(3)

    text = b"one\ntwo words\n\nthe last has no end"
    assert [line for group in _lines(Slow(text)) for line in group] == text.split(b"\n")
    groups = list(_lines(io.BytesIO(b"x\n" * (2 * AT_ONCE + 1))))
    assert [len(group) for group in groups] == [AT_ONCE, AT_ONCE, 1]


@pytest.mark.long
def test_translate_says_what_it_cannot_read(small_model: Path):
    run = tfm("translate", "--model", small_model, "a 등대 b", "a b")
    assert run.returncode == 0 and len(run.stdout.splitlines()) == 2
    assert run.stderr == "a 등대 b holds Hangul letters, which this model cannot read; it can only copy them.\n"


# --- the folder of a run -------------------------------------------------------------------------------------------


@pytest.mark.release
def test_a_folder_is_held_by_one_run(tmp_path: Path):
    folder = RunFolder(tmp_path / "run")
    with folder.held():
        again = tfm(*TRAIN, "--steps", 2, "--to", folder.path)
        assert again.returncode == 1 and "Traceback" not in again.stderr
        assert f"run is held by another training: process {os.getpid()} on " in again.stderr.replace("\n", " ")
        with pytest.raises(FolderHeld), folder.held():
            pass
    assert tfm(*TRAIN, "--steps", 2, "--to", folder.path).returncode == 0
    assert not (folder.path / ".held").exists()


@pytest.mark.long
def test_who_dies_lets_go(tmp_path: Path):
    code = (
        "import os, pathlib; from tfm_lib.engine.run import RunFolder\n"
        f"with RunFolder(pathlib.Path({str(tmp_path)!r})).held(): os._exit(9)"
    )
    assert subprocess.run([sys.executable, "-c", code], env=ENVIRONMENT).returncode == 9
    assert (tmp_path / ".held").exists()
    with RunFolder(tmp_path).held():
        pass


CUTS = {"empty": 0, "a little": 100, "half": 0.5, "nearly whole": -10}


@pytest.mark.long
@pytest.mark.parametrize("cut", params(CUTS, (), rest=("nearly whole",)))
def test_a_cut_checkpoint_gets_a_sentence(ran: Path, cut: str):
    path, size = ran / "checkpoint.pt", CUTS[cut]
    whole = path.read_bytes()
    path.write_bytes(whole[: size if isinstance(size, int) else int(size * len(whole))])
    with pytest.raises(OtherRun, match="checkpoint.pt cannot be read; it is cut or damaged"):
        train_run("copy", tiny(), RunFolder(ran), Silent())


def test_a_cut_record_of_a_run_gets_a_sentence(ran: Path):
    (ran / "run.json").write_text('{"corpus"')
    with pytest.raises(OtherRun, match="run.json, which says what the run is, cannot be read"):
        train_run("copy", tiny(), RunFolder(ran), Silent())


@pytest.mark.release
def test_a_folder_that_cannot_be_written_gets_a_sentence(tmp_path: Path):
    (tmp_path / "file").write_text("a file stands here")
    for folder in (tmp_path / "file", tmp_path / "file" / "run"):
        run = tfm(*TRAIN, "--steps", 2, "--to", folder)
        assert run.returncode == 1 and "Traceback" not in run.stderr
        assert "cannot be written:" in run.stderr.replace("\n", " ")


def test_a_checkpoint_from_before_an_option_goes_on(tmp_path: Path):
    trainer = trainer_of(replace(OPTIONS, steps=4))
    list(trainer.run())
    trainer.save(tmp_path / "checkpoint.pt")
    state = torch.load(tmp_path / "checkpoint.pt", weights_only=True)
    del state["options"]["typed"]
    torch.save(state, tmp_path / "checkpoint.pt")
    again = trainer_of(replace(OPTIONS, steps=4))
    again.resume(tmp_path / "checkpoint.pt")
    assert again.progress.step == 4


@pytest.mark.long
def test_typed_is_learned_anew_in_each_epoch_and_resumed_bit_for_bit(tmp_path: Path):
    pairs = tmp_path / "pairs.tsv"
    pairs.write_text("".join(f"Tom has {n} lamps.\tTom a {n} lampes.\n" for n in range(2, 60)), encoding="utf-8")
    preset = tiny(steps=14, typed=True)
    whole, cut = RunFolder(tmp_path / "whole"), RunFolder(tmp_path / "cut")
    train_run(str(pairs), preset, whole, Silent())
    with pytest.raises(KeyboardInterrupt):
        train_run(str(pairs), preset, cut, Stopping(9), checkpoint_every=4)
    train_run(str(pairs), preset, cut, Silent())
    ends = [torch.load(folder.checkpoint, weights_only=True) for folder in (whole, cut)]
    assert ends[0]["progress"]["epoch"] >= 1 and ends[0]["progress"]["step"] == ends[1]["progress"]["step"] == 14
    assert all(torch.equal(value, ends[1]["model"][name]) for name, value in ends[0]["model"].items())
    assert load_trained(whole.path)[2]["typed"] is True


class Stopping(Silent):
    """Stops a run after some updates, as a crash does: nothing is saved."""

    def __init__(self, after: int):
        super().__init__()
        self.after = after

    def updated(self, record: dict, trainer: Trainer) -> None:
        if record["step"] == self.after:
            raise KeyboardInterrupt


def test_typed_and_subword_dropout_do_not_go_together():
    with pytest.raises(ValueError, match="does not go with typed"):
        TrainOptions(typed=True, subword_dropout=0.1)


@pytest.mark.long
def test_your_own_pairs_train_and_translate(tmp_path: Path):
    (tmp_path / "pairs.tsv").write_text("a b\tx y\nb c\ty z\nc d\tz w\nd a\tw x\n", encoding="utf-8")
    run = tfm("train", "--corpus", "pairs.tsv", "--steps", 3, cwd=tmp_path)
    assert run.returncode == 0, run.stderr
    assert tfm("translate", "--model", tmp_path / "trained/pairs-tiny", "a b").returncode == 0


def test_presets():
    assert {"tiny", "small", "base", "big"} == set(PRESETS)
    assert PRESETS["base"].model.d_model == 512 and PRESETS["base"].options.warmup == 4000
