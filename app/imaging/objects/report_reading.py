"""SR documents and key object selections as a tree of text. Runs in a worker process.

PS3.3 C.17.3 (content), A.35 (documents), A.35.4 (key objects); PS3.16 for the codes.
"""

from __future__ import annotations

from pydicom.dataset import Dataset

from app.imaging import guards
from app.imaging.dicom.dicom_file import Header, read_header, value_of
from app.imaging.dicom.dicom_items import first_item, items_of, text_of
from app.imaging.dicom.frame_attributes import numbers
from app.imaging.layers import Shape
from app.imaging.objects.graphics import coordinate_pairs, graphic_geometries, pixel_point
from app.imaging.objects.layer_targets import image_references
from app.imaging.objects.report_values import (
    code_meaning,
    code_value,
    content_text,
    date_text,
    datetime_text,
    is_on_whole_slide,
    person_text,
    time_text,
)
from app.imaging.report import REFERENCE, ImageLink, Report, ReportNode
from app.imaging.types import Instance

MAX_ITEMS = 50_000
MAX_DEPTH = 48
_MAX_WARNINGS = 20

_REJECTIONS = frozenset({"113001", "113037", "113038", "113039"})
"""Codes of document titles by which images are withdrawn (PS3.16 CID 7011, IHE IOCM)."""

_FLAGS = {
    "CompletionFlag": "Completion",
    "CompletionFlagDescription": "Completion note",
    "PreliminaryFlag": "Status",
    "VerificationFlag": "Verification",
}
_REFERRING = frozenset({"IMAGE", "COMPOSITE", "WAVEFORM"})


def read_report(instance: Instance) -> Report:
    """Return a report as a tree of items; damaged parts become text or a warning.

    Raises:
        FileProblem: The file cannot be read, or does not contain a content tree.
    """
    header = read_header(instance.path)
    dataset = header.dataset
    if "ContentSequence" not in dataset and "ValueType" not in dataset:
        raise guards.problem(instance.path, "it is a report without any content", guards.COPY_AGAIN)
    reader = _TreeReader(dataset)
    root = reader.node(dataset, 0)
    title = root.name or text_of(dataset, "SeriesDescription") or instance.get("SeriesDescription")
    warnings = rejection_warnings(dataset) + reader.warnings
    return Report(title or "Report", _document_facts(header, root), root, tuple(warnings))


class _TreeReader:
    """Builder of one document's tree."""

    def __init__(self, root: Dataset) -> None:
        self.warnings: list[str] = []
        self._root = root
        self._count = 0
        self._full = False

    def node(self, item: Dataset, depth: int) -> ReportNode:
        """Return a content item with all items below it."""
        self._count += 1
        relationship = text_of(item, "RelationshipType").upper()
        if _is_reference(item):
            return self._reference_node(item, relationship)
        kind = text_of(item, "ValueType").upper()
        name = self._name(item)
        value = "" if kind == "CONTAINER" else content_text(item, kind)
        # An item may state a time of its own.
        when = datetime_text(text_of(item, "ObservationDateTime")) if value else ""
        value = f"{value} [observed {when}]" if when else value
        children = self._children(item, depth)
        regions = self._links_and_shapes(item, kind)
        continuous = text_of(item, "ContinuityOfContent").upper() == "CONTINUOUS"
        return ReportNode(
            kind or "?", name, value, relationship, children, *regions, continuous=continuous
        )

    def _children(self, item: Dataset, depth: int) -> tuple[ReportNode, ...]:
        if "ContentSequence" not in item:
            return ()
        items = items_of(item, "ContentSequence")
        if not items:
            if _is_damaged(item):
                self._warn("a part of the content is damaged and cannot be shown")
                return (ReportNode("?", "", "(content that cannot be read)"),)
            return ()
        # Nesting is unbounded in a damaged file, and each level takes a Python call.
        if depth >= MAX_DEPTH:
            self._warn(f"content below level {MAX_DEPTH} is not shown")
            return (ReportNode("?", "", f"({len(items)} more items below are not shown)"),)
        children: list[ReportNode] = []
        for position, child in enumerate(items):
            if self._count >= MAX_ITEMS:
                self._warn(f"only the first {MAX_ITEMS:,} content items are shown")
                rest = len(items) - position
                children.append(ReportNode("?", "", f"({rest:,} more items are not shown)"))
                break
            children.append(self.node(child, depth + 1))
        return tuple(children)

    def _name(self, item: Dataset) -> str:
        code = first_item(item, "ConceptNameCodeSequence")
        name = code_meaning(code)
        if code is not None and not name:
            self._warn("a concept name has neither meaning nor code")
        return name

    def _links_and_shapes(
        self, item: Dataset, kind: str
    ) -> tuple[tuple[ImageLink, ...], tuple[Shape, ...]]:
        if kind == "SCOORD":
            return self._selected_images(item), self._shapes(item)
        return _image_links(item) if kind in _REFERRING else (), ()

    def _reference_node(self, item: Dataset, relationship: str) -> ReportNode:
        """Return a node naming the item referred to (C.17.3.2.5), not entered: cycles exist."""
        path = _reference_path(item)
        label = ".".join(str(part) for part in path) or "an item without a number"
        target = self._find(path)
        if target is None:
            self._warn("an item refers to another one that is not in the document")
            return ReportNode(REFERENCE, "", f"see {label} (not in this document)", relationship)
        kind = text_of(target, "ValueType").upper()
        name = self._name(target)
        value = "" if kind == "CONTAINER" else content_text(target, kind)
        words = ": ".join(part for part in (name, value) if part)
        regions = self._links_and_shapes(target, kind)
        return ReportNode(REFERENCE, "", f"see {label} ({words})", relationship, (), *regions)

    def _find(self, path: list[int]) -> Dataset | None:
        """Return the item with this identifier: 1 is the root, then ordinals from 1."""
        if path[:1] != [1] or len(path) > MAX_DEPTH + 1:
            return None
        item = self._root
        for ordinal in path[1:]:
            items = items_of(item, "ContentSequence")
            if ordinal > len(items):
                return None
            item = items[ordinal - 1]
        return item

    def _selected_images(self, item: Dataset) -> tuple[ImageLink, ...]:
        """Return the images of an SCOORD, which it contains or refers to."""
        found: list[ImageLink] = []
        for child in items_of(item, "ContentSequence"):
            if text_of(child, "RelationshipType").upper() == "SELECTED FROM":
                target = self._find(_reference_path(child)) if _is_reference(child) else child
                found += _image_links(target)[:1] if target is not None else ()
        return tuple(found)

    def _shapes(self, item: Dataset) -> tuple[Shape, ...]:
        if is_on_whole_slide(item):
            return ()  # positions in the whole slide cannot be converted to those in a frame here
        points = coordinate_pairs(numbers(value_of(item, "GraphicData")))
        kind = text_of(item, "GraphicType").upper()
        found = graphic_geometries(kind, [pixel_point(point) for point in points]) if points else ()
        if not found:
            self._warn("spatial coordinates that cannot be drawn: their points do not fit")
        return tuple(Shape(1, geometry) for geometry in found)

    def _warn(self, text: str) -> None:
        if text not in self.warnings and len(self.warnings) < _MAX_WARNINGS:
            self.warnings.append(text)


