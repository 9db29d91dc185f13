"""Plans for questions in plain words: from the kinds of a question to the steps that answer it."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from app.agent.image_reference import (
    as_value,
    image_argument,
    image_arguments,
    takes_list,
    unsuitable_image,
)
from app.agent.llm.base import ToolSchema
from app.agent.messages import GREETING, THANKS
from app.agent.planning.argument_values import (
    as_argument,
    find_numbers,
    find_texts,
    find_values,
    usual_values,
)
from app.agent.planning.classify import Reading, read_question
from app.agent.planning.clause_scope import carries_no_meaning
from app.agent.planning.image_choice import image_choice
from app.agent.planning.plan import Decision, NoRule, OpenImage, Reply, Scene, Step, ToolPlan
from app.agent.planning.question_parts import parts_of
from app.agent.planning.targets import (
    feed_arguments,
    feeding_source,
    latest_picture,
    names_converted_picture,
    title_of,
    unsuitable_reason,
)
from app.agent.planning.tool_choice import with_prerequisites
from app.agent.planning.word_matches import Key, pack_words
from app.agent.planning.written_arguments import missing_arguments
from app.tools.pack_plan import AnyOf, QuestionKind, ToolRule
from app.tools.result_wording import has_words

_HELP = (
    r"help|what\s+can\s+(?:you|i)\s+(?:do|ask)|what\s+do\s+you\s+do|which\s+tools|what\s+tools|"
    r"list\s+(?:\w+\s+)?tools|tools\s+(?:are\s+)?available|who\s+are\s+you|commands|hilfe|"
    r"was\s+kannst\s+du(?!.*\b(?:sehen|erkennen)\b)|welche\s+werkzeuge|wer\s+bist\s+du"
)
_GAPS = re.compile(r" {2,}")
_ABILITIES = (  # the whole question: "everything" in it asks for no run of all tools
    r"what\s+(?:(?:all|else)\s+)?can\s+you\s+(?:all\s+)?do(?:\s+for\s+me)?|how\s+can\s+you\s+help(?:\s+me)?|"
    r"was\s+kannst\s+du\s+(?:(?:denn|hier|so|für\s+mich)\s+)*(?:alles|sonst\s+noch)"
    r"(?:\s+(?:machen|tun))?|wo(?:bei|mit)\s+kannst\s+du\s+(?:mir\s+)?helfen"
)
_DOUBT = (
    r"(?:why|how|is|are|can|should|warum|wieso|wie|ist|sind|kann)\b.*\b(?:un)?(?:reliable|reliably|certain|sure|trusted|trust|"
    r"trustworthy|valid|warnings?|zuverl(?:ä|ae)ssig|sicher|verl(?:ä|ae)sslich)|"
    r"(?:are\s+you|how)\s+(?:sure|certain)|bist\s+du\s+sicher|which\s+warnings?"
)
_SUMMARY = (
    r"summar[iy]\w*|recap|what\s+(?:did|have|has|was|were)\s+"
    r"(?:you|the\s+tools|been)?\s*(?:find|found|see|seen|results?)|so\s+far|previous\s+results?|"
    r"earlier\s+results?|zusammenfass\w*|fass\w*\s+(?:\w+\s+){0,3}zusammen|bisherige\w*\s+\w+"
)


_PRIOR = r"(?:prior|previous|earlier|older|old)"
_IS_THERE_A_PRIOR = (
    rf"(?:is|are)\s+there\s+(?:an?\s+|any\s+)?(?:{_PRIOR}s?|{_PRIOR}\s+\w+)(?:\s+open|\s+here)?|"
    rf"(?:any|have\s+(?:you|we)\s+(?:an?|any))\s+(?:{_PRIOR}s?|{_PRIOR}\s+\w+)|"
    r"gibt\s+es\s+(?:eine\s+)?(?:voraufnahmen?|voruntersuchung(?:en)?)"
)


def prior_text(scene: Scene) -> str:
    """Return whether an earlier image of the patient is open, and which is the latest."""
    days = [
        (int(note["days_before_current"]), str(note.get("id")))
        for note in scene.images
        if note.get("days_before_current")
    ]
    if not days:
        return "No prior of this patient is open. Open the prior as well."
    when, name = min(days)
    return f"Yes, the latest is {name}, taken {when} days before. Ask “Compare with the prior”."


def plan_plain_question(
    question: str,
    scene: Scene,
    excluded: Collection[str] = (),
    *,
    image: str = "",
    text: str = "",
    reading: Reading | None = None,
) -> Decision:
    """Return the plan, reply or `NoRule` for a question in plain words.

    `text` is the question, `question` the same with the contents of quoted strings blanked. Tools
    in `excluded` are left out. `image` is the id of the image that the question is about, or "" for
    the current one. `reading` is the question as read before; None to read it here.
    """
    reading = reading or read_question(question, scene.plans, scene.tools)
    asked = reading.intent
    topics = frozenset(asked.kinds)
    said = question.strip()
    if re.fullmatch(rf"(?:{_ABILITIES})\W*", said, re.IGNORECASE):
        return Reply(help_text(scene), certain=True)
    if scene.images and re.fullmatch(rf"(?:{_IS_THERE_A_PRIOR})\W*", said, re.IGNORECASE):
        return Reply(prior_text(scene), certain=True)
    if not (asked.wanted or asked.absent):
        if helped := re.search(rf"(?<!\w)(?:{_HELP})(?!\w)", question, re.IGNORECASE):
            besides = (t for t in reading.tokens if not helped.start() <= t.start < helped.end())
            return Reply(help_text(scene), certain=all(map(carries_no_meaning, besides)))
        if re.fullmatch(GREETING, said, re.IGNORECASE):
            return Reply('Hello. Ask about the open image, or ask "What can you do?".')
        if re.fullmatch(THANKS, said, re.IGNORECASE):
            return Reply("You are welcome.")
        if has_words(question, _DOUBT):
            if any(message.role == "tool" for message in scene.earlier):
                return ToolPlan((), topics | {"warnings"})
            return Reply("No tool has run in this conversation, so there is no result to judge.")
    # "The discharge summary" is no summary of what was found.
    claimed = any(kind.greedy and kind.name in topics for _, kind in scene.plans.kinds())
    told = any(message.role == "tool" for message in scene.earlier)
    if has_words(question, _SUMMARY) and told and not claimed:
        return ToolPlan((), topics | {"summary"})
    wanted = _without_existing_results(asked.wanted, reading, scene)
    wanted = [tool for tool in wanted if tool not in excluded]
    closed = [] if scene.records.count() else _record_tools(reading, scene)
    wanted = [_without_record(tool, closed, reading, scene) for tool in wanted]
    if text != question:  # what a tool is to read may be quoted in the question
        quoted = {rule.tool for rule in scene.plans.rules() if any(t.quoted for t in rule.texts)}
        closed = [tool for tool in closed if tool not in quoted]
    notes: list[str] = []
    if closed and any(tool in closed for tool in wanted):
        wanted = [tool for tool in wanted if tool not in closed]
        if not wanted:
            return Reply(no_record_text(), certain=True)
        notes.append(no_record_text())
    if not wanted and not asked.absent:
        return NoRule()
    if asked.needs_image and not scene.images:
        return Reply(no_image_text())
    wanted = _with_suitable_alternatives(wanted, reading, scene, OpenImage(image))
    tools = with_prerequisites([*wanted, *asked.absent], asked, scene)
    steps: list[Step] = []
    texts = (question, text if len(text) == len(question) else question)
    for tool, why in tools:
        if tool not in excluded:
            steps.append(_step(tool, why, texts, steps, reading, scene, image))
    notes += [f'I read "{said}" as "{meant}".' for said, meant in asked.corrections]
    return ToolPlan(tuple(steps), topics, tuple(notes))


def _record_tools(reading: Reading, scene: Scene) -> list[str]:
    """Return the tools of the question's kinds that need an open record."""
    kinds = _kinds_of(reading.kinds, scene)
    every = [kind for _, kind in scene.plans.kinds()]
    free = {tool for kind in every if not kind.needs_record for tool in kind.tool_names}
    found = [tool for kind in kinds if kind.needs_record for tool in kind.tool_names]
    return [tool for tool in found if tool not in free]


