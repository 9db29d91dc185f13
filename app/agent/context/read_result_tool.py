"""`read_result`: the loop's own tool with which a model reads results that were shortened."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import reduce
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

from app.agent.context.model_messages import result_ids
from app.agent.context.shortening import (
    LIST_ITEMS,
    WORD_REACH,
    between_words,
    joined,
    one_line,
    shorten,
    to_text,
)
from app.agent.enforcement.update_plan_tool import OWN
from app.agent.sessions import Thread
from app.tools.api import Approval, ToolContext, ToolResult, ToolRetry, ToolSpec

PAGE_CHARS = 6_000
_LISTED = 12


class ReadInput(BaseModel):
    """The arguments of `read_result`: the id of a result, and the part of it to read."""

    model_config = ConfigDict(extra="forbid")

    id: Annotated[str, Field(max_length=200, description='The id in the notice, e.g. "3"')]
    path: Annotated[
        str,
        Field(
            max_length=2000,
            description='Part of the result, e.g. "output/items"; "" for the whole',
        ),
    ] = ""
    offset: Annotated[int, Field(ge=0, description="Where to begin: item or character")] = 0
    limit: Annotated[
        int | None, Field(ge=1, description="How many items or characters at most")
    ] = None


class ReadOutput(BaseModel):
    """A page of a result; `value` holds it, nested under the keys that lead to `part`.

    `total` is the number of items or characters in `part`; None for a number, and for an object
    that fits on the page. `next_offset` is None after the last page.
    """

    id: str
    part: str
    value: dict[str, Any]
    total: int | None = None
    next_offset: int | None = None


SPEC = ToolSpec(
    name="read_result",
    description=(
        "Read the whole or a part of an earlier tool result of this conversation, where it was "
        "shortened or summarised (_truncated). Long parts come in pages: call again with the "
        "next_offset that you are told."
    ),
    Input=ReadInput,
    Output=ReadOutput,
    approval=Approval.READ,
    timeout_s=30.0,
    pack=OWN,
)


class ReadResult:
    """The tool `read_result`, with which a model reads a conversation's earlier results in pages.

    `page_chars` is the size of a page in characters; see `ContextWindow.page_chars`.
    """

    spec = SPEC

    def __init__(self, thread: Thread, page_chars: int = PAGE_CHARS) -> None:
        self._thread = thread
        self._page_chars = page_chars

    def run(self, args: ReadInput, context: ToolContext) -> ToolResult:
        """Return a page of a result, or of a part of one.

        Raises:
            ToolRetry: The result or part does not exist; the error lists those that do.
        """
        ref, result = self._result(args.id)
        names = [_unescaped(name) for name in args.path.strip(" /").split("/") if name]
        path, offset = reduce(joined, names, ""), args.offset
        value = _find(result, names, ref)
        page, total, end = self._page(value, ref, path, offset, args.limit)
        output: dict[str, Any] = {
            "id": ref,
            # Not "path": what stands under that name is taken for a file's.
            "part": path,
            # Under its names: by them what identifies a patient is known, and removed.
            "value": _nested(names, page),
            "total": total,
            "next_offset": end if total is not None and end < total else None,
        }
        part = f", {offset} to {end} of {total}" if total is not None else ""
        return ToolResult(f"{path or 'All'} of {ref}{part}.", output, {})

    def _result(self, wanted: str) -> tuple[str, dict[str, Any]]:
        ids = result_ids(self._thread.history)
        name = wanted.strip().strip("[]")
        by_ref = {ref: call_id for call_id, ref in ids.items()}
        call_id = name if name in ids else by_ref.get(name.lower(), "")
        result = self._thread.result(call_id) if call_id else None
        if result is None:
            told = [item for item in self._thread.history if item.role == "tool"][-_LISTED:]
            there = ", ".join(f"{ids.get(item.call_id, '?')} ({item.tool})" for item in told)
            why = "has no result yet" if call_id else "names no result of this conversation"
            raise ToolRetry(f'"{name[:80]}" {why}', remedy=f"There is: {there or 'none yet'}.")
        return ids[call_id], result

    def _page(
        self, value: Any, ref: str, path: str, offset: int, limit: int | None
    ) -> tuple[Any, int | None, int]:
        """Return a page of `value`, the length of the whole, and the page's end.

        The length is None for a value that is neither a list nor a text.
        """
        if isinstance(value, str):
            start = between_words(value, offset)
            end = start + min(limit or self._page_chars, self._page_chars)
            return value[start : (end := _word_end(value, start, end))], len(value), end
        if isinstance(value, Mapping):
            if offset == 0 and limit is None and len(to_text(value)) <= self._page_chars:
                return self._part(value, ref, path), None, 0
            pairs = list(value.items())
            items, end = self._items(pairs, ref, path, offset, limit)
            return dict(items), len(pairs), end
        if isinstance(value, Sequence):
            numbered = list(enumerate(value))
            items, end = self._items(numbered, ref, path, offset, limit)
            return [item for _, item in items], len(numbered), end
        return value, None, 0

    def _items(
        self, pairs: Sequence[tuple[Any, Any]], ref: str, path: str, offset: int, limit: int | None
    ) -> tuple[list[tuple[Any, Any]], int]:
        """Return as many items as fit on the page, at least one."""
        taken: list[tuple[Any, Any]] = []
        left = self._page_chars
        end = offset
        for key, item in pairs[offset : offset + min(limit or LIST_ITEMS, LIST_ITEMS)]:
            part = self._part(item, ref, joined(path, key))
            left -= len(to_text(part)) + len(str(key))
            if taken and left < 0:
                break
            taken.append((key, part))
            end += 1
        return taken, end

    def _part(self, value: Any, ref: str, path: str) -> Any:
        return shorten(value, ref, self._page_chars, len, path)


def _word_end(text: str, start: int, end: int) -> int:
    """Return the end of a page, between words: half a name could escape redaction."""
    if end >= len(text):
        return len(text)
    back = between_words(text, end)
    if back > start:
        return back
    end = between_words(text, end, forward=True)
    if end == len(text) or text[end - 1].isspace() or text[end].isspace():
        return end
    # Far enough that the next page, which begins between words too, does not go back here.
    return min(len(text), max(end, start + WORD_REACH))


def _unescaped(name: str) -> str:
    return name.replace("~1", "/").replace("~0", "~")


def _find(result: Any, names: Sequence[str], ref: str) -> Any:
    value = result
    for depth, name in enumerate(names):
        if isinstance(value, Mapping) and name in value:
            value = value[name]
        elif _is_list(value) and _is_number(name) and int(name) < len(value):
            value = value[int(name)]
        else:
            where = reduce(joined, names[:depth], "")
            raise ToolRetry(
                f"there is no {one_line(name, 80)!r} in {where or 'the result'} of {ref}",
                remedy=f"There {_contents(value)}.",
            )
    return value


def _contents(value: Any) -> str:
    if isinstance(value, Mapping):
        keys = [one_line(str(key), 60) for key in value]
        more = f" and {len(keys) - LIST_ITEMS} more" if len(keys) > LIST_ITEMS else ""
        return f"are: {', '.join(keys[:LIST_ITEMS]) or 'no parts'}{more}"
    if _is_list(value):
        return f"are {len(value)} items, numbered from 0"
    return "is a single value, without parts"


def _is_list(value: Any) -> bool:
    return isinstance(value, (list, tuple))


def _is_number(name: str) -> bool:
    return name.isascii() and name.isdigit()


def _nested(names: Sequence[str], value: Any) -> dict[str, Any]:
    """`value` under the names that lead to it; an item of a list stands for its list."""
    for name in reversed(names):
        if not _is_number(name):
            value = {name: value}
        elif not _is_list(value):
            value = [value]
    return value if isinstance(value, dict) else {"value": value}
