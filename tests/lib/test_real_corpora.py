"""Real corpora: found, fetched from a server on this machine that misbehaves in every way, checked, and told about."""

import errno
import gzip
import hashlib
import io
import json
import re
import shutil
import sys
import threading
import types
import warnings
import zipfile
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from tfm_lib.corpora import TextCorpus, load_corpus, real
from tfm_lib.corpora.real import CorpusUnavailable, Mirror, RemoteFile, data_folders, fetch, references, tatoeba_part

MINE = next(
    (
        folder
        for folder in data_folders()
        if all((folder / "multi30k" / name).is_file() for name in real._MULTI30K_FILES)
    ),
    None,
)
CONTENT = "".join(f"sentence {i}\tphrase {i}\n" for i in range(24_000)).encode()
SHA256 = hashlib.sha256(CONTENT).hexdigest()
NAME = "own/pairs.txt"


class Server(ThreadingHTTPServer):
    """Serves `files` by path; `cut[path]` is how many bytes of an answer come before the line goes dead."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.files: dict[str, bytes] = {}
        self.cut: dict[str, int] = {}
        self.ranges = True
        self.asked: list[tuple[str, str | None]] = []  # path and Range header

    def handle_error(self, request, client_address) -> None:
        pass  # a client that went away is part of the play

    def address(self, path: str) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/{path}"


class Handler(BaseHTTPRequestHandler):
    server: Server

    def do_GET(self) -> None:
        path, asked = self.path.lstrip("/"), self.headers.get("Range")
        self.server.asked.append((path, asked))
        content = self.server.files.get(path)
        if content is None:
            return self.send_error(404)
        start = int(re.fullmatch(r"bytes=(\d+)-", asked)[1]) if asked and self.server.ranges else 0
        if start and start >= len(content):
            return self.send_error(416)
        self.send_response(206 if start else 200)
        self.send_header("Content-Length", str(len(content) - start))
        self.end_headers()
        self.wfile.write(content[start:][: self.server.cut.get(path)])
        return None

    def log_message(self, *args) -> None:
        pass


@pytest.fixture
def server():
    server = Server()
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield server
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.fixture(autouse=True)
def empty_cache(tmp_path, monkeypatch) -> Path:
    """A cache with nothing in it, no TFM_DATA, and no proxy between this test and this machine."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("TFM_DATA", raising=False)
    monkeypatch.setenv("no_proxy", "*")
    return tmp_path / "cache" / "tfm-lib"


def remote(*mirrors: Mirror, release: str = "", sha256: str = SHA256) -> RemoteFile:
    return RemoteFile(NAME, sha256, 0.6, mirrors, release)


def refused(file: RemoteFile) -> str:
    with pytest.raises(CorpusUnavailable) as caught:
        fetch(file)
    return str(caught.value)


def leftovers(folder: Path) -> list[str]:
    return sorted(path.suffix for path in folder.rglob("*") if path.is_file())


# where corpora are looked for


def test_folder_of_yours_comes_first_and_nothing_is_fetched(tmp_path, monkeypatch, server):
    monkeypatch.setenv("TFM_DATA", str(tmp_path / "mine"))
    for folder in data_folders():
        (folder / NAME).parent.mkdir(parents=True)
        (folder / NAME).write_bytes(CONTENT)
    assert fetch(remote(Mirror(server.address("pairs.txt")))) == tmp_path / "mine" / NAME
    assert server.asked == []


def test_cache_is_used_where_your_folder_lacks_the_file(tmp_path, monkeypatch, empty_cache):
    monkeypatch.setenv("TFM_DATA", str(tmp_path / "mine"))
    (empty_cache / NAME).parent.mkdir(parents=True)
    (empty_cache / NAME).write_bytes(CONTENT)
    assert fetch(remote()) == empty_cache / NAME


def test_a_file_of_yours_with_a_wrong_checksum_is_named(tmp_path, monkeypatch):
    monkeypatch.setenv("TFM_DATA", str(tmp_path))
    (tmp_path / NAME).parent.mkdir()
    (tmp_path / NAME).write_bytes(CONTENT + b"more")
    message = refused(remote())
    assert str(tmp_path / NAME) in message and SHA256[:12] in message and "Remove it" in message


# downloads that go well


