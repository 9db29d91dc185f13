"""Texts that state the chest tools' results, for answers without a language model."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from app.tools.chest.boxes import place_on_film
from app.tools.chest.contradictions import (
    CLASSIFIER,
    EXPERT,
    GROUNDING,
    LLAVA,
    MEDGEMMA,
    OPERATING_POINT,
    RATIO,
    REPORT,
    SEGMENTATION,
)
from app.tools.chest.plan_words import LABELS
from app.tools.result_wording import (
    RULE,
    AnswerContext,
    CallResult,
    Data,
    ResultWording,
    Sentence,
    cited,
    has_words,
    number,
    one_line,
    scores_of,
)

_LABELS = frozenset(item.value for item in LABELS)
_NOTE = "Unchecked text by a model; fluent wording does not make it right."


def _answer(output: Data, metadata: Data) -> list[Sentence]:
    text = str(output.get("response") or output.get("answer") or "")
    if not text.strip():
        return []
    model = one_line(str(metadata.get("model") or "The model"), 80)
    lines = [Sentence(f"{model} answers: “{one_line(text, _TEXT_LIMIT)}”.")]
    if boxes := output.get("boxes"):
        labels = ", ".join(one_line(str(box["label"]), 80) for box in boxes)
        lines.append(Sentence(f"It marked on the image: {labels}."))
    return [*lines, Sentence(_NOTE, cites=False)]


def _change(output: Data, metadata: Data) -> list[Sentence]:
    rows = [Sentence(_row(row)) for row in output.get("rows") or ()]
    days = output.get("days_between")
    return rows if days is None else [Sentence(f"{days:,} days between the two images."), *rows]


def _row(row: Data) -> str:
    unit = f" {row['unit']}" if row["unit"] else ""
    figures = f"{_figure(row['prior'])} before, {_figure(row['current'])} now{unit}"
    if not row["comparable"]:
        why = f": {one_line(row['why']).rstrip('.')}" if row["why"] else ""
        return f"{_what(row)}: not comparable ({figures}){why}."
    change = "" if row["change"] is None else f", change {_signed(row['change'])}"
    if change and row.get("error") is not None:
        change += f" ± {number(row['error'])}"
    if change and row["beyond_error"] is not None:
        change += f", {'beyond' if row['beyond_error'] else 'within'} the method's error"
    return f"{_what(row)}: {figures}{change}."


def _what(row: Data) -> str:
    """Return a row's quantity, with what its mm or cm² rest on: "Heart, area (detector plane)"."""
    return f"{row['what']} ({row['basis']})" if row.get("basis") else str(row["what"])


_STATES = ("new", "gone", "larger", "smaller", "unchanged")
_STATE_WORDS = {
    "new": "**new**: marked on the current film only",
    "gone": "**gone**: marked on the prior film only",
    "unchanged": "unchanged",
}


