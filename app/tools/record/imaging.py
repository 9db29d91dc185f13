"""Tools on imaging: reports and studies of the record, and the DICOM files beside it."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import Annotated

from pydantic import BaseModel, Field

from app.records.types import Entry, EntryKind, Patient
from app.tools.api import (
    Artifact,
    JsonDict,
    Resource,
    ToolContext,
    ToolFailed,
    ToolInput,
    ToolResult,
    ToolRetry,
    takes,
)
from app.tools.files import save_png
from app.tools.record.clinical_notes import note_json
from app.tools.record.dicom_folder import (
    KnownImage,
    all_images,
    belongs,
    call,
    image_named,
    images_of,
    metadata,
    validate_paths,
)
from app.tools.record.ecg import has_ecg
from app.tools.record.patient_results import (
    DatedInput,
    EntriesOutput,
    PatientInput,
    PatientOutput,
    RecordTool,
    checked_date,
    counted,
    entries_output,
    entry_json,
    left_out_text,
    named,
    new_name,
    patient_of,
    result,
    whose,
)
from app.tools.record.vision import image_prompts, vision_model
from app.tools.tables import table_of, write_table

_SAID = 10
_TIMEOUT_S = 600.0
_RADIOLOGY = re.compile(
    r"radiolog|\bimaging\b|x-?ray|radiograph|\b(?:ct|cat scan|mri?|nmr|pet|rad|rus|xrc|dexa)\b"
    r"|tomograph|magnetic resonance|ultraso|sonogra|mammogra|fluorosc|angiogra|nuclear medicine"
    r"|bone density|LP29684-5",
    re.IGNORECASE,
)
_LABORATORY = re.compile(
    r"\blab|laboratory|patholog|microbiolog|hematolog|chemistry", re.IGNORECASE
)
_REPORT_TYPES = frozenset(("18748-4", "68604-8", "18726-0"))


class ReportsInput(DatedInput):
    """Arguments of `get_radiology_reports`."""

    text: str = Field(
        default="", description='Only reports and studies that contain this: "chest", "CT".'
    )
    limit: int = Field(default=10, ge=1, le=100, description="At most so many reports, the latest.")


class ReportsOutput(EntriesOutput):
    """Radiology reports of the record, verbatim, the latest first."""

    imaging_studies: list[JsonDict] = Field(
        description="The record's imaging studies, with the ids of their reports, often none."
    )


def is_radiology_report(entry: Entry) -> bool:
    """Return whether a report or note is on imaging, by its links, category, codes or name."""
    if any(link.startswith("ImagingStudy/") for link in entry.links):
        return True
    if any(code.code in _REPORT_TYPES for code in entry.codes):
        return True
    category = entry.details.get("category", "")
    if _RADIOLOGY.search(category):
        return True
    if _LABORATORY.search(category):
        return False
    said = " ".join((entry.name, *(code.display for code in entry.codes)))
    return bool(_RADIOLOGY.search(said))


def _get_radiology_reports(args: ReportsInput, context: ToolContext) -> ToolResult:
    patient = patient_of(context, args.patient_id)
    kinds = (EntryKind.REPORT, EntryKind.NOTE, EntryKind.IMAGING)
    since, until = checked_date(args.since, "since"), checked_date(args.until, "until")
    every = context.records.entries(patient.id, kinds, since=since, until=until)
    studies = [one for one in every if one.kind is EntryKind.IMAGING]
    reports = [
        one for one in every if one.kind is not EntryKind.IMAGING and is_radiology_report(one)
    ]
    wanted = args.text.strip().casefold()
    if wanted:
        reports = [one for one in reports if wanted in f"{one.name} {one.text}".casefold()]
        studies = [one for one in studies if wanted in _study_text(one).casefold()]
    output = entries_output(patient, reports, args.limit, note_json)
    output["imaging_studies"] = [_study_json(one, reports) for one in studies]
    parts = [f"Record of {named(patient)}: {counted(len(reports), 'radiology report')}"]
    if reports:
        parts[0] += ": " + "; ".join(
            f"{one.name} ({one.start[:10] or 'no date'}{'' if one.text else ', without text'}) "
            f"[{one.id}]"
            for one in reports[: args.limit]
        )
    if studies:
        told = "; ".join(
            f"{_study_text(one)} ({one.start[:10] or 'no date'}) [{one.id}]"
            for one in studies[:_SAID]
        )
        without = [one for one in output["imaging_studies"] if not one["reports"]]
        parts.append(
            f"{counted(len(studies), 'imaging study', 'imaging studies')}: {told}; "
            f"{len(without)} of them without a report"
        )
    if not reports:
        parts.append("None was made up: what the record does not hold is not known")
    return result(context, f"{'. '.join(parts)}.{left_out_text(output)}", output)


def _study_text(entry: Entry) -> str:
    said = [entry.name, entry.details.get("modality", ""), entry.details.get("body_site", "")]
    return ", ".join(dict.fromkeys(filter(None, said)))


def _study_json(entry: Entry, reports: Sequence[Entry]) -> JsonDict:
    keys = ("modality", "body_site", "series", "instances", "study_instance_uid")
    own = {key: entry.details[key] for key in keys if entry.details.get(key)}
    linked = [one.id for one in reports if entry.id in one.links or one.id in entry.links]
    return {**entry_json(entry), **own, "reports": linked}


class ScanInput(ToolInput):
    """Arguments of `scan_dicom_directory` and, with them, filters of images."""

    modality: str = Field(
        default="", description="Only this value of Modality, as `values` has it."
    )
    body_part: str = Field(default="", description="Only BodyPartExamined that contains this.")
    description: str = Field(
        default="", description="Only study or series descriptions that contain this."
    )
    limit: int = Field(default=50, ge=1, le=1000, description="At most so many files.")


class ImagesOutput(BaseModel):
    """DICOM files, and the values that there are."""

    images: list[JsonDict] = Field(description="Each with `file` (its id), modality, ...")
    total: int = Field(description="Files that fit.")
    left_out: int
    values: dict[str, list[str]] = Field(
        description="Values of modality, body_part and series_description that really occur, the "
        "most frequent first."
    )
    counts: dict[str, dict[str, int]] = Field(
        description="How many files have each modality and content."
    )
    body_parts: list[JsonDict] = Field(description="Each body_part, and how many files have it.")
    descriptions: list[JsonDict] = Field(
        description="Each series_description, and how many files have it."
    )
    problems: list[JsonDict] = Field(description="Files that cannot be read, with the reason.")
    folders: dict[str, str] = Field(description="Whether each data folder is there.")


_NO_VALUE = "(none)"
_MOST_VALUES = 100


def _counter(images: Sequence[KnownImage], key: str) -> list[tuple[str, int]]:
    found = Counter(str(metadata(one)[key] or _NO_VALUE) for one in images)
    return found.most_common(_MOST_VALUES)


def _fits(image: KnownImage, args: ScanInput) -> bool:
    facts = metadata(image)
    said = f"{facts['study_description'] or ''} {facts['series_description'] or ''}".casefold()
    wanted = args.modality.strip().casefold()
    return (
        (not wanted or (facts["modality"] or "").casefold() == wanted)
        and args.body_part.strip().casefold() in (facts["body_part"] or "").casefold()
        and args.description.strip().casefold() in said
    )


def _images_output(
    images: Sequence[KnownImage],
    readable: Sequence[KnownImage],
    found: Sequence[KnownImage],
    limit: int,
) -> JsonDict:
    # Free texts may name people: they stand under keys by which they are kept from remote models,
    # never as keys themselves.
    parts = _counter(readable, "body_part")
    described = _counter(readable, "series_description")
    modalities = _counter(readable, "modality")
    values = {"modality": modalities, "body_part": parts, "series_description": described}
    return {
        "images": [metadata(one) for one in found[:limit]],
        "total": len(found),
        "left_out": max(len(found) - limit, 0),
        "values": {
            name: [value for value, _ in counts if value != _NO_VALUE]
            for name, counts in values.items()
        },
        "counts": {"modality": dict(modalities), "content": dict(_counter(readable, "content"))},
        "body_parts": [{"body_part": value, "files": count} for value, count in parts],
        "descriptions": [{"series_description": one, "files": count} for one, count in described],
        "problems": [metadata(one) for one in images if "problem" in one.facts][:_SAID],
        "folders": validate_paths(),
    }


def _counts_text(output: JsonDict) -> str:
    kinds = [f"{value} {count}" for value, count in output["counts"]["modality"].items()]
    parts = [f"{one['body_part']} {one['files']}" for one in output["body_parts"]]
    told = (("Modality", kinds), ("BodyPartExamined", parts))
    return "; ".join(f"{title}: {', '.join(some[:_SAID])}" for title, some in told if some)


def _scan_dicom_directory(args: ScanInput, context: ToolContext) -> ToolResult:
    images = all_images(context)
    readable = [one for one in images if "problem" not in one.facts]
    found = [one for one in readable if _fits(one, args)]
    output = _images_output(images, readable, found, args.limit)
    broken = len(images) - len(readable)
    summary = f"{counted(len(readable), 'DICOM file')}. {_counts_text(output)}."
    if len(found) < len(readable):
        summary += f" {counted(len(found), 'file')} fit the filters."
    summary += f" {counted(broken, 'file')} cannot be read." if broken else ""
    return result(context, summary, output, _images_table(context, found))


def _images_table(context: ToolContext, images: Sequence[KnownImage]) -> list[Artifact]:
    """Write a table of files with their names, for the user; a model is told ids only."""
    if not images:
        return []
    rows = []
    for one in images:
        facts = {key: value for key, value in metadata(one).items() if not isinstance(value, list)}
        size = "x".join(map(str, metadata(one).get("dimensions", ())))
        patient = one.attributes.get("PatientName", "")
        rows.append({**facts, "dimensions": size, "patient": patient, "name": one.path.name})
    path = context.out_dir / f"{new_name('dicom-files')}.csv"
    return [write_table(path, table_of(rows), "DICOM files")]


class MetadataInput(ScanInput):
    """Arguments of `get_dicom_metadata`."""

    patient_id: str | None = Field(
        default=None,
        description="Only images of this patient of the record; left out, all that fit.",
    )
    image_index: int | None = Field(
        default=None, ge=0, description="Only the image with this number, from 0."
    )


class MetadataOutput(ImagesOutput):
    """Metadata of images that fit."""

    patient: dict[str, str] | None


def _get_dicom_metadata(args: MetadataInput, context: ToolContext) -> ToolResult:
    patient = patient_of(context, args.patient_id) if args.patient_id else None
    images = images_of(context, patient) if patient else all_images(context)
    readable = [one for one in images if "problem" not in one.facts]
    found = [one for one in readable if _fits(one, args)]
    if args.image_index is not None:
        if found and args.image_index >= len(found):
            raise ToolRetry(
                f"there are {len(found)} images that fit, numbered from 0",
                remedy=f"Give image_index from 0 to {len(found) - 1}.",
            )
        found = found[args.image_index : args.image_index + 1]
    output = _images_output(images, readable, found, args.limit)
    output["patient"] = whose(patient) if patient else None
    of = f"of {named(patient)} " if patient else ""
    summary = f"{counted(len(found), 'image')} {of}fit."
    summary += " ".join(f" {_image_text(one)}." for one in found[:3])
    if not found:
        summary += f" There are: {_counts_text(output) or 'none'}."
    return result(context, summary, output)


def _image_text(image: KnownImage) -> str:
    facts = metadata(image)
    said = [facts["modality"], facts["body_part"], facts["series_description"], facts["study_date"]]
    size = " x ".join(map(str, facts["dimensions"]))
    return f"{image.id}: {', '.join(str(one) for one in said if one)}, {size}"


class FromPathInput(ToolInput):
    """Arguments of `get_dicom_metadata_from_path`."""

    dicom_path: Annotated[
        str,
        takes(
            Resource.TEXT,
            'A file as scan_dicom_directory lists it ("dicom-12"), or an open one ("image-1").',
        ),
    ]


class FromPathOutput(BaseModel):
    """Metadata of one DICOM file."""

    metadata: JsonDict
    patient: dict[str, str] | None = Field(description="The record's patient whose file it is.")


def _owner(image: KnownImage, context: ToolContext) -> Patient | None:
    """Return the patient of the record whose file this is; None if it is nobody's for certain."""
    wanted = image.attributes.get("PatientID", "")
    stem = re.findall(r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}", image.path.name)
    found: dict[str, Patient] = {}
    for name in filter(None, (wanted, *stem)):
        for one in context.records.patients(name):
            if belongs(image, one):
                found[one.id] = one
    return next(iter(found.values())) if len(found) == 1 else None


