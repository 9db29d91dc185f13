"""Identifiers from the headers of the open files, to be removed wherever else they occur.

A tool may return a report's text, and nothing in it says which words are a name: the open file's
own header does. The workers read all of it.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterable
from dataclasses import dataclass

from app.agent.json_forms import plain
from app.agent.llm.base import ModelFailed
from app.agent.loop.tool_execution import in_thread, log_unexpected
from app.agent.privacy.confidentiality_profile import DATES, NUMBERS, PERSONS, TEXTS
from app.agent.request import RunRequest

_DECIMAL = re.compile(r"[-+]?\d{0,4}(?:\.\d*)?")
"""The shortest id that is searched for: one of four digits may as well be a number of pixels."""
_WORDS = 5
"""The shortest text that is removed: a shorter one ("CT abdomen with contrast") fits anybody."""
_LOCAL_WAIT_S = 2.0
_LONGEST = 500  # characters; what is longer was cut and stands nowhere like this


@dataclass(frozen=True, slots=True)
class Known:
    """The identifiers of the open patients.

    Attributes:
        identifiers: Names and dates: their parts and other notations are removed too.
        texts: Ids, addresses, wards, remarks: removed whole, and the long numbers in them.
    """

    identifiers: tuple[str, ...] = ()
    texts: tuple[str, ...] = ()


def known_of(headers: Iterable[tuple[str, str]]) -> Known:
    """Return the identifiers in headers.

    Args:
        headers: Keyword (the tag of a private attribute) and value of every attribute.
    """
    identifiers: set[str] = set()
    texts: set[str] = set()
    for keyword, whole in headers:
        if keyword in PERSONS or keyword in DATES:
            identifiers.update(_values(whole))
        elif keyword in NUMBERS:
            texts.update(value for value in _values(whole) if not _DECIMAL.fullmatch(value))
        elif keyword in TEXTS or not keyword[:1].isalpha():
            texts.update(value for value in _values(whole) if len(value.split()) >= _WORDS)
    return Known(tuple(sorted(identifiers)), tuple(sorted(texts)))


def _values(whole: str) -> list[str]:
    """Return the values of a multi-valued attribute (PS3.5 6.4)."""
    return [value.strip() for value in whole.split("\\") if 0 < len(value.strip()) < _LONGEST]


async def known_to(request: RunRequest, host: str) -> Known:
    """Return the identifiers in the open files; cached while the same files are open.

    A model on this machine gets everything. The files are read for its questions too, since a later
    question may go elsewhere after the file is closed, but only for a short time.

    Args:
        request: The question.
        host: The model's host; "" for this machine.

    Raises:
        ModelFailed: They cannot be read, and the question would leave this machine.
    """
    headers = getattr(request.images, "headers", None)
    if headers is None:
        return Known()
    before = _known_before(request)
    if before.texts or before.identifiers:
        return before
    reading = in_thread(lambda: known_of(headers()), "headers")
    await asyncio.wait((reading,), timeout=None if host else _LOCAL_WAIT_S)
    if not reading.done():
        reading.cancel()
        return Known()
    value, error = reading.result()
    if isinstance(error, BaseException):
        log_unexpected("The open files' headers could not be read", error)
        if host:
            raise ModelFailed(
                "The open files' headers could not be read, so nothing says which words of a "
                "text are names. Nothing was sent",
                remedy="Close what was opened last, or choose a model on this machine.",
            )
    return value or Known()


def _known_before(request: RunRequest) -> Known:
    """Return the identifiers found for an earlier question about the same files."""
    wanted = [plain(note) for note in request.image_notes]
    for message in reversed(request.thread.history):
        if message.role == "user" and message.images == wanted and message.texts:
            return Known(tuple(message.identifiers), tuple(message.texts))
    return Known()
