"""Remembers where the docks are and how large the window is."""

from __future__ import annotations

import base64
import binascii
import configparser
from pathlib import Path

from PySide6.QtCore import QByteArray
from PySide6.QtWidgets import QMainWindow

from app.log import get_logger
from app.settings import write_atomic

VERSION = 2  # raised when docks are added or renamed: an older layout is then ignored
FILE = "window.ini"
_SECTION = "window"
_log = get_logger(__name__)


def save(window: QMainWindow, path: Path) -> None:
    """Write the layout; a folder that cannot be written is no reason to complain."""
    lines = (
        f"[{_SECTION}]",
        f"geometry = {_text(window.saveGeometry())}",
        f"state = {_text(window.saveState(VERSION))}",
    )
    try:
        write_atomic(path, ("\n".join(lines) + "\n").encode())
    except OSError as error:
        _log.warning("the window's layout was not saved: %s", type(error).__name__)


def restore(window: QMainWindow, path: Path) -> bool:
    """Bring the layout back; a missing, broken or older file is ignored. Returns success."""
    parser = configparser.ConfigParser(interpolation=None)
    try:
        parser.read_string(path.read_text(encoding="utf-8"))
        section = parser[_SECTION]
        geometry, state = _bytes(section["geometry"]), _bytes(section["state"])
    except FileNotFoundError:
        return False
    except (OSError, ValueError, KeyError, configparser.Error, binascii.Error) as error:
        _log.warning("the window's layout is unreadable: %s", type(error).__name__)
        return False
    return bool(window.restoreGeometry(geometry)) and bool(window.restoreState(state, VERSION))


def _text(value: QByteArray) -> str:
    return base64.b64encode(value.data()).decode("ascii")


def _bytes(text: str) -> QByteArray:
    return QByteArray(base64.b64decode(text, validate=True))
