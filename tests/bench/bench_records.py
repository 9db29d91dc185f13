"""Patients' records: opening, one patient, everybody's conditions, damage; against pandas.

Run: `python -m tests.bench.bench_records [PATIENTS]`. The bundles are made here, 99 resources
each. pandas reads the same files by `json.loads` into one table, in one process and unchecked, and
answers the same questions; its answers must be the same.
"""

from __future__ import annotations

import json
import resource
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd

from app.records.record_library import RecordLibrary
from app.records.types import EntryKind
from tests.bench.bench_imaging import line
from tests.unit.records.record_files import write_bundles
from tests.unit.records.record_mutations import silent_losses, write_damaged

_ASKED = 100
_VISITS = 8


def _seconds(call: Callable[[], Any], times: int = 5) -> float:
    taken: list[float] = []
    for _ in range(times):
        started = time.perf_counter()
        call()
        taken.append(time.perf_counter() - started)
    return statistics.median(taken)


def processor_s() -> float:
    """Return the processor time of this process and of the workers that have ended, in seconds."""
    own, ended = (
        resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    )
    return own.ru_utime + own.ru_stime + ended.ru_utime + ended.ru_stime


def table_of(paths: list[Path]) -> pd.DataFrame:
    """Return a row for each resource: patient, type, category, code, text, value."""
    rows: list[tuple[Any, ...]] = []
    for path in paths:
        resources = [one["resource"] for one in json.loads(path.read_bytes())["entry"]]
        patient = resources[0]["id"]
        for one in resources:
            category = one.get("category", [{}])[0].get("coding", [{}])[0].get("code", "")
            code = one.get("code", {})
            value = one.get("valueQuantity", {}).get("value")
            rows.append((patient, one["resourceType"], category, code.get("text"), value))
    names = pd.Index(["patient", "type", "category", "text", "value"])
    return pd.DataFrame(rows, columns=names)


def main() -> None:
    """Print a line for each promise."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        paths = write_bundles(folder / "records", count, _VISITS)
        started = time.perf_counter()
        table = table_of(paths)
        theirs = time.perf_counter() - started
        library = RecordLibrary(folder / "index")
        before, started = processor_s(), time.perf_counter()
        opened = library.open([folder / "records"])
        ours, used = time.perf_counter() - started, processor_s() - before
        assert sum(opened.counts.values()) == len(table)
        assert not opened.problems
        line(f"{count} patients, {len(table)} resources, read and checked", ours, "pandas", theirs)
        print(f"  processor time, workers and program together: {used:.1f} s")
        line(
            "the same again", _seconds(lambda: library.open([folder / "records"])), "pandas", theirs
        )
        people = [one.id for one in library.patients(limit=_ASKED)]

        def labs(patient: str) -> Any:
            return library.entries(patient, [EntryKind.LAB])

        def labs_of_table(patient: str) -> Any:
            return table[(table["patient"] == patient) & (table["category"] == "laboratory")]

        for one in people[:10]:
            assert len(labs(one)) == len(labs_of_table(one))
        ours = _seconds(lambda: [labs(one) for one in people]) / len(people)
        theirs = _seconds(lambda: [labs_of_table(one) for one in people]) / len(people)
        line("the labs of one patient", ours, "pandas", theirs)
        ours = _seconds(lambda: [library.entries(one) for one in people]) / len(people)
        theirs = _seconds(lambda: [table[table["patient"] == one] for one in people]) / len(people)
        line("all of one patient", ours, "pandas", theirs)

        def prevalence() -> dict[str, int]:
            conditions = table[table["type"] == "Condition"]
            return conditions.groupby("text")["patient"].nunique().to_dict()

        assert library.condition_counts() == (count, prevalence())
        line(
            "how many have each condition",
            _seconds(library.condition_counts),
            "pandas",
            _seconds(prevalence),
        )
        library.close()
        damaged = write_damaged(folder / "damaged", count)
        library = RecordLibrary(folder / "index")
        started = time.perf_counter()
        opened = library.open([folder / "damaged"])
        taken = time.perf_counter() - started
        lost = silent_losses(library, damaged)
        died = sum("process" in one.reason for one in opened.problems)
        print(
            f"{count} damaged bundles in {taken:.1f} s: {opened.patients} patients, "
            f"{len(opened.problems)} problems, {died} deaths of a worker, {len(lost)} silent losses"
        )
        library.close()
        if lost or died:
            raise SystemExit("\n".join(lost[:20]))


if __name__ == "__main__":
    main()
