"""Train the model of each chapter of Parts I and II on one task, and score what each chapter's part adds.

English to French on Tatoeba, with the same sub-words and number of updates for all, and vectors of width 128. A row is
the model built up to its chapter; from `self_attention` on, a row keeps what the rows above it have. For each row
three learning rates are tried with seed 0 (for the two deepest, three more between the first two), and the one with
the best BLEU on the validation part is run with two more seeds; the scores are from the test part, decoded greedily.
Not every row is trained to convergence, and later rows have more parameters, so the board shows only the order of
magnitude of each part's effect.

    TFM_RUNS=trained python -m experiments.scoreboard
"""

from collections.abc import Callable
from dataclasses import replace
from functools import cache, partial
from typing import Any

import torch
from torch import Tensor, nn

from experiments.evaluation_models import Model, Recurrent
from experiments.evaluation_runs import Data, corpus_scores, trained
from experiments.pair_samples import sample_of
from experiments.record import Made, Record, piece, record
from tfm_lib.attention import AdditiveScore, scaled_dot_score
from tfm_lib.corpora import load_corpus
from tfm_lib.data import Tokenizer
from tfm_lib.engine.run import plain_examples
from tfm_lib.engine.trainer import TrainOptions
from tfm_lib.transformer import Memory, Transformer, TransformerConfig

NAME = "scoreboard"
SEEDS, RATES, STEPS, JUDGED = [0, 1, 2], [2e-3, 6e-3, 1.2e-2], 600, 1000  # JUDGED: sentences at most
FINER = {chapter: [3e-3, 4e-3, 5e-3] for chapter in ("layers", "transformer")}
OPTIONS = TrainOptions(
    max_tokens=2048, steps=STEPS, schedule="cosine", warmup=100, epsilon=0.1, average=0.99, clock="cpu"
)
CONFIG = TransformerConfig(4000, d_model=128, n_heads=1, d_ff=512, n_layers=2, norm="pre", dropout=0.0)


class LookUp(nn.Module):
    """The scaled dot product without learned parameters."""

    def forward(self, queries: Tensor, keys: Tensor) -> Tensor:
        return scaled_dot_score(queries, keys)


class SeesAll(Transformer):
    """A Transformer without a causal mask: each position sees the words that it should predict."""

    def decode(self, tgt_ids: Tensor, memory: Memory, caches: Any = None) -> Tensor:
        Y = self.embedding(tgt_ids)
        for layer in self.decoder:
            Y, _ = layer(Y, memory.H, None, memory.mask)
        return self.decoder_norm(Y)


class Nothing(nn.Module):
    """A sub-layer that adds nothing to the residual stream."""

    def forward(self, X: Tensor) -> Tensor:
        return torch.zeros_like(X)


def recurrent(config: TransformerConfig, score: Callable[[int], nn.Module] | None) -> Recurrent:
    """Return an encoder–decoder of two one-layer GRUs; without `score` there is no attention, only the final state."""
    model = Recurrent(replace(config, n_layers=1), attends=score is not None)
    if score:
        model.score = score(config.d_model)
    return model


#: Attention only, added to the residual: no norm, no feed-forward network.
BARE = {
    "feed_forward": lambda d_model, d_ff: Nothing(),
    "norm_layer": lambda d_model: nn.Identity(),
}
#: Factory of each chapter's model, given the sizes.
ROWS: dict[str, Callable[[TransformerConfig], Model]] = {
    "recurrence": lambda config: recurrent(config, None),
    "attention": lambda config: recurrent(config, lambda d: LookUp()),
    "alignment": lambda config: recurrent(config, lambda d: AdditiveScore(d, d, d)),
    "self_attention": lambda config: SeesAll(config, **BARE, positions=torch.zeros),
    "masking": lambda config: Transformer(config, **BARE, positions=torch.zeros),
    "multihead": lambda config: Transformer(replace(config, n_heads=4), **BARE, positions=torch.zeros),
    "positional": lambda config: Transformer(replace(config, n_heads=4), **BARE),
    "layers": lambda config: Transformer(replace(config, n_heads=4)),
    "transformer": lambda config: Transformer(replace(config, n_heads=4, n_layers=4)),
}


