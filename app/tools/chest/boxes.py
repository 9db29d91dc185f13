"""Parsers for the boxes that language models write, and their conversion to image pixels.

Coordinates here count pixel edges: the left edge of an image is 0 and the right edge of its last
column is the number of columns. In a `Box` of `app.imaging.findings`, the centre of the first pixel
is 0 instead, so that its coordinates are 0.5 lower.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from app.imaging.findings import Box

Corners = tuple[float, float, float, float]
"""Corners (x0, y0, x1, y1)."""

MAIRA_BINS = 100
"""Number of bins per axis: MAIRA-2 writes each coordinate as the index of one of these bins."""
CHEXAGENT_SCALE = 100
"""Coordinate range of CheXagent-2, which writes hundredths of the width and height of its input."""
MEDGEMMA_SCALE = 1000
"""Coordinate range of MedGemma 1.5, which writes thousandths of a square in the order y, x."""

MIDDLE = 0.05
"""Half-width of the middle zone, as a share of the film's width; what lies in it has no side."""


def place_on_film(across: float, down: float) -> str:
    """Return in words where a point lies on a film that hangs as usual.

    Args:
        across: Distance from the viewer's left, as a share (0..1) of the film's width.
        down: Distance from the top, as a share of its height.
    """
    side = "in the midline"
    if abs(across - 0.5) > MIDDLE:  # the patient's right is on the viewer's left
        side = f"on the patient's {'right' if across < 0.5 else 'left'}"
    third = ("upper", "middle", "lower")[min(2, int(3 * down))]
    return f"{side}, {third} third of the film"


_OBJECT = re.compile(r"<obj>(.*?)(</obj>|(?=<obj>)|\Z)", re.DOTALL)
_MAIRA_BOX = re.compile(r"<box>(.*?)(</box>|(?=<box>)|\Z)", re.DOTALL)
_MAIRA_CORNERS = re.compile(r"\s*<x(\d{1,4})>\s*<y(\d{1,4})>\s*<x(\d{1,4})>\s*<y(\d{1,4})>\s*")
_MAIRA_TAGS = re.compile(r"</?(?:obj|box)>|<[xy]\d+>")

_CHEX_PART = re.compile(
    r"<\|ref\|>(?P<ref>.*?)(?P<ref_end><\|/ref\|>|(?=<\|box\|>)|\Z)"
    r"|<\|box\|>(?P<box>.*?)(?P<box_end><\|/box\|>|(?=<\|(?:box|ref)\|>)|\Z)",
    re.DOTALL,
)
_PAIR = r"\(\s*(\d{1,4})\s*,\s*(\d{1,4})\s*\)"
_CHEX_CORNERS = re.compile(rf"\s*{_PAIR}\s*,?\s*{_PAIR}\s*")
_SPECIAL = re.compile(r"<\|[^|<>]{1,40}\|>")


@dataclass(frozen=True, slots=True)
class InputRectangle:
    """The part of an image that a model received, in pixel edges (n columns reach from 0 to n).

    Where the image was padded, the rectangle reaches beyond the image (`left` is below 0, say).
    """

    left: float
    top: float
    right: float
    bottom: float

    def original(self, corners: Corners) -> Corners:
        """Convert (x0, y0, x1, y1) from fractions of this rectangle to pixel edges of the image."""
        width, height = self.right - self.left, self.bottom - self.top
        x0, y0, x1, y1 = corners
        return (
            self.left + x0 * width,
            self.top + y0 * height,
            self.left + x1 * width,
            self.top + y1 * height,
        )

    def hidden(self, rows: int, columns: int) -> tuple[str, ...]:
        """Return a text for each side where a part of the image is outside the rectangle.

        The text is like "12 % at the left", in per cent of the image's width or height; less than
        0.5 % gives no text.
        """
        shares = {
            "left": self.left / columns,
            "right": 1 - self.right / columns,
            "top": self.top / rows,
            "bottom": 1 - self.bottom / rows,
        }
        return tuple(
            f"{100 * share:.0f} % at the {side}" for side, share in shares.items() if share >= 0.005
        )


