"""Label volumes laid over images by their place in the patient; SimpleITK is the witness."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import SimpleITK as sitk  # noqa: N813
from pydicom.uid import generate_uid

from app.errors import FileProblem
from app.imaging.decode import Decoder
from app.imaging.findings import Mask
from app.imaging.layers import Layer, LayerFrame
from app.imaging.studies.instance_lists import loaded_instances
from app.imaging.types import Instance, Plane, Series
from tests.unit.imaging.files import make_dicom
from tests.unit.imaging.layer_files import make_slice

pytestmark = pytest.mark.usefixtures("forked")

SIZE = (12, 10, 8)  # i, j, k
OBLIQUE = (0.8, -0.6, 0.0, 0.6, 0.8, 0.0, 0.0, 0.0, 1.0)
"""Directions of i, j and k as the columns of a matrix: turned by 37 degrees in the axial plane."""


@pytest.fixture(scope="module")
def decoder() -> Iterator[Decoder]:
    made = Decoder(workers=1)
    yield made
    made.close()


def labels_image(
    size: tuple[int, int, int] = SIZE,
    spacing: tuple[float, float, float] = (1.5, 2.0, 3.0),
    direction: tuple[float, ...] = OBLIQUE,
    origin: tuple[float, float, float] = (-20.0, 11.0, 30.0),
) -> sitk.Image:
    """Two labels that look different from every side: an L with a foot, and a single voxel."""
    voxels = np.zeros(size[::-1], np.uint8)
    voxels[2:6, 2, 3] = 1
    voxels[2, 2:7, 3] = 1
    voxels[2, 6, 3:9] = 1
    voxels[5, 7, 9] = 3
    image = sitk.GetImageFromArray(voxels)
    image.SetSpacing(spacing)
    image.SetDirection(direction)
    image.SetOrigin(origin)
    return image


def grey_image(like: sitk.Image) -> sitk.Image:
    size = like.GetSize()
    voxels = np.arange(int(np.prod(size)), dtype=np.int16).reshape(size[::-1])
    image = sitk.GetImageFromArray(voxels)
    image.CopyInformation(like)
    return image


def write(image: sitk.Image, path: Path) -> Path:
    sitk.WriteImage(image, str(path))
    return path


def opened(decoder: Decoder, path: Path) -> Series:
    (study,) = decoder.scan([path]).result().studies
    (series,) = study.series
    return series


def one(series: Series) -> Instance:
    (instance,) = loaded_instances(series.instances)
    return instance


def lay(decoder: Decoder, labels: Path, over: Path) -> tuple[Layer, Instance, Series]:
    series = opened(decoder, over)
    source: Any = one(series) if len(series.instances) == 1 else series
    instance = one(opened(decoder, labels))
    layer: Future[Layer] = decoder.labels(instance, source)
    return layer.result(), instance, series


def drawn(frame: LayerFrame, number: int, shape: tuple[int, ...]) -> np.ndarray[Any, Any]:
    found = [shape for shape in frame.shapes if shape.item == number]
    if not found:
        return np.zeros(shape, np.bool_)
    (only,) = found
    assert isinstance(only.geometry, Mask)
    return only.geometry.pixels


def as_image(decoder: Decoder, target: Instance, index: int) -> sitk.Image:
    """The frame as SimpleITK's image of one slice, at the place that its own header gives it."""
    frame = decoder.frame(target, index).result()
    cosines, position = frame.orientation.cosines, frame.orientation.position
    assert cosines is not None
    assert position is not None
    row, column = np.array(cosines[:3]), np.array(cosines[3:])
    image = sitk.GetImageFromArray(np.zeros((1, frame.rows, frame.columns), np.uint8))
    image.SetSpacing((frame.spacing.column_mm or 0, frame.spacing.row_mm or 0, 1.0))
    image.SetOrigin(position)
    image.SetDirection(np.stack([row, column, np.cross(row, column)], axis=1).ravel().tolist())
    return image


