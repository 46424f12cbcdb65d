"""Execute stale chapters before Sphinx reads them, and keep the outputs in Jupyter's cache.

A chapter is executed again when its code cells, a file that they depend on, or the main versions change; not when its
prose changes. This is a Sphinx extension, so that `jupyter-book build .` does the same as `tfm build`.
"""

from __future__ import annotations

import hashlib
import platform
from collections.abc import Iterable
from copy import deepcopy
from glob import escape
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tfm_book.site.dependencies import KnownSources, dependencies
from tfm_book.site.runner import Job, Run, run_notebooks, watcher

if TYPE_CHECKING:
    from nbformat import NotebookNode
    from sphinx.application import Sphinx
    from sphinx.environment import BuildEnvironment

MAIN_PACKAGES = ("torch", "numpy", "matplotlib", "ipywidgets", "anywidget")


def execution_key(cells: Iterable[str], folder: Path, root: Path, known: KnownSources | None = None) -> str:
    """Return a hash of everything that executing the code `cells` in `folder` depends on."""
    cells = list(cells)
    digest = hashlib.sha256(_versions().encode())
    for cell in cells:
        digest.update(b"\0cell\0" + cell.encode())
    for path in dependencies(cells, folder, root, known):
        name = path.relative_to(root).as_posix() if root in path.parents else path.name
        digest.update(b"\0file\0" + name.encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()


def execute_chapters(
    app: Sphinx, env: BuildEnvironment, added: set[str], changed: set[str], removed: set[str]
) -> list[str]:
    """Execute what is stale; return the pages whose outputs have changed since they were last read."""
    if env.mystnb_config.execution_mode != "cache":
        return []
    from jupyter_cache import get_cache

    cache = get_cache(env.mystnb_config.execution_cache_path)
    only = app.config.tfm_only
    states: dict[str, str] = {}  # page → key of its outputs
    shown_without_outputs: list[str] = []
    jobs: dict[str, tuple[str, str]] = {}  # name → page, key
    work: list[Job] = []
    known = KnownSources(getattr(env, "tfm_sources", None))
    for page, notebook in _notebooks(env):
        path = Path(env.doc2path(page))
        cells = [cell.source for cell in notebook.cells if cell.cell_type == "code"]
        if not cells:
            shown_without_outputs.append(page)
            continue
        key = execution_key(cells, path.parent, Path(app.srcdir), known)
        record = _record(cache, notebook)
        fresh = record is not None and record.data.get("key") == key
        if only and page not in only and record is not None:
            states[page] = record.data.get("key", "")  # perhaps stale, but another chapter was asked for
        elif fresh and not (app.config.tfm_force and (not only or page in only)):
            states[page] = key
        else:
            _forget(cache, path)
            name = page.removeprefix("chapters/")
            jobs[name] = page, key
            work.append(Job(name, deepcopy(notebook), path.parent))  # it gets the outputs

    failed: list[Run] = []

    def keep(run: Run) -> None:
        page, key = jobs[run.job.name]
        if run.failure:
            states[page] = "failed"
            shown_without_outputs.append(page)
            failed.append(run)
        else:
            states[page] = key
            _remember(cache, Path(env.doc2path(page)), run, key)

    if work:
        with watcher(len(work)) as watching:
            run_notebooks(work, watching, timeout=env.mystnb_config.execution_timeout, done=keep)
    _report(app, failed)
    env.mystnb_config = env.mystnb_config.copy(
        execution_excludepatterns=[
            *env.mystnb_config.execution_excludepatterns,
            *(escape(env.doc2path(page)) for page in shown_without_outputs),
        ]
    )
    before = getattr(env, "tfm_executions", {})
    env.tfm_executions, env.tfm_sources = states, known.read
    executed = {page for page, _ in jobs.values()}
    return [page for page in states if page in executed or states[page] != before.get(page)]


def _notebooks(env: BuildEnvironment) -> Iterable[tuple[str, NotebookNode]]:
    """Yield the pages that are notebooks, read as myst-nb reads them; leave unreadable ones for myst-nb to report.

    Reading a page takes a twentieth of a second, so its notebook is kept from the build before if its text is the same.
    """
    from myst_nb.core.read import MystMetadataParsingError, create_nb_reader

    before, read = getattr(env, "tfm_notebooks", {}), {}
    for page in sorted(env.found_docs):
        path = env.doc2path(page)
        text = Path(path).read_text(encoding="utf-8")
        digest = hashlib.sha256(text.encode()).digest()
        if before.get(page, (None, None))[0] == digest:
            notebook = before[page][1]
        elif reader := create_nb_reader(path, env.myst_config, env.mystnb_config, text):
            try:
                notebook = reader.read(text)
            except MystMetadataParsingError:
                continue
        else:
            continue
        read[page] = digest, notebook
        yield page, notebook
    env.tfm_notebooks = read


def _record(cache: Any, notebook: NotebookNode) -> Any:
    try:
        return cache.match_cache_notebook(notebook)
    except KeyError:
        return None


def _forget(cache: Any, path: Path) -> None:
    """Drop every older execution of the notebook at `path`."""
    for record in cache.list_cache_records():
        if record.uri == str(path):
            cache.remove_cache(record.pk)


def _remember(cache: Any, path: Path, run: Run, key: str) -> None:
    from jupyter_cache.base import CacheBundleIn

    data = {"execution_seconds": run.seconds, "key": key}
    bundle = CacheBundleIn(run.job.notebook, str(path), data=data)
    cache.cache_notebook_bundle(bundle, check_validity=False, overwrite=True)


def _report(app: Sphinx, failed: list[Run]) -> None:
    """Report the failed cells, and suppress warnings about the outputs and glued numbers that are then missing."""
    from sphinx.util.logging import getLogger

    logger = getLogger(__name__)
    for run in failed:
        logger.warning("chapter %s, %s", run.job.name, run.failure, type="tfm", subtype="execution")
    if failed:  # this build fails anyway; the next one shows myst-nb's other warnings
        app.config.suppress_warnings = [*app.config.suppress_warnings, "mystnb", "myst-nb"]


def _versions() -> str:
    def of(package: str) -> str:
        try:
            return version(package)
        except PackageNotFoundError:
            return "-"

    python = ".".join(platform.python_version_tuple()[:2])
    return " ".join([f"python {python}", *(f"{package} {of(package)}" for package in MAIN_PACKAGES)])


def setup(app: Sphinx) -> dict[str, Any]:
    app.add_config_value("tfm_only", (), "")  # the pages to execute; the others keep their outputs
    app.add_config_value("tfm_force", False, "")  # execute even if nothing changed
    app.connect("env-get-outdated", execute_chapters)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
