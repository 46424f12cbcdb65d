"""The writer of the page writes what the library's decoder writes: numbers, texts, and patched heads."""

import json
import random
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
LENGTHS = [1, 2, 7, 20, 33]  # tokens of a prompt
MOST = 12  # tokens that are written after it
NEARLY = 1e-4  # choices closer than this, in probability or in logits, may differ by rounding
EXCUSED = 4  # texts of 200 with such a choice


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
        for name, value in model.named_parameters():
            value.add_(0.3 * torch.randn_like(value) * (1 if value.dim() == 1 else value.std()))
        model.embedding.tokens.weight[EOS] *= 1.5  # so that some texts end
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


def does(folder: Path, *tasks: dict[str, Any], plain: bool = False) -> list[Answer]:
    return Twin(folder, plain, "writer_run.mjs").does(*tasks)


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


def test_logits_are_the_librarys(folder: Path, model: DecoderOnly) -> None:
    wanted, long = logits_of(model, PROMPTS), logits_of(model, [LONG])
    cached = ({"do": "cached", "prompts": PROMPTS, "begun": begun} for begun in (1, 5))
    tasks = {"do": "about"}, {"do": "run", "prompts": [*PROMPTS, LONG]}
    about, whole, *others = does(folder, *tasks, *cached)
    slow, plain = does(folder, {"do": "about"}, {"do": "run", "prompts": PROMPTS[::10]}, plain=True)
    assert (about.told["fast"], slow.told["fast"]) == (True, False)
    assert float(torch.cat(wanted).std()) > 1  # so that the bound is narrow
    assert worst(whole, wanted + long) < 1e-3
    assert worst(plain, wanted[::10]) < 1e-3
    assert max(worst(answer, wanted) for answer in others) < 1e-3


# texts


def choice(logits: Tensor, how: dict[str, float], u: float) -> tuple[int, float]:
    """The token that the library chooses at quantile `u`, and how near it was to another."""
    if not how:
        first, second = logits.topk(2).values.tolist()
        return int(logits.argmax()), first - second
    scaled = logits.double() / how["temperature"]
    held = scaled.softmax(dim=-1).sort(descending=True).values.cumsum(dim=-1)
    p, order = filter_logits(scaled, top_p=how["topP"]).softmax(dim=-1).sort(descending=True, stable=True)
    ends = p.cumsum(dim=-1)
    at = int((ends <= u).sum().clamp(max=len(p) - 1))
    ties = (p - p[at]).abs().sort().values[1:]
    near = ((ends - u).abs().min(), ties.min(), *([(held - how["topP"]).abs().min()] if how["topP"] < 1 else []))
    return int(order[at]), float(min(near))


HOW = {
    "greedy": {},
    "a nucleus": {"temperature": 0.8, "topP": 0.9},
    "everything, flattened": {"temperature": 1.5, "topP": 1},
}


def test_texts_are_the_librarys(folder: Path, model: DecoderOnly) -> None:
    answers = does(folder, *({"do": "tell", "prompts": PROMPTS, "how": {**how, "most": MOST}} for how in HOW.values()))
    unequal, ends = [], 0
    for (name, how), answer in zip(HOW.items(), answers, strict=True):
        texts = [[*ids, *(step["id"] for step in told["all"])] for ids, told in zip(PROMPTS, answer.told, strict=True)]
        for seed, (rows, told) in enumerate(zip(logits_of(model, texts), answer.told, strict=True)):
            steps, draw = [*told["all"], *filter(None, [told["ended"]])], uniform(seed)
            assert len(told["all"]) == MOST or told["ended"]["id"] == EOS
            ends += bool(told["ended"])
            for logits, step in zip(rows[len(PROMPTS[seed]) - 1 :], steps):
                token, margin = choice(logits, how, draw())
                assert step["word"] == VOCABULARY.tokens[step["id"]]
                assert_told(step, logits.softmax(dim=-1))
                if step["id"] != token:
                    unequal.append((name, seed, margin))
                    break
    assert all(margin < NEARLY for *_, margin in unequal), unequal
    assert len(unequal) <= EXCUSED
    assert 20 < ends < 580


def assert_told(step: dict[str, Any], p: Tensor) -> None:
    """The probabilities of what was written, and of the likeliest tokens."""
    assert abs(step["p"] - float(p[step["id"]])) < NEARLY
    assert len(step["rivals"]) == 6
    for rival, wanted in zip(step["rivals"], p.topk(6).values.tolist(), strict=True):
        assert abs(rival["p"] - wanted) < NEARLY
        assert abs(float(p[VOCABULARY.ids[rival["word"]]]) - wanted) < NEARLY


