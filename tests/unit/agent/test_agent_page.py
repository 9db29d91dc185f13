"""docs/agent.md names every event, limit, module and kind of model that there is, and no other."""

from __future__ import annotations

import dataclasses
import re
from pathlib import Path
from typing import get_args

import pytest

from app.agent.events import RunEvent
from app.agent.request import Limits
from app.settings import Kind


@pytest.fixture(scope="module")
def page(repo: Path) -> str:
    return (repo / "docs" / "agent.md").read_text(encoding="utf-8")


def first_cells(page: str, heading: str) -> list[str]:
    """The names in code marks of the first column of the table below a heading."""
    part = page.split(f"\n## {heading}\n", 1)[1].split("\n## ", 1)[0]
    rows = [line.split("|")[1] for line in part.splitlines() if line.startswith("| ")]
    return [name for row in rows for name in re.findall(r"`([^`]+)`", row)]


def test_the_page_names_every_event_and_its_fields(page: str):
    events = {kind.model_fields["kind"].default: kind for kind in get_args(get_args(RunEvent)[0])}
    assert first_cells(page, "Events") == list(dict.fromkeys(first_cells(page, "Events")))
    assert set(first_cells(page, "Events")) == set(events)
    rows = {line.split("`")[1]: line for line in page.splitlines() if line.startswith("| `")}
    for name, kind in events.items():
        fields = set(kind.model_fields) - {"run_id", "seq", "time", "kind"}
        missing = {field for field in fields if f"`{field}`" not in rows[name]}
        assert not missing, (name, missing)


def test_the_page_names_every_limit_with_its_default(page: str):
    fields = {field.name: field.default for field in dataclasses.fields(Limits)}
    assert set(first_cells(page, "Limits")) == set(fields)
    for name, default in fields.items():
        (row,) = [line for line in page.splitlines() if line.startswith(f"| `{name}` |")]
        stated = float(row.split("|")[2].strip().replace(",", ""))
        assert stated == default, name


def test_the_page_names_every_kind_of_model_and_every_module(page: str, repo: Path):
    assert set(first_cells(page, "Models")) == set(get_args(Kind))
    named = set(first_cells(page, "Where it is"))
    folder = repo / "app" / "agent"
    missing = {name for name in named if not (folder / name).exists()}
    assert not missing
    rooms = {path.name for path in folder.iterdir() if (path / "__init__.py").exists()}
    detailed = rooms - {"planning", "sessions", "llm", "policy"}
    modules = {path.name for room in ("", *detailed) for path in (folder / room).glob("*.py")}
    unnamed = {f"{name}/" for name in rooms if f"`{name}/`" not in page}
    unnamed |= {name for name in modules - {"__init__.py"} if f"`{name}`" not in page}
    assert not unnamed
