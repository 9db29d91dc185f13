"""The entry point of planning: `Planner.interpret` reads a question and returns its intent."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

from pydantic import BaseModel

from app.agent.image_reference import image_reference, resource_of, unsuitable_image
from app.agent.llm.base import ToolSchema
from app.agent.planning.classify import Reading, read_question
from app.agent.planning.clause_scope import AND, CANNOT, NOT_UNDERSTOOD, viewer_help
from app.agent.planning.image_choice import (
    ImageChoice,
    for_these_images,
    image_choice,
    may_concern_another_image,
    on_image,
    relevant_scene,
    unclear_text,
    without_group,
)
from app.agent.planning.mentions import Mention, with_phrases, without_phrases
from app.agent.planning.named_tools import plan_named_tools
from app.agent.planning.patients import for_patient, named_patients
from app.agent.planning.placed_images import (
    as_follow_up,
    image_in,
    may_be_the_patients_side,
    only_goes_on,
    placed_image,
    says_the_same,
    viewport_of,
)
from app.agent.planning.plain_questions import (
    no_image_text,
    no_record_text,
    no_rule_text,
    plan_plain_question,
)
from app.agent.planning.plan import (
    Decision,
    EarlierOutput,
    Intent,
    MissingValue,
    NoRule,
    OpenImage,
    Output,
    Reply,
    Scene,
    Step,
    ToolPlan,
)
from app.agent.planning.question_text import MAX_QUESTION, masked, normalised
from app.agent.planning.word_matches import pack_words
from app.agent.repeated_calls import NAME as REPEATED
from app.records.types import NoRecords, Records
from app.tools.api import Approval, Resource, Tool, ToolSpec
from app.tools.finding_names import known_words, words_of
from app.tools.pack_plan import NO_PLANS, Accepts, Earlier, Plans, QuestionKind, Spoken, SpokenCall
from app.tools.text_classifier import folded


@dataclass(frozen=True, slots=True)
class PlannedCall:
    """A planned call for display; "<image_path of step 1>" stands for a value not known yet."""

    step: int
    tool: str
    arguments: dict[str, Any]
    why: str


class Planner:
    """Interprets questions without a language model, by rules and the words that packs declare."""

    def __init__(self, plans: Plans = NO_PLANS) -> None:
        self.plans = plans

    def interpret(self, question: str, scene: Scene) -> Intent:
        """Return a question's intent, once per run; without the scene's plans, by our own."""
        scene = scene if scene.plans else replace(scene, plans=self.plans)
        intent = self._intent(question, scene)
        return replace(intent, of_view=any(pack.of_view(question) for pack in scene.plans.packs))

    def _intent(self, question: str, scene: Scene) -> Intent:
        question = _agreed(question, scene)
        if (on := _going_on(question, scene)) is not None:
            if on.told or _decides_on_another(on, scene):
                told = on.told or _WHICH_FINDING
                return Intent(question, scene, certain=True, plan=Reply(told, certain=True))
            return self._commands(question, on, scene, (), outlines=True)
        if (again := self._same_again(question, scene)) is not None:
            return again
        if len(scene.images) > 1 and only_goes_on(question):
            read = self._interpret(question, scene)
            return replace(read, plan=Reply(_NOT_READ.format(text=question)))
        spoken = _spoken(question, scene)
        if spoken is None:
            return self._interpret(question, scene)
        meant = _on_named_image(spoken, question, scene)
        if meant is None:
            return self._interpret(question, scene)
        spoken, named = meant
        taken = _taken_for_granted(spoken, scene)
        there = bool(taken) and all(scene.has(*one) for one in taken)
        if spoken.perhaps or not (spoken.sure or there or spoken.beside):
            read = self._interpret(question, scene)
            # An answer of others counts, unless it only says that the viewer was not understood,
            # or that none of its tools suits the image.
            runs = isinstance(read.plan, ToolPlan) and not all(one.skip for one in read.plan.steps)
            asks = "?" in question and isinstance(read.plan, ToolPlan)
            if runs or asks or (isinstance(read.plan, Reply) and not read.viewer):
                return read
            if spoken.perhaps:
                return replace(read, plan=Reply(_PERHAPS.format(text=spoken.perhaps)))
        if spoken.shared and not scene.shown:
            return self._interpret(question, scene)
        if _decides_on_another(spoken, scene):
            spoken = Spoken((), told=_WHICH_FINDING)
        elif _decides_there(question, spoken, scene):
            spoken = Spoken((), told=_WHICH_IMAGE)
        if spoken.told:
            return Intent(question, scene, certain=True, plan=Reply(spoken.told, certain=True))
        if not spoken.calls:
            read = self._interpret(question, scene)
            done = isinstance(read.plan, ToolPlan)
            return read if done else replace(read, plan=Reply("Nothing was changed."))
        spoken = _asking_others(spoken, scene)
        rest = _shared(question, spoken) if spoken.shared else spoken.rest
        on = named or _image_meant(question, rest, spoken, scene)
        other = self._interpret(rest, scene, on or "") if rest else None
        first = [*other.plan.steps] if other and isinstance(other.plan, ToolPlan) else []
        draws = any(not step.skip for step in first)
        taken = _taken_for_granted(spoken, scene)
        missing = bool(taken) and all(scene.is_missing(*one) for one in taken)
        if missing and not (spoken.decides or draws):
            whole = self._interpret(question, scene)
            if isinstance(whole.plan, ToolPlan):
                return whole  # "remove the uneven background" is about no finding
        if other is not None and on is None:
            words = spoken.rest.partition("\n\n")[0] or question
            told = replace(other, plan=Reply(_ON_WHICH.format(text=words)))
            other, first, draws = told, [], False
        if on:
            spoken = _on_that(spoken, on, scene)
        commands = self._commands(question, spoken, scene, first, outlines=other is None or draws)
        if spoken.beside:
            asked = other or self._interpret(spoken.rest, scene)
            return _beside(commands, asked, sure=spoken.sure)
        if other is None or (spoken.shared and first and not draws):
            return commands
        # What is accepted was seen before: nothing is drawn first that could be taken for it.
        return _joined(commands, other, said=spoken.rest, commands_first=spoken.decides)

    def _same_again(self, question: str, scene: Scene) -> Intent | None:
        """Return the intent of the question before on another image: "and on the prior?".

        None if the question says anything else, or what was asked is not to be repeated.
        """
        blank = _SAME.sub(" ", masked(normalised(question)))
        placed = placed_image(blank, scene.images, scene.shown)
        whole = blank
        if placed is None:
            blank = as_follow_up(blank)
            placed = placed_image(blank, scene.images, scene.shown)
        if placed is None or len(scene.images) < 2 or not says_the_same(blank, placed):
            return None
        for text in (one.text for one in reversed(scene.earlier) if one.role == "user"):
            before = masked(normalised(text))
            was = placed_image(before, scene.images, scene.shown)
            other = as_follow_up(before)
            also = was or placed_image(other, scene.images, scene.shown)
            if also is not None and says_the_same(before if was else other, also):
                continue  # "and on the left one?", "and on the right one?"
            named = was.ids if was is not None else ()
            placed = placed_image(blank, scene.images, scene.shown, named)
            if placed is None or len(placed.ids) != 1:
                return None
            (image,) = placed.ids
            asked = was.blanked(before) if was is not None else before
            spoken = _spoken(text, scene)
            if spoken is None and may_be_the_patients_side(whole, before):
                return None
            if spoken is None:
                made = self._interpret(" ".join(asked.split()), scene, image)
                return replace(made, question=question) if isinstance(made.plan, ToolPlan) else None
            return self._repeated(question, spoken, image, scene)
        return None

    def _repeated(self, question: str, spoken: Spoken, image: str, scene: Scene) -> Intent | None:
        """Return the intent of the commands before in the viewport of another image."""
        there = viewport_of(image, scene.shown)
        alike = all(
            "viewport" in scene.tools[c.tool].parameters["properties"] for c in spoken.calls
        )
        moves = any({"layout", "what"} & call.arguments.keys() for call in spoken.calls)
        if spoken.decides or spoken.takes_back or spoken.rest or not spoken.calls:
            return None
        if moves or not (there and alike):
            return None
        calls = tuple(
            replace(call, arguments={**call.arguments, "viewport": there}) for call in spoken.calls
        )
        return self._commands(question, replace(spoken, calls=calls), scene, (), outlines=True)

    def _commands(
        self,
        question: str,
        spoken: Spoken,
        scene: Scene,
        first: Sequence[Step],
        *,
        outlines: bool,
    ) -> Intent:
        """Return the intent of commands alone, which come after the steps `first`.

        What is to be zoomed to is outlined if it is not there and a tool can do that; not if what
        was asked besides cannot be done, since that may be what is meant.
        """
        calls = spoken.calls if outlines and not spoken.decides else ()
        wanted = dict.fromkeys(
            (str(call.arguments.get("to") or ""), _image_of(call, scene))
            for call in calls
            if call.names
        )
        steps: list[Step] = []
        for name, image in wanted:
            if not name or not scene.is_missing(name, image):
                continue
            outline = self._interpret(OUTLINE.format(name=name), scene, image).plan
            if isinstance(outline, ToolPlan) and not _does(outline, [*first, *steps]):
                steps += [step.behind(len(steps)) for step in outline.steps]
        steps += [
            Step(call.tool, dict(call.arguments), scene.plans.rule(call.tool).why)
            for call in spoken.calls
        ]
        plan = ToolPlan(tuple(steps), frozenset((_COMMAND,)))
        return Intent(
            question,
            scene,
            (_COMMAND,),
            wanted=tuple(dict.fromkeys(step.tool for step in steps)),
            certain=spoken.sure and not spoken.rest,
            plan=plan,
        )

    def _interpret(self, question: str, scene: Scene, on: str = "") -> Intent:
        """Return a question's intent; it is about the image `on` if it names none itself."""
        scene = replace(scene, plans=_plans_for(scene))
        text = normalised(question)
        said = named_patients(text, scene.records)
        blank = said.without_names(masked(text))
        which = image_choice(text, scene.images, scene.shown)
        if on and which == ImageChoice():
            which = ImageChoice((on,))
        if (placed := which.placed) is not None and which.ids:
            text, blank = placed.blanked(text), placed.blanked(blank)
            if which.ids == (scene.images[0].get("id"),):
                which = replace(which, ids=())  # the current one, as if none were named
        if which.group:
            blank = without_group(blank, which.group)
        named = _without_repetition(scene, blank)
        reading, note = _read(blank, named)
        which = _over_groups(which, reading, scene)
        relevant = relevant_scene(named, which)
        decided = _decide(question, text, blank, reading, which, relevant)
        if note and isinstance(decided, ToolPlan):
            decided = replace(decided, notes=(*decided.notes, note))
        plan = for_these_images(decided, which, replace(relevant, tools=scene.tools))
        if (placed is not None or on) and which.only_id and isinstance(plan, ToolPlan):
            plan = on_image(plan, which.only_id)
        if which.group and isinstance(plan, ToolPlan):
            plan = replace(plan, steps=tuple(_for_group(s, which.group, scene) for s in plan.steps))
        plan = for_patient(plan, said, scene)
        repeated = isinstance(plan, ToolPlan) and any(s.tool == REPEATED for s in plan.steps)
        viewer = viewer_help(reading.tokens, scene.note())
        if scene.shown and viewer.startswith(CANNOT):
            viewer = viewer.replace(CANNOT, NOT_UNDERSTOOD, 1)
        if isinstance(plan, NoRule):
            whole = len({(token.clause, token.text in AND) for token in reading.tokens}) == 1
            told = viewer if whole else f"{viewer} If you asked for more, ask for it on its own."
            plan = Reply(told, certain=whole) if viewer else NoRule(no_rule_text())
        elif viewer and isinstance(plan, Reply) and plan.text == no_record_text():
            plan = Reply(viewer)
        elif (
            viewer and isinstance(plan, ToolPlan) and not (said.patients or _of_record(plan, scene))
        ):
            plan = replace(plan, notes=(*plan.notes, viewer))
        return replace(
            reading.intent,
            question=question,
            scene=scene,
            images=which.ids,
            unclear_image="" if repeated else which.unclear,
            may_concern_other_images=may_concern_another_image(text) and not repeated,
            viewer=viewer if viewer.startswith((CANNOT, NOT_UNDERSTOOD)) else "",
            plan=plan,
        )

    def planned_calls(
        self,
        question: str,
        image_notes: Sequence[Mapping[str, Any]],
        tools: Sequence[Tool] | Sequence[ToolSchema],
        records: Records | None = None,
        record_patient: str = "",
    ) -> list[PlannedCall]:
        """Return the calls with which rules answer a question, without steps that cannot run."""
        schemas = [tool if isinstance(tool, ToolSchema) else schema_of(tool) for tool in tools]
        named = {schema.name: schema for schema in schemas}
        opened = NoRecords() if records is None else records
        scene = Scene(tuple(image_notes), named, records=opened, record_patient=record_patient)
        plan = self.interpret(question, scene).plan
        if not isinstance(plan, ToolPlan):
            return []
        numbers: dict[int, int] = {}
        calls: list[PlannedCall] = []
        for index, step in enumerate(plan.steps, start=1):
            if step.skip:
                continue
            try:
                items = step.arguments.items()
                arguments = {name: _displayed(value, numbers, scene) for name, value in items}
            except LookupError:
                continue  # the step cannot run
            numbers[index] = len(calls) + 1
            calls.append(PlannedCall(len(calls) + 1, step.tool, arguments, step.why))
        return calls


