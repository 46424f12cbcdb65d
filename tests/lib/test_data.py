"""Sub-words against Sennrich's own program and the field's library, batches against what they promise."""

import json
import random
import re
import runpy
import string
from collections import Counter, defaultdict
from itertools import pairwise

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from project import ROOT
from tokenizers import Tokenizer as Backend
from tokenizers import decoders, models, normalizers, pre_tokenizers, trainers

from tfm_lib.data import Example, Tokenizer, apply_merges, batches, learn_merges, pad, padding_waste

_story = runpy.run_path(str(ROOT / "tfm_lib" / "corpora" / "story.py"))  # a mutant of the core has no corpora beside it
STORY, story_words = _story["STORY"], _story["story_words"]
TEN = "the hen then they them other mother the the then"
words = st.text("abc", min_size=1, max_size=6)
counted = st.dictionaries(words, st.integers(1, 9), min_size=1, max_size=8)
examples = st.lists(
    st.builds(Example, st.lists(st.just(5), max_size=9), st.lists(st.just(6), max_size=9)), min_size=1, max_size=30
)


# byte-pair encoding


def sennrich(vocab: dict[str, int], n_merges: int) -> list[tuple[str, str]]:
    """The program of Sennrich et al. (2016), algorithm 1, with ties broken as ours are."""
    vocab = {" ".join([*word[:-1], word[-1] + "·"]): count for word, count in vocab.items()}
    merges = []
    for _ in range(n_merges):
        pairs = defaultdict(int)
        for word, freq in vocab.items():
            symbols = word.split()
            for i in range(len(symbols) - 1):
                pairs[symbols[i], symbols[i + 1]] += freq
        if not pairs:
            break
        most = max(pairs.values())
        best = min(pair for pair, freq in pairs.items() if freq == most)
        pattern = re.compile(r"(?<!\S)" + re.escape(" ".join(best)) + r"(?!\S)")
        vocab = {pattern.sub("".join(best), word): freq for word, freq in vocab.items()}
        merges.append(best)
    return merges


@given(counted, st.integers(0, 12))
def test_learned_merges_are_those_of_the_paper(vocab, n_merges):
    assert learn_merges(vocab, n_merges) == sennrich(vocab, n_merges)


def test_ten_words_by_hand():
    vocab = dict(Counter(TEN.split()))
    assert learn_merges(vocab, 3) == [("t", "h"), ("th", "e"), ("th", "e·")]


def test_a_tie_goes_to_the_first_in_the_alphabet():
    assert learn_merges({"xy": 2, "ab": 2, "cd": 1}, 3) == [("a", "b·"), ("x", "y·"), ("c", "d·")]


def test_learning_ends_when_every_word_is_one_symbol():
    assert learn_merges({"ab": 1, "a": 5}, 100) == [("a", "b·")]


def test_neighbours_in_different_words_are_no_pair():
    assert learn_merges({"a": 9, "b": 9}, 5) == []


@given(counted, st.integers(0, 12))
def test_applied_to_the_words_it_learned_from_it_gives_what_learning_left(vocab, n_merges):
    merges = learn_merges(vocab, n_merges)
    pieces = Counter()
    for word, count in vocab.items():
        for pair in zip(cut := apply_merges(word, merges), cut[1:]):
            pieces[pair] += count
    following = learn_merges(vocab, n_merges + 1)[n_merges:]
    if following and len(merges) == n_merges:
        assert pieces[following[0]] == max(pieces.values()), "the next merge is the best pair of what is there"


@given(counted, words, st.integers(0, 12))
def test_pieces_joined_are_the_word_and_its_end(vocab, word, n_merges):
    pieces = apply_merges(word, learn_merges(vocab, n_merges))
    assert "".join(pieces) == word + "·"
    assert all("·" not in piece for piece in pieces[:-1])


def test_three_equal_letters_are_merged_from_the_left():
    assert apply_merges("aaab", [("a", "a")]) == ["aa", "a", "b·"]


