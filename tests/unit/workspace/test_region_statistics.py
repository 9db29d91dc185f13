"""Which pixels are inside a region, and their statistics, against SimpleITK and brute force."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import SimpleITK

from app.imaging.findings import (
    Box,
    Ellipse,
    Finding,
    Mask,
    Measurement,
    Polygon,
    Polyline,
    Provenance,
)
from app.imaging.types import (
    Frame,
    ImageRef,
    RealWorldMap,
    Region,
    Rescale,
    Shutter,
    Spacing,
    SpacingSource,
)
from app.workspace import drawing, region_statistics

ROWS, COLUMNS = 60, 80
STORED = np.random.default_rng(7).integers(0, 4000, (ROWS, COLUMNS)).astype(np.int16)
FRAME = Frame(
    stored=STORED,
    ref=ImageRef("1.2", 0, "sha"),
    rescale=Rescale(1.5, -1024.0, "HU"),
    spacing=Spacing(0.8, 0.5, SpacingSource.PATIENT, 1.6),
)


def mask_of(shape: Box | Ellipse | Polygon) -> np.ndarray:
    rows, columns, inside = region_statistics.inside(shape, FRAME)
    mask = np.zeros((ROWS, COLUMNS), np.bool_)
    mask[rows.start : rows.stop, columns.start : columns.stop] = inside
    return mask


def drawn(tool: str, *points: tuple[float, float], frame: Frame = FRAME) -> Finding:
    return drawing.with_statistics(drawing.draw(tool, frame, points), frame)


def figures(finding: Finding) -> dict[str, float]:
    return {one.name: one.value for one in finding.measurements}


def even_odd(points: np.ndarray, x: float, y: float) -> bool:
    inside = False
    for (x0, y0), (x1, y1) in zip(points, np.roll(points, -1, axis=0), strict=True):
        if (y0 <= y) != (y1 <= y):
            inside ^= bool(x0 + (y - y0) * (x1 - x0) / (y1 - y0) <= x)
    return inside


def test_random_polygons_are_filled_as_a_ray_says():
    random = np.random.default_rng(3)
    for count in (3, 4, 7, 40):
        points = random.uniform((-5, -5), (COLUMNS + 5, ROWS + 5), (count, 2))
        mask = mask_of(Polygon(tuple(map(tuple, points.tolist()))))
        for _ in range(300):
            x, y = int(random.integers(COLUMNS)), int(random.integers(ROWS))
            assert mask[y, x] == even_odd(points, x, y)


def test_regions_that_share_an_edge_share_no_pixel_and_leave_none_out():
    """Edges through the centres of pixels: each centre is in one of the two."""
    left = Polygon(((10, 10), (30, 10), (20, 40), (10, 40)))
    right = Polygon(((30, 10), (50, 10), (50, 40), (20, 40)))
    whole = Polygon(((10, 10), (50, 10), (50, 40), (10, 40)))
    one, other = mask_of(left), mask_of(right)
    assert not (one & other).any()
    assert np.array_equal(one | other, mask_of(whole))
    assert mask_of(whole).sum() == 40 * 30
    assert mask_of(whole)[10, 10]
    assert not mask_of(whole)[10, 50]
    assert not mask_of(whole)[40, 10]


@pytest.mark.parametrize(
    ("tool", "points"),
    [
        (drawing.BOX, ((10.2, 20.1), (30.9, 40.8))),
        (drawing.ELLIPSE, ((10.2, 20.1), (50.9, 40.8))),
        (drawing.POLYGON, ((10.2, 5.1), (50.9, 10.8), (70.3, 50.2), (20.0, 44.4))),
    ],
)
def test_statistics_are_those_of_simpleitk_on_the_same_pixels(
    tool: str, points: tuple[tuple[float, float], ...]
):
    made = drawn(tool, *points)
    shape = made.geometry
    assert isinstance(shape, Box | Ellipse | Polygon)
    found = SimpleITK.LabelStatisticsImageFilter()
    found.Execute(
        SimpleITK.GetImageFromArray(STORED * 1.5 - 1024.0),
        SimpleITK.GetImageFromArray(mask_of(shape).astype(np.uint8)),
    )
    shown = figures(made)
    assert shown["Pixels"] == found.GetCount(1)
    assert shown["Mean"] == pytest.approx(found.GetMean(1), rel=1e-12)
    assert shown["Standard deviation"] == pytest.approx(found.GetSigma(1), rel=1e-12)
    assert (shown["Minimum"], shown["Maximum"]) == (found.GetMinimum(1), found.GetMaximum(1))
    assert {one.units for one in made.measurements if one.name == "Mean"} == {"HU"}


def test_padding_and_shutter_are_left_out_and_that_is_said():
    padded = replace(FRAME, padding=(0, 500), shutter=Shutter(rectangle=(0, 39, 0, ROWS - 1)))
    made = drawn(drawing.POLYGON, (10, 5), (70, 5), (70, 50), (10, 50), frame=padded)
    mask = mask_of(Polygon(((10, 5), (70, 5), (70, 50), (10, 50))))
    mask[:, 40:] = False
    kept = STORED[mask & (STORED > 500)] * 1.5 - 1024
    assert figures(made)["Mean"] == pytest.approx(kept.mean())
    assert figures(made)["Pixels left out"] == 60 * 45 - kept.size
    assert "without padding or shutter" in made.description


def test_values_are_suv_where_a_real_world_map_says_so_and_stored_where_nothing_does():
    suv = RealWorldMap(0, 4000, 0.001, 0.0, units="{SUVbw}g/ml")
    made = drawn(drawing.BOX, (5, 5), (20, 20), frame=replace(FRAME, real_world=(suv,)))
    shape = made.geometry
    assert isinstance(shape, Box)
    assert figures(made)["Mean"] == pytest.approx(STORED[mask_of(shape)].mean() * 0.001)
    assert "SUVbw" in made.description
    partly = replace(FRAME, real_world=(replace(suv, last=100),))
    assert " HU" in drawn(drawing.BOX, (5, 5), (20, 20), frame=partly).description
    plain = replace(FRAME, rescale=Rescale())
    assert "stored value" in drawn(drawing.BOX, (5, 5), (20, 20), frame=plain).description
    scaled = replace(FRAME, rescale=Rescale(2.0, 1.0))
    assert "rescaled value" in drawn(drawing.BOX, (5, 5), (20, 20), frame=scaled).description


def test_area_and_perimeter_are_those_of_the_outline_in_mm():
    made = drawn(drawing.POLYGON, (10, 10), (40, 10), (40, 30), (10, 30))
    assert made.value == pytest.approx(30 * 0.5 * 20 * 0.8)
    assert made.units == "mm² (patient)"
    assert figures(made)["Perimeter"] == pytest.approx(2 * (15 + 16))
    round_one = drawn(drawing.ELLIPSE, (10, 10), (42, 30))  # 16 mm across and 16 mm high
    assert round_one.value == pytest.approx(np.pi * 64)
    assert figures(round_one)["Perimeter"] == pytest.approx(np.pi * 16, rel=1e-5)
    unknown = drawn(drawing.ELLIPSE, (10, 10), (30, 30), frame=replace(FRAME, spacing=Spacing()))
    assert unknown.units == "px²"
    assert unknown.value == pytest.approx(np.pi * 100)


def test_an_outline_that_crosses_itself_has_no_area_and_says_why():
    made = drawn(drawing.POLYGON, (10, 10), (40, 30), (40, 10), (10, 30))
    assert made.value is None
    assert "crosses itself" in made.description
    assert figures(made)["Mean"]  # the pixels inside are sure


def test_a_region_is_measured_in_its_ultrasound_region_and_says_if_there_is_none():
    regions = (
        Region(0, 0, 39, 59, 0.2, 0.1, "mm", "mm", "2D"),
        Region(40, 0, 79, 59, 0.01, 2.0, "s", "mm/s", "spectral"),
    )
    frame = replace(FRAME, regions=regions)
    inside = drawn(drawing.POLYGON, (5, 5), (25, 5), (25, 25), (5, 25), frame=frame)
    assert inside.value == pytest.approx(4 * 2)
    assert inside.units == "mm² (region)"
    astride = drawn(drawing.POLYGON, (5, 5), (60, 5), (60, 25), (5, 25), frame=frame)
    assert astride.units == "px²"
    assert "not within one ultrasound region" in astride.description
    trace = drawn(drawing.ELLIPSE, (45, 5), (60, 25), frame=frame)
    assert trace.units == "px²"
    assert "not both lengths" in trace.description


SUV = RealWorldMap(0, 4000, 0.001, 0.0, units="{SUVbw}g/ml")


@pytest.mark.parametrize(
    ("frame", "factor", "offset", "units"),
    [
        (FRAME, 1.5, -1024.0, "HU"),
        (replace(FRAME, real_world=(SUV,)), 0.001, 0.0, "SUVbw"),
        (replace(FRAME, rescale=Rescale()), 1.0, 0.0, "stored value"),
    ],
)
def test_a_mask_s_statistics_are_those_of_simpleitk(
    frame: Frame, factor: float, offset: float, units: str
):
    chosen = np.random.default_rng(5).random((ROWS, COLUMNS)) < 0.2
    chosen[:7] = chosen[:, 70:] = False
    mark = replace(drawing.new_mask(frame), geometry=Mask(chosen))
    made = drawing.with_statistics(mark, frame)
    found = SimpleITK.LabelStatisticsImageFilter()
    found.Execute(
        SimpleITK.GetImageFromArray(STORED * factor + offset),
        SimpleITK.GetImageFromArray(chosen.astype(np.uint8)),
    )
    shown = figures(made)
    assert shown["Pixels"] == found.GetCount(1)
    assert shown["Mean"] == pytest.approx(found.GetMean(1), rel=1e-12)
    assert shown["Standard deviation"] == pytest.approx(found.GetSigma(1), rel=1e-12)
    assert (shown["Minimum"], shown["Maximum"]) == (found.GetMinimum(1), found.GetMaximum(1))
    assert {one.units for one in made.measurements if one.name == "Mean"} == {units}
    assert shown["Area"] == pytest.approx(found.GetCount(1) * 0.8 * 0.5)
    assert made.description.startswith(f"{made.value:.1f} mm² (patient) · mean ")


def test_a_tool_s_mask_keeps_its_description_and_loses_old_figures_when_it_is_changed():
    chosen = np.zeros((ROWS, COLUMNS), np.bool_)
    empty = drawing.with_statistics(replace(drawing.new_mask(FRAME), geometry=Mask(chosen)), FRAME)
    assert figures(empty) == {"Area": 0.0}
    chosen[10:20, 30:40] = True
    tool = replace(
        empty,
        geometry=Mask(chosen),
        description="Area 3 cm².",
        provenance=Provenance("finder", "1.0", "net", "", "run", "call"),
        measurements=(),
    )
    counted = drawing.with_statistics(tool, FRAME)
    assert counted.description == "Area 3 cm²."
    assert drawing.statistics_text(counted).startswith("mean ")
    changed = drawing.repainted(counted, FRAME, Mask(chosen.copy()))
    assert "Mean" not in figures(changed)


@pytest.mark.parametrize("corners", [12, 700, 3900])
def test_a_long_outline_that_crosses_itself_has_no_area(corners: int):
    turn = np.linspace(0, 2 * np.pi, corners, endpoint=False)
    eight = np.stack((40 + 25 * np.sin(turn), 30 + 20 * np.sin(2 * turn)), axis=1)
    ring = np.stack((40 + 25 * np.sin(turn), 30 + 20 * np.cos(turn)), axis=1)
    crossed = drawn(drawing.FREEHAND, *map(tuple, eight.tolist()))
    assert crossed.value is None
    assert "crosses itself" in crossed.description
    assert drawn(drawing.FREEHAND, *map(tuple, ring.tolist())).value is not None
    tool = replace(crossed, provenance=Provenance("finder", "1.0", "net", "", "run", "call"))
    changed = drawing.with_shape(tool, FRAME, tool.geometry)
    assert "no area" in changed.description
    assert "cm²" not in changed.description


def test_what_a_tool_measured_is_measured_anew_when_its_outline_is_changed():
    made = Provenance("finder", "1.0", "net", "", "run", "call")
    old = (
        Measurement("Area", 40.0, "mm²", "patient"),
        Measurement("Length", 4.0, "mm", "patient"),
        Measurement("Volume", 2.0, "ml"),
        Measurement("Mean", 7.0, "HU"),
    )
    box = Finding("a", FRAME.ref, Box(9.5, 9.5, 19.5, 19.5), "Box", 0.5, "", made, measurements=old)
    line = replace(box, geometry=Polyline(((10, 10), (18, 10))), value=4.0, units="mm (patient)")
    wider = drawing.move_point(box, FRAME, 2, (39.5, 19.5))
    assert figures(wider) == {"Area": pytest.approx(30 * 0.5 * 10 * 0.8)}
    longer = drawing.move_point(line, FRAME, 1, (30, 10))
    assert longer.measurements == (Measurement("Length", 10.0, "mm", "patient"),)
    mask = Mask(np.zeros((ROWS, COLUMNS), np.bool_))
    mask.pixels[5:15, 5:15] = True
    painted = drawing.repainted(replace(box, geometry=mask), FRAME, mask)
    assert figures(painted) == {"Area": pytest.approx(100 * 0.4)}
    assert "Mean" in figures(drawing.with_statistics(painted, FRAME))
