"""Patients' records: FHIR R4 read in workers, kept in an SQLite index, matched to studies."""
