"""Reads a result's text sentence by sentence and finds contradictions: side, negation, comparison.

Texts are compared by the words that they share, in English and German, and never understood: where
a sentence shares too little with a result, nothing is said of it. The words of the field are in
`resources/words/statements.txt`.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any, cast

from app.agent.answers.figures import NUMBER, value_of
from app.agent.answers.items import ENTRY_ID
from app.agent.planning import Vocabulary, tokens_of
from app.paths import resources_dir
from app.tools.pack_plan import phrases, word_lists

_BESIDE = (
    r"[ -](?:pleural|lung|hemithorax|hilum|apex|base|upper|lower|mid|basal|apical|effusion|nodule)"
)
_SIDES = {
    "left": re.compile(
        r"(?<!\w)(?:left(?!\s+(?:out|over|open))|links\w*|linke[nrms]?|(?-i:LUL|LLL)"
        rf"|(?-i:L)(?={_BESIDE})|(?-i:(?<=, )L)(?=\s*$)|li\.)(?!\w)",
        re.I,
    ),
    "right": re.compile(
        r"(?<!\w)(?:right|rechts\w*|rechte[nrms]?|(?-i:RUL|RML|RLL)"
        rf"|(?-i:R)(?={_BESIDE})|(?-i:(?<=, )R)(?=\s*$)|re\.)(?!\w)",
        re.I,
    ),
}
_BILATERAL = r"bi(?:lateral|basal|basilar|apical)\w*|beidseit\w*|(?<!opposite )sides"
_BOTH = re.compile(
    rf"(?<!\w)(?:both(?! (?:picked|flag|show|find|found|agree|have|has|are|were|say|gave|give"
    rf"|point|call"
    r"|report|speak|scored?|of|the|tools|results|films|images|scores|values|drugs|labels|numbers))"
    rf"|beid\w*(?! (?:geben|zeigen|sind|waren|haben|melden|finden|fanden|sagen|sprechen|werkzeuge"
    rf"|ergebnisse|aufnahmen|bilder|werte))|{_BILATERAL})(?!\w)",
    re.I,
)
"""Words for both sides; "both tools" and "both agree" are about others."""
_OF_IMAGE = re.compile(
    r"\b(?:left|right)(?:(?:[ -]hand)? (?:half|side|part|edge))? of the"
    r" (?:image|picture|film|screen|radiograph)"
    r"|\b(?:linken?|rechten?) (?:bildhälfte|bildseite|bildrand|seite des bildes|hälfte des bildes)"
    r"|\b(?:links|rechts) im bild\b|\bim bild (?:\w+ ){0,6}?(?:links|rechts|(?:linken?"
    r"|rechten?) (?:seite|hälfte))\b"
    r"|\b(?:left|right|links|rechts) (?:at|bei) \d+"
    r"|\bleft, top, right(?:,| and|, and) bottom\b|\blinks, oben, rechts(?:,| und) unten\b"
    r"|\b(?:left|right)(?=\W{1,3}\d+\W{1,3}(?:top|bottom)\b)"
    r"|\b(?:not|nicht|rather than|instead of|statt) (?:(?:on|in|auf|im|the|der) )*"
    r"(?:left|right|links|rechts)\b"
    r"|\b(?:upper|lower|top|bottom)[ -](?:left|right)(?:[ -]hand)? corner"
    r"|\b(?:linken?|rechten?) (?:obere|untere)n? ecke"
    r"|\b(?:left|right)\b(?=[^.;]{0,25}\bwhich is the patient's (?:left|right))",
    re.IGNORECASE,
)
_LIMIT = r"(?:\w+ ){0,3}(?:threshold|cut-?off|schwelle\w*|grenzwert\w*)\b"
_PHRASES = (
    (
        re.compile(r"\b(?:without|no|ohne) (?:an?y? )?(?:match\w*|hits?|success|treffer)\b", re.I),
        "absent",
    ),
    (
        re.compile(
            r"\bnothing (?:wrong|abnormal|unusual|remarkable) (?:with|about|in)\b"
            r"|\bnothing to worry about\b|\bno cause for concern\b"
            r"|\bin ordnung\b|\bim grünen bereich\b",
            re.I,
        ),
        "normal",
    ),
    (
        re.compile(
            r"\b(?:outside|beyond|out of|not (?:with)?in) (?:of )?(?:the |its |their )?"
            r"(?:normal|reference) (?:range|limits|interval)s?\b"
            r"|\baußerhalb de[rs] (?:norm|referenz)\w*",
            re.I,
        ),
        "abnormal",
    ),
    (re.compile(r"\bre\.(?=\W|$)"), "rechts"),
    (re.compile(r"\bli\.(?=\W|$)"), "links"),
    (re.compile(r"\b(?:free (?:of|from)|frei von|devoid of|lacks?)\b", re.I), "no"),
    (re.compile(rf"\b(?:exceeds?|exceeded|above|over|über|reach\w*) {_LIMIT}", re.I), "present"),
    (
        re.compile(
            r"\b(?:bigger|larger|wider|größer|breiter|weiter) (?:than|als)"
            r" (?:(?:is )?(?:normal|usual|expected)|üblich|erwartet)",
            re.I,
        ),
        "enlarged",
    ),
    (re.compile(rf"\b(?:below|under|unter|unterhalb) {_LIMIT}", re.I), "absent"),
)
"""Phrases and abbreviations, each with the one word that it stands for."""
_GRADES = {
    "high": r"high|above normal|elevated|increased|raised|erhöht\w*|hoch|hyper\w+(?:a?emia|ämie)"
    r"|\w+(?:cytosis|zytose)",
    "low": r"low|below normal|reduced|decreased|erniedrigt\w*|vermindert\w*|niedrig"
    r"|hypo\w+(?:a?emia|ämie)|\w+(?:penia|penie)",
    "normal": r"(?<!below )(?<!above )(?<!outside the )(?<!outside of the )normal\w*|im normbereich"
    r"|within (?:the )?(?:normal |reference )?(?:limits|range)",
}
_GRADE = {grade: re.compile(rf"\b(?:{words})\b", re.I) for grade, words in _GRADES.items()}
_FLAG = re.compile(r"\bflags? (?:critical )?(high|low|normal)\b", re.I)
_EXISTS = re.compile(
    r"\b(?:present|seen|visible|evident|detected|found|flagged|shown?|shows|confirm\w*|evidence of|"
    r"there (?:is|are|was|were)|vorhanden|sichtbar|erkennbar|nachweisbar|zeigt|gefunden|markiert|"
    r"liegt(?! (?:[\w-]+ ){0,4}bei)|findet|besteht)\b",
    re.IGNORECASE,
)
_STATE = re.compile(
    r"\b(?:appears?|looks?|remains?|(?:is|are) (?:in the )?midline|well[ -]expanded|erscheint|"
    r"wirkt|mittelständig|symmetri\w+)\b",
    re.IGNORECASE,
)
"""Words of sentences that tell the state of an organ."""
_COURSE = re.compile(
    r"\b(?:from|von)\s+(?P<first>\d+(?:[.,]\d+)?)[^.;]{0,40}?\s(?:to|auf)\s+(?P<last>\d+(?:[.,]\d+)?)",
    re.IGNORECASE,
)
_UP = re.compile(
    r"\b(?:rose|rising|risen|doubl\w*|increas\w*|grew|grown|gestiegen|stieg|zugenommen)\b", re.I
)
_DOWN = re.compile(
    r"\b(?:fell|falling|fallen|halv\w*|decreas\w*|dropped|declin\w*|shrank|shrunk|gefallen|fiel|sank|gesunken|"
    r"abgenommen)\b",
    re.IGNORECASE,
)
_GONE = re.compile(
    r"\b(?:resolved|gone|disappeared|smaller|lower|less|improved|cleared|verschwunden|kleiner|niedriger"
    r"|zurückgegangen|gebessert)\b",
    re.IGNORECASE,
)
_STAYS = re.compile(
    r"\b(?:unchanged|stable|no change|unverändert\w*|gleich geblieben|stabil)\b", re.I
)
_NO_TREND = re.compile(r"\b(?:not|nicht|no longer|\w+n['’]t)\b", re.IGNORECASE)
_CLAUSE = re.compile(
    r"[.;!?\n|](?=\s|$)|\s[-\u2013]\s|\(|\)"
    r"|\b(?:but|however|although|though|except|while|whereas|aber|jedoch|obwohl|sondern|während)\b"
    r"|,\s*(?=(?:and\s+|und\s+)?(?:there\s+(?:is|are)|an?|the|with|small|mild|moderate|large|severe|"
    r"der|die|das|ein|eine|mit|no|without|kein\w*|ohne|which|who|so|because|since|suggesting|"
    r"indicating|was|weil|da|sodass)\b)"
    r"|\b(?:and|und)\s+(?=(?:there|no|without|kein\w*|ohne|the|der|die|das|es)\b)",
    re.IGNORECASE,
)
_WORD = re.compile(r"[^\W\d_]+(?:['’]t)?")
_HEDGED = re.compile(
    r"\b(?:may|might|possibl\w*|suspect\w*|suspicio\w*|"
    r"question\w*|whether|(?<!as )if|uncertain|unclear|undecided|borderline|cannot|can['’]?t|could|"
    r"versus|vs|doubt\w*|reliab\w*|unreliab\w*|not\s+(?:\w+\s+)?(?:excluded|ruled|decid\w+|sure|"
    r"only|just|looked|assess\w*|examin\w*|check\w*|measur\w*|cover\w*|evaluat\w*|available)|"
    r"möglich\w*|vielleicht|fraglich\w*|verdacht\w*|unsicher\w*|unklar\w*|ob|"
    r"könnte\w*|kann|nicht\s+(?:\w+\s+)?(?:ausgeschlossen|auszuschließen|sicher|nur|beurteil\w*|"
    r"untersuch\w*|geprüft|gemessen)|sicher\s+(?:\w+\s+){1,6}nicht)\b|\?",
    re.IGNORECASE,
)
_GENERAL = re.compile(
    r"\b(?:usually|typically|generally|commonly|often|in adults|by definition|means|refers to|"
    r"üblicherweise|meist|meistens|oft|häufig|bei erwachsenen)\b",
    re.IGNORECASE,
)
_LESS = r"(?:less|lower|smaller|fewer|narrower|shorter|thinner|weaker|kleiner|niedriger|weniger)"
_THAN = r"\s+(?:\([^()]*\)\s+)?(?:than|als)"
_MORE = re.compile(
    rf"\b(?P<less>below|under|{_LESS}{_THAN}|unterhalb(?:\s+von)?|unter)"
    r"|\b(?P<more>above|over|exceed(?:s|ed|ing)?|outnumbers?"
    rf"|(?:(?!rather|other)\w+er|more(?: likely| probable)?|mehr|wahrscheinlicher){_THAN}"
    rf"|oberhalb(?:\s+von)?|über"
    r"|(?:twice|double|two times|three times) (?:as (?:large|big|high|likely) as|the (?:size"
    r"|area) of)"
    r"|(?:doppelt|dreimal) so (?:groß|hoch) wie)",
    re.IGNORECASE,
)
_COUNTS = ("count", "number", "n", "num", "total", "anzahl", "zahl")
"""Parts of keys whose number counts what the rest names."""
_ENDINGS = (
    *("ements", "ement", "ments", "ment", "ations", "ation", "ated", "ings", "ing", "ern", "ed"),
    *("ische", "isch", "eal", "ical", "ous", "ien", "ies", "ary", "al", "ic", "ie", "us", "um"),
    *("en", "er", "em", "es", "y", "e", "n", "s", "a"),
)
_SPELT = str.maketrans("kzKZ", "ccCC")
"""German letters of Latin words, which are compared as the English ones: "Hydrozephalus"."""
_FALSE = ("no", "none", "absent", "negative", "nein", "kein", "keine", "not found")
_TRUE = ("yes", "present", "positive", "ja", "vorhanden", "found")
_THERE = ("present", "detected", "found", "flagged", "positive", "visible", "seen")
_IS_THERE = re.compile(
    r"\b(?:found|flagged|present|detected|positive|visible|seen):? (yes|no|true|false)\b",
    re.IGNORECASE,
)
_SHARE = re.compile(
    r"(?<!not )(?<!nicht )(?<![\d.,])(?P<part>\d+)\s+(?:out of|of|von|der)(?:\s+(?:the|all|den"
    r"|die|der|insgesamt))*\s+(?P<whole>\d+)\b"
    r"(?=[^.;]*\b(?:flagged|found|above|exceed\w*|reach\w*|cross\w*|positive|markiert|auffällig|gefunden|über"
    r"|erreich\w*))"
    r"(?![^.;]*\b(?:not|\w+n['’]t|unflagged|nicht|below|under|unter))",
    re.IGNORECASE,
)
_FLAGGED_COUNT = re.compile(
    r"(?<!of )(?<!of the )(?<![\d.,])(\d+) labels? (?:reach\w*|cross\w*|exceed\w*|(?:is|are|was"
    r"|were) (?:flagged|above))"
    r"|(?<!von )(?<![\d.,])(\d+) labels? (?:erreich\w*|überschreit\w*|(?:ist|sind"
    r"|wurden) markiert)",
    re.IGNORECASE,
)
_SHARE_BEFORE = re.compile(
    r"\b(?:out of|of|von)(?:\s+(?:the|all|den))*\s+(?P<whole>\d+)\s+(?:labels?|findings?"
    r"|befunden?|scores?)\b"
    r"[^.;\d]{0,20}?(?P<part>\d+)\s+(?:is|are|was|were|ist|sind|wurden?)\s+(?:flagged|found|positive|markiert|auffällig)",
    re.IGNORECASE,
)
"""As in "of the five labels, three are flagged"."""
_ALL_NORMAL = re.compile(
    r"(?:there (?:is|are) |es (?:besteht|bestehen) |(?:impression|beurteilung): )?"
    r"(?:no (?:acute |significant )?(?:disease|abnormalit(?:y|ies)|findings?|pathology)"
    r"(?: (?:is|are) (?:seen|found))?"
    r"|(?:a )?(?:normal|unremarkable|unauffällige[rs]?)"
    r" (?:chest|study|examination|film|radiograph|befund|aufnahme)"
    r"|keine? (?:akuten? )?(?:auffälligkeit(?:en)?|pathologien?))",
    re.IGNORECASE,
)
"""Sentences that call everything normal."""
_TAKES = re.compile(
    r"\b(?:takes?|taking|is on|receives?|prescribed|nimmt|bekommt|erhält)\b", re.IGNORECASE
)
_ALLERGY_TO = re.compile(
    r"\ballerg\w+\W+(?:\w+\s+)?(?:to|against|gegen|auf)\s+((?:(?!(?:is|are|was|ist|war)\b)\w+\s*){1,2})",
    re.IGNORECASE,
)
_ALLERGY_OF = re.compile(r"\b(\w{3,}?)[\s-]?allerg(?:y|ies|ien?)\b", re.IGNORECASE)
_MEASURED = re.compile(
    r"\b(?:count|share|volume|area|diameter|length|width|thickness|size|positive)\b", re.IGNORECASE
)
_ORDINALS = (
    *(("first", "erste"), ("second", "zweite"), ("third", "dritte"), ("fourth", "vierte")),
    *(("fifth", "fünfte"), ("sixth", "sechste"), ("seventh", "siebte", "siebente")),
    *(("eighth", "achte"), ("ninth", "neunte"), ("tenth", "zehnte"), ("eleventh", "elfte")),
    ("twelfth", "zwölfte"),
)
_ORDINAL_WORDS = "|".join(word for words in _ORDINALS for word in words)
_ORDINAL = re.compile(
    rf"(?<![\w.])(?:(?P<digits>\d{{1,2}})(?:st|nd|rd|th|\.)|(?P<word>{_ORDINAL_WORDS})[rnms]?)(?!\w)",
    re.IGNORECASE,
)
_COUNTED = re.compile(
    r"(?:\s{0,3}(?:,|/|-|and|und|to|bis|or|oder)\s{0,3}"
    rf"(?:\d{{1,2}}(?:st|nd|rd|th|\.)|(?:{_ORDINAL_WORDS})[rnms]?)){{0,5}}\s+(?P<noun>[^\W\d_]{{3,}})",
    re.IGNORECASE,
)
"""The noun that an ordinal number counts, behind other ordinals: "7th and 9th ribs"."""
_LEGEND = re.compile(r"\b(?:scores?|labels?|thresholds?|boxes|pixels?)\b", re.IGNORECASE)
"""Words of notes on how the numbers of a result are to be read."""
_OF_FIGURE = re.compile(
    r"scores?|values?|werte?|with|mit|at|bei|of|from|on|in|the|der|die|das|vom|von|prior|previous|current"
    r"|film|image|radiograph|aufnahme|voraufnahme|today|heute|then|damals|now|jetzt"
)
"""Words beside a name and its figure that say no more."""
_OF_SCORE = re.compile(
    r"\bscor\w+|\bwert\b|\b(?:came?|comes|kam|kommt)(?: \w+){0,6} (?:(?:out )?at|to|auf)\b"
    r"|\b(?:lie(?:gt|gen)|lag(?:en)?|steht|stand|stood|stands|sits?|lay) (?:\w+ )?(?:bei|at)\b",
    re.IGNORECASE,
)
_RATIO = re.compile(r"\bcardio-?thoracic ratio\b|\bCTR\b|\bherz-?thorax-?quotient", re.IGNORECASE)
_NORMAL_RATIO = 0.5
"""The largest normal cardiothoracic ratio of an adult (Danzer 1919, Am J Med Sci 157: 513)."""
_ENLARGED = re.compile(r"\b(?:enlarged|increased|raised|vergrößert|erhöht)\b", re.IGNORECASE)
_DENIED = re.compile(
    r"\b(?:not|no|nor|neither|nicht|kein\w*|above|over|exceed\w*|über|oberhalb)\b", re.IGNORECASE
)
_CUT = ("ectom", "ectomi")  # of stems of operations
_SAYS = ("impression", "finding", "findings", "conclusion", "report", "text", "response", "answer")
_ABNORMAL = "~abnormal"
_TOGETHER = re.compile(
    r"\b(?:interact\w*|together|combin\w*|wechselwirk\w*|zusammen\w*|kombin\w*)\b", re.IGNORECASE
)
_CLASS = re.compile(r"\b([^\W\d_]{4,}) ([A-F])\b(?!\s+[a-z])")  # "Child-Pugh B"
_PLACES = frozenset(("upper", "lower", "middl", "cone", "lobe", "field", "side"))
"""Stems of words for a part of an organ, whatever is there."""
_STOPPED = (0, 1)  # of OPPOSITES: what was stopped, against what is taken now
_COUNTER = {"hyper": "hypo", "hypo": "hyper", "tachy": "brady", "brady": "tachy"}
_SHORT = 4  # words of a part of a list, for which the verb before it holds
_LONG = 6  # letters of a word that compounds are taken apart for
_MOST = 400  # facts of one result
_CHARS = 20_000  # of one text
_ENOUGH = 0.6  # share of a sentence's words that a result must have to contradict it
_FIGURE = 5  # words that a figure which agrees counts for


FINDING = "xfindingx"
"""Stands in a text for the finding of which it is asked; see `sentence_reader`."""
PRESENT, ABSENT, NEITHER = "P", "A", "N"
Presence = Callable[[str], Mapping[str, float]]
"""Returns how likely a text with `FINDING` in it says that it is there, that it is not, neither."""
_SURE, _PLAIN, _DOUBTED = 0.7, 0.75, 0.25
"""Probabilities from which `Presence` is believed, is believed beside words of doubt, and up to
which it refutes what rules read."""
_BARE = 3  # letters beside a finding that say too little
_MOST_ASKED = 12  # findings of one sentence that are read by `Presence`
AROUND = 300
"""Characters before and after a finding that are read."""


@dataclass(frozen=True, slots=True)
class Fact:
    """One thing that a text says: its words, which of them it denies, its sides and figures."""

    text: str
    words: frozenset[str] = frozenset()
    denied: frozenset[str] = frozenset()
    sides: frozenset[str] = frozenset()
    values: tuple[float, ...] = ()
    asserts: bool = True  # else it names or measures something, there or not


@dataclass(frozen=True, slots=True)
class Facts:
    """The statements of one result.

    `named` are its numbers with the words of their names, `listed` the words of each of its items.
    """

    said: tuple[Fact, ...] = ()
    named: tuple[tuple[frozenset[str], float, str], ...] = field(default=())
    listed: tuple[frozenset[str], ...] = ()


def facts_of(data: Mapping[str, Any]) -> Facts:
    """Return what a result says; `data` has "summary", "output" and "items" (`Message.data`)."""
    items = cast("Mapping[str, str]", data.get("items") or {})
    named_so = [text for text in items.values() if not re.fullmatch(ENTRY_ID, text)]
    said = item_facts(named_so)
    named: list[tuple[frozenset[str], float, str]] = []
    for text in _sentences_of(data.get("summary")):
        said += read(text)
    for path, value in _leaves(data.get("output") or {}):
        key = " ".join(path).replace("_", " ")
        if path[-1:] == ("note",) and isinstance(value, str):
            if not _LEGEND.search(value):  # it says what the result is, and not what it shows
                facts = (fact for text in _sentences_of(value) for fact in read(text))
                said += [replace(fact, asserts=False) for fact in facts]
            continue
        if isinstance(value, bool):
            fact = _about(key)
            said.append(fact if value else replace(fact, denied=fact.words, text=f"{key}: no"))
        elif isinstance(value, int | float):
            counts = any(part in _COUNTS for part in key.casefold().split())
            words = [part for part in key.split() if part.casefold() not in _COUNTS]
            fact = _about(" ".join(words) if counts else key)
            named.append((fact.words, float(value), key))
            denied = fact.words if counts and not value else _NONE
            text = f"{key} {value:.6g}"
            values = (float(value),)
            said.append(replace(fact, text=text, values=values, denied=denied, asserts=counts))
        elif value.casefold().strip(". ") in (*_FALSE, *_TRUE):
            fact = _about(key)
            no = value.casefold().strip(". ") in _FALSE
            said.append(replace(fact, text=f"{key}: {value}", denied=fact.words if no else _NONE))
        elif len(value.split()) <= 4:
            said += _short(key, value)
        else:
            said += [fact for text in _sentences_of(value) for fact in read(text)]
        if len(said) > _MOST:
            break
    output = data.get("output") or {}
    said += _rows(output)
    said += [
        _about(key.replace("_", " "))
        for key, one in output.items()
        if one and isinstance(one, list)
    ]
    listed = tuple(_row(text).words for text in items.values())
    return Facts(tuple(said[: 2 * _MOST]), tuple(named[:_MOST]), listed)


def item_facts(texts: Sequence[str]) -> list[Fact]:
    """Return what the texts of a result's items say: numbers name and measure, others assert."""
    facts: list[Fact] = []
    for text in texts:
        there = _IS_THERE.search(text)
        row = _row(_IS_THERE.sub(" ", text).replace(",", " "))
        if there is not None:
            absent = there[1].casefold() in ("no", "false")
            facts.append(replace(row, denied=row.words if absent else _NONE))
        elif row.values:
            # What has a size is there.
            there = bool(row.denied or (_MEASURED.search(text) and any(row.values)))
            there = there or not row.words.isdisjoint(drug_concepts())  # with its dose
            facts.append(replace(row, asserts=there))
        else:
            facts += [replace(fact, sides=fact.sides or row.sides) for fact in read(text)]
    return facts


