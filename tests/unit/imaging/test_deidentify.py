"""De-identified copies: nothing planted is left, objects stay valid and related, originals stay."""

from __future__ import annotations

import hashlib
import io
import json
import re
import struct
import subprocess
from pathlib import Path
from typing import Any

import highdicom as hd
import numpy as np
import pydicom
import pytest
from pydicom import encaps
from pydicom.sr.codedict import codes
from pydicom.uid import UID, JPEGBaseline8Bit

from app import cli
from app.errors import UsageError
from app.imaging.deidentify import code_streams, copying
from app.imaging.deidentify.copying import HIDDEN_OVERLAY, LIKELY, Copier
from app.imaging.deidentify.options import BURNT_IN, Option, Summary, check_folder
from app.imaging.deidentify.process import deidentify_apart
from tests.support import deid_canaries
from tests.support.deid_canaries import DATES, UIDS, WORDS, image, leaks, save

KEPT = {
    Option.UIDS: list(UIDS.values()),
    Option.DEVICE: [WORDS[12], WORDS[13]],
    Option.INSTITUTION: [WORDS[6], WORDS[7]],
    Option.PATIENT: [WORDS[46]],
    Option.FULL_DATES: DATES[1:],
}
"""What an option keeps by its definition: UIDs, station and serial number, institution and its
address, ethnic group, dates but the birth date."""


def deidentified(source: Path, out: Path, *options: Option, burnt_in: bool = False) -> Summary:
    out.mkdir(exist_ok=True)
    files, _ = copying.list_files([source])
    return copying.deidentify(files, Copier(out, b"s" * 32, options, burnt_in=burnt_in).copy)


def only(folder: Path) -> pydicom.Dataset:
    (path,) = folder.rglob("*.dcm")
    return pydicom.dcmread(path)


def test_the_canaries_are_found_where_nothing_was_removed(tmp_path: Path):
    assert leaks(deid_canaries.plant(tmp_path), WORDS) == WORDS


@pytest.mark.parametrize("options", [(), *((one,) for one in Option), tuple(Option)])
def test_nothing_planted_is_left_but_what_an_option_keeps(
    tmp_path: Path, options: tuple[Option, ...]
):
    options = tuple(one for one in options if len(options) == 1 or one is not Option.FULL_DATES)
    source = deid_canaries.plant(tmp_path / "in")
    summary = deidentified(source, tmp_path / "out", *options)
    assert [one.reason for one in summary.left_out] == []
    assert len(summary.copied) == 7
    kept = {word for one in options for word in KEPT.get(one, ())}
    assert set(leaks(tmp_path / "out", [*WORDS, *UIDS.values(), *DATES])) == kept


def test_dcmdump_sees_what_was_done_and_the_pixels_are_as_before(tmp_path: Path):
    save(image(), tmp_path / "in" / "a.dcm")
    deidentified(tmp_path / "in", tmp_path / "out", Option.DESCRIPTORS)
    (copy,) = (tmp_path / "out").rglob("*.dcm")
    text = subprocess.run(["dcmdump", copy], capture_output=True, text=True, check=True).stdout
    assert re.search(r"\(0012,0062\) CS \[YES\]", text)
    assert re.search(r"\(0028,0303\) CS \[REMOVED", text)
    assert re.findall(r"\(0008,0100\) SH \[(\d+)\]", text) == ["113100", "113105"]
    made = pydicom.dcmread(copy)
    assert made.PixelData == image().PixelData
    assert made.file_meta.TransferSyntaxUID == image().file_meta.TransferSyntaxUID
    assert [made.RescaleType, made.ImageType[2], made.KVP] == ["HU", "AXIAL", 120]


def test_a_jpeg_keeps_its_pixels_and_loses_its_texts(tmp_path: Path):
    from PIL import Image

    data = deid_canaries.jpeg_with_texts(WORDS[0], WORDS[1])
    cleaned = code_streams.clean_stream(data)
    assert WORDS[0].encode() not in cleaned
    assert WORDS[1].encode() not in cleaned
    before, after = (np.asarray(Image.open(io.BytesIO(one))) for one in (data, cleaned))
    assert np.array_equal(before, after)


