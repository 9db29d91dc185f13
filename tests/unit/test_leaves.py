from __future__ import annotations

import io
import json
import logging
from pathlib import Path

import pytest

from app import log, settings
from app.errors import SightlineError
from app.secrets import Secrets


def test_an_error_names_subject_reason_and_remedy_in_one_line():
    error = SightlineError("the file is empty", subject="a.dcm", remedy="Copy it again.")
    assert error.text == "a.dcm: the file is empty. Copy it again."


def test_broken_settings_are_kept_aside_and_the_app_starts_with_defaults(tmp_path: Path):
    path = tmp_path / "settings.json"
    path.write_text("{not json")
    assert settings.load(path) == settings.Settings()
    assert (tmp_path / "settings.json.broken").read_text() == "{not json"
    assert not path.exists()


def test_settings_survive_a_round_trip_and_leave_no_temporary_file(tmp_path: Path):
    path = tmp_path / "settings.json"
    changed = settings.Settings(llm=settings.ModelSettings(kind="openai", model="m"))
    settings.save(changed, path)
    assert settings.load(path) == changed
    assert [entry.name for entry in tmp_path.iterdir()] == ["settings.json"]


def test_settings_of_a_later_version_do_not_break_an_older_program(tmp_path: Path):
    path = tmp_path / "settings.json"
    path.write_text(json.dumps({"version": 9, "unheard_of": 1, "device": "cpu"}))
    assert settings.load(path).device == "cpu"


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


def test_without_a_keyring_a_key_is_kept_in_memory_and_says_so(monkeypatch: pytest.MonkeyPatch):
    import keyring
    from keyring.backends.fail import Keyring as NoKeyring

    monkeypatch.delenv("SIGHTLINE_OPENAI_KEY", raising=False)
    before = keyring.get_keyring()
    keyring.set_keyring(NoKeyring())
    try:
        store = Secrets()
        assert store.get("openai") == ""
        assert store.would_keep_in().startswith("memory")
        store.set("openai", "sk-1")
        assert store.get("openai") == "sk-1"
        assert store.where("openai").startswith("memory")
        assert Secrets().get("openai") == ""
    finally:
        keyring.set_keyring(before)


def test_an_environment_variable_serves_as_key(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("SIGHTLINE_OPENAI_KEY", "sk-env")
    store = Secrets()
    assert store.get("openai") == "sk-env"
    assert "SIGHTLINE_OPENAI_KEY" in store.where("openai")
