"""Reading every file of a model: what is said where that cannot be done."""

from __future__ import annotations

import errno
from pathlib import Path

import pytest

from app.errors import SightlineError
from app.tools.models import installation
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