def _without_record(tool: str, closed: Sequence[str], reading: Reading, scene: Scene) -> str:
    """Return a tool, or one that does the same work of a question's kind without a record."""
    if tool in closed:
        for kind in _kinds_of(reading.kinds, scene):
            for need in kind.tools:
                if isinstance(need, AnyOf) and tool in need.tools:
                    return next((one for one in need.tools if one not in closed), tool)
    return tool


def help_text(scene: Scene) -> str:
    """Return a message that explains what can be asked with the available tools."""
    if not scene.tools:
        return "There are no tools here. Choose a language model in the settings."
    lines = [
        'Ask about the open image in plain words, name tools in order ("1) ... 2) ..."), or say '
        '"but don\'t ..." to leave one out. Fixed rules match your words to the tools below; what '
        "they do not understand is for the language model that you choose in the settings."
    ]
    return "\n".join([*lines, *_tool_list(scene)])


def no_rule_text() -> str:
    """Return a message that says that no rule matches, and what could be done instead."""
    return (
        "I do not understand this question, so no tool ran. Ask "
        '"What can you do?" for a list. For free questions choose a language model in the settings.'
    )


def _tool_list(scene: Scene) -> list[str]:
    """Return a line for each tool: what it does, phrases to ask for it, whether its model lacks."""
    lines: list[str] = []
    lacking: list[str] = []
    for tool in scene.tools.values():
        first = tool.description.split(". ")[0].rstrip(".")
        said = ", ".join(f'"{phrase}"' for phrase in tool.phrases[:3])
        line = f"- **{tool.title or tool.name}**: {first}."
        line += f" You can say {said}." if said else ""
        (lacking if scene.lacks(tool.name) else lines).append(line)
    if lines:
        lines.insert(0, "\nReady:")
    if lacking:
        lines += ["\nNot ready, as a model is not installed (Tools > Models):", *lacking]
    return lines


