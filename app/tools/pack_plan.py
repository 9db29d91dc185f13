"""Types by which a pack declares which questions its tools answer, and rules for each tool.

A pack adds its plan and its tools in `register(registry)`:

    registry.plan(PackPlan(pack="cells", kinds=(...), tools=(...), successors=(...)))

The planner knows no tool by name: it decides only by these declarations, which are data without any
logic.

Words are written as a user would write them, in any language, in lower case: "count", "how many".
They match whole words ("count" does not match "account"); `*` stands for any further letters
("segment*", "*segmentierung"), and a space for any space or hyphen. Several words in one entry are
a phrase: between them only articles and the like may stand, or up to five other words if the entry
has ` .. ` there ("heart .. enlarg*"). `big|large heart` is "big heart" and "large heart". Plurals
with s, accents and spellings of umlauts need no entries of their own. `phrases` makes entries from
a comma-separated text.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any, NamedTuple

from app.paths import resources_dir
from app.tools.result_wording import AnswerContext, CallResult, Data, Disagreement, ResultWording


def phrases(text: str) -> tuple[str, ...]:
    """Return the words and phrases of a comma-separated list: "count, how many, zähl*"."""
    return tuple(" ".join(entry.split()) for entry in text.split(",") if entry.strip())


def word_lists(name: str) -> dict[str, str]:
    """Return the comma-separated word lists in `resources/words/{name}.txt` by section name.

    In them, {SECTION} stands for the words of another section; lines with # are comments.
    """
    text = (resources_dir() / "words" / f"{name}.txt").read_text("utf-8")
    text = re.sub(r"^#.*\n", "", text, flags=re.MULTILINE)
    found = re.findall(r"^\[([A-Z_]+)\]\n([^\[]+)", re.sub(r"\|\s+", "|", text), re.MULTILINE)
    lists = {section: words.strip() for section, words in found}
    inserts = {section: " ".join(words.split()) for section, words in lists.items()}
    for section in lists:
        while "{" in lists[section]:
            lists[section] = lists[section].format_map(inserts)
    return lists


def value_lists(text: str) -> dict[str, tuple[str, ...]]:
    """Return the words for each value in a section of lines "value = word, word"."""
    lines = (line.partition("=") for line in text.splitlines())
    return {value.strip(): phrases(words) for value, sign, words in lines if sign}


def pack_prompt(pack: str) -> str:
    """Return the text in `resources/prompts/{pack}.txt`, a pack's own instructions for a model."""
    return (resources_dir() / "prompts" / f"{pack}.txt").read_text("utf-8").strip()


def any_of(*words: str) -> str:
    """Join single words to one part of a phrase that matches any of them: "big|large".

    Raises:
        ValueError: One of them is more than one word.
    """
    longer = [word for word in words if " " in word or "-" in word]
    if longer:
        raise ValueError(f"alternatives are single words: {', '.join(longer)}")
    return "|".join(words)


class Priority(IntEnum):
    """The preference for a tool among those that do the same work; the highest wins."""

    EXCLUDED = 0
    """Never run for a question, not even if a model chooses it."""
    LOW = 1
    """Run only if no better tool is installed, or if the user names it."""
    NORMAL = 2
    HIGH = 3