def _change_answer(output: Data, targets: frozenset[str]) -> list[list[Sentence]]:
    """Return the table of what has changed, then what could not be compared."""
    rows: Sequence[Data] = output.get("rows") or ()
    told = sorted(
        (row for row in rows if row.get("state")), key=lambda row: _STATES.index(row["state"])
    )
    changed = [row for row in told if row["state"] in ("larger", "smaller")]
    alone = [sum(row["state"] == state for row in told) for state in ("new", "gone")]
    scores = [row for row in rows if row["unit"] == "score" and row["comparable"]]
    crossed = [row for row in scores if row["beyond_error"]]
    days = output.get("days_between")
    when = "an earlier film" if days is None else f"the film taken {days:,} days earlier"
    count = len(changed) + len(crossed)
    what = f"{count} change{'' if count == 1 else 's'} beyond the method's error"
    what = what if count else f"no {what[2:]}"
    figures = [row for row in rows if row.get("state") not in ("new", "gone")]
    compared = sum(row["comparable"] for row in figures)
    if not compared:
        what = "no figure could be compared"
    elif compared < len(figures):
        what += f" in the {compared} of {len(figures)} figures that could be compared"
    marks = f"; {alone[0]} new, {alone[1]} gone" if any(alone) else ""
    lines = [[Sentence(f"**Compared with {when}:** {what}{marks}.")]]
    if missing := _not_compared(output, targets):
        rest = Sentence(f"Apart from that, compared with {when}: {what}{marks}.")
        lines = [*([one] for one in missing), [], [rest]]
    if told or crossed:
        cells = [("", "before", "now", "change"), RULE, *map(_cells, [*told, *crossed])]
        table = [f"| {' | '.join(row)} |" for row in cells]
        lines += [[], *([Sentence(row, cites=False)] for row in table), []]
    left = [row for row in rows if not row["comparable"] and not row.get("state")]
    by_reason: dict[str, list[Data]] = {}
    for row in left:
        by_reason.setdefault(str(row["why"]), []).append(row)
    for why, alike in by_reason.items():
        if len(alike) == 1:
            lines.append([Sentence(f"- {_row(alike[0])}")])
            continue
        names = "; ".join(one_line(str(row["what"])) for row in alike)
        lines.append([Sentence(f"- Not compared: {names}: {one_line(why).rstrip('.')}.")])
    if len(scores) > len(crossed):
        text = f"- {len(scores) - len(crossed)} scores stay on their side of 0.5."
        lines.append([Sentence(text)])
    if any(row.get("state") in ("new", "gone") for row in rows):
        text = "- New and gone say where a mark is missing, not that nothing was there."
        lines.append([Sentence(text, cites=False)])
    return lines


def _not_compared(output: Data, targets: frozenset[str]) -> list[Sentence]:
    """Return why each finding that the question names is not compared, where it is not."""
    rows: Sequence[Data] = output.get("rows") or ()
    others = {"lesion": "Lesion", "finding": "The finding that you named"}
    unlabelled = [name for target, name in others.items() if target in targets][:1]
    names = _asked(targets) or unlabelled or (["Heart"] if "heart" in targets else [])
    laid: Data = output.get("registration") or {}
    told: list[Sentence] = []
    for name in names:
        own = [row for row in rows if _is_about(row, name)]
        if any(row["comparable"] for row in own):
            continue
        both = [row for row in own if None not in (row["prior"], row["current"])]
        if both:
            why = one_line(str(both[0]["why"])).rstrip(".")
            told.append(Sentence(f"**{name}: its size could not be compared:** {why}."))
        elif laid.get("accepted") is False:
            why = one_line(str(laid.get("why"))).rstrip(".")
            why = f"the films could not be aligned: {why}"
            told.append(Sentence(f"**{name}: not compared:** {why}."))
        elif alone := [row for row in own if not row["state"]]:
            why = one_line(str(alone[0]["why"])).rstrip(".")
            told.append(Sentence(f"**{name}: not compared:** {why}."))
        elif {row["state"] for row in own} >= {"new", "gone"}:
            why = "the marks on the two films do not lie in one place"
            told.append(Sentence(f"**{name}: not compared:** {why}."))
        else:
            where = "none is marked or found on both films"
            told.append(Sentence(f"**{name}: not compared, because {where}.**"))
            told.append(Sentence(_MARK_BOTH, cites=False))
    return list(dict.fromkeys(told))


_MARK_BOTH = "To have it compared, draw a box around it on each of the two films and ask again."
_FORMS = {
    item.value.replace("_", " "): "|".join(word.replace("*", r"\w*") for word in item.words)
    for item in LABELS
}
"""Label -> regular expression of what users and tools call it, umlauts written as "ae"."""
_LIKE_A_LESION = ("Nodule", "Mass", "Lung Lesion", "Lung Opacity")
_UMLAUTS = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue", "ß": "ss"})


def _is_about(row: Data, name: str) -> bool:
    """Return whether a row compares the finding; a box that the user left unnamed may be it."""
    what = str(row["what"]).casefold().translate(_UMLAUTS)
    if name in ("Cardiomegaly", "Heart") and what == "cardiothoracic ratio":
        return True
    if name == "Heart":
        return False
    if not what.endswith(", longer side"):
        return False
    if what.startswith("marked box"):
        return True
    called = [label for label, words in _FORMS.items() if has_words(what, words)]
    if name in _FORMS:
        return name in called
    return not called or bool({*called} & {*_LIKE_A_LESION})


