"""Programs that lie with weights: the yes is one to these programs, and to nothing else."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from app.tools.models.places import allowed_programs, are_allowed
from app.tools.models.store import ModelStore
from tests.unit.tools.model_support import CODE, FILES, TERMS, foldered, store, write_files

CHANGED = {"modeling_net.py": b"print('HELLO')\n"}


def allowed(tmp_path: Path, files: dict[str, bytes] | None = None) -> tuple[ModelStore, Path]:
    made = store(tmp_path, foldered(code=True))
    folder = write_files(made.folder / "test-folder", FILES | CODE | (files or {}))
    made.accept("test-folder", code=True)
    return made, folder


def test_accepting_terms_later_is_no_yes_to_code_that_was_changed_meanwhile(tmp_path: Path):
    made, folder = allowed(tmp_path)
    write_files(folder, CHANGED)
    later = ModelStore(
        made.folder, known={"test-folder": foldered(code=True, terms=TERMS)}, shipped=tmp_path
    )
    status = later.accept("test-folder")
    assert (status.accepted, status.code) == (True, "changed")
    assert not later.require("test-folder", "A tool").code_allowed
    assert later.accept("test-folder", code=True).code == "allowed"


def test_a_yes_where_no_program_lay_is_a_yes_to_none(tmp_path: Path):
    made = store(tmp_path, foldered(code=True))
    write_files(made.folder / "test-folder", FILES)
    assert made.accept("test-folder", code=True).code == "not allowed"
    assert not made.require("test-folder", "A tool").code_allowed


@pytest.mark.parametrize(
    ("name", "settings"),
    [
        ("config.json", {"auto_map": {"AutoModel": "/tmp/modeling_x.Net"}}),
        ("config.json", {"auto_map": {"AutoModel": "../modeling_x.Net"}}),
        ("config.json", {"auto_map": {"AutoModel": "C:\\modeling_x.Net"}}),
        ("config.json", {"auto_map": {"AutoModel": "tokenizer/modeling_x.Net"}}),
        ("tokenizer_config.json", {"auto_map": {"AutoTokenizer": [None, "o/r--tokens.Net"]}}),
        ("config.json", {"vision_config": {"auto_map": {"AutoModel": "o/r--modeling_x.Net"}}}),
        ("tokenizer/config.json", {"auto_map": {"AutoModel": "o/r--modeling_x.Net"}}),
        ("config.json", {"pad": "x" * (1 << 20), "auto_map": {"AutoModel": "o/r--net.Net"}}),
        ("config.json", {"pad": "x" * (1 << 23)}),
    ],
)
def test_settings_that_lead_to_a_program_elsewhere_withdraw_the_yes(
    tmp_path: Path, name: str, settings: dict[str, object]
):
    made, folder = allowed(tmp_path)
    assert made.overview()[0].code == "allowed"
    write_files(folder, {name: json.dumps(settings).encode()})
    assert made.overview()[0].code == "not allowed"
    assert not made.require("test-folder", "A tool").code_allowed


def test_settings_too_deep_to_be_read_withdraw_the_yes_and_nothing_breaks(tmp_path: Path):
    made, folder = allowed(tmp_path)
    write_files(folder, {"config.json": b"[" * 200_000})
    assert made.overview()[0].code == "not allowed"


def test_the_model_process_is_told_which_programs_and_looks_once_more(tmp_path: Path):
    made, folder = allowed(tmp_path)
    found = made.require("test-folder", "A tool")
    programs = found.payload("cpu")["model"]["programs"]
    assert programs == allowed_programs(made.paths_of(found.card).record())
    assert are_allowed(folder, programs)
    write_files(folder, CHANGED)
    assert not are_allowed(folder, programs)
    assert not are_allowed(folder, {})
