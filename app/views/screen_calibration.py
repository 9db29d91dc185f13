"""The true size of images: measuring the screen, and showing 1 mm of the object as 1 mm on it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from PySide6.QtCore import QPointF, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QKeyEvent, QMouseEvent, QPainter, QPaintEvent, QPen, QScreen
from PySide6.QtWidgets import QDialog, QSizePolicy, QWidget

from app.views.canvas.true_size import refusal, screen_key
from app.views.layouts import column, row
from app.views.theme import SPACE, THEME, color
from app.views.translation import tr
from app.views.widgets import label, number_field, push_button
from app.workspace.display_settings import PIXEL_MM, DisplaySettings

if TYPE_CHECKING:
    from app.views.main_window import MainWindow

CARD_MM = 85.60
"""Width of a bank card (ISO/IEC 7810, ID-1) in mm."""

_START_PX = 340
_LEAST_PX = 60
_MARGIN = 12  # px beside the bar
_HEIGHT = 84


class MeasuredBar(QWidget):
    """A bar whose right end is dragged, or moved by the arrow keys; `length` is in px."""

    changed = Signal()

    def __init__(self) -> None:
        super().__init__()
        self.length = float(_START_PX)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.setCursor(Qt.CursorShape.SizeHorCursor)
        self.setAccessibleName(tr("Bar to be made as wide as a bank card"))
        self.setAccessibleDescription(tr("The left and right arrow keys change its length"))

    def sizeHint(self) -> QSize:
        return QSize(760, _HEIGHT)

    def set_length(self, length: float) -> None:
        """Set the length in px, within the widget."""
        self.length = min(max(length, float(_LEAST_PX)), float(self.width() - 2 * _MARGIN))
        self.update()
        self.changed.emit()

    def mousePressEvent(self, event: QMouseEvent) -> None:
        self.mouseMoveEvent(event)

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        if event.buttons() & Qt.MouseButton.LeftButton:
            self.set_length(event.position().x() - _MARGIN)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        keys = {Qt.Key.Key_Left: -1, Qt.Key.Key_Right: 1}
        step = keys.get(Qt.Key(event.key()), 0)
        if not step:
            super().keyPressEvent(event)
            return
        fast = bool(event.modifiers() & Qt.KeyboardModifier.ShiftModifier)
        self.set_length(self.length + step * (10 if fast else 1))

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        bar = QRectF(_MARGIN, 4, self.length, self.height() - 8)
        painter.fillRect(bar, color(THEME.accent, 0.25))
        painter.setPen(QPen(color(THEME.accent), 1))
        painter.drawRect(bar)
        if self.hasFocus():
            painter.setPen(QPen(color(THEME.accent), 3))
        painter.drawLine(QPointF(bar.right(), bar.top()), QPointF(bar.right(), bar.bottom()))
        painter.setPen(color(THEME.text))
        painter.drawText(bar, Qt.AlignmentFlag.AlignCenter, tr("Bank card"))
        painter.end()


class ScreenCalibration(QDialog):
    """Asks how large the pixels of the screen are, by a bar of known length.

    Args:
        parent: The window; the dialog measures the screen that the dialog itself is on.
        settings: Where the result is kept.
        done: Called after it has been kept.
    """

    def __init__(
        self, parent: QWidget, settings: DisplaySettings, done: Callable[[], object]
    ) -> None:
        super().__init__(parent)
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setWindowTitle(tr("Calibrate the screen"))
        self._settings = settings
        self._done = done
        self.bar = MeasuredBar()
        self.bar.changed.connect(self._update)
        self.measured = number_field(tr("Length of the bar in mm"))
        self.measured.setRange(10.0, 1000.0)
        self.measured.setDecimals(2)
        self.measured.setSuffix(tr(" mm"))
        self.measured.setValue(CARD_MM)
        self.measured.valueChanged.connect(self._update)
        self.result_text = label("", "caption", wrap=True)
        self.keep_button = push_button(tr("Use this"), self._keep, primary=True)
        text = tr(
            "Hold a bank card against the screen and drag the right end of the bar until it is as "
            "wide as the card (arrow keys move it by one pixel). Or measure the bar with a ruler "
            "and type its length."
        )
        column(
            label(text, wrap=True),
            self.bar,
            row(label(tr("The bar is")), self.measured, label(tr("wide")), 1),
            self.result_text,
            row(1, push_button(tr("Cancel"), self.reject), self.keep_button),
            spacing=SPACE.m,
            margins=SPACE.xl,
            parent=self,
        )
        known = settings.pixel_mm(screen_key(self.screen()))
        if known is not None:
            self.bar.length = CARD_MM / known / self.screen().devicePixelRatio()
        self._update()
        self.bar.setFocus()

    @property
    def pixel_mm(self) -> float:
        """Width in mm of a physical pixel of the screen."""
        return self.measured.value() / (self.bar.length * self.screen().devicePixelRatio())

    def _update(self) -> None:
        pitch = self.pixel_mm
        possible = PIXEL_MM[0] <= pitch <= PIXEL_MM[1]
        text = tr("One pixel of this screen is {size} mm wide.")
        if not possible:
            text = tr("One pixel would be {size} mm wide: no screen has such pixels.")
        self.result_text.setText(text.format(size=f"{pitch:.4f}"))
        self.keep_button.setEnabled(possible)

    def _keep(self) -> None:
        self._settings.set_pixel_mm(screen_key(self.screen()), self.pixel_mm)
        self.accept()
        self._done()


class TrueSize:
    """The commands that show the active image at its true size and calibrate its screen."""

    def __init__(self, window: MainWindow) -> None:
        self._window = window

    def show(self) -> None:
        """Show the active image at its true size; ask to calibrate the screen first if needed."""
        canvas = self._window.canvas
        frame, notices = canvas.frame, self._window.notices
        if frame is None:
            return
        if reason := refusal(frame.spacing):
            notices.show_notice("warning", tr("The true size of this image is not known"), reason)
            return
        screen: QScreen = canvas.screen()
        pixel_mm = self._window.display_settings.pixel_mm(screen_key(screen))
        if pixel_mm is None:
            self.calibrate(then=self.show)
        elif not canvas.show_true_size(pixel_mm, screen_key(screen)):
            title = tr("This image cannot be shown at its true size")
            text = tr("It would be too small or too large for the screen.")
            notices.show_notice("warning", title, text)

    def calibrate(self, then: Callable[[], object] = lambda: None) -> None:
        """Open the dialog that measures the screen; call `then` once it is measured."""
        window = self._window.canvas.window()  # the dialog measures the screen that it is on
        ScreenCalibration(window, self._window.display_settings, then).open()
