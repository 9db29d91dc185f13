"""The panels beside the image: studies, findings, layers and attributes."""
