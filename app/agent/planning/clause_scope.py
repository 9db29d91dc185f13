"""Finds filler words, reported speech, subjects without a tool, and the words of question kinds."""

from __future__ import annotations

import contextlib
import re
import tomllib
from collections.abc import Collection, Mapping, Sequence
from typing import Any, TypeVar

from app.agent.planning.question_parts import Parts
from app.agent.planning.vocabulary import DETERMINERS, Match, Token, Vocabulary
from app.paths import question_words, resources_dir
from app.tools.pack_plan import phrases, word_lists

_SECTIONS = word_lists("out_of_scope")
_CLAUSES = word_lists("clauses")
KNOWLEDGE = phrases(_SECTIONS["KNOWLEDGE"])
# Clinical scores, further tests, and reports that somebody else wrote: these words count even
# within a tool's own ("score", "report").
ELSEWHERE = phrases(_SECTIONS["ELSEWHERE"])
# Only whole phrases of "weather", which may be "whether" misspelt ("ask it weather the lungs ...").
ERRANDS = phrases(_SECTIONS["ERRANDS"])
RECORDED = frozenset((*phrases(_SECTIONS["RECORDED"]), *ELSEWHERE))
"""Of these entries, those that do not speak against a question about a patient's record."""
_ENTRIES = phrases(_SECTIONS["ENTRIES"])
_FRAMES = Vocabulary(
    [
        *(("world", entry) for entry in _ENTRIES),
        (
            "between",
            "what|what's|whats|explain|was|erklaer* .. difference*|unterschied* between|zwischen",
        ),
    ]
)
_IMAGES = _CLAUSES["IMAGES"]
_ANCHORS = Vocabulary(
    [
        ("this", f"this|these|diese*|the|der|die|das|dem|den|her|his|my|our {_IMAGES}"),
        ("this", "here"),
        ("this", "hier"),
        ("this", "on|in|from|auf|im film|image|picture|bild|micrograph|header"),
    ]
)
_SHOWN = frozenset(("this", "these", "his", "her", "diese", "dieser", "dieses", "diesem", "diesen"))
_SIDES = frozenset(_CLAUSES["SIDES"].split())
_PASSING = frozenset(_CLAUSES["PASSING"].split())


def everyday_words(tokens: Sequence[Token]) -> frozenset[int]:
    """Return the indices of words in clauses about everyday matters rather than the images."""
    frames = _FRAMES.find(tokens)
    if not frames:
        return frozenset()
    shown = {tokens[match.first].clause for match in _ANCHORS.find(tokens)}
    for place, token in enumerate(tokens[:-1]):
        if token.text in _SHOWN and tokens[place + 1].text not in _PASSING:
            shown.add(token.clause)
    sides = {token.clause for token in tokens if token.text in _SIDES}
    everyday_clauses = {
        clause
        for match in frames
        for clause in (tokens[match.first].clause,)
        if clause not in shown and (match.owner == "world" or clause not in sides)
    }
    return frozenset(
        place for place, token in enumerate(tokens) if token.clause in everyday_clauses
    )


_VIEWER = tomllib.loads((resources_dir() / "words" / "viewer.toml").read_text("utf-8"))["lines"]
REQUESTS = Vocabulary((line["says"], entry) for line in _VIEWER for entry in phrases(line["words"]))
"""Words of requests to the viewer; the owner of each is the sentence that answers it."""
ALONE = Vocabulary(
    (line["says"], entry) for line in _VIEWER for entry in phrases(line.get("alone", ""))
)
"""Words that are such a request if nothing else is asked: "bone window"."""
FACTS = frozenset(line["says"] for line in _VIEWER if line.get("fact"))
"""Of these sentences, those that say where the viewer shows what the assistant is not given."""
KNOWN = {line["says"]: line["known"] for line in _VIEWER if "known" in line}
"""Sentences said in place of others if the image's note has what stands in braces."""
EXPORTS = Vocabulary(
    ("export", entry) for entry in phrases("png, convert*, export*, save, konvertier*, speicher*")
)
"""Words that make work for a tool of a request: "set the window to 40/400 and export it"."""


