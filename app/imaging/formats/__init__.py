"""Readers of image formats that are not DICOM: pictures, TIFF, NIfTI, NRRD, MetaImage, PDF."""
