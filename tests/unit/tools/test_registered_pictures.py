"""A picture of one image moved to lie on another has the one's patient and the other's sides."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from app.agent.privacy.model_pictures import risk_of
from app.imaging.files import synthetic
from app.imaging.types import SpacingSource
from app.tools import picture_sources
from app.tools.api import ImageSnapshot, RegistrationTarget, ToolRetry
from app.tools.chest import image_suitability
from app.tools.chest.model_pictures import Hanging
from app.tools.files import save_png
from app.tools.images import RunImages
from app.tools.picture_sources import CallImages
from tests.unit.tools.chest.synthetic import radiograph
from tests.unit.tools.support import Bench, write_dicom

CURRENT: dict[str, Any] = {
    "PatientID": "P-7",
    "StudyDate": "20210301",
    "ViewPosition": "PA",
    "PatientOrientation": ["R", "F"],
    "ImagerPixelSpacing": [0.2, 0.3],
}
PRIOR: dict[str, Any] = {
    "PatientID": "P-7",
    "StudyDate": "20200301",
    "ViewPosition": "AP",
    "PatientOrientation": ["L", "F"],
    "ImagerPixelSpacing": [0.5, 0.5],
    "WindowCenter": 9,
    "WindowWidth": 9,
}


def opened(bench: Bench, **prior: Any) -> None:
    bench.open(write_dicom(bench.folder / "now.dcm", radiograph(), **CURRENT))
    bench.open(write_dicom(bench.folder / "then.dcm", radiograph(300, 260), **(PRIOR | prior)))


def laid(bench: Bench, scale: float | None = 1.1) -> Path:
    current, prior = (bench.images.resolve(f"image-{number}") for number in (1, 2))
    path = save_png(current.display[::-1].copy(), bench.out, "registered")
    bench.images.add_derived(path, prior, target=RegistrationTarget(current, scale))
    return path


def seen(bench: Bench, path: Path) -> ImageSnapshot:
    return bench.images.resolve(str(path))


def test_it_shows_the_priors_patient_in_the_current_images_sides(bench: Bench):
    opened(bench)
    snapshot = seen(bench, laid(bench))
    get = snapshot.instance.get
    assert [get(name) for name in ("PatientID", "StudyDate", "ViewPosition", "Modality")] == [
        "P-7",
        "20200301",
        "AP",
        "DX",
    ]
    assert (snapshot.frame.orientation.row, snapshot.frame.orientation.column) == ("R", "F")
    assert get("PatientOrientation") == "R\\F"
    assert Hanging.of(snapshot.frame.orientation).mirror, "a tool turns it as the current image"


def test_findings_on_it_are_on_neither_image(bench: Bench):
    opened(bench)
    snapshot = seen(bench, laid(bench))
    refs = {bench.images.resolve(name).ref for name in ("image-1", "image-2")}
    assert snapshot.ref not in refs
    assert snapshot.ref.sop_instance_uid == snapshot.instance.sop_instance_uid
    assert (snapshot.derived, snapshot.drawn, snapshot.window) == (True, (), None)
    assert not {"WindowCenter", "ImagerPixelSpacing", "BitsStored"} & set(
        snapshot.instance.attributes
    )


def test_its_pixels_are_the_current_images_made_larger_by_the_scale(bench: Bench):
    opened(bench)
    spacing = seen(bench, laid(bench)).frame.spacing
    assert (spacing.row_mm, spacing.column_mm) == pytest.approx((0.22, 0.33))
    assert spacing.aspect == pytest.approx(0.2 / 0.3)
    assert spacing.source is SpacingSource.DETECTOR


@pytest.mark.parametrize(("scale", "prior"), [(None, {}), (1.1, {"ImagerPixelSpacing": None})])
def test_without_a_scale_or_a_spacing_it_has_none(
    bench: Bench, scale: float | None, prior: dict[str, Any]
):
    opened(bench, **prior)
    spacing = seen(bench, laid(bench, scale)).frame.spacing
    assert not spacing.known
    assert spacing.aspect == pytest.approx(0.2 / 0.3), "models are shown square pixels all the same"


def test_a_chest_tool_is_warned_as_of_the_prior_that_it_shows(bench: Bench):
    opened(bench)
    snapshot = seen(bench, laid(bench))
    assert image_suitability.check(snapshot) == image_suitability.Suitability("AP", ())
    (warning,) = Hanging.of(snapshot.frame.orientation).warnings
    assert "stored mirrored" in warning


def test_a_screenshot_is_one_still_for_whoever_warns_of_it(bench: Bench):
    said = {"SOPClassUID": image_suitability.SECONDARY_CAPTURE, "BurnedInAnnotation": "NO"}
    opened(bench, **said)
    snapshot = seen(bench, laid(bench))
    assert "secondary capture" in image_suitability.check(snapshot).warnings[0]
    assert risk_of(snapshot.instance) == risk_of(bench.images.resolve("image-2").instance) != ""


def test_a_prior_that_was_no_chest_film_is_none_once_it_is_moved(bench: Bench):
    opened(bench, BodyPartExamined="ABDOMEN", ViewPosition="LL")
    snapshot = seen(bench, laid(bench))
    with pytest.raises(image_suitability.ToolFailed, match="shows the abdomen"):
        image_suitability.check(snapshot)


def later(bench: Bench, *ids: str) -> RunImages:
    """The images of a later question of the conversation: the same folder, another run."""
    return RunImages([i for i in bench.opened if i.id in ids], bench.out, bench.source)


def test_the_next_question_knows_it_too(bench: Bench):
    opened(bench)
    path = laid(bench)
    known, once_more = seen(bench, path), later(bench, "image-1", "image-2").resolve(str(path))
    assert once_more.instance == known.instance
    assert once_more.frame.spacing == known.frame.spacing
    assert once_more.frame.orientation == known.frame.orientation


@pytest.mark.parametrize("left", ["image-1", "image-2"])
def test_with_one_of_the_two_closed_it_is_not_taken_for_a_nameless_picture(bench: Bench, left: str):
    opened(bench)
    path = laid(bench)
    with pytest.raises(ToolRetry, match="not open any more"):
        later(bench, left).resolve(str(path))


@pytest.mark.parametrize("scale", ["NaN", "-1", "0", '"x"', "[1]"])
def test_a_note_with_no_scale_that_could_be_is_none(bench: Bench, scale: str):
    opened(bench)
    path = laid(bench)
    note = bench.out / picture_sources.FILE
    entry = json.loads(note.read_text())
    entry["scale"] = "HERE"
    note.write_text(json.dumps(entry).replace('"HERE"', scale) + "\n")
    assert picture_sources.find(bench.out, path.name) is None


def test_a_synthetic_prior_stays_synthetic(bench: Bench):
    bench.open(write_dicom(bench.folder / "now.dcm", radiograph(), **CURRENT))
    folder = bench.folder / "made"
    folder.mkdir()
    made = save_png((radiograph() >> 4).astype(np.uint8), folder, "generated")
    synthetic.mark(made, "RoentGen")
    bench.open(made)
    images = CallImages(bench.images)
    current, prior = images.resolve("image-1"), images.resolve("image-2")
    path = save_png(current.display, bench.out, "registered")
    images.add_derived(path, prior, target=RegistrationTarget(current, None))
    assert synthetic.file_model_title(path) == "RoentGen"
    assert seen(bench, path).instance.get(synthetic.ATTRIBUTE) == "RoentGen"