_HISTORY = Vocabulary(("history", entry) for entry in phrases(_CLAUSES["HISTORY"]))
_STATEMENTS = Vocabulary(("tells", entry) for entry in phrases(_CLAUSES["STATEMENTS"]))
_UNANSWERABLE = Vocabulary(
    [
        *(("knows", entry) for entry in KNOWLEDGE + ERRANDS),
        *(("elsewhere", entry) for entry in ELSEWHERE),
    ]
)
_WHAT_IS = Vocabulary(
    [
        *(("what", entry) for entry in ("what is", "what's", "what are", "was ist", "was sind")),
        *(("what", entry) for entry in ("whats", "was bedeutet", "tell about", "wer ist")),
        *(("tell", entry) for entry in ("explain", "erklaer*", "erlaeuter*")),
    ]
)
_INDEFINITE = frozenset(("a", "an", "ein", "eine", "einen"))
_STATES_TEXT = """
    wrong abnormal normal visible seen present suspicious shown open broken
    auffaellig unauffaellig krankhaft pathologisch verdaechtig sichtbar gebrochen
"""
_TRAILING = frozenset(("to", "me", "us", "mir", "uns", "please", "bitte", "briefly", "kurz"))
_STATES = frozenset(_STATES_TEXT.split())
_LIGHT = DETERMINERS | question_words("light")
AND = frozenset(("and", "then", "und", "dann"))
CANNOT = "I cannot work the viewer."
NOT_UNDERSTOOD = "I did not understand what to do in the window."
# How many words a cue may precede the word it concerns.
_NEAR = 2
# Words of a phrase that asks about patients, whatever everyday meaning some of them have:
# "most common diagnoses".
_TELLING = 3
# How many words before a quotation may hold the verb that reports it.
_REPORTED = 4
_ORDERED = frozenset(("a", "with", "as", "ein", "einen", "einem", "mit", "als"))
_TITLES = frozenset(("title", "titled", "caption", "heading", "titel", "ueberschrift"))
_QUOTED = re.compile("[\"'][\x00]+[\"']")
_REPORTS = Vocabulary(("reports", entry) for entry in phrases(_CLAUSES["REPORTS"]))


def unanswerable_words(tokens: Sequence[Token]) -> frozenset[int]:
    """Return the indices of words about subjects that no tool covers, such as billing."""
    return frozenset(place for match in _UNANSWERABLE.find(tokens) for place in match.positions)


def unanswerable_matches(
    tokens: Sequence[Token], matches: Sequence[Match], recorded: Collection[Match] = ()
) -> frozenset[Match]:
    """Return the matches that only ask for general knowledge, everyday matters or viewer help.

    `recorded` are those that ask for what a patient's record says, such as the blood pressure.
    """
    world = everyday_words(tokens)
    found = {
        match
        for match in matches
        if match.first in world and not (match in recorded and len(match.positions) >= _TELLING)
    }
    for cue in _UNANSWERABLE.find(tokens):
        first = min(cue.positions)
        for match in matches:
            same = tokens[match.first].clause == tokens[first].clause
            known = cue.owner == "knows"
            near = max(match.positions) >= (first - _NEAR if known else first)
            # A cue within a tool's own words does not count: "treatment" beside "control".
            own = known and cue.positions & match.positions
            own = own or (match in recorded and cue.entry in RECORDED)
            if same and near and not own:
                found.add(match)
    for cue in _viewer_requests(tokens):
        found.update(
            match
            for match in matches
            if match not in recorded
            and tokens[match.first].clause == tokens[cue.first].clause
            and max(match.positions) >= cue.first - _NEAR
        )
    for cue in _WHAT_IS.find(tokens):
        articles = _INDEFINITE if cue.owner == "what" else DETERMINERS
        found.update(
            match
            for match in matches
            if _asks_definition(tokens, max(cue.positions), match, articles)
        )
    return frozenset(found)


def viewer_help(tokens: Sequence[Token], note: Mapping[str, Any] | None) -> str:
    """Return one line on how the user can do in the viewer what a question asks; "" if nothing.

    If it asks only for facts about the current image that are in `note`, the line gives these.
    """
    said = dict.fromkeys(match.owner for match in _viewer_requests(tokens))
    if said.keys() <= FACTS:
        with contextlib.suppress(KeyError):
            return " ".join(KNOWN.get(line, line).format_map(note or {}) for line in said)
        return " ".join(said)
    return f"{CANNOT} {' '.join(said)}"


