"""Nothing outside of what was opened is read or written, whatever names and links say."""

from __future__ import annotations

import os
import shutil
import socket
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pydicom
import pytest

from app.errors import FileProblem
from app.imaging.decode import Decoder
from app.imaging.types import Instance
from tests.faults.bounds import assert_cheap, assert_refused
from tests.faults.hostile_files import nifti, nrrd, zip_of
from tests.faults.opening import opened
from tests.unit.imaging.files import item, make_dicom, save_dicom

pytestmark = [
    pytest.mark.skipif(os.name == "nt", reason="links, pipes and /proc of POSIX"),
    pytest.mark.filterwarnings("ignore::UserWarning:pydicom"),  # names that no DICOMDIR may have
]

DIRECTORY = "1.2.840.10008.1.3.10"


@dataclass
class Place:
    """A chosen folder with a good image, and a canary outside of it that must not be read."""

    base: Path
    chosen: Path
    outside: Path
    good: Path
    canary: Path


@pytest.fixture
def place(tmp_path: Path) -> Place:
    chosen, outside = tmp_path / "chosen", tmp_path / "canary"
    chosen.mkdir()
    outside.mkdir()
    good = make_dicom(chosen / "good.dcm")
    return Place(tmp_path, chosen, outside, good, make_dicom(outside / "secret.dcm"))


def test_the_watch_sees_what_is_read_outside(place: Place):
    """The witness itself: the canary opened by its own name is noted, in the worker."""
    found = opened(place.base, place.outside, place.canary)
    assert found.shown == (str(place.canary),)
    assert any("secret.dcm" in line for line in found.watched)


def test_links_in_a_folder_are_not_followed_out_of_it(place: Place):
    (place.chosen / "file.dcm").symlink_to(place.canary)
    (place.chosen / "folder").symlink_to(place.outside, target_is_directory=True)
    (place.chosen / "a.zip").symlink_to(place.outside / "b.zip")
    (place.chosen / "inner.dcm").symlink_to("good.dcm")
    (place.chosen / "circle").symlink_to(place.chosen, target_is_directory=True)
    (place.chosen / "loop").symlink_to("loop")
    deep = place.chosen / "one" / "two"
    deep.mkdir(parents=True)
    (deep / "file.dcm").symlink_to("../../../canary/secret.dcm")
    (deep / "up").symlink_to("../..", target_is_directory=True)
    (deep / "near.dcm").symlink_to("../../good.dcm")
    (place.outside / "b.zip").write_bytes(zip_of({"IM": place.canary.read_bytes()}))
    opened(place.base, place.outside, place.chosen)
    found = opened(place.base, place.outside, place.chosen)  # and by the index, the second time
    assert found.watched == ()
    assert str(place.good) in found.shown
    assert not any("canary" in path for path in found.listed)
    told = {Path(path).relative_to(place.chosen).as_posix() for path, _ in found.problems}
    assert {"file.dcm", "folder", "a.zip", "one/two/file.dcm", "circle"} <= told
    assert "leads out of the folder" in found.reasons


def test_a_link_that_the_user_names_is_his_choice(place: Place, decoder: Decoder):
    link = place.chosen / "mine.dcm"
    link.symlink_to(place.canary)
    assert assert_cheap(decoder, link).shown == 1
    folder = place.base / "mine"
    folder.symlink_to(place.outside, target_is_directory=True)
    assert assert_cheap(decoder, folder).shown == 1


def test_what_is_no_file_is_refused_at_once(place: Place, decoder: Decoder):
    os.mkfifo(place.chosen / "pipe.dcm")
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(os.path.relpath(place.chosen / "socket.dcm"))
        for name, device in (("zero.dcm", "/dev/zero"), ("random.zip", "/dev/urandom")):
            (place.chosen / name).symlink_to(device)
        place.good.unlink()
        cost = assert_refused(decoder, place.chosen)
        assert len(cost.reasons) >= 4
        for name in ("pipe.dcm", "socket.dcm", "zero.dcm", "random.zip"):
            assert_refused(decoder, place.chosen / name, "device or a pipe")


NAMES = {
    "parent": ["..", "canary", "secret.dcm"],
    "parent in one": ["../canary/secret.dcm"],
    "deep": ["a", "..", "..", "canary", "secret.dcm"],
    "absolute": ["/{canary}"],
    "drive": ["C:", "canary", "secret.dcm"],
    "drive path": ["C:\\canary\\secret.dcm"],
    "UNC": ["\\\\server\\share\\secret.dcm"],
    "backslash": ["..\\canary\\secret.dcm"],
    "device": ["/dev/zero"],
    "many": ["a"] * 5000,
    "long": ["a" * 60_000],
    "itself": ["DICOMDIR"],
    "link": ["LINK"],
    "folder link": ["FOLDER", "secret.dcm"],
}


def directory(folder: Path, records: list[pydicom.Dataset]) -> Path:
    """A DICOMDIR of these records."""
    elements: dict[str, Any] = {"SOPClassUID": DIRECTORY, "DirectoryRecordSequence": records}
    elements["FileSetID"] = "A"
    return save_dicom(folder / "DICOMDIR", elements)


