"""Whatever a record holds, the tools answer or say why not; no error is an unexpected one."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from app.records.types import (
    LOINC,
    RXNORM,
    Code,
    Component,
    Entry,
    EntryKind,
    NoRecords,
    Patient,
    RecordProblem,
    Value,
)
from app.tools.api import ToolFailed, ToolRetry
from tests.unit.tools.record.charts import Charts
from tests.unit.tools.record.test_patient_choice import PATIENT_TOOLS

TEXTS = [
    "",
    "x",
    "NaN",
    "1e999",
    "\0",
    "☃" * 40,
    "S:\nP:",
    "A" * 5000,
    "2020-13-45",
    "[Observation/1]",
    "%s{}",
]
DATES = [
    "",
    "2020",
    "2020-02",
    "0000-00-00",
    "2020-02-30",
    "9999-12-31T25:00",
    "yesterday",
    "2020-01-01",
]
NUMBERS = [None, 0.0, -1.0, 6.8, float("inf"), float("nan"), 1e300]
CODES = ["2823-3", "8480-6", "29303009", "18748-4", "11289", ""]


def entry(rng: random.Random, number: int) -> Entry:
    def value() -> Value | None:
        pick = rng.choice
        if rng.random() < 0.2:
            return None
        return Value(
            pick(NUMBERS),
            pick(TEXTS),
            pick(["mmol/L", "", "mm[Hg]", "?"]),
            pick(["", "<", ">", "~"]),
            pick(NUMBERS),
            pick(NUMBERS),
        )

    system = rng.choice([LOINC, RXNORM, ""])
    codes = tuple(
        Code(system, rng.choice(CODES), rng.choice(TEXTS)) for _ in range(rng.randint(0, 2))
    )
    details = {
        "verification": rng.choice(TEXTS),
        "category": rng.choice(TEXTS),
        "interpretation": rng.choice(["H", "L", "", ",,"]),
        "sampled_data": rng.choice(
            ["", "{", "[]", '[{"part": -1}]', '[{"part": 7, "period": 1}]', "null"]
        ),
    }
    kinds = list(EntryKind)
    return Entry(
        f"Thing/{number}", "p1", rng.choice(kinds), rng.choice(TEXTS), codes, rng.choice(DATES),
        rng.choice(DATES), rng.choice(["", "active", "odd"]), value(),
        tuple(Component(rng.choice(TEXTS), codes, value() or Value()) for _ in range(number % 3)),
        rng.choice(TEXTS), details=details,
    )  # fmt: skip


class Damaged(NoRecords):
    """A record of one patient whose fields hold anything."""

    def __init__(self, seed: int) -> None:
        rng = random.Random(seed)
        self._patient = Patient(
            "p1", rng.choice(TEXTS), (("", rng.choice(TEXTS)),), rng.choice(DATES),
            rng.choice(TEXTS), rng.choice(DATES), details={"a_b": rng.choice(TEXTS)},
        )  # fmt: skip
        self._entries = [entry(rng, number) for number in range(60)]

    def count(self) -> int:
        return 1

    def patients(self, text: str = "", **_: Any) -> Sequence[Patient]:
        return [self._patient]

    def patient(self, patient_id: str) -> Patient | None:
        return self._patient if patient_id == "p1" else None

    def entries(
        self, patient_id: str, kinds: Sequence[EntryKind] = (), **_: Any
    ) -> Sequence[Entry]:
        return [one for one in self._entries if one.kind in kinds]

    def condition_counts(self, text: str = "", **_: Any) -> tuple[int, dict[str, int]]:
        return 1, {text or "x": 1, "": 1}

    def problems(self) -> Sequence[RecordProblem]:
        return [RecordProblem("a", "b", "c")]


@pytest.mark.parametrize("seed", range(12))
def test_no_entry_makes_a_tool_fail_in_an_unexpected_way(tmp_path: Path, seed: int):
    charts = Charts(tmp_path, Damaged(seed), "p1")  # type: ignore[arg-type]
    for tool in (*PATIENT_TOOLS, "list_patients", "analyze_batch_conditions"):
        try:
            result = charts.run(tool)
        except (ToolRetry, ToolFailed):
            continue
        json.dumps(result.output, allow_nan=False)
        assert "could not be read" in result.summary  # the record's own problems are told
        assert len(result.summary) < 30_000
