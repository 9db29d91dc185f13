from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from app.agent.context.context_window import RESULT_TOKENS, ContextWindow, Prompt
from app.agent.context.model_messages import result_message
from app.agent.llm.base import ModelFailed, ModelInfo, ToolSchema
from app.agent.messages import Message, Picture, ToolCall
from app.agent.privacy.redaction import Redactor
from tests.support.whole_transcript import build_messages

SENTENCE = "the heart is normal in size and shape, no effusion; áéí 心臓 12345 0.8912"
WORDS = [*SENTENCE.split(), "\n"]


def text(size: int, seed: int = 0) -> str:
    return " ".join(WORDS[(seed + n * 7) % len(WORDS)] for n in range(size))


def history(*exchanges: Sequence[int], last: str = "answer") -> list[Message]:
    """Questions, each with one step a number: a call whose result has so many words.

    `last` is what ends it: "question", "results" (not yet answered) or "answer".
    """
    made: list[Message] = []
    number = 0
    for index, sizes in enumerate(exchanges):
        made.append(Message(role="user", text=f"question {index}: {text(40, index)}"))
        for size in sizes:
            number += 1
            made.append(step(f"call-{number}"))
            made.append(result_message(f"call-{number}", "tool", result(number, size)))
        made.append(Message(role="assistant", text=f"answer {index}: {text(60, index)}"))
    if last != "answer":
        made.pop()
    return made


def step(*ids: str) -> Message:
    calls = [ToolCall(id=item, name="tool", arguments={"image": "image-1"}) for item in ids]
    return Message(role="assistant", text="I look.", tool_calls=calls)


def result(number: int, size: int) -> dict[str, Any]:
    return {
        "summary": f"Result {number} found.",
        "output": {"text": text(size, number), "scores": {f"label {n}": n / 7 for n in range(5)}},
        "metadata": {"status": "ok"},
    }


def of(prompt: Prompt, call_id: str) -> str:
    return next(message.text for message in prompt.messages if message.call_id == call_id)


def data_of(prompt: Prompt, call_id: str) -> dict[str, Any]:
    return json.loads(of(prompt, call_id).removeprefix("<data>\n").removesuffix("\n</data>"))


def window(context: int, answer: int = 500, **more: Any) -> ContextWindow:
    return ContextWindow(ModelInfo(context_tokens=context, output_tokens=answer, **more))


def test_what_fits_is_the_whole_thread_across_tasks():
    thread = history([100, 200], [50], [10])
    prompt = window(200_000).build("system", thread)
    assert prompt.messages == build_messages("system", thread)
    assert (prompt.shortened, prompt.notice) == (0, "")


def test_older_results_give_way_first_the_oldest_before_the_newer():
    thread = history([440], [440], [440], [440])
    whole = window(200_000).build("system", thread).tokens
    prompt = window(int((whole - 300) / 0.95) + 500).build("system", thread)
    assert data_of(prompt, "call-1") == {
        "summary": "Result 1 found.",
        "_truncated": True,
        "_notice": 'Older result, summarised. The rest: read_result(id="call-1", path="").',
    }
    assert prompt.shortened == 1
    assert "1 earlier message was shortened" in prompt.notice
    untouched = build_messages("system", thread)
    assert prompt.messages[4:] == untouched[4:]
    assert prompt.messages[:3] == untouched[:3]


def test_at_last_the_oldest_exchanges_are_folded_into_a_note():
    thread = [*history(*[[30]] * 200), Message(role="user", text="now?")]
    prompt = window(3_000).build("system", thread)
    assert "oldest messages of this conversation are left out" in prompt.messages[1].text
    assert prompt.messages[-1].text == "now?"
    assert prompt.messages[-2].text == thread[-2].text.strip() or len(prompt.messages) > 10
    assert prompt.tokens <= 2_500


def test_a_single_result_keeps_head_and_tail_with_a_notice():
    words = [f"w{n}" for n in range(60_000)]
    thread = history([1], last="results")
    thread[-1] = result_message(
        "call-1", "tool", {"summary": "s", "output": {"t": " ".join(words)}}
    )
    prompt = window(128_000).build("", thread)
    shown = data_of(prompt, "call-1")["output"]["t"]
    head, rest = shown.split(" […", 1)
    notice, tail = rest.split("…] ", 1)
    assert " ".join(words).startswith(head)
    assert " ".join(words).endswith(tail)
    ending = 'The rest: read_result(id="call-1", path="output/t").'
    assert notice.endswith(f"characters left out. {ending}")
    assert abs(len(head) - len(tail)) < 100
    assert len(head) > 4_500
    assert prompt.tokens <= RESULT_TOKENS + 100
    assert prompt.messages[-1].data == thread[-1].data  # programs still have it whole


