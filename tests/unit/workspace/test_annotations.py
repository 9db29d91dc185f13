from __future__ import annotations

from dataclasses import replace

import numpy as np

from app.imaging.findings import Finding, Mask, Polyline, Provenance, new_id
from app.imaging.types import ImageRef
from app.workspace.annotations import Annotations, CommandStack

HERE = ImageRef("1.2.3", 0, "aa")
ELSEWHERE = ImageRef("1.2.3", 1, "bb")


def a_finding(label: str = "Heart", image: ImageRef = HERE, tool: str = "segmentation") -> Finding:
    return Finding(
        id=new_id(),
        image=image,
        geometry=Polyline(((0, 0), (1, 1))),
        label=label,
        score=0.9,
        units="px",
        provenance=Provenance(tool, "1", "net", "00", "run", "call"),
    )


def test_a_finding_is_shown_only_on_the_pixels_it_carries():
    annotations = Annotations(CommandStack())
    here, elsewhere = a_finding(), a_finding(image=ELSEWHERE)
    annotations.add([here, elsewhere])
    assert [item.finding for item in annotations.on_image(HERE)] == [here]
    assert [item.finding for item in annotations.on_image(ELSEWHERE)] == [elsewhere]
    same_file_other_pixels = ImageRef("1.2.3", 0, "changed")
    assert annotations.on_image(same_file_other_pixels) == ()


def test_a_tool_that_runs_again_replaces_its_own_findings_and_undo_brings_them_back():
    commands = CommandStack()
    annotations = Annotations(commands)
    first, second = a_finding(), a_finding()
    by_other_tool = a_finding(tool="cardiothoracic_ratio")
    annotations.add([first, by_other_tool])
    annotations.add([second])
    assert [item.finding for item in annotations.all()] == [by_other_tool, second]
    commands.undo()
    assert [item.finding for item in annotations.all()] == [first, by_other_tool]
    commands.redo()
    assert [item.finding for item in annotations.all()] == [by_other_tool, second]


def a_mask(rows: slice, columns: slice) -> Finding:
    pixels = np.zeros((64, 64), np.bool_)
    pixels[rows, columns] = True
    return replace(a_finding("Marked structure"), geometry=Mask(pixels))


def test_what_a_tool_outlines_elsewhere_on_the_image_leaves_the_first_outline_there():
    for first, elsewhere, again in (
        (a_mask(slice(0, 20), slice(0, 20)),
         a_mask(slice(30, 50), slice(30, 50)),
         a_mask(slice(5, 25), slice(5, 25))),
        (a_mask(slice(3, 5), slice(3, 5)),  # smaller than what is looked at of large ones
         a_mask(slice(11, 13), slice(11, 13)),
         a_mask(slice(4, 6), slice(4, 6))),
    ):  # fmt: skip
        annotations = Annotations(CommandStack())
        for made in (first, elsewhere):
            annotations.add([made])
        assert [item.finding for item in annotations.all()] == [first, elsewhere]
        annotations.add([again])
        assert [item.finding for item in annotations.all()] == [elsewhere, again]


def test_a_run_again_that_outlines_nothing_replaces_the_outline():
    annotations = Annotations(CommandStack())
    nothing = a_mask(slice(0, 0), slice(0, 0))
    annotations.add([a_mask(slice(0, 20), slice(0, 20))])
    annotations.add([nothing])
    assert [item.finding for item in annotations.all()] == [nothing]


def test_removing_is_undoable_and_takes_the_selection_along():
    commands = CommandStack()
    annotations = Annotations(commands)
    finding = a_finding()
    annotations.add([finding])
    selections: list[str] = []
    annotations.selection_changed.connect(selections.append)
    annotations.select(finding.id)
    annotations.remove([finding.id, "unknown"])
    assert len(annotations) == 0
    assert annotations.selected == ""
    assert selections == [finding.id, ""]
    commands.undo()
    assert annotations.get(finding.id) is not None


def test_one_label_keeps_one_colour():
    annotations = Annotations(CommandStack())
    annotations.add([a_finding("Right Lung"), a_finding("Left Lung")])
    annotations.add([a_finding("Right Lung", image=ELSEWHERE)])
    colors = {(i.finding.label, i.color) for i in annotations.all()}
    assert len(colors) == 2


def test_hiding_is_display_not_history():
    commands = CommandStack()
    annotations = Annotations(commands)
    finding = a_finding()
    annotations.add([finding])
    annotations.set_visible([finding.id], False)
    item = annotations.get(finding.id)
    assert item is not None
    assert not item.visible
    assert commands.undo_label.startswith("Add")


def test_masks_as_findings_can_be_compared_without_comparing_pixels():
    annotations = Annotations(CommandStack())
    mask = Finding(
        new_id(), HERE, Mask(np.ones((4, 4), bool)), "Heart", None, "", a_finding().provenance
    )
    annotations.add([mask])
    assert annotations.on_image(HERE)[0].finding is mask


def test_undoing_another_step_hides_nothing_that_was_shown_again():
    annotations = Annotations(CommandStack())
    one = a_finding()
    annotations.add([one])
    annotations.set_visible([one.id], False)
    annotations.alter([one.id], "Colour marks", lambda item: replace(item, tint="#ff0000"))
    annotations.set_visible([one.id], True)
    annotations.commands.undo()
    (item,) = annotations.all()
    assert (item.tint, item.visible) == ("", True)
