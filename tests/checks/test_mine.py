"""Your own machine: what passes a check is kept, found by another process, and plugged into the library."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import traceback
from importlib import import_module
from pathlib import Path

import pytest
import torch
from IPython.core.interactiveshell import InteractiveShell
from lib.test_cli import tfm
from tiers import every, params
from typer.testing import CliRunner

from tfm_exercises import mine
from tfm_exercises.judge import find
from tfm_exercises.mine import store
from tfm_exercises.mine.catalogue import PARTS, _each, access
from tfm_exercises.mine.keeping import collected, compiled
from tfm_exercises.mine.plugging import plugged_in
from tfm_lib import cli, decoding, evaluation, layers, masking, multihead, training, transformer
from tfm_lib._refusal import Refusal
from tfm_lib.engine.translator import Translator
from tfm_lib.positional import sinusoidal_encoding

ROOT = Path(__file__).parents[2]
SETUP = (
    "import math\nimport torch\nimport torch.nn.functional as F\nfrom torch import nn\nfrom tfm_exercises import check"
)
TRIANGLE = "def triangle(n):\n    i = torch.arange(n)\n    return i[:, None] >= i\n"


@pytest.fixture(autouse=True)
def place(tmp_path, monkeypatch):
    """An empty folder for the answers."""
    monkeypatch.setenv("TFM_MINE_FOLDER", str(tmp_path / "mine"))
    monkeypatch.delenv("TFM_MINE", raising=False)
    monkeypatch.delenv("TFM_BOOK", raising=False)
    return tmp_path / "mine"


@pytest.fixture
def shell():
    """A notebook's kernel, without its windows: `shell(cell)` gives what the cell's last line is."""
    InteractiveShell.clear_instance()
    kernel = InteractiveShell.instance(history_load_length=0)
    kernel.history_manager.enabled = False

    def run(cell: str):
        done = kernel.run_cell(cell, silent=False)
        done.raise_error()
        return done.result

    run(SETUP)
    yield run
    InteractiveShell.clear_instance()


@pytest.fixture(scope="session")
def shipped():
    return Translator.shipped()


def right(id: str) -> str:
    """A right answer, from the bank of the exercise's chapter."""
    bank = import_module(f"checks.answers.{id.partition('.')[0]}").RIGHT[id]
    return next(text for style, text in bank.items() if "loop" not in style)


def solve(shell, id: str, text: str = ""):
    shell(text or right(id))
    return shell(f'check("{id}", {", ".join(find(id).answers)})')


@pytest.fixture
def solved(shell):
    """Every part of the machine is written."""
    for id in dict.fromkeys(part.exercise for part in PARTS):
        verdict = solve(shell, id)
        assert verdict.passed and verdict.kept.startswith(f"Kept as {access(id)}. ")


# keeping


def test_what_passes_is_kept_and_a_fresh_process_finds_it(shell, place):
    assert solve(shell, "masking.triangle", TRIANGLE).kept.startswith("Kept as mine.causal_mask. 1 of 24 parts")
    verdict = solve(shell, "masking.leak-test")
    assert repr(verdict).endswith('\n  Kept as mine.answer("masking.leak-test").')
    assert "Kept as mine.answer(&quot;masking.leak-test&quot;)." in verdict._repr_html_()
    code = (
        "from tfm_exercises import mine; print(mine.causal_mask(2).tolist(), mine.answer('masking.leak-test').__name__)"
    )
    found = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert found.stdout == "[[True, False], [True, True]] find_leaks\n", found.stderr
    assert sorted(json.loads((place / "mine.json").read_text())["answers"]) == ["masking.leak-test", "masking.triangle"]


def test_a_wrong_answer_is_not_kept(shell, place):
    verdict = solve(shell, "masking.triangle", "def triangle(n):\n    return torch.ones(n, n).bool()")
    assert not verdict.kept.startswith("Kept")
    assert not place.exists()


def test_helpers_imports_and_constants_are_kept_with_it(shell):
    shell(
        "from torch import arange as numbers\nfrom torch.nn import Identity\nimport numpy as np\nSHIFT, NAMES, FAR = 0, ('a', (1.5,)), float('inf')"
    )
    shell("class Rows:\n    def __init__(self, n):\n        self.rows = numbers(n) + SHIFT\n")
    shell("def inner(n):\n    assert len(NAMES) == 2 and n < FAR and np.pi > 3\n    return Identity()(Rows(n).rows)\n")
    shell("def either(function):\n    return function\n")
    verdict = solve(
        shell, "masking.triangle", "@either\ndef triangle(n, get=inner):\n    return get(n)[:, None] >= get(n)"
    )
    assert verdict.kept.startswith("Kept as mine.causal_mask. 1 of 24 parts")
    source = mine.source("causal_mask")
    assert "import numpy as np\nfrom torch import arange as numbers\nfrom torch.nn import Identity\n" in source
    assert "NAMES = ('a', (1.5,),)\n" in source
    assert "functional" not in source  # what the answer does without
    assert mine.causal_mask(3).equal(masking.causal_mask(3))


