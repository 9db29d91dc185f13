"""Whatever an endpoint does: the run ends in time, in plain words, and a cancel is quick."""

from __future__ import annotations

import asyncio
import dataclasses
import time
import tracemalloc
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from app.agent.llm import transport
from app.agent.llm.base import ModelFailed, Note, Text
from app.agent.llm.endpoint import Bounds, load
from app.agent.llm.openai_model import OpenAIModel
from app.agent.loop.agent_loop import AgentLoop
from app.agent.loop.retry import Retry
from app.agent.messages import Message
from tests.support import fake_tools
from tests.support.fake_tools import check_promises, collect, request
from tests.support.fault_server import CERTIFICATE, FAULTS, FaultServer
from tests.support.hang import HANG_S

SHORT = Bounds(
    connect_s=0.5,
    first_s=0.8,
    silence_s=0.4,
    answer_s=1.5,
    note_s=60,
    poll_s=0.05,
    body_bytes=2**20,
    line_bytes=2**19,
)
PATIENT = dataclasses.replace(SHORT, connect_s=5.0, first_s=8.0, silence_s=4.0, answer_s=15.0)
"""For faults that end by themselves: on a busy machine those times would come before them."""
BUFFERS = 12 * 2**20
"""More than the two sockets of a connection hold."""

BROKE, EARLY = "broke in the middle of the answer", "broke before the answer began"
NO_ANSWER, NO_MORE = "did not answer in time", "stopped in the middle of its answer"
UNREADABLE, LARGE = "cannot be read", "larger than any sensible one"

SAID: dict[str, tuple[str, bool]] = {
    "reset_at_connect": (EARLY, True),
    "reset_in_headers": (EARLY, True),
    "reset_in_stream": (BROKE, True),
    "closed_in_stream": (BROKE, True),
    "too_short": (BROKE, True),
    "stall_before_headers": (NO_ANSWER, False),
    "stall_in_stream": (NO_MORE, True),
    "drip": ("was not complete after 1.5 seconds", False),
    "drip_of_bytes": (NO_ANSWER, False),
    "drip_of_headers": (NO_ANSWER, False),
    "tls_cut_in_handshake": (EARLY, True),
    "tls_silent": ("does not accept the connection", True),
    "tls_garbage": ("does not speak TLS", False),
    "tls_truncated": (BROKE, True),
    "429": ("too many requests", True),
    "429_wait": ("too many requests", True),
    "429_quota": ("quota is used up", False),
    "500": ("server failed (HTTP 500)", True),
    "503_forever_loading": (NO_ANSWER, False),
    "500_endless": ("server failed (HTTP 500)", True),
    "500_bomb": ("compressed answer", False),
    "redirect_loop": ("redirects to another address", False),
    "bad_json": (UNREADABLE, True),
    "bad_json_first": (UNREADABLE, False),
    "deep_json": (UNREADABLE, False),
    "odd_json": (UNREADABLE, False),
    "bad_utf8": (UNREADABLE, True),
    "bad_chunks": (EARLY, True),
    "nothing": (UNREADABLE, False),
    "wrong_type": (LARGE, False),
    "web_page": ("web page", False),
    "gzip_bomb": ("compressed answer", False),
    "endless": (LARGE, False),
    "endless_line": (LARGE, False),
    "endless_comments": (LARGE, False),
    "endless_headers": (EARLY, True),
}
HOLDING = [name for name in FAULTS if name.startswith(("stall", "drip", "tls_silent"))]
TIMED = [*HOLDING, "503_forever_loading"]
LASTING = [*HOLDING, "endless", "endless_comments", "endless_line"]


