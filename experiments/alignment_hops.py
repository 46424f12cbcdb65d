"""Answer questions that need one or two facts with 1 to 3 hops: `python -m experiments.alignment_hops`, 2 minutes."""

import torch
import torch.nn.functional as F

from experiments.alignment_models import epochs
from experiments.record import record
from tfm_lib.alignment import MemoryNetwork
from tfm_lib.corpora import load_corpus, memory_tensors

SEEDS = list(range(8))
HOPS = (1, 2, 3)
STEPS, BATCH, LR, D_MODEL = 600, 128, 0.01, 32


def main() -> None:
    what = "Memory networks on questions: share of right answers on the test split, by hops and by facts needed"
    with record("alignment_hops", what) as result:
        corpus = load_corpus("questions")
        train = memory_tensors(corpus, corpus.split("train"))
        test = memory_tensors(corpus, corpus.split("test"))
        result |= {"steps": STEPS, "d_model": D_MODEL, "questions": len(test[0]), "one_fact": {}, "two_facts": {}}
        for n_hops in HOPS:
            arm, found = f"{n_hops} hop{'s' * (n_hops > 1)}", []
            for seed in SEEDS:
                with result.run(arm, seed, STEPS, epochs(corpus, STEPS, BATCH)):
                    found.append(accuracies(train, test, corpus, n_hops, seed))
            one, two = map(list, zip(*found))
            result["one_fact"][str(n_hops)], result["two_facts"][str(n_hops)] = one, two
            result.rows(arm, f"one_fact/{n_hops}", f"two_facts/{n_hops}")
            print(n_hops, one, two, flush=True)


def accuracies(train, test, corpus, n_hops: int, seed: int) -> tuple[float, float]:
    torch.manual_seed(seed)
    model = MemoryNetwork(len(corpus.src_vocab), len(corpus.tgt_vocab), D_MODEL, n_hops)
    optimiser = torch.optim.Adam(model.parameters(), lr=LR)
    facts, questions, answers, _ = train
    for _ in range(STEPS):
        batch = torch.randint(len(facts), (BATCH,))
        loss = F.cross_entropy(model(facts[batch], questions[batch])[0], answers[batch])
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    facts, questions, answers, needed = test
    with torch.no_grad():
        right = (model(facts, questions)[0].argmax(dim=-1) == answers).float()
    two = needed.sum(dim=1) == 2
    return round(right[~two].mean().item(), 4), round(right[two].mean().item(), 4)


if __name__ == "__main__":
    main()
