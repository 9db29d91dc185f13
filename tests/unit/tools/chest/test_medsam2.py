"""medsam2_segment: real loading of the published layout, marks, the best mask, original pixels."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from app.imaging.findings import Box, Finding, Mask, Point, Provenance, new_id
from app.imaging.types import ImageRef
from app.tools.api import CancelToken, ModelHost, ToolFailed, ToolResult, ToolRetry
from app.tools.chest import medsam2 as network
from app.tools.chest import medsam2_segment
from app.tools.chest.medsam2_segment import Marks, MedSam2Segment
from tests.support import tiny_making as making
from tests.unit.tools.support import Bench, FakeHost, write_dicom

SPACED: dict[str, Any] = {"Modality": "CT", "PixelSpacing": [0.5, 0.25]}


@pytest.fixture(scope="session")
def medsam2(tiny_models: Any) -> Path:
    """A models folder with a MedSAM2 whose second mask, the best by score, is what is bright."""
    pytest.importorskip("transformers")
    return tiny_models("medsam2_segment", "medsam2")


@pytest.fixture(scope="session")
def random_medsam2(tiny_models: Any) -> Path:
    pytest.importorskip("transformers")
    return tiny_models("medsam2_segment", "medsam2", planted=False)


@pytest.fixture
def marking(bench: Bench, medsam2: Path, model_process: ModelHost) -> Bench:
    bench.models, bench.host = medsam2, model_process
    return bench


def planted(rows: int, columns: int, top: int, left: int, height: int, width: int) -> np.ndarray:
    """uint8, dark with a bright rectangle."""
    pixels = np.full((rows, columns), 30, np.uint8)
    pixels[top : top + height, left : left + width] = 220
    return pixels


def opened(bench: Bench, pixels: np.ndarray, **shown: Any) -> Bench:
    attributes = {"WindowCenter": 128, "WindowWidth": 256, **SPACED, **shown.pop("attributes", {})}
    bench.open(write_dicom(bench.folder / "a.dcm", pixels, **attributes), **shown)
    return bench


def segment(bench: Bench, **arguments: Any) -> ToolResult:
    return bench.run(MedSam2Segment(), **{"image_path": "image-1", **arguments})


def mask_of(result: ToolResult) -> np.ndarray:
    shape = result.findings[0].geometry
    assert isinstance(shape, Mask)
    return shape.pixels


@pytest.mark.parametrize(
    ("rows", "columns"), [(512, 512), (300, 700), (701, 333), (1024, 1024), (97, 130), (1600, 1200)]
)
def test_a_planted_shape_comes_back_where_it_is_to_half_a_network_pixel(
    marking: Bench, rows: int, columns: int
):
    """In the image's own pixels, whatever its size; also in the corner."""
    top, left, height, width = rows // 5, columns // 3, rows // 4, columns // 5
    opened(marking, planted(rows, columns, top, left, height, width))
    box = [left - 3, top - 3, left + width + 3, top + height + 3]
    mask = mask_of(segment(marking, box=box))
    assert mask.shape == (rows, columns)
    y, x = np.nonzero(mask)
    # The network's masks have 128 x 128 pixels; half of one is the least that can be told.
    for found, edge, size in (
        (y.min(), top, rows),
        (y.max() + 1, top + height, rows),
        (x.min(), left, columns),
        (x.max() + 1, left + width, columns),
    ):
        assert abs(found - edge) <= max(0.5, 0.5 * size / 128)


def test_a_shape_on_the_networks_grid_comes_back_to_half_a_pixel(marking: Bench):
    opened(marking, planted(512, 512, 64, 128, 96, 160))
    y, x = np.nonzero(mask_of(segment(marking, points=[[200, 100]])))
    assert (y.min(), y.max() + 1, x.min(), x.max() + 1) == (64, 160, 128, 288)


def test_the_best_of_the_three_masks_is_taken_by_score_and_not_the_first(marking: Bench):
    """The first of the tiny network's masks is the whole image, with a lower score."""
    opened(marking, planted(512, 512, 64, 128, 96, 160))
    result = segment(marking, points=[[200, 100]])
    assert result.metadata["scores"] == [0.6, 0.9, 0.3]
    assert result.metadata["chosen"] == 1
    assert result.output["score"] == 0.9
    assert mask_of(result).sum() < 0.1 * 512 * 512


