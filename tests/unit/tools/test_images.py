"""What a run may name, and nothing else; what a derived picture keeps of its source."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import tifffile
from PIL import Image

from app.imaging.types import Content, SpacingSource, Window
from app.tools import picture_sources
from app.tools.api import ToolRetry
from app.tools.files import save_png
from app.tools.images import RunImages
from app.user_files import write_atomic
from tests.unit.tools.support import Bench, Inline, gradient, write_dicom


@pytest.fixture
def study(bench: Bench) -> Path:
    folder = bench.folder / "study"
    folder.mkdir()
    path = write_dicom(folder / "chest.dcm", gradient(), ImagerPixelSpacing=[0.2, 0.3])
    bench.open(path)
    return path


def test_an_open_image_is_named_by_id_path_or_file_name(bench: Bench, study: Path):
    for name in ("image-1", " IMAGE-1 ", str(study), "chest.dcm", f"{study.parent}/./chest.dcm"):
        assert bench.images.resolve(name).ref.frame == 0
    assert bench.images.names() == ("image-1",)


def test_a_file_name_that_two_open_images_share_names_neither(bench: Bench, study: Path):
    other = bench.folder / "other"
    other.mkdir()
    bench.open(write_dicom(other / "chest.dcm", gradient()))
    with pytest.raises(ToolRetry, match="image-1, image-2"):
        bench.images.resolve("chest.dcm")


@pytest.mark.parametrize(
    "name",
    [
        "/etc/passwd",
        "../../../../etc/passwd",
        "../study/neighbour.dcm",
        "{study}/neighbour.dcm",
        "{study}/../study/neighbour.dcm",
        "{study}",
        "{out}",
        "{out}/../study/neighbour.dcm",
        "{out}/link.png",
        "{out}/folder/passwd",
        "{out}/loop",
        "{out}/missing.png",
        "/no/such/file",
        "file:///etc/passwd",
        "\\\\server\\share\\x.png",
        "~/x.png",
        "",
        " ",
        "a\0b",
        "x" * 5000,
    ],
)
def test_a_path_that_is_neither_open_nor_made_here_is_refused_and_says_no_more(
    bench: Bench, study: Path, name: str
):
    write_dicom(study.parent / "neighbour.dcm", gradient())
    (bench.out / "link.png").symlink_to(study.parent / "neighbour.dcm")
    (bench.out / "folder").symlink_to("/etc")
    (bench.out / "loop").symlink_to(bench.out / "loop")
    wanted = name.format(study=study.parent, out=bench.out)
    with pytest.raises(ToolRetry) as caught:
        bench.images.resolve(wanted)
    assert caught.value.text == "that names no image of this run. Use one of: image-1."


def test_no_tool_gets_an_image_that_is_cut_short(bench: Bench):
    path = write_dicom(bench.folder / "cut.dcm", gradient())
    path.write_bytes(path.read_bytes()[: -gradient().nbytes // 3])
    bench.open(path)
    assert bench.images.names() == ()
    with pytest.raises(ToolRetry, match="cut short, and tools are run on whole images only"):
        bench.images.resolve("image-1")


def test_without_any_image_it_says_so(bench: Bench):
    with pytest.raises(ToolRetry, match="No image is open"):
        bench.images.resolve("image-1")


def test_a_link_inside_the_output_folder_may_point_inside_it(bench: Bench, study: Path):
    made = save_png(np.zeros((4, 4), np.uint8), bench.out, "x")
    (bench.out / "link.png").symlink_to(made)
    assert bench.images.resolve("link.png").display.shape == (4, 4)


def test_the_display_is_what_the_viewer_shows(bench: Bench):
    path = write_dicom(bench.folder / "m1.dcm", gradient(), PhotometricInterpretation="MONOCHROME1")
    bench.open(path, window=Window(2048, 4096), invert=True)
    snapshot = bench.images.resolve("image-1")
    assert snapshot.window == Window(2048, 4096)
    assert snapshot.display[0, 0] == 255  # MONOCHROME1: low is white, whatever the user inverted
    assert snapshot.display[-1, -1] == 0


def test_frames_are_counted_from_0_and_checked(bench: Bench):
    frames = np.stack([gradient(), gradient()[::-1], gradient()[:, ::-1]])
    bench.open(write_dicom(bench.folder / "cine.dcm", frames), frame_index=2)
    assert bench.images.resolve("image-1").ref.frame == 2
    assert bench.images.resolve("image-1", 1).ref.frame == 1
    with pytest.raises(ToolRetry, match="Name a frame from 0 to 2"):
        bench.images.resolve("image-1", 3)


def test_a_derived_picture_keeps_its_sources_identity_spacing_and_attributes(
    bench: Bench, study: Path
):
    source = bench.images.resolve("image-1")
    path = save_png(255 - source.display, bench.out, "dicom")
    bench.images.add_derived(path, source)
    derived = bench.images.resolve(str(path))
    assert derived.derived
    assert derived.ref == source.ref
    assert (derived.frame.spacing.row_mm, derived.frame.spacing.column_mm) == (0.2, 0.3)
    assert derived.frame.spacing.source is SpacingSource.DETECTOR
    assert derived.instance.get("ViewPosition") == "PA"
    np.testing.assert_array_equal(derived.display, 255 - source.display)
    assert bench.images.names() == ("image-1", str(path))


def later_question(bench: Bench, *names: str) -> RunImages:
    """The images of a later question of the conversation: the same folder, another run."""
    opened = [image for image in bench.opened if image.id in names]
    return RunImages(opened, bench.out, bench.source)


def test_a_later_question_still_knows_what_a_picture_was_made_from(bench: Bench, study: Path):
    source = bench.images.resolve("image-1")
    path = save_png(source.display, bench.out, "dicom")
    bench.images.add_derived(path, source)
    again = later_question(bench, "image-1").resolve(str(path))
    assert again.derived
    assert again.ref == source.ref
    assert again.window == source.window
    assert again.instance.get("Modality") == "DX"
    assert again.frame.spacing.source is SpacingSource.DETECTOR


def test_a_later_question_knows_which_frame_a_picture_shows(bench: Bench):
    frames = np.stack([gradient(), gradient()[::-1], gradient()[:, ::-1]])
    bench.open(write_dicom(bench.folder / "cine.dcm", frames))
    source = bench.images.resolve("image-1", 2)
    path = save_png(source.display, bench.out, "view")
    bench.images.add_derived(path, source)
    assert later_question(bench, "image-1").resolve(path.name).ref == source.ref


def test_a_picture_whose_source_was_closed_is_not_taken_for_a_nameless_one(
    bench: Bench, study: Path
):
    source = bench.images.resolve("image-1")
    path = save_png(source.display, bench.out, "dicom")
    bench.images.add_derived(path, source)
    bench.open(write_dicom(bench.folder / "other.dcm", gradient()))
    with pytest.raises(ToolRetry, match=r"not open any more.*image-2"):
        later_question(bench, "image-2").resolve(str(path))


def test_a_damaged_note_of_sources_is_no_reason_to_fail(bench: Bench, study: Path):
    source = bench.images.resolve("image-1")
    path = save_png(source.display, bench.out, "dicom")
    bench.images.add_derived(path, source)
    with (bench.out / picture_sources.FILE).open("ab") as stream:
        stream.write(b'{"picture": "dicom\n[]\n1\n')
    assert later_question(bench, "image-1").resolve(str(path)).ref == source.ref


def test_a_picture_derived_from_a_derived_one_leads_back_to_the_original(bench: Bench, study: Path):
    first = save_png(bench.images.resolve("image-1").display, bench.out, "a")
    bench.images.add_derived(first, bench.images.resolve("image-1"))
    second = save_png(bench.images.resolve(str(first)).display, bench.out, "b")
    bench.images.add_derived(second, bench.images.resolve(str(first)))
    assert bench.images.resolve(str(second)).ref == bench.images.resolve("image-1").ref


def test_a_derived_picture_of_another_size_stands_on_its_own(bench: Bench, study: Path):
    source = bench.images.resolve("image-1")
    path = save_png(source.display[::2, ::2], bench.out, "small")
    bench.images.add_derived(path, source)
    derived = bench.images.resolve(str(path))
    assert derived.ref != source.ref
    assert not derived.frame.spacing.known
    assert derived.instance.kind == "picture"


def test_a_picture_of_few_greys_is_not_stretched(bench: Bench):
    path = save_png(np.full((8, 8), 3, np.uint8) + np.eye(8, dtype=np.uint8), bench.out, "x")
    assert bench.images.resolve(str(path)).display.max() == 4


def test_colour_pictures_stay_colour(bench: Bench, study: Path):
    picture = np.zeros((40, 30, 3), np.uint8)
    picture[:20, :, 0] = 200
    path = save_png(picture, bench.out, "overlay")
    bench.images.add_derived(path, bench.images.resolve("image-1"))
    np.testing.assert_array_equal(bench.images.resolve(str(path)).display, picture)


def test_only_what_lies_in_the_output_folder_can_be_derived(bench: Bench, study: Path):
    outside = bench.folder / "outside.png"
    Image.fromarray(np.zeros((4, 4), np.uint8)).save(outside)
    with pytest.raises(ValueError, match="output folder"):
        bench.images.add_derived(outside, None)


def test_notes_for_a_remote_model_carry_no_path_and_no_patient(bench: Bench, study: Path):
    local, remote = bench.images.notes(remote=False), bench.images.notes(remote=True)
    assert local[0] == {
        "id": "image-1",
        "path": str(study),
        "kind": "dicom",
        "content": "image",
        "modality": "DX",
        "view": "PA",
        "study_date": "2020-01-02",
        "rows": 40,
        "columns": 30,
        "frames": 1,
        "body_part": "CHEST",
    }
    # Some write a name into Body Part Examined, so that only rules on this machine read it.
    del local[0]["body_part"], local[0]["study_date"]
    assert remote[0] == {**local[0], "path": "image-1"}
    assert "Secret" not in str(local + remote)


def test_notes_tell_another_patients_images_apart(bench: Bench, study: Path):
    for name, patient in (("b", "SECRET-2"), ("c", "SECRET-1"), ("d", "SECRET-2"), ("e", "X-3")):
        named = {"PatientID": patient, "PatientName": f"Secret^{patient}"}
        named = {} if patient == "SECRET-1" else named
        bench.open(write_dicom(bench.folder / f"{name}.dcm", gradient(), **named))
    notes = bench.images.notes(remote=True)
    assert [note.get("patient", 1) for note in notes] == [1, 2, 1, 2, 3]
    assert "SECRET" not in str(notes).upper()


def test_the_refusal_for_a_remote_model_names_no_path_of_the_study(bench: Bench, study: Path):
    with pytest.raises(ToolRetry) as caught:
        bench.images.resolve("/etc/passwd")
    assert str(study.parent) not in caught.value.text


@pytest.mark.parametrize("content", [one for one in Content if one is not Content.IMAGE])
def test_what_is_no_image_is_refused_by_name_and_images_are_offered(
    bench: Bench, study: Path, content: Content
):
    image = bench.opened[0]
    shown = replace(image, instance=replace(image.instance, content=content))
    images = RunImages([shown, replace(image, id="image-2")], bench.out, bench.source)
    with pytest.raises(ToolRetry) as caught:
        images.resolve("image-1")
    assert caught.value.text.startswith("image-1 is a")
    assert caught.value.text.endswith("tools are run on images only. Use one of: image-2.")
    assert images.names() == ("image-2",)
    assert images.resolve("image-2").ref.frame == 0


def test_a_language_model_is_told_of_no_more_images_than_it_can_read(bench: Bench, study: Path):
    (image,) = bench.opened
    many = [replace(image, id=f"image-{number}") for number in range(1, 3000)]
    assert len(RunImages(many, bench.out, bench.source).notes(remote=False)) <= 200


def test_a_derived_file_of_16_bits_is_read_at_its_own_depth(tmp_path: Path):
    bench = Bench(tmp_path)
    tifffile.imwrite(tmp_path / "a.tif", np.full((8, 9), 7, np.uint16))
    bench.open(tmp_path / "a.tif")
    source = bench.images.resolve("image-1")
    made = np.arange(72, dtype=np.uint16).reshape(8, 9) * 900
    path = bench.out / "flat.tif"
    tifffile.imwrite(path, made)
    bench.images.add_derived(path, source)
    derived = bench.images.resolve(str(path))
    assert np.array_equal(derived.values, made)
    assert np.array_equal(derived.frame.stored, source.values)
    assert derived.ref == source.ref


def test_a_file_that_the_run_writes_again_is_the_run_s(tmp_path: Path):
    out = tmp_path / "out"
    (out / "old").mkdir(parents=True)
    for name in ("theirs.csv", "crops.csv", "old/a.csv"):
        (out / name).write_text("a")
    images = RunImages([], out, Inline(), out.iterdir())
    assert not any(images.is_made(out / name) for name in ("theirs.csv", "crops.csv", "old/a.csv"))
    write_atomic(out / "crops.csv", b"a")
    (out / "new.csv").write_text("a")
    (out / "old" / "a.csv").write_text("changed")
    assert images.is_made(out / "crops.csv")
    assert images.is_made(out / "new.csv")
    assert not images.is_made(out / "theirs.csv")
    assert not images.is_made(out / "old" / "a.csv"), "a folder that was there stays another's"
