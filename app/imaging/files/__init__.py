"""Where files come from and what a scan finds: folders, archives, DICOMDIRs, the index, readers."""
