"""The built pages as files: whole, light, and asking nobody outside for anything. What they do is tried in tests/browser."""

import base64
import gzip
import hashlib
import json
import re
from ast import literal_eval
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
from bs4 import BeautifulSoup, NavigableString, Tag
from fontTools.ttLib import TTFont
from project import CHAPTERS, CORE, ROOT

from tfm_book.notebooks.asks import AGAIN, KINDS, OPENING, asks
from tfm_book.notebooks.contents import pages
from tfm_book.site.boxes import what_it_shows
from tfm_book.site.page_widgets import LostWidget, StockWidget, page_state
from tfm_lib.drawing.display import figure, scientific, svg_text, weights_colormap
from tfm_lib.widgets._film import MOMENTS, moment
from tfm_lib.widgets.multihead import HeadAblation
from tfm_lib.widgets.recurrence import GradientReach
from tfm_lib.widgets.self_attention import SoftmaxSaturation
from tfm_lib.widgets.training import TrainingReplay

PAGES = pages(ROOT)
PAGE_BUDGET, WIDGET_BUDGET, FILM_BUDGET = 200 * 1024, 60 * 1024, 130 * 1024  # the last where the film is
STATE = 'script[type="application/vnd.jupyter.widget-state+json"]'


@pytest.fixture(scope="session")
def soups(built_book: Path) -> dict[str, BeautifulSoup]:
    files = [*(f"{page}.html" for page in PAGES), "search.html"]
    return {name: BeautifulSoup((built_book / name).read_text(encoding="utf-8"), "html.parser") for name in files}


def loaded(page: str, soup: BeautifulSoup) -> list[str]:
    """The addresses that a browser asks for when it shows the page, relative to the book's root."""
    links = [
        link["href"]
        for link in soup.select("link[href]")
        if set(link["rel"]) & {"stylesheet", "icon", "preload", "modulepreload"}
    ]
    sources = [
        tag["src"]
        for tag in soup.select("script[src], img[src], iframe[src], source[src], audio[src], video[src], embed[src]")
    ]
    return [address for address in links + sources if not address.startswith("data:")]


def local(built_book: Path, page: str, address: str) -> Path:
    return (built_book / page).parent / unquote(urlsplit(address).path)


@pytest.mark.parametrize("page", PAGES)
def test_every_page_exists_and_holds_what_its_source_says(soups, page: str) -> None:
    soup = soups[f"{page}.html"]
    source = (ROOT / f"{page}.md").read_text(encoding="utf-8")
    for file in re.findall(
        r"^```\{include\} (.+)$", source, flags=re.MULTILINE
    ):  # from its first heading below the title on
        included = (ROOT / page).parent.joinpath(file).read_text(encoding="utf-8")
        source += included[included.index("\n## ") :]
    prose = re.sub(r"^(`{3,}|~{3,}).*?^\1", "", source, flags=re.MULTILINE | re.DOTALL)
    headings = [
        re.sub(r"[`*$\\]", "", title).strip() for title in re.findall(r"^#{1,3} +(.+)$", prose, flags=re.MULTILINE)
    ]
    shown = [h.get_text().removesuffix("#") for h in soup.article.find_all(["h1", "h2", "h3"])]
    shown = [re.sub(r"\s+", " ", words).strip() for words in shown]
    assert len(shown) == len(headings)
    assert [a for a, b in zip(headings, shown, strict=True) if "_" not in a and "^" not in a and a != b] == []
    assert len(soup.article.get_text().split()) > 150


def test_the_book_begins_at_its_index(built_book: Path) -> None:
    assert "chapters/intro.html" in (built_book / "index.html").read_text(encoding="utf-8")


def test_nothing_is_loaded_from_elsewhere_and_all_of_it_is_there(built_book: Path, soups) -> None:
    for page, soup in soups.items():
        for address in loaded(page, soup):
            assert not urlsplit(address).scheme and not urlsplit(address).netloc, f"{page} asks for {address}"
            assert local(built_book, page, address).is_file(), f"{page}: {address} is missing"
    for sheet in [*built_book.glob("_tfm/*.css"), *built_book.glob("_widgets/**/*.css")]:
        for address in re.findall(r"url\(([^)]+)\)", sheet.read_text(encoding="utf-8")):
            address = address.strip("\"'")
            assert address.startswith(("data:", "#")) or (sheet.parent / address).is_file(), f"{sheet.name}: {address}"
        assert "@import" not in sheet.read_text(encoding="utf-8")


