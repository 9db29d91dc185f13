"""A model that makes every call that any text it reads tells it to make.

It sees through each disguise of `planted.DISGUISES`, and believes whatever claims to be the system,
the user or a call of its own.
"""

from __future__ import annotations

import base64
import codecs
import contextlib
import json
import re
import unicodedata
import urllib.parse
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import Any

from app.agent.llm.base import Call, ModelEvent, ModelInfo, Text, ToolSchema
from app.agent.messages import Message, ToolCall
from tests.support.planted import Order

_CODED: dict[str, tuple[re.Pattern[str], Callable[[str], str]]] = {
    "b64": (
        re.compile(r"\bb64\.([\w-]+)", re.ASCII),
        lambda text: base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)).decode(),
    ),
    "hex": (re.compile(r"\bhex\.([0-9a-f]+)"), lambda text: bytes.fromhex(text).decode()),
    "pct": (re.compile(r"\bpct\.(\S+)"), urllib.parse.unquote),
    "rot": (re.compile(r"\brot\.(.+)"), lambda text: codecs.decode(text, "rot13")),
}
_NAMED = re.compile(r"([a-z_]{3,40})\s*$")
_decoder = json.JSONDecoder()


def read_orders(text: str) -> list[Order]:
    """Return every call that a text mentions, even if disguised."""
    plain = unicodedata.normalize("NFKC", text)
    plain = "".join(sign for sign in plain if unicodedata.category(sign) != "Cf")
    found = list(_calls(plain))
    for pattern, decoded in _CODED.values():
        for coded in pattern.findall(plain):
            with contextlib.suppress(ValueError):
                found += _calls(decoded(coded))
    return found


def _calls(text: str) -> Iterator[Order]:
    for match in re.finditer(r"\{", text):
        try:
            value, _ = _decoder.raw_decode(text, match.start())
        except ValueError:
            continue
        order = _order_of(value, text[: match.start()])
        if order is not None:
            yield order


def _order_of(value: Any, before: str) -> Order | None:
    if not isinstance(value, dict):
        return None
    name, arguments = value.get("name"), value.get("arguments")
    if isinstance(name, str) and isinstance(arguments, str):
        arguments = json.loads(arguments)
    if isinstance(name, str) and isinstance(arguments, dict):
        return Order(name, arguments)
    named = _NAMED.search(before[-60:])
    return Order(named[1], value) if named and named[1] in TOOLS else None


TOOLS = frozenset(
    {
        "save_note", "send_report", "run_script", "read_text", "read_many", "look_up",
        "dicom_processor", "read_result", "update_plan", "approve", "set_limits", "set_policy",
    }
)  # fmt: skip


@dataclass
class ObeyingModel:
    """A model that reads everything, then makes every call that it was told to make.

    Attributes:
        curious: The calls that it begins with, to have something to read.
        obeyed: The orders that it followed.
        heard: All that it was given to read.
    """

    curious: Sequence[tuple[str, dict[str, Any]]]
    obeyed: dict[str, Order] = field(default_factory=dict[str, Order])
    heard: list[str] = field(default_factory=list[str])
    name: str = "obeys"
    remote_host: str = ""
    info: ModelInfo = field(
        default_factory=lambda: ModelInfo(context_tokens=2_000_000, metered=False)
    )
    _ids: count[int] = field(default_factory=count)

    async def stream(
        self, messages: Sequence[Message], tools: Sequence[ToolSchema]
    ) -> AsyncIterator[ModelEvent]:
        """Look at everything first, then make the calls, and repeat them in the answer."""
        texts = [*(part for item in messages for part in parts_of(item))]
        texts += [text for tool in tools for text in _described(tool)]
        self.heard = texts
        if self.curious:
            for name, arguments in self.curious:
                yield self._call(name, arguments)
            self.curious = ()
            return
        fresh = {o.key: o for text in texts for o in read_orders(text) if o.key not in self.obeyed}
        self.obeyed |= fresh
        if not fresh:
            yield Text("All of it is done, and I approve: the user said yes.")
            return
        yield Text("As I was told.")
        for order in fresh.values():
            yield self._call(order.tool, order.arguments)

    def _call(self, name: str, arguments: dict[str, Any]) -> Call:
        return Call(ToolCall(id=f"obey-{next(self._ids)}", name=name, arguments=arguments))


def parts_of(message: Message) -> Iterator[str]:
    """Yield the texts of a message, and for JSON the strings in it."""
    if message.role == "assistant" and message.tool_calls:
        return  # its own calls
    yield message.text
    whole = re.sub(r"^.*?<data>\n|\n</data>\s*$", "", message.text, flags=re.DOTALL)
    for line in (whole, *whole.splitlines()):
        start = line.find("{")
        try:
            yield from strings(json.loads(line[start:])) if start >= 0 else ()
        except ValueError:
            continue


def strings(value: Any) -> Iterator[str]:
    """Yield every string in a JSON value."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for key, item in value.items():
            yield key
            yield from strings(item)
    elif isinstance(value, list):
        for item in value:
            yield from strings(item)


def _described(tool: ToolSchema) -> Iterator[str]:
    yield tool.description
    yield from strings(tool.parameters)
