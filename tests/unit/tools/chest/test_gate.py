"""What never reaches a chest model."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from app.tools.api import ToolFailed, ToolRetry
from app.tools.chest import gate
from app.tools.files import save_png
from tests.unit.tools.chest.synthetic import radiograph
from tests.unit.tools.support import Bench, write_dicom


def admit(bench: Bench, **attributes: Any) -> gate.Admission:
    bench.open(write_dicom(bench.folder / "a.dcm", radiograph(), **attributes))
    return gate.admit(bench.images.resolve("image-1"))


@pytest.mark.parametrize("modality", ["CT", "US", "MR", "MG", "NM", "OT", "PX", "XA"])
def test_other_modalities_are_refused_by_name(bench: Bench, modality: str):
    with pytest.raises(ToolFailed, match=f"this image is {modality}, not a chest radiograph"):
        admit(bench, Modality=modality)


@pytest.mark.parametrize("modality", ["CR", "DX", "RG"])
def test_radiographs_pass(bench: Bench, modality: str):
    assert admit(bench, Modality=modality) == gate.Admission("PA", ())


def test_a_file_without_modality_passes_with_a_warning(bench: Bench):
    assert admit(bench, Modality=None).warnings


@pytest.mark.parametrize("part", ["SKULL", "ABDOMEN", "HAND", "KNEE", "CSPINE", "PELVIS"])
def test_other_body_parts_are_refused(bench: Bench, part: str):
    with pytest.raises(ToolFailed, match="not the chest"):
        admit(bench, BodyPartExamined=part)


@pytest.mark.parametrize("part", ["CHEST", "THORAX", "PORT CHEST", "CHESTABDOMEN", "UNKNOWN", None])
def test_a_chest_or_an_unknown_part_passes(bench: Bench, part: str | None):
    assert admit(bench, BodyPartExamined=part).position == "PA"


@pytest.mark.parametrize("view", ["LL", "RL", "LATERAL", "LAT", "LLO"])
def test_laterals_are_refused(bench: Bench, view: str):
    with pytest.raises(ToolFailed, match="lateral"):
        admit(bench, ViewPosition=view)


def test_a_lateral_is_told_by_its_orientation_too(bench: Bench):
    with pytest.raises(ToolFailed, match="lateral"):
        admit(bench, ViewPosition=None, PatientOrientation=["A", "F"])


@pytest.mark.parametrize(("view", "position"), [("AP", "AP"), ("PA", "PA"), (None, "unknown")])
def test_the_view_is_passed_on(bench: Bench, view: str | None, position: str):
    assert admit(bench, ViewPosition=view).position == position


def test_a_derived_png_of_a_ct_is_still_a_ct(bench: Bench):
    bench.open(write_dicom(bench.folder / "ct.dcm", radiograph(), Modality="CT"))
    source = bench.images.resolve("image-1")
    path = save_png(source.display, bench.out, "dicom")
    bench.images.add_derived(path, source)
    with pytest.raises(ToolFailed, match="this image is CT"):
        gate.admit(bench.images.resolve(str(path)))


def test_a_picture_passes_with_a_warning(bench: Bench):
    path = save_png((radiograph() >> 4).astype(np.uint8), bench.out, "x")
    admission = gate.admit(bench.images.resolve(str(path)))
    assert "picture" in admission.warnings[0]


def test_an_overlay_is_sent_back_for_the_original(bench: Bench):
    bench.open(write_dicom(bench.folder / "a.dcm", radiograph()))
    source = bench.images.resolve("image-1")
    colours = np.repeat(source.display[..., None], 3, axis=2)
    colours[:60, :, 0] = 255
    path = save_png(colours, bench.out, "segmentation")
    bench.images.add_derived(path, source)
    with pytest.raises(ToolRetry, match="original image"):
        gate.admit(bench.images.resolve(str(path)))


def test_a_photograph_is_refused(bench: Bench):
    rng = np.random.default_rng(1)
    photo = bench.folder / "photo"
    photo.mkdir()
    path = save_png(rng.integers(0, 255, (50, 60, 3), np.uint8), photo, "p")
    bench.open(path)
    with pytest.raises(ToolFailed, match="colour picture"):
        gate.admit(bench.images.resolve("image-1"))


def test_luma_of_grey_is_grey():
    grey = np.arange(256, dtype=np.uint8).reshape(16, 16)
    np.testing.assert_array_equal(gate.grey(np.repeat(grey[..., None], 3, axis=2)), grey)
