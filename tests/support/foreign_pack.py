"""A pack of another package: loaded by an entry point, without any rule in this program."""

from __future__ import annotations

from enum import Enum
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from app.tools.api import Registrar, Resource, ToolContext, ToolResult, ToolSpec, takes


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid")


class Channel(Enum):
    """A stain's colour."""

    RED = "red"
    FAR_RED = "far red"
    GREEN = "green"


class CountInput(_Strict):
    """Arguments of `cell_counter`."""

    image_path: str = Field(description="The picture.")
    channel: Channel = Channel.RED
    threshold: float = 0.5
    overlay: bool = False


class BlurInput(_Strict):
    """Arguments of `blur`."""

    image: str
    radius: int = Field(description="In pixels.")


class QuestionInput(_Strict):
    """Arguments of `slide_question`."""

    image_path: str
    question: str = Field(description="What to look for.")


class AlignInput(_Strict):
    """Arguments of `align-images`."""

    fixed_path: str = takes(Resource.IMAGE)
    moving_path: str = takes(Resource.IMAGE)
    mode: Literal["rigid", "affine"]


class LogInput(_Strict):
    """Arguments of `audit_log`: none takes an image."""

    output_path: str | None = None
    level: Literal["low", "high"] | None = None
    stains: list[Literal["H&E", "Ki-67"]] = []


class MaskInput(_Strict):
    """Arguments of `grow_mask`."""

    image_path: str
    cells_path: str = takes(Resource.MASK)


class ForeignOutput(BaseModel):
    """The output of all tools of the pack."""


class ForeignTool:
    """A tool that returns the arguments it was given."""

    def __init__(self, name: str, arguments: type[BaseModel], *phrases: str) -> None:
        self.spec = ToolSpec(
            name=name,
            description=f"Works {name}. It is made for tests.",
            Input=arguments,
            Output=ForeignOutput,
            pack="foreign",
            phrases=phrases,
        )

    def run(self, args: Any, context: ToolContext) -> ToolResult:
        """Return the arguments, and a file of cells."""
        given = args.model_dump(mode="json")
        output = {"cells_path": str(context.out_dir / "cells.json"), "count": 1234, "given": given}
        return ToolResult("", output, {})


def register(registry: Registrar) -> None:
    """Register the pack's tools."""
    registry.register(ForeignTool("cell_counter", CountInput, "count cells", "cell count"))
    registry.register(ForeignTool("blur", BlurInput, "blur"))
    registry.register(ForeignTool("slide_question", QuestionInput))
    registry.register(ForeignTool("align-images", AlignInput))
    registry.register(ForeignTool("audit_log", LogInput, "write the log"))
    registry.register(ForeignTool("grow_mask", MaskInput))
