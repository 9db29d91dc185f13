"""What is shown equals an independent reading of the standard, on every pixel (issue: Must hold 3).

Each file goes the way of `python -m app render`: `Decoder.scan`, `Decoder.frame`,
`pipeline.render`.
"""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import numpy as np
import pydicom
import pytest
from PIL import Image

from app.imaging.decode import Decoder
from app.imaging.pipeline import default_window, render
from app.imaging.types import Frame, VoiFunction, Window
from tests.unit.imaging import oracle

PYDICOM_FILES = Path(pydicom.__file__).parent / "data" / "test_files"
GREY = """
693_J2KI CT_small J2K_pixelrep_mismatch JPEG-lossy JPEG2000 JPEGLSNearLossless_08
JPEGLSNearLossless_16 JPGExtended MR_small MR_small_RLE MR_small_bigendian MR_small_expb
MR_small_implicit MR_small_jp2klossless MR_small_jpeg_ls_lossless MR_small_padded examples_overlay
image_dfl liver_1frame liver_expb_1frame rtdose rtdose_1frame rtdose_expb rtdose_expb_1frame
rtdose_rle rtdose_rle_1frame
""".split()  # noqa: SIM905 - one string reads better
IN_FOLDERS = (
    "dicomdirtests/77654033/CR1/6154",  # MONOCHROME1, rescaled, 12 bits
    "dicomdirtests/77654033/CT2/17106",
    "dicomdirtests/98892001/CT2N/6293",
    "dicomdirtests/98892003/MR1/4919",
)
COLOUR = """
ExplVR_BigEnd GDCMJ2K_TextGBR SC_jpeg_no_color_transform SC_jpeg_no_color_transform_2
SC_rgb_dcmtk_+eb+cr SC_rgb_dcmtk_+eb+cy+n1 SC_rgb_dcmtk_+eb+cy+n2 SC_rgb_dcmtk_+eb+cy+np
SC_rgb_dcmtk_+eb+cy+s2 SC_rgb_dcmtk_+eb+cy+s4 SC_rgb_gdcm_KY SC_rgb_jls_lossy_line
SC_rgb_jls_lossy_sample SC_rgb_jpeg SC_rgb_jpeg_app14_dcmd SC_rgb_jpeg_dcmd SC_rgb_jpeg_dcmtk
SC_rgb_jpeg_gdcm SC_rgb_jpeg_lossy_gdcm SC_rgb_rle SC_rgb_rle_16bit SC_rgb_rle_16bit_2frame
SC_rgb_rle_2frame SC_rgb_rle_32bit SC_rgb_rle_32bit_2frame SC_rgb_small_odd
SC_rgb_small_odd_big_endian SC_rgb_small_odd_jpeg SC_ybr_full_422_uncompressed examples_jpeg2k
examples_palette examples_rgb_color examples_ybr_color
""".split()  # noqa: SIM905 - one string reads better
FILES = [*(f"{name}.dcm" for name in (*GREY, *COLOUR)), *IN_FOLDERS]


def shown(decoder: Decoder, path: Path, index: int) -> Frame:
    result = decoder.scan([path]).result(60)
    assert not result.problems
    (study,) = result.studies
    return decoder.frame(study.series[0].instances[0], index).result(60)


def stretched(path: Path, index: int) -> tuple[float, float]:
    """A window for files that have none: from the smallest to the largest value."""
    ds = oracle.read(path)
    if ds.SamplesPerPixel == 3 or ds.PhotometricInterpretation == "PALETTE COLOR":
        return 0.0, 1.0
    values = oracle.modality(ds, oracle.stored_pixels(path, ds, index))
    return float(values.max() + values.min() + 1) / 2, float(np.ptp(values) + 1)


def test_there_are_enough_witnesses():
    assert len(FILES) >= 60
    assert len(set(FILES)) == len(FILES)


@pytest.mark.parametrize("name", FILES)
def test_a_file_is_shown_as_the_standard_says(name: str, decoder: Decoder):
    path = PYDICOM_FILES / name
    ds = oracle.read(path)
    frames = int(ds.get("NumberOfFrames", 1) or 1)
    for index in {0, frames - 1}:
        frame = shown(decoder, path, index)
        window = None
        by_hand = stretched(path, index)
        if not (frame.is_color or frame.voi.windows or frame.voi.luts):
            window = Window(*by_hand)
        picture = render(frame, window)
        expected = oracle.expected(path, index, by_hand)
        assert picture.dtype == np.uint8
        assert picture.shape == expected.shape
        assert np.abs(picture - expected).max() <= 1.0


@pytest.mark.parametrize("function", list(VoiFunction))
@pytest.mark.parametrize("width", [1.0, 2.0, 350.0, 4096.0])
def test_each_voi_function_follows_its_formula(
    function: VoiFunction, width: float, decoder: Decoder
):
    frame = shown(decoder, PYDICOM_FILES / "CT_small.dcm", 0)
    values = frame.stored.astype(np.float64) + frame.rescale.intercept
    formula = {
        VoiFunction.LINEAR: oracle.linear,
        VoiFunction.LINEAR_EXACT: oracle.linear_exact,
        VoiFunction.SIGMOID: oracle.sigmoid,
    }[function]
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        expected = np.round(formula(values, 40.0, width) * 255)
    assert np.abs(render(frame, Window(40.0, width, function)) - expected).max() <= 1


def dcmtk_tool(syntax: str) -> str:
    jpeg_ls = syntax in ("1.2.840.10008.1.2.4.80", "1.2.840.10008.1.2.4.81")
    tool = "dcml2pnm" if jpeg_ls else "dcmj2pnm"
    if shutil.which(tool) is None:
        pytest.skip(f"dcmtk is not installed (apt-get install dcmtk brings {tool})")
    if syntax.startswith(("1.2.840.10008.1.2.4.9", "1.2.840.10008.1.2.4.2")):
        pytest.skip("dcmtk has no JPEG 2000 decoder")
    return tool


@pytest.mark.parametrize("name", FILES)
def test_dcmtk_shows_the_same(name: str, decoder: Decoder, tmp_path: Path):
    path = PYDICOM_FILES / name
    tool = dcmtk_tool(str(oracle.read(path).file_meta.TransferSyntaxUID))
    frame = shown(decoder, path, 0)
    window = default_window(frame)
    options: list[str] = []
    if window is not None and window.function is not VoiFunction.LINEAR:
        pytest.skip("dcmtk takes no window below a width of 1")
    if window is not None:
        options = ["+Ww", str(window.center), str(window.width)]
    elif frame.voi.luts:
        options = ["+Wl", "1"]
    out = tmp_path / "dcmtk.pnm"
    # -O: no overlays; +opb: 8 bits, binary.
    command = [tool, "-O", "+opb", *options, "+F", "1", str(path), str(out)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    if name == "SC_rgb_jpeg.dcm" and done.returncode != 0:
        pytest.skip("dcmtk refuses its implicit VRs under an explicit syntax")
    assert done.returncode == 0, done.stderr
    theirs = np.asarray(Image.open(out)).astype(int)
    assert np.abs(render(frame) - theirs).max() <= 1
