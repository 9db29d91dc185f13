"""Status of a running question: a moving bar, notices, and the countdown of a retry."""

from __future__ import annotations

import math
import time
from collections.abc import Callable

from PySide6.QtWidgets import QWidget

from app.agent.events import ModelRetry, Noted, RunEvent, ToolProgress, Usage
from app.views.chat.widgets import ThinProgress, icon_label
from app.views.layouts import column, icon_row, row
from app.views.plain_text import one_line
from app.views.theme import THEME
from app.views.widgets import label
from app.views.wording import sentence

_CHARS = 400


class NoteLine(QWidget):
    """A quiet, wrapped line of plain text with an icon.

    Attributes:
        passing: Whether it is about something that goes on now ("The model is being loaded"): such
            a line is rewritten in place and removed afterwards.
    """

    passing = False

    def __init__(self, icon: str = "info", tint: str = THEME.text_faint) -> None:
        super().__init__()
        self._label = label("", "caption", wrap=True)
        line = icon_row(icon_label(icon, tint, 14), self._label, 8)
        column(line, margins=(2, 0, 2, 0), parent=self)

    @property
    def text(self) -> str:
        """The text that is shown."""
        return self._label.text()

    def say(self, event: Noted) -> None:
        """Show a notice."""
        self.passing = event.passing
        self._show(one_line(event.text, _CHARS))

    def tick(self) -> None:
        """Update a text that depends on the time; nothing by default."""

    def _show(self, text: str) -> None:
        if text != self.text:
            self._label.setText(text)
            self.setAccessibleName(text)


class RetryLine(NoteLine):
    """Counts down to the next attempt at an endpoint, with the reason."""

    passing = True

    def __init__(self, event: ModelRetry) -> None:
        super().__init__("clock", THEME.warning)
        self.show_retry(event)

    def show_retry(self, event: ModelRetry) -> None:
        """Count down to this attempt."""
        self._reason = sentence(event.reason)[:_CHARS].rstrip(".:; ") or "The endpoint failed"
        self._count = f"({event.attempt}\u00a0of\u00a0{event.attempts})"
        self._until = time.monotonic() + max(0.0, event.wait_s)
        self.tick()

    def tick(self) -> None:
        """Show the seconds that are left."""
        left = math.ceil(self._until - time.monotonic())
        when = f"asking again in {left}\u00a0s" if left > 0 else "asking again now"
        self._show(f"{self._reason}: {when} {self._count}")


class ActivityBar(QWidget):
    """A moving bar with a word, shown while a run has nothing new to show."""

    def __init__(self) -> None:
        super().__init__()
        bar = ThinProgress()
        bar.setFixedWidth(36)
        self.text = label("Thinking…", "caption")
        row(bar, (self.text, 1), margins=(2, 0, 2, 0), parent=self)


class RunStatus:
    """The moving bar at the end of a run, and at most one quiet line above it.

    Args:
        insert: Shows a widget at the end of the run, above the bar.
        live: Whether the run goes on now; an earlier run has no bar.

    Attributes:
        line: The quiet line that is shown now.
        bar: The moving bar; None once the run has ended.
    """

    def __init__(self, insert: Callable[[QWidget], object], *, live: bool) -> None:
        self.line: NoteLine | None = None
        self.bar = ActivityBar() if live else None
        self._insert = insert
        self._live = live
        self._stopping = ""  # the text from the moment the user pressed stop

    @property
    def text(self) -> str:
        """The text beside the bar; "" while it is not shown."""
        return self.bar.text.text() if self.bar is not None and not self.bar.isHidden() else ""

    def tick(self) -> None:
        """Update the countdown."""
        if self.line is not None:
            self.line.tick()

    def say(self, text: str) -> None:
        """Show the bar with `text`; hide it for "", unless the run is being stopped."""
        text = self._stopping or text
        if self.bar is not None:
            self.bar.setVisible(bool(text))
            self.bar.text.setText(text)

    def say_stopping(self, text: str) -> None:
        """Show `text` until the run ends."""
        self._stopping = text
        self.say(text)

    def note(self, event: ModelRetry | Noted) -> None:
        """Show a notice or a retry, in the same line if the current one is passing."""
        line = self.line
        if isinstance(event, ModelRetry):
            if isinstance(line, RetryLine):
                line.show_retry(event)
            elif self._live:
                self._put(RetryLine(event))
                self.say("")  # the countdown moves by itself
        elif event.text.strip():
            if line is None or isinstance(line, RetryLine) or not line.passing:
                line = NoteLine()
                line.say(event)
                self._put(line)
            else:
                line.say(event)
            self.say("Waiting…" if event.passing else "Thinking…")

    def clear_line(self, event: RunEvent) -> None:
        """Remove a passing line, since another event came; a lasting one stays in place."""
        if self.line is None or isinstance(event, (Usage, ToolProgress, Noted)):
            return
        if not (isinstance(event, ModelRetry) and self.line.passing):
            self._drop()

    def end(self) -> None:
        """Remove the bar and a passing line: the run has ended."""
        self._drop()
        if self.bar is not None:
            _remove(self.bar)
            self.bar = None

    def _put(self, line: NoteLine) -> None:
        self._drop()
        self.line = line
        self._insert(line)

    def _drop(self) -> None:
        if self.line is not None and self.line.passing:
            _remove(self.line)
        self.line = None


def _remove(widget: QWidget) -> None:
    """Take a widget out of its layout at once; Qt deletes it later."""
    widget.hide()
    parent = widget.parentWidget()
    layout = parent.layout() if parent is not None else None
    if layout is not None:
        layout.removeWidget(widget)
    widget.deleteLater()
