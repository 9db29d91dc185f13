"""Reads what goes on from the command before it: "and the right one", "a bit more", "back on".

Such a text has no command of its own. It repeats the last one with another name, side or number,
repeats or reverses it, or brings back what it took away.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache

from app.tools.finding_names import known_words, side_of, words_of
from app.tools.pack_plan import Earlier, Spoken, SpokenCall
from app.tools.text_classifier import folded
from app.tools.viewer import tools as named
from app.tools.viewer.commands import UNDOING
from app.tools.viewer.reading import (
    UNDECIDED,
    known_names,
    one_of,
    only_goes_on,
    read,
    which_findings,
)
from app.tools.viewer.spoken import in_digits

_LAST = 6
"""Texts before that are looked at: after more, nobody remembers what "it" went on from."""
_NO = re.compile(
    r"^(?:(?:no|nein|nee|nope|sorry|actually|rather|lieber|doch|i mean|i meant|ich meine"
    r"|ich meinte|not that(?: one)?|nicht (?:den|die|das))\b[ ,]*)+"
)
_AND = re.compile(
    r"^(?:(?:and|und|now|jetzt|then|dann|ok(?:ay)?|also(?= (?:the|both)\b)|auch|so|next|noch"
    r"|(?:do )?(?:the )?same (?:for|with|to|on)|dasselbe (?:mit|fuer|bei)"
    r"|das gleiche (?:mit|fuer|bei))\b[ ,]*)+"
)
_ALSO = re.compile(
    r"^(?:and also|and|und auch|und|also(?= (?:the|both)\b)|auch|(?:do )?(?:the )?same (?:for|with)"
    r"|dasselbe (?:mit|fuer|bei))\b(?! der\b) "
)
"""Beginnings of what goes on from a decision; "now the effusion" may only go there."""
_ADDS = re.compile(r"[ ,]+(?:too|as well|also|auch)$")
_ONLY = re.compile(r"^(?:only|just|nur)\b ")
_TOO = re.compile(r"(?:[ ,]+(?:too|as well|also|auch|noch|dazu))+$")
_PLEASE = re.compile(
    r"^(?:(?:please|bitte|and|und|ok(?:ay)?|now|jetzt|hm+|oh|ah|ach)\b[ ,]*)+"
    r"|[ ,]+(?:please|bitte)$"
)
_POLITE = re.compile(r"^(?:please|bitte)[ ,]+|[ ,]+(?:please|bitte)$")
_SIDE = re.compile(
    r"(?:(?:the|die|das|den|der) )?(?:(?P<left>left|links|linke[nrs]?)"
    r"|(?P<right>right|rechts|rechte[nrs]?)|(?P<other>other|andere[nrs]?))(?: (?:one|side|seite))?"
)
_END = re.compile(
    r"(?:(?:the|die|das|den) )?(?:(?P<first>first|erste[ns]?)|(?P<last>last|letzte[ns]?))"
    r"(?: (?:one|slice|image|schicht))?"
)
_PLACED = re.compile(r"(?:to|on|in|at|onto|into|zu[mr]?|auf|aufs|im|ins|beim?|nach)\b")
_NEXT = re.compile(r"(?:(?:the|der|die|das|den|zum|to the) )?(?:next|naechste[nrs]?)(?: one)?")
_NUMBER = re.compile(r"(?:(?:to|slice|image|frame|auf|schicht|bild) )?(?P<number>\d{1,4})")
_MORE = re.compile(
    r"(?:(?:(?:a )?(?:little )?(?:bit|little|touch|tad)|even|still|some|noch|etwas"
    r"|ein (?:bisschen|wenig)|viel|much|lots?) )*(?:more|mehr)"
    r"|(?:and |und )?(?:again|once more|one more(?: time)?|same again|noch einen"
    r"|(?:noch (?:ein)?mal um|another|noch) 90(?: ?°| degrees| grad)?"
    r"|nochmals?|noch (?:ein)?mal|noch (?:etwas|ein bisschen|ein wenig))"
)
_LESS = re.compile(
    r"(?:(?:that's|that is|thats|das (?:ist|war)) )?(?:(?:a bit|a little|etwas|ein bisschen) )?"
    r"(?:too much|zu viel|zuviel)"
    r"|(?:(?:a bit|a little|etwas|ein bisschen|wieder) )*(?:less|weniger)"
    r"|not (?:that|so|quite so) much|nicht (?:so|ganz so) viel"
)
_AS_BEFORE = re.compile(
    r"(?:(?:go|put|take|set|bring|change|mach|stell|geh)\w* )?"
    r"(?:(?:it|them|that|this|es|sie|das|alles|everything) )?"
    r"(?:(?:back|wieder|zurueck) )?(?:"
    r"(?:to )?(?:how|as|like|the way|where|what) (?:it|that|i|we|they) (?:was|were|had)"
    r"(?: (?:it|that))?"
    r"(?: (?:before|just now|a moment ago))?|(?:so )?wie (?:vorher|zuvor|eben|vorhin|es war)"
    r"(?: war)?|(?:to )?(?:as )?before|dahin,? wo (?:ich|wir) (?:war|waren))"
)
_BACK_TO_SLICE = re.compile(
    r"(?:(?:go|take me|bring me|geh) )?(?:back|zurueck) (?:to|zu[rm]?|auf) (?:the |der |die |dem )?"
    r"(?:slice|image|frame|schicht|bild)(?: that)? (?:i|we|you|ich|wir) (?:was|were|had|war|waren)"
    r"(?: (?:on|at|before|vorher|davor|auf))*"
    r"|(?:go )?back to where (?:i|we) (?:was|were)(?: before)?"
    r"|zurueck(?: zu[rm]? (?:der |dem )?(?:schicht|bild)| dahin)?,? (?:auf (?:der|dem)|wo|in der)"
    r" (?:ich|wir)(?: vorher| davor| eben| gerade| zuletzt)* (?:war|waren)(?: vorher)?"
)
_BACK_ON = re.compile(
    r"(?:(?:show|bring|put|get|turn|switch|have|hol|zeig|blend)\w* )?"
    r"(?:(?:it|them|this|that(?: one)?|those|these|both|all|everything|sie|ihn|es|das|die|alle"
    r"|alles|beide)"
    r"(?: (?:two|three|four|zwei|drei|vier|all))? )?"
    r"(?:(?:back|wieder)"
    r"(?: (?:on|in|an|ein|her|da|rein|up|please|einblenden|anzeigen|zeigen|zurueck))?"
    r"|(?:on|in|an|ein|einblenden|anzeigen|her|zurueck)(?: (?:again|wieder))|zurueckholen"
    r"|(?<=\w )again)"
)
_WAS_BETTER = re.compile(
    r"(?P<said>.+?) (?:was|were|war|waren|is|ist|sieht|looked)(?: (?:much|viel|doch))?"
    r" (?:better|nicer|besser)(?: aus)?"
)
_OTHER_WAY = re.compile(
    r"(?:lieber )?(?:anders(?:he)?rum|umgekehrt|the other way (?:a)?round|other way (?:a)?round)"
)
_SECOND = re.compile(
    r"(?:one |1 |eine[nrs]? )?(?:on |at |auf )?(?:the |den |dem )?(?:second|other|zweiten|anderen)"
    r"(?: one)?"
)
_BACK = re.compile(r"(?:wieder )?(?:back|zurueck|wieder)(?: (?:again|please))?")
_REDO = re.compile(
    r"(?:(?:put|bring) )?(?:that last one|the last one|one of (?:them|those)|that step) back"
    r"|(?:wieder )?einen(?: davon)? wieder(?: ?her(?:stellen)?)?"
)
_OTHERS = re.compile(
    r"(?:all )?(?:the )?(?:others?|rest|other ones)|(?:die |alle )*anderen|(?:der |den )?rest"
)
_OFF_AGAIN = re.compile(
    r"(?:(?:turn|switch|take|hide|blend)\w* )?(?:(?:it|them|that|those|these|sie|ihn|es|das|die) )?"
    r"(?:(?:off|away|out|aus|weg)(?: again)|wieder (?:off|aus|weg|ausblenden)|hide again)"
)
_PAIRS = (
    ("brighter", "darker"),
    ("more contrast", "less contrast"),
    ("zoom in", "zoom out"),
    ("faster", "slower"),
    ("double", "half"),
    ("faster cine", "slower cine"),
    ("rotate left", "rotate right"),
    ("next series", "previous series"),
    ("next time point", "previous time point"),
    ("next channel", "previous channel"),
)
_OPPOSITE = {**dict(_PAIRS), **{other: one for one, other in _PAIRS}}
_PAIR = re.compile(r"^(?:both|beiden?|the two|one of|eine[nrs]? (?:von|der))(?: the| den)? ")
_TAKES_AWAY = {
    "hide panels": "show panels",
    "hide image texts": "show image texts",
    "hide names": "show image texts",
    "invert": "not inverted",
}
_BRINGS = {
    "show panels": "hide panels",
    "show image texts": "hide image texts",
    "not inverted": "invert",
}
_DECIDES = ("accept", "reject", "delete", "propose")
_SEVERAL = re.compile(r"\b(?:those|these|them|both|all|alle|beide|sie|two|three|zwei|drei)\b")
_BETWEEN = 2
"""Texts that may stand between what was taken away and "back on"."""
_VIEWING = (named.WINDOW, named.ZOOM)
_IT = ("selected", "this")
_SWITCHED = frozenset({*_TAKES_AWAY, *_BRINGS})


def read_on(text: str, before: Sequence[Earlier], one_image: bool) -> Spoken | None:
    """Return the commands of a text that goes on from those before it; None for any other text.

    Args:
        text: What the user says.
        before: What was said before in this conversation, oldest first.
        one_image: Whether a single image is shown, so that "the left one" can be no viewport.
    """
    said = folded(in_digits(text)).strip(" .!")
    if not before or len(said) > 80:
        return None
    asks = said.endswith("?")
    said = said.strip(" ?.!")
    call = next(reversed(_calls(before, one_image)), None)
    decided = call is not None and call.arguments.get("action") in _DECIDES
    if decided and _OTHERS.fullmatch(_TOO.sub("", _ALSO.sub("", said))):
        return Spoken((), told=UNDECIDED)
    if _BACK_TO_SLICE.fullmatch(_PLEASE.sub("", said)):
        return Spoken((SpokenCall(named.GO_TO, {"place": "back"}),))
    calls = _returned(said, before, call, one_image)
    if calls is None and call is not None:
        calls = _again(said, call) or _with_another(said, call, before[-1].failed, one_image)
        if calls is None and not call.names and call.tool in _VIEWING:
            # "Zoom to the right lung", "fit", "now the other side".
            was = next(reversed(_calls(before[:-1], one_image)), call)
            goes = was.names and was.tool in (named.GO_TO, named.ZOOM)
            calls = _with_another(said, was, False, one_image) if goes else None
    calls = calls or _of_what_was_asked(said, before)
    if not calls:
        return None
    decides = any(one.arguments.get("action") in _DECIDES for one in calls)
    trails = text.rstrip().endswith(("...", "…"))
    if decides and (asks or trails or _NO.match(said) or _ONLY.match(said)):
        return Spoken((), told=UNDECIDED)
    return Spoken(calls)


def _calls(before: Sequence[Earlier], one_image: bool) -> tuple[SpokenCall, ...]:
    """Return the commands of the last of several texts."""
    return _calls_of(tuple(before[-_LAST:]), one_image)


@lru_cache(maxsize=64)
def _calls_of(texts: tuple[Earlier, ...], one_image: bool) -> tuple[SpokenCall, ...]:
    if not texts:
        return ()
    text = texts[-1].text
    found = read_on(text, texts[:-1], one_image) or read(text)
    return found.calls if found is not None and not found.rest else ()


def _returned(
    said: str, before: Sequence[Earlier], call: SpokenCall | None, one_image: bool
) -> tuple[SpokenCall, ...] | None:
    """Return what brings back what was taken away, or takes away again what was brought."""
    bare = _PLEASE.sub("", _NO.sub("", _PLEASE.sub("", said)))
    if _NO.match(_PLEASE.sub("", said)) and (better := _WAS_BETTER.fullmatch(bare)):
        instead = read(better["said"])
        return instead.calls if instead is not None and not instead.rest else None
    if call is None:
        return None
    if _OTHER_WAY.fullmatch(bare):
        placed = call.tool == named.SHOW and "viewport" in call.arguments
        if placed or call.arguments.get("layout") == "swap":
            return (SpokenCall(named.LAYOUT, {"layout": "swap"}),)
    if call.arguments.get("command") == "undo" and _REDO.fullmatch(bare):
        return (SpokenCall(named.COMMAND, {"command": "redo"}),)
    deleted = call.arguments.get("action") == "delete" and not before[-1].failed
    if _AS_BEFORE.fullmatch(bare) or (deleted and _BACK_ON.fullmatch(bare)):
        return _reversed(call) or (SpokenCall(named.COMMAND, {"command": "take back"}),)
    if _BACK.fullmatch(bare) and call.tool == named.GO_TO:
        return (SpokenCall(named.GO_TO, {"place": "back"}),)
    back, off = _BACK_ON.fullmatch(bare), _OFF_AGAIN.fullmatch(bare)
    if not (back or off) or call.arguments.get("command") in UNDOING:
        return None  # what was undone is back already
    several = _SEVERAL.search(bare) is not None
    found: tuple[SpokenCall, ...] = ()
    for count in range(len(before), 0, -1):
        calls = _calls(before[:count], one_image)
        switched = tuple(filter(None, (_switched(one, on=bool(back)) for one in calls)))
        if found and not switched:
            break
        found = (*switched, *(one for one in found if one not in switched))
        between = 0 if _BACK.fullmatch(bare) else _BETWEEN
        if (found and not several) or (not found and len(before) - count >= between):
            break
    return found or None


def _of_what_was_asked(said: str, before: Sequence[Earlier]) -> tuple[SpokenCall, ...] | None:
    """Return a command about "it" with the one finding that the question before it names.

    "How large is the nodule?", "zoom to it".
    """
    names = known_names(folded(before[-1].text))
    asked = _calls(before[-1:], True)
    if len(names) != 1 or any(one.arguments.get("action") != "describe" for one in asked):
        return None
    found = read(said)
    if found is None or found.rest or len(found.calls) != 1:
        return None
    (call,) = found.calls
    key = next((k for k in ("which", "to", "finding") if call.arguments.get(k) in _IT), "")
    if not key or call.names or call.arguments.get("action") in _DECIDES:
        return None
    return (replace(call, arguments={**call.arguments, key: names[0]}, names=(names[0],)),)


def _switched(call: SpokenCall, *, on: bool) -> SpokenCall | None:
    """Return the call that shows what a call hid (`on`), or hides what it showed."""
    action = call.arguments.get("action")
    if call.tool == named.FINDINGS and action in (("hide", "only") if on else ("show",)):
        if action == "only":
            return replace(call, arguments={"action": "show", "which": "all"}, names=())
        return replace(call, arguments={**call.arguments, "action": "show" if on else "hide"})
    command = str(call.arguments.get("command", ""))
    instead = (_TAKES_AWAY if on else _BRINGS).get(command)
    return replace(call, arguments={**call.arguments, "command": instead}) if instead else None


def _reversed(call: SpokenCall) -> tuple[SpokenCall, ...] | None:
    """Return the call that takes back what is not a step of undo: a cine's speed, panels, texts."""
    said = call.arguments
    if call.tool == named.CINE:
        if (speed := said.get("speed")) in _OPPOSITE:
            return (replace(call, arguments={**said, "speed": _OPPOSITE[speed]}),)
        plays = bool(said.get("play", True))
        return (replace(call, arguments={"play": not plays}),)
    command = str(said.get("command", ""))
    if command in _SWITCHED:
        one = _switched(call, on=True) or _switched(call, on=False)
        return (one,) if one is not None else None
    if command in ("faster cine", "slower cine"):
        return (replace(call, arguments={**said, "command": _OPPOSITE[command]}),)
    return None


