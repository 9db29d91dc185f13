"""The page of a report: its name, search, and the text."""

from __future__ import annotations

from concurrent.futures import Future
from functools import partial

from PySide6.QtCore import Qt, QTimer, Signal
from PySide6.QtGui import QImage, QKeyEvent, QKeySequence, QShortcut
from PySide6.QtWidgets import QHBoxLayout, QLineEdit, QVBoxLayout, QWidget

from app.errors import SightlineError
from app.imaging.objects.report_regions import report_layer
from app.imaging.report import ImageLink, Report, key_images, nodes_of
from app.imaging.types import Content, Instance
from app.views import icons, wording
from app.views.canvas.image_layer import to_qimage
from app.views.contents import LOOKS
from app.views.documents.key_images import KeyImages
from app.views.documents.names import name_of
from app.views.documents.pictures import SHARP, framed
from app.views.documents.report_text import ReportText
from app.views.documents.writing import MOST_PICTURES, PICTURE_PX
from app.views.loader import Loader, Thumbnail
from app.views.theme import SPACE
from app.views.widgets import ElidedLabel, IconLabel, label, push_button, rule, tool_button
from app.workspace.workspace import Workspace

DRAWN = (Content.SEGMENTATION, Content.STRUCTURES, Content.PRESENTATION)
"""What is shown on its images where those are open."""


