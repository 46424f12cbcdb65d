"""What we do to private parts of other projects stands in one file, and each part says when it may go."""

import ast
import inspect
import re
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

import pytest
from project import ROOT

from tfm_book.site import patches
from tfm_book.site.highlighting import coloured, few_words

HOME = ROOT / "tfm_book" / "site" / "patches.py"
OURS = [path for path in (ROOT / "tfm_book").rglob("*.py") if path != HOME]


def foreign_names(tree: ast.Module) -> set[str]:
    """What a module binds by importing it from elsewhere than this library and the standard library's `__future__`."""
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and not (node.module or "").startswith("tfm_lib") and node.level == 0:
            found |= {alias.asname or alias.name for alias in node.names}
        elif isinstance(node, ast.Import):
            found |= {(alias.asname or alias.name).partition(".")[0] for alias in node.names}
    return found


def reached_into(source: str) -> list[str]:
    """The private modules and names of other projects that a source imports, and what it assigns to what is theirs."""
    tree = ast.parse(source)
    foreign = {name for name in foreign_names(tree) if name[:1].isupper()}  # classes: modules' settings are for setting
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.level == 0 and not (node.module or "").startswith("tfm_lib"):
            names = [*(node.module or "").split("."), *(alias.name for alias in node.names)]
            found += [name for name in names if re.match(r"_[a-zA-Z]", name)]
        targets = node.targets if isinstance(node, ast.Assign) else []
        found += [
            f"{target.value.id}.{target.attr}"
            for target in targets
            if isinstance(target, ast.Attribute) and isinstance(target.value, ast.Name) and target.value.id in foreign
        ]
    return found


def test_nobody_else_reaches_into_private_parts():
    reached = {str(path.relative_to(ROOT)): reached_into(path.read_text(encoding="utf-8")) for path in OURS}
    assert {path: names for path, names in reached.items() if names} == {}


def test_reaching_in_would_be_seen():
    assert reached_into("from sphinx.builders.html._assets import _JavaScript") == ["_assets", "_JavaScript"]
    assert reached_into("from x import Bridge\nBridge.formatter = 1") == ["Bridge.formatter"]
    assert reached_into(HOME.read_text(encoding="utf-8")) != []


def test_each_patch_has_its_reason_and_the_version_it_was_seen_with():
    doing = [node for node in ast.parse(HOME.read_text(encoding="utf-8")).body if isinstance(node, ast.FunctionDef)]
    told = {node.name: ast.get_docstring(node) or "" for node in doing}
    seen = {
        "build_sphinx": "jupyter-book 1.0.4",
        "stylesheet": "Sphinx 7.4",
        "set_figure_numbers": "Sphinx 7.4",
        "find_plugins_once": "pybtex 0.26",
    }
    for name, version in seen.items():
        assert version in told[name]


# when each may go


def test_whether_jupyter_book_offers_a_build_that_takes_settings():
    import jupyter_book

    assert not hasattr(jupyter_book, "build"), "jupyter_book.build is there: call it in patches.build_sphinx."
    takes = inspect.signature(patches.require_sphinx()).parameters
    assert {"path_config", "confoverrides", "warningiserror", "keep_going", "freshenv", "force_all"} <= takes.keys()


def test_whether_jsonschema_still_compiles_grammars_when_it_is_imported():
    formats = Path(find_spec("jsonschema").submodule_search_locations[0]) / "_format.py"
    assert "rfc3987_syntax" in formats.read_text(encoding="utf-8"), (
        "jsonschema no longer imports rfc3987_syntax: patches.require_sphinx need not hide it."
    )


def test_whether_pybtex_still_searches_every_package_for_each_plugin(monkeypatch):
    import pybtex.plugin

    searched = []
    monkeypatch.setattr(pybtex.plugin, "entry_points", lambda **asked: searched.append(asked) or ())
    find = getattr(pybtex.plugin._load_entry_point, "__wrapped__", pybtex.plugin._load_entry_point)
    for _ in range(2):
        with pytest.raises(pybtex.plugin.PluginNotFound):
            find("pybtex.backends", "none")
    assert len(searched) == 2, "pybtex remembers its plugins itself: patches.find_plugins_once can go."


def test_whether_sphinx_serves_assets_from_a_folder_of_ours(tmp_path):
    with plain_sphinx(tmp_path, {"index": "Title\n=====\n"}) as app:
        app.add_js_file("_ours/book.js")
    names = {str(each.filename) for each in app.builder._js_files}
    assert "_static/_ours/book.js" in names, (
        "app.add_js_file keeps the path it is given: patches.script and patches.stylesheet can be replaced by it."
    )
    assert "_ours/book.js" not in names


def test_whether_sphinx_counts_figures_anew_on_each_page(tmp_path):
    figure = ".. figure:: {}.png\n\n   A caption.\n"
    pages = {name: f"{name}\n====\n\n{figure.format(name)}" for name in ("one", "two")}
    with plain_sphinx(tmp_path, {"index": "Title\n=====\n\n.. toctree::\n\n   one\n   two\n", **pages}, "dummy") as app:
        app.build()
    numbers = [list(patches.figure_numbers(app.env)[name]["figure"].values()) for name in ("one", "two")]
    assert numbers == [[(1,)], [(2,)]], "Sphinx counts figures as we do: numbering.py and its two patches may go."


@contextmanager
def plain_sphinx(folder: Path, pages: dict[str, str], builder: str = "html"):
    """A book of Sphinx's own, with nothing of ours; "dummy" reads it and writes no page, which needs no theme."""
    from sphinx.application import Sphinx
    from sphinx.util.docutils import docutils_namespace

    for name, text in pages.items():
        (folder / f"{name}.rst").write_text(text, encoding="utf-8")
    with docutils_namespace():
        settings = {"numfig": True, "numfig_secnum_depth": 0}
        places = folder, None, folder / "html", folder / "trees"
        yield Sphinx(*places, builder, confoverrides=settings, status=None, warning=None)


# what went for a public way


@pytest.mark.parametrize("source", ["def f(x):\n    return x['a'] + 1  # why\n", 'class A(B):\n    """Doc."""\n'])
def test_listings_carry_elements_for_coloured_words_only(source):
    from pygments import highlight
    from pygments.formatters import HtmlFormatter
    from pygments.lexers import PythonLexer

    html = highlight(source, PythonLexer(), HtmlFormatter())
    shown = few_words(html)
    assert re.sub("<[^>]+>", "", shown) == re.sub("<[^>]+>", "", html)
    left = {name for names in re.findall(r'<span class="([^"]+)"', shown) for name in names.split()}
    assert left
    assert left <= coloured()
    assert '<span class="n">' in html
    assert few_words('<p><span class="n">prose</span></p>') == '<p><span class="n">prose</span></p>'
