"""The process that hosts a `Decoder`, as the window's process does, and feeds it mutants.

`python -m tests.faults.host ARGUMENTS` (JSON) writes one JSON line for each mutant and for each
batch; `run.py` starts it, and notices when it dies or falls silent.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import TimeoutError as Late
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import pydicom

from app.errors import FileProblem
from app.imaging import decode
from app.imaging.decode import Decoder
from app.imaging.pixels.pipeline import render
from app.imaging.types import Content, Frame, Instance, ScanResult
from tests.faults.mutate import Mutant, mutant
from tests.faults.seeds import put_directory, seeds

CONTROL = Path(pydicom.__file__).parent / "data" / "test_files" / "CT_small.dcm"
CONTROL_S = 2.0
_BEYOND_S = 20.0
_RENDER_S = 2.0
_CACHE_BYTES = 16 * 2**20
_AT_ONCE = 3
RAW = re.compile(
    r"Traceback|\[Errno|\w(Error|Exception)\b|<class |object at 0x|unexpected error|\bNone\b|nan\b"
)
_DEATHS = ("process crashed", "process was ended", "process ended", "process stopped", "too much")


@dataclass(slots=True)
class Outcome:
    """What became of a mutant.

    Attributes:
        number: Which it was.
        kind: Of its seed.
        name: Its seed.
        how: What was done to it.
        result: "shown", "listed" (it has nothing to be shown), "refused", "died" (a worker) or
            "late" (a worker, stopped in time).
        seconds: Its slowest request.
        reason: Of the last refusal.
        failures: What must not be.
    """

    number: int
    kind: str
    name: str
    how: tuple[str, ...]
    result: str = "refused"
    seconds: float = 0.0
    reason: str = ""
    failures: list[str] = field(default_factory=list[str])

    def refuse(self, path: Path, error: BaseException) -> None:
        """Note an error, which must be a typed one that names the file in plain words."""
        if not isinstance(error, FileProblem):
            self.failures.append(f"{type(error).__name__}: {error}"[:300])
            return
        self.tell(path, error.subject, error.reason)

    def tell(self, path: Path, subject: str, reason: str) -> None:
        """Note a reason; it must be there, be plain, and name the file."""
        self.reason = reason
        self.result = "refused" if self.result == "listed" else self.result
        if not reason or RAW.search(reason):
            self.failures.append(f"no plain reason: {reason!r}")
        if not _names(subject, path):
            self.failures.append(f"the error names {subject!r}")
        if "took too long" in reason:
            self.result = "late"
        elif any(words in reason for words in _DEATHS):
            self.result = "died"


def _names(subject: str, path: Path) -> bool:
    """The file itself, a member of it, or what a DICOMDIR that is it names."""
    base = path.parent if path.name == "DICOMDIR" else path
    return subject == str(path) or subject.startswith((f"{path}{os.sep}", f"{base}{os.sep}"))


class Host:
    """A decoder and the folder that its files lie in."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.decoder = Decoder(2, cache_bytes=_CACHE_BYTES, index=folder / "index")
        self.limit_s = decode.FRAME_TIMEOUT_S + _BEYOND_S
        self.control = folder / "control.dcm"
        shutil.copyfile(CONTROL, self.control)
        target = folder / "target.dcm"
        shutil.copyfile(CONTROL, target)
        self.target = self._only(target)

    def _only(self, path: Path) -> Instance:
        return self.decoder.scan([path]).result(30).studies[0].series[0].instances[0]

    def good_image(self) -> float:
        """Seconds until the control image is there, scanned and decoded anew."""
        os.utime(self.control)
        started = time.perf_counter()
        frame = self.decoder.frame(self._only(self.control)).result(30)
        assert frame.stored.shape == (128, 128)
        return time.perf_counter() - started

    def batch(self, mutants: Sequence[Mutant]) -> list[Outcome]:
        """Open a folder of mutants and all that is in it."""
        place = self.folder / f"batch{mutants[0].number:06d}"
        paths = {self._write(place, one): one for one in mutants}
        outcomes = {
            path: Outcome(one.number, one.seed.kind, one.seed.name, one.how)
            for path, one in paths.items()
        }
        listed = [path for path in paths if path.name == "DICOMDIR"]
        opened = [place / "files", *listed]
        result = self.decoder.scan([path for path in opened if path.exists()]).result(
            self.limit_s * len(mutants)
        )
        instances = self._sorted(result, outcomes)
        with ThreadPoolExecutor(_AT_ONCE) as threads:
            list(threads.map(lambda p: self._show(p, instances[p], outcomes[p]), paths))
        self._volumes(result, outcomes)
        shutil.rmtree(place)
        return list(outcomes.values())

    def _write(self, place: Path, one: Mutant) -> Path:
        if one.seed.suffix == "DICOMDIR":
            return put_directory(place / "dirs" / f"{one.number:06d}", one.data)
        path = place / "files" / f"{one.number:06d}{one.seed.suffix}"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(one.data)
        return path

    def _sorted(
        self, result: ScanResult, outcomes: dict[Path, Outcome]
    ) -> dict[Path, list[Instance]]:
        """Each mutant's instances; one of which the scan says nothing at all is a failure."""
        found: dict[Path, list[Instance]] = {path: [] for path in outcomes}
        told: set[Path] = set()
        for study in result.studies:
            for series in study.series:
                for instance in series.instances:
                    owner = _owner(instance.path, outcomes)
                    if owner is not None:
                        found[owner].append(instance)
        for problem in result.problems:
            owner = _owner(problem.path, outcomes)
            if owner is not None:
                told.add(owner)
                if not problem.remark:
                    outcomes[owner].tell(owner, str(problem.path), problem.reason)
        for path, outcome in outcomes.items():
            if not found[path] and path not in told:
                outcome.failures.append("the scan says nothing of it")
        return found

    def _show(self, path: Path, instances: list[Instance], outcome: Outcome) -> None:
        """All that the window asks for when an image, report or layer is opened."""
        if instances and not outcome.reason:
            outcome.result = "listed"
        for instance in instances[:3]:
            for call in self._calls(instance):
                started = time.perf_counter()
                shown = self._await(path, call, outcome)
                outcome.seconds = max(outcome.seconds, time.perf_counter() - started)
                if shown and outcome.result in ("refused", "listed"):
                    outcome.result = "shown"

    def _calls(self, instance: Instance) -> list[Callable[[], Future[Any]]]:
        decoder = self.decoder
        calls: list[Callable[[], Future[Any]]] = []
        if instance.has_frames:
            calls.append(lambda: decoder.frame(instance, 0))
            if instance.frames > 1:
                calls.append(lambda: decoder.frame(instance, instance.frames - 1))
            calls.append(lambda: decoder.thumbnail(instance))
        if instance.content is Content.REPORT or instance.content is Content.KEY_OBJECTS:
            calls.append(lambda: decoder.report(instance))
        if instance.content is Content.PRESENTATION:
            calls.append(lambda: decoder.presentation(instance))
        if instance.content in _LAYERS:
            calls.append(lambda: decoder.layer(instance))
            calls.append(lambda: decoder.layer_frame(instance, self.target, 0))
        return [*calls, lambda: decoder.attributes(instance)]

    def _await(self, path: Path, call: Callable[[], Future[Any]], outcome: Outcome) -> bool:
        """Wait for an answer, draw it if it is a frame; whether anything was shown."""
        try:
            answer = call().result(self.limit_s)
        except Late:
            outcome.failures.append(f"no answer within {self.limit_s:g} s")
            return False
        except BaseException as error:
            outcome.refuse(path, error)
            return False
        if not isinstance(answer, Frame):
            return not isinstance(answer, list)
        started = time.thread_time()
        try:
            picture = render(answer)
            assert picture.shape[:2] == answer.stored.shape[:2]
        except BaseException as error:
            outcome.failures.append(f"drawing: {type(error).__name__}: {error}"[:300])
        if time.thread_time() - started > _RENDER_S:
            outcome.failures.append(f"drawing took {time.thread_time() - started:.1f} s")
        return True

    def _volumes(self, result: ScanResult, outcomes: dict[Path, Outcome]) -> None:
        """The voxels of what may form a volume."""
        several = [
            series
            for study in result.studies
            for series in study.series
            if sum(one.frames for one in series.instances if one.has_frames) > 2
        ]
        for series in several[:2]:
            owner = _owner(series.instances[0].path, outcomes)
            try:
                self.decoder.volume(series).result(self.limit_s)
            except FileProblem as error:
                if owner is not None and (not error.reason or RAW.search(error.reason)):
                    outcomes[owner].failures.append(f"volume: no plain reason: {error.reason!r}")
            except BaseException as error:
                if owner is not None:
                    text = f"volume: {type(error).__name__}: {error}"[:300]
                    outcomes[owner].failures.append(text)


