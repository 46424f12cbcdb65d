"""Folders and archives made to be credited to somebody else, to stop a class's collection, or to forge a date.

In each, Kim and Ann hand in as they should, and Mallory does not. Kim and Ann get what is theirs and nothing else; the
command ends in seconds and without a traceback; and nobody is known to be in time who only says so.
"""

import json
import os
import shutil
import signal
import socket
import subprocess
import unicodedata
import zipfile
from collections.abc import Callable
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace

import pytest

from grader.one_of_each import tfm
from grader.test_collect import MANIFEST, late_days
from grader.users import Users
from tfm_grader.collecting import archives, collected_record, identity
from tfm_grader.collecting.nbgrader_exchange import Exchange
from tfm_grader.names import fold

EVIL, PLAIN = b'{"cells": ["mallory"]}', b'{"cells": []}'
DUE = datetime(2026, 11, 1, tzinfo=UTC)


@pytest.fixture(autouse=True)
def users(monkeypatch) -> Users:
    return Users(monkeypatch)


@contextmanager
def within(seconds: int):
    """What takes longer is a hang."""

    def late(*_):
        raise TimeoutError(f"not done in {seconds} s")

    before = signal.signal(signal.SIGALRM, late)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


class Class:
    """What `tfm collect` made of a source."""

    def __init__(self, here: Path):
        self.here, self.to, self.said = here, here / "submissions", ""
        (here / "bundle").mkdir(exist_ok=True)
        (here / "bundle" / "manifest.json").write_text(json.dumps(MANIFEST), encoding="utf-8")

    def collect(self, source: Path, *words: str, ends: int = 0) -> str:
        command = ["collect", str(source), "--bundle", str(self.here / "bundle"), "--to", str(self.to), *words]
        with within(60):
            self.said = tfm(*command, ends=ends)
        assert "Traceback" not in self.said
        return self.said

    def of(self, prefix: str) -> bytes:
        """The notebook of the only student whose folder begins so."""
        (folder,) = (path for path in self.to.iterdir() if path.is_dir() and path.name.startswith(prefix))
        return (folder / "masking.ipynb").read_bytes()

    @property
    def students(self) -> list[str]:
        return sorted(path.name for path in self.to.iterdir() if path.is_dir())

    @property
    def days(self) -> dict[str, float | None]:
        return late_days(self.to, DUE)


def notebook(name: str) -> bytes:
    return json.dumps({"cells": [name]}).encode()


def write(path: Path, data: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)


# ── folders ───────────────────────────────────────────────────────────────


def device_for_a_notebook(path: Path) -> None:
    try:
        os.mknod(path, 0o644 | 0o020000, os.makedev(1, 5))
    except PermissionError:
        pytest.skip("only root makes devices")


def socket_for_a_notebook(path: Path) -> None:
    os.chdir(path.parent)  # a socket's path must be short
    socket.socket(socket.AF_UNIX).bind(path.name)


def huge(path: Path) -> None:
    with path.open("wb") as file:
        file.truncate(1 << 40)


def deep(folder: Path) -> None:
    number = os.open(folder / "mallory", os.O_RDONLY)
    for _ in range(1200):
        os.mkdir("deeper", dir_fd=number)
        inner = os.open("deeper", os.O_RDONLY, dir_fd=number)
        os.close(number)
        number = inner
    os.close(number)


def crowded(folder: Path) -> None:
    for number in range(3000):
        write(folder / "mallory" / "data" / f"{number}.txt", b"")
        (folder / "mallory" / f"{number}.txt").touch()


def links_to_folders(folder: Path) -> None:
    for link, to in (("mallory/work", "kim"), ("zz", "kim"), ("loop", ".")):
        (folder / link).symlink_to(folder / to)


