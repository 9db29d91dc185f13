"""The user's settings: one JSON file, written atomically; a broken one is backed up and reset.

In code a wrong value raises. In a file it is replaced by its default, and a notice says so: what
somebody wrote by hand, or an older version, never keeps the program from starting.
"""

from __future__ import annotations

import json
import logging
import os
import tempfile
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

_log = logging.getLogger(__name__)

Kind = Literal["offline", "openai", "azure", "anthropic", "local"]
"""Who answers: the rule planner, an endpoint, or a model file on this machine."""

ToolForm = Literal["auto", "native", "json_schema", "text"]
"""How a model is made to call tools: by its endpoint's own means, as JSON that a schema enforces,
or as JSON in its text. "auto" chooses by the kind of endpoint."""

OPENAI_URL = "https://api.openai.com/v1"
ANTHROPIC_URL = "https://api.anthropic.com"
AZURE_API_VERSION = "2024-10-21"

Text = Annotated[str, Field(max_length=2_000)]
Price = Annotated[float | None, Field(ge=0, le=10_000, allow_inf_nan=False)]
Rule = Literal["ask", "deny"]
"""What a user may add to the policy; "allow" cannot be said: rules are stricter only."""


class _Part(BaseModel):
    """A part of the settings; see the module for what becomes of wrong values."""

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
            # Not the value itself: somebody may have put a key in the wrong place.
            reason = error.errors(include_input=False, include_url=False)[0]["msg"]
            notices.append(f'"{name}" had an unusable value ({reason}): the default is used.')
            return default


class ProviderSettings(_Part):
    """What is remembered of one provider.

    Attributes:
        base_url: Address of the endpoint; not used for a local model.
        model: Its name there; for Azure the name of the deployment.
        api_version: Azure's.
        path: For a local model: a GGUF file, or a folder of transformers files.
        context_tokens: The most tokens of a request and its answer together.
        images: Whether it is shown pictures.
        tool_form: How it calls tools.
        input_price: US dollars for a million tokens of a request, None when not known.
        output_price: The same for an answer.
    """

    base_url: Text = ""
    model: Text = ""
    api_version: Text = ""
    path: Text = ""
    context_tokens: Annotated[int, Field(ge=1_024, le=10_000_000)] = 32_768
    images: bool = False
    tool_form: ToolForm = "auto"
    input_price: Price = None
    output_price: Price = None


class ModelSettings(_Part):
    """Which language model answers. Keys are never kept here: see app.secrets.

    Attributes:
        kind: Who answers; the other providers' fields are remembered meanwhile.
        openai: Any OpenAI-compatible endpoint.
        azure: A deployment in Azure.
        anthropic: Anthropic's API.
        local: A model file on this machine.
        old_key_url: The address that the key named "openai" of earlier versions was typed for.
    """

    kind: Kind = "offline"
    openai: ProviderSettings = ProviderSettings(base_url=OPENAI_URL)
    azure: ProviderSettings = ProviderSettings(api_version=AZURE_API_VERSION)
    anthropic: ProviderSettings = ProviderSettings(
        base_url=ANTHROPIC_URL, context_tokens=200_000, images=True
    )
    local: ProviderSettings = ProviderSettings(context_tokens=8_192)
    old_key_url: Text = ""

    @model_validator(mode="before")
    @classmethod
    def _from_version_1(cls, data: Any) -> Any:
        """Version 1 had one endpoint: `kind`, `base_url` and `model`."""
        if not isinstance(data, dict) or not {"base_url", "model"} & set(cast("Any", data)):
            return data
        fields = dict(cast("dict[str, Any]", data))
        url, model = fields.pop("base_url", OPENAI_URL), fields.pop("model", "")
        if "openai" not in fields:
            fields["openai"] = {"base_url": url, "model": model}
            fields.setdefault("old_key_url", url)
        return fields

    def of(self, kind: str) -> ProviderSettings:
        """The fields of a provider; the defaults for the offline planner, which has none."""
        found = getattr(self, kind, None)
        return found if isinstance(found, ProviderSettings) else ProviderSettings()

    def with_provider(self, kind: Kind, fields: ProviderSettings | None = None) -> ModelSettings:
        """The same with another provider chosen, and with its fields where they are given."""
        update: dict[str, Any] = {"kind": kind}
        if fields is not None and kind != "offline":
            update[kind] = fields
        return self.model_copy(update=update)


