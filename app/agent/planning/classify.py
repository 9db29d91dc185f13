"""What kind of question it is, and the least that answers it: rules over the packs' words."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache

from app.agent.llm.base import ToolSchema
from app.agent.planning.choosing import choose
from app.agent.planning.mentions import Mention, find_mentions, with_phrases
from app.agent.planning.negation import Denial, denials
from app.agent.planning.scope import beyond_tools, reported, said_nothing
from app.agent.planning.spelling import Speller
from app.agent.planning.text import masked, normalised
from app.agent.planning.words import (
    DETERMINERS,
    Match,
    Token,
    Vocabulary,
    forms_of,
    telling,
    tokens_of,
)
from app.tools.planning import PackPlan, Plans, QuestionKind

_Key = tuple[str, str]
# Words of no pack that a question hangs on.
_ALWAYS = tuple(
    (word, False, False) for word in ("left", "right", "linke", "rechte", "without", "except")
)


@dataclass(frozen=True, slots=True)
class Asked:
    """What a question asks for.

    Attributes:
        kinds: The kinds of question that it is, the most telling first; those that another beats
            are not among them.
        left_out: The tools that it leaves out, each with the words that do ("don't classify").
        named: The tools that it names, by name or by one of their phrases.
        wanted: The least tools that suffice, in order: alternatives chosen, those left out removed.
        certain: Nothing else is said: rules alone may answer.
        expects_data: An empty result would be suspicious.
        needs_image: It is about an open image.
        read_as: Misspelt words, and what they were read as.
        absent: Tools that would answer it and are not installed.
    """

    kinds: tuple[str, ...] = ()
    left_out: Mapping[str, str] = field(default_factory=dict[str, str])
    named: frozenset[str] = frozenset()
    wanted: tuple[str, ...] = ()
    certain: bool = False
    expects_data: bool = False
    needs_image: bool = False
    read_as: tuple[tuple[str, str], ...] = ()
    absent: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Reading:
    """A question, read.

    Attributes:
        asked: What it asks for.
        tokens: Its words, misspelt ones put right.
        kinds: Its kinds by (pack, name), with the words that make it one.
        denied: What it leaves out.
        work: Where what tools do stands in it.
    """

    asked: Asked
    tokens: Sequence[Token]
    kinds: Mapping[_Key, Sequence[Match]]
    denied: Sequence[Denial]
    work: Sequence[Match]

    def denied_to(self, tool: str) -> list[Denial]:
        """What it leaves out of a tool's work: "don't classify the lungs" is not about outlines."""
        found: list[Denial] = []
        for denial in self.denied:
            owners = {match.owner for match in self.work if match.at <= denial.at}
            if not owners or tool in owners:
                found.append(denial)
        return found


def classify(question: str, plans: Plans, tools: Collection[str]) -> Asked:
    """What a question asks for, by the packs' words.

    Args:
        question: As the user wrote it.
        plans: What the packs tell.
        tools: The tools there are; where these are a mapping to their schemas, their phrases name
            them as well.
    """
    return read(masked(normalised(question)), plans, tools).asked


def read(blank: str, plans: Plans, tools: Collection[str]) -> Reading:
    """The same for a question that is normalised, with the insides of quotations blanked."""
    book = _book(plans.packs)
    mentions = _mentions(blank, tools)
    tokens, read_as = _respelt(blank, book)
    denied = denials(tokens)
    told = reported(blank, tokens)
    found = _Found(book, tokens, denied, told, firm=True)
    kinds = found.kinds()
    asked = _asked(blank, found, kinds, plans, tools, mentions)
    if not asked.wanted and not asked.named:
        # "kein Erguss": nothing but what may be absent, so that is what is asked about.
        loose = _Found(book, tokens, denied, told, firm=False)
        again = _asked(blank, loose, loose.kinds(), plans, tools, mentions)
        asked, kinds = (again, loose.kinds()) if again.wanted else (asked, kinds)
    return Reading(replace(asked, read_as=read_as), tokens, kinds, denied, found.work)


def words_in(blank: str, plans: Plans) -> tuple[list[Token], list[Denial]]:
    """The words of a text, misspelt ones put right, and what it leaves out."""
    tokens, _ = _respelt(blank, _book(plans.packs))
    return tokens, denials(tokens)


class _Book:
    """All packs' words, compiled once."""

    def __init__(self, packs: Sequence[PackPlan]) -> None:
        self.kinds = {(pack.pack, kind.name): kind for pack in packs for kind in pack.kinds}
        rules = [rule for pack in packs for rule in pack.tools]
        # By pack, the tools of which it says what they are about.
        self.subjects = {
            pack.pack: frozenset(rule.tool for rule in pack.tools if rule.words or rule.values)
            for pack in packs
        }
        self.asking = Vocabulary(
            (f"{pack}\n{name}", word)
            for (pack, name), kind in self.kinds.items()
            for word in kind.words
        )
        self.unless = Vocabulary(
            (f"{pack}\n{name}", word)
            for (pack, name), kind in self.kinds.items()
            for word in kind.unless
        )
        self.about = Vocabulary((rule.tool, word) for rule in rules for word in rule.words)
        self.work = Vocabulary((rule.tool, word) for rule in rules for word in rule.leave_out)
        self.values = Vocabulary(
            (rule.tool, word) for rule in rules for item in rule.values for word in item.words
        )
        parts = (self.asking, self.about, self.work, self.values, self.unless)
        self.parts = parts
        self.speller = Speller((*_ALWAYS, *(one for part in parts for one in part.literals())))


