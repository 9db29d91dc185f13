"""The objects of one process, and the facts about settings that go into the audit log."""

from __future__ import annotations

import contextlib
import json
import logging
import tempfile
import threading
import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, cast
from urllib.parse import urlsplit

from app import paths
from app.audit.log import AuditLog, audit_key
from app.errors import FileProblem, UsageError
from app.imaging.decode import Decoder
from app.secrets import Secrets, key_name
from app.user_files import LARGEST, read_regular
from app.workspace.record import OpenRecord

if TYPE_CHECKING:
    # Imported by what needs them, since the window is shown before.
    from app.agent.llm.base import LanguageModel
    from app.agent.llm.providers import ModelChoice, Models
    from app.agent.loop.agent_loop import AgentLoop, Approve, RunRequest
    from app.agent.loop.audit_trail import AuditTrail
    from app.agent.policy import Grants, Policy
    from app.agent.privacy.consents import Consents
    from app.agent.profiles import AgentProfile
    from app.agent.request import Question
    from app.agent.sessions import SessionStore, Thread
    from app.errors import CancelToken
    from app.imaging.types import Instance
    from app.records.fhir_server import ServerQuery
    from app.records.record_library import OpenedRecord, RecordLibrary
    from app.settings import ModelSettings, Settings
    from app.tools.api import ToolContext, Viewer
    from app.tools.hosting.host import ProcessHost
    from app.tools.images import OpenImage, RunImages
    from app.tools.mcp.servers import McpServers
    from app.tools.models.store import ModelStore
    from app.tools.registry import Registry

_log = logging.getLogger(__name__)

