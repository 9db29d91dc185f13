"""llava_med_qa: a tiny model in the published layout through the real tool and process."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pydantic import ValidationError

from app.tools.api import ModelHost, ToolFailed
from app.tools.chest.llava_med import CONVERTED, MODEL, LlavaMed
from app.tools.general.image_visualizer import ImageVisualizer, colormap_table
from app.tools.hosting.host import ProcessHost
from app.tools.models.cards import card
from app.tools.models.store import ModelStore
from tests.support.tiny_making import make
from tests.unit.tools.chest.synthetic import radiograph
from tests.unit.tools.support import Bench, FakeHost, call, write_dicom

pytest.importorskip("transformers")
pytest.importorskip("sentencepiece")

TOOL = "llava_med_qa"
SAYS = "I partly agree: the heart is enlarged."
QUESTION = "Do you agree with that interpretation? Point out any disagreement."
WITNESS = "tests.unit.tools.chest.llava_witness"
TOWER = {
    "hidden_size": 64,
    "intermediate_size": 96,
    "num_hidden_layers": 3,
    "num_attention_heads": 1,
    "image_size": 56,
    "patch_size": 14,
    "hidden_act": "quick_gelu",
}


@pytest.fixture(scope="session")
def tiny(model_process: ProcessHost, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A models folder with the published layout, the converted one, and one that says anything."""
    folder = tmp_path_factory.mktemp("llava-models")
    make(model_process, TOOL, folder / MODEL, says=SAYS)
    make(model_process, TOOL, folder / CONVERTED, says=SAYS, layout="hf")
    make(model_process, TOOL, folder / "random", says="")
    return folder


def install(bench: Bench, tiny: Path, name: str = MODEL) -> None:
    shutil.copytree(tiny / name, bench.models / name)
    ModelStore(bench.models).accept(name)


@pytest.fixture
def opened(bench: Bench, tiny: Path) -> Bench:
    install(bench, tiny)
    bench.open(write_dicom(bench.folder / "a.dcm", radiograph()))
    return bench


def ask(bench: Bench, host: ModelHost | None = None, **arguments: Any) -> Any:
    bench.host = host or bench.host
    return bench.run(LlavaMed(), **{"question": QUESTION, **arguments})


def test_a_question_is_needed():
    for question in ("", "x" * 5000):
        with pytest.raises(ValidationError):
            LlavaMed().spec.Input.model_validate({"question": question})


def test_its_terms_are_to_be_accepted_first(bench: Bench, tiny: Path):
    shutil.copytree(tiny / MODEL, bench.models / MODEL)
    with pytest.raises(ToolFailed, match="terms are not accepted"):
        ask(bench)


def test_transformers_own_layout_is_taken_where_the_published_one_is_not_installed(
    bench: Bench, tiny: Path, model_process: ProcessHost
):
    install(bench, tiny, CONVERTED)
    result = ask(bench, model_process)
    assert result.output == {"answer": SAYS}
    assert result.metadata["model"] == card(CONVERTED).title


@pytest.mark.parametrize("shape", [(90, 61), (60, 91), (56, 56), (70, 50, 3)])
def test_prompt_pixels_and_first_token_are_the_originals(
    tiny: Path, model_process: ProcessHost, shape: tuple[int, ...]
):
    """Against Mistral, CLIP and the projector put together by hand from the same files."""
    pixels = np.random.default_rng(5).integers(0, 256, shape, dtype=np.uint8)
    given = {"path": str(tiny / "random"), "pixels": pixels, "question": QUESTION}
    ours = call(model_process, f"{WITNESS}:ours", **given)
    theirs = call(model_process, f"{WITNESS}:theirs", **given, tower=TOWER)
    assert (ours["before"], ours["after"]) == (theirs["before"], theirs["after"])
    assert np.abs(ours["values"] - theirs["values"]).max() < 1e-5
    assert np.abs(ours["scores"] - theirs["scores"]).max() < 1e-3
    assert np.abs(theirs["scores"]).max() > 0.1
    assert ours["rope_theta"] == 1_000_000.0


def test_at_full_size_the_layout_has_the_published_files_size(model_process: ProcessHost):
    """So the vision tower lies in them, and no weight is more or less than is thought.

    What is left is the headers of the four files: name, type, shape and place of each weight.
    """
    published = sum(file.size for file in card(MODEL).files if file.name.endswith("safetensors"))
    made = call(model_process, f"{WITNESS}:full_size")
    header = (published - made["bytes"]) / made["count"]
    assert 100 < header < 200


def test_both_layouts_of_the_same_weights_give_the_same_scores(
    tiny: Path, model_process: ProcessHost
):
    pixels = np.random.default_rng(6).integers(0, 256, (80, 60), dtype=np.uint8)
    one, other = (
        call(
            model_process,
            f"{WITNESS}:ours",
            path=str(tiny / name),
            pixels=pixels,
            question=QUESTION,
        )
        for name in (MODEL, CONVERTED)
    )
    # One by SentencePiece, the other by a tokenizer.json.
    assert (one["before"], one["after"]) == (other["before"], other["after"])
    assert np.array_equal(one["values"], other["values"])
    assert np.abs(one["scores"] - other["scores"]).max() < 1e-4