def _again(said: str, call: SpokenCall) -> tuple[SpokenCall, ...] | None:
    """Return a change once more, or less of it: "a bit more", "that's too much"."""
    bare = _PLEASE.sub("", _NO.sub("", _PLEASE.sub("", said)))
    more, less = _MORE.fullmatch(bare) or only_goes_on(said), _LESS.fullmatch(bare)
    if not (more or less):
        return None
    key = next((k for k in ("change", "speed", "command") if call.arguments.get(k)), "")
    value = str(call.arguments.get(key, ""))
    if value in _OPPOSITE:
        return (
            replace(call, arguments={**call.arguments, key: _OPPOSITE[value] if less else value}),
        )
    steps = call.arguments.keys() & {"by", "mm", "factor"} or value in ("undo", "redo")
    if more and (steps or str(call.arguments.get("finding", "")).startswith(("next", "previous"))):
        return (replace(call, arguments={k: v for k, v in call.arguments.items() if k != "times"}),)
    return None


def _with_another(
    said: str, call: SpokenCall, failed: bool, one_image: bool
) -> tuple[SpokenCall, ...] | None:
    """Return the command with another name, side, end or number than it had."""
    said = _POLITE.sub("", said)
    corrects = _NO.match(said) is not None
    rest = _NO.sub("", said)
    decides = call.arguments.get("action") in _DECIDES
    more = _ALSO if decides else _AND
    goes_on = more.match(rest) is not None or (_ADDS if decides else _TOO).search(rest) is not None
    rest = more.sub("", rest)
    only = _ONLY.match(rest) is not None
    rest = _TOO.sub("", _ONLY.sub("", rest))
    arguments = call.arguments
    side = _SIDE.fullmatch(rest)
    bare = side is not None and not decides
    if not (corrects or goes_on or failed or only or bare):
        return None
    if call.tool == named.MARK and arguments.get("at") == "first" and _SECOND.fullmatch(rest):
        return (replace(call, arguments={k: v for k, v in arguments.items() if k != "at"}),)
    if (number := _NUMBER.fullmatch(rest)) and "slice" in arguments:
        return (replace(call, arguments={**arguments, "slice": int(number["number"])}),)
    if (end := _END.fullmatch(rest)) and call.tool == named.GO_TO and call.names:
        place = "first" if end["first"] else "last"
        kept = {k: v for k, v in arguments.items() if k != "towards"}
        return (replace(call, arguments={**kept, "place": place}),)
    if _NEXT.fullmatch(rest) and call.tool == named.GO_TO and "finding" in arguments:
        where = {k: v for k, v in arguments.items() if k == "viewport"}
        return (SpokenCall(named.GO_TO, {"finding": "next", **where}),)
    key = {named.FINDINGS: "which", named.GO_TO: "finding", named.ZOOM: "to"}.get(call.tool, "")
    if failed and decides and not call.names:
        return None
    if not arguments.get(key) or not all(set(words_of(one)) <= known_words() for one in call.names):
        return None
    name = _on_side(call, side, failed or one_image) if side else _named(rest)
    if not name:
        return None
    other = replace(call, arguments={**arguments, key: name}, names=(name,))
    action = arguments.get("action")
    if action == "only" and not (corrects or only) and call.names:
        both = (*call.names, name)
        return (replace(call, arguments={**arguments, key: " and ".join(both)}, names=both),)
    if (corrects or only) and action == "hide":
        return (replace(call, arguments={**arguments, "action": "show"}), other)
    return (other,)


def _on_side(call: SpokenCall, said: re.Match[str], of_patient: bool) -> str:
    """Return the name of the last finding on the side that is said; "" where that is not clear.

    `of_patient` says that a side can be no viewport's.
    """
    if len(call.names) != 1:
        return ""
    (name,) = call.names
    sides = [side_of(word) for word in name.split()]
    was = next(filter(None, sides), "")
    side = "left" if said["left"] else "right" if said["right"] else ""
    if not side:
        side = {"left": "right", "right": "left"}.get(was, "")
    pair = _PAIR.match(name) is not None
    if not side or not (was or pair or of_patient):
        return ""
    bare = " ".join(word for word, on in zip(name.split(), sides, strict=True) if not on)
    bare = one_of(_PAIR.sub("", bare)) if pair else bare
    return f"{side} {bare}" if bare else ""


def _named(text: str) -> str:
    """Return the findings that a text names and nothing else; "" if it does not."""
    if _PLACED.match(text):
        return ""  # "and to the nodule" goes there
    name = which_findings(text)
    words = [word for part in re.split(r" (?:and|und) |, ?", text) for word in words_of(part)]
    return name if name and words and set(words) <= known_words() else ""
