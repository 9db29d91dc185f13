"""chest_xray_report_generator: tiny models of the real classes, the real tool."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from app.errors import Cancelled
from app.imaging.findings import Box
from app.tools.api import CancelToken, ModelHost, ToolFailed
from app.tools.chest.report import (
    BETTER,
    FINDINGS,
    IMPRESSION,
    ChestXRayReportGenerator,
    ReportInput,
)
from app.tools.chest.result_wording import _report  # pyright: ignore[reportPrivateUsage]
from app.tools.hosting.host import ProcessHost
from tests.support.tiny_making import make
from tests.unit.tools.chest.synthetic import radiograph
from tests.unit.tools.support import Bench, FakeHost, call, write_dicom

pytest.importorskip("transformers")

TOOL = "chest_xray_report_generator"
FINDS = "the heart is enlarged with a small left pleural effusion"
CONCLUDES = "cardiomegaly and left pleural effusion"
WITNESS = "tests.unit.tools.chest.report_witness"


@pytest.fixture(scope="session")
def tiny(model_process: ProcessHost, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A models folder with both sections, and others beside it."""
    folder = tmp_path_factory.mktemp("report-models")
    make(model_process, TOOL, folder / FINDINGS, says=FINDS)
    make(model_process, TOOL, folder / IMPRESSION, says=CONCLUDES, swin=True)
    make(model_process, TOOL, folder / "random", says="")
    return folder


@pytest.fixture
def opened(bench: Bench) -> Bench:
    bench.open(write_dicom(bench.folder / "a.dcm", radiograph()))
    return bench


def install(bench: Bench, tiny: Path, *names: str) -> None:
    for name in names:
        shutil.copytree(tiny / name, bench.models / name)


def report(bench: Bench, host: ModelHost | None = None, image: str = "image-1") -> Any:
    bench.host = host or bench.host
    return bench.run(ChestXRayReportGenerator(), image_path=image)


def test_both_sections_are_written_and_kept_apart(
    opened: Bench, tiny: Path, model_process: ProcessHost
):
    install(opened, tiny, FINDINGS, IMPRESSION)
    result = report(opened, model_process)
    assert result.output == {"findings": FINDS, "impression": CONCLUDES}
    assert result.metadata["sections_generated"] == ["findings", "impression"]
    assert result.metadata["status"] == "completed"
    assert result.metadata["device"] == "cpu"
    assert f"FINDINGS:\n{FINDS}\n\nIMPRESSION:\n{CONCLUDES}" in result.summary
    assert "Written by a model, unchecked." in result.summary
    assert result.findings == ()
    assert json.loads(json.dumps(result.metadata)) == result.metadata


SENTENCE = "left pleural effusion"
GROUNDED = f"<obj>{SENTENCE}<box><x60><y55><x85><y88></box></obj> no finding can be seen"


@pytest.fixture
def maira(bench: Bench, tiny_models: Any) -> Bench:
    bench.models = tiny_models("xray_phrase_grounding", BETTER, says=GROUNDED)
    bench.open(write_dicom(bench.folder / "a.dcm", radiograph()))
    return bench


def test_maira_writes_the_findings_and_its_sentences_are_boxes_on_the_image(
    maira: Bench, model_process: ProcessHost
):
    result = report(maira, model_process)
    assert result.output["findings"] == f"{SENTENCE} no finding can be seen"
    assert result.output["impression"] is None
    assert result.metadata["models"] == {"findings": "MAIRA-2"}
    assert "Written: findings by MAIRA-2." in result.summary
    [finding] = result.findings
    assert finding.label == SENTENCE
    assert finding.provenance.model == "MAIRA-2"
    # 200 columns, 240 rows: the model saw rows 20 to 220 (518 / 200 * 240 = 621; (621-518)//2=51).
    top, side = 51 * 240 / 621, 518 * 240 / 621
    expected = (0.605 * 200, top + 0.555 * side, 0.855 * 200, top + 0.885 * side)
    box = finding.geometry
    assert isinstance(box, Box)
    corners = (box.x0, box.y0, box.x1, box.y1)
    assert corners == pytest.approx([value - 0.5 for value in expected], abs=1e-6)
    [located] = result.metadata["located"]
    assert located["phrase"] == SENTENCE
    assert located["bounding_boxes"]["image_coordinates"][0] == pytest.approx(corners, abs=0.01)
    warnings = " ".join(result.metadata["warnings"])
    assert "neither an earlier film nor the clinical question" in warnings
    assert "central square only" in warnings
    assert "impression: not written" in warnings
    assert json.loads(json.dumps(result.metadata, allow_nan=False)) == result.metadata


