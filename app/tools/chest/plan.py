"""The chest pack's plan rules: English and German words, and the tool that answers each.

It also has rules for tools that another pack may bring (a report generator, phrase grounding);
rules for tools that are not installed have no effect.
"""

from __future__ import annotations

from app.tools.chest import plan_models as models
from app.tools.chest import plan_words as words
from app.tools.chest.contradictions import (
    CLASSIFIER,
    EXPERT,
    GROUNDING,
    LLAVA,
    MEDGEMMA,
    RATIO,
    REPORT,
    SEGMENTATION,
    disagreements,
)
from app.tools.chest.plan_free import DEVICES, FREE, FREE_ALONE, LOOKS, NO_DEVICE
from app.tools.chest.result_wording import WORDINGS, unanswered
from app.tools.pack_plan import Accepts, AnyOf, PackPlan, QuestionKind, TextWords, ToolRule

_SHOW = "image_visualizer"
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

_ANY_ANSWERS = AnyOf((EXPERT, LLAVA, MEDGEMMA))
_ALL = (CLASSIFIER, SEGMENTATION, RATIO, REPORT, _SHOW)

_KINDS = (
    QuestionKind("everything", words.EVERYTHING, tools=_ALL, unless=words.ELSEWHERE),
    QuestionKind("visible", words.VISIBLE, tools=_ALL, unless=words.ELSEWHERE, by_eye=True),
    QuestionKind(
        "describe", words.DESCRIBE, tools=_ALL, unless=words.ELSEWHERE, alone=True, by_eye=True
    ),
    QuestionKind("analyse", words.ANALYSE, tools=_ALL, unless=words.ELSEWHERE, alone=True),
    QuestionKind("all", ("everything", "alles"), tools=_ALL, unless=words.ELSEWHERE, bare=True),
    QuestionKind("state", words.STATES, counts_as="disease", unless=words.ELSEWHERE, bare=True),
    QuestionKind(
        "examine", words.EXAMINE, counts_as="disease", beats=("anatomy",), unless=words.ELSEWHERE
    ),
    QuestionKind("subject", words.SUBJECT),
    QuestionKind(
        "generic",
        words.GENERIC,
        counts_as="disease",
        unless=(*words.ELSEWHERE, *models.WRITTEN_REPORT),
    ),
    QuestionKind("disease", words.DISEASES, tools=(CLASSIFIER,), unless=words.ELSEWHERE),
    QuestionKind("where", words.WHERE),
    QuestionKind(
        "disease_where", with_kinds=("disease", "where"), tools=(CLASSIFIER, SEGMENTATION)
    ),
    QuestionKind("widened", words.WIDE_MEDIASTINUM, tools=(CLASSIFIER, SEGMENTATION)),
    QuestionKind(
        "outline",
        (*words.OUTLINE, *words.SHOWN),
        tools=(SEGMENTATION,),
        unless=(*words.ELSEWHERE, *words.NOT_OUTLINED),
    ),
    # In "a mass in the right lung" the user wants the mass, not the lung.
    QuestionKind(
        "anatomy", words.ANATOMY, tools=(SEGMENTATION,), unless=(*words.DISEASES, *words.STATES)
    ),
    QuestionKind("heart_size", words.HEART_SIZE, tools=(RATIO,), certain=True),
    QuestionKind("report", models.WRITTEN_REPORT, tools=(REPORT,), unless=models.REPORT_OF_OTHERS),
    QuestionKind("heatmap", models.HEATMAP, tools=(CLASSIFIER,), whole=True),
    QuestionKind("box", models.BOX, tools=(GROUNDING,), whole=True),
    QuestionKind("box_where", with_kinds=("box", "where"), tools=(GROUNDING,), whole=True),
    QuestionKind("chexagent", models.CHEXAGENT, tools=(EXPERT,), whole=True, addressed=True),
    QuestionKind(
        "llava", models.LLAVA, tools=(LLAVA,), needs_image=False, whole=True, addressed=True
    ),
    QuestionKind(
        "medgemma",
        models.MEDGEMMA,
        tools=(MEDGEMMA,),
        needs_image=False,
        whole=True,
        addressed=True,
    ),
    QuestionKind(
        "second_opinion", models.SECOND_OPINION, tools=(_ANY_ANSWERS,), whole=True, addressed=True
    ),
    QuestionKind(
        "generate",
        models.GENERATE,
        tools=(_GENERATOR,),
        beats=("box", "change", "report"),
        unless=models.NOT_MADE,
        needs_image=False,
        whole=True,
    ),
    QuestionKind("trend", models.TREND),
    QuestionKind(
        "change",
        models.COMPARE,
        tools=(_COMPARE,),
        unless=(*words.ELSEWHERE, *models.NOT_COMPARED),
        whole=True,
    ),
    QuestionKind("change_trend", with_kinds=("trend", "change"), tools=(_COMPARE,), whole=True),
    QuestionKind(
        "marked",
        models.MARKED,
        tools=(_MEDSAM2,),
        beats=("box", "box_where"),
        means=("outline",),
        whole=True,
    ),
    QuestionKind(
        "device",
        DEVICES,
        tools=(_ANY_ANSWERS,),
        unless=(*words.BEYOND_TUBES, *NO_DEVICE, *words.DISEASES),
        whole=True,
    ),
    QuestionKind(
        "looks",
        LOOKS,
        tools=(_ANY_ANSWERS,),
        unless=(*words.ELSEWHERE, *words.FINDINGS),
        whole=True,
    ),
    QuestionKind(
        "free",
        FREE,
        tools=(_ANY_ANSWERS,),
        unless=(*words.ELSEWHERE, "area", "areas", "flaeche*"),
        beats=("disease",),
        whole=True,
    ),
    QuestionKind(
        "free_alone", FREE_ALONE, tools=(_ANY_ANSWERS,), unless=words.ELSEWHERE, alone=True
    ),
    QuestionKind("overlay", words.OVERLAY, tools=(SEGMENTATION, _SHOW), again=False),
    # Phrases with one of the words above that mean something else.
    QuestionKind("other", words.PHRASES),
)