@pytest.mark.parametrize(
    ("marks", "scores", "rows"),
    [
        ({"points": [[200, 100]]}, [0.6, 0.9, 0.3], (64, 159)),
        ({"box": [100, 40, 310, 190]}, [0.8], (48, 175)),
        ({"points": [[200, 100], [20, 400]], "labels": [1, 0]}, [0.8], (48, 175)),
        ({"box": [100, 40, 310, 190], "points": [[200, 100]]}, [0.8], (48, 175)),
    ],
)
def test_only_a_single_point_gets_three_masks(
    marking: Bench, marks: dict[str, Any], scores: list[float], rows: tuple[int, int]
):
    """As the published program: fine-tuning on boxes trained the single mask's head for these.

    The tiny network's single mask has the darker rim with it, the best of the three has not.
    """
    pixels = planted(512, 512, 48, 112, 128, 192)
    pixels[pixels > 30] = 124
    pixels[64:160, 128:288] = 220
    opened(marking, pixels)
    result = segment(marking, **marks)
    assert result.metadata["scores"] == pytest.approx(scores)
    assert result.metadata["chosen"] == scores.index(max(scores))
    assert result.output["score"] == pytest.approx(max(scores))
    y, _ = np.nonzero(mask_of(result))
    assert (y.min(), y.max()) == pytest.approx(rows, abs=2)  # the rim is 16 wide


def test_figures_are_in_pixels_and_in_cm2_only_with_the_files_spacing(marking: Bench):
    opened(marking, planted(512, 512, 64, 128, 96, 160))
    result = segment(marking, box=[120, 60, 300, 170], label="Cyst")
    pixels = int(mask_of(result).sum())
    assert result.output["area_pixels"] == pixels
    assert result.output["area_cm2"] == pytest.approx(pixels * 0.5 * 0.25 / 100, abs=0.01)
    assert result.output["bbox"] == [64, 128, 160, 288]
    assert result.metadata["pixel_spacing_mm"] == [0.5, 0.25]
    (finding,) = result.findings
    assert finding.label == "Cyst"
    assert finding.score == 0.8
    assert finding.provenance.tool == "medsam2_segment"
    assert len(finding.provenance.weights_sha256) == 64
    json.dumps([result.output, result.metadata])


def test_without_spacing_there_is_no_cm2(marking: Bench):
    opened(marking, planted(256, 256, 64, 64, 64, 64), attributes={"PixelSpacing": None})
    result = segment(marking, points=[[90, 90]])
    assert result.output["area_cm2"] is None
    assert "cm²" not in result.findings[0].description
    assert "no figures in mm or cm²" in result.metadata["area_note"]


@pytest.mark.parametrize("modality", ["CT", "MR", "CR", "US"])
def test_it_takes_any_modality(marking: Bench, modality: str):
    attributes = {"Modality": modality, "BodyPartExamined": "HEAD"}
    opened(marking, planted(256, 256, 64, 64, 64, 64), attributes=attributes)
    assert segment(marking, points=[[90, 90]]).output["found"]


def test_a_frame_of_a_series_of_frames_can_be_named(marking: Bench):
    frames = np.stack([planted(128, 128, 10 * i, 20, 30, 40) for i in range(3)])
    opened(marking, frames, attributes={"Modality": "US"})
    result = segment(marking, points=[[40, 35]], frame=2)
    assert result.metadata["frame"] == 2
    assert result.findings[0].image.frame == 2
    assert np.nonzero(mask_of(result))[0].min() == pytest.approx(20, abs=1)


def user_drew(bench: Bench, *shapes: tuple[str, Box | Point]) -> None:
    """Opens the image with marks on it, as the canvas tools draw them."""
    opened(bench, planted(512, 512, 64, 128, 96, 160))
    ref = bench.images.resolve("image-1").ref
    drawn = tuple(mark(ref, tool, shape) for tool, shape in shapes)
    path = bench.opened.pop().instance.path
    bench.open(path, drawn=drawn)


def mark(ref: ImageRef, tool: str, shape: Box | Point) -> Finding:
    return Finding(new_id(), ref, shape, tool, None, "", Provenance(tool, "", "", "", "", ""))


def test_what_the_user_drew_is_taken_when_nothing_is_given(marking: Bench):
    """The last box and the points after it, those beside it told apart."""
    user_drew(
        marking,
        ("mark_box", Box(0.5, 0.5, 20.5, 20.5)),
        ("mark_point", Point(5, 5)),
        ("mark_box", Box(119.5, 59.5, 299.5, 169.5)),
        ("mark_point", Point(200, 100)),
        ("mark_outside", Point(400, 400)),
    )
    result = segment(marking)
    assert result.metadata["box"] == [119.5, 59.5, 299.5, 169.5]
    assert result.metadata["points"] == [[200, 100], [400, 400]]
    assert result.metadata["labels"] == [1, 0]
    assert not any("outline" in text for text in result.metadata["warnings"])


