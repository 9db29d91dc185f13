"""Damaged arguments are undone exactly or refused: no repair ever gives another value."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.agent.llm.repair import parse_arguments

_LOOKALIKES = "\"'{}[]:,\\/#*“”‘’\n\t a1"
# Marks that structure JSON and its look-alikes are frequent, so that strings look like JSON.
_texts = st.text(
    st.one_of(st.sampled_from(_LOOKALIKES), st.characters(exclude_categories=["Cs"])),
    max_size=12,
)
_values = st.recursive(
    st.one_of(
        st.none(),
        st.booleans(),
        st.integers(),
        st.floats(allow_nan=False, allow_infinity=False),
        _texts,
    ),
    lambda inner: st.one_of(
        st.lists(inner, max_size=4), st.dictionaries(_texts, inner, max_size=4)
    ),
    max_leaves=8,
)
_objects = st.dictionaries(_texts, _values, max_size=4)

unhurried = settings(deadline=None, max_examples=60)


def same(one: Any, other: Any) -> bool:
    """Equal as JSON: 1, 1.0 and True are three values."""
    return json.dumps(one) == json.dumps(other)


def undone_or_refused(text: str, original: dict[str, Any], *, complete: bool = True) -> bool:
    found = parse_arguments(text, complete=complete)
    return found is None or same(found, original)


@unhurried
@given(_objects, st.booleans(), st.booleans(), st.sampled_from([None, 2]))
def test_any_json_object_survives_unchanged(
    value: dict[str, Any], complete: bool, ascii_only: bool, indent: int | None
):
    text = json.dumps(value, ensure_ascii=ascii_only, indent=indent)
    assert same(parse_arguments(text, complete=complete), value)


@unhurried
@given(_objects)
def test_a_code_fence_is_taken_off(value: dict[str, Any]):
    for info in ("", "json"):
        assert same(parse_arguments(f"```{info}\n{json.dumps(value)}\n```\n"), value)


@unhurried
@given(_objects)
def test_packed_into_a_json_string_it_is_unpacked(value: dict[str, Any]):
    packed = json.dumps(json.dumps(value))
    assert same(parse_arguments(packed), value)
    assert same(parse_arguments(json.dumps(packed)), value)


@unhurried
@given(_objects)
def test_what_python_would_write_is_read_or_refused(value: dict[str, Any]):
    assert undone_or_refused(repr(value), value)


def _with_extras(value: Any, before_closer: str, after: str) -> str:
    """JSON with something before each closer and after each separator."""
    if isinstance(value, dict):
        pairs = [
            f"{json.dumps(key)}{after}: {_with_extras(item, before_closer, after)}"
            for key, item in value.items()
        ]
        return "{" + f",{after}".join(pairs) + (before_closer if pairs else "") + "}"
    if isinstance(value, list):
        items = [_with_extras(item, before_closer, after) for item in value]
        return "[" + f",{after}".join(items) + (before_closer if items else "") + "]"
    return json.dumps(value)


@unhurried
@given(_objects, st.booleans())
def test_trailing_commas_and_comments_are_dropped(value: dict[str, Any], complete: bool):
    text = _with_extras(value, ",", "")
    assert same(parse_arguments(text, complete=complete), value)
    text = _with_extras(value, " ,\n", ' /* a "note", */ // and {another}\n')
    assert same(parse_arguments(text, complete=complete), value)


@unhurried
@given(_objects)
def test_raw_line_ends_and_tabs_in_strings_stay(value: dict[str, Any]):
    text = json.dumps(value).replace("\\\\", "\x00").replace("\\n", "\n").replace("\\t", "\t")
    assert same(parse_arguments(text.replace("\x00", "\\\\")), value)


_plain = st.text(
    st.characters(exclude_characters="\"'“”‘’\\", exclude_categories=["C"]), max_size=8
)


@unhurried
@given(st.dictionaries(_plain, st.one_of(_plain, st.integers(), st.none()), max_size=4))
def test_typographic_quotes_delimit(value: dict[str, Any]):
    for opener, closer in ("“”", "‘’", "''"):
        pieces = json.dumps(value, ensure_ascii=False).split('"')
        text = "".join(
            piece + (("", opener, closer)[1 + number % 2] if number < len(pieces) - 1 else "")
            for number, piece in enumerate(pieces)
        )
        assert same(parse_arguments(text), value)


@unhurried
@given(_objects, st.integers(1, 6))
def test_missing_closers_are_added_or_the_text_is_refused(value: dict[str, Any], count: int):
    text = json.dumps(value)
    closers = len(text) - len(text.rstrip("]}"))
    cut = text[: len(text) - min(count, closers)]
    assert undone_or_refused(cut, value)
    assert parse_arguments(cut, complete=False) is None


@unhurried
@given(_objects.filter(bool), st.data())
def test_an_answer_cut_at_its_length_limit_gives_nothing(value: dict[str, Any], data: Any):
    for text in (json.dumps(value), repr(value), _with_extras(value, ",", " /* x */ ")):
        end = data.draw(st.integers(0, len(text) - 1))
        assert parse_arguments(text[:end], complete=False) is None


@unhurried
@given(_objects, st.data())
def test_a_cut_never_shortens_a_value(value: dict[str, Any], data: Any):
    """Where the answer claims to be whole, what is read is a beginning of what was meant."""
    text = json.dumps(value)
    found = parse_arguments(text[: data.draw(st.integers(1, len(text)))])
    assert found is None or _begins(found, value)


def _begins(part: Any, whole: Any) -> bool:
    """Whether only last members are missing, all others being as they were."""
    if isinstance(part, dict) and isinstance(whole, dict):
        keys = list(part)
        return keys == list(whole)[: len(keys)] and all(
            _begins(part[key], whole[key]) if key == keys[-1] else same(part[key], whole[key])
            for key in keys
        )
    if isinstance(part, list) and isinstance(whole, list):
        return all(map(same, part[:-1], whole)) and (
            not part or (len(part) <= len(whole) and _begins(part[-1], whole[len(part) - 1]))
        )
    return same(part, whole)


@unhurried
@given(_objects, _texts.filter(lambda text: text.strip(" \n\t") != ""))
def test_prose_around_the_object_is_refused_or_no_part_of_it(value: dict[str, Any], prose: str):
    for text in (json.dumps(value) + prose, prose + json.dumps(value)):
        assert undone_or_refused(text, value)


@unhurried
@given(st.text(max_size=60))
def test_no_text_breaks_it(text: str):
    found = parse_arguments(text)
    assert found is None or json.loads(json.dumps(found)) == found


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("", {}),
        ("  \n", {}),
        ('{"organs": ["heart"', {"organs": ["heart"]}),
        ('{"deep": {"yes": true', {"deep": {"yes": True}}),
        ("{'path': 'image-1', 'show': True, 'title': None}",
         {"path": "image-1", "show": True, "title": None}),
        ("{'say': \"it's\"}", {"say": "it's"}),
        ('{"say": "it\\\'s",}', {"say": "it's"}),
        ("{path: 'image-1'}", {"path": "image-1"}),
        ("“{}”", {}),
        ('{"a": 1, "a": 1}', {"a": 1}),
        ("```json\n{'a': 1,}\n```", {"a": 1}),
        ('"{\'a\': 1}"', {"a": 1}),
    ],
)  # fmt: skip
def test_read(text: str, value: dict[str, Any]):
    assert parse_arguments(text) == value


@pytest.mark.parametrize(
    "text",
    [
        '{"width": 40',  # of 400?
        '{"width": 40, ',
        '{"width": ',
        '{"width"',
        '{"organs": [',
        "{",
        '{"title": "over',
        '{"show": tru',
        '{"a": "x" // note, "b": 1}',  # a comment that took the line end, and more, with it
        '{"a": NaN}',
        '{"a": Infinity}',
        '{"a": 1e999}',
        '{"a": 1, "a": 2}',
        '{"a": 1, "a": true}',
        "{'a': 1, 'a': 1.0}",
        '{"a": 1} and now',
        'Sure: {"a": 1}',
        '{"a": 1}{"a": 1}',
        "[1]",
        '"text"',
        "7",
        "null",
        "{'path': 'C:\\x86'}",
        '{"path": "C:\\path",}',
        "{'say': 'it's'}",
        "{'a': 'b' 'c'}",
        "{'a': 007}",
        "{'a': 1_000}",
        "{'a': (1, 2)}",
        "{'a': b'c'}",
        "{True: 1}",
        "{1: 2}",
        '{"a": "\\ud800"}',
        "{,}",
        '{"a": [1,,2]}',
        '{"a" 1}',
        '{"a": 1 "b": 2}',
        "[" * 100_000,
        '{"a":' * 100_000,
        "{'a': " + "9" * 5_000 + "}",
    ],
)
def test_refused(text: str):
    assert parse_arguments(text) is None
