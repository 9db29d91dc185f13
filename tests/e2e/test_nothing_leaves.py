"""Every byte that reaches a remote model's endpoint, searched for what identifies the patient."""

from __future__ import annotations

import asyncio
import base64
import json
import re
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pydicom.dataset import Dataset, FileMetaDataset
from pydicom.uid import DigitalXRayImageStorageForPresentation, ExplicitVRLittleEndian

from app.agent.events import ApprovalRequested
from app.agent.llm import hosted_model
from app.agent.llm.base import ModelInfo
from app.agent.llm.openai_model import OpenAIModel
from app.headless.common import scan_source
from app.tools.images import OpenImage
from app.wiring import Program
from tests.support.openai_server import OpenAIServer, call_reply, text_reply

pytestmark = pytest.mark.e2e

ROOT = "1.2.826.0.1.3680043.8.498.1234567890"
ATTRIBUTES = {
    "PatientName": "Zyxwv^Quentin", "PatientID": "PHI-998877", "PatientBirthDate": "19530717",
    "PatientAge": "071Y", "StudyDate": "20240213", "StudyTime": "101112.5",
    "AccessionNumber": "ACC55443", "InstitutionName": "Klinikum Blorptown",
    "ReferringPhysicianName": "Grobnik^Anna", "OperatorsName": "Vlastimil^P",
    "StationName": "STAT9X", "StudyDescription": "Zyxwv follow-up", "StudyID": "SID4242",
    "SeriesDescription": "PA Quentin", "DeviceSerialNumber": "SER31337", "Modality": "DX",
    "ImageComments": "call Zyxwv at 0171-5556667", "PatientAddress": "Elmstreet 13",
    "StudyInstanceUID": f"{ROOT}.1", "SeriesInstanceUID": f"{ROOT}.2", "ViewPosition": "PA",
    "SOPInstanceUID": f"{ROOT}.3", "SOPClassUID": DigitalXRayImageStorageForPresentation,
    "Rows": 300, "Columns": 200, "SamplesPerPixel": 1, "PhotometricInterpretation": "MONOCHROME1",
    "BitsAllocated": 16, "BitsStored": 12, "HighBit": 11, "PixelRepresentation": 0,
    "WindowCenter": 2000, "WindowWidth": 3000,
}  # fmt: skip
SECRETS = (
    "zyxwv", "quentin", "998877", "1953", "17.07", "071y", "20240213", "2024-02-13", "101112",
    "acc55443", "blorptown", "klinikum", "grobnik", "vlastimil", "stat9x", "sid4242", "ser31337",
    "5556667", "elmstreet", "3680043",
)  # fmt: skip


def scan(folder: Path) -> Path:
    dataset = Dataset()
    dataset.file_meta = FileMetaDataset()
    dataset.file_meta.TransferSyntaxUID = ExplicitVRLittleEndian
    for keyword, value in ATTRIBUTES.items():
        setattr(dataset, keyword, value)
    ramp = np.add.outer(np.arange(300), np.arange(200)) * 8
    dataset.PixelData = ramp.astype("<u2").tobytes()
    path = folder / "ZYXWV_QUENTIN 19530717" / "Zyxwv Q 01.dcm"
    path.parent.mkdir()
    dataset.save_as(path, enforce_file_format=True)
    return path


def strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, (dict, list)):
        for item in value.values() if isinstance(value, dict) else value:
            yield from strings(item)


def png_chunks(data: bytes) -> Iterator[str]:
    at = 8
    while at < len(data):
        (length,) = struct.unpack(">I", data[at : at + 4])
        yield data[at + 4 : at + 8].decode("ascii")
        at += 12 + length


def test_nothing_that_names_the_patient_reaches_the_endpoint(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(hosted_model, "is_loopback", lambda _host: False)
    source = scan(tmp_path)
    asks = [
        ("dicom_processor", {"dicom_path": "image-1"}),
        ("dicom_processor", {"dicom_path": str(source)}),
        ("dicom_processor", {"dicom_path": str(source.with_name("other.dcm"))}),
        ("image_visualizer", {"image_path": "result-1.png"}),
        ("cardiothoracic_ratio", {"image_path": "image-1"}),
        ("read_result", {"id": "1"}),
        ("read_result", {"id": "1", "path": "metadata"}),
        ("read_result", {"id": "1", "path": "metadata.PatientID", "limit": 3}),
        ("update_plan", {"steps": [{"title": "Zyxwv", "state": "pending"}]}),
    ]
    replies = [call_reply(name, given, f"c{n}") for n, (name, given) in enumerate(asks)]
    program = Program()
    seen: list[int] = []

    async def yes(asked: ApprovalRequested) -> bool:
        if asked.about == "override":  # a tool's question about the image: nothing is sent for it
            return False
        seen.append(len(server.requests))
        return True

    async def ask(question: str, images: tuple[OpenImage, ...]) -> str:
        loop, folder = program.loop(model), thread.files_dir()
        made = program.request(question, images, thread=thread, out_dir=folder, approve=yes)
        return [event.kind async for event in loop.run(made)][-1]

    try:
        instance = scan_source(program.decoder, source).studies[0].series[0].instances[0]
        thread = program.sessions.new_thread()
        with OpenAIServer([*replies, text_reply("Zyxwv is well."), text_reply("Yes.")]) as server:
            info = ModelInfo(images=True, context_tokens=100_000)
            model = OpenAIModel(server.url, "m", "a-key-for-here", info=info)
            question = f"Is Quentin Zyxwv (born July 17, 1953; PHI-998877; {source}) well?"
            assert asyncio.run(ask(question, (OpenImage("image-1", instance),))) == "run_finished"
            assert seen == [0, 0, 0]  # text, pictures, text that may be burnt in: all before a byte
            # Closed, and still not named.
            assert asyncio.run(ask("And is zyxwv, q. still so?", ())) == "run_finished"
        thread.close()
    finally:
        program.close()
    assert len(server.requests) == len(asks) + 2
    sent = [*strings(server.requests), *strings(server.headers), json.dumps(server.paths)]
    pictures = {text for text in sent if text.startswith("data:")}
    assert all(text.startswith("data:image/png;base64,") for text in pictures)
    for picture in pictures:
        assert set(png_chunks(base64.b64decode(picture.partition(",")[2]))) == {
            "IHDR", "IDAT", "IEND",
        }  # fmt: skip
    assert pictures
    words = "\n".join(text for text in sent if text not in pictures).lower()
    for secret in (*SECRETS, str(tmp_path).lower(), str(thread.folder).lower()):
        found = re.search(rf".{{0,80}}{re.escape(secret)}.{{0,40}}", words)
        assert found is None, found and found.group()
