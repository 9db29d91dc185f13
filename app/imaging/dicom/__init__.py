"""DICOM images: headers, transfer syntaxes, and what is needed to interpret a frame."""
