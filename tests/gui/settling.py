"""Waits in scripts and tests until a window has nothing more to do."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QEventLoop

from app.views.startup_actions import settle


def settled(busy: Callable[[], bool], *, timeout_s: float = 30.0) -> bool:
    """Run a local event loop until nothing is pending; returns whether it came to rest."""
    loop = QEventLoop()
    answer: list[bool] = []

    def finish(idle: bool) -> None:
        answer.append(idle)
        loop.quit()

    timer = settle(busy, finish, timeout_s=timeout_s)
    if not answer:
        loop.exec()
    timer.stop()
    return answer[0]
