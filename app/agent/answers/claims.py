"""Marks figures and statements of a model's answer that no result in the conversation supports.

Only what code can compare is marked: figures with their units, subjects that the cited tool cannot
show, judgements where the tool itself gave none, results of another image, and actions that the
model claims but no call performed. A statement without a mark may still be wrong.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import date
from functools import lru_cache, partial
from html import unescape
from typing import Any, cast

from text_to_num import alpha2digit

from app.agent.answers.answer_footer import call_result_of, relevant_results
from app.agent.answers.comparisons import compared_wrongly
from app.agent.answers.deeds import claimed, may_claim
from app.agent.answers.evidence import (
    CODE,
    EARLIER,
    FORMULA,
    MARK,
    UNKNOWN,
    citations,
    cite,
    known_items,
    mark,
    numbers_in,
    sentences,
    unmarked,
)
from app.agent.answers.facts import (
    ABSENT,
    AROUND,
    NEITHER,
    PRESENT,
    Facts,
    bears_on,
    concepts_of,
    contradiction,
    denies_anything,
    facts_of,
    findings_in,
    is_drug,
    is_generic,
    item_facts,
    judged,
    miscounted,
    names,
    normal_against,
    opposes,
    order_against,
    organs_in,
    ratio_against,
    shared,
    sides_of,
    trend_against,
    words_in,
    wrong_share,
)
from app.agent.answers.figures import (
    NUMBER,
    SCALES,
    Figure,
    figures_in,
    figures_in_text,
    in_digits,
    name_and_unit_of,
    parts_of,
    rounded,
    same_figure,
    subjects_in,
    unit_of,
    value_of,
)
from app.agent.answers.sentence_forms import (
    ABOUT_ANSWER,
    ADVICE,
    ALLERGY,
    ANOTHER_CLAIM,
    AVOID,
    BARE_PREDICATE,
    BESIDES,
    CAUSE,
    CHANGED,
    CLAUSES,
    COMPARES,
    DECLINED,
    DENIES_LIST,
    DOUBT,
    EXCEPTION,
    EXCLUDES,
    FIELDS,
    FOUND_IT,
    GENERAL,
    HERE,
    LATE_DENIAL,
    LISTS_NAMES,
    NO_WORRY,
    NONE_THERE,
    NOT_DONE,
    NOT_FOUND,
    NOT_GIVEN,
    NOT_MENTIONED,
    NOT_NORMAL,
    NOT_SAME_SIDE,
    NOT_THIS,
    OF_IT,
    OFTEN,
    ON_NEITHER,
    ONLY,
    ORIENTATION,
    OWN_PREDICATE,
    PASSIVE_DENIAL,
    PREDICATE,
    PRONOUN,
    REQUEST,
    SAFE,
    SALUTATION,
    SAME_SIDE,
    SIGN,
    THE,
    THERE,
    THESE,
    THIS,
    TREND,
    TRUSTED,
    URL_BEHIND,
    VERB,
    YOU_ASKED,
)
from app.agent.answers.sentence_reader import asserts, presence
from app.agent.call_log import LoggedCall
from app.agent.context.model_messages import readable
from app.agent.enforcement.director import Director
from app.agent.llm.base import StatedClaim
from app.agent.messages import Message
from app.agent.planning import Vocabulary, tokens_of
from app.tools.api import Approval
from app.tools.pack_plan import Deed, Plans

_CONSTANT = re.compile(
    r"[\^_]\s*(?:\{[^{}]*\}|\w)|(?<![\w.,])(?:10|\d)(?![\w.,%]|\s*\\?[,;:]?\s*(?:[cmµ]?m|px|%|\\text))"
)
"""Digits in a formula that are not results: "^2", "_{max}", the 4 of "4 a b"."""
_DATE = re.compile(r"(?<!\w)(?:(\d{4})(\d\d)(\d\d)|(\d{1,4})([-/.])(\d{1,2})\5(\d{1,4}))(?!\w)")
_NAMED_BY_NUMBER = re.compile(r"\b(?:images?|results?|steps?|version)[\s-]+$", re.IGNORECASE)
_ITEM = re.compile(r"\A[ \t>#*-]*\d{1,3}[.)](?!\d)")
_LENGTHS = ("mm", "cm", "µm", "um", "mm2", "cm2")
_OUT_OF = re.compile(r"\d (?:out of|of|von)(?: the)?\s*$")
_BOUND = re.compile(
    r"\b(?:above|over|exceed\w*|below|under|than|against|cut-?off|threshold|limit|point|als|über|unter|"
    r"oberhalb|unterhalb|schwelle\w*|grenz\w*|ab|start\w*|begin\w*)\b\W*(?:\w+\W+){0,2}$|[<>≤≥]=?\s*$",
    re.IGNORECASE,
)
"""Words before a number with which another one is compared."""
_NOW = re.compile(
    r"\b(?:current\w*|now|today|(?:new(?:er|est)?|latest|recent) (?:film|image|study|radiograph"
    r"|x-?ray)|"
    r"neue\w* (?:aufnahme|bild|untersuchung)|"
    r"this time|diesmal|present (?:film|image|radiograph|study"
    r"|examination)|"
    r"this (?:film|image|radiograph|study|examination)|aktuell\w*|jetzt|"
    r"heut\w*|derzeit\w*|nun)\b",
    re.IGNORECASE,
)
_YEAR = re.compile(r"(?:(?<![\d.])|(?<=\.\d\.)|(?<=\.\d\d\.))(?:19|20)\d\d(?![\d])")
_GERMAN_DAY = re.compile(r"(?<!\d)\d{1,2}\.(?P<month>0?[1-9]|1[0-2])\.(?=(?:19|20)\d\d)")
_DAY = re.compile(r"(?<!\d)(?:19|20)\d\d(-?)(?P<month>0[1-9]|1[0-2])\1\d\d(?!\d)")
_MONTH = re.compile(
    r"\b(?:Jan(?:uar|uary)?|Feb(?:ruar|ruary)?|March|März|Mar|April|Apr|May|Mai|June?|Juni|July?|"
    r"Juli|Aug(?:ust)?|Sept?(?:ember)?|O[ck]t(?:ober)?|Nov(?:ember)?|De[cz](?:ember)?)\b"
)
_MONTHS = {
    name: month
    for month, names in enumerate(
        (
            "Jan",
            "Feb",
            "Mar Mär",
            "Apr",
            "May Mai",
            "Jun",
            "Jul",
            "Aug",
            "Sep",
            "Oct Okt",
            "Nov",
            "Dec Dez",
        ),
        start=1,
    )
    for name in names.split()
}
_DATE_IN_WORDS = re.compile(
    rf"\b(?P<day>\d{{1,2}})(?:st|nd|rd|th|\.)? (?:of )?(?P<of>{_MONTH.pattern}),?"
    r" (?P<year>(?:19|20)\d\d)\b"
    rf"|\b(?P<month>{_MONTH.pattern}) (?P<on>\d{{1,2}})(?:st|nd|rd|th)?,? (?P<in>(?:19|20)\d\d)\b"
)
_DAY_IN_WORDS = re.compile(
    rf"\b\d{{1,2}}(?:st|nd|rd|th|\.)? (?:of )?{_MONTH.pattern}(?!,? \d{{4}})"
    rf"|{_MONTH.pattern} \d{{1,2}}(?:st|nd|rd|th)?\b(?!,? \d{{4}})"
)
"""A day without its year: "14 May"."""
_TIME = re.compile(
    r"(?P<number>\d+(?:[.,]\d+)?)[\s-](?P<unit>days?|weeks?|months?|years?|tage?n?|wochen?|monate?n?|jahre?n?)\b",
    re.IGNORECASE,
)
_DAYS = {"da": 1, "ta": 1, "we": 7, "wo": 7, "mo": 30.44, "ye": 365.25, "ja": 365.25}
_APART = re.compile(
    r"\b(?:apart|between|earlier|later|before|after|prior|ago|old|vor|nach|zuvor|früher|später|auseinander"
    r"|zwischen|dazwischen|alte?)\b",
    re.IGNORECASE,
)
"""Words of sentences that tell how far apart two dates are."""
_IS_NEW = re.compile(
    r"\b(?:new(?:ly)?|neu(?:e[rns]?)?|(?:has|have) (?:become|turned)|became|turned|geworden)\b",
    re.IGNORECASE,
)
_PAST = re.compile(
    r"\b(?:was|were|had|did|saw|showed|came|war|waren|hatte\w*|zeigte\w*|ergab\w*|lag|lagen|wurden?|"
    r"(?<!is )(?<!are )(?:measured|described|reported|mentioned|noted|scored|flagged))\b",
    re.IGNORECASE,
)
"""Words of sentences that may speak of an earlier image, if they name none."""
_CHANGE = re.compile(
    r"\b(?:from|then|than|since|both|neither|weder|between|rose|risen|fell|fallen|grew|grown|increas\w*|"
    r"decreas\w*|chang\w*|unchanged|stable|differ\w*|compar\w*|versus|vs|moved|larger|smaller|higher|lower|stayed|remain\w*|same|similar\w*|von|gleich\w*|geblieben|ähnlich\w*|"
    r"seit|beide\w*|zwischen|gestiegen|stieg|gefallen|fiel|zugenommen|abgenommen|veränder\w*|"
    r"unverändert\w*|vergleich\w*|gegen|größer|kleiner|höher|niedriger|gegenüber)\b",
    re.IGNORECASE,
)
_DERIVED = re.compile(
    rf"{_CHANGE.pattern}|\b(?:together|sum|total\w*|combined|difference|by|less|more|insgesamt|"
    r"zusammen|adds? up|a day|am tag|summe|differenz|unterschied|um|mehr|weniger)\b|(?:%"
    r"|times) (?:of|as|der|des|von)\b"
    r"|\b(?:per|pro)\b",
    re.IGNORECASE,
)
"""Words of sentences in which a figure may be the sum or the difference of others."""
_MODALITIES = {
    r"radiograph\w*|x-?rays?|films?|(?-i:CXR)|röntgen\w*": ("CR", "DX", "RG"),
    r"(?-i:CTA?)|computed tomogra\w*|computertomogra\w*": ("CT",),
    r"(?-i:MRI?|MRT)|magnetic resonance|magnetresonanz\w*|kernspin\w*": ("MR",),
    r"ultrasound|sonogra\w*|ultraschall\w*": ("US",),
    r"mammogra\w*": ("MG",),
    r"(?-i:PET)": ("PT",),
    r"slides?|histolog\w*|microscop\w*|mikroskop\w*|schnitt\w*": ("SM", "GM"),
}
"""Words by which an image is spoken of, and the modalities that they mean."""
_PICTURES = re.compile(
    rf"\b(?:images?|scans?|stud(?:y|ies)|exam\w*|aufnahmen?|bild\w*|untersuchung\w*|{'|'.join(_MODALITIES)})\b",
    re.IGNORECASE,
)
_OWN = ("x", "mg", "g", "µg", "hu", "years", "days")
"""Units in which an item has one figure: another in them is not told beside its own."""
_BOX = re.compile(r"\bbox\w* \[?" + r", ".join([r"(-?\d+(?:\.\d+)?)"] * 4))
_BULLET_NAME = re.compile(
    r"\s*(?:[-*•]|\d+[.)])[ \t]+[*_]*[^\W\d_][\w-]+(?: [^\W\d_][\w-]+){0,2}[*_: ]*"
)
_NONE_OF = re.compile(r"\b(?:none of|neither|keine[rsn]? (?:der|von)|weder)\b", re.IGNORECASE)
_NEITHER = re.compile(r"\b(?:neither|weder)\b", re.IGNORECASE)
_MARKERS = re.compile(
    r"\binflammat\w+ (?:marker|parameter|value)s?\b|\bentzündungs(?:marker|werte?|parameter)n?\b",
    re.IGNORECASE,
)
"""Names of laboratory values that sound like findings."""
_TABLE_HEAD = re.compile(
    r"[^|\n]*\|[^\n]*\n[ \t]*\|?(?:[ \t]*:?-+:?[ \t]*\|)+(?:[ \t]*:?-+:?)?[ \t]*(?=\n|$)"
)
_QUOTE = re.compile(r"[\"“„»«]([^\"”“»«\n]{3,300})[\"”“«»]")
_HEADING = re.compile(
    r"#{1,6} .*|(?:[-*] )?\*\*[^*\n]+\*\*:?|(?:[^.!?\n]|\.(?=\d))*:\**|> [^.!?\n]*"
)
_ORDINAL = re.compile(r"\b(?:der|die|das|dem|den|des|am|vom|bis) \d{1,2}\.(?=\s?[A-ZÄÖÜ])")
_DAY_ONLY = re.compile(r"(?<![\d.])(?:0?[1-9]|[12]\d|3[01])\.(?:0?[1-9]|1[0-2])\.(?!\d)")  # 13.05.
_ADDRESS = re.compile(r"(?<=\])\((?:[^()\s]|\([^()\s]{0,100}\)){1,300}\)")  # of a link
_STRUCK = re.compile(r"~~[^~\n]+~~")
_REFERENCE = re.compile(r"(?m)^[ \t]*\[(?!\^)[^\]\n]+\]:[ \t]+\S.*$")
"""A line that says where links lead to: "[q]: https://..."."""
_FOOTNOTE = re.compile(r"\[\^\w+\]:?")  # the sign of one, and what it begins with
_REFERRED = re.compile(r"(?<=\w\])\[[^\]\n]*[^\W\d_][^\]\n]*\]")
_LINK = re.compile(r"\[(?=[^\[\]\n]*[^\W\d_])[^\[\]\n]{1,200}(?P<end>\])\([^()\s]")
_BRACKETS = re.compile(r"\[[\d.,;\s\u2013-]{1,60}\]")
_END = " \t\n.!?:*_|"
_BETWEEN = r"(?:[\s:=(~*|]|\b(?:is|was|of|at|about|approximately|around|score|a|the)\b)*$"
_REACH = 80  # characters before a figure in which its name may stand
_MOST_ADDED = 6  # figures of a sentence of which another may be a sum or a difference
_MOST_CLAIMS = 60
_LEAST = 3  # characters of a tool's word, at most, by which it is not named
_MOST_STRINGS = 2_000  # looked at in one result
_CLAIMED_ID = re.compile(r"\d{1,3}(?:\.\d{1,3})?(?:, ?\d{1,3}(?:\.\d{1,3})?)*")
_LONGEST_SENTENCE = 2_000  # characters
NO_EVIDENCE = "no evidence in this session"
_NOTE = re.compile(r"\[\^\w+\]|\*")  # a footnote's sign, and emphasis
_FEW_WORDS = 3  # of a part of a sentence that says nothing alone
_SAME = 0.75  # of the words of a sentence that its item has, which it then repeats
_OF_FEW = 0.8  # of what the whole sentence then seems to say of it
_CANNOT = "cannot show this"
_TALK, _CLAIM = 0.15, 0.8
"""Probabilities of an assertion: up to the first a sentence is talk, from the second a claim."""
_LETTERS = 0.7  # of the signs of a sentence that says something
_HARMLESS = (Approval.READ, Approval.COMPUTE)

_FAILED = re.compile(
    r"\b(?:fail\w*|not|\w+n['’]t|error|unable|would|could|should|if)\b", re.IGNORECASE
)
_I = r"\b(?:I|we|I've|we've|I have|we have|ich habe)\b(?:\s+(?:also|now|just|already|then|first))*"
_BE = r"\b(?:was|were|has been|have been|is|are|wurde|wurden)\s+(?:now\s+|already\s+)?"
_DEEDS = (
    r"sent|e-?mailed|mailed|uploaded|deleted|printed|shared|faxed|forwarded|notified|informed|paged"
    r"|contacted|scheduled|booked|ordered|prescribed|archived|gesendet|geschickt|verschickt"
    r"|benachrichtigt|gelöscht|gedruckt"
)
_OF_PATIENT = re.compile(r"prescribed|ordered|scheduled|booked", re.IGNORECASE)
_SAVED = r"saved|stored|exported|gespeichert|exportiert"
_DEED = re.compile(
    rf"(?:{_I}[^.,;]{{0,60}}?\s|{_BE}(?!(?<=(?:are|.is) )stored))(?:(?P<deed>{_DEEDS})"
    rf"|(?P<saved>{_SAVED}))(?!\w| (?:the best|you|nothing|by (?:you|the user))\b)",
    re.IGNORECASE,
)
_NOBODY = re.compile(
    r"\b(?:no|none|nothing|nichts|kein\w*)\b(?:(?!\b(?:I|we|ich|wir)\b)[^.,;:])*\Z", re.IGNORECASE
)
"""Ends with a deed that was not done: "no findings were deleted"."""
_MARKABLE = re.compile(rf"[\d\[]|\b(?:{_DEEDS}|{_SAVED})\b", re.IGNORECASE)
_WORK = re.compile(rf"(?:{_I}|{_BE.rstrip()})\s+(?P<verb>\w+)", re.IGNORECASE)
_OF_BOTH = re.compile(
    r"\b(?:either|both|neither|each|beide\w*|keine[mnrs]?|jede\w*)\b", re.IGNORECASE
)
_MEASURED = re.compile(r"\b(?:measured|gemessen|vermessen)\b", re.IGNORECASE)
_OF_LENGTH = (*SCALES, "px")
_NO_FIELD = re.compile(
    r"\b(?:no|nothing to|kein\w*) (?:box|score|side|value|kasten|wert)\b", re.IGNORECASE
)
"""Words for a field that a result doesn't have: "found nothing to box"."""
_SPAN = re.compile(r"\b(?:last|past|next|coming|letzten|vergangenen|nächsten)\s+$", re.IGNORECASE)
_THE_SAID = re.compile(r"\b(?:the|die|these|those|diese)\s+$", re.IGNORECASE)
_COMPARED = re.compile(r"\b(?:compar\w+|verglich\w*)\b", re.IGNORECASE)
_ASIDE = re.compile(
    r"\([^()]*\d[^()]*\)|,(?: which\b| who\b)?\s[^,;]{0,40}\d(?:[^,;]|,(?=\d)){0,20},(?!\d)"
)
"""A figure between a subject and its predicate: "the heart, at 794 px, is enlarged"."""
_CHEST = re.compile(
    r"\b(?:thorax|chest(?! (?:film|x-?ray|radiograph|image|tube|wall))|rib ?cage|brustkorb\w*)\b",
    re.I,
)
_CUTOFF = re.compile(
    r"\b(?:(?:above|over|beyond|below|from|ab|über|unter|oberhalb|unterhalb) (?:which|what|the|dem"
    r"|der|den|\d)|cut-?off|limit|threshold|grenz\w*|schwell\w*|would|could|if|wäre|würde|wenn"
    r"|commonly|counts? as|gilt|gelten)\b",
    re.IGNORECASE,
)
"""Words that say from where on something is called abnormal, and not that it is."""
_OF_WHOLE = re.compile(
    r"\b(?:(?:half|twice|double|against|versus|vs|than|of|doppelt|gegen|als|von)"
    r"(?: (?:the|its|those|these|den|die|das|diesen))"
    r"|half|twice|against|versus|vs|than|gegen|als|der|\d+ (?:px |mm )?(?:of|von)"
    r"|(?:half|third|quarter|hälfte|drittel|viertel)(?: of)? (?:the|der|des)(?: \w+){1,2}"
    r" (?:of|von))\s+$",
    re.IGNORECASE,
)
"""Words before a figure with which something else is compared: "half of the 1,589 px"."""
_PICTURE = r"(?:image|x-?ray|film|scan|radiograph|picture|dicom file)"
_ABSENT = re.compile(
    rf"(?<!of )(?<!in )(?<!for )(?<!from )\b(?:(?:the|this|your) (?:(?:uploaded|provided|open|"
    rf"given|current|chest|dicom) )*{_PICTURE} (?:is|was|has)(?: not|n't)(?: been)?|no {_PICTURE}"
    r"(?: is| was| has been)?) (?:available|accessible|uploaded|provided|open(?:ed)?|given)\b",
    re.IGNORECASE,
)
_DRAWN = re.compile(r", (?:mask|heat map|objects|lines?|outline|box|point|ellipse)\b")
"""The kinds of findings in items' texts."""
_ASKS_STATE = re.compile(r"\?|\A\W*(?:which|what|is|are|how|welch|was|ist|sind|wie)\b", re.I)
"""Begins a question, or ends it: the answer may tell how something is shown."""
_RAN = re.compile(rf"{_I}\s+(?:ran|run|used|called|applied|started)\b", re.IGNORECASE)