@pytest.mark.parametrize("kind", ["txt", "gz", "zip", "jsonl"])
def test_a_download_is_unpacked_checked_and_kept(server, empty_cache, kind):
    member = {"zip": "pairs.txt", "jsonl": "en"}.get(kind, "")
    server.files[f"pairs.{kind}"] = packed(kind)
    file = remote(Mirror(server.address(f"pairs.{kind}"), member))
    path = fetch(file)
    assert path == empty_cache / NAME and path.read_bytes() == CONTENT
    assert leftovers(empty_cache) == [".txt"]
    assert fetch(file) == path and len(server.asked) == 1, "what is there is not fetched again"


def packed(kind: str) -> bytes:
    if kind == "gz":
        return gzip.compress(CONTENT)
    if kind == "zip":
        buffer = io.BytesIO()
        with zipfile.ZipFile(buffer, "w") as archive:
            archive.writestr("_about.txt", "who made this")
            archive.writestr("pairs.txt", CONTENT)
        return buffer.getvalue()
    if kind == "jsonl":
        rows = CONTENT.decode().splitlines()
        return "\n".join(json.dumps({"en": row, "de": "…"}) for row in rows).encode()
    return CONTENT


def test_progress_is_reported_up_to_the_end(server):
    server.files["pairs.txt"] = CONTENT
    told = []
    fetch(remote(Mirror(server.address("pairs.txt"))), report=lambda *news: told.append(news))
    names, got, totals = zip(*told)
    assert set(names) == {"pairs.txt"} and set(totals) == {len(CONTENT)}
    assert list(got) == sorted(got) and got[-1] == len(CONTENT) and len(got) > 3


def test_progress_is_one_line_on_standard_error(server, capsys):
    server.files["pairs.txt"] = CONTENT
    fetch(remote(Mirror(server.address("pairs.txt"))))
    out, err = capsys.readouterr()
    assert out == "" and err.endswith("\rpairs.txt: 0.6 of 0.6 MB\n") and err.count("\n") == 1


# mirrors


def test_the_next_mirror_is_tried_when_one_fails(server):
    server.files["good.txt"] = CONTENT
    server.files["wrong.txt"] = CONTENT[::-1]
    names = ("lost.txt", "wrong.txt", "good.txt")
    path = fetch(remote(*(Mirror(server.address(name)) for name in names)))
    assert path.read_bytes() == CONTENT and [path for path, _ in server.asked] == list(names)


def test_wrong_checksum_everywhere_leaves_nothing_and_says_what_to_do(server, empty_cache):
    server.files["pairs.txt"] = CONTENT + b"x"
    message = refused(remote(Mirror(server.address("pairs.txt"))))
    assert leftovers(empty_cache) == []
    assert_tells(message, empty_cache)
    assert server.address("pairs.txt") in message and f"expected {SHA256[:12]}" in message


def assert_tells(message: str, cache: Path) -> None:
    """Which file, how large, and where to put it."""
    assert "pairs.txt (0.6 MB)" in message
    assert f"Put it at {cache / NAME}" in message
    assert f"set TFM_DATA to a folder that holds {NAME}" in message


@pytest.mark.parametrize("kind", ["gz", "zip", "jsonl"])
def test_an_archive_that_is_none_gets_a_sentence(server, kind):
    server.files[f"pairs.{kind}"] = b"<html>Please sign in</html>"
    message = refused(remote(Mirror(server.address(f"pairs.{kind}"), "pairs.txt")))
    assert f"what came is not the .{kind} that it should be" in message or "Expecting value" in message


def test_a_member_that_the_archive_lacks_gets_a_sentence(server):
    server.files["pairs.zip"] = packed("zip")
    assert "fra.txt" in refused(remote(Mirror(server.address("pairs.zip"), "fra.txt")))


# cut connections


def test_a_cut_connection_is_told_and_continued_next_time(server, empty_cache):
    server.files["pairs.txt"], server.cut["pairs.txt"] = CONTENT, 100_000
    file = remote(Mirror(server.address("pairs.txt")))
    message = refused(file)
    assert f"the connection ended after 100000 of {len(CONTENT)} bytes; run it again" in message
    assert leftovers(empty_cache) == [".part"]

    server.cut.clear()
    told = []
    assert fetch(file, report=lambda *news: told.append(news)).read_bytes() == CONTENT
    assert server.asked[-1] == ("pairs.txt", "bytes=100000-")
    assert told[0][1] > 100_000 and told[-1][1:] == (len(CONTENT), len(CONTENT))
    assert leftovers(empty_cache) == [".txt"]


