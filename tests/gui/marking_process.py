"""A process that marks an image, as a user does, until it is killed or told to stop.

Each change is told on a pipe as soon as it is made: a line of the monotonic clock (s), what was
done, the id and the label. Saving is the program's own; see `MarkKeeping`.
"""

from __future__ import annotations

import os
import random
import resource
import signal
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
from PySide6.QtCore import QTimer
from PySide6.QtWidgets import QApplication, QWidget

from app.imaging.findings import Box, Finding, Mask
from app.imaging.types import ImageRef
from app.views import mark_keeping
from app.views.mark_keeping import MarkKeeping
from app.views.notices import Notices
from app.workspace.mark_store import MarkStore
from app.workspace.workspace import Workspace
from tests.gui.viewer_support import finding, found, instance, study

IMAGE = ImageRef("1.1", 0, "sha")
LIMIT = 60_000
"""Bytes that a file may have where the disk is full."""


class Marker:
    """A workspace whose marks are kept, and somebody who draws, changes and deletes."""

    def __init__(self, store: Path, pipe: int, seed: int) -> None:
        os.environ["QT_QPA_PLATFORM"] = "offscreen"
        self.application = QApplication([])
        self.pipe, self.seed = pipe, seed
        self.choose = random.Random(seed)
        self.workspace = Workspace()
        self.workspace.add(found(study(instance(IMAGE.sop_instance_uid))))
        self.window = QWidget()
        self.notices = Notices(self.window)
        self.keeping = MarkKeeping(self.workspace, MarkStore(store), self.notices, self.window)
        self.mine: list[str] = []
        self.made = 0

    def tell(self, what: str, one: str, label: str = "") -> None:
        os.write(self.pipe, f"{time.monotonic()} {what} {one} {label}\n".encode())

    def draw(self, shape: Box | Mask | None = None) -> None:
        self.made += 1
        made = finding(IMAGE, shape or Box(1, 1, 5, 5), "v0", id=f"{self.seed}-{self.made}")
        self._put(replace(made, provenance=replace(made.provenance, run_id=str(self.made))))
        self.mine.append(made.id)

    def _put(self, one: Finding) -> None:
        self.workspace.annotations.put(one, "Mark")
        self.tell("put", one.id, one.label)

    def step(self) -> None:
        """Do one thing, and the next one after a while."""
        annotations = self.workspace.annotations
        what = self.choose.random()
        one = self.choose.choice(self.mine) if self.mine else ""
        if one and what < 0.2:
            annotations.remove([one])
            self.mine.remove(one)
            self.tell("remove", one)
        elif one and what < 0.5:
            item = annotations.get(one)
            assert item is not None
            self._put(replace(item.finding, label=f"v{int(item.finding.label[1:]) + 1}"))
        else:
            self.draw()
        QTimer.singleShot(self.choose.choice([1, 5, 20, 80]), self.step)

    def wait(self, ready: object) -> None:
        end = time.monotonic() + 60
        while not ready():  # type: ignore[operator]
            self.application.processEvents()
            time.sleep(0.001)
            assert time.monotonic() < end


def mark_until_killed(store: Path, pipe: int, seed: int) -> None:
    """Mark for ever; every second one is saved without a pause, so that kills hit its writing."""
    if seed % 2:
        mark_keeping.SAVE_MS = 0
    marker = Marker(store, pipe, seed)
    marker.step()
    marker.application.exec()


def mark_and_stop(store: Path, pipe: int, seed: int, count: int) -> None:
    """Draw so many marks, and end as the program does."""
    marker = Marker(store, pipe, seed)
    while marker.made < count:
        marker.draw()
        for _ in range(3):
            marker.application.processEvents()
            time.sleep(0.002)
    marker.keeping.close()
    marker.tell("saved", "all")


def mark_on_a_full_disk(store: Path, pipe: int, seed: int) -> None:
    """Draw what has no room; tell what the user is told, then make room and wait."""
    mark_keeping.RETRY_MS = 300
    marker = Marker(store, pipe, seed)
    marker.draw()
    marker.wait(lambda: marker.keeping.saved)
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    _soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (LIMIT, hard))
    marker.draw(Mask(np.random.default_rng(0).random((2000, 2000)) > 0.5))
    marker.wait(lambda: marker.keeping.failing)
    (notice,) = marker.notices.all()
    marker.tell("notice", notice.text.text().replace("\n", " "))
    resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))
    marker.wait(lambda: marker.keeping.saved)
    marker.tell("saved", "all")
