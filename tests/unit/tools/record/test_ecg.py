"""ECGs: what is measured against known rates, fibrillation by its signs, and pictures by none."""

from __future__ import annotations

import base64
import csv
import io
from pathlib import Path
from typing import Any

import numpy as np
import pydicom
import pytest
from numpy.typing import NDArray
from PIL import Image
from pydicom.data import get_testdata_file

from app.errors import SightlineError
from app.tools.api import ToolFailed
from app.tools.record.ecg import rhythm_output
from app.tools.record.file_readers import measure_entry
from tests.unit.records.record_files import LOINC, SNOMED, coding
from tests.unit.tools.record.charts import Json, lab
from tests.unit.tools.record.conftest import Opens

pytest.importorskip("neurokit2")
Floats = NDArray[np.float64]
KEYS = {
    *("patient_id", "ecg_available", "rhythm", "afib_detected", "rr_intervals", "p_waves"),
    *("baseline", "confidence", "clinical_significance", "raw_analysis"),
}
RATE = 250
POTASSIUM = lab("k1", "2823-3", "Potassium", "4.2", "mmol/L", "2020-01-02")


def ecg(
    rr: Floats, *, p: float = 0.15, f: float = 0.0, noise: float = 0.01, seed: int = 0
) -> Floats:
    """Return an ECG in mV of Gaussian waves at `RATE` Hz with these RR intervals in s.

    `p` is the height of P waves, 160 ms before each R; `f` that of fibrillatory waves, whose
    frequency wanders about 6 Hz.
    """
    rng = np.random.default_rng(seed)
    peaks = 0.6 + np.cumsum([0.0, *rr])
    t = np.arange(int((peaks[-1] + 0.6) * RATE)) / RATE
    signal = rng.normal(size=t.size) * noise
    waves = (
        (-0.16, 0.02, p),
        (-0.025, 0.008, -0.1),
        (0, 0.01, 1),
        (0.025, 0.008, -0.25),
        (0.25, 0.04, 0.3),
    )
    for peak in peaks:
        for place, width, height in waves:
            signal += height * np.exp(-0.5 * ((t - peak - place) / width) ** 2)
    drift = np.cumsum(rng.normal(size=t.size)) / np.sqrt(RATE)
    return signal + f * np.sin(2 * np.pi * 6 * t + drift)


def measured(signal: Floats, rate: float = RATE, lead: str = "II") -> dict[str, Any]:
    return measure_entry({"samples": signal[None], "leads": [lead], "rate": rate})


@pytest.mark.parametrize("rate", [45, 60, 72, 99, 130, 160])
def test_the_rate_is_that_of_the_signal(rate: int):
    found = measured(ecg(np.full(20, 60 / rate)))
    assert found["heart_rate"] == pytest.approx(rate, rel=0.01)
    assert found["regular"]
    assert found["fibrillation"] is False


@pytest.mark.parametrize("rate", [50, 80, 120])
def test_the_rate_is_that_of_a_published_simulator(rate: int):
    import neurokit2 as nk

    signal = nk.ecg_simulate(duration=15, sampling_rate=RATE, heart_rate=rate, random_state=3)
    found = measured(np.asarray(signal, np.float64))
    assert found["heart_rate"] == pytest.approx(rate, rel=0.03)
    assert found["fibrillation"] is False


@pytest.mark.parametrize("seed", range(6))
def test_fibrillation_needs_irregular_intervals_and_no_p_waves(seed: int):
    rng = np.random.default_rng(seed)
    irregular = rng.uniform(0.4, 1.1, 18)
    found = measured(ecg(irregular, p=0, f=0.06, seed=seed))
    assert found["fibrillation"] is True
    assert found["entropy"] >= -1.4
    assert measured(ecg(irregular, seed=seed))["fibrillation"] is False  # with P waves
    even = np.full(18, 0.8) + rng.normal(size=18) * 0.01
    assert measured(ecg(even, p=0, f=0.06, seed=seed))["fibrillation"] is False  # regular


@pytest.mark.parametrize("seed", range(3))
def test_sinus_arrhythmia_and_ectopic_beats_are_no_fibrillation(seed: int):
    rng = np.random.default_rng(seed)
    breathing = 0.85 + 0.12 * np.sin(np.arange(20) * 0.8) + rng.normal(size=20) * 0.02
    assert measured(ecg(breathing, seed=seed))["fibrillation"] is False
    ectopic = np.full(20, 0.8)
    ectopic[[5, 6, 12, 13]] = [0.5, 1.1, 0.5, 1.1]
    assert measured(ecg(ectopic, seed=seed))["fibrillation"] is False


def test_too_few_beats_decide_nothing_and_are_never_called_normal():
    rng = np.random.default_rng(1)
    found = measured(ecg(rng.uniform(0.4, 1.1, 8), p=0, f=0.06))
    assert found["fibrillation"] is None
    output = rhythm_output("p1", found, {})
    assert "not classified" in output["rhythm"]
    assert output["confidence"] == "low"
    assert "neither shown nor excluded" in output["clinical_significance"]