def test_a_connection_cut_many_times_comes_to_an_end(server):
    server.files["pairs.txt"], server.cut["pairs.txt"] = CONTENT, 100_000
    file = remote(Mirror(server.address("pairs.txt")))
    for _ in range(len(CONTENT) // 100_000):
        refused(file)
    assert fetch(file).read_bytes() == CONTENT


def test_a_server_that_cannot_continue_begins_again(server):
    server.files["pairs.txt"], server.cut["pairs.txt"] = CONTENT, 100_000
    file = remote(Mirror(server.address("pairs.txt")))
    refused(file)
    server.cut.clear()
    server.ranges = False
    assert fetch(file).read_bytes() == CONTENT


def part_of(mirror: Mirror, cache: Path) -> Path:
    (cache / NAME).parent.mkdir(parents=True, exist_ok=True)
    digest = hashlib.sha256(mirror.address.encode()).hexdigest()[:8]
    return cache / f"{NAME}.{digest}.part"


def test_a_part_that_is_already_whole_needs_no_more_bytes(server, empty_cache):
    server.files["pairs.txt"] = CONTENT
    mirror = Mirror(server.address("pairs.txt"))
    part_of(mirror, empty_cache).write_bytes(CONTENT)
    assert fetch(remote(mirror)).read_bytes() == CONTENT  # the server answers 416
    assert server.asked == [("pairs.txt", f"bytes={len(CONTENT)}-")]


def test_an_answer_416_without_a_part_is_an_error_like_any_other(server, monkeypatch, empty_cache):
    mirror = Mirror(server.address("pairs.txt"))
    server.files["pairs.txt"] = CONTENT
    monkeypatch.setattr(Handler, "do_GET", lambda self: self.send_error(416))
    assert "HTTP Error 416" in refused(remote(mirror))
    part_of(mirror, empty_cache).write_bytes(b"not it")  # 416 to the part, and again to the whole
    assert "HTTP Error 416" in refused(remote(mirror))


@pytest.mark.parametrize("kind", ["txt", "gz"])
def test_a_part_of_another_file_is_thrown_away_and_fetched_whole(server, empty_cache, kind):
    server.files[f"pairs.{kind}"] = packed(kind)
    mirror = Mirror(server.address(f"pairs.{kind}"))
    part_of(mirror, empty_cache).write_bytes(b"an older release")
    assert fetch(remote(mirror)).read_bytes() == CONTENT
    assert [asked for _, asked in server.asked] == ["bytes=16-", None]


# no network, no space, no right to write


def test_without_a_network_the_error_names_all_mirrors(empty_cache):
    mirrors = (Mirror("http://127.0.0.1:9/pairs.txt"), Mirror("http://no-such-host.invalid/pairs.txt"))
    message = refused(remote(*mirrors))
    assert_tells(message, empty_cache)
    assert all(mirror.address in message for mirror in mirrors)


def test_without_a_mirror_it_is_said_so(empty_cache):
    message = refused(remote())
    assert_tells(message, empty_cache)
    assert "no public mirror is known" in message


def test_too_little_space_is_seen_before_the_download(server, monkeypatch, empty_cache):
    server.files["pairs.txt"] = CONTENT
    usage = shutil.disk_usage("/")
    monkeypatch.setattr(shutil, "disk_usage", lambda path: usage._replace(free=1000))
    message = refused(remote(Mirror(server.address("pairs.txt"))))
    assert f"0.6 MB do not fit into {(empty_cache / NAME).parent}, which has 0.0 MB left" in message
    assert leftovers(empty_cache) == []


def test_a_disk_that_fills_up_on_the_way_is_told_and_continued(server, monkeypatch, empty_cache):
    server.files["pairs.txt"] = CONTENT
    file, count = remote(Mirror(server.address("pairs.txt"))), 0

    def full(name, got, total) -> None:
        nonlocal count
        count += 1
        if count == 3:
            raise OSError(errno.ENOSPC, "No space left on device")

    with pytest.raises(CorpusUnavailable, match="No space left on device"):
        fetch(file, report=full)
    assert leftovers(empty_cache) == [".part"]
    assert fetch(file).read_bytes() == CONTENT
    assert server.asked[-1][1] is not None, "it begins again from nothing"


def test_a_cache_that_is_a_file_gets_a_sentence(server, monkeypatch, tmp_path):
    server.files["pairs.txt"] = CONTENT
    (tmp_path / "a-file").write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "a-file"))
    assert_tells(refused(remote(Mirror(server.address("pairs.txt")))), tmp_path / "a-file" / "tfm-lib")


