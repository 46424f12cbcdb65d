"""What a reader found who read every named mistake of the unseen bank beside the idea of the wrong answer.

`readings.json` holds, for each wrong answer in which a check named a mistake, a digest of what the check said and one
word of `WORDS`; of the misnamed ones also the message that was read, and why. A check that speaks otherwise since then
has another digest: what it says there counts as not read.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from pathlib import Path

WORDS = {
    "right": "the check names the mistake that was made",
    "led": "it names a true consequence, or a part, of the mistake that was made, and what it says leads there",
    "misnamed": "it names another mistake, and who believes it looks in the wrong place",
}
FILE = Path(__file__).with_name("readings.json")
Reading = tuple[str, str] | tuple[str, str, str, str]  # digest, word; of misnamed ones also message and why


def digest(mistake: str, message: str) -> str:
    """Eight signs that change with what is said, and not with its numbers: these may differ by machine in the last place."""
    return hashlib.sha256(re.sub(r"\d+", "0", f"{mistake}\n{message}").encode()).hexdigest()[:8]


def load() -> dict[str, dict[str, Reading]]:
    return json.loads(FILE.read_text(encoding="utf-8"))


def tally(said: dict[tuple[str, str], tuple[str, str]], read: dict[str, dict[str, Reading]]) -> Counter:
    """How many of the named mistakes are which of `WORDS`; `said` gives for each its (mistake, message) of today."""
    counted: Counter = Counter()
    for (exercise, answer), (mistake, message) in said.items():
        known, word, *_ = read.get(exercise, {}).get(answer, ("", ""))
        counted[word if known == digest(mistake, message) else "not read"] += 1
    return counted


def told(counted: Counter, wrong: int) -> str:
    """The tally as a sentence; the share of the misnamed is of all wrong answers."""
    words = ", ".join(f"{word} {counted[word]}" for word in (*WORDS, "not read"))
    return f"named mistakes as a reader found them: {words}. Misnamed: {counted['misnamed'] / max(wrong, 1):.1%} of {wrong} wrong answers"