def test_a_decorated_answer_may_be_used_by_another_one(shell):
    shell("@torch.no_grad()\ndef first(n):\n    return n\n")
    shell("def second(n):\n    return first(n) + 1\n")
    text, names = collected(shell("[first, second]"))
    assert names == ["first", "second"] and text.count("@torch.no_grad()\ndef first") == 1


def test_a_notebook_is_no_module_under_its_second_name_either(shell, place, monkeypatch):
    """Multiprocessing knows the notebook as __mp_main__."""
    monkeypatch.setitem(sys.modules, "__mp_main__", sys.modules["__main__"])
    shell("offsets = [0]")
    verdict = solve(shell, "masking.triangle", TRIANGLE.replace("arange(n)", "arange(n) + offsets[0]"))
    assert "it uses `offsets`, a list of your notebook" in verdict.kept and not place.exists()


def test_a_file_beside_the_notebook_is_not_imported(shell, tmp_path, monkeypatch):
    (tmp_path / "beside.py").write_text("import torch\n\ndef tri(n):\n    return torch.ones(n, n).tril().bool()\n")
    monkeypatch.syspath_prepend(tmp_path)
    shell("import beside")
    verdict = solve(shell, "masking.leak-test", right("masking.leak-test") + "\n\nhere = 1\n")
    assert verdict.kept.startswith("Kept")
    verdict = solve(
        shell, "masking.triangle", "def triangle(n):\n    beside\n    i = torch.arange(n)\n    return i[:, None] >= i"
    )
    assert "it uses `beside`, a file beside your notebook" in verdict.kept


def test_an_answer_cannot_rest_on_itself_but_on_another_part(shell):
    first = solve(shell, "masking.triangle", TRIANGLE)
    assert first.kept.startswith("Kept")
    shell("from tfm_exercises import mine")
    verdict = solve(shell, "masking.triangle", "def triangle(n):\n    return mine.causal_mask(n)")
    assert "by itself, without your notebook, it does not pass" in verdict.kept
    assert "arange" in mine.source("causal_mask")
    assert solve(shell, "attention.all-queries").kept.startswith("Kept")
    shell("look_up = mine.attention")
    heads = "def multi_head(X, W_Q, W_K, W_V, W_O, n_heads):\n    parts = zip(*((X @ W).chunk(n_heads, 1) for W in (W_Q, W_K, W_V)))\n"
    text = f"{heads}    return torch.cat([look_up(*part)[0] for part in parts], 1) @ W_O"
    assert solve(shell, "multihead.from-matrices", text).kept.startswith("Kept")
    assert "from tfm_exercises.mine import attention as look_up\n" in mine.source("multi_head")
    X = torch.randn(3, 4)
    assert mine.multi_head(X, *torch.randn(4, 4, 4), 2).shape == (3, 4)


def test_inside_a_block_nothing_is_kept_or_compared(shell):
    solve(shell, "masking.triangle", TRIANGLE)
    with mine.plugged_in():
        verdict = shell('check("masking.triangle", triangle)')
        with pytest.raises(RuntimeError, match="both are yours"):
            mine.translate("I saw a black cat.")
    assert "inside mine.plugged_in()" in verdict.kept


@pytest.mark.parametrize("empty", ["", " \n"])
def test_nothing_to_translate_is_told(empty):
    with pytest.raises(ValueError, match="sentence must hold something to translate; got"):
        mine.translate(empty)


def test_an_answer_that_ends_the_program_ends_nothing(shell):
    text = "def layer_norm(X, gain, bias, eps):\n    import sys; sys.exit(1)"
    assert solve(shell, "layers.layer-norm", text).status == "refused"
    compared = mine.translate("I saw a black cat.", instead={"layer_norm": lambda *given: sys.exit(1)})
    assert compared.yours is None and "SystemExit" in repr(compared)


def test_a_part_that_writes_into_the_weights_spoils_nothing():
    def spoils(X, gain, bias, eps=1e-5):
        gain.data.mul_(0.5)
        return torch.nn.functional.layer_norm(X, X.shape[-1:], gain, bias, eps)

    first = mine.translate("I saw a black cat.", instead={"layer_norm": spoils})
    assert first.library == "J'ai vu un chat noir." and not first.equal
    assert mine.translate("I saw a black cat.", instead={"causal_mask": masking.causal_mask}).equal


def test_arrays_and_double_numbers_are_taken_as_the_library_s(small):
    def table(n, d_model):
        return sinusoidal_encoding(n, d_model).double().numpy()

    def softmax(scores, mask=None):
        return masking.masked_softmax(scores, mask).double()

    ids = torch.tensor([[3, 4, 5]])
    want = small(ids, ids)
    with mine.plugged_in(instead={"sinusoidal_encoding": table}):
        torch.testing.assert_close(small(ids, ids), want)


@pytest.mark.parametrize(
    "text", ["[" * 100_000, '{"version": 1, "answers": {"a\\u001b": {"source": "", "names": ["a"]}}}']
)
def test_a_file_that_cannot_be_shown_or_read_is_damaged(place, text):
    assert store.parsed(text) is None


