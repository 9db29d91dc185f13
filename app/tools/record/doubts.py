"""When a result about a record cannot be all there is: it disagrees with another, or with itself.

Each function is a `ToolRule.doubt`. The triggers are document 003's: a cross-reference fails (a
diagnosis or study is there, its data is not found), the result does not fit the question, or it
contradicts what is known ("no DICOM files" where 298 were counted).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from app.tools.result_wording import CallResult, Data


def of_images(output: Data, others: Sequence[CallResult]) -> str:
    """Return why a patient's images are in doubt: studies are named, or files were counted."""
    if output.get("dicom_count"):
        return ""
    studies = output.get("imaging_studies") or ()
    if studies:
        return f"the record names {len(studies)} imaging studies, but no image was found"
    counted = max((_number(one, "total") for one in others if one.tool == _SCAN), default=0)
    return f"no image was found, but {counted} DICOM files are there" if counted else ""


def of_metadata(output: Data, others: Sequence[CallResult]) -> str:
    """Return why a filter is in doubt: nothing fits, though files are there."""
    if output.get("total"):
        return ""
    here = [output, *(one.output for one in others if one.tool == _SCAN)]
    counted = max((_counted(one) for one in here), default=0)
    return f"no file fits the filter, but {counted} DICOM files are there" if counted else ""


def of_entries(output: Data, others: Sequence[CallResult]) -> str:
    """Return why an empty list is in doubt: the record has such entries under other names."""
    del others
    if output.get("entries") or output.get("total"):
        return ""
    recorded = output.get("recorded") or output.get("types")
    if isinstance(recorded, Mapping) and recorded:
        return f"nothing fits, but the record has {len(recorded)} kinds of such entries"
    return ""


def of_batch(output: Data, others: Sequence[CallResult]) -> str:
    """Return why counts are in doubt: more patients than were looked at, or none of many."""
    del others
    looked, total = output.get("patients_analyzed"), output.get("patients_in_record")
    if not isinstance(looked, int) or not isinstance(total, int):
        return ""
    if not looked and total:
        return f"no patient was looked at, but the record has {total}"
    rows = [one for one in output.get("conditions") or () if isinstance(one, Mapping)]
    if looked > total or any(int(row.get("patients") or 0) > looked for row in rows):
        return "more patients have it than were looked at"
    return ""


_SCAN = "scan_dicom_directory"


def _counted(output: Data) -> int:
    counts = output.get("counts")
    if not isinstance(counts, Mapping):
        return 0
    return max(
        (sum(one.values()) for one in counts.values() if isinstance(one, Mapping)), default=0
    )


def _number(result: CallResult, key: str) -> int:
    value = result.output.get(key)
    return value if isinstance(value, int) else 0
