"""Checks whether the chest models, which take frontal chest radiographs only, can use an image."""

from __future__ import annotations

import hashlib
import re
import threading
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from app.imaging.files import synthetic
from app.imaging.pixels import pipeline, windows
from app.imaging.space.projections import BeamDirection, coded_projection
from app.imaging.types import Instance, Orientation
from app.tools.api import ImageSnapshot, ToolContext, ToolFailed, ToolRetry
from app.tools.chest.model_pictures import (
    MIRRORED_NOTE,
    MIRRORED_SHARE,
    NEGATIVE_NOTE,
    Hanging,
    grey,
    model_pixels,
    square_pixels,
)
from app.tools.models.store import InstalledModel, ModelStore

Position: TypeAlias = Literal["PA", "AP", "lateral", "unknown"]
ViewTerm: TypeAlias = BeamDirection | Literal["decubitus"]

ONLY_FRONTAL = "only frontal chest radiographs (PA or AP) can be used"
_LATERAL = r"[LR]?LAT|LATERAL|LATERO\w*|SEITLICH|PROFIL|X-?TABLE"
_POSITIONS: tuple[tuple[re.Pattern[str], ViewTerm], ...] = (
    # First, since a lateral decubitus film is taken from the front.
    (re.compile(r"LLD|RLD|(.*[^A-Z])?DECUB(ITUS)?([^A-Z].*)?"), "decubitus"),
    (re.compile(rf"LL|RL|LLO|RLO|(.*[^A-Z])?(?:{_LATERAL})([^A-Z].*)?"), BeamDirection.LATERAL),
    (re.compile(r"LAO|RAO|LPO|RPO|(.*[^A-Z])?OBL(IQUE)?([^A-Z].*)?"), BeamDirection.OBLIQUE),
    (re.compile(r"PA([^A-Z].*)?"), BeamDirection.PA),
    (re.compile(r"AP.*"), BeamDirection.AP),
)
"""The meaning of each View Position (0018,5101) that machines write, standard or not."""
_FRONTAL = frozenset({BeamDirection.PA, BeamDirection.AP, BeamDirection.FRONTAL, "decubitus"})
_VIEW_OBJECTIONS: tuple[tuple[ViewTerm, str], ...] = (
    (BeamDirection.LATERAL, f"this is a lateral view; {ONLY_FRONTAL}"),
    (BeamDirection.ALONG, "it was taken along the body, not from the front"),
    (BeamDirection.OBLIQUE, f"this is an oblique view; {ONLY_FRONTAL}"),
    (BeamDirection.OTHER, f"this view is not from the front; {ONLY_FRONTAL}"),
)
_DECUBITUS = "a decubitus view: free fluid and air collect elsewhere than on an upright film"


@dataclass(frozen=True, slots=True)
class StatedView:
    """The view (PA, AP, lateral) that the attributes of an image's file state.

    Attributes:
        position: "PA", "AP" or "lateral"; "unknown" for other views, for none, and for PA and AP.
        frontal: True if an attribute calls the film frontal and none calls it anything else.
        objection: Why the film cannot be used as a frontal one, or "" if it can.
        warnings: Reasons for the user to doubt the view: a decubitus film, or contradictions.
    """

    position: Position
    frontal: bool
    objection: str
    warnings: tuple[str, ...]


def stated_view(snapshot: ImageSnapshot) -> StatedView:
    """Return the view of an image according to all attributes of its file that state one."""
    views_by_source = _stated_views(snapshot)
    views = set(views_by_source.values())
    for view, text in _VIEW_OBJECTIONS:
        if view in views:
            position: Position = "lateral" if view is BeamDirection.LATERAL else "unknown"
            also = _disagreement(views_by_source, view)
            return StatedView(position, False, f"the file says that {text}{also}", ())
    if "decubitus" in views:
        return StatedView("unknown", True, "", (_DECUBITUS,))
    if {BeamDirection.PA, BeamDirection.AP} <= views:
        return StatedView(
            "unknown", True, "", (f"the file contradicts itself: {_statements(views_by_source)}",)
        )
    known: Position = (
        "PA" if BeamDirection.PA in views else "AP" if BeamDirection.AP in views else "unknown"
    )
    return StatedView(known, bool(views), "", ())


