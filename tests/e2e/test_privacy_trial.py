"""A trial of what a remote model receives: planted identifiers, and ordinary questions.

The data were written before anybody had read the redactor: `canaries.toml` plants 61 identifiers in
headers, names of files and folders, a record (a report that is open too) and comments, and types
them whole, in part and in another order; `ordinary_questions.txt` must arrive as typed.
"""

from __future__ import annotations

import asyncio
import json
import re
import tomllib
import unicodedata
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pydicom import config
from pydicom.dataset import Dataset, FileMetaDataset
from pydicom.uid import ExplicitVRLittleEndian

from app.agent.llm import hosted_model
from app.agent.loop.agent_loop import AgentLoop
from app.agent.messages import Message
from app.agent.privacy.redaction import Redactor
from app.agent.privacy.send_consent import known_of
from app.agent.sessions import Thread
from app.headless.common import open_program, scan_source
from app.tools.images import OpenImage, RunImages
from app.wiring import Program
from app.workspace.studies import instances_of
from tests.support.fake_tools import yes
from tests.support.openai_server import OpenAIServer, call_reply, text_reply

pytestmark = pytest.mark.e2e

TRIAL = Path(__file__).parents[1] / "support" / "privacy_trial"
CASES: list[dict[str, Any]] = tomllib.loads((TRIAL / "canaries.toml").read_text("utf-8"))["case"]
HEADERS: list[dict[str, Any]] = tomllib.loads((TRIAL / "ordinary_headers.toml").read_text("utf-8"))[
    "header"
]
QUESTIONS = (TRIAL / "ordinary_questions.txt").read_text("utf-8").splitlines()
MARKED = re.compile(r"\{\{(.+?)\}\}")
NOBODY = frozenset(
    """
    hospital clinic klinikum universitaire hopital zuweisung saint kontrolle nach sturz baseline dcm
    mrn study scanner ward 0001
    """.split()  # noqa: SIM905
)
"""Words within what is marked that identify nobody alone."""


def plain(text: str) -> str:
    """Return a text in small letters without accents."""
    text = text.casefold().translate(str.maketrans({"ł": "l", "ø": "o", "đ": "d"}))
    parts = unicodedata.normalize("NFKD", text)
    return "".join(sign for sign in parts if not unicodedata.combining(sign))


def squashed(text: str) -> str:
    return re.sub(r"[\W_]+", "", plain(text))


def needles(question: str, dated: bool) -> Iterator[str]:
    """Yield what must not be sent of a question: each marked piece, and each of its words."""
    for piece in MARKED.findall(question):
        yield piece
        if not dated:
            words = re.findall(r"[^\W_]+", plain(piece))
            yield from (word for word in words if len(word) > 2 and word not in NOBODY)


def leaks(question: str, dated: bool, sent: str) -> list[str]:
    """Return what was sent although it must not be."""
    text, joined = plain(sent), squashed(sent)
    found: list[str] = []
    for needle in needles(question, dated):
        short = len(squashed(needle)) < 8
        ending = "(?:e?s)?" if len(needle) > 3 else ""
        word = re.search(rf"(?<![^\W_]){re.escape(plain(needle))}{ending}(?![^\W_])", text)
        if word or (not short and squashed(needle) in joined):
            found.append(needle)
    return found


def write(folder: Path, case: dict[str, Any], header: dict[str, str]) -> Path:
    """Write a case's image and record; return their folder."""
    place = folder / case["folder"]
    place.mkdir(parents=True)
    image = dataset(header)
    image.SOPClassUID, image.SOPInstanceUID = "1.2.840.10008.5.1.4.1.1.7", "1.2.826.0.1.3680043.8.1"
    image.Rows = image.Columns = 16
    image.SamplesPerPixel, image.PhotometricInterpretation = 1, "MONOCHROME2"
    image.BitsAllocated = image.BitsStored = 8
    image.HighBit, image.PixelRepresentation = 7, 0
    image.WindowCenter, image.WindowWidth = 128, 256
    image.PixelData = np.zeros((16, 16), np.uint8).tobytes()
    image.save_as(place / case["file"], enforce_file_format=True)
    if case.get("record"):
        report = dataset(header)
        report.SOPClassUID, report.SOPInstanceUID = "1.2.840.10008.5.1.4.1.1.88.11", "1.2.826.0.2"
        report.Modality, report.SeriesInstanceUID = "SR", "1.2.826.0.3"
        report.ValueType, report.ContinuityOfContent = "CONTAINER", "SEPARATE"
        item = Dataset()
        item.RelationshipType, item.ValueType, item.TextValue = "CONTAINS", "TEXT", case["record"]
        report.ContentSequence = [item]
        report.save_as(place / "zz report.dcm", enforce_file_format=True)
    return place


