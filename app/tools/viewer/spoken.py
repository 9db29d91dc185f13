"""Brings a command as it is said into the words that the patterns know.

Spoken numbers become digits, a speaker's own correction is carried out, and what says nothing of
what to do is left out.
"""

from __future__ import annotations

import re

from text_to_num import alpha2digit

from app.tools.finding_names import known_words
from app.tools.text_classifier import folded
from app.tools.viewer.decisions import VERB

_LARGEST_WORD = 12
"""The largest number that alone is read as a word: "the one on the right" has none."""
_ENGLISH = [
    "one",
    "two",
    "three",
    "four",
    "five",
    "six",
    "seven",
    "eight",
    "nine",
    "ten",
    "eleven",
    "twelve",
]
_GERMAN = [
    "eins",
    "zwei",
    "drei",
    "vier",
    "fuenf",
    "sechs",
    "sieben",
    "acht",
    "neun",
    "zehn",
    "elf",
    "zwoelf",
]
NUMBERS = {
    **{word: place for words in (_ENGLISH, _GERMAN) for place, word in enumerate(words, 1)},
    **dict.fromkeys(("a", "an", "ein", "eine", "einen"), 1),
    **dict.fromkeys(("another", "weiteren", "weiterer", "weiteres"), 1),
    **dict.fromkeys(("couple", "beiden", "beide"), 2),
    "paar": 2,
    "dozen": 12,
}
_MINUS = re.compile(
    r"\b(?:minus|negative?) (?=\d+(?!\d| ?(?:slices?|images?|schicht|bild)))", re.IGNORECASE
)
_ONES = "|".join(
    word.replace("ue", "(?:ue|ü)").replace("oe", "(?:oe|ö)") for word in (*_ENGLISH, *_GERMAN)
)
_PLACE_IN_WORDS = re.compile(
    r"\b(slice|image|frame|picture|schicht|bild|nummer|number) "
    rf"({_ONES})(?!\w)",
    re.IGNORECASE,
)
"""The place of an image in words: "slice twelve"; larger numbers are digits by then."""
_CAN_YOU = re.compile(r"(?<=\w )(?:kannst|könntest|koenntest) du (?:so )?(?!.*\?)", re.IGNORECASE)
"""As in "den Rundherd kannst du verwerfen"."""
_PLANE_IN = re.compile(
    r"\b((?:[ck]orona[lr]|sagit+al|axial)\w*(?: (?:plane|view|ebene|ansicht))?)"
    r" (?:on|in|with|at|im|mit) (?=(?:the |dem |a )?(?:[^\W\d_]+ ?(?:win\w*|fenster)|bones?"
    r"|lungs?)\b)",
    re.IGNORECASE,
)
"""As in "coronal in the bone window", which are two commands."""
_HALF = {"eineinhalb": "1.5", "anderthalb": "1.5", "zweieinhalb": "2.5", "oneandahalf": "1.5"}
_HALVES = re.compile(r"\b(?:eineinhalb|anderthalb|zweieinhalb|one and a half)\b", re.IGNORECASE)
_SPOKEN_PAIR = re.compile(
    r"(?P<said>\b(?:level|cent(?:er|re)|width|[lwc])(?: of| to| at)?(?: minus"
    r"| -)? )(?P<hundreds>\d{1,2}) "
    r"(?P<tens>\d\d)\b(?! ?(?:mm|cm))",
    re.IGNORECASE,
)
"""A number as "five fifty", which is 550."""
_TO_VIEWPORT = re.compile(
    r"^(?:please )?(?:go|switch|move|jump)(?: over| across)? to the (?:one|image|film|viewport"
    r"|study) on the"
    r" (?P<side>left|right) and (?P<does>[^,;.]+?)[ .!]*$"
    r"|^(?:please )?(?:make|set) the (?P<active>left|right)(?:[- ]hand)? (?:one|image|film"
    r"|viewport|pane|side|study) active"
    r" and (?P<then>[^,;.]+?)(?: there)?[ .!]*$"
    r"|^(?:please )?(?:go|switch|move|jump)(?: over| across)? to the (?P<other>left"
    r"|right) (?:one|image|film|viewport|study) and"
    r" (?P<to>[^,;.]+?)[ .!]*$",
    re.IGNORECASE,
)
_SERIES_IN = re.compile(
    r"\b((?:seri?es?|schicht|bild|slice|image) \d+) (?:in|im|with|mit|on|auf) (?=(?:the |dem "
    r"|a )?[^\W\d_]+ ?(?:win\w*|fenster\w*|setting\w*)\b)",
    re.IGNORECASE,
)
"""As in "series 3 in the lung window", which are two commands."""
_THAT_I_CLICKED = re.compile(
    r",? (?:die|den|das) ich (?:gerade |eben )?(?:angeklickt|geklickt|gesetzt"
    r"|markiert) habe?\b",
    re.IGNORECASE,
)
_MARK_BOTH = re.compile(
    r"^(?:please )?(?:mark(?:iere?)? (?:both|the two|these two|my two|beide"
    r"|die beiden) (?:points|places|spots"
    r"|clicks|punkte|stellen)|beide punkte markieren)[ .!]*$",
    re.IGNORECASE,
)
_POINT = r"(\(?\d{1,5} ?, ?\d{1,5}\)?)"
_MARK_TWO = re.compile(rf"\bmark (?:a point )?at {_POINT} and (?:at )?{_POINT}", re.IGNORECASE)
_IN_OTHER_WORDS = re.compile(
    r"(?<=\w), (?:das hei(?:ß|ss)t|d\. ?h\.|sprich|i\.e\.|that is|that means|also(?= \w+ (?:und"
    r"|mit) )) .+$",
    re.IGNORECASE,
)
_CORRECTS = re.compile(
    r"(?P<head>.+?)[ ,;.-]+(?:(?:no,? wait|no,? sorry|sorry|(?<=, )(?:no|nein)(?=,| \d)|oh no"
    r"|no,? i mean|i mean|make that(?= \d| slice| image| the)"
    r"|or rather"
    r"|(?:no,? )?scratch that|strike that"
    r"|nein,? (?:warte|doch|lieber|ich meine)|ach nein|ich meine|quatsch"
    r"|besser gesagt)\b[ ,:]*)+(?P<tail>.+)",
    re.IGNORECASE,
)
_THE_TOOL = re.compile(
    r"[ ,;.]+(?:and )?(?:please )?(?:give|hand|get) me the tool\b"
    r"|[ ,;.]+(?:und )?gib mir (?:bitte )?das werkzeug\b",
    re.IGNORECASE,
)
_ALL_ELSE = re.compile(
    r"[ ,;]+but (?:please )?(?:leave|keep) the (?:[\w ]+ )?(?:window|slice|zoom|layout"
    r"|level)\b[^,;.]*$"
    r"|[ ,;]+(?:but |and )?(?:please )?(?:leave|keep) (?:everything|all) (?:else"
    r"|the rest)(?: (?:alone|as it is|as is))?"
    r"|[ ,;]+(?:but|and|aber|und) (?:please )?(?:stay|remain|bleib\w*) (?:on|at|auf|bei)"
    r" (?:the same|this|that|the|der(?:selben)?|dieser|diesem|dem) (?:slice|image|frame|schicht"
    r"|bild)\b"
    r"|[ ,;]+(?:aber |und )?(?:sonst|den rest) (?:bitte )?(?:alles )?(?:so )?lassen\b",
    re.IGNORECASE,
)
_SO = re.compile(r",? so (?=(?:please )?(?:accept|reject|hide|delete|close)\b)", re.IGNORECASE)
_NOT_NEEDED = re.compile(
    r"^(?:(?:i |we )?(?:don'?t|do not|no longer) need|(?:i'?ve |i have )?(?:seen enough of"
    r"|done with"
    r"|finished with)|i(?:'?m| am) (?:done|finished) with) (?P<what>[^,;.]+?)(?: any ?more"
    r"| now)?[,;.]? (?:so )?"
    r"(?:please )?(?:close it|take it (?:down|off)|get rid of it)[ .!]*$",
    re.IGNORECASE,
)
_NICHT_NOETIG = re.compile(
    r"^(?P<what>[^,;.]+?) brauch\w* (?:ich|wir) (?:jetzt )?nicht mehr,? (?:bitte "
    r"|kannst du (?:bitte )?|mach \w+ )?"
    r"(?:schlie(?:ß|ss)en|zu(?:machen)?|weg)[ .!]*$",
    re.IGNORECASE,
)
_JUDGED = re.compile(
    r"^(?P<what>[^,;.]{3,60}?)(?: (?:is|are|look|looks|ist|sind|passt|passen|stimmt|stimmen)) ?"
    r"(?:all |both |beide |alle )?(?:fine|ok(?:ay)?|good|right|correct|real|(?:in ordnung|gut"
    r"|richtig|korrekt))"
    r"(?:, |; |\. | so | - )(?:please |bitte )?"
    r"(?P<verb>accept|confirm|approve|akzeptiere?|bestätige?) (?:them(?: all| both)?|it|both"
    r"|those|sie|beide|ihn|es)"
    r"[ .!]*$",
    re.IGNORECASE,
)
"""As in "both lungs and the heart are fine, accept them"."""
_NOT_ONE = re.compile(
    r"^(?:no,? )?(?:that'?s|that is|this is|this|that|it'?s|das ist|ist) (?:not an?|no|not the"
    r"|kein(?:e|en)?) "
    r"(?P<what>[^,;.]{3,40}?)(?:, |; |\. | - )(?:so |please |bitte )?"
    r"(?P<verb>reject|dismiss|verwirf|lehne?|verwerfen|ablehnen)(?: (?:it|that|this|ihn|es|sie"
    r"|das))?(?: ab)?"
    r"(?:,? (?:please|bitte))?[ .!]*$",
    re.IGNORECASE,
)
"""As in "that's no effusion, reject it"."""
_IS_SHORT = re.compile(
    r"(?<=\w)(?<!\bthat)(?<!\bit)(?<!\bthis)(?<!\bthere)(?<!\bwhat)['’]s "
    r"(?=(?:just|only|not|probably|really|clearly|fine|ok|real)\b)",
    re.IGNORECASE,
)
_GO_AND_ENLARGE = re.compile(
    r"^(?P<go>(?:please )?(?:go|jump|scroll|take me|move|geh|gehe|spring|springe) (?:to"
    r"|zu[mr]?) (?:the |dem |der )?"
    r"(?P<what>[^,;.]+?)),? (?:and|und) (?:then |dann )?(?:enlarge|magnify|blow up"
    r"|zoom (?:in )?(?:on|to|into)"
    r"|make|vergrößere?|zoom\w* auf) (?:it|ihn|es|sie)(?: (?:bigger|larger|up))?[ .!]*$",
    re.IGNORECASE,
)
_WINDOW_FOR = re.compile(
    r"^.*\b(?:look(?:ing)? at|(?:schau|seh|sieh)\w* (?:ich )?mir(?: jetzt| mal)*) (?:the |die "
    r"|das |den )?"
    r"(?P<what>lungs?|bones?|mediastinum|soft tissues?|liver|brain|lungen?|knochen|weichteile"
    r"|leber|gehirn)"
    r"(?: now| jetzt)?(?: an)?[,;.]? (?:and |so |und )?(?:please |bitte )?"
    r"(?:(?:change|set|adjust|fix) the window(?:ing)?|(?:give me|gib mir|stell|stelle"
    r"|nimm) (?:the|das)"
    r" (?:right |matching |passende |richtige )?(?:window|fenster))"
    r"(?: for (?:that|it|them)| accordingly| to (?:match|suit)| dafür| dazu| ein)*[ .!]*$",
    re.IGNORECASE,
)
"""As in "I'd like to look at the lungs, change the window for that"."""
_PLANE = r"(?:axial|[ck]oronal?|[ck]oronar|sagit+al)\w*"
_BESIDE = re.compile(
    rf"(?P<planes>\b{_PLANE}.*\b{_PLANE})(?: (?:views?|planes?|ebenen?))?"
    r",? (?:side by side|next to each other|beside each other|nebeneinander|together|gleichzeitig)",
    re.IGNORECASE,
)
_LISTED = re.compile(
    r"(?<![\w ])(?P<what>[\w ]{3,30}): (?P<verb>accept|reject)\b(?= *(?:[,;.]|$))", re.IGNORECASE
)
"""As in "nodule: accept, effusion: reject"."""
_MISHEARD = (
    (re.compile(r"\blong (?=window)", re.IGNORECASE), "lung "),
    (re.compile(r"\bplural (?=effusion)", re.IGNORECASE), "pleural "),
    (re.compile(r"\baxle (?=view|plane|slice)", re.IGNORECASE), "axial "),
)
"""What speech recognition makes of words of radiology, and the words."""
_SPOKEN_YEAR = re.compile(r"\b(19|20) (\d\d)\b(?! ?(?:mm|cm|hu))", re.IGNORECASE)
_NO_COMMA = re.compile(
    r"\b(fine|ok|okay|good|right|real|correct|wrong|fake|shadow|vessel|artefact|film|study|prior|scan|image|one)"
    r" (?=(?:accept|reject|close|hide|delete|confirm|dismiss) (?:it|them|that)\b)",
    re.IGNORECASE,
)
"""The place of a comma that nobody dictates: "the heart is fine accept it"."""
_VERB = r"(?:annehmen|ablehnen|akzeptieren|verwerfen|löschen|ausblenden|einblenden|bestätigen)"
_NO_COMMA_DE = re.compile(rf"(?<= ){_VERB}(?= [\wäöüß]+(?: [\wäöüß]+)? {_VERB}\b)", re.IGNORECASE)
_IN_WINDOW = re.compile(
    r"^(?P<does>(?:please |bitte )?(?:show|zeig|go|geh|spring|jump|take|bring"
    r"|zoom)\w* [^,;]{3,40}?)"
    r" (?:im|in(?: the| a)?|on(?: the| a)?|with(?: the| a)?|mit(?: dem)?) "
    r"(?P<window>(?:lung|bone|soft[ -]?tissue|brain|mediastin|knochen|weichteil"
    r"|hirn)\w*[ -]?(?:window|fenster))[ .!]*$",
    re.IGNORECASE,
)
"""As in "show me the nodule in the lung window", which are two commands."""
_HIDE_BOTH = re.compile(
    r"^(?P<verb>(?:please )?(?:hide|show|remove|turn off)) (?P<one>(?:the |my "
    r"|all )*(?:side )?panels|(?:the |all )*(?:corner |image )?texts?)"
    r" and (?P<other>(?:the |my |all )*(?:side )?panels|(?:the |all )*(?:corner |image "
    r"|patient )?(?:texts?|names?))[ .!]*$",
    re.IGNORECASE,
)
_TEXTS = (
    r"(?:(?:the |all |die |alle )*(?:corner |image |patient )?(?:texts?|names?|panels|sidebars?)"
    r"|(?:die |alle )*(?:bild|eck)?texte?|(?:die |alle )*(?:seiten)?(?:leisten|panels?))"
)
_HIDE_TEXTS_TOO = re.compile(
    r"^(?P<verb>(?:please )?(?:hide|show|remove|turn off)) (?P<one>[^,;.]+) and "
    rf"(?P<other>{_TEXTS})[ .!]*$|^(?P<blende>(?:bitte )?blende?) (?P<eins>[^,;.]+) und "
    rf"(?P<zwei>{_TEXTS})"
    r" (?P<aus>aus|ein)[ .!]*$"
    rf"|^(?P<a>[^,;.]+) und (?P<b>{_TEXTS}) (?P<verb_de>(?:aus|ein)blenden)[ .!]*$",
    re.IGNORECASE,
)
"""As in "hide both lungs and the image texts", which are commands of two kinds."""


