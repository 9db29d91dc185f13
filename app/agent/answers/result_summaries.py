"""Answers written from tools' outputs alone: findings, failures and what remains open.

Results are grouped under the tool's name for people, and each line cites its result by number.
Scores and measurements are described, never interpreted as a disease.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from app.agent.answers.evidence import cite
from app.agent.answers.items import MOST, cited_ids, untold
from app.agent.messages import Message, for_people
from app.tools.pack_plan import NO_PLANS, Plans
from app.tools.result_wording import (
    UNCHANGED,
    AnswerContext,
    Data,
    ResultWording,
    Sentence,
    cited,
    number,
    one_line,
)

_INSTALL = re.compile(r"\bmodels (?:get|accept) ")
_WHERE = "Tools > Models"
_FILE = re.compile(r" \([\w.-]+\.(?:pth?|bin|safetensors)\)")


@dataclass(frozen=True, slots=True)
class Skipped:
    """A plan step that was not run: its number in the plan, from 1, its tool, and the reason."""

    number: int
    tool: str
    reason: str


def summarise(
    results: Sequence[Message], undone: Sequence[str] = (), plans: Plans = NO_PLANS
) -> str:
    """Return the answer for a run that ended early: what its calls found, and what was not run.

    `undone` names the calls that were not run, and the open steps of the plan.
    """
    blocks = _blocks(results, [], [], plans)
    open_ = [f"- {name_of_tool(one_line(item), plans)}" for item in dict.fromkeys(undone) if item]
    if open_:
        blocks.append("\n".join(["**Not run**", *open_]))
    return "\n\n".join(blocks)


def write_summary(
    results: Sequence[Message],
    skipped: Sequence[Skipped],
    notes: Sequence[str],
    topics: Collection[str],
    targets: frozenset[str] = frozenset(),
    plans: Plans = NO_PLANS,
    images: Mapping[str, str] | None = None,
) -> str:
    """Return the answer of the offline planner: direct answers first, then the other results.

    `notes` are remarks on the plan, `topics` the names of the question's kinds, and `targets` the
    objects (such as the heart) that the question is about. Where several images were worked on,
    `images` are the titles of those that calls were about, by the calls' ids.
    """
    images = images or {}
    if any(item.ok and "said" not in item.output for item in results):
        # What else ran has brought into view what such a step found there already.
        results = [item for item in results if not item.output.get(UNCHANGED)]
    ran = frozenset(message.tool for message in results if message.ok)
    if "warnings" in topics and not skipped:
        warned = _warnings(results, (), plans, images)
        return "\n\n".join(warned or ["None of the results so far carries a warning."])
    told = AnswerContext(frozenset(topics), ran, targets)
    remarks: set[str] = set()
    direct = _direct_answers(results, told, plans, remarks)
    impossible = {} if direct else _impossible(skipped, told, plans)
    head = "" if direct or impossible else _head(results, skipped, topics)
    blocks = [*filter(None, [head]), *dict.fromkeys(direct.values()), *impossible]
    blocks += _notable(results, plans)
    if "explicit" not in topics:  # what is about the file or the display comes last
        direct = {id(results[number]): text for number, text in direct.items()}
        results = sorted(results, key=lambda item: plans.wording(inner_tool(item)).aside)
        direct = {n: direct[id(item)] for n, item in enumerate(results) if id(item) in direct}
    reasons = [*impossible.values()]
    left = [
        item
        for item in skipped
        if item.reason not in reasons and not (reasons and "which was not run" in item.reason)
    ]
    said = " ".join(blocks).casefold()
    left = [item for item in left if _sentence(item.reason).casefold() not in said]
    blocks += _blocks(results, left, notes, plans, direct, blocks, remarks, images)
    limits = _limits(told, plans)
    if limits:
        blocks.append("\n".join(["**What this does not answer**", *limits]))
    return "\n\n".join(blocks)


def _head(results: Sequence[Message], skipped: Sequence[Skipped], topics: Collection[str]) -> str:
    if not results and not skipped:
        return "No tool has run in this conversation yet."
    if not results:
        return "No result: none of the tools that this needs could run."
    if "summary" in topics and not skipped:
        return "From the results earlier in this conversation:"
    good, total = sum(message.ok for message in results), len(results) + len(skipped)
    if not good and total == 1:
        return "No result."
    return f"{good or 'None'} of {total} steps gave a result." if good < total else ""


def name_of_tool(tool: str, plans: Plans) -> str:
    """Return a tool's name for people: the title that its pack gives, or else its name as words."""
    words = tool.replace("_", " ").strip()
    return plans.wording(tool).title or words[:1].upper() + words[1:]


