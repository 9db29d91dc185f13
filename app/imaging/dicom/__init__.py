"""Reading of DICOM files: headers, pixel data, and the attributes needed to interpret a frame."""
