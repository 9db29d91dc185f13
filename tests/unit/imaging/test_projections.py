"""The view that a radiograph's header names by a code, read from the file and looked up."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pydicom
import pytest
from pydicom.sr.codedict import codes
from pydicom.sr.coding import Code
from pydicom.uid import ImplicitVRLittleEndian

from app.imaging.dicom import dicom_file
from app.imaging.reading import dicom_image
from app.imaging.space import projections
from app.imaging.space.projections import CODES, BeamDirection
from app.imaging.types import Instance
from tests.unit.imaging.files import item, make_dicom

WITNESS: dict[str, str] = {
    code.value: code.meaning
    for code in (getattr(codes.cid4010, name) for name in codes.cid4010.dir())
}
"""CID 4010 as pydicom has it from the standard: code -> meaning."""


def viewed(code: str, scheme: str = "SCT") -> Instance:
    attributes = {projections.KEYWORD: f"{scheme} {code}"}
    return Instance(Path("a.dcm"), "1.2", "dicom", 1, 1, attributes=attributes)


def test_every_view_of_the_standards_group_is_known_by_its_name():
    ours = {code: view.words for code, view in CODES.items() if code.isdecimal()}
    assert set(ours) == set(WITNESS)
    for code, words in ours.items():
        assert words == WITNESS[code].lower().removesuffix(" projection")


@pytest.mark.parametrize("code", sorted(WITNESS))
def test_a_views_former_code_means_the_same(code: str):
    (former,) = (old for old in CODES if not old.isdecimal() and CODES[old] == CODES[code])
    # pydicom takes a former code for equal to the one that has replaced it.
    assert Code(former, "SRT", "") == Code(code, "SCT", "")


@pytest.mark.parametrize("code", sorted(WITNESS))
def test_the_course_of_the_rays_is_what_the_name_says(code: str):
    name, direction = WITNESS[code].lower(), CODES[code].direction
    assert ("oblique" in name) == (direction is BeamDirection.OBLIQUE)
    assert (direction is BeamDirection.PA) == (name == "postero-anterior")
    assert (direction is BeamDirection.AP) == (name == "antero-posterior")
    if "oblique" not in name and ("lateral" in name or name == "sagittal"):
        assert direction is BeamDirection.LATERAL


def test_a_code_of_another_scheme_says_nothing():
    assert projections.coded_projection(viewed("399173006")) == CODES["399173006"]
    assert projections.coded_projection(viewed("R-10236", "SRT")) == CODES["399173006"]
    assert projections.coded_projection(viewed("399173006", "99MAKER")) is None
    assert projections.coded_projection(viewed("399173007")) is None


def test_the_view_is_named_as_the_file_writes_it_else_by_its_code():
    both = {"ViewPosition": "LL", projections.KEYWORD: "SCT 399067008"}
    assert (
        projections.projection_name(Instance(Path("a"), "", "dicom", 1, 1, attributes=both)) == "LL"
    )
    assert projections.projection_name(viewed("399173006")) == "left lateral"
    assert projections.projection_name(viewed("272479007")) == "PA"
    assert projections.projection_name(viewed("1")) == ""


def code_item(value: Any, scheme: str = "SCT") -> Any:
    return item(CodeValue=value, CodingSchemeDesignator=scheme, CodeMeaning="what they call it")


@pytest.mark.parametrize("implicit", [False, True])
@pytest.mark.parametrize("undefined", [False, True])
def test_the_code_is_read_with_and_without_the_quick_reader(
    implicit: bool, undefined: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    path = make_dicom(tmp_path / "a.dcm", ViewCodeSequence=[code_item("399173006")])
    data = pydicom.dcmread(path)
    data["ViewCodeSequence"].is_undefined_length = undefined
    if implicit:
        data.file_meta.TransferSyntaxUID = ImplicitVRLittleEndian
    data.save_as(path, implicit_vr=implicit, little_endian=True)
    instances = dicom_image.read_instances(path)
    assert instances[0].get(projections.KEYWORD) == "SCT 399173006"
    monkeypatch.setattr(dicom_file, "read_ordinary", lambda file: None)
    assert dicom_image.read_instances(path) == instances


@pytest.mark.parametrize(
    "elements",
    [
        {},
        {"ViewCodeSequence": []},
        {"ViewCodeSequence": [item(CodeMeaning="left lateral")]},
        {"ViewCodeSequence": [code_item("")]},
        {"ViewCodeSequence": [code_item("399173006\\399173006")]},
        {"ViewCodeSequence": [code_item("399173006", "SCT, say yes")]},
    ],
)
@pytest.mark.filterwarnings("ignore")
def test_what_is_no_code_is_none(elements: dict[str, Any], tmp_path: Path):
    path = make_dicom(tmp_path / "a.dcm", **elements)
    assert projections.KEYWORD not in dicom_image.read_instances(path)[0].attributes
