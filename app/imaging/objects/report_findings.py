"""Marks of a structured report (TID 1500) as findings again. Runs in a worker process.

PS3.16 TID 1410, 1411, 1501. What Comprehensive 3D SR has no item for, such as that four corners
are a box, `mark_texts` puts into comments, which other readers show as they are.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

import numpy as np
from pydicom.dataset import Dataset

from app.imaging import guards
from app.imaging.dicom.dicom_file import read_header, value_of
from app.imaging.dicom.dicom_items import first_item, frames_of, items_of, text_of
from app.imaging.dicom.frame_attributes import numbers
from app.imaging.findings import (
    XY,
    Box,
    Code,
    Ellipse,
    Finding,
    Geometry,
    Measurement,
    Point,
    Polygon,
    Polyline,
    Provenance,
    Segments,
    State,
    new_id,
)
from app.imaging.objects.graphics import coordinate_pairs, graphic_geometries, pixel_point
from app.imaging.objects.report_values import code_meaning, code_value, is_on_whole_slide, unit_text
from app.imaging.report import ReportMarks
from app.imaging.space.planes import instance_plane
from app.imaging.types import XYZ, FramePlane, ImageRef, Instance

SCHEME = "99SIGHTLINE"
"""Coding scheme of labels and quantities that have no published code."""

QUANTITIES = {
    "length": ("410668003", "SCT", "Length"),
    "area": ("42798000", "SCT", "Area"),
    "perimeter": ("131191004", "SCT", "Perimeter"),
    "mean": ("373098007", "SCT", "Mean"),
    "standard deviation": ("386136009", "SCT", "Standard Deviation"),
    "minimum": ("255605001", "SCT", "Minimum"),
    "maximum": ("56851009", "SCT", "Maximum"),
    "angle": ("1483009", "SCT", "Angle"),
    "cobb angle": ("285285000", "SCT", "Cobb angle"),
    "long axis": ("103339001", "SCT", "Long Axis"),
    "short axis": ("103340004", "SCT", "Short Axis"),
    "diameter": ("81827009", "SCT", "Diameter"),
    "volume": ("118565006", "SCT", "Volume"),
}
"""Code value, scheme and meaning of the quantities that have a published code."""

MAX_MARKS = 20_000
_MAX_DEPTH = 12
_MOST_POINTS = 100_000
_OUTSIDE_PX = 1.0
_SNAP_PX = 2e-3  # what the 32-bit floats of a report move the edges of a box by at most

_GROUP, _FINDING, _SITE = "125007", "121071", "363698007"
_TRACKING_ID, _TRACKING_UID = "112039", "112040"
_ALGORITHM, _VERSION = "111001", "111003"
_COMMENT = "121106"
_OBSERVER_TYPE, _PERSON, _DEVICE_NAME = "121005", "121006", "121013"
_BY_CODE = {
    **{value: name.capitalize() for name, (value, _, _) in QUANTITIES.items()},
    # Codes of SNOMED's former form, which older writers use.
    "G-D7FE": "Length",
    "G-A166": "Area",
    "R-00317": "Mean",
    "R-10047": "Standard deviation",
}
_KINDS: dict[str, type] = {
    kind.__name__.lower(): kind for kind in (Point, Polyline, Segments, Polygon, Box, Ellipse)
}
_ELSEWHERE: dict[str, type] = {
    "rectangleroi": Box,
    "ellipticalroi": Ellipse,
    "circleroi": Ellipse,
    "bidirectional": Segments,
    "cobbangle": Segments,
}
"""Kinds that other viewers give as "Cornerstone3DTools@^0.1.0:RectangleROI" in the identifier."""

_TOOLS: dict[type, str] = {
    Point: "mark_point",
    Polygon: "polygon",
    Box: "mark_box",
    Ellipse: "ellipse",
    Segments: "bidirectional",
}
"""The drawing tool with whose handles a mark of another program can be changed here."""

_STATE = re.compile(r"(accepted|edited|rejected)(?: by (.*?))?(?:, (\d{4}-\d\d-\d\dT\S+))?")
_DRAWN = re.compile(r"([a-z]+)(?:, with ([a-z_]{1,40}))?")
_NUMBER = r"-?\d+(?:\.\d+)?(?:e[+-]?\d+)?"
_SECTION = re.compile(
    rf"([0-9.]{{1,64}}) frame (\d+); origin ((?:{_NUMBER} ?){{3}}); row ((?:{_NUMBER} ?){{3}}); "
    rf"column ((?:{_NUMBER} ?){{3}}); spacing ((?:{_NUMBER} ?){{2}})"
)
_FLAG = "approximate"


def mark_texts(finding: Finding) -> list[str]:
    """Return the comments by which a finding comes back as what it was; see `_with_texts`."""
    kind, tool = type(finding.geometry).__name__.lower(), finding.provenance.tool
    made = [("Drawn as", ", with ".join(filter(None, (kind, tool))))]
    plane = finding.plane
    if plane is not None and plane.frame_of_reference:
        image = finding.image
        parts = [f"{image.sop_instance_uid} frame {image.frame + 1}"]
        parts += [
            " ".join((name, *(repr(float(one)) for one in getattr(plane, name))))
            for name in ("origin", "row", "column", "spacing")
        ]
        made.append(("Section", "; ".join(parts)))
    made += [
        ("Group", finding.group),
        ("Gives", finding.ratio),
        ("Computed from", "; ".join(finding.rests_on)),
        ("Values", _FLAG if finding.approximate else ""),
    ]
    return [f"{name}: {text}" for name, text in made if text]


def shown_value(finding: Finding) -> str:
    """Return the name of the measurement that is the finding's own value, or ""."""
    for one in finding.measurements:
        if one.value == finding.value and _with_basis(one) == finding.units:
            return one.name
    return ""