def test_lists_keep_their_first_twenty_at_any_depth():
    thread = history([1], last="results")
    deep = {"summary": "s", "output": {"a": [{"b": list(range(21))}], "c": list(range(20))}}
    thread[-1] = result_message("call-1", "tool", deep)
    shown = data_of(window(32_000).build("", thread), "call-1")["output"]
    assert shown["c"] == list(range(20))
    assert shown["a"][0]["b"] == {
        "items": list(range(20)),
        "_total_count": 21,
        "_truncated": True,
        "_notice": 'The rest: read_result(id="call-1", path="output/a/0/b", offset=20).',
    }


def test_a_model_without_our_tools_is_not_told_of_one():
    thread = history([5_000], [5_000], last="results")
    for context in (6_000, 20_000):
        prompt = window(context, own_tools=False).build("", thread)
        assert "read_result" not in "".join(message.text for message in prompt.messages)


def test_many_small_parts_become_head_and_tail_of_the_json():
    thread = history([1], last="results")
    data = {"summary": "Counted.", "output": {f"cell {n}": n for n in range(20_000)}}
    thread[-1] = result_message("call-1", "tool", data)
    shown = data_of(window(32_000).build("", thread), "call-1")
    assert shown["summary"] == "Counted."
    assert shown["head"].startswith('{"summary": "Counted.", "output": {"cell 0": 0')
    assert shown["tail"].endswith('"cell 19999": 19999}}')
    assert 'read_result(id="call-1", path="")' in shown["_notice"]


def test_unanswered_results_that_are_too_long_together_share_the_room():
    thread = [Message(role="user", text="q"), step(*"abcdefgh")]
    thread += [result_message(item, "tool", result(1, 3_000)) for item in "abcdefg"]
    thread.append(result_message("h", "tool", result(1, 5)))
    prompt = window(8_000).build("system", thread)
    assert prompt.tokens <= 7_125
    assert data_of(prompt, "h") == result(1, 5)
    for item in "abcdefg":
        shown = data_of(prompt, item)
        assert "Older result" not in of(prompt, item)
        assert shown["summary"] == "Result 1 found."
        assert "characters left out" in shown["output"]["text"]


def test_a_question_that_cannot_fit_says_what_to_do():
    long = [Message(role="user", text=text(5_000))]
    with pytest.raises(ModelFailed, match=r"the model takes 4000.*shorter question"):
        window(4_000).build("system", long)
    schema = ToolSchema("t", text(5_000), {})
    with pytest.raises(ModelFailed, match="larger context"):
        window(4_000).build("system", [Message(role="user", text="q")], [schema])


def test_two_hundred_open_images_are_told_of_by_the_first_twenty_when_room_is_short():
    notes = [
        {"id": f"image-{n}", "path": f"/study/{n}.dcm", "kind": "dicom"} for n in range(1, 201)
    ]
    thread = [Message(role="user", text="q", images=notes)]
    assert "image-200: " in window(32_000).build("", thread).messages[1].text
    short = window(2_500).build("", thread).messages[1].text
    assert "image-20: " in short
    assert "image-21: " not in short
    assert "and 180 more, up to image-200" in short


def test_what_is_open_stays_known_when_the_question_it_came_with_is_folded():
    thread = history(*[[30]] * 200)
    images = [{"id": "image-1", "path": "/a.dcm"}]
    thread = [m.model_copy(update={"images": images}) if m.role == "user" else m for m in thread]
    thread.append(Message(role="user", text="now?", images=images))
    prompt = window(3_000).build("system", thread)
    assert any("/a.dcm" in m.text for m in prompt.messages)


def test_names_are_removed_before_anything_is_cut():
    thread = history([1, 1], last="results")
    name = "DOE^JANE"
    thread[2] = result_message(
        "call-1", "tool", {"summary": "s", "metadata": {"PatientName": name}}
    )
    report = " ".join(["Jane", "Doe"] * 20_000)
    thread[4] = result_message("call-2", "tool", {"summary": "s", "output": {"report": report}})
    for context in (4_000, 12_000, 40_000):
        prompt = window(context).build("", thread, redactor=Redactor(thread))
        shown = "".join(message.text for message in prompt.messages).lower()
        assert "jane" not in shown
        assert "doe" not in shown
        assert "jan" not in shown


# -- pictures ---------------------------------------------------------------------------------


def pictured(tmp_path: Path) -> list[Message]:
    pictures = [Picture(path=str(tmp_path / f"{n}.png"), caption=f"image-{n}") for n in range(3)]
    return [
        Message(role="user", text="one", pictures=[pictures[0], pictures[1]]),
        Message(role="assistant", text="a"),
        Message(role="user", text="two", pictures=[pictures[0], pictures[2]]),
    ]


