"""The server of `tfm read` answers whoever has its token, on this machine, from its own pages; nobody else."""

from __future__ import annotations

import http.cookiejar
import json
import shutil
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest
from reading import Server, reading

from tfm_book.commands import _release
from tfm_lib._refusal import Refusal


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    home = tmp_path_factory.mktemp("reading")
    (home / "pages" / "chapters").mkdir(parents=True)
    for name in ("index", "chapters/one"):
        (home / "pages" / f"{name}.html").write_text(f"<p>This is {name}.</p>")
    (home / "secret.html").write_text("<p>Nobody may read this.</p>")
    with reading(home / "pages", home) as server:
        yield server


class Reader:
    """A browser with cookies of its own; `logged_in` has come with the token."""

    def __init__(self, server: Server, logged_in: bool = True) -> None:
        self.base, self.jar = server.base, http.cookiejar.CookieJar()
        self.opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(self.jar))
        if logged_in:
            assert self.ask(server.page("chapters/one"))[0] == 200

    def ask(self, url: str, body: object = None, **headers: str) -> tuple[int, str, str]:
        """The status, the address in the end, and the text."""
        data = None if body is None else json.dumps(body).encode()
        headers = {name.replace("_", "-"): value for name, value in headers.items()}
        try:
            with self.opener.open(urllib.request.Request(url, data, headers), timeout=30) as answer:
                return answer.status, answer.url, answer.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, error.url, error.read().decode()

    @property
    def xsrf(self) -> str:
        return next(cookie.value for cookie in self.jar if cookie.name == "_xsrf")


FILE = {"type": "file", "ext": ".txt"}  # who may write one may do anything


def test_a_reader_with_the_token_is_shown_pages_and_the_address_loses_it(server: Server):
    status, url, text = Reader(server, logged_in=False).ask(server.page("chapters/one"))
    assert (status, text) == (200, "<p>This is chapters/one.</p>") and url.endswith("/tfm-read/chapters/one.html")
    assert (server.work / ".last-page").read_text() == "chapters/one.html"


@pytest.mark.parametrize("token", ["", "?token=0123456789"])
def test_nobody_else_is(server: Server, token: str):
    reader = Reader(server, logged_in=False)
    status, url, text = reader.ask(f"{server.base}tfm-read/chapters/one.html{token}")
    assert "This is" not in text and (status, "login" in url) in ((200, True), (403, False))
    assert reader.ask(f"{server.base}api/contents{token}", FILE)[0] == 403
    assert reader.ask(f"{server.base}api/kernels{token}")[0] == 403


def test_a_foreign_name_for_this_machine_is_refused(server: Server):
    assert Reader(server).ask(f"{server.base}tfm-read/index.html", Host="evil.example")[0] == 403


def test_a_foreign_page_does_nothing(server: Server):
    reader, contents = Reader(server), f"{server.base}api/contents"
    assert reader.ask(contents, FILE)[0] == 403, "without the header that only a page of ours can send"
    assert reader.ask(contents, FILE, X_XSRFToken="wrong")[0] == 403
    assert reader.ask(contents, FILE, X_XSRFToken=reader.xsrf, Origin="https://evil.example")[0] == 404
    assert not list(server.work.glob("*.txt"))
    assert reader.ask(contents, FILE, X_XSRFToken=reader.xsrf)[0] == 201, "ours is heard"


def test_what_is_solved_is_told_to_our_pages(server: Server):
    server.mine.mkdir(exist_ok=True)
    answer = {"source": "def band(n, width): ...", "names": ["band"], "date": "2026-11-30", "tfm": "0.1.0"}
    kept = {"version": 1, "keep": True, "answers": {"masking.band": answer}}
    (server.mine / "mine.json").write_text(json.dumps(kept))
    assert json.loads(Reader(server).ask(f"{server.base}tfm-read/_solved")[2]) == ["masking.band"]
    (server.mine / "mine.json").write_text("{")
    assert json.loads(Reader(server).ask(f"{server.base}tfm-read/_solved")[2]) == []
    assert Reader(server, logged_in=False).ask(f"{server.base}tfm-read/_solved")[0] == 403


def test_nothing_outside_the_pages_is_shown_and_no_foreign_page_frames_them(server: Server):
    reader = Reader(server)
    for path in ("../secret.html", "%2e%2e/secret.html", "..%2fsecret.html", "/etc/passwd", "none.html"):
        status, _, text = reader.ask(f"{server.base}tfm-read/{path}")
        assert status in (400, 403, 404) and "Nobody" not in text, path
    with reader.opener.open(f"{server.base}tfm-read/index.html") as answer:
        assert "frame-ancestors 'none'" in answer.headers["Content-Security-Policy"]
    for service in ("terminals", "lab", "tree"):
        assert reader.ask(f"{server.base}{service}")[0] == 404, service


def test_the_pages_of_a_release_are_unpacked_and_no_notebook_is_written_over(tmp_path):
    inside, folder = tmp_path / "inside", tmp_path / "read"
    (inside / "_downloads").mkdir(parents=True)
    (inside / "index.html").write_text("<p>new</p>")
    for name in ("masking", "layers"):
        (inside / "_downloads" / f"{name}.ipynb").write_text("from the release")
    packed = Path(shutil.make_archive(str(tmp_path / "pages"), "zip", inside))
    folder.mkdir()
    (folder / "masking.ipynb").write_text("the reader's")
    html, work = _release(packed, folder)
    assert (html / "index.html").read_text() == "<p>new</p>" and work == folder
    assert (folder / "masking.ipynb").read_text() == "the reader's"
    assert (folder / "layers.ipynb").read_text() == "from the release"
    (inside / "index.html").unlink()
    other = Path(shutil.make_archive(str(tmp_path / "other"), "zip", inside))
    with pytest.raises(Refusal, match=r"no index\.html"):
        _release(other, tmp_path / "elsewhere")
    with pytest.raises(Refusal, match="not a zip archive"):
        _release(tmp_path / "no.zip", folder)
