"""Reads the metadata of a TIFF file: OME-XML, ImageJ, Micro-Manager, slide scanners.

OME-XML is read by the schema OME/2016-06 (openmicroscopy.org). Runs in a worker process.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import tifffile

from app.imaging import guards
from app.imaging.attributes import MAX_TEXT
from app.imaging.axes import WHITE, Channel, Rgb
from app.imaging.pixels.windows import valid_window
from app.imaging.space.spacing import MAX_ANISOTROPY, stated_spacing
from app.imaging.types import Spacing, SpacingSource, VoiFunction, Window

MAX_XML = 2**24
MAX_CHANNELS = 1000
MAX_NAME = 60
_ORIENTATION = 274
_X_RESOLUTION, _Y_RESOLUTION = 282, 283
_MM = {
    "m": 1e3, "cm": 10.0, "mm": 1.0, "um": 1e-3, "µm": 1e-3, "μm": 1e-3, "\\u00b5m": 1e-3,
    "micron": 1e-3, "microns": 1e-3, "micrometer": 1e-3, "nm": 1e-6, "pm": 1e-9, "å": 1e-7,
    "in": 25.4, "inch": 25.4, "inches": 25.4,
}  # fmt: skip
_MS = {"h": 3.6e6, "min": 6e4, "s": 1e3, "ms": 1.0, "us": 1e-3, "µs": 1e-3, "μs": 1e-3}
_MPP = re.compile(r"\bMPP\s*=\s*([0-9.]{1,12})")


@dataclass(frozen=True, slots=True)
class Metadata:
    """Metadata of one TIFF series.

    Attributes:
        format: "TIFF", "OME-TIFF", "ImageJ TIFF" or "SVS".
        name: Name of the series, or "".
        spacing: Pixel spacing of the largest resolution level.
        turn: TIFF Orientation tag, 1 to 8.
        attributes: Keywords and texts to add to `Instance.attributes`.
        channels: What is known of each channel.
        ranges: The (lowest, highest) value to display for each channel.
        z_step_mm: Distance between depths in mm, or None if unknown.
        time_step_ms: Time between time points in ms, or None if unknown.
    """

    format: str = "TIFF"
    name: str = ""
    spacing: Spacing = field(default_factory=Spacing)
    turn: int = 1
    attributes: dict[str, str] = field(default_factory=dict[str, str])
    channels: tuple[Channel, ...] = ()
    ranges: tuple[tuple[float, float], ...] = ()
    z_step_mm: float | None = None
    time_step_ms: float | None = None

    def channel_window(self, channel: int) -> Window | None:
        """Return the window that the file specifies for a channel (from 0), or None if none."""
        if channel >= len(self.ranges):
            return None
        low, high = self.ranges[channel]
        exact = VoiFunction.LINEAR_EXACT
        return valid_window(Window((low + high) / 2, high - low, exact, "file"))


def safe_xml(path: Path, text: str) -> ET.Element:
    """Parse OME-XML; refuse entity declarations, which can expand without limit."""
    if len(text) > MAX_XML or re.search(r"<!\s*(DOCTYPE|ENTITY)", text, re.IGNORECASE):
        raise guards.problem(path, "its OME description is not safe to read")
    try:
        return ET.fromstring(text)  # entities were refused above
    except ET.ParseError:
        raise guards.problem(path, "its OME description is damaged", guards.COPY_AGAIN) from None


def check_ome(path: Path, text: str) -> None:
    """Refuse OME-XML that is unsafe or declares more planes than the viewer supports.

    The TIFF library creates an object for each declared plane, even if the file lacks the plane.
    """
    for element in safe_xml(path, text).iterfind(".//{*}Pixels"):
        sizes = [_number(element.get(f"Size{axis}")) for axis in "ZCT"]
        if math.prod(sizes) > guards.MAX_FRAMES:
            reason = "its OME description declares an impossible number of planes"
            raise guards.problem(path, reason, guards.COPY_AGAIN)


def series_metadata(tif: tifffile.TiffFile, number: int) -> Metadata:
    """Return the metadata of series `number` (from 0); damaged parts are left out."""
    series: Any = tif.series[number]
    page = series.keyframe
    turn = _orientation(page)
    if tif.is_ome and series.kind == "ome":
        return _with_micromanager(tif, _ome(tif, number, turn))
    if tif.is_imagej and series.kind == "imagej":
        return _with_micromanager(tif, _imagej(tif, page, turn))
    found = _MPP.search(str(page.description)[:4096]) if tif.is_svs else None
    if found is not None:
        step = _number(found.group(1)) * 1e-3
        note = "stated by the file (MPP of the slide scanner)"
        spacing = stated_spacing(step, step, SpacingSource.CALIBRATED, note)
        return Metadata("SVS", str(series.name), spacing, turn)
    return Metadata("TIFF", "", _print_spacing(page), turn)


def _orientation(page: Any) -> int:
    """Return the TIFF Orientation, 1 (upright) if there is none."""
    tag = page.tags.get(_ORIENTATION)
    value = tag.value if tag is not None else 1
    return int(value) if value in range(1, 9) else 1


def _number(value: Any) -> float:
    """Return a value as a number, 0 if it is none or not finite."""
    try:
        number = float(value)
    except (TypeError, ValueError):
        return 0.0
    return number if math.isfinite(number) else 0.0


def _resolution(page: Any, code: int) -> float:
    """Return pixels per unit of a resolution tag; 0 if the file does not say."""
    tag = page.tags.get(code)
    value: Any = tag.value if tag is not None else (0, 1)
    try:
        numerator, denominator = value
        return float(numerator) / float(denominator) if denominator else 0.0
    except (TypeError, ValueError):
        return 0.0


def _print_spacing(page: Any) -> Spacing:
    """Return no spacing but the shape of a pixel: a fax has more columns than rows per inch."""
    x, y = _resolution(page, _X_RESOLUTION), _resolution(page, _Y_RESOLUTION)
    if x <= 0 or y <= 0 or (x, y) == (1.0, 1.0):
        return Spacing(note="a picture has no patient scale")
    aspect = x / y if 1 / MAX_ANISOTROPY <= x / y <= MAX_ANISOTROPY else 1.0
    return Spacing(aspect=aspect, note="a print resolution is no patient scale: ignored")


def _imagej(tif: tifffile.TiffFile, page: Any, turn: int) -> Metadata:
    """Return the metadata that ImageJ wrote."""
    stated: dict[str, Any] = dict(tif.imagej_metadata or {})
    unit = str(stated.get("unit", "")).strip().lower()
    scale = _MM.get(unit, 0.0)
    # ImageJ stores pixels per unit in the resolution tags.
    x, y = _resolution(page, _X_RESOLUTION), _resolution(page, _Y_RESOLUTION)
    spacing = Spacing(note="ImageJ gives no unit of length")
    if scale and x > 0 and y > 0:
        note = f"stated by the file (ImageJ, in {unit})"
        spacing = stated_spacing(scale / y, scale / x, SpacingSource.CALIBRATED, note)
    ends = tuple(stated[end] for end in ("min", "max") if end in stated)
    listed: Any = stated.get("Ranges") or ends
    values = [_number(value) for value in listed] if isinstance(listed, tuple) else []
    ranges = tuple(zip(values[::2], values[1::2], strict=False))
    sound = all(high > low for low, high in ranges)
    step, interval = _number(stated.get("spacing")), _number(stated.get("finterval"))
    return Metadata(
        "ImageJ TIFF",
        "",
        spacing,
        turn,
        channels=_imagej_channels(stated),
        ranges=ranges if sound else (),
        z_step_mm=step * scale if scale and step > 0 else None,
        time_step_ms=interval * 1e3 if interval > 0 else None,
    )


def _imagej_channels(stated: dict[str, Any]) -> tuple[Channel, ...]:
    """Return the channels of an ImageJ hyperstack: names by its slice labels, colours by its LUTs.

    A label names a channel where all planes of that channel have it. ImageJ's LUT of a colour ends
    with it; in the mode "grayscale" there are LUTs too, which are not shown.
    """
    count = int(_number(stated.get("channels")))
    if not 1 < count <= MAX_CHANNELS:
        return ()
    labels: Any = stated.get("Labels")
    named = [str(one) for one in labels] if isinstance(labels, list | tuple) else []
    luts: Any = stated.get("LUTs")
    shown = luts if isinstance(luts, list) and stated.get("mode") != "grayscale" else []
    channels: list[Channel] = []
    for number in range(count):
        own = {label.strip() for label in named[number::count]}
        color = None
        if number < len(shown) and getattr(shown[number], "shape", None) == (3, 256):
            red, green, blue = (int(part) for part in shown[number][:, -1])
            color = red, green, blue
        channels.append(Channel(own.pop()[:MAX_NAME] if len(own) == 1 else "", color))
    return _chosen_colors(channels)


def _chosen_colors(channels: Sequence[Channel]) -> tuple[Channel, ...]:
    """Return channels without colours if all are white, or black: then nobody has chosen them."""
    if {channel.color for channel in channels} <= {None, WHITE, (0, 0, 0)}:
        return tuple(replace(channel, color=None) for channel in channels)
    return tuple(channels)


def _with_micromanager(tif: tifffile.TiffFile, found: Metadata) -> Metadata:
    """Return metadata with what only Micro-Manager's summary says; without it, unchanged."""
    if not tif.is_micromanager:
        return found
    try:
        said = tifffile.tifffile.read_micromanager_metadata(tif.filehandle, {"Summary"})
    except (ValueError, OSError):
        return found
    summary: Any = said.get("Summary")
    if not isinstance(summary, dict):
        return found
    names: Any = summary.get("ChNames")
    colors: Any = summary.get("ChColors")
    count = int(_number(summary.get("Channels")))
    channels = found.channels
    if isinstance(names, list) and 1 < len(names) == count <= MAX_CHANNELS:
        known = channels if len(channels) == count else (Channel(),) * count
        given: list[Any] = list(colors) if isinstance(colors, list) else []
        channels = _chosen_colors(
            [
                replace(
                    one,
                    name=one.name or str(name)[:MAX_NAME],
                    color=one.color or (_rgb(int(color)) if isinstance(color, int) else None),
                )
                for one, name, color in zip(known, names, [*given, *[None] * count], strict=False)
            ]
        )
    step, interval = _number(summary.get("z-step_um")), _number(summary.get("Interval_ms"))
    spacing, size = found.spacing, _number(summary.get("PixelSize_um")) * 1e-3
    if not spacing.known and size > 0:
        note = "stated by the file (Micro-Manager)"
        spacing = stated_spacing(size, size, SpacingSource.CALIBRATED, note)
    return replace(
        found,
        channels=channels,
        spacing=spacing,
        z_step_mm=found.z_step_mm or (abs(step) * 1e-3 if step else None),
        time_step_ms=found.time_step_ms or (interval if interval > 0 else None),
    )


