"""Checks whether Python packages are installed, with instructions for those that are not."""

from __future__ import annotations

import importlib.util
import sys

from app.tools.api import ToolFailed

AI_PACKAGES = ("torch", "torchvision", "torchxrayvision", "transformers", "diffusers")


def command() -> str:
    """Return how users start the program: "sightline", or "python -m app" if run from source."""
    return "sightline" if getattr(sys, "frozen", False) else "python -m app"


def is_installed(package: str) -> bool:
    """Return True if `package` can be imported, without importing it."""
    try:
        return importlib.util.find_spec(package) is not None
    except (ImportError, ValueError):
        return False


def missing_package(feature: str, package: str) -> ToolFailed:
    """Return the error that `feature` ("Chest segmentation") needs a package, with instructions."""
    return ToolFailed(
        f"{feature} needs the Python package {package}, which is not installed",
        remedy=how_to_add(),
    )


def how_to_add(extra: str = "ai") -> str:
    """Return how a user gets the AI packages, or those of another extra."""
    if getattr(sys, "frozen", False):
        return (
            "This build of Sightline is the viewer without the AI packages: "
            "install the full build, or run Sightline from its source folder with "
            "`python3 installer/bootstrap.py run`."
        )
    return (
        "Start it once with `python3 installer/bootstrap.py run` without --viewer-only: that "
        f"adds them. In an environment of your own: `pip install 'sightline[{extra}]'`."
    )


def require_packages(feature: str, *packages: str) -> None:
    """Raise an error if any of these Python packages is not installed.

    Raises:
        ToolFailed: A package is not installed; the message says how to add it.
    """
    for package in packages:
        if not is_installed(package):
            raise missing_package(feature, package)