OURS = ("collected.json", "COLLECTED.json", "roster.json", "roster-to-check.csv", ".held", "earlier")
ODD = ("con", "NUL.txt", "-rf", ". .", "a\nb", "\x1b[2J", "\u202ekim", "=1+1", "$(id)")
NOTEBOOKS = {  # what the folder holds besides, as paths of notebooks
    "canvas's name": ["mallory/kim_20241234_1_masking.ipynb"],
    "an inner folder of moodle": ["mallory/kim_302_assignsubmission_file_/masking.ipynb"],
    "an inner exchange": ["mallory/inbound/kim+masks+1999-01-01 00:00:00 UTC+x/masking.ipynb"],
    "an inner folder of kim": ["mallory/kim/masking.ipynb"],
    "a name that is no UTF-8": [os.fsdecode(b"mallory/masking-\xff.ipynb")],
    "folders that are no UTF-8": [os.fsdecode(b"kim\xff/masking.ipynb"), os.fsdecode(b"kim\xfe/masking.ipynb")],
    "folders of our own names": [f"{name}/masking.ipynb" for name in OURS],
    "names of devices": [f"{name}/masking.ipynb" for name in ODD],
    "many copies": [f"mallory/masking ({number}).ipynb" for number in range(200)],
    "long names": [f"{'x' * 255}/masking.ipynb", f"{'é' * 127}/masking.ipynb"],
}
INSTEAD = {  # what lies in place of Mallory's notebook
    "a fifo": os.mkfifo,
    "a socket": socket_for_a_notebook,
    "a device": device_for_a_notebook,
    "a link to kim's": lambda path: path.symlink_to(path.parents[1] / "kim" / "masking.ipynb"),
    "a link to zeros": lambda path: path.symlink_to("/dev/zero"),
    "a folder": lambda path: write(path / "masking.ipynb", EVIL),
    "a terabyte": huge,
    "nothing, and canvas's name alone": lambda path: write(path.parents[1] / "zz/kim_20241234_1_masking.ipynb", EVIL),
}
FOLDERS: dict[str, Callable[[Path], object]] = {
    "a forged timestamp": lambda folder: write(folder / "mallory/timestamp.txt", b"1999-01-01 00:00:00 UTC"),
    "a forged date": lambda folder: os.utime(folder / "mallory/masking.ipynb", (1e8, 1e8)),
    "fifos for folders": lambda folder: [os.mkfifo(folder / name) for name in ("zz", "aa.ipynb")],
    "links to folders": links_to_folders,
    "deep": deep,
    "crowded": crowded,
}


def spoil(folder: Path, name: str) -> None:
    if name in FOLDERS:
        FOLDERS[name](folder)
    elif name in INSTEAD:
        (folder / "mallory" / "masking.ipynb").unlink()
        INSTEAD[name](folder / "mallory" / "masking.ipynb")
    for number, path in enumerate(NOTEBOOKS.get(name, ())):
        write(folder / path, EVIL + b" " * number)


@pytest.mark.parametrize("name", [*NOTEBOOKS, *INSTEAD, *FOLDERS])
def test_a_folder(tmp_path, name, monkeypatch, request):
    monkeypatch.chdir(tmp_path)
    request.addfinalizer(lambda: subprocess.run(["rm", "-rf", tmp_path / "handed-in"], check=True))  # however deep
    for student in ("ann", "kim", "mallory"):
        write(tmp_path / "handed-in" / student / "masking.ipynb", notebook(student))
    spoil(tmp_path / "handed-in", name)
    made = Class(tmp_path)
    made.collect(tmp_path / "handed-in")
    assert "is a folder for each student" in made.said
    assert (made.to / "kim" / "masking.ipynb").read_bytes() == notebook("kim")
    assert (made.to / "ann" / "masking.ipynb").read_bytes() == notebook("ann")
    assert not any(name == "20241234" or name.startswith(("kim_", "kim+")) for name in made.students)
    assert len({fold(name) for name in made.students}) == len(made.students)
    assert all(path.parent.parent == made.to for path in made.to.glob("**/masking.ipynb"))
    assert set(made.days.values()) == {None}, "nobody but a student says when"
    json.loads((made.to / "collected.json").read_text(encoding="utf-8"))
    again = {path: path.read_bytes() for path in made.to.glob("*/masking.ipynb")}
    made.collect(tmp_path / "handed-in")
    assert {path: path.read_bytes() for path in made.to.glob("*/masking.ipynb")} == again


def test_a_folder_swapped_for_a_link_while_it_is_read(tmp_path):
    from tfm_grader.collecting.archives import Folder, SourceFile

    write(tmp_path / "kim" / "masking.ipynb", notebook("kim"))
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "mallory").symlink_to(tmp_path / "kim")
    with pytest.raises(OSError):
        Folder(tmp_path / "in").read(SourceFile("mallory/masking.ipynb"))


