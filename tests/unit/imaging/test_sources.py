"""A member of a zip archive is read like a file in a folder, whatever the archive claims."""

from __future__ import annotations

import io
import os
import random
import struct
import subprocess
import tempfile
import zipfile
from pathlib import Path

import pydicom
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.errors import FileProblem
from app.imaging.decode import Decoder
from app.imaging.files import archives, sources
from tests.unit.imaging.files import make_dicom


def archive(path: Path, members: dict[str, bytes], method: int = zipfile.ZIP_DEFLATED) -> Path:
    with zipfile.ZipFile(path, "w", method) as made:
        for name, data in members.items():
            made.writestr(name, data)
    return path


@pytest.mark.parametrize(
    "method",
    [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA],
)
def test_a_members_bytes_are_those_that_were_packed(tmp_path: Path, method: int):
    data = random.Random(1).randbytes(300_000)
    path = archive(tmp_path / "a.zip", {"dir/IM1": data}, method) / "dir" / "IM1"
    with sources.open_file(path) as file:
        assert file.read() == data
    assert sources.read_start(path, 10) == data[:10]
    assert sources.status(path).size == len(data)


@settings(max_examples=50, deadline=None)
@given(
    st.binary(min_size=1, max_size=200_000),
    st.lists(
        st.tuples(st.sampled_from(["read", "set", "move", "end"]), st.integers(0, 210_000)),
        max_size=12,
    ),
)
def test_reading_and_seeking_in_a_member_is_as_in_a_file_of_memory(
    data: bytes, steps: list[tuple[str, int]]
):
    with tempfile.TemporaryDirectory() as folder:
        path = archive(Path(folder) / "a.zip", {"x": data}) / "x"
        with sources.open_file(path) as ours, io.BytesIO(data) as theirs:
            for step, amount in steps:
                if step == "read":
                    assert ours.read(amount) == theirs.read(amount)
                elif step == "set":
                    assert ours.seek(amount) == theirs.seek(amount)
                elif step == "move":
                    assert ours.seek(amount, os.SEEK_CUR) == theirs.seek(amount, os.SEEK_CUR)
                else:
                    back = min(amount, len(data))
                    assert ours.seek(-back, os.SEEK_END) == theirs.seek(-back, os.SEEK_END)
            assert ours.read() == theirs.read()


def test_an_archive_packed_by_another_program_gives_the_same_image(
    decoder: Decoder, tmp_path: Path
):
    folder = tmp_path / "study"
    folder.mkdir()
    plain = make_dicom(folder / "a.dcm")
    if not Path("/usr/bin/zip").exists():
        pytest.skip("no zip program here")
    subprocess.run(["zip", "-qr", "study.zip", "study"], cwd=tmp_path, check=True)
    result = decoder.scan([tmp_path / "study.zip"]).result(60)
    (instance,) = result.studies[0].series[0].instances
    assert instance.path == tmp_path / "study.zip" / "study" / "a.dcm"
    expected = pydicom.dcmread(plain).pixel_array
    assert (decoder.frame(instance).result(60).stored == expected).all()


def test_the_attributes_of_a_member_are_read_too(decoder: Decoder, tmp_path: Path):
    data = make_dicom(tmp_path / "a.dcm", PatientID="P77").read_bytes()
    zipped = archive(tmp_path / "a.zip", {"IM1": data})
    (instance,) = decoder.scan([zipped]).result(60).studies[0].series[0].instances
    rows = decoder.attributes(instance).result(60)
    assert any(row.value == "P77" for row in rows)


def test_an_archive_that_was_exchanged_is_not_decoded(decoder: Decoder, tmp_path: Path):
    data = make_dicom(tmp_path / "a.dcm").read_bytes()
    zipped = archive(tmp_path / "a.zip", {"IM1": data})
    (instance,) = decoder.scan([zipped]).result(60).studies[0].series[0].instances
    archive(zipped, {"IM1": data, "IM2": data})
    os.utime(zipped, ns=(1, 1))
    with pytest.raises(FileProblem, match="has changed"):
        decoder.frame(instance).result(60)


