"""Makes pictures of docs/privacy.md, record.md: `python -m tests.gui.privacy_pictures [FOLDER]`.

The demo study's radiograph, pictured as for a model; the real dialogue, card and mark.
"""

from __future__ import annotations

import asyncio
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from PySide6.QtCore import Qt
from PySide6.QtGui import QImage, QPainter
from PySide6.QtWidgets import QStatusBar, QWidget

from app.agent.events import ApprovalRequested, DataSent
from app.agent.privacy.consents import Shown, risky_request
from app.agent.privacy.model_pictures import make_pictures
from app.headless.common import open_program
from app.headless.runs import open_images
from app.imaging.demo import demo_paths
from app.tools.api import CancelToken
from app.tools.record.generated_analysis import NAME as ANALYSIS
from app.views import startup_actions
from app.views.application import create_application, use_offscreen
from app.views.chat.approval import ApprovalCard
from app.views.chat.consent import ConsentCard
from app.views.chat.run_view import RunView
from app.views.main_window import ModelHostButton
from tests.gui.chat_support import make_chat
from tests.gui.settling import settled
from tests.unit.agent.test_pictures import request

HOST = "api.example.org"
MODEL = "gpt-4o at api.example.org"
CALL = {
    "title": "Allow export_report?",
    "detail": "",
    "tool": "export_report",
    "effect": "write",
    "scopes": ["once", "session"],
    "arguments": {"path": "reports/chest.pdf", "pages": [1, 2], "title": "Chest PA"},
    "touches": [
        {
            "what": "writes",
            "argument": "path",
            "shown": "/mnt/archive/2026/chest.pdf",
            "note": "A link leads there from the folder reports.",
        }
    ],
}


CODE = '''def analyze():
    """Patients whose systolic pressure rose by 20 mmHg."""
    found = []
    for pid in get_patients():
        values = [
            part["value"]["number"]
            for one in get_vital_signs(pid, code="8480-6")
            for part in one["components"]
            if "Systolic" in part["name"]
        ]
        if values and values[0] - values[-1] >= 20:
            found.append({"patient": pid, "values": values})
    return {"patients": len(found), "rows": found}
'''
PROGRAM = {
    "title": f"Allow {ANALYSIS}?",
    "detail": "",
    "tool": ANALYSIS,
    "effect": "execute",
    "scopes": ["once", "session"],
    "arguments": {"code": CODE, "description": "In whom did the systolic pressure rise?"},
}


def main(folder: Path) -> None:
    """Write the pictures."""
    use_offscreen()
    create_application()
    with tempfile.TemporaryDirectory() as made:
        shown = _pictured(Path(made))
        _cards(folder, Path(made), shown)
    _marks(folder / "where.png")


def _pictured(folder: Path) -> list[Shown]:
    with open_program() as program:
        images = open_images(program.decoder, demo_paths()[:1])
        from app.tools.images import RunImages

        run = request(RunImages(images, folder, program.decoder), folder)
        assert isinstance(run.cancel, CancelToken)
        return list(asyncio.run(make_pictures(run)).shown)


def _cards(folder: Path, home: Path, shown: list[Shown]) -> None:
    chat = make_chat(home / "sessions")
    chat.dock.resize(480, 560)
    chat.dock.show()
    chat.dock.submit("Save the report.")
    _until(lambda: bool(chat.dock.conversation.runs and chat.run.run_id))
    chat.runner.say(ApprovalRequested, approval_id="a", call_id="c", **CALL)
    _until(lambda: "a" in chat.run.approvals)
    asked = _card(chat.run, "a")
    assert isinstance(asked, ApprovalCard)
    _until(asked.allow.isEnabled)
    startup_actions.save_window(asked, folder / "approval.png")
    chat.dock.resize(480, 1400)  # nothing can be allowed before all of it was on the screen
    chat.runner.say(ApprovalRequested, approval_id="p", call_id="d", **PROGRAM)
    _until(lambda: "p" in chat.run.approvals)
    program = _card(chat.run, "p")
    assert isinstance(program, ApprovalCard)
    _until(program.allow.isEnabled)
    startup_actions.save_window(program, folder / "generated-code.png")
    chat.runner.say(ApprovalRequested, approval_id="b", **risky_request(MODEL, HOST, shown))
    _until(lambda: "b" in chat.run.approvals)
    card = _card(chat.run, "b")
    assert isinstance(card, ConsentCard)
    dialog = card.dialog
    assert dialog is not None
    _until(dialog.yes.isEnabled)
    startup_actions.save_window(dialog, folder / "consent.png")
    dialog.dismiss()
    chat.dock.close_models()
    chat.dock.close()


def _card(run: RunView, key: str) -> QWidget:
    return run.approvals[key]


def _marks(path: Path) -> None:
    states: list[QImage] = []
    for host, sending in (("", False), (HOST, False), (HOST, True)):
        bar, mark = QStatusBar(), ModelHostButton()
        bar.setSizeGripEnabled(False)
        bar.addPermanentWidget(mark)
        mark.set_model(MODEL, host)
        if sending:
            mark.follow(DataSent(run_id="", seq=0, time="", host=host, model=MODEL, characters=1))
        bar.resize(240, 32)
        bar.show()
        mark.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        settled(lambda: False)
        states.append(startup_actions.window_image(bar))
        bar.close()
    gap = 8
    width = sum(state.width() for state in states) + gap * (len(states) + 1)
    sheet = QImage(width, states[0].height() + gap, QImage.Format.Format_RGB32)
    sheet.fill("#15191f")
    painter, left = QPainter(sheet), gap
    for state in states:
        state.setDevicePixelRatio(1.0)
        painter.drawImage(left, gap // 2, state)
        left += state.width() + gap
    painter.end()
    sheet.save(str(path))


def _until(done: Callable[[], bool]) -> None:
    if not settled(lambda: not done()):
        raise SystemExit("the picture did not come to rest")


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "docs/images"))
