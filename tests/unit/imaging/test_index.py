"""The index: the second opening is immediate, and never shows what is no longer so."""

from __future__ import annotations

import hashlib
import os
import shutil
import sys
import time
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from app import paths
from app.imaging.decode import Decoder
from app.imaging.scanning import scan as scan_module
from app.imaging.scanning.scan import Index, reader_version
from app.imaging.scanning.snapshots import pack_result
from app.imaging.types import Instance, ScanResult
from app.wiring.program import Program
from tests.unit.imaging.files import make_dicom, png_bytes

pytestmark = pytest.mark.usefixtures("forked")

LONG_AGO_NS = 10**18


def settled(path: Path, when_ns: int = LONG_AGO_NS) -> Path:
    """A file that was written long ago: only such are remembered."""
    os.utime(path, ns=(when_ns, when_ns))
    return path


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "images"
    made.mkdir()
    for number in (1, 2, 3):
        settled(
            make_dicom(made / f"{number}.dcm", SOPInstanceUID=f"1.{number}", InstanceNumber=number)
        )
    settled_text = made / "notes.txt"
    settled_text.write_text("hello", encoding="utf-8")
    settled(settled_text)
    return made


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "cache" / "index"


@pytest.fixture(scope="module")
def remembering(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Decoder]:
    decoder = Decoder(1)
    yield decoder
    decoder.close()


def scan(decoder: Decoder, folder: Path, file: Path | None) -> ScanResult:
    decoder._index = file
    return decoder.scan([folder]).result(60)


def instances(result: ScanResult) -> list[Instance]:
    return [i for study in result.studies for series in study.series for i in series.instances]


