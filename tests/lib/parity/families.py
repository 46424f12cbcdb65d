"""Whole models of other families beside Hugging Face's, on the state that it writes: the rows of the parity table.

Each of theirs has every parameter drawn anew, biases and norms included, is written by `save_pretrained` and read by
`tfm_lib.families`. All is in double precision: where theirs asks for single, it is given double, so that what is left
is rounding.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

os.environ.setdefault("HF_HUB_OFFLINE", "1")  # nothing is looked for: every model is made here
os.environ.setdefault("TRANSFORMERS_VERBOSITY", "error")

import torch
import transformers
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from tfm_lib.decoding import NextToken
from tfm_lib.families.folder import read_model
from tfm_lib.families.marian import Marian

BAR = 1e-8
V, D, H, FF, LAYERS, ROOM, PAD = 31, 24, 6, 40, 3, 32, 30
BATCH, N, M = 3, 7, 9
SEEDS = (0, 1, 2)
LENGTHS = (9, 6, 2)  # of the sentences in a padded batch


class Double(TorchFunctionMode):
    """Whoever asks for single precision is given double."""

    def __torch_function__(self, function: Callable, types: Any, args: tuple = (), kwargs: dict | None = None) -> Any:
        if function is Tensor.float:
            function = Tensor.double
        given = [torch.float64 if arg is torch.float32 else arg for arg in args]
        named = {key: torch.float64 if arg is torch.float32 else arg for key, arg in (kwargs or {}).items()}
        return function(*given, **named)


@contextmanager
def in_double(seed: int = 0) -> Iterator[None]:
    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)
    try:
        with torch.random.fork_rng(devices=[]), torch.no_grad(), Double():
            torch.manual_seed(seed)
            yield
    finally:
        torch.set_default_dtype(before)


@dataclass(frozen=True)
class Row:
    """A line of the table: the largest differences of the logits, and what was tried."""

    family: str
    parameters: int
    whole: float
    right: float
    left: float
    weights: float
    cache: float | None  # of step by step against theirs whole
    prediction: float  # the largest of theirs, beside which a difference is small

    @property
    def largest(self) -> float:
        return max(self.whole, self.right, self.left, self.weights, self.cache or 0.0)


def redrawn(theirs: nn.Module, spread: float = 0.3) -> nn.Module:
    """`theirs` in evaluation, every parameter and the bias of the logits drawn anew: no bias is 0, no gain is 1."""
    theirs = theirs.double().eval()
    drawn = [*theirs.parameters(), *(b for name, b in theirs.named_buffers() if name == "final_logits_bias")]
    for numbers in drawn:
        numbers.copy_(torch.randn_like(numbers) * spread)
    return theirs


def gpt2(**more: Any) -> nn.Module:
    sizes = {"n_embd": D, "n_head": H, "n_inner": FF, "n_layer": LAYERS, "n_positions": ROOM}
    return transformers.GPT2LMHeadModel(
        transformers.GPT2Config(vocab_size=V, bos_token_id=0, eos_token_id=0, **sizes, **more)
    )


def bert(**more: Any) -> nn.Module:
    sizes = {"hidden_size": D, "num_attention_heads": H, "intermediate_size": FF, "num_hidden_layers": LAYERS}
    return transformers.BertForMaskedLM(
        transformers.BertConfig(vocab_size=V, max_position_embeddings=ROOM, **sizes, **more)
    )


def llama(**more: Any) -> nn.Module:
    sizes = {"hidden_size": D, "num_attention_heads": H, "intermediate_size": FF, "num_hidden_layers": LAYERS}
    return transformers.LlamaForCausalLM(
        transformers.LlamaConfig(vocab_size=V, max_position_embeddings=ROOM, **sizes, **more)
    )


def marian(**more: Any) -> nn.Module:
    sides = {f"{side}_{name}": size for side in ("encoder", "decoder")
             for name, size in (("layers", LAYERS), ("attention_heads", H), ("ffn_dim", FF))}  # fmt: skip
    ids = {"pad_token_id": PAD, "decoder_start_token_id": PAD, "eos_token_id": 0, "forced_eos_token_id": None}
    settings = {"activation_function": "swish", "scale_embedding": True, **sides, **ids, **more}
    config = transformers.MarianConfig(vocab_size=V, d_model=D, max_position_embeddings=ROOM, **settings)
    theirs = transformers.MarianMTModel(config)
    for side in (theirs.model.encoder, theirs.model.decoder):  # a table of single precision there
        rate = 10_000.0 ** (-2 * (torch.arange(D) // 2) / D)
        turned = torch.arange(ROOM)[:, None] * rate
        sines_then_cosines = torch.cat([turned[:, 0::2].sin(), turned[:, 1::2].cos()], dim=-1)
        side.embed_positions.weight = nn.Parameter(sines_then_cosines, requires_grad=False)
    return theirs


#: the table's rows: what it says → theirs, with the eager attention that gives weights
CASES: dict[str, Callable[[], nn.Module]] = {
    "GPT-2, tied": gpt2,
    "GPT-2, untied output": lambda: gpt2(tie_word_embeddings=False),
    "GPT-2, exact GELU": lambda: gpt2(activation_function="gelu"),
    "BERT, tied": bert,
    "BERT, untied output": lambda: bert(tie_word_embeddings=False),
    "Llama, 6 heads, 6 of keys, untied": llama,
    "Llama, 6 heads, 2 of keys, untied": lambda: llama(num_key_value_heads=2),
    "Llama, 6 heads, 1 of keys, tied": lambda: llama(num_key_value_heads=1, tie_word_embeddings=True),
    "Llama, base 500 000": lambda: llama(
        num_key_value_heads=3, rope_parameters={"rope_type": "default", "rope_theta": 500_000.0}
    ),
    "Marian, one matrix for all": marian,
    "Marian, two vocabularies": lambda: marian(share_encoder_decoder_embeddings=False, decoder_vocab_size=V + 4),
    "Marian, nothing tied, not scaled": lambda: marian(tie_word_embeddings=False, scale_embedding=False),
}


def row(case: str, folder: Path, seed: int = 0) -> Row:
    """Ours beside theirs, written to `folder` and read from there."""
    transformers.utils.logging.set_verbosity_error()
    transformers.utils.logging.disable_progress_bar()
    with in_double(seed):
        theirs = CASES[case]()
        positions = [side.embed_positions.weight for side in _sides(theirs)]
        kept = [table.clone() for table in positions]
        theirs = redrawn(theirs)
        for table, numbers in zip(positions, kept):
            table.copy_(numbers)
        theirs.set_attn_implementation("eager")
        theirs.save_pretrained(folder)
        ours, notes = read_model(folder, dtype=torch.float64)
        assert all(parameter.dtype == torch.float64 for parameter in ours.parameters()), notes
        compared = _translations if isinstance(ours, Marian) else _texts
        return compared(case, ours, theirs)


def _sides(theirs: nn.Module) -> list[nn.Module]:
    return [theirs.model.encoder, theirs.model.decoder] if isinstance(theirs, transformers.MarianMTModel) else []


def apart(ours: Tensor, theirs: Tensor) -> float:
    assert ours.shape == theirs.shape, (ours.shape, theirs.shape)
    assert ours.dtype == theirs.dtype == torch.float64, (ours.dtype, theirs.dtype)
    return (ours - theirs).abs().max().item()


def padded(side: str) -> Tensor:
    """Which places of a batch hold tokens, (BATCH, M), the padding on that side."""
    places = torch.arange(M) if side == "right" else torch.arange(M).flip(0)
    return places < torch.tensor(LENGTHS)[:, None]


def _texts(case: str, ours: nn.Module, theirs: nn.Module) -> Row:
    """A model that reads one text. Theirs is told the positions of the tokens where it does not count them itself."""
    ids = torch.randint(0, V, (BATCH, M))
    want = theirs(input_ids=ids, output_attentions=True)
    whole, weights = apart(ours(ids), want.logits), apart(ours.all_weights(ids), torch.stack(want.attentions, dim=1))
    sides = {}
    for side in ("right", "left"):
        real = padded(side)
        place = (real.cumsum(-1) - 1).clamp(min=0)
        told = theirs(input_ids=ids, attention_mask=real.long(), position_ids=place).logits
        sides[side] = apart(ours(ids, real)[real], told[real])
    cache = _in_steps(ours, theirs, ids) if hasattr(ours, "caches") else None
    return Row(case, _count(ours), whole, sides["right"], sides["left"], weights, cache, want.logits.abs().max().item())


def _in_steps(ours: nn.Module, theirs: nn.Module, ids: Tensor) -> float:
    """One token at a time, and a padded beginning and then one at a time: against theirs whole and in the same steps."""
    gap = 0.0
    for real, first in ((torch.ones(BATCH, M).bool(), 1), (torch.arange(M) >= torch.tensor([[0], [1], [2]]), 3)):
        place = (real.cumsum(-1) - 1).clamp(min=0)
        whole = theirs(input_ids=ids, attention_mask=real.long(), position_ids=place).logits
        caches, past, begin = ours.caches(), None, 0
        for end in range(first, M + 1):
            got = ours(ids[:, begin:end], real[:, :end], caches)
            step = theirs(
                input_ids=ids[:, begin:end],
                attention_mask=real[:, :end].long(),
                position_ids=place[:, begin:end],
                past_key_values=past,
                use_cache=True,
            )
            told = real[:, begin:end]
            gap = max(gap, apart(got[told], whole[:, begin:end][told]), apart(got[told], step.logits[told]))
            past, begin = step.past_key_values, end
        assert caches[0].K.shape[:3] == (BATCH, getattr(theirs.config, "num_key_value_heads", H), M)
    return gap


def _translations(case: str, ours: Marian, theirs: nn.Module) -> Row:
    """A model that reads a source and writes a target. Theirs counts padding on the left as positions, and cannot be
    told otherwise, so that there it reads each source alone."""
    src, tgt = torch.randint(1, PAD, (BATCH, M)), torch.randint(1, PAD, (BATCH, N))
    tgt[:, 0] = PAD
    want = theirs(input_ids=src, decoder_input_ids=tgt, output_attentions=True)
    whole, kept = apart(ours(src, tgt), want.logits), ours.all_weights(src, tgt)
    weights = max(
        apart(kept[ours_name], torch.stack(getattr(want, f"{name}_attentions"), dim=1))
        for ours_name, name in (("encoder", "encoder"), ("decoder", "decoder"), ("cross", "cross"))
    )
    sides = {}
    for side in ("right", "left"):
        real = padded(side)
        given = src.masked_fill(~real, PAD)
        rows = [
            theirs(input_ids=given[i : i + 1, real[i]], decoder_input_ids=tgt[i : i + 1]).logits for i in range(BATCH)
        ]
        sides[side] = apart(ours(given, tgt), torch.cat(rows))
        if side == "right":
            told = theirs(input_ids=given, attention_mask=real.long(), decoder_input_ids=tgt).logits
            sides[side] = max(sides[side], apart(ours(given, tgt), told))
    ask = NextToken(ours, src)
    steps = torch.stack([ask(tgt[:, i : i + 1]) for i in range(N)], dim=1)
    cache = apart(steps, want.logits)
    return Row(case, _count(ours), whole, sides["right"], sides["left"], weights, cache, want.logits.abs().max().item())


def _count(model: nn.Module) -> int:
    return sum(parameter.numel() for parameter in model.parameters())


def printed(rows: list[Row]) -> str:
    """The table as text."""
    heads = " ".join(f"{head:>9}" for head in ("whole", "pad right", "pad left", "weights", "cache"))
    lines = [f"{'largest difference of logits':34} {'parameters':>10} {heads}"]
    for each in rows:
        numbers = (each.whole, each.right, each.left, each.weights, each.cache)
        told = " ".join(f"{'–' if number is None else f'{number:.1e}':>9}" for number in numbers)
        lines.append(f"{each.family:34} {each.parameters:10} {told}")
    return "\n".join(lines)
