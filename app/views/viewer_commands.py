"""Carries out the assistant's commands in the window; see `tools.api.Viewer`.

Commands arrive on the threads of tool calls and run on the GUI thread. What a run changed in the
view is one step on the undo stack, together with the marks that it made.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from concurrent.futures import Future
from concurrent.futures import TimeoutError as NotYet
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QObject, QThread, QTimer

from app.errors import SightlineError, unexpected
from app.imaging.findings import Box, Finding, Heatmap, Mask, Provenance, State
from app.imaging.space.planes import XYZ, frame_plane
from app.imaging.types import Content, Instance, Series, Window
from app.log import get_logger
from app.tools.api import JsonDict, ToolContext, ToolFailed, ToolRetry, ViewerAnswer
from app.tools.finding_names import is_called, side_of, words_of
from app.tools.viewer import reading
from app.tools.viewer import tools as named
from app.tools.viewer.commands import CLOSING, COMMANDS, TEXTS
from app.views import wording
from app.views.background import gui_calls
from app.views.canvas.canvas import Canvas
from app.views.canvas.corner_text import Detail
from app.views.translation import tr
from app.views.viewports.viewport_frame import ViewportFrame
from app.workspace import drawing, editing
from app.workspace.annotations import Annotation, Command
from app.workspace.hanging import Arrangement, Hung, Match, Protocol
from app.workspace.layout import LAYOUTS
from app.workspace.viewport import REFORMAT, Viewport
from app.workspace.workspace import Shown

if TYPE_CHECKING:
    from app.views.main_window import MainWindow

_POLL_MS = 15
_WARM_MS = 3000
"""After the window is made: then the first image is shown."""
_LONGEST_S = 20.0
"""How long a picture is awaited; after that the command counts as done."""
_MOST_FINDINGS = 60
_MARGIN = 0.2
"""What is shown around a finding that is zoomed to, as a fraction of its size."""
_GROUPS: dict[str, Callable[[Finding], bool]] = {
    "all": lambda _one: True,
    "masks": lambda one: isinstance(one.geometry, Mask),
    "boxes": lambda one: isinstance(one.geometry, Box),
    "measurements": drawing.is_measurement,
}
_DETAILS = {
    "show image texts": Detail.ALL,
    "hide names": Detail.NO_NAMES,
    "hide image texts": Detail.NONE,
}
_SELECTED = ("selected", "this", "it", "that")

_log = get_logger(__name__)

Area = tuple[float, float, float, float]


@dataclass(frozen=True, slots=True)
class _View:
    """What the viewports show, and which part of each image (None: fitted)."""

    shown: Shown
    areas: tuple[Area | None, ...]


class ViewerCommands(QObject):
    """The window as the assistant's tools work it; implements `tools.api.Viewer`.

    Args:
        caught_up: Returns whether the results of earlier calls are on the images.
    """

    def __init__(self, window: MainWindow, caught_up: Callable[[], bool] = lambda: True) -> None:
        super().__init__(window)
        self._caught_up = caught_up
        self._window = window
        self._workspace = window.workspace
        self._runs: dict[str, set[str]] = {}
        """The studies that each run's last command showed."""
        self._closed = False
        window.closing.connect(self._close)
        self._do: dict[str, Callable[[JsonDict, ToolContext], ViewerAnswer | None]] = {
            named.WINDOW: self._set_window,
            named.GO_TO: self._go_to,
            named.SHOW: self._show,
            named.LAYOUT: self._lay_out,
            named.ZOOM: self._zoom,
            named.CINE: self._cine,
            named.MEASURE: self._measure,
            named.MARK: self._mark,
            named.FINDINGS: self._work_on,
            named.COMMAND: self._command,
        }
        gui_calls()  # made here, on the GUI thread
        QTimer.singleShot(_WARM_MS, self, _warm)

    def _close(self) -> None:
        self._closed = True

    # Threads

    def state(self) -> JsonDict:
        """Return what is shown; see `tools.api.Viewer`."""
        if QThread.currentThread() is self.thread():
            return self._state()
        answer: Future[JsonDict] = Future()
        gui_calls().send(partial(_answer, answer, self._state))
        return answer.result(timeout=_LONGEST_S)

    def do(self, command: str, arguments: JsonDict, context: ToolContext) -> ViewerAnswer:
        """Run a command on the GUI thread, and wait until its picture is there."""
        closing = _closing(command, arguments)
        # Asked about whoever wants it: nothing brings back what was open.
        if closing and not context.confirm(closing, tr("The assistant wants to do this.")):
            raise ToolFailed(tr("you did not want this"))
        answer: Future[ViewerAnswer] = Future()
        gui_calls().send(partial(self._begin, command, dict(arguments), context, answer))
        while True:
            context.cancel.check()
            try:
                return answer.result(timeout=0.1)
            except NotYet:
                if self._closed:
                    raise ToolFailed("the window was closed") from None

    def _begin(
        self,
        command: str,
        arguments: JsonDict,
        context: ToolContext,
        answer: Future[ViewerAnswer],
    ) -> None:
        if self._closed or context.cancel.cancelled:
            answer.cancel()
            return
        if not self._caught_up():
            begin = partial(self._begin, command, arguments, context, answer)
            QTimer.singleShot(_POLL_MS, self, begin)
            return
        workspace, before, told = self._workspace, self._view(), self._told()
        try:
            self._check_study(context)
            with workspace.commands.of_run(context.run_id):
                made = self._do[command](arguments, context)
        except SightlineError as error:
            answer.set_exception(error)
            return
        except Exception as error:  # a defect here must not hold up the run
            _log.exception("a command of the assistant failed")
            answer.set_exception(unexpected(error))
            return
        self._runs[context.run_id] = self._studies_shown()
        stepless = arguments.get("command") in ("undo", "redo")
        self._when_shown(partial(self._finish, before, told, made, stepless, context, answer))

    def _check_study(self, context: ToolContext) -> None:
        """Leave the window alone while the user reads another study than the one asked about.

        Raises:
            ToolFailed: Neither that study is shown, nor what the run itself has shown since.
        """
        asked = next(iter(context.images.instances().values()), None)
        shown = self._studies_shown()
        if asked is None or not shown:
            return
        mine = {self._workspace.study_uid_of(asked.sop_instance_uid)}
        mine |= self._runs.get(context.run_id, set())
        if not shown & mine:
            raise ToolFailed(
                tr("another study is shown now, and stays as it is"),
                remedy=tr("Show the study that you asked about, and ask again."),
            )

    def _studies_shown(self) -> set[str]:
        images = (viewport.acquired for viewport in self._workspace.layout.visible)
        uids = {self._workspace.study_uid_of(one.sop_instance_uid) for one in images if one}
        return uids - {""}

    def _finish(
        self,
        before: _View,
        told: dict[str, str],
        made: ViewerAnswer | None,
        stepless: bool,
        context: ToolContext,
        answer: Future[ViewerAnswer],
    ) -> None:
        after, commands = self._view(), self._workspace.commands
        if not stepless and not _is_same(before, after):
            step = Command(
                tr("Change what is shown"),
                partial(self._show_view, after),
                partial(self._show_view, before),
            )
            with commands.of_run(context.run_id):
                commands.push(step)
        if not stepless:
            commands.join_run(context.run_id, tr("What the assistant did"))
        self._runs[context.run_id] = self._studies_shown()
        if made is None:
            now = self._told()
            changed = [text for key, text in now.items() if told.get(key) != text]
            said = ", ".join(changed) or tr("the window stays as it is")
            output = {"viewports": self._state()["viewports"]}
            made = ViewerAnswer(f"{said[:1].upper()}{said[1:]}.", output)
        answer.set_result(made)

    def end_run(self, run_id: str) -> None:
        """Join what a run did to one step, with the findings that came after its last command."""
        if run_id in self._runs:
            del self._runs[run_id]
            self._workspace.commands.join_run(run_id, tr("What the assistant did"))

    def _when_shown(self, then: Callable[[], object], left: float = _LONGEST_S) -> None:
        """Call a function once nothing that is visible waits for pixels."""
        if self._closed:
            return
        frames = self._window.viewports.frames
        visible = [one for one in frames if one.viewport in self._workspace.layout.visible]
        busy = any(one.canvas.busy or one.planes.busy for one in visible)
        missing = len(visible) < len(self._workspace.layout.visible)
        if (busy or missing) and left > 0:
            left -= _POLL_MS / 1000
            QTimer.singleShot(_POLL_MS, self, partial(self._when_shown, then, left))
        else:
            then()

    # View

    def _view(self) -> _View:
        shown = self._workspace.arrangement()
        area = self._window.viewports
        made = {frame.viewport: frame for frame in area.frames}
        areas = (
            made[one].canvas.view_area if one in made else None for one in shown.screen.viewports
        )
        return _View(shown, tuple(areas))

    def _show_view(self, view: _View) -> None:
        now = self._view()
        if _is_same(now, view) or not self._workspace.show_again(view.shown):
            return
        self._when_shown(partial(self._zoom_as, view))

    def _zoom_as(self, view: _View) -> None:
        for viewport, area in zip(view.shown.screen.viewports, view.areas, strict=False):
            canvas = self._window.viewports.frame_of(viewport).canvas
            if area is None:
                canvas.fit()
            else:
                canvas.zoom_to(area)

    def _frames(self, where: str) -> list[ViewportFrame]:
        """Return the viewports that an argument names; the active one for "".

        Raises:
            ToolRetry: There is none.
        """
        area, screen = self._window.viewports, self._workspace.layout.screen
        if not where:
            return [area.active]
        every = list(zip(screen.slots, screen.viewports, strict=True))
        if where == "all":
            return [area.frame_of(one) for _, one in every]
        if where.isdigit() and 1 <= int(where) <= len(every):
            return [area.frame_of(every[int(where) - 1][1])]
        if where in ("left", "right", "top", "bottom"):
            across = where in ("left", "right")
            places = [slot.x + slot.width / 2 if across else slot.y for slot, _ in every]
            if max(places) > min(places):
                pick = min if where in ("left", "top") else max
                return [area.frame_of(every[places.index(pick(places))][1])]
        raise ToolRetry(
            tr("there is no viewport “{name}”").format(name=where),
            remedy=tr("There are {count}.").format(count=len(every)),
        )

    def _canvas(self, arguments: JsonDict) -> Canvas:
        """Return the canvas of the viewport that is meant, which shows an image.

        Raises:
            ToolFailed: It shows none.
        """
        canvas = self._frames(str(arguments.get("viewport", "")))[0].canvas
        if canvas.picture is None:
            raise ToolFailed(tr("no image is shown"), remedy=tr("Open an image first."))
        return canvas

    # Commands: each returns its answer, or None for what is then shown

    def _set_window(self, arguments: JsonDict, _context: ToolContext) -> None:
        frames = self._frames(str(arguments.get("viewport", "")))
        for frame in frames:
            canvas = frame.canvas
            shown = canvas.shown_window
            if shown is None:
                raise ToolFailed(tr("this image has no grey values to window"))
            canvas.set_window(self._wanted_window(canvas, shown, arguments))

    def _wanted_window(self, canvas: Canvas, shown: Window, arguments: JsonDict) -> Window | None:
        preset, change = arguments.get("preset", ""), arguments.get("change", "")
        center, width = arguments.get("center"), arguments.get("width")
        if preset in ("default", "standard", "original"):
            return None
        if preset:
            found = _preset(preset, canvas.presets())
            if found is None:
                names = ", ".join(tr(one.explanation) for one in canvas.presets())
                raise ToolRetry(
                    tr("this image has no window preset “{name}”").format(name=preset),
                    remedy=tr("It has: {names}.").format(names=names) if names else "",
                )
            return found
        if change == "original":
            return None
        if change == "automatic":
            return canvas.model.automatic or None
        step = shown.width * 0.15
        moved = {"brighter": -step, "darker": step}.get(change)
        scaled = {"more contrast": 1 / 1.3, "less contrast": 1.3}.get(change)
        if moved is not None:
            return Window(shown.center + moved, shown.width)
        if scaled is not None:
            return Window(shown.center, shown.width * scaled)
        if center is None and width is None:
            raise ToolRetry("give a preset, a centre and width, or a change")
        return Window(
            shown.center if center is None else center, shown.width if width is None else width
        )

    def _go_to(self, arguments: JsonDict, _context: ToolContext) -> None:
        if name := arguments.get("finding"):
            self._select(self._one(name))
            return
        canvas = self._canvas(arguments)
        frame = self._frames(str(arguments.get("viewport", "")))[0]
        place, count = canvas.scroller.place
        where = arguments.get("place")
        wanted = {"first": 0, "last": count - 1, "middle": count // 2}.get(str(where))
        if (number := arguments.get("slice")) is not None:
            if number > count:
                text = tr("there is no image {number}; the series has {count}")
                raise ToolRetry(text.format(number=number, count=count))
            wanted = number - 1
        elif (steps := arguments.get("by")) is not None:
            wanted = min(max(place + steps, 0), count - 1)
        elif (point := self._position(frame, arguments)) is not None:
            if frame.planes.place_of(point) is None:
                raise ToolFailed(tr("the place of this image in the patient is not known"))
            frame.planes.look_at(point)
            return
        elif (time := arguments.get("time")) is not None:
            if not 1 <= time <= canvas.scroller.times[1]:
                raise ToolRetry(tr("there is no time point {number}").format(number=time))
            canvas.scroller.to_time(time - 1)
            return
        if wanted is None:
            raise ToolRetry("say where to go")
        if count < 2:
            raise ToolFailed(tr("there is only one image here"))
        canvas.scroller.to(wanted)

    def _position(self, frame: ViewportFrame, arguments: JsonDict) -> XYZ | None:
        """Return the point in the patient that is meant, in mm (LPS); None if none is."""
        if (point := arguments.get("position")) is not None:
            return tuple(point)
        shown = frame.canvas.frame
        plane = frame_plane(shown) if shown is not None else None
        if (height := arguments.get("z")) is None or shown is None:
            return None
        if plane is None:
            raise ToolFailed(tr("the place of this image in the patient is not known"))
        x, y, _ = plane.point(shown.columns / 2, shown.rows / 2)
        return x, y, float(height)

    def _show(self, arguments: JsonDict, _context: ToolContext) -> None:
        what, where = str(arguments["what"]).casefold().strip(), str(arguments.get("viewport", ""))
        if what in ("next series", "previous series"):
            self._window.viewports.active.canvas.setFocus()
            self._window.study_list.step(1 if what.startswith("next") else -1)
            return
        wanted = self._image_named(what)
        if where in ("left", "right") and len(self._workspace.layout.screen.viewports) == 1:
            shown = self._workspace.viewport.instance
            self._workspace.layout.arrange(LAYOUTS["1x2"])
            if where == "left":  # what was shown makes room
                self._workspace.layout.screen.viewports[-1].show(shown)
        for frame in self._frames(where):
            frame.viewport.show(wanted)

    def _image_named(self, what: str) -> Instance:
        """Return the first image of what a text names.

        Raises:
            ToolRetry: There is none; says which series there are.
        """
        studies, shown = self._workspace.studies, self._workspace.acquired
        study = studies.study_of(shown) if shown is not None else None
        newest = self._newest()
        if what in ("current", "latest") and newest is not None:
            return _first(newest, shown)
        if what == "prior":
            priors = self._workspace.priors(newest) if newest is not None else []
            if not priors:
                raise ToolFailed(
                    tr("no prior of this patient is open"), remedy=tr("Open the prior as well.")
                )
            assert newest is not None
            modality = _first(newest, shown).get("Modality")
            alike = [one for one in priors if any(i.modality == modality for i in one.series)]
            return _first((alike or priors)[0], shown)
        for one in self._workspace.open_images():
            if what in (one.id, one.instance.sop_instance_uid):
                return one.instance
        every = [one for one in (study.series if study is not None else ()) if one.instances]
        found = [one for one in every if what in (f"series {one.number}", f"serie {one.number}")]
        words = set(words_of(what))
        found = found or [
            one for one in every if words and words <= set(words_of(one.description.casefold()))
        ]
        if not found:
            listed = ", ".join(str(one.number) for one in every)
            raise ToolRetry(
                tr("no open series is “{name}”").format(name=what),
                remedy=tr("Series of this study: {numbers}.").format(numbers=listed),
            )
        return found[0].instances[0]

    def _newest(self) -> Any:
        """Return the study that is read: the latest of the shown patient."""
        shown = self._workspace.acquired
        study = self._workspace.studies.study_of(shown) if shown is not None else None
        if study is None:
            return None
        later = [one for one in self._workspace.studies.all if study in self._workspace.priors(one)]
        return max((study, *later), key=lambda one: one.date)

    def _lay_out(self, arguments: JsonDict, _context: ToolContext) -> ViewerAnswer | None:
        name = str(arguments["layout"]).casefold().replace(" ", "").replace("×", "x")
        layout = self._workspace.layout
        if name in LAYOUTS:
            self._window.viewports.show_layout(name)
        elif name == "maximised":
            if len(layout.screen.viewports) > 1:
                layout.maximise(True)
        elif name == "protocol":
            self._window.hanging.arrange()
        elif name == "prior":
            return self._hang_prior()
        elif name == "current":
            current = self._image_named("current")
            layout.arrange(LAYOUTS["1x1"])
            if layout.active.acquired is not current:
                layout.active.show(current)
        elif name == "swap":
            if len(layout.screen.viewports) != 2:
                raise ToolRetry(tr("two viewports are needed to exchange them"))
            layout.swap(*layout.screen.viewports)
        else:
            raise ToolRetry(
                tr("there is no layout “{name}”").format(name=name),
                remedy=", ".join((*LAYOUTS, "maximised", "protocol", "prior", "current", "swap")),
            )
        return None

    def _hang_prior(self) -> ViewerAnswer:
        """Show the shown study at the left and its latest prior at the right."""
        newest = self._newest()
        prior = self._image_named("prior")
        shown = self._workspace.acquired
        assert newest is not None
        current = _first(newest, shown)
        slots = LAYOUTS["1x2"]
        title = tr("current and prior")
        protocol = Protocol("prior", title, slots, Match(), ())
        hung = (
            Hung(current),
            Hung(_alike(prior, current, self._workspace.studies.study_of(prior))),
        )
        self._workspace.hang(Arrangement(protocol, hung, ""))
        said = tr("The current study is at the left, its prior at the right.")
        return ViewerAnswer(said, {"viewports": self._state()["viewports"]})

    def _zoom(self, arguments: JsonDict, _context: ToolContext) -> None:
        if name := arguments.get("to"):
            self._zoom_to(name)
            return
        for frame in self._frames(str(arguments.get("viewport", ""))):
            canvas, size = frame.canvas, arguments.get("size", "")
            if canvas.picture is None:
                raise ToolFailed(tr("no image is shown"), remedy=tr("Open an image first."))
            if size == "fit":
                canvas.fit()
            elif size == "actual pixels":
                canvas.one_to_one()
            elif size == "true size":
                self._trigger("true_size")
            elif (factor := arguments.get("factor")) is not None:
                canvas.zoom_by(factor)
            else:
                raise ToolRetry("say what to zoom to, a factor or a size")

    def _zoom_to(self, name: str) -> None:
        found = self._named(name, several=True)
        shown = self._workspace.viewport.frame
        here = [one for one in found if shown is not None and shown.shows(one.image)]
        chosen = here or found[:1]
        if not here:
            self._workspace.show_image(chosen[0].image)
        bounds = [area for one in chosen if (area := _bounds(one)) is not None]
        if not bounds:
            raise ToolFailed(tr("“{name}” has no place on the image").format(name=name))
        area = (
            min(one[0] for one in bounds),
            min(one[1] for one in bounds),
            max(one[2] for one in bounds),
            max(one[3] for one in bounds),
        )
        if len(chosen) == 1:
            self._workspace.annotations.select(chosen[0].id)
        self._when_shown(partial(self._zoom_in, self._workspace.viewport, area))

    def _zoom_in(self, viewport: Viewport, area: Area) -> None:
        self._window.viewports.frame_of(viewport).canvas.zoom_to(area, _MARGIN)

    def _cine(self, arguments: JsonDict, _context: ToolContext) -> ViewerAnswer:
        canvas = self._canvas(arguments)
        scroller, play = canvas.scroller, arguments.get("play", True)
        if play and not scroller.playable:
            raise ToolFailed(tr("there is only one image here, nothing to play"))
        if rate := arguments.get("frames_per_second"):
            scroller.set_rate(rate)
        if play != scroller.playing:
            scroller.toggle()
        text = tr("The cine plays at {rate} images a second.") if play else tr("The cine stopped.")
        return ViewerAnswer(
            text.format(rate=f"{scroller.rate:.3g}"), {"playing": play, "rate": scroller.rate}
        )

    def _measure(self, arguments: JsonDict, context: ToolContext) -> ViewerAnswer:
        canvas = self._acquired_canvas()
        frame = canvas.scaled_frame
        assert frame is not None
        given = [arguments[key] for key in ("start", "end") if key in arguments]
        points = [(float(x), float(y)) for x, y in given] or self._last_points(2)
        if len(points) < 2:
            raise ToolRetry(
                tr("two points are needed"),
                remedy=tr("Mark two points with M, or draw the length with L."),
            )
        _check_inside(points, frame.columns, frame.rows)
        drawn = drawing.draw(drawing.RULER, frame, points)
        finding = _made(drawn, named.MEASURE, context, drawn.label)
        said = wording.chip_text(finding)
        output = {"value": finding.value, "units": finding.units, "label": finding.label}
        return ViewerAnswer(f"{said}.", output, (finding,))

    def _mark(self, arguments: JsonDict, context: ToolContext) -> ViewerAnswer:
        canvas = self._acquired_canvas()
        frame = canvas.scaled_frame
        assert frame is not None
        shape = arguments.get("shape", "point")
        needed = {"point": 1}.get(shape, 2)
        points = [(float(x), float(y)) for x, y in arguments.get("points", ())]
        if not points and needed == 1 and (at := canvas.pointed_at) is not None:
            points = [at]
        if len(points) < needed:
            keys = {"point": "M", "box": "B", "arrow": "Shift+Q"}
            raise ToolRetry(
                tr("it is not clear what place is meant"),
                remedy=tr("Mark it with {key}.").format(key=keys[shape]),
            )
        _check_inside(points, frame.columns, frame.rows)
        tool = {"point": drawing.POINT, "box": drawing.BOX, "arrow": drawing.ARROW}[shape]
        drawn = drawing.draw(tool, frame, points[:needed])
        label = str(arguments.get("label") or drawn.label)
        finding = _made(drawn, named.MARK, context, label)
        return ViewerAnswer(
            tr("Marked: {label}.").format(label=label), {"label": label}, (finding,)
        )

    def _acquired_canvas(self) -> Canvas:
        canvas = self._canvas({})
        assert canvas.picture is not None
        if canvas.picture.job.instance.kind == REFORMAT:
            raise ToolFailed(
                tr("this is a section, on which the assistant does not draw"),
                remedy=tr("Show the images as acquired."),
            )
        return canvas

    def _last_points(self, count: int) -> list[tuple[float, float]]:
        """Return the points that the user marked last on the shown frame."""
        marks = self._workspace.shown_marks()
        points = [
            drawing.points_of(one)[0] for one in marks if one.provenance.tool == drawing.POINT
        ]
        return [(float(x), float(y)) for x, y in points[-count:]]

    def _work_on(self, arguments: JsonDict, _context: ToolContext) -> ViewerAnswer:
        annotations = self._workspace.annotations
        action, which = arguments["action"], str(arguments["which"])
        if which.casefold() == "heatmaps" and action in ("show", "hide"):
            canvas = self._window.canvas
            if (canvas.findings_layer.heat_strength > 0) != (action == "show"):
                self._trigger("heat.switch")
            return self._said(action, [])
        several = action in ("show", "hide")
        found = self._named(which, several=True)
        if len(found) > 1 and not several and which.casefold() not in _GROUPS:
            raise ToolRetry(
                tr("several findings are called “{name}”").format(name=which),
                remedy=", ".join(f"{one.label} ({one.id[:8]})" for one in found[:8]),
            )
        ids = [one.id for one in found]
        if action == "select":
            self._select(found[0])
        elif several:
            shown = action == "show"
            hidden = {i.finding.id: i.visible for i in annotations.all()}
            changed = [one for one in ids if hidden[one] != shown]
            if which.casefold() == "all":
                self._workspace.layers.set_laid_visible(shown)
            self._workspace.commands.push(
                Command(
                    tr("Show findings") if shown else tr("Hide findings"),
                    partial(annotations.set_visible, changed, shown),
                    partial(annotations.set_visible, changed, not shown),
                )
            )
        elif action == "delete":
            annotations.remove(ids)
        else:
            if all(drawing.by_hand(one) for one in found):
                raise ToolFailed(tr("a mark of your own needs no review"))
            annotations.decide(ids, State.ACCEPTED if action == "accept" else State.REJECTED)
        return self._said(action, found)

    def _said(self, action: str, found: Iterable[Finding]) -> ViewerAnswer:
        texts = {
            "select": tr("Selected: {names}."),
            "show": tr("Shown: {names}."),
            "hide": tr("Hidden: {names}."),
            "accept": tr("Accepted: {names}."),
            "reject": tr("Rejected: {names}."),
            "delete": tr("Deleted: {names}."),
        }
        labels = list(dict.fromkeys(wording.label_text(one) for one in found))
        names = ", ".join(labels[:6]) + (f" +{len(labels) - 6}" if len(labels) > 6 else "")
        return ViewerAnswer(
            texts[action].format(names=names or tr("heatmaps")),
            {"action": action, "findings": labels[:_MOST_FINDINGS]},
        )

    def _command(self, arguments: JsonDict, _context: ToolContext) -> ViewerAnswer | None:
        name = arguments["command"]
        if name in TEXTS:
            for frame in self._window.viewports.frames:
                frame.canvas.set_detail(_DETAILS[name])
            return ViewerAnswer(tr("Image texts: {which}.").format(which=tr(TEXTS[name])), {})
        action = self._action(COMMANDS[name])
        text = action.text().replace("&", "").rstrip("…")
        if not action.isEnabled():
            raise ToolFailed(tr("“{command}” cannot be used now").format(command=text))
        if action.text().endswith("…"):
            QTimer.singleShot(0, self, action.trigger)  # a dialogue may hold its caller
            return ViewerAnswer(
                tr("“{command}” is open; you decide there.").format(command=text), {"opened": name}
            )
        if name.startswith("unlink"):
            if action.isChecked():
                action.trigger()
        elif name.startswith(("panel ", "plane ", "link ", "channels", "reference")):
            self._switch_on(action)
        elif not (name == "mark as key image" and action.isChecked()):
            action.trigger()
        if name in ("undo", "redo"):
            return ViewerAnswer(f"{text}.", {"done": name})
        if name.startswith(("panel", "image texts", "full", "measure", "mark a", "draw", "probe")):
            return ViewerAnswer(f"{text}.", {"done": name})
        return None

    def _switch_on(self, action: Any) -> None:
        if not (action.isCheckable() and action.isChecked()):
            action.trigger()

    def _action(self, name: str) -> Any:
        return self._window.actions_.shortcuts_.actions[name]

    def _trigger(self, name: str) -> None:
        self._action(name).trigger()

    # Findings by name

    def _select(self, finding: Finding) -> None:
        self._workspace.show_image(finding.image)
        self._workspace.annotations.select(finding.id)

    def _one(self, name: str) -> Finding:
        found = self._named(name)
        return found[0]

    def _named(self, name: str, *, several: bool = False) -> list[Finding]:
        """Return the findings of the shown study that a name means, those in view first.

        Raises:
            ToolRetry: There is none, or several where one is meant.
        """
        every = self._listed()
        wanted = name.casefold().strip()
        group = _GROUPS.get(wanted)
        selected = self._workspace.annotations.selected
        if wanted in _SELECTED:
            found = [i.finding for i in every if i.finding.id == selected]
            if not found:
                raise ToolRetry(
                    tr("no finding is selected"), remedy=tr("Click it, then ask again.")
                )
            return found
        if group is not None:
            found = [item.finding for item in every if group(item.finding)]
        else:
            found = [
                i.finding for i in every if len(wanted) > 5 and i.finding.id.startswith(wanted)
            ]
            found = found or _by_label(wanted, [item.finding for item in every])
        if not found:
            labels = dict.fromkeys(one.finding.label for one in every)
            listed = ", ".join([*labels][:20])
            raise ToolRetry(
                tr("there is no finding “{name}” on the shown images").format(name=name),
                remedy=tr("There are: {labels}.").format(labels=listed) if listed else "",
            )
        if not several and len({one.label for one in found}) > 1:
            raise ToolRetry(
                tr("several findings are called “{name}”").format(name=name),
                remedy=", ".join(f"{one.label} ({one.id[:8]})" for one in found[:8]),
            )
        return found

    def _listed(self) -> list[Annotation]:
        """Return the marks on images that are shown or belong to the shown study, shown first."""
        workspace, shown = self._workspace, self._workspace.viewport.frame
        uid = (
            workspace.study_uid_of(workspace.acquired.sop_instance_uid)
            if workspace.acquired
            else ""
        )
        mine = [
            item
            for item in workspace.annotations.all()
            if uid and workspace.study_uid_of(item.finding.image.sop_instance_uid) == uid
        ]
        return sorted(mine, key=lambda i: not (shown is not None and shown.shows(i.finding.image)))

    # State

    def _told(self) -> dict[str, str]:
        """Return what the active viewport shows, in words, by what it is about."""
        canvas, told = self._window.canvas, dict[str, str]()
        if canvas.picture is None:
            return {"image": tr("no image is shown")}
        place, count = canvas.scroller.place
        told["image"] = tr("image {place} of {count}").format(place=place + 1, count=count)
        series = self._workspace.studies.series_of(canvas.picture.job.instance)
        if series is not None and series.number:
            told["series"] = tr("series {number}").format(number=series.number)
        if (window := canvas.shown_window) is not None:
            told["window"] = tr("window C {center} W {width}").format(
                center=f"{window.center:g}", width=f"{window.width:g}"
            )
        inverted = canvas.model.display.invert
        told["invert"] = tr("inverted") if inverted else tr("not inverted")
        turned = canvas.model.display.turn_text
        told["turn"] = tr(turned).lower() if turned else tr("not turned")
        told["plane"] = tr(self._window.planes.plane.value)
        told["zoom"] = tr("zoom {percent} %").format(percent=round(canvas.zoom * 100))
        count = len(self._workspace.layout.visible)
        told["layout"] = tr("{count} viewports").format(count=count)
        return told

    def _state(self) -> JsonDict:
        workspace, area = self._workspace, self._window.viewports
        screen = workspace.layout.screen
        made = {frame.viewport: frame for frame in area.frames}
        images: dict[int, str] = {}  # as `Workspace.open_images` numbers them
        for viewport in (workspace.viewport, *workspace.layout.viewports):
            if (acquired := viewport.acquired) is not None:
                images.setdefault(id(acquired), f"image-{len(images) + 1}")
        viewports: list[JsonDict] = []
        for number, viewport in enumerate(screen.viewports, 1):
            told: JsonDict = {"viewport": number, "active": viewport is workspace.viewport}
            frame = made.get(viewport)
            if frame is not None and frame.canvas.picture is not None:
                told |= self._shown_in(frame, images)
            viewports.append(told)
        selected = workspace.annotations.selected
        findings = [
            {
                "id": item.finding.id[:8],
                "label": item.finding.label,
                "state": item.finding.state.value,
                "visible": item.visible,
                **({"selected": True} if item.finding.id == selected else {}),
            }
            for item in self._listed()[:_MOST_FINDINGS]
        ]
        pointed = self._window.canvas.pointed_at
        return {
            "viewports": viewports,
            "layout": screen.name,
            "findings": findings,
            **({"pointed_at": {"x": pointed[0], "y": pointed[1]}} if pointed else {}),
        }

    def _shown_in(self, frame: ViewportFrame, images: dict[int, str]) -> JsonDict:
        canvas, viewport = frame.canvas, frame.viewport
        place, count = canvas.scroller.place
        window, display = canvas.shown_window, viewport.display
        acquired = viewport.acquired
        return {
            "image": images.get(id(acquired), ""),
            "modality": acquired.get("Modality") if acquired is not None else "",
            "position": f"{place + 1} of {count}",
            "plane": frame.planes.plane.value,
            **(
                {"window": {"center": window.center, "width": window.width}}
                if window is not None
                else {}
            ),
            **({"inverted": True} if display.invert else {}),
            **({"turned": display.turn_text} if display.turn_text else {}),
            "zoom_percent": round(canvas.zoom * 100),
            "fitted": canvas.fitted,
            **({"playing": True} if canvas.scroller.playing else {}),
        }


def _warm() -> None:
    """Make the patterns of commands ready, so that the first one need not wait a second."""
    threading.Thread(target=reading.warm, name="patterns", daemon=True).start()


def _answer(answer: Future[JsonDict], make: Callable[[], JsonDict]) -> None:
    try:
        answer.set_result(make())
    except Exception as error:  # told to the caller, on its thread
        answer.set_exception(error)


def _closing(command: str, arguments: JsonDict) -> str:
    """Return the question about a command that nothing brings back; "" for any other."""
    if command == named.COMMAND and arguments.get("command") in CLOSING:
        return tr("Close it?")
    if command == named.FINDINGS and arguments.get("action") == "delete":
        return tr("Delete {which}?").format(which=arguments.get("which", ""))
    return ""


def _is_same(one: _View, other: _View) -> bool:
    return one == other


def _preset(name: str, presets: Iterable[Window]) -> Window | None:
    """Return the preset with a name, by its words in either language."""
    wanted = set(words_of(name.casefold())) - {"window", "fenster"}
    for window in presets:
        known = {
            *words_of(window.explanation.casefold()),
            *words_of(tr(window.explanation).casefold()),
        }
        if wanted and wanted <= known:
            return window
    return None


def _first(study: Any, shown: Instance | None) -> Instance:
    """Return the shown image if it is of a study, else the study's first image."""
    images: list[Series] = [one for one in study.series if one.content is Content.IMAGE]
    if shown is not None and any(shown in one.instances for one in images):
        return shown
    return (images or study.series)[0].instances[0]


def _alike(prior: Instance, current: Instance, study: Any) -> Instance:
    """Return the prior's image with the view and description of the current one, if it has one."""
    images = [one for one in study.series if one.content is Content.IMAGE]
    for keyword in ("ViewPosition", "SeriesDescription"):
        wanted = current.get(keyword)
        for series in images:
            for one in series.instances[:50] if wanted else ():
                if one.get(keyword) == wanted:
                    return one
    return prior


def _bounds(finding: Finding) -> Area | None:
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


def _made(drawn: Finding, tool: str, context: ToolContext, label: str) -> Finding:
    """Return a drawing as a tool's finding: proposed, and by whom."""
    made = Provenance(tool, "1.0.0", "", "", context.run_id, context.call_id)
    return replace(drawn, provenance=made, state=State.PROPOSED, label=label)


def _by_label(wanted: str, findings: list[Finding]) -> list[Finding]:
    """Return the findings whose label has all words of a name, and the same side."""
    words, side = set(words_of(wanted)), side_of(wanted)
    found = [one for one in findings if is_called(one.label, wanted)]
    sided = [one for one in found if side and side_of(one.label.casefold()) == side]
    exact = [one for one in sided or found if set(words_of(one.label.casefold())) == words]
    return exact or sided or found
