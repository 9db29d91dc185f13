"""Which files stand behind what was opened: folders, archives, DICOMDIRs."""

from __future__ import annotations

import os
import shutil
import struct
import warnings
import zipfile
from pathlib import Path
from typing import Any

import pydicom
import pytest

from app.imaging.scanning import listing
from app.imaging.scanning.listing import files_named_by
from app.imaging.scanning.opened_paths import listing_tasks
from tests.unit.imaging.files import list_files, make_dicom

DICOMDIRS = Path(pydicom.__file__).parent / "data" / "test_files" / "dicomdirtests"
FLAVOURS = [
    "DICOMDIR",
    "DICOMDIR-bigEnd",
    "DICOMDIR-implicit",
    "DICOMDIR-nooffset",
    "DICOMDIR-nopatient",
    "DICOMDIR-reordered",
]


def written(path: Path, data: bytes = b"x") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return path


def below(folder: Path, paths: list[Path]) -> list[str]:
    return [path.relative_to(folder).as_posix() for path in paths]


def test_a_folder_is_listed_as_people_count_its_files_before_its_folders(tmp_path: Path):
    for name in ("b10", "b9", "a/x", "a10/x", "a9/y/z"):
        written(tmp_path / name)
    files, problems = list_files([tmp_path])
    assert below(tmp_path, files) == ["b9", "b10", "a/x", "a9/y/z", "a10/x"]
    assert problems == []


def test_listing_in_short_steps_finds_what_one_long_step_finds(tmp_path: Path):
    for number in range(30):
        written(tmp_path / str(number % 7) / str(number % 3) / str(number))
    whole = listing.step(listing_tasks([tmp_path]), seconds=60)
    assert whole.todo == []
    todo, pieces, steps = listing_tasks([tmp_path]), [], 0
    while todo:
        part = listing.step(todo, seconds=0)
        todo, pieces, steps = part.todo, pieces + part.files, steps + 1
    assert steps > 20
    assert pieces == whole.files


def test_what_systems_put_beside_files_is_passed_over(tmp_path: Path):
    for name in (".DS_Store", "Thumbs.db", "__MACOSX/._a", ".hidden/a", "DICOMDIR", "a"):
        written(tmp_path / name)
    files, problems = list_files([tmp_path])
    assert (below(tmp_path, files), problems) == (["a"], [])


def test_a_folder_that_cannot_be_read_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    written(tmp_path / "a")
    real = os.scandir

    def refuse(path: Path) -> Any:
        if Path(path) == tmp_path:
            raise PermissionError(13, "Permission denied")
        return real(path)

    monkeypatch.setattr(os, "scandir", refuse)
    (problem,) = list_files([tmp_path])[1]
    assert (problem.path, "permission denied" in problem.reason) == (tmp_path, True)


def test_an_empty_folder_says_that_there_are_no_images(tmp_path: Path):
    assert [problem.path for problem in list_files([tmp_path])[1]] == [tmp_path]


@pytest.mark.skipif(os.name == "nt", reason="names are text there")
def test_names_that_are_no_text_are_listed(tmp_path: Path):
    name = b"\xff\xfe.dcm"
    Path(os.fsdecode(os.fsencode(tmp_path) + b"/" + name)).write_bytes(b"x")
    ((path,), _) = list_files([tmp_path])
    assert os.fsencode(path.name) == name


def zipped(path: Path, *names: str) -> Path:
    with zipfile.ZipFile(path, "w") as made:
        for name in names:
            made.writestr(name, b"x")
    return path


def test_an_archive_is_listed_as_a_folder_wherever_it_lies(tmp_path: Path):
    names = ("dir/IM10", "dir/IM9", "DICOMDIR", "__MACOSX/dir/._IM9", "dir/.DS_Store", "dir/sub/")
    path = zipped(tmp_path / "study.zip", *names)
    assert below(path, list_files([path])[0]) == ["dir/IM9", "dir/IM10"]
    assert below(path, list_files([tmp_path])[0]) == ["dir/IM9", "dir/IM10"]


def test_an_archive_that_the_user_names_needs_no_suffix(tmp_path: Path):
    path = zipped(tmp_path / "download", "IM1")
    assert list_files([path])[0] == [path / "IM1"]


def test_a_file_that_only_is_called_zip_is_a_file(tmp_path: Path):
    path = make_dicom(tmp_path / "a.zip")
    assert list_files([tmp_path])[0] == [path]


