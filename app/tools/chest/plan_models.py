"""English and German words that request the tools of the large models.

`app.tools.pack_plan` documents how words are written. Common radiological words ("effusion",
"heart") are left out, so that the tools run only if the user asks for them or for what they make.
"""

from __future__ import annotations

from app.tools.chest.plan_words import FINDINGS
from app.tools.pack_plan import TextWords, any_of, phrases, word_lists

_LISTS = word_lists("chest")

_MODEL = any_of("model", "network", "net", "ai", "algorithm", "classifier",
                "cnn", "modell", "netz", "netzwerk", "ki", "algorithmus", "klassifikator",
                "densenet", "prediction",
                "vorhersage")  # fmt: skip
_ATTENTION_VERBS = any_of("attention", "attend", "attended", "attends", "focus", "focused",
                 "focuses",
                 "looked", "looking", "looks", "relied", "relies", "relying", "concentrated",
                 "hinsieht", "hinschaut", "hinguckt", "hingeschaut", "geschaut", "geachtet",
                 "achtet", "schaut", "guckt", "stuetzt", "gestuetzt", "fokussiert", "konzentriert",
                 "beachtet", "angeschaut", "angesehen", "fixiert", "aufmerksamkeit", "based",
                 "basiert", "sieht")  # fmt: skip
_AREAS = any_of("area", "areas", "region", "regions", "pixel", "pixels", "part", "parts", "zone",
                "zones", "bit", "bits", "place", "places", "spot", "spots", "bereich", "bereiche",
                "bildbereiche", "bildbereich", "regionen", "stelle", "stellen", "teile",
                "areal", "areale", "where", "what", "which")  # fmt: skip
_INFLUENCE_VERBS = any_of("drove", "drive", "drives", "driving", "driven", "influenc*",
                 "contribut*",
                 "responsible", "convinc*", "tipped", "pushed", "triggered", "led", "lead",
                 "swayed", "persuaded", "decisive", "activat*", "beigetragen", "beitragen",
                 "verantwortlich", "ausschlaggebend", "entscheidend", "gefuehrt", "ueberzeugt",
                 "ausgeloest", "beeinflusst", "relevant", "mattered", "weighed")  # fmt: skip
_SCORE = any_of("score", "scores", "prediction", "predictions", "probability", "decision",
                "output", "verdict", "call", "vorhersage", "entscheidung", "ergebnis", "wert",
                "wahrscheinlichkeit", "classification", "klassifikation")  # fmt: skip
HEATMAP = (
    f"{_MODEL} .. {_ATTENTION_VERBS}", f"attention|aufmerksamkeit .. {_MODEL}",
    f"focus of {_MODEL}",
    f"{_MODEL} .. base|bases|based .. on", "worauf .. stuetzt|achtet|geachtet|geschaut",
    f"{_AREAS} .. {_INFLUENCE_VERBS} .. {_MODEL}",
    f"{_AREAS} .. {_INFLUENCE_VERBS} .. {_SCORE}", f"{_AREAS} .. {_SCORE} .. {_INFLUENCE_VERBS}",
    "regions|areas|pixels|zones|bits|parts|bereiche|stellen|regionen .. "
    "drove|driving|decisive|influenc*|contribut*|responsible|convinced|tipped|pushed|triggered|swayed|"
    "beigetragen|verantwortlich|ausschlaggebend",
    f"explain|justify|visuali*|explanation .. {_SCORE}", f"visual explanation .. {_SCORE}",
    f"where .. {_MODEL} .. get|got|take|took|find|found",
    *phrases(_LISTS["HEATMAP"]),
)  # fmt: skip

_BOXES = ("box", "boxes", "frame", "rectangle", "rectangles", "square")
_AROUND = ("around", "round", "on", "about", "over")
BOX = (
    *("box", "boxes", "boxed", "bounding box*", "bbox", "bboxes", "phrase grounding"),
    *("ground phrase", "grounding", "rectangle", "rectangles", "draw square", "put square"),
    *(f"frame {where}" for where in _AROUND),
    *phrases(_LISTS["BOX"]),
    "put|enclose|place|wrap|draw|show|surround|set|have .. in|inside|with box|rectangle|frame",
    "put|enclose|place|wrap|surround in|inside box|rectangle|frame",
    "in box|rectangle please",
    *("rahmen zeichnen", "rahmen ziehen", "encase", "einzurahmen", "umrahmung", "umrahme*"),
)
_BLUNT = phrases(_LISTS["BLUNT"])
"""Further objects to draw a box around, where no finding is named."""
_BEFORE_PHRASE = (
    *(f"{box} {where}" for box in _BOXES for where in ("around", "round", "for", "on")),
    *phrases(_LISTS["BEFORE_PHRASE"]),
)  # fmt: skip
PHRASE = TextWords("phrase", _BEFORE_PHRASE, about=(*FINDINGS, *_BLUNT), quoted=True)

