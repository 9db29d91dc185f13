"""The contact sheet: every kind rendered by `render`, beside its name."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from PIL import Image, ImageDraw, ImageFont

from app import paths
from tests.conformance.kinds import Kind

PICTURE, CAPTION, GAP, COLUMNS = 220, 26, 10, 7
_GROUND, _INK, _BAD = (13, 16, 20), (230, 234, 239), (255, 107, 107)


def make(kinds: Sequence[Kind], folder: Path) -> tuple[Image.Image, dict[str, str]]:
    """The sheet, and by title why a kind has no picture."""
    pictures: dict[str, Image.Image] = {}
    failures: dict[str, str] = {}
    for number, kind in enumerate(kinds):
        own = folder / str(number)
        own.mkdir()
        out = own / "picture.png"
        command = ["render", str(kind.make(own)), "--out", str(out), *kind.options]
        done = subprocess.run(
            [sys.executable, "-m", "app", *command], capture_output=True, text=True, check=False
        )
        if done.returncode == 0:
            pictures[kind.title] = Image.open(out).convert("RGB")
        else:
            failures[kind.title] = done.stderr.strip()
    return _lay_out(kinds, pictures), failures


def _lay_out(kinds: Sequence[Kind], pictures: dict[str, Image.Image]) -> Image.Image:
    rows = -(-len(kinds) // COLUMNS)
    cell = (PICTURE + GAP, PICTURE + CAPTION + GAP)
    sheet = Image.new("RGB", (COLUMNS * cell[0] + GAP, rows * cell[1] + GAP), _GROUND)
    draw = ImageDraw.Draw(sheet)
    font = ImageFont.truetype(
        str(next((paths.resources_dir() / "fonts").glob("Inter-Regular.*"))), 13
    )
    for number, kind in enumerate(kinds):
        left = GAP + number % COLUMNS * cell[0]
        top = GAP + number // COLUMNS * cell[1]
        draw.rectangle((left, top, left + PICTURE - 1, top + PICTURE - 1), fill="black")
        picture = pictures.get(kind.title)
        if picture is not None:
            scale = min(PICTURE / picture.width, PICTURE / picture.height)
            size = max(1, round(picture.width * scale)), max(1, round(picture.height * scale))
            small = picture.resize(size, Image.Resampling.LANCZOS)
            place = left + (PICTURE - size[0]) // 2, top + (PICTURE - size[1]) // 2
            sheet.paste(small, place)
        ink = _INK if picture is not None else _BAD
        draw.text((left, top + PICTURE + 4), kind.title, fill=ink, font=font)
    return sheet
