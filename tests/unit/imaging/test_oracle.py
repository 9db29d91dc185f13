"""What is shown equals an independent reading of the standard, on every pixel (issue: Must hold 2).

Every image that pydicom, pydicom-data and the shared data hold is compared: with PS3.3's formulas
in float64 (`oracle`), with dcmtk, and its stored values with GDCM. Without `--all` it is one image
of each transfer syntax, photometric interpretation and modality.
"""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from app.errors import FileProblem
from app.imaging.decode import Decoder
from app.imaging.pixels.pipeline import render
from app.imaging.pixels.windows import default_window
from app.imaging.reading.image_entries import read_frame, read_instance
from app.imaging.types import VoiFunction, Window
from tests.conformance.disagreements import (
    DCMTK_FAULTS,
    DCMTK_UNREAD,
    GDCM_FAULTS,
    GDCM_UNREAD,
)
from tests.conformance.witness import Gdcm
from tests.unit.imaging import oracle
from tests.unit.imaging.image_files import CUT_SHORT, DAMAGED, PYDICOM_FILES, images, roots, sample

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning:pydicom")

IMAGES = images()
LARGE = frozenset(
    """
    RG1_J2KI.dcm RG1_J2KR.dcm RG1_UNCI.dcm RG3_J2KI.dcm RG3_J2KR.dcm RG3_UNCI.dcm wg04/MG1_J2KI
    color3d_jpeg_baseline.dcm
    """.split()  # noqa: SIM905 - one string reads better
)
"""Images that take seconds: the end-to-end tests leave them out."""
SAMPLE = sample(IMAGES)
FILES = [n if n in SAMPLE else pytest.param(n, marks=pytest.mark.slow) for n in IMAGES]

SAME_AS = {"emri_small_jpeg_2k_lossless_too_short.dcm": "emri_small.dcm"}
"""Files that pydicom finds no pixels in, since their end is missing -> the same pixels."""


def stretched(path: Path, index: int) -> tuple[float, float]:
    """A window for files that have none: from the smallest to the largest value."""
    ds = oracle.read(path)
    stored = oracle.stored_pixels(path, ds, index)
    if stored.ndim == 3 or ds.PhotometricInterpretation == "PALETTE COLOR":
        return 0.0, 1.0
    values = oracle.modality(ds, stored, index)
    values = values[np.isfinite(values)]
    return float(values.max() + values.min() + 1) / 2, float(np.ptp(values) + 1)


def test_there_are_enough_witnesses():
    assert len(IMAGES) >= 120


@pytest.mark.parametrize("name", FILES)
def test_a_file_is_shown_as_the_standard_says(name: str):
    path = IMAGES[name]
    witness = IMAGES[SAME_AS.get(name, name)]
    frames = read_instance(path).frames
    for index in {0, frames - 1}:
        frame = read_frame(path, index)
        windowed = frame.is_color or frame.voi.windows or frame.voi.luts
        by_hand = None if windowed else stretched(witness, index)
        picture = render(frame, None if by_hand is None else Window(*by_hand))
        expected = oracle.expected(witness, index, by_hand)
        assert picture.dtype == np.uint8
        assert picture.shape == expected.shape
        assert np.abs(picture - expected).max() <= 1.0


@pytest.mark.parametrize("name", DAMAGED)
def test_a_damaged_file_is_refused_in_words(name: str):
    (path,) = (root / name for root in roots() if (root / name).exists())
    with pytest.raises(FileProblem, match=r"cut short|compressed data"):
        read_frame(path, 0)


@pytest.mark.parametrize(("part", "whole"), CUT_SHORT.items())
def test_of_a_file_that_is_cut_short_the_rows_that_are_there_are_shown(part: str, whole: str):
    instance = read_instance(PYDICOM_FILES / part)
    expected = oracle.read(PYDICOM_FILES / whole).pixel_array
    assert 0 < instance.rows < len(expected)
    shown = read_frame(PYDICOM_FILES / part, 0).stored
    np.testing.assert_array_equal(shown, expected[: instance.rows])


