from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from app.imaging.types import Frame, ImageRef, Instance, Voi, Window
from app.workspace.viewport import Display, FrameRequest, Viewport


@pytest.fixture
def cine() -> Instance:
    return Instance(Path("cine.dcm"), "1.2", "dicom", 4, 4, frames=10)


def a_frame(index: int) -> Frame:
    return Frame(np.zeros((4, 4), np.uint8), ImageRef("1.2", index, str(index)))


def test_a_late_answer_to_an_older_request_is_dropped(cine: Instance):
    viewport = Viewport()
    requests: list[FrameRequest] = []
    viewport.requested.connect(requests.append)
    viewport.show(cine)
    viewport.scroll_to(5)
    assert [request.frame_index for request in requests] == [0, 5]
    assert viewport.deliver(requests[1], a_frame(5))
    assert not viewport.deliver(requests[0], a_frame(0))
    assert viewport.frame is not None
    assert viewport.frame.ref.frame == 5


def test_a_late_error_does_not_replace_a_newer_image(cine: Instance):
    viewport = Viewport()
    requests: list[FrameRequest] = []
    viewport.requested.connect(requests.append)
    viewport.show(cine)
    viewport.scroll_to(1)
    viewport.deliver(requests[1], a_frame(1))
    assert not viewport.fail(requests[0], "broken")
    assert viewport.error == ""


def test_scrolling_keeps_the_window_and_another_image_gets_its_own(cine: Instance):
    """Coming back brings the window back; turns are not, since each view must say its sides."""
    viewport = Viewport()
    viewport.show(cine)
    viewport.set_display(Display(Window(40, 400), invert=True, flip_h=True))
    viewport.scroll_to(3)
    assert viewport.display.window == Window(40, 400)
    viewport.show(replace(cine, path=Path("/images/other.dcm")))
    assert viewport.display == Display()
    viewport.show(cine)
    assert viewport.display == Display(Window(40, 400), invert=True)
    viewport.reset_display()
    viewport.show(None)
    viewport.show(cine)
    assert viewport.display == Display()


def test_scrolling_stays_inside_the_file(cine: Instance):
    viewport = Viewport()
    viewport.show(cine)
    viewport.scroll_to(99)
    assert viewport.frame_index == 9
    viewport.scroll_to(-4)
    assert viewport.frame_index == 0


def test_a_run_gets_the_automatic_window_that_the_image_is_shown_with(cine: Instance):
    viewport = Viewport()
    requests: list[FrameRequest] = []
    viewport.requested.connect(requests.append)
    viewport.set_automatic({0: Window(40, 81)})
    viewport.show(cine)
    viewport.deliver(requests[0], a_frame(0))
    assert viewport.acquired_window == Window(40, 81)
    viewport.set_display(Display(Window(20, 30)))
    assert viewport.acquired_window == Window(20, 30)
    viewport.set_display(Display())
    viewport.deliver(requests[0], replace(a_frame(0), voi=Voi((Window(50, 400),))))
    assert viewport.acquired_window is None
