"""chest_xray_segmentation: planted masks for its own work, the real network for the rest."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from app.imaging.findings import Mask
from app.tools.api import ToolFailed, ToolResult, ToolRetry
from app.tools.chest.segmentation import ChestXRaySegmentation
from app.tools.chest.segmenter import Segmenter
from app.tools.files import save_png
from app.tools.hosting.host import ProcessHost
from tests.unit.tools.chest.synthetic import masks, planted, radiograph
from tests.unit.tools.support import Bench, FakeHost, write_dicom

METRICS = {
    "area_pixels",
    "area_cm2",
    "centroid",
    "bbox",
    "width",
    "height",
    "aspect_ratio",
    "relative_position",
    "mean_intensity",
    "std_intensity",
    "confidence_score",
}
METADATA = {
    "original_size",
    "model_size",
    "pixel_spacing_mm",
    "requested_organs",
    "processed_organs",
    "status",
    "warnings",
    "model",
}


def opened(bench: Bench, host: Any = None, **attributes: Any) -> Bench:
    bench.host = host or FakeHost(planted())
    bench.open(write_dicom(bench.folder / "a.dcm", radiograph(), **attributes))
    return bench


def segment(bench: Bench, **arguments: Any) -> ToolResult:
    tool = ChestXRaySegmentation(Segmenter())
    return bench.run(tool, **{"image_path": "image-1", **arguments})


def test_the_masks_are_findings_on_the_source_image(bench: Bench):
    opened(bench)
    result = segment(bench)
    assert [finding.label for finding in result.findings] == ["Left Lung", "Right Lung", "Heart"]
    ref = bench.images.resolve("image-1").ref
    for finding in result.findings:
        assert finding.image == ref
        assert isinstance(finding.geometry, Mask)
        assert finding.geometry.pixels.dtype == np.bool_
        np.testing.assert_array_equal(finding.geometry.pixels, masks()[finding.label])
        assert finding.provenance.tool == "chest_xray_segmentation"
        assert finding.provenance.model == "thorax-net"
        assert len(finding.provenance.weights_sha256) == 64
        assert "not for diagnosis" in finding.description
    assert len({finding.id for finding in result.findings}) == 3


def test_the_seeds_keys_are_there_and_are_json(bench: Bench):
    opened(bench)
    result = segment(bench)
    assert result.output.keys() == {"segmentation_image_path", "metrics"}
    for figures in result.output["metrics"].values():
        assert figures.keys() - {"share_of_both_lungs_percent"} == METRICS
    assert result.metadata.keys() >= METADATA
    assert result.metadata["status"] == "completed"
    assert result.metadata["original_size"] == [240, 200]
    for part in (result.output, result.metadata):
        assert json.loads(json.dumps(part, allow_nan=False)) == part


def test_how_far_the_networks_looks_agree_is_told_for_the_asked_organs(bench: Bench):
    looks = {"agreement": {"Left Lung": 0.97, "Right Lung": 0.99, "Heart": 0.9}, "ratio": 0.01}
    result = segment(opened(bench, FakeHost(planted(spread=looks))), organs=["Heart"])
    assert result.metadata["agreement_of_looks"] == {"Heart": 0.9}
    assert result.output["metrics"]["Heart"]["agreement"] == 0.9


def test_what_the_model_process_notes_is_a_warning(bench: Bench):
    result = segment(opened(bench, FakeHost(planted(notes=["memory ran out: it ran again"]))))
    assert "memory ran out: it ran again" in result.metadata["warnings"]


def test_each_confidence_is_that_of_its_own_mask(bench: Bench):
    result = segment(opened(bench))
    scores = {k: v["confidence_score"] for k, v in result.output["metrics"].items()}
    assert scores == {"Left Lung": 0.95, "Right Lung": 0.97, "Heart": 0.9}


def test_cm2_only_where_the_real_spacing_is_known(bench: Bench):
    result = segment(opened(bench, PixelSpacing=[0, 0]))
    assert all(v["area_cm2"] is None for v in result.output["metrics"].values())
    assert result.metadata["pixel_spacing_mm"] is None
    assert "unknown" in result.metadata["area_note"]


def test_the_spacing_of_the_dicom_holds_for_its_png(bench: Bench):
    opened(bench, ImagerPixelSpacing=[1.5, 1.5])
    source = bench.images.resolve("image-1")
    png = save_png(source.display, bench.out, "dicom")
    bench.images.add_derived(png, source)
    result = segment(bench, image_path=str(png))
    heart = result.output["metrics"]["Heart"]
    assert heart["area_cm2"] == pytest.approx(masks()["Heart"].sum() * 0.0225, abs=0.01)
    assert result.metadata["pixel_spacing_mm"] == [1.5, 1.5]
    assert "detector plane" in result.metadata["area_note"]
    assert result.findings[0].image == source.ref


def test_the_picture_has_the_images_own_matrix_and_can_be_named(bench: Bench):
    result = segment(opened(bench))
    path = result.output["segmentation_image_path"]
    picture = np.asarray(Image.open(path))
    assert picture.shape == (240, 200, 3)
    assert bench.images.resolve(path).ref == bench.images.resolve("image-1").ref
    assert Path(path).parent == bench.out


def test_only_what_was_asked_comes_back(bench: Bench):
    result = segment(opened(bench), organs=["heart"])
    assert list(result.output["metrics"]) == ["Heart"]
    assert [finding.label for finding in result.findings] == ["Heart"]


def test_what_needs_other_weights_is_named_once_and_the_rest_works(bench: Bench):
    result = segment(opened(bench), organs=["Aorta", "Heart", "Spine"])
    assert list(result.output["metrics"]) == ["Heart"]
    assert result.metadata["unavailable_organs"] == ["Aorta", "Spine"]
    text = " ".join(result.metadata["warnings"])
    assert text.count("pspnet_chestxray_best_model_4.pth") == 1
    assert str(bench.models) in result.metadata["unavailable_note"]


def test_only_what_needs_other_weights_fails_with_file_place_and_way(bench: Bench):
    with pytest.raises(ToolFailed) as caught:
        segment(opened(bench), organs=["Aorta"])
    assert "pspnet_chestxray_best_model_4.pth" in caught.value.reason
    assert "models get pspnet-chestx-det" in caught.value.remedy
    assert str(bench.models) in caught.value.remedy


def test_an_unknown_structure_is_sent_back_before_anything_is_decoded(bench: Bench):
    with pytest.raises(ToolRetry, match="Heart"):
        segment(opened(bench), organs=["Hearts"])
    assert bench.source.count == 0


@pytest.mark.parametrize("attributes", [{"Modality": "CT"}, {"ViewPosition": "LL"}])
def test_what_is_no_frontal_chest_film_reaches_no_model(bench: Bench, attributes: dict[str, str]):
    opened(bench, **attributes)
    with pytest.raises(ToolFailed):
        segment(bench)
    assert isinstance(bench.host, FakeHost)
    assert bench.host.calls == []


def test_the_models_own_refusal_is_passed_on(bench: Bench):
    host = FakeHost(planted(refused="this looks like a lateral view", masks={}))
    with pytest.raises(ToolFailed, match="this looks like a lateral view"):
        segment(opened(bench, host))


def test_the_models_warnings_reach_the_summary_and_the_metadata(bench: Bench):
    result = segment(opened(bench, FakeHost(planted(warnings=["the heart was not found"]))))
    assert "the heart was not found" in result.summary
    assert "the heart was not found" in result.metadata["warnings"]


def test_a_structure_with_an_empty_mask_is_reported_not_measured(bench: Bench):
    def answer(payload: Any) -> dict[str, Any]:
        made: Any = planted()(payload)
        made["masks"]["Heart"][:] = 0
        return made

    result = segment(opened(bench, FakeHost(answer)))
    assert list(result.output["metrics"]) == ["Left Lung", "Right Lung"]
    assert result.metadata["not_found"] == ["Heart"]


def test_the_model_is_asked_once_for_the_same_pixels(bench: Bench):
    opened(bench)
    tool = ChestXRaySegmentation(Segmenter())
    for organs in (None, ["Heart"], ["lungs"]):
        bench.run(tool, image_path="image-1", organs=organs)
    assert isinstance(bench.host, FakeHost)
    assert len(bench.host.calls) == 1


def test_the_same_pixels_under_other_weights_are_asked_again(bench: Bench):
    from app.tools.models.cards import card
    from app.tools.models.store import InstalledModel

    opened(bench)
    segmenter = Segmenter()
    snapshot = bench.images.resolve("image-1")
    for sha256 in ("a", "b", "a"):
        model = InstalledModel(card("thorax-net"), bench.folder / "x", sha256)
        found = segmenter.segment(snapshot, model, ["Heart"], bench.context())
        np.testing.assert_array_equal(found.masks["Heart"], masks()["Heart"])
        assert found.weights_sha256 == sha256
    assert isinstance(bench.host, FakeHost)
    assert len(bench.host.calls) == 2


def test_the_window_on_screen_does_not_change_the_answer(bench: Bench):
    from app.imaging.types import Window

    host = FakeHost(planted())
    bench.host = host
    path = write_dicom(bench.folder / "a.dcm", radiograph())
    bench.open(path)
    bench.open(path, window=Window(3000, 10))
    tool = ChestXRaySegmentation(Segmenter())
    one, other = (bench.run(tool, image_path=f"image-{number}") for number in (1, 2))
    assert len(host.calls) == 1
    assert one.output["metrics"] == other.output["metrics"], "figures of the same masks"
    frame = bench.images.resolve("image-1").frame
    heart = frame.stored[masks()["Heart"]]
    assert one.output["metrics"]["Heart"]["mean_intensity"] == pytest.approx(heart.mean(), abs=0.01)


def test_a_mirrored_film_is_turned_for_the_model_and_its_masks_turned_back(bench: Bench):
    host = FakeHost(planted())
    bench.host = host
    mirrored = np.ascontiguousarray(radiograph()[:, ::-1])
    bench.open(write_dicom(bench.folder / "a.dcm", mirrored, PatientOrientation=["R", "F"]))
    result = segment(bench, organs=["Left Lung"])
    shown = host.calls[0][1]["pixels"]
    np.testing.assert_array_equal(shown[:, ::-1], bench.images.resolve("image-1").display)
    finding = result.findings[0].geometry
    assert isinstance(finding, Mask)
    np.testing.assert_array_equal(finding.pixels, masks()["Left Lung"][:, ::-1])
    assert any("mirrored" in warning for warning in result.metadata["warnings"])


def test_pixels_that_are_not_square_are_squared_for_the_model(bench: Bench):
    host = FakeHost(planted())
    opened(bench, host, PixelSpacing=[0.2, 0.1])
    result = segment(bench, organs=["Heart"])
    assert host.calls[0][1]["pixels"].shape == (480, 200)
    finding = result.findings[0].geometry
    assert isinstance(finding, Mask)
    assert finding.pixels.shape == (240, 200)
    assert (finding.pixels != masks()["Heart"]).mean() < 0.01


def test_a_cancel_before_the_end_leaves_no_result(bench: Bench):
    from app.errors import Cancelled

    def answer(payload: Any) -> dict[str, Any]:
        bench.cancel.cancel()
        return planted()(payload)

    with pytest.raises(Cancelled):
        segment(opened(bench, FakeHost(answer)))
    assert list(bench.out.iterdir()) == []


def test_without_torch_it_says_in_a_second_of_computing_what_to_add(tmp_path: Path):
    write_dicom(tmp_path / "a.dcm", radiograph())
    code = f"""