def _short(key: str, value: str) -> list[Fact]:
    """Return what a short text says under its key: a finding's name alone says not that it is."""
    facts = list(read(f"{key} {value}"))
    told = any(fact.denied for fact in facts) or any(
        any(_judged(word[0])) for word in _WORD.finditer(value)
    )
    told = told or bool(concepts_of(key)) or key.split()[-1].casefold() in _SAYS
    return facts if told else [replace(fact, asserts=False) for fact in facts]


_NONE: frozenset[str] = frozenset()


@lru_cache(maxsize=1024)
def read(text: str) -> tuple[Fact, ...]:
    """Return what a text says, clause by clause."""
    for pattern, word in _PHRASES:
        text = pattern.sub(word, text)
    at = 0
    told: list[Fact] = []
    for cut in (*_CLAUSE.finditer(text), None):
        clause = text[at : cut.start() if cut else len(text)]
        at = cut.end() if cut else at
        fact = _clause(clause)
        if fact.words or fact.sides:
            asserts = not (_HEDGED.search(clause) or _GENERAL.search(text))
            told.append(replace(fact, asserts=asserts))
    return tuple(told)


def _about(key: str) -> Fact:
    return _clause(re.sub(r"(?<=[a-z])(?=[A-Z])", " ", key))


@lru_cache(maxsize=1024)
def _row(text: str) -> Fact:
    """Return a table's row, or a record of several fields, as one fact."""
    facts = read(text)
    words = frozenset[str]().union(*(fact.words for fact in facts))
    denied = frozenset[str]().union(*(fact.denied for fact in facts))
    sides = frozenset[str]().union(*(fact.sides for fact in facts))
    return Fact(text, words, denied, sides, _figures(text))


