"""The general pack: DICOM conversion and display of images."""
