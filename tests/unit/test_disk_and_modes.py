"""What is written is for this user alone, and a full disk leaves no half file and no traceback."""

from __future__ import annotations

import errno
import logging
import os
import stat
import sys
import threading
import traceback
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from app import cli, log
from app.cli import main
from app.errors import FileProblem, SightlineError, unexpected
from app.headless.render import write_png
from app.imaging.processes import worker_process
from app.imaging.processes.futures import as_file_problem
from app.imaging.types import ImageRef
from app.tools import picture_sources
from app.tools.models.folder_changes import _share
from app.tools.models.records import read_record
from app.views.background import DaemonTasks

posix = pytest.mark.skipif(sys.platform == "win32", reason="modes and pipes of POSIX")
ORIGIN = picture_sources.Origin(ImageRef("1.2.3", 0, "a" * 64), None)


@pytest.fixture(autouse=True)
def own(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    monkeypatch.setenv("SIGHTLINE_HOME", str(tmp_path / "home"))
    before = os.umask(0o022)
    raises = logging.raiseExceptions
    yield
    os.umask(before)
    logging.raiseExceptions = raises
    log.set_up()


def modes(folder: Path) -> dict[str, int]:
    return {
        str(path.relative_to(folder)): stat.S_IMODE(path.stat().st_mode)
        for path in folder.rglob("*")
    }


@posix
def test_all_that_a_command_writes_is_for_this_user_alone(tmp_path: Path):
    Image.new("L", (40, 30), 90).save(tmp_path / "a.png")
    out = tmp_path / "out"
    source = str(tmp_path / "a.png")
    old = tmp_path / "home" / "log" / "sightline.log"
    old.parent.mkdir(parents=True)
    old.touch(0o644)
    old.parent.chmod(0o700)
    (tmp_path / "home").chmod(0o700)
    assert main(["tool", "image_visualizer", "--image", source, "--out", str(out)]) == 0
    assert main(["render", source, "--out", str(tmp_path / "b.png")]) == 0
    written = {**modes(tmp_path / "home"), **modes(out)}
    written["b.png"] = stat.S_IMODE((tmp_path / "b.png").stat().st_mode)
    assert len(written) > 5
    assert not {name: oct(mode) for name, mode in written.items() if mode & 0o077}


@posix
def test_models_follow_the_folder_that_several_users_may_share(tmp_path: Path):
    staged = tmp_path / "staged"
    (staged / "inner").mkdir(parents=True, mode=0o700)
    (staged / "inner" / "weights").touch(0o600)
    for folder, expected in ((0o755, (0o755, 0o644)), (0o700, (0o700, 0o600))):
        models = tmp_path / oct(folder)
        models.mkdir()
        models.chmod(folder)
        _share(staged, models)
        found = modes(staged)
        assert (found["inner"], found["inner/weights"]) == expected


def test_a_full_disk_prints_no_traceback_of_the_log(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    log.set_up(tmp_path)
    (file,) = (
        one for one in logging.getLogger("app").handlers if isinstance(one, logging.FileHandler)
    )

    def full(_text: str) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(file.stream, "write", full, raising=False)
    log.get_logger("test").info("a line")
    log.get_logger("test").warning("another")
    told = capsys.readouterr().err
    assert "Traceback" not in told
    assert "Logging error" not in told
    assert "another" in told


@pytest.mark.skipif(not hasattr(os, "fork"), reason="limits the size of files by fork and rlimit")
def test_a_file_that_the_disk_does_not_take_whole_leaves_nothing(tmp_path: Path):
    """`RLIMIT_FSIZE` refuses every write after 4 kB, as a full disk does."""
    import resource
    import signal

    from app.agent.json_forms import geometry_json
    from app.imaging.findings import Mask
    from app.tools.files import save_png
    from app.user_files import write_atomic

    noise = np.random.default_rng(1).integers(0, 255, (300, 300), dtype=np.uint8)
    refused = 0
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, before[1]))
    try:
        for work in (
            lambda: write_png(tmp_path / "a.png", noise),
            lambda: save_png(noise, tmp_path, "b"),
            lambda: write_atomic(tmp_path / "c", noise.tobytes()),
            lambda: geometry_json(Mask(noise > 100), tmp_path, "d"),
        ):
            with pytest.raises((OSError, SightlineError)):
                work()
            refused += 1
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, handler)
    assert refused == 4
    assert [one.name for one in tmp_path.iterdir() if one.name != "home"] == []


