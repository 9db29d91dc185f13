"""The panel with the record of a patient."""