def _each_hidden(found: re.Match[str]) -> str:
    if found["verb"]:
        return f"{found['verb']} {found['one']}, {found['verb']} {found['other']}"
    if found["verb_de"]:
        return f"{found['a']} {found['verb_de']}, {found['b']} {found['verb_de']}"
    verb, particle = found["blende"], found["aus"]
    return f"{verb} {found['eins']} {particle}, {verb} {found['zwei']} {particle}"


_PAIR = r"(-?\d+(?:[.,]\d+)?)(?: ?/ ?| ?, ?| x | )(-?\d+(?:[.,]\d+)?)"
_SIDE = (
    r"((?:(?:on|in) the |in )?(?:left|right)(?: (?:one|side|image|film|viewport))?"
    r"|links|rechts|(?:im )?(?:linken|rechten)(?: (?:bild|fenster))?)"
)
_TWO_WINDOWS = re.compile(
    rf"(?:please |bitte )?(?:set )?(?:the )?(?:windows?|windowing|fenster) {_PAIR} {_SIDE}"
    rf"(?: and|,(?: and)?| und|,? und) (?:window |fenster )?{_PAIR} {_SIDE}"
    r"(?: please| bitte)?[ .!]*",
    re.IGNORECASE,
)
"""As in "window 1500 -600 right and 400 40 left"."""
_MORE_OF_ONE = re.compile(
    r"(?P<all>(?P<verb>make|mach|mache) (?:both|them both|all|beide|alle)\b[^,;.]*?"
    r"\b(?P<how>brighter|darker|bigger|larger|smaller|heller|dunkler|größer|kleiner))"
    r",? (?:and|und) "
    r"(?P<one>(?:the|das|die) (?:left|right|linke|rechte)(?: (?:one|image|film|bild))?)"
    r"(?:(?: even| still| noch)?(?: (?:a|ein))?(?: (?:bit|little|bisschen|etwas))?)?"
    r" (?:more|mehr)[ .!]*",
    re.IGNORECASE,
)
"""As in "make both brighter, and the right one a bit more"."""