class LimitSettings(_Part):
    """How far a run may go; see app.agent.request.Limits.

    Attributes:
        steps: Questions to the model.
        tool_calls: Calls of tools.
        calls_per_task: Calls for one step of the plan.
        tokens: Of requests and answers together; 0 for no limit.
        cost: US dollars, for models whose prices are known; 0 for no limit.
        minutes: Of wall time, the user's own not counted; 0 for no limit.
        rules_first: What rules are certain of they answer, and no language model is asked.
    """

    steps: Annotated[int, Field(ge=1, le=200)] = 20
    tool_calls: Annotated[int, Field(ge=1, le=500)] = 25
    calls_per_task: Annotated[int, Field(ge=1, le=100)] = 5
    tokens: Annotated[int, Field(ge=0, le=100_000_000)] = 500_000
    cost: Annotated[float, Field(ge=0, le=1_000, allow_inf_nan=False)] = 2.0
    minutes: Annotated[float, Field(ge=0, le=1_440, allow_inf_nan=False)] = 15.0
    rules_first: bool = True


Effect = Literal["read", "compute", "write", "send", "execute"]
_ASK_ALL: dict[Effect, Rule] = dict.fromkeys(get_args(Effect), "ask")
_Count = Annotated[int, Field(ge=0, le=10**9, strict=True)]
_Number = Annotated[float, Field(ge=-1e300, le=1e300, allow_inf_nan=False, strict=True)]
_Name = Annotated[str, Field(min_length=1, max_length=1_000, pattern=r"\S")]


def _whole_path(value: str) -> str:
    if not Path(value).is_absolute():
        raise ValueError("write folders from the root on")
    return value


_Folder = Annotated[_Name, AfterValidator(_whole_path)]


class _Rules(BaseModel):
    """A part of the policy: nothing in it is passed over."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class ArgumentSettings(_Rules):
    """A rule for one argument of a tool; an absent field says nothing."""

    rule: Rule | None = None
    longest: _Count | None = None
    most: _Count | None = None
    least: _Number | None = None
    greatest: _Number | None = None
    values: list[str] = []


class HostSettings(_Rules):
    """Where tools may send to: names, "*.name", networks."""

    allow: list[_Name] = []
    deny: list[_Name] = []


class FolderSettings(_Rules):
    """Where tools may write."""

    allow: list[_Folder] = []
    deny: list[_Folder] = []


class SizeSettings(_Rules):
    """How large arguments may be; larger than the program's own bounds says nothing."""

    text: _Count | None = None
    items: _Count | None = None
    number: _Number | None = None
    whole: _Count | None = None


class PolicySettings(_Part):
    """The user's own rules on top of the policy; they can only be stricter than it.

    What of them cannot be understood in the file makes things stricter: a rule counts as "ask" for
    the tool or effect that it names, hosts or folders stop what sends or writes, and anything else
    makes every tool ask.

    Attributes:
        effects: A rule for all tools of an effect, e.g. {"compute": "ask", "send": "deny"}.
        tools: A rule for one tool by its name, "*" for every one.
        arguments: Rules for arguments, by tool ("*" for every one) and name.
        hosts: Where tools may send to.
        folders: Where they may write.
        sizes: How large arguments may be.
        remember: Whether a yes for a whole conversation is offered.
    """

    effects: dict[Effect, Rule] = {}
    tools: dict[str, Rule] = {}
    arguments: dict[str, dict[str, ArgumentSettings]] = {}
    hosts: HostSettings = HostSettings()
    folders: FolderSettings = FolderSettings()
    sizes: SizeSettings = SizeSettings()
    remember: Annotated[bool, Field(strict=True)] = True

    def data(self) -> dict[str, Any]:
        """As `app.agent.policy.Policy.from_data` takes it."""
        return self.model_dump(exclude_none=True)

    @model_validator(mode="before")
    @classmethod
    def _stricter_where_unclear(cls, data: Any, info: ValidationInfo) -> Any:
        notices = cast("list[str] | None", info.context)
        if notices is None or isinstance(data, PolicySettings):
            return data
        parts = _table(data)
        tables = {name: _table((parts or {}).get(name, {})) for name in ("effects", "tools")}
        result: dict[str, Any] = {name: table or {} for name, table in tables.items()}
        unclear = parts is None or None in tables.values()
        for name in ("effects", "tools"):
            for subject, rule in list(result[name].items()):
                if name == "effects" and subject not in _ASK_ALL:
                    del result[name][subject]
                    unclear = True
                elif rule not in ("ask", "deny"):
                    result[name][subject] = "ask"
                    notices.append(f'The rule for "{subject}" is unusable: it counts as "ask".')
        unclear = _take_parts(parts or {}, result, notices) or unclear
        if unclear:
            result["effects"] = _ASK_ALL | result["effects"]
            notices.append("The rules for tools are not all understood: every tool asks.")
        return result


