"""Pictures for the chosen language model, if it accepts them: which, and what it is asked."""

from __future__ import annotations

import tomllib
from functools import cache
from typing import Any

from app.paths import resources_dir
from app.tools.api import ToolContext, ToolFailed


@cache
def image_prompts() -> dict[str, Any]:
    """Return what a model that accepts pictures is asked: "system", "question", "modalities"."""
    path = resources_dir() / "prompts" / "medical_images.toml"
    return tomllib.loads(path.read_text("utf-8"))


def vision_model(context: ToolContext, what: str) -> str:
    """Return the name of the chosen model, which can look at pictures.

    Raises:
        ToolFailed: None is chosen, or it accepts no pictures.
    """
    remedy = "Choose a language model that accepts pictures in the settings, then ask again."
    if context.model is None:
        raise ToolFailed(f"{what} needs a vision model, and none is chosen", remedy=remedy)
    if not context.model.sees:
        raise ToolFailed(
            f"{what} needs a vision model, and {context.model.name} accepts no pictures",
            remedy=remedy,
        )
    return context.model.name
