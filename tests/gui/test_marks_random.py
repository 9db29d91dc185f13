"""Random sequences of marking and reopening: no mark is on another image, and none is lost."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import invariant, rule, run_state_machine_as_test
from PySide6.QtWidgets import QApplication, QLabel

from app.imaging.findings import Finding, State
from app.views.main_window import MainWindow
from app.views.mark_keeping import MarkKeeping
from app.workspace import drawing
from app.workspace.annotations import Annotation
from app.workspace.mark_store import MarkStore
from app.workspace.workspace import Workspace
from tests.gui.test_viewports_random import RunningDecoder, Viewports

pytestmark = [pytest.mark.gui, pytest.mark.slow, pytest.mark.timeout(6000)]

SEQUENCES = int(os.environ.get("SIGHTLINE_SEQUENCES", "60"))
"""How many sequences are tried."""


class Marks(Viewports):
    """What a user does to marks, beside all that is done to viewports."""

    store: Path

    def _finding(self, number: int) -> Finding | None:
        every = self.window.workspace.annotations.all()
        return every[number % len(every)].finding if every else None

    numbers = st.integers(0, 200)

    @rule(number=numbers, tool=st.sampled_from([drawing.RULER, drawing.BOX, drawing.ANGLE]))
    def mark(self, number: int, tool: str) -> None:
        frame = self._frame(number).canvas.frame
        if frame is not None:
            points = [(1.0, 2.0), (number % 7 + 3.0, 6.0), (5.0, 1.0)][: drawing.POINTS[tool]]
            made = drawing.draw(tool, frame, points)
            self.window.workspace.annotations.put(made, "Measure")

    @rule(number=numbers, by=st.integers(1, 3))
    def edit(self, number: int, by: int) -> None:
        one = self._finding(number)
        for place in self.window.viewports.frames:
            frame = place.canvas.frame
            if one is not None and frame is not None and one.image == frame.ref:
                to = drawing.points_of(one)[0][0] + by, 3.0
                moved = drawing.move_point(one, frame, 0, to)
                self.window.workspace.annotations.put(moved, "Change")
                return

    @rule(number=numbers, state=st.sampled_from([State.ACCEPTED, State.REJECTED, State.PROPOSED]))
    def decide(self, number: int, state: State) -> None:
        one = self._finding(number)
        if one is not None:
            self.window.workspace.annotations.decide([one.id], state)

    @rule(number=numbers)
    def delete(self, number: int) -> None:
        one = self._finding(number)
        if one is not None:
            self.window.workspace.annotations.remove([one.id])

    @rule(number=numbers)
    def look_at(self, number: int) -> None:
        one = self._finding(number)
        self.window.workspace.annotations.select(one.id if one is not None else "")

    @rule()
    def undo(self) -> None:
        self.window.workspace.commands.undo()

    @rule()
    def redo(self) -> None:
        self.window.workspace.commands.redo()

    @rule()
    def reopen(self) -> None:
        """Begin anew with what the database holds, as the next session does."""
        window, annotations = self.window, self.window.workspace.annotations
        before = {one.finding.id: one for one in annotations.all()}
        assert window.marks is not None
        window.marks.close()
        window.marks.deleteLater()
        annotations.forget(before)
        window.marks = MarkKeeping(window.workspace, MarkStore(self.store), window.notices, window)
        self.until_saved()
        open_ones = {
            key: one
            for key, one in before.items()
            if window.workspace.instance_of(one.finding.image.sop_instance_uid) is not None
        }
        after = {one.finding.id: one for one in annotations.all()}
        assert {key: content(one) for key, one in after.items()} == {
            key: content(one) for key, one in open_ones.items()
        }

    def until_saved(self) -> None:
        marks = self.window.marks
        assert marks is not None
        end = time.monotonic() + 20
        while marks.loading or not marks.saved:
            QApplication.processEvents()
            time.sleep(0.001)
            assert time.monotonic() < end

    @invariant()
    def each_mark_is_on_its_own_pixels(self) -> None:
        for one in self.window.viewports.frames:
            picture = one.canvas.picture
            for item in one.canvas.annotation_items():
                assert picture is not None
                assert item.finding.image == picture.job.frame.ref

    def teardown(self) -> None:
        super().teardown()
        self.until_saved()


def content(mark: Annotation) -> Annotation:
    """What of a mark must come back: all but when it was kept and the colour of its label."""
    return replace(mark, kept="", color=0)


@pytest.fixture
def machine(qapp: QApplication, tmp_path: Path) -> Iterator[type[Marks]]:
    decoder = RunningDecoder()
    store = tmp_path / "marks.sqlite"
    window = MainWindow(
        Workspace(),
        decoder,
        QLabel("chat"),
        layout_file=tmp_path / "window.ini",
        marks_file=store,
    )
    window.resize(1000, 700)
    window.show()
    Marks.window, Marks.decoder, Marks.store = window, decoder, store
    yield Marks
    window.quit()
    window.deleteLater()


def test_no_mark_is_ever_on_another_image_and_none_is_lost(machine: type[Marks]):
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
