"""What the chest pack tells the planner, as data: English and German words, and what answers what.

It speaks of tools that are not installed here as well (a report generator, phrase grounding):
another pack may bring them, and what is not there is not planned.
"""

from __future__ import annotations

from app.tools.chest.plan_words import (
    ANALYSE,
    ANATOMY,
    DESCRIBE,
    DISEASES,
    ELSEWHERE,
    EVERYTHING,
    EXAMINE,
    HEART_SIZE,
    NOT_OUTLINED,
    OUTLINE,
    OVERLAY,
    PHRASES,
    REPORT,
    SHOWN,
    STATES,
    STRUCTURES,
    SUBJECT,
    VISIBLE,
    WHERE,
    WIDE_MEDIASTINUM,
)
from app.tools.chest.telling import TELLERS, unanswered
from app.tools.planning import Accepts, PackPlan, QuestionKind, ToolRule

_CLASSIFIER = "chest_xray_classifier"
_SEGMENTATION = "chest_xray_segmentation"
_RATIO = "cardiothoracic_ratio"
_REPORT = "chest_xray_report_generator"
_SHOW = "image_visualizer"

_CHEST = Accepts(
    modalities=("CR", "DX", "RG", "XR"),
    body_parts=("CHEST", "THORAX", "TORAX", "LUNG"),
    what="a chest radiograph (CR, DX)",
)
_LUNGS_AND_HEART = ("Left Lung", "Right Lung", "Heart")

_ALL = (_CLASSIFIER, _SEGMENTATION, _RATIO, _REPORT, _SHOW)

_KINDS = (
    QuestionKind("everything", EVERYTHING, tools=_ALL, unless=ELSEWHERE),
    QuestionKind("visible", VISIBLE, tools=_ALL, unless=ELSEWHERE, by_eye=True),
    QuestionKind("describe", DESCRIBE, tools=_ALL, unless=ELSEWHERE, alone=True, by_eye=True),
    QuestionKind("analyse", ANALYSE, tools=_ALL, unless=ELSEWHERE, alone=True),
    QuestionKind("all", ("everything", "alles"), tools=_ALL, unless=ELSEWHERE, bare=True),
    QuestionKind("state", STATES, counts_as="disease", unless=ELSEWHERE, bare=True),
    QuestionKind("examine", EXAMINE, counts_as="disease", beats=("anatomy",), unless=ELSEWHERE),
    QuestionKind("subject", SUBJECT),
    QuestionKind("disease", DISEASES, tools=(_CLASSIFIER,), unless=ELSEWHERE),
    QuestionKind("where", WHERE),
    QuestionKind(
        "disease_where", with_kinds=("disease", "where"), tools=(_CLASSIFIER, _SEGMENTATION)
    ),
    QuestionKind("widened", WIDE_MEDIASTINUM, tools=(_CLASSIFIER, _SEGMENTATION)),
    QuestionKind(
        "outline",
        (*OUTLINE, *SHOWN),
        tools=(_SEGMENTATION,),
        unless=(*ELSEWHERE, *NOT_OUTLINED),
        expects_data=True,
    ),
    # "A mass in the right lung" asks for the mass.
    QuestionKind("anatomy", ANATOMY, tools=(_SEGMENTATION,), unless=(*DISEASES, *STATES)),
    QuestionKind("heart_size", HEART_SIZE, tools=(_RATIO,), certain=True, expects_data=True),
    QuestionKind("report", REPORT, tools=(_REPORT,)),
    QuestionKind("overlay", OVERLAY, tools=(_SEGMENTATION, _SHOW), again=False),
    # Phrases that hold a word of the above and mean something else.
    QuestionKind("other", PHRASES),
)

_TOOLS = (
    ToolRule(
        _CLASSIFIER,
        why="scores 18 labels",
        leave_out=("classif*", "diagnos*", "scor*", "klassifi*", "patholog*", "label*"),
        accepts=_CHEST,
    ),
    ToolRule(
        _SEGMENTATION,
        why="outlines the anatomy",
        leave_out=(
            *("segment*", "*segmentierung*", "mask*", "outlin*", "contour*", "delineat*"),
            *("umriss*", "umrande*", "kontur*", "einzeichn*", "overlay*"),
        ),
        accepts=_CHEST,
        values=STRUCTURES,
        usual=(("organs", _LUNGS_AND_HEART),),
        empty=("metrics",),
        missing=("not_found", "unavailable_organs"),
        makes="segmentation_image_path",
        made=(
            *("segmentation overlay", "segmentation image", "segmentation mask"),
            *("segmentation result", "segmentation picture", "segmented image", "overlay image"),
            *("segmented picture", "segmented png", "overlay picture", "overlay png"),
            *("the overlay", "that overlay", "this overlay"),
        ),
    ),
    ToolRule(
        _RATIO,
        why="measures heart against thorax",
        leave_out=("measur*", "ratio", "ctr", "quotient*", "htq", "*messung*", "messen"),
        accepts=_CHEST,
        empty=("ratio",),
    ),
    ToolRule(
        _REPORT,
        why="drafts a report",
        leave_out=("report*", "bericht*", "dictat*", "impression"),
        accepts=_CHEST,
    ),
    ToolRule("chest_xray_expert", accepts=_CHEST),
    ToolRule("xray_phrase_grounding", accepts=_CHEST, makes="visualization_path"),
    ToolRule(
        "chest_xray_generator",
        makes="image_path",
        made=(
            *("generated image", "generated picture", "generated x-ray", "generated xray"),
            *("generated radiograph", "generated film", "generated png", "generated scan"),
            *("synthetic image", "synthetic x-ray", "synthesized image", "generated chest x-ray"),
        ),
    ),
)

PLAN = PackPlan("chest", kinds=_KINDS, tools=_TOOLS, tellers=TELLERS, unanswered=unanswered)
