"""Which objects draw over an image: the same with sets of what they name, and quicker."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

from app.imaging.layers import ImageReferences, layers_for
from app.imaging.types import Content, Instance

IMAGES = [f"1.2.3.{number}" for number in range(20_000)]


def image(uid: str) -> Instance:
    return Instance(Path(f"/{uid}.dcm"), uid, "dicom", 8, 8, attributes={"PatientID": "4711"})


def segmentation(number: int, references: tuple[str, ...], patient: str = "4711") -> Instance:
    return Instance(
        Path(f"/seg{number}.dcm"),
        f"9.{number}",
        "dicom",
        8,
        8,
        content=Content.SEGMENTATION,
        references=references,
        attributes={"PatientID": patient},
    )


def best(work: Callable[[], object]) -> float:
    taken: list[float] = []
    for _ in range(5):
        started = time.process_time()
        work()
        taken.append(time.process_time() - started)
    return min(taken)


def test_sets_find_what_the_lists_of_references_say():
    objects = [
        segmentation(0, tuple(IMAGES[:100])),
        segmentation(1, tuple(IMAGES[50:150])),
        segmentation(2, tuple(IMAGES[:100]), patient="other"),
        segmentation(3, ()),
    ]
    named = ImageReferences().for_objects(objects)
    for uid in (IMAGES[0], IMAGES[75], IMAGES[149], "no such image"):
        expected = layers_for(image(uid), objects)
        assert layers_for(image(uid), objects, named) == expected
    assert layers_for(image(IMAGES[75]), objects, named) == objects[:2]


def test_an_object_without_a_set_is_looked_through():
    known, late = segmentation(0, (IMAGES[0],)), segmentation(1, (IMAGES[1],))
    named = ImageReferences().for_objects([known])
    assert named.refers(late, IMAGES[1])
    assert not named.refers(late, IMAGES[0])
    assert named.covers([known])
    assert not named.covers([known, late])
    assert not named.covers([])


def test_sets_are_kept_while_their_objects_are_open():
    first, second = segmentation(0, (IMAGES[0],)), segmentation(1, (IMAGES[1],))
    before = ImageReferences().for_objects([first, second])
    after = before.for_objects([second])
    assert after.covers([second])
    assert after._sets[id(second)] is before._sets[id(second)]


def test_twenty_segmentations_of_20_000_images_are_asked_in_no_time():
    objects = [segmentation(number, tuple(IMAGES)) for number in range(20)]
    named = ImageReferences().for_objects(objects)
    last = image(IMAGES[-1])
    slow = best(lambda: layers_for(last, objects))
    quick = best(lambda: layers_for(last, objects, named))
    print(f"{slow * 1e3:.2f} ms without sets, {quick * 1e3:.3f} ms with them")  # noqa: T201
    assert quick < slow / 20
