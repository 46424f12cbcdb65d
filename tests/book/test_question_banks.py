"""Question banks, read back as a learning management system reads them: the rules are those of the formats' documentation."""

import importlib
import io
import itertools
import re
import zipfile
from collections import Counter
from xml.etree import ElementTree as ET

import pytest
from project import CHAPTERS, ROOT
from typer.testing import CliRunner

from tfm_book.notebooks.asks import Ask, asks
from tfm_book.notebooks.banks.items import Chapter, chapter_items
from tfm_book.notebooks.banks.moodle import moodle_xml
from tfm_book.notebooks.banks.qti import qti_package
from tfm_lib.cli import app

ASKS = {f"{path.stem}.{ask.name}": ask for path in sorted(CHAPTERS.glob("*.md")) for ask in asks(path)}
TITLES = {path.stem: re.search(r"^# (.*)", path.read_text("utf-8"), re.MULTILINE)[1] for path in CHAPTERS.glob("*.md")}
Q = "{http://www.imsglobal.org/xsd/imsqti_v2p1}"
P = "{http://www.imsglobal.org/xsd/imscp_v1p1}"
#: Markup of the chapters that no student should see: roles, dollar signs, emphasis, directives.
RAW = re.compile(r"\{[\w:.-]+\}`|`|\$|\*\*|(?<!\w)\*\w|:::")


@pytest.fixture(scope="module")
def chapters() -> list[Chapter]:
    return [made for path in sorted(CHAPTERS.glob("*.md")) if (made := chapter_items(path, ROOT)).items]


@pytest.fixture(scope="module")
def moodle(chapters: list[Chapter]) -> dict[str, ET.Element]:
    quiz = ET.fromstring(moodle_xml(chapters, "Book"))
    return {each.findtext("name/text"): each for each in quiz.findall("question") if each.get("type") != "category"}


@pytest.fixture(scope="module")
def package(chapters: list[Chapter]) -> dict[str, ET.Element]:
    with zipfile.ZipFile(io.BytesIO(qti_package(chapters, "Book"))) as archive:
        return {name: ET.fromstring(archive.read(name)) for name in archive.namelist()}


@pytest.fixture(scope="module")
def items(package: dict[str, ET.Element]) -> dict[str, ET.Element]:
    return {root.get("identifier"): root for root in package.values() if root.tag == f"{Q}assessmentItem"}


def words(text: str) -> str:
    """The text without tags, formulas and signs, to compare a sentence of a chapter with its HTML."""
    text = text.replace(r"\<", "&lt;")
    text = re.sub(r"\{doc\}`(\w+)`", lambda found: TITLES[found[1]], text)
    text = re.sub(r"\$.*?\$|\\\(.*?\\\)", " ", text, flags=re.DOTALL)
    text = re.sub(r"<[^>]*>|\{[^}]*\}`[^`]*`|Figure \d+", " ", text)
    text = text.replace("&quot;", '"').replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")
    return re.sub(r"[\W_]+", " ", text).strip()


def inputs(ask: Ask) -> list[float]:
    """Numbers to try: the middle of each range, and just inside and outside of both of its ends."""
    found = []
    for low, high in (answer.range for answer in ask.answers):
        step = 1e-3 * (high - low)
        found += [(low + high) / 2, low + step, high - step, low - step, high + step]
    return [*found, 0.0, 123456.0]


def on_the_page(ask: Ask, number: float) -> str:
    """The page's feedback for a number."""
    return next((each.why for each in ask.answers if each.range[0] <= number <= each.range[1]), ask.otherwise)


def computed(kind: str) -> list[tuple[str, list]]:
    """The values that the answers of `tests/checks/asks` come to, for the questions of that kind."""
    found = []
    for name, ask in ASKS.items():
        if ask.kind == kind:
            stem = name.partition(".")[0]
            values = getattr(importlib.import_module(f"checks.asks.{stem}"), "VALUES", {})[ask.name]()
            found.append((name, [value for value in values if value is not None]))
    return found


# Moodle


def moodle_says(question: ET.Element, said: str | float) -> tuple[str, str]:
    """Fraction and feedback of the first answer that matches, by Moodle's rules for numerical and shortanswer."""
    for answer in question.findall("answer"):
        text = answer.findtext("text")
        if text == "*":
            hit = True
        elif question.get("type") == "numerical":
            hit = abs(float(text) - said) <= float(answer.findtext("tolerance")) * (1 + 1e-12)
        else:
            hit = text.lower() == str(said).strip().lower()
        if hit:
            return answer.get("fraction"), answer.findtext("feedback/text")
    return "0", ""


