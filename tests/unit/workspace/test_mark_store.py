"""The database of kept marks: whole, damaged, locked, full, read by two, killed while writing."""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys
import tempfile
import zlib
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from app.errors import FileProblem
from app.imaging.findings import (
    Box,
    Code,
    Ellipse,
    Finding,
    Geometry,
    Heatmap,
    Instances,
    Mask,
    Measurement,
    Point,
    Polygon,
    Polyline,
    Provenance,
    Segments,
    State,
)
from app.imaging.reports.report_draft import figures_of
from app.imaging.space.planes import FramePlane
from app.imaging.types import ImageRef
from app.workspace import mark_store
from app.workspace.annotations import Annotation
from app.workspace.mark_store import MarkStore


def mark(number: int, geometry: Geometry | None = None, image: str = "1.2") -> Annotation:
    """An annotation with every field set."""
    made = Finding(
        id=f"mark-{number}",
        image=ImageRef(image, 3, "sha"),
        geometry=geometry or Box(0.5, 1.5, 10.25, 20.125),
        label="Länge “α”",
        score=0.1,
        units="mm (patient)",
        provenance=Provenance("ruler", "1", "m", "s", "r", "c", "2026-11-12T10:00:00+00:00"),
        value=1 / 3,
        description="d",
        group="g",
        rests_on=("Left Lung",),
        measurements=(Measurement("Area", 2.5, "mm²", "patient"),),
        state=State.EDITED,
        reviewer="Dr. Roe",
        reviewed="2026-11-12T10:00:00+00:00",
        code=Code("39607008", "SCT", "Lung"),
        plane=FramePlane((1.0, 2.0, 3.0), (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.5, 0.25), "1.9"),
    )
    return Annotation(replace(made, original=replace(made, state=State.PROPOSED)), 4, False)


RNG = np.random.default_rng(1)
GEOMETRIES: list[Geometry] = [
    Point(1.1, 2.2),
    Polyline(((0.1, 0.2), (3.0, 4.0))),
    Segments(((0.1, 0.2), (3.0, 4.0), (5.0, 6.0), (7.0, 8.0))),
    Polygon(((0.1, 0.2), (3.0, 4.0), (5.0, 6.0))),
    Box(0.5, 1.5, 2.5, 3.5),
    Ellipse(0.1, 1.2, 2.3, 3.4),
    Mask(RNG.random((13, 17)) > 0.5),
    Heatmap(RNG.random((5, 7)).astype(np.float32)),
    Instances(RNG.integers(0, 9, (13, 17)).astype(np.uint16)),
    Instances(RNG.integers(0, 99_999, (13, 17)).astype(np.uint32)),
]


@pytest.mark.parametrize("geometry", GEOMETRIES, ids=lambda one: type(one).__name__)
def test_a_mark_comes_back_as_it_was(tmp_path: Path, geometry: Geometry):
    store = MarkStore(tmp_path / "marks.sqlite")
    one = mark(1, geometry)
    store.save({"1": [one]}, ())
    (back,), unreadable = MarkStore(tmp_path / "marks.sqlite").load(["1.2"])
    assert unreadable == 0
    assert back.kept
    found, given = back.finding, one.finding
    assert isinstance(found.geometry, type(geometry))
    if isinstance(geometry, Mask) and isinstance(found.geometry, Mask):
        np.testing.assert_array_equal(found.geometry.pixels, geometry.pixels)
    elif isinstance(geometry, Heatmap) and isinstance(found.geometry, Heatmap):
        np.testing.assert_array_equal(found.geometry.values, geometry.values)
    elif isinstance(geometry, Instances) and isinstance(found.geometry, Instances):
        np.testing.assert_array_equal(found.geometry.labels, geometry.labels)
        assert found.geometry.labels.dtype == geometry.labels.dtype
    else:
        assert found.geometry == geometry
        assert replace(back, kept="") == one
    assert found.original is not None
    plain = {"geometry": Point(0, 0), "original": None}
    assert replace(found, **plain) == replace(given, **plain)  # type: ignore[arg-type]


@pytest.mark.skipif(sys.platform == "win32", reason="modes of files are POSIX")
def test_the_database_is_the_user_s_alone(tmp_path: Path):
    store = MarkStore(tmp_path / "marks.sqlite")
    store.save({"1": [mark(1)]}, ())
    assert {file.stat().st_mode & 0o077 for file in tmp_path.iterdir()} == {0}


def test_what_is_written_is_on_the_disk_before_the_call_returns(tmp_path: Path):
    """SQLite's documentation: with WAL, only synchronous=FULL (2) outlives a loss of power."""
    store = MarkStore(tmp_path / "marks.sqlite")
    store.save({"1": [mark(1)]}, ())
    assert store._read("PRAGMA synchronous") == [(2,)]
    assert store._read("PRAGMA journal_mode") == [("wal",)]


