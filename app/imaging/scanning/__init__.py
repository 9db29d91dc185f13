"""Scanning of opened folders, archives and DICOMDIRs, and the index of results."""