def _viewer_requests(tokens: Sequence[Token]) -> list[Match]:
    """Return requests to work the viewer ("hide it"); `Match.owner` names the keys."""
    exports = {match.first for match in EXPORTS.find(tokens)}
    exported = {tokens[place].clause for place in exports}
    requests = REQUESTS.find(tokens)
    # "Remove the lung outline" is about the outline, where the words end, and not about the lung.
    reach: dict[int, int] = {}
    for match in requests:
        reach[match.first] = max(reach.get(match.first, 0), *match.positions)
    found = [
        match
        for match in ALONE.find(tokens)
        if all(n in match.positions or carries_no_meaning(word) for n, word in enumerate(tokens))
    ]
    for match in requests:
        clause, lead = tokens[match.first].clause, list[Token]()
        for token in tokens[: match.first]:
            if token.clause == clause:
                lead = [] if token.text in AND else [*lead, token]
        # "Herz ausblenden", but not "does it make the heart larger".
        last = match.first + 1
        ends = len(match.positions) == 1 and (last == len(tokens) or tokens[last].clause != clause)
        free = clause not in exported or bool(match.positions & exports)
        asked = free and reach[match.first] in match.positions
        if asked and (ends or all(map(carries_no_meaning, lead))):
            found.append(match)
    return found


def _asks_definition(
    tokens: Sequence[Token], last: int, match: Match, articles: Collection[str]
) -> bool:
    """Return whether "what is" asks for a definition: "a pneumothorax", but not "the ratio"."""
    between = [token.text for token in tokens[last + 1 : match.first]]
    if match.first <= last or any(word not in articles for word in between):
        return False
    end = max(match.positions)
    while end + 1 < len(tokens) and tokens[end + 1].text in _TRAILING:
        end += 1
    after = tokens[end + 1] if end + 1 < len(tokens) else None
    ends = after is None or after.clause != tokens[end].clause
    return ends and (bool(between) or tokens[match.first].text not in _STATES)


def history_words(tokens: Sequence[Token], parts: Parts) -> frozenset[int]:
    """Return the indices of words that state the patient's history: "known cardiomegaly".

    These words provide context and do not ask for anything. `parts` divides the question.
    """
    stated = {parts.part_numbers[match.first] for match in _STATEMENTS.find(tokens)}
    found = {
        place
        for place, part in enumerate(parts.part_numbers)
        if not parts.asks[part] and part in stated
    }
    for cue in _HISTORY.find(tokens):
        last = max(cue.positions)
        if parts.asks[parts.part_numbers[last]]:
            continue
        found.update(
            position
            for position in range(last + 1, len(tokens))
            if tokens[position].clause == tokens[last].clause
        )
    return frozenset(found)


def reported_speech(blank: str, tokens: Sequence[Token]) -> frozenset[int]:
    """Return the indices of the words in `tokens` that introduce a quotation: 'the tag says "..."'.

    These words do not ask for anything. In `blank`, the contents of quoted strings are NUL
    characters.
    """
    found: set[int] = set()
    # "With a title saying ..." requests a title; "the title says ..." reports one.
    titles = {
        place
        for place, token in enumerate(tokens)
        if token.text in _TITLES and place and tokens[place - 1].text in _ORDERED
    }
    verbs = [
        match.first
        for match in _REPORTS.find(tokens)
        if not titles & set(range(match.first - 2, match.first + 1))
    ]
    for quoted in _QUOTED.finditer(blank):
        before = [number for number, token in enumerate(tokens) if token.end <= quoted.start() + 1]
        if not before:
            continue
        last = before[-1]
        clause = [number for number in before if tokens[number].sentence == tokens[last].sentence]
        if any(verb in clause[-_REPORTED:] for verb in verbs):
            found.update(clause)
    return frozenset(found)


def is_unanswerable_word(token: Token) -> bool:
    """Return whether a word is about a subject that no tool covers.

    Such a word is never treated as misspelt.
    """
    return bool(_UNANSWERABLE.word_numbers(token.forms))


