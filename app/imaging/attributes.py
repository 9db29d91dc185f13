"""A row of the panel that lists a file's attributes."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class AttributeRow:
    """One data element of a file.

    Attributes:
        tag: "(gggg,eeee)", lower case hexadecimal.
        keyword: DICOM keyword; for private or unknown elements the name in brackets.
        vr: Value representation.
        value: Plain text, cut at some hundred characters; binary values as their length.
        depth: Level of nesting in sequences, 0 at the top. A sequence's own row is followed by
            the rows of its items, one level deeper.
    """

    tag: str
    keyword: str
    vr: str
    value: str
    depth: int = 0
