"""Teams and due dates of one's own: one hand-in for several students, each with a score that says what it was made from."""

import csv
import io
import json
import os
import re
import zipfile
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from project import ROOT

from grader.one_of_each import BAND, DAY, DUE, LATENCY, MANIFEST, Course, Verdicts, tfm
from grader.test_collect import archive
from grader.test_similarity import ODD, OTHER, SHORT
from tfm_grader.assignment.assign import AssignOptions, make
from tfm_grader.assignment.bundle import Bundle
from tfm_grader.assignment.manifest import Chapter, Entry, Late, Manifest
from tfm_grader.collecting import roster as rosters
from tfm_grader.collecting import roster_proposal
from tfm_grader.collecting.collected_record import HandIn, Known
from tfm_grader.collecting.identity import Claim
from tfm_grader.collecting.inbox import CollectionReport
from tfm_grader.collecting.messages import after
from tfm_grader.collecting.roster import BadRoster, Person, Roster, read_roster
from tfm_grader.exports.grades import handed_in_by
from tfm_grader.judging import pool
from tfm_grader.judging.audit_log import AuditLog
from tfm_grader.names import digest
from tfm_grader.records import NOTHING, ChapterResult, ExerciseResult, StudentResult, Submission
from tfm_grader.reports import own_code
from tfm_grader.reports.similarity import pairs
from tfm_grader.reports.student_feedback import student_page
from tfm_grader.reports.team_hand_ins import as_member, decided, shared_result
from tfm_grader.scoring.manual_grades import Mark, Marks
from tfm_grader.scoring.marking_sheet import Desk, holds_more
from tfm_grader.scoring.scores import ACCEPTED, NEW_MARK, UNDECIDED, ClassMember, Row, Rules, Score, score, with_marks
from tfm_grader.scoring.staleness import binding
from tfm_grader.scoring.teams import Decision, HandedIn, decide
from tfm_grader.scoring.waivers import BadWaivers, Waiver, read_waivers
from tfm_grader.written_answers import digests
from tfm_lib._refusal import Refusal

# the roster


def made(tmp_path, text: str) -> Roster:
    (tmp_path / "class.csv").write_text(text, encoding="utf-8")
    return read_roster(tmp_path / "class.csv")


@pytest.mark.parametrize("head", ["team", "Team name", "PROJECT_TEAM", "project-team"])
def test_a_column_of_the_roster_says_who_is_in_which_team(tmp_path, head):
    found = made(tmp_path, f"student,section,{head}\nann,1,red-pandas\nben,2,red-pandas\ncho,1,\ndee,1,Ñandú 鳥\n")
    assert found.teams == {"red-pandas": ("ann", "ben"), "Ñandú 鳥": ("dee",)}
    assert [each.section for each in found.people] == ["1", "2", "1", "1"]
    rosters.keep_roster(found, tmp_path)
    assert rosters.kept(tmp_path) == found
    (tmp_path / "again.csv").write_text(roster_proposal.as_csv(found), encoding="utf-8")
    assert read_roster(tmp_path / "again.csv") == found, "the proposed roster keeps the teams"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (
            "student,Group\nann,1\n",
            "line 1: 'group' can mean two things: call the column section (a part of the class) or team (students who",
        ),
        ("student,team,project team\nann,a,b\n", "two columns say the same"),
        ("student,team\nann,../x\n", "line 2: '../x' cannot name a team"),
        ("student,team\nann,=1+1\n", "line 2: '=1+1' cannot name a team"),
        ("student,team\nann,con\n", "line 2: 'con' cannot name a team"),
        ("student,team\nann,BEN\nben,\n", "line 2: the team 'BEN' has the same name as the student of line 3"),
        ("student,login,team\nann,x,\nben,y,X\n", "line 3: the team 'X' has the same name as the login of line 2"),
        ("student,folder,team\nann,x,x\n", "line 2: the team 'x' has the same name as the folder of line 2"),
        ("student,email,team\nann,a@x.org,\nben,,A@x.org\n", "has the same name as the email of line 2"),
        ("student,team\nann,Pandas\nben,pandas\n", "line 3: the team 'pandas' is written 'Pandas' in line 2"),
    ],
)
def test_a_team_that_could_be_mistaken_is_a_fault_with_its_line(tmp_path, text, told):
    with pytest.raises(BadRoster, match=re.escape(told)):
        made(tmp_path, text)


def test_a_damaged_roster_that_was_kept_is_refused(tmp_path):
    rosters.keep_roster(Roster((Person("ann", team="ben"), Person("ben"))), tmp_path)
    with pytest.raises(BadRoster, match="has the same name as the student"):
        rosters.kept(tmp_path)


def test_nobody_hands_in_by_the_name_of_a_team():
    listed = Roster((Person("ann", team="red-pandas"), Person("ben", team="red-pandas")))
    for kind in ("folder", "nbgrader"):
        assert listed.whose(Claim(kind, "red-pandas", "red-pandas", "red-pandas")) == []


def test_a_team_is_missing_only_as_a_whole():
    people = (Person("ann", team="pandas"), Person("ben", team="pandas"), Person("cho", team="bears"), Person("dee"))
    people += (Person("eva", team="cats"), Person("fay", team="cats"), Person("gus"))
    found = CollectionReport(kind="folder", source="x", roster=Roster(people), missing=[people[1], *people[2:]])
    found.waiting = {"fay", "gus"}
    assert [line for line in after(found) if "only" in line] == [
        "  only refused files from the team cats (eva, fay)",
        "  only refused files from gus",
    ]
    assert [line for line in after(found) if "nothing" in line] == [
        "  nothing from the team bears (cho)",
        "  nothing from dee",
    ]