def test_moodle_has_every_question_once_under_its_chapter(chapters: list[Chapter]) -> None:
    place, found = "", {}
    for question in ET.fromstring(moodle_xml(chapters, "Book")):
        if question.get("type") == "category":
            place = question.findtext("category/text")
        else:
            assert question.findtext("name/text") == question.findtext("idnumber")
            found.setdefault(place, []).append(question.findtext("idnumber"))
    wanted = {}
    for name in ASKS:
        wanted.setdefault(f"$course$/top/Book/{TITLES[name.partition('.')[0]]}", []).append(name)
    assert found == wanted


def test_moodle_types_and_right_answers(moodle: dict[str, ET.Element]) -> None:
    kinds = {"choose": "multichoice", "line": "multichoice", "number": "numerical", "shape": "shortanswer"}
    for name, ask in ASKS.items():
        question = moodle[name]
        assert question.get("type") == kinds.get(ask.kind, "matching")
        right = [each for each in question.findall("answer") if each.get("fraction") == "100"]
        if ask.kind == "order":
            pairs = {each.findtext("answer/text"): each.findtext("text") for each in question.findall("subquestion")}
            steps = [words(pairs[str(number)]) for number in range(1, len(ask.steps) + 1)]
            assert steps == list(map(words, ask.steps)) and len(pairs) == len(steps)
        elif ask.kind == "shape":
            assert {tuple(map(int, re.findall(r"\d+", each.findtext("text")))) for each in right} == {ask.right.sizes}
        else:
            assert len(right) == 1, name
            assert words(ask.right.why) in words(right[0].findtext("feedback/text")), name
        if ask.kind == "line":
            assert question.findall("answer").index(right[0]) == ask.right.line - 1
            assert len(question.findall("answer")) == len(ask.code)


def test_moodle_gives_each_diagnosis(moodle: dict[str, ET.Element]) -> None:
    for name, ask in ASKS.items():
        said = " | ".join(words(text.text or "") for text in moodle[name].iter("text"))
        some_line = ask.kind != "line" or len(ask.answers) < len(ask.code)
        for why in [*(answer.why for answer in ask.answers), ask.otherwise if some_line else ""]:
            assert words(why) in said, f"{name}: {why}"


def test_moodle_and_qti_judge_numbers_as_the_page_does(
    moodle: dict[str, ET.Element], items: dict[str, ET.Element]
) -> None:
    values = dict(computed("number"))
    for name, ask in ASKS.items():
        for number in [*inputs(ask), *map(float, values[name])] if ask.kind == "number" else []:
            why = on_the_page(ask, number)
            right = why == ask.right.why
            fraction, feedback = moodle_says(moodle[name], number)
            assert (fraction == "100", words(feedback)) == (right, words(why)), (name, number)
            score, feedback = qti_says(items[name], number)
            assert (score == 1, words(feedback)) == (right, words(why)), (name, number)


@pytest.mark.parametrize("form", ["{}, {}, {}", "({}, {}, {})", "{},{},{}", "{} {} {}", "[{},{},{}]"])
def test_moodle_and_qti_judge_shapes_as_the_page_does(
    form: str, moodle: dict[str, ET.Element], items: dict[str, ET.Element]
) -> None:
    for name, ask in ASKS.items():
        if ask.kind == "shape":
            known = {answer.sizes: answer.why for answer in ask.answers}
            for sizes in [*known, (9, 9, 9)]:
                said = form.replace("{}, {}, {}", ", ".join(["{}"] * len(sizes)))
                said = said.replace("{},{},{}", ",".join(["{}"] * len(sizes)))
                said = said.replace("{} {} {}", " ".join(["{}"] * len(sizes))).format(*sizes)
                right, why = sizes == ask.right.sizes, known.get(sizes, ask.otherwise)
                fraction, feedback = moodle_says(moodle[name], said)
                assert (fraction == "100", words(feedback)) == (right, words(why)), (name, said)
                score, feedback = qti_says(items[name], said)
                assert (score == 1, words(feedback)) == (right, words(why)), (name, said)


def test_the_computed_shapes_are_known_to_the_banks(moodle: dict[str, ET.Element]) -> None:
    for name, values in computed("shape"):
        said = [moodle_says(moodle[name], ", ".join(map(str, tuple(value)))) for value in values]
        assert [fraction for fraction, _ in said] == ["100", *["0"] * (len(values) - 1)], name
        assert len(set(said)) == len(values), name


# QTI


