"""Read any object that draws over images as a layer. Runs in a worker process."""

from __future__ import annotations

from app.imaging import guards
from app.imaging.dicom.dicom_file import Header
from app.imaging.dicom.instance_attributes import cached_header
from app.imaging.files import sources
from app.imaging.layers import Layer, LayerFrame
from app.imaging.objects.bulk_annotations import read_annotations, read_annotations_frame
from app.imaging.objects.layer_targets import frame_target
from app.imaging.objects.segmentation import read_segmentation, read_segmentation_frame
from app.imaging.objects.structures import read_structures, read_structures_frame
from app.imaging.types import Content, Instance

_MADE_HERE = "reformat"
_BULK_ANNOTATIONS = "1.2.840.10008.5.1.4.1.1.91.1"


def read_layer(instance: Instance) -> Layer:
    """Return a segmentation, RT structure set or microscopy annotation as a layer.

    Raises:
        FileProblem: The object cannot be read, or is not of a kind that draws over images.
    """
    if instance.content is Content.SEGMENTATION:
        return read_segmentation(instance)
    header = _header_of_structures(instance)
    if header.text("SOPClassUID") == _BULK_ANNOTATIONS:
        return read_annotations(instance, header)
    return read_structures(instance)


def read_layer_frame(instance: Instance, target: Instance, index: int) -> LayerFrame:
    """Return the shapes and warnings that an object draws on frame `index` of image `target`.

    Raises:
        FileProblem: The object or the image cannot be read, or the frame does not exist.
    """
    if target.kind == _MADE_HERE:
        return LayerFrame((), ("not drawn on sections through a volume, only on acquired images",))
    frame = frame_target(target, index)
    if instance.content is Content.SEGMENTATION:
        return read_segmentation_frame(instance, frame)
    header = _header_of_structures(instance)
    if header.text("SOPClassUID") == _BULK_ANNOTATIONS:
        return read_annotations_frame(instance, header, frame)
    return read_structures_frame(instance, frame)


def _header_of_structures(instance: Instance) -> Header:
    """Return the header of an RT structure set or a microscopy annotation."""
    if instance.content is not Content.STRUCTURES:
        raise guards.problem(instance.path, "it draws nothing over images")
    return cached_header(instance.path, sources.status(instance.path))