def _each_window(said: re.Match[str]) -> str:
    """Return two windows with the names of their numbers, which stand in the same order."""
    one, other, side, one_2, other_2, side_2 = said.groups()
    center_first = "-" in one + one_2
    if center_first and "-" in other + other_2:
        return said[0]
    first, last = ("center", "width") if center_first else ("width", "center")
    return (
        f"window {first} {one} {last} {other} {side}, "
        f"window {first} {one_2} {last} {other_2} {side_2}"
    )


_SIDES_IN_A_ROW = re.compile(
    r"\b(left|right|links|rechts) (?=(?:the |die |das )?(?:new|old|current|prior|neu|alt"
    r"|aktuell)\w*\b)",
    re.IGNORECASE,
)
_RESETS = re.compile(r"\b(?:reset|restore|anfang|original|zurück|back|start)", re.IGNORECASE)
_RESET_TOO = re.compile(
    r"(?<=\w)[,;]? (?:and |und |also |auch )?(?:(?:the |das |den )?(?:zoom|window(?:ing)?"
    r"|fenster\w*|contrast|kontrast"
    r"|rotation|drehung|flips?|spiegelung)(?:,? (?:and|und) |, )?)+ (?:too|as well|auch|inklusive"
    r"|included)[ .!]*$",
    re.IGNORECASE,
)
"""As in "everything back to the start, zoom and window too"."""
_SWAP = re.compile(
    r"^(?P<swap>(?:please )?(?:swap|switch|exchange|tausch\w*|vertausch\w*)\b[^,;]*)[,;] "
    r"(?=.*\b(?:left|links)\b)(?=.*\b(?:right|rechts)\b)"
    r"(?:the |die |das )?(?:old|prior|new|current|alte?|neue?|aktuelle?)\w*\b.*$",
    re.IGNORECASE,
)
"""As in "swap them over, old on the left, new on the right"."""
_SONO = re.compile(r"\bUS(?= (?:study|exam|scan|loop|images?)\b)")
_WITH = re.compile(r"\bw/? (?=(?:the )?(?:prior|previous|old|last)\b)", re.IGNORECASE)


