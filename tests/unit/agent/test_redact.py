from __future__ import annotations

import json
from typing import Any

import pytest

from app.agent.context import build_messages, result_message
from app.agent.messages import Message, Picture, ToolCall
from app.agent.redact import REMOVED, Redactor, is_identifying

IDENTIFYING = [
    "PatientID", "PatientName", "patient_name", "Patient's Name", "PatientBirthDate", "PatientAge",
    "OtherPatientIDs", "StudyDate", "study_date", "SeriesTime", "AcquisitionDateTime",
    "AccessionNumber", "InstitutionName", "InstitutionAddress", "ReferringPhysicianName",
    "OperatorsName", "StationName", "DeviceSerialNumber", "StudyInstanceUID", "SOPInstanceUID",
    "StudyID", "StudyDescription", "SeriesDescription", "PerformedStationName", "ImageComments",
    "date", "PhysiciansOfRecord", "RequestingService", "AdmissionID",
]  # fmt: skip
HARMLESS = [
    "PatientOrientation", "PatientPosition", "ExposureTime", "EchoTime", "Modality", "PixelSpacing",
    "WindowCenter", "ViewPosition", "fluid", "update", "candidate", "ratio", "name", "label",
    "area_pixels", "heart_width_px", "BitsStored", "duration", "status", "phrase",
]  # fmt: skip


@pytest.mark.parametrize("key", IDENTIFYING)
def test_identifying_keys(key: str):
    assert is_identifying(key)


@pytest.mark.parametrize("key", HARMLESS)
def test_harmless_keys(key: str):
    assert not is_identifying(key)


def transcript() -> list[Message]:
    note = {"id": "image-1", "path": "/data/DOE JANE/scan 1.dcm", "kind": "dicom"}
    data: dict[str, Any] = {
        "summary": "Converted scan 1.dcm of DOE^JANE (born 1970-05-31) to /out/run/a b.png.",
        "output": {"image_path": "/out/run/a b.png", "items": [{"PatientID": "4711-X"}]},
        "metadata": {
            "PatientName": "DOE^JANE",
            "PatientBirthDate": "19700531",
            "Modality": "CR",
            "note": "UID 1.2.840.113619.2.55.3.604688119 from C:\\Users\\doe\\b.dcm; id 4711-x",
            "nested": {"ReferringPhysicianName": "House^Greg", "spacing": [0.143, 0.143]},
            "none": None,
        },
    }
    call = ToolCall(id="1", name="convert", arguments={"dicom_path": "/data/DOE JANE/scan 1.dcm"})
    return build_messages(
        "system",
        [
            Message(role="user", text="Who is Jane Doe? dr house, 31.05.1970", images=[note]),
            Message(role="assistant", tool_calls=[call]),
            result_message("1", "convert", data),
            Message(role="assistant", text="I wrote /out/run/a b.png for jane doe."),
        ],
    )


def test_nothing_identifying_is_left_anywhere():
    messages = transcript()
    cleaned = Redactor(messages).messages(messages)
    text = json.dumps([message.model_dump() for message in cleaned], ensure_ascii=False)
    for secret in ("DOE", "Doe", "doe", "JANE", "Jane", "4711", "19700531", "1970-05-31",
                   "31.05.1970", "House", "house", "Greg", "1.2.840", "/data/", "/out", "scan 1",
                   "a b.png", "C:\\"):  # fmt: skip
        assert secret not in text, secret


def test_what_is_harmless_stays():
    messages = transcript()
    cleaned = Redactor(messages).messages(messages)
    tool = next(message for message in cleaned if message.role == "tool")
    assert tool.data["metadata"]["Modality"] == "CR"
    assert tool.data["metadata"]["nested"]["spacing"] == [0.143, 0.143]
    assert tool.data["metadata"]["none"] is None
    assert tool.data["metadata"]["PatientName"] == REMOVED
    assert tool.data["output"]["image_path"] == "result-1.png"
    assert json.loads(tool.text.removeprefix("<data>\n").removesuffix("\n</data>")) == tool.data


def test_open_images_are_named_by_their_id_and_files_can_be_named_back():
    messages = transcript()
    redactor = Redactor(messages)
    call = next(m for m in redactor.messages(messages) if m.tool_calls).tool_calls[0]
    assert call.arguments == {"dicom_path": "image-1"}
    asked = {"image_path": "result-1.png", "more": ["result-1.png", "result-9.png"], "x": 1}
    assert redactor.restored(asked) == {
        "image_path": "/out/run/a b.png",
        "more": ["/out/run/a b.png", "result-9.png"],
        "x": 1,
    }


def test_names_stay_the_same_while_the_transcript_grows():
    messages = transcript()
    more = [*messages, result_message("2", "x", {"output": {"image_path": "/out/z.png"}})]
    first = Redactor(messages).messages(messages)
    assert Redactor(more).messages(more)[: len(first)] == first


def test_values_known_beforehand_are_removed_from_free_text():
    redactor = Redactor([], ["Muster^Max", "20240131", "AB", "", "male"])
    said = redactor.text("Max Muster, seen 2024-01-31 and 01/31/2024, maximum, male AB")
    assert said == f"{REMOVED}, seen {REMOVED} and {REMOVED}, maximum, male AB"


def test_units_and_fractions_are_no_paths():
    redactor = Redactor([])
    for text in ("a ratio of 0.47 (1/2)", "and/or", "10 mm/px", "</data>", "PA/AP 3/4/5"):
        assert redactor.text(text) == text


def test_the_thread_itself_can_be_cleaned_before_its_results_are_marked_as_data():
    note = {"id": "image-1", "path": "/data/DOE JANE/scan 1.dcm"}
    history = [
        Message(role="user", text="Who is Jane Doe?", images=[note]),
        Message(role="assistant", tool_calls=[ToolCall(id="1", name="t", arguments={})]),
        result_message("1", "t", {"summary": "s", "metadata": {"PatientName": "DOE^JANE"}}),
    ]
    cleaned = Redactor(history).messages(history)
    assert json.loads(cleaned[2].text) == cleaned[2].data
    built = build_messages("system", cleaned)
    marked = build_messages("system", history)
    assert built == Redactor(marked).messages(marked)
    assert built[1].text.splitlines()[0] == "image_path: image-1"
    assert "doe" not in "".join(message.text for message in built).lower()


def test_captions_plans_and_broken_calls_are_cleaned_and_pictures_stay_where_they_are():
    picture = Picture(path="/home/u/files/seen/ab.png", caption="image-1 of Jane Doe, /data/x/y")
    steps = [{"title": "Compare with Jane Doe's scan of 1970-05-31"}]
    history = [
        Message(role="user", text="q", pictures=[picture]),
        Message(
            role="assistant",
            tool_calls=[
                ToolCall(id="1", name="update_plan", arguments={"steps": steps}),
                ToolCall(id="2", name="t", arguments={}, raw='{"name": "DOE^JANE'),
            ],
        ),
    ]
    cleaned = Redactor(history, ["DOE^JANE", "19700531"]).messages(history)
    assert cleaned[0].pictures == [
        Picture(path=picture.path, caption=f"image-1 of {REMOVED}, [file]")
    ]
    text = json.dumps([message.model_dump() for message in cleaned]).lower()
    assert "jane" not in text
    assert "1970" not in text