def _cells(row: Data) -> tuple[str, str, str, str]:
    unit = f" {row['unit']}" if row["unit"] and row["unit"] != "score" else ""
    before, now = (
        "" if value is None else f"{number(value)}{unit}"
        for value in (row["prior"], row["current"])
    )
    state = str(row.get("state") or ("crosses 0.5" if row["beyond_error"] else ""))
    said = _STATE_WORDS.get(state, f"**{state}**")
    if row["change"] is not None:
        error = "" if row.get("error") is None else f" ± {number(row['error'])}"
        said += f", {_signed(row['change'])}{error}{unit}"
    return one_line(_what(row)).replace("|", "/"), before, now, said


def _prior_open(answer: AnswerContext) -> list[str]:
    """Return a sentence on the latest earlier image of surely the same patient that is open."""
    if _COMPARE in answer.ran | answer.known:
        return []
    days = [
        (int(note["days_before_current"]), _view_and_date(note))
        for note in answer.images[1:]
        if note.get("days_before_current") and note.get("modality") in _RADIOGRAPHS
    ]
    if not days:
        return []
    when, film = min(days)
    return [
        f"Change: an earlier film of this patient is open ({film}{when:,} days before). Ask "
        "“Compare with the prior” to have it hung beside and compared."
    ]


def _view_and_date(note: Data) -> str:
    told = (one_line(str(note.get(key) or "")) for key in ("view", "study_date"))
    return "".join(f"{one}, " for one in told if one)


_COMPARE = "chest_xray_compare"
_RADIOGRAPHS = ("CR", "DX", "RG", "XR")


def _signed(change: float) -> str:
    return f"{round(change, 2) + 0.0:+.2f}"  # no "-0.00"


def _figure(value: Any) -> str:
    return "nothing" if value is None else number(value)


def _marked_outline(output: Data, metadata: Data) -> list[Sentence]:
    if not output.get("found"):
        return [Sentence("Nothing was found where it was marked.")]
    area = f"{number(output.get('area_pixels'))} px"
    if output.get("area_cm2") is not None:
        area += f" = {number(output['area_cm2'], 2)} cm²"
    score = f"the model's own score {output['score']:.2f}"
    return [
        Sentence(f"Outlined what you marked: area {area}, {score}."),
        Sentence("It outlines whatever is marked, a disease or not.", cites=False),
    ]


_MEDSAM2 = "medsam2_segment"

_TEXT_LIMIT = 4000


def _scores(output: Data, metadata: Data) -> list[Sentence]:
    return [sentence for line in _disease_answer(output, frozenset()) for sentence in line]


_OUTLINED = (
    "Anatomy, not disease. Neither confidence (mean probability inside the outline) nor agreement "
    "(Dice over four slightly changed copies) says that an outline is right."
)


def _training(metadata: Data) -> list[Sentence]:
    """Return what the network of the outlines learnt from, if that is a reason for doubt."""
    if "embedded network" not in str(metadata.get("model")):
        return []
    return [
        Sentence(
            "The outlines are by a network that learnt from synthetic films only.", cites=False
        )
    ]


def _outlines(output: Data, metadata: Data) -> list[Sentence]:
    metrics = output.get("metrics") or {}
    basis = str(metadata.get("area_note") or "")
    agreement = metadata.get("agreement_of_looks") or {}
    lungs = [
        metrics[name]["area_pixels"] for name in ("Left Lung", "Right Lung") if name in metrics
    ]
    both = sum(lungs) if len(lungs) == 2 else 0
    lines = [_organ(name, values, agreement.get(name), both) for name, values in metrics.items()]
    if missing := metadata.get("not_found"):
        lines.append(f"Asked for but not found: {', '.join(map(_structure, missing))}.")
    told = cited(lines)
    if lines and basis:
        known = not basis.startswith("no figures")  # told once, with all results
        told.append(Sentence(f"{_sentence_case(one_line(basis)).rstrip('.')}.", cites=known))
    if agreement:
        told += [Sentence(_OUTLINED, cites=False), *_training(metadata)]
    return told


