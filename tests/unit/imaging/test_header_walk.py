"""The quick header reader gives what pydicom gives, or leaves the file to it, soon."""

from __future__ import annotations

import struct
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pydicom
import pytest
from pydicom import config
from pydicom.charset import python_encoding
from pydicom.data import get_testdata_file
from pydicom.dataset import Dataset
from pydicom.encaps import encapsulate
from pydicom.uid import ImplicitVRLittleEndian, JPEG2000Lossless

from app.errors import FileProblem
from app.imaging.dicom import dicom_file, header_walk
from app.imaging.dicom.dicom_file import MAX_ITEMS, IndexFile, read_header, silence_pydicom
from app.imaging.dicom.header_walk import MAX_HEADER, raw_elements, read_ordinary
from app.imaging.reading import dicom_image
from app.imaging.reading.image_entries import read_instances
from app.imaging.types import Content, Instance
from tests.conformance.files import Source, sources
from tests.unit.imaging.files import item, make_dicom

pytestmark = pytest.mark.filterwarnings("ignore")

CT, MR_IMPLICIT, CR, US = (
    Path(str(get_testdata_file(name)))
    for name in ("CT_small.dcm", "MR_small_implicit.dcm", "RG1_UNCR.dcm", "OBXXXX1A.dcm")
)
MR = Path(str(get_testdata_file("MR_small.dcm")))
J2K = Path(str(get_testdata_file("MR_small_jp2klossless.dcm")))
UNDEFINED = b"\xff\xff\xff\xff"


@pytest.fixture(autouse=True)
def _quiet(monkeypatch: pytest.MonkeyPatch) -> None:  # pyright: ignore[reportUnusedFunction]
    """As in a worker process."""
    mode = config.settings.reading_validation_mode
    monkeypatch.setattr(config.settings, "reading_validation_mode", mode)
    silence_pydicom()


def outcome(path: Path) -> tuple[Instance, ...] | str:
    """The instances of a file, or why it is refused."""
    try:
        return dicom_image.read_instances(path)
    except FileProblem as error:
        return error.reason
    except IndexFile:
        return "index"


def outcome_by_pydicom(path: Path) -> tuple[Instance, ...] | str:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(dicom_file, "read_ordinary", lambda file: None)
        return outcome(path)


def ordinary(path: Path) -> Dataset | None:
    with path.open("rb") as file:
        return read_ordinary(file)


def is_ordinary(path: Path) -> bool:
    """Whether the quick reader takes a file; what comes of it must be what comes of pydicom."""
    taken = ordinary(path) is not None
    assert outcome(path) == outcome_by_pydicom(path), path.name
    return taken


def written(path: Path, data: bytes) -> Path:
    path.write_bytes(data)
    return path


def element(group: int, number: int, vr: bytes, value: bytes, length: bytes | None = None) -> bytes:
    """An explicit little-endian element."""
    head = struct.pack("<HH", group, number) + vr
    if vr in (b"SQ", b"UN", b"OB", b"UT"):
        return head + b"\0\0" + (length or struct.pack("<L", len(value))) + value
    return head + struct.pack("<H", len(value)) + value


def inserted(path: Path, source: Path, extra: bytes, before: bytes) -> Path:
    """`source` with bytes put in before the first occurrence of others."""
    data = source.read_bytes()
    at = data.index(before, 132)
    return written(path, data[:at] + extra + data[at:])


def all_files(wanted: Callable[[Source], bool]) -> list[Path]:
    return [path for source in sources() if wanted(source) for path in source.files]


def test_all_files_that_packages_ship_are_what_pydicom_says():
    files = all_files(lambda source: not source.name.startswith("shared"))
    taken = sum(is_ordinary(path) for path in files)
    assert taken > 120, f"{taken} of {len(files)}"


def test_all_shared_files_are_what_pydicom_says(shared_data: Path):
    files = all_files(lambda source: source.name.startswith("shared"))
    taken = {path.parent.name for path in files if is_ordinary(path)}
    assert {"ct-head", "mr-t1"} <= taken
    for folder in ("ct-head", "mr-t1"):
        slices = [path for path in files if path.parent.name == folder]
        assert all(map(is_ordinary, slices)), f"{shared_data}/{folder}"


@pytest.mark.parametrize("path", [CT, MR, MR_IMPLICIT, CR, US, J2K], ids=lambda p: p.name)
def test_ordinary_images_are_read_quickly(path: Path):
    assert is_ordinary(path)
    (instance,) = read_instances(path)
    assert instance.content is Content.IMAGE
    assert instance.size_bytes == path.stat().st_size


