"""The column of runs (question with answer); while scrolled to its end, it follows new content."""

from __future__ import annotations

import time
from collections.abc import Sequence
from enum import Enum, auto

from PySide6.QtCore import QPoint, QSize, Qt, QTimer, Signal
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QFrame, QPushButton, QScrollArea, QSizePolicy, QWidget

from app.agent.image_reference import unsuitable_image
from app.imaging.types import Content, Instance
from app.tools.pack_plan import Accepts
from app.views.chat.run_view import RunView
from app.views.chat.widgets import link_button
from app.views.icons import icon
from app.views.layouts import column, row
from app.views.theme import SPACE, THEME
from app.views.translation import tr, translatable
from app.views.widgets import IconLabel, label

_NEAR_END = 32  # px from the end that still count as being there
_TICK_MS = 100
_JUMP = 30  # px, the round button that scrolls to the end
_SETTLE_S = 0.5  # after the last event, for layouts and pictures to find their sizes
_LEAD = 0.3  # share of the view left above an answer, for the cards that it rests on
_FIRST = 2  # index of the first run, below "Show earlier messages" and the invitation
KEPT = 40  # runs that stay widgets; older ones come back from the thread's file
GENERAL_SUGGESTION = translatable("What can you do?")


class FollowMode(Enum):
    """How the conversation's view scrolls when new content arrives."""

    OFF = auto()  # it does not move, since the user is reading further up
    READING = auto()  # it scrolls until the beginning of the answer reaches the top
    END = auto()  # it stays at the end