def test_several_frames_keep_their_offsets_when_texts_are_cut(tmp_path: Path):
    frames = [deid_canaries.jpeg_with_texts("x" * size, "exif") for size in (3, 50, 8)]
    value = encaps.encapsulate(frames)
    cleaned = code_streams.clean_encapsulated(value, 3)
    found = list(encaps.generate_frames(cleaned, number_of_frames=3))
    assert [len(one) // 2 for one in found] == [
        (len(code_streams.clean_stream(one)) + 1) // 2 for one in frames
    ]
    assert len(encaps.parse_basic_offsets(cleaned)) == 3


@pytest.mark.parametrize(
    "options", [(), tuple(one for one in Option if one is not Option.FULL_DATES)]
)
def test_no_copy_has_an_error_that_its_original_had_not(
    tmp_path: Path, options: tuple[Option, ...]
):
    for dataset, name in zip(_related(), ("a", "b", "seg", "ko", "sr", "pr"), strict=True):
        save(dataset, tmp_path / "in" / f"{name}.dcm")
    summary = deidentified(tmp_path / "in", tmp_path / "out", *options)
    assert len(summary.copied) == 6
    for one in summary.copied:
        before, after = (_iod_errors(path) for path in (one.path, tmp_path / "out" / one.copy))
        assert after <= before, one.path.name


def _iod_errors(path: Path) -> set[str]:
    said = subprocess.run(["dciodvfy", path], capture_output=True, text=True, check=False)
    lines = (said.stderr + said.stdout).splitlines()
    return {line for line in lines if line.startswith("Error")}


def _related() -> list[pydicom.Dataset]:
    """Return two images and, by highdicom, a segmentation, key objects, a report and a state."""
    images = [image(1), image(2)]
    series: dict[str, Any] = {"series_number": 5, "instance_number": 1, "manufacturer": "Acme"}
    maker: dict[str, Any] = {
        **series,
        "series_instance_uid": "1.2.3.4.9",
        "manufacturer_model_name": "M",
        "software_versions": "1",
        "device_serial_number": "1",
    }
    segment = hd.seg.SegmentDescription(
        1,
        "Liver of Quentinzyx",
        codes.SCT.Organ,
        codes.SCT.Liver,
        hd.seg.SegmentAlgorithmTypeValues.MANUAL,
    )
    mask = np.zeros((2, 8, 8), np.uint8)
    mask[:, 2:5, 2:5] = 1
    seg = hd.seg.Segmentation(
        images,
        mask,
        hd.seg.SegmentationTypeValues.BINARY,
        [segment],
        sop_instance_uid="1.2.3.4.9.1",
        **maker,
    )
    key = hd.ko.KeyObjectSelection(codes.DCM.OfInterest, images[:1], description="Quentinzyx")
    ko = hd.ko.KeyObjectSelectionDocument(
        images[:1], key, "1.2.3.4.10", sop_instance_uid="1.2.3.4.10.1", **series
    )
    observer = hd.sr.ObservationContext(
        observer_person_context=hd.sr.ObserverContext(
            codes.DCM.Person, hd.sr.PersonObserverIdentifyingAttributes("Quentinzyx^Zo")
        )
    )
    group = hd.sr.PlanarROIMeasurementsAndQualitativeEvaluations(
        hd.sr.TrackingIdentifier("1.2.3.4.77", "Quentinzyx 1"),
        hd.sr.ImageRegion(
            hd.sr.GraphicTypeValues.POINT,
            np.array([[3.0, 4.0]]),
            hd.sr.SourceImageForRegion(images[0].SOPClassUID, images[0].SOPInstanceUID),
        ),
    )
    content = (
        hd.sr.MeasurementReport(
            observer, codes.LN.CTUnspecifiedBodyRegion, imaging_measurements=[group]
        )
        if hasattr(codes.LN, "CTUnspecifiedBodyRegion")
        else hd.sr.MeasurementReport(
            observer, codes.cid7021.ImagingMeasurementReport, imaging_measurements=[group]
        )
    )
    sr = hd.sr.Comprehensive3DSR(
        images[:1], content[0], "1.2.3.4.11", sop_instance_uid="1.2.3.4.11.1", **series
    )
    layer = hd.pr.GraphicLayer("LAYER1", 1)
    text = hd.pr.TextObject(
        "Quentinzyx nodule", hd.pr.AnnotationUnitsValues.PIXEL, anchor_point=(2.0, 2.0)
    )
    state = dict(maker)
    state["series_instance_uid"] = "1.2.3.4.12"
    pr = hd.pr.GrayscaleSoftcopyPresentationState(
        images[:1],
        sop_instance_uid="1.2.3.4.12.1",
        content_label="STATE",
        graphic_layers=[layer],
        graphic_annotations=[hd.pr.GraphicAnnotation(images[:1], layer, text_objects=[text])],
        **state,
    )
    return [*images, seg, ko, sr, pr]


