"""Commands on findings: marks and lengths that the assistant draws, review, and names."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from app.imaging.findings import (
    Box,
    Ellipse,
    Finding,
    Heatmap,
    Mask,
    Polygon,
    Provenance,
    State,
)
from app.tools.api import JsonDict, ToolContext, ToolFailed, ToolRetry, ViewerAnswer
from app.tools.finding_names import (
    HERE,
    SELECTED,
    as_spelt,
    is_called,
    numbered,
    side_of,
    words_of,
)
from app.tools.viewer import tools as named
from app.tools.viewer.commands import COMMANDS
from app.tools.viewer.decisions import DECIDING
from app.views import wording
from app.views.canvas.canvas import Canvas
from app.views.translation import tr
from app.views.viewer_commands.shown import MOST_FINDINGS, ShownState, shown_canvas
from app.views.viewports.viewport_frame import ViewportFrame
from app.workspace import drawing, editing, region_statistics
from app.workspace.annotations import Command
from app.workspace.viewport import REFORMAT

if TYPE_CHECKING:
    from app.views.main_window import MainWindow

_GROUPS: dict[str, Callable[[Finding], bool]] = {
    "all": lambda _one: True,
    "masks": lambda one: isinstance(one.geometry, Mask),
    "boxes": lambda one: isinstance(one.geometry, Box),
    "measurements": drawing.is_measurement,
    "accepted": lambda one: one.state in (State.ACCEPTED, State.EDITED),
    "rejected": lambda one: one.state is State.REJECTED,
    "undecided": lambda one: one.state is State.PROPOSED and not drawing.by_hand(one),
}

UNDECIDED = "undecided"
_ACROSS = 0.7  # cosine between an image's rows and the patient's left-right axis, at least
_OFF_MIDDLE = 0.1  # of the width: farther from the middle column a finding lies on a side
_MOST_DESCRIBED = 6
_ALL_BUT = re.compile(r"(all|undecided) except (.+)")
_EVERY = re.compile(rf"(?:{'|'.join(_GROUPS)}|all \d+)", re.IGNORECASE)

_AND = re.compile(r"\s*(?:,|&|\b(?:and|und)\b)+\s*")
_BOTH = re.compile(r"\b(?:both|beiden?)\b", re.IGNORECASE)

Area = tuple[float, float, float, float]
XY = tuple[float, float]


_MOST_CHOICES = 8
_ON_THE_SIDE = re.compile(
    r"(?P<name>.*\w) (?:(?:on|at|auf|in) (?:the |der )?)?"
    r"(?P<side>left|right|links|rechts|linken|rechten)(?: (?:side|seite))?"
    r"|(?P<before>links|rechts|linken|rechten) (?:das|die|den) (?P<behind>.+)"
)
"""A name with a side behind it, which may be that of a viewport: "the heart on the right"."""
_MANY = re.compile(r"\b(?:both|all|every|each|beiden?|alle|allen|saemtliche\w*)\b.* \w")
""" "Both nodules", "all hearts": not "all", which is about the study in the active viewport."""


class NamedFindings:
    """The findings of the shown study by the names that people and models give them."""

    def __init__(self, window: MainWindow, shown: ShownState) -> None:
        self._window, self._workspace, self._shown = window, window.workspace, shown

    def select(self, finding: Finding) -> None:
        """Show a finding's image, and select it."""
        self._workspace.show_image(finding.image)
        self._workspace.annotations.select(finding.id)

    def unhide(self, finding: Finding) -> None:
        """Make a finding visible, if it is hidden."""
        annotations = self._workspace.annotations
        if all(item.visible for item in annotations.all() if item.finding.id == finding.id):
            return
        see = partial(annotations.set_visible, [finding.id])
        self._workspace.commands.push(
            Command(tr("Show findings"), partial(see, True), partial(see, False))
        )

    def one(self, name: str, where: str = "") -> Finding:
        """Return the finding that a name means; for errors see `named`."""
        return self.named(name, where)[0]

    def at_step(self, name: str, where: str = "") -> Finding | None:
        """Return the "next", "previous", "first" or "last" finding; None for any other name.

        They are counted image by image. What comes after the last one is the first. "next
        undecided" is the next one that is neither accepted nor rejected.
        """
        step, _, which = name.partition(" ")
        if step not in ("next", "previous", "first", "last") or which not in ("", UNDECIDED):
            return None
        every = [item.finding for item in self._shown.listed(where)]
        shown = self._shown.one_frame(where).viewport.acquired
        series = self._workspace.studies.series_of(shown) if shown is not None else None
        images = [one.sop_instance_uid for one in series.instances] if series is not None else []
        order = {uid: place for place, uid in enumerate(images)}
        last = len(order)
        every.sort(key=lambda one: (order.get(one.image.sop_instance_uid, last), one.image.frame))
        if not every:
            raise ToolRetry("there are no findings on the shown images")
        selected = self._workspace.annotations.selected
        if which:
            every = [one for one in every if one.state is State.PROPOSED or one.id == selected]
        ids = [one.id for one in every]
        if which and all(one.state is not State.PROPOSED for one in every):
            raise ToolRetry("each finding on the shown images is accepted or rejected")
        at = ids.index(selected) if selected in ids else None
        places = {
            "first": 0,
            "last": -1,
            "next": 0 if at is None else (at + 1) % len(ids),
            "previous": -1 if at is None else at - 1,
        }
        found = every[places[step]]
        if which and found.state is not State.PROPOSED:  # the selected one is first or last
            found = every[1 if step == "first" else -2]
        return found

    def named(
        self, name: str, where: str = "", *, several: bool = False, exact: bool = False
    ) -> list[Finding]:
        """Return the findings of the shown study that a name means, those in view first.

        An `exact` one is spelt as it is. If a viewport is named, they are those of its series.

        Raises:
            ToolRetry: There is none, or several where one is meant.
        """
        every = self._shown.listed(where)
        wanted = name.casefold().strip()
        group = _GROUPS.get(wanted)
        if wanted in SELECTED:
            found = self._shown.it()
            if not found:
                raise ToolRetry("no finding is selected", remedy="Click it, then ask again.")
            if len(found) > 1 and exact:
                raise ToolRetry("several findings may be meant", remedy=self.choices(found))
            return found
        if wanted in HERE and not exact and self._window.canvas.clicked:
            return self._at_click()
        if group is not None:
            found = [item.finding for item in every if group(item.finding)]
            if not found and wanted in named.BY_STATE:
                raise ToolRetry(f"no finding on the shown images is {wanted}")
        elif (but := _ALL_BUT.fullmatch(wanted)) is not None:
            ids = {one.id for one in self.named(but[2], where, several=True, exact=exact)}
            group = _GROUPS[but[1]]
            left = [i.finding for i in every if i.finding.id not in ids and group(i.finding)]
            if not left:
                raise ToolRetry(f"there is nothing else on the shown images than “{but[2]}”")
            return left
        elif counted := re.fullmatch(r"all (\d+)", wanted):
            if len(every) != int(counted[1]):
                raise ToolRetry(f"there are {len(every)} findings on the shown images")
            return [item.finding for item in every]
        else:
            found = [
                i.finding for i in every if len(wanted) > 5 and i.finding.id.startswith(wanted)
            ]
            findings = [item.finding for item in every]
            found = found or _by_label(wanted, findings, exact=exact)
            kind, number = numbered(wanted)
            if not found and number:
                found = self._in_order(_by_label(kind, findings, exact=exact))
                found = found[number - 1 : number]
            parts = _AND.split(wanted)
            if not found and len(parts) > 1:
                each = (self.named(part, where, several=True, exact=exact) for part in parts)
                return list({one.id: one for part in each for one in part}.values())
        if not found:
            labels = dict.fromkeys(one.finding.label for one in every)
            listed = ", ".join([*labels][:20])
            raise ToolRetry(
                f"there is no finding “{name}” on the shown images",
                remedy=f"There are: {listed}." if listed else "",
            )
        if not several and len({one.label for one in found}) > 1:
            raise ToolRetry(
                f"several findings are called “{name}”",
                remedy=self.choices(found),
            )
        return found

    def _in_order(self, findings: Sequence[Finding]) -> list[Finding]:
        """Return findings in the order in which they were made, by which they are numbered."""
        order = {item.finding.id: n for n, item in enumerate(self._workspace.annotations.all())}
        return sorted(findings, key=lambda one: order[one.id])

    def told_apart(self, findings: Sequence[Finding]) -> dict[str, str]:
        """Return a name for each finding by its id: with a number where several are called so."""
        labels = [one.label for one in findings]
        counts: dict[str, int] = {}
        names: dict[str, str] = {}
        for one in self._in_order(findings):
            counts[one.label] = counts.get(one.label, 0) + 1
            number = f" {counts[one.label]}" if labels.count(one.label) > 1 else ""
            names[one.id] = wording.label_text(one) + number
        return names

    def choices(self, findings: Sequence[Finding]) -> str:
        """Return what the user may say to mean one of several findings."""
        names = self.told_apart(findings)
        told = [f"{names[one.id]}{self._place_of(one)}" for one in self._in_order(findings)]
        return f"Say which: {', '.join(told[:_MOST_CHOICES])}."

    def _place_of(self, finding: Finding) -> str:
        """Return on which image of its series a finding lies: " (image 12)"; "" if it has one."""
        image = self._workspace.instance_of(finding.image.sop_instance_uid)
        series = self._workspace.studies.series_of(image) if image is not None else None
        if image is None or series is None:
            return ""
        if image.frames > 1:
            return f" (image {finding.image.frame + 1})"
        number = series.instances.index(image) + 1
        return f" (image {number})" if len(series.instances) > 1 else ""

    def placed(self, name: str, *, decides: bool = False) -> tuple[str, str]:
        """Return a name without its side, and the number of the viewport at that side.

        "The heart on the right" is that of the film at the right, if it has one, since a heart has
        no side. Any other name is returned as it is, with "" for the viewport.

        Raises:
            ToolRetry: A finding is to be decided on, and the patient's side may be meant.
        """
        said = _ON_THE_SIDE.fullmatch(name.casefold().strip())
        screen = self._workspace.layout.screen.viewports
        if said is None or len(screen) < 2:
            return name, ""
        side, base = side_of(said["side"] or said["before"]), said["name"] or said["behind"]
        there = [one for one in screen if side in self._shown.place(one).split()]
        if len(there) != 1:
            return name, ""
        number = str(screen.index(there[0]) + 1)
        marks = [item.finding for item in self._shown.listed(number)]
        found = [one for one in marks if is_called(one.label, base) and not side_of(one.label)]
        if not found:
            return name, ""
        if decides:
            raise ToolRetry(
                f"“{name}” may mean the patient's side or the viewport",
                remedy=f"Say which: “{base} in viewport {number}”, or its number.",
            )
        return base, number

    def others_called(self, name: str) -> bool:
        """Return whether another viewport shows another series with a finding of this name."""
        mine = {item.finding.id for item in self._shown.listed()}
        every = [item.finding for item in self._shown.listed("all")]
        return any(is_called(one.label, name) for one in every if one.id not in mine)

    def _at_click(self) -> list[Finding]:
        """Return the findings at the place that was clicked last on the current image."""
        canvas = self._window.canvas
        (x, y), frame = canvas.clicked[-1], canvas.frame
        pixel = Box(x - 0.5, y - 0.5, x + 0.5, y + 0.5)
        found = [
            item.finding
            for item in self._shown.listed()
            if frame is not None
            and frame.shows(item.finding.image)
            and not drawing.is_mark(item.finding)
            and touches(item.finding, pixel)
        ]
        if not found:
            raise ToolRetry("nothing is drawn at the place that was clicked")
        return found


