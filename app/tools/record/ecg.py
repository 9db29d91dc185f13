"""Tools on ECGs: load one, and measure its rhythm.

Waveforms are measured: open DICOM waveforms, those of the DICOM folder, and SampledData of the
record. Of an ECG that is only a picture (Coherent's observations.csv) nothing is measured, and the
results say so.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, Field, TypeAdapter, ValidationError

from app.errors import Cancelled, SightlineError
from app.records.types import Code, Entry, EntryKind, Patient
from app.tools.api import (
    Approval,
    Artifact,
    JsonDict,
    Need,
    ToolContext,
    ToolFailed,
    ToolResult,
)
from app.tools.files import save_png
from app.tools.needs import require_packages
from app.tools.record.dicom_folder import (
    ECG_CODE,
    KnownImage,
    belongs,
    call,
    ecg_table,
    image_named,
    images_of,
    open_images,
)
from app.tools.record.patient_results import (
    PatientInput,
    RecordTool,
    named,
    patient_of,
    result,
    whose,
)
from app.tools.record.vision import image_prompts

SAMPLED = "sampled_data"
"""Key in an entry's details with the scales of its SampledData; see `app.records.fhir_entries`."""

_TIMEOUT_S = 300.0
_SLOW, _FAST = 60.0, 100.0
"""Beats a minute below and above which a rate is called bradycardia and tachycardia."""

_P_REPEAT = 0.5
_LEAST_PICTURE = 200
"""Characters of base64 below which a text is no picture."""
_MILLIVOLTS = {"mV": 1.0, "uV": 1e-3, "µV": 1e-3, "V": 1e3, "nV": 1e-6}
_METHOD = (
    "R peaks and wave limits: NeuroKit2 (Makowski 2021; Emrich 2024). Fibrillation: irregular RR "
    "intervals by the coefficient of sample entropy, limit -1.4 (Lake and Moorman 2011), and no "
    "repeating P waves, both as the ESC guideline asks (Hindricks 2021)."
)


class LoadEcgInput(PatientInput):
    """Arguments of `load_ecg`."""

    ecg_path: str | None = Field(
        default=None,
        description='A waveform file: an open one ("image-2"), or one that find_patient_images or '
        "scan_dicom_directory lists. Left out, the patient's latest ECG.",
    )


class LoadEcgOutput(BaseModel):
    """An ECG, or that there is none."""

    patient: dict[str, str] | None
    ecg_available: bool
    kind: str = Field(description='"waveform", "picture" or "" for none.')
    source: str
    date: str | None
    entry: str | None = Field(description="The record's entry, if it is in the record.")
    leads: list[str]
    sampling_rate_hz: float | None
    seconds: float | None
    image_path: str | None = Field(description="A picture of it, for the eyes.")
    annotations: list[str] = Field(description="What the file itself says of it.")


class EcgInput(LoadEcgInput):
    """Arguments of `analyze_ecg_for_rhythm`."""

    clinical_context: str = Field(
        default="", description="Why it is asked; given to a model that looks at a picture."
    )


class EcgOutput(BaseModel):
    """The rhythm of an ECG: exactly these ten keys."""

    patient_id: str
    ecg_available: bool
    rhythm: str
    afib_detected: bool | None = Field(
        description="From RR irregularity and P waves; None where that could not be decided."
    )
    rr_intervals: JsonDict
    p_waves: JsonDict
    baseline: JsonDict
    confidence: str
    clinical_significance: str
    raw_analysis: JsonDict


@dataclass(frozen=True, slots=True)
class Ecg:
    """An ECG that was found.

    Attributes:
        kind: "waveform" or "picture".
        source: Where it comes from, for people.
        date: As its source writes it, "" if unknown.
        entry: The record's entry, "" if it is not in the record.
        owner: The id of the patient as the file or the record has it.
        samples: [leads, samples] in mV (of unknown unit: in standard deviations), for a waveform.
        rate: Samples a second.
        pixels: uint8 [rows, columns, 3], for a picture.
        path: The file of a DICOM waveform, to draw it.
        annotations: What the file itself says of it.
        warnings: What the user should know.
    """

    kind: str
    source: str
    date: str = ""
    entry: str = ""
    owner: str = ""
    samples: NDArray[np.float64] | None = None
    leads: tuple[str, ...] = ()
    rate: float = 0.0
    pixels: NDArray[np.uint8] | None = None
    path: str = ""
    annotations: tuple[str, ...] = ()
    warnings: tuple[str, ...] = field(default=())


