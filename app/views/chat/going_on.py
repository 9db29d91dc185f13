"""What tells that a run goes on: a sign at its end, and a quiet line about what the model does."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtWidgets import QWidget

from app.agent.events import ModelRetry, Noted, RunEvent, ToolProgress, Usage
from app.views.chat.notes import NoteLine, RetryLine, Thinking


class GoingOn:
    """The sign, and the quiet line that is written anew in place.

    Args:
        insert: Shows a widget at the run's end, above the sign.
        live: Whether the run goes on now; a past one has no sign.

    Attributes:
        line: The quiet line that is shown now.
        sign: Stands below all that the run shows; None once it ended.
    """

    def __init__(self, insert: Callable[[QWidget], object], *, live: bool) -> None:
        self.line: NoteLine | None = None
        self.sign = Thinking() if live else None
        self._insert = insert
        self._live = live
        self._stopping = ""  # what is said while it has been told to stop

    @property
    def text(self) -> str:
        """What the sign says, "" while it is not shown."""
        sign = self.sign
        return sign.text.text() if sign is not None and not sign.isHidden() else ""

    def tick(self) -> None:
        """Move what moves."""
        if self.sign is not None:
            self.sign.bar.tick()
        if self.line is not None:
            self.line.tick()

    def say(self, text: str) -> None:
        """Say that it goes on; "" where that is to be seen. Being stopped is said always."""
        text = self._stopping or text
        if self.sign is not None:
            self.sign.setVisible(bool(text))
            self.sign.text.setText(text)

    def stopping(self, text: str) -> None:
        """It has been told to stop: say that from now on."""
        self._stopping = text
        self.say(text)

    def note(self, event: ModelRetry | Noted) -> None:
        """A quiet line; the one that is there is written anew."""
        if isinstance(event, ModelRetry):
            self._retry(event)
        elif event.text.strip():
            self._tell(event)

    def _retry(self, event: ModelRetry) -> None:
        if not self._live:
            return
        if isinstance(self.line, RetryLine):
            self.line.show_retry(event)
            return
        self._put(RetryLine(event))
        self.say("")  # the countdown moves

    def _tell(self, event: Noted) -> None:
        line = self.line
        if line is None or isinstance(line, RetryLine) or not line.passing:
            line = NoteLine()
            line.say(event)
            self._put(line)
        else:
            line.say(event)
        self.say("Waiting…" if event.passing else "Thinking…")

    def _put(self, line: NoteLine) -> None:
        self._drop()
        self.line = line
        self._insert(line)

    def put_away(self, event: RunEvent) -> None:
        """Something else came: a line about what goes on is gone, any other one stays."""
        if self.line is None or isinstance(event, (Usage, ToolProgress)):
            return
        if isinstance(event, Noted) or (isinstance(event, ModelRetry) and self.line.passing):
            return
        self._drop()

    def _drop(self) -> None:
        if self.line is not None and self.line.passing:
            _remove(self.line)
        self.line = None

    def end(self) -> None:
        """The run ended."""
        self._drop()
        if self.sign is not None:
            _remove(self.sign)
            self.sign = None


def _remove(widget: QWidget) -> None:
    """Out of its layout at once; Qt deletes it later."""
    widget.hide()
    parent = widget.parentWidget()
    layout = parent.layout() if parent is not None else None
    if layout is not None:
        layout.removeWidget(widget)
    widget.deleteLater()
