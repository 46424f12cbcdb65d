"""Models of other families: equal to Hugging Face's on the state that it writes, and a sentence for what cannot be read."""

import json
import re
import shutil
import subprocess
import sys
from importlib.resources import files
from pathlib import Path

import pytest
import torch
import torch.nn.functional as F
from project import ROOT
from safetensors.torch import load_file, save_file
from tiers import every, params
from torch import nn
from torch.testing import assert_close

from lib.family_folders import FAMILIES, LAYERS, SENTENCE, H, folder_of, settings_changed, tokenizer_of
from lib.parity import families as parity
from tfm_lib._refusal import Refusal
from tfm_lib.families import gpt2, llama, parts
from tfm_lib.families.bert import Bert
from tfm_lib.families.commands import load
from tfm_lib.families.folder import Opened, open_folder, read_model
from tfm_lib.families.heads import heads, page, patched, summary
from tfm_lib.families.known import FAMILIES as KNOWN
from tfm_lib.families.known import from_state
from tfm_lib.families.parts import places, seen
from tfm_lib.families.settings import NotSupported
from tfm_lib.multihead import KeyValueCache

WEIGHTS, CONFIG, TOKENIZER = "model.safetensors", "config.json", "tokenizer.json"


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """written("gpt2"): a folder of that family with random weights; nobody writes into it."""
    made = {}

    def folder(family: str) -> Path:
        if family not in made:
            made[family] = folder_of(family, tmp_path_factory.mktemp(family))
        return made[family]

    return folder


@pytest.fixture
def copied(written, tmp_path):
    """copied("gpt2"): the same, to be spoiled."""

    def folder(family: str) -> Path:
        return Path(shutil.copytree(written(family), tmp_path / family))

    return folder


def numbers_of(folder: Path) -> dict[str, torch.Tensor]:
    """The state in the file, in memory of its own: the file may be written anew."""
    return {key: value.clone() for key, value in load_file(folder / WEIGHTS).items()}


# equal to somebody else's


@pytest.mark.long
def test_parity_table(tmp_path, capsys) -> None:
    """Every family beside Hugging Face's in double precision: printed, and held to 1e-8."""
    rows = []
    for i, case in enumerate(parity.CASES):
        rows.append(parity.row(case, tmp_path / str(i)))
    with capsys.disabled():
        print(f"\n{parity.printed(rows)}")
    assert {row.family: row.largest for row in rows if not row.largest <= parity.BAR} == {}
    assert all(row.prediction > 0.5 for row in rows), "logits near 0 would be equal whatever happens"
    assert {row.family.split(",")[0] for row in rows if row.cache is None} == {"BERT"}


#: an idea removed → the row of the table that must turn red, the module, and what stands in for its name
REMOVED = {
    "the order of rotary pairs": ("Llama, 6 heads, 2 of keys, untied", llama, "paired", lambda W, n_heads: W),
    "the base of the angles": ("Llama, base 500 000", llama, "_base", lambda settings: 10_000.0),
    "positions count tokens": ("GPT-2, tied", gpt2, "places", lambda n, total, real, device: torch.arange(n)[None]),
    "padding is unseen": ("GPT-2, tied", gpt2, "seen", lambda n, total, real, device: seen(n, total, None, device)),
    "which GELU": ("GPT-2, tied", parts, "ACTIVATIONS", {"gelu_new": F.gelu}),
    "transposed matrices": (
        "GPT-2, tied",
        gpt2,
        "_third",
        lambda W, which: W[..., which::3].T if W.dim() > 1 else W[::3],
    ),
}


@pytest.mark.long
@pytest.mark.parametrize("idea", REMOVED)
def test_without_it_the_table_turns_red(idea, tmp_path, monkeypatch) -> None:
    case, module, name, instead = REMOVED[idea]
    monkeypatch.setattr(module, name, instead)
    assert parity.row(case, tmp_path).largest > 1000 * parity.BAR


