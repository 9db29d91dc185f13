"""Builds the main window with its parts and settings dialog, and starts the actions at start-up."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from app import __version__
from app.agent.events import RunEvent
from app.agent.llm.base import LanguageModel, model_info
from app.agent.llm.probe import Probe
from app.agent.loop.runner import AgentRunner
from app.agent.report_wording import reworded
from app.agent.request import Question
from app.agent.sessions import Thread
from app.audit.exports import AT_ONCE, check_target
from app.errors import SightlineError
from app.imaging.demo import demo_paths
from app.paths import data_dir
from app.records.types import data_paths
from app.settings import Settings
from app.tools.memory import user_memory
from app.wiring.program import Program
from app.workspace import review
from app.workspace.workspace import Workspace

if TYPE_CHECKING:
    from app.imaging.findings import Finding
    from app.views.agent_thread import AgentThread
    from app.views.chat.dock import ChatDock
    from app.views.main_window import MainWindow

_UNSAVED = (
    "They hold until Sightline is closed. Make room on the disk, or ask this computer's "
    "administrator for the right to write into the settings folder."
)


@dataclass(frozen=True, slots=True)
class ViewRequest:
    """The arguments of the command that opens the window.

    Attributes:
        paths: Files and folders to open, in order, after the demo study if `demo` is set.
        ask: Question to ask in the chat once everything is shown; "" for none.
        screenshot: File for a picture of the window, after which the program quits, or None.
        llm: The `name` for `Program.language_model`; None for the model of the settings.
        base_url: The endpoint's address; "" for the one in the settings.
        force: Whether the picture may replace an existing file.
    """

    paths: Sequence[Path] = ()
    demo: bool = False
    ask: str = ""
    screenshot: Path | None = None
    llm: str | None = None
    base_url: str = ""
    force: bool = False


def view(request: ViewRequest) -> int:
    """Open the window, run the event loop, and return the exit code once it is closed.

    Raises:
        SightlineError: There is no display, and no screenshot was requested; or the screenshot's
            file exists without `force`, is one of `paths`, or is no regular file.
    """
    if request.screenshot is not None:
        shot = request.screenshot
        shot = shot if shot.suffix else shot.with_suffix(".png")
        check_target(shot, request.paths, replace=request.force)
        request = replace(request, screenshot=shot)
    from app.views.application import create_application, needs_offscreen, use_offscreen

    if needs_offscreen():
        if request.screenshot is None:
            raise SightlineError(
                "there is no display to open a window on",
                remedy="Save a picture of the window with --screenshot FILE.",
            )
        use_offscreen()
    program = Program()
    program.decoder.warm()  # workers start while Qt does: the first image shows 0.5 s sooner
    program.note("program_started", version=__version__)
    application = create_application(language=program.settings.language)
    window = build_window(program, request)
    window.show()
    try:
        return application.exec()
    finally:
        window.quit()
        program.close()


def build_window(program: Program, request: ViewRequest) -> MainWindow:
    """Return the window with all its parts, after starting the actions that `request` asks for."""
    from app.views.agent_thread import AgentThread
    from app.views.audit.audit_window import CopyRecorder, show_audit
    from app.views.chat.dock import ChatDock
    from app.views.main_window import MainWindow
    from app.views.models.models_window import close_models, show_models
    from app.views.record.source_dialog import RecordServer
    from app.views.startup_actions import StartupActions, StartupRequest
    from app.views.translation import LanguageSetting, tr_report
    from app.views.viewer_commands.viewer import ViewerCommands
    from app.views.wording import PackTexts

    program.has_window = True
    specs = [tool.spec for tool in program.registry.all()]
    texts = PackTexts(specs, program.registry.plans)
    workspace = Workspace(program.registry.labels, texts.result_titles)
    program.record = workspace.record
    model, problem = _model_or_offline(program, request.llm, request.base_url)
    active_model = _ActiveModel(program, model)

    def make_question(text: str, thread: Thread) -> Question:
        return program.question(text, workspace.open_images(), thread)

    agent = AgentThread(active_model.make_runner, make_question, workspace)
    chat = ChatDock(
        agent,
        workspace,
        program.sessions,
        model=model.name,
        remote_host=model.remote_host,
        texts=texts,
    )
    window = MainWindow(
        workspace,
        program.decoder,
        chat,
        open_demo=lambda: window.open_paths(demo_paths()),
        open_settings=chat.model_settings_wanted.emit,
        open_audit=lambda: show_audit(program.audit, window, workspace.opened_files),
        open_models=lambda: open_models(""),
        language=LanguageSetting(lambda: program.settings.language, program.choose_language),
        marks_file=data_dir() / "marks.sqlite",
        record_library=program.record_library,
    )

    viewer = program.viewer = ViewerCommands(window, lambda: agent.caught_up)
    agent.run_ended.connect(lambda run_id, _kind: viewer.end_run(run_id))
    window.record_server = RecordServer(program.secrets, program.open_server)

    def open_models(name: str) -> None:
        show_models(program.model_store, program.host, program.note, window, name, texts)

    chat.models_wanted.connect(open_models)
    window.closing.connect(lambda: close_models(window))
    window.audit_log = chat.exporter.audit = program.audit
    window.pictures.audit = program.audit
    chat.exporter.opened = workspace.opened_files
    CopyRecorder(program.note, window)
    _follow_reviews(program, window, chat)
    _follow_theme(program, window)
    active_model.connect(agent, chat, window)
    if problem:
        window.notices.show_error(problem)
    notices = program.notices()
    if notices:
        window.notices.show_notice(
            "warning",
            tr_report("Some settings were not as expected"),
            " ".join(map(tr_report, notices)),
        )
    paths = (*(demo_paths() if request.demo else ()), *request.paths)
    if (folder := data_paths(os.environ).get("fhir")) is not None and folder.is_dir():
        paths = (*paths, folder)
    actions = StartupActions(
        window,
        chat,
        StartupRequest(paths, request.ask, request.screenshot, request.force),
        print_error,
    )
    actions.audit = program.audit
    actions.start()
    return window


def _follow_theme(program: Program, window: MainWindow) -> None:
    """Show the theme of the settings, and keep there what is chosen in the window."""
    from app.views.application import show_theme

    def keep(scheme: str) -> None:
        changed = program.settings.model_copy(update={"theme": scheme})
        window.background.submit(
            partial(program.change_settings, changed),
            lambda saved: None if saved else _tell_unsaved(window),
        )

    show_theme(program.settings.theme)
    window.theme_chosen.connect(keep)


def _follow_reviews(program: Program, window: MainWindow, chat: ChatDock) -> None:
    """Record what the user makes of findings, under the name in the settings."""
    annotations = window.workspace.annotations
    annotations.reviewer = program.settings.reviewer or review.login()
    chat.exporter.decisions = annotations.decisions

    def record(changed: tuple[Finding, ...]) -> None:
        for state in dict.fromkeys(one.state for one in changed):
            ids = [one.id for one in changed if one.state is state]
            for start in range(0, len(ids), AT_ONCE):
                part = ids[start : start + AT_ONCE]
                program.note("findings_decided", state=state.value, ids=part, count=len(part))

    annotations.decided.connect(record)


def _tell_unsaved(window: MainWindow) -> None:
    from app.views.translation import tr_report

    title = tr_report("The settings could not be saved")
    window.notices.show_notice("warning", title, tr_report(_UNSAVED))


class _ActiveModel:
    """The language model that answers, and the settings dialogue that changes it."""

    def __init__(self, program: Program, model: LanguageModel) -> None:
        self._program = program
        self._model = model
        self._unused: list[LanguageModel] = []  # no longer chosen; a run may still use one
        self._runner: AgentRunner | None = None

    def make_runner(self, on_event: Callable[[RunEvent], None]) -> AgentRunner:
        """Return the runner of questions; a changed model answers its next question."""
        self._runner = AgentRunner(self._program.loop(self._model), on_event)
        return self._runner

    def connect(self, agent: AgentThread, chat: ChatDock, window: MainWindow) -> None:
        """Open the settings from the chat and the privacy mark; end models that are unused."""
        from app.views.application import show_theme
        from app.views.audit.audit_window import show_audit
        from app.views.settings.settings_dialog import SettingsDialog, SettingsSources

        program = self._program

        def use(applied: tuple[LanguageModel, bool]) -> None:
            model, saved = applied
            if not saved:
                _tell_unsaved(window)
            show_theme(program.settings.theme)
            name = program.settings.reviewer or review.login()
            window.workspace.annotations.reviewer = name
            self._unused = [old for old in (*self._unused, self._model) if old is not model]
            self._model = model
            if self._runner is not None:
                self._runner.use(program.loop(model))
            chat.set_model(model.name, model.remote_host)
            window.model_host.set_model(model.name, model.remote_host)
            self._offer_wording(window)
            self._end_unused(agent)

        def show(page: str) -> None:
            probe = Probe(
                program.models.trial_model, program.models.is_cached, program.note_endpoint_test
            )
            specs = tuple(tool.spec for tool in program.registry.all())
            opened = window.workspace.open_images()
            sources = SettingsSources(
                program.secrets,
                program.consents,
                program.grants,
                probe,
                show_audit=lambda: show_audit(program.audit, window, window.workspace.opened_files),
                show_models=lambda: chat.models_wanted.emit(""),
                tools=specs,
                site_rules=program.site_rules,
                packs=tuple(
                    (plan.pack, plan.title or plan.pack)
                    for plan in program.registry.plans.packs
                    if plan.pack != "general"
                ),
                mcp=program.mcp,
                memory=user_memory(),
                without_patients=partial(program.without_patients, images=opened),
            )
            dialog = SettingsDialog(program.settings, sources, self._apply, use, window)
            dialog.show_page(page)
            dialog.open()

        chat.model_settings_wanted.connect(lambda: show("model"))
        chat.limits_wanted.connect(lambda: show("limits"))
        window.model_host.set_model(self._model.name, self._model.remote_host)
        self._offer_wording(window)
        window.model_host.clicked.connect(lambda _checked=False: show("privacy"))
        agent.run_event.connect(window.model_host.follow)
        agent.run_ended.connect(lambda _run_id, _kind: self._end_unused(agent))

    def _offer_wording(self, window: MainWindow) -> None:
        """Let a model on this computer word reports; nothing of a report is sent elsewhere."""
        model = self._model
        own = not model.remote_host and not model_info(model).rules

        def word(sentences: Sequence[str], language: str) -> list[str]:
            return reworded(model, sentences, language, user_memory().told("report style"))

        window.report_panel.set_worder(word if own else None)

    def _apply(self, changed: Settings) -> tuple[LanguageModel, bool]:
        """Take changed settings into use; return their model, and whether they could be saved.

        It is slow, so it is called on a thread.

        Raises:
            SightlineError: The model is not configured; nothing is changed then.
        """
        model = self._program.language_model_for(changed.llm)
        return model, self._program.change_settings(changed)

    def _end_unused(self, agent: AgentThread) -> None:
        """End local models that are no longer chosen, unless a run still uses one."""
        if self._unused and not agent.busy:
            unused, self._unused = tuple(self._unused), []
            # On a thread: a process that hangs must not hold up the window.
            threading.Thread(target=self._program.models.close, args=(unused,)).start()


def _model_or_offline(
    program: Program, name: str | None, base_url: str
) -> tuple[LanguageModel, SightlineError | None]:
    """Return the language model, and why it is the offline planner instead of the one wanted.

    Settings that do not work must not keep the window from opening; a model `name` or `base_url`
    of the command line that cannot be used raises SightlineError.
    """
    if name is not None or base_url:
        program.use_model(name, base_url)  # the settings then show what is in use
        return program.language_model(), None
    try:
        return program.language_model(), None
    except SightlineError as error:
        return program.language_model("offline"), error


def print_error(text: str) -> None:
    """Print one line on stderr."""
    sys.stderr.write(f"sightline: {text}\n")
