"""One row a file: what it is, what Sightline makes of it, and who agrees."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from pydicom.uid import UID

from app.errors import SightlineError
from app.imaging.decode import Decoder
from app.imaging.types import Content, Frame, Instance, ScanResult
from tests.conformance import witness
from tests.conformance.files import Source
from tests.conformance.witness import Gdcm, Verdict


@dataclass(frozen=True, slots=True)
class Row:
    """A line of the table.

    Attributes:
        source: The collection.
        name: Path of the file in it.
        what: Its SOP class or format, and its transfer syntax.
        result: E.g. "shown, 512 x 512, 28 frames" or "refused: the file is cut short".
        kind: "shown", "listed" or "refused".
        verdicts: Of the witnesses.
    """

    source: str
    name: str
    what: str
    result: str
    kind: str
    verdicts: tuple[Verdict, ...] = ()

    @property
    def disputed(self) -> bool:
        """Whether a witness saw something else."""
        return any(verdict.agrees is False for verdict in self.verdicts)


def rows(source: Source, decoder: Decoder, gdcm: Gdcm, folder: Path) -> Iterator[Row]:
    """A row for each file of a collection, each opened by itself."""
    for path in source.files:
        name = str(path.relative_to(source.root))
        result = decoder.scan([path]).result()
        instances = instances_of(result)
        if not instances:
            reason = result.problems[0].reason if result.problems else "passed over"
            yield Row(source.name, name, "", f"refused: {reason}", "refused")
            continue
        yield _row(source.name, name, instances, decoder, gdcm, folder)


def instances_of(result: ScanResult) -> list[Instance]:
    """All instances of a scan, in list order."""
    series = [one for study in result.studies for one in study.series]
    return [instance for one in series for instance in one.instances]


def _row(
    source: str, name: str, instances: list[Instance], decoder: Decoder, gdcm: Gdcm, folder: Path
) -> Row:
    first = instances[0]
    what = _what(first)
    if first.content is Content.OTHER:
        return Row(source, name, what, f"listed: {first.note}", "listed")
    if not first.has_frames:
        return _object_row(source, name, what, first, decoder)
    try:
        frame = decoder.frame(first, 0).result()
        verdicts = _verdicts(first, frame, decoder, gdcm, folder)
    except SightlineError as error:
        return Row(source, name, what, f"refused: {error.reason}", "refused")
    size = f"{frame.columns} x {frame.rows}"
    many = f", {first.frames} frames" if first.frames > 1 else ""
    more = f", {len(instances)} images" if len(instances) > 1 else ""
    return Row(source, name, what, f"shown, {size}{many}{more}", "shown", verdicts)


def _object_row(source: str, name: str, what: str, instance: Instance, decoder: Decoder) -> Row:
    try:
        if instance.content in (Content.REPORT, Content.KEY_OBJECTS):
            report = decoder.report(instance).result()
            return Row(source, name, what, f"shown as a tree: {report.title}", "shown")
        if instance.content is Content.PRESENTATION:
            state = decoder.presentation(instance).result()
            return Row(source, name, what, f"applied to {len(state.images)} images", "shown")
        layer = decoder.layer(instance).result()
    except SightlineError as error:
        return Row(source, name, what, f"refused: {error.reason}", "refused")
    return Row(source, name, what, f"drawn over its images: {len(layer.items)} items", "shown")


def _verdicts(
    instance: Instance, frame: Frame, decoder: Decoder, gdcm: Gdcm, folder: Path
) -> tuple[Verdict, ...]:
    """Of the first and the last frame; a kind of file has the witnesses that can read it."""
    if instance.kind != "dicom":
        return (witness.picture(instance, frame),)
    if instance.content not in (Content.IMAGE, Content.SEGMENTATION):
        return ()
    found = list(_frame_verdicts(instance, 0, frame, gdcm, folder))
    last = instance.frames - 1
    if last > 0:
        end = _frame_verdicts(instance, last, decoder.frame(instance, last).result(), gdcm, folder)
        found += [Verdict(False, f"last frame, {v.text}") for v in end if v.agrees is False]
    return tuple(found)


def _frame_verdicts(
    instance: Instance, index: int, frame: Frame, gdcm: Gdcm, folder: Path
) -> Iterator[Verdict]:
    yield witness.standard(instance, index, frame)
    if np.isfinite(frame.stored.astype(np.float64)).all():
        yield witness.dcmtk(instance, index, frame, folder)
        if not frame.is_color:
            yield gdcm.judge(instance, index, frame)


def _what(instance: Instance) -> str:
    if instance.kind != "dicom":
        return instance.get("Format") or instance.kind
    sop_class = UID(instance.get("SOPClassUID") or "0").name.removesuffix(" Storage")
    syntax = UID(instance.get("TransferSyntaxUID") or "0").name
    return f"{sop_class if sop_class != '0' else 'no SOP class'}; {syntax}"