@dataclass(frozen=True, slots=True)
class GroundedPhrase:
    """A phrase and the boxes that the model gave for it.

    Attributes:
        phrase: The model's own words; "" if it gave none.
        boxes: The corners of each box as fractions (0..1) of the width and height of the model's
            input.
    """

    phrase: str
    boxes: tuple[Corners, ...]


@dataclass(frozen=True, slots=True)
class ParsedText:
    """The text that a model wrote with boxes in it, after parsing.

    Attributes:
        groups: Phrases with their boxes; only MAIRA-2 also writes phrases without boxes.
        text: The whole text without markup.
        refused: One sentence for each box or piece of text that cannot be used, with the reason.
    """

    groups: tuple[GroundedPhrase, ...]
    text: str
    refused: tuple[str, ...]


def whole_image(rows: int, columns: int) -> InputRectangle:
    """Return the rectangle of a whole image, for a model that receives images uncropped."""
    return InputRectangle(0.0, 0.0, float(columns), float(rows))


def padded_square(rows: int, columns: int) -> InputRectangle:
    """Return the square that an image becomes by padding, as in MedGemma's published example.

    The image is centred; an odd pixel of padding is added at the right or below.
    """
    side = max(rows, columns)
    left, top = (side - columns) // 2, (side - rows) // 2
    return InputRectangle(-left, -top, side - left, side - top)


def centre_crop(
    rows: int, columns: int, shortest: int, crop_rows: int, crop_columns: int
) -> InputRectangle:
    """Return the part of an image that a model receives after resizing and a central crop.

    The image is resized until its shorter side has `shortest` pixels, then cropped to `crop_rows` x
    `crop_columns`, with the same rounding as in the transformers library.
    """
    if columns <= rows:
        width, height = shortest, int(shortest * rows / columns)
    else:
        width, height = int(shortest * columns / rows), shortest
    left, top = (width - crop_columns) // 2, (height - crop_rows) // 2
    across, down = columns / width, rows / height
    return InputRectangle(
        left * across, top * down, (left + crop_columns) * across, (top + crop_rows) * down
    )


def finding_box(corners: Corners) -> Box:
    """Return `corners` (x0, y0, x1, y1), given in pixel edges, as a `Box` (half a pixel lower)."""
    x0, y0, x1, y1 = corners
    return Box(x0 - 0.5, y0 - 0.5, x1 - 0.5, y1 - 0.5)


def rounded_corners(box: Box) -> list[float]:
    """Return a box's [x0, y0, x1, y1] in pixels, rounded to 0.01, as listed in tool results."""
    return [round(value, 2) for value in (box.x0, box.y0, box.x1, box.y1)]


def read_maira(text: str) -> ParsedText:
    """Parse MAIRA-2's text, e.g. "<obj>phrase<box><x10><y20><x30><y40></box></obj>".

    Each number is one of 100 equal steps of the width or height and is read as the step's centre.
    """
    groups: list[GroundedPhrase] = []
    refused: list[str] = []
    for body, end in _OBJECT.findall(text):
        boxes: list[Corners] = []
        for written, box_end in _MAIRA_BOX.findall(body):
            found = _MAIRA_CORNERS.fullmatch(written)
            numbers = [int(number) for number in found.groups()] if found else []
            why = _corner_error(numbers, MAIRA_BINS - 1, closed=bool(box_end))
            if why:
                refused.append(_refusal(written, why))
            else:
                x0, y0, x1, y1 = ((number + 0.5) / MAIRA_BINS for number in numbers)
                boxes.append((x0, y0, x1, y1))
        phrase = body.partition("<box>")[0].strip()
        if end != "</obj>":
            refused.append(f'the answer breaks off in "{_short(phrase)}"')
        groups.append(GroundedPhrase(phrase, tuple(boxes)))
    words = " ".join(_MAIRA_TAGS.sub(" ", text).split())
    if not groups and "<box>" in text:
        refused.append("boxes without a phrase")
    return ParsedText(tuple(groups), words, tuple(refused))