def test_the_library_cuts_every_word_of_the_story_in_the_same_way():
    vocab = Counter(story_words())
    merges = learn_merges(vocab, 200)
    letters = sorted({letter for word in vocab for letter in (*word, word[-1] + "·")})
    ids = {piece: i for i, piece in enumerate(dict.fromkeys([*letters, *map("".join, merges)]))}
    theirs = Backend(models.BPE(vocab=ids, merges=merges, end_of_word_suffix="·"))
    theirs.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    for word in [*vocab, "lighthouses", "unhappier", "weathering", "rereader"]:
        assert apply_merges(word, merges) == theirs.encode(word).tokens


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: learn_merges({"a": 1}, -1), "n_merges must be at least 0; got -1."),
        (lambda: learn_merges({"": 1}, 1), "word must have at least one letter; got an empty one."),
        (lambda: apply_merges("", []), "word must have at least one letter; got an empty one."),
        (lambda: Tokenizer.train(["a"], 4), "vocab_size must be at least 5, four special tokens and a letter; got 4."),
        (lambda: pad([]), "rows must hold at least one row; got none."),
        (lambda: list(batches([], 0)), "max_tokens must be at least 1; got 0."),
        (lambda: padding_waste([]), "groups must hold at least one batch; got none."),
    ],
)
@pytest.mark.usefixtures("as_readers_run_it")
def test_bad_input_gets_a_sentence(call, sentence):
    with pytest.raises(ValueError) as caught:
        call()
    assert str(caught.value) == sentence


# the tokenizer

ENGLISH = re.split(r"(?<=[.?!]) +", " ".join(STORY.split()))
FRENCH = ["Où est le phare ?", "Le gardien écoute la radio.", "Ça va, merci !", "L'eau est plus profonde à gauche."]


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    return Tokenizer.train([*ENGLISH, *FRENCH * 5], 400)


def test_special_tokens_have_the_first_four_ids(tokenizer):
    assert (tokenizer.pad_id, tokenizer.bos_id, tokenizer.eos_id, tokenizer.unk_id) == (0, 1, 2, 3)
    vocab = json.loads(tokenizer._backend.to_str())["model"]["vocab"]
    assert [vocab[token] for token in ("<pad>", "<bos>", "<eos>", "<unk>")] == [0, 1, 2, 3]


@pytest.mark.parametrize("sentence", [*ENGLISH[:20], *FRENCH])
def test_what_is_encoded_comes_back(tokenizer, sentence):
    ids = tokenizer.encode(sentence)
    assert ids and not {0, 1, 2, 3} & set(ids)
    assert tokenizer.decode(ids) == sentence


@given(st.text(string.ascii_lowercase.replace("j", "").replace("z", "") + " ,.", max_size=40))
def test_any_words_of_known_letters_come_back(sentence):
    tokenizer = Tokenizer.train(ENGLISH, 300)
    said = " ".join(sentence.split())
    assert tokenizer.decode(tokenizer.encode(said)).replace(" ", "") == said.replace(" ", "")


def test_pieces_and_ids_belong_together(tokenizer):
    vocab = json.loads(tokenizer._backend.to_str())["model"]["vocab"]
    sentence = "The unhappiest keeper, jazz!"
    assert [vocab[piece] for piece in tokenizer.pieces(sentence)] == tokenizer.encode(sentence)
    assert tokenizer.pieces(sentence)[0].startswith("▁")


def test_a_letter_never_seen_is_unknown_and_its_neighbours_are_not(tokenizer):
    assert tokenizer.encode("jazz").count(tokenizer.unk_id) == 3  # j, z, z
    assert tokenizer.decode(tokenizer.encode("the jazz")) == "the a"  # what is unknown cannot come back


def test_a_special_token_that_is_typed_is_text(tokenizer):
    ids = tokenizer.encode("the <eos> lamp <pad>")
    assert not {0, 1, 2} & set(ids)


def test_decode_stops_at_the_first_eos_and_skips_special_tokens(tokenizer):
    the, lamp = tokenizer.encode("the"), tokenizer.encode("lamp")
    assert tokenizer.decode([1, *the, *lamp, 2, *the, 0, 0]) == "the lamp"
    assert tokenizer.decode([2]) == tokenizer.decode([]) == ""


