"""A folder that is as it was opens at once, with the same result, and hardly anything is made."""

from __future__ import annotations

import os
import random
import shutil
import subprocess
import sys
import zipfile
import zlib
from collections.abc import Callable, Iterator
from concurrent.futures import CancelledError, ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from app.errors import Cancelled
from app.imaging.decode import Decoder
from app.imaging.scanning import listing, opened_paths
from app.imaging.scanning.scan import Index
from app.imaging.scanning.snapshots import pack_result, restore
from app.imaging.studies.catalogue import group
from app.imaging.studies.instance_lists import (
    PER_BLOCK,
    StoredInstances,
    TableError,
    frame_count,
    frame_ends,
    instances_with_uids_of,
)
from app.imaging.types import Instance, ScanResult
from app.views.wording import amount
from app.workspace.studies import Studies, StudyUids, key_of
from app.workspace.workspace import Workspace
from tests.conformance.files import sources
from tests.unit.imaging.files import make_dicom
from tests.unit.imaging.test_scanning import Token

pytestmark = pytest.mark.usefixtures("forked")

LONG_AGO_NS = 10**18
SLICES = 3 * PER_BLOCK


def settled(path: Path, when_ns: int = LONG_AGO_NS) -> Path:
    os.utime(path, ns=(when_ns, when_ns))
    return path


def make_folder(made: Path, count: int = 4) -> Path:
    """Two folders with images, a text and an empty file."""
    for study in ("a", "b"):
        (made / study).mkdir(parents=True)
        for number in range(count):
            uid = f"1.{ord(study)}.{number}"
            own: dict[str, Any] = {
                "StudyInstanceUID": f"2.{ord(study)}",
                "SeriesInstanceUID": f"3.{ord(study)}",
            }
            file = make_dicom(
                made / study / f"{number}.dcm",
                SOPInstanceUID=uid,
                InstanceNumber=number + 1,
                PatientID=study,
                **own,
            )
            settled(file)
    (made / "notes.txt").write_text("hello", encoding="utf-8")
    settled(made / "notes.txt")
    (made / "empty.dcm").touch()
    settled(made / "empty.dcm")
    return made


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return make_folder(tmp_path / "images")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "cache" / "index"


@pytest.fixture(scope="module")
def remembering() -> Iterator[Decoder]:
    made = Decoder(2)
    yield made
    made.close()


def scan(decoder: Decoder, file: Path | None, *paths: Path, **options: Any) -> ScanResult:
    decoder._index = file
    return decoder.scan(list(paths), **options).result(60)


def is_restored(result: ScanResult) -> bool:
    lists = [one.instances for study in result.studies for one in study.series]
    return bool(lists) and all(isinstance(one, StoredInstances) for one in lists)


def made_in(result: ScanResult) -> int:
    """How many instances have been made."""
    found = 0
    for study in result.studies:
        for series in study.series:
            assert isinstance(series.instances, StoredInstances)
            found += len(series.instances.loaded)
    return found


def a_stack(count: int = SLICES) -> ScanResult:
    """Two series of one study, as a scan finds them."""
    common = {
        "StudyInstanceUID": "1",
        "Modality": "CT",
        "PatientID": "P1",
        "ImageOrientationPatient": "1\\0\\0\\0\\1\\0",
        "PixelSpacing": "1\\1",
    }
    made = [
        Instance(
            Path(f"/a/{series}/{place}.dcm"),
            f"1.{series}.{place}",
            "dicom",
            4,
            4,
            number=place + 1,
            attributes=common
            | {"SeriesInstanceUID": f"1.{series}", "ImagePositionPatient": f"0\\0\\{place}"},
            size_bytes=10 + place,
        )
        for series in (1, 2)
        for place in range(count)
    ]
    return group(made, [], [Path("/a")])


def stored(result: ScanResult) -> ScanResult:
    return restore(pack_result(result, "m", 1))


# What is restored


