"""Child processes know no keys, and a decode worker may read only what was opened."""

from __future__ import annotations

import ctypes
import logging
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from app.imaging.decode import Decoder
from app.imaging.processes import confinement, worker_process
from app.imaging.processes.confinement import child_environment, holds, landlock_version
from app.imaging.processes.worker_pool import WorkerPool
from app.imaging.processes.workers import Worker
from tests.unit.imaging.files import make_dicom

ENTRIES = "tests.unit.imaging.confined_entries"
KEYS = {
    "OPENAI_API_KEY": "sk-planted-1",
    "SIGHTLINE_ANTHROPIC_KEY": "sk-planted-2",
    "HF_TOKEN": "hf_planted-3",
    "AWS_SECRET_ACCESS_KEY": "planted-4",
    "https_proxy": "http://user:planted-5@proxy:80",
    "PGPASSWORD": "planted-6",
    "SSH_AUTH_SOCK": "/tmp/planted-7",
    "DBUS_SESSION_BUS_ADDRESS": "unix:path=/planted-8",
}

needs_landlock = pytest.mark.skipif(
    not holds(), reason="this kernel has no Landlock, or the machine no table of system calls"
)


@pytest.fixture
def keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in KEYS.items():
        monkeypatch.setenv(name, value)


@pytest.fixture
def worker() -> Iterator[Worker]:
    made = Worker("test", allowed=("tests.", "app."), preload=(ENTRIES,), confined=True)
    yield made
    made.close()


def call(worker: Worker, entry: str, payload: dict[str, Any] | None = None) -> dict[str, Any]:
    return worker.call(f"{ENTRIES}:{entry}", payload or {}, timeout_s=60)


def folder_with(path: Path, text: bytes = b"inside") -> Path:
    path.mkdir()
    (path / "kept").write_bytes(text)
    return path


def test_the_environment_has_no_key_and_what_libraries_need(keys: None):
    known = child_environment()
    assert not [name for name in known if name in KEYS]
    assert "planted" not in repr(known)
    assert known["PATH"] == os.environ["PATH"]
    wanted = {"CUDA_VISIBLE_DEVICES": "0", "LC_ALL": "C", "TMPDIR": "/t", "SIGHTLINE_HOME": "/h"}
    assert wanted.items() <= child_environment(wanted).items()


def test_a_child_of_any_kind_is_started_without_keys(keys: None):
    """Also in the bytes that its first program was given, which clearing variables leaves."""
    worker = Worker("test", allowed=("tests.",), preload=(ENTRIES,))
    try:
        told = call(worker, "environment")
        if sys.platform == "linux":
            assert "planted" not in Path(f"/proc/{worker.pid}/environ").read_text("utf-8")
    finally:
        worker.close()
    assert "planted" not in repr(told)
    assert told["variables"]["PATH"] == os.environ["PATH"]


def test_windows_gets_the_same_environment(keys: None):
    class Real:
        def CreateProcess(self, *given: Any) -> Any:
            return given

        def CloseHandle(self, handle: int) -> int:
            return handle

    starts = confinement._WindowsStarts(Real())
    for environment in (None, {**os.environ, "__PYVENV_LAUNCHER__": "py"}):
        given = starts.CreateProcess("python", "command", None, None, False, 0, environment, 1, 2)
        assert given[:6] == ("python", "command", None, None, False, 0)
        assert given[7:] == (1, 2)
        assert "planted" not in repr(given)
        assert given[6].get("__PYVENV_LAUNCHER__") == (environment and "py")
    assert starts.CloseHandle(4) == 4