def value(expression: ET.Element, item: ET.Element, response: object) -> object:
    """Evaluate an expression of response processing."""
    name, inner = expression.tag.removeprefix(Q), [value(each, item, response) for each in expression]
    if name == "variable":
        return response
    if name == "correct":
        return [each.text for each in item.findall(f"{Q}responseDeclaration/{Q}correctResponse/{Q}value")]
    if name == "baseValue":
        return float(expression.text) if expression.get("baseType") == "float" else expression.text
    if name == "index":
        return inner[0][int(expression.get("n")) - 1]
    rules = {"match": lambda a, b: a == b, "gte": lambda a, b: a >= b, "lte": lambda a, b: a <= b}
    return any(inner) if name == "or" else all(inner) if name == "and" else rules[name](*inner)


def qti_says(item: ET.Element, response: object) -> tuple[float, str]:
    """Score and feedback for a response."""
    outcomes = {"SCORE": 0.0, "FEEDBACK": ""}
    for branch in item.find(f"{Q}responseProcessing/{Q}responseCondition"):
        sets = branch.findall(f"{Q}setOutcomeValue")
        if branch.tag == f"{Q}responseElse" or value(branch[0], item, response):
            outcomes |= {each.get("identifier"): value(each[0], item, response) for each in sets}
            break
    shown = [each for each in item.findall(f"{Q}modalFeedback") if each.get("identifier") == outcomes["FEEDBACK"]]
    return outcomes["SCORE"], "".join(ET.tostring(each, encoding="unicode") for each in shown)


def test_the_manifest_lists_each_file_once(package: dict[str, ET.Element]) -> None:
    resources = package["imsmanifest.xml"].findall(f".//{P}resource")
    assert Counter(each.get("href") for each in resources) == Counter(package.keys() - {"imsmanifest.xml"})
    assert all([file.get("href") for file in each.findall(f"{P}file")] == [each.get("href")] for each in resources)
    names = {each.get("identifier"): each.get("href") for each in resources}
    assert len(names) == len(resources)
    for each in resources:
        test = package[each.get("href")]
        assert test.get("identifier") == each.get("identifier")
        listed = [(ref.get("identifier"), ref.get("href")) for ref in test.iter(f"{Q}assessmentItemRef")]
        assert [name for name, _ in listed] == [
            dependency.get("identifierref") for dependency in each.findall(f"{P}dependency")
        ]
        assert all(names[name] == href for name, href in listed)


def test_qti_has_every_question_once(package: dict[str, ET.Element], items: dict[str, ET.Element]) -> None:
    listed = [ref.get("identifier") for root in package.values() for ref in root.iter(f"{Q}assessmentItemRef")]
    assert Counter(listed) == Counter(ASKS.keys()) == Counter(items.keys())


def test_qti_identifiers_match(items: dict[str, ET.Element]) -> None:
    for name, item in items.items():
        response = item.find(f"{Q}responseDeclaration")
        interactions = [each for each in item.iter() if each.get("responseIdentifier")]
        assert [each.get("responseIdentifier") for each in interactions] == [response.get("identifier")], name
        correct = [each.text for each in response.findall(f"{Q}correctResponse/{Q}value")]
        assert len(correct) == (len(ASKS[name].steps) if ASKS[name].kind == "order" else 1)
        if response.get("baseType") == "identifier":
            choices = [each.get("identifier") for each in item.iter(f"{Q}simpleChoice")]
            keys = [each.get("mapKey") for each in response.iter(f"{Q}mapEntry")]
            assert len({*choices}) == len(choices) and {*correct, *keys} <= {*choices}, name
        outcomes = {each.get("identifier") for each in item.findall(f"{Q}outcomeDeclaration")}
        assert {each.get("identifier") for each in item.iter(f"{Q}setOutcomeValue")} <= outcomes
        shown = [each.get("identifier") for each in item.findall(f"{Q}modalFeedback")]
        chosen = [
            each.findtext(f"{Q}baseValue")
            for each in item.iter(f"{Q}setOutcomeValue")
            if each.get("identifier") == "FEEDBACK"
        ]
        assert chosen == shown, name


def test_qti_judges_choices_lines_and_orders_as_the_page_does(items: dict[str, ET.Element]) -> None:
    for name, ask in ASKS.items():
        answers = {each.line if ask.kind == "line" else k: each for k, each in enumerate(ask.answers, start=1)}
        if ask.kind in ("choose", "line"):
            choices = items[name].findall(f".//{Q}simpleChoice")
            for number, choice in enumerate(choices, start=1):
                score, feedback = qti_says(items[name], choice.get("identifier"))
                answer = answers.get(number)
                assert (score == 1) == bool(answer and answer.right), name
                assert words(answer.why if answer else ask.otherwise) in words(feedback), name
            assert len(choices) == (len(ask.code) or len(ask.answers))
        if ask.kind == "order":
            by_words = {}
            for choice in items[name].iter(f"{Q}simpleChoice"):
                by_words[words(ET.tostring(choice, encoding="unicode", method="text"))] = choice.get("identifier")
            steps = [by_words[words(step)] for step in ask.steps]
            for order in itertools.islice(itertools.permutations(range(1, len(steps) + 1)), 200):
                early = [each for each in ask.wrong if order.index(each.steps[0]) < order.index(each.steps[1])]
                answer = ask.right if list(order) == sorted(order) else early[0]
                score, feedback = qti_says(items[name], [steps[number - 1] for number in order])
                assert (score == 1, words(feedback)) == (answer.right, words(answer.why)), (name, order)