def test_the_second_opening_is_restored_and_equals_the_first_and_one_without_an_index(
    remembering: Decoder, folder: Path, file: Path, monkeypatch: pytest.MonkeyPatch
):
    plain = scan(remembering, None, folder)
    first = scan(remembering, file, folder)
    asked: list[str] = []
    submit = remembering._pool.submit

    def watched(entry: str, payload: dict[str, Any], **options: Any) -> Any:
        asked.append(entry.partition(":")[2])
        return submit(entry, payload, **options)

    monkeypatch.setattr(remembering._pool, "submit", watched)
    told: list[ScanResult] = []
    progress: list[tuple[int, int]] = []
    second = scan(
        remembering,
        file,
        folder,
        found=told.append,
        progress=lambda done, found: progress.append((done, found)),
    )
    assert asked == ["state_entry"]
    assert is_restored(second)
    assert not is_restored(first)
    assert made_in(second) == 2, "the first of each series"
    assert plain == first == second
    assert second.studies == told[0].studies
    assert [one.studies[0] is second.studies[0] for one in told] == [True]
    assert progress == [(10, 10)]
    assert [problem.path.name for problem in second.problems] == ["empty.dcm", "notes.txt"]


@pytest.mark.parametrize("source", [pytest.param(one, id=one.name) for one in sources()])
def test_what_is_restored_of_every_collection_is_what_was_found(
    remembering: Decoder, source: Any, file: Path, tmp_path: Path
):
    copy = tmp_path / "copy"
    for number, path in enumerate(source.files):
        target = copy / str(number % 7) / f"{number}-{path.name}"
        target.parent.mkdir(parents=True, exist_ok=True)
        os.link(path, target) if _same_disk(path, tmp_path) else shutil.copy2(path, target)
    first = scan(remembering, file, copy)
    second = scan(remembering, file, copy)
    assert is_restored(second) or not first.studies
    assert second == first
    for study, other in zip(second.studies, first.studies, strict=True):
        for series, known in zip(study.series, other.series, strict=True):
            assert list(series.instances) == list(known.instances)
            assert [list(one.attributes) for one in series.instances] == [
                list(one.attributes) for one in known.instances
            ]


def _same_disk(path: Path, folder: Path) -> bool:
    return path.stat().st_dev == folder.stat().st_dev and path.stat().st_mtime_ns < LONG_AGO_NS * 2


# What has changed is noticed


def touch(folder: Path) -> None:
    settled(folder / "a" / "1.dcm", LONG_AGO_NS + 1)


def replace_by_another_of_equal_size_and_time(folder: Path) -> None:
    path = folder / "a" / "1.dcm"
    data = path.read_bytes()
    other = path.with_name("other")
    other.write_bytes(data.replace(b"Doe^Jane", b"Roe^Dick"))
    settled(other)
    other.rename(path)


def remove(folder: Path) -> None:
    (folder / "b" / "3.dcm").unlink()


def add(folder: Path) -> None:
    settled(make_dicom(folder / "b" / "new.dcm", SOPInstanceUID="1.9"))


def add_a_folder(folder: Path) -> None:
    (folder / "deep" / "deeper").mkdir(parents=True)
    settled(make_dicom(folder / "deep" / "deeper" / "new.dcm", SOPInstanceUID="1.9"))


def rename(folder: Path) -> None:
    (folder / "a" / "1.dcm").rename(folder / "a" / "9.dcm")


def swap(folder: Path) -> None:
    (folder / "a" / "1.dcm").rename(folder / "x")
    (folder / "a" / "2.dcm").rename(folder / "a" / "1.dcm")
    (folder / "x").rename(folder / "a" / "2.dcm")


def fill_the_empty_file(folder: Path) -> None:
    settled(make_dicom(folder / "empty.dcm", SOPInstanceUID="1.9"))


def add_a_text(folder: Path) -> None:
    (folder / "more.txt").write_text("more", encoding="utf-8")
    settled(folder / "more.txt")


def add_an_archive(folder: Path) -> None:
    with zipfile.ZipFile(folder / "z.zip", "w") as made:
        made.writestr("x.dcm", (folder / "a" / "1.dcm").read_bytes())
    settled(folder / "z.zip")


