"""Instances as tables: nothing is lost on the way, and nothing that comes back is believed."""

from __future__ import annotations

import json
import random
import zlib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.errors import FileProblem
from app.imaging.dicom.dicom_file import IndexFile, silence_pydicom
from app.imaging.reading.image_entries import read_instances
from app.imaging.studies.instance_lists import (
    SharedTexts,
    TableError,
    TableReader,
    instance_table,
    pack_block,
    unpack_block,
)
from app.imaging.types import Content, Instance
from tests.conformance.files import sources


def through(instances: list[Instance]) -> list[Instance]:
    """Instances after a table's way to another process."""
    table = json.loads(json.dumps(instance_table(instances)))
    return TableReader().instances(table, [one.path for one in instances])


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
    silence_pydicom()
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
    st.dictionaries(TEXTS, st.none(), max_size=2),
    TEXTS,
    st.lists(st.floats(allow_nan=False), max_size=2).map(tuple),
)


@given(st.lists(INSTANCES, max_size=12))
@settings(max_examples=100)
def test_any_instances_come_through_a_table_as_they_were(instances: list[Instance]):
    assert through(instances) == instances


def test_equal_texts_of_a_series_are_held_once():
    reader = TableReader()
    made: list[Instance] = []
    for number in (1, 3):
        own = [a_slice(number), a_slice(number + 1)]
        made += unpack_block(pack_block(own), reader)
    texts: list[Any] = [one.attributes for one in made]
    assert [dict(one) for one in texts] == [dict(a_slice(n).attributes) for n in (1, 2, 3, 4)]
    assert all(isinstance(one, SharedTexts) for one in texts)
    assert len({id(one._places) for one in texts}) == 1
    assert len({id(one.get("PatientName")) for one in texts}) == 1
    assert texts[0] == a_slice(1).attributes != texts[1]
    assert texts[0] != texts[1]
    assert "Modality" not in texts[0]
    assert texts[0].get("Modality") is None
    with pytest.raises(KeyError):
        texts[0]["Modality"]


def test_texts_that_occur_more_than_once_are_written_once():
    table = instance_table([a_slice(n, Modality=("CT", "MR")[n % 2]) for n in range(8)])
    assert sorted(table["texts"]) == ["1.2", "CT", "Doe^Jane", "MR"]
    assert len(table["keys"]) == 1


WRONG: list[Any] = [
    None, [], 3, "x", {}, {"texts": [], "keys": [], "rows": []},
    {"texts": [], "keys": [], "rows": [[]]}, {"texts": [1], "keys": [], "rows": []},
]  # fmt: skip


@pytest.mark.parametrize("message", WRONG, ids=str)
def test_what_is_no_table_is_refused(message: Any):
    with pytest.raises(TableError):
        TableReader().instances(message, [Path("/a")])


def test_a_value_of_another_type_is_refused():
    for place in range(17):
        table = instance_table([a_slice(1), a_slice(2)])
        table["rows"][0][place] = {"not": "this"}
        with pytest.raises(TableError):
            TableReader().instances(table, [Path("/a"), Path("/b")])
    for wrong in (None, 1.5, ["x"], 99):
        table = instance_table([a_slice(1), a_slice(2)])
        table["rows"][0][1][0] = wrong
        with pytest.raises(TableError):
            TableReader().instances(table, [Path("/a"), Path("/b")])


def test_a_damaged_block_is_refused_or_still_instances():
    """Never another error, whatever byte is wrong."""
    text = zlib.decompress(pack_block([a_slice(n) for n in (1, 2, 3)]))
    chance = random.Random(4)
    refused = 0
    for _ in range(2000):
        damaged = bytearray(text)
        for _ in range(chance.randint(1, 3)):
            damaged[chance.randrange(len(damaged))] = chance.choice(b'0123456789[]{},:"x')
        try:
            found = unpack_block(zlib.compress(damaged), TableReader())
        except TableError:
            refused += 1
            continue
        for one in found:
            assert isinstance(one.sop_instance_uid, str)
            assert all(isinstance(text, str) for text in one.attributes.values())
    assert refused > 500
