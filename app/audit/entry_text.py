"""The text of an audit entry for people: kind, action, object, outcome."""

from __future__ import annotations

from typing import Any

from app.audit.entries import Entry
from app.paths import shipped_table

KINDS = ("Tools", "Approvals", "Sent", "Exports", "Settings", "Runs", "Log")
"""The kinds of entries by which a list can be filtered."""

_ACTIONS: dict[str, list[str]] = shipped_table("audit", "actions")
_ABOUT = {
    "tool": "may this tool run",
    "override": "may an unsuitable image be used",
    "conversation": "may the conversation be sent",
    "record": "may the patient's record be sent",
    "pictures": "may pictures be sent",
    "risky_pictures": "may pictures with possible burnt-in text be sent",
}
_OUTCOMES = {
    "ok": "done",
    "failed": "failed",
    "cancelled": "stopped",
    "not_run": "not run",
    "granted": "allowed",
    "refused": "not allowed",
    "damaged": "damaged",
}


def entry_kind(entry: Entry) -> str:
    """Return the kind of an entry, one of `KINDS`, such as "Tools" or "Exports"."""
    return _ACTIONS.get(entry.action, ("Log", ""))[0]


def action_text(entry: Entry) -> str:
    """Return the action in words, e.g. "Tool called"."""
    return _ACTIONS.get(entry.action, ("", entry.action))[1]


def object_text(entry: Entry) -> str:
    """Return the object of the action in words, e.g. the tool, the host or the number of images."""
    facts = entry.facts
    match entry.action:
        case "tool_started" | "tool_finished" | "tool_replayed":
            effect = facts.get("effect")
            parts = [str(facts.get("tool", "")), f"({effect})" if effect else ""]
            return _joined(" ".join(part for part in parts if part), _images(facts))
        case "approval_asked":
            return _joined(_subject(facts), _images(facts))
        case "approval_answered":
            whole = facts.get("scope") == "session"
            hosts = ", ".join(map(str, facts.get("hosts", ())))
            to = f"to {hosts}" if hosts else ""
            return _joined(
                _subject(facts), _images(facts), to, "for this conversation" if whole else ""
            )
        case "data_sent":
            sent = f"{facts.get('characters', 0)} characters to {facts.get('host', '')}"
            return _joined(sent, _images(facts), str(facts.get("model", "")))
        case "endpoint_tried":
            return f"a test sentence or none to {facts.get('host', '')}"
        case "export_started" | "exported" | "copied":
            return _joined(str(facts.get("what", "")), str(facts.get("form", "")))
        case "consent_withdrawn" | "record_asked":
            return str(facts.get("host", ""))
        case "mcp_allowed" | "mcp_withdrawn":
            return str(facts.get("server", ""))
        case "grants_withdrawn":
            return str(facts.get("tool", "")) or "every tool"
        case "session_rule":
            return f"{facts.get('tool', '')}: {facts.get('rule', '')}"
        case "findings_decided":
            return f"{facts.get('count')} {facts.get('state')}"
        case "images_read":
            return _images(facts)
        case "segment":
            return {"begun": "the log begins", "full": "the one before was full"}.get(
                str(facts.get("why")), f"the one before: {facts.get('why')}"
            )
        case "run_started":
            count = facts.get("open_images")
            held = f"{count} open image{'' if count == 1 else 's'}" if count is not None else ""
            return _joined(_fact("model", facts.get("model", "")), held)
        case _:
            return _joined(*(_fact(key, facts[key]) for key in facts if key not in _NAMES))


def outcome_text(entry: Entry) -> str:
    """Return the outcome in words, e.g. "failed"; "" if the entry has none."""
    facts = entry.facts
    if entry.action == "approval_answered":
        return _OUTCOMES["granted" if facts.get("granted") else "refused"]
    if entry.action == "segment" and facts.get("why") not in ("begun", "full"):
        return _OUTCOMES["damaged"]
    status = str(facts.get("status", ""))
    return _OUTCOMES.get(status, status)


def line_text(entry: Entry) -> str:
    """Return an entry as one line: time, action, object, outcome."""
    outcome, what = outcome_text(entry), object_text(entry)
    text = f"{entry.time[:19].replace('T', ' ')}  {action_text(entry)}{f': {what}' if what else ''}"
    return f"{text}  [{outcome}]" if outcome else text


_NAMES = ("run", "thread", "call", "approval", "images", "pictures", "status")


def _subject(facts: Any) -> str:
    about = str(facts.get("about", ""))
    subject = facts.get("tool") or facts.get("host") or ""
    return f"{_ABOUT.get(about, about)}: {subject}" if about else ""


def _images(facts: Any) -> str:
    count = len(facts.get("pictures") or facts.get("images") or ())
    what = "picture" if facts.get("pictures") else "image"
    return f"{count} {what}{'' if count == 1 else 's'}" if count else ""


def _fact(key: str, value: Any) -> str:
    if isinstance(value, list | tuple):
        value = ", ".join(map(str, value))  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]
    elif isinstance(value, dict):
        value = ", ".join(f"{name} {rule}" for name, rule in value.items())  # pyright: ignore[reportUnknownVariableType]
    return f"{key.replace('_', ' ')} {value}" if value not in ("", None) else ""


def _joined(*parts: str) -> str:
    return ", ".join(part for part in parts if part)