@dataclass(slots=True)
class _Part:
    """A part of a sentence that has citations of its own, or a sentence without any.

    Attributes:
        start: Where its words begin in the sentence; they end at `stop`.
        end: Where a mark stands: behind its citations.
        ids: Ids that it cites: "3", "3.2".
        known: Numbers of the results among them that there are.
    """

    start: int
    stop: int
    end: int
    ids: list[str]
    known: list[int] = field(default_factory=list[int])


class Claims:
    """Marks figures and statements in a model's texts that no result of the conversation supports.

    Args:
        director: The run's director, with the intent and the finished calls.
        history: The conversation, with the current question.
        plans: The packs' plans, which say what their tools can show.
    """

    def __init__(self, director: Director, history: Sequence[Message], plans: Plans) -> None:
        self._director = director
        self._results = {i.message.evidence: i for i in director.record.all() if i.message.evidence}
        self._plans = plans
        self._items = known_items(i.message for i in self._results.values())
        self._elsewhere = dict(self._of_other_images())
        figures = dict.fromkeys([*self._given(history), *self._of_results()])
        self._figures = sorted(figures, key=lambda item: abs(item.value))
        self._measured = any(item.unit in SCALES for item in self._figures)
        texts = (f"{i.text} {i.images}" for i in history if i.role != "assistant")
        texts = [*texts]
        self._dates = {day for text in texts for day in _dates(text)}
        self._days = {day for text in texts for day in _days(text)}
        self._said: dict[int, set[str]] = {}
        self._read: dict[int, Facts] = {}
        # Years and months by which the images asked about, and the others, may be spoken of.
        self._our_times, self._their_times = self._times()
        self._named: dict[int, frozenset[str]] = {}
        self._ours, self._theirs = self._words_of_images()
        # Whether a heading, or the sentence before, speaks of another image than is asked about.
        self._headed = self._carried = self._spoken = False
        # The ids that the sentence before cites: "it" is what they are about.
        self._cited: list[str] = []
        self._before: list[str] = []
        self._so_far: list[str] = []  # that its parts so far cite
        # Of each column of a table: whether its head names another image; None for no image.
        self._columns: list[bool | None] = []

    def answer(self, text: str) -> str:
        """Return a final answer, marked like other texts (see `marked`), but more strictly.

        If the question is about an open image and the conversation has no result at all, the answer
        gets at least one mark.
        """
        asked = self._director.intent
        told = self.marked(text)
        unlooked = asked.needs_image and asked.scene.images and not self._results
        if unlooked and text.strip() and told == unmarked(text):
            return f"{told.rstrip()} {self._mark(self._unsupported())}"
        return told

    def marked(self, text: str, *, goes_on: bool = False) -> str:
        """Return a text with "[check: WHY]" after each figure or statement no result supports.

        One that `goes_on` from that of the last call stands below the same heading.
        """
        self._headed &= goes_on
        self._carried &= goes_on
        self._spoken &= goes_on
        self._cited = self._cited if goes_on else []
        self._before = self._before if goes_on else []
        self._columns = self._columns if goes_on else []
        text = unmarked(without_tricks(text))
        every = _blanked(text, citations(text, self._items))
        for pattern in (_ADDRESS, _STRUCK, _REFERENCE, _REFERRED, _FOOTNOTE):
            every = _blanked(every, pattern.finditer(every))
        codes = re.finditer(CODE, text, re.DOTALL)
        plain = _blanked(every, (one for one in codes if not _is_figure(one[0].strip("`"))))
        parts: list[str] = []
        at = 0
        for part in _pieces(text):
            if all(map(_REFERENCE.fullmatch, text[part].strip().split("\n"))):
                continue
            named = max(self._images_named(text[part]), default=None)
            if COMPARES.fullmatch(text[part]):
                named = None  # a heading that names no image
            if _HEADING.fullmatch(text[part].strip()):
                goes_on_so = PRONOUN.match(text[part]) and self._spoken  # "It says:"
                self._headed = named[1] if named else bool(goes_on_so)
                self._carried = False
            elif named:
                self._spoken = named[1]
            is_head = _HEADING.fullmatch(text[part].strip()) or _TABLE_HEAD.match(text, part.start)
            if _TABLE_HEAD.match(text, part.start):
                named = ([*self._images_named(cell)] for cell in text[part].split("|")[1:])
                self._columns = [max(one)[1] if one else None for one in named]
            elif not text[part].lstrip().startswith("|"):
                self._columns = []
            for place, why in sorted(self._of_sentence(text[part], every[part], plain[part])):
                if _TABLE_HEAD.match(text, part.start) and " says: " in why:
                    continue  # its columns are named, and nothing is told
                if _BULLET_NAME.fullmatch(text[part]) and " says: " in why:
                    continue  # what is said of it follows
                if is_head and why == self._unsupported() and self._names_no_finding(text[part]):
                    continue
                stop = part.start + place
                parts += [text[at:stop], f" {self._mark(why)}"]
                at = stop
        return "".join([*parts, text[at:]])

    def _names_no_finding(self, heading: str) -> bool:
        """Return whether a heading, or the head of a table, is a topic: "Medication"."""
        return all(is_generic(key) for key in findings_in(heading).values())

    def _mark(self, why: str) -> str:
        return mark(why, german=self._director.asked_in_german)

    def wrong_claims(
        self, claims: Sequence[StatedClaim], answer: str, marked: Callable[[str], str]
    ) -> list[str]:
        """Return the claims that a model lists beside its answer and no result supports, marked.

        Those are left out of which the answer itself has the mark. `marked` marks unknown ids.
        """
        wrong: list[str] = []
        for claim in claims[:_MOST_CLAIMS]:
            text = " ".join(without_tricks(claim.statement).split()).rstrip(" .")[:300]
            if claim.side and not sides_of(text):
                text += f" ({claim.side if claim.side != 'both' else 'both sides'})"
            said = {abs(one.value) for one in figures_in_text(text)}
            if claim.value is not None and abs(claim.value) not in said:
                text += f": {claim.value:.6g} {claim.unit}".rstrip()
            if _CLAIMED_ID.fullmatch(claim.evidence.strip(" []")):
                text = cite(text, claim.evidence.strip(" []"))
            told = marked(self.marked(f"{text}."))
            whys = MARK.findall(told)
            new = any(why not in answer for why in whys) or (not whys and UNKNOWN[:8] in told)
            if told != f"{text}." and new:
                wrong.append(told)
        return wrong

    def may_mark(self, text: str) -> bool:
        """Return whether anything in the beginning of a sentence may get a mark."""
        return bool(
            _MARKABLE.search(text)
            or sides_of(text)
            or findings_in(text)
            or subjects_in(text, _statement_words(self._plans))
            or may_claim(text, self._plans.deeds)
            or not text.isascii()
        )

    def _of_sentence(self, sentence: str, every: str, code: str) -> Iterator[tuple[int, str]]:
        """Yield the marks of a sentence with their places.

        `every` is the sentence with spaces in place of citations, and `code` also in that of code.
        """
        formulas = [one.span() for one in re.finditer(FORMULA, code)]
        plain, places = _bare(_without_constants(code, formulas), sentence)
        parts = self._parts(sentence, every)
        general = not parts[0].ids and bool(GENERAL.search(plain)) and not HERE.search(plain)
        general &= not ((this := THE.match(plain)) and findings_in(this[1]))  # "the tumour is a"
        figures = _blanked(_blanked(plain, _DATE.finditer(plain)), _ITEM.finditer(plain))
        for pattern in (_BRACKETS, _ORDINAL, _DAY_ONLY):
            figures = _blanked(figures, pattern.finditer(figures))
        counts = "" if general else in_digits(figures, None)
        figures = "" if general else in_digits(figures, _statement_words(self._plans))
        wrong: set[int] = set()
        strange: list[int] = []  # where figures stand that are in no result
        numbers = [*NUMBER.finditer(counts)]
        derived = _DERIVED.search(figures) or any(word in figures for word in OFTEN)
        few = len(numbers) <= _MOST_ADDED and derived
        for one in numbers:
            place = places[one.end() - 1] + 1
            part = next((part for part in parts if place <= part.end), parts[-1])
            before = figures[max(0, one.start() - _REACH) : one.start()]
            told = figures[one.start() : one.end()] == one[0]  # else "eight", which only counts
            why = self._figure(before, one, part.known) if told else ""
            if why in self._elsewhere.values():
                named = max(self._images_named(plain[: one.start()]), default=None)
                goes_on = self._spoken and (PRONOUN.match(plain) or THERE.search(plain))
                why = "" if (named[1] if named else goes_on) else why
            ids = [key for each in parts for key in each.ids]
            if THESE.search(counts[: one.start()]):
                ids = ids or self._cited
            listed = value_of(one)[0] == len(ids)  # "the two lengths"
            if _THE_SAID.search(counts[: one.start()]):
                listed |= not ids or value_of(one)[0] == len({*ids, *self._cited, *self._before})
            unit = unit_of(one["unit"] or one["tight_unit"] or "")
            items = self._items_of_part(part) if why else {}
            given = [known for text in items.values() for known in figures_in_text(text)]
            in_unit = "gives this in" in why and any(known.unit == unit for known in given)
            if items and (why.startswith("not in result") or in_unit):
                key, text = next(iter(items.items()))
                figure = (abs(value_of(one)[0]), unit)
                elsewhere = any((abs(k.value), k.unit) == figure for k in self._figures)
                why = f"{key} is {text}" if elsewhere or re.search(r"\d", text) else why
            why = why or ("" if listed else self._count(one, counts, part.known))
            if why and (self._is_time_between(one, figures) or (not ids and _SPAN.search(before))):
                continue  # "of the last 24 hours"
            if why and (_share_of(one, figures) or (few and self._is_derived(one, figures, parts))):
                wrong.add(part.end)  # none of its items has it, and each is right
            elif why:
                wrong.add(part.end)
                if why == "in no result":
                    strange.append(one.start())
                yield next((end for start, end in formulas if start < place < end), place), why
        for one in (*_DATE.finditer(plain), *_DATE_IN_WORDS.finditer(plain)):
            if self._dates.isdisjoint(_dates(one[0])):
                yield places[one.end() - 1] + 1, "this date is in no result"
        ids = [key for part in parts for key in part.ids]
        self._before = self._cited
        self._cited = ids if ids or not PRONOUN.match(plain) else self._cited
        last_end = max((one.end() for one in citations(sentence, self._items)), default=0)
        shares = bool(last_end) and PREDICATE.match(every, last_end)
        shares = shares and not any(VERB.search(every, one.start, one.stop) for one in parts[:-1])
        lost = any(part.ids and not part.known for part in parts)
        whole = f"{every}\n" if not parts[0].ids else ""
        excludes = EXCLUDES.search(plain)
        cited_so_far = set[int]()
        marked = False
        for part in parts:
            if part.ids and not part.known:
                continue  # marked as citing nothing
            self._carried &= not part.known or not self._elsewhere.keys().isdisjoint(part.known)
            cited_so_far.update(part.known)
            self._so_far = [key for each in parts[: parts.index(part)] for key in each.ids]
            words = _bare(every[part.start : part.stop], sentence[part.start : part.stop])[0]
            words = _MARKERS.sub(" ", words)
            if shares and part is not parts[-1] and len(words.split()) <= _FEW_WORDS:
                words = f"{words} {every[last_end:]}"  # "A [1.1] and B [1.2] are flagged"
            if (
                _NONE_OF.search(plain[: part.start])
                or DENIES_LIST.match(plain[: part.start])
                or (
                    part.ids
                    and excludes is not None
                    and (excludes.start() < part.stop or PASSIVE_DENIAL.search(plain))
                )
            ):
                words = f"no {words}"  # "none of the labels A [1.1], B [1.2] was flagged"
            told = [*self._elsewhere_told(part, sentence)]
            if told and (items := self._items_of_part(part)):
                told = [self._wrong_item(words, items) or why for why in told][:1]
            if not general and not (told and self._items_of_part(part)):
                around = every[: part.start], every[part.stop :]
                told += self._of_words(
                    words, part, cited_so_far, around, right=part.end not in wrong
                )
            said_of_strange = bool(strange) and self._is_said_of(strange, words)
            if not part.ids and (said_of_strange or self._tells_deeds(words)):
                told = [why for why in told if why != self._unsupported()]
            marked = marked or bool(told)
            yield from ((part.end, why) for why in dict.fromkeys(told))
        if lost and not any(part.known for part in parts):
            return
        cited = self._texts_of(key for part in parts for key in part.ids)
        now = {
            key: text
            for key, text in cited.items()
            if int(key.partition(".")[0]) not in self._elsewhere
        }
        against = order_against(plain, cited) or trend_against(plain, now, cited)
        if why := against or (not marked and self._sizes_against(plain, cited)):
            yield parts[-1].end, why
        told = ["this was not done"] if self._undone(plain, cited=not whole) else []
        if self._director.intent.scene.images and _ABSENT.search(plain):
            told.append("an image is open")
        yield from ((len(sentence.rstrip(_END)), why) for why in told)

    def _sizes_against(self, words: str, cited: Mapping[str, str]) -> str | None:
        """Return the sizes that a sentence compares wrongly; see `compared_wrongly`.

        They are those of the `cited` items, or else of all items of the results that it cites or
        may rest on.
        """
        if any(True for _ in self._images_named(words)) or DOUBT.search(words):
            return None
        if (why := compared_wrongly(words, cited)) is not None:
            return why
        numbers = {int(key.partition(".")[0]) for key in self._cited} & self._results.keys()
        every = numbers or [one for one in self._results if one not in self._elsewhere]
        return compared_wrongly(words, self._items_of(every))

    def _figure_of_another(self, words: str, cited: Sequence[int]) -> str:
        """Return the item whose figure words give to what another one measures; "" for none."""
        pieces = re.split(r"\b(?:and|und|while|whereas)\b|[;|]|,(?!\d)", words)
        told = [one for one in pieces if [*figures_in_text(one)]]
        if len(told) > 1 and all(concepts_of(one) or _CHEST.search(one) for one in told):
            found = (self._figure_of_another(one, cited) for one in told)
            return next(filter(None, found), "")  # "the heart is 9 px wide and the lung 8 px"
        said = [(abs(one.value), one.unit) for one in figures_in_text(words) if one.unit]
        wrong: list[str] = []
        for number in cited or self._spoken_of(words):
            every = self._items_of([number])
            fitting = {
                key: text
                for key, text in every.items()
                if any((abs(one.value), one.unit) in said for one in figures_in_text(text))
            }
            if fitting and not _measures_another(words, fitting, every):
                return ""
            wrong += [f"{key} is {text}" for key, text in fitting.items()]
        return wrong[0] if wrong else ""

    def _items_of(self, numbers: Iterable[int]) -> dict[str, str]:
        """Return the texts of all items of results, by their ids."""
        found: dict[str, str] = {}
        for number in numbers:
            found |= self._results[number].message.data.get("items") or {}
        return found

    def _items_of_part(self, part: _Part) -> dict[str, str]:
        """Return the texts of the items that a part of a sentence cites, by their ids."""
        return self._texts_of(key for key in part.ids if "." in key)

    def _of_words(
        self,
        words: str,
        part: _Part,
        before: Collection[int],
        around: tuple[str, str],
        *,
        right: bool,
    ) -> Iterator[str]:
        """Yield what is wrong with what a part of a sentence says; `right` are its figures.

        A finding in it may rest on what was cited `before`: "this tumour". `around` is the rest of
        the sentence.
        """
        words = ALLERGY.sub(r"\1 \2", words)  # "Penicillinallergie"
        words = LATE_DENIAL.sub(r"keine \g<what> \g<verb> \g<how>", NO_WORRY.sub(" ", words))
        if any("allerg" in text.casefold() for text in self._items_of_part(part).values()):
            words = AVOID.sub(" ", words)
        words = ONLY.sub(r"only \1", URL_BEHIND.sub(" ", words))
        words = NOT_SAME_SIDE.sub(" ", NOT_FOUND.sub("did not ", YOU_ASKED.sub("", words)))
        last = self._texts_of(self._so_far or self._before)
        if len(sides := sides_of(" . ".join(last.values()))) == 1:
            words = SAME_SIDE.sub(f"on the {next(iter(sides))}", words)
        words = _with_its_name(words, self._items_of_part(part))
        words = ON_NEITHER.sub(r"\1 not \2 either", words)
        it = not part.ids and self._cited and PRONOUN.match(words)
        before_now = not part.ids and self._is_of_earlier(words)
        if it and before_now and (name := self._cited_name()):
            words, it = PRONOUN.sub(name, words, count=1), None  # "it was not there in 2022"
        if it and (against := self._other_side(words)):
            yield against
            return
        items = self._items_of_part(part)
        against = self._contradiction(words, part, items, around)
        if against and (right or not re.match(r"[\d.]+ is ", against)):
            yield against
            return
        for number in part.known or self._spoken_of(words):
            every = self._results[number].message.data.get("items") or {}
            digits = alpha2digit(alpha2digit(words, "en", 0), "de", 0)
            if not part.known and not any("flagged" in one for one in every.values()):
                continue  # what nothing is cited for is told of labels
            if share := wrong_share(digits, every.values()):
                yield f"result {number} says {share}"
                return
        if right and (found := self._of_item(words, items) or ratio_against(words, items)):
            yield found
            return
        if not items and (found := self._figure_of_another(words, part.known)):
            yield found
            return
        if right and TREND.search(words) and self._is_single(items):
            yield f"result {_listed(part.known)} {_CANNOT}"
            return
        if OF_IT.match(words) and len(items) == 1 and self._texts_of(self._before):
            ((key, text),) = items.items()
            if not concepts_of(text) and self._before != [key]:
                yield f"{key} is {text}"  # a length, of which it is not known what it is of
                return
        told = [*self._statement(words, part.known, before, items)]
        if not part.ids:
            if not told and before_now and self._is_told_of_ours_only(words):
                told = [self._unsupported()]
            told = [*self._without_evidence(words, told, is_of_cited=bool(it or around[1]))]
        # Beside a wrong figure it is said already; who tells the item's own may say what it means.
        own = shared(_blanked(words, _YEAR.finditer(words)), items.values())
        right &= not any(one[0].isdigit() or is_drug(one) for one in own)
        yield from (why for why in told if right or not why.endswith(_CANNOT))

    def _texts_of_ours(self) -> Iterator[str]:
        """Yield the items of results of the image that is asked about."""
        for number, result in self._results.items():
            if number not in self._elsewhere:
                yield from (result.message.data.get("items") or {}).values()

    def _is_single(self, items: Mapping[str, str]) -> bool:
        """Return whether items are of records, and each the only one of its name: no course."""
        for key, text in items.items():
            number = int(key.partition(".")[0])
            every = self._results[number].message.data.get("items") or {}
            name = text.partition(",")[0].casefold()
            alike = [one for one in every.values() if one.partition(",")[0].casefold() == name]
            if self._results[number].images or len(alike) > 1 or not any(_dates(text)):
                return False
        return bool(items)

    def _is_of_earlier(self, words: str) -> bool:
        """Return whether words speak of another image than is asked about, and compare nothing."""
        earlier = max(self._images_named(words), default=(0, False))[1]
        return (
            bool(self._elsewhere)
            and earlier
            and not (_CHANGE.search(words) or _IS_NEW.search(words))
        )

    def _cited_name(self) -> str:
        """Return the name of the finding that the sentence before cites; "" if that is not one."""
        texts = [*self._texts_of(self._cited).values()]
        found = [text[place:].partition(",")[0] for text in texts for place in findings_in(text)]
        return found[0] if len({one.casefold() for one in found}) == 1 else ""

    def _is_told_of_ours_only(self, words: str) -> bool:
        """Return whether only results of the image that is asked about speak of words' findings."""
        if DECLINED.search(words) or NOT_MENTIONED.search(words) or NOT_GIVEN.search(words):
            return False
        keys = {key for key in findings_in(words).values() if not is_generic(key)}
        own = {key for number in self._results for key in self._concepts(number)}
        others = {key for number in self._elsewhere for key in self._concepts(number)}
        return bool(keys) and keys <= own and keys.isdisjoint(others)

    def _is_said_of(self, places: Sequence[int], words: str) -> bool:
        """Return whether each finding of words stands in a clause with a figure at these places."""
        cuts = [0, *(one.end() for one in CLAUSES.finditer(words)), len(words) + 1]

        def clause(place: int) -> int:
            return next(i for i, end in enumerate(cuts[1:]) if place < end)

        own = {clause(place) for place in places if place < len(words)}
        return all(clause(place) in own for place in findings_in(words))

    def _other_side(self, words: str) -> str:
        """Return what the items that the sentence before cites say of the other side than words."""
        said = sides_of(words)
        for key, text in self._texts_of(self._cited).items():
            sides = sides_of(text)
            if said and sides and said.isdisjoint(sides):
                number = key.partition(".")[0]
                return f"result {number} says {' and '.join(sorted(sides))}: {text[:90]}"
        return ""

    def _without_evidence(
        self, words: str, told: Sequence[str], *, is_of_cited: bool
    ) -> Iterator[str]:
        """Yield what is wrong with words that cite nothing: as `told`, but of talk and of claims.

        With `is_of_cited` they go on with what the sentence before cites: "it lies at the top".
        Talk needs no evidence, whatever it names. What surely asserts something medical needs it,
        also in words that no list has.
        """
        sure = asserts(" ".join(words.replace("*", " ").split()))
        yield from (why for why in told if why != self._unsupported() or sure > _TALK)
        flagged = any("flagged yes" in text for text in self._texts_of_ours())
        if NOT_NORMAL.search(words) and flagged and not findings_in(words):
            return  # "I would not call it normal"
        if not told and SAFE.search(words) and not DECLINED.search(words):
            yield self._unsupported()
            return
        if (
            told
            or sure < _CLAIM
            or not self._results
            or any(
                one.search(words)
                for one in (
                    DECLINED,
                    NOT_GIVEN,
                    NOT_MENTIONED,
                    NOT_DONE,
                    SALUTATION,
                    ORIENTATION,
                    ABOUT_ANSWER,
                )
            )
            or findings_in(words)
        ):
            return
        said, signs = words_in(in_digits(words, None)), words.replace(" ", "")
        facts = (fact for number in self._results for fact in self._facts(number).said)
        plain = sum(map(str.isalpha, signs)) > _LETTERS * len(signs) and len(tokens_of(words)) > 1
        plain = plain and not (is_of_cited and (sides_of(words) or not PRONOUN.match(words)))
        if plain and said and not any(said & fact.words for fact in facts):
            yield self._unsupported()

    def _parts(self, sentence: str, every: str) -> list[_Part]:
        """Return the parts of a sentence, each up to its citation.

        What stands behind the last one belongs to it; citations in a row are of one part.
        """
        parts: list[_Part] = []
        at = 0
        for found in citations(sentence, self._items):
            ids = [one["id"] for one in numbers_in(found[0])]
            tail = OWN_PREDICATE.match(every, at, found.start())
            if parts and tail and re.search(r"\w", every[tail.end() : found.start()]):
                parts[-1].stop = at = tail.end()  # "creatinine [7.1] is high, potassium [7.4] ..."
            if (cut := every.rfind(";", at, found.start())) > 0 and re.search(r"\w", every[at:cut]):
                parts.append(_Part(at, cut, len(every[:cut].rstrip(_END)), []))
                at = cut + 1  # what stands before it rests on something else, or on nothing
            if parts and not re.search(r"\w", every[at : found.start()]):
                parts[-1].ids += ids
                parts[-1].end = found.end()
            else:
                parts.append(_Part(at, found.start(), found.end(), ids))
            at = found.end()
        if not parts:
            return [_Part(0, len(sentence), len(sentence.rstrip(_END)), [])]
        rest = _Part(at, len(sentence), len(sentence.rstrip(_END)), [])
        begun = BESIDES.match(every) is not None and len(parts) == 1
        if re.match(r"\s*;.*\w", every[at:]) or ANOTHER_CLAIM.match(every, at) or begun:
            parts.append(rest)  # it rests on something else, or on nothing
        elif re.search(r"\w", every[at:]):
            parts[-1].stop, parts[-1].end = rest.stop, rest.end
        for part in parts:
            there = [key for key in part.ids if "." not in key or self._texts_of([key])]
            numbers = dict.fromkeys(int(key.partition(".")[0]) for key in there)
            part.known = [number for number in numbers if number in self._results]
        return parts

    def _elsewhere_told(self, part: _Part, sentence: str) -> Iterator[str]:
        """Yield which cited results are of another image than the one that is spoken of."""
        said = sentence[: part.end]
        column = said.count("|") - 1
        if 0 <= column < len(self._columns) and (other := self._columns[column]) is not None:
            for number in part.known:
                if not other and number in self._elsewhere:
                    yield self._elsewhere[number]
                elif other and number not in self._elsewhere and self._results[number].images:
                    yield f"result {number} is of the image that is asked about"
            return
        own = sentence[part.start : part.stop]
        if not self._elsewhere or self._quoted(part, sentence) or DECLINED.search(own):
            self._carried |= not self._elsewhere.keys().isdisjoint(part.known)
            return
        cited = [number for number in self._numbers_in(sentence) if number in self._results]
        both = len({one in self._elsewhere for one in cited}) > 1
        if both and (_CHANGE.search(sentence) or sentence.lstrip().startswith("|")):
            return
        if len({one in self._elsewhere for one in part.known}) > 1 and (
            _OF_BOTH.search(own) or any(earlier for _, earlier in self._images_named(own))
        ):
            return  # "Cardiomegaly; the heart was normal in 2022 [1.1] [8.2]"
        near = sentence[: sentence.find(";", part.end)] if ";" in sentence[part.end :] else sentence
        named = [*self._images_named(said)] or ([] if both else [*self._images_named(near)])
        goes_on = self._spoken and (PRONOUN.match(sentence) or THERE.search(sentence))
        earlier = max(named)[1] if named else self._headed or bool(goes_on) or None
        for number in part.known:
            if number in self._elsewhere:
                why = self._elsewhere[number]
                by = said if both else sentence
                own_words = any(other for _, other, denied in self._images_in(own) if denied)
                past = own_words or (
                    not named and (_PAST.search(by) or self._names_tool(number, by))
                )
                if earlier or (self._carried and not named) or past or _names(sentence, why):
                    self._carried = True
                else:
                    yield why
            elif earlier and self._elsewhere and self._results[number].images:
                yield f"result {number} is of the image that is asked about"

    def _images_named(self, text: str) -> Iterator[tuple[int, bool]]:
        """Yield where a text speaks of an image, and whether of another one than is asked about."""
        for place, other, denied in self._images_in(text):
            if not denied:
                yield place, other

    def _images_in(self, text: str) -> Iterator[tuple[int, bool, bool]]:
        """Yield like `_images_named`, and whether the image is denied: "not on this film"."""
        patterns = ((EARLIER, True), (_NOW, False), (self._theirs, True), (self._ours, False))
        text = _blanked(text, _ADDRESS.finditer(text))
        for pattern, other in patterns:
            for one in pattern.finditer(text):
                denied = NOT_THIS.search(text, max(0, one.start() - 30), one.start())
                yield one.start(), other, denied is not None
        for place, time in _times_in(text):
            if (time in self._their_times) != (time in self._our_times):
                yield place, time in self._their_times, False

    def _words_of_images(self) -> tuple[re.Pattern[str], re.Pattern[str]]:
        """Return patterns of the words that mean the images asked about, and the others, only."""
        own, others = ({str(note.get("modality")) for note in notes} for notes in self._images())

        def only(kinds: set[str]) -> re.Pattern[str]:
            words = [word for word, every in _MODALITIES.items() if not kinds.isdisjoint(every)]
            return re.compile(rf"\b(?:{'|'.join(words) or '(?!)'})\b", re.IGNORECASE)

        return only(own - others), only(others - own)

    def _images(self) -> tuple[Sequence[Mapping[str, Any]], Sequence[Mapping[str, Any]]]:
        """Return the notes on the images that are asked about, and on the others."""
        intent = self._director.intent
        notes = intent.scene.images
        asked = [note for note in notes if note.get("id") in intent.images] or notes[:1]
        return asked, [note for note in notes if note not in asked]

    def _names_tool(self, number: int, words: str) -> bool:
        """Return whether words name a result by its tool, which no image asked about has seen."""
        tools = {one: set(item.call.name.split("_")) for one, item in self._results.items()}
        ours = set[str]().union(*(tools[one] for one in tools if one not in self._elsewhere))
        said = tokens_of(words)
        return any(one.text in tools[number] - ours and len(one.text) > _LEAST for one in said)

    def _numbers_in(self, sentence: str) -> Iterator[int]:
        for found in citations(sentence, self._items):
            yield from (int(one["number"]) for one in numbers_in(found[0]))

    def _quoted(self, part: _Part, sentence: str) -> bool:
        """Return whether a part of a sentence is a quotation of the item that it cites."""
        quoted = [one[1].casefold().strip(" .") for one in _QUOTE.finditer(sentence[: part.stop])]
        told = [text.casefold() for text in self._items_of_part(part).values()]
        return any(one and any(one in text for text in told) for one in quoted)

    def _of_other_images(self) -> Iterator[tuple[int, str]]:
        """Yield which results are of an image that is not asked about, each with its mark."""
        record, intent = self._director.record, self._director.intent
        about = frozenset[str]().union(*(record.sources(note) for note in self._images()[0]))
        concerned = relevant_results(record, intent, (), by_rules=False)
        for number, item in self._results.items():
            if about and item.images and item.sources.isdisjoint(about):
                image = concerned.other_image_name(item) or "another image"
                yield number, f"result {number} is of {image}"

    def _times(self) -> tuple[set[int], set[int]]:
        """Return the years and months of the images asked about with their results; and others."""
        ours, theirs = set[int](), set[int]()
        notes = self._director.intent.scene.images
        asked, _ = self._images()
        every = [(note in asked, note) for note in notes]
        every += [(n not in self._elsewhere, i.message.data) for n, i in self._results.items()]
        for own, said in every:
            times = (_times_in(text[:_MOST_STRINGS]) for text in _strings(said))
            (ours if own else theirs).update(time for one in times for _, time in one)
        return ours, theirs

    def _texts_of(self, ids: Iterable[str]) -> dict[str, str]:
        """Return the texts of items by their ids; without those that there are not."""
        found: dict[str, str] = {}
        for key in ids:
            result = self._results.get(int(key.partition(".")[0]))
            items = result.message.data.get("items") if result is not None else None
            if items and key in items:
                found[key] = items[key]
        return found

    def _facts(self, number: int) -> Facts:
        """Return what a result says."""
        if number not in self._read:
            self._read[number] = facts_of(self._results[number].message.data)
        return self._read[number]

    def _contradiction(
        self, words: str, part: _Part, items: Mapping[str, str], around: tuple[str, str]
    ) -> str:
        """Return what results say against words: the cited ones, or else all of them."""
        if not self._results or NOT_DONE.search(words) or self._lacks(words, part):
            return ""
        if (
            LISTS_NAMES.search(words)
            or EXCEPTION.search(words)
            or (CHANGED.search(words) and re.search(r"\d[.,]\d|\b(?:score|wert)", words))
        ):
            return ""
        if part.known and _IS_NEW.search(words) and self._elsewhere.keys() >= {*part.known}:
            return ""  # "it is new, since the prior's report denied it [8.1]"
        if items:
            number = int(next(iter(items)).partition(".")[0])
            own = Facts(tuple(item_facts([*items.values()])))
            if NONE_THERE.search(words) and all(fact.denied for fact in own.said):
                return ""
            why = contradiction(
                words, [(number, own)], cited=True, presence=partial(_presence, *around)
            )
            if " says: " in why and _repeats(words, own):
                why = ""
            # Which item it is comes before what it says.
            if why := (self._wrong_item(words, items) or why or _of_other_side(words, items)):
                return why
        if not part.known and DECLINED.search(words):
            return ""
        own = Facts(tuple(item_facts([*items.values()])))
        numbers = part.known or [one for one in self._results if one not in self._elsewhere]
        named = [*self._images_named(words)]
        earlier = bool(named) and all(other for _, other in named)
        compares = _CHANGE.search(words) or _IS_NEW.search(words)
        if not part.known and earlier and self._elsewhere and not compares:
            numbers = [*self._elsewhere]
        facts = [(number, self._facts(number)) for number in numbers]
        if not part.known and (why := normal_against(words, facts)):
            return why
        why = contradiction(
            words, facts, cited=bool(part.known), presence=partial(_presence, *around)
        )
        sides, told = sides_of(words), sides_of(" . ".join(items.values()))
        if items and sides and sides <= told and re.search(r" says (?:left|right)", why):
            return ""  # another item lies on the other side
        return "" if items and " says: " in why and _repeats(words, own) else why

    def _lacks(self, words: str, part: _Part) -> bool:
        """Return whether words tell what results do not give, as the cited items do not."""
        found = NOT_GIVEN.search(words)
        if found is None:
            return False
        what = next(filter(None, found.groups())).casefold()
        fields = FIELDS.get(what[:4], what[:4])
        return not any(
            re.search(rf"\b{fields}\b", text) for text in self._items_of_part(part).values()
        )

    def _wrong_item(self, words: str, items: Mapping[str, str]) -> str:
        """Return what the cited items are, if a sentence tells another one of their result instead.

        That is also one of another organ.
        """
        key, text = next(iter(items.items()))
        words = _NO_FIELD.sub(" ", words)
        numbers = NUMBER.finditer(words)
        words = _blanked(words, (i for i in numbers if _BOUND.search(words[: i.start()][-_REACH:])))
        every = self._results[int(key.partition(".")[0])].message.data.get("items") or {}
        alike = shared(words, map(_without_dates, items.values()))
        others = [
            shared(words, [_without_dates(told)]) for one, told in every.items() if one not in items
        ]
        own, other = organs_in(" . ".join(items.values())), organs_in(words)
        shown = subjects_in(words, _statement_words(self._plans))
        number = int(key.partition(".")[0])
        doubtful = DOUBT.search(words) or any(self._by_tool(number, one) for one in shown)
        if not re.search(r"\d", words) and doubtful:
            return ""  # a judgement, that rests on the number
        elsewhere = len(other) == 1 and bool(own) and own.isdisjoint(other)
        if compared_wrongly(words, every) == "":
            return ""  # "half as wide as the thorax", of the ratio
        told = {word for word in alike if word[0].isalpha()}
        if any(one[0].isdigit() for one in alike) and _measures_another(words, items, every):
            return f"{key} is {text}"
        # Its number is told: then only a finding's or an organ's name tells another item.
        more = [
            {w for w in one - told if not alike - told or w[:1] in "FCO"}
            for one in others
            if one >= told
        ]
        if (elsewhere and alike) or (any(more) if told else not alike and any(others)):
            return f"{key} is {text}"
        return ""

    # -- figures

    def _of_item(self, words: str, items: Mapping[str, str]) -> str:
        """Return what the cited items are, if none of the numbers of a sentence is theirs."""
        counted = all(" count " in text for text in items.values())
        known_words = None if counted else _statement_words(self._plans)
        dates, days = set(_dates(words)), [{*_dates(text)} for text in items.values()]
        other = dates <= self._dates and dates.isdisjoint(set().union(*days))
        if dates and days and all(days) and other and not _PICTURES.search(words):
            key, text = next(iter(items.items()))
            return f"{key} is {text}"
        undated = _blanked(_without_dates(words), _DATE_IN_WORDS.finditer(words))
        figures = in_digits(undated, known_words)
        figures = _blanked(figures, _ITEM.finditer(figures))
        befores = [
            figures[max(0, one.start() - _REACH) : one.start()] for one in NUMBER.finditer(figures)
        ]
        said = [
            (one, before)
            for one, before in zip(NUMBER.finditer(figures), befores, strict=True)
            if not (_BOUND.search(before) or _NAMED_BY_NUMBER.search(before))
            and not _YEAR.fullmatch(one[0])
        ]
        parts = parts_of(words)
        for key, text in items.items():
            if any(parts.get(whole, part) != part for whole, part in parts_of(text).items()):
                return f"{key} is {text}"
        own = [one for text in items.values() for one in figures_in_text(text)]
        own += [
            Figure(abs(float(one) - float(other)), "px")
            for text in items.values()
            for box in _BOX.finditer(text)
            for one, other in ((box[1], box[3]), (box[2], box[4]))
        ]
        if _DERIVED.search(words):  # "rose by 0.38"
            own += [
                Figure(abs(one.value - other.value), one.unit)
                for one in own[:_MOST_ADDED]
                for other in own[:_MOST_ADDED]
                if one.unit == other.unit and one.value != other.value
            ]
        if not said or not own:
            return ""
        right: dict[str, bool] = {}  # whether a figure in a unit is one of an item's
        for one, before in said:
            value, decimals = rounded(one, before)
            unit = unit_of(one["unit"] or one["tight_unit"] or "")
            fits = any(same_figure(value, decimals, unit, known, units=False) for known in own)
            right[unit] = right.get(unit, False) or fits
        other = any(
            not fits and unit in _OWN and any(one.unit == unit for one in own)
            for unit, fits in right.items()
        )
        key, text = next(iter(items.items()))
        return f"{key} is {text}" if other or not any(right.values()) else ""

    def _is_derived(self, found: re.Match[str], figures: str, parts: Sequence[_Part]) -> bool:
        """Return whether a figure is the sum or difference of others that the sentence tells."""
        said, decimals = value_of(found)
        unit = unit_of(found["unit"] or found["tight_unit"] or "")
        others = figures[: found.start()] + " " + figures[found.end() :]
        ids = [key for part in parts for key in part.ids] or self._cited
        texts = self._texts_of(ids).values()
        known = {one for text in (others, *texts) for one in figures_in_text(text)}
        percent = unit == "%"
        per = re.match(r"\s*(?:per|pro|/)\s", figures[found.end() :]) is not None
        values = {abs(one.value) for one in known if percent or per or one.unit == unit}
        if not 0 < len(values) <= _MOST_ADDED:
            return False
        made = {sum(values)} | {
            abs(one - other) / (other / 100 if percent else 1)
            for one in values
            for other in values
            if other
        }
        if percent or per:
            made |= {
                (100 if percent else 1) * one / other
                for one in values
                for other in values | {sum(values)}
                if other
            }
        made |= {
            abs(one.value) * times
            for text in texts
            for word, times in OFTEN.items()
            for one in figures_in_text(text)
            if word in text and one.unit == unit
        }
        slack = 0.5 * 10.0**-decimals * 1.0001
        return any(abs(one - abs(said)) <= slack for one in made)

    def _is_time_between(self, found: re.Match[str], figures: str) -> bool:
        """Return whether a number of months or the like is the time between two known dates."""
        length = _TIME.match(figures, found.start())
        if length is None or not _APART.search(figures):
            return False
        days = _DAYS[length["unit"][:2].casefold()]
        said = float(length["number"].replace(",", ".")) * days
        times = (abs((one - other).days) for one in self._days for other in self._days)
        return any(between and abs(between - said) <= days / 2 for between in times)

    def _count(self, found: re.Match[str], figures: str, cited: Sequence[int]) -> str:
        """Return what results count of what stands behind a number, if it is another number."""
        if found["unit"] or found["tight_unit"] or _YEAR.fullmatch(found[0]):
            return ""
        behind = re.match(
            r"(?!\s+(?:the|entr(?:y|ies)|items?|results?|points?)\b)(?:\s+[^\W\d_]+){1,4}",
            figures[found.end() :],
        )
        value, decimals = rounded(found, figures[: found.start()])
        if behind is None or decimals > 0:
            return ""
        numbers = cited or [one for one in self._results if one not in self._elsewhere]
        facts = [(number, self._facts(number)) for number in numbers]
        return miscounted(behind[0], value, facts, decimals)

    def _given(self, history: Iterable[Message]) -> Iterator[Figure]:
        """Yield the figures of questions, image notes and failed calls."""
        for message in history:
            if message.role == "user":
                yield from figures_in_text(message.text)
                yield from figures_in(message.images)
            elif message.role == "tool" and not message.ok:
                yield from figures_in_text(message.text)

    def _of_results(self) -> Iterator[Figure]:
        for number, item in self._results.items():
            message = item.message
            told = {key: value for key, value in message.data.items() if key != "items"}
            for part in (told, item.call.arguments):
                yield from figures_in(part, source=number)
            for left, top, right, bottom in _boxes_in(told):
                yield from (Figure(abs(one), "px", number) for one in (right - left, bottom - top))
            lengths = (v for v in message.output.values() if isinstance(v, list | dict))
            yield from (Figure(float(len(cast("Any", v))), "", number) for v in lengths)
            tool = self._director.tool(item.call.name)
            if tool is not None:
                yield from figures_in_text(tool.spec.description, number)

    def _figure(self, before: str, found: re.Match[str], cited: Sequence[int]) -> str:
        """Return what is wrong with a figure; "" if it stems from a result or the question."""
        as_written = found["unit"] or found["tight_unit"] or ""
        unit = unit_of(as_written)
        shown = as_written if len(as_written) < 6 else unit  # "millimetres": mm
        other_unit = f"no result gives this in {shown}"
        if _NAMED_BY_NUMBER.search(before) and not unit:
            return ""
        said, decimals = rounded(found, before)
        own = self._of_key(before, cited)
        near = own or [*self._near(said, decimals)]
        alike = [item for item in near if same_figure(said, decimals, unit, item, units=False)]
        if own and not alike:
            return f"result {own[0].source} says {own[0].value:.6g} {own[0].unit}".rstrip()
        same = [item for item in alike if same_figure(said, decimals, unit, item)]
        written = [k for k in self._figures if unit and k.unit and abs(k.value) == abs(said)]
        if not same and any(k.source in cited for k in written):
            return other_unit
        # That another result, or the question, names.
        limit = bool(_BOUND.search(before) or _OUT_OF.search(before))
        here = [item for item in same if not cited or limit or item.source in (0, *cited)]
        exact = any(k.unit == unit and abs(k.value) == abs(said) for k in same)
        if (
            not here
            and not exact
            and unit not in ("", "x")
            and (alike or (unit in _LENGTHS and not self._measured))
        ):
            return other_unit
        if not here:
            return f"not in result {_listed(cited)}" if cited else "in no result"
        elsewhere = [self._elsewhere.get(item.source, "") for item in here]
        return "" if cited or not all(elsewhere) else elsewhere[0]

    def _near(self, said: float, decimals: int) -> Iterator[Figure]:
        """Yield the known figures that may be the one that is said, in whatever unit."""
        slack = 10.0**-decimals
        for factor in (1, 0.001, 0.01, 0.1, 10, 100, 1000):
            low, high = (abs(said) - slack) * factor, (abs(said) + slack) * factor
            at = bisect_left(self._figures, low, key=lambda item: abs(item.value))
            while at < len(self._figures) and abs(self._figures[at].value) <= high:
                yield self._figures[at]
                at += 1

    def _of_key(self, before: str, cited: Sequence[int]) -> list[Figure]:
        """Return the figures that results have under the name directly before a figure."""
        longest, found = 0, list[Figure]()
        for number in cited or self._results:
            for key, value in self._results[number].message.output.items():
                if isinstance(value, bool) or not isinstance(value, int | float):
                    continue
                name, unit = name_and_unit_of(key)
                if len(name) < longest or not _named(name).search(before):
                    continue
                found = found if len(name) == longest else []
                longest = len(name)
                found.append(Figure(float(value), unit, number))
        return found

    # -- statements

    def _statement(
        self,
        words: str,
        cited: Sequence[int],
        before: Collection[int],
        items: Mapping[str, str],
    ) -> Iterator[str]:
        words = REQUEST.sub("", words)
        if (
            DECLINED.search(words)
            or NOT_DONE.search(words)
            or not (self._results or self._director.intent.scene.images)
        ):
            return
        if TRUSTED.search(words):
            yield from (
                f"result {number} is marked unreliable"
                for number in cited
                if self._results[number].message.output.get("reliable") is False
            )
        yield from self._finding(words, cited, before)
        for index in sorted(self._stated(words, items)):
            statement = self._plans.statements[int(index)]
            numbers = before or self._spoken_of(words)
            shown = [number for number in numbers if self._shows(number, index)]
            if not shown and (NOT_GIVEN.search(words) or NOT_MENTIONED.search(words)):
                continue
            doubts = [_doubt(self._results[number]) for number in shown]
            if not shown and cited:
                yield f"result {_listed(cited)} {_CANNOT}"
            elif not shown:
                yield self._unsupported()
            elif statement.is_judgement and all(doubts) and not DOUBT.search(words):
                yield f"result {shown[0]} {doubts[0]}"
        against = dict(self._against(words, cited or self._results))
        said = [f"result {number} says {why}" for number, why in against.items() if why]
        if said and (cited or len(said) == len(against)):
            yield said[0]

    def _finding(self, words: str, cited: Sequence[int], before: Collection[int]) -> Iterator[str]:
        """Yield what is wrong with a finding that a sentence names, and no pack has words for."""
        if not cited and CHANGED.search(words):
            if PRONOUN.match(words) and self._before and not findings_in(words):
                yield self._unsupported()  # "it has doubled within a month"
                return
            ours = [number for number in self._results if number not in self._elsewhere]
            for key in findings_in(words).values():
                told = [
                    any(key in self._concepts(n) for n in each) for each in (ours, self._elsewhere)
                ]
                if self._elsewhere and not all(told):
                    yield self._unsupported()
                    return
        if cause := CAUSE.search(words):
            told = words_in(cause["of"])
            facts = (self._facts(number).said for number in self._results)
            if told and not any(told & fact.words for one in facts for fact in one):
                yield self._unsupported()
                return
        tokens = tokens_of(words)
        by_pack = {
            tokens[place].start
            for found in _statement_words(self._plans).find(tokens)
            for place in found.positions
            if self._plans.statements[int(found.owner)].tools
        }
        named = findings_in(words)
        organs_only = named and all(key.startswith("O") for key in named.values())
        if organs_only and self._sizes_against(words, {}) == "":
            return  # "the right lung looks larger than the left"
        numbers = before or self._spoken_of(words)
        for place, key in named.items():
            # "The tumour" may be one of another result.
            told = self._results if THIS.search(words[:place]) else numbers
            known = any(self._speaks_of(number, key, words) for number in told)
            if place in by_pack or known or (cited and is_generic(key)):
                continue
            if NOT_MENTIONED.search(words) or NOT_GIVEN.search(words):
                continue
            around = re.split(r"[,;:]", words[:place])[-1] + re.split(r"[,;:]", words[place:])[0]
            if cited and ADVICE.search(around):
                continue
            yield f"result {_listed(cited)} {_CANNOT}" if cited else self._unsupported()
            return
        if NOT_MENTIONED.search(words):
            return
        if named and not cited:  # of another organ than any result
            organs = organs_in(words)
            if organs and not any(organs & self._concepts(number) for number in numbers):
                yield self._unsupported()
        elif not cited and (sign := SIGN.search(words)):
            told = words_in(sign["of"])
            facts = (self._facts(number).said for number in self._results)
            if told and not any(told & fact.words for one in facts for fact in one):
                yield self._unsupported()

    def _stated(self, words: str, items: Mapping[str, str]) -> set[str]:
        """Return the packs' statements that words make, by their places.

        Findings that no pack has a tool for are those of `_finding`, and that a cited item is
        normal is no statement of a pack.
        """
        about = shared(words, items.values()) if items else frozenset[str]()
        words = _ASIDE.sub(" ", words)
        tokens = tokens_of(words)
        numbers = {int(key.partition(".")[0]) for key in items}
        # What a result does not decide is not borne out by its items either.
        undecided = {
            str(index)
            for index, statement in enumerate(self._plans.statements)
            if statement.is_judgement
            and not _CUTOFF.search(words)
            and any(self._by_tool(n, str(index)) and _doubt(self._results[n]) for n in numbers)
        }
        return {
            found.owner
            for found in _statement_words(self._plans).find(tokens)
            if self._plans.statements[int(found.owner)].tools
            and (
                found.owner in undecided
                or not (
                    (about and any(map(judged, found.entry.split(" .. "))))
                    or names(words, tokens[found.first].start, about)
                )
            )
        }

    def _spoken_of(self, words: str) -> Iterable[int]:
        """Return the results that a sentence without citations may rest on."""
        spoken = self._headed or self._carried
        if max(self._images_named(words), default=(0, spoken))[1]:
            return self._results
        return [number for number in self._results if number not in self._elsewhere]

    def _speaks_of(self, number: int, concept: str, words: str) -> bool:
        """Return whether a result names a finding, or judges an organ; see `findings_in`."""
        named = concept in self._concepts(number)
        return named and bears_on(self._facts(number), concept, words)

    def _concepts(self, number: int) -> frozenset[str]:
        """Return the findings and organs that a result, or the description of its tool, names."""
        if number not in self._named:
            item = self._results[number]
            tool = self._director.tool(item.call.name)
            about = tool.spec.description if tool is not None else ""
            name = item.call.name.replace("_", " ")
            texts = (name, about, *_strings(item.call.arguments), *_strings(item.message.data))
            self._named[number] = concepts_of(" . ".join(texts))
        return self._named[number]

    def _against(self, words: str, numbers: Iterable[int]) -> Iterator[tuple[int, str]]:
        """Yield what results that speak of a sentence's subject say against it; "" for nothing."""
        for number in numbers:
            given = call_result_of(self._results[number])
            for pack in self._plans.packs:
                said = pack.contradicts(words, given) if pack.contradicts else None
                if said is not None:
                    yield number, said

    def _shows(self, number: int, index: str) -> bool:
        """Return whether a result can support a statement: by its tool, or by its own words."""
        if self._by_tool(number, index):
            return True
        item = self._results[number]
        if number not in self._said:
            said = " . ".join(_strings(item.message.data))
            self._said[number] = subjects_in(said, _statement_words(self._plans))
        return index in self._said[number]

    def _by_tool(self, number: int, index: str) -> bool:
        name = self._results[number].call.name
        return name in self._plans.statements[int(index)].tools

    def _unsupported(self) -> str:
        if self._director.model_sees:
            return f"{NO_EVIDENCE}, an impression from a reduced picture"
        return NO_EVIDENCE if self._results else f"{NO_EVIDENCE}, no tool has looked at the image"

    # -- deeds

    def _undone(self, words: str, *, cited: bool) -> bool:
        """Return whether a sentence, citing results or not, claims a deed that no call did."""
        if not all(self._was_done(deed) for deed in self._deeds(words, cited=cited)):
            return True
        if _FAILED.search(words) or words.rstrip().endswith("?"):
            return False
        ran = {item.call.name for item in self._results.values()}
        deeds = _DEED.finditer(words)
        found = next((i for i in deeds if not _NOBODY.search(words, 0, i.end())), None)
        if found is not None:
            if cited and _OF_PATIENT.fullmatch(found["deed"] or ""):
                return False  # "is prescribed [7.5]"
            written = any(
                key.endswith("_path") for i in self._results.values() for key in i.message.output
            )
            shown = self._in_viewer(found["deed"] or found["saved"])
            return not (self._wrote() or shown or (found["saved"] and written))
        if _RAN.search(words):
            named = {name for name in self._director.intent.scene.tools if name in words}
            return bool(named - ran)
        if cited:
            return False
        verbs = (found["verb"] for found in _WORK.finditer(words))
        doing = " . ".join(verb for verb in verbs if not self._in_viewer(verb))
        measured = any("measure" in name for name in ran)
        measured |= any(item.unit in _OF_LENGTH for item in self._figures)
        if _MEASURED.search(doing) and measured:
            return False  # a length that somebody measured is there
        tools = subjects_in(doing, _deed_words(self._plans))
        both = bool(self._elsewhere) and len(self._elsewhere) < len(self._results)
        if both and _COMPARED.search(doing):
            return False  # results of both images are there to be compared
        return bool(tools) and ran.isdisjoint(tools)

    def _deeds(self, words: str, *, cited: bool) -> Iterator[Deed]:
        """Yield the deeds of the packs that a sentence claims, but for files and messages."""
        intent = self._director.intent
        # How something is shown now is known to the model from the notes, or from a call.
        state_asked = _ASKS_STATE.search(intent.question) is not None
        state_asked &= any(note.get("shown") for note in intent.scene.images)
        seen = any(self._was_called(one) for pack in self._plans.packs for one in pack.shown_by)
        every = claimed(words, self._plans.deeds, cited=cited or seen, state_asked=state_asked)
        for deed, verb in every:
            if not re.fullmatch(rf"{_DEEDS}|{_SAVED}", verb, re.IGNORECASE):
                yield deed

    def _tells_deeds(self, words: str) -> bool:
        """Return whether words tell deeds that were done, and nothing of what images show."""
        deeds = [*self._deeds(words, cited=False)]
        return bool(deeds) and not findings_in(words) and all(map(self._was_done, deeds))

    def _was_done(self, deed: Deed) -> bool:
        """Return whether a successful call of this conversation did a deed, or may have."""
        if not deed.calls:
            return self._wrote()
        every = self._items_of(self._results).values()
        return any(map(self._was_called, deed.calls)) or (
            deed.draws and any(_DRAWN.search(text) for text in every)
        )

    def _in_viewer(self, verb: str) -> bool:
        """Return whether a deed of the packs that a verb may tell was done."""
        deeds = self._plans.deeds
        return any(re.fullmatch(i.done, verb, re.I) and self._was_done(i) for i in deeds)

    def _wrote(self) -> bool:
        """Return whether a tool ran that may write or send something."""
        ran = {item.call.name for item in self._results.values()}
        tools = filter(None, map(self._director.tool, ran))
        return any(tool.spec.approval not in _HARMLESS for tool in tools)

    def _was_called(self, wanted: str) -> bool:
        """Return whether a call succeeded in this conversation; see `Deed.calls`."""
        tool, _, word = wanted.partition(" ")
        calls = (i.call for i in self._director.record.all() if i.message.ok)
        return any(one.name == tool and _begins(one.arguments, word) for one in calls)


