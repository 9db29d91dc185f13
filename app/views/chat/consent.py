"""Consent to send data to another machine: shows host, model, kinds of data and every picture.

The question opens as a dialog, so that nobody answers it by accident: No is the default, Escape and
closing mean No, and Yes works only once every picture was on the screen. The card in the
conversation says that the question waits, and afterwards shows it with the answer.
"""

from __future__ import annotations

import hashlib
import io
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from PIL import Image
from PySide6.QtCore import QPoint, QSize, Qt, QTimer, Signal
from PySide6.QtGui import QCloseEvent, QHideEvent, QImage, QKeyEvent, QPixmap
from PySide6.QtWidgets import (
    QDialog,
    QFrame,
    QGridLayout,
    QLabel,
    QScrollArea,
    QVBoxLayout,
    QWidget,
)
from shiboken6 import isValid

from app.agent.events import ApprovalRequested
from app.agent.llm.hosted_model import MAX_BYTES
from app.agent.request import Decision
from app.errors import FileProblem, SightlineError
from app.views.background import Background
from app.views.chat.approval import Answer, RequestCard
from app.views.chat.thumbnails import PictureButton, to_qimage
from app.views.chat.widgets import WrappedText
from app.views.layouts import Flow, column, icon_row, row
from app.views.plain_text import one_line
from app.views.text_view import BULLET, TextView, literal_view
from app.views.theme import DARK, SPACE, THEME, part_sheet
from app.views.translation import tr, tr_report, translatable
from app.views.widgets import IconLabel, label, push_button
from app.views.wording import sentence

QUIET_MS = 600  # keys within it were typed for another field, and answer nothing
SIDE = 200  # px, the longer side of a picture in the dialog
_WIDTH = 620  # px
_PLAIN = 310  # px, height of the dialog without pictures
_WARNING = 56  # px, height of a warning
_PICTURE = 200  # px, height of one picture with its caption
_SMALL = 88  # px of a picture in the conversation
_DIGEST = re.compile(r"[0-9a-f]{24}")
_YES = {
    "conversation": translatable("Send"),
    "record": translatable("Send the record's results"),
    "pictures": translatable("Send pictures"),
    "risky_pictures": translatable("Send anyway"),
}


@dataclass(frozen=True, slots=True)
class SentImage:
    """A picture that would be sent to a language model, with its file size."""

    image: QImage
    size_bytes: int


def read_sent(path: Path) -> SentImage:
    """Read a picture that would be sent; call this on a background thread.

    The file's name must be the first digits of its SHA-256. `app.agent.llm.hosted_model` checks the
    same before sending, so the picture that is shown is the picture that is sent.

    Raises:
        FileProblem: The file is missing or too large, is no PNG file, or has changed.
    """
    wrong = FileProblem("this picture cannot be shown, so it cannot be sent", subject=path.name)
    try:
        with path.open("rb") as file:
            data = file.read(MAX_BYTES + 1)
        name = hashlib.sha256(data).hexdigest()[:24]
        if len(data) > MAX_BYTES or not _DIGEST.fullmatch(path.stem) or name != path.stem:
            raise wrong
        with Image.open(io.BytesIO(data), formats=("PNG",)) as image:
            return SentImage(to_qimage(image), len(data))
    except (OSError, ValueError, SyntaxError, Image.DecompressionBombError) as error:
        raise wrong from error


