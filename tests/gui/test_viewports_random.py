"""Random sequences over the viewports: none ever shows what is not its image's."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from concurrent.futures import Future
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule, run_state_machine_as_test
from PySide6.QtCore import QCoreApplication, QEvent, QPointF
from PySide6.QtWidgets import QApplication, QLabel

from app.imaging.findings import Box
from app.imaging.types import Frame, ImageRef, Instance, Series, Study, Window
from app.views.main_window import MainWindow
from app.workspace.layers import key_of as layer_key
from app.workspace.layout import LAYOUTS
from app.workspace.studies import key_of
from app.workspace.viewport import Pane
from app.workspace.workspace import Workspace
from tests.gui.viewer_support import FakeDecoder, finding, found, frame, instance

pytestmark = [pytest.mark.gui, pytest.mark.slow, pytest.mark.timeout(3000)]

SEQUENCES = int(os.environ.get("SIGHTLINE_SEQUENCES", "300"))
"""How many sequences are tried."""

PATIENTS = ("Doe^Jane", "Roe^Richard", "Poe^Anna")
SERIES, IMAGES = 3, 5


def made_study(number: int) -> Study:
    """A study of 3 series of 5 images, each file of which names its patient."""
    name = PATIENTS[number]
    series = [
        Series(
            f"{number}.{part}",
            f"series {part}",
            "CT",
            part + 1,
            tuple(
                instance(
                    f"{number}.{part}.{image}",
                    PatientName=name,
                    PatientID=str(number),
                    FrameOfReferenceUID=f"{number}.9",
                    ImageOrientationPatient="1\\0\\0\\0\\1\\0",
                    ImagePositionPatient=f"0\\0\\{(part + 1) * image}",
                    PixelSpacing="1\\1",
                )
                for image in range(IMAGES)
            ),
        )
        for part in range(SERIES)
    ]
    return Study(str(number), "CT", name, str(number), "20240131", tuple(series))


class RunningDecoder(FakeDecoder):
    """A decoder whose workers have begun with every request: none can be cancelled any more."""

    def frame(self, instance: Instance, index: int = 0, priority: int = 0) -> Future[Frame]:
        future: Future[Frame] = Future()
        if priority == 0:
            future.set_running_or_notify_cancel()
            self.waiting.append((instance, index, future))
            if self.prompt:
                self.answer()
        return future

    def answer(self, place: int = 0) -> None:
        image, index, future = self.waiting.pop(place)
        future.set_result(frame(image.sop_instance_uid, index))


class Viewports(RuleBasedStateMachine):
    """What a user and a slow disk do to a window, in any order."""

    window: ClassVar[MainWindow]
    decoder: ClassVar[RunningDecoder]

    def __init__(self) -> None:
        super().__init__()
        self.decoder.prompt = False
        self.found = 0
        self.open_study(0)
        self.open_study(1)
        self.arrange("2x2")
        while self.decoder.waiting:
            self.late_frame(0)

    # What is asked of a number is asked of what there is, by its remainder.

    def _frame(self, number: int) -> Any:
        frames = self.window.viewports.frames
        return frames[number % len(frames)]

    def _instance(self, number: int) -> Instance | None:
        studies = self.window.workspace.studies.all
        every = [item for one in studies for part in one.series for item in part.instances]
        return every[number % len(every)] if every else None

    numbers = st.integers(0, 200)

    @rule(number=st.integers(0, len(PATIENTS) - 1))
    def open_study(self, number: int) -> None:
        self.window.workspace.add(found(made_study(number)))

    @rule(number=numbers)
    def close_study(self, number: int) -> None:
        studies = self.window.workspace.studies.all
        if studies:
            self.window.workspace.close_study(key_of(studies[number % len(studies)]))

    @rule(name=st.sampled_from(["1x1", "1x2", "2x2", "2x3", "1+2", "1+3"]))
    def arrange(self, name: str) -> None:
        self.window.workspace.arrange(LAYOUTS[name])

    @rule(number=numbers, onto=numbers)
    def drop(self, number: int, onto: int) -> None:
        image = self._instance(number)
        if image is not None:
            self._frame(onto).viewport.show(image)

    @rule(number=numbers, edge=st.sampled_from(["left", "right", "top", "bottom"]))
    def split(self, number: int, edge: Any) -> None:
        layout = self.window.workspace.layout
        if len(layout.viewports) < 6:
            layout.split(self._frame(number).viewport, edge)

    @rule(number=numbers)
    def close_viewport(self, number: int) -> None:
        self.window.workspace.layout.close(self._frame(number).viewport)

    @rule(one=numbers, other=numbers)
    def swap(self, one: int, other: int) -> None:
        self.window.workspace.layout.swap(self._frame(one).viewport, self._frame(other).viewport)

    @rule(on=st.booleans())
    def second_window(self, on: bool) -> None:
        layout = self.window.workspace.layout
        if on:
            layout.open_second()
        else:
            layout.close_second()

    @rule(number=numbers)
    def late_picture(self, number: int) -> None:
        image = self._instance(number)
        if image is not None:
            uid = image.sop_instance_uid
            path = Path(f"/none/{number % 3}.png")
            self.window.workspace.panes.show(Pane(path, "Plot", "", "t", {}, uid, image))

    @rule(number=numbers)
    def activate(self, number: int) -> None:
        self.window.workspace.layout.activate(self._frame(number).viewport)

    @rule(on=st.booleans())
    def maximise(self, on: bool) -> None:
        self.window.workspace.layout.maximise(on)

    @rule(name=st.sampled_from(["scroll", "window", "view", "lines"]), on=st.booleans())
    def link(self, name: str, on: bool) -> None:
        self.window.links.set_link(name, on)

    @rule(number=numbers, steps=st.integers(-3, 3))
    def scroll(self, number: int, steps: int) -> None:
        self._frame(number).canvas.scroller.step(steps)

    @rule(number=numbers)
    def point(self, number: int) -> None:
        self._frame(number).canvas.pointed.emit(QPointF(10, 10))

    @rule(number=numbers, center=st.integers(0, 500))
    def window_change(self, number: int, center: int) -> None:
        self._frame(number).canvas.set_window(Window(center, 400))

    @rule(number=numbers)
    def late_frame(self, number: int) -> None:
        if self.decoder.waiting:
            self.decoder.answer(number % len(self.decoder.waiting))
            self.run_events()

    @rule(number=numbers)
    def late_finding(self, number: int) -> None:
        image = self._instance(number)
        if image is not None:
            ref = ImageRef(image.sop_instance_uid, 0, f"sha-{image.sop_instance_uid}-0")
            self.found += 1
            made = replace(finding(ref, Box(1, 1, 5, 5)), id=f"finding-{self.found}")
            self.window.workspace.annotations.add([made])

    @rule()
    def run_events(self) -> None:
        """Handle what has arrived, until everything that was asked for is drawn."""
        QApplication.processEvents()
        end = time.monotonic() + 10
        while any(one.canvas.rendering for one in self.window.viewports.frames):
            QApplication.processEvents()
            time.sleep(0.0002)
            assert time.monotonic() < end

    @invariant()
    def each_viewport_shows_only_what_is_its_own(self) -> None:
        workspace = self.window.workspace
        layout, panes = workspace.layout, workspace.panes.all
        study_of = workspace.studies.study_of
        open_studies = [study_of(pane.instance) for pane in panes if pane.instance]
        shown_studies = [
            study_of(viewport.acquired)
            for viewport in layout.viewports
            if viewport.acquired is not None
        ]
        assert all(study is not None and study in shown_studies for study in open_studies)
        assert (layout.pictures is not None) == bool(panes)
        second = self.window.second
        assert (second is not None) == (layout.second is not None)
        for one in self.window.viewports.frames:
            home = layout.screen_of(one.viewport)
            assert one.window() is (second if home is layout.second else self.window)
            assert one.isVisible() == (one.viewport in home.visible)
            if one.viewport is layout.pictures:
                assert one.isAncestorOf(self.window.viewports.panes)
                assert one.viewport.instance is None
            canvas, viewport = one.canvas, one.viewport
            picture, shown = canvas.picture, viewport.instance
            if shown is not None:
                assert workspace.studies.study_of(shown) is not None, "of a closed study"
            if picture is None:
                assert canvas.annotation_items() == []
                assert canvas.overlay.corners.top_left == ()
                continue
            image = picture.job.instance
            uid = image.sop_instance_uid
            assert shown is not None
            series = workspace.studies.series_of
            assert series(image) is series(shown), "an image of another series"
            assert picture.job.frame.ref.sop_instance_uid == uid
            name = image.get("PatientName").split("^")[0]
            assert name in canvas.overlay.corners.top_left[0]
            marks = {item.finding.image.sop_instance_uid for item in canvas.annotation_items()}
            assert marks <= {uid}
            place = viewport.layers.place
            assert place is None or place[0] == layer_key(image)

    def teardown(self) -> None:
        window, layout = self.window, self.window.workspace.layout
        self.decoder.prompt = True
        while self.decoder.waiting:
            self.decoder.answer()
        QApplication.processEvents()
        self.each_viewport_shows_only_what_is_its_own()
        for name in ("scroll", "window", "view"):
            window.links.set_link(name, False)
        window.workspace.close_all()
        layout.close_second()
        layout.arrange(LAYOUTS["1x1"])
        annotations = window.workspace.annotations
        annotations.remove([item.finding.id for item in annotations.all()])
        window.workspace.commands.clear()
        QApplication.processEvents()
        # As the event loop of the program would; thousands of closed pictures would be moved
        # about with their viewport.
        QCoreApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)


@pytest.fixture
def machine(qapp: QApplication, tmp_path: Path) -> Iterator[type[Viewports]]:
    decoder = RunningDecoder()
    window = MainWindow(Workspace(), decoder, QLabel("chat"), layout_file=tmp_path / "window.ini")
    window.resize(1000, 700)
    window.show()
    Viewports.window, Viewports.decoder = window, decoder
    yield Viewports
    window.quit()
    window.deleteLater()


def test_no_viewport_ever_shows_what_is_not_its_image_s(machine: type[Viewports]):
    run_state_machine_as_test(
        machine,
        settings=settings(
            max_examples=SEQUENCES,
            stateful_step_count=25,
            deadline=None,
            database=None,
            suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
        ),
    )
