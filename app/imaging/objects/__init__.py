"""DICOM objects that are no images: segmentations, contours, states, reports, documents, plots."""