def has_ecg(context: ToolContext, patient: Patient, images: list[KnownImage]) -> bool:
    """Return whether there is an ECG of a patient, in files, the record or observations.csv."""
    if any(one.is_waveform for one in images) or _sampled_entries(context, patient):
        return True
    if _record_picture(context, patient) is not None:
        return True
    table = ecg_table()
    if table is None:
        return False
    reply = call(context, "table_ecgs_entry", path=str(table), patient=patient.id)
    return bool(reply["dates"])


def _sampled_entries(context: ToolContext, patient: Patient) -> list[Entry]:
    kinds = (EntryKind.OBSERVATION, EntryKind.VITAL, EntryKind.LAB)
    found = context.records.entries(patient.id, kinds)
    return [one for one in found if one.details.get(SAMPLED)]


def _find(args: LoadEcgInput, context: ToolContext) -> tuple[Patient | None, Ecg | None]:
    """Return whose ECG is meant (None for a file of nobody in the record), and the ECG, if any.

    Raises:
        ToolFailed: The named file is no ECG, or of another patient than the one named.
        ToolRetry: It is not clear which patient or file is meant.
    """
    if args.ecg_path:
        image = image_named(context, args.ecg_path)
        return _owner(args, context, image), _waveform(context, image)
    opened = [one for one in open_images(context) if one.is_waveform]
    known = args.patient_id or context.record_patient
    if not known and len(opened) == 1:
        return _owner(args, context, opened[0]), _waveform(context, opened[0])
    patient = patient_of(context, args.patient_id)
    files = [one for one in images_of(context, patient) if one.is_waveform]
    files.sort(key=lambda one: one.attributes.get("StudyDate", ""), reverse=True)
    if files:
        return patient, _waveform(context, files[0])
    for entry in _sampled_entries(context, patient):
        found = _sampled(entry)
        if found is not None:
            return patient, found
    return patient, _record_picture(context, patient) or _table_picture(context, patient)


def _owner(args: LoadEcgInput, context: ToolContext, image: KnownImage) -> Patient | None:
    """Return a file's patient or None; raise ToolFailed if another one is named."""
    if args.patient_id:
        patient = patient_of(context, args.patient_id)
        if not belongs(image, patient):
            raise ToolFailed(
                f"{image.id} is not known to be of {named(patient)}",
                remedy="Leave patient_id out to measure the file for itself.",
            )
        return patient
    own = image.attributes.get("PatientID", "")
    like = [one for one in context.records.patients(own) if belongs(image, one)] if own else []
    return like[0] if len(like) == 1 else None


def _waveform(context: ToolContext, image: KnownImage) -> Ecg:
    if not image.is_waveform:
        raise ToolFailed(
            f"{image.id} is no waveform",
            remedy="analyze_medical_image can look at a picture of an ECG.",
        )
    reply = call(context, "waveform_entry", path=str(image.path))
    return Ecg(
        "waveform",
        f"DICOM waveform {image.id}",
        date=reply["date"],
        # Of an open file only: the numbers of others are not known to the removal of identifiers.
        owner=reply["patient_id"] if image.id.startswith("image-") else "",
        samples=np.asarray(reply["samples"], np.float64),
        leads=tuple(reply["leads"]),
        rate=float(reply["rate"]),
        path=str(image.path),
        annotations=tuple(reply["annotations"]),
    )


class _Scale(BaseModel):
    """The scales of one SampledData, as `app.records.fhir_entries` keeps them."""

    part: int
    period: float = Field(gt=0, allow_inf_nan=False)
    origin: float = Field(allow_inf_nan=False)
    unit: str = ""
    factor: float = Field(default=1.0, allow_inf_nan=False)
    dimensions: int = Field(default=1, ge=1, le=64)


_SCALES = TypeAdapter(list[_Scale])


