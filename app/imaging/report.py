"""A structured report as a tree of text, for the window and `info` (types only).

Made from SR documents and key object selections by `report_reading` (PS3.3 C.17.3, PS3.16).
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ImageLink:
    """An image or other object that a content item refers to.

    Attributes:
        sop_instance_uid: Of the object.
        frames: Frames from 0 that are meant; empty for all.
    """

    sop_instance_uid: str
    frames: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class ReportNode:
    """One content item.

    Attributes:
        kind: Its Value Type: CONTAINER, TEXT, NUM, CODE, IMAGE, SCOORD, PNAME, ...
        name: Concept name's meaning, e.g. "Finding"; "" for none.
        value: As text with units, e.g. "12.4 mm"; "" for a container.
        relationship: How it belongs to its parent: CONTAINS, HAS OBS CONTEXT, ...
        children: Nested content items, in order.
        links: Images it refers to.
    """

    kind: str
    name: str
    value: str = ""
    relationship: str = ""
    children: tuple[ReportNode, ...] = ()
    links: tuple[ImageLink, ...] = ()


@dataclass(frozen=True, slots=True)
class Report:
    """A whole document.

    Attributes:
        title: Of the document, e.g. "CT Abdomen Report".
        facts: (name, value) pairs of its header: completion, verification, observer, date.
        root: The root container.
        warnings: What could not be read.
    """

    title: str
    facts: tuple[tuple[str, str], ...]
    root: ReportNode
    warnings: tuple[str, ...] = ()
