"""Texts of the settings about each provider of language models."""

from __future__ import annotations

from urllib.parse import urlsplit

from app.agent.llm.endpoint import is_loopback, place_of
from app.agent.llm.providers import endpoint_url
from app.errors import UsageError
from app.paths import shipped_table
from app.settings import Kind, ProviderSettings

PROVIDERS: tuple[tuple[Kind, str], ...] = (
    ("offline", "Offline planner"),
    ("local", "Model on this computer"),
    ("openai", "OpenAI-compatible endpoint"),
    ("azure", "Azure OpenAI"),
    ("anthropic", "Anthropic"),
)

ABOUT: dict[Kind, str] = shipped_table("providers")

TOOL_FORMS = (
    ("auto", "Automatic"),
    ("native", "The endpoint's own tool calls"),
    ("json_schema", "JSON schema"),
    ("text", "JSON in the text"),
)


def host_of(kind: Kind, fields: ProviderSettings) -> str:
    """Return the host in a provider's address; "" if there is none."""
    try:
        return urlsplit(endpoint_url(kind, fields)).hostname or ""
    except ValueError:
        return ""


def where_it_runs(kind: Kind, fields: ProviderSettings) -> str:
    """Return sentences that say where the model runs and what is sent there."""
    if kind == "offline":
        return "Nothing leaves this computer."
    if kind == "local":
        return "The model runs on this computer; nothing leaves it."
    host = host_of(kind, fields)
    if not host:
        return "Enter an address to see where questions would be sent."
    if is_loopback(host):
        return "The endpoint is on this computer; nothing leaves it."
    pixels = (
        "Pictures are sent only after you are asked again."
        if fields.images
        else "No pixels are sent."
    )
    url = endpoint_url(kind, fields)
    text = (
        "Questions and tool results, without identifying attributes, will be sent to "
        f"{_place(url) or host}. "
        f"You are asked once in each conversation before anything is sent. {pixels}"
    )
    if url.startswith("http://"):
        text += " http:// is not encrypted: use https:// if you can."
    return text


def _place(url: str) -> str:
    """Return the host as the privacy mark shows it, with its port; "" for no address."""
    try:
        return place_of(url)
    except (UsageError, ValueError):
        return ""