_ZOOM_THERE = re.compile(
    r"(?<=\w)(?P<before>,? und(?: dann)?|,(?: dann)?) (?:drauf|hin|ran|dort ?hin)zoomen\b",
    re.IGNORECASE,
)
"""As in "das Herz vermessen und hinzoomen"."""
_VERB_THEN = re.compile(r"(?P<and>\bund|,) (?P<verb>[a-zäöüß]+e?) (?:dann|danach)\b", re.IGNORECASE)
"""As in "miss das Herz und zoome dann darauf"."""


_ORDINAL = re.compile(
    r"\b(?:the |den |die |das |der )?(?P<place>second|2nd|third|3rd|fourth|4th|zweite[ns]?"
    r"|dritte[ns]?|vierte[ns]?) (?P<what>[^\W\d_]+)\b",
    re.IGNORECASE,
)
_PLACES = {"sec": 2, "2nd": 2, "zwe": 2, "thi": 3, "3rd": 3, "dri": 3, "fou": 4, "4th": 4, "vie": 4}


def _with_number(found: re.Match[str]) -> str:
    """Return "nodule 2" for "the second nodule"; other words stay."""
    if found["what"].casefold() not in known_words():
        return found[0]
    return f"{found['what']} {_PLACES[found['place'][:3].casefold()]}"