def dataset(header: dict[str, str]) -> Dataset:
    made = Dataset()
    made.file_meta = FileMetaDataset()
    made.file_meta.TransferSyntaxUID = ExplicitVRLittleEndian
    made.SpecificCharacterSet = "ISO_IR 192"
    made.StudyInstanceUID, made.SeriesInstanceUID = "1.2.826.0.4", "1.2.826.0.5"
    with config.disable_value_validation():
        for keyword, value in header.items():
            setattr(made, keyword, value)
    return made


@pytest.fixture
def program(monkeypatch: pytest.MonkeyPatch) -> Iterator[Program]:
    monkeypatch.setenv("SIGHTLINE_OPENAI_KEY", "k")
    monkeypatch.setattr(hosted_model, "is_loopback", lambda host: False)
    with open_program() as made:
        yield made


def opened(program: Program, place: Path) -> list[OpenImage]:
    found = instances_of(scan_source(program.decoder, place).studies)
    ordered = sorted(found, key=lambda one: one.path.name.startswith("zz"))
    return [OpenImage(f"image-{n}", one, 0, None, False) for n, one in enumerate(ordered, start=1)]


def sent_of(case: dict[str, Any], program: Program, folder: Path) -> dict[str, str]:
    """Ask each question about the case; return question -> all messages that were sent.

    With the first question the model reads the image's attributes.
    """
    images = opened(program, write(folder / "study", case, case["header"]))
    sent: dict[str, str] = {}

    def answer(request: dict[str, Any]) -> dict[str, Any]:
        if sent or request["messages"][-1]["role"] == "tool":
            return text_reply("Seen.")
        return call_reply("dicom_processor", {"dicom_path": "image-1"})

    with OpenAIServer(answer=answer) as server:
        model = program.language_model("openai:test-model", server.url)
        loop = AgentLoop(model, program.registry)

        async def ask(text: str) -> str:
            request = program.request(
                text, images, thread=Thread.in_memory(), out_dir=folder / "out", approve=yes
            )
            return [event.kind async for event in loop.run(request)][-1]

        for canary in case["canary"]:
            for question in canary["typed"]:
                asked = MARKED.sub(r"\1", question)
                assert asyncio.run(ask(asked)) == "run_finished", question
                assert len(server.requests) == len(sent) + 2, "each was sent, and a result"
                told = server.requests[-1]["messages"]
                sent[question] = json.dumps(
                    [message for message in told if message["role"] != "system"], ensure_ascii=False
                )
    return sent


def leaked(case: dict[str, Any], sent: dict[str, str]) -> dict[str, list[str]]:
    return {
        question: found
        for canary in case["canary"]
        for question in canary["typed"]
        if (found := leaks(question, "Date" in canary["plant"], sent[question]))
    }


def test_sixty_identifiers_are_planted():
    assert sum(len(case["canary"]) for case in CASES) >= 60


_SOME = [
    pytest.param(case, marks=pytest.mark.slow if place > 1 else ())
    for place, case in enumerate(CASES)
]


@pytest.mark.parametrize("case", _SOME, ids=lambda case: case["name"])
def test_no_planted_identifier_reaches_a_remote_endpoint(
    case: dict[str, Any], program: Program, tmp_path: Path
):
    assert leaked(case, sent_of(case, program, tmp_path)) == {}


def test_the_search_finds_what_nobody_removes(
    program: Program, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(Redactor, "messages", lambda self, messages: list(messages))
    case = CASES[0]
    typed = sum(len(canary["typed"]) for canary in case["canary"])
    assert len(leaked(case, sent_of(case, program, tmp_path))) == typed


@pytest.mark.parametrize("header", HEADERS, ids=lambda header: header["name"])
def test_ordinary_questions_arrive_as_typed(
    header: dict[str, Any], program: Program, tmp_path: Path
):
    images = opened(program, write(tmp_path, header, header["values"]))
    run = RunImages(images, tmp_path / "out", program.decoder)
    known = known_of(run.headers())
    about = Message(
        role="user",
        images=run.notes(remote=False),
        identifiers=list(known.identifiers),
        texts=list(known.texts),
    )
    redactor = Redactor([about])
    damaged = [text for text in QUESTIONS if redactor.text(text) != text]
    assert len(QUESTIONS) >= 200
    assert len(damaged) <= 2, damaged
