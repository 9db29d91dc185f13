"""Whether a text decides on findings plainly: accepts, rejects or deletes what it names.

Nobody looks at a finding that was decided by mistake. So every word of a decision must be known
here, and every other clause be a command, a request, or a reason that agrees with it; what is
supposed, denied, told of somebody or taken back has other words, and is refused.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence

from app.tools.finding_names import known_words, words_of
from app.tools.pack_plan import SpokenCall
from app.tools.viewer import tools as named

DECIDING = ("accept", "reject", "delete")
"""Actions on findings that are decisions; "propose" takes one back."""

_CLAUSE = re.compile(
    r"\s*(?:[,;.!?:]+|\s-+\s|\b(?:and|und|but|aber|then|dann|sowie|because|since|weil|denn|also"
    r"|as well as)\b|(?<!-)\bso\b(?= (?:please |bitte )?(?:accept|reject|delete|i|we)\b))\s*"
)
_VERB = re.compile(
    r"\b(?:accept|approve|confirm|agree|akzeptier(?:en|e)?|annehmen|nimm|nehme?n?|uebernimm"
    r"|uebernehmen?|bestaetig(?:en|e)?|reject|decline|dismiss|discard|throw|verwirf|verwerfe?n?"
    r"|lehne?|ablehnen|weise|zurueckweisen|delete|erase|remove|bin|ditch|trash|loesch(?:en|e)?"
    r"|entfern(?:en|e)?|wirf|mark)\b"
)
_FREE = frozenset(
    """
    a an the this that these those it them both all every each of everything finding findings
    mark marks marking markings box boxes mask masks outline outlines contour contours result
    results overlay overlays heatmap heatmaps measurement measurements please pls ok okay yes
    yep just now too go ahead kindly thanks thank for good permanently completely entirely
    altogether from list away out with as i we here also finally outright right left sided hand
    accepted rejected correct wrong false confirmed one der die das den dem des ein eine einen
    beide beiden alle alles saemtliche saemtlichen sie ihn es diese diesen dieser dieses befund
    befunde befunden markierung markierungen kasten maske masken kontur umriss messung messungen
    bitte ja jawohl mal jetzt auch ab raus weg ganz endgueltig komplett aus ich wir links rechts
    linke linken linker rechte rechten rechter linkes rechtes hier davon gerne danke gleich
    einfach so li re doch only nur selected ausgewaehlten ausgewaehlte zwei drei vier fuenf two
    three four five six seven eight in on at auf side seite
    """.split()  # noqa: SIM905 (a list of words reads better)
)
"""Words that a decision may have beside its verb and the names of findings."""
_ASKED = re.compile(r"^(?:please |bitte )?(?:can|could|will) you |\bkannst du\b|\bkoenntest du\b")
"""How a request may begin that is put as a question."""
_SIDE = re.compile(
    r"\b(?:on|in|at|auf) (?:the |der )?(?:left|right|linken|rechten|links"
    r"|rechts)(?: (?:hand )?(?:side|seite))?"
    r"(?= (?:please|bitte|too|also|auch|ab|an)\b|$)"
)
_PLACE = re.compile(r"\b(?:in|on|at|auf|side|seite)\b")
_ANY = re.compile(r"\b(?:an?|my|eine?n?|meine?n?)\b|(?<!this )(?<!that )\bone\b")
_NEHME = re.compile(r"\bnehm\w* (?:ich|wir)\b")
_WITH_ARTICLE = re.compile(r"\b(?:den|die|das|alle|beide)\b")
_BIN = re.compile(r"\bbin\b(?! (?:the|that|this|it|both|all|them)\b)")
_AGREES = re.compile(
    r"\bagree\b(?! with\b)|\bagree with (?:everything|all|it|this|that|them)\b(?! (?:findings?"
    r"|one|marks?))"
)
_AGREE = re.compile(r"\bagree\b")
_DISBELIEVED = re.compile(
    r"^i (?:don'?t|do not) (?:buy|believe|trust) .*|.*\bglaube? ich (?:\w+ )?nicht$"
)
_SUBJECT = (
    r"(?:it|that|this|they|those|these|das|es|sie|er|dies\w*|die|der|there|da"
    r"|(?:the |that |this |der |die |das |den |so-called )*(?:[\w-]+ ){0,2}[\w-]+)(?: (?:here"
    r"|there|hier|da))?"
)
_REASON = re.compile(
    rf"^(?:(?:yes|no|ja|nein|oh|ok|well) )?(?:{_SUBJECT}(?:'s|'re| is| are| isn'?t| aren'?t"
    rf"| looks?| seems?| ist| sind| sieht| wirkt)"
    r"|thats|its|theyre|(?:ist|sind)(?= (?:nur|die|der|das|kein\w*|ein\w*)\b)|no|not|kein\w*|just"
    r"|nur|i(?:'m| am) (?:happy|fine|ok|okay) with|happy with|fine with)\b"
)
_IS = re.compile(r"(?:'s|'re|\b(?:is|are|isn'?t|aren'?t|looks?|seems?|ist|sind|sieht|wirkt))\b")
_OF_SUBJECT = frozenset(("so-called", "they", "there", "er", "da", "dies"))
_STATES_WELL = re.compile(
    r"^(?:.{2,40} )?(?:stimmt|passt|stimmen|passen)(?: so| alles| gut)*$|^stimmt alles$|^alles gut$"
)
_WELL = re.compile(
    r"\b(?:fine|ok|okay|good|correct|real|true|genuine|convincing|happy|gut|richtig|korrekt|echt|stimmt|passt|stimmen"
    r"|passen|ordnung|plausibel)\b"
)
_ILL = re.compile(
    r"\b(?:not|no|isn'?t|aren'?t|don'?t|wrong|false|fake|bad|artefact\w*|artifact\w*|nothing|rubbish|nonsense|nicht|kein\w*|falsch|nichts"
    r"|unsinn)\b"
)
_UNSURE = re.compile(
    r"\b(?:later|yet|now|wait|moment|maybe|perhaps|possibl\w*|probabl\w*|likely|could|might|would|should|may|if|when|before|after|until"
    r"|joke|what|who|said|says|want|meant?|think|idea|certain|sure|doubt\w*|spaeter|warte|vielleicht|moeglich\w*|vermutlich"
    r"|wahrscheinlich\w*|koennte|sollte|wenn|bevor|nachdem|gemeint|was|wer|sicher|later|next|first|enough|wanted"
    r"|question|unclear|unklar|fraglich\w*|evtl|eventuell)\b"
)
_OR = re.compile(r"\b(?:or|oder|else|instead|statt|anstatt|undo|un(?:accept|reject)\w*)\b")
_REST = re.compile(
    r"^(?:please )?(?:leave|keep) (?:the )?(?:others?|rest)\b.*|^der rest bleibt\b.*"
    r"|^(?:den )?rest (?:so )?lassen$"
)
REQUEST = re.compile(
    r"^(?:(?:please|also|bitte|auch) )?(?:tell|show|what|how|is|are|does|do|why|which|where"
    r"|compare|measure|segment|find"
    r"|count|draft|write|explain|describe|check|look|give|list|summari[sz]e|calculate|was|wie|wo|welche\w*|warum|zeig\w*"
    r"|miss|vergleich\w*|sag\w*|beschreib\w*|erklaer\w*|schreib\w*|such\w*|pruef\w*|berechne|ist|sind)\b"
)
_COURTESY = re.compile(
    r"^(?:yes|ja|ok|okay|please|bitte|thanks|thank you|danke|right|good|gut|now|jetzt|sorry|no"
    r"|nein)*$"
)
_GROUPS = re.compile(r"\b(?:all|every|each|everything|alle|alles|saemtliche\w*|both|beide\w*)\b")


def is_plain(
    text: str,
    calls: Sequence[SpokenCall],
    read: Callable[[str], tuple[SpokenCall, ...] | None],
) -> bool:
    """Return whether a folded text, read as `calls`, plainly says its decisions on findings.

    `read` returns the commands of one clause, by the patterns.
    """
    decisions: list[SpokenCall] = []
    for one in filter(_decides, calls):
        decisions += [] if one in decisions else [one]
    if _OR.search(text) or not _agree(decisions):
        return False
    reasons: list[str] = []
    deciding: list[tuple[bool, set[str]]] = []  # whether it names nothing, and what is named before
    mentioned: set[str] = set()
    moved = listed = agreed = False
    for clause in _clauses(text):
        was_listed, listed = listed, False
        others = read(clause)
        if _VERB.search(clause):
            if len(_VERB.findall(clause)) > 1 or not _is_known(clause):
                return False
            own, listed = _names(clause), True
            if _AGREE.search(clause):
                mentioned, listed, agreed = mentioned | own, False, True
                continue
            deciding.append((not (own or _GROUPS.search(clause)), mentioned))
            mentioned = set()
        elif _continues(clause):
            listed = was_listed
            mentioned |= set() if was_listed else _names(clause)
        elif others is not None and not any(map(_decides, others)):
            mentioned = _meant(others) | (set() if any(map(_steps, others)) else mentioned)
            moved |= any(not _keeps_selection(one) for one in others)
        elif _REST.match(clause) or _COURTESY.match(clause.replace(" ", "")):
            continue
        elif _REASON.match(clause) or _STATES_WELL.match(clause) or _DISBELIEVED.match(clause):
            first = clause.startswith(("ist ", "sind ")) and not deciding  # "ist er echt, ..."
            if first or _UNSURE.search(clause) or not _is_one_statement(clause):
                return False
            reasons.append(clause)
            mentioned |= _names(_subject(clause))
        elif REQUEST.match(clause):
            mentioned |= _names(clause)
        else:
            return False
    if not deciding and not (agreed and mentioned == _meant(decisions)):
        return False
    return _are_meant(deciding, decisions, moved=moved) and all(
        _fits(reason, decisions) for reason in reasons
    )


def _clauses(text: str) -> Iterator[str]:
    for clause in _CLAUSE.split(text):
        if bare := clause.strip(" \"'-"):
            yield bare


def _decides(call: SpokenCall) -> bool:
    return call.tool == named.FINDINGS and call.arguments["action"] in DECIDING


def _agree(decisions: Sequence[SpokenCall]) -> bool:
    """Return whether no finding is decided on in two ways."""
    done: dict[str, str] = {}
    for one in decisions:
        which, action = str(one.arguments["which"]), str(one.arguments["action"])
        if done.setdefault(which, action) != action:
            return False
    return True


def _is_known(clause: str) -> bool:
    """Return whether each word of a decision is a verb's, a finding's or one of those beside it."""
    clause = _SIDE.sub(" left ", _ASKED.sub(" ", clause)).removesuffix(" as a finding")
    if _PLACE.search(clause) or _BIN.search(clause) or _AGREES.search(clause):
        return False
    if _NEHME.search(clause) and not (_WITH_ARTICLE.search(clause) and _names(clause)):
        return False  # "Rundherd nehme ich an" supposes one
    if not _names(clause) and _ANY.search(clause):
        return False  # "delete a mask"
    words = re.findall(r"[\w'-]+", _VERB.sub(" ", clause))
    return all(word in _FREE or word.isdigit() or word in _known() for word in words)


def _continues(clause: str) -> bool:
    """Return whether a clause only names findings, for which another clause has the verb."""
    words = re.findall(r"[\w'-]+", _SIDE.sub(" left ", clause))
    judged = _WELL.search(clause) or _ILL.search(clause)
    known = all(word in _FREE or word in _known() for word in words)
    return known and not judged and bool(_names(clause))


def _known() -> frozenset[str]:
    return known_words()


def _names(text: str) -> set[str]:
    return set(words_of(text)) & known_words()


def _subject(clause: str) -> str:
    """Return what a reason is about, which stands before its verb."""
    return _IS.split(clause)[0]


def _meant(calls: Sequence[SpokenCall]) -> set[str]:
    """Return the words of the findings that calls name."""
    return {word for one in calls for name in one.names for word in words_of(name)}


def _steps(call: SpokenCall) -> bool:
    """Return whether a call goes on to another finding, which is then the selected one."""
    return call.tool == named.GO_TO and "finding" in call.arguments and not call.names


def _keeps_selection(call: SpokenCall) -> bool:
    """Return whether after a call "it" is still what is selected, or what the call goes to."""
    return call.tool in (named.WINDOW, named.ZOOM) or _steps(call) or bool(call.names)


def _is_one_statement(clause: str) -> bool:
    """Return whether a reason has one verb, and a subject of which each word is known."""
    if len(_IS.findall(clause)) > 1:
        return False
    subject = re.findall(r"[\w-]+", _subject(clause)) if _IS.search(clause) else []
    return all(word in _FREE or word in _known() or word in _OF_SUBJECT for word in subject)


def _are_meant(
    deciding: Sequence[tuple[bool, set[str]]], decisions: Sequence[SpokenCall], *, moved: bool
) -> bool:
    """Return whether each decision that names nothing can only mean what the text named before it.

    Where it named nothing, that is what is selected, once, and with no move to something else.
    """
    if len(deciding) > len(decisions):
        return not decisions  # one of them was not understood
    if not any(nameless for nameless, _ in deciding):
        return True
    if len(deciding) != len(decisions):
        return False
    for (nameless, before), one in zip(deciding, decisions, strict=True):
        meant = _meant([one])
        if nameless and (before != meant or (not before and (moved or len(deciding) > 1))):
            return False
    return True


def _fits(reason: str, decisions: Sequence[SpokenCall]) -> bool:
    """Return whether a reason agrees with the decision that it is for.

    One that names a finding on which nothing is decided is for none.
    """
    about = _names(_subject(reason))
    groups = [one for one in decisions if not one.names]
    own = [one for one in decisions if about & _meant([one])] or groups
    if about and not own:
        own = [one for one in decisions if _names(reason) & _meant([one])]
        if not own:
            return True
    actions = {one.arguments["action"] == "accept" for one in own or decisions}
    if len(actions) > 1:
        return len(decisions) > 1 and not about and not _WELL.search(reason)
    if actions == {True}:
        return _WELL.search(reason) is not None and _ILL.search(reason) is None
    return _ILL.search(reason) is not None or _WELL.search(reason) is None
