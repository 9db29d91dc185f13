"""Sections of a series in other planes: shown, cancelled, refused, and who is asked about."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from PySide6.QtCore import QPoint, QPointF, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QToolButton

from app.errors import FileProblem
from app.imaging.pixels.windows import AUTO
from app.imaging.space import reformat
from app.imaging.types import (
    Content,
    Frame,
    ImageRef,
    Instance,
    Orientation,
    Plane,
    Rescale,
    Series,
    Spacing,
    SpacingSource,
    Voi,
    Volume,
    Window,
)
from app.views.browser.findings_list import FindingsModel
from app.views.canvas.plane_switch import PlaneSwitch
from app.views.loader import SeriesWindow
from app.workspace.viewport import Display
from tests.gui.canvas_scene import LEFT, Scene, move
from tests.gui.viewer_support import FakeDecoder, WaitUntil, found, frame, instance, study
from tests.unit.imaging.stack_files import assemble

pytestmark = pytest.mark.gui

SLICES, ROWS, COLUMNS = 6, 80, 100
ACROSS, DOWN, APART = 0.5, 0.5, 4.0  # mm


def voxels() -> np.ndarray[Any, np.dtype[np.int16]]:
    return np.random.default_rng(4).integers(0, 1000, (SLICES, ROWS, COLUMNS), dtype=np.int16)


def axial(uid: str, slice_number: int) -> tuple[Instance, Frame]:
    position = (-25.0, -20.0, 10.0 + APART * slice_number)
    image = instance(
        uid,
        ImageOrientationPatient="1\\0\\0\\0\\1\\0",
        ImagePositionPatient="\\".join(map(str, position)),
        PixelSpacing=f"{DOWN}\\{ACROSS}",
        FrameOfReferenceUID="1.9",
    )
    pixels = frame(
        uid,
        stored=voxels()[slice_number],
        ref=ImageRef(uid, 0, f"sha-{uid}"),
        spacing=Spacing(DOWN, ACROSS, SpacingSource.PATIENT),
        orientation=Orientation("L", "P", (1, 0, 0, 0, 1, 0), position),
    )
    return image, pixels


class PlaneDecoder(FakeDecoder):
    """Cuts volumes for real; when a volume is there is the test's to say."""

    def __init__(self) -> None:
        super().__init__()
        self.volumes: list[Future[Volume]] = []
        self.progress: Callable[[int, int], object] = lambda _done, _total: None
        self.cut: dict[str, Plane] = {}
        self.refuse_sections = False

    def made(self) -> Volume:
        return assemble(list(self.frames.values()))

    def volume(self, source: Any, cancel: Any = None, progress: Any = None) -> Future[Volume]:
        future: Future[Volume] = Future()
        cancel.on_cancel(future.cancel)
        self.volumes.append(future)
        self.progress = progress
        return future

    def reformat(
        self, source: Series | Instance, plane: Plane, cancel: Any = None
    ) -> Future[Instance]:
        sections = reformat.reformat(source, plane, self.made())
        self.cut[sections.sop_instance_uid] = plane
        future: Future[Instance] = Future()
        future.set_result(sections)
        return future

    def frame(self, instance: Instance, index: int = 0, priority: int = 0) -> Future[Frame]:
        if instance.kind != reformat.KIND:
            return super().frame(instance, index)  # samples of the series are answered too
        future: Future[Frame] = Future()
        if self.refuse_sections:
            future.set_exception(FileProblem("the volume is gone", subject="x", remedy="Open it"))
            return future
        plane = self.cut[instance.sop_instance_uid]
        uid = instance.sop_instance_uid
        future.set_result(reformat.section(self.made(), plane, index, uid))
        return future


