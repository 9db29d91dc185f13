"""PSPNet: the real class and loading, masks over the whole image, no download anywhere."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")
xrv = pytest.importorskip("torchxrayvision")

from app.tools.api import ToolFailed  # noqa: E402
from app.tools.chest import psp_net  # noqa: E402
from app.tools.chest.organs import ALL  # noqa: E402
from app.tools.chest.segmentation import ChestXRaySegmentation  # noqa: E402
from app.tools.chest.segmenter import Segmenter  # noqa: E402
from app.tools.hosting.host import ProcessHost  # noqa: E402
from app.tools.models.cards import card  # noqa: E402
from tests.unit.tools.chest.synthetic import radiograph  # noqa: E402
from tests.unit.tools.support import Bench, write_dicom  # noqa: E402

PSPNET = card("pspnet-chestx-det")
FILE = PSPNET.files[0].name

# torchxrayvision's network calls a function of torch by its old name.
pytestmark = pytest.mark.filterwarnings("ignore:.*upsample. is deprecated:UserWarning")


@pytest.fixture(scope="module")
def weights(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A randomly initialised state in the published layout: DataParallel's names, plain file."""
    from torchxrayvision.baseline_models import chestx_det

    torch.manual_seed(2)
    net = chestx_det.pspnet(len(ALL))
    for module in net.modules():
        if isinstance(module, torch.nn.BatchNorm2d):
            module.running_var.uniform_(0.5, 2)
    path = tmp_path_factory.mktemp("psp") / FILE
    torch.save({f"module.{name}": tensor for name, tensor in net.state_dict().items()}, path)
    return path


@pytest.fixture(scope="module")
def published_class(weights: Path) -> Any:
    """torchxrayvision's own object: it finds the file in its cache and so downloads nothing."""
    return xrv.baseline_models.chestx_det.PSPNet(cache_dir=str(weights.parent))


@pytest.fixture(scope="module")
def loaded(weights: Path) -> Any:
    return psp_net.load(weights)


@pytest.fixture(scope="module")
def model_process() -> Iterator[ProcessHost]:
    made = ProcessHost()
    yield made
    made.close()


@pytest.mark.slow
def test_the_outputs_are_those_of_the_published_class(loaded: Any, published_class: Any):
    pixels = (radiograph(300, 300) >> 4).astype(np.uint8)
    square, corner = psp_net.letterbox(pixels)
    assert corner == (0, 0)
    with torch.inference_mode():
        ours = loaded(square)
        theirs = published_class(torch.from_numpy(xrv.datasets.normalize(pixels, 255))[None, None])
    assert ours.shape == (1, 14, 512, 512)
    assert torch.allclose(ours, theirs, atol=1e-5)


def test_a_wide_image_is_padded_not_cropped():
    pixels = np.full((100, 300), 255, np.uint8)
    square, (top, left) = psp_net.letterbox(pixels)
    assert (top, left) == (100, 0)
    assert square.shape == (1, 1, 512, 512)
    rows = (square[0, 0, :, 256] > 0).nonzero().flatten()
    assert abs(int(rows[0]) - 512 / 3) <= 1
    assert abs(int(rows[-1]) - (1024 / 3 - 1)) <= 1
    columns = (square[0, 0, 256] > 0).nonzero().flatten()
    assert (int(columns[0]), int(columns[-1])) == (0, 511)


@pytest.mark.parametrize("shape", [(700, 400), (400, 700), (512, 512), (1955, 1841), (90, 130)])
def test_a_planted_shape_comes_back_where_it_was_to_half_a_pixel(shape: tuple[int, int]):
    """Also outside the central square, which the original lost."""
    rows, columns = shape
    wanted = np.zeros(shape, bool)
    wanted[: rows // 4, : columns // 4] = True  # the outermost corner
    wanted[-rows // 3 :, -columns // 5 :] = True
    planted, corner = psp_net.letterbox(wanted.astype(np.uint8) * 255)
    probability = (planted[0, 0] + 1024) / 2048
    full = psp_net.remove_letterbox(probability, shape, corner)
    assert full.shape == shape
    found = (full > 0.5).numpy()
    scale = max(shape) / 512
    for axis in (0, 1):
        for half in (slice(None, shape[axis] // 2), slice(shape[axis] // 2, None)):
            index = (half, slice(None)) if axis == 0 else (slice(None), half)
            ours, theirs = found[index].any(1 - axis), wanted[index].any(1 - axis)
            assert abs(int(ours.sum()) - int(theirs.sum())) <= max(1.0, 0.5 * scale)


def test_no_network_is_touched(weights: Path, monkeypatch: pytest.MonkeyPatch):
    def refuse(*_: Any, **__: Any) -> Any:
        raise AssertionError("a download was tried")

    monkeypatch.setattr(xrv.utils, "download", refuse)
    psp_net.load(weights)


@pytest.mark.slow
def test_the_tool_uses_all_14_once_the_weights_lie_there(
    bench: Bench, weights: Path, loaded: Any, model_process: ProcessHost
):
    bench.host = model_process
    (bench.models / FILE).symlink_to(weights)
    bench.open(write_dicom(bench.folder / "a.dcm", radiograph(260, 180)))
    result = bench.run(ChestXRaySegmentation(Segmenter()), image_path="image-1")
    assert result.metadata["model"] == PSPNET.title
    assert result.metadata["model_size"] == [512, 512]
    assert result.metadata["unavailable_organs"] == []
    done = set(result.metadata["processed_organs"]) | set(result.metadata["not_found"])
    assert done == set(ALL)
    assert any("differ from the published" in text for text in result.metadata["warnings"])
    # The masks are those of the network at these pixels, at the image's own size.
    pixels = bench.images.resolve("image-1").display
    square, corner = psp_net.letterbox(pixels)
    with torch.inference_mode():
        probabilities = torch.sigmoid(loaded(square))[0]
    for finding in result.findings:
        full = psp_net.remove_letterbox(
            probabilities[ALL.index(finding.label)], pixels.shape, corner
        )
        wanted = (full > 0.5).numpy()
        geometry: Any = finding.geometry
        assert (geometry.pixels != wanted).mean() < 1e-3
        assert finding.score == pytest.approx(float(full[full > 0.5].mean()), abs=1e-3)
        assert finding.provenance.model == PSPNET.name


@pytest.mark.slow
def test_damaged_weights_are_told(bench: Bench, model_process: ProcessHost):
    bench.host = model_process
    (bench.models / FILE).write_bytes(b"not weights")
    bench.open(write_dicom(bench.folder / "a.dcm", radiograph()))
    with pytest.raises(ToolFailed, match="damaged"):
        bench.run(ChestXRaySegmentation(Segmenter()), image_path="image-1")
