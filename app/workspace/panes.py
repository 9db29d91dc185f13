"""Panes: pictures that image_visualizer shows beside the main viewport.

A picture names no patient, so it is shown only beside images of the study it was made from.
"""

from __future__ import annotations

from collections.abc import Container
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from app.imaging.types import Instance
from app.workspace.signals import Signal


@dataclass(frozen=True, slots=True)
class Pane:
    """A picture made by a tool, to be shown beside the viewport, with title and description.

    Attributes:
        path: The PNG file in the run's output folder.
        tool: Name of the tool that shows the picture.
        options: The tool's options: figsize, cmap.
        sop_instance_uid: UID of the image that the picture was made from, or "" if unknown.
        instance: The image whose content the picture shows, for its patient and date; None if
            unknown.
    """

    path: Path
    title: str
    description: str
    tool: str
    options: dict[str, Any] = field(default_factory=dict[str, Any])
    sop_instance_uid: str = ""
    instance: Instance | None = field(default=None, compare=False)

    @property
    def sides(self) -> tuple[str, str, str, str]:
        """Patient letters at the (left, right, top, bottom) edges, "" where unknown."""
        given: Any = self.options.get("sides")
        if not isinstance(given, list) or len(given) != 4:
            return "", "", "", ""
        left, right, top, bottom = (str(one)[:3] for one in given)
        return left, right, top, bottom


class Panes:
    """The open panes in order; showing a file that is already open moves its pane to the end."""

    def __init__(self) -> None:
        self._panes: list[Pane] = []
        self._beside: Container[str] = ()
        self.changed: Signal[()] = Signal()

    @property
    def all(self) -> tuple[Pane, ...]:
        """The open panes whose pictures belong to the shown study."""
        return tuple(pane for pane in self._panes if self._fits(pane))

    def set_study(self, sop_instance_uids: Container[str]) -> None:
        """Set the images of the shown study; panes of other studies are hidden, not closed."""
        before = self.all
        self._beside = sop_instance_uids
        if self.all != before:
            self.changed.emit()

    def show(self, pane: Pane) -> None:
        """Open a pane and put it last in the list."""
        self._panes = [item for item in self._panes if item.path != pane.path]
        self._panes.append(pane)
        self.changed.emit()

    def of_picture(self, path: Path) -> Pane | None:
        """Return the pane that shows a file, or None."""
        return next((pane for pane in self._panes if pane.path == path), None)

    def close(self, pane: Pane) -> None:
        """Close a pane."""
        if pane in self._panes:
            self._panes.remove(pane)
            self.changed.emit()

    def close_study(self, sop_instance_uids: Container[str]) -> None:
        """Close the panes that belong to a closed study."""
        kept = [pane for pane in self._panes if pane.sop_instance_uid not in sop_instance_uids]
        if kept != self._panes:
            self._panes = kept
            self.changed.emit()

    def _fits(self, pane: Pane) -> bool:
        return not pane.sop_instance_uid or pane.sop_instance_uid in self._beside
