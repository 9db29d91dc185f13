"""From instances to patients, studies and series in display order."""
