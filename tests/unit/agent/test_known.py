"""What the open files' headers say of the patient is known to every later question."""

from __future__ import annotations

import asyncio
import logging
import threading
from concurrent.futures import Future
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from app.agent.llm.base import ModelFailed
from app.agent.messages import Message
from app.agent.privacy import send_consent as known
from app.agent.privacy.send_consent import Known, known_of, known_to
from app.agent.sessions import Thread
from app.errors import FileProblem
from app.imaging.attributes import AttributeRow
from app.imaging.types import Instance
from app.tools.images import OpenImage, RunImages
from tests.support.fake_tools import DICOM_NOTE, NoImages, request

HEADER = [
    ("PatientMotherBirthName", "Zyx^Vera"),
    ("PatientAddress", "Elmstreet 13"),
    ("PatientWeight", "80.5"),
    ("ROIName", "Heart"),
    ("StudyID", "1234"),
    ("StudyDescription", "CT abdomen with contrast"),
    ("PatientComments", "Sister of the mayor of Blorptown"),
    ("OtherPatientIDs", "A-1234\\B-5678"),
]


class Headers(NoImages):
    """Images whose files say `HEADER`."""

    def __init__(self) -> None:
        self.read = 0
        self.wait: threading.Event | None = None

    def headers(self) -> list[tuple[str, str]]:
        self.read += 1
        if self.wait is not None:
            self.wait.wait(60)
        return HEADER


def test_what_names_somebody_is_taken_and_what_is_said_of_anybody_is_not():
    assert known_of(HEADER) == Known(
        ("A-1234", "B-5678", "Elmstreet 13", "Zyx^Vera"),
        ("CT abdomen with contrast", "Heart", "Sister of the mayor of Blorptown"),
    )


def test_the_same_files_are_read_once_a_conversation(tmp_path: Path):
    thread, images = Thread.in_memory(), Headers()
    asked = request(tmp_path, thread=thread, images=images)
    first = asyncio.run(known_to(asked, "host"))
    note = dict(DICOM_NOTE)
    thread.append(Message(role="user", text="q", images=[note], identifiers=list(first.identifiers),
                       texts=list(first.texts)))  # fmt: skip
    assert asyncio.run(known_to(asked, "host")) == first
    assert images.read == 1
    other = request(tmp_path, thread=thread, images=images, notes=[{**note, "id": "image-2"}])
    assert asyncio.run(known_to(other, "host")) == first
    assert images.read == 2, "other files are open"


def test_a_model_on_this_machine_is_not_kept_waiting(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(known, "_LOCAL_WAIT_S", 0.0)
    images = Headers()
    images.wait = threading.Event()
    try:
        assert asyncio.run(known_to(request(tmp_path, images=images), "")) == Known()
    finally:
        images.wait.set()


def test_what_goes_to_another_machine_waits_until_the_headers_are_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(known, "_LOCAL_WAIT_S", 0.0)
    images = Headers()
    images.wait = threading.Event()

    async def ask() -> Known:
        asking = asyncio.create_task(known_to(request(tmp_path, images=images), "host"))
        waited, _ = await asyncio.wait((asking,), timeout=0.05)
        assert not waited, "it would go without knowing a name"
        images.wait.set()
        return await asking

    assert asyncio.run(ask()) == known_of(HEADER)


def test_where_no_header_can_be_read_nothing_goes_to_another_machine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    def broken(_self: Headers) -> list[tuple[str, str]]:
        raise OSError("Zyx^Vera")

    monkeypatch.setattr(Headers, "headers", broken)
    logging.getLogger("app.agent.loop.tool_execution").disabled = True
    try:
        asked = request(tmp_path, images=Headers())
        with pytest.raises(ModelFailed, match="Nothing was sent") as caught:
            asyncio.run(known_to(asked, "host"))
        assert "Zyx" not in str(caught.value)
        assert asyncio.run(known_to(asked, "")) == Known(), "here nothing leaves"
    finally:
        logging.getLogger("app.agent.loop.tool_execution").disabled = False


def test_a_run_without_files_knows_nothing(tmp_path: Path):
    assert asyncio.run(known_to(request(tmp_path), "host")) == Known()


class Files:
    """Reads attributes, but not of files called "broken", or "closed" while they are read."""

    def __init__(self) -> None:
        self.read: list[str] = []

    def attributes(self, instance: Instance) -> Future[list[AttributeRow]]:
        self.read.append(instance.path.name)
        reply: Future[list[AttributeRow]] = Future()
        if instance.path.name == "broken":
            reply.set_exception(FileProblem("it is damaged"))
        elif instance.path.name == "closed":
            reply.cancel()
        else:
            private = AttributeRow("(0009,1001)", "[Secret]", "LO", "private")
            named = AttributeRow("(0010,0020)", "PatientID", "LO", instance.path.name)
            reply.set_result([named, private, AttributeRow("(0010,0010)", "PatientName", "PN", "")])
        return reply

    def frame(self, instance: Instance, index: int) -> Any:
        raise AssertionError("no pixels are needed")


def test_a_file_of_each_series_and_the_shown_one_are_read(tmp_path: Path):
    def image(name: str, series: str) -> OpenImage:
        instance = Instance(tmp_path / name, name, "dicom", 4, 4)
        return OpenImage(name, replace(instance, attributes={"SeriesInstanceUID": series}))

    opened = [image("shown", "1"), image("a", "1"), image("b", "1"), image("broken", "2"),
              image("closed", "4"), image("c", "3")]  # fmt: skip
    files = Files()
    told = RunImages(opened, tmp_path, files).headers()
    assert sorted(files.read) == ["a", "broken", "c", "closed", "shown"]
    assert {value for key, value in told if key == "PatientID"} == {"a", "c", "shown"}
    assert ("(0009,1001)", "private") in told
