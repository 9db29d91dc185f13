from __future__ import annotations

import io
import logging
from pathlib import Path

import pytest

from app import log
from app.errors import SightlineError


def test_an_error_names_subject_reason_and_remedy_in_one_line():
    error = SightlineError("the file is empty", subject="a.dcm", remedy="Copy it again.")
    assert error.text == "a.dcm: the file is empty. Copy it again."


@pytest.mark.parametrize(
    "text",
    [
        "cannot read /home/anna/Patients/Doe^Jane/scan.dcm",
        r"cannot read C:\Users\anna\Doe^Jane\scan.dcm",
        "cannot read /mnt/pacs/Doe Jane/scan.dcm (truncated)",
    ],
)
def test_paths_that_may_name_a_patient_never_reach_the_log(text: str, tmp_path: Path):
    log.set_up(tmp_path)
    try:
        log.get_logger("app.test").warning("%s", text)
        written = (tmp_path / "sightline.log").read_text()
    finally:
        log.set_up()
    assert "Doe" not in written
    assert "anna" not in written
    assert "cannot read" in written


def test_a_traceback_in_the_log_keeps_the_source_file_but_no_folder(tmp_path: Path):
    log.set_up(tmp_path)
    try:
        try:
            raise ValueError("boom")
        except ValueError:
            log.get_logger("app.test").exception("failed")
        written = (tmp_path / "sightline.log").read_text()
    finally:
        log.set_up()
    assert "test_leaves.py" in written
    assert str(Path(__file__).parent) not in written


def test_the_log_does_not_fail_where_its_folder_cannot_be_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    stream = io.StringIO()
    monkeypatch.setattr("sys.stderr", stream)
    log.set_up(tmp_path / "missing")
    try:
        log.get_logger("app.test").warning("still here")
    finally:
        log.set_up()
    assert "still here" in stream.getvalue()
    assert logging.getLogger("app").level == logging.INFO