CHEXAGENT = phrases("""
    chexagent*, chex agent, xray expert, x-ray expert, roentgenexperte*, chest expert
""")
LOCATE = phrases("locate the, locate a, locate an, locate any, lokalisiere den, lokalisiere die")
PROGRESSION = phrases("progression of, progression von, progression des, progression der")
"""Words for two of CheXagent's tasks; what stands after them is the prompt."""
LLAVA = ("llava", "llava med", "llavamed", "lava med", "lavamed")
MEDGEMMA = ("medgemma", "med gemma", "medgema", "gemma")
OTHER_ANSWER = (
    "that|this|the|first|previous|earlier|its|their "
    "interpretation|answer|opinion|reading|assessment|response|explanation|reply|draft",
    *phrases("agree, disagree*, stimmst du .. zu, diese|dieser|die|der antwort|deutung|meinung"),
)
"""References of a question to what another model said before."""
SECOND_OPINION = ("second opinion", "other opinion", "zweitmeinung*", "zweite meinung")
"""Requests for another model's words about the picture, for any installed model."""
_CHEST_FILM = any_of("xray", "radiograph", "cxr", "film", "roentgenogram", "chest")
_PICTURE = any_of("xray", "ray", "radiograph", "cxr", "film", "roentgenogram", "chest", "image",
                "picture", "example", "case", "one", "thorax")  # fmt: skip
_PICTURE_GERMAN = any_of("*roentgenbild*", "*thoraxaufnahme*", "*roentgenaufnahme*", "*thoraxbild*",
                 "*roentgenthorax", "thorax", "beispielbild*", "bild", "aufnahme", "uebungsbild*",
                 "*aufnahme", "cxr", "fall")  # fmt: skip
_ARTICLES = any_of("a", "an", "another", "some")
_MAKE = any_of("generate", "generating", "synthesi*", "simulat*", "invent", "fabricate", "synth",
             "fake")  # fmt: skip
_PAINT = any_of("paint", "draw", "imagine", "sketch", "print", "mal", "male", "malen", "zeichne",
                "erschaff*", "entwirf", "ersinn*", "einfallen")  # fmt: skip
_CREATE = any_of("create", "make", "produce", "render", "build", "compose", "construct")
_UNREAL = any_of("synthetic", "artificial", "fake", "fictitious", "fictional", "imaginary", "dummy",
               "simulated", "generated", "fabricated", "synthesized", "synthesised",
               "pretend", "phantom", "synth")  # fmt: skip
_UNREAL_GERMAN = any_of("synthetisch*", "kuenstlich*", "erfunden*", "fiktiv*", "simuliert*",
                   "ausgedacht*", "generiert*", "computergeneriert*", "kuenstlich")  # fmt: skip