def test_a_mirrored_film_s_sentences_are_marked_on_the_side_that_is_stored(
    maira: Bench, model_process: ProcessHost
):
    film = radiograph()[:, ::-1].copy()
    maira.open(write_dicom(maira.folder / "m.dcm", film, PatientOrientation=["R", "F"]))
    plain, mirrored = (report(maira, model_process, f"image-{n}").findings[0] for n in (1, 2))
    assert mirrored.geometry.x0 == pytest.approx(199 - plain.geometry.x1)
    assert mirrored.geometry.y0 == pytest.approx(plain.geometry.y0)


def said_by_maira(**changed: Any) -> dict[str, Any]:
    usual = {"groups": [], "text": "The lungs are clear.", "refused": [], "cut": False}
    return usual | {"seen": [0.0, 20.0, 200.0, 220.0], "finished": True} | changed


def test_a_report_without_boxes_is_asked_for_in_the_words_for_it(maira: Bench):
    maira.host = host = FakeHost(said_by_maira())
    for grounded in (False, True):
        result = maira.run(ChestXRayReportGenerator(), image_path="image-1", grounded=grounded)
        assert result.metadata["located"] == []
    asked = [payload for _, payload in host.calls]
    assert [payload["grounded"] for payload in asked] == [False, True]
    assert [payload["max_new_tokens"] for payload in asked] == [300, 450]
    assert all("phrase" not in payload for payload in asked)


def test_a_broken_box_of_a_sentence_is_said_and_not_drawn_and_a_cut_draft_too(maira: Bench):
    groups = [["One.", [[0.9, 0.1, 0.2, 0.3]]], ["Two.", []]]
    said = said_by_maira(groups=groups, text="One. Two.", cut=True, refused=["a box breaks off"])
    result = report(maira, FakeHost(said))
    assert result.findings == ()
    warnings = result.metadata["warnings"]
    assert "boxes that cannot be on the image were not drawn" in warnings
    assert "a box breaks off" in warnings
    assert any("cut off at the limit of 450 tokens" in text for text in warnings)


def test_the_impression_still_comes_from_its_own_model_and_the_answer_says_which_wrote_what(
    maira: Bench, tiny: Path, tmp_path: Path
):
    models = tmp_path / "both"
    shutil.copytree(maira.models, models)
    for name in (FINDINGS, IMPRESSION):
        shutil.copytree(tiny / name, models / name)
    maira.models = models
    host = FakeHost(lambda payload: said_by_maira() if "grey" in payload else {"text": CONCLUDES})
    result = report(maira, host)
    assert result.output["findings"] == "The lungs are clear."
    assert result.output["impression"] == CONCLUDES
    assert "findings by MAIRA-2; impression by Report baseline" in result.summary
    told = " ".join(sentence.text for sentence in _report(result.output, result.metadata))
    assert "Findings in the words of MAIRA-2: “The lungs are clear.”" in told


def test_maira_without_its_terms_accepted_leaves_the_report_to_the_others(
    opened: Bench, tiny: Path, maira: Bench
):
    models = opened.folder / "unread"
    shutil.copytree(maira.models / BETTER, models / BETTER)
    (models / BETTER / "installed.toml").unlink()
    opened.models = models
    with pytest.raises(ToolFailed, match="terms are not accepted: MAIRA-2"):
        report(opened)
    shutil.copytree(tiny / FINDINGS, models / FINDINGS)
    result = report(opened, FakeHost({"text": FINDS}))
    assert result.output["findings"] == FINDS
    assert "MAIRA-2" not in result.summary


def test_a_model_that_is_not_the_published_one_is_said_to_be_none(
    opened: Bench, tiny: Path, model_process: ProcessHost
):
    install(opened, tiny, FINDINGS, IMPRESSION)
    warnings = report(opened, model_process).metadata["warnings"]
    assert warnings
    assert len(warnings) == len(set(warnings))


@pytest.mark.parametrize(
    ("there", "section", "text", "other"),
    [
        (FINDINGS, "findings", FINDS, "impression"),
        (IMPRESSION, "impression", CONCLUDES, "findings"),
    ],
)
def test_with_one_model_that_section_comes_and_the_other_is_said_to_lack_its_model(
    opened: Bench,
    tiny: Path,
    model_process: ProcessHost,
    there: str,
    section: str,
    text: str,
    other: str,
):
    install(opened, tiny, there)
    result = report(opened, model_process)
    assert result.output == {section: text, other: None}
    assert result.metadata["sections_generated"] == [section]
    lacking = [line for line in result.metadata["warnings"] if "is not installed" in line]
    assert len(lacking) == 1
    assert lacking[0].startswith(f"{other}: not written")
    assert f"models get {FINDINGS if there == IMPRESSION else IMPRESSION}" in lacking[0]


def test_without_models_it_names_both_and_how_to_get_them(opened: Bench):
    with pytest.raises(ToolFailed) as caught:
        report(opened)
    assert "not installed" in caught.value.reason
    for name in (FINDINGS, IMPRESSION):
        assert caught.value.remedy.count(f"models get {name}") == 1


