"""The writer of the page writes what the library's decoder writes: numbers, texts, and patched heads."""

import json
import random
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import torch
from jaxtyping import config as jaxtyping_config
from safetensors.torch import load_file, save_file
from torch import Tensor

from experiments.translator_twin import Answer, Numbers, Twin, largest
from tfm_lib._trace import trace
from tfm_lib.corpora.words import uniform
from tfm_lib.data import pad
from tfm_lib.decoding import filter_logits
from tfm_lib.engine.trained import read, stored
from tfm_lib.engine.writer import LONGEST, VOCABULARY, writer
from tfm_lib.transformer import DecoderOnly

BOS, EOS = VOCABULARY.bos_id, VOCABULARY.eos_id
LENGTHS = [1, 2, 7, 15, 30]  # tokens of a prompt
MOST = 4  # tokens that are written after it
NEARLY = 1e-4  # choices closer than this, in probability or in logits, may differ by rounding
EXCUSED = 4  # such choices in 200 texts


@pytest.fixture(scope="module", autouse=True)
def without_shapes():
    """Shapes in signatures are executed in the core's own tests; here that would only take time."""
    jaxtyping_config.update("jaxtyping_disable", True)
    yield
    jaxtyping_config.update("jaxtyping_disable", False)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The files of a decoder with weights that are drawn and not learned, gains included."""
    folder = tmp_path_factory.mktemp("stories")
    torch.manual_seed(0)
    model = writer()
    with torch.no_grad():
        for value in model.parameters():
            value.add_(0.3 * torch.randn_like(value) * (1 if value.dim() == 1 else value.std()))
        model.embedding.tokens.weight[EOS] *= -6  # so that some texts end
    save_file(stored(model.state_dict(), 8), folder / "model.safetensors")
    config = {"model": {**vars(model.config)}, "words": VOCABULARY.tokens}
    (folder / "config.json").write_text(json.dumps(config), encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def model(folder: Path) -> DecoderOnly:
    model = writer().eval()
    model.load_state_dict(read(load_file(folder / "model.safetensors")))
    return model.requires_grad_(False)


def drawn(length: int, seed: int) -> list[int]:
    draw = random.Random(seed)
    return [BOS, *(draw.randrange(len(VOCABULARY.special), len(VOCABULARY)) for _ in range(length - 1))]


PROMPTS = [drawn(LENGTHS[i % len(LENGTHS)], i) for i in range(200)]
LONG = drawn(LONGEST, 1)
HOW = {
    "greedy": {},
    "a nucleus": {"temperature": 0.8, "topP": 0.9},
    "everything, flattened": {"temperature": 1.5, "topP": 1},
}
KNOWN = [token for token in VOCABULARY.tokens if token not in VOCABULARY.special]
TEXT = "Once there was a Zebra-foal, and ANNA.\nAnna didn't say: who?"
IDS = [BOS, 0, 5, 3, EOS, 6]
PATCHES = {  # heads, tokens of both runs, position
    "one head": ([(1, 2)], (20, 20), 4),
    "the last": ([(0, 0), (0, 3), (3, 1)], (20, 31), -1),
    "from the end": ([(0, 1), (2, 1)], (31, 20), -3),
}


def patch(name: str) -> dict[str, Any]:
    heads, lengths, position = PATCHES[name]
    ids, other = (drawn(length, length + i) for i, length in enumerate(lengths))
    return {"do": "trace", "ids": ids, "from": other, "heads": heads, "position": position}


TASKS = {
    "about": {"do": "about"},
    "run": {"do": "run", "prompts": [*PROMPTS, LONG]},
    "cached": {
        "do": "cached",
        "prompts": PROMPTS,
        "begun": [max(1, len(ids) - i % 8) for i, ids in enumerate(PROMPTS)],
    },
    **{name: {"do": "tell", "prompts": PROMPTS, "how": {**how, "most": MOST}} for name, how in HOW.items()},
    "long": {"do": "tell", "prompts": [LONG, LONG[:-2]], "how": {"temperature": 1.5}},
    "none": {"do": "tell", "prompts": [LONG], "how": {"most": 0}},
    "too long": {"do": "refused", "ids": [*LONG, 5]},
    "empty": {"do": "refused", "ids": []},
    "read": {"do": "read", "texts": [" ".join(KNOWN), TEXT, "", " \n"]},
    "words": {"do": "words", "ids": IDS},
    "trace": {"do": "trace", "ids": drawn(24, 7)},
    **{name: patch(name) for name in PATCHES},
}


@pytest.fixture(scope="module")
def answers(folder: Path) -> dict[str, Answer]:
    """What the page's writer makes of all tasks, in one process."""
    return dict(zip(TASKS, Twin(folder, runner="writer_run.mjs").does(*TASKS.values()), strict=True))


