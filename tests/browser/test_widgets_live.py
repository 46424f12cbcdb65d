"""Every widget of the built pages, without a kernel: live, moved by keyboard alone, linked to, saved, and mourned well."""

import io
import re
import xml.etree.ElementTree as ET
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import NamedTuple

import pytest
from PIL import Image
from playwright.sync_api import Locator, Page
from tiers import CHAPTERS, SPREAD, every, params
from widgets.samples import MODULES

from browser.asked import COLOURS
from browser.conftest import Visitor
from browser.driving import Place, Widget, pages_with_widgets, places, until

STRANGE = "Part of the link does not fit here, and is left out."
FAILED = "This widget did not start in your browser."
# Every widget on http; on file, where only what all share differs, one. In `make test` some that together have every
# kind of control; test_translator.py saves and links the translator, and test_every_page.py asks of all that each
# control changes what is seen.
STAGES = [*((module, "http") for module in MODULES), ("masking/mask_editor", "file")]
KEPT = [("masking/mask_editor", "file")]


class Stage(NamedTuple):
    """The places of a module's widgets, open in a tab each."""

    at: str
    pages: dict[Place, Page]

    def widgets(self) -> Iterator[tuple[Place, Widget]]:
        """Each as the build left it."""
        for place, page in self.pages.items():
            widget = Widget(page, place.index)
            if widget.look() != self.fresh(place):
                widget.reset()
                assert widget.look() == self.fresh(place), f"Reset does not bring {place.page} back"
            yield place, widget

    def fresh(self, place: Place) -> str:
        return self.pages[place].evaluate("globalThis.fresh")


@pytest.fixture(
    scope="module",
    params=params(
        STAGES, KEPT, lambda stage: "stage {} {}".format(*stage), [(module, "http") for module in SPREAD][::2]
    ),
)
def stage(request, visitor: Callable[[], Visitor], built_book: Path) -> Iterator[Stage]:
    """The pages that show a module: opened once, and reset before each test."""
    module, at = request.param
    with visitor() as visit:
        pages = {place: visit(place.page, at) for place in places(built_book, module)}
        for place, page in pages.items():
            widget = Widget(page, place.index)
            assert widget.state == "live" and not widget.box.locator(".tfm-still").count()
            page.evaluate("(look) => { globalThis.fresh = look; }", widget.look())
        yield Stage(at, pages)


def test_every_stop_of_the_tab_key_has_a_name_and_one_look_of_focus(stage: Stage) -> None:
    for _, widget in stage.widgets():
        stops = widget.stops()
        usable = [name for name, control in widget.controls().items() if not control["off"]]
        assert [stop["name"] for stop in stops if stop["name"] != "others"] == [*usable, "link", "more"]
        assert {stop["name"]: stop["looks"] for stop in stops if stop["looks"] != 1} == {}


def test_what_is_saved_stands_alone(stage: Stage) -> None:
    _, widget = next(stage.widgets())
    title = widget.box.locator("header b").inner_text()

    svg = Path(widget.save("svg").path()).read_text(encoding="utf-8")
    words = "".join(ET.fromstring(svg).itertext())
    assert title in words and len(words) > len(title) + 20
    assert "var(" not in svg and "class=" not in svg and "http" not in svg.replace("http://www.w3.org/", "")

    download = widget.save("png")
    with Image.open(download.path()) as picture:
        assert picture.width >= 600 and len(picture.convert("RGB").quantize(64).getcolors()) > 8
    assert re.fullmatch(r"[\w-]+\.png", download.suggested_filename)

    rows = widget.rows()
    assert len(rows) >= 3 and all(name for name in rows[0])
    assert not any(cell in ("undefined", "NaN", "", None) for row in rows for cell in row.values())


def test_a_link_opens_the_widget_as_it_was_left(stage: Stage, visit) -> None:
    place, widget = list(stage.widgets())[-1]
    fresh = stage.fresh(place)
    for name in widget.usable():
        widget.reach(name)
        widget.press(*widget.moves(name)[0])
    left, address = widget.look(), widget.link()
    assert left != fresh and "#tfm=" in address

    other = visit(place.page, stage.at, hash="#" + address.split("#")[1])
    assert Widget(other, place.index).look() == left
    assert_in_sight(other, place.index)
    other.reload()
    settle(other)
    assert Widget(other, place.index).look() == left
    Widget(other, place.index).reset()
    assert Widget(other, place.index).look() == fresh


@pytest.mark.parametrize("stage", params(KEPT, KEPT, lambda stage: "stage {} {}".format(*stage)), indirect=True)
def test_what_is_no_state_changes_nothing(stage: Stage) -> None:
    """The kit refuses it, whatever the widget."""
    place, widget = next(stage.widgets())
    inherited = ("&value=toString", "&value=__proto__", "&off=constructor")  # names that every object has
    for nonsense in (
        "={",
        "=null",
        "=[]",
        '="x"',
        '={"value": "nonsense"}',
        "&value=nonsense",
        "&&&",
        "&value=%",
        *inherited,
    ):
        widget.go(f"#tfm={widget.box.get_attribute('data-module')}.{place.index}{nonsense}")
    widget.reset()
    assert widget.look() == stage.fresh(place)