def shown_pictures(prompt: Prompt) -> list[list[str]]:
    return [[item.caption for item in m.pictures] for m in prompt.messages if m.role == "user"]


def test_pictures_go_only_to_models_with_eyes_that_may_get_them(tmp_path: Path):
    thread = pictured(tmp_path)
    for info, allowed in (({"images": False}, True), ({"images": True}, False)):
        prompt = window(32_000, **info).build("system", thread, pictures=allowed)
        assert shown_pictures(prompt) == [[], []]
        assert prompt.messages[0].text == "system"


def test_each_picture_goes_once_where_it_was_shown_last(tmp_path: Path):
    prompt = window(32_000, images=True).build("system", pictured(tmp_path), pictures=True)
    assert shown_pictures(prompt) == [["image-1"], ["image-0", "image-2"]]
    assert "reduced copies" in prompt.messages[0].text


def test_older_pictures_give_way_those_of_the_question_do_not(tmp_path: Path):
    prompt = window(4_500, images=True).build("system", pictured(tmp_path), pictures=True)
    assert shown_pictures(prompt) == [[], ["image-0", "image-2"]]
    assert "left out here" in prompt.messages[1].text


def test_captions_are_cleaned_for_a_remote_model(tmp_path: Path):
    picture = Picture(path=str(tmp_path / "x.png"), caption="image-1: of Jane Doe, 1.2.840.1.2.3.4")
    thread = [Message(role="user", text="q", pictures=[picture])]
    redactor = Redactor(thread, ["DOE^JANE"])
    (cleaned,) = redactor.messages(thread)[0].pictures
    assert cleaned.caption == "image-1: of [removed], [removed]"
    assert cleaned.path == picture.path


# -- learning ---------------------------------------------------------------------------------


def test_the_endpoints_own_counts_correct_the_estimate():
    view = window(100_000)
    thread = history([400], [400])
    prompt = view.build("", thread)
    counted = round(prompt.estimate * 1.4)
    view.learn(prompt, counted)
    assert abs(view.build("", thread).tokens - counted) <= 1


@pytest.mark.parametrize(("counted", "factor"), [(10**9, 2.5), (1, 0.6), (0, 1.0), (-5, 1.0)])
def test_a_nonsensical_count_does_bounded_harm(counted: int, factor: float):
    view = window(100_000)
    prompt = view.build("", history([400]))
    view.learn(prompt, counted)
    assert view.build("", history([400])).tokens == round(prompt.estimate * factor)


def test_one_low_count_is_no_reason_to_send_more():
    view = window(100_000)
    prompt = view.build("", history([400]))
    for ratio in (1.2, 0.7, 1.2):
        view.learn(prompt, round(prompt.estimate * ratio))
    assert view.build("", history([400])).tokens == pytest.approx(prompt.estimate * 1.2, rel=0.01)


SLOW = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much]

# -- what holds for every thread --------------------------------------------------------------

LONG = 10_000  # integers from here on stand for texts of so many more words: short to print
LEAVES = (
    st.none() | st.booleans() | st.integers(-9999, 9999) | st.text(max_size=30)
    | st.integers(LONG, LONG + 3000)
)  # fmt: skip