def test_no_child_imports_from_the_folder_that_is_looked_at(tmp_path: Path):
    """`multiprocessing` starts its children with "" first on the path: a DICOM folder may be it."""
    (tmp_path / "multiprocessing").mkdir()
    (tmp_path / "multiprocessing" / "__init__.py").write_text("raise SystemExit('taken over')")
    program = (
        "import sys; sys.path = [one for one in sys.path if one]\n"
        "from app.imaging.processes.workers import Worker\n"
        "if __name__ == '__main__':\n"
        "    worker = Worker('test')\n"
        "    worker.start()\n"
        "    print('started')\n"
        "    worker.close()\n"
    )
    script = tmp_path.parent / f"{tmp_path.name}.py"
    script.write_text(program)
    variables = {**os.environ, "PYTHONPATH": str(Path.cwd()), "PYTHONSAFEPATH": ""}
    done = subprocess.run(
        [sys.executable, str(script)],
        cwd=tmp_path,
        env=variables,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.stdout == "started\n", done.stderr


@needs_landlock
def test_a_worker_reads_only_what_was_opened(worker: Worker, tmp_path: Path):
    opened, other = folder_with(tmp_path / "opened"), folder_with(tmp_path / "other", b"secret")
    link = opened / "link"
    link.symlink_to(other / "kept")
    worker.roots = (str(opened),)
    paths = [str(one / "kept") for one in (opened, other)] + [str(link), "/etc/passwd"]
    inside, outside, linked, system = call(worker, "read", {"paths": paths}).values()
    assert inside == "done: b'insi'"
    for one in (outside, linked, system):
        assert one == "refused: Permission denied"


@needs_landlock
def test_a_single_file_opens_only_itself_and_what_it_names(worker: Worker, tmp_path: Path):
    plain = folder_with(tmp_path / "plain")
    (plain / "a.dcm").write_bytes(b"one file")
    named = folder_with(tmp_path / "named")
    (named / "a.nhdr").write_bytes(b"NRRD0004\ntype: short\ndata file: kept\n")
    local = folder_with(tmp_path / "local")
    (local / "a.mha").write_bytes(b"ObjectType = Image\nElementDataFile =  LOCAL\n")
    worker.roots = tuple(map(str, (plain / "a.dcm", named / "a.nhdr", local / "a.mha")))
    paths = [*worker.roots, *(str(one / "kept") for one in (plain, named, local))]
    answers = list(call(worker, "read", {"paths": paths}).values())
    assert [one.startswith("done") for one in answers] == [True, True, True, False, True, False]


@needs_landlock
def test_nothing_is_written_connected_started_or_looked_into(worker: Worker, tmp_path: Path):
    opened = folder_with(tmp_path / "opened")
    worker.roots = (str(opened),)
    with socket.create_server(("127.0.0.1", 0)) as server:
        payload = {"folder": str(opened), "address": list(server.getsockname())}
        answers = call(worker, "attempts", payload)
    assert not {name: one for name, one in answers.items() if not one.startswith("refused")}
    assert sorted(one.name for one in opened.iterdir()) == ["kept"]
    assert (opened / "kept").read_bytes() == b"inside"


@needs_landlock
def test_what_decoding_needs_goes_on(worker: Worker, tmp_path: Path):
    worker.roots = (str(tmp_path),)
    answer = call(worker, "needs")
    assert answer["thread"] == [1]
    assert answer["bytes"] != 128 * 1024**2  # the estimate where nothing can be read
    assert answer["array"].sum() == sum(range(2**18))


@needs_landlock
def test_it_knows_no_key_even_in_its_memory(keys: None, worker: Worker):
    told = call(worker, "environment")
    assert "planted" not in repr(told)
    spare = next(_spares(worker))
    assert "planted" not in Path(f"/proc/{spare}/environ").read_text("utf-8")


def _spares(worker: Worker) -> Iterator[int]:
    deadline = time.monotonic() + 60
    while worker._spare is None:
        assert time.monotonic() < deadline
        time.sleep(0.02)
    assert worker._spare.pid is not None
    yield worker._spare.pid


@needs_landlock
def test_what_is_opened_later_is_read_by_a_fresh_worker(tmp_path: Path):
    first, second = folder_with(tmp_path / "a"), folder_with(tmp_path / "b")
    pool = WorkerPool(1, "test", allowed=("tests.",), preload=(ENTRIES,), confined=True)
    paths = {"paths": [str(first / "kept"), str(second / "kept")]}
    try:
        pool.admit([str(first)])
        before = pool.submit(f"{ENTRIES}:read", paths).result(60)
        pid = next(_spares(pool._workers[0]))
        pool.admit([str(second)])
        after = pool.submit(f"{ENTRIES}:read", paths).result(60)
        assert pool._workers[0].pid == pid  # it was there before it was needed
    finally:
        pool.close()
    assert [one.startswith("done") for one in before.values()] == [True, False]
    assert [one.startswith("done") for one in after.values()] == [True, True]


@needs_landlock
def test_a_decoder_opens_one_folder_after_another(tmp_path: Path):
    decoder = Decoder(1)
    try:
        for name in ("a", "b"):
            (tmp_path / name).mkdir()
            make_dicom(tmp_path / name / "image.dcm")
            found = decoder.scan([tmp_path / name]).result(60)
            frame = decoder.frame(found.studies[0].series[0].instances[0]).result(60)
            assert frame.stored.size
        workers = [one for one in decoder._pool._workers if one.pid is not None]
        assert all(one.roots == (str(tmp_path / "a"), str(tmp_path / "b")) for one in workers)
    finally:
        decoder.close()


def test_a_system_without_landlock_decodes_as_before(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, tmp_path: Path
):
    monkeypatch.setattr(confinement, "landlock_version", lambda: 0)
    confinement.log_whether_confined.cache_clear()
    outside = folder_with(tmp_path / "outside")
    with caplog.at_level(logging.INFO, logger="app"):
        pool = WorkerPool(1, "test", allowed=("tests.",), preload=(ENTRIES,), confined=True)
        WorkerPool(1, "test", confined=True).close()
    try:
        pool.admit([str(tmp_path / "opened")])
        answer = pool.submit(f"{ENTRIES}:read", {"paths": [str(outside / "kept")]}).result(60)
    finally:
        pool.close()
        confinement.log_whether_confined.cache_clear()
    assert list(answer.values()) == ["done: b'insi'"]
    told = [record.message for record in caplog.records if "confine" in record.message]
    assert len(told) == 1


def test_a_kernel_that_refuses_is_told_once(caplog: pytest.LogCaptureFixture):
    worker_process._log_unconfined.cache_clear()
    for _ in range(3):
        worker_process._log_unconfined()
    worker_process._log_unconfined.cache_clear()
    assert len([record for record in caplog.records if "refused" in record.message]) == 1


@pytest.mark.skipif(
    not Path("/usr/include/x86_64-linux-gnu/asm/unistd_64.h").is_file(),
    reason="the kernel's headers are not installed",
)
def test_the_table_of_system_calls_is_the_kernel_s():
    text = Path("/usr/include/x86_64-linux-gnu/asm/unistd_64.h").read_text("ascii")
    known = {
        words[1].removeprefix("__NR_"): int(words[2])
        for line in text.splitlines()
        if len(words := line.split()) == 3 and words[1].startswith("__NR_")
    }
    table = confinement._tables()["x86_64"]
    numbers = {**table["refused"], **table}
    compared = {name for name in numbers if name in known}
    assert len(compared) > 70
    assert all(numbers[name] == known[name] for name in compared)


@needs_landlock
def test_landlock_and_ctypes_agree_on_the_version():
    assert landlock_version() == ctypes.CDLL(None).syscall(444, None, 0, 1)


@needs_landlock
def test_a_file_that_was_replaced_since_is_read_when_it_is_opened_again(tmp_path: Path):
    """A rule is for the file that was there: an export puts another one in its place."""
    path = tmp_path / "a.dcm"
    decoder = Decoder(1)
    try:
        assert decoder.scan([path]).result(60).problems
        for rows in (4, 8):
            make_dicom(tmp_path / "new", np.zeros((rows, 5), np.uint16)).replace(path)
            (study,) = decoder.scan([path]).result(60).studies
            assert decoder.frame(study.series[0].instances[0]).result(60).rows == rows
    finally:
        decoder.close()
