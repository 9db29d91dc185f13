"""Names and descriptions are read in whatever characters they were written."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pydicom.data
import pytest

from app.imaging.dicom.dicom_file import read_header
from app.imaging.dicom.instance_attributes import attribute_texts
from tests.unit.imaging.files import make_dicom

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning:pydicom")

FOLDER = Path(pydicom.data.__file__).parent / "charset_files"
# As pydicom's FileInfo.txt and PS3.5 annexes H to K give them.
NAMES = {
    "chrArab.dcm": "قباني^لنزار",
    "chrFren.dcm": "Buc^Jérôme",
    "chrFrenMulti.dcm": "Buc^Jérôme",
    "chrGerm.dcm": "Äneas^Rüdiger",
    "chrGreek.dcm": "Διονυσιος",
    "chrH31.dcm": "Yamada^Tarou=山田^太郎=やまだ^たろう",
    "chrH32.dcm": "ﾔﾏﾀﾞ^ﾀﾛｳ=山田^太郎=やまだ^たろう",
    "chrHbrw.dcm": "שרון^דבורה",
    "chrI2.dcm": "Hong^Gildong=洪^吉洞=홍^길동",
    "chrJapMulti.dcm": "やまだ^たろう",
    "chrJapMultiExplicitIR6.dcm": "やまだ^たろう",
    "chrKoreanMulti.dcm": "김희중",
    "chrRuss.dcm": "Люкceмбypг",
    "chrX1.dcm": "Wang^XiaoDong=王^小東",
    "chrX2.dcm": "Wang^XiaoDong=王^小东",
}


def name_in(path: Path) -> str:
    return attribute_texts(read_header(path))["PatientName"]


@pytest.mark.parametrize("file", NAMES)
def test_each_declared_character_set_is_read(file: str):
    assert name_in(FOLDER / file) == NAMES[file]


@pytest.mark.parametrize("file", [f for f in NAMES if "Jap" not in f and "H3" not in f])
def test_dcmtk_reads_the_same_name(file: str):
    if shutil.which("dcmdump") is None:
        pytest.skip("dcmtk is not installed (dcmdump)")
    command = ["dcmdump", "-q", "+U8", "+P", "PatientName", str(FOLDER / file)]
    done = subprocess.run(command, capture_output=True, check=True, timeout=30)
    theirs = done.stdout.decode().split("[")[1].split("]")[0]
    assert name_in(FOLDER / file) == theirs.rstrip("=")


def written(path: Path, declared: str | None, raw: bytes) -> Path:
    """A file whose patient name is these bytes."""
    place = b"x" * len(raw)
    make_dicom(path, PatientName=place.decode(), SpecificCharacterSet=declared)
    path.write_bytes(path.read_bytes().replace(place, raw, 1))
    return path


@pytest.mark.parametrize(
    ("declared", "encoding", "name"),
    [
        ("ISO_IR 100", "latin-1", "Müller^Jörg"),
        ("ISO_IR 192", "utf-8", "Müller^Ж=山田"),
        ("GBK", "gbk", "王^小东"),
        ("GB18030", "gb18030", "王^小东"),
        ("ISO_IR 13", "shift_jis", "ﾔﾏﾀﾞ"),
        ("ISO_IR 148", "iso8859-9", "Şahin^Gül"),
        ("ISO_IR 166", "iso8859-11", "สมชาย"),
        ("ISO_IR 101", "iso8859-2", "Dvořák"),
        ("ISO_IR 203", "iso8859-15", "Œuvre^Müller"),
        (None, "utf-8", "Müller^Jörg"),
        (None, "latin-1", "Müller^Jörg"),
        ("BOGUS", "utf-8", "Müller^Ж"),
        ("ISO_IR 100", "utf-8", "Müller^Ж"),
        ("ISO_IR 192", "latin-1", "Müller^Jörg"),
        (None, "iso2022_jp", "山田^太郎"),
    ],
)
def test_what_is_declared_wrongly_or_not_at_all_is_read_as_it_was_meant(
    declared: str | None, encoding: str, name: str, tmp_path: Path
):
    raw = name.encode(encoding)
    raw += b" " * (len(raw) % 2)
    assert name_in(written(tmp_path / "a.dcm", declared, raw)) == name


def test_nonsense_never_loses_a_name(tmp_path: Path):
    path = written(tmp_path / "a.dcm", "ISO 2022 IR 87", b"Doe\xff\xfe\x1b$B!")
    assert name_in(path).startswith("Doe")
