"""The tool `dicom_processor`: makes a PNG of what the viewer shows, at the image's own size."""

from __future__ import annotations

import math
from typing import Any

from pydantic import BaseModel, Field

from app.imaging.pixels import pipeline
from app.imaging.space import projections
from app.imaging.types import Instance, VoiFunction, Window
from app.tools.api import (
    Approval,
    Artifact,
    ImageSnapshot,
    Resource,
    ToolContext,
    ToolInput,
    ToolResult,
    ToolRetry,
    ToolSpec,
    takes,
)
from app.tools.files import plain, save_png

_LIMIT = 1e9

_ACQUISITION = (
    *("SpacingBetweenSlices", "KVP", "CTDIvol", "ContrastBolusAgent"),
    *("MagneticFieldStrength", "ScanningSequence", "EchoTime", "RepetitionTime", "InversionTime"),
    *("XRayTubeCurrent", "ExposureTime", "Exposure", "ConvolutionKernel", "GantryDetectorTilt"),
    *("FlipAngle", "SeriesDescription", "ProtocolName", "Manufacturer", "ManufacturerModelName"),
)


class DicomProcessorInput(ToolInput):
    """Arguments of `dicom_processor`."""

    dicom_path: str = takes(Resource.IMAGE, "The image id or path.")
    window_center: float | None = Field(
        default=None,
        description="Window centre after rescale (HU on CT); the shown one if left out.",
    )
    window_width: float | None = Field(
        default=None, description="Window width after rescale, above 0; the shown one if left out."
    )


class DicomProcessorOutput(BaseModel):
    """The path of the PNG that `dicom_processor` made."""

    image_path: str


SPEC = ToolSpec(
    name="dicom_processor",
    title="Convert DICOM image",
    icon="contrast",
    description=(
        "Converts a DICOM image to a PNG of what the viewer shows (rescale, window, MONOCHROME1 "
        "and colour handled), at its own matrix size, and returns its attributes. The PNG keeps "
        "the image's identity and pixel spacing for the other tools. Optional window centre and "
        "width."
    ),
    Input=DicomProcessorInput,
    Output=DicomProcessorOutput,
    approval=Approval.READ,
    timeout_s=60.0,
    pack="general",
)


class DicomProcessor:
    """The tool `dicom_processor`: converts a DICOM image to a PNG."""

    spec = SPEC

    def run(self, args: DicomProcessorInput, context: ToolContext) -> ToolResult:
        """Convert the image in `args` to a PNG; for errors see `app.tools.api.Tool.run`."""
        asked = _asked_window(args)
        context.progress(0.1, "Decoding")
        snapshot = context.images.resolve(args.dicom_path)
        window = _window(asked, snapshot)
        context.cancel.check()
        context.progress(0.6, "Writing the PNG")
        # A picture made in this run has its window burnt in, so its own pixels are shown.
        same = window == snapshot.window or snapshot.derived
        pixels = snapshot.display if same else pipeline.render(snapshot.frame, window)
        path = save_png(pixels, context.out_dir, "dicom")
        context.images.add_derived(path, snapshot)
        metadata = _metadata(args, snapshot, window, str(path))
        return ToolResult(
            summary=_summary(snapshot, window),
            output={"image_path": str(path)},
            metadata=plain(metadata),
            artifacts=(Artifact(path, "image", "Converted image", "", snapshot.ref),),
        )


def _asked_window(args: DicomProcessorInput) -> tuple[float | None, float | None]:
    center, width = args.window_center, args.window_width
    for name, value in (("window_center", center), ("window_width", width)):
        if value is not None and not (math.isfinite(value) and abs(value) <= _LIMIT):
            raise ToolRetry(f"{name} must be a finite number, not {value}")
    if width is not None and width <= 0:
        raise ToolRetry(f"window_width must be above 0, not {width:g}")
    return center, width


