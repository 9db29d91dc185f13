"""Random sequences of marking and reopening: no mark is on another image, and none is lost.

What must be there is known to the test itself: it watches each step of the undo stack, and each
rule names the marks that it may change. What else appears, vanishes or changes is a fault.
"""

from __future__ import annotations

import os
import random
import sqlite3
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import Future
from contextlib import closing, contextmanager
from dataclasses import fields, replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
from hypothesis.stateful import RuleBasedStateMachine
from numpy.typing import NDArray
from PySide6.QtCore import QCoreApplication, QEvent
from PySide6.QtWidgets import QApplication, QLabel

from app.imaging.findings import Box, Code, Ellipse, Finding, Geometry, Heatmap, Mask, State
from app.imaging.space import reformat
from app.imaging.types import (
    Frame,
    ImageRef,
    Instance,
    Plane,
    Series,
    Spacing,
    SpacingSource,
    Volume,
)
from app.views import mark_keeping
from app.views.main_window import MainWindow
from app.views.mark_keeping import MarkKeeping
from app.workspace import drawing, editing
from app.workspace.annotations import LIMIT, Annotation
from app.workspace.layout import LAYOUTS
from app.workspace.mark_store import MarkStore, key_id
from app.workspace.studies import key_of
from app.workspace.workspace import Workspace
from tests.gui.test_viewports_random import PATIENTS, RunningDecoder, Viewports
from tests.gui.viewer_support import finding, frame, pixels
from tests.unit.imaging.stack_files import assemble, place

pytestmark = [pytest.mark.gui, pytest.mark.slow, pytest.mark.timeout(12000)]

SEQUENCES = int(os.environ.get("SIGHTLINE_SEQUENCES", "60"))
"""How many sequences are tried."""

SEED = int(os.environ.get("SIGHTLINE_SEED", "0"))
"""The number of the first; each number is always the same sequence."""

ROWS, COLUMNS = 80, 100
NAMES = ("Nodule", "Größe “α” 结节", "x" * 200)
STYLES = ("lock", "tint", "folder", "hide", "eye")
RESULTS = ("box", "mask", "ellipse", "heat")
DECISIONS = (State.ACCEPTED, State.REJECTED, State.PROPOSED)
CUT = (Plane.AXIAL, Plane.CORONAL, Plane.SAGITTAL)
PLACES = ((5, 9), (60, 40), (30, 70), (85, 12), (44, 44))  # of a drawing's points, in pixels
TOOLS = tuple(tool for tool in drawing.POINTS if tool != drawing.FREEHAND)
Contents = dict[str, Annotation | ImageRef]
"""Marks and key images by id."""


def slice_of(uid: str, version: int) -> Frame:
    """A frame with its place in the patient: image 3 of series 1 of study 0 is "0.1.3"."""
    _, part, image = map(int, uid.split("."))
    z = (part + 1) * image
    return frame(
        uid,
        stored=pixels(ROWS, COLUMNS) + np.int16(version),
        ref=ImageRef(uid, 0, f"sha-{uid}-{version}"),
        spacing=Spacing(1.0, 1.0, SpacingSource.PATIENT),
        orientation=place((1, 0, 0, 0, 1, 0), (0, 0, z)),
    )


class StackDecoder(RunningDecoder):
    """Slices that lie in the patient and are answered late, and sections cut for real."""

    def __init__(self) -> None:
        super().__init__()
        self.versions = dict.fromkeys(range(len(PATIENTS)), 0)  # of the pixels of each study
        self.made: dict[object, Any] = {}
        self.sections: dict[str, tuple[Series, Plane]] = {}

    def _kept(self, key: object, make: Any) -> Any:
        if key not in self.made:
            self.made[key] = make()
        return self.made[key]

    def slice(self, uid: str) -> Frame:
        version = self.versions[int(uid.partition(".")[0])]
        return self._kept((uid, version), lambda: slice_of(uid, version))

    def stack(self, series: Series) -> Volume:
        slices = [self.slice(one.sop_instance_uid) for one in series.instances]
        return self._kept(tuple(one.ref for one in slices), lambda: assemble(slices))

    def volume(self, source: Any, cancel: Any = None, progress: Any = None) -> Future[Volume]:
        future: Future[Volume] = Future()
        future.set_result(self.stack(source))
        return future

    def reformat(self, source: Any, plane: Plane, cancel: Any = None) -> Future[Instance]:
        sections = reformat.reformat(source, plane, self.stack(source))
        self.sections[sections.sop_instance_uid] = source, plane
        future: Future[Instance] = Future()
        future.set_result(sections)
        return future

    def frame(self, instance: Instance, index: int = 0, priority: int = 0) -> Future[Frame]:
        if instance.kind != reformat.KIND:
            return super().frame(instance, index, priority)
        uid = instance.sop_instance_uid
        volume, plane = self.stack(self.sections[uid][0]), self.sections[uid][1]
        future: Future[Frame] = Future()
        future.set_result(
            self._kept(
                (uid, index, id(volume)), lambda: reformat.section(volume, plane, index, uid)
            )
        )
        return future

    def answer(self, place: int = 0) -> None:
        image, _index, future = self.waiting.pop(place)
        future.set_result(self.slice(image.sop_instance_uid))


