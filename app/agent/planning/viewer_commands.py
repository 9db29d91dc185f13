"""Requests that only the person at the viewer can carry out, each with the keys that do it."""

from __future__ import annotations

from app.agent.planning.vocabulary import Vocabulary
from app.tools.pack_plan import phrases

_SHOWN = "image|picture|film|radiograph|xray|scan|view|display|it|this|bild|aufnahme|ansicht|es"
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
        invert|inverting|inverts {_SHOWN}|colours|colors|greys|grays, invertier*,
        is|was {_SHOWN} inverted
    """,
    "To zoom, press **+** or **-**, or turn the wheel with Ctrl held.": """
        zoom*, magnify, enlarge, make .. bigger|larger, center|centre on,
        vergroessere .. bild|aufnahme|ausschnitt
    """,
    "To pan, hold **Space** and drag.": "pan left|right|up|down|image|view|to, panning",
    "To rotate the image, press **[** or **]**.": """
        rotate, turn image|picture|film|radiograph|view, dreh|drehe .. bild|aufnahme
    """,
    "To flip the image, press **H** or **V**.": f"flip, mirror {_SHOWN}, spiegel|spiegele .. bild",
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
        reset|restore {_SHOWN}|zoom|window, fit .. window|screen
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
