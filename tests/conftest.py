"""What all tests share: shapes in signatures are executed, random numbers repeat, one thread a process."""

import os
import re
import sys

os.environ.setdefault("OMP_NUM_THREADS", "1")  # before torch is imported; the tests' tensors are tiny

import pytest
from hypothesis import Phase, settings
from jaxtyping import config as jaxtyping_config
from jaxtyping import install_import_hook
from project import CORE

too_early = [name for name in CORE if f"tfm_lib.{name}" in sys.modules]
if too_early:
    raise RuntimeError(f"tfm_lib.{too_early[0]} was imported before its shapes could be checked.")
WITH_SHAPES = [*CORE, *(f"families.{name}" for name in ("parts", "gpt2", "bert", "llama", "marian"))]
install_import_hook([f"tfm_lib.{name}" for name in WITH_SHAPES], "beartype.beartype")

# No deadline: a busy machine must not fail a test. Derandomised: a red test is red again.
settings.register_profile("tfm", deadline=None, derandomize=True, max_examples=50, database=None)
settings.register_profile("mutants", settings.get_profile("tfm"), phases=[Phase.generate])  # red is enough there
settings.load_profile("tfm")


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "network: needs the network; everything else passes with the network cut")
    config.addinivalue_line(
        "markers", "long: left to `make test-all`; a shorter test finds the same faults, or it takes minutes"
    )
    config.addinivalue_line("markers", "release: proves rather than guards; run by `make release`")
    config.addinivalue_line(
        "markers", "hub: needs root, the extra hub, and configurable-http-proxy; not run unless asked for"
    )


# What one worker does in a go. Tests of these files, of a widget's stage and of a module's mutants share a costly
# fixture, which every other worker would make again.
TOGETHER = re.compile(
    r"tests/(?:lib/test_(?:graph_capture|engine|subwords)|grader/test_(?:classroom|roster_class|exports|habits)"
    r"|book/test_pages|widgets/test_(?:frontend|twin)|grader/hostile/test_(?:changes|judging|quiet|replies|whole)"
    r"|browser/test_(?:firefox|jupyterlab|own_sentence|translator))\.py"
    r"|test_mutations\.py::test_named\w+\[\w+(?=:)|(?<=\[)stage .*(?=\])"
)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers(config: pytest.Config) -> int:
    """One more than there are cores: many a test waits for a clock, and leaves its core to another."""
    cores = getattr(os, "sched_getaffinity", lambda _: range(os.cpu_count() or 1))(0)
    return len(cores) + 1


@pytest.hookimpl(optionalhook=True)  # with pytest-xdist, whose own --dist=loadgroup does not group under pytest 9
def pytest_xdist_make_scheduler(config: pytest.Config, log):
    from xdist.scheduler import LoadScopeScheduling

    class Together(LoadScopeScheduling):
        """Large groups first, then single tests to whoever is free."""

        def _split_scope(self, nodeid: str) -> str:
            found = TOGETHER.search(nodeid)
            return found[0] if found else nodeid

    return Together(config, log)


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