class Conversation(QScrollArea):
    """A scrolling column with the runs (question and answer) of a conversation, oldest first."""

    older_wanted = Signal()
    trimmed = Signal(object)  # a RunView that was removed at the top

    def __init__(self, empty: QWidget) -> None:
        super().__init__()
        self.setObjectName("chatScroll")
        self.setAccessibleName(tr("Conversation"))
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setWidgetResizable(True)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self._column = QWidget()
        self._column.setObjectName("chatBody")
        margins = (SPACE.m, SPACE.l, SPACE.m, SPACE.m)
        self._layout = column(spacing=SPACE.l, margins=margins, parent=self._column)
        self._older = link_button(tr("Show earlier messages"), "chevron-up", self.older_wanted.emit)
        self._older.hide()
        self._empty = empty
        self._layout.addWidget(self._older, 0, Qt.AlignmentFlag.AlignHCenter)
        self._layout.addWidget(self._empty, 1)
        self._layout.addStretch(0)
        self.setWidget(self._column)
        self._runs: list[RunView] = []
        self._notes: list[QWidget] = []
        self.keep_all = False  # the runs cannot be read again from a file
        self._follow = FollowMode.READING
        self._active_until = 0.0  # afterwards only the reader changes sizes: no scrolling
        self._steering = False  # the value is changed here, not by the reader
        self._anchor: int | None = None  # px from the end, kept while runs come in above
        self._held: QWidget | None = None  # stays at the top until the reader scrolls
        self._ticker = QTimer(self, interval=_TICK_MS)
        self._ticker.timeout.connect(self._tick)
        # Not QTimer.singleShot: a pending one keeps its receiver alive for good.
        self._steer_soon = QTimer(self, singleShot=True, interval=0)
        self._steer_soon.timeout.connect(self._steer)
        self._letting_go = QTimer(self, singleShot=True, interval=0)
        self._letting_go.timeout.connect(self._let_go)
        self._leaving: list[QWidget] = []  # removed from the layout, not yet deleted
        self._delete_soon = QTimer(self, singleShot=True, interval=0)
        self._delete_soon.timeout.connect(self._delete_one)
        self._jump = self._make_jump()
        bar = self.verticalScrollBar()
        bar.rangeChanged.connect(self._on_range)
        bar.valueChanged.connect(self._on_value)
        bar.setSingleStep(24)

    @property
    def runs(self) -> tuple[RunView, ...]:
        return tuple(self._runs)

    @property
    def following(self) -> bool:
        return self._follow is not FollowMode.OFF

    def add(self, run: RunView) -> None:
        self._empty.hide()
        self._stay_active()
        self._runs.append(run)
        self._layout.insertWidget(self._layout.count() - 1, run)
        if run.running:
            self._ticker.start()
        self._trim()

    def add_past(self, run: RunView) -> None:
        """Add a recorded run below the other recorded runs and above the runs of this session."""
        self._empty.hide()
        self._stay_active()
        now = next((item for item in self._runs if item.past is None), None)
        if now is None:
            self.add(run)
            return
        self._runs.insert(self._runs.index(now), run)
        self._layout.insertWidget(self._layout.indexOf(now), run)

    def prepend(self, run: RunView) -> None:
        """Add an earlier run at the top without moving the visible part."""
        bar = self.verticalScrollBar()
        self._anchor = bar.maximum() - bar.value()
        self._follow = FollowMode.OFF
        self._runs.insert(0, run)
        self._layout.insertWidget(_FIRST, run)
        self._letting_go.start()

    def add_note(self, note: QWidget) -> None:
        self._empty.hide()
        self._notes.append(note)
        self._layout.insertWidget(self._layout.count() - 1, note)

    def clear(self) -> None:
        for part in (*self._runs, *self._notes):
            self._remove(part)
        self._runs.clear()
        self._notes.clear()
        self._anchor = self._held = None
        self._older.hide()
        self._empty.show()
        self._follow = FollowMode.READING
        self._jump.hide()

    def set_older(self, older: bool) -> None:
        self._older.setVisible(older)

    def to_end(self) -> None:
        self._follow = FollowMode.END
        self._stay_active()
        self._steer()

    def follow(self) -> None:
        """Scroll to the end; follow new content until the answer's first line is at the top."""
        self._follow, self._held = FollowMode.READING, None
        bar = self.verticalScrollBar()
        self._move_to(bar.maximum())
        self._jump.hide()

    def reveal(self, part: QWidget) -> None:
        """Scroll to the top of `part` unless it is fully visible; stop following new content."""
        bar = self.verticalScrollBar()
        top = part.mapTo(self._column, QPoint(0, 0)).y()
        low, high = bar.value(), bar.value() + self.viewport().height()
        self._follow = FollowMode.OFF
        if top < low or top + part.height() > high:
            self._move_to(max(0, top - SPACE.l))
        self._update_jump()

    def hold(self, part: QWidget) -> None:
        """Scroll to the top of `part`, and keep it there while sizes around it still change."""
        self._follow, self._held = FollowMode.OFF, part
        self._stay_active()
        self._steer()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._stay_active()
        self._place_jump()

    def _trim(self) -> None:
        """Remove very old runs, whose widgets would slow down every change of the width."""
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
        """Delete one widget a turn: a hundred cards at once stall the window for 50 ms."""
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
        button.setToolTip(tr("Jump to the latest message"))
        button.setAccessibleName(tr("Jump to the latest message"))
        button.setCursor(Qt.CursorShape.PointingHandCursor)
        button.clicked.connect(lambda _checked=False: self.to_end())
        button.hide()
        return button

    def _place_jump(self) -> None:
        self._jump.resize(_JUMP, _JUMP)
        left = self.viewport().width() - _JUMP - SPACE.s
        self._jump.move(left, self.height() - _JUMP - SPACE.s)

    def _on_range(self, _low: int, high: int) -> None:
        # The scroll bar takes its width from the margin, so that no text wraps anew.
        right = SPACE.m - self.verticalScrollBar().sizeHint().width() if high else SPACE.m
        self._layout.setContentsMargins(SPACE.m, SPACE.l, max(2, right), SPACE.m)
        if self._anchor is not None:
            self._move_to(high - self._anchor)
            return
        self._steer()
        # Again later: the range changes before the parts have moved to their places.
        self._steer_soon.start()

    def _on_value(self, value: int) -> None:
        if self._steering:
            return
        self._held = None
        at_end = value >= self.verticalScrollBar().maximum() - _NEAR_END
        self._follow = FollowMode.END if at_end else FollowMode.OFF
        self._update_jump()
        if value == 0 and not at_end and not self._older.isHidden():  # the reader is at the top
            self.older_wanted.emit()

    def _steer(self) -> None:
        """Scroll to where following leads."""
        if self._anchor is not None:
            return
        target = high = self.verticalScrollBar().maximum()
        reading = self._runs[-1].open_answer if self._runs else None
        if self._follow is FollowMode.READING and reading is not None:
            top = reading.mapTo(self._column, QPoint(0, 0)).y()
            target = min(high, max(0, top - int(self.viewport().height() * _LEAD)))
        if self._held is not None:
            target = max(0, self._held.mapTo(self._column, QPoint(0, 0)).y() - SPACE.l)
        if (self.following or self._held is not None) and time.monotonic() < self._active_until:
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
        self._place_jump()
        self._jump.setVisible(bar.value() < bar.maximum() - _NEAR_END)
        self._jump.raise_()