def plain(text: str) -> str:
    """Return a text with digits for numbers, and without turns of phrase that say nothing more."""
    text = _ORDINAL.sub(_with_number, text)
    if found := _TWO_WINDOWS.fullmatch(text):
        text = _each_window(found)
    if found := _MORE_OF_ONE.fullmatch(text):
        text = f"{found['all']}, {found['verb']} {found['one']} {found['how']}"
    text = _ZOOM_THERE.sub(r"\g<before> darauf zoomen", text)
    text = _VERB_THEN.sub(r"\g<and> dann \g<verb>", text)
    text = _HALVES.sub(lambda one: _HALF[one[0].casefold().replace(" ", "")], text)
    text = _SPOKEN_PAIR.sub(r"\g<said>\g<hundreds>\g<tens>", text)
    if found := _TO_VIEWPORT.fullmatch(text):
        does = found["does"] or found["to"] or found["then"]
        text = f"{does} in the {found['side'] or found['other'] or found['active']} viewport"
    text = _RESET_TOO.sub("", text) if _RESETS.search(text) else text
    for misheard, word in _MISHEARD:
        text = misheard.sub(word, text)
    text = _NO_COMMA.sub(r"\1, ", _SPOKEN_YEAR.sub(r"\1\2", text))
    text = _NO_COMMA_DE.sub(lambda one: f"{one[0]},", text)
    text = _IN_WINDOW.sub(r"\g<does> and \g<window>", text)
    text = _HIDE_BOTH.sub(r"\g<verb> \g<one>, \g<verb> \g<other>", text)
    text = _HIDE_TEXTS_TOO.sub(_each_hidden, text)
    text = _SIDES_IN_A_ROW.sub(r"\1, ", text)
    text = _BESIDE.sub(r"\g<planes>", text)
    text = _WINDOW_FOR.sub(r"\g<what> window", text)
    if found := _SWAP.fullmatch(text):
        text = text[found.end("swap") + 2 :]  # how they are to lie is surer
    text = re.sub(
        r" (?:as well as|sowie) ", lambda one: " and " if "as" in one[0] else " und ", text
    )
    text = _LISTED.sub(lambda one: f"{one['verb']} {one['what'].strip()}", text)
    text = _IS_SHORT.sub(" is ", text)
    text = _GO_AND_ENLARGE.sub(r"\g<go> and zoom to \g<what>", text)
    text = _JUDGED.sub(r"\g<verb> \g<what>", text)
    text = _NOT_ONE.sub(r"reject \g<what>", text)
    text = _MARK_BOTH.sub("mark the first point; mark the second point", text)
    text = _MARK_TWO.sub(r"mark a point at \1; mark a point at \2", text)
    if not VERB.search(folded(text)):  # of a decision nothing is left out
        text = _IN_OTHER_WORDS.sub("", _THAT_I_CLICKED.sub("", text))
        text = _ALL_ELSE.sub("", _THE_TOOL.sub("", text))
    text = _SO.sub(", ", text)
    text = _SONO.sub("ultrasound", text)  # else "us" as in "let us"
    text = _SERIES_IN.sub(r"\1 and ", text)
    text = _PLANE_IN.sub(r"\1 and ", _WITH.sub("with ", _CAN_YOU.sub("", text)))
    text = _PLACE_IN_WORDS.sub(lambda one: f"{one[1]} {NUMBERS[folded(one[2])]}", text)
    text = _NOT_NEEDED.sub(r"close \g<what>", _MINUS.sub("-", text))
    text = _NICHT_NOETIG.sub(r"schließ \g<what>", text)
    return re.sub(r"^schließ (die (?:alte|vorige|andere|neue))$", r"schließ \1 Aufnahme", text)


def in_digits(text: str) -> str:
    """Return a text with larger numbers in words as digits: "minus five hundred" as "minus 500"."""
    for language in ("en", "de"):
        text = alpha2digit(text, language, _LARGEST_WORD)
    return text


def corrected(text: str) -> tuple[str, str] | None:
    """Return what is said before and after "no, wait" or the like; None without it."""
    found = _CORRECTS.fullmatch(text)
    return (found["head"], found["tail"]) if found is not None else None


def number_of(text: str) -> int:
    """Return a number from 1, in digits or words: "42", "two", "zwei"; 0 for none."""
    if digits := re.search(r"\d+", text):
        return int(digits.group())
    return max((NUMBERS.get(word, 0) for word in re.findall("[a-z]+", text)), default=0)