_TOOLS = (
    ToolRule(
        CLASSIFIER,
        why="scores 18 labels",
        leave_out=("classif*", "diagnos*", "scor*", "klassifi*", "patholog*", "label*"),
        accepts=_CHEST,
        values=words.LABELS,
    ),
    ToolRule(
        SEGMENTATION,
        why="outlines the anatomy",
        leave_out=(
            *("segment*", "*segmentierung*", "mask*", "outlin*", "contour*", "delineat*"),
            *("umriss*", "umrande*", "kontur*", "einzeichn*", "overlay*"),
        ),
        accepts=_CHEST,
        values=words.STRUCTURES,
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
        RATIO,
        why="measures heart against thorax",
        leave_out=("measur*", "ratio", "ctr", "quotient*", "htq", "*messung*", "messen"),
        accepts=_CHEST,
        empty=("ratio",),
    ),
    ToolRule(
        REPORT,
        why="drafts a report",
        leave_out=(
            *("report*", "bericht*", "*bericht", "dictat*", "impression", "befundtext*"),
            *("*befundbericht*", "befundung", "arztbrief*", "diktat*"),
        ),
        accepts=_CHEST,
    ),
    ToolRule(
        EXPERT,
        why="answers in words (CheXagent)",
        leave_out=models.CHEXAGENT,
        accepts=_CHEST,
        texts=(TextWords("prompt"),),
    ),
    ToolRule(
        LLAVA,
        why="answers in words (LLaVA-Med)",
        leave_out=models.LLAVA,
        texts=(TextWords("question"),),
    ),
    ToolRule(
        MEDGEMMA,
        why="answers in words (MedGemma)",
        leave_out=models.MEDGEMMA,
        texts=(TextWords("question"),),
    ),
    ToolRule(
        GROUNDING,
        why="draws boxes around a phrase",
        leave_out=("ground*", "box", "boxes", "bounding box*"),
        accepts=_CHEST,
        makes="visualization_path",
        texts=(models.PHRASE,),
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
        texts=(models.PROMPT,),
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
    targets=words.TARGETS,
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
