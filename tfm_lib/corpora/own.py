"""Load your own sentence pairs from a file with a sentence, a tab and its translation on each line."""

from __future__ import annotations

import hashlib
from pathlib import Path

from tfm_lib.corpora.text import Sentences, TextCorpus

SHOWN = 5  # maximum number of faulty lines that a message lists


def is_file_name(name: str) -> bool:
    """Return whether `name` refers to a file rather than to a corpus."""
    return Path(name).suffix in (".tsv", ".txt", ".tab") or "/" in name or "\\" in name or Path(name).is_file()


def own_pairs(path: Path | str) -> TextCorpus:
    """Load the pairs of a file, split by the source's hash: about 80 % train, 10 % val, 10 % test, none empty.

    Text after a second tab is ignored, and so are empty lines. Raises ValueError, with line numbers, for a file that
    does not have this format.
    """
    parts = _parts(_read(Path(path)))
    return TextCorpus(str(path), ("source", "target"), "yours", str(path), parts.__getitem__)


def _read(path: Path) -> Sentences:
    if not path.is_file():
        raise ValueError(f"There is no file {path}. It should hold a sentence, a tab and its translation on each line.")
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        place = path.read_bytes()[: error.start].count(b"\n") + 1
        raise ValueError(f"{path}, line {place}, is not UTF-8 (0x{error.object[error.start]:02x}).") from None
    pairs, wrong = [], []
    for number, line in enumerate(text.split("\n"), start=1):
        if line.strip():
            sides = [" ".join(side.split()) for side in line.split("\t")[:2]]
            if len(sides) == 2 and all(sides):
                pairs.append((sides[0], sides[1]))
            else:
                wrong.append(number)
    if wrong:
        named = ", ".join(map(str, wrong[:SHOWN])) + (f" and {len(wrong) - SHOWN} more" if wrong[SHOWN:] else "")
        raise ValueError(
            f"{path}: each line should hold a sentence, a tab and its translation; "
            f"line{'s' * (len(wrong) > 1)} {named} {'do' if len(wrong) > 1 else 'does'} not."
        )
    sources = len({source for source, _ in pairs})
    if sources < 3:
        raise ValueError(
            f"{path} holds {sources} different sentence{'s' * (sources != 1)}; at least 3 are needed, one to train on, "
            "one to validate and one to test."
        )
    return pairs


def _parts(pairs: Sentences) -> dict[str, Sentences]:
    """Split the pairs; each source is in one part only, and a part that would be empty gets one source."""
    hashes = {source: hashlib.sha256(source.encode()).digest() for source, _ in pairs}
    part_of = {source: "test" if h[0] < 26 else "val" if h[0] < 51 else "train" for source, h in hashes.items()}
    ordered = sorted(hashes, key=hashes.__getitem__)
    for part in ("test", "val", "train"):
        if part not in part_of.values():
            held = list(part_of.values())
            source = next(source for source in ordered if held.count(part_of[source]) > 1)
            part_of[source] = part
    return {part: [pair for pair in pairs if part_of[pair[0]] == part] for part in ("train", "val", "test")}
