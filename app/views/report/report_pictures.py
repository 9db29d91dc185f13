"""Pictures of a report: the images of its findings and the key images, with accepted marks only."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from PySide6.QtGui import QImage

from app.imaging.decode import Decoder
from app.imaging.findings import Box, ComparedRegion, Finding, Geometry
from app.imaging.reports.sentences import date_text, label_of, name_in, text
from app.imaging.types import ImageRef, Instance
from app.views.canvas.annotated_render import Look, Marks, render_annotated
from app.views.canvas.corner_text import Detail
from app.views.canvas.image_layer import to_qimage
from app.workspace import drawing
from app.workspace.annotations import Annotation

MOST = 8
"""Pictures of one report."""


@dataclass(frozen=True, slots=True)
class ReportPicture:
    """One frame of an image, and the findings to draw on it.

    `date` is its Study Date where the pictures are of several studies, else "".
    """

    ref: ImageRef
    instance: Instance
    annotations: tuple[Annotation, ...] = field(default=())
    date: str = ""

    @property
    def findings(self) -> list[str]:
        """Ids of the findings on it."""
        return [one.finding.id for one in self.annotations if one.finding.id]

    def title(self, language: str) -> str:
        """Return what the report calls the findings on it, each once, and its date."""
        labels = dict.fromkeys(name_in(language, label_of(one.finding)) for one in self.annotations)
        named = ", ".join(labels) or text("key_image", language)
        return f"{named}, {date_text(self.date, language)}" if self.date else named


def pictures_of(
    findings: Iterable[Finding],
    image_of: Callable[[str], Instance | None],
    keys: Iterable[ImageRef] = (),
    colors: Mapping[str, Annotation] | None = None,
) -> list[ReportPicture]:
    """Return the pictures of a report, those of findings first, `MOST` at most.

    Of a compared finding these are both images, each with the region that is marked on it.

    Args:
        findings: The accepted findings that the report tells.
        image_of: Returns the acquired image with a SOP Instance UID, or None.
        keys: Key images.
        colors: Annotations of the window, by finding, for their colours.
    """
    frames: dict[ImageRef, list[Annotation]] = {}
    for number, one in enumerate(findings):
        if one.plane is None:
            known = colors.get(one.id) if colors else None
            color, tint = (known.color, known.tint) if known else (number, "")
            frames.setdefault(one.image, []).append(Annotation(one, color, tint=tint))
            for region in one.compared:
                mark = Annotation(_marked(one, region), color, tint=tint)
                frames.setdefault(region.image, []).append(mark)
    for ref in keys:
        frames.setdefault(ref, [])
    made: list[ReportPicture] = []
    for ref, marks in frames.items():
        instance = image_of(ref.sop_instance_uid)
        if instance is not None and instance.has_frames and len(made) < MOST:
            made.append(ReportPicture(ref, instance, tuple(_each_once(marks))))
    dates = [one.instance.get("StudyDate") for one in made]
    if len(set(dates)) > 1:
        made = [replace(one, date=date) for one, date in zip(made, dates, strict=True)]
    return made


def _marked(compared: Finding, region: ComparedRegion) -> Finding:
    """Return a compared region as a mark to draw, which is no finding of the workspace."""
    return replace(
        compared,
        id="",
        image=region.image,
        geometry=Box(*region.box),
        label=label_of(compared),
        measurements=(),
        rests_on=(),
        compared=(),
        original=None,
    )


def _each_once(marks: Sequence[Annotation]) -> Iterable[Annotation]:
    """Yield marks without the compared regions that a finding of the report is drawn at."""
    own = [one.finding.geometry for one in marks if one.finding.id]
    drawn: list[Geometry] = []
    for one in marks:
        shape = one.finding.geometry
        if one.finding.id:
            yield one
        elif shape not in own and shape not in drawn:
            drawn.append(shape)
            yield one


def drawn(picture: ReportPicture, decoder: Decoder) -> QImage:
    """Return a picture without names, its marks drawn; call this on a background thread.

    Raises:
        FileProblem: The image cannot be read.
    """
    frame = decoder.frame(picture.instance, picture.ref.frame).result()
    same = [one for one in picture.annotations if frame.shows(one.finding.image)]
    makers = tuple(
        (one.finding.id, one.finding.provenance.tool)
        for one in same
        if not drawing.by_hand(one.finding)
    )
    pixels = render_annotated(
        frame,
        picture.instance,
        frame_index=picture.ref.frame,
        marks=Marks(tuple(same), makers),
        look=Look(detail=Detail.NO_NAMES),
    )
    return to_qimage(pixels).copy()


def all_drawn(
    pictures: Sequence[ReportPicture], decoder: Decoder, language: str
) -> list[tuple[str, QImage]]:
    """Return (title, picture) of each; call this on a background thread."""
    return [(one.title(language), drawn(one, decoder)) for one in pictures]