@dataclass(frozen=True, slots=True)
class AnyOf:
    """Tools of which one is needed: one that the question names, else that of top `Priority`."""

    tools: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class AllOf:
    """Tools that are all needed, for `ToolRule.requires`."""

    tools: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class QuestionKind:
    """A kind of question: the words that it is recognised by, and the tools that answer it.

    Attributes:
        name: Its name, unique within the pack: "counting", "full analysis".
        words: A question with any of these words is of this kind.
        with_kinds: Kinds in the same pack that must be recognised in the question as well ("where"
            with "disease").
        beats: Kinds that are dropped if this one is recognised: comparison beats counting. If the
            user excludes all tools of this kind ("don't compare"), none is dropped.
        tools: The tools that answer it, in the order in which they run. A tool that is not
            installed is skipped. Tools that are only recommended are named by a `Successor`.
        certain: Whether rules may answer the question without a language model, provided that it
            asks nothing else.
        needs_image: Whether the question is about an open image.
        needs_record: Whether the question is about an open patient's record. Words that elsewhere
            mean that no tool answers a question ("which drug") do not count against it.
        beyond_images: Whether, like a question about a record, it asks for what no image shows
            ("which test next?"), though no record is needed.
        unless: Words that exclude this kind if they are in the same clause: "liver", for a pack
            that cannot outline livers.
        fallback: Whether this kind counts only if no other kind with tools is recognised: "show the
            image".
        after: Tools of which one must have run earlier in the conversation: "and no fever" adds to
            what was weighed before, and asks nothing on its own.
        counts_as: Another kind in the pack to which such a question also belongs.
        bare: Whether its words are so common that it counts only if every other word in the clause
            is known to some pack: "is it normal?", but not "is that normal for the program?".
        by_eye: Whether a model that was sent the picture can answer the question without tools
            ("what do you see?").
        greedy: Whether other kinds are ignored in the part of the question with its words, except
            kinds that are `greedy` as well: "ask CheXagent whether the heart is enlarged" does not
            ask for a measurement. `beats` then has effect in this part only.
        addressed: Whether its words name a tool, so that the part of the question after them
            belongs to this kind, too: "CheXagent, is the heart enlarged?".
        means: Kinds that this one replaces in parts of the question that name no structure, because
            the words of those kinds then ask for this kind's work ("I drew a box. Outline it").
        only_for: The images for which the kind counts, judged by the current one; by default, all.
            It is for words that other packs use as well.
        over_groups: Whether the question is about the images of all groups, if several are open
            and the question names no image: "compare treatment and control".
        again: Whether all its tools run again even if an earlier question already gave their
            results. If not, only the last tool runs, on the earlier result: "show the overlay".
    """

    name: str
    words: tuple[str, ...] = ()
    with_kinds: tuple[str, ...] = ()
    beats: tuple[str, ...] = ()
    tools: tuple[str | AnyOf, ...] = ()
    certain: bool = False
    needs_image: bool = True
    needs_record: bool = False
    beyond_images: bool = False
    unless: tuple[str, ...] = ()
    fallback: bool = False
    after: tuple[str, ...] = ()
    counts_as: str = ""
    bare: bool = False
    by_eye: bool = False
    again: bool = True
    greedy: bool = False
    addressed: bool = False
    means: tuple[str, ...] = ()
    over_groups: bool = False
    only_for: Accepts = field(default_factory=lambda: Accepts())

    @property
    def tool_names(self) -> tuple[str, ...]:
        """Return the names of all tools that may answer the question, alternatives included."""
        groups = (need.tools if isinstance(need, AnyOf) else (need,) for need in self.tools)
        return tuple(name for group in groups for name in group)


@dataclass(frozen=True, slots=True)
class Feed:
    """An argument that is taken from the output of an earlier call if the call does not give it.

    Attributes:
        tools: Tools whose output may be used; the latest successful call counts. () for any tool
            that makes a picture.
        key: Key of the value in the earlier call's `output`; "" for the path of the picture that
            the call made (`ToolRule.makes`).
        title: Name of an argument that gets the title of that picture; "" for none.
    """

    argument: str
    tools: tuple[str, ...]
    key: str
    title: str = ""


@dataclass(frozen=True, slots=True)
class Accepts:
    """The images that a tool accepts; an attribute that is () excludes no image.

    Attributes:
        kinds: "dicom" or "picture", the "kind" of an image in `RunImages.notes`.
        modalities: Accepted values of the DICOM attribute Modality; an image without it is
            accepted.
        body_parts: Texts of which BodyPartExamined must contain one; an image without that
            attribute is accepted.
        what: Description of such an image for the user: "a chest radiograph (CR, DX)".
        asks: Whether the tool itself asks the user before it uses any other image. Such a call is
            then allowed to start if the user names the tool or a language model calls it.
    """

    kinds: tuple[str, ...] = ()
    modalities: tuple[str, ...] = ()
    body_parts: tuple[str, ...] = ()
    what: str = ""
    asks: bool = False


@dataclass(frozen=True, slots=True)
class ValueWords:
    """Words that stand for a value of an argument: "collarbone" for organs=["Left Clavicle", ...].

    Attributes:
        argument: The argument's name; it takes a list or a single value.
        value: The value; if `sided`, with "{side}" for "Left" or "Right": "{side} Clavicle".
        words: The words that stand for the value.
        sided: Whether the value exists on the left and the right; a question that names no side
            means both.
    """

    argument: str
    value: str
    words: tuple[str, ...]
    sided: bool = False


