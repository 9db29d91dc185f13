"""Construction of the language model named in the settings, with the table of all kinds of model.

To add a kind, write a class with `name`, `remote_host`, `info` and `stream` (`base.LanguageModel`)
and a function that builds it; list this in `_BUILDERS` and the kind in `app.settings.Kind`.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import get_args
from urllib.parse import urlsplit

from app.agent.llm.base import LanguageModel, ModelInfo
from app.agent.llm.endpoint import host_of
from app.agent.loop.offline_model import OfflineModel
from app.errors import UsageError
from app.settings import ANTHROPIC_URL, AZURE_API_VERSION, OPENAI_URL, Kind, ProviderSettings
from app.tools.pack_plan import NO_PLANS, Plans

KINDS: tuple[Kind, ...] = get_args(Kind)
OWN_URLS: Mapping[str, str] = {"openai": OPENAI_URL, "anthropic": ANTHROPIC_URL}
"""Default addresses of the providers."""

_REMEDY = "Choose one in the settings of the assistant, or use --llm {kind}:{what}."


@dataclass(frozen=True, slots=True)
class ModelChoice:
    """The settings of a language model.

    `key` is the API key, or "" if unknown. `plans` are the declarations of the tool packs, which
    only the offline planner uses.
    """

    kind: Kind
    fields: ProviderSettings
    key: str = ""
    plans: Plans = field(default=NO_PLANS, compare=False, repr=False)

    @property
    def url(self) -> str:
        """The endpoint's address; "" for the offline planner and a local model."""
        return endpoint_url(self.kind, self.fields)

    @property
    def api_version(self) -> str:
        """The version of Azure's API; "" for all other endpoints."""
        version = self.fields.api_version.strip() or AZURE_API_VERSION
        return version if self.kind == "azure" else ""


def endpoint_url(kind: str, fields: ProviderSettings) -> str:
    """Return the endpoint's address; "" for the offline planner and a local model."""
    if kind in ("offline", "local"):
        return ""
    return fields.base_url.strip() or OWN_URLS.get(kind, "")


def parse(name: str) -> tuple[Kind, str]:
    """Split "KIND" or "KIND:MODEL" into kind and model; raise UsageError for an unknown kind."""
    kind, _, model = name.partition(":")
    for known in KINDS:
        if kind == known:
            return known, model.strip()
    listed = ", ".join(KINDS[:-1])
    raise UsageError(f"there is no language model {kind!r}", remedy=f"Use {listed} or {KINDS[-1]}.")


def info_of_settings(fields: ProviderSettings) -> ModelInfo:
    """Return a model's size, abilities and prices from the user's settings."""
    return ModelInfo(
        context_tokens=fields.context_tokens,
        # A small context must keep room for the question.
        output_tokens=min(ModelInfo().output_tokens, fields.context_tokens // 4),
        images=fields.images,
        input_price=fields.input_price,
        output_price=fields.output_price,
    )


def check(kind: Kind, fields: ProviderSettings) -> None:
    """Raise UsageError for settings that cannot work, before they are used or saved."""
    if kind == "offline":
        return
    if kind == "local":
        if not fields.path.strip():
            raise UsageError(
                "no model file is chosen for the local model",
                remedy=_REMEDY.format(kind=kind, what="PATH"),
            )
        return
    _check_url(endpoint_url(kind, fields))
    if not fields.model.strip():
        name = "deployment" if kind == "azure" else "model"
        raise UsageError(
            f"no {name} name is set for the endpoint",
            remedy=_REMEDY.format(kind=kind, what="MODEL"),
        )


def _check_url(url: str) -> None:
    host_of(url)
    parts = urlsplit(url)
    if parts.username or parts.password or parts.query:
        # Addresses are kept in the settings file and shown; a key in one would be, too.
        raise UsageError(
            "the address of the language model contains more than host and path",
            remedy="Leave out names, passwords and what follows a question mark; a key has its "
            "own field.",
        )


def build(choice: ModelChoice) -> LanguageModel:
    """Return a new language model with the settings `choice`.

    Raises:
        UsageError: The model is not configured, or a package that it needs is missing.
    """
    check(choice.kind, choice.fields)
    return _BUILDERS[choice.kind](choice)


def _offline(choice: ModelChoice) -> LanguageModel:
    return OfflineModel(choice.plans)


def _openai(choice: ModelChoice) -> LanguageModel:
    from app.agent.llm.openai_model import OpenAIModel

    fields = choice.fields
    return OpenAIModel(
        choice.url,
        fields.model.strip(),
        choice.key,
        info=info_of_settings(fields),
        tool_form=fields.form_of_calls,
        api_version=choice.api_version,
    )


def _anthropic(choice: ModelChoice) -> LanguageModel:
    from app.agent.llm.anthropic_model import AnthropicModel

    fields = choice.fields
    return AnthropicModel(
        fields.model.strip(), choice.key, base_url=choice.url, info=info_of_settings(fields)
    )


def _local(choice: ModelChoice) -> LanguageModel:
    from app.agent.llm.local.model import LocalModel

    fields = choice.fields
    return LocalModel(
        Path(fields.path.strip()).expanduser(),
        context_tokens=fields.context_tokens,
        tool_form=fields.form_of_calls,
    )


_BUILDERS: Mapping[str, Callable[[ModelChoice], LanguageModel]] = {
    "offline": _offline,
    "openai": _openai,
    "azure": _openai,
    "anthropic": _anthropic,
    "local": _local,
}


class Models:
    """Builds language models, and keeps the local ones for reuse. Thread-safe.

    A local model needs much memory, so it is built once and kept until `close`; other models hold
    no resources and are built anew each time.
    """

    def __init__(self) -> None:
        self._local: dict[ProviderSettings, LanguageModel] = {}
        self._lock = threading.Lock()

    def get(self, choice: ModelChoice) -> LanguageModel:
        """Return the model for `choice`, for questions; a local one is built once and kept."""
        with self._lock:
            model = self._running_local(choice) or build(choice)
            if choice.kind == "local":
                self._local[choice.fields] = model
            return model

    def trial_model(self, choice: ModelChoice) -> LanguageModel:
        """Return a model for a test: the local model kept for `choice`, or else a new model."""
        with self._lock:
            return self._running_local(choice) or build(choice)

    def is_cached(self, model: LanguageModel) -> bool:
        """Return whether a model is kept for questions, so that only `Models.close` may end it."""
        with self._lock:
            return any(model is known for known in self._local.values())

    def close(self, chosen: Collection[LanguageModel] | None = None) -> None:
        """Stop keeping the chosen local models, by default all, and end their processes."""
        with self._lock:
            ended = [
                fields
                for fields, model in self._local.items()
                if chosen is None or any(model is each for each in chosen)
            ]
            models = [self._local.pop(fields) for fields in ended]
        for model in models:
            end = getattr(model, "close", None)
            if end is not None:
                end()

    def _running_local(self, choice: ModelChoice) -> LanguageModel | None:
        return self._local.get(choice.fields) if choice.kind == "local" else None