class SentPicture(QWidget):
    """Shows a picture that would be sent, its caption, and why it may identify the patient.

    `picture` is an item of `ApprovalRequested.pictures`; `side`, the picture's longer side in px.
    """

    settled = Signal()  # the picture is shown, or is known to be unreadable

    def __init__(
        self, picture: Mapping[str, str], background: Background, side: int = SIDE
    ) -> None:
        super().__init__()
        self.sent: SentImage | None = None
        self._ends_seen = [False, False]
        path = Path(picture.get("path", ""))
        image = picture.get("image_id", "")
        number = image.removeprefix("image-")
        called = tr("Image {number}").format(number=number) if number.isdecimal() else image
        self.name = name = called or tr("Picture")
        self.button = PictureButton(side)
        self.button.setAccessibleName(tr("{name} as it would be sent: enlarge").format(name=name))
        self.button.setToolTip(tr("See it in full size"))
        self.button.setEnabled(False)
        self.button.clicked.connect(lambda _checked=False: self.enlarge())
        self.risk = label(tr_report(picture.get("risk", "")), "warning", wrap=True)
        self.risk.setVisible(bool(self.risk.text()))
        self._caption = WrappedText("caption")
        self._caption.set_full(picture.get("caption", ""))
        self._size = label(tr("Reading…"), "caption", wrap=True)
        words = (label(name, "strong"), self.risk, self._caption, self._size, 1)
        column(icon_row(self.button, column(*words, spacing=SPACE.xs), SPACE.m), parent=self)
        background.submit(lambda: read_sent(path), self._show, self._fail)

    @property
    def seen(self) -> bool:
        """Whether every part of the picture has been in view, all at once or by scrolling."""
        return all(self._ends_seen)

    def look(self, viewport: QWidget) -> None:
        """Record whether the picture's top and bottom are currently visible in `viewport`."""
        if self.sent is None:
            return
        top = self.button.mapTo(viewport, QPoint(0, 0)).y()
        ends = (top, top + self.button.height() - 1)
        for number, end in enumerate(ends):
            self._ends_seen[number] |= 0 <= end < viewport.height()

    def enlarge(self) -> None:
        if self.sent is not None:
            PictureWindow(self.sent.image, self.name, self.window()).open()

    def _show(self, sent: SentImage) -> None:
        if not isValid(self):  # its card was deleted while the file was read
            return
        self.sent = sent
        self.button.set_image(sent.image)
        self.button.setEnabled(True)
        size = sent.image.size()
        kilobytes = max(1, round(sent.size_bytes / 1024))
        text = tr("{width} x {height} pixels, {kilobytes} KB. Click for full size.").format(
            width=size.width(), height=size.height(), kilobytes=kilobytes
        )
        self._size.setText(text)
        self.settled.emit()

    def _fail(self, error: SightlineError) -> None:
        if not isValid(self):  # its card was deleted while the file was read
            return
        self.button.fail()
        self._size.setText(f"{sentence(tr_report(error.reason))}.")
        self.settled.emit()


class PictureWindow(QDialog):
    """A window that shows a picture in full size, exactly as it would be sent."""

    def __init__(self, image: QImage, name: str, parent: QWidget) -> None:
        super().__init__(parent)
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setWindowTitle(tr("As it would be sent"))
        self.picture = QLabel()
        self.picture.setPixmap(QPixmap.fromImage(image))
        self.picture.setAccessibleName(tr("{name} as it would be sent").format(name=name))
        self.area = QScrollArea()
        self.area.setWidget(self.picture)
        self.area.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self.area.setStyleSheet(f"QScrollArea, QLabel {{ background: {DARK.canvas}; }}")
        self.area.setAccessibleName(tr("The picture; scroll with the arrow keys"))
        size = tr("{width} x {height} pixels, in full size").format(
            width=image.width(), height=image.height()
        )
        close = push_button(tr("Close"), self.accept)
        close.setDefault(True)
        foot = row((label(f"{name}: {size}", "muted"), 1), close)
        column((self.area, 1), foot, margins=SPACE.m, parent=self)
        room = self.screen().availableGeometry().size() * 0.9
        frame = QSize(2 * SPACE.m + 6, 2 * SPACE.m + 60)
        self.resize((image.size() + frame).boundedTo(room).expandedTo(QSize(320, 240)))
        self.area.setFocus()


