"""Reads the rules that a site wrote for this computer; they hold beside the user's own."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from app.agent.policy import Policy
from app.errors import UsageError

_log = logging.getLogger(__name__)

CLOSED = {
    "effects": {
        "read": "ask",
        "compute": "ask",
        "write": "deny",
        "send": "deny",
        "execute": "deny",
    }
}
"""What holds where rules are there and cannot be read: they may well have said so."""


def site_policies(files: Iterable[Path], notices: list[str]) -> tuple[Policy, ...]:
    """The rules in these files.

    Args:
        files: Those that do not exist say nothing.
        notices: Takes a sentence for the user for each that could not be used.
    """
    found: list[Policy] = []
    for file in files:
        try:
            text = file.read_text(encoding="utf-8-sig")
        except FileNotFoundError:
            continue
        except (OSError, ValueError) as error:
            found.append(_closed(type(error).__name__, "it cannot be read", notices))
            continue
        found.append(_parsed(text, notices))
    return tuple(found)


def _parsed(text: str, notices: list[str]) -> Policy:
    try:
        data: Any = json.loads(text)
        if not isinstance(data, dict):
            return _closed("no object", "it is no JSON object", notices)
        return Policy.from_data(data)  # pyright: ignore[reportUnknownArgumentType]
    except UsageError as error:
        return _closed("not understood", error.reason, notices)
    except (ValueError, RecursionError) as error:
        return _closed(type(error).__name__, "it is no JSON", notices)


def _closed(kind: str, reason: str, notices: list[str]) -> Policy:
    _log.warning("a site's policy for tools cannot be used (%s)", kind)
    notices.append(
        f"The policy for tools of this computer cannot be used ({reason}): until it is mended "
        "every tool asks, and none may write, send or run programs. Tell whoever looks after this "
        "computer."
    )
    return Policy.from_data(CLOSED)
