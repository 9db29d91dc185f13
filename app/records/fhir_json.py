"""The JSON of FHIR files: bytes to resources, with numbers as they are written.

Damaged text must not cost more than itself: a line of NDJSON, or a resource of a bundle.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import Any

TWICE = "\x00twice"
"""Key in an object that has a key more than once; its value is that key. FHIR allows no such key,
so the library refuses the resource."""

_MAX_NESTED_BUNDLES = 4
_MAX_EXPONENT = 400
"""A float has 308."""


class NumberText(Decimal):
    """A decimal number that keeps its text as the file writes it, in `text`."""

    text: str

    def __new__(cls, text: str) -> NumberText:
        """Return the number; one that no measured value can have (1e999999999) is NaN.

        As a whole number it would have as many digits as its exponent says, and take minutes.
        """
        try:
            made = super().__new__(cls, text)
        except InvalidOperation:
            made = super().__new__(cls, "NaN")
        if made and abs(made.adjusted()) > _MAX_EXPONENT:
            made = super().__new__(cls, "NaN")
        made.text = text
        return made


class NotJsonError(Exception):
    """The text is no JSON; the message says why and where, without quoting it."""


@dataclass(frozen=True, slots=True)
class FoundResource:
    """One resource of a file.

    Attributes:
        place: Where it is, for people: "entry 3", "line 17", "" for a file that is the resource.
        url: Its `fullUrl` in a bundle, else "".
        resource: Its JSON, {} if there is none.
        problem: Why it cannot be used, "" if nothing is known against it.
    """

    place: str
    url: str
    resource: dict[str, Any]
    problem: str = ""


def parse_json(data: bytes) -> Any:
    """Return the value of a JSON text in UTF-8 (or UTF-16 or UTF-32 with a byte order mark).

    Numbers with a point or exponent are `NumberText`; whole numbers with over 18 digits, too.
    Constants that JSON does not have (NaN, Infinity) become an object that no FHIR field accepts.

    Raises:
        NotJsonError: It is no JSON, is nested too deeply, or is not in UTF-8.
    """
    try:
        text = data.decode(json.detect_encoding(data))
    except UnicodeDecodeError as error:
        raise NotJsonError(f"it is no text in UTF-8 (byte {error.start})") from None
    try:
        return json.loads(
            text.removeprefix("\ufeff"),
            parse_float=NumberText,
            parse_int=_whole,
            parse_constant=_no_number,
            object_pairs_hook=_object,
        )
    except json.JSONDecodeError as error:
        at = f"line {error.lineno}, column {error.colno}"
        cut = error.pos >= len(text.rstrip()) - 1 or error.msg.startswith("Unterminated")
        why = "the text breaks off" if cut else error.msg[:1].lower() + error.msg[1:]
        raise NotJsonError(f"it is no valid JSON: {why} ({at})") from None
    except RecursionError:
        raise NotJsonError("it is nested too deeply") from None


def _whole(text: str) -> int | NumberText:
    return int(text) if len(text) <= 18 else NumberText(text)


def _no_number(name: str) -> Any:
    del name
    return object()


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) != len(pairs):
        seen: set[str] = set()
        for key, _ in pairs:
            if key in seen:
                made[TWICE] = key
            seen.add(key)
    return made


def resources_of(value: Any, place: str = "", depth: int = 0) -> list[FoundResource]:
    """Return the resources of a JSON value: those of a bundle's entries, or the value itself.

    Every entry gives at least one `FoundResource`, if need be with a problem.
    """
    if not isinstance(value, dict):
        return [FoundResource(place, "", {}, "it is no FHIR resource: no JSON object")]
    kind = value.get("resourceType")
    if not isinstance(kind, str) or not kind:
        return [FoundResource(place, "", {}, "it is no FHIR resource: it has no resourceType")]
    if kind != "Bundle":
        return [FoundResource(place, "", value)]
    if TWICE in value:
        why = f"the bundle has the key {value[TWICE]!r} twice"
        return [FoundResource(place, "", {}, why)]
    if depth > _MAX_NESTED_BUNDLES:
        return [FoundResource(place, "", {}, "bundles are nested too deeply")]
    entries = value.get("entry", [])
    if not isinstance(entries, list):
        return [FoundResource(place, "", {}, "the bundle's entries are no list")]
    found: list[FoundResource] = []
    for number, entry in enumerate(entries, start=1):
        where = f"{place}, entry {number}" if place else f"entry {number}"
        found += _of_entry(entry, where, depth)
    return found


def _of_entry(entry: Any, place: str, depth: int) -> list[FoundResource]:
    if not isinstance(entry, dict):
        return [FoundResource(place, "", {}, "the entry is no JSON object")]
    if TWICE in entry:
        return [FoundResource(place, "", {}, f"the entry has the key {entry[TWICE]!r} twice")]
    resource = entry.get("resource")
    url = entry.get("fullUrl", "")
    if resource is None:
        return [FoundResource(place, "", {}, _why_empty(entry))]
    found = resources_of(resource, place, depth + 1)
    if len(found) == 1 and found[0].resource is resource and isinstance(url, str):
        return [FoundResource(place, url, resource, found[0].problem)]
    return found


def _why_empty(entry: dict[str, Any]) -> str:
    request = entry.get("request")
    if isinstance(request, dict) and request.get("method") == "DELETE":
        return "the entry says that a resource was deleted"
    return "the entry has no resource"