def _stated_views(snapshot: ImageSnapshot) -> dict[str, ViewTerm]:
    """Return each attribute that states a view, with that view."""
    code = coded_projection(snapshot.instance)
    found: dict[str, ViewTerm | None] = {
        "ViewPosition": _by_position(snapshot.instance.get("ViewPosition")),
        "view code": code.direction if code else None,
        "orientation": _by_orientation(snapshot.frame.orientation),
    }
    return {source: view for source, view in found.items() if view is not None}


def _by_position(text: str) -> ViewTerm | None:
    term = " ".join(text.upper().split())
    return next((view for form, view in _POSITIONS if form.fullmatch(term)), None)


def _by_orientation(orientation: Orientation) -> ViewTerm | None:
    """Return the view by the orientation, or None; lateral and axial run front to back."""
    row, column = orientation.row[:1], orientation.column[:1]
    if row in ("A", "P"):
        return BeamDirection.LATERAL
    if column in ("A", "P"):
        return BeamDirection.ALONG
    return BeamDirection.FRONTAL if row and column else None


def _disagreement(views_by_source: Mapping[str, ViewTerm], view: ViewTerm) -> str:
    """Describe a disagreement of attributes, one of which calls the film frontal; "" for none."""
    stated = views_by_source.items()
    frontal: dict[str, ViewTerm] = {name: term for name, term in stated if term in _FRONTAL}
    against: dict[str, ViewTerm] = {name: term for name, term in stated if term not in _FRONTAL}
    # No contradiction: the rows of an oblique film still run mostly to the left or right.
    if view is BeamDirection.OBLIQUE:
        frontal.pop("orientation", None)
    return f"; but it contradicts itself: {_statements(against | frontal)}" if frontal else ""


def _statements(views_by_source: Mapping[str, ViewTerm]) -> str:
    return ", ".join(f"its {source} says {view}" for source, view in views_by_source.items())


PictureView: TypeAlias = Literal["frontal", "lateral", "other", "inverted", "unknown"]

_ENTRY = "app.tools.chest.thorax_net:look_entry"
_LONGEST_SIDE = 512  # longest side in pixels sent to the network: twice its input size
_TIMEOUT_S = 60.0
_CACHE_SIZE = 64

_PICTURE_OBJECTIONS: dict[PictureView, str] = {
    "frontal": "",
    "lateral": "the picture looks like a lateral view, not a frontal one",
    "other": "the picture does not look like an upright frontal chest radiograph",
    "inverted": NEGATIVE_NOTE,
}


@dataclass(frozen=True, slots=True)
class PictureJudgement:
    """The content of a picture, as judged by a small network.

    Attributes:
        view: "frontal"; "lateral"; "other" (not a chest film, or one that is rotated by 90 or 180
            degrees); "inverted" (a frontal film with black and white exchanged); "unknown" if the
            network could not run.
        certainty: The network's probability for that view, 0..1, not calibrated; 0 for "unknown".
        why: Why the picture should not be used, for the user; "" for a frontal film.
        mirrored: The network's probability, 0..1, that the film is mirrored although it was first
            flipped as its file's orientation requires (`Hanging`).
    """

    view: PictureView
    certainty: float
    why: str = ""
    mirrored: float = 0.0


_judgements: OrderedDict[tuple[str, str], PictureJudgement] = OrderedDict()
_lock = threading.Lock()


def judge_picture(snapshot: ImageSnapshot, context: ToolContext) -> PictureJudgement:
    """Return a small network's judgement of the view that an image shows; results are cached.

    If the network cannot run, for example because packages are missing, the view is "unknown".

    Raises:
        Cancelled: The run was stopped.
    """
    shown = _reduced(square_pixels(model_pixels(snapshot), snapshot.frame.spacing.aspect))
    shown = Hanging.of(snapshot.frame.orientation).turned(shown)
    try:
        model = ModelStore(context.models_dir).require("thorax-net", "The check of the view")
        key = (_digest(shown), model.sha256)
        with _lock:
            known = _judgements.get(key)
        if known is None:
            known = _network_judgement(shown, model, context)
            with _lock:
                _judgements[key] = known
                if len(_judgements) > _CACHE_SIZE:
                    _judgements.popitem(last=False)
        return known
    except ToolFailed as error:
        return PictureJudgement("unknown", 0.0, f"the view could not be checked: {error.reason}")