# whose notebook counts


def by(student: str, words: str, number: int = 0, time: float | None = None, **more) -> HandedIn:
    return HandedIn(student, digest(words), number, time, **more)


@pytest.mark.parametrize(
    ("found", "decision"),
    [
        ([], Decision()),
        ([by("ann", "x")], Decision("ann")),
        ([by("ann", "x"), by("ben", "x")], Decision("ann")),
        ([by("ann", "x", time=2), by("ben", "x", time=1)], Decision("ben")),
        ([by("ann", "x", time=2), by("ben", "x")], Decision("ben")),  # nobody is late who may not be
        ([by("ann", "x", 7), by("ben", "y", 8)], Decision("ben", replaced=("ann",))),
        ([by("ann", "x", time=9), by("ben", "y", time=8)], Decision("ann", replaced=("ben",))),
        ([by("ann", "x", time=9), by("ben", "y", time=9)], Decision(undecided=("ann", "ben"))),
        ([by("ann", "x", time=9), by("ben", "y")], Decision(undecided=("ann", "ben"))),
        ([by("ann", "x", 7), by("ben", "y", time=9)], Decision(undecided=("ann", "ben"))),
        ([by("ann", "x"), by("ben", "y", untouched=True)], Decision("ann")),
        ([by("ann", "x", untouched=True), by("ben", "y", untouched=True)], Decision("ann")),
        ([by("ann", "x"), by("ben", "y", readable=False)], Decision("ann", unread=("ben",))),
        ([by("ann", "x", readable=False), by("ben", "y", readable=False)], Decision("ann")),
        # back to an earlier notebook: it counts from when it was handed in again
        (
            [by("ann", "x", time=1), by("ben", "y", time=2), by("cho", "x", time=4), by("dee", "x", time=3)],
            Decision("dee", replaced=("ben",)),
        ),
    ],
)
def test_whose_notebook_counts(found, decision):
    assert decide(found) == decision


# due dates and waivers


def waivers(tmp_path, text: str, **more) -> dict[tuple[str, str], Waiver]:
    (tmp_path / "waivers.csv").write_text(text, encoding="utf-8")
    teams = {"pandas": ("ann", "ben")}
    return read_waivers(tmp_path / "waivers.csv", ["ann", "ben", "cho"], ["a", "b"], teams=teams, **more).given


def test_a_line_is_for_a_student_or_a_team_and_the_members_own_wins(tmp_path):
    text = (
        "student,chapter,days,due,reason\nben,a,all,,ill\npandas,all,,2027-03-05T23:59+01:00,a fair\n"
        "cho,b,,2027-03-05 12:00,late start\n"
    )
    found = waivers(tmp_path, text)
    fair = Waiver(0, "a fair", datetime.fromisoformat("2027-03-05T23:59+01:00"))
    assert found["ann", "a"] == found["ann", "b"] == found["ben", "b"] == fair
    assert (found["ben", "a"].reason, found["ben", "a"].due) == ("ill", None)
    assert found["cho", "b"].due == datetime(2027, 3, 5, 12, tzinfo=UTC)
    assert len(found) == 5
    only_due = waivers(tmp_path, "student;chapter;due;reason\nann;a;2027-03-05T23:59Z;ill\n")
    assert only_due["ann", "a"].due == datetime(2027, 3, 5, 23, 59, tzinfo=UTC)
    assert waivers(tmp_path, "student;chapter;days;reason\ncho;a;2,5;ill\n")["cho", "a"].days == 2.5


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        ("ann,a,1,2027-03-05T23:59Z,x", "line 2: a line has either days, as 2 or all, or a due date"),
        ("ann,a,,,x", "This one has neither."),
        ("ann,a,,2027-03-05,x", "must be a date with a time, as 2027-03-05T23:59+01:00, and not '2027-03-05'"),
        ("ann,a,,soon: 9,x", "must be a date with a time"),
        ("bears,a,1,,x", "there is no student or team 'bears'"),
        ("ann,layers,1,,x", "there is no chapter 'layers', only a, b, or all"),
        ("ann,a,some,,x", "the days must be a number, as 2, or all, and not 'some'"),
        ("ann,a,-1,,x", "the days must be a number"),
        ("ann,a,1,,ill, with a letter", "line 2: it has 6 cells, and line 1 has 5. Text with a comma needs"),
        ("ann,a,1,,x, too\nbob,a,1,,x", "line 3: there is no student or team 'bob'"),
        ("bob,a,1,,x\nann,a,1,,", "line 3: a waiver needs a reason, which goes into audit.csv."),
        ("ann,a,,2027-03-05T23:59Z,", "a waiver needs a reason"),
        ("pandas,a,1,,x\npandas,all,,2027-03-05T23:59Z,y", "line 3: pandas has a waiver for a in an earlier line"),
    ],
)
def test_a_line_that_cannot_be_meant_is_refused(tmp_path, line, sentence):
    with pytest.raises(BadWaivers, match=re.escape(sentence)):
        waivers(tmp_path, f"student,chapter,days,due,reason\n{line}\n")


# marks


def scores(words: str, *students: str, lacks: str = "a mark") -> list[Score]:
    row = Row(LATENCY, "Why?", "text", "ok", None, 2, "", [], [], words, waits=True, lacks=lacks)
    row = replace(row, subject=digest(words) if words else "")
    return [Score(student, student.title(), "", [row], team="pandas") for student in students]


