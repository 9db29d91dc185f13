"""The record pack's plan: the words by which questions ask for its tools, and its texts.

No question about a record needs an image, and none is bound to one. Which patient is meant is for
the planner (a name in the question, else the record in use); what is asked of the record is here,
by words and values in `resources/words/record.txt`.

The record's kinds are greedy: "what are the radiology reports of this patient" asks for what
somebody wrote, and not for a report to be written.
"""

from __future__ import annotations

from typing import Any

from app.paths import shipped_table
from app.tools.pack_plan import (
    AnyOf,
    DateWords,
    Discovery,
    Feed,
    NumberWords,
    PackPlan,
    QuestionKind,
    TextWords,
    ToolRule,
    ValueWords,
    pack_prompt,
    phrases,
    value_lists,
    word_lists,
)
from app.tools.record import doubts
from app.tools.record.result_wording import unanswered, wordings

_TEXTS = word_lists("record")
_WORDS = {section: phrases(words) for section, words in _TEXTS.items() if "=" not in words}
_VALUES = {section: value_lists(words) for section, words in _TEXTS.items() if "=" in words}

PATIENTS = "list_patients"
DEMOGRAPHICS = "get_demographics"
LABS = "get_patient_labs"
VITALS = "get_vital_signs"
CONDITIONS = "get_patient_conditions"
HISTORY = "get_patient_history"
BATCH = "analyze_batch_conditions"
NOTES = "get_clinical_notes"
SOAP = "get_soap_notes"
DISCHARGE = "get_discharge_summary"
MEDICATION = "get_medication_list"
INTERACTIONS = "check_drug_interactions"
REPORTS = "get_radiology_reports"
SCAN = "scan_dicom_directory"
METADATA = "get_dicom_metadata"
METADATA_OF_FILE = "get_dicom_metadata_from_path"
LOOK = "analyze_medical_image"
IMAGES = "find_patient_images"
LOAD_IMAGE = "load_dicom_image"
LOAD_ECG = "load_ecg"
RHYTHM = "analyze_ecg_for_rhythm"
SCORE = "calculate_clinical_score"
PATIENT_SCORE = "calculate_patient_score"
ANALYSIS = "generate_and_run_analysis"
DOCUMENT = "analyze_medical_document"

_DRUGS: dict[str, dict[str, list[str]]] = shipped_table("drug_interactions", "drugs")
_TAKEN = tuple(
    f"{verb} {drug}" for drug in _DRUGS for verb in ("on", "taking", "takes", "take", "nimmt")
)
"""A question whether the patient takes a certain drug."""
_PENICILLIN = ValueWords("drugs", "penicillin v", phrases("penicillin, penicillins"))
"""Without a letter: the table has it by its kinds, which meet the same allergies."""
_DRUG_NAMES = (*(name for facts in _DRUGS.values() for name in facts["names"]), *_PENICILLIN.words)
_MEDICATION = ("medication", "a drug")

# What a film may show as well: "does he have pneumonia?" asks about the film, if one is open.
_SEEN_ON_IMAGES = (
    *("pneumonia", "lung cancer", "heart failure", "cancer", "chronic obstructive", "arthritis"),
    *("pulmonary embolism", "osteoporosis", "fracture", "bronchitis"),
)


def _all_words(section: str, without: tuple[str, ...] = ()) -> tuple[str, ...]:
    """Return the words for all values of a section, but for some values."""
    values = _VALUES[section].items()
    return tuple(word for value, words in values if value not in without for word in words)


def _values(argument: str, section: str) -> tuple[ValueWords, ...]:
    return tuple(ValueWords(argument, value, words) for value, words in _VALUES[section].items())


def _kind(
    name: str, words: tuple[str, ...], *tools: str | AnyOf, greedy: bool = True, **more: Any
) -> QuestionKind:
    """Return a kind of question about the record."""
    return QuestionKind(
        name, words, tools=tools, needs_image=False, needs_record=True, greedy=greedy, **more
    )