@dataclass(frozen=True, slots=True)
class NumberWords:
    """Numbers beside a word: "window 40/400" means window_center=40, window_width=400.

    Attributes:
        arguments: The arguments' names, in the order of the numbers.
        words: The words before the numbers.
        units: Words after a single number: "100 patients".
    """

    arguments: tuple[str, ...]
    words: tuple[str, ...] = ()
    units: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class DateWords:
    """The first and the last day that a question is about: "since 2018", "before 2015", "in 2016".

    A date is a year or an ISO date ("2015-03", "2015-03-01"). Both arguments include their day,
    month or year; `after` and `before` leave it out.

    Attributes:
        first: Name of the argument for the first day.
        last: Name of the argument for the last day.
        since: Words before the first date.
        after: Words before the date after which it begins.
        until: Words before the last date.
        before: Words before the date before which it ends.
        during: Words before the only date.
        between: Words before the first of two dates.
    """

    first: str
    last: str
    since: tuple[str, ...]
    after: tuple[str, ...]
    until: tuple[str, ...]
    before: tuple[str, ...]
    during: tuple[str, ...]
    between: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class TextWords:
    """An argument whose value is text from the question: "a box around the left effusion".

    Attributes:
        after: Words that introduce the text, which then continues to the end of the sentence; () to
            use the whole question.
        about: If the question has no word of `after`, the text is the phrase around the first of
            these words: "RLL consolidation, box".
        all_addressed: Whether, if the question has no word of `after` and `about` is (), the text
            is the part of the question for this tool. If False, there is then no text.
        quoted: Whether a text in quotes, if it is the only one in the question, is used before any
            of these: "box 'the rounded opacity'".
    """

    argument: str
    after: tuple[str, ...] = ()
    about: tuple[str, ...] = ()
    all_addressed: bool = False
    quoted: bool = False


@dataclass(frozen=True, slots=True)
class Discovery:
    """A tool that lists the existing names, run after another call unexpectedly found nothing.

    Attributes:
        tool: Name of the tool that lists them (modalities, field values); it must only read. "" if
            the other call's own output lists them.
        key: Key in its `output`. The value there is a list of names, a dict with the names as keys,
            or a dict in which the list has the key `argument`.
        argument: The argument of the other call. That call is repeated once, with the existing name
            nearest to the argument's value.
    """

    tool: str
    key: str
    argument: str


