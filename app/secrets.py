"""Keys for endpoints: in the system keyring, an environment variable, or this process's memory.

A key is stored under the provider and host for which it was entered (`key_name`) and returned for
those only, so the key for one host is never sent to another. Sightline writes no key to a file.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Iterable
from urllib.parse import urlsplit

_log = logging.getLogger(__name__)
_SERVICE = "sightline"
_PROBE = "probe"

_OWN_HOSTS = {
    "openai@api.openai.com": "OPENAI_API_KEY",
    "anthropic@api.anthropic.com": "ANTHROPIC_API_KEY",
}
"""Maps a key name to the environment variable that other programs use for that provider."""
_MCP_KEY, _MCP_URL = "MCP_API_KEY", "MCP_SERVER_URL"
_AZURE_KEY, _AZURE_HOST = "AZURE_OPENAI_API_KEY", "AZURE_OPENAI_ENDPOINT"
_AZURE_DOMAINS = (".openai.azure.com", ".cognitiveservices.azure.com", ".services.ai.azure.com")


def key_name(kind: str, url: str) -> str:
    """Return the name of the key for provider `kind` at `url`, e.g. "openai@api.openai.com".

    A different scheme or port gives a different name, so a key entered for https is not sent
    unencrypted. The name is "" if the address has no host.
    """
    host = _origin(url)
    return f"{kind}@{host}" if kind and host else ""


class Secrets:
    """Stores and finds keys for endpoints by name (see `key_name`); a call may take seconds."""

    def __init__(self) -> None:
        self._memory: dict[str, str] = {}
        self._keyring_works: bool | None = None
        self._configured: frozenset[str] = frozenset()

    def configure(self, names: Iterable[str]) -> None:
        """Set which endpoints are in the settings, given by the names of their keys.

        Keys in the environment variables SIGHTLINE_OPENAI_KEY, SIGHTLINE_AZURE_KEY and
        SIGHTLINE_ANTHROPIC_KEY are used for these endpoints only.
        """
        self._configured = frozenset(names) - {""}

    def get(self, name: str, *, chosen: bool = False) -> str:
        """Return the key stored under `name`, or "" if none is known.

        If `chosen`, the key's endpoint counts as one of those in the settings; see `configure`.
        """
        if not name:
            return ""
        variable = self._variable(name, configured=chosen)
        return (
            self._memory.get(name)
            or self._from_keyring(name)
            or (os.environ.get(variable, "").strip() if variable else "")
        )

    def set(self, name: str, value: str) -> None:
        """Store a key in the keyring or, if that fails, in memory until the program ends."""
        if not name:
            raise ValueError("a key needs the name of its host")
        if self.has_keyring:
            import keyring

            try:
                keyring.set_password(_SERVICE, name, value)
                self._memory.pop(name, None)
                return
            except Exception as error:  # a locked or denied keyring of any backend
                _log.warning("keyring refused: %s", type(error).__name__)
        self._memory[name] = value

    def forget(self, name: str) -> bool:
        """Delete a key from keyring and memory, and return whether it is gone.

        Environment variables are not changed.
        """
        self._memory.pop(name, None)
        if not self.has_keyring:
            return True
        import keyring

        try:
            if keyring.get_password(_SERVICE, name) is not None:
                keyring.delete_password(_SERVICE, name)
        except Exception as error:  # a locked or denied keyring of any backend
            _log.warning("keyring did not forget: %s", type(error).__name__)
            return False
        return True

    def where(self, name: str) -> str:
        """Return where a key is stored, in words for the user; "" if there is no such key."""
        if name in self._memory:
            return "memory, until Sightline closes"
        if self._from_keyring(name):
            return "the system keyring"
        variable = self._variable(name)
        return f"the environment variable {variable}" if variable else ""

    @property
    def has_keyring(self) -> bool:
        """Whether the system keyring works; checked only once, since some keyrings take seconds."""
        if self._keyring_works is None:
            try:
                import keyring

                keyring.get_password(_SERVICE, _PROBE)
                self._keyring_works = True
            except Exception as error:  # NoKeyringError, D-Bus errors, missing back-ends
                _log.info("no keyring: %s", type(error).__name__)
                self._keyring_works = False
        return self._keyring_works

    def would_keep_in(self) -> str:
        """Return where `set` would store a key, in words for the user."""
        return "the system keyring" if self.has_keyring else "memory, until Sightline closes"

    def variable_of(self, name: str) -> str:
        """Return the name of the environment variable with the key `name`; "" if none has it."""
        return self._variable(name, configured=True)

    def _variable(self, name: str, *, configured: bool = False) -> str:
        """Return the environment variable that holds a key, or ""."""
        kind, _, host = name.partition("@")
        candidates: list[str] = []
        # Several MCP servers may be set up: no variable but the document's is for one of them.
        if kind != "mcp" and (configured or name in self._configured):
            candidates.append(f"SIGHTLINE_{kind.upper()}_KEY")
        if name in _OWN_HOSTS:
            candidates.append(_OWN_HOSTS[name])
        if kind == "azure" and _is_own_azure(host):
            candidates.append(_AZURE_KEY)
        if kind == "mcp" and host == _origin(os.environ.get(_MCP_URL, "")):
            candidates.append(_MCP_KEY)
        return next((each for each in candidates if os.environ.get(each, "").strip()), "")

    def _from_keyring(self, name: str) -> str:
        if not name or not self.has_keyring:
            return ""
        import keyring

        try:
            return keyring.get_password(_SERVICE, name) or ""
        except Exception as error:  # a locked or denied keyring of any backend
            _log.warning("keyring unreadable: %s", type(error).__name__)
            return ""


def _origin(url: str) -> str:
    """Return an address's host, with scheme and port unless it is https on port 443."""
    try:
        parts = urlsplit(url.strip())
        host, port = (parts.hostname or "").rstrip("."), parts.port
    except ValueError:
        return ""
    if parts.scheme not in ("http", "https") or not host:
        return ""
    if parts.scheme == "https" and port in (None, 443):
        return host
    host = f"[{host}]" if ":" in host else host
    return f"{parts.scheme}://{host}:{port or 80}"


def _is_own_azure(host: str) -> bool:
    """Return whether the key in AZURE_OPENAI_API_KEY is for a host."""
    endpoint = os.environ.get(_AZURE_HOST, "")
    if endpoint:
        return host == _origin(endpoint)
    return host.endswith(_AZURE_DOMAINS)
