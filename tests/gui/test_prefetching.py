"""What is made ready around the shown image, how urgently, and what is dropped again."""

from __future__ import annotations

import weakref
from concurrent.futures import Future
from pathlib import Path

import pytest

from app.imaging.decode import Decoder
from app.imaging.processes.worker_pool import Priority
from app.imaging.types import Frame, Instance, Series
from app.views import loader as loading
from app.views.loader import Loader, Prefetching
from app.workspace.workspace import Workspace
from tests.gui.viewer_support import FakeDecoder, WaitUntil, found, frame, instance, study
from tests.unit.imaging.files import make_dicom

STACK = [instance(f"1.{number}") for number in range(40)]
SERIES = Series("s", "Axial", "CT", 1, tuple(STACK))


def place_of(image: Instance) -> tuple[Series, int] | None:
    return (SERIES, STACK.index(image)) if image in STACK else None


class Frames(Decoder):
    """Notes what is asked for, and how urgently; nothing ever comes."""

    def __init__(self) -> None:
        self.asked: list[tuple[int, int]] = []
        self.futures: dict[int, list[Future[Frame]]] = {}

    def frame(self, instance: Instance, index: int = 0, priority: int = 0) -> Future[Frame]:
        place = STACK.index(instance) if instance in STACK else index
        self.asked.append((place, priority))
        future: Future[Frame] = Future()
        self.futures.setdefault(place, []).append(future)
        return future

    def waiting(self) -> set[int]:
        return {
            place
            for place, futures in self.futures.items()
            if any(not future.cancelled() for future in futures)
        }


class Held:
    """Arrays that somebody still has."""

    def __init__(self) -> None:
        self._known: list[weakref.ref[object]] = []

    def add(self, one: object) -> None:
        self._known.append(weakref.ref(one))

    def count(self) -> int:
        return sum(known() is not None for known in self._known)


@pytest.fixture
def frames() -> Frames:
    return Frames()


@pytest.fixture
def ahead(frames: Frames) -> Prefetching:
    return Prefetching(frames, place_of)


def test_the_nearest_are_urgent_and_the_others_come_after_thumbnails(
    frames: Frames, ahead: Prefetching
):
    ahead.around(STACK[10], 0)
    urgent = [place for place, priority in frames.asked if priority == Priority.NEIGHBOUR]
    later = [place for place, priority in frames.asked if priority == Priority.PREFETCH]
    assert urgent == [11, 12, 9]
    assert later == [13, 14, 15, 16, 17, 18, 8]


def test_scrolling_on_asks_for_what_is_new_and_drops_what_was_left(
    frames: Frames, ahead: Prefetching
):
    ahead.around(STACK[10], 0)
    frames.asked.clear()
    ahead.around(STACK[11], 0)
    assert sorted(frames.asked) == [
        (10, Priority.NEIGHBOUR),
        (13, Priority.NEIGHBOUR),
        (19, Priority.PREFETCH),
    ]
    assert frames.waiting() == {9, 10, 12, 13, 14, 15, 16, 17, 18, 19}


def test_turning_round_turns_what_is_made_ready(frames: Frames, ahead: Prefetching):
    ahead.around(STACK[20], 0)
    ahead.around(STACK[19], 0)
    assert frames.waiting() == {18, 17, 16, 15, 14, 13, 12, 11, 20, 21}


def test_another_series_drops_it_all(frames: Frames, ahead: Prefetching):
    ahead.around(STACK[20], 0)
    ahead.around(instance("2.1"), 0)
    assert frames.waiting() == set()


def test_at_the_ends_there_is_nothing_more(frames: Frames, ahead: Prefetching):
    ahead.around(STACK[39], 0)
    assert frames.waiting() == {38, 37}


def test_large_images_are_made_ready_within_a_share_of_the_cache(
    frames: Frames, ahead: Prefetching, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(loading, "AHEAD_BYTES", 4 * 80 * 100 * 2)
    ahead.around(STACK[10], 0)
    assert [place for place, _ in frames.asked] == [11, 12, 9, 13]


def test_the_frames_of_a_cine_follow_each_other_round(frames: Frames, ahead: Prefetching):
    cine = instance("3.1", frames=10)
    ahead.around(cine, 7)
    assert frames.asked == [(place, Priority.PREFETCH) for place in (8, 9, 0, 1)]


def test_stopping_drops_it_all(frames: Frames, ahead: Prefetching):
    ahead.around(STACK[20], 0)
    ahead.stop()
    assert frames.waiting() == set()


def test_what_is_shown_and_what_is_waited_for_is_pinned(wait_until: WaitUntil):
    from app.views.background import Background

    workspace, decoder, background = Workspace(), FakeDecoder(prompt=False), Background()
    loader = Loader(workspace.viewport, decoder, background, workspace.studies.place_of)
    try:
        workspace.add(found(study(instance("1.1", frames=5))))
        assert decoder.pinned == [("1.1", 0)]
        decoder.answer()
        wait_until(lambda: workspace.viewport.frame is not None)
        workspace.viewport.scroll_to(3)
        assert sorted(decoder.pinned) == [("1.1", 0), ("1.1", 3)]
        decoder.answer()
        wait_until(lambda: decoder.pinned == [("1.1", 3)])
    finally:
        loader.close()
        background.close()
    assert decoder.pinned == []


def test_nothing_is_held_of_a_study_that_was_closed(wait_until: WaitUntil):
    from app.views.background import Background

    class Kept(FakeDecoder):
        """Has every frame, and notes who still holds it."""

        def frame(self, instance: Instance, index: int = 0, priority: int = 0) -> Future[Frame]:
            made = frame(instance.sop_instance_uid, index)
            held.add(made.stored)
            future: Future[Frame] = Future()
            future.set_result(made)
            return future

    held: Held = Held()
    workspace, decoder, background = Workspace(), Kept(), Background()
    loader = Loader(workspace.viewport, decoder, background, workspace.studies.place_of)
    try:
        workspace.add(found(study(*STACK)))
        wait_until(lambda: workspace.viewport.frame is not None)
        assert held.count() > loading.AHEAD
        workspace.close_all()
        wait_until(lambda: not background.pending)
        assert decoder.pinned == []
        assert held.count() == 0
    finally:
        loader.close()
        background.close()


def test_the_neighbours_of_a_slice_are_in_the_cache_when_they_are_looked_at(
    wait_until: WaitUntil, tmp_path: Path
):
    """With the real decoder: after the first slice, the next ones take no decoding."""
    from app.views.background import Background

    for number in range(12):
        make_dicom(tmp_path / f"{number:02}.dcm", InstanceNumber=number + 1)
    decoder, workspace, background = Decoder(1), Workspace(), Background()
    loader = Loader(workspace.viewport, decoder, background, workspace.studies.place_of)
    try:
        workspace.add(decoder.scan([tmp_path]).result(30))
        wait_until(lambda: workspace.viewport.frame is not None)
        for _ in range(3):
            following = workspace.next_instance(1)
            assert following is not None
            wait_until(lambda image=following: decoder.frame(image, 0).done())
            workspace.viewport.show(following)
            wait_until(lambda: workspace.viewport.frame is not None)
    finally:
        loader.close()
        background.close()
        decoder.close()
