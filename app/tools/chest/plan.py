"""The chest pack's plan: which English and German words in a question request which tools.

Some rules are for tools of other packs (a report generator, phrase grounding); they have no effect
if these are not installed.
"""

from __future__ import annotations

from dataclasses import replace

from app.tools.chest import plan_models as models
from app.tools.chest import plan_words as words
from app.tools.chest.classifier import FLAGGED
from app.tools.chest.contradictions import (
    CLASSIFIER,
    EXPERT,
    GROUNDING,
    LLAVA,
    MEDGEMMA,
    RATIO,
    REPORT,
    SEGMENTATION,
    TEXTS,
    contradicts,
    disagreements,
)
from app.tools.chest.plan_words import WORDS
from app.tools.chest.result_wording import (
    NOTABLE,
    WORDINGS,
    not_looked_for,
    phrases_to_locate,
    unanswered,
)
from app.tools.pack_plan import (
    Accepts,
    AnyOf,
    PackPlan,
    QuestionKind,
    Quotation,
    StatementWords,
    Successor,
    TextWords,
    ToolRule,
    ValueWords,
)

# Free questions about a film, which a model answers in words

DEVICES = WORDS["DEVICES"]
"""Questions about implanted or inserted material, such as the position of a tube."""
NO_DEVICE = WORDS["NO_DEVICE"]
"""Phrases that give the time of a search, not its object: "pneumothorax after line placement?"."""

FREE = WORDS["FREE"]
"""Rules that apply whatever else the words could mean."""

LOOKS = WORDS["LOOKS"]
"""Words for a structure's qualities, which no tool measures."""

FREE_ALONE = WORDS["FREE_ALONE"]
"""Rules that apply where no other tool is meant."""

_SHOW = "image_visualizer"
_GENERATOR = "chest_xray_generator"
_COMPARE = "chest_xray_compare"
_NO_SCAN = Accepts(
    modalities=("CR", "DX", "RG", "XR", "RF", "MG", "US", "XA", "NM", "PT", "IO", "PX", "OT", "SC")
)
"""Images whose comparison is told of here; a CT or MR is compared by the general pack."""
_MEDSAM2 = "medsam2_segment"

_CHEST = Accepts(
    modalities=("CR", "DX", "RG", "XR"),
    body_parts=("CHEST", "THORAX", "TORAX", "LUNG"),
    what="a chest radiograph (CR, DX)",
    asks=True,
)
# A slice of a volume never is one.
_RADIOGRAPH = replace(_CHEST, kinds=("dicom", "picture", "tiff"))
_LUNGS_AND_HEART = ("Left Lung", "Right Lung", "Heart")

_ANY_ANSWERS = AnyOf((EXPERT, LLAVA, MEDGEMMA))
_ALL = (CLASSIFIER, SEGMENTATION, RATIO, REPORT, _SHOW)
_ABNORMAL = (CLASSIFIER, RATIO, SEGMENTATION)
"""What looks for anything abnormal, and for where it is."""

