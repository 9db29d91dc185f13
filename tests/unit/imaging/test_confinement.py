"""Child processes know no keys, and a decode worker writes, starts and connects nothing."""

from __future__ import annotations

import ctypes
import logging
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from app.imaging.processes import confinement, worker_process
from app.imaging.processes.confinement import can_confine, child_environment, landlock_version
from app.imaging.processes.worker_pool import WorkerPool
from app.imaging.processes.workers import Worker

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
    not can_confine(), reason="this kernel has no Landlock, or the machine no table of system calls"
)


@pytest.fixture
def keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in KEYS.items():
        monkeypatch.setenv(name, value)


@pytest.fixture
def worker() -> Iterator[Worker]:
    made = Worker("test", preload=(ENTRIES,), confined=True)
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
    worker = Worker("test", preload=(ENTRIES,))
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
def test_nothing_is_written_connected_started_or_looked_into(worker: Worker, tmp_path: Path):
    opened = folder_with(tmp_path / "opened")
    with socket.create_server(("127.0.0.1", 0)) as server:
        payload = {"folder": str(opened), "address": list(server.getsockname())}
        answers = call(worker, "attempts", payload)
    assert not {name: one for name, one in answers.items() if not one.startswith("refused")}
    assert sorted(one.name for one in opened.iterdir()) == ["kept"]
    assert (opened / "kept").read_bytes() == b"inside"


@needs_landlock
def test_what_decoding_needs_goes_on(worker: Worker):
    answer = call(worker, "needs")
    assert answer["thread"] == [1]
    assert answer["bytes"] != 128 * 1024**2  # the estimate where nothing can be read
    assert answer["array"].sum() == sum(range(2**18))


@needs_landlock
def test_it_knows_no_key_even_in_its_memory(keys: None, worker: Worker):
    told = call(worker, "environment")
    assert "planted" not in repr(told)


def test_a_system_without_landlock_decodes_as_before(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, tmp_path: Path
):
    monkeypatch.setattr(confinement, "landlock_version", lambda: 0)
    confinement.log_whether_confined.cache_clear()
    outside = folder_with(tmp_path / "outside")
    with caplog.at_level(logging.INFO, logger="app"):
        pool = WorkerPool(1, "test", preload=(ENTRIES,), confined=True)
        WorkerPool(1, "test", confined=True).close()
    try:
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