def _with_basis(one: Measurement) -> str:
    return f"{one.units} ({one.rests_on})" if one.rests_on else one.units


def read_report_findings(instance: Instance, images: Sequence[Instance]) -> ReportMarks:
    """Return the marks in a report as findings on open images.

    The references to images have no pixel hash, which a report does not hold.

    Args:
        instance: The report.
        images: The open images that it names, of the same patient.

    Raises:
        FileProblem: The file cannot be read, or holds no report.
    """
    dataset = read_header(instance.path).dataset
    if "ContentSequence" not in dataset:
        raise guards.problem(instance.path, "it is a report without any content", guards.COPY_AGAIN)
    reader = _MarkReader(dataset, instance, images)
    for group in _groups(dataset, 0):
        reader.read(group)
    return reader.marks()


def _groups(item: Dataset, depth: int) -> Iterator[Dataset]:
    for child in items_of(item, "ContentSequence") if depth < _MAX_DEPTH else ():
        if code_value(first_item(child, "ConceptNameCodeSequence")) == _GROUP:
            yield child
        elif text_of(child, "ValueType").upper() == "CONTAINER":
            yield from _groups(child, depth + 1)


@dataclass(slots=True)
class _Group:
    """One measurement group as it is in the file."""

    label: str = ""
    uid: str = ""
    code: Code | None = None
    site: Code | None = None
    algorithm: str = ""
    version: str = ""
    created: str = ""
    texts: list[str] = field(default_factory=list[str])
    measurements: list[Measurement] = field(default_factory=list[Measurement])
    regions: list[Dataset] = field(default_factory=list[Dataset])


class _LeftOutError(Exception):
    """A group that does not become a finding; its text says why."""