def test_an_answer_without_a_day_is_listed(place):
    place.mkdir(parents=True)
    entry = {"source": TRIANGLE, "names": ["triangle"]}
    (place / "mine.json").write_text(json.dumps({"version": 1, "answers": {"masking.triangle": entry}}))
    assert "written on an unknown day" in repr(mine.parts())


def test_a_lambda_with_a_name_is_kept(shell):
    text = "triangle = lambda n: torch.arange(n)[:, None] >= torch.arange(n)"
    assert solve(shell, "masking.triangle", text).kept.startswith("Kept as mine.causal_mask. 1 of 24 parts")
    assert mine.source("causal_mask").endswith(f"{text}\n")


@pytest.mark.parametrize(
    ("before", "text", "said"),
    [
        (
            "table = torch.arange(99)",
            "return table[:n, None] >= table[:n]",
            "it uses `table`, a tensor of your notebook.",
        ),
        ("class A: pass\na = A()", "a\n    return torch.arange(n)[:, None] >= torch.arange(n)", "it uses `a`, an a of"),
        (
            "import functools\nf = functools.partial(torch.arange)",
            "return f(n)[:, None] >= f(n)",
            "it uses `f`, a partial",
        ),
        (
            "calls = [1]",
            "calls[0]\n    return torch.arange(n)[:, None] >= torch.arange(n)",
            "it uses `calls`, a list of",
        ),
    ],
)
def test_what_cannot_be_kept_is_named_and_nothing_is_stored(shell, place, before, text, said):
    shell(before)
    verdict = solve(shell, "masking.triangle", f"def triangle(n):\n    {text}")
    assert verdict.passed and verdict.kept.startswith(f"This answer is not kept: {said}")
    assert verdict.kept.endswith("inside the function, then check again.")
    assert not place.exists()


def test_answers_without_a_definition_of_their_own_are_not_kept(shell, place):
    shell(
        "def make():\n    at = torch.arange\n    def triangle(n):\n        return at(n)[:, None] >= at(n)\n    return triangle"
    )
    assert "is defined inside another function" in solve(shell, "masking.triangle", "triangle = make()").kept
    nameless = shell('check("masking.triangle", lambda n: torch.arange(n)[:, None] >= torch.arange(n))')
    assert nameless.kept.startswith("This answer is not kept: a lambda has no name")
    assert not place.exists()


def test_an_answer_that_needs_its_notebook_is_not_kept(shell, place):
    text = "def triangle(n):\n    return triangle.at(n)[:, None] >= triangle.at(n)\n\ntriangle.at = torch.arange"
    verdict = solve(shell, "masking.triangle", text)
    assert verdict.passed
    assert verdict.kept.startswith("This answer is not kept: by itself, without your notebook, it does not pass. ")
    assert not place.exists()


def test_a_dataclass_is_kept(shell):
    shell("from dataclasses import dataclass")
    shell("@dataclass\nclass Size:\n    n: int\n\n    def rows(self):\n        return torch.arange(self.n)\n")
    text = "def triangle(n):\n    return Size(n).rows()[:, None] >= Size(n).rows()"
    assert solve(shell, "masking.triangle", text).kept.startswith("Kept as mine.causal_mask. 1 of 24 parts")


@pytest.mark.parametrize(
    ("before", "text"),
    [
        (
            "@dataclass\nclass Size:\n    n: int",
            "def triangle(n):\n    i = torch.arange(Size(n).n)\n    return i[:, None] >= i",
        ),
        (
            "class Size(NamedTuple):\n    n: int",
            "def triangle(n):\n    i = torch.arange(Size(n).n)\n    return i[:, None] >= i",
        ),
        ("count: Callable = lambda n: torch.arange(n)", "def triangle(n):\n    return count(n)[:, None] >= count(n)"),
    ],
)
def test_classes_without_methods_and_annotated_lambdas_are_kept(shell, before, text):
    shell("from collections.abc import Callable\nfrom dataclasses import dataclass\nfrom typing import NamedTuple")
    shell(before.replace("n: int", "other: int"))  # an earlier cell, corrected since
    shell(before)
    assert solve(shell, "masking.triangle", text).kept.startswith("Kept as mine.causal_mask. 1 of 24 parts")


def test_nothing_is_kept_where_the_reader_or_the_book_says_so(shell, place, monkeypatch):
    for name, value in (("TFM_BOOK", "1"), ("TFM_MINE", "off")):
        with monkeypatch.context() as patch:
            patch.setenv(name, value)
            assert solve(shell, "masking.triangle", TRIANGLE).kept == ""
    with monkeypatch.context() as patch:
        patch.delenv("TFM_MINE_FOLDER")
        patch.setenv("XDG_DATA_HOME", str(place))
        assert solve(shell, "masking.triangle", TRIANGLE).kept == ""
    assert not place.exists()
    mine.keep(False)
    assert solve(shell, "masking.triangle", TRIANGLE).kept == "" and store.read()["answers"] == {}
    mine.keep()
    assert solve(shell, "masking.triangle", TRIANGLE).kept