def with_names(text: str, plans: Plans) -> str:
    """Return a text with what people call the packs' tools in place of their names."""
    titles = {wording.tool: wording.title for wording in plans.wordings() if wording.title}
    return re.sub(r"\w+", lambda found: titles.get(found[0], found[0]), text)


def inner_tool(message: Message) -> str:
    """Return the tool that gave a result, on each of several images or on one."""
    return str(message.output.get("tool") or message.tool)


def _impossible(skipped: Sequence[Skipped], told: AnswerContext, plans: Plans) -> dict[str, str]:
    """Return the direct answer that a tool would have given which was not run, with the reason."""
    why = {item.tool: item.reason for item in skipped}
    for wording in plans.wordings():
        if wording.tool in why and wording.kinds & told.kinds:
            reason = why[wording.tool]
            if subject := wording.subject(told.targets):
                return {_cannot(subject, _sentence(with_names(reason, plans))): reason}
    return {}


def _cannot(subject: str, reason: str) -> str:
    return f"**I cannot say {subject}:** {reason}"


def _notable(results: Sequence[Message], plans: Plans) -> list[str]:
    """Return a block of the warnings that may be findings themselves; [] for none."""
    found: dict[str, list[Message]] = {}
    for message in results:
        for warning in warnings_of(message) if message.ok else ():
            if any(word in warning for word in plans.notable(inner_tool(message))):
                found.setdefault(warning, []).append(message)
    lines: list[str] = []
    for warning, messages in found.items():
        line = f"- {sentence(warning)}"
        for message in messages:
            line = cite(line, message.evidence)
        lines.append(line)
    return ["\n".join(["**Look at this yourself**", *lines])] if lines else []


def _blocks(
    results: Sequence[Message],
    skipped: Sequence[Skipped],
    notes: Sequence[str],
    plans: Plans,
    direct: Mapping[int, str] | None = None,
    before: Sequence[str] = (),
    remarks: set[str] | None = None,
    images: Mapping[str, str] | None = None,
) -> list[str]:
    """Return the parts of an answer behind the direct ones, given by their result's index.

    `before` are the parts that stand before these; no warning of theirs is told again. `images` are
    as for `write_summary`.
    """
    images = images or {}
    direct = direct or {}
    remarks = set() if remarks is None else remarks
    told = [message for number, message in enumerate(results) if number not in direct]
    parts: list[list[str]] = []
    for message in told:
        head, *lines = render_result(message, plans, remarks) if message.ok else [""]
        head = _of_image(head, message, images) if head else ""
        if parts and head == parts[-1][0]:  # one heading for what one tool gave in a row
            parts[-1] += lines
        elif head:
            parts.append([head, *lines])
    blocks = ["\n".join(part) for part in parts]
    failed = [message for message in results if not message.ok]
    names = [
        (_of_image(name_of_tool(message.tool, plans), message, images), message)
        for message in failed
        if message in told
    ]
    lacking = [f"- {model}, for {name}" for name, item in names if (model := _lacked(item))]
    lines = [
        f"- **{_joined(group)}:** {why}"
        for why, group in _by_reason(
            (_reason(item), name) for name, item in names if not _lacked(item)
        )
        if not any(why in text for text in direct.values())
    ]
    lines += [
        f"- **{_joined(group)}** {'was' if len(group) == 1 else 'were'} not run: "
        f"{with_names(_sentence(why), plans)}"
        for why, group in _by_reason(
            (item.reason, name_of_tool(item.tool, plans)) for item in skipped
        )
    ]
    if lines:
        blocks.append("\n".join(["**Not done**", *dict.fromkeys(lines)]))
    if lacking:
        blocks.append("\n".join([f"**Models not installed** ({_WHERE})", *dict.fromkeys(lacking)]))
    blocks += _warnings(results, [*direct.values(), *before, *blocks], plans, images)
    if notes:
        about = [f"- {with_names(note, plans)}" for note in dict.fromkeys(notes)]
        blocks.append("\n".join(["**About the steps**", *about]))
    return blocks


def _by_reason(pairs: Iterable[tuple[str, str]]) -> list[tuple[str, list[str]]]:
    """Return each reason once, in order, with the names of the tools that it is about."""
    found: dict[str, list[str]] = {}
    for why, name in pairs:
        found.setdefault(why, []).append(name)
    return [*found.items()]


def _joined(names: Sequence[str]) -> str:
    return ", ".join(dict.fromkeys(names))


def _of_image(name: str, message: Message, images: Mapping[str, str]) -> str:
    """Return a name with the image that a result is about, where there are several."""
    image = images.get(message.call_id, "")
    return f"{name} ({image})" if image else name