@pytest.mark.parametrize("name", ["MR_small_RLE.dcm", "693_J2KI.dcm", "examples_ybr_color.dcm"])
def test_the_worker_processes_give_the_same_frame(name: str, decoder: Decoder):
    path = PYDICOM_FILES / name
    instance = read_instance(path)
    frame = decoder.frame(instance, instance.frames - 1).result(60)
    np.testing.assert_array_equal(frame.stored, read_frame(path, instance.frames - 1).stored)


@pytest.mark.parametrize("function", list(VoiFunction))
@pytest.mark.parametrize("width", [1.0, 2.0, 350.0, 4096.0])
def test_each_voi_function_follows_its_formula(function: VoiFunction, width: float):
    frame = read_frame(PYDICOM_FILES / "CT_small.dcm", 0)
    values = frame.stored.astype(np.float64) + frame.rescale.intercept
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        expected = np.round(oracle.FORMULAS[function](values, 40.0, width) * 255)
    assert np.abs(render(frame, Window(40.0, width, function)) - expected).max() <= 1


def dcmtk_tool(syntax: str) -> str:
    jpeg_ls = syntax in ("1.2.840.10008.1.2.4.80", "1.2.840.10008.1.2.4.81")
    tool = "dcml2pnm" if jpeg_ls else "dcmj2pnm"
    if shutil.which(tool) is None:
        pytest.skip(f"dcmtk is not installed (apt-get install dcmtk brings {tool})")
    if syntax.startswith(("1.2.840.10008.1.2.4.9", "1.2.840.10008.1.2.4.2")):
        pytest.skip("dcmtk has no JPEG 2000 decoder")
    if syntax == oracle.DEFLATED_FRAMES:
        pytest.skip("dcmtk has no deflated frames")
    return tool


UNLIKE_DCMTK = DCMTK_FAULTS | DCMTK_UNREAD


@pytest.mark.parametrize("name", FILES)
def test_dcmtk_shows_the_same(name: str, tmp_path: Path):
    path = IMAGES[name]
    ds = oracle.read(path)
    tool = dcmtk_tool(oracle.syntax(ds))
    if path.name in UNLIKE_DCMTK:
        pytest.skip(f"dcmtk {UNLIKE_DCMTK[path.name]}")
    if oracle.is_tiled(ds):
        pytest.skip("dcmtk stitches no tiles")
    frame = read_frame(path, 0)
    if frame.stored.dtype.kind == "f" or frame.supplemental:
        pytest.skip("dcmtk shows no float pixels and no supplemental palettes")
    window = default_window(frame)
    if window is not None and window.function is VoiFunction.LINEAR_EXACT:
        pytest.skip("dcmtk takes no window below a width of 1")
    options = ["+Wl", "1"]
    if window is not None:
        options = ["+Ww", str(window.center), str(window.width)]
    # -O: no overlays; +opb: 8 bits, binary.
    out = tmp_path / "dcmtk.pnm"
    command = [tool, "-O", "+opb", *(options if not frame.is_color else []), "+F", "1"]
    done = subprocess.run(
        [*command, str(path), str(out)], capture_output=True, text=True, check=False, timeout=60
    )
    assert done.returncode == 0, done.stderr
    theirs = np.asarray(Image.open(out)).astype(int)
    assert np.abs(render(frame) - theirs).max() <= 1


@pytest.fixture(scope="module")
def gdcm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gdcm]:
    pytest.importorskip("gdcm", reason="GDCM is not installed (the package python-gdcm)")
    with Gdcm(tmp_path_factory.mktemp("gdcm")) as reader:
        yield reader


@pytest.mark.parametrize("name", FILES)
def test_gdcm_decodes_the_same_stored_values(name: str, gdcm: Gdcm):
    path = IMAGES[name]
    if path.name in GDCM_FAULTS:
        pytest.skip(f"GDCM {GDCM_FAULTS[path.name]}")
    frame = read_frame(path, 0)
    if frame.stored.ndim == 3:
        pytest.skip("colour: dcmtk and the formulas are its witnesses")
    if oracle.is_tiled(oracle.read(path)):
        pytest.skip("GDCM stitches no tiles")
    verdict = gdcm.judge(read_instance(path), 0, frame)
    if path.name in GDCM_UNREAD:
        assert verdict.agrees is None
        pytest.skip(verdict.text)
    assert verdict.agrees, verdict.text