class _MarkReader:
    """Reader of one report's groups."""

    def __init__(self, root: Dataset, instance: Instance, images: Sequence[Instance]) -> None:
        self._root = root
        self._images = {one.sop_instance_uid: one for one in images}
        self._own = text_of(root, "Manufacturer") == "Sightline"
        self._program = "" if self._own else _program(root)
        self._source = instance.sop_instance_uid
        self._found: dict[str, Finding] = {}
        self._left_out: list[tuple[str, str]] = []

    def marks(self) -> ReportMarks:
        return ReportMarks(tuple(self._found.values()), tuple(self._left_out))

    def read(self, item: Dataset) -> None:
        group = _group(item)
        if not group.algorithm and self._program:
            group.algorithm, group.version = self._program, "unknown"
        try:
            if len(self._found) >= MAX_MARKS:
                raise _LeftOutError(f"only the first {MAX_MARKS:,} marks are taken")
            self._take(group)
        except _LeftOutError as error:
            self._left_out.append((group.label, str(error)))

    def _take(self, group: _Group) -> None:
        if not group.regions:
            raise _LeftOutError("the report holds no outline of it; a mask has a file of its own")
        texts = self._texts(group)
        kind, tool = self._kind(group, texts)
        places = [self._place(region, texts) for region in group.regions]
        image, plane = places[0][:2]
        if any(one[:2] != (image, plane) for one in places):
            raise _LeftOutError("its parts lie on several images")
        shapes = [shape for one in places for shape in one[2]]
        if not shapes:
            raise _LeftOutError("its coordinates are damaged")
        known = self._found.get(id_of_uid(group.uid)) if group.uid else None
        if known is not None and kind is Segments and isinstance(known.geometry, Segments):
            more = Segments((*known.geometry.points, *_ends(shapes)))
            self._found[known.id] = replace(known, geometry=more)
            return
        for shape in [_as_kind(kind, shapes)] if kind is not None else shapes:
            made = self._finding(group, shape, texts, tool)
            if not group.uid or made.id in self._found:
                made = replace(made, id=new_id())
            made = replace(made, image=image, plane=plane)
            self._check_inside(made)
            self._found[made.id] = made

    def _texts(self, group: _Group) -> dict[str, str]:
        """Return this program's own comments by their first word; of another program's none."""
        parts = (text.partition(": ") for text in group.texts) if self._own else ()
        return {name: text for name, _, text in parts if text}

    def _kind(self, group: _Group, texts: Mapping[str, str]) -> tuple[type | None, str]:
        drawn = _DRAWN.fullmatch(texts.get("Drawn as", ""))
        if drawn is not None:
            return _KINDS.get(drawn[1]), drawn[2] or ""
        return _ELSEWHERE.get(group.label.rpartition(":")[2].strip().lower()), ""

    def _place(
        self, region: Dataset, texts: Mapping[str, str]
    ) -> tuple[ImageRef, FramePlane | None, tuple[Geometry, ...]]:
        kind = text_of(region, "GraphicType").upper()
        data = numbers(value_of(region, "GraphicData"))
        if len(data) > _MOST_POINTS:
            raise _LeftOutError("it has too many points")
        if text_of(region, "ValueType").upper() == "SCOORD3D":
            return self._in_space(region, kind, data, texts)
        if is_on_whole_slide(region):
            raise _LeftOutError("it lies in a whole slide, not in one image of it")
        points = coordinate_pairs(data)
        reference = self._image_of(region)
        uid = text_of(reference, "ReferencedSOPInstanceUID")
        if uid not in self._images:
            raise _LeftOutError("its image is not open")
        frames = frames_of(reference) if reference is not None else []
        if not frames and self._images[uid].frames > 1:
            raise _LeftOutError("it does not say on which frame of its image it lies")
        frame = frames[0] if frames else 0
        if not 0 <= frame < self._images[uid].frames:
            raise _LeftOutError("its image has no such frame")
        placed = [pixel_point(point) for point in points or ()]
        return ImageRef(uid, frame, ""), None, _shapes(kind, placed)

    def _image_of(self, region: Dataset) -> Dataset | None:
        for child in items_of(region, "ContentSequence"):
            found = first_item(child, "ReferencedSOPSequence")
            if found is not None:
                return found
            # By reference (C.17.3.2.5): the path of an item elsewhere in the document.
            item: Dataset | None = self._root
            for part in numbers(value_of(child, "ReferencedContentItemIdentifier"))[1:_MAX_DEPTH]:
                items = items_of(item, "ContentSequence") if item is not None else []
                item = items[int(part) - 1] if 1 <= part <= len(items) else None
            if item is not None and item is not self._root:
                return first_item(item, "ReferencedSOPSequence")
        return None

    def _in_space(
        self, region: Dataset, kind: str, data: Sequence[float], texts: Mapping[str, str]
    ) -> tuple[ImageRef, FramePlane | None, tuple[Geometry, ...]]:
        space = text_of(region, "ReferencedFrameOfReferenceUID")
        if len(data) < 3 or len(data) % 3 or not all(abs(value) < 1e6 for value in data):
            raise _LeftOutError("its coordinates are damaged")
        points: list[XYZ] = [(data[k], data[k + 1], data[k + 2]) for k in range(0, len(data), 3)]
        section = _section(texts.get("Section", ""), space)
        if section is not None:
            ref, plane = section
            return ref, plane, _shapes(kind, [plane.pixel(point)[:2] for point in points])
        for image in self._images.values():
            plane = instance_plane(image) if image.frames == 1 else None
            if plane is None or not space or plane.frame_of_reference != space:
                continue
            placed = [plane.pixel(point) for point in points]
            if all(abs(one[2]) <= _half_thickness(image) for one in placed):
                ref = ImageRef(image.sop_instance_uid, 0, "")
                return ref, None, _shapes(kind, [one[:2] for one in placed])
        raise _LeftOutError("no open image that the report names lies in its plane")

    def _check_inside(self, finding: Finding) -> None:
        image = self._images.get(finding.image.sop_instance_uid)
        if image is None or finding.plane is not None:
            return
        most = (image.columns - 0.5 + _OUTSIDE_PX, image.rows - 0.5 + _OUTSIDE_PX)
        least = -0.5 - _OUTSIDE_PX
        for point in _points(finding.geometry):
            if not all(least <= part <= end for part, end in zip(point, most, strict=True)):
                raise _LeftOutError("it lies outside its image")

    def _finding(
        self, group: _Group, shape: Geometry, texts: Mapping[str, str], tool: str
    ) -> Finding:
        bases = {one.name: texts.get(one.name, "") for one in group.measurements}
        measured = [
            replace(one, rests_on=bases[one.name].removeprefix("on "))
            if bases[one.name].startswith("on ")
            else one
            for one in group.measurements
        ]
        scores = [one.value for one in measured if one.name == "Score" and not one.units]
        values = tuple(one for one in measured if not (one.name == "Score" and not one.units))
        shown = next((one for one in values if one.name == texts.get("Shown value")), None)
        if not self._own and values:
            shown = values[0]
        state, reviewer, reviewed = _state(texts.get("State", ""), self._own, group)
        created = {"created": group.created} if group.created else {}
        if group.algorithm:
            name, _, model = group.algorithm.partition(" / ")
            origin = Provenance(name, group.version, model, "", self._source, "", **created)
        else:
            origin = Provenance(tool or _tool(shape, values), "", "", "", "", "", **created)
        return Finding(
            id=id_of_uid(group.uid) if group.uid else new_id(),
            image=ImageRef("", 0, ""),
            geometry=shape,
            label=group.label or (group.code.meaning if group.code else "") or "Finding",
            score=scores[0] if scores else None,
            units=_with_basis(shown) if shown else "",
            provenance=origin,
            value=shown.value if shown else None,
            description=texts.get("Description", ""),
            approximate=texts.get("Values", "") == _FLAG,
            group=texts.get("Group", ""),
            ratio=texts.get("Gives", ""),
            rests_on=tuple(filter(None, texts.get("Computed from", "").split("; "))),
            measurements=values,
            state=state,
            reviewer=reviewer,
            reviewed=reviewed,
            code=group.code,
            site=group.site,
        )


