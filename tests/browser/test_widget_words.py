"""All that a widget says can be replaced: in a language of its own, no plain word is left on the screen."""

import json
from collections.abc import Iterator

import pytest
from tiers import params
from widgets.pseudo import data_of, pseudo, strings, untranslated
from widgets.samples import kind, made, sample, sampled

from browser.bench import Bench, bench, plain_state

TRANSLATE = r"""(async () => {
  const other = (word) => word.replace(/\{[^}]*\}|[A-Za-z]/g, (found) => (found.length > 1 ? found : String.fromCodePoint(found.codePointAt(0) + 0xfee0)));
  const replace = (words) => Object.entries(words).forEach(([name, each]) => (typeof each === "string" ? (words[name] = other(each)) : replace(each)));
  replace(tfmKit.WORDS);
  Object.values(tfmWidgets).forEach(({ words }) => replace(words));
})()"""
SEEN = """(box) => {
  const found = [];
  const spoken = ["aria-label", "aria-valuetext", "aria-description", "title", "placeholder", "alt"];
  const tell = (node) => {
    if (node.nodeType === Node.TEXT_NODE) return void found.push(node.data);
    if (node.nodeType !== Node.ELEMENT_NODE || node.localName === "style") return;
    spoken.forEach((name) => node.hasAttribute(name) && found.push(node.getAttribute(name)));
    node.childNodes.forEach(tell);
  };
  tell(box);
  return found;
}"""
KEPT = {"masking/mask_editor", "positional/encoding", "training/training_replay"}
FILES = {"SVG", "PNG", "CSV"}  # names of formats


@pytest.fixture(scope="module")
def stand(tmp_path_factory, serve, contexts) -> Iterator[Bench]:
    with bench(tmp_path_factory.mktemp("bench"), serve, contexts) as made_bench:
        yield made_bench


@pytest.mark.parametrize("module", params(sampled(), KEPT))
def test_no_word_stands_outside_the_words_at_the_head_of_the_file(stand: Bench, module: str, monkeypatch) -> None:
    monkeypatch.setattr(kind(module), "words", pseudo(kind(module).words))
    widgets = [made(module, **state) for state in ({}, *sample(module).states)]
    for widget, shown in zip(widgets, stand.show(*widgets, first=TRANSLATE), strict=True):
        data = data_of(plain_state(widget))
        for text in shown.box.evaluate(SEEN):
            left = [word for word in untranslated(text, data) if word not in FILES]
            assert not left, f"{text!r}: put {', '.join(left)} into WORDS at the head of {module}.js"


@pytest.mark.parametrize("module", params(sampled(), KEPT))
def test_what_both_sides_say_is_said_once(stand: Bench, module: str) -> None:
    widget = made(module)
    (shown,) = stand.show(widget)
    here = json.loads(shown.page.evaluate(f"JSON.stringify(tfmWidgets[{module!r}].words)"))
    twice = {text for text in strings(here, keys=False) if " " in text.strip()} & set(
        strings(vars(kind(module).words), keys=False)
    )
    assert not twice, f"{', '.join(twice)}: keep it in `shared` of the Python side, and read ui.get('shared') here"
