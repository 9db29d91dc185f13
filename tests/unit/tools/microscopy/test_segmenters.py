"""The segmenters on generated images with known objects, and on real ones where they are there."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tifffile
from scipy.ndimage import find_objects
from skimage.measure import regionprops_table

from app.agent.planning import Planner, Scene, ToolPlan, schema_of
from app.imaging.findings import Instances
from app.tools.api import ToolFailed, ToolResult, ToolRetry
from app.tools.hosting.host import ProcessHost
from app.tools.microscopy import segmentation
from app.tools.microscopy.classical import entry
from app.tools.microscopy.image_kind import ImageKind, guess_kind
from app.tools.microscopy.measures import measured
from app.tools.microscopy.segmenters import cell_segmenter, nuclei_segmenter, organoid_segmenter
from app.tools.microscopy.single_cell_cropper import SingleCellCropper
from app.tools.registry import load_packs
from app.tools.tables import read_table
from tests.unit.tools.microscopy.pictures import discs, f1, fluorescence, grid, phase, write_tiff
from tests.unit.tools.support import Bench, write_dicom

SHAPE = (200, 240)
APART = discs(grid(25, 36, SHAPE, 1), 9)


def run(bench: Bench, host: ProcessHost, tool: Any, pixels: np.ndarray, **given: Any) -> ToolResult:
    bench.host = host
    um = given.pop("um", None)
    bench.open(write_tiff(bench.folder / "a.tif", pixels, um))
    return bench.run(tool, image_path="image-1", **given)


def mask(result: ToolResult) -> np.ndarray:
    return tifffile.imread(result.output["mask_path"])


@pytest.mark.parametrize("bits", [8, 16])
def test_nuclei_are_counted_and_outlined(bench: Bench, model_process: ProcessHost, bits: int):
    result = run(bench, model_process, nuclei_segmenter(), fluorescence(APART, bits=bits))
    count = int(APART.max())
    assert result.output["count"] == count
    assert f1(APART, mask(result), 0.7) == 1
    assert result.summary.startswith(f"{count} nuclei (classical: ")
    assert "diameter" in result.summary


def test_the_mask_the_table_and_the_finding_agree(bench: Bench, model_process: ProcessHost):
    result = run(bench, model_process, nuclei_segmenter(), fluorescence(APART))
    (finding,) = result.findings
    assert isinstance(finding.geometry, Instances)
    np.testing.assert_array_equal(finding.geometry.labels, mask(result))
    assert finding.label == "Nuclei"
    assert (finding.value, finding.units) == (result.output["count"], "objects")
    table = read_table(Path(result.output["table_path"]))
    labels = mask(result)
    assert table.column("label") == list(range(1, result.output["count"] + 1))
    assert table.column("area_px") == np.bincount(labels.ravel())[1:].tolist()
    stored = tifffile.imread(bench.folder / "a.tif").astype(float)
    means = [round(float(stored[labels == one].mean()), 3) for one in table.column("label")]
    assert table.column("mean_intensity") == pytest.approx(means)
    roles = {artifact.role for artifact in result.artifacts}
    assert roles == {"mask", "table"}
    assert set(table.column("image")) == {"a.tif"}


def test_touching_nuclei_are_separated(bench: Bench, model_process: ProcessHost):
    pairs = [(40, 40), (40, 57), (40, 150), (57, 150), (130, 60), (142, 72), (130, 160), (130, 176)]
    truth = discs([*pairs, (100, 200)], 10)
    result = run(bench, model_process, nuclei_segmenter(), fluorescence(truth))
    assert result.output["count"] == 9
    assert f1(truth, mask(result)) == 1


@pytest.mark.parametrize(
    "given", [{"light": 0.25}, {"noise": 0.08}, {"contrast": 0.15, "noise": 0.01}]
)
def test_uneven_light_noise_and_dim_nuclei(
    bench: Bench, model_process: ProcessHost, given: dict[str, Any]
):
    result = run(bench, model_process, nuclei_segmenter(), fluorescence(APART, **given))
    assert f1(APART, mask(result)) >= 0.95


def test_nuclei_at_the_border_are_counted_and_marked(bench: Bench, model_process: ProcessHost):
    truth = discs([(5, 60), (100, 236), (100, 100), (150, 60)], 10)
    result = run(bench, model_process, nuclei_segmenter(), fluorescence(truth))
    table = read_table(Path(result.output["table_path"]))
    assert result.output["count"] == 4
    assert table.column("touches_border").count(True) == 2
    assert result.output["touching_border"] == 2
    assert "2 touch the image's border and are counted" in result.summary


def test_areas_in_um2_only_where_the_pixel_size_is_known(bench: Bench, model_process: ProcessHost):
    result = run(bench, model_process, nuclei_segmenter(), fluorescence(APART), um=0.5)
    table = read_table(Path(result.output["table_path"]))
    pixels = np.array(table.column("area_px"))
    assert table.column("area_um2") == pytest.approx(pixels * 0.25)
    assert result.output["areas"]["units"] == "µm²"
    assert result.output["areas"]["median"] == pytest.approx(np.median(pixels) * 0.25)


def test_without_a_pixel_size_areas_are_in_px(bench: Bench, model_process: ProcessHost):
    result = run(bench, model_process, nuclei_segmenter(), fluorescence(APART))
    assert "area_um2" not in read_table(Path(result.output["table_path"])).columns
    assert result.output["areas"]["units"] == "px"
    assert "unknown" in result.metadata["area_note"]


def test_um_without_a_pixel_size_is_refused(bench: Bench, model_process: ProcessHost):
    with pytest.raises(ToolRetry, match="in px"):
        run(bench, model_process, nuclei_segmenter(), fluorescence(APART), diameter=8, unit="um")


@pytest.mark.parametrize("value", [0, 7, 65535])
def test_a_constant_image_has_none(bench: Bench, model_process: ProcessHost, value: int):
    result = run(bench, model_process, nuclei_segmenter(), np.full(SHAPE, value, np.uint16))
    assert result.output["count"] == 0
    assert result.summary.startswith("No nuclei found")
    assert "same value" in result.summary
    assert not mask(result).any()
    assert read_table(Path(result.output["table_path"])).rows == ()


@pytest.mark.parametrize("tool", [nuclei_segmenter, cell_segmenter, organoid_segmenter])
def test_an_image_of_noise_has_none(bench: Bench, model_process: ProcessHost, tool: Any):
    noise = np.random.default_rng(3).normal(1000, 60, SHAPE).astype(np.uint16)
    result = run(bench, model_process, tool(), noise, image_type="fluorescence")
    assert result.output["count"] == 0
    assert result.summary.startswith("No ")


ODD = {
    "one pixel": np.array([[3]], np.uint8),
    "a line": np.random.default_rng(0).integers(0, 255, (1, 200)).astype(np.uint8),
    "a bright pixel": np.pad(np.array([[255]], np.uint8), 30),
    "an edge": np.repeat(np.array([0, 200], np.uint8), 40)[None].repeat(80, axis=0),
    "negative noise": np.random.default_rng(1).normal(-500, 100, (80, 90)).astype(np.int16),
    "not numbers": np.where(
        np.eye(80) > 0, np.nan, np.random.default_rng(2).normal(0, 1, (80, 80))
    ),
    "one colour": np.full((50, 60, 3), (200, 100, 150), np.uint8),
    "coloured noise": np.random.default_rng(3).integers(0, 255, (60, 70, 3)).astype(np.uint8),
}


@pytest.mark.parametrize("kind", ["fluorescence", "phase", "tissue", "blood"])
@pytest.mark.parametrize("name", ODD)
def test_odd_images_are_answered_without_a_warning(name: str, kind: str):
    pixels = ODD[name]
    if pixels.ndim == 2 and kind in ("tissue", "blood"):
        pixels = np.stack([pixels] * 3, axis=2)
    guess_kind(pixels)
    for target in ("nuclei", "cells", "organoids"):
        payload = {"pixels": pixels, "kind": kind, "target": target}
        payload |= {"diameter": None, "min_area": None}
        answer = entry(payload, lambda fraction, text: None)
        assert answer["labels"].shape == pixels.shape[:2]
        assert len(answer["columns"]["label"]) == answer["labels"].max()


def test_measures_are_those_of_scikit_image():
    truth = discs([(60, 60), (68, 74), (120, 150)], 14)
    truth[110:130, 20:60] = 4
    found = measured(truth.astype(np.uint16), fluorescence(truth))
    witness = regionprops_table(
        truth,
        fluorescence(truth),
        properties=(
            *("area", "centroid", "eccentricity", "axis_major_length", "axis_minor_length"),
            *("solidity", "mean_intensity"),
        ),
    )
    assert found["area_px"].tolist() == witness["area"].tolist()
    for mine, theirs, within in (
        ("centroid_y", "centroid-0", 0.01),
        ("centroid_x", "centroid-1", 0.01),
        ("eccentricity", "eccentricity", 1e-3),
        ("major_axis_px", "axis_major_length", 0.01),
        ("minor_axis_px", "axis_minor_length", 0.01),
        ("mean_intensity", "mean_intensity", 0.01),
        # Its hull is of pixel centres widened to diamonds, ours of the pixels' corners.
        ("solidity", "solidity", 0.05),
    ):
        np.testing.assert_allclose(found[mine], witness[theirs], atol=within)


def test_one_nucleus(bench: Bench, model_process: ProcessHost):
    truth = discs([(90, 110)], 12)
    result = run(bench, model_process, nuclei_segmenter(), fluorescence(truth))
    assert result.summary.startswith("1 nucleus (")
    assert f1(truth, mask(result), 0.7) == 1


def test_a_channel_that_is_not_there_is_named(bench: Bench, model_process: ProcessHost):
    with pytest.raises(ToolRetry, match="single one"):
        run(bench, model_process, nuclei_segmenter(), fluorescence(APART), channel=3)


def channels(bench: Bench) -> None:
    other = discs([(60, 60), (120, 120)], 20)
    stack = np.stack([fluorescence(APART), fluorescence(other)])
    tifffile.imwrite(
        bench.folder / "c.ome.tif",
        stack,
        metadata={"axes": "CYX", "Channel": {"Name": ["DAPI", "Actin-GFP"]}},
    )
    bench.open(bench.folder / "c.ome.tif")


@pytest.mark.parametrize(
    ("channel", "count"), [(1, 20), (2, 2), ("Actin-GFP", 2), ("gfp", 2), ("dapi", 20)]
)
def test_a_channel_by_number_or_name(
    bench: Bench, model_process: ProcessHost, channel: Any, count: int
):
    bench.host = model_process
    channels(bench)
    result = bench.run(nuclei_segmenter(), image_path="image-1", channel=channel)
    assert result.output["count"] == count
    assert result.findings[0].image.frame == (0 if count == 20 else 1)
    assert f"looked at channel {'DAPI' if count == 20 else 'Actin-GFP'} only" in result.summary


def test_a_wrong_channel_lists_those_that_there_are(bench: Bench):
    channels(bench)
    with pytest.raises(ToolRetry, match=r"1 \(DAPI\), 2 \(Actin-GFP\)"):
        bench.run(nuclei_segmenter(), image_path="image-1", channel=3)


def test_cells_counted_in_a_nuclear_stain_are_said_to_be_nuclei(
    bench: Bench, model_process: ProcessHost
):
    bench.host = model_process
    channels(bench)
    result = bench.run(cell_segmenter(), image_path="image-1", channel="DAPI")
    assert "nuclear stain" in result.summary


def rods() -> np.ndarray:
    """Twelve rods, some of them side by side or end to end."""
    truth = np.zeros((160, 200), np.int32)
    places = [(20, 20), (20, 60), (20, 98), (50, 20), (61, 20), (72, 20), (110, 100), (110, 138)]
    for number, (row, column) in enumerate([*places, (60, 120), (140, 20)], 1):
        truth[row : row + 10, column : column + 36] = number
    return truth


def test_dark_rods_on_grey_are_cells(bench: Bench, model_process: ProcessHost):
    truth = rods()
    pixels = phase(truth)
    assert guess_kind(pixels).kind is ImageKind.PHASE
    result = run(bench, model_process, cell_segmenter(), pixels)
    assert f1(truth, mask(result)) >= 0.9


@pytest.mark.parametrize(("radius", "step"), [(8, 22), (14, 40), (20, 70)])
def test_round_cells_in_phase_contrast(radius: int, step: int):
    shape = (8 * step, 8 * step)
    truth = discs(grid(30, step, shape, 0), radius, shape)
    payload = {"pixels": phase(truth), "kind": "phase", "target": "cells"}
    payload |= {"diameter": None, "min_area": None}
    answer = entry(payload, lambda fraction, text: None)
    assert answer["diameter"] == pytest.approx(2 * radius, rel=0.3)
    assert f1(truth, answer["labels"]) >= 0.9


def stained(background: tuple[int, ...], parts: dict[tuple[int, ...], np.ndarray]) -> np.ndarray:
    image = np.empty((*next(iter(parts.values())).shape, 3))
    image[:] = background
    for colour, where in parts.items():
        image[where] = colour
    random = np.random.default_rng(0)
    return np.clip(image + random.normal(0, 4, image.shape), 0, 255).astype(np.uint8)


def test_haematoxylin_in_tissue(bench: Bench, model_process: ProcessHost):
    pixels = stained((215, 150, 195), {(90, 60, 140): APART > 0})
    assert guess_kind(pixels).kind is ImageKind.TISSUE
    result = run(bench, model_process, nuclei_segmenter(), pixels)
    assert f1(APART, mask(result)) >= 0.95
    columns = read_table(Path(result.output["table_path"])).columns
    assert {"mean_red", "mean_green", "mean_blue"} <= set(columns)


def smear() -> tuple[np.ndarray, np.ndarray]:
    cells = discs([(40, 40), (40, 100), (60, 112), (110, 50), (160, 60), (150, 130)], 18)
    pale = discs([(40, 40), (110, 50)], 6) > 0
    white = discs([(100, 190)], 22) > 0
    parts = {(190, 130, 120): cells > 0, (215, 190, 180): pale, (90, 70, 170): white}
    return cells, stained((220, 225, 222), parts)


def test_red_cells_of_a_smear_without_the_white_ones(bench: Bench, model_process: ProcessHost):
    cells, pixels = smear()
    assert guess_kind(pixels).kind is ImageKind.BLOOD
    result = run(bench, model_process, cell_segmenter(), pixels)
    assert result.output["count"] == 6
    assert f1(cells, mask(result)) == 1


def test_the_nuclei_of_a_smear_are_those_of_white_cells(bench: Bench, model_process: ProcessHost):
    result = run(bench, model_process, nuclei_segmenter(), smear()[1])
    assert result.output["count"] == 1


def test_organoids_dark_and_textured(bench: Bench, model_process: ProcessHost):
    shape = (600, 700)
    truth = discs([(120, 130), (150, 400), (400, 200), (420, 480), (470, 500)], 55, shape)
    truth[truth == 5] = 0
    random = np.random.default_rng(5)
    image = 130 + 20 * np.linspace(-1, 1, shape[1]) + random.normal(0, 3, shape)
    image[truth > 0] += random.normal(0, 40, shape)[truth > 0] - 10
    result = run(
        bench, model_process, organoid_segmenter(), np.clip(image, 0, 255).astype(np.uint8)
    )
    assert result.output["count"] == 4
    assert f1(truth, mask(result), 0.7) == 1


def test_a_network_that_is_not_installed_says_how_to_add_it(bench: Bench):
    bench.open(write_tiff(bench.folder / "a.tif", fluorescence(APART)))
    with pytest.raises(ToolFailed, match=r"StarDist is not installed.*pip install"):
        bench.run(nuclei_segmenter(), image_path="image-1", model="stardist")


def test_the_same_objects_whatever_their_number_of_bits(bench: Bench, model_process: ProcessHost):
    """The stored values are read, never the eight bits of the display."""
    truth = discs([(60, 60), (120, 150)], 12)
    faint = (fluorescence(truth, noise=0.02) // 16).astype(np.uint16)
    faint[:4, :4] = 65535  # a hot corner, beside which the rest is black on the display
    result = run(bench, model_process, nuclei_segmenter(), faint, min_area=60)
    assert f1(truth, np.where(mask(result) > 0, mask(result), 0)) >= 0.8
    assert len(find_objects(mask(result))) >= 2


def test_values_that_are_no_numbers_are_background_and_told(
    bench: Bench, model_process: ProcessHost
):
    pixels = fluorescence(APART, bits=16).astype(np.float32)
    whole = run(bench, model_process, nuclei_segmenter(), pixels).output["count"]
    pixels[:4, :5], pixels[-1, -1] = np.nan, np.inf
    result = run(bench, model_process, nuclei_segmenter(), pixels)
    assert result.output["count"] == whole == int(APART.max())
    assert "21 values that are no numbers were taken as background" in result.summary


def test_a_film_is_said_to_be_no_microscope_s_image(bench: Bench, model_process: ProcessHost):
    bench.host = model_process
    pixels = fluorescence(APART, bits=16)
    bench.open(write_dicom(bench.folder / "a.dcm", pixels, Modality="CT"))
    result = bench.run(nuclei_segmenter(), image_path="image-1")
    assert "this is a CT image, not one of a microscope" in result.summary


def test_the_plane_of_a_stack_is_told(bench: Bench, model_process: ProcessHost):
    bench.host = model_process
    path = bench.folder / "stack.ome.tif"
    plane = fluorescence(APART, bits=16)
    tifffile.imwrite(path, np.stack([plane, plane, plane]), metadata={"axes": "ZYX"})
    bench.open(path)
    result = bench.run(nuclei_segmenter(), image_path="image-1")
    assert "looked at depth 1 of 3 only" in result.summary


@pytest.mark.parametrize(
    ("area", "text"), [(67.442, "67.44"), (279.5, "279.5"), (1234567.0, "1,234,567")]
)
def test_areas_are_written_without_powers_of_ten(area: float, text: str):
    assert segmentation._area(area) == text


@pytest.mark.parametrize(
    ("question", "objects"),
    [("how many cells?", "cells"), ("segment this", "auto"), ("count the objects", "auto")],
)
def test_where_nothing_is_named_the_picture_decides(question: str, objects: str):
    note = {"id": "image-1", "path": "/open/1.tif", "kind": "tiff", "content": "image"}
    registry = load_packs(())
    tools = {tool.spec.name: schema_of(tool) for tool in registry.all()}
    plan = Planner().interpret(question, Scene((note,), tools, plans=registry.plans)).plan
    assert isinstance(plan, ToolPlan)
    assert [(step.tool, step.arguments["objects"]) for step in plan.steps] == [
        ("cell_segmenter", objects)
    ]


def test_the_picture_decides_only_where_it_tells(bench: Bench, model_process: ProcessHost):
    result = run(bench, model_process, cell_segmenter(), fluorescence(APART), objects="auto")
    assert result.findings[0].label == "Nuclei"
    assert result.summary.startswith("Taken for nuclei by the picture")
    bench.open(write_tiff(bench.folder / "blank.tif", np.full(SHAPE, 9, np.uint8), None))
    with pytest.raises(ToolRetry, match="does not tell what is to be outlined"):
        bench.run(cell_segmenter(), image_path="image-2", objects="auto")


def stack_of(bench: Bench, planes: list[np.ndarray], axes: str = "ZYX") -> None:
    path = bench.folder / "stack.ome.tif"
    tifffile.imwrite(path, np.stack(planes), metadata={"axes": axes})
    bench.open(path)


UPPER = discs([(40, 40), (40, 120), (150, 60)], 10)
LOWER = discs([(100, 180), (150, 150)], 10)


def test_a_maximum_projection_counts_what_is_at_any_depth(bench: Bench, model_process: ProcessHost):
    planes = [fluorescence(UPPER), fluorescence(LOWER)]
    stack_of(bench, planes)
    bench.host = model_process
    result = bench.run(nuclei_segmenter(), image_path="image-1", depth="maximum")
    assert result.output["count"] == 5
    assert f1(np.maximum(UPPER, np.where(LOWER > 0, LOWER + 3, 0)), mask(result)) == 1
    assert "maximum projection of 2 depths" in result.summary
    assert "depth 1 of 2 only" not in result.summary
    assert result.output["parameters"]["depth"] == "maximum"
    # Cells are cut out of the projection, not of the shown depth.
    made = bench.run(
        SingleCellCropper(),
        image_paths=["image-1"],
        mask_paths=[result.output["mask_path"]],
        margin=0,
    )
    table = read_table(Path(made.output["crops_path"]))
    brightest = np.maximum(*planes)
    with tifffile.TiffFile(bench.out / str(table.column("crop_file")[0])) as crops:
        pages = [page.asarray() for page in crops.pages]
    assert len(pages) == 5
    for row, page in enumerate(pages):
        x0, y0, x1, y1 = (int(str(table.column(one)[row])) for one in ("x0", "y0", "x1", "y1"))
        np.testing.assert_array_equal(page, brightest[y0:y1, x0:x1])


def test_all_depths_are_counted_one_by_one(bench: Bench, model_process: ProcessHost):
    blank = np.zeros_like(fluorescence(UPPER))
    stack_of(bench, [fluorescence(UPPER), blank, fluorescence(LOWER)])
    bench.host = model_process
    result = bench.run(nuclei_segmenter(), image_path="image-1", depth="all")
    assert result.output["counts"] == [3, 0, 2]
    assert result.output["count"] == 5
    assert "0 to 3 nuclei at each of 3 depths, most at depth 1, 5 in all" in result.summary
    # Outlines lie at their own depth, and rows are linked to them.
    assert [one.image.frame for one in result.findings] == [0, 1, 2]
    table = read_table(Path(result.output["table_path"]))
    assert table.column("depth") == [1, 1, 1, 3, 3]
    ids = [one.id for one in result.findings]
    assert table.column("finding") == [ids[0]] * 3 + [ids[2]] * 2
    for row, (x, y) in enumerate(
        zip(table.column("centroid_x"), table.column("centroid_y"), strict=True)
    ):
        truth = UPPER if row < 3 else LOWER
        assert truth[round(float(str(y))), round(float(str(x)))]
    counts = next(one for one in result.artifacts if one.title == "Nuclei by depth")
    assert read_table(counts.path).column("count") == [3, 0, 2]
    # The mask goes with the shown depth.
    assert mask(result).max() == 3


def test_all_time_points_of_a_series_are_counted(bench: Bench, model_process: ProcessHost):
    stack_of(bench, [fluorescence(UPPER), fluorescence(LOWER)], "TYX")
    bench.host = model_process
    result = bench.run(nuclei_segmenter(), image_path="image-1", depth="all")
    assert result.output["counts"] == [3, 2]
    assert "2 time points" in result.summary
    assert read_table(Path(result.output["table_path"])).column("time_point") == [1, 1, 1, 2, 2]


def test_all_depths_of_a_named_channel(bench: Bench, model_process: ProcessHost):
    nothing = np.zeros_like(fluorescence(UPPER))
    path = bench.folder / "two.ome.tif"
    planes = np.stack(
        [np.stack([nothing, fluorescence(UPPER)]), np.stack([nothing, fluorescence(LOWER)])]
    )
    tifffile.imwrite(path, planes, metadata={"axes": "ZCYX", "Channel": {"Name": ["GFP", "DAPI"]}})
    bench.open(path)
    bench.host = model_process
    result = bench.run(nuclei_segmenter(), image_path="image-1", depth="all", channel="DAPI")
    assert result.output["counts"] == [3, 2]
    result = bench.run(nuclei_segmenter(), image_path="image-1", depth="maximum", channel=2)
    assert result.output["count"] == 5


@pytest.mark.parametrize("depth", ["all", "maximum"])
def test_one_depth_is_counted_as_ever_and_said(
    bench: Bench, model_process: ProcessHost, depth: str
):
    result = run(bench, model_process, nuclei_segmenter(), fluorescence(UPPER), depth=depth)
    assert result.output["count"] == 3
    assert "the image has one depth" in result.summary


def test_colours_are_not_projected(bench: Bench, model_process: ProcessHost):
    coloured = np.stack([np.full((40, 40, 3), (200, 90, 90), np.uint8)] * 2)
    stack_of(bench, list(coloured), "ZYXS")
    bench.host = model_process
    with pytest.raises(ToolRetry, match="colours of several depths"):
        bench.run(nuclei_segmenter(), image_path="image-1", depth="maximum")
