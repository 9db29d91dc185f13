"""The open report without a window: what is kept, and what a broken file does."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from app.agent.llm.base import ModelFailed
from app.agent.llm.openai_model import OpenAIModel
from app.agent.report_wording import reworded
from app.errors import FileProblem, SightlineError
from app.imaging.findings import Box, State
from app.imaging.reports.checks import Fault, check_report
from app.imaging.reports.report_draft import Sentence
from app.imaging.reports.written_report import report_text
from app.imaging.types import Spacing, SpacingSource
from app.workspace import drawing
from app.workspace.report import OpenReport, ReportStore, reportable
from app.workspace.review import by_person
from app.workspace.workspace import Workspace
from tests.gui.viewer_support import finding, found, frame, instance, study
from tests.support.openai_server import OpenAIServer, Reply, delta_reply
from tests.unit.imaging.report_cases import SUBJECT, drafted, own_length, tool_finding

NOW = datetime(2024, 3, 4, 10, 11, tzinfo=UTC)


def opened(folder: Path) -> tuple[Workspace, OpenReport]:
    """Return a workspace with one image and an accepted nodule, and its report."""
    workspace = Workspace()
    workspace.add(found(study(instance("1.1"))))
    box = Box(20.5, 10.5, 60.5, 40.5)
    workspace.annotations.add([finding(frame("1.1").ref, box, "Nodule", id="nodule")])
    workspace.annotations.decide(["nodule"], State.ACCEPTED)
    report = OpenReport(workspace, ReportStore(folder))
    report.use()
    return workspace, report


def text(report: OpenReport) -> str:
    """Return all sentences of the open report."""
    draft = report.draft
    assert draft is not None
    return "\n".join(one.text for section in draft.sections for one in section.sentences)


@pytest.mark.parametrize("state", [State.PROPOSED, State.REJECTED])
def test_only_accepted_findings_are_reportable(state: State) -> None:
    assert reportable(tool_finding())
    assert not reportable(tool_finding(state=state))
    assert reportable(own_length())
    assert not reportable(own_length(state=state))


def test_an_untouched_draft_leaves_no_file_and_an_edited_one_comes_back(tmp_path: Path) -> None:
    workspace, report = opened(tmp_path)
    assert "Nodule" in text(report)
    assert list(tmp_path.iterdir()) == []
    report.edit("impression", [Sentence("Nodule, unchanged.", ("nodule",))])
    [file] = tmp_path.iterdir()
    assert "Nodule, unchanged." in file.read_text("utf-8")
    _, again = opened(tmp_path)
    assert again.draft == report.draft
    workspace.commands.undo()
    assert list(tmp_path.iterdir()) == []


def test_a_damaged_file_is_set_aside_and_told(tmp_path: Path) -> None:
    _, report = opened(tmp_path)
    report.edit("impression", [Sentence("Mine.")])
    [file] = tmp_path.iterdir()
    file.write_text(file.read_text()[:40])
    _, again = opened(tmp_path)
    assert "Mine." not in text(again)
    assert isinstance(again.problem, FileProblem)
    assert "cannot be read" in again.problem.reason
    assert not file.exists()
    assert len(list(tmp_path.iterdir())) == 1


def test_a_file_of_a_newer_version_is_left_alone(tmp_path: Path) -> None:
    _, report = opened(tmp_path)
    report.edit("impression", [Sentence("Mine.")])
    [file] = tmp_path.iterdir()
    newer = json.dumps(json.loads(file.read_text()) | {"version": 99})
    file.write_text(newer)
    _, again = opened(tmp_path)
    assert again.problem is not None
    assert "newer version" in again.problem.reason
    again.edit("impression", [Sentence("Over it.")])
    again.flush()
    assert file.read_text() == newer


def test_a_full_disk_is_told_and_the_next_edit_tries_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, report = opened(tmp_path)

    def full(_path: Path, _data: bytes) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as broken:
        broken.setattr("app.workspace.report.write_atomic", full)
        report.edit("impression", [Sentence("One.")])
    assert report.problem is not None
    assert "No space left" in report.problem.reason
    report.edit("impression", [Sentence("Two.")])
    [file] = tmp_path.iterdir()
    assert "Two." in file.read_text()


def test_what_contradicts_a_finding_cannot_be_signed(tmp_path: Path) -> None:
    workspace, report = opened(tmp_path)
    report.edit("impression", [Sentence("No nodule.", ("nodule",))])
    with pytest.raises(SightlineError, match="contradicts"):
        report.sign("Dr Roe", NOW)
    with pytest.raises(SightlineError, match="no name"):
        report.sign("  ", NOW)
    workspace.commands.undo()
    report.sign("Dr Roe", NOW)
    assert report.signed
    workspace.annotations.decide(["nodule"], State.REJECTED)
    with pytest.raises(SightlineError, match="no longer accepted"):
        report.written()


def test_a_signed_report_is_not_edited(tmp_path: Path) -> None:
    _, report = opened(tmp_path)
    report.sign("Dr Roe", NOW)
    before = report.draft
    report.edit("impression", [Sentence("Other.")])
    report.draft_again()
    report.add_missing()
    report.remove_struck()
    assert report.draft == before


def test_a_struck_sentence_of_several_findings_keeps_what_still_stands(tmp_path: Path) -> None:
    workspace, report = opened(tmp_path)
    box = Box(1.5, 1.5, 9.5, 9.5)
    workspace.annotations.add([finding(frame("1.1").ref, box, "Nodule", id="second")])
    workspace.annotations.decide(["second"], State.ACCEPTED)
    assert "Nodule (2)." in text(report)
    report.edit("clinical", [Sentence("Cough.")])
    workspace.annotations.decide(["second"], State.REJECTED)
    written = report.written()
    assert written is not None
    assert "Nodule (2)." not in report_text(written)
    report.remove_struck()
    impression = report.draft.section("impression")
    assert impression.sentences == (Sentence("Nodule.", ("nodule",)),)
    assert report.checks == ()


def test_an_earlier_study_that_is_opened_later_is_added_to_the_comparison(tmp_path: Path) -> None:
    workspace, report = opened(tmp_path)
    report.edit("impression", [Sentence("Mine.", ("nodule",))])
    then = study(instance("0.1", StudyDate="20230102"), uid="old", title="CT before")
    workspace.add(found(replace(then, date="20230102")))
    workspace.show_image(frame("1.1").ref)
    assert [one.fault for one in report.checks if one.fault is Fault.UNCOMPARED]
    report.add_missing()
    told = [one.text for one in report.draft.section("comparison").sentences]
    assert told == ["CT before of 2023-01-02."]
    assert Fault.UNCOMPARED not in [one.fault for one in report.checks]


DRAWN = {
    "ruler": [(10, 10), (40, 50)],
    "angle": [(10, 10), (40, 50), (60, 10)],
    "cobb": [(10, 10), (40, 12), (10, 50), (40, 60)],
    "bidirectional": [(10, 10), (40, 50)],
    "ellipse": [(10, 10), (40, 50)],
    "probe": [(10, 10)],
    "cardiothoracic": [(30, 40), (60, 40), (10, 50), (90, 50)],
    "polyline": [(10, 10), (40, 50), (60, 10)],
    "polygon": [(10, 10), (40, 50), (60, 10)],
    "freehand": [(10, 10), (40, 50), (60, 10)],
}


@pytest.mark.parametrize("language", ["en", "de"])
@pytest.mark.parametrize("source", ["patient", "detector plane", "none"])
def test_each_drawing_tool_gives_a_sentence_that_its_checks_accept(
    language: str, source: str
) -> None:
    kind = SpacingSource(source)
    spacing = Spacing() if kind is SpacingSource.NONE else Spacing(0.5, 0.5, kind)
    image = frame("1.2.3.4", spacing=spacing)
    made = [
        by_person(drawing.draw(tool, image, points), None, "Dr Roe")
        for tool, points in DRAWN.items()
    ]
    guides = [drawing.draw("mark_box", image, [(10, 10), (40, 50)])]
    assert not any(reportable(by_person(one, None, "Dr Roe")) for one in guides)
    accepted = {one.id: one for one in made if reportable(one)}
    assert len(accepted) == len(DRAWN)
    draft = drafted(*made, language=language)
    assert check_report(draft, SUBJECT, accepted) == ()
    told = [one.text for section, _, one in draft.told() if section.kind == "findings"]
    assert len(told) == len(DRAWN)
    lengths = {"patient": "25.0 mm", "detector plane": "25.0 mm (", "none": "50 px"}
    wanted = lengths[source].replace(".", "," if language == "de" else ".")
    assert any(one.startswith(("Length: ", "Länge: ")) and wanted in one for one in told)


def numbered(request: dict[str, Any], change: dict[str, str]) -> str:
    """Return the numbered sentences that a model was asked to word, some with other words."""
    asked = request["messages"][-1]["content"].split("\n\n")[-1]
    for old, new in change.items():
        assert old in asked
        asked = asked.replace(old, new)
    return asked


GOOD = {"Right nodule: 12.3 mm.": "There is a right nodule of 12.3 mm."}
WORDED = "There is a right nodule of 12.3 mm."


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (GOOD | {"Left mass: 8.00 mm.": "A left mass measures 8 mm."}, ""),
        (GOOD | {"Left mass: 8.00 mm.": "Right mass: 8.00 mm."}, "side"),
        (GOOD | {"Left mass: 8.00 mm.": "Left mass: 9.00 mm."}, "number"),
        (GOOD | {"Left mass: 8.00 mm.": "Left mass: 8.00 cm."}, "number"),
        (GOOD | {"Left mass: 8.00 mm.": "Left mass: 8.00 mm, and an effusion."}, "effusion"),
        (GOOD | {"Left mass: 8.00 mm.": "Left mass excluded, 8.00 mm."}, "negated"),
        (GOOD | {"Left mass: 8.00 mm.": "Left mass: 8.00 mm.\n5. Effusion."}, "once"),
        (GOOD | {"2. Left mass: 8.00 mm.\n": ""}, "once"),
    ],
)
def test_a_local_model_words_what_it_may_and_nothing_else(
    tmp_path: Path, change: dict[str, str], reason: str
) -> None:
    workspace, report = opened(tmp_path)
    box = Box(20.5, 10.5, 60.5, 40.5)
    two = [
        finding(frame("1.1").ref, box, "Right nodule", id="r", value=12.34, units="mm (patient)"),
        finding(frame("1.1").ref, box, "Left mass", id="l", value=8.0, units="mm (patient)"),
    ]
    workspace.annotations.decide(["nodule"], State.PROPOSED)
    workspace.annotations.add(two)
    workspace.annotations.decide(["r", "l"], State.ACCEPTED)
    before, asked = text(report), report.to_word()

    def answer(request: dict[str, Any]) -> Reply:
        return delta_reply({"content": numbered(request, change)})

    with OpenAIServer(answer=answer) as server:
        word = partial(reworded, OpenAIModel(server.url, "test-model", ""))
        words = [one.text for one in asked]
        if reason == "once":
            with pytest.raises(ModelFailed, match="each sentence back once"):
                word(words, "en")
            assert text(report) == before
            return
        said = [word(words, "en") for _ in range(2)][-1]  # each in an event loop of its own
    left = report.take_wording(asked, said)
    assert WORDED in text(report)
    assert "ffusion" not in text(report)
    assert len(left) == bool(reason)
    assert all(reason in why for _, _, why in left)
    if reason:
        assert "Left mass: 8.00 mm." in text(report)
    assert report.checks == ()
