"""Synthetic images and a context for running tools as the agent does."""

from __future__ import annotations

from concurrent.futures import Future
from pathlib import Path
from typing import Any

import numpy as np
from pydicom.uid import CTImageStorage, generate_uid

from app.imaging.reading.image_entries import read_frame, read_instance
from app.imaging.types import Frame, Instance
from app.tools.api import CancelToken, ModelHost, Tool, ToolContext, ToolResult
from app.tools.images import OpenImage, RunImages
from tests.unit.imaging.files import save_dicom


class Inline:
    """Decodes in this process: the images of these tests are our own."""

    def __init__(self) -> None:
        self.count = 0

    def frame(self, instance: Instance, index: int) -> Future[Frame]:
        self.count += 1
        future: Future[Frame] = Future()
        try:
            future.set_result(read_frame(instance.path, index))
        except Exception as error:
            future.set_exception(error)
        return future


LOOK = "app.tools.chest.thorax_net:look_entry"
FRONTAL = {"view": "frontal", "certainty": 1.0}


class NoHost:
    """A model host that must not be called but for a look at the view, which it calls frontal."""

    def call(self, entry: str, payload: Any, **_: Any) -> dict[str, Any]:
        if entry == LOOK:
            return dict(FRONTAL)
        raise AssertionError(f"{entry} was called")


class FakeHost:
    """Answers with what it was given, and notes what it was asked."""

    def __init__(self, answer: Any) -> None:
        self.answer = answer
        self.calls: list[tuple[str, dict[str, Any]]] = []

    def call(self, entry: str, payload: Any, **_: Any) -> dict[str, Any]:
        if entry == LOOK:
            return dict(FRONTAL)
        self.calls.append((entry, dict(payload)))
        if isinstance(self.answer, dict):
            return dict(self.answer)
        return self.answer(payload)


def call(host: ModelHost, entry: str, **payload: Any) -> dict[str, Any]:
    """What a function in the model process answers, on the processor."""
    return host.call(entry, {**payload, "device": "cpu"}, cancel=CancelToken(), timeout_s=120)


def write_dicom(path: Path, pixels: np.ndarray, **attributes: Any) -> Path:
    """A grey DICOM file; `attributes` are set as given, None leaves one out."""
    values: dict[str, Any] = {
        "SOPClassUID": CTImageStorage,
        "SOPInstanceUID": generate_uid(),
        "StudyInstanceUID": generate_uid(),
        "SeriesInstanceUID": generate_uid(),
        "PatientName": "Secret^Name",
        "PatientID": "SECRET-1",
        "StudyDate": "20200102",
        "Modality": "DX",
        "BodyPartExamined": "CHEST",
        "ViewPosition": "PA",
        "PhotometricInterpretation": "MONOCHROME2",
        "SamplesPerPixel": 1,
        "Rows": pixels.shape[-2],
        "Columns": pixels.shape[-1],
        "BitsAllocated": 8 * pixels.dtype.itemsize,
        "BitsStored": 8 * pixels.dtype.itemsize,
        "HighBit": 8 * pixels.dtype.itemsize - 1,
        "PixelRepresentation": int(pixels.dtype.kind == "i"),
    }
    if pixels.ndim == 3:
        values["NumberOfFrames"] = len(pixels)
    return save_dicom(path, values | attributes | {"PixelData": pixels.tobytes()})


def gradient(rows: int = 40, columns: int = 30) -> np.ndarray:
    """Stored values 0..4095 that rise to the right and down."""
    values = np.add.outer(np.arange(rows), np.arange(columns)).astype(np.float64)
    return (values / values.max() * 4095).astype(np.uint16)


class Bench:
    """Runs tools on open images, with an output folder of its own."""

    def __init__(self, folder: Path, host: ModelHost | None = None) -> None:
        self.folder = folder
        self.out = folder / "out"
        self.out.mkdir()
        self.models = folder / "models"
        self.models.mkdir()
        self.host = host or NoHost()
        self.source = Inline()
        self.cancel = CancelToken()
        self.progress: list[tuple[float, str]] = []
        self.opened: list[OpenImage] = []
        self._images: RunImages | None = None

    def open(self, path: Path, **shown: Any) -> OpenImage:
        image = OpenImage(f"image-{len(self.opened) + 1}", read_instance(path), **shown)
        self.opened.append(image)
        self._images = None
        return image

    @property
    def images(self) -> RunImages:
        if self._images is None:
            self._images = RunImages(self.opened, self.out, self.source)
        return self._images

    def context(self, call_id: str = "call-1") -> ToolContext:
        return ToolContext(
            run_id="run-1",
            call_id=call_id,
            images=self.images,
            out_dir=self.out,
            host=self.host,
            models_dir=self.models,
            device="cpu",
            cancel=self.cancel,
            progress=lambda fraction, text: self.progress.append((fraction, text)),
        )

    def run(self, tool: Tool, **arguments: Any) -> ToolResult:
        return tool.run(tool.spec.Input.model_validate(arguments), self.context())
