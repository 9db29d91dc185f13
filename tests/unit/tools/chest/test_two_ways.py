"""A model that is published with a program: read by ours, else run by its own."""

from __future__ import annotations

import json
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")

from safetensors.torch import save_file  # noqa: E402
from transformers import AutoModel, PreTrainedConfig, PreTrainedModel  # noqa: E402

from app.tools.api import ToolFailed  # noqa: E402
from app.tools.chest import published_programs  # noqa: E402
from app.tools.model_process.memory import Placement  # noqa: E402
from app.tools.model_process.published_weights import (  # noqa: E402
    FractionCallback,
    OtherLayout,
    cpu_work,
    load_model,
    marked_memory,
)
from app.tools.model_process.serving import Work  # noqa: E402

FOLDER = Path("models")


def read(folder: Path, device: str, dtype: Any, tell: FractionCallback) -> str:
    for part in range(1000):
        tell(part / 1000)
    return f"read {folder} on {device} in {dtype}"


def other(folder: Path, device: str, dtype: Any, tell: FractionCallback) -> str:
    raise OtherLayout("3 tensors missing")


def run(folder: Path, work: Work) -> str:
    return f"run {folder}"


def loaded(reader: Any, work: Work) -> str:
    return published_programs.load_either_way(reader, run, FOLDER, work, torch.bfloat16, "MAIRA-2")


def test_the_published_layout_is_read_by_our_reader_and_told_in_whole_percents():
    told: list[tuple[float, str]] = []
    work = Work(Placement("cpu", "float32"), lambda fraction, text: told.append((fraction, text)))
    assert loaded(read, work) == "read models on cpu in torch.bfloat16"
    assert {text for _, text in told} == {"Loading MAIRA-2"}
    assert [int(fraction * 100) for fraction, _ in told] == list(range(2, 18))
    assert work.notes == []


@pytest.mark.parametrize("allowed", [False, True])
def test_another_layout_is_left_to_its_program_and_named_unless_that_was_allowed(allowed: bool):
    work = Work(Placement("cpu", "float32"), lambda fraction, text: None)
    work.source = {"trust_remote_code": allowed}
    assert loaded(other, work) == "run models"
    said = [] if allowed else ["not the published layout: 3 tensors missing"]
    assert work.notes == said


PROGRAM = """
import torch
from transformers import PretrainedConfig, PreTrainedModel

class TurnedConfig(PretrainedConfig):
    model_type = "turned"

class Turned(PreTrainedModel):
    config_class = TurnedConfig

    def __init__(self, config):
        super().__init__(config)
        self.layer = torch.nn.Linear(4, 4)
        self.register_buffer("table", table(), persistent=False)
        self.post_init()

    def forward(self, x):
        return self.layer(x) * self.table
"""
SETS_IT = """
    def _init_weights(self, module):
        if module is self:
            self.table = table()
"""
TABLES = {
    "turns": "torch.arange(4).float() / 4",
    "places": "torch.arange(4)",
    "mask": "torch.arange(4) < 2",
}


def program(folder: Path, table: str, more: str = "") -> Path:
    """Write a model whose program computes a table that lies in no file."""
    folder.mkdir()
    text = f"{PROGRAM}{more}\n\ndef table():\n    return {TABLES[table]}\n"
    (folder / "modeling_turned.py").write_text(text)
    names = {"AutoConfig": "TurnedConfig", "AutoModel": "Turned"}
    about = {
        "model_type": "turned",
        "auto_map": {auto: f"modeling_turned.{name}" for auto, name in names.items()},
    }
    (folder / "config.json").write_text(json.dumps(about))
    weights = {"layer.weight": torch.eye(4), "layer.bias": torch.ones(4)}
    save_file(weights, folder / "model.safetensors", {"format": "pt"})
    return folder


def run_program(folder: Path) -> Any:
    work = Work(Placement("cpu", "float32"), lambda fraction, text: None)
    found = {path.name: sha256(path.read_bytes()).hexdigest() for path in folder.glob("*.py")}
    work.source = {"trust_remote_code": True, "programs": found, "name": "turned"}
    return published_programs.load_model_with_program(AutoModel, folder, work)


@pytest.mark.parametrize("table", list(TABLES))
def test_a_program_whose_tables_transformers_leaves_unset_is_refused(tmp_path: Path, table: str):
    """transformers 5 makes a model without memory, and such tables are in no file."""
    folder = program(tmp_path / "turned", table)
    with marked_memory():
        silent: Any = AutoModel.from_pretrained(folder, trust_remote_code=True)
    right = eval(TABLES[table], {"torch": torch})  # noqa: S307  (a constant of this file)
    assert not torch.equal(silent.table, right), "what transformers says nothing of"
    with pytest.raises(ToolFailed, match="1 of its tables would hold chance values") as caught:
        run_program(folder)
    assert caught.value.subject == "turned"
    assert caught.value.detail == "table"


@pytest.mark.parametrize("table", list(TABLES))
def test_a_program_that_sets_its_tables_is_run(tmp_path: Path, table: str):
    model = run_program(program(tmp_path / "turned", table, SETS_IT))
    right = eval(TABLES[table], {"torch": torch})  # noqa: S307  (a constant of this file)
    assert torch.equal(model.table, right)
    assert torch.equal(model.layer.weight, torch.eye(4)), "and its weights stay the file's"


OVERWRITES = """
    def _init_weights(self, module):
        if module is self:
            self.table = table()
        if module is self.layer:
            module.weight.data.normal_()

class Layer(torch.nn.Linear):
    def __init__(self, *sizes):
        super().__init__(*sizes)
        self.register_buffer("more", torch.zeros(1), persistent=False)
"""


def test_a_program_that_draws_loaded_weights_anew_is_refused(tmp_path: Path):
    """transformers 5 has it initialise a module with such a table, with its weights."""
    folder = program(tmp_path / "turned", "turns", OVERWRITES)
    path = folder / "modeling_turned.py"
    path.write_text(path.read_text().replace("torch.nn.Linear(4, 4)", "Layer(4, 4)"))
    silent: Any = AutoModel.from_pretrained(folder, trust_remote_code=True)
    assert not torch.equal(silent.layer.weight, torch.eye(4)), "what transformers says nothing of"
    with pytest.raises(ToolFailed, match="would hold chance values") as caught:
        run_program(folder)
    assert caught.value.detail == "layer.more, layer.weight"


def test_a_model_of_transformers_own_with_an_unset_table_is_refused(tmp_path: Path):
    class Config(PreTrainedConfig):
        model_type = "tabled"

    class Tabled(PreTrainedModel):
        config_class = Config

        def __init__(self, config: Any) -> None:
            super().__init__(config)
            self.layer = torch.nn.Linear(4, 4)
            self.register_buffer("places", torch.arange(4), persistent=False)
            self.post_init()

    Tabled(Config()).save_pretrained(tmp_path)
    with pytest.raises(ToolFailed, match="cannot be loaded") as caught:
        load_model(Tabled, tmp_path, cpu_work())
    assert caught.value.detail == "places"


def test_marking_memory_leaves_torch_as_it_was():
    with marked_memory():
        assert torch.empty(3).isnan().all()
    assert not torch.are_deterministic_algorithms_enabled()
