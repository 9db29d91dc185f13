"""Cines: each frame is shown for its own time."""

from __future__ import annotations

import dataclasses
import itertools

import pytest
from PySide6.QtCore import QElapsedTimer

from app.views.canvas.scrolling import FASTEST_FRAME_MS, frame_duration
from tests.gui.canvas_scene import Scene
from tests.gui.viewer_support import frame, instance

pytestmark = pytest.mark.gui

TIMES = (0.0, 40.0, 200.0, 240.0)


def test_a_frame_lasts_until_the_next_one_s_time():
    cine = dataclasses.replace(instance(frames=4), frame_times_ms=TIMES)
    assert [frame_duration(cine, index) for index in range(3)] == [40, 160, 40]
    assert frame_duration(cine, 3) == 20  # nothing follows: the file's frame time
    assert frame_duration(instance(frames=4), 2) == 20
    quick = dataclasses.replace(cine, frame_times_ms=(0.0, 2.0, 4.0, 6.0))
    assert frame_duration(quick, 0) == FASTEST_FRAME_MS


def test_a_cine_of_uneven_times_is_played_so(scene: Scene):
    cine = dataclasses.replace(instance(frames=4), frame_times_ms=TIMES)
    for index, time in enumerate(TIMES):
        scene.decoder.frames[("1.1", index)] = frame("1.1", index, time_ms=time)
    scene.show(cine)
    clock, seen = QElapsedTimer(), list[tuple[int, int]]()
    clock.start()

    def note() -> None:
        seen.append((scene.canvas.picture.job.frame_index, clock.elapsed()))

    scene.canvas.picture_changed.connect(note)
    scene.canvas.scroller.toggle()
    scene.wait_until(lambda: len(seen) >= 8)
    scene.canvas.scroller.pause()
    waits = {0: list[int](), 1: list[int](), 2: list[int]()}
    for (index, before), (following, after) in itertools.pairwise(seen):
        assert following == (index + 1) % 4
        if index in waits:
            waits[index].append(after - before)
    # A frame that a busy machine shows late takes from its own wait: the longest counts.
    assert max(waits[1]) > 2 * max(min(waits[0]), min(waits[2]))


def test_the_time_of_a_frame_is_shown(scene: Scene):
    cine = dataclasses.replace(instance(frames=4), frame_times_ms=TIMES)
    scene.decoder.frames[("1.1", 2)] = frame("1.1", 2, time_ms=830.0)
    scene.show(cine)
    scene.workspace.viewport.scroll_to(2)
    scene.settle()
    assert "Frame 3 / 4   0.83 s" in scene.canvas.overlay.corners.top_right
    scene.workspace.viewport.scroll_to(1)
    scene.settle()
    assert "Frame 2 / 4   0.04 s" in scene.canvas.overlay.corners.top_right