def test_no_script_or_style_names_a_foreign_host(built_book: Path, soups) -> None:
    for page, soup in soups.items():
        code = "\n".join(tag.get_text() for tag in soup.select("script:not([type]), style"))
        files = [local(built_book, page, a) for a in loaded(page, soup) if urlsplit(a).path.endswith((".js", ".css"))]
        for name, text in [("inline", code), *((file.name, file.read_text(encoding="utf-8")) for file in files)]:
            hosts = set(re.findall(r"https?://([\w.-]+)", text)) - {"www.w3.org", "localhost"}
            assert not hosts or name in ("searchtools.js", "searchindex.js", "doctools.js"), f"{page}, {name}: {hosts}"


def test_no_page_carries_what_it_must_not(built_book: Path, soups) -> None:
    for page in soups:
        text = (built_book / page).read_text(encoding="utf-8").lower()
        for unwanted in (
            "fontawesome",
            "fa-solid",
            "mathjax",
            "thebe",
            "require.js",
            "html-manager",
            "cdn.",
            "unpkg",
            "jsdelivr",
        ):
            assert unwanted not in text, f"{page}: {unwanted}"


def outside_code(tag: Tag) -> Iterator[str]:
    for part in tag.children:
        if isinstance(part, Tag):
            if part.name not in ("pre", "code", "script", "annotation"):
                yield from outside_code(part)
        elif type(part) is NavigableString:
            yield part


@pytest.mark.parametrize("page", PAGES)
def test_no_directive_role_or_traceback_is_shown(soups, page: str) -> None:
    article = soups[f"{page}.html"].article
    assert "Traceback" not in article.get_text()
    assert not article.select(".system-message, .problematic, .katex-error, .output.stderr, .output.traceback")
    text = "".join(outside_code(article))
    assert not re.search(r":::|```|\{[a-z:]+\}`|\]\{\.\w+\}|\\[QKVqkv]\b|\$\\", text)
    assert "None" not in [span.get_text() for span in article.select("span.pasted-text")]


def test_thousands_have_a_comma(soups) -> None:
    spaced = re.compile("(?<![\\d.])\\d{1,3}[\u00a0\u202f\u2009]\\d{3}(?!\\d)")
    found = {page: numbers for page, soup in soups.items() if (numbers := spaced.findall(soup.article.get_text()))}
    assert found == {}


def test_no_page_lets_in_what_the_book_did_not_write(soups) -> None:
    for page, soup in soups.items():
        policy = soup.select_one('head > meta[http-equiv="Content-Security-Policy"]')
        assert policy, f"{page} has no policy"
        allowed = dict(part.split(" ", 1) for part in policy["content"].split("; "))
        assert "unsafe-eval'" not in allowed["script-src"].replace("wasm-unsafe-eval", "")
        assert "http" not in policy["content"] and allowed["object-src"] == allowed["base-uri"] == "'none'"
        written = [tag for tag in soup.select("script:not([src])") if not tag.get("type")]
        for script in written:
            digest = base64.b64encode(hashlib.sha256(script.string.encode()).digest()).decode()
            assert f"'sha256-{digest}'" in allowed["script-src"], f"{page} has a script that its policy does not know"
            assert policy.sourceline < script.sourceline, "what comes before a policy is not held by it"
        assert not [tag for tag in soup.find_all(True) if any(name.startswith("on") for name in tag.attrs)], page


def test_ids_are_unique_and_labels_point_somewhere(soups) -> None:
    for page, soup in soups.items():
        ids = Counter(tag["id"] for tag in soup.select("[id]"))
        assert [name for name, count in ids.items() if count > 1] == [], page
        for tag in soup.select("[aria-labelledby], [aria-describedby], [aria-controls]"):
            for name in (tag.get("aria-labelledby") or tag.get("aria-describedby") or tag.get("aria-controls")).split():
                assert name in ids, f"{page}: nothing has the id {name}"


