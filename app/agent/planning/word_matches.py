"""Matches of the packs' words in a question: its kinds, subjects, exclusions and corrections."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import lru_cache
from types import MappingProxyType

from app.agent.planning import clause_scope
from app.agent.planning.negation import Denial, is_cue_word
from app.agent.planning.question_parts import parts_of
from app.agent.planning.spelling import Speller
from app.agent.planning.vocabulary import DETERMINERS, Match, Token, Vocabulary, longest_matches
from app.paths import question_words
from app.tools.pack_plan import PackPlan, QuestionKind

Key = tuple[str, str]
"""A kind of question, as (name of the pack, name of the kind)."""
NOWHERE: Mapping[Key, frozenset[int]] = MappingProxyType({})
_TOOLS = frozenset(("tool", "tools", "werkzeug", "werkzeuge", "werkzeugen"))
_RUNNING = frozenset(("run", "running", "execute", "call", "calling", "use", "using", "start"))
_OTHERS = frozenset(
    ("other", "others", "further", "more", "additional", "else", "weitere", "andere")
)
# Words that no pack declares, but whose misspelling would change the meaning.
_SURE = ("left", "right", "linke", "rechte", "without", "except")
_CENTURIES = ("19", "20")
_MONTHS = (
    *("jan", "feb", "mar", "apr", "may", "mai", "jun", "jul", "aug"),
    *("sep", "oct", "okt", "nov", "dec", "dez"),
)
_COURSES = question_words("courses")
_ALWAYS = tuple((word, False, False) for word in _SURE)


class PackWords:
    """The words of all packs, compiled once into vocabularies: of kinds, subjects, actions, etc."""

    def __init__(self, packs: Sequence[PackPlan]) -> None:
        self.kinds = {(pack.pack, kind.name): kind for pack in packs for kind in pack.kinds}
        rules = [rule for pack in packs for rule in pack.tools]
        # Tools with declared subjects, by pack.
        self.subjects = {
            pack.pack: frozenset(rule.tool for rule in pack.tools if rule.words or rule.values)
            for pack in packs
        }
        self.kind_words = Vocabulary(
            [
                (f"{pack}\n{name}", word)
                for (pack, name), kind in self.kinds.items()
                for word in kind.words
            ]
        )
        self.unless_words = Vocabulary(
            [
                (f"{pack}\n{name}", word)
                for (pack, name), kind in self.kinds.items()
                for word in kind.unless
            ]
        )
        self.subject_words = Vocabulary(
            [(rule.tool, word) for rule in rules for word in rule.words]
        )
        self.action_words = Vocabulary(
            [(rule.tool, word) for rule in rules for word in rule.leave_out]
        )
        self.value_words = Vocabulary(
            [(rule.tool, word) for rule in rules for item in rule.values for word in item.words]
        )
        self.target_words = Vocabulary(
            [(name, word) for pack in packs for name, words in pack.targets for word in words]
        )
        parts = (
            self.kind_words,
            self.subject_words,
            self.action_words,
            self.value_words,
            self.unless_words,
        )
        self.parts = parts
        literals = [*_ALWAYS, *[one for part in parts for one in part.literals()]]
        alone = frozenset[str]().union(*(part.alone for part in parts))
        ours, others = _words_of(packs, recorded=True), _words_of(packs, recorded=False)
        recorded = ours - others
        # Words of the images' packs come first: those of the record are many, and some are short.
        self.speller = Speller([one for one in literals if one[0] not in recorded], alone)
        self.record_speller = Speller([one for one in literals if one[0] in recorded], alone)

    def nearest(self, word: str) -> str:
        """Return the packs' word that a misspelt word means, or ""."""
        return self.speller.nearest(word) or self.record_speller.nearest(word)


def _is_recorded(kind: QuestionKind) -> bool:
    """Return whether a kind asks for what a record says, or for more than images show."""
    return kind.needs_record or kind.beyond_images


def _words_of(packs: Sequence[PackPlan], *, recorded: bool) -> frozenset[str]:
    """Return the single words in the kinds that need a patient's record, or in all others."""
    found: set[str] = set()
    for pack in packs:
        for kind in pack.kinds:
            if _is_recorded(kind) == recorded:
                found.update(
                    *(re.split(r"[\s|-]+", entry) for entry in (*kind.words, *kind.unless))
                )
    return frozenset(word.strip("*") for word in found)


