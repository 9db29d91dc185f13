"""Interprets a question by the words that packs declare: finds its kinds and the fewest tools."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

from app.agent.llm.base import ToolSchema
from app.agent.planning.clause_scope import (
    carries_no_meaning,
    is_unanswerable_word,
    reported_speech,
)
from app.agent.planning.mentions import Mention, find_mentions, with_phrases
from app.agent.planning.negation import Denial, denials, is_cue_word
from app.agent.planning.plan import Intent
from app.agent.planning.tool_choice import choose
from app.agent.planning.vocabulary import Match, Token, forms_of, in_standard_german, tokens_of
from app.agent.planning.word_matches import Key, PackWords, WordMatches, pack_words
from app.tools.pack_plan import Accepts, Plans, QuestionKind

_BEFORE_WORDS = frozenset(("before", "bevor", "ehe"))
_AFTER_WORDS = frozenset(("after", "nachdem"))
_THAT = frozenset(("that", "it", "them", "this", "which", "wards"))
# "Before anything else, ..." orders this first; "before x, y" orders y first.
_ANYTHING = frozenset(("anything", "everything", "all", "else", "alles", "allem"))
# How many words before a match "before" or "after" may stand.
_LEAD = 4


@dataclass(frozen=True, slots=True)
class Reading:
    """A question as rules read it: its words, its kinds and its intent.

    Attributes:
        intent: What the question asks for, as far as rules can tell from its words.
        mentions: The tools that the question mentions by name; tools mentioned by a phrase are not
            included.
        tokens: The question's words with spelling corrected.
        kinds: The question's kinds by (pack, name), each with the matches that identify it.
        denied: The exclusions in the question, such as "without a report".
        action_matches: Matches of words for what a tool does ("segment"), excluded or not.
        spans: For each kind that has `QuestionKind.beats` or is `greedy`, the indices in `tokens`
            of the words that belong to it, as `words_by_kind` returns them.
    """

    intent: Intent
    mentions: list[Mention]
    tokens: Sequence[Token]
    kinds: Mapping[Key, Sequence[Match]]
    denied: Sequence[Denial]
    action_matches: Sequence[Match]
    spans: Mapping[Key, frozenset[int]] = field(default_factory=dict[Key, frozenset[int]])

    def text_for(self, kinds: Collection[Key], text: str) -> str:
        """Return the part of `text` that belongs to these kinds of question; if none, all of it.

        `text` is the question, or a copy of the same length with quoted contents blanked.
        """
        words = frozenset[int]().union(*(self.spans.get(key, frozenset()) for key in kinds))
        texts: list[str] = []
        for place in sorted(words):
            after = place + 1
            end = self.tokens[after].start if after < len(self.tokens) else len(text)
            texts.append(text[self.tokens[place].start if place else 0 : end])
        return "".join(texts).strip() or text

    def denials_for(self, tool: str) -> list[Denial]:
        """Return the exclusions that affect a tool.

        An exclusion of another tool's action does not: "don't classify" if this tool outlines.
        """
        found: list[Denial] = []
        for denial in self.denied:
            owners = {
                match.owner for match in self.action_matches if match.positions <= denial.positions
            }
            if not owners or tool in owners:
                found.append(denial)
        return found


def read_question(blank: str, plans: Plans, tools: Mapping[str, ToolSchema]) -> Reading:
    """Return a question's words, kinds and intent.

    `blank` is the question with the contents of quoted strings blanked.
    """
    book = pack_words(plans.packs)
    named = find_mentions(blank, tools)
    mentions = with_phrases(blank, named, tools)
    tokens, mended = corrected_tokens(blank, book)
    denied = denials(tokens)
    quoted = reported_speech(blank, tokens)
    found = WordMatches(book, tokens, denied, quoted, strict=True)
    kinds = _of_owner(found.kinds(), found, plans)
    asked = _read_intent(blank, found, kinds, plans, tools, mentions)
    if not asked.wanted and not asked.named:
        # "kein Erguss" excludes everything it mentions, so the question is whether there is one.
        loose = WordMatches(book, tokens, denied, quoted, strict=False)
        loose_kinds = _of_owner(loose.kinds(), loose, plans)
        again = _read_intent(blank, loose, loose_kinds, plans, tools, mentions)
        asked, kinds = (again, loose_kinds) if again.wanted else (asked, kinds)
    meaningful = found.meaningful_words(kinds)
    corrections = tuple(
        (blank[tokens[position].start : tokens[position].end], meant)
        for position, meant in mended.items()
        if position in meaningful
    )
    subjects = frozenset(match.owner for match in found.subject_mentions)
    intent = replace(
        asked,
        corrections=tuple(dict.fromkeys(corrections)),
        subjects=subjects,
        targets=frozenset(match.owner for match in book.target_words.find(tokens)),
    )
    return Reading(intent, named, tokens, kinds, denied, found.action_matches, found.spans(kinds))


def _of_owner(
    kinds: dict[Key, list[Match]], found: WordMatches, plans: Plans
) -> dict[Key, list[Match]]:
    """Return the kinds without those that another pack claims by words it shares with the owner.

    The owner is the pack to which the current image belongs. Its kinds count before those of other
    packs that have images of their own, unless the question names what only those work on.
    """
    domains = {pack.pack: pack for pack in plans.packs if pack.own_images != Accepts()}
    working = {key for key in kinds if found.pack_words.kinds[key].tools}
    ours = {key for key in working if key[0] == plans.owner}
    others = {key for key in working - ours if key[0] in domains}
    if not ours or not others:
        return kinds
    objects = {match.owner for match in (*found.subject_matches, *found.values)}
    named = {name for name, pack in domains.items() if objects & {rule.tool for rule in pack.tools}}
    foreign = named - {plans.owner}
    dropped = ours if foreign and plans.owner not in named else others
    return {key: matches for key, matches in kinds.items() if key not in dropped}


def corrected_tokens(blank: str, book: PackWords) -> tuple[list[Token], dict[int, str]]:
    """Return a text's words, with spelling corrected, and {index of a word: its correction}.

    Words are corrected to those of the packs (`book`). In `blank`, quoted contents are blanked.
    """
    mended: dict[int, str] = {}
    done: list[Token] = []
    for token in in_standard_german(tokens_of(blank)):
        if token.forms and not any(part.word_numbers(token.forms) for part in book.parts):
            meant = (
                ""
                if carries_no_meaning(token) or is_cue_word(token) or is_unanswerable_word(token)
                else book.nearest(token.text)
            )
            if meant:
                mended[len(done)] = meant
                token = replace(token, text=meant, forms=forms_of((meant,)))
        done.append(token)
    return done, mended


def words_in(blank: str, plans: Plans) -> tuple[list[Token], list[Denial]]:
    """Return a text's words with spelling corrected, and the exclusions in it."""
    tokens, _ = corrected_tokens(blank, pack_words(plans.packs))
    return tokens, denials(tokens)