OUTLINE = "segment the {name}"
_COMMAND = "viewer command"
_PERHAPS = "Not understood, and not done. Did you mean “{text}”?"
_ASKED = re.compile(
    r"(?:Not understood, and not done\. Did you mean"
    r"|Nicht verstanden und nicht getan\. Meinten Sie)"
    r" [“„]([^”“]+)[”“][?]"
)
"""The whole of that answer: the same words within a language model's answer count for nothing."""
_YES = re.compile(
    r"(?:yes|yep|yeah|ja|jawohl|genau|right|correct|stimmt|ok|okay)"
    r"(?:[ ,]+(?:please|do|that|it|bitte|genau|gern\w*|mach|das))*[.!]?"
)
_ON_THAT = re.compile(
    r"\b(?:on|in|of|auf|in|von) (?:it|that|this one|that one|ihr|ihm|dem|dieser|diesem)\b(?! \w)"
    r"|\b(?:on|in|of) (?:this|that|the same) (?:film|image|picture|study)\b"
    r"|(?<!is )(?<!are )(?<!was )\bthere\b(?! (?:is|are|was|were)\b)|\b(?:dort|darin|darauf)\b"
    r"|\b(?:its|dessen|deren)\b",
    re.IGNORECASE,
)
_ON_WHICH = "Not done: “{text}”. Say on which image: click its viewport and ask again."
_WHICH_IMAGE = "Not done: say on which image. Click its viewport and ask again."
_THERE = re.compile(r"\b(?:there|dort|da)\b", re.IGNORECASE)
_SAME = re.compile(r"\b(?:the )?same\b", re.IGNORECASE)
_WHICH_FINDING = "Nothing was changed: say by name which finding is meant."
_MOST_BEFORE = 3
"""Messages before a decision on "it" in which a finding may be named."""
_NOT_READ = "Not understood, and not done: “{text}”."


