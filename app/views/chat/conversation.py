"""The scrolled column of runs: follows what is new while the reader is at its end."""

from __future__ import annotations

import time
from enum import Enum, auto

from PySide6.QtCore import QPoint, Qt, QTimer, Signal
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QFrame, QPushButton, QScrollArea, QVBoxLayout, QWidget

from app.views.chat.run_view import RunView
from app.views.chat.widgets import link_button
from app.views.icons import icon
from app.views.theme import SPACE, THEME

_NEAR_END = 32  # px from the end that still count as being there
_TICK_MS = 100
_JUMP = 30  # px, the round button that leads to the end
_SETTLE_S = 0.5  # after the last event, for layouts and pictures to find their sizes
_LEAD = 0.3  # share of the view above an answer's beginning: the cards that it rests on
_FIRST = 2  # place of the first run, below "Show earlier messages" and the empty state
KEPT = 40  # runs that stay widgets; older ones are shown again from the thread's file


class Follow(Enum):
    """What is done about new content.

    Attributes:
        OFF: Nothing: the reader is somewhere above.
        READING: It scrolls into view until an answer's beginning would leave the view.
        END: The end stays in view.
    """

    OFF = auto()
    READING = auto()
    END = auto()


class Conversation(QScrollArea):
    """Runs from top to bottom.

    Attributes:
        older_wanted: The reader asks for what was left out above.
        trimmed: A RunView that was taken out at the top.
        keep_all: Whether none is taken out, since no file could show it again.
    """

    older_wanted = Signal()
    trimmed = Signal(object)

    def __init__(self, empty: QWidget) -> None:
        super().__init__()
        self.setObjectName("chatScroll")
        self.setAccessibleName("Conversation")
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setWidgetResizable(True)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self._column = QWidget()
        self._column.setObjectName("chatBody")
        self._layout = QVBoxLayout(self._column)
        self._layout.setContentsMargins(SPACE.m, SPACE.l, SPACE.m, SPACE.m)
        self._layout.setSpacing(SPACE.l)
        self._older = link_button("Show earlier messages", "chevron-up", self.older_wanted.emit)
        self._older.hide()
        self._empty = empty
        self._layout.addWidget(self._older, 0, Qt.AlignmentFlag.AlignHCenter)
        self._layout.addWidget(self._empty, 1)
        self._layout.addStretch(0)
        self.setWidget(self._column)
        self._runs: list[RunView] = []
        self._notes: list[QWidget] = []
        self.keep_all = False
        self._follow = Follow.READING
        self._active_until = 0.0  # what grows later was opened by the reader: nothing moves then
        self._steering = False  # the value changes because of us, not of the reader
        self._anchor: int | None = None  # distance from the end to keep while text comes above
        self._ticker = QTimer(self, interval=_TICK_MS)
        self._ticker.timeout.connect(self._tick)
        # Timers of their own: a pending QTimer.singleShot keeps its receiver alive for good.
        self._steer_soon = QTimer(self, singleShot=True, interval=0)
        self._steer_soon.timeout.connect(self._steer)
        self._letting_go = QTimer(self, singleShot=True, interval=0)
        self._letting_go.timeout.connect(self._let_go)
        self._leaving: list[QWidget] = []  # taken out, and not deleted yet
        self._delete_soon = QTimer(self, singleShot=True, interval=0)
        self._delete_soon.timeout.connect(self._delete_one)
        self._jump = self._make_jump()
        bar = self.verticalScrollBar()
        bar.rangeChanged.connect(self._on_range)
        bar.valueChanged.connect(self._on_value)
        bar.setSingleStep(24)

    @property
    def runs(self) -> tuple[RunView, ...]:
        """The runs that are shown."""
        return tuple(self._runs)

    @property
    def following(self) -> bool:
        """Whether what is new scrolls into view."""
        return self._follow is not Follow.OFF

    def add(self, run: RunView) -> None:
        """Add a run at the end."""
        self._empty.hide()
        self._stay_active()
        self._runs.append(run)
        self._layout.insertWidget(self._layout.count() - 1, run)
        if run.running:
            self._ticker.start()
        self._trim()

    def add_past(self, run: RunView) -> None:
        """Add an earlier run below other earlier ones, above those of now."""
        self._empty.hide()
        self._stay_active()
        now = next((item for item in self._runs if item.past is None), None)
        if now is None:
            self.add(run)
            return
        self._runs.insert(self._runs.index(now), run)
        self._layout.insertWidget(self._layout.indexOf(now), run)

    def prepend(self, run: RunView) -> None:
        """Add an earlier run at the top; what is being read stays where it is."""
        bar = self.verticalScrollBar()
        self._anchor = bar.maximum() - bar.value()
        self._follow = Follow.OFF
        self._runs.insert(0, run)
        self._layout.insertWidget(_FIRST, run)
        self._letting_go.start()

    def add_note(self, note: QWidget) -> None:
        """Add something that belongs to no run."""
        self._empty.hide()
        self._notes.append(note)
        self._layout.insertWidget(self._layout.count() - 1, note)

    def clear(self) -> None:
        """Take everything out; the empty state shows."""
        for part in (*self._runs, *self._notes):
            self._remove(part)
        self._runs.clear()
        self._notes.clear()
        self._anchor = None
        self._older.hide()
        self._empty.show()
        self._follow = Follow.READING
        self._jump.hide()

    def set_older(self, older: bool) -> None:
        """Whether there is more above."""
        self._older.setVisible(older)

    def to_end(self) -> None:
        """Scroll to the end and stay there."""
        self._follow = Follow.END
        self._stay_active()
        self._steer()

    def follow(self) -> None:
        """Scroll to what comes next."""
        self._follow = Follow.READING
        bar = self.verticalScrollBar()
        self._move_to(bar.maximum())
        self._jump.hide()

    def reveal(self, part: QWidget) -> None:
        """Scroll so that a part of a run is seen from its beginning; nothing follows any more."""
        bar = self.verticalScrollBar()
        top = part.mapTo(self._column, QPoint(0, 0)).y()
        low, high = bar.value(), bar.value() + self.viewport().height()
        self._follow = Follow.OFF
        if top < low or top + part.height() > high:
            self._move_to(max(0, top - SPACE.l))
        self._update_jump()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._stay_active()
        self._place_jump()

    def _trim(self) -> None:
        """Widgets cost time with every change of the width: very old ones are taken out."""
        if self.keep_all:
            return
        while len(self._runs) > KEPT and not self._runs[0].running and self.following:
            run = self._runs.pop(0)
            self._remove(run)
            self.trimmed.emit(run)

    def _remove(self, part: QWidget) -> None:
        self._layout.removeWidget(part)
        part.hide()
        self._leaving.append(part)
        self._delete_soon.start()

    def _delete_one(self) -> None:
        """One a turn: a hundred cards at once held the window up for 50 ms."""
        self._leaving.pop().deleteLater()
        if self._leaving:
            self._delete_soon.start()

    def _let_go(self) -> None:
        self._anchor = None

    def _tick(self) -> None:
        live = [run for run in self._runs if run.running]
        for run in live:
            run.tick()
            self._stay_active()
        if not live:
            self._ticker.stop()

    def _make_jump(self) -> QPushButton:
        button = QPushButton(self)
        button.setObjectName("chatJump")
        button.setIcon(icon("chevron-down", THEME.text))
        button.setToolTip("Jump to the latest message")
        button.setAccessibleName("Jump to the latest message")
        button.setCursor(Qt.CursorShape.PointingHandCursor)
        button.clicked.connect(lambda _checked=False: self.to_end())
        button.hide()
        return button

    def _place_jump(self) -> None:
        self._jump.resize(_JUMP, _JUMP)
        left = self.viewport().width() - _JUMP - SPACE.s
        self._jump.move(left, self.height() - _JUMP - SPACE.s)

    def _on_range(self, _low: int, high: int) -> None:
        # The scroll bar takes its width from the margin, so that no line of text breaks anew.
        right = SPACE.m - self.verticalScrollBar().sizeHint().width() if high else SPACE.m
        self._layout.setContentsMargins(SPACE.m, SPACE.l, max(2, right), SPACE.m)
        if self._anchor is not None:
            self._move_to(high - self._anchor)
            return
        self._steer()
        # The range is known before the parts have moved to their places.
        self._steer_soon.start()

    def _on_value(self, value: int) -> None:
        if self._steering:
            return
        at_end = value >= self.verticalScrollBar().maximum() - _NEAR_END
        self._follow = Follow.END if at_end else Follow.OFF
        self._update_jump()

    def _steer(self) -> None:
        """Go where following leads."""
        if self._anchor is not None:
            return
        target = high = self.verticalScrollBar().maximum()
        reading = self._runs[-1].reading if self._runs else None
        if self._follow is Follow.READING and reading is not None:
            top = reading.mapTo(self._column, QPoint(0, 0)).y()
            target = min(high, max(0, top - int(self.viewport().height() * _LEAD)))
        if self.following and time.monotonic() < self._active_until:
            self._move_to(target)
        self._update_jump()

    def _stay_active(self) -> None:
        self._active_until = time.monotonic() + _SETTLE_S

    def _move_to(self, value: int) -> None:
        self._steering = True
        self.verticalScrollBar().setValue(value)
        self._steering = False

    def _update_jump(self) -> None:
        bar = self.verticalScrollBar()
        if bar.value() >= bar.maximum() - _NEAR_END:
            self._jump.hide()
        else:
            self._show_jump()

    def _show_jump(self) -> None:
        if self._jump.isHidden():
            self._place_jump()
            self._jump.show()
            self._jump.raise_()