def _sampled(entry: Entry) -> Ecg | None:
    try:
        scales = _SCALES.validate_json(entry.details[SAMPLED])
    except ValidationError:
        return None
    leads: list[str] = []
    rows: list[NDArray[np.float64]] = []
    periods: set[float] = set()
    warnings: list[str] = []
    for scale in scales:
        if scale.part >= len(entry.components):
            continue
        holder = entry if scale.part < 0 else entry.components[scale.part]
        values = _samples(holder.value.text if holder.value else "")
        values = values[: values.size // scale.dimensions * scale.dimensions]
        values = values.reshape(-1, scale.dimensions).T * scale.factor + scale.origin
        if not all(np.isfinite(row).any() for row in values):
            continue
        volts = _MILLIVOLTS.get(scale.unit)
        if volts is None:
            spread = float(np.nanstd(values))
            volts = 0.2 / spread if spread else 1.0  # of the size of an ECG
            warnings.append("the samples have no unit of voltage: amplitudes mean nothing")
        rows += list((values - np.nanmedian(values, axis=1, keepdims=True)) * volts)
        name = _lead_name(holder.name)
        count = scale.dimensions
        leads += [name if count == 1 else f"{name} {n + 1}" for n in range(count)]
        periods.add(scale.period)
    if not rows or len(periods) != 1:
        return None
    size = min(row.size for row in rows)
    return Ecg(
        "waveform",
        f"SampledData of {entry.name}",
        date=entry.start,
        entry=entry.id,
        owner=entry.patient_id,
        samples=np.array([row[:size] for row in rows]),
        leads=tuple(leads),
        rate=1000 / periods.pop(),
        warnings=tuple(dict.fromkeys(warnings)),
    )


def _samples(text: str) -> NDArray[np.float64]:
    return np.array([_number(word) for word in text.split()], np.float64)


def _number(word: str) -> float:
    try:
        return float(word)
    except ValueError:
        return float("nan")


def _lead_name(name: str) -> str:
    last = name.replace("_", " ").split()[-1:] or [name]
    return last[0][:16]


def _picture_entries(context: ToolContext, patient: Patient) -> list[Entry]:
    """Return the record's observations of an ECG whose value may be a picture in base64."""
    kinds = (EntryKind.OBSERVATION, EntryKind.VITAL, EntryKind.LAB)
    found = context.records.entries(patient.id, kinds, codes=(Code("", ECG_CODE),))
    return [one for one in found if one.value is not None and len(one.value.text) > _LEAST_PICTURE]


def _record_picture(context: ToolContext, patient: Patient) -> Ecg | None:
    for entry in _picture_entries(context, patient):
        text = entry.value.text if entry.value else ""
        pixels = call(context, "picture_text_entry", text=text)["pixels"]
        if pixels is not None:
            return Ecg(
                "picture",
                f"a picture in {entry.name}",
                date=entry.start,
                entry=entry.id,
                owner=patient.id,
                pixels=np.asarray(pixels, np.uint8),
            )
    return None


def _table_picture(context: ToolContext, patient: Patient) -> Ecg | None:
    table = ecg_table()
    if table is None:
        return None
    reply = call(
        context, "table_ecgs_entry", path=str(table), patient=patient.id, timeout_s=_TIMEOUT_S
    )
    if not reply["dates"]:
        return None
    return Ecg(
        "picture",
        f"observations.csv, code {ECG_CODE}",
        date=reply["dates"][0],
        owner=patient.id,
        pixels=np.asarray(reply["pictures"][0], np.uint8),
        warnings=tuple(reply["problems"]),
    )


def _drawn(ecg: Ecg, context: ToolContext) -> Artifact | None:
    """Return a picture of an ECG: its own, or a waveform as on ECG paper."""
    pixels = ecg.pixels
    if ecg.path:
        reply = call(context, "waveform_picture_entry", path=ecg.path)
        pixels = np.asarray(reply["pixels"], np.uint8)
    if pixels is None:
        return None
    path = save_png(pixels, context.out_dir, "ecg")
    context.images.add_derived(path, None)
    return Artifact(path, "image", "ECG", f"ECG, {ecg.date or 'no date'}")


def _searched(patient: Patient | None) -> str:
    who = named(patient) if patient else "the patient"
    return (
        f"No ECG of {who}: not among open waveforms, in the DICOM folder, as SampledData of the "
        "record or in observations.csv"
    )


def _load_ecg(args: LoadEcgInput, context: ToolContext) -> ToolResult:
    patient, ecg = _find(args, context)
    output: JsonDict = {
        "patient": whose(patient) if patient else None,
        "ecg_available": ecg is not None,
        "kind": ecg.kind if ecg else "",
        "source": ecg.source if ecg else "",
        "date": (ecg.date or None) if ecg else None,
        "entry": (ecg.entry or None) if ecg else None,
        "leads": list(ecg.leads) if ecg else [],
        "sampling_rate_hz": ecg.rate or None if ecg else None,
        "seconds": None,
        "image_path": None,
        "annotations": list(ecg.annotations) if ecg else [],
    }
    if ecg is None:
        return result(context, f"{_searched(patient)}.", output)
    if ecg.samples is not None:
        output["seconds"] = ecg.samples.shape[1] / ecg.rate
    picture = _drawn(ecg, context)
    output["image_path"] = str(picture.path) if picture else None
    parts = [f"ECG of {_of(patient)} from {ecg.source}, {ecg.date or 'no date'}"]
    parts[0] += f" [{ecg.entry}]" if ecg.entry else ""
    if ecg.samples is not None:
        parts.append(f"{len(ecg.leads)} leads, {output['seconds']:.1f} s at {ecg.rate:g} Hz")
    else:
        parts.append("a picture, of which nothing can be measured")
    if ecg.annotations:
        parts.append(f"the file says: {'; '.join(ecg.annotations)}")
    artifacts = [picture] if picture else []
    return result(context, f"{'. '.join(parts)}.", output, artifacts, ecg.warnings)


def _of(patient: Patient | None) -> str:
    return named(patient) if patient else "a patient who is not in the record"


def _analyze_ecg_for_rhythm(args: EcgInput, context: ToolContext) -> ToolResult:
    patient, ecg = _find(args, context)
    owner = patient.id if patient else ecg.owner if ecg else ""
    if ecg is None:
        reason = _searched(patient)
        output = _unmeasured(owner, False, "no ECG", reason, {"reason": reason})
        return result(context, f"{reason}.", output)
    about: JsonDict = {
        "source": ecg.source,
        "kind": ecg.kind,
        "date": ecg.date or None,
        "entry": ecg.entry or None,
        "file_annotations": list(ecg.annotations),
        "warnings": list(ecg.warnings),
    }
    if ecg.samples is None:
        return _from_picture(args, context, patient, ecg, about)
    require_packages("Measuring an ECG", "neurokit2")
    context.progress(0.3, "Measuring the ECG")
    measured = call(
        context,
        "measure_entry",
        samples=ecg.samples,
        leads=list(ecg.leads),
        rate=ecg.rate,
        timeout_s=_TIMEOUT_S,
    )
    if not measured["measured"]:
        reason = str(measured["reason"])
        output = _unmeasured(owner, True, "not determined", reason, {**about, "reason": reason})
        return result(context, f"ECG of {_of(patient)}: not measured, since {reason}.", output)
    output = rhythm_output(owner, measured, about)
    cited = f" [{ecg.entry}]" if ecg.entry else ""
    summary = (
        f"ECG of {_of(patient)}, {ecg.date or 'no date'}{cited}: {output['rhythm']}. "
        f"{_intervals_text(measured)}. Atrial fibrillation: "
        f"{_afib_text(output['afib_detected'])}; {measured['why']}. "
        f"Confidence {output['confidence']}. {output['clinical_significance']}"
    )
    if ecg.annotations:
        summary += f" The file itself says: {'; '.join(ecg.annotations)}."
    return result(context, summary, output, (), ecg.warnings)


def _unmeasured(owner: str, available: bool, rhythm: str, reason: str, about: JsonDict) -> JsonDict:
    nothing: JsonDict = {"measured": False, "reason": reason}
    return {
        "patient_id": owner,
        "ecg_available": available,
        "rhythm": rhythm,
        "afib_detected": None,
        "rr_intervals": dict(nothing),
        "p_waves": dict(nothing),
        "baseline": dict(nothing),
        "confidence": "none",
        "clinical_significance": f"None can be stated: {reason}.",
        "raw_analysis": about,
    }


def rhythm_output(owner: str, measured: JsonDict, about: JsonDict) -> JsonDict:
    """Return the ten keys for an ECG that was measured; `measured` as of `measure_entry`."""
    repeat = measured["p_repeat"]
    present = None if repeat is None else repeat >= _P_REPEAT
    if repeat is not None and 0.3 < repeat < _P_REPEAT:
        present = None
    confidence = _confidence(measured)
    return {
        "patient_id": owner,
        "ecg_available": True,
        "rhythm": rhythm_text(measured, present),
        "afib_detected": measured["fibrillation"],
        "rr_intervals": {
            "count": len(measured["rr_ms"]),
            "mean_ms": measured["rr_mean_ms"],
            "sd_ms": measured["rr_sd_ms"],
            "min_ms": min(measured["rr_ms"]),
            "max_ms": max(measured["rr_ms"]),
            "regular": measured["regular"],
            "entropy": measured["entropy"],
            "values_ms": measured["rr_ms"],
        },
        "p_waves": {
            "present": present,
            "repeating_share": repeat,
            "upright": measured["p_upright"],
            "pr_ms": measured["pr_ms"],
        },
        "baseline": {
            "noise_mv": measured["noise"],
            "wander_mv": measured["wander"],
            "quality": "noisy" if measured["noise"] > 0.05 else "good",
        },
        "confidence": confidence,
        "clinical_significance": _significance(measured),
        "raw_analysis": {
            **about,
            "method": _METHOD,
            "lead": measured["lead"],
            "seconds": measured["seconds"],
            "beats": measured["beats"],
            "r_peaks_s": measured["r_peaks_s"],
            "heart_rate_per_min": measured["heart_rate"],
            "qrs_ms": measured["qrs_ms"],
            "qt_ms": measured["qt_ms"],
            "qtc_fridericia_ms": measured["qtc_fridericia_ms"],
            "qtc_bazett_ms": measured["qtc_bazett_ms"],
            "fibrillation_reason": measured["why"],
        },
    }


def rhythm_text(measured: JsonDict, p_present: bool | None) -> str:
    """Return the rhythm in words that the measures allow."""
    rate = measured["heart_rate"]
    speed = "bradycardia" if rate < _SLOW else "tachycardia" if rate > _FAST else ""
    told = f"{rate:.0f}/min"
    if measured["fibrillation"]:
        return f"atrial fibrillation, ventricular rate {told}"
    regular = measured["regular"]
    if regular and p_present and measured["p_upright"] and measured["lead"] in ("I", "II"):
        return f"sinus {speed or 'rhythm'}, {told}"
    what = "regular rhythm" if regular else "irregular rhythm"
    waves = {True: "with P waves", False: "without P waves that repeat", None: "P waves uncertain"}
    more = f", {speed}" if speed else ""
    return f"{what} {waves[p_present]}, {told}{more}, not classified further"


def _confidence(measured: JsonDict) -> str:
    if measured["fibrillation"] is None or measured["noise"] > 0.1:
        return "low"
    enough = measured["beats"] >= 20 and measured["noise"] <= 0.05
    return "high" if enough else "moderate"


def _significance(measured: JsonDict) -> str:
    parts: list[str] = []
    rate = measured["heart_rate"]
    if measured["fibrillation"]:
        parts.append(
            "Signs of atrial fibrillation: a diagnosis needs a physician's reading of 30 s or of a "
            "12-lead ECG (ESC)."
        )
    elif measured["fibrillation"] is None:
        parts.append("Atrial fibrillation is neither shown nor excluded by this recording.")
    if rate < _SLOW or rate > _FAST:
        parts.append(f"The rate is {'below 60' if rate < _SLOW else 'above 100'}/min.")
    if not measured["regular"] and not measured["fibrillation"]:
        parts.append("RR intervals vary; ectopic beats, sinus arrhythmia or block were not sorted.")
    parts.append(
        "Intervals are automatic, of one lead, and may be off by tens of ms; a physician reads the "
        "ECG."
    )
    return " ".join(parts)


def _intervals_text(measured: JsonDict) -> str:
    names = {
        "pr_ms": "PR",
        "qrs_ms": "QRS",
        "qt_ms": "QT",
        "qtc_fridericia_ms": "QTc (Fridericia)",
        "qtc_bazett_ms": "QTc (Bazett)",
    }
    told = [
        f"{title} {measured[key]:.0f} ms" if measured[key] else f"{title} not measurable"
        for key, title in names.items()
    ]
    rr = f"Heart rate {measured['heart_rate']:.0f}/min, RR {measured['rr_mean_ms']:.0f} ms "
    rr += f"(SD {measured['rr_sd_ms']:.0f} ms, {measured['beats']} beats, lead {measured['lead']})"
    return f"{rr}, {', '.join(told)}"


def _afib_text(detected: bool | None) -> str:
    return {True: "detected", False: "not detected", None: "not decided"}[detected]


def _from_picture(
    args: EcgInput, context: ToolContext, patient: Patient | None, ecg: Ecg, about: JsonDict
) -> ToolResult:
    """Return what can be said of an ECG that is only a picture."""
    reason = (
        "the record has only a picture of the ECG: without samples, neither RR intervals nor P "
        "waves can be measured"
    )
    picture = _drawn(ecg, context)
    artifacts = [picture] if picture else []
    rhythm, warnings, said = "not determined", list(ecg.warnings), ""
    model = context.model
    if picture is not None and model is not None and model.sees:
        prompts = image_prompts()
        asked = prompts["modalities"]["ECG"]
        if args.clinical_context.strip():
            asked += "\n\n" + prompts["question"].format(question=args.clinical_context.strip())
        try:
            said = model.ask(asked, system=prompts["system"], images=[str(picture.path)]).strip()
        except Cancelled:
            raise
        except SightlineError as error:  # the user said no, or the model failed
            warnings.append(f"{model.name} did not look at the picture: {error.reason}")
    if said and model is not None:
        about["picture_reading"] = {"model": model.name, "text": said, "verified": False}
        line = next((x for x in said.splitlines() if x.strip().upper().startswith("RHYTHM:")), "")
        read = line.partition(":")[2].strip()
        if read:
            rhythm = f"{read} (read from the picture by {model.name}, not measured)"
    elif not said:
        warnings.append("no model that accepts pictures has looked at it")
    owner = patient.id if patient else ecg.owner
    output = _unmeasured(owner, True, rhythm, reason, about)
    about["image_path"] = str(picture.path) if picture else None
    summary = f"ECG of {_of(patient)}, {ecg.date or 'no date'}: {reason}. Rhythm: {rhythm}."
    return result(context, summary, output, artifacts, warnings)


TOOLS = (
    RecordTool(
        _load_ecg,
        name="load_ecg",
        title="Load an ECG",
        icon="activity",
        description=(
            "Loads a patient's ECG (DICOM waveform, SampledData of the record, or a picture in "
            "observations.csv), shows it, and says what it is. It measures nothing."
        ),
        Input=LoadEcgInput,
        Output=LoadEcgOutput,
        timeout_s=_TIMEOUT_S,
        paths={"ecg_path": "text"},
        phrases=("load the ecg", "show the ecg"),
    ),
    RecordTool(
        _analyze_ecg_for_rhythm,
        name="analyze_ecg_for_rhythm",
        title="Measure the ECG's rhythm",
        icon="activity",
        description=(
            "Measures a patient's ECG: heart rate, RR intervals, P waves, PR, QRS, QT, QTc; "
            "whether atrial fibrillation is shown by irregular RR intervals and missing P "
            "waves. Needs a waveform; of a picture it only says what a vision model reads, "
            "marked as not measured."
        ),
        Input=EcgInput,
        Output=EcgOutput,
        needs=(Need("package", "neurokit2"),),
        approval=Approval.COMPUTE,
        timeout_s=_TIMEOUT_S,
        paths={"ecg_path": "text"},
        phrases=("ecg rhythm", "atrial fibrillation on the ecg", "qtc"),
    ),
)
