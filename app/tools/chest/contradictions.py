"""Contradictions between the chest tools' results on one image; they are listed, not averaged."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from app.tools.chest.boxes import MIDDLE
from app.tools.result_wording import CallResult, Disagreement, one_line, scores_of

CLASSIFIER = "chest_xray_classifier"
SEGMENTATION = "chest_xray_segmentation"
RATIO = "cardiothoracic_ratio"
GROUNDING = "xray_phrase_grounding"
REPORT = "chest_xray_report_generator"
EXPERT = "chest_xray_expert"
LLAVA = "llava_med_qa"
MEDGEMMA = "medgemma_qa"
TEXTS = {
    REPORT: ("findings", "impression"),
    EXPERT: ("response",),
    LLAVA: ("answer",),
    MEDGEMMA: ("answer",),
}
"""The tools that answer in words, with the output keys of their texts."""

OPERATING_POINT = 0.5
SCORE_MARGIN = 0.05
"""Distance from the operating point within which a score makes no claim."""
RATIO_MARGIN = 0.02
BOX_MARGIN = 0.05
"""Margin for the ratio from bounding boxes, which is rougher than the measured one."""
PLAUSIBLE = (0.25, 0.8)
"""Range of credible ratios from bounding boxes; outside it the outlines are broken."""
HEART = "an enlarged heart"
_HEART = r"(?:heart|cardiac(?:\s+silhouette)?|cardiomediastinal\s+silhouette)(?:\s+size)?"


@dataclass(frozen=True, slots=True)
class Topic:
    """A finding about which two tools can contradict each other: one says present, one absent.

    Attributes:
        name: Name shown to users.
        label: The classifier's label for the finding.
        words: Regular expression that matches mentions of the finding in texts.
        absent: Regular expression for words that by themselves say that it is absent ("normal
            heart"); "" for none.
    """

    name: str
    label: str
    words: str
    absent: str = ""


TOPICS = (
    Topic("pleural effusion", "Effusion", r"(?<!pericardial )effusions?|pleural fluid"),
    Topic("pneumothorax", "Pneumothorax", r"pneumothora(?:x|ces)"),
    Topic("consolidation", "Consolidation", r"consolidations?"),
    Topic("pneumonia", "Pneumonia", r"pneumonias?"),
    Topic("atelectasis", "Atelectasis", r"atelecta(?:sis|ses|tic)"),
    Topic("oedema", "Edema", r"o?edema"),
    Topic("infiltration", "Infiltration", r"infiltrat(?:es?|ions?)"),
    Topic("emphysema", "Emphysema", r"emphysema\w*"),
    Topic("fibrosis", "Fibrosis", r"fibro(?:sis|tic)"),
    Topic("pleural thickening", "Pleural_Thickening", r"pleural thickening"),
    Topic("a nodule", "Nodule", r"nodules?"),
    Topic("a mass", "Mass", r"mass(?:es)?"),
    Topic("a hernia", "Hernia", r"hernias?"),
    Topic("a fracture", "Fracture", r"fractures?"),
    Topic(
        HEART,
        "Cardiomegaly",
        rf"cardiomegaly|enlarged\s+{_HEART}|enlargement\s+of\s+the\s+{_HEART}|"
        rf"{_HEART}\s+(?:is|remains|appears)\s+(?:\w+ly\s+)?(?:enlarged|increased)",
        rf"{_HEART}[^.;]{{0,30}}\b(?:normal|not\s+enlarged|unremarkable)|"
        rf"normal\s+(?:sized?\s+)?{_HEART}|{_HEART}[^.;]{{0,20}}\bwithin\s+normal",
    ),
)


def topics_in(text: str) -> frozenset[str]:
    """Return the names of the topics that a text mentions."""
    return frozenset(one.name for one in TOPICS if re.search(one.words, text, re.IGNORECASE))


_LABELS = {topic.name: topic.label for topic in TOPICS}

_SENTENCE = re.compile(r"[^.;!?\n]+[.;!?\n]?")
_CLAUSE = re.compile(r"\b(?:but|however|although|though|except)\b", re.IGNORECASE)
_NEGATION_BEFORE = re.compile(
    r"\b(?:no|not|without|absence of|absent|negative for|free of|neither|nor|resolved|"
    r"resolution of|rules? out|ruled out|exclude[sd]?|excluding|rather than)\b",
    re.IGNORECASE,
)
_NEW_CLAIM = re.compile(
    r",\s*(?=(?:and\s+)?(?:there\s+(?:is|are)|an?|with|small|mild|moderate|large|severe|new|stable|"
    r"persistent|tiny|trace)\b)",
    re.IGNORECASE,
)
_NEGATION_AFTER = re.compile(
    r"^[^,;.]{0,50}\b(?:not\s+(?:\w+\s+)?(?:seen|present|identified|visible|evident|appreciated)|"
    r"absent|excluded|ruled out|resolved)\b",
    re.IGNORECASE,
)
_UNCERTAIN = re.compile(
    r"\b(?:may|might|could|can|possibl[ey]|probabl[ey]|suspect\w*|suspicious|suggest\w*|likely|"
    r"unlikely|questionable|question of|cannot|versus|vs|if|whether|history of|prior|previous|"
    r"risk)\b",
    re.IGNORECASE,
)
_NOT_EXCLUDED = re.compile(
    r"\b(?:cannot|can\s*not|can.t|could\s+not|not)\s+(?:be\s+)?(?:\w+\s+)?(?:excluded|ruled out)",
    re.IGNORECASE,
)
_NO_CHANGE = re.compile(
    r"\bno\s+(?:\w+\s+)?(?:change|increase|decrease|enlargement)\b", re.IGNORECASE
)
_ASKED_TO_AGREE = re.compile(r"\bagree", re.IGNORECASE)
_DISAGREES = re.compile(
    r"^\s*no\b|\bdisagree\b|\b(?:do|does|would|can)\s*(?:not|n.t)\s+(?:fully\s+)?agree\b",
    re.IGNORECASE,
)
_SCORED = re.compile(r"\b(?:scor\w+|below|under|operating|threshold|cutoff)\b", re.IGNORECASE)
"""Words of sentences that tell a figure, and judge nothing."""
_SIDE = re.compile(r"\b(left|right)\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Claim:
    """A claim that a finding (`topic`) is present or absent, made in `words` by result `index`.

    `present` is None where the tool looked and could not decide.
    """

    topic: str
    present: bool | None
    words: str
    index: int


def disagreements(results: Sequence[CallResult]) -> list[Disagreement]:
    """Return the contradictions between results about the same image.

    Args:
        results: The results to compare, in the order of their calls. If a tool was called
            repeatedly with equal arguments, only its last result counts.
    """
    claims = [
        Claim(topic, present, words, index)
        for index in _latest_calls(results)
        if (read := _CLAIM_READERS.get(results[index].tool)) is not None
        for topic, present, words in read(results[index])
    ]
    found: list[Disagreement] = []
    for topic in dict.fromkeys(claim.topic for claim in claims):
        about = [claim for claim in claims if claim.topic == topic]
        for yes in (claim for claim in about if claim.present):
            same = [
                claim for claim in about if _same_image(results[claim.index], results[yes.index])
            ]
            if any(claim.present is False for claim in same):
                same.sort(key=lambda claim: (_ORDER.index(claim.present), claim.index))
                sides = [
                    (f"{results[one.index].tool} {_SAYS[one.present]} ({one.words})", one.index)
                    for one in same
                ]
                found.append(Disagreement(topic, tuple(sides), _LABELS[topic]))
                break
    others = (_other_sides, _refused_agreements, _wrong_sides)
    return [*found, *(item for read in others for item in read(results))]


_SAYS = {True: "says yes", False: "says no", None: "cannot decide"}
_ORDER = (True, False, None)


def contradicts(sentence: str, result: CallResult) -> str | None:
    """Return the words in which a tool's result contradicts a sentence of a language model.

    Returns:
        "" if they agree; None if they do not speak of the same finding.
    """
    read = _CLAIM_READERS.get(result.tool)
    if read is None or _SCORED.search(sentence):
        return None
    agrees: str | None = None
    for name, present, words in read(result):
        said = read_text(sentence, next(topic for topic in TOPICS if topic.name == name))
        if present is None:
            continue
        if said is not None and said[0] is not present:
            return words
        agrees = agrees if said is None else ""
    return agrees


def _latest_calls(results: Sequence[CallResult]) -> list[int]:
    last = {(item.tool, repr(sorted(item.arguments.items()))): i for i, item in enumerate(results)}
    return sorted(last.values())


def _same_image(one: CallResult, other: CallResult) -> bool:
    return not one.images or not other.images or not one.images.isdisjoint(other.images)


Claims = Iterator[tuple[str, bool | None, str]]


def _score_claims(result: CallResult) -> Claims:
    scores = scores_of(result.output)
    for topic in TOPICS:
        score = scores.get(topic.label)
        if score is None:
            continue
        if abs(score - OPERATING_POINT) < SCORE_MARGIN:
            yield topic.name, None, f"score {score:.2f}, too close to the operating point 0.5"
            continue
        present = score > OPERATING_POINT
        side = "above" if present else "below"
        yield topic.name, present, f"score {score:.2f}, {side} the operating point 0.5"


def _ratio_claims(result: CallResult) -> Claims:
    ratio = result.output.get("ratio")
    if not isinstance(ratio, (int, float)):
        return
    said = f"cardiothoracic ratio {ratio:.2f}"
    if result.output.get("reliable", True) is False:
        yield HEART, None, f"{said}, not reliable on this film"
    elif abs(ratio - OPERATING_POINT) < RATIO_MARGIN:
        yield HEART, None, f"{said}, too close to 0.5"
    else:
        yield HEART, ratio > OPERATING_POINT, said


def _outline_claims(result: CallResult) -> Claims:
    """Yield the claim of the ratio between bounding boxes around the outlines."""
    metrics = result.output.get("metrics") or {}
    boxes = [
        metrics[name]["bbox"] for name in ("Heart", "Left Lung", "Right Lung") if name in metrics
    ]
    if len(boxes) < 3:
        return
    heart, *lungs = boxes
    wide = max(box[3] for box in lungs) - min(box[1] for box in lungs)
    ratio = (heart[3] - heart[1]) / wide
    plausible = PLAUSIBLE[0] <= ratio <= PLAUSIBLE[1]
    if plausible and abs(ratio - OPERATING_POINT) >= BOX_MARGIN:
        yield HEART, ratio > OPERATING_POINT, f"heart {ratio:.2f} as wide as both lungs' outlines"


def _box_claims(result: CallResult) -> Claims:
    phrase = str(result.arguments.get("phrase") or "")
    present = bool(result.output.get("predictions"))
    sided = _SIDE.search(phrase)
    for topic in TOPICS:
        # No box for "left effusion" says nothing about an effusion on the right.
        if re.search(topic.words, phrase, re.IGNORECASE) and (present or not sided):
            what = "a box" if present else "no box"
            yield topic.name, present, f"{what} for “{one_line(phrase, 80)}”"


def _text_claims(result: CallResult) -> Claims:
    texts = [result.output.get(key) for key in TEXTS[result.tool]]
    text = "\n".join(item for item in texts if isinstance(item, str))
    for topic in TOPICS:
        reading = read_text(text, topic)
        if reading is not None:
            present, sentence = reading
            yield topic.name, present, f"“{one_line(sentence, 120)}”"


_CLAIM_READERS: Mapping[str, Callable[[CallResult], Claims]] = {
    CLASSIFIER: _score_claims,
    RATIO: _ratio_claims,
    SEGMENTATION: _outline_claims,
    GROUNDING: _box_claims,
    **dict.fromkeys(TEXTS, _text_claims),
}


def read_text(text: str, topic: Topic) -> tuple[bool, str] | None:
    """Return (present, sentence) if a text says that a finding is present or absent, else None.

    If sentences differ, one that calls the finding present is returned: the others may be about
    another part of the image.
    """
    absent: str | None = None
    for match in _SENTENCE.finditer(text):
        sentence = match.group().strip()
        if sentence.endswith("?"):
            continue
        for clause in (
            part for whole in _CLAUSE.split(sentence) for part in _NEW_CLAIM.split(whole)
        ):
            present = _clause_says(clause, topic)
            if present:
                return True, sentence
            if present is False:
                absent = absent or sentence
    return None if absent is None else (False, absent)


def _clause_says(clause: str, topic: Topic) -> bool | None:
    if topic.absent and re.search(topic.absent, clause, re.IGNORECASE):
        return False
    mentions: list[bool] = []
    for match in re.finditer(rf"(?<!\w)(?:{topic.words})(?!\w)", clause, re.IGNORECASE):
        before, after = clause[: match.start()], clause[match.end() :]
        if _NO_CHANGE.search(before) or _NOT_EXCLUDED.search(clause):
            continue
        if _NEGATION_BEFORE.search(before) or _NEGATION_AFTER.search(after):
            mentions.append(False)
        elif not _UNCERTAIN.search(clause):
            mentions.append(True)
    return any(mentions) if mentions else None


def _other_sides(results: Sequence[CallResult]) -> Iterator[Disagreement]:
    """Yield findings that two results put on opposite sides of the same image."""
    for topic in TOPICS:
        placed = [
            (index, sides, words)
            for index in _latest_calls(results)
            for sides, words in (_sides_of(results[index], topic),)
            if len(sides) == 1
        ]
        for index, sides, _ in placed:
            same = [one for one in placed if _same_image(results[one[0]], results[index])]
            if any(one[1] != sides for one in same):
                told = tuple(
                    (f"{results[at].tool} says {next(iter(where))} ({words})", at)
                    for at, where, words in same
                )
                yield Disagreement(f"the side of {topic.name}", told, topic.label)
                break


def _sides_of(result: CallResult, topic: Topic) -> tuple[set[str], str]:
    """Return the sides on which a result puts a finding that it calls present, and its words."""
    if result.tool == GROUNDING:
        phrase = str(result.arguments.get("phrase") or "")
        if not re.search(topic.words, phrase, re.IGNORECASE):
            return set(), ""
        return _box_sides(result), f"its box for “{one_line(phrase, 80)}”"
    texts = [result.output.get(key) for key in TEXTS.get(result.tool, ())]
    found: set[str] = set()
    words = ""
    for sentence in _SENTENCE.findall("\n".join(item for item in texts if isinstance(item, str))):
        reading = read_text(sentence, topic)
        if reading is None or not reading[0]:
            continue
        sides = {side.lower() for side in _SIDE.findall(sentence)}
        both = re.search(r"\b(?:bilateral|both)\b", sentence, re.IGNORECASE)
        found |= {"left", "right"} if both else sides
        words = words or f"“{one_line(sentence.strip(), 120)}”"
    return found, words


def _box_sides(result: CallResult) -> set[str]:
    """Return the patient's sides on which boxes lie, for an image in the usual orientation."""
    size = result.metadata.get("original_size")
    if not isinstance(size, Sequence) or "mirrored" in str(result.metadata.get("warnings") or ""):
        return set()
    found: set[str] = set()
    for one in result.output.get("predictions") or ():
        for box in one["bounding_boxes"]["image_coordinates"]:
            # The patient's left is on the viewer's right.
            shift = ((box[0] + box[2]) / 2 + 0.5) / float(size[1]) - 0.5
            if abs(shift) > MIDDLE:
                found.add("right" if shift < 0 else "left")
    return found


def _refused_agreements(results: Sequence[CallResult]) -> Iterator[Disagreement]:
    """Yield the answers of a model that was asked if it agrees with another one and does not."""
    for index, item in enumerate(results):
        question = str(item.arguments.get("question") or item.arguments.get("prompt") or "")
        if item.tool not in TEXTS or not _ASKED_TO_AGREE.search(question):
            continue
        answer = next(
            (str(item.output[key]) for key in TEXTS[item.tool] if item.output.get(key)), ""
        )
        others = [
            other
            for other in range(index)
            if results[other].tool in TEXTS
            and results[other].tool != item.tool
            and _same_image(results[other], item)
        ]
        if others and _DISAGREES.search(answer):
            first = results[others[-1]].tool
            words = one_line(_SENTENCE.findall(answer)[0], 120)
            yield Disagreement(
                f"the answer of {first}",
                (
                    (f"{item.tool} says “{words}”", index),
                    (f"{first} contradicts it", others[-1]),
                ),
            )


def _wrong_sides(results: Sequence[CallResult]) -> Iterator[Disagreement]:
    """Yield boxes on the other side than their phrase says, for images in the usual orientation."""
    for index, item in enumerate(results):
        asked = str(item.arguments.get("phrase") or "")
        side = _SIDE.search(asked)
        if item.tool != GROUNDING or side is None:
            continue
        for other in _box_sides(item) - {side.group().lower()}:
            phrase = one_line(asked, 80)
            yield Disagreement(
                "the side",
                (
                    (f"{GROUNDING} was asked for “{phrase}”", index),
                    (f"its box lies on the patient's {other} as the image hangs", index),
                ),
            )
