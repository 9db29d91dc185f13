"""`info` and `render` on objects that are drawn over images."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pydicom
import pytest
from PIL import Image

from app.agent.json_forms import finding_json
from app.cli import main
from app.imaging.findings import Box, Finding, Provenance, State, new_id
from app.imaging.reading.image_entries import read_frame
from tests.conformance import kinds
from tests.unit.imaging.export_sets import source_files
from tests.unit.imaging.layer_files import frame_group, make_seg, make_slice

pytestmark = pytest.mark.usefixtures("forked")


def picture(folder: Path, *options: str) -> np.ndarray:
    out = folder.with_suffix(".png")
    assert main(["render", str(folder), "--out", str(out), "--force", *options]) == 0
    with Image.open(out) as image:
        return np.asarray(image.convert("RGB")).astype(int)


def two_slices(folder: Path) -> Path:
    """Two slices and a segmentation that has something on the second only."""
    series, study = "1.2.3.4", "1.2.3"
    same = {"SeriesInstanceUID": series, "StudyInstanceUID": study, "PatientID": "p"}
    paths = [make_slice(folder / f"{n}.dcm", 3.0 * n, (64, 64), **same) for n in range(2)]
    uids = [pydicom.dcmread(path).SOPInstanceUID for path in paths]
    frames = np.zeros((2, 64, 64), np.uint8)
    frames[1, 20:40, 20:40] = 255
    groups = [frame_group(1, (-30.0, 40.0, 3.0 * n), [(uids[n], None)]) for n in range(2)]
    over = {"StudyInstanceUID": study, "SeriesInstanceUID": "1.2.3.5", "PatientID": "p"}
    make_seg(folder / "seg.dcm", frames, groups, **over)
    return folder


def test_render_counts_through_the_images_that_a_segmentation_names(tmp_path: Path):
    two_slices(tmp_path)
    colored = []
    for number in range(2):
        options = ("--series", "1.2.3.5", "--annotated", "--frame", str(number))
        pixels = picture(tmp_path, *options)
        rows, columns = pixels.shape[:2]  # in true shape: pixels here are 2 x 0.5 mm
        part = pixels[rows * 22 // 64 : rows * 38 // 64, columns * 22 // 64 : columns * 38 // 64]
        colored.append((np.ptp(part, axis=2) > 30).mean() > 0.9)
    assert colored == [False, True]


def test_render_says_how_many_images_a_segmentation_has(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    two_slices(tmp_path)
    arguments = ["render", str(tmp_path), "--out", str(tmp_path / "x.png"), "--series", "1.2.3.5"]
    assert main([*arguments, "--annotated", "--frame", "2"]) == 2
    assert "from 0 to 1" in capsys.readouterr().err


def test_render_shows_in_which_state_it_is(tmp_path: Path):
    kinds.presentation_state(tmp_path)
    state = pydicom.dcmread(tmp_path / "state.dcm")
    image = pydicom.dcmread(tmp_path / "ct.dcm")
    # Larger, so that there is room for text.
    image.PixelData = np.kron(image.pixel_array, np.ones((4, 4), np.int16)).tobytes()
    image.Rows = image.Columns = 512
    image.save_as(tmp_path / "ct.dcm")
    with_state = picture(tmp_path, "--series", state.SeriesInstanceUID, "--annotated")
    (tmp_path / "state.dcm").unlink()
    plain = picture(tmp_path, "--annotated")
    # The line is the last one at the bottom left, where the plain picture has that of the window.
    ink = [
        (one[-30:, :200].min(axis=-1) > 190).sum(axis=0).nonzero()[0] for one in (with_state, plain)
    ]
    assert len(ink[0]) > 50
    assert ink[0].max() != ink[1].max()


@pytest.mark.parametrize(
    ("make", "lines", "parts"),
    [
        (kinds.structure_set, ("Example", "1 region: 1 Circle of 12 mm"), ["Circle of 12 mm"]),
        pytest.param(
            *(kinds.presentation_state, ("EXAMPLE", "1 graphic layer: 1 NOTES"), ["NOTES"]),
            marks=pytest.mark.slow,
        ),
        (two_slices, ("1 segment: 1 part 1",), ["part 1"]),
    ],
)
def test_info_names_what_an_object_holds(
    make: object,
    lines: tuple[str, ...],
    parts: list[str],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
):
    assert callable(make)
    make(tmp_path)
    assert main(["info", str(tmp_path)]) == 0
    printed = capsys.readouterr().out.splitlines()
    assert set(lines) <= {line.strip() for line in printed}
    assert main(["info", str(tmp_path), "--json"]) == 0
    listed = json.loads(capsys.readouterr().out)
    instances = [i for study in listed["studies"] for s in study["series"] for i in s["instances"]]
    (about,) = [one for one in instances if "parts" in one]
    assert [part["label"] for part in about["parts"]] == parts
    assert all(type(one["references"]) is list for one in instances), "not keys without values"
    assert about["references"]


def test_info_says_why_an_object_cannot_be_read(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    two_slices(tmp_path)
    seg = pydicom.dcmread(tmp_path / "seg.dcm")
    seg.BitsAllocated = 64
    seg.save_as(tmp_path / "seg.dcm")
    assert main(["info", str(tmp_path)]) == 0
    out = capsys.readouterr().out
    assert "seg.dcm" in out
    assert "Warning" in out or "Problem" in out


@pytest.mark.parametrize("form", ["json", "dcm"])
def test_render_draws_the_findings_of_a_file(
    tmp_path: Path, form: str, capsys: pytest.CaptureFixture[str]
):
    [path, *_] = source_files(tmp_path, "CR", 4)
    ref = read_frame(path, 0).ref
    origin = Provenance("mark_box", "", "", "", "", "")
    made = Finding(
        new_id(), ref, Box(3.5, 4.5, 20.5, 18.5), "", None, "", origin, state=State.ACCEPTED
    )
    stale = replace(made, id=new_id(), image=replace(ref, pixel_sha256="0" * 64))
    file = tmp_path / "findings.json"
    file.write_text(json.dumps([finding_json(one, tmp_path) for one in (made, stale)]))
    if form == "dcm":
        report = tmp_path / "findings.dcm"
        command = ["export", "--image", str(path), "--findings", str(file), "--as", "sr"]
        assert main([*command, "--out", str(report)]) == 0
        file = report
    told = capsys.readouterr().err
    pictures = []
    for number, options in enumerate(([], ["--findings", str(file)])):
        out = tmp_path / f"{number}.png"
        assert main(["render", str(path), "--out", str(out), "--annotated", *options]) == 0
        pictures.append(np.asarray(Image.open(out).convert("RGB")).astype(int))
    told += capsys.readouterr().err
    assert "with other pixels" in told or "made on other pixels" in told
    differs = np.abs(pictures[0] - pictures[1]).max(axis=2) > 40
    image = pydicom.dcmread(path)
    tall, wide = differs.shape[0] / image.Rows, differs.shape[1] / image.Columns
    middle = slice(round(9 * tall), round(15 * tall))
    for edge in (4, 21):  # outer edges of pixels 4 and 20
        near = slice(round(edge * wide) - 3, round(edge * wide) + 3)
        assert differs[middle, near].any(axis=1).mean() > 0.9
    inside = differs[middle, round(8 * wide) : round(17 * wide)]
    assert inside.mean() < 0.1
    plain = ["render", str(path), "--out", str(tmp_path / "x.png"), "--findings", str(file)]
    assert main(plain) == 2