_GENERATE_GERMAN = any_of(
    "erzeug*", "generier*", "synthetisier*", "simulier*", "erfind*", "ausdenk*"
)
_CREATE_GERMAN = any_of("erstell*", "mach*", "bastel*", "produzier*", "herstell*", "bau*")
_FINDING = any_of(*FINDINGS)
GENERATE = (
    f"{_MAKE}|{_PAINT} .. {_ARTICLES}|me .. {_CHEST_FILM}|ray with|showing|of|having",
    f"{_PAINT} .. {_PICTURE_GERMAN} .. mit", f"{_PICTURE_GERMAN} .. mit .. {_PAINT}",
    f"{_PAINT} .. {_CHEST_FILM} .. with|of", f"imagine {_CHEST_FILM}", f"{_UNREAL} .. chest|thorax",
    f"{_MAKE} chest|thorax", f"{_MAKE} normal|pa|ap|frontal|lateral|healthy .. chest|thorax",
    f"an|a|some invented|made|imagined|hallucinated|nonexistent .. {_PICTURE}",
    f"computer|machine .. made|drawn|generated .. {_PICTURE}",
    f"generate|synthesize|synthesise {_FINDING}",
    "computer|machine|ai made|generated|drawn", "belongs to nobody|none", "gehoert niemandem",
    f"{_MAKE} .. {_ARTICLES} .. {_PICTURE}",
    f"{_CREATE} .. {_ARTICLES} .. xray|radiograph|cxr|film|roentgenogram|chest|image|picture|ray",
    *(f"{verb} {_CHEST_FILM}" for verb in (_MAKE, _CREATE)),
    *(f"{verb} x ray" for verb in (_MAKE, _CREATE)),
    *(f"{verb} {kind} {_CHEST_FILM}" for verb in (_MAKE, _CREATE)
      for kind in (any_of("chest", "pa", "ap", "frontal", "portable", "normal", "lateral"),)),
    *(f"{verb} pa|ap|frontal|portable|normal chest {_CHEST_FILM}"
      for verb in (_MAKE, _CREATE)),
    f"{_MAKE} me", f"{_MAKE} .. {_FINDING}",
    "make|making|made|think|conjure|mock|dream|cook up",
    "make .. up", f"come up with {_PICTURE}",
    f"{_UNREAL} .. {_PICTURE}", f"{_UNREAL} .. {_FINDING}",
    f"{any_of(_MAKE, _CREATE, 'give', 'need', 'want', 'show')} .. {_UNREAL}",
    f"{_PICTURE} .. exist|existing", "synth",
    f"{_GENERATE_GERMAN} .. {_PICTURE_GERMAN}", f"{_PICTURE_GERMAN} .. {_GENERATE_GERMAN}",
    f"{_GENERATE_GERMAN} .. {_FINDING}", f"{_FINDING} .. {_GENERATE_GERMAN}",
    f"denk .. {_PICTURE_GERMAN} .. aus",
    f"{_CREATE_GERMAN} .. ein|eine|einen|nen|n .. {_PICTURE_GERMAN}",
    f"ein|eine|einen .. {_PICTURE_GERMAN} .. {_CREATE_GERMAN}",
    f"{_UNREAL_GERMAN} .. {_PICTURE_GERMAN}", f"{_UNREAL_GERMAN} .. {_FINDING}",
)  # fmt: skip
NOT_MADE = phrases(_LISTS["NOT_MADE"])
"""Results that a tool derives from the open film; they do not request a synthetic film."""
_PROMPTS = phrases(_LISTS["PROMPTS"])
PROMPT = TextWords("prompt", _PROMPTS, all_addressed=True)

_EARLIER = any_of("prior*", "previous", "earlier", "old", "older", "last", "baseline", "preceding",
                "former", "first", "yesterday*", "initial", "outside", "admission", "original",
                "monday*", "tuesday*", "wednesday*", "thursday*", "friday*", "saturday*", "sunday*",
                "preop*", "comparison")  # fmt: skip
_PLAINLY = any_of("prior", "priors", "previous", "earlier", "baseline", "preceding", "yesterday*",
                "before", "earlier")  # fmt: skip
_DAYS = any_of("monday*", "tuesday*", "wednesday*", "thursday*", "friday*", "saturday*", "sunday*",
             "yesterday*")  # fmt: skip
_STUDY = any_of("film", "films", "image", "images", "study", "studies", "exam", "exams", "xray",
              "ray", "rays", "xrays", "radiograph", "radiographs", "cxr", "cxrs", "one", "scan",
              "examination", "picture", "chest", "time", "week", "month", "year", "visit", "night",
              "admission", "comparison", "x")  # fmt: skip
_PRIOR_GERMAN = any_of("voraufnahme*", "vorbild*", "voruntersuchung*", "vorbefund*", "voraufn",
            "vortag*",
            "gestern", "vorgestern", "gestrig*", "vorthorax", "voraufnahmen", "vorherig*",
            "vorig*", "frueher*", "vorwoche", "vormonat", "vorjahr", "letztens", "mai", "juni",
            "aufnahmetag", "alten", "altem", "altes", "alte", "letzten", "letzter", "letztes",
            "letztem", "letzte", "zuletzt", "damals")  # fmt: skip
_PRIOR_PHRASES_GERMAN = any_of(
    *phrases("""
    voraufnahme*, vorraufnahme*, foraufnahme*, vohraufnahme*, forbild*, vorbild*,
    voruntersuchung*, vorthorax, voraufn
""")
)
TREND = phrases(_LISTS["TREND"])
"""Words of change, which do not request a comparison by themselves."""
_CHANGED = any_of(*TREND)
_COMPARED_TO_GERMAN = any_of("zum", "zur", "mit", "gegenueber", "vs", "versus", "als", "ggue",
            "gg", "seit", "vom",
            "gegen")  # fmt: skip