def _decides_on_another(spoken: Spoken, scene: Scene) -> bool:
    """Return whether "it" is to be decided on while another finding was spoken of last.

    "Zoom to the heart", "what about the nodule?", "accept it": the heart is selected.
    """
    if not spoken.decides or not any(c.arguments.get("which") == "selected" for c in spoken.calls):
        return False
    if any(call.names for call in spoken.calls):
        return False
    meant = {word for label in scene.shown.get("it", ()) for word in words_of(str(label))}
    since = scene.shown.get("questions_since_click", _MOST_BEFORE + 1)
    if _nothing_was_done(scene) and since > _MOST_BEFORE:
        return True  # what was not understood may have been about another finding
    said = [one.text for one in reversed(scene.earlier) if one.role == "user"]
    for text in said[: min(since, _MOST_BEFORE)]:
        before = _spoken(text, scene)
        done = before is not None and before.calls
        names = (name for call in done for name in call.names) if done else [text]
        if done and any(not c.names and {"finding", "to"} & c.arguments.keys() for c in done):
            return False  # "the next finding" is it
        if named := {word for name in names for word in words_of(name)} & known_words():
            return not named & meant
    return False


def _nothing_was_done(scene: Scene) -> bool:
    """Return whether the question before was answered without a tool."""
    last = [one.role for one in scene.earlier]
    while last and last[-1] == "user":
        last.pop()  # the question itself
    turn = last[len(last) - last[::-1].index("user") :] if "user" in last else []
    return "assistant" in turn and "tool" not in turn


