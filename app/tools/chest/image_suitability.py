"""The suitability of an image for chest models: only frontal chest radiographs are accepted."""

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
from app.imaging.space.projections import Course, coded_projection
from app.imaging.types import Instance, Orientation
from app.tools.api import ImageSnapshot, ToolContext, ToolFailed, ToolRetry
from app.tools.chest.model_pictures import (
    MIRRORED,
    MIRRORED_NOTE,
    Hanging,
    grey,
    model_pixels,
    squared,
)
from app.tools.models.store import InstalledModel, ModelStore

Position: TypeAlias = Literal["PA", "AP", "lateral", "unknown"]
ViewTerm: TypeAlias = Course | Literal["decubitus"]

ONLY_FRONTAL = "only frontal chest radiographs (PA or AP) can be used"
_LATERAL = r"[LR]?LAT|LATERAL|LATERO\w*|SEITLICH|PROFIL|X-?TABLE"
_POSITIONS: tuple[tuple[re.Pattern[str], ViewTerm], ...] = (
    # A lateral decubitus film is taken from the front.
    (re.compile(r"LLD|RLD|(.*[^A-Z])?DECUB(ITUS)?([^A-Z].*)?"), "decubitus"),
    (re.compile(rf"LL|RL|LLO|RLO|(.*[^A-Z])?(?:{_LATERAL})([^A-Z].*)?"), Course.LATERAL),
    (re.compile(r"LAO|RAO|LPO|RPO|(.*[^A-Z])?OBL(IQUE)?([^A-Z].*)?"), Course.OBLIQUE),
    (re.compile(r"PA([^A-Z].*)?"), Course.PA),
    (re.compile(r"AP.*"), Course.AP),
)
"""View Position, whose terms few machines keep to -> what it means."""
_FRONTAL = frozenset({Course.PA, Course.AP, Course.FRONTAL, "decubitus"})
_AGAINST: tuple[tuple[ViewTerm, str], ...] = (
    (Course.LATERAL, f"this is a lateral view; {ONLY_FRONTAL}"),
    (Course.ALONG, "it was taken along the body, not from the front"),
    (Course.OBLIQUE, f"this is an oblique view; {ONLY_FRONTAL}"),
    (Course.OTHER, f"this is another view than one from the front; {ONLY_FRONTAL}"),
)
_DECUBITUS = "a decubitus view: free fluid and air lie elsewhere than upright"


@dataclass(frozen=True, slots=True)
class StatedView:
    """What a file says of the view.

    Attributes:
        position: PA, AP or lateral; "unknown" where it does not say, or says both PA and AP.
        frontal: Whether something in it calls the film frontal, and nothing anything else.
        objection: Why it cannot be used as a frontal film, or "".
        doubts: What the user is to know.
    """

    position: Position
    frontal: bool
    objection: str
    doubts: tuple[str, ...]


def stated_view(snapshot: ImageSnapshot) -> StatedView:
    """The view of an image by all that its file says of it."""
    said = _stated_text(snapshot)
    views = set(said.values())
    for view, text in _AGAINST:
        if view in views:
            position: Position = "lateral" if view is Course.LATERAL else "unknown"
            also = _otherwise(said, view)
            return StatedView(position, False, f"the file says that {text}{also}", ())
    if "decubitus" in views:
        return StatedView("unknown", True, "", (_DECUBITUS,))
    if {Course.PA, Course.AP} <= views:
        return StatedView("unknown", True, "", (f"the file contradicts itself: {_list(said)}",))
    known: Position = "PA" if Course.PA in views else "AP" if Course.AP in views else "unknown"
    return StatedView(known, bool(views), "", ())


def _stated_text(snapshot: ImageSnapshot) -> dict[str, ViewTerm]:
    """What says something -> which view it says."""
    code = coded_projection(snapshot.instance)
    found: dict[str, ViewTerm | None] = {
        "ViewPosition": _by_position(snapshot.instance.get("ViewPosition")),
        "view code": code.course if code else None,
        "orientation": _by_orientation(snapshot.frame.orientation),
    }
    return {source: view for source, view in found.items() if view is not None}


def _by_position(text: str) -> ViewTerm | None:
    term = " ".join(text.upper().split())
    return next((view for form, view in _POSITIONS if form.fullmatch(term)), None)


def _by_orientation(orientation: Orientation) -> ViewTerm | None:
    """Rows of a lateral run to the patient's front or back, columns of an axial view do."""
    row, column = orientation.row[:1], orientation.column[:1]
    if row in ("A", "P"):
        return Course.LATERAL
    if column in ("A", "P"):
        return Course.ALONG
    return Course.FRONTAL if row and column else None


def _otherwise(said: Mapping[str, ViewTerm], view: ViewTerm) -> str:
    """Which of a file's statements call a film frontal that another one calls something else."""
    frontal: dict[str, ViewTerm] = {name: told for name, told in said.items() if told in _FRONTAL}
    # An oblique film's rows still run to the left or right for the most part.
    if view is Course.OBLIQUE:
        frontal.pop("orientation", None)
    if not frontal:
        return ""
    against: dict[str, ViewTerm] = {
        name: told for name, told in said.items() if told not in _FRONTAL
    }
    return f"; but it contradicts itself: {_list(against | frontal)}"


