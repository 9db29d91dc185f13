"""The user's settings: one JSON file, written atomically; a broken file is backed up and reset.

A wrong value in code raises an error. A wrong value in the file is replaced by its default, and a
notice says so: a file edited by hand or of an older version cannot keep the program from starting.
"""

from __future__ import annotations

import json
import logging
from pathlib import Path
from typing import Annotated, Any, Literal, cast, get_args

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    ValidationError,
    ValidationInfo,
    ValidatorFunctionWrapHandler,
    field_validator,
    model_validator,
)

from app.user_files import LARGEST, locked, read_regular, set_aside, write_atomic

_log = logging.getLogger(__name__)

Kind = Literal["offline", "openai", "azure", "anthropic", "local"]
"""The kind of model that answers: fixed rules, an endpoint, or a model file on this computer."""

ToolForm = Literal["auto", "native", "json_schema", "text"]
"""The form of a model's tool calls: the endpoint's own, JSON that a schema enforces, or JSON in its
text. "auto" chooses by the kind of endpoint."""

OPENAI_URL = "https://api.openai.com/v1"
ANTHROPIC_URL = "https://api.anthropic.com"
AZURE_API_VERSION = "2024-10-21"

Language = Literal["system", "en", "de"]
"""The language of the window; "system" for the computer's."""

Text = Annotated[str, Field(max_length=2_000)]
Price = Annotated[float | None, Field(ge=0, le=10_000, allow_inf_nan=False)]
Rule = Literal["ask", "deny"]
"""A rule that the user may add; there is no "allow", since rules only make the policy stricter."""


class _Part(BaseModel):
    """A part of the settings; a wrong value in the file is replaced by its default."""

    model_config = ConfigDict(extra="ignore", protected_namespaces=(), frozen=True)

    @field_validator("*", mode="wrap")
    @classmethod
    def _or_default(
        cls, value: Any, handler: ValidatorFunctionWrapHandler, info: ValidationInfo
    ) -> Any:
        notices = cast("list[str] | None", info.context)
        try:
            return handler(value)
        except ValidationError as error:
            if notices is None:
                raise
            name = info.field_name or ""
            default: Any = cls.model_fields[name].get_default(call_default_factory=True)
            # Without the value, which may be a key in the wrong place.
            reason = error.errors(include_input=False, include_url=False)[0]["msg"]
            notices.append(f'"{name}" had an unusable value ({reason}): the default is used.')
            return default


class ProviderSettings(_Part):
    """The settings of one provider of language models.

    Attributes:
        base_url: Address of the endpoint; unused for a local model.
        model: Name of the model at the endpoint; for Azure the name of the deployment.
        path: For a local model: the path of a GGUF file, or of a folder with transformers files.
        context_tokens: Maximum number of tokens in a request and its answer together.
        images: Whether pictures are sent to the model.
        tool_form: The form in which the model calls tools; "auto" for the one that a test of the
            model found or, without a test, that its server reports.
        tested_model: The model, by name or path, that was tested last.
        tested_form: The form of tool calls that worked best in that test.
        input_price: Price in US dollars for a million tokens in requests; None if unknown.
        output_price: Price in US dollars for a million tokens in answers; None if unknown.
    """

    base_url: Text = ""
    model: Text = ""
    api_version: Text = ""
    path: Text = ""
    context_tokens: Annotated[int, Field(ge=1_024, le=10_000_000)] = 32_768
    images: bool = False
    tool_form: ToolForm = "auto"
    tested_model: Text = ""
    tested_form: ToolForm = "auto"
    input_price: Price = None
    output_price: Price = None

    @property
    def form_of_calls(self) -> ToolForm:
        """How to call tools: `tool_form` or, if that is "auto", what a test of this model found."""
        tested = self.tool_form == "auto" and self.tested_model == (self.path or self.model)
        return self.tested_form if tested else self.tool_form

    def tested(self, form: ToolForm) -> ProviderSettings:
        """Return a copy that records `form` as the form of calls that worked best in a test."""
        return self.model_copy(
            update={"tested_model": self.path or self.model, "tested_form": form}
        )


