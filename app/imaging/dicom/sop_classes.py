"""What a DICOM object holds, by its SOP Class (PS3.4 annex B.5, PS3.6 annex A); no file is read."""

from __future__ import annotations

from pydicom.uid import UID

from app.imaging.types import Content

_S = "1.2.840.10008.5.1.4.1.1."

_CONTENTS = {
    f"{_S}66.4": Content.SEGMENTATION,
    f"{_S}66.7": Content.SEGMENTATION,  # label map
    f"{_S}481.3": Content.STRUCTURES,
    f"{_S}91.1": Content.STRUCTURES,  # microscopy annotations
    f"{_S}88.59": Content.KEY_OBJECTS,
    f"{_S}79.1": Content.REPORT,  # macular grid thickness: a structured report by its IOD
    f"{_S}104.1": Content.DOCUMENT,
}
_FAMILIES = {
    f"{_S}11.": Content.PRESENTATION,
    f"{_S}88.": Content.REPORT,
    f"{_S}9.": Content.WAVEFORM,
}
_IMAGES_BY_ANOTHER_NAME = frozenset(
    f"{_S}{end}" for end in ("6.2", "30", "81.1", "82.1", "77.1.5.8", "501.4", "501.5")
)
"""SOP Classes of images that are not called "... Image Storage"."""

_PLAIN_WORDS = {
    f"{_S}4.2": "MR spectroscopy (spectra, no image)",
    f"{_S}8": "Overlay without its image (retired)",
    f"{_S}9": "Curve without its image (retired)",
    f"{_S}10": "Modality LUT without its image (retired)",
    f"{_S}11": "VOI LUT without its image (retired)",
    f"{_S}66": "Raw data of a scanner",
    f"{_S}66.1": "Spatial registration (how images of different frames of reference align)",
    f"{_S}66.2": "Spatial fiducials (marked points)",
    f"{_S}66.3": "Deformable spatial registration (how images align, with a deformation)",
    f"{_S}66.5": "Surface segmentation (3-D surfaces)",
    f"{_S}66.6": "Tractography results (fibre tracts)",
    f"{_S}66.8": "Height map segmentation",
    f"{_S}67": "Real world value mapping (scales for other images)",
    f"{_S}68.1": "Surface scan mesh",
    f"{_S}68.2": "Surface scan point cloud",
    f"{_S}77.1.5.3": "Stereometric relationship (which photographs form a stereo pair)",
    f"{_S}90.1": "Content assessment results (how other objects were judged)",
    f"{_S}104.2": "Encapsulated CDA document",
    f"{_S}104.3": "Encapsulated STL model (for 3-D printing)",
    f"{_S}104.4": "Encapsulated OBJ model (for 3-D printing)",
    f"{_S}104.5": "Encapsulated MTL materials (of a 3-D model)",
    f"{_S}129": "PET curve without its image (retired)",
    f"{_S}131": "Basic structured display (a layout of images)",
    f"{_S}201.1": "Inventory of an archive",
    f"{_S}481.2": "RT Dose without a dose grid (dose-volume histograms only)",
    "1.2.840.10008.5.1.4.38.1": "Hanging protocol (a layout for a workstation)",
    "1.2.840.10008.5.1.4.39.1": "Color palette",
    "1.2.840.10008.5.1.4.43.1": "Implant template",
    "1.2.840.10008.5.1.4.44.1": "Implant assembly template",
    "1.2.840.10008.5.1.4.45.1": "Implant template group",
    "1.3.12.2.1107.5.9.1": "Siemens private data (CSA non-image)",
    "1.2.840.113619.4.26": "GE private 3-D model",
    "1.2.840.113619.4.30": "GE private data",
    "1.3.46.670589.11.0.0.12.1": "Philips private MR spectrum",
    "1.3.46.670589.11.0.0.12.2": "Philips private MR series data",
    "1.3.46.670589.11.0.0.12.4": "Philips private MR examcard",
    "1.3.46.670589.5.0.1": "Philips private 3-D volume",
    "1.3.46.670589.2.4.1.1": "Philips private CX data",
    "1.2.392.200036.9116.7.8.1.1.1": "Canon (Toshiba) private data",
}
"""What objects that are no images are, where their own names say too little."""

_NEW_NAMES = {
    f"{_S}66.7": "Label Map Segmentation Storage",
    f"{_S}66.8": "Height Map Segmentation Storage",
}
"""SOP Classes that pydicom does not know yet."""


def standard_name(uid: str) -> str:
    """The SOP Class's name without "Storage", e.g. "RT Plan"; "" when it is not known."""
    name = _NEW_NAMES.get(uid) or UID(uid).name
    if not name or name == uid:
        return ""
    return name.removesuffix(" SOP Class").replace(" Storage - ", " - ").removesuffix(" Storage")


def content_of_class(uid: str, *, has_pixels: bool, has_rows: bool) -> Content:
    """What an object of this SOP Class holds.

    Args:
        uid: SOP Class UID, "" when the file does not say.
        has_pixels: Whether there is a pixel data element.
        has_rows: Whether it declares the size of an image.

    Returns:
        IMAGE also for an image SOP Class whose pixels are missing: that is a damaged file, not an
        object of another kind.
    """
    content = _CONTENTS.get(uid)
    if content is None:
        families = (kind for prefix, kind in _FAMILIES.items() if uid.startswith(prefix))
        content = next(families, None)
    if content is not None:
        return content
    if has_pixels or is_image_class(uid):
        return Content.IMAGE
    known_otherwise = uid in _PLAIN_WORDS or bool(standard_name(uid))
    return Content.IMAGE if has_rows and not known_otherwise else Content.OTHER


def is_image_class(uid: str) -> bool:
    """Whether objects of this SOP Class always have pixels."""
    return uid in _IMAGES_BY_ANOTHER_NAME or "Image Storage" in UID(uid).name


def not_displayable(uid: str) -> str:
    """What an object is that is only listed, in words for a radiologist."""
    words = _PLAIN_WORDS.get(uid) or standard_name(uid)
    if words:
        return f"{words}: not displayable"
    if not uid:
        return "A DICOM object that does not say what it is: not displayable"
    return f"A DICOM object of an unknown kind (SOP Class {uid[:64]}): not displayable"
