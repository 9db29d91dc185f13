"""The settings in use: shown, changed, and taken into use for the next question."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from app.agent.events import RunEvent
from app.agent.llm.base import LanguageModel
from app.agent.llm.probe import Probe
from app.agent.loop.runner import AgentRunner
from app.settings import Settings
from app.wiring.program import Program

if TYPE_CHECKING:
    from app.views.agent_thread import AgentThread
    from app.views.chat.dock import ChatDock
    from app.views.main_window import MainWindow

_UNSAVED = (
    "They hold until Sightline is closed. Make room on the disk, or ask whoever looks after this "
    "computer for the right to write into the settings folder."
)


class SettingsInUse:
    """Shows the settings, and takes changed ones into use for the next question."""

    def __init__(self, program: Program, model: LanguageModel) -> None:
        self._program = program
        self._model = model
        self._retired: list[LanguageModel] = []  # no longer chosen; a run may still use one
        self._runner: AgentRunner | None = None

    def make_runner(self, on_event: Callable[[RunEvent], None]) -> AgentRunner:
        """The runner, which later answers with whichever model is chosen."""
        self._runner = AgentRunner(self._program.loop(self._model), on_event)
        return self._runner

    def connect(self, agent: AgentThread, chat: ChatDock, window: MainWindow) -> None:
        """Open the settings when the model's badge is clicked."""
        from app.views.audit.audit_window import show_audit
        from app.views.settings.dialog import Rooms, SettingsDialog

        program = self._program

        def use(taken: tuple[LanguageModel, bool]) -> None:
            model, kept = taken
            if not kept:
                window.notices.show_notice("warning", "The settings could not be saved", _UNSAVED)
            self._retired = [old for old in (*self._retired, self._model) if old is not model]
            self._model = model
            if self._runner is not None:
                self._runner.use(program.loop(model))
            chat.set_model(model.name, model.remote_host)
            window.where.set_model(model.name, model.remote_host)
            self._end_others(agent)

        def show(page: str) -> None:
            probe = Probe(program.models.to_try, program.models.is_kept, program.note_tried)
            specs = tuple(tool.spec for tool in program.registry.all())
            rooms = Rooms(
                program.secrets,
                program.consents,
                program.grants,
                probe,
                tools=specs,
                site=program.site,
            )
            rooms = replace(
                rooms,
                show_audit=lambda: show_audit(program.audit, window),
                show_models=lambda: chat.models_wanted.emit(""),
            )
            dialog = SettingsDialog(program.settings, rooms, self._take, use, window)
            dialog.show_page(page)
            dialog.open()

        chat.model_settings_wanted.connect(lambda: show("model"))
        chat.limits_wanted.connect(lambda: show("limits"))
        window.where.set_model(self._model.name, self._model.remote_host)
        window.where.clicked.connect(lambda _checked=False: show("privacy"))
        agent.run_event.connect(window.where.follow)
        agent.run_ended.connect(lambda _run_id, _kind: self._end_others(agent))

    def _take(self, changed: Settings) -> tuple[LanguageModel, bool]:
        """Keep changed settings and make their model; not on the GUI thread.

        Returns:
            The model, and whether the settings are on disk.

        Raises:
            SightlineError: The model is not configured; then nothing is changed.
        """
        model = self._program.model_of(changed.llm)
        return model, self._program.change_settings(changed)

    def _end_others(self, agent: AgentThread) -> None:
        """End local models that are no longer chosen, once the run that uses one has ended."""
        if self._retired and not agent.busy:
            retired, self._retired = tuple(self._retired), []
            # On a thread: a process that does not end must not hold up the window.
            threading.Thread(target=self._program.models.close, args=(retired,)).start()
