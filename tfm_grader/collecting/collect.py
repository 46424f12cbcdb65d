"""Collect submissions from an LMS export, an exchange or a folder: match files to students and choose which counts.

External names and archives are untrusted. The student is identified only by the top level of the source, and the
submission time comes only from the LMS, the disk or the instructor. Each refused entry is reported in one line and
does not affect other students.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePosixPath

from tfm_grader.collecting import identity
from tfm_grader.collecting.archives import CannotCollect, Folder, OwnArchive, SourceFile, Zip, leads_out, read_zipped
from tfm_grader.collecting.collected_record import NotTaken
from tfm_grader.collecting.identity import JUNK, Claim
from tfm_grader.collecting.inbox import CollectionReport, Found
from tfm_grader.collecting.nbgrader_exchange import Exchange, is_exchange
from tfm_grader.collecting.roster import Roster
from tfm_grader.names import fold, plain
from tfm_grader.notebook import MAX_BYTES, is_untouched, sources
from tfm_grader.written_answers import known_lines

MAX_COPIES = 20  # per notebook and student; older ones are not read, nor more that only their contents could place
AGAIN = re.compile(r"(?:[-_ ]\d{1,3}| ?\(\d{1,3}\)|-Copy\d{1,3})$")  # copy suffixes
ALIKE = 0.5  # share of a chapter's handed-out lines that a notebook needs to match it
BESIDE = {"timestamp.txt", "submission_secret.txt", *JUNK}  # files that are not submissions and are skipped silently
MB = 1 << 20


@dataclass(frozen=True)
class CollectOptions:
    """The instructor's options for reading a source."""

    roster: Roster | None = None
    dates: str = ""  # mtime: use the modification times of a folder's files as submission times
    assignment: str = ""  # the assignment to collect if nbgrader's exchange has several
    variants: dict[str, frozenset[str]] = field(default_factory=dict)  # by chapter, the students with personal values
    given: dict[str, frozenset[str]] = field(
        default_factory=dict
    )  # by chapter, digests of the lines that were handed out
    recognised: bool = False  # whether to accept notebooks identified by their contents alone


def collect(path: Path, stems: list[str], kind: str = "auto", wishes: CollectOptions | None = None) -> CollectionReport:
    """Collect the submissions in `path` for the chapters `stems`. Raises CannotCollect.

    `kind` is auto, folder, canvas, moodle or nbgrader.
    """
    if not path.exists():
        raise CannotCollect(f"There is no {path}. Name a folder, or the zip archive that your LMS gave you.")
    try:
        return _Collection(path, stems, kind, wishes or CollectOptions()).report
    except OSError as fault:
        raise CannotCollect(f"{path} cannot be read: {fault.strerror}.") from None