def _begins(arguments: Mapping[str, Any], word: str) -> bool:
    """Return whether one of a call's arguments is text that begins with a word; "" for any."""
    said = (one.casefold() for one in arguments.values() if isinstance(one, str))
    return not word or any(one.startswith(word) for one in said)


def _repeats(words: str, own: Facts) -> bool:
    """Return whether words say in its own words what is there by the item that they cite."""
    told = words_in(words)
    denies = denies_anything(words) or any(fact.denied for fact in own.said)
    return (
        not denies
        and not opposes(words, own)
        and any(len(told & fact.words) >= _SAME * len(told) > 0 for fact in own.said)
    )


def _measures_another(words: str, items: Mapping[str, str], every: Mapping[str, str]) -> bool:
    """Return whether words give cited items' figure to what another item of the result measures.

    Both items then measure the same (a width, in px), and differ in what they measure it of.
    """
    if any(_OF_WHOLE.search(words[: one.start()]) for one in NUMBER.finditer(words)):
        return False
    said = words_in(_CHEST.sub("thorax", words))
    own = frozenset[str]().union(*map(words_in, items.values()))
    units = {one.unit for text in items.values() for one in figures_in_text(text)}
    for key, text in every.items():
        other = words_in(text)
        alike = units & {one.unit for one in figures_in_text(text)} - {""}
        if key in items or not alike or not own & other or said & (own - other):
            continue
        if said & (other - own):
            return True
    return False


