"""The loading code of Cellpose, StarDist and InstanSeg, with stand-ins made like the packages."""

from __future__ import annotations

import sys
from collections.abc import Callable
from importlib.machinery import ModuleSpec
from types import ModuleType, SimpleNamespace
from typing import Any, ClassVar

import numpy as np
import pytest
import tifffile

from app.tools.api import ToolFailed
from app.tools.microscopy import network_models, networks
from app.tools.microscopy.segmenters import nuclei_segmenter
from tests.unit.tools.microscopy.pictures import discs, fluorescence, write_tiff
from tests.unit.tools.support import Bench, FakeHost

TRUTH = discs([(40, 40), (60, 120), (150, 60)], 10)
PIXELS = fluorescence(TRUTH)


@pytest.fixture
def package(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Put a module in place of one that is not installed."""
    monkeypatch.setattr(network_models, "_LOADED", {})

    def put(name: str, **members: Any) -> None:
        module = ModuleType(name)
        module.__dict__.update(members)
        module.__spec__ = ModuleSpec(name, None, origin="a stand-in")
        module.__file__ = __file__  # torch asks every module for its source
        monkeypatch.setitem(sys.modules, name, module)

    return put


def ask(network: str, kind: str = "fluorescence", target: str = "nuclei", **more: Any) -> Any:
    pixels = more.pop("pixels", PIXELS)
    payload = {
        "network": network,
        "kind": kind,
        "target": target,
        "pixels": pixels,
        "device": "cpu",
    }
    payload |= {"diameter": None, "min_area": None} | more
    return network_models.entry(payload, lambda fraction, text: None)


class StarDist2D:
    asked: ClassVar[list[Any]] = []

    @classmethod
    def from_pretrained(cls, name: str) -> StarDist2D | None:
        cls.asked.append(name)
        return None if name == "missing" else cls()

    def predict_instances(self, image: np.ndarray) -> tuple[np.ndarray, dict[str, Any]]:
        self.asked.append((float(np.percentile(image, 99.8)), image.shape))
        return TRUTH.astype(np.int32), {"prob": np.ones(3)}


def test_stardist_takes_its_model_for_the_kind_and_values_it_was_trained_on(
    package: Callable[..., None],
):
    StarDist2D.asked.clear()
    package("stardist")
    package("stardist.models", StarDist2D=StarDist2D)
    answer = ask("stardist")
    np.testing.assert_array_equal(answer["labels"] > 0, TRUTH > 0)
    assert answer["model"] == "StarDist 2D_versatile_fluo"
    assert len(answer["columns"]["label"]) == 3
    ask("stardist", "tissue", pixels=np.stack([PIXELS] * 3, axis=2))
    names = [one for one in StarDist2D.asked if isinstance(one, str)]
    assert names == ["2D_versatile_fluo", "2D_versatile_he"]
    seen = [one for one in StarDist2D.asked if not isinstance(one, str)]
    assert [shape for _, shape in seen] == [TRUTH.shape, (*TRUTH.shape, 3)]
    assert seen[0][0] == pytest.approx(1, abs=1e-3)


def test_a_pretrained_model_that_is_not_there_is_said(
    package: Callable[..., None], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(StarDist2D, "from_pretrained", lambda name: None)
    package("stardist")
    package("stardist.models", StarDist2D=StarDist2D)
    with pytest.raises(ToolFailed, match="2D_versatile_fluo is not there"):
        ask("stardist")


def test_a_download_that_is_forbidden_is_an_error_with_a_remedy(package: Callable[..., None]):
    class CellposeModel:
        def __init__(self, gpu: bool) -> None:
            raise ConnectionError("no network")

    package("cellpose")
    package("cellpose.models", CellposeModel=CellposeModel)
    sys.modules["cellpose"].__dict__["models"] = sys.modules["cellpose.models"]
    with pytest.raises(ToolFailed, match="fetches nothing by itself"):
        ask("cellpose")


def test_cellpose_4_and_the_older_ones(package: Callable[..., None]):
    asked: list[Any] = []

    class CellposeModel:
        def __init__(self, gpu: bool) -> None:
            asked.append(gpu)

        def eval(self, image: np.ndarray, diameter: float | None) -> tuple[Any, ...]:
            asked.append(diameter)
            return TRUTH.astype(np.uint16), None, None

    class Cellpose:
        def __init__(self, gpu: bool, model_type: str) -> None:
            asked.append(model_type)

        def eval(
            self, image: np.ndarray, diameter: float | None, channels: list[int]
        ) -> tuple[Any, ...]:
            asked.append(channels)
            return TRUTH.astype(np.uint16), None, None, 20.0

    package("cellpose", models=SimpleNamespace(CellposeModel=CellposeModel))
    assert ask("cellpose", diameter=20.0)["model"] == "Cellpose cpsam"
    assert asked == [False, 20.0]
    package("cellpose", models=SimpleNamespace(Cellpose=Cellpose))
    assert ask("cellpose")["model"] == "Cellpose nuclei"
    assert ask("cellpose", target="cells")["model"] == "Cellpose cyto3"
    assert asked[2:] == ["nuclei", [0, 0], "cyto3", [0, 0]]


def test_instanseg_gives_nuclei_and_cells(package: Callable[..., None]):
    class InstanSeg:
        def __init__(self, name: str, verbosity: int) -> None:
            self.name = name

        def eval_small_image(self, image: np.ndarray, pixel_size: float | None) -> Any:
            assert image.shape == (*TRUTH.shape, 1)
            return np.stack([TRUTH, np.where(TRUTH == 1, 1, 0)])[None], None

    package("instanseg", InstanSeg=InstanSeg)
    assert len(ask("instanseg")["columns"]["label"]) == 3
    cells = ask("instanseg", target="cells")
    assert len(cells["columns"]["label"]) == 1
    assert cells["model"] == "InstanSeg fluorescence_nuclei_and_cells"


def test_a_mask_of_another_size_is_refused(package: Callable[..., None]):
    class Wrong(StarDist2D):
        def predict_instances(self, image: np.ndarray) -> tuple[np.ndarray, dict[str, Any]]:
            return TRUTH[:-1].astype(np.int32), {}

    package("stardist")
    package("stardist.models", StarDist2D=Wrong)
    with pytest.raises(ToolFailed, match="another size"):
        ask("stardist")


def test_the_tool_calls_the_network_and_names_it(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, package: Callable[..., None]
):
    package("stardist")
    package("stardist.models", StarDist2D=StarDist2D)
    host = FakeHost(lambda payload: network_models.entry(payload, lambda fraction, text: None))
    bench.host = host
    monkeypatch.setattr(networks, "is_installed", lambda name: True)
    bench.open(write_tiff(bench.folder / "a.tif", PIXELS))
    result = bench.run(nuclei_segmenter(), image_path="image-1", model="stardist")
    assert [entry for entry, _ in host.calls] == [networks.ENTRY]
    assert result.summary.startswith("3 nuclei (StarDist 2D_versatile_fluo: pretrained network")
    assert result.findings[0].provenance.model == "StarDist 2D_versatile_fluo"
    np.testing.assert_array_equal(tifffile.imread(result.output["mask_path"]) > 0, TRUTH > 0)
