"""Pictures as buttons: placeholders until their file is read off the GUI thread."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from PIL import Image, ImageOps, UnidentifiedImageError
from PySide6.QtCore import QRect, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QImage, QPainter, QPainterPath, QPaintEvent
from PySide6.QtWidgets import QAbstractButton, QSizePolicy
from shiboken6 import isValid

from app.errors import FileProblem, SightlineError
from app.imaging.files import synthetic
from app.views import icons
from app.views.background import Background
from app.views.canvas import synthetic_band
from app.views.theme import SPACE, THEME
from app.views.widgets import plain_tip

SIDE = 84  # px, the longer side of a thumbnail on screen
_READ = SIDE * 3  # px that are kept of it: enough for a screen of three times the density
_SMALLEST = QSize(48, 48)  # px, so that a narrow picture can still be clicked
_MAX_PIXELS = 80_000_000
_FORMATS = ("PNG", "JPEG")


def read(path: Path) -> QImage:
    """Read a picture and scale it down to a thumbnail; call this on a background thread.

    Pillow reads it, limited to two formats: QImageReader would try every installed image plug-in,
    and SVG is one of them.

    Raises:
        FileProblem: The file is not a PNG or JPEG, is too large, or is damaged.
    """
    try:
        with Image.open(path, formats=_FORMATS) as image:
            if image.width * image.height > _MAX_PIXELS:
                raise FileProblem("this picture is too large for a preview", subject=str(path))
            image.draft("RGB", (_READ, _READ))
            image.thumbnail((_READ, _READ), Image.Resampling.BOX)
            return to_qimage(ImageOps.exif_transpose(image))
    except UnidentifiedImageError as error:
        raise FileProblem("this is not a PNG or JPEG picture", subject=str(path)) from error
    except (OSError, ValueError, SyntaxError, Image.DecompressionBombError) as error:
        raise FileProblem("this picture cannot be read", subject=str(path)) from error


def to_qimage(image: Image.Image) -> QImage:
    """Return a copy of a Pillow image as a QImage with RGBA pixels."""
    form = QImage.Format.Format_RGBA8888
    data = image.convert("RGBA").tobytes()
    return QImage(data, image.width, image.height, image.width * 4, form).copy()


class PictureButton(QAbstractButton):
    """A button that shows a picture, whose longer side is at most `side` px on the screen."""

    def __init__(self, side: int) -> None:
        super().__init__()
        self.image: QImage | None = None
        self.failed = False
        self._side = side
        self._shown: QImage | None = None
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)
        self.setFixedSize(side, side * 3 // 4)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setCursor(Qt.CursorShape.PointingHandCursor)

    def set_image(self, image: QImage) -> None:
        """Show a picture, scaled down if it is larger than the button."""
        self.image = image
        box = QSize(self._side, self._side).boundedTo(image.size())
        size = image.size().scaled(box, Qt.AspectRatioMode.KeepAspectRatio)
        self.setFixedSize(size.expandedTo(_SMALLEST))
        ratio = self.devicePixelRatioF()
        # Scaled once: a smooth picture of a thousand lines at each repaint would cost too much.
        self._shown = image.scaled(
            size * ratio,
            Qt.AspectRatioMode.KeepAspectRatio,
            Qt.TransformationMode.SmoothTransformation,
        )
        self._shown.setDevicePixelRatio(ratio)
        self.update()

    def fail(self) -> None:
        """Show that the picture could not be loaded."""
        self.failed = True
        self.setEnabled(False)
        self.setFixedSize(self._side, 48)
        self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        frame = QRectF(self.rect()).adjusted(0.5, 0.5, -0.5, -0.5)
        shape = QPainterPath()
        shape.addRoundedRect(frame, SPACE.radius_small, SPACE.radius_small)
        painter.fillPath(shape, QColor(THEME.canvas))
        if self._shown is not None:
            size = self._shown.deviceIndependentSize().toSize()
            left, top = self.width() - size.width(), self.height() - size.height()
            painter.setClipPath(shape)
            painter.drawImage(left // 2, top // 2, self._shown)
            self.draw_over(painter)
            painter.setClipping(False)
        else:
            mark = QRect(0, 0, 20, 20)
            mark.moveCenter(self.rect().center())
            icons.draw(painter, "image-off" if self.failed else "image", mark, THEME.text_faint)
        bright = self.hasFocus() or self.underMouse()
        painter.setPen(QColor(THEME.accent if bright else THEME.border))
        painter.drawPath(shape)
        painter.end()

    def draw_over(self, painter: QPainter) -> None:
        """Draw something over the picture; does nothing by default."""


class Thumbnail(PictureButton):
    """A button that shows a picture made by a tool; a click opens the picture.

    Args:
        made_by: The model that made the picture, if it is known to be synthetic; "" otherwise. The
            file itself may also say that it is synthetic.
    """

    def __init__(
        self,
        path: Path,
        title: str,
        background: Background,
        opened: Callable[[], object],
        made_by: str = "",
    ) -> None:
        super().__init__(SIDE)
        self.made_by = made_by
        self._title = title or path.name
        self.clicked.connect(lambda _checked=False: opened())
        self._describe()
        background.submit(
            lambda: (read(path), synthetic.file_model_title(path)), self._show, self._show_error
        )

    def draw_over(self, painter: QPainter) -> None:
        """Draw the band that marks the picture as synthetic, if it is."""
        if self.made_by:
            synthetic_band.draw_small(painter, QRectF(self.rect()))

    def _describe(self) -> None:
        lines = [self._title, *([synthetic_band.text(self.made_by)] if self.made_by else [])]
        self.setAccessibleName(f"Open picture {'. '.join(lines)} beside the image")
        self.setToolTip(plain_tip("\n".join([*lines, "Click to open it beside the image."])))

    def _show(self, picture: tuple[QImage, str]) -> None:
        if not isValid(self):  # its card was deleted while the picture was read
            return
        image, made_by = picture
        if made_by and not self.made_by:
            self.made_by = made_by
            self._describe()
        self.set_image(image)

    def _show_error(self, error: SightlineError) -> None:
        if isValid(self):
            self.fail()
            self.setToolTip(plain_tip(error.text))
