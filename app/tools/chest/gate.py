"""What a chest model may be given: frontal chest radiographs. Anything else is refused, and why.

CT slices, ultrasound and laterals must not reach these models: they answer with confidence on
whatever they are shown. Attributes err, so the user (and nobody else) may say that it is a chest
radiograph all the same; every result then says so.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from app.imaging.files import synthetic
from app.imaging.pixels import pipeline, windows
from app.imaging.types import Instance
from app.tools.api import ImageSnapshot, ToolContext, ToolFailed, ToolRetry
from app.tools.chest import view_check
from app.tools.chest.pictures import MIRRORED, MIRRORED_NOTE, grey, model_pixels
from app.tools.chest.stated_view import Position, stated_view
from app.tools.models.store import ModelStore

RADIOGRAPHY = frozenset({"CR", "DX", "RG", "XR"})
"""Modality (0008,0060) of projection radiographs: computed, digital, film; XR is seen too."""
SECONDARY_CAPTURE = "1.2.840.10008.5.1.4.1.1.7"
"""Secondary Capture Image Storage and, with more parts, its multi-frame relatives (PS3.4 B.5)."""

_LATERAL_WORD = re.compile(r"\b(LAT|LATERAL|SEITLICH|PROFIL)\b")
_OTHER_PARTS = re.compile(
    r"ABDOMEN|ANKLE|ARM|BRAIN|BREAST|CALCANEUS|CERVICAL|CLAVICLE|COCCYX|COLON|ELBOW|EXTREMITY|"
    r"FACE|FEMUR|FINGER|FOOT|FOREARM|HAND|HEAD|HIP|HUMERUS|JAW|KNEE|KUB|LEG|LUMBAR|"
    r"MANDIBLE|NECK|ORBIT|PATELLA|PELVIS|RADIUS|SACRUM|SCAPULA|SHOULDER|SINUS|SKULL|SPINE|TEETH|"
    r"THIGH|TIBIA|TOE|ULNA|WRIST|ZYGOMA"
)
_CHEST = re.compile(r"CHEST|THORAX|TORAX|LUNG")
_NO_PART = frozenset({"UNKNOWN", "OTHER", "NONE", "NA", "N A"})
_REMEDY = "Open a frontal chest radiograph (PA or AP) and ask again."
_TITLE = "Use this image as a frontal chest radiograph all the same?"
_NO_CODE = re.compile(r"[^A-Z0-9_ ]")
_CODE_LENGTH = 16  # of a Code String, PS3.5 6.2
_DESCRIBED = 64  # of a Long String

COLOUR_SPREAD = 24
"""Difference of a pixel's red, green and blue above which it is coloured."""
COLOUR_LIMIT = 0.2
"""Share of coloured pixels from which a picture is no radiograph."""
COLOUR_DOUBT = 0.002
SMALLEST = 32
"""Rows or columns below which nothing can be seen."""
SMALL = 128
"""Rows or columns below which hardly any sign of a disease can be seen."""
OBLONG = 2.0
"""Longer over shorter side from which it is hardly a radiograph of a chest."""
FEWEST_GREYS = 16
CERTAIN = 0.9
"""Share of the network's view head from which its word alone stops a picture."""
_SAMPLED = 512
"""Rows and columns of a large picture whose greys are counted: all of them take 15 ms a call."""
FLAT = 0.98
"""Share of one grey value from which a picture is no radiograph: an empty document."""


@dataclass(frozen=True, slots=True)
class Admission:
    """An image that may be used.

    Attributes:
        position: The view that the file's attributes state.
        warnings: What makes results doubtful, in plain words.
        overridden: What speaks against the image and was overruled by the user.
    """

    position: Position
    warnings: tuple[str, ...]
    overridden: tuple[str, ...] = ()


@dataclass(slots=True)
class _Look:
    """What was seen so far."""

    position: Position = "unknown"
    frontal: bool = False
    warnings: list[str] = field(default_factory=list[str])
    objections: list[str] = field(default_factory=list[str])


