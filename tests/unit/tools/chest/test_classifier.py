"""chest_xray_classifier: the real loading and running, against torchxrayvision's own pipeline."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from app.imaging.findings import Heatmap
from app.tools.api import ToolFailed
from app.tools.chest import classifier
from app.tools.chest.classifier import ChestXRayClassifier
from app.tools.files import save_png
from app.tools.hosting.host import ProcessHost
from app.tools.models.cards import card
from tests.unit.tools.chest.synthetic import radiograph
from tests.unit.tools.support import Bench, FakeHost, write_dicom

DENSENET = card("densenet121-res224-all")
FILE = DENSENET.files[0].name


def opened(bench: Bench, host: Any = None, **attributes: Any) -> Bench:
    bench.host = host or bench.host
    bench.open(write_dicom(bench.folder / "a.dcm", radiograph(), **attributes))
    return bench


def classify(bench: Bench, name: str = "image-1") -> Any:
    return bench.run(ChestXRayClassifier(), image_path=name)


def test_without_weights_it_says_which_file_where_and_how(bench: Bench):
    with pytest.raises(ToolFailed) as caught:
        classify(opened(bench))
    assert FILE in caught.value.reason
    assert str(bench.models) in caught.value.remedy
    assert "models get densenet121-res224-all" in caught.value.remedy
    assert DENSENET.files[0].url in caught.value.remedy


def test_ct_and_laterals_reach_no_model(bench: Bench):
    (bench.models / FILE).write_bytes(b"x")
    with pytest.raises(ToolFailed, match="this image is CT"):
        classify(opened(bench, Modality="CT"))


def test_scores_are_called_scores_not_probabilities(bench: Bench):
    pytest.importorskip("torch")
    (bench.models / FILE).write_bytes(b"x")
    scores = {"Mass": 0.81, "Nodule": 0.62, "Edema": 0.1}
    result = classify(opened(bench, FakeHost({"scores": scores, "device": "cpu"})))
    assert result.output == scores
    assert result.metadata["above_operating_point"] == ["Mass", "Nodule"]
    assert "0.5 is its operating point" in result.metadata["note"]
    assert "not probabilities" in result.metadata["note"]
    assert "not probabilities" in result.summary
    assert result.metadata["status"] == "completed"
    assert "Mass 0.81, Nodule 0.62" in result.summary
    assert result.findings == ()


def test_weights_that_are_not_the_published_ones_carry_a_warning(bench: Bench):
    pytest.importorskip("torch")
    (bench.models / FILE).write_bytes(b"x")
    result = classify(opened(bench, FakeHost({"scores": {"Mass": 0.1}})))
    assert any("differ from the published file" in text for text in result.metadata["warnings"])
    assert len(result.metadata["weights_sha256"]) == 64


@pytest.fixture(scope="module")
def torch() -> Any:
    pytest.importorskip("torchxrayvision")
    return pytest.importorskip("torch")


@pytest.fixture(scope="module")
def network(torch: Any) -> Any:
    """A randomly initialised network, set up as torchxrayvision sets up the published one."""
    import torchxrayvision as xrv

    torch.manual_seed(11)
    model: Any = xrv.models.DenseNet(weights=None)
    for module in model.modules():
        if isinstance(module, torch.nn.BatchNorm2d):
            module.running_var.uniform_(0.5, 2)
    # Scores that spread over the range: saturated ones would agree whatever the pixels.
    model.eval()
    with torch.no_grad():
        logits = model(torch.randn(1, 1, 224, 224) * 500)
        model.classifier.weight.mul_(2 / logits.std())
        model.classifier.bias.copy_(torch.linspace(-6, 1, 18))
    return model


@pytest.fixture(scope="module")
def weights(network: Any, torch: Any, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("densenet")
    files = {name: folder / f"{name}.pt" for name in ("published", "state")}
    # As published: a whole module in the layout of torch before 1.6.
    torch.save(network, files["published"], _use_new_zipfile_serialization=False)
    torch.save(network.state_dict(), files["state"])
    return files


def reference(network: Any, torch: Any, pixels: np.ndarray) -> dict[str, float]:
    """torchxrayvision's own way (its scripts/process_image.py), from 8-bit pixels to scores."""
    import torchxrayvision as xrv

    published = xrv.models.model_urls["densenet121-res224-all"]
    image = xrv.datasets.normalize(pixels, 255)[None]
    image = xrv.datasets.XRayCenterCrop()(image)
    network.op_threshs = torch.tensor(published["op_threshs"])
    network.input_resolution = 224
    try:
        with torch.no_grad():
            out = network(torch.from_numpy(image)[None])[0]
    finally:
        network.op_threshs = None
        del network.input_resolution
    return dict(zip(published["labels"], out.tolist(), strict=True))