def _rgb(value: int) -> Rgb:
    """Return the colour in the lower 24 bits of a number."""
    return value >> 16 & 255, value >> 8 & 255, value & 255


def _ome(tif: tifffile.TiffFile, number: int, turn: int) -> Metadata:
    """Return the metadata of an OME image."""
    root = safe_xml(Path(tif.filename), str(tif.pages.first.description))
    image = next(islice(root.iterfind("{*}Image"), number, None), None)
    pixels = image.find("{*}Pixels") if image is not None else None
    if image is None or pixels is None:
        return Metadata("OME-TIFF", turn=turn)
    page: Any = tif.series[number].keyframe
    spacing = Spacing(note="the OME description gives no pixel size")
    row, column = (_ome_mm(pixels, axis) for axis in "YX")
    sizes = (_number(pixels.get("SizeX")), _number(pixels.get("SizeY")))
    # Tools that crop or shrink an image often copy its description unchanged.
    if sizes != (page.imagewidth, page.imagelength):
        spacing = Spacing(note="the OME description is for an image of another size")
    elif row and column:
        note = "stated by the file (OME PhysicalSize)"
        spacing = stated_spacing(row, column, SpacingSource.CALIBRATED, note)
    attributes = {f"OME {key}": value[:MAX_TEXT] for key, value in pixels.attrib.items()}
    name = image.get("Name", "")[:100]
    step = _ome_mm(pixels, "Z")
    return Metadata(
        "OME-TIFF",
        name,
        spacing,
        turn,
        attributes,
        _ome_channels(pixels),
        z_step_mm=step if step > 0 else None,
        time_step_ms=_ome_interval_ms(pixels),
    )


