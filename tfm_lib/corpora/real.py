"""Real corpora: found in a folder of yours or in the cache, else downloaded, resumed and checked."""

from __future__ import annotations

import gzip
import hashlib
import io
import os
import shutil
import urllib.error
import urllib.request
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from tfm_lib.corpora.text import TextCorpus

Report = Callable[[str, int, int | None], None]  # file name, bytes so far, bytes in all (None: unknown)


class CorpusUnavailable(RuntimeError):
    """A corpus that cannot be had now; the message names the file, the folder to put it in, and its size."""


@dataclass(frozen=True)
class RemoteFile:
    """A file of a corpus: where it lies below the data folder, its checksum once unpacked, and where it can be fetched.

    A mirror is an address; of a `.gz` the content is taken, of a `.zip` the member `member`. None of the
    addresses could be reached where this book is written, so they are not verified. A `sha256` that is not
    `pinned` belongs to one release among several: another release is taken with a warning.
    """

    path: str
    sha256: str
    megabytes: float
    mirrors: tuple[str, ...] = ()
    member: str | None = None
    pinned: bool = True

    @property
    def name(self) -> str:
        return Path(self.path).name


def data_folders() -> list[Path]:
    """Where corpora are looked for: the folder named by TFM_DATA, then the user's cache."""
    named = os.environ.get("TFM_DATA")
    cache = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "tfm-lib"
    return [*([Path(named)] if named else []), cache]


def fetch(file: RemoteFile, report: Report | None = None, warn: Callable[[str], None] | None = None) -> Path:
    """The path of `file` on this machine, downloaded to the cache if it is nowhere yet.

    Raises CorpusUnavailable, which says what to put where, when no mirror delivers.
    """
    warn = warn or (lambda text: None)
    for folder in data_folders():
        path = folder / file.path
        if path.is_file():
            _check(file, path.read_bytes(), path, warn)
            return path
    target = data_folders()[-1] / file.path
    troubles = []
    for mirror in file.mirrors:
        try:
            content = _unpack(file, _download(mirror, target, report))
            _check(file, content, mirror, warn)
            _write(target, content)
            return target
        except (OSError, ValueError, zipfile.BadZipFile, EOFError, CorpusUnavailable) as error:
            troubles.append(f"{mirror}: {error}")
    reasons = "; ".join(troubles) or "no public mirror is known"
    raise CorpusUnavailable(
        f"{file.name} ({file.megabytes:g} MB) is on this machine in none of {', '.join(map(str, data_folders()))}, and "
        f"could not be downloaded ({reasons}). Put it at {target}, or set TFM_DATA to a folder that holds {file.path}."
    )


def _download(address: str, target: Path, report: Report | None) -> bytes:
    """The bytes behind `address`; what an earlier, cut connection left in `<target>.part` is continued."""
    part = target.with_name(f"{target.name}.{hashlib.sha256(address.encode()).hexdigest()[:8]}.part")
    part.parent.mkdir(parents=True, exist_ok=True)
    have = part.stat().st_size if part.exists() else 0
    request = urllib.request.Request(address, headers={"Range": f"bytes={have}-"} if have else {})
    try:
        response = urllib.request.urlopen(request, timeout=20)
    except urllib.error.HTTPError as error:
        if error.code != 416 or not have:  # 416: the part holds everything already
            raise
        return _take(part)
    with response:
        resumed = response.status == 206
        length = response.headers.get("Content-Length")
        total = int(length) + (have if resumed else 0) if length else None
        if total and shutil.disk_usage(part.parent).free < total - have:
            raise OSError(
                f"{total / 1e6:.0f} MB do not fit into {part.parent}; free some space or set TFM_DATA elsewhere"
            )
        got = have if resumed else 0
        with part.open("ab" if resumed else "wb") as out:
            while chunk := response.read(1 << 16):
                out.write(chunk)
                got += len(chunk)
                if report:
                    report(target.name, got, total)
    if total and got < total:
        raise OSError(f"the connection ended after {got} of {total} bytes; run it again to go on from there")
    return _take(part)


def _take(part: Path) -> bytes:
    content = part.read_bytes()
    part.unlink()
    return content


def _unpack(file: RemoteFile, content: bytes) -> bytes:
    if content[:2] == b"\x1f\x8b":
        return gzip.decompress(content)
    if content[:2] == b"PK" and file.member:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            return archive.read(file.member)
    return content


def _check(file: RemoteFile, content: bytes, where: object, warn: Callable[[str], None]) -> None:
    got = hashlib.sha256(content).hexdigest()
    if got == file.sha256:
        return
    if file.pinned:
        raise CorpusUnavailable(
            f"{where} is not the {file.name} that this book knows: its SHA-256 begins {got[:12]}, expected {file.sha256[:12]}. "
            f"Remove it and run this again."
        )
    warn(f"{where} is another release of {file.name} (SHA-256 {got[:12]}…); scores will differ from the recorded ones.")


