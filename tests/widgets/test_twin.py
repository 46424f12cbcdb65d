"""The translator of the page writes what the library writes: sub-words, numbers, searches, and every switch.

`twin/sentences.json` holds 100 sentences as people write them, and 100 that nobody should.
"""

import json
import math
import re
from contextlib import ExitStack
from functools import cache
from itertools import pairwise, product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from jaxtyping import config as jaxtyping_config
from project import CHAPTERS
from tiers import every, params

from experiments import translator_switches
from experiments.translator_twin import MARGIN, Answer, Both, Numbers, Oracle, Twin, largest, told_off
from tfm_lib._trace import trace
from tfm_lib.data import Tokenizer
from tfm_lib.decoding import filter_logits
from tfm_lib.drawing import recorded
from tfm_lib.engine.trained import BITS, load_trained, save_trained
from tfm_lib.engine.translator import Translator
from tfm_lib.training import label_smoothed_loss
from tfm_lib.transformer import Transformer, TransformerConfig
from tfm_lib.widgets import _film
from tfm_lib.widgets.decoding import BeamTree, translator_sampling, translator_tree
from tfm_lib.widgets.multihead import Heads
from tfm_lib.widgets.training import target, translator_smoothing
from tfm_lib.widgets.transformer import FollowToken, follow

SENTENCES = json.loads((Path(__file__).parent / "twin" / "sentences.json").read_text(encoding="utf-8"))
OURS, NASTY = SENTENCES["ours"], SENTENCES["nasty"]
pytestmark = pytest.mark.usefixtures(
    "as_readers_run_it"
)  # shapes are executed elsewhere; here it would double the time

FEW = [*OURS[::40], "I love you 🎉🎉", "½ of ¾ is ⅜."]
EXCUSED = 2  # sentences that the library itself decides by less than MARGIN


@pytest.fixture(scope="module", autouse=True)
def without_shapes():
    """Shapes in signatures are executed in the core's own tests; here that would only take time."""
    jaxtyping_config.update("jaxtyping_disable", True)
    yield
    jaxtyping_config.update("jaxtyping_disable", False)


def excused(both: Both) -> int:
    """How many sentences came out otherwise; each must be one that the library decides by next to nothing."""
    margins = both.margins()
    wide = {sentence: (both.told[sentence].unequal, margin) for sentence, margin in margins.items() if margin >= MARGIN}
    assert not wide, f"other than the library's, by more than rounding: {wide}"
    return len(margins)


def assert_near(both: Both, logits: float = 1e-3) -> None:
    assert both.worst("logits") < logits
    assert both.worst("weights") < 1e-4
    assert both.worst("told") < 1e-4
    assert both.worst("scores") < 1e-3


@pytest.fixture(scope="module")
def oracle() -> Oracle:
    return Oracle(Translator.shipped())


#: A sixteenth of all sentences, and those that cannot be translated: `make test` compares these, the long tier all.
SOME = [*OURS[::16], *dict.fromkeys([*NASTY[::16], "", " ", "\n\n", max(NASTY, key=len)])]


@pytest.fixture(scope="module", params=params(["some", "all"], ("some",), rest=()))
def both(request) -> Both:
    return Both(SOME if request.param == "some" else [*OURS, *NASTY])


# sub-words


