"""Who else agrees with what is shown: the standard's formulas, dcmtk, GDCM, SimpleITK, tifffile.

Each function answers with a `Verdict`; what a witness cannot read says so and proves nothing.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from app.imaging.pixels.pipeline import render
from app.imaging.pixels.windows import default_window
from app.imaging.types import Frame, Instance, VoiFunction, Window
from tests.conformance.disagreements import DCMTK_FAULTS, DCMTK_UNREAD, GDCM_FAULTS, GDCM_UNREAD
from tests.unit.imaging import oracle

Array = NDArray[Any]
TIMEOUT_S = 60
_GDCM_TYPES = {
    "UINT8": "u1",
    "INT8": "i1",
    "UINT16": "<u2",
    "INT16": "<i2",
    "UINT32": "<u4",
    "INT32": "<i4",
    "FLOAT32": "<f4",
    "FLOAT64": "<f8",
}


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a witness says.

    Attributes:
        agrees: None when it cannot judge.
        text: For the table, e.g. "dcm2pnm: at most 1/255 apart".
    """

    agrees: bool | None
    text: str


def standard(instance: Instance, index: int, frame: Frame) -> Verdict:
    """PS3.3 C.11 in float64 (`tests.unit.imaging.oracle`), on every pixel."""
    window = None
    by_hand = (128.0, 256.0)
    if not (frame.is_color or frame.voi.windows or frame.voi.luts):
        values = frame.stored[np.isfinite(frame.stored)].astype(np.float64)
        low, high = (float(values.min()), float(values.max())) if values.size else (0.0, 1.0)
        by_hand = ((low + high + 1) / 2, high - low + 1)
        if frame.rescale.slope != 1 or frame.rescale.intercept or frame.modality_lut is not None:
            by_hand = (128.0, 256.0)
        window = Window(*by_hand)
    try:
        expected = oracle.expected(instance.path, index, by_hand)
    except Exception as error:
        return Verdict(None, f"formulas: cannot judge ({type(error).__name__})")
    return _compare("formulas", render(frame, window), expected)


def dcmtk(instance: Instance, index: int, frame: Frame, folder: Path) -> Verdict:
    """`dcm2pnm` and its kin with the same window."""
    syntax = instance.get("TransferSyntaxUID")
    tool = "dcml2pnm" if syntax.endswith((".4.80", ".4.81")) else "dcmj2pnm"
    if shutil.which(tool) is None:
        return Verdict(None, "dcmtk: not installed")
    if ".1.2.4.9" in syntax or ".1.2.4.2" in syntax:
        return Verdict(None, "dcmtk: no JPEG 2000")
    if instance.get("Modality") == "SM":
        return Verdict(None, "dcmtk: single tiles only")
    if frame.supplemental:
        return Verdict(None, "dcmtk: no supplemental palettes")
    known = DCMTK_FAULTS | DCMTK_UNREAD
    if instance.path.name in known:
        return Verdict(None, f"dcmtk: {known[instance.path.name]}")
    window = default_window(frame)
    if window is not None and window.function is VoiFunction.LINEAR_EXACT:
        return Verdict(None, "dcmtk: no such window")
    options: list[str] = []
    if window is not None:
        options = ["+Ww", str(window.center), str(window.width)]
        options += ["+Wfs"] if window.function is VoiFunction.SIGMOID else []
    elif frame.voi.luts:
        options = ["+Wl", "1"]
    out = folder / "dcmtk.pnm"
    out.unlink(missing_ok=True)
    place = ["+F", str(index + 1), str(instance.path), str(out)]
    with suppress(subprocess.TimeoutExpired):
        # -O: no overlays; +opb: 8 bits, binary.
        subprocess.run(
            [tool, "-O", "+opb", *options, *place], capture_output=True, check=False,
            timeout=TIMEOUT_S,
        )  # fmt: skip
    if not out.exists():
        return Verdict(None, "dcmtk: cannot read it")
    return _compare("dcm2pnm", render(frame, window), np.asarray(Image.open(out)))