@pytest.mark.parametrize("family", params(FAMILIES, ["gpt2"]))
def test_every_number_of_the_state_counts(family, written) -> None:
    """Nothing is read that is not used: whatever is changed in their state changes what ours says."""
    folder = written(family)
    settings, state = json.loads((folder / CONFIG).read_text()), numbers_of(folder)
    ids = torch.tensor([[3, 17, 5, 30, 8, 11]])
    given = (
        (ids, ids)
        if family == "marian"
        else (ids, None, torch.tensor([[0, 0, 0, 1, 1, 1]]))
        if family == "bert"
        else (ids,)
    )
    # in double precision, where even a small change is far from rounding
    before = from_state(settings, state, torch.float64)[0](*given)
    silent = []
    for key, value in state.items():
        changed = value + 0.1 * torch.randn(value.shape)
        after = from_state(settings, {**state, key: changed}, torch.float64)[0](*given)
        if (after - before).abs().max() < 1e-9:
            silent.append(key)
    of_keys = (
        r"(attention\.self\.key|k_proj)\.bias"  # adds the same to every score of a query: the softmax takes it out
    )
    assert [key for key in silent if not re.search(of_keys, key)] == []


@pytest.mark.parametrize("family", FAMILIES)
def test_each_parameter_has_one_place(family, written) -> None:
    known, settings = KNOWN[family], json.loads((written(family) / CONFIG).read_text())
    config = known.config_of(settings)
    assert known.table(config).keys() == known.made(config).state_dict().keys()


def test_padding_moves_nobody() -> None:
    real = torch.tensor([[False, False, True, True], [True, True, True, False]])
    assert places(4, 4, real, real.device).tolist() == [[0, 0, 0, 1], [0, 1, 2, 2]]
    assert places(2, 4, real, real.device).tolist() == [[0, 1], [2, 2]]
    mask = seen(4, 4, real, real.device)
    assert mask[0, 3].tolist() == [False, False, True, True]
    assert mask.any(dim=-1).all(), "padding itself has a key"
    assert not (mask[1, :, 3] & torch.tensor([True, True, True, False])).any(), "and nobody else looks at it"


@pytest.mark.parametrize("family", ["gpt2", "llama"])
def test_a_cache_that_was_begun_goes_on(family, written, as_readers_run_it) -> None:
    model, _ = read_model(written(family))
    ids = torch.randint(0, 40, (2, 8))
    caches = model.caches()
    with torch.no_grad():
        parts = [model(part, caches=caches) for part in ids.split([3, 1, 4], dim=1)]
        torch.testing.assert_close(torch.cat(parts, dim=1), model(ids))
    assert caches[0].length == 8
    for wrong, sentence in (
        ({"caches": [KeyValueCache()]}, "caches must be a list of 2"),
        ({"real": torch.ones(2, 7, dtype=torch.bool)}, "real must have shape (2, 8)"),
        ({"real": torch.ones(2, 8)}, "real must be boolean"),
        ({"real": torch.zeros(2, 8, dtype=torch.bool)}, "real must hold a token in every row"),
    ):
        with pytest.raises((ValueError, TypeError)) as caught:
            model(ids, **wrong)
        assert sentence in str(caught.value)
    with pytest.raises(
        ValueError, match="ids must end at position 32, the last that the model knows; got 33 positions"
    ):
        model(torch.zeros(1, 33, dtype=torch.long))


# from a folder


@pytest.mark.parametrize("family", FAMILIES)
def test_a_folder_opens_with_its_words(family, written) -> None:
    opened = open_folder(written(family))
    assert opened.family is KNOWN[family] and opened.notes == () and not opened.model.training
    ids, tokens = opened.encoded(SENTENCE)
    assert "".join(tokens).replace("▁", "").replace("#", "").lower().find("animal") >= 0
    assert ids.shape == (1, len(tokens))
    assert f"{LAYERS} layers of {H} heads" in summary(opened)


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("dtype", params([torch.bfloat16, torch.float16, torch.float64], [torch.bfloat16]))
def test_other_precisions_are_read_as_single_and_said(family, dtype, tmp_path) -> None:
    opened = open_folder(folder_of(family, tmp_path, dtype))
    assert opened.notes == (f"The numbers of {str(dtype).removeprefix('torch.')} are read as float32.",)
    assert {parameter.dtype for parameter in opened.model.parameters()} == {torch.float32}
    stored = numbers_of(tmp_path)
    words = next(
        value for key, value in stored.items() if re.search(r"(wte|word_embeddings|embed_tokens|shared)\.weight", key)
    )
    embedding = getattr(opened.model, "embedding", opened.model)
    assert torch.equal(embedding.tokens.weight, words.float())


