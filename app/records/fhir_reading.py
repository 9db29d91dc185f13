"""Reading of one FHIR file in a worker process: entry point `read_entry`.

The library (fhir.resources, R4B) checks each resource. What it refuses is a problem with place and
reason; everything else of the file is kept.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import zlib
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Any, BinaryIO, cast

import numpy as np
from fhir.resources.R4B import get_fhir_model_class
from numpy.typing import NDArray
from pydantic import ValidationError

from app.records.fhir_entries import codes_of, entry_fields, shared_label, subject_of
from app.records.fhir_fields import objects
from app.records.fhir_json import TWICE, FoundResource, NotJsonError, parse_json, resources_of
from app.records.fhir_patients import patient_fields
from app.records.fhir_texts import attachment_text
from app.records.types import MAX_JSON_BYTES

MAX_LINE_BYTES = 64 * 2**20
CHUNK_LINES = 5_000
"""Lines of NDJSON that one call reads."""
_CHUNK_BYTES = 64 * 2**20
_MAX_UNPACKED_BYTES = 8 * 2**30

_LINES = (".ndjson", ".jsonl")
_ZIP = "it is a ZIP archive: unpack it, and open the folder"
_XML = "it is XML; only the JSON form of FHIR is read: ask for a JSON export"


class UnreadableError(Exception):
    """The file as a whole cannot be read; the message says why."""


def read_entry(payload: dict[str, Any]) -> dict[str, Any]:
    """Read a file, or the next `CHUNK_LINES` lines of an NDJSON file.

    Args:
        payload: "path", and for NDJSON "skip" (bytes already read) and "line" (lines before).

    Returns:
        "resources": lines of JSON as bytes, each what `read_resource` returns;
        "problems": the same, each (place, reason) of one resource that is not there;
        "skip" and "line" for the next call, "skip" -1 if there is no more.
    """
    path = Path(payload["path"])
    name = path.name.lower().removesuffix(".gz")
    resources: list[dict[str, Any]] = []
    problems: list[tuple[str, str]] = []
    skip, line = -1, 0
    try:
        with _opened(path) as file:
            if name.endswith(_LINES):
                found, skip, line = _lines(file, int(payload["skip"]), int(payload["line"]))
            else:
                found = _whole(file)
            for one in found:
                _take(one, resources, problems)
    except UnreadableError as error:
        problems.append(("", str(error)))
    except (OSError, EOFError, zlib.error) as error:
        problems.append(("", _why_not(error)))
    return {
        "resources": _lines_of_json(resources),
        "problems": _lines_of_json(problems),
        "skip": skip,
        "line": line,
    }


def _lines_of_json(values: Iterable[Any]) -> NDArray[np.uint8]:
    """Return values as bytes, a line of JSON each.

    An array has no limit of size on the pipe, and the window reads it line by line: one long text
    would hold up all of its threads while it is parsed.
    """
    lines = (json.dumps(value, separators=(",", ":")) for value in values)
    return np.frombuffer("\n".join(lines).encode("ascii"), np.uint8)


def _opened(path: Path) -> BinaryIO:
    packed = path.name.lower().endswith(".gz")
    return cast("BinaryIO", gzip.open(path, "rb")) if packed else path.open("rb")


def _why_not(error: Exception) -> str:
    if isinstance(error, EOFError):
        return "the gzip file breaks off"
    if isinstance(error, gzip.BadGzipFile | zlib.error):
        return "it is no intact gzip file"
    text = cast("OSError", error).strerror
    return f"it cannot be opened: {text or type(error).__name__}"


def _whole(file: BinaryIO) -> Iterator[FoundResource]:
    data = file.read(MAX_JSON_BYTES + 1)
    if len(data) > MAX_JSON_BYTES:
        raise UnreadableError(
            f"it has over {MAX_JSON_BYTES >> 20} MiB of text, the most that is read of one JSON "
            "value: ask for NDJSON"
        )
    start = data[:256].lstrip(b"\xef\xbb\xbf \t\r\n")
    if not data.strip():
        raise UnreadableError("it is empty")
    if start.startswith(b"<"):
        raise UnreadableError(_XML)
    if start.startswith(b"PK\x03\x04"):
        raise UnreadableError(_ZIP)
    try:
        value = parse_json(data)
    except NotJsonError as error:
        # An NDJSON file may have any name.
        first = data.partition(b"\n")[0].strip()
        if first.startswith(b"{") and first.endswith(b"}") and data.count(b"\n") > 0:
            yield from _of_lines(data, error)
            return
        raise UnreadableError(str(error)) from None
    values: list[Any] = cast("list[Any]", value) if isinstance(value, list) else [value]
    if not values:
        raise UnreadableError("it is an empty list")
    for number, one in enumerate(values, start=1):
        yield from resources_of(one, f"item {number}" if isinstance(value, list) else "")


def _of_lines(data: bytes, error: NotJsonError) -> Iterator[FoundResource]:
    lines = data.splitlines()
    try:
        parse_json(lines[0])
    except NotJsonError:
        raise UnreadableError(str(error)) from None
    for number, text in enumerate(lines, start=1):
        if text.strip():
            yield from _of_line(text, number)


def _lines(file: BinaryIO, skip: int, line: int) -> tuple[list[FoundResource], int, int]:
    """Return the resources of the next lines, and where the next call begins (or -1)."""
    if skip:
        if skip > _MAX_UNPACKED_BYTES:
            raise UnreadableError(f"it has over {_MAX_UNPACKED_BYTES >> 30} GiB of text")
        file.seek(skip)
    found: list[FoundResource] = []
    taken = 0
    written = 0
    while written < CHUNK_LINES:
        text = file.readline(MAX_LINE_BYTES + 1)
        if not text:
            if not skip and not taken:
                raise UnreadableError("it is empty")
            return found, -1, line
        line += 1
        taken += len(text)
        if len(text) > MAX_LINE_BYTES:
            why = f"the line has over {MAX_LINE_BYTES >> 20} MiB; what follows is not read"
            return [*found, FoundResource(f"line {line}", "", {}, why)], -1, line
        if text.strip():
            written += 1
            found += _of_line(text, line)
        if taken > _CHUNK_BYTES:
            break
    return found, skip + taken, line


def _of_line(text: bytes, line: int) -> list[FoundResource]:
    place = f"line {line}"
    try:
        value = parse_json(text.strip())
    except NotJsonError as error:
        why = str(error)
        if text.lstrip().startswith(b"<"):
            why = _XML
        return [FoundResource(place, "", {}, why.replace("line 1, ", ""))]
    return resources_of(value, place)


def _take(
    found: FoundResource, resources: list[dict[str, Any]], problems: list[tuple[str, str]]
) -> None:
    try:
        problem = found.problem or _refusal(found.resource)
        if not problem:
            kept = read_resource(found)
            json.dumps(kept, ensure_ascii=False).encode()  # as the index will
            resources.append(kept)
            return
    except UnicodeEncodeError:
        problem = "it has halves of characters, which are no Unicode text"
    except Exception as error:  # an odd form that the library lets pass: told, never dropped
        problem = f"it cannot be understood ({type(error).__name__})"
    kind = found.resource.get("resourceType")
    name = kind if isinstance(kind, str) and kind.isascii() and kind.isalpha() else ""
    problems.append((" ".join(filter(None, (found.place, name[:40]))), problem))


def _refusal(resource: dict[str, Any]) -> str:
    """Return why a resource is not used, "" if nothing is wrong with it."""
    kind = str(resource["resourceType"])
    if kind == "OperationOutcome":
        return f"the server reports: {_outcome(resource)}"
    model = _model(kind)
    if model is None:
        return "FHIR R4 has no such resource type"
    try:
        model.model_validate(resource)
    except ValidationError as error:
        return _first_error(error)
    except RecursionError:
        return "it is nested too deeply"
    except Exception as error:  # the library raises many types on values it does not expect
        return f"the FHIR library refuses it ({type(error).__name__})"
    return ""


@cache
def _model(kind: str) -> Any:
    try:
        return get_fhir_model_class(kind)
    except Exception:  # it raises several types, of a name that is no module's too
        return None


def _first_error(error: ValidationError) -> str:
    errors = error.errors(include_url=False, include_context=False)
    if not errors:
        return "it breaks the rules of FHIR"
    first = errors[0]
    if first["loc"] and first["loc"][-1] == TWICE:
        return f"it has the key {first.get('input')!r} twice"
    where = ".".join(str(part + 1 if isinstance(part, int) else part) for part in first["loc"])
    text = f"it breaks the rules of FHIR: {first['msg'][:200]}"
    more = f", and {len(errors) - 1} more" if len(errors) > 1 else ""
    return f"{text} ({where}{more})" if where else f"{text}{more}"


def _outcome(resource: dict[str, Any]) -> str:
    for issue in resource.get("issue") or ():
        if isinstance(issue, dict):
            told = cast("dict[str, Any]", issue)
            text = told.get("diagnostics") or told.get("code")
            if isinstance(text, str):
                return text[:200]
    return "no reason"


def read_resource(found: FoundResource) -> dict[str, Any]:
    """Return what is kept of a checked resource, as JSON values.

    "type", "id", "url" (`fullUrl`), "place", "digest" (of its content), "updated", "role"
    ("patient", "entry" or "shared"), "subject" (reference) and "fields"; of a shared resource
    "fields" has "label", "codes" and, of a Binary, "text".
    """
    resource = found.resource
    kind = str(resource["resourceType"])
    meta = resource.get("meta")
    kept: dict[str, Any] = {
        "type": kind,
        "id": str(resource.get("id", "")),
        "url": found.url,
        "place": found.place,
        "digest": _digest(resource),
        "updated": str(cast("dict[str, Any]", meta).get("lastUpdated", ""))
        if isinstance(meta, dict)
        else "",
        "subject": "",
    }
    if kind == "Patient":
        kept |= {"role": "patient", "fields": patient_fields(resource)}
        kept["identifiers"] = kept["fields"]["identifiers"]
        return kept
    kept["subject"] = subject_of(resource)
    kept["identifiers"] = [
        [str(one.get("system", "")), str(one["value"])]
        for one in objects(resource.get("identifier"))
        if one.get("value")
    ]
    if kept["subject"]:
        return kept | {"role": "entry", "fields": entry_fields(resource)}
    shared: dict[str, Any] = {"label": shared_label(resource), "codes": codes_of(resource)}
    if kind == "Binary" and resource.get("data"):
        shared["text"] = attachment_text(str(resource["data"]), str(resource["contentType"]))
    return kept | {"role": "shared", "fields": shared}


def _digest(resource: dict[str, Any]) -> str:
    """Return a hash of what the resource says; its version and narrative do not count."""
    said = {key: value for key, value in resource.items() if key not in ("meta", "text")}
    text = json.dumps(said, sort_keys=True, default=str, separators=(",", ":"))
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=12).hexdigest()
