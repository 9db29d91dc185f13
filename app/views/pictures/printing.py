"""Printing: a page with a picture true to its proportions, or in true size, and a caption."""

from __future__ import annotations

from dataclasses import dataclass

from PySide6.QtCore import QRectF, Qt
from PySide6.QtGui import QFont, QFontMetricsF, QImage, QPageLayout, QPainter
from PySide6.QtPrintSupport import QPrinter, QPrintPreviewDialog
from PySide6.QtWidgets import QWidget

from app.imaging.types import Frame, Spacing, SpacingSource
from app.views import wording
from app.views.canvas.annotated_render import Look
from app.views.canvas.corner_text import Detail
from app.views.canvas.true_size import refusal
from app.views.translation import tr

MM_PER_INCH = 25.4
_CAPTION_PT = 9.0
_GAP_MM = 3.0


@dataclass(frozen=True, slots=True, eq=False)
class Page:
    """A picture to be printed.

    Attributes:
        width_mm: Width on the paper in true size; None to fill the page.
    """

    picture: QImage
    caption: str
    width_mm: float | None = None


def true_size_problem(spacing: Spacing) -> str:
    """Return why an image cannot be printed in true size, for the user; "" if it can."""
    return refusal(spacing)


def true_size_text(spacing: Spacing) -> str:
    """Return what the true size rests on."""
    if spacing.source is SpacingSource.DETECTOR:
        return tr("1 mm on paper is 1 mm on the detector; in the patient it is less.")
    basis = wording.one_line(str(spacing.source))
    return tr("1 mm on paper is 1 mm of the object (scale: {basis}).").format(basis=basis)


def width_mm(frame: Frame, turned: bool) -> float | None:
    """Return the width of a whole frame in mm, `turned` by a quarter; None if it is unknown."""
    spacing = frame.spacing
    if spacing.row_mm is None or spacing.column_mm is None:
        return None
    return frame.rows * spacing.row_mm if turned else frame.columns * spacing.column_mm


def caption(look: Look, spacing: Spacing | None) -> str:
    """Return the caption of a page; `spacing` is the image's if it is printed in true size."""
    parts = [tr(wording.NOT_FOR_DIAGNOSIS), "Sightline"]
    if look.detail is not Detail.ALL:
        parts.append(tr("without names"))
    if spacing is not None:
        parts.append(true_size_text(spacing))
    return wording.DOT.join(parts)


def paint(printer: QPrinter, page: Page) -> None:
    """Paint a page: picture as large as fits or in true size, then cut with a caption."""
    painter = QPainter(printer)
    try:
        dots = printer.resolution() / MM_PER_INCH
        area = QRectF(painter.viewport())
        font = QFont()
        font.setPointSizeF(_CAPTION_PT)
        painter.setFont(font)
        metrics = QFontMetricsF(font, printer)
        text = page.caption
        width, height = float(page.picture.width()), float(page.picture.height())
        room = area.height() - 2 * metrics.lineSpacing() - _GAP_MM * dots
        scale = min(area.width() / width, room / height)
        if page.width_mm is not None:
            wanted = page.width_mm * dots / width
            if wanted > scale:
                cut = tr("larger than the page: only its middle is printed")
                text = f"{text}{wording.DOT}{cut}"
            scale = wanted
        space = QRectF(area.left(), area.top(), area.width(), room)
        place = QRectF(0, 0, width * scale, height * scale)
        place.moveCenter(space.center())
        painter.save()
        painter.setClipRect(space)
        painter.setRenderHint(QPainter.RenderHint.SmoothPixmapTransform)
        painter.drawImage(place, page.picture)
        painter.restore()
        foot = QRectF(area.left(), space.bottom() + _GAP_MM * dots, area.width(), area.height())
        flags = Qt.AlignmentFlag.AlignTop | Qt.AlignmentFlag.AlignHCenter
        painter.drawText(foot, flags | Qt.TextFlag.TextWordWrap, text)
    finally:
        painter.end()


def new_printer(page: Page) -> QPrinter:
    """Return the system's printer, its page as wide or tall as the picture; it is not named."""
    printer = QPrinter(QPrinter.PrinterMode.HighResolution)
    wide = page.picture.width() > page.picture.height()
    kind = QPageLayout.Orientation.Landscape if wide else QPageLayout.Orientation.Portrait
    printer.setPageOrientation(kind)
    printer.setDocName(tr("Sightline picture"))
    printer.setCreator("Sightline")
    return printer


class PrintPreview(QPrintPreviewDialog):
    """Shows a page as it will be printed, and prints it."""

    def __init__(self, parent: QWidget, page: Page) -> None:
        self.printer_used = new_printer(page)  # Qt does not own it
        super().__init__(self.printer_used, parent)
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setWindowTitle(tr("Print preview"))
        self.paintRequested.connect(lambda target: paint(target, page))
        self.resize(900, 700)