def test_tensors_can_be_decoded(tokenizer):
    assert tokenizer.decode(torch.tensor(tokenizer.encode("the lamp")).tolist()) == "the lamp"


def test_many_sentences_at_once_are_the_same(tokenizer):
    assert tokenizer.encode_all(ENGLISH) == [tokenizer.encode(sentence) for sentence in ENGLISH]


@pytest.mark.parametrize("size", [10, 60, 300])
def test_a_vocabulary_is_never_larger_than_asked_for(size):
    assert len(Tokenizer.train([*ENGLISH, "가나다라마바사아자차카타파하"], size)) <= size


def test_training_twice_gives_the_same_tokenizer(tmp_path):
    for name in "ab":
        Tokenizer.train(iter(ENGLISH), 300).save(tmp_path / name)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_saved_and_loaded_it_cuts_alike_and_still_lets_nobody_type_eos(tokenizer, tmp_path):
    tokenizer.save(tmp_path / "tokenizer.json")
    again = Tokenizer.load(tmp_path / "tokenizer.json")
    assert len(again) == len(tokenizer)
    assert again.encode_all([*FRENCH, "<eos>"]) == tokenizer.encode_all([*FRENCH, "<eos>"])


def test_a_tokenizer_that_is_not_there_is_told(tmp_path):
    with pytest.raises(FileNotFoundError, match="There is no tokenizer at .*lost.json"):
        Tokenizer.load(tmp_path / "lost.json")


def test_lowercase_forgets_capitals():
    tokenizer = Tokenizer.train(ENGLISH, 300, lowercase=True)
    assert tokenizer.encode("THE LAMP") == tokenizer.encode("the lamp")


def test_spaces_and_letter_forms_are_made_one(tokenizer):
    assert tokenizer.encode("Ça va") == tokenizer.encode("C\u0327a\u00a0va")
    assert tokenizer.encode("l'eau") == tokenizer.encode("l’eau") == tokenizer.encode("l\u00ad’e\u200bau")
    assert tokenizer.pieces("“the”") == tokenizer.pieces('"the"')


@pytest.mark.parametrize("white", ["\t", "\n", "\r\n", "\u00a0", "\u202f", "\u2003", "  ", " \t\n "])
def test_all_white_space_is_one_space(tokenizer, white):
    plain = tokenizer.encode("the old lamp")
    assert tokenizer.encode(f"the{white}old lamp") == plain
    assert tokenizer.encode(f"{white}the old lamp{white}") == plain
    assert tokenizer.encode(white) == tokenizer.encode("") == []
    assert tokenizer.words(f"the{white}old{white}") == ["▁the", "▁old"]


def test_every_digit_is_a_piece_of_its_own():
    tokenizer = Tokenizer.train(["In 1984, 1984 of 1984 lamps.", "At 19:45."] * 20, 100, single_digits=True)
    assert tokenizer.pieces("1984 lamps") == ["▁", "1", "9", "8", "4", *tokenizer.pieces("lamps")]
    assert tokenizer.pieces("19:45") == ["▁", "1", "9", ":", "4", "5"]
    assert not [piece for piece in map(tokenizer.piece, range(len(tokenizer))) if re.search(r"\d.|.\d", piece)]
    assert tokenizer.decode(tokenizer.encode("1984 lamps")) == "1984 lamps"
    assert Tokenizer.train(["In 1984 lamps."] * 20, 100).pieces("1984") == ["▁1984"]


def test_unknown_signs_are_told_and_take_their_places_again(tokenizer):
    said = "the jazz ☃ lamp \U0001f642"
    assert tokenizer.unknown(said) == ["j", "z", "z", "☃", "\U0001f642"]
    assert tokenizer.decode(tokenizer.encode(said), tokenizer.unknown(said)) == said
    assert tokenizer.decode(tokenizer.encode(said), ["J"]) == "the Ja  lamp "
    assert tokenizer.decode(tokenizer.encode("the"), ["J"]) == "the"
    assert tokenizer.unknown("the lamp") == []