@pytest.mark.parametrize("module", params(MODULES, ("positional/encoding",), rest=["masking/mask_editor"]))
def test_what_a_link_asks_for_and_a_widget_does_not_have_is_as_it_was(visit, built_book: Path, module: str) -> None:
    place = places(built_book, module)[0]
    widget = Widget(visit(place.page), place.index)
    fresh = widget.look()
    known = {name for name, each in widget.controls().items() if each["kind"] in ("range", "select")}
    for name in known & {*widget.model()}:
        least = widget.box.locator(f'[data-control="{name}"]').get_attribute("min")
        below = "-777" if least and float(least) <= -7 else "-7"  # a shift may be −7
        bad = ["1e9", below] if isinstance(widget.model()[name], int | float) else ["zzz", "toString", "x" * 30_000]
        for value in bad:
            widget.go(f"#tfm={module}.{place.index}&{name}={value}")
            look = widget.look()
            open_ended = value == "1e9" and STRANGE not in look  # a slider whose end moves with what is typed
            assert open_ended or look.replace(STRANGE, "").strip() == fresh.strip(), f"{name}={value}"
            widget.reset()
    assert widget.look() == fresh
    page = visit(place.page, hash=f"#tfm={module}.{place.index}&" + "&".join(f"{name}=-7" for name in known))
    assert Widget(page, place.index).state == "live"


LEFT = [*((module, "http") for module in MODULES), ("decoding/beam_tree", "file")]


@pytest.mark.parametrize(
    "module_at",
    params(LEFT, [("positional/encoding", "http")], "-".join, [LEFT[-1], ("masking/mask_editor", "http")]),
)
def test_a_page_that_is_come_back_to_is_as_it_was_left(visit, built_book: Path, module_at: tuple[str, str]) -> None:
    """Its controls too: a browser would put them where they were, and no widget hears of it."""
    module, at = module_at
    place = places(built_book, module)[0]
    page = visit(place.page, at)
    widget, inputs = (
        Widget(page, place.index),
        "(box) => [...box.querySelectorAll('input, select')].map(({ value, checked }) => [value, checked])",
    )
    fresh, address = (widget.look(), widget.box.evaluate(inputs)), page.url

    def leave_and_return() -> tuple[str, list]:
        page.goto(page.url.replace(place.page, "search"))
        page.go_back()
        settle(page)
        return widget.look(), widget.box.evaluate(inputs)

    for name in widget.usable():
        widget.reach(name)
        widget.press(*widget.moves(name)[0])
    left = widget.look(), widget.box.evaluate(inputs)
    assert left != fresh
    assert leave_and_return() == left
    assert page.url == address
    if module in SPREAD:
        assert leave_and_return() == left
    widget.reset()
    assert widget.look() == fresh[0]
    assert leave_and_return() == fresh


@pytest.mark.parametrize("again", params(["reload", "back"], ["back"]))
def test_what_was_changed_after_a_link_counts_more_than_the_link(visit, built_book: Path, again: str) -> None:
    place = places(built_book, "self_attention/attention_weights")[0]
    page = visit(place.page, hash=f"#tfm=self_attention/attention_weights.{place.index}&value=3")
    widget = Widget(page, place.index)
    linked, address = widget.look(), page.url
    name = next(name for name in widget.usable() if name != "sentence")
    widget.reach(name)
    widget.press(*widget.moves(name)[0])
    left = widget.look()
    assert left != linked
    if again == "reload":
        page.reload()
    else:
        page.goto(page.url.split("#")[0].replace(place.page, "search"))
        page.go_back()
    settle(page)
    assert widget.look() == left and page.url == address
    page.goto(address.split("#")[0].replace(place.page, "search"))
    page.goto(address)  # the link itself, opened anew
    settle(page)
    assert widget.look() == linked


def settle(page: Page) -> None:
    until(page, "[...document.querySelectorAll('.tfm-widget')].every((box) => box.dataset.state)")


def assert_in_sight(page: Page, index: int) -> None:
    """The middle of the widget can be seen without scrolling; of a tall one, its beginning."""
    until(
        page,
        """(index) => {
          const { top, height } = document.querySelectorAll(".tfm-widget")[index].getBoundingClientRect();
          if (height > innerHeight) return top >= 0 && top < innerHeight / 2;
          return top + height / 2 > 0 && top + height / 2 < innerHeight;
        }""",
        arg=index,
    )


def test_the_button_changes_the_scheme_of_widgets_too(visit, built_book: Path) -> None:
    place = places(built_book, MODULES[0])[0]
    page = visit(place.page)
    box = page.locator(".tfm-widget").nth(place.index)
    before = box.evaluate(COLOURS)
    page.locator("[data-scheme]").press("Enter")
    assert box.evaluate(COLOURS)["ground"] != before["ground"]
    page.reload()
    settle(page)
    assert box.evaluate(COLOURS)["ground"] != before["ground"], "the choice is not remembered"
    page.locator("[data-scheme]").press("Enter")
    assert box.evaluate(COLOURS) == before


