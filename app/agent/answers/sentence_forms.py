"""Forms of sentences: what they decline, lack, refer to, or tell of several things at once.

Patterns for the check of a model's text (`claims`), in English and German.
"""

from __future__ import annotations

import re

DECLINED = re.compile(
    r"\?\W*$|\bwhether\b|\b(?:to|for) (?:rul(?:e|ing) out|exclud(?:e|ing)|look(?:ing)? for)\b"
    r"|\bzum Ausschluss\b"
    r"|\bnot (?:been )?(?:\w+ )?(?:looked|assess\w*|examin\w*|check\w*|evaluat\w*"
    r"|measured|tested|searched|covered|scored)\b|\bno (?:\w+ )?(?:tool|model|result)\b"
    r"|\bnicht (?:\w+ )?(?:untersucht|beurteil\w*|geprüft|gesucht|(?:aus|ver|ab)?gemessen|bewertet)"
    r"|\bnone of the (?:\w+ ){0,2}(?:tools|models|results)\b|\bnot (?:a )?(?:probabilit|diagnos)\w+"
    r"|\bkein(?:e|en)? (?:\w+ )?(?:werkzeug|modell|ergebnis|angabe|information|daten|eintr[aä]g)"
    r"|\bno (?:\w+ )?(?:information|data|entry|entries) (?:on|about|for)\b"
    r"|\bno (?:[\w-]+ ){0,2}(?:score|value|measurement|figure)"
    r" (?:is |was )?(?:available|given|for)\b"
    r"|\bkeine? (?:[\w-]+ ){0,2}[\w-]*(?:score|wert|messung) (?:vor|verfügbar|angegeben|für)\b"
    r"|\b(?:says?|said|states?|sagt|steht) (?:nothing|nichts) (?:about|on|of|zu|über)\b"
    r"|\bnothing (?:in (?:this|the) \w+|here|that I have) (?:tells|says|shows)\b"
    r"|\b(?:does|do)(?: not|n['’]t) (?:exclude|rule out)\b|\bschließ\w+ [^.;]* nicht (?:\w+ )?aus\b"
    r"|\b(?:mir|uns) nicht bekannt\b|\b(?:I|we)(?: a|'|’)[mr]e? not aware of\b"
    r"|\bob\b|\bkann ich (?:\w+ )?(?:nicht|weder)\b"
    r"|\bno [\w-]+ (?:has|have|was|were)(?: been)? (?:characteri[sz]ed|assessed|measured|examined"
    r"|evaluated|looked at|searched for)\b"
    r"|^\W*(?:please|consider|recommend\w*|ask|bitte|if you|a (?:radiologist|physician|doctor)"
    r" should)\b|\b(?:cannot|can't|could not|couldn't|unable to|not able to|(?:do|does|did)"
    r" not)\s+(?:say|tell|decide|determine|answer|assess|judge|know|see|look)\b",
    re.IGNORECASE,
)
NOT_GIVEN = re.compile(
    r"\b(?:ha(?:s|ve|d)|g[ai]ves?|stat(?:es?|ed)|contain(?:s|ed)?|return(?:s|ed)?|list(?:s|ed)?"
    r"|carr(?:y|ies)"
    r"|records?|names?|holds?|there (?:is|are|was)) no (?:[\w-]+ ){0,3}(?P<what>scores?|values?"
    r"|sides?|dates?"
    r"|labels?|entry|entries|results?|measurements?|figures?|box(?:es)?|statements?|mention)\b"
    r"|\bno (?:[\w-]+ ){0,2}(?P<of>scores?|values?|sides?|dates?|entry|entries|measurements?"
    r"|figures?) (?:is|are|was"
    r"|were|has been|have been) (?:given|returned|stated|listed|recorded|available)\b"
    r"|\b(?:hat|haben|gibt|nennt|enthält|liefert|führt|liegt|liegen"
    r"|steht)\b(?: [\w-]+){0,4} keine?[nms]?"
    r" (?:[\w-]+ ){0,2}(?P<was>scores?|werte?|seiten?|datum|labels?|einträge?|ergebnisse?"
    r"|messung(?:en)?"
    r"|angaben?|kasten)\b",
    re.IGNORECASE,
)
"""Words of sentences that tell what a result does not give."""
EXCEPTION = re.compile(
    r"\bthe (?:only |one |sole )?exception\b|\bausnahme\b"
    r"|\b(?:weitere|andere)\b[^.;]*\bals\b|\b(?:other|further|more)\b[^.;]*\bthan\b",
    re.IGNORECASE,
)
"""Words for the cited thing of which the contrary of the rest is true."""
EXCLUDES = re.compile(
    r"(?<!not )(?<!cannot )(?<!nicht )\b(?:rule[sd]? out|excludes?|denies|denied|verneint"
    r"|(?:speaks?|argues?) against|spr(?:icht|echen) gegen)\b"
    r"|\bschließ(?:t|en)\b(?!.*\bnicht aus\b).*\baus\b",
    re.IGNORECASE,
)
"""Verbs by which a report says that what it names is not there."""
PASSIVE_DENIAL = re.compile(
    r"\b(?:wurden?|was|were)(?: \w+){0,3} (?:verneint|ausgeschlossen|denied|excluded|ruled out)\b",
    re.IGNORECASE,
)
"""Behind several cited things: "effusion [8.1] and pneumothorax [8.4] were denied"."""
BESIDES = re.compile(
    r"\W*(?:beyond|apart from|besides|in addition to|other than|neben|außer|abgesehen von"
    r"|zusätzlich zu)\b",
    re.IGNORECASE,
)
"""Begins a sentence that cites one thing and then claims another: "apart from X [3.1], Y"."""
ANOTHER_CLAIM = re.compile(
    r"\s*,?\s*(?:there(?:['’]s| is| are)|es (?:gibt|besteht|findet)|besteht|findet sich)\b",
    re.IGNORECASE,
)
"""Begins a claim of its own behind a citation: "apart from the effusion [3.1] there is"."""
FIELDS = {
    **dict.fromkeys(("side", "seit"), "left|right"),
    **dict.fromkeys(("date", "datu"), "date"),
    **dict.fromkeys(("scor",), "score"),
    **dict.fromkeys(("valu", "wert", "figu", "meas", "mess"), "value|score|area"),
    **dict.fromkeys(("box", "boxe", "kast"), "box"),
}
"""Words of an item that has a side, date, score and so on, by the first letters of the field."""
NOT_MENTIONED = re.compile(
    r"\b(?:do|does|did)(?: not|n['’]t) (?:mention|list|name|contain|include|cover|give|comment"
    r"|return|report)\b"
    r"|\b(?:(?:is|are|was|were)(?: not|n['’]t)|not) (?:returned|given|listed|included|provided"
    r"|mentioned|covered|stated|specified)\b"
    r"|\bthere (?:is|are) no [^.;]{1,40} (?:among|in) (?:the|these|my) (?:results|values|data"
    r"|record"
    r"|entries|list)\b|\bunter den (?:ergebnissen|werten)\b[^.;]* keine?n?\b"
    r"|\bnothing (?:else |more |further )?(?:was|is|has been) (?:returned|given|listed|included"
    r"|provided|mentioned)\b"
    r"|\b(?:I|we) have no\b|\b(?:ich habe|habe ich|liegt mir|mir liegt) keine?\b"
    r"|\blieg(?:t|en) (?:mir |uns |hier )?(?:\w+ )?nicht vor\b|\b(?:I|we) (?:do not"
    r"|don['’]t) have\b"
    r"|\bfehlen mir\b"
    r"|\b(?:is|are) not (?:in|part of|among) (?:this|the|my|these) (?:session|record|results?"
    r"|data)\b"
    r"|\bthere (?:is|are) no [^.;]{1,40} in this session\b"
    r"|\b(?:ist|sind|liegen|liegt|steht|stehen) (?:\w+ )?nicht in (?:dieser|der) (?:sitzung|akte)\b"
    r"|\bnicht (?:erwähnt|genannt|aufgeführt|enthalten|angegeben|übermittelt|erfasst)\b"
    r"|\b(?:erwähnt|nennt"
    r"|enthält)\b[^.;]{0,60} nicht\b",
    re.IGNORECASE,
)
"""Words of sentences that tell of what a result says nothing."""
NOT_DONE = re.compile(
    r"\b(?:I|we) (?:find|found|see|saw) nothing (?:in|about|on)\b"
    r"|\b(?:I|we) (?:find|found|see|saw) no (?:\w+ )?(?:entry|entries|mention|note|word|record)\b"
    r"|\b(?:finde|sehe) ich (?:\w+ )?keine?n? (?:eintr[aä]g|hinweis|angabe)"
    r"|\b(?:do|does|did)(?: not|n['’]t) (?:state|say|tell|know|mention|record|specify|give|explain"
    r"|show) (?:why|when|whether"
    r"|how|if|what|who|since)\b|"
    r"\b(?:I|we) (?:have not|haven['’]t|did not|didn['’]t|could not|couldn['’]t|cannot"
    r"|can['’]t) (?:yet )?"
    r"(?:search|look|check|assess|measure|compare|examine|evaluate|tell|say)\w*\b"
    r"|\bhabe ich\b[^.;]{0,60}"
    r" nicht (?:gesucht|gemessen|beurteilt|geprüft|verglichen|untersucht)\b",
    re.IGNORECASE,
)
"""Matches what was not done, or is not said: "I did not search for fractures"."""
OWN_PREDICATE = re.compile(
    r"\s*,? ?(?:though|although|which|with|without|wobei|allerdings|mit"
    r"|ohne)\b[^,;.]*?,\s*(?:and|und|but|aber|while)\s+|"
    r"\s*(?:is|are|was|were|ist|sind|war|waren)\b(?:[^,;.]|[,.](?=\d))*?(?:;|,(?!\d)|\b(?:and|und"
    r"|while|whereas|während)\b)\s*"
)
"""Matches a predicate behind a citation, up to the next thing: "[7.1] is high, "."""
CLAUSES = re.compile(r"[;:()]|,(?!\d)|\b(?:and|und|but|aber)\b", re.IGNORECASE)
NONE_THERE = re.compile(
    r"\b(?:none|keiner|keins|keines|keinen (?:an|gefunden|markiert|nach))\b", re.IGNORECASE
)
"""Words by which a sentence denies what another clause names: "but none was found"."""
ONLY = re.compile(
    r"\b(?:no|kein\w*) ([\w-]+) (?:other than|except(?: for)?|apart from|außer)\b", re.IGNORECASE
)
"""An exception from a denial: "no allergy other than penicillin"."""
CAUSE = re.compile(
    r"\b(?:due to|because of|caused by|as a result of|secondary to|aufgrund (?:von|einer|eines)"
    r"|infolge"
    r"|bedingt durch|verursacht durch) (?P<of>[^.,;:()]+)",
    re.IGNORECASE,
)
"""Words before what a sentence gives as a cause."""
URL_BEHIND = re.compile(r"(?<=\w )\(?(?:see |siehe )?https?://\S+")
"""An address behind the words that it belongs to."""
PREDICATE = re.compile(
    r"\s*(?:is|are|was|were|stay(?:s|ed)?|remain(?:s|ed)?|lies?|lay|ist|sind|war|waren|bleib\w*"
    r"|blieb\w*|lieg\w*|lag\w*)\b"
)
"""Begins a predicate of several cited things in a row: "A [1.1] and B [1.2] are flagged"."""
VERB = re.compile(r"\b(?:is|are|was|were|has|have|ist|sind|war|waren|hat|haben)\b", re.IGNORECASE)
SALUTATION = re.compile(
    r"^\W*(?:dear|hello|hi|good (?:morning|evening|afternoon|day)|sehr geehrte\w*|liebe[rs]?"
    r"|guten (?:tag|morgen|abend)"
    r"|hallo)\b[^.;:]{0,60}[,!]?\W*$"
    r"|^\W*(?:yours|(?:with )?(?:kind|best|warm) (?:regards|wishes)|sincerely|mit (?:freundlichen"
    r"|besten"
    r"|kollegialen) grüßen)\b[^.;:]{0,60}$",
    re.IGNORECASE,
)
"""The first and last line of a letter."""
ORIENTATION = re.compile(
    r"\b(?:linke|rechte|left|right)\w* (?:(?:körper)?seite|side)\b[^.;]{0,40}"
    r"\b(?:im bild|bildseite|(?:of|in|on) the (?:image|picture|film|screen))\b",
    re.IGNORECASE,
)
"""As in "the patient's left side is at the right of the image"."""
TREND = re.compile(
    r"\b(?:(?:is|are|keeps?) (?:rising|falling|climbing|dropping|improving|worsening)"
    r"|(?:has|have) (?:risen|fallen|come down|gone (?:up|down)|climbed|dropped|improved|worsened"
    r"|normali[sz]ed)"
    r"|(?:steigt|sinkt|fällt|klettert)\b(?! unter)|(?:ist|sind) (?:gestiegen|gesunken|gefallen"
    r"|angestiegen))\b",
    re.IGNORECASE,
)
"""Words for a course, of which one value says nothing: "the CRP has come down"."""
LATE_DENIAL = re.compile(
    r"\b(?P<what>[A-ZÄÖÜ]\w+) (?P<verb>sind|wurden|liegen|bestehen) (?:(?:derzeit|bisher|mir"
    r"|hier) )?keine(?: (?P<how>bekannt"
    r"|beschrieben|dokumentiert|vermerkt|gefunden|vorhanden|erkennbar|nachweisbar|markiert|vor))?\b"
)
"""German denials behind what they deny: "Allergien sind keine bekannt"."""
NO_WORRY = re.compile(
    r"^\W*(?:no worry|don['’]t worry|no need to worry|keine sorge"
    r"|kein grund zur sorge)\b[^:;.]*[:;.]",
    re.IGNORECASE,
)
AVOID = re.compile(
    r"\b(?:avoid|stay clear of|no|kein|verzichte\w* (?:bitte )?auf"
    r"|meide\w*)\b [^:;.,]{0,30}?(?=,? (?:please|bitte|as|because|since|da|weil|denn)\b)"
    r"(?:,? (?:please|bitte)\b[:,]?)?",
    re.IGNORECASE,
)
"""Advice against a drug, beside the allergy to it: "please avoid penicillin, as ..."."""
NOT_NORMAL = re.compile(
    r"\b(?:not|nicht|n['’]t)\b[^.;]*\b(?:normal|unauffällig|unremarkable)", re.IGNORECASE
)
ABOUT_ANSWER = re.compile(
    r"\bhat sich (?:\w+ )?(?:einiges|etwas|manches|vieles) (?:verändert|getan)"
    r"|\b(?:several|some|a few|many) things (?:have )?changed\b"
    r"|\b(?:(?:in|see) the (?:footnotes?|table|list)|(?:listed|given|shown) below|as follows"
    r"|siehe unten"
    r"|(?:in|siehe) (?:den|der|die) (?:fußnoten?|tabelle|liste))\b",
    re.IGNORECASE,
)
"""Words about the answer itself: "the values are in the footnotes"."""
DENIES_LIST = re.compile(
    r"\W*(?:(?:labels? )?not (?:flagged|found|seen|present|detected|identified)|negative(?: for)?"
    r"|absent"
    r"|nicht (?:markiert|gefunden|gesehen|vorhanden|nachweisbar|erkannt)|negativ)\b[^:;.]{0,40}:",
    re.IGNORECASE,
)
"""Begins a list of what is not there: "Not flagged: pneumothorax [1.3], consolidation [1.4]"."""
COMPARES = re.compile(r"\W*(?:comparison|vergleich)\W*", re.IGNORECASE)
"""A heading that names no image, though its word may."""
YOU_ASKED = re.compile(
    r"^\W*(?:you|your) (?:asked|mentioned|wrote|question)[^,;]*[,;]\s*(?:but |and )?"
    r"|^\W*Sie (?:fragten|nannten|schrieben)[^,;:]*[,;:]"
    r"\s*(?:aber |und )?",
    re.IGNORECASE,
)
"""Matches a clause that repeats what the user asked: "You asked about the effusion, but"."""
SAME_SIDE = re.compile(
    r"\b(?:on |in )?(?:that |the )?same side\b|\b(?:auf )?(?:der|die)(?:selbe"
    r"|gleiche)n? seite\b",
    re.IGNORECASE,
)
"""The side that the sentence before tells."""
NOT_SAME_SIDE = re.compile(
    r"\bnot on the same side\b|\bnicht auf de(?:r|n) ?(?:selben|gleichen) seiten?\b", re.IGNORECASE
)
NOT_FOUND = re.compile(
    r"\b(?:could not|couldn['’]t|cannot|can['’]t|was unable to|failed to) (?=(?:find|detect"
    r"|locate|identify|see|show)\b)",
    re.IGNORECASE,
)
"""Words that say of a search that it found nothing."""
BARE_PREDICATE = re.compile(
    r"\W*(?:not )?(?:found|present|flagged|seen|detected|absent|not found)\b"
    r"|\W*(?:nicht )?(?:gefunden|markiert|vorhanden"
    r"|nachweisbar)\b",
    re.IGNORECASE,
)
"""Begins a line of a list whose heading names the finding: "not found"."""
FOUND_IT = re.compile(
    r"\b(?:find|found|detect\w*|locate\w*|flag\w*) (it)\b|\b(it) (?:was"
    r"|is) not \w+ed\b",
    re.IGNORECASE,
)
"""Words in which "it" is the finding that the cited item names."""
LISTS_NAMES = re.compile(
    r"\b(?:labels?|phrases?|terms|names|begriffe|phrasen)\b[^.;:]*:(?![^.]*\d)"
    r"|\b(?:there (?:is|are)|I have|gibt es|liegen)(?: mir)? (?:\w+ ){0,2}"
    r"(?:results?|values?|scores?|entr(?:y|ies)|ergebnisse?|werte?|einträge?)\b",
    re.IGNORECASE,
)
"""A list of names, which says nothing of what they name: "three labels: A, B and C"."""
CHANGED = re.compile(
    r"\b(?:has|have|had|hat|haben|ist|sind)\b(?: sich)?(?: not| nicht| kaum)? (?:[\w,.]+ ){0,6}"
    r"(?:changed|grown|shrunk|increased|decreased|doubled|halved|tripled|risen|fallen|dropped"
    r"|climbed"
    r"|(?:ver|ge)ändert|vergrößert|verkleinert|verdoppelt|halbiert|(?:zu|ab)genommen|gestiegen"
    r"|gefallen"
    r"|gesunken)\b|\b(?:unchanged|unverändert)\b",
    re.IGNORECASE,
)
"""Words that compare with an earlier image."""
OF_IT = re.compile(r"\W*(?:its|their|seine?|ihre?|dessen|deren)\b", re.IGNORECASE)
"""How a sentence begins that measures what the one before speaks of."""
THERE = re.compile(r"\b(?:dort|damals|zugehörig\w*|corresponding|(?<!since )then)\b", re.IGNORECASE)
"""Words for the image of which the sentence before speaks."""
OFTEN = {"twice": 2, "zweimal": 2, "three times": 3, "dreimal": 3, "four times": 4, "viermal": 4}
"""Words for how often a dose is taken."""
PRONOUN = re.compile(
    r"\W*(?:it|they|both|its|the (?:latter|former)|er|sie|es|beide|letztere[rs]?"
    r"|(?:this|that|these|those|diese[rsnm]?)(?= (?:two|one|is|are|was|were|has|have|had|ist"
    r"|sind|war|waren|hat|report|film|image|radiograph|study|bericht|befund|aufnahme)\b))\b",
    re.IGNORECASE,
)
"""How a sentence begins that goes on with what the one before speaks of."""
THESE = re.compile(r"\b(?:these|those|diese[rn]?)\s+$", re.IGNORECASE)
"""Words before a number that counts what the sentence before cites."""
ON_NEITHER = re.compile(
    r"\b(is|are|was|were) (\w+ (?:on|in)) neither(?= (?:film|image|radiograph|study|one)\b)", re.I
)
"""As in "is flagged on neither film"."""
SAFE = re.compile(
    r"\b(?:is|are|be|ist|sind|wäre)\s+(?:\w+\s+)?(?:safe|contraindicated|unbedenklich"
    r"|kontraindiziert)\b"
    r"|\b(?:can|may) (?:be \w+ safely|safely be)\b",
    re.IGNORECASE,
)
"""Words that advise for or against something for this patient."""
NOT_THIS = re.compile(
    r"\b(?:not|nicht|unlike|than|als)(?: (?:on|in|of|to|for|from|the|this|that|auf|im|der|dem|den"
    r"|das|die))* $",
    re.IGNORECASE,
)
"""Words before one for an image of which the sentence does not speak."""
ALLERGY = re.compile(r"\b(\w{5,}?)(allergie\w*)\b", re.IGNORECASE)
THE = re.compile(
    r"\W*(?:the|der|die|das)((?: [^\W\d_]+){1,2}) (?:is|are|ist|sind)\b", re.IGNORECASE
)
THIS = re.compile(
    r"\b(?:the|this|that|these|its|der|die|das|dem|den|des|diese\w*)(?: \w+)? $", re.I
)
ADVICE = re.compile(
    r"\b(?:should|must|needs? to|recommend\w*|consider\w*|soll\w*|muss|müssen|empf\w+)\b", re.I
)
SIGN = re.compile(
    r"\b(?:(?:signs?|evidence|features|picture) of|suggest(?:s|ive of)|indicat(?:es|ive of)"
    r"|hints? at|(?:consistent|compatible) with|in keeping with|suspicious for|hinweise? auf"
    r"|zeichen (?:von|einer|eines|für)|spr(?:icht|echen) für|vereinbar mit) (?P<of>[^.,;:]+)",
    re.IGNORECASE,
)
"""Words by which a sentence tells what images show, whatever it is."""
REQUEST = re.compile(r"[;,]\s*(?:please|bitte)\b.*", re.IGNORECASE | re.DOTALL)
DOUBT = re.compile(
    r"cannot|can't|not (?:be )?(?:decid|reliab)|unreliab|uncertain|unclear|borderline|too near"
    r"|too close|border to|undecided|doubt|can neither|nicht auszuschließen"
    r"|neither (?:clearly|prove|confirm|exclude|support|say)"
    r"|weder (?:eindeutig|sicher|klar|beweis|beleg)"
    r"|(?:does|do) not (?:\w+ ){0,3}(?:mean|prove|show)",
    re.IGNORECASE,
)
TRUSTED = re.compile(
    r"\b(?:is|are|ist|sind)\s+(?:\w+\s+)?(?:reliable|stable|robust|trustworthy|zuverlässig"
    r"|stabil)\b",
    re.IGNORECASE,
)
GENERAL = re.compile(
    r"\b(?:(?:is|are) (?:a|an|when|defined|called|termed|caused)|refers? to|means|usually|"
    r"typically|generally|commonly|often|in adults|in general|by definition)\b",
    re.IGNORECASE,
)
HERE = re.compile(
    r"\b(?:this|these|that|here|there|it|he|she|his|her|your|we|I|our|patient\w*|shows?|seen"
    r"|visible|"
    r"noted|evident|present|left|right|upper|lower|possib\w+|concern\w*|suspect\w*|likely"
    r"|findings?|"
    r"mild|moderate|severe|small|large|the (?:image|film|scan|radiograph|picture|study|ratio)|"
    r"(?<!of )the (?:heart|lungs?|cardiac))\b",
    re.IGNORECASE,
)
"""Words of sentences that speak of an image, whatever they say of all (`GENERAL`)."""
