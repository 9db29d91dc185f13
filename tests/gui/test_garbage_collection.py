"""The garbage collector while files are opened: held back, let go whatever happens, no leak."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from concurrent.futures import Future
from pathlib import Path
from threading import Thread, current_thread, main_thread

import pytest
from PySide6.QtWidgets import QApplication, QLabel

from app.errors import FileProblem
from app.imaging.decode import Decoder
from app.imaging.types import Instance
from app.views.application import CollectionPause, WindowCollector
from app.views.main_window import MainWindow
from app.workspace.workspace import Workspace
from tests.gui.viewer_support import FakeDecoder, WaitUntil, found, instance, study
from tests.unit.imaging.files import make_dicom

pytestmark = pytest.mark.gui

USUAL = (700, 10, 10)


@pytest.fixture(autouse=True)
def thresholds() -> Iterator[None]:
    """The usual ones before a test, and afterwards whatever it leaves."""
    before = gc.get_threshold()
    gc.set_threshold(*USUAL)
    gc.enable()
    yield
    gc.set_threshold(*before)


@pytest.fixture
def decoder() -> FakeDecoder:
    made = FakeDecoder()
    made.held = Future()
    return made


@pytest.fixture
def window(
    qapp: QApplication, decoder: FakeDecoder, tmp_path: Path, wait_until: WaitUntil
) -> Iterator[MainWindow]:
    made = MainWindow(Workspace(), decoder, QLabel("chat"), layout_file=tmp_path / "window.ini")
    made.show()
    yield made
    made.close()
    made.deleteLater()


class Rings:
    """Makes garbage in rings, all of it old, until full collections had their chance."""

    class Ring:
        """Holds itself."""

        def __init__(self) -> None:
            self.itself = self

    def full_rounds(self) -> int:
        """Full collections while a hundred thousand of them come."""
        before = gc.get_stats()[2]["collections"]
        kept = [self.Ring() for _ in range(100_000)]
        rounds = gc.get_stats()[2]["collections"] - before
        for one in kept:
            del one.itself
        return rounds


def test_no_full_collection_while_it_is_held_back():
    held, rings = CollectionPause(), Rings()
    gc.collect()
    assert rings.full_rounds() > 0
    held.begin()
    assert rings.full_rounds() == 0
    assert gc.get_stats()[1]["collections"] > 0
    held.end(0)
    assert gc.get_threshold() == USUAL


def test_it_is_let_go_when_the_last_scan_has_ended(
    window: MainWindow, decoder: FakeDecoder, wait_until: WaitUntil
):
    first = decoder.held = Future()
    window.open_paths([Path("/one")])
    second = decoder.held = Future()
    window.open_paths([Path("/two")])
    assert gc.get_threshold()[2] > 10**9
    first.set_result(found(study(instance())))
    wait_until(lambda: window.workspace.studies.all)
    assert gc.get_threshold()[2] > 10**9
    second.set_exception(FileProblem("cannot be read", subject="two"))
    wait_until(lambda: not window.opening.busy)
    assert gc.get_threshold() == USUAL


@pytest.mark.parametrize("way", ["stop", "close_all", "close"])
def test_it_is_let_go_when_the_scan_is_given_up(window: MainWindow, way: str):
    window.open_paths([Path("/one")])
    assert gc.get_threshold()[2] > 10**9
    {"stop": window.opening.stop, "close_all": window.close_all, "close": window.close}[way]()
    assert gc.get_threshold() == USUAL


def test_what_is_many_is_not_looked_at_again_and_yet_given_back(
    qapp: QApplication, wait_until: WaitUntil, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """After each scan all that is there is frozen; a closed study is gone without a collection."""
    monkeypatch.setattr("app.views.application.MANY", 0)
    for number in range(8):
        make_dicom(tmp_path / f"{number}.dcm", InstanceNumber=number + 1)
    decoder = Decoder(1)
    window = MainWindow(Workspace(), decoder, QLabel("chat"), layout_file=tmp_path / "window.ini")
    window.show()
    try:
        for _ in range(3):
            window.open_paths([tmp_path])
            wait_until(lambda: window.canvas.picture is not None and not window.busy)
            assert gc.get_freeze_count() > 1000
            assert not [one for one in gc.get_objects(generation=2) if type(one) is Instance]
            window.close_all()
            wait_until(lambda: not window.busy)
        gc.disable()
        gc.unfreeze()
        left = [one for one in gc.get_objects() if type(one) is Instance]
        # What was shown last may be remembered.
        assert len([one for one in left if one.path.parent == tmp_path]) <= 8
    finally:
        gc.enable()
        window.close()
        window.deleteLater()
        decoder.close()


def test_the_window_collects_on_its_own_thread_only(qapp: QApplication, wait_until: WaitUntil):
    where: list[Thread] = []

    def told(phase: str, _facts: object) -> None:
        if phase == "start":
            where.append(current_thread())

    def make_rings() -> None:
        for _ in range(5_000):
            ring: list[object] = []
            ring.append(ring)

    collector = WindowCollector(qapp)
    try:
        gc.callbacks.append(told)
        worker = Thread(target=make_rings)
        worker.start()
        worker.join()
        assert where == []
        wait_until(lambda: bool(where))
        assert set(where) == {main_thread()}
    finally:
        gc.callbacks.remove(told)
        collector.stop()
        collector.deleteLater()
    assert gc.isenabled()
