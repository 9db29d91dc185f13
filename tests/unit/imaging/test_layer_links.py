"""Which objects draw over an image."""

from __future__ import annotations

import time
from pathlib import Path

from app.imaging.layers import layers_for
from app.imaging.types import Content, Instance

IMAGES = [f"1.2.3.{number}" for number in range(20_000)]


def image(uid: str) -> Instance:
    return Instance(Path(f"/{uid}.dcm"), uid, "dicom", 8, 8, attributes={"PatientID": "4711"})


def segmentation(number: int, references: list[str], patient: str = "4711") -> Instance:
    return Instance(
        Path(f"/seg{number}.dcm"),
        f"9.{number}",
        "dicom",
        8,
        8,
        content=Content.SEGMENTATION,
        references=dict.fromkeys(references),
        attributes={"PatientID": patient},
    )


def test_objects_that_name_the_image_of_this_patient_draw_over_it():
    objects = [
        segmentation(0, IMAGES[:100]),
        segmentation(1, IMAGES[50:150]),
        segmentation(2, IMAGES[:100], patient="other"),
        segmentation(3, []),
    ]
    assert layers_for(image(IMAGES[0]), objects) == objects[:1]
    assert layers_for(image(IMAGES[75]), objects) == objects[:2]
    assert layers_for(image("no such image"), objects) == []


def test_twenty_segmentations_of_20_000_images_are_asked_in_no_time():
    objects = [segmentation(number, IMAGES) for number in range(20)]
    last = image(IMAGES[-1])
    started = time.process_time()
    assert layers_for(last, objects) == objects
    assert time.process_time() - started < 0.001