def test_letters_seen_too_few_times_are_unknown():
    sentences = ["the lamp"] * 5 + ["the jazz", "z"]
    assert "j" not in Tokenizer.train(sentences, 100, min_count=2).pieces("jz")
    assert Tokenizer.train(sentences, 100, min_count=2).unknown("jz") == ["j"]
    assert Tokenizer.train([*sentences, "jot"], 100, min_count=2).unknown("jz") == [], (
        "as often as asked is often enough"
    )
    assert Tokenizer.train(sentences, 100).unknown("jz") == []


def older(sentences: list[str], path) -> Backend:
    """A tokenizer as the book's older models have it: runs of blanks and digits are not looked at."""
    backend = Backend(models.BPE(unk_token="<unk>"))
    backend.normalizer = normalizers.Sequence([normalizers.NFKC()])
    backend.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.Metaspace(), pre_tokenizers.Punctuation()])
    backend.decoder = decoders.Metaspace()
    special = ["<pad>", "<bos>", "<eos>", "<unk>"]
    backend.train_from_iterator(
        sentences, trainers.BpeTrainer(vocab_size=200, special_tokens=special, show_progress=False)
    )
    backend.save(str(path))
    return backend


def test_an_older_tokenizer_cuts_and_joins_as_it_did(tmp_path):
    sentences = [*ENGLISH, "In 1984, 1984 lamps."] * 3
    backend = older(sentences, tmp_path / "old.json")
    tokenizer = Tokenizer.load(tmp_path / "old.json")
    for said in [*ENGLISH, "1984  lamps", "a\tlamp", " jazz ", "a ☃ lamp"]:
        ids = backend.encode(said).ids
        assert tokenizer.encode(said) == ids
        assert tokenizer.decode(ids) == backend.decode(ids, skip_special_tokens=True)


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda t: t.encode(None), "sentence must be a string; got None."),
        (lambda t: t.encode(b"lamp"), "sentence must be a string; got b'lamp'."),
        (
            lambda t: t.encode("a \ud83d lamp"),
            "sentence must be text that can be written as UTF-8; got half of a sign in",
        ),
        (lambda t: t.words(3), "sentence must be a string; got 3."),
        (lambda t: t.pieces(["the"]), "sentence must be a string; got ['the']."),
        (lambda t: t.unknown(None), "sentence must be a string; got None."),
        (lambda t: t.encode_all("hello"), "sentences must be a list of strings; got 'hello'."),
        (lambda t: t.encode_all(["a", None]), "sentences[1] must be a string; got None."),
        (lambda t: t.encode_all(None), "sentences must be a list of strings; got None."),
        (lambda t: Tokenizer.train("hello world", 100), "sentences must be a list of strings; got 'hello world'."),
        (lambda t: Tokenizer.train(["a", 1], 100), "sentences[1] must be a string; got 1."),
        (
            lambda t: Tokenizer.train(["a"], "100"),
            "vocab_size must be at least 5, four special tokens and a letter; got 100.",
        ),
        (lambda t: t.decode("the"), "ids must be a list of integers; got 'the'."),
        (lambda t: t.decode(5), "ids must be a list of integers; got 5."),
        (lambda t: t.decode([5, 999_999]), "ids must be an id from 0 to "),
        (lambda t: t.decode([-1]), "ids must be an id from 0 to "),
        (lambda t: t.decode([5.0]), "ids must be an id from 0 to "),
        (lambda t: t.decode([[5]]), "ids must be an id from 0 to "),
        (lambda t: t.piece(999_999), "token_id must be an id from 0 to "),
        (lambda t: t.piece(None), "token_id must be an id from 0 to "),
    ],
)
@pytest.mark.usefixtures("as_readers_run_it")
def test_bad_input_to_the_tokenizer_gets_a_sentence(tokenizer, call, sentence):
    with pytest.raises(ValueError) as caught:
        call(tokenizer)
    assert str(caught.value).startswith(sentence)


@pytest.mark.usefixtures("as_readers_run_it")
def test_tensors_and_numpys_integers_are_ids(tokenizer):
    ids = tokenizer.encode("the lamp")
    assert tokenizer.decode(torch.tensor(ids)) == tokenizer.decode(torch.tensor(ids).numpy()) == "the lamp"


