"""Undo and redo: every change of the workspace that a user may regret is a command."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from app.workspace.signals import Signal

LIMIT = 200  # commands kept; older ones can no longer be undone


@dataclass(frozen=True, slots=True)
class Command:
    """A change and its reverse. Both must leave the models consistent."""

    label: str
    do: Callable[[], None]
    undo: Callable[[], None]


class CommandStack:
    """What was done, and what was undone and can be done again."""

    def __init__(self) -> None:
        self._done: list[Command] = []
        self._undone: list[Command] = []
        self.changed: Signal[()] = Signal()

    def push(self, command: Command) -> None:
        """Do `command` and remember it; what was undone before is forgotten."""
        command.do()
        self._done.append(command)
        del self._done[:-LIMIT]
        self._undone.clear()
        self.changed.emit()

    def undo(self) -> None:
        """Take the last command back; nothing happens when there is none."""
        if self._done:
            command = self._done.pop()
            command.undo()
            self._undone.append(command)
            self.changed.emit()

    def redo(self) -> None:
        """Do the last undone command again; nothing happens when there is none."""
        if self._undone:
            command = self._undone.pop()
            command.do()
            self._done.append(command)
            self.changed.emit()

    def clear(self) -> None:
        """Forget all, e.g. when what they refer to is closed."""
        self._done.clear()
        self._undone.clear()
        self.changed.emit()

    @property
    def undo_label(self) -> str:
        """What `undo` would take back, or ""."""
        return self._done[-1].label if self._done else ""

    @property
    def redo_label(self) -> str:
        """What `redo` would do again, or ""."""
        return self._undone[-1].label if self._undone else ""
