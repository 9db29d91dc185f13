"""The viewer's commands as tools; `ToolContext.viewer` carries them out in the window.

What can be undone runs at once. What accepts, rejects, deletes, closes, takes back or opens a
dialogue for files is asked about when a language model wants it.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field

from app.tools.api import (
    Approval,
    JsonDict,
    ToolContext,
    ToolFailed,
    ToolInput,
    ToolResult,
    ToolRetry,
    ToolSpec,
)
from app.tools.viewer.commands import COMMANDS, TEXTS

BY_STATE = ("accepted", "rejected", "undecided")
"""Groups of findings by what was decided about them."""

STATE = "viewer_state"
WINDOW = "viewer_window"
GO_TO = "viewer_go_to"
SHOW = "viewer_show"
LAYOUT = "viewer_layout"
ZOOM = "viewer_zoom"
CINE = "viewer_cine"
MEASURE = "viewer_measure"
MARK = "viewer_mark"
PLACE = "viewer_place"
FINDINGS = "viewer_findings"
COMMAND = "viewer_command"

_FAR = 1e9
_Mm = Annotated[float, Field(ge=-_FAR, le=_FAR)]
XY = tuple[_Mm, _Mm]
_Name = Annotated[str, Field(max_length=120)]

_LINE = 400
"""Characters of the longest line that names a region."""
_VIEWPORT = Field(
    default="",
    max_length=_LINE,
    description='The viewport: its number from 1, "left", "top right" and so on, "prior", '
    '"current", "other" or "all"; empty for the active one.',
)
_NAME = 'The finding: its label, its id, or "selected".'


class StateInput(ToolInput):
    """No arguments."""


class WindowInput(ToolInput):
    """A window: a preset, or centre and width, or a change of what is shown."""

    preset: str = Field("", max_length=60, description="A preset by its name.")
    center: float | None = Field(
        None, ge=-_FAR, le=_FAR, description="Window centre, in the image's units (HU)."
    )
    width: float | None = Field(None, gt=0, le=_FAR, description="Window width, in the same units.")
    change: Literal[
        "", "brighter", "darker", "more contrast", "less contrast", "automatic", "original"
    ] = Field("", description="A change of the window that is shown.")
    viewport: str = _VIEWPORT


class GoToInput(ToolInput):
    """The image, finding or time point to scroll a viewport to.

    Exactly one of the arguments, and `viewport` and `towards` beside it.
    """

    slice: int | None = Field(None, ge=1, description="Image or frame of the series, from 1.")
    by: int | None = Field(
        None, ge=-100_000, le=100_000, description="So many images on; negative for back."
    )
    towards: Literal["", "head", "feet"] = Field(
        "", description="With `by` or `mm`: which way in the patient, whatever the series' order."
    )
    mm: float | None = Field(
        None, gt=0, le=10_000, description="So many millimetres `towards` the head or feet."
    )
    place: Literal["", "first", "last", "middle", "back"] = Field(
        "", description='In the series; "back" is what was shown before the last jump.'
    )
    position: tuple[_Mm, _Mm, _Mm] | None = Field(
        None, description="A point in the patient: x, y, z in mm (LPS)."
    )
    z: _Mm | None = Field(None, description="A height in the patient, in mm (LPS).")
    finding: str = Field(
        "",
        max_length=120,
        description=f'{_NAME} Or "next", "previous", "first", "last"; "next undecided". With '
        "`towards`: its uppermost or lowermost image.",
    )
    time: int | None = Field(None, ge=1, description="Time point, from 1.")
    viewport: str = _VIEWPORT


class ShowInput(ToolInput):
    """A study or series to show in a viewport."""

    what: str = Field(
        max_length=120,
        description='"prior" (beside what is shown; in the viewport "active": instead), '
        '"prior 2021", "current", "this" (as in the active viewport), '
        '"next series", "previous series", an image\'s id ("image-2"), '
        '"series 3", words of a series description, or an open study: "study next", "study other", '
        '"study ct", "study" and words of its description.',
    )
    viewport: str = _VIEWPORT


class LayoutInput(ToolInput):
    """A layout of viewports."""

    layout: str = Field(
        max_length=40,
        description='Rows x columns ("1x2"), "1+2", "maximised", "protocol" for the hanging '
        'protocol that suits, "prior" for the shown study beside its prior ("prior 2021" for '
        'that of a year), "current" for it alone, "active" to make a viewport that, "both" for '
        'all viewports again after "maximised", "swap" to exchange two viewports.',
    )
    viewport: str = _VIEWPORT


class ZoomInput(ToolInput):
    """A zoom: to a finding, by a factor, or to a size."""

    to: str = Field(
        "", max_length=120, description=f'What to zoom to. {_NAME} "here": where the user clicked.'
    )
    factor: float | None = Field(None, gt=0, le=100, description="2 enlarges twice.")
    percent: float | None = Field(
        None, ge=1, le=10_000, description="100 shows one image pixel on one pixel of the screen."
    )
    size: Literal["", "fit", "actual pixels", "true size"] = Field("", description="A size.")
    viewport: str = _VIEWPORT


class CineInput(ToolInput):
    """Start or stop a cine."""

    play: bool = Field(True, description="Whether to play or to stop.")
    frames_per_second: float | None = Field(
        None, gt=0, le=200, description="By default as the file says."
    )
    speed: Literal["", "faster", "slower", "double", "half"] = Field(
        "", description="A change of the speed."
    )
    viewport: str = _VIEWPORT


class MeasureInput(ToolInput):
    """A length between two points of the image that the active viewport shows."""

    start: XY | _Name | None = Field(
        None,
        description="x, y in pixels, or a finding, whose middle counts; without both, the two "
        "points that the user marked or clicked last.",
    )
    end: XY | _Name | None = Field(None, description="As `start`.")


class MarkInput(ToolInput):
    """A mark on the image that the active viewport shows."""

    shape: Literal["point", "box", "arrow"] = Field("point", description="What to draw.")
    points: tuple[XY, ...] = Field(
        (), max_length=2, description="x, y in pixels; without, what the user pointed at last."
    )
    at: Literal["", "first"] = Field(
        "", description="Without points: the first place that the user pointed at, not the last."
    )
    label: str = Field("", max_length=80, description="Its name.")


class PlaceInput(ToolInput):
    """Work at the region that is attached to the question, or at the place clicked last."""

    action: Literal[
        "value",
        "statistics",
        "measure",
        "findings",
        "zoom",
        "center",
        "point",
        "box",
        "ellipse",
        "arrow",
    ] = Field(
        description='"value" of the pixel; "statistics" of the values in the region; "measure" its '
        "width and height; findings tells which lie in it; the last four draw that there."
    )
    region: str = Field(
        "",
        max_length=_LINE,
        description="The line below the question that names the region, word for word; empty for "
        "the place that the user clicked last.",
    )
    label: str = Field("", max_length=80, description="The name of what is drawn.")


class FindingsInput(ToolInput):
    """What to do with findings that are there."""

    action: Literal[
        "select", "show", "only", "hide", "describe", "accept", "reject", "propose", "delete"
    ] = Field(
        description='What to do with them; "only" shows them and hides all others, "describe" '
        'tells size, state and maker, "propose" takes a decision back.'
    )
    which: str = Field(
        max_length=120,
        description=f'"all", "masks", "measurements", "heatmaps". {_NAME} Several: "A and B", '
        '"all except A", "undecided except A".',
    )
    viewport: str = Field(
        default="",
        max_length=_LINE,
        description="Those of the series in this viewport only; empty for the study in the "
        "active one.",
    )


class CommandInput(ToolInput):
    """A command of the menus that takes no arguments."""

    command: str = Field(max_length=60, description="One of: " + "; ".join((*COMMANDS, *TEXTS)))
    times: int = Field(1, ge=1, le=200, description="How often: to undo, redo, rotate, zoom, step.")
    viewport: str = _VIEWPORT


class ViewerOutput(BaseModel):
    """What the window shows after the command; `said` is the same as a sentence."""

    said: str = ""


class ViewerTool:
    """A command of the viewer; all differ in their description and arguments only."""

    def __init__(self, spec: ToolSpec) -> None:
        self.spec = spec

    def run(self, args: Any, context: ToolContext) -> ToolResult:
        """Let the window do it, and return what it then shows.

        Raises:
            ToolRetry: The arguments name something that is not there.
            ToolFailed: There is no window, the user said no, or what is shown cannot do it.
            Cancelled: The call was cancelled.
        """
        viewer = context.viewer
        if viewer is None:
            raise ToolFailed(
                "there is no window to work here", remedy="Open the study in the window and ask."
            )
        wanted: JsonDict = args.model_dump(exclude_defaults=True)
        if self.spec.name == COMMAND and wanted.get("command") not in {**COMMANDS, **TEXTS}:
            raise ToolRetry(f"there is no command {wanted.get('command')!r}")
        answer = viewer.do(self.spec.name, wanted, context)
        # A model reads what is shown as data.
        told = self.spec.name != STATE or context.model is None
        said = {"said": answer.summary} if told else {}
        output = {**answer.output, **said}
        return ToolResult(answer.summary, output, {}, answer.findings)


def viewer_tool(
    name: str,
    title: str,
    icon: str,
    description: str,
    arguments: type[BaseModel],
    approval: Approval = Approval.COMPUTE,
) -> ViewerTool:
    """Return a tool; titles are collected for translation from these calls."""
    return ViewerTool(
        ToolSpec(
            name,
            description,
            arguments,
            ViewerOutput,
            approval=approval,
            timeout_s=60.0,
            pack="viewer",
            sequential=True,
            title=title,
            icon=icon,
        )
    )


TOOLS = (
    viewer_tool(
        STATE,
        "See what is shown",
        "eye",
        "Tells what the window shows now: viewports with series, slice and window, findings with "
        "their ids and states, the selection, and what the user pointed at last.",
        StateInput,
        Approval.READ,
    ),
    viewer_tool(
        WINDOW,
        "Set the window",
        "sun-medium",
        "Sets the grey-value window of a viewport: a preset by name, a centre and width, or a "
        "change. Can be undone.",
        WindowInput,
    ),
    viewer_tool(
        GO_TO,
        "Go to an image",
        "move-vertical",
        "Scrolls a viewport to an image or frame, a point in the patient, a finding or a time.",
        GoToInput,
    ),
    viewer_tool(
        SHOW,
        "Show a series",
        "image",
        "Shows an open series, study or prior in a viewport.",
        ShowInput,
    ),
    viewer_tool(
        LAYOUT,
        "Lay out viewports",
        "layout-grid",
        "Lays out the viewports, arranges the study by its hanging protocol, or hangs it beside "
        "its prior.",
        LayoutInput,
    ),
    viewer_tool(
        ZOOM,
        "Zoom",
        "zoom-in",
        "Zooms to a finding or structure that is drawn on the image, by a factor, or to a size.",
        ZoomInput,
    ),
    viewer_tool(CINE, "Play a cine", "play", "Plays or stops the cine of a viewport.", CineInput),
    viewer_tool(
        MEASURE,
        "Measure a length",
        "ruler",
        "Measures the length between two points of the shown image, in mm where its spacing is "
        "known, and draws it.",
        MeasureInput,
    ),
    viewer_tool(
        MARK,
        "Mark a place",
        "crosshair",
        "Draws a point, box or arrow on the shown image.",
        MarkInput,
    ),
    viewer_tool(
        PLACE,
        "Work at a place",
        "square-dashed",
        "Tells values, size or findings of the region that the user attached to the question, or "
        "of the place clicked last; zooms there, or draws there.",
        PlaceInput,
    ),
    viewer_tool(
        FINDINGS,
        "Work on findings",
        "list",
        "Selects, shows (alone), hides, accepts, rejects or deletes findings. The last three are "
        "asked about.",
        FindingsInput,
    ),
    viewer_tool(
        COMMAND,
        "Use a command",
        "layout-grid",
        "Runs a command of the menus that takes no arguments, such as inverting the image, "
        "choosing a plane, undo, or opening the export dialogue. What writes, sends or closes is "
        "asked about.",
        CommandInput,
    ),
)
