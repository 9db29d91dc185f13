"""DICOM objects that are no images: segmentations, RT structures, reports, states, waveforms."""