_TO_GIVE = phrases("how much, can|may|should i|we give, after, dose of")
"""Words of questions on what to give, which no list of the record answers."""

_GIVEN = (
    *(
        f"{word} {link}0"
        for link in ("", "of ", "is ")
        for section in ("ANALYTES", "VITAL_NAMES")
        for word in _all_words(section)
        if not word.endswith("*")
    ),
    *phrases("0 mm, 0 cm, 0 m, 0 kg, 0 year old, 0 yo, aged 0, e0 v0, without .. 0"),
    *_WORDS["SOMEBODY"],
)
"""Values that the question gives itself; 0 stands for any number."""

_ANY_SCORE = AnyOf((PATIENT_SCORE, SCORE))
_HAS = ("has", "ever", "has or had", "condition alone")
_OF_ONE = ("labs", "vitals", "conditions", *_HAS, "demographics", "medication")
_KINDS = (
    _kind("patients", _WORDS["PATIENTS"], PATIENTS, unless=_WORDS["BATCH"]),
    _kind(
        "demographics",
        _WORDS["DEMOGRAPHICS"],
        DEMOGRAPHICS,
        unless=(*_WORDS["CORRELATE"], *_WORDS["FROM_FILE"]),
    ),
    _kind(
        "labs",
        (*_WORDS["LABS"], *_all_words("ANALYTES"), *_all_words("PANELS")),
        LABS,
        greedy=False,
    ),
    _kind("vitals", (*_WORDS["VITALS"], *_all_words("VITAL_NAMES")), VITALS, greedy=False),
    _kind("conditions", _WORDS["CONDITIONS_ASKED"], CONDITIONS, greedy=False),
    _kind("earlier diseases", _WORDS["EARLIER_DISEASES"], CONDITIONS),
    QuestionKind("of a condition", _all_words("CONDITIONS", _SEEN_ON_IMAGES), needs_image=False),
    QuestionKind("of any condition", _all_words("CONDITIONS"), needs_image=False),
    _kind("has", _WORDS["HAS"], CONDITIONS, with_kinds=("of a condition",)),
    _kind("ever", _WORDS["EVER"], CONDITIONS, with_kinds=("of any condition",)),
    _kind(
        "has or had",
        (*_WORDS["HAS"], *_WORDS["ANY"]),
        CONDITIONS,
        with_kinds=("of any condition",),
        greedy=False,
        fallback=True,
    ),
    _kind(
        "condition alone",
        _all_words("CONDITIONS"),
        CONDITIONS,
        greedy=False,
        fallback=True,
        bare=True,
        unless=_TO_GIVE,
    ),
    _kind("history", _all_words("HISTORY"), HISTORY, greedy=False),
    _kind("habits", _all_words("HABITS"), HISTORY, greedy=False, bare=True),
    _kind("visits", _WORDS["VISITS"], HISTORY, greedy=False, fallback=True),
    _kind("batch", _WORDS["BATCH"], BATCH, beats=(*_OF_ONE, "patients")),
    _kind(
        "how many",
        _WORDS["HOW_MANY"],
        BATCH,
        with_kinds=("of a condition",),
        beats=(*_OF_ONE, "patients"),
        unless=_WORDS["ONE_PATIENT"],
    ),
    _kind(
        "analysis", _WORDS["CORRELATE"], ANALYSIS, beats=(*_OF_ONE, "patients", "batch", "score")
    ),
    _kind("notes", _WORDS["NOTES"], NOTES),
    _kind("soap", _WORDS["SOAP"], SOAP, beats=("notes",)),
    _kind("discharge", _WORDS["DISCHARGE"], DISCHARGE, beats=("notes",)),
    _kind("medication", (*_WORDS["MEDICATION"], *_TAKEN), MEDICATION, greedy=False),
    _kind(
        "a drug",
        _DRUG_NAMES,
        MEDICATION,
        greedy=False,
        bare=True,
        unless=_TO_GIVE,
    ),
    QuestionKind("of a drug", _DRUG_NAMES, needs_image=False),
    _kind("interactions", _WORDS["INTERACTIONS"], INTERACTIONS, beats=_MEDICATION),
    _kind(
        "a drug to be given",
        _WORDS["GIVEN"],
        INTERACTIONS,
        with_kinds=("of a drug",),
        beats=_MEDICATION,
    ),
    _kind(
        "radiology reports",
        _WORDS["REPORTS"],
        REPORTS,
        beats=("images of", "dicom metadata"),
        unless=_WORDS["REPORT_WRITTEN"],
    ),
    _kind("dicom scan", _WORDS["SCAN_DICOM"], SCAN),
    _kind("dicom metadata", _WORDS["DICOM_METADATA"], METADATA, beats=("images of",)),
    _kind("fields of a file", _WORDS["DICOM_FILE"], METADATA_OF_FILE),
    _kind("seen by a model", _WORDS["LOOKED_AT"], LOOK),
    _kind("images of", _WORDS["IMAGES_OF"], IMAGES),
    _kind("load image", _WORDS["LOAD_IMAGE"], LOAD_IMAGE, beats=("images of",)),
    _kind("ecg", _WORDS["ECG"], LOAD_ECG),
    _kind("rhythm", _WORDS["RHYTHM"], RHYTHM, beats=("ecg", "vitals", *_HAS)),
    _kind(
        "document analysis",
        _WORDS["MCP"],
        DOCUMENT,
        beats=("labs",),
        addressed=True,
    ),
    _kind(
        "score",
        _all_words("SCORES"),
        _ANY_SCORE,
        beats=("labs", "vitals", "demographics", "conditions", *_HAS),
    ),
    QuestionKind("values", _GIVEN, needs_image=False, beyond_images=True),
    QuestionKind(
        "score of values",
        _all_words("SCORES"),
        with_kinds=("values",),
        tools=(SCORE,),
        beats=("score", "labs", "vitals", "demographics", "conditions", *_HAS),
        needs_image=False,
        beyond_images=True,
        greedy=True,
    ),
)