@pytest.mark.parametrize("path", [CT, MR_IMPLICIT, J2K], ids=lambda p: p.name)
def test_elements_and_pixels_are_those_that_pydicom_finds(path: Path):
    found = ordinary(path)
    assert found is not None
    whole = pydicom.dcmread(path)
    expected = pydicom.dcmread(path, stop_before_pixels=True)
    assert list(found.keys()) == list(expected.keys())
    assert found == expected
    assert found.file_meta == Dataset(expected.file_meta)
    assert found.original_encoding == expected.original_encoding
    assert found.original_character_set == expected.original_character_set
    header = read_header(path)
    data, span = path.read_bytes(), header.pixels
    assert span is not None
    assert data[span.offset : span.offset + span.length].startswith(whole.PixelData[:64])
    assert header.encapsulated == whole.file_meta.TransferSyntaxUID.is_compressed


def test_sequences_of_every_encoding_are_passed_over(tmp_path: Path):
    inner = element(0x0008, 0x0100, b"SH", b"T-1 ")
    nested = element(
        0x0040,
        0xA043,
        b"SQ",
        b"\xfe\xff\x00\xe0" + UNDEFINED + inner + b"\xfe\xff\x0d\xe0\0\0\0\0"
        b"\xfe\xff\xdd\xe0\0\0\0\0",
        UNDEFINED,
    )
    known = b"\xfe\xff\x00\xe0" + struct.pack("<L", len(nested)) + nested
    empty = b"\xfe\xff\x00\xe0\0\0\0\0"
    end = b"\xfe\xff\xdd\xe0\0\0\0\0"
    extra = element(0x0009, 0x1001, b"SQ", known + empty + end, UNDEFINED)
    extra += element(0x0009, 0x1002, b"SQ", known + empty)
    extra += element(0x0009, 0x1003, b"SQ", b"")
    extra += element(0x0009, 0x1004, b"UN", bytes(70_000))
    path = inserted(tmp_path / "a.dcm", make_dicom(tmp_path / "b.dcm"), extra, b"\x10\0\x10\0PN")
    assert is_ordinary(path)
    found, expected = ordinary(path), pydicom.dcmread(path, stop_before_pixels=True)
    assert found == expected


@pytest.mark.parametrize("vr", [b"SQ", b"UN"])
@pytest.mark.parametrize("length", [UNDEFINED, None])
def test_items_without_vrs_within_a_file_with_them(vr: bytes, length: bytes | None, tmp_path: Path):
    inner = b"\x08\0\0\1\4\0\0\0T-1 " + b"\x09\0\1\x10" + UNDEFINED
    inner += b"\xfe\xff\x00\xe0\0\0\0\0\xfe\xff\xdd\xe0\0\0\0\0"
    items = b"\xfe\xff\x00\xe0" + struct.pack("<L", len(inner)) + inner
    items += b"\xfe\xff\x00\xe0" + UNDEFINED + inner + b"\xfe\xff\x0d\xe0\0\0\0\0"
    items += b"\xfe\xff\xdd\xe0\0\0\0\0" if length else b""
    extra = element(0x0009, 0x1001, vr, items, length)
    path = inserted(tmp_path / "a.dcm", make_dicom(tmp_path / "b.dcm"), extra, b"\x10\0\x10\0PN")
    assert is_ordinary(path) == (vr == b"SQ" or length is None)
    block = pydicom.dcmread(path)[0x00091001]
    assert block.VR == "UN" if vr == b"UN" and not length else len(block.value) == 2
    short = written(tmp_path / "c.dcm", path.read_bytes().replace(inner, inner[:-8], 1))
    is_ordinary(short)


@pytest.mark.parametrize("depth", [7, 50, 3000])
def test_sequences_in_sequences_end_somewhere(depth: int, tmp_path: Path):
    head = element(0x0009, 0x1001, b"SQ", b"\xfe\xff\x00\xe0" + UNDEFINED, UNDEFINED)
    tail = b"\xfe\xff\x0d\xe0\0\0\0\0\xfe\xff\xdd\xe0\0\0\0\0"
    extra = head * depth + tail * depth
    path = inserted(tmp_path / "a.dcm", make_dicom(tmp_path / "b.dcm"), extra, b"\x10\0\x10\0PN")
    assert is_ordinary(path) == (depth < 100)