def test_a_file_that_holds_no_tokenizer_of_ours_is_told(tmp_path):
    (tmp_path / "other.json").write_text("{}")
    with pytest.raises(ValueError, match="other.json holds no tokenizer"):
        Tokenizer.load(tmp_path / "other.json")
    Backend(models.BPE(vocab={"a": 0, "b": 1}, merges=[])).save(str(tmp_path / "ab.json"))
    with pytest.raises(ValueError, match="ids 0 to 3 should be <pad> <bos> <eos> <unk>; they are a b."):
        Tokenizer.load(tmp_path / "ab.json")


# padding and batches


def test_pad_fills_up_on_the_right():
    padded = pad([[5, 6, 7], [8], []])
    assert padded.tolist() == [[5, 6, 7], [8, 0, 0], [0, 0, 0]] and padded.dtype == torch.long
    assert pad([[5], [6, 7]], pad_id=9).tolist() == [[5, 9], [6, 7]]
    assert pad([[], []]).shape == (2, 0)


def places(group: list[Example]) -> int:
    return len(group) * max(len(example.tgt) + 1 for example in group)


@given(examples, st.integers(1, 40), st.none() | st.integers(0, 3), st.integers(1, 4))
def test_batches_hold_every_example_once_and_keep_the_limit(some, max_tokens, seed, pool):
    groups = list(batches(some, max_tokens, seed=seed, pool=pool))
    assert sorted(example for group in groups for example in group) == sorted(some)
    assert all(places(group) <= max_tokens or len(group) == 1 for group in groups)


@given(examples, st.integers(1, 40))
def test_a_batch_ends_only_where_the_next_example_does_not_fit(some, max_tokens):
    groups = list(batches(some, max_tokens))
    for group, following in pairwise(groups):
        assert places([*group, following[0]]) > max_tokens
    lengths = [len(example.tgt) for group in groups for example in group]
    assert lengths == sorted(lengths)


def drawn(count: int) -> list[Example]:
    draw = random.Random(0)
    return [Example([i], [7] * draw.randint(1, 40)) for i in range(count)]


def test_a_seed_gives_one_order_and_another_seed_another():
    some = drawn(500)
    first, again, other = (list(batches(some, 200, seed=seed)) for seed in (1, 1, 2))
    assert first == again != other
    assert some == drawn(500), "the examples themselves keep their order"


def test_batches_of_a_pool_are_shuffled():
    lengths = [len(group[0].tgt) for group in batches(drawn(500), 200, seed=1, pool=1000)]
    assert lengths != sorted(lengths)


def test_larger_pools_waste_less():
    some = drawn(2000)
    small, large, whole = (padding_waste(list(batches(some, 200, seed=0, pool=pool))) for pool in (1, 5, 1000))
    assert small > large > whole
    assert whole == pytest.approx(padding_waste(list(batches(some, 200))), abs=1e-3)


@given(examples, st.integers(1, 40))
def test_waste_is_the_share_of_padding_in_the_padded_targets(some, max_tokens):
    groups = list(batches(some, max_tokens))
    padded = [pad([[*example.tgt, Tokenizer.eos_id] for example in group]) for group in groups]
    empty, total = sum((ids == 0).sum().item() for ids in padded), sum(ids.numel() for ids in padded)
    assert padding_waste(groups) == pytest.approx(empty / total)


def test_waste_by_hand():
    groups = [[Example([], [6] * length) for length in lengths] for lengths in ((2, 4), (2, 8))]
    assert padding_waste(groups) == pytest.approx(8 / 28)  # with <eos> 3 + 5 of 10 places, 3 + 9 of 18


# the story


def test_the_story_lacks_two_letters_that_the_chapter_calls_unknown():
    letters = set("".join(story_words()))
    assert set(string.ascii_lowercase) - letters == {"j", "z"}
    assert len(story_words()) > 700


