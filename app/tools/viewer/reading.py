"""Reads commands to the viewer as people say them, in English and German.

The patterns are in `resources/words/viewer_commands.toml`. A clause is a command only if all of it
is understood, so "is it brighter on the left?" is none. Courtesies are taken off its ends, and
words that are off by one letter are corrected to a word of the patterns. What fits no pattern goes
to a learned reader (`intents`), which also says how sure it is.
"""

from __future__ import annotations

import re
import time
import tomllib
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

from pydantic import BaseModel, ValidationError

from app.paths import resources_dir
from app.tools.finding_names import HERE, SELECTED, is_near, known_words, side_of, words_of
from app.tools.pack_plan import Spoken, SpokenCall
from app.tools.text_classifier import folded, is_number, tokens
from app.tools.viewer import intents
from app.tools.viewer import tools as named
from app.tools.viewer.decisions import VERB, is_plain, is_remark
from app.tools.viewer.intents import NONE, Guess
from app.tools.viewer.places import at_click, at_regions, without_regions
from app.tools.viewer.spoken import NUMBERS, corrected, in_digits, number_of, plain

_LONGEST = 240
"""Characters of the longest text that is read; nobody gives longer commands."""
_LIKELY_OF_NEW_WORDS, _SURE_OF_NEW_WORDS = 0.7, 0.95
_SURE, _LIKELY, _PERHAPS = 0.8, 0.35, 0.25
"""Least probability of a learned reading that comes before all others, of one that counts where
nothing else is understood, and of one that the user is asked about."""
_GERMAN_WORDS = re.compile(
    r"[äöüß]|\b(?:das|die|der|den|dem|ein\w*|bitte|mal|und|ist|nicht|zu|zum|zur|auf|ich|nach"
    r"|bild\w*)\b"
)

_COURTESY = r"""
    hey|hi|hm+|ok|okay|zuerst|erst mal|erstmal|erst(?= \w+(?:en|eln|ern)\b)|first of all|first,|oops
    |ups|uups|sorry|no wait|wait|now|so|again|nochmal|noch mal|then|and|please
    |pls|plz|bitte|jetzt|dann|und|mal
    |once again|once more|can we do|could we do|can you do|let's do|also|kindly|just|nee|nö|nope
    |gleich|quickly
    |maybe just
    |i only need|i just need|go ahead and|can you|you can|you may|could you|would you
    |will you|can we|could we
    |can i (?:see|have|get)
    |could i (?:see|have|get)|may i see|i want you to|i want to|i want
    |i'd rather(?= have)|i need to|i need|i'd like to|actually
    |i'd like|i would like to|i would like|id like|i wanna|let us|let's|lets|let me|for me|us
    |kannst du|kannst|koenntest du|koennen sie|koennten sie|koennen wir|koennte ich|kann ich
    |ich moechte|ich moecht|ich will|ich brauche|ich haette gern|ich haette gerne|wuerdest du
    |wuerden sie|lass uns|lass mal|mir|uns|du|sie
"""
_AFTER = r"""
    the whole lot|while you're at it|while youre at it|wenn du schon dabei bist|would you|please
    |pls|plz
    |thanks|thank you|thx|ty|bitte|danke|now|again|for me|quickly|mal|kurz|jetzt
    |nochmal|noch mal|once|right now|would you|will you|can you|haben|sehen|see|mir|then|dann
    |show me|zeig mir|for comparison|to compare|zum vergleich|zum vergleichen
    |for (?:a|the) (?:minute|moment|second|sec|bit)|for now|fuer (?:einen|den) moment
    |(?:for|fuer) (?:the|my|our|die|den|das|meine|meinen|unsere) (?:talk|lecture|teaching|meeting
    |conference|board|paper|students|vorlesung|vortrag|konferenz|besprechung|fortbildung|studenten)
    |fuer mich|anzeigen lassen|sofort|doch|eben
"""


def _joined(text: str) -> str:
    return "".join(line.strip() for line in text.splitlines())


