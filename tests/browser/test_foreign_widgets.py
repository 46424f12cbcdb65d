"""The page's host with anywidgets of others: modules as text, linked in the page, with bytes among their traits."""

import base64
import json
import struct
from pathlib import Path

import pytest

from browser.driving import until

SLIDER = """
export default {
  initialize({ model }) { model.set("started", true); },
  render({ model, el }) {
    const input = Object.assign(document.createElement("input"), { type: "range", min: 0, max: 10 });
    input.setAttribute("aria-label", "number");
    const show = () => { input.value = model.get("value"); };
    input.addEventListener("input", () => { model.set("value", Number(input.value)); model.save_changes(); });
    model.on("change:value", show);
    show();
    el.append(input);
  },
};"""

BYTES = """
export default () => ({
  render({ model, el }) {
    const bytes = model.get("bytes");
    const show = () => { el.textContent = `${model.get("value")} ${new Float32Array(bytes.buffer, bytes.byteOffset, 2).join(" ")}`; };
    model.on("change:value", show);
    show();
  },
});"""


def anywidget(esm: str, **state: object) -> dict:
    return {
        "model_name": "AnyModel",
        "model_module": "anywidget",
        "state": {"_esm": esm, "_css": ".own { color: rgb(1, 2, 3) }", **state},
    }


def link(name: str, source: str, target: str) -> dict:
    ends = {"source": [f"IPY_MODEL_{source}", "value"], "target": [f"IPY_MODEL_{target}", "value"]}
    return {"model_name": name, "model_module": "@jupyter-widgets/controls", "state": ends}


@pytest.mark.parametrize("at", ["http", "file"])
def test_links_between_foreign_widgets_live_in_the_page(
    visit, serve, built_book: Path, tmp_path: Path, at: str
) -> None:
    number = base64.b64encode(struct.pack("<2f", 0.5, 2.0)).decode()
    state = {
        "a": anywidget(SLIDER, value=3),
        "b": anywidget(SLIDER, value=8),
        "c": {
            **anywidget(BYTES, value=0, bytes=None),
            "buffers": [{"path": ["bytes"], "data": number, "encoding": "base64"}],
        },
        "both": link("LinkModel", "a", "b"),
        "one": link("DirectionalLinkModel", "b", "c"),
    }
    (tmp_path / "host.js").write_bytes((built_book / "_widgets" / "host.js").read_bytes())
    (tmp_path / "foreign.html").write_text(
        "<!doctype html><title>foreign</title><link rel=icon href='data:,'>"
        + "".join(f'<div class="tfm-widget" data-model="{model}"></div>' for model in "abcb")
        + f'<script type="application/vnd.jupyter.widget-state+json">{json.dumps({"state": state})}</script>'
        + '<script src="host.js" defer></script>'
    )
    base = serve(tmp_path) if at == "http" else tmp_path.as_uri() + "/"
    page = visit.blank(base)
    page.goto(base + "foreign.html")
    boxes = page.locator(".tfm-widget")
    until(page, "[...document.querySelectorAll('.tfm-widget')].every((box) => box.dataset.state === 'live')")
    sliders, shown = page.locator("input"), boxes.nth(2)

    def values() -> list[str]:
        return [slider.input_value() for slider in sliders.all()]

    assert values() == ["3", "3", "3"] and shown.inner_text() == "3 0.5 2"
    sliders.first.press("ArrowRight")
    assert values() == ["4", "4", "4"] and shown.inner_text() == "4 0.5 2"
    sliders.last.press("End")  # a second view of b
    assert values() == ["10", "10", "10"] and shown.inner_text() == "10 0.5 2"
    assert page.locator("style").count() == 1, "a style that several widgets share reaches the page once"