_KINDS = (
    QuestionKind("everything", words.EVERYTHING, tools=_ALL, unless=words.ELSEWHERE),
    QuestionKind("visible", words.VISIBLE, tools=_ALL, unless=words.ELSEWHERE, by_eye=True),
    QuestionKind(
        "describe", words.DESCRIBE, tools=_ALL, unless=words.ELSEWHERE, fallback=True, by_eye=True
    ),
    QuestionKind("analyse", words.ANALYSE, tools=_ALL, unless=words.ELSEWHERE, fallback=True),
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
    QuestionKind("abnormal_where", with_kinds=("generic", "where"), tools=_ABNORMAL),
    QuestionKind("wrong_where", with_kinds=("state", "where"), tools=_ABNORMAL),
    QuestionKind(
        "disease_where", with_kinds=("disease", "where"), tools=(CLASSIFIER, SEGMENTATION)
    ),
    QuestionKind("widened", words.WIDE_MEDIASTINUM, tools=(CLASSIFIER, SEGMENTATION)),
    QuestionKind(
        "outline",
        (*words.OUTLINE, *words.SHOWN),
        tools=(SEGMENTATION,),
        unless=(*words.ELSEWHERE, *words.NOT_OUTLINED, *words.WINDOWS),
        certain=True,
    ),
    # In "a mass in the right lung" the user wants the mass, not the lung.
    QuestionKind(
        "anatomy", words.ANATOMY, tools=(SEGMENTATION,), unless=(*words.DISEASES, *words.STATES)
    ),
    QuestionKind("heart_size", words.HEART_SIZE, tools=(RATIO,), certain=True),
    QuestionKind("report", models.WRITTEN_REPORT, tools=(REPORT,), unless=models.REPORT_OF_OTHERS),
    QuestionKind("heatmap", models.HEATMAP, tools=(CLASSIFIER,), greedy=True),
    QuestionKind("box", models.BOX, tools=(GROUNDING,), greedy=True),
    QuestionKind("box_where", with_kinds=("box", "where"), tools=(GROUNDING,), greedy=True),
    QuestionKind("chexagent", models.CHEXAGENT, tools=(EXPERT,), greedy=True, addressed=True),
    QuestionKind(
        "llava", models.LLAVA, tools=(LLAVA,), needs_image=False, greedy=True, addressed=True
    ),
    QuestionKind(
        "medgemma",
        models.MEDGEMMA,
        tools=(MEDGEMMA,),
        needs_image=False,
        greedy=True,
        addressed=True,
    ),
    QuestionKind(
        "second_opinion", models.SECOND_OPINION, tools=(_ANY_ANSWERS,), greedy=True, addressed=True
    ),
    QuestionKind(
        "generate",
        models.GENERATE,
        tools=(_GENERATOR,),
        beats=("box", "change", "report"),
        unless=models.NOT_MADE,
        needs_image=False,
        greedy=True,
    ),
    QuestionKind("trend", models.TREND),
    QuestionKind(
        "change",
        models.COMPARE,
        tools=(_COMPARE,),
        unless=(*words.ELSEWHERE, *models.NOT_COMPARED),
        greedy=True,
        only_for=_NO_SCAN,
    ),
    QuestionKind("change_trend", with_kinds=("trend", "change"), tools=(_COMPARE,), greedy=True),
    QuestionKind(
        "marked",
        models.MARKED,
        tools=(_MEDSAM2,),
        beats=("box", "box_where"),
        means=("outline",),
        greedy=True,
    ),
    QuestionKind(
        "device",
        DEVICES,
        tools=(_ANY_ANSWERS,),
        unless=(*words.BEYOND_TUBES, *NO_DEVICE, *words.DISEASES),
        greedy=True,
    ),
    QuestionKind(
        "looks",
        LOOKS,
        tools=(_ANY_ANSWERS,),
        unless=(*words.ELSEWHERE, *words.FINDINGS),
        greedy=True,
    ),
    QuestionKind(
        "free",
        FREE,
        tools=(_ANY_ANSWERS,),
        unless=(*words.ELSEWHERE, "area", "areas", "flaeche*"),
        beats=("disease",),
        greedy=True,
    ),
    QuestionKind(
        "free_alone", FREE_ALONE, tools=(_ANY_ANSWERS,), unless=words.ELSEWHERE, fallback=True
    ),
    QuestionKind("overlay", words.OVERLAY, tools=(SEGMENTATION, _SHOW), again=False),
    # Phrases with one of the words above that mean something else.
    QuestionKind("other", words.PHRASES),
)


def _quotes(argument: str) -> Quotation:
    texts = ((EXPERT, "response"), (LLAVA, "answer"), (MEDGEMMA, "answer"))
    return Quotation(argument, models.OTHER_ANSWER, (*texts, (REPORT, "findings")))


