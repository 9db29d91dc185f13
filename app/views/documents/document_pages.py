"""The pages shown in place of the image: a report, or why an object cannot be displayed."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from dataclasses import replace
from functools import cached_property, partial

from PySide6.QtCore import Qt, QTimer, QUrl, Signal
from PySide6.QtGui import (
    QImage,
    QKeySequence,
    QResizeEvent,
    QShortcut,
    QTextCharFormat,
    QTextCursor,
    QTextDocument,
    QTextFrameFormat,
)
from PySide6.QtWidgets import QHBoxLayout, QStackedWidget, QTextEdit, QWidget
from shiboken6 import isValid

from app.errors import SightlineError
from app.imaging.layers import Layer, LayerItem, Shape
from app.imaging.objects.layer_colors import palette_color
from app.imaging.report import REFERENCE, ImageLink, Report, ReportNode, key_images, nodes_of
from app.imaging.types import Content, Instance
from app.views import wording
from app.views.canvas.canvas import Canvas
from app.views.canvas.image_layer import to_qimage
from app.views.documents.report_document import (
    MOST_PICTURES,
    PICTURE,
    PICTURE_PX,
    PICTURE_SPACE,
    SHARP,
    Names,
    frame_picture,
    name_of,
    read_href,
    writing,
)
from app.views.layouts import column, row
from app.views.loader import Loader, Thumbnail
from app.views.text_view import PlainTextBrowser
from app.views.theme import SPACE, THEME, color
from app.views.translation import tr, tr_report, translatable
from app.views.widgets import (
    ElidedLabel,
    IconLabel,
    center_page,
    label,
    plain_tip,
    push_button,
    rule,
    search_field,
    tool_button,
)
from app.views.wording import CONTENT_NAMES
from app.workspace.viewport import Viewport
from app.workspace.workspace import Workspace

DRAWN = (Content.SEGMENTATION, Content.STRUCTURES, Content.PRESENTATION)
"""Kinds of content that are drawn over the images they refer to, if those are open."""

ALL_FRAMES = -1
Regions = dict[tuple[str, int], tuple[Shape, ...]]


def report_layer(report: Report, instance: Instance) -> tuple[Layer, Regions] | None:
    """Return the image regions (SCOORD, PS3.3 C.18.6) in an instance's report as one layer.

    Returns:
        The layer, with one item for each measurement or measurement group that has regions; and a
        mapping from (SOP Instance UID, frame from 0 or `ALL_FRAMES`) to shapes. None if the report
        has no regions in image pixels.
    """
    items: dict[int, LayerItem] = {}
    found: dict[tuple[str, int], list[Shape]] = {}
    parents = {id(child): node for node in nodes_of(report.root) for child in node.children}
    for node in nodes_of(report.root):
        if node.kind == REFERENCE or not node.shapes or not node.links:
            continue
        parent = parents.get(id(node), report.root)
        item = items.setdefault(id(parent), _layer_item(len(items) + 1, parent, node))
        shapes = [replace(shape, item=item.number) for shape in node.shapes]
        for link in node.links:
            for frame in link.frames or (ALL_FRAMES,):
                found.setdefault((link.sop_instance_uid, frame), []).extend(shapes)
    if not items:
        return None
    title = (
        tr("From the report: {title}").format(title=report.title)
        if report.title
        else tr("From the report")
    )
    layer = Layer(instance, title, tuple(items.values()))
    return layer, {key: tuple(shapes) for key, shapes in found.items()}


def _layer_item(number: int, parent: ReportNode, node: ReportNode) -> LayerItem:
    """Return the measurement or tracked group to which a region belongs."""
    tracked = (one.value for one in parent.children if one.name == "Tracking Identifier")
    label = next(tracked, "") or parent.name or node.name or tr("Region")
    if parent.kind == "NUM":
        label = f"{parent.name}: {parent.value}"
    measured = [f"{one.name}: {one.value}" for one in parent.children if one.kind == "NUM"]
    return LayerItem(number, label, palette_color(number), ". ".join(measured))


class ReportPage(QWidget):
    """Shows a report read in a worker; `key_images` gets key selections, `report` the shown."""

    over_images = Signal(object)  # the `Instance` that was clicked is drawn on open images
    marks_wanted = Signal()  # the report's marks are to be findings on the images

    def __init__(
        self, workspace: Workspace, viewport: Viewport, loader: Loader, key_images: KeyImages
    ) -> None:
        super().__init__()
        self._viewport = viewport
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        self.setProperty("surface", "panel")
        self._workspace = workspace
        self._loader = loader
        self._key_images = key_images
        self._instance: Instance | None = None
        self.report: Report | None = None
        self._links: frozenset[ImageLink] = frozenset()
        self._reading: Future[Report] | None = None
        self._pictures: list[Future[Thumbnail]] = []
        self.text = ReportText()
        self.text.link_clicked.connect(self._follow)
        self.text.across_changed.connect(self._lay_out)
        self.text.written.connect(self._written)
        self.message = label("", "muted", wrap=True)
        self.message.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self.message.setContentsMargins(SPACE.xl, SPACE.xl, SPACE.xl, SPACE.xl)
        self.setFocusProxy(self.text)
        column(self._make_head(), rule(), self.message, (self.text, 1), spacing=0, parent=self)
        find = QShortcut(QKeySequence.StandardKey.Find, self)
        find.setContext(Qt.ShortcutContext.WidgetWithChildrenShortcut)
        find.activated.connect(self.focus_search)

    def _make_head(self) -> QHBoxLayout:
        self._icon = IconLabel("file-text", 16)
        self.title = ElidedLabel("", "strong")
        self.place = label("", "caption")
        self.previous = tool_button("chevron-up", tr("Previous report"), lambda: self._step(-1), 16)
        self.next = tool_button("chevron-down", tr("Next report"), lambda: self._step(1), 16)
        self.first_key = push_button(tr("Key images"), lambda: self._key_images.step(1))
        self.first_key.setToolTip(plain_tip(tr("Show the images that this selection names")))
        self.take_marks = push_button(tr("Take marks over"), self.marks_wanted.emit)
        self.take_marks.setToolTip(
            plain_tip(tr("Put the report's marks on the images, where they can be changed"))
        )
        self.search = search_field(
            tr("Search in the report"), tip=tr("Search in the report; Enter finds the next place")
        )
        self.search.setAcceptDrops(False)  # a file that is dropped here is opened
        self.search.setMinimumWidth(90)
        self.search.setMaximumWidth(260)
        leave = QShortcut(QKeySequence(Qt.Key.Key_Escape), self.search)
        leave.setContext(Qt.ShortcutContext.WidgetShortcut)
        leave.activated.connect(self._leave_search)
        self.search.textChanged.connect(self._search)
        self.search.returnPressed.connect(self._next_match)
        self.found = label("", "caption")
        return row(
            self._icon,
            (self.title, 2),
            self.place,
            self.previous,
            self.next,
            self.first_key,
            self.take_marks,
            self.found,
            (self.search, 1),
            tool_button("copy", tr("Copy the whole text"), self.text.copy_all, 16),
            margins=(SPACE.m, SPACE.s, SPACE.s, SPACE.s),
        )

    def show_instance(self, instance: Instance) -> None:
        self.forget()
        self._instance = instance
        name = CONTENT_NAMES[instance.content]
        self._icon.set_icon(name.icon)
        described = wording.one_line(instance.get("SeriesDescription"))
        self.title.setText(described or name.one.capitalize())
        self.first_key.setVisible(instance.content is Content.KEY_OBJECTS and not instance.note)
        self.take_marks.hide()
        self._say(tr("Reading the report…"))
        self._update_place()
        self._reading = self._loader.report(
            instance, partial(self._take, instance), partial(self._fail, instance)
        )

    def forget(self) -> None:
        for future in (self._reading, *self._pictures):
            if future is not None:
                future.cancel()
        self.text.stop()
        self._reading, self._pictures = None, []
        self._instance = self.report = None

    def refresh(self) -> None:
        if self.report is not None and self._links_now(self.report) != self._links:
            self._write()
        self._update_place()

    def _links_now(self, report: Report) -> frozenset[ImageLink]:
        """Return the links that lead to open images."""
        links = {link for node in nodes_of(report.root) for link in node.links}
        return frozenset(filter(self._is_open, links))

    def _lay_out(self) -> None:
        if self._has_pictures:
            QTimer.singleShot(0, self, self._write)  # not while the text lays itself out

    @property
    def _has_pictures(self) -> bool:
        return self._instance is not None and self._instance.content is Content.KEY_OBJECTS

    def focus_search(self) -> None:
        self.search.setFocus()
        self.search.selectAll()

    def _leave_search(self) -> None:
        self.search.clear()
        self.text.setFocus()

    def _take(self, instance: Instance, report: Report) -> None:
        if instance is not self._instance:
            return
        self.report = report
        if self._has_pictures:
            self._key_images.learn(instance, report)
        self._write()

    def _write(self) -> None:
        if self.report is not None:
            self._links = self._links_now(self.report)
            names = partial(name_of, self._workspace)
            self.text.show_report(self.report, names, pictures=self._has_pictures)

    def _written(self) -> None:
        report = self.report
        if report is None:
            return
        self.message.hide()
        self.text.show()
        regions = any(one.kind in ("SCOORD", "SCOORD3D") for one in nodes_of(report.root))
        self.take_marks.setVisible(regions and not self._has_pictures)
        links = key_images(report)
        self.first_key.setEnabled(any(map(self._is_open, links)))
        for future in self._pictures:
            future.cancel()
        self._pictures = []
        for number, link in enumerate(links[:MOST_PICTURES] if self._has_pictures else ()):
            self.text.set_picture(number, frame_picture(QImage()))
            source = self._workspace.instance_of(link.sop_instance_uid)
            if source is not None and source.has_frames:
                take = partial(self._take_picture, report, number)
                size = PICTURE_PX * SHARP
                self._pictures.append(
                    self._loader.thumbnail(source, size, take, lambda _error: None)
                )
        self._search(self.search.text())

    def _is_open(self, link: ImageLink) -> bool:
        instance = self._workspace.instance_of(link.sop_instance_uid)
        return instance is not None and instance.has_frames

    def _take_picture(self, report: Report, number: int, pixels: Thumbnail) -> None:
        if report is self.report:
            self.text.set_picture(number, frame_picture(to_qimage(pixels)))

    def _fail(self, instance: Instance, error: SightlineError) -> None:
        if instance is self._instance:
            self._say(
                tr("This report cannot be read. {reason}").format(reason=wording.error_text(error))
            )

    def _say(self, text: str) -> None:
        self.message.setText(text)
        self.message.show()
        self.text.hide()
        self.found.setText("")

    def _follow(self, link: ImageLink) -> None:
        """Show the linked image with the report's regions, or the linked object on its images."""
        target = self._workspace.instance_of(link.sop_instance_uid)
        if target is None or self.report is None or self._instance is None:
            return
        regions = report_layer(self.report, self._instance)
        self._viewport.layers.set_report(*(regions or (None, {})))
        if target.content in DRAWN and self._workspace.image_of(target) is not None:
            self.over_images.emit(target)
        else:
            self._key_images.show(link)

    def _step(self, by: int) -> None:
        following = self._workspace.next_instance(by, self._viewport)
        if following is not None:
            self._viewport.show(following)

    def _update_place(self) -> None:
        series = self._workspace.studies.series_of(self._instance) if self._instance else None
        instances = series.instances if series else ()
        many = len(instances) > 1
        for part in (self.place, self.previous, self.next):
            part.setVisible(many)
        if many and self._instance in instances:
            self.place.setText(
                tr("{place} of {count}").format(
                    place=instances.index(self._instance) + 1, count=len(instances)
                )
            )

    def _search(self, text: str) -> None:
        self.text.search(text)
        self._say_found()

    def _next_match(self) -> None:
        self.text.next_match()
        self._say_found()

    def _say_found(self) -> None:
        place, count = self.text.matches
        asked = bool(self.search.text().strip())
        self.found.setText(
            (
                tr("{place} of {count}").format(place=place, count=count)
                if count
                else tr("Not found")
            )
            if asked
            else ""
        )


