"""DICOM objects other than images: segmentations, RT structures, reports, states, waveforms."""