def test_what_is_removed_is_gone_and_a_changed_one_is_there_once(tmp_path: Path):
    store = MarkStore(tmp_path / "marks.sqlite")
    store.save({"1": [mark(1), mark(2), mark(3, image="1.3")]}, ())
    store.save({"1": [replace(mark(2), color=9)]}, ["mark-1"])
    assert store.images() == {"1.2": "1", "1.3": "1"}
    (two,), _ = store.load(["1.2"])
    assert (two.finding.id, two.color) == ("mark-2", 9)
    (study,) = store.studies()
    assert (study.study, study.marks, set(study.images)) == ("1", 2, {"1.2", "1.3"})


def test_marks_come_back_in_the_order_in_which_they_were_made(tmp_path: Path):
    store = MarkStore(tmp_path / "marks.sqlite")
    made = [mark(number, image=f"1.{number % 2}") for number in (5, 3, 9, 1, 7)]
    store.save({"1": made}, ())
    store.save({"1": [replace(made[-1], tint="#112233")]}, ())
    kept, _ = store.load(["1.0", "1.1"])
    assert [one.finding.id for one in kept] == [one.finding.id for one in made]


def test_a_purged_study_leaves_no_trace_in_the_file(tmp_path: Path):
    store = MarkStore(tmp_path / "marks.sqlite")
    store.save({"1.2.840.999": [mark(1)], "2": [mark(2, image="2.2")]}, ())
    store.purge(["1.2.840.999"])
    assert [one.study for one in store.studies()] == ["2"]
    for file in tmp_path.iterdir():
        assert b"1.2.840.999" not in file.read_bytes()


def test_two_programs_lose_nothing_of_each_other(tmp_path: Path):
    one, other = (MarkStore(tmp_path / "marks.sqlite") for _ in range(2))
    for number in range(20):
        one.save({"1": [mark(2 * number)]}, ())
        other.save({"1": [mark(2 * number + 1)]}, ())
    kept, _ = one.load(["1.2"])
    assert {item.finding.id for item in kept} == {f"mark-{number}" for number in range(40)}


@pytest.mark.parametrize("content", [b"", b"no database at all" * 100, os.urandom(8192)])
def test_a_broken_database_is_set_aside(tmp_path: Path, content: bytes):
    file = tmp_path / "marks.sqlite"
    file.write_bytes(content)
    store = MarkStore(file)
    store.save({"1": [mark(1)]}, ())
    assert len(store.load(["1.2"])[0]) == 1
    if content:
        assert (tmp_path / "marks.sqlite.broken1").read_bytes() == content
        assert "marks.sqlite.broken1" in store.problem


def test_damaged_pages_are_set_aside_and_nothing_is_overwritten(tmp_path: Path):
    file = tmp_path / "marks.sqlite"
    for round_ in (1, 2):
        store = MarkStore(file)
        store.save({"1": [mark(number) for number in range(60)]}, ())
        content = bytearray(file.read_bytes())
        content[4096:] = os.urandom(len(content) - 4096)
        file.write_bytes(content)
        assert MarkStore(file).load(["1.2"])[0] == []
        assert (tmp_path / f"marks.sqlite.broken{round_}").read_bytes() == content
    assert len(list(tmp_path.glob("*.broken?"))) == 2


def test_a_mark_without_a_place_is_unreadable(tmp_path: Path):
    store = MarkStore(tmp_path / "marks.sqlite")
    store.save({"1": [mark(1)]}, ())
    with sqlite3.connect(store.path) as database:
        (body,) = database.execute("SELECT body FROM marks").fetchone()
        message = json.loads(zlib.decompress(body))
        message["finding"]["geometry"] = None
        changed = zlib.compress(json.dumps(message).encode())
        database.execute("UPDATE marks SET body = ?", (changed,))
    assert store.load(["1.2"]) == ([], 1)


