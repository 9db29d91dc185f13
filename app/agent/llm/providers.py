"""Builds the language model that the settings name: the one table of kinds.

To add a kind: a class with `name`, `remote_host`, `info` and `stream` (see `base.LanguageModel`), a
function below that builds it, its line in `_BUILDERS`, and its name in `app.settings.Kind`.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import get_args
from urllib.parse import urlsplit

from app.agent.llm.base import LanguageModel, ModelInfo
from app.agent.loop.offline_model import OfflineModel
from app.errors import UsageError
from app.settings import ANTHROPIC_URL, AZURE_API_VERSION, OPENAI_URL, Kind, ProviderSettings
from app.tools.planning import NO_PLANS, Plans

KINDS: tuple[Kind, ...] = get_args(Kind)
OWN_URLS: Mapping[str, str] = {"openai": OPENAI_URL, "anthropic": ANTHROPIC_URL}
"""Where a provider is reached when no address is given."""

_REMEDY = "Choose one in the settings of the assistant, or use --llm {kind}:{what}."


@dataclass(frozen=True, slots=True)
class Wanted:
    """A language model by kind and fields.

    Attributes:
        kind: Who answers.
        fields: Its settings.
        key: "" where none is known.
        plans: What the packs tell of their tools; for the offline planner.
    """

    kind: Kind
    fields: ProviderSettings
    key: str = ""
    plans: Plans = field(default=NO_PLANS, compare=False, repr=False)

    @property
    def url(self) -> str:
        """The address in use; "" for what runs in this program's own processes."""
        return url_of(self.kind, self.fields)


def url_of(kind: str, fields: ProviderSettings) -> str:
    """The address in use; "" for the offline planner and a local model."""
    if kind in ("offline", "local"):
        return ""
    return fields.base_url.strip() or OWN_URLS.get(kind, "")


def parse(name: str) -> tuple[Kind, str]:
    """A name from the command line, "KIND" or "KIND:MODEL", as kind and model.

    Raises:
        UsageError: There is no such kind.
    """
    kind, _, model = name.partition(":")
    for known in KINDS:
        if kind == known:
            return known, model.strip()
    listed = ", ".join(KINDS[:-1])
    raise UsageError(f"there is no language model {kind!r}", remedy=f"Use {listed} or {KINDS[-1]}.")


def info_of_settings(fields: ProviderSettings) -> ModelInfo:
    """What the loop must know of a model, as the user's settings say it."""
    return ModelInfo(
        context_tokens=fields.context_tokens,
        # A small context must keep room for the question.
        output_tokens=min(ModelInfo().output_tokens, fields.context_tokens // 4),
        images=fields.images,
        input_price=fields.input_price,
        output_price=fields.output_price,
    )


def check(kind: Kind, fields: ProviderSettings) -> None:
    """Refuse what cannot work, before anything is built or kept.

    Raises:
        UsageError: What is missing or wrong, and what to do.
    """
    if kind == "offline":
        return
    if kind == "local":
        if not fields.path.strip():
            raise UsageError(
                "no model file is chosen for the local model",
                remedy=_REMEDY.format(kind=kind, what="PATH"),
            )
        return
    _check_url(url_of(kind, fields))
    if not fields.model.strip():
        name = "deployment" if kind == "azure" else "model"
        raise UsageError(
            f"no {name} name is set for the endpoint",
            remedy=_REMEDY.format(kind=kind, what="MODEL"),
        )


def _check_url(url: str) -> None:
    try:
        parts = urlsplit(url)
        host, _port = parts.hostname, parts.port
        extra = parts.username or parts.password or parts.query
    except ValueError:
        host, extra = None, None
    if not host or not url.startswith(("http://", "https://")):
        raise UsageError(
            "the address of the language model is not a web address",
            subject=url,
            remedy="Give one that begins with http:// or https:// and names a host.",
        )
    if extra:
        # Addresses are kept in the settings file and shown; a key in one would be, too.
        raise UsageError(
            "the address of the language model holds more than host and path",
            remedy="Leave out names, passwords and what follows a question mark; a key has its "
            "own field.",
        )


def build(wanted: Wanted) -> LanguageModel:
    """The language model.

    Raises:
        UsageError: It is not configured, or a package for it is missing.
    """
    check(wanted.kind, wanted.fields)
    return _BUILDERS[wanted.kind](wanted)


def _offline(wanted: Wanted) -> LanguageModel:
    return OfflineModel(wanted.plans)


def _openai(wanted: Wanted) -> LanguageModel:
    from app.agent.llm.openai_model import OpenAIModel

    fields = wanted.fields
    return OpenAIModel(
        wanted.url,
        fields.model.strip(),
        wanted.key,
        info=info_of_settings(fields),
        tool_form=fields.tool_form,
        api_version=(fields.api_version.strip() or AZURE_API_VERSION)
        if wanted.kind == "azure"
        else "",
    )


def _anthropic(wanted: Wanted) -> LanguageModel:
    from app.agent.llm.anthropic_model import AnthropicModel

    fields = wanted.fields
    return AnthropicModel(
        fields.model.strip(), wanted.key, base_url=wanted.url, info=info_of_settings(fields)
    )


def _local(wanted: Wanted) -> LanguageModel:
    from app.agent.llm.local.model import LocalModel

    fields = wanted.fields
    return LocalModel(
        Path(fields.path.strip()).expanduser(),
        context_tokens=fields.context_tokens,
        tool_form=fields.tool_form,
    )


_BUILDERS: Mapping[str, Callable[[Wanted], LanguageModel]] = {
    "offline": _offline,
    "openai": _openai,
    "azure": _openai,
    "anthropic": _anthropic,
    "local": _local,
}


class Models:
    """The language models of one program.

    One on this computer is made once, for it takes much memory, and is closed here; the others
    hold nothing. Safe to use from several threads.
    """

    def __init__(self) -> None:
        self._local: dict[ProviderSettings, LanguageModel] = {}
        self._lock = threading.Lock()

    def get(self, wanted: Wanted) -> LanguageModel:
        """A model to answer questions.

        Raises:
            UsageError: It is not configured, or a package for it is missing.
        """
        with self._lock:
            model = self._known(wanted) or build(wanted)
            if wanted.kind == "local":
                self._local[wanted.fields] = model
            return model

    def to_try(self, wanted: Wanted) -> LanguageModel:
        """A model to be tried and closed; on this computer the one that is kept, if there is one.

        Raises:
            UsageError: It is not configured, or a package for it is missing.
        """
        with self._lock:
            return self._known(wanted) or build(wanted)

    def is_kept(self, model: LanguageModel) -> bool:
        """Whether it may answer questions, so that only `close` ends it."""
        with self._lock:
            return any(model is known for known in self._local.values())

    def close(self, chosen: Collection[LanguageModel] | None = None) -> None:
        """End the processes of models on this computer: of those chosen, or of all."""
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

    def _known(self, wanted: Wanted) -> LanguageModel | None:
        return self._local.get(wanted.fields) if wanted.kind == "local" else None
