"""The page docs/conformance.md."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

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


def _decoders() -> str:
    lines = [
        "## Which decoder serves which syntax, and why\n",
        "`DECODERS` in `app/imaging/dicom/codecs.py`, which the decode workers use. All licences "
        "fit a closed bundle.\n",
        "| transfer syntax | UID | decoder | licence | why |",
        "|---|---|---|---|---|",
    ]
    for uid, decoder in DECODERS.items():
        cells = (syntax_name(uid), uid, decoder.library, decoder.licence, decoder.why)
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
