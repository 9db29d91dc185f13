"""The footer of an answer: contradictions, what was not looked for, and warnings about images.

The program adds it, whether a model or rules wrote the answer. A follow-up question is often
answered from earlier results without running a tool again; warnings about an earlier result are
then repeated if the answer cites it or the question is about the same image.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from app.agent.answers.evidence import NOT_LOOKED_FOR, cite
from app.agent.answers.german import in_german
from app.agent.answers.result_summaries import inner_tool, name_of_tool, with_names
from app.agent.call_log import CallLog, LoggedCall
from app.agent.enforcement.director import Director
from app.agent.events import Side, ToolsDisagree
from app.agent.image_reference import image_reference, name_of, names_of, unsuitable_image
from app.agent.messages import Message
from app.agent.planning import Intent, ToolPlan
from app.agent.request import RunRequest
from app.tools.pack_plan import Accepts, PackPlan, Plans
from app.tools.result_wording import (
    AnswerContext,
    CallResult,
    Disagreement,
    has_words,
    one_line,
)

Notes = Sequence[Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class RelevantResults:
    """The results that an answer may be based on, with the images that they may be about.

    Attributes:
        results: The results, in the order in which they arrived.
        basis_numbers: The numbers (`LoggedCall.number`) of the results that the answer is based on:
            those from this run and those that it cites; all if a model's answer cites nothing.
        seen: The image notes (`RunRequest.image_notes`) of the current image and of those that the
            question is about, in the order of the open images.
        mirrored: Names of the images that the model saw in a mirrored picture.
        open: Each open image's name, with the paths of the image and of images that it was made
            from; the current image first.
    """

    results: tuple[LoggedCall, ...] = ()
    basis_numbers: frozenset[int] = frozenset()
    seen: Notes = ()
    mirrored: tuple[str, ...] = ()
    open: tuple[tuple[str, frozenset[str]], ...] = ()

    def other_image_name(self, item: LoggedCall) -> str:
        """Return the name of a result's image; "" if it is the current image or unknown.

        For an image that has been closed, a phrase that says so is returned.
        """
        if not item.sources or not self.open or not item.sources.isdisjoint(self.open[0][1]):
            return ""
        others = (name for name, sources in self.open if not item.sources.isdisjoint(sources))
        return next(others, "an image that is not open now")


def relevant_results(
    record: CallLog,
    intent: Intent,
    cited: Collection[int],
    history: Sequence[Message] = (),
    *,
    by_rules: bool,
) -> RelevantResults:
    """Return the results in `record` that an answer to the question `intent` may be based on.

    These are the results that the answer cites (`cited`, their numbers), those of this run, and all
    on the same images as these; if a model wrote it (not `by_rules`), also those on the images that
    the question is about. `history` shows which pictures the model received.
    """
    notes = intent.scene.images
    unclear = bool(intent.unclear_image) or intent.may_concern_other_images
    asked = [note for note in notes if unclear or note.get("id") in intent.images]
    asked = asked or list(notes[:1])
    ended = [item for item in record.all() if item.message.ok]
    named = [item for item in ended if item.here or item.message.evidence in cited]
    # Rules that cite nothing of an image say nothing of it; of a model nobody knows.
    about = [] if by_rules else [record.sources(note) for note in asked]
    images = frozenset[str]().union(*about, *(item.sources for item in named))
    anywhere = not by_rules and (unclear or not notes)
    earlier = [item for item in ended if item.sources and (anywhere or item.sources & images)]
    results = {item.number: item for item in (*named, *earlier)}
    certain = by_rules or bool(cited)
    seen = [note for note in notes if note in asked or note is notes[0]]
    keys = frozenset() if by_rules else _seen_mirrored(history)
    return RelevantResults(
        tuple(results[number] for number in sorted(results)),
        frozenset(item.number for item in named) if certain else frozenset(results),
        seen,
        tuple(name_of(note, notes) for note in seen if image_reference(note) in keys),
        tuple(zip(names_of(notes), map(record.sources, notes), strict=True)),
    )


def _seen_mirrored(history: Sequence[Message]) -> frozenset[str]:
    """The images, by `image_reference`, of which the model was shown a mirrored picture."""
    found: set[str] = set()
    for message in history:
        mirrored = {picture.image_id for picture in message.pictures if picture.mirrored}
        found |= {image_reference(note) for note in message.images if note.get("id") in mirrored}
    return frozenset(found)


_log = logging.getLogger(__name__)
ADVICE = "These results were not averaged: look at the image yourself."


def disagreements(concerned: RelevantResults, plans: Plans) -> list[ToolsDisagree]:
    """Return the contradictions among the results, by the packs' `plans`."""
    results = concerned.results
    given = [call_result_of(item) for item in results]
    return [
        ToolsDisagree(
            about=one_line(found.about),
            sides=[_side(text, results[place], found.label) for text, place in found.sides],
            image=_place(found, concerned),
        )
        for found in _found(given, plans)
        if any(results[place].number in concerned.basis_numbers for _, place in found.sides)
    ]