class PlaneScene(Scene):
    """A stack of six axial slices, and the switch."""

    def __init__(self, wait_until: WaitUntil) -> None:
        self.stack_decoder = PlaneDecoder()
        super().__init__(wait_until, self.stack_decoder)
        self.decoder = self.loader._decoder = self.stack_decoder
        SeriesWindow(self.canvas, self.workspace, self.loader)
        self.planes = PlaneSwitch(self.canvas, self.workspace, self.loader)
        self.told: list[tuple[str, str]] = []
        self.planes.failed.connect(lambda title, reason: self.told.append((title, reason)))
        self.images: list[Instance] = []
        for number in range(SLICES):
            image, pixels = axial(f"1.{number + 1}", number)
            self.images.append(image)
            self.decoder.frames[(image.sop_instance_uid, 0)] = pixels
        self.workspace.add(found(study(*self.images)))
        self.settle()

    def choose(self, plane: Plane) -> None:
        self.planes.choose(plane)
        if self.planes.busy:
            self.stack_decoder.volumes[-1].set_result(self.stack_decoder.made())
        self.settle()

    def close(self) -> None:
        self.planes.cancel()
        super().close()


@pytest.fixture
def stack(qapp: QApplication, wait_until: WaitUntil) -> Iterator[PlaneScene]:
    made = PlaneScene(wait_until)
    yield made
    made.close()


def test_a_stack_has_all_planes_and_a_single_image_none(stack: PlaneScene):
    assert stack.planes.possible == tuple(Plane)
    stack.workspace.add(found(study(instance("9.9"), uid="t")))
    stack.settle()
    assert stack.planes.possible == (Plane.ACQUIRED,)