def _network_judgement(
    shown: NDArray[np.uint8], model: InstalledModel, context: ToolContext
) -> PictureJudgement:
    payload = {"pixels": shown, **model.payload(context.device)}
    answer = context.host.call(_ENTRY, payload, cancel=context.cancel, timeout_s=_TIMEOUT_S)
    view: PictureView = answer["view"]
    mirrored = round(float(answer.get("mirrored", 0.0)), 3)
    return PictureJudgement(
        view, round(float(answer["certainty"]), 3), _PICTURE_OBJECTIONS[view], mirrored
    )


def _reduced(pixels: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Reduce a picture by a whole factor, to send less data to the model process."""
    factor = max(1, max(pixels.shape) // _LONGEST_SIDE)
    if factor == 1:
        return pixels
    return np.asarray(Image.fromarray(pixels).reduce(factor))


def _digest(shown: NDArray[np.uint8]) -> str:
    digest = hashlib.sha256(np.ascontiguousarray(shown).data)
    digest.update(repr(shown.shape).encode())
    return digest.hexdigest()


RADIOGRAPHY = frozenset({"CR", "DX", "RG", "XR"})
"""Values of Modality (0008,0060) for radiographs: computed, digital, film; some files have XR."""
SECONDARY_CAPTURE = "1.2.840.10008.5.1.4.1.1.7"
"""SOP classes of Secondary Capture images, single-frame and multi-frame (PS3.4 B.5)."""

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
_TITLE = "Use this image as a frontal chest radiograph anyway?"
_NO_CODE = re.compile(r"[^A-Z0-9_ ]")
_CODE_LENGTH = 16  # longest Code String (CS), PS3.5 6.2
_DESCRIBED = 64  # longest Long String (LO)

COLOUR_SPREAD = 24
"""Difference between a pixel's red, green and blue above which it counts as coloured."""
COLOUR_LIMIT = 0.2
"""Share of coloured pixels above which a picture is no radiograph."""
COLOUR_DOUBT = 0.002
SMALLEST = 32
"""Rows or columns below which nothing can be recognised."""
SMALL = 128
"""Rows or columns below which hardly any sign of disease can be recognised."""
OBLONG = 2.0
"""Ratio of the longer to the shorter side above which a chest radiograph is unlikely."""
FEWEST_GREYS = 16
CERTAIN = 0.9
"""Share of the network's view output above which it alone can stop a picture."""
_SAMPLED = 512
"""Rows and columns sampled to count a large picture's greys: counting all takes 15 ms a call."""
FLAT = 0.98
"""Share of one grey value above which a picture is no radiograph but an empty document."""


@dataclass(frozen=True, slots=True)
class Suitability:
    """The result of the checks for an image that may be used.

    Attributes:
        position: The view stated by the file's attributes.
        warnings: Reasons to doubt results, in plain words.
        overridden: Reasons against using the image, despite which the user wants to use it.
    """

    position: Position
    warnings: tuple[str, ...]
    overridden: tuple[str, ...] = ()


@dataclass(slots=True)
class _Evidence:
    """The position, warnings and objections collected so far."""

    position: Position = "unknown"
    frontal: bool = False
    warnings: list[str] = field(default_factory=list[str])
    objections: list[str] = field(default_factory=list[str])


def check(
    snapshot: ImageSnapshot, context: ToolContext | None = None, *, needs: Sequence[str] = ()
) -> Suitability:
    """Check an image's modality, body part, view, orientation and content; raise if it is refused.

    If `context` is given, a network also judges what the image shows, and the user is asked whether
    to use an unsuitable image. If it is None, an unsuitable image is refused. `needs` names the
    model cards of the tool; if none of them is installed, `context` is ignored, as the tool will
    fail anyway.

    Raises:
        ToolFailed: The image is not a frontal chest radiograph.
        ToolRetry: In this run, a tool drew colours into the image or exchanged black and white.
        Cancelled: The run was stopped while the user was asked.
    """
    if context is not None and needs:
        store = ModelStore(context.models_dir)
        context = context if any(store.has(name) for name in needs) else None
    pixels = _model_input(snapshot)
    _check_size(pixels)
    evidence = _Evidence()
    _check_modality(snapshot.instance, evidence)
    _check_body_part(snapshot.instance, evidence)
    _check_view(snapshot, evidence)
    _check_orientation(snapshot, evidence)
    _check_colours(snapshot, evidence)
    _check_greys(pixels, evidence)
    _check_negative(snapshot)
    if context is not None and not evidence.objections:
        _check_picture(snapshot, evidence, context)
    if evidence.objections:
        return _ask_user(snapshot, evidence, context)
    return Suitability(evidence.position, tuple(evidence.warnings))


def _ask_user(
    snapshot: ImageSnapshot, evidence: _Evidence, context: ToolContext | None
) -> Suitability:
    """Ask the user to overrule the objections; raise `ToolFailed` without a yes."""
    reason = "; ".join(evidence.objections)
    detail = (
        f"{reason[0].upper()}{reason[1:]}. Chest models answer with confidence whatever image they "
        "are given: on anything else their results are meaningless."
    )
    if context is None or not context.confirm(_TITLE, detail, image=snapshot.ref):
        raise ToolFailed(reason, remedy=_REMEDY)
    context.cancel.check()
    _check_picture(snapshot, evidence, context, overruled=True)  # for its warnings
    warning = f"used at your request, although {reason}; results may be meaningless"
    return Suitability(evidence.position, (warning, *evidence.warnings), tuple(evidence.objections))


def _model_input(snapshot: ImageSnapshot) -> NDArray[np.uint8]:
    """Return the pixels that models receive, independent of the window set on the screen."""
    as_it_is = snapshot.derived or snapshot.frame.is_color
    return snapshot.display if as_it_is else model_pixels(snapshot)


def refuse_blank(pixels: NDArray[np.uint8]) -> None:
    """Raise `ToolFailed` if all pixels of an image have the same value."""
    if int(pixels.max()) == int(pixels.min()):
        raise ToolFailed(
            "the image is blank: all of its pixels have the same value",
            remedy="Check that it was exposed and sent correctly, or open another image.",
        )


def _check_size(pixels: NDArray[np.uint8]) -> None:
    rows, columns = pixels.shape[:2]
    if min(rows, columns) < SMALLEST:
        raise ToolFailed(
            f"the image has {columns} x {rows} pixels: too few to see anything", remedy=_REMEDY
        )
    refuse_blank(pixels)


def _check_modality(instance: Instance, evidence: _Evidence) -> None:
    if instance.kind != "dicom":
        evidence.warnings.append(
            "a picture without DICOM attributes: assumed to be a chest radiograph"
        )
        return
    modality = _code_text(instance.get("Modality"))
    if not modality:
        evidence.warnings.append("the file does not say its modality")
    elif modality not in RADIOGRAPHY:
        evidence.objections.append(f"this image is {modality}, not a chest radiograph (CR, DX)")
    if instance.get("SOPClassUID").startswith(SECONDARY_CAPTURE):
        evidence.warnings.append(
            "a secondary capture (a screenshot or a converted picture): its greys and its size may "
            "not be those of the exposure"
        )


def _check_body_part(instance: Instance, evidence: _Evidence) -> None:
    part = _code_text(instance.get("BodyPartExamined"))
    if _CHEST.search(part):
        return
    if not part or part in _NO_PART:
        described = _code_text(instance.get("SeriesDescription"), _DESCRIBED)
        if _OTHER_PARTS.search(described) and not _CHEST.search(described):
            evidence.warnings.append("the file's description names a part that is not the chest")
        elif instance.kind == "dicom":
            evidence.warnings.append("the file does not say which part of the body it shows")
    elif _OTHER_PARTS.search(part):
        evidence.objections.append(
            f"the file says that this image shows the {part.lower()}, not the chest"
        )
    else:
        evidence.warnings.append(
            f"the file calls the part of the body {part.lower()}, which may not be the chest"
        )


def _check_view(snapshot: ImageSnapshot, evidence: _Evidence) -> None:
    stated = stated_view(snapshot)
    evidence.position, evidence.frontal = stated.position, stated.frontal
    evidence.warnings += stated.warnings
    if stated.objection:
        evidence.objections.append(stated.objection)
    elif stated.position == "unknown" and not stated.warnings:
        described = _code_text(snapshot.instance.get("SeriesDescription"), _DESCRIBED)
        if _LATERAL_WORD.search(described):
            evidence.warnings.append("the file's description names a lateral view")


def _check_orientation(snapshot: ImageSnapshot, evidence: _Evidence) -> None:
    """Check that the image does not lie on its side; tools turn a mirrored or upside-down one."""
    orientation = snapshot.frame.orientation
    if orientation.row[:1] in ("H", "F") or orientation.column[:1] in ("L", "R"):
        evidence.objections.append("the file says that the image lies on its side")


def _check_colours(snapshot: ImageSnapshot, evidence: _Evidence) -> None:
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
        evidence.objections.append("this is a colour picture, not a radiograph")
    else:
        evidence.warnings.append("the picture has coloured marks, which may mislead the model")


def _check_greys(pixels: NDArray[np.uint8], evidence: _Evidence) -> None:
    rows, columns = pixels.shape[:2]
    step = max(1, min(rows, columns) // _SAMPLED)
    counts = np.bincount(grey(pixels[::step, ::step]).ravel(), minlength=256)
    if float(counts.max()) > FLAT * float(counts.sum()):
        evidence.objections.append(
            "nearly all of the picture is one grey: an empty exposure, or a document"
        )
    elif int((counts > 0).sum()) < FEWEST_GREYS:
        evidence.warnings.append(
            "the picture has hardly any grey levels, like a drawing or a screenshot"
        )
    if max(rows, columns) > OBLONG * min(rows, columns):
        evidence.warnings.append(
            f"the image is far from square ({columns} x {rows}): models see only its middle"
        )
    if min(rows, columns) < SMALL:
        evidence.warnings.append(
            f"the image is small ({columns} x {rows} pixels): fine detail cannot be seen"
        )


def _check_negative(snapshot: ImageSnapshot) -> None:
    """Check for a reversed greyscale: a model takes bone for air on a negative."""
    if not snapshot.derived or snapshot.frame.is_color or snapshot.display.ndim != 2:
        return
    step = max(1, min(snapshot.display.shape) // _SAMPLED)
    film = pipeline.render(snapshot.frame, windows.default_window(snapshot.frame))
    shown, original = (part[::step, ::step].astype(np.float32) for part in (snapshot.display, film))
    if float(((shown - shown.mean()) * (original - original.mean())).sum()) < 0:
        raise ToolRetry(
            "a tool has exchanged black and white in this picture; name the original image instead"
        )


def _check_picture(
    snapshot: ImageSnapshot, evidence: _Evidence, context: ToolContext, *, overruled: bool = False
) -> None:
    """Check the picture with the embedded network.

    A small network errs on kinds of film it was not trained on. It may stop a picture about which
    nothing is known; where the file states a frontal chest radiograph it only adds a warning.
    """
    judgement = judge_picture(snapshot, context)
    if judgement.mirrored >= MIRRORED_SHARE:
        evidence.warnings.append(MIRRORED_NOTE)
    if judgement.view in ("frontal", "unknown"):
        return
    stops = judgement.view in ("lateral", "other") and judgement.certainty >= CERTAIN
    if stops and not overruled and not _states_radiograph(snapshot, evidence, judgement.view):
        evidence.objections.append(judgement.why)
    else:
        evidence.warnings.append(judgement.why)


def _states_radiograph(
    snapshot: ImageSnapshot, evidence: _Evidence, picture_view: PictureView
) -> bool:
    """Return True if the file states a chest radiograph, or a model generated it as one.

    A lateral film counts only if the file calls it frontal. For a picture made by a tool the
    original image decides: a converted screenshot is still no radiograph.
    """
    instance = snapshot.instance
    if instance.get(synthetic.ATTRIBUTE):
        return True
    radiograph = _code_text(instance.get("Modality")) in RADIOGRAPHY
    chest = radiograph and bool(_CHEST.search(_code_text(instance.get("BodyPartExamined"))))
    return chest and (evidence.frontal or picture_view != "lateral")


def _code_text(value: str, length: int = _CODE_LENGTH) -> str:
    """Return a Code String cut to its length: a longer value could add a sentence to a question."""
    return " ".join(_NO_CODE.sub(" ", value.upper()).split())[:length].strip()