def admit(
    snapshot: ImageSnapshot,
    context: ToolContext | None = None,
    *,
    turns: bool = False,
    needs: Sequence[str] = (),
) -> Admission:
    """Check an image: modality, body part, view, orientation, and the picture itself.

    Args:
        snapshot: The image.
        context: With it the user is asked where something speaks against the image, and a model
            looks at the picture; without it what speaks against it ends the call.
        turns: The tool turns a mirrored image for its model by itself.
        needs: Cards of the models that the tool needs. Where none of them is installed it will fail
            anyway: then nobody is asked, and no model process is started to look.

    Raises:
        ToolFailed: It is no frontal chest radiograph.
        ToolRetry: It is a picture this run made with colours drawn into it.
        Cancelled: The run was stopped while the user was asked.
    """
    if context is not None and needs:
        store = ModelStore(context.models_dir)
        context = context if any(store.has(name) for name in needs) else None
    pixels = _shown(snapshot)
    _check_size(pixels)
    look = _Look()
    _check_modality(snapshot.instance, look)
    _check_body_part(snapshot.instance, look)
    _check_view(snapshot, look)
    _check_orientation(snapshot, look, turns=turns)
    _check_colours(snapshot, look)
    _check_greys(pixels, look)
    _check_negative(snapshot)
    if context is not None and not look.objections:
        _check_picture(snapshot, look, context)
    if look.objections:
        return _overruled(snapshot, look, context)
    return Admission(look.position, tuple(look.warnings))


def _overruled(snapshot: ImageSnapshot, look: _Look, context: ToolContext | None) -> Admission:
    """The admission that the user gives in spite of what speaks against it.

    Raises:
        ToolFailed: They do not, or nobody can be asked.
    """
    reason = "; ".join(look.objections)
    detail = (
        f"Against it speaks: {reason}. Chest models answer with confidence on whatever they are "
        "shown: on an image of anything else their results mean nothing."
    )
    if context is None or not context.confirm(_TITLE, detail, image=snapshot.ref):
        raise ToolFailed(reason, remedy=_REMEDY)
    context.cancel.check()
    _check_picture(snapshot, look, context, overruled=True)  # a negative stays one
    warning = f"used although {reason}: you said that it is to be used; results may mean nothing"
    return Admission(look.position, (warning, *look.warnings), tuple(look.objections))


def _shown(snapshot: ImageSnapshot) -> NDArray[np.uint8]:
    """What is judged: what a model is shown, whatever window was dragged on the screen."""
    as_it_is = snapshot.derived or snapshot.frame.is_color
    return snapshot.display if as_it_is else model_pixels(snapshot)


def _check_size(pixels: NDArray[np.uint8]) -> None:
    rows, columns = pixels.shape[:2]
    if min(rows, columns) < SMALLEST:
        raise ToolFailed(
            f"the image has {columns} x {rows} pixels: too few to see anything", remedy=_REMEDY
        )
    if int(pixels.max()) == int(pixels.min()):
        raise ToolFailed(
            "the image is blank: all of its pixels have the same value",
            remedy="Look whether it was exposed and sent correctly, or open another image.",
        )


def _check_modality(instance: Instance, look: _Look) -> None:
    if instance.kind != "dicom":
        look.warnings.append(
            "a picture without DICOM attributes: that it is a chest radiograph is taken as said"
        )
        return
    modality = _said(instance.get("Modality"))
    if not modality:
        look.warnings.append("the file does not say its modality")
    elif modality not in RADIOGRAPHY:
        look.objections.append(f"this image is {modality}, not a chest radiograph (CR, DX)")
    if instance.get("SOPClassUID").startswith(SECONDARY_CAPTURE):
        look.warnings.append(
            "a secondary capture (a screenshot or a converted picture): its greys and its size may "
            "not be those of the exposure"
        )


def _check_body_part(instance: Instance, look: _Look) -> None:
    part = _said(instance.get("BodyPartExamined"))
    if _CHEST.search(part):
        return
    if not part or part in _NO_PART:
        described = _said(instance.get("SeriesDescription"), _DESCRIBED)
        if _OTHER_PARTS.search(described) and not _CHEST.search(described):
            look.warnings.append("the file's description names a part that is not the chest")
        elif instance.kind == "dicom":
            look.warnings.append("the file does not say which part of the body it shows")
    elif _OTHER_PARTS.search(part):
        look.objections.append(
            f"the file says that this image shows the {part.lower()}, not the chest"
        )
    else:
        look.warnings.append(
            f"the file calls the part of the body {part.lower()}, which may not be the chest"
        )


def _check_view(snapshot: ImageSnapshot, look: _Look) -> None:
    stated = stated_view(snapshot)
    look.position, look.frontal = stated.position, stated.frontal
    look.warnings += stated.doubts
    if stated.objection:
        look.objections.append(stated.objection)
    elif stated.position == "unknown" and not stated.doubts:
        described = _said(snapshot.instance.get("SeriesDescription"), _DESCRIBED)
        if _LATERAL_WORD.search(described):
            look.warnings.append("the file's description names a lateral view")


