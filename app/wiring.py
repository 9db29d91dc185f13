"""The one place that builds the program's objects and knows every room.

Nothing here starts a process, a thread or a window before it is used: a command that only lists
tools stays quick, and `view` alone imports Qt.
"""

from __future__ import annotations

import asyncio
import logging
import sys
import tempfile
import uuid
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from app import paths, settings
from app.agent.approvals import Consents
from app.agent.context import system_prompt
from app.agent.events import RunEvent
from app.agent.llm import providers
from app.agent.llm.base import LanguageModel, Text
from app.agent.loop import AgentLoop, Approve, Limits, RunRequest
from app.agent.messages import Message
from app.agent.runner import AgentRunner, Question
from app.agent.sessions import SessionStore, Thread
from app.errors import SightlineError, UsageError
from app.imaging.decode import Decoder
from app.imaging.demo import demo_paths
from app.imaging.types import Instance
from app.secrets import Secrets, key_name
from app.settings import Kind, LimitSettings, Settings
from app.tools.api import CancelToken
from app.tools.host import ProcessHost
from app.tools.images import OpenImage, RunImages
from app.tools.registry import Registry, load_packs
from app.tools.weights import WeightStore
from app.workspace.workspace import Workspace

if TYPE_CHECKING:
    from app.views.chat.dock import ChatDock
    from app.views.main_window import MainWindow

_log = logging.getLogger(__name__)

IDENTIFYING = ("PatientName", "PatientID", "PatientBirthDate", "AccessionNumber", "StudyDate")


@dataclass(frozen=True, slots=True)
class ViewRequest:
    """What the command line asks of the window."""

    paths: tuple[Path, ...] = ()
    demo: bool = False
    ask: str = ""
    screenshot: Path | None = None
    llm: str | None = None