def test_links_inside_the_book_lead_somewhere(built_book: Path, soups) -> None:
    ids = {page: {tag["id"] for tag in soup.select("[id]")} for page, soup in soups.items()}
    for page, soup in soups.items():
        for link in soup.select("a[href]"):
            split = urlsplit(link["href"])
            if split.scheme or split.netloc:
                continue
            target = local(built_book, page, link["href"]) if split.path else built_book / page
            assert target.is_file(), f"{page}: {link['href']}"
            name = target.resolve().relative_to(built_book.resolve()).as_posix()
            if widget := re.match(r"tfm=([^.]+)\.(\d+)&", split.fragment):  # a link to a widget's state
                modules = [each.get("data-module") for each in soups[name].select(".tfm-widget")]
                assert modules[int(widget[2])] == widget[1], f"{page}: {link['href']}"
            elif split.fragment and name in soups:
                assert unquote(split.fragment) in ids[name], f"{page}: {link['href']}"


def test_pictures_have_a_text_alternative(soups) -> None:
    for page, soup in soups.items():
        assert [image["src"] for image in soup.select("article img:not([alt]), article img[alt='']")] == [], page
        for picture in soup.select('article [role="img"]'):
            assert len(picture.get("aria-label", "")) > 15, f"{page}: {str(picture)[:120]}"
        for svg in soup.select("article svg"):
            named = (
                svg.get("aria-hidden") == "true"
                or svg.find_parent(attrs={"aria-label": True})
                or svg.find_parent(attrs={"aria-hidden": "true"})
            )
            assert named, f"{page}: {str(svg)[:120]}"


def test_a_heat_map_is_mixed_of_the_colours_of_the_scheme() -> None:
    fig, ax = figure()
    ax.pcolormesh([[0, 0.25, 0.5, 1]], cmap=weights_colormap(), vmin=0, vmax=1)
    low, high = "var(--tfm-w0, #f7f3ec)", "var(--tfm-w1, #23386b)"
    cells = re.findall(r"fill: (var\(--tfm-w.*?\)|color-mix.*?\)\))", svg_text(fig))
    assert cells == [low, *(f"color-mix(in srgb, {high} {share}%, {low})" for share in ("25.0", "50.0")), high]


def test_an_image_of_weights_is_drawn_as_cells_that_follow_the_scheme() -> None:
    drawn = []
    for method in ("imshow", "pcolormesh"):
        fig, ax = figure()
        getattr(ax, method)([[0, 0.25, 1], [1, 0.5, 0]], cmap=weights_colormap(), vmin=0, vmax=1)
        ax.set(xlim=(-0.5, 2.5), ylim=(1.5, -0.5))
        drawn.append(svg_text(fig))
    assert not any("<image" in svg for svg in drawn)
    shades = [re.findall(r"fill: (?:var\(--tfm-w|color-mix).*?\)\)?", svg) for svg in drawn]
    assert len(shades[0]) == 6 and shades[0] == shades[1]


def test_formulas_are_there_before_any_script_runs(soups) -> None:
    for page, soup in soups.items():
        assert all(span.select_one(".katex") for span in soup.select(".math")), page
    assert soups["chapters/notation.html"].select(".katex .enclosing.q, .katex .q")


def test_formulas_are_valid_where_a_browser_is_strict(soups) -> None:
    """A subscript of two parts, for instance, which Firefox shows as an error: `\\max` there must be `\\text{max}`."""
    parts = {"msub": 2, "msup": 2, "mfrac": 2, "mroot": 2, "munder": 2, "mover": 2, "msubsup": 3, "munderover": 3}
    for page, soup in soups.items():
        for formula in soup.find_all([*parts]):
            found = formula.find_all(True, recursive=False)
            assert len(found) == parts[formula.name], f"{page}: {formula.find_parent('math').annotation.text}"


@pytest.mark.parametrize("page", PAGES)
def test_a_page_keeps_its_budget(built_book: Path, soups, page: str) -> None:
    name = f"{page}.html"
    soup = soups[name]
    html = (built_book / name).read_bytes()
    files = {local(built_book, name, address).resolve() for address in loaded(name, soup)}
    weights = {file: len(gzip.compress(file.read_bytes(), 9)) for file in files}
    data = "".join(str(tag) for tag in [*soup.select(STATE), *soup.select(".tfm-widget")])
    widgets = sum(size for file, size in weights.items() if "_widgets" in file.parts) + len(
        gzip.compress(data.encode(), 9)
    )
    assert len(gzip.compress(html, 9)) + sum(weights.values()) <= PAGE_BUDGET
    assert widgets <= (FILM_BUDGET if page in ("index", "chapters/intro") else WIDGET_BUDGET)


