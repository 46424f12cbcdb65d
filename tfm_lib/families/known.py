"""Register the model families by their `model_type` in config.json."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from tfm_lib.families import bert, gpt2, llama, marian
from tfm_lib.families.settings import NotSupported
from tfm_lib.families.weights import Place, fill


@dataclass(frozen=True)
class Family:
    """How to build a model of one family from `config.json`, and how its parameters map to their state."""

    name: str
    made: Callable[[Any], nn.Module]
    config_of: Callable[[dict[str, Any]], Any]
    table: Callable[[Any], dict[str, Place]]
    prefix: str
    passed_over: Callable[[Any], tuple[str, ...]]
    named: Callable[[str], str] = str


FAMILIES = {
    "gpt2": Family("GPT-2", gpt2.GPT2, gpt2.config_of, gpt2.table, gpt2.PREFIX, lambda _: gpt2.PASSED_OVER),
    "bert": Family(
        "BERT",
        bert.Bert,
        bert.config_of,
        bert.table,
        bert.PREFIX,
        lambda config: bert.PASSED_OVER + (() if config.tied else (bert.UNTIED_BIAS,)),
        bert.named,
    ),
    "llama": Family("Llama", llama.Llama, llama.config_of, llama.table, llama.PREFIX, lambda _: llama.PASSED_OVER),
    "marian": Family(
        "Marian",
        marian.Marian,
        marian.config_of,
        marian.table,
        marian.PREFIX,
        lambda config: marian.PASSED_OVER + (() if config.tied else (marian.UNREAD,)),
    ),
}


def family_of(settings: dict[str, Any]) -> Family:
    """Return the family of a config.json; raises `NotSupported` if it is not a known one."""
    kind = settings.get("model_type")
    if "model_type" not in settings and "model" in settings:
        raise NotSupported(
            "config.json: there is no model_type. Is it a model that tfm train wrote? "
            "Then: tfm translate --model FOLDER --attention WEIGHTS.json"
        )
    if not isinstance(kind, str) or kind not in FAMILIES:
        told = f"model_type is {kind!r}" if "model_type" in settings else "there is no model_type"
        raise NotSupported(f"config.json: {told}; the families that can be loaded are {', '.join(FAMILIES)}.")
    if settings.get("quantization_config") is not None:
        raise NotSupported("config.json: the weights are quantised (quantization_config), which is not supported.")
    return FAMILIES[kind]


def from_state(
    settings: dict[str, Any], state: Mapping[str, Tensor], dtype: torch.dtype = torch.float32
) -> tuple[nn.Module, list[str]]:
    """Build the model of these settings with the weights of `state`; also return the keys that the model does not use.

    `settings` are what `transformers` writes into config.json (`model.config.to_dict()`), `state` its `state_dict()`.
    The model is in evaluation mode.
    """
    family = family_of(settings)
    config = family.config_of(settings)
    with torch.device("meta"):  # shapes only; the values come from the state
        model = family.made(config)
    named = {family.named(key): key for key in state}
    table = family.table(config)
    skipped = fill(model, Renamed(state, named), table, family.prefix, family.passed_over(config), dtype)
    return model.eval(), skipped


class Renamed(Mapping[str, Tensor]):
    """A view of a state under other names; each tensor is read on request."""

    def __init__(self, state: Mapping[str, Tensor], names: Mapping[str, str]):
        self.state, self.names = state, names

    def __getitem__(self, name: str) -> Tensor:
        return self.state[self.names[name]]

    def __contains__(self, name: object) -> bool:
        return name in self.names

    def __iter__(self):
        return iter(self.names)

    def __len__(self) -> int:
        return len(self.names)