_STRUCTURES = {
    "Facies Diaphragmatica": "Diaphragm",
    "Weasand": "Oesophagus",
    "Left Hilus Pulmonis": "Left hilum",
    "Right Hilus Pulmonis": "Right hilum",
}


def _structure(name: str) -> str:
    """Return what people call a structure of the segmentation."""
    return _STRUCTURES.get(name, one_line(name).capitalize())


def _sentence_case(text: str) -> str:
    return text[:1].upper() + text[1:]


def _organ(name: str, values: Data, agreement: float | None, lungs: int) -> str:
    """Return the line on a structure; `lungs` is the area of both lungs in px, 0 if not known."""
    area = f"{number(values['area_pixels'])} px"
    if values.get("area_cm2") is not None:
        area = f"{number(values['area_cm2'], 1)} cm²"
    if lungs and name.endswith(" Lung"):
        area += f" ({values['area_pixels'] / lungs:.0%} of both lungs)"
    sure = f"confidence {number(values['confidence_score'])}"
    if isinstance(agreement, (int, float)):
        sure += f", agreement {number(agreement)}"
    return f"**{_structure(name)}:** area {area}, {sure}."


def _ratio(output: Data, metadata: Data) -> list[Sentence]:
    if not isinstance(output.get("ratio"), (int, float)):
        return []
    return _heart_answer({**metadata, **output}, frozenset())[0]


def _report(output: Data, metadata: Data) -> list[Sentence]:
    models = metadata.get("models") or {}
    lines = [
        Sentence(
            f"{key.capitalize()} in the words of {models.get(key, 'the model')}: "
            f"“{one_line(value, _TEXT_LIMIT)}”."
        )
        for key, value in output.items()
        if isinstance(value, str) and value.strip() and not key.endswith("path")
    ]
    if marked := len(metadata.get("located") or ()):
        lines.append(Sentence(f"Sentences that boxes on the image mark: {marked}."))
    note = "Draft by a model, unchecked."
    return [*lines, Sentence(note, cites=False)] if lines else []


def _generated(output: Data, metadata: Data) -> list[Sentence]:
    made = output.get("image_path")
    return [Sentence("A synthetic image was made; it shows no patient.")] if made else []


def _grounded(output: Data, metadata: Data) -> list[Sentence]:
    asked = str(metadata.get("phrase") or "")
    lines = [
        f"{_asked_phrase(asked, item['phrase'])}: box {_place(box, metadata)}."
        for item in output.get("predictions") or ()
        for box in item["bounding_boxes"]["image_coordinates"]
    ]
    if lines:
        note = "The model tends to mark whatever it is asked for: a box proves no finding."
        return [*cited(lines), Sentence(note, cites=False)]
    phrase = one_line(asked or "The phrase")
    return cited([f"“{phrase}”: no box."] if "predictions" in output else [])


def _asked_phrase(asked: str, words: str) -> str:
    """Return the model's words for a box, quoted; behind what was asked where they differ."""
    one, other = (text.strip(" .!?").casefold() for text in (asked, words))
    if one in other or other in one:
        return f"“{one_line(words)}”"
    return f"“{one_line(asked)}” (the model's words: “{one_line(words)}”)"


def _place(box: Sequence[float], metadata: Data) -> str:
    """Return where a box (x0, y0, x1, y1) in pixels lies; in words if the film hangs as usual."""
    corners = f"from {_point(box[:2])} to {_point(box[2:])} px"
    size = metadata.get("original_size")
    if not isinstance(size, Sequence) or "mirrored" in str(metadata.get("warnings") or ""):
        return (
            f"{corners}, x to the right and y down from the top left corner of the image (its "
            "left, not the patient's)"
        )
    across, down = ((box[at] + box[at + 2] + 1) / 2 / size[1 - at] for at in (0, 1))
    return f"{place_on_film(across, down)}, {corners}"


def _phrase(label: str) -> str:
    return _PHRASES.get(label, _label(label).lower())


_PHRASES = {"Effusion": "pleural effusion", "Edema": "pulmonary edema"}


MOST_LOCATED = 4
"""Findings that are looked for on the image, one after another: each takes a model's whole look."""