def test_a_program_that_holds_the_database_too_long_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(mark_store, "_BUSY_S", 0.05)
    store = MarkStore(tmp_path / "marks.sqlite")
    store.save({"1": [mark(1)]}, ())
    with closing(sqlite3.connect(store.path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(FileProblem, match="another program holds them") as caught:
            store.save({"1": [mark(2)]}, ())
        assert "saving is tried again" in caught.value.remedy
        other.execute("ROLLBACK")
    store.save({"1": [mark(2)]}, ())
    assert [one.finding.id for one in store.load(["1.2"])[0]] == ["mark-1", "mark-2"]


def test_a_damaged_row_leaves_the_others(tmp_path: Path):
    store = MarkStore(tmp_path / "marks.sqlite")
    store.save({"1": [mark(1), mark(2)]}, ())
    with sqlite3.connect(store.path) as database:
        database.execute("UPDATE marks SET body = x'00' WHERE id = 'mark-1'")
    kept, unreadable = store.load(["1.2"])
    assert [item.finding.id for item in kept] == ["mark-2"]
    assert unreadable == 1


def test_a_newer_database_is_not_touched(tmp_path: Path):
    store = MarkStore(tmp_path / "marks.sqlite")
    store.save({"1": [mark(1)]}, ())
    with sqlite3.connect(store.path) as database:
        database.execute("PRAGMA user_version = 99")
    with pytest.raises(FileProblem, match="newer version"):
        store.save({"1": [mark(2)]}, ())


def test_a_folder_that_is_not_there_is_told(tmp_path: Path):
    store = MarkStore(tmp_path / "none" / "marks.sqlite")
    with pytest.raises(FileProblem, match="may not be written") as caught:
        store.save({"1": [mark(1)]}, ())
    assert str(store.path) in caught.value.text


@pytest.fixture
def read_only(tmp_path: Path) -> Iterator[Path]:
    """A folder that may not be written to, by whoever runs the test: root becomes nobody."""
    if sys.platform == "win32":
        pytest.skip("modes of folders are POSIX")
    with tempfile.TemporaryDirectory(dir="/tmp") as name:  # others may enter it
        folder = Path(name) / "data"
        folder.mkdir()
        MarkStore(folder / "marks.sqlite").save({"1": [mark(1)]}, ())
        Path(name).chmod(0o755)
        (folder / "marks.sqlite").chmod(0o444)
        folder.chmod(0o555)
        was = os.geteuid()
        try:
            if was == 0:
                os.seteuid(65534)
            yield folder
        finally:
            os.seteuid(was)
            folder.chmod(0o755)


def test_a_read_only_folder_is_told_and_nothing_is_lost(read_only: Path):
    file = read_only / "marks.sqlite"
    before = file.read_bytes()
    store = MarkStore(file)
    for work in (lambda: store.save({"1": [mark(2)]}, ["mark-1"]), lambda: store.purge(["1"])):
        with pytest.raises(FileProblem, match="may not be written to") as caught:
            work()
        assert str(file) in caught.value.text
        assert "stay in this window" in caught.value.text
    assert [one.finding.id for one in store.load(["1.2"])[0]] == ["mark-1"], "they can be read"
    assert store.images() == {"1.2": "1"}
    assert file.read_bytes() == before
    assert [one.name for one in read_only.iterdir()] == ["marks.sqlite"], "nothing was set aside"
    with pytest.raises(FileProblem, match="may not be written to"):
        MarkStore(read_only / "new.sqlite").save({"1": [mark(2)]}, ())


def test_a_purge_takes_marks_that_were_saved_without_their_study(tmp_path: Path):
    store = MarkStore(tmp_path / "marks.sqlite")
    store.save({"1": [mark(1)], "": [mark(2), mark(3, image="9.9")]}, ())
    (kept, _nowhere) = sorted(store.studies(), key=lambda one: one.study, reverse=True)
    store.purge([kept.study], kept.images)
    assert store.load(["1.2"])[0] == []
    assert [one.finding.id for one in store.load(["9.9"])[0]] == ["mark-3"]


@pytest.mark.skipif(sys.platform == "win32", reason="limits of file sizes are POSIX")
def test_a_full_disk_is_told_and_what_was_kept_stays(tmp_path: Path):
    file = tmp_path / "marks.sqlite"
    MarkStore(file).save({"1": [mark(1)]}, ())
    code = f"""
import resource, signal
from pathlib import Path
from app.errors import FileProblem
from app.imaging.findings import Mask
from app.workspace.mark_store import MarkStore
from tests.unit.workspace.test_mark_store import mark
import numpy as np
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (60_000, 60_000))
large = Mask(np.random.default_rng(0).random((2000, 2000)) > 0.5)
try:
    MarkStore(Path({str(file)!r})).save({{"1": [mark(2, large)]}}, ())
except FileProblem as error:
    print(error.text)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "the disk is full or fails" in done.stdout
    kept, _ = MarkStore(file).load(["1.2"])
    assert [item.finding.id for item in kept] == ["mark-1"]


@pytest.mark.parametrize("geometry", GEOMETRIES, ids=lambda one: type(one).__name__)
def test_a_signature_holds_for_findings_that_come_back(tmp_path: Path, geometry: Geometry) -> None:
    value = np.float64(12.0)
    figures = (Measurement("Area", value, "mm²", "patient"), Measurement("Count", 3, "objects"))
    made = replace(mark(1, geometry).finding, value=12, measurements=figures)
    store = MarkStore(tmp_path / "marks.sqlite")
    store.save({"1": [replace(mark(1), finding=made)]}, ())
    [back] = store.load(["1.2"])[0]
    assert figures_of(back.finding) == figures_of(made)
    assert figures_of(replace(made, value=13)) != figures_of(made)
