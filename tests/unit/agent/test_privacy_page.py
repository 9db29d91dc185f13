"""docs/privacy.md says what is so: its example is understood, its numbers and files are those."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from app.agent.policy import Policy, arguments
from app.agent.policy.approvals import LONGEST_SHOWN
from app.agent.policy.arguments import DEEPEST
from app.agent.privacy.model_pictures import LONG_SIDE, MOST
from app.headless import runs
from app.settings import PolicySettings


@pytest.fixture
def page(repo: Path) -> str:
    return (repo / "docs" / "privacy.md").read_text(encoding="utf-8")


def test_the_example_of_rules_is_understood_and_shows_every_part(page: str):
    found = re.search(r"```json\n(.*?)```", page, re.DOTALL)
    assert found
    data = json.loads(found[1])
    Policy.from_data(data)
    assert set(data) == set(PolicySettings.model_fields)


def test_the_numbers_are_those_of_the_code(page: str):
    text = " ".join(page.split())
    assert f"{arguments._TEXT:,} characters a text, {arguments._ITEMS:,} items a list" in text
    assert f"{arguments._WHOLE:,} characters together, {DEEPEST} levels" in text
    assert f"could not be shown whole ({LONGEST_SHOWN:,} characters)" in text
    assert MOST == 4
    assert f"at most four a question and {LONG_SIDE} pixels" in text


def test_every_variable_that_lets_something_out_is_named(page: str):
    for name in (
        runs.ALLOW_REMOTE,
        runs.ALLOW_RECORD,
        runs.ALLOW_PICTURES,
        runs.ALLOW_RISKY_PICTURES,
    ):
        assert f"{name}=" in page


def test_what_it_points_to_is_there(repo: Path, page: str):
    named = re.findall(r"`(tests/[\w/]+\.py)`", page)
    named += [f"tests/unit/agent/{name}" for name in re.findall(r"`(test_\w+\.py)`", page)]
    named += [f"docs/{name}" for name in re.findall(r"\((images/[\w.]+)\)", page)]
    run = re.findall(r"python -m (tests[\w.]+)", " ".join(page.split()))
    named += [f"{name.replace('.', '/')}.py" for name in run]
    assert len(named) > 12
    assert [name for name in named if not (repo / name).is_file()] == []
