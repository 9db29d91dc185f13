"""DINOv3 of the published classes, tiny, through the tool's own loading and training."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from app.tools.api import ToolFailed
from app.tools.hosting.host import ProcessHost
from app.tools.microscopy.cell_state_analyzer import DINOV3
from app.tools.models.store import ModelStore
from app.tools.tables import read_table
from tests.support.cell_states import experiment
from tests.support.tiny_making import make
from tests.unit.tools.microscopy.support import cropped
from tests.unit.tools.support import Bench, call

pytest.importorskip("transformers")
WITNESS = "tests.unit.tools.microscopy.dinov3_witness"


def crops_of(bench: Bench) -> dict[str, Any]:
    table = read_table(Path(cropped(bench, experiment(0, side=3, replicates=1))))
    return {
        "crop_files": [str(bench.out / str(name)) for name in table.column("crop_file")],
        "mask_files": [str(bench.out / str(name)) for name in table.column("mask_file")],
        "indexes": table.column("index"),
    }


@pytest.mark.parametrize("convnext", [False, True], ids=["vit", "convnext"])
def test_it_is_loaded_and_only_its_last_block_is_trained(
    bench: Bench, model_process: ProcessHost, convnext: bool
):
    bench.host = model_process
    folder = bench.models / DINOV3
    make(model_process, "cell_state_analyzer", folder, convnext=convnext)
    found = call(
        model_process, f"{WITNESS}:trained", folder=str(folder), **crops_of(bench), epochs=1
    )
    assert found["shape"] == [18, 32]
    assert found["published"] == 0.0  # the loaded model stays as it was
    assert found["frozen"] == 0.0
    assert found["last"] > 0.0
    assert len(found["losses"]) == 1


def test_without_training_the_embedding_is_transformers_own(
    bench: Bench, model_process: ProcessHost
):
    bench.host = model_process
    folder = bench.models / DINOV3
    make(model_process, "cell_state_analyzer", folder)
    found = call(
        model_process, f"{WITNESS}:trained", folder=str(folder), **crops_of(bench), epochs=0
    )
    np.testing.assert_allclose(found["embedding"], found["theirs"], atol=1e-4)


def test_the_card_s_check_counts_its_parameters_and_finds_a_damaged_file(
    bench: Bench, model_process: ProcessHost
):
    folder = bench.models / DINOV3
    make(model_process, "cell_state_analyzer", folder)
    ModelStore(bench.models).accept(DINOV3)
    check = "app.tools.microscopy.dinov3_net:check"
    assert call(model_process, check, weights=str(folder))["parameters"] > 10_000
    (folder / "model.safetensors").write_bytes(b"no weights")
    with pytest.raises(ToolFailed, match="missing or damaged"):
        call(model_process, check, weights=str(folder))


def test_another_model_s_folder_is_refused(bench: Bench, model_process: ProcessHost):
    folder = bench.models / DINOV3
    folder.mkdir()
    (folder / "config.json").write_text('{"model_type": "bert"}')
    with pytest.raises(ToolFailed, match=r"another model \(bert\)"):
        call(model_process, "app.tools.microscopy.dinov3_net:check", weights=str(folder))
