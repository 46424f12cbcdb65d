"""Score the shipped translator on what people type: the frozen test of `experiments/behaviour`, with its aims.

    TFM_DATA=… python -m experiments.translator_behaviour                  # the shipped model; records the result
    TFM_DATA=… python -m experiments.translator_behaviour --model trained/mine --to mine.json   # another model

Rules and kinds are described in `experiments/behaviour/__init__.py`. The result holds figures, and no sentence of the
corpus.
"""

import argparse
import hashlib
import json
import sys
import time
from pathlib import Path
from statistics import mean

import sacrebleu
import torch

from experiments.behaviour import cases, rules, scores
from experiments.behaviour.cases import BY_BLEU, BY_RULE, Carriers, Changed, Value
from experiments.record import record
from tfm_lib.corpora import load_corpus
from tfm_lib.corpora.real import references
from tfm_lib.engine.shipped import shipped_folder
from tfm_lib.engine.translator import Translator

BEAM, AT_ONCE = 4, 160  # sentences between progress reports
AIMS = {
    "digits": 95,
    "number words": 90,
    "names": 85,
    "lower case": 95,
    "upper case": 90,
    "slips": 80,
    "two joined": 95,
}
PLAIN_AIM = 46.0  # BLEU
FLOOR = 40.0  # chrF of the rest, reported beside the frozen rule, which a model that copies the English would pass


def hashes(folder: Path) -> dict[str, str]:
    """Return the SHA-256 of the model's files: weights, sizes and tokenizer."""
    files = [path for path in sorted(folder.iterdir()) if path.is_file() and path.suffix != ".md"]
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


def translated(translator: Translator, sentences: list[str]) -> dict[str, str]:
    """Translate every distinct sentence, short ones first, and report progress."""
    todo, found = sorted(dict.fromkeys(sentences), key=len), {}
    began = time.monotonic()
    for start in range(0, len(todo), AT_ONCE):
        some = todo[start : start + AT_ONCE]
        found.update(zip(some, translator.translate(some, BEAM)))
        seconds = time.monotonic() - began
        print(f"\r{len(found)} of {len(todo)} sentences, {seconds:.0f} s", end="", file=sys.stderr, flush=True)
    print(file=sys.stderr)
    return found


def passes(case: Value, written: dict[str, str], floor: float = 0.0) -> str:
    """ "" if the case passes, else the part of the rule that it breaks: "value", "rest" or "mark".

    With a `floor` the rest must reach that score too, however bad the carrier's own translation is.
    """
    text, alone = written[case.source], written[case.alone]
    if case.names:
        rest, alone = rules.without_name(text, case.names), rules.french_names(alone)
    elif case.form:
        rest = rules.without(rules.plain(text), case.form)
    else:
        rest = text
    if rest is None:
        return "value"
    if case.marked is not None and not rules.is_question(text, case.marked):
        return "mark"
    near = max(rules.likeness(alone, list(case.beside)), floor + rules.TOLERANCE if floor else 0.0)
    return "" if rules.not_worse(rest, list(case.references), near) else "rest"


def judged(made: list[Value], written: dict[str, str]) -> dict:
    broken = [passes(case, written) for case in made]
    passed = broken.count("")
    with_floor = sum(passes(case, written, FLOOR) == "" for case in made)
    return {
        "n": len(made),
        "passed": passed,
        "rate": round(100 * passed / len(made), 1),
        "interval": [round(100 * bound, 1) for bound in scores.wilson(passed, len(made))],
        "with_floor": {"chrf": FLOOR, "passed": with_floor, "rate": round(100 * with_floor / len(made), 1)},
        "refused": {part: broken.count(part) for part in ("value", "rest", "mark") if part in broken},
    }


def columns(case: Changed, written: dict[str, str], carriers: Carriers) -> list[list[scores.Stats]]:
    """Return the counts of the changed source's translation, then those of each carrier's, reference by reference.

    If carriers have several references, they are paired in order, and the shorter list is repeated.
    """
    lists = [carriers[sentence] for sentence in case.carriers]
    picked = [[texts[i % len(texts)] for texts in lists] for i in range(max(map(len, lists)))]
    whole = [scores.stats(written[case.source], " ".join(texts)) for texts in picked]
    parts = [
        [scores.stats(written[sentence], texts[i]) for texts in picked] for i, sentence in enumerate(case.carriers)
    ]
    if len(parts) > 2:  # many sentences: one corpus
        parts = [[count for part in parts for count in part]]
    return [whole, *parts]


def share(columns: list[list[scores.Stats]]) -> float:
    """Return the first column's BLEU as a percentage of the mean of the others'."""
    whole, *parts = map(scores.bleu, columns)
    return 100 * whole / mean(parts)