def _window(asked: tuple[float | None, float | None], snapshot: ImageSnapshot) -> Window | None:
    """Return the asked window, with missing values taken from the shown one."""
    center, width = asked
    shown = snapshot.window
    if center is None and width is None:
        return shown
    if snapshot.frame.is_color:
        raise ToolRetry(
            "a colour image has no grey window", remedy="Leave window_center and window_width out."
        )
    if snapshot.derived:
        raise ToolRetry(
            "this picture already has its window burnt in",
            remedy="Name the original image to change the window.",
        )
    if shown is None:
        if center is None or width is None:
            raise ToolRetry("this image is shown by its own LUT: give both centre and width")
        return Window(center, width, VoiFunction.LINEAR, "asked")
    chosen = shown.width if width is None else width
    # LINEAR is defined from a width of 1 on (PS3.3 C.11.2.1.2.1); below, the exact form is meant.
    function = VoiFunction.LINEAR if chosen >= 1 else VoiFunction.LINEAR_EXACT
    return Window(shown.center if center is None else center, chosen, function, "asked")


def _metadata(
    args: DicomProcessorInput, snapshot: ImageSnapshot, window: Window | None, path: str
) -> dict[str, Any]:
    """Return the attributes of the image; identifying ones are never sent off this machine."""
    instance, frame = snapshot.instance, snapshot.frame
    spacing = frame.spacing
    known = spacing.known
    return {
        "PatientID": instance.get("PatientID") or None,
        "PatientAge": _age(instance) or None,
        "PatientSex": instance.get("PatientSex") or None,
        "StudyDate": instance.get("StudyDate") or None,
        "Modality": instance.get("Modality") or None,
        "SliceThickness": instance.get("SliceThickness") or None,
        **{keyword: given for keyword in _ACQUISITION if (given := instance.get(keyword))},
        "PixelSpacing": [spacing.row_mm, spacing.column_mm] if known else None,
        "WindowCenter": window.center if window else None,
        "WindowWidth": window.width if window else None,
        "WindowAsked": _asked_window(args) != (None, None),
        "ImageOrientation": list(frame.orientation.cosines or ()) or None,
        "ImagePosition": list(frame.orientation.position or ()) or None,
        "BitsStored": frame.bits,
        "original_path": args.dicom_path,
        "output_path": path,
        "PhotometricInterpretation": frame.photometric,
        "PixelSpacingSource": str(spacing.source),
        "PixelSpacingNote": spacing.note or None,
        "WindowExplanation": (window.explanation or None) if window else None,
        "ViewPosition": projections.projection_name(instance) or None,
        "BodyPartExamined": instance.get("BodyPartExamined") or None,
        "Rows": frame.rows,
        "Columns": frame.columns,
        "NumberOfFrames": instance.frames,
        "FrameNumber": frame.ref.frame + 1,
        "LossyCompression": frame.lossy or None,
        "status": "completed",
    }


def _age(instance: Instance) -> str:
    """Return Patient's Age as "063Y", else by birth and study dates; "" without both."""
    born, taken = instance.get("PatientBirthDate"), instance.get("StudyDate")
    if given := instance.get("PatientAge"):
        return given
    if not (len(born) == len(taken) == 8 and (born + taken).isdecimal() and born <= taken):
        return ""
    months = 12 * (int(taken[:4]) - int(born[:4])) + int(taken[4:6]) - int(born[4:6])
    months -= taken[6:] < born[6:]
    return f"{months // 12:03}Y" if months >= 24 else f"{months:03}M"


def _summary(snapshot: ImageSnapshot, window: Window | None) -> str:
    frame = snapshot.frame
    kind = snapshot.instance.get("Modality") or "image"
    text = f"Converted the {kind} image, {frame.columns} x {frame.rows} pixels, to PNG"
    if window is not None:
        text += f" with window centre {window.center:g}, width {window.width:g}"
    if snapshot.instance.frames > 1:
        text += f" (frame {frame.ref.frame + 1} of {snapshot.instance.frames})"
    return f"{text}."
