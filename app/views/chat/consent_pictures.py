"""The pictures of a consent: the very files that would be sent, small, and large on a click."""

from __future__ import annotations

import hashlib
import io
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from PIL import Image, UnidentifiedImageError
from PySide6.QtCore import QPoint, QSize, Qt, Signal
from PySide6.QtGui import QColor, QImage, QPainter, QPaintEvent, QPixmap
from PySide6.QtWidgets import (
    QAbstractButton,
    QDialog,
    QHBoxLayout,
    QLabel,
    QScrollArea,
    QSizePolicy,
    QVBoxLayout,
    QWidget,
)
from shiboken6 import isValid

from app.agent.llm.picture_encoding import MAX_BYTES
from app.errors import FileProblem, SightlineError
from app.views.background import Background
from app.views.chat.widgets import Wrapped, label
from app.views.icons import pixmap
from app.views.theme import SPACE, THEME
from app.views.widgets import push_button

SIDE = 200  # px, the longer side of a thumbnail
_DIGEST = re.compile(r"[0-9a-f]{24}")


@dataclass(frozen=True, slots=True)
class SentImage:
    """What a file shows.

    Attributes:
        image: Its pixels, all of them.
        size_bytes: Of the file.
    """

    image: QImage
    size_bytes: int


def read_sent(path: Path) -> SentImage:
    """The picture in the file that would be sent; for a thread of the pool.

    Its bytes must be those that its name promises, as when it is sent
    (`app.agent.llm.picture_encoding`), so that what is shown here and what leaves are the same.

    Raises:
        FileProblem: It is not there, or is something else by now.
    """
    wrong = FileProblem("this picture cannot be shown, so it cannot be sent", subject=path.name)
    try:
        with path.open("rb") as file:
            data = file.read(MAX_BYTES + 1)
        name = hashlib.sha256(data).hexdigest()[:24]
        if len(data) > MAX_BYTES or not _DIGEST.fullmatch(path.stem) or name != path.stem:
            raise wrong
        with Image.open(io.BytesIO(data), formats=("PNG",)) as image:
            whole = image.convert("RGBA")
    except UnidentifiedImageError as error:
        raise wrong from error
    except (OSError, ValueError, SyntaxError, Image.DecompressionBombError) as error:
        raise wrong from error
    form = QImage.Format.Format_RGBA8888
    shown = QImage(whole.tobytes(), whole.width, whole.height, whole.width * 4, form).copy()
    return SentImage(shown, len(data))


class SentPicture(QWidget):
    """A picture with its caption and, where there is one, why it may show who the patient is.

    Args:
        picture: As in `ApprovalRequested.pictures`.
        background: Reads the file.
        side: The longer side on screen, px.

    Attributes:
        settled: It is on screen, or cannot be shown.
    """

    settled = Signal()

    def __init__(
        self, picture: Mapping[str, str], background: Background, side: int = SIDE
    ) -> None:
        super().__init__()
        self.failed = False
        self.sent: SentImage | None = None
        self._ends_seen = [False, False]
        path = Path(picture.get("path", ""))
        name = picture.get("image_id", "") or "picture"
        self.name = name
        self.button = _PictureButton(f"{name} as it would be sent: enlarge", side)
        self.button.clicked.connect(lambda _checked=False: self.enlarge())
        self._risk = label("", "warning", wrap=True)
        self._risk.setText(picture.get("risk", ""))
        self._risk.setVisible(bool(self._risk.text()))
        self._caption = Wrapped("caption")
        self._caption.set_full(picture.get("caption", ""))
        self._size = label("Reading…", "caption", wrap=True)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(SPACE.xs)
        row = QHBoxLayout()
        row.setSpacing(SPACE.m)
        words = QVBoxLayout()
        words.setSpacing(SPACE.xs)
        words.addWidget(label(name, "strong"))
        for part in (self._risk, self._caption, self._size):
            words.addWidget(part)
        words.addStretch(1)
        row.addWidget(self.button, 0, Qt.AlignmentFlag.AlignTop)
        row.addLayout(words, 1)
        column.addLayout(row)
        background.submit(lambda: read_sent(path), self._show, self._fail)

    @property
    def risk(self) -> str:
        """Why it may show who the patient is, "" where nothing says so."""
        return self._risk.text()

    @property
    def seen(self) -> bool:
        """Whether all of it was in view, at once or by scrolling."""
        return all(self._ends_seen)

    def look(self, viewport: QWidget) -> None:
        """Note which of its ends is in view now."""
        if self.sent is None:
            return
        top = self.button.mapTo(viewport, QPoint(0, 0)).y()
        ends = (top, top + self.button.height() - 1)
        for number, end in enumerate(ends):
            self._ends_seen[number] |= 0 <= end < viewport.height()

    def enlarge(self) -> PictureWindow | None:
        """Show it pixel by pixel; None while there is nothing to show."""
        if self.sent is None:
            return None
        large = PictureWindow(self.sent.image, self.name, self.window())
        large.open()
        return large

    def _show(self, sent: SentImage) -> None:
        if not isValid(self):  # its card was deleted while the file was read
            return
        self.sent = sent
        self.button.set_image(sent.image)
        size = sent.image.size()
        kilobytes = max(1, round(sent.size_bytes / 1024))
        text = f"{size.width()} x {size.height()} pixels, {kilobytes} KB. Click for full size."
        self._size.setText(text)
        self.settled.emit()

    def _fail(self, error: SightlineError) -> None:
        if not isValid(self):  # its card was deleted while the file was read
            return
        self.failed = True
        self.button.fail()
        reason = error.reason
        self._size.setText(f"{reason[:1].upper()}{reason[1:]}.")
        self.settled.emit()


