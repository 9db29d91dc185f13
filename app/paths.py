"""Where Sightline keeps its files. Every folder can be moved by SIGHTLINE_HOME (tests, kiosks)."""

from __future__ import annotations

import contextlib
import os
import sys
from pathlib import Path

import platformdirs

_APP = "sightline"


def _home() -> Path | None:
    value = os.environ.get("SIGHTLINE_HOME")
    return Path(value).expanduser().resolve() if value else None


def resources_dir() -> Path:
    """The shipped, read-only resources; inside the bundle when the app is frozen."""
    frozen = getattr(sys, "_MEIPASS", None)
    if frozen:
        return Path(frozen) / "resources"
    return Path(__file__).resolve().parent.parent / "resources"


def config_dir() -> Path:
    """Settings; made on demand."""
    home = _home()
    return _made(home / "config" if home else Path(platformdirs.user_config_dir(_APP, False)))


def site_policies() -> tuple[Path, ...]:
    """Rules for tools that whoever looks after this computer has written; most have none.

    SIGHTLINE_POLICY adds a file and takes none away: they can only make rules stricter.
    """
    added = os.environ.get("SIGHTLINE_POLICY")
    return (_site_dir() / "policy.json", *((Path(added),) if added else ()))


def _site_dir() -> Path:
    """Where only an administrator can write."""
    if sys.platform == "win32":
        # Not %ProgramData%: a user can set that to another folder.
        return Path("C:/ProgramData") / _APP
    if sys.platform == "darwin":
        return Path("/Library/Application Support") / _APP
    return Path("/etc") / _APP


def data_dir() -> Path:
    """Sessions and run outputs; made on demand."""
    home = _home()
    return _made(home / "data" if home else Path(platformdirs.user_data_dir(_APP, False)))


def cache_dir() -> Path:
    """What can be made again, on this machine only; made on demand."""
    home = _home()
    return _made(home / "cache" if home else Path(platformdirs.user_cache_dir(_APP, False)))


def index_file() -> Path | None:
    """The index of opened files, which holds patients' names; None with SIGHTLINE_NO_INDEX=1."""
    off = os.environ.get("SIGHTLINE_NO_INDEX", "").strip().lower()
    return cache_dir() / "index.sqlite" if off in ("", "0", "no", "false") else None


def log_dir() -> Path:
    """Log files; made on demand."""
    home = _home()
    return _made(home / "log" if home else Path(platformdirs.user_log_dir(_APP, False)))


def models_dir() -> Path:
    """Weights that the user installs: SIGHTLINE_MODELS, else `models` in the data folder."""
    value = os.environ.get("SIGHTLINE_MODELS")
    return _made(Path(value).expanduser().resolve() if value else data_dir() / "models")


def sessions_dir() -> Path:
    """One folder per chat session."""
    return _made(data_dir() / "sessions")


def audit_dir() -> Path:
    """The audit log; made by whoever writes the first line."""
    return data_dir() / "audit"


def audit_key_file() -> Path:
    """The audit log's key, or the word that the keyring has it."""
    return config_dir() / "audit.key"


def _made(path: Path) -> Path:
    # A home that cannot be written must not keep images from being looked at: whoever writes into
    # the folder says what is wrong and what to do.
    with contextlib.suppress(OSError):
        path.mkdir(parents=True, exist_ok=True, mode=0o700)
    return path
