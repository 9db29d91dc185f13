"""What an open image is called in texts for people."""

from __future__ import annotations

import pytest

from app.agent.image_reference import (
    name_of,
    named_with_number,
    names_of,
    title_of,
    with_image_names,
)
from app.agent.messages import Message
from app.agent.privacy.redaction import Redactor

FILM = {"id": "image-1", "path": "/studies/doe/film.dcm"}
OTHER = {"id": "image-2", "path": r"C:\studies\roe\film.dcm"}


def test_it_is_called_as_the_window_calls_it():
    assert name_of(FILM) == name_of(FILM, [FILM]) == "film.dcm"
    assert name_of(OTHER) == "film.dcm"
    assert named_with_number(FILM) == "film.dcm (image 1)"


def test_two_of_one_name_are_told_apart():
    names = [name_of(note, [FILM, OTHER]) for note in (FILM, OTHER)]
    assert names == ["film.dcm (image 1)", "film.dcm (image 2)"]


def test_the_names_of_many_are_those_of_each():
    third, same = OTHER | {"id": "image-3"}, {"id": "image-4", "path": "/b/scan.dcm"}
    notes = [FILM, OTHER, third, same, same, {"id": "image-5", "path": ""}]
    assert names_of(notes) == [name_of(note, notes) for note in notes]


def test_users_are_told_modality_view_and_date_in_place_of_an_id():
    prior = {"id": "image-2", "modality": "CR", "view": "PA", "study_date": "2023-01-05"}
    notes = [FILM, prior | {"body_part": "CHEST"}]
    said = "image-2 is no volume; /x/image-2.png, image-2-mask and image-20 stay: image-1."
    assert with_image_names(said, notes) == (
        "image 2 (CR, PA, 2023-01-05) is no volume; /x/image-2.png, image-2-mask and image 20 "
        "stay: image 1."
    )
    assert with_image_names("image-2", notes, german=True) == "Bild 2 (CR, PA, 2023-01-05)"
    assert named_with_number(FILM | prior) == "film.dcm (image 2, CR, PA, 2023-01-05)"
    assert title_of(notes[1]) == "Chest radiograph, PA, 2023-01-05"
    assert title_of({"modality": "CT", "body_part": "HEAD"}) == "Head CT"
    assert title_of(FILM) == ""


PATHS = ["image-1", "", "/a/\n**b**.dcm", "/a/[1].dcm", "/a/<b>.png", "/a/`x`.png", "/a/1961"]


@pytest.mark.parametrize("path", [*PATHS, f"/{'x' * 99}.png"])
def test_a_name_that_would_not_stand_as_it_is_gives_way_to_the_id(path: str):
    note = {"id": "image-1", "path": path}
    assert name_of(note) == named_with_number(note) == "image 1"


@pytest.mark.parametrize("name", ["Doe_Jane_1961.dcm", "1961-02-03.png", "d j.nii.gz"])
def test_it_does_not_leave_the_machine(name: str):
    note = {"id": "image-1", "path": f"/studies/{name}"}
    assert name_of(note) == name
    said = Message(role="assistant", text=f"{name_of(note)} is synthetic.")
    asked = Message(role="user", text="Go on.", images=[note])
    assert Redactor([asked, said]).messages([said])[0].text == "image-1 is synthetic."
