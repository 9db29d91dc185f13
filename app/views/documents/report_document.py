"""Writes a report into a text document: headings, facts, findings, links to images.

All text is inserted as plain text with the program's own formats; text from a file is never treated
as markup.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import groupby
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QRectF, Qt, QUrl
from PySide6.QtGui import (
    QAbstractTextDocumentLayout,
    QColor,
    QFont,
    QImage,
    QPainter,
    QTextBlockFormat,
    QTextCharFormat,
    QTextCursor,
    QTextDocument,
    QTextFrameFormat,
    QTextImageFormat,
    QTextLength,
    QTextTableFormat,
)

from app.imaging.report import ImageLink, Report, ReportNode, key_images
from app.imaging.types import Instance, ScanResult
from app.views import icons, wording
from app.views.application import create_application, needs_offscreen, use_offscreen
from app.views.canvas.image_layer import to_array, to_qimage
from app.views.plain_text import clean
from app.views.theme import SPACE, THEME, TYPE, color, ui_font
from app.views.translation import tr, tr_n, tr_report, translatable
from app.views.widgets import plain_tip
from app.workspace.workspace import Workspace

MOST_ITEMS = 10_000  # content items that are written; the attributes have all
MOST_PICTURES = 200
PICTURE_PX = 132
PICTURE_SPACE = PICTURE_PX + 14  # px that one takes in a row
LINE = "\u2028"
LINK = "image:"
PICTURE = "picture:"
_INDENT, _DEEPEST = 18, 8
_LONG = 90  # characters from which a value gets a paragraph of its own
_CONTEXT = ("HAS OBS CONTEXT", "HAS ACQ CONTEXT")
_MODIFIER = "HAS CONCEPT MOD"
_FROM = {
    "INFERRED FROM": translatable("inferred from"),
    "SELECTED FROM": translatable("selected from"),
}


class LinkName(NamedTuple):
    """Text for a link to an image, a `short` text for long lists, and whether the image is open."""

    text: str
    short: str
    is_open: bool  # if not, the text is no link


Names = Callable[[ImageLink], LinkName]


def href(link: ImageLink) -> str:
    """Return the address of a link in a document: "image:UID/FRAME", FRAME from 0, -1 for all."""
    return f"{LINK}{link.sop_instance_uid}/{link.frames[0] if link.frames else -1}"


def read_href(text: str) -> ImageLink | None:
    """Return the link that an address from `href` stands for; None for any other address."""
    uid, _, frame = text.removeprefix(LINK).partition("/")
    if not text.startswith(LINK) or not uid or not frame.lstrip("-").isdecimal():
        return None
    return ImageLink(uid, (int(frame),) if int(frame) >= 0 else ())


def writing(
    document: QTextDocument, report: Report, names: Names, *, across: int
) -> Iterator[None]:
    """Write a report into an empty document, one portion per step of the iterator.

    Writing a report with thousands of items in one go would make the window stall.

    Args:
        document: An empty document that nothing else changes in the meantime.
        report: The report.
        names: Returns the text to show for a link.
        across: Number of key images in a row of the grid; 0 for no grid. The document's resources
            "picture:N" provide the pictures, with N from 0 in the order of `key_images`.
    """
    document.setUndoRedoEnabled(False)
    document.setDefaultFont(ui_font(TYPE.body))
    document.setDocumentMargin(0)
    writer = _Writer(document, names)
    cursor = writer.cursor
    cursor.beginEditBlock()
    writer.paragraph([(report.title, writer.title)], above=0, below=SPACE.s)
    writer.facts(report.facts)
    for warning in report.warnings:
        writer.warning(tr_report(warning))
    links = key_images(report) if across else ()
    yield from writer.tree(report, leave_out=frozenset(links))
    if links:
        writer.pictures(links, across)
    cursor.endEditBlock()


class _Writer:
    def __init__(self, document: QTextDocument, names: Names) -> None:
        self.cursor = QTextCursor(document)
        self._names = names
        self._fresh = True
        self.title = _format(TYPE.heading, THEME.text, QFont.Weight.DemiBold)
        self._headings = (
            _format(TYPE.title, THEME.text, QFont.Weight.DemiBold),
            _format(TYPE.body, THEME.text, QFont.Weight.DemiBold),
            _format(TYPE.body, THEME.text_muted, QFont.Weight.DemiBold),
        )
        self._plain = _format(TYPE.body, THEME.text)
        self._number = _format(TYPE.body, THEME.text, QFont.Weight.DemiBold)
        self._name = _format(TYPE.body, THEME.text_muted)
        self._small = _format(TYPE.label, THEME.text_muted)
        self._faint = _format(TYPE.body, THEME.text_faint)
        self._warning = _format(TYPE.label, THEME.warning)

    # Parts

    def facts(self, facts: Sequence[tuple[str, str]]) -> None:
        if not facts:
            return
        form = QTextTableFormat()
        form.setBorder(0)
        form.setCellSpacing(0)
        form.setCellPadding(2)
        form.setBottomMargin(SPACE.m)
        lengths = QTextLength.Type
        form.setColumnWidthConstraints(
            [QTextLength(lengths.FixedLength, 190), QTextLength(lengths.PercentageLength, 100)]
        )
        table = self.cursor.insertTable(len(facts), 2, form)
        for row, fact in enumerate(facts):
            for column, style in enumerate((self._small, self._plain)):
                text = clean(fact[column]).replace("\n", LINE)
                table.cellAt(row, column).firstCursorPosition().insertText(text, style)
        self._leave_frame()

    def warning(self, text: str) -> None:
        form = QTextFrameFormat()
        form.setBackground(color(THEME.warning, 0.14))
        form.setPadding(SPACE.s)
        form.setBottomMargin(SPACE.s)
        self.cursor.insertFrame(form)
        self.cursor.insertText(clean(text), self._warning)
        self._leave_frame()

    def tree(self, report: Report, leave_out: frozenset[ImageLink]) -> Iterator[None]:
        """Write all content items in reading order, except those shown as facts or pictures."""
        facts = frozenset(report.facts)
        stack = _children(report.root, 0)
        count = 0
        while stack:
            nodes, depth = stack.pop()
            count += len(nodes)
            yield
            if count > MOST_ITEMS:
                self.warning(
                    f"Only the first {MOST_ITEMS:,} items are shown; the attributes panel has all."
                )
                return
            first = nodes[0]
            if first.links and all(n.links[:1] and n.links[0] in leave_out for n in nodes):
                continue
            if depth == 0 and first.relationship in _CONTEXT and (first.name, first.value) in facts:
                continue
            if len(nodes) > 1:
                self._images(nodes, depth)
                continue
            if first.kind == "CONTAINER":
                self._heading(first, depth)
                if _is_prose(first):
                    self._running(first, depth)
                    continue
            else:
                self._item(first, depth)
            stack += _children(first, depth + 1)

    def pictures(self, links: Sequence[ImageLink], across: int) -> None:
        text = tr_n("%n key image", "%n key images", len(links))
        self.paragraph([(text, self._headings[0])], above=SPACE.l, below=SPACE.s)
        shown = links[:MOST_PICTURES]
        form = QTextTableFormat()
        form.setBorder(0)
        form.setCellPadding(SPACE.xs)
        columns = min(across, len(shown))
        fixed = QTextLength(QTextLength.Type.FixedLength, PICTURE_SPACE)
        form.setColumnWidthConstraints([fixed] * columns)
        table = self.cursor.insertTable(-(-len(shown) // columns), columns, form)
        for number, link in enumerate(shown):
            cell = table.cellAt(number // columns, number % columns).firstCursorPosition()
            image = QTextImageFormat()
            image.setName(f"{PICTURE}{number}")
            image.setWidth(PICTURE_PX)
            image.setHeight(PICTURE_PX)
            name = self._names(link)
            if name.is_open:
                image.setAnchor(True)
                image.setAnchorHref(href(link))
            cell.insertImage(image)
            cell.insertBlock()
            cell.insertText(clean(name.text), self._link(link, name, small=True))
        self._leave_frame()
        if len(links) > len(shown):
            self.paragraph(
                [(tr("and {count:,} more").format(count=len(links) - len(shown)), self._faint)]
            )

    # Items

    def _heading(self, node: ReportNode, depth: int) -> None:
        form = self._headings[min(depth, len(self._headings) - 1)]
        above = SPACE.l + SPACE.xs if depth == 0 else SPACE.m
        self.paragraph([(node.name or tr("Section"), form)], depth - 1, above=above, below=SPACE.xs)

    def _item(self, node: ReportNode, depth: int) -> None:
        value, name = node.value, node.name
        pieces: list[tuple[str, QTextCharFormat]] = []
        origin = _FROM.get(node.relationship, "")
        if origin:
            pieces.append((f"{tr(origin)} ", self._faint))
        ink = self._number if node.kind == "NUM" else self._plain
        context = node.relationship in _CONTEXT or (depth == 0 and node.relationship == _MODIFIER)
        long = not context and ("\n" in value or len(value) > _LONG)
        if name:
            form = self._small if context else self._name
            pieces.append((f"{name}: " if value or node.links else name, form))
        if long and name:
            self.paragraph(
                [(piece.rstrip(": "), f) for piece, f in pieces], depth - 1, above=SPACE.s
            )
            pieces = []
        if value:
            pieces.append((value, self._small if context or node.kind == "UIDREF" else ink))
        if not pieces:
            pieces.append((node.kind.capitalize(), self._name))
        for number, link in enumerate(node.links):
            pieces.append((", " if number else " — " if value else "", self._faint))
            pieces.append(self._linked(link))
        self.paragraph(pieces, depth - 1, below=SPACE.s if long else 2)

    def _images(self, nodes: Sequence[ReportNode], depth: int) -> None:
        """Write a run of images of one kind as one paragraph of links."""
        first = nodes[0]
        head = ", ".join(part for part in (first.name, first.value) if part) or tr("Image")
        pieces = [(f"{head} ({len(nodes)}): ", self._name)]
        named = [(node.links[0], self._names(node.links[0])) for node in nodes]
        opened = [(link, name) for link, name in named if name.is_open]
        for number, (link, name) in enumerate(opened, start=1):
            if number > 1:
                pieces.append((", ", self._faint))
            pieces.append((name.short or str(number), self._link(link, name)))
        closed = len(nodes) - len(opened)
        if closed:
            pieces.append(
                (
                    tr(", {closed:,} not open").format(closed=closed) if opened else tr("not open"),
                    self._faint,
                )
            )
        self.paragraph(pieces, depth - 1, below=SPACE.xs)

    def _running(self, node: ReportNode, depth: int) -> None:
        """Write a container's items as one running text."""
        pieces: list[tuple[str, QTextCharFormat]] = []
        # A running text has no items below its own (`_is_prose`).
        for child in node.children:
            if child.value or child.links:
                form = self._number if child.kind == "NUM" else self._plain
                pieces.append((f"{child.value} ", form))
                pieces += [self._linked(link) for link in child.links]
        self.paragraph(pieces, depth, below=SPACE.s)

    # Text

    def paragraph(
        self,
        pieces: Sequence[tuple[str, QTextCharFormat]],
        indent: int = 0,
        *,
        above: float = 2,
        below: float = 2,
    ) -> None:
        """Write pieces of text as one paragraph, indented by `indent` steps."""
        block = QTextBlockFormat()
        block.setLeftMargin(_INDENT * max(0, min(indent, _DEEPEST)))
        block.setTopMargin(above)
        block.setBottomMargin(below)
        block.setLineHeight(125, QTextBlockFormat.LineHeightTypes.ProportionalHeight.value)
        if self._fresh:
            self.cursor.setBlockFormat(block)
        else:
            self.cursor.insertBlock(block)
        self._fresh = False
        for text, form in pieces:
            # A line break in a text does not begin a new block.
            self.cursor.insertText(clean(text).replace("\n", LINE), form)

    def _linked(self, link: ImageLink) -> tuple[str, QTextCharFormat]:
        name = self._names(link)
        return name.text, self._link(link, name)

    def _link(self, link: ImageLink, name: LinkName, *, small: bool = False) -> QTextCharFormat:
        size = TYPE.caption if small else TYPE.body
        if not name.is_open:
            form = _format(size, THEME.text_faint)
            form.setToolTip(plain_tip(tr("This image is not open")))
            return form
        form = _format(size, THEME.accent)
        form.setAnchor(True)
        form.setAnchorHref(href(link))
        form.setToolTip(plain_tip(tr("Show {text}").format(text=name.text)))
        return form

    def _leave_frame(self) -> None:
        self.cursor.movePosition(QTextCursor.MoveOperation.End)
        # Qt puts an empty block after a table or frame; the next paragraph uses it.
        self._fresh = True


