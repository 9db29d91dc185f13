"""A small table with round figures, made up for tests of the arithmetic."""

from __future__ import annotations

import json
from typing import Any

from app.tools.diagnosis.table import Presentation

TABLE: dict[str, Any] = {
    "id": "made-up",
    "title": "Made-up presentation",
    "words": ["made-up pain"],
    "population": "nobody",
    "hypotheses": {
        "flu": {"name": "Flu", "prior": [0.2, 0.1, 0.3], "source": "us"},
        "cold": {"name": "Cold", "prior": [0.5], "source": "us"},
    },
    "findings": {
        "fever": {
            "name": "Fever",
            "kind": "symptom",
            "question": "Have you had a fever?",
            "words": ["fever", "febrile"],
            "absent_words": ["afebrile"],
            "group": "temperature",
        },
        "high_fever": {
            "name": "Fever above 39 °C",
            "kind": "symptom",
            "question": "Was it above 39?",
            "words": ["high fever"],
            "group": "temperature",
        },
        "cough": {
            "name": "Cough",
            "kind": "symptom",
            "question": "Do you cough?",
            "words": ["cough"],
        },
        "swab": {
            "name": "Positive swab",
            "kind": "test",
            "request": "Swab",
            "words": ["positive swab"],
            "cost": "low",
        },
        "crp": {
            "name": "CRP 10 mg/L or more",
            "kind": "lab",
            "request": "CRP",
            "words": ["raised crp"],
            "loinc": ["1988-5"],
            "above": 10,
            "unit": "mg/L",
        },
    },
    "ratios": [
        {
            "finding": "fever",
            "hypothesis": "flu",
            "positive": [2, 1, 4],
            "negative": [0.5],
            "source": "us",
        },
        {"finding": "high_fever", "hypothesis": "flu", "positive": [3], "source": "us"},
        {
            "finding": "cough",
            "hypothesis": "flu",
            "positive": [2],
            "negative": [0.5, 0.25, 1],
            "source": "us",
        },
        {"finding": "cough", "hypothesis": "cold", "positive": [4], "source": "us"},
        {
            "finding": "swab",
            "hypothesis": "flu",
            "sensitivity": [0.8, 0.7, 0.9],
            "specificity": [0.9],
            "source": "us",
        },
        {
            "finding": "crp",
            "hypothesis": "flu",
            "positive": [1.5],
            "negative": [0.8],
            "source": "us",
        },
    ],
    "sources": {"us": {"text": "Made up"}},
}


def small_table() -> Presentation:
    """Return the table."""
    return Presentation.model_validate(TABLE)


def small_toml(table: dict[str, Any] | None = None) -> str:
    """Return the table, or another, as the file of a site."""
    parts = {key: value for key, value in (table or TABLE).items() if key != "id"}
    return "\n".join(f"{key} = {_inline(value)}" for key, value in parts.items()) + "\n"


def _inline(value: Any) -> str:
    if isinstance(value, dict):
        pairs: dict[str, Any] = value
        return "{" + ", ".join(f"{key} = {_inline(one)}" for key, one in pairs.items()) + "}"
    if isinstance(value, list):
        items: list[Any] = value
        return "[" + ", ".join(map(_inline, items)) + "]"
    return json.dumps(value, ensure_ascii=False)
