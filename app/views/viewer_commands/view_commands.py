"""Commands that change what the viewports show: window, place, series, layout, zoom, menus."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from PySide6.QtCore import QTimer
from PySide6.QtWidgets import QApplication

from app.imaging.findings import Finding
from app.imaging.space.planes import XYZ, frame_plane
from app.imaging.types import Content, Instance, Series, Study, Window
from app.tools.api import JsonDict, ToolContext, ToolFailed, ToolRetry, ViewerAnswer
from app.tools.finding_names import HERE, SELECTED, words_of
from app.tools.viewer import tools as named
from app.tools.viewer.commands import COMMANDS, IN_EACH, OF_ONE, REPEATED, TEXTS, UNDOING
from app.views.canvas.canvas import Canvas
from app.views.canvas.corner_text import Detail
from app.views.translation import tr
from app.views.viewer_commands.finding_commands import NamedFindings, bounds_of
from app.views.viewer_commands.shown import ShownState, shown_canvas
from app.views.viewports.viewport_frame import ViewportFrame
from app.workspace.annotations import LIMIT
from app.workspace.hanging import Arrangement, Hung, Match, Protocol
from app.workspace.layout import LAYOUTS
from app.workspace.viewport import Viewport

if TYPE_CHECKING:
    from app.views.main_window import MainWindow

_PRIOR = re.compile(r"prior(?: ?(?P<year>\d{4}))?")
_SCOUT = re.compile(r"scout|scano|topogram|locali[sz]er|surview|übersicht", re.IGNORECASE)
_THIN = frozenset(("thin", "thinner", "thinnest", "duenn", "duenne", "duennen", "dünne", "dünnen"))
_SLICES = frozenset(
    ("slice", "slices", "cut", "cuts", "series", "stack", "serie", "schicht", "schichten")
)
_UPRIGHT = 0.99
"""Cosine of the angle to an axis of the patient within which a plane is called after it."""
_MARGIN = 0.2
"""Margin around a finding that is zoomed to, as a fraction of its size."""
_FAR_MM = 50.0
"""Distance within which another slice lies, to tell which way a series runs."""
_AROUND = 0.125
"""Distance from a point that is zoomed to, to each edge, as a fraction of the image."""
_SWITCHES = ("link ", "unlink", "reference", "panel ", "magnifier", "smooth", "show heat", "full")
"""Commands that switch on or off what `ShownState` has no words for."""
_OUTSIDE = ("copy picture", "second window", "original of edited findings")
"""Commands whose effect the viewports do not show."""
_DETAILS = {
    "show image texts": Detail.ALL,
    "hide names": Detail.NO_NAMES,
    "hide image texts": Detail.NONE,
}

_LAID_OUT = ("maximised", "active", "both", "protocol", "prior", "current", "swap")

Area = tuple[float, float, float, float]


class ViewCommands:
    """Each command returns its answer, or None for what is then shown.

    Args:
        when_shown: Calls a function once nothing that is visible waits for pixels.
    """

    def __init__(
        self,
        window: MainWindow,
        shown: ShownState,
        findings: NamedFindings,
        when_shown: Callable[[Callable[[], object]], object],
    ) -> None:
        self._window, self._workspace = window, window.workspace
        self._shown, self._findings, self._when_shown = shown, findings, when_shown
        self._places: dict[Viewport, tuple[Instance | None, int]] = {}  # before the last jump
        self.by_name: dict[str, Callable[[JsonDict, ToolContext], ViewerAnswer | None]] = {
            named.WINDOW: self._set_window,
            named.GO_TO: self._go_to,
            named.SHOW: self._show,
            named.LAYOUT: self._lay_out,
            named.ZOOM: self._zoom,
            named.CINE: self._cine,
            named.COMMAND: self._command,
        }

    def _set_window(self, arguments: JsonDict, _context: ToolContext) -> None:
        frames = self._shown.frames(str(arguments.get("viewport", "")))
        for frame in frames:
            canvas = frame.canvas
            shown = canvas.shown_window
            if shown is None:
                raise ToolFailed("this image has no grey values to window")
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
                    f"this image has no window preset “{preset}”",
                    remedy=f"It has: {names}." if names else "",
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
        if arguments.get("place") == "back":
            self._go_back(str(arguments.get("viewport", "")))
            return
        for viewport in self._workspace.layout.viewports:
            self._places[viewport] = viewport.instance, viewport.frame_index
        if name := arguments.get("finding"):
            where = str(arguments.get("viewport", ""))
            if not where:
                name, where = self._findings.placed(name)
            frame = self._shown.one_frame(where)
            finding = self._findings.at_step(name, where)
            by_name = finding is None
            finding = finding or self._at_end(name, arguments) or self._findings.one(name, where)
            self._workspace.layout.activate(frame.viewport)
            self._findings.select(finding)
            self._shown.speak_of([finding])
            if by_name:
                self._findings.unhide(finding)
            return
        for frame in self._shown.frames(str(arguments.get("viewport", ""))):
            self._scroll(frame, arguments)

    def _go_back(self, where: str) -> None:
        """Show again what a viewport showed before it was last scrolled by a command."""
        series_of = self._workspace.studies.series_of
        for frame in self._shown.frames(where):
            viewport = frame.viewport
            instance, number = self._places.pop(viewport, (None, 0))
            series = series_of(instance) if instance is not None else None
            if series is None:
                raise ToolFailed("no command has gone to another image here")
            shown = viewport.acquired
            same = shown is not None and series_of(shown) is series
            viewport.show(instance, number, keep_display=same)

    def _at_end(self, name: str, arguments: JsonDict) -> Finding | None:
        """Return the first or last of the findings that a name means, if one of them is meant.

        It is that nearest to the head or feet, or that on the first or last image of the series.
        """
        towards, place = arguments.get("towards"), arguments.get("place")
        if not (towards or place):
            return None
        where = str(arguments.get("viewport", ""))
        found = self._findings.named(name, where, several=True)
        shown = self._shown.one_frame(where).viewport.acquired
        series = self._workspace.studies.series_of(shown) if shown is not None else None
        if series is None:
            return None
        order = {one.sop_instance_uid: number for number, one in enumerate(series.instances)}
        here = [one for one in found if one.image.sop_instance_uid in order]
        here.sort(key=lambda one: (order[one.image.sop_instance_uid], one.image.frame))
        if not here:
            return None
        last = place == "last"
        if towards:
            last = self._way(self._shown.one_frame(where), up=towards == "head") == 1
        return here[-1 if last else 0]

    def _scroll(self, frame: ViewportFrame, arguments: JsonDict) -> None:
        canvas = shown_canvas(frame)
        place, count = canvas.scroller.place
        where = arguments.get("place")
        wanted = {"first": 0, "last": count - 1, "middle": count // 2}.get(str(where))
        if (number := arguments.get("slice")) is not None:
            if number > count:
                raise ToolRetry(f"there is no image {number}; the series has {count}")
            wanted = number - 1
        elif (steps := arguments.get("by")) is not None:
            if towards := arguments.get("towards"):
                steps = abs(steps) * self._way(frame, up=towards == "head")
            wanted = min(max(place + steps, 0), count - 1)
        elif (point := self._position(frame, arguments)) is not None:
            if frame.planes.place_of(point) is None:
                raise ToolFailed("the place of this image in the patient is not known")
            frame.planes.look_at(point)
            return
        elif (time := arguments.get("time")) is not None:
            if not 1 <= time <= canvas.scroller.times[1]:
                raise ToolRetry(f"there is no time point {time}")
            canvas.scroller.to_time(time - 1)
            return
        if wanted is None:
            raise ToolRetry("say where to go")
        if count < 2:
            raise ToolFailed("there is only one image here")
        canvas.scroller.to(wanted)

    def _way(self, frame: ViewportFrame, *, up: bool) -> int:
        """Return 1 if later images of the series lie nearer to the head (`up`) or feet; else -1."""
        for far in (_FAR_MM, -_FAR_MM):
            shown = frame.canvas.frame
            plane = frame_plane(shown) if shown is not None else None
            if plane is None or shown is None:
                break
            x, y, z = plane.point(shown.columns / 2, shown.rows / 2)
            there = frame.planes.place_of((x, y, z + far))
            if there is not None and there != frame.canvas.scroller.place[0]:
                later = there > frame.canvas.scroller.place[0]
                return 1 if later == (up == (far > 0)) else -1
        raise ToolFailed("which of these images lies higher in the patient is not known")

    def _position(self, frame: ViewportFrame, arguments: JsonDict) -> XYZ | None:
        """Return the point in the patient that is meant, in mm (LPS); None if none is."""
        if (point := arguments.get("position")) is not None:
            return tuple(point)
        shown = frame.canvas.frame
        plane = frame_plane(shown) if shown is not None else None
        height, far = arguments.get("z"), arguments.get("mm", 0.0)
        if (height is None and not far) or shown is None:
            return None
        if plane is None:
            raise ToolFailed("the place of this image in the patient is not known")
        x, y, z = plane.point(shown.columns / 2, shown.rows / 2)
        if height is None:
            if not (towards := arguments.get("towards")):
                raise ToolRetry("say whether towards the head or the feet")
            height = z + (far if towards == "head" else -far)
        return x, y, float(height)

    def _show(self, arguments: JsonDict, _context: ToolContext) -> ViewerAnswer | None:
        what, where = str(arguments["what"]).casefold().strip(), str(arguments.get("viewport", ""))
        if what in ("next series", "previous series"):
            self._window.viewports.active.canvas.setFocus()
            self._window.study_list.step(1 if what.startswith("next") else -1)
            return None
        wanted = self._image_named(what)
        if what.startswith("prior") and not where:
            if (number := self._number_of(wanted)) is not None:
                return ViewerAnswer(f"The prior is in viewport {number} already.", {})
            if len(self._workspace.layout.screen.viewports) == 1:
                self._hang_prior(what)
                return None
        if where in ("left", "right") and len(self._workspace.layout.screen.viewports) == 1:
            shown = self._workspace.viewport.instance
            self._workspace.layout.arrange(LAYOUTS["1x2"])
            if where == "left":  # what was shown makes room
                self._workspace.layout.screen.viewports[-1].show(shown)
        frames = self._shown.frames(where)
        screen = self._workspace.layout.screen.viewports
        if len(screen) == 2 and len(frames) == 1:
            uid = self._workspace.study_uid_of(wanted.sop_instance_uid)
            (other,) = (one for one in screen if one is not frames[0].viewport)
            shown = self._shown.study_uid(frames[0].viewport)
            if self._shown.study_uid(other) == uid and shown not in ("", uid):
                self._workspace.layout.swap(*screen)  # else neither viewport showed the other study
                return None
        for frame in frames:
            frame.viewport.show(wanted)
        return None

    def _number_of(self, image: Instance) -> int | None:
        """Return the number of the viewport that shows an image's study, which is activated."""
        layout = self._workspace.layout
        uid = self._workspace.study_uid_of(image.sop_instance_uid)
        for number, viewport in enumerate(layout.screen.viewports, 1):
            if self._shown.study_uid(viewport) == uid and viewport in layout.screen.visible:
                layout.activate(viewport)
                return number
        return None

    def _image_named(self, what: str) -> Instance:
        """Return the first image of what a text names.

        Raises:
            ToolRetry: There is none; says which series there are.
        """
        studies, shown = self._workspace.studies, self._workspace.acquired
        study = studies.study_of(shown) if shown is not None else None
        newest = self._shown.newest()
        if what == "this" and shown is not None:
            return shown
        if what in ("current", "latest") and newest is not None:
            return _first(newest, shown)
        if prior := _PRIOR.fullmatch(what):
            every = self._workspace.priors(newest) if newest is not None else []
            priors = [one for one in every if one.date.startswith(prior["year"] or "")]
            if not priors:
                of_year = f" from {prior['year']}" if prior["year"] and every else ""
                raise ToolFailed(
                    f"no prior{of_year} of this patient is open", remedy="Open the prior as well."
                )
            assert newest is not None
            modality = _first(newest, shown).get("Modality")
            alike = [one for one in priors if any(i.modality == modality for i in one.series)]
            return _first((alike or priors)[0], shown)
        if what.startswith("study "):
            return _first(self._study_named(what.removeprefix("study ")), shown)
        for one in self._workspace.open_images():
            if what in (one.id, one.instance.sop_instance_uid):
                return one.instance
        every = [one for one in (study.series if study is not None else ()) if one.instances]
        if what == "scout":
            every = [one for one in every if _SCOUT.search(one.description)] or every
        found = [one for one in every if what in (f"series {one.number}", f"serie {one.number}")]
        thin, words = set(what.split()) & _THIN, set(words_of(what)) - _THIN - _SLICES
        numbered = re.fullmatch(r"series? \d+", what) is not None  # is not "axial 5 mm"
        found = found or [
            one
            for one in every
            if not numbered
            and (words or thin)
            and words <= set(words_of(one.description.casefold()))
        ]
        if not found and not numbered:  # "lungenkernel" has the words of "Lung 1.25 mm kernel"
            inside = {one.number: _words_inside(one.description, what) for one in every}
            most = max(inside.values(), default=0)
            found = [one for one in every if inside[one.number] == most > 0]
            found = found if len(found) == 1 else []
        if thin:
            stacks = [one for one in found if len(one.instances) > 1]
            found = sorted(stacks or found, key=_thickness)
        if not found:
            listed = ", ".join(str(one.number) for one in every)
            raise ToolRetry(
                f"no open series is “{what}”",
                remedy=f"Series of this study: {listed}.",
            )
        return found[0].instances[0]

    def _study_named(self, what: str) -> Study:
        """Return the open study that is meant: the next or other one, or by kind or description.

        Raises:
            ToolRetry: There is none, or several where one is meant.
        """
        every, shown = self._workspace.studies.all, self._workspace.acquired
        own = self._workspace.studies.study_of(shown) if shown is not None else None
        others = [one for one in every if one is not own]
        if what == "next" and others:
            at = every.index(own) if own in every else -1
            return every[(at + 1) % len(every)]
        kinds = next((kinds for word, kinds in _MODALITIES.items() if what.startswith(word)), ())
        words = set(what.split())

        def is_meant(one: Study) -> bool:
            if kinds:
                return any(series.modality in kinds for series in one.series)
            return what == "other" or words <= set(re.findall(r"\w+", one.title.casefold()))

        found = [one for one in others if is_meant(one)]
        if not found and own is not None and what not in ("next", "other") and is_meant(own):
            return own
        if len(found) != 1:
            what = what.replace("next", "other")
            why = f"several open studies are “{what}”" if found else f"no open study is “{what}”"
            raise ToolRetry(why, remedy="Choose it in the list of studies, or open it.")
        return found[0]

    def _lay_out(self, arguments: JsonDict, _context: ToolContext) -> ViewerAnswer | None:
        name = str(arguments["layout"]).casefold().replace(" ", "").replace("×", "x")
        layout = self._workspace.layout
        if name in LAYOUTS:
            self._window.viewports.show_layout(name)
        elif name == "maximised":
            self._maximise(str(arguments.get("viewport", "")))
        elif name == "active":
            viewport = self._shown.one_frame(str(arguments.get("viewport", ""))).viewport
            layout.activate(viewport)
            number = layout.screen.viewports.index(viewport) + 1
            return ViewerAnswer(f"Viewport {number} is the active one.", {"active": number})
        elif name == "both":
            if layout.maximised:
                layout.maximise(False)
            elif len(layout.screen.viewports) == 1:
                self._hang_prior("prior")
        elif name == "protocol":
            self._window.hanging.arrange()
        elif _PRIOR.fullmatch(name):
            self._hang_prior(name)
        elif name == "current":
            current = self._image_named("current")
            layout.arrange(LAYOUTS["1x1"])
            if layout.active.acquired is not current:
                layout.active.show(current)
        elif name == "swap":
            if len(layout.screen.viewports) != 2:
                raise ToolRetry("two viewports are needed to exchange them")
            layout.swap(*layout.screen.viewports)
        else:
            raise ToolRetry(
                f"there is no layout “{name}”",
                remedy=", ".join((*LAYOUTS, *_LAID_OUT)),
            )
        return None

    def _maximise(self, where: str) -> None:
        """Show one viewport alone; where none shows the prior that is meant, show that alone."""
        layout = self._workspace.layout
        try:
            viewport = self._shown.frames(where)[0].viewport
        except ToolRetry:
            if where != "prior" and not re.fullmatch(r"\d{4}", where):
                raise
            prior = self._image_named("prior" if where == "prior" else f"prior {where}")
            layout.arrange(LAYOUTS["1x1"])
            layout.active.show(prior)
            return
        layout.activate(viewport)
        layout.maximise(True)

    def _hang_prior(self, what: str) -> None:
        """Show the study that is read at the left and its prior at the right."""
        newest = self._shown.newest()
        prior = self._image_named(what)
        shown = self._workspace.acquired
        assert newest is not None
        current = _first(newest, shown)
        slots = LAYOUTS["1x2"]
        title = "current and prior"
        protocol = Protocol("prior", title, slots, Match(), ())
        study = self._workspace.studies.study_of(prior)
        # One that is shown stays at its place.
        beside = (one.acquired for one in self._workspace.layout.screen.viewports)
        there = next(
            (one for one in beside if one and self._workspace.studies.study_of(one) is study), None
        )
        hung = Hung(current), Hung(there or _alike(prior, current, study))
        self._workspace.hang(Arrangement(protocol, hung, ""))

    def _zoom(self, arguments: JsonDict, _context: ToolContext) -> None:
        if name := arguments.get("to"):
            where = str(arguments.get("viewport", ""))
            if not where:
                name, where = self._findings.placed(name)
            if where:
                (frame, *_) = self._shown.frames(where)
                self._workspace.layout.activate(frame.viewport)
            self._zoom_to(name, stays=bool(where))
            return
        for frame in self._shown.frames(str(arguments.get("viewport", ""))):
            canvas, size = shown_canvas(frame), arguments.get("size", "")
            if size == "fit":
                canvas.fit()
            elif size == "actual pixels":
                canvas.one_to_one()
            elif size == "true size":
                self._trigger("true_size")
            elif (percent := arguments.get("percent")) is not None:
                canvas.zoom_by(percent / 100 / canvas.zoom)
            elif (factor := arguments.get("factor")) is not None:
                canvas.zoom_by(factor)
            else:
                raise ToolRetry("say what to zoom to, a factor or a size")

    def _zoom_to(self, name: str, *, stays: bool = False) -> None:
        """Zoom to findings of a name; if it `stays`, only to those of the image that is shown."""
        canvas = self._window.canvas
        pointed = name in SELECTED and not self._workspace.annotations.selected
        if (name in HERE or pointed) and canvas.clicked and canvas.frame is not None:
            (x, y), frame = canvas.clicked[-1], canvas.frame
            across, down = frame.columns * _AROUND, frame.rows * _AROUND
            canvas.zoom_to((x - across, y - down, x + across, y + down))
            return
        step = self._findings.at_step(name, "")
        found = [step] if step is not None else self._findings.named(name, several=True)
        shown = self._workspace.viewport.frame
        here = [one for one in found if shown is not None and shown.shows(one.image)]
        chosen = here or found[:1]
        if not here and stays:
            raise ToolFailed(f"“{name}” is not on that image")
        if not here:
            self._workspace.show_image(chosen[0].image)
        bounds = [area for one in chosen if (area := bounds_of(one)) is not None]
        if not bounds:
            raise ToolFailed(f"“{name}” has no place on the image")
        area = (
            min(one[0] for one in bounds),
            min(one[1] for one in bounds),
            max(one[2] for one in bounds),
            max(one[3] for one in bounds),
        )
        if len(chosen) == 1:
            self._workspace.annotations.select(chosen[0].id)
        self._shown.speak_of(chosen)
        for one in chosen:
            self._findings.unhide(one)
        self._when_shown(partial(self._zoom_in, self._workspace.viewport, area))

    def _zoom_in(self, viewport: Viewport, area: Area) -> None:
        self._window.viewports.frame_of(viewport).canvas.zoom_to(area, _MARGIN)

    def _cine(self, arguments: JsonDict, _context: ToolContext) -> ViewerAnswer:
        canvas = shown_canvas(self._shown.frames(str(arguments.get("viewport", "")))[0])
        scroller, play = canvas.scroller, arguments.get("play", True)
        if play and not scroller.playable:
            raise ToolFailed("there is only one image here, nothing to play")
        if rate := arguments.get("frames_per_second"):
            scroller.set_rate(rate)
        if (speed := arguments.get("speed")) in ("double", "half"):
            scroller.set_rate(scroller.rate * (2 if speed == "double" else 0.5))
        elif speed:
            scroller.change_speed(1 if speed == "faster" else -1)
        if play != scroller.playing:
            scroller.toggle()
        text = _rate_text(scroller.rate, playing=True) if play else "The cine stopped."
        return ViewerAnswer(text, {"playing": play, "rate": scroller.rate})

    def _command(self, arguments: JsonDict, _context: ToolContext) -> ViewerAnswer | None:
        name, layout = arguments["command"], self._workspace.layout
        if name in TEXTS:
            for frame in self._window.viewports.frames:
                frame.canvas.set_detail(_DETAILS[name])
            return ViewerAnswer(f"Image texts: {TEXTS[name]}.", {})
        active, where = layout.active, str(arguments.get("viewport", ""))
        answer: ViewerAnswer | None = None
        said: list[str] = []
        if name in UNDOING:
            times = int(arguments.get("times", 1))
            return self._undo(name, times) if times > 1 else self._menu(name)
        frames = self._shown.frames(where)
        if len(frames) > 1 and not name.startswith(IN_EACH):
            if name in OF_ONE:
                raise ToolRetry(f"several viewports are meant by “{where}”", remedy="Name one.")
            return self._menu(name)  # what is of the whole window is done once
        times = arguments.get("times", 1)
        for frame in frames:
            layout.activate(frame.viewport)  # as a click would: menus work on the active one
            for _ in range(times if name.startswith(REPEATED) else 1):
                answer = self._menu(name)
            said += [answer.summary] if answer is not None else []
        if answer is not None and len(said) > 1:
            answer = replace(answer, summary=" ".join(dict.fromkeys(said)))
        if where == "all" and active in layout.viewports:
            layout.activate(active)
        return answer

    def usable(self, name: str) -> str:
        """Return the text of a command in the menus.

        Raises:
            ToolFailed: It cannot be used now, or would open a dialogue over an open one.
        """
        action = self._action(COMMANDS[name])
        text = action.text().replace("&", "").rstrip("…")
        if not action.isEnabled():
            raise ToolFailed(f"“{text}” cannot be used now")
        if action.text().endswith("…") and QApplication.activeModalWidget() is not None:
            raise ToolFailed("a dialogue is open", remedy="Close it, then ask again.")
        return text

    def _menu(self, name: str) -> ViewerAnswer | None:
        if name.startswith("plane ") and name.removeprefix("plane ") == self._acquired_plane():
            name = "plane as acquired"  # with its marks, and the series' own numbers
        action = self._action(COMMANDS[name])
        text = self.usable(name)
        if action.text().endswith("…"):
            QTimer.singleShot(0, self._window, action.trigger)  # a dialogue may hold its caller
            return ViewerAnswer(f"“{text}” is open; you decide there.", {"opened": name})
        if name in UNDOING:
            return self._undo(name)
        if name in ("mark as key image", "not a key image"):
            return self._mark_key(wanted=name == "mark as key image")
        if name.startswith("unlink"):
            if action.isChecked():
                action.trigger()
        elif name == "not flipped":
            display = self._workspace.layout.active.display
            for flipped, command in ((display.flip_h, "flip_h"), (display.flip_v, "flip_v")):
                if flipped:
                    self._trigger(command)
        elif name in ("show panels", "hide panels"):
            shown = name == "show panels"
            self._window.arrangement.show_panels(shown)
            return ViewerAnswer(f"Panels: {'shown' if shown else 'hidden'}.", {"done": name})
        elif name == "not inverted":
            if self._workspace.layout.active.display.invert:
                action.trigger()
        elif name.startswith(("panel ", "plane ", "link ", "channels", "reference")):
            if not (action.isCheckable() and action.isChecked()):
                action.trigger()
        else:
            action.trigger()
        if name in ("faster cine", "slower cine"):
            scroller = self._window.canvas.scroller
            return ViewerAnswer(
                _rate_text(scroller.rate, scroller.playing), {"rate": scroller.rate}
            )
        if name.startswith(("measure", "mark a ", "draw", "probe", "edit")):
            return ViewerAnswer(f"“{text}” is in hand: draw on the image.", {"done": name})
        if name in _OUTSIDE:
            return ViewerAnswer(f"Done: “{text}”.", {"done": name})
        if action.isCheckable() and name.startswith(_SWITCHES):
            state = "on" if action.isChecked() else "off"
            said = f"“{text}” is {state}."
            if name == "panel report":
                said = "The Report panel is open: it drafts from what you accept and measure."
            return ViewerAnswer(said, {"done": name, "state": state})
        return None

    def _mark_key(self, *, wanted: bool) -> ViewerAnswer:
        """Mark the image of the active viewport as a key image, or unmark it."""
        action, layout = self._action("key_image"), self._workspace.layout
        already = action.isChecked() == wanted
        if not already:
            action.trigger()
        said = "a key image" if wanted else "no key image"
        said = f"{said} already" if already else f"now {said}"
        count, number = len(layout.screen.viewports), layout.screen.viewports.index(layout.active)
        place = f"Viewport {number + 1}" if count > 1 else "This image"
        return ViewerAnswer(f"{place}: {said}.", {"key_image": wanted})

    def _undo(self, name: str, times: int = 1) -> ViewerAnswer:
        """Undo or redo up to so many steps, or all."""
        commands, action = self._workspace.commands, self._action(COMMANDS[name])
        self.usable(name)
        undoes, left = name != "redo", LIMIT if name == "undo everything" else times
        done: list[str] = []
        while left > len(done) and (commands.undo_step if undoes else commands.redo_step):
            done.append(commands.undo_label if undoes else commands.redo_label)
            action.trigger()
        steps = f"{len(done)} steps" if len(done) > 1 else f"“{done[0]}”"
        return ViewerAnswer(f"{'Undone' if undoes else 'Done again'}: {steps}.", {"done": name})

    def switched_on(self) -> frozenset[str]:
        """Return the switches that are on: panels, links, magnifier."""
        return frozenset(name for name in self._switches() if self._action(name).isChecked())

    def switch(self, on: frozenset[str]) -> None:
        """Switch on what `on` names, and everything else off."""
        for name in self._switches():
            action = self._action(name)
            if action.isChecked() != (name in on) and action.isEnabled():
                action.trigger()

    def _switches(self) -> list[str]:
        names = {action for said, action in COMMANDS.items() if said.startswith(_SWITCHES)}
        return sorted(name for name in names if self._action(name).isCheckable())

    def _acquired_plane(self) -> str:
        """Return the plane in which the images were acquired; "" for an oblique or unknown one."""
        image = self._workspace.acquired
        given = image.get("ImageOrientationPatient").split("\\") if image is not None else []
        if len(given) != 6:
            return ""
        row, column = np.array(given[:3], float), np.array(given[3:], float)
        across = np.abs(np.cross(row, column))
        planes = ("sagittal", "coronal", "axial")
        return planes[int(across.argmax())] if across.max() > _UPRIGHT else ""

    def _action(self, name: str) -> Any:
        return self._window.actions_.shortcuts_.actions[name]

    def _trigger(self, name: str) -> None:
        self._action(name).trigger()


def _rate_text(rate: float, playing: bool) -> str:
    if playing:
        return f"The cine plays at {rate:.3g} images a second."
    return f"The cine stands still; it will play at {rate:.3g} images a second."


def _thickness(series: Series) -> float:
    return float(series.instances[0].get("SliceThickness") or "inf")


def _words_inside(description: str, text: str) -> int:
    """Return how many words of a series description a text has, also inside its words."""
    said = text.casefold()
    return sum(len(word) > 3 and word in said for word in words_of(description.casefold()))


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


_MODALITIES = {
    **dict.fromkeys(("ultra", "us", "sono", "echo"), ("US",)),
    **dict.fromkeys(("mr",), ("MR",)),
    **dict.fromkeys(("ct",), ("CT",)),
    **dict.fromkeys(("pet",), ("PT",)),
    **dict.fromkeys(("mammo",), ("MG",)),
    **dict.fromkeys(("x-ray", "xray", "radiograph", "roentgen"), ("CR", "DX", "RG")),
}
"""Modalities by how the words for their studies begin."""


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