IDENTIFYING_KEYWORDS = (
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
"""Keywords of the DICOM attributes whose values are removed from data that is sent."""


class Appearance(NamedTuple):
    """Settings that the first window needs; the defaults are those of `Settings`."""

    language: str = "system"
    theme: str = "dark"
    reviewer: str = ""


USUAL = Appearance()
LANGUAGES, THEMES = ("system", "en", "de"), ("system", "dark", "light")  # those of `Settings`


class Program:
    """Builds and holds the objects of the program, such as the decoder, each when first needed.

    `settings_notices` are sentences for the user about problems with settings and rules. `record`
    says whose record is in use; of a window it is its workspace's.
    """

    def __init__(self) -> None:
        self.secrets = Secrets()
        self.record = OpenRecord()
        self.settings_notices: list[str] = []
        self.has_window = False
        self.viewer: Viewer | None = None
        """The window that the viewer's tools work; None without one."""
        self._temporary: list[tempfile.TemporaryDirectory[str]] = []

    @cached_property
    def consents(self) -> Consents:
        """What the user has agreed to send, and where."""
        from app.agent.privacy.consents import Consents

        consents = Consents()
        consents.withdrawn = lambda host: self.note("consent_withdrawn", host=host)
        return consents

    @cached_property
    def grants(self) -> Grants:
        """The tools that the user has allowed for this session."""
        from app.agent.policy import Grants

        grants = Grants()
        grants.on_change = lambda tool, rule: self.note("session_rule", tool=tool, rule=rule)
        grants.on_withdraw = lambda tool: self.note("grants_withdrawn", tool=tool)
        return grants

    @cached_property
    def models(self) -> Models:
        """The language models that were made."""
        from app.agent.llm.providers import Models

        return Models()

    @cached_property
    def settings(self) -> Settings:
        """The user's settings, read from the settings file when first needed."""
        from app import settings

        loaded = settings.load(self.settings_path, self.settings_notices)
        self._configure_secrets(loaded)
        return loaded

    @property
    def appearance(self) -> Appearance:
        """What the first window needs of the settings, which are not checked for it."""
        if "settings" in self.__dict__:
            return Appearance(self.settings.language, self.settings.theme, self.settings.reviewer)
        try:
            data: Any = json.loads(read_regular(self.settings_path, LARGEST).decode("utf-8-sig"))
            found = {name: data.get(name, usual) for name, usual in USUAL._asdict().items()}
        except (OSError, ValueError, RecursionError, AttributeError):
            return USUAL
        known = found["language"] in LANGUAGES and found["theme"] in THEMES
        return Appearance(**found) if known and isinstance(found["reviewer"], str) else USUAL

    def change_settings(self, changed: Settings) -> bool:
        """Replace the current settings, and return whether the new ones could be saved."""
        from app import settings

        before = self.settings
        self.note("settings_changed", **settings_facts(before, changed))
        self.settings = changed
        self._configure_secrets(changed)
        if changed.mcp_servers != before.mcp_servers:
            self.use_mcp_tools()
        if "host" in self.__dict__:
            self.host.end_when_idle(changed.idle_minutes * 60 or None)
        try:
            settings.save(changed, self.settings_path, before)
        except OSError as error:
            _log.warning("the settings could not be saved (%s)", type(error).__name__)
            return False
        return True

    def choose_language(self, code: str) -> bool:
        """Save the language of the window, used from the next start on; return whether it was."""
        return self.change_settings(self.settings.model_copy(update={"language": code}))

    def _configure_secrets(self, known: Settings) -> None:
        from app.agent.llm import providers

        names = [
            key_name(kind, providers.endpoint_url(kind, known.llm.of(kind)))
            for kind in providers.KINDS
        ]
        self.secrets.configure(names)

    @property
    def settings_path(self) -> Path:
        """The path of the settings file."""
        return paths.config_dir() / "settings.json"

    @cached_property
    def decoder(self) -> Decoder:
        """The decoder of image files, with its worker processes."""
        with contextlib.suppress(OSError):
            # The index of earlier versions holds patients' names, and nothing reads it any more.
            for old in paths.cache_dir().glob("index.sqlite*"):
                old.unlink()
        return Decoder(index=paths.index_folder())

    @cached_property
    def registry(self) -> Registry:
        """The tools of all packs, and those of the MCP servers that the user has allowed."""
        from app.tools.mcp.server_tools import assistant_tools
        from app.tools.registry import load_packs

        registry = load_packs()
        registry.set_server_tools(assistant_tools(self.mcp))
        return registry

    @cached_property
    def mcp(self) -> McpServers:
        """The MCP servers, and what the user has allowed of them."""
        from app.tools.mcp.servers import McpServers

        return McpServers(
            lambda: self.settings.mcp_servers,
            self.secrets.get,
            paths.config_dir() / "mcp_consents.json",
            self._mcp_changed,
        )

    def _mcp_changed(self, name: str, given: bool) -> None:
        if given:
            self.note("mcp_allowed", server=name)
        else:
            self.note("mcp_withdrawn", server=name)
        self.use_mcp_tools()

    def use_mcp_tools(self) -> None:
        """Take the tools of the servers that are allowed now into the registry."""
        from app.tools.mcp.server_tools import assistant_tools

        self.registry.set_server_tools(assistant_tools(self.mcp))

    @cached_property
    def record_library(self) -> RecordLibrary:
        """The patients' records that are read; `record` says which is in use."""
        from app.records.record_library import RecordLibrary

        images = paths.index_folder()
        return RecordLibrary(None if images is None else images.with_name("records"))

    def open_server(
        self,
        query: ServerQuery,
        progress: Callable[[float, str], None] | None = None,
        cancel: CancelToken | None = None,
    ) -> OpenedRecord:
        """Read a record from a FHIR server with the token of its host; record that in the log.

        The user has said that the host may be asked; see `RecordLibrary.open_server`.
        """
        from app.records.fhir_server import KEY_KIND

        token = self.secrets.get(key_name(KEY_KIND, query.base), chosen=True)
        self.note("record_asked", host=query.host)
        return self.record_library.open_server(query, token, progress, cancel)

    @cached_property
    def host(self) -> ProcessHost:
        """The host that runs the tools' networks in model processes."""
        from app.tools.hosting.host import ProcessHost

        return ProcessHost(idle_s=self.settings.idle_minutes * 60 or None)

    @cached_property
    def model_store(self) -> ModelStore:
        """The store of the installed models."""
        from app.tools.models.store import ModelStore

        return ModelStore(paths.models_dir())

    @cached_property
    def audit(self) -> AuditLog:
        """The audit log; its key is read when the first line is written."""
        return AuditLog(paths.audit_dir(), self.audit_secret)

    def audit_secret(self) -> bytes:
        """Return the audit log's key; may take seconds with a slow keyring."""
        return audit_key(paths.audit_key_file(), self.secrets)

    @cached_property
    def audit_trail(self) -> AuditTrail:
        """The object that writes the events of runs into the audit log."""
        from app.agent.loop.audit_trail import AuditTrail

        return AuditTrail(self.audit, self.registry)

    def note(self, action: str, **facts: Any) -> None:
        """Record an `action` and its `facts` in the audit log, on a thread since it may be slow."""
        work = partial(self.audit.note, action, facts)
        threading.Thread(target=work, name="audit").start()

    def note_endpoint_test(self, wanted: ModelChoice) -> None:
        """Record in the audit log that the user tests the model `wanted` in the settings dialog."""
        self.note("endpoint_tried", kind=wanted.kind, host=_host(wanted.url))

    @cached_property
    def sessions(self) -> SessionStore:
        """The store of the conversations."""
        from app.agent.sessions import SessionStore

        return SessionStore(paths.sessions_dir())

    def language_model(self, name: str | None = None, base_url: str = "") -> LanguageModel:
        """Return the language model named "KIND" or "KIND:MODEL" (see `providers.KINDS`).

        `name` None means the model of the settings; `base_url`, if not "", is the endpoint's
        address in place of the one in the settings. May take seconds, since the model's API key is
        looked up in the keyring.

        Raises:
            UsageError: There is no such model, or the model is not configured.
        """
        return self.language_model_for(self._model_settings(name, base_url))

    def use_model(self, name: str | None, base_url: str = "") -> None:
        """Use another model without saving the choice; arguments as for `language_model`."""
        chosen = self._model_settings(name, base_url)
        self.settings = self.settings.model_copy(update={"llm": chosen})
        self._configure_secrets(self.settings)

    def _model_settings(self, name: str | None, base_url: str) -> ModelSettings:
        from app.agent.llm import providers

        chosen = self.settings.llm
        kind, model = providers.parse(name) if name is not None else (chosen.kind, "")
        if base_url and name is None and kind in ("offline", "local"):
            kind = "openai"
        named = {"path" if kind == "local" else "model": model} if model else {}
        if base_url:
            named["base_url"] = base_url
        return chosen.with_provider(kind, chosen.of(kind).model_copy(update=named))

    def language_model_for(self, chosen: ModelSettings) -> LanguageModel:
        """Return the language model of the settings `chosen`, which need not be those in use."""
        from app.agent.llm import providers

        fields = chosen.of(chosen.kind)
        name = key_name(chosen.kind, providers.endpoint_url(chosen.kind, fields))
        key = self.secrets.get(name, chosen=True)
        return self.models.get(
            providers.ModelChoice(chosen.kind, fields, key, plans=self.active.plans)
        )

    @cached_property
    def site_rules(self) -> tuple[Policy, ...]:
        """The rules for tools set by this computer's administrator."""
        from app.agent.policy.policy import site_policies

        return site_policies(paths.site_policies(), self.settings_notices)

    def policy(self) -> Policy:
        """Return the rules for tools: the user's and the administrator's."""
        from app.agent.policy import Policy

        return Policy(self.settings.policy, also=self.site_rules)

    def notices(self) -> list[str]:
        """Return `settings_notices`, then a sentence for each rule that names an unknown tool."""
        from app.tools.memory import user_memory

        specs = [tool.spec for tool in self.registry.all()]
        unknown = self.policy().unknown_names(specs)
        memory = user_memory()
        memory.notes()
        return [
            *(*self.settings_notices, *unknown),
            *filter(None, [self._prompt_problem(), memory.problem]),
        ]

    @property
    def active(self) -> Registry:
        """The tools of the packs that the settings leave active."""
        off = self.settings.profile.packs_off
        return self.registry.without(off if self.has_window else [*off, "viewer"])

    def use_profile(self, packs: Sequence[str] = (), prompt: str = "", file: str = "") -> None:
        """Use only these packs (all if empty), and another prompt, without saving the choice.

        Raises:
            UsageError: There is no such pack or prompt, or the prompts file cannot be read.
        """
        from app.agent.context.model_messages import prompt_names

        known = self.registry.packs
        if wrong := [name for name in packs if name not in known]:
            raise UsageError(
                f"there is no tool pack {wrong[0]!r}", remedy=f"There are: {', '.join(known)}."
            )
        change: dict[str, Any] = {}
        if packs:
            change["packs_off"] = [name for name in known if name not in packs]
        change |= {"prompt": prompt} if prompt else {}
        change |= {"prompt_file": file} if file else {}
        profile = self.settings.profile.model_copy(update=change)
        self.settings = self.settings.model_copy(update={"profile": profile})
        try:
            self._system_prompt()
        except FileProblem as error:
            path = Path(profile.prompt_file) if profile.prompt_file else None
            with contextlib.suppress(FileProblem):
                there = ", ".join(prompt_names(path))
                raise UsageError(error.reason, remedy=f"Prompts there: {there}.") from error
            raise UsageError(error.reason, subject=error.subject) from error

    def _prompt_problem(self) -> str:
        """Return a sentence on why the chosen prompt cannot be used, "" if it can."""
        try:
            self._system_prompt()
        except FileProblem as error:
            return f"The prompt of the settings cannot be used, the usual one is: {error.reason}."
        return ""

    def _system_prompt(self) -> tuple[str, dict[str, str]]:
        """Return the chosen prompt, and the user's own texts for tools."""
        from app.agent.context.model_messages import system_prompt, tool_texts

        profile = self.settings.profile
        path = Path(profile.prompt_file) if profile.prompt_file else None
        texts = tool_texts(path) if path is not None else {}
        return system_prompt(profile.prompt, path), texts

    def loop(self, model: LanguageModel, agent: AgentProfile | None = None) -> AgentLoop:
        """Return an agent loop with a model, the active packs, and the settings' limits and rules.

        A prompt that is not there is replaced by the usual one; `notices` says so. An `agent`
        profile has a prompt, tools and a number of turns of its own.

        Raises:
            UsageError: The profile names a tool or a model that there is not.
        """
        from app.agent.context.model_messages import system_prompt
        from app.agent.loop.agent_loop import AgentLoop, Limits
        from app.agent.policy.approvals import Gate
        from app.tools.memory import user_memory

        chosen = self.settings.limits
        active = self.active
        if agent is not None and agent.tools is not None:
            if unknown := [name for name in agent.tools if active.get(name) is None]:
                raise UsageError(f"the profile names a tool that there is not: {unknown[0]!r}")
            active = active.only(agent.tools)
        try:
            system, texts = self._system_prompt()
        except FileProblem:
            system, texts = system_prompt(), {}
        second = agent.synthesis_model if agent is not None else ""
        return AgentLoop(
            model,
            active,
            system=agent.prompt if agent is not None else system,
            tool_texts=texts,
            limits=Limits(
                steps=chosen.steps,
                tool_calls=chosen.tool_calls,
                calls_per_task=chosen.calls_per_task,
                tokens=chosen.tokens,
                cost=chosen.cost,
                wall_s=chosen.minutes * 60,
            ),
            consents=self.consents,
            approvals=Gate(self.policy(), self.grants),
            plans=active.plans,
            rules_first=chosen.rules_first,
            plan_first=chosen.plan_first,
            audit=self.audit_trail,
            clean_notes=self.settings.clean_notes,
            profile=agent,
            tool_model=self.language_model(second) if second else None,
            memory=str if agent is not None else lambda: user_memory().told(),
        )

    def request(
        self,
        question: str,
        images: Sequence[OpenImage],
        *,
        thread: Thread,
        approve: Approve,
        out_dir: Path | None = None,
    ) -> RunRequest:
        """Return the request for a new run; `approve` is called when the run asks for approval.

        The other arguments are explained at `Program.question`.
        """
        return self.question(question, images, thread, out_dir).request(new_run_id(), approve)

    def question(
        self,
        text: str,
        images: Sequence[OpenImage],
        thread: Thread,
        out_dir: Path | None = None,
    ) -> Question:
        """Return a question about the open `images` as they are now; the shown image comes first.

        `out_dir` is the folder for the run's files; None for the conversation's own folder. The run
        may not read files that are already in `out_dir`.

        Raises:
            FileProblem: The conversation's folder cannot be created.
        """
        from app.agent.request import ImageNotes, Question
        from app.tools.images import RunImages, rejected_calls

        folder = out_dir or self._files_dir(thread)
        earlier = out_dir.iterdir() if out_dir is not None and out_dir.is_dir() else ()
        run_images = RunImages(images, folder, self.decoder, earlier)
        shown = self.viewer.state() if self.viewer is not None else {}
        return Question(
            text=text,
            thread=thread,
            images=run_images,
            image_notes=ImageNotes(lambda: with_shown(run_images.notes(remote=False), shown)),
            out_dir=folder,
            host=self.host,
            models_dir=paths.models_dir(),
            device=self.settings.device,
            identifiers=identifiers(image.instance for image in images),
            rejected_calls=rejected_calls(images, thread.run_ids),
            records=self.record.records,
            record_patient=self.record.patient_id,
            record_unlinked=self.record.is_unlinked,
            viewer=self.viewer,
            shown=shown,
            views=self.viewer.pictures() if self.viewer is not None else (),
        )

    def without_patients(self, note: str, images: Sequence[OpenImage]) -> str:
        """Return a note with a mark for whatever may name the patient of an open image or record.

        May take seconds, since files are read.
        """
        from app.agent.privacy.kept_notes import without_patients
        from app.agent.privacy.send_consent import known_of
        from app.tools.images import RunImages

        seen = RunImages(images, paths.cache_dir(), self.decoder)
        known = known_of(seen.headers())
        found = [*identifiers(image.instance for image in images), *known.identifiers]
        return without_patients(note, found, known.texts, self.record.records)

    def tool_context(
        self,
        run_id: str,
        call_id: str,
        images: RunImages,
        out_dir: Path,
        progress: Callable[[float, str], None] = lambda _fraction, _text: None,
    ) -> ToolContext:
        """Return the context of a tool call outside a run: ids, images, folder, host and device."""
        from app.agent.loop.inner_calls import InnerCallRunner
        from app.agent.policy import Scope
        from app.errors import CancelToken
        from app.tools.api import ToolContext

        policy, scope = self.policy(), Scope.for_run(images, (), out_dir)
        return ToolContext(
            run_id=run_id,
            call_id=call_id,
            images=images,
            out_dir=out_dir,
            host=self.host,
            models_dir=paths.models_dir(),
            device=self.settings.device,
            cancel=CancelToken(),
            progress=progress,
            calls=InnerCallRunner(
                self.registry, lambda spec, args: policy.judge(spec, args, scope)
            ),
            records=self.record.records,
            record_patient=self.record.patient_id,
            record_unlinked=self.record.is_unlinked,
        )

    def _files_dir(self, thread: Thread) -> Path:
        if thread.folder is not None:
            return thread.files_dir()
        # The sessions folder cannot be written: results last as long as the program.
        folder = tempfile.TemporaryDirectory(prefix="sightline-")
        self._temporary.append(folder)
        return Path(folder.name)

    def close(self) -> None:
        """End the processes that were started, and remove temporary folders."""
        for name in ("models", "host", "decoder", "record_library"):
            if name in self.__dict__:
                self.__dict__[name].close()
        for folder in self._temporary:
            folder.cleanup()
        self._temporary.clear()


def with_shown(notes: list[dict[str, Any]], shown: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the notes on the images with how the window shows them (`Viewer.state`)."""
    told = [dict(note) for note in notes]
    for viewport in shown.get("viewports", ()):
        note = next((one for one in told if one["id"] == viewport.get("image")), None)
        if note is not None:
            kept = {key: value for key, value in viewport.items() if key not in _KNOWN_OF_IMAGE}
            note.setdefault("shown", []).append(kept)
    marks = [_mark_text(one) for one in shown.get("findings", ())]
    if told and marks:
        more = [f"and {len(marks) - _MOST_MARKS} more"] if len(marks) > _MOST_MARKS else []
        told[0]["marks"] = [*marks[:_MOST_MARKS], *more]
    if told and "pointed_at" in shown:
        told[0]["pointed_at"] = shown["pointed_at"]
    return told


_KNOWN_OF_IMAGE = ("image", "modality")


_MOST_MARKS = 24


def _mark_text(mark: Mapping[str, Any]) -> str:
    """Return a mark of the shown study in words: "Nodule (proposed, selected)"."""
    selected = "selected" if mark.get("selected") else ""
    words = (mark["state"], "" if mark["visible"] else "hidden", selected)
    return f"{mark['label']} ({', '.join(filter(None, words))})"


def new_run_id() -> str:
    """Return a new random run id."""
    return uuid.uuid4().hex


def identifiers(instances: Iterable[Instance]) -> tuple[str, ...]:
    """Return the texts that identify the patients in the images, to be removed from sent data."""
    found = {instance.get(keyword) for instance in instances for keyword in IDENTIFYING_KEYWORDS}
    return tuple(sorted(found - {""}))


_MAX_FACT_LENGTH = 120
_MAX_CHANGES = 30


def settings_facts(before: Settings, after: Settings) -> dict[str, Any]:
    """Return the facts about changed settings that are recorded in the audit log.

    These are the names of the settings that changed; for the language model, its name and host; for
    the policy and the limits, the new values. Paths and complete addresses are left out, since they
    may contain a name or a key.
    """
    old, new = _flattened(before.model_dump()), _flattened(after.model_dump())
    changed = sorted(key for key in old.keys() | new.keys() if old.get(key) != new.get(key))
    facts: dict[str, Any] = {"changed": changed[:_MAX_CHANGES]}
    if any(key.startswith("llm.") for key in changed):
        fields = after.llm.of(after.llm.kind)
        is_local = after.llm.kind == "local"  # its name is that of a file
        name = "local" if is_local else f"{after.llm.kind} {fields.model}".strip()
        facts["model"] = name[:_MAX_FACT_LENGTH]
        facts["host"] = "" if is_local else _host(fields.base_url)
    rules = [key for key in changed if key.startswith("policy.")]
    if rules:
        facts["rules"] = {key[7:]: _rule_fact(key, new) for key in rules[:_MAX_CHANGES]}
    limits = [key for key in changed if key.startswith("limits.")]
    if limits:
        facts["limits"] = {key[7:]: new.get(key) for key in limits}
    return facts


def _rule_fact(key: str, values: dict[str, Any]) -> str:
    if key.startswith("policy.folders."):
        return "(not written here)"
    return str(values.get(key, "(none)"))[:_MAX_FACT_LENGTH]


def _flattened(value: dict[str, Any], prefix: str = "") -> dict[str, Any]:
    """Return `{"a": {"b": 1}}` as `{"a.b": 1}`."""
    flat: dict[str, Any] = {}
    for key, item in value.items():
        if isinstance(item, dict):
            flat |= _flattened(cast("dict[str, Any]", item), f"{prefix}{key}.")
        else:
            flat[f"{prefix}{key}"] = item
    return flat


def _host(url: str) -> str:
    """Return host and port of an address, without user name, key or path; "" if it has none."""
    try:
        parts = urlsplit(url)
        port = f":{parts.port}" if parts.port else ""
    except ValueError:
        return ""
    return f"{parts.hostname or ''}{port}"[:_MAX_FACT_LENGTH]