def _children(node: ReportNode, depth: int) -> list[tuple[list[ReportNode], int]]:
    """Return children as a stack, the first on top; runs of like images are grouped."""
    runs: list[list[ReportNode]] = []
    for key, group in groupby(node.children, _kind_of_image):
        members = list(group)
        runs += [members] if key is not None else [[one] for one in members]
    return [(run, depth) for run in reversed(runs)]


def _is_prose(node: ReportNode) -> bool:
    """Return whether a container is one running text; many writers mark whole trees so."""
    leaves = not any(child.children for child in node.children)
    texts = sum(child.kind == "TEXT" for child in node.children)
    return node.continuous and leaves and 2 * texts >= len(node.children) > 0


def _kind_of_image(node: ReportNode) -> tuple[str, ...] | None:
    if node.kind != "IMAGE" or node.children or len(node.links) != 1:
        return None
    return (node.name, node.value, node.relationship)


def _format(pixels: int, ink: str, weight: QFont.Weight = QFont.Weight.Normal) -> QTextCharFormat:
    form = QTextCharFormat()
    form.setFont(ui_font(pixels, weight))
    form.setForeground(QColor(ink))
    return form


def name_of(workspace: Workspace, link: ImageLink) -> LinkName:
    """Return the text that stands for an image: its series, number and frames, or "not open"."""
    instance = workspace.instance_of(link.sop_instance_uid)
    if instance is None or not instance.has_frames:
        return LinkName(tr("an image that is not open"), "", False)
    series = workspace.studies.series_of(instance)
    described = series.description if series else instance.get("SeriesDescription")
    what = wording.one_line(described) or instance.get("Modality") or tr("Image")
    number = str(instance.number) if instance.number else ""
    frames = ""
    if link.frames:
        listed = ", ".join(str(frame + 1) for frame in link.frames[:8])
        frames = (tr("frame {listed}") if len(link.frames) == 1 else tr("frames {listed}")).format(
            listed=listed
        )
    alone = series is not None and len(series.instances) == 1
    image = tr("image {number}").format(number=number) if number and not alone else ""
    text = ", ".join(part for part in (what, image, frames) if part)
    return LinkName(text, " ".join(part for part in (number, frames) if part), True)


