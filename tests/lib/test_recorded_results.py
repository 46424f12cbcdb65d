"""Recorded results: found by name, complete, resting on what they say, and known to the pages that quote them."""

import ast
import copy
import dataclasses
import json
import multiprocessing
import re
import time
from pathlib import Path

import pytest
import torch
import torch.nn.functional as F
from project import ROOT
from torch import nn

from experiments import multihead_ablation, training_minute
from experiments import record as recording
from experiments.pair_samples import first_of, sample_of
from experiments.record import complaints, cpu_seconds, curve, piece, record, short
from tfm_book.site.dependencies import dependencies
from tfm_lib.corpora import _CORPORA, load_corpus
from tfm_lib.corpora.real import REAL
from tfm_lib.drawing import basis, recorded
from tfm_lib.engine.presets import PRESETS

RESULTS = sorted((ROOT / "experiments" / "results").glob("*.json"))
SCRIPTS = sorted((ROOT / "experiments").glob("*.py"))


@pytest.mark.parametrize("path", RESULTS, ids=lambda path: path.stem)
def test_a_result_says_how_it_came_about(path: Path) -> None:
    result = recorded(path.stem)
    missing = {"what", "command", "seeds", "date", "python", "torch", "machine", "threads", "seconds"} - result.keys()
    assert not missing
    assert result["command"].startswith(f"python -m experiments.{path.stem}")
    assert (ROOT / "experiments" / f"{path.stem}.py").is_file(), "the script that makes it is gone"


# Of one thing: the shipped model, copied weights, time and memory in rounds of the same numbers; and a search, whose
# winners others run with three seeds.
ONE_RUN = {
    "translator_training",
    "translator_behaviour",
    "translator_switches",
    "translator_twin",
    "parity",
    "efficient_scaling",
    "evaluation_sweep",
}


@pytest.mark.parametrize("path", [path for path in RESULTS if path.stem not in ONE_RUN], ids=lambda path: path.stem)
def test_a_curve_has_at_least_three_seeds(path: Path) -> None:
    assert len(json.loads(path.read_text(encoding="utf-8"))["seeds"]) >= 3


def test_what_was_never_recorded_is_told_with_its_command() -> None:
    with pytest.raises(FileNotFoundError, match="python -m experiments.nothing"):
        recorded("nothing")


def test_a_page_depends_on_the_results_it_quotes_and_on_no_other() -> None:
    quoted = RESULTS[0]
    cells = ["from tfm_lib.drawing import recorded", f"recorded({quoted.stem!r})"]
    found = dependencies(cells, ROOT / "chapters", ROOT)
    assert [path for path in found if path.suffix == ".json"] == [quoted]


# what a record rests on


@pytest.mark.parametrize("path", RESULTS, ids=lambda path: path.stem)
def test_a_result_says_no_more_than_it_holds(path: Path) -> None:
    assert not complaints(recorded(path.stem))


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(recording, "RESULTS", tmp_path)
    return tmp_path


def small(unequal: str | None = None, longer: int = 10, seeds: tuple[int, ...] = (0, 1)) -> dict:
    """A record of two arms, as it is read again; `longer` updates and `seeds` are those of the second."""
    with record("small", "two arms", unequal) as numbers:
        numbers["shares"] = {"short": [0.1, 0.2], "long": [0.3 for _ in seeds]}
        for seed in (0, 1):
            with numbers.run("short", seed, updates=10):
                pass
        for seed in seeds:
            numbers.ran("long", seed, updates=longer, epochs=1.5, cpu_seconds=2.0)
        numbers.rows("short", "shares/short")
        numbers.rows("long", "shares/long")
    return json.loads((recording.RESULTS / "small.json").read_text())


def test_numbers_are_kept_as_long_as_a_figure_needs_them() -> None:
    assert [short(0.123456), short(torch.tensor(1234.5), 2), short(float("inf"))] == [0.123, 1200.0, None]
    assert curve([1.0, 2.0, 4.0, 5.0, 9.0], every=2) == [1.5, 4.5, 9.0]