@pytest.mark.parametrize("stem", [path.stem for path in sorted(CHAPTERS.glob("*.md")) if asks(path)])
def test_the_page_holds_each_question_and_no_answer_outside_its_fold(soups, stem: str) -> None:
    boxes = soups[f"chapters/{stem}.html"].select(".tfm-ask")
    shown = [box["data-ask"] for box in boxes if box.get("data-part") != "again"]
    assert shown == [f"{stem}.{ask.name}" for ask in asks(CHAPTERS / f"{stem}.md")]
    for box in boxes:
        assert box.name == "fieldset" and box.legend.get_text() in {*KINDS.values(), OPENING, AGAIN}
        told = [each.get_text() for each in box.select("[data-if]")]
        outside = BeautifulSoup(str(box), "html.parser")
        for fold in outside.select(".tfm-key"):
            fold.decompose()
        assert not [why for why in told if why and why in outside.get_text()]
        assert bool(box.select_one(".tfm-key")) == (box.get("data-part") != "first")
        assert not (box.select_one("details[open]"))


def test_the_page_sends_coding_exercises_to_the_notebook(built_book: Path, soups) -> None:
    for stem in CORE:
        soup = soups[f"chapters/{stem}.html"]
        article = soup.article.get_text()
        assert "run both cells again" not in article and not soup.select(".tfm-verdict.tfm-unsolved")
        (offer,) = soup.select("#exercises > .tfm-to-notebook")
        assert "make read" in offer.get_text() and "the notebook" in offer.get_text()
        assert (built_book / "chapters" / offer.select_one("a[download]")["href"]).resolve().is_file()


def test_an_exercise_is_one_card(soups) -> None:
    for stem in CORE:
        cards = soups[f"chapters/{stem}.html"].select("#exercises > .tfm-exercise")
        assert len(cards) == len(soups[f"chapters/{stem}.html"].select(".exercise")), stem
        for card in cards:
            (row,) = card.select(":scope > .tfm-row")
            folds = [fold.summary.get_text(strip=True) for fold in row.find_all("details")]
            assert folds[-1] == "Solution" and folds[:-1] in ([], ["Hint 1"], ["Hints"]), (stem, folds)
            cells = card.select(":scope > .cell")
            assert not cells or any(cell.get_text(strip=True).startswith("check(") for cell in cells), stem


def test_widgets_are_embedded_small_and_whole(built_book: Path, soups) -> None:
    shown = 0
    for page, soup in soups.items():
        boxes = soup.select(".tfm-widget")
        states = soup.select(STATE)
        assert len(states) == (1 if boxes else 0), page
        scripts = [urlsplit(script["src"]).path for script in soup.select("script[src]")]
        assert len(scripts) == len(set(scripts)), f"{page}: {scripts}"
        assert any("_widgets" in script for script in scripts) == bool(boxes), page
        for box in boxes:
            model = json.loads(states[0].get_text())["state"][box["data-model"]]
            assert not {"_esm", "_css"} & set(model["state"]) or not model["state"].get("_module")
            assert any(script.endswith(f"/{box['data-module']}.js") for script in scripts)
            assert box["role"] == "group" and box["aria-label"]
            assert box.select_one(".tfm-still svg") and len(box.select_one(".tfm-still")["aria-label"]) > 15
            assert "needs JavaScript" in box.select_one("noscript").get_text()
            shown += 1
    assert shown >= 4


@pytest.mark.parametrize(
    ("module", "made", "traits"),
    [
        ("self_attention/softmax_saturation", lambda state: SoftmaxSaturation(d_k=state["value"]), ["scores"]),
        ("recurrence/gradient_reach", lambda state: GradientReach(), ["reach"]),
        ("multihead/head_ablation", lambda state: HeadAblation(), ["measured"]),
        ("training/training_replay", lambda state: TrainingReplay(), ["losses", "looks"]),
    ],
)
def test_what_a_widget_shows_from_records_is_embedded_as_the_library_has_it(soups, module, made, traits) -> None:
    """What it shows of that in the browser: tests/browser/test_widget_numbers.py."""
    found = 0
    for soup in soups.values():
        for box in soup.select(f'.tfm-widget[data-module="{module}"]'):
            state = json.loads(soup.select_one(STATE).string)["state"][box["data-model"]]["state"]
            for trait in traits:
                own = json.loads(json.dumps(getattr(made(state), trait)))
                assert state[trait] == own, f"the page's {trait} are not those of the library"
                found += 1
    assert found >= len(traits), f"no page shows {module}"