def _from_path(args: FromPathInput, context: ToolContext) -> ToolResult:
    image = image_named(context, args.dicom_path)
    if "problem" in image.facts:
        raise ToolFailed(f"{image.id} cannot be read: {image.facts['problem']}")
    owner = _owner(image, context)
    output = {"metadata": metadata(image), "patient": whose(owner) if owner else None}
    of = f", of {named(owner)}" if owner else ""
    return result(context, f"{_image_text(image)}{of}.", output)


class FindImagesOutput(PatientOutput):
    """A patient's images."""

    dicom_files: list[str] = Field(description="Ids of open files and files of the DICOM folder.")
    dicom_count: int
    has_ecg: bool = Field(description="Whether load_ecg has something to look at.")
    imaging_studies: list[JsonDict] = Field(description="Imaging studies that the record names.")
    folders: dict[str, str]


def _find_patient_images(args: PatientInput, context: ToolContext) -> ToolResult:
    patient = patient_of(context, args.patient_id)
    images = images_of(context, patient)
    pictures = [one for one in images if not one.is_waveform]
    studies = context.records.entries(patient.id, (EntryKind.IMAGING,))
    output: JsonDict = {
        "patient": whose(patient),
        "dicom_files": [one.id for one in pictures],
        "dicom_count": len(pictures),
        "has_ecg": has_ecg(context, patient, images),
        "imaging_studies": [_study_json(one, ()) for one in studies],
        "folders": validate_paths(),
    }
    told = "; ".join(_image_text(one) for one in pictures[:_SAID])
    parts = [f"{named(patient)}: {counted(len(pictures), 'DICOM file')} here"]
    parts[0] += f": {told}" if told else ""
    if studies:
        said = "; ".join(
            f"{_study_text(one)} ({one.start[:10] or 'no date'}) [{one.id}]"
            for one in studies[:_SAID]
        )
        parts.append(
            f"The record names {counted(len(studies), 'imaging study', 'imaging studies')}: {said}"
        )
    parts.append("An ECG is there" if output["has_ecg"] else "No ECG was found")
    artifacts = _images_table(context, pictures)
    return result(context, f"{'. '.join(parts)}.", output, artifacts)