def phrases_to_locate(
    argument: str, **others: str
) -> Callable[[Data, Data], Sequence[Mapping[str, str]]]:
    """Return a function that makes a locating tool's arguments from the classifier's result.

    It chooses the labels that the question asked for; if it asked for none, those above 0.5. Of
    these it takes the `MOST_LOCATED` with the highest scores, the highest first. In each call the
    argument named `argument` gets a phrase for the label, and `others` are added.
    """

    def arguments(output: Data, metadata: Data) -> Sequence[Mapping[str, str]]:
        scores = scores_of(output)
        asked = [label for label in metadata.get("labels") or () if label in scores]
        labels = asked or [label for label, score in scores.items() if score > OPERATING_POINT]
        labels.sort(key=lambda label: -scores[label])
        return [{argument: _phrase(label), **others} for label in labels[:MOST_LOCATED]]

    return arguments


def _heart_answer(output: Data, targets: frozenset[str]) -> list[list[Sentence]]:
    ratio = output.get("ratio")
    if not isinstance(ratio, (int, float)):
        return [[Sentence("The heart could not be measured.", cites=False)]]
    side = "above" if ratio > OPERATING_POINT else "below"
    judged = one_line(str(output.get("judgement") or f"{side} 0.5"))
    # The tool's own words, so that its warning is not told a second time.
    unstable = [text for text in output.get("warnings") or () if " varies by " in str(text)]
    spread = output.get("spread_of_looks")
    varies = f", varies by {spread:.2f} {_CHANGED}" if isinstance(spread, (int, float)) else ""
    if unstable:
        varies = f", varies by {one_line(unstable[0].partition(' varies by ')[2])}"
    answer = [Sentence(f"**Cardiothoracic ratio about {ratio:.2f}**{varies}: {judged}.")]
    sure = bool(output.get("reliable", True))
    doubts = [one for one in output.get("doubts") or () if not has_words(one, _NOTABLE)]
    if not sure and doubts:
        answer.append(Sentence(f"**Not reliable on this film:** {one_line('; '.join(doubts))}."))
    elif not sure and not unstable:
        answer.append(Sentence("**Not reliable on this film:** see the warnings."))
    if output.get("heart_width_px") is not None:
        answer.append(Sentence(_widths(output)))
        if output.get("heart_width_mm") is None and output.get("width_note"):
            note = _sentence_case(one_line(str(output["width_note"])))
            answer.append(Sentence(f"{note}.", cites=False))
    if sure and "too close" not in judged:
        text = "Above 0.5 on an upright PA film an adult's heart is commonly read as enlarged."
        answer.append(Sentence(text, cites=False))
    return [[*answer, *_training(output)]]


NOTABLE = (
    "much smaller than the other",
    "was not found: white-out",
    "bases differ in height",
    "does not lie to the patient's left",
)
"""Words of warnings that may be a finding."""
_NOTABLE = "|".join(map(re.escape, NOTABLE))
_CHANGED = "when the image is cropped or rotated slightly"


def _widths(output: Data) -> str:
    heart, thorax = (number(output[f"{name}_width_px"], 0) for name in ("heart", "thorax"))
    in_mm = [output.get("heart_width_mm"), output.get("thorax_width_mm")]
    view = f", {output['view']} film" if output.get("view") in ("PA", "AP") else ""
    if None in in_mm:
        return f"Heart {heart} px, thorax {thorax} px{view}."
    basis = one_line(str(output.get("spacing_source") or "source of the spacing not given"))
    wide = [number(value, 0) for value in in_mm]
    return f"Heart {wide[0]} mm, thorax {wide[1]} mm ({heart} and {thorax} px; {basis}){view}."


