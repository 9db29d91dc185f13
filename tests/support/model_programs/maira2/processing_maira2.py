from __future__ import annotations

import re
from typing import Any

from transformers import LlavaProcessor

_ASK = "Given the current frontal image<image> Repeat the following finding. Finding: "


class Maira2Processor(LlavaProcessor):
    def format_and_preprocess_phrase_grounding_input(
        self, frontal_image: Any, phrase: str, assistant_text: str | None = None, **kwargs: Any
    ) -> Any:
        del assistant_text
        text = f"USER: {_ASK}{phrase} ASSISTANT:"
        return self(text=text, images=[frontal_image.convert("L")], **kwargs)

    def format_and_preprocess_reporting_input(
        self,
        current_frontal: Any,
        current_lateral: Any,
        prior_frontal: Any,
        indication: str | None,
        technique: str | None,
        comparison: str | None,
        prior_report: str | None,
        get_grounding: bool = False,
        assistant_text: str | None = None,
        **kwargs: Any,
    ) -> Any:
        del current_lateral, prior_frontal, prior_report, assistant_text
        told = " ".join(text or "N/A" for text in (indication, technique, comparison))
        text = (
            f"USER: Given the current frontal image only<image> {get_grounding} {told} ASSISTANT:"
        )
        return self(text=text, images=[current_frontal.convert("L")], **kwargs)

    def convert_output_to_plaintext_or_grounded_sequence(self, text: str) -> Any:
        if "<obj>" not in text:
            return text.strip()
        found = []
        for body in re.findall(r"<obj>(.*?)</obj>", text):
            boxes = [
                tuple((int(number) + 0.5) / 100 for number in numbers)
                for numbers in re.findall(r"<box><x(\d+)><y(\d+)><x(\d+)><y(\d+)></box>", body)
            ]
            found.append((body.partition("<box>")[0].strip(), boxes or None))
        return found

    @staticmethod
    def adjust_box_for_original_image_size(box: Any, width: int, height: int) -> Any:
        side = min(width, height)
        left, top = (width - side) // 2, (height - side) // 2
        x0, y0, x1, y1 = box
        return (
            int(x0 * side + left) / width,
            int(y0 * side + top) / height,
            int(x1 * side + left) / width,
            int(y1 * side + top) / height,
        )
