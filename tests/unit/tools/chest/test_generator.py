"""chest_xray_generator: RoentGen's real loading and drawing on tiny networks; marked everywhere."""

from __future__ import annotations

import hashlib
import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image
from pydantic import ValidationError

from app.errors import Cancelled
from app.tools.api import ModelHost, ToolFailed, ToolResult
from app.tools.chest.generator import SPEC, ChestXRayGenerator, add_label_strips
from app.tools.general.image_visualizer import ImageVisualizer
from app.tools.models.store import ModelStore
from app.tools.registry import RegisteredTool
from tests.support import tiny_making as making
from tests.unit.tools.support import Bench, FakeHost

PROMPT = "PA chest X-ray showing moderate cardiomegaly"
SMALL: dict[str, Any] = {"prompt": PROMPT, "height": 256, "width": 256, "num_inference_steps": 2}


@pytest.fixture(scope="session")
def roentgen(tiny_models: Any) -> Path:
    """A models folder with a tiny RoentGen."""
    pytest.importorskip("diffusers")
    return tiny_models("chest_xray_generator", "roentgen")


@pytest.fixture
def drawing(bench: Bench, roentgen: Path, model_process: ModelHost) -> Bench:
    bench.models, bench.host = roentgen, model_process
    return bench


def draw(bench: Bench, **changes: Any) -> ToolResult:
    return bench.run(ChestXRayGenerator(), **{**SMALL, "seed": 3, **changes})


def inside(result: ToolResult) -> np.ndarray:
    x0, y0, x1, y1 = (round(v + 0.5) for v in result.metadata["picture_box"])
    return np.asarray(Image.open(result.output["image_path"]))[y0:y1, x0:x1]


def test_it_draws_from_a_description_with_the_seeds_keys(drawing: Bench):
    result = draw(drawing)
    assert set(result.output) == {"image_path"}
    wanted = {"prompt", "num_inference_steps", "guidance_scale", "device", "image_size", "status"}
    assert wanted <= set(result.metadata)
    assert result.metadata["prompt"] == PROMPT
    assert result.metadata["image_size"] == [256, 256]
    assert result.metadata["status"] == "completed"
    assert result.metadata["model"] == "RoentGen"
    assert len(result.metadata["weights_sha256"]) == 64
    assert inside(result).shape == (256, 256)
    assert inside(result).std() > 5
    json.dumps(result.metadata)


def test_the_arguments_are_the_seeds_with_its_defaults():
    fields = SPEC.Input.model_fields
    assert {name: field.default for name, field in fields.items() if not field.is_required()} == {
        "height": 512,
        "width": 512,
        "num_inference_steps": 75,
        "guidance_scale": 4.0,
        "seed": None,
    }


@pytest.mark.parametrize(
    "wrong",
    [
        {"height": 250},
        {"width": 248},
        {"height": 1032},
        {"num_inference_steps": 0},
        {"num_inference_steps": 201},
        {"guidance_scale": 0.5},
        {"prompt": ""},
        {"seed": -1},
    ],
)
def test_what_the_model_cannot_draw_is_refused_before_it_is_loaded(wrong: dict[str, Any]):
    with pytest.raises(ValidationError):
        SPEC.Input.model_validate({**SMALL, **wrong})


def test_the_same_seed_gives_the_same_image_another_one_another(drawing: Bench):
    first, again, other = draw(drawing), draw(drawing), draw(drawing, seed=4)
    assert np.array_equal(inside(first), inside(again))
    assert not np.array_equal(inside(first), inside(other))
    by_chance = draw(drawing, seed=None)
    seed = by_chance.metadata["seed"]
    assert np.array_equal(inside(by_chance), inside(draw(drawing, seed=seed)))


def test_words_and_guidance_reach_the_model(drawing: Bench):
    first = inside(draw(drawing))
    assert not np.array_equal(first, inside(draw(drawing, prompt="normal")))
    assert not np.array_equal(first, inside(draw(drawing, guidance_scale=9.0)))


def test_each_step_is_told(drawing: Bench):
    draw(drawing, num_inference_steps=5)
    told = [text for _, text in drawing.progress if text.startswith("Step")]
    assert [text for text in told if text == "Step 3 of 5"]
    fractions = [fraction for fraction, _ in drawing.progress]
    assert fractions == sorted(fractions)


def test_a_cancel_stops_it_between_two_steps_and_leaves_no_file(drawing: Bench):
    cancel = drawing.cancel

    class Stops(list[tuple[float, str]]):
        def append(self, told: tuple[float, str]) -> None:
            if told[1].startswith("Step 2"):
                cancel.cancel()
            super().append(told)

    drawing.progress = Stops()
    with pytest.raises(Cancelled):
        draw(drawing, num_inference_steps=200)
    assert list(drawing.out.iterdir()) == []
    assert not any(text.startswith("Step 100 ") for _, text in drawing.progress)


def test_a_description_that_is_too_long_is_cut_off_and_that_is_said(drawing: Bench):
    result = draw(drawing, prompt="a" * 80)
    said = [text for text in result.metadata["warnings"] if "too long" in text]
    assert said == [f"the description is too long for the model, which did not read: {'a' * 5}"]
    assert "too long" in result.summary