def _side(text: str, item: LoggedCall, label: str) -> Side:
    """Return a side of a disagreement, with the items of the result that are called `label`."""
    items: Mapping[str, str] = item.message.data.get("items") or {}
    named = [key for key, said in items.items() if label and has_words(said, re.escape(label))]
    return Side(
        tool=item.call.name, says=one_line(text), evidence=item.message.evidence, items=named
    )


def _disagreement_text(found: Sequence[ToolsDisagree], plans: Plans) -> str:
    """Return a paragraph on contradictions; "" for none."""
    lines = [
        f"- on {one.about}{f' in {one.image}' if one.image else ''}: "
        f"{'; '.join(cite(with_names(side.says, plans), side.evidence) for side in one.sides)}."
        for one in found
    ]
    return "\n".join(["**The tools disagree:**", *lines, ADVICE]) if lines else ""


def _found(given: Sequence[CallResult], plans: Plans) -> Iterator[Disagreement]:
    for pack in plans.packs:
        if pack.disagreements is None:
            continue
        try:
            yield from pack.disagreements(given)
        except Exception as error:  # a pack's own code, on whatever its tools returned
            _log.warning("The pack %s could not compare results (%s)", pack.pack, type(error))


def _place(found: Disagreement, concerned: RelevantResults) -> str:
    places = (concerned.other_image_name(concerned.results[place]) for _, place in found.sides)
    return next(filter(None, places), "")


def call_result_of(item: LoggedCall) -> CallResult:
    """Return a finished call as a `CallResult`, the form in which packs compare results."""
    call, result = item.call, item.message
    return CallResult(call.name, call.arguments, result.output, result.metadata, item.sources)


HEAD = "**Image warnings:**"
SYNTHETIC = "results are based on a synthetic image, made by a model, not on a patient"
MIRRORED = "as stored, mirrored: what it calls left or right may be the opposite side"
_OVERRULED = re.compile(r" at your request, although | although .*you said that", re.DOTALL)
"""Marks warnings that the user overruled; the second wording is that of earlier versions."""
_LONGEST = 600  # characters of one warning: all that was overruled stands in it


def image_warnings(concerned: RelevantResults, plans: Plans, answer: str = "") -> str:
    """Return a paragraph of warnings about the images of the results in `concerned`; "" if none.

    A tool's warning that is already part of the text `answer` is not repeated.
    """
    lines = list(dict.fromkeys([*_synthetic(concerned), *_open(concerned)]))
    lines += [f"the model saw {name} {MIRRORED}" for name in concerned.mirrored]
    lines += _warned(concerned, plans, answer.casefold())
    return "\n".join([HEAD, *(f"- {line}." for line in lines)]) if lines else ""


def _synthetic(concerned: RelevantResults) -> Iterator[str]:
    made = [i for i in concerned.results if i.message.metadata.get("synthetic") is True]
    if made:
        yield _cited(SYNTHETIC, made)


def _open(concerned: RelevantResults) -> Iterator[str]:
    for note in concerned.seen:
        if note.get("synthetic"):
            which = name_of(note, concerned.seen)
            yield f"{which} is synthetic, made by a model: it shows no patient"


