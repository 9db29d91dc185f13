"""Matches of the packs' words in a question: kinds, subjects, what is left out, misspelt words."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from types import MappingProxyType

from app.agent.planning.clause_scope import (
    beyond_tools,
    beyond_words,
    carries_no_meaning,
    history,
    reaches,
)
from app.agent.planning.negation import Denial, is_cue_word
from app.agent.planning.question_parts import Parts, parts_of
from app.agent.planning.spelling import Speller
from app.agent.planning.vocabulary import DETERMINERS, Match, Token, Vocabulary, telling
from app.tools.pack_plan import AnyOf, PackPlan, QuestionKind

Key = tuple[str, str]
"""A kind's pack and name."""
NOWHERE: Mapping[Key, frozenset[int]] = MappingProxyType({})
_TOOLS = frozenset(("tool", "tools", "werkzeug", "werkzeuge", "werkzeugen"))
_RUNNING = frozenset(("run", "running", "execute", "call", "calling", "use", "using", "start"))
_OTHERS = frozenset(
    ("other", "others", "further", "more", "additional", "else", "weitere", "andere")
)
# Words of no pack that a question hangs on.
_SURE = ("left", "right", "linke", "rechte", "without", "except")
_ALWAYS = tuple((word, False, False) for word in _SURE)


class PackWords:
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
            [
                (f"{pack}\n{name}", word)
                for (pack, name), kind in self.kinds.items()
                for word in kind.words
            ]
        )
        self.unless = Vocabulary(
            [
                (f"{pack}\n{name}", word)
                for (pack, name), kind in self.kinds.items()
                for word in kind.unless
            ]
        )
        self.about = Vocabulary([(rule.tool, word) for rule in rules for word in rule.words])
        self.work = Vocabulary([(rule.tool, word) for rule in rules for word in rule.leave_out])
        self.values = Vocabulary(
            [(rule.tool, word) for rule in rules for item in rule.values for word in item.words]
        )
        parts = (self.asking, self.about, self.work, self.values, self.unless)
        self.parts = parts
        self.speller = Speller(
            [*_ALWAYS, *[one for part in parts for one in part.literals()]],
            frozenset[str]().union(*(part.alone for part in parts)),
        )


@lru_cache(maxsize=8)
def pack_words(packs: tuple[PackPlan, ...]) -> PackWords:
    """The packs' words, compiled when they are first asked for."""
    return PackWords(packs)


