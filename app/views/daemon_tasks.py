"""Runs slow work on daemon threads and delivers the results on the GUI thread."""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import partial
from typing import Any

from PySide6.QtCore import QObject
from shiboken6 import isValid

from app.errors import Cancelled, SightlineError
from app.log import get_logger
from app.tools.api import CancelToken
from app.views.background import gui_calls

_log = get_logger(__name__)


class DaemonTasks:
    """Runs each task on its own daemon thread, since a keyring or a server may never respond.

    Results are delivered on the GUI thread, but not after `close` or once `owner` is deleted.
    """

    def __init__(self, owner: QObject | None = None) -> None:
        self._owner = owner
        self._post = gui_calls()
        self._closed = False
        self._tokens: set[CancelToken] = set()

    def run(
        self,
        work: Callable[[CancelToken], Any],
        done: Callable[[Any], object],
        failed: Callable[[str], object],
    ) -> CancelToken:
        """Run `work(token)` on a thread, then `done(result)` or `failed(reason)` on the GUI thread.

        Returns:
            The token that `work` receives; after it is cancelled, no result is delivered.
        """
        token = CancelToken()
        self._tokens.add(token)

        def body() -> None:
            try:
                answer = partial(done, work(token))
            except Cancelled:
                self._tokens.discard(token)
                return
            except SightlineError as error:
                answer = partial(failed, error.text)
            except Exception as error:
                _log.warning("a background task failed (%s)", type(error).__name__)
                answer = partial(
                    failed, f"Something unexpected went wrong ({type(error).__name__})."
                )
            self._post.send(lambda: self._deliver(token, answer))

        threading.Thread(target=body, name="sightline-task", daemon=True).start()
        return token

    def close(self) -> None:
        """Cancel the running tasks and discard their results."""
        self._closed = True
        for token in tuple(self._tokens):
            token.cancel()
        self._tokens.clear()

    def _deliver(self, token: CancelToken, answer: Callable[[], object]) -> None:
        self._tokens.discard(token)
        gone = self._closed or (self._owner is not None and not isValid(self._owner))
        if not gone and not token.cancelled:
            answer()
