"""Keep an answer that passed: its source, with the functions, imports and constants that it needs."""

from __future__ import annotations

import ast
import builtins
import dis
import inspect
import linecache
import math
import site
import sys
import sysconfig
import textwrap
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import Any

import tfm_exercises
import tfm_lib
from tfm_exercises.judge import Exercise, judged
from tfm_exercises.mine.store import NotKept

_OURS = tuple(Path(package.__path__[0]).resolve() for package in (tfm_lib, tfm_exercises))
_PLACES = {
    Path(place)
    for name, place in sysconfig.get_paths().items()
    if name in ("stdlib", "platstdlib", "purelib", "platlib")
}
_PLACES |= {Path(place) for place in (*site.getsitepackages(), site.getusersitepackages())}
PLAIN = (int, float, complex, bool, str, bytes, type(None), type(...))


def judge_again(exercise: Exercise, source: str, names: Sequence[str]) -> None:
    """Run `source` by itself and check it; raises NotKept with a sentence if it does not pass."""
    verdict = judged(exercise, compiled(exercise.id, source, names))
    if not verdict.passed:
        raise NotKept(f"by itself, without your notebook, it does not pass. {verdict.message}")


def compiled(id: str, source: str, names: Sequence[str]) -> list[Any]:
    """The objects called `names` that `source` defines, in a namespace of their own; tracebacks show their lines."""
    filename = f"<mine {id}>"
    linecache.cache[filename] = (len(source), None, source.splitlines(keepends=True), filename)
    namespace: dict[str, Any] = {"__name__": f"mine {id}"}
    try:
        exec(compile(source, filename, "exec", dont_inherit=True), namespace)  # noqa: S102 (the reader's own answer)
        return [namespace[name] for name in names]
    except (Exception, SystemExit) as error:  # noqa: BLE001 (whatever the reader's code raises is told)
        raise NotKept(f"the source of {id} cannot run by itself ({type(error).__name__}: {error}).") from None


# ── from functions to a text ──────────────────────────────────────────────


def collected(answers: Sequence[Any]) -> tuple[str, list[str]]:
    """The text that defines `answers` with all that they need, and their names in it.

    Raises NotKept, which names what cannot be kept and says what to do.
    """
    gathered = _Gathered()
    names = [gathered.answer(answer) for answer in answers]
    blocks = [
        "\n".join(sorted(gathered.imports, key=lambda line: (line[:4] == "from", line))),
        "\n".join(gathered.constants),
        *gathered.definitions,
    ]
    return "\n\n\n".join(block for block in blocks if block) + "\n", names


class _Gathered:
    """What a text needs, in the order in which it must be run."""

    def __init__(self) -> None:
        self.imports: set[str] = set()
        self.constants: list[str] = []
        self.definitions: list[str] = []
        self.known: dict[str, Any] = {}

    def answer(self, function: Any) -> str:
        function = inspect.unwrap(function) if isinstance(function, FunctionType) else function
        if not isinstance(function, FunctionType):
            raise NotKept("it is not a function with a `def` of its own. Write it as one to have it kept.")
        name = function.__name__
        if name == "<lambda>":
            names = [
                key for key, value in function.__globals__.items() if value is function and not key.startswith("_")
            ]
            if not names:
                raise NotKept("a lambda has no name under which it could be kept. Write it with `def`.")
            name = names[0]
        self.need(name, function, function.__globals__)
        return name

    def need(self, name: str, value: Any, beside: dict[str, Any]) -> None:
        """Take in `value`, which the notebook, whose names are `beside`, calls `name`."""
        own = isinstance(value, FunctionType) and value.__module__ == beside.get("__name__")
        value = inspect.unwrap(value) if own else value  # an answer may be known without its decorator
        if name in self.known:
            if self.known[name] is not value:
                raise NotKept(f"two different things are called `{name}`. Run the cells again, then check again.")
            return
        self.known[name] = value
        if isinstance(value, ModuleType):
            if not _is_installed(value):
                raise NotKept(f"it uses `{name}`, a file beside your notebook. Copy what it needs into a cell.")
            self.imports.add(_import_of_module(name, value))
        elif _is_plain(value):
            self.constants.append(f"{name} = {_literal(value)}")
        elif isinstance(value, (FunctionType, type)) and value.__module__ == beside.get("__name__"):
            self.define(name, value, beside)
        elif statement := _import_of(name, value):
            self.imports.add(statement)
        else:
            kind = type(value).__name__.lower()
            article = "an" if kind[0] in "aeiou" else "a"
            raise NotKept(
                f"it uses `{name}`, {article} {kind} of your notebook. Make `{name}` inside the function, then check again."
            )

    def define(self, name: str, value: Any, beside: dict[str, Any]) -> None:
        text = _lines_of(value, name)
        defined = value.__name__ if value.__name__ != "<lambda>" else name
        if isinstance(value, FunctionType) and inspect.unwrap(value).__code__.co_freevars:
            raise NotKept(f"`{name}` is defined inside another function. Define it in a cell of its own.")
        for needed in dict.fromkeys(_globals_of(compile(text, name, "exec", dont_inherit=True))):
            if needed in beside and needed != defined:
                self.need(needed, beside[needed], beside)
            elif needed not in beside and not hasattr(builtins, needed) and needed != defined:
                raise NotKept(f"it uses `{needed}`, which your notebook does not define any more.")
        self.definitions.append(text.rstrip("\n") + (f"\n\n\n{name} = {defined}" if name != defined else ""))