def test_a_text_ends_where_the_model_can_read_no_further(folder: Path) -> None:
    too_long = [*LONG, 5]
    how = {"temperature": 1.5, "topP": 1}
    told, none, refused, empty = does(
        folder,
        {"do": "tell", "prompts": [LONG, LONG[:-2]], "how": how},
        {"do": "tell", "prompts": [LONG], "how": {"most": 0}},
        {"do": "refused", "ids": too_long},
        {"do": "refused", "ids": []},
    )
    assert [(len(each["all"]), each["ended"]) for each in told.told] == [(1, None), (3, None)]
    assert none.told == [{"all": [], "ended": None}]
    assert refused.told == [f"This model reads from 1 to {LONGEST} tokens, not {LONGEST + 1}."] * 2
    assert empty.told == [f"This model reads from 1 to {LONGEST} tokens, not 0."] * 2


# words


def test_words_and_signs_are_read_as_the_library_reads_them(folder: Path) -> None:
    tokens = " ".join(VOCABULARY.tokens[len(VOCABULARY.special) :]).split()
    text = "Once there was a Zebra-foal, called ANNA.\nIt didn't say: who?"
    read, nothing, words = does(
        folder,
        {"do": "read", "texts": [" ".join(tokens), text]},
        {"do": "read", "texts": ["", " \n"]},
        {"do": "words", "ids": [BOS, 0, 5, 3, EOS, 6]},
    )
    (known, first) = read.told
    assert known == {"ids": [BOS, *VOCABULARY.encode(tokens)], "unknown": []}
    wanted = "once there was a <unk> , called anna . <unk> <unk> say : who ?".split()
    assert first == {"ids": [BOS, *VOCABULARY.encode(wanted)], "unknown": ["Zebra-foal", "It", "didn't"]}
    assert nothing.told == [{"ids": [BOS], "unknown": []}] * 2
    assert words.told == VOCABULARY.decode([BOS, 0, 5, 3, EOS, 6]) == [VOCABULARY.tokens[5], "<unk>"]


# inside


def traced(answer: Answer) -> tuple[dict[str, Tensor], Tensor]:
    numbers = Numbers(answer.floats)
    values = {name: numbers.take((length,)) for name, length in answer.told}
    return values, torch.from_numpy(answer.floats[numbers.at :])


def test_every_value_inside_is_the_librarys(folder: Path, model: DecoderOnly) -> None:
    ids = drawn(24, 7)
    values, _ = traced(does(folder, {"do": "trace", "ids": ids})[0])
    with trace(model) as seen:
        model(torch.tensor([ids]))
    assert len(values) == 2 + 4 * 11
    for name, value in values.items():
        assert largest(value, seen[name].flatten()) < 1e-3, name


@pytest.mark.parametrize("heads", [[(1, 2)], [(0, 0), (0, 3), (3, 1)]], ids=str)
@pytest.mark.parametrize(("lengths", "position"), [((20, 20), 4), ((20, 31), -1), ((31, 20), -3)])
def test_a_patched_run_is_the_librarys(
    folder: Path, model: DecoderOnly, heads: list[tuple[int, int]], lengths: tuple[int, int], position: int
) -> None:
    ids, other = (drawn(length, length + i) for i, length in enumerate(lengths))
    task = {"do": "trace", "ids": ids, "from": other, "heads": heads, "position": position}
    values, logits = traced(does(folder, task)[0])
    with trace(model, "*.heads") as seen:
        model(torch.tensor([other]))
    changes = {}
    for layer in {layer for layer, _ in heads}:
        name = f"layers.{layer}.self_attention.heads"

        def change(value: Tensor, layer: int = layer, name: str = name) -> Tensor:
            mine, theirs = (X.unflatten(-1, (model.config.n_heads, -1)) for X in (value, seen[name]))
            for head in (head for at, head in heads if at == layer):
                mine[:, position, head] = theirs[:, position, head]
            return mine.flatten(-2)

        changes[name] = change
    whole = model(torch.tensor([ids]))
    with trace(model, "", replace=changes):
        patched = model(torch.tensor([ids]))
    with trace(model, "*.heads", replace=changes) as now:
        model(torch.tensor([ids]))
    assert largest(whole, patched) > 0.1
    assert largest(logits, patched.flatten()) < 1e-3
    for name, value in now.items():
        assert largest(values[name], value.flatten()) < 1e-3