def no_image_text() -> str:
    """Return a message that asks the user to open an image."""
    return "No image is open. Open one (File > Open, or drop it on the window), then ask again."


def no_record_text() -> str:
    """Return a message that asks the user to open a patient's record."""
    return (
        "No patient record is open. Open one (File > Open patient record; on the command line "
        "`ask --record PATH`), then ask again."
    )


def _without_existing_results(wanted: Sequence[str], reading: Reading, scene: Scene) -> list[str]:
    """Return the tools without those whose result already exists, for "show that overlay"."""
    kinds = _kinds_of(reading.kinds, scene)
    anew = {tool for kind in kinds if kind.again for tool in kind.tools}
    needless: set[str] = set()
    for kind in kinds:
        if kind.again or not kind.tools or not isinstance(kind.tools[-1], str):
            continue
        schema = scene.tools.get(kind.tools[-1])
        slot = image_argument(schema) if schema else ""
        if slot and feeding_source(scene.plans.rule(kind.tools[-1]), slot, [], scene) is not None:
            needless.update(tool for tool in kind.tools[:-1] if isinstance(tool, str))
    return [tool for tool in wanted if tool not in needless - anew]


def _kinds_of(keys: Iterable[Key], scene: Scene) -> list[QuestionKind]:
    known = pack_words(scene.plans.packs).kinds
    return [known[key] for key in keys]


