"""Whether an image is one that a tool is for, by what the tool's pack says."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from app.agent.image_reference import name_of
from app.agent.planning.steps import OpenImage, Output, Scene, Source, Step
from app.tools.planning import Accepts


def unsuited(accepts: Accepts, note: Mapping[str, Any]) -> str:
    """Why a tool that accepts so must not be run on an image, or ""."""
    name = name_of(note)
    what = accepts.what or "an image that this tool is for"
    kind = str(note.get("kind") or "").strip()
    if accepts.kinds and kind and kind not in accepts.kinds:
        return f"{name} is {'DICOM' if kind == 'dicom' else f'a {kind}'}, not {what}"
    modality = str(note.get("modality") or "").strip().upper()
    if accepts.modalities and modality and modality not in accepts.modalities:
        return f"{name} is {modality}, not {what}"
    part = str(note.get("body_part") or "").strip().upper()
    if accepts.body_parts and part and not any(piece in part for piece in accepts.body_parts):
        return f"the file of {name} says that it shows the {part.lower()}: it is not {what}"
    return ""


def unsuitable(tool: str, target: Source | None, before: Sequence[Step], scene: Scene) -> str:
    """Why a step's tool must not be run on its target, or ""."""
    shown = shown_image(target, before)
    note = scene.note(shown) if shown is not None else None
    return unsuited(scene.plans.rule(tool).accepts, note) if note is not None else ""


def shown_image(target: Source | None, before: Sequence[Step]) -> OpenImage | None:
    """The open image that a target shows, directly or converted."""
    if isinstance(target, Output) and target.fallback and target.step <= len(before):
        return shown_image(before[target.step - 1].target or OpenImage(), before)
    return target if isinstance(target, OpenImage) else None
