"""The pixels of a secondary capture."""

from __future__ import annotations

import numpy as np
import pytest

from app.imaging.findings import Box, State
from app.views.dicom_export_dialog import pane_pixels
from tests.gui.canvas_scene import Scene
from tests.gui.viewer_support import finding

pytestmark = pytest.mark.gui


def test_a_rejected_finding_that_is_shown_is_not_captured(scene: Scene):
    scene.show()
    annotations = scene.workspace.annotations
    plain = pane_pixels(scene.canvas, annotations)
    assert scene.canvas.frame is not None
    made = finding(scene.canvas.frame.ref, Box(20.5, 20.5, 60.5, 60.5))
    annotations.add([made])
    scene.settle()
    assert not np.array_equal(pane_pixels(scene.canvas, annotations), plain)
    annotations.decide([made.id], State.REJECTED)
    annotations.show_rejected(True)
    scene.settle()
    assert len(scene.canvas.annotation_items()) == 1
    captured = pane_pixels(scene.canvas, annotations)
    np.testing.assert_array_equal(captured, plain)
    assert annotations.rejected_shown
