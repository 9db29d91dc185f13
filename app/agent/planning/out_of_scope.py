"""Questions that no tool answers: general knowledge, other people, the program, the viewer.

`resources/words/out_of_scope.txt` has their words, in the form of a pack's `phrases`. Of what only
the person at the viewer can do (`COMMANDS`), the keys that do it are known.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from app.agent.planning.vocabulary import Token, Vocabulary
from app.paths import resources_dir
from app.tools.pack_plan import phrases

_TEXT = (resources_dir() / "words" / "out_of_scope.txt").read_text("utf-8")
_SECTIONS = {
    name: text.strip() for name, text in re.findall(r"^\[([A-Z]+)\]\n([^\[]+)", _TEXT, re.MULTILINE)
}

KNOWLEDGE = phrases(_SECTIONS["KNOWLEDGE"])
# Clinical scores, further tests, and reports that somebody else wrote: these words count even
# within a tool's own ("score", "report").
ELSEWHERE = phrases(_SECTIONS["ELSEWHERE"])
# Only whole phrases of "weather", which may be "whether" misspelt ("ask it weather the lungs ...").
ERRANDS = phrases(_SECTIONS["ERRANDS"])
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
    """Return the positions of words in clauses about everyday matters rather than the images."""
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


_VIEWED = "image|picture|film|radiograph|xray|scan|view|display|it|this|bild|aufnahme|ansicht|es"
_MARKS = (
    "overlay|overlays|annotation|annotations|mark|marks|marking|markings|outline|outlines|contour|"
    "contours|mask|masks|box|boxes|finding|findings|measurement|measurements|label|labels"
)
COMMANDS = {
    "To set the window, drag on the image, or choose a preset under **Window** in the toolbar.": (
        """
        set|switch|change|adjust|choose|select|widen|narrow .. window|windowing|level|contrast,
        increase|decrease|reduce|raise contrast|brightness,
        make .. brighter|darker|lighter, brighten, darken, stell*|aendere .. *fenster,
        heller|dunkler machen, mach .. heller|dunkler
        """
    ),
    "To invert the image, press **I**.": f"""
        invert|inverting|inverts {_VIEWED}|colours|colors|greys|grays, invertier*,
        is|was {_VIEWED} inverted
    """,
    "To zoom, press **+** or **-**, or turn the wheel with Ctrl held.": """
        zoom*, magnify, enlarge, make .. bigger|larger, center|centre on,
        vergroessere .. bild|aufnahme|ausschnitt
    """,
    "To pan, hold **Space** and drag.": "pan left|right|up|down|image|view|to, panning",
    "To rotate the image, press **[** or **]**.": """
        rotate, turn image|picture|film|radiograph|view, dreh|drehe .. bild|aufnahme
    """,
    "To flip the image, press **H** or **V**.": f"flip, mirror {_VIEWED}, spiegel|spiegele .. bild",
    "To go to another image, press **the arrow keys**, **Page Up** or **Page Down**, or turn the "
    "wheel.": """
        scroll*, next slice|frame, previous|first|last slice|frame, next image,
        go|jump|page|switch to .. slice|image|frame, show|display|open slice|frame 0,
        blaettere|blaettern,
        naechste|naechstes|vorherige schicht|bild, geh|gehe|spring .. schicht|bild
    """,
    "To go to another series, press **N** or **Shift+N**.": """
        next|another|other series, switch|change|go|jump .. series, naechste serie
    """,
    "To play a cine, press **P**.": "play|pause|stop cine|loop|series|movie|clip",
    "To choose the plane, press **A**, **C** or **S** (**O**: as acquired).": """
        axial|coronal|sagittal plane|view|section|sections|slice|slices|reformat*|reconstruction,
        koronare*|sagittale*|axiale* ebene|ansicht|schnitt*,
        switch|change|set|go|show .. coronal|sagittal|axial
    """,
    "To restore the view, press **R**; **F** fits the image to the window.": f"""
        reset|restore {_VIEWED}|zoom|window, fit .. window|screen
    """,
    "To hide findings, use **Space** in the findings list, or **Hide all findings** in the menu "
    "Findings; **Delete** removes the selected one.": f"""
        hide, hides, unhide, hiding, ausblend*, blende* .. aus, verstecke*,
        remove|clear|delete|erase {_MARKS}, turn|switch off {_MARKS}, loesch* .. markierung*
    """,
    "To measure a length, press **L** and draw the line; **Shift+L** measures an angle.": """
        measure distance|length|angle, draw line|ruler|angle, miss .. abstand|strecke|laenge|winkel
    """,
    "To undo, press **Ctrl+Z**.": "undo, redo, rueckgaengig*",
    "All keys and gestures are listed under **F1**.": """
        which|what key|keys, shortcut*, keyboard, tastenkuerzel, how do|can i .. window,
        tastenkombination*
    """,
}
"""Sentences that name the keys, each with the words of the requests that it answers."""

REQUESTS = Vocabulary(
    (sentence, entry) for sentence, words in COMMANDS.items() for entry in phrases(words)
)
EXPORTS = Vocabulary(
    ("export", entry) for entry in phrases("png, convert*, export*, save, konvertier*, speicher*")
)
"""Words that make work for a tool of a request: "set the window to 40/400 and export it"."""