@pytest.mark.parametrize("inner", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_what_a_dicomdir_names_outside_of_its_folder(place: Place, inner: bool):
    (place.chosen / "LINK").symlink_to(place.canary)
    (place.chosen / "FOLDER").symlink_to(place.outside, target_is_directory=True)
    records = [
        item(
            DirectoryRecordType="IMAGE",
            ReferencedFileID=[part.replace("{canary}", str(place.canary)[1:]) for part in parts],
        )
        for parts in (["good.dcm"], *NAMES.values())
    ]
    path = directory(place.chosen, records)
    if inner:  # the reading of its folder passes it over, and finds the image by itself
        found = opened(place.base, place.outside, place.chosen)
    else:
        found = opened(place.base, place.outside, path)
        assert "outside of its folder" in found.reasons
        assert "leads out of the DICOMDIR's folder" in found.reasons
    assert found.watched == ()
    assert found.shown == (str(place.good),)


def test_dicomdirs_that_go_round_in_circles(place: Place, decoder: Decoder):
    records = [
        item(
            DirectoryRecordType="IMAGE",
            OffsetOfTheNextDirectoryRecord=368,
            OffsetOfReferencedLowerLevelDirectoryEntity=368,
            RecordInUseFlag=0 if number % 2 else 0xFFFF,
            ReferencedFileID="good.dcm" if number == 0 else "DICOMDIR",
        )
        for number in range(2000)
    ]
    path = directory(place.chosen, records)
    cost = assert_cheap(decoder, path)
    assert cost.shown == 1 or cost.reasons


def test_names_of_zip_members_that_lead_out(place: Place):
    good = place.good.read_bytes()
    names = ["../canary/new.dcm", "/tmp/x.dcm", "C:\\x.dcm", "\\\\server\\x", "a/../../x", "..\\x"]
    path = place.base / "names.zip"
    path.write_bytes(zip_of({"IM0001": good, **dict.fromkeys(names, good)}))
    found = opened(place.base, place.outside, path)
    assert found.watched == ()
    assert found.shown == (f"{path}/IM0001",)
    assert "leads out of the archive" in found.reasons
    assert sorted(one.name for one in place.outside.iterdir()) == ["secret.dcm"]


def test_headers_that_name_pixels_outside(place: Place):
    raw = bytes(8 * 8 * 4 * 2)
    (place.outside / "secret.raw").write_bytes(raw)
    for number, name in enumerate(("../canary/secret.raw", str(place.outside / "secret.raw"))):
        head = nrrd("8 8 4", "raw").replace(b"\n\n", f"\ndata file: {name}\n\n".encode())
        (place.chosen / f"{number}.nhdr").write_bytes(head)
    (place.chosen / "link.raw").symlink_to(place.outside / "secret.raw")
    head = nrrd("8 8 4", "raw").replace(b"\n\n", b"\ndata file: link.raw\n\n")
    (place.chosen / "2.nhdr").write_bytes(head)
    pair = nifti((8, 8, 4)).replace(b"n+1\0", b"ni1\0")
    (place.chosen / "pair.hdr").write_bytes(pair)
    (place.chosen / "pair.img").symlink_to(place.outside / "secret.raw")
    found = opened(place.base, place.outside, place.chosen)
    assert found.watched == ()
    assert found.shown == (str(place.good),)
    assert len(found.problems) >= 4


def only(decoder: Decoder, path: Path) -> Instance:
    return decoder.scan([path]).result(60).studies[0].series[0].instances[0]


def test_a_file_that_is_replaced_or_cut_between_scan_and_decoding(tmp_path: Path, decoder: Decoder):
    pixels = np.arange(64 * 64, dtype=np.uint16).reshape(64, 64)
    for number, change in enumerate(("replaced", "cut", "gone", "a folder", "a pipe")):
        path = make_dicom(tmp_path / f"{number}.dcm", pixels)
        instance = only(decoder, path)
        if change == "cut":
            os.truncate(path, 2000)
        else:
            path.unlink()
            if change == "replaced":
                make_dicom(path, pixels[::-1].copy(), PatientID="P2")
            elif change == "a folder":
                path.mkdir()
            elif change == "a pipe":
                os.mkfifo(path)
        with pytest.raises(FileProblem) as caught:
            decoder.frame(instance).result(20)
        assert caught.value.subject == str(path), change
        assert caught.value.reason


@pytest.fixture
def flickering(tmp_path: Path) -> Iterator[Path]:
    """A file that is cut short and made whole again, all the time."""
    path = make_dicom(tmp_path / "a.dcm", np.zeros((40, 512, 512), np.uint16), NumberOfFrames=40)
    whole = path.read_bytes()
    stop = threading.Event()

    def change() -> None:
        while not stop.is_set():
            os.truncate(path, 3000)
            path.write_bytes(whole)

    changer = threading.Thread(target=change)
    changer.start()
    yield path
    stop.set()
    changer.join()


def test_a_file_that_is_cut_while_it_is_read(flickering: Path, decoder: Decoder, tmp_path: Path):
    """The window's process maps no file, so that none can take it away (SIGBUS)."""
    refused = 0
    for _ in range(40):
        result = decoder.scan([flickering]).result(60)
        for study in result.studies:
            instance = study.series[0].instances[0]
            for index in (0, instance.frames - 1):
                error = decoder.frame(instance, index).exception(60)
                assert error is None or isinstance(error, FileProblem)
                refused += error is not None
        refused += len(result.problems)
    assert refused
    good = shutil.copyfile(make_dicom(tmp_path / "b.dcm"), tmp_path / "c.dcm")
    assert assert_cheap(decoder, good).shown == 1