@pytest.mark.parametrize("layout", [pytest.param("published", marks=pytest.mark.slow), "state"])
def test_the_scores_are_torchxrayvisions_own(
    bench: Bench,
    network: Any,
    torch: Any,
    weights: dict[str, Path],
    model_process: ProcessHost,
    layout: str,
):
    (bench.models / FILE).symlink_to(weights[layout])
    opened(bench, model_process)
    result = classify(bench)
    wanted = reference(network, torch, bench.images.resolve("image-1").display)
    assert list(result.output) == list(wanted)
    assert len(wanted) == 18
    for label, score in wanted.items():
        assert result.output[label] == pytest.approx(score, abs=1e-5)
    assert len(set(result.output.values())) > 10
    assert json.loads(json.dumps(result.output, allow_nan=False)) == result.output


def test_the_operating_point_lands_on_one_half(torch: Any, network: Any, tmp_path: Path):
    from app.tools.chest import densenet

    path = tmp_path / "state.pt"
    torch.save(network.state_dict(), path)
    model = densenet.load(path)
    with torch.no_grad():
        model.classifier.weight.zero_()
        model.classifier.bias.copy_(torch.logit(model.op_threshs))
        scores = model(densenet.preprocess(np.zeros((50, 50), np.uint8)))[0]
    assert torch.allclose(scores, torch.full((18,), 0.5), atol=1e-4)


def test_pixels_are_normalised_to_plus_minus_1024_and_cropped_to_the_centre(torch: Any):
    from app.tools.chest import densenet

    pixels = np.zeros((300, 500), np.uint8)
    pixels[:, 100:400] = 255  # exactly the central square
    prepared = densenet.preprocess(pixels)
    assert prepared.shape == (1, 1, 224, 224)
    assert torch.allclose(prepared, torch.full_like(prepared, 1024.0))
    assert float(densenet.preprocess(np.zeros((9, 9), np.uint8)).max()) == -1024.0


def test_the_png_of_an_image_scores_as_the_image(
    bench: Bench, weights: dict[str, Path], model_process: ProcessHost
):
    (bench.models / FILE).symlink_to(weights["published"])
    opened(bench, model_process)
    source = bench.images.resolve("image-1")
    png = save_png(source.display, bench.out, "dicom")
    bench.images.add_derived(png, source)
    assert classify(bench, str(png)).output == classify(bench).output


