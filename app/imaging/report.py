"""Types of structured reports: a tree of text, for the window and the command `info`.

`objects` reads them from SR documents and key object selections (PS3.3 C.17.3, PS3.16).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from app.imaging.findings import Finding
from app.imaging.layers import Shape

REFERENCE = "REFERENCE"
"""Kind of a node that refers to another node of the document."""


@dataclass(frozen=True, slots=True)
class ImageLink:
    """A reference to frames (from 0) of an image or other object; no `frames` means all of them."""

    sop_instance_uid: str
    frames: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class ReportNode:
    """One content item of a report.

    Attributes:
        kind: Value Type: CONTAINER, TEXT, NUM, CODE, IMAGE, SCOORD, PNAME, ..., or REFERENCE for a
            reference to an item elsewhere in the tree.
        name: Meaning of the concept name, e.g. "Finding"; "" if the item has no name.
        value: Value as text with units, e.g. "12.4 mm"; "" for a container.
        relationship: Relationship to the parent item: CONTAINS, HAS OBS CONTEXT, ...
        links: Images that the item refers to; for an SCOORD, the images that it was drawn on.
        shapes: Shapes in an SCOORD, in pixels of each image in `links`.
        continuous: Whether the items in a container are to be read as one running text.
    """

    kind: str
    name: str
    value: str = ""
    relationship: str = ""
    children: tuple[ReportNode, ...] = ()
    links: tuple[ImageLink, ...] = ()
    shapes: tuple[Shape, ...] = ()
    continuous: bool = False


@dataclass(frozen=True, slots=True)
class Report:
    """A structured report or key object selection as a tree of content items.

    Attributes:
        title: Title of the document, e.g. "CT Abdomen Report".
        facts: (name, value) pairs from the header: completion, verification, observer, date.
        warnings: Descriptions of the parts that could not be read.
    """

    title: str
    facts: tuple[tuple[str, str], ...]
    root: ReportNode
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ReportMarks:
    """The marks of a report as findings on open images, and what could not be one.

    Attributes:
        left_out: (label, reason) of each measurement group that is no finding here.
    """

    findings: tuple[Finding, ...]
    left_out: tuple[tuple[str, str], ...] = ()


def nodes_of(node: ReportNode) -> Iterator[ReportNode]:
    """Yield a node and all its descendants, in reading order."""
    stack = [node]
    while stack:
        one = stack.pop()
        yield one
        stack.extend(reversed(one.children))


def report_text(report: Report) -> str:
    """Return the report as plain text, for a terminal or the clipboard.

    Each content item takes one line, "Name: value", indented by its depth. Facts and warnings
    come first.
    """
    context = {(child.name, child.value) for child in report.root.children}
    lines = [report.title]
    lines += [_line(*fact, 0) for fact in report.facts if fact not in context]
    lines += [_line("Warning", warning, 0) for warning in report.warnings]
    stack = [(child, 0) for child in reversed(report.root.children)]
    if stack:
        lines.append("")
    while stack:
        node, depth = stack.pop()
        lines.append(_line(node.name, node.value, depth) or _line(node.kind.lower(), "", depth))
        stack.extend((child, depth + 1) for child in reversed(node.children))
    return "\n".join(lines)


def _line(name: str, value: str, depth: int) -> str:
    indent = "  " * depth
    text = f"{name}: {value}" if name and value else name or value
    return indent + text.replace("\n", f"\n{indent}  ") if text else ""


def key_images(report: Report) -> tuple[ImageLink, ...]:
    """Return the images and other objects that a report refers to, without duplicates, in order.

    For a key object selection these are the selected objects (PS3.3 A.35.4). Presentation states
    that are named along with an image are left out.
    """
    found: dict[ImageLink, None] = {}
    for node in nodes_of(report.root):
        if node.kind in ("IMAGE", "COMPOSITE", "WAVEFORM") and node.links:
            found[node.links[0]] = None
    return tuple(found)