COLUMN = 780  # px; longer lines are hard to read
MOST_MATCHES = 1000
SLICE_S = 0.012  # of writing between two turns of the window


class ReportText(PlainTextBrowser):
    """The view that shows a report's text; `across` is the number of key images per row."""

    link_clicked = Signal(object)  # the `ImageLink` that was activated
    written = Signal()  # what `show_report` was given is on the page
    across_changed = Signal()

    def __init__(self) -> None:
        super().__init__()
        self._matches: list[QTextCursor] = []
        self._current = -1
        self.across = 1
        self._draft: tuple[QTextDocument, Iterator[None]] | None = None
        self.setAccessibleName(tr("Report"))
        self.setProperty("surface", "report")
        self.anchorClicked.connect(self._on_anchor)

    def show_report(self, report: Report, names: Names, *, pictures: bool) -> None:
        """Write a report, keeping the scroll position; `written` is emitted at the end.

        `names(link)` returns a link's text; `pictures` is whether key images are shown.
        """
        self.stop()
        document = QTextDocument(self)
        across = self.across if pictures else 0
        self._draft = document, writing(document, report, names, across=across)
        self._write_on()

    @property
    def busy(self) -> bool:
        return self._draft is not None

    def stop(self) -> None:
        if self._draft is not None:
            self._draft[0].deleteLater()
        self._draft = None

    def _write_on(self) -> None:
        """Write for a moment, then return to the event loop."""
        if self._draft is None:
            return
        document, slices = self._draft
        deadline = time.perf_counter() + SLICE_S
        for _ in slices:
            if time.perf_counter() > deadline:
                QTimer.singleShot(0, self, self._write_on)
                return
        self._draft = None
        self._put(document)
        self.written.emit()

    def _put(self, document: QTextDocument) -> None:
        place = self.verticalScrollBar().value()
        old = self.document()
        self.setDocument(document)
        self.setCursorWidth(0)  # read-only: no text cursor; set per document layout
        if isValid(old):  # Qt deletes the first one itself
            old.deleteLater()
        self._matches, self._current = [], -1
        self._set_margins()
        self.verticalScrollBar().setValue(place)

    def set_picture(self, number: int, image: QImage) -> None:
        """Set the picture of the key image `number`, counted from 0."""
        document = self.document()
        kind = QTextDocument.ResourceType.ImageResource
        document.addResource(kind.value, QUrl(f"{PICTURE}{number}"), image)
        document.markContentsDirty(0, document.characterCount())

    # Search

    @property
    def matches(self) -> tuple[int, int]:
        """The position of the current match (from 1; 0 for none) and the count of all matches."""
        return self._current + 1, len(self._matches)

    def search(self, text: str) -> None:
        self._matches = []
        cursor = QTextCursor(self.document())
        while text.strip() and len(self._matches) < MOST_MATCHES:
            cursor = self.document().find(text, cursor)
            if cursor.isNull():
                break
            self._matches.append(QTextCursor(cursor))
        self._current = -1
        top = self.cursorForPosition(self.viewport().rect().topLeft()).position()
        after = (n for n, match in enumerate(self._matches) if match.position() >= top)
        self._go(next(after, 0))

    def next_match(self) -> None:
        self._go(self._current + 1)

    def _go(self, number: int) -> None:
        self._current = number % len(self._matches) if self._matches else -1
        marks: list[QTextEdit.ExtraSelection] = []
        for n, match in enumerate(self._matches):
            mark = QTextEdit.ExtraSelection()
            form = QTextCharFormat()
            form.setBackground(color(THEME.warning, 0.75 if n == self._current else 0.3))
            if n == self._current:
                form.setForeground(color(THEME.accent_text))
            mark.format = form  # pyright: ignore[reportAttributeAccessIssue]
            mark.cursor = match  # pyright: ignore[reportAttributeAccessIssue]
            marks.append(mark)
        self.setExtraSelections(marks)
        if self._current >= 0:
            place = QTextCursor(self._matches[self._current])
            place.clearSelection()
            self.setTextCursor(place)
            self.ensureCursorVisible()

    def resizeEvent(self, event: QResizeEvent) -> None:
        self._set_margins()
        super().resizeEvent(event)

    def _set_margins(self) -> None:
        width = self.viewport().width()
        side = max(SPACE.xl, (width - COLUMN) // 2)
        across = max(1, (width - 2 * side) // PICTURE_SPACE)
        if across != self.across:
            self.across = across
            self.across_changed.emit()
        frame = self.document().rootFrame()
        form = QTextFrameFormat(frame.frameFormat())
        if form.leftMargin() != side:
            form.setLeftMargin(side)
            form.setRightMargin(side)
            form.setTopMargin(SPACE.xl)
            form.setBottomMargin(SPACE.xl)
            frame.setFrameFormat(form)

    def _on_anchor(self, url: QUrl) -> None:
        link = read_href(url.toString())
        if isinstance(link, ImageLink):
            self.link_clicked.emit(link)


_READ = (Content.REPORT, Content.KEY_OBJECTS)


class DocumentStack(QStackedWidget):
    """Shows the page that suits the object in the viewport: canvas, `ReportPage` or `NotePage`.

    `canvas` is the page for objects with frames, also shown when there is no object. The others
    are made when they are first asked for: few viewports ever show them.
    """

    over_images = Signal(object)  # see `ReportPage`
    marks_wanted = Signal()

    def __init__(
        self,
        canvas: Canvas,
        workspace: Workspace,
        loader: Loader,
        show_attributes: Callable[[], object],
    ) -> None:
        super().__init__()
        self._viewport = canvas.model
        self._canvas = canvas
        self._workspace = workspace
        self._loader = loader
        self._show_attributes = show_attributes
        self.key_images = KeyImages(workspace, canvas.model)
        self._report: ReportPage | None = None
        self.addWidget(canvas)
        canvas.model.image_changed.connect(self.refresh)
        self.refresh()

    @property
    def report(self) -> ReportPage:
        if self._report is None:
            page = ReportPage(self._workspace, self._viewport, self._loader, self.key_images)
            page.over_images.connect(self.over_images)
            page.marks_wanted.connect(self.marks_wanted)
            self._workspace.studies.changed.connect(page.refresh)
            self.addWidget(page)
            self._report = page
        return self._report

    @cached_property
    def note(self) -> NotePage:
        """The page that says why an object cannot be displayed."""
        page = NotePage(self._show_attributes)
        self.addWidget(page)
        return page

    @property
    def busy(self) -> bool:
        """Whether a report is being written to its page."""
        return self._report is not None and self._report.text.busy

    def close_models(self) -> None:
        if self._report is not None:
            self._report.forget()

    def refresh(self) -> None:
        instance = self._viewport.instance
        if instance is not None and not instance.has_frames and instance.content in _READ:
            self.report.show_instance(instance)
            self._change_to(self.report)
            return
        if self._report is not None:
            self._report.forget()
        if instance is None or instance.has_frames:
            self._change_to(self._canvas)
        else:
            self.note.show_instance(instance)
            self._change_to(self.note)

    def focus_page(self) -> None:
        if (page := self.currentWidget()) is not None:
            page.setFocus()

    def _change_to(self, page: QWidget) -> None:
        """Show a page; it gets the focus only if the previous page had it."""
        focus = self.window().focusWidget()
        inside = focus is not None and self.isAncestorOf(focus)
        self.setCurrentWidget(page)
        if inside:
            self.focus_page()


_NEEDS_IMAGES = translatable(
    "It is drawn over images that are not open. Open the study it belongs to."
)


class NotePage(QWidget):
    """A page that names an object that cannot be displayed, and says why."""

    def __init__(self, show_attributes: Callable[[], object]) -> None:
        super().__init__()
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        self.setProperty("surface", "canvas")
        self._icon = IconLabel("file-question-mark", 40, THEME.text_faint)
        self.title = label("", "title", wrap=True)
        self.text = label("", "muted", wrap=True)
        self.files = label("", "caption", wrap=True)
        column = center_page(self, (self._icon, self.title, self.text, self.files), 520)
        button = push_button(tr("Show its attributes"), show_attributes)
        column.addWidget(button, 0, Qt.AlignmentFlag.AlignHCenter)

    def show_instance(self, instance: Instance) -> None:
        name = CONTENT_NAMES[instance.content]
        self._icon.set_icon(name.icon)
        named = wording.one_line(instance.get("SeriesDescription"))
        self.title.setText(named or wording.sentence(tr(name.one)))
        if instance.content is Content.OTHER:
            note = wording.one_line(tr_report(instance.note)) or tr(
                "This object is not displayable"
            )
            self.text.setText(f"{note[:1].upper()}{note[1:].rstrip('.')}.")
        else:
            self.text.setText(
                f"{tr('This is a {kind}.').format(kind=tr(name.one))} {tr(_NEEDS_IMAGES)}"
            )
        self.files.setText(wording.one_line(instance.path.name))


class KeyImages:
    """Steps through the images named by the key object selections of the shown study."""

    def __init__(self, workspace: Workspace, viewport: Viewport) -> None:
        self._workspace = workspace
        self._viewport = viewport
        self._learnt: dict[str, tuple[ImageLink, ...]] = {}

    def learn(self, instance: Instance, report: Report) -> None:
        """Store the images named in `report`, read from key object selection `instance`."""
        self._learnt[instance.sop_instance_uid] = key_images(report)

    @property
    def links(self) -> tuple[ImageLink, ...]:
        """Key images in the shown study: those the user marked, then those of the selections."""
        shown = self._viewport.instance
        study = self._workspace.studies.study_of(shown) if shown else None
        found: dict[ImageLink, None] = {}
        for ref in self._workspace.key_marks.own:
            image = self._workspace.instance_of(ref.sop_instance_uid)
            if study is None or image is None:
                continue
            if self._workspace.studies.study_of(image) is study:
                frames = (ref.frame,) if image.frames > 1 else ()
                found[ImageLink(ref.sop_instance_uid, frames)] = None
        for series in study.series if study is not None else ():
            for item in series.instances if series.content is Content.KEY_OBJECTS else ():
                # A note withdraws images.
                if not item.note:
                    plain = tuple(ImageLink(uid) for uid in item.references)
                    found |= dict.fromkeys(self._learnt.get(item.sop_instance_uid, plain))
        return tuple(found)

    def step(self, by: int) -> bool:
        """Show the next (`by` = 1) or previous (-1) open key image; False if there is none."""
        links = self.links
        shown = (n for n, link in enumerate(links) if self._is_shown(link))
        start = next(shown, -1 if by > 0 else 0)
        places = (start + by * distance for distance in range(1, len(links) + 1))
        return any(self.show(links[place % len(links)]) for place in places)

    def _is_shown(self, link: ImageLink) -> bool:
        viewport = self._viewport
        shown = viewport.instance
        same_frame = not link.frames or viewport.frame_index in link.frames
        return shown is not None and shown.sop_instance_uid == link.sop_instance_uid and same_frame

    def show(self, link: ImageLink) -> bool:
        """Show a key image at its frame; return False if the image is not open."""
        instance = self._workspace.instance_of(link.sop_instance_uid)
        if instance is None or not instance.has_frames:
            return False
        frame = link.frames[0] if link.frames else 0
        viewport = self._viewport
        if viewport.instance is instance:
            viewport.scroll_to(frame)
        else:
            viewport.show(instance, frame)
        return True