_OPEN = re.compile(rf"^(?:(?:{_joined(_COURTESY)})\b[ ,]*)+")
_CLOSE = re.compile(rf"(?:[ ,]+(?:{_joined(_AFTER)}))+$")
_FILLERS = re.compile(
    r"\b(?:at least|wenigstens|mal|doch|bitte|eben|einfach|gerade|noch|please|just|kindly|pls"
    r"|me|us|mir|uns)\b"
)
_SIDES = re.compile(r"\b((?:li|re)\.|lt\b\.?|rt\b\.?)")
_SPLIT = re.compile(
    r"\s*(?:[;!]+|(?<!\d)[.](?!\d)|[.](?= )|\?+$|\b(?:(?:and|und) )?(?:then|dann)\b)\s*"
)
_NO_PLACE = re.compile(
    r"\b(?:sl|slice|image|frame|schicht|bild)\s+(?:\d+(?:[.,]\d|\s*[/\u2013-]\s*\d|e\d)|-\s?\d)",
    re.IGNORECASE,
)
_WHOLE = "Nothing was changed: an image has a whole number, as in “slice 12”."
_BULLET = re.compile(r"^(?:[-*•]\s+|\d{1,2}[.)]\s+)")
_LINES = re.compile(r"[.;,]?\s*[\r\n]+\s*(?:[-*•]\s+|\d{1,2}[.)]\s+)?")
"""The end of a line, with the sign or number before the next one of a list."""
_AND = re.compile(
    r"\s*(?:,(?!\d)\s*(?:and|und|but|aber)?\b|(?<!\d),|\b(?:and|und|but|aber)\b|&|\+(?!\d))"
    r"(?: zwar\b)?\s*"
)
_QUESTIONS = re.compile(r"\s*(?:[?!;.](?!\d)|,(?!\d)|\b(?:and|und)\b)+\s*")
_COMMA = re.compile(r"\s*,(?!\d)\s*")
_IT = re.compile(r"\b(?:it|them|this one|that one|ihn|es|sie)\b", re.IGNORECASE)
_IT_OR_ON_IT = re.compile(
    r"\b(?:(?P<on>darauf|drauf|da(?:hin)? rein|dorthin)|it|them|ihn|es|sie)\b"
)
_SIDED_ONE = re.compile(
    r"\b(?:the (?P<side>left|right) one|(?:die|den|das) (?P<seite>linken?|rechten?))(?= |[.,!]*$)"
)
"""One of a pair that was asked for: "outline both lungs, hide the right one"."""
_ASKED_FOR = re.compile(
    r"\b(?:outlin|segment|contour|delineat|measur|trac(?:e|ing)\b|detect|locali[sz]|locate|find"
    r"|look for (?!\w+sel)|draw|umrand|umreiss|einzeichn|zeichne?\b|kontur|vermess|ausmess|miss\b"
    r"|mess(?:e|en)?\b|such|is there|are there|gibt es|enlarged|vergroessert"
    r"|ctr\b|htq\b|ratio\b|quotient)"
)
"""Words of a clause that asks for what is drawn then: "outline the heart, then hide it"."""
_LOOKS_FOR = re.compile(
    r"\b(?:look\w*|check\w*)\b.* for\b(?! \w+sel(?:f|ves))"
    r"|\bnach\b.* (?:schau|such|guck|seh)\w*|\bschau\w*\b.* nach\b"
)
_MAKES_FIRST = re.compile(
    r"(?:(?:please|bitte|can you|could you) )?(?:(?:outline|segment|contour|delineate|measure|draw"
    r"|trace|segmentiere?|umrande|vermiss|miss|zeichne)"
    r" (?:the|both|all|my|his|her|left|right|die|das|den|beide)\b"
    r"|(?:[\w-]+ ){1,4}(?:einzeichnen|umranden|segmentieren|vermessen|ausmessen)\b)"
)
"""A request for what is drawn then; who has not seen it cannot decide on it."""
_NOT_SEEN = (
    "Nothing was changed: a finding is accepted, rejected or deleted once it is there. Ask for it "
    "first, then decide."
)
_ASKED_BEFORE = re.compile(r"(?P<question>[^?]+\?)\s+(?P<command>[^?]+)")
"""A question, and a command behind it: "is the heart enlarged? zoom to it"."""
_PAIR = re.compile(r"(?:the |die )?(?:both|beiden?)\b")
_STUDY = re.compile(
    r"\b(?:prior|previous (?:film|study|one)|old (?:film|study|one)|voraufnahme|voruntersuchung"
    r"|(?:19|20)\d\d (?:film|study|one)|aufnahme von (?:19|20)\d\d)\b"
)
_BUT = re.compile(
    r"\b(?:except(?: for)?|apart from|other than|ausser|bis auf"
    r"|(?<=\ball )but|(?:all|every)\b[^,.]{1,24}? but|everything but) (?:keep )?(?P<name>[^,.]+)"
)
"""An exception, and the name of what is excepted: "hide everything except the nodule"."""
_OTHERS = re.compile(
    r"[,.;] (?:so |and |please )?(\w+) (?:the |all |die )*(?:others?|other ones|rest"
    r"|remaining ones|those"
    r"|them|these|anderen|uebrigen)[ .!]*$"
)
"""As in "I agree with all but the nodule, accept the others"."""
_LEAST_MISSPELT = 5
_MOST_BESIDE = 4
_AGREED = re.compile(
    r"i(?:'m| am)? (?:agree|happy|fine|ok|okay) with (?:all|everything)(?: of (?:them|these|it))?"
)
_DECIDING = ("accept", "reject", "propose", "delete")
_EVERY = re.compile(
    r"(?:all of (?:them|these|those)|them all|sie alle|alle davon"
    r"|(?:every|each)(?: single)?(?: (?:one|finding|mark|marking|overlay))?"
    r"(?: here| (?:in|on) th(?:is|e) (?:image|picture|slice|film|scan|screen|study|series))?"
    r"|(?:saemtliche[nr]?|alle)(?: (?:befunde?n?|markierungen|funde))?(?: hier)?"
    r"|(?:wirklich )?(?:jeden|jeder|jede)(?: einzelnen?)?(?: (?:befund|markierung))?(?: hier)?)$"
)
_SENDS = re.compile(
    r"\b(?:send|push|transfer|transmit|upload|schick\w*|send\w*|uebertrag\w*|lade?"
    r"|lad)\b.*\b(?:pacs|orthanc|archive?)\b"
    r"|\b(?:ins|in das|zum) (?:pacs|archiv)\b.*\b(?:schick\w*|send\w*|uebertrag\w*|laden)\b"
)
_NOT_SENT = (
    "Nothing was sent: Sightline sends nothing to a PACS. Write DICOM files (Ctrl+Shift+E), "
    "and import them there."
)
_I_DECIDED = re.compile(
    r"(?:(?:the|all|those) )*(?:ones?|findings?) (?:(?:that|which) )?i(?:'ve| have)?(?: just)? "
    r"(?P<did>accepted|rejected)"
)
_IS_WINDOWED = re.compile(r"\b(?:window\w*|fenster\w*)\b", re.IGNORECASE)
_FROM_TO = re.compile(
    r"\b(?:(?:from|between|von|zwischen) )?(?P<low>-?\d+(?:[.,]\d+)?) ?(?:hu )?(?:to|bis) "
    r"(?P<high>-?\d+(?:[.,]\d+)?) ?hu\b",
    re.IGNORECASE,
)
_SIGNS = re.compile(
    r"(?:(?:please|bitte|can you|could you|kannst du) )*"
    r"(?:(?:sign|unterschreib\w*|signier\w*)(?: (?:it|this|that|ihn|es|das"
    r"|(?:the |den |die |my |meinen )?(?:report|bericht|befund)))?"
    r"(?: (?:now|off|bitte|please|as .{1,60}|als .{1,60}|for me|fuer mich))*"
    r"|(?:the |den )?(?:bericht|befund|report) (?:unterschreiben|signieren|sign))"
)
_NOT_SIGNED = (
    "Nothing was signed: only you sign a report. Open it with View › Report, read it, and write "
    "your name there."
)
_LATER = re.compile(
    r"(?:^|, )(?:(?:right )?after (?:i|you|we)|once(?! again| more)|as soon as"
    r"|sobald|nachdem)\b"
)
_NOW = "Nothing was changed: a command is carried out at once, not after something else."
_TOPIC = re.compile(
    r"(?!.*\b(?:with|mit|run|use|ask|call)\b.*:)(?:[^\W\d_]+ ){2,5}[^\W\d_]+: (?=\w)", re.I
)
"""What commands are for, before them: "clean screen for teaching: texts off, panels away"."""
_WHICH = "Nothing was changed: say which of the two is meant."
_OR = re.compile(r"\s+(?:or|oder)\s+")
_IN_TURN = re.compile(r"\b(?:then|first|next(?! to)|dann|danach|erst|zuerst|anschliessend)\b")
_DENIED = re.compile(
    r"\b(?:do not|don'?t|never|niemals|auf keinen fall|keinesfalls|keineswegs"
    r"|under no circumstances)\b"
    r"(?! (?:think|believe|see|agree|like|buy|know|trust|need|look|want|mind))|\bbitte nicht\b"
    r"|^nicht\b"
)
_TAKEN_BACK = re.compile(
    r"\b(?:sorry|actually|correction|on second thoughts?|or rather|never ?mind|forget it"
    r"|cancel (?:that|it)"
    r"|leave it|kidding"
    r"|joking|oops|ups|hold on|oder lieber|lieber doch|doch nicht|vergiss es|quatsch|hmm+)\b"
    r"|,\s*(?:er|uh|um|hm|aeh\w*)\s*,|\b(?:stop|stopp|halt|not|no|nope|nein|nicht)\W*$"
    r"|[,.;-]+\s*(?:no|nope|nein|nee)\b(?=[ ,.]*(?:the|das|den|die|der|not|only|nur)\b)"
)
"""Words behind a decision that take it back: "accept the nodule, or rather don't"."""
_FIRST_PLACE = re.compile(
    r"\b(?:first|ersten?|zuerst|als erstes)\b(?!.*\b(?:second|last|zweite\w*|letzte\w*|zuletzt)\b)"
)
"""Words for the first of two places that were clicked."""
_ON_IT = re.compile(
    r" (?:on it|in it|on them|drauf|darauf|(?:is )?(?:best seen|seen best|best visible)"
    r"|am besten(?: zu sehen)?)$"
)
_IS_ONE = re.compile(
    r"(?:(?:the|this|that|die|der|das|den|diese[rsnm]?) )?(?:mask|box|outline|contour|heat ?map"
    r"|measurement|overlay"
    r"|annotation|result|segmentation|maske|kontur|umriss|kasten|segmentierung"
    r"|messung)(?: (?:here|hier|there|da))?"
)
"""One thing, which is the selected one where findings are accepted, rejected or deleted."""
_BECAUSE = re.compile(r"\b(?:because|since|as|weil|denn|da|wegen)\b.*")
_SAID_OF_IT = re.compile(r"(?<=\w) (?:is|are|looks?|ist|sind|sieht|wirkt)\b.*")
_REMARK = re.compile(r"(?:they|that|it|das|die|es|sie)(?:'?re|'?s| are| is| sind| ist)\b")
_OF_SPEAKER = re.compile(
    r"(?:(?:because|since|weil|as|da|sorry|oops) )?"
    r"(?:i'?ll|i'?m|i'?ve|i (?:will|am|was|have|think)|(?:i )?can'?t see|(?:i )?did(?:n'?t"
    r"| not) mean"
    r"|i(?:'d| would)? (?:just )?(?:can'?t|cannot|want|need|like|had) (?:to )?"
    r"|i (?:don'?t|do not) (?:trust|like|believe|see|want|need|care)"
    r"|ich (?:will|muss|moechte|bin|war|seh|glaub|mach|setz|such|brauch|trau)\w*"
    r"|da bin ich|das wollte ich|war nicht so gemeint|das ist mir|(?:please )?leave"
    r"|(?:stay|remain|keep me|bleib\w*) (?:on|at|auf|bei)"
    r"|(?:die|der|das|sie|es|they|it|that|those|these) (?:stoer\w*|nerv\w*|irritier\w*|verdeck\w*"
    r"|bother\w*|annoy\w*|distract\w*|(?:is|are) (?:in the way|distracting)|steh\w* im weg)"
    r"|der rest bleibt)\b"
    r"(?!.*\b(?:selected|ausgewaehlt|markiert|clicked|angeklickt)\b)"
)
"""Clauses in which somebody speaks of themselves: "I'm hunting small nodules"."""
_STATED = re.compile(
    r".*\b(?:bleibt|bleiben|stays?|remains?)\b|"
    r"(?:the|this|that|these|those|it|there|das|die|der|es|hier|da)(?:'s)?\b.*\b(?:is|are|isn'?t"
    r"|aren'?t|looks?"
    r"|seems?|ist|sind|sieht|wirkt|wirken)\b"
)
"""Clauses behind a command that only state something: "the lungs are clear"."""
_POINT = re.compile(
    r"(?<=[a-zß(] )(\d+(?:\.\d+)?), (\d+(?:\.\d+)?)"
    r"(?=\)|[ .;!]*$| (?:as|als|and|und|to|bis|called)\b)",
    re.IGNORECASE,
)
"""A place in pixels, "100, 120", which is no list."""
_GO_ON = re.compile(
    r"(?:(?:please|bitte|ok|okay|now|jetzt|just|can you|could you|kannst du|koenntest du)[ ,]+)*"
    r"(?:go on|keep going|carry on|continue|weiter(?:machen)?|mache? weiter|antworte weiter)"
    r"(?:[ ,]+(?:please|bitte))?"
)
_DISBELIEVES = re.compile(r"^i (?:don't|dont|do not) (?:believe|buy)(?: in)? ")
_ASKS = re.compile(
    r"\b(?:know|whether|if|how|what|which|tell|wissen|ob|wie|warum|welche\w*)\b", re.I
)
_POLITE = re.compile(r"(?:can|could|would|will|kann|kannst|koenn|wuerde)")
_ASKS_WHICH = re.compile(
    r"(?:(?:on|in|auf) )?(?:which|what|welche[rms]?) (?:slice|image|frame|schicht|bild)\b"
    r"|(?:where(?:'?s| is| are)|wo (?:ist|sind|liegt|liegen)) "
)
_IF = re.compile(r"\b(?:if|unless|wenn|falls|sofern)\b")
UNDECIDED = (
    "Nothing was changed: a finding is accepted, rejected or deleted only when you say so plainly."
)
_BY_PLACE = (
    "Nothing was changed: name the finding that is meant, or click it. “The first one” can only be "
    "gone to."
)
_WORKS_BY_PLACE = re.compile(rf"(?:please |bitte )?(?:{VERB.pattern}|hide\b|ausblenden\b|blende\b)")
_COMPARES = re.compile(r"\b(?:compar|vergleich)")
_WRITES = re.compile(r"\b(?:draft|writ|dictat|generat|create|make|schreib|erstell|verfass|diktier)")
_LEADING = re.compile(
    r"^(?:(?:the|der|die|das|den|dem|des|this|that|a|an|ein|eine|einen|on|to|in|auf|aufs|ins|im"
    r"|am|beim|vom|zum|zur|of"
    r"|alle|all|both|beiden?|these|diese|diesen|dieser|dieses|meine|my) )+"
)
_TRAILING = re.compile(r" (?:findings?|again|befunde?|one|result|wieder|for now)$")
_BACK = re.compile(
    r"^(?:(?:go|come|return|switch|jump|wieder|geh) )?(?:back|zurueck)"
    r" (?=(?:to|zu|zum|zur|auf|in)\b)"
)
_SHOWN = (
    r"(?:one|image|picture|film|study|scan|view|viewport|pane|panel|x-?ray|series|stack|bild"
    r"|aufnahme|stapel"
    r"|ansicht|viewer|fenster|serie|studie)"
)
_HERE = re.compile(
    rf" (?:here|hier|there|da|dort|davon"
    rf"|(?:on|in|for|to|of|from|auf|im|bei|fuer|von) (?:this|that|it|dies\w*)(?: {_SHOWN})?)$"
)
"""Words for the viewport that the user clicked last, which is the active one."""
_REASON = re.compile(
    r"[ ,]+(?:because|since|weil|denn|so (?:that )?(?:i|we|you) can|damit (?:ich|wir|man)|um) .*$"
    r"|[ ,]+(?:wegen|because of) [^,;]*$"
    r"|, ?(?:(?:that|it|das|es)(?:'?s| is| ist)|ist) .*$"
)
"""Words after a command that say why: "reject the nodule because it's a nipple"."""
_NAMED = re.compile(
    r"\b(?:(?:left|right|linken?|rechten?|linker|rechter|links|rechts)(?:[- ]?(?:sided"
    r"|seitige\w*))? )?[a-z]{3,}\b"
)
_OF_SHOWN = re.compile(
    r"(?:this|that|it|das|es|dies\w*)(?:'s| (?:is|isn't|looks|seems|was|ist|sieht|scheint|war))\b"
)
_DENIES = re.compile(
    r"\b(?:not|no|never|nicht|nie|don't|dont|doesn't|isn't|without|ohne)\b|\bkein|\bif\b|\bwenn\b"
)
_TOO = re.compile(r"\b(?:too|zu) (?:bright|light|dark|hell|dunkel)\b")
_TOO_MUCH = re.compile(
    r"(?:(?:that|it|this|das|es)(?:'?s| is| ist)? )?(?:too|zu|much too|viel zu)"
    r" (?:bright|light|dark|hell|dunkel|hart|weich|hard|soft|flat|flach|grell|gross|klein|small"
    r"|big)"
)
"""A remark on how the image looks, which asks for nothing by itself."""
_BEGINS_WITH_DENIAL = re.compile(
    r"(?:(?:no|nein|please|bitte|and|und|but|aber|ok\w*)[ ,]+)*"
    r"(?:don't|dont|do not|never|nicht|nie|keine?[mnrs]?|no(?= \w)|lass\w* das)\b"
)
_KEY_IMAGE = re.compile(r"\b(?:key ?(?:image|slice|frame)|schluesselbild)")
_SHOWS = re.compile(
    r"\b(?:back|show|bring|restore|want|open|again|ein|an|her|wieder|zeig\w*|hol\w*)\b"
)
_ONLY_DENIES = re.compile(rf"(?:don't|dont|do not|never|not|nicht|nie)\b(?!.*{_KEY_IMAGE.pattern})")
_DENIES_TAKING_AWAY = re.compile(
    r"\b(?:don't|dont|do not|never|not) (?:hide|remove|take|close|stop|reset|clear|turn|switch)\b"
    r"|\b(?:nicht|nie) (?:ausblenden|entfernen|schliessen|anhalten|stoppen|zuruecksetzen|wegnehmen)"
)
_NEEDED = {
    "second_window": r"second|zweit|another|other|monitor|screen|bildschirm|separate|extra|weitere",
    "close_": r"clos(?!e[- ]?up|er)|shut|remove|rid of|schlie|\bzu\b|weg|entfern|delet|drop|beend"
    r"|done with|fertig",
    "redo": r"redo|again|repeat|restor|bring back|wieder|nochmal|herstell|vor\b|forward",
    "rotate_": r"rotat|turn|spin|dreh|kipp|rotier|\bquarter|viertel|\d|°|clockwise|uhrzeiger"
    r"|side|upright|upside|kopf",
    "flip_": r"flip|mirror|spieg|revers|swap|vertausch|tausch|upside|kopf|wrong way"
    r"|seitenverkehrt|falsch\w* herum",
}
"""Words without one of which nobody asks for the commands that begin so."""
_SEES = ("select", "show", "only", "hide", "describe")
"""Actions on findings that decide nothing."""
_LOST_OR_SENT = frozenset(
    """
    finding_accept finding_reject finding_delete close_study close_all close_record export_picture
    export_report export_movie export_dicom deidentified_copy print copy_picture undo redo
    """.split()  # noqa: SIM905 (a list of words reads better)
)
_TOGGLES = frozenset(("invert", "flip left-right", "flip top-bottom"))
"""Commands that, said twice in other words, are meant once."""
_TAKES_AWAY = frozenset(
    """
    texts_hide names_hide findings_hide invert_off unlink cine_stop current_only layout_single
    panels_all close_viewport reset_view window_original key_image_off findings_only
    """.split()  # noqa: SIM905
)
"""Intents that a denial says: "no more text on it"."""
_DECLINES = re.compile(r"\b(?:don't|dont|do not|never|nicht|not)(?= |$)|\bkeine?n?\b")
_ACROSS = r"(?:left|right|linken?s?|rechten?s?|links|rechts)(?:[ -]hand)?"
_DOWN = r"(?:top|upper|bottom|lower|obere[ns]?|untere[ns]?|oben|unten)"
_SIDE = rf"(?:{_DOWN} {_ACROSS}|{_ACROSS}|{_DOWN})"
_DONE_TO_IT = (
    r"(?:invert|spiegel|dreh|rotier|kipp|zoom|vergroesser|verkleiner|zuruecksetz|maximier|heller"
    r"|dunkler|groesser|kleiner|mehr|weniger|etwas|noch|ein bisschen|bitte|nach|um|auf|im|mit|ganz)"
)
"""Beginnings of the verbs behind "das rechte" that are about an image, not a finding."""
_VIEWPORT = re.compile(
    r"\b(?:(?:in|on|of|for|to|auf|im|von) )?(?:(?:the|das|die|den|dem|der) )?"
    rf"(?:(?P<before>{_SIDE}) {_SHOWN}"
    rf"|{_SHOWN} (?:on|at|auf|in) (?:(?:the|der) )?(?P<behind>{_SIDE})(?: (?:side|seite|half))?"
    rf"|{_SHOWN} (?P<german>{_SIDE})"
    rf"|(?P<bare>(?:linke|rechte)[ns]?)(?=$| {_DONE_TO_IT})"
    r"|(?:viewport|ansicht) (?P<number>[1-9])"
    rf"|(?:(?<=the )|(?<=d[aei][smrne] ))(?P<else>other|anderen?)(?: {_SHOWN})?"
    r"|(?P<time>prior|previous|older|old|earlier|current|newer|new|voraufnahme|voruntersuchung|vorbild"
    rf"|alten?|aktuellen?|neuen?)(?: {_SHOWN}\w*)?"
    rf"|(?:{_SHOWN}|aufnahme) (?:of|from|von|vom) (?P<year>(?:19|20)\d\d)"
    r"|(?P<of>(?:19|20)\d\d)(?:er)? (?:film|image|one|study|x-?ray|bild|aufnahme))(?= |$)"
)
"""A viewport by its place or number: "the one on the right", "das rechte Bild", "viewport 2"."""
_ADVERB = re.compile(r"\b(?P<adverb>links|rechts)(?= |$)")
_CHANGED = re.compile(
    r"(?!.*\b(?:nach|dreh\w*|rotier\w*|kipp\w*)\b).*(?:\b(?:invert|spiegel|spiegle|zoom|vergroesser"
    r"|verkleiner|zuruecksetz|heller|dunkler|groesser|kleiner|mehr kontrast|weniger kontrast"
    r"|\w*fenster)|\d ?%)"
)
"""A clause in which "links" names a viewport, and not a way: "links spiegeln"."""
_FOLLOWS = re.compile(
    r"(?=.*\b(?:and|now|then|also|same|the|on|in|for|und|jetzt|nun|auch|dasselbe|gleiche|d(?:as|ie|en)"
    r"|auf|bei|fuer|both|beiden?)\b)"
    r"(?:\b(?:and|now|then|also|too|next|please|ok(?:ay)?|the|that|same|do|it|again|on|in|for|to|at|with"
    r"|of|other|one|ones|left|right|both|prior|previous|current|old|new|image|film|side|viewport|und"
    r"|jetzt|nun|dann|auch|bitte|noch|mal|nochmal|wieder|das|die|den|dem|der|dasselbe|gleiche|auf|im"
    r"|bei|fuer|mit|andere[nrms]?|linke[nrms]?|rechte[nrms]?|links|rechts|beide[n]?|alte[nrms]?"
    r"|neue[nrms]?|voraufnahme|bild|aufnahme|seite|(?:19|20)\d\d)\b[ ,.;:!?]*)+"
)
"""A text that only names an image, for what was asked before: "and the same on the other one"."""
_SAME_ON = re.compile(
    r"\b(?:same|dasselbe|gleiche) (?:again )?(?:for|on|in|with|to|auf|bei|fuer|im|mit)\b"
)
_WHAT = "Nothing was done: say what to do with that image."
_ALONE = re.compile(
    r"(?:(?:please|bitte|now|jetzt) )?(?:(?:show|display|give|see|zeig|zeige) )?(?:me |mir )?"
    r"(?:(?P<only>(?:only|just|nur)(?: noch)?(?: show(?: me)?)?) )?"
    r"(?:the |my |die |das |den )?"
    r"(?:(?P<year>(?:19|20)\d\d)(?:er)?(?: (?:film|image|one|study|x-?ray|bild|aufnahme))?"
    r"|(?:film|image|one|study|bild|aufnahme) (?:of|from|von) (?P<of>(?:19|20)\d\d)"
    rf"|(?:(?:prior|previous|older|old|earlier)(?: {_SHOWN})?|priors?|voraufnahme"
    rf"|voruntersuchung|vorbild|(?:alte|aeltere|vorige|fruehere)[ns]?(?: {_SHOWN})?)"
    rf"|(?P<new>(?:current|newer|new|newest|latest)(?: {_SHOWN})?"
    rf"|(?:aktuelle|neue|neuere)[ns]?(?: {_SHOWN})?)"
    rf"|(?P<side>{_SIDE})(?: {_SHOWN})?|(?:viewport|ansicht) (?P<number>[1-9]))"
    r"(?P<alone> (?:alone|only|by itself|on its own|alleine?|full ?screen|(?:im )?vollbild))?"
    r"(?:,? (?:please|bitte|zeigen|anzeigen|sehen|an|full ?screen|vollbild|(?:dafuer |ganz )?gross"
    r"|as (?:big|large) as (?:it'?ll go|possible|you can)))*"
)
"""One image that is to be shown without the others: "only the prior"."""
_OF_SERIES = re.compile(
    r" (?:for|of|in|on|fuer|auf|von|der|aus) (?:(?:the|der|die) )?"
    r"(?:(?:series|serie) (?P<number>\d{1,5})|(?!(?:the|this|that|whole|same|current|next|previous"
    r"|der|die|diese[rn]?|ganze[n]?|gleiche[n]?|naechste[n]?)\b)(?P<name>[a-z]\w*(?: \w+)?)"
    r" (?:series|serie))$"
)
"""The series that a viewport shows, at the end of a clause: "lung window for series 3"."""
_YEAR = r"(?P<year>(?:19|20)\d\d)"
_ON_IMAGE = re.compile(
    r"(?<=\w) (?:on|in|of|from|auf|im|von|aus) (?:(?:the|der|dem) )?"
    rf"(?:(?P<side>{_SIDE}) {_SHOWN}|{_YEAR}|(?:viewport|ansicht) (?P<number>[1-9])"
    rf"|(?:{_SHOWN}|aufnahme) (?:of|from|von|vom) (?P<from>(?:19|20)\d\d)"
    r"|(?P<of>(?:19|20)\d\d)(?:er)? (?:film|image|one|study|x-?ray|bild|aufnahme)"
    rf"|(?P<time>prior|previous|older|old|earlier|current|new|newer|neuen|voraufnahme|voruntersuchung|alten|aktuellen)"
    rf"(?: {_SHOWN}\w*)?"
    rf"|(?P<both>both|beiden)(?: of them| {_SHOWN}\w{{0,3}})?)"
    r"(?= (?:please|pls|bitte|and|und|then|dann|annehmen|akzeptieren|bestaetigen|ablehnen"
    r"|verwerfen|loeschen"
    r"|uebernehmen|ausblenden|einblenden|ab|an|aus|ein)\b|[ .,;!]*$|[,;])"
)
"""Matches the image of a finding in a decision: "accept the nodule on the right one"."""
_ONE_ON = re.compile(r"(?<=\bone) on the (?P<side>left|right)(?: side)?(?=[ .,;!]|$)")
_ONE = re.compile(
    r"\b(?P<article>the) one\b"
    r"|\b(?P<german>den|die|das)\b(?= (?:verwerf|ablehn|annehm|akzept|bestaetig|loesch))"
)
"""Matches words for the finding that the clause before names: "reject the one on the right"."""
_A_PAIR_BEHIND = re.compile(r", (?:both|beiden?) \w+[ .!]*$")
"""As in "accept the heart, both lungs", of which nobody says what is with them."""
_THERE = re.compile(r"(?<=[\w%]) (?:there|dort)\b")
_WORKS_ON = re.compile(
    r"\b(?:go|take|jump|bring|zoom\w*|hide|show|geh\w*|spring|blend\w*|zeig\w*|ausblenden)\b"
)
_CLAUSES = re.compile(r"[,;:.]|\b(?:and|und|then|dann|because|since|weil|denn|but|aber)\b")
_LATE = ("current", "new", "aktuell", "neu")
_WORKED = re.compile(
    r"\b(?:invert\w*|flip\w*|mirror\w*|rotat\w*|turn(?! off| on)|zoom\w*|fit|reset"
    r"|spiegel\w*|dreh\w*|kipp\w*|window|fenster\w*|lungenfenster|knochenfenster|vergroesser\w*"
    r"|brighter|darker|heller|dunkler|contrast|kontrast)\b"
)
"""Words of commands on an image that is named by its time: "flip the prior"."""
_WORKED_ON_OTHER = re.compile(
    rf"{_WORKED.pattern}|%|\b(?:bigger|larger|smaller|groesser|kleiner|scroll\w*|play|slice|schicht"
    r"|close|schliess\w*"
    r"|(?:go|switch|jump|move|change|geh\w*|wechsel\w*|wechsle|spring\w*) (?:over )?"
    r"(?:to|zu[mr]?|auf))\b"
)
_SAYS_OTHER = re.compile(
    rf"\b(?:the|all|alle|das|die|den|dem) (?:other|anderen?)(?: {_SHOWN}\b| two\b| three\b|s\b"
    rf"|(?=[ .,;!]*$| {_DONE_TO_IT}))"
)
"""Words for another image than the active one."""
_SIDE_SAID = re.compile(
    r"(?<!to the )(?<!nach )(?<!um )\b(left|right|links|rechts|linke[nsmr]?|rechte[nsmr]?)\b"
    r"(?! ?(?:-|to|and|und) ?(?:left|right|links|rechts)\b)(?!herum)"
)
_STAYS = re.compile(
    r"\b(?:don'?t|not|never|leave|leaving|keep|keeping|stays?|remains?|only|nicht|lass\w*|bleib\w*"
    r"|nur)\b"
)
_ONE_BY_ONE = "Nothing was changed: say it for one viewport after the other."
_PAIRS = (("left", "right"), ("top", "bottom"), ("prior", "current"), ("1", "2"))
_OPPOSITE = {**dict(_PAIRS), **{other: one for one, other in _PAIRS}}
_EACH = r"\b(?:(?:in|on|of|for|auf|im|bei) )?(?:the )?(?:both|all|beiden?|allen?)(?: of the)?"
_ALL_IMAGES = re.compile(rf"{_EACH} {_SHOWN}\w{{0,3}}(?= |$)")
_IN_BOTH = re.compile(
    rf"\b(?:on|in|auf) (?:the )?(?:both|beiden)(?: of them| {_SHOWN}\w{{0,3}})?"
    r"(?=$| (?:aus|ein|ausblenden|einblenden|please|bitte)\b)"
)
_BOTH = re.compile(rf"{_EACH}(?= |$)")
_FOLDED = str.maketrans(
    {"ä": "ae", "ö": "oe", "ü": "ue", "ß": "ss", "’": "'", "‘": "'", "\u2013": "-", "\u2212": "-"}
)
_THE_REST = re.compile(
    r"(?:alles (?:andere|uebrige)|(?:den |der )?rest|die anderen|alle anderen|everything else"
    r"|the (?:rest|others)) (?:bitte )?"
    r"(?:ausblenden|weg|aus|off|hidden|verstecken|wegblenden)"
    r"|(?:switch|turn|take) (?:everything else|the rest|the others?|the other (?:overlays"
    r"|findings|marks|ones)) off"
    r"|(?:please |bitte )?blende? (?:alle |die )*(?:anderen|uebrigen|restlichen)(?: (?:befunde"
    r"|markierungen))? aus"
    r"|(?:please |bitte )?(?:hide|turn off|switch off|clear|blende?|versteck\w*) "
    r"(?:all )?(?:the rest|the others?|others|everything else|all else|the other ones"
    r"|den rest|alles andere|alles uebrige|die anderen|alle anderen)(?: (?:off|aus|ausblenden))?"
)
_REST_DECIDED = re.compile(
    r"(?:(?P<head>.+?)(?:[,;.]| and| und| then| dann)+ )??(?:(?:please|bitte) )?"
    r"(?:(?:(?P<accept>accept|confirm)|(?P<reject>reject|dismiss))"
    r" (?:(?:everything|all) else|(?:all )?(?:the )?"
    r"(?:rest|others|other (?:ones|findings)|remaining (?:ones|findings)))"
    r"|(?P<rest>(?:(?:den|der) )?rest|(?:die|alle) (?:anderen|uebrigen)|alles andere) "
    r"(?:(?P<annehmen>annehmen|akzeptieren|uebernehmen)|(?P<ablehnen>ablehnen|verwerfen))"
    r"|(?:(?P<nimm>nimm|akzeptiere?)|(?P<lehne>lehne?|verwirf)) (?:den rest|(?:die|alle) "
    r"(?:anderen|uebrigen)|alles andere)(?: (?P<particle>an|ab))?)(?: please| bitte)?[ .!]*"
)
"""As in "accept the nodule and reject the rest"."""
_TIMES = {"twice": 2.0, "double": 2.0, "doppel": 2.0, "triple": 3.0, "half": 0.5, "halb": 0.5}
_WAYS = {
    "head": r"\b(?:[ck]ranial\w*|superior\w*|(?:the|zum) (?:head|kopf)|headwards?|kopfw(?:ae|ä)rts"
    r"|(?:the )?(?:lung )?(?:apex|apices)|(?:zur |der )?lungenspitzen?)\b",
    "feet": r"\b(?:[ck]audal\w*|inferior\w*|(?:the|zu den) (?:feet|fuessen|füßen)"
    r"|fu(?:ss|ß)w(?:ae|ä)rts|(?:the )?lung bases?|(?:zur |der )?lungenbasis|(?:the )?diaphragm"
    r"|zwerchfell)\b",
}
_TOWARDS = r"(?:\b(?:towards?|to|in|nach|richtung) )*"
_UP_AND_DOWN = {
    "head": rf"{_WAYS['head']}|\b(?:up|upwards?|higher|hoch|hoeher|höher|rauf|hinauf|oben)\b",
    "feet": rf"{_WAYS['feet']}|\b(?:down|downwards?|lower|tiefer|runter|hinunter|unten)\b",
}
_LENGTH = re.compile(
    r"\b(?P<number>\d+(?:[.,]\d+)?|[a-zäöü]+) ?"
    r"(?:(?P<cm>cm|[cz]entim\w+)|mm|millim\w+)(?=\W|$)",
    re.IGNORECASE,
)
_RANGE = re.compile(
    r"\b(?:from|between|von|zwischen) (-?\d+(?:[.,]\d+)?) (?:to|and|bis|und) (-?\d+(?:[.,]\d+)?)"
)
_TAIL = r" (?:off|away|out|aus|weg|ausblenden|einblenden|ein|anzeigen|zeigen|please|bitte)$"
_BY_LENGTH = ("slice_forward", "slice_back", "position_z")
_FIRST = ["first", "second", "third", "fourth", "fifth", "sixth"]
_ORDINALS = {
    **{word: place for place, word in enumerate(_FIRST, 1)},
    **{
        f"{stem}{end}": place
        for place, stem in enumerate(("erst", "zweit", "dritt", "viert", "fuenft"), 1)
        for end in ("e", "en", "es", "er")
    },
}
_STEPS = {
    **dict.fromkeys(("next", "naec"), "next"),
    **dict.fromkeys(("prev", "vori", "vorh"), "previous"),
    **dict.fromkeys(("firs", "erst"), "first"),
    **dict.fromkeys(("last", "letz"), "last"),
}
_STATES = {
    **dict.fromkeys(("accept", "confirm", "angen", "akzep", "best"), "accepted"),
    **dict.fromkeys(("reject", "dismiss", "abgel", "verwor"), "rejected"),
    **dict.fromkeys(("undec", "open", "still", "offen", "unent", "left"), "undecided"),
}
_PLACES = {
    "left": ("left", "link"),
    "right": ("right", "recht"),
    "top": ("top", "upper", "ober", "oben"),
    "bottom": ("bottom", "lower", "unter", "unten"),
}
_IN_A_VIEWPORT = (
    named.LAYOUT,
    named.WINDOW,
    named.GO_TO,
    named.SHOW,
    named.ZOOM,
    named.CINE,
    named.COMMAND,
)
_SELECTED = frozenset(
    [
        "it",
        "this",
        "that",
        "them",
        "these",
        "those",
        "one",
        "selected",
        "selection",
        "es",
        "ihn",
        "den",
        "sie",
        "dies",
        "ausgewaehlte",
        "ausgewaehlten",
        "wieder",
        "damit",
        "dieser",
        "diesen",
        "dieses",
        "the",
        "das",
        "finding",
        "mark",
        "befund",
        "markierung",
    ]
)


