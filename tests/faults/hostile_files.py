"""Pictures, volumes, documents and archives made to harm."""

from __future__ import annotations

import gzip
import io
import struct
import zipfile
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import tifffile
from PIL import Image

from tests.faults.hostile_dicom import zeros_deflated
from tests.faults.seeds import a_picture
from tests.unit.imaging.files import png_bytes, png_claiming

BIG = 65535


def picture(form: str, rows: int = BIG, columns: int = BIG) -> bytes:
    """A picture whose header claims a size that its data do not fill."""
    if form == "PNG":
        return png_claiming(columns, rows)
    buffer = io.BytesIO()
    Image.fromarray(a_picture(samples=3)).save(buffer, form)
    data = bytearray(buffer.getvalue())
    if form == "JPEG":
        at = data.find(b"\xff\xc0")
        data[at + 5 : at + 9] = struct.pack(">HH", rows, columns)
    elif form == "BMP":
        data[18:26] = struct.pack("<ll", columns, rows)
    elif form == "GIF":
        data[6:10] = struct.pack("<HH", columns, rows)
        at = data.find(b"\x2c")
        data[at + 5 : at + 9] = struct.pack("<HH", columns, rows)
    elif form == "WEBP":
        at = data.find(b"\x9d\x01\x2a") + 3
        data[at : at + 4] = struct.pack("<HH", 16383, 16383)
    return bytes(data)


def growing_animation() -> bytes:
    """A GIF whose second frame is 65535 x 65535."""
    buffer = io.BytesIO()
    frames = [Image.fromarray(a_picture()), Image.fromarray(a_picture()[::-1].copy())]
    frames[0].save(buffer, "GIF", save_all=True, append_images=frames[1:])
    data = bytearray(buffer.getvalue())
    at = data.rfind(b"\x2c\0\0\0\0")
    data[at + 5 : at + 9] = struct.pack("<HH", BIG, BIG)
    return bytes(data)


def _chunk(kind: bytes, data: bytes) -> bytes:
    body = kind + data
    return struct.pack(">L", len(data)) + body + struct.pack(">L", zlib.crc32(body))


def png_with_texts(kind: bytes, megabytes: int, count: int) -> bytes:
    """A PNG with compressed texts that inflate without end."""
    raw = zeros_deflated(megabytes)
    packed = b"\x78\x9c" + raw
    head = b"key\0" + (b"\0" if kind == b"zTXt" else b"\x01\0\0\0")
    texts = _chunk(kind, head + packed) * count
    plain = png_bytes(a_picture())
    return plain[:33] + texts + plain[33:]


def tiff(**fields: int) -> bytes:
    """A small TIFF with other values in fields of its directory."""
    tags = {
        "ImageWidth": 256, "ImageLength": 257, "TileWidth": 322, "TileLength": 323,
        "SamplesPerPixel": 277, "RowsPerStrip": 278, "BitsPerSample": 258,
    }  # fmt: skip
    buffer = io.BytesIO()
    tile: dict[str, Any] = (
        {"tile": (16, 16)} if any(name.startswith("Tile") for name in fields) else {}
    )
    tifffile.imwrite(buffer, a_picture(side=32), compression="deflate", metadata=None, **tile)
    data = bytearray(buffer.getvalue())
    (at,) = struct.unpack("<L", data[4:8])
    (count,) = struct.unpack("<H", data[at : at + 2])
    for number in range(count):
        entry = at + 2 + 12 * number
        tag, kind = struct.unpack("<HH", data[entry : entry + 4])
        for name, value in fields.items():
            if tags[name] == tag:
                form = "<H" if kind == 3 else "<L"
                data[entry + 8 : entry + 8 + struct.calcsize(form)] = struct.pack(form, value)
    return bytes(data)


def tiff_in_circles() -> bytes:
    """A TIFF whose directory is followed by itself."""
    data = bytearray(tiff())
    (at,) = struct.unpack("<L", data[4:8])
    (count,) = struct.unpack("<H", data[at : at + 2])
    data[at + 2 + 12 * count : at + 6 + 12 * count] = struct.pack("<L", at)
    return bytes(data)


def tiff_of_directories(count: int) -> bytes:
    """A TIFF of very many directories with one entry each."""
    one = 2 + 12 + 4
    parts = [b"II*\0" + struct.pack("<L", 8)]
    for number in range(count):
        after = 8 + one * (number + 1) if number + 1 < count else 0
        parts.append(struct.pack("<HHHLLL", 1, 256, 4, 1, 1, after))
    return b"".join(parts)


def tiff_bomb() -> bytes:
    """A TIFF of 512 x 512 whose one strip inflates to gigabytes."""
    buffer = io.BytesIO()
    tifffile.imwrite(buffer, np.zeros((512, 512), np.uint8), compression="deflate", metadata=None)
    data = bytearray(buffer.getvalue())
    bomb = b"\x78\x9c" + zeros_deflated(2048)
    (at,) = struct.unpack("<L", data[4:8])
    (count,) = struct.unpack("<H", data[at : at + 2])
    for number in range(count):
        entry = at + 2 + 12 * number
        tag, kind = struct.unpack("<HH", data[entry : entry + 4])
        value = {273: len(data), 279: len(bomb)}.get(tag)
        if value is not None:
            data[entry + 2 : entry + 4] = struct.pack("<H", 4)
            data[entry + 8 : entry + 12] = struct.pack("<L", value)
        del kind
    return bytes(data) + bomb


