"""Numbers of the widget of chapter `decoding`, as tfm_lib computes them."""

import torch

from tfm_lib.widgets.decoding import BeamTree, Sampling, beam_tree, phrase, search


def random_tree(seed: int) -> dict:
    """A language of six pieces whose next one depends on all before."""
    pieces = ["<eos>", "▁un", "▁chat", "s", "▁dort", "ait"]

    def next_log_p(paths: list[list[str]]) -> list[dict[str, float]]:
        follow = []
        for path in paths:
            place = sum((i + 1) * (pieces.index(piece) + 7) for i, piece in enumerate(path))
            chance = torch.Generator().manual_seed(1000 * seed + place)
            log_p = (1.5 * torch.randn(6, generator=chance, dtype=torch.double)).log_softmax(-1)
            follow.append(dict(zip(pieces, log_p.tolist())))
        return follow

    return beam_tree(next_log_p, f"source {seed}", widest=5, max_len=9)


def numbers() -> dict:
    """Whole searches, step by step: what is kept, what falls off, what wins."""
    cases = []
    rain = BeamTree()
    trees = [{name: getattr(rain, name) for name in ("tree", "tokens", "widest", "max_len")}]
    for made in trees + [random_tree(seed) for seed in range(6)]:
        runs = []
        for width in range(1, made["widest"] + 1):
            for alpha in (0.0, 0.3, 0.6, 1.0):
                beam, steps = search(made["tree"], width, alpha, made["max_len"])
                kept = [[[way.path, way.log_p] for way in ways if way.kept] for ways in steps]
                fallen = [[[way.path, way.log_p] for way in ways if not way.kept][:3] for ways in steps]
                found = [[h.ids, h.log_p, h.score, phrase(made["tokens"], h.ids)] for h in beam.found]
                runs.append({"width": width, "alpha": alpha, "kept": kept, "fallen": fallen, "found": found})
        cases.append({"tree": made["tree"], "tokens": made["tokens"], "max_len": made["max_len"], "runs": runs})
    return {"cases": cases, "cuts": cuts(), "looked_at": looked_at()}


def cuts() -> list[dict]:
    """What temperature, top-k and top-p leave of distributions, large and small, some with equal logits."""
    torch.manual_seed(0)
    made = []
    for logits in (
        torch.tensor([1.0]),
        torch.tensor([1.0, 1, 0, 0, 0]),
        3 * torch.randn(300).sort(descending=True).values,
    ):
        for settings in (
            {},
            {"value": 0.1},
            {"value": 2.0, "top_k": 3},
            {"top_p": 0.8},
            {"value": 1.5, "top_k": 100, "top_p": 0.5},
        ):
            widget = Sampling(logits, **settings)
            now = {"value": widget.value, "top_k": widget.top_k, "top_p": widget.top_p}
            made.append({"steps": widget.steps, **now, "p": widget.distribution().tolist()})
    return made


def looked_at() -> dict:
    """One head's weights, and the mean of all, of layers drawn at random."""
    torch.manual_seed(3)
    layers = torch.rand(2, 3, 4, 5, dtype=torch.double).softmax(-1)
    choices = [(layer, head) for layer in range(2) for head in range(4)]
    wanted = [layers[layer, head - 1] if head else layers[layer].mean(dim=0) for layer, head in choices]
    return {"layers": layers.tolist(), "chosen": [[*choice, rows.tolist()] for choice, rows in zip(choices, wanted)]}
