"""What an MCP server offers: its tools as it describes them, and as they are shown and used.

All of it is written by the server, so it is data: measured, cleaned, and never trusted.
"""

from __future__ import annotations

import hashlib
import ipaddress
import json
import re
import unicodedata
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from app.settings import McpServer

MOST_TOOLS = 64
"""Most tools of one server."""
LARGEST_TOOL = 40_000
"""Most characters of a tool's description and schema."""
LONGEST_DESCRIPTION = 1_000
"""Most characters of a description that a language model reads."""
_LONGEST_NAME = 64  # of the endpoints of language models
_DEEPEST = 6
_MOST_PROPERTIES = 40
_MOST_PARTS = 300

ANALYZE: dict[str, Any] = {
    "name": "analyze_medical_document",
    "description": "Analyse the text of a medical document.",
    "inputSchema": {
        "type": "object",
        "properties": {
            "note_text": {"type": "string"},
            "analysis_type": {"type": "string", "enum": ["basic", "comprehensive"]},
        },
        "required": ["note_text"],
    },
}
"""The tool of a server that takes calls but lists no tools (document 003)."""


@dataclass(frozen=True, slots=True)
class OfferedTool:
    """A tool as its server describes it; `schema` is the JSON schema of its arguments."""

    name: str
    description: str
    schema: dict[str, Any]

    def to_json(self) -> dict[str, Any]:
        """Return the form in which it is kept; see `from_json`."""
        return {"name": self.name, "description": self.description, "schema": self.schema}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> OfferedTool:
        """Return the tool that `to_json` wrote; raises KeyError or TypeError otherwise."""
        return cls(str(data["name"]), str(data["description"]), dict(data["schema"]))

    @property
    def shown_schema(self) -> str:
        """The schema as text for the user, every invisible character written out."""
        return escaped(json.dumps(self.schema, ensure_ascii=False, indent=1, sort_keys=True))


@dataclass(frozen=True, slots=True)
class Listing:
    """What a server offers.

    Attributes:
        left_out: Why other tools cannot be used.
        digest: SHA-256 of names, descriptions and schemas of all tools, as the server sent them.
    """

    tools: tuple[OfferedTool, ...]
    left_out: tuple[str, ...]
    digest: str


def digest_of(raw: Sequence[Mapping[str, Any]]) -> str:
    """Return the SHA-256 of the tools, in whatever order they are listed."""
    named = ("name", "description", "inputSchema")
    tools = sorted(json.dumps({key: one.get(key) for key in named}, sort_keys=True) for one in raw)
    return hashlib.sha256("\n".join(tools).encode("utf-8", "surrogatepass")).hexdigest()


def identity(server: McpServer) -> str:
    """Return what a consent is for, besides the tools: the program or the address, as text."""
    return server.model_dump_json(exclude={"name"})


def place_of(server: McpServer) -> str:
    """Return where a server is, for the user: its command line, or its address."""
    if server.kind != "stdio":
        return escaped(server.url)
    words = (json.dumps(word) if re.search(r"[\s\"]", word) else word for word in server.args)
    return escaped(" ".join([server.command, *words]))


def tool_names(server: McpServer, tools: Sequence[OfferedTool]) -> dict[str, str]:
    """Return the assistant's names of a server's tools, by the server's names."""
    names: dict[str, str] = {}
    for tool in tools:
        plain = re.sub(r"[^a-z0-9]+", "_", tool.name.lower()).strip("_") or "tool"
        name = f"mcp_{server.name}_{plain}"[:_LONGEST_NAME]
        number = 2
        while name in names.values():
            name = f"{name[: _LONGEST_NAME - 3]}_{number}"
            number += 1
        names[tool.name] = name
    return names


def plain_line(text: str, most: int) -> str:
    """Return a text as one line without control and invisible characters, at most `most` long."""
    kept = "".join(sign if unicodedata.category(sign)[0] != "C" else " " for sign in text)
    line = " ".join(kept[: 4 * most].split())
    return line if len(line) <= most else f"{line[: most - 1]}…"


def escaped(text: str) -> str:
    """Return a text with invisible characters written as escapes; line breaks stay."""

    def shown(sign: str) -> str:
        hidden = sign not in "\n\t" and unicodedata.category(sign)[0] == "C"
        return f"\\u{ord(sign):04x}" if hidden else sign

    return "".join(map(shown, text))


def is_loopback(host: str) -> bool:
    """Return whether a host is this computer."""
    name = host.lower().rstrip(".").strip("[]")
    if name == "localhost":
        return True
    try:
        return ipaddress.ip_address(name).is_loopback
    except ValueError:
        return False


def plain_schema(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return a tool's schema in the few words that all language models understand.

    Types, descriptions (cleaned and cut), choices and required arguments stay. References are
    followed, at most `_DEEPEST` levels deep.
    """
    made = _plain(schema, schema, 0, [_MOST_PARTS])
    return {"type": "object", "properties": {}, **made, "additionalProperties": False}


def _plain(part: object, root: Mapping[str, Any], depth: int, left: list[int]) -> dict[str, Any]:
    left[0] -= 1  # a schema may refer to itself many times
    if not isinstance(part, Mapping) or depth > _DEEPEST or left[0] < 0:
        return {}
    table = _followed(cast("Mapping[str, Any]", part), root)
    made: dict[str, Any] = {}
    kind = table.get("type")
    if isinstance(kind, list):
        kind = next((one for one in cast("list[Any]", kind) if one != "null"), None)
    choices = table.get("anyOf") or table.get("oneOf")
    if kind is None and isinstance(choices, list):
        several = [_plain(one, root, depth + 1, left) for one in cast("list[Any]", choices)[:8]]
        several = [one for one in several if one.get("type") not in (None, "null")]
        if several:
            made |= several[0] if len(several) == 1 else {"anyOf": several}
    if kind in ("string", "integer", "number", "boolean", "array", "object", "null"):
        made["type"] = kind
    described = table.get("description")
    if isinstance(described, str) and described.strip():
        made["description"] = plain_line(described, 300)
    if isinstance(table.get("enum"), list):
        plain = [one for one in table["enum"] if isinstance(one, int | float | bool) or _short(one)]
        made["enum"] = plain[:50]
    properties = table.get("properties")
    if isinstance(properties, Mapping):
        named = list(cast("Mapping[Any, Any]", properties).items())[:_MOST_PROPERTIES]
        made["properties"] = {
            str(key): _plain(item, root, depth + 1, left) for key, item in named if _short(key)
        }
        required = table.get("required")
        if isinstance(required, list):
            names: Collection[str] = made["properties"]
            made["required"] = [one for one in cast("list[Any]", required) if one in names]
    if "items" in table:
        made["items"] = _plain(table["items"], root, depth + 1, left)
    return made


def _short(value: object) -> bool:
    """Return whether a value is a text short enough for a name or a choice, and visible."""
    return isinstance(value, str) and len(value) <= 100 and value == escaped(value)


def _followed(part: Mapping[str, Any], root: Mapping[str, Any]) -> Mapping[str, Any]:
    for _ in range(_DEEPEST):
        reference = part.get("$ref")
        if not isinstance(reference, str) or not reference.startswith("#/"):
            break
        found: Any = root
        for key in reference[2:].split("/"):
            found = (
                cast("Mapping[str, Any]", found).get(key) if isinstance(found, Mapping) else None
            )
        if not isinstance(found, Mapping):
            return {}
        part = cast("Mapping[str, Any]", found)
    return part
