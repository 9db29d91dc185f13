"""Keys of services: the system's keyring, else an environment variable, else this process's memory.

A key is kept by the provider and the host that it was typed for (`key_name`), and given out for
them only: a key of one host is never sent to another. Sightline writes no key to a file.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Iterable
from urllib.parse import urlsplit

_log = logging.getLogger(__name__)
_SERVICE = "sightline"
_PROBE = "probe"
_OLD_NAME = "openai"

_OWN_HOSTS = {
    "openai@api.openai.com": "OPENAI_API_KEY",
    "anthropic@api.anthropic.com": "ANTHROPIC_API_KEY",
}
"""Variables that other programs share; they hold keys of the providers' own hosts only."""
_AZURE_KEY, _AZURE_HOST = "AZURE_OPENAI_API_KEY", "AZURE_OPENAI_ENDPOINT"
_AZURE_DOMAINS = (".openai.azure.com", ".cognitiveservices.azure.com", ".services.ai.azure.com")


def key_name(kind: str, url: str) -> str:
    """The name of the key of a provider at an address, e.g. "openai@api.openai.com".

    Another scheme or port is another host: what was typed for https is not sent in the clear.

    Returns:
        "" where the address names no host.
    """
    host = _origin(url)
    return f"{kind}@{host}" if kind and host else ""


class Secrets:
    """Where keys are kept; `where(name)` says which of the three holds one.

    Names are those of `key_name`. Asking a keyring may take seconds.
    """

    def __init__(self) -> None:
        self._memory: dict[str, str] = {}
        self._keyring_works: bool | None = None
        self._configured: frozenset[str] = frozenset()
        self._old: str = ""

    def configure(self, names: Iterable[str], old_name: str = "") -> None:
        """Say what the settings name.

        Args:
            names: The endpoints of the settings: the variables SIGHTLINE_OPENAI_KEY,
                SIGHTLINE_AZURE_KEY and SIGHTLINE_ANTHROPIC_KEY are for them, and no others.
            old_name: The endpoint that the key which an earlier version kept was typed for.
        """
        self._configured = frozenset(names) - {""}
        self._old = old_name

    def get(self, name: str, *, chosen: bool = False) -> str:
        """The key, or "" when none is known.

        Args:
            name: Of which endpoint.
            chosen: As if the settings named this endpoint already; see `configure`.
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
        """Keep a key: in the keyring if there is one, else until the program ends.

        Raises:
            ValueError: There is no name, so nobody would know whom the key is for.
        """
        if not name:
            raise ValueError("a key needs the name of its host")
        if self._has_keyring():
            import keyring

            try:
                keyring.set_password(_SERVICE, name, value)
                self._memory.pop(name, None)
                return
            except Exception as error:  # a locked or denied keyring of any backend
                _log.warning("keyring refused: %s", type(error).__name__)
        self._memory[name] = value

    def forget(self, name: str) -> bool:
        """Forget a key that Sightline keeps; one in the environment stays there.

        Returns:
            Whether it is gone from the keyring and the memory.
        """
        self._memory.pop(name, None)
        gone = self._delete(name)
        return (self._delete(_OLD_NAME) and gone) if name == self._old else gone

    def where(self, name: str) -> str:
        """Where the key is now, in the user's words; empty when there is none."""
        if name in self._memory:
            return "memory, until Sightline closes"
        if self._from_keyring(name):
            return "the system keyring"
        variable = self._variable(name)
        return f"the environment variable {variable}" if variable else ""

    @property
    def has_keyring(self) -> bool:
        """Whether a real keyring answers; may take seconds the first time."""
        return self._has_keyring()

    def would_keep_in(self) -> str:
        """Where `set` would put a key now, in the user's words."""
        return "the system keyring" if self._has_keyring() else "memory, until Sightline closes"

    def variable_of(self, name: str) -> str:
        """The variable that would serve as key once `name` is the endpoint of the settings."""
        return self._variable(name, configured=True)

    def _variable(self, name: str, *, configured: bool = False) -> str:
        """The environment variable that holds a key for `name`, or ""."""
        kind, _, host = name.partition("@")
        candidates: list[str] = []
        if configured or name in self._configured:
            candidates.append(f"SIGHTLINE_{kind.upper()}_KEY")
        if name in _OWN_HOSTS:
            candidates.append(_OWN_HOSTS[name])
        if kind == "azure" and _is_own_azure(host):
            candidates.append(_AZURE_KEY)
        return next((each for each in candidates if os.environ.get(each, "").strip()), "")

    def _from_keyring(self, name: str) -> str:
        if not name or not self._has_keyring():
            return ""
        import keyring

        try:
            found = keyring.get_password(_SERVICE, name)
            if not found and name == self._old:
                found = keyring.get_password(_SERVICE, _OLD_NAME)
            return found or ""
        except Exception as error:  # a locked or denied keyring of any backend
            _log.warning("keyring unreadable: %s", type(error).__name__)
            return ""

    def _delete(self, name: str) -> bool:
        """Take an entry out of the keyring; whether none is there afterwards."""
        if not self._has_keyring():
            return True
        import keyring

        try:
            if keyring.get_password(_SERVICE, name) is not None:
                keyring.delete_password(_SERVICE, name)
        except Exception as error:  # a locked or denied keyring of any backend
            _log.warning("keyring did not forget: %s", type(error).__name__)
            return False
        return True

    def _has_keyring(self) -> bool:
        """Whether a real keyring answers; asked once, since some back-ends take seconds."""
        if self._keyring_works is None:
            try:
                import keyring

                keyring.get_password(_SERVICE, _PROBE)
                self._keyring_works = True
            except Exception as error:  # NoKeyringError, D-Bus errors, missing back-ends
                _log.info("no keyring: %s", type(error).__name__)
                self._keyring_works = False
        return self._keyring_works


def _origin(url: str) -> str:
    """The host of an address; with scheme and port unless it is https at 443."""
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
    """Whether the key in AZURE_OPENAI_API_KEY is for that host of Azure's."""
    endpoint = os.environ.get(_AZURE_HOST, "")
    if endpoint:
        return host == _origin(endpoint)
    return host.endswith(_AZURE_DOMAINS)
