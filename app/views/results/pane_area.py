"""The page of a viewport with what tools made: pictures, tables and plots, in tabs."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, cast

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QTabWidget

from app.views import wording
from app.views.background import Background
from app.views.canvas.corner_text import Detail
from app.views.canvas.pane import PaneView, PicturePane
from app.workspace.viewport import DATA
from app.workspace.workspace import Workspace

if TYPE_CHECKING:
    # Imported when there is one, since the window is shown before.
    from app.views.results.plot_pane import PlotPane
    from app.views.results.table_pane import TablePane


class PaneArea(QTabWidget):
    """Tabs with the pictures, tables and plots that tools made."""

    export_wanted = Signal(object, bool)  # a table's or plot's pane; whether the rows shown only

    def __init__(self, workspace: Workspace, background: Background) -> None:
        super().__init__()
        self._workspace = workspace
        self._panes = workspace.panes
        self._background = background
        self._tool = ""
        self._detail = Detail.ALL
        self.setDocumentMode(True)
        self.setTabBarAutoHide(True)
        self.setElideMode(Qt.TextElideMode.ElideRight)
        self.hide()
        self._panes.changed.connect(self.refresh)
        self.refresh()

    def set_tool(self, tool: str) -> None:
        """Set the tool that the left button has in hand; only those of `POINTERS` do something."""
        self._tool = tool
        for view in self.views:
            view.set_tool(tool)

    def set_detail(self, detail: Detail) -> None:
        self._detail = detail
        for view in self.views:
            view.set_detail(detail)

    @property
    def views(self) -> list[PaneView]:
        """The widgets of the panes, in order."""
        widgets = (self.widget(index) for index in range(self.count()))
        return [widget for widget in widgets if isinstance(widget, PaneView)]

    @property
    def result(self) -> TablePane | PlotPane | None:
        """The table or plot that is seen, or None."""
        shown = self.currentWidget()
        is_data = isinstance(shown, PaneView) and shown.pane.role in DATA
        return cast("TablePane | PlotPane", shown) if is_data else None

    @property
    def busy(self) -> bool:
        return not all(view.ready for view in self.views)

    def refresh(self) -> None:
        wanted = self._panes.all
        for view in self.views:
            if view.pane not in wanted:
                self.removeTab(self.indexOf(view))
                view.deleteLater()
        have = [view.pane for view in self.views]
        for pane in wanted:
            if pane not in have:
                close = partial(self._panes.close, pane)
                if pane.role in DATA:
                    from app.views.results.plot_pane import PlotPane
                    from app.views.results.table_pane import TablePane

                    kind = TablePane if pane.role == "table" else PlotPane
                    view = kind(pane, self._workspace, self._background, close)
                    view.export_wanted.connect(partial(self.export_wanted.emit, view))
                else:
                    view = PicturePane(pane, self._background, close)
                view.set_tool(self._tool)
                view.set_detail(self._detail)
                # A tab's "&" would be taken for a mnemonic.
                name = (wording.one_line(pane.title) or pane.path.name).replace("&", "&&")
                self.setCurrentIndex(self.addTab(view, name))
                self.setFocusProxy(view.content)
