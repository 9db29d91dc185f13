"""The seed's four prompts from the chat: what runs, and what is on the canvas afterwards."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtWidgets import QApplication

from app.agent.loop.agent_loop import AgentLoop
from app.imaging.demo import demo_paths
from app.imaging.findings import Box, Finding, Mask
from app.tools.hosting.host import ProcessHost
from app.tools.models.cards import card as card_of
from app.views.canvas.pane import PicturePane
from app.views.chat.dock import ChatDock
from app.views.main_window import MainWindow
from app.wiring import Program, ViewRequest, build_window
from tests.gui.viewer_support import WaitUntil
from tests.support import four_prompts as seed
from tests.support.four_prompts import TOOLS, Following, script

pytestmark = [
    pytest.mark.gui,
    pytest.mark.slow,
    # Not imported to find out: torch must never be loaded in the window's process.
    pytest.mark.skipif(find_spec("torch") is None, reason="torch is not installed (viewer only)"),
]

DICOM = demo_paths()[0]


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Program]:
    """One program for all prompts: its model process imports the packages once."""
    folder = tmp_path_factory.mktemp("four-prompts")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SIGHTLINE_HOME", str(folder / "home"))
        patch.setenv("SIGHTLINE_MODELS", str(folder / "models"))
        made = Program()
        made.__dict__["host"] = ProcessHost()
        seed.install(made.host, folder / "models")
        yield made
        made.close()


class Chat:
    """The window with the demo film, and what its runs did."""

    def __init__(self, window: MainWindow, wait_until: WaitUntil) -> None:
        assert isinstance(window.chat, ChatDock)
        self.window, self.dock, self._wait = window, window.chat, wait_until
        self.events: list[Any] = []
        self.dock._agent.run_event.connect(self.events.append)  # pyright: ignore[reportPrivateUsage]

    def ask(self, prompt: str) -> str:
        """Send a prompt; the answer, once all that it made is on the screen."""
        self.events.clear()
        self.dock.submit(prompt)
        ends = ("run_finished", "run_failed", "run_cancelled")
        self._wait(lambda: self.events and self.events[-1].kind in ends, timeout=240)
        self._wait(lambda: self.dock.is_idle() and not self.window.busy, timeout=60)
        assert self.events[-1].kind == "run_finished", self.events[-1]
        return self.events[-1].answer

    @property
    def called(self) -> tuple[str, ...]:
        return tuple(event.tool for event in self.events if event.kind == "tool_started")

    @property
    def failed(self) -> list[str]:
        done = [event for event in self.events if event.kind == "tool_finished"]
        return [event.error for event in done if event.status != "ok"]

    @property
    def made(self) -> list[Finding]:
        done = [event for event in self.events if event.kind == "tool_finished"]
        return [finding for event in done for finding in event.findings]

    @property
    def drawn(self) -> list[Finding]:
        """What the last run drew: marks of earlier ones are kept with the study."""
        there = (item.finding for item in self.window.canvas.annotation_items())
        return [one for one in there if one.provenance.run_id == self.events[-1].run_id]


@pytest.fixture
def chat(
    qapp: QApplication,
    program: Program,
    wait_until: WaitUntil,
    monkeypatch: pytest.MonkeyPatch,
) -> Iterator[Callable[..., Chat]]:
    windows: list[MainWindow] = []

    def build(model: Following | None = None, *, empty: bool = False) -> Chat:
        if model is not None:
            loop = program.loop
            monkeypatch.setattr(program, "loop", lambda _model: _with(loop(_model), model))
        window = build_window(program, ViewRequest(paths=() if empty else (DICOM,)))
        windows.append(window)
        window.show()
        if not empty:
            shown = window.canvas
            wait_until(lambda: shown.frame is not None and not window.busy, timeout=60)
        return Chat(window, wait_until)

    yield build
    for window in windows:
        window.close()


def _with(loop: AgentLoop, model: Following) -> AgentLoop:
    loop.model = model
    return loop


BOTH = pytest.mark.parametrize("scripted", [False, True], ids=["offline", "scripted"])


@BOTH
def test_prompt_1_puts_outlines_on_the_film_and_the_overlay_beside_it(
    chat: Callable[..., Chat], scripted: bool
):
    shown = chat(script(1, "image-1") if scripted else None)
    answer = shown.ask(seed.PROMPT_1)
    assert shown.called == TOOLS[1]
    assert shown.failed == []
    masks = {item.label for item in shown.drawn if isinstance(item.geometry, Mask)}
    assert masks
    assert masks <= set(seed.ORGANS)
    titles = [artifact.title for artifact in _artifacts(shown) if artifact.role == "show"]
    assert titles == ["Assistant: \u201cSegmentation Overlay\u201d"]
    assert scripted or "Effusion" in answer


@BOTH
def test_prompt_2_shows_both_answers(chat: Callable[..., Chat], scripted: bool):
    shown = chat(script(2, "image-1") if scripted else None)
    answer = shown.ask(seed.PROMPT_2)
    assert shown.called == TOOLS[2]
    assert shown.failed == []
    assert scripted or "I partly agree: the heart is enlarged." in answer


@BOTH
def test_prompt_3_draws_the_box_on_the_film(chat: Callable[..., Chat], scripted: bool):
    shown = chat(script(3, "image-1") if scripted else None)
    answer = shown.ask(seed.PROMPT_3)
    assert shown.called == TOOLS[3]
    assert shown.failed == []
    (found,) = [item for item in shown.drawn if isinstance(item.geometry, Box)]
    assert found.label == seed.PHRASE
    titles = [item.title for item in _artifacts(shown) if item.role == "show"]
    assert titles == ["Assistant: \u201cGrounded Finding\u201d"]
    assert scripted or "box on the patient's left, lower third of the film, from (" in answer


@pytest.mark.parametrize("empty", [True, False], ids=["nothing open", "beside a study"])
def test_prompt_4_shows_a_film_that_is_marked_as_synthetic(chat: Callable[..., Chat], empty: bool):
    shown = chat(empty=empty)
    answer = shown.ask(seed.PROMPT_4)
    assert sorted(shown.called) == sorted(TOOLS[4])
    assert shown.failed == []
    assert "A synthetic image was made; it shows no patient" in answer
    drawn = next(item for item in _artifacts(shown) if item.role == "show")
    (pane,) = shown.window.findChildren(PicturePane)
    assert pane.isVisible()
    assert pane.pane.path == drawn.path
    assert pane.view.overlay.synthetic
    for artifact in _artifacts(shown):
        assert artifact.options.get("synthetic") is True
    assert all("Synthetic" in finding.description for finding in shown.made)


def test_without_models_each_missing_one_is_named_and_the_outlines_are_drawn(
    chat: Callable[..., Chat], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("SIGHTLINE_MODELS", str(tmp_path / "none"))
    shown = chat()
    answer = shown.ask(seed.PROMPT_1)
    missing = [*seed.MODELS["chest_xray_classifier"], *seed.MODELS["chest_xray_report_generator"]]
    assert [answer.count(card_of(name).title) for name in missing] == [1, 1, 1]
    assert {item.label for item in shown.drawn} == set(seed.ORGANS)


def _artifacts(shown: Chat) -> list[Any]:
    done = [event for event in shown.events if event.kind == "tool_finished"]
    return [artifact for event in done for artifact in event.artifacts]