def _warnings(
    results: Sequence[Message], said: Sequence[str], plans: Plans, images: Mapping[str, str]
) -> list[str]:
    """Return the block of the results' warnings, each once and none that `said` has; or []."""
    good = [message for message in results if message.ok]
    alike: dict[str, list[Message]] = {}
    for message in good:
        for warning in warnings_of(message):
            if not any(_part(warning).casefold() in text.casefold() for text in said):
                alike.setdefault(warning, []).append(message)
    several = len({message.tool for message in good}) > 1 or bool(images)
    lines: list[str] = []
    for warning, messages in alike.items():
        told = (_of_image(name_of_tool(item.tool, plans), item, images) for item in messages)
        names = ", ".join(dict.fromkeys(told))
        line = f"- {names}: {warning}" if several else f"- {sentence(warning)}"
        for message in messages:
            line = cite(line, message.evidence)
        lines.append(line)
    return ["\n".join(["**Warnings**", *lines])] if lines else []


def _part(warning: str) -> str:
    """Return what an answer repeats of a warning that it tells: what stands after its head."""
    return warning.partition(" varies by ")[2] or warning


def sentence(text: str) -> str:
    """Return a text with its first letter in upper case."""
    return text[:1].upper() + text[1:]


def _sentence(text: str) -> str:
    line = one_line(text)
    return line if line.endswith((".", "?", "!")) else f"{line}."


def _lacked(message: Message) -> str:
    """Return the model whose lack made a call fail; "" if it failed for another reason."""
    error = one_line(_FILE.sub("", str(message.data.get("error") or "")), 600)
    named = error.partition("not installed: ")[2].rstrip(".")
    return named if _INSTALL.search(str(message.data.get("remedy") or "")) else ""


def _reason(message: Message) -> str:
    """Return why a call failed and what to do."""
    if model := _lacked(message):
        return f"Not installed ({_WHERE}): {model}."
    error = one_line(_FILE.sub("", str(message.data.get("error") or "failed")), 600).rstrip(".")
    remedy = one_line(for_people(str(message.data.get("remedy") or "")), limit=600)
    return f"{sentence(error)}. {f'See {_WHERE}.' if _INSTALL.search(remedy) else remedy}".rstrip()


def _direct_answers(
    results: Sequence[Message], told: AnswerContext, plans: Plans, remarks: set[str]
) -> dict[int, str]:
    """Return the complete direct answers to the question, by the index of their result.

    `remarks` are the general remarks that were made so far; those of the answers are added.
    """
    last = {message.tool: number for number, message in enumerate(results)}
    last |= {message.tool: number for number, message in enumerate(results) if message.ok}
    known = {one.tool: one for one in plans.wordings()}
    answers = {
        number: text
        for tool, wording in known.items()
        if not wording.each and (number := last.get(tool)) is not None
        if (text := _answer(wording, results[number], told, remarks))
    }
    for number, message in enumerate(results):
        wording = known.get(message.tool)
        if (
            wording is not None
            and wording.each
            and (text := _answer(wording, message, told, remarks))
        ):
            answers[number] = text
    return answers


def _answer(wording: ResultWording, result: Message, told: AnswerContext, remarks: set[str]) -> str:
    """Return what a result answers directly; "" for nothing."""
    if not wording.kinds & told.kinds:
        return ""
    if result.ok:
        return "\n".join(direct_answer(wording, result, told.targets, remarks))
    reason = wording.lacking if _lacked(result) else ""
    reason, subject = reason or _reason(result), wording.subject(told.targets)
    return _cannot(subject, reason) if subject else reason


def _limits(told: AnswerContext, plans: Plans) -> list[str]:
    """Return sentences on what was asked and no result answers."""
    lines = [
        line
        for pack in plans.packs
        if pack.unanswered is not None
        for line in pack.unanswered(told)
    ]
    if "compare" in told.kinds and told.ran:
        lines.append(
            "Whether the texts agree: comparing them needs a language model"
            + ("." if len(told.ran) > 1 else ", and two texts.")
        )
    return [f"- {line}" for line in lines]


_log = logging.getLogger(__name__)

_TEXT_LIMIT = 4000
_FEW = 4  # items of an image that its line cites where it tells none of them
_MOST_FIGURES = 12
_TEXTS = ("response", "text", "answer")
_IDENTIFYING = re.compile(r"patient|birth|accession|physician|operator|institution", re.IGNORECASE)


def render_result(message: Message, plans: Plans, remarks: set[str]) -> list[str]:
    """Return the heading and the lines about one successful call, each line with its citation.

    General remarks that are among `remarks` are left out; the others are added to them.
    """
    wording = plans.wording(message.tool)
    lines = _told(wording, message) or cited(_generic(message.output, _summary(message)))
    head = f"**{name_of_tool(message.tool, plans)}**"
    lines = [*lines, *cited(_files(message))]
    told = (written([line], message, remarks) for line in lines)
    return [head, *(f"- {line}" for line in told if line)]


