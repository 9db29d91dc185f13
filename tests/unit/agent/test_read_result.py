from __future__ import annotations

import itertools
import json
from pathlib import Path
from typing import Any

import pytest

from app.agent.context.context_window import ContextWindow
from app.agent.context.model_messages import result_message
from app.agent.context.read_result_tool import SPEC, ReadInput, ReadResult
from app.agent.llm.base import ModelInfo
from app.agent.messages import Message, ToolCall
from app.agent.privacy.redaction import REMOVED, Redactor
from app.agent.sessions import Thread
from app.tools.api import Approval, CancelToken, ToolContext, ToolRetry
from tests.support.fake_tools import NoHost, NoImages


def context() -> ToolContext:
    return ToolContext(
        "run", "call", NoImages(), Path(), NoHost(), Path(), "cpu", CancelToken(), lambda *_: None
    )


def thread(*results: dict[str, Any]) -> Thread:
    made = Thread.in_memory()
    made.append(Message(role="user", text="q"))
    for number, data in enumerate(results, start=1):
        call = ToolCall(id=f"long-id-{number}", name=f"tool{number}", arguments={})
        made.append(Message(role="assistant", tool_calls=[call]))
        made.append(result_message(call.id, call.name, data))
    return made


def read(made: Thread, ref: str, path: str = "", **more: Any) -> dict[str, Any]:
    return ReadResult(made).run(ReadInput(id=ref, path=path, **more), context()).output


DATA: dict[str, Any] = {
    "summary": "Measured.",
    "output": {
        "metrics": {"Left Lung": {"area": 12.5}, "odd.na'me[0]": 7},
        "items": [{"n": n} for n in range(45)],
        "text": " ".join(f"word{n}" for n in range(3000)),
    },
    "metadata": {"status": "ok"},
}


def test_it_only_reads():
    assert SPEC.approval is Approval.READ


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("output/metrics/Left Lung/area", {"output": {"metrics": {"Left Lung": {"area": 12.5}}}}),
        ("output/metrics/odd.na'me[0]", {"output": {"metrics": {"odd.na'me[0]": 7}}}),
        ("metadata", {"metadata": {"status": "ok"}}),
        ("output/items/44", {"output": {"items": [{"n": 44}]}}),
        ("/output/items/44/n", {"output": {"items": [{"n": 44}]}}),
    ],
)
def test_a_part_comes_under_the_names_that_lead_to_it(path: str, value: Any):
    assert read(thread({}, DATA), "call-2", path)["value"] == value


def test_the_id_of_the_call_is_taken_too():
    assert read(thread(DATA), "long-id-1", "summary")["value"] == {"summary": "Measured."}


def test_lists_come_in_pages_of_twenty_that_together_are_the_list():
    made, items, offset = thread(DATA), [], 0
    while offset is not None:
        output = read(made, " CALL-1 ", "output/items", offset=offset)
        assert output["total"] == 45
        items += output["value"]["output"]["items"]
        offset = output["next_offset"]
    assert items == DATA["output"]["items"]


def test_texts_come_in_pages_cut_between_words_that_together_are_the_text():
    made, pages, offset = thread(DATA), [], 0
    while offset is not None:
        output = read(made, "call-1", "output/text", offset=offset)
        pages.append(output["value"]["output"]["text"])
        offset = output["next_offset"]
    assert "".join(pages) == DATA["output"]["text"]
    assert len(pages) > 2
    for page, following in itertools.pairwise(pages):
        assert page[-1].isspace() or following[0].isspace()


@pytest.mark.parametrize("limit", [1, 2, 7, 64, 100])
@pytest.mark.parametrize("text", ["hello brave world " * 50, "Smithson " * 30, "x" * 300, "a" * 70])
def test_pages_of_any_size_lead_to_the_end_and_are_the_text(text: str, limit: int):
    tool, read, offset = ReadResult(thread({"output": {"t": text}})), "", 0
    while offset is not None:
        asked = ReadInput(id="call-1", path="output/t", offset=offset, limit=limit)
        output = tool.run(asked, context()).output
        read += output["value"]["output"]["t"]
        before, offset = offset, output["next_offset"]
        assert offset is None or offset > before
    assert read == text


def test_a_text_without_spaces_can_be_read_as_well():
    made = thread({"output": {"text": "x" * 10_001 + " y"}})
    first = read(made, "call-1", "output/text", limit=9_000)
    assert first["next_offset"] == 6_000
    rest = read(made, "call-1", "output/text", offset=6_000)["value"]["output"]["text"]
    assert rest == "x" * 4_001 + " y"