@pytest.mark.parametrize("shapes", [(), (("mark_outside", Point(4, 4)),)])
def test_with_nothing_marked_it_asks_for_a_mark(marking: Bench, shapes: Any):
    user_drew(marking, *shapes)
    with pytest.raises(ToolRetry, match="nothing is marked"):
        segment(marking)


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ({"box": [200, 10, 100, 50]}, "contains no whole pixel"),
        ({"box": [600, 600, 700, 700]}, "outside the image"),
        ({"box": [float("nan"), 0, 10, 10]}, "four numbers"),
        ({"points": [[900, 10]]}, "outside the image"),
        ({"points": [[1]]}, "two numbers"),
        ({"points": [[1, 1]], "labels": [1, 0]}, "labels"),
        ({"points": [[1, 1]], "labels": [2]}, "labels"),
        ({"points": [[1, 1]], "labels": [0]}, "nothing is marked"),
    ],
)
def test_marks_that_mean_nothing_are_sent_back(bench: Bench, arguments: Any, told: str):
    opened(bench, planted(512, 512, 64, 128, 96, 160))
    with pytest.raises(ToolRetry, match=told):
        segment(bench, **arguments)


def test_a_box_goes_to_the_network_by_its_first_and_last_pixels(bench: Bench, medsam2: Path):
    """A box over the pixels a to b - 1 has the edges a - 0.5 and b - 0.5."""
    host = FakeHost(answer(np.ones((512, 512), np.uint8)))
    bench.models, bench.host = medsam2, host
    opened(bench, planted(512, 512, 64, 128, 96, 160))
    segment(bench, box=[127.5, 63.5, 287.5, 159.5])
    assert host.calls[0][1]["box"] == [128, 64, 287, 159]


def answer(mask: np.ndarray, **changes: Any) -> dict[str, Any]:
    return {"mask": mask, "scores": [0.2, 0.9, 0.1], "chosen": 1, "object": 0.9, **changes}


def answered(bench: Bench, models: Path, mask: np.ndarray, **changes: Any) -> Bench:
    bench.models, bench.host = models, FakeHost(answer(mask, **changes))
    return opened(bench, planted(512, 512, 64, 128, 96, 160))


def test_an_empty_mask_is_no_finding_and_that_is_said(bench: Bench, medsam2: Path):
    answered(bench, medsam2, np.zeros((512, 512), np.uint8))
    result = segment(bench, box=[10, 10, 50, 50])
    assert result.findings == ()
    assert result.output["found"] is False
    assert result.metadata["status"] == "completed_no_finding"
    assert "found nothing where it was marked" in result.summary


def test_a_doubtful_answer_is_called_doubtful(bench: Bench, medsam2: Path):
    mask = np.zeros((512, 512), np.uint8)
    mask[0:60, 20:80] = 1
    answered(bench, medsam2, mask, scores=[0.1, 0.4, 0.2], object=0.2)
    warnings = segment(bench, box=[9.5, 9.5, 49.5, 49.5], points=[[12, 12]]).metadata["warnings"]
    for text in (
        "reaches the box's edge (top, right, bottom)",
        "of the outline lies outside the box",
        "disagrees with 1 of 1 points",
        "reaches the image's border",
        "expects a poor outline (score 0.40)",
        "does not recognise what is marked as an object",
    ):
        assert any(text in said for said in warnings), text


def test_a_mask_well_inside_its_box_raises_no_doubt():
    mask = np.zeros((40, 40), bool)
    mask[10:20, 10:20] = True
    assert (
        medsam2_segment.mask_warnings(
            Marks((5.5, 5.5, 30.5, 30.5), ((12, 12), (2, 2)), (1, 0)), mask
        )
        == []
    )


def test_without_weights_it_says_what_is_missing(bench: Bench):
    opened(bench, planted(64, 64, 10, 10, 20, 20))
    with pytest.raises(ToolFailed, match=r"needs a model .* MedSAM2"):
        segment(bench, points=[[15, 15]])


def test_a_file_of_another_model_is_refused(bench: Bench, model_process: ModelHost):
    pytest.importorskip("transformers")
    making.install(model_process, "medsam2_segment", bench.models, "medsam2")
    (bench.models / "MedSAM2_latest.pt").write_bytes(b"no weights")
    bench.host = model_process
    opened(bench, planted(64, 64, 10, 10, 20, 20))
    with pytest.raises(ToolFailed, match=r"damaged|cannot be read|differ|changed"):
        segment(bench, points=[[15, 15]])