class ModelSettings(_Part):
    """The settings of all providers of language models; app.secrets stores the keys.

    `kind` is the provider in use; the settings of the other providers are kept.
    """

    kind: Kind = "offline"
    openai: ProviderSettings = ProviderSettings(base_url=OPENAI_URL)
    azure: ProviderSettings = ProviderSettings(api_version=AZURE_API_VERSION)
    anthropic: ProviderSettings = ProviderSettings(
        base_url=ANTHROPIC_URL, context_tokens=200_000, images=True
    )
    local: ProviderSettings = ProviderSettings(context_tokens=8_192)

    def of(self, kind: str) -> ProviderSettings:
        """Return the settings of provider `kind`, or defaults if it has none, e.g. "offline"."""
        found = getattr(self, kind, None)
        return found if isinstance(found, ProviderSettings) else ProviderSettings()

    def with_provider(self, kind: Kind, fields: ProviderSettings | None = None) -> ModelSettings:
        """Return a copy that uses provider `kind`, with `fields` as its settings if given."""
        update: dict[str, Any] = {"kind": kind}
        if fields is not None and kind != "offline":
            update[kind] = fields
        return self.model_copy(update=update)


class LimitSettings(_Part):
    """The limits of a run, in which the assistant answers one question.

    Attributes:
        steps: Maximum number of requests to the language model.
        tool_calls: Maximum number of tool calls.
        calls_per_task: Maximum number of tool calls for one step in the plan.
        tokens: Maximum number of tokens in requests and answers together; 0 for no limit.
        cost: Maximum cost in US dollars, for models whose prices are known; 0 for no limit.
        minutes: Maximum duration, without the time spent waiting for the user; 0 for no limit.
        rules_first: Whether fixed rules answer the questions that they are certain to understand,
            without asking a language model.
        plan_first: Whether a plan of several steps waits until the user has seen it.
    """

    steps: Annotated[int, Field(ge=1, le=200)] = 20
    tool_calls: Annotated[int, Field(ge=1, le=500)] = 25
    calls_per_task: Annotated[int, Field(ge=1, le=100)] = 5
    tokens: Annotated[int, Field(ge=0, le=100_000_000)] = 500_000
    cost: Annotated[float, Field(ge=0, le=1_000, allow_inf_nan=False)] = 2.0
    minutes: Annotated[float, Field(ge=0, le=1_440, allow_inf_nan=False)] = 15.0
    rules_first: bool = True
    plan_first: bool = False


Effect = Literal["read", "compute", "write", "send", "execute"]
_ASK_ALL: dict[Effect, Rule] = dict.fromkeys(get_args(Effect), "ask")
_FORMER: dict[str, Any] = {
    "arguments": {},
    "sizes": dict.fromkeys(("text", "items", "number", "whole")),
}
"""Parts of the policy that are gone, as the settings of a user without such rules hold them."""
_Name = Annotated[str, Field(min_length=1, max_length=1_000, pattern=r"\S")]


def _absolute_path(value: str) -> str:
    if not Path(value).is_absolute():
        raise ValueError("write folders from the root on")
    return value


_Folder = Annotated[_Name, AfterValidator(_absolute_path)]