def read_chexagent(text: str) -> ParsedText:
    """Parse CheXagent-2's text, e.g. "<|ref|>words<|/ref|><|box|>(10,20),(30,40)<|/box|>".

    In `ParsedText.text`, "words [box 1]" takes its place: valid boxes are numbered from 1.
    """
    groups: list[GroundedPhrase] = []
    refused: list[str] = []
    ref = ""

    def replaced(part: re.Match[str]) -> str:
        nonlocal ref
        if part["ref"] is not None:
            ref = " ".join(part["ref"].split())
            return f" {ref} "
        found = _CHEX_CORNERS.fullmatch(part["box"])
        numbers = [int(number) for number in found.groups()] if found else []
        why = _corner_error(numbers, CHEXAGENT_SCALE, closed=bool(part["box_end"]))
        if why:
            refused.append(_refusal(part["box"], why))
            return " [unusable box] "
        x0, y0, x1, y1 = (number / CHEXAGENT_SCALE for number in numbers)
        groups.append(GroundedPhrase(ref, ((x0, y0, x1, y1),)))
        return f" [box {len(groups)}] "

    marked = _CHEX_PART.sub(replaced, text)
    lines = [" ".join(line.split()) for line in _SPECIAL.sub(" ", marked).splitlines()]
    words = re.sub(r" ([.,;:!?])", r"\1", "\n".join(lines).strip())
    return ParsedText(tuple(groups), words, tuple(refused))


def read_medgemma(text: str) -> ParsedText:
    """Parse MedGemma 1.5's text, which ends with [{"box_2d": [y0, x0, y1, x1], "label": "..."}].

    `ParsedText.text` is the text before that list, without "Final Answer:" and code fences.
    """
    start, found = len(text), list[Any]()
    for match in re.finditer(r"\[\s*\{", text):
        try:
            found, _ = json.JSONDecoder().raw_decode(text, match.start())
            start = match.start()
        except (ValueError, RecursionError):
            continue
    groups: list[GroundedPhrase] = []
    refused: list[str] = []
    for item in found:
        written = item.get("box_2d") if isinstance(item, dict) else None
        numbers = [n for n in written if isinstance(n, int | float)] if written else []
        corners = [numbers[i] for i in (1, 0, 3, 2)] if len(numbers) == 4 else []
        if why := _corner_error(corners, MEDGEMMA_SCALE, closed=True):
            refused.append(_refusal(json.dumps(item), why))
            continue
        x0, y0, x1, y1 = (number / MEDGEMMA_SCALE for number in corners)
        label = _short(str(item.get("label", "")))
        groups.append(GroundedPhrase(label, ((x0, y0, x1, y1),)))
    if "box_2d" in text and not found:
        refused.append("the answer's list of boxes cannot be read")
    words = re.sub(r"\s*(?:Final Answer:)?\s*(?:```(?:json)?)?\s*$", "", text[:start])
    return ParsedText(tuple(groups), words.strip(), tuple(refused))


def _corner_error(numbers: Sequence[float], most: int, *, closed: bool) -> str:
    """Return the reason that these numbers are not the corners of a box, or ""."""
    if not closed:
        return "it breaks off"
    if len(numbers) != 4:
        return "it has no four coordinates"
    if not all(0 <= number <= most for number in numbers):
        return f"a coordinate lies outside 0 to {most}"
    x0, y0, x1, y1 = numbers
    if x1 < x0 or y1 < y0:
        return "its corners are exchanged"
    if x1 == x0 or y1 == y0:
        return "it has no width or height"
    return ""


def _refusal(written: str, why: str) -> str:
    return f'a box was not drawn because {why}: "{_short(written)}"'


def _short(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= 60 else text[:57] + "..."
