"""Remove an idea from the core, and the test that is named for it turns red.

The mutations of `tfm_lib/<stem>.py` stand in `tests/lib/test_<stem>.py`, as `MUTATIONS = {what: (old, new, test)}`: `old`
becomes `new` in the module's text, and `test` must turn red. Those of another module say so: `MUTATED = "_errors"`.
"""

import ast
import json
import os
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest
from project import CORE, ROOT


class Mutation(NamedTuple):
    """One mutation, with the path of its test."""

    module: str
    old: str
    new: str
    test: str


def literal(tree: ast.Module, name: str, default: object) -> object:
    """What a module assigns to `name`, without running it."""
    for node in tree.body:
        if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", None) == name:
            return ast.literal_eval(node.value)
    return default


def mutations() -> dict[str, Mutation]:
    """Every mutation that a test file names, as `module: what`."""
    found = {}
    for path in sorted(Path(__file__).parent.glob("test_*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        module = literal(tree, "MUTATED", path.stem.removeprefix("test_"))
        for what, (old, new, test) in literal(tree, "MUTATIONS", {}).items():
            found[f"{module}: {what}"] = Mutation(
                module, old, new, f"lib/{test if '::' in test else f'{path.name}::{test}'}"
            )
    return found


CASES = mutations()


def mutated(mutation: Mutation) -> str | None:
    """The module's text after the mutation; None where its `old` does not stand exactly once."""
    source = (ROOT / "tfm_lib" / f"{mutation.module}.py").read_text(encoding="utf-8")
    return source.replace(mutation.old, mutation.new) if source.count(mutation.old) == 1 else None


class Runner:
    """A process that runs named tests against copies of the core; what the untouched core says is remembered."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.untouched = folder, {}
        self.process = subprocess.Popen(
            [sys.executable, str(Path(__file__).with_name("mutants.py"))],
            cwd=folder,
            env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1", "PYTEST_ADDOPTS": ""},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=(folder / "log").open("w"),
            encoding="utf-8",
        )

    def run(self, tests: list[str], **replaced: str) -> dict[str, list[str]]:
        """What `tests` say to the core with the modules `replaced`."""
        copy = self.folder / f"{len(list(self.folder.iterdir()))}"
        (copy / "tfm_lib").mkdir(parents=True)
        for path in (ROOT / "tfm_lib").glob("*.py"):
            text = replaced.get(path.stem, path.read_text(encoding="utf-8"))
            (copy / "tfm_lib" / path.name).write_text(text, encoding="utf-8")
        print(json.dumps({"folder": str(copy), "tests": tests}), file=self.process.stdin, flush=True)
        answer = self.process.stdout.readline()
        assert answer, (self.folder / "log").read_text(encoding="utf-8")[-4000:]
        return json.loads(answer)

    def on_the_core_itself(self, test: str, module: str) -> dict[str, list[str]]:
        """What `test` says to the untouched core; all that are named for `module` are asked in one go."""
        if test not in self.untouched:
            together = {case.test for case in CASES.values() if case.module == module}
            said = self.run(sorted(together))
            if not any(said.values()):  # pytest runs none where one of them does not exist
                together, said = {test}, self.run([test])
            self.untouched |= dict.fromkeys(together, said)
        said = self.untouched[test]
        return {how: [id for id in ids if id == test or id.startswith(f"{test}[")] for how, ids in said.items()}


@pytest.fixture(scope="module")
def runner(tmp_path_factory: pytest.TempPathFactory):
    runner = Runner(tmp_path_factory.mktemp("mutants"))
    yield runner
    runner.process.communicate()


@pytest.mark.release
@pytest.mark.parametrize("name", CASES)
def test_named_test_turns_red(name, runner):
    module, old, _, test = mutation = CASES[name]
    text = mutated(mutation)
    assert text is not None, f"{old!r} does not stand exactly once in {module}.py"
    sound = runner.on_the_core_itself(test, module)
    assert sound["passed"], f"{test} does not pass on the core itself: {runner.untouched[test]}"
    assert not sound["failed"] + sound["broken"]
    mutant = runner.run([test], **{module: text})
    assert mutant["failed"], f"{test} does not notice: {mutant}"
    assert not mutant["broken"], f"the mutant does not run: {mutant}"


@cache
def parsed(file: str) -> ast.Module:
    return ast.parse((Path(__file__).parents[1] / file).read_text(encoding="utf-8"))


def test_what_a_mutation_names_is_there_and_is_tried_by_make_test():
    """`make release` tries whether the named tests notice; that they are run at each change is asked here."""
    for name, mutation in CASES.items():
        assert mutated(mutation) is not None, f"{name}: {mutation.old!r} does not stand exactly once in its module"
        file, _, function = mutation.test.partition("::")
        (found,) = [node for node in parsed(file).body if getattr(node, "name", None) == function.partition("[")[0]]
        assert not any("mark.long" in ast.unparse(mark) for mark in found.decorator_list), f"{mutation.test} is long"


def test_every_core_module_has_mutations():
    without = set(CORE) - {mutation.module for mutation in CASES.values()}
    assert without == set(), f"No mutations of {without}: write MUTATIONS into tests/lib/test_<name>.py."