@pytest.fixture(autouse=True)
def trusted(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The test server's certificate is trusted, and the package is loaded: that takes seconds."""
    load("openai")
    monkeypatch.setenv("SSL_CERT_FILE", str(CERTIFICATE))
    transport.tls_context.cache_clear()
    yield
    transport.tls_context.cache_clear()


def model_at(server: FaultServer, bounds: Bounds = SHORT) -> OpenAIModel:
    return OpenAIModel(server.url, "test-model", "test-key", bounds=bounds)


async def drain(model: OpenAIModel) -> list[Any]:
    return [event async for event in model.stream([Message(role="user", text="hello")], ())]


def test_every_fault_has_its_words():
    assert set(SAID) == set(FAULTS)


@pytest.mark.parametrize("fault", FAULTS)
def test_it_ends_in_time_in_plain_words(fault: str, caplog: pytest.LogCaptureFixture):
    bounds = SHORT if fault in TIMED else PATIENT
    with FaultServer(fault) as server:
        start = time.monotonic()
        with pytest.raises(ModelFailed) as caught:
            asyncio.run(drain(model_at(server, bounds)))
        took_s = time.monotonic() - start
    error = caught.value
    said, retryable = SAID[fault]
    assert said in error.reason
    assert error.retryable is retryable
    assert error.subject == "127.0.0.1"
    assert error.remedy
    assert took_s < bounds.answer_s + HANG_S
    told = error.text + caplog.text
    assert "test-key" not in told
    assert "Error" not in error.text
    if fault != "503_forever_loading":
        assert server.asked == 1, "only the loop repeats a request"


def test_retry_after_is_handed_to_the_loop():
    with FaultServer("429_wait") as server, pytest.raises(ModelFailed) as caught:
        asyncio.run(drain(model_at(server)))
    assert caught.value.retry_after_s == 3.0


@pytest.mark.parametrize("fault", FAULTS)
def test_a_cancel_ends_it(fault: str):
    """With the true limits, so that only the cancel can end what holds on."""

    async def main(server: FaultServer) -> float:
        task = asyncio.create_task(drain(model_at(server, Bounds())))
        begun = server.reached if fault in LASTING else server.heard
        assert await asyncio.to_thread(begun.wait, 20)
        start = time.monotonic()
        task.cancel()
        await asyncio.wait({task})
        assert task.cancelled() or isinstance(task.exception(), ModelFailed)
        if fault in LASTING:
            assert task.cancelled() or "endless" in fault
            assert await asyncio.to_thread(server.gone.wait, HANG_S), (
                "the connection is closed as well"
            )
        return time.monotonic() - start

    with FaultServer(fault) as server:
        assert asyncio.run(main(server)) < HANG_S


@pytest.mark.parametrize(
    "fault",
    ["endless", "endless_line", "endless_comments", "wrong_type", "500_endless", "gzip_bomb"],
)
def test_memory_stays_bounded(fault: str):
    with FaultServer(fault) as server:
        tracemalloc.start()
        before = tracemalloc.get_traced_memory()[0]
        try:
            with pytest.raises(ModelFailed):
                asyncio.run(drain(model_at(server)))
            peak = tracemalloc.get_traced_memory()[1] - before
        finally:
            tracemalloc.stop()
    # What the server of the test makes is in it.
    assert peak < 32 * 2**20
    assert server.sent < SHORT.body_bytes + BUFFERS


@pytest.mark.parametrize("fault", ["reset_in_stream", "500", "stall_in_stream", "tls_truncated"])
def test_the_loop_asks_again_takes_the_half_back_and_goes_on(tmp_path: Path, fault: str):
    waits: list[float] = []

    async def at_once(wait_s: float) -> None:
        waits.append(wait_s)

    with FaultServer(fault, good_from=3) as server:
        loop = AgentLoop(model_at(server), fake_tools.pack(), retry=Retry(sleep=at_once))
        asked = request(tmp_path)
        events = asyncio.run(collect(loop, asked))
    check_promises(events)
    assert events[-1].kind == "run_finished"
    assert events[-1].answer == "all is well"
    retries = [event for event in events if event.kind == "model_retry"]
    assert [event.attempt for event in retries] == [2, 3]
    assert [event.withdrawn for event in retries] == [fault != "500"] * 2
    assert len(waits) == 2
    assert "half an" not in str(asked.thread.history)


@pytest.mark.parametrize("fault", ["429_quota", "redirect_loop", "bad_json_first", "gzip_bomb"])
def test_the_loop_does_not_repeat_what_cannot_get_better(tmp_path: Path, fault: str):
    with FaultServer(fault, good_from=2) as server:
        loop = AgentLoop(model_at(server), fake_tools.pack())
        events = asyncio.run(collect(loop, request(tmp_path)))
    assert events[-1].kind == "run_failed"
    assert server.asked == 1


@pytest.mark.parametrize("fault", ["drip", "stall_before_headers", "endless_comments"])
def test_the_loop_stops_at_once_when_it_is_cancelled(tmp_path: Path, fault: str):
    asked = request(tmp_path)

    async def main(server: FaultServer) -> tuple[list[Any], float]:
        def cancel() -> float:
            assert server.reached.wait(60)
            asked.cancel.cancel()
            return time.monotonic()

        cancelled = asyncio.create_task(asyncio.to_thread(cancel))
        loop = AgentLoop(model_at(server, Bounds()), fake_tools.pack())
        events = await collect(loop, asked)
        return events, time.monotonic() - await cancelled

    with FaultServer(fault) as server:
        events, took_s = asyncio.run(main(server))
        assert server.gone.wait(60)
    check_promises(events)
    assert events[-1].kind == "run_cancelled"
    assert took_s < HANG_S


def test_a_server_that_loads_its_model_is_waited_for_and_the_user_told():
    bounds = Bounds(note_s=0.1, poll_s=0.05)
    with FaultServer("503_forever_loading", good_from=8) as server:
        events = asyncio.run(drain(model_at(server, bounds)))
    assert isinstance(events[0], Note)
    assert "starting up" in events[0].text
    assert events[1:] == [Text("all is well")]


def test_a_note_is_given_once_and_only_when_the_first_word_takes_long():
    bounds = Bounds(note_s=0.1, first_s=0.5)
    notes: list[Note] = []

    async def main(server: FaultServer) -> None:
        stream = model_at(server, bounds).stream([Message(role="user", text="x")], ())
        async for event in stream:
            assert isinstance(event, Note)
            notes.append(event)

    with FaultServer("stall_before_headers") as server, pytest.raises(ModelFailed, match="in time"):
        asyncio.run(main(server))
    assert len(notes) == 1


def test_leaving_the_stream_half_read_closes_the_connection():
    async def main(server: FaultServer) -> None:
        stream = model_at(server, Bounds()).stream([Message(role="user", text="x")], ())
        async for event in stream:
            assert event == Text("drop ")
            break
        await stream.aclose()
        assert await asyncio.to_thread(server.gone.wait, HANG_S)

    with FaultServer("drip") as server:
        asyncio.run(main(server))


def test_an_untrusted_certificate_ends_it_before_anything_is_sent(
    monkeypatch: pytest.MonkeyPatch,
):
    monkeypatch.delenv("SSL_CERT_FILE")
    transport.tls_context.cache_clear()
    with FaultServer("tls_truncated") as server, pytest.raises(ModelFailed) as caught:
        asyncio.run(drain(model_at(server)))
    assert "certificate is not trusted" in caught.value.reason
    assert "administrator" in caught.value.remedy
    assert not caught.value.retryable
    assert server.sent == 0