def test_a_server_that_says_nothing_is_given_up(server, monkeypatch):
    hold = threading.Event()
    monkeypatch.setattr(Handler, "do_GET", lambda self: hold.wait(20))
    monkeypatch.setattr(real, "TIMEOUT", 0.2)
    try:
        assert "timed out" in refused(remote(Mirror(server.address("pairs.txt"))))
    finally:
        hold.set()


# releases


def test_another_release_is_taken_with_a_warning_and_with_it_ever_after(server):
    server.files["pairs.txt"] = CONTENT + b"new\tneu\n"
    file = remote(Mirror(server.address("pairs.txt")), release="of last year")
    for _ in range(2):
        with pytest.warns(UserWarning, match="another pairs.txt than the release of last year .* scores will differ"):
            assert fetch(file).read_bytes().endswith(b"new\tneu\n")
    assert len(server.asked) == 1


def test_the_release_of_the_book_gives_no_warning(server):
    server.files["pairs.txt"] = CONTENT
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fetch(remote(Mirror(server.address("pairs.txt")), release="of last year"))


# the corpora by name


REAL = ("multi30k", "tatoeba-en-fr", "tatoeba-en-ko", "wmt14-en-de")


@pytest.mark.parametrize("name", REAL)
def test_a_corpus_tells_about_itself_before_anything_is_fetched(name):
    corpus = load_corpus(name)
    assert isinstance(corpus, TextCorpus)
    assert corpus.name == name and corpus.licence and corpus.source
    assert corpus.languages[0] == "en" and len(corpus.languages) == 2
    with pytest.raises(ValueError, match="part must be one of train, val, test.*; got 'dev'"):
        corpus.sentences("dev")


@pytest.mark.parametrize("name", REAL[:3])
def test_a_corpus_that_cannot_be_had_says_what_to_put_where(name, monkeypatch, empty_cache):
    def nobody(*args, **kwargs):
        raise OSError("the network is cut")

    monkeypatch.setattr(real.urllib.request, "urlopen", nobody)
    with pytest.raises(CorpusUnavailable) as caught:
        load_corpus(name).sentences("train")
    message = str(caught.value)
    assert "MB) was not found in" in message and "the network is cut" in message
    assert f"Put it at {empty_cache / name}" in message and f"TFM_DATA to a folder that holds {name}/" in message


