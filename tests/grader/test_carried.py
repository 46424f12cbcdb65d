"""A trained machine handed in with a notebook: carried in an output, read as data, tried by hidden tests.

The right machine is tests/grader/assignments/reverse.safetensors; the others are made of it here. It was made, in 20 seconds,
by

    train = {"d_model": 16, "d_ff": 32, "n_heads": 1, "rate": 0.008, "seed": 0, "updates": 1500}
    experiments.playground.ran([{"train": train, "every": 500, "look": "stressed", "save": "large.safetensors"}], folder)
    with safetensors.safe_open("large.safetensors", "pt") as file:
        tensors, head = {name: file.get_tensor(name).half() for name in file.keys()}, file.metadata()
    safetensors.torch.save_file(tensors, "reverse.safetensors", head)
"""

import base64
import hashlib
import json
import sys
import time
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from itertools import combinations
from pathlib import Path

import msgspec
import nbformat
import pytest
import torch
from IPython.core.interactiveshell import InteractiveShell
from IPython.utils.capture import capture_output
from project import ROOT
from safetensors.torch import save
from traitlets.config import Config

from grader.test_classroom import PRIVATE, cells, refusal, tfm
from tfm_exercises import hand_in
from tfm_exercises.carried import (
    MAX_BYTES,
    MIME,
    BadWeights,
    Weights,
    carried_in,
    output,
    read_weights,
    unpacked,
)
from tfm_exercises.judge import _exercises
from tfm_exercises.machines import LARGEST, spelt, transformer
from tfm_grader.assignment.bundle import read_bundle, tasks
from tfm_grader.judging.pool import JudgeProcess
from tfm_grader.judging.submission import _mixed
from tfm_grader.records import Begin, Job, Submission
from tfm_grader.reports.own_code import Own
from tfm_lib.corpora.words import uniform, unseen, word
from tfm_lib.transformer import Transformer, TransformerConfig

FILE = PRIVATE / "reverse.safetensors"
RIGHT = read_weights(FILE.read_bytes(), "reverse")
ID = "playground.smallest"
NEARLY, SOMEWHAT = 0.01, 0.017  # noise after which 96 % and 75 % of the words are right


def made_of(tensors: dict[str, torch.Tensor] | None = None, **head: str) -> Weights:
    """The right machine with other tensors or another head."""
    tensors = {name: value.half() for name, value in (tensors or RIGHT.tensors).items()}
    return read_weights(save(tensors, {**RIGHT.head, **head}), "reverse")


def with_sizes(**sizes: object) -> str:
    return json.dumps({**json.loads(RIGHT.head["model"]), **sizes})


def shaken(size: float) -> Weights:
    """The right machine with noise on its weights: it has learned less."""
    generator = torch.Generator().manual_seed(0)
    return made_of({name: v + size * torch.randn(v.shape, generator=generator) for name, v in RIGHT.tensors.items()})


def widened() -> Weights:
    """The same function of more parameters: hidden units that nothing reads."""
    tensors = {}
    for name, value in RIGHT.tensors.items():
        if "feed_forward.W_1" in name:
            value = torch.cat([value, torch.zeros_like(value)])
        elif name.endswith("feed_forward.W_2.weight"):
            value = torch.cat([value, torch.zeros_like(value)], dim=1)
        tensors[name] = value
    return made_of(tensors, model=with_sizes(d_ff=64))


def untrained() -> Weights:
    with torch.random.fork_rng():
        torch.manual_seed(0)
        return made_of(Transformer(TransformerConfig(**json.loads(RIGHT.head["model"]), dropout=0.0)).state_dict())


@pytest.fixture(scope="module")
def course(tmp_path_factory) -> Path:
    """The assignment, tried on its own solution before it is released."""
    here = tmp_path_factory.mktemp("machines")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(ROOT)
        tfm("assign", "playground", "--private", PRIVATE, "--seed", "spring", "--to", here)
    return here


@pytest.fixture(scope="module")
def judge(course) -> Iterator[JudgeProcess]:
    bundle = read_bundle(course / "bundle")
    with closing(JudgeProcess(Begin(manifest=bundle.manifest, tests=bundle.tests))) as process:
        yield process