def test_a_ct_reaches_no_model(bench: Bench, tiny: Path):
    install(bench, tiny, FINDINGS)
    bench.open(write_dicom(bench.folder / "ct.dcm", radiograph(), Modality="CT"))
    with pytest.raises(ToolFailed, match="this image is CT"):
        report(bench)


def test_a_model_that_only_repeats_itself_is_not_passed_on_as_a_report(opened: Bench, tiny: Path):
    install(opened, tiny, FINDINGS, IMPRESSION)
    answers = iter(({"text": "effusion " * 60, "finished": False}, {"text": "", "finished": True}))
    result = report(opened, FakeHost(lambda payload: next(answers)))
    assert result.output == {"findings": "effusion", "impression": None}
    assert any("findings: the model repeated itself" in w for w in result.metadata["warnings"])
    assert any("impression: the model wrote nothing" in w for w in result.metadata["warnings"])


def test_when_nothing_usable_was_written_the_call_fails_and_says_so(opened: Bench, tiny: Path):
    install(opened, tiny, FINDINGS)
    with pytest.raises(ToolFailed, match="wrote no usable text"):
        report(opened, FakeHost({"text": " . . ", "finished": True}))


def test_a_mirrored_film_is_turned_before_the_model_sees_it(bench: Bench, tiny: Path):
    install(bench, tiny, FINDINGS)
    film = radiograph()
    bench.open(write_dicom(bench.folder / "a.dcm", film, PatientOrientation=["L", "F"]))
    bench.open(
        write_dicom(bench.folder / "b.dcm", film[:, ::-1].copy(), PatientOrientation=["R", "F"])
    )
    host = FakeHost({"text": "normal heart", "finished": True})
    report(bench, host, "image-1")
    mirrored = report(bench, host, "image-2")
    usual, turned = (payload["pixels"] for _, payload in host.calls)
    assert np.array_equal(usual, turned)
    assert any("stored mirrored" in text for text in mirrored.metadata["warnings"])


def test_a_cancel_stops_it_while_it_writes(opened: Bench, tiny: Path, model_process: ProcessHost):
    install(opened, tiny, IMPRESSION)
    shutil.copytree(tiny / "random", opened.models / FINDINGS)
    cancel = CancelToken()

    def told(fraction: float, text: str) -> None:
        if "2 tokens" in text:
            cancel.cancel()

    opened.host = model_process
    context = replace(opened.context(), cancel=cancel, progress=told)
    with pytest.raises(Cancelled):
        ChestXRayReportGenerator().run(ReportInput(image_path="image-1"), context)


def test_damaged_weights_are_refused_and_named(
    opened: Bench, tiny: Path, model_process: ProcessHost
):
    install(opened, tiny, FINDINGS)
    file = opened.models / FINDINGS / "model.safetensors"
    file.write_bytes(file.read_bytes()[:5000])
    with pytest.raises(ToolFailed, match="cannot be loaded"):
        report(opened, model_process)


@pytest.mark.parametrize("name", ["missing", "other_shape"])
def test_weights_that_are_not_whole_are_never_filled_with_random_ones(
    opened: Bench, tiny: Path, model_process: ProcessHost, name: str
):
    install(opened, tiny, FINDINGS)
    call(model_process, f"{WITNESS}:{name}", path=str(opened.models / FINDINGS))
    with pytest.raises(ToolFailed, match="cannot be loaded"):
        report(opened, model_process)


def test_pixels_are_prepared_as_the_authors_example_does(tiny: Path, model_process: ProcessHost):
    """RGB by PIL, resampled bilinearly to the encoder's size, 0..255 -> -1..1."""
    pixels = np.random.default_rng(3).integers(0, 256, (90, 61), dtype=np.uint8)
    ours = call(model_process, f"{WITNESS}:ours", path=str(tiny / FINDINGS), pixels=pixels)
    theirs = call(model_process, f"{WITNESS}:theirs", pixels=pixels, side=32)
    assert ours["values"].shape == (1, 3, 32, 32)
    assert np.abs(ours["values"] - theirs["values"]).max() < 1e-6
    channels = ours["values"][0]
    assert np.array_equal(channels[0], channels[1])
    assert np.array_equal(channels[0], channels[2])


def test_black_and_white_are_the_ends_of_the_range(tiny: Path, model_process: ProcessHost):
    for grey, value in ((0, -1.0), (255, 1.0)):
        pixels = np.full((40, 50), grey, np.uint8)
        ours = call(model_process, f"{WITNESS}:ours", path=str(tiny / FINDINGS), pixels=pixels)
        assert np.allclose(ours["values"], value, atol=1e-6)


def test_the_text_depends_on_the_image(tiny: Path, model_process: ProcessHost):
    texts = {
        call(
            model_process,
            "app.tools.chest.report_net:entry",
            model={"path": str(tiny / "random"), "sha256": ""},
            pixels=np.full((40, 40), grey, np.uint8),
        )["text"]
        for grey in (0, 255)
    }
    assert len(texts) == 2