LOOKED_AT = pytest.mark.parametrize(
    "some", params([True, False], [True], lambda some: "some" if some else "the others", ())
)


def looked_at(book: Path, some: bool) -> list[str]:
    """Pages with widgets: those of `make test`, or the others."""
    kept = {f"chapters/{CHAPTERS[-1]}"}
    return [name for name in pages_with_widgets(book) if (name in kept) == some]


STEMS = sorted({module.split("/")[0] for module in MODULES})
ON_THE_FIRST_PAGE = {"transformer/film", "decoding/translator"}
THROWING = """globalThis.tfmWidgets ??= {}; tfmWidgets["%s"] = { render() { throw new Error("on purpose"); } };"""


@pytest.mark.parametrize("stem", params(STEMS, ("decoding",), rest=every(4, STEMS)))
@pytest.mark.parametrize("code", [pytest.param("", marks=pytest.mark.long), THROWING], ids=["lost", "throwing"])
def test_a_failing_widget_leaves_its_picture_and_a_sentence(visit, bases, stem: str, code: str) -> None:
    """Every other widget of a chapter is lost, and the rest throws; those between live on."""
    of_chapter = [module for module in MODULES if module.startswith(f"{stem}/") and module not in ON_THE_FIRST_PAGE]
    failing = of_chapter[bool(code) :: 2] or of_chapter
    page = visit.blank(bases["http"], broken=True)

    def answer(route, module: str) -> None:
        route.fulfill(body=code.replace("%s", module), content_type="text/javascript") if code else route.abort()

    for module in failing:
        page.route(f"**/_widgets/{module}.js*", partial(answer, module=module))  # the address carries a version
    page.goto(f"{bases['http']}chapters/{stem}.html")
    settle(page)
    seen = {box.get_attribute("data-module"): box for box in page.locator(".tfm-widget").all()}
    assert {*failing} <= {*seen}
    for module, box in seen.items():
        if module in failing:
            assert_mourned(box)
        else:
            assert box.get_attribute("data-state") == "live"


@pytest.mark.long
@LOOKED_AT
def test_widgets_that_are_lost_on_file_leave_their_pictures(visit, bases, built_book: Path, some: bool) -> None:
    for name in looked_at(built_book, some):
        page = visit.blank(bases["file"], broken=True)
        page.route("**/_widgets/*/*.js*", lambda route: route.abort())
        page.goto(f"{bases['file']}{name}.html")
        settle(page)
        for box in page.locator(".tfm-widget").all():
            assert_mourned(box)


def assert_mourned(box: Locator) -> None:
    assert box.get_attribute("data-state") == "failed"
    assert box.locator(".tfm-widget-failed").inner_text().startswith(FAILED)
    assert not box.locator(".tfm-card").count()
    assert_picture(box.locator(".tfm-still"))


@pytest.mark.parametrize("at", params(["http", "file"], ["file"]))
@LOOKED_AT
def test_without_scripts_the_pictures_stand(visit, built_book: Path, at: str, some: bool) -> None:
    for name in looked_at(built_book, some):
        page = visit(name, at, scripts=False)
        assert not page.locator(".tfm-card").count()
        told = page.locator(".tfm-widget .tfm-widget-failed").all_inner_texts()
        assert len(told) == page.locator(".tfm-widget").count() and all("needs JavaScript" in each for each in told)
        for still in page.locator(".tfm-widget > .tfm-still").all():
            assert_picture(still)


def assert_picture(still) -> None:
    """Something is to be seen: large enough, of several colours, and told in words."""
    assert still.is_visible() and len(still.get_attribute("aria-label")) > 40
    box = still.bounding_box()
    assert box["width"] > 300 and box["height"] > 120
    assert shades(still) > 12


def shades(part) -> int:
    """How many different colours a part of the page shows; a hole has one."""
    with Image.open(io.BytesIO(part.screenshot(animations="disabled"))) as picture:
        return len(picture.convert("RGB").getcolors(1 << 24))


@LOOKED_AT
def test_print_shows_widgets_and_no_holes_on_white(visit, built_book: Path, some: bool) -> None:
    for name in looked_at(built_book, some):
        page = visit(name, scheme="dark")
        page.set_viewport_size({"width": 700, "height": 1000})  # about a sheet
        page.emulate_media(media="print")
        for box in page.locator(".tfm-widget").all():
            assert shades(box.locator("[data-stage]")) > 12
            assert box.bounding_box()["height"] > 150
            assert not any(bar.is_visible() for bar in box.locator(".tfm-bar, .tfm-foot").all())
            assert box.evaluate(COLOURS)["ground"][0] == "rgb(255, 255, 255)"
        page.emulate_media(media="screen")
        assert all(bar.is_visible() for bar in page.locator(".tfm-bar:not(:empty), .tfm-foot").all())
    assert len(page.pdf()) > 20_000
