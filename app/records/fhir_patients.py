"""The Patient resource: names, identifiers, and what else says who somebody is."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from app.records.fhir_fields import Json, as_list, codings, concept_text, objects, plain, unique


def patient_fields(resource: Json) -> Json:
    """Return the fields of a `Patient` as JSON values."""
    names = objects(resource.get("name"))
    identifiers = [
        [str(one.get("system", "")), str(one["value"])]
        for one in objects(resource.get("identifier"))
        if one.get("value")
    ]
    deceased = resource.get("deceasedDateTime", "")
    if resource.get("deceasedBoolean") is True:
        deceased = deceased or "true"
    return {
        "name": human_name(names),
        "identifiers": identifiers,
        "birth_date": str(resource.get("birthDate", "")),
        "gender": str(resource.get("gender", "")),
        "deceased": str(deceased),
        "civil": [
            str(one["value"])
            for one in objects(resource.get("identifier"))
            if one.get("value") and _is_civil(one)
        ],
        "names": unique(part for one in names for part in _name_parts(one)),
        "private": unique(_private(resource)),
        "details": {key: text for key, text in _patient_details(resource).items() if text},
    }


_CIVIL = frozenset(("DL", "PPN", "SS", "SB", "NIIP", "TAX"))
"""Types of identifiers that no hospital gives: driver's licence, passport, social security, ...
(HL7 table 0203)."""


def _is_civil(identifier: Json) -> bool:
    types = objects(identifier.get("type"))
    return any(code.get("code") in _CIVIL for one in types for code in codings(one))


def human_name(names: Sequence[Json]) -> str:
    """Return the name that people use of a list of FHIR HumanNames: "Louis Erdman"."""
    order = {"official": 0, "usual": 1, "": 2, "nickname": 4, "anonymous": 5, "maiden": 6, "old": 7}
    chosen = min(names, key=lambda one: order.get(str(one.get("use", "")), 3), default=None)
    if chosen is None:
        return ""
    parts = [*map(str, as_list(chosen.get("given"))), str(chosen.get("family", ""))]
    return " ".join(filter(None, parts)) or str(chosen.get("text", ""))


def _name_parts(name: Json) -> Iterable[str]:
    yield str(name.get("text", ""))
    yield str(name.get("family", ""))
    yield from map(str, as_list(name.get("given")))
    yield human_name([name])


_PRIVATE_EXTENSIONS = ("mothersMaidenName", "birthPlace")


def _private(resource: Json) -> Iterable[str]:
    for place in objects(resource.get("address")):
        yield from _address_parts(place)
    for contact in objects(resource.get("telecom")):
        yield str(contact.get("value", ""))
    for relative in objects(resource.get("contact")):
        for name in objects(relative.get("name")):
            yield from _name_parts(name)
        for place in objects(relative.get("address")):
            yield from _address_parts(place)
        for contact in objects(relative.get("telecom")):
            yield str(contact.get("value", ""))
    for extension in objects(resource.get("extension")):
        if str(extension.get("url", "")).endswith(_PRIVATE_EXTENSIONS):
            yield str(extension.get("valueString", ""))
            for place in objects(extension.get("valueAddress")):
                yield from _address_parts(place)


def _address_parts(place: Json) -> Iterable[str]:
    yield str(place.get("text", ""))
    yield from map(str, as_list(place.get("line")))
    for part in ("city", "district", "postalCode"):
        yield str(place.get(part, ""))


def _patient_details(resource: Json) -> dict[str, str]:
    found = {
        "marital_status": concept_text(resource.get("maritalStatus")),
        "language": ", ".join(
            filter(
                None,
                (
                    concept_text(one.get("language"))
                    for one in objects(resource.get("communication"))
                ),
            )
        ),
        "active": plain(resource.get("active")),
        "multiple_birth": plain(
            resource.get("multipleBirthInteger", resource.get("multipleBirthBoolean"))
        ),
    }
    for extension in objects(resource.get("extension")):
        url = str(extension.get("url", "")).rpartition("/")[2]
        name = {
            "us-core-race": "race",
            "us-core-ethnicity": "ethnicity",
            "us-core-birthsex": "birth_sex",
        }.get(url)
        if name:
            parts = {str(one.get("url")): one for one in objects(extension.get("extension"))}
            text = str(parts.get("text", {}).get("valueString", ""))
            found[name] = text or str(extension.get("valueCode", ""))
    return found
