"""Later questions learn what the user decided on findings, and rest on nothing rejected."""

from __future__ import annotations

from pathlib import Path

from app.imaging.decode import Decoder
from app.imaging.findings import Box, Finding, Provenance, State
from app.imaging.types import ImageRef, Instance
from app.tools.images import OpenImage, RunImages, rejected_calls

REF = ImageRef("1.2", 0, "sha")


def found(label: str, call: str, state: State) -> Finding:
    made = Provenance("finder", "1", "net", "", "run", call)
    shape = Box(0.5, 0.5, 9.5, 9.5)
    return Finding(label, REF, shape, label, 0.9, "", made, state=state, reviewer="Dr Roe")


def opened(*findings: Finding) -> OpenImage:
    image = Instance(Path("/1.2.dcm"), "1.2", "dicom", 80, 100)
    return OpenImage("image-1", image, findings=findings)


def test_a_note_on_an_image_says_what_was_decided_and_not_by_whom(tmp_path: Path):
    image = opened(
        found("Nodule", "1", State.ACCEPTED),
        found("Mass", "1", State.REJECTED),
        found("Heart", "2", State.EDITED),
        found("Effusion", "2", State.PROPOSED),
    )
    (note,) = RunImages((image,), tmp_path, Decoder()).notes(remote=True)
    assert note["accepted_by_user"] == ["Nodule (finder)"]
    assert note["rejected_by_user_do_not_use"] == ["Mass (finder)"]
    assert note["edited_by_user"] == ["Heart (finder)"]
    assert "Roe" not in str(note)
    assert "Effusion" not in str(note)


def test_a_note_is_as_before_where_nothing_was_decided(tmp_path: Path):
    images = (opened(found("Effusion", "2", State.PROPOSED)),)
    (note,) = RunImages(images, tmp_path, Decoder()).notes(remote=False)
    assert not [key for key in note if "user" in key]


def test_a_call_counts_no_more_once_all_that_it_found_is_rejected():
    some = (found("Nodule", "1", State.REJECTED), found("Mass", "1", State.PROPOSED))
    gone = (found("Heart", "2", State.REJECTED), found("Lung", "2", State.REJECTED))
    assert rejected_calls([opened(*some), opened(*gone)], {"run"}) == ("2",)
    assert rejected_calls([opened(*some), opened(*gone)], {"of another conversation"}) == ()


def test_only_what_was_accepted_on_the_shown_study_is_evidence(tmp_path: Path):
    def image(number: int, patient: str, *findings: Finding) -> OpenImage:
        about = {"StudyInstanceUID": f"1.{patient}", "PatientID": patient}
        file = Instance(Path(f"/{number}.dcm"), f"1.{number}", "dicom", 80, 100, attributes=about)
        return OpenImage(f"image-{number}", file, findings=findings)

    images = (
        image(1, "4711", found("Nodule", "1", State.ACCEPTED), found("Mass", "1", State.PROPOSED)),
        image(2, "4711", found("Heart", "2", State.EDITED), found("Lung", "2", State.REJECTED)),
        image(3, "0815", found("Effusion", "3", State.ACCEPTED)),
    )
    accepted = RunImages(images, tmp_path, Decoder()).accepted_findings()
    assert [one.label for one in accepted] == ["Nodule", "Heart"]
    assert RunImages((), tmp_path, Decoder()).accepted_findings() == ()
