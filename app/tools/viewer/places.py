"""Reads what "here" and "this region" mean: a box attached to the question, or a click.

The window writes each attached box as a line below the question, with the first and last pixel of
its columns and rows, and the name of its image. The line is read here in any language of the
window.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from app.imaging.findings import Box
from app.tools.finding_names import HERE, SELECTED
from app.tools.pack_plan import Spoken, SpokenCall
from app.tools.text_classifier import folded
from app.tools.viewer import tools as named
from app.tools.viewer.commands import ASKED

_LINE = re.compile(
    r"[^\W\d_]+: x (?P<x0>\d{1,6}) [^\W\d_]+ (?P<x1>\d{1,6}), y (?P<y0>\d{1,6}) [^\W\d_]+ "
    r"(?P<y1>\d{1,6}) px [^\W\d_]+ (?P<image>\S.*)"
)
_FRAME = re.compile(r"(?P<name>.+) \([^\W\d_]+ (?P<frame>\d+)\)")
_FILE = re.compile(r"(?:Attached file|Angehängte Datei): .+")
_NOT_DONE = (
    "Nothing was changed: with a region attached, “this” is the region. "
    "Say by name which finding is meant."
)
_NO_DECISION = (
    "Nothing was changed: a finding is accepted, rejected or deleted only in a message without a "
    "region."
)
_ONE_ONLY = "Nothing was changed: several regions are attached, and one is meant."
_GENERAL = "what is abnormal?"
"""The question put to other packs where the user asks what a region shows."""
_AREAS = frozenset(
    """
    region area spot place point box rectangle roi location section part bereich stelle ort punkt
    areal kasten rechteck ausschnitt
    """.split()  # noqa: SIM905 (a list of words reads better)
)
_POINTS = re.compile(
    rf"\b(?:{'|'.join(HERE)}|this|that|dies\w*|hierhin|dorthin|where i (?:clicked|pointed))\b"
)
_ASKS = re.compile(
    r"\b(?:what|whats|which|how|wie|was|welche\w*)\b"
    r"|\b(?:hu|hounsfield|density|dichte\w*|grauwert|value|wert)\b.*\b(?:here|hier|there|dort|da)\b"
)
_HU = re.compile(r"\b(?:hu|hounsfield)\b")
_SIZE = re.compile(r"\b(?:measure\w*|size|big|large|long|wide|messen|ausmess\w*|miss\w*|gross)\b")
_POINT = re.compile(r"\b(?:point|pin|dot|cross|punkt|kreuz)\b")
_CENTRE = re.compile(r"\b(?:cent(?:er|re)|zentrier\w*|mittig)\b")
_OUTLINES = re.compile(r"\b(?:segment\w*|outlin\w*|contour\w*|umrand\w*|umriss\w*|kontur\w*)\b")
_BY_TOOL = {
    "probe a value": "statistics",
    "draw an arrow": "arrow",
    "draw an ellipse": "ellipse",
    "mark a box": "box",
    "mark a point": "point",
    "measure a length": "measure",
    "zoom in": "zoom",
}
"""Actions in a region by the command that the user names: a tool or a zoom."""
_ALREADY_THERE = {"probe a value": "value", "draw an arrow": "arrow"}
"""The same for a place that was clicked, which has no size."""
_IN_VIEW = (named.WINDOW, named.GO_TO, named.CINE, named.COMMAND)


@dataclass(frozen=True, slots=True)
class Region:
    """A box that the user attached to a question.

    Attributes:
        box: Its edges in the image, in pixels; pixel centres are integers.
        image: Its image as the window names it: the file's name, and "(frame 3)" of several frames.
    """

    box: Box
    image: str

    def is_of(self, name: str, frame: int, frames: int) -> bool:
        """Return whether its image is frame number `frame` (from 0) of the file called `name`."""
        if frames < 2:
            return self.image == name
        found = _FRAME.fullmatch(self.image)
        return found is not None and (found["name"], int(found["frame"])) == (name, frame + 1)


def region_in(line: str) -> Region | None:
    """Return the region that a line below a question names; None for any other line."""
    found = _LINE.fullmatch(line.strip())
    if found is None:
        return None
    x0, x1, y0, y1 = (int(found[name]) for name in ("x0", "x1", "y0", "y1"))
    if x1 < x0 or y1 < y0:
        return None
    return Region(Box(x0 - 0.5, y0 - 0.5, x1 + 0.5, y1 + 0.5), found["image"])


def without_regions(text: str) -> tuple[str, tuple[str, ...]]:
    """Return a question without what is attached to it, and the lines of its regions.

    A text without a region stays as it is.
    """
    lines = text.splitlines()
    regions = tuple(line.strip() for line in lines if region_in(line) is not None)
    if not regions:
        return text, ()
    kept = [one for one in lines if not (region_in(one) or _FILE.fullmatch(one.strip()))]
    return "\n".join(kept).strip(), regions


def at_click(found: Spoken | None, words: str) -> Spoken | None:
    """Return what was read, done at once at the place that the user clicked, if it says "here"."""
    if found is None:
        return None
    text = folded(words)

    def there(call: SpokenCall) -> SpokenCall:
        command = str(call.arguments.get("command", ""))
        action = _ALREADY_THERE.get(command, "") if call.tool == named.COMMAND else ""
        asks = action == "value" and _ASKS.search(text)
        return _at_place(action) if action and (asks or _POINTS.search(text)) else call

    calls = tuple(map(there, found.calls))
    # Other packs measure values too, of cells for instance.
    vague = not _HU.search(text) and any(
        one.arguments.get("action") == "statistics" for one in calls
    )
    return replace(found, calls=calls, sure=found.sure and not vague)


def at_regions(found: Spoken | None, words: str, regions: Sequence[str]) -> Spoken | None:
    """Return what was read of a question, done in the regions that are attached to it.

    `words` are the question without their lines. Nothing is decided on findings then, since
    "this" may be the region or the finding that is selected.
    """
    text, lines = folded(words), "\n".join(regions)
    listed = tuple(_at_place("findings", one) for one in regions)
    if found is None or found.perhaps or (not found.calls and found.rest):
        if _OUTLINES.search(text) or not text:
            return None
        return Spoken(listed, f"{words}\n\n{lines}", sure=False, beside=True)
    if not found.calls:
        return found
    if any(_decides(call) for call in found.calls):
        return Spoken((), told=_NO_DECISION)
    calls: list[SpokenCall] = []
    for call in found.calls:
        action = _action(call, text)
        if action == "findings":
            return Spoken(listed, f"{_GENERAL}\n\n{lines}", beside=True)
        if action is None:
            return Spoken((), told=_NOT_DONE)
        if action in ("zoom", "center") and len(regions) > 1:
            return Spoken((), told=_ONE_ONLY)
        label = {k: v for k, v in call.arguments.items() if k == "label"}
        if action:
            calls += [_at_place(action, one, **label) for one in regions]
        elif _is_of_a_view(call) and _POINTS.search(text) and len(regions) == 1:
            calls.append(replace(call, arguments={"viewport": regions[0], **call.arguments}))
        else:
            calls.append(call)
    sure = found.sure or all(one.tool == named.PLACE for one in calls)
    if not found.rest:
        return replace(found, calls=tuple(calls), sure=sure)
    return replace(found, calls=(*calls, *listed), rest=f"{found.rest}\n\n{lines}", sure=sure)


def _at_place(action: str, region: str = "", **more: str) -> SpokenCall:
    given = {"region": region} if region else {}
    return SpokenCall(named.PLACE, {"action": action, **given, **more})


def _action(call: SpokenCall, text: str) -> str | None:
    """Return what a call does in a region; "" if it is about something else, None if unclear."""
    said = call.arguments
    if call.tool == named.PLACE:
        return "statistics" if said["action"] == "value" else str(said["action"])
    if call.tool == named.COMMAND:
        return _BY_TOOL.get(str(said["command"]), "")
    if call.tool == named.MARK and not said.get("points"):
        shape = str(said.get("shape", "point"))
        return "box" if shape == "point" and not _POINT.search(text) else shape
    if call.tool == named.MEASURE and not (said.get("start") or said.get("end")):
        return "measure"
    if call.tool == named.ZOOM and _is_here(str(said.get("to", ""))):
        return "center" if _CENTRE.search(text) else "zoom"
    if call.tool != named.FINDINGS:
        return ""
    this_box = said["which"] == "boxes" and _SIZE.search(text) and _POINTS.search(text)
    if not (_is_here(str(said["which"])) or this_box):
        return ""
    if said["action"] != "describe":
        return None
    return "measure" if _SIZE.search(text) else "findings"


def _is_of_a_view(call: SpokenCall) -> bool:
    """Return whether a call changes one viewport, and neither closes nor writes anything."""
    return call.tool in _IN_VIEW and call.arguments.get("command") not in ASKED


def _decides(call: SpokenCall) -> bool:
    decides = ("accept", "reject", "delete", "propose")
    return call.tool == named.FINDINGS and call.arguments["action"] in decides


def _is_here(name: str) -> bool:
    """Return whether a name is one for a place: "here", "it", "the marked region"."""
    words = name.split()
    return bool(words) and (name in (*HERE, *SELECTED) or bool({*words} & _AREAS))