@lru_cache(maxsize=8)
def pack_words(packs: tuple[PackPlan, ...]) -> PackWords:
    """Return the compiled words of the packs; cached."""
    return PackWords(packs)


class WordMatches:
    """The matches of the packs' words in one question.

    Attributes:
        strict: Whether a weak cue that begins a request excludes any words ("no comparison"). It is
            False on a second reading, which is made if the first finds no tool to run.
        kind_matches: The matches that identify kinds of question, by kind.
        subject_mentions: All matches of words for the subjects of tools, such as "nuclei".
        subject_matches: `subject_mentions` without matches that are excluded or part of a longer
            match.
        action_matches: Matches of words for what tools do, excluded or not.
        values: Matches of words for argument values.
        phrases: For each phrase of several words that identifies a kind, its words' indices.
    """

    def __init__(
        self,
        book: PackWords,
        tokens: Sequence[Token],
        denied: Sequence[Denial],
        quoted_words: frozenset[int],
        *,
        strict: bool,
    ) -> None:
        self.pack_words, self.tokens, self.denied = book, tokens, denied
        self.strict = strict
        self.kind_matches: dict[Key, list[Match]] = {}
        self.parts = parts_of(tokens)
        self.action_matches = book.action_words.find(tokens)
        # "Do not crop the cells" excludes the cropping, not the cells.
        out = [
            denial.positions
            for denial in self.denied
            if (denial.strong or not tokens[denial.cue].in_question)
            and not any(match.positions <= denial.positions for match in self.action_matches)
        ]
        self.subject_mentions = book.subject_words.find(tokens)
        about = longest_matches(self.subject_mentions)
        self.subject_matches = [
            match for match in about if not any(match.positions <= at for at in out)
        ]
        self.values = book.value_words.find(tokens)
        matched = book.kind_words.find(tokens)
        self.phrases = [match.positions for match in matched if len(match.positions) > 1]
        matches = longest_matches(matched)
        recorded = [match for match in matches if _is_recorded(self._kind(match))]
        unanswerable = clause_scope.unanswerable_matches(tokens, matches, recorded)
        unanswerable |= self._told(matches, recorded, unanswerable)
        excluded = self._excluded_words() | quoted_words
        excluded |= self._history_words(matches, unanswerable, excluded)
        unless: dict[tuple[str, int], None] = {
            (match.owner, tokens[match.first].clause): None
            for match in book.unless_words.find(tokens)
            if not any(match.positions <= denial.positions for denial in self.denied)
        }
        strange = self._strange_clauses()
        for match in matches:
            pack, _, name = match.owner.partition("\n")
            clause = tokens[match.first].clause
            barred = (match.owner, clause) in unless
            barred = barred or (book.kinds[pack, name].bare and clause in strange)
            if match not in unanswerable and not barred and not match.positions & excluded:
                self.kind_matches.setdefault((pack, name), []).append(match)

    def _told(
        self, matches: Sequence[Match], recorded: Collection[Match], unanswerable: Collection[Match]
    ) -> frozenset[Match]:
        """Return the matches of values that the user tells: "sats 88. Any effusion?".

        A value follows at once; other words of its sentence are told as well if they ask nothing
        and something else is asked.
        """
        tokens, asks, part = self.tokens, self.parts.asks, self.parts.part_numbers
        told = {
            match
            for match in recorded
            if not ((kind := self._kind(match)).with_kinds or kind.after) and self._has_value(match)
        }
        if not told:
            return frozenset()
        others = (m for m in matches if m not in recorded and m not in unanswerable)
        asked = any(self._kind(match).tools for match in others)
        asked = asked or any(asks[part[n]] for n in clause_scope.unanswerable_words(tokens))
        sentences = {tokens[match.first].sentence for match in told}
        beside = (
            match
            for match in recorded
            if tokens[match.first].sentence in sentences and not asks[part[match.first]]
        )
        return frozenset(told.union(beside if asked else ()))

    def _has_value(self, match: Match) -> bool:
        """Return whether a value is told after a match: "temp 38.5", "sats at 88", "BP falling".

        A year is no value, and in a question a course is asked for, not told.
        """
        last = max(match.positions)
        if any(self.tokens[place].text.isdigit() for place in match.positions):
            return False  # "MELD 3.0"
        near = [
            one
            for one in self.tokens[last + 1 : last + 3]
            if one.clause == self.tokens[last].clause
        ]
        if near and near[0].text in _COURSES and not near[0].in_question:
            return True
        # "sats at 88", "born May 3", but not "CURB-65: urea 9"
        passed = near and (clause_scope.carries_no_meaning(near[0]) or near[0].text[:3] in _MONTHS)
        linked = near if passed else near[:1]
        return any(
            one.text.isdigit() and not (len(one.text) == 4 and one.text[:2] in _CENTURIES)
            for one in linked
        )

    def _history_words(
        self, matches: Sequence[Match], unanswerable: Collection[Match], excluded: frozenset[int]
    ) -> frozenset[int]:
        """Return the positions of words that state the patient's history next to a request.

        Without another request, the history itself is the question: "known effusion".
        """
        past = clause_scope.history_words(self.tokens, self.parts)
        asked = any(
            not match.positions & (past | excluded)
            and match not in unanswerable
            and (kind := self._kind(match)).tools
            and not kind.fallback
            for match in matches
        )
        # "What dose ...?" asks for something that no tool answers.
        beyond = any(
            self.parts.asks[self.parts.part_numbers[place]]
            for place in clause_scope.unanswerable_words(self.tokens)
        )
        if not asked and not beyond:
            return frozenset()
        # Words such as "compared with yesterday" state history and are a request as well; what a
        # score or a differential is computed from is told.
        needed = {
            "\n".join((match.owner.partition("\n")[0], name))
            for match in matches
            if (kind := self._kind(match)).greedy and not kind.needs_record
            for name in kind.with_kinds
        }
        kept = (
            match.positions
            for match in matches
            if (kind := self._kind(match)).greedy
            or match.owner in needed
            or (kind.needs_record and not kind.tools)
        )
        return past - frozenset[int]().union(*kept)

    def _kind(self, match: Match) -> QuestionKind:
        pack, _, name = match.owner.partition("\n")
        return self.pack_words.kinds[pack, name]

    def _strange_clauses(self) -> frozenset[int]:
        """Return the clauses with a meaningful word that no pack knows."""
        return frozenset(
            token.clause
            for token in self.tokens
            if not (clause_scope.carries_no_meaning(token) or is_cue_word(token))
            and not any(part.word_numbers(token.forms) for part in self.pack_words.parts)
        )

    def _excluded_words(self) -> frozenset[int]:
        found: set[int] = set()
        for denial in self.denied:
            if denial.strong or (self.strict and self._is_order(denial)):
                found |= denial.positions
            else:
                for match in self.action_matches:
                    if match.positions <= denial.positions and not self._is_object(match, denial):
                        found |= match.positions
        return frozenset(found)

    def _is_order(self, denial: Denial) -> bool:
        """Return whether "no" begins a clause that is not a question: "no comparison"."""
        token = self.tokens[denial.cue]
        before = [
            other
            for other in self.tokens[max(0, denial.cue - 4) : denial.cue]
            if other.clause == token.clause
        ]
        return not (token.in_question or denial.mild) and all(
            clause_scope.carries_no_meaning(other) for other in before
        )

    def meaningful_words(self, kinds: Mapping[Key, Sequence[Match]]) -> frozenset[int]:
        """Return the indices of words that affect the interpretation; `kinds` are those asked."""
        matches = [match for found in kinds.values() for match in found]
        matches += [*self.subject_matches, *self.values, *self.action_matches]
        cues = {place for denial in self.denied for place in range(denial.cue, denial.last + 1)}
        always = {word for word, _, _ in _ALWAYS}
        cues |= {place for place, token in enumerate(self.tokens) if token.text in always}
        return frozenset(cues.union(*(match.positions for match in matches)))

    def left_out(self, blank: str) -> dict[str, str]:
        """Return the tools whose action is excluded, each with the words in `blank` that do so."""
        found: dict[str, str] = {}
        denied = [
            (match, denial)
            for denial in self.denied
            for match in self.action_matches
            if match.positions <= denial.positions and not self._is_object(match, denial)
        ]
        excluded = frozenset[int]().union(*(denial.positions for denial in self.denied))
        asked_for = {
            match.owner for match in self.action_matches if match.positions.isdisjoint(excluded)
        }
        for match, denial in denied:
            meant = match.owner in asked_for
            narrowed = any(
                value.owner == match.owner
                and value.positions <= denial.positions
                and not value.positions & match.positions
                for value in self.values
            )
            part = any(match.positions < phrase for phrase in self.phrases)
            # "Outline the lungs, don't outline the heart" still asks for the outlining tool.
            if not (meant and (narrowed or part)):
                found.setdefault(match.owner, self._text(blank, match.positions | {denial.cue}))
        return found

    def all_tools_exclusion(self, blank: str) -> str:
        """Return the words in `blank` that exclude every tool ("without any tools"), or ""."""
        for denial in self.denied:
            said = {self.tokens[place].text for place in denial.positions}
            runs = "anything" in said and said & _RUNNING
            if (said & _TOOLS or runs) and not said & _OTHERS and not self._narrowed(denial):
                last = max(denial.positions)
                return self._text(blank, {denial.cue, last})
        return ""

    def _narrowed(self, denial: Denial) -> bool:
        """Return whether an exclusion concerns particular tools: "no segmentation tools"."""
        return any(
            match.positions & denial.positions
            for match in (*self.action_matches, *self.subject_matches, *self.values)
        )

    def _is_object(self, match: Match, denial: Denial) -> bool:
        """Return whether a word is the object of another action: "don't crop the cells"."""
        if match.first < denial.cue:  # "die Zellen nicht auswerten"
            return any(
                one.first > denial.last and one.positions <= denial.positions
                for one in self.action_matches
            )
        before = match.first - 1
        while before > denial.last and self.tokens[before].text in DETERMINERS:
            before -= 1
        if before <= denial.last:
            return False
        here = {
            other.owner
            for other in self.action_matches
            if before in other.positions and other.positions <= denial.positions
        }
        return bool(here) and match.owner not in here

    def _text(self, blank: str, at: Iterable[int]) -> str:
        first, last = min(at), max(at)
        return " ".join(blank[self.tokens[first].start : self.tokens[last].end].split())

    def kinds(self) -> dict[Key, list[Match]]:
        """Return the question's kinds with their matches, less those that others override."""
        found: dict[Key, list[Match]] = {}
        for key in self.pack_words.kinds:
            matches = self._matches(key, ())
            if matches:
                found[key] = matches
        found = self._without_beaten_kinds(found)
        found = {
            key: matches
            for key, matches in found.items()
            if not self._belongs_to_other_pack(key, matches)
        }
        busy = any(
            one.tools and not one.fallback for one in map(self.pack_words.kinds.get, found) if one
        )
        return {
            key: matches
            for key, matches in found.items()
            if not (busy and self.pack_words.kinds[key].fallback)
        }

    def _without_beaten_kinds(self, found: Mapping[Key, list[Match]]) -> dict[Key, list[Match]]:
        """Return the kinds without those that another kind overrides in the parts it claims."""
        everywhere = frozenset(range(len(self.tokens)))
        banned: dict[Key, frozenset[int]] = {}
        for key, said in self.spans(found).items():
            kind = self.pack_words.kinds[key]
            beaten = {(key[0], other) for other in kind.beats}
            if kind.greedy:
                beaten |= {one for one, other in self.pack_words.kinds.items() if not other.greedy}
            for other in beaten:
                excluded = said if kind.greedy else everywhere
                banned[other] = banned.get(other, frozenset()) | excluded
        for key in found:
            kind = self.pack_words.kinds[key]
            if kind.beyond_images and not kind.fallback:  # its words ask nothing of the images
                own = {place for match in self.kind_matches[key] for place in match.positions}
                for other in found:
                    if other[0] != key[0] and not _is_recorded(self.pack_words.kinds[other]):
                        banned[other] = banned.get(other, frozenset()) | own
        for key in found:
            for other in self.pack_words.kinds[key].means:
                excluded = self._words_without_value((key[0], other))
                banned[key[0], other] = banned.get((key[0], other), frozenset()) | excluded
                excluded -= self._words_with_subject()
                for one in found:  # the same request matches other packs' kinds
                    if one[0] != key[0]:
                        banned[one] = banned.get(one, frozenset()) | excluded
        kept = {
            key: self._matches(key, (), banned) if key in banned else matches
            for key, matches in found.items()
        }
        return {key: matches for key, matches in kept.items() if matches}

    def _words_without_value(self, key: Key) -> frozenset[int]:
        """Return a kind's positions in parts that name no argument value: "outline it"."""
        part = self.parts.part_numbers
        named = {part[match.first] for match in self.values}
        places = {match.first for match in self.kind_matches.get(key, ())}
        return frozenset(place for place in places if part[place] not in named)

    def _words_with_subject(self) -> frozenset[int]:
        """Return the positions in parts that name a tool's subject: "outline the cells"."""
        return self.parts.words(
            {self.parts.part_numbers[match.first] for match in self.subject_matches}
        )

    def spans(self, found: Mapping[Key, Sequence[Match]]) -> dict[Key, frozenset[int]]:
        """Return the indices of the words that belong to each kind in `found`.

        Left out are excluded kinds, and kinds with neither `QuestionKind.beats` nor `greedy`.
        """
        kinds = {
            key: kind for key in found if (kind := self.pack_words.kinds[key]).beats or kind.greedy
        }
        mute = self._excluded_kinds(kinds)
        counting = {key: found[key] for key in kinds if key not in mute}
        whole = frozenset(key for key in counting if kinds[key].greedy)
        named = frozenset(key for key in counting if kinds[key].addressed)
        return clause_scope.words_by_kind(counting, whole, named, self.tokens, self.parts)

    def _excluded_kinds(self, found: Iterable[Key]) -> set[Key]:
        """Return kinds whose tools are all excluded ("don't classify"), which override nothing."""
        mute: set[Key] = set()
        out = self.left_out("").keys() if self.denied else ()
        for key in found:
            kind = self.pack_words.kinds[key]
            known = self.pack_words.kinds.get((key[0], kind.counts_as), kind)
            if known.tools and all(name in out for name in known.tool_names):
                mute.add(key)
        return mute

    def _belongs_to_other_pack(self, key: Key, matches: Sequence[Match]) -> bool:
        """Return whether another pack uses the same words and the question names its subject.

        "Segment the cells" is not for the pack that segments lungs.
        """
        own = self.pack_words.subjects.get(key[0], frozenset())
        spoken = {match.owner for match in (*self.subject_matches, *self.values)}
        if not own or own & spoken:
            return False
        at = frozenset(position for match in matches for position in match.positions)
        for pack, tools in self.pack_words.subjects.items():
            theirs = {
                position
                for (other, _), found in self.kind_matches.items()
                if other == pack != key[0]
                for match in found
                for position in match.positions
            }
            if tools & spoken and at <= theirs:
                return True
        return False

    def _matches(
        self, key: Key, asked: tuple[Key, ...], banned: Mapping[Key, frozenset[int]] = NOWHERE
    ) -> list[Match]:
        """Return the matches of a kind and the kinds it requires, or [] if one is missing.

        `asked` are the kinds that led to this one, to stop at cycles; `banned` the positions of
        words that do not count, by kind.
        """
        kind = self.pack_words.kinds.get(key)
        out = banned.get((asked or (key,))[0], frozenset[int]())
        own: list[Match] = []
        for other, found in self.kind_matches.items():
            same = other[0] == key[0] and self.pack_words.kinds[other].counts_as == key[1]
            if other == key or same:
                excluded = out | banned.get(other, frozenset[int]())
                own += [match for match in found if match.first not in excluded]
        if kind is None or key in asked or (kind.words and not own):
            return []
        found = list(own)
        for other in kind.with_kinds:
            more = self._matches((key[0], other), (*asked, key), banned)
            if not more:
                return []
            found += more
        return found