class Marks(Viewports):
    """What a user, a slow tool and a slow disk do to marks, beside what is done to viewports."""

    decoder: ClassVar[StackDecoder]
    store: ClassVar[Path]
    counts: ClassVar[Counter[str]]
    """How often what was tried."""

    def __init__(self) -> None:
        self.expected: Contents = {}
        self.asleep: Contents = {}  # saved, and not brought back yet
        self.done: list[tuple[Contents, Contents]] = []  # steps: what differs before and after
        self.undone: list[tuple[Contents, Contents]] = []
        self.asked: list[Frame] = []  # images that a tool was started on
        self.results = 0
        self.decoder.versions = dict.fromkeys(self.decoder.versions, 0)
        commands = self.window.workspace.commands
        push = type(commands).push

        def watched(command: Any, joint: str = "") -> None:
            before = self.contents()
            push(commands, command, joint)
            after = self.contents()
            keys = [key for key in before | after if before.get(key) != after.get(key)]
            self.done.append(
                (
                    {key: before[key] for key in keys if key in before},
                    {key: after[key] for key in keys if key in after},
                )
            )
            del self.done[:-LIMIT]
            self.undone.clear()

        commands.push = watched  # type: ignore[method-assign]
        RuleBasedStateMachine.__init__(self)
        self.decoder.prompt = False
        self.open_study(0)
        self.open_study(1)
        while self.decoder.waiting:
            self.decoder.answer()
        self.run_events()

    # What must be there

    def contents(self) -> Contents:
        workspace = self.window.workspace
        marks = {one.finding.id: content(one) for one in workspace.annotations.all()}
        return marks | {key_id(ref): ref for ref in workspace.key_marks.own}

    @contextmanager
    def changing(self, *ids: str, new_on: ImageRef | None = None) -> Generator[None]:
        """Let marks with these ids change or go, and new ones come on one image."""
        self.nothing_else_has_changed()
        before = self.expected
        yield
        after = self.contents()
        for key in before | after:
            if key not in before:
                assert image_of(after[key]) == new_on, "a new mark"
            elif key not in ids:
                assert after.get(key) == before[key], "another mark has changed"
        self.expected = after

    def number_of(self, mark: Annotation | ImageRef) -> int:
        """The number of the study that a mark is of."""
        plane = mark.finding.plane if isinstance(mark, Annotation) else None
        if plane is not None:
            return int(plane.frame_of_reference.partition(".")[0])
        uid = image_of(mark).sop_instance_uid
        if uid in self.decoder.sections:
            uid = self.decoder.sections[uid][0].instances[0].sop_instance_uid
        return int(uid.partition(".")[0])

    def is_open(self, mark: Annotation | ImageRef) -> bool:
        number = str(self.number_of(mark))
        return any(study.uid == number for study in self.window.workspace.studies.all)

    def _finding(self, number: int) -> Finding | None:
        every = self.window.workspace.annotations.all()
        return every[number % len(every)].finding if every else None

    def _item(self, key: str) -> Annotation:
        item = self.window.workspace.annotations.get(key)
        assert item is not None
        return item

    def _frames_arrive(self) -> None:
        while self.decoder.waiting:
            self.decoder.answer()
        self.run_events()

    def _canvas(self, number: int) -> Any:
        """A canvas with a picture, or None; now and then all frames have arrived before."""
        if number % 2:
            self._frames_arrive()
        frames = [one for one in self.window.viewports.frames if one.canvas.picture is not None]
        return frames[number % len(frames)].canvas if frames else None

    def _on_canvas(self, number: int) -> tuple[Any, Finding | None]:
        """A canvas and a finding that is drawn on it, as it is drawn there."""
        self._canvas(number)
        drawn = [
            (one.canvas, shown)
            for one in self.window.viewports.frames
            for shown in one.canvas.findings_layer.findings
        ]
        return drawn[number % len(drawn)] if drawn else (None, None)

    # Drawing and changing

    def draw(self, number: int, tool: str) -> None:
        canvas = self._canvas(number)
        if canvas is None:
            return
        picture = canvas.scaled_frame
        count = drawing.POINTS[tool] or 4
        first = number % len(PLACES)
        points = [PLACES[(first + step) % len(PLACES)] for step in range(count)]
        made = drawing.draw(tool, picture, [(x, y * picture.rows / ROWS) for x, y in points])
        with self.changing(new_on=picture.ref):
            canvas.drawing_tool.take(made)
            assert made.id in self.contents()
        self.counts["drawn"] += 1
        self.counts["drawn on a section"] += picture.ref.sop_instance_uid in self.decoder.sections

    def _take(self, canvas: Any, one: Finding, changed: Finding) -> None:
        with self.changing(one.id):
            canvas.drawing_tool.take(changed)
        self.counts["changed by the mouse"] += 1

    def drag_point(self, number: int, by: int) -> None:
        canvas, one = self._on_canvas(number)
        points = drawing.points_of(one) if one is not None else ()
        if one is not None and points:
            at = number % len(points)
            to = points[at][0] + by, points[at][1] + 1.0
            self._take(canvas, one, drawing.move_point(one, canvas.scaled_frame, at, to))

    def move(self, number: int, dx: int, dy: int) -> None:
        canvas, one = self._on_canvas(number)
        if one is not None:
            self._take(canvas, one, editing.moved(one, canvas.scaled_frame, dx, dy))

    def paint(self, number: int) -> None:
        canvas, one = self._on_canvas(number)
        if one is not None and isinstance(one.geometry, Mask):
            painted = one.geometry.pixels.copy()
            painted[number % painted.shape[0], :9] ^= True
            shape = Mask(painted)
            self._take(canvas, one, drawing.with_shape(one, canvas.scaled_frame, shape))

    def rename(self, number: int, text: str) -> None:
        if (one := self._finding(number)) is not None:
            with self.changing(one.id):
                changed = replace(one, label=text)
                self.window.workspace.annotations.put(changed, "Rename mark")

    def style(self, number: int, how: str) -> None:
        annotations = self.window.workspace.annotations
        if (one := self._finding(number)) is None:
            return
        changes: dict[str, Any] = {
            "lock": lambda item: replace(item, locked=not item.locked),
            "tint": lambda item: replace(item, tint="#ff8800"),
            "hide": lambda item: replace(item, visible=not item.visible),
            "folder": lambda item: replace(item, folder=f"group {number % 2}"),
        }
        with self.changing(one.id):
            if how == "eye":
                annotations.set_visible([one.id], number % 3 == 0)
            else:
                annotations.alter([one.id], how, changes[how])

    def code(self, number: int) -> None:
        if (one := self._finding(number)) is not None:
            lung = Code("39607008", "SCT", "Lung")
            with self.changing(one.id):
                self.window.workspace.annotations.put(replace(one, site=lung), "Code")

    def delete(self, number: int) -> None:
        annotations = self.window.workspace.annotations
        if (one := self._finding(number)) is not None:
            locked = annotations.is_locked(one.id)
            with self.changing(one.id):
                annotations.remove([one.id])
            assert (one.id in self.expected) == locked
            self.counts["deleted"] += not locked

    def delete_while_a_scan_goes_on(self, number: int, opened: int) -> None:
        self.delete(number)
        self.open_study(opened)

    def look_at(self, number: int) -> None:
        one = self._finding(number)
        self.window.workspace.annotations.select(one.id if one is not None else "")

    def key_image(self, number: int) -> None:
        """Mark or unmark the shown frame as a key image."""
        canvas = self._canvas(number)
        if canvas is not None:
            ref = canvas.frame.ref
            with self.changing(key_id(ref), new_on=ref):
                self.window.workspace.key_marks.toggle(ref)

    # Findings of tools

    def tool_starts(self, number: int) -> None:
        canvas = self._canvas(number)
        if canvas is not None and canvas.picture.job.instance.kind != reformat.KIND:
            self.asked.append(canvas.frame)

    def tool_ends(self, number: int, what: str) -> None:
        """A result arrives, whatever is open by now; late, and in any order."""
        if not self.asked:
            return
        image = self.asked.pop(number % len(self.asked))
        mask = np.zeros((ROWS, COLUMNS), np.bool_)
        mask[20 : 30 + number % 9, 30:50] = True
        heat = np.zeros((ROWS, COLUMNS), np.float32)
        shapes: dict[str, Geometry] = {
            "box": Box(10, 10, 20 + number % 3, 30),
            "mask": Mask(mask),
            "ellipse": Ellipse(10.5, 10.5, 30.25, 20),
            "heat": Heatmap(heat + np.float32(0.25)),
        }
        made: list[Finding] = []
        for label in ("Nodule", "Effusion")[: 1 + number % 2]:
            self.results += 1
            one = finding(image.ref, shapes[what], label, id=f"finding-{self.results}")
            made.append(replace(one, score=number / 7, value=number / 3, units="px"))
        replaced = [
            one.finding.id
            for one in self.window.workspace.annotations.on_image(image.ref)
            if one.finding.state is State.PROPOSED
        ]
        with self.changing(*replaced, new_on=image.ref):
            self.window.workspace.take_results("finder", made, ())
        frames = [one.canvas.frame for one in self.window.viewports.frames]
        shown = [one.ref for one in frames if one is not None]
        self.counts["results"] += 1
        self.counts["results for an image shown no more"] += image.ref not in shown
        uid = image.ref.sop_instance_uid
        self.counts["results of a closed study"] += self.window.workspace.instance_of(uid) is None

    def late_finding(self, number: int) -> None:
        image = self._instance(number)
        if image is not None:
            self.asked.append(self.decoder.slice(image.sop_instance_uid))
            self.tool_ends(len(self.asked) - 1, "box")

    def decide(self, number: int, state: State) -> None:
        one = self._finding(number)
        if one is not None:
            with self.changing(one.id):
                self.window.workspace.annotations.decide([one.id], state)
            now = self._item(one.id).finding
            right = state if not (now.corrected and state is State.ACCEPTED) else State.EDITED
            assert drawing.by_hand(now) or now.state is right
            self.counts["decided"] += 1

    def restore_original(self, number: int) -> None:
        if (one := self._finding(number)) is not None:
            with self.changing(one.id):
                self.window.workspace.annotations.restore([one.id])

    # Copies

    def copy(self, number: int, how: str) -> None:
        canvas, one = self._on_canvas(number)
        if one is None:
            return
        layout = self.window.workspace.layout
        for one_place in self.window.viewports.frames:
            if one_place.canvas is canvas:
                layout.activate(one_place.viewport)
        self.window.workspace.annotations.select(one.id)
        with self.changing(one.id, new_on=canvas.frame.ref):
            getattr(self.window.actions_.mark_menu, how).trigger()
        self.counts[how] += 1

    def paste(self, number: int) -> None:
        self.activate(number)
        shown, known = self.window.canvas.frame, len(self.expected)
        with self.changing(new_on=shown.ref if shown is not None else None):
            self.window.actions_.mark_menu.paste.trigger()
        self.counts["pasted"] += len(self.expected) - known

    # Steps back and forth

    def _step(self, back: bool) -> None:
        commands = self.window.workspace.commands
        source, target = (self.done, self.undone) if back else (self.undone, self.done)
        self.nothing_else_has_changed()
        wanted = dict(self.expected)
        if source:
            old, new = source.pop()
            target.append((old, new))
            now, other = (old, new) if back else (new, old)
            for key in old | new:
                known = wanted.pop(key, None)
                if (then := now.get(key)) is not None:
                    if isinstance(then, Annotation) and isinstance(known, Annotation):
                        beside = other.get(key)
                        if isinstance(beside, Annotation) and beside.visible == then.visible:
                            then = replace(then, visible=known.visible)  # as the eye has it
                    wanted[key] = then
        if back:
            commands.undo()
        else:
            commands.redo()
        assert self.contents() == wanted
        self.counts["undone or redone"] += wanted != self.expected
        self.expected = wanted

    def undo(self) -> None:
        self._step(back=True)

    def redo(self) -> None:
        self._step(back=False)

    # Volumes, versions, keeping

    def section(self, number: int, plane: Plane) -> None:
        """Show a series in another plane."""
        self._cut(self._frame(number), plane)

    def two_series_in_one_plane(self, number: int, plane: Plane) -> None:
        """Show two series of a study beside each other, in one plane or one of them as acquired."""
        studies = self.window.workspace.studies.all
        if studies:
            study = studies[number % len(studies)]
            for at, part in enumerate(study.series[:2]):
                self._frame(at).viewport.show(part.instances[number % 3])
            self._frames_arrive()
            self._cut(self._frame(0), plane)
            if number % 3:
                self._cut(self._frame(1), plane)

    def _cut(self, frame: Any, plane: Plane) -> None:
        frame.planes.choose(plane)
        end = time.monotonic() + 0.1
        while (frame.planes.busy or frame.canvas.model.loading) and time.monotonic() < end:
            QApplication.processEvents()
            time.sleep(0.0003)
        self.run_events()

    def change_pixels(self, number: int) -> None:
        """The files of a closed study have other pixels when it is opened again, or the old."""
        studies = self.window.workspace.studies.all
        self.window.workspace.close_study(
            *(key_of(one) for one in studies if one.uid == str(number))
        )
        self.decoder.versions[number] ^= 1
        self.open_study(number)

    def wait(self, ms: int) -> None:
        end = time.monotonic() + ms / 1000
        while time.monotonic() < end:
            QApplication.processEvents()
            time.sleep(0.0003)

    def reopen(self) -> None:
        """Begin anew with what the database holds, as the next session does."""
        self.nothing_else_has_changed()
        window, annotations = self.window, self.window.workspace.annotations
        assert window.marks is not None
        window.marks.close()
        window.marks.deleteLater()
        annotations.forget(self.expected)
        key_marks = window.workspace.key_marks
        self.counts["key images over a reopening"] += len(key_marks.own)
        key_marks.forget({ref.sop_instance_uid for ref in key_marks.own})
        self.counts["marks over a reopening"] += len(self.expected)
        self.asleep |= self.expected
        self.expected, self.done, self.undone = {}, [], []
        # No tool runs on what was closed in the session before.
        instance_of = window.workspace.instance_of
        self.asked = [one for one in self.asked if instance_of(one.ref.sop_instance_uid)]
        window.marks = MarkKeeping(window.workspace, MarkStore(self.store), window.notices, window)
        self.all_is_back()

    def all_is_back(self) -> None:
        self.until_saved()
        self.nothing_else_has_changed()
        assert not [one for one in self.asleep.values() if self.is_open(one)], "lost"

    def purge(self, number: int) -> None:
        """Delete what is kept of a study, now and then."""
        marks = self.window.marks
        assert marks is not None
        self.until_saved()
        self.nothing_else_has_changed()
        answers: list[list[Any]] = []
        marks.list_studies(answers.append)
        self._wait_for(lambda: bool(answers))
        every = self.expected | self.asleep
        kept = {one.study: one.marks for one in answers[0]}
        numbers = [str(self.number_of(one)) for one in every.values()]
        assert kept == {study: numbers.count(study) for study in numbers}
        gone = [one for one in answers[0] if one.study == str(number % len(PATIENTS))]
        if gone:
            purged: list[int] = []
            marks.purge(gone, lambda: purged.append(1))
            self._wait_for(lambda: bool(purged))
            self.done, self.undone = [], []
            for known in (self.expected, self.asleep):
                for key, one in [*known.items()]:
                    if str(self.number_of(one)) == gone[0].study:
                        del known[key]

    def _wait_for(self, ready: Any) -> None:
        end = time.monotonic() + 20
        while not ready():
            QApplication.processEvents()
            time.sleep(0.0003)
            assert time.monotonic() < end

    def until_saved(self) -> None:
        marks = self.window.marks
        assert marks is not None
        self._wait_for(lambda: not marks.loading and marks.saved)

    # What holds after every rule

    def nothing_else_has_changed(self) -> None:
        now = self.contents()
        for key in [key for key in now if key not in self.expected]:
            assert key in self.asleep, "a mark has come back that was deleted"
            self.expected[key] = self.asleep.pop(key)
        assert now.keys() == self.expected.keys(), "a mark has gone"
        for key, one in now.items():
            known = self.expected[key]
            assert one == known or counted_since(known, one), different(known, one)
        self.expected = now

    def each_mark_is_on_its_own_pixels(self) -> None:
        every = self.window.workspace.annotations.all()
        for mark in every:
            on_section = mark.finding.image.sop_instance_uid in self.decoder.sections
            assert mark.finding.plane is not None or not on_section, "not anchored in the patient"
        for one in self.window.viewports.frames:
            canvas = one.canvas
            items = {item.finding.id: item.finding for item in canvas.annotation_items()}
            if canvas.picture is None:
                assert not items
                continue
            job = canvas.picture.job
            assert job.frame.ref.sop_instance_uid == job.instance.sop_instance_uid
            right = self.decoder.sections.get(job.instance.sop_instance_uid)
            steps = (1.0, 1.0, float(_apart(right[0] if right else job.instance)))
            for mark in every:
                drawn = items.pop(mark.finding.id, None)
                if mark.finding.image == job.frame.ref:
                    there = drawn is not None and drawn.geometry is mark.finding.geometry
                    assert there == mark.visible, "a mark is not shown on its image"
                elif mark.finding.plane is None:
                    assert drawn is None, "a mark is on another image"
                else:
                    off = distance(mark.finding, job.frame, job.instance, steps)
                    assert drawn is None or off < 0.5, "a mark is on another plane"
                    if off < 0.5 and not isinstance(mark.finding.geometry, Mask | Heatmap):
                        assert (drawn is not None) == mark.visible, "not shown in its plane"
                    if drawn is not None:
                        self.counts["shown on another image in its plane"] += 1
                        assert drawn.image == job.frame.ref
                        ours = patient_points(mark.finding, mark.finding.plane)
                        assert_near(ours, patient_points(drawn, job.frame), steps)
            assert not items, "what is drawn is no mark"

    def each_viewport_shows_only_what_is_its_own(self) -> None:
        """Of viewports it is asked in `test_viewports_random`, of marks above."""

    def teardown(self) -> None:
        try:
            self.nothing_is_lost()
            self.counts["sequences"] += 1
        finally:  # the next sequence begins with nothing, whatever has failed
            window, workspace = self.window, self.window.workspace
            del workspace.commands.push
            for name in ("scroll", "window", "view"):
                window.links.set_link(name, False)
            annotations = workspace.annotations
            annotations.forget([one.finding.id for one in annotations.all()])
            workspace.key_marks.forget({ref.sop_instance_uid for ref in workspace.key_marks.own})
            workspace.close_all()
            workspace.layout.close_second()
            if workspace.layout.screen.slots != LAYOUTS["2x2"]:
                workspace.arrange(LAYOUTS["2x2"])
            workspace.commands.clear()
            self.until_saved()
            QCoreApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)
            with closing(sqlite3.connect(self.store)) as database, database:
                left = database.execute("DELETE FROM marks").rowcount
        assert left == 0

    def nothing_is_lost(self) -> None:
        """All comes back once all is open, and nothing else is in the database."""
        if len(self.asked) % 2:
            self.window.workspace.close_all()
        while self.asked:
            self.tool_ends(len(self.asked), "mask")
        self._frames_arrive()
        for number in range(len(PATIENTS)):
            self.open_study(number)
        self.reopen()
        assert not self.asleep, "lost"
        with closing(sqlite3.connect(self.store)) as database:
            rows = database.execute("SELECT id, study FROM marks").fetchall()
        numbers = {key: self.number_of(one) for key, one in self.expected.items()}
        assert dict(rows) == {key: str(number) for key, number in numbers.items()}