def test_without_a_notebook_nothing_is_kept(place):
    InteractiveShell.clear_instance()
    from tfm_exercises import check

    assert check("masking.triangle", lambda n: masking.causal_mask(n)).kept == "" and not place.exists()


def test_a_damaged_file_is_put_aside_and_said(shell, place):
    place.mkdir()
    (place / "mine.json").write_text('{"version": 1, "answers": {"masking')
    with pytest.raises(store.NotKept, match="is damaged"):
        mine.parts()
    verdict = solve(shell, "masking.triangle", TRIANGLE)
    assert "draws it. The file of your answers was damaged." in verdict.kept
    assert (place / "mine.damaged-1.json").read_text().endswith("masking")
    assert mine.causal_mask(1).tolist() == [[True]]
    (place / "mine.json").write_text("a second")
    solve(shell, "masking.triangle", TRIANGLE)
    assert [path.read_text()[-7:] for path in sorted(place.glob("mine.damaged-*"))] == ["masking", " second"]


def test_a_file_of_a_newer_version_is_left_alone(shell, place):
    place.mkdir()
    (place / "mine.json").write_text(newer := '{"version": 2, "answers": []}')
    verdict = solve(shell, "masking.triangle", TRIANGLE)
    assert verdict.passed and "newer version" in verdict.kept
    assert (place / "mine.json").read_text() == newer


def test_a_folder_that_cannot_be_written_costs_a_sentence(shell, place):
    place.write_text("a file")
    verdict = solve(shell, "masking.triangle", TRIANGLE)
    assert verdict.passed and verdict.kept.startswith("This answer is not kept: ")
    with pytest.raises(store.NotKept, match="cannot be written: "):
        mine.keep(False)


def test_without_locks_no_two_kernels_write_into_one_file(shell, place, monkeypatch):
    written = []
    replace = os.replace
    monkeypatch.setattr(store, "fcntl", None)
    monkeypatch.setattr(os, "replace", lambda made, to: (written.append(Path(made).name), replace(made, to)))
    assert solve(shell, "masking.triangle", TRIANGLE).kept.startswith("Kept as mine.causal_mask.")
    assert written == [f"mine.json.{os.getpid()}"] and not (place / written[0]).exists()


def test_a_linked_file_stays_a_link_and_a_killed_writing_leaves_nothing(shell, place, tmp_path):
    elsewhere = tmp_path / "elsewhere.json"
    elsewhere.write_text('{"version": 1, "answers": {}}')
    place.mkdir()
    (place / "mine.json").symlink_to(elsewhere)
    (tmp_path / "elsewhere.json.new").write_text('{"version": 1, "ans')  # half of a writing that was killed
    solve(shell, "masking.triangle", TRIANGLE)
    assert (place / "mine.json").is_symlink() and "masking.triangle" in json.loads(elsewhere.read_text())["answers"]
    assert sorted(path.name for path in tmp_path.glob("elsewhere*")) == ["elsewhere.json"]


@pytest.mark.parametrize(
    ("platform", "variable", "path"),
    [
        ("linux", "XDG_DATA_HOME", "tfm"),
        ("win32", "LOCALAPPDATA", "tfm"),
        ("darwin", "HOME", "Library/Application Support/tfm"),
    ],
)
def test_answers_lie_in_the_usual_place_of_the_system(tmp_path, monkeypatch, platform, variable, path):
    monkeypatch.delenv("TFM_MINE_FOLDER")
    monkeypatch.setenv(variable, str(tmp_path))
    monkeypatch.setattr(sys, "platform", platform)
    assert store.folder() == tmp_path / path


def test_two_processes_that_keep_at_once_lose_nothing(place):
    code = (
        "import sys; from tfm_exercises.mine import store\n"
        "for i in range(40): store.change(lambda s: s['answers'].update({f'{sys.argv[1]}.{i}': store.entry('x = 1', ['x'])}))"
    )
    both = [subprocess.Popen([sys.executable, "-c", code, name], cwd=ROOT, env={**os.environ}) for name in "ab"]
    assert [run.wait(timeout=60) for run in both] == [0, 0]
    assert len(store.read()["answers"]) == 80
    assert sorted(path.name for path in place.iterdir()) == ["mine.json", "mine.lock"]


# reading


def test_a_missing_part_names_its_exercise(shell):
    with pytest.raises(AttributeError, match=r"The exercise layers\.layer-norm in the chapter layers writes it"):
        mine.layer_norm  # noqa: B018 (reading it raises)
    with pytest.raises(AttributeError, match="nothing called 'layernorm'. The parts are embed, "):
        mine.layernorm  # noqa: B018 (reading it raises)
    solve(shell, "masking.triangle", TRIANGLE)
    table = mine.parts()
    assert repr(table).startswith("You have written 1 of the 24 parts of the machine.")
    assert "missing: exercise layers.layer-norm in the chapter layers" in table._repr_html_()
    assert mine.forget("causal_mask") == "masking.triangle"
    with pytest.raises(KeyError, match="No answer to 'masking.triangle' is kept"):
        mine.source("causal_mask")


