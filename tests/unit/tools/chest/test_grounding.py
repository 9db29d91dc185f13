"""xray_phrase_grounding: a tiny MAIRA-2 of the published layout through the real tool."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from app.errors import Cancelled
from app.imaging.findings import Box
from app.imaging.types import Window
from app.tools.api import CancelToken, ToolFailed, ToolRetry
from app.tools.chest.grounding import MODEL, XRayPhraseGrounding
from app.tools.hosting.host import ProcessHost
from app.tools.models.installation import check_loads
from app.tools.models.store import ModelStore
from tests.unit.tools.chest.synthetic import radiograph
from tests.unit.tools.support import Bench, FakeHost, write_dicom

pytest.importorskip("transformers")

TOOL = "xray_phrase_grounding"
PHRASE = "left pleural effusion"
SAID = {
    "found": f"<obj>{PHRASE}<box><x60><y55><x85><y88></box></obj>",
    "two": f"<obj>{PHRASE}<box><x10><y20><x30><y40></box><box><x60><y55><x85><y88></box></obj>",
    "nothing": f"<obj>{PHRASE}</obj>",
    "plain": "no finding can be seen",
    "exchanged": f"<obj>{PHRASE}<box><x85><y55><x60><y88></box></obj>",
}


@pytest.fixture
def grounding(bench: Bench, model_process: ProcessHost, tiny_models: Any) -> Any:
    """Asks the tool, with a model that writes a certain text."""

    def ask(says: str = "found", phrase: str = PHRASE, **more: Any) -> Any:
        bench.models = tiny_models(TOOL, MODEL, says=SAID[says])
        if not bench.opened:
            bench.open(write_dicom(bench.folder / "a.dcm", radiograph()))
        bench.host = model_process
        return bench.run(XRayPhraseGrounding(), image_path="image-1", phrase=phrase, **more)

    return ask


def answered(**changes: Any) -> FakeHost:
    """A model process that answers so."""
    return FakeHost(
        {
            "groups": [],
            "text": "",
            "refused": [],
            "seen": [0.0, 0.0, 200.0, 240.0],
            "input_size": [518, 518],
            "cut": False,
            "engine": "",
            "device": "cpu",
            "notes": [],
            **changes,
        }
    )


def test_a_box_lands_in_the_original_s_pixels_through_the_centre_crop(grounding: Any):
    result = grounding()
    # 200 columns, 240 rows: the model saw rows 20 to 220 (518 / 200 * 240 = 621; (621-518)//2=51).
    top, side = 51 * 240 / 621, 518 * 240 / 621
    expected = (0.605 * 200, top + 0.555 * side, 0.855 * 200, top + 0.885 * side)
    [finding] = result.findings
    assert isinstance(finding.geometry, Box)
    found = finding.geometry
    corners = (found.x0, found.y0, found.x1, found.y1)
    assert corners == pytest.approx([value - 0.5 for value in expected], abs=1e-6)
    assert finding.label == PHRASE
    assert finding.provenance.model == "MAIRA-2"
    assert len(finding.provenance.weights_sha256) == 64
    [prediction] = result.output["predictions"]
    assert prediction["phrase"] == PHRASE
    boxes = prediction["bounding_boxes"]
    assert boxes["model_coordinates"] == [[0.605, 0.555, 0.855, 0.885]]
    assert boxes["image_coordinates"][0] == pytest.approx(corners, abs=0.01)
    assert result.metadata["status"] == "completed"
    assert result.metadata["original_size"] == [240, 200]
    assert result.metadata["model_input_size"] == [518, 518]
    assert any("did not see" in w or "central square" in w for w in result.metadata["warnings"])
    assert json.loads(json.dumps(result.metadata, allow_nan=False)) == result.metadata


def test_the_picture_shows_the_image_with_the_box_and_says_it_is_not_for_diagnosis(
    grounding: Any, bench: Bench
):
    result = grounding()
    path = Path(result.output["visualization_path"])
    with Image.open(path) as picture:
        drawn = np.asarray(picture.convert("RGB")).astype(int)
    assert drawn.shape == (240, 200, 3)
    coloured = np.abs(drawn[..., 0] - drawn[..., 2]) > 40
    rows, columns = np.nonzero(coloured[60:])  # below the legend
    box = result.findings[0].geometry
    assert columns.min() == pytest.approx(box.x0, abs=2.5)
    assert columns.max() == pytest.approx(box.x1, abs=2.5)
    assert rows.max() + 60 == pytest.approx(box.y1, abs=2.5)
    assert result.artifacts[0].path == path
    assert bench.images.resolve(str(path)).ref == result.findings[0].image


def test_two_boxes_are_two_findings_of_one_group(grounding: Any):
    result = grounding("two")
    assert len(result.findings) == 2
    assert len({finding.group for finding in result.findings}) == 1
    assert "2 boxes" in result.summary


@pytest.mark.parametrize("says", ["nothing", "plain"])
def test_nothing_found_is_said_and_no_picture_is_made(grounding: Any, says: str):
    result = grounding(says)
    assert result.output == {"predictions": [], "visualization_path": None}
    assert result.metadata["status"] == "completed_no_finding"
    assert result.findings == ()
    assert result.artifacts == ()
    assert result.summary.startswith("No finding")
    assert "does not exclude one" in result.summary


def test_a_malformed_box_is_said_and_never_drawn(grounding: Any):
    result = grounding("exchanged")
    assert result.findings == ()
    assert result.metadata["status"] == "completed_no_finding"
    assert any("corners are exchanged" in text for text in result.metadata["warnings"])


def test_an_answer_that_is_cut_off_is_said_to_be(grounding: Any):
    result = grounding("two", max_new_tokens=10)  # the second box has two corners by then
    warnings = " ".join(result.metadata["warnings"])
    assert "cut off" in warnings
    assert "breaks off" in warnings
    assert len(result.findings) == 1


def test_a_mirrored_film_is_turned_for_the_model_and_the_box_turned_back(
    grounding: Any, bench: Bench
):
    path = write_dicom(bench.folder / "m.dcm", radiograph()[:, ::-1], PatientOrientation=["R", "F"])
    bench.open(path)
    result = grounding()
    box = result.findings[0].geometry
    assert (box.x0, box.x1) == pytest.approx((200 - 171 - 0.5, 200 - 121 - 0.5))


@pytest.mark.parametrize(
    ("groups", "why"),
    [
        ([["x", [[0.5, 0.5, 0.4, 0.9]]]], "not drawn"),
        ([["x", [[-0.1, 0.5, 0.4, 0.9]]]], "not drawn"),
        ([["x", [[0.1, 0.5, 0.4]]]], "not drawn"),
    ],
)
def test_boxes_of_a_program_of_the_model_s_are_checked_too(
    grounding: Any, bench: Bench, groups: Any, why: str
):
    grounding()
    bench.host = answered(groups=groups)
    result = bench.run(XRayPhraseGrounding(), image_path="image-1", phrase=PHRASE)
    assert result.findings == ()
    assert any(why in text for text in result.metadata["warnings"])


@pytest.mark.parametrize("phrase", ["<obj>x</obj>", "x <image> y", "<box><x1>", "<|img|>"])
def test_a_phrase_with_the_model_s_marks_is_refused(bench: Bench, phrase: str):
    bench.open(write_dicom(bench.folder / "a.dcm", radiograph()))
    with pytest.raises(ToolRetry, match="plain words"):
        bench.run(XRayPhraseGrounding(), image_path="image-1", phrase=phrase)


def test_a_comparison_in_a_phrase_is_no_mark(grounding: Any):
    assert grounding(phrase="nodule < 3 cm and > 1 cm").metadata["status"] == "completed"


@pytest.mark.parametrize(
    ("phrase", "asked"),
    [("left effusion", "left effusion."), ("Left effusion.", "Left effusion."), ("a\n b", "a b.")],
)
def test_the_model_is_asked_for_a_sentence(grounding: Any, bench: Bench, phrase: str, asked: str):
    grounding()
    host = bench.host = answered()
    bench.run(XRayPhraseGrounding(), image_path="image-1", phrase=phrase)
    assert host.calls[0][1]["phrase"] == asked


def test_the_model_is_given_the_file_s_window_not_the_one_on_screen(grounding: Any, bench: Bench):
    grounding()
    bench.open(write_dicom(bench.folder / "w.dcm", radiograph()), window=Window(2000.0, 1500.0))
    first, second = answered(), answered()
    for host, image in ((first, "image-1"), (second, "image-2")):
        bench.host = host
        bench.run(XRayPhraseGrounding(), image_path=image, phrase=PHRASE)
    assert np.array_equal(first.calls[0][1]["grey"], second.calls[0][1]["grey"])


def test_a_cancel_while_it_writes_stops_it_and_the_model_stays_usable(
    grounding: Any, bench: Bench, model_process: ProcessHost
):
    class Stop(list[tuple[float, str]]):
        def append(self, told: tuple[float, str]) -> None:
            super().append(told)
            if "tokens written" in told[1]:
                bench.cancel.cancel()

    bench.progress = Stop()
    with pytest.raises(Cancelled):
        grounding()
    assert not list(bench.out.glob("grounding-*"))
    bench.progress, bench.cancel = [], CancelToken()
    assert grounding().metadata["status"] == "completed"


def test_without_the_model_it_says_how_to_get_it(bench: Bench):
    bench.open(write_dicom(bench.folder / "a.dcm", radiograph()))
    with pytest.raises(ToolFailed) as caught:
        bench.run(XRayPhraseGrounding(), image_path="image-1", phrase=PHRASE)
    assert "MAIRA-2" in caught.value.reason
    assert "models get maira-2" in caught.value.remedy


def test_a_head_reaches_no_model(bench: Bench):
    bench.open(write_dicom(bench.folder / "a.dcm", radiograph(), Modality="CT"))
    with pytest.raises(ToolFailed, match="CT"):
        bench.run(XRayPhraseGrounding(), image_path="image-1", phrase=PHRASE)


def test_a_cancel_stops_it(grounding: Any, bench: Bench):
    grounding()
    bench.cancel.cancel()
    with pytest.raises(Cancelled):
        grounding()


def test_a_missing_shard_is_named(bench: Bench, model_process: ProcessHost, tiny_models: Any):
    shutil.copytree(tiny_models(TOOL, MODEL, says=SAID["found"]) / MODEL, bench.models / MODEL)
    shards = sorted((bench.models / MODEL).glob("model-*.safetensors"))
    shards[-1].unlink()
    ModelStore(bench.models).accept(MODEL)
    bench.host = model_process
    bench.open(write_dicom(bench.folder / "a.dcm", radiograph()))
    with pytest.raises(ToolFailed) as caught:
        bench.run(XRayPhraseGrounding(), image_path="image-1", phrase=PHRASE)
    assert caught.value.subject == shards[-1].name


def test_verify_finds_weights_that_do_not_fit(
    bench: Bench, model_process: ProcessHost, tiny_models: Any
):
    shutil.copytree(tiny_models(TOOL, MODEL, says=SAID["found"]) / MODEL, bench.models / MODEL)
    store = ModelStore(bench.models)
    folder = bench.models / MODEL
    check_loads(store.card(MODEL), folder, model_process)
    config = json.loads((folder / "config.json").read_text())
    config["projector_n_layers"] = 3
    (folder / "config.json").write_text(json.dumps(config))
    with pytest.raises(ToolFailed) as caught:
        check_loads(store.card(MODEL), folder, model_process)
    assert "multi_modal_projector.layers.6" in caught.value.detail
