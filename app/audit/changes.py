"""What the audit log is told of changed settings."""

from __future__ import annotations

from typing import Any, cast
from urllib.parse import urlsplit

from app.settings import Settings

_LONGEST = 120
_MOST = 30


def settings_facts(before: Settings, after: Settings) -> dict[str, Any]:
    """Which settings changed; of the model its name and host, of the policy the rules.

    Never a path or a whole address, which may hold a name or a key.
    """
    old, new = _flat(before.model_dump()), _flat(after.model_dump())
    changed = sorted(key for key in old.keys() | new.keys() if old.get(key) != new.get(key))
    facts: dict[str, Any] = {"changed": changed[:_MOST]}
    if any(key.startswith("llm.") for key in changed):
        fields = after.llm.of(after.llm.kind)
        facts["model"] = f"{after.llm.kind} {fields.model}".strip()[:_LONGEST]
        facts["host"] = host_in(fields.base_url) if after.llm.kind != "local" else ""
    rules = [key for key in changed if key.startswith("policy.")]
    if rules:
        facts["rules"] = {key[7:]: _rule(key, new) for key in rules[:_MOST]}
    limits = [key for key in changed if key.startswith("limits.")]
    if limits:
        facts["limits"] = {key[7:]: new.get(key) for key in limits}
    return facts


def _rule(key: str, new: dict[str, Any]) -> str:
    if key.startswith("policy.folders."):
        return "(not written here)"  # paths may hold a name
    return str(new.get(key, "(none)"))[:_LONGEST]


def _flat(value: dict[str, Any], before: str = "") -> dict[str, Any]:
    """`{"a": {"b": 1}}` as `{"a.b": 1}`."""
    flat: dict[str, Any] = {}
    for key, item in value.items():
        name = f"{before}{key}"
        if isinstance(item, dict):
            flat |= _flat(cast("dict[str, Any]", item), f"{name}.")
        else:
            flat[name] = item
    return flat


def host_in(url: str) -> str:
    """Host and port of an address, without a name, key or path in it."""
    try:
        parts = urlsplit(url)
        port = f":{parts.port}" if parts.port else ""
    except ValueError:
        return ""
    return f"{parts.hostname or ''}{port}"[:_LONGEST]