def _step(
    tool: str,
    why: str,
    texts: tuple[str, str],
    before: Sequence[Step],
    reading: Reading,
    scene: Scene,
    image: str,
) -> Step:
    """Return a step on the output that feeds the tool, or else on the open image.

    A converted PNG is used only if the question or the tool's rule says so: the open image has the
    stored values and the pixel spacing, which tools need for measurements.
    """
    rule, schema = scene.plans.rule(tool), scene.tools.get(tool)
    if schema is None:
        return Step(tool, skip="this tool is not installed", why=why, target=OpenImage())
    arguments: dict[str, Any] = {}
    slot = image_argument(schema)
    target = feeding_source(rule, slot, before, scene) if slot else None
    if target is None and not rule.converts and names_converted_picture(texts[0]):
        target = latest_picture(before, scene)
    target = target or OpenImage(image)
    needed = slot in schema.parameters.get("required", ())
    if slot and (needed or scene.images or not isinstance(target, OpenImage)):
        arguments[slot] = as_value(schema, slot, target)
    title = title_of(rule, slot, before, scene) if not isinstance(target, OpenImage) else None
    if title and title[0] in schema.parameters.get("properties", {}):
        arguments[title[0]] = title[1]
    arguments |= _argument_values(tool, texts, reading, scene, schema)
    alone = _other_images(schema, rule, arguments, texts[0], scene)
    arguments |= feed_arguments(schema, arguments, before, scene)
    skip = unsuitable_reason(tool, target, before, scene) or alone
    skip = skip or missing_arguments(schema, arguments, scene.plans)
    return Step(tool, arguments, why, skip, target)


def _argument_values(
    tool: str, texts: tuple[str, str], reading: Reading, scene: Scene, schema: ToolSchema
) -> dict[str, Any]:
    rule = scene.plans.rule(tool)
    known = schema.parameters.get("properties", {})
    denied, kinds = reading.denials_for(tool), reading.intent.kinds
    usual = usual_values(rule, reading.tokens, denied, kinds)
    found = {name: as_argument(vals, known[name]) for name, vals in usual.items() if name in known}
    named = find_values(rule, reading.tokens, reading.denials_for(tool))
    theirs = _words_for_other_tools(tool, reading, scene) if named else frozenset[int]()
    if theirs:
        own = [
            replace(token, forms=()) if place in theirs else token
            for place, token in enumerate(reading.tokens)
        ]
        named = find_values(rule, own, reading.denials_for(tool)) or named
    for name, values in named.items():
        if values and name in known:
            found[name] = as_argument(values, known[name])
    kinds = dict(zip(reading.kinds, _kinds_of(reading.kinds, scene), strict=True))
    keys = [key for key, kind in kinds.items() if tool in kind.tool_names] if rule.texts else []
    said = [reading.text_for(keys, text) for text in texts]
    texts_said = find_texts(rule, texts[0], texts[1], reading.tokens) | find_texts(
        rule, said[0], said[1]
    )
    # Words for the image were taken out.
    words = {name: _GAPS.sub(" ", said) for name, said in texts_said.items() if name in known}
    return words | found | find_numbers(rule, texts[0], schema)


def _with_suitable_alternatives(
    wanted: Sequence[str], reading: Reading, scene: Scene, shown: OpenImage
) -> list[str]:
    """Return the tools, with suitable alternatives for those that cannot use the image."""
    needs = [need for kind in _kinds_of(reading.kinds, scene) for need in kind.tools]
    found: list[str] = []
    for tool in wanted:
        groups = [need.tools for need in needs if isinstance(need, AnyOf) and tool in need.tools]
        if groups and tool not in needs and unsuitable_reason(tool, shown, (), scene):
            left_out = reading.intent.left_out
            able = [
                name
                for name in groups[0]
                if name in scene.tools
                and name not in left_out
                and not unsuitable_reason(name, shown, (), scene)
            ]
            tool = next(iter(able), tool)
        found.append(tool)
    return list(dict.fromkeys(found))


