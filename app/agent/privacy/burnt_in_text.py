"""Tells whether an image may hold text that is burnt into its pixels."""

from __future__ import annotations

from app.imaging.types import Instance

_SECONDARY_CAPTURE = "1.2.840.10008.5.1.4.1.1.7"
"""SOP Class UID; those of multi-frame secondary captures begin with it and a dot (PS3.4 B.5)."""


def risk_of(instance: Instance) -> str:
    """Return why a picture of this image may reveal the patient, for the user; "" if unlikely.

    Ultrasound, secondary captures and modality OT usually have burnt-in text, whatever their
    headers say, and photographs (XC) show people. Other images are trusted only if
    BurnedInAnnotation is NO (PS3.3 C.7.6.1.1.1), since most files lack that attribute.
    """
    if instance.kind != "dicom" and not instance.get("Modality"):
        return "This file has no DICOM header, so nothing says whether text is burnt into it."
    said = instance.get("BurnedInAnnotation").strip().upper()
    if said == "YES":
        return "The file says that there IS text burnt into this image."
    reasons = {
        "US": "Ultrasound images usually show name and date in the image itself.",
        "SC": "This is a screen capture or scan, which may show anything that was on it.",
        "OT": 'The file gives its modality as "other": it may show anything.',
        "XC": "This is a photograph: it may show the patient's face.",
    }
    if _captured(instance.get("SOPClassUID").strip()):
        return reasons["SC"]
    modality = instance.get("Modality").strip().upper()
    if modality in reasons:
        return reasons[modality]
    if said != "NO":
        return "The file does not say whether text is burnt into this image."
    return ""


def _captured(sop_class: str) -> bool:
    return sop_class == _SECONDARY_CAPTURE or sop_class.startswith(f"{_SECONDARY_CAPTURE}.")
