"""How answers without a language model word the results of the record pack's tools."""

from __future__ import annotations

from app.tools.result_wording import AnswerContext, ResultWording

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


def wordings() -> tuple[ResultWording, ...]:
    """Return the wordings of the pack's tools."""
    return tuple(ResultWording(tool, title) for tool, title in _TITLES.items())


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
