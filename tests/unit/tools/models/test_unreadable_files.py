"""Reading every file of a model: what is said where that cannot be done."""

from __future__ import annotations

import errno
from pathlib import Path

import pytest

from app.errors import FileProblem, SightlineError
from app.tools.models import installation
from app.tools.models import store as store_module
from app.tools.models.store import ModelStore


def test_a_file_that_may_not_be_read_is_told_with_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    def denied(path: Path, *_rest: object) -> str:
        raise PermissionError(errno.EACCES, "Permission denied", str(path))

    monkeypatch.setattr(installation, "read_sha256", denied)
    with pytest.raises(SightlineError) as caught:
        ModelStore(tmp_path).verify("thorax-net")
    assert caught.value.reason == "a model's file cannot be read (Permission denied)"
    assert "thorax-net.safetensors" in caught.value.subject
    assert "right to read it" in caught.value.remedy


def test_a_folder_that_may_not_be_read_is_told_where_its_model_is_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    def denied(_place: object) -> bool:
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr(store_module, "is_aside", denied)
    store = ModelStore(tmp_path)
    assert store.has("densenet121-res224-all")
    with pytest.raises(FileProblem, match="may not read the folder") as caught:
        store.find(store.card("densenet121-res224-all"))
    assert "chmod -R a+rX" in caught.value.remedy
