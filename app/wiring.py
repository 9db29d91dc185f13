"""The one place that builds the program's objects and knows every room.

Nothing here starts a process, a thread or a window before it is used: a command that only lists
tools stays quick, and `view` alone imports Qt.
"""

from __future__ import annotations

import logging
import sys
import tempfile
import threading
import uuid
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from app import __version__, paths, settings
from app.agent.approvals import Gate
from app.agent.audited import Audited
from app.agent.consents import Consents
from app.agent.context import system_prompt
from app.agent.events import RunEvent
from app.agent.llm import providers
from app.agent.llm.base import LanguageModel
from app.agent.llm.probe import Probe
from app.agent.loop import AgentLoop, Approve, Limits, RunRequest
from app.agent.policing.site import site_policies
from app.agent.policy import Grants, Policy
from app.agent.runner import AgentRunner, Question
from app.agent.sessions import SessionStore, Thread
from app.audit import AuditLog, note
from app.audit.changes import host_in, settings_facts
from app.audit.keeping import audit_key
from app.errors import SightlineError
from app.imaging.decode import Decoder
from app.imaging.demo import demo_paths
from app.imaging.types import Instance
from app.secrets import Secrets, key_name
from app.settings import LimitSettings, ModelSettings, ProviderSettings, Settings
from app.tools.api import CancelToken
from app.tools.host import ProcessHost
from app.tools.images import OpenImage, RunImages
from app.tools.models.store import ModelStore
from app.tools.registry import Registry, load_packs
from app.workspace.workspace import Workspace

if TYPE_CHECKING:
    from app.views.agent_thread import AgentThread
    from app.views.chat.dock import ChatDock
    from app.views.main_window import MainWindow

_log = logging.getLogger(__name__)

