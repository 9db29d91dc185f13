"""The folders and files of Sightline.

The environment variable SIGHTLINE_HOME puts all folders in one place, for tests and kiosks.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
import tomllib
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

import platformdirs

_APP = "sightline"


def _home() -> Path | None:
    value = os.environ.get("SIGHTLINE_HOME")
    return Path(value).expanduser().resolve() if value else None


def resources_dir() -> Path:
    """Return the folder with the shipped resources; in a bundled program it is in the bundle."""
    frozen = getattr(sys, "_MEIPASS", None)
    if frozen:
        return Path(frozen) / "resources"
    return Path(__file__).resolve().parent.parent / "resources"


def build_facts() -> dict[str, str]:
    """Return the packaged program's version, flavour, commit and date; {} when run from source."""
    facts = _build_json()
    if not facts:
        return {}
    date = datetime.fromtimestamp(facts["time"], UTC).date().isoformat()
    return {"flavour": facts["flavour"], "commit": facts["commit"][:12], "date": date}


def packaged_torch() -> str:
    """Return the version of the packaged program's torch, such as "2.14.1+cu130"; "" without."""
    return str(_build_json().get("torch", ""))


def _build_json() -> dict[str, Any]:
    path = resources_dir() / "build.json"
    return json.loads(path.read_text("utf-8")) if path.is_file() else {}


@cache
def _tables(file: str) -> dict[str, Any]:
    return tomllib.loads((resources_dir() / "tables" / f"{file}.toml").read_text("utf-8"))


def shipped_table(file: str, name: str) -> Any:
    """Return the table `name` in `resources/tables/{file}.toml`, as a Python object."""
    return _tables(file)[name]


def question_words(name: str) -> frozenset[str]:
    """Return the words under `name` in `questions.toml`, which are used to interpret questions."""
    return frozenset(shipped_table("questions", "words")[name].split())


def config_dir() -> Path:
    """Return the folder for the settings; it is created if it is missing."""
    home = _home()
    return _created(home / "config" if home else Path(platformdirs.user_config_dir(_APP, False)))


def site_policies() -> tuple[Path, ...]:
    """Return the paths of files with an administrator's rules for tools; the files may be missing.

    The environment variable SIGHTLINE_POLICY adds a path, but cannot replace the system-wide one,
    since rules may only become stricter.
    """
    added = os.environ.get("SIGHTLINE_POLICY")
    return (_site_dir() / "policy.json", *((Path(added),) if added else ()))


def site_memory() -> tuple[Path, ...]:
    """Return the path of the file with an administrator's notes; the file may be missing."""
    return (_site_dir() / "memory.json",)


def _site_dir() -> Path:
    """Return the folder of system-wide settings, which only an administrator can write."""
    if sys.platform == "win32":
        # Not from the variable %ProgramData%, which a user can change.
        return Path("C:/ProgramData") / _APP
    if sys.platform == "darwin":
        return Path("/Library/Application Support") / _APP
    return Path("/etc") / _APP


def data_dir() -> Path:
    """Return the folder for conversations and results; it is created if it is missing."""
    home = _home()
    return _created(home / "data" if home else Path(platformdirs.user_data_dir(_APP, False)))


def cache_dir() -> Path:
    """Return the folder for caches, which may be deleted; it is created if it is missing."""
    home = _home()
    return _created(home / "cache" if home else Path(platformdirs.user_cache_dir(_APP, False)))


def index_folder() -> Path | None:
    """Return the folder of the index of opened files; None if SIGHTLINE_NO_INDEX is 1.

    The index contains patients' names.
    """
    off = os.environ.get("SIGHTLINE_NO_INDEX", "").strip().lower()
    return cache_dir() / "index" if off in ("", "0", "no", "false") else None


def log_dir() -> Path:
    """Return the folder for the log files; it is created if it is missing."""
    home = _home()
    return _created(home / "log" if home else Path(platformdirs.user_log_dir(_APP, False)))


def models_dir() -> Path:
    """Return the folder for installed models: $SIGHTLINE_MODELS, or `models` in the data folder."""
    value = os.environ.get("SIGHTLINE_MODELS")
    return _created(Path(value).expanduser().resolve() if value else data_dir() / "models")


def cuda_dirs() -> tuple[Path, ...]:
    """Return the folders that may hold CUDA packs; new ones are installed into the first.

    $SIGHTLINE_CUDA, if it is set; `cuda` in the user's data folder; the administrator's `cuda`.
    """
    value = os.environ.get("SIGHTLINE_CUDA")
    chosen = (Path(value).expanduser().resolve(),) if value else ()
    return (*chosen, data_dir() / "cuda", _site_dir() / "cuda")


def add_pack_folders() -> None:
    """Let Python find tool packs of others in the site's folder `packs` and in the user's.

    They are installed there with `pip install --target`; a packaged program has no other place.
    """
    folders = (_site_dir() / "packs", data_dir() / "packs")
    sys.path += [str(folder) for folder in folders if folder.is_dir()]


def sessions_dir() -> Path:
    """Return the folder with one subfolder per conversation; it is created if it is missing."""
    return _created(data_dir() / "sessions")


def audit_dir() -> Path:
    """Return the folder for the audit log; it is created when the first line is written."""
    return data_dir() / "audit"


def audit_key_file() -> Path:
    """Return the path of the file with the audit log's key or a note that the keyring has it."""
    return config_dir() / "audit.key"


def _created(path: Path) -> Path:
    # A home that cannot be written must not keep the viewer from starting: code that writes into
    # the folder reports the error.
    with contextlib.suppress(OSError):
        path.mkdir(parents=True, exist_ok=True, mode=0o700)
    return path
