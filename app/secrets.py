"""Keys of services: the system's keyring, else an environment variable, else this process's memory.

A key is never written to a file by Sightline.
"""

from __future__ import annotations

import logging
import os

_log = logging.getLogger(__name__)
_SERVICE = "sightline"
_PROBE = "probe"


class Secrets:
    """Where keys are kept; `where(name)` says which of the three holds one."""

    def __init__(self) -> None:
        self._memory: dict[str, str] = {}
        self._keyring_works: bool | None = None

    def get(self, name: str) -> str:
        """The key, or "" when none is known."""
        if name in self._memory:
            return self._memory[name]
        return self._from_keyring(name) or os.environ.get(_variable(name), "")

    def set(self, name: str, value: str) -> None:
        """Keep a key: in the keyring if there is one, else until the program ends."""
        if self._has_keyring():
            import keyring

            try:
                keyring.set_password(_SERVICE, name, value)
                self._memory.pop(name, None)
                return
            except Exception as error:  # a locked or denied keyring of any backend
                _log.warning("keyring refused: %s", type(error).__name__)
        self._memory[name] = value

    def where(self, name: str) -> str:
        """Where the key is now, in the user's words; empty when there is none."""
        if name in self._memory:
            return "memory, until Sightline closes"
        if self._from_keyring(name):
            return "the system keyring"
        return f"environment variable {_variable(name)}" if os.environ.get(_variable(name)) else ""

    def would_keep_in(self) -> str:
        """Where `set` would put a key now, in the user's words."""
        return "the system keyring" if self._has_keyring() else "memory, until Sightline closes"

    def _from_keyring(self, name: str) -> str:
        if not self._has_keyring():
            return ""
        import keyring

        try:
            return keyring.get_password(_SERVICE, name) or ""
        except Exception as error:  # a locked or denied keyring of any backend
            _log.warning("keyring unreadable: %s", type(error).__name__)
            return ""

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


def _variable(name: str) -> str:
    return f"SIGHTLINE_{name.upper()}_KEY"
