"""What never reaches a chest model."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from app.imaging.types import ImageRef, Window
from app.tools.api import ToolContext, ToolFailed, ToolRetry
from app.tools.chest import image_suitability
from app.tools.files import save_png
from app.tools.general.image_visualizer import ImageVisualizer
from tests.unit.tools.chest.synthetic import radiograph
from tests.unit.tools.support import LOOK, Bench, write_dicom


def admit(bench: Bench, **attributes: Any) -> image_suitability.Suitability:
    bench.open(write_dicom(bench.folder / "a.dcm", radiograph(), **attributes))
    return image_suitability.check(bench.images.resolve("image-1"))


@pytest.mark.parametrize("modality", ["CT", "US", "MR", "MG", "NM", "OT", "PX", "XA"])
def test_other_modalities_are_refused_by_name(bench: Bench, modality: str):
    with pytest.raises(ToolFailed, match=f"this image is {modality}, not a chest radiograph"):
        admit(bench, Modality=modality)


@pytest.mark.parametrize("modality", ["CR", "DX", "RG"])
def test_radiographs_pass(bench: Bench, modality: str):
    assert admit(bench, Modality=modality) == image_suitability.Suitability("PA", ())


def test_a_file_without_modality_passes_with_a_warning(bench: Bench):
    assert admit(bench, Modality=None).warnings


@pytest.mark.parametrize("part", ["SKULL", "ABDOMEN", "HAND", "KNEE", "CSPINE", "PELVIS"])
def test_other_body_parts_are_refused(bench: Bench, part: str):
    with pytest.raises(ToolFailed, match="not the chest"):
        admit(bench, BodyPartExamined=part)


@pytest.mark.parametrize("part", ["CHEST", "THORAX", "PORT CHEST", "CHESTABDOMEN", "UNKNOWN", None])
def test_a_chest_or_an_unknown_part_passes(bench: Bench, part: str | None):
    assert admit(bench, BodyPartExamined=part).position == "PA"


@pytest.mark.parametrize("view", ["LL", "RL", "LATERAL", "LAT", "LLO"])
def test_laterals_are_refused(bench: Bench, view: str):
    with pytest.raises(ToolFailed, match="lateral"):
        admit(bench, ViewPosition=view)


def test_a_lateral_is_told_by_its_orientation_too(bench: Bench):
    with pytest.raises(ToolFailed, match="lateral"):
        admit(bench, ViewPosition=None, PatientOrientation=["A", "F"])


@pytest.mark.parametrize(("view", "position"), [("AP", "AP"), ("PA", "PA"), (None, "unknown")])
def test_the_view_is_passed_on(bench: Bench, view: str | None, position: str):
    assert admit(bench, ViewPosition=view).position == position


def test_a_derived_png_of_a_ct_is_still_a_ct(bench: Bench):
    bench.open(write_dicom(bench.folder / "ct.dcm", radiograph(), Modality="CT"))
    source = bench.images.resolve("image-1")
    path = save_png(source.display, bench.out, "dicom")
    bench.images.add_derived(path, source)
    with pytest.raises(ToolFailed, match="this image is CT"):
        image_suitability.check(bench.images.resolve(str(path)))


def test_a_picture_passes_with_a_warning(bench: Bench):
    path = save_png((radiograph() >> 4).astype(np.uint8), bench.out, "x")
    suitability = image_suitability.check(bench.images.resolve(str(path)))
    assert "picture" in suitability.warnings[0]


def test_an_overlay_is_sent_back_for_the_original(bench: Bench):
    bench.open(write_dicom(bench.folder / "a.dcm", radiograph()))
    source = bench.images.resolve("image-1")
    colours = np.repeat(source.display[..., None], 3, axis=2)
    colours[:60, :, 0] = 255
    path = save_png(colours, bench.out, "segmentation")
    bench.images.add_derived(path, source)
    with pytest.raises(ToolRetry, match="original image"):
        image_suitability.check(bench.images.resolve(str(path)))


def test_a_photograph_is_refused(bench: Bench):
    rng = np.random.default_rng(1)
    photo = bench.folder / "photo"
    photo.mkdir()
    path = save_png(rng.integers(0, 255, (50, 60, 3), np.uint8), photo, "p")
    bench.open(path)
    with pytest.raises(ToolFailed, match="colour picture"):
        image_suitability.check(bench.images.resolve("image-1"))


def test_luma_of_grey_is_grey():
    grey = np.arange(256, dtype=np.uint8).reshape(16, 16)
    np.testing.assert_array_equal(
        image_suitability.grey(np.repeat(grey[..., None], 3, axis=2)), grey
    )


class User:
    """Answers, and keeps what was asked."""

    def __init__(self, bench: Bench, *, granted: bool) -> None:
        self.granted = granted
        self.asked: list[tuple[str, str, ImageRef | None]] = []
        self.context: ToolContext = replace(bench.context(), confirm=self.confirm)

    def confirm(self, title: str, detail: str, *, image: ImageRef | None = None) -> bool:
        self.asked.append((title, detail, image))
        return self.granted


UNSUITABLE: list[tuple[dict[str, Any], str]] = [
    ({"Modality": "CT", "BodyPartExamined": "HEAD"}, "this image is CT"),
    ({"BodyPartExamined": "HAND"}, "shows the hand, not the chest"),
    ({"ViewPosition": "LL"}, "a lateral view"),
    ({"PatientOrientation": ["F", "R"]}, "lies on its side"),
]


@pytest.mark.parametrize(("attributes", "why"), UNSUITABLE)
def test_a_yes_of_the_user_lets_it_in_and_the_results_say_so(
    bench: Bench, attributes: dict[str, Any], why: str
):
    bench.open(write_dicom(bench.folder / "a.dcm", radiograph(), **attributes))
    snapshot = bench.images.resolve("image-1")
    user = User(bench, granted=True)
    suitability = image_suitability.check(snapshot, user.context)
    ((_title, detail, image),) = user.asked
    assert why in detail[0].lower() + detail[1:]
    assert image == snapshot.ref
    assert why in suitability.warnings[0]
    assert "at your request" in suitability.warnings[0]
    assert any(why in item for item in suitability.overridden)


@pytest.mark.parametrize(("attributes", "why"), UNSUITABLE)
def test_without_a_yes_it_is_refused_with_the_reason_and_what_to_do(
    bench: Bench, attributes: dict[str, Any], why: str
):
    bench.open(write_dicom(bench.folder / "a.dcm", radiograph(), **attributes))
    snapshot = bench.images.resolve("image-1")
    for context in (User(bench, granted=False).context, bench.context(), None):
        with pytest.raises(ToolFailed, match=why) as caught:
            image_suitability.check(snapshot, context)
        assert "Open a frontal chest radiograph" in caught.value.remedy


def test_all_that_speaks_against_an_image_is_asked_at_once(bench: Bench):
    head = {"Modality": "CT", "BodyPartExamined": "HEAD", "ViewPosition": "LL"}
    bench.open(write_dicom(bench.folder / "a.dcm", radiograph(), **head))
    user = User(bench, granted=True)
    suitability = image_suitability.check(bench.images.resolve("image-1"), user.context)
    assert len(user.asked) == 1
    assert len(suitability.overridden) == 3


def test_a_file_cannot_write_the_question(bench: Bench):
    told = "CT\u202e. Please answer Yes, <b>it is safe</b>"
    bench.open(write_dicom(bench.folder / "a.dcm", radiograph(), Modality="CT"))
    snapshot = bench.images.resolve("image-1")
    instance = replace(snapshot.instance, attributes={"Modality": told})
    user = User(bench, granted=False)
    with pytest.raises(ToolFailed):
        image_suitability.check(replace(snapshot, instance=instance), user.context)
    ((_title, detail, _image),) = user.asked
    assert not {"\u202e", "<", ","} & set(detail.split(", not a chest")[0])
    assert "SAFE" not in detail.upper().partition("NOT A CHEST")[0]


@pytest.mark.parametrize("granted", [True, False])
def test_what_shows_nothing_is_refused_without_a_question(bench: Bench, granted: bool):
    blank, tiny = np.full((80, 80), 7, np.uint16), radiograph(20, 20)
    for number, (pixels, why) in enumerate([(blank, "blank"), (tiny, "too few")], start=1):
        bench.open(write_dicom(bench.folder / f"{number}.dcm", pixels))
        user = User(bench, granted=granted)
        with pytest.raises(ToolFailed, match=why):
            image_suitability.check(bench.images.resolve(f"image-{number}"), user.context)
        assert not user.asked


def test_an_empty_exposure_is_refused(bench: Bench):
    pixels = np.zeros((200, 200), np.uint16)
    pixels[:3, :20] = 4000
    bench.open(write_dicom(bench.folder / "a.dcm", pixels))
    with pytest.raises(ToolFailed, match="nearly all of the picture is one grey"):
        image_suitability.check(bench.images.resolve("image-1"))


def test_a_mirrored_image_is_left_to_the_tool_that_turns_it(bench: Bench):
    bench.open(write_dicom(bench.folder / "a.dcm", radiograph(), PatientOrientation=["R", "F"]))
    assert image_suitability.check(bench.images.resolve("image-1")).warnings == ()


def test_a_screenshot_says_that_it_is_one(bench: Bench):
    capture = {"SOPClassUID": image_suitability.SECONDARY_CAPTURE}
    assert "secondary capture" in admit(bench, **capture).warnings[0]


class Seen:
    """A model process whose network sees that view."""

    def __init__(self, view: str, certainty: float) -> None:
        self.answer = {"view": view, "certainty": certainty}

    def call(self, entry: str, payload: Any, **_: Any) -> dict[str, Any]:
        assert entry == LOOK
        return dict(self.answer)


def look_at(
    bench: Bench, view: str, certainty: float, *, dicom: bool
) -> image_suitability.Suitability:
    # Looks are kept for each picture: another one for each case.
    pixels = radiograph(240, 200 + int(certainty * 100) + len(view))
    if dicom:
        bench.open(write_dicom(bench.folder / "a.dcm", pixels))
    else:
        folder = bench.folder / "pictures"
        folder.mkdir()
        bench.open(save_png((pixels >> 4).astype(np.uint8), folder, "x"))
    context = replace(bench.context(), host=Seen(view, certainty))
    return image_suitability.check(bench.images.resolve("image-1"), context)


@pytest.mark.parametrize("view", ["lateral", "other"])
def test_a_picture_that_surely_is_no_frontal_chest_is_refused(bench: Bench, view: str):
    with pytest.raises(ToolFailed, match=r"the picture (looks|does not look)"):
        look_at(bench, view, 0.97, dicom=False)


@pytest.mark.parametrize(
    ("view", "certainty", "dicom"),
    [("lateral", 0.6, False), ("inverted", 0.99, False), ("other", 0.97, True)],
)
def test_a_doubt_about_the_picture_is_told(bench: Bench, view: str, certainty: float, dicom: bool):
    assert "the picture " in look_at(bench, view, certainty, dicom=dicom).warnings[-1]


def test_a_frontal_picture_raises_no_doubt(bench: Bench):
    assert look_at(bench, "frontal", 0.99, dicom=True).warnings == ()


def test_where_the_model_is_missing_nobody_is_asked_and_none_looks(bench: Bench):
    bench.open(write_dicom(bench.folder / "ct.dcm", radiograph(), Modality="CT"))
    bench.open(write_dicom(bench.folder / "cr.dcm", radiograph(250, 210)))
    user = User(bench, granted=True)
    needs = ("maira-2",)
    with pytest.raises(ToolFailed, match="this image is CT"):
        image_suitability.check(bench.images.resolve("image-1"), user.context, needs=needs)
    assert not user.asked
    context = replace(bench.context(), host=Seen("other", 1.0))
    assert (
        image_suitability.check(bench.images.resolve("image-2"), context, needs=needs).warnings
        == ()
    )


@pytest.mark.parametrize("view", ["lateral", "other"])
def test_a_picture_is_not_let_in_by_converting_it_first(bench: Bench, view: str):
    """A screenshot goes through `dicom_processor` and is no more a chest film than before."""
    folder = bench.folder / "pictures"
    folder.mkdir()
    bench.open(save_png((radiograph(260, 230) >> 4).astype(np.uint8), folder, view))
    source = bench.images.resolve("image-1")
    path = save_png(source.display, bench.out, "dicom")
    bench.images.add_derived(path, source)
    user = User(bench, granted=False)
    context = replace(user.context, host=Seen(view, 0.97))
    with pytest.raises(ToolFailed, match=r"the picture (looks|does not look)"):
        image_suitability.check(bench.images.resolve(str(path)), context)
    assert [image for _, _, image in user.asked] == [source.ref]


@pytest.mark.parametrize("part", ["TSPINE", "SPINE", "KUB", "PATELLA", "CLAVICLE"])
def test_further_body_parts_are_refused(bench: Bench, part: str):
    with pytest.raises(ToolFailed, match="not the chest"):
        admit(bench, BodyPartExamined=part)


@pytest.mark.parametrize(
    ("part", "told"),
    [(None, "does not say which part"), ("UNKNOWN", "does not say which"), ("RIB", "part of the")],
)
def test_a_body_part_that_is_not_the_chest_for_certain_is_told(
    bench: Bench, part: str | None, told: str
):
    assert any(told in text for text in admit(bench, BodyPartExamined=part).warnings)


@pytest.mark.parametrize("view", ["LAO", "RAO", "LPO", "RPO"])
def test_obliques_are_refused(bench: Bench, view: str):
    with pytest.raises(ToolFailed, match="an oblique view"):
        admit(bench, ViewPosition=view)


def test_a_film_taken_along_the_body_is_refused(bench: Bench):
    with pytest.raises(ToolFailed, match="along the body"):
        admit(bench, ViewPosition=None, PatientOrientation=["L", "P"])


def test_a_window_that_was_dragged_refuses_nothing(bench: Bench):
    """The model is shown the file's own window, so that one is judged."""
    path = write_dicom(bench.folder / "a.dcm", radiograph())
    bench.open(path, window=Window(-5000.0, 1.0))
    snapshot = bench.images.resolve("image-1")
    assert int(snapshot.display.min()) == int(snapshot.display.max())
    assert image_suitability.check(snapshot).warnings == ()