class Gdcm:
    """GDCM in its process, started anew when a file has killed it."""

    def __init__(self, folder: Path) -> None:
        self._out = folder / "gdcm.raw"
        self._process: subprocess.Popen[str] | None = None

    def __enter__(self) -> Gdcm:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.communicate()

    def stored(self, path: Path) -> Array | str:
        """[frames, rows, columns] stored values, or why there are none."""
        if self._process is None or self._process.poll() is not None:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "tests.conformance.gdcm_reader", str(self._out)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                text=True,
            )
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(f"{path}\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        while line and not line.startswith("{"):
            line = self._process.stdout.readline()  # the library prints to stdout as well
        if not line:
            self._process.communicate()  # else the next file is asked of a dead process
            return "crashes on it"
        answer = json.loads(line)
        kind = answer.get("type")
        if kind not in (*_GDCM_TYPES, "SINGLEBIT"):
            return "cannot judge"
        values = np.fromfile(answer["file"], _GDCM_TYPES.get(kind, "u1"))
        shape = tuple(answer["shape"])
        if kind == "SINGLEBIT":
            values = np.unpackbits(values, bitorder="little")[: np.prod(shape)]
        if values.size != np.prod(shape):
            return "cannot judge"
        return values.reshape(shape)

    def judge(self, instance: Instance, index: int, frame: Frame) -> Verdict:
        """Whether GDCM decodes the same stored values; lossy codecs may differ by rounding."""
        if frame.stored.ndim != 2:
            return Verdict(None, "GDCM: colour is not compared")
        theirs = self.stored(instance.path)
        if isinstance(theirs, str):
            return Verdict(None, f"GDCM: {GDCM_UNREAD.get(instance.path.name, theirs)}")
        if instance.get("Modality") == "SM":
            return Verdict(None, "GDCM: single tiles only")
        if index >= len(theirs) or theirs[index].shape != frame.stored.shape:
            return Verdict(None, "GDCM: another size")
        apart = np.abs(theirs[index].astype(np.float64) - frame.stored.astype(np.float64)).max()
        allowed = 2 if frame.lossy else 0
        if apart <= allowed:
            return Verdict(True, "GDCM: equal" if not apart else f"GDCM: {apart:g} apart (lossy)")
        fault = GDCM_FAULTS.get(instance.path.name)
        if fault is not None:
            return Verdict(None, f"GDCM: {fault}")
        return Verdict(False, f"GDCM: {apart:g} apart")


def _compare(name: str, ours: Array, theirs: Array) -> Verdict:
    if ours.shape != theirs.shape:
        return Verdict(False, f"{name}: another size")
    apart = int(np.abs(ours.astype(int) - np.rint(theirs).astype(int)).max())
    if apart <= 1:
        return Verdict(True, f"{name}: equal" if not apart else f"{name}: 1/255")
    return Verdict(False, f"{name}: {apart}/255 apart")


def picture(instance: Instance, frame: Frame) -> Verdict:
    """SimpleITK for pictures and volumes, tifffile for TIFF: the same stored values."""
    try:
        theirs = _read_picture(instance, frame)
    except Exception as error:
        return Verdict(None, f"cannot judge ({type(error).__name__})")
    name, values = theirs
    if values.shape != frame.stored.shape:
        return Verdict(False, f"{name}: another size {values.shape}")
    theirs_, ours = values.astype(np.float64), frame.stored.astype(np.float64)
    difference = np.abs(theirs_ - ours)
    if not difference.any():
        return Verdict(True, f"{name}: equal")
    if frame.lossy and frame.stored.ndim == 3:
        # JPEG does not say how halved colour channels are brought back to full size; the
        # brightness (ITU-R BT.601) of both must agree.
        apart = float(np.abs((theirs_ - ours) @ (0.299, 0.587, 0.114)).mean())
        return Verdict(apart < 1.0, f"{name}: brightness {apart:.1g} apart on average (lossy)")
    return Verdict(False, f"{name}: {difference.max():g} apart")


def _read_picture(instance: Instance, frame: Frame) -> tuple[str, Array]:
    if instance.kind == "tiff":
        import tifffile

        values = np.asarray(tifffile.imread(instance.path, key=0))
        if values.ndim == 3 and values.shape[2] == 4 and (values[..., 3] == 255).all():
            values = values[..., :3]  # nothing is transparent
        if values.ndim == 3 and frame.stored.ndim == 2 and not np.ptp(values, axis=2).any():
            values = values[..., 0]  # three equal channels are shown as one
        return "tifffile", values
    import SimpleITK

    image = SimpleITK.ReadImage(str(instance.path))
    if instance.kind == "volume":
        values = SimpleITK.GetArrayFromImage(SimpleITK.DICOMOrient(image, "LPS"))
        return "SimpleITK", values[0]
    values = SimpleITK.GetArrayFromImage(image)
    if values.ndim == 3 and frame.stored.ndim == 2:
        values = values[..., 0]  # three equal channels are shown as one
    return "SimpleITK", values[..., :3] if values.ndim == 3 else values