@cache
def data() -> Data:
    """Load Tatoeba, English to French, with sub-words shared by both sides; scored sentences are a fixed sample."""
    corpus = load_corpus("tatoeba-en-fr")
    train, val = corpus.sentences("train"), sample_of(corpus.sentences("val"), JUDGED, seed=0)
    tokenizer = Tokenizer.train((side for pair in sample_of(train, 40_000, seed=0) for side in pair), 4000)
    return Data(tokenizer, plain_examples(tokenizer, train), plain_examples(tokenizer, val), val)


def made(chapter: str) -> Model:
    return ROWS[chapter](replace(CONFIG, vocab_size=len(data().tokenizer)))


def run(
    chapter: str, rate: float, seed: int, *, name: str = NAME, options: TrainOptions | None = None
) -> dict[str, Any]:
    """Train once, with `OPTIONS` if no others are given; return BLEU and chrF on the validation and test parts."""
    key = f"{chapter}, {rate:g}, seed {seed}"

    def make() -> Made:
        model, took = trained(
            name, key, partial(made, chapter), replace(options or OPTIONS, peak=rate, seed=seed), data()
        )
        took["val"], _ = corpus_scores(model, data().val_pairs, 1, data().tokenizer)
        test = sample_of(load_corpus("tatoeba-en-fr").sentences("test"), JUDGED, seed=0)
        took["test"], took["written"] = corpus_scores(model, test, 1, data().tokenizer)
        return took, None

    return {"rate": rate, **piece(name, key, make)}


def row(chapter: str) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Return the runs of a chapter: seed 0 with each rate, and every seed with the best one."""
    tried = [run(chapter, rate, SEEDS[0]) for rate in sorted([*RATES, *FINER.get(chapter, [])])]
    best = max(tried, key=lambda one: one["val"]["bleu"])
    return tried, [best, *(run(chapter, best["rate"], seed) for seed in SEEDS[1:])]


def kept(one: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in one.items() if key not in ("written", "machine")}


def entered(numbers: Record, chapter: str) -> dict[str, Any]:
    """Record a chapter's runs and return its entry on the board."""
    tried, runs = row(chapter)
    for one in tried:
        spent = one["training_cpu_seconds"]
        numbers.ran(f"{chapter}, {one['rate']:g}", one["seed"], one["updates"], one["epochs"], spent, "rates")
    for one in runs:
        numbers.ran(chapter, one["seed"], one["updates"], one["epochs"], one["training_cpu_seconds"])
    print(chapter, runs[0]["rate"], [one["test"]["bleu"] for one in runs], flush=True)
    example = runs[0]["written"][:5]
    return {"rates": [kept(one) for one in tried], "runs": [kept(one) for one in runs], "written": example}


WHAT = (
    "The machines of Parts I and II on one task, English to French on Tatoeba: 128 numbers a word, 600 updates of some 2,048 target "
    "tokens, the best of three learning rates by BLEU on the validation part (seed 0; of six in the two deepest rows, the rates between "
    "having been added later). BLEU and chrF by sacrebleu on the test part, written greedily; perplexity on the validation part. written: "
    "what the first seed makes of the first five of the test sentences."
)


def main() -> None:
    torch.set_num_threads(1)
    with record(NAME, WHAT) as numbers:
        test = sample_of(load_corpus("tatoeba-en-fr").sentences("test"), JUDGED, seed=0)
        numbers["judged"] = len(test)
        numbers["sources"] = len({english for english, _ in test})
        numbers["chapters"] = {chapter: entered(numbers, chapter) for chapter in ROWS}
        numbers["sentences"] = [list(pair) for pair in test[:5]]
        for chapter in ROWS:
            numbers.rows(chapter, f"chapters/{chapter}/runs")


if __name__ == "__main__":
    main()