@pytest.mark.parametrize("family", FAMILIES)
def test_shards_make_the_same_model(family, written, tmp_path) -> None:
    folder = folder_of(family, tmp_path, max_shard_size="20KB")
    assert not (folder / WEIGHTS).exists() and len(list(folder.glob("model-*.safetensors"))) > 1
    ours, whole = open_folder(folder).model.state_dict(), open_folder(written(family)).model.state_dict()
    assert all(torch.equal(ours[name], whole[name]) for name in whole)


def test_a_bare_model_needs_no_prefix(copied) -> None:
    """As the first files of GPT-2 and of BERT are: no prefix, masks and counted positions among the numbers."""
    folder = copied("gpt2")
    state = numbers_of(folder)
    bare = {key.removeprefix("transformer."): value for key, value in state.items()}
    save_file({**bare, "h.0.attn.bias": torch.ones(1, 1, 32, 32).tril().bool()}, folder / WEIGHTS)
    opened = open_folder(folder)
    assert opened.notes == ("Passed over, for they are no part of this model: h.0.attn.bias.",)
    torch.testing.assert_close(opened.model.tokens.weight, state["transformer.wte.weight"])


def test_the_first_files_of_bert_open(copied) -> None:
    folder = copied("bert")
    state = numbers_of(folder)
    old = {
        key.replace("LayerNorm.weight", "LayerNorm.gamma").replace("LayerNorm.bias", "LayerNorm.beta"): value
        for key, value in state.items()
    }
    extra = {"bert.pooler.dense.weight": torch.ones(24, 24), "bert.pooler.dense.bias": torch.ones(24)}
    save_file({**old, **extra, "cls.seq_relationship.bias": torch.ones(2)}, folder / WEIGHTS)
    opened = open_folder(folder)
    assert "bert.pooler.dense.bias" in opened.notes[0] and "cls.seq_relationship.bias" in opened.notes[0]
    torch.testing.assert_close(opened.model.norm.gain, state["bert.embeddings.LayerNorm.weight"])


def test_a_bert_without_a_head_gives_vectors(copied) -> None:
    folder = copied("bert")
    state = {key.removeprefix("bert."): value for key, value in numbers_of(folder).items()}
    save_file({key: value for key, value in state.items() if not key.startswith("cls.")}, folder / WEIGHTS)
    settings_changed(folder, architectures=["BertModel"])
    opened = open_folder(folder)
    assert isinstance(opened.model, Bert) and opened.model(opened.ids(SENTENCE)).shape[-1] == 24
    assert heads(opened, SENTENCE).weights["self"]


# what cannot be read


def no_file(name):
    return lambda folder: (folder / name).unlink()


def says(name, text):
    return lambda folder: (folder / name).write_text(text, encoding="utf-8")


def config(**changes):
    return lambda folder: settings_changed(folder, **changes)


def state(change):
    """Another state in the file: `change` is given the state and changes it."""

    def spoil(folder: Path) -> None:
        numbers = numbers_of(folder)
        change(numbers)
        save_file(numbers, folder / WEIGHTS)

    return spoil


def renamed(old, new):
    return lambda folder: (folder / old).rename(folder / new)


def pickled(folder: Path) -> None:
    torch.save(numbers_of(folder), folder / "pytorch_model.bin")
    (folder / WEIGHTS).unlink()


def cut(folder: Path) -> None:
    (folder / WEIGHTS).write_bytes((folder / WEIGHTS).read_bytes()[:-100])


def index(weight_map):
    def spoil(folder: Path) -> None:
        (folder / WEIGHTS).unlink()
        (folder / f"{WEIGHTS}.index.json").write_text(json.dumps({"weight_map": weight_map}))

    return spoil


