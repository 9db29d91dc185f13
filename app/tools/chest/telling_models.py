"""How the results of the large models' tools are told without a language model."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from app.tools.result_wording import Data, ResultWording, Sentence, number, one_line

_TEXT_LIMIT = 4000
_ANSWERS = ("response", "answer", "text")
_NOTE = "Words of a model, which nobody has checked; fluent text is no sign that it is right."


def _answer(output: Data, metadata: Data) -> list[Sentence]:
    text = next((output[key] for key in _ANSWERS if isinstance(output.get(key), str)), "")
    if not text.strip():
        return []
    model = one_line(str(metadata.get("model") or "The model"), 80)
    lines = [Sentence(f"{model} answers: “{one_line(text, _TEXT_LIMIT)}”.")]
    boxes = output.get("boxes")
    if isinstance(boxes, list) and boxes:
        labels = ", ".join(_label(box) for box in boxes)
        lines.append(Sentence(f"It marked on the image: {labels}."))
    return [*lines, Sentence(_NOTE, cites=False)]


def _label(box: Any) -> str:
    return one_line(str(box.get("label", "a box")) if isinstance(box, Mapping) else "a box", 80)


def _change(output: Data, metadata: Data) -> list[Sentence]:
    del metadata
    lines: list[Sentence] = []
    days = output.get("days_between")
    if isinstance(days, int):
        lines.append(Sentence(f"{days:,} days between the two images."))
    rows = output.get("rows") or ()
    return [*lines, *(Sentence(_row(row)) for row in rows if isinstance(row, Mapping))]


def _row(row: Data) -> str:
    what, unit = one_line(str(row.get("what", "")), 80), one_line(str(row.get("unit") or ""), 20)
    now, then = row.get("current"), row.get("prior")
    figures = f"{_figure(then)} before, {_figure(now)} now{f' {unit}' if unit else ''}"
    why = one_line(str(row.get("why") or "")).rstrip(".")
    if not row.get("comparable"):
        return f"{what}: not comparable ({figures}){f': {why}' if why else ''}."
    change = row.get("change")
    told = f", change {change:+.2f}" if isinstance(change, (int, float)) else ""
    beyond = row.get("beyond_error")
    where = "beyond" if beyond else "within"
    sure = f", {where} the method's error" if told and isinstance(beyond, bool) else ""
    return f"{what}: {figures}{told}{sure}."


def _figure(value: Any) -> str:
    return "nothing" if value is None else number(value)


def _marked(output: Data, metadata: Data) -> list[Sentence]:
    del metadata
    if not output.get("found"):
        return [Sentence("Nothing was found where it was marked.")]
    area = f"{number(output.get('area_pixels'))} px"
    if output.get("area_cm2") is not None:
        area += f" = {number(output['area_cm2'], 2)} cm²"
    score = output.get("score")
    told = f", the model's own score {score:.2f}" if isinstance(score, (int, float)) else ""
    return [
        Sentence(f"Outlined what you marked: area {area}{told}."),
        Sentence("It outlines whatever is marked, a disease or not.", cites=False),
    ]


WORDINGS = (
    ResultWording("chest_xray_expert", "CheXagent", _answer),
    ResultWording("llava_med_qa", "LLaVA-Med", _answer),
    ResultWording("medgemma_qa", "MedGemma", _answer),
    ResultWording("chest_xray_compare", "Change", _change),
    ResultWording("medsam2_segment", "Outline of what you marked", _marked),
)
