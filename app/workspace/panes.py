"""Extra canvas panes: pictures that image_visualizer shows beside the main viewport."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from app.workspace.signals import Signal


@dataclass(frozen=True, slots=True)
class Pane:
    """A picture made in a run, shown as it is.

    Attributes:
        path: PNG under the run's output folder.
        title: Above it.
        description: Below it.
        tool: Which tool shows it.
        options: figsize, cmap as asked.
    """

    path: Path
    title: str
    description: str
    tool: str
    options: dict[str, Any] = field(default_factory=dict[str, Any])


class Panes:
    """The open panes in order; showing the same file again moves it to the front."""

    def __init__(self) -> None:
        self._panes: list[Pane] = []
        self.changed: Signal[()] = Signal()

    @property
    def all(self) -> tuple[Pane, ...]:
        """Open panes."""
        return tuple(self._panes)

    def show(self, pane: Pane) -> None:
        """Open a pane, last in the list."""
        self._panes = [item for item in self._panes if item.path != pane.path]
        self._panes.append(pane)
        self.changed.emit()

    def close(self, pane: Pane) -> None:
        """Close a pane."""
        if pane in self._panes:
            self._panes.remove(pane)
            self.changed.emit()

    def clear(self) -> None:
        """Close all."""
        if self._panes:
            self._panes.clear()
            self.changed.emit()