def test_chapters_offer_what_can_be_used(built_book: Path, soups) -> None:
    for path in CHAPTERS.glob("*.md"):
        soup = soups.get(f"chapters/{path.stem}.html")
        if soup is None or "{code-cell}" not in path.read_text(encoding="utf-8"):
            continue
        offered = {Path(urlsplit(link["href"]).path).name for link in soup.select(".tfm-downloads a[download]")}
        assert {f"{path.stem}.ipynb", f"{path.stem}.md"} <= offered
        assert any(name.endswith(".whl") for name in offered), "no wheel: make wheel"


def test_korean_terms_are_in_the_font_that_the_book_serves(built_book: Path, soups) -> None:
    words = "".join(term.get_text() for soup in soups.values() for term in soup.select("[lang^=ko]"))
    served = TTFont(built_book / "_tfm" / "fonts" / "noto-sans-kr-glossary.woff").getBestCmap()
    missing = {letter for letter in words if "가" <= letter <= "힣" and ord(letter) not in served}
    assert words and not missing, (
        "take the glossary's syllables from Noto Sans CJK again (Debian: fonts-noto-cjk): pyftsubset NotoSansCJK-Regular.ttc "
        "--font-number=1 --flavor=woff --no-hinting --desubroutinize --layout-features= --text-file=chapters/glossary.md "
        "--text=가나다라마바사아자차카타파하 "
        "--output-file=tfm_book/site/theme/fonts/noto-sans-kr-glossary.woff"
    )


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("def f(x):\n    return x\n\nassert f(1) == 1", "Code: <code>f</code>"),
        ("class A: ...\n" + "".join(f"def {name}(): ...\n" for name in "bcde"), "Code: <code>A</code>, <code>b</code>, <code>c</code>, <code>d</code> …"),
        ("from tfm_lib.masking import leak, causal_mask\nassert_close(leak(1), 2)", "Code: <code>leak</code>, <code>causal_mask</code>"),
        ("from tfm_lib.drawing.display import show\nassert 1 < 2", "Code: the checks"),
        ("for x in y:\n    torch.testing.assert_close(x, y)", "Code: the checks"),
        ("%matplotlib inline", "Code"),
        ("a = 1", "Code"),
    ],
)  # fmt: skip
def test_a_folded_cell_says_what_it_holds(source, said) -> None:
    assert what_it_shows(source) == said


def test_folded_cells_of_a_page_do_not_all_say_the_same(soups) -> None:
    for page, soup in soups.items():
        labels = [box.summary.get_text() for box in soup.select("details.tfm-hidden-cell")]
        same = max(Counter(labels).values(), default=0)
        assert same <= max(4, 0.7 * len(labels)), f"{page}: {Counter(labels).most_common(2)}"


def test_a_prediction_can_be_read_without_scripts(soups) -> None:
    boxes = [box for soup in soups.values() for box in soup.select(".tfm-predict")]
    assert boxes
    for box in boxes:
        assert len(box.select("input[type=radio]")) >= 2
        assert len(box.select("[data-right]")) == 1
        assert box.select_one("details > summary") and box.select_one("details").get_text(strip=True)
    names = [box["data-predict"] for box in boxes]
    assert len(names) == len(set(names))


def test_the_big_picture_lights_the_block_of_its_chapter(soups) -> None:
    for stem in ("attention", "self_attention", "masking"):
        picture = soups[f"chapters/{stem}.html"].select_one(".tfm-big-picture svg")
        assert {group["data-block"] for group in picture.select(".lit")} == {stem}
        hrefs = {link["href"] for link in picture.select("a[href]")}
        assert hrefs and all((CHAPTERS / href.replace(".html", ".md")).exists() or href == "#" for href in hrefs)


def test_each_chapter_links_to_its_scene_of_the_film(soups) -> None:
    for path in CHAPTERS.glob("*.md"):
        link = soups[f"chapters/{path.stem}.html"].select_one(".tfm-film-link a")
        assert bool(link) == (path.stem in MOMENTS), path.stem
        if link:
            address, _, second = link["href"].partition("#tfm=transformer/film.0&value=")
            assert address == "intro.html"
            assert float(second) == pytest.approx(moment(path.stem) + 0.1)
    first = soups["chapters/intro.html"].select_one(".tfm-widget")
    assert first["data-module"] == "transformer/film"


