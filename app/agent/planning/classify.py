"""Reading of a question: its kinds, and the fewest tools that answer it, by the packs' words."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

from app.agent.llm.base import ToolSchema
from app.agent.planning.clause_scope import carries_no_meaning, is_beyond_word, reported_speech
from app.agent.planning.german import in_standard_german
from app.agent.planning.intent import Intent
from app.agent.planning.mentions import Mention, find_mentions, with_phrases
from app.agent.planning.negation import Denial, denials, is_cue_word
from app.agent.planning.tool_choice import choose
from app.agent.planning.vocabulary import Match, Token, forms_of, tokens_of
from app.agent.planning.word_matches import Key, PackWords, WordMatches, pack_words
from app.tools.pack_plan import Plans, QuestionKind

_LATER = frozenset(("before", "bevor", "ehe"))
_SOONER = frozenset(("after", "nachdem"))
_THAT = frozenset(("that", "it", "them", "this", "which", "wards"))
_ANYTHING = frozenset(("anything", "everything", "all", "else", "alles", "allem"))
_LEAD = 4


@dataclass(frozen=True, slots=True)
class Reading:
    """A question, read.

    Attributes:
        intent: What it asks for, as far as its words say.
        mentions: The tools that it names, those named by a phrase not among them.
        tokens: Its words, misspelt ones put right.
        kinds: Its kinds by (pack, name), with the words that make it one.
        denied: What it leaves out.
        work: Where what tools do stands in it.
        reach: By kind, the words that are said to its tools, for kinds that reach over words.
    """

    intent: Intent
    mentions: list[Mention]
    tokens: Sequence[Token]
    kinds: Mapping[Key, Sequence[Match]]
    denied: Sequence[Denial]
    work: Sequence[Match]
    reach: Mapping[Key, frozenset[int]] = field(default_factory=dict[Key, frozenset[int]])

    def said_to(self, kinds: Collection[Key], text: str) -> str:
        """What of a text of the same length as the question is said to some kinds."""
        words = frozenset[int]().union(*(self.reach.get(key, frozenset()) for key in kinds))
        spans: list[str] = []
        for place in sorted(words):
            after = place + 1
            end = self.tokens[after].start if after < len(self.tokens) else len(text)
            spans.append(text[self.tokens[place].start if place else 0 : end])
        return "".join(spans).strip() or text

    def denied_to(self, tool: str) -> list[Denial]:
        """What it leaves out of a tool's work: "don't classify the lungs" is not about outlines."""
        found: list[Denial] = []
        for denial in self.denied:
            owners = {match.owner for match in self.work if match.at <= denial.at}
            if not owners or tool in owners:
                found.append(denial)
        return found


def read(blank: str, plans: Plans, tools: Collection[str]) -> Reading:
    """Read a question.

    Args:
        blank: The question, normalised, with the insides of quotations blanked.
        plans: What the packs declare.
        tools: The tools there are; where this maps them to schemas, their phrases name them too.
    """
    book = pack_words(plans.packs)
    named = find_mentions(blank, tools)
    mentions = _with_phrases(blank, named, tools)
    tokens, mended = corrected_tokens(blank, book)
    denied = denials(tokens)
    quoted = reported_speech(blank, tokens)
    found = WordMatches(book, tokens, denied, quoted, firm=True)
    kinds = found.kinds()
    asked = _asked(blank, found, kinds, plans, tools, mentions)
    if not asked.wanted and not asked.named:
        # "kein Erguss": nothing but what may be absent, so that is what is asked about.
        loose = WordMatches(book, tokens, denied, quoted, firm=False)
        again = _asked(blank, loose, loose.kinds(), plans, tools, mentions)
        asked, kinds = (again, loose.kinds()) if again.wanted else (asked, kinds)
    told = found.counted(kinds)
    corrections = tuple(
        (blank[tokens[position].start : tokens[position].end], meant)
        for position, meant in mended.items()
        if position in told
    )
    subjects = frozenset(match.owner for match in found.mentioned)
    intent = replace(asked, corrections=tuple(dict.fromkeys(corrections)), subjects=subjects)
    return Reading(intent, named, tokens, kinds, denied, found.work, found.reach(kinds))


def corrected_tokens(blank: str, book: PackWords) -> tuple[list[Token], dict[int, str]]:
    """The words with misspelt ones put right, and by number what these are read as."""
    mended: dict[int, str] = {}
    done: list[Token] = []
    for token in in_standard_german(tokens_of(blank)):
        if token.forms and not any(part.known(token.forms) for part in book.parts):
            meant = (
                ""
                if carries_no_meaning(token) or is_cue_word(token) or is_beyond_word(token)
                else book.speller.nearest(token.text)
            )
            if meant:
                mended[len(done)] = meant
                token = replace(token, text=meant, forms=forms_of((meant,)))
        done.append(token)
    return done, mended


def words_in(blank: str, plans: Plans) -> tuple[list[Token], list[Denial]]:
    """The words of a text, misspelt ones put right, and what it leaves out."""
    tokens, _ = corrected_tokens(blank, pack_words(plans.packs))
    return tokens, denials(tokens)


def _asked(
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
    forbidden = found.no_tools(blank)
    if forbidden:
        left_out = dict.fromkeys(tools, forbidden)
    named = frozenset(
        item.name for item in mentions if item.known and not (item.negated or item.about)
    )
    order = sorted(kinds, key=lambda key: min(_turn(match, found.tokens) for match in kinds[key]))
    answering = [(found.book.kinds[key], kinds[key]) for key in order]
    known = (found.about, found.tokens, plans, tools, left_out, named)
    wanted, absent = choose(answering, *known)
    looking = [item for item in answering if not item[0].by_eye]
    firm = choose(looking, *known)[0] if len(looking) < len(answering) else wanted
    telling_first = sorted(order, key=lambda key: -max(len(match.at) for match in kinds[key]))
    working = [kind for kind in map(found.book.kinds.__getitem__, order) if kind.tools]
    return Intent(
        kinds=tuple(dict.fromkeys(name for _, name in telling_first)),
        left_out=left_out,
        named=named,
        wanted=wanted,
        certain=_certain(found, kinds, working, absent),
        expects_data=any(plans.rule(tool).empty for tool in wanted),
        needs_image=any(kind.needs_image for kind in working),
        absent=absent,
        by_eye=frozenset(wanted) - frozenset(firm) - named,
    )


def _turn(match: Match, tokens: Sequence[Token]) -> int:
    """When it is to be done: in the order of the words, but "before x, y" and "y after x"."""
    first = match.first
    for position in range(first - 1, max(-1, first - 1 - _LEAD), -1):
        if tokens[position].clause != tokens[first].clause:
            break
        if tokens[position].text in _LATER:
            if tokens[position + 1].text in _ANYTHING:
                return first - len(tokens)  # "before anything else"
            return first + len(tokens)
        after = tokens[position + 1].text
        if tokens[position].text in _SOONER and after not in _THAT:
            return first - len(tokens)
    return first


def _certain(
    found: WordMatches,
    kinds: Mapping[Key, Sequence[Match]],
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
        position in used or carries_no_meaning(token) for position, token in enumerate(found.tokens)
    )


def _with_phrases(blank: str, mentions: list[Mention], tools: Collection[str]) -> Sequence[Mention]:
    """Return the mentions with the tools named by their phrases, where schemas are known."""
    if isinstance(tools, Mapping):
        schemas: dict[str, ToolSchema] = {
            name: schema for name, schema in tools.items() if isinstance(schema, ToolSchema)
        }
        return with_phrases(blank, mentions, schemas)
    return mentions
