"""Looks at the picture itself: is it a frontal chest film, whatever the file's attributes say?

Asked of the embedded network's view head by all chest tools, through the gate. Cheap: the picture
is made small here, half a forward pass answers, and the answer is kept.
"""

from __future__ import annotations

import hashlib
import threading
from collections import OrderedDict
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from app.tools.api import ImageSnapshot, ToolContext, ToolFailed
from app.tools.chest.pictures import Hanging, model_pixels, squared
from app.tools.models.store import InstalledModel, ModelStore

View: TypeAlias = Literal["frontal", "lateral", "other", "inverted", "unknown"]

SMALLEST = 32
"""Pixels a side below which a picture shows no anatomy."""
_ENTRY = "app.tools.chest.thorax_net:look_entry"
_SHOWN = 512  # pixels of the long side that the network is given, twice its own input
_TIMEOUT_S = 60.0
_KEPT = 64

_WHY: dict[View, str] = {
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

    view: View
    certainty: float
    why: str = ""
    mirrored: float = 0.0


_looks: OrderedDict[tuple[str, str], Look] = OrderedDict()
_lock = threading.Lock()


def look(snapshot: ImageSnapshot, context: ToolContext) -> Look:
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
    if min(rows, columns) < SMALLEST:
        return f"the picture is too small ({columns} x {rows} pixels)"
    if int(pixels.max()) == int(pixels.min()):
        return "the picture is blank"
    return None


def _asked(shown: NDArray[np.uint8], model: InstalledModel, context: ToolContext) -> Look:
    payload = {"pixels": shown, **model.payload(context.device)}
    answer = context.host.call(_ENTRY, payload, cancel=context.cancel, timeout_s=_TIMEOUT_S)
    view: View = answer["view"]
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