def _write(path: Path, content: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_suffix(path.suffix + ".tmp")
    part.write_bytes(content)
    part.replace(path)


_MULTI30K = "https://raw.githubusercontent.com/multi30k/dataset/master/data/task1/raw"
_MULTI30K_SHA256 = {
    "train.en": "460a15fbd157e34a7a9957ee388c1ca247fe47af3ef25fb50442af6c274e0fc6",
    "train.de": "2c2b73fd2b548fbcde3a875e0a78d6ee94d498bfdee6bd3eae3945779e9ddf72",
    "val.en": "1f2a23d992769b5b3d209b0a10dd0b77c08cceb1f20dfb97ed0aafa49d107227",
    "val.de": "660e09eb7e1da2f856ea13ee5ad3cf6d36b3d5b0b733c857e94c5747a3dfc660",
    "test_2016_flickr.en": "399a4382932c1aadd3ceb9bef1008d388a64c76d4ae4e9d4728c6f4301cac182",
    "test_2016_flickr.de": "4be6b5b3236b79c25475c6bb829800a7ce559e9ba7a1f6c2394fe4d40be46d16",
    "test_2017_flickr.en": "c3078bc3b36808bf9d20eb2347ed6137016179ef59ec0d2b9b8ecc3fb2880081",
    "test_2017_flickr.de": "ce1450ddc5ab0834502579d77a170849952e15a2938b34cc503bdc25ebb4fb98",
}


def multi30k(part: str) -> list[tuple[str, str]]:
    """Image captions, English and German (Elliott et al., 2016): "train", "val", "test" (2016) or "test_2017".

    Licence: research and education only; nothing made from it may ship with an openly licensed book.
    """
    stem = {"train": "train", "val": "val", "test": "test_2016_flickr", "test_2017": "test_2017_flickr"}[part]
    sides = []
    for language in ("en", "de"):
        name = f"{stem}.{language}"
        file = RemoteFile(f"multi30k/{name}", _MULTI30K_SHA256[name], 2.2, (f"{_MULTI30K}/{name}.gz",))
        sides.append(fetch(file).read_text(encoding="utf-8").splitlines())
    return list(zip(*sides, strict=True))


_TATOEBA = {
    "fr": ("fra.txt", "0bb85dbaa1c896844649094d7eaf2e34bee34e84fe362b26ce7e8f2e12aae104", 11.5, "fra-eng.zip"),
    "ko": ("kor.txt", "35e30cc324d286dedfdbd16ba085c24de828bfe7fedd7b77aec53d7d3f890e45", 0.6, "kor-eng.zip"),
}


def tatoeba(language: str, part: str) -> list[tuple[str, str]]:
    """Everyday sentences, English and another language (CC BY 2.0 FR, tatoeba.org, by way of manythings.org/anki).

    The part is decided by the English sentence, so that no test sentence is met in training.
    """
    name, sha256, megabytes, archive = _TATOEBA[language]
    mirrors = (f"https://www.manythings.org/anki/{archive}",)
    file = RemoteFile(f"tatoeba-en-{language}/{name}", sha256, megabytes, mirrors, member=name, pinned=False)
    lines = fetch(file).read_text(encoding="utf-8").splitlines()
    pairs = (tuple(line.split("\t")[:2]) for line in lines if line.count("\t") >= 1)
    return [(english, other) for english, other in pairs if tatoeba_part(english) == part]


def tatoeba_part(english: str) -> str:
    """ "test" where the SHA-256 of the sentence begins with 00, "val" where with 01, else "train"."""
    return {"00": "test", "01": "val"}.get(hashlib.sha256(english.encode()).hexdigest()[:2], "train")


def references(pairs: list[tuple[str, str]]) -> Iterator[tuple[str, list[str]]]:
    """Each source sentence once, with all of its translations."""
    grouped: dict[str, list[str]] = {}
    for source, target in pairs:
        grouped.setdefault(source, []).append(target)
    yield from grouped.items()


def _multi30k() -> TextCorpus:
    licence = "research and education only; captions of Flickr photographs"
    return TextCorpus("multi30k", ("en", "de"), licence, "Elliott et al. (2016), github.com/multi30k/dataset", multi30k)


def _tatoeba(language: str) -> TextCorpus:
    source = "tatoeba.org, by way of manythings.org/anki"
    return TextCorpus(f"tatoeba-en-{language}", ("en", language), "CC BY 2.0 FR", source, partial(tatoeba, language))


def _wmt14(size: int | None = None) -> TextCorpus:
    licence = "several, by source: Europarl, Common Crawl, News Commentary"
    source = "Bojar et al. (2014), by way of huggingface.co/datasets/wmt/wmt14"
    return TextCorpus("wmt14-en-de", ("en", "de"), licence, source, partial(wmt14, size=size))


def wmt14(part: str, size: int | None = None) -> list[tuple[str, str]]:
    """News and parliament, English and German, the paper's own corpus: 4.5 million pairs, or the first `size`.

    By way of the library `datasets`; not verified, since its server cannot be reached where this book is written.
    """
    try:
        from datasets import load_dataset
    except ModuleNotFoundError:
        raise CorpusUnavailable(
            "wmt14-en-de is read by the library datasets, which is not installed. Run pip install 'tfm-lib[wmt14]', "
            "or take tatoeba-en-fr or multi30k."
        ) from None
    split = {"train": "train", "val": "validation", "test": "test"}[part] + (f"[:{size}]" if size else "")
    try:
        rows = load_dataset("wmt/wmt14", "de-en", split=split)
    except Exception as error:  # whatever the library raises without a network
        raise CorpusUnavailable(f"wmt14-en-de (about 1.3 GB) could not be downloaded: {error}") from error
    return [(row["translation"]["en"], row["translation"]["de"]) for row in rows]


REAL: dict[str, Callable[..., TextCorpus]] = {
    "multi30k": _multi30k,
    "tatoeba-en-fr": partial(_tatoeba, "fr"),
    "tatoeba-en-ko": partial(_tatoeba, "ko"),
    "wmt14-en-de": _wmt14,
}
