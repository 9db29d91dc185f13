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
from app.views.layouts import Flow
from app.views.translation import tr
from app.views.widgets import plain_tip
from app.views.wording import chip_text
from app.workspace.editing import bounds_of
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
        """Return the crops of findings on frames that are shown, of at most four; None for none."""
        buttons: list[PictureButton] = []
        for finding in findings:
            if len(buttons) < _MOST and (button := self._button(finding)) is not None:
                buttons.append(button)
        if not buttons:
            return None
        box = QWidget()
        box.setAccessibleName(tr("Where it is on the image"))
        box.setLayout(Flow(6, *buttons))
        return box

    def _button(self, finding: Finding) -> PictureButton | None:
        annotation = self._workspace.annotations.get(finding.id)
        bounds = bounds_of(finding)
        shown = (
            viewport
            for viewport in (self._workspace.viewport, *self._workspace.layout.viewports)
            if viewport.frame is not None and viewport.frame.ref == finding.image
        )
        viewport = next(shown, None)
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