def _program(root: Dataset) -> str:
    """Return the program that found what another program's report holds; "" if a person did.

    A report that no person observed or verified may hold what a program found by itself.
    """
    if text_of(root, "VerificationFlag").upper() == "VERIFIED":
        return ""
    name = ""
    for child in items_of(root, "ContentSequence"):
        concept = code_value(first_item(child, "ConceptNameCodeSequence"))
        if concept == _OBSERVER_TYPE:
            if code_value(first_item(child, "ConceptCodeSequence")) == _PERSON:
                return ""
        elif concept == _DEVICE_NAME:
            name = text_of(child, "TextValue")
    return " ".join((name or text_of(root, "Manufacturer") or "another program").split())[:64]


def _group(item: Dataset) -> _Group:
    group = _Group(created=_iso(text_of(item, "ObservationDateTime")))
    for child in items_of(item, "ContentSequence"):
        name = code_value(first_item(child, "ConceptNameCodeSequence"))
        kind, text = text_of(child, "ValueType").upper(), text_of(child, "TextValue")
        if name == _TRACKING_ID:
            group.label = " ".join(text.split())[:200]
        elif name == _TRACKING_UID:
            group.uid = text_of(child, "UID")
        elif name == _ALGORITHM:
            group.algorithm = text
        elif name == _VERSION:
            group.version = text
        elif name == _FINDING and kind == "CODE":
            group.code = _code(first_item(child, "ConceptCodeSequence"))
        elif name in (_SITE, "G-C0E3") and kind == "CODE":
            group.site = _code(first_item(child, "ConceptCodeSequence"))
        elif name == _COMMENT and kind == "TEXT":
            group.texts.append(text)
        elif kind == "NUM":
            group.measurements += _measurement(child)
    group.regions += _regions(item, 0)
    return group