def _decides_there(question: str, spoken: Spoken, scene: Scene) -> bool:
    """Return whether it is decided on a finding "there", where several viewports may be meant."""
    several = len(scene.shown.get("viewports", ())) > 1
    named = all("viewport" in call.arguments for call in spoken.calls)
    return several and spoken.decides and not named and _THERE.search(question) is not None


def _taken_for_granted(spoken: Spoken, scene: Scene) -> list[tuple[str, str]]:
    """Return the findings that commands need, each with the id of its image ("": the current)."""
    return [
        (name, _image_of(call, scene))
        for call in spoken.calls
        if "to" not in call.arguments  # what is zoomed to can be outlined first
        for name in call.names
    ]


def _image_meant(question: str, rest: str, spoken: Spoken, scene: Scene) -> str | None:
    """Return the id of the image that is meant by what is asked beside commands.

    It is that in the one viewport that they name, if they come first: "Invert the right one and
    measure the heart".

    Returns:
        "" for the current one; None if it is not clear, since the commands change what is shown.
    """
    changing = [call for call in spoken.calls if {"layout", "what"} & call.arguments.keys()]
    which = image_choice(spoken.rest, scene.images, scene.shown)
    if which.placed is not None:
        shown = [_image_named(str(call.arguments.get("viewport", "")), scene) for call in changing]
        # "Show the prior on the right, measure the heart in the left viewport."
        elsewhere = all(shown) and which.only_id not in shown
        moved = bool(changing) and which.placed.by_place and not (which.ids and elsewhere)
        return None if moved or (spoken.shared and not which.ids) else which.only_id
    viewports = (call.arguments.get("viewport") for call in spoken.calls)
    named = {str(one) for one in viewports if one and one != "all"}
    refers = _ON_THAT.search(rest) is not None
    if which != ImageChoice() or not (named or changing):
        return ""
    if changing or len(named) > 1:
        return None if refers else ""
    image = _image_named(named.pop(), scene)
    begins = folded(question).find(folded(spoken.rest)[:12])
    return image or None if refers or begins > 0 else ""