_TOOLS = (
    ToolRule(
        CLASSIFIER,
        why="scores 18 labels",
        leave_out=("classif*", "diagnos*", "scor*", "klassifi*", "patholog*", "label*"),
        accepts=_RADIOGRAPH,
        values=words.LABELS,
        # Nothing named: whatever the model flags is looked for on the image.
        usual=(("labels", (FLAGGED,)),),
        usual_in=("disease_where",),
    ),
    ToolRule(
        SEGMENTATION,
        why="outlines the anatomy",
        leave_out=(
            *("segment*", "*segmentierung*", "mask*", "outlin*", "contour*", "delineat*"),
            *("umriss*", "umrande*", "kontur*", "einzeichn*", "overlay*"),
        ),
        accepts=_RADIOGRAPH,
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
        accepts=_RADIOGRAPH,
        empty=("ratio",),
    ),
    ToolRule(
        REPORT,
        why="drafts a report",
        leave_out=(
            *("report*", "bericht*", "*bericht", "dictat*", "impression", "befundtext*"),
            *("*befundbericht*", "befundung", "arztbrief*", "diktat*"),
        ),
        accepts=_RADIOGRAPH,
    ),
    ToolRule(
        EXPERT,
        why="answers in words (CheXagent)",
        leave_out=models.CHEXAGENT,
        accepts=_RADIOGRAPH,
        values=(
            ValueWords("task", "locate", models.LOCATE),
            ValueWords("task", "progression", models.PROGRESSION),
        ),
        texts=(
            TextWords("prompt", (*models.LOCATE, *models.PROGRESSION)),
            TextWords("prompt"),
        ),
        quotes=_quotes("prompt"),
    ),
    ToolRule(
        LLAVA,
        why="answers in words (LLaVA-Med)",
        leave_out=models.LLAVA,
        texts=(TextWords("question"),),
        quotes=_quotes("question"),
    ),
    ToolRule(
        MEDGEMMA,
        why="answers in words (MedGemma)",
        leave_out=models.MEDGEMMA,
        texts=(TextWords("question"),),
        quotes=_quotes("question"),
    ),
    ToolRule(
        GROUNDING,
        why="draws boxes around a phrase",
        leave_out=("ground*", "box", "boxes", "bounding box*"),
        accepts=_RADIOGRAPH,
        makes="visualization_path",
        texts=(models.PHRASE,),
    ),
    ToolRule(
        _COMPARE,
        why="compares with an earlier film",
        leave_out=("compar*", "vergleich*"),
        accepts=_RADIOGRAPH,
        missing_image_clause="no prior of this patient is open",
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

_LOCATED = "the question asks where the finding is"
_SUCCESSORS = (
    Successor(
        (CLASSIFIER,),
        GROUNDING,
        ("disease_where",),
        reason=_LOCATED,
        arguments=phrases_to_locate("phrase"),
        otherwise="Nothing installed here can show where a finding is: that needs the model "
        "MAIRA-2 or CheXagent-2 (Tools > Models).",
    ),
    Successor(
        (CLASSIFIER,),
        EXPERT,
        ("disease_where",),
        reason=_LOCATED,
        arguments=phrases_to_locate("prompt", task="locate"),
        unless=GROUNDING,
    ),
)

_FIGURES = (CLASSIFIER, _COMPARE)
_STATEMENTS = (
    StatementWords(words.HEART_JUDGED, (RATIO, *_FIGURES), is_judgement=True),
    StatementWords(words.HEART_MEASURED, (RATIO, _COMPARE)),
    StatementWords(words.NORMAL, (*_FIGURES, *TEXTS)),
    *(StatementWords(i.words, _FIGURES) for i in words.LABELS if i.value != "Cardiomegaly"),
    # Each by itself: a result that speaks of one of them does not show another.
    *(StatementWords((word,)) for word in words.BEYOND_LABELS),
)

PLAN = PackPlan(
    "chest",
    title="Chest radiographs",
    icon="stethoscope",
    statements=_STATEMENTS,
    suggestions=(
        "Where are the lungs, and is the heart enlarged?",
        "What is abnormal here, and where?",
    ),
    suggested_for=_CHEST,
    own_images=_CHEST,
    marked_question="Segment what I marked with medsam2_segment",
    kinds=_KINDS,
    tools=_TOOLS,
    successors=_SUCCESSORS,
    targets=words.TARGETS,
    wordings=WORDINGS,
    unanswered=unanswered,
    not_looked_for=not_looked_for,
    disagreements=disagreements,
    contradicts=contradicts,
    caveats=(
        "mirrored",
        "looks like a lateral view",
        "names a lateral view",
        "does not look like an upright frontal chest radiograph",
        "looks like a negative",
        "contradicts itself",
        "belong to different patients",
        "name different patients",  # as earlier versions put it: conversations are kept
        "was taken after image",
    ),
    notable=NOTABLE,
)
