"""Cellpose, StarDist and InstanSeg, if their packages are installed: what they are called with.

This module imports none of them; `network_models` does, in the model process.
"""

from __future__ import annotations

from app.tools.api import ToolFailed
from app.tools.needs import is_installed

ENTRY = "app.tools.microscopy.network_models:entry"
PACKAGES = {"cellpose": "Cellpose", "stardist": "StarDist", "instanseg": "InstanSeg"}
"""Import name of each network's package and the network's name."""

_PROJECTS = {
    "cellpose": "cellpose",
    "stardist": "stardist tensorflow",
    "instanseg": "instanseg-torch",
}


def require(network: str) -> None:
    """Raise an error if a network's package is not installed.

    Raises:
        ToolFailed: It is not; the message says how to add it.
    """
    if not is_installed(network):
        raise ToolFailed(
            f"{PACKAGES[network]} is not installed",
            remedy=f"Install it into Sightline's environment (`pip install {_PROJECTS[network]}`; "
            "its weights have licences of their own), or use model classical.",
        )