def _is_reference(item: Dataset) -> bool:
    """Return whether an item stands for another item of the document."""
    return "ReferencedContentItemIdentifier" in item


def _reference_path(item: Dataset) -> list[int]:
    """Return the identifier of the item that this one refers to; empty if it is damaged."""
    raw = numbers(value_of(item, "ReferencedContentItemIdentifier"))
    path = [int(part) for part in raw if 1 <= part < 2**32]
    return path if len(path) == len(raw) else []


def _is_damaged(item: Dataset) -> bool:
    """Return whether an item's Content Sequence cannot be read as a sequence."""
    try:
        return isinstance(item["ContentSequence"].value, bytes | str)
    except Exception:
        return True  # pydicom converts on access; damaged values raise almost any exception


def _image_links(item: Dataset) -> tuple[ImageLink, ...]:
    """Return the object that an item refers to, then the presentation state for showing it."""
    reference = first_item(item, "ReferencedSOPSequence")
    shown_in = first_item(reference, "ReferencedSOPSequence")
    named = [one for one in (reference, shown_in) if one is not None]
    return tuple(ImageLink(uid, frames) for uid, frames in image_references(named))


def _document_facts(header: Header, root: ReportNode) -> tuple[tuple[str, str], ...]:
    """Return the header's statements about the document, then the root's observation context."""
    dataset = header.dataset
    facts = [(name, text_of(dataset, keyword)) for keyword, name in _FLAGS.items()]
    facts = [(name, text.capitalize() if text.isupper() else text) for name, text in facts if text]
    for observer in items_of(dataset, "VerifyingObserverSequence"):
        facts.append(("Verified by", _observer_text(observer)))
    for author in items_of(dataset, "AuthorObserverSequence"):
        facts.append(("Author", person_text(text_of(author, "PersonName"))))
    predecessors = len(items_of(dataset, "PredecessorDocumentsSequence"))
    if predecessors:
        facts.append(("Predecessor documents", str(predecessors)))
    date, time = text_of(dataset, "ContentDate"), text_of(dataset, "ContentTime")
    facts.append(("Content date", f"{date_text(date)} {time_text(time)}".strip()))
    facts += [
        (child.name, child.value)
        for child in root.children
        if child.relationship == "HAS OBS CONTEXT"
    ]
    return tuple((name, text) for name, text in facts if name and text)


def _observer_text(observer: Dataset) -> str:
    parts = (
        person_text(text_of(observer, "VerifyingObserverName")),
        text_of(observer, "VerifyingOrganization"),
        datetime_text(text_of(observer, "VerificationDateTime")),
    )
    return ", ".join(part for part in parts if part)


def rejection_warnings(dataset: Dataset) -> list[str]:
    """Return a warning if this document withdraws (rejects) images; else an empty list."""
    code = first_item(dataset, "ConceptNameCodeSequence")
    if text_of(code, "CodingSchemeDesignator") != "DCM" or code_value(code) not in _REJECTIONS:
        return []
    return [f"{code_meaning(code)}: the images named here were withdrawn and are not to be used"]