def test_tatoeba_is_read_without_its_attributions_and_split_by_english_sentence(tmp_path, monkeypatch):
    monkeypatch.setenv("TFM_DATA", str(tmp_path))
    (tmp_path / "tatoeba-en-ko").mkdir()
    lines = [f"Sentence {i}.\t문장 {i} {k}\tCC-BY 2.0 (France)" for i in range(2000) for k in range(2)]
    (tmp_path / "tatoeba-en-ko" / "kor.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    with pytest.warns(UserWarning, match="another kor.txt"):
        parts = {part: load_corpus("tatoeba-en-ko").sentences(part) for part in ("train", "val", "test")}
    assert sum(map(len, parts.values())) == 4000
    english = {part: {pair[0] for pair in pairs} for part, pairs in parts.items()}
    assert not english["train"] & english["test"] and not english["train"] & english["val"]
    assert all(tatoeba_part(sentence) == part for part, some in english.items() for sentence in some)
    assert ("Sentence 0.", "문장 0 1") in [pair for pairs in parts.values() for pair in pairs]
    assert 2 < len(english["test"]) < 20


def test_the_parts_of_tatoeba_follow_the_hash_in_hex():
    for sentence in ("Go.", "I love you.", "Tom is here."):
        beginning = hashlib.sha256(sentence.encode()).hexdigest()[:2]
        assert tatoeba_part(sentence) == {"00": "test", "01": "val"}.get(beginning, "train")


@pytest.mark.parametrize(
    ("part", "stem"), [("val", "val"), ("test", "test_2016_flickr"), ("test_2017", "test_2017_flickr")]
)
def test_multi30k_reads_both_sides_by_line(server, monkeypatch, part, stem):
    sides = {"en": "A dog.\nTwo\u2028cats.\n", "de": "Ein Hund.\nZwei Katzen.\n"}
    for language, text in sides.items():
        name = f"{stem}.{language}"
        server.files[f"{name}.gz"] = gzip.compress(text.encode())
        monkeypatch.setitem(real._MULTI30K_FILES, name, (hashlib.sha256(text.encode()).hexdigest(), 0.1))
    monkeypatch.setattr(real, "_MULTI30K", server.address("").rstrip("/"))
    assert load_corpus("multi30k").sentences(part) == [("A dog.", "Ein Hund."), ("Two\u2028cats.", "Zwei Katzen.")]


@pytest.mark.skipif(not MINE, reason="needs the corpus: set TFM_DATA to a folder that holds multi30k/")
@pytest.mark.parametrize(("part", "count"), [("train", 29_000), ("val", 1014), ("test", 1000), ("test_2017", 1000)])
def test_multi30k_on_this_machine_is_the_one_that_the_book_knows(monkeypatch, part, count):
    monkeypatch.setenv("TFM_DATA", str(MINE))
    assert len(load_corpus("multi30k").sentences(part)) == count


def test_references_gathers_the_translations_of_a_sentence():
    pairs = [("Go.", "Va !"), ("Run!", "Cours !"), ("Go.", "Allez !")]
    assert list(references(pairs)) == [("Go.", ["Va !", "Allez !"]), ("Run!", ["Cours !"])]


# WMT14


def test_wmt14_without_the_library_says_what_to_install(monkeypatch, empty_cache):
    monkeypatch.setitem(sys.modules, "datasets", None)
    with pytest.raises(CorpusUnavailable) as caught:
        load_corpus("wmt14-en-de").sentences("val")
    assert "pip install -c constraints.txt -e '.[wmt14]'" in str(caught.value)
    assert f"put val.en and val.de, one sentence a line, into {empty_cache / 'wmt14-en-de'}" in str(caught.value)


def stand_in(monkeypatch, load_dataset) -> None:
    module = types.ModuleType("datasets")
    module.load_dataset = load_dataset
    monkeypatch.setitem(sys.modules, "datasets", module)


def test_wmt14_asks_the_library_for_the_right_part(monkeypatch):
    asked = []

    def load_dataset(*names, split):
        asked.append((*names, split))
        return [{"translation": {"de": "Hallo", "en": "Hello"}}]

    stand_in(monkeypatch, load_dataset)
    assert load_corpus("wmt14-en-de").sentences("val") == [("Hello", "Hallo")]
    load_corpus("wmt14-en-de", size=1000).sentences("train")
    assert asked == [("wmt/wmt14", "de-en", "validation"), ("wmt/wmt14", "de-en", "train[:1000]")]


def test_wmt14_without_a_network_says_so(monkeypatch):
    def load_dataset(*names, split):
        raise ConnectionError("Couldn't reach the hub")

    stand_in(monkeypatch, load_dataset)
    with pytest.raises(CorpusUnavailable, match="could not be downloaded: Couldn't reach the hub"):
        load_corpus("wmt14-en-de").sentences("test")


def test_wmt14_from_a_folder_of_yours_needs_no_library(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "datasets", None)
    monkeypatch.setenv("TFM_DATA", str(tmp_path))
    (tmp_path / "wmt14-en-de").mkdir()
    for language, lines in {"en": "One.\nTwo.\n\n", "de": "Eins.\nZwei.\n\n"}.items():
        (tmp_path / "wmt14-en-de" / f"test.{language}").write_text(lines, encoding="utf-8")
    assert load_corpus("wmt14-en-de").sentences("test") == [("One.", "Eins."), ("Two.", "Zwei.")]
    assert load_corpus("wmt14-en-de", size=1).sentences("test") == [("One.", "Eins.")]