def _is_figure(code: str) -> bool:
    """Return whether code is only a number, or its unit."""
    return bool(NUMBER.fullmatch(code) or NUMBER.fullmatch(f"1 {code}"))


def _with_its_name(words: str, items: Mapping[str, str]) -> str:
    """Return words that name nothing of the one item they cite, with its name for "it"."""
    if len(items) != 1 or concepts_of(words):
        return words
    name = next(iter(items.values())).partition(",")[0]
    if BARE_PREDICATE.match(words):
        return f"{name} {words}"
    found = FOUND_IT.search(words)
    if found is None:
        return words
    group = 1 if found[1] else 2
    return f"{words[: found.start(group)]}the {name}{words[found.end(group) :]}"


def _of_other_side(words: str, items: Mapping[str, str]) -> str:
    """Return what a cited item says of the other side than words that name nothing but a side."""
    said = sides_of(words)
    if len(items) != 1 or len(said) != 1 or concepts_of(words):
        return ""
    ((key, text),) = items.items()
    sides = sides_of(text)
    if len(sides) != 1 or sides == said:
        return ""
    return f"result {key.partition('.')[0]} says {' and '.join(sorted(sides))}: {text[:90]}"


def _presence(before: str, after: str, text: str) -> Mapping[str, float]:
    """Return what a part of a sentence says of a finding; see `sentence_reader.presence`.

    Alone the part may lack its verb, and the rest may tell of something else: both must agree.
    """
    around = f"{before[-AROUND:]} {text} {after[:AROUND]}"
    part, sentence = (" ".join(_NOTE.sub(" ", words).split()) for words in (text, around))
    whole = presence(sentence)
    if len(part.split()) <= _FEW_WORDS:
        return {answer: _OF_FEW * chance for answer, chance in whole.items()}
    if _NEITHER.search(part) and not re.search(r"exclud|ausgeschlossen|certain|sicher", sentence):
        return {ABSENT: 0.9, PRESENT: 0.05, NEITHER: 0.05}  # "neither by this [1.1] nor by that"
    alone = presence(part)
    return {answer: min(chance, whole[answer]) for answer, chance in alone.items()}