def check_against_itk(
    decoder: Decoder, instance: Instance, labels: sitk.Image, target: Instance, index: int
) -> int:
    """Compare what is drawn on a frame with SimpleITK's nearest neighbours; return the pixels."""
    frame = decoder.layer_frame(instance, target, index).result()
    assert frame.warnings == ()
    there = sitk.Resample(
        labels, as_image(decoder, target, index), sitk.Transform(), sitk.sitkNearestNeighbor
    )
    wanted = sitk.GetArrayFromImage(there)[0]
    count = 0
    for value in (1, 3):
        np.testing.assert_array_equal(drawn(frame, value, wanted.shape), wanted == value)
        count += int((wanted == value).sum())
    return count


def planes_of(decoder: Decoder, series: Series) -> list[Instance]:
    source: Any = one(series) if len(series.instances) == 1 else series
    planes = (Plane.AXIAL, Plane.CORONAL, Plane.SAGITTAL)
    return [decoder.reformat(source, plane).result() for plane in planes]


@pytest.mark.parametrize(
    "ending", ["nii.gz", *(pytest.param(e, marks=pytest.mark.slow) for e in ("nrrd", "mha"))]
)
def test_an_asymmetric_label_lies_where_itk_puts_it_in_an_oblique_volume(
    decoder: Decoder, tmp_path: Path, ending: str
):
    labels = labels_image()
    grey = grey_image(labels)
    over = write(grey, tmp_path / f"grey.{ending}")
    layer, instance, series = lay(decoder, write(labels, tmp_path / f"lab.{ending}"), over)
    assert [(item.number, item.label) for item in layer.items] == [(1, "Label 1"), (3, "Label 3")]
    counted = sitk.LabelShapeStatisticsImageFilter()
    counted.Execute(labels)
    for item in layer.items:
        assert item.volume_ml == pytest.approx(counted.GetPhysicalSize(item.number) / 1000)
    # The voxel that the list leads to is one of the label.
    for item in layer.items:
        assert item.at is not None
        index = labels.TransformPhysicalPointToIndex(item.at)
        assert labels[index] == item.number
    image = one(series)
    total = sum(check_against_itk(decoder, instance, labels, image, n) for n in range(image.frames))
    assert total == int((sitk.GetArrayFromImage(labels) > 0).sum())
    for section in planes_of(decoder, series):
        total = sum(
            check_against_itk(decoder, instance, labels, section, n) for n in range(section.frames)
        )
        assert total == int((sitk.GetArrayFromImage(labels) > 0).sum())


def test_another_grid_is_resampled_to_the_nearest_label_on_every_plane(
    decoder: Decoder, tmp_path: Path
):
    labels = labels_image(spacing=(1.31, 1.77, 2.03), origin=(-19.6, 11.9, 30.7))
    straight = (1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0)
    grey = grey_image(labels_image((40, 36, 30), (1.1, 0.9, 1.3), straight, (-33.0, 4.0, 27.0)))
    layer, instance, series = lay(
        decoder, write(labels, tmp_path / "lab.nrrd"), write(grey, tmp_path / "grey.nrrd")
    )
    assert layer.warnings == ()
    seen = 0
    for target in (one(series), *planes_of(decoder, series)):
        for index in range(target.frames):
            seen += check_against_itk(decoder, instance, labels, target, index)
    assert seen > 100


