"""The window answers within 50 ms whatever befalls the model process: promised, so measured."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pydicom.data
import pytest

from app.errors import Cancelled, SightlineError
from app.tools.api import CancelToken
from app.tools.hosting.host import ProcessHost
from app.tools.needs import is_installed
from app.wiring import Program, ViewRequest, build_window
from tests.gui.heartbeat import Heartbeat, stall_ms
from tests.gui.test_opening_stalls import Hand
from tests.gui.viewer_support import WaitUntil

ATTEMPTS = 5
ENTRIES = "tests.unit.tools.serving_entries"
MIB = 2**20

pytestmark = [
    pytest.mark.gui,
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform == "win32", reason="there is no kill -9"),
    pytest.mark.skipif(not is_installed("torch"), reason="the AI packages are not installed"),
]


class Troubles:
    """What may befall the model process, each as a call that returns what came of it."""

    def __init__(self, host: ProcessHost, folder: Path) -> None:
        self._host = host
        self._file = folder / "a.safetensors"
        self._file.write_bytes(b"x" * 100)

    def call(
        self,
        entry: str,
        *,
        progress: Callable[[float, str], None] | None = None,
        cancel: CancelToken | None = None,
        timeout_s: float = 60.0,
        **payload: Any,
    ) -> str:
        """Call it; "done", or the error's reason."""
        source = {"name": "a", "path": str(self._file), "sha256": "", "memory": {}}
        try:
            self._host.call(
                f"{ENTRIES}:{entry}",
                {"model": source, "device": "cpu", **payload},
                cancel=cancel or CancelToken(),
                timeout_s=timeout_s,
                progress=progress,
            )
        except Cancelled:
            return "cancelled"
        except SightlineError as error:
            return error.reason
        return "done"

    def starts(self) -> str:
        """A process starts, and imports torch."""
        self._host.unload()
        return self.call("run")

    def loads(self) -> str:
        """Models of 100 MB come and go."""
        return self.call("cycles", size=5000, count=3)

    def memory(self) -> str:
        """The work wants more memory than there is."""
        return self.call("capped", wants=800 * MIB, left=300 * MIB)

    def killed(self) -> str:
        """kill -9 in the middle of the work; it is done in a fresh process."""
        self.call("run")
        first = self._host.pids["cpu"]

        def kill(fraction: float, text: str) -> None:
            if text.startswith("step 5") and self._host.pids["cpu"] == first:
                os.kill(first, signal.SIGKILL)

        return self.call("run", steps=20, progress=kill)

    def stopped(self) -> str:
        """The user stops it."""
        cancel = CancelToken()

        def stop(fraction: float, text: str) -> None:
            if text.startswith("step 5"):
                cancel.cancel()

        return self.call("run", steps=50, progress=stop, cancel=cancel)

    def hangs(self) -> str:
        """It never answers again, and is ended at its time-out."""
        return self.call("hang", timeout_s=1.0)


@pytest.fixture
def host() -> Iterator[ProcessHost]:
    made = ProcessHost()
    yield made
    made.close()


@pytest.fixture
def hand(wait_until: WaitUntil) -> Iterator[Hand]:
    """Somebody who scrolls and moves in a window with an image."""
    program = Program()
    window = build_window(program, ViewRequest())
    window.show()
    window.open_paths([Path(str(pydicom.data.get_testdata_file("CT_small.dcm")))])
    hand = Hand(window)
    try:
        wait_until(lambda: window.canvas.picture is not None and hand.steps > 60, timeout=30)
        yield hand
    finally:
        hand.stop()
        wait_until(lambda: not window.busy, timeout=30)
        window.close()
        program.close()


def _beside(trouble: Callable[[], str], wait_until: WaitUntil) -> str:
    """What came of it, while the window goes on."""
    came: list[str] = []
    thread = threading.Thread(target=lambda: came.append(trouble()))
    thread.start()
    wait_until(lambda: not thread.is_alive(), timeout=120)
    thread.join()
    return came[0]


@pytest.mark.timeout(400)
def test_the_window_answers_whatever_befalls_the_model_process(
    host: ProcessHost,
    tmp_path: Path,
    hand: Hand,
    wait_until: WaitUntil,
    gui_heartbeat: Heartbeat,
):
    troubles = Troubles(host, tmp_path)
    expected = {
        troubles.starts: "done",
        troubles.loads: "done",
        troubles.memory: "too small",
        troubles.killed: "done",
        troubles.stopped: "cancelled",
        troubles.hangs: "took too long",
    }
    states: list[str] = []
    end = host.subscribe(lambda state: states.append(str(state.state)))
    stalls: dict[str, list[float]] = {}
    for trouble, outcome in expected.items():
        found = stalls.setdefault(trouble.__name__, [])
        # Other programs can only lengthen a stall: quiet once is proof. See `heartbeat.best`.
        while not found or (min(found) >= stall_ms() and len(found) < ATTEMPTS):
            gui_heartbeat.restart()
            assert outcome in _beside(trouble, wait_until)
            found.append(round(gui_heartbeat.longest_ms, 1))
    end()
    print(f"\nlongest stalls, ms: {stalls}")  # noqa: T201 - asked for by the issue
    assert max(min(found) for found in stalls.values()) < stall_ms(), stalls
    assert {"loading", "busy", "ready", "failed"} <= set(states)