_TWO = frozenset(
    ("those two", "these two", "the two", "two", "both", "beide", "beiden", "die beiden")
)
_NO_NAMES = frozenset(
    ("all", "masks", "boxes", "measurements", "heatmaps", *named.BY_STATE, *SELECTED, *HERE)
)


class _NotMeant(Exception):
    """The clause fits a pattern, but what it names cannot be meant."""


@dataclass(frozen=True, slots=True)
class _Rule:
    tool: str
    arguments: dict[str, Any]
    pattern: re.Pattern[str]


@cache
def _parts() -> dict[str, str]:
    parts = _file()["parts"]
    return {name: text.replace("\n", "") for name, text in parts.items()}


@cache
def _file() -> dict[str, Any]:
    return tomllib.loads((resources_dir() / "words" / "viewer_commands.toml").read_text("utf-8"))


def _whole(pattern: str) -> str:
    """Return a pattern with its parts filled in."""
    while True:
        filled = re.sub(r"(?<!P)<(\w+)>", lambda part: _parts()[part[1]], pattern)
        if filled == pattern:
            return filled
        pattern = filled


@cache
def _rules() -> tuple[_Rule, ...]:
    """Return the rules; to compile them takes about a second: done at the first question."""
    made: list[_Rule] = []
    for rule in _file()["rules"]:
        for pattern in filter(None, rule["patterns"].splitlines()):
            made.append(_Rule(rule["tool"], rule["arguments"], re.compile(_whole(pattern))))
            time.sleep(0)  # the window's thread goes first
    return tuple(made)


