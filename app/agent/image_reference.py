"""What an open image is called in texts for people: as the window calls it, by its file."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

_PLAIN = re.compile(r"(?=.{4})[\w,()+=@#^~&'-][\w .,()+=@#^~&'-]{0,70}\.\w{1,8}")
"""A name that stands in a text as it is, with its suffix: a changed one, or one without, would not
be known again where names of files are taken out of what is sent."""


def name_of(note: Mapping[str, Any], notes: Sequence[Mapping[str, Any]] = ()) -> str:
    """The name of an image's file; the app's id where that says nothing.

    Args:
        note: On the image, as of `RunRequest.image_notes`.
        notes: On all that is open: where two files have one name the id stands with it.
    """
    own = str(note.get("id") or "")
    name = _file(note)
    if not name or not _PLAIN.fullmatch(name):
        return own or "the open image"
    alike = any(_file(other) == name and other.get("id") != note.get("id") for other in notes)
    return f"{name} ({own})" if alike and own else name


def named_with_id(note: Mapping[str, Any]) -> str:
    """The same with the id, where a person is to name the image."""
    own, name = str(note.get("id") or ""), name_of(note)
    return name if name == own or not own else f"{name} ({own})"


def _file(note: Mapping[str, Any]) -> str:
    return re.split(r"[/\\]", str(note.get("path") or ""))[-1]