def test_what_one_student_hands_in_by_the_hundred_takes_few_lines(tmp_path):
    write(tmp_path / "handed-in" / "kim" / "masking.ipynb", notebook("kim"))
    write(tmp_path / "handed-in" / "mallory" / "masking.ipynb", EVIL)
    crowded(tmp_path / "handed-in")
    made = Class(tmp_path)
    said = made.collect(tmp_path / "handed-in")
    assert "  refused mallory: and 490 more in it, which collected.json lists" in said
    refused = json.loads((made.to / "collected.json").read_text(encoding="utf-8"))["refused"]
    assert {"file": "mallory", "why": "it holds more than 500 files; the rest was not looked at"} in refused
    assert len(said.splitlines()) < 16
    assert made.students == ["kim", "mallory"]


def test_a_folder_that_cannot_be_opened_is_a_line(tmp_path, monkeypatch):
    """Root opens everything; so the disk's refusal is played."""
    for name in ("ann", "kim", "mallory"):
        write(tmp_path / "handed-in" / name / "masking.ipynb", notebook(name))
    items = archives.Folder._items

    def closed(self, parts):
        if parts == ("mallory",):
            raise PermissionError(13, "Permission denied")
        return items(self, parts)

    monkeypatch.setattr(archives.Folder, "_items", closed)
    made = Class(tmp_path)
    said = made.collect(tmp_path / "handed-in")
    assert "refused mallory: this folder cannot be opened: Permission denied" in said
    assert made.students == ["ann", "kim"]


def test_twins_on_some_disks_are_two_people(tmp_path):
    names = [
        "anna",
        "Anna",
        "ANNA",
        "José",
        unicodedata.normalize("NFD", "José"),
        "ilker",
        "ılker",
        "İlker",
        "аnna",
        "anna.",
    ]
    names += ["ﬁona", "fiona", "straße", "STRASSE"]
    for name in names:
        write(tmp_path / "handed-in" / name / "masking.ipynb", notebook(name))
    made = Class(tmp_path)
    made.collect(tmp_path / "handed-in")
    assert len(made.students) == len({fold(name) for name in made.students}) == len(names)
    found = {path.read_bytes() for path in made.to.glob("*/masking.ipynb")}
    assert found == {notebook(name) for name in names}
    before = {path: path.read_bytes() for path in made.to.glob("*/masking.ipynb")}
    shutil.rmtree(tmp_path / "handed-in" / "Anna")
    write(tmp_path / "handed-in" / "anna" / "masking.ipynb", notebook("anna, again"))
    made.collect(tmp_path / "handed-in")
    after = {path: path.read_bytes() for path in made.to.glob("*/masking.ipynb")}
    assert [after[path] for path in before if before[path] != after[path]] == [notebook("anna, again")]


def test_a_twin_who_comes_later_gets_another_folder(tmp_path):
    made = Class(tmp_path)
    for name in ("anna", "Anna"):
        write(tmp_path / name / name / "masking.ipynb", notebook(name))
        made.collect(tmp_path / name)
    assert len({fold(name) for name in made.students}) == 2
    assert (made.to / "anna" / "masking.ipynb").read_bytes() == notebook("anna")


def test_the_hash_in_a_name_has_64_bits(tmp_path):
    write(tmp_path / "in" / "a b" / "masking.ipynb", PLAIN)
    made = Class(tmp_path)
    made.collect(tmp_path / "in")
    (name,) = made.students
    mark = name.removeprefix("a-b-")
    assert len(mark) >= 16 and int(mark, 16) >= 0


# ── archives ──────────────────────────────────────────────────────────────


