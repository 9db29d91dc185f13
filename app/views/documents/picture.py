"""The page of a report as a picture, for `render` and for whoever has no window."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QRectF, QUrl
from PySide6.QtGui import QAbstractTextDocumentLayout, QColor, QImage, QPainter, QTextDocument

from app.imaging.report import Report, key_images
from app.imaging.types import Instance, ScanResult
from app.views.application import create_application, needs_offscreen, use_offscreen
from app.views.canvas.image_layer import to_qimage
from app.views.documents.names import name_of
from app.views.documents.pictures import SHARP, framed
from app.views.documents.writing import (
    MOST_PICTURES,
    PICTURE,
    PICTURE_PX,
    PICTURE_SPACE,
    write_report,
)
from app.views.theme import SPACE, THEME
from app.workspace.workspace import Workspace

WIDTH = 860  # logical px of the page
LONGEST = 16_000  # physical px; a picture is no book

Thumbnails = Callable[[Instance, int], NDArray[np.uint8] | None]


def report_picture_offscreen(
    report: Report, opened: ScanResult, thumbnail: Thumbnails, *, pictures: bool
) -> NDArray[np.uint8]:
    """A report as the window shows it, at two pixels for each of its own; makes the Qt application.

    Args:
        report: What to draw.
        opened: What is open beside it: images in it are named and linked.
        thumbnail: A small picture of an instance; blocks.
        pictures: Whether its key images are shown.

    Returns:
        uint8 [rows, columns, 3] RGB; a page that is too long ends in its middle.
    """
    if needs_offscreen():
        use_offscreen()
    create_application()
    workspace = Workspace()
    workspace.studies.add(opened)
    document = QTextDocument()
    across = (WIDTH - 2 * SPACE.xl) // PICTURE_SPACE if pictures else 0
    write_report(document, report, partial(name_of, workspace), across=across)
    links = key_images(report)[:MOST_PICTURES] if pictures else ()
    for number, link in enumerate(links):
        source = workspace.instance_of(link.sop_instance_uid)
        pixels = thumbnail(source, PICTURE_PX * SHARP) if source and source.has_frames else None
        image = framed(QImage() if pixels is None else to_qimage(pixels))
        kind = QTextDocument.ResourceType.ImageResource
        document.addResource(kind.value, QUrl(f"{PICTURE}{number}"), image)
    return _drawn(document)


def _drawn(document: QTextDocument) -> NDArray[np.uint8]:
    margin = SPACE.xl
    document.setTextWidth(WIDTH - 2 * margin)
    height = min(math.ceil(document.size().height()) + 2 * margin, LONGEST // SHARP)
    picture = QImage(WIDTH * SHARP, height * SHARP, QImage.Format.Format_RGB888)
    picture.fill(QColor(THEME.panel))
    picture.setDevicePixelRatio(SHARP)
    painter = QPainter(picture)
    try:
        painter.translate(margin, margin)
        context = QAbstractTextDocumentLayout.PaintContext()
        painter.setClipRect(QRectF(0, 0, WIDTH, height - margin))
        document.documentLayout().draw(painter, context)
    finally:
        painter.end()
    flat = np.frombuffer(picture.constBits(), np.uint8).reshape(
        picture.height(), picture.bytesPerLine()
    )
    return flat[:, : picture.width() * 3].reshape(picture.height(), picture.width(), 3).copy()