class FindingCommands:
    """Each command returns its answer."""

    def __init__(self, window: MainWindow, shown: ShownState, findings: NamedFindings) -> None:
        self._window, self._workspace = window, window.workspace
        self._shown, self._findings = shown, findings
        self._last_action = ""
        self.by_name: dict[str, Callable[[JsonDict, ToolContext], ViewerAnswer | None]] = {
            named.MEASURE: self._measure,
            named.MARK: self._mark,
            named.FINDINGS: self._work_on,
        }

    def _measure(self, arguments: JsonDict, context: ToolContext) -> ViewerAnswer:
        canvas = self._acquired_canvas()
        frame = canvas.scaled_frame
        assert frame is not None
        given = [arguments[key] for key in ("start", "end") if arguments.get(key)]
        points = [self._place(one) for one in given] or self._last_points(canvas)
        if len(points) < 2:
            raise ToolRetry(
                "two points are needed",
                remedy="Click two places, or draw the length with L.",
            )
        _check_inside(points, frame.columns, frame.rows)
        if points[0] == points[1]:
            raise ToolRetry("both ends are the same point")
        drawn = drawing.draw(drawing.RULER, frame, points)
        finding = made_by(drawn, named.MEASURE, context, drawn.label)
        ends = [one for one in given if isinstance(one, str)]
        between = f" ({' to '.join(ends)}, from centre to centre)" if len(ends) == 2 else ""
        said = f"{wording.chip_text(finding)}{between}."
        output = {"value": finding.value, "units": finding.units, "label": finding.label}
        return ViewerAnswer(said, output, (finding,))

    def _place(self, end: str | Sequence[float]) -> XY:
        """Return the pixel that an end of a length means: a point, or the middle of a finding.

        Raises:
            ToolRetry: There is no such finding on the shown image.
        """
        if not isinstance(end, str):
            return float(end[0]), float(end[1])
        if end.casefold() in HERE and self._window.canvas.clicked:
            return self._window.canvas.clicked[-1]
        finding, shown = self._findings.one(end), self._workspace.viewport.frame
        if shown is None or not shown.shows(finding.image):
            raise ToolRetry(
                f"“{end}” is on another image",
                remedy="Both ends must be on the image that is shown.",
            )
        area = bounds_of(finding)
        if area is None:
            raise ToolFailed(f"“{end}” has no place on the image")
        if isinstance(finding.geometry, Mask):
            rows, columns = np.nonzero(finding.geometry.pixels)
            return float(columns.mean()), float(rows.mean())
        return (area[0] + area[2]) / 2, (area[1] + area[3]) / 2

    def _mark(self, arguments: JsonDict, context: ToolContext) -> ViewerAnswer:
        canvas = self._acquired_canvas()
        frame = canvas.scaled_frame
        assert frame is not None
        shape = arguments.get("shape", "point")
        needed = 1 if shape == "point" else 2
        points = [(float(x), float(y)) for x, y in arguments.get("points", ())]
        if not points and arguments.get("at") == "first":
            points = self._last_points(canvas)[:1]
        points = points or (canvas.clicked[-1:] if needed == 1 else self._last_points(canvas))
        if len(points) < needed and arguments.get("points"):
            raise ToolRetry("two points are needed")
        if len(points) < needed:
            # A place was not pointed at: the user is to do it, with the tool for it.
            name = {"point": "mark a point", "box": "mark a box", "arrow": "draw an arrow"}[shape]
            return in_hand(self._window, name)
        _check_inside(points, frame.columns, frame.rows)
        tool = {"point": drawing.POINT, "box": drawing.BOX, "arrow": drawing.ARROW}[shape]
        drawn = drawing.draw(tool, frame, points[:needed])
        label = label_of(arguments, drawn)
        finding = made_by(drawn, named.MARK, context, label)
        return ViewerAnswer(f"Marked: {label}.", {"label": label}, (finding,))

    def _acquired_canvas(self) -> Canvas:
        return acquired_canvas(self._window.viewports.active)

    def _last_points(self, canvas: Canvas) -> list[XY]:
        """Return the last two points that the user marked, or else clicked, on the shown frame."""
        marks = self._workspace.shown_marks()
        points = [
            drawing.points_of(one)[0] for one in marks if one.provenance.tool == drawing.POINT
        ]
        marked = [(float(x), float(y)) for x, y in points[-2:]]
        return marked if len(marked) == 2 else canvas.clicked

    def wanted(self, arguments: JsonDict) -> list[Finding]:
        """Return the findings that a command means.

        Raises:
            ToolRetry: There is none, or it is not clear which is meant.
            ToolFailed: Those that it is about are not there any more.
        """
        if (ids := arguments.get("ids")) is not None:  # those that the user was asked about
            items = {item.finding.id: item.finding for item in self._workspace.annotations.all()}
            if not all(one in items for one in ids):
                raise ToolFailed("what you were asked about is not there any more")
            return [items[one] for one in ids]
        which, where = str(arguments["which"]), str(arguments.get("viewport", ""))
        decides = arguments["action"] in DECIDING
        if not where:
            which, where = self._findings.placed(which, decides=decides)
        if not where and _MANY.search(which) and self._findings.others_called(which):
            where = "all"  # "both nodules" are one on each of two films
        found = self._findings.named(which, where, several=True, exact=decides)
        if arguments["action"] not in ("show", "only", "hide"):
            excepted = _ALL_BUT.fullmatch(which)
            for name in _AND.split(excepted[2] if excepted else which):
                each = found
                if name != which:
                    each = self._findings.named(name, where, several=True)
                one_is_meant = where != "all" and not (
                    excepted or _EVERY.fullmatch(name) or _BOTH.search(name)
                )
                if len(each) > 1 and one_is_meant and arguments["action"] != "describe":
                    raise ToolRetry(
                        f"several findings are called “{name}”", remedy=self._findings.choices(each)
                    )
                for one in each if side_of(name) else ():
                    self._check_side(one, side_of(name))
        return found

    def _check_side(self, finding: Finding, side: str) -> None:
        """Raise ToolRetry if a finding does not lie on the side by which it is named."""
        label = wording.label_text(finding)
        own = side_of(finding.label.casefold()) or self._side_of_patient(finding)
        if not own:
            raise ToolRetry(
                f"on which side “{label}” lies is not known", remedy="Click it, then ask again."
            )
        if own != side:
            raise ToolRetry(f"“{label}” lies on the {own}")

    def _side_of_patient(self, finding: Finding) -> str:
        """Return the patient's side on which a finding lies, by its place; "" if that is not clear.

        DICOM PS3.3 C.7.6.1.1.1 and C.7.6.2.1.1: rows run along ImageOrientationPatient's first
        three values (x to the left), or towards PatientOrientation's first letter.
        """
        image = self._workspace.instance_of(finding.image.sop_instance_uid)
        area = bounds_of(finding)
        if image is None or area is None:
            return ""
        across = image.get("ImageOrientationPatient").split("\\")[0]
        letter = image.get("PatientOrientation")[:1]
        to_left = {"L": 1.0, "R": -1.0}.get(letter, 0.0)
        if across:
            try:
                to_left = float(across)
            except ValueError:  # a damaged header
                return ""
        columns = image.columns
        off = (area[0] + area[2]) / 2 - columns / 2
        if abs(to_left) < _ACROSS or abs(off) < _OFF_MIDDLE * columns:
            return ""
        return "left" if off * to_left > 0 else "right"

    def question(self, arguments: JsonDict) -> tuple[str, JsonDict]:
        """Return what the user is asked, and the arguments for exactly what was asked about."""
        found = self.wanted(arguments)
        asked = {
            "accept": tr("Accept {names}?"),
            "reject": tr("Reject {names}?"),
            "delete": tr("Delete {names}?"),
            "propose": tr("Set {names} back to proposed?"),
        }[arguments["action"]]
        names = names_of(found)
        if len(found) > 1:
            names = tr("{count} findings: {names}").format(count=len(found), names=names)
        return asked.format(names=names), {**arguments, "ids": [one.id for one in found]}

    def _work_on(self, arguments: JsonDict, _context: ToolContext) -> ViewerAnswer:
        annotations, action = self._workspace.annotations, arguments["action"]
        which, where = str(arguments["which"]).casefold(), str(arguments.get("viewport", ""))
        if which == "heatmaps" and action in ("show", "hide"):
            canvas = self._window.canvas
            if (canvas.findings_layer.heat_strength > 0) != (action == "show"):
                self._window.actions_.shortcuts_.actions["heat.switch"].trigger()
            return ViewerAnswer(f"{_DONE[action]}: heatmaps.", {"action": action})
        found = self.wanted(arguments)
        # After "how big is it on the left one?", "and on the right one?" either may be meant.
        again = action == self._last_action == "describe"
        self._shown.speak_of(found, also=again)
        self._last_action = action
        before = {item.finding.id: item for item in annotations.all()}
        if action == "describe":
            return ViewerAnswer(self._described(found), {"action": action})
        if action == "select":
            self._workspace.layout.activate(self._shown.one_frame(where).viewport)
            self._findings.select(found[0])
            self._findings.unhide(found[0])
        elif action in ("show", "hide"):
            shown = action == "show"
            changed = [one.id for one in found if before[one.id].visible != shown]
            laid = which == "all" and not where
            if not changed and not laid:
                return self._answer(action, found, already=True)
            found = [one for one in found if one.id in changed] or found
            self._workspace.commands.push(
                Command(
                    tr("Show findings") if shown else tr("Hide findings"),
                    partial(self._set_visible, changed, shown, laid),
                    partial(self._set_visible, changed, not shown, laid),
                )
            )
        elif action == "only":
            meant = {one.id for one in found}
            shown = [one for one in meant if not before[one].visible]
            hidden = [key for key, item in before.items() if item.visible and key not in meant]
            self._workspace.commands.push(
                Command(
                    tr("Show these findings only"),
                    partial(self._show_and_hide, shown, hidden),
                    partial(self._show_and_hide, hidden, shown),
                )
            )
        elif action == "delete":
            annotations.remove([one.id for one in found])
            left = {item.finding.id for item in annotations.all()}
            found = [one for one in found if one.id not in left]
            if not found:
                raise ToolFailed("a locked finding is not deleted", remedy="Unlock it first.")
        else:
            found = [one for one in found if not drawing.by_hand(one)]
            if not found:
                raise ToolFailed("a mark of your own needs no review")
            state = _STATES[action]
            changed = [one for one in found if one.state is not state]
            if not changed:
                return self._answer(action, found, already=True)
            found = changed
            annotations.decide([one.id for one in found], state)
        return self._answer(action, found)

    def _answer(
        self, action: str, found: Sequence[Finding], *, already: bool = False
    ) -> ViewerAnswer:
        labels = list(dict.fromkeys(wording.label_text(one) for one in found))
        output = {"action": action, "findings": labels[:MOST_FINDINGS]}
        done = f"{_STATE_NAMES.get(action, _DONE[action])} already" if already else _DONE[action]
        return ViewerAnswer(f"{done}: {names_of(found)}{self._where(found)}.", output)

    def _where(self, found: Sequence[Finding]) -> str:
        """Return " (viewport 2)" where another viewport shows a finding of the same name."""
        ids, labels = {one.id for one in found}, {one.label for one in found}
        count = len(self._workspace.layout.screen.viewports)
        there: list[int] = []
        alike = False
        for number in range(1, count + 1) if count > 1 else ():
            items = self._shown.listed(str(number))
            if any(item.finding.id in ids for item in items):
                there.append(number)
            else:
                alike = alike or any(item.finding.label in labels for item in items)
        return f" (viewport {there[0]})" if alike and len(there) == 1 else ""

    def _described(self, found: Sequence[Finding]) -> str:
        """Return what is known of findings: state, maker and size, a sentence for each."""
        told: list[str] = []
        names = self._findings.told_apart(found)
        for one in found[:_MOST_DESCRIBED]:
            parts = [names[one.id]]
            if not drawing.by_hand(one):
                parts[0] += f": {one.state.value}"
            maker = wording.maker_text(one, self._workspace.title_of)
            parts.append(maker if drawing.by_hand(one) else f"Made by {maker}")
            if one.value is not None:
                parts.append(f"Measured {wording.value_text(one)}")
            else:
                parts += self._size(one)
            told += [f"{part}." for part in parts]
        if len(found) > _MOST_DESCRIBED:
            told.append(f"And {len(found) - _MOST_DESCRIBED} more.")
        return " ".join(told)

    def _size(self, finding: Finding) -> list[str]:
        """Return how far a region reaches, in mm where it is shown and its spacing known."""
        shape = finding.geometry
        area = bounds_of(finding) if isinstance(shape, Box | Mask | Polygon | Ellipse) else None
        if area is None:
            return []
        shown, box = self._window.canvas.scaled_frame, Box(*area)
        if shown is None or not (shown.shows(finding.image) or self._is_spaced_alike(finding)):
            return [f"{box.x1 - box.x0:.0f} × {box.y1 - box.y0:.0f} px across"]
        mean = self._mean(finding)
        across = f"{drawing.size_text(shown, box).partition(';')[0]} across"
        if not isinstance(shape, Mask | Polygon):
            return [across, *mean]
        return [across, drawing.area_text(shown, shape).capitalize(), *mean]

    def _mean(self, finding: Finding) -> list[str]:
        """Return the mean of what is measured in a region of the shown image, in HU or the like."""
        frame, region = self._window.canvas.frame, region_statistics.region_of(finding)
        if frame is None or region is None or not frame.shows(finding.image):
            return []
        own = (region_statistics.STORED_UNITS, region_statistics.RESCALED_UNITS)
        if region_statistics.value_units(frame) in own:
            return []
        read = region_statistics.region_values(frame, region)
        found = region_statistics.statistics(*read) if read is not None else None
        if found is None:
            return []
        return [f"Mean {found.mean:.1f} {found.units}, SD {found.deviation:.1f}"]

    def _is_spaced_alike(self, finding: Finding) -> bool:
        """Return whether a finding's image has the pixels of the shown one, of the same series."""
        shown, there = (
            self._workspace.acquired,
            self._workspace.instance_of(finding.image.sop_instance_uid),
        )
        if shown is None or there is None or not there.get("PixelSpacing"):
            return False
        series_of = self._workspace.studies.series_of
        return series_of(shown) is series_of(there) and all(
            shown.get(keyword) == there.get(keyword)
            for keyword in ("PixelSpacing", "Rows", "Columns", "Modality")
        )

    def _show_and_hide(self, shown: Sequence[str], hidden: Sequence[str]) -> None:
        self._workspace.annotations.set_visible(shown, True)
        self._workspace.annotations.set_visible(hidden, False)

    def _set_visible(self, ids: Sequence[str], visible: bool, laid: bool) -> None:
        self._workspace.annotations.set_visible(ids, visible)
        if laid:
            self._workspace.layers.set_laid_visible(visible)


