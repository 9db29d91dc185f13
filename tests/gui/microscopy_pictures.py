"""Makes the pictures of docs/microscopy.md: `python -m tests.gui.microscopy_pictures [FOLDER]`.

The real window shows a made experiment (two groups of three images,
`tests.support.cell_states`) and a made stack of three channels; the offline planner answers.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import tifffile
from PySide6.QtWidgets import QPushButton
from scipy import ndimage

from app.views.application import use_offscreen
from app.views.chat.dock import ChatDock
from app.views.chat.tool_card import ToolCard
from tests.conftest import REPO
from tests.gui.guide_pictures import Pictures
from tests.support.cell_states import experiment

QUESTION = "Which cell states differ between treatment and control?"


def main(folder: Path) -> None:
    """Write the pictures."""
    use_offscreen()
    with tempfile.TemporaryDirectory() as made:
        for name in ("XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME"):
            os.environ[name] = str(Path(made) / name)
        images = Path(made) / "images"
        images.mkdir()
        for one in experiment(0):
            tifffile.imwrite(images / f"{one.replicate.replace('-', '_')}.tif", one.pixels)
        stack = Path(made) / "stack.ome.tif"
        _write_stack(stack)
        channels = QuestionPictures(folder, [stack], "dark")
        channels.window.resize(1280, 800)
        channels.settle(lambda: bool(channels.window.workspace.studies.all))
        channels.save("microscopy-channels")
        channels.close()
        states = QuestionPictures(folder, [images], "dark")
        states.window.resize(1440, 900)
        states.settle(lambda: bool(states.window.workspace.studies.all))
        states.run("How many cells are there?")
        states.save("microscopy-count")
        states.run(QUESTION)
        states.open_result("Map of the cells (UMAP)")
        states.save("microscopy-map")
        states.open_result("Comparison of groups")
        states.save("microscopy-comparison")
        states.close()


class QuestionPictures(Pictures):
    """The window, with the questions that are asked in it."""

    def run(self, question: str) -> None:
        """Ask a question and wait for its answer."""
        dock = self.window.findChild(ChatDock)
        assert dock is not None
        before = len(self.window.findChildren(ToolCard))
        dock.submit(question)
        end = time.monotonic() + 600
        while len(self.window.findChildren(ToolCard)) == before or not dock.is_idle():
            self.application.processEvents()
            time.sleep(0.01)
            if time.monotonic() > end:
                raise TimeoutError
        self.settle()

    def open_result(self, title: str) -> None:
        """Open the last table or plot with that title, as a click on its button does."""
        buttons = [
            button
            for card in self.window.findChildren(ToolCard)
            for button in card.results
            if title in button.text()
        ]
        assert buttons, title
        last: QPushButton = buttons[-1]
        last.click()
        self.settle()

    def close(self) -> None:
        """Close the window."""
        self.window.quit()
        self.program.close()


def _write_stack(path: Path) -> None:
    """Write a stack of 5 depths and 3 channels of round cells, as OME-TIFF."""
    dice = np.random.default_rng(1)
    pixels = np.zeros((5, 3, 512, 640))
    rows, columns = np.mgrid[:512, :640]
    for _ in range(60):
        y, x, radius = dice.uniform(30, 482), dice.uniform(30, 610), dice.uniform(11, 17)
        away = np.hypot(rows - y, columns - x)
        parts = (
            2000.0 * (away < radius),
            900 * np.exp(-((away / (2 * radius)) ** 4)),
            1500.0 * (np.abs(away - 1.9 * radius) < 2.5),
        )
        for depth in range(5):
            fade = np.exp(-((depth - 2) ** 2) / 3)
            for channel, part in enumerate(parts):
                np.maximum(pixels[depth, channel], part * fade, out=pixels[depth, channel])
    pixels = ndimage.gaussian_filter(pixels, (0, 0, 1, 1)) + dice.normal(100, 20, pixels.shape)
    tifffile.imwrite(
        path,
        pixels.clip(0, 65535).astype(np.uint16),
        ome=True,
        metadata={
            "axes": "ZCYX",
            "Channel": {"Name": ["DAPI", "Actin-GFP", "Membrane"]},
            "PhysicalSizeX": 0.325,
            "PhysicalSizeXUnit": "µm",
            "PhysicalSizeY": 0.325,
            "PhysicalSizeYUnit": "µm",
            "PhysicalSizeZ": 1.0,
            "PhysicalSizeZUnit": "µm",
        },
    )


if __name__ == "__main__":
    main(Path(sys.argv[1]) if sys.argv[1:] else REPO / "docs" / "images")
