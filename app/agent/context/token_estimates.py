"""Estimates how many tokens a request takes, without the model's tokenizer.

Byte-pair tokenizers first cut a text into words, digits, signs and line breaks, so these are
counted. The estimates tend to be high, because a request that is too long fails altogether. If the
endpoint reports its own counts, `Calibration` corrects the estimate.
"""

from __future__ import annotations

import json
import re
import struct
from collections import deque
from functools import lru_cache
from pathlib import Path

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

    `chars_per_token` is the model's average in English text and JSON (`ModelInfo`); the weights in
    this module were chosen for 3.5.
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