def _take_parts(parts: dict[str, Any], result: dict[str, Any], notices: list[str]) -> bool:
    """Take the other parts of the policy over; returns whether something was not understood."""
    unclear = bool(set(parts) - set(PolicySettings.model_fields))
    stops: tuple[tuple[str, type[_Rules], Effect], ...] = (
        ("hosts", HostSettings, "send"),
        ("folders", FolderSettings, "write"),
    )
    for name, kind, effect in stops:
        if name in parts and not _usable(kind, parts[name]):
            result["effects"][effect] = "deny"
            notices.append(f"The rules for {name} are unusable: no tool may {effect}.")
        elif name in parts:
            result[name] = parts[name]
    if "sizes" in parts:
        unclear = not _usable(SizeSettings, parts["sizes"]) or unclear
        result["sizes"] = parts["sizes"] if _usable(SizeSettings, parts["sizes"]) else {}
    result["remember"] = parts.get("remember", True) is True
    arguments = _table(parts.get("arguments", {}))
    result["arguments"] = kept = dict[str, Any]()
    for tool, rules in (arguments or {}).items():
        known = _table(rules)
        if known is not None and all(_usable(ArgumentSettings, rule) for rule in known.values()):
            kept[tool] = known
        else:
            rule = result["tools"].setdefault(tool, "ask")
            notices.append(f'Rules for arguments of "{tool}" are unusable: it counts as "{rule}".')
    return unclear or arguments is None


def _usable(kind: type[_Rules], value: Any) -> bool:
    try:
        kind.model_validate(value)
    except (ValidationError, RecursionError):
        return False
    return True


def _table(value: Any) -> dict[str, Any] | None:
    """A copy of an object; None for anything else."""
    if not isinstance(value, dict):
        return None
    return dict(cast("dict[str, Any]", value))


_Minutes = Annotated[float, Field(ge=0, le=1_440, allow_inf_nan=False)]


class Settings(_Part):
    """All settings, with defaults that work offline."""

    version: int = 2
    llm: ModelSettings = ModelSettings()
    limits: LimitSettings = LimitSettings()
    policy: PolicySettings = PolicySettings()
    device: str = "auto"  # for AI models: "auto", "cpu", "cuda", "mps"
    idle_minutes: _Minutes = 10.0
    """After so long without work AI models leave memory; 0 for never."""


def bounds(part: type[BaseModel], name: str) -> tuple[float, float]:
    """The least and the greatest value of a number, for whoever offers it."""
    found: list[Any] = list(part.model_fields[name].metadata)
    least = next(item.ge for item in found if hasattr(item, "ge"))
    return least, next(item.le for item in found if hasattr(item, "le"))


def load(path: Path, notices: list[str] | None = None) -> Settings:
    """Read the settings; defaults when there are none.

    A file that cannot be understood is renamed to `<name>.broken` so that the app still starts and
    nothing the user wrote is lost.

    Args:
        path: The file.
        notices: Takes a sentence for the user for each thing that was replaced by its default.
    """
    told: list[str] = [] if notices is None else notices
    try:
        # A file that an editor wrote may begin with a byte order mark.
        data: Any = json.loads(path.read_text(encoding="utf-8-sig"))
        settings = Settings.model_validate(data, context=told)
    except FileNotFoundError:
        return Settings()
    except (OSError, ValueError, RecursionError) as error:
        _log.warning("settings unreadable (%s): reset to defaults", type(error).__name__)
        told.append("The settings could not be read: the defaults are used.")
        try:
            path.replace(path.with_name(path.name + ".broken"))
            told.append(f"The old file is kept as {path.name}.broken.")
        except OSError:
            _log.warning("the unreadable settings file could not be moved aside")
        return Settings()
    return settings.model_copy(update={"version": 2})


def save(settings: Settings, path: Path) -> None:
    """Write the settings atomically: a crash leaves either the old or the new file.

    Raises:
        OSError: The folder cannot be written.
    """
    write_atomic(path, settings.model_dump_json(indent=2).encode("utf-8"))


def write_atomic(path: Path, data: bytes) -> None:
    """Write `data` to a temporary neighbour, flush it to the disk, and rename it into place."""
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(data)
            stream.flush()
            os.fsync(stream.fileno())
        Path(temporary).replace(path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
