"""Records made for the tools' tests, and running a tool on them."""

from __future__ import annotations

import base64
import importlib
import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from app.records.record_library import RecordLibrary
from app.tools.api import ToolContext, ToolResult
from app.tools.registry import load_packs
from tests.unit.records.record_files import BUNDLES, CATEGORY, LOINC, UCUM, coding
from tests.unit.tools.support import Bench

Json = dict[str, Any]
REGISTRY = load_packs([])


class InlineHost:
    """Runs the functions of the model process in this one."""

    def call(self, entry: str, payload: Any, **_: Any) -> dict[str, Any]:
        module, _colon, function = entry.partition(":")
        return getattr(importlib.import_module(module), function)(dict(payload))


class Charts:
    """Runs the record's tools on open records."""

    def __init__(self, folder: Path, library: RecordLibrary, patient: str = "") -> None:
        self.bench = Bench(folder, InlineHost())
        self.library = library
        self.patient = patient
        self.model: Any = None

    def context(self) -> ToolContext:
        return replace(
            self.bench.context(),
            records=self.library,
            record_patient=self.patient,
            model=self.model,
        )

    def run(self, tool: str, **arguments: Any) -> ToolResult:
        found = REGISTRY.get(tool)
        assert found is not None
        result = found.run(found.spec.Input.model_validate(arguments), self.context())
        found.spec.Output.model_validate(result.output)
        json.dumps([result.output, result.metadata])
        return result


def bundles(folder: Path = BUNDLES) -> Iterator[tuple[Json, list[Json]]]:
    """Yield the patient and all resources of each bundle, numbers as the texts they are written as.

    It walks the JSON without any code of the program.
    """
    for path in sorted(folder.glob("*.json")):
        bundle = json.loads(path.read_text("utf-8"), parse_float=str, parse_int=str)
        resources = [one["resource"] for one in bundle["entry"]]
        patient = next(one for one in resources if one["resourceType"] == "Patient")
        yield patient, resources


def of_type(resources: list[Json], kind: str, category: str = "") -> list[Json]:
    """Return the resources of a type, of Observations those of a category."""
    found = [one for one in resources if one["resourceType"] == kind]
    if not category:
        return found
    return [one for one in found if one["category"][0]["coding"][0]["code"] == category]


def ids(resources: list[Json]) -> set[str]:
    """Return the ids of entries."""
    return {f"{one['resourceType']}/{one['id']}" for one in resources}


def patient(own: str = "p1", **more: Any) -> Json:
    """Return a Patient."""
    return {
        "resourceType": "Patient",
        "id": own,
        "name": [{"family": "Okafor", "given": ["John"]}],
        "gender": "male",
        "birthDate": "1950-06-15",
        **more,
    }


def lab(own: str, loinc: str, name: str, value: str, unit: str, day: str, **more: Any) -> Json:
    """Return a laboratory Observation; the value is a number as it is to be written."""
    return observation("laboratory", own, loinc, name, value, unit, day, **more)


def observation(
    category: str, own: str, loinc: str, name: str, value: str, unit: str, day: str, **more: Any
) -> Json:
    """Return an Observation of a category."""
    return {
        "resourceType": "Observation",
        "id": own,
        "status": "final",
        "category": [{"coding": [{"system": CATEGORY, "code": category}]}],
        "code": coding(LOINC, loinc, name),
        "effectiveDateTime": day,
        "valueQuantity": {"value": float(value), "unit": unit, "system": UCUM, "code": unit},
        **more,
    }


def note(own: str, loinc: str, name: str, text: str, day: str) -> Json:
    """Return a DocumentReference with its text in base64."""
    data = base64.b64encode(text.encode()).decode()
    return {
        "resourceType": "DocumentReference",
        "id": own,
        "status": "current",
        "type": coding(LOINC, loinc, name),
        "date": f"{day}T08:00:00Z",
        "content": [{"attachment": {"contentType": "text/plain", "data": data}}],
    }


def write(folder: Path, *resources: Json, own: str = "p1", **more: Any) -> Path:
    """Write a bundle of a patient and their resources, and return its path."""
    subject = {"reference": f"Patient/{own}"}
    entries = [{"resource": patient(own, **more)}]
    for one in resources:
        named_so = ("AllergyIntolerance", "Immunization")
        key = "patient" if one["resourceType"] in named_so else "subject"
        entries.append({"resource": {**one, key: subject}})
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{own}.json"
    bundle = {"resourceType": "Bundle", "type": "collection", "entry": entries}
    path.write_text(json.dumps(bundle), "utf-8")
    return path
