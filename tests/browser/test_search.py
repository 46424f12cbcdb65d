"""The search finds sections and terms, tells them in plain words, and needs no server."""

import re

import pytest
from playwright.sync_api import Page
from tiers import params

from browser.driving import until

TEX = re.compile(r"\\[a-zA-Z]|\$|[_^]\{")


def asked(visit, bases, words: str, at: str = "file") -> Page:
    page = visit.blank(bases[at])
    page.goto(f"{bases[at]}search.html?q={words}")
    page.locator("#search-results li").first.wait_for()
    return page


def hits(page: Page) -> list[tuple[str, str, str]]:
    """Title, address and excerpt of each result."""
    return page.locator("#search-results li").evaluate_all(
        "(all) => all.map((item) => [item.querySelector('a').textContent, item.querySelector('a').getAttribute('href'), item.querySelector('p').textContent])"
    )


@pytest.mark.parametrize("at", params(["http", "file"], ["http"]))
def test_a_result_leads_to_its_section(visit, bases, at: str) -> None:
    page = asked(visit, bases, "multi-head exercises", at)
    title, address, _ = hits(page)[0]
    assert (title, address) == ("Exercises", "chapters/multihead.html#exercises")
    page.locator("#search-results a").first.click()
    page.wait_for_url("**/chapters/multihead.html#exercises")
    until(page, "document.querySelectorAll('.tfm-widget:not([data-state])').length === 0")
    page.wait_for_timeout(1200)
    assert 0 <= page.locator("#exercises > h2").evaluate("(node) => node.getBoundingClientRect().top") <= 120


@pytest.mark.parametrize("words", params(["softmax", "mask", "keys of a query", "positions", "head"], ["mask", "head"]))
def test_excerpts_hold_the_words_and_no_tex(visit, bases, words: str) -> None:
    found = hits(asked(visit, bases, words))
    assert len(found) > 1
    for title, address, excerpt in found:
        assert not TEX.search(title + excerpt), f"{address}: {excerpt}"
    assert any("#" in address for _, address, _ in found)
    stems = "|".join(word.rstrip("sy") for word in words.split() if len(word) > 2)  # keys, query: key, quer
    strange = [hit for hit in found[:5] if not re.search(stems, f"{hit}", re.IGNORECASE)]
    assert not strange


def test_terms_are_found_by_either_name(visit, bases) -> None:
    for words in ("beam search", "빔"):
        assert "chapters/glossary.html#term-beam" in [address for _, address, _ in hits(asked(visit, bases, words))][:4]


@pytest.mark.parametrize("sign", params(["σ", "α", "√", "∂"], ["α"]))
def test_a_sign_of_a_formula_is_found(visit, bases, sign: str) -> None:
    assert all(sign in f"{title}{excerpt}".lower() for title, _, excerpt in hits(asked(visit, bases, sign)))


@pytest.mark.long
def test_a_misconception_is_found_by_its_title_and_has_an_address(visit, bases) -> None:
    page = asked(visit, bases, "shares its layers")
    address = next(there for _, there, _ in hits(page)[:2] if "#misconception-albert" in there)
    page.goto(f"{bases['file']}{address}")
    box = page.locator(".misconception", has_text="ALBERT shares its layers").element_handle()
    until(page, "(box) => box.getBoundingClientRect().top >= 0 && box.getBoundingClientRect().top < 300", box)


def test_a_widget_is_found_by_its_title_and_is_in_view(visit, bases) -> None:
    page = asked(visit, bases, "softmax saturation")
    title, address, _ = hits(page)[0]
    assert (title, address) == (
        "Softmax saturation",
        "chapters/self_attention.html#tfm=self_attention/softmax_saturation.2",
    )
    page.locator("#search-results a").first.click()
    card = page.locator(".tfm-card[aria-label='Softmax saturation']")
    card.wait_for()
    until(
        page,
        "(box) => box.getBoundingClientRect().top >= 0 && box.getBoundingClientRect().top < innerHeight / 2",
        card.element_handle(),
    )