def test_the_answer_depends_on_the_image_and_on_whether_there_is_one(
    tiny: Path, model_process: ProcessHost
):
    images = (None, np.zeros((40, 40), np.uint8), np.full((40, 40), 255, np.uint8))
    scores = [
        call(
            model_process, f"{WITNESS}:ours", path=str(tiny / "random"), pixels=image, question="x"
        )
        for image in images
    ]
    for first, second in ((0, 1), (0, 2), (1, 2)):
        difference = np.abs(scores[first]["scores"] - scores[second]["scores"]).max()
        assert difference > 0.01


@pytest.mark.parametrize("sign", ["<image>", "[INST]", "[/INST]", "</s>"])
def test_nothing_in_a_question_is_taken_for_a_part_of_the_prompt(
    tiny: Path, model_process: ProcessHost, sign: str
):
    pixels = np.zeros((40, 40), np.uint8)
    with_sign, without = (
        call(model_process, f"{WITNESS}:ours", path=str(tiny / MODEL), pixels=pixels, question=text)
        for text in (f"{sign}see{sign}", "see")
    )
    assert with_sign["after"] == without["after"]
    assert with_sign["before"] == without["before"]


def test_a_mirrored_film_is_turned_and_a_ct_shown_as_on_the_screen(opened: Bench):
    host = FakeHost({"text": "A heart.", "finished": True})
    film = radiograph()
    ask(opened, host, image_path="image-1")
    opened.open(
        write_dicom(opened.folder / "m.dcm", film[:, ::-1].copy(), PatientOrientation=["R", "F"])
    )
    opened.open(write_dicom(opened.folder / "c.dcm", film, Modality="CT", ViewPosition=None))
    mirrored = ask(opened, host, image_path="image-2")
    ct = ask(opened, host, image_path="image-3")
    usual, turned, sliced = (payload["pixels"] for _, payload in host.calls)
    assert np.array_equal(usual, turned)
    assert np.array_equal(sliced, opened.images.resolve("image-3").display)
    assert any("stored mirrored" in text for text in mirrored.metadata["warnings"])
    assert any("this image is CT" in text for text in ct.metadata["warnings"])


@pytest.mark.parametrize("letters", [["R", "F"], ["L", "H"]])
@pytest.mark.parametrize("cmap", ["rgb", "bone"])
def test_a_picture_made_of_a_mirrored_film_is_turned_as_the_film_is(
    opened: Bench, letters: list[str], cmap: str
):
    """Else an effusion on the right would be answered for as one on the left."""
    host = FakeHost({"text": "A heart.", "finished": True})
    pixels = radiograph()
    stored = pixels[:, ::-1].copy() if letters[0] == "R" else pixels[::-1].copy()
    opened.open(write_dicom(opened.folder / "m.dcm", stored, PatientOrientation=letters))
    made = opened.run(ImageVisualizer(), image_path="image-2", cmap=cmap)
    answer = ask(opened, host, image_path=made.output["image_path"])
    ask(opened, host, image_path="image-1")
    turned, usual = (payload["pixels"] for _, payload in host.calls)
    if cmap == "rgb":
        assert np.array_equal(turned, usual)
    else:
        assert np.array_equal(turned, colormap_table("bone")[usual])
    assert any("it was turned for the model" in text for text in answer.metadata["warnings"])


def test_a_blank_image_is_refused(opened: Bench):
    blank = np.full((60, 50), 700, np.uint16)
    opened.open(write_dicom(opened.folder / "b.dcm", blank))
    with pytest.raises(ToolFailed, match="blank"):
        ask(opened, image_path="image-2")


@pytest.mark.parametrize("name", [MODEL, CONVERTED])
def test_before_an_install_its_files_are_looked_at_without_loading_them(
    tiny: Path, tmp_path: Path, model_process: ProcessHost, name: str
):
    check = card(name).check
    made = call(model_process, check, weights=str(tiny / name))
    assert made["parameters"] > 100_000
    broken = tmp_path / name
    shutil.copytree(tiny / name, broken)
    call(model_process, f"{WITNESS}:spoil", path=str(broken), part="layers.1.mlp.fc1.weight")
    with pytest.raises(ToolFailed, match="missing or damaged"):
        call(model_process, check, weights=str(broken))


@pytest.mark.parametrize(
    "damage",
    [
        {"part": "vision_model.encoder.layers.1.mlp.fc1.weight"},
        {"part": "vision_tower"},
        {"change": {"mm_projector_type": "linear"}},
        {"change": {"mm_use_im_start_end": True}},
        {"change": {"image_aspect_ratio": "square"}},
    ],
)
def test_a_folder_that_lacks_something_is_never_filled_up_at_random(
    opened: Bench, model_process: ProcessHost, damage: dict[str, Any]
):
    call(model_process, f"{WITNESS}:spoil", path=str(opened.models / MODEL), **damage)
    with pytest.raises(ToolFailed, match=r"cannot be loaded|is not LLaVA-Med"):
        ask(opened, model_process)


def test_weights_that_break_off_are_said_to_be_damaged(opened: Bench, model_process: ProcessHost):
    shard = next((opened.models / MODEL).glob("*.safetensors"))
    shard.write_bytes(shard.read_bytes()[:200])
    with pytest.raises(ToolFailed, match="missing or damaged") as caught:
        ask(opened, model_process)
    assert "models verify" in caught.value.remedy


def test_a_damaged_vocabulary_is_named(opened: Bench, model_process: ProcessHost):
    (opened.models / MODEL / "tokenizer.model").write_bytes(b"none")
    with pytest.raises(ToolFailed, match=r"tokenizer\.model\) cannot be read"):
        ask(opened, model_process)