def _check_orientation(snapshot: ImageSnapshot, look: _Look, *, turns: bool) -> None:
    """The patient's right belongs on the viewer's left, and the head up."""
    orientation = snapshot.frame.orientation
    row, column = orientation.row[:1], orientation.column[:1]
    if row in ("H", "F") or column in ("L", "R"):
        look.objections.append("the file says that the image lies on its side")
    elif not turns and row == "R":
        look.warnings.append(
            "the image is stored mirrored: what the model calls left is the patient's right"
        )
    if not turns and column == "H":
        look.warnings.append("the image is stored upside down, as the model never saw one")


def _check_colours(snapshot: ImageSnapshot, look: _Look) -> None:
    display = snapshot.display
    if display.ndim == 2:
        return
    spread = display.max(axis=2).astype(np.int16) - display.min(axis=2)
    share = float((spread > COLOUR_SPREAD).mean())
    if share <= COLOUR_DOUBT:
        return
    if snapshot.derived:
        raise ToolRetry(
            "this picture has colours drawn into it by a tool; name the original image instead"
        )
    if share >= COLOUR_LIMIT:
        look.objections.append("this is a colour picture, not a radiograph")
    else:
        look.warnings.append("the picture has coloured marks, which may mislead the model")


def _check_greys(pixels: NDArray[np.uint8], look: _Look) -> None:
    rows, columns = pixels.shape[:2]
    step = max(1, min(rows, columns) // _SAMPLED)
    counts = np.bincount(grey(pixels[::step, ::step]).ravel(), minlength=256)
    if float(counts.max()) > FLAT * float(counts.sum()):
        look.objections.append(
            "nearly all of the picture is one grey: an empty exposure, or a document"
        )
    elif int((counts > 0).sum()) < FEWEST_GREYS:
        look.warnings.append("the picture has hardly any greys, as a drawing or a screenshot has")
    if max(rows, columns) > OBLONG * min(rows, columns):
        look.warnings.append(
            f"the image is far from square ({columns} x {rows}): models see its middle at most"
        )
    if min(rows, columns) < SMALL:
        look.warnings.append(
            f"the image is small ({columns} x {rows} pixels): fine signs cannot be seen in it"
        )


def _check_negative(snapshot: ImageSnapshot) -> None:
    """A reversed map of greys makes a negative, in which a model sees air where there is bone."""
    if not snapshot.derived or snapshot.frame.is_color or snapshot.display.ndim != 2:
        return
    step = max(1, min(snapshot.display.shape) // _SAMPLED)
    film = pipeline.render(snapshot.frame, windows.default_window(snapshot.frame))
    made, meant = (part[::step, ::step].astype(np.float32) for part in (snapshot.display, film))
    if float(((made - made.mean()) * (meant - meant.mean())).sum()) < 0:
        raise ToolRetry(
            "a tool has exchanged black and white in this picture; name the original image instead"
        )


def _check_picture(
    snapshot: ImageSnapshot, look: _Look, context: ToolContext, *, overruled: bool = False
) -> None:
    """What the embedded network makes of the picture; it is a doubt where the file says otherwise.

    A small network errs on films that it never saw the like of: it may stop a picture of which
    nothing is known, and not one that whoever took it calls a frontal chest radiograph.
    """
    seen = view_check.look(snapshot, context)
    if seen.mirrored >= MIRRORED:
        look.warnings.append(MIRRORED_NOTE)
    if seen.view in ("frontal", "unknown"):
        return
    stops = seen.view in ("lateral", "other") and seen.certainty >= CERTAIN
    if stops and not overruled and not _stated(snapshot, look, seen.view):
        look.objections.append(seen.why)
    else:
        look.warnings.append(seen.why)


def _stated(snapshot: ImageSnapshot, look: _Look, seen: view_check.View) -> bool:
    """Whether the file says that it is a chest radiograph, or a model drew it as one.

    A lateral is one too: what looks like it must be said to be frontal. Of a picture that a tool
    made what it was made from says so: converted, a screenshot is no more a chest radiograph than
    before.
    """
    instance = snapshot.instance
    if instance.get(synthetic.ATTRIBUTE):
        return True
    radiograph = _said(instance.get("Modality")) in RADIOGRAPHY
    chest = radiograph and bool(_CHEST.search(_said(instance.get("BodyPartExamined"))))
    return chest and (look.frontal or seen != "lateral")


def _said(value: str, length: int = _CODE_LENGTH) -> str:
    """A Code String as it may be; a file could write a sentence of its own into the question."""
    return " ".join(_NO_CODE.sub(" ", value.upper()).split())[:length].strip()
