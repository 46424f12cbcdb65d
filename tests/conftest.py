"""What all tests share: shapes in signatures are executed, random numbers repeat, one thread a process."""

import os
import re
import sys
from collections import Counter

os.environ.setdefault("OMP_NUM_THREADS", "1")  # before torch is imported; the tests' tensors are tiny

import pytest
from hypothesis import Phase, settings
from jaxtyping import config as jaxtyping_config
from jaxtyping import install_import_hook
from own_tree import require_own_tree
from project import CORE

too_early = [name for name in CORE if f"tfm_lib.{name}" in sys.modules]
if too_early:
    raise RuntimeError(f"tfm_lib.{too_early[0]} was imported before its shapes could be checked.")
sys.modules["rfc3987_syntax"] = None  # its 39 grammars would cost two seconds where nbformat is imported
TREE = pytest.StashKey[str]()
WITH_SHAPES = [*CORE, *(f"families.{name}" for name in ("parts", "gpt2", "bert", "llama", "marian"))]
install_import_hook([f"tfm_lib.{name}" for name in WITH_SHAPES], "beartype.beartype")

# No deadline: a busy machine must not fail a test. Derandomised: a red test is red again.
settings.register_profile("tfm", deadline=None, derandomize=True, max_examples=20, database=None)
settings.register_profile("mutants", settings.get_profile("tfm"), phases=[Phase.generate])  # red is enough there
settings.load_profile("tfm")


def pytest_configure(config: pytest.Config) -> None:
    mutated = config.getoption("--hypothesis-profile") == "mutants"  # their library is a copy, and meant to be
    config.stash[TREE] = "The library is a mutated copy." if mutated else require_own_tree()
    config.addinivalue_line("markers", "network: needs the network; everything else passes with the network cut")
    config.addinivalue_line(
        "markers", "long: left to `make test-all`; a shorter test finds the same faults, or it takes minutes"
    )
    config.addinivalue_line("markers", "release: proves rather than guards; run by `make release`")


# What one worker does in a go. Tests of these files, of a widget's stage and of a module's mutants share a costly
# fixture, which every other worker would make again.
TOGETHER = re.compile(
    r"tests/(?:lib/test_(?:graph_capture|engine|subwords)|grader/test_(?:broken_transformer|carried|classroom|exports|habits|roster_class|visible_checks)"
    r"|book/test_pages|widgets/test_(?:frontend|twin)|grader/hostile/test_(?:changes|judging|quiet|replies|submissions|whole)"
    r"|browser/test_(?:firefox|jupyterlab|own_sentence|translator))\.py"
    r"|test_mutations\.py::test_named\w+\[\w+(?=:)|(?<=\[)stage .*(?=\])"
)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers(config: pytest.Config) -> int:
    """Two more than there are cores: many a test waits for a clock or a browser, and leaves its core to another."""
    cores = getattr(os, "sched_getaffinity", lambda _: range(os.cpu_count() or 1))(0)
    return len(cores) + 2


@pytest.hookimpl(optionalhook=True)  # with pytest-xdist, whose own --dist=loadgroup does not group under pytest 9
def pytest_xdist_make_scheduler(config: pytest.Config, log):
    from xdist.scheduler import LoadScopeScheduling

    class Together(LoadScopeScheduling):
        """Groups and single tests in the order of `turn`, each to whoever is free."""

        def _split_scope(self, nodeid: str) -> str:
            return group(nodeid)

    config.option.loadscopereorder = False  # not the groups of most tests first
    return Together(config, log)


def group(nodeid: str) -> str:
    found = TOGETHER.search(nodeid)
    return found[0] if found else nodeid


def turn(item: pytest.Item) -> tuple[int, str]:
    """When a worker begins a test: the book's build first, on which many wait; long groups; browsers; what is short last."""
    alone, built = group(item.nodeid) == item.nodeid, "built_book" in getattr(item, "fixturenames", ())
    if "book/test_pages" in item.nodeid:
        return 0, ""
    return (1 if not built else 2, group(item.nodeid)) if not alone else (3 if built else 4, "")


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if hasattr(config, "workerinput"):  # all workers put them into the same order
        items.sort(key=turn)
    for item in items:
        if item.nodeid.startswith("tests/browser/"):
            item.add_marker(pytest.mark.flaky(reruns=1, only_rerun=["TimeoutError"]))


def pytest_terminal_summary(terminalreporter, config: pytest.Config) -> None:
    """Whose tree was tested, the slowest files, and what was tried again after a time-out, in the last lines."""
    terminalreporter.write_line(config.stash[TREE])
    seconds: Counter[str] = Counter()
    for reports in terminalreporter.stats.values():
        for report in reports:
            if isinstance(report, pytest.TestReport):
                seconds[report.nodeid.partition("::")[0]] += report.duration
    if len(seconds) > 10:
        slowest = ", ".join(f"{name.removeprefix('tests/')} {took:.0f} s" for name, took in seconds.most_common(10))
        terminalreporter.write_line(f"The ten slowest files, in seconds of a worker: {slowest}")
    for report in terminalreporter.stats.get("rerun", []):
        terminalreporter.write_line(f"Tried again after a time-out: {report.nodeid}")


@pytest.fixture(autouse=True)
def seeded() -> None:
    """Every test draws the same random numbers whether it runs alone or among others."""
    import torch

    torch.manual_seed(0)


@pytest.fixture
def as_readers_run_it():
    """Shapes in signatures are not executed, as outside pytest, so that the library's own sentences are heard."""
    jaxtyping_config.update("jaxtyping_disable", True)
    yield
    jaxtyping_config.update("jaxtyping_disable", False)