class _Rules(BaseModel):
    """A part of the policy; unknown fields are errors."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class HostSettings(_Rules):
    """The hosts that tools may send data to: those in `allow` (all if empty) but not in `deny`.

    Each is a name, "*.name" for all hosts below a name, or a network.
    """

    allow: list[_Name] = []
    deny: list[_Name] = []


class FolderSettings(_Rules):
    """The folders that tools may write to: those in `allow` (all if empty) but not in `deny`."""

    allow: list[_Folder] = []
    deny: list[_Folder] = []


class PolicySettings(_Part):
    """The user's own rules for tools, which can only make the policy stricter.

    Invalid parts of the settings file make the rules stricter, too: an invalid rule counts as "ask"
    for its tool or effect, invalid hosts forbid sending, invalid folders forbid writing, and
    anything else that is invalid makes "ask" the rule for every tool.

    Attributes:
        effects: Maps an effect to the rule for all tools with that effect, e.g. {"compute": "ask",
            "send": "deny"}.
        tools: Maps a tool's name, or "*" for every tool, to a rule.
        hosts: Hosts to which tools may and may not send data.
        folders: Folders to which tools may and may not write.
        remember: Whether the user is offered an answer that is valid for the whole conversation.
    """

    effects: dict[Effect, Rule] = {}
    tools: dict[str, Rule] = {}
    hosts: HostSettings = HostSettings()
    folders: FolderSettings = FolderSettings()
    remember: Annotated[bool, Field(strict=True)] = True

    @model_validator(mode="before")
    @classmethod
    def _stricter_where_unclear(cls, data: Any, info: ValidationInfo) -> Any:
        notices = cast("list[str] | None", info.context)
        if notices is None or isinstance(data, PolicySettings):
            return data
        parts: dict[str, Any] = data if isinstance(data, dict) else {"": data}
        unknown = [name for name in parts if name not in cls.model_fields]
        unclear = any(parts[name] != _FORMER.get(name, ()) for name in unknown)
        effects, tools = dict[str, Any](), dict[str, Any]()
        for name, table in (("effects", effects), ("tools", tools)):
            given = parts.get(name, {})
            unclear |= not isinstance(given, dict)
            for subject, rule in given.items() if isinstance(given, dict) else ():
                if name == "effects" and subject not in _ASK_ALL:
                    unclear = True
                    continue
                table[subject] = rule if rule in ("ask", "deny") else "ask"
                if table[subject] != rule:
                    notices.append(f'The rule for "{subject}" is unusable: it counts as "ask".')
        if unclear:
            effects = _ASK_ALL | effects
            notices.append("Some rules for tools cannot be read: every tool asks.")
        result: dict[str, Any] = {"effects": effects, "tools": tools}
        result["remember"] = parts.get("remember", True) is True
        for name, kind, effect in (
            ("hosts", HostSettings, "send"),
            ("folders", FolderSettings, "write"),
        ):
            try:
                result[name] = kind.model_validate(parts.get(name, {}))
            except (ValidationError, RecursionError):
                effects[effect] = "deny"
                notices.append(f"The rules for {name} are unusable: no tool may {effect}.")
        return result


Scheme = Literal["system", "dark", "light"]
_Minutes = Annotated[float, Field(ge=0, le=1_440, allow_inf_nan=False)]


class ProfileSettings(_Part):
    """The active tool packs, and the prompt that a language model is given.

    Attributes:
        packs_off: Names of packs whose tools and rules are left out ("chest"); never "general".
        prompt: Name of the section of the prompts file to use; "" for the usual one.
        prompt_file: A prompts file of the user's own, in the form of the shipped one; "" for that.
            Its sections [TOOL_NAME] are added to the descriptions of these tools.
    """

    packs_off: Annotated[list[Text], Field(max_length=100)] = []
    prompt: Annotated[str, Field(max_length=80)] = ""
    prompt_file: Text = ""


class McpServer(_Part):
    """A server of tools that speaks the Model Context Protocol; app.secrets stores its key.

    Attributes:
        name: The name by which its tools are called; "" if the entry cannot be used.
        kind: "stdio" for a program that is started, "http" for an address that speaks streamable
            HTTP, "rpc" for one that takes JSON-RPC at /mcp, /rpc or /analyze.
        command: The program, for "stdio".
        args: The program's arguments.
        env: Names of environment variables that the program gets from Sightline's own; it gets no
            others but the usual ones (PATH, HOME, USER, ...).
        url: The address, for "http" and "rpc".
    """

    name: Annotated[str, Field(pattern=r"^([a-z][a-z0-9_]{0,23})?$")] = ""
    kind: Literal["stdio", "http", "rpc"] = "stdio"
    command: Text = ""
    args: Annotated[list[Text], Field(max_length=50)] = []
    env: Annotated[list[Text], Field(max_length=50)] = []
    url: Text = ""


class Settings(_Part):
    """All settings, with defaults that work offline.

    Attributes:
        version: Version of the file's format.
        language: Language of the window's texts.
        device: Device on which AI models run: "auto", "cpu", "cuda" or "mps".
        idle_minutes: Minutes without work after which AI models are unloaded; 0 for never.
        clean_notes: Whether a language model on another machine gets the free text of patients'
            records, cleaned; otherwise that is held back.
        mcp_servers: Servers whose tools the assistant may use, once the user has seen and allowed
            them.
        theme: The colours of the windows; "system" for those of the desktop.
        reviewer: The user's name for reports and for what they accept or reject; "" for the name
            with which they are logged in.
    """

    version: int = 2
    language: Language = "system"
    llm: ModelSettings = ModelSettings()
    limits: LimitSettings = LimitSettings()
    policy: PolicySettings = PolicySettings()
    profile: ProfileSettings = ProfileSettings()
    clean_notes: Annotated[bool, Field(strict=True)] = False
    mcp_servers: Annotated[list[McpServer], Field(max_length=20)] = []
    device: str = "auto"
    idle_minutes: _Minutes = 10.0
    theme: Scheme = "dark"
    reviewer: Annotated[str, Field(max_length=64)] = ""


def bounds(part: type[BaseModel], name: str) -> tuple[float, float]:
    """Return the smallest and the largest allowed value of the number `name` in settings `part`."""
    found: list[Any] = list(part.model_fields[name].metadata)
    least = next(item.ge for item in found if hasattr(item, "ge"))
    return least, next(item.le for item in found if hasattr(item, "le"))


def load(path: Path, notices: list[str] | None = None) -> Settings:
    """Read the settings; return the defaults if there is no file.

    A file that cannot be read as settings is renamed to `<name>.broken`. `notices` receives a
    sentence for the user for each value replaced by its default.
    """
    messages: list[str] = [] if notices is None else notices
    try:
        # Some editors put a byte order mark at the beginning.
        data: Any = json.loads(read_regular(path, LARGEST).decode("utf-8-sig"))
        settings = Settings.model_validate(data, context=messages)
    except FileNotFoundError:
        return Settings()
    except (OSError, ValueError, RecursionError) as error:
        _log.warning("settings unreadable (%s): reset to defaults", type(error).__name__)
        messages.append(set_aside(path, "The settings"))
        return Settings()
    return settings.model_copy(update={"version": 2})


def save(settings: Settings, path: Path, before: Settings | None = None) -> None:
    """Write the settings; a crash leaves either the old or the new file.

    With `before`, the settings that this program had, only what differs from these is changed in
    the file: another program that runs at the same time may have changed the rest.
    """
    with locked(path):
        data: Any = settings.model_dump(mode="json")
        if before is not None:
            try:
                known = json.loads(read_regular(path, LARGEST).decode("utf-8-sig"))
                data = _merged(before.model_dump(mode="json"), data, known)
                Settings.model_validate(data)
            except (OSError, ValueError, RecursionError):
                data = settings.model_dump(mode="json")  # there is nothing to keep
        write_atomic(path, json.dumps(data, indent=2).encode("utf-8"))


def _merged(before: Any, mine: Any, theirs: Any) -> Any:
    """Return `theirs` with what differs between `before` and `mine` taken from `mine`."""
    if mine == before:
        return theirs
    if not (isinstance(before, dict) and isinstance(mine, dict) and isinstance(theirs, dict)):
        return mine
    old, new = cast("dict[str, Any]", before), cast("dict[str, Any]", mine)
    result = dict(cast("dict[str, Any]", theirs))
    for key in old.keys() | new.keys():
        if key not in new:
            result.pop(key, None)
        elif key not in result or key not in old:
            result[key] = new[key]
        else:
            result[key] = _merged(old[key], new[key], result[key])
    return result
