"""The frame cache: never above its budget but for what is on a screen, which never goes."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from app.imaging.decode import FrameCache, Key, footprint
from app.imaging.types import Frame, ImageRef, Lut, OverlayPlane, RealWorldMap, Shutter, Voi

SIZE = 100_000
REAL = footprint(Frame(np.zeros(SIZE, np.uint8), ImageRef("1", 0, "")))
KEYS: list[Key] = [("path", "uid", 0, 0, 0, 0, index) for index in range(8)]


def frame(size: int = SIZE) -> Frame:
    return Frame(np.zeros((1, size), np.uint8), ImageRef("1", 0, ""))


def filled(budget_frames: int, count: int) -> FrameCache:
    cache = FrameCache(REAL * budget_frames)
    for key in KEYS[:count]:
        cache.put(key, frame())
    return cache


def kept(cache: FrameCache) -> list[int]:
    return [key[-1] for key in KEYS if key in cache]


def test_all_that_a_frame_holds_counts():
    plain = frame()
    full = Frame(
        plain.stored,
        plain.ref,
        voi=Voi(luts=(Lut(0, 16, np.zeros(65536, np.uint16)),)),
        modality_lut=Lut(0, 16, np.zeros(1000, np.uint16)),
        palette=np.zeros((256, 3), np.uint8),
        overlays=(OverlayPlane(np.zeros((100, 100), np.bool_)),),
        shutter=Shutter(bitmap=np.zeros((50, 50), np.bool_)),
        real_world=(RealWorldMap(0, 9, lut=np.zeros(10)),),
    )
    assert footprint(full) - footprint(plain) == 131072 + 2000 + 768 + 10000 + 2500 + 80
    assert footprint(plain) >= SIZE


def test_a_small_view_counts_as_the_memory_that_it_keeps():
    whole = np.zeros((100, 1000), np.uint8)
    view = Frame(whole[:2], ImageRef("1", 0, ""))
    assert footprint(view) >= whole.nbytes


def test_the_least_recently_used_goes_first():
    cache = filled(3, 3)
    assert cache.get(KEYS[0]) is not None
    cache.put(KEYS[3], frame())
    assert kept(cache) == [0, 2, 3]
    assert cache.peek(KEYS[2]) is not None, "which is no use"
    cache.put(KEYS[4], frame())
    assert kept(cache) == [0, 3, 4]


def test_a_pinned_frame_stays_and_an_unpinned_one_goes_in_its_turn():
    cache = filled(3, 3)
    cache.pin("canvas", [KEYS[0]])
    for key in KEYS[3:7]:
        cache.put(key, frame())
    assert kept(cache) == [0, 5, 6]
    cache.pin("canvas", [KEYS[6]])
    cache.put(KEYS[7], frame())
    assert kept(cache) == [5, 6, 7]


def test_a_frame_pinned_before_it_comes_is_kept_though_all_else_must_go():
    cache = filled(3, 3)
    cache.pin("canvas", [KEYS[7]])
    cache.put(KEYS[7], frame(10 * SIZE))
    assert kept(cache) == [7]
    assert cache.used > cache.budget
    cache.put(KEYS[0], frame())
    assert kept(cache) == [7], "there is no room for another"
    cache.pin("canvas", [])
    assert kept(cache) == []
    assert cache.used == 0


def test_pins_of_one_viewer_leave_those_of_another():
    cache = filled(2, 2)
    cache.pin("left", [KEYS[0]])
    cache.pin("right", [KEYS[1]])
    cache.pin("left", [KEYS[2]])
    cache.put(KEYS[2], frame())
    assert kept(cache) == [1, 2]


def test_a_frame_larger_than_the_budget_is_not_kept_and_drives_nothing_out():
    cache = filled(3, 3)
    cache.put(KEYS[5], frame(4 * SIZE))
    assert kept(cache) == [0, 1, 2]


def test_what_was_closed_is_forgotten():
    cache = filled(3, 2)
    cache.put(("other", "uid", 0, 0, 0, 0, 0), frame())
    cache.pin("canvas", [KEYS[0]])
    cache.forget({"path"})
    assert len(cache) == 1
    assert cache.used == REAL


steps = st.one_of(
    st.tuples(st.just("put"), st.integers(0, 7), st.integers(1, 4 * SIZE)),
    st.tuples(st.just("get"), st.integers(0, 7), st.just(0)),
    st.tuples(st.just("pin"), st.integers(0, 7), st.integers(0, 7)),
    st.tuples(st.just("unpin"), st.just(0), st.just(0)),
)


@given(st.lists(steps, max_size=40))
def test_whatever_is_asked_the_budget_holds_and_pins_stay(todo: list[tuple[str, int, int]]):
    cache = FrameCache(5 * SIZE)
    pinned: set[Key] = set()
    there: set[Key] = set()
    for what, number, other in todo:
        key = KEYS[number]
        if what == "put":
            cache.put(key, frame(other))
            if key in pinned:
                there.add(key)
        elif what == "get":
            cache.get(key)
        else:
            pinned = {key, KEYS[other]} if what == "pin" else set()
            cache.pin("canvas", pinned)
            there = {one for one in pinned if one in cache}
        assert all(one in cache for one in there)
        frames = {one: cache.peek(one) for one in KEYS if one in cache}
        sizes = {one: footprint(found) for one, found in frames.items() if found is not None}
        assert cache.used == sum(sizes.values())
        loose = [one for one in sizes if one not in pinned]
        assert cache.used <= cache.budget or not loose
