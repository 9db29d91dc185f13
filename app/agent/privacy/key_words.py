"""Splits keys (names of fields or arguments) into words. Independent of DICOM."""

from __future__ import annotations

import re

_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_PATH_WORDS = frozenset("path paths file files filename filenames folder directory dir".split())  # noqa: SIM905


def words_of(key: str) -> list[str]:
    """Return the words of a key like "image_path", "imagePath" or "Image Path", in lower case."""
    return [word.lower() for word in _WORD.findall(key)]


def is_path_key(key: str) -> bool:
    """Return True if a key ends with a word for a file or folder ("path", "filename", "dir")."""
    return bool(_PATH_WORDS.intersection(words_of(key)[-1:]))