class ReportPage(QWidget):
    """Shows the report of an instance; reads it in a worker.

    Args:
        workspace: The models.
        loader: Reads reports and thumbnails.
        key_images: Told what selections hold.
    """

    over_images = Signal(object)  # the `Instance` that was clicked is drawn on open images

    def __init__(self, workspace: Workspace, loader: Loader, key_images: KeyImages) -> None:
        super().__init__()
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        self.setProperty("surface", "panel")
        self._workspace = workspace
        self._loader = loader
        self._key_images = key_images
        self._instance: Instance | None = None
        self._report: Report | None = None
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
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addLayout(self._make_head())
        column.addWidget(rule())
        column.addWidget(self.message)
        column.addWidget(self.text, 1)
        find = QShortcut(QKeySequence.StandardKey.Find, self)
        find.setContext(Qt.ShortcutContext.WidgetWithChildrenShortcut)
        find.activated.connect(self.focus_search)

    def _make_head(self) -> QHBoxLayout:
        self._icon = IconLabel("file-text", 16)
        self.title = ElidedLabel("", "strong")
        self.place = label("", "caption")
        self.previous = tool_button("chevron-up", "Previous report", lambda: self._step(-1), 16)
        self.next = tool_button("chevron-down", "Next report", lambda: self._step(1), 16)
        self.first_key = push_button("Key images", lambda: self._key_images.step(1))
        self.search = _SearchLine(self.text)
        self.search.textChanged.connect(self._search)
        self.search.returnPressed.connect(lambda: self._step_match(1))
        self.found = label("", "caption")
        head = QHBoxLayout()
        head.setContentsMargins(SPACE.m, SPACE.s, SPACE.s, SPACE.s)
        head.setSpacing(SPACE.s)
        head.addWidget(self._icon)
        head.addWidget(self.title, 2)
        head.addWidget(self.place)
        head.addWidget(self.previous)
        head.addWidget(self.next)
        head.addWidget(self.first_key)
        head.addWidget(self.found)
        head.addWidget(self.search, 1)
        head.addWidget(tool_button("copy", "Copy the whole text", self.text.copy_all, 16))
        return head

    @property
    def report(self) -> Report | None:
        """What is shown, when it has been read."""
        return self._report

    def show_instance(self, instance: Instance) -> None:
        """Read an instance's report and show it."""
        self.forget()
        self._instance = instance
        look = LOOKS[instance.content]
        self._icon.set_icon(look.icon)
        described = wording.one_line(instance.get("SeriesDescription"))
        self.title.setText(described or look.one.capitalize())
        self.first_key.setVisible(instance.content is Content.KEY_OBJECTS and not instance.note)
        self._say("Reading the report…")
        self._update_place()
        self._reading = self._loader.report(
            instance, partial(self._take, instance), partial(self._fail, instance)
        )

    def forget(self) -> None:
        """Something else is shown: what was asked for is not wanted any more."""
        for future in (self._reading, *self._pictures):
            if future is not None:
                future.cancel()
        self.text.stop()
        self._reading, self._pictures = None, []
        self._instance = self._report = None

    def refresh(self) -> None:
        """Other images are open: what was no link may be one."""
        if self._report is not None and self._links_now(self._report) != self._links:
            self._rewrite()
        self._update_place()

    def _links_now(self, report: Report) -> frozenset[ImageLink]:
        """The links that lead to an open image."""
        links = {link for node in nodes_of(report.root) for link in node.links}
        return frozenset(filter(self._is_open, links))

    def _rewrite(self) -> None:
        if self._report is not None and self._instance is not None:
            self._write(self._instance, self._report)

    def _lay_out(self) -> None:
        if self._instance is not None and self._instance.content is Content.KEY_OBJECTS:
            QTimer.singleShot(0, self, self._rewrite)  # not while the text lays itself out

    def focus_search(self) -> None:
        """Ctrl+F."""
        self.search.setFocus()
        self.search.selectAll()

    def _take(self, instance: Instance, report: Report) -> None:
        if instance is not self._instance:
            return
        self._report = report
        if instance.content is Content.KEY_OBJECTS:
            self._key_images.learn(instance, report)
        self._write(instance, report)

    def _write(self, instance: Instance, report: Report) -> None:
        self._links = self._links_now(report)
        pictures = instance.content is Content.KEY_OBJECTS
        self.text.show_report(report, partial(name_of, self._workspace), pictures=pictures)

    def _written(self) -> None:
        report, instance = self._report, self._instance
        if report is None or instance is None:
            return
        self.message.hide()
        self.text.show()
        pictures = instance.content is Content.KEY_OBJECTS
        self.first_key.setEnabled(any(map(self._is_open, key_images(report))))
        for future in self._pictures:
            future.cancel()
        self._pictures = []
        for number, link in enumerate(key_images(report)[:MOST_PICTURES] if pictures else ()):
            self.text.set_picture(number, framed(QImage()))
            source = self._workspace.instance_of(link.sop_instance_uid)
            if source is not None and source.has_frames:
                take = partial(self._take_picture, report, number)
                future = self._loader.thumbnail(
                    source, PICTURE_PX * SHARP, take, lambda _error: None
                )
                self._pictures.append(future)
        self._search(self.search.text())

    def _is_open(self, link: ImageLink) -> bool:
        instance = self._workspace.instance_of(link.sop_instance_uid)
        return instance is not None and instance.has_frames

    def _take_picture(self, report: Report, number: int, pixels: Thumbnail) -> None:
        if report is self._report:
            self.text.set_picture(number, framed(to_qimage(pixels)))

    def _fail(self, instance: Instance, error: SightlineError) -> None:
        if instance is self._instance:
            self._say(f"This report cannot be read. {error.text}")

    def _say(self, text: str) -> None:
        self.message.setText(text)
        self.message.show()
        self.text.hide()
        self.found.setText("")

    def _follow(self, link: ImageLink) -> None:
        """Show what was clicked: an image with the report's regions, or what is drawn on images."""
        target = self._workspace.instance_of(link.sop_instance_uid)
        if target is None or self._report is None or self._instance is None:
            return
        regions = report_layer(self._report, self._instance)
        self._workspace.layers.set_report(*(regions or (None, {})))
        if target.content in DRAWN and self._workspace.image_of(target) is not None:
            self.over_images.emit(target)
        else:
            self._key_images.show(link)

    def _step(self, by: int) -> None:
        following = self._workspace.next_instance(by)
        if following is not None:
            self._workspace.viewport.show(following)

    def _update_place(self) -> None:
        series = self._workspace.studies.series_of(self._instance) if self._instance else None
        instances = series.instances if series else ()
        many = len(instances) > 1
        for part in (self.place, self.previous, self.next):
            part.setVisible(many)
        if many and self._instance in instances:
            self.place.setText(f"{instances.index(self._instance) + 1} of {len(instances)}")

    def _search(self, text: str) -> None:
        self.text.search(text)
        self._say_found()

    def _step_match(self, by: int) -> None:
        self.text.step(by)
        self._say_found()

    def _say_found(self) -> None:
        place, count = self.text.matches
        asked = bool(self.search.text().strip())
        self.found.setText((f"{place} of {count}" if count else "Not found") if asked else "")


class _SearchLine(QLineEdit):
    """Where the searched text is typed; Escape goes back to the report."""

    def __init__(self, text: QWidget) -> None:
        super().__init__()
        self._text = text
        self.setPlaceholderText("Search in the report")
        self.setAccessibleName("Search in the report")
        self.setClearButtonEnabled(True)
        self.setMinimumWidth(90)
        self.setMaximumWidth(260)
        self.addAction(icons.icon("search"), QLineEdit.ActionPosition.LeadingPosition)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() == Qt.Key.Key_Escape:
            self.clear()
            self._text.setFocus()
            return
        super().keyPressEvent(event)