def warm() -> None:
    """Compile the patterns and load the learned reader now, and not at the first question."""
    _rules()
    intents.guess("")
    _vocabulary()
    _common_words()


def is_of_view(text: str) -> bool:
    """Return whether a question is about what the viewports show: "what is this?"."""
    folded = " ".join(text.casefold().translate(_FOLDED).split())
    return re.search(rf"\b(?:{_parts()['of_view']})\b", folded) is not None


def only_goes_on(text: str) -> bool:
    """Return whether a text only says to go on, which is a command only after another."""
    return _GO_ON.fullmatch(folded(text).strip(" .!?,")) is not None


def read(text: str) -> Spoken | None:
    """Return the commands in a text, and what else it says; None if it has no command.

    There are no calls if all that it says is not to give one: "don't invert it". A region that is
    attached to the question is what "here" and "this" mean in it.
    """
    words, regions = without_regions(text)
    if only_goes_on(words):
        return None
    found = _read_words(words)
    if not regions:
        return at_click(found, words)
    return at_regions(_read_of_region(found, words), words, regions)


def _read_of_region(found: Spoken | None, words: str) -> Spoken | None:
    """Return what was read, with what is only said of a place: "what is the mean HU?"."""
    left = folded(words if found is None or found.perhaps else found.rest)
    for parts in ([left], [part for part in _QUESTIONS.split(left) if part.strip()]):
        places = [_of_place(part) for part in parts]
        if left and any(places):
            each = [one or _clause(part) for one, part in zip(places, parts, strict=True)]
            calls = tuple(call for one in each for call in one or ())
            rest = " and ".join(part for part, one in zip(parts, each, strict=True) if not one)
            return Spoken(((found.calls if found else ()) + calls), rest)
    return found


def _of_place(clause: str) -> tuple[SpokenCall, ...] | None:
    """Return the commands of a clause if it says what to do or tell at a place, without saying it.

    "What is the mean HU?"
    """
    found = _clause(f"{_stripped(clause)} here")
    return found if found and all(one.tool == named.PLACE for one in found) else None


def _read_words(text: str) -> Spoken | None:
    if len(text) > _LONGEST:
        return None
    text = _LINES.sub("; ", _BULLET.sub("", text.strip()))
    said = folded(text)
    text = _POINT.sub(r"\1,\2", in_digits(text))
    if _NO_PLACE.search(text):
        return Spoken((), told=_WHOLE)
    if _SENDS.search(folded(text)) and "?" not in text:
        return Spoken((), told=_NOT_SENT)
    if _SIGNS.fullmatch(said.strip(" .!?")):
        return Spoken((), told=_NOT_SIGNED)
    text = _windows_by_range(text)
    text = _with_names_joined(plain(_corrected_by_user(text)))
    topic = _TOPIC.match(text)
    if topic and not VERB.search(said) and not known_names(folded(topic[0])):
        text = text[topic.end() :]
    if _is_a_choice(folded(text)):
        return Spoken((), told=_WHICH)
    if (decided := _rest_decided(text)) is not None:
        return decided
    small = folded(text)
    if _MAKES_FIRST.match(small) and VERB.search(small):
        return Spoken((), told=_NOT_SEEN)
    there = [*_ON_IMAGE.finditer(small)] if VERB.search(small) else []
    if there:
        return _decided_there(small, there)
    if (alone := _without_the_rest(text)) is not None and any(map(_decides, alone.calls)):
        return alone  # what is decided before "hide the rest" was read by itself
    found = alone or _read_towards(text)
    if found is None:
        same = _FOLLOWS.fullmatch(small.strip()) and _SAME_ON.search(small)
        return Spoken((), told=_WHAT) if same else None
    decisions = [call for call in found.calls if _decides(call)]
    if _SAYS_OTHER.search(small) and not found.rest and not decisions:
        if (calls := _with_other(found.calls)) is None:
            return Spoken((), told=_WHICH) if found.sure else None
        found = replace(found, calls=calls)
    if not found.rest and not decisions and _loses_a_side(small, found.calls):
        return Spoken((), told=_ONE_BY_ONE)
    if found.calls and _LATER.search(said):
        return Spoken((), told=_NOW)
    unclear = _A_PAIR_BEHIND.search(small) is not None
    if decisions and (unclear or not _decides_plainly(small, said, found, decisions)):
        return Spoken((), told=UNDECIDED)
    if _only_goes_to_a_place(found.calls) and _WORKS_BY_PLACE.match(small):
        return Spoken((), told=_BY_PLACE)  # "delete the first one" is not to be gone to only
    if _TOO_MUCH.fullmatch(folded(found.rest)) or (
        decisions and found.rest and is_remark(folded(found.rest))
    ):
        found = replace(found, rest="")
    if _DENIED.search(said) and any(map(_loses, found.calls)):
        return Spoken(())
    unsure = re.search(_whole("<unsure>"), small)
    if found.perhaps and unsure and re.search(_whole(r"\b(?:<decides>)\b"), small):
        asked = found.rest or "?" in small or _IF.search(small)
        return Spoken((), told="" if asked else UNDECIDED)
    if not _IN_TURN.search(said):
        found = replace(found, calls=_planes_beside(found.calls))
    if _FIRST_PLACE.search(said):
        found = replace(found, calls=tuple(map(_at_first, found.calls)))
    if any(map(_describes, found.calls)):
        # Where no finding is meant, "what is this?" is about the image, which others describe.
        calls = tuple(map(_naming, found.calls))
        alone = all(_describes(call) and call.names for call in calls)
        return replace(found, calls=calls, sure=found.sure and not alone)
    asks = (
        text.endswith("?")
        and not _POLITE.match(small)
        and any("to" in c.arguments for c in found.calls)
    )
    return replace(found, sure=False) if asks or _ASKS_WHICH.match(small) else found


def _windows_by_range(text: str) -> str:
    """Return a text in which a range of values is a window: "set the window to 50 to 350 HU"."""

    def window(said: re.Match[str]) -> str:
        low, high = (float(said[name].replace(",", ".")) for name in ("low", "high"))
        if low >= high:
            return said[0]
        return f"width {high - low:g} center {(low + high) / 2:g}"

    return _FROM_TO.sub(window, text) if _IS_WINDOWED.search(text) else text


def _loses_a_side(text: str, calls: tuple[SpokenCall, ...]) -> bool:
    """Return whether a text names two viewports, and its commands have one: "400 40 left, ..."."""
    if _STAYS.search(text):
        return False  # "the right one to 85, leave the left where it is"
    said = {"left" if one[1][0] == "l" else "right" for one in _SIDE_SAID.finditer(text)}
    named_so = any(one.names or {"to", "finding"} & one.arguments.keys() for one in calls)
    if len(said) < 2 or named_so or not all(map(_is_in_a_viewport, calls)):
        return False
    where = [str(one.arguments.get("viewport", "")) for one in calls]
    valued = any(one.tool in (named.WINDOW, named.ZOOM, named.GO_TO) for one in calls)
    lost = not {"left", "right"} <= {*where} and "all" not in where
    return lost and (valued or (len(calls) > 1 and "" in where))


def _with_other(calls: tuple[SpokenCall, ...]) -> tuple[SpokenCall, ...] | None:
    """Return calls of which one is for the "other" viewport, which is that beside the one named.

    None where that is not clear: the active viewport, say, is not the other one.
    """
    made: list[SpokenCall] = []
    last, activated = "", False
    for call in calls:
        where = str(call.arguments.get("viewport", ""))
        behind = (
            last == "other"
            and not where
            and call.tool in _IN_A_VIEWPORT
            and call.tool
            not in (
                named.LAYOUT,
                named.SHOW,
            )
        )
        if last and (where == "other" or behind):  # "invert the other one and fit it"
            same = "active" if activated else "other"
            where = same if last == "other" else _OPPOSITE.get(last, "")
            if not where:
                return None
            call = replace(call, arguments={**call.arguments, "viewport": where})
        if where:
            last = "other" if where == "active" else where
            # As a click would; then it is the active one, and the other one is another.
            activated |= call.tool == named.COMMAND or bool({"to", "finding"} & {*call.arguments})
        made.append(call)
    linked = any(
        str(one.arguments.get("command", "")).startswith(("link", "next")) for one in calls
    )
    said = last or linked or any({"layout", "what"} & one.arguments.keys() for one in calls)
    lost = any(_is_in_a_viewport(one) for one in calls)
    return None if lost and not said else tuple(made)


def _decided_there(text: str, there: list[re.Match[str]]) -> Spoken | None:
    """Return the decisions on findings of the one image that is named with them."""
    places = [_where(one) for one in there]
    starts = [0, *(one.end() for one in _CLAUSES.finditer(text))]
    for one in there:
        clause = text[max(start for start in starts if start <= one.start()) : one.start()]
        behind = text[one.end() :].lstrip().split(" ", 1)[0]
        goes_on = set(words_of(clause)) <= known_words()  # "accept the nodule and the heart on it"
        if not goes_on and not any(one.search(f"{clause} {behind}") for one in (VERB, _WORKS_ON)):
            return Spoken((), told=UNDECIDED)  # "accept it, it is seen on the prior"
    if any(place != places[0] for place in places) or _ONE_ON.search(text):
        return _decided_in_turn(text) or Spoken((), told=UNDECIDED)
    found = _read_words(_THERE.sub("", _ON_IMAGE.sub("", text)))
    if found is None or not found.calls:
        return found
    seen = (_decides(call) or _is_of_findings(call) for call in found.calls)
    if found.rest or not all(seen):
        return Spoken((), told=UNDECIDED)
    calls = (replace(call, arguments={**call.arguments, **places[0]}) for call in found.calls)
    return replace(found, calls=tuple(calls))


def _decided_in_turn(text: str) -> Spoken | None:
    """Return the decisions on findings of several images, which each clause names."""
    calls: list[SpokenCall] = []
    name = ""
    for clause in filter(str.strip, _CLAUSES.split(text)):
        there = _ON_IMAGE.search(clause) or _ONE_ON.search(clause)
        if there is None:
            return None
        bare = f"{clause[: there.start()]}{clause[there.end() :]}"
        bare = (
            _ONE.sub(lambda one, of=name: f"{one['article'] or one['german']} {of}", bare, count=1)
            if name
            else bare
        )
        found = _read_words(" ".join(bare.split()))
        if found is None or found.rest or len(found.calls) != 1:
            return None
        (call,) = found.calls
        if not (_decides(call) or _is_of_findings(call)):
            return None
        calls.append(replace(call, arguments={**call.arguments, **_where(there)}))
        name = call.names[0] if call.names else ""
    return Spoken(tuple(calls)) if calls else None


def _decides_plainly(text: str, said: str, found: Spoken, decisions: list[SpokenCall]) -> bool:
    """Return whether a text, and what was `said` word for word, plainly decides on findings."""
    if all(call.arguments["action"] == "propose" for call in decisions):
        return _takes_back_plainly(text, said, found)
    if "?" in text and not (_POLITE.match(text) or found.rest):
        return False
    if "?" in text and re.search(r"\bconfirm|\bbestaetig|\bw(?:ould|uerde)", text):
        return False  # who asks so wants to know
    text = _SIDES.sub(lambda said: "left" if said[1][0] == "l" else "right", text)
    words = ((word, _corrected(word)) for word in text.split())
    text = " ".join(
        near if re.fullmatch(_whole("<decides>"), near) and not one.startswith(near) else one
        for one, near in words
    )
    if _has_exception(decisions):
        return _excepts_plainly(text, decisions)
    return is_plain(text, found.calls, _command_of)