LFS = "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n"
HOSTILE = {
    "no config": ("gpt2", no_file(CONFIG), "There is no config.json in"),
    "config is no JSON": ("gpt2", says(CONFIG, "{"), "config.json in .* cannot be read: "),
    "config is deep": ("gpt2", says(CONFIG, "[" * 100_000), "config.json in .* cannot be read: "),
    "config is a list": ("gpt2", says(CONFIG, "[]"), "must hold an object; it holds a list."),
    "config is no text": ("gpt2", lambda folder: (folder / CONFIG).write_bytes(b"\xff\xfe"), "cannot be read: "),
    "no family": (
        "gpt2",
        config(model_type=None),
        "there is no model_type; the families .* gpt2, bert, llama, marian.",
    ),
    "a model of our own": (
        "gpt2",
        says(CONFIG, '{"model": {}}'),
        "a model that tfm train wrote.*tfm translate --model",
    ),
    "another family": ("llama", config(model_type="mistral"), "model_type is 'mistral'; the families"),
    "a family of numbers": ("llama", config(model_type=3), "model_type is 3; the families"),
    "another head": (
        "bert",
        config(architectures=["BertForSequenceClassification"]),
        "architectures is \\['BertForSequenceClassification'\\], which is not supported; of bert: BertForMaskedLM",
    ),
    "another family's config": ("gpt2", config(model_type="llama", architectures=None), "The weights lack|must divide"),
    "quantised": ("llama", config(quantization_config={"bits": 4}), "the weights are quantised"),
    "scaled positions": (
        "llama",
        config(rope_parameters={"rope_type": "llama3", "factor": 8.0, "rope_theta": 5e5}),
        "rotary positions are scaled \\('llama3'\\), which is not supported",
    ),
    "scaled positions of old": (
        "llama",
        config(rope_parameters=None, rope_scaling={"type": "linear", "factor": 2.0}),
        "rotary positions are scaled \\('linear'\\)",
    ),
    "rope_scaling is a word": (
        "llama",
        config(rope_parameters=None, rope_scaling="yarn"),
        "must be an object; it is 'yarn'",
    ),
    "biases": ("llama", config(attention_bias=True), "attention_bias is True, which is not supported for llama"),
    "other activation": ("bert", config(hidden_act="quick_gelu"), "hidden_act is 'quick_gelu', which is not supported"),
    "another gate": ("llama", config(hidden_act="gelu"), "hidden_act is 'gelu', which is not supported for llama"),
    "wide heads": ("llama", config(head_dim=16), "head_dim is 16, which is not supported for llama; only 4 is."),
    "odd heads": ("llama", config(num_attention_heads=8, num_key_value_heads=2, head_dim=3), "turn pairs of numbers"),
    "relative positions": ("bert", config(position_embedding_type="relative_key"), "position_embedding_type is"),
    "scores by layer": (
        "gpt2",
        config(scale_attn_by_inverse_layer_idx=True),
        "scale_attn_by_inverse_layer_idx is True",
    ),
    "pre-norm": (
        "marian",
        config(normalize_before=True),
        "normalize_before is True, which is not supported for marian",
    ),
    "unequal sides": ("marian", config(decoder_layers=1), "encoder_layers is 2 and decoder_layers 1; only equal ones"),
    "no size": ("marian", config(vocab_size=None), "vocab_size is missing, which a model of marian needs"),
    "negative size": ("gpt2", config(n_layer=-2), "n_layer must be a whole number from 1 to 1000; it is -2."),
    "endless layers": (
        "llama",
        config(num_hidden_layers=10**9),
        "num_hidden_layers must be a whole number from 1 to 1000",
    ),
    "endless positions": (
        "marian",
        config(max_position_embeddings=10**7),
        "max_position_embeddings is 10000000 and d_model 24: a table of positions of that size is not supported",
    ),
    "pairs side by side": ("llama", config(rope_interleaved=True), "rope_interleaved is True, which is not supported"),
    "endless width": ("gpt2", config(n_embd=10**12), "n_embd must be a whole number from 1 to"),
    "a size in words": ("gpt2", config(n_embd="24"), "n_embd must be a whole number from 1 to 10000000; it is '24'."),
    "heads that do not divide": ("gpt2", config(n_head=7), "n_head must divide 24; it is 7."),
    "more key heads than heads": (
        "llama",
        config(num_key_value_heads=4),
        "num_key_value_heads must divide 6; it is 4.",
    ),
    "other sizes": ("gpt2", config(n_embd=48), "wte.weight has shape .*, from which tokens.weight of shape"),
    "fewer layers": (
        "gpt2",
        config(n_layer=1),
        "The weights hold transformer.h.1.attn.c_attn.bias, .* and 8 more, for which",
    ),
    "more layers": (
        "gpt2",
        config(n_layer=3),
        "The weights lack transformer.h.2.attn.c_attn.weight, which layers.2.self_att",
    ),
    "not tied": (
        "llama",
        config(tie_word_embeddings=True),
        "lm_head.weight, which are tied in this model, and differ.",
    ),
    "not a number": (
        "gpt2",
        config(layer_norm_epsilon=float("nan")),
        "layer_norm_epsilon must be a number above 0; it is nan.",
    ),
    "infinite": (
        "llama",
        config(rope_parameters={"rope_type": "default", "rope_theta": float("inf")}),
        "rope_theta must be",
    ),
    "no weights": (
        "gpt2",
        no_file(WEIGHTS),
        "There is no model.safetensors in .*, and no model.safetensors.index.json that names",
    ),
    "pickled weights": ("gpt2", pickled, "pytorch_model.bin, which is not read here: a pickle can run any program"),
    "a pickle by another name": (
        "gpt2",
        lambda folder: (pickled(folder), renamed("pytorch_model.bin", WEIGHTS)(folder)),
        "cannot be read as safetensors",
    ),
    "cut off": ("gpt2", cut, "model.safetensors in .* cannot be read as safetensors"),
    "empty": ("gpt2", says(WEIGHTS, ""), "model.safetensors in .* cannot be read as safetensors"),
    "Git LFS": ("gpt2", says(WEIGHTS, LFS), "model.safetensors in .* is Git LFS's note .* git lfs pull"),
    "Git LFS's tokenizer": ("gpt2", says(TOKENIZER, LFS), "tokenizer.json in .* is Git LFS's note"),
    "a shard is missing": (
        "gpt2",
        index({"a": "model-00001-of-00002.safetensors"}),
        "names model-00001-of-00002.safetensors, which is not in",
    ),
    "a shard elsewhere": (
        "gpt2",
        index({"a": "../gpt2/model.safetensors"}),
        "must be a .safetensors file in the same folder",
    ),
    "a pickled shard": ("gpt2", index({"a": "pytorch_model-1.bin"}), "must be a .safetensors file in the same folder"),
    "an empty index": ("gpt2", index({}), "has no weight_map"),
    "an index of numbers": ("gpt2", index({"a": 3}), "has no weight_map"),
    "a key is missing": (
        "gpt2",
        state(lambda numbers: numbers.pop("transformer.ln_f.bias")),
        "The weights lack transformer.ln_f.bias, which norm.bias is read from.",
    ),
    "a key is left over": (
        "llama",
        state(lambda numbers: numbers.update({"model.layers.0.self_attn.q_proj.bias": torch.ones(24)})),
        "The weights hold model.layers.0.self_attn.q_proj.bias, for which this model has no place",
    ),
    "wrong shape": (
        "gpt2",
        state(lambda numbers: numbers.update({"transformer.h.0.attn.c_attn.weight": torch.ones(24, 71)})),
        "c_attn.weight has shape \\(24, 71\\), from which",
    ),
    "no axes": (
        "llama",
        state(lambda numbers: numbers.update({"model.layers.0.self_attn.q_proj.weight": torch.tensor(1.0)})),
        "q_proj.weight has shape \\(\\), from which",
    ),
    "whole numbers": (
        "gpt2",
        state(lambda numbers: numbers.update({"transformer.wpe.weight": torch.ones(32, 24, dtype=torch.int8)})),
        "wpe.weight in int8; floating-point numbers",
    ),
    "8 bits": (
        "gpt2",
        state(lambda numbers: numbers.update({"transformer.wpe.weight": torch.ones(32, 24).to(torch.float8_e4m3fn)})),
        "wpe.weight in float8_e4m3fn; floating-point",
    ),
    "NaN": (
        "gpt2",
        state(lambda numbers: numbers["transformer.wte.weight"][3, 3:4].fill_(float("nan"))),
        "wte.weight holds numbers that are NaN or infinite",
    ),
    "no tokenizer": ("gpt2", no_file(TOKENIZER), "There is no tokenizer.json in"),
    "only SentencePiece": ("marian", renamed(TOKENIZER, "source.spm"), "only source.spm, which are not read here"),
    "tokenizer is no JSON": ("gpt2", says(TOKENIZER, "{}"), "tokenizer.json in .* cannot be read: "),
}