def _image_named(viewport: str, scene: Scene) -> str:
    """Return the id of the image in a viewport that an argument names; "" if that is not clear."""
    if not viewport:
        return ""
    by_year = [n for n in scene.images if str(n.get("study_date") or "").startswith(viewport)]
    if len(viewport) == len("2024") and by_year:
        return str(by_year[0].get("id")) if len(by_year) == 1 else ""
    return image_in(viewport, scene.shown)


def _on_named_image(spoken: Spoken, question: str, scene: Scene) -> tuple[Spoken, str] | None:
    """Return the commands for the image that the question names, where they have lost that.

    "Invert the film of 2022".

    Returns:
        The commands and the id of that image, "" if they have it; None if others are asked.
    """
    which = image_choice(question, scene.images, scene.shown)
    says = any({"viewport", "layout", "what"} & call.arguments.keys() for call in spoken.calls)
    if which.placed is None or says or not (spoken.calls or spoken.perhaps):
        return spoken, ""
    if image_choice(spoken.rest, scene.images, scene.shown).placed is not None:
        return spoken, ""
    if not which.ids and not (which.placed.by_place or re.search(r"\d{4}", which.placed.said)):
        return spoken, ""  # "the second one I clicked" is no image
    current = scene.images[0].get("id") if scene.images else ""
    if which.only_id and which.only_id == current and not spoken.perhaps:
        return spoken, ""
    for instead in ("", "this image"):
        start, end = which.placed.spans[0]
        bare = " ".join(f"{question[:start]}{instead}{question[end:]}".split())
        again = _spoken(bare, scene) if which.only_id else None
        if again is not None and again.calls and not again.perhaps:
            return _on_that(again, which.only_id, scene), which.only_id
    if which.many or not spoken.calls:
        return None
    told = _WHICH_IMAGE if which.ids else unclear_text(which, scene)
    return Spoken((), told=told), ""


def _on_that(spoken: Spoken, on: str, scene: Scene) -> Spoken:
    """Return the commands for the viewport of the image `on`, which was named before.

    "Measure the heart on the right one, then zoom to it."
    """
    viewport = viewport_of(on, scene.shown)
    if not viewport or on == scene.images[0].get("id"):
        return spoken

    def there(call: SpokenCall) -> SpokenCall:
        fields = scene.tools[call.tool].parameters.get("properties", {})
        takes = "viewport" in fields and not {"viewport", "layout", "what"} & call.arguments.keys()
        return replace(call, arguments={**call.arguments, "viewport": viewport}) if takes else call

    return replace(spoken, calls=tuple(map(there, spoken.calls)))


def _image_of(call: SpokenCall, scene: Scene) -> str:
    """Return the id of the image in a call's viewport, if that is not the current image."""
    image = _image_named(str(call.arguments.get("viewport") or ""), scene)
    return "" if scene.images and image == scene.images[0].get("id") else image