@lru_cache(maxsize=1024)
def _clause(clause: str) -> Fact:
    words: set[str] = set()
    denied: set[str] = set()
    for word, concept, no in _denials(clause):
        stems = {concept} if concept else {stem(word)}
        stems |= _implied().get(concept, _NONE)
        normal, abnormal = _judged(word)
        if normal:
            stems, no = {_ABNORMAL}, not no
        elif abnormal or concept.startswith("F"):
            stems.add(_ABNORMAL)
        words |= stems
        if no:
            denied |= stems
    return Fact(
        " ".join(clause.split()),
        frozenset(words),
        frozenset(denied),
        sides_of(clause),
        _figures(clause),
    )


def _figures(text: str) -> tuple[float, ...]:
    return tuple(dict.fromkeys(value_of(one)[0] for one in NUMBER.finditer(text)))


def sides_of(text: str) -> frozenset[str]:
    """Return which of "left" and "right" a text names; both for "bilateral" and the like.

    The right half of the image is no side of the patient.
    """
    text = _OF_IMAGE.sub(" ", text)
    named = frozenset(side for side, pattern in _SIDES.items() if pattern.search(text))
    both = _BOTH.search(text)
    if both is None or (len(named) == 1 and not re.fullmatch(_BILATERAL, both[0], re.I)):
        return named  # "both nodules are in the left lung"
    return frozenset(_SIDES)