def _pieces(text: str) -> Iterator[slice]:
    """Yield the sentences of a text; what goes on without an end is cut into pieces."""
    for start, end in sentences(text):
        while end - start > _LONGEST_SENTENCE:
            cut = text.rfind(" ", start + 1, start + _LONGEST_SENTENCE)
            cut = cut if cut > 0 else start + _LONGEST_SENTENCE
            yield slice(start, cut)
            start = cut
        yield slice(start, end)


class StreamedMarks:
    """Marks a text while it streams, before it is shown.

    A sentence is held back from the first word on that a mark may be about, until it is whole.

    Args:
        marked: Returns a text with its marks; called with one or more whole sentences.
        may_mark: Returns whether anything in the beginning of a sentence may get a mark.
    """

    def __init__(self, marked: Callable[[str], str], may_mark: Callable[[str], bool]) -> None:
        self._marked, self._may_mark = marked, may_mark
        self._open = ""  # the sentence that is not whole yet
        self._shown = 0  # characters of it
        self._in_code = False

    def take(self, piece: str, *, whole: bool = False) -> str:
        """Add a piece of the text; return what can be shown now, with `whole` all that is left."""
        self._open += piece
        at = len(self._open) if whole else self._end_of_whole_sentences()
        ready, self._open = self._open[:at], self._open[at:]
        shown, self._shown = self._shown, max(0, self._shown - at)
        told = self._told(ready)
        # What was shown is not taken back; the end of the run brings the whole text once more.
        out = told[shown:] if told.startswith(ready[:shown]) else ready[shown:]
        if self._in_code or not self._may_mark(self._open):
            out += self._open[self._shown :]
            self._shown = len(self._open)
        return out

    def _told(self, ready: str) -> str:
        parts = ready.split("```")
        told = [
            part if self._in_code != bool(place % 2) else self._marked_part(part)
            for place, part in enumerate(parts)
        ]
        self._in_code ^= len(parts) % 2 == 0
        return "```".join(told)

    def _marked_part(self, part: str) -> str:
        body = part.rstrip()
        return self._marked(body) + part[len(body) :] if body else part

    def _end_of_whole_sentences(self) -> int:
        if len(self._open) > _LONGEST_SENTENCE:
            return max(self._open.rfind(" "), self._open.rfind("\n")) + 1 or len(self._open)
        return [start for start, _ in sentences(self._open)][-1]