def test_a_traceback_shows_the_line(shell):
    solve(shell, "masking.triangle", TRIANGLE)
    with pytest.raises(TypeError) as caught:
        mine.causal_mask("three")
    assert "    i = torch.arange(n)\n" in "".join(traceback.format_exception(caught.value))


# plugging

HOLDERS = [
    (module, name)
    for module, names in (
        (masking, ["causal_mask"]),
        (multihead, ["attention", "split_heads", "merge_heads"]),
        (transformer, ["causal_mask"]),
        (training, ["label_smoothed_loss", "warmup_lr", "paper_optimiser", "train"]),
        (decoding, ["greedy_decode"]),
        (import_module("tfm_lib.engine.translator"), ["greedy_decode"]),
        (evaluation, ["bleu"]),
        (layers.LayerNorm, ["forward"]),
        (layers.FeedForward, ["forward"]),
        (layers.EncoderLayer, ["forward"]),
        (layers.DecoderLayer, ["forward"]),
        (multihead.MultiHeadAttention, ["attend", "forward"]),
        (transformer.Embedding, ["forward", "unembed"]),
        (transformer.Transformer, ["decode", "forward"]),
        (decoding.Beam, ["advance", "found"]),
    )
    for name in names
]


def held() -> list:
    return [vars(holder)[name] for holder, name in HOLDERS]


def losses() -> list[float]:
    """Of three updates of a small model, with dropout, under the paper's schedule."""
    torch.manual_seed(0)
    config = transformer.TransformerConfig(9, d_model=8, n_heads=2, d_ff=8, n_layers=1, dropout=0.3, norm="pre")
    batch = training.Batch.of([training.Example([3, 4, 5], [6, 7])] * 2)
    model = transformer.Transformer(config)
    return [step.loss for step in training.train(model, [batch] * 3, lambda step: training.warmup_lr(step, 8, 4))]


def test_every_part_is_called_and_the_translation_stays(solved, shipped):
    before, sentence = held(), ["I saw a black cat."]
    want = shipped.translate(sentence)
    X, targets = torch.randn(2, 3, 5), torch.randint(1, 5, (2, 3))
    loss = training.label_smoothed_loss(X, targets, 0.1)
    bleu, trained = evaluation.bleu(["a b c d e f"], ["a b c d e g"]), losses()
    with mine.plugged_in() as plugged:
        assert not any(new is old for new, old in zip(held(), before))
        assert shipped.translate(sentence) == shipped.translate(sentence, beam=1) == want
        with torch.no_grad():
            shipped.model(shipped.ids("A cat."), torch.tensor([[1, 5]]))
        assert training.label_smoothed_loss(X, targets, 0.1).allclose(loss)
        assert evaluation.bleu(["a b c d e f"], ["a b c d e g"]).score == pytest.approx(bleu.score)
        assert evaluation.bleu(["a b"], ["c d"]).score == 0
        assert losses() == pytest.approx(trained, rel=1e-3)
    assert set(plugged.calls) == {part.name for part in PARTS} and all(plugged.calls.values())
    assert all(new is old for new, old in zip(held(), before))


def test_all_is_restored_after_an_error_and_within_another_block(solved):
    before = held()
    with mine.plugged_in():
        inside = held()
        with mine.plugged_in("causal_mask") as inner:
            assert masking.causal_mask(2).tolist() == [[True, False], [True, True]] and inner.calls["causal_mask"] == 1
        assert all(new is old for new, old in zip(held(), inside))
    with pytest.raises(ZeroDivisionError), mine.plugged_in():
        1 / 0  # noqa: B018 (it raises)
    assert all(new is old for new, old in zip(held(), before))


def test_a_module_imported_inside_the_block_is_restored_too():
    code = (
        "from tfm_exercises import mine\n"
        "from tfm_lib.masking import causal_mask\n"
        "with mine.plugged_in(instead={'causal_mask': lambda n: 'mine'}):\n"
        "    import tfm_lib.families.parts as late\n"
        "    print(late.causal_mask(3))\n"
        "print(late.causal_mask is causal_mask)\n"
    )
    run = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert run.stdout == "mine\nTrue\n", run.stderr


def test_only_the_named_parts_are_plugged_in(shell):
    solve(shell, "masking.triangle", TRIANGLE)
    solve(shell, "layers.layer-norm")
    with mine.plugged_in("layer_norm", instead={"causal_mask": lambda n: masking.causal_mask(n)}) as plugged:
        masking.causal_mask(2)  # a function that calls the part that it replaces
    assert plugged.calls == {"layer_norm": 0, "causal_mask": 1}
    with pytest.raises(KeyError, match="No part is called 'norm'"), mine.plugged_in("norm"):
        pass
    with pytest.raises(AttributeError, match="split_heads is not written yet"), mine.plugged_in("split_heads"):
        pass


MACHINE = """
def transformer(src_ids, tgt_ids, embed, encoder, decoder, unembed):
    X, Y, mask = embed(src_ids), embed(tgt_ids), padding_mask(src_ids, 0)
    for layer in encoder:
        X = layer(X, mask)
    for layer in decoder:
        Y = layer(Y, X, causal_mask(tgt_ids.shape[1]), mask)
    return unembed(Y)
"""


