"""What lies behind what is opened: folders, archives, DICOMDIRs; the scan and its index."""