@pytest.mark.parametrize("case", params(HOSTILE, every(3, HOSTILE)))
def test_a_folder_that_cannot_be_read_is_a_sentence(case, copied) -> None:
    family, spoil, sentence = HOSTILE[case]
    folder = copied(family)
    spoil(folder)
    with pytest.raises(NotSupported) as caught:
        open_folder(folder)
    assert re.search(sentence, str(caught.value)), str(caught.value)
    assert str(caught.value).endswith((".", "?", "git lfs pull", "WEIGHTS.json")) and "\n" not in str(caught.value)


def test_no_folder_at_all(tmp_path) -> None:
    with pytest.raises(NotSupported, match="There is no folder"):
        open_folder(tmp_path / "nowhere")
    (tmp_path / WEIGHTS).touch()
    with pytest.raises(NotSupported, match=f"{WEIGHTS} is a file; give the folder in which it lies with the others: "):
        open_folder(tmp_path / WEIGHTS)
    with pytest.raises(TypeError, match="folder must be a path"):
        open_folder(3)


def test_a_model_that_does_not_fit_is_refused_before_it_is_read(copied, monkeypatch) -> None:
    folder = copied("gpt2")
    monkeypatch.setattr("tfm_lib.families.folder.free_memory", lambda: 50_000)
    with pytest.raises(NotSupported, match="0.0 GB, which may take twice that in memory; 0.0 GB are free"):
        open_folder(folder)