_TESTS = (
    *_values("tests", "ANALYTES"),
    *(
        ValueWords("tests", test.strip(), words)
        for tests, words in _VALUES["PANELS"].items()
        for test in tests.split(",")
    ),
)
_SCORE_VALUES = (*_values("score", "SCORES"), *_values("score_name", "SCORES"))
_LIMIT = NumberWords(
    ("patient_limit",),
    phrases("first, limit, the first, up to"),
    phrases("patients, patient records, pts, people, patienten, cases, records"),
)

_DATES = DateWords(
    "since",
    "until",
    since=phrases("since, from, starting, seit, ab"),
    after=phrases("after, nach"),
    until=phrases("until, till, up to, bis"),
    before=phrases("before, prior to, vor"),
    during=phrases("in, during, of, im jahr, in the year, während"),
    between=phrases("between, from, zwischen, von"),
)
_NARROWED = (
    ValueWords("abnormal_only", "true", phrases("abnormal, pathological, out of range")),
    # "The last three years" is no latest value.
    ValueWords("latest_only", "false", phrases("last 0, over .. last")),
    ValueWords("latest_only", "true", phrases("last, latest, most recent, current, letzte*")),
)

_NAMES = Discovery("", "recorded", "tests")
"""What was asked for goes by another name: the result itself lists the names that there are."""