def model(name: str, module: str = "anywidget", **state) -> dict:
    return {
        "model_name": name,
        "model_module": module,
        "state": {"_view_name": "V", "layout": "IPY_MODEL_lay", **state},
    }


def test_the_embedded_state_is_what_the_page_needs() -> None:
    state = {
        "lay": model("LayoutModel", "@jupyter-widgets/base"),
        "b2": model("AnyModel", _module="x/y", _esm="code", _css="style", value=None, friend="IPY_MODEL_c3"),
        "c3": model("AnyModel", _esm="foreign", v=1)
        | {"buffers": [{"path": ["d"], "data": "AQI=", "encoding": "base64"}]},
        "d4": model("AnyModel", _esm="never shown"),
        "l5": model(
            "LinkModel", "@jupyter-widgets/controls", source=["IPY_MODEL_b2", "v"], target=["IPY_MODEL_c3", "v"]
        ),
        "l6": model(
            "LinkModel", "@jupyter-widgets/controls", source=["IPY_MODEL_b2", "v"], target=["IPY_MODEL_d4", "v"]
        ),
    }
    kept, names = page_state(state, ["b2"])
    assert names == {"b2": "w1", "c3": "w2", "l5": "w3"}
    assert kept["w1"]["state"] == {"_module": "x/y", "value": None, "friend": "IPY_MODEL_w2"}
    assert kept["w2"]["state"] == {"_esm": "foreign", "v": 1} and kept["w2"]["buffers"][0]["data"] == "AQI="
    assert kept["w3"]["state"] == {"source": ["IPY_MODEL_w1", "v"], "target": ["IPY_MODEL_w2", "v"]}


def test_a_widget_without_a_state_is_missed() -> None:
    with pytest.raises(LostWidget, match="1 of 2 widgets"):
        page_state({"a": model("AnyModel", _module="x/y")}, ["a", "gone"])


def test_a_stock_widget_is_named_and_refused() -> None:
    stock = "@jupyter-widgets/controls"
    with pytest.raises(StockWidget, match="dead IntSlider"):
        page_state({"s": model("SliderStyleModel", stock), "a": model("IntSliderModel", stock)}, ["a"])


def test_what_would_be_dead_mute_or_unreadable_fails_the_build(toy_book, capfd) -> None:
    toy_book.edit(
        "_config.yml",
        "[tfm_book.site.cache]",
        "[sphinx_exercise, tfm_book.site.cache, tfm_book.site.extension]",
    )
    toy_book.edit(
        "_config.yml", "repository:", "parse: {myst_enable_extensions: [colon_fence, dollarmath]}\nrepository:"
    )
    toy_book.chapter(
        "one", "from ipywidgets import IntSlider; IntSlider()", "import matplotlib.pyplot as plt; plt.plot([1]);"
    )
    toy_book.write("chapters/intro.md", "# Intro\n\n$\\frac{1}{$\n\n:::{predict} p\nWhat?\n\n- [ ] a\n- [ ] b\n:::\n")
    assert toy_book.build() == 1
    said = " ".join(capfd.readouterr().err.split())
    assert "dead IntSlider" in said and "intro: KaTeX cannot read the formula" in said
    assert "without a text alternative" in said and "exactly one of them" in said


def test_the_drawn_table_of_the_paper_is_the_printed_one() -> None:
    """Scores and operations of chapter `evaluation`: as its first figure draws them, and as its table lists them."""
    text = (CHAPTERS / "evaluation.md").read_text(encoding="utf-8")
    drawn = literal_eval(text.split("de_cost, de, fr_cost, fr in ")[1].split("\n]\n")[0].strip())
    names = {"single": "{}", "ensemble": "{}, ensemble", "transformer": "**Transformer, {}**"}
    lines = text.split("| system |")[1].splitlines()[2:12]
    for (system, kind, de_cost, de, fr_cost, fr), line in zip(drawn, lines, strict=True):
        name, *cells = (cell.strip() for cell in line.strip("|").split("|"))
        costs = [cost and scientific(cost) for cost in (de_cost, fr_cost)]
        assert name == names[kind].format(system)
        assert cells == ["" if told is None else str(told) for told in (de, fr, *costs)]
