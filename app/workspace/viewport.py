"""Which image a viewport shows, and how: two separate things.

The viewport freezes a request, somebody decodes it elsewhere, and the answer is applied by its
number: a late answer to an older request is dropped.
"""

from __future__ import annotations

from dataclasses import dataclass

from app.imaging.types import Frame, Instance, Window
from app.workspace.signals import Signal


@dataclass(frozen=True, slots=True)
class FrameRequest:
    """A frame that the viewport waits for."""

    number: int
    instance: Instance
    frame_index: int


@dataclass(frozen=True, slots=True)
class Display:
    """How it is shown. `window` None means the file's own or the automatic one."""

    window: Window | None = None
    invert: bool = False


class Viewport:
    """One viewport's state. All methods are called on one thread (the GUI's)."""

    def __init__(self) -> None:
        self.instance: Instance | None = None
        self.frame_index = 0
        self.frame: Frame | None = None
        self.error = ""
        self.display = Display()
        self._number = 0
        self.requested: Signal[FrameRequest] = Signal()
        self.image_changed: Signal[()] = Signal()  # another instance, or none
        self.frame_changed: Signal[()] = Signal()  # new pixels, or an error
        self.display_changed: Signal[()] = Signal()

    @property
    def loading(self) -> bool:
        """Whether a frame was asked for and has not come yet."""
        return self.instance is not None and self.frame is None and not self.error

    def show(self, instance: Instance | None, frame_index: int = 0) -> None:
        """Show an instance from its frame `frame_index`, with its own window."""
        self.instance = instance
        self.frame = None
        self.error = ""
        self.display = Display()
        self.frame_index = 0
        self._number += 1
        self.image_changed.emit()
        if instance is not None:
            self._request(frame_index)

    def scroll_to(self, frame_index: int) -> None:
        """Show another frame of the same instance.

        Window and zoom stay, and so does the old frame until the new one is there.
        """
        if self.instance is not None and frame_index != self.frame_index:
            self._request(frame_index)

    def deliver(self, request: FrameRequest, frame: Frame) -> bool:
        """Take a decoded frame; returns False when the request is no longer the latest."""
        if request.number != self._number:
            return False
        self.frame = frame
        self.error = ""
        self.frame_changed.emit()
        return True

    def fail(self, request: FrameRequest, error: str) -> bool:
        """Take an error text instead; returns False when the request is no longer the latest."""
        if request.number != self._number:
            return False
        self.frame = None
        self.error = error
        self.frame_changed.emit()
        return True

    def set_display(self, display: Display) -> None:
        """Change how it is shown."""
        if display != self.display:
            self.display = display
            self.display_changed.emit()

    def _request(self, frame_index: int) -> None:
        if self.instance is None:
            return
        self.frame_index = max(0, min(frame_index, self.instance.frames - 1))
        self._number += 1
        self.requested.emit(FrameRequest(self._number, self.instance, self.frame_index))