def _agreed(question: str, scene: Scene) -> str:
    """Return the command that the user was asked about, if the question is a yes to that."""
    last = next((one.text for one in reversed(scene.earlier) if one.role == "assistant"), "")
    asked = _ASKED.fullmatch(last.strip()) if _YES.fullmatch(question.strip().casefold()) else None
    return asked[1] if asked else question


def _spoken(question: str, scene: Scene) -> Spoken | None:
    """Return the commands in a question that an available tool carries out as said."""
    # A tool that no pack plans for is asked for in the words that it declares.
    own = (said for tool in _without_planned_phrases(scene).values() for said in tool.phrases)
    if question.strip(" .!").casefold() in map(str.casefold, own):
        return None
    for pack in scene.plans.packs:
        found = pack.spoken(question) if pack.spoken is not None else None
        if found is not None and all(call.tool in scene.tools for call in found.calls):
            return found
    return None


def _going_on(question: str, scene: Scene) -> Spoken | None:
    """Return the commands of a question that only goes on from those before: "and the heart"."""
    before: list[Earlier] = []
    for one in scene.earlier:
        if one.role == "user":
            before.append(Earlier(one.text, failed=True))
        elif one.role == "tool" and one.ok and before:
            before[-1] = before[-1]._replace(failed=False)
    if scene.earlier and scene.earlier[-1].role == "user":
        before.pop()  # the question itself
    if not before or not scene.shown:
        return None
    for pack in scene.plans.packs:
        found = pack.goes_on(question, before, len(scene.images) < 2) if pack.goes_on else None
        if found is not None and all(call.tool in scene.tools for call in found.calls):
            return found
    return None


def _shared(question: str, spoken: Spoken) -> str:
    """Return what other packs are to answer of a question whose commands are theirs as well."""
    theirs = [*filter(None, (call.question for call in spoken.calls if not call.names))]
    return ". ".join([*theirs, *filter(None, [spoken.rest])]) if theirs else question


def _asking_others(spoken: Spoken, scene: Scene) -> Spoken:
    """Return the commands without those that tell of a finding which is not there, as questions.

    "Measure the heart width, then zoom in" asks other packs, unless the width was measured.
    """
    asked = [
        call
        for call in spoken.calls
        if call.question
        and any(scene.is_missing(name, _image_of(call, scene)) for name in call.names)
    ]
    left = tuple(call for call in spoken.calls if call not in asked)
    if not asked or not left:
        return spoken
    rest = [*filter(None, [spoken.rest]), *(call.question for call in asked)]
    return replace(spoken, calls=left, rest=". ".join(rest))


def _does(plan: ToolPlan, steps: Sequence[Step]) -> bool:
    """Return whether steps do all that a plan does: who outlines both lungs has the left one."""

    def covers(step: Step, wanted: Step) -> bool:
        said, asked = step.arguments, wanted.arguments
        return (
            (step.tool, step.skip, said.keys()) == (wanted.tool, wanted.skip, asked.keys())
        ) and all(
            set(value) <= set(said[name])
            if isinstance(value, list) and isinstance(said[name], list)
            else value == said[name]
            for name, value in asked.items()
        )

    return all(any(covers(step, wanted) for step in steps) for wanted in plan.steps)


def _joined(commands: Intent, rest: Intent, *, said: str, commands_first: bool) -> Intent:
    """Return the intent of commands and what else is asked, which the tools usually do first."""
    done = commands.plan
    assert isinstance(done, ToolPlan)
    if isinstance(rest.plan, ToolPlan):
        steps = (rest.plan.steps, done.steps)
        first, then = steps[::-1] if commands_first else steps
        plan = replace(
            rest.plan,
            steps=(*first, *(step.behind(len(first)) for step in then)),
            topics=rest.plan.topics | done.topics,
        )
        wanted = tuple(dict.fromkeys((*rest.wanted, *commands.wanted)))
        kinds = (*rest.kinds, *commands.kinds)
        whole = replace(rest, question=commands.question, kinds=kinds, wanted=wanted, plan=plan)
        return replace(whole, viewer="")
    told = ""
    if said:
        words = said.partition("\n\n")[0]  # without what the window adds below a question
        told = rest.plan.text if isinstance(rest.plan, Reply) else _NOT_READ.format(text=words)
    notes = (*done.notes, told) if told else done.notes
    return replace(commands, certain=not said, plan=replace(done, notes=notes))