def carries_no_meaning(token: Token) -> bool:
    """Return whether a word adds nothing to what is asked ("please", "the", "show")."""
    return not token.forms or any(form in _LIGHT for form in token.forms)


_K = TypeVar("_K")
_IT = question_words("it")
_PREDICATES = frozenset(("soll", "sollte", "sollen", "muss", "should", "must", "needs"))
_ADDRESSING = question_words("addressing")


# Words that begin the question passed on in "please ask it, as you did before, whether ...".
_WHETHER_TEXT = "ob whether if wether weather was wie how what which wo where welche"
_WHETHER = frozenset(_WHETHER_TEXT.split())
_ANSWERING = question_words("answering")


def words_by_kind(
    kinds: Mapping[_K, Sequence[Match]],
    whole: Collection[_K],
    named: Collection[_K],
    tokens: Sequence[Token],
    parts: Parts,
) -> dict[_K, frozenset[int]]:
    """Return the indices in `tokens` of the words that belong to each question kind in `kinds`.

    These are the parts of the question with the kind's own words, and statements next to them: "he
    mentions a mass, can you frame it". A separate request does not belong: "frame it, and measure
    the heart". To a kind in `whole` also belongs a request that refers to its statement ("I drew a
    box. Outline it"), and to one in `named` the part that it addresses ("MedGemma: lines ok?"); see
    `QuestionKind.greedy` and `addressed`.
    """
    at = {key: {parts.part_numbers[place] for match in found for place in match.positions}
          for key, found in kinds.items()}  # fmt: skip
    found: dict[_K, frozenset[int]] = {}
    for key, own in at.items():
        others = set[int]().union(*(at[other] for other in whole if other != key)) - own
        reach = set(own)
        for part in own:
            reach |= _adjacent_statements(part, -1, parts, own | others)
            reach |= _adjacent_statements(part, 1, parts, own | others)
            if key in whole:
                reach |= _following_request(part, tokens, parts) - others
            if key in named and _addresses_next_part(part, kinds[key], tokens, parts):
                reach |= {part + 1} - others
        found[key] = parts.words(reach)
    return found


def _adjacent_statements(part: int, step: int, parts: Parts, taken: Collection[int]) -> set[int]:
    """Return the adjacent parts that ask for nothing themselves, in the direction of `step`."""
    found: set[int] = set()
    part += step
    while 0 <= part < len(parts.asks) and part not in taken and not parts.asks[part]:
        found.add(part)
        part += step
    return found


def _following_request(part: int, tokens: Sequence[Token], parts: Parts) -> set[int]:
    """Return the request after a statement if it refers to that statement: "outline it"."""
    if parts.asks[part]:
        return set()
    if _is_subject(part, tokens, parts):
        return {part + 1}
    after = [
        number
        for number in range(part + 1, min(part + 3, len(parts.asks)))
        if not parts.follows[number]
    ]
    for number in after:
        if any(tokens[place].text in _IT for place in parts.words((number,))):
            return set(range(part + 1, number + 1))
    return set()


def _is_subject(part: int, tokens: Sequence[Token], parts: Parts) -> bool:
    """Return whether the next part only completes this one: "what I marked, should be outlined"."""
    after = part + 1
    if after >= len(parts.asks) or parts.follows[after]:
        return False
    following = parts.part_numbers.index(after)
    same = tokens[following - 1].sentence == tokens[following].sentence
    return same and tokens[following].text in _PREDICATES


def _addresses_next_part(
    part: int, matches: Sequence[Match], tokens: Sequence[Token], parts: Parts
) -> bool:
    """Return whether a part only names the tool for the next part: "MedGemma: lines ok?"."""
    after = part + 1
    if after >= len(parts.asks) or parts.follows[after]:
        return False
    named = frozenset(place for match in matches for place in match.positions)
    words = [place for place, number in enumerate(parts.part_numbers) if number == part]
    following = parts.part_numbers.index(after)
    said = [tokens[place].text for place in words]
    if tokens[following].text in _WHETHER and any(
        word in _ADDRESSING or word in _ANSWERING for word in said
    ):
        return True
    if tokens[words[-1]].sentence != tokens[following].sentence:
        return False
    return all(
        place in named or carries_no_meaning(tokens[place]) or tokens[place].text in _ADDRESSING
        for place in words
    )
