"""A roster: read tolerantly, checked wholly, and every fault told with its line."""

from pathlib import Path

import pytest

from tfm_grader.collecting import roster
from tfm_grader.collecting.identity import Claim
from tfm_grader.collecting.roster import BadRoster, Person, Roster


def made(tmp_path: Path, text: str, encoding: str = "utf-8") -> Roster:
    (tmp_path / "class.csv").write_bytes(text.encode(encoding))
    return roster.read_roster(tmp_path / "class.csv")


def faults(tmp_path: Path, text: str) -> str:
    with pytest.raises(BadRoster) as caught:
        made(tmp_path, text)
    return str(caught.value)


ANNA = Person("anna", "Anna Lee", "Lee, Anna", "301", "alee", "a.lee@x.org", "1")


@pytest.mark.parametrize(
    "head",
    [
        "student,name,folder,lms id,login,email,section",
        "Student,Full name,FOLDER,LMS_ID,Log-in,E-Mail,Section",
        "student id,Name,directory,Canvas ID,SIS Login ID,Email address,class",
        "student, name , folder,identifier,user name,e-mail address,section",
    ],
)
@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
def test_columns_have_several_names(tmp_path, head, delimiter):
    text = f'{head}\nanna,Anna Lee,"Lee, Anna",Participant 301,alee,a.lee@x.org,1\n'
    if delimiter != ",":
        text = text.replace('"Lee, Anna"', "Lee§ Anna").replace(",", delimiter).replace("§", ",")
    assert made(tmp_path, text) == Roster((ANNA,))


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "cp1252"])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_spreadsheets_write_in_several_ways(tmp_path, encoding, end):
    found = made(tmp_path, f"student;name{end}jose;José Muñoz{end}{end}zoe;Zoë{end};{end}", encoding)
    assert [(each.student, each.name) for each in found.people] == [("jose", "José Muñoz"), ("zoe", "Zoë")]


@pytest.mark.parametrize("encoding", ["cp949", "shift_jis", "gb18030"])
def test_an_encoding_that_nobody_can_tell_is_refused(tmp_path, encoding):
    with pytest.raises(BadRoster, match="Save it again from your spreadsheet as “CSV UTF-8”"):
        made(
            tmp_path, "student,name\nkim,民準 金子\n" if encoding != "cp949" else "student,name\nkim,김민준\n", encoding
        )


@pytest.mark.parametrize(
    "text", ["anna\nben\n", "student\nanna\nben\n", "id\nanna\nben\n", "login\nanna\nben", "name\nanna\nben"]
)
def test_a_list_of_names_is_a_roster(tmp_path, text):
    assert made(tmp_path, text).students == ("anna", "ben")


@pytest.mark.parametrize("name", ["Anna Lee", "민준 김", "O.Hara-2", "a_b@c+d", "ราชา", "हिन्दी", "İlker", "20241234"])
def test_names_of_all_languages_name_folders(tmp_path, name):
    assert made(tmp_path, f"student\n{name}\n").students == (name,)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "is empty"),
        ("\n\n", "is empty"),
        ("student,name\n", "line 2: there is no student"),
        ("name,email\nAnna,a@b\n", "line 1: a column `student` is missing"),
        ("student,shoe size\nanna,37\n", "line 1: there is no column 'shoe size'. There are student, name,"),
        ("student,login,user\nanna,a,b\n", "line 1: two columns say the same: 'login' is login"),
        ("student,name\nanna,Anna\n,Ben\n", "line 3: the student is missing"),
        ("student\nanna\nben\nanna\n", "line 4: the student 'anna' is that of line 2"),
        ("student\nanna\nAnna\n", "line 3: the student 'Anna' is that of line 2"),
        ("student\nilker\nİlker\n", "line 3: the student 'İlker' is that of line 2"),
        ("student\nJosé\nJosé\n", "line 3: the student 'José' is that of line 2"),
        ("student,lms id\na,301\nb,Participant 301\n", "line 3: the lms id '301' is that of line 2"),
        ("student,lms id\na,0301\nb,301\n", "line 3: the lms id '301' is that of line 2"),
        ("student,folder\na,x\nb,X\n", "line 3: the folder 'X' is that of line 2"),
        ("student,login\na,x\nb,x\n", "line 3: the login 'x' is that of line 2"),
        ("student,login\na,b\nb,c\n", "line 3: the student 'b' is that of line 2, there the login"),
        ("student,email\na,x@y\nb,X@Y\n", "line 3: the email 'X@Y' is that of line 2"),
        ("student,lms id\nanna,3.0E+02\n", "line 2: '3.0E+02' is no number of an LMS"),
        ("student,lms id\nanna,Anna\n", "line 2: 'Anna' is no number of an LMS"),
        ("student,name\nanna,Anna,301\n", "line 2: it has 3 cells, and line 1 has 2"),
        ('student,name\nanna,"Anna\n', "line 2: this is not CSV"),
        ('student,name\nanna,"An\nna"\n', "line 3: the name 'An\\nna' holds signs that are no text"),
        ("student,lmsid\nann,1\n", "line 1: there is no column 'lmsid'; did you mean lms id?"),
        ("student\n../evil\n", "line 2: '../evil' cannot name a folder"),
        ("student\na/b\n", "line 2: 'a/b' cannot name a folder"),
        ("student\n.hidden\n", "line 2: '.hidden' cannot name a folder"),
        (f"student\n{'x' * 101}\n", "cannot name a folder"),
        ("student\ncon\n", "line 2: 'con' cannot name a folder"),
        ("student\ncollected.json\n", "line 2: 'collected.json' cannot name a folder"),
        ("student\nanna.\n", "line 2: 'anna.' cannot name a folder"),
        ("student\n=1+1\n", "line 2: '=1+1' cannot name a folder"),
        (f"student\n{'김' * 90}\n", "cannot name a folder"),
        ("student\nan\x1bna\n", "line 2: 'an\\x1bna' cannot name a folder"),
    ],
)
def test_a_fault_is_told_with_its_line(tmp_path, text, told):
    assert told in faults(tmp_path, text)