def _warned(concerned: RelevantResults, plans: Plans, answer: str) -> Iterator[str]:
    """Yield the warnings about images; one that results share stands once with their numbers."""
    alike: dict[tuple[str, str], list[LoggedCall]] = {}
    for item in concerned.results:
        for said in dict.fromkeys(_warnings(item)):
            told = one_line(said)
            known = any(text.casefold() in answer for text in (told, in_german(told)))
            if _minded(said, inner_tool(item.message), plans) and not known:
                alike.setdefault((concerned.other_image_name(item), said), []).append(item)
    for (where, said), items in alike.items():
        names = (name_of_tool(inner_tool(item.message), plans) for item in items)
        tools = ", ".join(dict.fromkeys(names))
        place = f" on {where}" if where else ""
        yield _cited(f"{tools}{place}: {one_line(said, _LONGEST)}", items)


def _warnings(item: LoggedCall) -> Iterator[str]:
    """Yield the warnings of a result, wherever the tool put them."""
    for part in (item.message.output, item.message.metadata):
        told = part.get("warnings")
        for said in told if isinstance(told, list) else ():
            if isinstance(said, str):
                yield said


def _minded(said: str, tool: str, plans: Plans) -> bool:
    return bool(_OVERRULED.search(said)) or any(
        has_words(said, re.escape(word)) for word in plans.caveats(tool)
    )


def _cited(line: str, items: list[LoggedCall]) -> str:
    for number in dict.fromkeys(item.message.evidence for item in items):
        line = cite(line, number)
    return line


def answer_footer(
    director: Director,
    request: RunRequest,
    plans: Plans,
    cited: Collection[int],
    answer: str = "",
) -> str:
    """Return the paragraphs that follow an answer; "" for none.

    They tell contradictions, what no tool looked for, and warnings about the images.
    """
    concerned = relevant_results(
        director.record,
        director.intent,
        cited,
        request.thread.history,
        by_rules=director.by_rules,
    )
    told = (
        _disagreement_text(disagreements(concerned, plans), plans),
        not_looked_for(director, plans),
        image_warnings(concerned, plans, answer),
    )
    return "".join(f"\n\n{part}" for part in told if part)


def told_disagreements(
    director: Director, request: RunRequest, plans: Plans, cited: Collection[int]
) -> list[ToolsDisagree]:
    """Return the contradictions that `answer_footer` tells, with what shows them on the image."""
    history, rules = request.thread.history, director.by_rules
    concerned = relevant_results(director.record, director.intent, cited, history, by_rules=rules)
    return disagreements(concerned, plans)


def not_looked_for(director: Director, plans: Plans) -> str:
    """Return a paragraph on what the question covers and no tool looked for; "" if none."""
    intent = director.intent
    if director.by_rules and not isinstance(intent.plan, ToolPlan):
        return ""  # nothing was looked for at all, and the answer says why
    results = [call_result_of(item) for item in director.record.of_this_run() if item.message.ok]
    ran = frozenset(item.tool for item in results)
    scene, kinds = intent.scene, frozenset(intent.kinds)
    known = _known_tools(director.record, scene.images)
    told = AnswerContext(kinds, ran, intent.targets, scene.lacks, results, scene.images, known)
    asked = [note for note in scene.images if note.get("id") in intent.images]
    asked = asked or list(scene.images[:1])
    lines = [
        line
        for pack in plans.packs
        if pack.not_looked_for is not None and _concerns(pack, ran, asked)
        for line in pack.not_looked_for(told)
    ]
    lines += [sentence for _, sentence in director.unmet()]
    return "\n".join([NOT_LOOKED_FOR[0], *(f"- {line}" for line in lines)]) if lines else ""


def _known_tools(record: CallLog, notes: Notes) -> frozenset[str]:
    """Return the tools that gave a result on images of the current image's patient, in any run."""
    others = [record.sources(note) for note in notes if note.get("patient")]
    foreign = frozenset[str]().union(*others)
    good = (item for item in record.all() if item.message.ok)
    return frozenset(i.call.name for i in good if not i.sources or not i.sources <= foreign)


def _concerns(pack: PackPlan, ran: Collection[str], asked: Notes) -> bool:
    """Return whether a pack's tools could have looked at one of the images, or have."""
    accepted = [rule.accepts for rule in pack.tools if rule.accepts != Accepts()]
    return (
        not asked
        or any(rule.tool in ran for rule in pack.tools)
        or any(not unsuitable_image(one, note) for one in accepted for note in asked)
    )
