"""What a TIFF file says besides its pixels: OME-XML, ImageJ, slide scanners, tags.

OME-XML: openmicroscopy.org, OME/2016-06. Its sizes are in micrometres where it gives no unit.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import tifffile

from app.errors import FileProblem
from app.imaging import guards
from app.imaging.attributes import AttributeRow
from app.imaging.formats.stated_spacing import stated_spacing
from app.imaging.space.spacing import MAX_ANISOTROPY
from app.imaging.types import Spacing, SpacingSource, VoiFunction, Window

MAX_XML = 2**24
_ORIENTATION = 274
_X_RESOLUTION, _Y_RESOLUTION = 282, 283
_MAX_TEXT = 512
_MAX_ROWS = 2000
_MAX_VALUES = 2**16
_BYTES = (1, 2, 6, 7)
"""Types of which a value is no object of its own: bytes and text."""
_MM = {
    "m": 1e3, "cm": 10.0, "mm": 1.0, "um": 1e-3, "µm": 1e-3, "μm": 1e-3, "\\u00b5m": 1e-3,
    "micron": 1e-3, "microns": 1e-3, "micrometer": 1e-3, "nm": 1e-6, "pm": 1e-9, "å": 1e-7,
    "in": 25.4, "inch": 25.4, "inches": 25.4,
}  # fmt: skip
_MPP = re.compile(r"\bMPP\s*=\s*([0-9.]{1,12})")


@dataclass(frozen=True, slots=True)
class Metadata:
    """What a series says of itself.

    Attributes:
        format: "TIFF", "OME-TIFF", "ImageJ TIFF" or "SVS".
        name: Its name.
        spacing: Of its full resolution.
        turn: TIFF Orientation, 1 to 8.
        attributes: For `Instance.attributes`.
        channels: Names of its channels.
        ranges: (lowest, highest) value to be shown, for every channel.
    """

    format: str = "TIFF"
    name: str = ""
    spacing: Spacing = field(default_factory=Spacing)
    turn: int = 1
    attributes: dict[str, str] = field(default_factory=dict[str, str])
    channels: tuple[str, ...] = ()
    ranges: tuple[tuple[float, float], ...] = ()

    def channel_name(self, channel: int) -> str:
        """A channel's name, or ""."""
        return self.channels[channel] if channel < len(self.channels) else ""

    def window_of(self, channel: int) -> Window | None:
        """The window in which the file wants a channel to be shown, or None."""
        if channel >= len(self.ranges):
            return None
        low, high = self.ranges[channel]
        return Window((low + high) / 2, high - low, VoiFunction.LINEAR_EXACT, "file")


def safe_xml(path: Path, text: str) -> ET.Element:
    """Parse OME-XML; declarations of entities, which can grow without bound, are refused.

    Raises:
        FileProblem: It is too long, declares entities, or is no XML.
    """
    if len(text) > MAX_XML or re.search(r"<!\s*(DOCTYPE|ENTITY)", text, re.IGNORECASE):
        raise guards.problem(path, "its OME description is not safe to be read")
    try:
        return ET.fromstring(text)  # entities were refused above
    except ET.ParseError:
        raise guards.problem(path, "its OME description is damaged", guards.COPY_AGAIN) from None


def check_ome(path: Path, text: str) -> None:
    """Refuse OME-XML that is not safe, or declares more planes than are shown.

    Parsers make an object of every plane that it declares, whether or not it is in the file.

    Raises:
        FileProblem: See above.
    """
    for element in safe_xml(path, text).iter():
        if element.tag.rpartition("}")[2] == "Pixels":
            sizes = [_number(element.get(f"Size{axis}")) for axis in "ZCT"]
            if math.prod(sizes) > guards.MAX_FRAMES:
                reason = "its OME description declares more planes than can be right"
                raise guards.problem(path, reason, guards.COPY_AGAIN)


def metadata_of(tif: tifffile.TiffFile, number: int) -> Metadata:
    """What the file says of its series `number`; damaged metadata says nothing."""
    series: Any = tif.series[number]
    page = series.keyframe
    turn = _orientation(page)
    if tif.is_ome and series.kind == "ome":
        return _ome(tif, number, turn)
    if tif.is_imagej and series.kind == "imagej":
        return _imagej(tif, page, turn)
    found = _MPP.search(str(page.description)[:4096]) if tif.is_svs else None
    if found is not None:
        step = _number(found.group(1)) * 1e-3
        note = "stated by the file (MPP of the slide scanner)"
        spacing = stated_spacing(step, step, SpacingSource.CALIBRATED, note)
        return Metadata("SVS", str(series.name), spacing, turn)
    return Metadata("TIFF", "", _paper(page), turn)


def _orientation(page: Any) -> int:
    tag = page.tags.get(_ORIENTATION)
    value = tag.value if tag is not None else 1
    return int(value) if value in range(1, 9) else 1


def _number(value: Any) -> float:
    try:
        number = float(value)
    except (TypeError, ValueError):
        return 0.0
    return number if math.isfinite(number) else 0.0


def _resolution(page: Any, code: int) -> float:
    """Pixels per unit; 0 when the file does not say."""
    tag = page.tags.get(code)
    value: Any = tag.value if tag is not None else (0, 1)
    try:
        numerator, denominator = value
        return float(numerator) / float(denominator) if denominator else 0.0
    except (TypeError, ValueError):
        return 0.0


