"""What a pack tells the planner, as data: its words, what answers what, what comes before what.

A pack says in `register(registry)`, beside its tools:

    registry.plan(PackPlan(pack="cells", kinds=(...), tools=(...), successors=(...)))

The planner knows no tool by name: whatever it decides it takes from here. Nothing in this file
decides anything.

Words are written as a user would, in any language, in small letters: "count", "how many". They
match whole words ("count" is not in "account"); a `*` stands for any further letters ("segment*",
"*segmentierung"), and a space for any space or hyphen. Several words in one entry are a phrase:
between them nothing stands but articles and the like, and for ` .. ` up to five other words
("heart .. enlarg*"); `big|large heart` is "big heart" and "large heart". A plural's s, accents and
the spelling of umlauts need no words of their own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum

from app.tools.result_wording import AnswerContext, CallResult, Disagreement, ResultWording


def phrases(text: str) -> tuple[str, ...]:
    """Return the words and phrases of a comma-separated list: "count, how many, zähl*"."""
    return tuple(" ".join(entry.split()) for entry in text.split(",") if entry.strip())


def any_of(*words: str) -> str:
    """Alternatives for one word of an entry.

    Raises:
        ValueError: One of them is more than a word.
    """
    phrases = [word for word in words if " " in word or "-" in word]
    if phrases:
        raise ValueError(f"alternatives are single words: {', '.join(phrases)}")
    return "|".join(words)


class Priority(IntEnum):
    """How readily a tool is chosen among those that do the same work."""

    EXCLUDED = 0
    """Never for a question, whoever chooses it."""
    LOW = 1
    """Only where nothing better is there, or where the user names it."""
    NORMAL = 2
    HIGH = 3


@dataclass(frozen=True, slots=True)
class AnyOf:
    """One of these tools suffices; the one whose words the question has, else the first."""

    tools: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class AllOf:
    """All of these tools."""

    tools: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class QuestionKind:
    """A kind of question: how it is recognised, and the least that answers it.

    Attributes:
        name: "counting", "full analysis"; unique within the pack.
        words: Any of them makes a question one of this kind.
        with_kinds: Kinds of the same pack that must be there as well ("where" with "disease").
        beats: Kinds that are not meant where this one is: comparison wins over counting. It beats
            none where all of its own tools are left out.
        tools: What answers it, in the order in which it runs. A tool that is not installed is
            skipped; a recommended one is named by a `Successor`, not here.
        certain: Where the question says nothing else, rules alone may answer it without a model.
        needs_image: It is about an open image.
        unless: Words with which it is not meant in the same clause: "liver" where nothing of the
            pack outlines one.
        alone: It is meant only where no other kind is that tools answer: "show the image".
        counts_as: Another kind of the pack that its words make a question as well.
        bare: Its words are so common that it is meant only where its clause holds no word that no
            pack knows: "is it normal?", not "is that normal for the program?".
        by_eye: Whoever sees the picture can answer it: a model that was sent it need not run the
            tools ("what do you see?").
        whole: The part of the question that has its words is said to its tools: no kind of any pack
            is meant there that is not one itself ("ask CheXagent whether the heart is enlarged").
            In other parts it beats none.
        addressed: Its words name somebody who is asked. What follows is said to them as well, even
            if it is a question of its own: "CheXagent, is the heart enlarged?".
        means: Kinds whose words mean this one's work wherever in the question they stand, unless
            their part names what they are done to: "I drew a box. Outline it", but "outline the
            heart".
        again: Its tools run again even if an earlier question has their result. Otherwise only
            the last one runs, fed by that result: "show the overlay".
    """

    name: str
    words: tuple[str, ...] = ()
    with_kinds: tuple[str, ...] = ()
    beats: tuple[str, ...] = ()
    tools: tuple[str | AnyOf, ...] = ()
    certain: bool = False
    needs_image: bool = True
    unless: tuple[str, ...] = ()
    alone: bool = False
    counts_as: str = ""
    bare: bool = False
    by_eye: bool = False
    again: bool = True
    whole: bool = False
    addressed: bool = False
    means: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Feed:
    """Where an argument comes from when nobody gives it: an earlier call's output.

    Attributes:
        argument: Of the tool that is fed.
        tools: The latest call of any of these that ended well; () for any that makes a picture.
        key: Key of its `output`; "" for the one under which it makes a picture (`makes`).
        title: Argument that takes what that picture is called, "" for none.
    """

    argument: str
    tools: tuple[str, ...]
    key: str
    title: str = ""


@dataclass(frozen=True, slots=True)
class Accepts:
    """Which images a tool is for; () for any.

    Attributes:
        kinds: "dicom", "picture", as in the notes on open images.
        modalities: DICOM's Modality. An image that states none is taken.
        body_parts: Pieces of BodyPartExamined. An image that states none is taken.
        what: How such an image is called: "a chest radiograph (CR, DX)".
        asks: The tool itself asks the user before it takes another one. Named by the user, or
            called by a model, it is then not refused beforehand.
    """

    kinds: tuple[str, ...] = ()
    modalities: tuple[str, ...] = ()
    body_parts: tuple[str, ...] = ()
    what: str = ""
    asks: bool = False


@dataclass(frozen=True, slots=True)
class ValueWords:
    """Words that name a value of an argument: "collarbone" means organs=["Left Clavicle", ...].

    Attributes:
        argument: The argument, a list or a single value.
        value: The value; with `sided`, "{side} Clavicle" for "Left" and "Right".
        words: What names it.
        sided: It has a left and a right one; both are meant where no side is named.
    """

    argument: str
    value: str
    words: tuple[str, ...]
    sided: bool = False


@dataclass(frozen=True, slots=True)
class NumberWords:
    """Numbers that follow a word: "window 40/400" means window_center=40, window_width=400.

    Attributes:
        arguments: The arguments, in the order of the numbers.
        words: What stands before them.
    """

    arguments: tuple[str, ...]
    words: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class TextWords:
    """An argument that takes words of the question: "a box around the left effusion".

    Attributes:
        argument: The argument.
        after: What stands before its text, which goes to the end of the sentence; () where it takes
            the whole question.
        about: What it speaks of. Where nothing of `after` stands, it is what is said around the
            first of these words: "RLL consolidation, box".
        whole: Where nothing of `after` stands, it is all that is said to the tool.
        quoted: What the question quotes goes before all that: "box 'the rounded opacity'".
    """

    argument: str
    after: tuple[str, ...] = ()
    about: tuple[str, ...] = ()
    whole: bool = False
    quoted: bool = False


@dataclass(frozen=True, slots=True)
class Discovery:
    """How to look what there really is, when a call found nothing where something was expected.

    Attributes:
        tool: Lists what exists (modalities, field values, names); it must read only.
        key: Key of its `output`: a list of names, or a table of them by the argument's value.
        argument: The argument of the empty call that is then set to the nearest existing name.
    """

    tool: str
    key: str
    argument: str


@dataclass(frozen=True, slots=True)
class ToolRule:
    """What the planner knows of one tool.

    Attributes:
        tool: Its name.
        why: A few words for the plan: "outlines each nucleus".
        words: The things it is about ("nucleus", "nuclei"): they choose it among alternatives.
        leave_out: Words that leave it out after "don't", "without", "no", "nicht", ...
        priority: See `Priority`.
        requires: What must have ended well in this conversation before it may run; each of them.
        feeds: Where its arguments come from.
        accepts: Which images it is for.
        values: Words for values of its arguments.
        empty: Keys of its `output`. All of them missing, empty or 0: it found nothing, which is
            suspicious where a question needs the tool.
        missing: Keys of its `output` or `metadata` that list what was looked for and not found.
        discovery: How to look what there is when it found nothing.
        makes: Key of its `output` under which it returns a picture, "" for none.
        made: What a user calls that picture: "segmentation overlay", "converted image".
        converts: That picture shows the same as the image it was given.
        stage: Below 0 it runs before what else answers a question, above 0 after it.
        numbers: Numbers after a word: "window 40/400".
        usual: What arguments are where a question in plain words names none: (name, values).
        texts: Arguments that take words of a question in plain words.
    """

    tool: str
    why: str = ""
    words: tuple[str, ...] = ()
    leave_out: tuple[str, ...] = ()
    priority: Priority = Priority.NORMAL
    requires: tuple[AnyOf | AllOf, ...] = ()
    feeds: tuple[Feed, ...] = ()
    accepts: Accepts = Accepts()
    values: tuple[ValueWords, ...] = ()
    empty: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    discovery: Discovery | None = None
    makes: str = ""
    made: tuple[str, ...] = ()
    converts: bool = False
    stage: int = 0
    numbers: tuple[NumberWords, ...] = ()
    usual: tuple[tuple[str, tuple[str, ...]], ...] = ()
    texts: tuple[TextWords, ...] = ()


@dataclass(frozen=True, slots=True)
class Successor:
    """What comes next, after a call that ended well.

    Attributes:
        after: Any of these tools.
        then: The tool that follows.
        kinds: Only for questions of these kinds; () for any.
        mandatory: Whoever plans, it is run next. Otherwise it is recommended: planned by rules,
            left out without an override by a model that does not want it.
        reason: Why, for the plan.
    """

    after: tuple[str, ...]
    then: str
    kinds: tuple[str, ...] = ()
    mandatory: bool = True
    reason: str = ""


@dataclass(frozen=True, slots=True)
class PackPlan:
    """All that one pack tells the planner.

    Attributes:
        pack: Its name.
        kinds: The kinds of question that it answers.
        tools: A rule for each of its tools that needs one.
        alternatives: Groups of tools that do the same work; priorities count within a group.
        successors: What follows what.
        tellers: How results are told without a language model.
        unanswered: What was asked and no result answers, a sentence each.
        disagreements: Where results contradict each other.
        caveats: Words of a warning that is about the image and not about one call ("mirrored"): of
            its tools' results it stands behind every answer on that image.
        suggestions: Questions that the window offers before the first one is asked.
        marked_question: Question that has what the user marked on the image outlined; the window
            asks it from the menu of a mark. It names the tool, so that every planner runs it.
    """

    pack: str
    kinds: tuple[QuestionKind, ...] = ()
    tools: tuple[ToolRule, ...] = ()
    alternatives: tuple[AnyOf, ...] = ()
    successors: tuple[Successor, ...] = ()
    wordings: tuple[ResultWording, ...] = ()
    unanswered: Callable[[AnswerContext], Sequence[str]] | None = None
    disagreements: Callable[[Sequence[CallResult]], Sequence[Disagreement]] | None = None
    caveats: tuple[str, ...] = ()
    suggestions: tuple[str, ...] = ()
    marked_question: str = ""


class Plans:
    """What all packs tell, to be looked up by tool and by kind.

    Args:
        packs: In the order in which they were registered.
    """

    def __init__(self, packs: Iterable[PackPlan] = ()) -> None:
        self.packs = tuple(packs)
        self._rules: Mapping[str, ToolRule] = {
            rule.tool: rule for pack in self.packs for rule in pack.tools
        }

    def __bool__(self) -> bool:
        """Whether any pack tells anything."""
        return bool(self.packs)

    def rule(self, tool: str) -> ToolRule:
        """What is known of a tool; an empty rule for one that no pack speaks of."""
        return self._rules.get(tool) or ToolRule(tool)

    def rules(self) -> tuple[ToolRule, ...]:
        """Every tool's rule."""
        return tuple(self._rules.values())

    def kinds(self) -> Iterator[tuple[PackPlan, QuestionKind]]:
        """Every kind of question, with the pack that answers it."""
        for pack in self.packs:
            for kind in pack.kinds:
                yield pack, kind

    def kind(self, name: str) -> QuestionKind | None:
        """The first kind of that name."""
        return next((kind for _, kind in self.kinds() if kind.name == name), None)

    def caveats(self, tool: str) -> tuple[str, ...]:
        """The words of a tool's warnings that its pack wants behind every answer on the image."""
        packs = (pack for pack in self.packs if any(rule.tool == tool for rule in pack.tools))
        return tuple(word for pack in packs for word in pack.caveats)

    def wording(self, tool: str) -> ResultWording:
        """How results of a tool are told; an empty one where no pack says."""
        return next((item for item in self.wordings() if item.tool == tool), ResultWording(tool))

    def wordings(self) -> Iterator[ResultWording]:
        """How results are told, in the packs' order."""
        for pack in self.packs:
            yield from pack.wordings

    def alternatives(self, tool: str) -> tuple[str, ...]:
        """Tools that do the same work, the readiest first; the tool itself is among them."""
        found = [
            other
            for pack in self.packs
            for group in pack.alternatives
            if tool in group.tools
            for other in group.tools
        ]
        unique = dict.fromkeys([*found, tool])
        return tuple(sorted(unique, key=lambda name: -self.rule(name).priority))

    def successors(self, tool: str, kinds: Iterable[str]) -> tuple[Successor, ...]:
        """What comes after `tool` for a question of these kinds, in the packs' order."""
        asked = frozenset(kinds)
        return tuple(
            item
            for pack in self.packs
            for item in pack.successors
            if tool in item.after and (not item.kinds or asked & frozenset(item.kinds))
        )


NO_PLANS = Plans()