_DONE = {
    "select": "Selected",
    "show": "Shown",
    "only": "Shown alone",
    "hide": "Hidden",
    "accept": "Accepted",
    "reject": "Rejected",
    "delete": "Deleted",
    "propose": "Set back to proposed",
}
_STATE_NAMES = {"propose": "Proposed"}
_STATES = {"accept": State.ACCEPTED, "reject": State.REJECTED, "propose": State.PROPOSED}


def names_of(findings: Iterable[Finding]) -> str:
    """Return the labels of findings, at most six of them."""
    labels = list(dict.fromkeys(wording.label_text(one) for one in findings))
    return ", ".join(labels[:6]) + (f" +{len(labels) - 6}" if len(labels) > 6 else "")


def bounds_of(finding: Finding) -> Area | None:
    """Return the pixels (x0, y0, x1, y1) around a finding; of a heat map, around its hot half."""
    shape = finding.geometry
    if isinstance(shape, Heatmap):
        hot = Mask(shape.values >= shape.values.max() / 2)
        return editing.bounds_of(replace(finding, geometry=hot)) if hot.pixels.any() else None
    return editing.bounds_of(finding)


def _check_inside(points: Iterable[tuple[float, float]], columns: int, rows: int) -> None:
    for x, y in points:
        if not (-0.5 <= x <= columns - 0.5 and -0.5 <= y <= rows - 0.5):
            raise ToolRetry(f"the point ({x:g}, {y:g}) is outside the image")