def counted(log: AuditLog, found: list[Score], *marks: Mark) -> dict[str, float | str | None]:
    """The points of each student after a report with these marks, or what they wait for."""
    given = Marks({mark.key: mark for mark in marks})
    bound = binding(found, given, log)
    log.add(*bound.events)
    made = with_marks(found, replace(given, given=bound.given), bound.stale)
    return {each.student: each.rows[0].lacks or each.rows[0].points for each in made}


def test_a_mark_for_a_team_is_for_the_words_that_it_was_given_for(tmp_path):
    log = AuditLog(tmp_path)
    team, own = Mark("pandas", LATENCY, 1.5, "Nice"), Mark("ben", LATENCY, 0.5, "He was away")
    assert counted(log, scores("First.", "ann", "ben"), team, own) == {"ann": 1.5, "ben": 0.5}
    assert counted(log, scores("First.", "ann", "ben", "cho"), team, own) == {"ann": 1.5, "ben": 0.5, "cho": 1.5}
    undecided = scores("", "ann", "ben", lacks=UNDECIDED)
    assert counted(log, undecided, team, own) == {"ann": UNDECIDED, "ben": UNDECIDED}
    assert counted(log, scores("First.", "ann", "ben"), team, own) == {"ann": 1.5, "ben": 0.5}, "as before"
    later = scores("Second.", "ann", "ben", "dee")
    assert counted(log, later, team, own) == dict.fromkeys(("ann", "ben", "dee"), NEW_MARK), "even for who joins now"
    again = [replace(team, text=digest("Second.")[:12]), replace(own, reason="He was away, and is")]
    assert counted(log, later, *again) == {"ann": 1.5, "ben": 0.5, "dee": 1.5}
    marked = [line.event.student for line in log.lines if hasattr(line.event, "subject")]
    assert marked == ["pandas", "ben", "pandas", "ben"], "a line for each mark, not for each member"
    assert counted(log, later, again[0]) == {"ann": 1.5, "ben": 1.5, "dee": 1.5}
    assert log.lines[-1].event.student == "ben", "that his own was taken back is in the log"


# a class of forty

PEOPLE = {  # by team: the students, with their names
    "solo": {"ada": "Ada"},
    "two": {"bea": "Bea Bo", "ben": "Ben Oz"},
    "same": {"cal": "Cal", "cam": "Cam", "cat": "Cat"},
    "order": {"dan": "Dan", "deb": "Deb", "dot": "Dot"},
    "undecided": {"eli": "Eli", "eva": "Eva", "eze": "Eze"},
    "leaving": {"fay": "Fay", "fin": "Fin"},
    "joining": {"gil": "Gil", "gus": "Gus"},
    "refused-one": {"hal": "Hal", "hub": "Hub"},
    "refused-alone": {"ian": "Ian", "ida": "Ida"},
    "own-due": {"jan": "Jan", "jim": "Jim"},
    "waived-some": {"kai": "Kai", "kim": "Kim", "kit": "Kit"},
    "marked-own": {"lea": "Lea", "lou": "Lou"},
    "waiting-two": {"mia": "Mia", "max": "Max"},
    "stale": {"nan": "Nan", "ned": "Ned"},
    "Ñandú 鳥": {"o1": 'Oz, "Ann"', "o2": "=1+1", "o3": "</script><b>", "o4": "이서연"},
    "unread": {"pam": "Pam", "pat": "Pat"},
    "untouched": {"qin": "Qin", "quy": "Quy"},
    "": {"ray": "Ray Alone", "roy": "Roy Due"},
}
TEAM_OF = {student: team for team, members in PEOPLE.items() for student in members}
NAMES = {student: name for members in PEOPLE.values() for student, name in members.items()}
HANDED_IN = {  # points of the test, words, days after the due date
    "ada": (4, "Ada's.", -1), "bea": (3, "Bea's.", -1), "cal": (4, "Same.", -1), "cam": (4, "Same.", 3),
    "dan": (4, "Dan's.", -2), "deb": (2, "Deb's.", -1), "eli": (4, "Eli's.", -1), "fay": (4, "Fay's.", -1),
    "gil": (4, "Gil's.", -1), "hal": (4, "Hal's.", -1), "jan": (4, "Jan's.", 2.5), "kai": (4, "Kai's.", 2),
    "lea": (4, "Lea's.", -1), "mia": (4, "=Mia's.", -1), "nan": (4, "Nan's.", -1), "o2": (4, "O's.", -1),
    "pam": (4, "Pam's.", -1), "qin": (4, "Qin's.", -1), "ray": (4, "Ray's.", 1), "roy": (4, "Roy's.", 1),
}  # fmt: skip
MARKED = [team for team in PEOPLE if team not in ("", "marked-own", "waiting-two", "refused-alone", "leaving")]
MARKS = "student,exercise,points,reason\n" + "".join(
    [
        *(f"{team},{LATENCY},2,Good.\n" for team in [*MARKED, "ray", "roy"]),
        f'marked-own,{LATENCY},1.5,"Yes, =1+1"\nlou,{LATENCY},0.5,Lou was away.\n',
        f"lou,{BAND},3,Lou was away.\n",
    ]
)
WAIVERS = """student,chapter,days,due,reason
jim,masking,,2030-03-20T19:00+01:00,"ill, again"
waived-some,all,1,,a fair
kim,masking,all,,ill
roy,all,,2030-03-30 12:00,a move
"""


def notebook(points: float, words: str, lines: str = "mine = 1") -> bytes:
    cell = {"cell_type": "code", "metadata": {}, "outputs": [], "execution_count": None, "source": lines}
    made = {"earns": points, "words": words, "cells": [cell], "nbformat": 4, "nbformat_minor": 5, "metadata": {}}
    return json.dumps(made).encode()