@pytest.mark.parametrize(
    "name",
    ["/etc/passwd", "../up", "a/../../up", "C:/x", "c:x", "\\\\host\\share", "..\\up", "", "./"],
)
def test_names_that_lead_out_of_the_archive_are_refused(name: str):
    assert archives.safe_name(name) is None


@given(st.text(max_size=40))
def test_a_name_is_refused_or_stays_below_its_archive(name: str):
    safe = archives.safe_name(name)
    if safe is not None:
        below = Path("/folder/a.zip") / safe
        assert Path(os.path.normpath(below)).is_relative_to("/folder/a.zip")
        assert below != Path("/folder/a.zip")


def test_backslashes_of_old_packers_separate_folders():
    assert archives.safe_name("DICOM\\ST1\\IM 1") == "DICOM/ST1/IM 1"


def test_what_an_archive_must_not_give_is_refused_with_its_reason(tmp_path: Path):
    path = tmp_path / "a.zip"
    with zipfile.ZipFile(path, "w") as made:
        link = zipfile.ZipInfo("link")
        link.external_attr = 0o120777 << 16
        made.writestr(link, b"/etc/passwd")
        made.writestr("../up", b"x")
        made.writestr("good", b"x")
        with pytest.warns(UserWarning, match="Duplicate"):
            made.writestr("good", b"y")
    opened = archives.open_archive(path)
    assert list(opened.files) == ["good"]
    with sources.open_file(path / "good") as file:
        assert file.read() == b"y"
    reasons = dict(opened.refused)
    assert "link" in reasons["link"]
    assert "leads out" in reasons[""]
    assert "more than once" in reasons["good"]


def test_a_protected_member_is_refused_with_that_reason(tmp_path: Path):
    path = archive(tmp_path / "a.zip", {"IM1": b"x" * 100})
    data = bytearray(path.read_bytes())
    data[data.index(b"PK\x01\x02") + 8] |= 1
    path.write_bytes(bytes(data))
    assert archives.open_archive(path).refused == [("IM1", "it is protected by a password")]


def test_a_compression_that_is_not_known_is_refused(tmp_path: Path):
    path = archive(tmp_path / "a.zip", {"IM1": b"x" * 100})
    data = bytearray(path.read_bytes())
    data[data.index(b"PK\x01\x02") + 10] = 9  # Deflate64
    path.write_bytes(bytes(data))
    ((_, reason),) = archives.open_archive(path).refused
    assert "compressed in a way" in reason


@pytest.mark.parametrize("declared", [2**31, 200 * 2**20])
def test_a_declared_size_that_cannot_be_is_refused_before_reading(tmp_path: Path, declared: int):
    path = archive(tmp_path / "a.zip", {"IM1": b"x" * 100})
    data = bytearray(path.read_bytes())
    central = data.index(b"PK\x01\x02")
    data[central + 24 : central + 28] = struct.pack("<L", declared)
    path.write_bytes(bytes(data))
    opened = archives.open_archive(path)
    assert list(opened.files) == []
    assert len(opened.refused) == 1


def test_a_member_never_gives_more_than_it_declares(tmp_path: Path):
    """The declared size is what the limits are checked against."""
    path = archive(tmp_path / "a.zip", {"IM1": b"\0" * 10_000_000})
    data = bytearray(path.read_bytes())
    central = data.index(b"PK\x01\x02")
    data[central + 24 : central + 28] = struct.pack("<L", 1000)
    path.write_bytes(bytes(data))
    with sources.open_file(path / "IM1") as file, pytest.raises(FileProblem, match="damaged"):
        file.read()


def test_members_that_share_their_bytes_are_refused(tmp_path: Path):
    """A few megabytes of such an archive inflate to petabytes."""
    path = archive(tmp_path / "a.zip", {"IM1": b"x" * 3000, "IM2": b"y" * 3000}, zipfile.ZIP_STORED)
    data = bytearray(path.read_bytes())
    second = data.rindex(b"PK\x01\x02")
    data[second + 42 : second + 46] = struct.pack("<L", 0)  # where IM1 begins
    data[second + 20 : second + 24] = struct.pack("<L", 6000)
    path.write_bytes(bytes(data))
    with pytest.raises(FileProblem, match="declares more than it contains"):
        archives.open_archive(path)


