"""How answers without a language model word the results of the record pack's tools."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from app.tools.result_wording import AnswerContext, Data, ResultWording, Sentence, cited

_TITLES = {
    "list_patients": "Patients",
    "get_demographics": "Demographics",
    "get_patient_labs": "Laboratory results",
    "get_vital_signs": "Vital signs",
    "get_patient_conditions": "Diagnoses",
    "get_patient_history": "History",
    "analyze_batch_conditions": "Diagnoses over patients",
    "get_clinical_notes": "Notes",
    "get_soap_notes": "SOAP notes",
    "get_discharge_summary": "Discharge summary",
    "get_medication_list": "Medication",
    "check_drug_interactions": "Drug interactions",
    "get_radiology_reports": "Radiology reports",
    "scan_dicom_directory": "DICOM files",
    "get_dicom_metadata": "DICOM fields",
    "get_dicom_metadata_from_path": "DICOM fields",
    "find_patient_images": "The patient's images",
    "load_dicom_image": "Image",
    "load_ecg": "ECG",
    "analyze_ecg_for_rhythm": "ECG rhythm",
    "calculate_clinical_score": "Score",
    "calculate_patient_score": "Score",
    "generate_and_run_analysis": "Analysis",
    "analyze_medical_document": "Document analysis",
}


_SCORES = ("calculate_clinical_score", "calculate_patient_score")


def wordings() -> tuple[ResultWording, ...]:
    """Return the wordings of the pack's tools."""
    return tuple(
        ResultWording(tool, title, _score_lines if tool in _SCORES else None)
        for tool, title in _TITLES.items()
    )


def _score_lines(output: Data, metadata: Data) -> Sequence[Sentence]:
    """Return a score in lines: the result, its points, what is missing, the source."""
    if output.get("range") is None or output.get("filled"):
        return ()  # a category, the list of scores, or one with the entries that gave it
    title, unit = output["title"], output["unit"]
    low, high = (f"{value:g}" for value in output["range"])
    if output["total"] is not None:
        lines = [f"{title}: {output['total']:g} {unit}."]
    else:
        lines = [f"{title}: between {low} and {high} {unit}, since inputs are missing."]
    if output["interpretation"]:
        said = str(output["interpretation"])
        lines.append(f"{said[0].upper()}{said[1:]}.")
    given = [item for item in output["items"] if item.get("value") is not None]
    if given:
        lines.append(f"Points: {'; '.join(map(_points, given))}.")
    if output["missing"]:
        lines.append(f"Missing: {'; '.join(item['label'] for item in output['missing'])}.")
    lines += [f"Not used: {one}." for one in output.get("unused", ())]
    lines.append(f"{output['limits']} Source: {output['citation'][0]}")
    return cited(lines)


def _points(item: Mapping[str, Any]) -> str:
    value, unit = item["value"], item.get("unit", "")
    if isinstance(value, bool):
        value = "yes" if value else "no"
    shown = f"{value:g}" if isinstance(value, float) else value
    if isinstance(shown, dict):
        shown = ", ".join(str(one) for one in shown.values())
    points = "" if item["points"] is None else f": {item['points']:g}"
    return f"{item['item']} ({f'{shown} {unit}'.strip()}){points}"


_JUDGED = frozenset(
    (
        *("calculate_clinical_score", "calculate_patient_score", "check_drug_interactions"),
        *("analyze_ecg_for_rhythm", "analyze_medical_document", "analyze_medical_image"),
    )
)


def unanswered(told: AnswerContext) -> list[str]:
    """Return what results about a patient never answer: what is to be done."""
    if not told.ran & _JUDGED:
        return []
    return [
        "What is to be done: that is for a physician, who sees the patient and the whole record. "
        "This is for research and education."
    ]
