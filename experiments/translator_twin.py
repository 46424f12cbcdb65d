"""Compare the page's translator with the library's on sentences of the test split.

    TFM_DATA=… python -m experiments.translator_twin      # a minute; it needs node, and `npm ci` in frontend/

`Twin` runs the page's code in node; `Oracle` gives the library's results for the same sentences. `tests/widgets/test_twin.py`
runs both on sentences of our own. The result holds counts and differences, and no sentence of the corpus.
"""

import json
import os

os.environ.setdefault("OMP_NUM_THREADS", "1")  # before torch

import shutil
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch

from experiments.record import record
from experiments.translator_switches import drawn, fingerprint
from tfm_lib.decoding import Beam, Hypothesis, NextToken, beam_search, greedy_decode
from tfm_lib.engine.translator import Translator
from tfm_lib.positional import sinusoidal_encoding

NAME = "translator_twin"
SENTENCES = 100
FRONTEND = Path(__file__).parents[1] / "frontend"
MARGIN = 1e-3  # in log-probability: decisions closer than this may differ by rounding
KINDS = ("encoder", "decoder", "cross")


class Answer(NamedTuple):
    """Result of a task; `floats` holds the arrays concatenated."""

    told: Any
    floats: np.ndarray


@dataclass(frozen=True)
class Twin:
    """The model in `folder`, or the shipped one, as a page computes it; `plain` avoids the fast kernel."""

    folder: Path | None = None
    plain: bool = False
    runner: str = "twin_run.mjs"  # in `frontend/tests`

    def does(self, *tasks: dict[str, Any]) -> list[Answer]:
        """Return the answers to tasks of the runner."""
        job = {"model": self.folder and str(self.folder), "plain": self.plain, "tasks": tasks}
        path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
        node = shutil.which("node", path=path)
        assert node, "Node is missing: run `make test`, which installs it."
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            (folder / "job").write_text(json.dumps(job), encoding="utf-8")
            run = subprocess.run(
                [node, f"tests/{self.runner}", str(folder / "job"), name],
                cwd=FRONTEND,
                capture_output=True,
                text=True,
                check=False,
            )
            assert run.returncode == 0, run.stdout + run.stderr
            return [
                Answer(
                    json.loads((folder / f"{i}.json").read_text("utf-8")), np.fromfile(folder / f"{i}.f32", np.float32)
                )
                for i in range(len(tasks))
            ]


class Forced(NamedTuple):
    """Results under teacher forcing: logits, and weights by kind."""

    logits: torch.Tensor  # (n, v)
    weights: dict[str, torch.Tensor]  # each (n_layers, n_heads, queries, keys)