def add_a_link_to_a_folder(folder: Path) -> None:
    (folder / "link").symlink_to(folder / "a", target_is_directory=True)


CHANGES = [
    touch, replace_by_another_of_equal_size_and_time, remove, add, add_a_folder, rename, swap,
    fill_the_empty_file, add_a_text, add_an_archive, add_a_link_to_a_folder,
]  # fmt: skip


@pytest.mark.parametrize("change", CHANGES, ids=lambda one: one.__name__)
@pytest.mark.skipif(sys.platform == "win32", reason="Windows tells no time of change")
def test_whatever_changes_in_the_folder_is_noticed(
    remembering: Decoder, folder: Path, file: Path, change: Callable[[Path], None]
):
    scan(remembering, file, folder)
    assert is_restored(scan(remembering, file, folder))
    change(folder)
    after = scan(remembering, file, folder)
    assert not is_restored(after)
    assert after == scan(remembering, None, folder)
    again = scan(remembering, file, folder)
    assert is_restored(again)
    assert again == after


def test_a_file_that_was_written_just_now_keeps_the_folder_from_being_restored(
    remembering: Decoder, folder: Path, file: Path
):
    make_dicom(folder / "a" / "new.dcm", SOPInstanceUID="1.9")
    for _ in range(2):
        assert not is_restored(scan(remembering, file, folder))
    settled(folder / "a" / "new.dcm")
    scan(remembering, file, folder)
    assert is_restored(scan(remembering, file, folder))


def test_a_file_that_changes_while_the_folder_is_read_is_not_taken_for_what_it_was(
    remembering: Decoder, folder: Path, file: Path, monkeypatch: pytest.MonkeyPatch
):
    submit = remembering._pool.submit

    def changing(entry: str, payload: dict[str, Any], **options: Any) -> Any:
        if entry.endswith("state_entry"):
            settled(folder / "a" / "2.dcm", LONG_AGO_NS + 5)
        return submit(entry, payload, **options)

    with monkeypatch.context() as patch:
        patch.setattr(remembering._pool, "submit", changing)
        scan(remembering, file, folder)
    assert not is_restored(scan(remembering, file, folder))
    assert is_restored(scan(remembering, file, folder))


def test_archives_in_a_folder_and_opened_by_themselves_are_restored_until_they_change(
    remembering: Decoder, folder: Path, file: Path
):
    path = folder / "z.zip"
    with zipfile.ZipFile(path, "w") as made:
        for number in range(3):
            made.write(folder / "a" / f"{number}.dcm", f"{number}.dcm")
    shutil.rmtree(folder / "a")
    settled(path)
    for opened in (folder, path):
        first = scan(remembering, file, opened)
        paths = [i.path for s in first.studies for one in s.series for i in one.instances]
        assert sum(path.parent.name == "z.zip" for path in paths) == 3
        second = scan(remembering, file, opened)
        assert is_restored(second)
        assert second == first
    with zipfile.ZipFile(path, "a") as made:
        made.writestr("more.dcm", (folder / "b" / "1.dcm").read_bytes())
    settled(path)
    for opened in (folder, path):
        assert not is_restored(scan(remembering, file, opened))


def test_what_comes_while_the_folder_is_read_is_not_left_out_the_next_time(
    remembering: Decoder, folder: Path, file: Path, monkeypatch: pytest.MonkeyPatch
):
    """An archive that was not listed yet, but is there when the folder is looked at again."""
    data = make_dicom(folder.parent / "late.dcm").read_bytes()
    submit = remembering._pool.submit

    def late(entry: str, payload: dict[str, Any], **options: Any) -> Any:
        if entry.endswith("state_entry"):
            with zipfile.ZipFile(folder / "late.zip", "w") as made:
                made.writestr("late.dcm", data)
            settled(folder / "late.zip")
        return submit(entry, payload, **options)

    with monkeypatch.context() as patch:
        patch.setattr(remembering._pool, "submit", late)
        before = scan(remembering, file, folder)
    after = scan(remembering, file, folder)
    assert amount_of(after) == amount_of(before) + 1
    assert is_restored(scan(remembering, file, folder))


