"""Questions that no tool answers: general knowledge, other people, the program, the viewer.

`resources/words/out_of_scope.txt` has their words, in the notation that `vocabulary` explains.
`viewer.toml` beside it has words and answers for what only the user can do or see in the viewer.
"""

from __future__ import annotations

import tomllib
from collections.abc import Sequence

from app.agent.planning.vocabulary import Token, Vocabulary
from app.paths import resources_dir
from app.tools.pack_plan import phrases, word_lists

_SECTIONS = word_lists("out_of_scope")
KNOWLEDGE = phrases(_SECTIONS["KNOWLEDGE"])
# Clinical scores, further tests, and reports that somebody else wrote: these words count even
# within a tool's own ("score", "report").
ELSEWHERE = phrases(_SECTIONS["ELSEWHERE"])
# Only whole phrases of "weather", which may be "whether" misspelt ("ask it weather the lungs ...").
ERRANDS = phrases(_SECTIONS["ERRANDS"])
RECORDED = frozenset((*phrases(_SECTIONS["RECORDED"]), *ELSEWHERE))
"""Of these entries, those that do not speak against a question about a patient's record."""
_ENTRIES = phrases(_SECTIONS["ENTRIES"].format_map(_SECTIONS))
_FRAMES = Vocabulary(
    [
        *(("world", entry) for entry in _ENTRIES),
        (
            "between",
            "what|what's|whats|explain|was|erklaer* .. difference*|unterschied* between|zwischen",
        ),
    ]
)
_IMAGES = (
    "film|films|image|images|picture|pictures|radiograph|xray|ray|x|cxr|scan|slice|study|field|"
    "micrograph|photo|patient|patients|patient's|patientin|bild|bilder|bildes|aufnahme|aufnahmen|"
    "roentgenbild|thoraxbild|gentleman|lady|person|man|woman|header|metadata|culture|dish|well|"
    "roentgenaufnahme|herr|herrn|frau"
)
_ANCHORS = Vocabulary(
    [
        ("this", f"this|these|diese*|the|der|die|das|dem|den|her|his|my|our {_IMAGES}"),
        ("this", "here"),
        ("this", "hier"),
        ("this", "on|in|from|auf|im film|image|picture|bild|micrograph|header"),
    ]
)
_SHOWN = frozenset(("this", "these", "his", "her", "diese", "dieser", "dieses", "diesem", "diesen"))
_SIDES_TEXT = (
    "lung lungs side sides lunge lungen seiten hila hemithoraces lobes halves film both beiden "
    "cells nuclei organoids group groups treated control controls conditions populations"
)
_SIDES = frozenset(_SIDES_TEXT.split())
_PASSING_TEXT = (
    "program programme software software's app winter summer year week month morning evening "
    "afternoon night time window hospital ward city town country jahr woche monat sommer abend "
    "krankenhaus stadt fenster programm station nachmittag"
)
_PASSING = frozenset(_PASSING_TEXT.split())


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