def without_tricks(text: str) -> str:
    """Return a text without HTML and signs that are not seen; full-width signs become usual ones.

    Code in it stays as it is.
    """
    if _HTML.search(text):
        text = _HTML.sub(
            lambda one: (
                one["code"]
                or one["cited"]
                or ("**" if one["summary"] else " " if one["line"] else unescape(one["sign"] or ""))
            ),
            text,
        )
    if "*" in text or "_" in text:
        text = _BOLD_DIGITS.sub(
            lambda one: one["code"] or "".join(filter(None, one.groups())), text
        )
    if text.isascii():
        return text
    return "".join(_plain_sign(sign) for sign in text)


_TAGS = (
    "a|b|i|u|s|p|q|em|strong|span|div|br|hr|img|sup|sub|details|summary|table|thead|tbody|tfoot|tr|td|th|ul"
    "|ol|li|dl|dt|dd|h[1-6]|pre|code|font|small|big|mark|del|ins|center|script|style|iframe|svg|input|button"
    "|wbr|kbd|abbr|cite|blockquote|section|article|figure|figcaption|caption|label|strike|tt|var|samp"
)
_HTML = re.compile(
    rf"(?P<code>{CODE})|(?P<cited>\[\d[\d.,;\s\u2013-]{{0,60}}\])"
    r"\((?:[^()\s]|\([^()\s]{0,100}\)){1,300}\)"
    rf"|<!--.*?-->|(?P<summary></?summary>)|(?P<line><br\s*/?>|</?(?:td|th|tr|li|dt|dd|p|div|h[1-6])(?:\s[^<>\n]*)?>)|</?(?:{_TAGS})(?:\s[^<>\n]*)?/?>"
    r"|(?P<sign>&(?:#\d{1,6}|#x[0-9a-fA-F]{1,5}|[a-zA-Z]{2,8});)",
    re.DOTALL | re.IGNORECASE,
)


