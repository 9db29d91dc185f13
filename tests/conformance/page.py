"""The page docs/conformance.md."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from app.imaging.dicom import codecs
from app.imaging.dicom.codecs import DECODERS, syntax_name
from tests.conformance import disagreements
from tests.conformance.files import Source
from tests.conformance.table import Row

_HEAD = """# What Sightline shows, file by file

Made by `python -m tests.conformance`; do not edit. Each file is opened by itself, its first and
last frame are rendered as `python -m app render` does, and compared with every witness that can
read it:

- **formulas**: PS3.3 C.11 in float64 (`tests/unit/imaging/oracle.py`), on every pixel;
- **dcm2pnm**: dcmtk with the same window, on every pixel;
- **GDCM**: the stored values, bit for bit (lossy codecs may differ by rounding);
- **SimpleITK**, **tifffile**: the stored values of pictures and volumes.

"equal" is no difference at all, "1/255" one grey level at most; a witness that cannot read a file
says so and proves nothing. Colour is not compared with GDCM.

One file of every kind, as `render` draws it:

![One file of every kind](images/conformance.png)
"""


def text(sources: Sequence[Source], table: Sequence[Row]) -> str:
    """The whole page as Markdown."""
    parts = [_HEAD, _summary(sources, table), _decoders(), _disagreements()]
    for source in sources:
        parts.append(f"## {source.name}\n")
        parts.append(_rows(row for row in table if row.source == source.name))
    return "\n".join(parts).rstrip() + "\n"


def _summary(sources: Sequence[Source], table: Sequence[Row]) -> str:
    lines = [
        "| collection | files | shown | listed | refused | two witnesses or more | disputed |",
        "|---|---|---|---|---|---|---|",
    ]
    for source in sources:
        mine = [row for row in table if row.source == source.name]
        kinds = Counter(row.kind for row in mine)
        sure = sum(sum(v.agrees is True for v in row.verdicts) >= 2 for row in mine)
        counts = (kinds["shown"], kinds["listed"], kinds["refused"], sure)
        disputed = sum(row.disputed for row in mine)
        cells = " | ".join(str(count) for count in (len(mine), *counts, disputed))
        lines.append(f"| {source.name} | {cells} |")
    return "\n".join(lines) + "\n"


_NO_CODEC = ("numpy", "BSD-3-Clause", "no codec: the bytes are the pixels")
_LIBRARIES = {
    codecs.decode_rle: (
        "imagecodecs (own C)",
        "BSD-3-Clause",
        "packed runs only; takes packed bits and keeps bits outside the value, as others do not",
    ),
    codecs.decode_jpeg: (
        "Pillow (libjpeg-turbo) for 8 bits lossy, imagecodecs (libjpeg-turbo 3) for the rest",
        "MIT-CMU, BSD-3-Clause, IJG",
        "free, 8, 12 and 16 bits, lossy and lossless; keeps YBR for our own conversion",
    ),
    codecs.decode_jpeg_2000: (
        "pylibjpeg-openjpeg (OpenJPEG)",
        "MIT, BSD-2-Clause",
        "signed and unsigned, tested from 1 to 24 bits; mends a sign that differs from the "
        "header's",
    ),
    codecs.decode_htj2k: (
        "pylibjpeg-openjpeg (OpenJPEG); imagecodecs (OpenJPH) above 16 bits",
        "MIT, BSD-2-Clause; BSD-3-Clause, BSD-2-Clause",
        "the library of JPEG 2000 decodes the high-throughput coding too, up to 16 bits",
    ),
    codecs.decode_jpeg_xl: ("imagecodecs (libjxl)", "BSD-3-Clause", "the reference decoder"),
    codecs.decode_plain: ("numpy", "BSD-3-Clause", "no codec: frames in fragments"),
    codecs.decode_deflated: ("zlib", "Zlib", "in Python itself"),
    None: _NO_CODEC,
}
_JPEG_LS = (
    "imagecodecs (CharLS) for greys, pyjpegls (CharLS) for colour",
    "BSD-3-Clause, MIT",
    "all interleaves and precisions",
)
_LIBRARIES_BY_UID = {
    "1.2.840.10008.1.2.1.99": ("zlib, numpy", "Zlib", "the whole data set is inflated in memory"),
    "1.2.840.10008.1.2.4.80": _JPEG_LS,
    "1.2.840.10008.1.2.4.81": _JPEG_LS,
}


def library_of(uid: str) -> tuple[str, str, str]:
    """The library that decodes a transfer syntax, its licence, and why it was chosen."""
    decoder: Any = DECODERS[uid]
    return _LIBRARIES_BY_UID.get(uid) or _LIBRARIES[decoder]


def _decoders() -> str:
    lines = [
        "## Which decoder serves which syntax, and why\n",
        "`DECODERS` in `app/imaging/dicom/codecs.py`, which the decode workers use. All licences "
        "fit a closed bundle.\n",
        "| transfer syntax | UID | decoder | licence | why |",
        "|---|---|---|---|---|",
    ]
    for uid in sorted(DECODERS, key=lambda uid: [int(part) for part in uid.split(".")]):
        cells = (syntax_name(uid), uid, *library_of(uid))
        lines.append(f"| {' | '.join(map(_cell, cells))} |")
    lines.append(
        "\nVideo (MPEG-2, MPEG-4, HEVC) and JPIP are refused with a remedy: the first needs a "
        "player, the second holds no pixels. Any other syntax is refused by its name."
    )
    return "\n".join(lines) + "\n"


def _disagreements() -> str:
    lines = [
        "## Where witnesses are known to disagree\n",
        "A witness that differs or stays silent on any other file fails a test.\n",
        "| witness | file | what |",
        "|---|---|---|",
    ]
    for name, known in (
        ("GDCM", disagreements.GDCM_FAULTS | disagreements.GDCM_UNREAD),
        ("dcmtk", disagreements.DCMTK_FAULTS | disagreements.DCMTK_UNREAD),
    ):
        lines += [f"| {name} | {_cell(file)} | {_cell(what)} |" for file, what in known.items()]
    lines += [
        "\nWhere the standard or the files leave room, and implementations differ:\n",
        "| what | shown here | others |",
        "|---|---|---|",
    ]
    lines += [f"| {' | '.join(map(_cell, choice))} |" for choice in disagreements.CHOICES]
    return "\n".join(lines) + "\n"


def _rows(rows: Iterable[Row]) -> str:
    lines = ["| file | what | result | witnesses |", "|---|---|---|---|"]
    for row in rows:
        verdicts = "; ".join(verdict.text for verdict in row.verdicts)
        lines.append(
            f"| {_cell(row.name)} | {_cell(row.what)} | {_cell(row.result)} | {verdicts} |"
        )
    return "\n".join(lines) + "\n"


def _cell(value: str) -> str:
    return value.replace("|", "\\|").replace("\n", " ").replace("_", "\\_")