def _denials(clause: str) -> Iterator[tuple[str, str, bool]]:
    """Yield the words of a clause that tell something: (word, concept or "", whether denied)."""
    found = [*_WORD.finditer(clause)]
    low = [one[0].casefold() for one in found]
    concepts = _concepts_in(clause)
    predicate = next((i for i, word in enumerate(low) if word in _words("NOT")), -1)
    if predicate < 0:
        predicate = next((i for i, w in enumerate(low) if w.endswith(("n't", "n’t"))), -1)
    empty = _words("NOISE") | _words("VERBS") | _words("OPEN")
    passed = _words("OPEN") | _words("VERBS") | {"both", "beide", "beiden", "either"}
    behind = [word for word in low[predicate + 1 :] if word not in passed]
    existence = predicate >= 0 and (not behind or behind[0] in _words("NOISE"))
    if predicate < 0 and low and low[-1] in _words("NO"):  # "effusion: no"
        existence, predicate = True, len(low)
    after_no = named = False
    for place, word in enumerate(low):
        if word in _words("NO"):
            after_no, named = True, False
            continue
        if word in _words("VERBS") and named:  # but "neither image has an effusion"
            after_no = False
        if word in _words("NOT") | empty or len(word) < 3 or word.endswith(("n't", "n’t")):
            continue
        if any(pattern.fullmatch(word) for pattern in _SIDES.values()) or _BOTH.fullmatch(word):
            continue
        named = True
        no = after_no or (predicate >= 0 and (place > predicate or existence))
        yield word, concepts.get(found[place].start(), ""), no


def stem(word: str) -> str:
    """Return a word without its ending, in lower case and without umlauts."""
    low = word.casefold().translate(_SPELT).replace("ä", "ae").replace("ö", "oe")
    low = low.replace("ü", "ue").replace("ß", "ss")
    for _ in range(2):
        ending = next(
            (end for end in _ENDINGS if low.endswith(end) and len(low) - len(end) > 3), ""
        )
        low = low[: len(low) - len(ending)]
    return low


# -- comparison


def contradiction(
    sentence: str,
    facts: Sequence[tuple[int, Facts]],
    *,
    cited: bool = False,
    presence: Presence | None = None,
) -> str:
    """Return what results say against a sentence, as "result 1 says ..."; "" for nothing.

    `facts` are those of the results that the sentence cites (`cited`), or of all that it may rest
    on, by their number. What one of them supports, another does not contradict. What the sentence
    says of a finding is read by `presence`, where that is sure, and else by rules.
    """
    told = [(number, fact) for number, one in facts for fact in one.said]
    for clause in _parts(sentence):
        named = {one for one in clause.words if one[0] == "F"}
        if named and named <= clause.denied:
            continue  # "on the right there is no effusion"
        if why := _side_against(clause, told, both=cited):
            return why
    if cited and (
        why := _opposite_against(sentence, told)
        or _object_against(sentence, told)
        or _ordinal_against(sentence, told)
        or _allergy_against(sentence, told)
        or _pair_against(sentence, told)
        or _grade_against(sentence, told)
    ):
        return why
    figures = _figures(sentence)
    clauses = [*_clauses(sentence, presence)]
    in_row = {word for one, _ in clauses for word in one.denied} if "|" in sentence else set[str]()
    for clause, sure in clauses:
        concepts = {word for word in clause.words if word[0] in "FC"}
        if not clause.asserts or (concepts and concepts <= in_row - clause.denied):
            continue  # "| Effusion | effusion not flagged |"
        # "The effusion score was 0.12" says what was measured.
        measures = _only_names(clause.text) or _OF_SCORE.search(clause.text)
        tells = (sure and not (figures and measures)) or clause.denied
        tells = tells or _EXISTS.search(sentence if "|" in sentence else clause.text)
        # A figure alone is told of what is there and of what is not.
        if why := _denial_against(clause, told, () if tells else figures, cited=cited):
            return why
    return "" if _HEDGED.search(sentence) else _comparison_against(sentence, facts)


def _only_names(text: str) -> bool:
    """Return whether a clause only names findings with figures: "prior film: effusion 0.12"."""
    for start, (_concept, end) in _named_in(text).items():
        text = f"{text[:start]}{' ' * (end - start)}{text[end:]}"
    said = [one[0].casefold() for one in _WORD.finditer(text) if one[0].isalpha()]
    return NUMBER.search(text) is not None and all(map(_OF_FIGURE.fullmatch, said))


def _clauses(sentence: str, presence: Presence | None) -> Iterator[tuple[Fact, bool]]:
    """Yield what a sentence says by clauses, and whether it surely says that a finding is there."""
    left = [
        (start, end, concept)
        for start, (concept, end) in sorted(_named_in(sentence).items())
        if concept[0] in "FC"
    ]
    asked = 0
    for clause in read(sentence):
        words, denied = clause.words, clause.denied
        sure = doubtful = plain = False
        for concept in sorted(one for one in clause.words if one[0] in "FC"):
            place = next((one for one in left if one[2] == concept), None)
            if place is None or presence is None or concept in _kinds_of_drugs():
                continue
            left.remove(place)
            asked += 1
            if len(sentence) - (place[1] - place[0]) < _BARE or asked > _MOST_ASKED:
                continue
            before = sentence[max(0, place[0] - AROUND) : place[0]]
            chances = presence(f"{before}{FINDING}{sentence[place[1] : place[1] + AROUND]}")
            says, chance = max(chances.items(), key=lambda one: one[1])
            if chance < _SURE:
                if chances[ABSENT if concept in denied else PRESENT] > _DOUBTED:
                    continue
                says = NEITHER  # what the rules read is unlikely, and nothing else is sure
            group = {concept} | _implied().get(concept, _NONE)
            plain = plain or (chance >= _PLAIN and says != NEITHER)
            if says == NEITHER:
                words, denied, doubtful = words - group, denied - group, True
            else:
                sure = True
                denied = denied | group if says == ABSENT else denied - group
        others = {one for one in words if one[0] in "FC"}
        if words != clause.words or denied != clause.denied:
            if others or doubtful:
                absent = bool(others) and others <= denied
                words, denied = words - {_ABNORMAL}, denied - {_ABNORMAL}
                words |= {_ABNORMAL} if others else _NONE
                denied |= {_ABNORMAL} if absent else _NONE
            asserts = clause.asserts and (bool(others) or not doubtful)
            clause = replace(clause, words=words, denied=denied, asserts=asserts)
        yield clause, sure


