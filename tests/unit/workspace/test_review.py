"""Findings are accepted, edited and rejected, each as one step that can be undone."""

from __future__ import annotations  # pyright: ignore[reportAssignmentType]

from dataclasses import replace
from datetime import UTC, datetime

import numpy as np
import pytest

from app.imaging.findings import Box, Finding, Mask, Provenance, State, new_id
from app.imaging.types import Frame, ImageRef, Voi, Window
from app.workspace import drawing
from app.workspace.annotations import Annotations, CommandStack

FRAME = Frame(
    stored=np.zeros((80, 100), np.uint8), ref=ImageRef("1.2", 0, "sha"), voi=Voi((Window(9, 9),))
)
PLACE = Box(10.5, 10.5, 30.5, 30.5)
OTHER = Box(12.5, 10.5, 30.5, 30.5)


def found(label: str = "Nodule", call: str = "call-1", place: Box | Mask = PLACE) -> Finding:
    made = Provenance("finder", "1", "net", "00", "run", call)
    return Finding(new_id(), FRAME.ref, place, label, 0.9, "", made, description="a nodule")


@pytest.fixture
def annotations() -> Annotations:
    result = Annotations(CommandStack())
    result.reviewer = "Dr Roe"
    return result


def states(annotations: Annotations) -> list[State]:
    return [item.finding.state for item in annotations.all()]


def finding_of(annotations: Annotations, finding_id: str) -> Finding:
    item = annotations.get(finding_id)
    assert item is not None
    return item.finding


def test_all_of_a_result_is_of_its_own_run_alone(annotations: Annotations):
    one, two = found(), found("Mass")
    other = replace(found("Effusion"), provenance=replace(one.provenance, run_id="other run"))
    annotations.add([one, two, other])
    assert annotations.of_call(one.provenance) == (one.id, two.id)
    assert annotations.of_call(other.provenance) == (other.id,)


def test_a_decision_has_a_name_and_a_time_and_is_one_step(annotations: Annotations):
    one, two, other = found(), found("Mass"), found("Effusion", "call-2")
    annotations.add([one, two, other])
    annotations.decide(annotations.of_call(one.provenance), State.ACCEPTED)
    assert states(annotations) == [State.ACCEPTED, State.ACCEPTED, State.PROPOSED]
    accepted = finding_of(annotations, one.id)
    assert accepted.reviewer == "Dr Roe"
    told = datetime.fromisoformat(accepted.reviewed)
    assert told.tzinfo is not None
    assert abs((datetime.now(UTC) - told).total_seconds()) < 60
    annotations.decide([one.id], State.REJECTED)
    annotations.decide([one.id], State.PROPOSED)
    assert finding_of(annotations, one.id) == one  # without reviewer and time
    for _ in range(3):
        annotations.commands.undo()
    assert states(annotations) == [State.PROPOSED] * 3
    for _ in range(3):
        annotations.commands.redo()
    assert states(annotations) == [State.PROPOSED, State.ACCEPTED, State.PROPOSED]


def test_a_decision_that_changes_nothing_is_no_step(annotations: Annotations):
    one = found()
    mark = drawing.draw(drawing.BOX, FRAME, ((1, 1), (5, 5)))
    annotations.add([one])
    annotations.put(mark, "Mark box")
    for state in (State.PROPOSED, State.REJECTED):
        annotations.decide([mark.id, "unknown"], state)
    annotations.decide([one.id], State.PROPOSED)
    assert annotations.commands.undo_label == "Mark box"
    assert states(annotations) == [State.PROPOSED, State.ACCEPTED]


def test_what_a_person_draws_is_theirs_and_accepted(annotations: Annotations):
    mark = drawing.draw(drawing.BOX, FRAME, ((1, 1), (5, 5)))
    annotations.put(mark, "Mark box")
    kept = finding_of(annotations, mark.id)
    assert (kept.state, kept.reviewer, kept.original) == (State.ACCEPTED, "Dr Roe", None)
    annotations.put(drawing.move_point(kept, FRAME, 0, (2, 2)), "Change box")
    moved = finding_of(annotations, mark.id)
    assert (moved.state, moved.original) == (State.ACCEPTED, None)


