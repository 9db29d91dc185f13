"""What is a stack, whether it is regular, and what its reader is told."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pydicom
import pytest
import SimpleITK

from app.imaging.decode import Decoder
from app.imaging.space.planes import FramePlane
from app.imaging.space.stacks import (
    NotAStackError,
    Stack,
    geometry_text,
    sort_stack,
    stack_geometry,
    stack_warnings,
    volume_geometry,
    voxel_grid,
)
from app.imaging.studies.catalogue import series_of
from app.imaging.types import Instance, Series
from tests.unit.imaging.test_splitting import SAGITTAL, slice_at


def planes(heights: list[float], drift: float = 0.0) -> list[FramePlane]:
    """Axial slices; `drift` shifts them along y per mm of z."""
    return [FramePlane((0, drift * z, z), (1, 0, 0), (0, 1, 0), (0.5, 0.5), "1.9") for z in heights]


def stack(heights: list[float], drift: float = 0.0) -> Stack:
    return sort_stack(planes(heights, drift), 64, 64)


def told(heights: list[float], drift: float = 0.0, **known: object) -> tuple[str, ...]:
    return stack_warnings(stack(heights, drift), **known)  # pyright: ignore[reportArgumentType]


def test_an_even_stack_is_regular_and_needs_no_words():
    found = stack([5, 0, 2.5, 7.5])
    assert found.order == (1, 2, 0, 3)
    assert found.regular
    assert stack_warnings(found) == ()


def test_distances_may_differ_by_a_hundredth_of_a_millimetre_or_a_percent():
    assert stack([0, 0.3, 0.6 + 0.009, 0.9]).regular
    assert not stack([0, 0.3, 0.6 + 0.02, 0.9]).regular
    assert stack([0, 5, 10 + 0.04, 15]).regular
    assert not stack([0, 5, 10 + 0.08, 15]).regular


def test_a_change_of_the_slice_distance_is_told_with_its_figures():
    (text,) = told([0, 1.08, 2.16, 9.16, 16.16, 23.16])
    assert text == "the slice distance changes from 1.08 to 7.00 mm after slice 3"
    (text,) = told([0, 1.08, 2.16, 9.16, 16.16, 23.16], descending=True)
    assert text == "the slice distance changes from 7.00 to 1.08 mm after slice 4"
    (text,) = told([0, 1, 3, 4, 6, 9, 10])
    assert text == "the slice distance varies between 1.00 and 3.00 mm"


def test_missing_slices_are_counted():
    heights = [float(z) for z in range(0, 60, 5) if z not in (20, 40, 45)]
    (text,) = told(heights)
    assert text == "3 slices are missing after slice 4, 7: 15.00 instead of 5.00 mm"
    (text,) = told([0, 5, 10, 20, 25, 30], descending=True)
    assert text == "1 slice is missing after slice 3: 10.00 instead of 5.00 mm"


def test_a_tilted_gantry_is_told_with_its_angle():
    tangent = math.tan(math.radians(18.5))
    (text,) = told([0, 5, 10, 15], drift=tangent, tilt="+18.5")
    assert "gantry was tilted by 18.5°" in text
    (text,) = told([0, 5, 10, 15], drift=tangent)
    assert "sheared by 18.5°" in text
    assert told([0, 5, 10, 15], drift=0.001) == ()


def test_overlapping_slices_are_told_only_where_the_distance_changes():
    texts = told([0, 4, 8, 9, 16, 23], thickness=4.0)
    assert texts[1] == "slices overlap after slice 3: they are 4.00 mm thick and 1.00 mm apart"
    assert told([0, 1, 2, 3], thickness=2.0) == ()


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        ([], "fewer than two"),
        ([FramePlane((0, 0, 1), (0, 1, 0), (0, 0, 1), (0.5, 0.5), "1.9")], "not parallel"),
        ([FramePlane((0, 0, 1), (1, 0, 0), (0, 1, 0), (0.6, 0.5), "1.9")], "pixel spacings"),
        ([FramePlane((0, 0, 1), (1, 0, 0), (0, 1, 0), (0.5, 0.5), "1.8")], "frames of reference"),
        ([FramePlane((9, 9, 0), (1, 0, 0), (0, 1, 0), (0.5, 0.5), "1.9")], "same position"),
    ],
)
def test_what_is_no_stack_is_refused_with_the_reason(changed: list[FramePlane], reason: str):
    with pytest.raises(NotAStackError, match=reason):
        sort_stack([*planes([0]), *changed], 64, 64)


def test_slices_out_of_each_others_reach_are_refused():
    with pytest.raises(NotAStackError, match="do not line up"):
        volume_geometry(stack([0, 5, 10], drift=20))


def test_the_grid_is_just_as_large_as_the_slices_need():
    """Uneven slices need no more rows; sheared ones as many as the last is shifted by."""
    assert voxel_grid(stack([0, 1, 3])).shape == (4, 64, 64)
    forth, back = voxel_grid(stack([0, 2, 4], drift=1.0)), voxel_grid(stack([0, 2, 4], drift=-1.0))
    assert forth.shape == back.shape == (3, 64 + 8, 64)
    assert (forth.corner, back.corner) == ((0, 0), (0, -8))


def test_what_a_regular_stack_drifts_sideways_is_kept_in_its_direction():
    """By less than it takes to be resampled: the last voxel still lies where its slice says."""
    slices = [
        FramePlane((0.0004 * z, 0.001 * z, z), (1, 0, 0), (0, 1, 0), (2.0, 0.5)) for z in range(4)
    ]
    found = sort_stack(slices, 64, 64)
    assert found.regular
    last = voxel_grid(found).affine @ (0, 0, 3, 1)
    assert last[:3] == pytest.approx(slices[-1].origin, abs=1e-9)


def test_headers_alone_tell_the_geometry():
    series = series_of("1.1", [slice_at(z) for z in range(0, 20, 5)])[0]
    geometry = stack_geometry(series)
    assert geometry is not None
    assert (geometry.size, geometry.spacing) == ((64, 64, 4), (0.5, 0.5, 5.0))
    assert (geometry.origin, geometry.regular) == ((-100.0, -100.0, 0.0), True)
    assert geometry.direction == ((1, 0, 0), (0, 1, 0), (0, 0, 1))


@pytest.mark.parametrize(
    "instances",
    [
        [slice_at(0)],
        [slice_at(0), slice_at(1, "b", ImageOrientationPatient=SAGITTAL)],
        [slice_at(0), slice_at(1, "b", ImageOrientationPatient="")],
        [slice_at(0), slice_at(1, "b", PixelSpacing="0\\0")],
        [slice_at(z, ImageType="A\\B\\LOCALIZER") for z in range(3)],
    ],
)
def test_what_has_no_volume_has_no_geometry(instances: list[Instance]):
    assert stack_geometry(Series("1.1", "", "CT", 1, tuple(instances))) is None


def test_ct_head_warns_of_its_gap_change_and_its_tilt(decoder: Decoder, shared_data: Path):
    (study,) = decoder.scan([shared_data / "series/ct-head"]).result(60).studies
    (series,) = study.series
    assert (len(series.instances), series.order) == (28, "position along the normal")
    gaps, *_, tilt = series.warnings
    assert "changes from 4.00 to 1.08 mm after slice 14, to 7.00 mm after slice 15" in gaps
    assert "tilted by 18.5°" in tilt
    geometry = stack_geometry(series)
    assert geometry is not None
    assert not geometry.regular


def test_mr_t1_has_simpleitks_geometry_from_its_headers(decoder: Decoder, shared_data: Path):
    folder = shared_data / "series/mr-t1"
    (study,) = decoder.scan([folder]).result(60).studies
    geometry = stack_geometry(study.series[0])
    assert geometry is not None
    assert geometry.regular
    reader = SimpleITK.ImageSeriesReader()
    reader.SetFileNames(reader.GetGDCMSeriesFileNames(str(folder)))
    image = reader.Execute()
    assert geometry.size == image.GetSize()
    assert geometry.spacing == pytest.approx(image.GetSpacing(), abs=1e-6)
    assert geometry.origin == pytest.approx(image.GetOrigin(), abs=1e-6)
    assert np.ravel(geometry.direction) == pytest.approx(image.GetDirection(), abs=1e-6)


def test_a_dose_grid_has_simpleitks_geometry(decoder: Decoder):
    path = Path(pydicom.__file__).parent / "data/test_files/rtdose.dcm"
    instance = decoder.scan([path]).result(60).studies[0].series[0].instances[0]
    geometry = stack_geometry(instance)
    image = SimpleITK.ReadImage(str(path))
    assert geometry is not None
    assert geometry.size == image.GetSize()
    assert geometry.spacing == pytest.approx(image.GetSpacing(), abs=1e-6)
    assert geometry.origin == pytest.approx(image.GetOrigin(), abs=1e-6)
    assert instance.get("StackGeometry") == geometry_text(geometry)
