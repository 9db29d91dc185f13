"""Nothing that identifies a patient leaves with what a record says: a server records every byte."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

from app.agent.events import ApprovalRequested, RunFinished
from app.agent.llm import hosted_model
from app.agent.llm.openai_model import OpenAIModel
from app.agent.loop.agent_loop import AgentLoop, Limits
from app.agent.loop.offline_model import OfflineModel
from app.agent.loop.retry import Retry
from app.agent.privacy.consents import Consents, Target
from app.agent.privacy.record_placeholders import RecordPlaceholders, RestoredStream
from app.agent.request import Decision
from app.agent.sessions import Thread
from app.records.record_library import RecordLibrary
from app.tools import record
from app.tools.api import ToolContext, ToolFailed, ToolInput, ToolResult, ToolSpec
from app.tools.registry import Registry
from tests.support import fake_tools
from tests.support.openai_server import OpenAIServer, call_reply, text_reply
from tests.support.record_canaries import ALLOWED, CANARIES, PATIENT_ID, write_bundle


class Nothing(ToolInput):
    """No arguments."""


class Anything(BaseModel):
    """Any output."""


class TellAll:
    """A tool that returns all of the record, in each part of its result and in a sentence."""

    spec = ToolSpec("tell_all", "Tells all of the record.", Nothing, Anything, pack="record")

    def run(self, args: Nothing, context: ToolContext) -> ToolResult:
        """Return everything."""
        people = [asdict(one) for one in context.records.patients()]
        entries = [asdict(one) for one in context.records.entries(PATIENT_ID)]
        told = {"patients": people, "entries": entries, "by_name": {p["name"]: p for p in people}}
        said = "; ".join(
            f"{e['name']} {(e['value'] or {}).get('text', '')} {e['text']} ({e['start']}) "
            f"[{e['id']}]"
            for e in entries
        )
        return ToolResult(f"{people[0]['name']}, {people[0]['birth_date']}: {said}", told, told)


class TellError(TellAll):
    """A tool that fails with all of the record as its reason."""

    spec = ToolSpec("tell_error", "Fails.", Nothing, Anything, pack="record")

    def run(self, args: Nothing, context: ToolContext) -> ToolResult:
        """Fail with everything."""
        raise ToolFailed(super().run(args, context).summary)


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RecordLibrary]:
    folder = tmp_path_factory.mktemp("record")
    library = RecordLibrary(workers=1)
    library.open([write_bundle(folder)])
    assert library.count() == 1
    yield library
    library.close()


@pytest.fixture(autouse=True)
def remote(monkeypatch: pytest.MonkeyPatch) -> None:
    """A loopback address counts as another machine."""
    monkeypatch.setattr(hosted_model, "is_loopback", lambda host: False)


def registry_of_all() -> Registry:
    registry = Registry()
    record.register(registry)
    registry.register(TellAll())
    registry.register(TellError())
    return registry


class Talk:
    """A conversation with a model on a server that records what it gets."""

    def __init__(
        self, library: RecordLibrary, folder: Path, *, record: bool = True, **changes: Any
    ) -> None:
        self.library, self.folder, self.changes = library, folder, changes
        self.consents = Consents()
        self.thread = Thread.in_memory()
        self.asked: list[ApprovalRequested] = []
        self.says = record
        self.registry = registry_of_all()

    def ask(self, server: OpenAIServer, question: str) -> str:
        """Return the answer to a question."""

        async def approve(asked: ApprovalRequested) -> Decision:
            self.asked.append(asked)
            return Decision(granted=self.says or asked.about != "record")

        model = OpenAIModel(server.url, "test-model", "key")
        loop = AgentLoop(
            model,
            self.registry,
            plans=self.registry.plans,
            consents=self.consents,
            retry=Retry(),
            **self.changes,
        )
        asked = fake_tools.request(
            self.folder,
            question,
            notes=(),
            thread=self.thread,
            approve=approve,
            records=self.library,
            record_patient=PATIENT_ID,
        )
        events = asyncio.run(fake_tools.collect(loop, asked))
        assert isinstance(events[-1], RunFinished), events[-1]
        return events[-1].answer


def sent(server: OpenAIServer) -> str:
    """All that the server got, with JSON's escapes undone as often as they were made."""
    text = "\n".join(body.decode() for body in server.bodies)
    for _ in range(3):
        text += "\n" + re.sub(
            r"\\u([0-9a-f]{4})", lambda m: chr(int(m[1], 16)), text.replace('\\"', '"')
        )
    return text.casefold()


