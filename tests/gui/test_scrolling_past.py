"""A wheel that turns faster than frames are decoded: each that comes is seen on the way."""

from __future__ import annotations

import pytest

from app.imaging.types import Window
from app.views.canvas.canvas import Canvas
from app.workspace.viewport import Display
from tests.gui.canvas_scene import Scene
from tests.gui.viewer_support import WaitUntil, found, instance, study

pytestmark = pytest.mark.gui
SLICES = 12


def seen_on(canvas: Canvas) -> list[str]:
    """Grows by the UID of each picture that comes onto the canvas."""
    seen: list[str] = []

    def note() -> None:
        if canvas.frame is not None:
            seen.append(canvas.frame.ref.sop_instance_uid)

    canvas.picture_changed.connect(note)
    return seen


def stack(scene: Scene, wait_until: WaitUntil) -> list[str]:
    """Opens a stack; what is seen of it from then on. The test answers each request by itself."""
    images = [instance(f"1.{number}") for number in range(SLICES)]
    scene.decoder.prompt = False
    scene.workspace.add(found(study(*images)))
    scene.decoder.answer()
    scene.settle()
    seen = seen_on(scene.canvas)
    scene.canvas.scroller.step(1)
    for number in range(3):
        scene.canvas.scroller.step(1)  # waits for the frame, whose answer then asks for the next
        scene.decoder.answer()
        wait_until(lambda number=number: len(seen) > number and scene.decoder.waiting)
    return seen


def test_frames_that_are_scrolled_past_are_seen(scene: Scene, wait_until: WaitUntil):
    seen = stack(scene, wait_until)
    assert seen == ["1.1", "1.2", "1.3"]
    assert scene.canvas.scroller.waiting
    scene.decoder.answer()
    scene.settle()
    assert seen == ["1.1", "1.2", "1.3", "1.4"]


def test_a_series_that_was_left_is_not_seen_any_more(scene: Scene, wait_until: WaitUntil):
    other = instance("9.1")
    scene.workspace.studies.add(found(study(other, uid="other")))
    stack(scene, wait_until)
    scene.decoder.answer()
    seen = seen_on(scene.canvas)
    scene.workspace.viewport.show(other)
    wait_until(lambda: scene.decoder.waiting)
    scene.decoder.answer()
    scene.settle()
    assert seen == ["9.1"]


def test_what_was_drawn_before_it_was_inverted_is_not_seen_after(
    scene: Scene, wait_until: WaitUntil
):
    seen = stack(scene, wait_until)
    scene.canvas.scroller.step(1)
    scene.decoder.answer()
    wait_until(lambda: scene.decoder.waiting)
    scene.workspace.viewport.set_display(Display(invert=True))
    wait_until(lambda: not scene.background.pending or scene.decoder.waiting)
    scene.decoder.answer()
    scene.settle()
    assert seen[-1] == "1.5"
    picture = scene.canvas.picture
    assert picture is not None
    assert picture.job.display.invert


def test_a_window_that_is_set_while_the_next_image_is_drawn_counts_for_it(
    scene: Scene, wait_until: WaitUntil
):
    """The image has come, its picture has not: that must not end as the older window's."""
    stack(scene, wait_until)
    model, canvas, wanted = scene.workspace.viewport, scene.canvas, Window(300, 200)
    disconnect = model.frame_changed.connect(lambda: canvas.set_window(wanted))
    scene.decoder.answer()
    wait_until(lambda: not canvas.scroller.waiting)
    disconnect()
    scene.settle()
    picture = canvas.picture
    assert picture is not None
    assert picture.job.frame is model.frame
    assert canvas.shown_window == wanted
    assert picture.window == wanted


def test_the_window_of_what_is_seen_changes_while_the_next_image_is_awaited(
    scene: Scene, wait_until: WaitUntil
):
    """A slow disk: the old image stays, and so its picture must go with what the text says."""
    seen = stack(scene, wait_until)
    canvas, wanted = scene.canvas, Window(300, 200)
    assert canvas.scroller.waiting
    before = canvas.picture
    canvas.set_window(wanted)
    wait_until(lambda: canvas.picture is not before)
    assert canvas.picture is not None
    assert canvas.picture.job.instance.sop_instance_uid == seen[-1]
    assert canvas.picture.window == canvas.shown_window == wanted
    assert canvas.scroller.waiting
    scene.decoder.answer()
    scene.settle()
    assert canvas.picture.job.instance.sop_instance_uid == "1.4"
    assert canvas.picture.window == wanted
