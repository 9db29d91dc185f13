"""Buttons that show a picture, or a placeholder until its file has been read in the background."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from PIL import Image, ImageOps, UnidentifiedImageError
from PySide6.QtCore import QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QIcon, QImage, QPainter, QPixmap
from PySide6.QtWidgets import QPushButton
from shiboken6 import isValid

from app.errors import FileProblem, SightlineError
from app.imaging.files import synthetic
from app.views import icons
from app.views.background import Background
from app.views.canvas import synthetic_band
from app.views.theme import THEME
from app.views.translation import tr
from app.views.widgets import plain_tip
from app.views.wording import error_text

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


class PictureButton(QPushButton):
    """A button that shows a picture, whose longer side is at most `side` px on the screen."""

    def __init__(self, side: int) -> None:
        super().__init__()
        self.setObjectName("chatPicture")
        self.image: QImage | None = None
        self.failed = False
        self._side = side
        self.setIcon(icons.icon("image", THEME.text_faint))
        self.setFixedSize(side, side * 3 // 4)
        self.setCursor(Qt.CursorShape.PointingHandCursor)

    def set_image(self, image: QImage, *, synthetic: bool = False) -> None:
        """Show a picture, shrunk to the button; a `synthetic` one gets the band."""
        self.image = image
        box = QSize(self._side, self._side).boundedTo(image.size())
        size = image.size().scaled(box, Qt.AspectRatioMode.KeepAspectRatio)
        ratio = self.devicePixelRatioF()
        # Scaled once: a smooth picture of a thousand lines at each repaint would cost too much.
        shown = QPixmap.fromImage(
            image.scaled(
                size * ratio,
                Qt.AspectRatioMode.KeepAspectRatio,
                Qt.TransformationMode.SmoothTransformation,
            )
        )
        shown.setDevicePixelRatio(ratio)
        if synthetic:
            painter = QPainter(shown)
            synthetic_band.draw_small(painter, QRectF(QPointF(), shown.deviceIndependentSize()))
            painter.end()
        self.setIcon(QIcon(shown))
        self.setIconSize(size)
        self.setFixedSize(size.expandedTo(_SMALLEST) + QSize(2, 2))  # and the border

    def fail(self) -> None:
        self.failed = True
        self.setEnabled(False)
        self.setIcon(icons.icon("image-off", THEME.text_faint))
        self.setFixedSize(self._side, 48)


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

    def _describe(self) -> None:
        lines = [self._title, *([synthetic_band.text(self.made_by)] if self.made_by else [])]
        self.setAccessibleName(
            tr("Open picture {lines} beside the image").format(lines=". ".join(lines))
        )
        self.setToolTip(plain_tip("\n".join([*lines, tr("Click to open it beside the image.")])))

    def _show(self, picture: tuple[QImage, str]) -> None:
        if not isValid(self):  # its card was deleted while the picture was read
            return
        image, made_by = picture
        if made_by and not self.made_by:
            self.made_by = made_by
            self._describe()
        self.set_image(image, synthetic=bool(self.made_by))

    def _show_error(self, error: SightlineError) -> None:
        if isValid(self):
            self.fail()
            self.setToolTip(plain_tip(error_text(error)))