def _beside(commands: Intent, others: Intent, *, sure: bool) -> Intent:
    """Return the intent of what others answer, with commands that only tell something beside it.

    The commands take no part in whether the question is answered.
    """
    done = commands.plan
    assert isinstance(done, ToolPlan)
    question = commands.question
    if not isinstance(others.plan, ToolPlan):
        alone = replace(commands, wanted=(), certain=False)
        return alone if sure and commands.scene.shown else replace(others, question=question)
    if not commands.scene.shown:
        return replace(others, question=question)
    plan = replace(
        others.plan,
        steps=(*others.plan.steps, *(step.behind(len(others.plan.steps)) for step in done.steps)),
        topics=others.plan.topics | done.topics,
    )
    return replace(others, question=question, viewer="", plan=plan)


def schema_of(tool: Tool) -> ToolSchema:
    """Return a tool's schema in the form that a model sees."""
    return described(tool.spec, _arguments_of(tool.spec.Input))


@cache
def _arguments_of(input_type: type[BaseModel]) -> dict[str, Any]:
    """Return the JSON schema of a tool's arguments. It is cached, so do not modify it."""
    return input_type.model_json_schema()


def described(spec: ToolSpec, parameters: dict[str, Any]) -> ToolSchema:
    """Return a tool's schema, with the JSON schema of its arguments."""
    repeatable = spec.approval in (Approval.READ, Approval.COMPUTE)
    return ToolSchema(
        spec.name,
        spec.description,
        parameters,
        spec.phrases,
        spec.title,
        repeatable,
        spec.other_names,
    )


def _of_record(plan: ToolPlan, scene: Scene) -> bool:
    """Return whether a step reads a patient's record, which has what the image's header has."""
    tools = {t for _, kind in scene.plans.kinds() if kind.needs_record for t in kind.tool_names}
    return any(step.tool in tools for step in plan.steps)


def _over_groups(which: ImageChoice, reading: Reading, scene: Scene) -> ImageChoice:
    kinds = pack_words(scene.plans.packs).kinds
    grouped = [note for note in scene.images if note.get("group")]
    if which != ImageChoice() or len({note["group"] for note in grouped}) < 2:
        return which
    if not any(kinds[key].over_groups for key in reading.kinds):
        return which
    return replace(which, many=tuple(str(note["id"]) for note in grouped))


def _read(blank: str, scene: Scene) -> tuple[Reading, str]:
    """Return a question as read, and what the answer must say of it besides.

    Without an image, a question about one is read as a question about the record if that is open
    ("does he have heart failure?"); without both, as one that needs neither if it is one then
    ("cough and fever, pneumonia?").
    """
    reading = read_question(blank, scene.plans, scene.tools)
    book = pack_words(scene.plans.packs).kinds
    recorded = bool(scene.records.count())
    lacks = not recorded and any(book[key].needs_record for key in reading.kinds)
    if scene.images or not (reading.intent.needs_image or lacks):
        return reading, ""
    packs = (
        replace(
            pack,
            kinds=tuple(
                kind
                for kind in pack.kinds
                if not kind.needs_image and (recorded or not kind.needs_record)
            ),
        )
        for pack in scene.plans.packs
    )
    again = read_question(blank, Plans(packs, scene.plans.owner), scene.tools)
    wanted = set(again.intent.wanted)
    free = any(book[key].beyond_images and book[key].tools for key in again.kinds)
    if not wanted or not (recorded or free):
        return reading, ""
    return again, no_image_text() if recorded and wanted < set(reading.intent.wanted) else ""


def _plans_for(scene: Scene) -> Plans:
    """Return the packs' plans without the kinds of question that the scene excludes."""
    note = scene.note()
    ran = {message.tool for message in scene.earlier if message.ok}

    def counts(kind: QuestionKind) -> bool:
        if kind.after and ran.isdisjoint(kind.after):
            return False
        if kind.only_for == Accepts():
            return True
        return note is not None and not unsuitable_image(kind.only_for, note)

    packs = scene.plans.packs
    owner = next((pack.pack for pack in packs if note is not None and pack.owns(note)), "")
    fit = (replace(p, kinds=tuple(kind for kind in p.kinds if counts(kind))) for p in packs)
    return Plans(fit, owner)


