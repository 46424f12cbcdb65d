"""The widgets in a real JupyterLab: what is moved on the screen reaches the kernel, what a cell sets reaches the screen."""

from __future__ import annotations

import contextlib
import json
import os
import re
import secrets
import shutil
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import NamedTuple
from urllib.parse import parse_qsl

import nbformat
import pytest
from playwright.sync_api import Page
from reading import end
from tiers import params
from widgets.samples import MODULES, importing, sample, sampled

from browser.driving import Widget
from tfm_book.notebooks.working_copy import lab_settings

pytestmark = pytest.mark.long  # a server and a kernel, two minutes before the first question
SAMPLED = sampled()
# JupyterLab 4.6 throws this at any save, its own every two minutes among them, whether widgets' state is kept or not;
# all stands as it stood.
AT_A_SAVE = "Failed to execute 'removeChild' on 'Node': The node to be removed is not a child of this node."
# anywidget rejects a promise if a model needs more than two seconds, as on a machine at work, and then shows its view all
# the same; each test below waits for the view itself.
AFTER_TWO_SECONDS = "[anywidget] Failed to initialize model."
STARTS_WITHIN = 180  # seconds
KERNEL_ANSWERS = 240_000  # milliseconds: the first cell imports torch


class Server(NamedTuple):
    base: str
    token: str
    log: Path


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """JupyterLab over a folder with one notebook: no settings of anybody's, no news, no look for updates."""
    home = tmp_path_factory.mktemp("lab")
    (home / "notebooks").mkdir()
    cells = [nbformat.v4.new_code_cell("\n".join(["import json, torch", *map(importing, SAMPLED)]))]
    cells += [nbformat.v4.new_code_cell(f"w{i} = {sample(module).code}\nw{i}") for i, module in enumerate(SAMPLED)]
    cells += [nbformat.v4.new_code_cell("# to try things")]
    nbformat.write(nbformat.v4.new_notebook(cells=cells, metadata=KERNEL), home / "notebooks" / "widgets.ipynb")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    token, log = secrets.token_hex(16), home / "lab.log"
    options = {
        "ServerApp.ip": "127.0.0.1",
        "ServerApp.port": port,
        "ServerApp.port_retries": 0,
        "ServerApp.root_dir": home / "notebooks",
        "ServerApp.allow_root": True,
        "IdentityProvider.token": token,
        "LabApp.expose_app_in_browser": True,
        "LabApp.news_url": "",
        "LabApp.check_for_updates_class": "jupyterlab.handlers.announcements.NeverCheckForUpdate",
        "LabApp.extension_manager": "readonly",
    }
    own = {
        name: str(home / name.lower())
        for name in (
            "JUPYTER_CONFIG_DIR",
            "JUPYTER_DATA_DIR",
            "JUPYTER_RUNTIME_DIR",
            "IPYTHONDIR",
            "JUPYTERLAB_SETTINGS_DIR",
            "JUPYTERLAB_WORKSPACES_DIR",
        )
    }
    command = [
        sys.executable,
        "-m",
        "jupyterlab",
        "--no-browser",
        *(f"--{name}={value}" for name, value in options.items()),
    ]
    with log.open("w") as output:
        process = subprocess.Popen(
            command,
            cwd=home,
            env={**os.environ, **own, **lab_settings()},
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    server = Server(f"http://127.0.0.1:{port}/", token, log)
    try:
        wait_for(server, process)
        yield server
    finally:
        end(process)


KERNEL = {
    "kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"},
    "language_info": {"name": "python"},
}


def wait_for(server: Server, process: subprocess.Popen) -> None:
    until = time.monotonic() + STARTS_WITHIN
    while time.monotonic() < until:
        if process.poll() is not None:
            break
        with contextlib.suppress(urllib.error.URLError, ConnectionError, TimeoutError):
            urllib.request.urlopen(f"{server.base}api/status?token={server.token}", timeout=5).close()
            return
        time.sleep(0.2)
    pytest.fail(f"JupyterLab did not start:\n{server.log.read_text()[-3000:]}", pytrace=False)