import sys, time
from pathlib import Path
sys.modules["torch"] = None  # as a viewer-only installation
from app.tools.registry import load_packs
from tests.unit.tools.support import Bench
bench = Bench(Path({str(tmp_path)!r}))
bench.open(Path({str(tmp_path / "a.dcm")!r}))
registry = load_packs()
for name in ("chest_xray_segmentation", "cardiothoracic_ratio", "chest_xray_classifier"):
    started = time.process_time()
    try:
        bench.run(registry.get(name), image_path="image-1")
    except Exception as error:
        print(name, type(error).__name__, error.text)
    assert time.process_time() - started < 1, name
"""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )
    lines = done.stdout.splitlines()
    assert len(lines) == 3
    assert all(" ToolFailed " in line for line in lines)
    assert all("bootstrap.py run` without --viewer-only" in line for line in lines[:2])


def test_the_embedded_network_finds_lungs_and_heart_on_the_demo_film(
    bench: Bench, model_process: ProcessHost
):
    from pydicom.data import get_testdata_file

    bench.host = model_process
    bench.open(Path(str(get_testdata_file("RG1_UNCR.dcm"))))
    result = segment(bench, organs=["Right Lung", "Left Lung", "Heart"])
    assert list(result.output["metrics"]) == ["Right Lung", "Left Lung", "Heart"]
    by_name = {f.label: f.geometry.pixels for f in result.findings if isinstance(f.geometry, Mask)}
    rows, columns = by_name["Heart"].shape
    assert (rows, columns) == (1955, 1841)
    # The patient's right is on the viewer's left; the heart lies between, lower, more to the left.
    x = {name: float(np.nonzero(mask)[1].mean()) for name, mask in by_name.items()}
    assert x["Right Lung"] < x["Heart"] < x["Left Lung"]
    assert x["Heart"] > columns / 2
    assert all(v["area_cm2"] is None for v in result.output["metrics"].values())
    assert result.metadata["pixel_spacing_mm"] is None
    assert [text for _, text in bench.progress]


def test_the_embedded_network_refuses_what_is_no_chest(bench: Bench, model_process: ProcessHost):
    bench.host = model_process
    noise = np.random.default_rng(3).integers(0, 4096, (300, 300)).astype(np.uint16)
    bench.open(write_dicom(bench.folder / "noise.dcm", noise))
    with pytest.raises(ToolFailed):
        segment(bench)
