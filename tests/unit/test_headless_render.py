"""`render` shows the slices of a series in one automatic window, as the window does."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image
from pydicom.uid import generate_uid

from app.headless.render import RenderRequest, render
from tests.unit.imaging.files import make_dicom

pytestmark = pytest.mark.usefixtures("forked")

MR = "1.2.840.10008.5.1.4.1.1.4"


def test_slices_of_a_series_without_a_window_are_rendered_in_the_same_one(tmp_path: Path):
    folder = tmp_path / "mr"
    folder.mkdir()
    shared: dict[str, Any] = {
        "SOPClassUID": MR,
        "Modality": "MR",
        "SeriesInstanceUID": generate_uid(),
        "StudyInstanceUID": generate_uid(),
        "FrameOfReferenceUID": generate_uid(),
        "ImageOrientationPatient": [1, 0, 0, 0, 1, 0],
        "PixelSpacing": [1, 1],
    }
    for number, brightest in enumerate((200, 400, 1000)):
        pixels = np.linspace(0, brightest, 64 * 64).astype(np.uint16).reshape(64, 64)
        pixels[0, 0] = 150
        place = {"ImagePositionPatient": [0, 0, 3 * number], "InstanceNumber": number + 1}
        make_dicom(folder / f"{number}.dcm", pixels, **shared, **place)
    greys: list[int] = []
    for number in range(3):
        out = tmp_path / f"{number}.png"
        series = str(shared["SeriesInstanceUID"])
        render(RenderRequest(folder, out, frame=number, series=series))
        greys.append(int(np.asarray(Image.open(out))[0, 0]))
    assert len(set(greys)) == 1
    given = tmp_path / "given.png"
    render(RenderRequest(folder / "0.dcm", given))
    assert int(np.asarray(Image.open(given))[0, 0]) > greys[0]  # alone it has its own window


def test_a_picture_of_an_image_that_is_cut_short_is_said_to_be_a_part(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    path = make_dicom(tmp_path / "a.dcm", np.zeros((64, 64), np.uint16))
    path.write_bytes(path.read_bytes()[: -32 * 128])
    render(RenderRequest(path, tmp_path / "a.png"))
    assert np.asarray(Image.open(tmp_path / "a.png")).shape[:2] == (32, 64)
    assert "only the upper 32 of its 64 rows" in capsys.readouterr().err