def test_a_part_runs_on_the_readers_other_parts(shell):
    """The whole machine imports the library's mask, and is given the reader's."""
    solve(shell, "masking.triangle", TRIANGLE)
    shell("from tfm_lib.masking import causal_mask, padding_mask")
    solve(shell, "transformer.machine", MACHINE)
    config = transformer.TransformerConfig(9, d_model=8, n_heads=2, d_ff=8, n_layers=1)
    model, ids = transformer.Transformer(config), torch.tensor([[3, 4]])
    with mine.plugged_in() as plugged:
        model(ids, ids)
    assert plugged.calls["transformer"] == 1 and plugged.calls["causal_mask"] > 0


@pytest.fixture(scope="module")
def small():
    """A small model whose weights are large enough to make it write different words."""
    torch.manual_seed(0)
    config = transformer.TransformerConfig(9, d_model=8, n_heads=2, d_ff=8, n_layers=1, dropout=0.0, norm="pre")
    model = transformer.Transformer(config).eval()
    for weight in model.parameters():
        weight.data.mul_(2)
    return model


def updated() -> list[torch.Tensor]:
    """What two updates make of a linear map, at the rates of the schedule."""
    linear = torch.nn.Linear(2, 2)
    optimiser = training.paper_optimiser(linear)
    for parameter in linear.parameters():
        torch.nn.init.ones_(parameter)
    for step in (1, 2):
        for number, parameter in enumerate(linear.parameters(), start=1):
            parameter.grad = torch.arange(1.0, 1 + parameter.numel()).view(parameter.shape) * number - 1.5 * step
        optimiser.param_groups[0]["lr"] = training.warmup_lr(step, 8, 4)
        optimiser.step()
    return [parameter.detach() for parameter in linear.parameters()]


def computed(model) -> list:
    """What the library computes with every part of the machine."""
    src, tgt = torch.tensor([[3, 4, 5, 2], [6, 2, 0, 0]]), torch.tensor([[1, 5, 7], [1, 8, 0]])
    with torch.no_grad():
        logits, unpadded = model(src, tgt), model(src[:1], tgt[:1])
        found = decoding.beam_search(model, src, 1, 2, beam=3, max_len=6)
    return [
        logits[0],
        logits[1, :2],
        unpadded,
        training.label_smoothed_loss(logits, tgt, 0.1),
        decoding.greedy_decode(model, src, 1, 2, max_len=6).double(),
        *(torch.tensor([best.score, *best.ids]) for best in (paths[0] for paths in found)),
        torch.tensor(evaluation.bleu(["a b c d e f", "a a b c d"], ["a b c d e g", "a b c d"]).score),
        *updated(),
    ]


EXERCISES = [*dict.fromkeys(part.exercise for part in PARTS)]


@pytest.mark.parametrize("exercise", params(EXERCISES, every(4, EXERCISES)))
def test_right_answers_of_any_style_fit_into_the_library(small, exercise):
    """Those of tests/checks/answers, from loops to other libraries; the loop of training runs for its own part only, because no
    gradient passes through an answer in numpy.
    """

    def results() -> list:
        return [torch.tensor(losses())] if exercise == "training.train-step" else computed(small)

    want = results()
    parts = [part for part in PARTS if part.exercise == exercise]
    for style, text in import_module(f"checks.answers.{parts[0].chapter}").RIGHT[exercise].items():
        answers = compiled(exercise, f"{SETUP}\nimport numpy as np\n{text}", find(exercise).answers)
        with mine.plugged_in(instead={part.name: answers[part.index] for part in parts}) as plugged:
            got = results()
        assert all(plugged.calls.values()), style
        for ours, theirs in zip(got, want, strict=True):
            torch.testing.assert_close(ours.double(), theirs.double(), rtol=1e-4, atol=1e-4, msg=style)


def test_code_that_picks_words_by_a_mask_runs_once_for_sentences_of_the_same_length():
    calls = []

    def picked(H, is_word):
        calls.append(1)
        return H[is_word].sum(dim=0)

    H, is_word = torch.randn(6, 4, 3), torch.arange(4) < torch.tensor([4, 2, 4, 3, 2, 4])[:, None]
    got = _each(picked, H, is_word)
    torch.testing.assert_close(got, (H * is_word[..., None]).sum(dim=1))
    assert len(calls) <= 1 + 3  # one that fails, one for each length


@pytest.mark.parametrize("exercise", ["layers.encoder-layer", "layers.decoder-layer"])
def test_layers_whose_order_an_answer_does_not_know_stay_the_library_s(exercise):
    """The decoder layer of the exercise is pre-norm; the encoder layer has both orders."""
    config = transformer.TransformerConfig(9, d_model=8, n_heads=2, d_ff=8, n_layers=2, dropout=0.0)
    model, part = transformer.Transformer(config).eval(), next(part for part in PARTS if part.exercise == exercise)
    (answer,) = compiled(exercise, f"{SETUP}\n{right(exercise)}", find(exercise).answers)
    want, weights = computed(model), model.all_weights(torch.tensor([[3, 4]]), torch.tensor([[1, 5]]))
    with plugged_in(instead={part.name: answer}) as plugged:
        got = [*computed(model), *model.all_weights(torch.tensor([[3, 4]]), torch.tensor([[1, 5]])).values()]
    assert bool(plugged.calls[part.name]) == (part.name == "encoder_layer")
    for ours, theirs in zip(got, [*want, *weights.values()], strict=True):
        torch.testing.assert_close(ours.double(), theirs.double(), rtol=1e-4, atol=1e-4)


