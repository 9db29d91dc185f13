from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

from app.imaging.types import (
    Content,
    Frame,
    ImageRef,
    Instance,
    ScanResult,
    Series,
    Study,
    Window,
)
from app.workspace.viewport import FrameRequest
from app.workspace.workspace import MOST_IMAGES, Workspace, first_to_show


def an_instance(name: str, content: Content = Content.IMAGE, uid: str = "") -> Instance:
    made = Instance(Path(name), uid or name, "dicom", 2, 2, content=content)
    return replace(made, attributes={"StudyInstanceUID": "s"})


def a_study(*instances: Instance, uid: str = "s") -> Study:
    series = tuple(Series(f"{uid}.{i.path}", "", "", 1, (i,)) for i in instances)
    return Study(uid, "", "", "", "", series)


def a_stack(instances: list[Instance], uid: str = "s") -> Study:
    return Study(uid, "", "", "", "", (Series(f"{uid}.1", "", "CT", 1, tuple(instances)),))


REPORT = an_instance("report", Content.REPORT)
LETTER = an_instance("letter", Content.DOCUMENT)
IMAGE = an_instance("image")


def test_an_image_is_shown_first_then_what_has_frames_then_what_can_be_read():
    assert first_to_show(ScanResult((a_study(REPORT, LETTER, IMAGE),), ())) is IMAGE
    assert first_to_show(ScanResult((a_study(REPORT, LETTER),), ())) is LETTER
    assert first_to_show(ScanResult((a_study(REPORT),), ())) is REPORT
    assert first_to_show(ScanResult((a_study(LETTER),), ()), images_only=True) is None
    assert first_to_show(ScanResult((), ())) is None


def test_a_shown_report_stands_first_among_what_a_run_may_touch_and_others_do_not_stand_there():
    workspace = Workspace()
    workspace.add(ScanResult((a_study(REPORT, LETTER, IMAGE),), ()))
    workspace.viewport.show(REPORT)
    assert [image.instance for image in workspace.open_images()] == [REPORT, IMAGE]
    workspace.viewport.show(IMAGE)
    assert [image.instance for image in workspace.open_images()] == [IMAGE]


def test_a_run_gets_the_automatic_window_that_the_image_is_shown_with():
    workspace = Workspace()
    workspace.add(ScanResult((a_study(IMAGE),), ()))
    requests: list[FrameRequest] = []
    workspace.viewport.requested.connect(requests.append)
    workspace.viewport.show(IMAGE)
    frame = Frame(np.zeros((2, 2), np.uint16), ImageRef("image", 0, ""))
    workspace.viewport.deliver(requests[0], frame)
    workspace.viewport.set_automatic({0: Window(40, 81)})
    assert workspace.open_images()[0].window == Window(40, 81)


def test_of_very_many_images_the_shown_study_s_come_first_and_no_more_than_can_be_named():
    workspace = Workspace()
    others = a_stack([an_instance(f"o{n}") for n in range(MOST_IMAGES)], "other")
    own = [an_instance(f"i{n}") for n in range(50)]
    workspace.add(ScanResult((others,), ()))
    workspace.add(ScanResult((a_stack(own, "own"),), ()), show=False)
    workspace.viewport.show(own[7])
    images = workspace.open_images()
    assert len(images) == MOST_IMAGES
    assert images[0].instance is own[7]
    assert {image.instance.path for image in images[:50]} == {one.path for one in own}
    assert [image.id for image in images[:2]] == ["image-1", "image-2"]


def test_images_that_share_a_uid_by_mistake_are_stepped_through_all_the_same():
    workspace = Workspace()
    stack = [an_instance(name, uid="same") for name in "abc"]
    workspace.add(ScanResult((a_stack(stack),), ()))
    for position in (0, 1):
        workspace.viewport.show(stack[position])
        assert workspace.next_instance(1) is stack[position + 1]


def test_an_image_is_found_by_its_uid_while_it_is_open():
    workspace = Workspace()
    workspace.add(ScanResult((a_study(IMAGE),), ()))
    assert workspace.instance_of("image") is IMAGE
    assert workspace.instance_of("other") is None
    workspace.close_study("s")
    assert workspace.instance_of("image") is None


def test_a_report_asks_for_no_frame_and_is_not_waited_for():
    workspace = Workspace()
    asked: list[object] = []
    workspace.viewport.requested.connect(asked.append)
    workspace.viewport.show(REPORT)
    workspace.viewport.scroll_to(3)
    assert asked == []
    assert not workspace.viewport.loading
