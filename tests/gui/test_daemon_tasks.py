"""Slow things beside the window: their answers, and windows that are gone when these come."""

from __future__ import annotations

import threading
from collections.abc import Callable

import pytest
from PySide6.QtCore import QObject
from shiboken6 import delete

from app.errors import SightlineError
from app.tools.api import CancelToken
from app.views.background import DaemonTasks

pytestmark = pytest.mark.gui

Wait = Callable[..., None]
ROUNDS = 200  # the program crashed within the first of them


def ended() -> bool:
    return not any(thread.name == "sightline-settings" for thread in threading.enumerate())


def test_answers_may_come_in_the_instant_in_which_their_windows_are_deleted(
    qapp: object, wait_until: Wait
):
    told: list[object] = []
    for _ in range(ROUNDS):
        owner, go = QObject(), threading.Event()
        for _ in range(4):
            DaemonTasks(owner).run(lambda _cancel, go=go: go.wait(), told.append, told.append)
        go.set()
        delete(owner)
    wait_until(ended)
    assert told == []


def test_an_answer_comes_though_nobody_holds_what_it_was_asked_of(qapp: object, wait_until: Wait):
    told: list[object] = []
    for number in range(20):
        DaemonTasks().run(lambda _cancel, n=number: n, told.append, told.append)
    wait_until(lambda: len(told) == 20)
    assert sorted(told, key=str) == sorted(range(20), key=str)


def test_a_reason_is_told_on_the_gui_thread_and_nothing_after_the_end(
    qapp: object, wait_until: Wait
):
    told: list[tuple[str, threading.Thread]] = []

    def fail(_cancel: CancelToken) -> None:
        raise SightlineError("the keyring is locked")

    aside = DaemonTasks()
    note = lambda text: told.append((text, threading.current_thread()))  # noqa: E731
    aside.run(fail, note, note)
    wait_until(lambda: told)
    ((text, thread),) = told
    assert "the keyring is locked" in text
    assert thread is threading.main_thread()
    go = threading.Event()
    aside.run(lambda _cancel: go.wait(), note, note)
    aside.close()
    go.set()
    wait_until(ended)
    assert len(told) == 1