def test_random_damage_never_gives_anything_but_a_named_problem(tmp_path: Path):
    rng = random.Random(5)
    whole = archive(tmp_path / "whole.zip", {f"d/{n}": rng.randbytes(300) for n in range(5)})
    source = whole.read_bytes()
    refused = 0
    for number in range(400):
        data = bytearray(source)
        for _ in range(rng.randint(1, 20)):
            data[rng.randrange(len(data))] = rng.randrange(256)
        path = tmp_path / f"{number}.zip"
        path.write_bytes(bytes(data[: rng.randint(10, len(data))] if number % 4 == 0 else data))
        try:
            for name in archives.open_archive(path).files:
                with sources.open_file(path / name) as file:
                    file.read()
        except FileProblem:
            refused += 1
    assert refused > 100


def test_a_damaged_member_is_told_and_the_others_are_read(decoder: Decoder, tmp_path: Path):
    one = make_dicom(tmp_path / "1.dcm", SOPInstanceUID="1.1").read_bytes()
    two = make_dicom(tmp_path / "2.dcm", SOPInstanceUID="1.2").read_bytes()
    path = archive(tmp_path / "a.zip", {"one": one, "two": two}, zipfile.ZIP_STORED)
    data = bytearray(path.read_bytes())
    data[data.index(b"1.2.3.4") + 1] ^= 1  # in the first member: its checksum is wrong now
    path.write_bytes(bytes(data))
    result = decoder.scan([path]).result(60)
    named = [problem.path.name for problem in result.problems]
    names = [i.path.name for study in result.studies for s in study.series for i in s.instances]
    assert (named, names) == (["one"], ["two"])


def test_only_the_beginning_of_a_large_member_is_inflated_for_its_header(tmp_path: Path):
    path = archive(tmp_path / "a.zip", {"IM1": b"\0" * 50_000_000}) / "IM1"
    sources.read_start(path, 512)
    content = archives._inflated_member(archives.find_member(path))  # pyright: ignore
    assert len(content._data) < 1_000_000


def test_an_archive_without_such_a_member_says_so(tmp_path: Path):
    path = archive(tmp_path / "a.zip", {"IM1": b"x"})
    with pytest.raises(FileProblem, match="no such file in the archive"):
        sources.open_file(path / "IM2")


def test_a_path_below_a_file_that_is_no_archive_is_refused(tmp_path: Path):
    path = tmp_path / "a.dcm"
    path.write_bytes(b"x" * 1000)
    with pytest.raises(FileProblem, match="damaged or cut short"):
        sources.open_file(path / "IM1")


@pytest.mark.skipif(os.name == "nt", reason="pipes of POSIX")
def test_a_pipe_that_took_the_files_place_is_not_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """Between the look at a file and its opening, anything may take its place."""
    path = tmp_path / "a.dcm"
    path.write_bytes(b"data")
    looked = path.stat()
    path.unlink()
    os.mkfifo(path)
    monkeypatch.setattr(type(path), "stat", lambda self, **_: looked)
    with pytest.raises(FileProblem, match="device or a pipe"):
        sources.open_file(path)


def test_two_members_read_in_turn_are_inflated_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    data = random.Random(1).randbytes(200_000)
    path = archive(tmp_path / "a.zip", {"IM1": data, "IM2": data})
    inflated: list[str] = []
    inflate = archives.Archive.inflate

    def counted(self: archives.Archive, info: zipfile.ZipInfo) -> object:
        inflated.append(info.filename)
        return inflate(self, info)

    monkeypatch.setattr(archives.Archive, "inflate", counted)
    for start in range(0, len(data), 50_000):
        for name in ("IM1", "IM2"):
            with sources.open_file(path / name) as file:
                file.seek(start)
                assert file.read(100) == data[start : start + 100]
    assert inflated == ["IM1", "IM2"]