@pytest.mark.parametrize("implicit", [False, True])
@pytest.mark.parametrize(
    ("declared", "encoding", "name"),
    [
        ("ISO_IR 100", "latin-1", "Müller^Jörg"),
        ("ISO_IR 192", "utf-8", "Müller^Ж=山田"),
        ("GB18030", "gb18030", "王^小东"),
        ("ISO_IR 13", "shift_jis", "ﾔﾏﾀﾞ"),
        (None, "utf-8", "Müller^Jörg"),
        ("ISO_IR 100", "utf-8", "Müller^Ж"),
        ("ISO_IR 192", "latin-1", "Müller^Jörg"),
        (None, "iso2022_jp", "山田^太郎"),
        ("\\ISO 2022 IR 87", "iso2022_jp", "山田^太郎"),
    ],
)
def test_names_in_all_characters(
    declared: str | None, encoding: str, name: str, implicit: bool, tmp_path: Path
):
    raw = name.encode(encoding)
    raw += b" " * (len(raw) % 2)
    letters: dict[str, Any] = {"SpecificCharacterSet": declared, "PatientName": "x" * len(raw)}
    path = make_dicom(tmp_path / "a.dcm", **letters)
    if implicit:
        dataset = pydicom.dcmread(path)
        dataset.file_meta.TransferSyntaxUID = ImplicitVRLittleEndian
        dataset.save_as(path, implicit_vr=True, little_endian=True)
    path.write_bytes(path.read_bytes().replace(b"x" * len(raw), raw, 1))
    for _ in range(2):  # the second time it is remembered
        assert is_ordinary(path)
    assert read_instances(path)[0].get("PatientName") == name


def test_an_encoding_is_not_carried_over_to_another_file(tmp_path: Path):
    for number, (declared, name) in enumerate([("ISO_IR 100", "Ä"), ("ISO_IR 144", "Ф")] * 2):
        path = make_dicom(tmp_path / f"{number}.dcm", SpecificCharacterSet=declared)
        path.write_bytes(path.read_bytes().replace(b"Doe^Jane", b"\xc4^Jane  ", 1))
        assert is_ordinary(path)
        assert read_instances(path)[0].get("PatientName") == f"{name}^Jane"


@pytest.mark.parametrize("implicit", [False, True])
def test_a_text_of_a_file_that_has_nothing_else_is_not_carried_over(implicit: bool, tmp_path: Path):
    """The first has no element by which encodings are told: its texts are Latin, and only its."""
    for declared, letter in ((None, "Ä"), ("ISO_IR 144", "Ф")):
        path = make_dicom(
            tmp_path / "a.dcm",
            SpecificCharacterSet=declared,
            PatientName=None,
            PatientID="xID ",
        )
        if implicit:
            dataset = pydicom.dcmread(path)
            dataset.file_meta.TransferSyntaxUID = ImplicitVRLittleEndian
            dataset.save_as(path, implicit_vr=True, little_endian=True)
        path.write_bytes(path.read_bytes().replace(b"xID ", b"\xc4ID ", 1))
        assert is_ordinary(path)
        assert read_instances(path)[0].get("PatientID") == f"{letter}ID"


@pytest.mark.parametrize(
    "declared", [b"ISO_IR 1000", b"ISO_IR\0 100", b"\xe9\xe9", b"ISO_IR 100\\x"]
)
def test_an_unknown_character_set_is_what_pydicom_makes_of_it(declared: bytes, tmp_path: Path):
    path = make_dicom(tmp_path / "a.dcm", SpecificCharacterSet="x" * len(declared))
    path.write_bytes(path.read_bytes().replace(b"x" * len(declared), declared, 1))
    is_ordinary(path)


def test_all_character_sets_agree_on_ascii():
    letters = bytes(range(32, 127))
    for encoding in set(python_encoding.values()):
        assert letters.decode(encoding) == letters.decode("ascii"), encoding