# words that were added


def test_added_tokens_work_where_they_have_a_row_and_are_a_sentence_where_not(copied) -> None:
    folder = copied("gpt2")
    tokenizer = tokenizer_of("gpt2")
    size = tokenizer.get_vocab_size()
    tokenizer.add_special_tokens(["<|new|>"])
    tokenizer.save(str(folder / TOKENIZER))
    opened = open_folder(folder)
    assert opened.encoded(SENTENCE)[1] == open_folder(folder).encoded(SENTENCE)[1]
    with pytest.raises(NotSupported, match=rf"'<\|new\|>', a token that was added .* embedding has {size} rows"):
        opened.ids("Hello <|new|>")
    assert opened.encoded(" was<|endoftext|>tired")[1][1] == "<|endoftext|>"


def test_a_tokenizer_that_cuts_and_pads_does_neither(copied) -> None:
    folder = copied("bert")
    tokenizer = tokenizer_of("bert")
    tokenizer.enable_truncation(4)
    tokenizer.enable_padding(length=30)
    tokenizer.save(str(folder / TOKENIZER))
    assert open_folder(folder).encoded(SENTENCE)[1] == open_folder(folder).tokenizer.encode(SENTENCE).tokens != []
    assert 4 < len(open_folder(folder).encoded(SENTENCE)[1]) < 30


def test_half_a_sign_is_shown_as_the_tokenizer_keeps_it(written) -> None:
    tokens = open_folder(written("gpt2")).encoded("é was")[1]
    assert tokens[:2] == ["Ã", "©"] and tokens[-1] == "▁was"
    assert open_folder(written("gpt2")).encoded("was\n\x1b was")[1][-3:-1] == ["Ċ", "ě"], "and one that is not seen"


def test_a_page_holds_any_script(written, recwarn) -> None:
    made = page(open_folder(written("gpt2")), "동물이 피곤했다", written("gpt2"))
    assert "tfm-still" in made and not [each for each in recwarn if "Glyph" in str(each.message)]


# heads on a sentence


@pytest.mark.parametrize("family", FAMILIES)
def test_heads_are_those_of_theirs(family, written) -> None:
    import transformers

    opened = open_folder(written(family))
    widget = heads(opened, SENTENCE)
    theirs = getattr(transformers, json.loads((written(family) / CONFIG).read_text())["architectures"][0])
    theirs = theirs.from_pretrained(written(family), attn_implementation="eager").eval()
    ids = opened.ids(SENTENCE)
    with torch.no_grad():
        if family == "marian":
            read = torch.tensor([[2, *opened.model.translated(ids, min(20 + 2 * ids.shape[1], 31))]])
            told = theirs(ids, decoder_input_ids=read, output_attentions=True)
            want = {
                "encoder": told.encoder_attentions,
                "decoder": told.decoder_attentions,
                "cross": told.cross_attentions,
            }
        else:
            kind = "self" if family == "bert" else "decoder"
            want = {kind: theirs(ids, output_attentions=True).attentions}
    assert widget.weights.keys() == want.keys()
    for kind, layers in want.items():
        torch.testing.assert_close(torch.tensor(widget.weights[kind]), torch.cat(layers), atol=6e-4, rtol=0)
    assert widget.src_tokens == opened.encoded(SENTENCE)[1]


def test_a_translation_is_theirs(written) -> None:
    import transformers

    opened = open_folder(written("marian"))
    theirs = transformers.MarianMTModel.from_pretrained(written("marian")).eval()
    for text in (SENTENCE, "Where is the bakery?", "the night was cold"):
        ids = opened.ids(text)
        want = theirs.generate(
            ids, max_new_tokens=20, num_beams=1, do_sample=False, bad_words_ids=[[2]], forced_eos_token_id=None
        )
        got = opened.model.translated(ids, 20)
        assert got == [i for i in want[0, 1:].tolist() if i != 0]


