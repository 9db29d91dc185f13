"""A picture that a tool made, small, read off the GUI thread."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from PIL import Image, ImageOps, UnidentifiedImageError
from PySide6.QtCore import QRectF, QSize, Qt
from PySide6.QtGui import QColor, QImage, QPainter, QPainterPath, QPaintEvent
from PySide6.QtWidgets import QAbstractButton, QSizePolicy
from shiboken6 import isValid

from app.errors import FileProblem, SightlineError
from app.imaging.files import synthetic
from app.views.background import Background
from app.views.canvas import synthetic_band
from app.views.chat.text import tooltip
from app.views.icons import pixmap
from app.views.theme import SPACE, THEME

SIDE = 84  # px, the longer side on screen
_READ = SIDE * 3  # enough for a screen of three times the density
_MAX_PIXELS = 80_000_000
_FORMATS = ("PNG", "JPEG")


def read(path: Path) -> QImage:
    """A picture, scaled down; for a thread of the pool.

    By Pillow, which is told the two formats: QImageReader tries every image plug-in that is
    installed, and SVG is one of them.

    Raises:
        FileProblem: It is no PNG or JPEG, too large or broken.
    """
    try:
        with Image.open(path, formats=_FORMATS) as image:
            if image.width * image.height > _MAX_PIXELS:
                raise FileProblem("this picture is too large for a preview", subject=str(path))
            image.draft("RGB", (_READ, _READ))
            image.thumbnail((_READ, _READ), Image.Resampling.BOX)
            small = ImageOps.exif_transpose(image).convert("RGBA")
    except UnidentifiedImageError as error:
        raise FileProblem("this is no PNG or JPEG picture", subject=str(path)) from error
    except (OSError, ValueError, SyntaxError, Image.DecompressionBombError) as error:
        raise FileProblem("this picture cannot be read", subject=str(path)) from error
    form = QImage.Format.Format_RGBA8888
    return QImage(small.tobytes(), small.width, small.height, small.width * 4, form).copy()


class Thumbnail(QAbstractButton):
    """The picture as a button that opens it.

    Args:
        path: Its file.
        title: What it is called.
        background: Reads it.
        opened: What a click does.
        made_by: The model that made it, where that is known already; its file may say so too.
    """

    def __init__(
        self,
        path: Path,
        title: str,
        background: Background,
        opened: Callable[[], object],
        made_by: str = "",
    ) -> None:
        super().__init__()
        self.made_by = made_by
        self._title = title or path.name
        self._image: QImage | None = None
        self._failed = False
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)
        self.setFixedSize(SIDE, SIDE)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setCursor(Qt.CursorShape.PointingHandCursor)
        self.clicked.connect(lambda _checked=False: opened())
        self._name_it()
        background.submit(
            lambda: (read(path), synthetic.file_model_title(path)), self._show, self._fail
        )

    def _name_it(self) -> None:
        synthetic_is = [synthetic_band.text(self.made_by)] if self.made_by else []
        lines = [self._title, *synthetic_is]
        self.setAccessibleName(f"Open picture {'. '.join(lines)} beside the image")
        self.setToolTip(tooltip("\n".join([*lines, "Click to open it beside the image."])))

    @property
    def image(self) -> QImage | None:
        """The picture, once it is read."""
        return self._image

    def _show(self, picture: tuple[QImage, str]) -> None:
        if not isValid(self):  # its card was deleted while the picture was read
            return
        image, made_by = picture
        if made_by and not self.made_by:
            self.made_by = made_by
            self._name_it()
        self._image = image
        size = image.size().scaled(QSize(SIDE, SIDE), Qt.AspectRatioMode.KeepAspectRatio)
        self.setFixedSize(max(40, size.width()), max(28, size.height()))
        self.update()

    def _fail(self, error: SightlineError) -> None:
        if not isValid(self):  # its card was deleted while the picture was read
            return
        self._failed = True
        self.setEnabled(False)
        self.setFixedSize(SIDE, 48)
        self.setToolTip(tooltip(error.text))
        self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setRenderHint(QPainter.RenderHint.SmoothPixmapTransform)
        frame = QRectF(self.rect()).adjusted(0.5, 0.5, -0.5, -0.5)
        shape = QPainterPath()
        shape.addRoundedRect(frame, SPACE.radius_small, SPACE.radius_small)
        painter.fillPath(shape, QColor(THEME.canvas))
        if self._image is not None:
            painter.setClipPath(shape)
            painter.drawImage(self.rect(), self._image)
            if self.made_by:
                synthetic_band.draw_small(painter, QRectF(self.rect()))
            painter.setClipping(False)
        else:
            mark = pixmap("image-off" if self._failed else "image", 20, THEME.text_faint, 2.0)
            painter.drawPixmap(self.rect().center().x() - 10, self.rect().center().y() - 10, mark)
        bright = self.hasFocus() or self.underMouse()
        painter.setPen(QColor(THEME.accent if bright else THEME.border))
        painter.drawPath(shape)
        painter.end()
