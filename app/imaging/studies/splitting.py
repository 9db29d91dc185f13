"""Splitting of the images with one Series Instance UID into stacks, and names for the parts.

Only images with a position in the patient (CT, MR, PET, ...) are split by geometry and acquisition.
Radiographic views, ultrasound clips and localisers stay together. A series in which every slice has
its own position is one stack, whatever else differs between the slices.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from app.imaging.space.planes import FramePlane, parse_numbers, sorting_plane
from app.imaging.space.stacks import GAP_MM
from app.imaging.studies.ordering import SAME_DIRECTION, by_tie_break, tie_break
from app.imaging.types import Content, Instance

_STACKED = frozenset({"CT", "MR", "PT"})
_SPACING = 1e-2
"""Relative difference of pixel spacing up to which images form one stack."""
_MAX_CLUSTERS = 64
SHARED_UID = "same SOP Instance UID"
"""Part of the note on an image that shares its SOP Instance UID with an earlier one."""
_ASIDE_MM = 1.0


@dataclass(frozen=True, slots=True)
class Part:
    """Unsorted instances split from a series; `names` has a description of each split in turn."""

    instances: tuple[Instance, ...]
    names: tuple[str, ...] = ()

    @property
    def split(self) -> str:
        """How this part differs from the others, e.g. "b-value 800"; "" if there are no others."""
        return ", ".join(name for name in self.names if name)


def split(instances: Sequence[Instance]) -> list[Part]:
    """Split the instances of a series into parts; their given order does not matter."""
    if len(instances) == 1:
        return [Part(tuple(instances))]
    start = by_tie_break(instances)
    parts: list[Part] = []
    for part in _divide(Part(tuple(start)), _kind):
        if part.instances[0].content is Content.IMAGE and part.instances[0].frames == 1:
            parts += _images(part)
        else:
            parts.append(part)
    return sorted(parts, key=lambda part: tie_break(part.instances[0]))


def _divide(part: Part, name_of: Callable[[Instance], str]) -> list[Part]:
    """Divide a part by a name; a part that is not divided keeps its names."""
    return _divided(part, [name_of(one) for one in part.instances], str)


def _divided(
    part: Part, values: Sequence[Hashable], label: Callable[[Hashable], str]
) -> list[Part]:
    """Divide a part by the value of each of its instances; `label` names a value."""
    groups: dict[Hashable, list[Instance]] = defaultdict(list)
    for instance, value in zip(part.instances, values, strict=True):
        groups[value].append(instance)
    if len(groups) == 1:
        return [part]
    return [Part(tuple(group), (*part.names, label(value))) for value, group in groups.items()]


def _kind(instance: Instance) -> str:
    if instance.content is not Content.IMAGE:
        return instance.content.value
    if "LOCALIZER" in instance.get("ImageType").upper().split("\\"):
        return "localiser"
    return "multi-frame" if instance.frames > 1 else "images"


def _images(part: Part) -> list[Part]:
    """Divide single-frame images by size, position and acquisition."""
    if "LOCALIZER" in part.instances[0].get("ImageType").upper().split("\\"):
        return [part]
    planes = [sorting_plane(one) for one in part.instances]
    placed = any(plane is not None for plane in planes)
    if not placed and part.instances[0].get("Modality") not in _STACKED:
        return [part]
    found: list[Part] = []
    for piece in _divide(part, _matrix):
        for place in _divide(piece, _is_placed):
            found += _stacks(place)
    return found


def _matrix(instance: Instance) -> str:
    photometric = instance.get("PhotometricInterpretation").upper()
    grey = photometric.startswith("MONOCHROME") or not photometric
    return f"{instance.columns} x {instance.rows}" + ("" if grey else " in colour")


def _is_placed(instance: Instance) -> str:
    return "" if sorting_plane(instance) is not None else "without a position"


def _stacks(part: Part) -> list[Part]:
    """Divide images of one size by frame of reference, direction and spacing, then acquisition."""
    planes = [sorting_plane(one) for one in part.instances]
    known = [plane for plane in planes if plane is not None]
    if len(known) < len(planes):
        return [part]
    found: list[Part] = []
    for own in _by_frame_of_reference(part):
        stacks = _by_direction(own)
        for stack in stacks or [own]:
            found += _by_acquisition(stack) if stacks else [stack]
    return found


def _by_frame_of_reference(part: Part) -> list[Part]:
    """Divide by frame of reference; images without one join the others if there is only one."""
    uids = sorted({one.get("FrameOfReferenceUID") for one in part.instances} - {""})
    if len(uids) < 2:
        return [part]
    names = {uid: f"frame of reference {n}" for n, uid in enumerate(uids, start=1)}
    return _divide(part, lambda one: names.get(one.get("FrameOfReferenceUID"), "no reference"))


def _by_direction(part: Part) -> list[Part]:
    """Divide parallel images of one pixel spacing; nothing where images form no stacks."""
    planes = _planes(part.instances)
    directions = np.array([(*plane.row, *plane.column) for plane in planes])
    spacings = np.array([plane.spacing for plane in planes])
    features = np.hstack([directions / SAME_DIRECTION, np.nan_to_num(np.log(spacings)) / _SPACING])
    labels = clusters(features)
    sizes = Counter(labels)
    # Scouts and rotated images each have their own direction and form no stack.
    if len(sizes) > 1 and (len(sizes) > _MAX_CLUSTERS or max(sizes.values()) < 3):
        return []
    names = _direction_names({label: planes[labels.index(label)] for label in sizes})
    return _divided(part, labels, names.__getitem__)


def clusters(features: NDArray[np.float64]) -> list[int]:
    """Group rows so that all values differ by less than 1 from those in the group's first row.

    Returns the group number of each row. A group starts with the remaining row that is lowest in
    the first column (then the second, ...), so that groups do not depend on the order of rows. All
    rows left after `_MAX_CLUSTERS` groups form one last group.
    """
    labels = np.full(len(features), -1)
    for place in np.lexsort(features.T[::-1]):
        if labels[place] >= 0:
            continue
        label = int(labels.max()) + 1
        near = (np.abs(features - features[place]) < 1).all(axis=1) & (labels < 0)
        labels[near] = label
        if label >= _MAX_CLUSTERS:
            labels[labels < 0] = label
            break
    return labels.tolist()


def _direction_names(planes: dict[Hashable, FramePlane]) -> dict[Hashable, str]:
    """Name each group by the nearest anatomical plane of its first image, or by its spacing."""
    names = [f"orientation {plane_name(plane)}" for plane in planes.values()]
    if len(set(names)) < len(names) and len({plane.spacing for plane in planes.values()}) > 1:
        names = [
            f"{name}, pixels of {plane.spacing[0]:.3g} x {plane.spacing[1]:.3g} mm"
            for name, plane in zip(names, planes.values(), strict=True)
        ]
    return dict(zip(planes, _numbered(names), strict=True))


def plane_name(plane: FramePlane) -> str:
    """Return "axial", "coronal" or "sagittal", whichever is nearest to an image's plane."""
    sizes = [abs(part) for part in plane.normal]
    return ("sagittal", "coronal", "axial")[sizes.index(max(sizes))]