def test_a_target_may_be_given(written) -> None:
    opened = open_folder(written("marian"))
    widget = heads(opened, SENTENCE, target="Where is the bakery?")
    assert widget.tgt_tokens == opened.encoded("Where is the bakery?")[1]
    with pytest.raises(NotSupported, match="GPT-2 reads one text"):
        heads(open_folder(written("gpt2")), SENTENCE, target="no")


@pytest.mark.parametrize("family", FAMILIES)
def test_sentences_that_do_not_fit(family, written) -> None:
    opened = open_folder(written(family))
    with pytest.raises(NotSupported, match=r"The sentence has \d+ tokens, and the model knows 32 positions"):
        heads(opened, "the animal " * 40)
    if family == "gpt2":
        with pytest.raises(NotSupported, match="has no tokens"):
            heads(opened, "")


def test_a_target_that_does_not_fit(written) -> None:
    opened = open_folder(written("marian"))
    with pytest.raises(NotSupported, match=r"The target has \d+ tokens, and the model knows 32 positions"):
        heads(opened, SENTENCE, target="the animal " * 40)


@pytest.mark.parametrize(
    ("family", "key"), [("llama", "model.layers.0.self_attn.o_proj.weight"), ("marian", "model.shared.weight")]
)
def test_numbers_that_grow_beyond_all_bounds(family, key, copied) -> None:
    folder = copied(family)
    state(lambda numbers: numbers.update({key: torch.full_like(numbers[key], 3e38)}))(folder)
    with pytest.raises(NotSupported, match="The model cannot read the sentence, for its own numbers do not let it: "):
        heads(open_folder(folder), SENTENCE)


def test_more_than_a_page_can_carry(written, monkeypatch) -> None:
    monkeypatch.setattr("tfm_lib.families.heads.MOST", 300)
    with pytest.raises(NotSupported, match=r"more than a page can carry; of this model it carries about 5 tokens"):
        heads(open_folder(written("gpt2")), "The animal was tired and cold.")


@pytest.mark.long
def test_a_page_stands_alone(written) -> None:
    made = page(open_folder(written("gpt2")), "</script><b>tired & cold</b>", written("gpt2"))
    assert made.count("<script") == made.count("</script>") == 5
    assert (
        "<b>tired" not in made
        and "http://" not in re.sub(r"http://www\.w3\.org/\S+", "", made)
        and "https://" not in made
    )
    state = json.loads(re.search(r'widget-state\+json">(.*?)</script>', made)[1])["state"]["w1"]["state"]
    assert "</" not in re.search(r'widget-state\+json">(.*?)</script>', made)[1]
    assert state["_module"] == "multihead/heads" and "<" in "".join(state["src_tokens"])
    assert not {"_esm", "layout", "_css"} & state.keys()


@pytest.mark.parametrize(
    ("family", "mixes"), [("gpt2", "transformer.h.1.attn.c_proj"), ("llama", "model.layers.1.self_attn.o_proj")]
)
def test_a_patched_head_does_what_it_does_in_theirs(family, mixes, written) -> None:
    import transformers

    opened, other, kept = open_folder(written(family)), "it was cold.", {}
    theirs = getattr(transformers, json.loads((written(family) / CONFIG).read_text())["architectures"][0])
    theirs = theirs.from_pretrained(written(family)).eval()

    def keep(_, inputs):
        kept["other"] = inputs[0][0, -1].clone()

    def put(_, inputs):
        X, width = inputs[0].clone(), inputs[0].shape[-1] // H
        X[0, -1, 2 * width : 3 * width] = kept["other"][2 * width : 3 * width]
        return (X,)

    def following(text, hook=None):
        handle = theirs.get_submodule(mixes).register_forward_pre_hook(hook) if hook else None
        with torch.no_grad():
            told = theirs(opened.ids(text)).logits[0, -1].softmax(dim=-1)
        if handle:
            handle.remove()
        return told

    following(other, keep)
    before, after = following(SENTENCE), following(SENTENCE, put)
    assert (before - after).abs().max() > 1e-5
    size = len(before)
    rows = patched(opened, SENTENCE, other, layer=2, head=3, most=size)
    want = before.sort(descending=True).indices
    assert_close(torch.tensor([row[1] for row in rows]), before[want], rtol=1e-4, atol=1e-6)
    assert_close(torch.tensor([row[2] for row in rows]), after[want], rtol=1e-4, atol=1e-6)
    assert all(one == two for _, one, two in patched(opened, SENTENCE, SENTENCE, layer=1, head=1))


