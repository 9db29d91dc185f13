"""Success and failure in pictures, of synthetic films only: docs/images/chest-*.jpg.

    python -m tests.bench.thorax_pictures --out docs/images

Colours are the network's outlines, white the true ones; under each film what was found or said.
"""

from __future__ import annotations

import argparse
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw, ImageFont
from skimage import measure

from app import paths
from app.tools.chest import ctr_geometry
from app.tools.chest.thorax_arch import STRUCTURES, ThoraxNet
from app.tools.chest.thorax_net import ThoraxSegmentation, load, segment
from tests.support import thorax_cases as cases
from tests.support.thorax_cases import BoolImage, FloatImage, Masks
from training.thorax import negatives, render, shapes
from training.thorax.probe import displayed

SEED = 660_001
_COLOURS = {"Right Lung": (86, 180, 233), "Left Lung": (0, 200, 140), "Heart": (230, 159, 0)}
_TILE, _TEXT, _GAP, _COLUMNS = 380, 92, 12, 4
_INK, _PAPER, _FAINT = (235, 235, 235), (24, 26, 30), (165, 170, 178)


@dataclass(frozen=True)
class Tile:
    """One film, and what the network said of it.

    Attributes:
        title: How it is shown.
        pixels: [rows, columns] in 0..1.
        truth: The true masks; empty for what is no frontal film.
        found: The network's answer.
    """

    title: str
    pixels: FloatImage
    truth: Masks
    found: ThoraxSegmentation

    @property
    def dice(self) -> float:
        """Both lungs' Dice; 0 when refused."""
        if self.found.refused is not None or not self.truth:
            return 0.0
        return _dice(_lungs(self.found.masks), _lungs(self.truth))

    def told(self) -> str:
        """What is written under it."""
        if self.found.refused is not None:
            return f"refused: {self.found.refused}"
        ratio = ctr_geometry.measure(
            self.found.masks, confidence=self.found.confidence, position="PA"
        )
        true = ctr_geometry.measure(self.truth, position="PA")
        text = f"lungs' Dice {self.dice:.3f}"
        if ratio.ratio is not None and true.ratio is not None:
            text += f", ratio {ratio.ratio:.2f} (true {true.ratio:.2f})"
        notes = dict.fromkeys([*self.found.warnings, *ratio.warnings])
        return f"{text}. {'Warns: ' + '; '.join(notes) if notes else 'No warning.'}"


def _lungs(masks: Masks) -> BoolImage:
    return masks["Right Lung"] | masks["Left Lung"]


def _dice(one: BoolImage, other: BoolImage) -> float:
    return 2 * int((one & other).sum()) / max(1, int(one.sum()) + int(other.sum()))


class Films:
    """Synthetic patients, and the network that looks at them."""

    def __init__(self, net: ThoraxNet) -> None:
        self._net = net
        self._shape = shapes.load()

    def patient(self, index: int) -> tuple[FloatImage, Masks]:
        """Pixels in 0..1, twice enlarged, and true masks."""
        image, labels = render.frontal(np.random.default_rng([SEED, index]), self._shape)
        size = (2 * image.shape[1], 2 * image.shape[0])
        large = Image.fromarray(displayed(image)).resize(size, Image.Resampling.BICUBIC)
        wide = np.asarray(Image.fromarray(labels).resize(size, Image.Resampling.NEAREST))
        masks = {name: wide == value for value, name in enumerate(STRUCTURES, start=1)}
        return np.clip(np.asarray(large, np.float32), 0, 1), masks

    def tile(self, title: str, pixels: FloatImage, truth: Masks) -> Tile:
        """What the network says of a film."""
        return Tile(title, pixels, truth, segment(pixels, self._net))

    def good(self) -> list[Tile]:
        """One patient shown in many ways."""
        index = next(i for i in range(99) if self._ordinary(i))
        pixels, truth = self.patient(index)
        ways = ("turned by 8", "padded 30 %", "cropped 5 %", "gamma 0.5", "noise 10 %", "mirrored")
        tiles = [self.tile("as it is", pixels, truth)]
        tiles += [self.tile(way, *cases.CHANGES[way](pixels, truth)) for way in ways]
        return [*tiles, self.tile("inverted", 1 - pixels, truth)]

    def _ordinary(self, index: int) -> bool:
        found = self.tile("", *self.patient(index)).found
        return found.refused is None and not found.warnings

    def bad(self, count: int) -> list[Tile]:
        """The worst of `count` patients, and pictures that must be refused."""
        tiles = [self.tile("", *self.patient(i)) for i in range(count)]
        tiles = sorted(tiles, key=lambda tile: tile.dice)
        names = ("worst", "second worst", "third worst", "fourth worst")
        worst = [
            Tile(f"{name} of {count} patients", t.pixels, t.truth, t.found)
            for name, t in zip(names, tiles, strict=False)
        ]
        lateral = displayed(negatives.lateral(np.random.default_rng([SEED, 1])))
        kinds = ("limb", "head", "belly", "slice", "fan", "picture")
        drawn = {
            kind: displayed(drawer(np.random.default_rng([SEED, 3])) + 1e-3)
            for kind, drawer in zip(kinds, negatives.DRAWERS, strict=True)
        }
        refused = (("a lateral", lateral), ("an abdomen", drawn["belly"]))
        refused += (("an axial slice", drawn["slice"]), ("a limb", drawn["limb"]))
        return worst + [self.tile(name, picture, {}) for name, picture in refused]


