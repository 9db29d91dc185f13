"""Secondary captures of what a pane shows (PS3.3 A.8.1). Runs in a worker process."""

from __future__ import annotations

from typing import Any

import numpy as np
from highdicom import sc
from pydicom.dataset import Dataset
from pydicom.uid import generate_uid

from app.imaging.exports import DicomExport
from app.imaging.objects.writing import Sources, frame_numbers


def make(sources: Sources) -> Dataset:
    """Return a capture of the export's picture; without DICOM sources, in a study of its own."""
    export = sources.export
    if export.picture is None:
        raise ValueError("no picture to write")
    common: dict[str, Any] = {
        "pixel_array": np.ascontiguousarray(export.picture),
        "photometric_interpretation": "RGB",
        "bits_allocated": 8,
        "coordinate_system": "PATIENT",
        "patient_orientation": ("L", "P"),
        "manufacturer": "Sightline",
        **sources.new,
    }
    if sources.datasets:
        made: Any = sc.SCImage.from_ref_dataset(
            sources.datasets[0], transfer_syntax_uid="1.2.840.10008.1.2.1", **common
        )
    else:
        made = sc.SCImage(study_instance_uid=generate_uid(prefix=None), **common)
    made.ConversionType = "WSD"
    # Whether an image has burnt-in text is only known where its header says so.
    burnt = sources.datasets[0].get("BurnedInAnnotation") if sources.datasets else None
    if export.marked or burnt:
        made.BurnedInAnnotation = "YES" if export.marked else burnt
    what = "with marks or texts drawn in" if export.marked else "without marks"
    made.DerivationDescription = f"What Sightline showed, {what}; grey levels as windowed"
    made.PatientOrientation = None  # the pane may have been turned
    if "Laterality" not in made:
        made.Laterality = sources.datasets[0].get("Laterality") or "" if sources.datasets else ""
    if sources.datasets:
        made.SourceImageSequence = [_reference(one, export) for one in sources.datasets]
    return made


def _reference(dataset: Dataset, export: DicomExport) -> Dataset:
    item = Dataset()
    item.ReferencedSOPClassUID = dataset.SOPClassUID
    item.ReferencedSOPInstanceUID = dataset.SOPInstanceUID
    shown = [one for one in export.views if one.sop_instance_uid == dataset.SOPInstanceUID]
    numbers = frame_numbers(dataset, shown[0].frame) if shown else None
    if numbers:
        item.ReferencedFrameNumber = numbers
    return item
