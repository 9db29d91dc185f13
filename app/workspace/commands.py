"""Undo and redo of changes to the workspace."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from app.workspace.signals import Signal

LIMIT = 200  # commands kept; older ones can no longer be undone


@dataclass(frozen=True, slots=True)
class Command:
    """An undoable change: a menu label, and functions that make and reverse the change."""

    label: str
    do: Callable[[], None]
    undo: Callable[[], None]


class CommandStack:
    """The changes that can be undone and redone."""

    def __init__(self) -> None:
        self._done: list[Command] = []
        self._undone: list[Command] = []
        self.changed: Signal[()] = Signal()

    def push(self, command: Command) -> None:
        """Perform a command and remember it for undo; commands that could be redone are dropped."""
        command.do()
        self._done.append(command)
        del self._done[:-LIMIT]
        self._undone.clear()
        self.changed.emit()

    def undo(self) -> None:
        """Undo the last command, if there is one."""
        if self._done:
            command = self._done.pop()
            command.undo()
            self._undone.append(command)
            self.changed.emit()

    def redo(self) -> None:
        """Redo the last undone command, if there is one."""
        if self._undone:
            command = self._undone.pop()
            command.do()
            self._done.append(command)
            self.changed.emit()

    def clear(self) -> None:
        """Forget all commands, e.g. when the objects that they refer to are closed."""
        self._done.clear()
        self._undone.clear()
        self.changed.emit()

    @property
    def undo_label(self) -> str:
        """Label of the command that `undo` would undo, or "" if there is none."""
        return self._done[-1].label if self._done else ""

    @property
    def redo_label(self) -> str:
        """Label of the command that `redo` would redo, or "" if there is none."""
        return self._undone[-1].label if self._undone else ""