@dataclass
class Program:
    """The objects of one process, each built when it is first needed."""

    secrets: Secrets = field(default_factory=Secrets)
    consents: Consents = field(default_factory=Consents)
    settings_notices: list[str] = field(default_factory=list[str])
    _temporary: list[tempfile.TemporaryDirectory[str]] = field(
        default_factory=list["tempfile.TemporaryDirectory[str]"]
    )

    @cached_property
    def settings(self) -> Settings:
        """The user's settings."""
        loaded = settings.load(self.settings_path, self.settings_notices)
        self._tell_secrets(loaded)
        return loaded

    def change_settings(self, changed: Settings) -> None:
        """Use other settings from now on, and keep them."""
        self.settings = changed
        self._tell_secrets(changed)
        try:
            settings.save(changed, self.settings_path)
        except OSError as error:  # they then hold until the program ends
            _log.warning("the settings could not be saved (%s)", type(error).__name__)

    def _tell_secrets(self, known: Settings) -> None:
        names = [
            key_name(kind, providers.url_of(kind, known.llm.of(kind))) for kind in providers.KINDS
        ]
        self.secrets.configure(names, key_name("openai", known.llm.old_key_url))

    @property
    def settings_path(self) -> Path:
        """Where they are kept."""
        return paths.config_dir() / "settings.json"

    @cached_property
    def decoder(self) -> Decoder:
        """The decode workers."""
        return Decoder(index=paths.index_file())

    @cached_property
    def registry(self) -> Registry:
        """All tools."""
        return load_packs()

    @cached_property
    def host(self) -> ProcessHost:
        """The model process."""
        return ProcessHost()

    @cached_property
    def weights(self) -> WeightStore:
        """The models folder."""
        return WeightStore(paths.models_dir())

    @cached_property
    def sessions(self) -> SessionStore:
        """The chat threads on disk."""
        return SessionStore(paths.sessions_dir())

    def language_model(self, name: str | None = None) -> LanguageModel:
        """The language model called `name` ("KIND" or "KIND:MODEL"; see `providers.KINDS`).

        Looks for its key, which may take seconds where a keyring is slow.

        Args:
            name: None for the one in the settings.

        Raises:
            UsageError: There is no such model, or it is not configured.
        """
        chosen = self.settings.llm
        kind, model = providers.parse(name) if name is not None else (chosen.kind, "")
        fields = chosen.of(kind)
        if model:
            named = "path" if kind == "local" else "model"
            fields = fields.model_copy(update={named: model})
        key = self.secrets.get(key_name(kind, providers.url_of(kind, fields)))
        return providers.build(providers.Wanted(kind, fields, key))

    def loop(self, model: LanguageModel) -> AgentLoop:
        """An agent loop with that model, all tools, and the limits of the settings."""
        return AgentLoop(
            model,
            self.registry,
            system=system_prompt(),
            limits=limits_of(self.settings.limits),
            consents=self.consents,
        )

    def request(
        self,
        question: str,
        images: Sequence[OpenImage],
        *,
        thread: Thread,
        out_dir: Path,
        approve: Approve,
        run_id: str | None = None,
        cancel: CancelToken | None = None,
    ) -> RunRequest:
        """A question frozen with the images that are open now, the shown one first."""
        frozen = self.question(question, images, thread, out_dir)
        return RunRequest(
            run_id=run_id or new_run_id(),
            thread=thread,
            question=question,
            images=frozen.images,
            image_notes=frozen.image_notes,
            out_dir=frozen.out_dir,
            host=frozen.host,
            models_dir=frozen.models_dir,
            device=frozen.device,
            cancel=cancel or CancelToken(),
            approve=approve,
            identifiers=frozen.identifiers,
        )

    def question(
        self,
        text: str,
        images: Sequence[OpenImage],
        thread: Thread,
        out_dir: Path | None = None,
    ) -> Question:
        """A question for the runner, frozen with the images that are open now.

        Args:
            text: The user's text.
            images: What is open, the shown image first.
            thread: The conversation.
            out_dir: For pictures and masks; None for a new folder of the thread's.

        Raises:
            FileProblem: The thread's folder cannot be made.
        """
        folder = out_dir or self._files_dir(thread)
        run_images = RunImages(images, folder, self.decoder)
        return Question(
            text=text,
            thread=thread,
            images=run_images,
            image_notes=run_images.notes(remote=False),
            out_dir=folder,
            host=self.host,
            models_dir=paths.models_dir(),
            device=self.settings.device,
            identifiers=identifiers(image.instance for image in images),
        )

    def _files_dir(self, thread: Thread) -> Path:
        if thread.folder is not None:
            return thread.files_dir()
        # The sessions folder cannot be written: results last as long as the program.
        folder = tempfile.TemporaryDirectory(prefix="sightline-")
        self._temporary.append(folder)
        return Path(folder.name)

    def close(self) -> None:
        """Stop the processes that were started."""
        for name in ("host", "decoder"):
            if name in self.__dict__:
                self.__dict__[name].close()
        for folder in self._temporary:
            folder.cleanup()
        self._temporary.clear()


def limits_of(chosen: LimitSettings) -> Limits:
    """The limits of a run, as the settings say them."""
    return Limits(
        steps=chosen.steps,
        tool_calls=chosen.tool_calls,
        calls_per_task=chosen.calls_per_task,
        tokens=chosen.tokens,
        cost=chosen.cost,
        wall_s=chosen.minutes * 60,
    )


def new_run_id() -> str:
    """A fresh run id; says nothing about the patient."""
    return uuid.uuid4().hex


