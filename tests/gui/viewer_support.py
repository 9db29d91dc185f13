"""Images, a decoder and findings made in the test, for tests of the viewer."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import numpy as np
from PySide6.QtWidgets import QWidget

from app.errors import FileProblem
from app.imaging.attributes import AttributeRow
from app.imaging.decode import Decoder
from app.imaging.findings import XY, Finding, Geometry, Polyline, Provenance
from app.imaging.layers import Layer, LayerFrame, LayerItem, Shape
from app.imaging.pixels.stored_levels import can_average
from app.imaging.presentation import PresentationState
from app.imaging.report import Report
from app.imaging.types import (
    Frame,
    ImageRef,
    Instance,
    Orientation,
    Plane,
    Problem,
    Rescale,
    ScanResult,
    Series,
    Study,
    Voi,
    Volume,
    Window,
)
from app.views.canvas.canvas import Canvas
from app.views.canvas.pane import PicturePane
from app.views.main_window import MainWindow
from tests.gui.heartbeat import BEAT_MS as BEAT_MS
from tests.gui.heartbeat import Heartbeat as Heartbeat

WaitUntil = Callable[..., None]
"""`wait_until(predicate, timeout=60.0)`: see the fixture."""

ATTRIBUTES = {
    "PatientName": "Doe^Jane",
    "PatientID": "4711",
    "StudyDate": "20240131",
    "Modality": "CT",
    "SeriesDescription": "Axial",
}


def instance(
    uid: str = "1.1", frames: int = 1, size: tuple[int, int] = (80, 100), **attributes: str
) -> Instance:
    """An image file of `size` (rows, columns)."""
    return Instance(
        Path(f"/images/{uid}.dcm"),
        uid,
        "dicom",
        size[0],
        size[1],
        frames=frames,
        attributes=ATTRIBUTES | attributes,
        frame_time_ms=20.0 if frames > 1 else None,
    )


def study(
    *instances: Instance, uid: str = "s", patient: str = "Doe^Jane", title: str = "CT head"
) -> Study:
    """A study with one series of these."""
    series = Series(f"{uid}.1", "Axial", "CT", 1, tuple(instances))
    return Study(uid, title, patient, "4711", "20240131", (series,))


def found(*studies: Study, problems: Sequence[Problem] = ()) -> ScanResult:
    """What a scan of these would return."""
    return ScanResult(tuple(studies), tuple(problems))


def pixels(rows: int = 80, columns: int = 100) -> np.ndarray[Any, np.dtype[np.int16]]:
    """A ramp from 0 to 1000 left to right, with one bright pixel at x = 30, y = 20."""
    ramp = np.linspace(0, 1000, columns, dtype=np.int16)
    image = np.tile(ramp, (rows, 1))
    image[20, 30] = 2000
    return image


def frame(uid: str = "1.1", index: int = 0, **changes: Any) -> Frame:
    """A frame with a known window; other fields by `changes`."""
    fields: dict[str, Any] = {
        "stored": pixels(),
        "ref": ImageRef(uid, index, f"sha-{uid}-{index}"),
        "rescale": Rescale(units="HU"),
        "voi": Voi((Window(500, 1000, explanation="SOFT"),)),
        "orientation": Orientation("L", "P"),
        "bits": 12,
    }
    return Frame(**(fields | changes))


def line_layer(*points: XY) -> tuple[Layer, LayerFrame]:
    """A layer with one line on the frame."""
    items = (LayerItem(1, "Line", (255, 120, 40)),)
    return Layer(instance(), "Lines", items), LayerFrame((Shape(1, Polyline(points)),))


def finding(
    image: ImageRef, geometry: Geometry, label: str = "Nodule", tool: str = "finder", **fields: Any
) -> Finding:
    """A finding by a tool."""
    made = Provenance(tool, "1.0", "net-1", "", "run", "call")
    return Finding(
        id=fields.pop("id", f"{tool}-{label}"),
        image=image,
        geometry=geometry,
        label=label,
        score=fields.pop("score", None),
        units=fields.pop("units", ""),
        provenance=made,
        **fields,
    )


class FakeDecoder(Decoder):
    """Answers when the test says so (`answer`), or at once where `prompt` is set."""

    def __init__(self, prompt: bool = True) -> None:
        self.prompt = prompt
        self.frames: dict[tuple[str, int], Frame] = {}
        self.waiting: list[tuple[Instance, int, Future[Frame]]] = []
        self.rows: list[AttributeRow] = []
        self.scans: list[tuple[Path, ...]] = []
        self.result = ScanResult((), ())
        self.broken: FileProblem | None = None
        self.reports: dict[str, Report] = {}
        self.thumbnails: list[str] = []
        self.forgotten: list[str] = []
        self.pinned: list[tuple[str, int]] = []
        self.partial: list[ScanResult] = []  # what a scan finds on its way
        self.held: Future[ScanResult] | None = None  # a scan that ends when the test says so

    def frame(self, instance: Instance, index: int = 0, priority: int = 0) -> Future[Frame]:
        future: Future[Frame] = Future()
        if priority == 0:
            self.waiting.append((instance, index, future))
            if self.prompt:
                self.answer()
        return future

    def answer(self, place: int = 0) -> None:
        """Answer one of the waiting requests, the oldest first."""
        image, index, future = self.waiting.pop(place)
        if not future.set_running_or_notify_cancel():
            return
        if self.broken is not None:
            future.set_exception(self.broken)
            return
        key = (image.sop_instance_uid, index)
        future.set_result(self.frames.get(key) or frame(*key))

    def thumbnail(self, instance: Instance, size: int = 96) -> Future[Any]:
        self.thumbnails.append(instance.sop_instance_uid)
        return _done(np.full((8, 8), 128, np.uint8))

    def pin(self, owner: object, shown: Iterable[tuple[Instance, int]]) -> None:
        self.pinned = [(instance.sop_instance_uid, index) for instance, index in shown]

    def forget(self, instances: Iterable[Instance]) -> None:
        self.forgotten += [item.sop_instance_uid for item in instances]

    def attributes(self, instance: Instance) -> Future[list[AttributeRow]]:
        return _done(list(self.rows))

    def report(self, instance: Instance) -> Future[Report]:
        return _done(self.reports[instance.sop_instance_uid])

    def volume(
        self, source: Series | Instance, cancel: Any = None, progress: Any = None
    ) -> Future[Volume]:
        return _not_here("volume")

    def reformat(
        self, source: Series | Instance, plane: Plane, cancel: Any = None
    ) -> Future[Instance]:
        return _not_here("reformat")

    def layer(self, instance: Instance) -> Future[Layer]:
        return _not_here("layer")

    def layer_frame(self, instance: Instance, target: Instance, index: int) -> Future[LayerFrame]:
        return _not_here("layer")

    def presentation(self, instance: Instance) -> Future[PresentationState]:
        return _not_here("presentation state")

    def scan(
        self,
        paths: Sequence[Path],
        cancel: object = None,
        progress: object = None,
        found: Callable[[ScanResult], object] | None = None,
        opened: object = None,
    ) -> Future[ScanResult]:
        self.scans.append(tuple(paths))
        for partial in self.partial:
            assert found is not None
            found(partial)
        if self.held is not None:
            return self.held
        return _done(self.result)


def _done(value: Any) -> Future[Any]:
    future: Future[Any] = Future()
    future.set_result(value)
    return future


def _not_here(what: str) -> Future[Any]:
    """Fails: a test that needs it brings a decoder of its own."""
    future: Future[Any] = Future()
    future.set_exception(FileProblem(f"this test has no {what}", subject="x", remedy="None"))
    return future


def activate(window: QWidget, wait_until: WaitUntil) -> None:
    """Make a window the active one: shortcuts work in no other, and no manager does it here."""
    window.activateWindow()
    wait_until(window.isActiveWindow)


def is_rested(canvas: Canvas) -> bool:
    """Return whether a canvas has no more pixels to render for the view that it shows."""
    picture, view = canvas.picture, canvas.view_of()
    if canvas.busy or picture is None or not picture.complete:
        return False
    if view is None or view.place is None or not can_average(picture.job.frame, picture.window):
        return True
    return picture.on_screen is not None and picture.on_screen.place == view.place


def picture_panes(window: MainWindow) -> list[PicturePane]:
    """Return the panes with pictures that tools made, in order."""
    return [pane for pane in window.viewports.panes.views if isinstance(pane, PicturePane)]