def test_a_record_that_agrees_is_written(folder: Path) -> None:
    result = small()
    assert complaints(result) == []
    assert result["seeds"] == [0, 1]
    assert result["basis"]["long"] == {
        "seeds": [0, 1], "updates": [10, 10], "epochs": [1.5, 1.5], "cpu_seconds": [2.0, 2.0], "rows": ["shares/long"],
    }  # fmt: skip


@pytest.mark.parametrize("other", [{"longer": 20}, {"seeds": (0, 1, 2)}, {"seeds": (0,)}])
def test_arms_at_unequal_size_are_refused_without_a_word(folder: Path, other: dict) -> None:
    with pytest.raises(ValueError, match="`unequal` does not say why"):
        small(**other)
    assert (folder / "small.json").is_file(), "hours of numbers are lost"
    assert complaints(small(unequal="the long one is the question", **other)) == []


def test_a_word_about_a_difference_that_is_not_there_is_refused(folder: Path) -> None:
    with pytest.raises(ValueError, match="not there"):
        small(unequal="no reason")


def test_arms_of_different_groups_are_not_compared(folder: Path) -> None:
    with record("small", "two tasks") as numbers:
        numbers.ran("a", 0, updates=10, cpu_seconds=1.0, group="one task")
        numbers.ran("b", 0, updates=20, cpu_seconds=1.0, group="another")


def broken(change) -> str:
    result = copy.deepcopy(small())
    change(result)
    return " ".join(complaints(result))


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda r: r.pop("basis"), "no basis"),
        (lambda r: r["shares"]["long"].pop(), "1 rows for 2 seeds"),
        (lambda r: r["shares"].pop("long"), "nothing at shares/long"),
        (lambda r: r["shares"].update(long=0.3), "no list"),
        (lambda r: r["basis"]["long"].pop("rows"), "no rows"),
        (lambda r: r["basis"]["long"]["seeds"].append(2), "one entry a seed"),
        (lambda r: r["basis"]["long"].update(seeds=[0, 0]), "one twice"),
        (lambda r: r["basis"]["long"].update(cpu_seconds=[None, 1.0]), "not known"),
        (lambda r: r.update(seeds=[0, 1, 2]), "at the top"),
        (lambda r: r["shares"].update(long=[{"seed": 0}, {"seed": 3}]), "other seeds"),
    ],
)
def test_what_does_not_agree_is_told(folder: Path, change, told: str) -> None:
    assert told in broken(change)


def test_rows_are_found_in_a_list_of_runs(folder: Path) -> None:
    with record("small", "runs one after the other") as numbers:
        numbers["runs"] = [{"norm": norm, "lr": 0.001, "seed": s} for s in (0, 1) for norm in ("pre", "post")]
        for norm in ("pre", "post"):
            for seed in (0, 1):
                numbers.ran(norm, seed, updates=5, cpu_seconds=1.0)
            numbers.rows(norm, f"runs/norm={norm},lr=0.001")
    result = json.loads((folder / "small.json").read_text())
    result["runs"].pop()
    assert "1 rows for 2 seeds" in " ".join(complaints(result))


def spin(seconds: float) -> None:
    until = time.process_time() + seconds
    while time.process_time() < until:
        pass


def test_cpu_time_holds_that_of_children(folder: Path) -> None:
    before = cpu_seconds()
    with record("small", "a child works") as numbers, numbers.run("child", 0, updates=0):
        child = multiprocessing.get_context("fork").Process(target=spin, args=(0.4,))
        child.start()
        child.join()
    result = json.loads((folder / "small.json").read_text())
    assert result["basis"]["child"]["cpu_seconds"][0] >= 0.35
    assert result["cpu_seconds"] >= 0.35
    assert cpu_seconds() - before >= 0.35


def test_a_piece_is_made_once_and_its_weights_are_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TFM_RUNS", str(tmp_path))
    made = []

    def make():
        made.append(1)
        return {"exact": 0.5}, nn.Linear(1, 1)

    first, again = (piece("small", "seed 0", make) for _ in range(2))
    assert first == again
    assert first.keys() == {"exact", "cpu_seconds"}
    assert len(made) == 1
    assert (tmp_path / "small" / "seed 0.pt").is_file()
    monkeypatch.delenv("TFM_RUNS")
    piece("small", "seed 0", make)
    assert len(made) == 2