class Notebook:
    """The open notebook: its cells run, and what the last one prints."""

    def __init__(self, page: Page) -> None:
        self.page = page

    def command(self, name: str) -> None:
        self.page.evaluate("(name) => jupyterapp.commands.execute(name)", name)

    def run(self, code: str) -> str:
        """What a cell with this code prints."""
        return self.page.evaluate(
            """async (code) => {
              const panel = jupyterapp.shell.currentWidget;
              const { content } = panel;
              content.activeCellIndex = content.widgets.length - 1;
              content.activeCell.model.sharedModel.setSource(code);
              await jupyterapp.commands.execute("notebook:run-cell");
              const { outputs } = content.widgets[content.widgets.length - 1].model;
              return outputs.toJSON().map((output) => output.text ?? output.traceback?.join("\\n") ?? "").join("");
            }""",
            code,
        )

    def value(self, expression: str) -> object:
        return json.loads(self.run(f"print(json.dumps({expression}))"))

    def until(self, expression: str, expected: object) -> None:
        """Ask the kernel until it says so: what the screen sends may wait for an earlier message's answer."""
        for _ in range(200):
            if (said := self.value(expression)) == expected:
                return
        assert said == expected


@pytest.fixture(scope="module")
def notebook(lab: Server, browser) -> Iterator[Notebook]:
    """The notebook, opened and run from top to bottom, in a browser that may ask JupyterLab only."""
    context = browser.new_context(
        viewport={"width": 1400, "height": 1000},
        reduced_motion="reduce",
        permissions=["clipboard-read", "clipboard-write"],
    )
    context.set_default_timeout(KERNEL_ANSWERS)
    page = context.new_page()
    asked, errors = [], []
    page.on("request", lambda request: asked.append(request.url))
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.goto(f"{lab.base}lab/tree/widgets.ipynb?token={lab.token}")
    page.wait_for_function("globalThis.jupyterapp?.shell.currentWidget?.content?.widgets?.length > 1")
    page.evaluate("jupyterapp.restored")
    page.evaluate("jupyterapp.shell.currentWidget.sessionContext.ready")
    book = Notebook(page)
    page.evaluate("jupyterapp.commands.execute('notebook:run-all-cells')")
    page.locator(".tfm-card").nth(len(SAMPLED) - 1).wait_for()
    yield book
    outside = [url for url in asked if not url.startswith((lab.base, "data:", "blob:"))]
    context.close()
    assert not outside, f"JupyterLab's page asks elsewhere: {outside}"
    assert {*errors} <= {AT_A_SAVE, AFTER_TWO_SECONDS}


def place(module: str) -> int:
    """The widget's number in the notebook; without a sample it is not there, and the test says what to write."""
    assert sample(module)
    return SAMPLED.index(module)


def card(notebook: Notebook, module: str) -> Widget:
    outputs = notebook.page.locator(".jp-OutputArea-output", has=notebook.page.locator(".tfm-card"))
    box = outputs.nth(place(module))
    box.scroll_into_view_if_needed()
    return Widget(notebook.page, box=box)


EACH = pytest.mark.parametrize("module", params(MODULES, ("alignment/alignment", "positional/encoding"), rest=()))


@EACH
def test_what_is_moved_on_the_screen_reaches_the_kernel(notebook: Notebook, module: str) -> None:
    widget, name = card(notebook, module), f"w{place(module)}"
    first = notebook.value(f"{{trait: held for trait, held in {name}.get_state().items() if trait[0] != '_'}}")
    seen = {}  # each trait that a link has held, as the kernel had it first
    for control in widget.controls():
        if widget.controls()[control]["off"]:
            widget.enable(control)
        widget.reach(control)
        for keys in widget.moves(control):
            assert widget.changed_by(*keys), f"{control}: {' '.join(keys)} changes nothing on the screen"
        said = dict(parse_qsl(widget.link().partition("&")[2], keep_blank_values=True))
        shown = {trait: text if isinstance(first[trait], str) else json.loads(text) for trait, text in said.items()}
        seen |= {trait: first[trait] for trait in shown}
        notebook.until(f"{{trait: getattr({name}, trait) for trait in {list(seen)}}}", seen | shown)
    assert seen, "no link held what was moved"
    widget.reset()
    notebook.until(f"{{trait: getattr({name}, trait) for trait in {list(seen)}}}", seen)


