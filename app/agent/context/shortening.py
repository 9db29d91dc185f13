"""Estimates tokens, and shortens single results to smaller JSON that says what is missing.

Byte-pair tokenizers first cut a text into words, digits, punctuation and line breaks, so these are
counted; the estimates tend to be high, because a request that is too long fails altogether.
Nothing is lost: the whole result stays in the thread, and every notice names the `read_result` call
that returns the rest.
"""

from __future__ import annotations

import json
import re
import struct
from collections import deque
from collections.abc import Callable, Mapping
from functools import lru_cache, reduce
from pathlib import Path
from typing import Any

from app.agent.llm.base import ToolSchema
from app.agent.messages import Message

MESSAGE_TOKENS = 5  # role and marks around a message
CALL_TOKENS = 12  # id and marks around a tool call
TOOL_TOKENS = 10  # marks around a tool's schema
PICTURE_BASE_TOKENS = 255
PICTURE_PATCH = 28  # pixels

_PIECES = re.compile(r"[A-Z]?[a-z]+|[A-Z]+| ?[0-9]+|[^\w\s]+|\s{2,}|[\n\r\t]|_")
_REMEMBERED = range(40, 40_000)  # characters: shorter is quick, longer is rare
_HEADER_BYTES = 24


def text_tokens(text: str, chars_per_token: float = 3.5) -> float:
    """Return the estimated number of tokens in a text.

    `chars_per_token` is the model's average in English text and JSON (`ModelInfo`); the
    estimate is inversely proportional to it.
    """
    counted = _remembered(text) if len(text) in _REMEMBERED else _counted(text)
    return counted * 3.5 / max(chars_per_token, 0.5)


def _counted(text: str) -> float:
    """Counts the pieces.

    A word of up to 6 letters is one token, capitals in a row take more; a plain space goes with its
    word, but not with a number; digits are one each, as in Llama's and SmolLM's vocabularies
    (others take three at once); signs go in pairs. Letters beyond ASCII take half a token a byte of
    UTF-8, those beyond U+FFFF three tokens.
    """
    total = 0.0
    for match in _PIECES.finditer(text):
        piece = match.group()
        length = len(piece)
        if piece[-1].islower():
            total += 1.0 if length <= 6 else 1.0 + (length - 6) / 2.5
        elif piece[-1].isdigit():
            total += length
        elif piece[-1].isupper():
            total += 1.0 if length <= 3 else 1.0 + (length - 3) / 2.5
        elif piece.isspace() or piece == "_":
            total += 1.0 + length / 16
        elif piece.isascii():
            total += (length + 1) // 2
    return total if text.isascii() else total + _beyond_ascii(text)


def _beyond_ascii(text: str) -> float:
    total = 0.0
    for sign in text:
        code = ord(sign)
        if code >= 0x10000:
            total += 3.0
        elif code >= 0x800:
            total += 1.5
        elif code >= 0x80:
            total += 1.0
    return total


@lru_cache(maxsize=8192)
def _remembered(text: str) -> float:
    return _counted(text)