def _outlines(draw: ImageDraw.ImageDraw, tile: Tile, scale: float, at: tuple[float, float]) -> None:
    def trace(mask: BoolImage, colour: tuple[int, int, int], wide: int) -> None:
        for contour in measure.find_contours(np.pad(mask, 1).astype(float), 0.5):
            points = [((x - 0.5) * scale + at[0], (y - 0.5) * scale + at[1]) for y, x in contour]
            draw.line(points, fill=colour, width=wide)

    for mask in tile.truth.values():
        trace(mask, (255, 255, 255), 1)
    for name, mask in tile.found.masks.items():
        trace(mask, _COLOURS[name], 3)


def montage(tiles: Sequence[Tile]) -> Image.Image:
    """The tiles in rows of four, each with its text."""
    rows = -(-len(tiles) // _COLUMNS)
    step = _TILE + _GAP, _TILE + _TEXT + _GAP
    size = _COLUMNS * step[0] + _GAP, rows * step[1] + _GAP
    sheet = Image.new("RGB", size, _PAPER)
    draw = ImageDraw.Draw(sheet)
    fonts = paths.resources_dir() / "fonts"
    bold = ImageFont.truetype(str(fonts / "Inter-SemiBold.otf"), 16)
    small = ImageFont.truetype(str(fonts / "Inter-Regular.otf"), 13)
    for i, tile in enumerate(tiles):
        x, y = _GAP + (i % _COLUMNS) * step[0], _GAP + (i // _COLUMNS) * step[1]
        rows_, columns = tile.pixels.shape
        scale = _TILE / max(rows_, columns)
        shown = Image.fromarray((tile.pixels * 255).astype(np.uint8))
        shown = shown.resize((round(columns * scale), round(rows_ * scale)))
        at = x + (_TILE - shown.width) // 2, y + (_TILE - shown.height) // 2
        sheet.paste(shown.convert("RGB"), at)
        _outlines(draw, tile, scale, (at[0], at[1]))
        draw.text((x, y + _TILE + 6), tile.title, _INK, bold)
        lines = textwrap.wrap(tile.told(), 56)
        if len(lines) > 3:
            lines = [*lines[:2], f"{lines[2][:52]} …"]
        draw.multiline_text((x, y + _TILE + 28), "\n".join(lines), _FAINT, small, spacing=4)
    return sheet


def main() -> None:
    """Draws both pictures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--weights", type=Path, default=_embedded())
    parser.add_argument("--patients", type=int, default=60)
    args = parser.parse_args()
    films = Films(load(args.weights))
    for name, tiles in (("good", films.good()), ("bad", films.bad(args.patients))):
        path = args.out / f"chest-{name}.jpg"
        montage(tiles).save(path, quality=82, optimize=True)
        print(path)
        for tile in tiles:
            print(f"  {tile.title}: {tile.told()}")


def _embedded() -> Path:
    return paths.resources_dir() / "models" / "thorax-net" / "thorax-net.safetensors"


if __name__ == "__main__":
    main()