@pytest.mark.parametrize(
    ("creator", "group", "number", "vr", "raw", "found"),
    [
        ("SIEMENS MR HEADER", 0x0019, 0x100C, b"IS", b"800 ", "800"),
        ("GEMS_PARM_01", 0x0043, 0x1039, b"IS", b"1000000050\\0\\0 ", "50"),
        ("Philips Imaging DD 001", 0x2001, 0x1003, b"FL", struct.pack("<f", 1500), "1500"),
        ("SIEMENS MR HEADER", 0x0019, 0x100C, b"UN", b"400 ", "400"),
        ("another maker", 0x0019, 0x100C, b"IS", b"800 ", ""),
        ("SIEMENS MR HEADER", 0x0019, 0x100D, b"IS", b"800 ", ""),
    ],
)
def test_b_values_of_makers(
    creator: str, group: int, number: int, vr: bytes, raw: bytes, found: str, tmp_path: Path
):
    text = creator.encode() + b" " * (len(creator) % 2)
    extra = element(group, 0x0010, b"LO", text) + element(group, number, vr, raw)
    if group == 0x2001:
        extra += element(group, 0x105F, b"SQ", b"\xfe\xff\xdd\xe0\0\0\0\0", UNDEFINED)
    source = make_dicom(tmp_path / "b.dcm", Modality="MR")
    after = b"\xe0\x7f\x10\0OW" if group > 0x28 else b"\x20\0\x0d\0UI"
    path = inserted(tmp_path / "a.dcm", source, extra, after)
    for _ in range(2):
        assert is_ordinary(path)
    assert read_instances(path)[0].get("DiffusionBValue") == found


@pytest.mark.parametrize(
    "changes",
    [
        {"NumberOfFrames": 2, "PixelData": bytes(48)},
        {"SOPClassUID": "1.2.840.10008.5.1.4.1.1.66.4"},
        {"SOPClassUID": "1.2.840.10008.5.1.4.1.1.88.11"},
        {"SOPClassUID": None},
        {"SOPInstanceUID": None},
        {"Rows": None},
        {"BitsAllocated": 5},
        {"Rows": 65535, "Columns": 65535},
        {"PixelData": bytes(10)},
        {"PixelData": bytes(48)},
        {"PixelData": None},
        {"TotalPixelMatrixRows": 30, "TotalPixelMatrixColumns": 40},
        {"SharedFunctionalGroupsSequence": [item(PixelMeasuresSequence=[])]},
        {"InstanceNumber": ["1", "2"]},
    ],
    ids=lambda changes: ",".join(changes),
)
def test_unusual_and_damaged_images_are_what_pydicom_makes_of_them(
    changes: dict[str, Any], tmp_path: Path
):
    is_ordinary(make_dicom(tmp_path / "a.dcm", **changes))


def test_compressed_frames_whose_number_is_not_told_are_counted(tmp_path: Path):
    fragments = encapsulate([b"\xff\x4f\xff\x51" + bytes(20)] * 3)
    enhanced = "1.2.840.10008.5.1.4.1.1.4.1"
    for sop_class, frames in ((enhanced, 3), ("1.2.840.10008.5.1.4.1.1.4", 1)):
        path = make_dicom(tmp_path / "a.dcm", SOPClassUID=sop_class, PixelData=None)
        dataset = pydicom.dcmread(path)
        dataset.file_meta.TransferSyntaxUID = JPEG2000Lossless
        dataset.add_new("PixelData", "OB", fragments)
        dataset["PixelData"].is_undefined_length = True
        dataset.save_as(path)
        assert is_ordinary(path)
        assert read_instances(path)[0].frames == frames


@pytest.mark.slow
@pytest.mark.parametrize("source", [CT, MR_IMPLICIT, J2K], ids=lambda p: p.name)
def test_a_file_cut_anywhere_is_what_pydicom_makes_of_it(source: Path, tmp_path: Path):
    data = source.read_bytes()
    header = read_header(source)
    assert header.pixels is not None
    begin = header.pixels.offset
    for end in [*range(0, begin + 40, 3), *range(begin, len(data), 5000)]:
        path = written(tmp_path / "a.dcm", data[:end])
        assert not is_ordinary(path) or end >= begin - 12


def damaged(rng: np.random.Generator, source: bytes, head: int) -> bytes:
    """A header with a few bytes changed, or pieces of it left out or doubled."""
    data = bytearray(source)
    tempting = b"\0\1\2\x20\x2d\x31\x5c\x1b\xff"
    for _ in range(int(rng.integers(1, 3))):
        at = int(rng.integers(132, min(head, len(data))))
        kind = rng.integers(0, 8)
        if kind == 0:
            del data[at : at + int(rng.integers(1, 40))]
        elif kind == 1:
            data[at:at] = data[at - int(rng.integers(1, 40)) : at]
        elif kind < 5:
            data[at] = tempting[int(rng.integers(0, len(tempting)))]
        else:
            data[at] = int(rng.integers(0, 256))
    if rng.random() < 0.05:
        del data[int(rng.integers(0, len(data))) :]
    return bytes(data)


