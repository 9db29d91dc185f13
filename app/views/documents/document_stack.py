"""The pages in the place of the image: canvas, report, or a note."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QStackedWidget, QWidget

from app.imaging.types import Content, Instance
from app.views import wording
from app.views.content_names import LOOKS
from app.views.documents.key_images import KeyImages
from app.views.documents.report_page import ReportPage
from app.views.loader import Loader
from app.views.theme import THEME
from app.views.widgets import IconLabel, center_page, label, push_button
from app.workspace.workspace import Workspace

_READ = (Content.REPORT, Content.KEY_OBJECTS)


class DocumentStack(QStackedWidget):
    """Shows the page for the viewport's object.

    Args:
        canvas: Page of everything with frames, and of nothing.
        workspace: The models.
        loader: Reads reports.
        show_attributes: Opens the attributes panel.
    """

    def __init__(
        self,
        canvas: QWidget,
        workspace: Workspace,
        loader: Loader,
        show_attributes: Callable[[], object],
    ) -> None:
        super().__init__()
        self._workspace = workspace
        self._canvas = canvas
        self._shown: Instance | None = None
        self.key_images = KeyImages(workspace)
        self.report = ReportPage(workspace, loader, self.key_images)
        self.note = NotePage(show_attributes)
        for page in (canvas, self.report, self.note):
            self.addWidget(page)
        workspace.viewport.image_changed.connect(self.refresh)
        workspace.studies.changed.connect(self.report.refresh)
        self.refresh()

    @property
    def busy(self) -> bool:
        """Whether a report is being written into its page."""
        return self.report.text.busy

    def close_models(self) -> None:
        """Stop reading and writing a report."""
        self.report.forget()

    def refresh(self) -> None:
        """Show the page for the viewport's object."""
        instance = self._workspace.viewport.instance
        if instance is None or instance.has_frames:
            self.report.forget()
            self._change_to(self._canvas)
        elif instance.content in _READ:
            self.report.show_instance(instance)
            self._change_to(self.report)
        else:
            self.report.forget()
            self.note.show_instance(instance)
            self._change_to(self.note)

    def _change_to(self, page: QWidget) -> None:
        """Show a page; it gets the focus only if the previous page had it."""
        focus = self.window().focusWidget()
        inside = focus is not None and self.isAncestorOf(focus)
        self.setCurrentWidget(page)
        if inside:
            page.setFocus()


_NEEDS_IMAGES = (
    "It is drawn over images, and those are not open. Open the study that it belongs to."
)


class NotePage(QWidget):
    """Names an object that cannot be shown, and says why.

    Args:
        show_attributes: Opens the attributes panel.
    """

    def __init__(self, show_attributes: Callable[[], object]) -> None:
        super().__init__()
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        self.setProperty("surface", "canvas")
        self._icon = IconLabel("file-question-mark", 40, THEME.text_faint)
        self.title = label("", "title", wrap=True)
        self.text = label("", "muted", wrap=True)
        self.files = label("", "caption", wrap=True)
        column = center_page(self, (self._icon, self.title, self.text, self.files), 520)
        button = push_button("Show its attributes", show_attributes)
        column.addWidget(button, 0, Qt.AlignmentFlag.AlignHCenter)

    def show_instance(self, instance: Instance) -> None:
        """Describe an object."""
        look = LOOKS[instance.content]
        self._icon.set_icon(look.icon)
        named = wording.one_line(instance.get("SeriesDescription"))
        self.title.setText(named or look.one.capitalize())
        if instance.content is Content.OTHER:
            note = wording.one_line(instance.note) or "This object is not displayable"
            self.text.setText(f"{note[:1].upper()}{note[1:].rstrip('.')}.")
        else:
            self.text.setText(f"This is a {look.one}. {_NEEDS_IMAGES}")
        self.files.setText(wording.one_line(instance.path.name))