def test_a_record_counts_what_its_kept_pieces_took(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TFM_RUNS", str(folder))
    (folder / "small").mkdir()
    (folder / "small" / "seed 0.json").write_text('{"exact": 0.5, "cpu_seconds": 100.0}')
    with record("small", "one piece") as numbers:
        found = piece("small", "seed 0", lambda: pytest.fail("it is kept"))
        numbers.ran("kept", 0, updates=10, cpu_seconds=found["cpu_seconds"])
    result = json.loads((folder / "small.json").read_text())
    assert result["cpu_seconds"] >= 100
    assert "1 pieces were kept" in result["kept"]
    with record("other", "none") as numbers:
        numbers.ran("fresh", 0, updates=10, cpu_seconds=1.0)
    assert "kept" not in json.loads((folder / "other.json").read_text())


def test_pieces_of_an_arm_are_its_seeds(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TFM_RUNS", raising=False)
    with record("small", "two seeds") as numbers:
        found = numbers.pieces("arm", [3, 4], lambda seed: ({"exact": seed / 10}, None), updates=10)
        numbers["exact"] = [one["exact"] for one in found]
        numbers.rows("arm", "exact")
    result = json.loads((folder / "small.json").read_text())
    assert result["exact"] == [0.3, 0.4]
    assert result["basis"]["arm"]["seeds"] == [3, 4]
    monkeypatch.setenv("TFM_RUNS", str(folder))
    for seed, spent in ((3, None), (4, 1.0)):
        kept = folder / "small" / f"arm, seed {seed}.json"
        kept.parent.mkdir(exist_ok=True)
        kept.write_text(json.dumps({"exact": 0.5, "cpu_seconds": spent}))
    with record("small", "two seeds") as numbers:
        numbers["exact"] = [one["exact"] for one in numbers.pieces("arm", [3, 4], lambda seed: ({}, None), updates=10)]
        numbers.rows("arm", "exact")
    assert "not of each" in json.loads((folder / "small.json").read_text())["basis"]["arm"]["unknown"]


def test_the_text_gets_its_n_from_the_record(folder: Path) -> None:
    equal, unequal = small(), small(unequal="the long one is the question", longer=20_000, seeds=(0,))
    assert basis(equal, "short", "long") == "2 seeds, 10 updates each"
    assert basis(unequal, "long") == "1 seed, 20,000 updates"
    assert basis(unequal) == "short: 2 seeds, 10 updates each; long: 1 seed, 20,000 updates"


@pytest.mark.parametrize(
    "path", [path for path in SCRIPTS if "with record(" in path.read_text()], ids=lambda path: path.stem
)
def test_a_script_tells_what_each_arm_rests_on(path: Path) -> None:
    assert re.search(r"\b(numbers|result|kept)\.(ran|run|pieces)\b", path.read_text(encoding="utf-8"))


# some pairs of a split

PARTS = {"train", "val", "test"}


def prefixes(source: str) -> list[str]:  # noqa: C901 (a reader of Python in one place)
    """The slices, in a file's text, of what comes out of a corpus' `split` or `sentences`: pairs by their place."""
    tree = ast.parse(source)
    names: set[str] = set()  # that hold a split's pairs, wherever in the file they do

    def is_split(node: ast.AST | None) -> bool:
        match node:
            case ast.Call(func=ast.Attribute(attr="sentences")):
                return True
            case ast.Call(func=ast.Attribute(attr="split"), args=[ast.Constant(value=part)]):
                return part in PARTS
            case ast.Call(func=ast.Attribute(attr="split"), args=[ast.Name()]):
                return True
            case ast.Name(id=name) | ast.Attribute(value=ast.Name(id="self"), attr=name):
                return name in names
            case ast.Call(func=ast.Name(id="list" | "tuple"), args=[inner]):
                return is_split(inner)
            case ast.Subscript(value=value, slice=index):
                return (
                    not isinstance(index, ast.Slice) and isinstance(value, ast.Name | ast.Attribute) and is_split(value)
                )
            case ast.Tuple(elts=several):
                return any(map(is_split, several))
            case ast.ListComp(elt=element, generators=[over]):
                return is_split(element) or (
                    is_split(over.iter) and ast.dump(element) == ast.dump(_loaded(over.target))
                )
            case ast.GeneratorExp(elt=element) | ast.DictComp(value=element):
                return is_split(element)
            case ast.IfExp(body=one, orelse=other):
                return is_split(one) or is_split(other)
        return False

    functions = {node.name: node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}
    before = -1
    while before != len(names):
        before = len(names)
        for node in ast.walk(tree):
            if isinstance(node, ast.Assign):
                names |= _bound(node.targets[0], node.value, is_split)
            elif isinstance(node, ast.NamedExpr) and is_split(node.value):
                names.add(node.target.id)
            elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in functions:
                parameters = [a.arg for a in functions[node.func.id].args.args]
                names |= {name for name, value in zip(parameters, node.args) if is_split(value)}
    cut = [n for n in ast.walk(tree) if isinstance(n, ast.Subscript) and isinstance(n.slice, ast.Slice)]
    cut = [n for n in cut if is_split(n.value) and not (n.slice.lower is None and n.slice.upper is None)]
    islices = [n for n in ast.walk(tree) if isinstance(n, ast.Call) and ast.unparse(n.func).endswith("islice")]
    return [ast.unparse(n) for n in cut] + [ast.unparse(n) for n in islices if n.args and is_split(n.args[0])]


def _loaded(target: ast.expr) -> ast.expr:
    return ast.parse(ast.unparse(target), mode="eval").body


def _bound(target: ast.expr, value: ast.expr, is_split) -> set[str]:
    """The names that get a split's pairs in `target = value`."""
    match target, value:
        case ast.Name(id=name) | ast.Attribute(value=ast.Name(id="self"), attr=name), _:
            return {name} if is_split(value) else set()
        case ast.Tuple(elts=targets), ast.Tuple(elts=values):
            return set().union(*(_bound(*both, is_split) for both in zip(targets, values)))
        case ast.Tuple(elts=targets), _ if is_split(value):
            return {target.id for target in targets if isinstance(target, ast.Name)}
    return set()


@pytest.mark.parametrize(
    "cut",
    [
        'ranked_on = corpus.sentences("val")[:100]',
        'pairs = corpus.split("test")[: min(5, n)]',
        'train, val = corpus.split("train"), corpus.split("val")\nseen = train[: len(val)]',
        'self.val = corpus.sentences("val")\nself.val[-50:]',
        'parts = {part: corpus.split(part) for part in PARTS}\nparts["val"][:9]',
        'train, val = (corpus.sentences(part) for part in ("train", "val"))\nval[:9]',
        'def judge(model, pairs):\n    return pairs[:9]\njudge(model, corpus.split("test"))',
        'test = list(corpus.split("test"))\nitertools.islice(test, 9)',
        'short = [pair for pair in corpus.split("test") if pair.links]\nshort[10:20]',
    ],
)
def test_pairs_by_their_place_in_a_split_are_seen(cut: str) -> None:
    assert prefixes(cut)


@pytest.mark.parametrize(
    "fair",
    [
        'first, *_ = line.split(",")\nline.split(",")[:2]\nline.split()[:2]',
        'sample_of(corpus.split("val"), 100, seed=0)',
        'pair = corpus.split("test")[0]\npair.src[:3]',
        'pairs = corpus.split("test")\nranked = sorted(pairs, key=len)[:10]',
        'pairs = sample_of(corpus.split("test"), 100, seed=0)\npairs[:10]',
        'for pair in corpus.split("test"):\n    pair.tgt[:2]',
    ],
)
def test_what_is_no_cut_is_left_alone(fair: str) -> None:
    assert not prefixes(fair)


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.stem)
def test_no_experiment_takes_pairs_by_their_place_in_a_split(path: Path) -> None:
    cut = prefixes(path.read_text(encoding="utf-8"))
    assert not cut, f"{cut}: real splits stand by length; take sample_of(pairs, count, seed), or first_of, which looks"


GENERATED = set(_CORPORA) - set(REAL)
SORTED = {"numbers"}  # all different, so the few short ones come up early


@pytest.mark.parametrize("name", sorted(GENERATED))
def test_a_generated_corpus_stands_in_no_order(name: str) -> None:
    pairs = load_corpus(name).split("train")
    if name in SORTED:
        with pytest.raises(ValueError, match="sample_of"):
            first_of(pairs, 100)
    else:
        assert first_of(pairs, 100) == list(pairs[:100])


@pytest.mark.parametrize("path", sorted((ROOT / "chapters").glob("*.md")), ids=lambda path: path.stem)
def test_a_page_cuts_only_what_stands_in_no_order(path: Path) -> None:
    cells = re.findall(
        r"^```\{code-cell\}[^\n]*\n(.*?)^```", path.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE
    )
    code = "\n".join(re.sub(r"^:\w+:.*\n", "", cell, flags=re.MULTILINE) for cell in cells)
    loaded = set(re.findall(r'load_corpus\("([^"]+)"', code))
    assert loaded <= GENERATED - SORTED or not prefixes(code)


def test_a_sample_is_of_the_whole_split() -> None:
    pairs = sorted(load_corpus("copy", size=2000, max_len=20).split("train"), key=lambda pair: len(pair.src))
    drawn = sample_of(pairs, 200, seed=0)

    def mean(some):
        return sum(len(pair.src) for pair in some) / len(some)

    assert abs(mean(drawn) - mean(pairs)) < 1.5
    assert drawn == sample_of(pairs, 200, seed=0) != sample_of(pairs, 200, seed=1)
    assert len({id(pair) for pair in drawn}) == 200
    assert sample_of(pairs, 10**6, seed=0) == list(pairs)


def test_the_first_of_a_sorted_split_are_refused() -> None:
    pairs = load_corpus("copy", size=2000, max_len=20).split("train")
    assert first_of(pairs, 200) == list(pairs[:200])
    with pytest.raises(ValueError, match="the split is sorted"):
        first_of(sorted(pairs, key=lambda pair: len(pair.src)), 200)
    sentences = sorted(load_corpus("copy", size=2000, max_len=20).sentences("train"), key=lambda pair: len(pair[0]))
    with pytest.raises(ValueError, match="sample_of"):
        first_of(sentences, 200)


# heads switched off


def test_what_lies_below_a_head_may_be_computed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    ours = [("He sleeps.", "Il dort."), ("The cat drinks the milk.", "Le chat boit le lait."), ("I see.", "Je vois.")]

    class Few:
        def sentences(self, part: str) -> list[tuple[str, str]]:
            return ours

    monkeypatch.setattr(multihead_ablation, "load_corpus", lambda name: Few())
    bench = multihead_ablation.Bench(len(ours))
    model, h = bench.translator.model, bench.translator.model.config.n_heads
    ((src, tgt),) = bench.test
    with torch.no_grad():
        nats = F.cross_entropy(model(src, tgt[:, :-1]).flatten(0, 1), tgt[:, 1:].flatten(), ignore_index=0).item()
    assert bench.loss(bench.test) == pytest.approx(nats, rel=1e-5)
    heads, gone = [h * i + i % h for i in range(len(bench.layers))], [2, 5]
    alone = {i: bench.loss_without([*gone, i], bench.test) for i in heads}
    assert bench.losses_without_each(heads, gone, bench.test) == pytest.approx(alone, abs=1e-4)
    assert len(set(alone.values())) > 3, "heads make no difference"


@pytest.mark.release
def test_the_minute_of_training_runs_on_the_engine_of_today(monkeypatch: pytest.MonkeyPatch) -> None:
    short = dataclasses.replace(PRESETS["tiny"].options, steps=3, validate_every=2, max_tokens=300)
    monkeypatch.setitem(PRESETS, "tiny", dataclasses.replace(PRESETS["tiny"], options=short))
    monkeypatch.setattr(training_minute, "CORPUS", "copy")
    found = training_minute.run(0)
    assert found["updates"] == 3 and found["validations"] and found["exact"] <= 1