_BOLD_DIGITS = re.compile(
    rf"(?P<code>{CODE})|\*\*(\d[\d.,]*)\*\*(?=\d)|(?<=\d)\*\*([\d.,]+)\*\*"
    r"|(?<=\d[.,])\*\*(\d+)\*\*"
    r"|[*_]+(\d[\d.,]*)[*_]+([\d.,]+)[*_]*|(?<![\w*])(\d[\d.,]*)(?:\*{1,3}|_{1,3})([\d.,]+)(?:\*{1,3}|_{1,3})",
    re.DOTALL,
)
"""Emphasis within a number, which would look like the end of a sentence: "0.**7**1"."""


@lru_cache(maxsize=1024)
def _plain_sign(sign: str) -> str:
    wide = "\uff01" <= sign <= "\uff5e" or "\U0001d400" <= sign <= "\U0001d7ff"
    return readable(sign) if wide or not readable(sign) else sign


def _without_constants(text: str, formulas: Sequence[tuple[int, int]]) -> str:
    """Return a text without the exponents, indices and small factors of its formulas."""
    found = [one for span in formulas for one in _CONSTANT.finditer(text, *span)]
    return _blanked(text, iter(found))


def _bare(every: str, text: str) -> tuple[str, list[int]]:
    """Return a sentence without emphasis, and the place of each sign that is left.

    Letters of other scripts that look like Latin ones become these.
    """
    of_links = {i for one in _LINK.finditer(text) for i in (one.start(), one.start("end"))}
    places = [
        i
        for i, sign in enumerate(every)
        if i not in of_links and (sign not in "*`" or text[i] != sign)
    ]
    bare = "".join(every[i] for i in places)
    if not bare.isascii():
        bare = re.sub(r"\w+", _in_latin, bare)
    return bare, places