@dataclass(frozen=True, slots=True)
class ToolRule:
    """The planner's rule for one tool.

    Attributes:
        why: What it does, in a few words shown in the plan: "outlines each nucleus".
        words: Names of the objects it works on ("nucleus", "nuclei"), by which it is chosen among
            alternatives.
        leave_out: Words that exclude the tool if they follow "don't", "without", "no", "nicht", ...
        priority: Preference among alternatives.
        requires: Tools that must have succeeded in this conversation before it runs.
        feeds: Arguments taken from earlier outputs.
        accepts: The images that it accepts.
        values: Words for values of its arguments.
        empty: Keys in its `output`. If the values of all of them are missing, empty or 0, the tool
            found nothing; if the question expects a result, the tool in `discovery` then runs.
        missing: Keys in its `output` or `metadata` whose values list the objects that the tool
            looked for and did not find.
        discovery: The tool to run if this one found nothing, or its result is in `doubt`; None for
            none.
        doubt: A function that takes the output and the other results of the conversation and
            returns why the result cannot be all there is: what another result tells of is not
            found, it contradicts another result or itself, or does not fit the question. ""
            otherwise. Such a result leads to one more try, as if nothing had been found.
        makes: Key in its `output` that holds the path of the picture it makes; "" if it makes none.
        made: Names that a user may give that picture: "segmentation overlay", "converted image".
        converts: Whether that picture shows the same content as the image that the tool was given.
        stage: Order among the tools for a question: tools below 0 run before the others, tools
            above 0 after them.
        numbers: Arguments given as numbers after a word: "window 40/400".
        dates: Arguments for the first and last day of what is asked for; None for none.
        usual: Pairs (argument, default values); an argument that takes one value gets the first.
        usual_in: Kinds of question in which `usual` holds; () for all.
        texts: Arguments whose values are text from the question.
        missing_image_clause: For a tool that compares images: what the answer says if the patient
            has no second suitable image open ("no prior is open").
        quotes: The argument, if any, that may refer to another tool's answer; this tool cannot see
            that answer, so it is added to the argument.
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
    doubt: Callable[[Data, Sequence[CallResult]], str] | None = None
    makes: str = ""
    made: tuple[str, ...] = ()
    converts: bool = False
    stage: int = 0
    numbers: tuple[NumberWords, ...] = ()
    dates: DateWords | None = None
    usual: tuple[tuple[str, tuple[str, ...]], ...] = ()
    usual_in: tuple[str, ...] = ()
    texts: tuple[TextWords, ...] = ()
    missing_image_clause: str = ""
    quotes: Quotation | None = None

    def __hash__(self) -> int:
        return hash((self.tool, self.words))  # see `PackPlan`

    def usual_values(self, kinds: Iterable[str]) -> tuple[tuple[str, tuple[str, ...]], ...]:
        """Return `usual` for a question of these kinds."""
        fits = not self.usual_in or not frozenset(self.usual_in).isdisjoint(kinds)
        return self.usual if fits else ()


@dataclass(frozen=True, slots=True)
class Successor:
    """A tool that should run after a successful call of another tool.

    Attributes:
        after: Tools; a successful call of any one of them is followed by `then`.
        then: The tool that follows.
        kinds: Kinds of question for which it follows; () for all kinds.
        mandatory: Whether it always runs next. If not, it is only recommended: the rules plan it,
            but a language model may leave it out.
        before_others: Whether a recommended tool runs before any other that a model calls next; the
            model may still answer without it.
        reason: The reason, as shown in the plan.
        arguments: None, or a function for arguments of `then` that only the earlier call's result
            can give. It takes that call's (output, metadata) and returns the arguments of each
            call that should follow, one after another. Such a tool is not planned beforehand.
        unless: A tool; if that tool's model is installed, `then` does not follow. Has effect only
            together with `arguments`.
        otherwise: A sentence for the answer if neither the model of `then` nor one of a tool that
            may replace it (by `unless`) is installed.
    """

    after: tuple[str, ...]
    then: str
    kinds: tuple[str, ...] = ()
    mandatory: bool = True
    before_others: bool = False
    reason: str = ""
    arguments: Callable[[Data, Data], Sequence[Mapping[str, Any]]] | None = None
    unless: str = ""
    otherwise: str = ""


@dataclass(frozen=True, slots=True)
class Quotation:
    """An argument that may refer to another tool's answer: "do you agree with that reading?".

    The tool does not see that answer, so the latest one is put before the argument's own text.

    Attributes:
        argument: The argument's name.
        words: The words that refer to another answer, as in `QuestionKind.words`.
        texts: Pairs (tool, key of its answer's text in its `output`) that may be meant.
    """

    argument: str
    words: tuple[str, ...]
    texts: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class StatementWords:
    """Words by which a statement about an image is recognised, and tools that can support it.

    The result of a tool not listed here supports the statement if its text has one of the words.

    Attributes:
        words: The words, as in `QuestionKind.words`.
        tools: Tools whose results support the statement, whatever words they contain.
        is_judgement: Whether the statement is a judgement. A result cannot support it if its output
            has "cannot decide" in `judgement`, or False in `reliable`.
    """

    words: tuple[str, ...]
    tools: tuple[str, ...] = ()
    is_judgement: bool = False


@dataclass(frozen=True, slots=True)
class Deed:
    """A deed that a model's answer may claim, and the calls that do it.

    Attributes:
        done: Pattern of the participles and past tenses that tell it: "accepted", "angenommen".
        to: Pattern of what it is done to, somewhere in the same clause; "" for anything.
        calls: Calls of which a successful one does it: the tool's name, or also the beginning of
            one of its arguments ("viewer_findings accept"). None does it if there are none.
        draws: Whether any result with findings that are drawn on the image does it too.
        told_of_state: How a sentence in the passive voice claims it. True: always, also in the
            present tense ("the nodule is accepted"). False: only with "now" or the like, since it
            may be a quality of the image ("the film is inverted"). None: never.
    """

    done: str
    to: str
    calls: tuple[str, ...] = ()
    draws: bool = False
    told_of_state: bool | None = False


@dataclass(frozen=True, slots=True)
class SpokenCall:
    """A call that a question asks for in so many words.

    Attributes:
        names: The findings that it takes for granted, as they are called.
        question: The words for it, among others, if other packs may answer them too: a comparison,
            or what is known of a finding that is not there.
    """

    tool: str
    arguments: dict[str, Any]
    names: tuple[str, ...] = ()
    question: str = field(default="", compare=False)


@dataclass(frozen=True, slots=True)
class Spoken:
    """The commands in a question.

    Attributes:
        calls: The calls that carry them out, in order.
        rest: What else the question says; "" for nothing.
        shared: Whether other packs answer the same words too: a comparison, a report.
        sure: Whether this is what is meant even if other packs could answer the question.
        perhaps: A command in plain words that may be meant, where there are no calls; the user is
            asked.
        told: Where there are no calls: why nothing is done.
        beside: Whether the calls only tell something beside what other packs answer to `rest`.
            Where none answers it they are made if `sure`, and alone.
    """

    calls: tuple[SpokenCall, ...]
    rest: str = ""
    shared: bool = False
    sure: bool = True
    perhaps: str = ""
    told: str = ""
    beside: bool = False

    @property
    def takes_back(self) -> bool:
        """Whether a step is undone or done again."""
        return any(
            call.arguments.get("command") in ("undo", "take back", "undo everything", "redo")
            for call in self.calls
        )

    @property
    def decides(self) -> bool:
        """Whether a finding is accepted or rejected; where it is not there, that is told."""
        return any(call.arguments.get("action") in ("accept", "reject") for call in self.calls)


class Earlier(NamedTuple):
    """Holds an earlier text of the user in the conversation.

    Attributes:
        failed: Whether nothing was done then, as where it named two findings.
    """

    text: str
    failed: bool = False


@dataclass(frozen=True, slots=True)
class PackPlan:
    """The plan of one pack: which questions its tools answer, and how results are worded.

    Attributes:
        pack: The pack's name.
        kinds: The kinds of question that it answers.
        tools: Rules for those of its tools that need one.
        alternatives: Groups of tools that do the same work; priorities count within a group.
        successors: Tools that follow others.
        targets: Objects that answers speak of, as pairs of a name ("lesion") and the words for it.
            `ResultWording.answer` is told which of them a question mentions; no tool is chosen.
        wordings: How the results of its tools are worded in answers that are written without a
            language model.
        unanswered: A function that returns a sentence for each thing the user asked about that no
            result answers.
        not_looked_for: A function that returns a sentence for each thing that an open question
            ("what is abnormal?") covers and no tool has looked for. It stands below every answer,
            whoever wrote it.
        disagreements: A function that returns the contradictions between results.
        contradicts: A function that returns the words of a result that contradict a model's
            sentence; "" if they agree, None if they do not speak of the same finding.
        caveats: Words that occur in warnings about an image, not about a single call ("mirrored"):
            such a warning is repeated below every answer about that image.
        notable: Words that occur in warnings which may be a finding ("much smaller"): the answer
            tells these before the results.
        statements: Statements about an image that need support, and the tools that can support
            them.
        deeds: What its tools do beside what they return, as answers claim it.
        shown_by: Calls, as in `Deed.calls`, that tell how things are shown, whoever did that.
        suggestions: Questions that the window offers before the first one is asked.
        suggested_for: The images for which the window offers `suggestions`.
        own_images: Kinds of file and modalities that belong to this pack. Where a question about
            such an image has words of several packs, those of this pack count; words for what only
            another pack works on ("lungs") still ask for that pack.
        title: Name of the pack for people; "" to use `pack`.
        icon: Name of a file in resources/icons without its suffix; "" for none.
        prompt: Text that is added to a language model's instructions when the model is offered one
            of the pack's tools; see `pack_prompt`. At most 4,000 characters of it are used.
        spoken: A function that returns the commands in a question's text that the pack's tools
            carry out as they are said ("go to slice 12"); None if there are none.
        goes_on: A function that returns the commands of a text that only goes on from those before
            it ("and the right one"); None for any other text. It takes the text, what was said
            before, oldest first, and whether a single image is shown.
        of_view: A function that returns whether a question's text is about what the window shows
            ("what is this?"), so that a model with eyes is shown the viewports as well.
        marked_question: The question that the menu item "Segment what I marked" asks. It names the
            tool, so that every planner runs it.
    """

    pack: str
    kinds: tuple[QuestionKind, ...] = ()
    tools: tuple[ToolRule, ...] = ()
    alternatives: tuple[AnyOf, ...] = ()
    successors: tuple[Successor, ...] = ()
    targets: tuple[tuple[str, tuple[str, ...]], ...] = ()
    wordings: tuple[ResultWording, ...] = ()
    unanswered: Callable[[AnswerContext], Sequence[str]] | None = None
    not_looked_for: Callable[[AnswerContext], Sequence[str]] | None = None
    disagreements: Callable[[Sequence[CallResult]], Sequence[Disagreement]] | None = None
    contradicts: Callable[[str, CallResult], str | None] | None = None
    caveats: tuple[str, ...] = ()
    notable: tuple[str, ...] = ()
    statements: tuple[StatementWords, ...] = ()
    deeds: tuple[Deed, ...] = ()
    shown_by: tuple[str, ...] = ()
    suggestions: tuple[str, ...] = ()
    suggested_for: Accepts = Accepts()
    own_images: Accepts = Accepts()
    marked_question: str = ""
    spoken: Callable[[str], Spoken | None] | None = None
    goes_on: Callable[[str, Sequence[Earlier], bool], Spoken | None] | None = None
    of_view: Callable[[str], bool] = lambda _question: False
    title: str = ""
    icon: str = ""
    prompt: str = ""

    def __hash__(self) -> int:
        # Caches look plans up for every question; the hash of all that is in them takes a
        # millisecond.
        return hash((self.pack, len(self.kinds), len(self.tools)))

    def owns(self, note: Mapping[str, Any]) -> bool:
        """Return whether an image, by its note, is among `own_images`."""
        kind, modality = str(note.get("kind") or ""), str(note.get("modality") or "").upper()
        return kind in self.own_images.kinds or modality in self.own_images.modalities


class Plans:
    """The plans of all packs, with look-ups by tool and by kind of question."""

    def __init__(self, packs: Iterable[PackPlan] = (), owner: str = "") -> None:
        """Set the plans; `owner` is the pack to which the current image belongs, "" for none."""
        self.packs = tuple(packs)
        self.owner = owner
        self._kinds = tuple((pack, kind) for pack in self.packs for kind in pack.kinds)
        self.statements = tuple(item for pack in self.packs for item in pack.statements)
        self.deeds = tuple(item for pack in self.packs for item in pack.deeds)
        self._rules: Mapping[str, ToolRule] = {
            rule.tool: rule for pack in self.packs for rule in pack.tools
        }

    def __bool__(self) -> bool:
        """Return True if any pack has a plan."""
        return bool(self.packs)

    def rule(self, tool: str) -> ToolRule:
        """Return the rule for a tool; a default rule if no pack declares one."""
        return self._rules.get(tool) or ToolRule(tool)

    def rules(self) -> tuple[ToolRule, ...]:
        """Return the rules of all packs' tools."""
        return tuple(self._rules.values())

    def kinds(self) -> tuple[tuple[PackPlan, QuestionKind], ...]:
        """Return every kind of question, together with the plan that declares it."""
        return self._kinds

    def kind(self, name: str) -> QuestionKind | None:
        """Return the first kind of question with that name; None if there is none."""
        return next((kind for _, kind in self.kinds() if kind.name == name), None)

    def caveats(self, tool: str) -> tuple[str, ...]:
        """Return the words that mark a tool's warning as being about the image; see `PackPlan`."""
        return tuple(word for pack in self._packs_of(tool) for word in pack.caveats)

    def notable(self, tool: str) -> tuple[str, ...]:
        """Return the words that mark a tool's warning as a possible finding; see `PackPlan`."""
        return tuple(word for pack in self._packs_of(tool) for word in pack.notable)

    def _packs_of(self, tool: str) -> Iterator[PackPlan]:
        return (pack for pack in self.packs if any(rule.tool == tool for rule in pack.tools))

    def wording(self, tool: str) -> ResultWording:
        """Return the wording for a tool's results; a default wording if no pack declares one."""
        return next((item for item in self.wordings() if item.tool == tool), ResultWording(tool))

    def wordings(self) -> Iterator[ResultWording]:
        """Yield every `ResultWording` that a pack declares, in the packs' order."""
        for pack in self.packs:
            yield from pack.wordings

    def alternatives(self, tool: str) -> tuple[str, ...]:
        """Return the tools that do the same work, including `tool`, the highest priority first."""
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
        """Return the successors of `tool` for a question of any of these kinds, in order."""
        asked = frozenset(kinds)
        return tuple(
            item
            for pack in self.packs
            for item in pack.successors
            if tool in item.after and (not item.kinds or asked & frozenset(item.kinds))
        )


NO_PLANS = Plans()