@pytest.mark.parametrize("alone", [False, True], ids=["folder", "alone"])
def test_voxels_that_lie_in_another_file_are_looked_at_again(
    remembering: Decoder, tmp_path: Path, file: Path, alone: bool
):
    """The header alone does not tell that its voxels are there by now, or others."""
    header, voxels = tmp_path / "v" / "a.mhd", tmp_path / "v" / "a.raw"
    header.parent.mkdir()
    header.write_text(
        "ObjectType = Image\nNDims = 3\nDimSize = 4 4 2\nElementType = MET_UCHAR\n"
        "ElementDataFile = a.raw\n"
    )
    settled(header)
    opened = header if alone else header.parent
    assert not scan(remembering, file, opened).studies
    for value in (1, 2):
        voxels.write_bytes(bytes([value]) * 32)
        settled(voxels)
        for _ in range(2):
            (study,) = scan(remembering, file, opened).studies
            frame = remembering.frame(study.series[0].instances[0]).result(60)
            assert frame.stored[0, 0] == value


def amount_of(result: ScanResult) -> int:
    return sum(len(one.instances) for study in result.studies for one in study.series)


def test_copies_are_told_as_the_first_time(remembering: Decoder, folder: Path, file: Path):
    shutil.copytree(folder / "a", folder / "copy")
    first = scan(remembering, file, folder)
    assert any("copies" in problem.reason for problem in first.problems)
    second = scan(remembering, file, folder)
    assert is_restored(second)
    assert second == first


def test_several_opened_paths_are_restored_in_their_order(
    remembering: Decoder, folder: Path, file: Path
):
    for paths in ([folder / "a", folder / "b"], [folder / "b", folder / "a" / "1.dcm"]):
        first = scan(remembering, file, *paths)
        second = scan(remembering, file, *paths)
        assert is_restored(second)
        assert second == first
    assert second.studies[0].patient_id == "b"


def test_copies_of_what_is_open_are_not_restored_beside_it(
    remembering: Decoder, folder: Path, file: Path
):
    other = shutil.copytree(folder, folder.parent / "other")
    scan(remembering, file, other)
    assert is_restored(scan(remembering, file, other))
    studies = Studies()
    studies.add(scan(remembering, file, folder))
    restored = scan(remembering, file, folder)
    for opened in (studies, Studies()):
        if opened is not studies:
            opened.add(restored)
        result = scan(remembering, file, other, opened=opened.instances)
        assert result.studies == ()
        assert any("copies" in problem.reason for problem in result.problems)
    assert made_in(restored) == 8, "those whose copies were found"


def test_a_slow_drive_is_scanned_file_by_file(
    remembering: Decoder, folder: Path, file: Path, monkeypatch: pytest.MonkeyPatch
):
    """So that its first study is there early."""
    from app.imaging.processes.futures import completed_future

    scan(remembering, file, folder)
    monkeypatch.setattr(opened_paths, "PATIENCE_S", 0.0)
    monkeypatch.setattr(opened_paths, "FILES_PER_S", 1e12)
    submit = remembering._pool.submit

    def slow(entry: str, payload: dict[str, Any], **options: Any) -> Any:
        reply = submit(entry, payload, **options)
        if entry.endswith("state_entry"):
            return completed_future(
                {**reply.result(60), "todo": [["folder", str(folder / "b"), 0, 0]]}
            )
        return reply

    monkeypatch.setattr(remembering._pool, "submit", slow)
    assert not is_restored(scan(remembering, file, folder))


def test_a_slow_folder_is_not_walked_to_its_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    for number in range(300):
        (tmp_path / f"{number}.dcm").touch()
    found = listing.state_entry({"todo": opened_paths.listing_tasks([tmp_path])})
    assert (found["count"], found["unsure"], found["todo"]) == (300, False, [])
    monkeypatch.setattr(opened_paths, "PATIENCE_S", 0.0)
    monkeypatch.setattr(opened_paths, "FILES_PER_S", 1e12)
    found = listing.state_entry({"todo": opened_paths.listing_tasks([tmp_path])})
    assert found["unsure"]
    assert found["count"] == 128