def _words_for_other_tools(tool: str, reading: Reading, scene: Scene) -> frozenset[int]:
    """Return the positions of words addressed only to other tools, in separate sentences.

    "Is the heart enlarged? Also outline the lungs." does not outline the heart. "Where are the
    lungs, and is the heart enlarged?" does: a request to show something covers its whole sentence.
    """
    parts = parts_of(reading.tokens)
    own: set[int] = set()
    others: set[int] = set()
    kinds = _kinds_of(reading.kinds, scene)
    for kind, matches in zip(kinds, reading.kinds.values(), strict=True):
        if kind.tools:
            asked = {parts.part_numbers[place] for match in matches for place in match.positions}
            (own if tool in kind.tool_names else others).update(asked)
    tokens = reading.tokens
    here = {tokens[place].sentence for place in parts.words(own)}
    return frozenset(
        place for place in parts.words(others - own) if tokens[place].sentence not in here
    )


def _latest_prior(
    others: Sequence[OpenImage], note: Mapping[str, Any], scene: Scene
) -> list[OpenImage]:
    """Return the latest of the images that are earlier than the shown one, in the same view.

    [] if the notes do not say which is earlier, or say it of another image than `note`'s.
    """
    days = {
        other: int(known["days_before_current"])
        for other in others
        if (known := scene.note(other)) is not None
        and known.get("days_before_current")
        and known.get("view") == note.get("view")
    }
    latest = [other for other in days if days[other] == min(days.values())]
    return latest if note is scene.images[0] else []


_NAMED_PRIOR = re.compile(
    rf"\b(?:as|is|als|ist)\s+(?:(?:the|an?|die|das|eine)\s+)?(?:{_PRIOR}|vor(?:aufnahme|bild)|"
    r"voruntersuchung|(?:frühere|fruehere|ältere|aeltere|alte)\w*)(?!\w)",
    re.IGNORECASE,
)


def _ordered(
    note: Mapping[str, Any], other: Any, text: str, scene: Scene
) -> tuple[OpenImage | None, OpenImage | None]:
    """Return (current, prior) where a question names the prior, or the dates exchange the two.

    `note` is of the image that was taken for the current one. (None, None) leaves them.
    """
    against = scene.note(other) if isinstance(other, OpenImage) else None
    if against is None:
        return None, None
    pair = OpenImage(str(against.get("id"))), OpenImage(str(note.get("id")))
    said = _NAMED_PRIOR.search(text)
    named = image_choice(text[: said.start()], scene.images).ids if said else ()
    if named:
        return pair if named[-1] == pair[1].id else (None, None)
    first = scene.images[0]
    later = note is first and against.get("later_than_current")
    earlier = against is first and note.get("days_before_current")
    return pair if later or earlier else (None, None)


def _other_images(
    schema: ToolSchema, rule: ToolRule, arguments: dict[str, Any], text: str, scene: Scene
) -> str:
    """Set the images of a tool that needs several: the current one, then others of its patient.

    If more suitable images are open than it needs, the latest earlier one in the same view is set;
    none where that would be a guess.

    Returns:
        The rule's clause for no suitable other image, if there is none; else "".
    """
    needed = schema.parameters.get("required", ())
    fields = schema.parameters.get("properties", {})
    names = [
        name for name in image_arguments(schema) if name in needed and not takes_list(fields[name])
    ]
    if len(names) < 2 or not scene.images:
        return ""
    shown = arguments.get(names[0])
    first = shown if isinstance(shown, OpenImage) else OpenImage()
    note = scene.note(first) or scene.images[0]
    others = [
        OpenImage(str(item.get("id")))
        for item in scene.images
        if item is not note
        and item.get("patient", 1) == note.get("patient", 1)
        and not unsuitable_image(rule.accepts, item)
    ]
    if len(others) > len(names) - 1 == 1 and rule.missing_image_clause:
        others = _latest_prior(others, note, scene) or others
    if len(others) == len(names) - 1:
        for name, other in zip(names[1:], others, strict=True):
            arguments.setdefault(name, other)
        if len(others) == 1 and rule.missing_image_clause:
            now, then = _ordered(note, arguments[names[1]], text, scene)
            if now is not None and then is not None:
                arguments[names[0]], arguments[names[1]] = now, then
    return "" if others else rule.missing_image_clause