def _decide(
    question: str, text: str, blank: str, reading: Reading, which: ImageChoice, scene: Scene
) -> Decision:
    """Return the plan, reply or `NoRule` for a question.

    `text` is the normalised question, `blank` the same with the contents of quoted strings blanked.
    The scene is without earlier results on other images.
    """
    mentions = reading.mentions
    plain = scene
    scene = replace(scene, tools=_without_planned_phrases(scene))
    besides = _besides_phrases(blank, mentions, scene)
    before = besides.steps if isinstance(besides, ToolPlan) else ()
    explicit = plan_named_tools(text, scene, before, mentions)
    if explicit is None:
        said = with_phrases(blank, mentions, scene.tools)
        denied = {item.name for item in said if item.negated}
        return plan_plain_question(
            blank, plain, denied, image=which.only_id, text=text, reading=reading
        )
    wider = _in_words(blank, text, mentions, explicit, scene, which.only_id)
    if wider is not None:
        return wider
    if isinstance(explicit, ToolPlan) and not scene.images and _needs_image(explicit):
        return Reply(no_image_text())
    if isinstance(explicit, ToolPlan) and len(question) > MAX_QUESTION:
        cut = f"Only the first {MAX_QUESTION:,} characters of the question were read."
        explicit = replace(explicit, notes=(cut, *explicit.notes))
    if isinstance(explicit, ToolPlan) and isinstance(besides, ToolPlan):
        return replace(explicit, topics=explicit.topics | besides.topics)
    return explicit


def _besides_phrases(blank: str, mentions: Sequence[Mention], scene: Scene) -> Decision | None:
    """Plan the rest beside a tool's phrase ("count the cells and show it"), or return None."""
    rest = None if mentions else without_phrases(blank, scene.tools)
    if rest is None:
        return None
    return plan_plain_question(rest, scene, image=image_choice(rest, scene.images).only_id)


def _for_group(step: Step, group: str, scene: Scene) -> Step:
    """Return the step with the group that the question names, if its tool takes one."""
    schema = scene.tools.get(step.tool)
    fields: Mapping[str, Any] = schema.parameters.get("properties", {}) if schema else {}
    free = (n for n, f in fields.items() if resource_of(f) is Resource.GROUP)
    added = {name: group for name in free if name not in step.arguments}
    images = step.tool == REPEATED  # it has its images, or the group already
    return step if images or not added else replace(step, arguments={**step.arguments, **added})


def _without_repetition(scene: Scene, blank: str) -> Scene:
    """Return the scene without the tool whose name anybody says who means each image."""
    if REPEATED in blank:
        return scene
    return replace(scene, tools={k: tool for k, tool in scene.tools.items() if k != REPEATED})


def _without_planned_phrases(scene: Scene) -> Mapping[str, ToolSchema]:
    """Return the tools, without the phrases of those whose pack declares words for them."""
    planned = {name for _, kind in scene.plans.kinds() for name in kind.tool_names}
    return {
        name: replace(tool, phrases=()) if name in planned else tool
        for name, tool in scene.tools.items()
    }


def _in_words(
    blank: str,
    text: str,
    mentions: Sequence[Mention],
    explicit: Decision,
    scene: Scene,
    image: str,
) -> ToolPlan | None:
    """Return the plan in plain words if it does more than run the named tools, else None.

    "Measure the cardiothoracic ratio and outline the heart" happens to contain a tool's name, and
    asks for more than that tool.
    """
    spelt = any("_" in blank[item.start : item.end] or "-" in item.name for item in mentions)
    if spelt or not mentions or not isinstance(explicit, ToolPlan):
        return None
    denied = {item.name for item in mentions if item.negated}
    natural = plan_plain_question(blank, scene, denied, image=image, text=text)
    named = {step.tool for step in explicit.steps}
    if isinstance(natural, ToolPlan) and named < {step.tool for step in natural.steps}:
        return natural
    return None


def _needs_image(plan: ToolPlan) -> bool:
    """Return whether the first step that can run needs an open image."""
    runnable = [step for step in plan.steps if not step.skip]
    first = runnable[0] if runnable else None
    return first is not None and any(isinstance(item, OpenImage) for item in first.sources())


def _displayed(value: Any, numbers: Mapping[int, int], scene: Scene) -> Any:
    """Return an argument's value for display; raise LookupError if there is none."""
    match value:
        case list():
            return [_displayed(item, numbers, scene) for item in value]
        case Output(step, key) if step in numbers:
            return f"<{key} of step {numbers[step]}>"
        case OpenImage() | Output(fallback=True):
            note = scene.note(value if isinstance(value, OpenImage) else None)
            if note is None:
                raise LookupError
            return image_reference(note)
        case EarlierOutput(path):
            return path
        case Output() | MissingValue():
            raise LookupError
        case _:
            return value