NO_EXAMPLES = {
    "each of {}": ([([4], [5])], [Example([4], [5]), [4, 5]]),
    "both sides of {}": ([Example("a", "b")], [Example([4], "b")], [Example(4, [5])], [Example([4], None)]),
}
MISFITS = {
    "batches of what is no Example": (
        lambda **given: list(batches(**given)),
        dict(examples=[Example([4], [5])], max_tokens=9),
        {f"examples → {said.format('examples')}": bad for said, bad in NO_EXAMPLES.items()},
    ),
    "padding_waste of what is no Example": (
        padding_waste,
        dict(groups=[[Example([4], [5])]]),
        {f"groups → {said.format('groups')}": [[each] for each in bad] for said, bad in NO_EXAMPLES.items()}
        | {"groups": ([[]],)},
    ),
    "Tokenizer.train on nothing": (
        Tokenizer.train,
        dict(sentences=["a"], vocab_size=20),
        dict(sentences=([], [""], ["", " \n"])),
    ),
}


# mutations


MUTATIONS = {  # what is removed, and the test that must turn red
    "words not weighed": (
        "pairs[pair] += count",
        "pairs[pair] += 1",
        "test_learned_merges_are_those_of_the_paper",
    ),
    "the rarest pair": (
        "(-pairs[pair], pair)",
        "(pairs[pair], pair)",
        "test_learned_merges_are_those_of_the_paper",
    ),
    "ties by chance": (
        "(-pairs[pair], pair)",
        "-pairs[pair]",
        "test_a_tie_goes_to_the_first_in_the_alphabet",
    ),
    "no mark at the end of a word": (
        'f"{word[-1]}·"',
        "word[-1]",
        "test_ten_words_by_hand",
    ),
    "merges replayed backwards": (
        "for merge in merges:",
        "for merge in merges[::-1]:",
        "test_the_library_cuts_every_word_of_the_story_in_the_same_way",
    ),
    "special tokens can be typed": (
        "encode_special_tokens = True",
        "encode_special_tokens = False",
        "test_a_special_token_that_is_typed_is_text",
    ),
    "every letter gets in": (
        "            limit_alphabet=alphabet,\n",
        "",
        "test_a_vocabulary_is_never_larger_than_asked_for",
    ),
    "rare letters get in": (
        "if min_count > 1:",
        "if False:",
        "test_letters_seen_too_few_times_are_unknown",
    ),
    "digits are joined": (
        "individual_digits=True",
        "individual_digits=False",
        "test_every_digit_is_a_piece_of_its_own",
    ),
    "blanks at the ends are read": (
        "                normalizers.Strip(),\n",
        "",
        "test_all_white_space_is_one_space",
    ),
    "a tab is a letter": (
        '    r"\\s+": " ",\n',
        "",
        "test_all_white_space_is_one_space",
    ),
    "what is unknown is one sign": (
        'pieces.append(next(signs, ""))',
        'pieces.append(next(iter(unknown), ""))',
        "test_unknown_signs_are_told_and_take_their_places_again",
    ),
    "decoded beyond the end sign": (
        "ids = ids[: ids.index(self.eos_id)]",
        "ids = ids[:]",
        "test_decode_stops_at_the_first_eos_and_skips_special_tokens",
    ),
    "padding on the left": (
        "[*row, *[pad_id] * (longest - len(row))]",
        "[*[pad_id] * (longest - len(row)), *row]",
        "test_pad_fills_up_on_the_right",
    ),
    "a batch bounded by its real tokens": (
        "longest * (len(group) + 1) > max_tokens",
        "sum(_length(each)[0] for each in [*group, example]) > max_tokens",
        "test_batches_hold_every_example_once_and_keep_the_limit",
    ),
    "the last batch lost": (
        "    if group:\n        yield group",
        "    return",
        "test_batches_hold_every_example_once_and_keep_the_limit",
    ),
    "not sorted": (
        "_packed(sorted(examples, key=_length), max_tokens)",
        "_packed(examples, max_tokens)",
        "test_a_batch_ends_only_where_the_next_example_does_not_fit",
    ),
    "pools in order of length": (
        "draw.shuffle(packed)",
        "pass",
        "test_batches_of_a_pool_are_shuffled",
    ),
    "lengths of the source": (
        "return len(example.tgt) + 1, len(example.src) + 1",
        "return len(example.src) + 1, len(example.tgt) + 1",
        "test_waste_by_hand",
    ),
    "padding over real tokens": (
        "1 - real / places",
        "places / real - 1",
        "test_waste_by_hand",
    ),
}
