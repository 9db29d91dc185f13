"""A report as a PDF page by page, its text selectable, its pictures below the text."""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence

from PySide6.QtCore import QBuffer, QIODevice, QMarginsF, Qt, QUrl
from PySide6.QtGui import QImage, QPageSize, QPdfWriter, QTextDocument

from app.imaging.reports.sentences import text
from app.imaging.reports.written_report import WrittenReport, moment_text
from app.views import theme
from app.views.canvas.annotated_render import ensure_application
from app.views.theme import TYPE

_DPI = 300
_PICTURE_PX = 245  # width on the page, of 96 px to the inch; two stand side by side
_LONGEST = 1200  # px of a picture in the file


def report_pdf(report: WrittenReport, pictures: Sequence[tuple[str, QImage]] = ()) -> bytes:
    """Return the report as a PDF on A4; on any thread.

    Its properties name no patient. `pictures` are (title, picture).
    """
    ensure_application()
    theme.load_fonts()
    document = QTextDocument()
    document.setDefaultStyleSheet(
        f"body {{ font-family: '{TYPE.family}'; font-size: 10pt; color: #000000; }}"
        "h1 { font-size: 15pt; } h2 { font-size: 11pt; margin-bottom: 2px; }"
        "p { margin-top: 2px; margin-bottom: 2px; } .small { font-size: 8pt; }"
    )
    kind = QTextDocument.ResourceType.ImageResource
    for number, (_title, picture) in enumerate(pictures):
        document.addResource(kind, QUrl(f"picture:{number}"), _limited(picture))
    document.setHtml(_page(report, pictures))
    buffer = QBuffer()
    buffer.open(QIODevice.OpenModeFlag.WriteOnly)
    writer = QPdfWriter(buffer)
    writer.setResolution(_DPI)
    writer.setTitle(text("page_title", report.language))
    writer.setCreator("Sightline")
    writer.setPageSize(QPageSize(QPageSize.PageSizeId.A4))
    writer.setPageMargins(QMarginsF(0, 0, 0, 0))  # `print_` leaves 2 cm and numbers the pages
    document.print_(writer)
    buffer.close()
    return bytes(buffer.data().data())


def _limited(picture: QImage) -> QImage:
    if max(picture.width(), picture.height()) <= _LONGEST:
        return picture
    keep, smooth = Qt.AspectRatioMode.KeepAspectRatio, Qt.TransformationMode.SmoothTransformation
    return picture.scaled(_LONGEST, _LONGEST, keep, smooth)


def _page(report: WrittenReport, pictures: Sequence[tuple[str, QImage]]) -> str:
    language = report.language
    parts = [f"<h1>{_safe(report.title)}</h1>", f"<p><b>{_safe(report.status_line)}</b></p>"]
    rows = "".join(
        f"<tr><td>{_safe(name)}&nbsp;&nbsp;</td><td>{_safe(value)}</td></tr>"
        for name, value in report.heading
    )
    parts.append(f"<table>{rows}</table>" if rows else "")
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
    parts.append(f"<p><b>{_safe(report.status_line)}</b></p>")
    parts.append(f'<p class="small">{_safe(text("footer", language))}</p>')
    if pictures:
        title = _safe(text("pictures", language))
        parts.append(f"<h2 style='page-break-before: always'>{title}</h2><table>")
        for first in range(0, len(pictures), 2):
            cells = (
                f'<td><img src="picture:{number}" width="{_PICTURE_PX}"/><br/>'
                f'<span class="small">{_safe(name)}</span></td>'
                for number, (name, _) in enumerate(pictures[first : first + 2], first)
            )
            parts.append(f"<tr>{''.join(cells)}</tr>")
        parts.append("</table>")
    return f"<html><body>{''.join(parts)}</body></html>"


def _titled(title: str, lines: Iterable[str], kind: str = "") -> str:
    shown = "".join(f'<p class="{kind}">{_safe(line)}</p>' for line in lines)
    return f"<h2>{_safe(title)}</h2>{shown}"


def _safe(words: str) -> str:
    return html.escape(words)