_UNSAVED = (
    "They hold until Sightline is closed. Make room on the disk, or ask whoever looks after this "
    "computer for the right to write into the settings folder."
)
IDENTIFYING = (
    "PatientName",
    "PatientID",
    "PatientBirthDate",
    "OtherPatientIDs",
    "AccessionNumber",
    "StudyDate",
    "SeriesDate",
    "AcquisitionDate",
    "ContentDate",
    "ReferringPhysicianName",
    "InstitutionName",
)


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
    grants: Grants = field(default_factory=Grants)
    models: providers.Models = field(default_factory=providers.Models)
    settings_notices: list[str] = field(default_factory=list[str])
    _temporary: list[tempfile.TemporaryDirectory[str]] = field(
        default_factory=list["tempfile.TemporaryDirectory[str]"]
    )

    def __post_init__(self) -> None:
        self.consents.withdrawn = lambda host: self.note("consent_withdrawn", host=host)
        self.grants.changed = lambda tool, rule: self.note("session_rule", tool=tool, rule=rule)
        self.grants.withdrawn = lambda tool: self.note("grants_withdrawn", tool=tool)

    @cached_property
    def settings(self) -> Settings:
        """The user's settings."""
        loaded = settings.load(self.settings_path, self.settings_notices)
        self._tell_secrets(loaded)
        return loaded

    def change_settings(self, changed: Settings) -> bool:
        """Use other settings from now on; returns whether they could be kept on disk."""
        self.note("settings_changed", **settings_facts(self.settings, changed))
        self.settings = changed
        self._tell_secrets(changed)
        if "host" in self.__dict__:
            self.host.end_when_idle(changed.idle_minutes * 60 or None)
        try:
            settings.save(changed, self.settings_path)
        except OSError as error:  # they then hold until the program ends
            _log.warning("the settings could not be saved (%s)", type(error).__name__)
            return False
        return True

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
        return ProcessHost(idle_s=self.settings.idle_minutes * 60 or None)

    @cached_property
    def model_store(self) -> ModelStore:
        """The models folder."""
        return ModelStore(paths.models_dir())

    @cached_property
    def audit(self) -> AuditLog:
        """The audit log; its key is looked for with the first line."""
        return AuditLog(paths.audit_dir(), self.audit_secret)

    def audit_secret(self) -> bytes:
        """The audit log's key; may take seconds where a keyring is slow."""
        return audit_key(paths.audit_key_file(), self.secrets)

    @cached_property
    def audited(self) -> Audited:
        """Tells the audit log what runs do."""
        return Audited(self.audit, self.registry)

    def note(self, action: str, **facts: Any) -> None:
        """Tell the audit log what the user changed; soon, since a keyring may be slow."""
        work = partial(note, self.audit, action, facts)
        threading.Thread(target=work, name="audit").start()

    def note_tried(self, wanted: providers.Wanted) -> None:
        """Tell the audit log that an endpoint is tried from the settings."""
        self.note("endpoint_tried", kind=wanted.kind, host=host_in(wanted.url))

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
        return self.model_of(self.settings.llm if name is None else self._named(name))

    def choose(self, name: str) -> None:
        """Take the model that the command line names, until another one is chosen; not kept.

        Raises:
            UsageError: There is no such model.
        """
        self.settings = self.settings.model_copy(update={"llm": self._named(name)})
        self._tell_secrets(self.settings)

    def _named(self, name: str) -> ModelSettings:
        kind, model = providers.parse(name)
        chosen = self.settings.llm
        named = {"path" if kind == "local" else "model": model} if model else {}
        return chosen.with_provider(kind, chosen.of(kind).model_copy(update=named))

    def model_of(self, chosen: ModelSettings) -> LanguageModel:
        """The language model of other settings than those in use.

        Raises:
            UsageError: It is not configured.
        """
        fields = chosen.of(chosen.kind)
        key = self._key(chosen.kind, fields)
        return self.models.get(
            providers.Wanted(chosen.kind, fields, key, plans=self.registry.plans)
        )

    def _key(self, kind: str, fields: ProviderSettings) -> str:
        return self.secrets.get(key_name(kind, providers.url_of(kind, fields)), chosen=True)

    @cached_property
    def site(self) -> tuple[Policy, ...]:
        """The rules for tools that whoever looks after this computer wrote; read once."""
        return site_policies(paths.site_policies(), self.settings_notices)

    def policy(self) -> Policy:
        """The user's rules for tools and the site's."""
        return replace(Policy.from_data(self.settings.policy.data()), also=self.site)

    def notices(self) -> list[str]:
        """What the user should know of settings and rules that are not as expected."""
        specs = [tool.spec for tool in self.registry.all()]
        unknown = self.policy().unknown(specs)
        return [*self.settings_notices, *unknown]

    def loop(self, model: LanguageModel) -> AgentLoop:
        """An agent loop with that model, all tools, and the limits and rules of the settings."""
        return AgentLoop(
            model,
            self.registry,
            system=system_prompt(),
            limits=limits_of(self.settings.limits),
            consents=self.consents,
            approvals=Gate(self.policy(), self.grants),
            plans=self.registry.plans,
            rules_first=self.settings.limits.rules_first,
            audit=self.audited,
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
        self.models.close()
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
    from app.views.audit.copies import CopyWatch
    from app.views.audit.window import show_audit
    from app.views.chat.dock import ChatDock
    from app.views.errand import Errand, Wishes
    from app.views.main_window import MainWindow
    from app.views.models.window import close_models, show_models

    workspace = Workspace()
    model, problem = _model_or_offline(program, request.llm)
    in_use = _SettingsInUse(program, model)

    def make_question(text: str, thread: Thread) -> Question:
        return program.question(text, workspace.open_images(), thread)

    agent = AgentThread(in_use.make_runner, make_question, workspace)
    chat = ChatDock(
        agent, workspace, program.sessions, model=model.name, remote_host=model.remote_host
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
        show_models(program.model_store, program.host, program.note, window, name)

    chat.models_wanted.connect(open_models)
    window.closing.connect(lambda: close_models(window))
    chat.exporter.audit = program.audit
    CopyWatch(program.note, window)
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


class _SettingsInUse:
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
        from app.views.audit.window import show_audit
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