def test_labels_lie_on_dicom_slices_and_on_their_sections(decoder: Decoder, tmp_path: Path):
    """The slices are DICOM files in LPS; the labels come as NIfTI in RAS and as NRRD in RAS."""
    folder = tmp_path / "ct"
    folder.mkdir()
    shared: dict[str, Any] = {
        "SeriesInstanceUID": generate_uid(),
        "StudyInstanceUID": generate_uid(),
    }
    for k in range(8):
        make_slice(folder / f"{k}.dcm", 3.0 * k, (10, 12), InstanceNumber=k + 1, **shared)
    reader = sitk.ImageSeriesReader()
    reader.SetFileNames(reader.GetGDCMSeriesFileNames(str(folder)))
    grey = reader.Execute()
    labels = sitk.Image(labels_image())
    labels.CopyInformation(grey)
    text = tmp_path / "ras.nrrd"
    write(labels, text)
    turned = text.read_bytes().replace(b"left-posterior-superior", b"right-anterior-superior")
    lines = []
    for line in turned.split(b"\n\n", 1)[0].split(b"\n"):
        if line.startswith((b"space directions", b"space origin")):
            vectors = np.array(
                [[float(v) for v in part.split(b",")] for part in _vectors(line)]
            ) * (-1, -1, 1)
            name = line.split(b":")[0]
            line = (
                name
                + b": "
                + b" ".join(
                    b"(" + b",".join(repr(float(v)).encode() for v in row) + b")" for row in vectors
                )
            )
        lines.append(line)
    text.write_bytes(b"\n".join(lines) + b"\n\n" + turned.split(b"\n\n", 1)[1])
    for path in (text, write(labels, tmp_path / "lab.nii.gz")):
        layer, instance, series = lay(decoder, path, folder)
        assert len(layer.items) == 2
        count = 0
        for target in series.instances:
            count += check_against_itk(decoder, instance, labels, target, 0)
        assert count == int((sitk.GetArrayFromImage(labels) > 0).sum())
        for section in planes_of(decoder, series):
            count = 0
            for index in range(section.frames):
                count += check_against_itk(decoder, instance, labels, section, index)
            assert count == int((sitk.GetArrayFromImage(labels) > 0).sum())


def _vectors(line: bytes) -> list[bytes]:
    return [part.strip(b"() ") for part in line.split(b":", 1)[1].strip().split(b") (")]


def refused(decoder: Decoder, labels: sitk.Image, grey: sitk.Image, folder: Path) -> str:
    with pytest.raises(FileProblem) as caught:
        lay(decoder, write(labels, folder / "lab.nrrd"), write(grey, folder / "grey.nrrd"))
    return caught.value.reason


def test_as_many_voxels_elsewhere_are_refused(decoder: Decoder, tmp_path: Path):
    moved = labels_image(origin=(-20.0, 11.0, 36.0))
    reason = refused(decoder, moved, grey_image(labels_image()), tmp_path)
    assert reason == (
        "it has exactly as many voxels as the image, but lies up to 6 mm away from it, so one of "
        "the two has lost its position"
    )


def test_labels_of_another_place_are_refused(decoder: Decoder, tmp_path: Path):
    far = labels_image((13, 10, 8), origin=(500.0, 0.0, 0.0))
    reason = refused(decoder, far, grey_image(labels_image()), tmp_path)
    assert reason == "none of its labels lies within the image"


def test_labels_that_reach_out_of_the_image_say_so(decoder: Decoder, tmp_path: Path):
    labels = labels_image()
    grey = grey_image(labels)[:, :, :5]
    layer, _, _ = lay(
        decoder, write(labels, tmp_path / "lab.nrrd"), write(grey, tmp_path / "grey.nrrd")
    )
    assert layer.warnings == ("14% of its labelled voxels lie outside the image",)


def test_pictures_with_grey_values_are_no_labels(decoder: Decoder, tmp_path: Path):
    grey = grey_image(labels_image())
    reason = refused(decoder, grey, grey_image(labels_image()), tmp_path)
    assert reason == "it contains more than 512 different values: a picture, not labels"
    labels = sitk.Cast(labels_image(), sitk.sitkFloat32)
    layer, _, _ = lay(
        decoder, write(labels, tmp_path / "lab.nrrd"), write(grey, tmp_path / "grey.nrrd")
    )
    assert len(layer.items) == 2  # many masks are written as floating point
    reason = refused(decoder, labels * 0.5, grey, tmp_path)
    assert reason == "it contains fractions or negative values: a picture, not labels"
    assert refused(decoder, labels * 0, grey, tmp_path) == "none of its voxels has a label"


