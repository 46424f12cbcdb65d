"""Call the callbacks that a notebook registered with IPython to run before and after each cell."""

from __future__ import annotations

import types
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from .notebook_code import translates

if TYPE_CHECKING:
    from .notebook_code import Cell


class Result(types.SimpleNamespace):
    """IPython's execution result for a cell."""

    @property
    def success(self) -> bool:
        return self.error_before_exec is None and self.error_in_exec is None

    def raise_error(self) -> None:
        if not self.success:
            raise self.error_before_exec or self.error_in_exec


def manager(shell: Any) -> Any:
    """Return IPython's event manager, or None if IPython is missing."""
    if not translates():  # the self-test reports this before anything is graded
        return None
    from IPython.core.events import EventManager, available_events

    return EventManager(shell, available_events, print_on_error=False)


@contextmanager
def around(cell: Cell, events: Any) -> Iterator[Result]:
    """Trigger the callbacks before and after `cell`; the block fills in the result."""
    info = types.SimpleNamespace(raw_cell=cell.text, transformed_cell=cell.text, store_history=True, silent=False)
    info.shell_futures, info.cell_id, info.cell_meta = True, f"cell-{cell.number}", None
    made = Result(info=info, execution_count=cell.number, error_before_exec=None, error_in_exec=None, result=None)
    if events is not None and cell.text.strip():
        events.trigger("pre_execute")
        events.trigger("pre_run_cell", info)
    yield made
    if events is not None:
        made.error_in_exec = cell.error
        if cell.broken is not None:
            made.error_before_exec = SyntaxError("this is no Python")
        events.trigger("post_execute")
        events.trigger("post_run_cell", made)