def test_references_among_objects_resolve_after_the_mapping(tmp_path: Path):
    related = _related()
    for number, dataset in enumerate(related):
        save(dataset, tmp_path / "in" / f"{number}.dcm")
    summary = deidentified(tmp_path / "in", tmp_path / "out", Option.STRUCTURED, Option.GRAPHICS)
    made = [pydicom.dcmread(tmp_path / "out" / one.copy) for one in summary.copied]
    uids = {str(one.SOPInstanceUID) for one in made}
    assert len(uids) == 6
    assert not uids & {str(one.SOPInstanceUID) for one in related}
    for one in made[2:]:
        references: set[str] = set()
        one.walk(
            lambda _, element, found=references: (
                found.add(str(element.value))
                if element.keyword == "ReferencedSOPInstanceUID"
                else None
            )
        )
        assert references
        assert references <= uids
    assert len({one.StudyInstanceUID for one in made}) == 1
    assert leaks(tmp_path / "out", ["Quentinzyx", "QUENTINZYX"]) == []
    assert np.array_equal(made[2].pixel_array, related[2].pixel_array)
    assert made[2].SegmentSequence[0].SegmentLabel == "Liver"
    assert _texts(made[5], "UnformattedTextValue") == ["nodule"]
    basic = deidentified(tmp_path / "in", tmp_path / "basic")
    state = pydicom.dcmread(tmp_path / "basic" / basic.copied[5].copy)
    assert "GraphicAnnotationSequence" not in state


def _texts(dataset: pydicom.Dataset, keyword: str) -> list[str]:
    found: list[str] = []
    dataset.walk(
        lambda _, element: found.append(str(element.value)) if element.keyword == keyword else None
    )
    return found


def test_typed_codes_go_and_codes_of_the_standard_stay(tmp_path: Path):
    dataset = image()
    dataset.BodyPartExamined, dataset.ScanOptions = "SMITHS KNEE", ["HELICAL MODE", "QUENTINZYX"]
    dataset.SequenceVariant, dataset.ConvolutionKernel = "OTHER", "B70f"
    dataset.AnatomicRegionSequence = [deid_canaries.code("51185008", "SCT", "of Mr Quentinzyx")]
    dataset.ProcedureCodeSequence = [deid_canaries.code("Q4711", "99HOSP", "Quentinzyx protocol")]
    save(dataset, tmp_path / "in" / "a.dcm")
    deidentified(tmp_path / "in", tmp_path / "out")
    made = only(tmp_path / "out")
    assert made.BodyPartExamined == ""
    assert [made.SequenceVariant, made.ConvolutionKernel] == ["OTHER", "B70f"]
    assert made.ScanOptions[1] == "OTHER"
    assert made.AnatomicRegionSequence[0].CodeMeaning.startswith("Thora")
    assert made.AnatomicRegionSequence[0].CodeValue == "51185008"
    assert leaks(tmp_path / "out", ["QUENTINZYX", "Quentinzyx", "Q4711", "99HOSP", "SMITH"]) == []