# both


def test_no_markup_of_the_chapters_is_left(moodle: dict[str, ET.Element], items: dict[str, ET.Element]) -> None:
    for roots in (moodle, items):
        for name, root in roots.items():
            said = "\n".join(text for text in root.itertext() if text.strip() != "*")
            said = re.sub(r"<(pre|code).*?</\1>", "", said, flags=re.DOTALL)  # a program may contain any sign
            if roots is items:
                for code in root.iter(f"{Q}code"):
                    said = said.replace(code.text or "", "")
            assert not (found := RAW.search(said)), f"{name}: {said[max(0, found.start() - 40) : found.end() + 20]!r}"
            assert said.count(r"\(") == said.count(r"\)")


def test_a_question_about_a_figure_says_where_the_figure_is(chapters: list[Chapter]) -> None:
    looked = {name for name, ask in ASKS.items() if "{numref}" in "\n".join(ask.question)}
    found = {item.id: item.question for chapter in chapters for item in chapter.items}
    assert len(looked) >= 15
    assert {
        name for name, question in found.items() if re.search(r"Figure \d+ is in the chapter <em>", question)
    } == looked
    one = next(
        item
        for item in chapter_items(CHAPTERS / "masking.md", ROOT, "https://a.github.io/b/").items
        if item.id in looked
    )
    assert 'href="https://a.github.io/b/chapters/masking.html#masking-leaky-losses"' in one.question


def test_a_macro_of_the_book_and_a_comparison_survive(tmp_path) -> None:
    path = tmp_path / "one.md"
    path.write_text(
        "# One\n\n:::{ask} a\nIs $\\softmax(\\Q) < 1$ [here](two.md)?\n\n- [x] a < b & `c` → *Yes*.\n- [ ] no → No.\n:::\n\n"
        ":::{ask} b\n:kind: number\nHow many?\n\n- [x] > 5 → Yes.\n- [ ] 2 → No.\n- else → Count.\n:::\n",
        "utf-8",
    )
    chapter = chapter_items(path, ROOT)
    quiz = ET.fromstring(moodle_xml([chapter], "Book"))
    assert quiz[1].findtext("questiontext/text") == r"<p>Is \(\operatorname{softmax}(Q) &lt; 1\) here?</p>" + "\n"
    assert quiz[1].findtext("answer/text") == "a &lt; b &amp; <code>c</code>"
    assert [moodle_says(quiz[2], number)[0] for number in (4.9, 5.1, 1e6)] == ["0", "100", "100"]
    with zipfile.ZipFile(io.BytesIO(qti_package([chapter], "Book"))) as archive:
        assert [qti_says(ET.fromstring(archive.read("one/b.xml")), number)[0] for number in (4.9, 5.1)] == [0, 1]


# the command


def test_the_command_writes_both_files_or_one(tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(ROOT)
    done = CliRunner().invoke(app, ["bank", "masking", "layers", "--to", str(tmp_path / "a")])
    count = sum(name.startswith(("masking.", "layers.")) for name in ASKS)
    assert done.exit_code == 0 and f"{count} questions of 2 chapters" in done.output
    assert sorted(path.name for path in (tmp_path / "a").iterdir()) == ["questions-moodle.xml", "questions-qti.zip"]
    assert CliRunner().invoke(app, ["bank", "--to", str(tmp_path / "b"), "--format", "qti"]).exit_code == 0
    assert [path.name for path in (tmp_path / "b").iterdir()] == ["questions-qti.zip"]


def test_the_command_refuses_what_it_cannot_do(tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(ROOT)
    (tmp_path / "file").write_text("")
    for arguments, said in [
        (["maskin", "--to", str(tmp_path)], "Did you mean masking"),
        (["glossary", "--to", str(tmp_path)], "asks no questions"),
        (["masking", "--to", str(tmp_path / "file")], "is not a folder"),
    ]:
        done = CliRunner().invoke(app, ["bank", *arguments])
        assert done.exit_code != 0 and said in f"{done.output}{done.exception}", arguments
    assert [path.name for path in tmp_path.iterdir()] == ["file"]