def nested(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    parts = st.dictionaries(st.text(max_size=12), inner, max_size=5)
    return inner | parts | st.lists(inner, max_size=6) | st.lists(inner, min_size=21, max_size=24)


VALUES = nested(nested(LEAVES))
OUTPUTS = st.dictionaries(st.text(max_size=10), VALUES, max_size=4)
EXCHANGES = st.lists(
    st.tuples(
        st.sampled_from([3, 30, 300]),  # words of the question
        st.integers(1, 3),  # the image that is open
        st.lists(st.lists(OUTPUTS, min_size=1, max_size=3), max_size=3),  # steps, their calls
        st.integers(1, 400),  # words of the answer
    ),
    min_size=1,
    max_size=5,
)


def expanded(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: expanded(item) for key, item in value.items()}
    if isinstance(value, list):
        return [expanded(item) for item in value]
    if isinstance(value, int) and value >= LONG:
        return text(value - LONG)
    return value


def thread_of(exchanges: Sequence[Any], cut: int) -> list[Message]:
    """The thread; its last `cut` messages did not come about."""
    made: list[Message] = []
    number = 0
    for question, image, steps, answer in exchanges:
        images = [{"id": f"image-{image}", "path": ""}]
        made.append(Message(role="user", text=text(question, image), images=images))
        for outputs in steps:
            ids = [f"c{number + n}" for n in range(len(outputs))]
            number += len(ids)
            made.append(step(*ids))
            for item, output in zip(ids, outputs, strict=True):
                data = {"summary": f"Did {item}.", "output": expanded(output), "metadata": {}}
                made.append(result_message(item, "tool", data))
        made.append(Message(role="assistant", text=text(answer)))
    return made[: max(1, len(made) - cut)]


@pytest.mark.slow
@settings(max_examples=60, deadline=None, suppress_health_check=SLOW)
@given(EXCHANGES, st.integers(0, 3), st.sampled_from([3_000, 6_000, 12_000, 60_000]))
def test_it_fits_is_valid_and_leaves_the_question_and_the_last_results(
    exchanges: Sequence[Any], cut: int, context: int
):
    thread = thread_of(exchanges, cut)
    view = window(context)
    try:
        prompt = view.build("system", thread)
    except ModelFailed:
        assert context <= 6_000  # what must stay can be larger than the smallest windows only
        return
    assert prompt.tokens <= view.room
    assert_valid(prompt.messages)
    for message in prompt.messages:
        if message.role == "tool":
            json.loads(message.text.removeprefix("<data>\n").removesuffix("\n</data>"))
    asked = next(message for message in reversed(thread) if message.role == "user")
    assert asked.text in [message.text for message in prompt.messages if message.role == "user"]
    for message in pending(thread):
        assert "Older result" not in of(prompt, message.call_id)
    assert view.build("system", thread) == prompt
    assert window(context).build("system", thread) == prompt


@pytest.mark.slow
@settings(max_examples=30, deadline=None, suppress_health_check=SLOW)
@given(EXCHANGES)
def test_results_within_the_limit_are_untouched_while_all_of_it_fits(exchanges: Sequence[Any]):
    thread = thread_of(exchanges, 0)
    prompt = window(10_000_000).build("system", thread)
    assert prompt.shortened == 0
    whole = build_messages("system", thread)
    for mine, original in zip(prompt.messages, whole, strict=True):
        if mine.role != "tool" or not _over(original.data):
            assert mine == original


@settings(max_examples=50, deadline=None, suppress_health_check=SLOW)
@given(OUTPUTS, st.sampled_from([3_000, 12_000]))
def test_what_was_shortened_once_is_not_shortened_again(output: dict[str, Any], context: int):
    data = {"summary": "s", "output": expanded(output)}

    def shown(content: dict[str, Any]) -> dict[str, Any]:
        call = result_message("a", "tool", content)
        thread = [Message(role="user", text="q"), step("a"), call]
        return data_of(window(context).build("", thread), "a")

    once = shown(data)
    assert shown(once) == once


def _over(data: dict[str, Any]) -> bool:
    # A byte of UTF-8 takes one token at most.
    return len(json.dumps(data, ensure_ascii=False).encode()) > 9_000 or _long_list(data)


def _long_list(value: Any) -> bool:
    if isinstance(value, dict):
        return any(_long_list(item) for item in value.values())
    return isinstance(value, list) and (len(value) > 20 or any(_long_list(v) for v in value))


def pending(thread: Sequence[Message]) -> list[Message]:
    last: list[Message] = []
    for message in reversed(thread):
        if message.role != "tool":
            break
        last.append(message)
    return last


def assert_valid(messages: Sequence[Message]) -> None:
    """One system message, and every call with its result right behind it, once."""
    assert [m.role for m in messages].count("system") == 1
    waiting: list[str] = []
    for message in messages:
        if message.role == "tool":
            assert waiting
            assert message.call_id == waiting.pop(0)
        else:
            assert waiting == []
            waiting = [call.id for call in message.tool_calls]
    assert waiting == []


# -- the beginning that requests share --------------------------------------------------------


@pytest.mark.parametrize(("context", "words"), [(8_192, 100), (32_768, 400), (131_072, 9_000)])
def test_the_beginning_of_the_request_stays_the_same_for_most_steps(context: int, words: int):
    made = window(context, context // 8)
    thread, before, changed = [Message(role="user", text="q")], list[Message](), 0
    for number in range(60):
        called = ToolCall(id=str(number), name="t", arguments={"n": number})
        thread.append(Message(role="assistant", text="ok", tool_calls=[called]))
        data = {"summary": f"r{number}", "output": {"text": text(words)}}
        thread.append(result_message(str(number), "t", data))
        prompt = made.build("system", thread)
        made.learn(prompt, round(prompt.estimate * (1.11 + 0.03 * (number % 2))))
        assert prompt.tokens <= made.room
        changed += prompt.messages[: len(before)] != before
        before = prompt.messages
    assert changed <= 60 // 3
