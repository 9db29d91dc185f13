"""Small pictures below an answer: the part of the shown image that a cited finding lies on."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from PySide6.QtCore import QSize
from PySide6.QtGui import QImage, QTransform
from PySide6.QtWidgets import QWidget
from shiboken6 import isValid

from app.errors import SightlineError
from app.imaging.findings import Finding
from app.views.background import Background
from app.views.canvas.annotated_render import Look, Marks, ScreenView, render_annotated
from app.views.chat.thumbnails import PictureButton
from app.views.chat.widgets import link_button
from app.views.layouts import Flow
from app.views.translation import tr
from app.views.widgets import plain_tip
from app.views.wording import chip_text
from app.workspace.editing import bounds_of
from app.workspace.viewport import Viewport
from app.workspace.workspace import Workspace

_MOST = 4  # crops below an answer
_SIZE = QSize(86, 68)  # px on the screen
_ROOM = 1.5  # how much more of the image than the finding is seen
_LEAST = 24.0  # px of the image in either direction


class FindingCrops:
    """Makes the row of crops; a click selects the finding and shows it in the viewport."""

    def __init__(
        self, workspace: Workspace, background: Background, select: Callable[[str], object]
    ) -> None:
        self._workspace = workspace
        self._background = background
        self._select = select

    def row(self, findings: Sequence[Finding]) -> QWidget | None:
        """Return the crops of findings on frames that are shown; None for none.

        Of more than four, the others come with a button that says how many there are.
        """
        there = [one for one in findings if self._viewport(one) is not None]
        buttons = [*filter(None, map(self._button, there[:_MOST]))]
        if not buttons:
            return None
        box = QWidget()
        box.setAccessibleName(tr("Where it is on the image"))
        flow = Flow(6, *buttons)
        box.setLayout(flow)
        if rest := there[_MOST:]:
            more = link_button(tr("Show all {count}").format(count=len(there)))

            def show_all() -> None:
                flow.removeWidget(more)
                more.hide()
                more.deleteLater()
                for one in filter(None, map(self._button, rest)):
                    flow.addWidget(one)
                    one.show()

            more.clicked.connect(show_all)
            flow.addWidget(more)
        return box

    def _viewport(self, finding: Finding) -> Viewport | None:
        """Return the viewport that shows the frame of a finding with a place; None for none."""
        if self._workspace.annotations.get(finding.id) is None or bounds_of(finding) is None:
            return None
        viewports = (self._workspace.viewport, *self._workspace.layout.viewports)
        shown = (one for one in viewports if one.frame and one.frame.ref == finding.image)
        return next(shown, None)

    def _button(self, finding: Finding) -> PictureButton | None:
        viewport, bounds = self._viewport(finding), bounds_of(finding)
        annotation = self._workspace.annotations.get(finding.id)
        if annotation is None or bounds is None or viewport is None or viewport.frame is None:
            return None
        frame, instance = viewport.frame, viewport.instance
        if instance is None:
            return None
        display = viewport.display
        button = PictureButton(_SIZE.width())
        density = button.devicePixelRatioF()
        text = chip_text(finding)
        name = tr("Show {text} on the image").format(text=text)
        button.setAccessibleName(name)
        button.setToolTip(plain_tip(name))
        button.clicked.connect(lambda _checked=False, key=finding.id: self._select(key))
        view = ScreenView(_to_view(bounds), _SIZE.toTuple(), density)

        def work() -> QImage:
            pixels = render_annotated(
                frame,
                instance,
                display.window,
                turn=display,
                marks=Marks((annotation,)),
                look=Look(detail=None, view=view, labels=False),
            )
            height, width = pixels.shape[:2]
            form = QImage.Format.Format_RGB888
            return QImage(pixels.tobytes(), width, height, 3 * width, form).copy()

        def show(picture: QImage) -> None:
            if isValid(button):
                button.set_image(picture)

        def failed(_error: SightlineError) -> None:
            if isValid(button):
                button.fail()

        self._background.submit(work, show, failed)
        return button


def _to_view(bounds: tuple[float, float, float, float]) -> QTransform:
    """Return the transform that shows a region of the image in the middle of a crop."""
    x0, y0, x1, y1 = bounds
    width = max(_LEAST, (x1 - x0) * _ROOM)
    height = max(_LEAST, (y1 - y0) * _ROOM)
    scale = min(_SIZE.width() / width, _SIZE.height() / height)
    transform = QTransform.fromTranslate(_SIZE.width() / 2, _SIZE.height() / 2)
    transform.scale(scale, scale)
    return transform.translate(-(x0 + x1) / 2, -(y0 + y1) / 2)
