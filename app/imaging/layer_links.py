"""Which objects draw over an image, from what the catalogue knows; no file is opened."""

from __future__ import annotations

from collections.abc import Iterable

from app.imaging.types import Content, Instance

_DRAWN_OVER = frozenset({Content.SEGMENTATION, Content.STRUCTURES})


def layers_for(instance: Instance, objects: Iterable[Instance]) -> list[Instance]:
    """The segmentations, structure sets and annotations that may draw over an image.

    Those that name it come first; then those in the same frame of reference of the same study.
    Whether they draw anything on a given frame is for `Decoder.layer_frame` to tell.

    Args:
        instance: The image.
        objects: What is open; others than such objects are passed over.
    """
    named: list[Instance] = []
    near: list[Instance] = []
    for one in objects:
        if one.content not in _DRAWN_OVER or one.sop_instance_uid == instance.sop_instance_uid:
            continue
        if not may_be_same_patient(one, instance):
            continue
        if instance.sop_instance_uid in one.references:
            named.append(one)
        elif _same_space(one, instance):
            near.append(one)
    return named + near


def may_be_same_patient(one: Instance, other: Instance) -> bool:
    """Whether two files may be of one patient: nothing says that they are not."""
    mine, its = one.get("PatientID"), other.get("PatientID")
    return not mine or not its or mine == its


def _same_space(one: Instance, other: Instance) -> bool:
    """Same frame of reference, and the same study or patient."""
    space = one.get("FrameOfReferenceUID")
    if not space or space != other.get("FrameOfReferenceUID"):
        return False
    keys = ("StudyInstanceUID", "PatientID")
    return any(one.get(key) and one.get(key) == other.get(key) for key in keys)
