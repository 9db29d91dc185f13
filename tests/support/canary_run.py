"""`python -m app ARGS` with a cloud on this machine and a pack that reveals all of a study.

A loopback endpoint counts as another machine here, so that everything is done that is done before
something leaves. CANARY says what else is different: "agreed" (the window's user said yes to
everything), "crash" (an error that names the patient, which nobody catches), "bare" (nothing is
removed from what is sent: shows that the search would find it).
"""

from __future__ import annotations

import json
import multiprocessing
import os
import sys
from collections.abc import Sequence
from typing import Any
from urllib.parse import quote

from pydantic import BaseModel, ConfigDict

from app.agent.events import RunEvent, ToolFinished
from app.agent.llm import hosted_model
from app.agent.messages import Message
from app.agent.privacy import redaction as redact
from app.agent.privacy.consents import Consents
from app.headless import runs
from app.tools import registry
from app.tools.api import Approval, Registrar, ToolContext, ToolResult, ToolSpec
from tests.support.canary import ATTRIBUTES, PRIVATE, prose


class _Nothing(BaseModel):
    model_config = ConfigDict(extra="forbid")


class _Anything(BaseModel):
    pass


class CanaryTool:
    """A third-party tool that returns the value it was created with."""

    def __init__(self, name: str, told: dict[str, Any]) -> None:
        self.spec = ToolSpec(
            name, f"Does {name}.", _Nothing, _Anything, approval=Approval.READ, pack="canary"
        )
        self._told = told

    def run(self, args: _Nothing, context: ToolContext) -> ToolResult:
        """Return the value, or fail with it as the message."""
        if self.spec.name == "fail":
            raise RuntimeError(f"cannot go on with {prose()}")
        return ToolResult("Read.", self._told, {})


class CanaryPack:
    """A pack that is loaded like an entry point."""

    name = "canary"

    def load(self) -> Any:
        """The pack's `register`."""
        return self.register

    def register(self, tools: Registrar) -> None:
        """Add the tools."""
        escaped = {"as_json": json.dumps(prose()), "address": f"http://pacs/?q={quote(prose())}"}
        tools.register(CanaryTool("read_letter", {"letter": prose(), **escaped}))
        listed = [{"keyword": key, "value": value} for key, value in ATTRIBUTES.items()]
        header = {**ATTRIBUTES, "(0009,1001)": PRIVATE, "Modality": "DX"}
        tools.register(CanaryTool("read_header", {"header": header, "listed": listed}))
        tools.register(CanaryTool("fail", {}))


def _load_packs(*_: Any) -> registry.Registry:
    return _real_packs([CanaryPack()])  # type: ignore[list-item]


def _untouched(self: redact.Redactor, messages: Sequence[Message]) -> list[Message]:
    return list(messages)


def _crash(event: RunEvent) -> str:
    """Raise an error in the middle of the run, where nothing catches it."""
    if isinstance(event, ToolFinished) and event.tool == "read_header":
        raise RuntimeError(f"cannot show {prose()}")
    return ""


_real_packs = registry.load_packs


def prepare(mode: str) -> None:
    """Install the cloud and the pack for a mode."""
    hosted_model.is_loopback = lambda host: False
    registry.load_packs = _load_packs
    if mode == "bare":
        redact.Redactor.messages = _untouched
        redact.Redactor.text = lambda self, text: text
    if mode == "agreed":
        for asked in ("given", "about", "sees"):
            setattr(Consents, asked, lambda *_: True)
    if mode == "crash":
        runs.describe = _crash


if __name__ == "__main__":
    multiprocessing.freeze_support()
    prepare(os.environ.get("CANARY", ""))

    from app.cli import main

    sys.exit(main())