class Invitation(QWidget):
    """The widget shown before the first question: an invitation and questions to click."""

    chosen = Signal(str)  # text of a suggestion

    def __init__(self, suggestions: Sequence[tuple[str, Accepts]] = ()) -> None:
        """Create the widget; a suggestion is a question and the kind of images that it suits."""
        super().__init__()
        self._head = label("", "title")
        self._text = label("", "muted", wrap=True)
        for part in (self._head, self._text):
            part.setAlignment(Qt.AlignmentFlag.AlignHCenter)
        mark = row(1, IconLabel("sparkles", 30, THEME.accent), 1)
        layout = column(2, mark, self._head, self._text, parent=self)
        layout.setContentsMargins(SPACE.s, SPACE.xl, SPACE.s, SPACE.l)
        layout.addSpacing(SPACE.m)
        self.buttons: list[QPushButton] = []
        self._suited: list[Accepts] = []
        for suggestion, accepts in (*suggestions, (GENERAL_SUGGESTION, Accepts())):
            question = tr(suggestion)  # it is asked, and answered, in the window's language
            button = _Suggestion(question)
            button.clicked.connect(lambda _checked=False, text=question: self.chosen.emit(text))
            layout.addWidget(button)
            self.buttons.append(button)
            self._suited.append(accepts)
        layout.addStretch(3)
        self.set_image(None)

    def set_image(self, instance: Instance | None, *, record: bool = False) -> None:
        """Adapt the text and the questions offered to the shown image; None if none is shown.

        `record` says that a patient's record is open.
        """
        for button, accepts in zip(self.buttons, self._suited, strict=True):
            button.setVisible(accepts == Accepts() or _suits(accepts, instance))
        if instance is not None:
            self._head.setText(tr("Ask about this image"))
            self._text.setText(
                tr("The assistant runs imaging tools on it. What they find is drawn on the image.")
            )
        elif record:
            self._head.setText(tr("Ask about this record"))
            self._text.setText(
                tr("The assistant answers from the record, and each value links to its entry.")
            )
        else:
            self._head.setText(tr("Open an image, then ask"))
            self._text.setText(
                tr(
                    "With an image open, the assistant runs imaging tools on it and draws what "
                    "they find. General questions work without one."
                )
            )


def _suits(accepts: Accepts, instance: Instance | None) -> bool:
    """Return whether a question surely suits the image: none of lungs on unknown parts."""
    if instance is None or instance.content is not Content.IMAGE:
        return False
    told = ("StudyDescription", "SeriesDescription", "ProtocolName")
    note = {
        "kind": instance.kind,
        "modality": instance.get("Modality"),
        "body_part": instance.get("BodyPartExamined") or " ".join(map(instance.get, told)),
    }
    needed = (("modality", accepts.modalities), ("body_part", accepts.body_parts))
    known = all(note[key].strip() for key, values in needed if values)
    return known and not unsuitable_image(accepts, note)


class _Suggestion(QPushButton):
    """A button whose text wraps in a narrow dock; Qt's own would cut it."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.setObjectName("chatSuggestion")
        self.setAccessibleName(tr("Ask: {text}").format(text=text))
        self.setToolTip(tr("Ask this"))
        self.setCursor(Qt.CursorShape.PointingHandCursor)
        self._text = label(text, wrap=True)
        self._text.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        arrow = IconLabel("arrow-up", 14, THEME.text_faint)
        self._row = row((self._text, 1), arrow, margins=(SPACE.m, 10, SPACE.m, 10), parent=self)
        policy = QSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Minimum)
        policy.setHeightForWidth(True)
        self.setSizePolicy(policy)

    def hasHeightForWidth(self) -> bool:
        return True

    def heightForWidth(self, width: int) -> int:
        return self._row.heightForWidth(width)

    def sizeHint(self) -> QSize:
        return self._row.sizeHint()

    def minimumSizeHint(self) -> QSize:
        return self._row.minimumSize()
