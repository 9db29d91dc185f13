"""Tools of a pack and the structures they find are named in the pack alone.

The window and the agent read them from there, so that another pack needs no change in them.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import replace

import pytest

from app.tools.registry import load_packs
from app.views.wording import PackTexts
from tests.conftest import REPO

REGISTRY = load_packs([])
TOOLS = re.compile("|".join(rf"\b{tool.spec.name}\b" for tool in REGISTRY.all()))
# The agent holds lists of ordinary words ("heart of gold"), so only labels as declared count there.
LABELS = {
    "agent": re.compile("|".join(rf"\b{re.escape(label)}\b" for label in REGISTRY.labels)),
    "views": re.compile("|".join((*REGISTRY.labels, r"\blungs?\b")), re.IGNORECASE),
}
SOURCES = sorted(
    path.relative_to(REPO).as_posix()
    for room in ("views", "agent")
    for path in (REPO / "app" / room).rglob("*.py")
)


def texts(tree: ast.Module) -> Iterator[str]:
    """Yield the texts of a module that are no docstrings."""
    statements = (node.value for node in ast.walk(tree) if isinstance(node, ast.Expr))
    docstrings = {id(value) for value in statements if isinstance(value, ast.Constant)}
    for node in ast.walk(tree):
        if not isinstance(node, ast.Constant) or id(node) in docstrings:
            continue
        if isinstance(node.value, str):
            yield node.value


@pytest.mark.parametrize("source", SOURCES)
def test_no_tool_of_a_pack_is_named(source: str):
    assert not TOOLS.search((REPO / source).read_text("utf-8"))


@pytest.mark.parametrize("source", SOURCES)
def test_no_organ_of_a_pack_is_named(source: str):
    tree = ast.parse((REPO / source).read_text("utf-8"))
    labels = LABELS[source.split("/")[1]]
    assert [text for text in texts(tree) if labels.search(text)] == []


def test_every_shipped_tool_has_a_title_and_an_icon():
    for tool in REGISTRY.all():
        assert tool.spec.title
        assert (REPO / "resources" / "icons" / f"{tool.spec.icon}.svg").is_file()


def test_the_pack_declares_which_structures_keep_their_colour():
    assert REGISTRY.labels[:3] == ("Right Lung", "Left Lung", "Heart")
    assert len(REGISTRY.labels) == 14


def test_the_window_titles_tools_as_their_packs_do_and_others_by_their_names():
    texts = PackTexts([tool.spec for tool in REGISTRY.all()], REGISTRY.plans)
    assert texts.title("cardiothoracic_ratio") == "Measure heart size"
    assert texts.icon("cardiothoracic_ratio") == "scan-search"
    assert (texts.title("export_report"), texts.icon("export_report")) == (
        "Export report",
        "wrench",
    )
    assert texts.title("") == "Tool"
    said = texts.with_titles("medgemma_qa crops; a_b and c/medgemma_qa", ("a_b", "crops"))
    assert said == "Ask MedGemma crops; A b and c/medgemma_qa"
    assert "medsam2_segment" in texts.marked_question
    assert PackTexts().suggestions == ()


def test_an_icon_that_does_not_exist_is_a_wrench():
    specs = [replace(REGISTRY.all()[0].spec, name=name, icon=icon) for name, icon in ICONS]
    assert {PackTexts(specs).icon(name) for name, _ in ICONS} == {"wrench"}


ICONS = (("a", "no-such-icon"), ("b", "../secret"), ("c", ""))
