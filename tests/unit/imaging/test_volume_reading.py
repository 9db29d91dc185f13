"""Volumes whose slices are read straight into their place: SimpleITK's values, and typed errors."""

from __future__ import annotations

import gc
import os
import threading
import weakref
import zipfile
from concurrent.futures import CancelledError, Future
from pathlib import Path
from typing import Any, cast

import numpy as np
import pydicom
import pytest
import SimpleITK
from numpy.typing import NDArray
from pydicom.uid import (
    UID,
    ExplicitVRBigEndian,
    ExplicitVRLittleEndian,
    ImplicitVRLittleEndian,
    RLELossless,
)

from app.errors import FileProblem, WorkerDied
from app.imaging.decode import Decoder
from app.imaging.reading.image_entries import read_frame
from app.imaging.reading.volume_entries import frames_entry, plain_entry
from app.imaging.space.volume_store import SliceGathering, VolumeStore, slice_answers, slice_request
from app.imaging.space.volumes import Assembly, PlainLayout, read_plain
from app.imaging.types import Frame, Instance, Plane, Series, Volume
from tests.unit.imaging.files import make_dicom
from tests.unit.imaging.stack_files import assemble, enhanced_mr

pytestmark = pytest.mark.usefixtures("forked")

Array = NDArray[Any]
SHAPE = (16, 20)


def noise(z: int, dtype: str, low: int, high: int) -> Array:
    return np.random.default_rng(z).integers(low, high, SHAPE, endpoint=True).astype(dtype)


def made_slice(folder: Path, z: int, pixels: Array, **elements: Any) -> Path:
    folder.mkdir(exist_ok=True)
    place = {
        "SOPClassUID": "1.2.840.10008.5.1.4.1.1.2",
        "SOPInstanceUID": f"1.5.{z + 1}",
        "Modality": "CT",
        "ImageOrientationPatient": [1, 0, 0, 0, 1, 0],
        "ImagePositionPatient": [-5, 7.5, 2.5 * z],
        "PixelSpacing": [0.5, 0.75],
        "InstanceNumber": z + 1,
    }
    return make_dicom(folder / f"{z}.dcm", pixels, **(place | elements))


def rewritten(path: Path, syntax: str) -> None:
    """The same image in another transfer syntax."""
    dataset = pydicom.dcmread(path)
    if syntax == ExplicitVRBigEndian:
        dataset.PixelData = dataset.pixel_array.byteswap().tobytes()
    dataset.file_meta.TransferSyntaxUID = UID(syntax)
    implicit, little = syntax == ImplicitVRLittleEndian, syntax != ExplicitVRBigEndian
    fresh = pydicom.Dataset(dataset)
    fresh.file_meta = dataset.file_meta
    fresh.preamble = b"\0" * 128
    fresh.save_as(path, implicit_vr=implicit, little_endian=little)


def series_in(decoder: Decoder, path: Path) -> Series:
    (study,) = decoder.scan([path]).result(60).studies
    (series,) = study.series
    return series


def simpleitk_volume(folder: Path) -> SimpleITK.Image:
    reader = SimpleITK.ImageSeriesReader()
    reader.SetFileNames(reader.GetGDCMSeriesFileNames(str(folder)))
    return reader.Execute()


def whole_frames(series: Series) -> Volume:
    """The volume of frames that were decoded one by one, as for the canvas."""
    return assemble([read_frame(one.path, 0) for one in series.instances])


def check(volume: Volume, expected: Volume) -> None:
    np.testing.assert_array_equal(volume.voxels, expected.voxels)
    assert volume.voxels.dtype == expected.voxels.dtype
    assert volume.affine == pytest.approx(expected.affine, abs=1e-9)
    for name in ("rescale", "voi", "photometric", "bits", "spacing", "padding", "note", "lossy"):
        assert getattr(volume.template, name) == getattr(expected.template, name)
    assert volume.slices == expected.slices
    assert volume.warnings == expected.warnings