class LoadImageInput(PatientInput):
    """Arguments of `load_dicom_image`."""

    image_index: int = Field(
        default=0, ge=0, description="Number of the patient's image, from 0, as in dicom_files."
    )
    file: str = Field(
        default="", description='Instead of a patient: the file\'s id, such as "dicom-12".'
    )
    frame: int | None = Field(
        default=None, ge=0, description="Frame, from 0; left out, the middle one."
    )


class LoadImageOutput(BaseModel):
    """An image that can be looked at."""

    patient: dict[str, str] | None
    file: str
    image_path: str = Field(description="What to give to other tools.")
    frame: int
    frames: int
    metadata: JsonDict


def _load_dicom_image(args: LoadImageInput, context: ToolContext) -> ToolResult:
    if args.file.strip():
        image = image_named(context, args.file)
        owner = _owner(image, context)
    else:
        owner = patient_of(context, args.patient_id)
        found = [one for one in images_of(context, owner) if not one.is_waveform]
        if not found:
            raise ToolFailed(
                f"no DICOM image of {named(owner)} is open or in the DICOM folder",
                remedy="find_patient_images tells which imaging studies the record names.",
            )
        if args.image_index >= len(found):
            raise ToolRetry(
                f"the patient has {counted(len(found), 'image')}, numbered from 0",
                remedy=f"Give image_index from 0 to {len(found) - 1}.",
            )
        image = found[args.image_index]
    frames = int(image.facts.get("frames", 1))
    if args.frame is not None and args.frame >= frames:
        raise ToolRetry(f"the image has {counted(frames, 'frame')}, numbered from 0")
    output: JsonDict = {
        "patient": whose(owner) if owner else None,
        "file": image.id,
        "frames": frames,
        "metadata": metadata(image),
    }
    of = f" of {named(owner)}" if owner else ""
    if image.id.startswith("image-"):
        output |= {"image_path": image.id, "frame": args.frame or 0}
        return result(context, f"{image.id}{of} is open in the viewer.", output)
    reply = call(context, "picture_entry", path=str(image.path), frame=args.frame)
    path = save_png(reply["pixels"], context.out_dir, "dicom")
    context.images.add_derived(path, None)
    output |= {"image_path": str(path), "frame": int(reply["frame"])}
    which = f", frame {output['frame']} of {frames} (from 0)" if frames > 1 else ""
    picture = Artifact(path, "image", "DICOM image", f"Image{of}{which}")
    return result(context, f"Loaded {_image_text(image)}{of}{which}.", output, [picture])