def test_too_little_memory_and_a_full_disk_have_texts_of_their_own(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    assert "free memory" in unexpected(MemoryError()).reason
    assert unexpected(OSError(errno.ENOSPC, "x")).reason == "The disk is full"
    assert "ValueError" in unexpected(ValueError("Jane Doe")).text
    assert "Doe" not in unexpected(ValueError("Jane Doe")).text
    problem = as_file_problem(MemoryError(), Path("a.dcm"))
    assert isinstance(problem, FileProblem)
    assert "unexpected" not in problem.text
    assert "free memory" in problem.text

    def hungry(_arguments: list[str]) -> int:
        raise MemoryError

    monkeypatch.setitem(cli._COMMANDS, "tools", hungry)
    assert main(["tools"]) == 1
    told = capsys.readouterr().err
    assert told.startswith("sightline: This computer has too little free memory")
    assert "Traceback" not in told


@pytest.mark.parametrize(
    "error",
    [
        RuntimeError("can't start new thread"),
        ImportError("libtorch_cpu.so: failed to map segment from shared object"),
        OSError(errno.ENOMEM, "Cannot allocate memory"),
    ],
)
def test_too_little_memory_is_told_whatever_the_errors_type(
    error: Exception, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    assert "free memory" in unexpected(error).reason
    detail = "".join(traceback.format_exception(error))
    rebuilt = worker_process._rebuild({"type": type(error).__name__, "detail": detail})
    assert "free memory" in str(rebuilt)

    def hungry(_arguments: list[str]) -> int:
        raise RuntimeError("can't start new thread")

    monkeypatch.setitem(cli._COMMANDS, "tools", hungry)
    assert main(["tools"]) == 1
    assert "free memory" in capsys.readouterr().err


def test_a_background_task_without_memory_says_so(
    monkeypatch: pytest.MonkeyPatch,
):
    texts: list[str] = []
    heard = threading.Event()
    tasks = DaemonTasks()

    def work(_token: Any) -> None:
        raise MemoryError

    monkeypatch.setattr(tasks, "_deliver", lambda _token, answer: (answer(), heard.set()))
    monkeypatch.setattr(tasks._post, "send", lambda call: call())
    tasks.run(work, lambda _answer: None, texts.append)
    assert heard.wait(30)
    assert texts == [unexpected(MemoryError()).text]


@posix
def test_a_pipe_in_place_of_a_file_hangs_nothing(tmp_path: Path):
    os.mkfifo(tmp_path / picture_sources.FILE)
    os.mkfifo(tmp_path / "model.record.toml")
    picture_sources.record(tmp_path, "a.png", ORIGIN)
    assert picture_sources.find(tmp_path, "a.png") is None
    assert read_record(tmp_path / "model.record.toml") is None


def test_a_note_that_was_cut_off_does_not_take_the_next_one_with_it(tmp_path: Path):
    picture_sources.record(tmp_path, "a.png", ORIGIN)
    file = tmp_path / picture_sources.FILE
    file.write_bytes(file.read_bytes()[:-9])
    picture_sources.record(tmp_path, "b.png", ORIGIN)
    assert picture_sources.find(tmp_path, "a.png") is None
    assert picture_sources.find(tmp_path, "b.png") == ORIGIN
    assert stat.S_IMODE(file.stat().st_mode) & 0o077 == 0