_TOOLS = (
    ToolRule(PATIENTS, why="lists the patients"),
    ToolRule(DEMOGRAPHICS, why="reads who the patient is"),
    ToolRule(
        LABS,
        why="reads laboratory results",
        values=(*_TESTS, *_NARROWED),
        dates=_DATES,
        empty=("entries",),
        discovery=_NAMES,
        doubt=doubts.of_entries,
    ),
    ToolRule(
        VITALS,
        why="reads vital signs",
        values=(*_values("tests", "VITAL_NAMES"), *_NARROWED),
        dates=_DATES,
        empty=("entries",),
        discovery=_NAMES,
        doubt=doubts.of_entries,
    ),
    ToolRule(
        CONDITIONS,
        why="reads diagnoses",
        values=(
            *_values("text", "CONDITIONS"),
            ValueWords("status", "active", phrases("active, current, aktive, aktuelle")),
        ),
    ),
    ToolRule(
        HISTORY,
        why="reads immunizations, procedures, visits, smoking or pregnancy",
        values=(
            *_values("topics", "HISTORY"),
            *_values("topics", "HABITS"),
            ValueWords("topics", "visits", _WORDS["VISITS"]),
        ),
        dates=_DATES,
    ),
    ToolRule(
        BATCH,
        why="counts diagnoses over patients",
        values=_values("condition", "CONDITIONS"),
        numbers=(_LIMIT,),
        doubt=doubts.of_batch,
    ),
    ToolRule(NOTES, why="reads notes", dates=_DATES, doubt=doubts.of_entries),
    ToolRule(SOAP, why="reads notes by their parts"),
    ToolRule(DISCHARGE, why="reads discharge summaries"),
    ToolRule(
        MEDICATION,
        why="reads the medication",
        values=(ValueWords("status", "current", phrases("current, currently, aktuelle, home")),),
        dates=_DATES,
    ),
    ToolRule(
        INTERACTIONS,
        why="looks drugs up in the table of interactions",
        values=(
            *(ValueWords("drugs", name, tuple(facts["names"])) for name, facts in _DRUGS.items()),
            _PENICILLIN,
        ),
    ),
    ToolRule(REPORTS, why="reads reports that somebody wrote"),
    ToolRule(SCAN, why="looks what DICOM files there are, and what their fields say", stage=-1),
    ToolRule(
        METADATA,
        why="reads DICOM fields, by the values that really occur",
        # Textbook values ("MR") may not be those of the files: look first, then filter.
        requires=(AnyOf((SCAN, METADATA_OF_FILE)),),
        discovery=Discovery(SCAN, "values", "modality"),
        doubt=doubts.of_metadata,
    ),
    ToolRule(METADATA_OF_FILE, why="reads the DICOM fields of one file"),
    ToolRule(IMAGES, why="finds the patient's images", doubt=doubts.of_images),
    ToolRule(LOOK, why="has a model that accepts pictures look at the image"),
    ToolRule(LOAD_IMAGE, why="opens one of the patient's images"),
    ToolRule(LOAD_ECG, why="reads the ECG"),
    ToolRule(RHYTHM, why="measures the ECG's rhythm"),
    ToolRule(
        SCORE,
        why="computes the score from given values",
        values=_SCORE_VALUES,
        texts=(TextWords("text"),),
    ),
    ToolRule(
        PATIENT_SCORE,
        why="computes the score from the record",
        values=_SCORE_VALUES,
        texts=(TextWords("text"),),
    ),
    ToolRule(ANALYSIS, why="runs an analysis written for the question", numbers=(_LIMIT,)),
    ToolRule(
        DOCUMENT,
        why="sends a document to the analysis server",
        texts=(TextWords("note_text", quoted=True, after=("this note:", "text:")),),
        values=_values("analysis_type", "ANALYSIS_TYPES"),
        feeds=(Feed("note_text", (DISCHARGE,), "discharge_summary"),),
        stage=1,
    ),
)

PLAN = PackPlan(
    pack="record",
    title="Patient record",
    icon="file-text",
    kinds=_KINDS,
    tools=_TOOLS,
    wordings=wordings(),
    unanswered=unanswered,
    prompt=pack_prompt("record"),
)
