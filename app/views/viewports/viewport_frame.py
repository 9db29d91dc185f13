"""One viewport on the screen: its canvas with what belongs to it, and what can be dropped on it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import cast

from PySide6.QtCore import QEvent, QMimeData, QObject, QPointF, QRect, Qt, Signal
from PySide6.QtGui import (
    QDragEnterEvent,
    QDragLeaveEvent,
    QDragMoveEvent,
    QDropEvent,
    QKeyEvent,
    QMouseEvent,
    QPainter,
    QPaintEvent,
)
from PySide6.QtWidgets import QWidget

from app.errors import SightlineError
from app.imaging.decode import Decoder
from app.imaging.pixels.windows import Misfit
from app.views.background import Background
from app.views.canvas.canvas import Canvas
from app.views.canvas.channel_panel import ChannelPanel
from app.views.canvas.plane_switch import PlaneSwitch
from app.views.canvas.window_hint import WindowHint
from app.views.documents.document_pages import DocumentStack
from app.views.layer_loading import LayerLoading
from app.views.layouts import column
from app.views.loader import Loader, SeriesWindow
from app.views.notices import Action, Placeholder
from app.views.theme import DARK, color
from app.views.viewports.viewport_bar import REACH, VIEWPORT_MIME, ViewportBar
from app.workspace.display_settings import DisplaySettings
from app.workspace.layout import Edge
from app.workspace.viewport import Viewport
from app.workspace.workspace import ScaleKey, Workspace

SERIES_MIME = "application/x-sightline-series"
"""Data of a drag of a series from the study list: the key of its row."""

_EDGE = 0.22  # share of a viewport at each side in which a drop splits it
EDGES: tuple[Edge, ...] = ("left", "right", "top", "bottom")


@dataclass(frozen=True, slots=True)
class ViewportServices:
    """What every viewport of a window shares.

    Attributes:
        show_attributes: Opens the panel with the attributes of the shown object.
        tell: Shows an error to the user.
        recent: Buttons there that open again what was opened last.
        display: Whether enlarged pixels are smooth, and how large those of the screens are.
        misfits: Series whose file has a useless window; None where the user keeps it.
    """

    workspace: Workspace
    decoder: Decoder
    loader: Loader
    background: Background
    show_attributes: Callable[[], object]
    tell: Callable[[SightlineError], object]
    rendering: Background | None = None
    start_actions: tuple[Action, ...] = ()
    recent: tuple[Action, ...] = ()
    display: DisplaySettings = field(default_factory=DisplaySettings)
    misfits: dict[ScaleKey, Misfit | None] = field(default_factory=dict[ScaleKey, Misfit | None])


class ViewportFrame(QWidget):
    """The widget of one viewport.

    Attributes:
        documents: The canvas, or in its place the page of a report or of another object.
    """

    dropped = Signal(object, str)  # the `QMimeData`; the edge, or "" for the middle

    def __init__(self, viewport: Viewport, services: ViewportServices) -> None:
        super().__init__()
        workspace = services.workspace
        self.viewport = viewport
        self._layout = workspace.layout
        self.canvas = Canvas(workspace, services.background, viewport, services.rendering)
        self.canvas.alone = len(workspace.layout.screen_of(viewport).viewports) == 1
        SeriesWindow(self.canvas, workspace, services.loader)
        self.window_hint = WindowHint(self.canvas, workspace, services.background, services.misfits)
        self.channels = ChannelPanel(self.canvas)
        self.planes = PlaneSwitch(self.canvas, workspace, services.loader)
        self.documents = DocumentStack(
            self.canvas, workspace, services.loader, services.show_attributes
        )
        self.placeholder = Placeholder(
            self.canvas, workspace, [*services.start_actions], services.recent
        )
        self.layer_loading = LayerLoading(
            workspace, self.canvas, services.decoder, services.background, services.tell
        )
        self.documents.over_images.connect(self.layer_loading.open_object)
        self._column = column(self.documents, spacing=0, parent=self)
        self._held: QWidget | None = None
        # Drops on the image are drops on the viewport.
        self.canvas.setAcceptDrops(False)
        self.canvas.viewport().setAcceptDrops(False)
        self.setAcceptDrops(True)
        self._zone = _DropZone(self)
        self.bar = ViewportBar(self)
        self.canvas.hovered.connect(self._show_bar)
        self.documents.widgetAdded.connect(self._watch_page)

    def _watch_page(self, number: int) -> None:
        """Let the mouse find the bar over a page too, whose parts take the mouse."""
        page = self.documents.widget(number)
        assert page is not None
        for part in (page, *page.findChildren(QWidget)):
            part.setMouseTracking(True)
            part.installEventFilter(self)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if isinstance(event, QMouseEvent) and event.type() == QEvent.Type.MouseMove:
            self._show_bar(self.mapFromGlobal(event.globalPosition()).y())
        return super().eventFilter(watched, event)

    def _show_bar(self, y: float) -> None:
        self.bar.appear(y < REACH and len(self._layout.viewports) > 1)

    def leaveEvent(self, event: QEvent) -> None:
        super().leaveEvent(event)
        self.bar.appear(False)

    def hold(self, page: QWidget | None) -> None:
        """Show a page in place of the image or report; None for that again."""
        if page is self._held:
            return
        if self._held is not None:
            self._column.removeWidget(self._held)
            self._held.hide()
        self._held = page
        self.documents.setVisible(page is None)
        if page is not None:
            self._column.addWidget(page)
            page.show()

    def focus_page(self) -> None:
        if self._held is None:
            self.documents.focus_page()
        else:
            self._held.setFocus(Qt.FocusReason.OtherFocusReason)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() == Qt.Key.Key_Escape:
            self._layout.maximise(False)
        else:
            super().keyPressEvent(event)

    @property
    def busy(self) -> bool:
        return self.canvas.busy or self.documents.busy

    def close_models(self) -> None:
        self.planes.cancel()
        self.canvas.close_models()
        self.documents.close_models()

    # Drops

    def dragEnterEvent(self, event: QDragEnterEvent) -> None:
        if _is_ours(event.mimeData()):
            event.acceptProposedAction()
        else:
            event.ignore()  # files are the window's

    def dragMoveEvent(self, event: QDragMoveEvent) -> None:
        if _is_ours(event.mimeData()):
            self._zone.show_at(self._edge_at(event.mimeData(), event.position()))
            event.acceptProposedAction()

    def dragLeaveEvent(self, event: QDragLeaveEvent) -> None:
        self._zone.hide()

    def dropEvent(self, event: QDropEvent) -> None:
        self._zone.hide()
        if _is_ours(event.mimeData()):
            event.acceptProposedAction()
            self.dropped.emit(event.mimeData(), self._edge_at(event.mimeData(), event.position()))

    def _edge_at(self, data: QMimeData, position: QPointF) -> str:
        """Return the edge at which a drop splits the viewport; "" for its middle."""
        if data.hasFormat(VIEWPORT_MIME):
            return ""  # viewports change places
        x, y = position.x() / max(1, self.width()), position.y() / max(1, self.height())
        near = dict(zip(EDGES, (x, 1 - x, y, 1 - y), strict=True))
        edge = min(near, key=lambda name: near[name])
        return edge if near[edge] < _EDGE else ""


def _is_ours(data: QMimeData) -> bool:
    return data.hasFormat(SERIES_MIME) or data.hasFormat(VIEWPORT_MIME)


class _DropZone(QWidget):
    """Shows where a dragged series would be shown: in the viewport, or in a new one at an edge."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        self.hide()

    def show_at(self, edge: str) -> None:
        """Cover the half at an edge of the viewport, or all of it for ""."""
        area = cast("QWidget", self.parent()).rect()
        half_width, half_height = area.width() // 2, area.height() // 2
        match edge:
            case "left":
                area.setWidth(half_width)
            case "right":
                area.setLeft(half_width)
            case "top":
                area.setHeight(half_height)
            case "bottom":
                area.setTop(half_height)
            case _:
                pass
        self.setGeometry(QRect(area))
        self.show()
        self.raise_()

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.fillRect(self.rect(), color(DARK.accent, 0.25))
        painter.setPen(color(DARK.accent))
        painter.drawRect(self.rect().adjusted(0, 0, -1, -1))
        painter.end()