@pytest.mark.parametrize(
    ("signal", "reason"),
    [
        (np.zeros(5000), "flat"),
        (ecg(np.full(3, 0.8)), "at least 5 s"),
        (np.random.default_rng(0).normal(size=800) * 0.03, "at least 5 s"),
    ],
)
def test_what_cannot_be_measured_says_why(signal: Floats, reason: str):
    found = measured(signal)
    assert found["measured"] is False
    assert reason in found["reason"]


def test_words_follow_the_measures():
    slow = rhythm_output("p", measured(ecg(np.full(15, 60 / 50))), {})
    fast = rhythm_output("p", measured(ecg(np.full(25, 60 / 115))), {})
    none = rhythm_output("p", measured(ecg(np.full(15, 0.8), p=0)), {})
    assert slow["rhythm"] == "sinus bradycardia, 50/min"
    assert fast["rhythm"] == "sinus tachycardia, 115/min"
    assert "without P waves" in none["rhythm"]
    assert set(slow) == KEYS


def test_the_ecg_that_pydicom_ships_is_measured_as_its_own_machine_did(opens: Opens):
    path = get_testdata_file("waveform_ecg.dcm")
    charts = opens(POTASSIUM)
    charts.patient = ""
    charts.bench.open(Path(str(path)))
    result = charts.run("analyze_ecg_for_rhythm")
    output = result.output
    assert set(output) == KEYS
    # The file's annotations: RR 982, PR 161, QRS 75, QT 368 ms, "RITMO SINUSALE".
    assert output["rr_intervals"]["mean_ms"] == pytest.approx(982, abs=2)
    assert output["p_waves"]["pr_ms"] == pytest.approx(161, abs=30)
    assert output["raw_analysis"]["qrs_ms"] == pytest.approx(75, abs=30)
    assert output["raw_analysis"]["qt_ms"] == pytest.approx(368, abs=45)
    assert output["rhythm"].startswith("sinus rhythm, 61/min")
    assert "RITMO SINUSALE" in output["raw_analysis"]["file_annotations"]
    assert output["patient_id"] == str(pydicom.dcmread(str(path)).PatientID)
    assert output["afib_detected"] is False


def test_a_file_of_somebody_else_is_not_taken_for_the_patients(opens: Opens):
    charts = opens(POTASSIUM)
    charts.bench.open(Path(str(get_testdata_file("waveform_ecg.dcm"))))
    with pytest.raises(ToolFailed, match="not known to be of John Okafor"):
        charts.run("analyze_ecg_for_rhythm", ecg_path="image-1", patient_id="p1")
    # The record in use is another one's: the patient has no ECG, whatever is open.
    assert charts.run("analyze_ecg_for_rhythm").output["ecg_available"] is False
    alone = charts.run("analyze_ecg_for_rhythm", ecg_path="image-1")
    assert alone.output["patient_id"] == "642341"
    assert "not in the record" in alone.summary


def sampled(own: str, signals: dict[str, Floats], unit: str = "mV", rate: float = RATE) -> Json:
    """Return an Observation with an ECG as FHIR SampledData, a component a lead."""

    def data(signal: Floats) -> Json:
        return {
            "origin": {
                "value": 0,
                "unit": unit,
                "system": "http://unitsofmeasure.org",
                "code": unit,
            },
            "period": 1000 / rate,
            "factor": 0.001,
            "dimensions": 1,
            "data": " ".join(str(round(one * 1000)) for one in signal),
        }

    return {
        "resourceType": "Observation",
        "id": own,
        "status": "final",
        "code": coding(LOINC, "11524-6", "EKG study"),
        "effectiveDateTime": "2021-04-05",
        "component": [
            {
                "code": coding("urn:mdc", "1", f"MDC_ECG_ELEC_POTL_{lead}"),
                "valueSampledData": data(s),
            }
            for lead, s in signals.items()
        ],
    }


def test_samples_of_the_record_are_measured_and_cited(opens: Opens):
    signal = ecg(np.full(15, 0.75))
    charts = opens(sampled("e1", {"I": signal * 0.5, "II": signal}))
    result = charts.run("analyze_ecg_for_rhythm")
    assert result.output["rhythm"] == "sinus rhythm, 80/min"
    assert result.output["raw_analysis"]["entry"] == "Observation/e1"
    assert "[Observation/e1]" in result.summary
    loaded = charts.run("load_ecg").output
    assert (loaded["leads"], loaded["sampling_rate_hz"]) == (["I", "II"], RATE)
    assert loaded["seconds"] == pytest.approx(signal.size / RATE)
    assert charts.run("find_patient_images").output["has_ecg"] is True