def logits_of(model: DecoderOnly, texts: list[list[int]]) -> list[Tensor]:
    """The library's logits of each text, (n, v); the causal mask hides the padding on the right."""
    found = model(pad(texts, VOCABULARY.pad_id))
    return [rows[: len(ids)] for rows, ids in zip(found, texts, strict=True)]


def worst(answer: Answer, wanted: list[Tensor]) -> float:
    """The largest difference from the numbers that are wanted."""
    numbers = Numbers(answer.floats)
    found = max(largest(numbers.take(each.shape), each) for each in wanted)
    assert numbers.is_empty
    return found


def test_logits_are_the_librarys(folder: Path, model: DecoderOnly, answers: dict[str, Answer]) -> None:
    wanted, few = logits_of(model, PROMPTS), PROMPTS[::10]
    plain = Twin(folder, plain=True, runner="writer_run.mjs")
    slow, run = plain.does({"do": "about"}, {"do": "run", "prompts": few})
    assert (answers["about"].told["fast"], slow.told["fast"]) == (True, False)
    assert float(torch.cat(wanted).std()) > 1  # so that the bound is narrow
    assert worst(answers["run"], [*wanted, *logits_of(model, [LONG])]) < 1e-3
    assert worst(run, wanted[::10]) < 1e-3
    assert worst(answers["cached"], wanted) < 1e-3


# texts


def choices(logits: Tensor, how: dict[str, float], u: Tensor) -> tuple[Tensor, Tensor]:
    """For each row the token that the library chooses at quantile `u`, and how near that was to another choice."""
    if not how:
        best = logits.topk(2)
        return best.indices[:, 0], best.values[:, 0] - best.values[:, 1]
    scaled, u = logits.double() / how["temperature"], u.unsqueeze(-1)
    held = scaled.softmax(dim=-1).sort(descending=True).values.cumsum(dim=-1)
    cut = (held - how["topP"]).abs().amin(dim=-1) if how["topP"] < 1 else torch.ones(len(u))
    left = filter_logits(scaled, top_p=how["topP"]).softmax(dim=-1)
    p, order = left.sort(dim=-1, descending=True, stable=True)
    ends = p.cumsum(dim=-1)
    at = (ends <= u).sum(dim=-1, keepdim=True).clamp(max=p.shape[-1] - 1)
    tie = (p - p.gather(-1, at)).abs().scatter(-1, at, 1).amin(dim=-1)
    return order.gather(-1, at).squeeze(-1), torch.stack([(ends - u).abs().amin(dim=-1), tie, cut]).amin(dim=0)


@pytest.mark.parametrize("name", HOW)
def test_texts_are_the_librarys(name: str, model: DecoderOnly, answers: dict[str, Answer]) -> None:
    told = answers[name].told
    texts = [[*ids, *(step["id"] for step in each["all"])] for ids, each in zip(PROMPTS, told, strict=True)]
    rows, steps, u, first = [], [], [], []
    for seed, (ids, each, logits) in enumerate(zip(PROMPTS, told, logits_of(model, texts), strict=True)):
        own, draw = [*each["all"], *filter(None, [each["ended"]])], uniform(seed)
        assert len(own) == MOST or own[-1]["id"] == EOS
        first.append(len(steps))
        steps += own
        u += [draw() for _ in own]
        rows.append(logits[len(ids) - 1 :][: len(own)])
    logits, ids = torch.cat(rows), torch.tensor([step["id"] for step in steps])
    wanted, margins = choices(logits, HOW[name], torch.tensor(u, dtype=torch.double))
    unequal = wanted != ids  # each step goes on from the text that the page has written
    assert (margins[unequal] < NEARLY).all(), margins[unequal]
    assert unequal.sum() <= EXCUSED
    assert 0 < sum(bool(each["ended"]) for each in told) < len(told)
    assert_told(steps, logits.softmax(dim=-1))


