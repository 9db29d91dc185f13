"""The Qt application, a local event loop to wait in, and a heartbeat that finds stalls."""

from __future__ import annotations

import gc
import inspect
import os
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING

import pytest
from PySide6.QtCore import (
    QCoreApplication,
    QEvent,
    QEventLoop,
    QMessageLogContext,
    QTimer,
    QtMsgType,
    qInstallMessageHandler,
)
from PySide6.QtWidgets import QApplication

from app.imaging.decode import Decoder
from app.views.application import create_application
from tests.gui.canvas_scene import Scene
from tests.gui.heartbeat import BEAT_MS, Heartbeat, Stall, slowness
from tests.gui.viewer_support import WaitUntil
from tests.support.forked import forked_workers

if TYPE_CHECKING:
    from tests.gui.viewer_scenes import Room

SHOWN_STALLS = 10
_STALL = "stall"
"""The property of a test's report under which its worst stall is told, from any process."""
_HARMLESS = (
    "This plugin does not support ",
    *("Couldn't load ", "Couldn't resolve ", "Invalid frameRate 0 "),
)
"""What Qt says of the offscreen platform; of cameras and sound, as it writes a movie."""


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """For the timed tests alone, files that have none are not even read: 70 of 100."""
    if config.getoption("markexpr") != "timed" or not collection_path.match("test_*.py"):
        return None
    text = collection_path.read_text("utf-8")
    return None if any(word in text for word in ("heartbeat", "stall_limit", ".timed")) else True


@pytest.hookimpl(tryfirst=True)  # before `-m` chooses
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """What promises a time, or measures a passage of its own, has nothing run beside it."""
    for item in items:
        function = getattr(item, "function", None)
        own = inspect.signature(function).parameters if function is not None else ()
        fixtures = getattr(item, "fixturenames", ())
        limit = item.get_closest_marker("stall_limit")
        if limit is not None or "gui_heartbeat" in fixtures or "heartbeat" in own:
            item.add_marker(pytest.mark.timed)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """The longest stalls of the session."""
    reports = [one for kind in terminalreporter.stats.values() for one in kind]
    stalls = {
        report.nodeid: Stall(*value)
        for report in reports
        for name, value in getattr(report, "user_properties", ())
        if name == _STALL
    }
    if stalls:
        terminalreporter.section(f"longest GUI stalls of {len(stalls)} tests")
    for name, stall in sorted(stalls.items(), key=lambda item: -item[1].ms)[:SHOWN_STALLS]:
        text = f"{stall.ms:6.0f} ms, {stall.cpu_ms:4.0f} of them computing: {name}"
        terminalreporter.write_line(text)


@pytest.fixture(scope="session")
def qapp() -> QApplication:
    """The one application of the test process, with theme and fonts."""
    return create_application()


@pytest.fixture(scope="session")
def real_decoder() -> Iterator[Decoder]:
    """A decoder with its worker processes, shared."""
    with forked_workers():
        made = Decoder(2)
        made.warm()
    yield made
    made.close()


@pytest.fixture
def wait_until(qapp: QApplication, heartbeat: Heartbeat) -> WaitUntil:
    """Runs events until a predicate holds; fails with its name when it never does."""

    def wait(predicate: Callable[[], object], timeout: float = 60.0) -> None:
        loop = QEventLoop()
        look = QTimer(interval=BEAT_MS)
        look.timeout.connect(lambda: loop.quit() if predicate() else None)
        limit = QTimer(singleShot=True, interval=round(timeout * 1000))
        limit.timeout.connect(loop.quit)
        look.start()
        limit.start()
        # Again where it held only until the loop's last events: they may have begun something new.
        while not (predicate() and _settled(heartbeat, predicate)) and limit.isActive():
            with heartbeat.loop():
                loop.exec()
        look.stop()
        limit.stop()
        assert predicate(), f"did not happen within {timeout} s"

    return wait


def _settled(heartbeat: Heartbeat, predicate: Callable[[], object]) -> bool:
    """Whether it still holds when what it waited for has been shown.

    A layout shows a widget that is put into it in a later pass of the event loop, and the
    predicate may hold in between: on a busy machine a click then met a button not yet visible.
    """
    with heartbeat.loop():
        QCoreApplication.sendPostedEvents()
    return bool(predicate())


@pytest.fixture
def heartbeat(qapp: QApplication, request: pytest.FixtureRequest) -> Iterator[Heartbeat]:
    """A heartbeat for the whole test; see `heartbeat` and `_measured`."""
    # The windows of the test before; in the first wait of this one that was a stall of 100 ms.
    QCoreApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)
    beat = Heartbeat()
    yield beat
    beat.stop()
    request.node.user_properties.append((_STALL, (beat.worst.ms, beat.worst.cpu_ms)))


