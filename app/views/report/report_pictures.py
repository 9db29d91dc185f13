"""Pictures of a report: the images of its findings and the key images, with accepted marks only."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from PySide6.QtGui import QImage

from app.imaging.decode import Decoder
from app.imaging.findings import Finding
from app.imaging.reports.sentences import name_in, text
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
    """One frame of an image, and the findings to draw on it."""

    ref: ImageRef
    instance: Instance
    annotations: tuple[Annotation, ...] = field(default=())

    @property
    def labels(self) -> list[str]:
        """Labels of the findings on it, each once."""
        return list(dict.fromkeys(one.finding.label for one in self.annotations))

    @property
    def findings(self) -> list[str]:
        """Ids of the findings on it."""
        return [one.finding.id for one in self.annotations]


def pictures_of(
    findings: Iterable[Finding],
    image_of: Callable[[str], Instance | None],
    keys: Iterable[ImageRef] = (),
    colors: Mapping[str, Annotation] | None = None,
) -> list[ReportPicture]:
    """Return the pictures of a report, those of findings first, `MOST` at most.

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
    for ref in keys:
        frames.setdefault(ref, [])
    made: list[ReportPicture] = []
    for ref, marks in frames.items():
        instance = image_of(ref.sop_instance_uid)
        if instance is not None and instance.has_frames and len(made) < MOST:
            made.append(ReportPicture(ref, instance, tuple(marks)))
    return made


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
    return [
        (
            ", ".join(name_in(language, label) for label in one.labels)
            or text("key_image", language),
            drawn(one, decoder),
        )
        for one in pictures
    ]