@lru_cache(maxsize=8)
def _book(packs: tuple[PackPlan, ...]) -> _Book:
    return _Book(packs)


def _respelt(blank: str, book: _Book) -> tuple[list[Token], tuple[tuple[str, str], ...]]:
    """The words with misspelt ones put right, and which these are."""
    mended: dict[str, str] = {}
    done: list[Token] = []
    for token in tokens_of(blank):
        if token.forms and not any(part.known(token.forms) for part in book.parts):
            meant = "" if said_nothing(token) else book.speller.nearest(token.text)
            if meant:
                mended[blank[token.start : token.end]] = meant
                token = replace(token, text=meant, forms=forms_of((meant,)))
        done.append(token)
    return done, tuple(mended.items())


@dataclass(slots=True)
class _Found:
    """What stands in a question.

    Attributes:
        book: The packs' words.
        tokens: The question's words.
        denied: What it leaves out.
        told: Numbers of the words that tell what somebody else wrote.
        firm: Whether "no comparison" leaves out the comparison: not so where nothing else is said.
        asking: By kind, the matches that count.
        about: By tool, the matches of what it is about.
        work: By tool, the matches of what it does, those left out included.
        values: Matches of arguments' values.
        phrases: The words of each phrase that asks for something.
    """

    book: _Book
    tokens: Sequence[Token]
    denied: Sequence[Denial]
    told: frozenset[int]
    firm: bool
    asking: dict[_Key, list[Match]] = field(default_factory=dict[_Key, list[Match]])
    about: list[Match] = field(default_factory=list[Match])
    work: list[Match] = field(default_factory=list[Match])
    values: list[Match] = field(default_factory=list[Match])
    phrases: list[frozenset[int]] = field(default_factory=list[frozenset[int]])

    def __post_init__(self) -> None:
        book, tokens = self.book, self.tokens
        self.work = book.work.find(tokens)
        # "Do not crop the cells" leaves out the cropping, not the cells.
        out = [
            denial.at
            for denial in self.denied
            if (denial.strong or not tokens[denial.cue].asked)
            and not any(match.at <= denial.at for match in self.work)
        ]
        about = telling(book.about.find(tokens))
        self.about = [match for match in about if not any(match.at <= at for at in out)]
        self.values = book.values.find(tokens)
        asking = book.asking.find(tokens)
        self.phrases = [match.at for match in asking if len(match.at) > 1]
        matches = telling(asking)
        beyond = beyond_tools(tokens, matches)
        gone = self._gone() | self.told
        unless: dict[tuple[str, int], None] = {
            (match.owner, tokens[match.first].clause): None
            for match in book.unless.find(tokens)
            if not any(match.at <= denial.at for denial in self.denied)
        }
        for match in matches:
            barred = (match.owner, tokens[match.first].clause) in unless
            if match not in beyond and not barred and not match.at & gone:
                pack, _, name = match.owner.partition("\n")
                self.asking.setdefault((pack, name), []).append(match)

    def _gone(self) -> frozenset[int]:
        """The words that are left out whatever they are."""
        found: set[int] = set()
        for denial in self.denied:
            if denial.strong or (self.firm and self._orders(denial)):
                found |= denial.at
            else:
                for match in self.work:
                    if match.at <= denial.at:
                        found |= match.at
        return frozenset(found)

    def _orders(self, denial: Denial) -> bool:
        """Whether "no" begins a clause that asks nothing: "no comparison", "keinen Vergleich"."""
        token = self.tokens[denial.cue]
        before = [
            other
            for other in self.tokens[max(0, denial.cue - 4) : denial.cue]
            if other.clause == token.clause
        ]
        return not (token.asked or denial.mild) and all(said_nothing(other) for other in before)

    def left_out(self, blank: str) -> dict[str, str]:
        """The tools that are left out by what they do, each with the words that say so."""
        found: dict[str, str] = {}
        denied = [
            (match, denial)
            for denial in self.denied
            for match in self.work
            if match.at <= denial.at and not self._is_object(match, denial)
        ]
        for match, denial in denied:
            meant = any(
                other.owner == match.owner and not any(other.at & item.at for item in self.denied)
                for other in self.work
            )
            narrowed = any(
                value.owner == match.owner and value.at <= denial.at and not value.at & match.at
                for value in self.values
            )
            part = any(match.at < phrase for phrase in self.phrases)
            # "Outline the lungs, don't outline the heart"; "count the cells, no cell states".
            if not (meant and (narrowed or part)):
                found.setdefault(match.owner, self._text(blank, match.at | {denial.cue}))
        return found

    def _is_object(self, match: Match, denial: Denial) -> bool:
        """Whether a word only says what another tool's work is done to: "don't crop the cells"."""
        before = match.first - 1
        while before > denial.last and self.tokens[before].text in DETERMINERS:
            before -= 1
        if before <= denial.last:
            return False
        here = {other.owner for other in self.work if before in other.at and other.at <= denial.at}
        return bool(here) and match.owner not in here

    def _text(self, blank: str, at: Iterable[int]) -> str:
        first, last = min(at), max(at)
        return " ".join(blank[self.tokens[first].start : self.tokens[last].end].split())

    def kinds(self) -> dict[_Key, list[Match]]:
        """The kinds of question that it is, with their matches."""
        found: dict[_Key, list[Match]] = {}
        for key in self.book.kinds:
            matches = self._matches(key, ())
            if matches:
                found[key] = matches
        beaten = {(key[0], other) for key in found for other in self.book.kinds[key].beats}
        found = {key: matches for key, matches in found.items() if key not in beaten}
        found = {key: matches for key, matches in found.items() if not self._borrowed(key, matches)}
        busy = any(
            kind.tools and not kind.alone for kind in map(self.book.kinds.get, found) if kind
        )
        return {
            key: matches
            for key, matches in found.items()
            if not (busy and self.book.kinds[key].alone)
        }

    def _borrowed(self, key: _Key, matches: Sequence[Match]) -> bool:
        """Whether its words are another pack's here, whose subject the question has.

        "Segment the cells" is not for the pack that segments lungs.
        """
        own = self.book.subjects.get(key[0], frozenset())
        spoken = {match.owner for match in (*self.about, *self.values)}
        if not own or own & spoken:
            return False
        at = frozenset(position for match in matches for position in match.at)
        for pack, tools in self.book.subjects.items():
            theirs = {
                position
                for (other, _), found in self.asking.items()
                if other == pack != key[0]
                for match in found
                for position in match.at
            }
            if tools & spoken and at <= theirs:
                return True
        return False

    def _matches(self, key: _Key, asked: tuple[_Key, ...]) -> list[Match]:
        """The matches of a kind and of those that must be there as well; none if one is not."""
        kind = self.book.kinds.get(key)
        own = self.asking.get(key, [])
        if kind is None or key in asked or (kind.words and not own):
            return []
        found = list(own)
        for other in kind.with_kinds:
            more = self._matches((key[0], other), (*asked, key))
            if not more:
                return []
            found += more
        return found


