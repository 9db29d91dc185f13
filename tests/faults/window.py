"""The process that is the viewer: mutants are opened in the real main window, offscreen.

`python -m tests.faults.window ARGUMENTS` (JSON); speaks as `host.py` does. Each mutant is opened by
the window's own action and waited for until it is shown or told about; then a good image must be
shown within two seconds.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
import time
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

from PySide6.QtCore import QEventLoop, QTimer
from PySide6.QtWidgets import QApplication

from app.imaging.decode import Decoder
from app.views.application import create_application
from app.views.main_window import MainWindow
from app.workspace.workspace import Workspace
from tests.faults.host import CONTROL, CONTROL_S, RAW, Outcome, resident, say
from tests.faults.mutate import Mutant, mutant
from tests.faults.seeds import put_directory, seeds

_SETTLES_S = 90.0
_LOOK_MS = 5


class Viewer:
    """The main window and what is opened in it."""

    def __init__(self, folder: Path) -> None:
        self.application: QApplication = create_application()
        self.folder = folder
        self.decoder = Decoder(2, index=folder / "index")
        self.window = MainWindow(Workspace(), self.decoder, layout_file=folder / "window.ini")
        self.window.resize(1000, 700)
        self.window.show()
        self.control = folder / "control.dcm"
        shutil.copyfile(CONTROL, self.control)
        self.errors: list[str] = []
        sys.excepthook = lambda kind, error, _trace: self.errors.append(f"{kind.__name__}: {error}")

    def wait(self, predicate: Callable[[], object], seconds: float) -> bool:
        """Run events until it holds, or for so long."""
        loop = QEventLoop()
        look, limit = QTimer(), QTimer(singleShot=True)
        look.timeout.connect(lambda: loop.quit() if predicate() else None)
        limit.timeout.connect(loop.quit)
        if not predicate():
            look.start(_LOOK_MS)
            limit.start(round(seconds * 1000))
            loop.exec()
        look.stop()
        limit.stop()
        return bool(predicate())

    def open(self, one: Mutant) -> Outcome:
        """Open a mutant as a user does."""
        outcome = Outcome(one.number, one.seed.kind, one.seed.name, one.how)
        self._close_all()
        path = self._write(one)
        started = time.perf_counter()
        self.window.open_paths([path])
        if not self.wait(lambda: not self.window.busy, _SETTLES_S):
            outcome.failures.append(f"the window was still busy after {_SETTLES_S:g} s")
        outcome.seconds = time.perf_counter() - started
        notices = self.window.notices.all()
        texts = [notice.text.text() for notice in notices]
        texts += [self.window.canvas.error] if self.window.canvas.error else []
        viewport = self.window.workspace.viewport
        blank = self.window.canvas.picture is None
        if self.window.workspace.studies.all:
            outcome.result = "refused" if texts and blank else "shown"
            if viewport.instance is not None and viewport.instance.has_frames and blank:
                outcome.failures += [] if texts else ["a blank canvas and no word about it"]
        elif not texts:
            outcome.failures.append("neither shown nor told about")
        outcome.reason = texts[-1] if texts else ""
        outcome.failures += [f"no plain words: {text!r}" for text in texts if RAW.search(text)]
        outcome.failures += [f"raised in the window: {text}"[:300] for text in self.errors]
        self.errors.clear()
        return outcome

    def good_image(self) -> float:
        """Seconds until the control image is on the canvas, opened anew."""
        self._close_all()
        os.utime(self.control)
        started = time.perf_counter()
        self.window.open_paths([self.control])
        self.wait(self._control_is_shown, 30)
        took = time.perf_counter() - started
        self.wait(lambda: not self.window.busy, 5)
        return took

    def _control_is_shown(self) -> bool:
        viewport = self.window.workspace.viewport
        shown = viewport.instance is not None and viewport.instance.path == self.control
        return shown and self.window.canvas.picture is not None and not self.window.busy

    def _close_all(self) -> None:
        while self.window.workspace.studies.all:
            count = len(self.window.workspace.studies.all)
            self.window.close_study()
            if len(self.window.workspace.studies.all) >= count:
                raise RuntimeError("a study cannot be closed")
        for notice in self.window.notices.all():
            notice.dismiss()
        self.wait(lambda: not self.window.busy, 5)

    def _write(self, one: Mutant) -> Path:
        if one.seed.suffix == "DICOMDIR":
            return put_directory(self.folder / f"{one.number:06d}", one.data)
        path = self.folder / f"{one.number:06d}{one.seed.suffix}"
        path.write_bytes(one.data)
        return path

    def close(self) -> None:
        """Close the window, then the decoder, as the program does."""
        self.window.close()
        self.decoder.close()
        self.application.processEvents()


def main(arguments: dict[str, Any]) -> None:
    """Open mutants one by one; see the module."""
    folder = Path(arguments["folder"])
    (folder / "made").mkdir(parents=True, exist_ok=True)
    files = seeds(folder / "made", shared=arguments["shared"])
    viewer = Viewer(folder)
    viewer.good_image()
    for number in arguments["numbers"]:
        say({"begin": [number]})
        outcome = viewer.open(mutant(files, arguments["seed"], number))
        took = viewer.good_image()
        if took > CONTROL_S:
            outcome.failures.append(f"a good image took {took:.1f} s after it")
        say({"outcome": asdict(outcome)})
        say({"batch": number, "good_s": took, "rss": resident()})
    viewer.close()
    say({"end": True})


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