def _excepts_plainly(text: str, decisions: list[SpokenCall]) -> bool:
    """Return whether a text plainly decides on all findings but some that it names."""
    (one,) = decisions
    name = str(one.arguments["which"]).removeprefix("all except ")
    if not all(
        words_of(part) and set(words_of(part)) <= known_words() for part in _AND.split(name)
    ):
        return False
    if (others := _OTHERS.search(text)) is not None:
        # "I agree with all but the nodule, accept the others"
        before = _BUT.sub(" ", text[: others.start()])
        return one.arguments["action"] == "accept" and _AGREED.fullmatch(before.strip()) is not None
    whole = {**one.arguments, "which": "all"}
    said = f"{_BUT.sub(' ', text)} all" if "all" not in _BUT.sub(" ", text) else _BUT.sub(" ", text)
    return is_plain(" ".join(said.split()), (replace(one, arguments=whole, names=()),), _command_of)


def _command_of(clause: str) -> tuple[SpokenCall, ...] | None:
    """Return the commands that a clause gives, by a pattern or surely by the learned reader."""
    found = _read_clause(clause)
    return found.calls if found is not None and found.is_sure else None


def _is_a_choice(text: str) -> bool:
    """Return whether a text gives one of two commands: "slice 14 or 15", "lung or bone window?"."""
    one, *others = _OR.split(text.strip(" .!?"))
    if len(others) != 1 or (first := _clause(one)) is None:
        return False
    (other,) = others
    if re.search(r"\d", one) and re.fullmatch(r"\d+", other):
        return True
    names = words_of(other)
    if names and set(names) <= known_words() and any(call.names for call in first):
        return True  # "hide the nodule or the effusion"
    second = _clause(other)
    return (
        second is not None
        and second != first
        and {c.tool for c in first} == {c.tool for c in second}
    )


def _planes_beside(calls: tuple[SpokenCall, ...]) -> tuple[SpokenCall, ...]:
    """Return the calls, with a viewport for each plane if several are wanted at once."""
    planes = [call for call in calls if str(call.arguments.get("command")).startswith("plane ")]
    if not 1 < len(planes) < _MOST_BESIDE or any("viewport" in one.arguments for one in planes):
        return calls
    beside = [SpokenCall(named.LAYOUT, {"layout": f"1x{len(planes)}"})]
    for number, one in enumerate(planes, 1):
        if number > 1:
            beside.append(SpokenCall(named.SHOW, {"what": "this", "viewport": f"{number}"}))
        beside.append(replace(one, arguments={**one.arguments, "viewport": f"{number}"}))
    others = [call for call in calls if call not in planes and call.tool != named.LAYOUT]
    return (*beside, *others)


def _with_names_joined(text: str) -> str:
    """Return a text with names and words in one that a dictation parted: "rund herd", "in vert"."""
    words = text.split()
    for place in range(len(words) - 1, 0, -1):
        one, other = (folded(word).strip(".,!?") for word in words[place - 1 : place + 1])
        whole = one + other
        parted = words[place - 1].isalpha() and not (_is_word(one) and _is_word(other))
        known = whole in _names() if not parted else whole in _vocabulary().get(whole[:1], ())
        if known and not re.fullmatch(_whole("<presets>"), f"{one} {other}"):
            words[place - 1 : place + 1] = [words[place - 1] + words[place]]
    return " ".join(map(_name_as_spelt, words))


def _is_word(word: str) -> bool:
    return word in _vocabulary().get(word[:1], ()) or word in _common_words()


def _name_as_spelt(word: str) -> str:
    """Return the name of a finding that is off by a letter as it is spelt: "efusion"."""
    plain = folded(word)
    near = _corrected(plain) if plain.isalpha() and len(plain) >= _LEAST_MISSPELT else plain
    return near if near in _names() else word


def _has_exception(calls: list[SpokenCall]) -> bool:
    """Return whether calls decide on all findings but some that are named."""
    return bool(calls) and all(str(c.arguments["which"]).startswith("all except ") for c in calls)


def _at_first(call: SpokenCall) -> SpokenCall:
    """Return a call that marks the place clicked last, so that it marks the first one."""
    if call.tool != named.MARK or call.arguments != {"shape": "point"}:
        return call
    return replace(call, arguments={**call.arguments, "at": "first"})


def _takes_back_plainly(text: str, said: str, found: Spoken) -> bool:
    """Return whether a text plainly takes a decision back, which may be told: "I accepted it"."""
    verb = re.search(_whole(r"\b(?:<decides>)\b"), said)
    return not (
        re.search(_whole("<unsure>"), text)
        or _loses_a_name(text, found)
        or _DENIED.search(said)
        or ("?" in said and not (_POLITE.match(said) or found.rest))
        or found.rest
        or _TAKEN_BACK.search(said, verb.end() if verb else 0)
    )


def _loses(call: SpokenCall) -> bool:
    """Return whether a call closes or deletes something."""
    closes = str(call.arguments.get("command", "")).startswith("close")
    return closes or call.arguments.get("action") == "delete"


def _corrected_by_user(text: str) -> str:
    """Return a text as its speaker corrects it: "slice 14, no wait, 15"; decisions stay as said."""
    found = corrected(text)
    if found is None or re.search(_whole(r"\b(?:<decides>)\b"), folded(text)):
        return text
    head, tail = found
    numbers = [*re.finditer(r"\d+", head)]
    if numbers and re.fullmatch(r"\d+", tail.strip(" .!")):
        return head[: numbers[-1].start()] + tail + head[numbers[-1].end() :]
    instead = _read_words(tail)
    return tail if instead is not None and instead.calls and not instead.rest else text


def _without_the_rest(text: str) -> Spoken | None:
    """Return the commands of "zoom to the heart and hide the rest"; None for any other text."""
    clauses = [part for clause in _SPLIT.split(text) for part in _AND.split(clause) if part.strip()]
    rest = [one for one in clauses if _THE_REST.fullmatch(folded(one).strip(" .!"))]
    if len(rest) != 1:
        return None
    before = clauses[: clauses.index(rest[0])]
    if len(before) + 1 != len(clauses):
        return None
    head = _read_words(", ".join(before)) if before else Spoken(())
    if head is None or head.rest:
        return None
    if before and not head.calls:
        return None if head.perhaps else head  # "don't accept it and hide the rest"
    names = tuple(name for call in head.calls for name in call.names)
    if before and not names:
        return None
    which, where = " and ".join(names) or "selected", _one_viewport(head.calls)
    if where is None:
        return None
    only = SpokenCall(named.FINDINGS, {"action": "only", "which": which, **where}, names)
    if only in head.calls:
        return head
    return replace(head, calls=(*head.calls, only))


def _one_viewport(calls: Sequence[SpokenCall]) -> dict[str, Any] | None:
    """Return the argument for the viewport of calls about findings; None if they have several."""
    every = {str(one.arguments.get("viewport", "")) for one in calls if one.names}
    if len(every) > 1:
        return None
    return {"viewport": one} if (one := next(iter(every), "")) else {}


def _rest_decided(text: str) -> Spoken | None:
    """Return the decisions of "accept the nodule and reject the rest"; None for any other text.

    The rest is what the decisions before it don't name; without any, all that is undecided.
    """
    said = _REST_DECIDED.fullmatch(folded(text).strip())
    if said is None:
        return None
    particles = {"nimm": ("an",), "lehne": ("ab", "bitte ab")}
    verb = "nimm" if (said["nimm"] or "").startswith("nimm") else (said["lehne"] or "")[:5]
    if said["particle"] not in particles.get(verb, (None,)):
        return None
    action = "accept" if said["accept"] or said["annehmen"] or said["nimm"] else "reject"
    if not said["head"]:
        return Spoken((SpokenCall(named.FINDINGS, {"action": action, "which": "undecided"}),))
    head = read(said["head"])
    decisions = [call for call in head.calls if _decides(call)] if head is not None else []
    if head is None or head.rest or not decisions or not all(one.names for one in decisions):
        return None
    names = tuple(name for one in decisions for name in one.names)
    if any(str(one.arguments["which"]).startswith("all") for one in decisions):
        return None
    where = _one_viewport(decisions)
    if where is None:
        return None
    which = f"undecided except {' and '.join(names)}"
    rest = SpokenCall(named.FINDINGS, {"action": action, "which": which, **where}, names)
    return replace(head, calls=(*head.calls, rest))


def _decides(call: SpokenCall) -> bool:
    """Return whether a call accepts, rejects or deletes findings, or takes that back."""
    return call.tool == named.FINDINGS and call.arguments["action"] in _DECIDING


def _only_goes_to_a_place(calls: Sequence[SpokenCall]) -> bool:
    """Return whether commands only go to a finding by its place: the first or the next one."""
    steps = ("first", "last", "next", "previous")
    return len(calls) == 1 and (
        calls[0].tool == named.GO_TO and calls[0].arguments.get("finding") in steps
    )


def _describes(call: SpokenCall) -> bool:
    """Return whether a call only tells what is known of findings."""
    return call.arguments.get("action") == "describe"


def _naming(call: SpokenCall) -> SpokenCall:
    """Return a call that tells of one finding with its name, which may be "selected"."""
    which = call.arguments.get("which", "all")
    if not _describes(call) or call.names or which in ("all", *named.BY_STATE):
        return call
    return replace(call, names=(which,))


def _loses_a_name(text: str, found: Spoken) -> bool:
    """Return whether a text names a finding that neither its commands nor their rest name."""
    values = (value for call in found.calls for value in call.arguments.values())
    said = {word for value in values if isinstance(value, str) for word in words_of(value)}
    if not any(_decides(call) and not call.names for call in found.calls):
        said |= {word for part in found.rest.split() for word in words_of(part)}
    clauses = [part for clause in _SPLIT.split(text) for part in _AND.split(clause)]
    kept = (one for one in clauses if not (_REMARK.match(one) or _OF_SHOWN.match(one)))
    names = {word for one in kept for word in words_of(_SAID_OF_IT.sub("", _BECAUSE.sub("", one)))}
    return bool((names & known_words()) - said)


def _drops_a_part(text: str, found: Spoken) -> bool:
    """Return whether one of several clauses asks for something that the commands lack."""
    clauses = [part for clause in _SPLIT.split(folded(text)) for part in _AND.split(clause)]
    values = (value for call in found.calls for value in call.arguments.values())
    said = {word for value in values if isinstance(value, str) for word in words_of(value)}
    said |= {word for part in found.rest.split() for word in words_of(part)}
    if len(clauses) < 2:
        return False
    if any(_LOOKS_FOR.search(one) and _clause(one) is None for one in clauses):
        return True
    tools = {call.tool for call in found.calls}
    counted = (_clause(one) or () for one in clauses if re.search(r"\d", one))
    known = (calls for calls in counted if _names_are_known(Spoken(calls)))
    if any(call.tool not in tools for calls in known for call in calls):
        return True  # "go to slice 12 and mark ..." as the mark alone
    asked = (one for one in clauses if _ASKED_FOR.search(one))
    # "Put a measurement on" names what the command does.
    return any((set(words_of(one)) & known_words()) - said - {"length"} for one in asked)


def _read_towards(text: str) -> Spoken | None:
    """Return the commands; "towards the head" and how many mm are read here."""
    if (moved := _only_moved(text)) is not None:
        return Spoken((SpokenCall(named.GO_TO, moved),))
    text = re.sub(r",\s*(?=(?:in )?(?:richtung|towards?)\b)", " ", text, flags=re.IGNORECASE)
    ways = {way for way, words in _WAYS.items() if re.search(words, text.casefold())}
    if len(ways) != 1 or _LENGTH.search(text):
        return _read(text)
    (way,) = ways
    on = "weiter" if _GERMAN_WORDS.search(text.casefold()) else "further"
    found = _read(re.sub(_TOWARDS + _WAYS[way], f"{on} ", text.casefold()))
    if found is None or not any("by" in call.arguments for call in found.calls):
        return _read(text)
    calls = [
        replace(call, arguments={**call.arguments, "by": abs(call.arguments["by"]), "towards": way})
        if "by" in call.arguments
        else call
        for call in found.calls
    ]
    return replace(found, calls=tuple(calls), sure=True)


def _read(text: str) -> Spoken | None:
    if (bare := _without_remarks(text)) != text:
        found = _read_bare(bare)
        if found is not None and found.sure and found.calls and not found.rest:
            return found
    return _read_bare(text)


def _read_bare(text: str) -> Spoken | None:
    text = _without_denials(text)
    if (excepted := _excepted(folded(text))) is not None:
        return excepted
    by_patterns = _by_patterns(text)
    if by_patterns is not None and not by_patterns.rest and _names_are_known(by_patterns):
        return by_patterns
    learned = _learned(text)
    if learned is not None and learned.calls and _drops_a_part(text, learned):
        learned = None
    if by_patterns is None:
        return learned
    if decisions := [call for call in by_patterns.calls if _decides(call)]:
        # "Accept the nodule and on to the effusion": the same decisions, and nothing left over.
        same = learned is not None and decisions == [c for c in learned.calls if _decides(c)]
        return learned if same else by_patterns
    if learned is None or not learned.calls or not _names_are_known(learned):
        return by_patterns
    # What is left of the text is told rather than lost.
    fewer = len(learned.calls) < len(by_patterns.calls) and _names_are_known(by_patterns)
    has_less = fewer or all(one in by_patterns.calls for one in learned.calls)
    asks_tools = _ASKED_FOR.search(by_patterns.rest) is not None
    said, kept = (
        {word for call in one.calls for name in call.names for word in words_of(name)}
        for one in (by_patterns, learned)
    )
    # Of two findings that are named, the learned reader may lose one.
    loses = bool((said - kept) & known_words()) and not learned.sure
    return by_patterns if by_patterns.rest and (has_less or asks_tools or loses) else learned