@pytest.mark.parametrize(
    ("family", "said", "sentence"),
    [
        ("bert", {}, "not in BERT"),
        ("marian", {}, "not in Marian"),
        ("gpt2", {"layer": 3}, "no layer 3: this model's are 1 to 2"),
        ("gpt2", {"head": 0}, "no head 0"),
        ("gpt2", {"other": ""}, "no tokens"),
        ("gpt2", {"text": "the animal " * 40}, "the model knows"),
    ],
)
def test_what_cannot_be_patched_has_a_sentence(family, said, sentence, written) -> None:
    with pytest.raises(NotSupported, match=sentence):
        patched(open_folder(written(family)), **{"text": SENTENCE, "other": "cold", "layer": 1, "head": 1, **said})


# the command


def test_tfm_load_patches_a_head(written, tmp_path, monkeypatch, capsys) -> None:
    monkeypatch.chdir(tmp_path)
    load(written("llama"), SENTENCE, patch="2.3", other="it was cold.")
    shown = capsys.readouterr().out
    assert "head 3 of layer 2 patched" in shown and len(re.findall(r"%  *\d+\.\d%", shown)) >= 5
    assert not [*tmp_path.iterdir()]
    for one in ({"patch": "2.3"}, {"other": "cold"}, {"patch": "2", "other": "cold"}):
        with pytest.raises(Refusal, match="A patch needs a sentence"):
            load(written("llama"), SENTENCE, **one)


def tfm(*words: object, cwd: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "tfm_lib.cli", "load", *map(str, words)]
    return subprocess.run(command, cwd=cwd, capture_output=True, text=True, env={"PYTHONPATH": str(ROOT), "PATH": ""})


@pytest.mark.long
def test_tfm_load_writes_a_page(written, tmp_path) -> None:
    done = tfm(written("llama"), SENTENCE, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "Llama: 2 layers of 6 heads (2 of keys and values)" in done.stdout
    assert "heads.html: open it in a browser." in done.stdout
    assert "multihead/heads" in (tmp_path / "heads.html").read_text(encoding="utf-8")


def test_without_a_sentence_the_folder_is_checked(written, tmp_path, monkeypatch, capsys) -> None:
    monkeypatch.chdir(tmp_path)
    load(written("llama"))
    assert "Give it a sentence to see its heads" in capsys.readouterr().out and not [*tmp_path.iterdir()]


@pytest.mark.long
def test_tfm_load_says_what_stands_in_the_way(copied, tmp_path) -> None:
    folder = copied("gpt2")
    with pytest.raises(Refusal, match="page.html cannot be written .*Name another place"):
        load(folder, SENTENCE, to=tmp_path / "no" / "page.html")
    settings_changed(folder, model_type="mamba")
    done = tfm(folder, SENTENCE, cwd=tmp_path)
    assert done.returncode == 1
    assert "Traceback" not in done.stderr and "model_type is 'mamba'" in done.stderr


@pytest.mark.long
def test_nothing_of_theirs_is_needed_to_load(written, tmp_path) -> None:
    """transformers writes; the library reads without it."""
    code = f"""
import sys
sys.modules["transformers"] = None
from tfm_lib.families.commands import load
from tfm_lib.families.folder import open_folder
print(open_folder({str(written("gpt2"))!r}).ids("The animal").shape[0])
"""
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert done.stdout == "1\n", done.stderr
    for path in files("tfm_lib.families").iterdir():
        if path.name.endswith(".py"):
            assert "import transformers" not in path.read_text(encoding="utf-8")


def test_core_layers_are_what_they_are_made_of(written) -> None:
    """By composition: every layer is the core's EncoderLayer or DecoderLayer, with parts handed to its factories."""
    from tfm_lib.layers import DecoderLayer, EncoderLayer

    for family in FAMILIES:
        model = open_folder(written(family)).model
        stacks = [part for part in model.children() if isinstance(part, nn.ModuleList)]
        assert stacks and all(isinstance(layer, EncoderLayer | DecoderLayer) for stack in stacks for layer in stack)
    assert isinstance(open_folder(written("bert")), Opened)