class ConsentView(QWidget):
    """Shows the data that would be sent, and the host; each picture's longer side is `side` px."""

    settled = Signal()

    def __init__(self, event: ApprovalRequested, background: Background, side: int = SIDE) -> None:
        super().__init__()
        self.warning = literal_view(tr_report(event.warning), "warning", tr("Warning"))
        self.warning.setVisible(bool(event.warning))
        facts = QGridLayout()
        facts.setHorizontalSpacing(SPACE.l)
        facts.setVerticalSpacing(6)
        facts.setColumnStretch(1, 1)
        self.facts: dict[str, TextView] = {}
        sent = "\n".join(f"{BULLET}{tr_report(item)}" for item in event.sent)
        rows = (
            (translatable("Host"), event.host, "place"),
            (translatable("Model"), event.model, ""),
            (translatable("What"), sent, ""),
        )
        for number, (name, text, tone) in enumerate(rows):
            view = self.facts[name] = literal_view(text, tone, f"{tr(name)}: {one_line(text, 600)}")
            facts.addWidget(label(tr(name), "muted"), number, 0, Qt.AlignmentFlag.AlignTop)
            facts.addWidget(view, number, 1)
        self.pictures = [SentPicture(item, background, side) for item in event.pictures]
        for picture in self.pictures:
            picture.settled.connect(self.settled)
        self.detail = literal_view(tr_report(event.detail), "muted", tr("In words"))
        parts = (self.warning, facts, *self.pictures, self.detail, 1)
        column(*parts, spacing=SPACE.m, parent=self)

    @property
    def complete(self) -> bool:
        return all(picture.sent is not None for picture in self.pictures)

    @property
    def seen(self) -> bool:
        return all(picture.seen for picture in self.pictures)

    def look(self, viewport: QWidget) -> None:
        """Record which pictures are visible in `viewport`; do nothing until all have been read."""
        layout = self.layout()
        if self.complete and layout is not None:
            layout.activate()
            for picture in self.pictures:
                picture.look(viewport)

    @property
    def failed(self) -> bool:
        return any(picture.button.failed for picture in self.pictures)