def test_a_damaged_file_fails_with_its_name_and_what_to_do(
    bench: Bench, weights: dict[str, Path], model_process: ProcessHost
):
    data = weights["published"].read_bytes()
    (bench.models / FILE).write_bytes(data[: len(data) // 2])
    with pytest.raises(ToolFailed) as caught:
        classify(opened(bench, model_process))
    assert "damaged" in caught.value.reason
    assert FILE in caught.value.subject


def test_flagged_means_the_labels_that_score_highest_above_one_half(torch: Any, network: Any):
    from app.tools.chest import densenet

    network.op_threshs, network.input_resolution = torch.full((18,), 0.5), 224
    payload = {"pixels": radiograph(), "labels": ["Hernia"], "flagged": 2, "spread": True}
    try:
        found = densenet.evaluate(network, payload, "cpu")
    finally:
        network.op_threshs = None
        del network.input_resolution
    scores = found["scores"]
    ranked = sorted((label for label in scores if label != "Hernia"), key=lambda one: -scores[one])
    assert len([label for label in ranked if scores[label] > 0.5]) >= 2
    assert set(found["cells"]) == {"Hernia", *ranked[:2]}


def test_it_maps_what_it_flags_and_says_where_each_map_is_highest(bench: Bench):
    pytest.importorskip("torch")
    (bench.models / FILE).write_bytes(b"x")
    cells = np.zeros((7, 7), np.float32)
    cells[1, 5] = 2
    answer = {"scores": {"Mass": 0.81, "Edema": 0.1}, "cells": {"Mass": cells}}
    opened(bench, FakeHost({**answer, "spread": {"Mass": [0.01, 0.79, 0.82]}}))
    result = bench.run(ChestXRayClassifier(), image_path="image-1", labels=["flagged"])
    assert result.metadata["labels"] == ["Mass"]
    assert result.metadata["looked_at"] == {
        "Mass": "on the patient's left, upper third of the film"
    }
    (found,) = result.findings
    assert isinstance(found.geometry, Heatmap)


def test_the_labels_are_the_networks_own(torch: Any):
    from app.tools.chest import classifier, densenet

    assert tuple(densenet.LABELS) == classifier.LABELS


def test_a_cell_of_the_network_looks_at_the_place_that_is_drawn(torch: Any):
    """The centre of what a cell of the last layer sees, measured on the network itself."""
    import torchxrayvision as xrv

    from app.tools.chest import classifier

    features: Any = xrv.models.DenseNet(weights=None).features.eval()
    with torch.no_grad():
        for value in features.parameters():
            value.abs_()
        for module in features.modules():
            # Without differing gains: what each pixel adds is then as even as the strides are.
            if isinstance(module, torch.nn.Conv2d):
                module.weight.fill_(1 / module.weight[0].numel())
    seen = torch.rand(1, 1, 224, 224).add_(1).requires_grad_()
    features(seen)[0, :, 3, 3].sum().backward()
    weight = seen.grad[0, 0].clamp(min=0)
    at = torch.arange(224.0)
    x = float((weight.sum(0) * at).sum() / weight.sum())
    y = float((weight.sum(1) * at).sum() / weight.sum())
    middle = classifier.FIRST_CELL + 3 * classifier.CELL_STRIDE
    assert (x, y) == pytest.approx((middle, middle), abs=0.5)


def test_a_map_is_what_grad_cam_gives(torch: Any, network: Any):
    from app.tools.chest import densenet

    pixels = (radiograph() >> 4).astype(np.uint8)
    payload = {"pixels": pixels, "labels": ["Effusion"], "spread": False}
    network.op_threshs = torch.tensor(densenet._PUBLISHED["op_threshs"])  # pyright: ignore[reportPrivateUsage]
    try:
        found = densenet.evaluate(network, payload, "cpu")["cells"]["Effusion"]
    finally:
        network.op_threshs = None
    features = torch.relu(network.features(densenet.preprocess(pixels))).detach().requires_grad_()
    logit = network.classifier(features.mean((2, 3)))[0, densenet.LABELS.index("Effusion")]
    (gradient,) = torch.autograd.grad(logit, features)
    wanted = torch.relu((gradient.mean((2, 3), keepdim=True) * features).sum(1))[0] * 49
    np.testing.assert_allclose(found, wanted.detach().numpy(), rtol=1e-3, atol=1e-5)
    assert found.shape == (7, 7)


def test_asked_labels_come_with_a_map_and_a_spread(
    bench: Bench, weights: dict[str, Path], model_process: ProcessHost
):
    (bench.models / FILE).symlink_to(weights["published"])
    opened(bench, model_process)
    plain = classify(bench)
    asked = ["effusion", "Mass", "Nodule", "Edema"]
    result = bench.run(ChestXRayClassifier(), image_path="image-1", labels=asked)
    assert result.output == pytest.approx(plain.output, abs=1e-5)
    assert plain.findings == ()
    classifier = ["Effusion", "Mass", "Nodule", "Edema"]
    assert result.metadata["labels"] == classifier
    drawn = {finding.label for finding in result.findings}
    assert drawn | set(result.metadata["without_heatmap"]) == set(classifier)
    assert drawn
    snapshot = bench.images.resolve("image-1")
    for finding in result.findings:
        assert finding.image == snapshot.ref
        assert isinstance(finding.geometry, Heatmap)
        assert finding.geometry.values.shape == snapshot.display.shape
        assert finding.score == result.output[finding.label]
        assert "no outline" in finding.description
    for label in classifier:
        told = result.metadata["uncertainty"][label]
        assert told["distance"] == pytest.approx(told["score"] - 0.5, abs=1e-6)
        assert told["range"][0] <= told["score"] + 1e-6
        assert told["score"] <= told["range"][1] + 1e-6
        assert told["spread"] > 0
    assert set(plain.metadata["uncertainty"]["Mass"]) == {"score", "distance", "near"}


def test_variants_are_the_same_picture_mirrored_and_cropped(torch: Any):
    from app.tools.chest import densenet

    pixels = (radiograph(300, 260) >> 4).astype(np.uint8)
    whole = densenet.preprocess(pixels)
    mirrored, *corners = densenet.variants(pixels, whole)
    assert torch.equal(mirrored.flip(-1), whole)
    wide = densenet.preprocess(pixels, 240)
    assert [tuple(item.shape) for item in corners] == [(1, 1, 224, 224)] * 4
    assert torch.equal(corners[0], wide[..., :224, :224])
    assert torch.equal(corners[3], wide[..., 16:, 16:])


@pytest.mark.parametrize("letters", [["R", "F"], ["L", "H"]])
def test_a_mirrored_image_is_turned_for_the_model_and_its_map_turned_back(
    bench: Bench, letters: list[str]
):
    pytest.importorskip("torch")
    (bench.models / FILE).write_bytes(b"x")
    cells = np.zeros((7, 7), np.float32)
    cells[1, 2] = 1
    host = FakeHost({"scores": {"Mass": 0.8}, "cells": {"Mass": cells}})
    opened(bench, host, PatientOrientation=letters)
    result = bench.run(ChestXRayClassifier(), image_path="image-1", labels=["Mass"])
    shown = bench.images.resolve("image-1").display
    turned = (slice(None), slice(None, None, -1)) if letters[0] == "R" else slice(None, None, -1)
    np.testing.assert_array_equal(host.calls[0][1]["pixels"], shown[turned])
    geometry = result.findings[0].geometry
    assert isinstance(geometry, Heatmap)
    values = geometry.values
    np.testing.assert_array_equal(values[turned], classifier.map_to_image(cells, shown.shape))


def test_pixels_that_are_not_square_are_squared_for_the_model_and_its_map_fits_the_image(
    bench: Bench,
):
    """A film of half as many rows: the model sees it at its true proportions."""
    (bench.models / FILE).write_bytes(b"x")
    cells = np.zeros((7, 7), np.float32)
    cells[1, 2] = 1
    host = FakeHost({"scores": {"Mass": 0.8}, "cells": {"Mass": cells}})
    half = {"PixelSpacing": None, "ImagerPixelSpacing": None, "PixelAspectRatio": ["2", "1"]}
    bench.host = host
    bench.open(write_dicom(bench.folder / "half.dcm", radiograph(120, 224), **half))
    result = bench.run(ChestXRayClassifier(), image_path="image-1", labels=["Mass"])
    assert host.calls[0][1]["pixels"].shape == (240, 224)
    geometry = result.findings[0].geometry
    assert isinstance(geometry, Heatmap)
    assert geometry.values.shape == (120, 224)
    whole = classifier.map_to_image(cells, (240, 224))
    rows = np.arange(120)[:, None] * geometry.values
    meant = (np.arange(240)[:, None] - 0.5) / 2 * whole
    y, wanted = rows.sum() / geometry.values.sum(), meant.sum() / whole.sum()
    assert y == pytest.approx(wanted, abs=0.5)


def test_labels_near_the_operating_point_are_marked(bench: Bench):
    pytest.importorskip("torch")
    (bench.models / FILE).write_bytes(b"x")
    scores = {"Mass": 0.53, "Edema": 0.2}
    spread = {"Mass": [0.04, 0.45, 0.58], "Edema": [0.01, 0.18, 0.22]}
    opened(bench, FakeHost({"scores": scores, "spread": spread}))
    result = bench.run(ChestXRayClassifier(), image_path="image-1", labels=["Mass"])
    told = result.metadata["uncertainty"]
    assert (told["Mass"]["near"], told["Mass"]["stable"]) == (True, False)
    assert (told["Edema"]["near"], told["Edema"]["stable"]) == (False, True)
    assert "Mass: 0.53 (0.45 to 0.58" in result.summary
    assert "on both sides of 0.5" in result.summary