def _files(message: Message) -> list[str]:
    """Return a line for each table and plot that a call made: its title, and a table's rows."""
    found: Any = message.data.get("files")
    lines: list[str] = []
    for item in found if isinstance(found, list) else []:
        kind, title = item.get("kind"), one_line(str(item.get("title") or ""), 120)
        if kind == "table":
            rows = item.get("rows")
            count = f": {rows:,} row{'' if rows == 1 else 's'}" if isinstance(rows, int) else ""
            lines.append(f"Table “{title}”{count}")
        elif kind == "plot":
            lines.append(f"Plot “{title}”")
    return lines


def direct_answer(
    wording: ResultWording, message: Message, targets: frozenset[str], remarks: set[str]
) -> list[str]:
    """Return the lines in which a tool's result directly answers the question.

    `wording.answer` makes them; the list is empty if that is None or fails. `targets` are the
    objects that the question is about, `remarks` as for `render_result`.
    """
    if wording.answer is None:
        return []
    try:
        answer = wording.answer({**message.metadata, **message.output}, targets)
        return [written(line, message, remarks) for line in answer]
    except Exception as error:
        _log.warning("A pack could not tell a result of %s (%s)", message.tool, type(error))
        return []


def written(sentences: Sequence[Sentence], result: Message, remarks: set[str]) -> str:
    """Return sentences joined to one line; those with `Sentence.cites` cite a result.

    A sentence cites the items of the result that it tells, or else the result as a whole; both
    where the result has more numbers than items. One about one of several images cites what this
    image gave alone. One that cites nothing is a general remark, left out if it is among `remarks`,
    to which it is added.
    """

    def evidence(one: Sentence) -> int | str:
        text = one.text
        items: Mapping[str, str] = result.data.get("items") or {}
        if one.row is not None:
            rows = result.data.get("items_of_each_image") or []
            own = rows[one.row] if one.row < len(rows) else []
            text = text.partition(": ")[2]  # digits of its file's name are no figures
            ids = cited_ids(text, {key: items[key] for key in own if key in items})
            return ids or (", ".join(own) if len(own) <= _FEW else "") or result.evidence
        ids = cited_ids(text, items)
        if ids and len(items) >= MOST and untold(text, (items[key] for key in ids.split(", "))):
            return f"{ids}, {result.evidence}"
        return ids or result.evidence

    told = [one for one in sentences if one.cites or one.text not in remarks]
    remarks.update(one.text for one in told if not one.cites and one.text.endswith("."))
    return " ".join(cite(one.text, evidence(one)) if one.cites else one.text for one in told)


def warnings_of(message: Message) -> list[str]:
    """Return the warnings in a result, from its output and its metadata."""
    found: list[str] = []
    for part in (message.output, message.metadata):
        value = part.get("warnings")
        items = value if isinstance(value, list) else [value]
        found += [one_line(item) for item in items if isinstance(item, str) and item.strip()]
    return list(dict.fromkeys(found))


def _told(wording: ResultWording, message: Message) -> Sequence[Sentence]:
    if wording.lines is None:
        return ()
    try:
        return wording.lines(message.output, message.metadata)
    except Exception as error:  # a pack's own code, on whatever the tool returned
        _log.warning("A pack could not tell a result of %s (%s)", message.tool, type(error))
        return ()


def _summary(message: Message) -> str:
    return one_line(str(message.data.get("summary") or ""), limit=1000)


def _generic(output: Data, summary: str) -> list[str]:
    """Return lines on a tool without wording: its own summary and texts, else its figures."""
    lines = [summary] if summary else []
    lines += [
        f"{key}: “{one_line(value, _TEXT_LIMIT)}”"
        for key, value in output.items()
        if isinstance(value, str) and value.strip() and key in _TEXTS
    ]
    return lines or _figures(output) or ["Done; the tool gave no summary."]


def _figures(output: Data) -> list[str]:
    lines: list[str] = []
    for key, value in output.items():
        if value in (None, "", [], {}) or _IDENTIFYING.search(key):
            continue
        words = one_line(key.replace("_", " "), 60)
        if isinstance(value, bool):
            lines.append(f"{words}: {'yes' if value else 'no'}")
        elif isinstance(value, (int, float)):
            lines.append(f"{words}: {number(value, 4)}")
        elif isinstance(value, (list, tuple, Mapping)):
            count = len(value)
            lines.append(f"{words}: {count:,} {'entry' if count == 1 else 'entries'}")
        elif key.endswith(("path", "file")):
            lines.append(f"{words}: a file was made")
        else:
            lines.append(f"{words}: {one_line(str(value), 200)}")
    rest = len(lines) - _MOST_FIGURES
    return lines if rest <= 0 else [*lines[:_MOST_FIGURES], f"and {rest:,} more values"]