def identifiers(instances: Iterable[Instance]) -> tuple[str, ...]:
    """Texts that identify the patients of `instances`, to be cut from what leaves the machine."""
    found = {instance.get(keyword) for instance in instances for keyword in IDENTIFYING}
    return tuple(sorted(found - {""}))


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
    from app.views.chat.dock import ChatDock
    from app.views.errand import Errand, Wishes
    from app.views.main_window import MainWindow

    workspace = Workspace()
    model, problem = _model_or_offline(program, request.llm)
    switch = _ModelSwitch(program, model)

    def make_question(text: str, thread: Thread) -> Question:
        return program.question(text, workspace.open_images(), thread)

    agent = AgentThread(switch.make_runner, make_question, workspace)
    chat = ChatDock(
        agent, workspace, program.sessions, model=model.name, remote_host=model.remote_host
    )
    window = MainWindow(
        workspace,
        program.decoder,
        chat,
        open_demo=lambda: window.open_paths(demo_paths()),
    )
    switch.connect(chat, window)
    if problem:
        window.notices.show_error(problem)
    opened = (*(demo_paths() if request.demo else ()), *request.paths)
    wishes = Wishes(opened, request.ask, request.screenshot)
    Errand(window, chat, wishes, print_error).start()
    return window


class _ModelSwitch:
    """The settings of the language model: shows the dialog, tests, and changes the model."""

    def __init__(self, program: Program, model: LanguageModel) -> None:
        self._program = program
        self._model = model
        self._runner: AgentRunner | None = None

    def make_runner(self, on_event: Callable[[RunEvent], None]) -> AgentRunner:
        """The runner, which later answers with whichever model is chosen."""
        self._runner = AgentRunner(self._program.loop(self._model), on_event)
        return self._runner

    def connect(self, chat: ChatDock, window: MainWindow) -> None:
        """Open the dialog when the model's badge is clicked."""
        from app.views.chat.model_dialog import ModelChoice, ModelDialog

        def use(choice: ModelChoice) -> None:
            program = self._program
            fields = program.settings.llm.openai.model_copy(
                update={"base_url": choice.base_url, "model": choice.model}
            )
            kind: Kind = "openai" if choice.kind == "openai" else "offline"
            llm = program.settings.llm.with_provider(kind, fields)
            program.change_settings(program.settings.model_copy(update={"llm": llm}))
            try:
                model = program.language_model()
            except SightlineError as error:
                window.notices.show_error(error)
                return
            if self._runner is not None:
                self._runner.use(program.loop(model))
            chat.set_model(model.name, model.remote_host)

        def check(choice: ModelChoice, key: str) -> str:
            return check_endpoint(choice.base_url, choice.model, key)

        def show() -> None:
            chosen = self._program.settings.llm
            choice = ModelChoice(chosen.kind, chosen.openai.base_url, chosen.openai.model)
            ModelDialog(choice, self._program.secrets, check, use, window).open()

        chat.model_settings_wanted.connect(show)


def check_endpoint(base_url: str, model: str, key: str) -> str:
    """Ask an endpoint for one word; says how it went. Blocks: call it off the GUI thread.

    Raises:
        SightlineError: What is wrong, and what to do.
    """
    from app.agent.llm.openai_model import OpenAIModel

    if not model.strip():
        raise UsageError("the model has no name", remedy="Give the name the endpoint knows it by.")
    endpoint = OpenAIModel(base_url, model.strip(), key, read_timeout_s=20, first_timeout_s=60)

    async def ask() -> int:
        pieces = [
            event
            async for event in endpoint.stream([Message(role="user", text="Say OK.")], ())
            if isinstance(event, Text)
        ]
        return len(pieces)

    pieces = asyncio.run(ask())
    return f"{endpoint.name} answers." if pieces else f"{endpoint.name} answers, but with no text."


def _model_or_offline(
    program: Program, name: str | None
) -> tuple[LanguageModel, SightlineError | None]:
    """The chosen model. Settings that do not work must not keep the window from opening."""
    if name is not None:
        return program.language_model(name), None
    try:
        return program.language_model(), None
    except SightlineError as error:
        return program.language_model("offline"), error


def print_error(text: str) -> None:
    """One line on stderr."""
    sys.stderr.write(f"sightline: {text}\n")