def _numbered(names: list[str]) -> list[str]:
    total, seen = Counter(names), Counter[str]()
    numbered: list[str] = []
    for name in names:
        seen[name] += 1
        numbered.append(f"{name} ({seen[name]})" if total[name] > 1 else name)
    return numbered


def _planes(instances: Iterable[Instance]) -> list[FramePlane]:
    planes = (sorting_plane(one) for one in instances)
    return [plane for plane in planes if plane is not None]


def _by_acquisition(part: Part) -> list[Part]:
    """Divide images at the same positions by the attribute that distinguishes them.

    Images at a single position stay together over time, e.g. one slice of a beating heart or of a
    passing bolus. Only groups of several images are taken out.
    """
    levels = _levels(part.instances)
    repeats = max(Counter(levels).values())
    if repeats == 1:
        return [part]
    in_place = repeats == len(levels)
    for label, value_of, of_time in _SEPARATORS:
        values = [value_of(one) for one in part.instances]
        stacks = value_of is _aside or (not of_time and min(Counter(values).values()) > 1)
        if in_place and not stacks:
            continue
        if _separates(levels, values, repeats):
            pieces = _divided(part, values, label)
            return [one for piece in pieces for one in _by_acquisition(piece)]
    return [part] if in_place else _by_rank(part, levels, repeats)


def all_at_one_position(instances: Sequence[Instance]) -> bool:
    """Return whether all images share one position and each has a different time or setting."""
    planes = [sorting_plane(one) for one in instances]
    if None in planes or max(_levels(instances)) > 0:
        return False
    told = [*(one[1] for one in _SEPARATORS), *(one[1] for one in _RANKS[:-1])]
    return any(len({value_of(one) for one in instances}) == len(instances) for value_of in told)


def _levels(instances: Sequence[Instance]) -> list[int]:
    """Return the index of each image's position along the normal."""
    planes = _planes(instances)
    along = np.array([plane.origin for plane in planes]) @ np.array(planes[0].normal)
    order = np.argsort(along, kind="stable")
    steps = np.concatenate([[0], np.diff(along[order]) >= GAP_MM])
    levels = np.empty(len(along), int)
    levels[order] = np.cumsum(steps)
    return levels.tolist()


