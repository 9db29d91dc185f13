"""File and folder names that may name the patient, to be removed from all that is sent.

Files keep a patient's name long after their header was cleaned of it. A path is never sent, but a
tool may name its result after the file without the suffix.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import PurePosixPath, PureWindowsPath

_LETTERS = re.compile(r"[^\W\d_]{3,}")
_GENERIC = frozenset(
    """
    abdomen after anon anonymised anonymized ankle arm atlas axial baseline before bone brain breast
    cardiac case cells chest contrast copy coronal current cxr data dataset dcm default demo desktop
    dicom dicomdir documents downloads dsa dwi dx elbow enhanced example export femur file files
    flair fluoro follow followup foot frame frames frontal full fused gray grey hand head heart hip
    home image images img import input kidney knee label labels lat lateral left leg liver local
    lower lung lungs mammo mask masks media micrograph mnt mrt native neck new nifti non normal oct
    old original out output overlay patient patients pelvis pet phantom photo picture pictures
    plane planning port post pre private projection public radiograph raw report reports result
    results right root roi run sagittal sample samples scan scanner scans scout screenshot seg
    segmentation sequence series shared shoulder side single skull slice slices spine stack standard
    studies study supine temp test thorax thumbnail tibia tmp tomo tse ultrasound uploads upper
    user users vertebra vessel view volume volumes wedge whole window with without work wrist xray
    """.split()  # noqa: SIM905
)
"""Words that occur in file names and name nobody."""
_HOMES = frozenset(("home", "users"))


def telling_names(path: str) -> Iterator[str]:
    """Yield the names of a file and of its folder, if they may name a person.

    The file's name is without its suffixes.

    Args:
        path: The path of an open image, in the notation of any system.
    """
    pure = PureWindowsPath(path) if "\\" in path else PurePosixPath(path)
    stem = re.sub(r"(?:\.[A-Za-z0-9]{1,5}){1,2}$", "", pure.name)
    folder = pure.parent.name if pure.parent.parent.name.lower() not in _HOMES else ""
    for name in (stem, folder):
        words = [word.lower() for word in _LETTERS.findall(name)]
        if any(word not in _GENERIC for word in words):
            yield name
