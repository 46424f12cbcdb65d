"""The numbers that widgets show in the browser, in a few states each, beside what `tfm_lib` computes and their stills draw."""

import math
import re
from collections.abc import Iterator
from importlib import import_module

import matplotlib.pyplot as plt
import numpy as np
import pytest
import torch
from tiers import SPREAD, every, params
from torch.testing import assert_close
from widgets.picture_numbers import numbers
from widgets.samples import MODULES, made, sample, samples
from widgets.samples.recurrence import drawn_words

from browser.bench import Bench, bench
from browser.driving import Widget
from tfm_lib.alignment import alignment_error_rate
from tfm_lib.attention import attention
from tfm_lib.decoding import length_penalty
from tfm_lib.positional import sinusoidal_encoding
from tfm_lib.self_attention import entropy, softmax_jacobian
from tfm_lib.training import label_smoothed_loss, smoothed_targets, warmup_lr
from tfm_lib.widgets import decoding as beams
from tfm_lib.widgets._typed import typed
from tfm_lib.widgets.attention import SCORES, score_function
from tfm_lib.widgets.base import Widget as BookWidget
from tfm_lib.widgets.base import as_read
from tfm_lib.widgets.data import MergeSteps
from tfm_lib.widgets.masking import MOST, PRESETS, preset_mask
from tfm_lib.widgets.multihead import HeadAblation, habits
from tfm_lib.widgets.recurrence import GradientReach, path
from tfm_lib.widgets.self_attention import KEPT, SoftmaxSaturation
from tfm_lib.widgets.training import TrainingReplay, rates
from tfm_lib.widgets.transformer import PRESETS as MACHINES
from tfm_lib.widgets.transformer import ModelSize


def tensor(rows) -> torch.Tensor:
    return torch.tensor(rows, dtype=torch.float64)


def assert_shows(text: str, *expected: float) -> None:
    """The numbers of `text` are the expected ones, as far as their digits go."""
    shown = numbers(text)
    assert len(shown) == len(expected), f"{text!r} holds {len(shown)} numbers, not {len(expected)}"
    for (number, half), value in zip(shown, expected, strict=True):
        assert abs(number - value) <= half * (1 + 1e-6) + 1e-12, f"{text!r} should show {value:.6g}"


def test_numbers_are_read_as_they_are_written() -> None:
    assert numbers("−0.50 · 3·10⁻⁵ · 10⁻⁴ · 12") == [(-0.5, 0.005), (3e-5, 0.5e-5), (1e-4, 0.5e-4), (12.0, 0.5)]
    with pytest.raises(AssertionError):
        assert_shows("weight 0.44", 0.45)