class AnalyzeInput(ToolInput):
    """Arguments of `analyze_medical_image`."""

    image_path: Annotated[
        str, takes(Resource.IMAGE, "The image: an open one, or image_path of load_dicom_image.")
    ]
    question: str = Field(default="", description="What to look for; left out, a description.")
    modality: str = Field(
        default="", description="What kind of image it is, if its file does not say: MR, CT, ECG."
    )


class AnalyzeOutput(BaseModel):
    """What a vision model says of an image."""

    analysis: str
    model: str
    modality: str
    verified: bool = Field(description="False: nobody has checked what the model says.")


def _analyze_medical_image(args: AnalyzeInput, context: ToolContext) -> ToolResult:
    model = vision_model(context, "looking at an image")
    snapshot = context.images.resolve(args.image_path)
    modality = (snapshot.instance.get("Modality") or args.modality).strip().upper()
    prompts = image_prompts()
    asked = prompts["modalities"].get(modality, prompts["modalities"]["other"])
    question = args.question.strip()
    prompt = f"{asked}\n\n{prompts['question'].format(question=question) if question else ''}"
    assert context.model is not None
    context.progress(0.2, f"{model} looks at the image")
    said = context.model.ask(
        prompt.strip(), system=prompts["system"], images=[args.image_path]
    ).strip()
    if not said:
        raise ToolFailed(f"{model} gave no answer", remedy="Ask again, or choose another model.")
    return result(
        context,
        f"{model} says of {args.image_path} (unchecked, not for diagnosis): {said}",
        {"analysis": said, "model": model, "modality": modality or "unknown", "verified": False},
    )