_COMPARED = any_of("compare", "compared", "comparison", "comparing", "compares")
_COMPARISON_GERMAN = any_of(
    "vergleich*", "*vergleich", "vergleichen", "verglichen", "abgleich*", "gegenueber"
)
_MONTHS = any_of(
    "january", "february", "march", "april", "june", "july", "august", "september", "october",
    "november", "december", "januar", "februar", "maerz", "mai", "juni", "juli", "oktober",
    "dezember")  # fmt: skip
COMPARE = (
    f"{_COMPARED} .. {_EARLIER}", f"{_COMPARED} .. ago|week|month|before",
    f"{_EARLIER} {_STUDY} .. {_COMPARED}", f"{_EARLIER} .. compared|comparison",
    f"compare|comparison|compared .. two|both {_STUDY}",
    f"against|beside|versus|vs {_STUDY} from|of", f"next to .. {_EARLIER}",
    f"stack* up .. {_EARLIER}",
    f"hold|put|set|lay .. against|beside|alongside|next .. {_EARLIER}",
    f"{_COMPARISON_GERMAN} .. {_MONTHS}", f"{_COMPARED} .. {_MONTHS}",
    f"than|since|versus|vs|with|to|against|and {_EARLIER} {_STUDY}",
    f"than|since|versus|vs|with|to|from|against {_PLAINLY}",
    f"than|since|versus|vs|from|against {_DAYS}",
    "than|since last|then",
    "prior|previous|old|earlier .. comparison|compare",
    f"{_CHANGED} .. since|seit|ago", f"since|seit .. {_CHANGED}",
    f"{_CHANGED} .. {_EARLIER} {_STUDY}", f"{_EARLIER} {_STUDY} .. {_CHANGED}",
    f"{_CHANGED} .. prior|priors|baseline",
    f"prior|priors|baseline .. {_CHANGED}",
    f"{_CHANGED} .. {_DAYS}", f"{_DAYS} .. {_CHANGED}",
    "size|weight|volume|grown|grew|chang*|worse*|better|improv* .. in between|meantime",
    "meanwhile|inzwischen|seither|seitdem|zwischenzeitlich .. veraender*|gewachsen|groesser|"
    "kleiner|zugenommen|abgenommen|changed|grown|worse|better|improved",
    *phrases(_LISTS["COMPARE"]),
    f"{_COMPARISON_GERMAN} .. {_PRIOR_GERMAN}", f"{_PRIOR_GERMAN} .. {_COMPARISON_GERMAN}",
    f"{_COMPARISON_GERMAN} .. zwei|beide|beiden .. bilder*|*aufnahmen|*bilder",
    f"{_CHANGED} .. {_PRIOR_GERMAN}", f"{_PRIOR_GERMAN} .. {_CHANGED}",
    f"{_COMPARED_TO_GERMAN} {_PRIOR_GERMAN}", f"{_COMPARED_TO_GERMAN} .. {_PRIOR_PHRASES_GERMAN}",
    *phrases(_LISTS["COMPARE_B"]),
)  # fmt: skip
NOT_COMPARED = phrases(_LISTS["NOT_COMPARED"])
"""Comparisons of other things than two films, or remarks on a change since yesterday."""

_DRAW_VERBS = any_of("marked", "drew", "drawn", "boxed", "clicked", "selected", "outlined",
             "circled",
             "dragged", "pointed", "highlighted", "encircled", "indicated", "traced")  # fmt: skip
_PLACING = any_of("put", "set", "placed", "dropped", "left", "made", "picked", "pinned", "have")
_MARKS = any_of("box", "boxes", "rectangle", "frame", "mark", "marks", "marking", "markings",
"point",
              "points", "click", "clicks", "dot", "dots", "roi", "selection", "square", "prompt",
              "seed", "seeds", "cross", "bbox")  # fmt: skip
_DRAWN = any_of("box", "boxes", "rectangle", "marking", "markings", "points", "clicks", "dots",
"roi",
                "selection", "bbox")  # fmt: skip
_MARKIERUNG = any_of("kasten", "kaestchen", "box", "rechteck", "rahmen", "punkt", "punkte",
              "punkten",
              "markierung*", "auswahl", "klick*", "viereck", "boxen", "kastens", "rechtecks",
              "kreuz*")  # fmt: skip
