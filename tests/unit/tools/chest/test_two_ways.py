"""A model that is published with a program: read by ours, else run by its own."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")

from app.tools.chest import published_programs  # noqa: E402
from app.tools.chest.published_weights import FractionCallback, OtherLayout  # noqa: E402
from app.tools.model_process.memory import Placement  # noqa: E402
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
