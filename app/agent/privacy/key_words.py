"""The words that a key is made of, and what they say of its value. Knows no DICOM."""

from __future__ import annotations

import re

_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_PATH_WORDS = frozenset("path paths file files filename filenames folder directory dir".split())  # noqa: SIM905


def words_of(key: str) -> list[str]:
    """The words of "image_path", "imagePath" or "Image Path", in small letters."""
    return [word.lower() for word in _WORD.findall(key)]


def is_path_key(key: str) -> bool:
    """Whether what stands under this key is the path of a file."""
    return bool(_PATH_WORDS.intersection(words_of(key)[-1:]))
