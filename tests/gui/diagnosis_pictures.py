"""Makes the pictures of docs/diagnosis.md: `python -m tests.gui.diagnosis_pictures [FOLDER]`.

The real window shows the demo film; the offline planner computes the differential of a question.
"""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path

from PySide6.QtGui import QPainter, QPixmap

from app.imaging.demo import demo_paths
from app.imaging.findings import State
from app.views.application import use_offscreen
from tests.conftest import REPO
from tests.gui.microscopy_pictures import QuestionPictures

QUESTIONS = (
    "Is the heart enlarged?",
    "Acute breathlessness with orthopnea and leg edema, no wheezing: how likely is heart failure?",
)
STEPS, NEXT, SOURCES = 1, 2, 3
GAP = 16  # px between panels


def main(folder: Path) -> None:
    """Write the pictures."""
    use_offscreen()
    with tempfile.TemporaryDirectory() as made:
        for name in ("XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME"):
            os.environ[name] = str(Path(made) / name)
        pictures = QuestionPictures(folder, [*demo_paths()[:1]], "dark")
        window = pictures.window
        window.resize(1600, 1000)
        pictures.settle(lambda: bool(window.workspace.studies.all))
        for question in QUESTIONS:
            pictures.run(question)
        marks = window.workspace.annotations
        marks.reviewer = "Dr Roe"
        marks.decide([one.finding.id for one in marks.all()], State.ACCEPTED)
        pictures.settle(lambda: not window.diagnosis_panel.busy)
        pictures._dismiss()
        pictures.save("diagnosis-panel")
        panel, grabs = window.diagnosis_panel, list[QPixmap]()
        for tab in (STEPS, NEXT, SOURCES):
            panel.page.tabs.setCurrentIndex(tab)
            pictures.settle(lambda: not panel.busy)
            grabs.append(panel.grab())
        pictures._keep(_beside(grabs), "diagnosis-tabs")
        pictures.close()


def _beside(pictures: list[QPixmap]) -> QPixmap:
    width = sum(one.width() + GAP for one in pictures) - GAP
    whole = QPixmap(width, max(one.height() for one in pictures))
    whole.fill("#000000")
    painter, x = QPainter(whole), 0
    for one in pictures:
        painter.drawPixmap(x, 0, one)
        x += one.width() + GAP
    painter.end()
    return whole


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else REPO / "docs" / "images")