def picture_tokens(width: int, height: int) -> int:
    """Return the estimated number of tokens for a picture.

    The number is 255, plus one for each 28 x 28 pixel patch, including partial ones. Up to 1024 x
    1024 pixels, that is at least what common models count: Qwen-VL and similar models one token per
    28 x 28 patch; Anthropic width * height / 750; OpenAI 85, plus 170 for each 512 x 512 tile.
    """
    patches = -(-width // PICTURE_PATCH) * -(-height // PICTURE_PATCH)
    return PICTURE_BASE_TOKENS + patches


def message_tokens(message: Message, chars_per_token: float = 3.5) -> float:
    """Return the estimated number of tokens in a message, including its calls and pictures."""
    total = MESSAGE_TOKENS + text_tokens(message.text, chars_per_token)
    for call in message.tool_calls:
        arguments = call.raw or json.dumps(call.arguments)
        total += CALL_TOKENS + text_tokens(f"{call.name} {arguments}", chars_per_token)
    for picture in message.pictures:
        total += picture_tokens(*_png_size(picture.path))
        total += MESSAGE_TOKENS + text_tokens(picture.caption, chars_per_token)
    return total


def schema_tokens(schema: ToolSchema, chars_per_token: float = 3.5) -> float:
    """Return the estimated number of tokens in a tool's description and schema."""
    text = f"{schema.name} {schema.description} {json.dumps(schema.parameters)}"
    return TOOL_TOKENS + text_tokens(text, chars_per_token)


@lru_cache(maxsize=256)
def _png_size(path: str) -> tuple[int, int]:
    """(width, height) from the file's header; that of the largest picture when it is not there."""
    try:
        with Path(path).open("rb") as file:
            head = file.read(_HEADER_BYTES)
        width, height = struct.unpack(">II", head[16:24])
    except (OSError, struct.error):
        return (1024, 1024)
    return min(width, 4096), min(height, 4096)


class Calibration:
    """Corrects estimated token numbers by the counts that an endpoint reports.

    The correction is the largest of the last three ratios of count to estimate, so that one low
    outlier (from an endpoint that does not count what it had cached) does not lead to requests that
    are too long. Bounds limit the effect of nonsensical counts.
    """

    LOWEST = 0.6
    HIGHEST = 2.5
    MIN_TOKENS = 200  # of smaller requests the fixed part says too little

    def __init__(self) -> None:
        self._ratios: deque[float] = deque(maxlen=3)

    @property
    def factor(self) -> float:
        """Return the factor by which to multiply estimates; 1.0 until a count has been learnt."""
        return max(self._ratios, default=1.0)

    def learn(self, estimated: float, counted: int) -> None:
        """Learn from a request's number of tokens as estimated and as counted by the endpoint."""
        if estimated < self.MIN_TOKENS or counted <= 0:
            return
        self._ratios.append(min(self.HIGHEST, max(self.LOWEST, counted / estimated)))


LIST_ITEMS = 20
HEAD = TAIL = 0.4
"""Share of the available space used for the beginning and end of a text; the rest is the notice."""

_SHORTEST = 200  # characters; strings up to that length are left whole
WORD_REACH = 64  # characters that a cut moves, to fall between words
_LINE_CHARS = 300
_SAMPLE = 20_000  # characters
_MOST_CHARS = 40  # of a token

Count = Callable[[str], float]
Keys = tuple[str | int, ...]
Hint = Callable[..., str]  # says how to get the part with these keys, from an item on


def to_text(data: Any) -> str:
    """Return a JSON value as JSON text."""
    return json.dumps(data, ensure_ascii=False)


def joined(path: str, key: str | int) -> str:
    """Return `path` with `key` added: "output/items/3", as in a JSON Pointer (RFC 6901)."""
    escaped = str(key).replace("~", "~0").replace("/", "~1")
    return f"{path}/{escaped}" if path else escaped


def shorten(value: Any, ref: str, limit: float, count: Count, path: str = "") -> Any:
    """Return a result, or a part of one, shortened to at most `limit` tokens.

    All lists in it, even in a short result, are cut to 20 items. If that is not enough, long texts
    in it are cut to their beginning and end; if even that is not enough, so is the JSON text as a
    whole. `count` returns the number of tokens in a text, `ref` is the id by which `read_result`
    finds the whole result ("3"), and `path` the position of `value` in it.
    """

    def hint(keys: Keys, offset: int = 0) -> str:
        return _hint(ref, reduce(joined, keys, path), offset)

    listed = _lists(value, hint)
    text = to_text(listed)
    if _fits(text, limit, count):
        return listed
    few = not _more_parts(listed, limit)
    if few and _fits(to_text(_texts(listed, hint, _SHORTEST)), limit, count):
        longest = _chars_of(text, limit, count)
        while longest > _SHORTEST:
            cut = _texts(listed, hint, longest)
            if _fits(to_text(cut), limit, count):
                return cut
            longest = longest * 4 // 5
        return _texts(listed, hint, _SHORTEST)
    return _ends(listed, text, hint, limit, count)


def summary_line(data: Mapping[str, Any], ref: str) -> dict[str, Any]:
    """Return the short form of an older result: its summary or error, and how to read the rest."""
    left = {
        key: one_line(str(data[key]))
        for key in ("summary", "error", "remedy")
        if data.get(key) not in (None, "")
    }
    return {**left, "_truncated": True, "_notice": f"Older result, summarised. {_hint(ref, '')}"}


def one_line(text: str, limit: int = _LINE_CHARS) -> str:
    """Return a text in one line of at most `limit` characters; a longer one is cut ("…")."""
    line = " ".join(text.split())
    return line if len(line) <= limit else f"{line[: limit - 1].rstrip()}…"


def between_words(text: str, at: int, *, forward: bool = False) -> int:
    """Return an index between two words at most 63 characters from `at`; `at` if there is none.

    A name or a date that is cut in half would not be recognised when identifiers are removed. The
    search goes back from `at`, or onwards if `forward`.
    """
    if not 0 < at < len(text):
        return max(0, min(at, len(text)))
    steps = (
        range(at, min(len(text), at + WORD_REACH)) if forward else range(at, at - WORD_REACH, -1)
    )
    for place in steps:
        if place <= 0 or text[place - 1].isspace() or text[place].isspace():
            return max(0, place)
    return at


def _lists(value: Any, hint: Hint, keys: Keys = ()) -> Any:
    if isinstance(value, Mapping):
        return {
            key: item if _is_plain(item) else _lists(item, hint, (*keys, str(key)))
            for key, item in value.items()
        }
    if not isinstance(value, (list, tuple)):
        return value
    first: list[Any] = [
        _lists(item, hint, (*keys, index)) for index, item in enumerate(value[:LIST_ITEMS])
    ]
    if len(value) <= LIST_ITEMS:
        return first
    return {
        "items": first,
        "_total_count": len(value),
        "_truncated": True,
        "_notice": hint(keys, LIST_ITEMS),
    }


def _texts(value: Any, hint: Hint, longest: int, keys: Keys = ()) -> Any:
    if isinstance(value, str):
        return value if len(value) <= longest else _head_and_tail(value, hint(keys), longest)
    if isinstance(value, Mapping):
        # A notice is as short as it can be, and a path through "items" leads nowhere.
        cut_list = value.get("_truncated") is True and "_total_count" in value
        return {
            key: item
            if key == "_notice" or _is_short(item, longest)
            else _texts(
                item, hint, longest, keys if cut_list and key == "items" else (*keys, str(key))
            )
            for key, item in value.items()
        }
    if isinstance(value, list):
        return [_texts(item, hint, longest, (*keys, index)) for index, item in enumerate(value)]
    return value


def _is_plain(value: Any) -> bool:
    return not isinstance(value, (Mapping, list, tuple))


def _is_short(value: Any, longest: int) -> bool:
    return len(value) <= longest if isinstance(value, str) else _is_plain(value)


def _head_and_tail(text: str, hint: str, longest: int) -> str:
    head = between_words(text, int(longest * HEAD))
    tail = between_words(text, len(text) - int(longest * TAIL), forward=True)
    return f"{text[:head]} […{tail - head} characters left out. {hint}…] {text[tail:]}"


def _ends(listed: Any, text: str, hint: Hint, limit: float, count: Count) -> dict[str, Any]:
    """Head and tail of the JSON text itself: many small parts leave no other way."""
    parts: dict[str, Any] = listed if isinstance(listed, dict) else {}
    keys = ", ".join(one_line(str(key), 40) for key in list(parts)[:LIST_ITEMS])
    named = f"Parts: {keys}. " if keys else ""
    notice = f"Too long: beginning and end of its JSON. {named}{hint(())}".strip()
    base: dict[str, Any] = {"_truncated": True, "_notice": notice}
    if isinstance(parts.get("summary"), str):
        base = {"summary": one_line(parts["summary"]), **base}
    longest = min(len(text), _chars_of(text, limit, count))
    while longest > 0:
        head = between_words(text, int(longest * HEAD))
        tail = between_words(text, len(text) - int(longest * TAIL), forward=True)
        made = {**base, "head": text[:head], "tail": text[tail:]}
        if _fits(to_text(made), limit, count):
            return made
        longest = longest * 4 // 5
    return {"_truncated": True, "_notice": hint(())}


def _more_parts(value: Any, most: float) -> bool:
    """Whether it has so many parts that they do not fit however short each is."""
    waiting, seen = [value], 0
    while waiting and seen <= most:
        part = waiting.pop()
        inner = list(part.values()) if isinstance(part, dict) else part
        if isinstance(inner, list):
            seen += len(inner)
            waiting.extend(item for item in inner if not _is_plain(item))
    return seen > most


def _fits(text: str, limit: float, count: Count) -> bool:
    # No tokenizer puts so many characters into a token; counting megabytes would take seconds.
    return len(text) <= limit * _MOST_CHARS and count(text) <= limit


def _chars_of(text: str, limit: float, count: Count) -> int:
    """How many characters of a text like this take about `limit` tokens."""
    sample = text[:_SAMPLE]
    return int(len(sample) * limit / max(1.0, count(sample)))


def _hint(ref: str, path: str, offset: int = 0) -> str:
    if not ref:  # a model that is not offered read_result
        return ""
    start = f", offset={offset}" if offset else ""
    return f'The rest: read_result(id="{ref}", path="{path}"{start}).'
