"""Sightline: a desktop viewer for medical images with an assistant inside."""

__version__ = "0.1.0"
