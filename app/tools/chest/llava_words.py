"""LLaVA-Med's vocabulary: text to token ids and back (model process only).

The published folder has a SentencePiece file only. It is read by SentencePiece itself, which is
what the original does: transformers would want protobuf to convert it.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Protocol, cast

import sentencepiece
from transformers import AutoTokenizer

from app.tools.api import ToolFailed


class Words(Protocol):
    """A vocabulary."""

    @property
    def begin(self) -> int:
        """What a prompt begins with, `<s>`."""
        ...

    @property
    def end(self) -> int:
        """What ends an answer, `</s>`."""
        ...

    def ids(self, text: str) -> list[int]:
        """Token ids, without `begin`; nothing in the text is taken for a control token."""
        ...

    def text(self, ids: list[int]) -> str:
        """The text of token ids, without control tokens."""
        ...

    def added(self, token: str) -> int:
        """The id of a token that was added to the vocabulary.

        Raises:
            KeyError: There is none.
        """
        ...


def read(path: Path) -> Words:
    """The vocabulary of a folder.

    Raises:
        ToolFailed: There is none.
    """
    if (path / "tokenizer.model").is_file():
        return PieceWords(path)
    if (path / "tokenizer.json").is_file():
        return BackendWords(path)
    raise ToolFailed(
        "this model's folder has no vocabulary (tokenizer.model)",
        subject=path.name,
        remedy="Install microsoft/llava-med-v1.5-mistral-7b again.",
    )


class PieceWords:
    """By SentencePiece."""

    def __init__(self, path: Path) -> None:
        try:
            model = (path / "tokenizer.model").read_bytes()
            self._pieces = cast("Any", sentencepiece).SentencePieceProcessor(model_proto=model)
        except (OSError, RuntimeError) as error:
            raise ToolFailed(
                "this model's vocabulary (tokenizer.model) cannot be read",
                subject=path.name,
                remedy="Install microsoft/llava-med-v1.5-mistral-7b again.",
                detail=str(error),
            ) from error
        added = path / "added_tokens.json"
        self._added: dict[str, int] = (
            json.loads(added.read_text(encoding="utf-8")) if added.is_file() else {}
        )
        self._size = int(self._pieces.vocab_size())
        self.begin = int(self._pieces.bos_id())
        self.end = int(self._pieces.eos_id())

    def ids(self, text: str) -> list[int]:
        """See `Words`."""
        return list(self._pieces.encode(text))

    def text(self, ids: list[int]) -> str:
        """See `Words`."""
        return str(self._pieces.decode([token for token in ids if token < self._size]))

    def added(self, token: str) -> int:
        """See `Words`."""
        return self._added[token]


class BackendWords:
    """By a tokenizer.json, as folders in transformers' layout have one."""

    def __init__(self, path: Path) -> None:
        self._tokenizer: Any = cast("Any", AutoTokenizer).from_pretrained(
            path, local_files_only=True, trust_remote_code=False
        )
        self.begin = int(self._tokenizer.bos_token_id)
        self.end = int(self._tokenizer.eos_token_id)

    def ids(self, text: str) -> list[int]:
        """See `Words`."""
        found = self._tokenizer(text, add_special_tokens=False, split_special_tokens=True)
        return list(found["input_ids"])

    def text(self, ids: list[int]) -> str:
        """See `Words`."""
        return str(self._tokenizer.decode(ids, skip_special_tokens=True))

    def added(self, token: str) -> int:
        """See `Words`."""
        return int(self._tokenizer.get_added_vocab()[token])
