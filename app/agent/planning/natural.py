"""Questions in plain words: which are asked about, and which tools answer them."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence

from app.agent.llm.base import ToolSchema
from app.agent.planning.explicit import unsuitable
from app.agent.planning.organs import LUNGS_AND_HEART, find_organs, without_excluded
from app.agent.planning.steps import (
    CLASSIFIER,
    DICOM,
    RATIO,
    REPORT,
    SEGMENTATION,
    VISUALIZER,
    Decision,
    Earlier,
    NoRule,
    OpenImage,
    Output,
    Reply,
    Scene,
    Source,
    Step,
    Steps,
    image_argument,
    is_dicom,
    not_chest,
)
from app.agent.planning.text import has_words

_LABELS = (
    r"pneumonias?|effusions?|pneumothora(?:x|ces)|atelectas[ie]s|consolidations?|infiltrat\w+|"
    r"o?edema|emphysema|fibrosis|nodules?|mass(?:es)?|hernias?|fractures?|opacit(?:y|ies)|"
    r"cardiomegaly|(?:pleural|lung)\s+(?:thickening|lesions?)|collapse\w*|"
    r"widen\w*\s+mediastinum|mediastin\w+\s+(?:\w+\s+)?widen\w*"
)
_ANATOMY = (
    r"lungs?|heart|cardiac|clavicles?|collarbones?|scapulae?|shoulder\s+blades?|hil(?:um|us|a|i)|"
    r"aorta|diaphragms?|mediastinum|o?esophagus|spine|organs?|anatomy"
)

TOPICS: Mapping[str, str] = {
    "help": r"help|what\s+can\s+(?:you|i)\s+(?:do|ask)|what\s+do\s+you\s+do|which\s+tools|"
    r"what\s+tools|list\s+(?:\w+\s+)?tools|tools\s+(?:are\s+)?available|who\s+are\s+you|commands",
    "disease": rf"diseases?|diagnos\w+|abnormal\w*|patholog\w+|findings?|wrong|sick|ill|normal|"
    rf"healthy|condition|classif\w+|scores?|suspicious|analy[sz]e|{_LABELS}",
    "where": r"where|locate\w*|location|locali[sz]\w+|position\s+of|situated",
    "segment": rf"segment\w*|masks?|outlines?|contours?|delineat\w+|areas?|{_ANATOMY}",
    "heart_size": r"enlarge\w*|cardiomegaly|ctr|cardio-?thoracic(?:\s+(?:ratio|index))?|"
    r"heart\s+size|size\s+of\s+(?:the\s+)?heart|(?:big|large|wide|broad)\s+(?:is|was)\s+(?:the|this|"
    r"his|her)\s+heart|(?:is|was)\s+(?:the|this|his|her)\s+heart\s+(?:too\s+)?(?:big|large|wide|"
    r"normal|ok)|heart\s+(?:is\s+)?(?:too\s+)?(?:big|large|wide|width)|measure\s+the\s+heart",
    "report": r"reports?|impression|dictate|write[\s-]*up",
    "metadata": r"metadata|meta-data|window(?:ing)?|level|modality|attributes?|tags?|header|"
    r"pixel\s*spacing|spacing|bits|what\s+(?:is|kind\s+of\s+image\s+is)\s+(?:this|it)"
    r"(?:\s+(?:image|picture|file|study))?|what\s+am\s+i\s+(?:seeing|looking\s+at)|"
    r"which\s+view|what\s+view|convert\w*|what\s+(?:image|file|study)\s+is\s+(?:this|open)",
    "show": r"show|display|visuali[sz]e\w*|view|see",
    "summary": r"summar[iy]\w*|recap|what\s+(?:did|have|has|was|were)\s+"
    r"(?:you|the\s+tools|been)?\s*(?:find|found|see|seen|results?)|so\s+far|previous\s+results?|earlier\s+results?",
}
"""What may be asked about, as words; the order has no meaning."""

_EVERYTHING = (
    r"all\s+(?:the\s+)?(?:available\s+)?tools|every\s+tool|everything|full\s+analysis|"
    r"what\s+(?:do|can)\s+you\s+see|describe\s+(?:this|the|my)\s+(?:image|picture|film|x-?ray|"
    r"radiograph|scan|study)|complete\s+analysis|full\s+work-?up|analy[sz]e\s+(?:this|the|my)\s+\w+"
)
# All that can be outlined, not every tool.
_SEGMENT_ALL = r"(?:segment|outline|contour|delineate|mask)\s+(?:out\s+)?everything"
_OVERLAY = r"(?:that|the|this|its)?\s*(?:segmentation|overlay|masks?\s+image|segmented\s+image)"
_PICTURE = r"images?|pictures?|x-?rays?|radiographs?|films?|scans?|dicom|png|slices?|it|this"
_NOT = re.compile(
    r"\b(?:don'?t|do\s+not|without|no|not|skip|except|omit|never)\s+(?:\w+\s+){0,2}?(\w+)",
    re.IGNORECASE,
)
_VALUE = r"(-?\d+(?:\.\d+)?)"


def read_natural(question: str, scene: Scene, excluded: Collection[str] = ()) -> Decision:
    """The decision on a question in plain words.

    Args:
        question: Normalised text.
        scene: Images, tools and earlier results.
        excluded: Tools that the question names to be left out.
    """
    topics = _topics(question)
    if "help" in topics and not topics - {"help", "show", "where"}:
        return Reply(help_text(scene))
    if "summary" in topics and any(message.role == "tool" for message in scene.earlier):
        return Steps((), frozenset(topics))
    overlay = _show_earlier(question, scene, topics)
    if overlay:
        return overlay
    if not topics - {"help", "where", "summary"}:
        return NoRule()
    if not scene.images:
        return Reply(no_image_text())
    wanted = [tool for tool in _tools(question, topics, scene) if tool not in excluded]
    wanted = [tool for tool in wanted if not _left_out(question, tool)]
    if "everything" in topics and SEGMENTATION not in wanted and VISUALIZER in wanted:
        wanted.remove(VISUALIZER)  # it was to show the overlay
    if not wanted:
        return NoRule()
    return _planned(question, wanted, topics, scene)


def help_text(scene: Scene) -> str:
    """What the planner can do, with the tools there are."""
    lines = [
        "I match your words to rules and run the tools that fit; I understand no more than that. "
        'You can ask in plain words ("Where are the lungs, and is the heart enlarged?") or name '
        'tools in order ("1) dicom_processor ... 2) chest_xray_segmentation ...").'
    ]
    return "\n".join([*lines, *_listed(tuple(scene.tools.values()))])


def no_rule_text(tools: Sequence[ToolSchema]) -> str:
    """That the question was not understood, and what could be done instead."""
    head = "no rule of mine matches this question, so I ran no tool and have no answer."
    if not tools:
        return f"{head} There are no tools here. Choose a language model in the settings."
    ask = (
        "\nAsk for one of these in plain words or by its name, name several in order, or ask "
        '"What can you do?". For free questions choose a language model in the settings.'
    )
    return "\n".join([head, *_listed(tools), ask])


def _listed(tools: Sequence[ToolSchema]) -> list[str]:
    """The tools, each with what it does and how it may be asked for."""
    lines = ["\nThe tools:"] if tools else []
    for tool in tools:
        first = tool.description.split(". ")[0].rstrip(".")
        said = ", ".join(f'"{phrase}"' for phrase in tool.phrases[:3])
        lines.append(f"- **{tool.name}**: {first}.{f' You can say {said}.' if said else ''}")
    return lines


def no_image_text() -> str:
    """What to do when nothing is open."""
    return "No image is open. Open one (File > Open, or drop it on the window), then ask again."


def _topics(question: str) -> set[str]:
    found = {topic for topic, words in TOPICS.items() if has_words(question, words)}
    everything = has_words(question, _EVERYTHING) and not has_words(question, _SEGMENT_ALL)
    return found | ({"everything"} if everything else set())


def _tools(question: str, topics: set[str], scene: Scene) -> list[str]:
    """The tools that answer the topics, least that suffices, in the order they should run."""
    full = "everything" in topics
    disease = "disease" in topics
    heart = "heart_size" in topics
    # "Where is the heart" wants its outline; "is the heart enlarged" the ratio alone.
    organs = [name for name in find_organs(question) if not (heart and name == "Heart")]
    segment = ("segment" in topics and (organs or not heart)) or (disease and "where" in topics)
    picture_only = "show" in topics and not (disease or heart or segment or "metadata" in topics)
    overlay = "show" in topics and has_words(question, r"overlay|segmentation|segmented\s+image")
    wanted: list[tuple[str, bool]] = [
        (DICOM, is_dicom(scene.note()) and ("metadata" in topics or full)),
        (CLASSIFIER, disease or full),
        (SEGMENTATION, bool(segment) or full),
        (RATIO, heart or full),
        (REPORT, "report" in topics or (full and REPORT in scene.tools)),
        (VISUALIZER, (picture_only and has_words(question, _PICTURE)) or overlay or full),
    ]
    return [tool for tool, needed in wanted if needed]


def _left_out(question: str, tool: str) -> bool:
    """Whether the question says in words to leave that tool's work out ("don't classify")."""
    stems = {
        CLASSIFIER: r"classif\w*|diagnos\w*|scor\w*",
        SEGMENTATION: r"segment\w*|masks?|outlin\w*",
        REPORT: r"reports?",
        VISUALIZER: r"show\w*|visuali[sz]\w*|display\w*",
        RATIO: r"measur\w*|ratio|ctr",
        DICOM: r"convert\w*|dicom",
    }
    pattern = stems.get(tool, "")
    if not pattern:
        return False
    return any(
        re.fullmatch(pattern, match.group(1), re.IGNORECASE) for match in _NOT.finditer(question)
    )


