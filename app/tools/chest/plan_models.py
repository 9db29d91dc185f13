"""English and German words that request the tools of the large models.

`app.tools.pack_plan` documents how words are written. Common radiological words ("effusion",
"heart") are left out, so that the tools run only if the user asks for them or for what they make.
"""

from __future__ import annotations

from app.tools.chest.plan_words import FINDINGS, LISTS, WORDS
from app.tools.pack_plan import TextWords, any_of

HEATMAP = WORDS["HEATMAP"]

_BOXES = ("box", "boxes", "frame", "rectangle", "rectangles", "square")
_AROUND = ("around", "round", "on", "about", "over")
BOX = WORDS["BOX"]
_BEFORE_PHRASE = (
    *WORDS["BEFORE_PHRASE"],
    *(f"{box} {where}" for box in _BOXES for where in ("around", "round", "for", "on")),
)
PHRASE = TextWords("phrase", _BEFORE_PHRASE, about=(*FINDINGS, *WORDS["BLUNT"]), quoted=True)
CHEXAGENT = WORDS["CHEXAGENT"]
LOCATE = WORDS["LOCATE"]
PROGRESSION = WORDS["PROGRESSION"]
"""Words for two of CheXagent's tasks; what stands after them is the prompt."""
LLAVA = ("llava", "llava med", "llavamed", "lava med", "lavamed")
MEDGEMMA = ("medgemma", "med gemma", "medgema", "gemma")
OTHER_ANSWER = WORDS["OTHER_ANSWER"]
"""References of a question to what another model said before."""
SECOND_OPINION = ("second opinion", "other opinion", "zweitmeinung*", "zweite meinung")
"""Requests for another model's words about the picture, for any installed model."""
_MAKE = LISTS["MAKE"]
_UNREAL = LISTS["UNREAL"]
_UNREAL_GERMAN = LISTS["UNREAL_GERMAN"]
_GENERATE_GERMAN = LISTS["GENERATE_GERMAN"]

_FINDING = any_of(*FINDINGS)
GENERATE = (
    *WORDS["GENERATE"],
    f"generate|synthesize|synthesise {_FINDING}",
    f"{_MAKE} .. {_FINDING}",
    f"{_UNREAL} .. {_FINDING}",
    f"{_GENERATE_GERMAN} .. {_FINDING}",
    f"{_FINDING} .. {_GENERATE_GERMAN}",
    f"{_UNREAL_GERMAN} .. {_FINDING}",
)
NOT_MADE = WORDS["NOT_MADE"]
"""Results that a tool derives from the open film; they do not request a synthetic film."""
PROMPT = TextWords("prompt", WORDS["PROMPTS"], all_addressed=True)
TREND = WORDS["TREND"]
"""Words of change, which do not request a comparison by themselves."""
COMPARE = WORDS["COMPARE"]
NOT_COMPARED = WORDS["NOT_COMPARED"]
"""Comparisons of other things than two films, or remarks on a change since yesterday."""
MARKED = WORDS["MARKED"]
"""References to what the user has drawn: not "marked enlargement", nor "mark the heart"."""
WRITTEN_REPORT = WORDS["WRITTEN_REPORT"]
REPORT_OF_OTHERS = WORDS["REPORT_OF_OTHERS"]
"""References to an existing report, which do not request a draft."""
