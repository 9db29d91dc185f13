"""chest_xray_classifier: the real loading and running, against torchxrayvision's own pipeline."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from app.tools.api import ToolFailed
from app.tools.chest.classifier import ChestXRayClassifier
from app.tools.files import save_png
from app.tools.host import ProcessHost
from app.tools.weight_specs import DENSENET
from tests.unit.tools.chest.synthetic import radiograph
from tests.unit.tools.support import Bench, FakeHost, write_dicom


def opened(bench: Bench, host: Any = None, **attributes: Any) -> Bench:
    bench.host = host or bench.host
    bench.open(write_dicom(bench.folder / "a.dcm", radiograph(), **attributes))
    return bench


def classify(bench: Bench, name: str = "image-1") -> Any:
    return bench.run(ChestXRayClassifier(), image_path=name)


def test_without_weights_it_says_which_file_where_and_how(bench: Bench):
    with pytest.raises(ToolFailed) as caught:
        classify(opened(bench))
    assert DENSENET.file_name in caught.value.reason
    assert str(bench.models) in caught.value.remedy
    assert "models get densenet121-res224-all" in caught.value.remedy
    assert DENSENET.url in caught.value.remedy


def test_ct_and_laterals_reach_no_model(bench: Bench):
    (bench.models / DENSENET.file_name).write_bytes(b"x")
    with pytest.raises(ToolFailed, match="this image is CT"):
        classify(opened(bench, Modality="CT"))


def test_scores_are_called_scores_not_probabilities(bench: Bench):
    pytest.importorskip("torch")
    (bench.models / DENSENET.file_name).write_bytes(b"x")
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
    (bench.models / DENSENET.file_name).write_bytes(b"x")
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
    files = {name: folder / f"{name}.pt" for name in ("published", "zipped", "state")}
    # As published: a whole module in the layout of torch before 1.6.
    torch.save(network, files["published"], _use_new_zipfile_serialization=False)
    torch.save(network, files["zipped"])
    torch.save(network.state_dict(), files["state"])
    return files


@pytest.fixture(scope="module")
def model_process() -> Iterator[ProcessHost]:
    made = ProcessHost()
    yield made
    made.close()


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


@pytest.mark.parametrize("layout", ["published", "zipped", "state"])
def test_the_scores_are_torchxrayvisions_own(
    bench: Bench,
    network: Any,
    torch: Any,
    weights: dict[str, Path],
    model_process: ProcessHost,
    layout: str,
):
    (bench.models / DENSENET.file_name).symlink_to(weights[layout])
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
        scores = model(densenet.prepared(np.zeros((50, 50), np.uint8)))[0]
    assert torch.allclose(scores, torch.full((18,), 0.5), atol=1e-4)


def test_pixels_are_normalised_to_plus_minus_1024_and_cropped_to_the_centre(torch: Any):
    from app.tools.chest import densenet

    pixels = np.zeros((300, 500), np.uint8)
    pixels[:, 100:400] = 255  # exactly the central square
    prepared = densenet.prepared(pixels)
    assert prepared.shape == (1, 1, 224, 224)
    assert torch.allclose(prepared, torch.full_like(prepared, 1024.0))
    assert float(densenet.prepared(np.zeros((9, 9), np.uint8)).max()) == -1024.0


def test_the_png_of_an_image_scores_as_the_image(
    bench: Bench, weights: dict[str, Path], model_process: ProcessHost
):
    (bench.models / DENSENET.file_name).symlink_to(weights["published"])
    opened(bench, model_process)
    source = bench.images.resolve("image-1")
    png = save_png(source.display, bench.out, "dicom")
    bench.images.add_derived(png, source)
    assert classify(bench, str(png)).output == classify(bench).output


def test_a_damaged_file_fails_with_its_name_and_what_to_do(
    bench: Bench, weights: dict[str, Path], model_process: ProcessHost
):
    data = weights["published"].read_bytes()
    (bench.models / DENSENET.file_name).write_bytes(data[: len(data) // 2])
    with pytest.raises(ToolFailed) as caught:
        classify(opened(bench, model_process))
    assert "damaged" in caught.value.reason
    assert DENSENET.file_name in caught.value.subject
