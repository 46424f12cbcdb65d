"""What the kit promises to every widget: words that are measured again when their font comes late, optional arguments."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from project import ROOT
from tiers import params
from widgets.samples import made, sampled

from browser.bench import Bench, bench

WIDE = ROOT / "frontend/node_modules/@fontsource-variable/jetbrains-mono/files/jetbrains-mono-latin-wght-normal.woff2"
LATE = ":root, .tfm-card { --tfm-sans: Late, sans-serif; }"
COME = """((font) => {
  document.fonts.add(font);
  return font.load();
})(new FontFace("Late", "url(late.woff2)", { weight: "100 800" }))"""


@pytest.fixture(scope="module")
def stand(tmp_path_factory, serve, contexts) -> Iterator[Bench]:
    folder: Path = tmp_path_factory.mktemp("bench")
    (folder / "late.woff2").write_bytes(WIDE.read_bytes())
    with bench(folder, serve, contexts) as made_bench:
        yield made_bench


@pytest.mark.parametrize("module", params(sampled(), ("masking/mask_editor", "training/training_replay")))
def test_a_font_that_comes_late_finds_the_words_where_it_wants_them(stand: Bench, module: str) -> None:
    """Drawn before its font has come, a widget looks afterwards as one that was drawn with it."""
    before, other = stand.show(made(module), made(module), style=LATE)
    before.page.evaluate(f"{COME}.then(() => document.fonts.ready)")
    before.page.evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done())))")
    (after, _) = stand.show(made(module), made(module), style=LATE, first=COME)
    assert before.look() == other.look() == after.look()


def test_a_heat_map_without_a_focused_row_lights_none(stand: Bench) -> None:
    (widget,) = stand.show(made("masking/mask_editor"))
    light = widget.page.evaluate(
        """() => {
          const ui = { until() {}, tip() {} };
          const map = tfmKit.heatmap(ui, { rows: ["a", "b"], cols: ["a", "b"], name: "free", label: "free", describe: () => "" });
          document.body.append(map.el);
          return new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => {
            const light = map.el.querySelector(".tfm-row-light");
            const look = () => [light.getAttribute("y"), getComputedStyle(light).display];
            const found = {};
            for (const [name, row] of [["none", undefined], ["one", 1], ["none again", undefined]]) {
              map.update({ values: [[0, 1], [1, 0]], row });
              found[name] = look();
            }
            done(found);
          })));
        }"""
    )
    assert light["none"] == [None, "none"]
    assert light["one"][1] != "none" and float(light["one"][0]) > 0
    assert light["none again"][1] == "none" and "NaN" not in str(light)


def test_keys_reach_every_cell_of_a_heat_map_that_is_no_square(stand: Bench) -> None:
    (widget,) = stand.show(made("masking/mask_editor"))
    walked = widget.page.evaluate(
        """async () => {
          const names = ["a", "b", "c", "d"], ui = { until() {}, tip() {} };
          const drawn = () => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done())));
          return Promise.all([[2, 4], [4, 2]].map(async ([n, m]) => {
            const map = tfmKit.heatmap(ui, { rows: names.slice(0, n), cols: names.slice(0, m), name: "free", label: "free", describe: (i, j) => `${i},${j}` });
            document.body.append(map.el);
            map.update({ values: Array.from({ length: n }, () => Array(m).fill(0)) });
            await drawn();
            map.el.querySelector("[tabindex='0']").focus();
            return ["End", "ArrowRight", "ArrowDown", "ArrowDown", "ArrowDown", "ArrowDown", "Home"].map((key) => {
              document.activeElement.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true }));
              return document.activeElement.getAttribute("aria-label");
            });
          }));
        }"""
    )
    assert walked == [
        ["0,3", "0,3", "1,3", "1,3", "1,3", "1,3", "1,0"],
        ["0,1", "0,1", "1,1", "2,1", "3,1", "3,1", "3,0"],
    ]


def test_a_plot_that_is_put_on_the_page_is_drawn_in_the_same_moment(stand: Bench) -> None:
    """A reader who looks at once, or takes a link or a picture, does not meet an empty plane."""
    (widget,) = stand.show(made("masking/mask_editor"))
    drawn = widget.page.evaluate(
        """() => {
          const axes = { x: { label: "x", domain: [0, 1] }, y: { label: "y", domain: [0, 1] } };
          return [[0, 1], [0, 2]].map((y) => {
            const plane = tfmKit.plot({ until() {} }, axes);
            const line = plane.line({ colour: "query" });
            document.body.append(plane.el);
            plane.domain({ x: [0, 1], y });
            line([[0, 0], [1, 1]]);
            return [Number(plane.el.querySelector("svg").getAttribute("width")), line_of(plane.el)];
          });
          function line_of(el) { return el.querySelector(".tfm-line").getAttribute("d"); }
        }"""
    )
    assert all(width > 200 and path for width, path in drawn)
    assert drawn[0] != drawn[1]


def test_a_card_that_is_used_does_not_shrink_until_its_width_changes_or_reset(stand: Bench) -> None:
    (widget,) = stand.show(made("masking/mask_editor"))
    page, card = widget.page, widget.box.locator(".tfm-card")

    def height_with(stage: str) -> int:
        card.locator("[data-stage]").evaluate("(stage, height) => (stage.style.height = height)", stage)
        page.evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done())))")
        return card.evaluate("(card) => card.offsetHeight")

    own = height_with("")
    assert height_with("2000px") > 2000 and height_with("") == own, "nobody has used it"
    widget.reach(name := next(widget.usable()))
    widget.press(*widget.moves(name)[0])
    assert (tall := height_with("2000px")) > 2000 and height_with("") == tall
    card.locator('[data-action="reset"]').dispatch_event("click")
    assert height_with("") == own
