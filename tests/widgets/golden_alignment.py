"""Numbers of the alignment widget, as tfm_lib computes them."""

import torch

from tfm_lib.alignment import MemoryNetwork
from tfm_lib.corpora import load_corpus
from tfm_lib.widgets.alignment import MemoryHops, sentence_error_rate, walks_of


def numbers() -> dict:
    generator = torch.Generator().manual_seed(0)
    cases = []
    for name in ("dates", "numbers", "copy"):
        for pair in load_corpus(name, size=40).pairs:
            shape = len(pair.tgt), len(pair.src) + 1
            weights = torch.randn(shape, generator=generator, dtype=torch.float64)
            for i, j in pair.links | pair.possible:
                weights[i, j] += 2  # so that some are found
            cases.append((weights.mul(2).softmax(dim=-1), sorted(pair.links), sorted(pair.possible)))
    cases.append((torch.full((2, 3), 1 / 3), [(0, 0), (1, 2)], []))  # equal weights: the first counts
    corpus = load_corpus("questions", size=30)
    sizes = len(corpus.src_vocab), len(corpus.tgt_vocab)
    torch.manual_seed(0)
    networks = [MemoryNetwork(*sizes, d_model=8, n_hops=n_hops) for n_hops in (1, 2)]
    for network in networks:  # far from plain means
        for weight in network.parameters():
            torch.nn.init.normal_(weight)
    stories = MemoryHops(walks_of(networks, corpus, corpus.pairs)).stories
    walks = [walk["weights"] for story in stories for walk in story["walks"]]
    return {
        "walks": [{"weights": w, "path": [int(torch.tensor(row).argmax()) for row in w]} for w in walks],
        "sentences": [
            {"weights": w.tolist(), "links": links, "possible": may, "rate": sentence_error_rate(w, links, may)}
            for w, links, may in cases
        ],
    }