def _separates(levels: list[int], values: Sequence[Hashable], repeats: int) -> bool:
    """Return whether a value distinguishes images at one position without cutting the stack.

    A value that differs from slice to slice has more values than there are images per position.
    """
    if not 2 <= len(set(values)) <= repeats:
        return False
    return len(set(zip(levels, values, strict=True))) > len(set(levels))


def _by_rank(part: Part, levels: list[int], repeats: int) -> list[Part]:
    """Divide a 4-D series into phases, where most positions have equally many images."""
    counts = Counter(levels)
    full = sum(count == repeats for count in counts.values())
    if 2 * full <= len(counts):
        return [part]
    for name, value_of in _RANKS:
        values = [value_of(one) for one in part.instances]
        if None in values or len(set(zip(levels, values, strict=True))) < len(levels):
            continue
        ranks: dict[int, list[tuple[float, int]]] = defaultdict(list)
        for place, (level, value) in enumerate(zip(levels, values, strict=True)):
            ranks[level].append((value or 0.0, place))
        phases: dict[int, list[Instance]] = defaultdict(list)
        for images in ranks.values():
            for rank, (_, place) in enumerate(sorted(images), start=1):
                phases[rank].append(part.instances[place])
        return [
            Part(tuple(phases[rank]), (*part.names, f"phase {rank} of {repeats} (by {name})"))
            for rank in sorted(phases)
        ]
    return [part]


def _aside(instance: Instance) -> Hashable:
    """Return the position within the plane, for stacks that lie side by side."""
    plane = sorting_plane(instance)
    if plane is None:
        return ()
    inside = (
        sum(p * q for p, q in zip(plane.origin, axis, strict=True))
        for axis in (plane.row, plane.column)
    )
    return tuple(round(part / _ASIDE_MM) for part in inside)


def _text(keyword: str) -> Callable[[Instance], Hashable]:
    return lambda instance: instance.get(keyword)


def _number(keyword: str) -> Callable[[Instance], float | None]:
    def value(instance: Instance) -> float | None:
        numbers = parse_numbers(instance.get(keyword))
        return numbers[0] if numbers else None

    return value


def _image_type(instance: Instance) -> Hashable:
    return "\\".join(instance.get("ImageType").upper().split("\\")[2:])


def _is_twin(instance: Instance) -> Hashable:
    return SHARED_UID in instance.note


def _instance_number(instance: Instance) -> float | None:
    return float(instance.number) if instance.number else None


def _label(text: str, units: str = "") -> Callable[[Hashable], str]:
    def label(value: Hashable) -> str:
        if value in (None, ""):
            return f"no {text}"
        shown = f"{value:g}" if isinstance(value, float) else str(value).replace("\\", "/")
        return f"{text} {shown}{units}"

    return label


_SEPARATORS: tuple[tuple[Callable[[Hashable], str], Callable[[Instance], Hashable], bool], ...] = (
    (lambda value: "another place in the plane", _aside, False),
    (_label("phase"), _number("TemporalPositionIdentifier"), True),
    (_label("echo time", " ms"), _number("EchoTime"), False),
    (_label("echo"), _number("EchoNumbers"), False),
    (_label("b-value"), _number("DiffusionBValue"), False),
    (_label("inversion time", " ms"), _number("InversionTime"), False),
    (_label("flip angle", "°"), _number("FlipAngle"), False),
    (_label("image type"), _image_type, False),
    (_label("kernel"), _text("ConvolutionKernel"), False),
    (_label("slice thickness", " mm"), _number("SliceThickness"), False),
    (_label("tube voltage", " kV"), _number("KVP"), False),
    (_label("contrast"), _text("ContrastBolusAgent"), False),
    (_label("trigger time", " ms"), _number("TriggerTime"), True),
    (_label("cardiac phase", "%"), _number("NominalPercentageOfCardiacPhase"), True),
    (_label("acquisition"), _number("AcquisitionNumber"), True),
    (_label("acquisition time"), _text("AcquisitionTime"), True),
    (_label("series time"), _text("SeriesTime"), True),
    (lambda twin: "with UIDs of other images" if twin else "", _is_twin, False),
)
"""Attributes that may distinguish images at one position; the first that does is used, then the
next within each part: its label, its value, and whether it is a time."""

_RANKS: tuple[tuple[str, Callable[[Instance], float | None]], ...] = (
    ("trigger time", _number("TriggerTime")),
    ("acquisition number", _number("AcquisitionNumber")),
    ("acquisition time", _number("AcquisitionTime")),
    ("content time", _number("ContentTime")),
    ("instance number", _instance_number),
)