def content(mark: Annotation) -> Annotation:
    """What of a mark must come back: all but when it was kept and the colour of its label."""
    shape = mark.finding.geometry
    original = mark.finding.original
    if original is not None:
        original = replace(original, geometry=comparable(original.geometry))
    made = replace(mark.finding, geometry=comparable(shape), original=original)
    return replace(mark, finding=made, kept="", color=0)


def image_of(mark: Annotation | ImageRef) -> ImageRef:
    """The image of a mark, or that is a key image."""
    return mark.finding.image if isinstance(mark, Annotation) else mark


def counted_since(before: Annotation | ImageRef, now: Annotation | ImageRef) -> bool:
    """Whether only the statistics of a mask are new: they are counted on a thread."""
    if not isinstance(before, Annotation) or not isinstance(now, Annotation):
        return False
    one = now.finding
    if not isinstance(one.geometry, tuple):
        return False
    same = replace(before.finding, measurements=one.measurements, description=one.description)
    return replace(before, finding=same) == now


def different(before: Any, now: Any) -> str:
    """What of two dataclasses differs."""
    pairs = {one.name: (getattr(before, one.name), getattr(now, one.name)) for one in fields(now)}
    return "; ".join(
        different(was, has) if isinstance(has, Finding) else f"{name} {was} {has}"
        for name, (was, has) in pairs.items()
        if was != has
    )