def test_a_second_run_goes_on_with_the_same_study(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("SIGHTLINE_HOME", str(tmp_path / "home"))
    out = tmp_path / "out"
    out.mkdir()
    secret = copying.folder_secret(out)
    assert copying.folder_secret(out) == secret
    assert copying.folder_secret(tmp_path) != secret
    for number in (1, 2):
        path = save(image(number), tmp_path / "in" / f"{number}.dcm")
        Copier(out, copying.folder_secret(out)).copy(path)
    made = [pydicom.dcmread(one) for one in out.rglob("*.dcm")]
    assert len(made) == 2
    assert (
        len({(one.StudyInstanceUID, one.FrameOfReferenceUID, one.PatientID) for one in made}) == 1
    )
    assert secret not in b"".join(one.read_bytes() for one in out.rglob("*") if one.is_file())


def test_dates_are_shifted_alike_within_a_patient(tmp_path: Path):
    first, second, other = image(1), image(2), image(3)
    second.StudyDate, second.SOPInstanceUID, other.PatientID = "20240410", "1.2.9", "12"
    for number, dataset in enumerate((first, second, other)):
        save(dataset, tmp_path / "in" / f"{number}.dcm")
    summary = deidentified(tmp_path / "in", tmp_path / "out", Option.MODIFIED_DATES)
    made = [pydicom.dcmread(tmp_path / "out" / one.copy) for one in summary.copied]
    dates = [
        np.datetime64(f"{d[:4]}-{d[4:6]}-{d[6:]}") for d in (str(one.StudyDate) for one in made)
    ]
    assert dates[1] - dates[0] == np.timedelta64(31, "D")
    assert dates[0] != np.datetime64("2024-03-10")
    assert dates[2] != dates[0]
    assert made[0].StudyTime == "101500"
    assert made[0].LongitudinalTemporalInformationModified == "MODIFIED"


def test_burnt_in_text_is_refused_and_then_told(tmp_path: Path):
    declared, likely = image(1), image(2)
    declared.BurnedInAnnotation, likely.Modality = "YES", "US"
    save(declared, tmp_path / "in" / "a.dcm")
    save(likely, tmp_path / "in" / "b.dcm")
    summary = deidentified(tmp_path / "in", tmp_path / "out")
    assert [one.reason for one in summary.left_out] == [BURNT_IN]
    assert [one.warnings for one in summary.copied] == [(LIKELY,)]
    allowed = deidentified(tmp_path / "in", tmp_path / "out", burnt_in=True)
    assert allowed.warnings == {BURNT_IN: 1, LIKELY: 1}
    assert {
        pydicom.dcmread(one).PatientIdentityRemoved for one in (tmp_path / "out").rglob("*.dcm")
    } == {"NO"}


def test_overlays_in_unused_bits_are_cleared(tmp_path: Path):
    dataset = image()
    dataset.add_new(0x60000100, "US", 16)
    dataset.add_new(0x60000102, "US", 12)
    pixels = np.frombuffer(dataset.PixelData, "<u2")
    dataset.PixelData = (pixels | 0x1000).tobytes()
    save(dataset, tmp_path / "in" / "a.dcm")
    deidentified(tmp_path / "in", tmp_path / "out")
    assert only(tmp_path / "out").PixelData == pixels.tobytes()
    assert HIDDEN_OVERLAY not in image()


def test_damaged_foreign_and_unknown_files_are_named_and_the_rest_goes_on(tmp_path: Path):
    source = tmp_path / "in"
    whole = save(image(), source / "a.dcm").read_bytes()
    (source / "cut.dcm").write_bytes(whole[:-40])
    (source / "text.dcm").write_text("no image")
    (source / "empty.dcm").write_bytes(b"")
    pdf, private, twin = image(3), image(4), image(1)
    pdf.SOPClassUID = UID("1.2.840.10008.5.1.4.1.1.104.1")
    private.SOPClassUID = UID("1.2.3.4.5.6.7")
    twin.KVP = "80"
    save(pdf, source / "pdf.dcm")
    save(private, source / "private.dcm")
    save(twin, source / "twin.dcm")
    before = {one: hashlib.sha256(one.read_bytes()).digest() for one in source.iterdir()}
    summary = deidentified(source, tmp_path / "out")
    assert [one.path.name for one in summary.copied] == ["a.dcm"]
    assert {one.path.name for one in summary.left_out} == {
        *("cut.dcm", "text.dcm", "empty.dcm", "pdf.dcm", "private.dcm", "twin.dcm")
    }
    assert all(one.reason for one in summary.left_out)
    assert before == {one: hashlib.sha256(one.read_bytes()).digest() for one in source.iterdir()}
    assert len(list((tmp_path / "out").rglob("*.dcm"))) == 1


def test_the_copy_is_never_made_among_the_originals(tmp_path: Path):
    path = save(image(), tmp_path / "in" / "a.dcm")
    for out, source in [
        (tmp_path / "in", tmp_path / "in"),
        (tmp_path / "in" / "out", tmp_path / "in"),
        (tmp_path, tmp_path / "in"),
        (tmp_path / "in", path),
    ]:
        with pytest.raises(UsageError):
            check_folder(out, [source])
    check_folder(tmp_path / "out", [tmp_path / "in"])


def test_the_command_copies_and_says_what_was_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.setenv("SIGHTLINE_HOME", str(tmp_path / "home"))
    declared = image(2)
    declared.BurnedInAnnotation = "YES"
    save(image(1), tmp_path / "in" / "a.dcm")
    save(declared, tmp_path / "in" / "b.dcm")
    arguments = ["deidentify", str(tmp_path / "in"), "--out", str(tmp_path / "out"), "--json"]
    assert cli.main([*arguments, "--option", "clean-descriptors"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert len(said["copied"]) == 1
    assert [one["reason"] for one in said["left_out"]] == [BURNT_IN]
    both = ["--option", "retain-full-dates", "--option", "retain-modified-dates"]
    assert cli.main([*arguments, *both]) == 2


def test_a_compressed_image_keeps_its_transfer_syntax(tmp_path: Path):
    source = deid_canaries.plant(tmp_path / "in")
    summary = deidentified(source, tmp_path / "out")
    syntaxes = [
        [pydicom.dcmread(one).file_meta.TransferSyntaxUID for one in pair]
        for pair in ((one.path, tmp_path / "out" / one.copy) for one in summary.copied)
    ]
    assert all(before == after for before, after in syntaxes)
    assert any(before == JPEGBaseline8Bit for before, _ in syntaxes)


def test_a_process_of_its_own_does_the_same_and_stops_when_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("SIGHTLINE_HOME", str(tmp_path / "home"))
    files = [save(image(number), tmp_path / "in" / f"{number}.dcm") for number in (1, 2, 3)]
    seen: list[tuple[int, int]] = []

    def run(limit: int) -> Summary:
        return deidentify_apart(
            files,
            tmp_path / "out",
            [Option.UIDS],
            burnt_in=False,
            progress=lambda done, of: seen.append((done, of)),
            cancelled=lambda: len(seen) >= limit,
        )

    assert len(run(99).copied) == 3
    assert seen == [(1, 3), (2, 3), (3, 3)]
    stopped = run(3)
    assert stopped.cancelled
    assert len(stopped.copied) <= 1
    assert not list((tmp_path / "out").rglob(".deid-*"))


HIDDEN = b"Zqxvybxwort"


def _segment(marker: int, data: bytes) -> bytes:
    return bytes([0xFF, marker]) + struct.pack(">H", len(data) + 2) + data


def _hiding_streams() -> dict[str, tuple[str, list[bytes]]]:
    """Return transfer syntax and fragments of an 8 x 8 picture that hide a word, by the place."""
    from PIL import Image
    from pydicom.pixels.encoders.base import RLELosslessEncoder

    pixels = (np.arange(64) * 3).reshape(8, 8).astype(np.uint8)

    def made(form: str, **options: Any) -> bytes:
        stream = io.BytesIO()
        Image.fromarray(pixels).save(stream, form, **options)
        return stream.getvalue()

    jpeg, jp2 = made("JPEG"), made("JPEG2000", irreversible=False)
    scan = jpeg.find(b"\xff\xda")
    box = jp2.find(b"jp2c") - 4
    j2k = jp2[box + 8 :]
    data = j2k.find(b"\xff\x93")
    tile = j2k.find(b"\xff\x90")
    comment = b"\xff\x64" + struct.pack(">HH", len(HIDDEN) + 4, 1) + HIDDEN
    (size,) = struct.unpack_from(">L", j2k, tile + 6)
    longer = struct.pack(">L", size + len(comment) if size else 0)
    rle = RLELosslessEncoder.encode(
        pixels.tobytes(),
        rows=8,
        columns=8,
        samples_per_pixel=1,
        bits_allocated=8,
        bits_stored=8,
        pixel_representation=0,
        photometric_interpretation="MONOCHROME2",
        number_of_frames=1,
    )
    baseline, lossless = "1.2.840.10008.1.2.4.50", "1.2.840.10008.1.2.4.90"
    applications = _segment(0xE2, HIDDEN) + _segment(0xE8, HIDDEN)
    applications += _segment(0xEE, b"Adobe\0d\0\0\0\0\0" + HIDDEN)
    return {
        "applications": (baseline, [jpeg[:2] + applications + jpeg[2:]]),
        "second fragment": (
            baseline,
            [
                jpeg[: scan - scan % 2],
                jpeg[scan - scan % 2 : scan] + _segment(0xFE, HIDDEN) + jpeg[scan:] + HIDDEN,
            ],
        ),
        "box": (
            lossless,
            [jp2[:box] + struct.pack(">L", len(HIDDEN) + 8) + b"xml " + HIDDEN + jp2[box:]],
        ),
        "tile": (
            lossless,
            [j2k[: tile + 6] + longer + j2k[tile + 10 : data] + comment + j2k[data:] + HIDDEN],
        ),
        "behind RLE": ("1.2.840.10008.1.2.5", [rle + HIDDEN]),
    }


@pytest.mark.parametrize("place", list(_hiding_streams()))
def test_nothing_hides_in_a_compressed_stream_and_its_pixels_stay(tmp_path: Path, place: str):
    syntax, fragments = _hiding_streams()[place]
    dataset = image()
    dataset.BitsAllocated = dataset.BitsStored = 8
    dataset.HighBit, dataset.LossyImageCompression = 7, "01"
    dataset.PixelData = encaps.encapsulate([b"".join(fragments)])
    if len(fragments) > 1:
        parts = [struct.pack("<HHL", 0xFFFE, 0xE000, 0)]
        for one in fragments:
            whole = one + b"\0" * (len(one) % 2)
            parts += [struct.pack("<HHL", 0xFFFE, 0xE000, len(whole)), whole]
        dataset.PixelData = b"".join((*parts, struct.pack("<HHL", 0xFFFE, 0xE0DD, 0)))
    dataset["PixelData"].is_undefined_length = True
    path = save(dataset, tmp_path / "in" / "a.dcm", UID(syntax))
    assert HIDDEN in path.read_bytes()
    summary = deidentified(tmp_path / "in", tmp_path / "out")
    assert [one.reason for one in summary.left_out] == []
    assert leaks(tmp_path / "out", [HIDDEN.decode()]) == []
    assert np.array_equal(only(tmp_path / "out").pixel_array, pydicom.dcmread(path).pixel_array)


def test_no_technical_text_or_code_names_the_patient(tmp_path: Path):
    dataset = image()
    dataset.PatientName, dataset.PatientID = "Quentinzyx^Hu", "778899"
    dataset.Manufacturer, dataset.SequenceName = "Acme of Quentinzyx", "778899"
    dataset.AnatomicRegionSequence = [deid_canaries.code("778899", "SCT", "x")]
    dataset.MeasurementUnitsCodeSequence = [deid_canaries.code("zqxvybx", "UCUM", "x")]
    kept = deid_canaries.code("mm2/s", "UCUM", "x")
    dataset.AnatomicRegionModifierSequence = [kept]
    save(dataset, tmp_path / "in" / "a.dcm")
    deidentified(tmp_path / "in", tmp_path / "out")
    assert leaks(tmp_path / "out", ["Quentinzyx", "778899", "zqxvybx"]) == []
    made = only(tmp_path / "out")
    assert made.RescaleType == "HU"  # although the patient is called Hu
    assert made.AnatomicRegionModifierSequence[0].CodeValue == "mm2/s"


def test_arrays_end_where_their_numbers_end(tmp_path: Path):
    dataset = image()
    words = [f"Zqxvyb{letter}wo" for letter in "abcdef"]
    hidden = [one.encode() + b"   " for one in words]  # of twelve bytes
    lut = pydicom.Dataset()
    lut.LUTDescriptor = [2, 0, 16]
    lut.add_new(0x00283006, "OW", b"\0\1\2\3" + hidden[0])
    dataset.VOILUTSequence = [lut]
    dataset.RedPaletteColorLookupTableDescriptor = [2, 0, 16]
    dataset.RedPaletteColorLookupTableData = b"\0\1\2\3" + hidden[1]
    dataset.ExtendedOffsetTable = hidden[2] + b"    "
    dataset.SpectroscopyData = hidden[3]
    dataset.FloatPixelData = hidden[4]
    item = deid_canaries.code("51185008", "SCT", "Thorax")
    item.add_new(0x7FE00010, "OW", hidden[5])
    item.SOPClassUID = dataset.SOPClassUID
    dataset.AnatomicRegionSequence = [item]
    path = save(dataset, tmp_path / "in" / "a.dcm")
    assert leaks(path.parent, words) == words
    deidentified(tmp_path / "in", tmp_path / "out")
    assert leaks(tmp_path / "out", words) == []
    made = only(tmp_path / "out")
    assert made.VOILUTSequence[0]["LUTData"].value == b"\0\1\2\3"
    assert made.PixelData == image().PixelData
