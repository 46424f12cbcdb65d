"""Folders as `save_pretrained` writes them: small models of every family with random weights, and tokenizers of their kinds."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

os.environ.setdefault("HF_HUB_OFFLINE", "1")  # nothing is looked for: every model is made here
os.environ.setdefault("TRANSFORMERS_VERBOSITY", "error")

import torch
import transformers
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

LINES = [
    "The animal didn't cross the street because it was too tired.",
    "The street was too wide for the animal, and the night was cold.",
    "Where is the nearest bakery, and who was tired of bread?",
]
SENTENCE = "The animal was tired."
FAMILIES = ("gpt2", "bert", "llama", "marian")
D, H, FF, LAYERS, ROOM = 24, 6, 40, 2, 32
SIZES = {"hidden_size": D, "num_attention_heads": H, "intermediate_size": FF, "num_hidden_layers": LAYERS}


def tokenizer_of(family: str) -> Tokenizer:
    """A small tokenizer of the kind that the family's folders hold."""
    if family == "bert":
        tokenizer = Tokenizer(models.WordPiece(unk_token="[UNK]"))
        tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
        tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
        tokenizer.decoder = decoders.WordPiece()
        special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
        tokenizer.train_from_iterator(LINES, trainers.WordPieceTrainer(vocab_size=90, special_tokens=special))
        ends = [(name, tokenizer.token_to_id(name)) for name in ("[CLS]", "[SEP]")]
        tokenizer.post_processor = processors.TemplateProcessing(
            single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1", special_tokens=ends
        )
        return tokenizer
    if family == "gpt2":
        tokenizer = Tokenizer(models.BPE())
        tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
        tokenizer.decoder = decoders.ByteLevel()
        letters = pre_tokenizers.ByteLevel.alphabet()
        trainer = trainers.BpeTrainer(vocab_size=300, special_tokens=["<|endoftext|>"], initial_alphabet=letters)
        tokenizer.train_from_iterator(LINES, trainer)
        return tokenizer
    tokenizer = Tokenizer(models.BPE(unk_token="<unk>"))
    tokenizer.pre_tokenizer, tokenizer.decoder = pre_tokenizers.Metaspace(), decoders.Metaspace()
    special = ["<unk>", "<s>", "</s>"] if family == "llama" else ["</s>", "<unk>", "<pad>"]
    tokenizer.train_from_iterator(LINES, trainers.BpeTrainer(vocab_size=90, special_tokens=special))
    first = [("<s>", 1)] if family == "llama" else [("</s>", 0)]
    tokenizer.post_processor = processors.TemplateProcessing(
        single="<s> $A" if family == "llama" else "$A </s>", special_tokens=first
    )
    return tokenizer


def model_of(family: str, vocab_size: int, **more: Any) -> transformers.PreTrainedModel:
    """Theirs, every parameter drawn at random."""
    made, sizes = {
        "gpt2": (
            transformers.GPT2LMHeadModel,
            {"n_embd": D, "n_head": H, "n_layer": LAYERS, "n_positions": ROOM, "bos_token_id": 0, "eos_token_id": 0},
        ),
        "bert": (transformers.BertForMaskedLM, {"max_position_embeddings": ROOM, **SIZES}),
        "llama": (
            transformers.LlamaForCausalLM,
            {"max_position_embeddings": ROOM, "num_key_value_heads": 2, **SIZES},
        ),
        "marian": (
            transformers.MarianMTModel,
            {
                **{f"{side}_{name}": size for side in ("encoder", "decoder")
                   for name, size in (("layers", LAYERS), ("attention_heads", H), ("ffn_dim", FF))},
                "d_model": D, "max_position_embeddings": ROOM, "pad_token_id": 2, "decoder_start_token_id": 2,
                "eos_token_id": 0, "forced_eos_token_id": None,
            },
        ),
    }[family]  # fmt: skip
    config = made.config_class(vocab_size=vocab_size, **{**sizes, **more})
    with torch.random.fork_rng(devices=[]), torch.no_grad():
        torch.manual_seed(0)
        model = made(config).eval()
        for name, numbers in [*model.named_parameters(), *model.named_buffers()]:
            if "embed_positions" not in name and numbers.is_floating_point() and "inv_freq" not in name:
                numbers.copy_(torch.randn_like(numbers) * 0.3)
    return model


def folder_of(family: str, place: Path, dtype: torch.dtype = torch.float32, **more: Any) -> Path:
    """A folder with config.json, model.safetensors and tokenizer.json."""
    transformers.utils.logging.set_verbosity_error()
    transformers.utils.logging.disable_progress_bar()
    tokenizer = tokenizer_of(family)
    shard = {"max_shard_size": more.pop("max_shard_size")} if "max_shard_size" in more else {}
    model = model_of(family, tokenizer.get_vocab_size(), **more).to(dtype)
    model.save_pretrained(place, **shard)
    tokenizer.save(str(place / "tokenizer.json"))
    return place


def settings_changed(place: Path, **changes: Any) -> None:
    """Write other values into config.json; None removes one."""
    path = place / "config.json"
    settings = {**json.loads(path.read_text(encoding="utf-8")), **changes}
    path.write_text(json.dumps({key: value for key, value in settings.items() if value is not None}), encoding="utf-8")