def comparable(shape: Geometry) -> Any:
    """A geometry that is equal to another with the same pixels."""
    if isinstance(shape, Mask):
        return "mask", shape.pixels.shape, shape.pixels.tobytes()
    if isinstance(shape, Heatmap):
        return "heatmap", shape.values.dtype, shape.values.shape, shape.values.tobytes()
    return shape


# Where things are in the patient, computed without the program's planes


Floats = NDArray[np.float64]


def _apart(source: Series | Instance) -> int:
    """The mm between the slices of a series; see `made_study`."""
    one = source.instances[0] if isinstance(source, Series) else source
    return int(one.sop_instance_uid.split(".")[1]) + 1


def axes(image: Any) -> tuple[Floats, Floats, Floats]:
    """The first pixel's place (mm), and the steps to the next column and row."""
    if isinstance(image, Frame):
        cosines = np.array(image.orientation.cosines)
        down, across = image.spacing.row_mm, image.spacing.column_mm
        assert down is not None
        assert across is not None
        origin = np.array(image.orientation.position, float)
        return origin, cosines[:3] * across, cosines[3:] * down
    rows, columns = image.spacing
    return np.array(image.origin), np.array(image.row) * columns, np.array(image.column) * rows


def distance(mark: Finding, shown: Frame, instance: Instance, steps: tuple[float, ...]) -> float:
    """How many slices a mark's plane is away from a shown one; infinite if they cross."""
    assert mark.plane is not None
    if mark.plane.frame_of_reference != instance.get("FrameOfReferenceUID"):
        return np.inf
    own, right, down = axes(mark.plane)
    origin, other_right, other_down = axes(shown)
    normal, other = np.cross(right, down), np.cross(other_right, other_down)
    if np.linalg.norm(np.cross(normal, other)) > 1e-9:
        return np.inf
    axis = int(np.argmax(np.abs(normal)))
    return float(abs(own[axis] - origin[axis]) / steps[axis])


