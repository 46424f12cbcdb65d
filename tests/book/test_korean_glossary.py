"""The glossary from Korean to English: every name, under its first consonant, with its term."""

from pathlib import Path

from bs4 import BeautifulSoup
from project import ROOT

from tfm_book.site.korean import initial, names, pairs

GLOSSARY = (ROOT / "chapters" / "glossary.md").read_text(encoding="utf-8")


def test_what_stands_in_brackets_or_behind_a_comma_is_another_name():
    assert list(names("가산 점수, 가산 어텐션")) == ["가산 점수", "가산 어텐션"]
    assert list(names("어텐션(주의)")) == ["어텐션", "주의"]
    assert list(names("ALiBi(선형 편향 어텐션)")) == ["선형 편향 어텐션"]
    assert list(names("아담(Adam) 최적화기")) == ["아담(Adam) 최적화기"]
    assert list(names("BERT")) == []


def test_names_stand_under_their_first_consonant():
    assert [initial(name) for name in ("가중치", "쌍", "어텐션", "하이퍼파라미터", "N-그램")] == [
        "가",
        "사",
        "아",
        "하",
        "A",
    ]


def test_every_korean_name_of_the_glossary_leads_to_its_term(built_book: Path):
    found = pairs(GLOSSARY)
    assert ("어텐션", "attention") in found and ("주의", "attention") in found
    assert ("가산 어텐션", "additive score") in found
    assert len({term for _, term in found}) > 0.9 * GLOSSARY.count("{.ko}") and found == sorted(found)
    page = BeautifulSoup((built_book / "chapters" / "glossary.html").read_text(encoding="utf-8"), "html.parser")
    box = page.select_one(".tfm-korean")
    assert [name.get_text() for name in box.select(":lang(ko)") if not name.find_parent("strong")] == [
        name for name, _ in found
    ]
    links = box.select("a[href*='#term-']")
    assert len(links) == len(found)
    assert all(page.find(id=link["href"].rpartition("#")[2]) for link in links)