def _planned(question: str, wanted: list[str], topics: set[str], scene: Scene) -> Decision:
    steps: list[Step] = []
    for tool in wanted:
        steps.append(_BUILDERS[tool](question, steps, scene))
    chest_reason = not_chest(scene.images[0])
    if all(step.skip for step in steps) and chest_reason and not is_dicom(scene.note()):
        return Reply(f"{chest_reason}. My tools that answer this are for chest radiographs only.")
    return Steps(tuple(steps), frozenset(topics))


def _dicom(question: str, steps: list[Step], scene: Scene) -> Step:
    why = "reads the file and makes a PNG of what the viewer shows"
    return _made(DICOM, _window(question), why, steps, scene)


def _window(question: str) -> dict[str, float]:
    """A window that the question gives: "center 40 and width 400", "window 40/400"."""
    pair = re.search(
        rf"\bwindow\w*\s+(?:of\s+)?{_VALUE}\s*[/,]\s*{_VALUE}", question, re.IGNORECASE
    )
    if pair:
        return {"window_center": float(pair[1]), "window_width": float(pair[2])}
    named = {
        "window_center": rf"\b(?:cent(?:er|re)|level)\s*(?:of|=|:)?\s*{_VALUE}",
        "window_width": rf"\bwidth\s*(?:of|=|:)?\s*{_VALUE}",
    }
    found = {key: re.search(rule, question, re.IGNORECASE) for key, rule in named.items()}
    return {key: float(match[1]) for key, match in found.items() if match}


