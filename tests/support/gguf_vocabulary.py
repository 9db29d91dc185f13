"""The tokenizer of a GGUF file, run by `tokenizers` to check our token estimates."""

from __future__ import annotations

import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any, BinaryIO

from tokenizers import Tokenizer, pre_tokenizers
from tokenizers.models import BPE

_SCALARS = {
    0: "b",
    1: "b",
    2: "h",
    3: "h",
    4: "I",
    5: "i",
    6: "f",
    7: "?",
    10: "Q",
    11: "q",
    12: "d",
}
_STRING, _ARRAY = 8, 9


def smollm_counter(path: Path) -> Callable[[str], int]:
    """Return a function that counts tokens like SmolLM2: single digits, then byte-level BPE."""
    facts = metadata(path)
    assert facts["tokenizer.ggml.pre"] == "smollm"
    words: list[str] = facts["tokenizer.ggml.tokens"]
    merges = [tuple(merge.split(" ")) for merge in facts["tokenizer.ggml.merges"]]
    tokenizer = Tokenizer(BPE({word: number for number, word in enumerate(words)}, merges))
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Digits(individual_digits=True),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True),
        ]
    )
    return lambda text: len(tokenizer.encode(text).ids)


def metadata(path: Path) -> dict[str, Any]:
    """Return the metadata of a GGUF file by key (version 3, little endian)."""
    with path.open("rb") as file:
        assert file.read(4) == b"GGUF"
        _, _, count = struct.unpack("<IQQ", file.read(20))
        return {_text(file): _value(file, _number(file, "I")) for _ in range(count)}


def _value(file: BinaryIO, kind: int) -> Any:
    if kind == _STRING:
        return _text(file)
    if kind == _ARRAY:
        inner, count = _number(file, "I"), _number(file, "Q")
        return [_value(file, inner) for _ in range(count)]
    return _number(file, _SCALARS[kind])


def _number(file: BinaryIO, code: str) -> Any:
    return struct.unpack(f"<{code}", file.read(struct.calcsize(code)))[0]


def _text(file: BinaryIO) -> str:
    return file.read(_number(file, "Q")).decode("utf-8", "replace")