def assert_told(steps: list[dict[str, Any]], p: Tensor) -> None:
    """The probabilities of what was written, and of the likeliest tokens."""
    assert [step["word"] for step in steps] == [VOCABULARY.tokens[step["id"]] for step in steps]
    rivals = [[rival["p"] for rival in step["rivals"]] for step in steps]
    named = [[VOCABULARY.ids[rival["word"]] for rival in step["rivals"]] for step in steps]
    best = p.topk(6, dim=-1).values
    assert largest([step["p"] for step in steps], p[range(len(p)), [step["id"] for step in steps]]) < NEARLY
    assert largest(rivals, best) < NEARLY
    assert largest(p.gather(-1, torch.tensor(named)), best) < NEARLY


def test_a_text_ends_where_the_model_can_read_no_further(answers: dict[str, Answer]) -> None:
    assert [(len(each["all"]), each["ended"]) for each in answers["long"].told] == [(1, None), (3, None)]
    assert answers["none"].told == [{"all": [], "ended": None}]
    for name, length in (("too long", LONGEST + 1), ("empty", 0)):
        assert answers[name].told == [f"This model reads from 1 to {LONGEST} tokens, not {length}."] * 2


# words


def test_words_and_signs_are_read_as_the_library_reads_them(answers: dict[str, Answer]) -> None:
    wanted = "once there was a <unk> , and anna . anna <unk> say : who ?".split()
    assert answers["read"].told == [
        {"ids": [BOS, *VOCABULARY.encode(KNOWN)], "unknown": []},
        {"ids": [BOS, *VOCABULARY.encode(wanted)], "unknown": ["Zebra-foal", "didn't"]},
        {"ids": [BOS], "unknown": []},
        {"ids": [BOS], "unknown": []},
    ]
    assert answers["words"].told == VOCABULARY.decode(IDS) == [VOCABULARY.tokens[5], "<unk>"]


# inside


def traced(answer: Answer) -> tuple[dict[str, Tensor], Tensor]:
    numbers = Numbers(answer.floats)
    values = {name: numbers.take((length,)) for name, length in answer.told}
    return values, torch.from_numpy(answer.floats[numbers.at :])


def test_every_value_inside_is_the_librarys(model: DecoderOnly, answers: dict[str, Answer]) -> None:
    values, _ = traced(answers["trace"])
    with trace(model) as seen:
        model(torch.tensor([TASKS["trace"]["ids"]]))
    assert len(values) == 2 + 4 * 11
    for name, value in values.items():
        assert largest(value, seen[name].flatten()) < 1e-3, name


@pytest.mark.parametrize("name", PATCHES)
def test_a_patched_run_is_the_librarys(name: str, model: DecoderOnly, answers: dict[str, Answer]) -> None:
    values, logits = traced(answers[name])
    task = TASKS[name]
    ids, position = torch.tensor([task["ids"]]), task["position"]
    with trace(model, "*.heads") as seen:
        model(torch.tensor([task["from"]]))

    def patched(path: str, mine: list[int], value: Tensor) -> Tensor:
        here, there = (X.unflatten(-1, (model.config.n_heads, -1)) for X in (value, seen[path]))
        here[:, position, mine] = there[:, position, mine]
        return here.flatten(-2)

    changes = {}
    for layer in {layer for layer, _ in task["heads"]}:
        path, mine = f"layers.{layer}.self_attention.heads", [head for at, head in task["heads"] if at == layer]
        changes[path] = partial(patched, path, mine)
    whole = model(ids)
    with trace(model, "*.heads", replace=changes) as now:
        wanted = model(ids)
    assert largest(whole, wanted) > 0.1
    assert largest(logits, wanted.flatten()) < 1e-3
    for path, value in now.items():
        assert largest(values[path], value.flatten()) < 1e-3, path
