"""Names and icons of the kinds of content, for lists and pages."""

from __future__ import annotations

from dataclasses import dataclass

from app.imaging.studies.instance_lists import frame_count
from app.imaging.types import Content, Series


@dataclass(frozen=True, slots=True)
class ContentName:
    """The icon, the singular and the plural name of a kind of content."""

    icon: str  # where there is no thumbnail
    one: str
    many: str
    thumbnail: bool = False


CONTENT_NAMES = {
    Content.IMAGE: ContentName("image", "image", "images", thumbnail=True),
    Content.SEGMENTATION: ContentName("shapes", "segmentation", "segmentations"),
    Content.STRUCTURES: ContentName("spline", "set of contours", "sets of contours"),
    Content.PRESENTATION: ContentName("pen-line", "presentation state", "presentation states"),
    Content.KEY_OBJECTS: ContentName("star", "selection of key images", "selections of key images"),
    Content.REPORT: ContentName("file-text", "report", "reports"),
    Content.DOCUMENT: ContentName("file-text", "document", "documents", thumbnail=True),
    Content.WAVEFORM: ContentName("activity", "waveform", "waveforms"),
    Content.OTHER: ContentName("file-question-mark", "not displayable", "not displayable"),
}


def counted(count: int, one: str, many: str = "") -> str:
    """Return a count with its noun, e.g. "2,000 images"; the plural is `many` or `one` + "s"."""
    return f"{count:,} {one if count == 1 else many or one + 's'}"


def amount(series: Series) -> str:
    """Return the size of a series as text, e.g. "135 images", "2 images, 40 frames", "3 pages"."""
    name, count = CONTENT_NAMES[series.content], len(series.instances)
    frames = frame_count(series.instances)
    match series.content:
        case Content.IMAGE if count == 1 and frames > 1:
            return counted(frames, "frame")
        case Content.IMAGE if frames > count:
            return f"{counted(count, 'image')}, {counted(frames, 'frame')}"
        case Content.IMAGE:
            return counted(count, "image")
        case Content.DOCUMENT:
            pages = counted(frames, "page")
            return pages if count == 1 else f"{counted(count, name.one)}, {pages}"
        case Content.SEGMENTATION:
            noun = name.one if count == 1 else counted(count, name.one)
            return f"{noun}, {counted(frames, 'frame')}"
        case Content.KEY_OBJECTS:
            marked = len({uid for one in series.instances for uid in one.references})
            return counted(marked, "key image")
        case Content.OTHER:
            return name.one if count == 1 else f"{counted(count, 'object')}, {name.many}"
        case _:
            return name.one if count == 1 else counted(count, name.one, name.many)
