"""What can be opened, in words: the one place that errors, dialogs and help take it from."""

from __future__ import annotations

from pathlib import Path

from app.imaging.types import Problem

OPENABLE = "DICOM, PNG, JPEG, TIFF, NIfTI, NRRD, MetaImage or PDF"
"""Formats of files, read by their content, never by their names."""

CONTAINERS = "folders, DICOMDIRs and zip archives"
"""What they may lie in."""

REMEDY = f"Open {OPENABLE} files"
"""What to do about a file that is none of them."""

PATTERNS = {
    "DICOM": ("*.dcm", "*.dicom", "*.ima", "DICOMDIR"),
    "Pictures": ("*.png", "*.jpg", "*.jpeg", "*.tif", "*.tiff", "*.ome.tif", "*.ome.tiff"),
    "Volumes": ("*.nii", "*.nii.gz", "*.hdr", "*.nrrd", "*.nhdr", "*.mha", "*.mhd"),
    "Documents": ("*.pdf",),
    "Archives": ("*.zip",),
}
"""Usual names of such files, for dialogs; the first choice of a dialog is all of them."""


def without_images(folder: Path) -> Problem:
    """The words for a folder in which nothing was found."""
    return Problem(
        folder,
        "there are no images in this folder",
        f"Choose a folder with {OPENABLE} files",
    )