@pytest.fixture(scope="module", autouse=True)
def _no_windows_left() -> Iterator[None]:
    """Delete what the tests of a file left: a changed theme restyles every widget that there is."""
    yield
    if (application := QApplication.instance()) is not None:
        for widget in QApplication.topLevelWidgets():
            widget.deleteLater()
        application.sendPostedEvents(None, QEvent.Type.DeferredDelete)


@pytest.fixture(scope="module", autouse=True)
def _spared_collector() -> None:
    """What the test files before left is taken out of the garbage collector's rounds.

    The window does so once, when it is shown (`views.application`); here hundreds of windows
    come and go in one process, and a test that thaws it all has others after it.
    """
    gc.collect()
    gc.freeze()


@pytest.fixture(autouse=True)
def _collected_on_the_gui_thread() -> Iterator[None]:
    """As `views.application.WindowCollector` does it; a collection on a thread may hang."""
    gc.disable()
    yield
    gc.collect(1)
    gc.enable()


@pytest.fixture(autouse=True)
def _measured(request: pytest.FixtureRequest) -> Iterator[None]:
    """Every test that uses the application is measured, and has a limit; see `heartbeat`."""
    if "qapp" not in request.fixturenames:
        yield
        return
    beat: Heartbeat = request.getfixturevalue("heartbeat")
    yield
    beat.stop()
    declared = request.node.get_closest_marker("stall_limit")
    complaint = beat.complaint(declared.args[0] * slowness() if declared is not None else None)
    # Set where other programs run beside the tests, whose stalls then say nothing.
    assert not complaint or "SIGHTLINE_UNTIMED" in os.environ, complaint


@pytest.fixture
def gui_heartbeat(heartbeat: Heartbeat, request: pytest.FixtureRequest) -> Iterator[Heartbeat]:
    """The test's heartbeat; the longest stall since its last `restart` is printed at the end."""
    yield heartbeat
    heartbeat.stop()
    print(f"\nlongest GUI stall in {request.node.name}: {heartbeat.longest_ms:.0f} ms")  # noqa: T201 - asked for by the issue


@pytest.fixture(autouse=True)
def _no_slot_fails(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Qt goes on when a slot raises, and after it warned; so would the test: here it fails."""
    told: list[str] = []

    def raised(
        kind: type[BaseException], error: BaseException, trace: TracebackType | None
    ) -> None:
        told.append("".join(traceback.format_exception(kind, error, trace)))

    def warned(kind: QtMsgType, _where: QMessageLogContext, text: str) -> None:
        serious = kind in (QtMsgType.QtWarningMsg, QtMsgType.QtCriticalMsg)
        if serious and not text.startswith(_HARMLESS):
            told.append(f"Qt: {text}")

    monkeypatch.setattr(sys, "excepthook", raised)
    before = qInstallMessageHandler(warned)
    yield
    qInstallMessageHandler(before)
    assert not told, "raised in a slot, or told by Qt:\n" + "\n".join(told)


@pytest.fixture(autouse=True)
def _nothing_left(request: pytest.FixtureRequest) -> Iterator[None]:
    """A test that leaves threads of ours or a visible window behind fails."""
    before = set(threading.enumerate())
    yield
    if "qapp" not in request.fixturenames and "window" not in request.fixturenames:
        return
    deadline = time.monotonic() + 30.0
    while True:
        left = [
            thread.name
            for thread in threading.enumerate()
            if thread not in before and thread.name.startswith("sightline-view")
        ]
        if not left or time.monotonic() > deadline:
            break
        QApplication.processEvents(QEventLoop.ProcessEventsFlag.AllEvents, 20)
    assert not left, f"threads left behind: {left}"
    windows = [widget for widget in QApplication.topLevelWidgets() if widget.isVisible()]
    for widget in windows:
        widget.close()
    assert not windows, f"windows left open: {windows}"


@pytest.fixture
def scene(qapp: QApplication, wait_until: WaitUntil) -> Iterator[Scene]:
    """A canvas with its models; see `canvas_scene`."""
    made = Scene(wait_until)
    yield made
    made.close()


@pytest.fixture(scope="session")
def scene_files(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """Returns the folder of a scene of `viewer_scenes`, whose files are written once."""
    from tests.gui.viewer_scenes import files_of, make_files

    root = tmp_path_factory.mktemp("scenes")

    def folder(scene: str) -> Path:
        made = root / files_of(scene)
        if not made.exists():
            make_files(made.name, made)
        return made

    return folder


@pytest.fixture
def room(
    request: pytest.FixtureRequest,
    forked: None,
    wait_until: WaitUntil,
    scene_files: Callable[[str], Path],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> Iterator[Room]:
    """The real window on the scene of `viewer_scenes` that is the parameter, as it begins."""
    # Here, since it imports the whole program, which most tests of this folder don't need.
    from tests.gui.viewer_scenes import Room

    monkeypatch.setenv("SIGHTLINE_HOME", str(tmp_path / "home"))
    made = Room(request.param, scene_files(request.param), wait_until)
    try:
        made.begin({})
        yield made
    finally:
        made.close()
