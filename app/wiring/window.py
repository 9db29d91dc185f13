"""The window with all its parts, and what the command line wants of it."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from app import __version__
from app.agent.llm.base import LanguageModel
from app.agent.loop.runner import Question
from app.agent.sessions import Thread
from app.errors import SightlineError
from app.imaging.demo import demo_paths
from app.wiring.program import Program
from app.wiring.settings_in_use import SettingsInUse
from app.workspace.workspace import Workspace

if TYPE_CHECKING:
    from app.views.main_window import MainWindow


@dataclass(frozen=True, slots=True)
class ViewRequest:
    """What the command line asks of the window."""

    paths: tuple[Path, ...] = ()
    demo: bool = False
    ask: str = ""
    screenshot: Path | None = None
    llm: str | None = None


def view(request: ViewRequest) -> int:
    """Open the window; returns the exit code once it is closed.

    Raises:
        SightlineError: There is no display and no picture was asked for.
    """
    from app.views.application import create_application, needs_offscreen, use_offscreen

    if needs_offscreen():
        if request.screenshot is None:
            raise SightlineError(
                "there is no display to open a window on",
                remedy="Save a picture of the window with --screenshot FILE.",
            )
        use_offscreen()
    program = Program()
    program.decoder.warm()  # they start while Qt does: an image is on the screen 0.5 s sooner
    program.note("program_started", version=__version__)
    application = create_application()
    window = build_window(program, request)
    window.show()
    try:
        return application.exec()
    finally:
        window.close()
        program.close()


def build_window(program: Program, request: ViewRequest) -> MainWindow:
    """The window with all its parts, its first errand under way."""
    from app.views.agent_thread import AgentThread
    from app.views.audit.audit_window import CopyRecorder, show_audit
    from app.views.chat.dock import ChatDock
    from app.views.main_window import MainWindow
    from app.views.models.window import close_models, show_models
    from app.views.pack_texts import PackTexts
    from app.views.startup_actions import Errand, Wishes

    workspace = Workspace(program.registry.labels)
    specs = [tool.spec for tool in program.registry.all()]
    texts = PackTexts(specs, program.registry.plans)
    model, problem = _model_or_offline(program, request.llm)
    in_use = SettingsInUse(program, model)

    def make_question(text: str, thread: Thread) -> Question:
        return program.question(text, workspace.open_images(), thread)

    agent = AgentThread(in_use.make_runner, make_question, workspace)
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
        open_audit=lambda: show_audit(program.audit, window),
        open_models=lambda: open_models(""),
    )

    def open_models(name: str) -> None:
        show_models(program.model_store, program.host, program.note, window, name, texts)

    chat.models_wanted.connect(open_models)
    window.closing.connect(lambda: close_models(window))
    chat.exporter.audit = program.audit
    CopyRecorder(program.note, window)
    in_use.connect(agent, chat, window)
    if problem:
        window.notices.show_error(problem)
    told = program.notices()
    if told:
        text = " ".join(told)
        window.notices.show_notice("warning", "Some settings were not as expected", text)
    opened = (*(demo_paths() if request.demo else ()), *request.paths)
    wishes = Wishes(opened, request.ask, request.screenshot)
    errand = Errand(window, chat, wishes, print_error)
    errand.audit = program.audit
    errand.start()
    return window


def _model_or_offline(
    program: Program, name: str | None
) -> tuple[LanguageModel, SightlineError | None]:
    """The chosen model. Settings that do not work must not keep the window from opening."""
    if name is not None:
        program.choose(name)  # the settings then show what is in use
        return program.language_model(), None
    try:
        return program.language_model(), None
    except SightlineError as error:
        return program.language_model("offline"), error


def print_error(text: str) -> None:
    """One line on stderr."""
    sys.stderr.write(f"sightline: {text}\n")