def _excepted(text: str) -> Spoken | None:
    """Return the commands of "hide (or show) all but the nodule"; no calls where there is none."""
    but = _BUT.search(text)
    if but is None or not re.search(r"\b(?:all|every\w*|alle\w*)\b", text[: but.start() + 10]):
        return None
    said, verb = but["name"].strip(" .!"), re.search(_whole(r" (?:<decides>)$"), but["name"])
    try:
        name = _which(re.sub(_TAIL, "", said[: verb.start()] if verb else said))
    except _NotMeant:
        return None
    if re.search(_whole(r"\b(?:<decides>)\b"), text):
        others = _OTHERS.search(text, but.end())
        whole = "all " if re.match(r"all|every", but[0]) else ""
        rest = f"{text[: but.start()]}{whole}{text[but.end() :]}"
        rest = f"{others[1]} all" if others else rest
        decided = _clause(f"{rest}{verb[0] if verb else ''}".strip(" ,.!"))
        if decided is None or len(decided) != 1:
            return Spoken(())
        (call,) = decided
        if call.arguments.get("which") != "all" or not _decides(call) or name == "selected":
            return Spoken(())
        kept = {**call.arguments, "which": f"all except {name}"}
        return Spoken((replace(call, arguments=kept, names=(name,)),))
    each = {
        "show": r"\b(?:show|display|unhide|zeig\w*|blende?\b.*\bein|einblenden)\b",
        "only": r"\b(?:hide|off|away|clear|remove|ausblenden|blende?\b.*\baus|weg|versteck\w*)\b",
    }
    does = next((does for does, said in each.items() if re.search(said, text)), "")
    if not does:
        return None
    only = SpokenCall(named.FINDINGS, {"action": "only", "which": name}, (name,))
    shown = SpokenCall(named.FINDINGS, {"action": "show", "which": "all"})
    hidden = SpokenCall(named.FINDINGS, {"action": "hide", "which": name}, (name,))
    return Spoken((only,) if does == "only" else (shown, hidden))


def _without_remarks(text: str) -> str:
    """Return a text without what its speaker says around a command: "I'll do it", "it is clear"."""
    clauses = [one for one in re.split(r"\s*(?:[,;!]|(?<!\d)\.(?!\d))\s+", text) if one.strip()]
    remarks = {
        one for place, one in enumerate(clauses) if _is_remark(folded(one), behind=place > 0)
    }
    # "I'm done with the prior, close it" says what it is about.
    if any(_IT.search(one) for one in clauses if one not in remarks):
        remarks = {one for one in remarks if not (known_names(folded(one)) or _names_study(one))}
    kept = [one for one in clauses if one not in remarks]
    return ", ".join(kept) if kept and remarks and "?" not in text else text


def _is_remark(clause: str, *, behind: bool) -> bool:
    """Return whether a clause tells of its speaker or, `behind` another, states something."""
    if _ASKS.search(clause) or _clause(clause) is not None:
        return False
    states = _OF_SPEAKER.match(clause) or (behind and _STATED.match(clause))
    return bool(states)


def _names_study(clause: str) -> bool:
    return _STUDY.search(folded(clause)) is not None


def _without_denials(text: str) -> str:
    """Return a text without the clauses that only say what not to do, if there are others."""
    clauses = [part for clause in _SPLIT.split(text) for part in _AND.split(clause) if part.strip()]
    kept = [one for one in clauses if not _ONLY_DENIES.match(one.casefold())]
    # To part a question would lose its mark.
    return ", ".join(kept) if 0 < len(kept) < len(clauses) and "?" not in text else text


def _names_are_known(spoken: Spoken) -> bool:
    """Return whether commands name only what has a known name: not "the writing", "200 percent"."""
    names = (name for call in spoken.calls for name in call.names)
    return all(set(words_of(name)) <= known_words() for name in names)


@dataclass(frozen=True, slots=True)
class _Learned:
    """A reading by the learned reader: the calls, their probability, and the command in words."""

    calls: tuple[SpokenCall, ...]
    probability: float
    familiar: bool
    words: str = ""

    @property
    def kind(self) -> tuple[object, ...]:
        """The kind of command, without its numbers and names: two of one kind are one command."""
        call = self.calls[0]
        said = call.arguments
        if call.tool == named.WINDOW and said.keys() & {"center", "width"}:
            return (call.tool, "values")
        does = str(said.get("command") or said.get("action") or "")
        return (call.tool, *sorted(said), *does.split()[:1])

    @property
    def is_sure(self) -> bool:
        return self.probability >= (_SURE if self.familiar else _SURE_OF_NEW_WORDS)


def _learned(text: str) -> Spoken | None:
    """Return the commands that a text most likely gives, or what to ask; None for none."""
    whole = _guessed(text)
    parts = _guessed_parts(text, statements=whole is None or not whole.is_sure)
    if parts and (whole is None or min(one.probability for one in parts) >= _LIKELY):
        calls = tuple(call for one in parts for call in one.calls)
        sure = all(one.is_sure for one in parts)
        # Nobody looks at a finding that was decided by mistake.
        plain = all(one.is_sure for one in parts if any(map(_decides, one.calls)))
        return Spoken(calls, sure=sure) if plain else Spoken(())
    if whole is None:
        return None
    likely = _LIKELY if whole.familiar else _LIKELY_OF_NEW_WORDS
    if any(map(_decides, whole.calls)):
        likely = _SURE
    if whole.probability < likely:
        return Spoken((), perhaps=whole.words)
    return Spoken(whole.calls, sure=whole.is_sure)


def _guessed_parts(text: str, *, statements: bool) -> list[_Learned]:
    """Return the commands of a text's clauses, if they are different ones.

    All must be commands, or `statements` before one, and "it" is what the clauses before speak of:
    "I'm done with the prior, close it".
    """
    clauses = [part for clause in _SPLIT.split(text) for part in _AND.split(clause) if part.strip()]
    if len(clauses) < 2:
        return []
    found: list[_Learned] = []
    subject, stated = "", False
    for clause in clauses:
        in_viewport = bool(found) and "viewport" in found[-1].calls[-1].arguments
        study = f"the {subject}" if not (in_viewport and _STUDY.fullmatch(subject)) else "it"
        said = _IT.sub(study, clause, count=1) if subject else clause
        one = _read_clause(said)
        if one is not None:
            before = [earlier.calls for earlier in found]
            one = replace(one, calls=_of_last_viewport(one.calls, folded(clause), before))
        if one is not None and one.probability >= _LIKELY:
            found.append(one)
        elif not statements or "?" in text or one is not None or not _is_stated(clause):
            return []
        else:
            stated = True
        subject = _subject(clause) or subject
    # "Flip black and white" is one: its parts are of one kind.
    kinds = {one.kind for one in found}
    if len(kinds) < len(found) or (stated and any(one.probability < _SURE for one in found)):
        return []
    return found


def _read_clause(clause: str) -> _Learned | None:
    """Return the one command of a clause, by a pattern or by the learned reader."""
    calls = _clause(" ".join(clause.casefold().translate(_FOLDED).split()))
    if calls is None or not _names_are_known(Spoken(calls)):
        return _guessed(clause)
    return _Learned(calls, 1.0, True, clause)


def _is_stated(clause: str) -> bool:
    """Return whether a clause states something: "no effusion there", not "count the nuclei"."""
    likeliest = intents.guess(clause)
    states = re.match(_whole("<states>"), folded(clause).strip()) is not None
    return states and likeliest.intent == NONE and likeliest.probability >= _LIKELY


def _subject(clause: str) -> str:
    """Return what a clause speaks of, if it is a finding or study with a known name."""
    folded = " ".join(clause.casefold().translate(_FOLDED).split())
    names = known_names(_SAID_OF_IT.sub("", folded))
    names += [one[0] for one in _STUDY.finditer(folded)]
    if len(names) != 1 or _OF_SHOWN.match(folded):
        return ""
    # "Don't reject the effusion, ..."; but "the effusion is not real, reject it".
    bare = _DISBELIEVES.sub("", folded)
    begins_so = _LEADING.sub("", bare).removeprefix("no ").startswith(names[0])
    return names[0] if begins_so or not _DENIES.search(folded) else ""


def known_names(text: str) -> list[str]:
    """Return the names of findings in a clause that the program knows."""
    found = _NAMED.findall(text)
    return [one for one in found if words_of(one) and set(words_of(one)) <= known_words()]


def _guessed(text: str) -> _Learned | None:
    """Return the one command that a text most likely gives."""
    if _FOLLOWS.fullmatch(folded(text)):
        return None
    likeliest = intents.guess(text)
    if likeliest.intent == NONE or likeliest.probability < _PERHAPS:
        return None
    if _is_denied(likeliest.intent, folded(text)):
        return None
    entry: dict[str, Any] = _intents()[likeliest.intent]
    slots = _slots(likeliest, folded(text), entry)
    if likeliest.intent == "window_values" and re.search(r"\d ?(?:%|prozent|per ?cent)", text):
        return None
    if likeliest.intent == "finding_reopen" and not re.search(_whole("<undecides>"), folded(text)):
        return None
    needed = next((w for start, w in _NEEDED.items() if likeliest.intent.startswith(start)), "")
    if needed and not re.search(needed, folded(text)):
        return None
    if likeliest.intent == "panels_all" and _SHOWS.search(folded(text)):
        entry = {**entry, "arguments": {"command": "show panels"}}
    if likeliest.intent == "key_image" and _DENIES.search(folded(text)):
        entry = _intents()["key_image_off"]
    if _is_turned_otherwise(likeliest.intent, folded(text)):
        return None
    try:
        far = _LENGTH.search(text) if likeliest.intent in _BY_LENGTH else None
        if likeliest.intent == "position_z" and not _ways(text):
            far = None  # "go to -85 mm"
        if far is not None:
            calls = (SpokenCall(named.GO_TO, _moved(far, text)),)
        else:
            calls = _call(entry["tool"], entry["arguments"], slots)
    except _NotMeant:
        return None
    german = _GERMAN_WORDS.search(text.casefold()) is not None
    said = re.sub(
        r"{(\w+)}", lambda slot: slots.get(slot[1], ""), entry["german" if german else "english"]
    )
    words = " ".join(said.split())
    if far is None and entry["tool"] in (named.COMMAND, named.LAYOUT) and _LENGTH.search(text):
        return None  # "half a cm down" is no layout
    # A length and a direction can mean nothing else.
    return _Learned(calls, 1.0 if far else likeliest.probability, likeliest.familiar, words)


def _ways(text: str) -> list[str]:
    return [way for way, words in _UP_AND_DOWN.items() if re.search(words, text.casefold())]


def _is_turned_otherwise(intent: str, text: str) -> bool:
    """Return whether a text says another angle, or change, than the command makes."""
    if intent == "window_values":
        return re.search(r"\b(?:by|um) [-+]?\d", text) is not None
    numbers = {number.lstrip("0") for number in re.findall(r"-?\d+", text)}
    if intent == "rotate_180":
        return not numbers <= {"180", "-180"}
    return intent.startswith("rotate_") and not numbers <= {"90"}


def _only_moved(text: str) -> dict[str, Any] | None:
    """Return how far to go if a text says nothing else: "go down 1.5 cm"."""
    length = _LENGTH.search(text)
    if length is None:
        return None
    left = text[: length.start()] + " " + text[length.end() :]
    for words in _UP_AND_DOWN.values():
        left = re.sub(_TOWARDS + f"(?:{words})", " ", left.casefold())
    if set(re.findall(r"[a-zäöüß]+", left.casefold())) - {*_parts()["going_on"].split("|")}:
        return None
    with suppress(_NotMeant):
        return _moved(length, text)
    return None


def _moved(length: re.Match[str], text: str) -> dict[str, Any]:
    """Return how far to go in the patient: "2 cm further down".

    Raises:
        _NotMeant: The text does not say which way.
    """
    ways = _ways(text)
    if len(ways) != 1:
        raise _NotMeant
    said = length["number"].casefold()
    number = float(said.replace(",", ".")) if said[0].isdigit() else _number(said)
    return {"mm": number * (10 if length["cm"] else 1), "towards": ways[0]}


def _is_denied(intent: str, text: str) -> bool:
    """Return whether a text says not to do what it speaks of, as "kein Knochenfenster" does."""
    if intent in _LOST_OR_SENT:
        return _DENIES.search(text) is not None
    if intent in _TAKES_AWAY:
        return _DENIES_TAKING_AWAY.search(text) is not None
    return _BEGINS_WITH_DENIAL.match(text) is not None


def _slots(likeliest: Guess, text: str, entry: dict[str, Any]) -> dict[str, str]:
    """Return the words for each slot as the tools take them."""
    slots = dict(likeliest.slots)
    if likeliest.intent == "window_values":  # what is called by its name is that
        for slot in ("w", "c"):
            if named_so := re.search(rf"\b{_whole(f'<{slot}>')}", text):
                slots[slot] = named_so[slot]
        if ends := _RANGE.search(text):
            low, high = (float(one.replace(",", ".")) for one in ends.groups())
            slots |= {"w": str(high - low), "c": str((low + high) / 2)}
    numbers = [one.text for one in tokens(text) if is_number(one.text)]
    counted = any(str(value).endswith(" n") for value in entry["arguments"].values())
    if counted and "n" not in slots and len(numbers) == 1:
        slots["n"] = numbers[0]
    factor = slots.get("f", "")
    if factor and re.search(rf"{re.escape(factor)} ?(?:%|per ?cent|prozent)", text):
        slots["f"] = f"{factor}%"
    if likeliest.intent == "window_preset":
        preset = slots.get("preset", text)
        spelt = " ".join(map(intents.spelt, preset.split()))
        if known := re.search(_whole("<presets>"), spelt):
            slots["preset"] = known["preset"]
    viewport = slots.get("vp", "")
    name = next((slot for slot in ("name", "which") if slot in slots), "")
    if name:
        slots[name] = " ".join(map(_corrected, slots[name].split()))
    if name and side_of(viewport) and not re.search(rf"\b{_SHOWN}", viewport):
        slots[name] += f" {slots.pop('vp')}"  # "the effusion on the left"
    if entry["tool"] not in _IN_A_VIEWPORT:
        slots.pop("vp", None)
    return slots


