"""Load real corpora from a local folder or the cache, or else download them with resuming and checksums."""

from __future__ import annotations

import gzip
import hashlib
import http.client
import io
import json
import os
import shutil
import sys
import time
import urllib.error
import urllib.request
import warnings
import zipfile
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from tfm_lib import _extras
from tfm_lib.corpora.text import Sentences, TextCorpus

Report = Callable[[str, int, int | None], None]  # file name, bytes so far, total bytes (None: unknown)
TIMEOUT = 20  # seconds without data


class CorpusUnavailable(RuntimeError):
    """The corpus is not available now; the message names the file, the folder to put it in, and its size."""


@dataclass(frozen=True)
class Mirror:
    """An address; of a `.gz` use the content, of a `.zip` the file `member`, of a `.jsonl` the field `member`."""

    address: str
    member: str = ""


@dataclass(frozen=True)
class RemoteFile:
    """A file of a corpus: its path in the data folder, the checksum of its unpacked content, and its addresses.

    None of the addresses could be reached where this book is written, so they are not verified. If there are several
    releases, `release` names the one with this `sha256`, and another one is accepted with a warning.
    """

    path: str
    sha256: str
    megabytes: float
    mirrors: tuple[Mirror, ...] = ()
    release: str = ""

    @property
    def name(self) -> str:
        return Path(self.path).name


def data_folders() -> list[Path]:
    """Return the folders to search for corpora: the one named by TFM_DATA, then the user's cache."""
    named = os.environ.get("TFM_DATA")
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "tfm-lib"
    return [*([Path(named)] if named else []), cache]


def fetch(file: RemoteFile, report: Report | None = None, warn: Callable[[str], None] | None = None) -> Path:
    """Return the local path of `file`, which is downloaded to the cache if it is not on this machine.

    `report` receives the progress (default: written to standard error), and `warn` a message about another release.
    Raises CorpusUnavailable, which says what to put where, if no mirror delivers.
    """
    report, warn = report or progress(), warn or _warn
    for folder in data_folders():
        path = folder / file.path
        if path.is_file():
            _check(file, path.read_bytes(), path, warn)
            return path
    target = data_folders()[-1] / file.path
    troubles = []
    for mirror in file.mirrors:
        try:
            content = _content(file, mirror, target, report)
            _check(file, content, mirror.address, warn)
            _write(target, content)
            return target
        except (OSError, ValueError, http.client.HTTPException, CorpusUnavailable) as error:
            troubles.append(f"{mirror.address}: {error}")
    reasons = "\n  ".join(troubles) or "no public mirror is known"
    raise CorpusUnavailable(
        f"{file.name} ({file.megabytes:g} MB) was not found in {', '.join(map(str, data_folders()))}, and could not be "
        f"downloaded:\n  {reasons}\n"
        f"Put it at {target}, or set TFM_DATA to a folder that holds {file.path}."
    )


def progress() -> Report:
    """Return a report that writes one line to standard error, at most ten times a second."""
    last = 0.0

    def report(name: str, got: int, total: int | None) -> None:
        nonlocal last
        done = got == total
        if done or time.monotonic() - last > 0.1:
            last = time.monotonic()
            of = f" of {total / 1e6:.1f}" if total else ""
            print(f"\r{name}: {got / 1e6:.1f}{of} MB", end="\n" if done else "", file=sys.stderr, flush=True)

    return report


def _warn(text: str) -> None:
    warnings.warn(text, stacklevel=4)


def _content(file: RemoteFile, mirror: Mirror, target: Path, report: Report) -> bytes:
    """Return the unpacked content from `mirror`; if a resumed download proves invalid, download it again in full."""
    part = target.with_name(f"{target.name}.{hashlib.sha256(mirror.address.encode()).hexdigest()[:8]}.part")
    resumed = part.exists()
    packed = _download(mirror.address, target.name, part, report)
    try:
        content = _unpack(mirror, packed)
        if not resumed or file.release or _sha256(content) == file.sha256:
            return content
    except ValueError:
        if not resumed:
            raise
    return _unpack(mirror, _download(mirror.address, target.name, part, report))


def _download(address: str, name: str, part: Path, report: Report) -> bytes:
    """Return the bytes behind `address`; continue what an interrupted download left in `part`."""
    part.parent.mkdir(parents=True, exist_ok=True)
    have = part.stat().st_size if part.exists() else 0
    request = urllib.request.Request(address, headers={"Range": f"bytes={have}-"} if have else {})
    try:
        response = urllib.request.urlopen(request, timeout=TIMEOUT)
    except urllib.error.HTTPError as error:
        if error.code != 416 or not have:  # 416: there is nothing after what we have
            raise
        return _take(part)
    with response:
        resumed = response.status == 206
        got = have if resumed else 0
        length = response.headers.get("Content-Length")
        total = int(length) + got if length else None
        free = shutil.disk_usage(part.parent).free
        if total and free < total - got:
            raise OSError(f"{total / 1e6:.1f} MB do not fit into {part.parent}, which has {free / 1e6:.1f} MB left")
        with part.open("ab" if resumed else "wb") as out:
            while chunk := response.read(1 << 16):
                out.write(chunk)
                got += len(chunk)
                report(name, got, total)
    if total and got < total:
        raise OSError(f"the connection ended after {got} of {total} bytes; run it again to go on from there")
    return _take(part)