def _disease_answer(output: Data, targets: frozenset[str]) -> list[list[Sentence]]:
    found = {label: score for label, score in scores_of(output).items() if label in _LABELS}
    scores = dict(sorted(found.items(), key=lambda item: -item[1]))
    if not scores:
        return []
    told = {label: f"{_scored(label, scores)}{_sureness(label, output)}" for label in scores}
    note = Sentence("Scores are neither probabilities nor diagnoses.", cites=False)
    asked = [label for label in scores if label in targets]
    above = [label for label in scores if scores[label] > OPERATING_POINT and label not in asked]
    below = [label for label in scores if label not in (*asked, *above)]
    lines: list[list[Sentence]] = [
        [Sentence(f"**{_scored(label, scores)}**{_sureness(label, output)}: {side} 0.5.")]
        for label, side in ((label, _side(scores[label])) for label in asked)
    ]
    detailed = any(told[label] != _scored(label, scores) for label in above)
    if above:
        head = f"**{'Also above' if asked else 'Above'} 0.5:**"
        named = ", ".join(_scored(label, scores) for label in above)
        lines.append([Sentence(head, cites=False) if detailed else Sentence(f"{head} {named}.")])
    elif not asked:
        lines.append([Sentence("**No finding is scored above 0.5.**")])
    lines[0].append(note)
    if detailed:
        lines += [[Sentence(f"- {told[label]}.")] for label in above]
    if below:
        named = ", ".join(_scored(label, scores) for label in below)
        lines.append([Sentence(f"{'- ' if detailed else ''}At or below 0.5: {named}.")])
    return lines


def _scored(label: str, scores: Mapping[str, float]) -> str:
    return f"{_label(label)} {scores[label]:.2f}"


def _sureness(label: str, output: Data) -> str:
    """Return how sure a label's score is and where the model looked for it, if known; else ""."""
    known: Data = (output.get("uncertainty") or {}).get(label) or {}
    parts: list[str] = []
    if known.get("near"):
        parts.append("too close to 0.5 to count")
    if spread := known.get("range"):
        turns = "" if known.get("stable", True) else ", on both sides of 0.5"
        parts.append(f"{spread[0]:.2f} to {spread[1]:.2f} if mirrored or cropped{turns}")
    if place := (output.get("looked_at") or {}).get(label):
        parts.append(f"heat map highest {one_line(str(place))}")
    return f" ({'; '.join(parts)})" if parts else ""


def _side(score: float) -> str:
    if score == OPERATING_POINT:
        return "at"
    return "above" if score > OPERATING_POINT else "below"


def _label(name: str) -> str:
    return one_line(name.replace("_", " "))


def _point(values: Sequence[Any]) -> str:
    # Without thousands separators, since "(1,113, 1,078)" reads like four numbers.
    return f"({', '.join(number(value, 0).replace(',', '') for value in values)})"


def unanswered(answer: AnswerContext) -> list[str]:
    """Return one sentence for each part of a radiograph question that no result answers."""
    grounded = GROUNDING in answer.ran
    disease = "disease" in answer.kinds
    lesion = "lesion" in answer.targets
    lines: list[str] = []
    if disease and CLASSIFIER in answer.ran:
        lines.append("Which disease it is: scores and outlines do not decide that.")
        if "unscored" in answer.targets:
            lines.append("A finding that you named: none of the scores is for it.")
    shown = f" {SEGMENTATION} outlines anatomy only." if SEGMENTATION in answer.ran else ""
    scored = disease and CLASSIFIER in answer.ran
    if scored and "part" in answer.targets and "where" not in answer.kinds and not grounded:
        lines.append("On which side or in which part: a score is for the whole film.")
    if lesion and _MEDSAM2 not in answer.ran and "size" in answer.targets:
        lines.append(
            "Outline, size or number of a lesion: no tool that ran finds, measures or counts "
            f"lesions.{shown}"
        )
    if "volume" in answer.targets:
        lines.append("A volume: no tool here measures one; a radiograph gives areas only.")
    return lines


def _not_located(results: Sequence[CallResult]) -> list[str]:
    """Return sentences on the flagged labels that were not looked for on the image, if one was."""
    sought = {
        str(item.arguments.get("phrase" if item.tool == GROUNDING else "prompt"))
        for item in results
        if item.tool == GROUNDING or item.arguments.get("task") == "locate"
    }
    scored = [item.metadata for item in results if item.tool == CLASSIFIER]
    flagged = dict.fromkeys(
        label for one in scored for label in one.get("above_operating_point") or ()
    )
    mapped = {label for one in scored for label in one.get("labels") or ()}
    lines: list[str] = []
    if sought and (left := [label for label in flagged if _phrase(label) not in sought]):
        named = ", ".join(map(_label, left))
        most = f"only the {len(sought)} highest scores were" if len(sought) > 1 else "only one was"
        lines.append(f"A box for {named}: {most} looked for.")
    if mapped and (left := [label for label in flagged if label not in mapped]):
        named = ", ".join(map(_label, left))
        lines.append(f"A heat map for {named}: one is drawn for {len(mapped)} labels at most.")
    return lines


