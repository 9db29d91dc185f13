"""What the witnesses are known to get wrong, or cannot read: each file with the reason.

A witness that disagrees or stays silent on any other file fails a test
(`tests/unit/imaging/test_oracle.py`) and is printed as disputed by the conformance command.
"""

from __future__ import annotations

GDCM_FAULTS = {
    "J2K_pixelrep_mismatch.dcm": "takes the header's sign where the code stream has another",
    "JLSL_16_15_1_1F.dcm": "extends the sign from bit 16 where 15 bits are stored",
    "rtdose_expb.dcm": "does not swap 32-bit words of big endian files",
}
"""Files that GDCM gets wrong; the formulas on pydicom's pixels and dcmtk agree with us."""

_ONE_PLANE = "stops at a dose grid of one plane"
_SLIDE = "stops at a segmentation of a slide, which has no orientation of its own"
GDCM_UNREAD = {
    "rtdose_1frame.dcm": _ONE_PLANE,
    "rtdose_expb_1frame.dcm": _ONE_PLANE,
    "rtdose_rle_1frame.dcm": _ONE_PLANE,
    "seg_image_sm_control.dcm": _SLIDE,
    "seg_image_sm_dots.dcm": _SLIDE,
    "seg_image_sm_dots_tiled_full.dcm": _SLIDE,
    "seg_image_sm_numbers.dcm": _SLIDE,
    "seg_image_sm_control_labelmap.dcm": "does not know label maps",
    "seg_image_sm_control_labelmap_palette_color.dcm": "does not know label maps",
    "emri_small_jpeg_2k_lossless_too_short.dcm": "refuses pixels without their end",
    "JLSL_08_07_0_1F.dcm": "refuses a precision of 7 bits",
    "liver_deflate.dcm": "has no deflated frames",
    "liver_nonbyte_aligned_deflate.dcm": "has no deflated frames",
    "liver_rle.dcm": "has no RLE of packed bits",
    "liver_nonbyte_aligned_rle.dcm": "has no RLE of packed bits",
    "parametric_map_float.dcm": "has no float pixels",
}
"""Grey files that GDCM cannot read."""

DCMTK_FAULTS = {"SC_ybr_full_uncompressed.dcm": "its blue is 2 off the formula"}
"""Files that dcmtk shows otherwise than the standard's formulas say."""

DCMTK_UNREAD = {
    "SC_rgb_jpeg.dcm": "refuses implicit VRs under an explicit syntax",
    "gdcm-US-ALOKA-16.dcm": "has no segmented palettes",
    "gdcm-US-ALOKA-16_big.dcm": "has no segmented palettes",
    "JLSL_08_07_0_1F.dcm": "refuses a precision of 7 bits",
    "liver_rle.dcm": "has no RLE of packed bits",
    "liver_nonbyte_aligned_rle.dcm": "has no RLE of packed bits",
    **{
        f"SC_rgb{kind}_32bit{frames}.dcm": "refuses colour of 32 bits"
        for kind in ("", "_expb")
        for frames in ("", "_2frame")
    },
}
"""Files that dcmtk cannot show."""

CHOICES = (
    (
        "MONOCHROME1 with Presentation LUT Shape IDENTITY, which contradict each other",
        "high values dark, as the photometric interpretation says (GDCM, pydicom)",
        "dcmtk believes the shape: high values bright",
    ),
    (
        "JPEG whose JFIF or Adobe marker names another colour model than the header",
        "the marker is believed, since the encoder wrote it (libjpeg, GDCM)",
        "dcmtk believes the header",
    ),
    (
        "angiography and fluoroscopy with a modality LUT or rescale (C.8.7.1.1.2)",
        "windows apply to the stored values (dcmtk, Cornerstone for the LUT)",
        "GDCM, pydicom and SimpleITK rescale them like any other image",
    ),
    (
        "big endian samples of 32 bits, in which the order of 16-bit words is understood two ways",
        "the order in which neighbours differ less",
        "dcmtk writes the low word first, pydicom exchanges all four bytes",
    ),
    (
        "the offset of an indirect segment of a palette (C.7.9.2)",
        "words or bytes, whichever meets the beginning of a segment",
        "pydicom and GDCM count words; dcmtk has no segmented palettes",
    ),
)
"""(what is ambiguous, what is shown here and who agrees, who does otherwise)."""
