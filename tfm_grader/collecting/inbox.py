"""Store collected submissions, one folder for each student.

No submitted file is lost: copies that do not count are kept in the student's folder `earlier`, named by hash.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path, PurePosixPath

import msgspec

from tfm_grader.collecting import roster as rosters
from tfm_grader.collecting import roster_proposal
from tfm_grader.collecting.archives import Folder, SourceFile
from tfm_grader.collecting.collected_record import FILE, BadRecord, Book, CollectedLine, HandIn, Known, NotTaken
from tfm_grader.collecting.identity import Claim
from tfm_grader.collecting.roster import Person, Roster
from tfm_grader.lock import only_one
from tfm_grader.names import counted, digest
from tfm_grader.notebook import MAX_BYTES


@dataclass(frozen=True)
class Found:
    """One notebook in a source: its student, its chapter and its original path."""

    student: str
    stem: str
    data: bytes
    where: str
    claim: Claim
    when: float = 0.0  # its own timestamp, used only to order several copies
    handed_in: float | None = None  # the submission time, unless only the student states it
    dated_by: str = ""  # the source of `handed_in`
    archive: bool = False

    @property
    def sha256(self) -> str:
        return digest(self.data)

    @property
    def recorded(self) -> HandIn:
        late, kind, number = self.claim.late, self.claim.kind, self.claim.number
        return HandIn(self.where, self.sha256, late, self.handed_in, self.dated_by, kind, number, self.when)


@dataclass
class CollectionReport:
    """The result of collecting a source: what counts, earlier copies, refusals with reasons, and notes."""

    kept: list[Found] = field(default_factory=list)
    refused: list[tuple[str, str]] = field(default_factory=list)
    replaced: list[str] = field(default_factory=list)
    counting: dict[str, str] = field(default_factory=dict)  # by what was replaced, what counts in its place
    earlier: list[Found] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    missing: list[Person] = field(default_factory=list)  # students on the roster without any notebook
    kind: str = ""
    source: str = ""
    roster: Roster | None = None
    unknown: list[Claim] = field(default_factory=list)  # claims that match nobody on the roster
    of_student: list[tuple[Claim, str, NotTaken]] = field(default_factory=list)  # refused files, with their students
    waiting: set[str] = field(default_factory=set)  # students whose refused files nothing has replaced


def write_collected(report: CollectionReport, to: Path) -> None:
    """Write notebooks to `to`/<student>/<chapter>.ipynb and the record to `to`/collected.json.

    Files that cannot be written are added to `report.refused`, other remarks to `report.notes`.
    Raises BadRecord, Busy.
    """
    try:
        with only_one(to, "tfm collect"):
            keeper = _Keeper(report, to)
            keeper.put_all()
            if report.roster is not None:
                keeper.complete(report.roster)
            keeper.close()
    except OSError as fault:
        raise BadRecord(f"{to} cannot be written: {fault.strerror}.") from None


def replace_file(path: Path, data: bytes) -> None:
    """Write `data` to `path` atomically, replacing what is there."""
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    beside.unlink(missing_ok=True)
    with os.fdopen(os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o644), "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    os.replace(beside, path)


class _Keeper:
    """Writes one report into a folder of submissions."""

    def __init__(self, report: CollectionReport, to: Path):
        self.report, self.to, self.book = report, to, Book.of(to)
        self.now = datetime.now(UTC).isoformat(timespec="seconds")
        self.newly: set[str] = set()  # students of whom a notebook counts that did not count before
        self.same_dates = 0  # the number of notebooks that are as before, but have a later date or none

    def put_all(self) -> None:
        """Write every notebook; an error with one does not affect the others."""
        before = self._remember_refused()
        counting = {(one.student, one.stem): one.sha256 for one in self.report.kept}
        every = [(one, True) for one in self.report.kept] + [(one, False) for one in self.report.earlier]
        for one, counts in every:
            try:
                student = one.student if self.report.roster else self.book.whose(one.claim, one.student)
                if not student:
                    why = f"{one.claim.told} claims the folder {one.student}, which is another's"
                    self.report.refused.append((one.where, f"{why}. A roster tells them apart: --roster"))
                    continue
                self.book.meet(student, one.claim)
                _make_folder(self.to / student)
                last = counting[one.student, one.stem]
                became = self._count(student, one) if counts else self._keep(student, one, last)
                self.newly |= {student} if became == "counts" else set()
                self._remember(student, one, became)
            except OSError as fault:
                self.report.refused.append((one.where, f"it cannot be written: {fault.strerror}"))
        for student, refused in before.items():
            self.book.students[student].refused += [each for each in refused if self._still_waits(student, each)]
        self.report.waiting = {student for student, known in self.book.students.items() if known.refused}

    def _still_waits(self, student: str, refused: NotTaken) -> bool:
        """Whether a file that an earlier collection refused has not been replaced by anything since."""
        known = self.book.students[student]
        if student in self.newly or refused.file in {each.file for each in known.refused}:
            return False
        return not any(stem in PurePosixPath(refused.file).name for stem in known.files)

    def _remember_refused(self) -> dict[str, list[NotTaken]]:
        """Record refused files under their students, who then do not count as having submitted nothing.

        Returns those of earlier collections.
        """
        before = {student: known.refused for student, known in self.book.students.items() if known.refused}
        for known in self.book.students.values():
            known.refused = []
        for claim, wanted, refused in self.report.of_student:
            if student := wanted if self.report.roster else self.book.whose(claim, wanted):
                self.book.meet(student, claim)
                self.book.students[student].refused.append(refused)
                _make_folder(self.to / student)
        return before

    def _keep(self, student: str, one: Found, last: str) -> str:
        """Keep a copy that does not count, unless it equals the `last`. Returns what became of it."""
        if one.sha256 == last:
            return "again"
        _keep_earlier(self.to / student, one.stem, one.data)
        return "earlier"

    def _count(self, student: str, one: Found) -> str:
        """Make a copy count, unless the stored one was submitted later. Returns what became of it."""
        folder, files = self.to / student, self.book.students[student].files
        lies, known = _content(folder, f"{one.stem}.ipynb"), files.get(one.stem)
        same = lies is not None and digest(lies) == one.sha256
        if same and known is not None and known.sha256 == one.sha256:
            files[one.stem] = self._again(one, known)
            return "again"
        if lies is not None and known is not None and _is_older(one, known):
            if same:
                return "again"
            self.report.notes.append(
                f"{one.where} is older than {known.where}, which was collected before and counts; this one is kept in "
                f"{student}/earlier."
            )
            return self._keep(student, one, "")
        if lies is not None and not same:
            _keep_earlier(folder, one.stem, lies)
            before = f" from {known.where}" if known else ""
            self.report.notes.append(
                f"{one.where} takes the place of what was collected before{before}; that is kept in {student}/earlier."
            )
        if not same:
            replace_file(folder / f"{one.stem}.ipynb", one.data)
        files[one.stem] = one.recorded
        return "again" if same else "counts"

    def _again(self, one: Found, known: HandIn) -> HandIn:
        """Make the record of a notebook that was collected before: it was handed in when it was seen first."""
        made = known if _is_older(one, known) else one.recorded
        if known.handed_in is None:
            return made
        if one.handed_in is not None and one.handed_in <= known.handed_in:
            return msgspec.structs.replace(made, handed_in=one.handed_in, dated_by=one.dated_by)
        self.same_dates += 1
        return msgspec.structs.replace(made, handed_in=known.handed_in, dated_by=known.dated_by)

    def _remember(self, student: str, one: Found, became: str) -> None:
        source = self.report.source
        self.book.remember(
            CollectedLine(self.now, student, one.stem, one.sha256, source, one.where, one.handed_in, became)
        )

    def complete(self, roster: Roster) -> None:
        """Create a folder for everyone on the roster; report missing students and folders not on the roster."""
        rosters.keep_roster(roster, self.to)
        filled, count = roster_proposal.proposed(roster, self.report.unknown)
        if count:
            replace_file(self.to / roster_proposal.FILE, roster_proposal.as_csv(filled).encode())
            self.report.notes.append(
                f"The roster lacks the LMS's numbers. {self.to / roster_proposal.FILE} has {count} of them filled in by the names; "
                "look through it, then collect with it: --roster."
            )
        for person in roster.people:
            _make_folder(self.to / person.student)
            if not self.book.students.get(person.student, Known()).files:
                self.report.missing.append(person)
        for item in sorted(self.to.iterdir()):
            if item.is_dir() and not item.is_symlink() and item.name not in roster.students:
                self.report.notes.append(f"{item.name} has a folder from before and is not on the roster.")

    def close(self) -> None:
        """Write the record."""
        if self.same_dates:
            self.report.notes.append(
                f"{counted(self.same_dates, 'notebook')} collected before came again unchanged, with a later date or "
                "none: the earlier date counts."
            )
        self.book.refused = [NotTaken(where, why) for where, why in self.report.refused]
        self.book.replaced = self.report.replaced
        replace_file(self.to / FILE, self.book.encoded())


def _is_older(one: Found, known: HandIn) -> bool:
    """Whether `one` was submitted before `known`: by verified times, else by LMS number or archive date."""
    if one.handed_in is not None and known.handed_in is not None:
        return one.handed_in < known.handed_in
    if one.claim.kind != known.kind or not one.archive or not known.when:
        return False
    return (one.claim.number, one.when) < (known.number, known.when)


def _make_folder(folder: Path) -> None:
    if folder.is_symlink():
        raise OSError(0, f"{folder.name} is a link")
    folder.mkdir(exist_ok=True)


def _content(folder: Path, name: str) -> bytes | None:
    """Return the content of a stored file, or None if it is missing or not a regular file."""
    try:
        return Folder(folder).read(SourceFile(name), 2 * MAX_BYTES)
    except OSError:
        return None


def _keep_earlier(folder: Path, stem: str, data: bytes) -> None:
    _make_folder(folder / "earlier")
    path = folder / "earlier" / f"{stem}-{digest(data)[:16]}.ipynb"
    if not path.exists():
        replace_file(path, data)