def test_what_is_not_there_names_what_is():
    made = thread(DATA, {"summary": "Other."})
    with pytest.raises(ToolRetry, match=r"call-7.*There is: call-1 \(tool1\), call-2 \(tool2\)"):
        read(made, "call-7")
    with pytest.raises(ToolRetry, match=r"'lungs' in output/metrics of call-1.*Left Lung, odd.na"):
        read(made, "call-1", "output/metrics/lungs")
    with pytest.raises(ToolRetry, match="45 items, numbered from 0"):
        read(made, "call-1", "output/items/45")
    with pytest.raises(ToolRetry, match="single value"):
        read(made, "call-1", "summary/x")
    with pytest.raises(ToolRetry, match="none yet"):
        read(Thread.in_memory(), "call-1")


def test_a_call_without_a_result_says_so():
    made = thread(DATA)
    call = ToolCall(id="pending", name="t", arguments={})
    made.append(Message(role="assistant", tool_calls=[call]))
    with pytest.raises(ToolRetry, match="has no result yet"):
        read(made, "call-2")


def test_following_the_notices_of_a_shortened_result_gets_all_of_it():
    deep = {"summary": "s", "output": {"a": [{"b": list(range(50))} for _ in range(30)]}}
    made = thread(deep)
    window = ContextWindow(ModelInfo())
    text = window.build("", made.history).messages[-1].text
    assert 'read_result(id=\\"call-1\\", path=\\"output/a\\", offset=20)' in text
    assert 'read_result(id=\\"call-1\\", path=\\"output/a/0/b\\", offset=20)' in text
    page = read(made, "call-1", "output/a/0/b", offset=20)
    assert page["value"]["output"]["a"] == [{"b": list(range(20, 40))}]
    assert page["next_offset"] == 40


@pytest.mark.parametrize("context_tokens", [6_000, 32_000, 200_000])
def test_a_page_is_never_shortened_again(context_tokens: int):
    window = ContextWindow(ModelInfo(context_tokens=context_tokens, output_tokens=1_000))
    made = thread(DATA, {"output": {f"key {n}": "value " * 40 for n in range(500)}})
    reader = ReadResult(made, window.page_chars)
    paths = (("call-1", "output/text"), ("call-1", "output"), ("call-2", "output"), ("call-2", ""))
    for ref, path in paths:
        found = reader.run(ReadInput(id=ref, path=path), context())
        call = ToolCall(id="c", name="read_result", arguments={})
        data = {"summary": found.summary, "output": found.output, "metadata": {}}
        history = [
            Message(role="user", text="q"),
            Message(role="assistant", tool_calls=[call]),
            result_message("c", "read_result", data),
        ]
        shown = window.build("", history).messages[-1].text
        assert shown == f"<data>\n{json.dumps(data, ensure_ascii=False)}\n</data>"


def test_what_identifies_a_patient_is_removed_from_every_part_that_is_read():
    secret = {
        "summary": "Read the header of DOE^JANE.",
        "output": {"note": "seen " * 1500 + "JANE DOE " * 200},
        "metadata": {
            "PatientAge": 97.25,
            "PatientName": "DOE^JANE",
            "OtherPatientIDs": ["4711-A", "4711-B"],
            "Modality": "CR",
        },
    }
    made = thread(secret)
    cleaned = ""
    for path in ("", "metadata", "metadata/PatientAge", "metadata/OtherPatientIDs/1",
                 "metadata/OtherPatientIDs", "output/note"):  # fmt: skip
        offset: int | None = 0
        while offset is not None:
            wanted = ReadInput(id="call-1", path=path, offset=offset)
            found = ReadResult(made).run(wanted, context())
            offset = found.output.get("next_offset")
            data = {"summary": found.summary, "output": found.output, "metadata": {}}
            history = [*made.history, result_message("c", "read_result", data)]
            cleaned = Redactor(history).messages(history)[-1].text
            for word in ("DOE", "JANE", "4711", "97.25"):
                assert word not in cleaned, path
        assert REMOVED in cleaned, path


def test_the_places_that_notices_and_calls_name_are_not_taken_for_files():
    long = {"summary": "s", "output": {"items": list(range(45)), "made.png": "/out/made.png"}}
    made = thread(long)
    where = {"id": "call-1", "path": "output/items", "offset": 20}
    made.append(
        Message(
            role="assistant", tool_calls=[ToolCall(id="r", name="read_result", arguments=where)]
        )
    )
    found = ReadResult(made).run(ReadInput.model_validate(where), context())
    data = {"summary": found.summary, "output": found.output, "metadata": {}}
    made.append(result_message("r", "read_result", data))
    prompt = ContextWindow(ModelInfo()).build("", made.history, redactor=Redactor(made.history))
    assert 'path=\\"output/items\\", offset=20' in prompt.messages[3].text
    assert prompt.messages[4].tool_calls[0].arguments == where
    assert '"part": "output/items"' in prompt.messages[5].text
    assert "/out" not in "".join(message.text for message in prompt.messages)
