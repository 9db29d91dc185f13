"""Apply a presentation state to a frame (PS3.4 N.2). Pure functions.

The state changes the displayed greys, overlays and shutter. Measurements and tools use the
image's own frame, which is not changed here.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from app.imaging.pixels.greys import modality_values
from app.imaging.pixels.lut_ranges import Range, signed_first, stored_range
from app.imaging.presentation import ImagePresentation
from app.imaging.types import Frame, Lut, OverlayPlane, Rescale, Shutter, Voi, VoiFunction, Window

NO_WINDOW = "full range"
"""Explanation of the window of a state that has none."""


def rotation(presentation: ImagePresentation) -> tuple[bool, int]:
    """Return (mirror left-right, clockwise quarter turns), to be applied in this order."""
    return presentation.flip_h, presentation.quarter_turns % 4


def apply_presentation(frame: Frame, presentation: ImagePresentation) -> Frame:
    """Return a frame with a presentation's grey settings, overlays, shutter and pixel aspect (N.2).

    The stored pixels stay the same, and grey settings change for monochrome images only. The
    image's own shutter is always replaced; its greys and overlays are kept where the presentation
    does not set them. The pixel aspect is used only if the image's spacing is unknown. The canvas
    applies flip, rotation and graphics.
    """
    shown = frame if frame.is_color else _apply_greys(frame, presentation)
    shutter = presentation.shutter
    shown = replace(shown, shutter=_fit_shutter(shutter, frame) if shutter is not None else None)
    if presentation.image_overlays is not None or presentation.overlays:
        shown = replace(shown, overlays=_overlays(frame, presentation))
    aspect = presentation.aspect
    if aspect is not None and not frame.spacing.known:
        # A known spacing gives the true shape of a pixel; many states write 1:1 for any image.
        shown = replace(shown, spacing=replace(frame.spacing, aspect=aspect))
    return shown


def _apply_greys(frame: Frame, presentation: ImagePresentation) -> Frame:
    if presentation.modality_lut is not None:
        lut = _signed_lut(presentation.modality_lut, _stored_range(frame))
        frame = replace(frame, rescale=presentation.rescale or Rescale(), modality_lut=lut)
    elif presentation.rescale is not None:
        frame = replace(frame, rescale=_rescale(frame, presentation.rescale), modality_lut=None)
    voi = presentation.voi
    if voi is not None:
        low, high = _output_range(frame)
        luts = tuple(_signed_lut(lut, (low, high)) for lut in voi.luts)
        windows = voi.windows
        # Without a VOI transformation the full output range is shown (PS3.4 N.2).
        if not windows and not luts and frame.stored.dtype.kind in "iu":
            windows = (_full_window(low, high),)
        frame = replace(frame, voi=Voi(windows, luts)) if windows or luts else frame
    if presentation.inverse is not None or presentation.presentation_lut is not None:
        mono = frame.photometric.startswith("MONOCHROME")
        frame = replace(
            frame,
            # The state's polarity counts alone, whatever the image's (PS3.4 N.2.1.4).
            photometric="MONOCHROME2" if mono else frame.photometric,
            inverse=bool(presentation.inverse) and presentation.presentation_lut is None,
            presentation_lut=presentation.presentation_lut,
        )
    return frame


def _rescale(frame: Frame, given: Rescale) -> Rescale:
    """Return the state's rescale, or the image's own if both are equal: that one has units."""
    own = frame.rescale
    same = frame.modality_lut is None and (own.slope, own.intercept) == (
        given.slope,
        given.intercept,
    )
    return own if same else given


def _signed_lut(lut: Lut, inputs: Range) -> Lut:
    """Return a LUT with a signed first value: implicit VRs follow the image (C.11.1.1)."""
    return replace(lut, first=signed_first(lut.first, inputs))


def _stored_range(frame: Frame) -> Range:
    return stored_range(frame.bits, signed=frame.stored.dtype.kind == "i")


def _output_range(frame: Frame) -> Range:
    """Return the lowest and highest value that the modality transformation can give."""
    if frame.modality_lut is not None:
        return 0.0, 2.0**frame.modality_lut.bits - 1
    ends = modality_values(frame, np.array(_stored_range(frame)))
    return float(ends.min()), float(ends.max())


def _full_window(low: float, high: float) -> Window:
    return Window((low + high) / 2, max(high - low, 1e-6), VoiFunction.LINEAR_EXACT, NO_WINDOW)


def _overlays(frame: Frame, presentation: ImagePresentation) -> tuple[OverlayPlane, ...]:
    """Return the state's own overlays and those of the image that it activates (C.11.7)."""
    if presentation.image_overlays is None:
        kept = frame.overlays
    else:
        active = presentation.image_overlays
        kept = tuple(plane for plane in frame.overlays if plane.group in active)
    own = {plane.group for plane in presentation.overlays}
    return presentation.overlays + tuple(plane for plane in kept if plane.group not in own)


def _fit_shutter(shutter: Shutter, frame: Frame) -> Shutter:
    """Return the shutter with its bitmap in the frame's own size; missing parts hide nothing."""
    if shutter.bitmap is None or shutter.bitmap.shape == (frame.rows, frame.columns):
        return shutter
    bitmap: NDArray[np.bool_] = np.zeros((frame.rows, frame.columns), np.bool_)
    part = shutter.bitmap[: frame.rows, : frame.columns]
    bitmap[: part.shape[0], : part.shape[1]] = part
    return replace(shutter, bitmap=bitmap)