def test_restoring_can_be_stopped(remembering: Decoder, folder: Path, file: Path):
    scan(remembering, file, folder)
    token = Token()
    token.cancel()
    remembering._index = file
    with pytest.raises((Cancelled, CancelledError)):
        remembering.scan([folder], token).result(60)


# What the index holds is not believed


@pytest.mark.parametrize("place", [0, 40, 0.5, -1])
@pytest.mark.parametrize("damage", ["changed", "cut", "empty", "text"])
def test_a_damaged_snapshot_is_read_anew(
    remembering: Decoder, folder: Path, file: Path, place: float, damage: str, caplog: Any
):
    first = scan(remembering, file, folder)
    (remembered,) = file.glob("*/*")
    data = remembered.read_bytes()
    at = int(place * len(data)) if isinstance(place, float) else place % len(data)
    changed = {
        "changed": data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :],
        "cut": data[:at],
        "empty": b"",
        "text": b"nonsense",
    }[damage]
    remembered.write_bytes(changed)
    after = scan(remembering, file, folder)
    caplog.clear()
    assert not is_restored(after)
    assert after == first
    assert is_restored(scan(remembering, file, folder))


def test_a_snapshot_whose_parts_disagree_is_refused():
    snapshot = pack_result(a_stack(), "m", 3)
    assert restore(snapshot) == a_stack()
    for wrong in (
        replace(snapshot, blocks=snapshot.blocks[:-40]),
        replace(snapshot, uids=snapshot.uids[:-8]),
        replace(snapshot, pages=snapshot.pages[:-8]),
        replace(snapshot, pages=snapshot.blocks[:100]),
    ):
        with pytest.raises(TableError):
            restore(wrong)


def test_a_damaged_page_is_refused_with_no_other_error():
    """Whatever byte is wrong, and though its checksum were right."""
    snapshot = pack_result(a_stack(3), "m", 3)
    pages = zlib.decompress(snapshot.pages)
    chance = random.Random(5)
    refused = 0
    for _ in range(1500):
        damaged = bytearray(pages)
        damaged[chance.randrange(len(damaged))] = chance.choice(b'0123456789[]{},:"x')
        try:
            restore(replace(snapshot, pages=zlib.compress(damaged)))
        except TableError:
            refused += 1
    assert refused > 300