def test_a_changed_finding_keeps_the_tool_s_whatever_becomes_of_it(annotations: Annotations):
    one = found()
    annotations.add([one])
    annotations.decide([one.id], State.ACCEPTED)
    accepted = finding_of(annotations, one.id)
    for corner in ((5, 5), (6, 6)):
        now = finding_of(annotations, one.id)
        annotations.put(drawing.move_point(now, FRAME, 0, corner), "Change nodule")
    edited = finding_of(annotations, one.id)
    assert edited.state is State.EDITED
    assert edited.reviewer == "Dr Roe"
    assert edited.original is not None
    assert edited.original.geometry == PLACE
    assert edited.original.original is None
    annotations.decide([one.id], State.REJECTED)
    assert states(annotations) == [State.REJECTED]
    annotations.decide([one.id], State.ACCEPTED)
    assert finding_of(annotations, one.id).state is State.EDITED  # accepted, with changes
    annotations.restore([one.id])
    assert finding_of(annotations, one.id).geometry == PLACE
    assert finding_of(annotations, one.id).original is None
    annotations.commands.undo()
    assert finding_of(annotations, one.id).geometry == edited.geometry
    assert accepted.geometry == PLACE


def test_a_new_name_is_an_edit_and_a_figure_that_is_outdated_is_none(annotations: Annotations):
    one = found()
    annotations.add([one])
    annotations.put(replace(one, description="outdated"), "Note")
    assert states(annotations) == [State.PROPOSED]
    annotations.put(replace(one, label="Granuloma"), "Rename")
    assert states(annotations) == [State.EDITED]


def test_a_rerun_replaces_what_is_proposed_and_comes_beside_what_is_decided(
    annotations: Annotations,
):
    told: list[tuple[Finding, ...]] = []
    annotations.found_again.connect(told.append)
    first, again = found(), found(place=OTHER)
    annotations.add([first])
    annotations.add([again])
    assert [item.finding for item in annotations.all()] == [again]
    assert not told
    for state in (State.ACCEPTED, State.REJECTED):
        annotations.decide([again.id], state)
        newest = found()
        annotations.add([newest])
        assert [item.finding.state for item in annotations.all()] == [state, State.PROPOSED]
        assert [one.state for one in told[-1]] == [state]
        annotations.commands.undo()


@pytest.mark.parametrize("state", [State.ACCEPTED, State.REJECTED])
def test_the_same_result_again_leaves_the_decision_and_says_so(
    annotations: Annotations, state: State
):
    told: list[tuple[Finding, ...]] = []
    annotations.found_again.connect(told.append)
    pixels = np.zeros((80, 100), np.bool_)
    pixels[5:9, 5:9] = True
    one, again = found(place=Mask(pixels)), found(place=Mask(pixels.copy()))
    annotations.add([one])
    annotations.decide([one.id], state)
    label = annotations.commands.undo_label
    annotations.add([again])
    assert [item.finding.id for item in annotations.all()] == [one.id]
    assert states(annotations) == [state]
    assert annotations.commands.undo_label == label
    assert len(told) == 1


def test_every_change_of_a_state_is_told_undo_too(annotations: Annotations):
    told: list[list[tuple[str, State]]] = []
    annotations.decided.connect(lambda all_: told.append([(one.label, one.state) for one in all_]))
    one, two = found(), found("Mass")
    annotations.add([one, two])
    annotations.decide([one.id, two.id], State.REJECTED)
    annotations.commands.undo()
    annotations.remove([one.id])
    both = [("Nodule", State.REJECTED), ("Mass", State.REJECTED)]
    back = [("Nodule", State.PROPOSED), ("Mass", State.PROPOSED)]
    assert told == [both, back]