def test_archives_inside_archives_are_named_and_not_opened(decoder: Any, tmp_path: Path):
    inner = zipped(tmp_path / "inner.zip", "IM1").read_bytes()
    outer = tmp_path / "outer.zip"
    with zipfile.ZipFile(outer, "w") as made:
        made.writestr("inner.zip", inner)
    problems = decoder.scan([outer]).result(60).problems
    (problem,) = [one for one in problems if one.path == outer / "inner.zip"]
    assert "zip archive" in problem.reason
    assert "Unpack" in problem.remedy


def test_many_refused_members_of_one_kind_are_one_line(tmp_path: Path):
    path = zipped(tmp_path / "a.zip", "good", *(f"../{number}" for number in range(500)))
    files, problems = list_files([path])
    assert files == [path / "good"]
    assert [(one.path, one.reason[:4]) for one in problems] == [(path, "500 ")]


def test_a_damaged_archive_is_named(tmp_path: Path):
    path = written(tmp_path / "a.zip", b"PK\x03\x04rest")
    (problem,) = list_files([path])[1]
    assert "damaged or cut short" in problem.reason


def test_an_archive_without_files_says_so(tmp_path: Path):
    (problem,) = list_files([zipped(tmp_path / "a.zip")])[1]
    assert "no images in this archive" in problem.reason


@pytest.fixture
def medium(tmp_path: Path) -> Path:
    """A medium with files that its DICOMDIR does not name."""
    folder = tmp_path / "medium"
    shutil.copytree(DICOMDIRS, folder)
    written(folder / "report.txt")
    return folder


@pytest.mark.parametrize("flavour", FLAVOURS)
def test_a_dicomdir_stands_for_the_files_that_it_names(medium: Path, flavour: str):
    """The flavours are one file-set, written by dcmtk and others (README.txt beside them)."""
    records = pydicom.dcmread(DICOMDIRS / "DICOMDIR").DirectoryRecordSequence
    expected = {Path(*one.ReferencedFileID) for one in records if "ReferencedFileID" in one}
    files, problems = list_files([medium / flavour])
    assert {path.relative_to(medium) for path in files} == expected
    assert problems == []


def test_a_dicomdir_is_known_by_its_content(medium: Path):
    (medium / "DICOMDIR").rename(medium / "index of images")
    assert len(list_files([medium / "index of images"])[0]) == 31


def test_media_that_were_copied_to_lower_case_or_with_versions_are_found(medium: Path):
    expected = len(list_files([medium / "DICOMDIR"])[0])
    for path in sorted(medium.rglob("*"), key=lambda path: -len(path.parts)):
        changed = f"{path.name.lower()}." if path.is_dir() else f"{path.name.lower()};1"
        if path.name != "DICOMDIR":
            path.rename(path.with_name(changed))
    files, problems = list_files([medium / "DICOMDIR"])
    assert (len(files), problems) == (expected, [])
    assert all(path.exists() for path in files)


def test_files_that_are_missing_are_named(medium: Path):
    (medium / "77654033" / "CR1" / "6154").unlink()
    files, problems = list_files([medium / "DICOMDIR"])
    assert len(files) == 30
    (problem,) = problems
    assert problem.path == medium / "77654033" / "CR1" / "6154"
    assert "no such file" in problem.reason


def test_a_dicomdir_without_its_files_has_its_folder_searched(tmp_path: Path):
    shutil.copy(DICOMDIRS / "DICOMDIR", tmp_path / "DICOMDIR")
    image = make_dicom(tmp_path / "elsewhere.dcm")
    files, problems = list_files([tmp_path / "DICOMDIR"])
    assert files == [image]
    assert ["names no file that is there" in problem.reason for problem in problems] == [True]


def test_a_damaged_dicomdir_has_its_folder_searched(tmp_path: Path):
    whole = (DICOMDIRS / "DICOMDIR").read_bytes()
    image = make_dicom(tmp_path / "a.dcm")
    path = written(tmp_path / "DICOMDIR", whole[:380])
    assert list_files([path])[0] == [image]


def directory(folder: Path, change: Any) -> Path:
    """The test DICOMDIR after `change(records)`."""
    ds = pydicom.dcmread(DICOMDIRS / "DICOMDIR")
    path = folder / "DICOMDIR"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that the values are wrong is the point
        change(ds.DirectoryRecordSequence)
        ds.save_as(path)
    return path


@pytest.mark.parametrize(
    "reference",
    [["..", "secret"], ["", "etc", "passwd"], ["/etc/passwd"], ["a/../../secret"], ["C:", "x"]],
)
def test_a_reference_out_of_the_folder_is_refused(medium: Path, reference: list[str]):
    written(medium.parent / "secret")

    def change(records: Any) -> None:
        records[3].ReferencedFileID = reference

    files, (problem,) = files_named_by(directory(medium, change))
    assert len(files) == 30
    assert all(path.is_relative_to(medium) for path in files)
    assert "outside of its folder" in problem.reason