@cache
def prose() -> list[str]:
    """2 000 sentences out of the book's pages, spread over all of them, formulas and marks of layout included."""
    lines = [line for path in sorted(CHAPTERS.glob("*.md")) for line in path.read_text(encoding="utf-8").splitlines()]
    found = [*dict.fromkeys(part for line in lines for part in re.split(r"(?<=[.?!:;]) ", line) if part.strip())]
    return found[:: len(found) // 2000][:2000]


def test_sentences_are_as_many_as_they_should_be() -> None:
    assert (len({*OURS}), len({*NASTY}), len({*prose()})) == (100, 100, 2000)


def signs() -> list[str]:
    """Unicode's letters, marks and signs, each between two letters, 40 a sentence; of Han and Hangul only the first ones."""
    every = [
        *range(0x3500),
        *range(0x9F00, 0xAD00),
        *range(0xD700, 0xD800),
        *range(0xE000, 0x20100),
        *range(0x2F700, 0x2FB00),
    ]
    return [f"a{'b a'.join(map(chr, every[i : i + 40]))}b" for i in range(0, len(every), 40)]


READ = {"ours and nasty": lambda: [*OURS, *NASTY], "prose": prose, "all signs": signs}


@pytest.mark.parametrize("which", params(READ, ["ours and nasty"]))
def test_sub_words_are_the_librarys(which: str, oracle: Oracle) -> None:
    sentences = READ[which]()
    (read,) = Twin().does({"do": "read", "sentences": sentences})
    tokenizer = oracle.tokenizer
    for sentence, (ids, pieces, unknown) in zip(sentences, read.told, strict=True):
        assert ids == tokenizer.encode(sentence), sentence
        assert unknown == tokenizer.unknown(sentence), sentence
        named = [piece for i, piece in zip(ids, pieces, strict=True) if i != tokenizer.unk_id]
        assert named == [piece for piece in tokenizer.pieces(sentence) if piece != "<unk>"], sentence


def test_half_a_sign_which_the_library_refuses_is_one_that_the_twin_does_not_know() -> None:
    (read,) = Twin().does({"do": "read", "sentences": ["a\ud83cb"]})
    ids, _, unknown = read.told[0]
    assert (ids[1], unknown) == (Tokenizer.unk_id, ["\ud83c"])


def test_a_text_without_end_is_told_too_long_at_once() -> None:
    endless = ["a" * 3_000_000, " " * 3_000_000, "💥" * 1_000_000]
    (found,) = Twin().does({"do": "look", "sentences": endless})
    assert all("long" in each["doubts"] and len(each["ids"]) <= 10_000 for each in found.told)


def test_what_is_told_of_a_sentence_is_what_the_library_warns_of(oracle: Oracle) -> None:
    (looked,) = Twin().does({"do": "look", "sentences": [*OURS, *NASTY]})
    told = set()
    for sentence, found in zip([*OURS, *NASTY], looked.told, strict=True):
        source = oracle.source(sentence)
        assert [*found["ids"], oracle.tokenizer.eos_id] == source, sentence
        assert len(found["source"]) == len(source)
        doubt = oracle.translator.doubt(sentence) or ""
        wanted = {
            "script": "letters, which" in doubt,
            "signs": "mostly signs" in doubt,
            "long": len(source) - 1 > oracle.translator.room(),
        }
        assert {*found["doubts"]} == {name for name, is_so in wanted.items() if is_so}, sentence
        told |= {*found["doubts"]}
    assert told == {"script", "signs", "long"}


# translations and numbers


def test_translations_are_the_librarys(both: Both) -> None:
    assert len(both.told) + len(both.refused) in (len(SOME), 200)
    assert excused(both) <= EXCUSED, both.unequal()


def test_numbers_are_the_librarys(both: Both) -> None:
    assert_near(both)


def test_what_cannot_be_translated_is_left(both: Both) -> None:
    assert {"", " ", "\n\n"} < {*both.refused}
    assert any(len(sentence) > 1000 for sentence in both.refused)
    assert [found["translation"] for found in both.left.told] == [""] * len(both.refused)


@pytest.mark.release
def test_the_plain_products_write_the_same() -> None:
    (fast,) = Twin().does({"do": "about"})
    sentences = [*sorted(OURS, key=len)[:10], *(sentence for sentence in NASTY if 3 < len(sentence) < 20)][:20]
    plain = Both(sentences, Twin(plain=True), beam=2)
    assert (fast.told["fast"], plain.about.told["fast"]) == (True, False)
    assert len(plain.told) + len(plain.refused) == 20
    assert not plain.unequal()
    assert_near(plain)


@pytest.mark.long
@pytest.mark.parametrize("beam", params([1, 2, 8], [2]))
def test_beams_of_other_widths(beam: int) -> None:
    both = Both(FEW, beam=beam)
    assert excused(both) == 0
    assert both.worst("scores") < 1e-3


def test_every_vector_that_is_shown_is_the_librarys(oracle: Oracle) -> None:
    sentence = OURS[40]
    src, (ids,) = oracle.source(sentence), oracle.greedy([sentence]).values()
    (told,) = Twin().does({"do": "trace", "pair": [src, ids]})
    with trace(oracle.model) as seen:
        oracle.logits(src, ids)
    numbers = Numbers(told.floats)
    assert len(told.told) >= 60
    for name, length in told.told:
        theirs = seen.calls(name)[0]
        if name.endswith(".weights"):
            assert length == theirs.numel()
        assert largest(numbers.take((length,)), theirs.flatten()) < 1e-3, name
    assert numbers.is_empty


# choices


def test_of_equal_logits_the_lower_id_is_taken() -> None:
    logits = [1.0, 3.0, 2.0, 3.0, 2.0, 3.0, 0.5]
    written, *ways = Twin().does(
        {"do": "write", "logits": logits, "how": {"by": "greedy"}, "count": 2},
        *({"do": "likeliest", "logits": logits, "most": most} for most in range(1, 8)),
    )
    assert written.told == [int(torch.tensor(logits).argmax())] * 2
    order = torch.tensor(logits).argsort(descending=True, stable=True)
    for most, found in enumerate(ways, start=1):
        assert [way["token"] for way in found.told] == order[:most].tolist()
        wanted = torch.tensor(logits).log_softmax(dim=-1)[order[:most]]
        assert largest([way["logP"] for way in found.told], wanted) < 1e-6


def test_the_nucleus_is_the_librarys() -> None:
    tied = torch.tensor([2.0, 1.0, 2.0, -torch.inf, 1.0, 2.0])
    draws = [_finite(logits) for logits in (*(torch.randn(300) * scale for scale in (0.3, 2.0, 6.0)), tied)]
    cases = [*product(draws, [0.5, 1.0, 1.7], [0.1, 0.6, 0.95, 1.0])]
    tasks = ({"do": "nucleus", "logits": logits, "temperature": T, "topP": top_p} for logits, T, top_p in cases)
    for (logits, T, top_p), found in zip(cases, Twin().does(*tasks), strict=True):
        wanted = filter_logits(torch.tensor(logits) / T, top_p=top_p).softmax(dim=-1)
        ids, p = zip(*found.told)
        assert {*ids} == {*wanted.nonzero().flatten().tolist()}
        assert largest(np.array(p) / sum(p), wanted[list(ids)]) < 1e-6


def _finite(logits: torch.Tensor) -> list[float]:
    """JSON has no −∞."""
    return logits.clamp(min=-30).tolist()


def test_draws_fall_as_the_library_says() -> None:
    logits, how, count = [1.0, 3.0, 2.0, 2.5, -1.0, 0.0], {"by": "sample", "temperature": 1.3, "topP": 0.9}, 20_000
    first, again, other = Twin().does(
        *({"do": "write", "logits": logits, "how": {**how, "seed": seed}, "count": count} for seed in (3, 3, 4))
    )
    assert first.told == again.told != other.told
    wanted = filter_logits(torch.tensor(logits) / how["temperature"], top_p=how["topP"]).softmax(dim=-1)
    found = torch.bincount(torch.tensor(first.told), minlength=len(logits)) / count
    assert 0 < (wanted == 0).sum() < 3
    assert ((found - wanted).abs() <= 4 * (wanted * (1 - wanted) / count).sqrt()).all()


@pytest.mark.long
def test_unlikely_words_are_told_as_the_library_finds_them(oracle: Oracle) -> None:
    how = {"by": "sample", "temperature": 2.5, "topP": 1, "seed": 1}
    (drawn,) = Twin().does({"do": "translate", "sentences": FEW, "how": how})
    for sentence, found in zip(FEW, drawn.told, strict=True):
        assert told_off(oracle.logits(oracle.source(sentence), found["ids"]), found, oracle) < 1e-4
    assert any(told["p"] < told["rivals"][-1]["p"] for found in drawn.told for told in found["told"])


# switches

OFF = {
    **{name: {name: True} for name in translator_switches.PARTS},
    **{name: {"layers": [name]} for name in ("encoder.1", "decoder.0", "decoder.2")},
    **{
        name: {"heads": [name]}
        for name in ("encoder.0.self_attention.0", "decoder.2.self_attention.7", "decoder.1.cross_attention.3")
    },
}


def off(name: str, pairs: list[tuple[list[int], list[int]]]) -> list[Answer]:
    """What the twin writes with a part switched off, and its logits for what the whole model writes."""
    free = {"do": "translate", "sentences": FEW, "how": {"by": "greedy"}, "off": OFF[name]}
    return Twin().does(free, {"do": "force", "pairs": pairs, "off": OFF[name]})


@pytest.mark.parametrize("name", params(OFF, ["positions"], rest=every(4, OFF)))
def test_a_switch_does_what_it_does_to_the_library(name: str, oracle: Oracle) -> None:
    whole = oracle.greedy(FEW)
    free, forced = off(name, [(oracle.source(sentence), whole[sentence]) for sentence in FEW])
    numbers, moved = Numbers(forced.floats), 0.0
    intact = {sentence: oracle.logits(oracle.source(sentence), whole[sentence]) for sentence in FEW}
    with translator_switches.switches(oracle.model)[name](oracle.model):
        for sentence in FEW:
            wanted = oracle.logits(oracle.source(sentence), whole[sentence])
            assert largest(numbers.take(wanted.shape), wanted) < 1e-3 * float(wanted.abs().max())
            moved = max(moved, largest(intact[sentence], wanted))
        written = oracle.greedy(FEW)
        margins = {sentence: oracle.greedy_margin(sentence, ids) for sentence, ids in written.items()}
    assert moved > 0.1
    for sentence, found in zip(FEW, free.told, strict=True):
        assert found["ids"] == written[sentence] or margins[sentence] < MARGIN, sentence
    for sentence in FEW:  # the library's model is whole again
        assert torch.equal(oracle.logits(oracle.source(sentence), whole[sentence]), intact[sentence])


def test_the_page_names_the_switches_that_are_recorded(oracle: Oracle) -> None:
    kept = recorded("translator_switches")
    assert kept["switches"].keys() == translator_switches.switches(oracle.model).keys()
    stale = "the translator has changed: run python -m experiments.{} again"
    for name in ("translator_switches", "translator_twin"):
        assert recorded(name)["model"] == translator_switches.fingerprint(), stale.format(name)


# what recorded widgets show of a reader's own sentence


def viewed(name: str, sentences: list[str], folder: Path | None = None, **how: Any) -> list[dict[str, Any]]:
    """What the page gives a recorded widget of each sentence."""
    (answer,) = Twin(folder).does({"do": "view", "view": name, "how": how, "sentences": sentences})
    assert all("long" not in each["doubts"] for each in answer.told)
    return [each["found"] for each in answer.told]


@pytest.mark.parametrize("widest", params([3, 6], [], rest=[3]))
def test_the_tree_of_a_beam_is_the_librarys(widest: int, oracle: Oracle) -> None:
    for sentence, found in zip(FEW, viewed("tree", FEW, widest=widest), strict=True):
        wanted = translator_tree(oracle.translator, sentence, widest)
        own, ours = paths(found), paths(wanted)
        assert own.keys() == ours.keys(), sentence
        assert all(abs(own[path] - ours[path]) < 1e-3 for path in ours)
        assert (found["max_len"], found["source"]) == (wanted["max_len"], sentence)
        made = BeamTree(**{name: found[name] for name in ("tree", "tokens", "max_len")}, widest=widest)
        library = BeamTree(**wanted)
        assert (made.depth, found["depth"]) == (library.depth, library.depth)
        assert made.text(made.best.ids) == library.text(library.best.ids)


@pytest.mark.parametrize("place", params([0, 2, None], [], rest=[None]))
def test_the_next_token_at_a_fork_is_the_librarys(place: int | None, oracle: Oracle) -> None:
    found = viewed("sampling", FEW, named=12, **({} if place is None else {"place": place}))
    greedy = oracle.greedy(FEW)
    for sentence, own in zip(FEW, found, strict=True):
        ids = greedy[sentence]
        assert own["places"] == len(ids)
        best = oracle.logits(oracle.source(sentence), ids).softmax(dim=-1).amax(dim=-1)
        at = min(place, len(ids)) if place is not None else own["place"]
        assert own["place"] == at and (place is not None or best[at] < best.min() + 1e-4)
        wanted = translator_sampling(oracle.translator, sentence, ids[:at])
        assert largest(own["logits"], wanted["logits"]) < 1e-3
        assert own["tokens"] == wanted["tokens"]
        assert wanted["context"].endswith(f"written: {own['written'] or 'nothing yet'}")


def test_the_pieces_of_a_sentence_are_those_that_the_library_reads(oracle: Oracle) -> None:
    sentences = [*FEW, *(sentence for sentence in NASTY if sentence.strip() and len(sentence) < 120)]
    for sentence, own in zip(sentences, viewed("pieces", sentences), strict=True):
        assert own["read"] == oracle.tokenizer.pieces(oracle.translator.as_read(sentence)), sentence
        assert own["known"] == len(oracle.tokenizer)


@pytest.mark.long
def test_how_sure_each_word_was_is_the_librarys(oracle: Oracle) -> None:
    for sentence, own in zip(FEW, viewed("smoothing", FEW), strict=True):
        wanted = translator_smoothing(oracle.translator, sentence)
        assert (own["written"], own["known"]) == (wanted["written"], wanted["known"])
        for name in ("sure", "others"):
            assert largest(own[name], torch.tensor(wanted[name])) < 1e-3


@pytest.mark.long
def test_the_loss_of_a_sentence_follows_from_how_sure_it_was(oracle: Oracle) -> None:
    for sentence, ids in oracle.greedy(FEW).items():
        found = translator_smoothing(oracle.translator, sentence)
        v, logits = found["known"], oracle.logits(oracle.source(sentence), ids)
        for epsilon in (0.0, 0.1, 0.4):
            right, wrong = target(v, epsilon, "all")
            told = [(v - 1) * wrong * rest - right * math.log(p) for p, rest in zip(found["sure"], found["others"])]
            wanted = label_smoothed_loss(logits, torch.tensor([*ids, oracle.tokenizer.eos_id]), epsilon)
            assert sum(told) / len(told) == pytest.approx(wanted.item(), abs=1e-4)


def paths(made: dict[str, Any]) -> dict[tuple[str, ...], float]:
    """The log-probability of each token of a tree, by the path that it ends."""
    found, left = {}, [((), 0)]
    while left:
        path, node = left.pop()
        for token, log_p, behind in made["tree"][node]:
            here = (*path, made["tokens"][token])
            found[here] = log_p
            left += [(here, behind)] if behind >= 0 else []
    return found


def test_the_heads_of_a_sentence_are_the_librarys(oracle: Oracle) -> None:
    for sentence, found in zip(FEW, viewed("heads", FEW), strict=True):
        seen = oracle.translator.attention(sentence)
        assert found["src_tokens"][-1] == "<eos>" and len(found["src_tokens"]) == len(seen["source"])
        assert found["tgt_tokens"] == ["<bos>", *(piece.replace("▁", "") or "␣" for piece in seen["target"][:-1])]
        assert found["weights"].keys() == seen["weights"].keys()
        for kind, wanted in seen["weights"].items():
            assert largest(torch.tensor(found["weights"][kind]), wanted) < 1e-3, (sentence, kind)
        Heads(found["weights"], found["src_tokens"], found["tgt_tokens"])  # it is what the widget takes


HEADS_OFF = [[], ["encoder.2.self_attention.7"], [f"decoder.1.cross_attention.{k}" for k in range(8)]]


@pytest.mark.parametrize("off", params(HEADS_OFF, [], lambda off: str(len(off))))
def test_a_sentence_without_heads_is_the_librarys(off: list[str], oracle: Oracle) -> None:
    translator, every = oracle.translator, translator_switches.switches(oracle.model)
    found = [each["own"] for each in viewed("ablation", FEW, off=off)]
    assert [whole for whole, _ in found] == translator.translate(FEW, beam=1)
    with ExitStack() as cut:
        for name in off:
            cut.enter_context(every[name](oracle.model))
        assert [left for _, left in found] == translator.translate(FEW, beam=1)


@pytest.mark.long
def test_the_sentences_of_the_recorded_ablation_come_out_live_as_recorded() -> None:
    """What the page shows of a sentence of the reader's own stands beside these, and is the same measurement."""
    measured, heads = recorded("multihead_ablation"), (0, 9, 31, 71)
    places = [f"{stack}.{layer}.{kind}_attention" for stack, kind in (("encoder", "self"), ("decoder", "self"), ("decoder", "cross")) for layer in range(3)]  # fmt: skip
    for head in heads:
        found = viewed("ablation", measured["ours"], off=[f"{places[head // 8]}.{head % 8}"])
        for each, whole, left in zip(found, measured["whole"][2], measured["heads"][head][2], strict=True):
            assert each["own"] == [whole, left or whole]


def assert_followed(translator: Translator, sentences: list[str], folder: Path | None = None) -> None:
    shapes = FollowToken.words.shared["shapes"]
    for sentence, found in zip(sentences, viewed("follow", sentences, folder, numbers=16, shapes=shapes), strict=True):
        (ids,) = translator.search([sentence])
        src, tgt = translator.ids(sentence), torch.tensor([[translator.tokenizer.bos_id, *ids]])
        wanted = FollowToken(translator.model, src, tgt, words=translator.tokenizer.piece, numbers=16)
        assert (found["src_tokens"], found["tgt_tokens"]) == (wanted.src_tokens, wanted.tgt_tokens)
        stages = follow(translator.model, src, tgt)
        for side, exact in zip(("encoder", "decoder"), stages, strict=True):
            for own, library, stage in zip(found[side], getattr(wanted, side), exact, strict=True):
                assert (own["name"], own["layer"], own["shapes"]) == (stage.name, stage.layer, library["shapes"])
                state = stage.state.sort(dim=-1, descending=True).values if stage.name == "logits" else stage.state
                assert largest(torch.tensor(own["vectors"]), state[:, :16]) < 1e-3
                assert own["active"] == library["active"]
                for part in ("added", "lengths", "added_lengths", "weights"):
                    assert np.allclose(own[part], library[part], atol=6e-3), part
                for mine, theirs in zip(own["says"], library["says"], strict=True):
                    assert [share for _, share in mine] == pytest.approx([share for _, share in theirs], abs=1.1e-3)
                    close = [a[1] - b[1] < 2e-3 for a, b in pairwise(theirs)]  # the last may be one of several as good
                    assert any(close) or [word for word, _ in mine][:3] == [word for word, _ in theirs][:3]


@pytest.mark.long
def test_a_followed_word_goes_the_librarys_way(oracle: Oracle) -> None:
    assert_followed(oracle.translator, FEW[1:4])


@pytest.mark.long
@pytest.mark.parametrize("norm", ["post", "pre"])
def test_a_word_is_followed_through_another_model(norm: str, tmp_path: Path) -> None:
    assert_followed(drawn_model(tmp_path, norm, 32, max_len=80), OURS[:3], tmp_path)


def assert_filmed(found: Any, wanted: Any, where: str = "film") -> None:
    """Texts and counts are equal; numbers, which have two or three decimals, differ in the last at most."""
    if isinstance(wanted, dict):
        assert found.keys() == wanted.keys(), where
        for name in wanted:
            assert_filmed(found[name], wanted[name], f"{where}.{name}")
    elif isinstance(wanted, list | tuple) and wanted and not isinstance(wanted[0], str):
        assert len(found) == len(wanted), where
        for one, other in zip(found, wanted, strict=True):
            assert_filmed(one, other, where)
    elif isinstance(wanted, float):
        assert found == pytest.approx(wanted, abs=0.0101), where
    else:
        assert found == wanted, where


@pytest.mark.long
def test_the_film_of_a_sentence_is_the_librarys(oracle: Oracle) -> None:
    sentences = [*_film.SENTENCES, "She gave him the old red book.", "Hi.", "THE OLD MAN SLEEPS ON TUESDAY."]
    for sentence, found in zip(sentences, viewed("film", sentences, most=16), strict=True):
        assert found["film"]["plain"] == _film.without_positions(oracle.translator, [sentence])
        one, wanted = found["film"]["one"], _film.record(oracle.translator, sentence)
        ways = [each.pop("next") for each in (one, wanted)]  # the last of the four may be one of several as good
        assert_filmed([row[0] for row in ways[0]], [row[0] for row in ways[1]])
        assert_filmed([[p for _, p in row] for row in ways[0]], [[p for _, p in row] for row in ways[1]])
        assert_filmed(one, wanted)


def test_a_sentence_with_too_many_words_for_the_film_is_told_so() -> None:
    (answer,) = Twin().does({"do": "view", "view": "film", "how": {"most": 16}, "sentences": ["no " * 17]})
    assert answer.told == [{"doubts": ["many"], "found": None}]


def test_a_sentence_that_is_too_long_gets_no_view() -> None:
    (answer,) = Twin().does({"do": "view", "view": "tree", "how": {"widest": 2}, "sentences": ["!?" * 600]})
    assert answer.told == [{"doubts": ["long"], "found": None}]


# models of a reader's own


def drawn_model(folder: Path, norm: str, bits: int, max_len: int = 24) -> Translator:
    """Sizes that no four numbers divide, lower case, digits joined, weights drawn and not learned; saved to `folder`."""
    tokenizer = Tokenizer.train([*OURS, "Ça coûte 1988 francs à Liège, ΟΔΟΣ."], vocab_size=251, lowercase=True)
    torch.manual_seed(bits)
    sizes = {"d_model": 18, "n_heads": 3, "d_ff": 30, "n_layers": 2, "max_len": max_len}
    model = Transformer(TransformerConfig(len(tokenizer), norm=norm, **sizes)).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(0.3 * torch.randn_like(parameter))
    save_trained(folder, model, tokenizer, {"corpus": "ours"}, bits)
    return Translator(*load_trained(folder))


MODELS = [(norm, bits) for bits in BITS for norm in ("post", "pre")]


@pytest.mark.parametrize("model", params(MODELS, [], "{0[0]} {0[1]}".format, [("post", BITS[0]), ("pre", BITS[-1])]))
def test_another_model_with_another_tokenizer(model: tuple[str, int], tmp_path: Path) -> None:
    own = drawn_model(tmp_path, *model)
    sentences = [
        "Tom left in 1988.",
        "ΟΔΟΣ ΟΔΟΣ",
        "İ Ǆ ẞ",
        "HELP ME NOW",
        "Nobody 🎉 knows.",
        " ".join(OURS),
        *OURS[:10],
    ]
    both = Both(sentences, Twin(tmp_path), own)
    assert " ".join(OURS) in both.refused
    assert len(both.told) >= 12
    assert not both.unequal()
    assert_near(both, logits=1e-4)
    special = [own.tokenizer.pad_id, own.tokenizer.bos_id, own.tokenizer.eos_id, own.tokenizer.unk_id]
    assert both.about.told["special"] == special


def test_switches_of_a_model_that_norms_afterwards(tmp_path: Path) -> None:
    oracle, sentence = Oracle(drawn_model(tmp_path, "post", 32)), OURS[0]
    src, ids, off = (
        oracle.source(sentence),
        oracle.greedy([sentence])[sentence],
        [*translator_switches.PARTS, "encoder.0", "decoder.1"],
    )
    tasks = (
        {"do": "force", "pairs": [(src, ids)], "off": {"layers": [name]} if "." in name else {name: True}}
        for name in off
    )
    for name, found in zip(off, Twin(tmp_path).does(*tasks), strict=True):
        with translator_switches.switches(oracle.model)[name](oracle.model):
            wanted = oracle.logits(src, ids)
        assert largest(found.floats.reshape(wanted.shape), wanted) < 1e-4, name
        assert largest(wanted, oracle.logits(src, ids)) > 0.1, name
