"""`read_result`: the loop's own tool with which a model reads results that were shortened."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
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

_STEP = re.compile(
    r"""\.?(?P<key>[^.\[\]'"]+)
    | \[(?P<index>\d+)\]
    | \[(?P<start>\d*):(?P<stop>\d*)\]
    | \[(?P<mark>['"])(?P<quoted>(?:\\.|(?!(?P=mark))[^\\])*)(?P=mark)\]""",
    re.DOTALL | re.VERBOSE,
)


class ReadInput(BaseModel):
    """The result, and the part of it, to read."""

    model_config = ConfigDict(extra="forbid")

    id: Annotated[str, Field(max_length=200, description='The id in the notice, e.g. "3"')]
    path: Annotated[
        str,
        Field(
            max_length=2000,
            description='Part of the result, e.g. "output.items[20:40]"; "" for the whole',
        ),
    ] = ""
    offset: Annotated[int, Field(ge=0, description="Where to begin: item or character")] = 0
    limit: Annotated[
        int | None, Field(ge=1, description="How many items or characters at most")
    ] = None


class ReadOutput(BaseModel):
    """A page of a result; `value` holds it, nested under the keys that lead to it."""

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
        names, window = _parsed(args.path)
        offset = window.start + args.offset
        value = _find(result, names, ref)
        page, total, end = self._page(value, ref, _joined(names), offset, _least(args, window))
        output: dict[str, Any] = {
            "id": ref,
            # Not "path": what stands under that name is taken for a file's.
            "part": _joined(names),
            # Under its names: by them what identifies a patient is known, and removed.
            "value": _nested(names, page),
            "total": total,
            "next_offset": end if total is not None and end < total else None,
        }
        part = f", {offset} to {end} of {total}" if total is not None else ""
        return ToolResult(f"{_joined(names) or 'All'} of {ref}{part}.", output, {})

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


def _parsed(path: str) -> tuple[list[str | int], slice]:
    """The steps of a path, and the slice that it may end with.

    Raises:
        ToolRetry: It is no path.
    """
    names: list[str | int] = []
    text, at = path.strip().removeprefix("$"), 0
    while at < len(text):
        match = _STEP.match(text, at)
        if match is None:
            break
        at = match.end()
        if match["start"] is not None:
            if at < len(text):
                break
            return names, slice(int(match["start"] or 0), int(match["stop"] or 0))
        if match["index"] is not None:
            names.append(int(match["index"]))
        elif match["key"] is not None:
            names.append(match["key"].strip())
        else:
            names.append(re.sub(r"\\(.)", r"\1", match["quoted"], flags=re.DOTALL))
    if at < len(text):
        raise ToolRetry(
            f'"{one_line(path, 120)}" is no path',
            remedy='Write it as in "output.metrics.area" or "output.items[20:40]".',
        )
    return names, slice(0, 0)


def _find(result: Any, names: Sequence[str | int], ref: str) -> Any:
    value = result
    for depth, name in enumerate(names):
        number = int(name) if isinstance(name, str) and name.isascii() and name.isdigit() else name
        if isinstance(value, Mapping) and name in value:
            value = value[name]
        elif _is_list(value) and isinstance(number, int) and number < len(value):
            value = value[number]
        else:
            where = _joined(names[:depth])
            raise ToolRetry(
                f"there is no {one_line(str(name), 80)!r} in {where or 'the result'} of {ref}",
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


def _least(args: ReadInput, window: slice) -> int | None:
    """The smaller of the limit given and the length of the slice."""
    given = [args.limit] if args.limit is not None else []
    if window.stop > window.start:
        given.append(window.stop - window.start)
    return min(given, default=None)


def _joined(names: Iterable[str | int]) -> str:
    path = ""
    for name in names:
        path = joined(path, name)
    return path


def _nested(names: Sequence[str | int], value: Any) -> dict[str, Any]:
    """`value` under the names that lead to it; an item of a list stands for its list."""
    for name in reversed(names):
        if isinstance(name, str):
            value = {name: value}
        elif not _is_list(value):
            value = [value]
    return value if isinstance(value, dict) else {"value": value}