@cache
def _intents() -> dict[str, dict[str, Any]]:
    return tomllib.loads((resources_dir() / "words" / "viewer_intents.toml").read_text("utf-8"))


def _by_patterns(text: str) -> Spoken | None:
    folded = " ".join(text.casefold().translate(_FOLDED).split())
    folded = _SIDES.sub(lambda said: "left" if said[1][0] == "l" else "right", folded)
    if (found := _clause(folded)) is not None:
        return _spoken([found], [], folded)
    if _is_declined(folded) and not _KEY_IMAGE.search(folded):
        return Spoken((), "")
    calls: list[tuple[SpokenCall, ...]] = []
    rest: list[str] = []
    asked = _ASKED_BEFORE.fullmatch(folded)
    if asked is not None and _clause(asked["question"]) is None:
        rest.append(asked["question"])
        folded = asked["command"]

    def about(
        part: str, asked: list[str], done: list[tuple[SpokenCall, ...]]
    ) -> tuple[SpokenCall, ...] | None:
        """Return the commands about what is asked for, unless a command named something later."""
        before = folded[: folded.rfind(part)]
        called = [name for one in done for call in one for name in call.names]
        named_so = known_names(asked[-1]) if asked else []
        at, theirs = (max(map(before.rfind, one), default=-1) for one in (called, named_so))
        return None if at > theirs else _about_asked(part, asked)

    for clause in _SPLIT.split(folded):
        if not _stripped(clause):
            continue
        if (found := about(clause, rest, calls) or _part(clause)) is not None:
            calls.append(_of_what_was_named(_of_last_named(found, clause, calls), rest))
            continue
        by_commas = [part for part in _COMMA.split(clause) if part]
        done = [about(part, rest, calls) or _part(part) for part in by_commas]
        if len(by_commas) > 1 and all(done):
            for part, one in zip(by_commas, done, strict=True):
                calls.append(_of_last_named(one or (), part, calls))
            continue
        parts = [part for part in _AND.split(clause) if part]
        each: list[tuple[SpokenCall, ...] | None] = []
        for part in parts:
            done = [*calls, *(one for one in each if one)]
            asked_for = [*rest, *(one for one, does in zip(parts, each, strict=False) if not does)]
            found = about(part, asked_for, done) or _part(part)
            each.append(found and _of_last_named(found, part, done))
        if len(parts) > 1 and all(each):
            calls += [one for one in each if one]
        elif len(parts) > 1 and any(map(_stands_alone, each, parts, range(len(parts)))):
            # "zoom to the heart and tell me whether it is enlarged"
            left: list[str] = []
            for part, one in zip(parts, each, strict=True):
                more = _with_one_more(calls[-1], part) if calls and not left else None
                if more and (not one or set(words_of(part)) <= known_words()):
                    calls[-1] = more  # "accept the heart and both lungs"
                elif one and _stands_alone(one, part, parts.index(part)):
                    calls.append(_of_what_was_named(one, left))
                elif "?" in folded or not _REMARK.match(part):
                    left.append(part)
            rest += [" and ".join(left)] if left else []
        else:
            rest.append(clause)
    return _spoken(calls, rest, folded) if calls else None


def _part(clause: str) -> tuple[SpokenCall, ...] | None:
    """Return the commands of one clause of several, with its words where others may answer it."""
    calls = _clause(clause)
    if calls is None:
        return None
    reports = any(call.arguments.get("command") == "panel report" for call in calls)
    asks = bool(_COMPARES.search(clause)) or (reports and _WRITES.search(clause) is not None)
    return tuple(replace(one, question=clause) if asks or _describes(one) else one for one in calls)


def _about_asked(clause: str, asked: list[str]) -> tuple[SpokenCall, ...] | None:
    """Return the commands of a clause about "it", which the clause before it asks tools for."""
    said = _IT_OR_ON_IT.search(clause) or _SIDED_ONE.search(clause)
    if said is None or not asked or not _ASKED_FOR.search(asked[-1]):
        return None
    names = known_names(asked[-1])
    if len(names) != 1:
        return None
    if (one := _SIDED_ONE.search(clause)) is not None:
        if one_of(names[0]) == names[0].split()[-1]:
            return None  # there is one only
        side = one["side"] or one["seite"]
        found = _clause(f"{clause[: one.start()]}{side} {one_of(names[0])}{clause[one.end() :]}")
        return found if found and any(call.names for call in found) else None
    name = f"auf {names[0]}" if said["on"] else names[0]
    found = _clause(f"{clause[: said.start()]}{name}{clause[said.end() :]}")
    return found if found and any(one.names for one in found) else None


def one_of(name: str) -> str:
    """Return what one of a pair is called: "lung" of "both lungs"; as in the German "Lungen"."""
    last = name.split()[-1]
    return last[:-1] if last.endswith(("s", "en")) else last


def _is_declined(text: str) -> bool:
    """Return whether a text only says that one command is not to be carried out."""
    without, denied = _DECLINES.subn(" ", text)
    return denied == 1 and "?" not in text and _clause(" ".join(without.split())) is not None


def _spoken(calls: list[tuple[SpokenCall, ...]], rest: list[str], text: str) -> Spoken | None:
    """Return the commands; None where somebody may only ask: "accept the effusion?"."""
    every = [call for part in calls for call in part]
    every = [
        one
        for i, one in enumerate(every)
        if not (
            i
            and one == every[i - 1]
            and (one.tool == named.FINDINGS or one.arguments.get("command") in _TOGGLES)
        )
    ]
    last = every[-1].arguments
    if len(every) > 1 and last.get("which") == "selected" and last.get("action") == "hide":
        said = str(every[-2].arguments.get("command", ""))
        if said.startswith("not a "):  # "this is no key image, take it out again"
            every.pop()
    if len(every) > 1 and _says_again(every[-2], every[-1]):  # "bin the nodule, delete it"
        every.pop()
    # "It is too dark, make it brighter" says it twice.
    twice = len(every) == 2 and "change" in every[0].arguments and _TOO.search(text)
    made = tuple(every[:1] if twice and every[0] == every[1] else every)
    asks = text.endswith("?") and not _POLITE.match(text)
    if asks and any(call.tool == named.FINDINGS and not _describes(call) for call in made):
        return None
    reports = any(call.arguments.get("command") == "panel report" for call in made)
    shared = _COMPARES.search(text) or (reports and _WRITES.search(text))
    return Spoken(made, ". ".join(rest), shared=bool(shared))


def _says_again(first: SpokenCall, second: SpokenCall) -> bool:
    """Return whether a second call does to what is selected what the first did to what it names."""
    does = (one.tool == named.FINDINGS and one.arguments["action"] for one in (first, second))
    again = len({*does}) == 1 and first.tool == named.FINDINGS
    return again and bool(first.names) and second.arguments["which"] == "selected"


def _of_what_was_named(calls: tuple[SpokenCall, ...], before: list[str]) -> tuple[SpokenCall, ...]:
    """Return commands about "it" with what the last of `before` names, which is taken off there.

    "I agree with the effusion, accept it" accepts the effusion, whichever finding is selected.
    """
    meant = {str(call.arguments.get("which")) for call in calls}
    names = [name for one in before for name in known_names(one)]
    if meant <= _TWO and len(names) == 2:
        before.clear()
        which = " and ".join(names)
        return tuple(
            replace(call, arguments={**call.arguments, "which": which}, names=tuple(names))
            for call in calls
        )
    if not before or meant != {"selected"} or _ASKED_FOR.search(before[-1]):
        return calls
    name = _subject(before[-1])
    if not name or _STUDY.fullmatch(name):
        return calls
    before.pop()
    return tuple(
        replace(call, arguments={**call.arguments, "which": name}, names=(name,)) for call in calls
    )


def _of_last_named(
    calls: tuple[SpokenCall, ...], clause: str, before: list[tuple[SpokenCall, ...]]
) -> tuple[SpokenCall, ...]:
    """Return calls about "it" with the finding that the last call named: "accept it, hide it"."""
    last = next(
        (
            one
            for part in reversed(before)
            for one in reversed(part)
            if one.names or one.arguments.get("which") == "all"
        ),
        None,
    )
    calls = _of_last_viewport(calls, clause, before)
    about_it = (
        _IT_OR_ON_IT.search(clause)
        or re.search(r"\b(?:its|er|seine|ihre|davon|of that)\b", clause)
        or _stripped(clause) == "ausblenden"
    )
    if last is None or not about_it:
        return calls
    meant = " and ".join(last.names) or "all"
    where = {k: v for k, v in last.arguments.items() if k == "viewport"}
    return tuple(
        replace(one, arguments={**where, **one.arguments, "which": meant}, names=last.names)
        if one.arguments.get("which") == "selected"
        else replace(one, arguments={**where, **one.arguments, "finding": meant}, names=last.names)
        if one.arguments.get("finding") == "selected" and last.names
        else replace(one, arguments={**where, **one.arguments, "to": meant}, names=last.names)
        if one.arguments.get("to") == "this" and last.names
        else one
        for one in calls
    )


def _of_last_viewport(
    calls: tuple[SpokenCall, ...], clause: str, before: list[tuple[SpokenCall, ...]]
) -> tuple[SpokenCall, ...]:
    """Return calls about "there", or about "it" where that is an image, for its viewport."""
    named_so = [
        one.arguments["viewport"] for part in before for one in part if "viewport" in one.arguments
    ]
    if not named_so:
        return calls
    last = before[-1][-1]
    is_image = "viewport" in last.arguments and not last.names
    if not (_THERE.search(clause) or (is_image and _IT_OR_ON_IT.search(clause))):
        return calls
    where = {"viewport": named_so[-1]}
    return tuple(
        replace(one, arguments={**where, **one.arguments})
        if _is_of_findings(one) or _is_in_a_viewport(one)
        else one
        for one in calls
    )


def _with_one_more(calls: tuple[SpokenCall, ...], part: str) -> tuple[SpokenCall, ...] | None:
    """Return a call about findings with another name: "accept the heart", "both lungs"."""
    try:
        name = _which(part.removesuffix(" ab"))  # "lehne A und B ab"
    except _NotMeant:
        return None
    words = set(words_of(name))
    ends = {one.names[-1].split()[-1] for one in calls if one.names}
    if not words or not (words <= known_words() or name.split()[-1] in ends):
        return None
    if len(calls) != 1 or calls[0].tool != named.FINDINGS or not calls[0].names:
        return None
    (one,) = calls
    which = f"{one.arguments['which']} and {name}"
    names = (*one.names, name)
    return (replace(one, arguments={**one.arguments, "which": which}, names=names),)


def _stands_alone(calls: tuple[SpokenCall, ...] | None, part: str, place: int) -> bool:
    """Return whether a part is a command of its own: not "width 350" in "convert it with ..."."""
    if not calls or (place and re.fullmatch(_whole(r"(?:<the>)?<presets>"), _stripped(part))):
        return False  # "the heart and lungs, in your own words" is about no window
    first = calls[0]
    if str(first.arguments.get("command", "")).startswith(("mark a ", "measure", "draw", "probe")):
        return False  # "RLL consolidation, box" asks for a box around it
    return first.tool != named.WINDOW or not {"center", "width"} & first.arguments.keys()


def _clause(clause: str) -> tuple[SpokenCall, ...] | None:
    clause = clause.rstrip(" .,!?")
    if (alone := _alone(clause)) is not None:
        return (alone,)
    if (series := _OF_SERIES.search(clause)) is not None:
        found = _called(clause[: series.start()]) or ()
        if found and all(one.tool != named.SHOW and _is_in_a_viewport(one) for one in found):
            where = {"viewport": f"series {series['number'] or series['name']}"}
            return tuple(replace(one, arguments={**one.arguments, **where}) for one in found)
    if (both := _IN_BOTH.search(clause)) is not None:
        found = _called(f"{clause[: both.start()]}{clause[both.end() :]}")
        if found and all(map(_is_of_findings, found)) and _names_are_known(Spoken(found)):
            return tuple(
                replace(one, arguments={**one.arguments, "viewport": "all"}) for one in found
            )
    if (every := _ALL_IMAGES.search(clause)) and (found := _called(clause)) is not None:
        # "Close all studies" is a command of its own; "invert all images" is not.
        in_all = _placed(clause, every) if _WORKED.search(clause) else None
        return in_all if in_all and [one.tool for one in in_all] == [found[0].tool] else found
    said = _VIEWPORT.search(clause) or _ALL_IMAGES.search(clause)
    found = _placed(clause, said) if said is not None else None
    if not found and (beside := _ADVERB.search(clause)) and _CHANGED.match(clause):
        found = _placed(clause, beside)
    if (found := found or _called(clause)) is None and (said := _BOTH.search(clause)) is not None:
        # "Both lungs" is what is to be outlined, and no window.
        named_only = set(words_of(clause)) <= known_words() and len(clause.split()) == 2
        found = None if named_only else _placed(clause, said)
    return found


def _alone(clause: str) -> SpokenCall | None:
    """Return the command to show one image without the others, if a clause says only that."""
    said = _ALONE.fullmatch(clause)
    if said is None or not (said["only"] or said["alone"]):
        return None
    if said["new"]:
        return SpokenCall(named.LAYOUT, {"layout": "current"})
    place = said["year"] or said["of"] or said["number"] or (said["side"] and _place(said["side"]))
    return SpokenCall(named.LAYOUT, {"layout": "maximised", "viewport": place or "prior"})


