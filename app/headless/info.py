"""The command `info`: print studies, series, records, and each problem with its reason."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydicom.uid import UID

from app.agent.json_forms import plain
from app.errors import FileProblem, printable
from app.headless.common import open_program, print_json
from app.headless.record_sources import print_record
from app.imaging.decode import Decoder
from app.imaging.layers import Layer
from app.imaging.presentation import PresentationState
from app.imaging.report import report_text
from app.imaging.space.stacks import stack_geometry
from app.imaging.types import Content, Instance, ScanResult, Series, Study
from app.records.record_files import split_sources
from app.workspace.studies import instances_of, key_of

_READ = (Content.REPORT, Content.KEY_OBJECTS)

_PARTS = {
    Content.SEGMENTATION: ("segment", "segments"),
    Content.STRUCTURES: ("region", "regions"),
    Content.PRESENTATION: ("graphic layer", "graphic layers"),
}


@dataclass(frozen=True, slots=True)
class ObjectFacts:
    """Facts about an object drawn over images: segmentation, structure set or presentation state.

    Attributes:
        title: The object's label or description.
        parts: The (number, name) of each of its segments, regions or graphic layers.
        warnings: Warnings for the user, or the reason why the object cannot be read.
        noun: The word for one of its parts, in singular and plural.
    """

    title: str
    parts: tuple[tuple[int, str], ...]
    warnings: tuple[str, ...]
    noun: tuple[str, str]


Objects = Mapping[int, ObjectFacts]


def info(sources: Sequence[Path], *, as_json: bool) -> int:
    """Print the content of files, folders or archives; return the exit code, 1 if none can be read.

    Of patients' records (FHIR) that is the number of resources by type.

    If a source is itself a report, the report's text is printed too, unless `as_json`.
    """
    with open_program() as program:
        records, images = split_sources(sources)
        opened = program.record_library.open(records) if records else None
        result = program.decoder.scan(images).result() if images else ScanResult((), ())
        objects = _object_facts(program.decoder, result)
        if as_json:
            studies = [_study_json(study, objects) for study in result.studies]
            record = {} if opened is None else {"record": plain(opened)}
            print_json({"studies": studies, "problems": plain(result.problems), **record})
        else:
            _print_result(result, objects)
            _print_reports(program.decoder, result, sources)
            if opened is not None:
                print_record(opened)
    return 0 if result.studies or (opened is not None and opened.counts) else 1


def _study_json(study: Study, objects: Objects) -> dict[str, Any]:
    fields = plain(study)
    fields["key"] = key_of(study)
    for made, series in zip(fields["series"], study.series, strict=True):
        made["key"] = series.key
        made["content"] = series.content.value
        made["stack"] = plain(stack_geometry(series))
        for item, instance in zip(made["instances"], series.instances, strict=True):
            item["references"] = list(instance.references)
            about = objects.get(id(instance))
            if about is not None:
                item["title"] = about.title
                item["parts"] = [{"number": number, "label": name} for number, name in about.parts]
                item["warnings"] = list(about.warnings)
        if len(series.instances) > 1:
            for item, instance in zip(made["instances"], series.instances, strict=True):
                if instance.frames > 1:
                    item["stack"] = plain(stack_geometry(instance))
    return fields


def _print_result(result: ScanResult, objects: Objects) -> None:
    for study in result.studies:
        _print("  ".join(part for part in (f"Study {study.uid}", study.date, study.title) if part))
        _print_warnings(study.warnings, "  ")
        for series in study.series:
            _print_series(series, objects)
    for problem in result.problems:
        kind = "Note" if problem.remark else "Problem"
        _print(f"{kind}: {problem.path}: {problem.reason}. {problem.remedy}".rstrip())


def _print_series(series: Series, objects: Objects) -> None:
    part = f"[{series.split}]" if series.split else ""
    named = (f"Series {series.key}", series.modality, series.description, part)
    _print("  " + "  ".join(text for text in named if text))
    frames = sum(instance.frames for instance in series.instances)
    amount = _count(len(series.instances), "file")
    if series.instances and series.instances[0].has_frames and frames > len(series.instances):
        amount += f", {_count(frames, 'frame')}"
    _print(f"    {series.content.value}, {amount}")
    if series.order and len(series.instances) > 1:
        _print(f"    sorted by {series.order}")
    stack = stack_geometry(series)
    if stack is not None:
        size = " x ".join(str(count) for count in stack.size)
        spacing = " x ".join(f"{step:.6g}" for step in stack.spacing)
        resampled = "" if stack.regular else ", resampled"
        _print(f"    volume of {size} voxels, {spacing} mm{resampled}")
    _print_warnings(series.warnings, "    ")
    for item in series.instances:
        _print(f"    {item.path}  {_instance_text(item)}".rstrip())
        about = objects.get(id(item))
        if about is not None:
            _print_object(about)


def _print_object(about: ObjectFacts) -> None:
    if about.title:
        _print(f"      {about.title}")
    if about.parts:
        noun = about.noun[len(about.parts) != 1]
        names = ", ".join(f"{number} {name}" for number, name in about.parts)
        _print(f"      {len(about.parts)} {noun}: {names}")
    _print_warnings(about.warnings, "      ")


def _instance_text(item: Instance) -> str:
    size = f"{item.columns} x {item.rows}" if item.rows and item.columns else ""
    pages = "page" if item.content is Content.DOCUMENT else "frame"
    frames = _count(item.frames, pages) if item.frames > 1 else ""
    about = f"about {_count(len(item.references), 'object')}" if item.references else ""
    syntax = item.get("TransferSyntaxUID")
    name = UID(syntax).name if syntax else ""
    return ", ".join(part for part in (size, frames, about, name, item.note) if part)


def _print_warnings(warnings: Sequence[str], indent: str) -> None:
    for warning in warnings:
        _print(f"{indent}Warning: {warning}")


def _print_reports(decoder: Decoder, result: ScanResult, sources: Sequence[Path]) -> None:
    named = {source.absolute() for source in sources}
    for item in instances_of(result.studies):
        if item.content in _READ and item.path in named:
            _print_report(decoder, item)


def _print_report(decoder: Decoder, item: Instance) -> None:
    try:
        text = report_text(decoder.report(item).result())
    except FileProblem as problem:
        _print(f"Problem: {item.path}: {problem.reason}. {problem.remedy}".rstrip())
        return
    print("\n" + printable(text, lines=True))


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


def _print(line: str) -> None:
    print(printable(line))


def _object_facts(decoder: Decoder, result: ScanResult) -> dict[int, ObjectFacts]:
    """Return the facts of all objects drawn over images, by `id()` of their instance."""
    items = [item for item in instances_of(result.studies) if item.content in _PARTS]
    # All are requested before the first is waited for, so that the workers read them in parallel.
    requests = [(item, _request(decoder, item)) for item in items]
    return {id(item): _facts_from(item, answer) for item, answer in requests}


def _request(decoder: Decoder, item: Instance) -> Future[PresentationState] | Future[Layer]:
    if item.content is Content.PRESENTATION:
        return decoder.presentation(item)
    return decoder.layer(item)


def _facts_from(item: Instance, answer: Future[PresentationState] | Future[Layer]) -> ObjectFacts:
    noun = _PARTS[item.content]
    try:
        found = answer.result()
    except FileProblem as problem:
        return ObjectFacts("", (), (problem.reason,), noun)
    layer = found.layer if isinstance(found, PresentationState) else found
    parts = tuple((part.number, _plain(part.label)) for part in layer.items)
    warnings = tuple(dict.fromkeys((*layer.warnings, *found.warnings)))
    return ObjectFacts(_plain(layer.title), parts, warnings, noun)


def _plain(text: str) -> str:
    return " ".join(text.split())