IDENTITY = {
    "PatientID": "P1",
    "PatientName": "Doe^Jane",
    "StudyInstanceUID": "1.2.3",
    "FrameOfReferenceUID": "1.2.9",
}
PATIENT = "it is another patient's than the image"
STUDY = "it was made on another study than the image"
SPACE = "its frame of reference is not the image's: positions cannot be compared"


@pytest.mark.parametrize(
    ("fields", "why"),
    [
        ({"0010|0020": "P2"}, PATIENT),
        ({"patient id": "P2"}, PATIENT),
        ({"DICOM_0010_0020_Patient_ID": "P2"}, PATIENT),
        ({"0010|0010": "Roe^Richard"}, PATIENT),
        ({"0020|000d": "1.2.4"}, STUDY),
        ({"0020|0052": "1.2.8", "0020|000d": "1.2.3"}, SPACE),
        ({"0010|0020": "p1", "0010|0010": "DOE^JANE^^^", "0020|000d": "1.2.3"}, ""),
        ({"0020|0052": "1.2.9", "0020|000d": "1.2.4"}, ""),
        ({"note": "P2"}, ""),
    ],
)
@pytest.mark.parametrize("ending", ["nrrd", "mha"])
def test_labels_of_another_patient_study_or_space_are_refused(
    decoder: Decoder, tmp_path: Path, fields: dict[str, str], why: str, ending: str
):
    labels = labels_image(direction=(1, 0, 0, 0, 1, 0, 0, 0, 1))
    for key, value in fields.items():
        labels.SetMetaData(key, value)
    (tmp_path / "slices").mkdir()
    for z in range(SIZE[2]):
        make_dicom(
            tmp_path / "slices" / f"{z}.dcm",
            np.zeros(SIZE[1::-1], np.int16),
            Modality="CT",
            InstanceNumber=z + 1,
            ImagePositionPatient=[-20, 11, 30 + 3 * z],
            ImageOrientationPatient=[1, 0, 0, 0, 1, 0],
            PixelSpacing=[2, 1.5],
            **IDENTITY,
        )
    path = write(labels, tmp_path / f"lab.{ending}")
    if why:
        with pytest.raises(FileProblem) as caught:
            lay(decoder, path, tmp_path / "slices")
        assert caught.value.reason == why
        return
    layer, *_ = lay(decoder, path, tmp_path / "slices")
    named = any("0010" in key for key in fields)
    assert all(("names no patient" in item.detail) is not named for item in layer.items)


def test_labels_of_another_patient_than_a_volumes_are_refused(decoder: Decoder, tmp_path: Path):
    grey, labels = grey_image(labels_image()), labels_image()
    grey.SetMetaData("0010|0020", "P1")
    labels.SetMetaData("0010|0020", "P2")
    assert refused(decoder, labels, grey, tmp_path) == PATIENT
    labels.SetMetaData("0010|0020", "P1")
    layer, *_ = lay(decoder, write(labels, tmp_path / "lab.nrrd"), tmp_path / "grey.nrrd")
    assert layer.items


def test_files_that_say_nothing_of_the_patient_are_refused(decoder: Decoder, tmp_path: Path):
    labels, grey = labels_image(), grey_image(labels_image())
    over = write(grey, tmp_path / "grey.nrrd")
    bare = tmp_path / "lab.nrrd"
    write(labels, bare)
    content = bare.read_bytes()
    bare.write_bytes(content.replace(b"space: left-posterior-superior\n", b"space: scanner-xyz\n"))
    with pytest.raises(FileProblem) as caught:
        lay(decoder, bare, over)
    assert caught.value.reason == "it does not say how it lies in the patient"
    blank = tmp_path / "blank.nrrd"
    blank.write_bytes(over.read_bytes().replace(b"left-posterior-superior", b"scanner-xyz"))
    with pytest.raises(FileProblem) as caught:
        lay(decoder, write(labels, tmp_path / "lab2.nrrd"), blank)
    assert caught.value.reason == "the shown image does not say how it lies in the patient"


