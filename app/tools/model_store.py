"""The models that are installed: looked up by their cards."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from app import paths
from app.tools.api import ToolFailed
from app.tools.model_cards import ModelCard, card
from app.tools.needs import command


@dataclass(frozen=True, slots=True)
class InstalledModel:
    """A model that can be loaded.

    Attributes:
        card: Its card.
        path: Its folder; of a model of one file, that file.
        sha256: Of its one file, or of the list of its files' digests: what findings name.
        warnings: What makes its results doubtful, e.g. that its files are not the published ones.
        code_allowed: The user has said yes to running the code that lies with its weights.
    """

    card: ModelCard
    path: Path
    sha256: str
    warnings: tuple[str, ...] = ()
    code_allowed: bool = False

    def payload(self, device: str) -> dict[str, Any]:
        """What an entry in the model process is given of it; see `model_process.serving`."""
        return {
            "model": {
                "name": self.card.name,
                "path": str(self.path),
                "sha256": self.sha256,
                "memory": dict(self.card.memory),
                "trust_remote_code": self.card.trust_remote_code and self.code_allowed,
            },
            "device": device,
        }


class ModelStore:
    """The user's models folder.

    Args:
        folder: By default `paths.models_dir()`.
    """

    def __init__(self, folder: Path | None = None) -> None:
        self.folder = folder if folder is not None else paths.models_dir()

    def find(self, wanted: ModelCard) -> InstalledModel | None:
        """The installed model, or None: every file of its card that is not optional is there."""
        base = self.folder / wanted.name if wanted.folder else self.folder
        if not all((base / file.name).is_file() for file in wanted.files if not file.optional):
            return None
        path = base if wanted.folder else base / wanted.files[0].name
        return InstalledModel(wanted, path, "")

    def require(self, name: str, feature: str) -> InstalledModel:
        """The installed model of that name.

        Args:
            name: Its card's.
            feature: What needs it, for the message ("The report generator").

        Raises:
            ToolFailed: It is not installed; says what, how large, and how to get it.
        """
        wanted = card(name)
        found = self.find(wanted)
        if found is None:
            raise ToolFailed(
                f"{feature} needs a model that is not installed: {wanted.title}",
                remedy=f"Run `{command()} models get {wanted.name}`, or install a model pack with "
                f"`{command()} models install PATH`.",
            )
        return found