def patient_points(mark: Finding, image: Any) -> Floats:
    """Where the points of a mark lie, in mm."""
    origin, right, down = axes(image)
    points = np.array(drawing.points_of(mark)).reshape(-1, 2)
    return origin + points[:, :1] * right + points[:, 1:] * down


def assert_near(ours: Floats, drawn: Floats, steps: Iterable[float]) -> None:
    """Each point is where it was, at most half a slice off."""
    allowed = np.array([0.5 * step + 1e-6 for step in steps])
    for low, high in ((ours.min(axis=0), drawn.min(axis=0)), (ours.max(axis=0), drawn.max(axis=0))):
        assert (np.abs(low - high) <= allowed).all(), "a mark is at another place"


@pytest.fixture
def machine(qapp: QApplication, monkeypatch: pytest.MonkeyPatch) -> Iterator[type[Marks]]:
    # Sooner than for a user, so that writing and loading come between any two rules.
    monkeypatch.setattr(mark_keeping, "SAVE_MS", 4)
    monkeypatch.setattr(mark_keeping, "LOAD_MS", 1)
    memory = Path("/dev/shm")
    with tempfile.TemporaryDirectory(dir=memory if memory.is_dir() else None) as folder:
        decoder, store = StackDecoder(), Path(folder) / "marks.sqlite"
        window = MainWindow(
            Workspace(),
            decoder,
            QLabel("chat"),
            layout_file=Path(folder) / "window.ini",
            marks_file=store,
        )
        window.resize(800, 600)
        window.show()
        window.workspace.arrange(LAYOUTS["2x2"])
        window.setUpdatesEnabled(False)  # nobody looks at it, and painting takes most of the time
        Marks.window, Marks.decoder, Marks.store = window, decoder, store
        Marks.counts = Counter()
        MarkStore(store).save({}, ())
        yield Marks
        sys.stderr.write(f"{dict(Marks.counts)}\n")
        window.quit()
        window.deleteLater()


