"""Instances as tables: nothing is lost on the way, and nothing that comes back is believed."""

from __future__ import annotations

import random
import zlib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.errors import FileProblem
from app.imaging.dicom.dicom_file import IndexFile, be_quiet
from app.imaging.reading.image_entries import read_instances
from app.imaging.studies import tables
from app.imaging.studies.answers import PROBLEM, read_answers, to_message
from app.imaging.studies.shared_texts import SharedTexts
from app.imaging.studies.tables import TableError, TableReader, from_bytes, table_of, to_bytes
from app.imaging.types import Content, Instance
from tests.conformance.files import sources


def through(instances: list[Instance]) -> list[Instance]:
    """Instances after a table's way to another process."""
    rows = TableReader().rows(from_bytes(to_bytes(table_of(instances))))
    return [Instance(one.path, *row) for one, row in zip(instances, rows, strict=True)]


def a_slice(number: int, **attributes: str) -> Instance:
    texts = {
        "PatientName": "".join(["Doe^", "Jane"]),
        "SeriesInstanceUID": "1.2",
        "InstanceNumber": str(number),
    }
    return Instance(
        Path(f"/a/{number}"), f"1.{number}", "dicom", 4, 5, 1, number, texts | attributes
    )


def test_the_headers_of_all_collections_come_through_a_table_as_they_were():
    be_quiet()
    found: list[Instance] = []
    for path in (path for one in sources() for path in one.files):
        try:
            found += read_instances(path)
        except (FileProblem, IndexFile):
            continue
    assert len(found) > 100
    assert len({one.content for one in found}) > 3
    for size in (len(found), 7, 1):
        pieces = [found[at : at + size] for at in range(0, len(found), size)]
        assert [one for piece in pieces for one in through(piece)] == found
    again = through(through(found))
    assert again == found
    assert [list(one.attributes) for one in again] == [list(one.attributes) for one in found]


TEXTS = st.text(max_size=8)
NUMBERS = st.integers(-(2**63), 2**63 - 1)
INSTANCES = st.builds(
    Instance,
    st.just(Path("/a")),
    TEXTS,
    TEXTS,
    NUMBERS,
    NUMBERS,
    NUMBERS,
    NUMBERS,
    st.dictionaries(st.sampled_from(["a", "b", "SeriesInstanceUID", "$"]), TEXTS),
    st.none() | st.floats(allow_nan=False),
    NUMBERS,
    NUMBERS,
    st.sampled_from(Content),
    NUMBERS,
    st.lists(TEXTS, max_size=2).map(tuple),
    TEXTS,
    st.lists(st.floats(allow_nan=False), max_size=2).map(tuple),
)


@given(st.lists(INSTANCES, max_size=12))
@settings(max_examples=300)
def test_any_instances_come_through_a_table_as_they_were(instances: list[Instance]):
    assert through(instances) == instances


def test_equal_texts_of_a_series_are_held_once():
    reader = TableReader()
    first, second = (
        reader.rows(from_bytes(to_bytes(table_of([a_slice(n), a_slice(n + 1)])))) for n in (1, 3)
    )
    texts: list[Any] = [row[tables._ATTRIBUTES_AT] for row in (*first, *second)]
    assert [dict(one) for one in texts] == [dict(a_slice(n).attributes) for n in (1, 2, 3, 4)]
    assert all(isinstance(one, SharedTexts) for one in texts)
    assert len({id(one.layout) for one in texts}) == 1
    assert len({id(one.get("PatientName")) for one in texts}) == 1
    assert texts[0] == a_slice(1).attributes != texts[1]
    assert texts[0] != texts[1]
    assert "Modality" not in texts[0]
    assert texts[0].get("Modality") is None
    with pytest.raises(KeyError):
        texts[0]["Modality"]


def test_a_few_distinct_values_are_told_by_their_places():
    table = table_of([a_slice(n, Modality=("CT", "MR")[n % 2]) for n in range(8)])
    (group,) = table["groups"]
    columns = dict(zip(group["keys"], group["texts"], strict=True))
    assert columns["PatientName"] == ["Doe^Jane"]
    assert columns["Modality"] == {"of": ["CT", "MR"], "at": [0, 1] * 4}
    assert columns["InstanceNumber"] == {"all": [str(n) for n in range(8)]}


WRONG: list[Any] = [
    None, [], 3, "x", {}, {"rows": 1, "groups": []}, {"rows": 1, "groups": [{}]},
    {"rows": 1, "groups": [{"at": [0], "fields": [], "keys": [], "texts": []}]},
]  # fmt: skip


@pytest.mark.parametrize("message", WRONG, ids=str)
def test_what_is_no_table_is_refused(message: Any):
    with pytest.raises(TableError):
        TableReader().rows(message)


def test_a_value_of_another_type_is_refused():
    for place in range(14):
        table = table_of([a_slice(1), a_slice(2)])
        table["groups"][0]["fields"][place] = [{"not": "this"}]
        with pytest.raises(TableError):
            TableReader().rows(table)
    table = table_of([a_slice(1), a_slice(2)])
    table["groups"][0]["texts"][0] = [7]
    with pytest.raises(TableError):
        TableReader().rows(table)


def test_a_message_that_unfolds_to_more_than_a_table_ever_is_is_refused(
    monkeypatch: pytest.MonkeyPatch,
):
    monkeypatch.setattr(tables, "MAX_BYTES", 10_000)
    assert from_bytes(to_bytes("x" * 9_000)) == "x" * 9_000
    with pytest.raises(TableError):
        from_bytes(zlib.compress(b'"' + b"x" * 10**7 + b'"'))
    with pytest.raises(TableError):
        from_bytes(to_bytes([1, 2, 3])[:-3])


def test_damaged_answers_are_refused_or_still_answers():
    """Never another error, whatever byte is wrong."""
    made = to_message([1, PROBLEM, 2], [a_slice(n) for n in (1, 2, 3)], {"1": ["why", "how"]})
    text = zlib.decompress(to_bytes(made))
    chance = random.Random(4)
    refused = 0
    for _ in range(2000):
        damaged = bytearray(text)
        for _ in range(chance.randint(1, 3)):
            damaged[chance.randrange(len(damaged))] = chance.choice(b'0123456789[]{},:"x')
        try:
            answers = read_answers(zlib.compress(damaged), TableReader())
        except TableError:
            refused += 1
            continue
        for place in range(len(answers.kinds)):
            for one in answers.instances(place, Path("/a")):
                assert isinstance(one.sop_instance_uid, str)
                assert all(isinstance(text, str) for text in one.attributes.values())
    assert refused > 500