class _Collection:
    """Reads one source and builds its report."""

    def __init__(self, path: Path, stems: list[str], kind: str, wishes: CollectOptions):
        self.stems, self.wishes, self.asked, self.exchange = stems, wishes, kind, None
        self._of_somebody: list[tuple[SourceFile, NotTaken]] = []
        people = wishes.roster.people if wishes.roster else ()
        self.numbers = {each.lms_id for each in people} if all(each.lms_id for each in people) else set()
        self.source: Folder | Zip = Folder(path) if path.is_dir() else Zip(path)
        self.kind = kind
        if self.kind == "auto":
            exchange = path.is_dir() and is_exchange(path)
            self.kind = "nbgrader" if exchange else identity.kind_of(self.source, str(path), self._is_known)
        if self.kind == "nbgrader":
            if self.source.archive:
                raise CannotCollect(f"{path} is an archive, and an exchange shows who handed in by its files' owners.")
            self.exchange = Exchange.of(path, stems)
            self.source = self.exchange.inbound
        if wishes.dates and (self.source.archive or self.exchange):
            raise CannotCollect(
                "--dates mtime is for the files of a folder. An archive's dates are those of its making."
            )
        self.report = CollectionReport(kind=self.kind, source=plain(path.name or str(path)), roster=wishes.roster)
        self._fill()

    def _fill(self) -> None:
        shown = self.exchange.shown if self.exchange else ""
        for given in self.exchange.outbound if self.exchange else ():
            self._refuse(given, "it was handed out, and not in")
        seen = [(entry, claim, stem) for entry in self._entries() for claim, stem in self._notebook(entry, shown)]
        taken = [(entry, claim, stem) for entry, claim, stem in seen if stem]
        taken += self._recognised([(entry, claim) for entry, claim, stem in seen if not stem], taken, shown)
        if self.asked == "auto" and self.kind == "folder":
            _require_no_wrapping([entry for entry, _, _ in taken], self.report.source)
        students = self._students({entry.parts[0]: claim for entry, claim, _ in taken}, shown)
        found: dict[tuple[str, str], list[_Copy]] = {}
        for entry, claim, stem in taken:
            student = students.get(entry.parts[0])
            if student and (copy := self._known(entry, claim, student, stem, shown)):
                found.setdefault((student, stem), []).append(copy)
        for key in sorted(found):
            if newest := self._newest(found[key]):
                *earlier, last = newest
                self.report.kept.append(last)
                self.report.earlier += earlier
        self._name_refused(students)

    def _is_known(self, claim: Claim) -> bool:
        return self.wishes.roster is not None and bool(self.wishes.roster.whose(claim))

    def _refuse(self, where: str, why: str, entry: SourceFile | None = None) -> None:
        self.report.refused.append((plain(where), why))
        if entry is not None and entry.outer.parts and not leads_out(entry.outer):
            self._of_somebody.append((entry, NotTaken(plain(where), why)))

    def _name_refused(self, students: dict[str, str]) -> None:
        """Attribute the refused files to students, as far as their paths identify one."""
        for entry, refused in self._of_somebody:
            try:
                claim = identity.read_claim(self.kind, entry, self.numbers)
                known = isinstance(claim, Claim) and not self._is_of_another_assignment(claim)
            except Exception:  # noqa: BLE001 (a name that raises, for which the file was refused, is nobody's)
                continue
            if isinstance(claim, Claim) and known:
                people = self.wishes.roster.whose(claim) if self.wishes.roster else ()
                own = claim.student if self.wishes.roster is None else people[0].student if len(people) == 1 else ""
                if student := students.get(entry.parts[0]) or own:
                    self.report.of_student.append((claim, student, refused))

    def _entries(self) -> Iterator[SourceFile]:
        """Yield all files of the source; a student's own zip archive is replaced by its contents."""
        for entry in self.source.entries():
            if entry.trouble or not entry.path.lower().endswith(".zip") or leads_out(entry) or entry.size > MAX_BYTES:
                yield entry
                continue
            try:
                yield from OwnArchive(entry, self._read(entry)).entries()
            except Exception as fault:  # noqa: BLE001 (a broken entry raises whatever it likes, and costs only itself)
                yield replace(entry, trouble=plain(str(fault)) or "it cannot be read")

    def _read(self, entry: SourceFile) -> bytes:
        """Read a file of the source, or of a student's archive. May raise any exception."""
        return self.source.read(entry) if isinstance(self.source, Folder) and not entry.within else read_zipped(entry)

    def _recognised(
        self, unnamed: list[tuple[SourceFile, Claim]], named: list[tuple[SourceFile, Claim, str]], shown: str
    ) -> Iterator[tuple[SourceFile, Claim, str]]:
        """Yield notebooks accepted although their names fit no chapter; reports each, accepted or not."""
        have = {(claim.identity, stem) for _, claim, stem in named}
        counts, looked = Counter(claim.identity for _, claim in unnamed), Counter[object]()
        for entry, claim in unnamed:
            where, only = shown + entry.path, self.stems[0] if len(self.stems) == 1 else ""
            if only and counts[claim.identity] == 1 and (claim.identity, only) not in have:
                if not self._holds_some_of(entry, only):
                    self._refuse(where, f"its name fits no chapter, and no line of it was handed out in {only}", entry)
                    continue
                self.report.notes.append(f"{plain(where)} is taken as {only}: it is the only notebook of its student.")
                yield entry, claim, only
                continue
            looked[claim.identity] += 1
            stem = self._by_contents(entry) if looked[claim.identity] <= MAX_COPIES else ""
            if stem and self.wishes.recognised and (claim.identity, stem) not in have:
                self.report.notes.append(f"{plain(where)} is taken as {stem}, by its contents.")
                yield entry, claim, stem
                continue
            why = f"its name fits no chapter of the assignment ({', '.join(self.stems)})"
            if stem and (claim.identity, stem) not in have:
                why += f", but its contents are those of {stem}; to take it, collect with --recognised"
            self._refuse(where, why, entry)

    def _texts(self, entry: SourceFile) -> list[str] | None:
        """Return the source of every cell of a notebook, or None if it cannot be read."""
        try:
            return sources(self._read(entry))
        except Exception:  # noqa: BLE001 (a broken entry raises whatever it likes; its name or its grading says what is amiss)
            return None

    def _holds_some_of(self, entry: SourceFile, stem: str) -> bool:
        """Whether a notebook contains a line handed out in the chapter; true if that cannot be determined."""
        given, texts = self.wishes.given.get(stem), self._texts(entry)
        return not given or texts is None or bool(known_lines(texts, given)[0])

    def _by_contents(self, entry: SourceFile) -> str:
        """Return the chapter whose handed-out lines a notebook mostly contains, or ""."""
        if (texts := self._texts(entry)) is None:
            return ""
        shares = {
            stem: len(known_lines(texts, given)[0]) / len(given)
            for stem in self.stems
            if (given := self.wishes.given.get(stem))
        }
        best = max(shares, key=lambda stem: shares[stem], default="")
        return best if best and shares[best] >= ALIKE else ""

    def _notebook(self, entry: SourceFile, shown: str) -> Iterator[tuple[Claim, str]]:
        """Yield the claimed student and chapter ("" if its name fits none) of a notebook entry.

        An entry that is not an acceptable notebook yields nothing and is reported.
        """
        if JUNK & set(entry.parts) or (entry.parts and entry.parts[-1] in BESIDE and not entry.trouble):
            return
        try:
            claim, stem, trouble = self._looked_at(entry)
        except Exception as fault:  # noqa: BLE001 (one entry must not stop the class, whatever its name does)
            claim, stem, trouble = None, None, f"its name cannot be understood ({type(fault).__name__})"
        if trouble or claim is None or stem is None:
            self._refuse(shown + entry.path, trouble, entry)
        elif not self._is_of_another_assignment(claim):
            yield claim, stem

    def _looked_at(self, entry: SourceFile) -> tuple[Claim | None, str | None, str]:
        if entry.trouble:
            return None, None, entry.trouble
        if not entry.parts or leads_out(entry):
            return None, None, "its name leads out of the archive"
        if entry.size > MAX_BYTES:
            return None, None, f"it has {entry.size // MB} MB, and the limit is {MAX_BYTES // MB} MB"
        if not entry.parts[-1].lower().endswith(".ipynb"):
            return None, None, "it is not a notebook (.ipynb)"
        claim = identity.read_claim(self.kind, entry, self.numbers)
        if isinstance(claim, str):
            return None, None, claim
        flat = "" if entry.within else claim.file  # the part of a flat name that the student chose
        stem = _stem(flat or PurePosixPath(entry.parts[-1]).stem, self.stems)
        return claim, stem or "", ""

    def _is_of_another_assignment(self, claim: Claim) -> bool:
        if not claim.assignment or self.exchange is None:
            return False
        wanted = {self.wishes.assignment} if self.wishes.assignment else self.exchange.released
        if wanted and len(wanted) > 1:
            raise CannotCollect(
                f"The exchange has several assignments with such a notebook: {', '.join(sorted(wanted))}. "
                "Name one with --assignment."
            )
        return wanted is not None and claim.assignment not in wanted

    def _students(self, tops: dict[str, Claim], shown: str) -> dict[str, str]:
        """Map top-level entries to students. Unknown students and conflicting claims are reported and refused."""
        whose: dict[str, str] = {}
        for top, claim in tops.items():
            trouble = self.exchange.trouble(claim, top) if self.exchange else ""
            student, unknown = ("", "") if trouble else self._student(claim)
            if trouble or unknown:
                self._refuse(shown + top, trouble or unknown)
            else:
                whose[top] = student
        named: dict[tuple[str, str], set[str]] = {}
        holders: dict[str, dict[tuple[str, str], str]] = {}
        for top, student in whose.items():
            named.setdefault(tops[top].identity, set()).add(tops[top].name)
            holders.setdefault(fold(student), {}).setdefault(tops[top].identity, top)
        for top, student in list(whose.items()):
            claim, others = tops[top], holders[fold(student)]
            if len(named[claim.identity]) > 1:
                names = " and ".join(sorted(named[claim.identity]))
                self._refuse(shown + top, f"one number stands beside two names, {names}: a second claim")
                del whose[top]
            elif len(others) > 1 and self.wishes.roster is None:
                whose[top] = identity.marked_apart(claim)  # a case-insensitive disk would merge the two
            elif len(others) > 1 and claim.key != student:
                other = next(told for identity, told in others.items() if identity != claim.identity)
                self._refuse(shown + top, f"a second claim to be {student}, beside {plain(other)}; rename one")
                del whose[top]
        return whose

    def _student(self, claim: Claim) -> tuple[str, str]:
        """Return the student that a claim identifies, and the reason if there is none."""
        if self.wishes.roster is None:
            return claim.student, ""
        people = self.wishes.roster.whose(claim)
        if len(people) == 1:
            return people[0].student, ""
        if people:
            told = " or ".join(person.student for person in people)
            return "", f"by the roster, {claim.told} can be {told}; rename one"
        self.report.unknown.append(claim)
        column = {"folder": "folder", "nbgrader": "login"}.get(claim.kind, "lms id")
        return "", f"the roster knows nobody by {claim.told}; write that into the column {column} of whose it is"

    def _known(self, entry: SourceFile, claim: Claim, student: str, stem: str, shown: str) -> _Copy | None:
        """Build the record of a notebook before reading it. Returns None, and reports why, if it is refused."""
        known = self.wishes.variants.get(stem)
        try:
            if known is not None and student not in known:
                raise _Refused(
                    f"the bundle has no numbers of {student}'s own; it was made for the students of a roster. "
                    "Collect with that: --roster"
                )
            if self.exchange and entry.owner != self.exchange.inbound.owner(
                entry.parts[:1], self.exchange.inbound.about(entry.parts[:1])
            ):
                raise _Refused("another user than its folder's owner has put it there")
        except _Refused as trouble:
            self._refuse(shown + entry.path, str(trouble))
            return None
        except Exception as fault:  # noqa: BLE001 (a broken entry raises whatever it likes, and costs only itself)
            self._refuse(shown + entry.path, f"it cannot be read ({plain(str(fault)) or type(fault).__name__})")
            return None
        handed_in, dated_by, doubt = self._dated(claim, entry)
        when = (claim.claimed if doubt else handed_in) or claim.claimed or entry.when
        where = plain(shown + entry.path)
        return _Copy(
            entry, Found(student, stem, b"", where, claim, when, handed_in, dated_by, self.source.archive), doubt
        )

    def _newest(self, copies: list[_Copy]) -> list[Found]:
        """Read the newest MAX_COPIES copies of one notebook of a student, newest last; reports the others."""
        read: list[Found] = []
        for copy in sorted(copies, key=_order, reverse=True):
            where = copy.found.where
            if len(read) >= MAX_COPIES:
                self._refuse(where, f"of {copy.found.student} there are {MAX_COPIES} newer copies of this notebook")
                continue
            try:
                data = self._read(copy.entry)
            except Exception as fault:  # noqa: BLE001 (a broken entry raises whatever it likes, and costs only itself)
                self._refuse(where, f"it cannot be read ({plain(str(fault)) or type(fault).__name__})", copy.entry)
                continue
            if len(data) > MAX_BYTES:
                self._refuse(where, f"it has more than {MAX_BYTES // MB} MB once unpacked", copy.entry)
                continue
            if copy.doubt:
                self.report.notes.append(f"{where}, of {copy.found.student}: {copy.doubt}.")
            read.append(replace(copy.found, data=data))
        return self._touched(read[::-1])

    def _touched(self, copies: list[Found]) -> list[Found]:
        """Move copies with the student's own work to the end: an untouched copy never replaces an edited one."""
        if len(copies) < 2:
            return copies
        untouched = [one for one in copies if is_untouched(one.data, self.wishes.given.get(one.stem, frozenset()))]
        if copies[-1] not in untouched or len(untouched) == len(copies):
            self.report.replaced += [one.where for one in copies[:-1]]
            self.report.counting |= {one.where: copies[-1].where for one in copies[:-1]}
            return copies
        made = [*untouched, *(one for one in copies if one not in untouched)]
        note = f"{copies[-1].where} is as it was handed out, so {made[-1].where} counts in its place."
        self.report.notes.append(note)
        return made

    def _dated(self, claim: Claim, entry: SourceFile) -> tuple[float | None, str, str]:
        """Return the submission time of an entry, its source, and a warning for the instructor."""
        if self.exchange is not None:
            return self.exchange.dated(claim, entry)
        if self.wishes.dates == "mtime":
            return entry.when, "the file's own date, as the instructor asked", ""
        mark = "Canvas's mark LATE" if claim.late else "Canvas, without its mark LATE" if claim.late is False else ""
        return None, mark, ""