def _paper(page: Any) -> Spacing:
    """No spacing; the shape of a pixel, since a fax has more columns than rows an inch."""
    x, y = _resolution(page, _X_RESOLUTION), _resolution(page, _Y_RESOLUTION)
    if x <= 0 or y <= 0 or (x, y) == (1.0, 1.0):
        return Spacing(note="a picture has no patient scale")
    aspect = x / y if 1 / MAX_ANISOTROPY <= x / y <= MAX_ANISOTROPY else 1.0
    return Spacing(aspect=aspect, note="a print resolution is no patient scale: ignored")


def _imagej(tif: tifffile.TiffFile, page: Any, turn: int) -> Metadata:
    told: dict[str, Any] = dict(tif.imagej_metadata or {})
    unit = str(told.get("unit", "")).strip().lower()
    scale = _MM.get(unit, 0.0)
    x, y = _resolution(page, _X_RESOLUTION), _resolution(page, _Y_RESOLUTION)
    spacing = Spacing(note="ImageJ gives no unit of length")
    if scale and x > 0 and y > 0:
        note = f"stated by the file (ImageJ, in {unit})"
        spacing = stated_spacing(scale / y, scale / x, SpacingSource.CALIBRATED, note)
    ranges: list[tuple[float, float]] = []
    listed: Any = told.get("Ranges", ())
    values = [_number(value) for value in listed] if isinstance(listed, tuple) else []
    pairs = list(zip(values[::2], values[1::2], strict=False))
    if not pairs and "min" in told and "max" in told:
        pairs = [(_number(told["min"]), _number(told["max"]))]
    if pairs and all(high > low for low, high in pairs):
        ranges = pairs
    return Metadata("ImageJ TIFF", "", spacing, turn, ranges=tuple(ranges))


def _ome(tif: tifffile.TiffFile, number: int, turn: int) -> Metadata:
    path = Path(tif.filename or "")
    try:
        root = safe_xml(path, str(tif.pages.first.description))
    except FileProblem:
        return Metadata("OME-TIFF", turn=turn)
    images = [one for one in root if one.tag.rpartition("}")[2] == "Image"]
    if number >= len(images):
        return Metadata("OME-TIFF", turn=turn)
    image = images[number]
    pixels = next((one for one in image if one.tag.rpartition("}")[2] == "Pixels"), None)
    if pixels is None:
        return Metadata("OME-TIFF", turn=turn)
    page: Any = tif.series[number].keyframe
    spacing = Spacing(note="the OME description gives no pixel size")
    row, column = (_ome_mm(pixels, axis) for axis in "YX")
    sizes = (_number(pixels.get("SizeX")), _number(pixels.get("SizeY")))
    if sizes != (page.imagewidth, page.imagelength):
        spacing = Spacing(note="the OME description is of an image of another size")
    elif row and column:
        note = "stated by the file (OME PhysicalSize)"
        spacing = stated_spacing(row, column, SpacingSource.CALIBRATED, note)
    channels = [one.get("Name", "") for one in pixels if one.tag.rpartition("}")[2] == "Channel"]
    attributes = {f"OME {key}": value[:_MAX_TEXT] for key, value in pixels.attrib.items()}
    name = image.get("Name", "")[:100]
    return Metadata("OME-TIFF", name, spacing, turn, attributes, tuple(channels[:1000]))


def _ome_mm(pixels: ET.Element, axis: str) -> float:
    """A pixel's size in mm; 0 when unknown."""
    unit = pixels.get(f"PhysicalSize{axis}Unit", "µm").strip().lower()
    return _number(pixels.get(f"PhysicalSize{axis}")) * _MM.get(unit, 0.0)


def tag_rows(tif: tifffile.TiffFile) -> list[AttributeRow]:
    """Its first page's tags, then what OME or ImageJ says."""
    kind = "BigTIFF" if tif.is_bigtiff else "TIFF"
    rows = [
        AttributeRow("", "Format", "", kind),
        AttributeRow("", "Pages", "", str(len(tif.pages))),
    ]
    for number, series in enumerate(tif.series):
        sizes = ", ".join(f"{axis} {n}" for axis, n in zip(series.axes, series.shape, strict=False))
        rows.append(AttributeRow("", f"Series {number + 1}", "", f"{series.name} {sizes}".strip()))
    for tag in tif.pages.first.tags:
        many = int(tag.count) > _MAX_VALUES and int(tag.dtype) not in _BYTES
        text = f"{tag.count:,} values" if many else _text(tag.value)
        rows.append(AttributeRow(str(tag.code), tag.name, getattr(tag.dtype, "name", ""), text))
        if len(rows) > _MAX_ROWS:
            break
    for key, value in (tif.imagej_metadata or {}).items():
        rows.append(AttributeRow("", f"ImageJ {key}", "", _text(value)))
    if tif.is_ome:
        meta = metadata_of(tif, 0)
        rows += [AttributeRow("", key, "", value) for key, value in meta.attributes.items()]
    return rows[:_MAX_ROWS]


def _text(value: Any) -> str:
    if isinstance(value, bytes):
        return f"{len(value):,} bytes"
    if hasattr(value, "size") and not isinstance(value, int | float | str | tuple):
        return f"{value.size:,} values"
    if isinstance(value, tuple | list):
        parts: list[Any] = list(value)
        if len(parts) > 32:
            return f"{len(parts):,} values"
        value = ", ".join(str(getattr(part, "name", part)) for part in parts)
    text = " ".join(str(getattr(value, "name", value)).split())
    return text if len(text) <= _MAX_TEXT else f"{text[: _MAX_TEXT - 1]}…"