def _ome_channels(pixels: ET.Element) -> tuple[Channel, ...]:
    """Return the channels; a colour is a signed number of 32 bits, RGBA."""
    found: list[Channel] = []
    for one in islice(pixels.iterfind("{*}Channel"), MAX_CHANNELS):
        color = one.get("Color")
        value = int(_number(color)) if color is not None else None
        found.append(
            Channel(
                (one.get("Name") or one.get("Fluor") or "")[:MAX_NAME],
                _rgb(value >> 8) if value is not None else None,
                _wavelength_nm(one, "Emission"),
                _wavelength_nm(one, "Excitation"),
            )
        )
    return _chosen_colors(found)


def _wavelength_nm(channel: ET.Element, kind: str) -> float | None:
    unit = channel.get(f"{kind}WavelengthUnit", "nm").strip().lower()
    value = _number(channel.get(f"{kind}Wavelength")) * _MM.get(unit, 0.0) * 1e6
    return value if value > 0 else None


def _ome_interval_ms(pixels: ET.Element) -> float | None:
    """Return the time between time points, stated or by the times of the first and last plane."""
    unit = _MS.get(pixels.get("TimeIncrementUnit", "s").strip().lower(), 0.0)
    stated = _number(pixels.get("TimeIncrement")) * unit
    if stated > 0:
        return stated
    times: dict[int, float] = {}
    for plane in pixels.iterfind("{*}Plane"):
        if plane.get("TheC") == "0" and plane.get("TheZ") == "0" and plane.get("DeltaT"):
            unit = _MS.get(plane.get("DeltaTUnit", "s").strip().lower(), 0.0)
            times[int(_number(plane.get("TheT")))] = _number(plane.get("DeltaT")) * unit
    last = max(times, default=0)
    step = (times[last] - times[0]) / last if last and 0 in times else 0.0
    return step if step > 0 else None


def _ome_mm(pixels: ET.Element, axis: str) -> float:
    """Return a pixel's size along an axis in mm; 0 if unknown."""
    unit = pixels.get(f"PhysicalSize{axis}Unit", "µm").strip().lower()
    return _number(pixels.get(f"PhysicalSize{axis}")) * _MM.get(unit, 0.0)