def _regions(item: Dataset, depth: int) -> Iterator[Dataset]:
    """Yield the regions of a group, also those from which a measurement is inferred."""
    for child in items_of(item, "ContentSequence") if depth < _MAX_DEPTH else ():
        if text_of(child, "ValueType").upper() in ("SCOORD", "SCOORD3D"):
            yield child
        else:
            yield from _regions(child, depth + 1)


def _code(item: Dataset | None) -> Code | None:
    value, scheme = code_value(item), text_of(item, "CodingSchemeDesignator")
    if not value or scheme == SCHEME:  # a private code only repeats the label
        return None
    return Code(value, scheme, code_meaning(item))


def _measurement(item: Dataset) -> list[Measurement]:
    name = first_item(item, "ConceptNameCodeSequence")
    measured = first_item(item, "MeasuredValueSequence")
    if measured is None:
        return []
    exact = numbers(value_of(measured, "FloatingPointValue"))
    values = exact or numbers(value_of(measured, "NumericValue"))
    if len(values) != 1 or not math.isfinite(values[0]):
        return []
    units = first_item(measured, "MeasurementUnitsCodeSequence")
    shown = {"1": "", "{ratio}": "ratio"}.get(code_value(units), unit_text(units))
    title = _BY_CODE.get(code_value(name)) or code_meaning(name)
    return [Measurement(title, values[0], shown)]


def _shapes(kind: str, points: Sequence[XY]) -> tuple[Geometry, ...]:
    """Return the geometries of a graphic; an upright ellipse stays one."""
    if kind == "CIRCLE" and len(points) == 2:
        (x, y), radius = points[0], math.dist(points[0], points[1])
        return (Ellipse(x - radius, y - radius, x + radius, y + radius),) if radius else ()
    if kind == "ELLIPSE" and len(points) == 4:
        xs, ys = zip(*points, strict=True)
        one, other = np.ptp(np.array(points[:2]), axis=0), np.ptp(np.array(points[2:]), axis=0)
        askew = max(min(one), min(other))
        if askew <= _SNAP_PX and min(xs) < max(xs) and min(ys) < max(ys):
            return (Ellipse(min(xs), min(ys), max(xs), max(ys)),)
    return graphic_geometries(kind, points)