@pytest.mark.parametrize(
    "slip",
    params(
        [("atention", "attention"), ("sofmtax", "softmax"), ("positonal encodng", "positional encoding")],
        [("sofmtax", "softmax")],
        "-".join,
    ),
)
def test_a_slip_of_the_finger_is_taken_for_the_nearest_word(visit, bases, slip: tuple[str, str]) -> None:
    typed, meant = slip
    page = asked(visit, bases, typed)
    assert f"Shown is “{meant}”" in page.locator("#search-told").inner_text()
    assert hits(page) == hits(asked(visit, bases, meant))


TWENTY = {  # typed, and an address among the first three that are shown
    "atention": "attention.html", "softmx": "glossary.html#term-softmax", "positonal encoding": "positional.html",
    "label smoothng": "glossary.html#term-label-smoothing", "byte pair": "glossary.html#term-byte-pair-encoding",
    "beam serch": "glossary.html#term-beam", "layer nrom": "layers.html", "residul": "glossary.html#term-residual-connection",
    "warmup": "glossary.html#term-warm-up", "cross atention": "glossary.html#term-cross-attention",
    "KV cache": "glossary.html#term-keyvalue-cache", "flash attention": "efficient.html",
    "LoRA": "glossary.html#term-low-rank-adapter", "mask editor": "masking.html#tfm=masking/mask_editor",
    "sqrt d_k": "self_attention.html", "어텐션": "glossary.html#term-attention", "트랜스포머": "glossary.html#term-Transformer",
    "위치 인코딩": "glossary.html#term-positional-encoding", "소프트맥스": "glossary.html#term-softmax",
    "빔 서치": "glossary.html#term-beam",
}  # fmt: skip


@pytest.mark.long
def test_twenty_searches_with_slips_and_in_korean_find_what_was_meant(visit, bases) -> None:
    missed = {}
    for typed, address in TWENTY.items():
        found = [there for _, there, _ in hits(asked(visit, bases, typed, "file"))][:3]
        if not any(address in there for there in found):
            missed[typed] = found
    assert missed == {}


def test_what_is_typed_is_looked_for_and_what_is_not_there_is_said(visit, bases) -> None:
    page = asked(visit, bases, "mask")
    field = page.locator("main input[type=search]")
    assert field.input_value() == "mask"
    field.fill("xylophone")
    page.locator("#search-told", has_text="Nothing is found for “xylophone”").wait_for()
    assert page.locator("#search-results li").count() == 0
    field.fill("beam xylophone")
    page.locator("#search-told", has_text="some of these words, none with all").wait_for()
    field.press("Enter")
    assert "xylophone" in page.url or page.url.startswith("file:")


@pytest.mark.parametrize(
    ("typed", "title", "kind"),
    [
        ("find the leaks", "Find the leaks", "exercise"),
        ("the best size for a budget", "The best size for a budget", "exercise"),
        ("어텐션", "attention", "term"),
        ("\u110b\u1165\u1110\u1166\u11ab\u1109\u1167\u11ab", "attention", "term"),  # the same, typed in single letters
    ],
)
def test_what_is_found_says_what_it_is(visit, bases, typed: str, title: str, kind: str) -> None:
    page = asked(visit, bases, typed)
    found = page.locator("#search-results li").evaluate_all(
        "(all) => all.slice(0, 3).map((item) => [item.querySelector('a').textContent, item.querySelector('.tfm-where').textContent.split(' · ')[0]])"
    )
    assert any(name.startswith(title) and what == kind for name, what in found), found


def test_keys_open_the_search_go_through_results_and_list_themselves(visit, bases) -> None:
    page = visit("chapters/masking")
    page.keyboard.press("?")
    keys = page.locator("#tfm-keys")
    assert keys.is_visible() and "search the book" in keys.inner_text()
    page.keyboard.press("Escape")
    assert not keys.is_visible()
    page.keyboard.press("/")
    assert page.evaluate("document.activeElement.type") == "search"
    page.keyboard.type("what?/")
    assert page.evaluate("document.activeElement.value") == "what?/" and not keys.is_visible()
    page = asked(visit, bases, "mask")
    page.keyboard.press("/")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    second = page.locator("#search-results a").nth(1)
    assert second.evaluate("(link) => link === document.activeElement")
    page.keyboard.press("ArrowUp")
    page.keyboard.press("Enter")
    page.wait_for_url("**/chapters/**")
