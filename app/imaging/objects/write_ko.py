"""Key object selections (PS3.3 A.35.4, TID 2010). Runs in a worker process."""

from __future__ import annotations

from highdicom import ko
from pydicom.dataset import Dataset
from pydicom.sr.coding import Code as DicomCode

from app.imaging.exports import TITLES
from app.imaging.objects.writing import Sources


def make(sources: Sources) -> Dataset:
    """Return the selection of an export's views, or without any, of its images."""
    export = sources.export
    wanted: dict[str, list[int]] = {}
    for view in export.views:
        wanted.setdefault(view.sop_instance_uid, []).append(view.frame + 1)
    for finding in export.findings:
        frames = wanted.setdefault(finding.image.sop_instance_uid, [])
        frames.append(finding.image.frame + 1)
    images = [one for one in sources.datasets if not wanted or one.SOPInstanceUID in wanted]
    content = ko.KeyObjectSelection(
        document_title=DicomCode(export.title, "DCM", TITLES[export.title]),
        referenced_objects=images,
        description=export.description or None,
    )
    made = ko.KeyObjectSelectionDocument(
        evidence=images, content=content, manufacturer="Sightline", **sources.new
    )
    for item in made.ContentSequence:
        for reference in item.get("ReferencedSOPSequence", ()):
            dataset = sources.of(reference.ReferencedSOPInstanceUID)
            frames = sorted(set(wanted.get(dataset.SOPInstanceUID, ())))
            if frames and int(dataset.get("NumberOfFrames") or 1) > 1:
                reference.ReferencedFrameNumber = frames
    return made
