"""Two images of one patient, taken at different times: whose they are, and which is the earlier."""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import date

from app.imaging.studies.catalogue import Identity, are_different_patients, identity_of
from app.imaging.types import ImageRef, Instance
from app.tools.api import ToolContext, ToolFailed, ToolRetry

_ANONYMOUS_IDS = re.compile(
    r"^(0+|x+|n/?a|none|null|test|patient|unknown|no-?name|anon.*|removed|hidden|"
    r"de-?identified|redacted)$"
)
"""PatientID values, in lower case, that anonymising programs write for every patient."""
_PATIENT = "Compare these two images?"
_TIMES = ("StudyTime", "AcquisitionTime", "ContentTime")


def study_day(instance: Instance) -> date | None:
    """Return an image's StudyDate; None if it is missing or invalid."""
    digits = "".join(char for char in instance.get("StudyDate") if char.isdecimal())
    try:
        return date(int(digits[:4]), int(digits[4:6]), int(digits[6:8]))
    except ValueError:
        return None


def days_between(current: Instance, prior: Instance) -> int | None:
    """Return the number of days from the prior to the current image, by StudyDate.

    Returns:
        Negative if the prior image is the newer one; None if a date is missing or invalid.
    """
    first, second = study_day(prior), study_day(current)
    return None if first is None or second is None else (second - first).days


def is_newer(prior: Instance, current: Instance) -> bool | None:
    """Return True if `prior` was taken after `current`; None if the files do not tell."""
    days = days_between(current, prior)
    if days is None:
        return None
    if days != 0:
        return days < 0
    for name in _TIMES:
        then, now = prior.get(name), current.get(name)
        if then and now and then != now:
            return then > now
    return None


def wrong_order(current: Instance, prior: Instance) -> tuple[bool, list[str]]:
    """Return whether the two images were named in the wrong order, and warnings about the order."""
    newer = is_newer(prior, current)
    if newer is None:
        return False, ["the files do not say which is older: the order is as you named them"]
    if newer:
        return True, ["the image named as the prior is the newer one: they were swapped"]
    return False, []


def check_patient(
    first: tuple[Instance, ImageRef],
    second: tuple[Instance, ImageRef],
    context: ToolContext,
    *,
    remedy: str,
) -> list[str]:
    """Return doubts of identity, asking the user; raise ToolFailed for two patients.

    Where the files name two patients, no yes helps: a wrong pair shows a change that nobody has.
    `remedy` says what to open instead.
    """
    if are_different_patients(first[0], second[0]):
        raise ToolFailed(
            "the files name different patients (Patient ID, name, birth date or sex differ): such "
            "images are never compared",
            remedy="If they are of one patient, have the patient data of the files corrected.",
        )
    if is_same_identity(identity_of(first[0]), identity_of(second[0])):
        return []
    doubt = "the files do not say whether both images are of the same patient"
    detail = f"{doubt[0].upper()}{doubt[1:]}. Only images of one patient can be compared."
    # Consent is remembered by image, but it must not cover another prior of the same image.
    one, other = first[1], second[1]
    prior = (other.sop_instance_uid, str(other.frame), other.pixel_sha256)
    both = replace(one, pixel_sha256=" ".join((one.pixel_sha256, *prior)))
    if not context.confirm(_PATIENT, detail, image=both):
        raise ToolFailed(doubt, remedy=remedy)
    context.cancel.check()
    return [f"compared at your request, although {doubt}"]


def is_same_identity(one: Identity, other: Identity) -> bool:
    """Return whether identities without a conflict match beyond anonymisers' dummy values."""
    ids = {one.patient_id, other.patient_id}
    if all(ids) and not any(_ANONYMOUS_IDS.match(patient_id) for patient_id in ids):
        return True
    return bool(one.birth and other.birth and one.names and other.names)


def shown_images(context: ToolContext) -> list[str]:
    """Return the ids of the images that the window's viewports show, in their order."""
    if context.viewer is None:
        return []
    viewports = context.viewer.state().get("viewports")
    shown = viewports if isinstance(viewports, list) else []
    ids = [str(one.get("image")) for one in shown if isinstance(one, dict)]
    return [one for one in ids if one not in ("", "None")]


def hang_beside(current: ImageRef, prior: ImageRef, context: ToolContext) -> None:
    """Hang two images side by side, the current one at the left."""
    show_in([("left", current), ("right", prior)], context, layout="1x2")


def show_in(images: Sequence[tuple[str, ImageRef]], context: ToolContext, layout: str = "") -> None:
    """Show images in viewports, each given by its number or place, after a new `layout` if any."""
    if context.viewer is None:
        return
    with suppress(ToolFailed, ToolRetry):  # the comparison stands without it
        if layout:
            context.viewer.do("viewer_layout", {"layout": layout}, context)
        for viewport, image in images:
            wanted = {"what": image.sop_instance_uid, "viewport": viewport}
            context.viewer.do("viewer_show", wanted, context)