@EACH
def test_what_a_cell_sets_reaches_the_screen(notebook: Notebook, module: str) -> None:
    widget, name = card(notebook, module), f"w{place(module)}"
    widget.reset()
    tried = sample(module)
    assert tried.says not in widget.readout()
    assert notebook.run(f"{name}.{tried.change}") == ""
    widget.box.locator(".tfm-readout", has_text=tried.says).wait_for()


def test_the_playground_trains_and_the_kernel_gets_its_run(notebook: Notebook) -> None:
    """The kernel sends the engine once, and a saved notebook does not hold it."""
    widget, name = card(notebook, "playground/playground"), f"w{place('playground/playground')}"
    widget.reset()
    notebook.until(f"{name}.trained", False)  # what comes back of the reset would end a training begun before
    train = widget.box.locator('[data-control="train"]')
    train.click()
    widget.box.locator(".tfm-readout", has_text=re.compile(r"Update (2[5-9]|[3-9]\d|\d{3}) of")).wait_for()
    train.click()
    notebook.until(f"{name}.trained and len({name}.moments) > 1 and {name}.moments[-1]['step'] >= 25", True)
    notebook.until(f"[{name}.engine, {name}.wanted]", ["", False])
    widget.reset()


def test_widgets_follow_the_theme_of_jupyterlab(notebook: Notebook) -> None:
    change = "(theme) => jupyterapp.commands.execute('apputils:change-theme', { theme })"
    ground = "() => getComputedStyle(document.querySelector('.tfm-card')).backgroundColor"
    light = notebook.page.evaluate(ground)
    notebook.page.evaluate(change, "JupyterLab Dark")
    notebook.page.wait_for_function(f"(light) => ({ground})() !== light", arg=light)
    notebook.page.evaluate(change, "JupyterLab Light")
    notebook.page.wait_for_function(f"(light) => ({ground})() === light", arg=light)


@pytest.mark.release
def test_tomorrow_every_widget_is_there_and_moves_before_a_cell_has_run(
    notebook: Notebook, lab: Server, browser
) -> None:
    page = notebook.page
    page.evaluate("jupyterapp.shell.currentWidget.context.save()")
    assert page.locator(".tfm-card").count() == len(SAMPLED)
    notebooks = lab.log.parent / "notebooks"
    shutil.copyfile(notebooks / "widgets.ipynb", notebooks / "tomorrow.ipynb")  # a file that no kernel knows
    context = browser.new_context(viewport={"width": 1400, "height": 1000}, reduced_motion="reduce")
    context.set_default_timeout(KERNEL_ANSWERS)
    tomorrow, errors = context.new_page(), []
    tomorrow.on("pageerror", lambda error: errors.append(str(error)))
    tomorrow.goto(f"{lab.base}lab/tree/tomorrow.ipynb?reset&token={lab.token}")
    tomorrow.locator(".tfm-card").nth(len(SAMPLED) - 1).wait_for()
    assert tomorrow.get_by_text("model not found").count() == 0
    assert tomorrow.locator(".tfm-card").count() == len(SAMPLED)
    for module in SAMPLED:
        widget = card(Notebook(tomorrow), module)
        tried = []
        for control in islice(widget.usable(), 3):  # the slider of a saved run that was cut short moves nothing
            widget.reach(control)
            tried += [widget.changed_by(*keys) for keys in widget.moves(control)]
        assert any(tried), module
    context.close()
    assert {*errors} <= {AT_A_SAVE, AFTER_TWO_SECONDS}
