"""The words that the large models' tools are asked for by, in English and German.

How they are written: `app.tools.planning`. Nothing here is asked for by what a radiologist says
anyway ("effusion", "heart"): these tools run where they or their work are meant.
"""

from __future__ import annotations

from app.tools.planning import TextWords, ValueWords

LABELS = tuple(
    ValueWords("labels", label, words)
    for label, words in (
        ("Atelectasis", ("atelecta*", "atelektas*", "collapse*", "*kollaps*", "collapsed")),
        ("Consolidation", ("consolidat*", "konsolidi*", "konsolidation*")),
        ("Infiltration", ("infiltrat*", "*infiltrat*")),
        ("Pneumothorax", ("pneumothora*", "ptx", "pneu", "*pneumothora*")),
        ("Edema", ("edema*", "oedema*", "*oedem*", "congestion", "lungenstauung")),
        ("Emphysema", ("emphysem*",)),
        ("Fibrosis", ("fibros*", "fibrotic", "*fibrose*")),
        ("Effusion", ("effusion*", "*erguss*", "*erguesse*", "hydrothorax")),
        ("Pneumonia", ("pneumoni*", "*lungenentzuendung*")),
        ("Pleural_Thickening", ("pleural thickening", "pleuraverdickung*", "pleuraschwiele*")),
        ("Cardiomegaly", ("cardiomegal*", "kardiomegali*")),
        ("Nodule", ("nodul*", "*knoten", "rundherd*")),
        ("Mass", ("mass", "masses", "raumforderung*")),
        ("Hernia", ("hernia*", "*hernie*")),
        ("Lung Lesion", ("lung lesion*",)),
        ("Fracture", ("fractur*", "*fraktur*", "broken rib*", "*bruch", "*brueche")),
        ("Lung Opacity", ("opacit*", "opacification*", "verschattung*")),
        ("Enlarged Cardiomediastinum", ("enlarged cardiomediastinum",)),
    )
)
"""What users call the classifier's labels."""

HEATMAP = (
    *("heatmap*", "heat map*", "grad cam", "gradcam", "saliency", "activation map*"),
    *("attention map*", "class activation*", "where .. model look*", "where .. network look*"),
    *("waermebild*", "waermekarte*", "aktivierungskarte*", "wo .. modell hingesehen"),
)

BOX = (
    *("box around", "boxes around", "bounding box*", "phrase grounding", "ground phrase"),
    *("grounding", "box for", "boxes for", "kasten um", "kaesten um", "rahmen um"),
)
PHRASE = TextWords(
    "phrase",
    (
        *("bounding box around", "bounding boxes around", "bounding box for", "box around"),
        *("bounding boxes for", "boxes around", "box for", "boxes for", "ground the phrase"),
        *("ground phrase", "grounding of", "phrase grounding of", "phrase grounding for"),
        *("kasten um", "rahmen um", "kästen um"),
    ),
)

CHEXAGENT = ("chexagent*", "xray expert", "x-ray expert", "roentgenexperte*")
LLAVA = ("llava", "llava med", "llavamed")
MEDGEMMA = ("medgemma", "med gemma")
SECOND_OPINION = ("second opinion", "other opinion", "zweitmeinung*", "zweite meinung")
"""Another model's words on the picture, whichever is there."""
ASKS = {"chest_xray_expert": "prompt", "llava_med_qa": "question", "medgemma_qa": "question"}
"""The argument that takes the user's question."""

_FILMS = (
    *("x-ray", "xray", "radiograph", "cxr", "chest x-ray", "chest xray", "chest radiograph"),
    *("pa chest x-ray", "ap chest x-ray", "pa chest radiograph", "chest film", "film"),
)
_AUFNAHMEN = ("roentgenbild*", "thoraxaufnahme*", "roentgenaufnahme*", "thoraxbild*")
_MAKE = ("generate", "synthesize", "synthesise", "simulate", "create")
GENERATE = (
    *(f"{verb} {noun}" for verb in _MAKE for noun in _FILMS),
    *(f"{verb} synthetic" for verb in _MAKE),
    *(f"synthetic {noun}" for noun in _FILMS),
    *(
        f"{verb} {noun}"
        for verb in ("erzeuge*", "generier*", "synthetisier*")
        for noun in _AUFNAHMEN
    ),
    *(f"synthetische* {noun}" for noun in _AUFNAHMEN),
)
PROMPT = TextWords(
    "prompt",
    (*_MAKE, "erzeuge", "erzeuge mir", "generiere", "generiere mir", "synthetisiere"),
)

_EARLIER = ("prior*", "previous", "earlier", "old", "older", "last", "baseline")
_BOTH = ("two", "both", "these two", "beiden", "beide", "zwei")
_SHOWN = ("images", "films", "x-rays", "xrays", "radiographs", "studies", "scans", "pictures")
_BILDER = ("bilder", "aufnahmen", "roentgenbilder", "thoraxaufnahmen", "roentgenaufnahmen")
COMPARE = (
    *(f"{verb} .. {word}" for verb in ("compare", "compared", "comparison") for word in _EARLIER),
    *(f"{verb} {which} {noun}" for verb in ("compare", "comparison of") for which in _BOTH
      for noun in _SHOWN),
    *(f"vergleich* {which} {noun}" for which in _BOTH for noun in _BILDER),
    *("interval change*", "changed since", "change since", "changes since", "what has changed"),
    *("vergleich* .. voraufnahme*", "voraufnahme* .. vergleich*", "vergleich* .. vorbild*"),
    *("veraendert seit", "veraenderung* seit", "verlaufskontrolle*", "verlaufsbeurteilung*"),
)  # fmt: skip

MARKED = (
    *("what i marked", "what i drew", "what i have marked", "what i have drawn", "my mark"),
    *("marked region", "marked area", "marked lesion", "marked spot", "my box", "my point"),
    *("my points", "my marks", "medsam", "medsam2", "med sam", "was ich markiert"),
    *("markierte stelle", "markierten bereich", "markierte region", "meine markierung*"),
    *("meinen punkt", "meinen kasten", "mein kasten"),
)

REPORT_OF_OTHERS = (
    *("old report", "previous report", "prior report", "earlier report", "last report"),
    *("outside report", "report says", "report said", "report reads", "report read"),
    *("report mentions", "report mentioned", "report states", "report stated", "report claims"),
    *("in report", "according to report", "from report", "report was", "report calls"),
    *("alter bericht", "alte bericht", "alten bericht", "laut bericht", "im bericht"),
    *("bericht sagt", "bericht steht", "bericht nennt", "vorbericht*"),
)
"""A report that is there already: nobody wants it drafted."""
