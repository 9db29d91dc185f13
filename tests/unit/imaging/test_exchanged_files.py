"""Whatever is moved about in a folder, the index gives what a scan without it finds."""

from __future__ import annotations

import os
import random
import shutil
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from app.imaging.decode import Decoder
from app.imaging.types import Instance, ScanResult
from tests.unit.imaging.files import make_dicom

pytestmark = [
    pytest.mark.skipif(sys.platform == "win32", reason="Windows tells no time of change"),
    pytest.mark.usefixtures("forked"),
]

AGO_NS = 10**18
ROUNDS = 40
IMAGES = 24


class Shelf:
    """A folder whose images all have the same size and time, and are exchanged at random."""

    def __init__(self, folder: Path, seed: int) -> None:
        self.root = folder / "root"
        self._aside = folder / "aside"
        self._rng = random.Random(seed)
        self._images = [self._image(folder / "made.dcm", number) for number in range(IMAGES)]
        self.root.mkdir()
        for number in range(8):
            self._put(self.root / f"{number}.dcm", self._images[number])

    @staticmethod
    def _image(path: Path, number: int) -> bytes:
        """Some share a SOP Instance UID, and some a Study Instance UID with another patient."""
        return make_dicom(
            path,
            np.full((4, 4), number, np.uint16),
            PatientName=f"Pat^{number % 7}",
            PatientID=f"P{number % 7}",
            StudyInstanceUID=f"1.2.{number % 9}",
            SeriesInstanceUID=f"1.2.{number % 9}.{number % 2}",
            SOPInstanceUID=f"1.9.{(number // 10 * 10 if number % 10 < 2 else number) + 100}",
        ).read_bytes()

    def change(self) -> None:
        """Do something to the folder."""
        changes = (self._new, self._exchange, self._overwrite, self._link, self._symlink)
        more = (self._zip, self._cut, self._remove, self._rename)
        self._rng.choice((*changes, *more))()

    def _put(self, path: Path, data: bytes) -> None:
        path.write_bytes(data)
        os.utime(path, ns=(AGO_NS, AGO_NS))

    def _files(self) -> list[Path]:
        return sorted(p for p in self.root.rglob("*") if p.is_file() and not p.is_symlink())

    def _folders(self) -> list[Path]:
        return sorted(p for p in self.root.rglob("*") if p.is_dir() and not p.is_symlink())

    def _place(self, name: str) -> Path:
        return self._rng.choice([self.root, *self._folders()]) / name

    def _new(self) -> None:
        folder = self._place(f"d{self._rng.randrange(3)}")
        if len(folder.relative_to(self.root).parts) < 3:
            folder.mkdir(exist_ok=True)
        self._put(self._place(f"{self._rng.randrange(9)}.dcm"), self._rng.choice(self._images))

    def _exchange(self) -> None:
        first, second = self._rng.sample(self._files(), 2)
        first.rename(self._aside)
        second.rename(first)
        self._aside.rename(second)

    def _overwrite(self) -> None:
        self._put(self._rng.choice(self._files()), self._rng.choice(self._images))

    def _link(self) -> None:
        link = self._place(f"h{self._rng.randrange(3)}.dcm")
        if not link.exists():
            link.hardlink_to(self._rng.choice(self._files()))

    def _symlink(self) -> None:
        link = self._place(f"s{self._rng.randrange(2)}.dcm")
        link.unlink(missing_ok=True)
        link.symlink_to(os.path.relpath(self._rng.choice(self._files()), link.parent))

    def _zip(self) -> None:
        with zipfile.ZipFile(self._aside, "w") as made:
            made.writestr(zipfile.ZipInfo("1.dcm"), self._rng.choice(self._images))
        os.utime(self._aside, ns=(AGO_NS, AGO_NS))
        shutil.move(self._aside, self._place("a.zip"))

    def _cut(self) -> None:
        """So far that there is no image left."""
        path = self._rng.choice(self._files())
        self._put(path, path.read_bytes()[: self._rng.choice((0, 100, 400))])

    def _remove(self) -> None:
        if len(self._files()) > 6:
            self._rng.choice(self._files()).unlink()

    def _rename(self) -> None:
        path = self._rng.choice(self._files())
        path.rename(path.with_name(path.name.swapcase()))


@pytest.fixture(scope="module")
def own_decoder() -> Iterator[Decoder]:
    made = Decoder(2)
    yield made
    made.close()


def found(decoder: Decoder, index: Path | None, folder: Path) -> ScanResult:
    decoder._index = index
    return decoder.scan([folder]).result(60)


def told(result: ScanResult) -> tuple[Any, ...]:
    problems = sorted((str(one.path), one.reason, one.remedy) for one in result.problems)
    return result.studies, problems


def instances(result: ScanResult) -> list[Instance]:
    return [i for study in result.studies for one in study.series for i in one.instances]


@pytest.mark.parametrize("seed", [1, 2])
def test_files_of_equal_size_and_time_are_never_taken_for_each_other(
    own_decoder: Decoder, tmp_path: Path, seed: int
):
    index = tmp_path / "index" / "index"
    shelf = Shelf(tmp_path, seed)
    shown = 0
    for number in range(ROUNDS):
        shelf.change()
        if number % 3:
            continue
        plain = result = found(own_decoder, None, shelf.root)
        for _ in range(2):  # the second is restored
            result = found(own_decoder, index, shelf.root)
            assert told(result) == told(plain)
        for instance in instances(result)[::3]:
            frame = own_decoder.frame(instance).result(30)
            # The value of its pixels is the image's number, which its patient is named by.
            assert instance.get("PatientID") == f"P{frame.stored[0, 0] % 7}"
            assert frame.ref.sop_instance_uid == instance.sop_instance_uid
            shown += 1
    assert shown > 20
