"""What the tools are called in the window."""

from __future__ import annotations

from app.views.chat.facts import name

# (title, icon) of the tools that ship; any other tool is titled by its own name.
_KNOWN = {
    "dicom_processor": ("Convert DICOM image", "contrast"),
    "image_visualizer": ("Show image", "image"),
    "chest_xray_segmentation": ("Outline chest organs", "scan"),
    "chest_xray_classifier": ("Score chest findings", "stethoscope"),
    "cardiothoracic_ratio": ("Measure heart size", "scan-search"),
}


def title(tool: str) -> str:
    """A tool's title for people."""
    known = _KNOWN.get(tool)
    return known[0] if known else name(tool) or "Tool"


def icon_name(tool: str) -> str:
    """A tool's icon."""
    known = _KNOWN.get(tool)
    return known[1] if known else "wrench"


def model_title(model: str) -> str:
    """A language model's name as a badge."""
    return "Offline planner" if model == "offline" else model
