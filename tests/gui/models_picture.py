"""Makes docs/images/models.png: `python -m tests.gui.models_picture [FOLDER]`.

The shipped cards, in an empty models folder: nothing is said to be installed that is not.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from app.tools.hosting.states import ModelState, State
from app.tools.models.store import ModelStore
from app.views import startup_actions
from app.views.application import create_application, use_offscreen
from app.views.models.models_window import ModelsWindow
from tests.gui.models_support import FakeHost
from tests.gui.settling import settled

SHOWN = "chexagent-2-3b"
EMBEDDED = "thorax-net"


def main(folder: Path) -> None:
    """Write the picture."""
    use_offscreen()
    create_application()
    with tempfile.TemporaryDirectory() as home:
        host = FakeHost()
        state = ModelState(EMBEDDED, State.READY, "cpu", "float32", memory=180_000_000)
        host.board.set("cpu", state)
        window = ModelsWindow(ModelStore(Path(home) / "models"), host, lambda *_a, **_f: None)
        window.where.setText("In the models folder")
        window.resize(1240, 760)
        window.choose(SHOWN)
        window.show()
        settled(lambda: window.chosen != SHOWN)
        startup_actions.save_window(window, folder / "models.png")
        window.shut_down()


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "docs/images"))