def test_all_faults_are_told_at_once(tmp_path):
    said = faults(tmp_path, "student,lms id\n../a,1\nben,x\ncho,1\nBen,2\n")
    assert "Nothing was done" in said
    assert [line.partition(":")[0].strip() for line in said.splitlines()[1:]] == [
        "line 2",
        "line 3",
        "line 4",
        "line 5",
    ]
    assert "line 3" in faults(tmp_path, "student,shoes\nanna,37\n,38\n"), "a wrong heading hides no line"
    assert "and 179 more" in faults(tmp_path, "student\n" + "/\n" * 100)


def test_what_is_no_file_is_a_sentence(tmp_path):
    for path in (tmp_path, tmp_path / "none.csv"):
        with pytest.raises(BadRoster, match="cannot be read"):
            roster.read_roster(path)
    (tmp_path / "zeros.csv").write_bytes(b"\0" * 100)
    with pytest.raises(BadRoster):
        roster.read_roster(tmp_path / "zeros.csv")
    with (tmp_path / "big.csv").open("wb") as file:
        file.truncate(1 << 40)
    with pytest.raises(BadRoster, match="more than 64 MB"):
        roster.read_roster(tmp_path / "big.csv")


def claim(kind: str, key: str) -> Claim:
    return Claim(kind, key, key, key)


CLASS = Roster((ANNA, Person("ben", login="benjamin"), Person("301"), Person("cho")))


@pytest.mark.parametrize(
    ("kind", "key", "students"),
    [
        ("canvas", "301", ["anna"]),
        ("moodle", "301", ["anna"]),
        ("moodle", "302", []),
        ("canvas", "cho", []),
        ("nbgrader", "alee", ["anna"]),
        ("nbgrader", "anna", []),  # her log-in is another
        ("nbgrader", "Benjamin", []),  # two users, to a machine
        ("nbgrader", "cho", ["cho"]),
        ("folder", "anna", ["anna"]),
        ("folder", "Lee, Anna", ["anna"]),
        ("folder", "lee, anna", ["anna"]),
        ("folder", "A.LEE@x.org", ["anna"]),
        ("folder", "301", ["anna", "301"]),
        ("folder", "Anna Lee", []),  # a name is no identity
        ("folder", "", []),
    ],
)
def test_who_is_meant_by_a_claim(kind, key, students):
    assert [person.student for person in CLASS.whose(claim(kind, key))] == students


def test_a_roster_is_kept_and_found_again(tmp_path):
    assert roster.kept(tmp_path) is None
    roster.keep_roster(CLASS, tmp_path)
    assert roster.kept(tmp_path) == CLASS
    whole = (tmp_path / roster.FILE).read_text(encoding="utf-8")
    for spoilt in (
        "",
        "[]",
        "{}",
        '{"people": [1]}',
        '{"people": [{"student": 1}]}',
        '{"people": [{"student": "../a"}]}',
    ):
        (tmp_path / roster.FILE).write_text(spoilt)
        with pytest.raises(BadRoster):
            roster.kept(tmp_path)
    (tmp_path / roster.FILE).write_text(whole.replace('"ben"', '"anna"'))
    with pytest.raises(BadRoster, match="is that of"):
        roster.kept(tmp_path)