def read_by_workers(decoder: Decoder, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Names of the files whose headers are read from now on."""
    read: list[str] = []
    submit = decoder._pool.submit

    def watched(entry: str, payload: dict[str, Any], **options: Any) -> Any:
        reply = submit(entry, payload, **options)
        if entry.endswith("headers_entry"):
            read.extend(Path(path).name for path in payload["paths"])
        return reply

    monkeypatch.setattr(decoder._pool, "submit", watched)
    return read


def remember(index: Index, path: Path) -> None:
    """A folder in which nothing was found."""
    index.store([path], pack_result(ScanResult((), ()), "mark", 1))


def test_the_second_scan_finds_the_same_and_reads_no_header(
    remembering: Decoder, folder: Path, file: Path, monkeypatch: pytest.MonkeyPatch
):
    plain = scan(remembering, folder, None)
    first = scan(remembering, folder, file)
    read = read_by_workers(remembering, monkeypatch)
    second = scan(remembering, folder, file)
    assert read == []
    assert plain == first == second
    assert [problem.path.name for problem in second.problems] == ["notes.txt"]


def test_a_changed_file_is_read_again(
    remembering: Decoder, folder: Path, file: Path, monkeypatch: pytest.MonkeyPatch
):
    scan(remembering, folder, file)
    changed = make_dicom(folder / "2.dcm", np.zeros((9, 9), np.uint16), SOPInstanceUID="1.2")
    settled(changed, LONG_AGO_NS + 1)
    read = read_by_workers(remembering, monkeypatch)
    result = scan(remembering, folder, file)
    assert "2.dcm" in read
    assert sorted(item.rows for item in instances(result)) == [3, 3, 9]


@pytest.mark.skipif(sys.platform == "win32", reason="Windows tells no time of change")
def test_a_file_of_equal_size_and_time_that_took_anothers_place_is_read_again(
    remembering: Decoder, folder: Path, file: Path
):
    """As when the export of another patient is unpacked over the first."""
    scan(remembering, folder, file)
    before = (folder / "2.dcm").stat()
    data = (folder / "2.dcm").read_bytes()
    assert data.count(b"Doe^Jane") == 1
    (folder / "2.dcm").write_bytes(data.replace(b"Doe^Jane", b"Roe^Dick"))
    settled(folder / "2.dcm", before.st_mtime_ns)
    assert (folder / "2.dcm").stat().st_mtime_ns == before.st_mtime_ns
    assert (folder / "2.dcm").stat().st_size == before.st_size
    names = {
        item.path.name: item.get("PatientName")
        for item in instances(scan(remembering, folder, file))
    }
    assert names == {"1.dcm": "Doe^Jane", "2.dcm": "Roe^Dick", "3.dcm": "Doe^Jane"}


def test_new_files_are_found_and_those_that_are_gone_are_forgotten(
    remembering: Decoder, folder: Path, file: Path, monkeypatch: pytest.MonkeyPatch
):
    scan(remembering, folder, file)
    (folder / "1.dcm").unlink()
    settled(make_dicom(folder / "4.dcm", SOPInstanceUID="1.4"))
    result = scan(remembering, folder, file)
    assert {item.path.name for item in instances(result)} == {"2.dcm", "3.dcm", "4.dcm"}
    read = read_by_workers(remembering, monkeypatch)
    assert scan(remembering, folder, file) == result
    assert read == []


def test_a_file_that_was_written_just_now_is_not_trusted_to_stay(
    remembering: Decoder, tmp_path: Path, file: Path, monkeypatch: pytest.MonkeyPatch
):
    """It may be written again within the same tick of its file system's clock."""
    make_dicom(tmp_path / "a.dcm")
    scan(remembering, tmp_path / "a.dcm", file)
    read = read_by_workers(remembering, monkeypatch)
    scan(remembering, tmp_path / "a.dcm", file)
    assert read == ["a.dcm"]


def test_members_of_an_archive_are_remembered_until_the_archive_changes(
    remembering: Decoder, folder: Path, file: Path, monkeypatch: pytest.MonkeyPatch
):
    path = folder.parent / "a.zip"
    with zipfile.ZipFile(path, "w") as made:
        for name in ("1.dcm", "2.dcm"):
            made.write(folder / name, name)
    settled(path)
    first = scan(remembering, path, file)
    read = read_by_workers(remembering, monkeypatch)
    assert scan(remembering, path, file) == first
    assert read == []
    with zipfile.ZipFile(path, "a") as made:
        made.write(folder / "3.dcm", "3.dcm")
    settled(path)
    assert len(instances(scan(remembering, path, file))) == 3
    assert sorted(read) == ["1.dcm", "2.dcm", "3.dcm"]


@pytest.mark.skipif(sys.platform == "win32", reason="Windows tells no time of change")
def test_members_of_an_archive_that_took_anothers_place_are_read_again(
    remembering: Decoder, tmp_path: Path, file: Path
):
    """An archive of equal size and time: neither headers nor pixels may be those of the first."""
    (tmp_path / "zips").mkdir()
    path = tmp_path / "zips" / "a.zip"
    for name, uid in (("Doe^Jane", "1.2.11"), ("Roe^Dick", "1.2.22")):
        image = make_dicom(
            tmp_path / "image.dcm",
            np.full((3, 3), int(uid[-1]), np.uint16),
            PatientName=name,
            SOPInstanceUID=uid,
        )
        with zipfile.ZipFile(tmp_path / "new.zip", "w") as made:
            made.writestr(zipfile.ZipInfo("1.dcm"), image.read_bytes())
        settled(tmp_path / "new.zip").replace(path)
        for opened in (path, path.parent) * 2:
            (instance,) = instances(scan(remembering, opened, file))
            assert instance.get("PatientName") == name
            frame = remembering.frame(instance).result(60)
            assert (frame.ref.sop_instance_uid, frame.stored[0, 0]) == (uid, int(uid[-1]))


def test_what_other_readers_have_read_is_not_used(file: Path):
    old = Index(file, "1")
    remember(old, Path("/a"))
    assert old.snapshot([Path("/a")]) is not None
    new = Index(file, "2")
    assert new.snapshot([Path("/a")]) is None
    # Two versions may run at once.
    assert old.snapshot([Path("/a")]) is not None


def test_what_nobody_has_started_for_a_month_is_deleted(file: Path):
    old = Index(file, "1")
    remember(old, Path("/a"))
    (folder,) = file.iterdir()
    month_ago = time.time() - scan_module.UNUSED_S - 60
    os.utime(folder, (month_ago, month_ago))
    Index(file, "2")
    assert not folder.exists()


def test_the_version_changes_with_any_source_of_the_imaging_code(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    module = tmp_path / "index.py"
    monkeypatch.setattr(scan_module, "__file__", str(module))
    versions: list[str] = []
    for text in ("a = 1", "a = 2"):
        (tmp_path / "describe.py").write_text(text, encoding="utf-8")
        reader_version.cache_clear()
        versions.append(reader_version())
    reader_version.cache_clear()
    assert versions[0] != versions[1]


@pytest.mark.skipif(os.name == "nt", reason="POSIX permissions")
def test_only_this_user_may_read_it(remembering: Decoder, folder: Path, file: Path):
    scan(remembering, folder, file)
    (version,) = file.iterdir()
    (remembered,) = version.iterdir()
    assert oct(version.stat().st_mode & 0o777) == "0o700"
    assert oct(remembered.stat().st_mode & 0o777) == "0o600"


@pytest.mark.parametrize("content", [b"", b"this is no snapshot" * 400])
def test_a_damaged_file_is_deleted_and_the_scan_goes_on(
    remembering: Decoder, folder: Path, file: Path, content: bytes, caplog: Any
):
    scan(remembering, folder, file)
    (remembered,) = file.glob("*/*")
    remembered.write_bytes(content)
    index = Index(file)
    assert index.snapshot([folder]) is None
    assert not remembered.exists()
    (record,) = caplog.records
    assert "damaged" in record.getMessage()
    assert str(folder) not in record.getMessage()
    caplog.clear()
    assert len(instances(scan(remembering, folder, file))) == 3
    assert remembered.exists()


def test_a_folder_that_cannot_be_written_holds_up_nothing(
    remembering: Decoder, folder: Path, tmp_path: Path, caplog: Any
):
    (tmp_path / "cache").write_text("a file where the folder should be", encoding="utf-8")
    result = scan(remembering, folder, tmp_path / "cache" / "index")
    assert len(instances(result)) == 3
    caplog.clear()


def test_no_permission_today_is_not_remembered_for_tomorrow(
    remembering: Decoder, folder: Path, file: Path
):
    path = folder / "missing.dcm"
    assert scan(remembering, path, file).studies == ()
    settled(make_dicom(path, SOPInstanceUID="1.9"))
    assert len(instances(scan(remembering, path, file))) == 1


def test_it_can_be_turned_off(monkeypatch: pytest.MonkeyPatch):
    assert paths.index_folder() is not None
    monkeypatch.setenv("SIGHTLINE_NO_INDEX", "1")
    assert paths.index_folder() is None


def test_a_picture_is_remembered_like_any_image(
    remembering: Decoder, tmp_path: Path, file: Path, monkeypatch: pytest.MonkeyPatch
):
    path = tmp_path / "a.png"
    path.write_bytes(png_bytes(np.zeros((4, 4), np.uint8)))
    settled(path)
    first = scan(remembering, path, file)
    read = read_by_workers(remembering, monkeypatch)
    assert scan(remembering, path, file) == first
    assert read == []


def test_that_files_are_copies_is_remembered_without_reading_them_again(
    remembering: Decoder, folder: Path, file: Path, monkeypatch: pytest.MonkeyPatch
):
    for number in (1, 2, 3):
        shutil.copy2(folder / f"{number}.dcm", folder / f"copy{number}.dcm")
    first = scan(remembering, folder, file)
    assert len(instances(first)) == 3
    hashed: list[str] = []
    submit = remembering._pool.submit

    def watched(entry: str, payload: dict[str, Any], **options: Any) -> Any:
        if entry.endswith("digests_entry"):
            hashed.extend(Path(path).name for path in payload["paths"])
        return submit(entry, payload, **options)

    monkeypatch.setattr(remembering._pool, "submit", watched)
    for _ in range(2):
        assert scan(remembering, folder, file) == first
    assert hashed == []
    data = bytearray((folder / "copy2.dcm").read_bytes())
    data[-1] ^= 1  # another picture under the same UID now
    (folder / "copy2.dcm").write_bytes(bytes(data))
    settled(folder / "copy2.dcm", LONG_AGO_NS + 1)
    assert len(instances(scan(remembering, folder, file))) == 4
    assert "copy2.dcm" in hashed


def in_the_way(path: Path, kind: str) -> None:
    """Something at `path` that is not what the index has made there."""
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink()
    if kind == "file":
        path.write_bytes(b"x")
    elif kind == "folder":
        (path / "inside").mkdir(parents=True)
    elif kind == "loop":
        path.symlink_to(path.name)
    else:
        os.mkfifo(path)


@pytest.mark.skipif(os.name == "nt", reason="POSIX")
@pytest.mark.parametrize("kind", ["file", "folder", "loop", "pipe"])
@pytest.mark.parametrize("depth", [0, 1, 2])
def test_an_index_that_cannot_be_read_for_whatever_reason_is_made_anew(
    remembering: Decoder, folder: Path, file: Path, kind: str, depth: int, caplog: Any
):
    scan(remembering, folder, file)
    (remembered,) = file.glob("*/*")
    in_the_way([file, remembered.parent, remembered][depth], kind)
    assert len(instances(scan(remembering, folder, file))) == 3
    caplog.clear()
    assert remembered.is_file()
    assert Index(file).snapshot([folder]) is not None


def test_a_file_with_a_right_checksum_and_wrong_content_is_deleted(
    remembering: Decoder, folder: Path, file: Path, caplog: Any
):
    scan(remembering, folder, file)
    (remembered,) = file.glob("*/*")
    remembered.write_bytes(hashlib.sha256(b"[1\n").digest() + b"[1\n")
    assert Index(file).snapshot([folder]) is None
    caplog.clear()
    assert not remembered.exists()


def test_a_path_that_is_no_text_is_remembered_too(file: Path):
    remember(Index(file), Path("/\ud800"))
    assert Index(file).snapshot([Path("/\ud800")]) is not None


@pytest.mark.parametrize("off", ["0", "1"])
def test_the_index_of_earlier_versions_is_deleted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, off: str
):
    monkeypatch.setenv("SIGHTLINE_HOME", str(tmp_path))
    monkeypatch.setenv("SIGHTLINE_NO_INDEX", off)
    for name in ("index.sqlite", "index.sqlite-wal", "durations.json"):
        (paths.cache_dir() / name).write_bytes(b"Doe^Jane")
    Program().decoder.close()
    assert [path.name for path in paths.cache_dir().glob("*.*")] == ["durations.json"]