def _parts(sentence: str) -> Iterator[Fact]:
    """Yield the parts of a sentence that name one side each, with the words that they share."""
    sentence = _OF_IMAGE.sub(" ", sentence)
    whole = _row(sentence)
    pieces = re.split(r"[,;:()]|\b(?:and|und|while|whereas|während|but|aber)\b", sentence)
    sided = [piece for piece in pieces if sides_of(piece)]
    if len(whole.sides) == 1 or _BOTH.search(sentence):
        yield whole
        return
    for piece in sided:
        part = _row(piece)
        if len(part.sides) == 1:
            organs = frozenset(word for word in whole.words if word.startswith("O"))
            yield replace(part, words=part.words or organs)


def _side_against(part: Fact, told: Sequence[tuple[int, Fact]], *, both: bool) -> str:
    """Return what results say of the other side than a part of a sentence does; "" for nothing.

    With `both`, also where the sentence says both sides and they say one.
    """
    if not part.sides or (len(part.sides) > 1 and not both):
        return ""
    best, found = 0, list[tuple[int, Fact]]()
    for number, fact in told:
        alike = len(((part.words - {_ABNORMAL}) & fact.words) - _PLACES)
        if part.values and any(_near(value, fact.values) for value in part.values):
            alike += _FIGURE
        if not alike or not fact.sides:
            continue
        if alike > best:
            best, found = alike, []
        if alike == best:
            found.append((number, fact))
    if not found:
        sides = frozenset[str]().union(*(fact.sides for _, fact in told))
        found = [(number, fact) for number, fact in told if fact.sides == sides]
        if len(sides) != 1 or not part.words:
            return ""
    sides = frozenset[str]().union(*(fact.sides for _, fact in found))
    if both and len(part.sides) == 1 and _BOTH.search(part.text):
        found = [(number, fact) for number, fact in found if not part.sides <= fact.sides]
    elif part.sides <= sides:
        found = []
    if not found or not sides:
        return ""
    number, fact = found[0]
    return f"result {number} says {' and '.join(sorted(fact.sides))}: {fact.text[:90]}"


def _opposite_against(sentence: str, told: Sequence[tuple[int, Fact]]) -> str:
    """Return what results call large, lower or temporal, and a sentence small, upper or frontal."""
    last = dict[int, set[tuple[int, int]]]()
    for part in re.split(r"[,;:()]|\b(?:and|und)\b", sentence):
        named = {stem(word[0]) for word in _WORD.finditer(part) if _attributes(word[0])}
        words = (_row(part).words or _row(sentence).words) - {_ABNORMAL} - _generic() - named
        said = _attributes(part)
        own = {group: {one for one in said if one[0] == group} for group, _ in said}
        # "Is taking aspirin, warfarin and insulin"
        last = {**last, **own} if len(part.split()) <= _SHORT else own
        for group, meant in last.items():
            placed = [
                (len(words & fact.words), number, fact)
                for number, fact in told
                if any(one[0] == group for one in _attributes(fact.text))
            ]
            most = max((alike for alike, _, _ in placed), default=0)
            best = [(number, fact) for alike, number, fact in placed if alike == most > 0]
            if best and not any(meant & _attributes(fact.text) for _, fact in best):
                return f"result {best[0][0]} says: {best[0][1].text[:90]}"
    return _counter_against(sentence, told)


def _allergy_against(sentence: str, told: Sequence[tuple[int, Fact]]) -> str:
    """Return the allergy to what a sentence says is taken."""
    if not _TAKES.search(sentence) or "allerg" in sentence.casefold():
        return ""
    drugs = {one for one in _row(sentence).words if is_drug(one)}
    for number, fact in told:
        if "allerg" in fact.text.casefold() and drugs & fact.words:
            return f"result {number} says: {fact.text[:90]}"
    return ""


def _ordinal_against(sentence: str, told: Sequence[tuple[int, Fact]]) -> str:
    """Return what results number differently than a sentence: the seventh, not the ninth rib."""
    said = _ordinals(sentence)
    for number, fact in told:
        for noun, places in _ordinals(fact.text).items():
            if said.get(noun, places).isdisjoint(places):
                return f"result {number} says number {min(places)}: {fact.text[:80]}"
    return ""


def _ordinals(text: str) -> Mapping[str, set[int]]:
    """Return the ordinal numbers before each organ of a text: the seventh rib."""
    found: dict[str, set[int]] = {}
    for one in _ORDINAL.finditer(text):
        noun = _COUNTED.match(text, one.end())
        if noun is None:
            continue
        if one["digits"] is not None:
            place = int(one["digits"])
        else:
            low = one["word"].casefold()
            place = next((i for i, w in enumerate(_ORDINALS, start=1) if low.startswith(w)), 0)
        for organ in organs_in(noun["noun"]):
            found.setdefault(organ, set()).add(place)
    return found


def _counter_against(sentence: str, told: Sequence[tuple[int, Fact]]) -> str:
    """Return what results call hyper- or B, if a sentence says hypo- or C of the same."""
    said = {word[0].casefold() for word in _WORD.finditer(sentence)}
    classes = dict(_CLASS.findall(sentence))
    for number, fact in told:
        if any(classes.get(name, one) != one for name, one in _CLASS.findall(fact.text)):
            return f"result {number} says: {fact.text[:90]}"
        for word in _WORD.finditer(fact.text):
            low = word[0].casefold()
            start = next((start for start in _COUNTER if low.startswith(start)), "")
            if start and low not in said and _COUNTER[start] + low[len(start) :] in said:
                return f"result {number} says: {fact.text[:90]}"
    return ""


def _opposed(text: str, other: str) -> bool:
    """Return whether two texts name opposites, such as medial and lateral."""
    said, told = _attributes(text), _attributes(other)
    groups = {group for group, _ in said} & {group for group, _ in told}
    return any(not any(one in told for one in said if one[0] == group) for group in groups)


@lru_cache(maxsize=1024)
def _attributes(text: str) -> frozenset[tuple[int, int]]:
    """Return the attributes that a text names: (group, which of the group's opposites)."""
    tokens = tokens_of(text.translate(_SPELT))
    terms = [set(one.positions) for one in _vocabulary().find(tokens) if len(one.positions) > 1]
    groups = [
        tuple(map(int, one.owner.split()))
        for one in _opposites().find(tokens)
        if not any(term >= set(one.positions) for term in terms)  # "small bowel"
    ]
    return frozenset((group, which) for group, which in groups)


@lru_cache(maxsize=1)
def _opposites() -> Vocabulary:
    return Vocabulary(
        (f"{group} {which}", word.translate(_SPELT))
        for group, line in enumerate(word_lists("statements")["OPPOSITES"].splitlines())
        for which, words in enumerate(line.split("|"))
        for word in phrases(words)
    )


def _object_against(sentence: str, told: Sequence[tuple[int, Fact]]) -> str:
    """Return what results call an allergy to something else than a sentence does."""
    of = _objects(sentence)
    alike = [(n, fact) for n, fact in told if re.search("allerg", fact.text, re.I)]
    if not of or any(of & _stems(fact.text) for _, fact in alike) or _row(sentence).denied:
        return ""
    return next((f"result {number} says: {fact.text[:90]}" for number, fact in alike), "")


