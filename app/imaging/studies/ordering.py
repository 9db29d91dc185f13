"""Order in which a series is displayed, and the reason for it; never the order of the files."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from app.imaging.files.natural_order import natural_key
from app.imaging.space.planes import parse_numbers, sorting_plane
from app.imaging.space.stacks import GAP_MM
from app.imaging.types import Instance

POSITION = "position along the normal"
_KEYS = (
    ("instance number", "InstanceNumber"),
    ("temporal position", "TemporalPositionIdentifier"),
    ("trigger time", "TriggerTime"),
    ("acquisition time", "AcquisitionTime"),
    ("content time", "ContentTime"),
)


def display_order(instances: Sequence[Instance]) -> tuple[list[Instance], str]:
    """Return the instances in display order, and a text that says what they are sorted by.

    Images that all have different positions are sorted along the normal of their plane (PS3.3
    C.7.6.2.1.1), in the direction in which instance numbers increase. Other images are sorted by
    the first of instance number, temporal position, and trigger, acquisition and content time that
    is different for every image; failing these, by instance number and file name.
    """
    start = by_tie_break(instances)
    if len(start) < 2:
        return start, ""
    placed = _by_position(start)
    if placed is not None:
        return placed, POSITION
    for name, keyword in _KEYS:
        values = [_value(one, keyword) for one in start]
        if None not in values and len(set(values)) == len(values):
            pairs = sorted(zip(values, range(len(start)), strict=True))
            return [start[place] for _, place in pairs], name
    if len({one.number for one in start}) > 1:
        return start, "instance number, then file name"
    return start, "file name"


def tie_break(instance: Instance) -> tuple[int, list[tuple[int, int, str]], str, int]:
    """Return a sort key that never ties: instance number, file name, path, part of the file."""
    return instance.number, file_key(instance.path), str(instance.path), instance.part


def by_tie_break(instances: Sequence[Instance]) -> list[Instance]:
    """Return instances sorted by `tie_break`; names are compared only if numbers repeat."""
    numbers = {one.number for one in instances}
    if len(numbers) == len(instances):
        return sorted(instances, key=_number_or_zero)
    return sorted(instances, key=tie_break)


def _number_or_zero(instance: Instance) -> int:
    return instance.number


def file_key(path: Path) -> list[tuple[int, int, str]]:
    """Return a sort key for a file's name in which numbers count by value ("2" before "10")."""
    return natural_key(path.name)


def _value(instance: Instance, keyword: str) -> float | None:
    if keyword == "InstanceNumber":
        return float(instance.number) if instance.get(keyword) or instance.number else None
    numbers = parse_numbers(instance.get(keyword))
    return numbers[0] if numbers else None


def _by_position(instances: list[Instance]) -> list[Instance] | None:
    """Sort along the normal; None unless all are parallel images at different positions."""
    planes = [sorting_plane(one) for one in instances]
    known = [plane for plane in planes if plane is not None]
    if len(known) < len(planes):
        return None
    normals = np.array([plane.normal for plane in known])
    if np.abs(normals - normals[0]).max() > 2 * SAME_DIRECTION:
        return None
    along = np.array([plane.origin for plane in known]) @ normals[0]
    order = np.argsort(along, kind="stable")
    if np.diff(along[order]).min() < GAP_MM:
        return None
    numbers = np.array([instances[int(place)].number for place in order])
    if (np.diff(numbers) < 0).all():
        order = order[::-1]
    return [instances[int(place)] for place in order]


SAME_DIRECTION = 0.01
"""Difference of a direction cosine (0.6 degrees) up to which images form one stack; scanners round,
and a patient's tilt is no localiser. A volume needs `stacks.PARALLEL`."""
