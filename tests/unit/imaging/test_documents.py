"""PDF documents, inside DICOM and by themselves: their pages are pictures."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image
from pydicom.dataset import FileDataset, FileMetaDataset
from pydicom.uid import EncapsulatedPDFStorage, ExplicitVRLittleEndian, generate_uid

from app.imaging.reading.image_entries import (
    read_attributes,
    read_frame,
    read_instance,
    read_instances,
)
from app.imaging.types import Content
from tests.unit.imaging.mutations import assert_only_problems, assert_refused


def pdf(*objects: bytes, trailer: bytes = b"") -> bytes:
    """A PDF of numbered objects, the first of which is its catalogue."""
    data = b"%PDF-1.7\n"
    places: list[int] = []
    for number, body in enumerate(objects, start=1):
        places.append(len(data))
        data += b"%d 0 obj\n%s\nendobj\n" % (number, body)
    start = len(data)
    data += b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1)
    data += b"".join(b"%010d 00000 n \n" % place for place in places)
    size = len(objects) + 1
    return data + b"trailer\n<< /Size %d /Root 1 0 R %s >>\nstartxref\n%d\n%%%%EOF\n" % (
        size, trailer, start,
    )  # fmt: skip


def stream(content: bytes, more: bytes = b"") -> bytes:
    return b"<< /Length %d %s >>\nstream\n%s\nendstream" % (len(content), more, content)


CATALOGUE = b"<< /Type /Catalog /Pages 2 0 R >>"
PAGES = b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>"
PAGE = b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 288 360] /Contents 4 0 R >>"
RED = stream(b"1 0 0 rg 72 36 144 72 re f")


def two_pages() -> bytes:
    file = io.BytesIO()
    pages = [Image.new("RGB", (100, 50), "white"), Image.new("RGB", (60, 120), "blue")]
    pages[0].save(file, "PDF", save_all=True, append_images=pages[1:], title="Letter")
    return file.getvalue()


def encapsulated(path: Path, data: bytes | None, **elements: Any) -> Path:
    meta = FileMetaDataset()
    meta.MediaStorageSOPClassUID = EncapsulatedPDFStorage
    meta.MediaStorageSOPInstanceUID = generate_uid()
    meta.TransferSyntaxUID = ExplicitVRLittleEndian
    ds = FileDataset(str(path), {}, file_meta=meta, preamble=b"\0" * 128)
    ds.SOPClassUID, ds.SOPInstanceUID = EncapsulatedPDFStorage, meta.MediaStorageSOPInstanceUID
    ds.Modality = "DOC"
    ds.DocumentTitle = "Discharge letter"
    ds.MIMETypeOfEncapsulatedDocument = "application/pdf"
    if data is not None:
        ds.EncapsulatedDocument = data + b"\0" * (len(data) % 2)
        ds.EncapsulatedDocumentLength = len(data)
    for keyword, value in elements.items():
        setattr(ds, keyword, value)
    ds.save_as(path, enforce_file_format=True)
    return path


@pytest.mark.parametrize("inside_dicom", [False, True])
def test_a_page_is_drawn_at_150_dots_an_inch(tmp_path: Path, inside_dicom: bool):
    """The red box lies 72..216 points from the left and 36..108 points from the bottom."""
    data = pdf(CATALOGUE, PAGES, PAGE, RED)
    path = tmp_path / "a"
    if inside_dicom:
        encapsulated(path, data)
    else:
        path.write_bytes(data)
    instance = read_instance(path)
    assert instance.content is Content.DOCUMENT
    assert (instance.rows, instance.columns, instance.frames) == (750, 600, 1)
    frame = read_frame(path, 0)
    assert frame.stored.shape == (750, 600, 3)
    assert frame.photometric == "RGB"
    red = (frame.stored == (255, 0, 0)).all(axis=2)
    rows, columns = np.flatnonzero(red.any(axis=1)), np.flatnonzero(red.any(axis=0))
    assert (columns[0], columns[-1] + 1) == (150, 450)
    assert (rows[0], rows[-1] + 1) == (750 - 225, 750 - 75)
    assert red.sum() == 300 * 150
    assert (frame.stored[0, 0] == 255).all()
    assert not frame.spacing.known
    assert "no patient scale" in frame.spacing.note
    assert frame.ref.sop_instance_uid == instance.sop_instance_uid


def test_every_page_has_its_own_size(tmp_path: Path):
    path = tmp_path / "a.pdf"
    path.write_bytes(two_pages())
    assert read_instance(path).frames == 2
    first, second = (read_frame(path, index).stored for index in (0, 1))
    assert first.shape[1] > first.shape[0]
    assert second.shape[0] > second.shape[1]
    # Pillow writes pictures as JPEG.
    assert np.abs(second.astype(int) - (0, 0, 255)).max() < 8
    assert_refused(lambda: read_frame(path, 2), "2 pages")


def test_the_title_and_the_attributes(tmp_path: Path):
    instance = read_instance(encapsulated(tmp_path / "a.dcm", two_pages()))
    assert instance.get("DocumentTitle") == "Discharge letter"
    assert instance.kind == "dicom"
    plain = tmp_path / "a.pdf"
    plain.write_bytes(two_pages())
    rows = {row.keyword: row.value for row in read_attributes(plain)}
    assert (rows["Title"], rows["Pages"]) == ("Letter", "2")
    assert read_instance(plain).kind == "pdf"


def test_what_was_filled_into_a_form_is_drawn(tmp_path: Path):
    """A text field's appearance; without it a report's values would be missing unseen."""
    box = stream(b"0 0 1 rg 0 0 50 20 re f", b"/Type /XObject /Subtype /Form /BBox [0 0 50 20]")
    data = pdf(
        b"<< /Type /Catalog /Pages 2 0 R /AcroForm << /Fields [5 0 R] >> >>",
        PAGES,
        PAGE.replace(b">>", b"/Annots [5 0 R] >>"),
        RED,
        b"<< /Type /Annot /Subtype /Widget /FT /Tx /T (a) /F 4 /Rect [100 200 150 220]"
        b" /P 3 0 R /V (x) /AP << /N 6 0 R >> >>",
        box,
    )
    path = tmp_path / "a.pdf"
    path.write_bytes(data)
    stored = read_frame(path, 0).stored.astype(int)
    blue = stored[750 - 435 : 750 - 425, 230:290]
    assert (blue[..., 2] > blue[..., 0] + 50).mean() > 0.9


def test_a_huge_page_is_drawn_small(tmp_path: Path):
    path = tmp_path / "a.pdf"
    path.write_bytes(pdf(CATALOGUE, PAGES, PAGE.replace(b"288 360", b"14400 7200"), RED))
    assert read_frame(path, 0).stored.shape[:2] == (2048, 4096)


def test_a_locked_document_says_so(tmp_path: Path):
    lock = b"/Encrypt << /Filter /Standard /V 1 /R 2 /P -4 /O <%s> /U <%s> >> /ID [<00> <00>]"
    data = pdf(CATALOGUE, PAGES, PAGE, RED, trailer=lock % (b"11" * 32, b"22" * 32))
    path = tmp_path / "a.pdf"
    path.write_bytes(data)
    assert_refused(lambda: read_instances(path), "locked with a password")
    inside = encapsulated(tmp_path / "a.dcm", data)
    instance = read_instance(inside)
    assert instance.content is Content.OTHER
    assert "locked with a password" in instance.note
    assert_refused(lambda: read_frame(inside, 0), "Ask for a copy without one")


@pytest.mark.parametrize("data", [None, b"", b"no document", b"%PDF-1.4 nothing more"])
def test_a_broken_document_is_listed_and_refused(tmp_path: Path, data: bytes | None):
    path = encapsulated(tmp_path / "a.dcm", data)
    instance = read_instance(path)
    assert instance.content is Content.OTHER
    assert instance.get("DocumentTitle") == "Discharge letter"
    assert "not displayable" in instance.note
    assert_refused(lambda: read_frame(path, 0), "PDF")


@pytest.mark.parametrize("length", [0, 7, 2**31])
def test_an_absurd_length_of_the_document(tmp_path: Path, length: int):
    path = encapsulated(tmp_path / "a.dcm", two_pages(), EncapsulatedDocumentLength=length)
    instance = read_instance(path)
    assert (instance.content is Content.OTHER) == (length == 7)


def test_damage_never_gives_anything_but_a_named_problem(tmp_path: Path):
    source = two_pages()
    assert_only_problems(source, tmp_path / "bad.pdf", len(source))
    good = encapsulated(tmp_path / "good.dcm", source)
    assert_only_problems(good.read_bytes(), tmp_path / "bad.dcm", 600)