Random = random.Random
STEPS: list[tuple[int, str, Callable[[Random], dict[str, Any]]]] = [
    (3, "open_study", lambda r: {"number": r.randrange(3)}),
    (3, "close_study", lambda r: {"number": any_of(r)}),
    (1, "change_pixels", lambda r: {"number": r.randrange(3)}),
    (1, "arrange", lambda r: {"name": r.choice(["1x1", "1x2", "2x2", "1+2"])}),
    (1, "close_viewport", lambda r: {"number": any_of(r)}),
    (1, "second_window", lambda r: {"on": r.random() < 0.5}),
    (5, "drop", lambda r: {"number": any_of(r), "onto": any_of(r)}),
    (2, "activate", lambda r: {"number": any_of(r)}),
    (1, "swap", lambda r: {"one": any_of(r), "other": any_of(r)}),
    (1, "link", lambda r: {"name": "scroll", "on": r.random() < 0.5}),
    (6, "scroll", lambda r: {"number": any_of(r), "steps": r.randint(-3, 3)}),
    (6, "late_frame", lambda r: {"number": any_of(r)}),
    (2, "run_events", lambda _r: {}),
    (2, "wait", lambda r: {"ms": r.randint(1, 8)}),
    (3, "section", lambda r: {"number": any_of(r), "plane": r.choice(list(Plane))}),
    (3, "two_series_in_one_plane", lambda r: {"number": any_of(r), "plane": r.choice(CUT)}),
    (10, "draw", lambda r: {"number": any_of(r), "tool": r.choice(TOOLS)}),
    (4, "drag_point", lambda r: {"number": any_of(r), "by": r.randint(-3, 3)}),
    (4, "move", lambda r: {"number": any_of(r), "dx": r.randint(-90, 90), "dy": r.choice([0, 9])}),
    (3, "paint", lambda r: {"number": any_of(r)}),
    (2, "rename", lambda r: {"number": any_of(r), "text": r.choice(NAMES)}),
    (4, "style", lambda r: {"number": any_of(r), "how": r.choice(STYLES)}),
    (3, "key_image", lambda r: {"number": any_of(r)}),
    (1, "code", lambda r: {"number": any_of(r)}),
    (3, "delete", lambda r: {"number": any_of(r)}),
    (2, "delete_while_a_scan_goes_on", lambda r: {"number": any_of(r), "opened": r.randrange(3)}),
    (2, "look_at", lambda r: {"number": any_of(r)}),
    (5, "tool_starts", lambda r: {"number": any_of(r)}),
    (5, "tool_ends", lambda r: {"number": any_of(r), "what": r.choice(RESULTS)}),
    (3, "late_finding", lambda r: {"number": any_of(r)}),
    (5, "decide", lambda r: {"number": any_of(r), "state": r.choice(DECISIONS)}),
    (2, "restore_original", lambda r: {"number": any_of(r)}),
    (4, "copy", lambda r: {"number": any_of(r), "how": r.choice(["copy", "cut", "duplicate"])}),
    (4, "paste", lambda r: {"number": any_of(r)}),
    (6, "undo", lambda _r: {}),
    (4, "redo", lambda _r: {}),
    (3, "reopen", lambda _r: {}),
    (1, "purge", lambda r: {"number": any_of(r)}),
]
"""How likely each step is, what it is called, and with what."""


def any_of(choose: Random) -> int:
    """A number of which a step takes the remainder."""
    return choose.randrange(201)


def test_no_mark_is_ever_on_another_image_and_none_is_lost(machine: type[Marks]):
    weights = [one[0] for one in STEPS]
    for number in range(SEED, SEED + SEQUENCES):
        choose = Random(number)
        done = [f"sequence {number}"]
        marks = machine()
        try:
            try:
                for _ in range(choose.randint(10, 40)):
                    ((_weight, name, chosen),) = choose.choices(STEPS, weights)
                    given = chosen(choose)
                    done.append(f"{name}({given})")
                    getattr(marks, name)(**given)
                    marks.nothing_else_has_changed()
                    marks.each_mark_is_on_its_own_pixels()
            finally:
                marks.teardown()
        except BaseException:
            sys.stderr.write("\n".join(done) + "\n")
            raise