def _in_latin(word: re.Match[str]) -> str:
    return word[0].translate(_ALIKE) if re.search(r"[A-Za-z]", word[0]) else word[0]


_ALIKE = str.maketrans("авсеіјкморѕтухѵ\u03b1\u03bf\u03c1\u03bd\u03b9", "abceijkmopstyxvaopvi")


def _blanked(text: str, matches: Iterable[re.Match[str]]) -> str:
    """Return a text with spaces in place of the matches."""
    parts: list[str] = []
    at = 0
    for found in matches:
        parts += [text[at : found.start()], " " * len(found[0])]
        at = found.end()
    return "".join([*parts, text[at:]])


def _without_dates(text: str) -> str:
    """Return a text without its dates, whose parts are no figures of their own."""
    return _blanked(_blanked(text, _DATE.finditer(text)), _DAY_IN_WORDS.finditer(text))


def _share_of(found: re.Match[str], figures: str) -> bool:
    """Return whether a figure is the percentage that the same sentence tells as "9 of 186"."""
    said, decimals = value_of(found)
    return found["unit"] == "%" and any(
        round(100 * int(part) / int(whole), decimals) == said
        for whole, part in parts_of(figures).items()
        if int(whole)
    )


def _names(sentence: str, why: str) -> bool:
    """Return whether a sentence itself names the image that a mark names."""
    return why.partition(" is of ")[2].casefold() in sentence.casefold()


def _times_in(text: str) -> Iterator[tuple[int, int]]:
    """Yield the years and months (1 to 12) in a text, with their places."""
    yield from ((one.start(), int(one[0])) for one in _YEAR.finditer(text))
    for pattern in (_DAY, _GERMAN_DAY):
        yield from ((one.start(), int(one["month"])) for one in pattern.finditer(text))
    for one in _MONTH.finditer(text):
        yield one.start(), _MONTHS[one[0][:3]]


def _days(text: str) -> Iterator[date]:
    """Yield the days that a text writes as in DICOM or ISO 8601."""
    for found in _DAY.finditer(text):
        with suppress(ValueError):
            yield date.fromisoformat(found[0])


def _dates(text: str) -> Iterator[frozenset[int]]:
    for found in _DATE.finditer(text):
        yield frozenset(int(part) for part in found.groups() if part and part.isdigit())
    for found in _DATE_IN_WORDS.finditer(text):
        month = next(filter(None, (found["of"], found["month"])))
        yield frozenset(
            (
                int(found["year"] or found["in"]),
                _MONTHS[month[:3]],
                int(found["day"] or found["on"]),
            )
        )


def _boxes_in(value: Any) -> Iterator[list[float]]:
    """Yield the boxes in a result: four numbers under a name with "box" in it."""
    if isinstance(value, Mapping):
        for key, one in cast("Mapping[str, Any]", value).items():
            numbers = isinstance(one, list) and all(isinstance(n, int | float) for n in one)
            if "box" in str(key) and numbers and len(one) == 4:
                yield one
            else:
                yield from _boxes_in(one)
    elif isinstance(value, list):
        for one in cast("list[Any]", value)[:_MOST_STRINGS]:
            yield from _boxes_in(one)


@lru_cache(maxsize=512)
def _named(key: str) -> re.Pattern[str]:
    words = r"[\s_]+".join(re.escape(word) for word in key.split("_") if word)
    return re.compile(rf"(?<!\w){words}(?!\w){_BETWEEN}", re.IGNORECASE)


def _strings(value: Any) -> Iterator[str]:
    left = [value]
    for _ in range(_MOST_STRINGS):
        if not left:
            return
        match left.pop():
            case str() as text:
                yield text
            case dict() as table:
                for key, item in cast("Mapping[str, Any]", table).items():
                    yield key.replace("_", " ")
                    left.append(item)
            case list() | tuple() as items:
                left.extend(cast("Sequence[Any]", items))
            case _:
                pass


@lru_cache(maxsize=8)
def _statement_words(plans: Plans) -> Vocabulary:
    return Vocabulary((str(i), word) for i, s in enumerate(plans.statements) for word in s.words)


@lru_cache(maxsize=8)
def _deed_words(plans: Plans) -> Vocabulary:
    return Vocabulary((rule.tool, word) for rule in plans.rules() for word in rule.leave_out)


def _doubt(item: LoggedCall) -> str:
    """Return why a tool's own result gives no judgement; "" if it does give one."""
    if "cannot decide" in str(item.message.output.get("judgement")):
        return "cannot decide this"
    return "is marked unreliable" if item.message.output.get("reliable") is False else ""


def _listed(numbers: Collection[int]) -> str:
    return " and ".join(str(number) for number in dict.fromkeys(numbers))