def leaked(server: OpenAIServer) -> list[str]:
    """The canaries of which the server got a telling part."""
    text = sent(server)
    found: list[str] = []
    for field, canary in CANARIES.items():
        parts = [
            canary,
            *re.findall(r"[A-Z][a-z]{6,}", canary),
            *re.findall(r"\d[\d-]{5,}\d", canary),
        ]
        ordinary = ("Terrace", "Foundry", "Klinikum", "Station", "Subjective")
        parts = [part for part in parts if part not in ordinary]
        found += [f"{field}: {part}" for part in parts if part.casefold() in text]
    return found


CALLS = (call_reply("tell_all", {}), call_reply("tell_error", {}, "call_2"))


def test_there_are_sixty_canaries():
    assert len(CANARIES) >= 60


def test_the_search_finds_what_is_not_removed(library: RecordLibrary):
    """The record really has most of them: a leak would be seen."""
    told = TellAll().run(Nothing(), ToolContextOf(library))
    text = json.dumps([told.summary, told.output], default=str).casefold()
    there = [field for field, canary in CANARIES.items() if canary.casefold() in text]
    assert len(there) >= 35, sorted(CANARIES.keys() - there)


def ToolContextOf(library: RecordLibrary) -> Any:
    class Context:
        records = library

    return Context()


@pytest.mark.parametrize("clean_notes", [False, True])
def test_no_canary_leaves(library: RecordLibrary, tmp_path: Path, clean_notes: bool):
    said = "Her creatinine was 3.71 mg/dL."
    talk = Talk(library, tmp_path, clean_notes=clean_notes)
    with OpenAIServer((*CALLS, text_reply(said), text_reply(said), text_reply(said))) as server:
        talk.ask(server, "Tell me all about Quistella Vorontzak")
        talk.ask(server, "And her SSN 999-41-8877? What happened on 2019-05-23?")
        assert leaked(server) == []
        got = sent(server)
        assert PATIENT_ID not in got
        assert [word for word in ALLOWED if word.casefold() not in got] == []
    assert [one.about for one in talk.asked] == ["conversation", "record"]


def test_without_consent_nothing_of_the_record_leaves(library: RecordLibrary, tmp_path: Path):
    talk = Talk(library, tmp_path, record=False)
    with OpenAIServer((*CALLS, text_reply("I may not know."), text_reply("No."))) as server:
        talk.ask(server, "Tell me all about this patient")
        talk.ask(server, "And her creatinine?")
        assert leaked(server) == []
        got = sent(server)
        assert "does not allow the patient's record" in got
        assert "3.71" not in got
        assert "simvastatin" not in got
    assert [one.about for one in talk.asked] == ["conversation", "record"]


def test_a_consent_to_pictures_or_words_is_none_to_the_record():
    consents = Consents()
    consents.give("t", "host", "m")
    assert consents.record_allowed(Target("t", "host", "m")) is None
    consents.answer_record(Target("t", "host", "m"), allowed=True)
    assert consents.record_allowed(Target("t", "host", "m"))
    assert consents.record_allowed(Target("t", "other", "m")) is None
    consents.withdraw("host")
    assert consents.record_allowed(Target("t", "host", "m")) is None


def test_the_answer_has_the_real_dates_names_and_entries_again(
    library: RecordLibrary, tmp_path: Path
):
    def answer(body: dict[str, Any]) -> dict[str, Any]:
        text = json.dumps(body["messages"])
        if '"tool"' not in text:
            return call_reply("tell_all", {})
        day = re.search(r"Creatinine[^(]*3\.71[^(]*\((date-\d+)[^)]*\) \[(entry-\d+)\]", text)
        assert day, text[-3000:]
        return text_reply(f"patient-1 had a creatinine of 3.71 on {day[1]} [{day[2]}].")

    talk = Talk(library, tmp_path)
    with OpenAIServer(answer=answer) as server:
        told = talk.ask(server, "What is her creatinine?")
    assert "Quistella" in told
    assert "2019-05-23" in told
    assert "[Observation/o-1]" in told