def test_the_image_is_marked_in_its_pixels_its_file_its_pane_and_its_result(drawing: Bench):
    result = draw(drawing)
    path = Path(result.output["image_path"])
    with Image.open(path) as file:
        texts: dict[str, str] = file.text  # type: ignore[attr-defined]
        whole = np.asarray(file)
    assert texts["Sightline-Synthetic"] == "RoentGen"
    assert texts["Sightline-Prompt-SHA256"] == hashlib.sha256(PROMPT.encode()).hexdigest()
    assert PROMPT not in str(texts)
    assert texts["Sightline-Seed"] == "3"
    x0, _, x1, _ = (round(v + 0.5) for v in result.metadata["picture_box"])
    assert whole[:, :x0].max() > 150
    assert whole[:, x1:].max() > 150
    (shown,) = result.artifacts
    assert (shown.role, shown.path) == ("show", path)
    assert shown.options == {"synthetic": True, "model": "RoentGen"}
    assert "synthetic" in result.metadata["warnings"][0]
    assert "no patient" in result.metadata["note"]
    assert result.findings == ()


def test_what_another_tool_says_of_it_carries_the_warning(drawing: Bench):
    made = draw(drawing)
    shown = drawing.run(RegisteredTool(ImageVisualizer()), image_path=made.output["image_path"])
    assert "a synthetic image, made by RoentGen" in shown.summary
    assert shown.artifacts[0].options["synthetic"] is True


@pytest.mark.parametrize("shape", [(512, 512), (256, 1024), (1024, 256), (264, 256)])
def test_a_centred_square_crop_sees_the_picture_and_none_of_the_words(shape: tuple[int, int]):
    """What torchxrayvision's crop takes is what it would take of the picture without the words."""
    picture = np.random.default_rng(0).integers(1, 255, shape).astype(np.uint8)
    whole, _ = add_label_strips(picture)

    def cropped(pixels: np.ndarray) -> np.ndarray:
        rows, columns = pixels.shape
        side = min(rows, columns)
        top, left = rows // 2 - side // 2, columns // 2 - side // 2
        return pixels[top : top + side, left : left + side]

    assert np.array_equal(cropped(whole), cropped(picture))
    assert whole.size > picture.size


def test_the_picture_itself_is_in_the_file_pixel_by_pixel():
    picture = np.random.default_rng(0).integers(0, 255, (40, 64)).astype(np.uint8)
    whole, inside = add_label_strips(picture)
    x0, y0, x1, y1 = (round(v + 0.5) for v in inside)
    assert np.array_equal(whole[y0:y1, x0:x1], picture)


def answering(**changes: Any) -> FakeHost:
    pixels = np.random.default_rng(0).integers(0, 255, (256, 256, 1)).repeat(3, 2).astype(np.uint8)
    return FakeHost({"pixels": pixels, "cut": "", "refused": False, "notes": [], **changes})


def test_what_the_host_did_about_memory_is_told(bench: Bench, roentgen: Path):
    bench.models, bench.host = roentgen, answering(notes=["memory ran out; the CPU was used"])
    assert "memory ran out; the CPU was used" in draw(bench).metadata["warnings"]


def test_a_coloured_drawing_becomes_grey_and_that_is_said(bench: Bench, roentgen: Path):
    red = np.zeros((256, 256, 3), np.uint8)
    red[:128, :, 0] = 250
    bench.models, bench.host = roentgen, answering(pixels=red)
    result = draw(bench)
    assert any("in colour" in text for text in result.metadata["warnings"])
    assert inside(result).ndim == 2


def test_an_empty_drawing_is_no_result(bench: Bench, roentgen: Path):
    bench.models, bench.host = roentgen, answering(pixels=np.zeros((256, 256, 3), np.uint8))
    with pytest.raises(ToolFailed, match="empty image"):
        draw(bench)


def test_without_weights_it_says_what_is_missing(bench: Bench):
    with pytest.raises(ToolFailed, match=r"The image generator needs a model .* RoentGen"):
        draw(bench)


def test_its_terms_must_be_accepted(drawing: Bench, roentgen: Path):
    models = drawing.folder / "unread"
    shutil.copytree(roentgen / "roentgen", models / "roentgen")
    for record in models.rglob("installed.toml"):
        record.unlink()
    drawing.models = models
    with pytest.raises(ToolFailed, match="terms are not accepted"):
        draw(drawing)


@pytest.mark.parametrize("strict", [True, False])
def test_the_folders_own_safety_checker_is_heeded(
    drawing: Bench, model_process: ModelHost, strict: bool
):
    models = drawing.folder / "checked"
    making.install(model_process, "chest_xray_generator", models, "roentgen", strict_checker=strict)
    drawing.models = models
    if strict:
        with pytest.raises(ToolFailed, match="safety checker"):
            draw(drawing)
    else:
        assert draw(drawing).metadata["status"] == "completed"


def test_a_folder_as_they_were_written_in_2022_draws_the_same(
    drawing: Bench, model_process: ModelHost
):
    """RoentGen's age: .bin files, read as tensors only, and names that have changed since."""
    models = drawing.folder / "old"
    options = {"strict_checker": False, "of_2022": True}
    making.install(model_process, "chest_xray_generator", models, "roentgen", **options)
    assert not list(models.rglob("*.safetensors"))
    new = inside(draw(drawing))
    drawing.models = models
    assert np.array_equal(inside(draw(drawing)), new)


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"vae": ["os.path", "join"]}, "no Stable Diffusion pipeline"),
        ({"_class_name": "FluxPipeline"}, "no Stable Diffusion pipeline"),
        (None, "no Stable Diffusion pipeline"),
    ],
)
def test_a_folder_of_something_else_is_refused(
    drawing: Bench, roentgen: Path, change: dict[str, Any] | None, told: str
):
    """Also one whose index names a Python module of its own: it is not imported."""
    models = drawing.folder / "other"
    shutil.copytree(roentgen / "roentgen", models / "roentgen")
    index = models / "roentgen/model_index.json"
    said = json.loads(index.read_text())
    index.write_text("{" if change is None else json.dumps({**said, **change}))
    ModelStore(models).accept("roentgen")
    drawing.models = models
    with pytest.raises(ToolFailed, match=told):
        draw(drawing)
