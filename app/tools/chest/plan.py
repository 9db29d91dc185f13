"""The chest pack's plan rules: English and German words, and the tool that answers each.

It also has rules for tools that another pack may bring (a report generator, phrase grounding);
rules for tools that are not installed have no effect.
"""

from __future__ import annotations

from app.tools.chest.contradictions import disagreements
from app.tools.chest.plan_findings import FINDINGS, LABELS, TARGETS
from app.tools.chest.plan_free import DEVICES, FREE, FREE_ALONE, LOOKS, NO_DEVICE
from app.tools.chest.plan_models import (
    ASKS,
    BOX,
    CHEXAGENT,
    COMPARE,
    GENERATE,
    HEATMAP,
    LLAVA,
    MARKED,
    MEDGEMMA,
    NOT_COMPARED,
    NOT_MADE,
    PHRASE,
    PROMPT,
    REPORT_OF_OTHERS,
    SECOND_OPINION,
    TREND,
    WRITTEN_REPORT,
)
from app.tools.chest.plan_words import (
    ANALYSE,
    ANATOMY,
    BEYOND_TUBES,
    DESCRIBE,
    DISEASES,
    ELSEWHERE,
    EVERYTHING,
    EXAMINE,
    GENERIC,
    HEART_SIZE,
    NOT_OUTLINED,
    OUTLINE,
    OVERLAY,
    PHRASES,
    SHOWN,
    STATES,
    STRUCTURES,
    SUBJECT,
    VISIBLE,
    WHERE,
    WIDE_MEDIASTINUM,
)
from app.tools.chest.result_wording import WORDINGS, unanswered
from app.tools.pack_plan import Accepts, AnyOf, PackPlan, QuestionKind, TextWords, ToolRule

_CLASSIFIER = "chest_xray_classifier"
_SEGMENTATION = "chest_xray_segmentation"
_RATIO = "cardiothoracic_ratio"
_REPORT = "chest_xray_report_generator"
_SHOW = "image_visualizer"
_EXPERT = "chest_xray_expert"
_LLAVA = "llava_med_qa"
_MEDGEMMA = "medgemma_qa"
_GROUNDING = "xray_phrase_grounding"
_GENERATOR = "chest_xray_generator"
_COMPARE = "chest_xray_compare"
_MEDSAM2 = "medsam2_segment"

_CHEST = Accepts(
    modalities=("CR", "DX", "RG", "XR"),
    body_parts=("CHEST", "THORAX", "TORAX", "LUNG"),
    what="a chest radiograph (CR, DX)",
    asks=True,
)
_LUNGS_AND_HEART = ("Left Lung", "Right Lung", "Heart")

_ANY_ANSWERS = AnyOf((_EXPERT, _LLAVA, _MEDGEMMA))
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
    QuestionKind(
        "generic",
        GENERIC,
        counts_as="disease",
        unless=(*ELSEWHERE, *WRITTEN_REPORT),
    ),
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
    ),
    # In "a mass in the right lung" the user wants the mass, not the lung.
    QuestionKind("anatomy", ANATOMY, tools=(_SEGMENTATION,), unless=(*DISEASES, *STATES)),
    QuestionKind("heart_size", HEART_SIZE, tools=(_RATIO,), certain=True),
    QuestionKind(
        "report",
        WRITTEN_REPORT,
        tools=(_REPORT,),
        unless=REPORT_OF_OTHERS,
    ),
    QuestionKind("heatmap", HEATMAP, tools=(_CLASSIFIER,), whole=True),
    QuestionKind("box", BOX, tools=(_GROUNDING,), whole=True),
    QuestionKind("box_where", with_kinds=("box", "where"), tools=(_GROUNDING,), whole=True),
    QuestionKind("chexagent", CHEXAGENT, tools=(_EXPERT,), whole=True, addressed=True),
    QuestionKind("llava", LLAVA, tools=(_LLAVA,), needs_image=False, whole=True, addressed=True),
    QuestionKind(
        "medgemma", MEDGEMMA, tools=(_MEDGEMMA,), needs_image=False, whole=True, addressed=True
    ),
    QuestionKind(
        "second_opinion", SECOND_OPINION, tools=(_ANY_ANSWERS,), whole=True, addressed=True
    ),
    QuestionKind(
        "generate",
        GENERATE,
        tools=(_GENERATOR,),
        beats=("box", "change", "report"),
        unless=NOT_MADE,
        needs_image=False,
        whole=True,
    ),
    QuestionKind("trend", TREND),
    QuestionKind(
        "change",
        COMPARE,
        tools=(_COMPARE,),
        unless=(*ELSEWHERE, *NOT_COMPARED),
        whole=True,
    ),
    QuestionKind("change_trend", with_kinds=("trend", "change"), tools=(_COMPARE,), whole=True),
    QuestionKind(
        "marked",
        MARKED,
        tools=(_MEDSAM2,),
        beats=("box", "box_where"),
        means=("outline",),
        whole=True,
    ),
    QuestionKind(
        "device",
        DEVICES,
        tools=(_ANY_ANSWERS,),
        unless=(*BEYOND_TUBES, *NO_DEVICE, *DISEASES),
        whole=True,
    ),
    QuestionKind(
        "looks",
        LOOKS,
        tools=(_ANY_ANSWERS,),
        unless=(*ELSEWHERE, *FINDINGS),
        whole=True,
    ),
    QuestionKind(
        "free",
        FREE,
        tools=(_ANY_ANSWERS,),
        unless=(*ELSEWHERE, "area", "areas", "flaeche*"),
        beats=("disease",),
        whole=True,
    ),
    QuestionKind("free_alone", FREE_ALONE, tools=(_ANY_ANSWERS,), unless=ELSEWHERE, alone=True),
    QuestionKind("overlay", OVERLAY, tools=(_SEGMENTATION, _SHOW), again=False),
    # Phrases with one of the words above that mean something else.
    QuestionKind("other", PHRASES),
)


