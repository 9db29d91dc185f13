"""The words in the corners: where a slice lies, what to be careful about, and that they fit."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import pytest
from PySide6.QtCore import QPoint, QRectF, Qt
from PySide6.QtGui import QFontMetricsF
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication

from app.imaging.findings import Point
from app.imaging.types import (
    Orientation,
    RealWorldMap,
    Region,
    Rescale,
    Series,
    Spacing,
    SpacingSource,
    Study,
    Voi,
    Window,
)
from app.tools.registry import load_packs
from app.views import wording
from app.views.canvas import corner_text, text_overlay
from app.views.canvas.corner_text import Corners, Detail, Shown
from app.views.theme import THEME
from app.views.wording import PackTexts
from app.workspace.viewport import Display
from app.workspace.workspace import Workspace
from tests.gui.canvas_scene import Scene, move
from tests.gui.viewer_support import finding, found, frame, instance, study

pytestmark = pytest.mark.gui

AXIAL = (1.0, 0.0, 0.0, 0.0, 1.0, 0.0)


@pytest.mark.parametrize(
    ("point", "text"),
    [
        ((12.3, 45.6, 102.0), "L 12.3  P 45.6  H 102.0 mm"),
        ((-12.34, -0.04, -102.0), "R 12.3  P 0.0  F 102.0 mm"),
        ((0.0, -45.6, 0.0), "L 0.0  A 45.6  H 0.0 mm"),
    ],
)
def test_patient_coordinates_in_letters(point: tuple[float, float, float], text: str):
    """LPS: x grows to the left, y to the back, z to the head (PS3.3 C.7.6.2.1.1)."""
    assert wording.patient_text(point) == text


@pytest.mark.parametrize(
    ("cosines", "position", "text"),
    [
        (AXIAL, (-100.0, -100.0, 57.5), "Slice H 57.5 mm"),
        (AXIAL, (-100.0, -100.0, -57.5), "Slice F 57.5 mm"),
        ((1, 0, 0, 0, 0, -1), (-100.0, 12.0, 80.0), "Slice P 12.0 mm"),  # coronal
        ((0, 1, 0, 0, 0, -1), (-30.0, 12.0, 80.0), "Slice R 30.0 mm"),  # sagittal
        ((1, 0, 0, 0, 0.8, -0.6), (0.0, 0.0, 10.0), "Oblique slice at 8.0 mm"),
    ],
)
def test_a_slice_says_where_it_lies(
    cosines: tuple[float, ...], position: tuple[float, float, float], text: str
):
    a, b, c, d, e, f = cosines
    lies = Orientation(cosines=(a, b, c, d, e, f), position=position)
    assert corner_text.slice_text(lies, "") == text
    assert corner_text.slice_text(lies, "4") == f"{text} · 4 mm thick"


@pytest.mark.parametrize("thickness", ["", "0", "-4", "nan", "inf", "thick", "1\\2"])
def test_a_thickness_that_is_none_is_not_told(thickness: str):
    assert corner_text.slice_text(Orientation(), thickness) == ""


def test_an_animal_has_its_own_letters(scene: Scene):
    lies = Orientation("Le", "D", AXIAL, (-20.0, 12.0, -102.0))
    scene.show(spacing=Spacing(0.5, 0.5, SpacingSource.PATIENT), orientation=lies)
    move(scene.canvas.viewport(), scene.at(30, 20), Qt.MouseButton.NoButton)
    assert scene.canvas.overlay.corners.bottom_left[1] == "RT 5.0  D 22.0  CD 102.0 mm"


def test_without_a_place_in_the_patient_none_is_shown(scene: Scene):
    lies = Orientation("L", "P", AXIAL, (-20.0, 12.0, -102.0))
    detector = Spacing(1, 1, SpacingSource.DETECTOR)
    for orientation, spacing in ((lies, Spacing()), (lies, detector), (Orientation(), detector)):
        scene.show(orientation=orientation, spacing=spacing)
        move(scene.canvas.viewport(), scene.at(30, 20), Qt.MouseButton.NoButton)
        lines = scene.canvas.overlay.corners.bottom_left
        assert lines[0] == "x 30  y 20   2000 HU"
        assert lines[1].startswith("Zoom")
        scene.workspace.close_study("s")


def test_real_world_values_stand_beside_the_stored_ones(scene: Scene):
    adc = RealWorldMap(0, 4000, 0.001, 0.0, units="mm2/s", label="ADC")
    scene.show(real_world=(adc,), rescale=Rescale())
    move(scene.canvas.viewport(), scene.at(30, 20), Qt.MouseButton.NoButton)
    assert scene.canvas.overlay.corners.bottom_left[0] == "x 30  y 20   2000 (2 mm2/s ADC)"


def test_notes_of_frame_and_spacing_are_shown(scene: Scene):
    spacing = Spacing(0.2, 0.2, SpacingSource.CALIBRATED, note="corrected for a magnification of 2")
    scene.show(note="resampled", spacing=spacing)
    corners = scene.canvas.overlay.corners
    assert corners.bottom_right == ("Resampled", "0.2 mm/px · calibrated")
    assert corners.scale == ("Corrected for a magnification of 2",)


def test_regions_of_several_scales_are_not_called_an_unknown_spacing(scene: Scene):
    regions = (
        Region(0, 0, 49, 79, 0.2, 0.2, "mm", "mm", "2D"),
        Region(50, 0, 99, 79, 0.005, -10, "s", "mm/s", "spectral"),
    )
    scene.show(regions=regions, spacing=Spacing(note="several"))
    assert scene.canvas.overlay.corners.scale == (wording.REGION_SPACING,)
    bare = Region(0, 0, 99, 79, 1.0, 1.0, "", "", "2D")
    scene.show(regions=(bare,), spacing=Spacing(note="no region is calibrated"))
    assert scene.canvas.overlay.corners.scale == (wording.UNKNOWN_SPACING,)


def test_warnings_of_the_series_are_on_the_image_briefly(scene: Scene):
    image = dataclasses.replace(instance(), note="made from a film")
    tilt = "the gantry was tilted by 18.5°: each slice is shifted against the one before"
    series = Series("s.1", "Axial", "CT", 1, (image,), warnings=(tilt, "oblique: 8°"))
    scene.workspace.add(found(Study("s", "CT", "Doe", "1", "", (series,))))
    scene.settle()
    assert scene.canvas.overlay.corners.series_warning == (
        "The gantry was tilted by 18.5°",
        "Oblique: 8°",
        "Made from a film",
    )
    many = dataclasses.replace(series, warnings=tuple(f"warning {n}" for n in range(19)))
    lines = corner_text.series_warnings(many, instance())
    assert lines[-1] == "8 more warnings in the study list"
    assert len(lines) == corner_text.MOST_WARNINGS


def test_several_warnings_are_behind_a_sign_that_unfolds_on_hover_and_stays_on_click(scene: Scene):
    warnings = ("2 slices are missing", "the slices overlap", "shifted by 2°")
    series = Series("s.1", "Axial", "CT", 1, (instance(),), warnings=warnings)
    doubt = "another patient has the same Study Instance UID: check whose images these are"
    scene.workspace.add(
        found(Study("s", "CT", "Doe", "1", "", (series,), warnings=(doubt,))), show=True
    )
    scene.settle()
    overlay = scene.canvas.overlay

    def told() -> list[str]:
        texts = " ".join(text for text, _ in overlay._laid_out()[1].lines).casefold()
        return [
            word for word in ("another patient", "missing", "overlap", "shifted") if word in texts
        ]

    assert told() == ["another patient"], "the most serious one"
    sign = overlay._laid_out()[1].sign
    assert sign is not None
    texts = [text for text, _ in overlay._laid_out()[1].lines]
    assert texts[-1] == f"{corner_text.SIGN} 3 more warnings"
    folded = scene.canvas.grab().toImage()
    away, view = QPoint(20, 200), scene.canvas.viewport()
    move(view, sign.center().toPoint(), Qt.MouseButton.NoButton)
    assert told() == ["another patient", "missing", "overlap", "shifted"]
    assert scene.canvas.grab().toImage() != folded
    assert scene.canvas.cursor().shape() == Qt.CursorShape.PointingHandCursor
    move(view, away, Qt.MouseButton.NoButton)
    assert told() == ["another patient"]
    move(view, sign.center().toPoint(), Qt.MouseButton.NoButton)
    QTest.mouseClick(view, Qt.MouseButton.LeftButton, pos=sign.center().toPoint())
    move(view, away, Qt.MouseButton.NoButton)
    assert len(told()) == 4
    assert scene.workspace.viewport.display.window is None


def test_what_protects_a_patient_is_never_hidden(scene: Scene):
    series = Series("s.1", "Axial", "CT", 1, (instance(),), warnings=("slices are missing",))
    doubt = "another patient has the same Study Instance UID: check whose images these are"
    scene.workspace.add(found(Study("s", "CT", "Doe", "1", "", (series,), warnings=(doubt,))))
    scene.settle()
    scene.workspace.viewport.set_display(Display(flip_h=True))
    scene.workspace.annotations.add([finding(scene.canvas.frame.ref, Point(4, 4))])
    scene.canvas.overlay.set_synthetic("a model")
    scene.settle()
    for detail in Detail:
        scene.canvas.set_detail(detail)
        for size in ((500, 400), (250, 250)):
            scene.canvas.resize(*size)
            scene.settle()
            corners = scene.canvas.overlay.corners
            assert corners.scale == (wording.UNKNOWN_SPACING,)
            assert corners.folded()[0] == "Another patient has the same Study Instance UID"
            assert corners.mark == ("Flipped left-right",)
            assert corners.warning[0] == wording.NOT_FOR_DIAGNOSIS
            assert scene.canvas.overlay.synthetic == "a model"
        withdrawn = Shown(instance(), frame(), rejection="Rejected for Quality Reasons")
        assert corner_text.corners_of(withdrawn, detail).folded()[0].startswith("WITHDRAWN")


def test_only_risks_have_the_warning_colour(scene: Scene):
    scene.show(lossy="Lossy JPEG 10:1")
    scene.workspace.annotations.add([finding(scene.canvas.frame.ref, Point(4, 4))])
    scene.settle()
    lines = [line for block in scene.canvas.overlay._laid_out() for line in block.lines]
    amber = {text for text, tint in lines if tint == THEME.warning}
    assert amber == {"AI results: not for diagnosis", wording.UNKNOWN_SPACING}


def test_corner_text_is_read_on_white_bone_and_on_black(scene: Scene):
    for value in (0, 3000):
        scene.show(stored=np.full((80, 100), value, np.int16))
        image = scene.canvas.grab().toImage()
        rect = scene.canvas.overlay._laid_out()[0].rect.toAlignedRect()
        greys = [
            image.pixelColor(x, y).red()
            for x in range(rect.left(), rect.right())
            for y in range(rect.top(), rect.bottom())
        ]
        assert max(greys) > 190
        assert min(greys) < 30
        scene.workspace.close_study("s")


def test_a_series_that_grows_while_it_is_shown_is_counted_anew(scene: Scene):
    images = [instance(f"1.{number}") for number in range(1, 6)]
    scene.workspace.add(found(study(*images[:2])))
    scene.settle()
    assert "Image 1 / 2" in scene.canvas.overlay.corners.top_right
    scene.workspace.add(found(study(*images)), show=False)
    assert "Image 1 / 5" in scene.canvas.overlay.corners.top_right


def test_long_lines_are_wrapped_and_every_line_fits(qapp: QApplication):
    area = QRectF(0, 0, 580, 690)
    long = "Valid inside the ultrasound image, not in scales or traces next to it, nor elsewhere"
    corners = Corners(top_right=(long,), top_left=("ID " + "x" * 120,), bottom_right=("short",))
    blocks = text_overlay.corner_blocks(corners, area)
    metrics = QFontMetricsF(text_overlay.corner_font())
    for block in blocks:
        assert area.contains(block.rect)
        for text, _ in block.lines:
            assert metrics.horizontalAdvance(text) <= area.width() / 2
    left, right = blocks[0], blocks[1]
    assert len(left.lines) == 1  # nothing to break at: cut, not "ID" alone
    assert " ".join(text for text, _ in right.lines) == long
    assert not left.rect.intersects(right.rect)


def test_a_warning_in_a_tiny_viewport_is_not_written_over(qapp: QApplication):
    corners = Corners(
        top_right=("Section 251 / 512", "Slice A 5.0 mm"),
        bottom_right=("8 × 0.7 mm/px · patient",),
        series_warning=("Distances between the slices differ",),
        small=True,
    )
    for height in (150, 120):
        blocks = text_overlay.corner_blocks(corners, QRectF(0, 0, 175, height))
        upper, *lower = [block for block in blocks if block.right]
        assert any("warning" in text for text, _tint in upper.lines)
        assert all(upper.rect.bottom() <= block.rect.top() for block in lower)
        assert upper.rect.bottom() <= height
    roomy = text_overlay.corner_blocks(corners, QRectF(0, 0, 400, 300))
    assert any("mm/px" in text for block in roomy for text, _tint in block.lines)


def test_many_tools_do_not_cover_the_image_with_their_names(scene: Scene):
    scene.canvas.resize(400, 500)
    scene.show()
    ref = scene.canvas.frame.ref
    few, many = [
        [finding(ref, Point(40, 40), f"F{n}", f"chest_xray_tool_{n}") for n in range(count)]
        for count in (1, 6)
    ]
    canvas = scene.canvas.overlay

    def corner() -> text_overlay.Block:
        scene.settle()
        return canvas._laid_out()[-1]

    scene.workspace.annotations.add(few)
    assert any("Chest xray tool 0" in text for text, _ in corner().lines)
    scene.workspace.annotations.add(many[1:])
    block = corner()
    assert block.rect.height() <= canvas.height() * text_overlay.MOST_HEIGHT
    lines = [text for text, _ in block.lines]
    assert lines[0].startswith("AI")
    assert corner_text.TOOLS_IN_LIST in lines
    assert not any("Chest xray" in line for line in lines)


def test_the_image_and_the_list_name_tools_as_people_do(scene: Scene):
    scene.show()
    registry = load_packs([])
    specs = [tool.spec for tool in registry.all()]
    titles = PackTexts(specs, registry.plans).result_titles
    assert titles["chest_xray_segmentation"] == "Chest segmentation"
    workspace = Workspace(registry.labels, titles)
    made = finding(scene.canvas.frame.ref, Point(4, 4), "Heart", "chest_xray_segmentation")
    assert wording.maker_text(made, workspace.title_of) == "Chest segmentation · net-1"
    assert wording.maker_details(made) == "chest_xray_segmentation 1.0 · net-1"
    scene.workspace.annotations.add([made])
    scene.settle()
    assert scene.canvas.overlay.corners.warning == (
        wording.NOT_FOR_DIAGNOSIS, "Chest xray segmentation · net-1",
    )  # fmt: skip


def test_the_name_of_a_file_is_told_once():
    volume = dataclasses.replace(instance("b"), kind="volume", path=Path("/x/b.mha"))
    plain = dataclasses.replace(volume, attributes={})
    named = dataclasses.replace(volume, attributes={"SeriesDescription": "b.mha"})
    for image in (plain, named):
        assert corner_text.series_lines(image, ()).count("b.mha") == 1


@pytest.mark.parametrize("lut", [-1, 0])
def test_what_a_file_calls_its_window_and_state_is_not_told_without_names(lut: int):
    window = Window(40.0, 400.0, explanation="for DOE JANE", lut=lut)
    shown = Shown(
        instance("1.2.3", PatientName="Doe^Jane", SeriesDescription="Doe axial"),
        frame(voi=Voi((window,))),
        window=window,
        presentation="Presentation: DOE",
    )
    assert str(corner_text.corners_of(shown)).count("DOE") >= 2
    said = str(corner_text.corners_of(shown, Detail.NO_NAMES))
    assert "doe" not in said.lower()
    assert "Presentation state" in said
    assert ("W 400  C 40" in said) == (lut < 0)
