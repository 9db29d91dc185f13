"""Images that are not DICOM: pictures, TIFF, NIfTI, NRRD, MetaImage, PDF."""
