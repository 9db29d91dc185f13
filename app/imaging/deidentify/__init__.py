"""De-identified copies of DICOM files (PS3.15 annex E): rules, cleaning, code streams, copying."""
