"""What models, tools and files say is shown literally, loads nothing and opens nothing."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtCore import QUrl
from PySide6.QtGui import QDesktopServices
from PySide6.QtWidgets import QLabel, QWidget

from app.agent.events import (
    ApprovalRequested,
    ApprovalResolved,
    ModelRetry,
    Noted,
    PlanUpdated,
    ReasoningDelta,
    RunFailed,
    RunFinished,
    TextDelta,
    ToolFinished,
    ToolProgress,
    ToolStarted,
)
from app.errors import FileProblem
from app.tools.api import Artifact
from app.views.chat import thumbnails
from app.views.chat.approval import ApprovalCard
from app.views.chat.dock import Header
from app.views.chat.thumbnails import SIDE, read
from app.views.text_view import TextView
from tests.conftest import REPO
from tests.gui.chat_support import Chat, finding, open_image, opened, picture

pytestmark = pytest.mark.gui

Wait = Callable[..., None]
EVIL = '<h1>Big</h1><img src="file:///etc/hostname"><a href="https://evil.example">x</a>&amp;'


@pytest.fixture
def chat(qapp: object, tmp_path: Path) -> Iterator[Chat]:
    yield from opened(tmp_path / "sessions")


def texts(root: QWidget) -> list[str]:
    """Everything that is shown as text under `root`."""
    views = [view.plain() for view in root.findChildren(TextView)]
    return views + [item.text() for item in root.findChildren(QLabel)]


def test_html_from_model_tool_and_user_shows_literally(
    chat: Chat, wait_until: Wait, monkeypatch: pytest.MonkeyPatch
):
    loaded: list[Any] = []
    opened_urls: list[Any] = []
    monkeypatch.setattr(TextView, "loadResource", lambda *args: loaded.append(args))
    monkeypatch.setattr(QDesktopServices, "openUrl", lambda url: opened_urls.append(url))
    chat.dock.submit(EVIL)
    wait_until(lambda: chat.runner.asked)
    say = chat.runner.say
    say(TextDelta, text=EVIL)
    say(PlanUpdated, steps=[{"tool": EVIL, "why": EVIL, "state": "done"}])
    say(ToolStarted, call_id="c", tool=EVIL, arguments={EVIL: EVIL})
    say(ToolProgress, call_id="c", tool=EVIL, fraction=0.5, text=EVIL)
    found = finding(EVIL)
    say(
        ToolFinished,
        call_id="c", tool=EVIL, status="ok", summary=EVIL, output={EVIL: EVIL[:50]},
        findings=[found], artifacts=[Artifact(Path("/nowhere") / "x.png", title=EVIL)],
    )  # fmt: skip
    say(ToolStarted, call_id="d", tool="t", arguments={})
    say(ToolFinished, call_id="d", tool="t", status="failed", summary="", error=EVIL)
    say(ApprovalRequested, approval_id="a", title=EVIL, detail=EVIL)
    say(RunFailed, error=EVIL, remedy=EVIL)
    wait_until(lambda: chat.run.ended)
    run = chat.run
    run.cards["c"]._details.toggle("Details")
    run.cards["c"]._details.toggle("Result")
    assert run.bubble.view.plain() == EVIL
    assert run.answers[0].view.plain() == EVIL
    summary, error = run.cards["c"].summary, run.cards["d"].error
    assert summary is not None
    assert error is not None
    assert (summary.plain(), error.plain()) == (EVIL, EVIL)
    card = run.approvals["a"]
    assert isinstance(card, ApprovalCard)
    assert card.title.plain() == EVIL
    assert card.detail.plain() == EVIL
    assert run.notice is not None
    assert run.notice.view.plain() == f"{EVIL}\n{EVIL}"
    chat.dock.grab()
    assert not any(text.strip() == "Big" for text in texts(chat.dock))
    assert loaded == []
    assert opened_urls == []


def test_html_in_thinking_notices_retries_and_reasons_shows_literally(
    chat: Chat, wait_until: Wait, monkeypatch: pytest.MonkeyPatch
):
    loaded: list[Any] = []
    monkeypatch.setattr(TextView, "loadResource", lambda *args: loaded.append(args))
    chat.dock.submit("q")
    wait_until(lambda: chat.runner.asked)
    say = chat.runner.say
    say(Noted, text=EVIL)
    say(ModelRetry, attempt=2, attempts=4, wait_s=5.0, reason=EVIL)
    line = chat.run.activity
    wait_until(lambda: "asking again" in line.text)
    assert line.text.startswith(EVIL.rstrip(";"))
    say(ReasoningDelta, text=EVIL)
    say(ApprovalRequested, approval_id="a", title="t", detail="", tool=EVIL, arguments={"a": EVIL})
    say(ApprovalResolved, approval_id="a", granted=False, reason=EVIL)
    say(RunFinished, answer="a", stopped_by=EVIL)
    wait_until(lambda: chat.run.ended)
    run = chat.run
    run.thoughts[0].toggle()
    card = run.approvals["a"]
    assert isinstance(card, ApprovalCard)
    thought, arguments = run.thoughts[0].view, card.arguments
    assert thought is not None
    assert arguments is not None
    assert thought.plain() == EVIL
    assert json.loads(arguments.plain()) == {"a": EVIL}
    assert run.approvals["a"].state.full == f"Not allowed: {EVIL}"
    shown = texts(chat.dock)
    assert EVIL in shown  # the notice, as a line that stays
    assert not any(text.strip() == "Big" for text in shown)
    formats = {item.textFormat().name for item in chat.dock.findChildren(QLabel) if item.text()}
    assert formats == {"PlainText"}
    tips = [widget.toolTip() for widget in chat.dock.findChildren(QWidget)]
    assert not any("<h1>" in tip or "<img" in tip for tip in tips)
    chat.dock.grab()
    assert loaded == []


def test_no_label_guesses_rich_text(chat: Chat, wait_until: Wait):
    chat.dock.submit("q")
    wait_until(lambda: chat.runner.asked)
    chat.runner.say(ToolStarted, call_id="c", tool="<b>t</b>", arguments={})
    chat.runner.finish("done")
    wait_until(lambda: chat.run.ended)
    formats = {item.textFormat().name for item in chat.dock.findChildren(QLabel) if item.text()}
    assert formats == {"PlainText"}


def test_tooltips_show_tags_as_text(chat: Chat, wait_until: Wait):
    chat.dock.submit("q")
    wait_until(lambda: chat.runner.asked)
    chat.runner.say(ToolStarted, call_id="c", tool="t", arguments={})
    chat.runner.say(
        ToolFinished, call_id="c", tool="t", status="ok", summary="", findings=[finding("<i>x</i>")]
    )
    wait_until(lambda: chat.run.cards and chat.run.cards["c"].chips)
    open_image(chat.workspace, Path("<img src=x>.dcm"))
    tips = [widget.toolTip() for widget in chat.dock.findChildren(QWidget)]
    assert not any("<i>" in tip or "<img" in tip for tip in tips)


def test_a_text_view_loads_and_goes_nowhere(qapp: object, tmp_path: Path):
    secret = tmp_path / "secret.html"
    secret.write_text("secret")
    view = TextView()
    assert view.loadResource(2, QUrl.fromLocalFile(str(secret))) is None
    view.setSource(QUrl.fromLocalFile(str(secret)))
    assert "secret" not in view.plain()
    assert not view.openLinks()
    assert not view.openExternalLinks()
    view.set_plain("a\ufffcb\u202ec\ufdd0d\x00e\ud800f\u2028g")
    assert view.plain() == "a\ufffdb\ufffdc\ufffdd\ufffde\ufffdf\ng"


def test_a_foreign_link_selects_nothing(qapp: object):
    view = TextView()
    told: list[str] = []
    view.link_clicked.connect(told.append)
    view.anchorClicked.emit(QUrl("https://evil.example"))
    view.anchorClicked.emit(QUrl("finding:abc"))
    assert told == ["finding:abc"]


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.png", b'<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"/>'),
        ("b.png", b"GIF89a\x01\x00\x01\x00\x00\x00\x00;"),
        ("c.jpg", b""),
    ],
)
def test_only_png_and_jpeg_are_decoded(tmp_path: Path, name: str, content: bytes):
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(FileProblem, match="not a PNG or JPEG"):
        read(path)


def test_broken_and_huge_pictures_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    whole = picture(tmp_path / "whole.png")
    assert max(read(whole).width(), read(whole).height()) <= 3 * SIDE
    cut = tmp_path / "cut.png"
    cut.write_bytes(whole.read_bytes()[:400])
    with pytest.raises(FileProblem, match="cannot be read"):
        read(cut)
    monkeypatch.setattr(thumbnails, "_MAX_PIXELS", 100)
    with pytest.raises(FileProblem, match="too large"):
        read(whole)


def test_the_badge_says_honestly_what_answers_and_where(qapp: object):
    header = Header()
    header.resize(420, 44)
    header.set_model("offline", "")
    assert header.badge.text().strip() == "Offline planner"
    assert "not a language model" in header.badge.toolTip()
    assert "Nothing leaves this computer" in header.badge.toolTip()
    header.set_model("gpt-x at <b>host</b>", "<b>host</b>")
    assert "&lt;b&gt;host" in header.badge.toolTip()
    assert "you are asked" in header.badge.toolTip()


def test_leaving_after_a_copy_does_not_crash():
    """The clipboard outlives Python: what it holds must not be an object made in Python."""
    program = (
        "from app.views.application import create_application\n"
        "from app.views.text_view import TextView\n"
        "application = create_application()\n"
        "view = TextView()\n"
        "view.set_plain('copied')\n"
        "view.selectAll()\n"
        "view.copy()\n"
        "print(application.clipboard().text())\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=REPO,
        env={**os.environ, "QT_QPA_PLATFORM": "offscreen"},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.stdout == "copied\n"
    assert done.returncode == 0