def _points(shape: Geometry) -> tuple[XY, ...]:
    match shape:
        case Point(x, y):
            return ((x, y),)
        case Polyline(points) | Polygon(points) | Segments(points):
            return points
        case Box(x0, y0, x1, y1) | Ellipse(x0, y0, x1, y1):
            return (x0, y0), (x1, y1)
        case _:
            return ()


def _ends(shapes: Sequence[Geometry]) -> tuple[XY, ...]:
    return tuple(point for one in shapes for point in _points(one))


def _as_kind(kind: type, shapes: Sequence[Geometry]) -> Geometry:
    points = _ends(shapes)
    xs, ys = zip(*points, strict=True)
    if kind is Segments and len(points) % 2 == 0:
        return Segments(points)
    if kind is Box and len(points) == 4 and min(xs) < max(xs) and min(ys) < max(ys):
        edges = min(xs), min(ys), max(xs), max(ys)
        near = [(_near(x, edges[0], edges[2]), _near(y, edges[1], edges[3])) for x, y in points]
        if len(set(near)) == 4 and all(None not in one for one in near):
            return Box(*map(_snapped, edges))
    if kind is Polyline and isinstance(shapes[0], Polygon):
        return Polyline((*points, points[0]))
    if kind is Polyline and isinstance(shapes[0], Point):
        return Polyline(points)
    return shapes[0]


def _near(value: float, low: float, high: float) -> bool | None:
    """Return False near `low`, True near `high`, None near neither."""
    if min(value - low, high - value) > _SNAP_PX:
        return None
    return high - value < value - low


def _snapped(value: float) -> float:
    near = round(value * 2) / 2
    return near if abs(near - value) < _SNAP_PX else value


def _section(text: str, space: str) -> tuple[ImageRef, FramePlane] | None:
    found = _SECTION.fullmatch(text)
    if found is None or not space:
        return None

    def floats(group: int) -> Any:
        return tuple(float(part) for part in found[group].split())

    rows = floats(6)
    if min(rows) <= 0:
        return None
    plane = FramePlane(floats(3), floats(4), floats(5), rows, space)
    return ImageRef(found[1], int(found[2]) - 1, ""), plane


def _half_thickness(image: Instance) -> float:
    found = re.match(_NUMBER, image.get("SliceThickness").strip())
    return max(float(found[0]) / 2, 0.05) if found else 0.5


def _state(text: str, own: bool, group: _Group) -> tuple[State, str, str]:
    """Return state, reviewer and time; what another program's algorithm found is proposed."""
    found = _STATE.fullmatch(text)
    if found is not None:
        return State(found[1]), found[2] or "", found[3] or ""
    if text.startswith("marked by hand"):
        who = re.fullmatch(r"marked by hand(?: by (.*?))?(?:, (\d{4}-\d\d-\d\dT\S+))?", text)
        return State.ACCEPTED, (who and who[1]) or "", (who and who[2]) or ""
    return (State.PROPOSED if group.algorithm or own else State.ACCEPTED), "", ""


def _tool(shape: Geometry, values: Sequence[Measurement]) -> str:
    if isinstance(shape, Polyline):
        angle = len(shape.points) == 3 and any("ngle" in one.name for one in values)
        return "angle" if angle else "ruler" if len(shape.points) == 2 else "polyline"
    if isinstance(shape, Segments) and any("Cobb" in one.name for one in values):
        return "cobb"
    return _TOOLS[type(shape)]


def _iso(text: str) -> str:
    """Return a DT value as ISO 8601, or "" if it is none with a time zone."""
    try:
        return datetime.strptime(text, "%Y%m%d%H%M%S%z").isoformat(timespec="seconds")
    except ValueError:
        return ""


def id_of_uid(uid: str) -> str:
    """Return the id of a finding by its Tracking UID; the way back is `writing.uid_of_id`."""
    number = uid.removeprefix("2.25.")
    if number != uid and number.isdecimal() and int(number) < 2**128:
        return f"{int(number):032x}"
    return uid
