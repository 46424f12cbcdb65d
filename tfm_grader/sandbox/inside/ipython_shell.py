"""The object that `get_ipython()` returns: IPython's commands, as far as they can affect an answer.

Commands that run Python do run it. Shell lines start no process and return an empty list. All others do nothing.
Skipped commands with a visible effect are noted, by name only, never with their text.
"""

from __future__ import annotations

import ast
import os
import shlex
import sys
import types
from collections.abc import Callable
from typing import Any, Protocol

from .ipython_events import manager
from .notebook_code import RUN_THEIR_CELL, Cell

# Skipping these has no effect on answers, so they are not noted.
SILENT = set(
    """matplotlib load_ext reload_ext unload_ext autoreload aimport config precision pdb debug tb xmode colors pinfo
    pinfo2 pdoc pdef psource pfile pycat page who whos history hist lsmagic magic quickref clear cls autosave autocall
    automagic alias_magic gui store logstart logstop notebook dhist bookmark rehashx pprint html latex markdown svg
    javascript js""".split()
)


class Runner(Protocol):
    """What the commands need from the notebook's shell."""

    names: dict[str, Any]
    running: Cell | None

    def run_text(self, text: str) -> Any: ...


class Nothing:
    """Accepts any attribute or call and does nothing: replaces the parts of IPython that are missing here."""

    def __getattr__(self, name: str) -> Nothing:
        if name.startswith("__"):
            raise AttributeError(name)
        return self

    def __call__(self, *args: Any, **kwargs: Any) -> None:
        return None

    def __bool__(self) -> bool:
        return False


class Magics:
    """Replaces IPython's shell object in the notebook."""

    def __init__(self, shell: Runner):
        self._shell = shell
        self._own: dict[str, Callable[..., Any]] = {}
        self.noted: list[tuple[str, int, str]] = []  # kind, cell, name
        self.config: dict[str, Any] = {}
        self.events: Any = manager(self) or Nothing()

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return Nothing()

    def asked_for(self) -> Magics:
        """Return this object; the notebook calls it as get_ipython()."""
        return self

    @property
    def user_ns(self) -> dict[str, Any]:
        return self._shell.names

    @property
    def execution_count(self) -> int:
        return self._shell.running.number if self._shell.running else 0

    def push(self, names: dict[str, Any], interactive: bool = True) -> None:
        self.user_ns.update(names)

    def ev(self, code: str) -> Any:
        return self._shell.run_text(code)

    def ex(self, code: str) -> None:
        self._shell.run_text(code)

    run_cell = run_code = ex

    def register_magic_function(
        self, function: Callable[..., Any], magic_kind: str = "line", magic_name: str = ""
    ) -> None:
        self._own[magic_name or function.__name__] = function

    # ── the shell ─────────────────────────────────────────────────────────
    def system(self, command: str) -> None:
        """`!command`"""
        self._note("shell", "!")
        self.user_ns["_exit_code"] = 0

    def getoutput(self, command: str, split: bool = True, depth: int = 0) -> list[str]:
        """`name = !command`"""
        self.system(command)
        lists = sys.modules.get("IPython.utils.text")
        return lists.SList() if lists is not None else []

    system_raw = system_piped = system

    # ── magics ────────────────────────────────────────────────────────────
    def run_line_magic(self, magic_name: str, line: str = "", _stack_depth: int = 1) -> Any:
        """`%name line`"""
        if magic_name in self._own:
            return self._own[magic_name](line)
        method = getattr(type(self), f"_line_{magic_name}", None)
        if method is not None:
            return method(self, line.strip())
        if magic_name not in SILENT:
            self._note("magic", f"%{magic_name}")
        return None

    def magic(self, line: str) -> Any:
        name, _, rest = line.lstrip("%").partition(" ")
        return self.run_line_magic(name, rest)

    def run_cell_magic(self, magic_name: str, line: str, cell: str) -> Any:
        """`%%name line`, followed by the rest of its cell."""
        if magic_name in self._own:
            return self._own[magic_name](line, cell)
        if magic_name in RUN_THEIR_CELL:
            return self._shell.run_text(cell)
        if magic_name == "timeit":
            return self._once(cell)
        if magic_name in ("writefile", "file"):
            return self._write(line, cell)
        if magic_name not in SILENT:
            self._note("magic", f"%%{magic_name}")
        return None

    def _line_time(self, line: str) -> Any:
        return self._shell.run_text(line) if line else None

    _line_prun = _line_memit = _line_time

    def _line_timeit(self, line: str) -> Any:
        words = line.split(" ")
        while words and words[0].startswith("-"):  # -n 10, -r3, -o
            flag = words.pop(0)
            if flag in ("-n", "-r", "-p") and words:
                words.pop(0)
        return self._once(" ".join(words))

    def _once(self, text: str) -> Any:
        """Run `text` once, in its own function as timeit does, without measuring time."""
        inner = ast.parse("def inner():\n    pass").body[0]
        assert isinstance(inner, ast.FunctionDef)
        inner.body = ast.parse(text).body or inner.body
        place: dict[str, Any] = {}
        exec(compile(ast.Module([inner], []), "<magic>", "exec", dont_inherit=True), self.user_ns, place)  # noqa: S102 (the student's own)
        place["inner"]()
        return types.SimpleNamespace(average=0.0, best=0.0, worst=0.0, stdev=0.0, loops=1, repeat=1, all_runs=[0.0])

    def _line_run(self, line: str) -> None:
        words = [word for word in shlex.split(line) if not word.startswith("-")]
        path = words[0] if words and words[0].endswith(".py") else f"{words[0]}.py" if words else ""
        if not os.path.isfile(path):
            self._note("magic", "%run")
            return
        with open(path, encoding="utf-8") as file:
            exec(compile(file.read(), path, "exec", dont_inherit=True), self.user_ns)  # noqa: S102 (the student's own)

    def _line_reset(self, line: str) -> None:
        kept = {"In", "Out", "get_ipython", "_ih", "_oh", "_dh"}
        for name in [name for name in self.user_ns if name not in kept and not name.startswith("__")]:
            del self.user_ns[name]

    def _line_xdel(self, line: str) -> None:
        self.user_ns.pop(line, None)

    def _line_who_ls(self, line: str) -> list[str]:
        return sorted(name for name in self.user_ns if not name.startswith("_"))

    def _line_cd(self, line: str) -> None:
        if os.path.isdir(line.strip("\"'")):
            os.chdir(line.strip("\"'"))

    def _line_pwd(self, line: str) -> str:
        return os.getcwd()

    def _line_env(self, line: str) -> Any:
        name, equals, value = line.partition("=")
        if not equals:
            name, _, value = line.partition(" ")
        if value:
            os.environ[name.strip()] = value.strip()
            return None
        return os.environ.get(line) if line else dict(os.environ)

    _line_set_env = _line_env

    def _write(self, line: str, text: str) -> None:
        words = shlex.split(line)
        if words:
            with open(words[-1], "a" if words[0] == "-a" else "w", encoding="utf-8") as file:
                file.write(text)

    def _note(self, kind: str, name: str) -> None:
        note = (kind, self.execution_count, name)
        if note not in self.noted:
            self.noted.append(note)
