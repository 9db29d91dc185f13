"""User terms, English and German, for the findings that the classifier scores."""

from __future__ import annotations

from app.tools.pack_plan import ValueWords, phrases

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
        ("Effusion", ("effusion*", "eff", "*erguss*", "*erguesse*", "hydrothorax")),
        ("Pneumonia", ("pneumoni*", "pna", "*lungenentzuendung*")),
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
"""User terms for each label of the classifier."""

FINDINGS = (
    *(word for item in LABELS for word in item.words if " " not in word),
    *("lesion*", "fluid", "shadow*", "tumor*", "tumour*", "granuloma*", "cavit*", "metasta*"),
    *("abnormal*", "infection", "haziness", "density", "calcif*", "herd", "herde", "*metastase*"),
    *("verdichtung*", "laesion*", "rundschatten", "verkalk*", "fluessigkeit", "stauung"),
)
"""All terms for findings, scored by the classifier or not."""

TARGETS = (
    *((item.value, item.words) for item in LABELS),
    ("Cardiomegaly", ("enlarged heart",)),
    ("Enlarged Cardiomediastinum", ("widen* mediastinum", "mediastin* .. widen*")),
    (
        "lesion",
        phrases("""
            tumor*, tumour*, lesion*, mass, masses, nodul*, cancer*, metasta*, cavit*, fractur*,
            infiltrat*, opacit*, effusion*, consolidat*, pneumothora*
        """),
    ),
    (
        "size",
        phrases("""
            size, how many|much|big|large|long|wide, measure*, count, number of, largest, smallest,
            diameter, segment*, outline*, contour*, delineate*, box, boxes
        """),
    ),
    (
        "part",
        phrases("""
            left, right, upper, lower, middle, lobe, lobar, bilateral*, unilateral*, apical, apex,
            apices, basal, bases
        """),
    ),
    ("volume", ("volume", "capacity")),
)
"""What the wordings of results distinguish: the classifier's labels, and what no tool finds."""
