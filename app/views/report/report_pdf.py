"""A report as a PDF page by page, its text selectable, its pictures below the text."""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence

from PySide6.QtCore import QBuffer, QIODevice, QMarginsF, QRectF, QSizeF, Qt, QUrl
from PySide6.QtGui import (
    QAbstractTextDocumentLayout,
    QFont,
    QImage,
    QPageLayout,
    QPageSize,
    QPainter,
    QPalette,
    QPdfWriter,
    QTextDocument,
)

from app.imaging.reports.sentences import text
from app.imaging.reports.written_report import WrittenReport, moment_text
from app.views import theme
from app.views.canvas.annotated_render import ensure_application
from app.views.theme import TYPE

_MARGIN_MM = 20
_UNITS = 96  # of the page's layout to the inch
_WIDTH, _HEIGHT = 642.0, 960.0  # of the text on A4, in these units
_FOOT = 24.0  # below the text
_LONGEST = 1600  # px of a picture in the file


def report_pdf(report: WrittenReport, pictures: Sequence[tuple[str, QImage]] = ()) -> bytes:
    """Return the report as a PDF on A4; on any thread.

    Its properties name no patient; each page does. `pictures` are (title, picture).
    """
    ensure_application()
    theme.load_fonts()
    buffer = QBuffer()
    buffer.open(QIODevice.OpenModeFlag.WriteOnly)
    writer = QPdfWriter(buffer)
    writer.setResolution(300)
    writer.setTitle(text("page_title", report.language))
    writer.setCreator("Sightline")
    writer.setPageSize(QPageSize(QPageSize.PageSizeId.A4))
    writer.setPageMargins(QMarginsF(*(4 * [_MARGIN_MM])), QPageLayout.Unit.Millimeter)
    document = QTextDocument()
    document.setDocumentMargin(0)
    document.setDefaultFont(_font(13))
    document.setDefaultStyleSheet(
        "p { margin-top: 2px; margin-bottom: 2px; } .title { font-size: 21px; font-weight: 600; }"
        ".head { font-size: 14px; font-weight: 600; margin-top: 14px; }"
        ".status { font-weight: 600; margin-top: 8px; margin-bottom: 8px; }"
        ".small { font-size: 11px; } td { padding-right: 16px; }"
    )
    kind = QTextDocument.ResourceType.ImageResource
    for number, (_title, picture) in enumerate(pictures):
        document.addResource(kind, QUrl(f"picture:{number}"), _limited(picture))
    document.setPageSize(QSizeF(_WIDTH, _HEIGHT))
    document.setHtml(_page(report, pictures))
    painter = QPainter(writer)
    scale = writer.resolution() / _UNITS
    painter.scale(scale, scale)
    context = QAbstractTextDocumentLayout.PaintContext()
    context.palette.setColor(QPalette.ColorRole.Text, Qt.GlobalColor.black)
    whose = "  ·  ".join(value for _, value in report.heading[:3])
    for page in range(document.pageCount()):
        if page:
            writer.newPage()
        painter.save()
        painter.translate(0, -page * _HEIGHT)
        context.clip = QRectF(0, page * _HEIGHT, _WIDTH, _HEIGHT - 1)
        painter.setClipRect(context.clip)
        document.documentLayout().draw(painter, context)
        painter.restore()
        painter.setFont(_font(11))
        foot = QRectF(0, _HEIGHT, _WIDTH, _FOOT)
        painter.drawText(foot, Qt.AlignmentFlag.AlignBottom, whose)
        number = f"{page + 1} / {document.pageCount()}"
        right = Qt.AlignmentFlag.AlignBottom | Qt.AlignmentFlag.AlignRight
        painter.drawText(foot, right, number)
    painter.end()
    buffer.close()
    return bytes(buffer.data().data())


def _font(pixels: int) -> QFont:
    font = QFont(TYPE.family)
    font.setPixelSize(pixels)
    font.setFeature(QFont.Tag("calt"), 0)  # its signs of other height would not be text in the file
    return font


def _limited(picture: QImage) -> QImage:
    if max(picture.width(), picture.height()) <= _LONGEST:
        return picture
    keep, smooth = Qt.AspectRatioMode.KeepAspectRatio, Qt.TransformationMode.SmoothTransformation
    return picture.scaled(_LONGEST, _LONGEST, keep, smooth)


def _page(report: WrittenReport, pictures: Sequence[tuple[str, QImage]]) -> str:
    language = report.language
    status = f'<p class="status">{_safe(report.status_line)}</p>'
    parts = [f'<p class="title">{_safe(report.title)}</p>', status]
    rows = "".join(
        f"<tr><td>{_safe(name)}</td><td>{_safe(value)}</td></tr>" for name, value in report.heading
    )
    parts.append(f'<table style="margin-top: 6px">{rows}</table>' if rows else "")
    parts += [
        _titled(section.title, [one.text for one in section.sentences])
        for section in report.sections
    ]
    for signature, added in report.addenda:
        when = moment_text(signature.signed, language)
        head = text("signed", language).format(name=signature.name, when=when)
        parts.append(_titled(text("addendum", language), [head, *added.splitlines()]))
    if report.sources:
        parts.append(_titled(text("sources", language), report.sources, "small"))
    parts.append(status)
    parts.append(f'<p class="small">{_safe(text("footer", language))}</p>')
    if pictures:
        parts.append(
            '<p class="head" style="page-break-before: always">'
            f"{_safe(text('pictures', language))}</p>"
        )
        parts += [
            f'<p><img src="picture:{number}" width="{_shown_width(picture):.0f}"/></p>'
            f'<p class="small">{_safe(name)}</p>'
            for number, (name, picture) in enumerate(pictures)
        ]
    return f"<html><body>{''.join(parts)}</body></html>"


def _shown_width(picture: QImage) -> float:
    """Return the width of a picture on the page: two of square shape fit on one."""
    return min(_WIDTH * 0.68, 0.44 * _HEIGHT * picture.width() / max(picture.height(), 1))


def _titled(title: str, lines: Iterable[str], kind: str = "") -> str:
    shown = "".join(f'<p class="{kind}">{_safe(line)}</p>' for line in lines)
    return f'<p class="head">{_safe(title)}</p>{shown}'


def _safe(words: str) -> str:
    return html.escape(words)