def _classifier(question: str, steps: list[Step], scene: Scene) -> Step:
    del question
    return _made(CLASSIFIER, {}, "scores 18 labels", steps, scene)


def _segmentation(question: str, steps: list[Step], scene: Scene) -> Step:
    organs = find_organs(question) or without_excluded(question, LUNGS_AND_HEART)
    organs = organs or LUNGS_AND_HEART
    arguments = {"organs": organs}
    return _made(SEGMENTATION, arguments, "outlines the anatomy", steps, scene)


def _ratio(question: str, steps: list[Step], scene: Scene) -> Step:
    del question
    return _made(RATIO, {}, "measures heart against thorax", steps, scene)


def _report(question: str, steps: list[Step], scene: Scene) -> Step:
    del question
    return _made(REPORT, {}, "drafts a report", steps, scene)


def _visualizer(question: str, steps: list[Step], scene: Scene) -> Step:
    del question
    for number in range(len(steps), 0, -1):
        if steps[number - 1].tool == SEGMENTATION:
            source = Output(number, "segmentation_image_path")
            arguments = {"title": "Segmentation overlay"}
            return _made(VISUALIZER, arguments, "shows the overlay", steps, scene, source)
    return _made(VISUALIZER, {}, "shows the image", steps, scene)


_BUILDERS: Mapping[str, Callable[[str, list[Step], Scene], Step]] = {
    DICOM: _dicom,
    CLASSIFIER: _classifier,
    SEGMENTATION: _segmentation,
    RATIO: _ratio,
    REPORT: _report,
    VISUALIZER: _visualizer,
}


def _made(
    tool: str,
    arguments: Mapping[str, object],
    why: str,
    steps: list[Step],
    scene: Scene,
    source: Source | None = None,
) -> Step:
    """A step on `source`, by default on the open image itself.

    Its stored values and spacing are worth more to the tools than a converted PNG's.
    """
    target = source or OpenImage()
    schema = scene.tools.get(tool)
    if schema is None:
        return Step(tool, skip="this tool is not installed", why=why, target=target)
    slot = image_argument(schema) or "image_path"
    skip = unsuitable(tool, target, steps, scene)
    return Step(tool, {slot: target, **arguments}, why, skip, target)


def _show_earlier(question: str, scene: Scene, topics: set[str]) -> Steps | None:
    """Shows a picture that an earlier question made, for "show that overlay"."""
    if "show" not in topics or topics & {"disease", "heart_size", "report", "everything"}:
        return None
    if not has_words(question, _OVERLAY):
        return None
    made = scene.earlier_output("segmentation_image_path", SEGMENTATION)
    if not made or VISUALIZER not in scene.tools:
        return None
    arguments = {"title": "Segmentation overlay"}
    why = "shows the overlay made before"
    step = _made(VISUALIZER, arguments, why, [], scene, Earlier(str(made)))
    return Steps((step,), frozenset(topics))
