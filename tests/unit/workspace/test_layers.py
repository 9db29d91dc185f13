"""The layers of the shown image: whose they are, when they are drawn, how they are shown."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from app.imaging.findings import Mask, Polygon
from app.imaging.layers import Layer, LayerFrame, LayerItem, Shape
from app.imaging.pixels.pipeline import draw_overlay
from app.imaging.presentation import ImagePresentation, PresentationState
from app.imaging.types import Content, Frame, ImageRef, Instance, OverlayPlane, Window
from app.imaging.types import Voi as FileVoi
from app.workspace import layers as workspace_layers
from app.workspace.layers import OVERLAYS, PRESENTATION, LayerRequest, Layers, key_of
from app.workspace.viewport import Display, FrameRequest, Viewport

IMAGE = Instance(Path("ct.dcm"), "1.1", "dicom", 4, 4, frames=3)
SEG = Instance(Path("seg.dcm"), "1.9", "dicom", 0, 0, content=Content.SEGMENTATION)
TRIANGLE = Shape(1, Polygon(((0.0, 0.0), (2.0, 0.0), (0.0, 2.0))))


def a_frame(index: int = 0, **fields: Any) -> Frame:
    return Frame(np.zeros((4, 4), np.uint8), ImageRef("1.1", index, str(index)), **fields)


def liver() -> Layer:
    return Layer(
        SEG, "Organs", (LayerItem(1, "Liver", (1, 2, 3)), LayerItem(2, "Spleen", (4, 5, 6)))
    )


@pytest.fixture
def layers() -> Layers:
    return Layers()


def test_an_objects_parts_are_read_once_and_its_shapes_for_each_shown_frame(layers: Layers):
    read: list[str] = []
    asked: list[LayerRequest] = []
    layers.wanted.connect(lambda key, _object: read.append(key))
    layers.frame_wanted.connect(asked.append)
    layers.set_image([SEG])
    layers.set_image([SEG])
    assert read == [key_of(SEG)]
    assert not asked
    layers.show_on(IMAGE, 0, a_frame(0))
    layers.show_on(IMAGE, 0, a_frame(0))
    layers.show_on(IMAGE, 2, a_frame(2))
    assert [(one.target, one.index) for one in asked] == [(IMAGE, 0), (IMAGE, 2)]


def test_shapes_are_drawn_on_no_frame_but_their_own(layers: Layers):
    asked: list[LayerRequest] = []
    layers.frame_wanted.connect(asked.append)
    layers.set_image([SEG])
    layers.take_layer(key_of(SEG), liver())
    layers.show_on(IMAGE, 0, a_frame(0))
    layers.show_on(IMAGE, 1, a_frame(1))
    layers.take_frame(asked[0], LayerFrame((TRIANGLE,)))  # late: of frame 0
    (entry,) = layers.entries
    assert entry.shapes() == ()
    layers.show_on(IMAGE, 0, a_frame(0))
    assert layers.entries[0].shapes() == (TRIANGLE,)
    layers.show_on(None, 0, None)
    assert layers.entries[0].shapes() == ()


def test_a_hidden_layer_draws_nothing_and_asks_for_nothing(layers: Layers):
    asked: list[LayerRequest] = []
    layers.frame_wanted.connect(asked.append)
    layers.set_image([SEG])
    layers.take_layer(key_of(SEG), liver())
    layers.set_visible(key_of(SEG), False)
    layers.show_on(IMAGE, 0, a_frame(0))
    assert not asked
    layers.set_visible(key_of(SEG), True)
    layers.take_frame(asked[0], LayerFrame((TRIANGLE,)))
    assert layers.entries[0].shapes() == (TRIANGLE,)
    layers.set_item_visible(key_of(SEG), 1, False)
    assert layers.entries[0].shapes() == ()
    layers.set_item_visible(key_of(SEG), 1, True)
    assert layers.entries[0].shapes() == (TRIANGLE,)


def test_how_a_layer_is_shown_is_kept_from_image_to_image(layers: Layers):
    layers.set_image([SEG])
    layers.set_opacity(0.8)
    layers.set_image([])
    layers.set_image([SEG])
    assert layers.opacity == 0.8


def test_a_closed_file_is_forgotten_and_read_anew_when_it_is_opened_again(layers: Layers):
    read: list[str] = []
    layers.wanted.connect(lambda key, _object: read.append(key))
    layers.set_image([SEG])
    layers.take_layer(key_of(SEG), liver())
    layers.forget([SEG])
    assert layers.entries == ()
    layers.set_image([SEG])
    assert len(read) == 2
    assert layers.entries[0].layer is None


def test_an_object_that_cannot_be_read_says_so_and_is_not_asked_again(layers: Layers):
    asked: list[LayerRequest] = []
    layers.frame_wanted.connect(asked.append)
    layers.set_image([SEG])
    layers.fail(key_of(SEG), "seg.dcm: damaged")
    layers.show_on(IMAGE, 0, a_frame(0))
    assert not asked
    assert layers.entries[0].error == "seg.dcm: damaged"


def test_the_images_own_overlays_are_a_layer_at_their_origin(layers: Layers):
    bits = np.array([[True, False], [True, True]])
    frame = a_frame(0, overlays=(OverlayPlane(bits, row=2, column=3, label="ROI 1"),))
    layers.show_on(IMAGE, 0, frame)
    (entry,) = layers.entries
    assert entry.key == OVERLAYS
    assert entry.items[0].label == "ROI 1"
    (shape,) = entry.shapes()
    assert isinstance(shape.geometry, Mask)
    expected = np.zeros((4, 4), bool)
    expected[2, 3] = expected[3, 3] = True  # its second column lies outside the image
    assert np.array_equal(shape.geometry.pixels, expected)


@pytest.mark.parametrize(("row", "column"), [(-1, -1), (0, 0), (3, 3), (4, 0), (0, -2), (-9, 9)])
def test_an_overlay_is_cut_at_the_images_edges(row: int, column: int):
    bits = np.arange(6).reshape(2, 3) % 2 == 0
    got = np.zeros((4, 5), bool)
    draw_overlay(got, OverlayPlane(bits, row, column), True)
    for y in range(4):
        for x in range(5):
            inside = 0 <= y - row < 2 and 0 <= x - column < 3
            assert got[y, x] == (inside and bits[y - row, x - column])


def a_state(**fields: Any) -> PresentationState:
    note = Layer(SEG, "Notes", (LayerItem(1, "NOTES", (9, 9, 9)),))
    image = ImagePresentation(shapes=(TRIANGLE,), **fields)
    return PresentationState(note, images={("1.1", 0): image})


def test_a_presentation_states_graphics_are_drawn_on_the_images_that_it_names(layers: Layers):
    layers.set_presentation(a_state())
    layers.show_on(IMAGE, 0, a_frame(0))
    (entry,) = layers.entries
    assert entry.key.startswith(PRESENTATION)
    layers.show_on(IMAGE, 1, a_frame(1))
    assert layers.entries == ()


def test_a_presentation_state_changes_greys_and_turn_of_its_image_only():
    viewport = Viewport()
    requests: list[FrameRequest] = []
    viewport.requested.connect(requests.append)
    viewport.show(IMAGE)
    viewport.deliver(requests[-1], a_frame(0))
    voi = FileVoi(windows=(Window(40, 80),))
    viewport.present(a_state(voi=voi, flip_h=True, quarter_turns=1))
    viewport.deliver(requests[-1], a_frame(0))
    assert viewport.frame is not None
    assert viewport.frame.voi == voi
    assert viewport.display == Display(flip_h=True, quarter_turns=1)
    viewport.scroll_to(1)
    viewport.deliver(requests[-1], a_frame(1))
    assert viewport.frame.voi == FileVoi()


def test_another_image_is_shown_as_its_own_file_says():
    viewport = Viewport()
    viewport.show(IMAGE)
    viewport.present(a_state(flip_h=True))
    assert viewport.presentation is not None
    viewport.show(Instance(Path("b.dcm"), "2.2", "dicom", 4, 4))
    assert viewport.presentation is None
    assert viewport.display == Display()


def test_a_state_that_is_not_about_the_image_is_not_applied():
    viewport = Viewport()
    viewport.show(Instance(Path("b.dcm"), "2.2", "dicom", 4, 4))
    viewport.present(a_state(flip_h=True))
    assert viewport.presentation is None
    assert viewport.display == Display()


def other_state() -> PresentationState:
    layer = Layer(replace(SEG, path=Path("b.dcm")), "Others", (LayerItem(1, "X", (9, 9, 9)),))
    return PresentationState(layer, images={("1.1", 0): ImagePresentation(shapes=(TRIANGLE,))})


def test_what_is_hidden_of_one_state_is_not_hidden_of_another(layers: Layers):
    layers.show_on(IMAGE, 0, a_frame(0))
    layers.set_presentation(a_state())
    layers.set_item_visible(layers.entries[0].key, 1, False)
    assert layers.entries[0].shapes() == ()
    layers.set_presentation(other_state())
    assert layers.entries[0].shapes() == (TRIANGLE,)


def asked_for(layers: Layers, frames: int) -> list[LayerRequest]:
    asked: list[LayerRequest] = []
    layers.frame_wanted.connect(asked.append)
    layers.set_image([SEG])
    for index in range(frames):
        layers.show_on(IMAGE, index, a_frame(index))
    return asked


def test_kept_shapes_take_no_more_memory_than_is_allowed(
    layers: Layers, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(workspace_layers, "CACHE_BYTES", 100_000)
    mask = Shape(1, Mask(np.ones((200, 200), bool)))  # 40,000 bytes
    asked = asked_for(layers, 4)
    for request in asked:
        layers.take_frame(request, LayerFrame((mask,)))
    assert layers.entries[0].shapes() == (mask,)  # the shown frame's are never thrown away
    layers.show_on(IMAGE, 0, a_frame(0))
    assert [request.index for request in asked] == [0, 1, 2, 3, 0]
    layers.show_on(IMAGE, 2, a_frame(2))
    assert len(asked) == 5  # two of them fit


def test_a_frame_that_cannot_be_drawn_on_says_so_and_others_are_drawn_on(layers: Layers):
    asked = asked_for(layers, 2)
    layers.fail_frame(asked[1], "it took too long")
    assert layers.entries[0].frame == LayerFrame((), ("not drawn on this image: it took too long",))
    layers.show_on(IMAGE, 0, a_frame(0))
    layers.take_frame(asked[0], LayerFrame((TRIANGLE,)))
    assert layers.entries[0].shapes() == (TRIANGLE,)


def test_a_cancelled_request_is_made_again_when_its_frame_comes_back(layers: Layers):
    asked = asked_for(layers, 2)
    layers.drop_frame(asked[0])
    layers.show_on(IMAGE, 0, a_frame(0))
    assert [request.index for request in asked] == [0, 1, 0]


def test_an_answer_for_a_closed_file_is_not_kept(layers: Layers):
    (request,) = asked_for(layers, 1)
    layers.forget([SEG])
    layers.take_layer(key_of(SEG), liver())
    layers.take_frame(request, LayerFrame((TRIANGLE,)))
    layers.set_image([SEG])
    assert layers.entries[0].layer is None
    assert layers.entries[0].shapes() == ()


def test_showing_only_one_part_hides_the_others(layers: Layers):
    asked_for(layers, 1)
    layers.take_layer(key_of(SEG), liver())
    layers.show_only(key_of(SEG), 2)
    assert layers.entries[0].style.hidden == {1}
    layers.show_all(key_of(SEG))
    assert layers.entries[0].style.hidden == frozenset()


def test_a_layer_that_comes_later_has_the_chosen_opacity(layers: Layers):
    layers.set_opacity(0.9)
    layers.set_image([SEG])
    assert layers.opacity == 0.9


def test_until_the_next_image_is_shown_the_old_one_keeps_what_is_drawn_on_it(layers: Layers):
    (request,) = asked_for(layers, 1)
    layers.take_frame(request, LayerFrame((TRIANGLE,)))
    layers.set_image([SEG])
    assert layers.entries[0].shapes() == (TRIANGLE,)
    layers.show_on(None, 0, None)
    assert layers.entries[0].shapes() == ()


def test_a_reports_regions_are_drawn_on_the_frames_that_it_means(layers: Layers):
    sr = Instance(Path("sr.dcm"), "7", "dicom", 0, 0, content=Content.REPORT)
    layer = Layer(sr, "From the report", (LayerItem(1, "Lesion", (1, 2, 3)),))
    everywhere = Shape(1, Polygon(((1.0, 1.0), (2.0, 1.0), (1.0, 2.0))))
    layers.set_report(layer, {("1.1", 1): (TRIANGLE,), ("1.1", -1): (everywhere,)})
    layers.show_on(IMAGE, 0, a_frame(0))
    assert layers.entries[0].shapes() == (everywhere,)
    layers.show_on(IMAGE, 1, a_frame(1))
    assert layers.entries[0].shapes() == (everywhere, TRIANGLE)
    layers.show_on(replace(IMAGE, sop_instance_uid="1.2"), 1, a_frame(1))
    assert layers.entries == ()
    layers.show_on(IMAGE, 1, a_frame(1))
    layers.forget([sr])
    assert layers.entries == ()


def test_a_reports_regions_are_never_drawn_on_another_patient(layers: Layers):
    sr = Instance(Path("sr.dcm"), "7", "dicom", 0, 0, attributes={"PatientID": "a"})
    layer = Layer(sr, "From the report", (LayerItem(1, "Lesion", (1, 2, 3)),))
    layers.set_report(layer, {("1.1", 1): (TRIANGLE,)})
    layers.show_on(replace(IMAGE, attributes={"PatientID": "b"}), 1, a_frame(1))
    assert layers.entries == ()


def shown(viewport: Viewport, state: PresentationState | None, index: int = 0) -> None:
    requests: list[FrameRequest] = []
    viewport.requested.connect(requests.append)
    viewport.show(IMAGE, index)
    if state is not None:
        viewport.present(state)
    viewport.deliver(requests[-1], a_frame(index))


def scrolled(viewport: Viewport, index: int) -> None:
    requests: list[FrameRequest] = []
    viewport.requested.connect(requests.append)
    viewport.scroll_to(index)
    viewport.deliver(requests[-1], a_frame(index))


def test_a_states_flip_ends_with_the_frames_that_it_is_about_and_comes_back_with_them():
    viewport = Viewport()
    shown(viewport, a_state(flip_h=True))
    assert viewport.display == Display(flip_h=True)
    scrolled(viewport, 1)
    assert viewport.display == Display()
    assert viewport.presented(1) is None
    scrolled(viewport, 0)
    assert viewport.display == Display(flip_h=True)


def test_a_window_by_hand_does_not_hide_that_of_a_state_that_begins_to_apply():
    viewport = Viewport()
    shown(viewport, a_state())
    scrolled(viewport, 1)
    viewport.set_display(Display(Window(1, 2)))
    scrolled(viewport, 2)
    assert viewport.display.window == Window(1, 2)
    scrolled(viewport, 0)
    assert viewport.display.window is None


def test_reset_shows_the_image_as_the_applied_state_wants_it():
    viewport = Viewport()
    shown(viewport, a_state(flip_h=True, quarter_turns=3))
    viewport.set_display(Display(Window(1, 2), invert=True, quarter_turns=1))
    viewport.reset_display()
    assert viewport.display == Display(flip_h=True, quarter_turns=3)


def test_a_neighbour_that_the_state_is_not_about_is_not_flipped_by_it():
    viewport = Viewport()
    shown(viewport, a_state(flip_h=True))
    viewport.show(replace(IMAGE, sop_instance_uid="1.2"), keep_display=True)
    assert viewport.presentation is None
    assert viewport.display == Display()


def test_what_was_set_by_hand_holds_for_a_neighbour():
    viewport = Viewport()
    shown(viewport, None)
    by_hand = Display(Window(1, 2), flip_v=True)
    viewport.set_display(by_hand)
    viewport.show(replace(IMAGE, sop_instance_uid="1.2"), keep_display=True)
    assert viewport.display == by_hand


def test_a_state_of_another_patient_is_not_applied():
    viewport = Viewport()
    viewport.show(replace(IMAGE, attributes={"PatientID": "b"}))
    state = a_state(flip_h=True)
    mine = replace(state.layer, instance=replace(SEG, attributes={"PatientID": "a"}))
    viewport.present(replace(state, layer=mine))
    assert viewport.presentation is None


def test_a_state_about_other_frames_of_the_image_waits_for_them():
    viewport = Viewport()
    shown(viewport, a_state(flip_h=True), index=2)
    assert viewport.presentation is not None
    assert viewport.display == Display()
    scrolled(viewport, 0)
    assert viewport.display == Display(flip_h=True)
