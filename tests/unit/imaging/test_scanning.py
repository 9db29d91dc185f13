"""A scan: everything is found, told early, and can be stopped; a bad file harms only itself."""

from __future__ import annotations

import importlib
import shutil
from collections.abc import Callable
from concurrent.futures import CancelledError, Future
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest

from app.errors import Cancelled, WorkerDied
from app.imaging.decode import Decoder
from app.imaging.scanning import copies, listing, opened_paths, scan
from app.imaging.scanning.copies import CONTENT
from app.imaging.types import Instance, ScanResult
from app.workspace.studies import Studies
from tests.unit.imaging.files import make_dicom

pytestmark = pytest.mark.usefixtures("forked")


class Token:
    """A cancel token."""

    def __init__(self) -> None:
        self.cancelled = False
        self._callbacks: list[Callable[[], None]] = []

    def on_cancel(self, callback: Callable[[], None]) -> None:
        if self.cancelled:
            callback()
        self._callbacks.append(callback)

    def cancel(self) -> None:
        self.cancelled = True
        for callback in self._callbacks:
            callback()


def instances(result: ScanResult) -> list[Instance]:
    return [i for study in result.studies for series in study.series for i in series.instances]


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three studies of 100 images each, in folders."""
    folder = tmp_path_factory.mktemp("large")
    one = make_dicom(folder / "one.dcm", SOPInstanceUID="1.2.3.1000000")
    data = one.read_bytes()
    one.unlink()
    for study in range(3):
        (folder / f"study{study}").mkdir()
        for number in range(100):
            uid = f"1.2.3.1{study}{number:05}".encode()
            changed = data.replace(b"1.2.3.1000000", uid).replace(
                b"\x0d\x00UI\x06\x001.2.3\0", b"\x0d\x00UI\x06\x001.2.%d\0" % (study + 3)
            )
            assert len(changed) == len(data)
            (folder / f"study{study}" / f"{number}.dcm").write_bytes(changed)
    return folder


def test_studies_are_told_as_they_grow_and_the_last_word_has_them_all(
    decoder: Decoder, large: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(scan, "FOUND_EVERY_S", 0.0)
    monkeypatch.setattr(scan, "_GROUPING_SHARE", 0)
    told: list[ScanResult] = []
    result = decoder.scan([large], found=told.append).result(60)
    assert len(instances(result)) == 300
    assert len(result.studies) == 3
    sizes: dict[str, int] = {}
    for partial in told:
        assert partial.problems == ()
        listed = [series for study in partial.studies for series in study.series]
        assert {series.warnings for series in listed} == {(scan.UNFINISHED,)}, "no gap, but unread"
        for study in partial.studies:
            count = sum(len(series.instances) for series in study.series)
            assert count > sizes.get(study.key, 0), "told again without having grown"
            sizes[study.key] = count
    assert sizes == {study.key: 100 for study in result.studies}
    assert len(instances(told[0])) <= 32, "the first is told long before all is read"
    final = [series for study in result.studies for series in study.series]
    assert not [series for series in final if scan.UNFINISHED in series.warnings]


def test_progress_counts_up_to_all_files(decoder: Decoder, large: Path):
    seen: list[tuple[int, int]] = []
    decoder.scan([large], progress=lambda done, found: seen.append((done, found))).result(60)
    assert seen == sorted(seen)
    assert seen[-1] == (300, 300)
    assert all(done <= found for done, found in seen)


def test_a_scan_can_be_stopped_at_any_moment(decoder: Decoder, large: Path):
    for after in (0, 1, 50, 299):
        token = Token()

        def stop(done: int, _: int, after: int = after, token: Token = token) -> None:
            if done >= after:
                token.cancel()

        future = decoder.scan([large], token, stop)
        with pytest.raises((Cancelled, CancelledError)):
            future.result(60)
    assert len(instances(decoder.scan([large]).result(60))) == 300


def test_the_order_in_which_workers_answer_changes_nothing(large: Path):
    results: list[ScanResult] = []
    for workers in (1, 3):
        decoder = Decoder(workers)
        results.append(decoder.scan([large]).result(60))
        decoder.close()
    assert results[0] == results[1]


def test_copies_of_a_file_are_one_image_and_one_line(decoder: Decoder, tmp_path: Path):
    (tmp_path / "a").mkdir()
    for number in range(30):
        make_dicom(tmp_path / "a" / f"{number}.dcm", SOPInstanceUID=f"1.{number}")
    shutil.copytree(tmp_path / "a", tmp_path / "copy")
    result = decoder.scan([tmp_path]).result(60)
    assert sorted(i.path.parent.name for i in instances(result)) == ["a"] * 30
    (problem,) = result.problems
    assert problem.path == tmp_path / "copy"
    assert problem.reason == "30 of its files are copies of images that are listed"


def test_copies_are_told_the_same_in_whatever_order_they_were_read(
    decoder: Decoder, tmp_path: Path
):
    data = make_dicom(tmp_path / "0.dcm").read_bytes()
    for folder in "abc":
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "1.dcm").write_bytes(data)
    (instance,) = decoder.scan([tmp_path / "0.dcm"]).result(60).studies[0].series[0].instances
    paths = sorted(tmp_path.rglob("*.dcm"))
    read = [replace(instance, path=path) for path in paths]
    first, second = (copies.compare(decoder._pool, None, some) for some in (read, read[::-1]))
    assert first is not None
    assert second is not None
    assert first == second
    assert [problem.path for problem in first.problems] == paths[1:]


def test_a_single_copy_is_named_with_its_original(decoder: Decoder, tmp_path: Path):
    original = make_dicom(tmp_path / "a.dcm")
    shutil.copy(original, tmp_path / "b.dcm")
    result = decoder.scan([tmp_path]).result(60)
    assert [item.path for item in instances(result)] == [original]
    (problem,) = result.problems
    assert (problem.path.name, "a copy of a.dcm" in problem.reason) == ("b.dcm", True)


def test_images_that_differ_in_pixels_only_are_both_listed_whatever_their_uid(
    decoder: Decoder, tmp_path: Path
):
    """Same UID, size and header: only the content tells that one is not the other."""
    for name, value in (("a", 0), ("b", 1), ("c", 1)):
        pixels = np.full((4, 4), value, np.uint8)
        make_dicom(tmp_path / f"{name}.dcm", pixels, SOPInstanceUID="1.7")
        data = bytearray((tmp_path / f"{name}.dcm").read_bytes())
        start = data.index(b"\x02\x00\x03\x00UI")  # the file meta's own UID is random
        length = data[start + 6]
        data[start + 8 : start + 8 + length] = b"1" * length
        (tmp_path / f"{name}.dcm").write_bytes(bytes(data))
    sizes = {path.stat().st_size for path in tmp_path.iterdir()}
    assert len(sizes) == 1
    result = decoder.scan([tmp_path]).result(60)
    found = instances(result)
    assert sorted(item.path.name for item in found) == ["a.dcm", "b.dcm"]
    values = {decoder.frame(item).result(60).stored.max() for item in found}
    assert values == {0, 1}
    assert len({item.get(CONTENT) for item in found}) == 2
    reasons = {problem.path.name: problem.reason for problem in result.problems}
    assert "copy of b.dcm" in reasons.pop("c.dcm")
    assert len(reasons) == 1, "that two images share a UID is told once"


def test_what_is_open_already_is_compared_by_its_content_too(decoder: Decoder, tmp_path: Path):
    """Two openings of one UID and header: a copy is left out, other pixels never are."""
    (tmp_path / "z").mkdir()
    first = make_dicom(tmp_path / "z" / "first.dcm", np.zeros((4, 4), np.uint8))
    data = first.read_bytes()
    (tmp_path / "copy.dcm").write_bytes(data)
    (tmp_path / "other.dcm").write_bytes(data[:-16] + b"\7" * 16)
    studies = Studies()
    for _ in range(2):
        for name in ("z", "copy.dcm", "other.dcm"):
            told: list[ScanResult] = []
            where = [tmp_path / name]
            result = decoder.scan(where, None, None, told.append, studies.instances).result(60)
            for partial in (*told, result):
                studies.add(partial)
            reasons = [problem.reason for problem in result.problems]
            copied = ["it is a copy of first.dcm, which is listed"] if name == "copy.dcm" else []
            assert reasons == copied
    every = [item for part in studies.instances() for item in part]
    listed = sorted(every, key=lambda item: item.path.name)
    assert [item.path.name for item in listed] == ["first.dcm", "other.dcm"]
    assert [decoder.frame(item).result(60).stored.max() for item in listed] == [0, 7]


def test_paths_that_overlap_give_each_file_once(decoder: Decoder, large: Path):
    inside = large / "study1"
    result = decoder.scan([inside / "7.dcm", large, inside]).result(60)
    assert len(instances(result)) == 300
    assert result.problems == ()


class InlinePool:
    """Answers at once, in this process."""

    def submit(self, entry: str, payload: dict[str, Any], **_: Any) -> Future[dict[str, Any]]:
        module, name = entry.split(":")
        answer: Future[dict[str, Any]] = Future()
        answer.set_result(getattr(importlib.import_module(module), name)(payload))
        return answer


def test_a_folder_beyond_the_limit_is_read_as_far_as_it_goes_and_said_to_be_too_large(
    large: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(opened_paths, "MAX_FILES", 150)
    monkeypatch.setattr(listing.step, "__defaults__", (0.0,))  # a folder a step
    result = scan.Scan(cast(Any, InlinePool()), [large], None, None).start().result(60)
    assert len(instances(result)) == 200
    (problem,) = result.problems
    assert (problem.path, "too many files" in problem.reason) == (large / "study2", True)


def test_a_listing_that_dies_is_told_with_what_was_opened(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    class Dying(InlinePool):
        def submit(self, entry: str, payload: dict[str, Any], **_: Any) -> Future[dict[str, Any]]:
            answer: Future[dict[str, Any]] = Future()
            answer.set_exception(WorkerDied("the decoding process crashed"))
            return answer

    result = scan.Scan(cast(Any, Dying()), [tmp_path], None, None).start().result(60)
    (problem,) = result.problems
    assert (problem.path, "crashed" in problem.reason) == (tmp_path, True)


def test_a_path_whose_listing_dies_costs_only_that_path(tmp_path: Path):
    class Dying(InlinePool):
        def submit(self, entry: str, payload: dict[str, Any], **_: Any) -> Future[dict[str, Any]]:
            if all("bad" not in str(task) for task in payload.get("todo", ())):
                return super().submit(entry, payload)
            answer: Future[dict[str, Any]] = Future()
            answer.set_exception(WorkerDied("the decoding process crashed"))
            return answer

    bad, good = tmp_path / "bad", make_dicom(tmp_path / "good.dcm")
    result = scan.Scan(cast(Any, Dying()), [bad, good], None, None).start().result(60)
    assert [instance.path for instance in instances(result)] == [good]
    assert [problem.path for problem in result.problems] == [bad]


@pytest.mark.parametrize(
    "wrong",
    [
        {"counts": "text"},
        {"counts": [-2], "problems": {}, "table": {"texts": [], "keys": [], "rows": []}},
        {"counts": [10**12]},
        {"table": None},
        {"table": {"texts": [], "keys": [], "rows": [[0, [], 1]]}},
        {"mark": "no number"},
        {"archives": [[1]]},
    ],
    ids=lambda wrong: next(iter(wrong)),
)
def test_a_worker_that_answers_nonsense_is_not_believed(
    decoder: Decoder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, wrong: dict[str, Any]
):
    """A file may have taken it over: each file is asked for by itself, and the bad one is told."""
    for name in ("a", "bad", "c"):
        make_dicom(tmp_path / f"{name}.dcm", SOPInstanceUID=f"1.{ord(name[0])}")
    submit = decoder._pool.submit

    def lying(entry: str, payload: dict[str, Any], **options: Any) -> Future[dict[str, Any]]:
        reply = submit(entry, payload, **options)
        if entry.endswith("headers_entry") and any("bad" in path for path in payload["paths"]):
            changed: Future[dict[str, Any]] = Future()
            changed.set_result({**reply.result(60), **wrong})
            return changed
        return reply

    monkeypatch.setattr(decoder._pool, "submit", lying)
    result = decoder.scan([tmp_path]).result(60)
    assert sorted(one.path.name for one in instances(result)) == ["a.dcm", "c.dcm"]
    (problem,) = result.problems
    assert problem.path.name == "bad.dcm"
    assert "broken answer" in problem.reason
