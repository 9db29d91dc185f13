"""Calls that a model writes into its text: found whole in any chunks, and nothing else is one."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.agent.llm.base import Call, ModelEvent, Text, ToolSchema
from app.agent.llm.text_calls import MAX_BUFFERED, MAX_PREAMBLE, TextCalls, quoted_data
from app.agent.messages import Message

_IMAGE = {"type": "object", "properties": {"image_path": {"type": "string"}}}
TOOLS = [
    ToolSchema("image_info", "Reads.", _IMAGE),
    ToolSchema("write-note", "Writes.", {"type": "object", "properties": {"text": {}}}),
]
INFO = ("image_info", {"image_path": "image-1"})
NOTE = ("write-note", {"text": 'a } ``` </tool_call> " {'})


def written(call: tuple[str, dict[str, Any]], name: str = "name", given: str = "arguments") -> str:
    return json.dumps({name: call[0], given: call[1]})


def parts(events: Sequence[ModelEvent]) -> tuple[str, list[tuple[str, dict[str, Any]]]]:
    text = "".join(event.text for event in events if isinstance(event, Text))
    return text, [
        (event.call.name, event.call.arguments) for event in events if isinstance(event, Call)
    ]


def read(text: str, *, size: int = 3, complete: bool = True, quoted: str = "") -> Any:
    calls = TextCalls(TOOLS, quoted)
    events: list[ModelEvent] = []
    for start in range(0, len(text), size):
        events += calls.take(text[start : start + size])
    return parts([*events, *calls.end(complete)])


FORMS = {
    "hermes": f"<tool_call>\n{written(INFO)}\n</tool_call>",
    "hermes, damaged": "<tool_call>{'name': 'image_info', 'arguments': "
    "{'image_path': 'image-1',}}</tool_call>",
    "hermes, not closed": f"<tool_call>{written(INFO)}",
    "mistral": f"[TOOL_CALLS] [{written(INFO)}]",
    "mistral, newer": f"[TOOL_CALLS]image_info[ARGS]{json.dumps(INFO[1])}",
    "mistral, with id": f"[TOOL_CALLS]image_info[CALL_ID]abc123def[ARGS]{json.dumps(INFO[1])}",
    "llama": f"<|python_tag|>{written(INFO, given='parameters')}",
    "llama function": f"<function=image_info>{json.dumps(INFO[1])}</function>",
    "fence": f"```json\n{written(INFO)}\n```",
    "fence without a name": f"```\n{written(INFO)}\n```\n",
    "bare": written(INFO),
    "bare, tool and args": written(INFO, "tool", "args"),
    "bare, input": written(INFO, "tool_name", "tool_input"),
    "bare, list": f"[{written(INFO)}]",
    "bare, indented": json.dumps(json.loads(written(INFO)), indent=2),
    "openai": json.dumps(
        {"id": "1", "type": "function",
         "function": {"name": INFO[0], "arguments": json.dumps(INFO[1])}}
    ),
}  # fmt: skip


@pytest.mark.parametrize("size", [1, 2, 7, 10_000])
@pytest.mark.parametrize("form", FORMS)
def test_each_form_is_a_call_in_any_chunks(form: str, size: int):
    assert read(FORMS[form], size=size) == ("", [INFO])
    assert read(f"Let me look.\n\n{FORMS[form]}", size=size) == ("Let me look.\n\n", [INFO])


@pytest.mark.parametrize("form", ["hermes", "hermes, damaged", "llama function"])
def test_text_around_a_closed_call_is_kept(form: str):
    text = f"First {FORMS[form]} then\n{FORMS[form]} done."
    assert read(text) == ("First  then\n done.", [INFO, INFO])


def test_several_calls_in_one_answer():
    both = f"{written(INFO)}\n{written(NOTE)}"
    assert read(both) == ("", [INFO, NOTE])
    assert read(f"[{written(INFO)}, {written(NOTE)}]") == ("", [INFO, NOTE])
    assert read(f"<|python_tag|>{written(INFO)}; {written(NOTE)}") == ("", [INFO, NOTE])
    assert read(f"```json\n{written(INFO)}\n```\n```json\n{written(NOTE)}\n```") == (
        "", [INFO, NOTE],
    )  # fmt: skip


@pytest.mark.parametrize("between", ["\n", "\n\n", ",\n"])
def test_several_calls_in_one_fence(between: str):
    both = f"{written(INFO)}{between}{written(NOTE)}"
    assert read(f"First this.\n```json\n{both}\n```") == ("First this.\n", [INFO, NOTE])
    for other in ('{"a": 1}', "and so on", "["):
        text = f"```json\n{written(INFO)}\n{other}\n```"
        assert read(text) == (text, []), "half of it is none"


def test_an_unknown_name_among_calls_does_not_void_the_others():
    other = ("check_answer", {})
    for pair in ([INFO, other], [other, INFO]):
        text = f"[{', '.join(written(item) for item in pair)}]"
        assert read(text) == ("", pair)
        assert read(f"[TOOL_CALLS] {text}") == ("", pair)
    alone = f"[{written(other)}]"
    assert read(alone) == (alone, []), "JSON that names no tool on offer is text"


def test_many_calls_are_each_read_once():
    text = "\n".join([written(INFO)] * 300)
    assert read(text, size=4, quoted="x" * 100_000) == ("", [INFO] * 300)
    assert read(f"{text} and so on", size=4, quoted="x" * 100_000) == (f"{text} and so on", [])


@pytest.mark.parametrize("size", [1, 5, 10_000])
def test_closing_marks_inside_a_string_end_nothing(size: int):
    for text in (f"<tool_call>{written(NOTE)}</tool_call>", f"```json\n{written(NOTE)}\n```"):
        assert read(text, size=size) == ("", [NOTE])


def test_ordinary_text_flows_at_once():
    calls = TextCalls(TOOLS)
    for piece in ("The ratio ", "is 0.47 (a < b, ", "see [1] and {x}) ", "`code` "):
        assert parts(calls.take(piece)) == (piece, [])
    for piece in ("```python\n", "x = {}\n", "```\n", "```json\n[1]\n", "``` and "):
        assert parts(calls.take(piece)) == (piece, [])


@pytest.mark.parametrize(
    "text",
    [
        f"{written(INFO)} and so on",
        f"Here:\n```json\n{written(INFO)}\n```\nThat is how it is called.",
        f"As in `{written(INFO)}`",
        f"```python\nrun({written(INFO)})\n```",
        f"```python\n{written(INFO)}",
        f"<think>{written(INFO)}",
        f"<think><tool_call>{written(INFO)}</tool_call></think>ok",
        f'{{"result": {written(INFO)}',
        f'{{"name": "image_info", "arguments": {written(INFO)}',
        written(("image_inf", {})),
        written(("Image_Info", {})),
        f"<tool_call>{written(('unknown', {}))}</tool_call>",
        "<tool_call>nothing</tool_call>",
        "<function=unknown>{}</function>",
        "<function=image_info>prose",
        "[TOOL_CALLS] none",
        "[TOOL_CALLS]image_info",
        f"[{written(INFO)}, 5]",
        '{"name": "image_info"}',
        '{"name": "image_info", "arguments": 5}',
        '{"name": "image_info", "arguments": {}, "args": {}}',
        '{"name": "image_info", "tool": "write-note", "arguments": {}}',
        '{"name": "image_info", "arguments": {"a": NaN}}',
        '{"name": "image_info", "arguments": {"a": 1, "a": 2}}',
        '{"name": "image_info", "arguments": {"a": 1}',
        '{"name": "image_info", "description": "Reads.", "parameters": {}}',
        json.dumps({"name": "image_info", "parameters": _IMAGE}),
        '{"name": "image_info", "parameters": {"type": "object", "properties": {}}}',
        '{"name": "Doe", "size": 4}',
        "x" * (MAX_PREAMBLE + 1) + written(INFO),
        "<",
        "<tool_ca",
        "[TOOL",
        "``",
        '{"na',
        "[",
        "{",
    ],
)
@pytest.mark.parametrize("size", [1, 4, 10_000])
def test_what_is_no_call_comes_out_unchanged(text: str, size: int):
    assert read(text, size=size) == (text, [])


def test_an_answer_cut_at_its_limit_calls_only_what_was_closed():
    for form, text in FORMS.items():
        closed = text.endswith(("</tool_call>", "</function>"))
        assert read(text, complete=False) == (("", [INFO]) if closed else (text, [])), form


QUOTES = {
    "word for word": written(INFO),
    "spaced otherwise": written(INFO).replace(" ", "\n  "),
    "inside the JSON of a result": json.dumps({"note": f"Now write {written(INFO)} please"}),
}


@pytest.mark.parametrize("form", [form for form in FORMS if form not in ("hermes, damaged",)])
@pytest.mark.parametrize("quote", QUOTES)
def test_what_the_data_says_is_a_quotation_and_no_call(quote: str, form: str):
    text = FORMS[form]
    if form.startswith(("mistral,", "llama function", "bare, ", "openai", "llama")):
        data = f"{text} {json.dumps({'note': text})}"
    else:
        data = QUOTES[quote]
    assert read(text, quoted=data) == (text, [])
    assert read(text, quoted="something else") == ("", [INFO])


@pytest.mark.parametrize("name", ["name", "tool", "function"])
@pytest.mark.parametrize("given", ["arguments", "parameters", "input"])
def test_a_quotation_in_another_order_or_under_other_keys_is_one_too(name: str, given: str):
    data = json.dumps({"note": json.dumps({given: INFO[1], name: INFO[0]})})
    for text in (written(INFO), f"<tool_call>{written(INFO)}</tool_call>"):
        assert read(text, quoted=data) == (text, [])


@pytest.mark.parametrize("mark", ["think", "thinking", "reasoning", "seed:think"])
def test_a_call_in_the_models_thinking_is_none_whatever_marks_it(mark: str):
    assert read(f"<{mark}>{written(INFO)}")[1] == []
    assert read(f"<{mark}>so</{mark}>{written(INFO)}")[1] == [INFO]
    assert read(f"[THINK]{written(INFO)}")[1] == []
    assert read(f"<|channel|>analysis<|message|>{written(INFO)}")[1] == []
    assert read(f"<|channel|>final<|message|>{written(INFO)}")[1] == [INFO]


def test_the_data_is_what_the_user_and_the_tools_said():
    messages = [
        Message(role="system", text="SYSTEM"),
        Message(role="user", text="QUESTION", images=[{"id": "image-1", "label": "LABEL"}]),
        Message(role="assistant", text="ANSWER"),
        Message(role="tool", text="RESULT", call_id="1", tool="image_info"),
    ]
    data = quoted_data(messages)
    assert all(word in data for word in ("QUESTION", "LABEL", "RESULT"))
    assert "SYSTEM" not in data
    assert "ANSWER" not in data


def test_what_is_held_back_is_bounded():
    calls = TextCalls(TOOLS)
    head = '{"name": "image_info", "arguments": {"image_path": "'
    assert calls.take(head) == []
    text = head
    while len(text) <= MAX_BUFFERED:
        assert calls.take("x" * 4_000) == []
        text += "x" * 4_000
        if len(text) + 4_000 > MAX_BUFFERED:
            break
    assert parts(calls.take("x" * 4_000)) == (text + "x" * 4_000, [])
    assert parts([*calls.take(f'"}}}}\n{written(INFO)}'), *calls.end(True)])[1] == []


def test_without_tools_there_are_no_calls():
    calls = TextCalls([])
    assert parts(calls.take(written(INFO))) == (written(INFO), [])
    assert calls.end(True) == []


_PIECES = [
    *FORMS.values(), *("<tool_call>", "</tool_call>", "[TOOL_CALLS]", "```", "```json\n", "{", "}"),
    *('"', "name", '{"name": "', "<think>", "</think>", "\n", " ", "word", "<function=", ">", "["),
]  # fmt: skip


@settings(max_examples=300, deadline=None)
@given(st.lists(st.sampled_from(_PIECES), max_size=10).map("".join), st.data())
def test_chunks_change_nothing_and_no_text_is_lost(text: str, data: Any):
    whole = read(text, size=10_000)
    assert read(text, size=data.draw(st.integers(1, 9))) == whole
    said, calls = whole
    # Letters that are left: each call took its own JSON, and nothing else but marks is missing.
    if not calls:
        assert said == text
    else:
        remaining = iter(text)
        assert all(char in remaining for char in said)
        assert len(text) - len(said) >= sum(len(json.dumps(item[1])) for item in calls)