class Forty(Course):
    """The class of forty, in two steps: as it was at the first report, and what happened since."""

    def __init__(self, folder):
        super().__init__(folder)
        manifest = json.loads(json.dumps(MANIFEST))
        manifest["chapters"]["masking"]["given"] = digests(["handed = 0"])
        self.write("bundle/manifest.json", json.dumps(manifest))
        self.write("marks.csv", MARKS), self.write("waivers.csv", WAIVERS)
        self.write("roster.csv", self.roster(lacks={"gus"}))
        for student, (points, words, days) in HANDED_IN.items():
            self.hand_in(student, points, words, days)
        self.hand_in("quy", 0, "", -0.5, lines="handed = 0")
        for student in ("hub", "ian"):
            self.write(f"handed-in/{student}/masking.txt", "My answer.")
        self.collect(), self.grade(), self.reported()

    def roster(self, lacks: set[str] = frozenset()) -> str:
        made = io.StringIO()
        write = csv.writer(made)
        write.writerow(["student", "name", "lms id", "team"])
        numbers = {student: 100 + at for at, student in enumerate(sorted(NAMES))}
        write.writerows([each, NAMES[each], numbers[each], TEAM_OF[each]] for each in NAMES if each not in lacks)
        return made.getvalue()

    def hand_in(self, student, points, words, days, name="masking.ipynb", lines="mine = 1"):
        path = self.folder / "handed-in" / student / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(notebook(points, words, lines))
        os.utime(path, (DUE + days * DAY, DUE + days * DAY))

    def happen(self) -> None:
        """Fay leaves, Gus joins, Ned hands in other words, and two notebooks are laid into folders by hand."""
        (self.folder / "handed-in" / "fay" / "masking.ipynb").unlink()
        self.write("roster.csv", self.roster(lacks={"fay"}))
        self.hand_in("ned", 4, "Ned's other words.", -0.5)
        self.collect()
        (self.folder / "submissions" / "eva" / "masking.ipynb").write_bytes(notebook(1, "Eva's."))
        (self.folder / "submissions" / "pat" / "masking.ipynb").mkdir()
        self.grade()


