"""What the published programs and ours are asked alike."""

from __future__ import annotations

from typing import Any

QUESTION = "Is the heart enlarged? Say why."
PHRASE = "small left pleural effusion."
LOCATE = "Please locate the following phrase: small left pleural effusion."
SQUARE, SMALL = (512, 512), (56, 56)
"""Sizes of MedSAM2's and the tiny MedGemma's input, at which nothing is resampled."""
BOX, POINT, OTHER = [100.0, 120.0, 300.0, 330.0], [180.0, 250.0], [440.0, 60.0]
STEADY = 40
"""Factor of the single mask's last weights that takes its values away from the threshold."""
MARKS: dict[str, dict[str, Any]] = {
    "box": {"box": BOX, "points": None, "labels": None},
    "point": {"box": None, "points": [POINT], "labels": [1]},
    "points": {"box": None, "points": [POINT, OTHER], "labels": [1, 0]},
    "box and point": {"box": BOX, "points": [POINT], "labels": [1]},
}
"""Kinds of prompts for MedSAM2; a box by its first and last pixels."""
