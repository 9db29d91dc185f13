"""The dialogs of marks: calibration by a known length, and the histogram of a region."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from PySide6.QtCore import Qt
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QCheckBox, QDialog, QWidget
from shiboken6 import isValid

from app.imaging.findings import Finding
from app.imaging.types import Frame
from app.views import wording
from app.views.background import Background
from app.views.canvas.canvas import Canvas
from app.views.layouts import column, row
from app.views.theme import SPACE, THEME, TYPE, color, ui_font
from app.views.translation import tr
from app.views.widgets import label, number_field, push_button
from app.workspace import calibration, drawing, region_statistics
from app.workspace.workspace import Workspace


class CalibrationDialog(QDialog):
    """Asks for the true length in mm of a line that the user drew.

    Args:
        line: The line.
        has_series: Whether there are other images to calibrate with it.
        take: Called with the length in mm (None: end the calibration) and whether it is for the
            series.
    """

    def __init__(
        self,
        line: Finding,
        has_series: bool,
        take: Callable[[float | None, bool], object],
        parent: QWidget,
    ) -> None:
        super().__init__(parent)
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setWindowTitle(tr("Calibrate by this length"))
        self._take = take
        known = calibration.known_length(line)
        about = tr(
            "How long is the line in truth? All marks of the image are measured with it, in place "
            "of the scale of the file, and say so: calibrated by hand."
        )
        now = tr("Now: {length}").format(length=wording.value_text(line))
        self.field = number_field(tr("Length in mm"))
        self.field.setDecimals(2)
        self.field.setRange(calibration.LEAST_MM, calibration.MOST_MM)
        self.field.setSuffix(" mm")
        start = known if known is not None else line.value if "mm" in line.units else None
        self.field.setValue(start or 10.0)
        self.field.selectAll()
        self.series = QCheckBox(tr("For all images of the series with as many pixels"))
        self.series.setChecked(calibration.is_for_series(line))
        self.series.setVisible(has_series)
        self.apply = push_button(tr("Calibrate"), self._apply, primary=True)
        self.apply.setDefault(True)
        self.end = push_button(tr("End the calibration"), self._end)
        self.end.setVisible(known is not None)
        for button in (self.end,):
            button.setAutoDefault(False)
        column(
            label(about, "muted", wrap=True),
            label(now, "caption"),
            self.field,
            self.series,
            row(self.end, 1, push_button(tr("Cancel"), self.reject), self.apply),
            margins=SPACE.l,
            spacing=SPACE.m,
            parent=self,
        )
        self.resize(400, self.sizeHint().height())
        self.field.setFocus()

    def _apply(self) -> None:
        self._take(self.field.value(), self.series.isChecked() and not self.series.isHidden())
        self.accept()

    def _end(self) -> None:
        self._take(None, False)
        self.accept()


class RegionHistogram(QDialog):
    """The histogram of the values in a region that the user drew, with its statistics.

    Args:
        frame: The region's image.
    """

    def __init__(
        self, finding: Finding, frame: Frame, background: Background, parent: QWidget
    ) -> None:
        super().__init__(parent, Qt.WindowType.Tool)
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setWindowTitle(tr("Histogram of the region"))
        self.ready = False
        import pyqtgraph as pg  # after the first window

        self.plot = pg.PlotWidget(background=THEME.panel)
        self.plot.setMouseEnabled(False, False)
        self.plot.setMenuEnabled(False)
        self.plot.hideButtons()
        self.plot.setMinimumHeight(140)
        self.plot.setAccessibleName(tr("Histogram of the region"))
        for name in ("left", "bottom"):
            axis = self.plot.getAxis(name)
            axis.setStyle(tickFont=ui_font(TYPE.caption))
            axis.setPen(THEME.border)
            axis.setTextPen(THEME.text_muted)
        self.plot.getAxis("left").setLabel(tr("Pixels"))
        self.figures = label(tr("Counting…"), "", wrap=True)
        rule = tr(
            "Pixels whose centre lies inside; on the outline itself, those at its left and top. "
            "SD is that of a sample (n - 1)."
        )
        column(
            self.figures,
            (self.plot, 1),
            label(rule, "caption", wrap=True),
            spacing=SPACE.s,
            margins=SPACE.m,
            parent=self,
        )
        self.resize(420, 300)
        background.submit(partial(_counted, finding, frame), self._show, lambda _error: None)

    def _show(self, counted: Counted) -> None:
        if not isValid(self):
            return
        self.ready = True
        found, histogram = counted
        if found is None or histogram is None:
            self.figures.setText(tr("No pixel of the region has a value"))
            return
        counts, edges = histogram
        self.plot.plot(
            edges,
            counts,
            stepMode="center",
            fillLevel=0,
            pen=THEME.text_muted,
            brush=color(THEME.text_muted, 0.45),
        )
        self.plot.getAxis("bottom").setLabel(found.units)
        lines = [
            tr("{count} pixels").format(count=f"{found.count:,}"),
            f"{tr('Mean')} {wording.number(found.mean)}, SD {wording.number(found.deviation)}",
            tr("{low} to {high} {units}").format(
                low=wording.number(found.minimum),
                high=wording.number(found.maximum),
                units=found.units,
            ),
        ]
        if found.left_out:
            lines.append(
                tr("{count} left out: padding, or behind the shutter").format(
                    count=f"{found.left_out:,}"
                )
            )
        self.figures.setText(wording.DOT.join(lines))


Counted = tuple[region_statistics.Statistics | None, tuple[object, object] | None]


def _counted(finding: Finding, frame: Frame) -> Counted:
    region = region_statistics.region_of(finding)
    read = region_statistics.region_values(frame, region) if region is not None else None
    if read is None or not read[0].size:
        return None, None
    return region_statistics.statistics(*read), region_statistics.histogram(read[0])


class MarkCommands:
    """The commands on the selected mark: calibrate by it, its histogram, its text.

    Args:
        canvas: Returns the active viewport's canvas.
        action: Makes an action of the window (`MenuBar._action`).
        window: The parent of the dialogs.
    """

    def __init__(
        self,
        workspace: Workspace,
        canvas: Callable[[], Canvas],
        background: Background,
        action: Callable[..., QAction],
        window: QWidget,
    ) -> None:
        self._workspace = workspace
        self._canvas = canvas
        self._background = background
        self._window = window
        self.calibrate = action(tr("Calibrate by this length…"), self._calibrate)
        self.histogram = action(tr("Statistics and histogram…"), self._histogram)
        self.edit_text = action(tr("Edit the text of the mark"), self._edit_text)
        self.all = (self.calibrate, self.histogram, self.edit_text)

    def _selected(self) -> Finding | None:
        chosen = self._workspace.annotations.selected
        shown = self._canvas().findings_layer.findings
        return next((one for one in shown if one.id == chosen), None) if chosen else None

    def refresh(self) -> None:
        mark = self._selected()
        by_hand = mark is not None and drawing.by_hand(mark)
        texts = mark is not None and by_hand and mark.provenance.tool in drawing.TEXTS
        on_own = mark is not None and self._own_frame(mark) is not None
        self.calibrate.setEnabled(mark is not None and on_own and calibration.can_calibrate(mark))
        self.histogram.setEnabled(mark is not None and drawing.has_statistics(mark))
        self.edit_text.setEnabled(texts)

    def _own_frame(self, mark: Finding) -> Frame | None:
        frame = self._canvas().frame
        return frame.of(mark.image) if frame is not None else None

    def _calibrate(self) -> None:
        mark, workspace = self._selected(), self._workspace
        frame = self._own_frame(mark) if mark is not None else None
        if mark is None or frame is None or not calibration.can_calibrate(mark):
            return
        if workspace.annotations.is_locked(mark.id):
            return
        image = workspace.studies.with_uid(mark.image.sop_instance_uid)
        series = workspace.studies.series_of(image) if image is not None else None
        several = series is not None and (
            len(series.instances) > 1 or series.instances[0].frames > 1
        )

        def take(mm: float | None, whole: bool) -> None:
            workspace.calibrate(mark, frame, mm, whole)

        CalibrationDialog(mark, several, take, self._window).open()

    def _histogram(self) -> None:
        mark, frame = self._selected(), self._canvas().frame
        if mark is not None and frame is not None and drawing.has_statistics(mark):
            RegionHistogram(mark, frame, self._background, self._window).show()

    def _edit_text(self) -> None:
        mark = self._selected()
        if mark is not None and mark.provenance.tool in drawing.TEXTS:
            self._canvas().drawing_tool.edit_text(mark)
