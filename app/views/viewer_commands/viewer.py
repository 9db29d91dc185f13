"""Carries out the assistant's commands in the window; see `tools.api.Viewer`.

Commands arrive on the threads of tool calls and run on the GUI thread. What a run changed in the
view is one step on the undo stack, together with the marks that it made.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future
from concurrent.futures import TimeoutError as NotYet
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, TypeVar

from PySide6.QtCore import QObject, QTimer

from app.errors import Cancelled, SightlineError, unexpected
from app.log import get_logger
from app.tools.api import JsonDict, ToolContext, ToolFailed, ToolRetry, ViewerAnswer, ViewPicture
from app.tools.finding_names import HERE, SELECTED
from app.tools.result_wording import UNCHANGED
from app.tools.viewer import reading
from app.tools.viewer import tools as named
from app.tools.viewer.commands import ASKED, CLOSING, UNDOING
from app.tools.viewer.places import region_in
from app.views.background import gui_calls
from app.views.canvas.corner_text import Detail
from app.views.translation import tr
from app.views.viewer_commands.finding_commands import FindingCommands, NamedFindings
from app.views.viewer_commands.place_commands import PlaceCommands
from app.views.viewer_commands.shown import ShownState, Told
from app.views.viewer_commands.view_commands import Area, ViewCommands
from app.workspace.annotations import Command
from app.workspace.workspace import Shown

if TYPE_CHECKING:
    from app.views.main_window import MainWindow

_POLL_MS = 15
_WARM_MS = 3000
"""After the window is made: then the first image is shown."""
_LONGEST_S = 20.0
"""How long a picture is awaited; after that the command counts as done."""

_UNWANTED = "you did not want this"

_log = get_logger(__name__)
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class _View:
    """What the viewports show, and which part of each image (None: fitted).

    Attributes:
        playing: Whether the cine of each viewport runs.
        details: How much of its texts each viewport shows.
        switches: The panels, links and the like that are on, by their commands.
    """

    shown: Shown
    areas: tuple[Area | None, ...]
    playing: tuple[bool, ...]
    details: tuple[Detail, ...]
    switches: frozenset[str]


@dataclass(slots=True)
class _Change:
    """The view before and after a command; `after` is updated once its pixels are shown.

    Attributes:
        series: The series that the viewports show once it is done.
        last: The last step on the undo stack, once the command was begun.
        pushed: Whether it is on the undo stack itself.
        undone: Whether the user has undone it meanwhile.
    """

    before: _View
    after: _View
    series: tuple[tuple[str, int] | None, ...]
    last: Command | None = None
    pushed: bool = False
    undone: bool = False


@dataclass(frozen=True, slots=True)
class _Asked:
    """A question about a command, and what exactly it would do."""

    title: str
    command: str
    arguments: JsonDict
    granted: bool = False

    def is_for(self, other: _Asked) -> bool:
        """Return whether this is about exactly the same."""
        return (self.command, self.arguments) == (other.command, other.arguments)


@dataclass(slots=True)
class _Plan:
    """The commands of a message or plan that are still to come, and what the user said of them."""

    ahead: list[tuple[str, JsonDict]]
    answers: list[_Asked] = field(default_factory=list[_Asked])


def _depends(arguments: JsonDict) -> bool:
    """Return whether what a command is about may be changed by one before it."""
    which = str(arguments.get("which", ""))
    return which in (*SELECTED, *HERE) or arguments.get("command") in UNDOING


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
        """The studies that each run has brought into view."""
        self._plans: dict[str, _Plan] = {}
        """The message or plan at hand of each run."""
        self._tops: dict[str, Command | None] = {}
        """The last step on the undo stack before each run."""
        self._last_step: Command | None = None
        """The step of undo that the last run made; None if it made none."""
        self._closed = False
        window.closing.connect(self._close)
        self.shown = ShownState(window)
        findings = NamedFindings(window, self.shown)
        self._findings = FindingCommands(window, self.shown, findings)
        self._views = ViewCommands(window, self.shown, findings, self._when_shown)
        places = PlaceCommands(window, self.shown)
        self._do = {**self._views.by_name, **self._findings.by_name, **places.by_name}
        gui_calls()  # made here, on the GUI thread
        QTimer.singleShot(_WARM_MS, self, _warm)

    def _close(self) -> None:
        self._closed = True

    def state(self) -> JsonDict:
        """Return what is shown; see `tools.api.Viewer`."""
        return self.shown.state()

    def pictures(self) -> tuple[ViewPicture, ...]:
        """Return what is shown as pictures; see `tools.api.Viewer`."""
        return self.shown.pictures()

    # Threads

    def do(self, command: str, arguments: JsonDict, context: ToolContext) -> ViewerAnswer:
        """Run a command on the GUI thread, and wait until its picture is there."""
        question = partial(self._questions, command, dict(arguments), context)
        exact, asked = self._answer(context, lambda answer: answer.set_result(question()))
        if asked:
            titles = [one.title for one in asked]
            title, detail = titles[0], tr("The assistant wants to do this.")
            if len(titles) > 1:
                title = tr("Allow these {count} steps?").format(count=len(titles))
                detail = "\n".join((tr("The assistant wants to do this:"), *titles))
            given = context.confirm(title, detail)
            own = asked[0].is_for(_Asked("", command, exact))
            later = asked[1:] if own else asked
            self._plans[context.run_id].answers += [replace(one, granted=given) for one in later]
            if own and not given:
                raise ToolFailed(_UNWANTED)
        return self._answer(context, partial(self._begin, command, exact, context))

    def _answer(self, context: ToolContext, begin: Callable[[Future[T]], object]) -> T:
        """Return the answer that a function gives on the GUI thread, now or later."""
        answer: Future[T] = Future()
        gui_calls().send(partial(self._guarded, begin, context, answer))
        while True:
            context.cancel.check()
            try:
                return answer.result(timeout=0.1)
            except NotYet:
                if self._closed:
                    raise ToolFailed("the window was closed") from None

    def _guarded(
        self, begin: Callable[[Future[T]], object], context: ToolContext, answer: Future[T]
    ) -> None:
        """Call a function on the GUI thread, once the results of earlier calls are shown."""
        if self._closed:
            answer.set_exception(ToolFailed("the window was closed"))
        elif context.cancel.cancelled:
            answer.set_exception(Cancelled())
        elif not self._caught_up():
            again = partial(self._guarded, begin, context, answer)
            QTimer.singleShot(_POLL_MS, self, again)
        else:
            try:
                begin(answer)
            except SightlineError as error:
                answer.set_exception(error)
            except Exception as error:  # a defect here must not hold up the run
                _log.exception("a command of the assistant failed")
                answer.set_exception(unexpected(error))

    def _questions(
        self, command: str, arguments: JsonDict, context: ToolContext
    ) -> tuple[JsonDict, list[_Asked]]:
        """Return what a command does exactly, and what the user is asked before.

        At the first command of a message or plan the user is asked about all of its steps that
        need a yes, at once. What cannot be said yet, since a step between may change it ("it",
        undo), is asked about when it comes.

        Raises:
            ToolFailed: The user has said no to this.
        """
        title, exact = self._question(command, arguments, context)
        own = _Asked(title, command, exact)
        plan = self._plans.get(context.run_id)
        ahead = [(name, dict(said)) for name, said in context.ahead if name in self._do]
        here = (command, arguments)
        if plan is not None and all(one in plan.ahead for one in (here, *ahead)):
            plan.ahead.remove(here)
            answer = next((one for one in plan.answers if one.is_for(own)), None)
            if not title or answer is None:
                return exact, [own] if title else []
            plan.answers.remove(answer)  # it is for one call
            if not answer.granted:
                raise ToolFailed(_UNWANTED)
            return exact, []
        self._plans[context.run_id] = _Plan([*ahead])
        asked = [own] if title else []
        for name, said in ahead:
            if _depends(said):
                continue
            with suppress(SightlineError):
                later, then = self._question(name, said, context)
                asked += [_Asked(later, name, then)] if later else []
        return exact, asked

    def _question(
        self, command: str, arguments: JsonDict, context: ToolContext
    ) -> tuple[str, JsonDict]:
        """Return what the user is asked before a command, and what exactly it then does.

        A language model has its own mind, so it is asked about all that accepts, rejects, takes
        back or opens a dialogue. What nothing brings back is asked about whoever wants it.
        """
        self._check_study(command, arguments, context)
        by_model = context.model is not None
        if command == named.FINDINGS:
            action = arguments["action"]
            if action == "delete" or (by_model and action in ("accept", "reject", "propose")):
                return self._findings.question(arguments)
        if command == named.COMMAND:
            name = str(arguments["command"])
            if name in CLOSING or (by_model and name in ASKED):
                about, title = self._about(name), self._views.usable(name)
                if name.startswith("export"):  # of the menu "Export": "DICOM"
                    title = tr("Export: {what}").format(what=title)
                title += f": “{about.label}”" if isinstance(about, Command) else ""
                times = int(arguments.get("times", 1))
                if name == "undo everything":
                    times = self._workspace.commands.undo_count
                title += f" (× {times})" if times > 1 else ""
                return f"{title}?", {**arguments, "about": about}
        return "", arguments

    def _about(self, name: str) -> object:
        """Return what a command of the menus would be done to."""
        commands = self._workspace.commands
        if name in UNDOING:
            return commands.redo_step if name == "redo" else commands.undo_step
        return self.shown.study_uid(self._workspace.viewport)

    def _begin(
        self,
        command: str,
        arguments: JsonDict,
        context: ToolContext,
        answer: Future[ViewerAnswer],
    ) -> None:
        self._check_study(command, arguments, context)
        if command == named.STATE:
            # A model is told of the studies that were asked about, and only as data.
            said = "What is shown." if context.model is not None else self.shown.sentences()
            answer.set_result(ViewerAnswer(said, self.shown.state(self._mine(context))))
            return
        commands = self._workspace.commands
        if arguments.get("command") == "take back" and (
            self._last_step is None or self._last_step is not commands.undo_step
        ):
            raise ToolFailed(
                "what was said last made no step, or another came after it",
                remedy="“Undo” takes back the last step.",
            )
        self._tops.setdefault(context.run_id, commands.undo_step)
        if "about" in arguments and arguments["about"] != self._about(arguments["command"]):
            raise ToolFailed("something else was done meanwhile", remedy="Ask again.")
        before, told, seen = self._view(), self.shown.told(), self._studies_shown()
        self.shown.commanding = True
        try:
            with self._workspace.commands.of_run(context.run_id):
                made = self._do[command](arguments, context)
        finally:
            self.shown.commanding = False
        self._runs.setdefault(context.run_id, set()).update(self._studies_shown() - seen)
        change = None
        if arguments.get("command") not in UNDOING:
            change = _Change(before, self._view(), self._series())
            self._remember(change, context)
            change.last = self._workspace.commands.undo_step
        self._when_shown(partial(self._finish, change, told, made, context, answer))

    # Whose study

    def _mine(self, context: ToolContext) -> set[str]:
        """Return the studies that a run may work on: that asked about, and what it has shown."""
        asked = next(iter(context.images.instances().values()), None)
        mine = {self._workspace.study_uid_of(asked.sop_instance_uid)} if asked else set[str]()
        mine |= self._runs.get(context.run_id, set())
        if mine & self._studies_shown():  # its priors beside it, too
            for one in self._workspace.studies.all:
                if one.uid in mine:
                    mine = mine | {other.uid for other in self.shown.of_patient(one)}
        return mine - {""}

    def _check_study(self, command: str, arguments: JsonDict, context: ToolContext) -> None:
        """Leave alone what the user reads meanwhile, if it is not what they asked about.

        Raises:
            ToolFailed: The viewports that the command is about show another study.
        """
        if command == named.STATE or not (mine := self._mine(context)):
            return
        where = str(arguments.get("region") or arguments.get("viewport", ""))
        try:
            frames = self.shown.frames(where)
        except ToolRetry:  # the command says so, or makes the viewport
            frames = self.shown.frames("")
        touched = {self.shown.study_uid(frame.viewport) for frame in frames} - {""}
        if region_in(where) is not None and context.model is None:
            return  # the user's own words name the image; rules copy them
        shown = self._studies_shown()
        if not touched <= mine or (not touched and shown and not shown & mine):
            raise ToolFailed(
                "another study is shown now, and stays as it is",
                remedy="Show the study that you asked about, and ask again.",
            )

    def _studies_shown(self) -> set[str]:
        visible = self._workspace.layout.visible
        return {self.shown.study_uid(viewport) for viewport in visible} - {""}

    def _finish(
        self,
        change: _Change | None,
        told: Told,
        made: ViewerAnswer | None,
        context: ToolContext,
        answer: Future[ViewerAnswer],
    ) -> None:
        # If the user shows another series meanwhile, or undoes, that is no part of the step.
        left = change is not None and self._series() != change.series
        if change is not None and not left and self._stands(change):
            change.after = self._view()
            self._remember(change, context)
        if made is None and left:
            made = ViewerAnswer("Done; another series is shown meanwhile.", {})
        if made is None:
            output = {"viewports": self.shown.state(self._mine(context))["viewports"]}
            said = self.shown.change(told)
            if not said and change is not None and change.before != self._view():
                said = "Done."  # there are no words for it: colours, channels, the active viewport
            output |= {} if said else {UNCHANGED: True}
            made = ViewerAnswer(said or "Nothing changed in the view.", output)
        answer.set_result(made)

    def _stands(self, change: _Change) -> bool:
        """Return whether the user has undone nothing since a command was begun."""
        if change.pushed:
            return not change.undone
        return self._workspace.commands.undo_step is change.last

    def _remember(self, change: _Change, context: ToolContext) -> None:
        """Put a change on the undo stack, at once, since the user may undo before its pixels come.

        With what the run did before it makes one step, and so do marks that it has made.
        """

        def redo() -> None:
            change.undone = False
            self._show_view(change.after)

        def undo() -> None:
            change.undone = True
            self._show_view(change.before)

        commands = self._workspace.commands
        if not change.pushed and change.before != change.after:
            change.pushed = True
            with commands.of_run(context.run_id):
                commands.push(Command(tr("Change what is shown"), redo, undo), performed=True)
        commands.join_run(context.run_id, tr("What the assistant did"))

    def end_run(self, run_id: str) -> None:
        """Join what a run did to one step: its commands, and the findings of its tools."""
        top = self._workspace.commands.undo_step
        made = run_id in self._tops and self._tops.pop(run_id) is not top
        self._runs.pop(run_id, None)
        self._plans.pop(run_id, None)
        self.shown.end_run()
        self._workspace.commands.join_run(run_id, tr("What the assistant did"))
        self._last_step = self._workspace.commands.undo_step if made else None

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
        canvases = [made[one].canvas if one in made else None for one in shown.screen.viewports]
        return _View(
            shown,
            tuple(one.view_area if one else None for one in canvases),
            tuple(one is not None and one.scroller.playing for one in canvases),
            tuple(one.detail if one else Detail.ALL for one in canvases),
            self._views.switched_on(),
        )

    def _series(self) -> tuple[tuple[str, int] | None, ...]:
        shown = (one.acquired for one in self._workspace.layout.viewports)
        series_of = self._workspace.studies.series_of
        every = (series_of(one) if one is not None else None for one in shown)
        return tuple((one.uid, one.part) if one is not None else None for one in every)

    def _show_view(self, view: _View) -> None:
        now = self._view()
        if now == view:
            return
        self._views.switch(view.switches)
        if not self._workspace.show_again(view.shown):
            return
        self._when_shown(partial(self._zoom_as, view))

    def _zoom_as(self, view: _View) -> None:
        parts = (view.shown.screen.viewports, view.areas, view.playing, view.details)
        for viewport, area, playing, detail in zip(*parts, strict=False):
            canvas = self._window.viewports.frame_of(viewport).canvas
            canvas.set_detail(detail)
            if canvas.scroller.playing != playing:
                canvas.scroller.toggle()
            if area is None:
                canvas.fit()
            else:
                canvas.zoom_to(area)


def _warm() -> None:
    """Make the patterns of commands ready, so that the first one need not wait a second."""
    threading.Thread(target=reading.warm, name="patterns", daemon=True).start()