def _pair_against(sentence: str, told: Sequence[tuple[int, Fact]]) -> str:
    """Return which drugs results tell together, if a sentence tells others so; "" for none."""
    row = _row(sentence)
    drugs = {word for word in row.words if word in drug_concepts()}
    if len(drugs) < 2 or row.denied or not _TOGETHER.search(sentence):
        return ""
    pairs = [(n, fact) for n, fact in told if len(fact.words & drug_concepts()) > 1]
    if not pairs or any(drugs <= fact.words for _, fact in pairs):
        return ""
    return f"result {pairs[0][0]} says: {pairs[0][1].text[:90]}"


def _grade_against(sentence: str, told: Sequence[tuple[int, Fact]]) -> str:
    """Return the flag of a value that a sentence calls high, low or normal, and that is not."""
    part = _row(sentence)
    said = {grade for grade, pattern in _GRADE.items() if pattern.search(sentence)}
    if not said and any(_judged(word[0])[1] for word in _WORD.finditer(sentence)):
        said = {"high", "low"}  # "impaired": anything but normal
    elif len(said) != 1:
        return ""
    words = _GRADES[next(iter(said))]
    denied = bool(re.search(rf"\b(?:not|nicht|no)\s+(?:\w+\s+)?(?:{words})\b", sentence, re.I))
    if part.denied - {_ABNORMAL} and not denied:
        return ""
    graded = [
        (
            len(part.words & fact.words - {_ABNORMAL})
            + _FIGURE * any(_near(value, fact.values) for value in part.values),
            number,
            found[1].casefold(),
            fact,
        )
        for number, fact in told
        if (found := _FLAG.search(fact.text))
    ]
    alike = [one for one in graded if one[0] == max(one[0] for one in graded) > 0]
    if not alike and len(graded) == 1 and not part.values:
        alike = graded  # "Kalium", and the result's "potassium"
    agrees = bool(said & {grade for _, _, grade, _ in alike})
    if not alike or agrees != denied or (denied and len(alike) > 1):
        return ""
    return f"result {alike[0][1]} says: {alike[0][3].text[:90]}"


def order_against(sentence: str, items: Mapping[str, str]) -> str:
    """Return what a sentence calls larger or smaller than another, and that is not; "" for none.

    `items` are the texts of the items that it cites, by their ids.
    """
    course = _COURSE.search(sentence)
    rises, falls = bool(_UP.search(sentence)), bool(_DOWN.search(sentence))
    if course is not None and rises != falls and not _HEDGED.search(sentence):
        first, last = (float(course[key].replace(",", ".")) for key in ("first", "last"))
        if first > last if rises else first < last:
            return f"{course['first']} to {course['last']} is a {'fall' if rises else 'rise'}"
    told = [(text, _row(text)) for text in items.values()]
    told = [one for one in told if len(one[1].values) == 1]
    for found in _MORE.finditer(sentence):
        if re.match(rf"\s+{_LIMIT}", sentence[found.end() :], re.IGNORECASE):
            continue  # "A is below the threshold with 0.38, B with 0.04"
        one = _meant(sentence[: found.start()], told)
        other = _meant(sentence[found.end() :], told)
        if not one or not other or one is other or _unit(one[0]) != _unit(other[0]):
            continue
        value, limit = one[1].values[0], other[1].values[0]
        denied = bool(re.search(r"\b(?:not|nicht)\s+\w*\s*$", sentence[: found.start()]))
        if value != limit and (value > limit) != bool(found["more"]) and not denied:
            return f"{one[0]}; {other[0]}"
    return ""


def trend_against(sentence: str, now: Mapping[str, str], cited: Mapping[str, str]) -> str:
    """Return what items of two images give, where a sentence tells another change; "" for none.

    `now` are those of the image that is asked about, of all that it cites, by their ids.
    """
    before = [text for key, text in cited.items() if key not in now]
    if len(now) != 1 or len(before) != 1 or _HEDGED.search(sentence) or _NO_TREND.search(sentence):
        return ""
    texts = next(iter(now.values())), before[0]
    last, first = (item_facts([text])[0].values for text in texts)
    names = {text.partition(",")[0] for text in texts}
    if len(last) != 1 or len(first) != 1 or len(names) > 1:
        return ""
    rises = bool(_UP.search(sentence))
    falls = bool(_DOWN.search(sentence) or _GONE.search(sentence))
    wrong = (rises and not falls and last < first) or (falls and not rises and last > first)
    flags = {found[1].casefold() for found in map(_IS_THERE.search, texts) if found}
    wrong = wrong or (_STAYS.search(sentence) is not None and len(flags) > 1)
    if course := _COURSE.search(sentence):
        begins = float(course["first"].replace(",", "."))
        wrong = wrong or (_near(begins, last) and not _near(begins, first))
    return f"{first[0]:g} before; {last[0]:g} now" if wrong else ""


def ratio_against(sentence: str, items: Mapping[str, str]) -> str:
    """Return the cardiothoracic ratio that a sentence calls normal or not, and that is not so.

    `items` are the texts of the items that it cites, by their ids.
    """
    if _DENIED.search(sentence) or _HEDGED.search(sentence):
        return ""
    for key, text in items.items():
        values = _row(text).values
        if not _RATIO.search(text) or len(values) != 1:
            continue
        called = _GRADE["normal"].search(sentence) if values[0] > _NORMAL_RATIO else None
        if called or (values[0] <= _NORMAL_RATIO and _ENLARGED.search(sentence)):
            return f"{key} is {text}"
    return ""


def _unit(text: str) -> str:
    """Return the unit that an item's text ends with, "" if it ends with a number."""
    return text.split()[-1].strip("0123456789.")


def _meant(words: str, told: Sequence[tuple[str, Fact]]) -> tuple[str, Fact] | None:
    """Return the one item that words speak of most; None if there are several or none."""
    part = _row(words)
    score = [len(part.words & fact.words) + 2 * (part.sides == fact.sides) for _, fact in told]
    best = [one for one, alike in zip(told, score, strict=True) if alike == max(score) > 0]
    return best[0] if len(best) == 1 else None


def _denial_against(
    clause: Fact, told: Sequence[tuple[int, Fact]], figures: Sequence[float], *, cited: bool
) -> str:
    """Return what results say where a clause denies it, or the other way; "" for nothing.

    Of a cited result it is enough that it judges the same organ. With `figures`, a clause tells
    what was measured rather than that it is there.
    """
    plain = {word for word in clause.words if not word.startswith("O")}
    agreed = set[tuple[str, object]]()
    against: list[tuple[int, Fact, set[tuple[str, object]]]] = []
    for number, fact in told:
        other_side = clause.sides and fact.sides and clause.sides.isdisjoint(fact.sides)
        if other_side or not fact.asserts or _opposed(clause.text, fact.text):
            continue
        shared = (clause.words & fact.words) - _generic()
        told_words = clause.words - {_ABNORMAL} or clause.words
        most = len(shared - {_ABNORMAL}) >= _ENOUGH * len(told_words)
        organ = most or any(word.startswith("O") for word in shared)
        # That something else is normal says nothing of the heart.
        every = alike = shared & plain if organ else shared & plain - {_ABNORMAL}
        of = _objects(clause.text)
        if (
            clause.denied
            and {one for one in clause.words if one[0] == "C"} - fact.words - _generic()
        ):
            continue  # "no interaction with warfarin"
        if of and of.isdisjoint(_stems(fact.text)):
            continue
        said = _attributes(clause.text)
        when = {one for one in said & _attributes(fact.text) if one[0] == _STOPPED[0]}
        if when and (_STOPPED in said or not clause.denied):
            continue  # both say that a drug was stopped
        if concepts := {word for word in alike if word[0] in "FC"}:
            alike = concepts  # which is what is there or not, rather than the words around it
        measured = bool(figures and fact.values)
        differ = {
            word
            for word in alike
            if not measured and (word in clause.denied) != (word in fact.denied)
        }
        # "Subdural" is not borne out by what is said of bleeding elsewhere.
        own = _attributes(clause.text) & _attributes(fact.text)
        same = {word for word in every if (word in clause.denied) == (word in fact.denied)}
        agreed |= {(word, one) for word in (same | alike) - differ for one in (*own, None)}
        whole = cited and not figures and fact.words - _sizes() <= clause.words
        # What the field has a word for is compared wherever it stands; so is "heart normal".
        bare = organ and not {one for one in clause.words if one != _ABNORMAL and one[0] != "O"}
        cited_so = cited or (bare and bool(clause.denied))
        named = any(word[0] in "FC" for word in differ) or (
            cited_so and organ and _ABNORMAL in differ
        )
        if differ and (named or whole or most):
            against.append(
                (number, fact, {(word, one) for word in differ for one in own or (None,)})
            )
    for number, fact, differing in against:
        if differing.isdisjoint(agreed):
            return f"result {number} says: {fact.text[:90]}"
    return ""


