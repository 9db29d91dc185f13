"""Parts of FHIR resources: lists, concepts, quantities and the values of observations, as texts."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any, cast

from app.records.fhir_json import NumberText
from app.records.types import UCUM

Json = dict[str, Any]


def as_list(value: Any) -> list[Any]:
    """Return a list as it is, nothing as [], anything else in a list."""
    if value is None:
        return []
    return cast("list[Any]", value) if isinstance(value, list) else [value]


def objects(value: Any) -> list[Json]:
    """Return the JSON objects of a value that is one, or a list of them."""
    return [cast("Json", one) for one in as_list(value) if isinstance(one, dict)]


def unique(texts: Iterable[str]) -> list[str]:
    """Return the texts that are not empty, each once, in their order."""
    return list(dict.fromkeys(text for text in texts if text))


def joined(texts: Iterable[str]) -> str:
    """Return the texts that are not empty, each once, with commas between."""
    return ", ".join(unique(texts))


def concept_text(concept: Any) -> str:
    """Return a CodeableConcept's text, else its first display, else its first code."""
    if not isinstance(concept, dict):
        return ""
    found = cast("Json", concept)
    codes = codings(found)
    texts = [found.get("text"), *(one.get("display") for one in codes)]
    texts += [one.get("code") for one in codes]
    return next((one for one in texts if isinstance(one, str) and one), "")


def concept_code(concept: Any) -> str:
    """Return a CodeableConcept's first code, else its text."""
    if not isinstance(concept, dict):
        return ""
    found = cast("Json", concept)
    return next((str(one["code"]) for one in codings(found) if one.get("code")), "") or (
        concept_text(found)
    )


def codings(concept: Json) -> list[Json]:
    """Return the codings of a CodeableConcept, or a Coding itself."""
    if "coding" in concept:
        return objects(concept["coding"])
    return [concept] if isinstance(concept.get("code"), str) else []


def plain(value: Any) -> str:
    """Return a FHIR primitive as the file writes it."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    return value.text if isinstance(value, NumberText) else str(value)


def unit_of(quantity: Any) -> str:
    """Return the UCUM code of a quantity's unit, else its text; "" for none."""
    if not isinstance(quantity, dict):
        return ""
    found = cast("Json", quantity)
    if found.get("system") == UCUM and found.get("code"):
        return str(found["code"])
    return str(found.get("unit", "") or found.get("code", "") or found.get("currency", ""))


def number_of(quantity: Any) -> float | None:
    """Return a quantity's number, None if it has none that a float can hold."""
    if not isinstance(quantity, dict):
        return None
    value = cast("Json", quantity).get("value")
    if value is None or isinstance(value, bool):
        return None
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        return None
    return number if math.isfinite(number) else None


def value_fields(resource: Mapping[str, Any]) -> list[Any] | None:
    """Return the fields of an Observation's or component's `Value`, or None."""
    ranges = objects(resource.get("referenceRange"))
    found: list[Any] | None = None
    for name, value in resource.items():
        if not name.startswith("value") or name == "value":
            continue
        found = value_parts(name, value)
        if found is not None:
            break
    if found is None:
        return None
    for one in ranges:
        low, high = one.get("low"), one.get("high")
        units = {unit_of(limit) for limit in (low, high) if isinstance(limit, dict)}
        if units <= {found[2]} or units == {""}:
            found[4:6] = [number_of(low), number_of(high)]
            break
    return found


def value_parts(name: str, value: Any) -> list[Any] | None:
    """Return the parts of a value by the name of its type ("valueQuantity"); see `value_fields`."""
    number: float | None = None
    text, unit, comparator = "", "", ""
    if name in ("valueQuantity", "valueMoney", "valueAge", "valueDuration"):
        text, unit = plain(value.get("value")), unit_of(value)
        number, comparator = number_of(value), str(value.get("comparator", ""))
    elif name == "valueCodeableConcept":
        text = concept_text(value)
    elif name == "valueInteger":
        number, text = float(value), plain(value)
    elif name == "valueRange":
        low, high = value.get("low") or {}, value.get("high") or {}
        text, unit = f"{plain(low.get('value'))} - {plain(high.get('value'))}", unit_of(low or high)
    elif name == "valueRatio":
        parts = [value.get("numerator") or {}, value.get("denominator") or {}]
        text = " / ".join(
            f"{one.get('comparator', '')}{plain(one.get('value'))} {unit_of(one)}".strip()
            for one in parts
        )
    elif name == "valuePeriod":
        text = f"{value.get('start', '')} - {value.get('end', '')}"
    elif name == "valueSampledData":
        text = str(value.get("data", ""))
    elif isinstance(value, str | bool | int | NumberText):
        text = plain(value)
    else:
        return None
    return [number, text, unit, comparator, None, None]
