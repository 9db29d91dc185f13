"""What the model means to do, as a short list of steps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from PySide6.QtCore import QRect, QSize, Qt
from PySide6.QtGui import QColor, QFontMetrics, QPainter, QPaintEvent
from PySide6.QtWidgets import QSizePolicy, QVBoxLayout, QWidget

from app.views.chat import names
from app.views.chat.text import one_line, tooltip
from app.views.chat.widgets import link_button
from app.views.icons import icon, pixmap
from app.views.style import ui_font
from app.views.theme import SPACE, THEME, TYPE

_ROW = 22
# state -> (icon, colour, word); what is told apart by colour is told apart by shape too.
_STATES = {
    "pending": ("square", THEME.text_faint, "waiting"),
    "running": ("loader-circle", THEME.accent, "running"),
    "done": ("circle-check", THEME.ok, "done"),
    "failed": ("circle-x", THEME.error, "failed"),
    "skipped": ("ban", THEME.text_faint, "left out"),
}


class PlanView(QWidget):
    """The plan: open while it is worked on, folded when the run has ended."""

    def __init__(self) -> None:
        super().__init__()
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Preferred)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(2)
        self._head = link_button("Plan", "chevron-down", self.toggle)
        self.steps = _Steps()
        layout.addWidget(self._head)
        layout.addWidget(self.steps)

    def set_steps(self, steps: Sequence[Mapping[str, Any]]) -> None:
        """Show steps of {"tool", "why", "state"}."""
        self.steps.set_steps(steps)
        done = sum(1 for step in steps if step.get("state") == "done")
        self._head.setText(f"Plan · {done} of {len(steps)} done")
        self._head.setAccessibleName(self._head.text())
        self.setAccessibleName(f"Plan, {self.steps.as_text()}")

    def toggle(self) -> None:
        """Fold or unfold."""
        self.fold(not self.steps.isHidden())

    def fold(self, folded: bool) -> None:
        """Hide the steps, or show them."""
        self.steps.setVisible(not folded)
        self._head.setIcon(icon("chevron-right" if folded else "chevron-down"))


class _Steps(QWidget):
    """The lines, painted: a plan changes often and must cost little."""

    def __init__(self) -> None:
        super().__init__()
        self._lines: list[tuple[str, str, str]] = []
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)

    def set_steps(self, steps: Sequence[Mapping[str, Any]]) -> None:
        """Take the steps anew."""
        self._lines = [
            (
                str(step.get("state", "pending")),
                names.title(str(step.get("tool", ""))),
                one_line(str(step.get("why", ""))),
            )
            for step in steps
        ]
        self.setToolTip(tooltip(self.as_text()))
        self.updateGeometry()
        self.update()

    def as_text(self) -> str:
        """A line a step."""
        return "\n".join(
            f"{title}: {_STATES.get(state, _STATES['pending'])[2]}" + (f" ({why})" if why else "")
            for state, title, why in self._lines
        )

    def sizeHint(self) -> QSize:
        return QSize(120, len(self._lines) * _ROW)

    def minimumSizeHint(self) -> QSize:
        return QSize(60, len(self._lines) * _ROW)

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        title_font, why_font = ui_font(TYPE.label), ui_font(TYPE.caption)
        left = SPACE.s + 16 + SPACE.s
        for index, (state, title, why) in enumerate(self._lines):
            mark, tint, _ = _STATES.get(state, _STATES["pending"])
            y = index * _ROW
            painter.drawPixmap(SPACE.s, y + (_ROW - 14) // 2, pixmap(mark, 14, tint, 2.0))
            painter.setFont(title_font)
            painter.setPen(QColor(THEME.text if state in ("running", "done") else THEME.text_muted))
            room = QRect(left, y, self.width() - left, _ROW)
            align = Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignLeft
            metrics = QFontMetrics(title_font)
            elide = Qt.TextElideMode.ElideRight
            painter.drawText(room, align, metrics.elidedText(title, elide, room.width()))
            room.setLeft(left + metrics.horizontalAdvance(title) + SPACE.s)
            if why and room.width() > 40:
                painter.setFont(why_font)
                painter.setPen(QColor(THEME.text_faint))
                text = QFontMetrics(why_font).elidedText(why, elide, room.width())
                painter.drawText(room, align, text)
        painter.end()