KINDS: dict[str, tuple[str, int, int, dict[str, Any]]] = {
    "unsigned": ("u2", 0, 65535, {}),
    "signed": ("i2", -32768, 32767, {}),
    "bytes": ("u1", 0, 255, {}),
    "signed bytes": ("i1", -128, 127, {}),
    "twelve bits": ("u2", 0, 4095, {"BitsStored": 12, "HighBit": 11}),
    "thirty-two bits": ("u4", 0, 2**31, {}),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("syntax", ["", ImplicitVRLittleEndian, ExplicitVRBigEndian])
def test_plain_slices_become_simpleitks_volume(
    decoder: Decoder, tmp_path: Path, kind: str, syntax: str
):
    dtype, low, high, elements = KINDS[kind]
    for z in range(5):
        path = made_slice(tmp_path / "a", z, noise(z, dtype, low, high), **elements)
        if syntax and not (syntax == ExplicitVRBigEndian and "2" not in dtype[1:2]):
            rewritten(path, syntax)
    series = series_in(decoder, tmp_path / "a")
    volume = decoder.volume(series).result(60)
    check(volume, whole_frames(series))
    image = simpleitk_volume(tmp_path / "a")
    np.testing.assert_array_equal(volume.voxels, SimpleITK.GetArrayFromImage(image))
    assert volume.affine[:3, 3] == pytest.approx(image.GetOrigin())
    assert volume.spacing == pytest.approx(image.GetSpacing())


@pytest.mark.parametrize("signed", [False, True])
@pytest.mark.parametrize(("stored", "high"), [(12, 11), (12, 13), (10, 15), (16, 15)])
def test_bits_that_are_not_the_values_are_left_out(
    decoder: Decoder, tmp_path: Path, signed: bool, stored: int, high: int
):
    """Garbage around the value, as files with overlays in their pixels have it."""
    rng = np.random.default_rng(stored * high)
    low = -(1 << stored - 1) if signed else 0
    expected = rng.integers(low, low + (1 << stored), (4, *SHAPE))
    for z in range(4):
        mask = ((1 << stored) - 1) << (high - stored + 1)
        words = (expected[z] << (high - stored + 1)) & mask
        words |= rng.integers(0, 65536, SHAPE) & ~mask & 0xFFFF
        made_slice(
            tmp_path / "a",
            z,
            words.astype(np.uint16),
            BitsStored=stored,
            HighBit=high,
            PixelRepresentation=int(signed),
        )
    volume = decoder.volume(series_in(decoder, tmp_path / "a")).result(60)
    assert volume.voxels.dtype == (np.int16 if signed else np.uint16)
    np.testing.assert_array_equal(volume.voxels, expected)


def test_a_pets_own_rescale_of_each_slice_holds(decoder: Decoder, tmp_path: Path):
    for z in range(6):
        made_slice(
            tmp_path / "a",
            z,
            noise(z, "i2", 0, 30000),
            Modality="PT",
            SOPClassUID="1.2.840.10008.5.1.4.1.1.128",
            RescaleSlope=f"{0.5 + z / 8}",
            RescaleIntercept="0",
            Units="BQML",
            WindowCenter=100 + z,
            WindowWidth=50,
        )
    series = series_in(decoder, tmp_path / "a")
    volume = decoder.volume(series).result(60)
    check(volume, whole_frames(series))
    slices = [SimpleITK.ReadImage(str(one.path)) for one in series.instances]
    arrays = [SimpleITK.GetArrayFromImage(one)[0] for one in slices]
    assert volume.voxels.dtype == np.float32
    np.testing.assert_allclose(np.sort(volume.voxels, 0), np.sort(arrays, 0), rtol=1e-6)


@pytest.mark.parametrize("odd", [0, 2, 4])
def test_one_slice_of_another_layout_is_read_by_its_own(decoder: Decoder, tmp_path: Path, odd: int):
    for z in range(5):
        if z == odd:
            pixels = noise(z, "u2", 0, 4095)
            made_slice(tmp_path / "a", z, pixels, BitsStored=12, HighBit=11)
        else:
            made_slice(tmp_path / "a", z, noise(z, "i2", -2000, 2000))
    series = series_in(decoder, tmp_path / "a")
    volume = decoder.volume(series).result(60)
    check(volume, whole_frames(series))
    assert volume.voxels.dtype == np.int32


def test_the_members_of_an_archive_become_the_same_volume(decoder: Decoder, tmp_path: Path):
    with zipfile.ZipFile(tmp_path / "a.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        for z in range(4):
            archive.write(made_slice(tmp_path / "a", z, noise(z, "i2", -9, 9)), f"{z}.dcm")
    expected = decoder.volume(series_in(decoder, tmp_path / "a")).result(60)
    packed = decoder.volume(series_in(decoder, tmp_path / "a.zip")).result(60)
    np.testing.assert_array_equal(packed.voxels, expected.voxels)
    np.testing.assert_array_equal(packed.affine, expected.affine)


def test_the_frames_of_one_object_are_read_from_their_places(decoder: Decoder, tmp_path: Path):
    order = [3, 0, 4, 1, 2]
    path = enhanced_mr(tmp_path / "mr.dcm", order, (1, 0, 0, 0, 1, 0))
    volume = decoder.volume(series_in(decoder, path).instances[0]).result(60)
    assert volume.slices == tuple(np.argsort(order))
    np.testing.assert_array_equal(
        volume.voxels, pydicom.dcmread(path).pixel_array[np.argsort(order)]
    )


def test_frames_that_are_decoded_already_are_not_asked_for_again(
    decoder: Decoder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    for z in range(4):
        made_slice(tmp_path / "a", z, noise(z, "i2", -9, 9))
    series = series_in(decoder, tmp_path / "a")
    for one in series.instances:
        decoder.frame(one).result(60)
    asked: list[str] = []
    monkeypatch.setattr(SliceGathering, "_send", lambda self: asked.extend(self._waiting))
    check(decoder.volume(series).result(60), whole_frames(series))
    assert asked == []


def test_what_scrolling_has_decoded_meanwhile_is_not_asked_for_again(tmp_path: Path):
    made = [made_slice(tmp_path / "a", z, noise(z, "i2", -9, 9)) for z in range(60)]
    for path in made:
        dataset = pydicom.dcmread(path)
        dataset.compress(RLELossless)
        dataset.save_as(path)
    decoded: dict[Path, Frame] = {}
    asked: list[str] = []

    class Workers:
        def submit(self, entry: str, payload: dict[str, Any], **_options: Any) -> Future[Any]:
            asked.extend(one[0] for one in payload["slices"])
            # Somebody scrolls: the last ones are decoded while the first are waited for.
            decoded.update({path: read_frame(path, 0) for path in made[56:]})
            future: Future[Any] = Future()
            future.set_result(frames_entry(payload))
            return future

    def kept(instance: Instance, _index: int) -> Frame | None:
        return decoded.get(instance.path)

    assembly = Assembly(made[0], len(made))
    slices = [(instance_of(path), 0) for path in made]
    told: list[int] = []
    SliceGathering(
        cast("Any", Workers()), kept, slices, assembly, lambda done, _all: told.append(done)
    ).run()
    assert asked == [str(path) for path in made[:56]]
    assert told[-1] == len(made)
    check(assembly.volume(), assemble([read_frame(path, 0) for path in made]))


def test_a_slice_that_has_changed_since_the_scan_is_named(decoder: Decoder, tmp_path: Path):
    for z in range(4):
        made_slice(tmp_path / "a", z, noise(z, "i2", -9, 9))
    series = series_in(decoder, tmp_path / "a")
    made_slice(tmp_path / "a", 2, noise(9, "i2", -9, 9))
    os.utime(tmp_path / "a/2.dcm", ns=(1, 1))
    with pytest.raises(FileProblem, match=r"2\.dcm: the file has changed since it was opened"):
        decoder.volume(series).result(60)


@pytest.mark.parametrize("syntax", [ExplicitVRLittleEndian, RLELossless])
def test_another_patients_slice_of_equal_size_and_time_is_not_taken_in(
    decoder: Decoder, tmp_path: Path, syntax: str
):
    def made(z: int, **elements: Any) -> None:
        path = made_slice(tmp_path / "a", z, noise(z, "u2", 0, 65535), **elements)
        if syntax == RLELossless:
            dataset = pydicom.dcmread(path)
            dataset.compress(RLELossless, generate_instance_uid=False)
            dataset.save_as(path)
        os.utime(path, ns=(10**18, 10**18))

    for z in range(5):
        made(z)
    series = series_in(decoder, tmp_path / "a")
    made(3, SOPInstanceUID="1.6.4", PatientName="Roe^Dick")
    assert series.instances[3].size_bytes == (tmp_path / "a" / "3.dcm").stat().st_size
    with pytest.raises(FileProblem, match=r"3\.dcm.*has changed"):
        decoder.volume(series).result(60)


def test_a_slice_that_is_gone_is_named(decoder: Decoder, tmp_path: Path):
    for z in range(4):
        made_slice(tmp_path / "a", z, noise(z, "i2", -9, 9))
    series = series_in(decoder, tmp_path / "a")
    (tmp_path / "a/1.dcm").unlink()
    with pytest.raises(FileProblem, match=r"1\.dcm: there is no such file"):
        decoder.volume(series).result(60)


class OnePool:
    """Answers in this process; dies of one path, as a worker would of a file that crashes it."""

    def __init__(self, deadly: Path) -> None:
        self.asked: list[list[str]] = []
        self._deadly = str(deadly)

    def submit(self, entry: str, payload: dict[str, Any], **_options: Any) -> Future[Any]:
        paths = [one[0] for one in payload["slices"]]
        self.asked.append(paths)
        future: Future[Any] = Future()
        if self._deadly in paths:
            future.set_exception(WorkerDied("the decoding process crashed"))
        else:
            future.set_result(plain_entry(payload))
        return future


def test_the_slice_that_kills_a_worker_is_named_and_no_other(tmp_path: Path):
    made = [made_slice(tmp_path / "a", z, noise(z, "i2", -99, 99)) for z in range(5)]
    slices = [(instance_of(path), 0) for path in made]
    pool = OnePool(made[3])
    gathering = SliceGathering(cast("Any", pool), lambda *_: None, slices, Assembly(made[0], 5))
    with pytest.raises(FileProblem, match=r"3\.dcm: it cannot be decoded: the decoding process"):
        gathering.run()
    assert pool.asked[0] == [str(path) for path in made]
    assert [str(made[3])] in pool.asked


def test_a_volume_is_let_go_with_its_series(tmp_path: Path):
    for z in range(4):
        made_slice(tmp_path / "a", z, noise(z, "i2", -9, 9))
        made_slice(tmp_path / "b", z, noise(z, "i2", -9, 9), SeriesInstanceUID="1.2.3.5")
    decoder = Decoder(1)
    try:
        first, second = (series_in(decoder, tmp_path / name) for name in "ab")
        kept = decoder.volume(second).result(60)
        sections = decoder.reformat(first, Plane.SAGITTAL).result(60)
        voxels = weakref.ref(decoder.volume(first).result(60).voxels)
        decoder._volumes.forget({str(one.path) for one in first.instances})
        gc.collect()
        assert voxels() is None
        with pytest.raises(FileProblem, match="no longer open"):
            decoder.frame(sections).result(60)
        assert decoder.volume(second).result(60) is kept
    finally:
        decoder.close()


@pytest.mark.parametrize("closing", ["the study", "all"])
def test_a_volume_asked_for_again_after_closing_does_not_wait_for_what_is_cancelled(
    tmp_path: Path, closing: str
):
    made = [made_slice(tmp_path / "a", z, noise(z, "i2", -99, 99)) for z in range(4)]
    images = tuple(instance_of(path) for path in made)
    source = Series("1.2.3.4", "", "CT", 1, images)
    held, go_on = threading.Event(), threading.Event()

    def kept(_instance: Instance, _index: int) -> None:
        """Nothing; the first volume is held here, as by a slow drive."""
        if not held.is_set():
            held.set()
            go_on.wait(30)

    store = VolumeStore(cast("Any", OnePool(tmp_path)), kept)
    first = store.volume(source)
    assert held.wait(30)
    if closing == "all":
        store.clear()
    else:
        store.forget({str(path) for path in made})
    assert store.volume(source).result(30).voxels.shape == (4, *SHAPE)
    go_on.set()
    with pytest.raises(CancelledError):
        first.result(30)


LAYOUT = PlainLayout(2, 3, "u2", offset=4)


def scanned(path: Path, **changes: Any) -> Instance:
    status = path.stat()
    state: dict[str, Any] = {"size_bytes": status.st_size, "mtime_ns": status.st_mtime_ns}
    return Instance(path, "1.2", "dicom", 2, 3, **state | changes)


def test_pixels_are_read_from_where_they_lie(tmp_path: Path):
    path = tmp_path / "a"
    path.write_bytes(b"head" + np.arange(6, dtype="<u2").tobytes() + b"tail")
    out = np.empty((2, 3), np.uint16)
    read_plain(scanned(path), LAYOUT, out)
    assert out.tolist() == [[0, 1, 2], [3, 4, 5]]


@pytest.mark.parametrize("known", [True, False])
def test_a_file_that_was_cut_short_meanwhile_is_refused(tmp_path: Path, known: bool):
    path = tmp_path / "a"
    path.write_bytes(b"head" + bytes(12))
    one = scanned(path) if known else scanned(path, size_bytes=0, mtime_ns=0)
    path.write_bytes(b"head" + bytes(7))
    with pytest.raises(FileProblem, match="cut short: it contains 7 of 12 bytes of pixels"):
        read_plain(one, LAYOUT, np.empty((2, 3), np.uint16))


def test_a_file_that_was_overwritten_meanwhile_is_refused(tmp_path: Path):
    path = tmp_path / "a"
    path.write_bytes(b"head" + bytes(12))
    one = scanned(path, mtime_ns=12345)
    with pytest.raises(FileProblem, match="changed since it was opened"):
        read_plain(one, LAYOUT, np.empty((2, 3), np.uint16))


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes with names here")
def test_a_pipe_in_a_files_place_is_refused_at_once(tmp_path: Path):
    path = tmp_path / "a"
    path.write_bytes(b"head" + bytes(12))
    one = scanned(path)
    path.unlink()
    os.mkfifo(path)
    with pytest.raises(FileProblem, match="a device or a pipe"):
        read_plain(one, LAYOUT, np.empty((2, 3), np.uint16))


def test_a_folder_or_nothing_in_a_files_place_is_refused(tmp_path: Path):
    path = tmp_path / "a"
    path.write_bytes(b"head" + bytes(12))
    one = scanned(path)
    path.unlink()
    with pytest.raises(FileProblem, match="no such file"):
        read_plain(one, LAYOUT, np.empty((2, 3), np.uint16))
    path.mkdir()
    with pytest.raises(FileProblem):
        read_plain(one, LAYOUT, np.empty((2, 3), np.uint16))


def test_both_ways_to_ask_for_slices_give_the_same(tmp_path: Path):
    """The workers' two entries, in this process: where pixels lie, and the pixels."""
    made = [made_slice(tmp_path / "a", z, noise(z, "i2", -99, 99)) for z in range(3)]
    slices = [(instance_of(path), 0) for path in made]
    plain = slice_answers(slices, plain_entry(slice_request(slices)))
    decoded = slice_answers(slices, frames_entry(slice_request(slices)))
    for z, (one, other) in enumerate(zip(plain, decoded, strict=True)):
        assert one is not None
        assert other is not None
        (frame, where), (again, pixels) = one, other
        assert isinstance(where, PlainLayout)
        out = np.empty(SHAPE, where.dtype)
        read_plain(slices[z][0], where, out)
        np.testing.assert_array_equal(out, noise(z, "i2", -99, 99))
        np.testing.assert_array_equal(out, pixels)
        assert frame.orientation == again.orientation
        assert frame.orientation.position == (-5, 7.5, 2.5 * z)
        assert frame.ref == again.ref
        assert frame.ref.sop_instance_uid == f"1.5.{z + 1}"


def instance_of(path: Path) -> Instance:
    status = path.stat()
    return Instance(
        path,
        str(pydicom.dcmread(path).SOPInstanceUID),
        "dicom",
        *SHAPE,
        size_bytes=status.st_size,
        mtime_ns=status.st_mtime_ns,
    )
