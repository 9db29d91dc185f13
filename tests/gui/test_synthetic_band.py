"""What a model made is said to be synthetic wherever it is seen, and cannot be told otherwise."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image
from PySide6.QtGui import QColor, QImage

from app.agent.events import ToolFinished, ToolStarted
from app.headless.render import RenderRequest, render
from app.imaging.files import synthetic
from app.imaging.formats.picture_file import read_instances
from app.imaging.types import Instance
from app.tools.api import Artifact
from app.views.background import Background
from app.views.browser.study_rows import SeriesRow
from app.views.canvas import synthetic_band
from app.views.canvas.annotated_render import render_annotated
from app.views.canvas.pane import PicturePane
from app.views.results.pane_area import PaneArea
from app.views.theme import THEME
from app.workspace.viewport import Pane
from app.workspace.workspace import Workspace
from tests.gui.canvas_scene import Scene
from tests.gui.chat_support import Chat, ask, opened, picture
from tests.gui.viewer_support import frame, instance, study

pytestmark = [pytest.mark.gui, pytest.mark.usefixtures("forked")]

Wait = Callable[..., None]
MODEL = "RoentGen 1.0"
TEXT = "SYNTHETIC, made by RoentGen 1.0: not a patient"
INK = QColor(THEME.synthetic)


def made() -> Instance:
    return instance(SyntheticBy=MODEL)


@pytest.fixture
def chat(qapp: object, tmp_path: Path) -> Iterator[Chat]:
    yield from opened(tmp_path / "sessions")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = picture(tmp_path / "made.png", 300)
    synthetic.mark(path, MODEL)
    return path


def inked(image: QImage, y: int) -> float:
    """Share of a row that has the band's colour."""
    row = [QColor(image.pixel(x, y)) == INK for x in range(image.width())]
    return sum(row) / len(row)


def test_the_canvas_has_the_band_over_its_whole_width_and_text_keeps_clear_of_it(scene: Scene):
    scene.show(made())
    assert scene.canvas.overlay.synthetic == MODEL
    image = scene.canvas.grab().toImage()
    assert inked(image, 6) == 1.0
    assert QColor(image.pixel(1, image.height() // 2)) == INK, "and an edge around the view"
    top = min(block.rect.top() for block in scene.canvas.overlay._laid_out())
    assert top > synthetic_band.HEIGHT
    scene.show(instance("2.2"))
    assert scene.canvas.overlay.synthetic == ""
    assert inked(scene.canvas.grab().toImage(), 6) == 0.0


def test_zoom_pan_window_and_invert_leave_the_band_where_it_is(scene: Scene):
    scene.show(made())
    scene.canvas.zoom_by(4)
    scene.canvas.pan_by(40, 60)
    scene.canvas.toggle_invert()
    scene.canvas.flip(across=False)
    scene.settle()
    assert inked(scene.canvas.grab().toImage(), 6) == 1.0


@pytest.mark.parametrize("side", [80, 900])
def test_an_export_has_the_band_at_every_size(qapp: object, side: int):
    shown = frame(stored=np.full((side, side), 500, np.int16))

    def top(image: Instance) -> NDArray[np.bool_]:
        pixels = render_annotated(shown, image)
        return (pixels[4] == [INK.red(), INK.green(), INK.blue()]).all(axis=1)

    assert top(made()).all()
    assert not top(instance()).any()


def test_a_pane_has_the_band_by_its_tool_s_word_and_by_its_file_s(
    qapp: object, tmp_path: Path, file: Path, wait_until: Wait
):
    background, workspace = Background(), Workspace()
    panes, area = workspace.panes, PaneArea(workspace, background)
    area.resize(400, 400)
    area.show()
    told = {"synthetic": True, "model": MODEL}
    plain = picture(tmp_path / "plain.png")
    panes.show(Pane(plain, "By word", "", "chest_xray_generator", told))
    panes.show(Pane(file, "By file", "", "image_visualizer"))
    panes.show(Pane(picture(tmp_path / "other.png"), "Neither", "", "image_visualizer"))
    views = [view for view in area.views if isinstance(view, PicturePane)]
    assert views[0].view.overlay.synthetic == MODEL, "before its pixels are there"
    wait_until(lambda: not area.busy)
    assert [view.view.overlay.synthetic for view in views] == [MODEL, MODEL, ""]
    assert views[1].view.accessibleDescription() == TEXT
    area.setCurrentIndex(1)
    view = views[1]
    assert inked(view.view.grab().toImage(), 5) > 0.9
    area.setCurrentIndex(2)
    assert inked(views[2].view.grab().toImage(), 5) == 0.0
    area.close()
    workspace.close()
    background.close()


def test_a_card_s_thumbnail_has_it(chat: Chat, file: Path, tmp_path: Path, wait_until: Wait):
    ask(chat, wait_until)
    tool = "chest_xray_generator"
    chat.runner.say(ToolStarted, call_id="c1", tool=tool, arguments={"prompt": "x"})
    told = {"synthetic": True, "model": MODEL}
    artifacts = [
        Artifact(picture(tmp_path / "plain.png"), "show", "By word", options=told),
        Artifact(file, "image", "By file"),
        Artifact(picture(tmp_path / "other.png"), "image", "Neither"),
    ]
    chat.runner.say(
        ToolFinished, call_id="c1", tool=tool, status="ok", summary="Made.", artifacts=artifacts
    )
    wait_until(lambda: "c1" in chat.run.cards and chat.run.cards["c1"].thumbnails)
    word, by_file, neither = chat.run.cards["c1"].thumbnails
    wait_until(lambda: all(one.image is not None for one in (word, by_file, neither)))
    for one in (word, by_file):
        image = one.grab().toImage()
        assert inked(image, image.height() - 3) > 0.8
        assert TEXT in one.accessibleName()
    assert inked(neither.grab().toImage(), neither.height() - 3) == 0.0


def test_the_study_list_says_it(qapp: object):
    shown = study(made())
    assert SeriesRow(shown, shown.series[0]).detail.startswith("SYNTHETIC, no patient")


def test_a_file_that_is_opened_again_has_it(file: Path):
    (opened_again,) = read_instances(file)
    assert synthetic_band.model_title(opened_again) == MODEL
    assert "not a patient" in synthetic_band.text(MODEL)
    with Image.open(file) as image:
        assert image.info[synthetic.KEYWORD] == MODEL


def test_what_render_writes_of_one_says_so_in_its_file(
    file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("SIGHTLINE_HOME", str(tmp_path / "home"))
    out = tmp_path / "out.png"
    render(RenderRequest(file, out))
    assert synthetic.file_model_title(out) == MODEL