def _comparison_against(sentence: str, facts: Sequence[tuple[int, Facts]]) -> str:
    """Return the number that a sentence calls above or below another, and that is not so."""
    for found in _MORE.finditer(sentence):
        limit = NUMBER.search(re.split(r",(?!\d)|[;()]", sentence[found.end() :])[0])
        if limit is None:
            continue
        before = [*NUMBER.finditer(sentence[: found.start()])]
        denied = bool(re.search(r"\b(?:not|nicht)\s+\w*\s*$", sentence[: found.start()]))
        if before and before[-1]["unit"] == limit["unit"] and not denied:
            own, other = value_of(before[-1])[0], value_of(limit)[0]
            if own != other and (own > other) != bool(found["more"]):
                return f"{before[-1][0]} against {limit[0]}"
            continue
        words = _row(sentence[: found.start()]).words
        named = [
            (number, value, key)
            for number, one in facts
            for name, value, key in one.named
            if name and name <= words
        ]
        if len({value for _, value, _ in named}) != 1:
            continue
        number, value, key = named[0]
        bound = value_of(limit)[0]
        holds = value > bound if found["more"] else value < bound
        if holds == denied and value != bound:
            return f"result {number} says {key} {value:.6g}"
    return ""


def normal_against(sentence: str, facts: Sequence[tuple[int, Facts]]) -> str:
    """Return the finding that results flag, where a sentence calls all normal; "" for none."""
    if not _ALL_NORMAL.fullmatch(sentence.strip(" \n*#->.!:")):
        return ""
    for number, one in facts:
        for fact in one.said:
            found = {word for word in fact.words - fact.denied if word[0] == "F"}
            if fact.asserts and found and _ABNORMAL not in fact.denied:
                return f"result {number} says: {fact.text[:90]}"
    return ""


def miscounted(
    behind: str, count: float, facts: Sequence[tuple[int, Facts]], decimals: int = 0
) -> str:
    """Return how many results count of what stands behind a number; "" if it is that number.

    A number of which a result tells anything under these words is not miscounted; it is rounded
    to `decimals`, -2 for hundreds.
    """
    words = _row(behind).words
    if not words:
        return ""
    slack = 0.5 * 10.0**-decimals if decimals < 0 else 0
    for _, one in facts:
        told = (fact for fact in one.said if any(abs(v - count) <= slack for v in fact.values))
        if any(fact.words & words or not fact.words for fact in told):
            return ""
    for number, one in facts:
        for name, value, key in one.named:
            counted = any(part in _COUNTS for part in key.casefold().split())
            if name and name <= words and (counted or value.is_integer()):
                return f"result {number} says {key} {value:.6g}"
    for number, one in facts:
        alike = sum(words <= item for item in one.listed)
        if 0 < alike < count and not any(count in fact.values for fact in one.said):
            return f"result {number} says there are {alike}"
    return ""


def wrong_share(words: str, items: Iterable[str]) -> str:
    """Return how many of a result's labels are flagged or found, if words tell another share."""
    told = [
        found[1].casefold() in ("yes", "true") for found in map(_IS_THERE.search, items) if found
    ]
    count = _FLAGGED_COUNT.search(words)
    if count is not None and len(told) > 1 and int(count[1] or count[2]) != sum(told):
        return f"{sum(told)} of {len(told)}"
    for found in (*_SHARE.finditer(words), *_SHARE_BEFORE.finditer(words)):
        part, whole = found["part"], found["whole"]
        if int(whole) == len(told) and int(part) != sum(told):
            return f"{sum(told)} of {len(told)}"
    return ""


def opposes(sentence: str, facts: Facts) -> bool:
    """Return whether a sentence says acute where a result says healed, or the like."""
    return bool(_opposite_against(sentence, [(0, fact) for fact in facts.said]))


def denies_anything(text: str) -> bool:
    """Return whether a text denies anything by its words."""
    return any(fact.denied for fact in read(text))


def words_in(text: str) -> frozenset[str]:
    """Return the words of a text that tell something, without their endings."""
    return _row(text).words


def shared(words: str, items: Iterable[str]) -> frozenset[str]:
    """Return what a sentence has of the texts of items: words and numbers."""
    one = _row(words)
    told = [item_facts([item])[0] for item in items]
    values = [value for item in told for value in item.values]
    figures = {f"{value}" for value in one.values if _near(value, values)}
    return (one.words & _NONE.union(*(item.words for item in told)) - {_ABNORMAL}) | figures


def _near(value: float, values: Iterable[float]) -> bool:
    """Return whether one of the values is the one that is written, rounded as it is."""
    decimals = len(f"{value:.9g}".partition(".")[2])
    return any(abs(abs(value) - abs(one)) <= 0.5001 * 10.0**-decimals for one in values)


# -- words of the field


def findings_in(sentence: str) -> dict[int, str]:
    """Return the concepts that a sentence asserts or denies, by the place of their first word.

    They are findings, and organs that are judged ("the spleen is enlarged", "normal").
    """
    judged = bool(_STATE.search(sentence)) or any(
        any(_judged(one[0])) for one in _WORD.finditer(sentence)
    )
    found = _concepts_in(sentence).items()
    return {place: key for place, key in found if judged or not key.startswith("O")}


def names(text: str, place: int, concepts: Collection[str]) -> bool:
    """Return whether the sign at a place of a text is in the name of one of the concepts."""
    return any(
        start <= place < end and concept in concepts
        for start, (concept, end) in _named_in(text).items()
    )


def bears_on(facts: Facts, concept: str, words: str) -> bool:
    """Return whether a result that names a concept says anything of what words say of it.

    Of an organ it must say that it is normal, or not, or may be; and what it says of the medial
    meniscus bears not on the lateral one.
    """
    needed = {concept, _ABNORMAL} if concept.startswith("O") else {concept}
    told = [fact for fact in facts.said if needed <= fact.words]
    same = any(not _opposed(words, fact.text) for fact in told)
    return same or not (told or concept.startswith("O"))


def concepts_of(text: str) -> frozenset[str]:
    """Return the findings and organs that a text names, and what they are by definition."""
    named = frozenset(_concepts_in(text).values())
    every = named.union(*(_implied().get(one, _NONE) for one in named))
    cut = any(one.endswith(_CUT) for one in named)
    return every | frozenset(_concepts_in("surgery").values()) if cut else every


def organs_in(text: str) -> set[str]:
    """Return the organs that a text names."""
    return {one for one in concepts_of(text) if one.startswith("O")}


@lru_cache(maxsize=1)
def _implied() -> Mapping[str, frozenset[str]]:
    """Return what concepts are by definition: cardiomegaly is an enlarged heart."""
    lines = [phrases(line) for line in word_lists("statements")["IMPLIED"].splitlines()]
    named = [
        [concept for word in line for concept in _concepts_in(word).values()] for line in lines
    ]
    return {one[0]: frozenset(one[1:]) for one in named}


@lru_cache(maxsize=1)
def _generic() -> frozenset[str]:
    """Return the concepts that say too little by themselves, such as treatment."""
    return frozenset(_concepts_in(word_lists("statements")["GENERIC"]).values())


