"""The registry: built-in packs, third-party packs, and what a broken one does."""

from __future__ import annotations

import subprocess
import sys
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

from app.tools.api import Registrar
from app.tools.general.image_visualizer import ImageVisualizer
from app.tools.registry import ENTRY_POINT_GROUP, Registry, load_packs


def test_the_seeds_tools_are_there_with_the_seeds_arguments():
    arguments = {
        tool.spec.name: list(tool.spec.Input.model_fields) for tool in load_packs(()).all()
    }
    assert arguments == {
        "dicom_processor": ["dicom_path", "window_center", "window_width"],
        "image_visualizer": ["image_path", "title", "description", "figsize", "cmap"],
        "chest_xray_classifier": ["image_path"],
        "chest_xray_segmentation": ["image_path", "organs"],
        "cardiothoracic_ratio": ["image_path"],
    }


def test_every_tool_documents_its_pack_arguments_and_output():
    for tool in load_packs(()).all():
        spec = tool.spec
        assert spec.pack
        assert spec.description.endswith(".")
        assert all(field.description for field in spec.Input.model_fields.values())
        assert spec.Input.model_json_schema()["additionalProperties"] is False
        assert spec.Output.model_json_schema()


def test_a_name_is_taken_once():
    registry = Registry()
    registry.register(ImageVisualizer())
    with pytest.raises(ValueError, match="image_visualizer"):
        registry.register(ImageVisualizer())


def test_an_unknown_name_is_none():
    assert load_packs(()).get("no_such_tool") is None


def test_no_model_library_is_imported_with_the_tools():
    code = (
        "import sys; from app.tools.registry import load_packs; load_packs(); "
        "heavy = {'torch', 'torchvision', 'torchxrayvision', 'scipy', 'PySide6', 'safetensors'};"
        "print(sorted(heavy & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


class _Renamed(ImageVisualizer):
    @property
    def spec(self):
        from dataclasses import replace

        return replace(super().spec, name="third_party_view")


def good_pack(registry: Registrar) -> None:
    registry.register(_Renamed())


def clashing_pack(registry: Registrar) -> None:
    registry.register(_Renamed())
    registry.register(ImageVisualizer())


def crashing_pack(registry: Registrar) -> None:
    raise RuntimeError("planted")


def entry(function: str) -> EntryPoint:
    return EntryPoint(function, f"{__name__}:{function}", ENTRY_POINT_GROUP)


def test_a_third_party_pack_adds_its_tools():
    registry = load_packs([entry("good_pack")])
    assert registry.get("third_party_view") is not None
    assert registry.problems == ()


@pytest.mark.parametrize("broken", ["clashing_pack", "crashing_pack", "no_such_function"])
def test_a_broken_third_party_pack_is_reported_and_leaves_nothing_behind(broken: str):
    registry = load_packs([entry(broken)])
    assert [problem.pack for problem in registry.problems] == [broken]
    assert registry.problems[0].reason
    assert registry.get("third_party_view") is None
    assert registry.get("dicom_processor") is not None


def test_packs_are_found_by_their_entry_points(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    info = tmp_path / "sl_pack-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: sl-pack\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(f"[{ENTRY_POINT_GROUP}]\nmine = {__name__}:good_pack\n")
    monkeypatch.syspath_prepend(tmp_path)
    assert load_packs().get("third_party_view") is not None