class Archive:
    """A zip archive whose bytes can be broken where an entry lies."""

    def __init__(self, path: Path):
        self.path = path

    def add(self, name: str, data: bytes, **about) -> None:
        info = zipfile.ZipInfo("x", (2026, 11, 20, 10, 0, 0))
        info.filename = name
        for key, value in about.items():
            setattr(info, key, value)
        with zipfile.ZipFile(self.path, "a") as archive:
            archive.writestr(info, data)

    def change(self, old: bytes, new: bytes) -> None:
        assert len(old) == len(new)
        data = self.path.read_bytes()
        assert old in data
        self.path.write_bytes(data.replace(old, new))

    def spoil(self, name: str) -> None:
        """Write over the packed bytes of an entry."""
        with zipfile.ZipFile(self.path) as archive:
            info = archive.getinfo(name)
        data = bytearray(self.path.read_bytes())
        start = info.header_offset + 30 + len(name.encode())
        for at in range(start, start + info.compress_size):
            data[at] = 0xFF
        self.path.write_bytes(data)

    def set(self, name: str, at: int, value: bytes) -> None:
        """Change a field of an entry in the central directory."""
        data = bytearray(self.path.read_bytes())
        place = data.rindex(name.encode()) - 46 + at
        data[place : place + len(value)] = value
        self.path.write_bytes(data)


MALLORY = "mallory_13_503_masking.ipynb"
LARGE = json.dumps({"cells": list(range(10_000))}).encode()


def packed(how: int, data: bytes = LARGE, spoilt: bool = False) -> Callable[[Archive], None]:
    def make(archive: Archive) -> None:
        archive.add(MALLORY, data, compress_type=how)
        if spoilt:
            archive.spoil(MALLORY)

    return make


def field(at: int, value: bytes, data: bytes = LARGE, how: int = zipfile.ZIP_STORED) -> Callable[[Archive], None]:
    """An entry with another value in the central directory."""

    def make(archive: Archive) -> None:
        archive.add(MALLORY, data, compress_type=how)
        archive.set(MALLORY, at, value)

    return make


def named(*names: str) -> Callable[[Archive], None]:
    return lambda archive: [archive.add(name, EVIL) for name in names]


def no_utf_8(name: str, other: bytes) -> Callable[[Archive], None]:
    return lambda archive: [archive.add(name, EVIL), archive.change("ä".encode(), other)]


def twenty_thousand(archive: Archive) -> None:
    with zipfile.ZipFile(archive.path, "a") as opened:
        for number in range(21_000):
            opened.writestr(f"mallory_13_{number}_a.txt", b"")


OUT = ("../kim_11_999_masking.ipynb", "/kim_11_999_masking.ipynb", "..\\kim_11_999_masking.ipynb")
ARCHIVES = {
    "spoilt deflate": packed(zipfile.ZIP_DEFLATED, spoilt=True),
    "spoilt LZMA": packed(zipfile.ZIP_LZMA, spoilt=True),
    "LZMA that asks for memory": packed(zipfile.ZIP_LZMA),
    "spoilt bzip2": packed(zipfile.ZIP_BZIP2, spoilt=True),
    "a bomb": packed(zipfile.ZIP_DEFLATED, b" " * (100 << 20)),
    "a wrong sum": field(16, b"\0\0\0\0"),
    "an unknown packing": field(10, (99).to_bytes(2, "little")),
    "encrypted": field(8, b"\1\0"),
    "claims a terabyte": field(20, b"\xfe\xff\xff\xff\xfe\xff\xff\xff"),
    "claims ten bytes": field(24, (10).to_bytes(4, "little"), how=zipfile.ZIP_DEFLATED),
    "lies where kim's lies": field(42, b"\0\0\0\0"),
    "a date that is none": field(12, b"\0\0\0\0", EVIL),
    "a dot": named(".", "..", "/", "//", "./", "a/..", "\\", "C:", "./.", " ", ".ipynb"),
    "leads out": named(*OUT, "C:\\kim_11_999_masking.ipynb"),
    "lies in a folder": named("mallory_13_503_x/kim_11_999_masking.ipynb"),
    "no UTF-8": no_utf_8("mällory_13_503_masking.ipynb", b"\xff\xff"),
    "no UTF-8 in a name of one letter": no_utf_8("ä_13_503_masking.ipynb", b"\xc3\x28"),
    "numbers of 6,000 digits": named(
        f"mallory_{'1' * 6000}_503_masking.ipynb", f"mallory_13_{'9' * 6000}_masking.ipynb"
    ),
    "a name of 64 kilobytes": named(f"{'_1' * 30_000}_masking.ipynb"),
    "names in the student's part": named(
        "mallory_13_503_kim_11_999_masking.ipynb", "mallory_13_503_Kim_11_assignsubmission_file_masking.ipynb"
    ),
    "a second name for a number": named("mallory_13_503_masking.ipynb", "malloryx_13_504_masking.ipynb"),
    "a link": lambda archive: archive.add(MALLORY, b"kim_11_501_masking.ipynb", external_attr=0o120777 << 16),
    "a device": lambda archive: archive.add(MALLORY, b"", external_attr=0o020777 << 16),
    "twenty thousand": twenty_thousand,
}