def _list(said: Mapping[str, ViewTerm]) -> str:
    return ", ".join(f"its {source} says {view}" for source, view in said.items())


PictureView: TypeAlias = Literal["frontal", "lateral", "other", "inverted", "unknown"]

SMALLEST_PICTURE = 32
"""Pixels a side below which a picture shows no anatomy."""
_ENTRY = "app.tools.chest.thorax_net:look_entry"
_SHOWN = 512  # pixels of the long side that the network is given, twice its own input
_TIMEOUT_S = 60.0
_KEPT = 64

_WHY: dict[PictureView, str] = {
    "frontal": "",
    "lateral": "the picture looks like a lateral view, not a frontal one",
    "other": "the picture does not look like an upright frontal chest radiograph",
    "inverted": "the picture looks like a negative of a frontal chest radiograph: air is bright",
}


@dataclass(frozen=True, slots=True)
class Look:
    """What the picture looks like.

    Attributes:
        view: "frontal"; "lateral"; "other" (no chest film, or one that lies on its side or head);
            "inverted" (a frontal film whose black and white are exchanged); "unknown" where nobody
            could look.
        certainty: The network's share for that view, 0..1; 1 where a plain rule decided, 0 for
            "unknown". Not calibrated.
        why: What speaks against the picture, for the user; "" for a frontal one.
        mirrored: The network's share for "a film shown mirrored", 0..1, of the picture hung as the
            file says.
    """

    view: PictureView
    certainty: float
    why: str = ""
    mirrored: float = 0.0


_looks: OrderedDict[tuple[str, str], Look] = OrderedDict()
_lock = threading.Lock()


def look_at_picture(snapshot: ImageSnapshot, context: ToolContext) -> Look:
    """Look at an image, or remember what it looked like.

    Never fails: without the packages or the embedded weights the answer is "unknown".

    Raises:
        Cancelled: The run was stopped.
    """
    pixels = model_pixels(snapshot)
    problem = plain_problem(pixels)
    if problem is not None:
        return Look("other", 1.0, problem)
    shown = _small(squared(pixels, snapshot.frame.spacing.aspect))
    shown = Hanging.of(snapshot.frame.orientation).turned(shown)
    try:
        model = ModelStore(context.models_dir).require("thorax-net", "The check of the view")
        key = (_digest(shown), model.sha256)
        with _lock:
            known = _looks.get(key)
        return known or _kept(key, _asked(shown, model, context))
    except ToolFailed as error:
        return Look("unknown", 0.0, f"the view could not be checked: {error.reason}")


def plain_problem(pixels: NDArray[np.uint8]) -> str | None:
    """Why a picture [rows, columns] can show no chest at all, or None."""
    rows, columns = pixels.shape
    if min(rows, columns) < SMALLEST_PICTURE:
        return f"the picture is too small ({columns} x {rows} pixels)"
    if int(pixels.max()) == int(pixels.min()):
        return "the picture is blank"
    return None


def _asked(shown: NDArray[np.uint8], model: InstalledModel, context: ToolContext) -> Look:
    payload = {"pixels": shown, **model.payload(context.device)}
    answer = context.host.call(_ENTRY, payload, cancel=context.cancel, timeout_s=_TIMEOUT_S)
    view: PictureView = answer["view"]
    mirrored = round(float(answer.get("mirrored", 0.0)), 3)
    return Look(view, round(float(answer["certainty"]), 3), _WHY[view], mirrored)


def _kept(key: tuple[str, str], found: Look) -> Look:
    with _lock:
        _looks[key] = found
        while len(_looks) > _KEPT:
            _looks.popitem(last=False)
    return found


def _small(pixels: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Reduced by a whole number, so that no more crosses to the process than is looked at."""
    factor = max(1, max(pixels.shape) // _SHOWN)
    if factor == 1:
        return pixels
    return np.asarray(Image.fromarray(pixels).reduce(factor))


def _digest(shown: NDArray[np.uint8]) -> str:
    digest = hashlib.sha256(np.ascontiguousarray(shown).data)
    digest.update(repr(shown.shape).encode())
    return digest.hexdigest()


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
    seen = look_at_picture(snapshot, context)
    if seen.mirrored >= MIRRORED:
        look.warnings.append(MIRRORED_NOTE)
    if seen.view in ("frontal", "unknown"):
        return
    stops = seen.view in ("lateral", "other") and seen.certainty >= CERTAIN
    if stops and not overruled and not _stated(snapshot, look, seen.view):
        look.objections.append(seen.why)
    else:
        look.warnings.append(seen.why)


def _stated(snapshot: ImageSnapshot, look: _Look, seen: PictureView) -> bool:
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