def test_coronal_sections_lie_as_the_patient_does(stack: PlaneScene):
    """Row 40 of every slice, the head at the top, columns as acquired."""
    stack.choose(Plane.CORONAL)
    shown = stack.canvas.frame
    assert shown is not None
    np.testing.assert_array_equal(shown.stored, voxels()[::-1, ROWS // 2])
    sides = stack.canvas.overlay.sides
    assert (sides.left, sides.right, sides.top, sides.bottom) == ("R", "L", "H", "F")
    assert stack.planes.plane is Plane.CORONAL
    across, down = stack.canvas.pixel_scale
    assert down / across == pytest.approx(APART / ACROSS)
    text = " ".join((*stack.canvas.overlay.corners.top_right,))
    assert "Section 41 / 80" in text
    assert any("Coronal" in line for line in stack.canvas.overlay.corners.series_warning)


def test_the_wheel_goes_through_sections(stack: PlaneScene):
    stack.choose(Plane.SAGITTAL)
    stack.wheel(-120)
    assert stack.workspace.viewport.frame_index == COLUMNS // 2 + 1
    np.testing.assert_array_equal(stack.canvas.frame.stored, voxels()[::-1, :, COLUMNS // 2 + 1])


def test_window_and_inversion_stay_and_flips_do_not(stack: PlaneScene):
    stack.canvas.set_window(Window(300, 200))
    stack.key(Qt.Key.Key_I)
    stack.key(Qt.Key.Key_H)
    stack.choose(Plane.CORONAL)
    display = stack.workspace.viewport.display
    assert (display.window, display.invert) == (Window(300, 200), True)
    assert stack.canvas.overlay.corners.mark == ()
    stack.choose(Plane.ACQUIRED)
    assert stack.workspace.viewport.instance is stack.images[0]
    assert stack.workspace.viewport.display.window == Window(300, 200)


def test_the_image_s_own_window_is_lent_to_its_sections_and_given_back(stack: PlaneScene):
    """An automatic window for each section would change the greys from one to the next."""
    own = stack.canvas.shown_window
    stack.choose(Plane.CORONAL)
    for _ in range(2):
        assert stack.canvas.shown_window == own
        stack.wheel(-120)
    stack.choose(Plane.ACQUIRED)
    assert stack.workspace.viewport.display.window is None
    stack.choose(Plane.SAGITTAL)
    stack.canvas.set_window(Window(300, 200))
    stack.choose(Plane.ACQUIRED)
    assert stack.workspace.viewport.display.window == Window(300, 200)


def without_windows(stack: PlaneScene, units: str) -> None:
    """Make the stack one without windows whose first slice is air and noise; show that slice."""
    frames = stack.decoder.frames
    for key, pixels in frames.items():
        stored = (np.asarray(pixels.stored, int) // (50 if key[0] == "1.1" else 1)).astype(np.int16)
        frames[key] = replace(pixels, stored=stored, voi=Voi(), rescale=Rescale(units=units))
    for image in (stack.images[1], stack.images[0]):
        stack.workspace.viewport.show(image)
        stack.settle()


def test_all_slices_and_planes_of_a_series_without_windows_have_one_window(stack: PlaneScene):
    """A window for each slice would show the same tissue in other greys on each of them."""
    without_windows(stack, "")
    shown = stack.canvas.shown_window
    assert shown is not None
    assert shown.explanation == AUTO
    assert shown.width == pytest.approx(1000, rel=0.02)
    assert stack.workspace.viewport.display.window is None
    for _ in range(SLICES - 1):
        stack.wheel(-120)
        assert stack.canvas.shown_window == shown
        assert stack.canvas.picture.window == shown
        assert [w.explanation for w in stack.canvas.picture.presets].count(AUTO) == 1
    for plane in (Plane.CORONAL, Plane.AXIAL, Plane.ACQUIRED):
        stack.choose(plane)
        assert stack.canvas.shown_window == shown
        assert stack.canvas.picture.window == shown
        assert stack.workspace.viewport.display.window is None


def test_a_ct_without_windows_opens_at_40_400_and_says_why(stack: PlaneScene):
    without_windows(stack, "HU")
    for plane in (Plane.ACQUIRED, Plane.CORONAL):
        stack.choose(plane)
        shown = stack.canvas.shown_window
        assert shown is not None
        assert (shown.center, shown.width) == (40, 400)
        text = " ".join(stack.canvas.overlay.corners.bottom_left)
        assert "W 400  C 40  (usual for CT; none in the file)" in text


def test_the_acquired_image_stays_while_the_volume_is_made(stack: PlaneScene):
    stack.key(Qt.Key.Key_Down)
    stack.planes.choose(Plane.CORONAL)
    assert stack.planes.wanted is Plane.CORONAL
    assert stack.canvas.picture.job.instance is stack.images[1]
    stack.wait_until(stack.planes.progress.isVisible)
    stack.stack_decoder.progress(3, 6)
    stack.wait_until(lambda: "3 of 6" in stack.planes.progress.text.text())
    (cancel,) = stack.planes.progress.findChildren(QToolButton)
    QTest.mouseClick(cancel, LEFT)
    assert stack.stack_decoder.volumes[-1].cancelled()
    stack.settle()
    assert not stack.planes.progress.isVisible()
    assert stack.planes.wanted is Plane.ACQUIRED
    assert stack.canvas.picture.job.instance is stack.images[1]
    assert stack.told == []


def test_a_series_that_is_no_volume_says_why_and_stays(stack: PlaneScene):
    stack.planes.choose(Plane.CORONAL)
    problem = FileProblem(
        "this series is not a volume: a gap", subject="x", remedy="Choose another"
    )
    stack.stack_decoder.volumes[-1].set_exception(problem)
    stack.settle()
    assert len(stack.told) == 1
    title, reason = stack.told[0]
    assert title == "The coronal plane cannot be shown"
    assert "a gap" in reason
    assert stack.planes.wanted is Plane.ACQUIRED
    assert stack.canvas.picture.job.instance is stack.images[0]


def test_sections_that_fail_later_bring_the_acquired_image_back(stack: PlaneScene):
    stack.choose(Plane.CORONAL)
    stack.stack_decoder.refuse_sections = True
    stack.wheel(-120)
    stack.wait_until(lambda: stack.told)
    stack.settle()
    assert stack.canvas.picture.job.instance is stack.images[0]
    assert stack.planes.plane is Plane.ACQUIRED


def test_another_series_drops_what_is_under_way(stack: PlaneScene):
    stack.planes.choose(Plane.CORONAL)
    stack.workspace.add(found(study(instance("9.9"), uid="t")))
    stack.settle()
    assert stack.stack_decoder.volumes[-1].cancelled()
    assert stack.canvas.picture.job.instance.sop_instance_uid == "9.9"


@pytest.mark.parametrize("content", [Content.IMAGE, Content.REPORT])
def test_sections_are_gone_as_soon_as_another_study_is_chosen(stack: PlaneScene, content: Content):
    stack.choose(Plane.CORONAL)
    stack.settle()
    assert stack.canvas.picture is not None
    assert stack.canvas.picture.job.instance.kind == reformat.KIND
    other = replace(instance("9.9"), content=content)
    stack.workspace.studies.add(found(study(other, uid="other")))
    stack.decoder.prompt = False
    stack.workspace.viewport.show(other)
    assert stack.canvas.picture is None
    assert stack.canvas.image_size == (0, 0)


def test_a_question_is_asked_about_the_acquired_image(stack: PlaneScene):
    stack.key(Qt.Key.Key_Down)
    stack.choose(Plane.CORONAL)
    images = stack.workspace.open_images()
    assert images[0].instance is stack.images[1]
    assert images[0].frame_index == 0
    assert len(images) == SLICES
    assert all(image.instance.kind != reformat.KIND for image in images)


def test_a_length_on_a_section_is_in_the_patient_and_listed(stack: PlaneScene):
    stack.choose(Plane.CORONAL)
    stack.key(Qt.Key.Key_L)
    start, end = stack.at(20, 0), stack.at(20, 5)
    points = [stack.canvas.to_image(point.toPointF()) for point in (start, end)]
    stack.drag(LEFT, start, ((end - start).x(), (end - start).y()))
    (annotation,) = stack.workspace.annotations.all()
    across = (points[1].x() - points[0].x()) * ACROSS
    down = (points[1].y() - points[0].y()) * APART
    assert annotation.finding.value == pytest.approx(float(np.hypot(across, down)), rel=1e-3)
    assert annotation.finding.units == "mm (patient)"
    listed = FindingsModel(stack.workspace, stack.canvas)
    for plane in (Plane.CORONAL, Plane.SAGITTAL, Plane.ACQUIRED):
        stack.choose(plane)
        assert len(stack.canvas.annotation_items()) == (plane is Plane.CORONAL)
        listed.refresh()
        assert listed.count == 1
    stack.workspace.show_image(annotation.finding.image)
    stack.settle()
    assert len(stack.canvas.annotation_items()) == 1
    assert stack.planes.plane is Plane.CORONAL
    assert stack.workspace.acquired is stack.images[0]
    other = replace(instance("9.9", PatientID="1"), content=Content.IMAGE)
    stack.workspace.add(found(study(other, uid="other")))
    stack.settle()
    listed.refresh()
    assert listed.count == 0, "it is another patient's"
    listed.close()


def test_a_switch_of_planes_goes_through_what_was_looked_at(stack: PlaneScene):
    for _ in range(2):
        stack.key(Qt.Key.Key_Down)
    stack.canvas.zoom_by(8.0, QPointF(20, 60))
    stack.settle()
    left, top, right, bottom = stack.canvas.view_of().area
    column, row = (left + right) / 2, (top + bottom) / 2
    assert column < 0.4 * COLUMNS
    assert row > 0.6 * ROWS
    stack.choose(Plane.CORONAL)
    assert stack.workspace.viewport.frame_index == pytest.approx(row, abs=0.6)
    stack.choose(Plane.SAGITTAL)
    assert stack.workspace.viewport.frame_index == pytest.approx(column, abs=0.6)
    stack.choose(Plane.AXIAL)
    assert stack.workspace.viewport.frame_index == 2
    stack.wheel(-120)
    stack.choose(Plane.CORONAL)
    assert stack.workspace.viewport.frame_index == pytest.approx(row, abs=0.6)
    stack.choose(Plane.ACQUIRED)
    assert stack.workspace.viewport.instance is stack.images[3]


def test_a_switch_of_planes_goes_through_the_selected_mark(stack: PlaneScene):
    stack.key(Qt.Key.Key_L)
    stack.drag(LEFT, stack.at(10, 70), (stack.at(20, 70).x() - stack.at(10, 70).x(), 0))
    (annotation,) = stack.workspace.annotations.all()
    stack.workspace.annotations.select(annotation.finding.id)
    stack.choose(Plane.SAGITTAL)
    assert stack.workspace.viewport.frame_index == pytest.approx(15, abs=1)


def test_the_window_is_still_there_after_a_look_at_another_series(stack: PlaneScene):
    other = study(replace(instance("9.9"), path=stack.images[0].path.with_name("9.9.dcm")), uid="t")
    stack.choose(Plane.CORONAL)
    stack.canvas.set_window(Window(300, 200))
    stack.key(Qt.Key.Key_I)
    stack.workspace.add(found(other))
    stack.settle()
    assert stack.workspace.viewport.display == Display()
    stack.workspace.viewport.show(stack.images[2])
    stack.settle()
    assert stack.canvas.picture.window == Window(300, 200)
    assert stack.workspace.viewport.display.invert
    stack.canvas.reset()
    stack.workspace.viewport.show(other.series[0].instances[0])
    stack.workspace.viewport.show(stack.images[0])
    assert stack.workspace.viewport.display == Display()


def test_closing_the_study_closes_its_sections(stack: PlaneScene):
    stack.choose(Plane.CORONAL)
    stack.workspace.close_study("s")
    stack.settle()
    assert stack.workspace.viewport.instance is None
    assert stack.canvas.picture is None


def test_the_pointer_tells_the_same_place_in_both_planes(stack: PlaneScene):
    """Voxel (30, 40) of slice 2, by the equation of C.7.6.2.1.1."""
    expected = f"R {25 - 30 * ACROSS:.1f}  P {-20 + 40 * DOWN:.1f}  H {10 + 2 * APART:.1f} mm"
    stack.key(Qt.Key.Key_Down)
    stack.key(Qt.Key.Key_Down)
    seen: list[str] = []
    for plane, at in ((Plane.ACQUIRED, (30, 40)), (Plane.CORONAL, (30, SLICES - 1 - 2))):
        stack.choose(plane)
        # Sent, not moved: where there is a real pointer its own events come late.
        move(stack.canvas.viewport(), stack.at(*at), Qt.MouseButton.NoButton)
        seen.append(stack.canvas.overlay.corners.bottom_left[1])
    assert seen == [expected, expected]


def test_the_value_under_a_resting_cursor_is_the_shown_pixels_own(stack: PlaneScene):
    """Nothing but what is shown changes: by wheel, keys, plane, zoom, pan and rotation."""
    canvas = stack.canvas
    spot = QPoint(210, 190)
    move(canvas.viewport(), spot, Qt.MouseButton.NoButton)

    def expected() -> tuple[str, float]:
        """Return the column and row below the cursor and the value that the voxels have there."""
        at = canvas.to_image(QPointF(spot))
        column, row = math.floor(at.x() + 0.5), math.floor(at.y() + 0.5)
        assert canvas.frame is not None
        return f"x {column}  y {row}", float(canvas.frame.stored[row, column])

    def shown() -> tuple[str, float]:
        first = canvas.overlay.corners.bottom_left[0].split("   ")
        return first[0], float(first[1].split()[0])

    seen = {shown()}
    steps: list[Callable[[], object]] = [
        lambda: stack.wheel(-120),
        lambda: stack.key(Qt.Key.Key_PageDown),
        lambda: stack.key(Qt.Key.Key_BracketRight),
        lambda: canvas.zoom_by(1.7, canvas.to_image(QPointF(120, 90))),
        lambda: canvas.pan_by(23, -14),
        lambda: stack.choose(Plane.CORONAL),
    ]
    for step in steps:
        step()
        stack.settle()
        QApplication.processEvents()
        assert shown() == expected()
        seen.add(shown())
    assert len(seen) == len(steps) + 1, "a step changed nothing below the cursor"