def attention_weights(widget: Widget) -> None:
    model = widget.model()
    tokens, keys, weights = model["tokens"], model["key_tokens"], tensor(model["weights"])
    if model["sentence"]:
        tokens = keys = model["sentence"].split()
        bare = [word.strip(",.").lower() for word in tokens]
        kinds = [next((k for k, of in enumerate(model["lexicon"]) if word in of.split()), -1) for word in bare]
        scores = tensor(model["scores"])[kinds][:, kinds]
        eye, root = torch.eye(len(tokens), dtype=torch.float64), math.sqrt(len(tokens))
        weights = attention(scores * root, eye, eye)[1][None]  # with K = I the scores are Q / √n
    heads, n, _ = weights.shape
    assert_close(weights.sum(-1), torch.ones(heads, n, dtype=torch.float64), atol=1e-3, rtol=0)
    for head in range(heads):
        for row in (0, n // 2, n - 1):
            widget.show({"value": row, "head": head})
            labels = widget.cells("weights")
            assert len(labels) == weights[head].numel()
            for (i, j), label in zip(((i, j) for i in range(n) for j in range(len(keys))), labels, strict=True):
                start = f"query {tokens[i]}, key {keys[j]}: "
                assert label.startswith(start)
                assert_shows(label.removeprefix(start), weights[head, i, j])
            shares, nats = widget.readout().split(" · entropy ")
            assert_shows(nats, entropy(weights[head, row]))
            told = shares.removeprefix(f"{tokens[row]} → ").removesuffix(" · …").split(" · ")
            largest = weights[head, row].sort(descending=True, stable=True)
            for words, j, value in zip(told, largest.indices, largest.values, strict=False):
                assert words.startswith(keys[j] + " ")
                assert_shows(words.removeprefix(keys[j]), value)
    cells = [float(row["weight"]) for row in widget.rows()]
    assert_close(tensor(cells).view_as(weights), weights)


def mask_editor(widget: Widget) -> None:
    model = widget.model()
    tokens, given = typed(model["sentence"], model["tokens"], MOST), len(model["tokens"])
    n = len(tokens)
    places = torch.arange(n) % given  # of words of one's own, the scores are the example's
    scores = tensor(model["scores"])[places][:, places]
    own = torch.rand(n, n, generator=torch.Generator().manual_seed(1)) < 0.5
    own[2] = False  # a row that may see nothing
    states = [{"preset": preset, "size": size} for preset in PRESETS for size in (1, 3)]
    states = [state for state in states if state["preset"] != "padding" or "<pad>" in tokens]
    for state in [*states, {"preset": "own", "value": own.tolist()}]:
        mask = own if state["preset"] == "own" else preset_mask(state["preset"], tokens, state["size"])
        widget.show({**state, "focus": 1})
        seen = [("hidden" not in label) for label in widget.cells("mask")]
        assert torch.tensor(seen).view(n, n).equal(mask), f"{state} shows another mask"
        # A query that may see something gets what `attention` gives it: with K = V = I the scores are Q / √n.
        eye, alive = torch.eye(n, dtype=torch.float64), mask.any(-1)
        output, weights = attention(scores * math.sqrt(n), eye, eye, mask | ~alive[:, None])
        assert_close(output, weights)
        labels = widget.cells("weights")
        for i in range(n):
            for j in range(n):
                label = labels[i * n + j].removeprefix(f"query {tokens[i]}, key {tokens[j]}: ")
                if alive[i]:
                    assert_shows(label, weights[i, j])
                else:
                    assert label == "no weight, the row is empty"
        if alive[1]:
            assert_shows(widget.readout().split("nats")[0].split("entropy")[1], entropy(weights[1]))
        saved = tensor([float(row["weight"]) for row in widget.rows()]).view(n, n)
        assert_close(saved[alive], weights[alive])
        assert saved[~alive].isnan().all()
        assert set(re.findall("“(.*?)”", widget.readout())) == {tokens[i] for i in range(n) if not alive[i]}


def word_in_context(widget: Widget) -> None:
    model = widget.model()
    for sentence in model["sentences"]:
        widget.show({"value": sentence, "focus": "bank"})
        words = sentence.split()
        X = tensor(
            [model["places"][model["names"].index(word)] if word in model["names"] else [0, 0] for word in words]
        )
        output, weights = attention(X, X, X)
        asked = words.index("bank")
        assert_close(tensor([float(row["weight"]) for row in widget.rows()]), weights[asked])
        angle = math.degrees(torch.atan2(output[asked, 1], output[asked, 0]) - torch.atan2(X[asked, 1], X[asked, 0]))
        if abs(angle) >= KEPT:
            assert widget.readout().endswith(f"It turns {abs(angle):.0f}° towards {model['axes'][angle > 0]}.")
        else:
            assert widget.readout().endswith("It keeps its direction.")


def softmax_saturation(widget: Widget) -> None:
    model = widget.model()
    assert model["scores"] == SoftmaxSaturation(d_k=model["value"]).scores, (
        "the page holds other scores than the library makes"
    )
    sizes, scores = model["sizes"], [tensor(each) for each in model["scores"]]

    def measures(at: int, scaled: bool, temperature: float):
        weights = (scores[at] / (temperature * (math.sqrt(sizes[at]) if scaled else 1))).softmax(-1)
        return weights, entropy(weights), softmax_jacobian(weights).flatten(1).norm(dim=1)

    for d_k, scaled, temperature, query in [
        (1, False, 1, 0),
        (64, False, 1, 7),
        (64, True, 1, 7),
        (1024, False, 1, 20),
        (1024, True, 2.83, 3),
    ]:
        widget.show({"value": d_k, "scaled": scaled, "temperature": temperature, "query": query})
        weights, nats, norms = measures(sizes.index(d_k), scaled, temperature)
        spread, own, middle = widget.box.locator(".tfm-readout > div").all_inner_texts()
        assert_shows(re.split("[=≈]", spread)[1], math.sqrt(d_k) / (temperature * (math.sqrt(d_k) if scaled else 1)))
        assert own.startswith(f"query {query + 1} →")
        assert_shows(own.split("→")[1], weights[query].max(), nats[query], math.log(weights.shape[1]), norms[query])
        assert_shows(middle.split("→")[1], nats.median(), norms.median())
        label = widget.box.locator('svg[aria-label^="Weights of the keys"]').get_attribute("aria-label")
        assert_shows(label, *weights[query])
        for at, row in enumerate(widget.rows()):
            for name, how in {"with scale": (True, 1), "without": (False, 1), "as set": (scaled, temperature)}.items():
                _, nats, norms = measures(at, *how)
                assert_close(float(row[f"entropy {name}"]), nats.median().item(), atol=1e-9, rtol=1e-9)
                assert_close(float(row[f"gradient norm {name}"]), norms.median().item(), atol=1e-9, rtol=1e-9)
    widget.show({"value": model["value"], "scaled": False, "temperature": 1})
    widget.box.locator('[data-control="value forth"]').click()
    assert "√1 =" in widget.readout(), "Play does not begin with the narrowest vectors"


def soft_lookup(widget: Widget) -> None:
    model = widget.model()
    K, V, labels = tensor(model["K"]), tensor(model["V"]), model["labels"]
    for score in SCORES:
        for query, temperature, uniform in [
            ([-0.7, 1.25], 0.1, False),
            ([0.3, -1.1], 2.0, False),
            ([0.3, -1.1], 1.0, True),
        ]:
            widget.show({"value": query, "score": score, "temperature": temperature, "uniform": uniform})
            with torch.no_grad():
                scores = score_function(score, model["parameters"])(tensor([query]), K)
            weights = torch.full_like(scores, 1 / len(K)) if uniform else (scores / temperature).softmax(-1)
            if score == "scaled dot" and not uniform:
                output, same = attention(tensor([query]) / temperature, K, V)
                assert_close(same, weights)
            else:
                output = weights @ V
            rows = widget.rows()
            assert_close(tensor([[float(row["score"]) for row in rows]]), scores)
            assert_close(tensor([[float(row["weight"]) for row in rows]]), weights)
            readout = widget.readout().split("\n")[0].split("Every key")[0].split("· nearly hard")[0]
            asked, shares, mixed = readout.split(" → ")
            assert_shows(asked, *query)
            for label, share, weight in zip(labels, shares.split(" · "), weights[0], strict=True):
                assert_shows(share.removeprefix(label), weight)
            assert_shows(mixed, *output[0])


def interaction_path(widget: Widget) -> None:
    tokens = widget.model()["tokens"]
    for distance, word, window, k in [(12, 21, 2, 3), (1, 1, 1, 2), (9, 15, 4, 3), (21, 21, 3, 5)]:
        widget.show({"value": distance, "word": word, "window": window, "k": k})
        hops = [len(path(kind, distance, window, k)) - 1 for kind in ("rnn", "window", "dilated", "attention")]
        assert [int(row["hops"]) for row in widget.rows()] == hops
        words, models = widget.readout().split(" apart: ")
        assert words.startswith(f"From {tokens[word - distance]} to {tokens[word]}, ")
        assert_shows(words.split(", ")[-1], distance)
        assert_shows(models, hops[0], window, hops[1], k, hops[2], hops[3])


def gradient_reach(widget: Widget) -> None:
    model = widget.model()
    own = GradientReach()
    assert model["reach"] == own.reach, "the page holds other norms than the recorded run"
    rows = iter(widget.rows())
    for kind in own.kinds:
        for stage in own.stages:
            found = own.summary(kind, stage)
            for at, distance in enumerate(own.distances):
                row = next(rows)
                assert (row["model"], row["when"], int(row["distance"])) == (kind, stage, distance)
                for name, key in {"geometric mean": "mean", "least": "low", "greatest": "high"}.items():
                    assert abs(float(row[name]) / found[key][at] - 1) < 1e-9
    for kind, stage, distance in [("RNN", "at the start", 33), ("GRU", "trained", 63), ("attention", "trained", 1)]:
        widget.show({"kind": kind, "stage": stage, "value": distance})
        at = own.distances.index(distance)
        found = {key: norms[at] for key, norms in own.summary(kind, stage).items()}
        shown = re.search(r"norm (\S+) \(seeds from (\S+) to (\S+)\)", widget.readout())
        for text, key in zip(shown.groups(), ("mean", "low", "high"), strict=True):
            assert_shows(text, found[key])
        own.kind = kind
        for sentence, title, when in zip(drawn_words(widget), titles(widget), own.stages, strict=True):
            norms = own.words_heard(when)
            assert [word for word, _ in sentence] == own.tokens
            dark = [0.07 + 0.93 * min(1, max(0, math.log10(norm) / 7 + 1)) for norm in norms]
            assert_close(tensor([share for _, share in sentence[:-1]]), tensor(dark), atol=6e-4, rtol=0)
            assert title == f"{when}: {sum(norm > 1e-7 for norm in norms)} of {len(norms)} words reach the end"
    widget.box.locator(".tfm-heard").nth(own.distances[-1] - 5).click()
    assert ", 5 words back" in widget.readout()


def titles(widget: Widget) -> list[str]:
    return widget.box.locator("[data-stage] .tfm-columns p").all_inner_texts()


def gradient_depth(widget: Widget) -> None:
    measured, depth = widget.model()["measured"], len(widget.model()["value"])
    for norm in ("none", "pre", "post"):
        for k in (0, 1, 2 ** (depth - 1), 2**depth - 1):
            cut = [bool(k >> i & 1) for i in range(depth)]
            *middle, least, most = (10 ** (x / 1000) for x in measured[norm][k])
            widget.show({"value": cut, "norm": norm, "former": [False] * depth, "before": "post"})
            rows = widget.rows()
            assert [int(row["layer"]) for row in rows] == list(range(depth + 1))
            assert_close(tensor([float(row["geometric mean"]) for row in rows]), tensor(middle))
            before = [10 ** (x / 1000) for x in measured["post"][0][:-2]]
            assert_close(tensor([float(row["before"]) for row in rows]), tensor(before))
            told = re.search(
                r"top, (\S+) arrives at the bottom \((\S+) to (\S+), depending on the seed\)", widget.readout()
            )
            for text, value in zip(told.groups(), (middle[0], least, most), strict=True):
                assert float(text) == pytest.approx(value, rel=0.06)


def merge_steps(widget: Widget) -> None:
    model = widget.model()
    ours = MergeSteps(model["value"], [pair.split(" ") for pair in model["merges"]], model["letters"])
    for sentence in (model["value"], "Speaking louder, never helps!", "banana 등대 keeperless"):
        for used in (0, 3, len(ours.merges)):
            ours.value, ours.used = sentence, used
            widget.show({"value": sentence, "used": used})
            assert [row["pieces"].split(" ") for row in widget.rows()] == ours._cut(used)
            picture = widget.box.locator("[data-stage] > div:first-child svg")
            drawn = picture.locator("[data-piece]").evaluate_all("(all) => all.map((each) => each.dataset.piece)")
            assert drawn == [piece for word in ours.pieces for piece in word]
            assert "".join(picture.locator("text").all_text_contents()) == "".join(drawn)
            counts = ours.counts
            fired = [k for k in range(1, used + 1) if counts[k] < counts[k - 1]]
            last = ours.merges[fired[-1] - 1].replace(" ", "") if fired else None
            assert "".join(picture.locator("text[style*='tfm-one']").all_text_contents()) == (last or "") * drawn.count(
                last
            )
            told = widget.readout().split(":")[1].split("unknown")[0].split(".")[0]
            unknown = [n for n in [drawn.count("<unk>")] if n]
            assert_shows(told, len(drawn), len(ours.pieces), *unknown)


def alignment(widget: Widget) -> None:
    def links(pairs, shape) -> torch.Tensor:
        table = torch.zeros(shape, dtype=torch.bool)
        for i, j in pairs:
            table[i, j] = True
        return table

    for sentence, example in enumerate(widget.model()["examples"]):
        src, tgt = example["src"], example["tgt"]
        for score, rows in example["weights"].items():
            weights, last = tensor(rows), len(tgt) - 1
            widget.show({"sentence": sentence, "score": score, "truth": True, "value": last})
            labels = widget.cells("weights")
            for at, label in enumerate(labels):
                i, j = divmod(at, len(src))
                start = f"{tgt[i]} looks at {src[j]}: "
                assert label.startswith(start)
                assert_shows(label.removeprefix(start).split(",")[0], weights[i, j])
            sure, possible = links(example["links"], weights.shape), links(example["possible"], weights.shape)
            predicted = torch.zeros_like(sure)
            predicted[torch.arange(len(tgt)), weights.argmax(-1)] = True
            predicted &= sure.any(-1, keepdim=True)
            rate = widget.readout().split("alignment error rate of this sentence")[1]
            assert_shows(rate, alignment_error_rate(predicted, sure, possible))


def heads(widget: Widget) -> None:
    for kind, layers in widget.model()["weights"].items():
        for layer, value in {(0, 0), (len(layers) - 1, len(layers[0]) - 1)}:
            weights = tensor(layers[layer][value])
            widget.show({"kind": kind, "layer": layer, "value": value, "focus": len(weights) - 1})
            for label, weight in zip(widget.cells("weights"), weights.flatten(), strict=True):
                told = label.rsplit(": ", 1)[1]
                assert weight == 0 if told == "hidden" else assert_shows(told, weight) is None
            average = widget.readout().split("on average:")[1]
            assert_shows(average, *habits(weights.numpy(), kind != "cross").values())


def head_ablation(widget: Widget) -> None:
    own = HeadAblation()
    data = own.measured
    assert widget.model()["measured"] == data, "the page holds another run than the recorded one"
    loss, bleu, _ = data["whole"]
    for mode, value, removed in (
        ("head", -1, 0),
        ("head", 9, 0),
        ("layer", own.n - 1, 0),
        ("order", -1, data["stops"][3]),
    ):
        widget.show({"mode": mode, "value": value, "removed": removed, "reveal": True, "guess": 5})
        own.mode, own.value, own.removed = mode, value, removed
        entry, change, lines = own._entry, own.cost, widget.readout().splitlines()
        assert_shows(lines[-1].replace("1 BLEU", "BLEU"), own.worth, own.n, 5)
        if not own.off:
            assert_shows(lines[0], own.n, loss, bleu)
            continue
        assert_shows(lines[1], loss, entry[0], change["loss"], bleu, entry[1], change["bleu"])
        if mode != "head":
            assert_shows(lines[2], change["summed"])
    rows = widget.rows()
    assert [float(row["loss"]) for row in rows] == [
        loss,
        *(entry[0] for key in ("heads", "layers", "pruned") for entry in data[key]),
    ]


def encoding(widget: Widget) -> None:
    for d_model, base, length, a, b in [(4, 10, 64, 20, 24), (16, 10000, 64, 0, 63)]:
        widget.show({"d_model": d_model, "base": base, "length": length, "value": a, "other": b})
        PE = sinusoidal_encoding(length, d_model, float(base))
        shown = tensor([[float(x) for x in list(row.values())[1:]] for row in widget.rows()])
        assert_close(shown, PE.double(), atol=1e-5, rtol=0)
        product = widget.readout().split("=")[-1].split("hands")[0].splitlines()[0]
        dot = (PE[a] @ PE[b]).item()
        assert_shows(product, dot, d_model / 2, dot / (d_model / 2))


def learning_rate(widget: Widget) -> None:
    for state in (
        {"d_model": 512, "warmup": 4000, "factor": 1.0, "steps": 20_000, "accumulate": 1},
        {"d_model": 64, "warmup": 200, "factor": 0.4, "steps": 2000, "accumulate": 8},
    ):
        for step, log in ((1, False), (150, True), (1999, False)):
            widget.show({**state, "value": step, "log": log, "compare": "cosine"})
            now, first = rates(step, **state), rates(1, **state)
            assert abs(now["paper"] - state["factor"] * warmup_lr(step, state["d_model"], state["warmup"])) < 1e-15
            for row in widget.rows():
                found = rates(int(row["step"]), **state)
                assert all(abs(float(row[name]) - value) <= 1e-9 * value + 1e-18 for name, value in found.items())
            peak, here, *_, rival = widget.readout().splitlines()
            highest = state["factor"] * (state["d_model"] * state["warmup"]) ** -0.5
            assert_shows(peak, highest, state["warmup"], first["paper"])
            assert_shows(here.split(" · ")[0], step, now["paper"])
            assert_shows(rival, now["cosine"], first["cosine"])
            if state["accumulate"] > 1:
                wrong = next(line for line in widget.readout().splitlines() if "for each micro-batch" in line)
                assert_shows(wrong, now["miscounted"], math.ceil(state["warmup"] / state["accumulate"]))


def label_smoothing(widget: Widget) -> None:
    for v, epsilon, p in ((5, 0.1, 0.5), (5, 0.1, 0.92), (100, 0.3, 0.05), (2, 0.0, 0.999)):
        widget.show({"vocabulary": v, "epsilon": epsilon, "value": p, "convention": "all"})
        wanted = smoothed_targets(torch.tensor(0), v, epsilon).double()
        shares = torch.full((1, v), (1 - p) / (v - 1), dtype=torch.double)
        shares[0, 0] = p
        loss = label_smoothed_loss(shares.log(), torch.tensor([0]), epsilon, pad_id=-1).item()
        least = -(wanted * wanted.clamp(min=1e-30).log()).sum().item()
        target, here = widget.readout().splitlines()
        assert_shows(target, wanted[0].item(), v - 1, wanted[1].item())
        assert_shows(here, p, loss, -math.log(p))
        assert ("the lowest possible" in here) == (abs(p - min(0.999, wanted[0].item())) < 0.006), here
        assert least <= loss + 1e-6  # in 32 bits


def training_replay(widget: Widget) -> None:
    model = widget.model()
    own = TrainingReplay()
    assert model["losses"] == own.losses and model["looks"] == own.looks, (
        "the page holds another run than the recorded one"
    )
    assert [float(row["loss"]) for row in widget.rows()] == own.losses
    for value, head, focus in ((0, -1, 0), (10, 2, 3), (len(own.looks) - 1, 0, 6)):
        widget.show({"value": value, "head": head, "focus": focus})
        own.value, own.head = value, head
        labels = widget.cells("focus")
        places_ = [(i, j) for i in range(len(own.tgt_tokens)) for j in range(len(own.src_tokens))]
        for (i, j), label in zip(places_, labels, strict=True):
            written = [as_read(own.tgt_tokens[i], own.tgt_tokens), as_read(own.src_tokens[j], own.src_tokens)]
            start = "writing {}, looking at {}: ".format(*written)
            assert label.startswith(start)
            assert_shows(label.removeprefix(start), own.matrix[i, j])
        told, written, asked = widget.readout().splitlines()
        assert f"“{own.looks[value]['written']}”" in written
        assert_shows(asked.split()[-1], own.matrix[focus].max())
        step = own.step
        trained = [own.losses[step - 1], own.rates[step - 1]] if step else []
        assert_shows(told, step, *trained, 100 * own.looks[value]["exact"])


def beam_tree(widget: Widget) -> None:
    model = widget.model()
    tree, tokens, widest = model["tree"], model["tokens"], model["widest"]
    for width, alpha in ((1, 0.6), (2, 0.0), (3, 0.6), (widest, 1.0)):
        widget.show({"value": width, "alpha": alpha, "step": model["depth"], "focus": [0, 0]})
        beam, steps = beams.search(tree, width, alpha, model["max_len"])
        expected = [(step, way) for step, ways in enumerate(steps, start=1) for way in ways[: width + 3]]
        for row, (step, way) in zip(widget.rows(), expected, strict=True):
            assert (int(row["step"]), int(row["place"]) - 1) == (step, way.rank)
            assert row["text"] == (beams.phrase(tokens, way.path) or "(nothing)")
            assert (row["fate"] == "pruned") == (not way.kept)
            assert abs(float(row["log_p"]) - way.log_p) < 1e-9
            assert abs(float(row["score"]) - way.log_p / length_penalty(step, alpha)) < 1e-9
        assert f"the search ended after {len(steps)} steps" in widget.readout()
        assert widget.box.locator('[data-control="step"]').get_attribute("max") == str(len(steps))
        best = beam.found[0]
        words, score = widget.readout().split(" finished. ")[1].split(" leads with ")
        assert words == beams.phrase(tokens, best.ids)
        assert_shows(score, best.score)
        last = steps[0][0]
        widget.show({"focus": [1, 0]})
        assert_shows(widget.readout().rsplit(" · ", 2)[1], last.log_p, last.log_p)


def follow_token(widget: Widget) -> None:
    model = widget.model()
    m = len(model["src_tokens"])
    tokens = [*model["src_tokens"], *model["tgt_tokens"]]
    for word in (0, m, len(tokens) - 1):
        stages, i = (model["encoder"], word) if word < m else (model["decoder"], word - m)
        for value, stage in enumerate(stages):
            widget.show({"word": word, "value": value, "head": 0, "number": 2})
            told = widget.readout()
            assert told.startswith(f"“{tokens[word]}” of the {'source' if word < m else 'target'}")
            number = re.split(r" was added here|\.\s", told.split("Number 2 is ")[1])[0]
            assert_shows(number, stage["vectors"][i][1], *(row[i][1] for row in [stage["added"]] if row))
            if stage["lengths"]:
                length = re.split(r"\.\s", told.split(" Length ")[1])[0]
                assert_shows(length, stage["lengths"][i], *(row[i] for row in [stage["added_lengths"]] if row))
            if stage["weights"]:
                mean = tensor(stage["weights"]).mean(0)[i]
                asked = model["src_tokens"] if word < m or stage["name"] == "cross-attention" else model["tgt_tokens"]
                best = told.split("Most weight: “")[1].split(". ")[0]
                assert best.startswith(f"{asked[int(mean.argmax())]}” ")
                assert_shows(best.split("” ")[1], mean.max())
            for (_, share), words in zip(stage["says"][i], told.split(": ")[-1].split(" · "), strict=True):
                assert_shows(words.rsplit(" ", 1)[1], share)
            said = [[best[0][0] for best in each["says"]] for each in stages[: value + 1]]
            drawn = widget.box.locator(".tfm-lens tr").evaluate_all(
                "(rows) => rows.map((row) => [...row.querySelectorAll('td')].map((cell) => cell.textContent))"
            )
            higher = [[""] * len(said[0])] * (len(stages) - value - 1)
            assert drawn == [*higher, *reversed(said), []]
    rows = widget.rows()
    shown = tensor([float(row["value"]) for row in rows]).view(len(stages), -1)
    assert_close(shown, tensor([stage["vectors"][i] for stage in stages]))


def model_size(widget: Widget) -> None:
    for preset in MACHINES:
        expected = ModelSize(preset, length=100)
        state = {
            name: getattr(expected, name)
            for name in ("n_layers", "value", "d_ff", "n_heads", "vocab_size", "norm", "length")
        }
        widget.show({"preset": preset, **state})
        counted = {row["part"]: float(row["number"]) for row in widget.rows() if row["what"] == "parameters"}
        assert sorted(counted.values()) == sorted(expected.parts.values())
        done = {row["part"]: float(row["number"]) for row in widget.rows() if row["what"] == "operations"}
        assert done == expected.flops
        total = sum(expected.parts.values())
        assert widget.readout().startswith(f"{total:,} parameters")
        seen = drawn_areas(widget)
        wanted = [counted[name] for name in seen]
        assert len(seen) == 6
        assert_close(tensor(list(seen.values())), tensor(wanted), rtol=0.02, atol=0)


def drawn_areas(widget: Widget) -> dict[str, float]:
    """How many parameters each part of the drawn machine has by its area, on the scale of the square that is drawn beside it."""
    stage = widget.box.locator("[data-stage]")
    side = float(stage.locator("svg[role=img] > rect").get_attribute("width"))
    ((millions, _),) = numbers(stage.locator("svg[role=img] > text", has_text="parameters").text_content())
    paths = stage.locator("path[data-part]").evaluate_all(
        "(all) => all.map((each) => [each.dataset.part, each.getAttribute('d')])"
    )
    found = {}
    for part, d in paths:
        boxes = re.findall(r"h([\d.]+)v([\d.]+)", d)
        found[part] = sum(float(wide) * float(tall) for wide, tall in boxes) / side**2 * millions * 1e6
    return found


def sampling(widget: Widget) -> None:
    model = widget.model()
    logits = [-sum(model["steps"][: i + 1]) / 100 for i in range(len(model["steps"]))]
    names, v = model["tokens"], len(logits)
    for state in ({}, {"value": 0.5}, {"value": 2.0, "top_p": 0.8}, {"value": 1.3, "top_k": 5}):
        own = beams.Sampling(logits, names, **state)
        widget.show({"value": own.value, "top_k": own.top_k, "top_p": own.top_p})
        for row, now, before in zip(widget.rows(), own.shares["now"], own.shares["as it is"], strict=True):
            assert abs(float(row["p"]) - now) < 1e-9 and abs(float(row["as it is"]) - before) < 1e-9
        p, readout = own.distribution(), widget.readout()
        assert f"{(p > 0).sum():,} of {v:,} tokens are left" in readout
        told = readout.split("”")[1].split(" · all but")[0].replace("T = 1", "")
        assert_shows(told, own.shares["now"][0], own.shares["as it is"][0])
        assert_shows(readout.split("entropy ")[1].split(" nats")[0], entropy(p))


@pytest.fixture(scope="module")
def stand(tmp_path_factory, serve, contexts) -> Iterator[Bench]:
    with bench(tmp_path_factory.mktemp("bench"), serve, contexts) as made_bench:
        yield made_bench


# The mathematics is compared in node (tests/widgets/test_frontend.py); here it is what a page shows of it.
SHOWN = {"positional/encoding", "training/training_replay"}


@pytest.mark.parametrize("module", params(MODULES, SHOWN, rest={"masking/mask_editor", *SPREAD, *every(12, MODULES)}))
def test_numbers_in_the_browser_are_those_of_the_library_and_of_the_still(stand: Bench, module: str) -> None:
    """In each state of the widget's Sample: of its still picture, as it opens; of the library, wherever it is moved."""
    stem, name = module.split("/")
    beside = import_module(f"widgets.samples.{stem}") if samples(stem) else None
    compare = globals().get(name) or getattr(beside, name, None)
    assert compare, f"say in tests/widgets/samples/{stem}.py what {module} must show: a function {name}(widget)"
    widgets = [made(module, **state) for state in ({}, *sample(module).states)]
    for widget, shown in zip(widgets, stand.show(*widgets), strict=True):
        still_draws(module, widget, shown)
        compare(shown)


def still_draws(module: str, widget: BookWidget, shown: Widget) -> None:
    """The still picture draws the numbers that the browser shows."""
    still = sample(module).still
    assert still, f"the Sample of {module} must say, as `still`, which drawn numbers are which shown ones"
    figure, compared = widget.figure(), 0
    for drawn, seen in still(figure.axes, shown):
        drawn, seen = np.asarray(drawn), np.asarray(seen)
        assert drawn.shape == seen.shape, f"{widget.alt} draws {drawn.shape}, shows {seen.shape}"
        if drawn.dtype.kind == "f" or seen.dtype.kind == "f":
            np.testing.assert_allclose(drawn.astype(float), seen.astype(float), rtol=1e-3, atol=6e-3)
        else:
            assert drawn.tolist() == seen.tolist()
        compared += drawn.size
    assert compared > 1, f"of {module} nothing is compared"
    plt.close(figure)
