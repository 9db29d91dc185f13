"""English and German words by which chest questions are recognised.

`app.tools.pack_plan` documents how they are written. `*` stands for the rest of a German compound
noun ("*erguss", "lungen*").
"""

from __future__ import annotations

from app.tools.pack_plan import ValueWords, phrases, value_lists, word_lists

LISTS = word_lists("chest")
WORDS = {section: phrases(words) for section, words in LISTS.items()}
_PICTURES = WORDS["PICTURES"]
_BILDER = ("bild", "aufnahme", "roentgenbild", "thoraxbild", "thoraxaufnahme", "roentgenaufnahme")
EVERYTHING = WORDS["EVERYTHING"]
VISIBLE = ("what do you see", "what can you see", "was siehst du", "was sieht man")
"""Questions that a language model with image input may answer by itself."""
DESCRIBE = (
    *WORDS["DESCRIBE"],
    *(f"describe {noun}" for noun in _PICTURES),
)

ANALYSE = (
    *WORDS["ANALYSE"],
    *(f"{verb} {noun}" for verb in ("analyse", "analyze") for noun in _PICTURES),
)
GENERIC = WORDS["GENERIC"]
"""All terms for findings, which a report describes."""
DISEASES = (
    *WORDS["DISEASES"],
    *(f"read {noun}" for noun in _PICTURES),
    *(f"assess {noun}" for noun in _PICTURES),
    *(f"evaluate {noun}" for noun in _PICTURES),
    *(f"interpret {noun}" for noun in _PICTURES),
    *(f"{lead} {noun}" for lead in ("make of", "think of", "opinion on") for noun in _PICTURES),
)

EXAMINE = ("analyse", "analyze", "analysis", "analysier*")
"""Words that request a disease, of the heart as well; without them the heart itself is meant."""
STATES = WORDS["STATES"]
SUBJECT = WORDS["SUBJECT"]
"""Words of the field that request nothing by themselves."""
WIDE_MEDIASTINUM = WORDS["WIDE_MEDIASTINUM"]
WHERE = WORDS["WHERE"]
OUTLINE = WORDS["OUTLINE"]
STRUCTURES = tuple(
    ValueWords("organs", name.replace("(side)", "{side}"), words, sided="(side)" in name)
    for name, words in value_lists(LISTS["OUTLINED"]).items()
)
"""User terms for the structures that the segmentation can outline."""

ANATOMY = tuple(word for item in STRUCTURES for word in item.words)

SHOWN = tuple(
    f"{verb} .. {name}"
    for verb in phrases("""
        show, mark, where, wo, locate, highlight, find, draw, label, identify, color, colour, zeig*,
        markier*, zeichne, finde, hebe, faerbe
    """)
    for name in ANATOMY
    if " " not in name
)
"""Words for showing a structure: they request its outline, whatever else the clause contains."""
_HEART_WORDS = WORDS["HEART_WORDS"]
_BIG = WORDS["BIG"]
_MEASURES = ("herzgroesse*", "heart size", "cardiac size", "ctr", "ratio", "htq", "quotient*")
HEART_SIZE = (
    *WORDS["HEART_SIZE"],
    *(f"{heart} .. {big}" for heart in _HEART_WORDS for big in _BIG),
    *(f"{big} .. {heart}" for heart in _HEART_WORDS for big in _BIG if big not in ("ok",)),
)

HEART_JUDGED = (
    *WORDS["HEART_JUDGED"],
    *(
        pair
        for heart in ("heart", "heart size", "cardiac silhouette", "cardiac size", "herz")
        for big in phrases("enlarg*, big, large, dilated, normal, huge, vergroesser*, gross")
        for pair in (f"{heart} .. {big}", f"{big} .. {heart}")
    ),
)
"""Words of statements on whether the heart is enlarged."""
HEART_MEASURED = ("cardiothoracic", "ctr", "heart width", "thorax width", "thoracic width")

OVERLAY = (
    *WORDS["OVERLAY"],
    *(
        f"{verb} {noun}"
        for verb in ("show", "display", "visualise", "visualize", "view", "see")
        for noun in (
            "overlay",
            "overlays",
            "segmentation",
            "segmented image",
            "masks",
            "mask image",
            "segmentation overlay",
            "segmentation mask",
            "segmentation masks",
        )
    ),
    *(
        f"{verb} {noun}"
        for verb in ("zeig*", "anzeigen")
        for noun in ("overlay", "segmentierung", "maske", "masken", "segmentierungsmaske")
    ),
)
PHRASES = WORDS["PHRASES"]
WINDOWS = WORDS["WINDOWS"]
"""Windows of the display, which are no structures to outline."""
ELSEWHERE = WORDS["ELSEWHERE"]
"""Parts of the body for which the pack has no tool."""
BEYOND_TUBES = tuple(
    word
    for word in ELSEWHERE
    if word not in ("stomach", "magen", "abdomen", "brust", "bowel*", "darm", "skin", "haut")
)
"""The same parts where the question is about a tube, which may end in the stomach."""
NOT_OUTLINED = WORDS["NOT_OUTLINED"]
"""Structures of the chest that the segmentation cannot outline."""

LABELS = tuple(
    ValueWords("labels", label, words) for label, words in value_lists(LISTS["LABELS"]).items()
)
"""User terms for each label of the classifier."""

FINDINGS = (
    *(word for item in LABELS for word in item.words if " " not in word),
    *("lesion*", "fluid", "shadow*", "tumor*", "tumour*", "granuloma*", "cavit*", "metasta*"),
    *("abnormal*", "infection", "haziness", "density", "calcif*", "herd", "herde", "*metastase*"),
    *("verdichtung*", "laesion*", "rundschatten", "verkalk*", "fluessigkeit", "stauung"),
)
"""All terms for findings, scored by the classifier or not."""
NORMAL = WORDS["NORMAL"]
"""Words of statements that nothing is found."""
_BEYOND_LABELS = WORDS["BEYOND_LABELS"]
BEYOND_LABELS = (*_BEYOND_LABELS, *WORDS["TREATMENTS"])
"""Further findings, and treatments, of which only a result that names them says anything."""

TARGETS = (
    *((item.value, item.words) for item in LABELS),
    *value_lists(LISTS["TARGETS"]).items(),
    ("unscored", (*BEYOND_LABELS, *WORDS["UNSCORED"])),
    ("finding", (*_BEYOND_LABELS, *WORDS["UNSCORED"])),
)
"""What the wordings of results distinguish: the classifier's labels, and what no tool finds."""
