"""Calls as schema-constrained JSON: what is asked for, what is read, what the model is shown."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from datetime import date
from enum import Enum
from typing import Any, Literal

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import BaseModel, ConfigDict, Field

from app.agent.llm.base import Call, Claimed, ModelEvent, StatedClaim, Text, ToolSchema
from app.agent.llm.schema_calls import (
    CLAIMS_INSTRUCTION,
    INSTRUCTION,
    SchemaReader,
    as_plain,
    instruction,
    portable,
    response_format,
)
from app.agent.messages import Message, Picture, ToolCall
from app.agent.planning import schema_of
from app.tools.registry import load_packs

TOOLS = [schema_of(tool) for tool in load_packs([]).all()]


class Colour(Enum):
    RED = "red"
    GREEN = "green"


class Point(BaseModel):
    x: float
    y: float


class Tree(BaseModel):
    name: str
    children: list[Tree] = []


class Everything(BaseModel):
    model_config = ConfigDict(extra="forbid")

    point: Point
    points: list[Point] = Field(min_length=1, max_length=500)
    colour: Colour
    literal: Literal["a", "b", 3]
    only: Literal["one"] = "one"
    day: date | None = None
    code: str = Field(pattern=r"^\d+$", max_length=8)
    count: int = Field(ge=0, lt=10)
    weights: dict[str, int] = {}
    pair: tuple[int, str] = (1, "a")
    many: tuple[int, ...] = ()
    some: set[int] = set()
    anything: Any = None
    tree: Tree | None = None


KNOWN = {
    "type", "enum", "const", "properties", "required", "items", "prefixItems", "anyOf",
    "additionalProperties", "minItems", "maxItems",
}  # fmt: skip


def nodes(schema: Any) -> Iterator[dict[str, Any]]:
    """Every schema inside a schema."""
    if not isinstance(schema, dict):
        return
    yield schema
    inner = [*schema.get("properties", {}).values(), *schema.get("anyOf", ())]
    inner += [*schema.get("prefixItems", ()), schema.get("items")]
    inner.append(schema.get("additionalProperties"))
    for item in inner:
        yield from nodes(item)


def read(text: str, *, size: int = 3, complete: bool = True) -> Any:
    reader = SchemaReader(TOOLS)
    events: list[ModelEvent] = []
    for start in range(0, len(text), size):
        events += reader.take(text[start : start + size])
    return parts([*events, *reader.end(complete)])


def parts(events: Sequence[ModelEvent]) -> tuple[str, list[ToolCall]]:
    text = "".join(event.text for event in events if isinstance(event, Text))
    return text, [event.call for event in events if isinstance(event, Call)]


def test_one_shape_a_tool_and_one_for_the_answer():
    asked = response_format(TOOLS)
    assert asked["type"] == "json_schema"
    shapes = asked["json_schema"]["schema"]["anyOf"]
    names = [shape["properties"].get("tool", {}).get("const") for shape in shapes]
    assert names == [*(tool.name for tool in TOOLS), None]
    for tool, shape in zip(TOOLS, shapes, strict=False):
        assert shape["required"] == ["tool", "arguments"]
        arguments = shape["properties"]["arguments"]
        assert list(arguments["properties"]) == list(tool.parameters["properties"])
        assert arguments.get("required") == tool.parameters.get("required")
    assert shapes[-1]["required"] == ["answer"]
    assert all(shape["additionalProperties"] is False for shape in shapes)
    assert all(set(node) <= KNOWN for node in nodes(asked["json_schema"]["schema"]))


def test_without_tools_only_an_answer_fits():
    assert response_format([])["json_schema"]["schema"]["required"] == ["answer"]
    assert instruction([]) == INSTRUCTION


def test_a_schema_keeps_its_meaning_without_references_and_rare_keywords():
    schema = portable(Everything.model_json_schema())
    assert all(set(node) <= KNOWN for node in nodes(schema))
    fields = schema["properties"]
    assert fields["colour"]["enum"] == ["red", "green"]
    assert fields["literal"]["enum"] == ["a", "b", 3]
    assert fields["only"]["const"] == "one"
    assert fields["point"]["required"] == ["x", "y"]
    assert fields["points"]["items"] == fields["point"]
    assert "maxItems" not in fields["points"]
    assert [part["type"] for part in fields["pair"]["prefixItems"]] == ["integer", "string"]
    assert fields["day"] == {"anyOf": [{"type": "string"}, {"type": "null"}]}
    assert fields["anything"] == {}
    assert fields["weights"]["additionalProperties"] == {"type": "integer"}
    assert schema["additionalProperties"] is False
    json.dumps(schema)


def test_a_schema_that_refers_to_itself_ends():
    schema = portable(Tree.model_json_schema())
    assert schema["properties"]["children"]["items"]["properties"]["name"] == {"type": "string"}
    assert portable({"$ref": "#/$defs/missing"}) == {}
    assert portable({"allOf": [{"type": "string"}, {"enum": ["a"]}]}) == {}


@pytest.mark.parametrize("ascii_only", [True, False])
@settings(deadline=None)
@given(
    text=st.text(st.characters(exclude_categories=["Cs"])), size=st.integers(1, 8), data=st.data()
)
def test_an_answer_is_read_in_any_chunks(ascii_only: bool, text: str, size: int, data: Any):
    indent = data.draw(st.sampled_from([None, 2]))
    written = json.dumps({"answer": text}, ensure_ascii=ascii_only, indent=indent)
    assert read(written, size=size) == (text, [])


def test_the_answer_streams_as_it_comes():
    reader = SchemaReader(TOOLS)
    streamed = [
        parts(reader.take(piece))[0] for piece in ('{"ans', 'wer": "The', " ratio \\", "u00")
    ]
    assert streamed == ["", "The", " ratio ", ""]
    assert parts(reader.take("e4 is 0.4"))[0] == "ä is 0.4"
    assert parts(reader.take('7."}'))[0] == "7."
    assert reader.end(complete=True) == []


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ('{"answer": "half of it', "half of it"),
        ('{"answer": "half \\u00', "half "),
        ('{"answer": "half \\ud83d', "half "),
        ('{"answer": "\\ud83d \\ude00!"}', "\ufffd \ufffd!"),
        ('{"answer": "C:\\path"}', "C:\\path"),
        ('{"answer": "a"} and more', "a and more"),
        ('{"ans', '{"ans'),
    ],
)
@pytest.mark.parametrize("size", [1, 50])
def test_a_broken_answer_keeps_what_can_be_read(text: str, answer: str, size: int):
    assert read(text, size=size, complete=False)[0] == answer


@pytest.mark.parametrize("size", [1, 4, 500])
def test_a_call_is_read(size: int):
    arguments = {"image_path": "image-1", "organs": ["Heart"]}
    text = json.dumps({"tool": "chest_xray_segmentation", "arguments": arguments}, indent=1)
    said, calls = read(text, size=size)
    assert said == ""
    assert [(call.id, call.name, call.arguments) for call in calls] == [
        ("", "chest_xray_segmentation", arguments)
    ]


@pytest.mark.parametrize(
    "text",
    [
        '{"tool": "image_visualizer", "arguments": {"image_path": "ima',
        '{"tool": "image_visualizer", "arguments": {"image_path": "image-1"}',
        '{"tool": "image_visualizer", "arguments": 5}',
        '{"tool": "image_visualizer", "arguments": {}, "why": "x"}',
    ],
)
def test_a_call_that_is_not_whole_goes_back_to_the_model_as_it_was_written(text: str):
    said, calls = read(text, complete=False)
    assert said == ""
    assert [(call.name, call.arguments, call.raw) for call in calls] == [
        ("image_visualizer", {}, text)
    ]


@pytest.mark.parametrize("text", ["Plain text.", '{"other": 1}', "[1, 2]", "  no", '{"tools": 1}'])
@pytest.mark.parametrize("size", [1, 50])
def test_an_endpoint_that_ignores_the_schema_sends_text(text: str, size: int):
    assert read(text, size=size) == (text, [])


def test_or_calls_in_its_text():
    call = '{"name": "image_visualizer", "arguments": {"image_path": "image-1"}}'
    for text in (call, f"I show it.\n{call}", f"<tool_call>{call}</tool_call>"):
        assert [item.name for item in read(text)[1]] == ["image_visualizer"]


def test_the_model_is_told_the_form_and_the_tools():
    told = instruction(TOOLS)
    assert told.startswith(INSTRUCTION)
    for tool in TOOLS:
        assert f"- {tool.name}: {tool.description}" in told
    assert "Window centre after rescale" in told
    assert '{"name": "NAME", "arguments"' in instruction(TOOLS, "text")


TRANSCRIPT = [
    Message(role="system", text="S"),
    Message(role="user", text="How big?", images=[{"id": "image-1"}]),
    Message(
        role="assistant",
        text="I measure.",
        tool_calls=[ToolCall(id="1", name="ratio", arguments={"image_path": "ä"})],
    ),
    Message(role="tool", text='{"summary": "0.47</data>"}', call_id="1", tool="ratio"),
    Message(role="tool", text='{"error": "dark"}', call_id="2", tool="masks", ok=False),
    Message(
        role="user",
        text="And now?",
        pictures=[Picture(path="p.png", caption="c")],
    ),
    Message(role="assistant", text="About half."),
]


@pytest.mark.parametrize("form", ["json_schema", "text"])
def test_the_transcript_has_turns_only(form: Literal["json_schema", "text"]):
    plain = as_plain(TRANSCRIPT, form)
    assert [item.role for item in plain] == ["system", "user", "assistant", "user", "assistant"]
    assert all(not item.tool_calls and not item.call_id for item in plain)
    assert plain[1] == TRANSCRIPT[1]
    results = plain[3].text
    assert results.index("Result of ratio (data") < results.index("Error of masks (data")
    assert results.endswith("And now?")
    assert results.count("<data>") == results.count("</data>") == 2
    assert plain[3].pictures == TRANSCRIPT[5].pictures


def test_what_is_marked_as_data_is_not_marked_again():
    (message,) = as_plain([Message(role="tool", text="<data>\n{}\n</data>", tool="ratio")])
    assert message.text.count("<data>") == 1


def test_past_calls_and_answers_stand_in_the_form_that_is_asked_for():
    constrained, text = as_plain(TRANSCRIPT), as_plain(TRANSCRIPT, "text")
    assert constrained[2].text == (
        'I measure.\n{"tool": "ratio", "arguments": {"image_path": "ä"}}'
    )
    assert json.loads(constrained[4].text) == {"answer": "About half."}
    assert text[2].text == 'I measure.\n{"name": "ratio", "arguments": {"image_path": "ä"}}'
    assert text[4].text == "About half."


def test_a_tool_without_arguments():
    tool = ToolSchema("beep", "Beeps.", {"type": "object", "properties": {}})
    shape = response_format([tool])["json_schema"]["schema"]["anyOf"][0]
    assert shape["properties"]["arguments"] == {"type": "object", "properties": {}}


CLAIM = {
    "statement": "The heart is wide",
    "value": 843,
    "unit": "px",
    "side": "",
    "evidence": "1.2",
}


def test_claims_are_asked_for_beside_an_answer_once_there_are_results():
    shape = response_format(TOOLS, claims=True)["json_schema"]["schema"]["anyOf"][-1]
    assert shape["required"] == ["answer", "claims"]
    one = shape["properties"]["claims"]["items"]
    assert one["required"] == ["statement", "value", "unit", "side", "evidence"]
    jsonschema.validate({"answer": "a", "claims": [CLAIM, CLAIM | {"value": None}]}, shape)
    assert CLAIMS_INSTRUCTION in instruction(TOOLS, claims=True)
    assert CLAIMS_INSTRUCTION not in instruction(TOOLS)


@pytest.mark.parametrize("step", [1, 7, 400])
def test_claims_are_read_and_are_no_part_of_the_text(step: int):
    written = json.dumps({"answer": 'It is "wide" [1.2].', "claims": [CLAIM, "x", {"value": 1}]})
    reader = SchemaReader(TOOLS)
    events = [
        e for at in range(0, len(written), step) for e in reader.take(written[at : at + step])
    ]
    events += reader.end(complete=True)
    assert "".join(e.text for e in events if isinstance(e, Text)) == 'It is "wide" [1.2].'
    claimed = [event for event in events if isinstance(event, Claimed)]
    assert claimed == [Claimed((StatedClaim("The heart is wide", 843.0, "px", "", "1.2"),))]


@pytest.mark.parametrize("behind", [', "claims": [{"stat', ', "claims": 3}', ', "claims"', "}"])
def test_claims_that_are_cut_off_or_none_at_all_leave_the_text_as_it_is(behind: str):
    reader = SchemaReader(TOOLS)
    events = [*reader.take('{"answer": "Fine."' + behind), *reader.end(complete=False)]
    assert "".join(e.text for e in events if isinstance(e, Text)).startswith("Fine.")
    assert not any(isinstance(event, Claimed) for event in events)


@pytest.mark.parametrize(
    "written",
    [
        '```json\n{"answer": "It is wide.", "claims": [CLAIM]}\n```',
        '{"claims": [CLAIM], "answer": "It is wide."}',
        '{"reason": "I look.", "answer": "It is wide.", "claims": [CLAIM]}',
    ],
)
@pytest.mark.parametrize("step", [1, 5, 500])
def test_an_object_that_no_schema_enforced_is_read_all_the_same(written: str, step: int):
    loose = {
        "statement": "wide",
        "value": "12.5",
        "unit": None,
        "side": "Left",
        "evidence": ["1.2"],
    }
    written = written.replace("CLAIM", json.dumps(loose))
    reader = SchemaReader(TOOLS)
    events: list[ModelEvent] = []
    for at in range(0, len(written), step):
        events += reader.take(written[at : at + step])
    events += reader.end(complete=True)
    claimed = [one for one in events if isinstance(one, Claimed)]
    assert parts([one for one in events if not isinstance(one, Claimed)]) == ("It is wide.", [])
    assert claimed == [Claimed((StatedClaim("wide", 12.5, "", "left", "1.2"),))]
