"""Values, palettes, pictures and TIFFs made to harm: much work or memory for few bytes."""

from __future__ import annotations

import struct
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pydicom
from pydicom.uid import UID

from tests.faults.hostile_dicom import ITEM, claiming, code_of, element, with_data_set
from tests.faults.seeds import a_picture
from tests.unit.imaging.files import make_dicom, png_bytes

IMPLICIT = "1.2.840.10008.1.2"
JPEG_LS = "1.2.840.10008.1.2.4.80"
J2K = "1.2.840.10008.1.2.4.90"


def implicit(path: Path, tag: int, value: bytes) -> Path:
    """A file of implicit VR, whose lengths have 32 bits, with this element as it is."""
    make_dicom(path)
    ds = pydicom.dcmread(path)
    if tag in ds:
        del ds[tag]
    ds.file_meta.TransferSyntaxUID = UID(IMPLICIT)
    ds.save_as(path, implicit_vr=True, little_endian=True, enforce_file_format=True)
    data = path.read_bytes()
    at = data.find(struct.pack("<HH", 8, 0x16), 132)
    while at < len(data):
        group, element, length = struct.unpack("<HHL", data[at : at + 8])
        if group << 16 | element > tag:
            break
        at += 8 + length
    head = struct.pack("<HHL", tag >> 16, tag & 0xFFFF, len(value))
    path.write_bytes(data[:at] + head + value + data[at:])
    return path


def report(path: Path, count: int) -> Path:
    """A structured report of so many lines of text."""
    name = ITEM + struct.pack("<L", 12) + element(0x00080119, b"UC", b"")
    line = element(0x0040A043, b"SQ", name) + element(0x0040A160, b"UT", b"text")
    lines = (ITEM + struct.pack("<L", len(line)) + line) * count
    image: dict[str, Any] = dict.fromkeys(
        ("Rows", "Columns", "SamplesPerPixel", "PhotometricInterpretation", "BitsAllocated")
    )
    elements: dict[str, Any] = {"SOPClassUID": "1.2.840.10008.5.1.4.1.1.88.33", "Modality": "SR"}
    return with_data_set(path, element(0x0040A730, b"SQ", lines), **(image | elements))


