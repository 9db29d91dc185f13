"""Objects that are shown on images: what `render` draws over one, and a chosen state."""

from __future__ import annotations

from collections.abc import Sequence

from app.errors import FileProblem
from app.imaging.decode import Decoder
from app.imaging.layer_links import layers_for
from app.imaging.layers import Layer, LayerFrame
from app.imaging.presentation import PresentationState
from app.imaging.types import Content, Instance, ScanResult, Series

OVER_IMAGES = (Content.SEGMENTATION, Content.STRUCTURES, Content.PRESENTATION)
Drawn = tuple[Layer, LayerFrame]


def images_under(result: ScanResult, series: Series) -> tuple[Series, list[Instance]] | None:
    """The images that a series of such objects is about, of the first series that has any.

    Those that it names; without any, those in its frame of reference. None without these too.
    """
    every = [one for study in result.studies for one in study.series]
    named = {uid for item in series.instances for uid in item.references}
    for one in every:
        images = [item for item in one.instances if item.is_image]
        found = [item for item in images if item.sop_instance_uid in named]
        if found:
            return one, found
    for one in every:
        found = [i for i in one.instances if i.is_image and layers_for(i, series.instances)]
        if found:
            return one, found
    return None


def layers_on(
    decoder: Decoder, result: ScanResult, instance: Instance, index: int, acquired: Instance
) -> tuple[Drawn, ...]:
    """What the scanned segmentations and contours draw on a frame; empty ones are left out.

    Args:
        decoder: Reads them.
        result: Of the scan.
        instance: The image, or sections through its series.
        index: Its frame.
        acquired: The image itself.
    """
    objects = [
        item
        for study in result.studies
        for one in study.series
        if one.content in OVER_IMAGES
        for item in one.instances
    ]
    drawn: list[Drawn] = []
    for item in layers_for(acquired, objects):
        frame = decoder.layer_frame(item, instance, index).result()
        if frame.shapes:
            drawn.append((decoder.layer(item).result(), frame))
    return tuple(drawn)


def state_for(
    decoder: Decoder, states: Sequence[Instance], instance: Instance, index: int
) -> PresentationState:
    """The first of the presentation states that is about a frame.

    Raises:
        FileProblem: None is.
    """
    for item in states:
        state = decoder.presentation(item).result()
        if state.of(instance.sop_instance_uid, index) is not None:
            return state
    raise FileProblem(
        "this presentation state is not about the chosen image",
        subject=str(states[0].path),
        remedy="Name another image with --frame.",
    )