def measured(made: list[Changed], written: dict[str, str], carriers: Carriers) -> dict:
    table = [columns(case, written, carriers) for case in made]
    flat = [[count for case in column for count in case] for column in zip(*table)]
    whole, *parts = [round(scores.bleu(column), 2) for column in flat]
    return {
        "n": len(made),
        "bleu": whole,
        "bleu_interval": rounded(scores.bootstrap(table, lambda drawn: scores.bleu(drawn[0]))),
        "bleu_alone": parts,
        "rate": round(share(flat), 1),
        "interval": rounded(scores.bootstrap(table, share), 1),
    }


def plain(written: dict[str, str], carriers: Carriers) -> dict:
    """Return BLEU on the whole test split: with one reference per pair, and with all references of each sentence."""
    table = [[[scores.stats(written[source], text) for text in texts]] for source, texts in carriers.items()]
    most = max(map(len, carriers.values()))
    streams = [[(texts[i] if i < len(texts) else None) for texts in carriers.values()] for i in range(most)]
    metric = sacrebleu.BLEU()
    every = metric.corpus_score([written[source] for source in carriers], streams)
    one = scores.bleu([count for case in table for count in case[0]])
    return {
        "n": len(carriers),
        "pairs": sum(map(len, carriers.values())),
        "bleu": round(one, 2),
        "bleu_interval": rounded(scores.bootstrap(table, lambda drawn: scores.bleu(drawn[0]))),
        "bleu_all_references": round(every.score, 2),
        "signature_all": str(metric.get_signature()),
    }


def rounded(bounds: tuple[float, float], digits: int = 2) -> list[float]:
    return [round(bound, digits) for bound in bounds]


def behaviour(translator: Translator, carriers: Carriers) -> dict[str, dict]:
    """Return the figures of every kind, by its name."""
    by_rule = {name: make(carriers) for name, make in BY_RULE.items()}
    by_bleu = {name: make(carriers) for name, make in BY_BLEU.items()}
    sources = [case.source for values in by_rule.values() for case in values]
    sources += [case.source for changed in by_bleu.values() for case in changed]
    written = translated(translator, [*carriers, *sources])
    found = {"plain": plain(written, carriers)}
    found |= {name: judged(made, written) for name, made in by_rule.items()}
    found |= {name: measured(made, written, carriers) for name, made in by_bleu.items()}
    return found


def table(found: dict[str, dict]) -> str:
    """Format one line per kind: n, the figure, its interval, and the aim."""
    lines = [f"{'kind':14}{'n':>5}{'passed':>8}{'BLEU':>7}{'%':>8}  {'95 % interval':16}{'aim':>5}"]
    for name, figures in found.items():
        is_plain = name == "plain"
        low, high = figures["bleu_interval" if is_plain else "interval"]
        aim = PLAIN_AIM if is_plain else AIMS.get(name)
        lines.append(
            f"{name:14}{figures['n']:5}{figures.get('passed', ''):>8}{figures.get('bleu', ''):>7}"
            f"{figures.get('rate', ''):>8}  {f'{low:.1f} to {high:.1f}':16}{'' if aim is None else f'{aim:g}':>5}"
        )
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--model", type=Path, default=shipped_folder(), help="the folder of the model")
    parser.add_argument("--to", type=Path, help="a file for the figures, in place of the recorded result")
    parser.add_argument("--freeze", action="store_true", help="write down which cases these are, and judge nothing")
    given = parser.parse_args()
    torch.set_num_threads(1)
    carriers = dict(references(load_corpus("tatoeba-en-fr").sentences("test")))
    if given.freeze:
        cases.FROZEN.write_text(json.dumps(cases.fingerprint(carriers), indent=1) + "\n", encoding="utf-8")
        return
    cases.assert_frozen(carriers)
    if given.model.resolve() != shipped_folder().resolve() and given.to is None:
        parser.error("the recorded result is the shipped model's: say with --to where another model's figures go")
    translator = Translator.load(given.model)
    figures = {"sha256": hashes(given.model), "beam": BEAM, "aims": {"plain": PLAIN_AIM, **AIMS}}
    figures |= {"tolerance": rules.TOLERANCE, "enough": rules.ENOUGH}
    if given.to is not None:
        figures["kinds"] = behaviour(translator, carriers)
        given.to.write_text(json.dumps(figures, indent=1) + "\n", encoding="utf-8")
    else:
        what = (
            "the frozen behaviour test of the shipped English–French translator: n, passed, rate in per cent with its 95 % "
            "interval (Wilson for passed cases, a bootstrap over cases for BLEU); rate of a BLEU kind: per cent of bleu_alone"
        )
        with record("translator_behaviour", what) as kept:
            with kept.run("shipped", seed=1, updates=0):
                figures["kinds"] = behaviour(translator, carriers)
            kept.update(figures)
    print(table(figures["kinds"]))


if __name__ == "__main__":
    main()
