"""What the models window tells of a model is true, and laid out without gaps."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from PySide6.QtCore import QPoint

from app.tools.hosting.states import ModelState, State
from app.tools.models.store import ModelStore
from app.views.models import model_wording
from app.views.models.models_window import ModelDetails
from tests.gui.models_support import CARDS, PLAIN
from tests.gui.viewer_support import WaitUntil

pytestmark = pytest.mark.gui


@pytest.fixture
def details(qapp: object, tmp_path: Path, wait_until: WaitUntil) -> Iterator[ModelDetails]:
    made = ModelDetails()
    made.show_model(ModelStore(tmp_path, known=CARDS).status(PLAIN))
    made.resize(400, 900)
    made.show()
    wait_until(lambda: made.parts["Limits"][1].isVisible())
    yield made
    made.close()
    made.deleteLater()


def test_a_loaded_model_is_not_green_whose_files_are_not_the_published_ones(tmp_path: Path):
    status = ModelStore(tmp_path, known=CARDS).status(PLAIN)
    found = replace(status, state="other", note="differs from the published file")
    loaded = ModelState(PLAIN.name, State.READY, "cpu", "float32", memory=1_300_000_000)
    said = model_wording.state_text(found, loaded)
    assert (said.text, said.tone) == ("Ready, not as published", "warning")
    assert said.more == "Loaded on the processor, 32 bit, 1.3 GB. Differs from the published file"
    busy = model_wording.state_text(found, replace(loaded, state=State.BUSY, doing="Writing"))
    assert (busy.text, busy.more) == ("Busy", "Writing. Differs from the published file")


def test_what_is_not_known_of_a_model_leaves_no_gap(details: ModelDetails):
    assert not details.parts["Terms"][1].isVisible(), "it has none"
    assert _gap(details, "Licence", "Memory") == _gap(details, "Made for", "Limits")


def test_the_rest_of_an_item_hangs_below_its_text(details: ModelDetails):
    shape = details.parts["Limits"][1].document().begin().blockFormat()
    assert shape.leftMargin() == -shape.textIndent() > 0
    plain = details.parts["Made for"][1].document().begin().blockFormat()
    assert plain.leftMargin() == 0


def _gap(details: ModelDetails, above: str, below: str) -> int:
    first, second = details.parts[above][1], details.parts[below][1]
    end = first.mapTo(details, QPoint(0, first.height())).y()
    return second.mapTo(details, QPoint()).y() - end
