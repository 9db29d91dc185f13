"""Spatial coordinates of a report as a layer that is drawn over the images it names."""

from __future__ import annotations

from dataclasses import replace

from app.imaging.layers import Layer, LayerItem, Shape
from app.imaging.objects.layer_colors import palette_color
from app.imaging.report import REFERENCE, Report, ReportNode
from app.imaging.types import Instance

ALL_FRAMES = -1
TITLE = "From the report"
_TRACKING = "Tracking Identifier"

Regions = dict[tuple[str, int], tuple[Shape, ...]]


def report_layer(report: Report, instance: Instance) -> tuple[Layer, Regions] | None:
    """Return the image regions in a report (SCOORD, PS3.3 C.18.6), each once.

    Args:
        report: The report.
        instance: The report's instance, recorded as the source of the layer.

    Returns:
        The layer, with one item for each measurement or measurement group that has regions; and a
        mapping from (SOP Instance UID, frame from 0 or `ALL_FRAMES`) to shapes. None if the report
        has no regions in image pixels.
    """
    items: dict[int, LayerItem] = {}
    found: dict[tuple[str, int], list[Shape]] = {}
    stack: list[tuple[ReportNode, ReportNode]] = [(report.root, report.root)]
    numbers: dict[int, int] = {}
    while stack:
        node, parent = stack.pop()
        stack.extend((child, node) for child in reversed(node.children))
        if node.kind == REFERENCE or not node.shapes or not node.links:
            continue
        number = numbers.setdefault(id(parent), len(numbers) + 1)
        if number not in items:
            label = _label(parent, node)
            items[number] = LayerItem(number, label, palette_color(number), _detail(parent))
        for link in node.links:
            for frame in link.frames or (ALL_FRAMES,):
                shapes = found.setdefault((link.sop_instance_uid, frame), [])
                shapes += [replace(shape, item=number) for shape in node.shapes]
    if not items:
        return None
    title = f"{TITLE}: {report.title}" if report.title else TITLE
    layer = Layer(instance, title, tuple(items.values()))
    return layer, {key: tuple(shapes) for key, shapes in found.items()}


def _label(parent: ReportNode, node: ReportNode) -> str:
    """Return the name of the measurement or tracked group to which a region belongs."""
    if parent.kind == "NUM":
        return f"{parent.name}: {parent.value}"
    tracked = next((one.value for one in parent.children if one.name == _TRACKING), "")
    return tracked or parent.name or node.name or "Region"


def _detail(parent: ReportNode) -> str:
    """Return the measurements of a group as the report states them."""
    measured = [f"{one.name}: {one.value}" for one in parent.children if one.kind == "NUM"]
    return ". ".join(measured)
