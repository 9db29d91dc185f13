"""The study list, the findings list and the attribute panel."""