def _take(part: Path) -> bytes:
    content = part.read_bytes()
    part.unlink()
    return content


def _unpack(mirror: Mirror, content: bytes) -> bytes:
    """Return the file inside `content`; raises ValueError if the content is not of the expected kind."""
    kind = mirror.address.rpartition(".")[2]
    try:
        if kind == "gz":
            return gzip.decompress(content)
        if kind == "zip":
            with zipfile.ZipFile(io.BytesIO(content)) as archive:
                return archive.read(mirror.member)
        if kind == "jsonl":
            return "".join(json.loads(line)[mirror.member] + "\n" for line in content.splitlines()).encode()
    except (OSError, EOFError, zlib.error, zipfile.BadZipFile, KeyError, RuntimeError) as error:
        raise ValueError(f"what came is not the .{kind} that it should be ({error})") from None
    return content


def _sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _check(file: RemoteFile, content: bytes, where: object, warn: Callable[[str], None]) -> None:
    got = _sha256(content)
    if got == file.sha256:
        return
    if not file.release:
        raise CorpusUnavailable(
            f"{where} is not the {file.name} that this book knows: its SHA-256 begins {got[:12]}, expected {file.sha256[:12]}. "
            f"Remove it and run this again."
        )
    warn(
        f"{where} is another {file.name} than the release {file.release} (SHA-256 {got[:12]}…, not {file.sha256[:12]}…); "
        f"scores will differ from the recorded ones."
    )


def _write(path: Path, content: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f"{path.name}.{os.getpid()}.tmp")
    part.write_bytes(content)
    part.replace(path)


_MULTI30K = "https://raw.githubusercontent.com/multi30k/dataset/master/data/task1/raw"
_MULTI30K_HUB = "https://huggingface.co/datasets/bentrevett/multi30k/resolve/main"
_MULTI30K_FILES = {  # SHA-256 and megabytes
    "train.en": ("460a15fbd157e34a7a9957ee388c1ca247fe47af3ef25fb50442af6c274e0fc6", 1.8),
    "train.de": ("2c2b73fd2b548fbcde3a875e0a78d6ee94d498bfdee6bd3eae3945779e9ddf72", 2.1),
    "val.en": ("1f2a23d992769b5b3d209b0a10dd0b77c08cceb1f20dfb97ed0aafa49d107227", 0.1),
    "val.de": ("660e09eb7e1da2f856ea13ee5ad3cf6d36b3d5b0b733c857e94c5747a3dfc660", 0.1),
    "test_2016_flickr.en": ("399a4382932c1aadd3ceb9bef1008d388a64c76d4ae4e9d4728c6f4301cac182", 0.1),
    "test_2016_flickr.de": ("4be6b5b3236b79c25475c6bb829800a7ce559e9ba7a1f6c2394fe4d40be46d16", 0.1),
    "test_2017_flickr.en": ("ce1450ddc5ab0834502579d77a170849952e15a2938b34cc503bdc25ebb4fb98", 0.1),
    "test_2017_flickr.de": ("c3078bc3b36808bf9d20eb2347ed6137016179ef59ec0d2b9b8ecc3fb2880081", 0.1),
}
_MULTI30K_PARTS = {"train": "train", "val": "val", "test": "test_2016_flickr", "test_2017": "test_2017_flickr"}


def multi30k(part: str) -> Sentences:
    """Image captions, English and German (Elliott et al., 2016): "train", "val", "test" (of 2016) or "test_2017".

    Licence: research and education only; nothing derived from it may be shipped with an openly licensed book.
    """
    stem, sides = _MULTI30K_PARTS[part], []
    for language in ("en", "de"):
        path = fetch(_multi30k_file(f"{stem}.{language}", part))
        sides.append(path.read_text(encoding="utf-8").removesuffix("\n").split("\n"))
    return list(zip(*sides, strict=True))


def _multi30k_file(name: str, part: str) -> RemoteFile:
    sha256, megabytes = _MULTI30K_FILES[name]
    mirrors = [Mirror(f"{_MULTI30K}/{name}.gz")]
    if part != "test_2017":  # the hub only has the other three
        mirrors.append(Mirror(f"{_MULTI30K_HUB}/{part}.jsonl", member=name.rpartition(".")[2]))
    return RemoteFile(f"multi30k/{name}", sha256, megabytes, tuple(mirrors))