def _objects(text: str) -> frozenset[str]:
    """Return what an allergy that a text tells is to, without the words' endings."""
    empty = _words("OPEN") | _words("NOISE") | _words("NO") | _words("VERBS")
    return frozenset(
        stem(word)
        for one in _ALLERGY_TO.findall(text) or _ALLERGY_OF.findall(text)
        for word in one.casefold().split()
        if word not in empty and not _attributes(word)
    )


def _stems(text: str) -> frozenset[str]:
    return frozenset(stem(word[0]) for word in _WORD.finditer(text))


def judged(word: str) -> bool:
    """Return whether a word alone says that something is normal or not."""
    return " " not in word and any(_judged(word))


def is_drug(concept: str) -> bool:
    """Return whether a concept is a drug by its name: those have no number."""
    return concept[0] == "C" and concept[1:].isalpha()


def is_generic(concept: str) -> bool:
    """Return whether a concept says too little to need a result that names it."""
    return concept in _generic()


@lru_cache(maxsize=1024)
def _concepts_in(text: str) -> Mapping[int, str]:
    """Return the concepts of the field in a text by the place of their first word."""
    return {start: concept for start, (concept, _) in _named_in(text).items()}


@lru_cache(maxsize=1024)
def _named_in(text: str) -> Mapping[int, tuple[str, int]]:
    """Return the concepts of the field in a text, each with its end, by the place of its start."""
    tokens = tokens_of(text.translate(_SPELT))
    found = _vocabulary().find(tokens)
    whole = [  # what is no part of a longer phrase
        one
        for one in found
        if not any(set(one.positions) < set(other.positions) for other in found)
    ]
    ordered = sorted(whole, key=lambda one: one.owner[0], reverse=True)  # findings replace organs
    named = {
        tokens[one.first].start: (one.owner, tokens[_run(one.first, one.positions)].end)
        for one in ordered
    }
    covered = {place for one in whole for place in one.positions if one.owner[0] != "O"}
    for place, token in enumerate(tokens):
        for kind, endings in _suffixes().items():
            if place not in covered and token.text.endswith(endings):
                named[token.start] = f"{kind}{stem(token.text)}", token.end
    return named


def _run(first: int, places: Collection[int]) -> int:
    """Return the last of the places that follow the first one without a gap."""
    last = first
    while last + 1 in places:
        last += 1
    return last


@lru_cache(maxsize=1)
def _vocabulary() -> Vocabulary:
    lists = word_lists("statements")
    listed = (
        (f"{kind[0]}{number}", _within(word) if kind == "FINDINGS" else word.translate(_SPELT))
        for kind in ("FINDINGS", "CONDITIONS", "ORGANS")
        for number, line in enumerate(lists[kind].splitlines())
        for word in phrases(line)
    )
    return Vocabulary([*listed, *((drug, name.translate(_SPELT)) for drug, name in _drugs())])


@lru_cache(maxsize=1)
def _sizes() -> frozenset[str]:
    """Return the words by which items say what they measure."""
    return frozenset(stem(word) for word in ("count", "share", "volume", "area", "diameter"))


def _within(word: str) -> str:
    """Return a word's entry, by which a long one is also found in compounds: "Rippenfraktur"."""
    entry = word.translate(_SPELT)
    return f"*{entry}" if len(entry) > _LONG and entry.endswith("*") and " " not in entry else entry


@lru_cache(maxsize=1)
def _suffixes() -> Mapping[str, tuple[str, ...]]:
    """Return endings of names of diseases and drugs that the vocabulary need not list."""
    lists = word_lists("statements")
    return {
        kind: tuple(word.translate(_SPELT) for word in phrases(lists[section]))
        for kind, section in (("F", "ENDINGS"), ("C", "DRUGS"))
    }


def _drugs() -> Iterator[tuple[str, str]]:
    """Yield the names of the drugs of the table of interactions, each with its concept."""
    path = resources_dir() / "tables" / "drug_interactions.toml"
    for ingredient, drug in tomllib.loads(path.read_text("utf-8"))["drugs"].items():
        for name in drug["names"]:
            yield f"C{ingredient}", f"{name[:-1]}*" if name.endswith("e") else name


@lru_cache(maxsize=1)
def drug_concepts() -> frozenset[str]:
    """Return the concepts of the drugs in the table of interactions."""
    return frozenset(concept for concept, _ in _drugs())


@lru_cache(maxsize=1)
def _kinds_of_drugs() -> frozenset[str]:
    """Return the concepts that a drug is one of: anticoagulants, diuretics."""
    return _NONE.union(*(every for one, every in _implied().items() if is_drug(one)))


@lru_cache(maxsize=1)
def _judgements() -> tuple[Vocabulary, Vocabulary]:
    lists = word_lists("statements")
    normal, abnormal = phrases(lists["NORMAL"]), phrases(lists["ABNORMAL"])
    return Vocabulary(("", one) for one in normal), Vocabulary(("", one) for one in abnormal)


@lru_cache(maxsize=4096)
def _judged(word: str) -> tuple[bool, bool]:
    """Return whether a word says that something is normal, and whether that it is not."""
    normal, abnormal = _judgements()
    tokens = tokens_of(word)
    return bool(normal.find(tokens)), bool(abnormal.find(tokens))


@lru_cache(maxsize=8)
def _words(section: str) -> frozenset[str]:
    return frozenset(word_lists("statements")[section].split())


# -- a result's values


def _leaves(
    value: Any, path: tuple[str, ...] = ()
) -> Iterator[tuple[tuple[str, ...], bool | int | float | str]]:
    """Yield texts, numbers and truth values in an output, with the keys that lead to them."""
    left: list[tuple[tuple[str, ...], Any]] = [(path, value)]
    for _ in range(_CHARS):
        if not left:
            return
        where, item = left.pop(0)
        match item:
            case bool() | int() | float():
                yield where, item
            case str():
                yield where, item[:_CHARS]
            case dict() as table:
                entries = cast("Mapping[str, Any]", table).items()
                told = any(isinstance(table.get(key), bool) for key in _THERE)  # see `_rows`
                left += [
                    ((*where, str(key)), one)
                    for key, one in entries
                    if _tells(str(key)) and not (told and not isinstance(one, dict | list))
                ]
            case list() | tuple() as items:
                left += [(where, one) for one in cast("Sequence[Any]", items)]
            case _:
                pass


def _rows(value: Any) -> list[Fact]:
    """Return the records in an output, with several fields each, as facts."""
    facts: list[Fact] = []
    left: list[tuple[Any, bool]] = [(value, False)]
    for _ in range(_MOST):
        if not left:
            break
        item, listed = left.pop(0)
        match item:
            case dict() as table:
                entries = {str(k): v for k, v in cast("Mapping[str, Any]", table).items()}
                there = next((entries[key] for key in _THERE if key in entries), None)
                short = [
                    f"{key.replace('_', ' ')} {one}"
                    for key, one in entries.items()
                    if isinstance(one, str | int | float)
                    and not isinstance(one, bool)
                    and len(str(one).split()) <= 8
                    and _tells(key)
                ]
                flags = entries.get("flags")
                if isinstance(flags, list):
                    levels = (cast("Mapping[str, Any]", one).get("level") for one in flags)
                    short += [f"flag {level}" for level in levels]
                sided = any(sides_of(one) and len(one.split()) <= 3 for one in short)
                if short and (listed or sided or isinstance(there, bool)):
                    fact = replace(_row(" ".join(short)), asserts=isinstance(there, bool))
                    facts.append(replace(fact, denied=fact.words) if there is False else fact)
                left += [(one, isinstance(one, list)) for one in entries.values()]
            case list() | tuple() as items:
                left += [(one, True) for one in cast("Sequence[Any]", items)]
            case _:
                pass
    return facts


def _tells(key: str) -> bool:
    """Return whether a key may lead to something that is said of an image, and is no path."""
    ends = ("path", "paths", "uid", "sha256", "version", "file", "entry", "source", "codes")
    return not key.endswith(ends)


def _sentences_of(text: Any) -> list[str]:
    if not isinstance(text, str):
        return []
    return [part for part in re.split(r"(?<=[.!?;])\s+|\n+", text[:_CHARS]) if part.strip()]