class Oracle:
    """The library's side. Sentences are batched by length, so that nothing is padded and each has its own limit."""

    def __init__(self, translator: Translator):
        self.translator, self.model, self.tokenizer = translator, translator.model, translator.tokenizer
        positions = self.model.embedding.positions
        assert isinstance(positions, torch.Tensor)
        room, d_model = positions.shape  # a truncated translation is read with its <bos>
        self.model.embedding.positions = sinusoidal_encoding(room + 1, d_model)

    def source(self, sentence: str) -> list[int]:
        return self.translator.ids(sentence)[0].tolist()

    def can(self, sentence: str) -> bool:
        return 0 < len(self.source(sentence)) - 1 <= self.translator.room()

    def _by_length(self, sentences: Iterable[str], search: Callable[[torch.Tensor], list[Any]]) -> dict[str, Any]:
        groups: dict[int, dict[str, list[int]]] = defaultdict(dict)
        for sentence in sentences:
            src = self.source(sentence)
            groups[len(src)][sentence] = src
        return {
            sentence: one
            for group in groups.values()
            for sentence, one in zip(group, search(torch.tensor([*group.values()])))
        }

    def greedy(self, sentences: Iterable[str]) -> dict[str, list[int]]:
        special = self.tokenizer.bos_id, self.tokenizer.eos_id

        def search(src: torch.Tensor) -> list[list[int]]:
            found = greedy_decode(self.model, src, *special, self.translator._longest(src)).tolist()
            return [row[: row.index(special[1])] if special[1] in row else row for row in found]

        return self._by_length(sentences, search)

    def beam(self, sentences: Iterable[str], beam: int = 4, alpha: float = 0.6) -> dict[str, list[Hypothesis]]:
        special = self.tokenizer.bos_id, self.tokenizer.eos_id
        return self._by_length(
            sentences, lambda src: beam_search(self.model, src, *special, beam, alpha, self.translator._longest(src))
        )

    @torch.no_grad()
    def logits(self, src: Sequence[int], ids: Sequence[int]) -> torch.Tensor:
        return self.model(torch.tensor([src]), torch.tensor([[self.tokenizer.bos_id, *ids]]))[0]

    @torch.no_grad()
    def forced(self, sentence: str, ids: Sequence[int]) -> Forced:
        src, tgt = torch.tensor([self.source(sentence)]), torch.tensor([[self.tokenizer.bos_id, *ids]])
        weights = self.model.all_weights(src, tgt)
        return Forced(self.logits(self.source(sentence), ids), {kind: weights[kind][0] for kind in KINDS})

    def text(self, sentence: str, ids: Sequence[int]) -> str:
        return self.tokenizer.decode(ids, self.tokenizer.unknown(sentence))

    def greedy_margin(self, sentence: str, ids: Sequence[int]) -> float:
        """Return the smallest margin of the library's greedy choices."""
        best = self.logits(self.source(sentence), ids).topk(2).values
        return float((best[:, 0] - best[:, 1]).min())

    @torch.no_grad()
    def beam_margin(self, sentence: str, beam: int = 4, alpha: float = 0.6) -> float:
        """Return the smallest margin of the library's beam search: what it kept, in which order, and the best."""
        src, special = self.translator.ids(sentence), (self.tokenizer.bos_id, self.tokenizer.eos_id)
        next_token, search = NextToken(self.model, src), Beam(*special, beam, alpha, self.translator._longest(src))
        least = float("inf")
        while not search.is_over:
            logits = next_token(torch.tensor(search.newest).unsqueeze(1)).log_softmax(dim=-1)
            log_p, tokens = logits.topk(beam + 1)
            before = torch.tensor([hypothesis.log_p for hypothesis in search.open]).unsqueeze(1)
            ways = (before + log_p).flatten().sort(descending=True).values[: beam + 1]
            least = min(least, float(-ways.diff().max()))
            rows = search.advance(tokens.tolist(), log_p.tolist())
            next_token.select(torch.tensor(rows, dtype=torch.long))
        scores = [hypothesis.score for hypothesis in search.found]
        return min([least, *(better - worse for better, worse in pairwise(scores))])


class Told(NamedTuple):
    """Comparison of a sentence's translations: the largest differences, and in `unequal` what is not equal."""

    unequal: list[str]
    logits: float
    weights: float
    scores: float
    told: float


def compared(oracle: Oracle, sentence: str, greedy: dict, beam: dict, numbers: "Numbers", own: dict[str, Any]) -> Told:
    """Compare the twin's greedy and beam translation of a sentence with the library's, `own`."""
    unequal = []
    if greedy["ids"] != own["greedy"]:
        unequal.append("greedy ids")
    elif greedy["translation"] != oracle.text(sentence, own["greedy"]):
        unequal.append("greedy text")
    if beam["ids"] != own["beam"][0].ids:
        unequal.append("beam ids")
    elif beam["translation"] != oracle.text(sentence, own["beam"][0].ids):
        unequal.append("beam text")
    elif [each["ids"] for each in beam["hypotheses"]] != [each.ids for each in own["beam"]]:
        unequal.append("the other hypotheses")
    elif [each["text"] for each in beam["hypotheses"]] != [oracle.text(sentence, each.ids) for each in own["beam"]]:
        unequal.append("the other texts")
    forced = oracle.forced(sentence, greedy["ids"])
    weights = [largest(numbers.take(value.shape), value) for value in forced.weights.values()]
    logits = largest(numbers.take(forced.logits.shape), forced.logits)
    pairs = zip(beam["hypotheses"], own["beam"])
    scores = [abs(ours[key] - theirs) for ours, h in pairs for key, theirs in (("score", h.score), ("logP", h.log_p))]
    return Told(unequal, logits, max(weights), max(scores), told_off(forced.logits, greedy, oracle))


def told_off(logits: torch.Tensor, found: dict, oracle: Oracle) -> float:
    """Return how far the twin's reported probabilities, of chosen and rival tokens, differ from the library's."""
    p, worst = logits.softmax(dim=-1), 0.0
    for row, told, token in zip(p, found["told"], [*found["ids"], oracle.tokenizer.eos_id]):
        best = row.topk(len(told["rivals"])).values
        worst = max(worst, abs(told["p"] - float(row[token])), largest([rival["p"] for rival in told["rivals"]], best))
    return worst


