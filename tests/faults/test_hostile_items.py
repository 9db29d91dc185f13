"""Objects with real items by the hundred thousand are refused before they are taken apart."""

from __future__ import annotations

from pathlib import Path

import pytest

from app.imaging.decode import Decoder
from app.imaging.reading.image_entries import MAX_ROWS, read_attributes
from app.imaging.scanning import listing
from tests.faults import hostile_items as make
from tests.faults.bounds import assert_cheap, assert_refused
from tests.unit.imaging.files import make_dicom


@pytest.mark.parametrize("undefined", [True, pytest.param(False, marks=pytest.mark.slow)])
@pytest.mark.parametrize("kind", make.KINDS)
def test_too_many_items(decoder: Decoder, tmp_path: Path, kind: str, undefined: bool):
    path = make.with_items(tmp_path / "a.dcm", kind, undefined=undefined)
    assert_refused(decoder, path, "items: more than can be read safely")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "count"), [("contours", 10_000), ("report lines", 10_000), ("key objects", 10_000)]
)
def test_as_many_as_real_objects_have_are_shown(
    decoder: Decoder, tmp_path: Path, kind: str, count: int
):
    path = make.with_items(tmp_path / "a.dcm", kind, count=count, undefined=True)
    (study,) = decoder.scan([path]).result(60).studies
    instance = study.series[0].instances[0]
    if kind == "contours":
        assert [item.label for item in decoder.layer(instance).result(60).items] == ["Liver"]
    else:
        assert len(decoder.report(instance).result(60).root.children) == count


@pytest.mark.parametrize("undefined", [True, pytest.param(False, marks=pytest.mark.slow)])
def test_a_dicomdir_of_200_000_records(decoder: Decoder, tmp_path: Path, undefined: bool):
    make_dicom(tmp_path / "image")
    path = make.directory(tmp_path / "DICOMDIR", 200_000, undefined=undefined)
    cost = assert_cheap(decoder, path)
    assert cost.shown == 1, "its folder was searched"
    assert "more than 50,000 records" in " ".join(cost.reasons)


@pytest.mark.slow
@pytest.mark.parametrize("undefined", [True, False])
def test_a_dicomdir_of_a_full_disc_is_read(tmp_path: Path, undefined: bool):
    (tmp_path / "images").mkdir()
    for number in range(0, 10_000, 1000):
        (tmp_path / "images" / f"i{number:07}").touch()
    path = make.directory(tmp_path / "DICOMDIR", 10_000, undefined=undefined)
    files, _ = listing.files_named_by(path)
    assert len(files) == 10


def test_the_attributes_end_with_a_line_that_says_so(tmp_path: Path):
    path = make.with_items(tmp_path / "a.dcm", "report lines", count=10_000, undefined=False)
    rows = read_attributes(path)
    assert len(rows) == MAX_ROWS + 1
    assert rows[-1].value == "(the first 10,000 attributes: there are more, which are not listed)"