@pytest.fixture(scope="module")
def forty(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(ROOT)
        patch.setattr(pool, "Pool", Verdicts)
        made = Forty(tmp_path_factory.mktemp("forty"))
        first = {row["student"]: row["points"] for row in made.table("grades.csv")}
        made.happen()
        numbers = {student: 100 + at for at, student in enumerate(sorted(NAMES))}
        made.write("gradebook.csv", "Student,ID,Masks (77)\n" + "".join(f"x,{each},\n" for each in numbers.values()))
        said = made.reported("--canvas", made.folder / "gradebook.csv")
        yield made, said, first


TOTALS = {  # what each has in the end; None while it waits
    "ada": 6, "bea": 5, "ben": 5, "cal": 6, "cam": 6, "cat": 6, "dan": 4, "deb": 4, "dot": 4,
    "eli": None, "eva": None, "eze": None, "fin": None, "gil": 6, "gus": 6, "hal": 6, "hub": 6,
    "ian": None, "ida": None, "jan": 4.2, "jim": 6, "kai": 5.4, "kim": 6, "kit": 5.4, "lea": 5.5, "lou": 3.5,
    "mia": None, "max": None, "nan": None, "ned": None, "o1": 6, "o2": 6, "o3": 6, "o4": 6,
    "pam": 6, "pat": 6, "qin": 6, "quy": 6, "ray": 5.4, "roy": 6,
}  # fmt: skip
WHOSE = {  # by team, in the end
    "solo": "ada", "two": "bea", "same": "cal", "order": "deb", "undecided": "", "leaving": "", "joining": "gil",
    "refused-one": "hal", "refused-alone": "", "own-due": "jan", "waived-some": "kai", "marked-own": "lea", "waiting-two": "mia",
    "stale": "ned", "Ñandú 鳥": "o2", "unread": "pam", "untouched": "qin", "": "",
}  # fmt: skip


def test_every_member_has_the_points_of_the_notebook_that_counts(forty):
    here, _, first = forty
    assert len(first) == 40
    rows = {row["student"]: row for row in here.table("grades.csv")}
    assert {name: row["points"] for name, row in rows.items()} == {
        name: "" if total is None else f"{total:g}" for name, total in TOTALS.items()
    }
    assert {name: (row["team"], row["handed in by"]) for name, row in rows.items()} == {
        name: (team, WHOSE[team]) for name, team in TEAM_OF.items() if name != "fay"
    }
    assert rows["o1"]["name"] == NAMES["o1"] and rows["o2"]["name"] == "'=1+1"
    late = {name: row["late days"] for name, row in rows.items() if row["late days"] != "0"}
    assert late == {
        "eli": "unknown", "eva": "unknown", "eze": "unknown", "jan": "2.5", "kai": "2", "kim": "2", "kit": "2",
        "ray": "1",
    }, "Cam's late copy of the same file makes nobody late"  # fmt: skip
    assert {name: row["waits"] for name, row in rows.items() if name in ("eze", "fin", "ida", "max", "nan")} == {
        "eze": f"{BAND}: {UNDECIDED}; {LATENCY}: {UNDECIDED}",
        "fin": "nothing handed in",
        "ida": f"{BAND}: a hand-in that is accepted; {LATENCY}: a hand-in that is accepted",
        "max": f"{LATENCY}: a mark",
        "nan": f"{LATENCY}: {NEW_MARK}",
    }


def test_before_anything_happened_they_had_other_points(forty):
    first = forty[2]
    assert (first["eli"], first["eva"], first["fin"], first["nan"], first["pat"]) == ("6", "6", "", "6", "6")
    assert "gus" not in first and first["fay"] == ""


def test_the_notes_say_what_to_do(forty):
    said = forty[1]
    for line in (
        (
            "members of the team undecided handed in different notebooks for masking, and it isn't known which came last, "
            "so the whole team waits: eli, eva. Take the one that doesn't count out of its student's folder in the submissions and run `tfm grade` "
            "again, or collect with --dates mtime"
        ),
        "for the team order, the notebook of deb for masking came last and counts; another one is from dan",
        "for the team stale, the notebook of ned for masking came last and counts; another one is from nan",
        "for the team unread, the notebook of pam for masking counts; what can't be read is from pat",
        (
            "a file of hub was refused (hub/masking.txt: it is not a notebook (.ipynb)); for the team refused-one, what "
            "hal handed in counts"
        ),
        "left the class, and in no list: fay",
        "nothing handed in: fin",
        "blank until it is handed in again (ian: ian/masking.txt: it is not a notebook (.ipynb)): ian, ida",
        "wait for a decision on which of their team's notebooks counts: eli, eva, eze",
        f"{LATENCY} waits for a mark: max, mia",
        f"{LATENCY} waits for {NEW_MARK}: nan, ned",
    ):
        assert f"  {line}\n" in said
    assert said.count("a file of ") == 1


def test_each_line_of_the_audit_is_about_the_notebook_that_counted(forty):
    here = forty[0]
    judged = AuditLog(here.results).judged
    lines = {(line["student"], line["exercise"]): line for line in here.table("audit.csv")}
    assert len(lines) == 2 * len(TOTALS)
    for (student, exercise), line in lines.items():
        whose = WHOSE[TEAM_OF[student]] if TEAM_OF[student] else student
        assert line["handed in by"] == whose
        path = here.folder / "submissions" / whose / "masking.ipynb"
        if TOTALS[student] is not None:
            assert line["hand-in"] == digest(path.read_bytes())
            assert line["judged at"] == judged[whose, exercise].at
            assert line["bundle"] and line["grader"]
    assert {lines["eli", BAND][name] for name in ("hand-in", "points", "counts", "judged at")} == {""}
    assert (lines["jim", BAND]["due"], lines["jim", BAND]["waiver"]) == ("2030-03-20T19:00+01:00", "ill, again")
    assert (lines["jan", BAND]["due"], lines["jan", BAND]["waiver"]) == ("2030-03-17T17:46+00:00", "")
    assert (lines["kai", BAND]["waived days"], lines["kai", BAND]["waiver"]) == ("1", "a fair")
    assert (lines["kim", BAND]["waived days"], lines["kim", BAND]["waiver"]) == ("all", "ill")
    assert (lines["lou", BAND]["by"], lines["lou", BAND]["by the tests"]) == ("hand", "4")
    assert lines["lea", LATENCY]["marked text"] == lines["lou", LATENCY]["marked text"] == digest("Lea's.")


def test_a_page_says_whose_notebook_it_was_and_which_due_date_counted(forty):
    here = forty[0]
    pages = {path.stem: path.read_text(encoding="utf-8") for path in (here.report / "feedback").glob("*.html")}
    assert set(pages) == set(TOTALS)
    for student in ("bea", "ben"):
        assert "Handed in by Bea Bo for the team two." in pages[student]
        assert digest((here.folder / "submissions" / "bea" / "masking.ipynb").read_bytes())[:12] in pages[student]
    assert "Handed in by =1+1 for the team Ñandú 鳥." in pages["o1"]
    assert "Handed in by" not in pages["ray"] and "Handed in by" not in pages["eze"] + pages["fin"]
    assert "Members of your team handed in different notebooks" in pages["eze"]
    assert "For you, this was due on 20 March 2030 at 19:00 UTC+01:00 (ill, again)." in pages["jim"]
    assert "days late" not in pages["jim"] and "For you" not in pages["jan"]
    assert "2.5 days late: × 0.7." in pages["jan"]
    assert "2 days late, of which 1 is waived (a fair): × 0.9." in pages["kit"]
    assert "2 days late, all of which are waived (ill)." in pages["kim"]
    assert "Lou was away." in pages["lou"] and "Lou was away." not in pages["lea"]
    assert "Handed in on 16 March 2030" in pages["cat"], "when Cal did, and not Cam"


def test_every_export_has_every_member(forty):
    here = forty[0]
    points = {name: "" if total is None else f"{total:g}" for name, total in TOTALS.items()}
    numbers = {str(100 + at): student for at, student in enumerate(sorted(NAMES))}
    canvas = {numbers[row["ID"]]: row["Masks (77)"] for row in here.table("canvas.csv")}
    assert canvas == points | {"fay": ""}
    moodle = {numbers[row["Identifier"].split()[1]]: row["Grade"] for row in here.table("moodle.csv")}
    assert moodle == points
    for student, total in TOTALS.items():
        made = json.loads((here.report / "gradescope" / student / "results.json").read_text(encoding="utf-8"))
        assert made.get("score") == total
    page = (here.report / "class.html").read_text(encoding="utf-8")
    assert "Worth a look together" not in page
    told = re.search(r"(\d+) of (\d+) handed in", page)
    assert told and told.groups() == ("37", "40"), (
        "not Fin, whose partner left, nor Ian and Ida: Ida's file was refused"
    )


@pytest.mark.long
def test_nbgraders_grade_book_has_every_member(forty, monkeypatch, tmp_path):
    from nbgrader.api import Gradebook

    monkeypatch.chdir(ROOT)
    forty[0].reported("--nbgrader", tmp_path / "gradebook.db", "--to", tmp_path / "report")
    with Gradebook(f"sqlite:///{tmp_path / 'gradebook.db'}") as book:
        found = {each.student.id: each for each in book.assignment_submissions("Masks")}
        assert set(found) == set(TOTALS) - {"fin"}
        assert book.find_grade(BAND, "masking", "Masks", "ben").auto_score == 3
        assert found["cat"].timestamp == datetime.fromtimestamp(DUE, UTC).replace(tzinfo=None) - timedelta(days=1)


def test_codes_name_neither_a_student_nor_a_team(forty, monkeypatch, tmp_path):
    monkeypatch.chdir(ROOT)
    forty[0].reported("--pseudonyms", tmp_path / "key.json", "--to", tmp_path / "codes")
    files = [path for path in (tmp_path / "codes").rglob("*") if path.is_file()]
    for path in files:
        text = f"{path.name} {path.read_text(encoding='utf-8')}"
        named = [each for each in (*PEOPLE, *NAMES.values()) if len(each) > 5 and each in text]
        assert not named and "handed in by" not in text.lower() and ">=1+1" not in text, (path, named)
        assert "ill, again" not in text and "For you" not in text and "fair" not in text
    with (tmp_path / "codes" / "grades.csv").open(encoding="utf-8-sig") as file:
        rows = list(csv.DictReader(file))
    assert "team" not in rows[0]
    assert sorted(row["points"] for row in rows) == sorted("" if x is None else f"{x:g}" for x in TOTALS.values())


def test_a_teams_answer_is_marked_once_and_the_sheet_comes_back(forty, monkeypatch, tmp_path):
    monkeypatch.chdir(ROOT)
    here = forty[0]
    sheet = next(here.report.glob("marking*.csv"))
    rows = here.table(sheet.name)
    waiting = {row["student"]: row for row in rows if not row["points"]}
    assert {name: (row["name"], row["answer"]) for name, row in waiting.items()} == {
        "waiting-two": ("Max, Mia", "'=Mia's."),
        "stale": ("Nan, Ned", "Ned's other words."),
    }
    assert waiting["stale"]["points"] == "", "the old mark was for other words"
    kept = {(row["student"], row["exercise"], row["points"]) for row in rows if row["points"]}
    assert ("lou", BAND, "3") in kept and ("marked-own", LATENCY, "1.5") in kept
    page = (here.report / "marking.html").read_text(encoding="utf-8")
    assert page.count("Ned&#x27;s other words.") + page.count("Ned's other words.") == 1 and "Nan, Ned" in page
    for row in rows:
        row["points"] = row["points"] or ("1" if row["student"] == "waiting-two" else "2")
    with (tmp_path / "marking.csv").open("w", encoding="utf-8-sig", newline="") as file:
        write = csv.DictWriter(file, rows[0].keys())
        write.writeheader(), write.writerows(rows)
    given = ["--marks", tmp_path / "marking.csv", "--waivers", here.folder / "waivers.csv"]
    before = (here.results / "audit_log.jsonl").read_bytes()
    tfm("report", here.results, "--bundle", here.folder / "bundle", *given, "--to", tmp_path / "report")
    (here.results / "audit_log.jsonl").write_bytes(before)  # as the other tests expect it
    with (tmp_path / "report" / "grades.csv").open(encoding="utf-8-sig") as file:
        found = {row["student"]: row["points"] for row in csv.DictReader(file)}
    assert (found["mia"], found["max"], found["nan"], found["ned"], found["lou"]) == ("5", "5", "6", "6", "3.5")


def test_a_member_whose_own_mark_is_stale_is_asked_for_alone():
    entry = Entry(LATENCY, "Why?", "text", 2, own_questions={"ann": "### Why\n\nAsked of ann."})
    bundle = Bundle(Manifest("Masks", "s", {"masking": Chapter([entry])}), {})
    given = dict.fromkeys(("criterion", "reason", "text", "author", "time"), "") | {"exercise": LATENCY}
    own = {**given, "student": "ben", "points": "1", "reason": "old"}
    found = [*scores("New.", "ann", "cho"), *scores("New.", "ben", lacks=NEW_MARK)]
    desk = Desk.of(bundle, found, [own, {**given, "student": "cho", "points": ""}])
    assert [(line.cells["student"], line.cells["points"]) for line in desk.lines] == [("pandas", ""), ("ben", "")]
    assert desk.waiting == 2 and [line.cells["name"] for line in desk.lines] == ["Ann, Cho, Ben", "Ben"]
    assert "Asked of this team" in desk.page()
    assert holds_more([{**given, "student": "pandas", "points": "2", "criterion": "as a whole"}], desk)


# Canvas, which tells an order but no time


@pytest.fixture
def here(tmp_path, monkeypatch) -> Course:
    monkeypatch.chdir(ROOT)
    monkeypatch.setattr(pool, "Pool", Verdicts)
    return Course(tmp_path)


@pytest.fixture
def of_canvas(here, tmp_path):
    """A class without a due date in the manifest's late rule, but with Canvas's marks."""
    here.write("bundle/manifest.json", json.dumps({**MANIFEST, "late": {"per_day": 0.1}}))
    people = "ann,Ann,11,pandas\nben,Ben,12,pandas\ncho,Cho,13,\ndee,Dee,14,pandas\n"
    here.write("roster.csv", f"student,name,lms id,team\n{people}")
    files = {
        "ann_11_502_masking.ipynb": notebook(4, "Ann's."),
        "ben_LATE_12_501_masking.ipynb": notebook(1, "Ben's."),
        "cho_LATE_13_503_masking.ipynb": notebook(4, "Cho's."),
    }
    where = ["--roster", tmp_path / "roster.csv", "--bundle", tmp_path / "bundle", "--to", tmp_path / "submissions"]
    tfm("collect", archive(tmp_path / "canvas.zip", files), *where)
    here.grade()
    return here


def late(here: Course) -> dict[str, tuple[str, str]]:
    return {row["student"]: (row[BAND], row["late days"]) for row in here.table("grades.csv")}


def test_canvas_numbers_say_which_notebook_came_last(of_canvas):
    here = of_canvas
    said = here.reported(marks=False)
    assert "the notebook of ann for masking came last and counts; another one is from ben" in said
    assert late(here) == {"ann": ("4", "0"), "ben": ("4", "0"), "dee": ("4", "0"), "cho": ("4", "1")}
    with zipfile.ZipFile(here.report / "feedback-canvas.zip") as archive:
        pages = {name: archive.read(name).decode() for name in archive.namelist()}
    assert set(pages) == {
        "ann_11_502_masking.html",
        "ben_LATE_12_501_masking.html",
        "cho_LATE_13_503_masking.html",
    }
    assert "Handed in by Ann for the team pandas." in pages["ann_11_502_masking.html"]


def test_canvas_says_nothing_about_a_due_date_of_ones_own(of_canvas):
    here = of_canvas
    here.write("marks.csv", "student,exercise,points,reason\n")
    here.write(
        "waivers.csv", "student,chapter,due,reason\ncho,all,2030-03-30T12:00Z,ill\ndee,all,2030-03-30T12:00Z,ill\n"
    )
    said = here.reported()
    assert "so it isn't known how late they are, which costs nothing: cho, dee" in said
    assert late(here) == {"ann": ("4", "0"), "ben": ("4", "0"), "dee": ("4", "unknown"), "cho": ("4", "unknown")}


def test_a_due_date_of_ones_own_counts_without_one_for_all_and_free_days_still_apply(here, tmp_path):
    here.write("bundle/manifest.json", json.dumps({**MANIFEST, "late": {"per_day": 0.1, "free_days": 1}}))
    here.write("roster.csv", "student,name\nann,Ann\nben,Ben\n")
    for student in ("ann", "ben"):
        here.hand_in(student, 4, "Words.", 1.5)
    here.collect(), here.grade()
    here.write("marks.csv", f"student,exercise,points,reason\nann,{LATENCY},2,x\nben,{LATENCY},2,x\n")
    here.write("waivers.csv", "student,chapter,due,reason\nben,all,2030-03-17T17:46:40Z,agreed\n")
    here.reported()
    found = {row["student"]: (row["late days"], row["points"]) for row in here.table("grades.csv")}
    assert found == {"ann": ("0", "6"), "ben": ("1.5", "5.4")}
    assert "team" not in (here.report / "grades.csv").read_text(encoding="utf-8-sig")


def test_a_notebook_that_is_taken_out_decides_for_the_other(here, tmp_path):
    here.write("roster.csv", "student,team\nann,pandas\nben,pandas\n")
    here.hand_in("ann", 4, "Ann's.", 0), here.hand_in("ben", 2, "Ben's.", 0)
    words = ["--bundle", tmp_path / "bundle", "--to", tmp_path / "submissions", "--roster", tmp_path / "roster.csv"]
    tfm("collect", tmp_path / "handed-in", *words)
    here.grade()
    assert "it isn't known which came last, so the whole team waits: ann, ben" in here.reported(marks=False)
    (tmp_path / "submissions" / "ben" / "masking.ipynb").unlink()
    here.grade()
    assert "isn't known" not in here.reported(marks=False)
    assert late(here) == {"ann": ("4", "unknown"), "ben": ("4", "unknown")}


def test_what_was_judged_is_reported_for_all_although_the_notebook_is_gone(here, tmp_path):
    here.write("roster.csv", "student,team\nann,pandas\nben,pandas\n")
    here.hand_in("ben", 3, "Words.", 0)
    here.collect(), here.grade()
    (tmp_path / "submissions" / "ben" / "masking.ipynb").unlink()
    with pytest.raises(Refusal, match="the notebook for masking that was judged is gone"):
        here.reported(marks=False)
    here.reported("--as-judged", marks=False)
    assert late(here) == {"ann": ("3", "0"), "ben": ("3", "0")}


def test_each_chapter_is_of_the_member_who_handed_it_in():
    """Ann handed in one chapter, Ben the other, and of a third there is only Cho's refused file."""
    entries = {stem: Entry(f"{stem}.x", stem.title(), "practice", 4) for stem in "abc"}
    bundle = Bundle(Manifest("Masks", "s", {stem: Chapter([entry]) for stem, entry in entries.items()}), {})
    listed = Roster(tuple(Person(student, team="pandas") for student in ("ann", "ben", "cho")))
    files = {("ann", "a"): Submission("ann", "a", b"1"), ("ben", "b"): Submission("ben", "b", b"2")}
    files |= {(name, stem): Submission(name, stem) for name in "ann ben cho".split() for stem in "abc"} | files
    found, collected = {}, {"ann": Known(files={"a": HandIn("x", digest(b"1"), handed_in=5.0)}), "ben": Known()}
    for student, stem_of in (("ann", "a"), ("ben", "b"), ("cho", "")):
        rows = {stem: ExerciseResult(f"{stem}.x", "ok", 4, 3 if stem == stem_of else 0) for stem in "abc"}
        rows |= {stem: row.but(reason=NOTHING) for stem, row in rows.items() if stem != stem_of}
        found[student] = StudentResult(
            student, {stem: ChapterResult(stem == stem_of, exercises=[row]) for stem, row in rows.items()}
        )
    alone = {
        "ann": ClassMember("Ann", "11", frozenset("a")),
        "ben": ClassMember("Ben", "12", frozenset("b")),
        "cho": ClassMember("Cho", "13", frozenset(), "c.txt: it is no notebook"),
    }
    teams = decided(bundle, listed, files, found, collected)
    for student, own in alone.items():
        person = as_member(student, alone, teams, collected)
        made = score(bundle, student, person, shared_result(student, person, found), Rules(Late(), nothing=0.0))
        assert [(row.points, row.lacks) for row in made.rows] == [(3, ""), (3, ""), (None, ACCEPTED)]
        assert (made.name, made.lms_id, made.handed_in) == (student.title(), own.lms_id, 5.0)
        assert handed_in_by(made) == "a: ann; b: ben"
        assert "Handed in by Ann (a) and Ben (b) for the team pandas." in student_page(made, "Masks")
    assert list(teams.notes({"cho": "c.txt: it is no notebook"})) == [
        "a file of cho was refused (c.txt: it is no notebook); for the team pandas, what ann and ben handed in counts"
    ]


def test_due_dates_of_several_chapters_are_told_apart():
    due = datetime(2030, 3, 20, 19, tzinfo=UTC)
    days = {"a": 0.0, "b": 2.0}
    one = Score("ann", "Ann", "", [], days, {"a": 1, "b": 0.8}, waived={"b": Waiver(0, "<ill>", due)})
    assert "For you, b was due on 20 March 2030 at 19:00 UTC (&lt;ill&gt;)." in student_page(one, "Masks")
    assert "2 days late: × 0.8." in student_page(one, "Masks")
    both = replace(one, waived=dict.fromkeys("ab", Waiver(0, "", due)))
    assert "For you, this was due on 20 March 2030 at 19:00 UTC." in student_page(both, "Masks")


# programs that are alike, and values of one's own


def test_members_of_a_team_are_not_alike_and_what_they_share_counts_once():
    programs = {"ann": [ODD], "ben": [ODD], "cho": [ODD], "dee": [ODD], "eve": [OTHER], "fay": [SHORT]}
    teams = dict.fromkeys(("ann", "ben", "cho"), "pandas")
    assert {(pair.first, pair.second) for pair in pairs(programs, teams)} == {
        ("ann", "dee"),
        ("ben", "dee"),
        ("cho", "dee"),
    }
    assert pairs(programs) == [], "four of six: the class shares it"
    assert len(pairs({"ann": [ODD], "ben": [ODD]}, {"ann": "ben"})) == 1, "a team with a student's name is another"


def test_members_of_a_team_may_carry_the_same_weights(monkeypatch):
    monkeypatch.setattr(own_code, "carried", lambda data: [{"data": "the same"}])
    bundle = Bundle(Manifest("Masks", "s", {"masking": Chapter([])}), {})
    files = [Submission(student, "masking", notebook(4, "Words.")) for student in ("ann", "ben", "cho")]
    for teams, alike in (({}, {"annben", "anncho", "bencho"}), ({"ann": "x", "ben": "x"}, {"anncho", "bencho"})):
        assert {pair.first + pair.second for _, pair in own_code.Own.of(bundle, files, teams).alike} == alike


@pytest.mark.long
def test_members_of_a_team_get_the_same_values(tmp_path, monkeypatch):
    monkeypatch.chdir(ROOT)
    (tmp_path / "masking.md").write_text(
        (ROOT / "tests" / "grader" / "assignments" / "masking.md").read_text(encoding="utf-8"), encoding="utf-8"
    )
    students = tuple(f"s{number}" for number in range(8))
    teams = {"s1": "pandas", "s4": "pandas", "s6": "pandas"}
    wishes = AssignOptions(ROOT, ["masking"], "autumn", tmp_path, roster=students, teams=teams)
    found = make(wishes)
    own = {student: found.students[f"student/{student}/masking.ipynb"] for student in students}
    tests = {student: found.bundle[f"bundle/tests/masking/{student}.py"] for student in students}
    marks = json.loads(found.bundle["bundle/manifest.json"])["chapters"]["masking"]["handouts"]
    for made in (own, tests, marks):
        assert made["s1"] == made["s4"] == made["s6"]
    assert len(set(own.values())) > 1
    rows = "".join(f"{student},{teams.get(student, '')}\n" for student in students)
    (tmp_path / "class.csv").write_text(f"student,team\n{rows}", encoding="utf-8")
    words = ["--private", tmp_path, "--roster", tmp_path / "class.csv", "--seed", "autumn", "--no-verify"]
    tfm("assign", "masking", *words, "--to", tmp_path / "course")
    for student, text in tests.items():
        assert (tmp_path / "course/bundle/tests/masking" / f"{student}.py").read_text(encoding="utf-8") == text
    alone = make(replace(wishes, teams={}))
    assert {name: alone.students[f"student/{name}/masking.ipynb"] for name in students if name not in teams} == {
        name: text for name, text in own.items() if name not in teams
    }, "who is in no team keeps the values they had"