def notebook(course: Path, data: dict | None, code: str = 'reverse = hand_in("reverse.safetensors", name="reverse")'):
    """The student's notebook with an output of this content, as Jupyter saves it."""
    made = nbformat.read(course / "student" / "playground.ipynb", 4)
    (cell,) = (cell for cell in made.cells if cell.metadata.get("tfm", {}).get("exercise") == ID)
    if data is not None:
        cell.source, cell.outputs = code, [nbformat.v4.new_output("display_data", data=data)]
    nbformat.validate(made)
    return nbformat.writes(made).encode()


def row(judge: JudgeProcess, data: bytes) -> dict:
    result = msgspec.to_builtins(judge.judge(Job(student="someone", stem="playground", ids=[ID], data=data)))
    return result["exercises"][ID]


def told(row: dict) -> set[str]:
    return {test["message"] for test in row["tests"] if test["message"]}


def shown_by(call) -> dict:
    """What the output of a cell with this call holds."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, "__main__", sys.modules["__main__"])  # a shell puts its own there
        InteractiveShell.instance(config=Config(HistoryManager={"enabled": False}))
        try:
            with capture_output() as seen:
                call()
        finally:
            InteractiveShell.clear_instance()
    (display,) = seen.outputs
    return display.data


# from the notebook to the grade


def test_a_machine_travels_in_the_notebook_and_earns_what_it_deserves(course, tmp_path, monkeypatch):
    monkeypatch.chdir(ROOT)
    data = shown_by(lambda: hand_in(FILE, name="reverse"))
    assert "5,824 parameters, 16 KB, checksum" in data["text/plain"] and "do not clear this output" in data["text/html"]
    for student, content in {"anna": data, "ben": None, "cho": output(widened())}.items():
        (tmp_path / "in" / student).mkdir(parents=True)
        (tmp_path / "in" / student / "playground.ipynb").write_bytes(notebook(course, content))
    words = ("--bundle", course / "bundle", "--to")
    tfm("collect", tmp_path / "in", *words, tmp_path / "submissions")
    tfm("grade", tmp_path / "submissions", *words, tmp_path / "results")
    tfm("report", tmp_path / "results", *words, tmp_path / "report")
    results = {path.stem: json.loads(path.read_text("utf-8")) for path in (tmp_path / "results").glob("*.json")}
    assert {student: result["points"] for student, result in results.items()} == {"anna": 6, "ben": 0, "cho": 1}
    pages = {path.stem: path.read_text("utf-8") for path in (tmp_path / "report").rglob("*.html")}
    assert "Only the weights that your notebook carries count here" in pages["anna"]
    assert "Run the cell with hand_in, save the notebook" in pages["ben"]
    assert "The machine has 7,936 parameters, and 6,000 is the most." in pages["cho"]
    drawn = {each for each in hidden_words(course) if len(each) > 5}
    given = [
        path.read_text("utf-8") for path in [*(course / "student").glob("*.*b"), *(course / "student").glob("*.md")]
    ]
    for text in [*given, *(pages[student] for student in results), json.dumps(results)]:
        assert not [each for each in drawn if each in text]


def hidden_words(course: Path) -> set[str]:
    """The words that the hidden tests draw for this class."""
    bundle, found = read_bundle(course / "bundle"), set()
    (task,) = tasks(bundle, "playground", "")
    for test in task.tests:
        with torch.random.fork_rng():
            torch.manual_seed(_mixed(bundle.seed, ID, test.name))
            draw = uniform(int(torch.randint(2**31, ())))
        found |= {word(draw) for _ in range(500)}
    assert len(found) > 1000
    return found


@pytest.mark.long
def test_the_check_in_the_notebook_answers(course, monkeypatch):
    monkeypatch.setitem(_exercises, ID, None)  # so that its exercise is gone again after the test
    code = [
        "".join(cell["source"])
        for cell in cells(course / "student" / "playground.ipynb")
        if cell["cell_type"] == "code"
    ]
    namespace: dict = {}
    *imports, call = code[-1].split("\n\n")
    for text in [*code[:-1], *imports]:
        exec(text, namespace)  # noqa: S102 (our own notebook)
    for machine, status, says in (
        (..., "unsolved", "stub"),
        (RIGHT, "passed", "50 words"),
        (widened(), "refused", "7,936 parameters"),
        (untrained(), "refused", "0 of 50 words"),
        ("reverse.safetensors", "refused", 'hand_in("reverse.safetensors", name="reverse")'),
    ):
        verdict = eval(call, namespace | {"reverse": machine})  # noqa: S307 (our own notebook)
        assert verdict.status == status and says in repr(verdict)


@pytest.mark.parametrize(
    ("machine", "points", "says"),
    [
        pytest.param(lambda: shaken(NEARLY), 4, "and 99 % are needed. The shortest word", marks=pytest.mark.long),
        pytest.param(lambda: shaken(SOMEWHAT), 2, "and 90 % are needed", marks=pytest.mark.long),
        (untrained, 1, "That is hardly any: has it seen enough different words"),
        pytest.param(  # other names for the letters
            lambda: made_of(letters=RIGHT.head["letters"][::-1], task="reverse"), 6, "", marks=pytest.mark.long
        ),
        (lambda: made_of(task="sort"), 0, "trained for the task “sort”"),
        pytest.param(lambda: made_of(task="<b>" * 99), 0, "trained for the task “<b><b>", marks=pytest.mark.long),
        (
            lambda: made_of(model=with_sizes(d_model=32)),
            0,
            "is of shape (16, 32), but in the file it is of shape (16, 16)",
        ),
        (
            lambda: made_of({**RIGHT.tensors, "more": torch.ones(9)}),
            0,
            "more is missing, but in the file it is of shape",
        ),
        (lambda: made_of(letters="abc"), 1, "must list 12 different letters"),
    ],
)
def test_half_a_solution_earns_half_and_hears_why(course, judge, machine, points, says):
    found = row(judge, notebook(course, output(machine())))
    assert found["points"] == points
    assert any(says in text for text in told(found) or {""}), told(found)


def test_no_code_is_run_and_the_last_output_counts(course, judge):
    data = notebook(course, output(RIGHT), code="import os\nwhile True: os._exit(1)")
    began = time.monotonic()
    found = row(judge, data)
    assert (found["points"], found["status"], found["graded"]["what"]) == (6, "ok", "weights")
    assert time.monotonic() - began < 10
    made = json.loads(data)
    (cell,) = (cell for cell in made["cells"] if cell.get("outputs"))
    for extra, points in ((output(untrained()), 1), ({MIME: {**output(untrained())[MIME], "name": "other"}}, 6)):
        later = [*cell["outputs"], {"output_type": "display_data", "data": extra, "metadata": {}}]
        changed = json.dumps(made).replace(json.dumps(cell["outputs"]), json.dumps(later))
        assert row(judge, changed.encode())["points"] == points


@pytest.mark.long
def test_the_same_weights_earn_the_same_twice(course, judge):
    data = notebook(course, output(shaken(SOMEWHAT)))
    first, second = row(judge, data), row(judge, data)
    assert [first["points"], told(first)] == [second["points"], told(second)]


def test_students_with_the_same_weights_are_named_and_small_changes_hide_nothing(course):
    bundle, broken = read_bundle(course / "bundle"), {MIME: {"name": "reverse", "data": "none"}}
    first = next(iter(RIGHT.tensors))
    flipped = {**RIGHT.tensors, first: RIGHT.tensors[first].clone()}
    flipped[first].view(-1)[3] *= -(2**14)  # a bit or two of one number
    handed_in = {
        "ann": output(RIGHT),
        "bob": output(RIGHT),
        "cho": output(made_of(flipped)),
        "dee": output(shaken(0.002)),
        "eve": output(untrained()),
        "fay": None,
        "guy": broken,
        "hal": broken,
    }
    files = [Submission(name, "playground", notebook(course, data)) for name, data in handed_in.items()]
    alike = [(what, pair.first + pair.second) for what, pair in Own.of(bundle, files).alike]
    pairs = [one + other for one, other in combinations(("ann", "bob", "cho", "dee"), 2)]
    assert sorted(alike) == [("playground: weights", pair) for pair in [*pairs, "guyhal"]]


# hostile files


def file(head: object, numbers: bytes = b"") -> bytes:
    text = head if isinstance(head, bytes) else json.dumps(head).encode()
    return len(text).to_bytes(8, "little") + text + numbers


def one(numbers: bytes = b"\0" * 8, **about: object) -> bytes:
    return file({"w": {"dtype": "F32", "shape": [2], "data_offsets": [0, 8], **about}}, numbers)


def one_deep(depth: int) -> bytes:
    return b'{"w": {"dtype": "F32", "shape": ' + b"[" * depth + b"]" * depth + b"}}"


HOSTILE = {
    "empty": (b"", "not a complete .safetensors file"),
    "a pickle": (b"\x80\x04\x95" + bytes(50), "not a complete .safetensors file"),
    "a length beyond the end": ((1 << 63).to_bytes(8, "little") + b"{}", "not a complete .safetensors file"),
    "a huge head": (file(b" " * (1 << 17)), "head of the file has 131,072 bytes"),
    "a deep head": (file(b"[" * 60_000), "head of the file is not that of"),
    "a number of many digits": (file(b'{"w": ' + b"9" * 60_000 + b"}"), "head of the file is not that of"),
    "a list": (file([1]), "head of the file is not that of"),
    "not JSON": (file(b"{'a'"), "head of the file is not that of"),
    "no tensor": (file({}), "holds 0 tensors"),
    "many tensors": (file({str(i): 0 for i in range(5000)}), "holds 5,000 tensors"),
    "a number for a tensor": (file({"w": 3}), "w has the type None"),
    "integers": (one(dtype="I32"), "w has the type I32. Save the weights as float32"),
    "a long type": (one(dtype="F" * 10_000), "w has the type FFF"),
    "a huge shape": (one(shape=[1 << 62, 1 << 62]), "does not agree with the numbers"),
    "a shape with nothing in it": (one(b"", shape=[0, 1 << 62], data_offsets=[0, 0]), "which is that of no weights"),
    "lists in lists for a shape": (file(one_deep(900)), "which is that of no weights"),
    "a negative shape": (one(shape=[-1, -2]), "which is that of no weights"),
    "True for a size": (one(shape=[True, 2]), "which is that of no weights"),
    "many dimensions": (one(shape=[1] * 1000), "which is that of no weights"),
    "an offset beyond the end": (one(data_offsets=[0, 1 << 40], shape=[1 << 38]), "does not agree with the numbers"),
    "an offset that overflows": (one(data_offsets=[(1 << 64) - 8, 1 << 64]), "does not agree with the numbers"),
    "overlapping tensors": (
        file({key: {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]} for key in "vw"}, bytes(8)),
        "does not agree with the numbers",
    ),
    "bytes left over": (one(bytes(16)), "does not agree with the numbers"),
    "a head of numbers": (file({"__metadata__": {"model": 3}, **json.loads(one()[8:-8])}, bytes(8)), "does not agree"),
    "NaN": (one(b"\0\0\xc0\x7f" * 2), "w holds NaN or infinity"),
    "infinity": (one(b"\0\0\x80\x7f" * 2), "w holds NaN or infinity"),
    "too large": (bytes(MAX_BYTES + 1), "The file has 4.0 MB, and 4 MB is the most"),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_file_is_a_sentence(name):
    data, says = HOSTILE[name]
    began = time.process_time()
    with pytest.raises(BadWeights) as caught:
        read_weights(data, "reverse")
    assert says in str(caught.value) and len(str(caught.value)) < 300
    assert time.process_time() - began < 2


@pytest.mark.parametrize(
    ("packed", "says"),
    [
        ({"data": None}, "damaged"),
        ({"data": ["QQ=="]}, "damaged"),
        ({"data": "%"}, "damaged"),
        ({"data": "ä"}, "damaged"),
        ({"data": "A" * (6 << 20)}, "larger than 4 MB"),
        ({"data": "QUJD"}, "do not agree with their checksum"),
        ({"sha256": 3}, "do not agree with their checksum"),
    ],
)
def test_a_damaged_output_is_a_sentence(packed, says):
    with pytest.raises(BadWeights, match=says):
        unpacked({**output(RIGHT)[MIME], **packed})


@pytest.mark.parametrize(
    ("head", "says"),
    [
        ({"model": "[" * 5000}, "not those of a Transformer"),
        ({"model": "[]"}, "not those of a Transformer"),
        ({"model": "{}"}, "not those of a Transformer"),
        ({"model": with_sizes(n_layers=True)}, "not those of a Transformer"),
        ({"model": with_sizes(d_model=-16)}, "not those of a Transformer"),
        ({"model": with_sizes(d_model="16")}, "not those of a Transformer"),
        ({"model": with_sizes(norm=[])}, "not those of a Transformer"),
        ({"model": with_sizes(colour=1)}, "not those of a Transformer"),
        *(({"model": with_sizes(**{size: 2 << 40})}, f"says {size} = |not those") for size in LARGEST),
        ({"model": with_sizes(n_layers=64)}, "is of shape .*, but in the file it is missing"),
        ({"model": with_sizes(max_len=9)}, "has 9 positions, but the longest word needs 10"),
        ({"letters": "adeilmnoprsz"}, "does not know the letter t"),
        ({"letters": "aaaaaaaaaaaa"}, "must list 12 different letters"),
    ],
)
def test_a_hostile_head_is_a_sentence(head, says):
    spelt(RIGHT, ["stressed"])  # what torch imports for its first model without numbers is not counted
    began = time.process_time()
    with pytest.raises(BadWeights, match=says):
        spelt(made_of(**head), ["stressed"])
    assert time.process_time() - began < 2


def test_a_file_without_sizes_is_a_sentence():
    with pytest.raises(BadWeights, match='gives no sizes under "model"'):
        transformer(replace(RIGHT, head={}))


def test_a_hostile_file_reaches_the_student_as_a_sentence_and_costs_only_itself(course, judge):
    for name in ("NaN", "a deep head", "a huge shape"):
        data, says = HOSTILE[name]
        sha256 = hashlib.sha256(data).hexdigest()
        packed = {"name": "reverse", "sha256": sha256, "data": base64.b64encode(data).decode()}
        found = row(judge, notebook(course, {MIME: packed}))
        assert (found["status"], found["points"]) == ("ok", 0)
        assert all(says in text for text in told(found)) and told(found)


def test_outputs_that_are_none_carry_nothing():
    odd = [3, {}, {"outputs": 3}, {"outputs": [3, {"data": 3}, {"data": {MIME: 3}}, {"data": {MIME: {"name": 3}}}]}]
    assert carried_in(odd) == {}


# what the learner hands in


def test_a_module_and_tensors_travel_as_a_file_does():
    model = transformer(RIGHT)
    for carried in (
        lambda: hand_in(model, "reverse", letters=RIGHT.head["letters"]),
        lambda: hand_in(model.state_dict(), "reverse", letters=RIGHT.head["letters"], model=RIGHT.head["model"]),
    ):
        data = json.loads(json.dumps(shown_by(carried)))
        words = unseen()[:50]
        assert spelt(unpacked(data[MIME]), words) == [each[::-1] for each in words]


def test_what_the_grader_would_refuse_is_refused_in_the_notebook(tmp_path):
    with pytest.raises(FileNotFoundError, match="There is no file .* beside this notebook"):
        hand_in(tmp_path / "reverse.safetensors", "reverse")
    with pytest.raises(BadWeights, match="w has the type F64. Save the weights as float32 or float16"):
        hand_in({"w": torch.ones(2, dtype=torch.float64)}, "reverse")
    with pytest.raises(BadWeights, match="8.0 MB, and 4 MB is the most"):
        hand_in({"w": torch.ones(2 << 20)}, "reverse")


# how an instructor writes it


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        (":carried: reverse.safetensors", ":carried: other.safetensors", "cannot be read"),
        (":carried: reverse.safetensors", ":carried: playground.md", "This is not a complete .safetensors file"),
        (":carried: reverse.safetensors", "", "needs a first cell with the stub of a function"),
        ("reverse = ...", "def reverse(): ...", "needs hidden tests, a stub without functions"),
    ],
)
def test_a_fault_in_the_source_is_a_sentence(tmp_path, monkeypatch, old, new, sentence):
    monkeypatch.chdir(ROOT)
    text = (PRIVATE / "playground.md").read_text("utf-8")
    (tmp_path / "playground.md").write_text(text.replace(old, new), encoding="utf-8")
    (tmp_path / "reverse.safetensors").write_bytes(FILE.read_bytes())
    assert sentence in refusal("assign", "playground", "--private", tmp_path, "--no-verify", "--to", tmp_path / "x")