def test_an_optimiser_with_the_reader_s_step_goes_on_from_pytorch_s():
    """Its means have the same names, so that a training that was interrupted can go on."""

    def adam_step(p, g, m, s, t, lr):
        seen.append((m.clone(), s.clone(), t))
        return p - lr * g, m, s

    linear, seen = torch.nn.Linear(1, 1, bias=False), []
    theirs = training.paper_optimiser(linear)
    linear.weight.grad = torch.tensor([[2.0]])
    theirs.step()
    with plugged_in(instead={"adam_step": adam_step}):
        ours = training.paper_optimiser(linear)
    ours.load_state_dict(theirs.state_dict())
    ours.step()
    ((m, s, t),) = seen
    assert (m.item(), s.item(), t) == (pytest.approx(0.2), pytest.approx(0.08), 2)


def test_the_decoder_mask_hides_padding_of_whole_targets():
    config = transformer.TransformerConfig(9, d_model=8, n_heads=2, d_ff=8, n_layers=1, dropout=0.0)
    model, seen = transformer.Transformer(config).eval(), []

    def decoder_mask(ids, pad_id):
        seen.append((ids.tolist(), pad_id))
        return masking.combine(masking.causal_mask(ids.shape[1]), masking.padding_mask(ids, pad_id))

    src, tgt = torch.tensor([[3, 4]]), torch.tensor([[1, 5, 0]])
    want = model(src, tgt)
    with plugged_in(instead={"decoder_mask": decoder_mask}):
        got = model(src, tgt)
    assert seen == [([[1, 5, 0]], 0)] and got[:, :2].allclose(want[:, :2], atol=1e-5)


# finding the part that differs


def no_mask(scores, mask):
    return scores.softmax(-1)


def no_mean(X, gain, bias, eps):
    return X / (X.var(-1, keepdim=True, correction=0) + eps).sqrt() * gain + bias


def reversed_beam(totals, log_p, width):
    ways = (totals[:, None] + log_p).flatten()
    best, index = (-ways).topk(width)
    return -best, index // log_p.shape[1], index % log_p.shape[1]


def no_bend(X, W_1, b_1, W_2, b_2):
    return (X @ W_1 + b_1) @ W_2 + b_2


def always_post(X, self_attend, feed_forward, norms, order):
    Y = norms[0](X + self_attend(X, X, X))
    return norms[1](Y + feed_forward(Y))


def deaf_decoder(Y, memory, self_attend, cross_attend, feed_forward, norms):
    Z = norms[0](Y)
    Y = Y + self_attend(Z, Z, Z)
    return Y + feed_forward(norms[2](Y))


def one_wide_head(X, W_Q, W_K, W_V, W_O, n_heads):
    return (X @ W_Q @ (X @ W_K).T / X.shape[1] ** 0.5).softmax(-1) @ X @ W_V @ W_O


def unscaled(Z, H, W_Q, W_K, W_V, is_word):
    return (Z @ W_Q @ (H @ W_K).T).masked_fill(~is_word, -torch.inf).softmax(-1) @ H @ W_V


def seeing_ahead(src_ids, tgt_ids, embed, encoder, decoder, unembed):
    mask, X, Y = masking.padding_mask(src_ids, 0), embed(src_ids), embed(tgt_ids)
    for layer in encoder:
        X = layer(X, mask)
    for layer in decoder:
        Y = layer(Y, X, torch.ones(tgt_ids.shape[1], tgt_ids.shape[1]).bool(), mask)
    return unembed(Y)


BROKEN = {
    "masked_softmax": (no_mask, "that of self_attention in layer 1 of the decoder", "Hidden keys get as much weight"),
    "layer_norm": (no_mean, "norm in layer 1 of the encoder", "the mean is still there"),
    "feed_forward": (no_bend, "that of feed_forward in layer 1 of the encoder", "they are one linear map"),
    "encoder_layer": (always_post, "that of residuals.0.norm in layer 1 of the encoder", "your layer is post-norm too"),
    "decoder_layer": (deaf_decoder, "layer 1 of the decoder", "Cross-attention is missing"),
    "multi_head": (one_wide_head, "that of self_attention in layer 1 of the encoder", "Its check, multihead"),
    "cross_attention": (unscaled, "that of cross_attention in layer 1 of the decoder", "Its check, transformer"),
    "transformer": (seeing_ahead, "that of self_attention in layer 1 of the decoder", "Its check, transformer"),
    "beam_step": (reversed_beam, "with this part alone the machine writes", "Its check, decoding.beam-step, says: "),
    "split_heads": (lambda X, n_heads: X, "stops with ", ""),
}