@pytest.mark.slow
def test_damaged_headers_are_what_pydicom_says(tmp_path: Path):
    rng = np.random.default_rng(4)
    made = make_dicom(tmp_path / "made.dcm", InstanceNumber=3, SpecificCharacterSet="ISO_IR 100")
    taken, count = 0, 900
    for source in (CT, MR, MR_IMPLICIT, J2K, made):
        header = read_header(source)
        assert header.pixels is not None
        data = source.read_bytes()
        for _ in range(count):
            path = written(tmp_path / "a.dcm", damaged(rng, data, header.pixels.offset))
            taken += is_ordinary(path)
    assert 0.1 < taken / (5 * count) < 0.9


def test_a_header_is_walked_the_same_whatever_was_walked_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    rng = np.random.default_rng(5)
    used: dict[Any, Any] = {}
    found = 0
    for number in range(600):
        source = (CT, MR_IMPLICIT, MR)[number // 20 % 3].read_bytes()
        whole = rng.random() < 0.5
        path = written(tmp_path / "a.dcm", source if whole else damaged(rng, source, 1500))
        monkeypatch.setattr(header_walk, "_groups", used)
        header = ordinary(path)
        monkeypatch.setattr(header_walk, "_groups", {})
        other = ordinary(path)
        # Damaged values cannot be compared once they are converted.
        assert (header is None) == (other is None)
        if header is not None and other is not None:
            assert raw_elements(header) == raw_elements(other)
        found += header is not None
    assert found > 300
    assert len(used) > 5


def soon(path: Path, limit_s: float = 0.5) -> bool:
    """Whether the quick way takes it, which must be told soon."""
    started = time.process_time()  # of the processor: a busy machine is not meant
    taken = ordinary(path) is not None
    assert time.process_time() - started < limit_s
    return taken


def test_lengths_beyond_the_file_are_told_soon(tmp_path: Path):
    for vr in (b"UN", b"OB", b"SQ", b"UT"):
        for length in (b"\xfe\xff\xff\xff", UNDEFINED, b"\0\0\0\x40"):
            extra = element(0x0009, 0x1001, vr, b"", length)
            path = inserted(tmp_path / "a.dcm", CT, extra, b"\x10\0\x10\0PN")
            assert not soon(path)


def test_millions_of_elements_are_told_soon(tmp_path: Path):
    tiny = b"".join(
        element(group, number, b"LO", b"")
        for group in range(0x0009, 0x000F, 2)
        for number in range(0xFFFF)
    )
    path = inserted(tmp_path / "a.dcm", make_dicom(tmp_path / "b"), tiny, b"\x10\0\x10\0PN")
    assert path.stat().st_size > 1e6
    assert not soon(path)
    empty = b"\xfe\xff\x00\xe0\0\0\0\0" * 1_000_000
    for length in (UNDEFINED, None):
        many = element(0x0009, 0x1001, b"SQ", empty, length)
        path = inserted(tmp_path / "a.dcm", make_dicom(tmp_path / "b"), many, b"\x10\0\x10\0PN")
        assert not soon(path)


def test_a_header_of_very_many_items_is_left_to_pydicom(
    tmp_path: Path,
):
    assert MAX_HEADER < 8 * MAX_ITEMS
    for count, taken in ((1900, True), (2100, False)):
        empty = b"\xfe\xff\x00\xe0\0\0\0\0" * count + b"\xfe\xff\xdd\xe0\0\0\0\0"
        many = element(0x0009, 0x1001, b"SQ", empty, UNDEFINED)
        path = inserted(tmp_path / "a.dcm", make_dicom(tmp_path / "b"), many, b"\x10\0\x10\0PN")
        assert is_ordinary(path) == taken


def test_what_is_remembered_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    groups: dict[Any, Any] = {}
    monkeypatch.setattr(header_walk, "_MOST_GROUPS", 10)
    monkeypatch.setattr(header_walk, "_groups", groups)
    for number in range(20):
        assert is_ordinary(CT)
        assert is_ordinary(make_dicom(tmp_path / "a.dcm", PatientName="x" * number))
    assert is_ordinary(make_dicom(tmp_path / "a.dcm", SeriesDescription="x" * 60_000))
    assert 0 < len(groups) <= 10
    assert max(len(one.data) for one in groups.values()) < 20_000
