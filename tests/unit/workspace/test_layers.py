"""The layers of the shown image: whose they are, when they are drawn, how they are shown."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from app.imaging.findings import Mask, Polygon
from app.imaging.layers import Layer, LayerFrame, LayerItem, Shape
from app.imaging.presentation import ImagePresentation, PresentationState
from app.imaging.types import Content, Frame, ImageRef, Instance, OverlayPlane, Window
from app.imaging.types import Voi as FileVoi
from app.workspace.layers import OVERLAYS, PRESENTATION, LayerRequest, Layers, key_of, placed
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
    layers.set_opacity(key_of(SEG), 0.8)
    layers.set_image([])
    layers.set_image([SEG])
    assert layers.entries[0].look.opacity == 0.8


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
    got = placed(bits, row, column, 4, 5)
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
    assert [entry.key for entry in layers.entries] == [PRESENTATION]
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
