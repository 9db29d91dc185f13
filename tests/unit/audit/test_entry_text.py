"""What the log's lines say to people: of every action that the program records."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from app.audit import Entry, entry_text

TIME = "2026-11-21T16:51:31.038+00:00"


def said(action: str, **facts: Any) -> str:
    return entry_text.line_text(Entry(1, TIME, action, facts))


@pytest.mark.parametrize(
    ("action", "facts", "text"),
    [
        ("tool_started", {"tool": "seg", "effect": "compute"}, "Tool called: seg (compute)"),
        ("tool_finished", {"tool": "seg", "status": "ok"}, "Tool ended: seg  [done]"),
        ("tool_finished", {"tool": "seg", "status": "cancelled"}, "Tool ended: seg  [stopped]"),
        (
            "approval_asked",
            {"about": "risky_pictures", "host": "h", "pictures": ["a", "b"]},
            "Permission asked: may pictures with possible burnt-in text be sent: h, 2 pictures",
        ),
        (
            "approval_answered",
            {"about": "tool", "tool": "save", "granted": True, "scope": "session"},
            "Answered: may this tool run: save, for this conversation  [allowed]",
        ),
        ("approval_answered", {"granted": False}, "Answered  [not allowed]"),
        ("data_sent", {"host": "h", "characters": 3}, "Sent: 3 characters to h"),
        ("endpoint_tried", {"host": "h"}, "Connection tried: a test sentence or none to h"),
        ("exported", {"what": "picture", "form": "png"}, "Exported: picture, png"),
        ("images_read", {"images": ["a"]}, "Images read: 1 image"),
        ("consent_withdrawn", {"host": "h"}, "Consent withdrawn: h"),
        ("mcp_allowed", {"server": "lab"}, "Tools of an MCP server allowed: lab"),
        (
            "findings_decided",
            {"state": "rejected", "ids": ["a", "b"], "count": 2},
            "Findings reviewed: 2 rejected",
        ),
        ("grants_withdrawn", {"tool": ""}, "Permission withdrawn: every tool"),
        ("session_rule", {"tool": "every tool", "rule": "ask"}, "every tool: ask"),
        (
            "settings_changed",
            {"changed": ["policy.tools.x"], "rules": {"tools.x": "deny"}},
            "Settings changed: changed policy.tools.x, rules tools.x deny",
        ),
        ("run_finished", {}, "Question answered"),
        ("segment", {"why": "begun"}, "File started: the log begins"),
        ("segment", {"why": "head lost"}, "File started: the one before: head lost  [damaged]"),
        ("run_started", {"model": "m", "open_images": 2}, "model m, 2 open images"),
    ],
)
def test_a_line_says_what_was_done_in_plain_words(action: str, facts: dict[str, Any], text: str):
    assert said(action, **facts).startswith("2026-11-21 16:51:31  ")
    assert said(action, **facts).endswith(text)


def test_every_action_that_the_program_records_has_words(repo: Path):
    recorded: set[str] = set()
    for path in (repo / "app").rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        recorded |= set(re.findall(r'(?:\brecord|\bnote|\.append)\(\s*"([a-z_]+)", ', text))
        recorded |= set(re.findall(r'note\(self?\.?\w*\.?audit, "([a-z_]+)"', text))
    recorded |= set(
        re.findall(r'yield "([a-z_]+)"', (repo / "app/agent/loop/audit_trail.py").read_text())
    )
    assert {"tool_started", "data_sent", "exported", "consent_withdrawn"} <= recorded
    assert not {each for each in recorded if entry_text.action_text(Entry(1, "", each, {})) == each}