def _placed(clause: str, said: re.Match[str]) -> tuple[SpokenCall, ...] | None:
    """Return the commands of a clause that names a viewport, `said`, by its place."""
    place = next((text for text in said.groups() if text), "")
    where = _where(said)
    groups = said.groupdict()
    elsewhere = bool(groups.get("else"))
    # Not "close the prior", "compare with the old one", "hide the other ones".
    worked = _WORKED_ON_OTHER if elsewhere else _WORKED
    works = not (groups.get("time") or elsewhere) or worked.search(clause)
    in_it = not (elsewhere or groups.get("adverb")) or re.match(r"(?:on|in|auf|im) ", said[0])
    dated = groups.get("year") or groups.get("of")
    for other in ("viewport", "it", ""):
        whole = f"{clause[: said.start()]} {other} {clause[said.end() :]}"
        found = _called(" ".join(whole.split())) or ()
        of_findings = in_it and all(map(_is_of_findings, found))
        if dated and any(one.arguments.get("layout") == "active" for one in found):
            continue  # "go to the film of 2022" shows it
        if place and found and of_findings and not other and _names_are_known(Spoken(found)):
            return tuple(replace(one, arguments={**one.arguments, **where}) for one in found)
        if [one.arguments for one in found] == [{"command": "full screen"}] and place:
            found = (SpokenCall(named.LAYOUT, {"layout": "maximised"}),)
        if works and found and all(map(_is_in_a_viewport, found)):
            return tuple(replace(one, arguments={**one.arguments, **where}) for one in found)
    return None


def _where(said: re.Match[str]) -> dict[str, Any]:
    """Return the argument for a viewport as it is `said`; for all viewports if it has no place."""
    found = said.groupdict()
    if time := found.get("time"):
        return {"viewport": "current" if time.startswith(_LATE) else "prior"}
    if found.get("both"):
        return {"viewport": "all"}
    if found.get("else"):
        return {"viewport": "other"}
    place = next((text for text in said.groups() if text), "")
    return {"viewport": _place(place) if place else "all"}


def _place(said: str) -> str:
    """Return a viewport's place in the tools' words: "top right"; a number as it is."""
    places = [
        place
        for word in said.replace("-hand", "").split()
        for place, words in _PLACES.items()
        if word.startswith(words)
    ]
    return " ".join(places) or said


def _viewport(said: str) -> str:
    """Return a viewport in the tools' words; "" for the active one: "this one"."""
    if re.search(r"\b(?:both|all|every\w*|each|beide\w*|alle\w*|ueberall)\b", said):
        return "all"
    if number := re.search(r"\d+", said):
        return number.group()
    if re.search(r"\b(?:other|andere\w?)\b", said):
        return "other"
    where = _place(said)
    if {"left", "right"} <= {*where.split()}:
        raise _NotMeant
    return where if where != said or said in _PLACES else ""


def _is_of_findings(call: SpokenCall) -> bool:
    """Return whether a call is about findings that it names, and decides nothing."""
    if call.arguments.keys() == {"to"}:
        return True
    sees = call.tool == named.GO_TO or call.arguments.get("action") in _SEES
    named_so = bool(call.names) or call.arguments.get("which") == "all"
    return sees and named_so and "viewport" not in call.arguments


def _is_in_a_viewport(call: SpokenCall) -> bool:
    """Return whether a call is about one viewport, whichever finding is selected."""
    if call.tool == named.LAYOUT:
        return call.arguments["layout"] in ("maximised", "active")
    return call.tool in _IN_A_VIEWPORT and not {"to", "finding"} & call.arguments.keys()


def _called(clause: str) -> tuple[SpokenCall, ...] | None:
    for words in dict.fromkeys(_variants(clause)):
        if words and (found := _matched(words)) is not None:
            return found
    return None


def _variants(clause: str) -> Iterator[str]:
    bare = clause.strip(" .,!?:\"'")
    stripped = _stripped(bare)
    plain = " ".join(_FILLERS.sub(" ", stripped).split())
    corrected = " ".join(map(_corrected, plain.split()))
    for words in (plain, stripped, corrected, bare):
        yield words
        yield _BACK.sub("", words)
    yield from (_HERE.sub("", words) for words in (plain, corrected))
    yield from (_REASON.sub("", words) for words in (plain, corrected))


def _stripped(clause: str) -> str:
    bare = _OPEN.sub("", f"{clause.strip(' .,!?')} ").strip()
    return _CLOSE.sub("", f" {bare}").strip(" ,.!?:\"'")


def _matched(words: str) -> tuple[SpokenCall, ...] | None:
    for rule in _rules():
        match = rule.pattern.fullmatch(words)
        if match is None:
            continue
        found = {key: value or "" for key, value in match.groupdict().items()}
        with suppress(_NotMeant):
            return _call(rule.tool, rule.arguments, found)
    return None


def _call(tool: str, said: dict[str, Any], found: dict[str, str]) -> tuple[SpokenCall, ...]:
    """Return the calls of a tool, by what a rule or intent says of its arguments.

    Raises:
        _NotMeant: What the clause names cannot be meant.
    """
    arguments = {name: _value(value, found) for name, value in said.items()}
    viewport = found.get("vp", "")
    if viewport and (where := _viewport(viewport)):
        arguments["viewport"] = where
    kept = {name: value for name, value in arguments.items() if value is not None}
    width, center = kept.get("width", 0), kept.get("center", 0)
    if {"a", "b"} <= found.keys() and tool == named.WINDOW and 0 < width < center:
        # Of two numbers without names the larger one is the width, in whichever order.
        kept |= {"width": center, "center": width}
    if kept.get("times") == 1:
        del kept["times"]
    if kept.get("action") in _DECIDING and any(map(_IS_ONE.fullmatch, found.values())):
        kept["which"] = "selected"  # "reject the mask" is not about all of them
    if said and not kept:
        raise _NotMeant
    try:
        _inputs()[tool].model_validate(kept)
    except ValidationError:  # a window of no width, a zoom by 0
        raise _NotMeant from None
    names = [
        str(kept[name])
        for name, value in said.items()
        if isinstance(value, str) and value.split()[0] in ("name", "which")
    ]
    taken = tuple(one for name in names for one in _AND.split(name) if one not in _NO_NAMES)
    return (SpokenCall(tool, kept, taken),)


@cache
def _inputs() -> dict[str, type[BaseModel]]:
    return {tool.spec.name: tool.spec.Input for tool in named.TOOLS}


def _value(said: Any, found: dict[str, str]) -> Any:
    """Return an argument's value by what a rule says of it.

    Raises:
        _NotMeant: What the clause names cannot be meant.
    """
    kind, _, group = said.partition(" ") if isinstance(said, str) else ("", "", "")
    text = found.get(group, "").strip() if group else ""
    match kind:
        case "int" | "minus":
            number = int(text) if text.isdigit() else NUMBERS.get(text, 0 if text else 1)
            if not number or 1900 <= number < 2100:  # "2022 on the left" names a year
                raise _NotMeant
            return -number if kind == "minus" else number
        case "number":
            if re.search(r"(?<!\w)-\s?\d", text):
                raise _NotMeant  # there is no slice -3
            return _number(text)
        case "float":
            if digits := re.search(r"[-+]?\d+(?:[.,]\d+)?", text):
                return float(digits.group().replace(",", "."))
            return float(_number(text)) if text else None
        case "factor":
            return _factor(text)
        case "ordinal":
            return _ORDINALS[text]
        case "series":
            return f"series {text}"
        case "study":
            for start, which in (("naechste", "next"), ("andere", "other")):
                text = which if text.startswith(start) else text
            return f"study {text}"
        case "step":
            return _STEPS[text[:4]]
        case "undecided":
            return f"{_STEPS[text[:4]]} undecided"
        case "prior":
            return f"prior {text}".strip()
        case "grid":
            rows, columns = (found.get(name, "") for name in group.split())
            if not (rows and columns):
                raise _NotMeant
            return "x".join(str(NUMBERS.get(one) or one) for one in (rows, columns))
        case "preset":
            if not text:
                raise _NotMeant
            return "lung" if "parenchym" in text else text.replace("-", " ")
        case "name":
            return _name(text)
        case "text":
            return text
        case "corners":
            each = (_points(found.get(name, "")) for name in group.split())
            return tuple(point for points in each if points for point in points)
        case "xy":
            points = _points(text)
            return points and points[0]
        case "points":
            return _points(text)
        case "state":
            return next(state for start, state in _STATES.items() if text.startswith(start))
        case "which":
            return _which(text)
        case _:
            return said


def _points(text: str) -> tuple[tuple[float, ...], ...] | None:
    """Return the point of "column 120 row 300", "(120, 300)" in pixels; None without one."""
    numbers = tuple(float(one) for one in re.findall(r"-?\d+(?:\.\d+)?", text))
    if not text:
        return None
    if len(numbers) != 2:
        raise _NotMeant
    rows_first = re.match(r"\W*(?:row|line|zeile|reihe|y)", text) is not None
    return (numbers[::-1] if rows_first else numbers,)


def _number(text: str) -> int:
    if not (number := number_of(text)):
        raise _NotMeant
    return number


def _factor(text: str) -> float:
    """Return how many times something is enlarged: "3x", "200 %", "twice"."""
    digits = re.search(r"(?<!-)\b\d+(?:[.,]\d+)?", text)
    if digits is None:
        return next((by for word, by in _TIMES.items() if word in text), 0.0) or _number(text)
    value = float(digits.group().replace(",", "."))
    return value / 100 if re.search(r"%|per ?cent|prozent", text) else value


def _name(text: str) -> str:
    name = _ON_IT.sub("", _HERE.sub("", _LEADING.sub("", text)))
    parts = [_LEADING.sub("", part) for part in _AND.split(name)]
    if not name or any(_not_names().fullmatch(part) for part in parts):
        raise _NotMeant
    if len(parts) > 1 and not all(
        words_of(part) and set(words_of(part)) <= known_words() for part in parts
    ):
        raise _NotMeant
    return name


def _which(text: str) -> str:
    """Return which findings are meant: a group of them, the selected one, or a name."""
    if _EVERY.match(text):
        return "all"
    text = re.sub(r"^(?:only|just|nur) ", "", text)
    if mine := _I_DECIDED.fullmatch(text):
        return mine["did"]
    if re.fullmatch(r"(?:die )?(?:both|beide[nr]?)(?: of (?:them|these|those)| davon)?", text):
        return "all 2"
    if counted := re.fullmatch(r"(?:all|alle) (?:the |die )?(\w+)(?: of (?:them|these))?", text):
        number = int(counted[1]) if counted[1].isdigit() else NUMBERS.get(counted[1], 0)
        if number > 1:
            return f"all {number}"
    bare = _TRAILING.sub("", _HERE.sub("", _LEADING.sub("", text)))
    if bare in _SELECTED and text not in ("all", "alle"):
        return "selected"
    if not bare or re.fullmatch(_whole(_parts()["groups"]), bare):
        groups = {
            "masks": r"mask|segment|outline|contour|kontur|umriss",
            "boxes": r"box|kaesten|rahmen",
            "measurements": r"measure|messung",
            "heatmaps": r"heat|saliency|waerme",
        }
        whole = "all" if bare else "selected"
        return next((name for name, said in groups.items() if re.search(said, bare)), whole)
    parts = [_LEADING.sub("", one) for one in _AND.split(bare)]
    if len(parts) > 1 and all(re.fullmatch(_whole(_parts()["groups"]), one) for one in parts):
        return " and ".join(dict.fromkeys(map(_which, parts)))
    if len(bare) < 3:
        raise _NotMeant
    return f"both {_name(bare)}" if _PAIR.match(text) else _name(bare)


def which_findings(text: str) -> str:
    """Return which findings a text names, in the tools' words; "" if it names none."""
    with suppress(_NotMeant):
        return _which(folded(text))
    return ""


@cache
def _not_names() -> re.Pattern[str]:
    """Return the pattern of words that name no finding, and of sentences."""
    return re.compile(_whole(_parts()["not_names"]))


@cache
def _vocabulary() -> dict[str, tuple[str, ...]]:
    """Return the words of all patterns by their first letter."""
    text = re.sub(r"\\[wdbs]", " ", " ".join(rule.pattern.pattern for rule in _rules()))
    found: dict[str, set[str]] = {}
    for word in [*re.findall(r"[a-z]{4,}", text), *_folded_names()]:
        found.setdefault(word[0], set()).add(word)
    return {letter: tuple(words) for letter, words in found.items()}


@cache
def _common_words() -> frozenset[str]:
    """Return words that are spelt well, whatever they are near to: "threw" is not "three"."""
    text = (resources_dir() / "privacy" / "common_words.txt").read_text("utf-8")
    return frozenset(text.split())


@cache
def _names() -> frozenset[str]:
    return frozenset(_folded_names())


def _folded_names() -> list[str]:
    names = (word.translate(_FOLDED) for word in known_words())
    return [word for word in names if len(word) >= 4 and word.isalpha()]


@cache
def _corrected(word: str) -> str:
    """Return a word of the patterns that is off by one letter, if there is one; else the word.

    A German compound is taken apart: "lungenfester" becomes "lungen fenster".
    """
    if (whole := _near(word)) is not None:
        return whole
    for place in range(len(word) - 4, 3, -1):
        head, tail = word[:place], _near(word[place:])
        if head in _vocabulary().get(head[0], ()) and tail is not None:
            return f"{head} {tail}"
    return word


def _near(word: str) -> str | None:
    """Return a word itself if it is known or too short, or the one known word near it."""
    known = _vocabulary().get(word[0], ())
    if len(word) < 4 or not word.isalpha() or word in known or word in _common_words():
        return word
    near = [one for one in known if is_near(word, one)]
    # A letter that was not typed is likelier than a wrong one.
    near = [one for one in near if len(one) > len(word)] or near
    return near[0] if len(near) == 1 else None