@dataclass(slots=True)
class WordMatches:
    """What stands in a question.

    Attributes:
        book: The packs' words.
        tokens: The question's words.
        denied: What it leaves out.
        told: Numbers of the words that tell what somebody else wrote.
        firm: Whether "no comparison" leaves out the comparison: not so where nothing else is said.
        asking: By kind, the matches that count.
        mentioned: By tool, the matches of its subjects.
        about: The same without those that are left out, or repeat a part of a longer one.
        work: By tool, the matches of what it does, those left out included.
        values: Matches of arguments' values.
        phrases: The words of each phrase that asks for something.
        parts: The parts of the question.
    """

    book: PackWords
    tokens: Sequence[Token]
    denied: Sequence[Denial]
    told: frozenset[int]
    firm: bool
    asking: dict[Key, list[Match]] = field(default_factory=dict[Key, list[Match]])
    mentioned: list[Match] = field(default_factory=list[Match])
    about: list[Match] = field(default_factory=list[Match])
    work: list[Match] = field(default_factory=list[Match])
    values: list[Match] = field(default_factory=list[Match])
    phrases: list[frozenset[int]] = field(default_factory=list[frozenset[int]])
    parts: Parts = field(init=False)

    def __post_init__(self) -> None:
        book, tokens = self.book, self.tokens
        self.parts = parts_of(tokens)
        self.work = book.work.find(tokens)
        # "Do not crop the cells" leaves out the cropping, not the cells.
        out = [
            denial.at
            for denial in self.denied
            if (denial.strong or not tokens[denial.cue].asked)
            and not any(match.at <= denial.at for match in self.work)
        ]
        self.mentioned = book.about.find(tokens)
        about = telling(self.mentioned)
        self.about = [match for match in about if not any(match.at <= at for at in out)]
        self.values = book.values.find(tokens)
        asking = book.asking.find(tokens)
        self.phrases = [match.at for match in asking if len(match.at) > 1]
        matches = telling(asking)
        beyond = beyond_tools(tokens, matches)
        gone = self._gone() | self.told
        gone |= self._past(matches, beyond, gone)
        unless: dict[tuple[str, int], None] = {
            (match.owner, tokens[match.first].clause): None
            for match in book.unless.find(tokens)
            if not any(match.at <= denial.at for denial in self.denied)
        }
        strange = self._strange_clauses()
        for match in matches:
            pack, _, name = match.owner.partition("\n")
            clause = tokens[match.first].clause
            barred = (match.owner, clause) in unless
            barred = barred or (book.kinds[pack, name].bare and clause in strange)
            if match not in beyond and not barred and not match.at & gone:
                self.asking.setdefault((pack, name), []).append(match)

    def _past(
        self, matches: Sequence[Match], beyond: Collection[Match], gone: frozenset[int]
    ) -> frozenset[int]:
        """The words that only tell what is known, beside what is asked.

        "Known effusion" alone asks for it.
        """
        past = history(self.tokens, self.parts)
        asked = any(
            not match.at & (past | gone) and match not in beyond and self._works(match)
            for match in matches
        )
        if not asked and not self._beyond_asked():
            return frozenset()
        # "Compared with yesterday" tells as well, and asks.
        kept = (match.at for match in matches if self._kind(match).whole)
        return past - frozenset[int]().union(*kept)

    def _kind(self, match: Match) -> QuestionKind:
        pack, _, name = match.owner.partition("\n")
        return self.book.kinds[pack, name]

    def _beyond_asked(self) -> bool:
        """Whether a part that asks does so for what no tool answers: "what dose ...?"."""
        return any(self.parts.asks[self.parts.of[place]] for place in beyond_words(self.tokens))

    def _works(self, match: Match) -> bool:
        """Whether what a word asks for is answered by tools."""
        return bool(self._kind(match).tools)

    def _strange_clauses(self) -> frozenset[int]:
        """The clauses that hold a word which no pack knows and which has weight."""
        return frozenset(
            token.clause
            for token in self.tokens
            if not (carries_no_meaning(token) or is_cue_word(token))
            and not any(part.known(token.forms) for part in self.book.parts)
        )

    def _gone(self) -> frozenset[int]:
        """The words that are left out whatever they are."""
        found: set[int] = set()
        for denial in self.denied:
            if denial.strong or (self.firm and self._orders(denial)):
                found |= denial.at
            else:
                for match in self.work:
                    if match.at <= denial.at and not self._is_object(match, denial):
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
        return not (token.asked or denial.mild) and all(
            carries_no_meaning(other) for other in before
        )

    def counted(self, kinds: Mapping[Key, Sequence[Match]]) -> frozenset[int]:
        """The numbers of the words that anything rests on."""
        matches = [match for found in kinds.values() for match in found]
        matches += [*self.about, *self.values, *self.work]
        cues = {place for denial in self.denied for place in range(denial.cue, denial.last + 1)}
        always = {word for word, _, _ in _ALWAYS}
        cues |= {place for place, token in enumerate(self.tokens) if token.text in always}
        return frozenset(cues.union(*(match.at for match in matches)))

    def left_out(self, blank: str) -> dict[str, str]:
        """The tools that are left out by what they do, each with the words that say so."""
        found: dict[str, str] = {}
        denied = [
            (match, denial)
            for denial in self.denied
            for match in self.work
            if match.at <= denial.at and not self._is_object(match, denial)
        ]
        gone = frozenset[int]().union(*(denial.at for denial in self.denied))
        asked_for = {match.owner for match in self.work if match.at.isdisjoint(gone)}
        for match, denial in denied:
            meant = match.owner in asked_for
            narrowed = any(
                value.owner == match.owner and value.at <= denial.at and not value.at & match.at
                for value in self.values
            )
            part = any(match.at < phrase for phrase in self.phrases)
            # "Outline the lungs, don't outline the heart"; "count the cells, no cell states".
            if not (meant and (narrowed or part)):
                found.setdefault(match.owner, self._text(blank, match.at | {denial.cue}))
        return found

    def no_tools(self, blank: str) -> str:
        """The words that leave out every tool ("without any tools"), "" for none."""
        for denial in self.denied:
            said = {self.tokens[place].text for place in denial.at}
            runs = "anything" in said and said & _RUNNING
            if (said & _TOOLS or runs) and not said & _OTHERS and not self._narrowed(denial):
                last = max(denial.at)
                return self._text(blank, {denial.cue, last})
        return ""

    def _narrowed(self, denial: Denial) -> bool:
        """Whether it speaks of certain tools: "no segmentation tools"."""
        return any(match.at & denial.at for match in (*self.work, *self.about, *self.values))

    def _is_object(self, match: Match, denial: Denial) -> bool:
        """Whether a word only says what another tool's work is done to: "don't crop the cells"."""
        if match.first < denial.cue:  # "die Zellen nicht auswerten"
            return any(one.first > denial.last and one.at <= denial.at for one in self.work)
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

    def kinds(self) -> dict[Key, list[Match]]:
        """The kinds of question that it is, with their matches."""
        found: dict[Key, list[Match]] = {}
        for key in self.book.kinds:
            matches = self._matches(key, ())
            if matches:
                found[key] = matches
        found = self._unbeaten(found)
        found = {key: matches for key, matches in found.items() if not self._borrowed(key, matches)}
        busy = any(
            kind.tools and not kind.alone for kind in map(self.book.kinds.get, found) if kind
        )
        return {
            key: matches
            for key, matches in found.items()
            if not (busy and self.book.kinds[key].alone)
        }

    def _unbeaten(self, found: Mapping[Key, list[Match]]) -> dict[Key, list[Match]]:
        """The kinds without those that another beats in the parts of the question that it has."""
        everywhere = frozenset(range(len(self.tokens)))
        banned: dict[Key, frozenset[int]] = {}
        for key, said in self.reach(found).items():
            kind = self.book.kinds[key]
            beaten = {(key[0], other) for other in kind.beats}
            if kind.whole:
                beaten |= {one for one, other in self.book.kinds.items() if not other.whole}
            for other in beaten:
                gone = said if kind.whole else everywhere
                banned[other] = banned.get(other, frozenset()) | gone
        for key in found:
            for other in self.book.kinds[key].means:
                gone = self._of_nothing((key[0], other))
                banned[key[0], other] = banned.get((key[0], other), frozenset()) | gone
                gone -= self._of_subjects()
                for one in found:  # another pack's outline is the same one
                    if one[0] != key[0]:
                        banned[one] = banned.get(one, frozenset()) | gone
        kept = {
            key: self._matches(key, (), banned) if key in banned else matches
            for key, matches in found.items()
        }
        return {key: matches for key, matches in kept.items() if matches}

    def _of_nothing(self, key: Key) -> frozenset[int]:
        """The words of a kind in parts that name no value of any argument: "outline it"."""
        part = self.parts.of
        named = {part[match.first] for match in self.values}
        places = {match.first for match in self.asking.get(key, ())}
        return frozenset(place for place in places if part[place] not in named)

    def _of_subjects(self) -> frozenset[int]:
        """The words of the parts that name what a tool is about: "outline the cells"."""
        return self.parts.words({self.parts.of[match.first] for match in self.about})

    def reach(self, found: Mapping[Key, Sequence[Match]]) -> dict[Key, frozenset[int]]:
        """The numbers of the words that are said to the kinds which beat others."""
        kinds = {key: kind for key in found if (kind := self.book.kinds[key]).beats or kind.whole}
        mute = self._mute(kinds)
        counting = {key: found[key] for key in kinds if key not in mute}
        whole = frozenset(key for key in counting if kinds[key].whole)
        named = frozenset(key for key in counting if kinds[key].addressed)
        return reaches(counting, whole, named, self.tokens, self.parts)

    def _mute(self, found: Iterable[Key]) -> set[Key]:
        """The kinds all of whose tools are left out: "analyse the heart, but don't classify".

        They take no other kind's place.
        """
        mute: set[Key] = set()
        out = self.left_out("").keys() if self.denied else ()
        for key in found:
            kind = self.book.kinds[key]
            known = self.book.kinds.get((key[0], kind.counts_as), kind)
            names = [
                name
                for need in known.tools
                for name in (need.tools if isinstance(need, AnyOf) else (need,))
            ]
            if names and all(name in out for name in names):
                mute.add(key)
        return mute

    def _borrowed(self, key: Key, matches: Sequence[Match]) -> bool:
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

    def _matches(
        self, key: Key, asked: tuple[Key, ...], banned: Mapping[Key, frozenset[int]] = NOWHERE
    ) -> list[Match]:
        """The matches of a kind and of those that must be there as well; none if one is not.

        Args:
            key: The kind.
            asked: The kinds that it is looked for because of.
            banned: By kind, the words that do not count.
        """
        kind = self.book.kinds.get(key)
        out = banned.get((asked or (key,))[0], frozenset[int]())
        own: list[Match] = []
        for other, found in self.asking.items():
            same = other[0] == key[0] and self.book.kinds[other].counts_as == key[1]
            if other == key or same:
                gone = out | banned.get(other, frozenset[int]())
                own += [match for match in found if match.first not in gone]
        if kind is None or key in asked or (kind.words and not own):
            return []
        found = list(own)
        for other in kind.with_kinds:
            more = self._matches((key[0], other), (*asked, key), banned)
            if not more:
                return []
            found += more
        return found
