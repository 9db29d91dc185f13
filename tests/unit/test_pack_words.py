"""Tools of a pack, and what they find, are named in the pack alone.

A pack that is added later then needs no change there.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from app.tools.registry import load_packs
from tests.conftest import REPO

REGISTRY = load_packs([])
TOOLS = re.compile("|".join(rf"\b{tool.spec.name}\b" for tool in REGISTRY.all()))
LABELS = re.compile(
    "|".join(rf"\b{re.escape(label)}s?\b" for label in (*REGISTRY.labels, "lung")), re.IGNORECASE
)
SOURCES = sorted(
    path.relative_to(REPO).as_posix()
    for room in ("views", "agent")
    for path in (REPO / "app" / room).rglob("*.py")
)
# Lists of ordinary words and figures of speech of a language ("heart of gold"), for the planner.
LANGUAGE = {"everyday.py", "file_names.py", "natural.py"}


def texts(tree: ast.Module) -> Iterator[str]:
    """The texts of a module that are no docstrings: what the program itself says or compares."""
    statements = (node.value for node in ast.walk(tree) if isinstance(node, ast.Expr))
    docstrings = {id(value) for value in statements if isinstance(value, ast.Constant)}
    for node in ast.walk(tree):
        text = isinstance(node, ast.Constant) and isinstance(node.value, str)
        if text and id(node) not in docstrings:
            yield node.value


@pytest.mark.parametrize("source", SOURCES)
def test_no_tool_of_a_pack_is_named(source: str):
    assert not TOOLS.search((REPO / source).read_text("utf-8"))


@pytest.mark.parametrize("source", [name for name in SOURCES if Path(name).name not in LANGUAGE])
def test_no_organ_of_a_pack_is_named(source: str):
    tree = ast.parse((REPO / source).read_text("utf-8"))
    assert [text for text in texts(tree) if LABELS.search(text)] == []


def test_every_shipped_tool_has_a_title_and_an_icon():
    for tool in REGISTRY.all():
        assert tool.spec.title
        assert (REPO / "resources" / "icons" / f"{tool.spec.icon}.svg").is_file()


def test_the_pack_declares_which_structures_keep_their_colour():
    assert REGISTRY.labels[:3] == ("Right Lung", "Left Lung", "Heart")
    assert len(REGISTRY.labels) == 14