class PictureWindow(QDialog):
    """One picture as it would be sent, pixel by pixel."""

    def __init__(self, image: QImage, name: str, parent: QWidget) -> None:
        super().__init__(parent)
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setWindowTitle("As it would be sent")
        self.picture = QLabel()
        self.picture.setPixmap(QPixmap.fromImage(image))
        self.picture.setAccessibleName(f"{name} as it would be sent")
        self.area = QScrollArea()
        self.area.setWidget(self.picture)
        self.area.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self.area.setStyleSheet(f"QScrollArea, QLabel {{ background: {THEME.canvas}; }}")
        self.area.setAccessibleName("The picture; scroll with the arrow keys")
        column = QVBoxLayout(self)
        column.setContentsMargins(SPACE.m, SPACE.m, SPACE.m, SPACE.m)
        column.setSpacing(SPACE.s)
        column.addWidget(self.area, 1)
        foot = QHBoxLayout()
        size = f"{image.width()} x {image.height()} pixels, in full size"
        foot.addWidget(label(f"{name}: {size}", "muted"), 1)
        close = push_button("Close", self.accept)
        close.setDefault(True)
        foot.addWidget(close)
        column.addLayout(foot)
        room = self.screen().availableGeometry().size() * 0.9
        frame = QSize(2 * SPACE.m + 6, 2 * SPACE.m + 60)
        self.resize((image.size() + frame).boundedTo(room).expandedTo(QSize(320, 240)))
        self.area.setFocus()


class _PictureButton(QAbstractButton):
    def __init__(self, name: str, side: int) -> None:
        super().__init__()
        self._side = side
        self._image: QImage | None = None
        self._failed = False
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)
        self.setFixedSize(side, side * 3 // 4)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setCursor(Qt.CursorShape.PointingHandCursor)
        self.setAccessibleName(name)
        self.setToolTip("See it in full size")
        self.setEnabled(False)

    def set_image(self, image: QImage) -> None:
        """Show the picture."""
        size, box = image.size(), QSize(self._side, self._side)
        if size.width() > self._side or size.height() > self._side:
            size = size.scaled(box, Qt.AspectRatioMode.KeepAspectRatio)
        self.setFixedSize(size.expandedTo(QSize(48, 48)))
        ratio = self.devicePixelRatioF()
        # Scaled once: a smooth picture of a thousand lines at each repaint would cost too much.
        self._image = image.scaled(
            size * ratio,
            Qt.AspectRatioMode.KeepAspectRatio,
            Qt.TransformationMode.SmoothTransformation,
        )
        self._image.setDevicePixelRatio(ratio)
        self.setEnabled(True)
        self.update()

    def fail(self) -> None:
        """There is nothing to show."""
        self._failed = True
        self.setFixedSize(self._side, 64)
        self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.fillRect(self.rect(), QColor(THEME.canvas))
        if self._image is not None:
            size = self._image.deviceIndependentSize().toSize()
            left, top = self.width() - size.width(), self.height() - size.height()
            painter.drawImage(left // 2, top // 2, self._image)
        else:
            mark = pixmap("image-off" if self._failed else "image", 20, THEME.text_faint, 2.0)
            painter.drawPixmap(self.rect().center().x() - 10, self.rect().center().y() - 10, mark)
        bright = self.hasFocus() or self.underMouse()
        painter.setPen(QColor(THEME.accent if bright else THEME.border))
        painter.drawRect(self.rect().adjusted(0, 0, -1, -1))
        painter.end()
