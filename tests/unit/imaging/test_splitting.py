"""One Series Instance UID as the stacks it holds: what is split, what stays, and why."""

from __future__ import annotations

import math
import random
from dataclasses import replace
from pathlib import Path

import pytest

from app.imaging.studies.catalogue import series_of
from app.imaging.types import Content, Instance, Series

AXIAL, SAGITTAL = "1\\0\\0\\0\\1\\0", "0\\1\\0\\0\\0\\-1"


def slice_at(z: float, name: str = "", number: int = 0, /, **attributes: str) -> Instance:
    """A CT slice; attributes by DICOM keyword."""
    values = {
        "SeriesInstanceUID": "1.1",
        "Modality": "CT",
        "ImageOrientationPatient": AXIAL,
        "ImagePositionPatient": f"-100\\-100\\{z:g}",
        "PixelSpacing": "0.5\\0.5",
        "FrameOfReferenceUID": "1.9",
        "PhotometricInterpretation": "MONOCHROME2",
        "InstanceNumber": str(number) if number else "",
    }
    values |= attributes
    path = Path(name or f"{z:g}-{number}-{sorted(attributes.values())}")
    return Instance(path, str(path), "dicom", 64, 64, number=number, attributes=values)


def parts(*instances: Instance) -> list[Series]:
    """The series' parts; the same whatever the order of the files."""
    found = series_of("1.1", instances)
    shuffled = list(instances)
    for seed in range(3):
        random.Random(seed).shuffle(shuffled)
        assert series_of("1.1", shuffled) == found
    assert series_of("1.1", instances[::-1]) == found
    assert [one.part for one in found] == list(range(len(found)))
    assert len({one.key for one in found}) == len(found)
    assert sum(len(one.instances) for one in found) == len(instances)
    return found


def heights(series: Series) -> list[float]:
    return [float(one.get("ImagePositionPatient").split("\\")[2]) for one in series.instances]


def test_a_stack_is_one_series_in_the_order_of_its_positions():
    (one,) = parts(*(slice_at(z) for z in (7.5, 0, 5, 2.5)))
    assert heights(one) == [0, 2.5, 5, 7.5]
    assert (one.split, one.order, one.warnings) == ("", "position along the normal", ())


def test_slices_numbered_from_the_head_down_are_shown_from_the_head_down():
    (one,) = parts(*(slice_at(z, "", 10 - z) for z in range(5)))
    assert heights(one) == [4, 3, 2, 1, 0]
    assert one.order == "position along the normal"


def test_numbers_that_contradict_the_positions_do_not_order():
    (one,) = parts(*(slice_at(z, "", n) for z, n in ((0, 3), (1, 1), (2, 2))))
    assert heights(one) == [0, 1, 2]