@dataclass(frozen=True)
class _Copy:
    """A notebook of a source that has not been read yet."""

    entry: SourceFile
    found: Found  # without its data
    doubt: str  # a doubt about the submission time


class _Refused(Exception):
    """The reason an entry is not read."""


def _order(one: _Copy) -> tuple:
    """Sort key of copies, the latest last: by LMS number, by date, then by the number of a duplicate.

    Files deeper in a student's folder sort before files at its top.
    """
    found = one.found
    copy = AGAIN.search(PurePosixPath(found.where).stem)
    number = int(re.sub(r"\D", "", copy[0])) if copy else 0
    submission = found.when if found.claim.kind == "nbgrader" else 0.0
    return found.claim.number, submission, -len(one.entry.parts), found.when, number, found.where


def _require_no_wrapping(entries: list[SourceFile], shown: str) -> None:
    """Refuse a single top-level folder that contains several: it is a class. Raises CannotCollect."""
    below = {entry.parts[1] for entry in entries if len(entry.parts) > 2}
    tops = {entry.parts[0] for entry in entries}
    if len(tops) == 1 and len(below) > 1 and all(len(entry.parts) > 2 for entry in entries):
        (top,) = tops
        raise CannotCollect(
            f"{shown} holds one folder, {plain(top)}, with {len(below)} folders in it. Is {plain(top)} the class? Then "
            f"name it, or zip what it holds. Is it one student's? Then say so: --kind folder."
        )


def _stem(name: str, stems: list[str]) -> str | None:
    """Return the chapter that a file name denotes, ignoring suffixes added by a browser or an LMS."""
    for _ in range(3):
        if name in stems:
            return name
        name = AGAIN.sub("", name)
    return name if name in stems else None
