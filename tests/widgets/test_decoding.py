"""The beam tree and the sampling in a kernel: what they compute is the library's; their state and sentences."""

import json
import math
import re
from types import SimpleNamespace

import pytest
import torch
from matplotlib.figure import Figure
from tiers import params

from tfm_lib.decoding import beam_search, filter_logits
from tfm_lib.drawing import recorded
from tfm_lib.engine.trained import load_trained, save_trained
from tfm_lib.engine.translator import Translator
from tfm_lib.transformer import Transformer, TransformerConfig
from tfm_lib.widgets.decoding import (
    EXAMPLES,
    FAILURES,
    BeamTree,
    LiveTranslator,
    Sampling,
    beam_tree,
    phrase,
    recorded_translation,
    search,
    translator_sampling,
    translator_tree,
)


def small_translator() -> SimpleNamespace:
    """A random model with words for ids."""
    torch.manual_seed(1)
    model = Transformer(TransformerConfig(12, d_model=16, n_heads=2, d_ff=24, n_layers=1, dropout=0.0)).eval()
    tokenizer = SimpleNamespace(bos_id=1, eos_id=2, piece=lambda i: f"▁w{i}")
    return SimpleNamespace(model=model, tokenizer=tokenizer, ids=lambda sentence: torch.tensor([[5, 7, 4, 2]]))


# The tree of the chapter


@pytest.mark.parametrize(
    ("beam", "alpha", "best"),
    [
        (1, 0.6, "it pours"),
        (2, 0.6, "rain pours"),
        (3, 0.6, "it is pouring down"),
        (3, 0.3, "rain pours"),
        (3, 0.4, "it is pouring down"),
        (4, 0.0, "rain pours"),
        (4, 1.0, "it is pouring down"),
    ],
)
def test_width_and_alpha_choose_the_sentence_that_the_chapter_names(beam, alpha, best) -> None:
    widget = BeamTree(value=beam, alpha=alpha)
    assert widget.text(widget.best.ids) == best


def test_numbers_of_the_figure() -> None:
    found = {
        phrase(w.tokens, h.ids): math.exp(h.log_p) for w in [BeamTree()] for h in search(w.tree, 4, 0.6, 6)[0].found
    }
    expected = {"it pours": 0.288, "rain pours": 0.3, "it is pouring down": 0.276, "rain falls": 0.1}
    assert found == pytest.approx(expected, abs=1e-4)


# The tree of a model


@pytest.mark.parametrize("width", [1, 2, 3, 4])
@pytest.mark.parametrize("alpha", [0.0, 0.6, 1.0])
def test_the_tree_of_a_model_searches_as_the_model_does(width, alpha) -> None:
    translator = small_translator()
    made = translator_tree(translator, "any", widest=4, max_len=8)
    widget = BeamTree(**made, value=width, alpha=alpha)
    expected = beam_search(translator.model, translator.ids("any"), 1, 2, width, alpha, 8)[0][0]
    assert widget.text(widget.best.ids) == " ".join(f"w{i}" for i in expected.ids)
    assert widget.best.score == pytest.approx(expected.score, abs=1e-3)


def test_a_tree_is_small_and_plain() -> None:
    made = translator_tree(small_translator(), "any", widest=4, max_len=8)
    assert json.loads(json.dumps(made))["source"] == "any"
    assert all(len(ways) <= 4 for ways in made["tree"])
    assert len(json.dumps(made)) < 20_000


def test_a_model_is_asked_once_about_each_path() -> None:
    asked = []

    def next_log_p(paths):
        asked.extend(map(tuple, paths))
        return [{"a": math.log(0.6), "b": math.log(0.3), "<eos>": math.log(0.1)} for _ in paths]

    beam_tree(next_log_p, widest=3, max_len=5)
    assert len(asked) == len(set(asked))


# Its state


def test_all_steps_of_the_search_are_shown_at_first() -> None:
    assert [(BeamTree(value=beam).step, BeamTree(value=beam).depth) for beam in (1, 2, 3)] == [(3, 5), (3, 5), (5, 5)]
    assert BeamTree(value=1, step=5).step == 5


# What it says and draws


def test_alt_says_what_was_found() -> None:
    alt = BeamTree(value=3).alt
    assert alt.startswith("A beam of 3 with α = 0.6 ends after 5 steps. Finished sentences")
    assert "it is pouring down -0.95; rain pours -1.01; it pours -1.05" in alt


@pytest.mark.parametrize("step", [1, 3, 5])
def test_figure_of_any_state(step) -> None:
    fig = BeamTree(value=3, step=step).figure()
    assert isinstance(fig, Figure)
    words = [text.get_text() for text in fig.axes[0].texts]
    assert any(word.startswith("rain") for word in words)


def test_sub_words_are_joined_and_words_spaced() -> None:
    assert phrase(["<eos>", "▁le", "▁ch", "at"], [1, 2, 3, 0]) == "le chat"
    assert phrase(["<eos>", "the", "cat"], [1, 2]) == "the cat"


# Sampling


