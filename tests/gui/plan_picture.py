"""Makes docs/images/plan.png: `python -m tests.gui.plan_picture [FOLDER]`.

The real program on the demo study, with a scripted endpoint on this computer as its model: it calls
a tool that the question leaves out, and cites a result that there is not.
"""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path
from typing import Any

from app import paths, settings
from app.settings import ModelSettings, ProviderSettings, Settings
from app.views import startup_actions
from app.views.application import create_application, use_offscreen
from app.views.chat.dock import ChatDock
from app.wiring import Program, ViewRequest, build_window
from tests.gui.settling import settled
from tests.support.openai_server import OpenAIServer, Reply, text_reply

QUESTION = "Is the heart enlarged? Say it in one line, and please don't classify anything."
_IMAGE: dict[str, Any] = {"image_path": "image-1"}
_SIZE = (400, 985)


def main(folder: Path) -> None:
    """Write the picture."""
    os.environ["QT_SCALE_FACTOR"] = "2"
    use_offscreen()
    create_application()
    replies: list[Reply] = [
        {"text": "", "calls": [("a", "chest_xray_classifier", _IMAGE)]},
        {"text": "", "calls": [("b", "cardiothoracic_ratio", _IMAGE)]},
        text_reply(
            "The cardiothoracic ratio is about 0.50 [1], so near 0.5 that it cannot decide whether "
            "the heart is enlarged [1]. A nodule lies in the left lung [7]. Not for diagnosis."
        ),
    ]
    with tempfile.TemporaryDirectory() as home, OpenAIServer(replies) as server:
        os.environ["SIGHTLINE_HOME"] = home
        where = ProviderSettings(base_url=server.url, model="test-model")
        chosen = Settings(llm=ModelSettings(kind="openai", openai=where))
        settings.save(chosen, paths.config_dir() / "settings.json")
        _picture(folder / "plan.png")


def _picture(path: Path) -> None:
    program = Program()
    window = build_window(program, ViewRequest(demo=True, ask=QUESTION))
    window.show()
    dock = window.findChild(ChatDock)
    assert dock is not None
    shown = dock.conversation

    def busy() -> bool:
        return not shown.runs or not shown.runs[-1].ended

    if not settled(busy, timeout_s=60):
        raise SystemExit("the question was not answered")
    dock.setParent(None)
    dock.resize(*_SIZE)
    dock.show()
    plan = shown.runs[-1].plan
    assert plan is not None
    plan.fold(False)
    dock.composer.hide()
    dock.conversation.setFocus()
    settled(lambda: False)
    dock.conversation.verticalScrollBar().setValue(0)
    settled(lambda: False)
    startup_actions.save_window(dock, path)
    dock.close_models()
    dock.close()
    window.close()
    program.close()


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "docs/images"))
