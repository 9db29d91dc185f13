"""Makes the picture of docs/report.md: `python -m tests.gui.report_picture [FOLDER]`.

The real window shows the demo film with its heart measured, an opacity that was boxed by hand and
one that was rejected after its sentence was edited.
"""

from __future__ import annotations

import os
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

from app.imaging.demo import demo_paths
from app.imaging.findings import Box, State
from app.views.application import use_offscreen
from tests.conftest import REPO
from tests.gui.microscopy_pictures import QuestionPictures
from tests.gui.viewer_support import finding


def main(folder: Path) -> None:
    """Write the picture."""
    use_offscreen()
    with tempfile.TemporaryDirectory() as made:
        for name in ("XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME"):
            os.environ[name] = str(Path(made) / name)
        pictures = QuestionPictures(folder, [*demo_paths()[:1]], "dark")
        window = pictures.window
        window.resize(1600, 1000)
        pictures.settle(lambda: bool(window.workspace.studies.all))
        pictures.run("Measure the heart size")
        marks = window.workspace.annotations
        marks.reviewer = "Dr Roe"
        image = marks.all()[0].finding.image
        right = finding(image, Box(560.5, 700.5, 820.5, 980.5), "Right opacity", id="right")
        left = finding(image, Box(1300.5, 900.5, 1500.5, 1100.5), "Left nodule", id="left")
        measured = {"value": 180.0, "units": "px"}
        marks.add([replace(one, **measured) for one in (right, left)])
        marks.decide([one.finding.id for one in marks.all()], State.ACCEPTED)
        window.docks["Report"].show()
        window.docks["Findings"].hide()
        panel = window.report_panel
        pictures.settle(lambda: not panel.busy and not window.busy and bool(panel.editors))
        draft = panel.report.draft
        assert draft is not None
        key = next(one.key for one, _, told in draft.told() if "right" in told.findings)
        lines = [
            replace(one, text=one.text.replace("Right", "Left")) if "right" in one.findings else one
            for one in panel.editors[key].sentences()
        ]
        panel.report.edit(key, lines)
        marks.decide(["left"], State.REJECTED)
        marks.select("right")
        pictures.settle(lambda: not panel.busy and not window.busy)
        panel.scrolled.ensureWidgetVisible(panel.strip)
        pictures._dismiss()
        pictures.save("report-panel")
        pictures.close()


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else REPO / "docs" / "images")
