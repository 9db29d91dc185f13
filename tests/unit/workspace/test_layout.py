"""The layout of viewports: no gap and no overlap, whatever is split, closed or arranged."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.imaging.types import Instance, Series, Study
from app.workspace.layout import LAYOUTS, MOST, Layout, Slot, grid
from app.workspace.studies import key_of
from app.workspace.viewport import Viewport
from app.workspace.workspace import Workspace
from tests.gui.viewer_support import found, instance, study


def series_of(*names: str) -> Study:
    """A study with a series of one image for each name."""
    series = [
        Series(f"s.{number}", name, "CT", number, (instance(name),))
        for number, name in enumerate(names, 1)
    ]
    return Study("s", "CT head", "Doe^Jane", "4711", "20240131", tuple(series))


def covered_once(slots: tuple[Slot, ...]) -> None:
    """Each of 48 x 48 points lies in exactly one slot."""
    step = 1 / 48
    for row in range(48):
        for column in range(48):
            x, y = (column + 0.5) * step, (row + 0.5) * step
            inside = [s for s in slots if s.x < x < s.right and s.y < y < s.bottom]
            assert len(inside) == 1, (x, y, inside)


def test_every_named_layout_fills_the_window():
    for slots in LAYOUTS.values():
        covered_once(slots)
    assert len(LAYOUTS["4x4"]) == MOST
    assert [len(LAYOUTS[name]) for name in ("1x1", "2x3", "1+2", "1+3")] == [1, 6, 3, 4]


@pytest.mark.parametrize("size", [(0, 1), (1, 5)])
def test_a_grid_has_1_to_4_rows_and_columns(size: tuple[int, int]):
    with pytest.raises(ValueError, match="1 to 4 rows and columns"):
        grid(*size)


@given(st.lists(st.tuples(st.sampled_from("slrtbc"), st.integers(0, 15)), max_size=20))
def test_splits_and_closings_leave_no_gap_and_no_overlap(steps: list[tuple[str, int]]):
    layout = Layout(Viewport)
    edges = {"l": "left", "r": "right", "t": "top", "b": "bottom"}
    for step, place in steps:
        viewport = layout.viewports[place % len(layout.viewports)]
        if step == "c":
            layout.close(viewport)
        elif step == "s":
            layout.arrange(LAYOUTS[list(LAYOUTS)[place]])
        elif min(s.width * s.height for s in layout.slots) > 1 / 100:
            layout.split(viewport, edges[step])  # pyright: ignore[reportArgumentType]
    assert len(layout.slots) == len(layout.viewports) == len(set(layout.viewports))
    assert layout.active in layout.viewports
    area = sum(s.width * s.height for s in layout.slots)
    assert area == pytest.approx(1.0)
    for n, one in enumerate(layout.slots):
        for other in layout.slots[n + 1 :]:
            wide = min(one.right, other.right) - max(one.x, other.x)
            high = min(one.bottom, other.bottom) - max(one.y, other.y)
            assert wide < 1e-6 or high < 1e-6


def test_fewer_viewports_keep_the_active_one():
    layout = Layout(Viewport)
    layout.arrange(LAYOUTS["2x2"])
    last = layout.viewports[3]
    layout.activate(last)
    layout.arrange(LAYOUTS["1x1"])
    assert layout.viewports == (last,)
    assert layout.active is last


def test_a_removed_viewport_is_used_again_and_is_empty():
    layout = Layout(Viewport)
    (added,) = layout.arrange(LAYOUTS["1x2"])
    added.show(instance("1"))
    layout.arrange(LAYOUTS["1x1"])
    assert added.instance is None
    assert layout.arrange(LAYOUTS["1x2"]) == (added,)


def test_swapped_viewports_change_places_and_stay_active():
    layout = Layout(Viewport)
    layout.arrange(LAYOUTS["1x3"])
    first, second, third = layout.viewports
    layout.swap(first, third)
    assert layout.viewports == (third, second, first)
    assert layout.active is first


def test_only_one_of_several_can_be_maximised():
    layout = Layout(Viewport)
    layout.maximise(True)
    assert not layout.maximised
    layout.arrange(LAYOUTS["1x2"])
    layout.maximise(True)
    assert layout.visible == (layout.active,)
    layout.step(1)
    assert layout.visible == (layout.viewports[1],)
    layout.split(layout.active, "left")
    assert not layout.maximised


def three_series() -> Workspace:
    workspace = Workspace()
    workspace.add(found(series_of("a", "b", "c")))
    return workspace


def shown(workspace: Workspace) -> list[str]:
    instances: list[Instance | None] = [one.instance for one in workspace.layout.viewports]
    return [one.sop_instance_uid if one else "" for one in instances]


def test_new_viewports_show_the_series_that_none_shows_yet():
    workspace = three_series()
    workspace.arrange(LAYOUTS["2x2"])
    assert shown(workspace) == ["a", "b", "c", ""]


def test_those_after_the_shown_series_come_first():
    workspace = three_series()
    workspace.viewport.show(workspace.instance_of("b"))
    workspace.arrange(LAYOUTS["1x3"])
    assert shown(workspace) == ["b", "c", "a"]


def test_closing_a_study_empties_every_viewport_that_shows_it():
    workspace = three_series()
    workspace.add(found(study(instance("other"), uid="t")), show=False)
    workspace.arrange(LAYOUTS["2x2"])
    workspace.layout.viewports[3].show(workspace.instance_of("other"))
    workspace.close_study(key_of(workspace.studies.all[0]))
    assert shown(workspace) == ["", "", "", "other"]


def test_the_active_viewport_s_image_is_the_first_that_a_question_may_use():
    workspace = three_series()
    workspace.arrange(LAYOUTS["1x2"])
    workspace.layout.activate(workspace.layout.viewports[1])
    images = [item.instance.sop_instance_uid for item in workspace.open_images()]
    assert images == ["b", "a", "c"]


def test_listeners_hear_of_the_active_viewport_only():
    workspace = three_series()
    workspace.arrange(LAYOUTS["1x2"])
    heard: list[str] = []
    workspace.image_changed.connect(lambda: heard.append("image"))
    first, second = workspace.layout.viewports
    second.show(workspace.instance_of("c"))
    assert heard == []
    workspace.layout.activate(second)
    assert heard == ["image"]
    first.show(None)
    assert heard == ["image"]


def test_pictures_find_a_place_on_a_full_screen_with_one_viewport_maximised():
    layout = Layout(Viewport)
    layout.arrange(LAYOUTS["4x4"])
    layout.maximise(True)
    layout.show_pictures("right")
    assert layout.pictures in layout.viewports[1:]
    assert layout.pictures in layout.visible
    assert layout.active is layout.viewports[0]


def test_fewer_viewports_keep_an_image_rather_than_tools_pictures():
    layout = Layout(Viewport)
    (image,) = layout.viewports
    layout.show_pictures("right")
    pictures = layout.pictures
    assert pictures is not None
    layout.activate(pictures)
    layout.arrange(LAYOUTS["1x1"])
    assert layout.viewports == (image,)
    assert layout.active is image
    assert layout.pictures is None


def test_the_second_window_stays_open_when_the_pictures_in_it_are_closed():
    layout = Layout(Viewport)
    layout.show_pictures("right")
    layout.open_second()
    assert layout.second is not None
    assert layout.pictures is not None
    (empty,) = layout.second.viewports
    layout.swap(layout.pictures, empty)
    layout.hide_pictures()
    assert layout.second is not None
    assert layout.pictures is None
