"""The page that `tfm load` writes, opened as its reader opens it: from the disk, in any colour scheme, on a phone."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from operator import itemgetter
from pathlib import Path

import pytest
from lib.family_folders import LAYERS, SENTENCE, H, folder_of
from playwright.sync_api import BrowserContext
from tiers import params

from browser.conftest import Visitor, settled
from browser.driving import DESKTOP, PHONE
from browser.test_every_page import AXE, findings
from tfm_lib.families.folder import Opened, open_folder
from tfm_lib.families.heads import heads, page


@pytest.fixture(scope="module")
def opened(tmp_path_factory) -> Iterator[tuple[Opened, Path]]:
    folder = folder_of("marian", tmp_path_factory.mktemp("loaded") / "marian")
    model = open_folder(folder)
    (folder / "heads.html").write_text(page(model, SENTENCE, folder), encoding="utf-8")
    return model, folder


@pytest.fixture
def visit(contexts: Callable[..., BrowserContext], opened) -> Iterator[Visitor]:
    visitor = Visitor(contexts, {"file": opened[1].as_uri() + "/"})
    yield visitor
    for each in visitor.pages:
        each.close()
    assert visitor.troubles == []


@pytest.mark.parametrize("on", params([("light", DESKTOP), ("dark", PHONE)], [], itemgetter(0)))
def test_its_heads_can_be_looked_through(visit, opened, on: tuple[str, dict]) -> None:
    scheme, viewport = on
    at = visit("heads", at="file", scheme=scheme, viewport=viewport)
    assert at.locator(".tfm-widget").get_attribute("data-state") == "live"
    assert at.locator(".tfm-still").count() == 0
    assert at.evaluate("document.documentElement.dataset.theme") == scheme
    at.evaluate(AXE.read_text(encoding="utf-8"))
    assert findings([at]) == []
    squares = at.get_by_role("radiogroup").first.get_by_role("radio")
    assert squares.count() == LAYERS * H
    widget = heads(opened[0], SENTENCE)
    squares.nth(H + 2).click()
    at.get_by_role("combobox").select_option(label="cross-attention")
    settled(at)
    shown = at.locator('[role="gridcell"]').first.get_attribute("aria-label")
    assert shown.endswith(f": {widget.weights['cross'][1][2][0][0]:.2f}")


def test_without_scripts_it_tells_what_it_shows(visit, opened) -> None:
    at = visit("heads", at="file", scripts=False)
    still = at.locator(".tfm-still")
    assert still.is_visible()
    assert still.get_attribute("aria-label") == heads(opened[0], SENTENCE).alt
