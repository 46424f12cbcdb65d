"""Your own sentence pairs: what a file may hold, what is said of one that cannot be read, and how it is split."""

import re
from pathlib import Path

import pytest

from tfm_lib.corpora import load_corpus

LINES = [f"sentence {i}\tphrase {i}" for i in range(400)]


def file_of(folder: Path, text: str | bytes, name: str = "pairs.tsv") -> str:
    (folder / name).write_bytes(text if isinstance(text, bytes) else text.encode())
    return str(folder / name)


def test_each_pair_stands_in_one_part_and_a_source_in_one_alone(tmp_path):
    corpus = load_corpus(file_of(tmp_path, "\n".join([*LINES, "sentence 3\tanother 3"])))
    parts = {part: corpus.sentences(part) for part in ("train", "val", "test")}
    assert sorted(pair for part in parts.values() for pair in part) == sorted(
        [*(tuple(line.split("\t")) for line in LINES), ("sentence 3", "another 3")]
    )
    sources = [{source for source, _ in part} for part in parts.values()]
    assert sum(map(len, sources)) == 400
    assert 280 < len(sources[0]) < 360 and len(sources[1]) > 20 and len(sources[2]) > 20


def test_a_sentence_stays_in_its_part_when_others_come_and_go(tmp_path):
    whole = load_corpus(file_of(tmp_path, "\n".join(LINES)))
    half = load_corpus(file_of(tmp_path, "\n".join(LINES[::-2]), "half.tsv"))
    for part in ("train", "val", "test"):
        assert set(half.sentences(part)) <= set(whole.sentences(part))


@pytest.mark.parametrize("count", [3, 4, 7])
def test_tiny_corpora_have_all_parts(tmp_path, count):
    corpus = load_corpus(file_of(tmp_path, "\n".join(LINES[:count])))
    sizes = [len(corpus.sentences(part)) for part in ("train", "val", "test")]
    assert sum(sizes) == count and min(sizes) >= 1


def test_what_people_leave_in_files(tmp_path):
    text = "\ufeffone  lamp\tune  lampe\tby Ada\r\n\r\n \t \n two\tdeux\r\nthree\ttrois"
    corpus = load_corpus(file_of(tmp_path, text))
    pairs = [pair for part in ("train", "val", "test") for pair in corpus.sentences(part)]
    assert sorted(pairs) == [("one lamp", "une lampe"), ("three", "trois"), ("two", "deux")]


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (b"a\tb\nc d\ne\tf\ng\t\n", "each line should hold a sentence, a tab and its translation; lines 2, 4 do not."),
        (b"a b\nc\td\n", "line 1 does not."),
        (b"a\tb\n\nc d\n", "line 3 does not."),
        (b"x\n" * 9, "lines 1, 2, 3, 4, 5 and 4 more do not."),
        (b"a\tb\nc\td\xe9\n", "line 2, is not UTF-8 (0xe9)."),
        (b"", "holds 0 different sentences; at least 3 are needed"),
        (b"a\tb\na\tc\na\td\n", "holds 1 different sentence; at least 3 are needed"),
    ],
)
def test_a_file_that_cannot_be_read_gets_a_sentence_with_its_lines(tmp_path, text, sentence):
    with pytest.raises(ValueError, match=f"pairs.tsv.*{re.escape(sentence)}"):
        load_corpus(file_of(tmp_path, text))


@pytest.mark.parametrize("name", ["nowhere.tsv", "./my/pairs", "pairs.txt"])
def test_a_file_that_is_not_there_is_told(name):
    with pytest.raises(
        ValueError, match=f"^There is no file {re.escape(str(Path(name)))}. It should hold a sentence, a tab"
    ):
        load_corpus(name)


def test_names_of_corpora_stay_names():
    with pytest.raises(ValueError, match="No corpus is called 'pairs'; there are copy"):
        load_corpus("pairs")
    assert load_corpus("copy", size=5).name == "copy"


def test_a_file_takes_no_options(tmp_path):
    with pytest.raises(ValueError, match="is a file of your own pairs, which takes no options; got size."):
        load_corpus(file_of(tmp_path, "\n".join(LINES)), size=5)