@pytest.mark.parametrize(
    "varying",
    [
        "AcquisitionNumber",
        "AcquisitionTime",
        "WindowCenter",
        "ImageType",
        "SliceThickness",
        "KVP",
        "EchoTime",
        "TriggerTime",
        "RescaleSlope",
    ],
)
def test_slices_with_places_of_their_own_are_one_stack_whatever_else_differs(varying: str):
    slices = [slice_at(z, **{varying: str(1 + z // 2)}) for z in range(6)]
    assert len(parts(*slices)) == 1


@pytest.mark.parametrize(
    ("keyword", "values", "names"),
    [
        ("TemporalPositionIdentifier", ("1", "2"), ("phase 1", "phase 2")),
        ("EchoTime", ("4.6", "9.2"), ("echo time 4.6 ms", "echo time 9.2 ms")),
        ("EchoNumbers", ("1", "2"), ("echo 1", "echo 2")),
        ("DiffusionBValue", ("0", "800"), ("b-value 0", "b-value 800")),
        ("ImageType", ("ORIGINAL\\PRIMARY\\M", "ORIGINAL\\PRIMARY\\P"), ("image type M",)),
        ("ConvolutionKernel", ("B30f", "B70f"), ("kernel B30f", "kernel B70f")),
        ("ContrastBolusAgent", ("", "Iomeprol"), ("no contrast", "contrast Iomeprol")),
        ("TriggerTime", ("0", "45"), ("trigger time 0 ms", "trigger time 45 ms")),
        ("AcquisitionNumber", ("3", "4"), ("acquisition 3", "acquisition 4")),
        ("AcquisitionTime", ("101500", "101512"), ("acquisition time 101500",)),
        ("SliceThickness", ("1", "5"), ("slice thickness 1 mm",)),
    ],
)
def test_images_at_the_same_places_are_split_by_what_tells_them_apart(
    keyword: str, values: tuple[str, str], names: tuple[str, ...]
):
    slices = [slice_at(z, **{keyword: value}) for z in range(4) for value in values]
    found = parts(*slices)
    assert len(found) == 2
    assert {one.split for one in found} >= set(names)
    for one in found:
        assert heights(one) == [0, 1, 2, 3]
        assert len({item.get(keyword) for item in one.instances}) == 1


def test_phases_whose_times_differ_from_slice_to_slice_are_told_by_their_rank():
    """A cine heart: 3 phases of 4 slices, each slice triggered on its own."""
    slices = [
        slice_at(z, TriggerTime=f"{phase * 40 + z}", AcquisitionTime=f"10{z}0{phase}0")
        for z in range(4)
        for phase in range(3)
    ]
    found = parts(*slices)
    assert [one.split for one in found] == [f"phase {n} of 3 (by trigger time)" for n in (1, 2, 3)]
    assert [one.get("TriggerTime") for one in found[1].instances] == ["40", "41", "42", "43"]


def test_diffusion_directions_are_split_within_their_b_value():
    slices = [slice_at(z, f"b0-{z}", 1 + z, DiffusionBValue="0") for z in range(3)]
    for direction in range(2):
        slices += [
            slice_at(z, f"b1-{direction}-{z}", 10 + 3 * direction + z, DiffusionBValue="1000")
            for z in range(3)
        ]
    found = parts(*slices)
    assert [one.split for one in found] == [
        "b-value 0",
        "b-value 1000, phase 1 of 2 (by instance number)",
        "b-value 1000, phase 2 of 2 (by instance number)",
    ]


def test_a_slice_that_is_there_twice_is_no_phase_but_a_warning():
    slices = [slice_at(z, "", 1 + int(z)) for z in range(6)]
    (one,) = parts(*slices, slice_at(2, "again", 9))
    assert one.order == "instance number"
    assert "same position" in one.warnings[0]


def test_a_localiser_in_a_stack_is_split_off():
    scout = replace(slice_at(0, "scout", ImageOrientationPatient=SAGITTAL), rows=128)
    found = parts(scout, *(slice_at(z) for z in range(5)))
    assert sorted(len(one.instances) for one in found) == [1, 5]
    same_size = slice_at(9, "scout", ImageOrientationPatient=SAGITTAL)
    found = parts(same_size, *(slice_at(z) for z in range(5)))
    assert {one.split for one in found} == {"orientation axial", "orientation sagittal"}
    named = slice_at(9, "scout", ImageType="ORIGINAL\\PRIMARY\\LOCALIZER")
    found = parts(named, *(slice_at(z) for z in range(5)))
    assert {one.split for one in found} == {"images", "localiser"}


def test_rounded_directions_are_one_direction():
    slices = [
        slice_at(z, ImageOrientationPatient=f"1\\{1e-4 * z:.4f}\\0\\0\\1\\0") for z in range(5)
    ]
    assert len(parts(*slices)) == 1


def test_scouts_in_several_directions_stay_together():
    scouts = [
        slice_at(0, "a", ImageOrientationPatient=AXIAL),
        slice_at(1, "b", ImageOrientationPatient=SAGITTAL),
        slice_at(2, "c", ImageOrientationPatient="1\\0\\0\\0\\0\\-1"),
    ]
    assert len(parts(*scouts)) == 1
    localisers = [
        slice_at(z, f"{way}{z}", ImageOrientationPatient=way, ImageType="A\\B\\LOCALIZER")
        for z in range(4)
        for way in (AXIAL, SAGITTAL)
    ]
    assert len(parts(*localisers)) == 1


def test_images_turned_round_an_axis_stay_together():
    """A rotating MIP: a hundred directions of one image each are no hundred stacks."""
    turned = [
        slice_at(
            0,
            f"mip{n}",
            n + 1,
            ImageOrientationPatient=f"{math.cos(n / 16):.6f}\\{math.sin(n / 16):.6f}\\0\\0\\0\\-1",
        )
        for n in range(100)
    ]
    (one,) = parts(*turned)
    assert one.order == "instance number"


@pytest.mark.parametrize(
    ("changed", "names"),
    [
        ({"PixelSpacing": "0.7\\0.7"}, "pixels of 0.7 x 0.7 mm"),
        ({"FrameOfReferenceUID": "1.10"}, "frame of reference"),
        ({"PhotometricInterpretation": "RGB"}, "in colour"),
        ({"ImagePositionPatient": ""}, "without a position"),
    ],
)
def test_images_of_another_grid_are_another_stack(changed: dict[str, str], names: str):
    others = [slice_at(10 + z, f"other{z}", **changed) for z in range(4)]
    found = parts(*(slice_at(z) for z in range(4)), *others)
    assert [len(one.instances) for one in found] == [4, 4]
    assert any(names in one.split for one in found)


def test_a_slice_that_does_not_name_its_frame_of_reference_stays_with_the_others():
    assert len(parts(slice_at(0, FrameOfReferenceUID=""), slice_at(1), slice_at(2))) == 1


def test_stacks_beside_each_other_are_split():
    """Two stations of a spine: the same sagittal planes, one below the other."""
    slices = [
        slice_at(
            0,
            f"{station}{x}",
            ImageOrientationPatient=SAGITTAL,
            ImagePositionPatient=f"{4 * x}\\-100\\{z}",
        )
        for station, z in (("upper", 300), ("lower", 0))
        for x in range(5)
    ]
    found = parts(*slices)
    assert [len(one.instances) for one in found] == [5, 5]
    assert all(one.order == "position along the normal" for one in found)


@pytest.mark.parametrize("modality", ["MG", "CR", "DX", "US", "XC"])
def test_views_of_one_series_stay_together_whatever_their_size(modality: str):
    views = [
        Instance(Path(name), name, "dicom", rows, 64, number=n, attributes={"Modality": modality})
        for n, (name, rows) in enumerate([("cc", 64), ("mlo", 80), ("spot", 32)], start=1)
    ]
    (one,) = parts(*views)
    assert one.order == "instance number"


def test_objects_and_clips_are_apart_from_single_images():
    report = replace(slice_at(0, "sr"), content=Content.REPORT, rows=0, columns=0)
    clip = replace(slice_at(0, "clip"), frames=30)
    found = parts(*(slice_at(z) for z in range(3)), report, clip)
    assert sorted((one.split, len(one.instances)) for one in found) == [
        ("images", 3),
        ("multi-frame", 1),
        ("report", 1),
    ]


def test_absurd_geometry_is_no_geometry():
    for key, value in (
        ("ImagePositionPatient", "a\\b\\c"),
        ("ImagePositionPatient", "1\\2"),
        ("ImagePositionPatient", "nan\\0\\0"),
        ("ImageOrientationPatient", "0\\0\\0\\0\\0\\0"),
        ("ImageOrientationPatient", "1\\0\\0\\1\\0\\0"),
        ("ImageOrientationPatient", "inf\\0\\0\\0\\1\\0"),
    ):
        (one,) = parts(*(slice_at(0, f"im{n}", n, **{key: value}) for n in (3, 1, 2)))
        assert one.order == "instance number"
        assert [item.number for item in one.instances] == [1, 2, 3]


def test_without_positions_and_numbers_time_orders_then_the_name():
    timed = [
        slice_at(0, name, ImagePositionPatient="", AcquisitionTime=time)
        for name, time in (("a", "1002"), ("b", "1001"), ("c", "1000.5"))
    ]
    (one,) = parts(*timed)
    assert [item.path.name for item in one.instances] == ["c", "b", "a"]
    assert one.order == "acquisition time"
    (one,) = parts(*(slice_at(0, name, ImagePositionPatient="") for name in ("im10", "im9")))
    assert [item.path.name for item in one.instances] == ["im9", "im10"]
    assert one.order == "file name"


@pytest.mark.parametrize(
    "keyword", ["TriggerTime", "AcquisitionTime", "TemporalPositionIdentifier"]
)
def test_images_of_one_place_over_time_are_one_series(keyword: str):
    """A beating heart's slice, the tracking of a bolus: scrolled through, not 20 series of one."""
    (one,) = parts(*(slice_at(8, "", n + 1, **{keyword: f"{n * 30}"}) for n in range(20)))
    assert [item.number for item in one.instances] == list(range(1, 21))
    assert (one.split, one.order, one.warnings) == ("", "instance number", ())


def test_images_of_one_place_without_times_are_said_to_be_alike():
    (one,) = parts(*(slice_at(8, "", n + 1) for n in range(3)))
    assert "nothing distinguishes them" in one.warnings[0]


def test_two_kinds_of_image_at_one_place_over_time_are_two_series():
    """Phase contrast: magnitude and velocity of each moment."""
    kinds = ("ORIGINAL\\PRIMARY\\M", "ORIGINAL\\PRIMARY\\P")
    images = [slice_at(8, TriggerTime=str(n), ImageType=kind) for n in range(9) for kind in kinds]
    found = parts(*images)
    assert [(one.split, len(one.instances)) for one in found] == [
        ("image type M", 9),
        ("image type P", 9),
    ]


def test_blocks_of_one_plane_are_counted_and_their_pixels_named_only_where_they_differ():
    turned = "1\\0\\0\\0\\0.98\\0.2"
    blocks = [slice_at(z) for z in range(3)]
    blocks += [slice_at(50 + z, ImageOrientationPatient=turned) for z in range(3)]
    assert [one.split for one in parts(*blocks)] == [
        "orientation axial (1)",
        "orientation axial (2)",
    ]
