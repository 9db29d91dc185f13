"""Names of the formats that can be opened, as used in errors, dialogs and help."""

from __future__ import annotations

from pathlib import Path

from app.imaging.types import Problem

OPENABLE = "DICOM, PNG, JPEG, TIFF, NIfTI, NRRD, MetaImage or PDF"
"""File formats, recognised by content and never by name."""

CONTAINERS = "folders, DICOMDIRs and zip archives"
"""Places from which such files can be opened."""

REMEDY = f"Open {OPENABLE} files"
"""Advice for a file in any other format."""

PATTERNS = {
    "DICOM": ("*.dcm", "*.dicom", "*.ima", "DICOMDIR"),
    "Pictures": ("*.png", "*.jpg", "*.jpeg", "*.tif", "*.tiff", "*.ome.tif", "*.ome.tiff"),
    "Volumes": ("*.nii", "*.nii.gz", "*.hdr", "*.nrrd", "*.nhdr", "*.mha", "*.mhd"),
    "Documents": ("*.pdf",),
    "Archives": ("*.zip",),
}
"""Usual names of such files, for dialogs; the first entry of a dialog has all of them."""


def no_images_problem(folder: Path) -> Problem:
    """Return the `Problem` to report for a folder that contains no images."""
    return Problem(
        folder,
        "there are no images in this folder",
        f"Choose a folder with {OPENABLE} files",
    )