@pytest.mark.parametrize("make", ARCHIVES.values(), ids=ARCHIVES)
def test_an_archive_of_canvas(tmp_path, make: Callable[[Archive], None]):
    archive = Archive(tmp_path / "canvas.zip")
    archive.add("kim_11_501_masking.ipynb", notebook("kim"))
    archive.add("ann_LATE_12_502_masking.ipynb", notebook("ann"))
    make(archive)
    made = Class(tmp_path)
    made.collect(archive.path)
    assert made.of("kim") == notebook("kim")
    assert made.of("ann") == notebook("ann")
    assert made.days["kim_11/masking"] == 0.0 and made.days["ann_12/masking"] == 1.0
    assert {known.lms_id for known in collected_record.roster(made.to).values()} <= {"11", "12", "13"}
    assert all(path.read_bytes() != EVIL for path in made.to.glob("kim*/**/*.ipynb"))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["bundle", "canvas.zip", "submissions"]


MOODLE = {
    "inner folder": "Mallory_303_assignsubmission_file_/Kim Lee_301_assignsubmission_file_/masking.ipynb",
    "Canvas's name": "Mallory_303_assignsubmission_file_/kimlee_301_1_masking.ipynb",
    "another number": "Mallory_303_assignsubmission_file_/zz_123_1_masking.ipynb",
    "an exchange": "Mallory_303_assignsubmission_file_/Kim Lee+masks+2026-11-20 10:00:00 UTC+x/masking.ipynb",
    "a name for a number": "Kim Lee_301_assignsubmission_file__303_assignsubmission_file_/masking.ipynb",
}


@pytest.mark.parametrize("name", MOODLE.values(), ids=MOODLE)
def test_an_archive_of_moodle(tmp_path, name):
    archive = Archive(tmp_path / "moodle.zip")
    archive.add("Kim Lee_301_assignsubmission_file_/masking.ipynb", notebook("kim"))
    archive.add(name, EVIL)
    archive.add("Ann O'Hara_302_assignsubmission_file_/masking.ipynb", notebook("ann"))
    made = Class(tmp_path)
    made.collect(archive.path)
    assert made.of("Kim") == notebook("kim") and made.of("Ann") == notebook("ann")
    assert {known.lms_id for known in collected_record.roster(made.to).values()} <= {"301", "302", "303"}
    assert set(made.days.values()) == {None}


FLAT = {
    "a name in the student's part": "Mallory_303_assignsubmission_file_Kim Lee_301_assignsubmission_file_masking.ipynb",
    "a name for another": "Kim Lee_301_assignsubmission_file_masking_303_assignsubmission_file_masking.ipynb",
    "Canvas's name": "Mallory_303_assignsubmission_file_kimlee_301_1_masking.ipynb",
    "Canvas's name for a person": "kim_301_1_303_assignsubmission_file_masking.ipynb",
}


@pytest.mark.parametrize("name", FLAT.values(), ids=FLAT)
def test_an_archive_of_moodle_without_folders(tmp_path, name):
    archive = Archive(tmp_path / "moodle.zip")
    archive.add("Kim Lee_301_assignsubmission_file_masking.ipynb", notebook("kim"))
    archive.add(name, EVIL)
    archive.add("Ann O'Hara_302_assignsubmission_file_masking (1).ipynb", notebook("ann"))
    made = Class(tmp_path)
    made.collect(archive.path)
    assert made.of("Kim") == notebook("kim") and made.of("Ann") == notebook("ann")


# ── nbgrader's exchange ───────────────────────────────────────────────────


def now() -> str:
    """The time as nbgrader writes it; asked for by each test, since the disk's own is compared with it."""
    return datetime.now(UTC).strftime("%Y-%m-%d %H:%M:%S UTC")


