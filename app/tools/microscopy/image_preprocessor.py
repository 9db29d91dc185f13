"""The tool `image_preprocessor`: evens out light, brightness and noise of microscopy images."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, Field

from app.tools.api import (
    Artifact,
    ImageSnapshot,
    Need,
    Resource,
    ToolContext,
    ToolFailed,
    ToolInput,
    ToolResult,
    ToolSpec,
    takes,
)
from app.tools.files import plain, save_png
from app.tools.microscopy.names import OTHER_NAMES, PREPROCESSOR
from app.tools.microscopy.segmentation import chosen_pixels, save_pixels
from app.tools.needs import require_packages

Step = Literal["illumination", "brightness", "denoise"]

_TIMEOUT_S = 580.0
_MOST = 200
_MAX_BYTES = 2**31
_NAMED = 5


class PreprocessorInput(ToolInput):
    """Arguments of `image_preprocessor`."""

    image_path: Annotated[str, takes(Resource.IMAGE, "The image id or path.")]
    image_paths: Annotated[
        list[str] | None,
        takes(
            Resource.IMAGES,
            "Further images: brightness is made alike among all images of a group.",
        ),
    ] = None
    channel: Annotated[
        int | str | None,
        takes(
            Resource.CHANNEL,
            "The channel, by its number from 1 or its name; the shown one when left out.",
        ),
    ] = None
    steps: list[Step] = Field(
        default=["illumination", "denoise", "brightness"],
        min_length=1,
        description="illumination flattens uneven light, denoise removes noise, brightness gives "
        "the images of each group the same background and range.",
    )


class PreprocessedImage(BaseModel):
    """One image that was made, and what was done to it."""

    image: str = Field(description="Name of the image it was made from.")
    image_path: str = Field(description="TIFF with the same number of bits.")
    group: str
    done: list[str]


class PreprocessorOutput(BaseModel):
    """The images that were made; image_path is the first one's."""

    image_path: str
    images: list[PreprocessedImage]


SPEC = ToolSpec(
    name=PREPROCESSOR,
    other_names=OTHER_NAMES[PREPROCESSOR],
    title="Clean up images",
    icon="contrast",
    description=(
        "Prepares microscopy images: flattens uneven light, removes noise, and gives the images of "
        "each group the same brightness. Makes new images with the same number of bits, and says "
        "what was done to each. Intensities are then no longer comparable between groups."
    ),
    Input=PreprocessorInput,
    Output=PreprocessorOutput,
    needs=(Need("package", "skimage"),),
    timeout_s=600.0,
    pack="microscopy",
    phrases=("preprocess", "denoise", "flatten the illumination", "normalise the brightness"),
)


class ImagePreprocessor:
    """The tool `image_preprocessor`: evens out light, brightness and noise of images."""

    spec = SPEC

    def run(self, args: PreprocessorInput, context: ToolContext) -> ToolResult:
        """Prepare the images, each group together; for errors see `app.tools.api.Tool.run`."""
        require_packages(SPEC.title, "skimage")
        names = list(dict.fromkeys([args.image_path, *(args.image_paths or ())]))
        if len(names) > _MOST:
            raise ToolFailed(
                f"{len(names):,} images are too many at once",
                remedy=f"Prepare at most {_MOST} together.",
            )
        context.progress(0.02, "Reading the images")
        groups: dict[str, list[tuple[ImageSnapshot, NDArray[Any]]]] = {}
        size = 0
        for name in names:
            context.cancel.check()
            snapshot, pixels = chosen_pixels(name, args.channel, context)
            size += pixels.nbytes
            if size > _MAX_BYTES:
                raise ToolFailed(
                    "these images together are larger than 2 GB",
                    remedy="Prepare fewer at a time.",
                )
            groups.setdefault(snapshot.group, []).append((snapshot, pixels))
        made: list[dict[str, Any]] = []
        artifacts: list[Artifact] = []
        for group, members in groups.items():
            answer = context.host.call(
                "app.tools.microscopy.preprocessing:entry",
                {
                    "device": "cpu",
                    "images": [np.ascontiguousarray(pixels) for _, pixels in members],
                    "steps": list(args.steps),
                },
                cancel=context.cancel,
                timeout_s=_TIMEOUT_S,
                progress=context.progress,
            )
            for (snapshot, _), pixels, done in zip(
                members, answer["images"], answer["done"], strict=True
            ):
                context.cancel.check()
                path = save_pixels(pixels, context.out_dir, "prepared")
                context.images.add_derived(path, snapshot)
                made.append(
                    {
                        "image": snapshot.path.name,
                        "image_path": str(path),
                        "group": group,
                        "done": done,
                    }
                )
                artifacts.append(
                    Artifact(path, "file", snapshot.path.name, "; ".join(done), snapshot.ref)
                )
        artifacts.insert(0, _preview(made[0], groups, context))
        return ToolResult(
            summary=_summary(made),
            output=plain({"image_path": made[0]["image_path"], "images": made}),
            metadata={"steps": list(args.steps), "groups": sorted(groups), "status": "completed"},
            artifacts=tuple(artifacts),
        )


def _preview(
    first: dict[str, Any],
    groups: dict[str, list[tuple[ImageSnapshot, NDArray[Any]]]],
    context: ToolContext,
) -> Artifact:
    """Return an eight-bit picture of the first image, for the chat."""
    snapshot = next(iter(groups.values()))[0][0]
    shown = context.images.resolve(first["image_path"]).display
    return Artifact(
        save_png(shown, context.out_dir, "prepared"),
        "image",
        "Prepared image",
        "; ".join(first["done"]),
        snapshot.ref,
    )


def _summary(made: list[dict[str, Any]]) -> str:
    count = "1 image" if len(made) == 1 else f"{len(made):,} images"
    lines = [f"{one['image']}: {', '.join(one['done'])}" for one in made[:_NAMED]]
    more = f"; and {len(made) - _NAMED:,} more" if len(made) > _NAMED else ""
    return f"Prepared {count}. {'; '.join(lines)}{more}."