class ConsentDialog(QDialog):
    """The dialog that asks the user for consent to send data; it accepts a single answer."""

    def __init__(
        self,
        event: ApprovalRequested,
        background: Background,
        say: Callable[[Decision], object],
        parent: QWidget,
    ) -> None:
        super().__init__(parent)
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setObjectName("chatConsent")
        self.setStyleSheet(part_sheet("chat"))
        self.setWindowTitle(tr("Send to another computer?"))
        self._say = say
        self._answered = False
        self.view = ConsentView(event, background)
        self.area = QScrollArea()
        self.area.setWidgetResizable(True)
        self.area.setFrameShape(QFrame.Shape.NoFrame)
        self.area.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.area.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.area.setAccessibleName(tr("What would be sent; scroll with the arrow keys"))
        self.view.setContentsMargins(0, 0, SPACE.m, 0)
        self.area.setWidget(self.view)
        # One turn of the event loop later, when the layout has settled.
        self._looking = QTimer(self, singleShot=True, interval=0)
        self._looking.timeout.connect(self._look)
        self.view.settled.connect(self._looking.start)
        bar = self.area.verticalScrollBar()
        bar.valueChanged.connect(self._look)
        bar.rangeChanged.connect(self._looking.start)
        self._state = label("", "warning", wrap=True)
        self.no = push_button(tr("Don't send"), self.reject, primary=True)
        self.no.setDefault(True)
        self.yes = push_button(tr(_YES.get(event.about, _YES["conversation"])), self._agree)
        self._lay_out(event)
        self._armed = False
        self._quiet = QTimer(self, singleShot=True, interval=QUIET_MS)
        self._quiet.timeout.connect(self._arm)
        self._quiet.start()
        self._looking.start()
        self._update()
        self.area.setFocus()

    def _lay_out(self, event: ApprovalRequested) -> None:
        mark = IconLabel("shield-check", 22, THEME.warning)
        head = icon_row(mark, label(tr_report(event.title), "title", wrap=True), SPACE.m)
        self.setAccessibleName(tr_report(event.title))
        foot = row((self._state, 1), self.no, self.yes)
        margins = (SPACE.xl, SPACE.xl, SPACE.xl, SPACE.l)
        column(head, (self.area, 1), foot, spacing=SPACE.l, margins=margins, parent=self)
        room = self.screen().availableGeometry().size() * 0.9
        height = _PLAIN + _WARNING * bool(event.warning) + _PICTURE * min(2, len(event.pictures))
        self.resize(QSize(_WIDTH, height).boundedTo(room))

    def dismiss(self) -> None:
        """Close without an answer, because the run is no longer waiting for one."""
        self._answered = True
        self.close()

    def reject(self) -> None:
        """Answer no: Escape was pressed, No was clicked, or the window was closed."""
        self._answer(granted=False)
        super().reject()

    def closeEvent(self, event: QCloseEvent) -> None:
        self._answer(granted=False)
        super().closeEvent(event)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Ignore all keys, even Escape, until no key has been pressed for `QUIET_MS` ms."""
        if not self._armed:
            self._quiet.start()
            return
        super().keyPressEvent(event)

    def _agree(self) -> None:
        self._answer(granted=True)
        self.accept()

    def _answer(self, *, granted: bool) -> None:
        if not self._answered:
            self._answered = True
            self._say(Decision(granted=granted))

    def _arm(self) -> None:
        self._armed = True
        self._look()

    def _look(self, _value: int = 0) -> None:
        """Record the pictures in view: only seen pictures can be allowed."""
        if self.isVisible():
            self.view.look(self.area.viewport())
        self._update()

    def _update(self) -> None:
        self.yes.setEnabled(self._armed and self.view.complete and self.view.seen)
        unseen = "" if self.view.seen else tr("Scroll down: you have not seen every picture.")
        reading = "" if self.view.complete else tr("The pictures are being read…")
        failed = tr("A picture cannot be shown, so none can be sent.") if self.view.failed else ""
        self._state.setText(failed or reading or unseen)


class ConsentCard(RequestCard):
    """A card in the conversation that opens the consent dialog, and afterwards shows the answer."""

    def __init__(
        self, event: ApprovalRequested, answer: Answer, background: Background, *, live: bool = True
    ) -> None:
        self._event = event
        self._background = background
        self.dialog: ConsentDialog | None = None
        super().__init__(event, answer, live=live)

    def appear(self) -> None:
        """Open the consent dialog, unless the question is answered or belongs to an earlier run."""
        if self.answered or not self._live:
            return
        if self.dialog is None or not isValid(self.dialog):
            self.dialog = ConsentDialog(self._event, self._background, self._say, self.window())
            # Leaving the conversation closes its questions.
            self.destroyed.connect(self.dialog.deleteLater)
        self.dialog.open()
        self.dialog.raise_()

    def resolve(self, granted: bool, reason: str = "", scope: str = "once") -> None:
        """Close the dialog and show the answer that the run received."""
        self._dismiss()
        super().resolve(granted, reason, scope)

    def expire(self) -> None:
        self._dismiss()
        super().expire()

    def hideEvent(self, event: QHideEvent) -> None:
        """Close the dialog when its conversation or window is hidden."""
        super().hideEvent(event)
        if not event.spontaneous():
            self._dismiss()

    def _dismiss(self) -> None:
        if self.dialog is not None and isValid(self.dialog):
            self.dialog.dismiss()
        self.dialog = None

    def _fill_what(self, layout: QVBoxLayout, event: ApprovalRequested) -> None:
        self.view: ConsentView | None = None
        self.what.hide()

    def _fill_choices(self, layout: QVBoxLayout, event: ApprovalRequested) -> None:
        layout.addWidget(label(tr("The question is waiting for your answer."), "faint", wrap=True))
        self.deny = push_button(tr("Don't send"), lambda: self._say(Decision(granted=False)))
        self.ask = push_button(tr("Show the question"), self.appear)
        layout.addLayout(Flow(SPACE.s, self.deny, self.ask))
        self.setFocusProxy(self.deny)

    def _outcome(self, granted: bool, scope: str) -> str:
        event = self._event
        if not granted:
            return tr("Not allowed")
        if event.about == "conversation":
            return tr("The conversation may be sent to {host}").format(host=event.host)
        if event.about == "record":
            return tr("What the record says may be sent to {host}").format(host=event.host)
        if event.about == "pictures" and any(item.get("risk") for item in event.pictures):
            return tr("Allowed; you are asked again about those that may identify the patient")
        return tr("Pictures may be sent to {host}").format(host=event.host)

    def _say(self, decision: Decision) -> None:
        self._dismiss()
        super()._say(decision)

    def _toggle(self) -> None:
        layout = self.what.layout()
        if self.view is None and layout is not None:
            # Read only now: most answered questions are never opened again.
            self.view = ConsentView(self._event, self._background, _SMALL)
            layout.addWidget(self.view)
        super()._toggle()