class Numbers:
    """Take arrays from the front of a float array, one after the other."""

    def __init__(self, floats: np.ndarray):
        self.floats, self.at = floats, 0

    def take(self, shape: Sequence[int]) -> torch.Tensor:
        begin, self.at = self.at, self.at + int(np.prod(shape))
        return torch.from_numpy(self.floats[begin : self.at].reshape(tuple(shape)))

    @property
    def is_empty(self) -> bool:
        return self.at == len(self.floats)


def largest(ours: Any, theirs: torch.Tensor) -> float:
    return float((torch.as_tensor(ours) - theirs).abs().max())


class Both:
    """Run twin and library on the same sentences, each on its own core."""

    def __init__(
        self, sentences: Sequence[str], twin: Twin = Twin(), translator: Translator | None = None, beam: int = 4
    ):
        self.oracle = oracle = Oracle(translator or Translator.shipped())
        self.sentences = [sentence for sentence in sentences if oracle.can(sentence)]
        self.refused = [sentence for sentence in sentences if not oracle.can(sentence)]
        self.beam = beam
        how = {"by": "beam", "beam": beam, "alpha": 0.6}
        tasks = [
            {"do": "about"},
            {"do": "translate", "sentences": self.sentences, "how": {"by": "greedy"}, "forced": True},
            {"do": "translate", "sentences": self.sentences, "how": how},
            {"do": "translate", "sentences": self.refused, "how": how},
        ]
        with ThreadPoolExecutor() as beside:
            answers = beside.submit(twin.does, *tasks)
            self.own = oracle.greedy(self.sentences), oracle.beam(self.sentences, beam)
            self.about, self.greedy, self.searched, self.left = answers.result()

    @cached_property
    def told(self) -> dict[str, Told]:
        (greedy, beams), numbers = self.own, Numbers(self.greedy.floats)
        found = {
            sentence: compared(
                self.oracle, sentence, ours, beam, numbers, {"greedy": greedy[sentence], "beam": beams[sentence]}
            )
            for sentence, ours, beam in zip(self.sentences, self.greedy.told, self.searched.told)
        }
        assert numbers.is_empty
        return found

    def unequal(self) -> dict[str, list[str]]:
        return {sentence: told.unequal for sentence, told in self.told.items() if told.unequal}

    def margins(self) -> dict[str, float]:
        """Return the library's smallest margin for each sentence that came out differently."""
        oracle = self.oracle
        return {
            sentence: min(
                oracle.greedy_margin(sentence, self.own[0][sentence]),
                oracle.beam_margin(sentence, self.beam),
            )
            for sentence in self.unequal()
        }

    def worst(self, what: str) -> float:
        return max(getattr(told, what) for told in self.told.values())


WHAT = (
    "The translator of the page (JavaScript and WebAssembly, run in node) beside the library's, on the sentences of Tatoeba's test split whose "
    "SHA-256 comes first: how many are cut into the same sub-words, translated into the same tokens and the same text, greedily and by a beam "
    "of 4; the largest difference in logits and attention weights when the greedy translation is given, in the scores of the hypotheses, "
    "and in the probabilities that are told beside a word. `margins`: of those that came out otherwise, by how little the library decided."
)


def main() -> None:
    torch.set_num_threads(1)
    with record(NAME, WHAT) as numbers, numbers.run("shipped", seed=1, updates=0):
        sentences = [*drawn(SENTENCES)]
        both = Both(sentences)
        (looked,) = Twin().does({"do": "look", "sentences": sentences})
        same = sum(
            [*ours["ids"], both.oracle.tokenizer.eos_id] == both.oracle.source(s)
            for ours, s in zip(looked.told, sentences)
        )
        wrong = [word for words in both.unequal().values() for word in words]
        numbers |= {
            "model": fingerprint(), "sentences": len(sentences),
            "equal": {
                "sub-words": same,
                "greedy": len(both.told) - wrong.count("greedy ids") - wrong.count("greedy text"),
                "beam": len(both.told) - wrong.count("beam ids") - wrong.count("beam text"),
            },
            "largest": {what: float(f"{both.worst(what):.2g}") for what in ("logits", "weights", "scores", "told")},
            "margins": [float(f"{margin:.2g}") for margin in both.margins().values()],
        }  # fmt: skip
        print(numbers["equal"], numbers["largest"], numbers["margins"])


if __name__ == "__main__":
    main()
