"""Makes the pictures of docs/record.md: `python -m tests.gui.record_pictures [FOLDER]`.

The real window shows the demo film as that of a made patient, with the patient's made record beside
it; the offline planner answers.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from pathlib import Path

import pydicom

from app.imaging.demo import demo_paths
from app.records.types import EntryKind
from app.views.application import use_offscreen
from app.workspace.record import OpenRecord
from tests.conftest import REPO
from tests.gui.microscopy_pictures import QuestionPictures
from tests.unit.records.record_files import patient_bundle

SEED, VISITS = 3, 12
QUESTIONS = ("What was the last creatinine?", "CHA2DS2-VASc score")


def main(folder: Path) -> None:
    """Write the pictures."""
    use_offscreen()
    with tempfile.TemporaryDirectory() as made:
        for name in ("XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME"):
            os.environ[name] = str(Path(made) / name)
        bundle = patient_bundle(SEED, VISITS)
        record, film = Path(made) / "record.json", Path(made) / "film.dcm"
        record.write_text(json.dumps(bundle), encoding="utf-8")
        _write_film(film, bundle["entry"][0]["resource"])
        pictures = QuestionPictures(folder, [film, record], "dark")
        window = pictures.window
        window.resize(1440, 900)
        used = window.workspace.record
        pictures.settle(lambda: used.patient is not None and not window.record_panel.busy)
        window.record_panel.show_entry(_latest(used, "Creatinine"))
        pictures.settle()
        pictures.save("record-panel")
        for question in QUESTIONS:
            pictures.run(question)
        pictures.save("record-answer")
        pictures.close()


def _write_film(path: Path, patient: dict[str, object]) -> None:
    """Write the demo film with the identity of a FHIR patient."""
    film = pydicom.dcmread(demo_paths()[0])
    film.PatientID = str(patient["id"])
    film.PatientName = "Cooper^Dan"
    film.PatientBirthDate = str(patient["birthDate"]).replace("-", "")
    film.PatientSex = str(patient["gender"])[0].upper()
    film.save_as(path)


def _latest(record: OpenRecord, name: str) -> str:
    entries = record.records.entries(record.patient_id, [EntryKind.LAB], text=name, limit=1)
    return entries[0].id


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else REPO / "docs" / "images")