def _globals_of(code: CodeType) -> Iterator[str]:
    """The global names that the code of a definition reads, its decorators, defaults and inner functions included."""
    steps = list(dis.get_instructions(code))
    stored = {"__name__", "__annotations__", *(step.argval for step in steps if step.opname == "STORE_NAME")}
    for step in steps:
        if step.opname == "LOAD_GLOBAL" or (step.opname == "LOAD_NAME" and step.argval not in stored):
            yield step.argval
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            yield from _globals_of(inner)


def _lines_of(value: Any, name: str) -> str:
    """The source of a function or class of a notebook, from its first decorator on."""
    inner = inspect.unwrap(value)
    members = [inner] if isinstance(inner, FunctionType) else vars(inner).values()
    for code in (member.__code__ for member in members if isinstance(member, FunctionType)):
        text = "".join(linecache.getlines(code.co_filename))
        nodes: Iterator[Any] = ast.walk(ast.parse(text))
        for node in nodes:
            if _defines(node, inner, code.co_firstlineno):
                lines = text.splitlines(keepends=True)[_first_line(node) - 1 : node.end_lineno]
                return textwrap.dedent("".join(lines))
    if isinstance(inner, type) and (text := _fields_of(inner)):
        return text
    raise NotKept(f"the source of `{name}` cannot be found. Define it with `def` in a cell of its own.")


def _fields_of(kind: type) -> str:
    """The source of a class that has annotated fields and no method of its own; "" where no cell defines such a class.

    Such a class doesn't know its cell. The last one counts, of those that define a class of this name and fields.
    """
    fields, found = list(vars(kind).get("__annotations__", ())), ""
    for name in [name for name in linecache.cache if "ipykernel" in name or "ipython-input" in name]:
        text = "".join(linecache.getlines(name))
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.ClassDef) and node.name == kind.__name__:
                each = [part.target for part in node.body if isinstance(part, ast.AnnAssign)]
                if fields and [target.id for target in each if isinstance(target, ast.Name)] == fields:
                    lines = text.splitlines(keepends=True)[_first_line(node) - 1 : node.end_lineno]
                    found = textwrap.dedent("".join(lines))
    return found


def _defines(node: Any, value: Any, line: int) -> bool:
    """Whether `node` is the statement that defines `value`, of which a function begins in `line`."""
    if isinstance(value, type):
        return (
            isinstance(node, ast.ClassDef)
            and node.name == value.__name__
            and line in range(node.lineno, (node.end_lineno or 0) + 1)
        )
    if value.__name__ == "<lambda>":
        if not isinstance(node, (ast.Assign, ast.AnnAssign)) or not isinstance(node.value, ast.Lambda):
            return False
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        return len(targets) == 1 and isinstance(targets[0], ast.Name) and node.lineno == line
    return isinstance(node, ast.FunctionDef) and node.name == value.__name__ and _first_line(node) == line


def _first_line(node: Any) -> int:
    return min([node.lineno, *(each.lineno for each in getattr(node, "decorator_list", []))])


def _is_plain(value: Any) -> bool:
    return all(map(_is_plain, value)) if type(value) is tuple else type(value) in PLAIN


def _literal(value: Any) -> str:
    if type(value) is tuple:
        return f"({''.join(f'{_literal(item)}, ' for item in value).rstrip(' ')})"
    if type(value) is float and not math.isfinite(value):
        return f'float("{value}")'
    return "..." if value is ... else repr(value)


def _is_installed(module: Any) -> bool:
    """Whether a later notebook finds `module` too: it comes with Python or is installed, and is no notebook."""
    file = getattr(module, "__file__", None)
    if getattr(module, "__name__", "") == "__main__":  # which multiprocessing knows as __mp_main__ too
        return False
    return (
        file is None
        or any(Path(file).resolve().is_relative_to(place) for place in _OURS)
        or any(place in Path(file).parents for place in _PLACES)
    )


def _import_of_module(name: str, module: ModuleType) -> str:
    full = module.__name__
    if full == name:
        return f"import {name}"
    parent, _, last = full.rpartition(".")
    return f"from {parent} import {name}" if parent and last == name else f"import {full} as {name}"


def _import_of(name: str, value: Any) -> str:
    """The statement that imports `value` as `name`, from the shortest public place; "" if it stands in no module."""
    package = str(getattr(value, "__module__", None)).partition(".")[0]

    def rank(module: str) -> tuple:
        return module.partition(".")[0] != package, f".{module}".count("._"), len(module)

    module_of = str(getattr(value, "__module__", None))
    if module_of.startswith("mine ") and (part := getattr(value, "__tfm_part__", "")):
        return f"from tfm_exercises.mine import {part}" + (f" as {name}" if part != name else "")
    for module in sorted(sys.modules, key=rank):
        for original in dict.fromkeys((getattr(value, "__name__", name), name)):
            if getattr(sys.modules[module], "__dict__", {}).get(original) is value and _is_installed(
                sys.modules[module]
            ):
                return f"from {module} import {original}" + (f" as {name}" if original != name else "")
    return ""