def _asked(
    blank: str,
    found: _Found,
    kinds: Mapping[_Key, list[Match]],
    plans: Plans,
    tools: Collection[str],
    mentions: Sequence[Mention],
) -> Asked:
    left_out = found.left_out(blank)
    for item in mentions:
        if item.negated:
            left_out.setdefault(item.name, " ".join(blank[item.start : item.end].split()))
    named = frozenset(
        item.name for item in mentions if item.known and not (item.negated or item.about)
    )
    order = sorted(kinds, key=lambda key: min(match.first for match in kinds[key]))
    wanted, absent = choose(
        [(found.book.kinds[key], kinds[key]) for key in order],
        found.about,
        found.tokens,
        plans,
        tools,
        left_out,
        named,
    )
    telling_first = sorted(order, key=lambda key: -max(len(match.at) for match in kinds[key]))
    working = [kind for kind in map(found.book.kinds.__getitem__, order) if kind.tools]
    return Asked(
        kinds=tuple(dict.fromkeys(name for _, name in telling_first)),
        left_out=left_out,
        named=named,
        wanted=wanted,
        certain=_certain(found, kinds, working, absent),
        expects_data=any(kind.expects_data for kind in working),
        needs_image=any(kind.needs_image for kind in working),
        absent=absent,
    )


def _certain(
    found: _Found,
    kinds: Mapping[_Key, Sequence[Match]],
    working: Sequence[QuestionKind],
    absent: Sequence[str],
) -> bool:
    """Whether each word of the question is understood, and all it asks is certain."""
    if not working or absent or not all(kind.certain for kind in working):
        return False
    used = {position for matches in kinds.values() for match in matches for position in match.at}
    for match in [*found.about, *found.values, *found.work]:
        used |= match.at
    for denial in found.denied:
        used |= set(range(denial.cue, denial.last + 1))
    return all(
        position in used or said_nothing(token) for position, token in enumerate(found.tokens)
    )


def _mentions(blank: str, tools: Collection[str]) -> list[Mention]:
    mentions = find_mentions(blank, tools)
    if isinstance(tools, Mapping):
        schemas: dict[str, ToolSchema] = {
            name: schema for name, schema in tools.items() if isinstance(schema, ToolSchema)
        }
        return with_phrases(blank, mentions, schemas)
    return mentions