EARLY = b"1999-01-01 00:00:00 UTC"


def mallorys(inbound: Path) -> Path:
    """What Mallory handed in."""
    return next(inbound.glob("mallory+masks+*+x"))


def as_kim(inbound: Path, users: Users) -> None:
    name = f"kim+masks+{now()}+later"
    write(inbound / name / "masking.ipynb", EVIL)
    users.own("mallory", name)
    users.own("mallory", name, "masking.ipynb")


def into_kims_folder(inbound: Path, users: Users) -> None:
    (name,) = (path.name for path in inbound.glob("kim+*"))
    write(inbound / name / "masking (9).ipynb", EVIL)
    users.own("mallory", name, "masking (9).ipynb")


def link_to_a_hand_in(inbound: Path, users: Users) -> None:
    (inbound / f"mallory+masks+{now()}+y").symlink_to(next(inbound.glob("kim+*")))


def an_early_name(inbound: Path, users: Users) -> None:
    write(inbound / "mallory+masks+1999-01-01 00:00:00 UTC+y" / "masking.ipynb", EVIL)
    shutil.rmtree(mallorys(inbound))


def an_early_timestamp(inbound: Path, users: Users) -> None:
    write(mallorys(inbound) / "timestamp.txt", EARLY)
    users.own("mallory", mallorys(inbound).name, "timestamp.txt")


def a_timestamp_in_two_places(inbound: Path, users: Users) -> None:
    write(inbound.parent / "outbound" / "stolen.txt", EARLY)
    os.link(inbound.parent / "outbound" / "stolen.txt", mallorys(inbound) / "timestamp.txt")


def a_timestamp_that_anybody_writes(inbound: Path, users: Users) -> None:
    write(mallorys(inbound) / "timestamp.txt", EARLY)
    (mallorys(inbound) / "timestamp.txt").chmod(0o666)


def stamped(make: Callable[[Path], object]) -> Callable[[Path, Users], object]:
    return lambda inbound, users: make(mallorys(inbound) / "timestamp.txt")


def beside(*names: str) -> Callable[[Path, Users], object]:
    return lambda inbound, users: [write(inbound / name.format(now()), EVIL) for name in names]


EXCHANGES = {
    "as kim": as_kim,
    "into kim's folder": into_kims_folder,
    "an exchange in a hand-in": lambda inbound, users: write(
        mallorys(inbound) / f"kim+masks+{now()}+later" / "masking.ipynb", EVIL
    ),
    "a link to a hand-in": link_to_a_hand_in,
    "an early name": an_early_name,
    "an early timestamp": an_early_timestamp,
    "a timestamp in two places": a_timestamp_in_two_places,
    "a timestamp that anybody writes": a_timestamp_that_anybody_writes,
    "a fifo for a timestamp": stamped(os.mkfifo),
    "zeros for a timestamp": stamped(lambda path: path.symlink_to("/dev/zero")),
    "an endless timestamp": stamped(lambda path: write(path, EARLY + b" " * 1000)),
    "a timestamp that is no text": stamped(lambda path: write(path, b"\xff\xfe\0")),
    "a time that is none": beside("mallory+masks+2026-99-99 99:99:99 UTC+y/masking.ipynb"),
    "another assignment": beside("mallory+exam+{}+y/masking.ipynb"),
    "other names": beside(
        "mallory/masking.ipynb",
        "kim_11_501_masking.ipynb",
        "Kim_301_assignsubmission_file_/masking.ipynb",
        "inbound/kim+masks+{}+y/masking.ipynb",
    ),
}


@pytest.mark.parametrize("make", EXCHANGES.values(), ids=EXCHANGES)
def test_an_exchange(tmp_path, users, make: Callable[[Path, Users], object]):
    inbound = tmp_path / "course" / "inbound"
    write(tmp_path / "course" / "outbound" / "masks" / "masking.ipynb", PLAIN)
    for name in ("ann", "kim", "mallory"):
        write(inbound / f"{name}+masks+{now()}+x" / "masking.ipynb", notebook(name))
    make(inbound, users)
    made = Class(tmp_path)
    made.collect(tmp_path / "course")
    assert (made.to / "kim" / "masking.ipynb").read_bytes() == notebook("kim")
    assert (made.to / "ann" / "masking.ipynb").read_bytes() == notebook("ann")
    assert set(made.students) == {"ann", "kim", "mallory"}
    assert made.days["kim/masking"] > 0, "the disk says when"
    assert (made.days["mallory/masking"] or 0) > 0, "nobody comes before the due date"
    assert not any(path.read_bytes() == EVIL for path in made.to.glob("kim/**/*.ipynb"))


