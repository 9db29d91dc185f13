"""Makes the assistant of a window: chat, agent, language model, and the settings dialogue.

It is imported once the window is shown, on a thread.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING

from app.agent.events import RunEvent
from app.agent.llm.base import LanguageModel, model_info
from app.agent.llm.probe import Probe
from app.agent.loop.runner import AgentRunner
from app.agent.report_wording import reworded
from app.agent.request import Question
from app.agent.sessions import Thread
from app.errors import SightlineError
from app.settings import Settings
from app.tools.memory import user_memory
from app.views.agent_thread import AgentThread
from app.views.application import show_theme
from app.views.audit.audit_window import show_audit
from app.views.chat.dock import ChatDock
from app.views.models.models_window import close_models, show_models
from app.views.settings.settings_dialog import SettingsDialog, SettingsSources
from app.views.translation import tr_report
from app.views.viewer_commands.viewer import ViewerCommands
from app.views.wording import PackTexts
from app.workspace import review

if TYPE_CHECKING:
    from app.views.main_window import MainWindow
    from app.wiring.program import Program

_UNSAVED = (
    "They hold until Sightline is closed. Make room on the disk, or ask this computer's "
    "administrator for the right to write into the settings folder."
)


_FIRST_USED_LATER = (
    "app.views.canvas.colormaps",
    "app.views.diagnosis.differential_page",
    "app.views.diagnosis.session_page",
    "app.views.histogram_panel",
    "app.views.results.plot_pane",
    "app.views.results.table_pane",
    "app.workspace.hanging",
)
"""Modules that the window imports when it first needs them, which would make it wait then."""


def import_rest() -> None:
    """Import what nobody has needed yet, on a thread, so that nobody waits for it later."""
    for name in _FIRST_USED_LATER:
        import_module(name)


class Preparation:
    """What the assistant needs and takes long: tools, language model, loop. Made on a thread.

    Args:
        llm: The `name` for `Program.language_model`; None for the model of the settings.
        base_url: The endpoint's address; "" for the one in the settings.

    Raises:
        SightlineError: `llm` or `base_url` cannot be used.
    """

    def __init__(self, program: Program, llm: str | None, base_url: str) -> None:
        self._program = program
        specs = [tool.spec for tool in program.registry.all()]
        self._texts = PackTexts(specs, program.registry.plans)
        self._model, self._problem = _model_or_offline(program, llm, base_url)
        self._notices = program.notices()
        program.loop(self._model)  # imports what the first question needs

    def add_assistant(self, window: MainWindow) -> None:
        """Put the assistant into a window, on the GUI thread."""
        program, workspace, texts, model = (
            self._program,
            window.workspace,
            self._texts,
            self._model,
        )
        workspace.annotations.fix_colors(program.registry.labels)
        workspace.titles = texts.result_titles
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
        viewer = program.viewer = ViewerCommands(window, lambda: agent.caught_up)
        agent.run_ended.connect(lambda run_id, _kind: viewer.end_run(run_id))

        def open_models(name: str) -> None:
            show_models(program.model_store, program.host, program.note, window, name, texts)

        chat.models_wanted.connect(open_models)
        window.closing.connect(lambda: close_models(window))
        chat.exporter.audit = program.audit
        chat.exporter.opened = workspace.opened_files
        chat.exporter.decisions = workspace.annotations.decisions
        active_model.connect(agent, chat, window)
        window.set_chat(chat)
        if self._problem:
            window.notices.show_error(self._problem)
        if self._notices:
            window.notices.show_notice(
                "warning",
                tr_report("Some settings were not as expected"),
                " ".join(map(tr_report, self._notices)),
            )


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
        program = self._program

        def use(applied: tuple[LanguageModel, bool]) -> None:
            model, saved = applied
            if not saved:
                tell_unsaved(window)
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


def tell_unsaved(window: MainWindow) -> None:
    """Say that changed settings are lost when the program ends."""
    title = tr_report("The settings could not be saved")
    window.notices.show_notice("warning", title, tr_report(_UNSAVED))
