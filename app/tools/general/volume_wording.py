"""Words a comparison of two scans without a language model: a table of figures, no verdict."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from app.tools.pack_plan import value_lists, word_lists
from app.tools.result_wording import (
    RULE,
    AnswerContext,
    Data,
    ResultWording,
    Sentence,
    cited,
    has_words,
    number,
    one_line,
)

MODALITIES = ("CT", "MR")
_TEXTS = word_lists("general")
_LESIONS, _FINDINGS, _ORGANS = (
    value_lists(_TEXTS[key]) for key in ("MARKED_LESIONS", "MARKED_FINDINGS", "MARKED_ORGANS")
)
_NAMED = _LESIONS | _FINDINGS | _ORGANS
_FORMS = {
    name: "|".join(word.replace("*", r"\w*").replace(" ", "[ -]") for word in words)
    for name, words in _NAMED.items()
}
"""Name -> regular expression of what users and tools call it, umlauts written as "ae"."""
_UMLAUTS = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue", "ß": "ss"})
_PREFIX = "marked: "
TARGETS = tuple((f"{_PREFIX}{name}", words) for name, words in _NAMED.items())
"""Structures and findings whose change a question may ask for, each with its words."""
_TOOL = "volume_compare"
_ABOUT_FINDINGS = frozenset(
    ("everything", "visible", "describe", "all", "analyse", "generic", "state", "disease")
)
"""Kinds of question, of this pack and others, that ask for what is to be found on an image."""
_MARK = (
    "To have something compared, measure or outline it on both series, or accept a finding on "
    "each, and ask again."
)


def _lines(output: Data, metadata: Data) -> list[Sentence]:
    rows: Sequence[Data] = output.get("rows") or ()
    return cited([_lead({**metadata, **output}, ""), *(_row(row) for row in rows)])


def _answer(told: Data, targets: frozenset[str]) -> list[list[Sentence]]:
    """Return what the two are, the table of changes, and what it rests on."""
    laid: Data = told.get("registration") or {}
    lines = [[Sentence(_lead(told, "**"))]]
    if not laid.get("accepted"):
        lines.append([Sentence("Nothing is paired.", cites=False)])
        return lines
    fit = [Sentence(_fit(laid))]
    counts: Data = told.get("marks") or {}
    proposed = counts.get("proposed")
    rows: Sequence[Data] = told.get("rows") or ()
    if not rows:
        lines.append([Sentence("There is no mark on either series, so no change can be told.")])
        lines += [[Sentence(_proposed(proposed))]] if proposed else []
        return [*lines, [Sentence(_MARK, cites=False)], fit]
    if missing := _undetermined(told, targets):
        lines = [*([one] for one in missing), [], *lines]
    dates: Data = told.get("dates") or {}
    cells = [("", "before", "now", "change"), RULE, *map(_cells, rows)]
    table = [f"| {' | '.join(row)} |" for row in cells]
    lines += [[], *([Sentence(row, cites=False)] for row in table), []]
    if all(dates.get(key) for key in ("prior", "current")):
        lines.append([Sentence(f"- Before: {dates['prior']}; now: {dates['current']}.")])
    lines.append(fit)
    apart = number(told.get("tolerance_mm"), 1)
    lines.append([Sentence(f"- Marks of one kind within {apart} mm of each other are a pair.")])
    lines += [[Sentence(f"- {text}")] for text in _reasons(rows)]
    for key, where in (("only_in_the_current", "current"), ("only_in_the_prior", "prior")):
        if alone := [one_line(str(one)) for one in told.get(key) or ()]:
            lines.append([Sentence(f"- Only in the {where} study: {'; '.join(alone)}.")])
    if told.get("only_in_the_current") or told.get("only_in_the_prior"):
        text = "- This says where a mark is missing, not that nothing was there."
        lines.append([Sentence(text, cites=False)])
    if outside := [one_line(str(one)) for one in told.get("outside") or ()]:
        lines.append([Sentence(f"- Beyond what the other series shows: {'; '.join(outside)}.")])
    if proposed:
        lines.append([Sentence(f"- {_proposed(proposed)}")])
    text = "- The changes are sums of what is marked, with the error of marking in them."
    lines.append([Sentence(text, cites=False)])
    return lines


def _lead(told: Data, bold: str) -> str:
    """Return the first sentence: with what it is compared, and how many marks are paired."""
    days = told.get("days_between")
    modality = one_line(str(told.get("modality") or "scan"), 8)
    when = f"an earlier {modality}"
    if days is not None:
        when = f"the {modality} taken {days:,} days earlier"
    laid: Data = told.get("registration") or {}
    if not laid.get("accepted"):
        why = one_line(str(laid.get("why") or "")).rstrip(".")
        return f"{bold}Not compared with {when}:{bold} {why}."
    if not told.get("rows"):
        return f"{bold}Registered with {when}.{bold}"
    pairs = len(told.get("pairs") or ())
    only = [len(told.get(key) or ()) for key in ("only_in_the_current", "only_in_the_prior")]
    what = f"{pairs} pair{'' if pairs == 1 else 's'} of marks"
    return f"{bold}Compared with {when}:{bold} {what}; {only[0]} only now, {only[1]} only before."


def _undetermined(told: Data, targets: frozenset[str]) -> list[Sentence]:
    """Return why the change of each thing that the question names is not told, where it is not."""
    asked = [name for name in _NAMED if f"{_PREFIX}{name}" in targets]
    # In "the lesion in the liver", the organ is only the place.
    asked = [name for name in asked if name not in _ORGANS] or asked
    rows: Sequence[Data] = told.get("rows") or ()
    found: list[Sentence] = []
    for name in asked:
        own = [row for row in rows if _is_about(str(row["mark"]), name)]
        if any(row["comparable"] for row in own):
            continue
        reasons = dict.fromkeys(str(row["why"]) for row in own if row["why"])
        if not own:
            why = "neither study has a mark or an accepted finding of this name"
        elif reasons:
            why = one_line("; ".join(reasons))
        elif len({row["current"] is None for row in own}) > 1:
            why = "the marks of the two studies do not lie in one place"
        else:
            where = "prior" if own[0]["current"] is None else "current"
            why = f"it is marked in the {where} study only"
        found.append(Sentence(f"**{name}: change not determined:** {why}."))
    return [*found, Sentence(_MARK, cites=False)] if found else []


def _is_about(mark: str, name: str) -> bool:
    """Return whether a mark is what was asked for; one without a known name may be any lesion."""
    label = mark.casefold().translate(_UMLAUTS)
    called = {one for one, words in _FORMS.items() if has_words(label, words)}
    if name in called:
        return True
    if name not in _LESIONS:
        return False
    return not called or "Lesion" in called or (name == "Lesion" and bool(called & {*_LESIONS}))


def _fit(laid: Data) -> str:
    return (
        f"- Registered rigidly: similarity {number(laid.get('similarity'))} of 1, shift "
        f"{number(laid.get('shift_mm'), 1)} mm, turn {number(laid.get('rotation_degrees'), 1)} "
        f"degrees, there and back within {number(laid.get('two_way_mm'), 1)} mm."
    )


def _proposed(count: int) -> str:
    return f"Proposed findings that nobody has accepted are left out: {count}."


def _reasons(rows: Sequence[Data]) -> list[str]:
    """Return why figures of pairs are not compared, each reason once."""
    by_reason: dict[str, list[str]] = {}
    for row in rows:
        if row.get("why"):
            name = f"{one_line(str(row['mark']))}, {row['what']}"
            by_reason.setdefault(str(row["why"]), []).append(name)
    return [f"Not compared: {'; '.join(names)}: {why}." for why, names in by_reason.items()]


def _row(row: Data) -> str:
    before, now = (_figure(row, key) or "nothing" for key in ("prior", "current"))
    change = f", {text}" if (text := _change(row)) else ""
    return f"{one_line(str(row['mark']))}, {row['what']}: {before} -> {now}{change}."


def _cells(row: Data) -> tuple[str, str, str, str]:
    name = f"{one_line(str(row['mark']))}, {row['what']}".replace("|", "/")
    before, now = (_figure(row, key) or "–" for key in ("prior", "current"))
    return name, before, now, _change(row) or "–"


def _figure(row: Data, key: str) -> str:
    value: Any = row[key]
    return "" if value is None else f"{_shown(value)} {row['unit']}".rstrip()


def _shown(value: float) -> str:
    return f"{value:,.1f}" if abs(value) >= 10 else f"{value:.2f}"


def _change(row: Data) -> str:
    change: Any = row["change"]
    if change is None:
        return ""
    sign = "+" if change > 0 else "-" if change < 0 else "±"
    text = f"{sign}{_shown(abs(change))} {row['unit']}".rstrip()
    percent: Any = row["percent"]
    return text if percent is None else f"{text} ({percent:+.1f} %)"


def prior_open(answer: AnswerContext) -> list[str]:
    """Return a sentence on the latest earlier scan of surely the same patient that is open.

    It stands where findings are asked for, and nothing was compared in this conversation.
    """
    shown = answer.images[0] if answer.images else {}
    modality = shown.get("modality")
    if _TOOL in answer.ran | answer.known or modality not in MODALITIES:
        return []
    named = not answer.kinds and any(one.startswith(_PREFIX) for one in answer.targets)
    if not (named or answer.kinds & _ABOUT_FINDINGS):
        return []
    days = [
        int(note["days_before_current"])
        for note in answer.images[1:]
        if note.get("days_before_current") and note.get("modality") == modality
    ]
    if not days:
        return []
    return [
        f"Change: an earlier {modality} of this patient is open ({min(days):,} days before). Ask "
        "“Compare with the prior” to have it registered and the marks compared."
    ]


WORDING = ResultWording(
    _TOOL,
    "Change",
    _lines,
    kinds=frozenset({"volume change", "register"}),
    subject=lambda _: "what has changed",
    answer=_answer,
)