def acquired_canvas(viewport: ViewportFrame) -> Canvas:
    """Return a viewport's canvas, which shows an image as it was acquired.

    Raises:
        ToolFailed: It shows none, or a section of a volume.
    """
    canvas = shown_canvas(viewport)
    assert canvas.picture is not None
    if canvas.picture.job.instance.kind == REFORMAT:
        raise ToolFailed(
            "this is a section, on which the assistant does not draw",
            remedy="Show the images as acquired.",
        )
    return canvas


def in_hand(window: MainWindow, command: str) -> ViewerAnswer:
    """Let the user draw, with the tool of a command of the menus in hand."""
    action = window.actions_.shortcuts_.actions[COMMANDS[command]]
    action.trigger()
    text = action.text().replace("&", "").rstrip("…")
    return ViewerAnswer(f"“{text}” is in hand: draw on the image.", {"done": command})


def label_of(arguments: JsonDict, drawn: Finding) -> str:
    """Return the label that a command gives to what it draws; by default, the drawing's own."""
    label = " ".join(str(arguments.get("label", "")).split()) or drawn.label
    return label[:1].upper() + label[1:]


def made_by(drawn: Finding, tool: str, context: ToolContext, label: str) -> Finding:
    """Return a drawing as a tool's finding: proposed, and by whom."""
    made = Provenance(tool, "1.0.0", "", "", context.run_id, context.call_id)
    return replace(drawn, provenance=made, state=State.PROPOSED, label=label)


def _by_label(wanted: str, findings: list[Finding], *, exact: bool) -> list[Finding]:
    """Return the findings whose label has all words of a name, and the same side.

    Where none has them, a word may be off by one letter, but not of an `exact` one.
    """
    for near in (False,) if exact else (False, True):
        name = as_spelt(wanted, [one.label for one in findings]) if near else wanted
        words, side = set(words_of(name)), side_of(name)
        found = [one for one in findings if is_called(one.label, name)]
        sided = [one for one in found if side and side_of(one.label.casefold()) == side]
        whole = [one for one in sided or found if set(words_of(one.label.casefold())) == words]
        if found:
            return whole or sided or found
    return []


def touches(finding: Finding, box: Box) -> bool:
    """Return whether a finding has a part in a box, a mask at least one pixel."""
    if isinstance(finding.geometry, Mask):
        rows, columns = (
            slice(max(round(low + 0.5), 0), max(round(high + 0.5), 0))
            for low, high in ((box.y0, box.y1), (box.x0, box.x1))
        )
        return bool(finding.geometry.pixels[rows, columns].any())
    area = bounds_of(finding)
    if area is None:
        return False
    across = area[0] < box.x1 and area[2] > box.x0
    return across and area[1] < box.y1 and area[3] > box.y0