def _asked_whole(tool: str) -> tuple[TextWords, ...]:
    return (TextWords(ASKS[tool]),)


_TOOLS = (
    ToolRule(
        _CLASSIFIER,
        why="scores 18 labels",
        leave_out=("classif*", "diagnos*", "scor*", "klassifi*", "patholog*", "label*"),
        accepts=_CHEST,
        values=LABELS,
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
        leave_out=(
            *("report*", "bericht*", "*bericht", "dictat*", "impression", "befundtext*"),
            *("*befundbericht*", "befundung", "arztbrief*", "diktat*"),
        ),
        accepts=_CHEST,
    ),
    ToolRule(
        _EXPERT,
        why="answers in words (CheXagent)",
        leave_out=CHEXAGENT,
        accepts=_CHEST,
        texts=_asked_whole(_EXPERT),
    ),
    ToolRule(
        _LLAVA, why="answers in words (LLaVA-Med)", leave_out=LLAVA, texts=_asked_whole(_LLAVA)
    ),
    ToolRule(
        _MEDGEMMA,
        why="answers in words (MedGemma)",
        leave_out=MEDGEMMA,
        texts=_asked_whole(_MEDGEMMA),
    ),
    ToolRule(
        _GROUNDING,
        why="draws boxes around a phrase",
        leave_out=("ground*", "box", "boxes", "bounding box*"),
        accepts=_CHEST,
        makes="visualization_path",
        texts=(PHRASE,),
    ),
    ToolRule(
        _COMPARE,
        why="compares with an earlier film",
        leave_out=("compar*", "vergleich*"),
        accepts=_CHEST,
    ),
    ToolRule(_MEDSAM2, why="outlines what you marked", leave_out=("medsam*",)),
    ToolRule(
        _GENERATOR,
        why="draws a synthetic picture",
        leave_out=("generat*", "synthe*"),
        texts=(PROMPT,),
        makes="image_path",
        made=(
            *("generated image", "generated picture", "generated x-ray", "generated xray"),
            *("generated radiograph", "generated film", "generated png", "generated scan"),
            *("synthetic image", "synthetic x-ray", "synthesized image", "generated chest x-ray"),
        ),
    ),
)

PLAN = PackPlan(
    "chest",
    suggestions=(
        "Where are the lungs, and is the heart enlarged?",
        "What is abnormal here, and where?",
    ),
    marked_question="Segment what I marked with medsam2_segment",
    kinds=_KINDS,
    tools=_TOOLS,
    targets=TARGETS,
    wordings=WORDINGS,
    unanswered=unanswered,
    disagreements=disagreements,
    caveats=(
        "mirrored",
        "looks like a lateral view",
        "names a lateral view",
        "does not look like an upright frontal chest radiograph",
        "looks like a negative",
        "contradicts itself",
        "name different patients",
        "was taken after image",
    ),
)