@pytest.mark.parametrize("name", params(BROKEN, every(5, BROKEN)))
def test_a_broken_part_is_named(shell, shipped, name):
    solve(shell, "masking.triangle", TRIANGLE)
    function, place, reason = BROKEN[name]
    found = mine.translate("I saw a black cat.", "causal_mask", instead={name: function}, translator=shipped)
    assert not found and [cause.part for cause in found.causes] == [name]
    assert place in found.causes[0].differs and reason in found.causes[0].reason
    assert found.calls[name] > 0 and f"{name}: " in repr(found) and f"{name}: " in found._repr_html_()


BLIND = {
    "masked_softmax": lambda scores, mask: scores.masked_fill(~mask, -torch.inf).softmax(-1).detach(),
    "layer_norm": lambda X, gain, bias, eps: torch.nn.functional.layer_norm(X, X.shape[-1:], gain.data, bias, eps),
    "feed_forward": lambda X, W_1, b_1, W_2, b_2: ((X @ W_1 + b_1).relu() @ W_2 + b_2).numpy(force=True),
}


@pytest.mark.parametrize("name", BLIND)
def test_a_part_that_translates_and_would_not_learn_is_named(shipped, name):
    found = mine.translate("I saw a black cat.", instead={name: BLIND[name]}, translator=shipped)
    assert not found and found.library == found.yours and [cause.part for cause in found.causes] == [name]
    assert "no gradient reaches" in found.causes[0].differs and "inside the machine" in repr(found)
    assert all(not weight.requires_grad or weight.grad is None for weight in shipped.model.parameters())


def test_a_part_without_a_backward_pass_is_named(shipped):
    def in_place(X, gain, bias, eps):
        mean = X.mean(-1, keepdim=True)
        spread = (X.var(-1, keepdim=True, correction=0) + eps).sqrt()
        Y = (X - mean) / spread
        spread += 0.0  # the backward pass needs it as it was
        return Y * gain + bias

    found = mine.translate("I saw a black cat.", instead={"layer_norm": in_place}, translator=shipped)
    assert not found and "the backward pass stops with RuntimeError" in found.causes[0].differs


def test_right_parts_translate_as_the_library_does(shell, shipped):
    solve(shell, "masking.triangle", TRIANGLE)
    solve(shell, "layers.layer-norm")
    found = mine.translate("I saw a black cat.", translator=shipped)
    assert found and found.library == found.yours and found.calls["layer_norm"] > 0
    assert "The two translations are equal" in repr(found)


# the command


def said(*arguments: str) -> tuple[int, str]:
    """The exit status of `tfm mine …` and what it says; a refusal is told by `tfm` as any other."""
    run = CliRunner().invoke(cli.app, ["mine", *arguments])
    return run.exit_code, run.stdout + (str(run.exception) if isinstance(run.exception, Refusal) else "")


def test_the_command_lists_shows_and_forgets(shell):
    assert "causal_mask          hides the future; missing: exercise masking.triangle" in said()[1]
    solve(shell, "masking.triangle", TRIANGLE)
    assert said() == said("list") and "✓ causal_mask " in said()[1]
    assert said("show", "causal_mask") == (0, f"import torch\n\n\n{TRIANGLE}")
    assert said("show", "layer_norm") == (1, "No answer to 'layers.layer-norm' is kept. Kept are: masking.triangle.")
    assert said("off")[0] == 0 and "tfm mine on" in said()[1]
    assert said("on")[0] == 0 and "tfm mine on" not in said()[1]
    assert said("forget", "causal_mask") == (0, "The answer to masking.triangle is forgotten.\n")
    assert said("show")[0] == said("throw")[0] == 2
    refused = tfm("mine", "forget", "causal_mask")
    assert (refused.returncode, refused.stderr.count("\n")) == (1, 1)


def test_answers_travel_and_are_checked_on_arrival(shell, place, tmp_path, monkeypatch):
    solve(shell, "masking.triangle", TRIANGLE)
    file, elsewhere = tmp_path / "answers.json", tmp_path / "elsewhere"
    assert said("export", str(file)) == (0, f"{file} holds your answers to masking.triangle.\n")
    assert "is there already" in said("export", str(file))[1]
    travelling = json.loads(file.read_text())
    travelling["answers"]["masking.band"] = store.entry("def no(n):\n    return n\n", ["no"])
    travelling["answers"]["layers.layer-norm"] = store.entry("def norm(X, gain, bias, eps):\n    return X\n", ["norm"])
    file.write_text(json.dumps(travelling))
    monkeypatch.setenv("TFM_MINE_FOLDER", str(elsewhere))
    status, words = said("import", str(file))
    assert status == 1 and "masking.triangle: is new" in words and "--yes" in words and not elsewhere.exists()
    status, words = said("import", str(file), "--yes")
    assert status == 0 and "1 of 3 answers are taken in." in words
    assert list(store.read()["answers"]) == ["masking.triangle"]
    file.write_text("[]")
    assert "does not hold answers" in said("import", str(file))[1]
