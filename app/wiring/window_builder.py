"""Builds the main window as it is shown first, and starts the actions at start-up.

What the first window does not show, the assistant above all, is imported and made after it; see
`app.wiring.assistant`.
"""

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
from app.audit.exports import AT_ONCE, check_target
from app.errors import SightlineError
from app.imaging.demo import demo_paths
from app.paths import data_dir
from app.records.types import data_paths
from app.wiring.program import Program
from app.workspace import review
from app.workspace.workspace import Workspace

if TYPE_CHECKING:
    from app.imaging.findings import Finding
    from app.views.main_window import MainWindow
    from app.wiring.assistant import Preparation


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
    from app.views.application import (
        WindowCollector,
        create_application,
        needs_offscreen,
        use_offscreen,
    )

    if needs_offscreen():
        if request.screenshot is None:
            raise SightlineError(
                "there is no display to open a window on",
                remedy="Save a picture of the window with --screenshot FILE.",
            )
        use_offscreen()
    program = Program()
    has_files = bool(request.demo or request.paths)
    if has_files:
        program.decoder.warm()  # workers start while Qt does: the first image shows 0.5 s sooner
    program.note("program_started", version=__version__)
    application = create_application(language=program.appearance.language)
    window, prepare = first_window(program, request)
    if request.llm is not None or request.base_url:
        window.finish()  # a model that cannot be used ends the program
    start_actions(program, window, request)
    finish_when_shown(window, prepare)
    window.show()
    if not has_files:
        window.shown.connect(program.decoder.warm)
    collector = WindowCollector(application)
    try:
        return application.exec()
    finally:
        window.quit()
        program.close()
        collector.stop()


def build_window(program: Program, request: ViewRequest) -> MainWindow:
    """Return the window with all its parts, after starting the actions that `request` asks for."""
    window, _prepare = first_window(program, request)
    window.finish()
    start_actions(program, window, request)
    return window


def first_window(
    program: Program, request: ViewRequest
) -> tuple[MainWindow, Callable[[], Preparation]]:
    """Return the window as it is shown first, and what prepares its `finish` on a thread."""
    from app.views.audit.audit_window import CopyRecorder
    from app.views.main_window import MainWindow
    from app.views.record.source_dialog import RecordServer
    from app.views.translation import LanguageSetting

    program.has_window = True
    workspace = Workspace()
    program.record = workspace.record
    lock = threading.Lock()
    prepared: list[Preparation] = []

    def prepare() -> Preparation:
        with lock:  # of the thread and of whoever cannot wait for it
            if not prepared:
                from app.wiring.assistant import Preparation

                prepared.append(Preparation(program, request.llm, request.base_url))
            return prepared[0]

    def open_settings() -> None:
        if window.assistant is not None:
            window.assistant.model_settings_wanted.emit()

    def open_models() -> None:
        if window.assistant is not None:
            window.assistant.models_wanted.emit("")

    def open_audit() -> None:
        from app.views.audit.audit_window import show_audit

        show_audit(program.audit, window, workspace.opened_files)

    window = MainWindow(
        workspace,
        program.decoder,
        open_demo=lambda: window.open_paths(demo_paths()),
        open_settings=open_settings,
        open_audit=open_audit,
        open_models=open_models,
        language=LanguageSetting(lambda: program.appearance.language, program.choose_language),
        marks_file=data_dir() / "marks.sqlite",
        record_library=program.record_library,
        finish=lambda: prepare().add_assistant(window),
    )
    window.record_server = RecordServer(program.secrets, program.open_server)
    window.audit_log = program.audit
    window.pictures.audit = program.audit
    CopyRecorder(program.note, window)
    _record_reviews(program, window)
    _follow_theme(program, window)
    return window, prepare


def finish_when_shown(window: MainWindow, prepare: Callable[[], Preparation]) -> None:
    """Make the assistant once the window is painted; what takes long is done on a thread."""

    def finish(_prepared: Preparation) -> None:
        from app.wiring.assistant import import_rest

        window.finish()
        window.background.submit(import_rest, lambda _none: None)

    window.shown.connect(
        lambda: window.background.submit(prepare, finish, window.notices.show_error)
    )


def start_actions(program: Program, window: MainWindow, request: ViewRequest) -> None:
    """Start to open the files, and what else the command line asks for."""
    from app.views.startup_actions import StartupActions, StartupRequest

    paths = (*(demo_paths() if request.demo else ()), *request.paths)
    if (folder := data_paths(os.environ).get("fhir")) is not None and folder.is_dir():
        paths = (*paths, folder)
    actions = StartupActions(
        window,
        StartupRequest(paths, request.ask, request.screenshot, request.force),
        print_error,
    )
    actions.audit = program.audit
    actions.start()


def _follow_theme(program: Program, window: MainWindow) -> None:
    """Show the theme of the settings, and keep there what is chosen in the window."""
    from app.views.application import show_theme

    def tell(saved: bool) -> None:
        if not saved:
            from app.wiring.assistant import tell_unsaved

            tell_unsaved(window)

    def keep(scheme: str) -> None:
        changed = program.settings.model_copy(update={"theme": scheme})
        window.background.submit(
            partial(program.change_settings, changed),
            tell,
        )

    show_theme(program.appearance.theme)
    window.theme_chosen.connect(keep)


def _record_reviews(program: Program, window: MainWindow) -> None:
    """Record what the user makes of findings, under the name in the settings."""
    annotations = window.workspace.annotations
    annotations.reviewer = program.appearance.reviewer or review.login()

    def record(changed: tuple[Finding, ...]) -> None:
        for state in dict.fromkeys(one.state for one in changed):
            ids = [one.id for one in changed if one.state is state]
            for start in range(0, len(ids), AT_ONCE):
                part = ids[start : start + AT_ONCE]
                program.note("findings_decided", state=state.value, ids=part, count=len(part))

    annotations.decided.connect(record)


def print_error(text: str) -> None:
    """Print one line on stderr."""
    sys.stderr.write(f"sightline: {text}\n")