def test_the_disk_tells_of_a_folder_put_in_later(tmp_path, users, monkeypatch):
    """What was written in time and moved in late, at any depth, was not handed in in time."""
    name = "mallory+masks+2026-10-31 10:00:00 UTC+x"
    write(tmp_path / "inbound" / name / "a" / "b" / "masking.ipynb", EVIL)
    early = datetime(2026, 10, 31, 10, tzinfo=UTC).timestamp()
    about = archives.Folder.about

    def changed(self, parts):
        real = list(about(self, parts))
        return SimpleNamespace(st_uid=real[4], st_ctime=early + (90_000 if parts[-1:] == ("a",) else 1))

    entry = next(each for each in archives.Folder(tmp_path / "inbound").entries() if each.path.endswith("ipynb"))
    exchange = Exchange.of(tmp_path / "inbound", ["masking"])
    claim = identity.read_claim("nbgrader", entry)
    monkeypatch.setattr(archives.Folder, "about", changed)
    when, _, doubt = exchange.dated(claim, replace(entry, changed=early + 1))
    assert when == early + 90_000
    assert "2026-10-31 10:00 UTC, and the disk last saw it change 2026-11-01 11:00 UTC; the later counts" in doubt
    (tmp_path / "inbound" / name / "a").rename(tmp_path / "inbound" / name / "c")
    moved = replace(entry, path=entry.path.replace("/a/", "/c/"), changed=early + 1)
    assert exchange.dated(claim, moved) == (early + 1, "the disk, which agrees with the exchange", "")


@pytest.mark.parametrize("named", ["1999-01-01 00:00:00 UTC", "2999-01-01 00:00:00 UTC"])
def test_a_name_that_the_disk_contradicts_brings_nobody_before_the_disks_time(tmp_path, users, named):
    began = datetime.now(UTC).timestamp()
    write(tmp_path / "inbound" / f"mallory+masks+{named}+x" / "masking.ipynb", EVIL)
    made = Class(tmp_path)
    said = made.collect(tmp_path / "inbound")
    late = made.days["mallory/masking"]
    assert late is not None and late * 86_400 >= began - DUE.timestamp() - 1
    assert (late > 300_000) == named.startswith("2999")
    assert "masking.ipynb, of mallory: its name says" in said and "the later counts, so look at it" in said


def test_a_copy_of_an_exchange_counts_the_last_hand_in_by_its_name(tmp_path, users):
    """The disk saw each come at the copying, the second first."""
    write(tmp_path / "inbound" / "kim+masks+2026-10-02 00:00:00 UTC+x" / "masking.ipynb", notebook("second"))
    write(tmp_path / "inbound" / "kim+masks+2026-10-01 00:00:00 UTC+x" / "masking.ipynb", notebook("first"))
    made = Class(tmp_path)
    made.collect(tmp_path / "inbound")
    assert made.of("kim") == notebook("second")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")
def test_the_owners_of_a_real_disk(tmp_path, monkeypatch):
    monkeypatch.undo()
    inbound = tmp_path / "inbound"
    for name, owner in ((f"daemon+masks+{now()}+x", 1), (f"bin+masks+{now()}+x", 2), (f"bin+masks+{now()}+y", 1)):
        write(inbound / name / "masking.ipynb", notebook(f"{name} of {owner}"))
        write(inbound / name / "timestamp.txt", b"1999-01-01 00:00:00 UTC")
        for path in (inbound / name, *(inbound / name).iterdir()):
            os.chown(path, owner, owner)
    made = Class(tmp_path)
    made.collect(inbound)
    assert made.students == ["bin", "daemon"]
    assert b"of 2" in made.of("bin") and b"of 1" in made.of("daemon")
    assert "its name says bin, and it belongs to daemon" in made.said
    assert all(days > 0 for days in made.days.values())
