"""The user's settings: one JSON file, written atomically; a broken one is backed up and reset."""

from __future__ import annotations

import json
import logging
import os
import tempfile
from pathlib import Path

from pydantic import BaseModel, ConfigDict, ValidationError

_log = logging.getLogger(__name__)


class ModelSettings(BaseModel):
    """Which language model answers. The key is never kept here: see app.secrets."""

    model_config = ConfigDict(extra="ignore", protected_namespaces=())

    kind: str = "offline"  # "offline" or "openai"
    base_url: str = "https://api.openai.com/v1"
    model: str = ""


class Settings(BaseModel):
    """All settings, with defaults that work offline."""

    model_config = ConfigDict(extra="ignore")

    version: int = 1
    llm: ModelSettings = ModelSettings()
    device: str = "auto"  # for AI models: "auto", "cpu", "cuda", "mps"


def load(path: Path) -> Settings:
    """Read the settings; defaults when there are none.

    A file that cannot be understood is renamed to `<name>.broken` so that the app still starts and
    nothing the user wrote is lost.
    """
    try:
        return Settings.model_validate(json.loads(path.read_text(encoding="utf-8")))
    except FileNotFoundError:
        return Settings()
    except (OSError, ValueError, ValidationError) as error:
        _log.warning("settings unreadable (%s): reset to defaults", type(error).__name__)
        try:
            path.replace(path.with_name(path.name + ".broken"))
        except OSError:
            _log.warning("the unreadable settings file could not be moved aside")
        return Settings()


def save(settings: Settings, path: Path) -> None:
    """Write the settings atomically: a crash leaves either the old or the new file.

    Raises:
        OSError: The folder cannot be written.
    """
    write_atomic(path, settings.model_dump_json(indent=2).encode("utf-8"))


def write_atomic(path: Path, data: bytes) -> None:
    """Write `data` to a temporary neighbour, flush it to the disk, and rename it into place."""
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(data)
            stream.flush()
            os.fsync(stream.fileno())
        Path(temporary).replace(path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
