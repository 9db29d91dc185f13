"""Worker entry points for layers, reports and presentation states.

Each function takes and returns a message for `wire`. The readers of objects are imported only
when they are needed.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from app.errors import FileProblem
from app.imaging.dicom.dicom_file import silence_pydicom
from app.imaging.dicom.instance_attributes import cached_header, uid_of
from app.imaging.exports import OTHER_PIXELS, DicomExport, View
from app.imaging.findings import Finding
from app.imaging.layers import pack_frame
from app.imaging.presentation import presentation_message
from app.imaging.processes.records import pack, unpack
from app.imaging.reading.image_entries import check_uid, check_unchanged, read_frame
from app.imaging.reports.written_report import ReportExport
from app.imaging.space.reformat import SectionCut
from app.imaging.types import ImageRef, Instance

Message = dict[str, Any]


def layer_entry(payload: Message) -> Message:
    """Return as "layer" what the object `payload["instance"]` draws over images (a `Layer`)."""
    from app.imaging.objects.layer_reading import read_layer

    return {"layer": pack(read_layer(_opened(payload, "instance")))}


def labels_entry(payload: Message) -> Message:
    """Return as "layer" what `read_labels` returns for the arguments in the payload."""
    from app.imaging.objects.label_volumes import read_labels

    over = unpack(Instance, payload["over"])
    return {"layer": pack(read_labels(_opened(payload, "instance"), over, payload["slices"]))}


def labels_plane_entry(payload: Message) -> Message:
    """Return as "frame" what the label volume "instance" draws on a plane, by `read_labels_frame`.

    `payload["plane"]` holds the arguments of `PixelGrid`, and "shape" is (rows, columns).
    """
    from app.imaging.objects.label_volumes import read_labels_frame
    from app.imaging.objects.layer_targets import PixelGrid

    grid, shape = PixelGrid(*payload["plane"]), tuple(payload["shape"])
    return {"frame": pack_frame(read_labels_frame(_opened(payload, "instance"), grid, shape))}


def layer_frame_entry(payload: Message) -> Message:
    """Return as "frame" what the object "instance" draws on frame "index" of the image "target"."""
    from app.imaging.objects.layer_reading import read_layer_frame

    target = _opened(payload, "target")
    frame = read_layer_frame(_opened(payload, "instance"), target, payload["index"])
    return {"frame": pack_frame(frame)}


def section_layer_entry(payload: Message) -> Message:
    """Return as "frame" what `read_section_frame` returns for the arguments in the payload."""
    from app.imaging.objects.layer_reading import read_section_frame

    slices = [(unpack(Instance, one["image"]), one["index"]) for one in payload["slices"]]
    cut = unpack(SectionCut, payload["cut"])
    return {"frame": pack_frame(read_section_frame(_opened(payload, "instance"), slices, cut))}


def report_entry(payload: Message) -> Message:
    """Return as "report" the report in the file of `payload["instance"]`."""
    from app.imaging.objects.report_reading import read_report

    return {"report": pack(read_report(_opened(payload, "instance")))}


def report_findings_entry(payload: Message) -> Message:
    """Return as "marks" the marks of the report "instance" on those of the images "images"."""
    from app.imaging.objects.report_findings import read_report_findings

    images = [unpack(Instance, one) for one in payload["images"]]
    marks = read_report_findings(_opened(payload, "instance"), images)
    by_uid = {one.sop_instance_uid: one for one in images}
    known: dict[tuple[str, int], ImageRef] = {}
    found: list[Finding] = []
    for one in marks.findings:
        uid, frame = one.image.sop_instance_uid, one.image.frame
        image = by_uid.get(uid) if one.plane is None else None
        if image is not None:
            if (uid, frame) not in known:
                known[uid, frame] = read_frame(image.path, frame, image.part).ref
            one = replace(one, image=known[uid, frame])
        found.append(one)
    return {"marks": pack(replace(marks, findings=tuple(found)))}


def presentation_entry(payload: Message) -> Message:
    """Return as "state" the presentation state in the file of `payload["instance"]`."""
    from app.imaging.objects.presentation_states import read_presentation

    return {"state": presentation_message(read_presentation(_opened(payload, "instance")))}


def export_entry(payload: Message) -> Message:
    """Return as "file" the bytes of the DICOM object that `payload["export"]` describes.

    "left_out" are (label, reason) of findings that are not in it.
    """
    from app.imaging.objects.writing import write_object

    silence_pydicom()
    export = unpack(DicomExport, payload["export"])
    hashes = _Hashes(export)
    stale = {one.id for one in export.findings if one.plane is None and hashes.differ(one.image)}
    views = tuple(one for one in export.views if not hashes.differ(_ref(one)))
    if export.views and not views:
        raise FileProblem(
            "the key images were marked on other versions of the images, with other pixels",
            subject=str(export.images[0].path),
            remedy="Mark the key images anew.",
        )
    made = write_object(replace(export, views=views), stale)
    lost = [["Key image", OTHER_PIXELS]] * (len(export.views) - len(views))
    left_out = [*lost, *(list(one) for one in made.left_out)]
    return {"file": np.frombuffer(made.data, np.uint8), "left_out": left_out}


def report_export_entry(payload: Message) -> Message:
    """Return as "file" the bytes of the DICOM object of the report `payload["export"]`."""
    from app.imaging.objects.write_report import write_report

    silence_pydicom()
    made = write_report(unpack(ReportExport, payload["export"]))
    return {"file": np.frombuffer(made, np.uint8)}


def _ref(view: View) -> ImageRef:
    return ImageRef(view.sop_instance_uid, view.frame, view.pixel_sha256)


class _Hashes:
    """Pixel hashes of an export's images, read on demand: files of one UID may differ."""

    def __init__(self, export: DicomExport) -> None:
        self._images = {one.sop_instance_uid: one for one in export.images if one.kind == "dicom"}
        self._known: dict[tuple[str, int], str] = {}

    def differ(self, ref: ImageRef) -> bool:
        """Return whether the image that a reference names has other pixels than it says."""
        image = self._images.get(ref.sop_instance_uid)
        if image is None or not ref.pixel_sha256:
            return False
        place = (ref.sop_instance_uid, ref.frame)
        if place not in self._known:
            read = read_frame(image.path, ref.frame, image.part)
            self._known[place] = read.ref.pixel_sha256
        return self._known[place] != ref.pixel_sha256


def _opened(payload: Message, name: str) -> Instance:
    silence_pydicom()
    instance = unpack(Instance, payload[name])
    status = check_unchanged(instance.path, instance.size_bytes, instance.mtime_ns)
    if instance.kind == "dicom":
        header = cached_header(instance.path, status)
        check_uid(instance.path, instance.sop_instance_uid, uid_of(header))
    return instance