TOOLS = (
    RecordTool(
        _get_radiology_reports,
        name="get_radiology_reports",
        title="Radiology reports",
        icon="file-text",
        description=(
            "Returns the radiology reports of a patient's record, verbatim, and its imaging "
            "studies. Reports are never made up: if the record has none, that is the answer. "
            "It describes no image; other tools do."
        ),
        Input=ReportsInput,
        Output=ReportsOutput,
        phrases=("radiology reports", "imaging reports", "previous reports"),
    ),
    RecordTool(
        _scan_dicom_directory,
        name="scan_dicom_directory",
        title="Scan the DICOM folder",
        icon="folder-open",
        description=(
            "Reads the headers of the DICOM folder and of open DICOM files and counts the "
            "values that really occur (Modality, BodyPartExamined, descriptions). Run it "
            "before filtering: a data set may call an MRI OT and a body part Unknown."
        ),
        Input=ScanInput,
        Output=ImagesOutput,
        timeout_s=_TIMEOUT_S,
        phrases=("scan the dicom directory", "dicom folder", "modalities in the folder"),
    ),
    RecordTool(
        _get_dicom_metadata,
        name="get_dicom_metadata",
        title="DICOM metadata",
        icon="table-properties",
        description=(
            "Returns metadata of DICOM files of the folder and of open ones: modality, body "
            "part, descriptions, date, dimensions; of a patient, or by values that "
            "scan_dicom_directory found. With nothing found it returns the values there are."
        ),
        Input=MetadataInput,
        Output=MetadataOutput,
        timeout_s=_TIMEOUT_S,
        phrases=("dicom metadata",),
    ),
    RecordTool(
        _from_path,
        name="get_dicom_metadata_from_path",
        title="Metadata of a DICOM file",
        icon="table-properties",
        description="Returns the metadata of one DICOM file, by its id or path.",
        Input=FromPathInput,
        Output=FromPathOutput,
        paths={"dicom_path": "text"},
        phrases=("metadata of this file",),
    ),
    RecordTool(
        _find_patient_images,
        name="find_patient_images",
        title="Find a patient's images",
        icon="scan-search",
        description=(
            "Lists a patient's DICOM files (open ones and those of the DICOM folder, matched "
            "by identifier), the imaging studies of the record, and whether there is an ECG."
        ),
        Input=PatientInput,
        Output=FindImagesOutput,
        timeout_s=_TIMEOUT_S,
        phrases=("what images do we have", "older films", "images of the patient"),
    ),
    RecordTool(
        _load_dicom_image,
        name="load_dicom_image",
        title="Load a DICOM image",
        icon="image",
        description=(
            "Makes a picture of a patient's image in the DICOM folder (the middle frame if "
            "none is named), so that it is shown and other tools and models that accept "
            "pictures can look at it."
        ),
        Input=LoadImageInput,
        Output=LoadImageOutput,
        paths={"file": "text"},
        phrases=("load the image", "load the scan"),
    ),
    RecordTool(
        _analyze_medical_image,
        name="analyze_medical_image",
        title="Look at an image with the model",
        icon="scan-search",
        description=(
            "Asks the chosen language model, if it accepts pictures, what an image shows (MRI, "
            "CT, radiograph, ultrasound, ECG, ...). What it says is unchecked."
        ),
        Input=AnalyzeInput,
        Output=AnalyzeOutput,
        timeout_s=300.0,
        phrases=("analyze the medical image", "what does the scan show"),
    ),
)
