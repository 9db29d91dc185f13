"""How images that a report refers to are called."""

from __future__ import annotations

from app.imaging.report import ImageLink
from app.views import wording
from app.views.documents.writing import LinkName
from app.workspace.workspace import Workspace

UNKNOWN = "an image that is not open"


def name_of(workspace: Workspace, link: ImageLink) -> LinkName:
    """Its series and number if it is open."""
    instance = workspace.instance_of(link.sop_instance_uid)
    if instance is None or not instance.has_frames:
        return LinkName(UNKNOWN, "", False)
    series = workspace.studies.series_of(instance)
    described = series.description if series else instance.get("SeriesDescription")
    what = wording.one_line(described) or instance.get("Modality") or "Image"
    number = str(instance.number) if instance.number else ""
    frames = ""
    if link.frames:
        listed = ", ".join(str(frame + 1) for frame in link.frames[:8])
        frames = f"frame{'s' if len(link.frames) > 1 else ''} {listed}"
    alone = series is not None and len(series.instances) == 1
    image = f"image {number}" if number and not alone else ""
    text = ", ".join(part for part in (what, image, frames) if part)
    return LinkName(text, " ".join(part for part in (number, frames) if part), True)