_TATOEBA_FILES = {
    "fr": RemoteFile(
        "tatoeba-en-fr/fra.txt",
        "0bb85dbaa1c896844649094d7eaf2e34bee34e84fe362b26ce7e8f2e12aae104",
        11.5,
        (
            Mirror("https://www.manythings.org/anki/fra-eng.zip", member="fra.txt"),
            Mirror("https://d2l-data.s3-accelerate.amazonaws.com/fra-eng.zip", member="fra-eng/fra.txt"),
        ),
        release="of 2019-04-07, with 167 130 pairs",
    ),
    "ko": RemoteFile(
        "tatoeba-en-ko/kor.txt",
        "35e30cc324d286dedfdbd16ba085c24de828bfe7fedd7b77aec53d7d3f890e45",
        0.6,
        (Mirror("https://www.manythings.org/anki/kor-eng.zip", member="kor.txt"),),
        release="with 3 852 pairs",
    ),
}


def tatoeba(language: str, part: str) -> Sentences:
    """Everyday sentences, English and another language (CC BY 2.0 FR, tatoeba.org, via manythings.org/anki).

    The English sentence determines the part, so that no test sentence occurs in training.
    """
    lines = fetch(_TATOEBA_FILES[language]).read_text(encoding="utf-8").split("\n")
    pairs = (line.split("\t")[:2] for line in lines if "\t" in line)
    return [(english, other) for english, other in pairs if tatoeba_part(english) == part]


def tatoeba_part(english: str) -> str:
    """Return "test" if the sentence's SHA-256 begins with 00, "val" if it begins with 01, else "train"."""
    return {"00": "test", "01": "val"}.get(_sha256(english.encode())[:2], "train")


def references(pairs: Sentences) -> Iterator[tuple[str, list[str]]]:
    """Yield each source sentence once, with all its translations."""
    grouped: dict[str, list[str]] = {}
    for source, target in pairs:
        grouped.setdefault(source, []).append(target)
    yield from grouped.items()


def wmt14(part: str, size: int | None = None) -> Sentences:
    """Parliament, news and web text, English and German, as in the paper: 4.5 million pairs, or the first `size`.

    Read from wmt14-en-de/<part>.en and .de in the data folders, else through the library `datasets`; the latter is not
    verified, because its server cannot be reached where this book is written.
    """
    for folder in data_folders():
        paths = [folder / "wmt14-en-de" / f"{part}.{language}" for language in ("en", "de")]
        if all(path.is_file() for path in paths):
            sides = [path.read_text(encoding="utf-8").split("\n") for path in paths]
            return [pair for pair in zip(*sides, strict=True) if all(pair)][:size]
    own = f"put {part}.en and {part}.de, one sentence a line, into {data_folders()[0] / 'wmt14-en-de'}"
    try:
        from datasets import load_dataset
    except ModuleNotFoundError:
        raise CorpusUnavailable(
            "wmt14-en-de (about 1.3 GB) is fetched by the library datasets, which is not installed. "
            f"Install it ({_extras.command('wmt14')}), or {own}."
        ) from None
    split = {"train": "train", "val": "validation", "test": "test"}[part] + (f"[:{size}]" if size else "")
    try:
        rows = load_dataset("wmt/wmt14", "de-en", split=split)
    except Exception as error:  # whatever the library raises without a network
        raise CorpusUnavailable(
            f"wmt14-en-de (about 1.3 GB) could not be downloaded: {error}\nTry again with a network, or {own}."
        ) from error
    return [(row["translation"]["en"], row["translation"]["de"]) for row in rows]


def files_of(name: str) -> list[RemoteFile]:
    """Return the files of a real corpus, with sizes and checksums; none for WMT14, which a library downloads."""
    if name == "multi30k":
        return [
            _multi30k_file(file, part)
            for part, stem in _MULTI30K_PARTS.items()
            for file in (f"{stem}.en", f"{stem}.de")
        ]
    return [file for language, file in _TATOEBA_FILES.items() if name == f"tatoeba-en-{language}"]


def _multi30k() -> TextCorpus:
    licence = "research and education only; captions of Flickr photographs"
    source = "Elliott et al. (2016), github.com/multi30k/dataset"
    return TextCorpus("multi30k", ("en", "de"), licence, source, multi30k, tuple(_MULTI30K_PARTS))


def _tatoeba(language: str) -> TextCorpus:
    source = "tatoeba.org, by way of manythings.org/anki"
    return TextCorpus(f"tatoeba-en-{language}", ("en", language), "CC BY 2.0 FR", source, partial(tatoeba, language))


def _wmt14(size: int | None = None) -> TextCorpus:
    licence = "several, by source: Europarl, Common Crawl, News Commentary"
    source = "Bojar et al. (2014), by way of huggingface.co/datasets/wmt/wmt14"
    return TextCorpus("wmt14-en-de", ("en", "de"), licence, source, partial(wmt14, size=size))


REAL: dict[str, Callable[..., TextCorpus]] = {
    "multi30k": _multi30k,
    "tatoeba-en-fr": partial(_tatoeba, "fr"),
    "tatoeba-en-ko": partial(_tatoeba, "ko"),
    "wmt14-en-de": _wmt14,
}
