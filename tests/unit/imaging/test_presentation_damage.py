"""Presentation states that are damaged, only partly understood, or pass between processes."""

from __future__ import annotations

import math
import subprocess
import sys
from pathlib import Path
from typing import Any

import pydicom
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from app.imaging.decode import Decoder
from app.imaging.findings import Point
from app.imaging.objects.presentation_states import read_presentation
from app.imaging.pixels import presentation_pipeline
from app.imaging.pixels.pipeline import render
from app.imaging.presentation import (
    presentation_from,
    presentation_message,
)
from app.imaging.reading.image_entries import read_frame, read_instance
from app.imaging.types import Content
from tests.unit.imaging.files import item, lut_item, make_dicom
from tests.unit.imaging.presentation_files import (
    HOUNSFIELD,
    annotation,
    graphic,
    grey_image,
    make_state,
    presented,
    read,
    reference,
    state_of,
    voi,
)


@pytest.fixture
def image(tmp_path: Path) -> Path:
    return grey_image(tmp_path)


DAMAGED: tuple[dict[str, Any], ...] = (
    {"ReferencedSeriesSequence": None},
    {"DisplayedAreaSelectionSequence": []},
    {"DisplayedAreaSelectionSequence": [item(PresentationPixelAspectRatio=[0, -1])]},
    {"ImageRotation": 45, "ImageHorizontalFlip": "MAYBE"},
    {"SoftcopyVOILUTSequence": [item()]},
    {"SoftcopyVOILUTSequence": voi(0, 0)},
    {"SoftcopyVOILUTSequence": voi(0, -5)},
    {"ModalityLUTSequence": [item()]},
    {"PresentationLUTSequence": [item(LUTExplanation="none")], "PresentationLUTShape": "ODD"},
    {"ShutterShape": "RECTANGULAR", "ShutterLeftVerticalEdge": 9},
    {"ShutterShape": "BITMAP", "ShutterOverlayGroup": 0x6000},
    {"ShutterShape": "CIRCULAR", "CenterOfCircularShutter": [1, 1], "RadiusOfCircularShutter": -3},
    {"GraphicAnnotationSequence": [annotation(graphic("CIRCLE", 1, 1))]},
    {"GraphicAnnotationSequence": [annotation(graphic("POLYLINE", math.nan, 1, 2, 3))]},
    {"GraphicAnnotationSequence": [annotation(graphic("SPIRAL", 1, 1, 2, 2))]},
    {"GraphicAnnotationSequence": [annotation(graphic("POINT", 1, 1, units="FURLONG"))]},
    {"GraphicAnnotationSequence": [item(TextObjectSequence=[item(UnformattedTextValue="x")])]},
)


@pytest.mark.parametrize("number", range(len(DAMAGED)))
def test_damaged_states_warn_and_never_fail(image: Path, number: int):
    state = read(state_of(image, **DAMAGED[number]))
    for presentation in state.images.values():
        render(presentation_pipeline.apply_presentation(read_frame(image, 0), presentation))
        assert not presentation.shapes
        assert presentation.shutter is None
    assert state.warnings


@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(cut=st.integers(400, 2200), noise=st.binary(min_size=1, max_size=24), at=st.floats(0, 1))
def test_mutated_files_never_raise_what_is_no_file_problem(
    image: Path, cut: int, noise: bytes, at: float
):
    from app.errors import FileProblem

    path = state_of(
        image,
        **HOUNSFIELD,
        SoftcopyVOILUTSequence=voi(),
        GraphicAnnotationSequence=[annotation(graphic("CIRCLE", 5, 4, 8, 8))],
        ShutterShape="CIRCULAR",
        CenterOfCircularShutter=[4, 7],
        RadiusOfCircularShutter=3,
    )
    instance = read_instance(path)
    data = path.read_bytes()[:cut]
    start = 132 + int(at * max(len(data) - 132, 0))
    path.write_bytes(data[:start] + noise + data[start + len(noise) :])
    try:
        state = read_presentation(instance)
    except FileProblem:
        return
    for presentation in state.images.values():
        presentation_pipeline.apply_presentation(read_frame(image, 0), presentation)
    presentation_from(presentation_message(state))