_MARKED_OBJECTS = any_of(
    *phrases("""
    region, area, lesion, spot, structure, thing, part, bit, object, place, finding, nodule,
    mass, piece, zone, shadow, opacity, blob
""")
)
_DETERMINERS = any_of("that", "this", "those", "these", "my", "our")
MARKED = (
    f"i {_DRAW_VERBS}", f"ive|we|just|have|ve {_DRAW_VERBS}", f"i've {_DRAW_VERBS}",
    f"i|ive|we|i've|we've {_PLACING}|pulled|dragged|stretched|painted|placed .. {_MARKS}",
    f"i've|ive|we've|have just|already|now {_PLACING}|pulled|dragged|stretched|painted .. {_MARKS}",
    "markierung*|auswahl|kasten|kaestchen|rechteck .. segmentier*|umrande*|umrand*|konturier*|"
    "ausschneiden|maskieren",
    "mask|segment|contour|outline of marking|selection",
    f"i just {_DRAW_VERBS}", f"i have {_DRAW_VERBS}", f"i've just {_DRAW_VERBS}",
    f"we've {_DRAW_VERBS}",
    f"my two|three|own|last|little|green|yellow|red {_MARKS}",
    "clicks|points|dots|crosses on|in|over|inside|onto",
    "those|these points|clicks|dots|marks|boxes", f"my|our {_MARKS}",
    f"inside|within|in|from|using|use|under|at {_DRAWN}", f"{_MARKS} of mine|ours",
    f"inside|within|in|from|using|use|under|at|of {_DETERMINERS} {_DRAWN}",
    f"{_MARKS} i", f"{_MARKS} .. clicked|placed|drawn|marked",
    *("what's inside it", "what is inside it", "whats inside it", "clicked on", "inside it"),
    f"marked|selected|boxed|clicked|circled|highlighted {_MARKED_OBJECTS}",
    "what .. marked|clicked|selected|circled|boxed",
    f"{_MARKED_OBJECTS} .. marked|clicked|selected|circled|boxed|dragged",
    "marked|clicked|circled|drawn by me",
    *("marked here", "under my cursor", "medsam*", "med sam*", "by box prompt", "box prompt"),
    # German
    "markierte*",
    "was|habe|hab|von .. markiert|angeklickt|eingekreist|eingezeichnet|umkreist|"
    "ausgewaehlt|angekreuzt|eingerahmt",
    "markiert habe|hab|ist|wurde", "angeklickt*", "angekreuzt*", "eingekreist*",
    *("ausgewaehlte*", "umkreist*", "eingerahmte*"),
    f"mein|meine|meinen|meinem|meiner|meines {_MARKIERUNG}",
    f"{_MARKIERUNG} .. gesetzt*|gezeichnet*|gezogen*|gemacht*|eingezeichnet*|aufgezogen|habe|liegt",
    f"gesetzt*|gezeichnet*|gezogen*|aufgezogen* {_MARKIERUNG}",
    f"habe .. {_MARKIERUNG}", f"im|innerhalb|aus {_MARKIERUNG}",
    "in|innerhalb|aus .. kasten|kaestchen|box|rechteck|rahmen|markierung|auswahl|viereck",
)  # fmt: skip
"""References to what the user has drawn: not "marked enlargement", nor "mark the heart"."""

WRITTEN_REPORT = (
    *phrases(_LISTS["WRITTEN_REPORT"]),
    *(f"schriftlich* {noun}" for noun in ("befund*", "beurteilung", "auswertung")),
    *(f"{verb} .. {noun}" for verb in ("schreib*", "erstell*", "verfass*", "formulier*", "tipp*")
      for noun in ("befund*", "beurteilung", "roentgenbefund")),
    *(f"{noun} .. {verb}" for verb in ("schreiben", "erstellen", "verfassen", "formulieren",
      "diktieren", "aufsetzen", "geschrieben", "schreibst", "erstellst", "ausformulieren")
      for noun in ("befund*", "beurteilung")),
    *("befund bitte", "bitte befund", "befund schreiben"),
    *("befund mit", "befund in textform", "befund als text", "ausformulierter befund"),
)  # fmt: skip
REPORT_OF_OTHERS = phrases(_LISTS["REPORT_OF_OTHERS"])
"""References to an existing report, which do not request a draft."""
