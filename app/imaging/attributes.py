"""A row of the panel that lists a file's attributes."""

from __future__ import annotations

from dataclasses import dataclass

MAX_TEXT = 512
"""Characters of a value that the panel shows."""


@dataclass(frozen=True, slots=True)
class AttributeRow:
    """One data element of a file, as a row of the attributes panel.

    Attributes:
        tag: Tag as "(gggg,eeee)" in lower-case hexadecimal.
        keyword: DICOM keyword; for a private or unknown element, its name in square brackets.
        vr: Value representation.
        value: Value as plain text, shortened if it is longer than a few hundred characters; for
            binary values, their length.
        depth: Nesting depth in sequences, 0 at the top level. The row for a sequence is followed by
            the rows for its items, which are one level deeper.
    """

    tag: str
    keyword: str
    vr: str
    value: str
    depth: int = 0


def shortened(text: str) -> str:
    """Return at most `MAX_TEXT` characters of a text; if it was cut, the last one is "…"."""
    return text if len(text) <= MAX_TEXT else f"{text[: MAX_TEXT - 1]}…"


def attribute_row(name: str, value: object) -> AttributeRow:
    """Return the panel row of a named value in a non-DICOM file; line breaks become spaces."""
    return AttributeRow("", name, "", shortened(" ".join(str(value).split())))
