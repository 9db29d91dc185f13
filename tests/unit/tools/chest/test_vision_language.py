"""CheXagent-2's and MAIRA-2's conventions: range, crop, channels, prompt; against other code."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from app.tools.api import ToolFailed
from app.tools.chest.grounding import XRayPhraseGrounding
from app.tools.hosting.host import ProcessHost
from tests.support.tiny_making import make
from tests.unit.tools.support import Bench, call, write_dicom

pytest.importorskip("transformers")

WITNESS = "tests.unit.tools.chest.vision_language_witness"


@pytest.fixture(scope="session")
def ask(model_process: ProcessHost, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Calls a function of the witness with a model of random weights."""
    folder = tmp_path_factory.mktemp("random")
    make(model_process, "xray_phrase_grounding", folder / "maira", says="")
    make(model_process, "chest_xray_expert", folder / "chexagent", says=())

    def asked(function: str, **payload: Any) -> dict[str, Any]:
        which = function.partition("_")[0]
        entry = f"{WITNESS}:{function}"
        return call(model_process, entry, folder=str(folder / which), **payload)

    return asked


def noise(rows: int, columns: int) -> np.ndarray:
    return np.random.default_rng(2).integers(30, 200, (rows, columns), np.uint8)


@pytest.mark.parametrize(
    ("rows", "columns"), [(600, 600), (600, 901), (1001, 517), (523, 518), (300, 211)]
)
def test_a_planted_block_comes_back_to_half_a_pixel_through_maira_s_own_input(
    ask: Any, rows: int, columns: int
):
    side = min(rows, columns)
    x0 = (columns - side) // 2 + side // 4
    y0 = (rows - side) // 2 + side // 3
    x1, y1 = x0 + side // 3, y0 + side // 4
    image = np.full((rows, columns), 20, np.uint8)
    image[y0:y1, x0:x1] = 220
    [found] = ask("maira_planted", images=[image])["found"]
    assert found == pytest.approx((x0, y0, x1, y1), abs=0.5)


@pytest.mark.parametrize(("rows", "columns"), [(640, 800), (701, 530), (518, 518)])
def test_maira_s_input_is_stretched_cropped_and_normalised_as_published(
    ask: Any, rows: int, columns: int
):
    found = ask("maira_input", image=noise(rows, columns))
    assert found["ours"].shape == (3, 518, 518)
    assert np.abs(found["ours"] - found["witness"]).max() < 0.02  # one grey level is 0.015
    low, high = (0 - 0.5307) / 0.2583, (1 - 0.5307) / 0.2583
    assert found["ours"].min() >= low - 1e-3
    assert found["ours"].max() <= high + 1e-3


def test_maira_s_prompt_is_the_published_one(ask: Any):
    prompt = ask("maira_input", image=noise(520, 520))["prompt"]
    assert prompt == (
        "You are an expert radiology assistant tasked with interpreting a chest X-ray study.  "
        "USER: Given the current frontal image<image> Repeat the following finding as a grounded "
        "phrase with bounding boxes indicating all locations where it can be seen in the given "
        "chest X-ray image. Finding: small effusion ASSISTANT:"
    )


def test_maira_s_prompts_for_reports_are_the_published_ones(ask: Any):
    """Those of processing_maira2.py without lateral view, prior and clinical information."""
    found = ask("maira_input", image=noise(520, 520))
    before = (
        "You are an expert radiology assistant tasked with interpreting a chest X-ray study.  "
        "USER: Given the current frontal image only<image> Provide a structured description of "
        "the findings in the radiology study in comparison to the prior frontal image."
    )
    boxes = (
        " Each finding should be described as a self-contained plain-text sentence. If the finding "
        "is groundable, locate the finding in the current frontal chest X-ray image, with bounding "
        "boxes indicating all locations where it can be seen in the current frontal image. "
        "Otherwise, generate just the ungrounded finding without bounding boxes."
    )
    after = " INDICATION: N/A TECHNIQUE: N/A COMPARISON: N/A ASSISTANT:"
    assert found["report"] == f"{before}{after}"
    assert found["grounded"] == f"{before}{boxes}{after}"


def test_maira_answers_as_transformers_llava_does_with_the_same_parts(ask: Any):
    found = ask("maira_logits", image=noise(540, 700), phrase="small effusion")
    assert np.ptp(found["ours"]) > 0.1
    assert np.allclose(found["ours"], found["witness"], atol=1e-4)


def test_at_full_size_both_have_exactly_as_many_parameters_as_the_published_files(ask: Any):
    # Counted by others from the published files: 3,140,746,752 parameters of CheXagent-2-3b, and
    # 522 tensors of MAIRA-2 (see the cards).
    found = ask("maira_sizes")
    assert found["chexagent"]["parameters"] == 3_140_746_752
    assert found["maira"]["tensors"] == 522


def test_dinov2_s_older_names_are_known(ask: Any):
    found = ask("maira_names")
    assert found["name"] == "vision_tower.encoder.layer.3.attention.q_proj.weight"
    assert found["out"] == "vision_tower.encoder.layer.3.attention.o_proj.bias"


@pytest.mark.parametrize(("rows", "columns"), [(640, 800), (1200, 530), (512, 512)])
def test_chexagent_s_input_is_squeezed_and_normalised_as_published(
    ask: Any, rows: int, columns: int
):
    found = ask("chexagent_input", image=noise(rows, columns))
    assert found["ours"].shape == (3, 512, 512)
    assert np.allclose(found["ours"], found["witness"], atol=1e-6)
    assert found["ours"].min() >= -1
    assert found["ours"].max() <= 1


def test_chexagent_sees_the_last_layer_before_the_tower_s_own_norm(ask: Any):
    found = ask("chexagent_visual", image=noise(640, 700))
    assert np.allclose(found["ours"], found["witness"], atol=1e-5)
    # What was seen stands in the prompt, place by place, in its order.
    assert np.allclose(_inside(found["prompt"], found["ours"]), 0, atol=1e-5)


def test_chexagent_reads_beyond_its_length_as_before(ask: Any):
    """Two images overstep it; a decoder that told positions by a table would end there."""
    found = ask("chexagent_far", image=noise(90, 70))
    assert found["context"] == 2048
    assert np.ptp(found["near"]) > 0.01
    np.testing.assert_allclose(found["far"], found["near"], atol=2e-3 * np.ptp(found["near"]))


def _inside(prompt: np.ndarray, seen: np.ndarray) -> np.ndarray:
    """The prompt's part that is nearest to what was seen, less that."""
    count = len(seen)
    starts = range(len(prompt) - count + 1)
    best = min(starts, key=lambda start: float(np.abs(prompt[start] - seen[0]).sum()))
    return prompt[best : best + count] - seen


def test_chexagent_s_prompt_is_the_published_one(ask: Any):
    found = ask("chexagent_prompt", text="Which view is it?\nSay why.")
    assert found["ours"] == found["witness"]
    assert found["text"].startswith(
        "<|system|>\nYou are a helpful assistant.<|endoftext|>\n<|user|>\nPicture 1:<|img|>"
    )
    assert found["text"].endswith("Say why.<|endoftext|>\n<|assistant|>\n")


def test_an_image_of_one_grey_is_refused_before_any_model(bench: Bench):
    # The published normalisation divides by nothing there.
    bench.open(write_dicom(bench.folder / "a.dcm", np.full((60, 50), 700, np.uint16)))
    with pytest.raises(ToolFailed):
        bench.run(XRayPhraseGrounding(), image_path="image-1", phrase="effusion")