def _read_intent(
    blank: str,
    found: WordMatches,
    kinds: Mapping[Key, list[Match]],
    plans: Plans,
    tools: Collection[str],
    mentions: Sequence[Mention],
) -> Intent:
    left_out = found.left_out(blank)
    for item in mentions:
        if item.negated:
            left_out.setdefault(item.name, " ".join(blank[item.start : item.end].split()))
    forbidden = found.all_tools_exclusion(blank)
    if forbidden:
        left_out = dict.fromkeys(tools, forbidden)
    named = frozenset(
        item.name for item in mentions if item.known and not (item.negated or item.about_tool)
    )
    order = sorted(
        kinds, key=lambda key: min(_running_order(match, found.tokens) for match in kinds[key])
    )
    answering = [(found.pack_words.kinds[key], kinds[key]) for key in order]
    known = (found.subject_matches, found.tokens, plans, tools, left_out, named)
    wanted, absent = choose(answering, *known)
    without_seeing = [item for item in answering if not item[0].by_eye]
    without_eyes = (
        choose(without_seeing, *known)[0] if len(without_seeing) < len(answering) else wanted
    )
    most_specific = sorted(
        order, key=lambda key: -max(len(match.positions) for match in kinds[key])
    )
    kinds_with_tools = [
        kind for kind in map(found.pack_words.kinds.__getitem__, order) if kind.tools
    ]
    return Intent(
        kinds=tuple(dict.fromkeys(name for _, name in most_specific)),
        left_out=left_out,
        named=named,
        wanted=wanted,
        only=bool(_ONLY.search(blank)) and not blank.rstrip().endswith("?"),
        in_order=len(wanted) > 1 and bool(_IN_ORDER.search(blank)),
        certain=_is_certain(found, kinds, kinds_with_tools, absent),
        expects_data=any(plans.rule(tool).empty for tool in wanted),
        needs_image=any(kind.needs_image for kind in kinds_with_tools),
        absent=absent,
        by_eye=frozenset(wanted) - frozenset(without_eyes) - named,
    )


_ONLY = re.compile(
    r"(?<!not )(?<!nicht )\b(?:only|solely|exclusively|nothing else|nur|lediglich|sonst nichts)\b"
    r"(?! (?:if|when|wenn|falls))",
    re.IGNORECASE,
)
_IN_ORDER = re.compile(
    r"\b(?:then|after that|afterwards|dann|danach|anschlie(?:ß|ss)end)\b", re.IGNORECASE
)


def _running_order(match: Match, tokens: Sequence[Token]) -> int:
    """Return a sort key for the order of execution: word order, except for "before" and "after"."""
    first = match.first
    for position in range(first - 1, max(-1, first - 1 - _LEAD), -1):
        if tokens[position].clause != tokens[first].clause:
            break
        if tokens[position].text in _BEFORE_WORDS:
            if tokens[position + 1].text in _ANYTHING:
                return first - len(tokens)  # "before anything else"
            return first + len(tokens)
        after = tokens[position + 1].text
        if tokens[position].text in _AFTER_WORDS and after not in _THAT:
            return first - len(tokens)
    return first


def _is_certain(
    found: WordMatches,
    kinds: Mapping[Key, Sequence[Match]],
    working: Sequence[QuestionKind],
    absent: Sequence[str],
) -> bool:
    """Return whether every word is understood and every kind can be answered by rules alone."""
    # "Lungs" alone may ask for anything; in "segment the lungs" it asks for no further tool.
    sure = {tool for kind in working if kind.certain for tool in kind.tool_names}
    if absent or not sure or any(not sure.issuperset(kind.tool_names) for kind in working):
        return False
    used = {
        position for matches in kinds.values() for match in matches for position in match.positions
    }
    for match in [*found.subject_matches, *found.values, *found.action_matches]:
        used |= match.positions
    for denial in found.denied:
        used |= set(range(denial.cue, denial.last + 1))
    return all(
        position in used or carries_no_meaning(token) for position, token in enumerate(found.tokens)
    )