def test_dates_keep_their_distance_and_come_back():
    one = RecordPlaceholders("a")
    text = one.without("from 2019-05-23T08:12:00+02:00 to 2019-06-02, since 2014-03 and 2011")
    first, second, month = (int(n) for n in re.findall(r"date-(\d+)", text))
    assert second - first == 10
    assert 1890 < second - month < 1960
    assert "2011" in text
    assert one.restored(text, names=True).startswith(
        "from 2019-05-23 08:12 to 2019-06-02, since 2014-03"
    )
    assert RecordPlaceholders("b").without("2019-05-23") != one.without("2019-05-23")
    assert RecordPlaceholders("a").without("2019-05-23") == one.without("2019-05-23")


@pytest.mark.parametrize("size", [1, 2, 3, 7])
def test_what_comes_in_pieces_is_put_back_whole(size: int):
    placeholders = RecordPlaceholders("a")
    placeholders.add_patient("p", "Ada Archer")
    text = placeholders.without(
        "p had it on 2019-05-23, not on the date of 2018-01 [Observation/x1]."
    )
    stream = RestoredStream(placeholders)
    pieces = [text[at : at + size] for at in range(0, len(text), size)]
    got = "".join(stream.take(piece) for piece in pieces) + stream.take("", whole=True)
    assert got == "Ada Archer had it on 2019-05-23, not on the date of 2018-01 [Observation/x1]."


_READ = (
    *("list_patients", "get_demographics", "get_patient_labs", "get_vital_signs"),
    *("get_patient_conditions", "analyze_batch_conditions", "get_clinical_notes", "get_soap_notes"),
    *("get_discharge_summary", "get_medication_list", "check_drug_interactions"),
    *("get_radiology_reports", "find_patient_images", "load_ecg"),
)


@pytest.mark.parametrize("clean_notes", [False, True])
def test_no_canary_leaves_with_the_packs_own_tools(
    library: RecordLibrary, tmp_path: Path, clean_notes: bool
):
    calls = tuple(call_reply(name, {}, f"call_{at}") for at, name in enumerate(_READ))
    talk = Talk(library, tmp_path, clean_notes=clean_notes)
    limits = Limits(steps=40, tool_calls=40, calls_per_task=40)
    talk.changes |= {"limits": limits}
    with OpenAIServer((*calls, text_reply("Done."), text_reply("Done."))) as server:
        talk.ask(server, "Everything about this patient, please")
        assert leaked(server) == []
        got = sent(server)
        assert [word for word in ALLOWED if word.casefold() not in got] == []
        assert ("characters of free text" in got) is not clean_notes
    done = {item.tool for item in talk.thread.history if item.role == "tool" and item.ok}
    assert len(done) >= 11, done


def test_what_rules_answered_before_is_cleaned_as_well(library: RecordLibrary, tmp_path: Path):
    """The answer to the local user quotes a note; the next question goes to another machine."""
    talk = Talk(library, tmp_path)
    loop = AgentLoop(OfflineModel(talk.registry.plans), talk.registry, plans=talk.registry.plans)
    asked = fake_tools.request(
        tmp_path,
        "Read me the clinical notes of Quistella Vorontzak",
        notes=(),
        thread=talk.thread,
        records=library,
        record_patient=PATIENT_ID,
    )
    events = asyncio.run(fake_tools.collect(loop, asked))
    assert CANARIES["note"] in events[-1].answer + str(talk.thread.history)
    with OpenAIServer((text_reply("Yes."), text_reply("Yes."))) as server:
        talk.ask(server, "Is that so?")
        assert leaked(server) == []
    assert [one.about for one in talk.asked] == ["conversation", "record"]


@pytest.mark.parametrize("allowed", [True, False])
def test_a_page_of_an_earlier_result_is_no_way_round(
    library: RecordLibrary, tmp_path: Path, allowed: bool
):
    """`read_result` gives any part of any result: what was held back or withheld stays so."""
    pages = ("", "output", "output/entries", "output/entries/0", "output/entries/0/text", "summary")
    calls = [call_reply("get_clinical_notes", {})]
    calls += [
        call_reply("read_result", {"id": "1", "path": path}, f"page_{at}")
        for at, path in enumerate(pages)
    ]
    limits = Limits(steps=40, tool_calls=40, calls_per_task=40)
    talk = Talk(library, tmp_path, record=allowed, limits=limits)
    with OpenAIServer((*calls, text_reply("Done."), text_reply("Done."))) as server:
        talk.ask(server, "Read the notes")
        assert leaked(server) == []
        assert "cough" not in sent(server).split('"messages"')[-1]
    read = [item for item in talk.thread.history if item.tool == "read_result"]
    assert any(item.ok and "cough" in item.text for item in read), "it is there to be read"