def nifti(dim: tuple[int, ...], offset: float = 352.0, body: bytes = b"") -> bytes:
    """A NIfTI-1 file of 16-bit voxels with these sizes."""
    head = bytearray(352)
    head[0:4] = struct.pack("<i", 348)
    head[40:56] = struct.pack("<8h", len(dim), *dim, *(1,) * (7 - len(dim)))
    head[70:74] = struct.pack("<hh", 4, 16)
    head[76:108] = struct.pack("<8f", *(1.0,) * 8)
    head[108:112] = struct.pack("<f", offset)
    head[344:348] = b"n+1\0"
    return bytes(head) + body


def gzip_without_end(start: bytes, megabytes: int) -> bytes:
    """A gzip file that begins so and goes on with zeros."""
    packer = zlib.compressobj(9, wbits=-15)
    head = packer.compress(start) + packer.flush(zlib.Z_FULL_FLUSH)
    return b"\x1f\x8b\x08\0\0\0\0\0\0\xff" + head + zeros_deflated(megabytes) + bytes(8)


def gzip_with_name(start: bytes, length: int) -> bytes:
    """A gzip file with a name of that many bytes."""
    plain = gzip.compress(start)
    return plain[:3] + b"\x08" + plain[4:10] + b"n" * length + b"\0" + plain[10:]


def gzip_of_nothing(start: bytes, count: int) -> bytes:
    """A gzip file of very many members without content, then one with it."""
    return gzip.compress(start[:1]) + gzip.compress(b"") * count + gzip.compress(start[1:])


def nrrd(sizes: str, encoding: str = "gzip", body: bytes = b"") -> bytes:
    """An NRRD file of 16-bit voxels."""
    lines = ["NRRD0004", "type: short", f"dimension: {len(sizes.split())}", f"sizes: {sizes}"]
    return "\n".join([*lines, "endian: little", f"encoding: {encoding}", "", ""]).encode() + body


def meta_image(sizes: str, body: bytes = b"") -> bytes:
    """A compressed MetaImage."""
    lines = [f"NDims = {len(sizes.split())}", f"DimSize = {sizes}", "ElementType = MET_SHORT"]
    return "\n".join([*lines, "CompressedData = True", "ElementDataFile = LOCAL", ""]).encode() + (
        body
    )


def pdf(box: str, content: bytes = b"", *, flate: bool = False) -> bytes:
    """A PDF of one page of that size."""
    filters = b"/Filter /FlateDecode " if flate else b""
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        f"<< /Type /Page /Parent 2 0 R /MediaBox [{box}] /Contents 4 0 R >>".encode(),
        b"<< " + filters + f"/Length {len(content)} >>\nstream\n".encode() + content + (
            b"\nendstream"
        ),
    ]  # fmt: skip
    data = b"%PDF-1.4\n"
    places: list[int] = []
    for number, body in enumerate(objects, start=1):
        places.append(len(data))
        data += f"{number} 0 obj\n".encode() + body + b"\nendobj\n"
    table = "".join(f"{place:010} 00000 n \n" for place in places)
    start = len(data)
    data += f"xref\n0 5\n0000000000 65535 f \n{table}trailer\n".encode()
    return data + f"<< /Size 5 /Root 1 0 R >>\nstartxref\n{start}\n%%EOF\n".encode()


def zip_of(members: dict[str, bytes]) -> bytes:
    """A zip archive."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members.items():
            archive.writestr(zipfile.ZipInfo(name), data, zipfile.ZIP_DEFLATED)
    return buffer.getvalue()


def zip_bomb(megabytes: int, declared: int | None = None) -> bytes:
    """An archive whose one member inflates to so many megabytes and declares what it likes."""
    raw = zeros_deflated(megabytes)
    size = min(megabytes * 2**20 if declared is None else declared, 0xFFFFFFFE)
    name = b"IM0001"
    common = struct.pack("<HHHHHLLLHH", 20, 0, 8, 0, 0x21, 0, len(raw), size, len(name), 0)
    local = b"PK\x03\x04" + common + name + raw
    central = b"PK\x01\x02\x14\0" + common + struct.pack("<HHHLL", 0, 0, 0, 0, 0) + name
    end = b"PK\x05\x06" + struct.pack("<HHHHLLH", 0, 0, 1, 1, len(central), len(local), 0)
    return local + central + end


def zip_overlapping(count: int) -> bytes:
    """An archive of many members that are all the same bytes."""
    one = zip_bomb(100)
    at = one.rfind(b"PK\x01\x02")
    end = one.rfind(b"PK\x05\x06")
    central = b"".join(one[at : end - 6] + f"{number:06d}".encode() for number in range(count))
    tail = struct.pack("<HHHHLLH", 0, 0, count, count, len(central), at, 0)
    return one[:at] + central + b"PK\x05\x06" + tail


def zip_of_entries(count: int) -> bytes:
    """An archive whose directory has that many entries, and says nothing of it."""
    one = zip_of({"IM0001": b"x"})
    at, end = one.rfind(b"PK\x01\x02"), one.rfind(b"PK\x05\x06")
    central = one[at:end] * count
    tail = struct.pack("<HHHHLLH", 0, 0, 1, 1, len(central), at, 0)
    return one[:at] + central + b"PK\x05\x06" + tail


def write(path: Path, data: bytes) -> Path:
    """A file of these bytes."""
    path.write_bytes(data)
    return path