def write_table(folder: Path, patient: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Write an observations.csv as Coherent's, with a picture of an ECG in base64."""
    stream = io.BytesIO()
    Image.fromarray(np.full((60, 90, 3), 200, np.uint8)).save(stream, "PNG")
    picture = base64.b64encode(stream.getvalue()).decode()
    head = (
        "DATE",
        "PATIENT",
        "ENCOUNTER",
        "CATEGORY",
        "CODE",
        "DESCRIPTION",
        "VALUE",
        "UNITS",
        "TYPE",
    )
    rows = [
        ("2019-01-01", patient, "e", "", "8302-2", "Body Height", "170", "cm", "numeric"),
        ("2018-05-05", patient, "e", "", "29303009", "ECG", picture, "", "text"),
        ("2020-05-05", "other", "e", "", "29303009", "ECG", picture, "", "text"),
        ("2017-05-05", patient, "e", "", "29303009", "ECG", "broken!", "", "text"),
    ]
    with (folder / "observations.csv").open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([head, *rows])
    monkeypatch.setenv("COHERENT_CSV_PATH", str(folder))


class Eyes:
    """A model that accepts pictures, or fails."""

    def __init__(self, answer: str = "", *, sees: bool = True) -> None:
        self.answer, self.sees, self.asked = answer, sees, list[Any]()
        self.remote = False

    name = "llava"

    def ask(self, prompt: str, *, system: str = "", images: Any = ()) -> str:
        self.asked.append((prompt, tuple(images)))
        if not self.answer:
            raise SightlineError("the user does not allow it")
        return self.answer


def test_of_a_picture_nothing_is_measured(
    opens: Opens, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    write_table(tmp_path, "p1", monkeypatch)
    charts = opens(POTASSIUM)
    result = charts.run("analyze_ecg_for_rhythm")
    output = result.output
    assert set(output) == KEYS
    assert (output["ecg_available"], output["afib_detected"]) == (True, None)
    assert output["rhythm"] == "not determined"
    assert "only a picture" in output["clinical_significance"]
    with Image.open(result.artifacts[0].path) as picture:
        assert picture.size == (90, 60)
    loaded = charts.run("load_ecg").output
    assert (loaded["kind"], loaded["date"], loaded["leads"]) == ("picture", "2018-05-05", [])
    assert charts.run("find_patient_images").output["has_ecg"] is True


def test_a_picture_that_is_a_value_of_the_record_is_found(opens: Opens):
    stream = io.BytesIO()
    noise = np.random.default_rng(0).integers(0, 255, (40, 50, 3), np.uint8)
    Image.fromarray(noise).save(stream, "PNG")
    picture = lab("e1", "1", "x", "1", "", "2020-01-02")
    del picture["valueQuantity"]
    picture["code"] = coding(SNOMED, "29303009", "Electrocardiographic procedure")
    picture["valueString"] = base64.b64encode(stream.getvalue()).decode()
    charts = opens(picture)
    result = charts.run("load_ecg")
    assert (result.output["kind"], result.output["entry"]) == ("picture", "Observation/e1")
    with Image.open(result.output["image_path"]) as shown:
        assert np.array_equal(np.asarray(shown), noise)
    assert charts.run("find_patient_images").output["has_ecg"] is True
    told = charts.run("get_patient_labs").output["entries"][0]
    assert "value" not in told
    assert told["value_left_out"].endswith("characters")


def test_what_a_model_reads_in_a_picture_is_marked_and_decides_nothing(
    opens: Opens, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    write_table(tmp_path, "p1", monkeypatch)
    charts = opens(POTASSIUM)
    charts.model = Eyes("RATE: 110\nRHYTHM: atrial fibrillation\nP WAVES: none")
    result = charts.run("analyze_ecg_for_rhythm", clinical_context="palpitations")
    assert result.output["afib_detected"] is None
    assert result.output["rhythm"] == (
        "atrial fibrillation (read from the picture by llava, not measured)"
    )
    assert result.output["raw_analysis"]["picture_reading"]["verified"] is False
    prompt, images = charts.model.asked[0]
    assert "palpitations" in prompt
    assert images == (str(result.artifacts[0].path),)
    charts.model = Eyes()
    refused = charts.run("analyze_ecg_for_rhythm")
    assert "the user does not allow it" in refused.summary


def test_without_an_ecg_that_is_the_answer(opens: Opens):
    charts = opens(POTASSIUM)
    for tool in ("load_ecg", "analyze_ecg_for_rhythm"):
        result = charts.run(tool)
        assert result.output["ecg_available"] is False
        assert result.summary.startswith("No ECG of John Okafor (born 1950-06-15)")


def test_an_image_is_looked_at_by_a_model_that_sees_or_not_at_all(opens: Opens, tmp_path: Path):
    from tests.unit.tools.support import gradient, write_dicom

    charts = opens(POTASSIUM)
    charts.bench.open(write_dicom(tmp_path / "film.dcm", gradient(), Modality="MR"))
    with pytest.raises(ToolFailed, match="none is chosen"):
        charts.run("analyze_medical_image", image_path="image-1")
    charts.model = Eyes("x", sees=False)
    with pytest.raises(ToolFailed, match="llava accepts no pictures"):
        charts.run("analyze_medical_image", image_path="image-1")
    charts.model = Eyes("No mass.")
    result = charts.run("analyze_medical_image", image_path="image-1", question="a mass?")
    assert result.output["analysis"] == "No mass."
    assert result.output["verified"] is False
    prompt, images = charts.model.asked[0]
    assert "MRI" in prompt
    assert "a mass?" in prompt
    assert images == ("image-1",)
