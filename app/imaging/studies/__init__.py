"""Grouping of instances into patients, studies and series."""