SHARP = 2  # pixels of a picture per logical one
_MARK = 24


def frame_picture(image: QImage) -> QImage:
    """Return `image` centred in a square, or an icon in the square if `image` is null."""
    side = PICTURE_PX * SHARP
    square = QImage(side, side, QImage.Format.Format_RGB32)
    square.fill(color(THEME.canvas))
    painter = QPainter(square)
    if image.isNull():
        inset = side // 2 - _MARK
        mark = square.rect().adjusted(inset, inset, -inset, -inset)
        icons.draw(painter, "image-off", mark, THEME.text_faint)
    else:
        place = square.rect()
        place.setSize(image.size().scaled(square.size(), Qt.AspectRatioMode.KeepAspectRatio))
        place.moveCenter(square.rect().center())
        painter.setRenderHint(QPainter.RenderHint.SmoothPixmapTransform)
        painter.drawImage(place, image)
    painter.end()
    return square


WIDTH = 860  # logical px of the page
LONGEST = 16_000  # physical px; a picture is no book

Thumbnails = Callable[[Instance, int], NDArray[np.uint8] | None]


def report_picture_offscreen(
    report: Report, opened: ScanResult, thumbnail: Thumbnails, *, pictures: bool
) -> NDArray[np.uint8]:
    """Return a picture of a report as the window shows it, as uint8 [rows, columns, 3] RGB.

    It has two pixels per logical pixel; the picture of a long report is cut off at the end. Images
    in the open studies, `opened`, are named and linked. With `pictures`, key images are shown;
    `thumbnail` returns a small picture of an instance, and may block.
    """
    if needs_offscreen():
        use_offscreen()
    create_application()
    workspace = Workspace()
    workspace.studies.add(opened)
    document = QTextDocument()
    across = (WIDTH - 2 * SPACE.xl) // PICTURE_SPACE if pictures else 0
    deque(writing(document, report, partial(name_of, workspace), across=across), maxlen=0)
    links = key_images(report)[:MOST_PICTURES] if pictures else ()
    for number, link in enumerate(links):
        source = workspace.instance_of(link.sop_instance_uid)
        pixels = thumbnail(source, PICTURE_PX * SHARP) if source and source.has_frames else None
        image = frame_picture(QImage() if pixels is None else to_qimage(pixels))
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
    painter.translate(margin, margin)
    painter.setClipRect(QRectF(0, 0, WIDTH, height - margin))
    document.documentLayout().draw(painter, QAbstractTextDocumentLayout.PaintContext())
    painter.end()
    return to_array(picture)