@pytest.mark.parametrize(
    "settings", [{}, {"value": 0.5}, {"top_k": 3}, {"value": 1.5, "top_p": 0.6}, {"top_k": 5, "top_p": 0.5}]
)
def test_sampling_shows_what_filter_logits_leaves(settings) -> None:
    logits = (2 * torch.randn(50)).sort(descending=True).values
    widget = Sampling(logits, **settings)
    kept = filter_logits(logits / settings.get("value", 1.0), settings.get("top_k"), settings.get("top_p"))
    torch.testing.assert_close(widget.distribution().float(), kept.softmax(-1), atol=5e-3, rtol=0.05)
    assert sum(widget.shares["now"]) == pytest.approx(1) and len(widget.shares["now"]) == 13


def test_sampling_of_a_translator() -> None:
    translator = small_translator()
    widget = Sampling(**translator_sampling(translator, "any", written=[4], named=5))
    with torch.no_grad():
        p = translator.model(translator.ids("any"), torch.tensor([[1, 4]]))[0, -1].softmax(-1)
    best, order = p.sort(descending=True)
    torch.testing.assert_close(widget.distribution().float(), best, atol=5e-3, rtol=0.02)
    assert widget.tokens == ["<eos>" if i == 2 else f"▁w{i}" for i in order[:5].tolist()]
    assert widget.context == "Source: any · written: w4"


def test_sampling_says_and_draws_what_is_left() -> None:
    widget = Sampling(torch.tensor([0.5, 0.3, 0.15, 0.05]).log(), ["a", "b", "c", "d"], top_p=0.9)
    assert "top-p 0.90, 3 of 4 tokens are left. “a” has probability 0.526, uncut at temperature 1 0.500" in widget.alt
    assert " cut" in [text.get_text() for text in widget.figure().axes[0].texts]


@pytest.mark.parametrize("make", [BeamTree, Sampling])
def test_the_page_is_told_which_module_it_needs(make) -> None:
    state = make().get_state()
    assert state["_module"] == {BeamTree: "decoding/beam_tree", Sampling: "decoding/sampling"}[make]
    assert len(state["title"]) and len(state["question"])


# The translator


def test_the_recorded_translation_is_the_librarys() -> None:
    translator = Translator.shipped()
    found = LiveTranslator().found
    seen = translator.attention(EXAMPLES[0])
    assert (found["source"], found["target"], found["translation"]) == (
        seen["source"], seen["target"], *translator.translate([EXAMPLES[0]]),
    )  # fmt: skip
    for place, weights in seen["weights"].items():
        assert torch.tensor(found["weights"][place]) == pytest.approx(weights, abs=5.1e-3)
    ids = translator.search([EXAMPLES[0]])[0]
    log_p = beam_search(translator.model, translator.ids(EXAMPLES[0]), 1, 2, beam=4)[0][0].log_p
    assert len(found["told"]) == len(ids) + 1
    assert sum(math.log(told["p"]) for told in found["told"]) == pytest.approx(log_p, abs=0.02)
    assert all(told["rivals"] == sorted(told["rivals"], key=lambda rival: -rival["p"]) for told in found["told"])


@pytest.mark.parametrize("sentence", params(FAILURES, [*FAILURES][:1]))
def test_what_is_shown_as_a_failure_is_one(sentence: str) -> None:
    wrong = re.findall("“(.+?)”", FAILURES[sentence])[-1]
    assert wrong in Translator.shipped().translate([sentence])[0]
    assert LiveTranslator(sentence=sentence).example == len(EXAMPLES) + list(FAILURES).index(sentence)


def test_the_shares_beside_the_switches_are_the_recorded_ones() -> None:
    run, switches = recorded("translator_switches"), LiveTranslator().switches
    assert switches.pop("trials") == run["sentences"] == 200
    assert switches == {name: each["changed"] for name, each in run["switches"].items()}
    assert switches["causal"] == 0 and switches["cross"] == 200


def test_a_readers_own_model_travels_to_the_browser_when_it_is_wanted(tmp_path) -> None:
    shipped = Translator.shipped()
    torch.manual_seed(2)
    sizes = {"d_model": 16, "n_heads": 2, "d_ff": 24, "n_layers": 1, "norm": "post", "max_len": 40}
    save_trained(tmp_path, Transformer(TransformerConfig(len(shipped.tokenizer), **sizes)), shipped.tokenizer, {})
    own = Translator.load(tmp_path)
    widget = LiveTranslator(own, "A cat.")
    assert widget.files == widget.switches == {} and widget.failures == [] and widget.layer == 0
    assert widget.size == pytest.approx(2 * sum(p.numel() for p in own.model.parameters()) / 1e6, abs=0.06)
    widget.wanted = True
    assert "tfmTwin" in widget.files["twin"] and widget.files["config"]["model"]["norm"] == "post"
    for name, content in (("model.safetensors", widget.files["bytes"]), ("config.json", json.dumps(widget.files["config"]).encode()), ("tokenizer.json", json.dumps(widget.files["tokenizer"]).encode())):  # fmt: skip
        (tmp_path / "again").mkdir(exist_ok=True)
        (tmp_path / "again" / name).write_bytes(content)
    model, _, _ = load_trained(tmp_path / "again")
    for name, value in own.model.state_dict().items():
        assert model.state_dict()[name] == pytest.approx(value, abs=2e-3), name


def test_rivals_are_told_with_their_probabilities() -> None:
    told = recorded_translation(Translator.shipped(), "I am cold.")["told"]
    assert all(len(each["rivals"]) == 6 and each["p"] <= each["rivals"][0]["p"] + 1e-9 for each in told)