def test_a_message_says_what_holds_for_all_images_once(tmp_path: Path):
    images = [pydicom.dcmread(make_dicom(tmp_path / f"{number}.dcm")) for number in range(3)]
    windows = [
        item(WindowCenter=number, WindowWidth=9, ReferencedImageSequence=[reference(one)])
        for number, one in enumerate(images)
    ]
    table = lut_item(0, 12, list(range(4096)))
    state = read(
        make_state(
            tmp_path / "s.dcm",
            images,
            SoftcopyVOILUTSequence=windows,
            PresentationLUTShape=None,
            PresentationLUTSequence=[table],
        )
    )
    message = presentation_message(state)
    assert "presentation_lut" in message["common"]
    assert all("presentation_lut" not in one for one in message["said"])
    for number, one in enumerate(images):
        found = presentation_from(message).of(str(one.SOPInstanceUID), 0)
        assert found is not None
        assert found.presentation_lut is not None
        assert found.presentation_lut.data.tolist() == list(range(4096))
        assert found.voi is not None
        assert found.voi.windows[0].center == number


def test_a_message_gives_the_same_state(image: Path):
    state = read(
        state_of(
            image,
            SoftcopyVOILUTSequence=voi(),
            GraphicAnnotationSequence=[annotation(graphic("CIRCLE", 5, 4, 8, 8))],
        )
    )
    back = presentation_from(presentation_message(state))
    assert back.images.keys() == state.images.keys()
    assert back.layer == state.layer
    assert [s.geometry for i in back.images.values() for s in i.shapes] == [
        s.geometry for i in state.images.values() for s in i.shapes
    ]


def test_through_the_worker_processes(decoder: Decoder, image: Path):
    path = state_of(
        image,
        **HOUNSFIELD,
        SoftcopyVOILUTSequence=voi(),
        GraphicAnnotationSequence=[annotation(graphic("POINT", 0.5, 0.5))],
    )
    scan = decoder.scan([path, image]).result(timeout=60)
    instances = [one for s in scan.studies for series in s.series for one in series.instances]
    state_file = next(one for one in instances if one.content is Content.PRESENTATION)
    picture = next(one for one in instances if one.is_image)
    state = decoder.presentation(state_file).result(timeout=60)
    presentation = state.of(picture.sop_instance_uid, 0)
    assert presentation is not None
    assert [shape.geometry for shape in presentation.shapes] == [Point(0, 0)]
    applied = presentation_pipeline.apply_presentation(
        decoder.frame(picture).result(timeout=60), presentation
    )
    assert applied.voi.windows[0].width == 1000
    assert state.layer.title == "STATE"
    assert state.description == "What was seen. Reader, Ann 2024-01-02"


def test_showing_a_state_or_a_report_needs_no_parser():
    """The window's process applies and draws; only the worker processes parse files."""
    modules = (
        "app.imaging.pixels.presentation_pipeline, app.imaging.report, app.imaging.presentation"
    )
    code = f"import sys, {modules}; sys.exit('pydicom' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], timeout=60, check=False).returncode == 0


@pytest.mark.parametrize(
    ("uid", "words"),
    [
        ("1.2.840.10008.5.1.4.1.1.11.4", "blending"),
        ("1.2.840.10008.5.1.4.1.1.11.8", "blending"),
        ("1.2.840.10008.5.1.4.1.1.11.6", "partly understood"),
        ("1.2.840.10008.5.1.4.1.1.11.9", "partly understood"),
    ],
)
def test_states_that_are_only_partly_understood_say_so(image: Path, uid: str, words: str):
    found = read(state_of(image, SOPClassUID=uid))
    assert any(words in warning for warning in found.warnings)
    frame, _ = presented(image, state_of(image, SOPClassUID=uid))
    assert frame.voi == read_frame(image, 0).voi


@pytest.mark.parametrize(
    ("elements", "words"),
    [
        ({"RedPaletteColorLookupTableDescriptor": [256, 0, 16]}, "palette"),
        ({"MaskSubtractionSequence": [item(MaskOperation="AVG_SUB")]}, "mask"),
    ],
)
def test_parts_that_are_not_applied_are_named(image: Path, elements: dict[str, Any], words: str):
    found = read(state_of(image, SoftcopyVOILUTSequence=voi(), **elements))
    assert [words in warning for warning in found.warnings] == [True]
