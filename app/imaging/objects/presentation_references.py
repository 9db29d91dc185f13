"""Which images and frames the parts of a presentation state are about (PS3.3 C.11.11, 10.3)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pydicom.dataset import Dataset

from app.imaging.dicom.dicom_items import frames_of, items_of, text_of

ALL = -1
"""Stands for all frames of an image."""

MAX_TARGETS = 50_000
MAX_WORK = 1_000_000

Key = tuple[str, int]


class Parts:
    """Items that may name the images they are for; those that name none are for all.

    Args:
        items: E.g. of the Softcopy VOI LUT Sequence, in order.
        targets: Number of images they may have to be matched with; bounds the work.
    """

    def __init__(self, items: Sequence[Dataset], targets: int = 1) -> None:
        self._general: list[tuple[int, Dataset]] = []
        self._named: dict[Key, list[tuple[int, Dataset]]] = {}
        most = MAX_WORK // max(targets, 1)
        for position, item in enumerate(items):
            references = items_of(item, "ReferencedImageSequence")
            if not references and len(self._general) < most:
                self._general.append((position, item))
            for uid, frames in image_references(references):
                for frame in frames or (ALL,):
                    self._named.setdefault((uid, frame), []).append((position, item))

    def of(self, key: Key) -> list[Dataset]:
        """The items for an image's frame, each once, in order."""
        return list(dict(sorted(self._own(key) + self._general, key=_position)).values())

    def one(self, key: Key) -> Dataset | None:
        """The one item where there can be but one: that of the frame, of the image, of all."""
        found = (*self._own(key), *self._general[:1])
        return found[0][1] if found else None

    def named(self) -> Iterator[Key]:
        """The images and frames that the items name."""
        return iter(self._named)

    def _own(self, key: Key) -> list[tuple[int, Dataset]]:
        of_all = self._named.get((key[0], ALL), []) if key[1] != ALL else []
        return self._named.get(key, []) + of_all


def _position(entry: tuple[int, Dataset]) -> int:
    return entry[0]


def image_references(references: Sequence[Dataset]) -> Iterator[tuple[str, tuple[int, ...]]]:
    """(SOP Instance UID, frames from 0 or none for all) of a Referenced Image Sequence."""
    for reference in references:
        uid = text_of(reference, "ReferencedSOPInstanceUID")
        if uid:
            yield uid, frames_of(reference)


def listed_images(dataset: Dataset) -> dict[str, set[int]]:
    """Images that the state is for: UID -> frames, of which `ALL` may be one."""
    found: dict[str, set[int]] = {}
    sources = [dataset]
    for keyword in ("BlendingSequence", "AdvancedBlendingSequence"):
        sources += items_of(dataset, keyword)
    for source in sources:
        for series in items_of(source, "ReferencedSeriesSequence"):
            for uid, frames in image_references(items_of(series, "ReferencedImageSequence")):
                found.setdefault(uid, set()).update(frames or (ALL,))
    return found


def target_keys(listed: dict[str, set[int]], named: Iterator[Key]) -> list[Key]:
    """Every image, and every frame that is named by itself; never more than the state lists."""
    keys: dict[Key, None] = {}
    for uid, frames in listed.items():
        for frame in sorted(frames):
            keys[uid, frame] = None
            if len(keys) >= MAX_TARGETS:
                return list(keys)
    for uid, frame in named:
        if ALL in listed.get(uid, ()) and len(keys) < MAX_TARGETS:
            keys[uid, frame] = None
    return list(keys)
