"""Each misfit of a chapter's functions ends in one sentence, word for word; they stand in `tests/lib/misfits/<chapter>.py`."""

import importlib
import re
from pathlib import Path

import pytest

SENTENCES = {
    f"{path.stem}, {what}": row
    for path in sorted(Path(__file__).parent.glob("misfits/[a-z]*.py"))
    for what, row in importlib.import_module(f"lib.misfits.{path.stem}").SENTENCES.items()
}


@pytest.mark.parametrize(("call", "kind", "sentence"), SENTENCES.values(), ids=SENTENCES)
@pytest.mark.usefixtures("as_readers_run_it")
def test_a_misfit_ends_in_this_sentence(call, kind, sentence):
    with pytest.raises(kind, match=f"^{re.escape(sentence)}$"):
        call()


def test_none_is_lost():
    assert len(SENTENCES) >= 94