def overlaid(path: Path, planes: int, rows: int, columns: int) -> Path:
    """An image of 8 x 8 under overlays of that size."""
    make_dicom(path, np.zeros((8, 8), np.uint8))
    ds = pydicom.dcmread(path)
    for group in range(0x6000, 0x6000 + 2 * planes, 2):
        ds.add_new(group << 16 | 0x10, "US", rows)
        ds.add_new(group << 16 | 0x11, "US", columns)
        ds.add_new(group << 16 | 0x40, "CS", "G")
        ds.add_new(group << 16 | 0x50, "SS", [1, 1])
        ds.add_new(group << 16 | 0x3000, "OW", bytes(rows * columns // 8))
    ds.save_as(path)
    return path


def pdf_of_forms(depth: int) -> bytes:
    """A PDF of one page with ten forms, of ten forms each, and so on."""

    def stream(words: str, content: str) -> str:
        return f"<< {words} /Length {len(content)} >>\nstream\n{content}\nendstream"

    box = "/Type /XObject /Subtype /Form /BBox [0 0 200 200]"
    objects = [
        "<< /Type /Catalog /Pages 2 0 R >>",
        "<< /Type /Pages /Count 1 /Kids [3 0 R] >>",
        "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 200 200] /Contents 4 0 R"
        " /Resources << /XObject << /F 5 0 R >> >> >>",
        stream("", "/F Do " * 10),
        *(
            stream(f"{box} /Resources << /XObject << /F {6 + n} 0 R >> >>", "/F Do " * 10)
            for n in range(depth)
        ),
        stream(box, "0 0 m 1 1 l S"),
    ]
    data, places = "%PDF-1.4\n", list[int]()
    for number, body in enumerate(objects, start=1):
        places.append(len(data))
        data += f"{number} 0 obj\n{body}\nendobj\n"
    table = "".join(f"{place:010} 00000 n \n" for place in places)
    count = len(objects) + 1
    end = f"trailer\n<< /Size {count} /Root 1 0 R >>\nstartxref\n{len(data)}\n%%EOF\n"
    return (data + f"xref\n0 {count}\n0000000000 65535 f \n{table}{end}").encode()


def segmented(path: Path) -> Path:
    """A palette of segments that hold nothing, repeated thousands of times."""
    make_dicom(path, np.zeros((8, 8), np.uint8), PhotometricInterpretation="PALETTE COLOR")
    ds = pydicom.dcmread(path)
    nothing = bytes(4 * 65535)
    data = nothing + struct.pack("<HHHH", 2, 65535, 0, 0) * 20_000
    for channel in range(3):
        ds.add_new(0x00281101 + channel, "US", [0, 0, 16])
        ds.add_new(0x00281221 + channel, "OW", data)
    ds.save_as(path)
    return path


def oversize(size_bytes: int, *, late: bool) -> bytes:
    """A JPEG-LS whose start of frame says nothing and a preset segment a great deal."""
    code = claiming(JPEG_LS, code_of(JPEG_LS)[1], 0, 0)
    most = (1 << min(8 * size_bytes, 20)) - 1
    body = struct.pack(">HBB", 4 + 2 * size_bytes, 4, size_bytes)
    segment = b"\xff\xf8" + body + most.to_bytes(size_bytes, "big") * 2
    at = code.find(b"\xff\xda") if late else 2
    return code[:at] + segment + code[at:]


def wavelets(side: int, tile: tuple[int, int]) -> bytes:
    """A JPEG 2000 code stream of that size and these tiles, with nothing much in it."""
    data = bytearray(code_of(J2K)[1])
    data[8:16] = struct.pack(">LL", side, side)
    data[24:32] = struct.pack(">LL", *tile)
    return bytes(data) + bytes(20_000)


def png_of_chunks(kind: bytes, count: int) -> bytes:
    """A PNG with so many chunks that hold nothing."""
    plain = png_bytes(a_picture())
    return plain[:33] + (bytes(4) + kind + bytes(4)) * count + plain[33:]


def gif(pieces: bytes) -> bytes:
    """A GIF of 8 x 8 of these blocks."""
    head = b"GIF89a" + struct.pack("<HHBBB", 8, 8, 0x80, 0, 0) + b"\0\0\0\xff\xff\xff"
    return head + pieces + b"\x2c" + struct.pack("<HHHHB", 0, 0, 8, 8, 0) + b"\2\2\x44\1\0;"


GIF_FRAME = b"\x2c" + struct.pack("<HHHHB", 0, 0, 1, 1, 0) + b"\2\1\x44\0"


def tiff(entries: dict[int, tuple[int, int, int]], body: bytes, *, side: int = 64) -> bytes:
    """A TIFF of one uncompressed page with these tags: code -> (type, count, value).

    A value of -1 - n stands for the place n bytes into `body`, which lies behind the directory.
    """
    tags = {
        256: (4, 1, side), 257: (4, 1, side), 258: (3, 1, 8), 259: (3, 1, 1), 262: (3, 1, 1),
        273: (4, 1, 8), 277: (3, 1, 1), 278: (4, 1, side), 279: (4, 1, side * side),
    } | entries  # fmt: skip
    if 322 in tags:
        tags = {code: tag for code, tag in tags.items() if code not in (273, 278, 279)}
    start = 8 + 2 + 12 * len(tags) + 4
    packed = [
        struct.pack("<HHLL", code, kind, count, value if value >= 0 else start - 1 - value)
        for code, (kind, count, value) in sorted(tags.items())
    ]
    return b"II*\0\x08\0\0\0" + struct.pack("<H", len(packed)) + b"".join(packed) + bytes(4) + body


def ome(sizes: str) -> bytes:
    """An OME-TIFF that declares these sizes."""
    text = (
        '<OME xmlns="http://www.openmicroscopy.org/Schemas/OME/2016-06"><Image ID="Image:0">'
        f'<Pixels ID="P" SizeX="64" SizeY="64" {sizes} Type="uint8" DimensionOrder="XYZCT">'
        '<TiffData IFD="0"/></Pixels></Image></OME>\0'
    ).encode()
    return tiff({270: (2, len(text), -1)}, text + bytes(5000))


def pdf_of_operators(count: int) -> bytes:
    """A PDF of one page with so many lines, deflated."""
    content = zlib.compress(b"0 0 m 200 200 l S\n" * count, 9)
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Count 1 /Kids [3 0 R] >>",
        b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 200 200] /Contents 4 0 R >>",
        b"<< /Filter /FlateDecode /Length %d >>\nstream\n%b\nendstream" % (len(content), content),
    ]
    body = b"".join(b"%d 0 obj\n%b\nendobj\n" % pair for pair in enumerate(objects, start=1))
    return b"%PDF-1.4\n" + body + b"trailer\n<< /Size 5 /Root 1 0 R >>\n%%EOF\n"
