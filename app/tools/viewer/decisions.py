"""Checks that a text decides plainly on findings: accepts, rejects or deletes just what it names.

Nobody looks at a finding that was decided by mistake. So each clause of such a text must be one of
a few kinds, and each of its words be known: the decision itself, names that go on with it, a reason
of known words that agrees with it, a harmless command, a request behind it, a courtesy. What is
supposed, denied, told of somebody, narrowed or taken back has other words, and is refused.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from app.tools.finding_names import known_words, side_of, words_of
from app.tools.pack_plan import SpokenCall
from app.tools.viewer import tools as named

DECIDING = ("accept", "reject", "delete")
"""Actions on findings that are decisions; "propose" takes one back."""

VERB = re.compile(
    r"\b(?:accept|approve|confirm|agree|akzeptier(?:en|e)?|annehmen|nimm|nehme?n?|uebernimm"
    r"|uebernehmen?|bestaetig(?:en|e)?|reject|decline|dismiss|discard|throw|verwirf|verwerfe?n?"
    r"|lehne?|ablehnen|weise|zurueckweisen|delete|erase|remove|bin|ditch|trash|loesch(?:en|e)?"
    r"|entfern(?:en|e)?|wirf|mark)\b"
)
"""Verbs of decisions, in the forms in which they are said to somebody."""
_CLAUSE = re.compile(
    r"\s*(?:[,;.!?:]+|\s-+\s|\b(?:and|und|but|aber|then|dann|because|since|weil|denn|also)\b"
    r"|(?<!-)\bso\b(?= (?:please |bitte )?(?:accept|reject|delete|i|we)\b))\s*"
)
_FREE = frozenset(
    """
    single mir me us
    a an the this that these those it them both all every each of everything finding findings
    mark marks marking markings box boxes mask masks outline outlines contour contours result
    results overlay overlays heatmap heatmaps measurement measurements please pls ok okay yes
    yep just now too go ahead kindly thanks thank for good permanently completely entirely
    altogether from list away out with i we also finally outright left right sided hand one der
    die das den dem des ein eine einen beide beiden alle alles saemtliche saemtlichen sie ihn es
    diese diesen dieser dieses befund befunde befunden markierung markierungen kasten maske
    masken kontur umriss messung messungen bitte ja jawohl mal jetzt auch ab raus weg ganz
    endgueltig komplett aus ich wir links rechts linke linken linker rechte rechten rechter
    linkes rechtes gerne danke einfach so doch only nur selected ausgewaehlten ausgewaehlte zwei
    drei vier fuenf two three four five six seven eight in liste
    """.split()  # noqa: SIM905 (a list of words reads better)
)
"""Words that a decision may have beside its verb and the names of findings."""
_AS = re.compile(r"\bas (?:accepted|rejected|correct|wrong|false|confirmed)$| as a finding$")
_POLITE = re.compile(
    r"^(?:please |bitte )?(?:can|could) you |\b(?:kannst|koenntest) du\b"
    r"|^(?:i(?:'d| would)? (?:want|like) to|ich (?:moechte|will)) "
)
"""Words by which a decision is put as a request: "could you", "kannst du"."""
_SIDE = re.compile(
    r"\b(?:on|in|at|auf) (?:the |der )?(?:left|right|linken|rechten|links|rechts)"
    r"(?: (?:hand )?(?:side|seite))?(?= (?:please|bitte|too|also|auch|ab|an)\b|$)"
)
_GROUP = re.compile(r"\b(?:all|every|each|everything|alle|alles|saemtliche\w*|both|beiden?)\b")
_GROUP_OF = re.compile(
    r"\b(?:all|every|each|alle|both|beiden?)(?: of)?(?: (?:the|die|den))?(?: (?:left|right"
    r"|linken?|rechten?))? "
)
_REFUSED = (
    re.compile(r"\bbin\b(?! (?:the|that|this|it|both|all|them)\b)"),  # German "I am"
    re.compile(r"\bagree\b(?! with\b)|\b(?:confirm|bestaetig\w*)\b.*\b(?:me|mir|us)\b"),
    re.compile(
        r"^(?:lehne?|akzeptiere?|nehme?|bestaetige?|verwerfe?|loeschen?|entfernen?) (?:ich|wir)\b"
    ),
    re.compile(
        r"\b(?:these|those|diese|diesen) (?:\w+s|befunde|markierungen|masken)\b(?! (?:finding|box))"
    ),
    re.compile(
        r"\b(?:findings?|befunde?n?) (?:of|from|der|des|vom|von)\b|\bin (?!the list|der liste)"
    ),
)
"""Forms that are no plain decisions though each of their words may be."""
_NEHME = re.compile(r"\bnehm\w* (?:ich|wir)\b")
_NIMM = re.compile(r"\b(?:nimm|nehmt)\b(.*) an$")
"""As in "nimm ihn an", where "an" is no article."""
_ARTICLE = re.compile(r"\b(?:den|die|das|alle|beide)\b")
_ANY = re.compile(r"\b(?:an?|my|eine?n?|meine?n?)\b|(?<!this )(?<!that )\bone\b")
_IS = re.compile(
    r"(?:'s|'re|\b(?:is|are|isn'?t|aren'?t|looks?|ist|sind|sieht|wirkt|stimmt|stimmen|passt|passen)\b)"
)
_WELL = frozenset(
    """
    fine ok okay good correct right real true genuine convincing gut richtig korrekt echt
    ordnung plausibel eindeutig stimmt stimmen passt passen happy
    """.split()  # noqa: SIM905
)
_ILL = frozenset(
    """
    wrong false fake rubbish nonsense artefact artefacts artifact artifacts artefakt artefakte
    falsch unsinn positive
    """.split()  # noqa: SIM905
)
_NOT = frozenset(
    ("not", "no", "isn't", "isnt", "aren't", "arent", "nicht", "nothing", "nichts", "don't")
)
_SOME = re.compile(r"kein\w*")
_IS_NONE = re.compile(
    r"(?:das|es|dies) ist (?:gar |doch |wirklich |ja )?kein(?:er|e|es|s)"
    r"|(?:that|it|this)(?:'?s| is) not one|(?:that|it|this) isn'?t one"
)
"""As in "reject the nodule, that is not one"."""
_NO_TO_THAT = re.compile(
    r"^(?:no|nein|nee|nope),? "
    r"(?=(?:that|it|this|das|es|der)(?:'s| is| ist) (?:not|no|nicht|kein\w*)\b)"
)
"""As in "no, that's not real, reject it"."""
_A_REAL_ONE = re.compile(r"\ba (real|genuine|true|convincing|false|fake) one$")
_TO_ME = re.compile(r"(?<=\bthat) one\b|(?<=\bthis) one\b| (?:to me|fuer mich)$")
_OF_REASON = frozenset(
    """
    it that this they those these thats its theyre the a an only just really clearly all both so
    yes ja is are looks look there here das es er sie der die den dem ein eine einen nur ist
    sind sieht aus wirkt da hier in wirklich alle alles beide beides i am so-called believe buy
    glaube glaub ich with i'm old alt alte alter altes alten
    """.split()  # noqa: SIM905
)
"""Words of a reason that say nothing alone."""
_THINGS = frozenset(
    """
    nipple shadow shadows vessel vessels skin fold folds breast rib ribs scar scars scarring fat
    fatty fibrosis thickening pleural motion noise overlap end-on bone island clothing button
    lead leads tube tubes cable cables hair cross-section mamille brustwarze gefaess gefaesse
    gefaessanschnitt gefaessquerschnitt imquerschnitt hautfalte narbe narben rippe rippen fett
    schwarte verkalkung kabel knopf atelectasis atelektase contour outline mask box kontur maske
    overlay
    """.split()  # noqa: SIM905
)
"""Things that are taken for findings, and what a finding is drawn as."""
_DISBELIEVED = re.compile(r".*\bglaube? ich nicht$")
_DRAWN = frozenset("contour outline mask box kontur maske overlay".split())  # noqa: SIM905
_NARROWS = frozenset(("only", "just", "nur"))
_HARMLESS = ("mark as key", "plane ", "invert", "not inverted", "flip", "rotate")
"""Beginnings of the commands that may stand beside a decision."""
_WHOLE = re.compile(
    r"^(?:the whole lot|all of them|every (?:single )?one(?: of them)?|alle(?: davon)?)$"
)
"""Says once more that all are meant."""
_OF_SHOWN = re.compile(r"\b(?:in|on) this (?:study|scan|film|series)\b")
_REQUEST = re.compile(
    r"^(?:tell me|show me|how (?:big|large|long|wide)|measure|compare|draft|write|summari[sz]e"
    r"|zeige? mir|sag mir"
    r"|wie gross|miss|vergleiche?|schreibe?|erstelle?)\b"
)
"""Beginnings of a request that may stand behind a decision: "tell me how big the heart is"."""
_UNSURE = re.compile(
    r"\b(?:first|later|yet|wait|maybe|perhaps|think|kidding|said|says|why|whether|if|who|before|erst|spaeter|vielleicht"
    r"|warum|ob|wenn|meint\w*|sagt\w*)\b"
)
_COURTESY = re.compile(
    r"^(?:(?:yes|ja|ok|okay|please|bitte|thanks|thank you|danke|good|gut|now|jetzt|agreed"
    r"|all good|alles gut)\b ?)+$"
)
_REST = re.compile(
    r"^(?:please )?(?:leave|keep) (?:the )?(?:others?|rest)\b.*|^der rest bleibt\b.*"
    r"|^(?:den )?rest (?:so )?lassen$"
)
_NEVER = re.compile(
    r"\b(?:or|oder|else|instead|statt|anstatt|undo|un(?:accept|reject)\w*)\b|[\"\u201c\u201d\u201e\u00ab\u00bb]"
)


@dataclass
class _Reading:
    """What was read of a text so far.

    Attributes:
        deciding: Of each decision whether it names no finding, and what was named just before.
        said: The names of findings that stand with the decisions.
        mentioned: Those that were named since the last decision.
        pending: Those of a list that goes on to a verb: "heart and lung accept".
        does: The action of the last decision.
        agreed: Those with which somebody agrees.
        reasons: The reasons, each with the place of the decision before it, -1 for none.
    """

    deciding: list[tuple[bool, set[str]]] = field(default_factory=list[tuple[bool, set[str]]])
    said: set[str] = field(default_factory=set[str])
    mentioned: set[str] = field(default_factory=set[str])
    pending: set[str] = field(default_factory=set[str])
    agreed: set[str] = field(default_factory=set[str])
    reasons: list[tuple[str, int]] = field(default_factory=list[tuple[str, int]])
    does: list[str] = field(default_factory=list[str])
    agrees: bool = False
    groups: bool = False
    listed: bool = False
    moved: bool = False


def is_plain(
    text: str,
    calls: Sequence[SpokenCall],
    read: Callable[[str], tuple[SpokenCall, ...] | None],
) -> bool:
    """Return whether a folded text, read as `calls`, plainly says its decisions on findings.

    `read` returns the commands of one clause.
    """
    text = _NO_TO_THAT.sub("", text)
    decisions: list[SpokenCall] = []
    for one in filter(_decides, calls):
        decisions += [] if one in decisions else [one]
    if _NEVER.search(text) or _UNSURE.search(text) or not _agree(decisions):
        return False
    so_far = _Reading()
    sides = {side_of(word) for clause in _clauses(text) for word in _subject(clause).split()}
    told = {side_of(word) for one in decisions for name in one.names for word in name.split()}
    if decisions and not sides <= {*told, ""}:
        return False  # "left and right lung are wrong, reject them" as the right one
    clauses = [*_clauses(text)]
    if not all(_takes(clause, so_far, read) for clause in clauses):
        return False
    others = so_far.said | so_far.mentioned | so_far.agreed
    if so_far.groups and (others or any(map(_REST.match, clauses))):
        return False  # "reject all, only the mass"
    return _are_meant(so_far, decisions) and all(
        _fits(reason, place, decisions) for reason, place in so_far.reasons
    )


def _takes(
    clause: str, so_far: _Reading, read: Callable[[str], tuple[SpokenCall, ...] | None]
) -> bool:
    """Add a clause to what was read; False if it is none of those that may stand there."""
    was_listed, so_far.listed = so_far.listed, False
    if VERB.search(clause):
        if not _is_known(clause):
            return False
        own, grouped = _names(clause), _GROUP.search(clause) is not None
        if re.search(r"\bagree\b", clause):
            so_far.mentioned |= own
            so_far.agreed |= own
            so_far.agrees = True
            return True
        if re.match(r"confirm|bestaetig", clause) and not (own or grouped or so_far.mentioned):
            return False  # "please confirm" asks for a check
        does = [one.arguments["action"] for one in read(clause) or () if _decides(one)]
        again = does == so_far.does and not (own or grouped or so_far.mentioned)
        if again and so_far.deciding:
            return True  # "bin the nodule, delete it"
        so_far.does = does
        so_far.deciding.append((not (own or grouped), so_far.mentioned))
        so_far.said |= (own | so_far.pending) if own else set()
        so_far.pending = set()
        so_far.groups |= grouped and not own
        so_far.mentioned, so_far.listed = set(), True
    elif _continues(clause):
        so_far.listed = True
        if was_listed:
            so_far.said |= _names(clause)
        else:
            so_far.pending |= _names(clause)
            so_far.mentioned |= _names(clause)
    elif _COURTESY.match(clause) or _REST.match(clause) or (so_far.groups and _WHOLE.match(clause)):
        so_far.listed = was_listed
    elif _is_reason(clause):
        asks = clause.startswith(("ist ", "sind ", "wirkt ", "sieht ", "is ", "are "))
        if asks and not so_far.deciding:
            return False  # "ist er echt, akzeptiere ihn"
        if re.match(r"(?:no|not|nicht|kein\w*)\b", clause) and so_far.deciding:
            return False  # "reject it, not this"
        so_far.reasons.append((clause, len(so_far.deciding) - 1))
        so_far.mentioned |= _names(_subject(clause))
    elif _REQUEST.match(clause) and so_far.deciding and not _UNSURE.search(clause):
        return True
    else:
        others = read(clause)
        behind = bool(so_far.deciding)
        if others is None or not all(_is_harmless(one, behind=behind) for one in others):
            return False
        steps = any(map(_steps, others))
        so_far.mentioned = _meant(others) | (set() if steps else so_far.mentioned)
        so_far.moved |= not so_far.deciding and any(map(_moves, others))
    return True


def is_remark(text: str) -> bool:
    """Return whether a folded text asks for nothing: a reason, a courtesy, "leave the rest"."""
    return all(
        _is_reason(one) or _COURTESY.match(one) or _REST.match(one) for one in _clauses(text)
    )


def _clauses(text: str) -> Iterator[str]:
    for clause in _CLAUSE.split(text):
        if bare := clause.strip(" '-"):
            yield re.sub(r"\bthats\b", "that is", bare).replace("theyre", "they are")


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
    clause = _POLITE.sub(" ", clause).strip()
    if re.search(r"\bas\b", clause):
        if not _AS.search(clause) or not re.search(r"\bmark\b|\bas a finding$", clause):
            return False
        clause = _AS.sub("", clause)
    if _GROUP.search(clause):
        clause = _OF_SHOWN.sub("", clause)
    clause = " ".join(_SIDE.sub(" left", clause).split())
    if len(VERB.findall(clause)) != 1 or any(one.search(clause) for one in _REFUSED):
        return False
    names = _names(clause)
    if _NEHME.search(clause) and not (_ARTICLE.search(clause) and names):
        return False  # "Rundherd nehme ich an" supposes one
    if not names and "agree" in clause and not re.search(r"\bfindings?\b|\bthis one\b", clause):
        return False
    if not names and (_ANY.search(_NIMM.sub(r"\1", clause)) or _has_side(clause)):
        return False  # "delete a mask", "alle linken ablehnen"
    if names and _GROUP.search(clause) and not _groups_names(clause):
        return False  # "alle lehnen den Rundherd ab"
    words = re.findall(r"[\w'-]+", VERB.sub(" ", clause))
    return all(word in _FREE or word.isdigit() or word in known_words() for word in words)


def _has_side(clause: str) -> bool:
    return any(side_of(word) for word in clause.split())


def _groups_names(clause: str) -> bool:
    """Return whether "all" or "both" stand before a name: "both lungs"."""
    found = _GROUP_OF.search(clause)
    return found is not None and bool(_names(clause[found.end() :].partition(" ")[0]))


def _continues(clause: str) -> bool:
    """Return whether a clause only names findings, for which another clause has the verb."""
    words = re.findall(r"[\w'-]+", _SIDE.sub(" left ", clause))
    known = all(word in _FREE - {"only", "nur", "just"} or word in known_words() for word in words)
    asks = re.match(r"(?:outline|box|mask|contour) (?:the|both|all|an?|my)\b", clause)
    return known and bool(_names(clause)) and not (asks or _WELL & {*words})


def _names(text: str) -> set[str]:
    return set(words_of(text)) & known_words()


def _subject(clause: str) -> str:
    """Return what a reason is about, which stands before its verb."""
    subject = _IS.split(clause)[0]
    return clause if subject == clause or not subject.strip() else subject


def _is_reason(clause: str) -> bool:
    """Return whether a clause is a reason: one statement of which each word is known."""
    if _IS_NONE.fullmatch(clause.strip(" .!")):
        return True
    clause = _TO_ME.sub("", _A_REAL_ONE.sub(r"\1", clause))
    words = _words(clause)
    told = _WELL | _ILL | _THINGS
    if not all(
        one in _OF_REASON
        or one in told
        or one in _NOT
        or _SOME.fullmatch(one)
        or one in known_words()
        or side_of(one)
        for one in words
    ):
        return False
    subject, predicate = _subject(clause), clause.removeprefix(_subject(clause))
    narrows = bool({*words} & _NARROWS)
    if (
        not _IS.search(clause)
        and {*words[1:]} & _NOT
        and "believe" not in words
        and "buy" not in words
    ):
        return _DISBELIEVED.match(clause) is not None  # "accept the heart, lungs no"
    if (
        len(_IS.findall(clause)) > 1
        or (_has_side(subject) and not _names(subject))
        or _has_side(predicate)
        or (_names(predicate) - _names(subject) - _names(" ".join(_THINGS)) and not narrows)
        or sum(one in _NOT or _SOME.fullmatch(one) is not None for one in words) > 1
    ):
        return False
    return bool({*words} & told) or bool(_names(clause)) or "believe" in words or "buy" in words


def _words(clause: str) -> list[str]:
    """Return the words of a reason; "im Querschnitt" is one, and "nodule's" two."""
    clause = clause.replace("im querschnitt", "imquerschnitt")
    clause = clause.replace("'s ", " is ").replace("'re ", " are ")
    return re.findall(r"[^\W_]+(?:['-][^\W_]+)*", clause)


def _is_harmless(call: SpokenCall, *, behind: bool) -> bool:
    """Return whether a command may stand before or `behind` a decision, and takes nothing back."""
    if call.tool in (named.WINDOW, named.ZOOM):
        return True
    if call.tool == named.GO_TO:
        return (
            "finding" in call.arguments
            or call.arguments.get("by", 0) > 0
            or "slice" in call.arguments
        )
    if call.tool == named.FINDINGS:
        action = call.arguments["action"]
        return (action == "hide" and behind) or (action in ("hide", "show") and bool(call.names))
    command = str(call.arguments.get("command", ""))
    return command.startswith(_HARMLESS)


def _steps(call: SpokenCall) -> bool:
    """Return whether a call goes on to another finding, which is then the selected one."""
    return call.tool == named.GO_TO and "finding" in call.arguments and not call.names


def _moves(call: SpokenCall) -> bool:
    """Return whether after a call "it" may be something else than what is selected."""
    return call.tool == named.GO_TO and not (_steps(call) or call.names)


def _meant(calls: Sequence[SpokenCall]) -> set[str]:
    """Return the words of the findings that calls name."""
    return {word for one in calls for name in one.names for word in words_of(name)}


def _are_meant(so_far: _Reading, decisions: Sequence[SpokenCall]) -> bool:
    """Return whether the decisions are on all that the text names for them, and on nothing else.

    One that names nothing can only mean what was named before it; where that is nothing, it is what
    is selected, once, and with no move to something else before.
    """
    deciding, meant = so_far.deciding, _meant(decisions) & known_words()
    said = so_far.said | so_far.agreed
    if not deciding:
        return so_far.agrees and so_far.agreed == meant
    if len(deciding) > len(decisions):
        return False  # one of them was not understood
    if not any(is_nameless for is_nameless, _ in deciding):
        return said == meant or so_far.groups
    if len(deciding) != len(decisions):
        return False
    for (is_nameless, before), one in zip(deciding, decisions, strict=True):
        own = _meant([one]) & known_words()
        if is_nameless and before != own:
            return False
        if is_nameless and not own and (so_far.moved or so_far.said or len(deciding) > 1):
            return False
    return said <= meant and (bool(meant) or not so_far.mentioned)


def _fits(reason: str, place: int, decisions: Sequence[SpokenCall]) -> bool:
    """Return whether a reason agrees with the decision that it is for.

    One that names a finding on which nothing is decided is for none. `place` is that of the
    decision before it, for which it is if it names nothing.
    """
    words = {*_words(reason)}
    about = _names(_subject(reason))
    own = [one for one in decisions if about & _meant([one])]
    own = own or [one for one in decisions if not one.names]
    if about and not own:
        own = [one for one in decisions if _names(reason) & _meant([one])]
        if not own:
            return not words & _NARROWS  # "only the heart is fine"
    if _GROUP.search(_subject(reason)) and len(decisions) > 1:
        return False
    if not own:
        own = decisions[max(place, 0) : max(place, 0) + 1]
    actions = {one.arguments["action"] == "accept" for one in own}
    if len(actions) != 1:
        return False
    denies = bool(words & _NOT) or any(map(_SOME.fullmatch, words))
    believes = not denies and bool(words & {"believe", "buy", "glaube", "glaub"})
    well, ill = believes or bool(words & _WELL), bool(words & _ILL)
    if actions == {True}:
        return well and not (ill or denies or words & _THINGS - _DRAWN or words & _NARROWS)
    return ill != denies if ill or well else True
