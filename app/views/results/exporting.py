"""Saves tables and plots that tools made as files."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from PySide6.QtWidgets import QFileDialog

from app.audit.exports import record_export
from app.audit.log import AuditLog
from app.errors import FileProblem, SightlineError
from app.user_files import write_atomic
from app.views.translation import tr

if TYPE_CHECKING:
    from app.views.main_window import MainWindow
    from app.views.results.plot_pane import PlotPane
    from app.views.results.table_pane import TablePane


class ResultCommands:
    """The command that saves the table or plot in view."""

    def __init__(self, window: MainWindow) -> None:
        self._window = window

    def export(self, pane: TablePane | PlotPane | None = None, shown: bool = False) -> None:
        """Ask for a file for a table or plot; `shown`: only the filter's rows, in order."""
        from app.tools.plot_files import FORMS
        from app.views.results.plot_pane import PlotPane
        from app.views.results.table_pane import TablePane

        panes = self._window.viewports.panes
        others = (one for one in panes.views if isinstance(one, TablePane | PlotPane))
        pane = pane or panes.result or next(others, None)
        if pane is None or not pane.ready:
            return
        table = isinstance(pane, TablePane)
        dialog = QFileDialog(
            self._window, tr("Export the table") if table else tr("Export the plot")
        )
        dialog.setAcceptMode(QFileDialog.AcceptMode.AcceptSave)
        forms = ("csv",) if table else FORMS
        names = {f"{one.upper()} (*.{one})": one for one in forms}
        dialog.setNameFilters(list(names))
        dialog.setDefaultSuffix(next(iter(names.values())))
        dialog.filterSelected.connect(lambda name: dialog.setDefaultSuffix(names[name]))
        dialog.selectFile(tr("Sightline table") if table else tr("Sightline plot"))
        dialog.accepted.connect(lambda: self.save(pane, Path(dialog.selectedFiles()[0]), shown))
        dialog.finished.connect(dialog.deleteLater)
        dialog.open()

    def save(self, pane: TablePane | PlotPane, path: Path, shown: bool = False) -> None:
        from app.tools.plot_files import FORMS, drawn_apart
        from app.tools.tables import exported_csv
        from app.views.results.table_pane import TablePane

        window = self._window
        if isinstance(pane, TablePane):
            found = pane.exported(shown=shown)
            if found is None:
                return
            content, what = partial(exported_csv, *found), "table"
        else:
            form = path.suffix.lstrip(".").lower()
            if form not in FORMS:
                path = path.with_name(f"{path.name}.{FORMS[0]}")
                form = FORMS[0]
            content, what = partial(drawn_apart, pane.pane.path, form), "plot"
        opened = list(window.workspace.opened_files())

        def done(_none: object) -> None:
            text = tr("Saved in {path}").format(path=path.parent)
            window.notices.show_notice("info", tr("Exported"), text)

        def failed(error: SightlineError) -> None:
            window.notices.show_error(error)

        work = partial(write_result, content, path, what, window.audit_log, opened)
        window.background.submit(work, done, failed)


def write_result(
    content: Callable[[], bytes],
    path: Path,
    what: str,
    audit: AuditLog | None,
    opened: Sequence[Path] = (),
    **facts: Any,
) -> None:
    """Write a file and record it; the user has been asked whether to replace one. Not on the GUI.

    The audit log's entry gets the further `facts`.

    Raises:
        FileProblem: It cannot be made or written; nothing is left of it then.
    """
    data = content()
    with record_export(audit, what, path, opened=opened, replace=True, **facts):
        try:
            write_atomic(path, data)
        except OSError as error:
            raise FileProblem(
                tr("it cannot be written ({strerror})").format(
                    strerror=error.strerror or type(error).__name__
                ),
                subject=str(path),
                remedy="Choose a folder with free space that you may write to.",
            ) from error
