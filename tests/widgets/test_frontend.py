"""The front end computes what the library computes, and stays small."""

import gzip
import importlib.util
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from widgets.samples import MODULES

ROOT = Path(__file__).parents[2]
FRONTEND = ROOT / "frontend"
KILOBYTE = 1024


def node(*arguments: str, **environment: str) -> str:
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    program = shutil.which("node", path=path)
    assert program, "Node is missing: run `make test`, which installs it."
    run = subprocess.run(
        [program, *arguments],
        cwd=FRONTEND,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stdout + run.stderr
    return run.stdout


@pytest.fixture(scope="module")
def built(tmp_path_factory) -> Path:
    """The bundles, built from the sources as they are now."""
    assert (FRONTEND / "node_modules" / "esbuild").is_dir(), (
        "The front end is not installed: run `make test`, or `npm ci` in frontend/."
    )
    target = tmp_path_factory.mktemp("static")
    node("build.mjs", TFM_STATIC=str(target))
    return target


def golden_writers() -> list[Path]:
    return sorted(Path(__file__).parent.glob("golden_*.py"))


def test_numbers_in_the_browser_are_those_of_the_library() -> None:
    folder = FRONTEND / "tests" / "golden"
    folder.mkdir(exist_ok=True)
    for path in golden_writers():
        spec = importlib.util.spec_from_file_location(path.stem, path)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        (folder / f"{path.stem.removeprefix('golden_')}.json").write_text(
            json.dumps(module.numbers()), encoding="utf-8"
        )
    tests = sorted(path.relative_to(FRONTEND).as_posix() for path in FRONTEND.glob("tests/*.test.mjs"))
    report = node("--test", "--test-reporter=tap", *tests)
    assert "# fail 0" in report and "# skipped 0" in report, report


@pytest.mark.parametrize("stem", sorted({name.split("/")[0] for name in MODULES}))
def test_every_chapter_with_a_widget_compares_its_numbers(stem: str) -> None:
    assert (Path(__file__).parent / f"golden_{stem}.py").exists()
    assert f'golden("{stem}")' in (FRONTEND / "tests" / f"{stem}.test.mjs").read_text(encoding="utf-8")


def test_kit_is_small(built: Path) -> None:
    assert compressed(built / "page/kit.js") <= 17 * KILOBYTE
    assert compressed(built / "page/widgets.css") <= 4 * KILOBYTE


def test_the_machine_of_the_page_is_small(built: Path) -> None:
    assert compressed(built / "page/twin.js") <= 25 * KILOBYTE
    assert compressed(built / "page/engine.js") <= 30 * KILOBYTE
    assert compressed(built / "page/storyteller.js") <= 8 * KILOBYTE


@pytest.mark.parametrize("name", MODULES)
def test_a_widget_is_small(built: Path, name: str) -> None:
    larger = {
        "assistant/talk": (5.5, 18),
        "decoding/translator": (4.5, 20),
        "transformer/film": (9.5, 24),
        "playground/playground": (8, 20),
    }  # the story's truth; three widgets' controls; fourteen scenes, told in words too; every part of a model has its switch
    alone, whole = larger.get(name, (4, 18))
    assert compressed(built / f"page/{name}.js") <= alone * KILOBYTE
    assert compressed(built / f"{name}.js") <= whole * KILOBYTE  # with the parts of the kit that it uses


def test_bundles_import_nothing_and_ask_nothing_of_the_network(built: Path) -> None:
    for path in built.rglob("*.js"):
        text = path.read_text(encoding="utf-8").replace("http://www.w3.org/2000/svg", "")
        for forbidden in ("http:", "https:", "fetch(", "import(", "XMLHttpRequest"):
            asks_home = path.name in ("host.js", "write.js")  # the place that the page comes from
            assert asks_home or forbidden not in text, f"{path.name} holds {forbidden}"


def test_building_twice_gives_the_same_bytes(built: Path, tmp_path: Path) -> None:
    node("build.mjs", TFM_STATIC=str(tmp_path))
    first = {path.relative_to(built): path.read_bytes() for path in built.rglob("*") if path.is_file()}
    second = {path.relative_to(tmp_path): path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    assert first == second


def test_lock_file_names_no_host() -> None:
    lock = json.loads((FRONTEND / "package-lock.json").read_text(encoding="utf-8"))
    assert not [name for name, package in lock["packages"].items() if "resolved" in package]


def compressed(path: Path) -> int:
    return len(gzip.compress(path.read_bytes(), mtime=0))
