"""What no tool answers, whatever its words: textbook questions, errands. And words of no weight."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence

from app.agent.planning.beyond import ERRANDS, KNOWLEDGE
from app.agent.planning.everyday import everyday
from app.agent.planning.parts import Parts
from app.agent.planning.words import DETERMINERS, Match, Token, Vocabulary

_HISTORY = Vocabulary(
    [
        ("history", entry)
        for entry in (
            *("known", "history of", "hx of", "h o", "s p", "status post", "pmh", "previously"),
            *("bekannt*", "vorbekannt*", "zustand nach", "z n", "st n", "anamnestisch"),
        )
    ]
)
_TELLS = Vocabulary(
    [
        ("tells", entry)
        for entry in (
            *("he", "she", "he's", "she's", "patient", "pt", "pat", "patientin", "yo", "year old"),
            *("y o", "mentions", "mentioned", "says", "said", "thinks", "thought", "wrote"),
            *("writes", "presented", "presents", "presenting", "admitted", "complain*", "had"),
            *("was", "were", "drained", "treated for", "yesterday", "ago", "since", "last week"),
            *("jaehrig*", "seit", "gestern", "vor .. tagen", "vor .. wochen", "hatte", "klagt"),
            *("meint", "schreibt", "vermutet", "suspects", "suspected", "behandelt", "hausarzt"),
            # Why somebody asks, or what is done after that.
            *("before|bevor|ehe|until|bis|while|because|weil i|we|ich|wir", "so i|we can"),
            *("supposing", "assuming", "suppose", "provided that", "angenommen", "falls"),
            *("kommt mit", "kam mit", "aufgenommen mit", "j"),
        )
    ]
)
_BEYOND = Vocabulary([("knows", entry) for entry in KNOWLEDGE + ERRANDS])
_WHAT_IS = Vocabulary(
    [
        *(("what", entry) for entry in ("what is", "what's", "what are", "was ist", "was sind")),
        *(("what", entry) for entry in ("whats", "was bedeutet", "tell about", "wer ist")),
        *(("tell", entry) for entry in ("explain", "erklaer*", "erlaeuter*")),
    ]
)
_INDEFINITE = frozenset(("a", "an", "ein", "eine", "einen"))
_STATES_TEXT = "wrong abnormal normal visible seen present suspicious shown open broken"
_TRAILING = frozenset(("to", "me", "us", "mir", "uns", "please", "bitte", "briefly", "kurz"))
_STATES = frozenset(_STATES_TEXT.split())
_LIGHT_TEXT = (
    "is are was were be been do does did can could would should will shall may might must i you we "
    "he she it they one there here of in on at to for with from by as and or so if then what which "
    "how who when show tell give get let make find see look looks like want need know check "
    "whether ob seem seems appear appears still yet now today maybe perhaps possibly overall "
    "use run apply perform any anything something has have had say think also again ok okay what's "
    "determine calculate compute measure estimate evaluate assess kindly thanks thank hi hello "
    "dear now just only really quite very too exactly about roughly approximately patient "
    "patient's patients image images picture pictures photo film scan file study slide today "
    "he's she's ist sind war waren sein hat haben kann koennte koennten koennen soll sollte wird "
    "werden du sie ich wir er es man hier da dort von vom im in am auf zu zum zur fuer mit aus und "
    "oder so wenn dann was wie wer wann welche welcher welches viele viel zeig zeige sag sage gib "
    "finde siehst sieht sehen bestimme berechne messe miss pruefe prueft genau etwa ungefaehr nur "
    "sehr patient patienten patientin bild bilder aufnahme datei studie danke hallo gibt insgesamt "
    "total altogether overall denn eigentlich wohl"
)
_LIGHT = DETERMINERS | frozenset(_LIGHT_TEXT.split())
_NEAR = 2
_REPORTED = 4
_ORDERED = frozenset(("a", "with", "as", "ein", "einen", "einem", "mit", "als"))
_TITLES = frozenset(("title", "titled", "caption", "heading", "titel", "ueberschrift"))
_QUOTED = re.compile("[\"'][\x00]+[\"']")
_REPORTS = Vocabulary(
    [
        ("reports", entry)
        for entry in (
            *("say", "says", "said", "saying", "read", "reads", "write", "writes", "wrote"),
            *(
                "written",
                "contain",
                "contains",
                "contained",
                "states",
                "stated",
                "claims",
                "called",
            ),
            *("named", "is", "was", "tells", "told", "asks", "asked", "label", "title is", "noted"),
            *("mentions", "mentioned", "translate", "quote", "quotes", "remark", "comment"),
            *("steht", "stand", "sagt", "sagte", "lautet", "schrieb", "schreibt", "heisst"),
            *("enthaelt", "meint", "meinte", "besagt"),
        )
    ]
)


def beyond_words(tokens: Sequence[Token]) -> frozenset[int]:
    """The words that ask for what no tool answers."""
    return frozenset(place for match in _BEYOND.find(tokens) for place in match.at)


def beyond_tools(tokens: Sequence[Token], matches: Sequence[Match]) -> frozenset[Match]:
    """The matches that stand in a textbook question or an errand."""
    world = everyday(tokens)
    found = {match for match in matches if match.first in world}
    for cue in _BEYOND.find(tokens):
        first = min(cue.at)
        for match in matches:
            same = tokens[match.first].clause == tokens[first].clause
            near = max(match.at) >= first - _NEAR
            # The tools' own words are no cue against them: "treatment" beside "control".
            if same and near and not cue.at & match.at:
                found.add(match)
    for cue in _WHAT_IS.find(tokens):
        articles = _INDEFINITE if cue.owner == "what" else DETERMINERS
        found.update(match for match in matches if _defines(tokens, max(cue.at), match, articles))
    return frozenset(found)


def _defines(tokens: Sequence[Token], last: int, match: Match, articles: Collection[str]) -> bool:
    """Whether "what is" asks for what a thing is at all: "a pneumothorax", not "the ratio"."""
    between = [token.text for token in tokens[last + 1 : match.first]]
    if match.first <= last or any(word not in articles for word in between):
        return False
    end = max(match.at)
    while end + 1 < len(tokens) and tokens[end + 1].text in _TRAILING:
        end += 1
    after = tokens[end + 1] if end + 1 < len(tokens) else None
    ends = after is None or after.clause != tokens[end].clause
    return ends and (bool(between) or tokens[match.first].text not in _STATES)


def history(tokens: Sequence[Token], parts: Parts) -> frozenset[int]:
    """The words that tell what is known of the patient: "known cardiomegaly". They ask nothing."""
    found = {
        place
        for place, part in enumerate(parts.of)
        if not parts.asks[part] and part in _told_parts(tokens, parts)
    }
    for cue in _HISTORY.find(tokens):
        last = max(cue.at)
        if parts.asks[parts.of[last]]:
            continue
        found.update(
            position
            for position in range(last + 1, len(tokens))
            if tokens[position].clause == tokens[last].clause
        )
    return frozenset(found)


def _told_parts(tokens: Sequence[Token], parts: Parts) -> frozenset[int]:
    """The parts that speak of the patient, or of what somebody thinks."""
    return frozenset(parts.of[match.first] for match in _TELLS.find(tokens))


def reported(blank: str, tokens: Sequence[Token]) -> frozenset[int]:
    """The words that tell what somebody else wrote: "the tag says "..."". They ask for nothing."""
    found: set[int] = set()
    # "With a title saying ..." orders one; "the title says ..." tells of one.
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


def is_beyond_word(token: Token) -> bool:
    """Whether a word is, or is part of, what no tool answers: it is not misspelt."""
    return bool(_BEYOND.known(token.forms))


def said_nothing(token: Token) -> bool:
    """Whether a word adds nothing to what is asked."""
    return not token.forms or any(form in _LIGHT for form in token.forms)