@pytest.mark.parametrize(
    "other",
    [
        {"box": [300, 300, 400, 400]},
        {"box": [100, 100, 200, 200], "points": [[150, 150]]},
        {"points": [[150, 150]]},
        {"points": [[150, 150], [20, 20]], "labels": [1, 0]},
    ],
)
def test_every_mark_reaches_the_network(
    marking: Bench, random_medsam2: Path, other: dict[str, Any]
):
    """With random weights another mark gives another outline."""
    marking.models = random_medsam2
    opened(marking, planted(512, 512, 64, 128, 96, 160))
    first = mask_of(segment(marking, box=[100, 100, 200, 200]))
    assert not np.array_equal(mask_of(segment(marking, **other)), first)
    assert np.array_equal(mask_of(segment(marking, box=[100, 100, 200, 200])), first)


@pytest.mark.parametrize(
    "marked",
    [
        {"box": [100.0, 120.0, 300.0, 330.0], "points": None, "labels": None},
        {"box": None, "points": [[50.0, 60.0], [200.0, 250.0]], "labels": [1, 0]},
        {"box": [10.0, 20.0, 300.0, 330.0], "points": [[50.0, 60.0]], "labels": [1]},
    ],
)
def test_the_network_is_the_published_one_layer_by_layer(
    random_medsam2: Path, model_process: ModelHost, marked: dict[str, Any]
):
    """Held against SAM 2.1 written down once more by facebookresearch's names, random weights."""
    pixels = np.random.default_rng(0).integers(0, 255, (512, 512, 3)).astype(np.uint8)
    path = str(random_medsam2 / "MedSAM2_latest.pt")
    payload = {"path": path, "pixels": pixels, "device": "cpu", **marked}
    apart = model_process.call(
        "tests.support.sam2_witness:entry", payload, cancel=CancelToken(), timeout_s=60
    )
    assert apart["spread"] > 1
    assert apart["masks"] < 1e-3
    assert apart["scores"] < 1e-5
    assert apart["object"] < 1e-4


@pytest.mark.parametrize(
    ("published", "ours"),
    [
        ("no_mem_embed", "no_memory_embedding"),
        (
            "image_encoder.trunk.blocks.3.mlp.layers.1.weight",
            "vision_encoder.backbone.blocks.3.mlp.proj_out.weight",
        ),
        ("image_encoder.neck.convs.2.conv.bias", "vision_encoder.neck.convs.2.bias"),
        (
            "sam_mask_decoder.output_hypernetworks_mlps.2.layers.1.weight",
            "mask_decoder.output_hypernetworks_mlps.2.layers.0.weight",
        ),
        (
            "sam_mask_decoder.iou_prediction_head.layers.2.bias",
            "mask_decoder.iou_prediction_head.proj_out.bias",
        ),
        (
            "sam_mask_decoder.pred_obj_score_head.layers.0.bias",
            "mask_decoder.pred_obj_score_head.proj_in.bias",
        ),
        (
            "sam_mask_decoder.transformer.layers.1.cross_attn_image_to_token.out_proj.weight",
            "mask_decoder.transformer.layers.1.cross_attn_image_to_token.o_proj.weight",
        ),
        (
            "sam_mask_decoder.transformer.norm_final_attn.weight",
            "mask_decoder.transformer.layer_norm_final_attn.weight",
        ),
        ("sam_mask_decoder.output_upscaling.1.bias", "mask_decoder.upscale_layer_norm.bias"),
        (
            "sam_prompt_encoder.mask_downscaling.3.weight",
            "prompt_encoder.mask_embed.conv2.weight",
        ),
        (
            "sam_prompt_encoder.pe_layer.positional_encoding_gaussian_matrix",
            "prompt_encoder.shared_embedding.positional_embedding",
        ),
    ],
)
def test_names_are_those_of_transformers_conversion(published: str, ours: str):
    """As `convert_sam2_to_hf.py` of transformers maps them."""
    assert network.current_name(published) == ours


def test_the_memory_of_videos_is_left_out():
    assert network.is_memory_tensor("memory_attention.layers.0.norm1.weight")
    assert network.is_memory_tensor("maskmem_tpos_enc")
    assert not network.is_memory_tensor("no_mem_embed")
    assert not network.is_memory_tensor("sam_mask_decoder.conv_s0.weight")