def test_a_standard_space_is_not_the_patients(decoder: Decoder, tmp_path: Path):
    labels = labels_image()
    path = write(labels, tmp_path / "lab.nii")
    content = bytearray(path.read_bytes())
    content[252:256] = (4).to_bytes(2, "little") * 2  # qform_code, sform_code: MNI
    path.write_bytes(content)
    with pytest.raises(FileProblem) as caught:
        lay(decoder, path, write(grey_image(labels), tmp_path / "grey.nii"))
    assert "standard space" in caught.value.reason


def seg_nrrd(path: Path, voxels: np.ndarray[Any, Any], lines: list[str]) -> Path:
    """A file as Slicer writes it: layers of labels in a list axis, with the segments' names."""
    layers, k, j, i = voxels.shape
    header = [
        "NRRD0004",
        "type: unsigned char",
        "dimension: 4",
        "space: left-posterior-superior",
        f"sizes: {layers} {i} {j} {k}",
        "space directions: none (1.5,0,0) (0,2,0) (0,0,3)",
        "kinds: list domain domain domain",
        "endian: little",
        "encoding: raw",
        "space origin: (-20,11,30)",
        *lines,
    ]
    data = np.ascontiguousarray(np.moveaxis(voxels, 0, -1)).tobytes()
    path.write_bytes("\n".join(header).encode() + b"\n\n" + data)
    return path


def test_slicers_segments_keep_names_colours_and_overlaps(decoder: Decoder, tmp_path: Path):
    straight = (1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0)
    grey = grey_image(labels_image(direction=straight))
    voxels = np.zeros((2, *SIZE[::-1]), np.uint8)
    voxels[0, 2:6, 2:5, 3:7] = 1
    voxels[0, 6, 6, 6] = 2
    voxels[1, 4, 3, 4:9] = 1  # overlaps the first
    lines = [
        *("Segment0_Name:=Leber äußerer Teil", "Segment0_Color:=0.5 0.25 1"),
        *("Segment0_LabelValue:=1", "Segment0_Layer:=0"),
        *("Segment1_Name:=Cyst", "Segment1_LabelValue:=2", "Segment1_Layer:=0"),
        *("Segment2_Name:=Vessel", "Segment2_LabelValue:=1", "Segment2_Layer:=1"),
    ]
    path = seg_nrrd(tmp_path / "a.seg.nrrd", voxels, lines)
    over = write(grey, tmp_path / "grey.nrrd")
    series = opened(decoder, over)
    first, _second = loaded_instances(opened(decoder, path).instances)
    layer = decoder.labels(first, one(series)).result()
    assert [item.label for item in layer.items] == ["Leber äußerer Teil", "Cyst", "Vessel"]
    assert layer.items[0].color == (128, 64, 255)
    assert [item.volume_ml for item in layer.items] == pytest.approx([0.432, 0.009, 0.045])
    frame = decoder.layer_frame(first, one(series), 4).result()
    masks = [drawn(frame, item.number, SIZE[1::-1]) for item in layer.items]
    np.testing.assert_array_equal(masks[0], voxels[0, 4] == 1)
    np.testing.assert_array_equal(masks[2], voxels[1, 4] == 1)
    assert not masks[1].any()


def test_a_real_tumour_lies_where_itk_puts_it(decoder: Decoder, shared_data: Path):
    folder = shared_data / "volumes"
    labels = sitk.ReadImage(str(folder / "brain1_label.nrrd"))
    layer, instance, series = lay(
        decoder, folder / "brain1_label.nrrd", folder / "brain1_image.nrrd"
    )
    counted = sitk.LabelShapeStatisticsImageFilter()
    counted.Execute(labels)
    assert [item.number for item in layer.items] == list(counted.GetLabels())
    assert layer.items[0].volume_ml == pytest.approx(counted.GetPhysicalSize(1) / 1000)
    for target in (one(series), *planes_of(decoder, series)):
        total = 0
        for index in range(target.frames):
            total += check_against_itk(decoder, instance, labels, target, index)
        assert total == counted.GetNumberOfPixels(1)