_OPEN = frozenset(
    ("abnormal_where", "wrong_where", "everything", "visible", "describe", "analyse", "all")
)
"""Kinds of question that leave open what is looked for."""


def _asked(targets: frozenset[str]) -> list[str]:
    """Return the classifier's labels that a question names, for people."""
    return [_label(label) for label in sorted(targets & _LABELS)]


def _finding_asked(targets: frozenset[str]) -> str:
    asked = [_with_article(label) for label in sorted(targets & _LABELS)]
    named = " or ".join(filter(None, (", ".join(asked[:-1]), *asked[-1:])))
    return f"whether this image shows {named}" if asked else _ANYTHING


def _with_article(label: str) -> str:
    phrase = "enlarged mediastinum" if label == "Enlarged Cardiomediastinum" else _phrase(label)
    if label not in _COUNTED:
        return phrase
    return f"{'an' if phrase[0] in 'aeiou' else 'a'} {phrase}"


_COUNTED = frozenset(
    ("Pneumothorax", "Effusion", "Nodule", "Mass", "Hernia", "Lung Lesion", "Fracture")
) | {"Lung Opacity", "Enlarged Cardiomediastinum"}
"""Labels that take an article."""


_ANYTHING = "what is abnormal, or that nothing is"


def not_looked_for(answer: AnswerContext) -> list[str]:
    """Return a sentence for each thing that a question about disease covers and no tool sought."""
    asked = _asked(answer.targets)
    kinds = answer.kinds & (_OPEN | {"disease"})
    lines: list[str] = []
    if kinds and CLASSIFIER not in answer.ran and answer.lacks(CLASSIFIER):
        what = ", ".join(asked) or (
            "18 findings, such as pneumothorax, effusion, consolidation, nodule and mass"
        )
        lines.append(f"{what}: that needs the model torchxrayvision DenseNet-121 (Tools > Models).")
    lines += _not_located(answer.results)
    whole = answer.kinds & (_OPEN | {"generic", "state"})
    if whole and not asked and not answer.targets & {"lesion", "unscored"}:
        bones = "bones beyond one score for fractures" if CLASSIFIER in answer.ran else "bones"
        lines.append(
            f"Tubes and lines, free air below the diaphragm, hila, calcification, {bones}, soft "
            "tissue: by no tool that ran."
        )
    if whole or answer.kinds & {"disease", "heart_size"}:
        lines += _prior_open(answer)
    return lines


WORDINGS = (
    ResultWording(
        RATIO,
        "Cardiothoracic ratio",
        _ratio,
        kinds=frozenset({"heart_size"}),
        subject=lambda _: "whether the heart is enlarged",
        answer=_heart_answer,
    ),
    ResultWording(
        CLASSIFIER,
        "Chest findings",
        _scores,
        kinds=_OPEN | {"disease"},
        subject=_finding_asked,
        lacking="the model that scores findings is not installed. Read the film yourself.",
        answer=_disease_answer,
    ),
    ResultWording(SEGMENTATION, "Chest segmentation", _outlines),
    ResultWording(REPORT, "Draft report", _report),
    ResultWording("chest_xray_generator", "Synthetic image", _generated),
    ResultWording(GROUNDING, "Where the phrase is seen", _grounded),
    ResultWording(EXPERT, "CheXagent", _answer),
    ResultWording(LLAVA, "LLaVA-Med", _answer),
    ResultWording(MEDGEMMA, "MedGemma", _answer),
    ResultWording(
        _COMPARE,
        "Change",
        _change,
        kinds=frozenset({"change"}),
        subject=lambda _: "what has changed",
        answer=_change_answer,
    ),
    ResultWording(_MEDSAM2, "Outline of what you marked", _marked_outline),
)