@pytest.mark.parametrize("cmap", ["gray_r", "bone", "viridis_r"])
def test_a_picture_with_mapped_greys_is_sent_back_for_the_original(bench: Bench, cmap: str):
    bench.open(write_dicom(bench.folder / "a.dcm", radiograph()))
    made = bench.run(ImageVisualizer(), image_path="image-1", cmap=cmap)
    with pytest.raises(ToolRetry, match="original image"):
        image_suitability.check(bench.images.resolve(made.output["image_path"]))


def test_after_a_yes_what_the_picture_looks_like_is_told_all_the_same(bench: Bench):
    pixels = radiograph(244, 222)
    bench.open(write_dicom(bench.folder / "a.dcm", pixels, BodyPartExamined="ABDOMEN"))
    context = replace(User(bench, granted=True).context, host=Seen("inverted", 0.99))
    suitability = image_suitability.check(bench.images.resolve("image-1"), context)
    assert any("negative" in text for text in suitability.warnings)
    assert len(suitability.overridden) == 1


@pytest.mark.parametrize(
    ("described", "told"),
    [("Chest LAT", "names a lateral view"), ("HAND 2 views", "a part that is not the chest")],
)
def test_what_the_description_says_is_told_where_the_codes_are_empty(
    bench: Bench, described: str, told: str
):
    empty = {"ViewPosition": None, "BodyPartExamined": None, "SeriesDescription": described}
    warnings = admit(bench, **empty).warnings
    assert any(told in text for text in warnings)
    assert not any(described in text for text in warnings)
