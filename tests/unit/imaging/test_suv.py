"""SUVbw of PET images: by hand with the formula, and none where the header does not suffice."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from app.imaging.pixels.pipeline import grey_at
from app.imaging.reading.image_entries import read_frame
from tests.unit.imaging.files import item, make_dicom

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning:pydicom")

PIXELS = np.arange(12, dtype=np.uint16).reshape(3, 4)
TRACER = {
    "RadionuclideTotalDose": 370e6,
    "RadionuclideHalfLife": 6586.2,
    "RadiopharmaceuticalStartTime": "090000",
}
PET = {
    "Modality": "PT",
    "Units": "BQML",
    "CorrectedImage": ["ATTN", "DECY", "SCAT"],
    "DecayCorrection": "START",
    "PatientWeight": 72.5,
    "SeriesDate": "20240131",
    "SeriesTime": "100000",
    "AcquisitionDate": "20240131",
    "AcquisitionTime": "100030.5",
    "RescaleSlope": 250.0,
    "RescaleIntercept": 0.0,
}


def suv(tmp_path: Path, tracer: dict[str, Any] | None = None, **changes: Any) -> float | None:
    path = tmp_path / "pet.dcm"
    fields = PET | changes
    fields = {key: value for key, value in fields.items() if value is not None}
    made = item(**(TRACER | (tracer or {})))
    make_dicom(path, PIXELS, RadiopharmaceuticalInformationSequence=[made], **fields)
    grey = grey_at(read_frame(path, 0), 2, 1)
    assert grey is not None
    assert grey.real is None or grey.real_units == "{SUVbw}g/ml"
    assert "{" not in grey.text
    return grey.real


def test_suv_is_activity_by_decayed_dose_per_gram(tmp_path: Path):
    decayed = 370e6 * 0.5 ** (3600 / 6586.2)
    assert suv(tmp_path) == pytest.approx(6 * 250 * 72_500 / decayed, rel=1e-6)
    assert suv(tmp_path, DecayCorrection="ADMIN") == pytest.approx(6 * 250 * 72_500 / 370e6)
    exact = {"RadiopharmaceuticalStartDateTime": "20240130230000"}
    decayed = 370e6 * 0.5 ** (11 * 3600 / 6586.2)
    assert suv(tmp_path, exact) == pytest.approx(6 * 250 * 72_500 / decayed, rel=1e-6)
    assert suv(tmp_path, Units="GML", RescaleSlope=0.5) == pytest.approx(3.0)


@pytest.mark.parametrize(
    "missing",
    [
        {"PatientWeight": None},
        {"CorrectedImage": ["ATTN"]},
        {"DecayCorrection": "NONE"},
        {"Units": "CNTS"},
        {"SeriesTime": "110000"},  # after the acquisition: a derived series
        {"SeriesTime": "083000", "AcquisitionTime": "083000"},  # before the injection
        {"Modality": "NM"},
        {"Units": "GML", "SUVType": "LBM"},
    ],
)
def test_without_what_it_needs_there_is_no_suv(tmp_path: Path, missing: dict[str, Any]):
    assert suv(tmp_path, **missing) is None