_LAYERS = (Content.SEGMENTATION, Content.STRUCTURES)


def _owner(path: Path, outcomes: dict[Path, Outcome]) -> Path | None:
    """The mutant that a path belongs to: itself, its archive, its DICOMDIR."""
    for candidate in (path, *path.parents):
        if candidate in outcomes:
            return candidate
        if candidate / "DICOMDIR" in outcomes:
            return candidate / "DICOMDIR"
    return None


def resident() -> int:
    """Bytes of memory that this process holds; 0 where the system does not say."""
    status = Path("/proc/self/status")
    for line in status.read_text(encoding="ascii").splitlines() if status.exists() else ():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) * 1024
    return 0


def main(arguments: dict[str, Any]) -> None:
    """Feed mutants `first` to `last` of run `seed`, `size` at a time."""
    folder = Path(arguments["folder"])
    (folder / "made").mkdir(parents=True, exist_ok=True)
    files = seeds(folder / "made", shared=arguments["shared"])
    host = Host(folder)
    host.good_image()
    numbers: list[int] = arguments["numbers"]
    for start in range(0, len(numbers), arguments["size"]):
        chosen = [
            mutant(files, arguments["seed"], n) for n in numbers[start : start + arguments["size"]]
        ]
        if arguments["keep"]:
            for one in chosen:
                name = f"{one.number:06d}{one.seed.suffix}"
                (Path(arguments["keep"]) / name).write_bytes(one.data)
        say({"begin": [one.number for one in chosen]})
        for outcome in host.batch(chosen):
            say({"outcome": asdict(outcome)})
        say({"batch": chosen[-1].number, "good_s": host.good_image(), "rss": resident()})
    host.decoder.close()
    say({"end": True})


def say(message: dict[str, Any]) -> None:
    """Tell the parent process: one line of JSON."""
    sys.stdout.write(json.dumps(message) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
