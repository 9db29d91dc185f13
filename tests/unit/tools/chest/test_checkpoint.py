"""Weights files: every layout gives the same tensors, and none of them runs code."""

from __future__ import annotations

import pickle
from collections import OrderedDict
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")
xrv = pytest.importorskip("torchxrayvision")

from safetensors.torch import save_file  # noqa: E402

from app.tools.api import ToolFailed  # noqa: E402
from app.tools.chest import checkpoint, densenet  # noqa: E402


@pytest.fixture(scope="module")
def model() -> Any:
    torch.manual_seed(5)
    made = xrv.models.DenseNet(weights=None)
    for module in made.modules():
        if isinstance(module, torch.nn.BatchNorm2d):
            module.running_mean.normal_()
            module.running_var.uniform_(0.5, 2)
    return made


def layouts(model: Any, folder: Path) -> dict[str, Path]:
    """One file for each way in which such weights are met."""
    state = model.state_dict()
    files = {
        name: folder / f"{name}.pt"
        for name in ("old_module", "state", "old_state", "nested", "parallel")
    }
    torch.save(model, files["old_module"], _use_new_zipfile_serialization=False)
    torch.save(state, files["state"])
    torch.save(state, files["old_state"], _use_new_zipfile_serialization=False)
    torch.save({"state_dict": state, "epoch": 3}, files["nested"])
    torch.save(OrderedDict((f"module.{k}", v) for k, v in state.items()), files["parallel"])
    files["safetensors"] = folder / "weights.safetensors"
    save_file({k: v.contiguous() for k, v in state.items()}, files["safetensors"])
    return files


@pytest.fixture(scope="module")
def files(model: Any, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    return layouts(model, tmp_path_factory.mktemp("layouts"))


@pytest.mark.parametrize(
    "layout", ["old_module", "state", "old_state", "nested", "parallel", "safetensors"]
)
def test_every_layout_gives_the_same_tensors(model: Any, files: dict[str, Path], layout: str):
    state = checkpoint.load_state(files[layout])
    wanted = model.state_dict()
    assert state.keys() == wanted.keys()
    assert all(torch.equal(state[name], wanted[name]) for name in wanted)


def test_only_the_old_layout_of_a_module_is_read_by_hand(files: dict[str, Path]):
    by_hand = {name for name, path in files.items() if checkpoint.read_module(path)}
    assert by_hand == {"old_module"}


def test_views_and_shared_storages_are_read_right(tmp_path: Path):
    module = torch.nn.Module()
    base = torch.arange(12.0).reshape(3, 4)
    module.register_buffer("transposed", base.t())
    module.register_buffer("part", base[1:, ::2])
    module.register_buffer("count", torch.tensor(7))
    module.register_buffer("empty", torch.zeros(0))
    module.register_buffer("short", torch.ones(2, dtype=torch.float16))
    path = tmp_path / "views.pt"
    torch.save(module, path, _use_new_zipfile_serialization=False)
    state = checkpoint.read_module(path)
    assert state is not None
    for name, tensor in module.named_buffers():
        assert torch.equal(state[name], tensor), name
        assert state[name].dtype == tensor.dtype


class Trap:
    """Unpickling this would create a file."""

    def __init__(self, mark: Path) -> None:
        self.mark = mark

    def __reduce__(self) -> tuple[Any, tuple[Any, ...]]:
        return Path.touch, (self.mark,)


@pytest.mark.parametrize("new", [True, False])
@pytest.mark.parametrize("where", ["root", "dictionary", "module"])
def test_code_in_a_weights_file_is_never_run(tmp_path: Path, new: bool, where: str):
    mark = tmp_path / "was-run"
    trap = Trap(mark)
    holder = torch.nn.Linear(2, 2)
    holder.extra = trap
    content = {"root": trap, "dictionary": {"weight": torch.ones(2), "x": trap}, "module": holder}
    path = tmp_path / "evil.pt"
    torch.save(content[where], path, _use_new_zipfile_serialization=new)
    try:
        state = checkpoint.load_state(path)
    except ToolFailed:
        state = {}
    assert not mark.exists()
    # An old module is read as data: its tensors come, the trap beside them is only a note.
    assert set(state) <= {"weight", "bias"}


def test_a_plain_pickle_is_refused(tmp_path: Path):
    mark = tmp_path / "was-run"
    path = tmp_path / "evil.pth"
    path.write_bytes(pickle.dumps(Trap(mark)))
    with pytest.raises(ToolFailed):
        checkpoint.load_state(path)
    assert not mark.exists()


@pytest.mark.parametrize("layout", ["old_module", "state", "old_state", "safetensors"])
@pytest.mark.parametrize("kept", [0, 10, 0.3, 0.999])
def test_a_file_that_is_cut_short_is_said_to_be_damaged(
    files: dict[str, Path], tmp_path: Path, layout: str, kept: float
):
    data = files[layout].read_bytes()
    path = tmp_path / files[layout].name
    path.write_bytes(data[: int(kept if kept >= 1 else kept * len(data))])
    with pytest.raises(ToolFailed) as caught:
        checkpoint.load_state(path)
    assert "damaged" in caught.value.reason
    assert "models install" in caught.value.remedy


@pytest.mark.parametrize("content", [b"", b"hello", b"\x80\x02", bytes(range(256)) * 50])
def test_nonsense_is_refused(tmp_path: Path, content: bytes):
    path = tmp_path / "x.pt"
    path.write_bytes(content)
    with pytest.raises(ToolFailed, match="damaged"):
        checkpoint.load_state(path)


def test_weights_of_another_model_are_told_apart(tmp_path: Path):
    path = tmp_path / "other.pt"
    torch.save(torch.nn.Linear(3, 3).state_dict(), path)
    with pytest.raises(ToolFailed, match="another model"):
        densenet.load(path)