@pytest.mark.skipif(os.name == "nt", reason="links need a privilege on Windows")
def test_a_link_out_of_the_folder_is_refused(medium: Path):
    secret = written(medium.parent / "secret")
    target = medium / "77654033" / "CR1" / "6154"
    target.unlink()
    target.symlink_to(secret)
    files, (problem,) = files_named_by(medium / "DICOMDIR")
    assert target not in files
    assert (problem.path, "leads out" in problem.reason) == (target, True)


def test_inactive_records_and_all_below_them_are_left_out(medium: Path):
    """Record 2 is the first SERIES, its only image is record 3."""

    def change(records: Any) -> None:
        records[2].RecordInUseFlag = 0

    files, _ = files_named_by(directory(medium, change))
    assert len(files) == 30
    assert medium / "77654033" / "CR1" / "6154" not in files


def test_links_between_records_in_a_circle_end(medium: Path):
    def change(records: Any) -> None:
        for record in records:
            record.RecordInUseFlag = 0
            record.OffsetOfTheNextDirectoryRecord = 396
            record.OffsetOfReferencedLowerLevelDirectoryEntity = 396

    assert files_named_by(directory(medium, change))[0] == []


def test_links_that_lead_nowhere_hide_nothing(medium: Path):
    def change(records: Any) -> None:
        for record in records:
            record.OffsetOfTheNextDirectoryRecord = 2**32 - 1
            record.OffsetOfReferencedLowerLevelDirectoryEntity = 7

    assert len(files_named_by(directory(medium, change))[0]) == 31


def test_thousands_of_missing_files_are_not_thousands_of_lines(tmp_path: Path):
    names = [struct.pack(">L", number).hex().upper() for number in range(1000)]

    def change(records: Any) -> None:
        image = records[3]
        del records[:]
        for name in names:
            record = pydicom.Dataset()
            record.update(image)
            record.ReferencedFileID = name
            records.append(record)

    path = directory(tmp_path, change)
    present = written(tmp_path / names[0])
    files, problems = files_named_by(path)
    assert files == [present]
    assert len(problems) == 101
    assert "899 more" in problems[-1].reason


@pytest.mark.parametrize("count", [1, 5])
def test_nobody_is_told_to_unpack_an_archive_whose_names_lead_out_of_it(tmp_path: Path, count: int):
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as made:
        for number in range(count):
            made.writestr(f"../../{number}.dcm", b"x")
    files, problems = list_files([tmp_path / "a.zip"])
    assert files == []
    (problem,) = problems
    assert "leads out of the archive" in problem.reason
    assert "ask for a new export" in problem.remedy


def test_a_member_without_a_name_costs_only_itself(tmp_path: Path):
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as made:
        made.writestr("good", b"x")
        made.writestr("Q", b"x")
        made.getinfo("Q").filename = ""
    make_dicom(tmp_path / "b.dcm")
    files, problems = list_files([tmp_path])
    assert files == [tmp_path / "b.dcm", tmp_path / "a.zip" / "good"]
    (problem,) = problems
    assert (problem.path, "its name is empty" in problem.reason) == (tmp_path / "a.zip", True)


@pytest.mark.skipif(os.name == "nt", reason="Windows says that there is no such file")
def test_an_overlong_path_costs_only_itself(tmp_path: Path):
    path = make_dicom(tmp_path / "b.dcm")
    files, problems = list_files([tmp_path / ("a" * 300), path, Path("/a" * 3000)])
    assert files == [path]
    assert [problem.reason for problem in problems] == ["its name or path is too long"] * 2


def test_whatever_error_one_path_raises_costs_only_that_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """A folder may hold what nobody has thought of."""

    def failing(path: Path) -> None:
        raise RuntimeError(path)

    bad, good = zipped(tmp_path / "bad.zip", "x"), make_dicom(tmp_path / "b.dcm")
    monkeypatch.setattr(listing, "open_archive", failing)
    files, (problem,) = list_files([tmp_path])
    assert (files, problem.path) == ([good], bad)


def test_many_empty_members_are_one_line_and_are_not_read_one_by_one(tmp_path: Path):
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as made:
        made.writestr("good", b"x")
        for number in range(500):
            made.writestr(str(number), b"")
    files, (problem,) = list_files([tmp_path])
    assert files == [tmp_path / "a.zip" / "good"]
    assert "500 of its files are not read: the file is empty" in problem.reason
    assert "ask for a new export" in problem.remedy