def test_only_so_many_folders_are_remembered(file: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("app.imaging.scanning.scan.MAX_SNAPSHOTS", 2)
    index = Index(file, "1")

    def remembered() -> list[bool]:
        return [index._file([Path(name)]).exists() for name in "abc"]

    def older() -> None:
        """As if a day had passed."""
        for one in file.glob("*/*"):
            os.utime(one, ns=(0, one.stat().st_mtime_ns - 10**9 * 86_400))

    for name in "abc":
        older()
        index.store([Path(name)], pack_result(a_stack(2), "m", 3))
        older()
        index.snapshot([Path("a")])
    assert remembered() == [True, False, True]
    index.store([Path("a")], None)
    assert index.snapshot([Path("a")]) is None


# Hardly anything is made


def test_instances_are_made_in_blocks_and_each_once():
    result = stored(a_stack())
    instances = result.studies[0].series[0].instances
    assert isinstance(instances, StoredInstances)
    assert len(instances) == SLICES
    assert len(instances.loaded) == 1
    assert instances[0] is instances[0]
    assert len(instances.loaded) == 1
    wanted = instances[PER_BLOCK + 5]
    assert len(instances.loaded) == 1 + PER_BLOCK
    assert instances[PER_BLOCK + 5 - SLICES] is wanted
    assert instances[PER_BLOCK + 5 : PER_BLOCK + 6] == (wanted,)
    assert instances.index(wanted) == PER_BLOCK + 5
    assert list(instances)[PER_BLOCK + 5] is wanted
    assert instances[:2] == tuple(a_stack().studies[0].series[0].instances[:2])
    for outside in (SLICES, -SLICES - 1):
        with pytest.raises(IndexError):
            instances[outside]


def test_the_frames_of_a_series_are_counted_the_same_way():
    made = a_stack(5).studies[0]
    cine = [replace(one, frames=3) for one in made.series[0].instances]
    for instances, ends in ((cine, [3, 6, 9, 12, 15]), (cine[:1], [3])):
        series = replace(made.series[0], instances=tuple(instances))
        whole = ScanResult((replace(made, series=(series,)),), ())
        restored = stored(whole).studies[0].series[0].instances
        assert frame_ends(restored) == frame_ends(series.instances) == ends
        assert frame_count(restored) == ends[-1]


def test_several_threads_get_the_same_instances():
    instances = stored(a_stack()).studies[0].series[0].instances
    with ThreadPoolExecutor(8) as pool:
        places = list(range(SLICES)) * 8
        found = list(pool.map(instances.__getitem__, places))
    assert all(one is instances[place] for one, place in zip(found, places, strict=True))


def test_taking_a_restored_study_into_the_workspace_makes_the_first_instances_only():
    result = stored(a_stack())
    workspace = Workspace()
    workspace.add(result, show=False)
    workspace.add(result, show=False)  # told while it is scanned, and at the end
    studies = workspace.studies
    (study,) = studies.all
    assert [amount(series) for series in study.series] == [f"{SLICES} images"] * 2
    assert study.series[0].content.value == "image"
    assert sum(map(len, studies.instances())) == 2 * SLICES
    assert studies.with_uid("1.9.9") is None
    assert "1.9.9" not in StudyUids(study)
    assert workspace.rejection_of(study.series[0].instances[0]) == ""
    assert frame_ends(study.series[0].instances) == list(range(1, SLICES + 1))
    assert made_in(result) == 2
    shown = workspace.instance_of(f"1.2.{PER_BLOCK + 3}")
    assert shown is not None
    assert shown.path == Path(f"/a/2/{PER_BLOCK + 3}.dcm")
    assert studies.place_of(shown) == (study.series[1], PER_BLOCK + 3)
    assert shown.sop_instance_uid in StudyUids(study)
    assert made_in(result) == 2 + PER_BLOCK
    workspace.close_study(key_of(study))
    assert studies.all == ()
    assert made_in(result) == 2 + PER_BLOCK


def test_a_restored_study_is_opened_beside_another_and_grows_like_any_other():
    whole = a_stack(PER_BLOCK + 2)
    restored = stored(whole)
    studies = Studies()
    studies.add(restored)
    later = [
        replace(one, path=Path(f"/b/{one.path.name}"), sop_instance_uid=f"9.{number}")
        for number, one in enumerate(whole.studies[0].series[0].instances[:3])
    ]
    studies.add(group(later, []))
    found = {one.sop_instance_uid for part in studies.instances() for one in part}
    assert len(found) == 2 * PER_BLOCK + 4 + 3


def test_open_instances_are_found_by_their_uids_without_making_the_others():
    result = stored(a_stack())
    plain = a_stack(3).studies[0].series[0].instances
    opened = [*(one.instances for one in result.studies[0].series), plain, ()]
    found = instances_with_uids_of(opened, [plain[0]])
    assert [one.path for one in found] == [plain[0].path] * 2
    assert made_in(result) == 2


@pytest.mark.slow
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="memory is read from /proc")
def test_a_hundred_thousand_instances_fit_into_half_a_gigabyte():
    """Read the first time; in a process of its own, whose memory is all counted."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.unit.imaging.many_instances", "100000"],
        check=True,
        capture_output=True,
        text=True,
        cwd=Path(__file__).parents[3],
    )
    read_mb, stored_mb = (float(text) for text in done.stdout.split())
    assert stored_mb < read_mb < 500
