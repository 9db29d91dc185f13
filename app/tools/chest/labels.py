"""Names of the 18 labels that the classifier scores."""

from __future__ import annotations

import difflib
import re
from collections.abc import Sequence

from app.tools.api import ToolRetry

LABELS = (
    "Atelectasis",
    "Consolidation",
    "Infiltration",
    "Pneumothorax",
    "Edema",
    "Emphysema",
    "Fibrosis",
    "Effusion",
    "Pneumonia",
    "Pleural_Thickening",
    "Cardiomegaly",
    "Nodule",
    "Mass",
    "Hernia",
    "Lung Lesion",
    "Fracture",
    "Lung Opacity",
    "Enlarged Cardiomediastinum",
)
"""torchxrayvision's densenet121-res224-all, in the order of its outputs."""

MOST = 6
"""Labels of which maps are drawn at once: each map is as large as the image."""

_OTHER_NAMES = {
    "pleuraleffusion": "Effusion",
    "oedema": "Edema",
    "pulmonaryedema": "Edema",
    "pulmonaryoedema": "Edema",
    "lungedema": "Edema",
    "infiltrate": "Infiltration",
    "collapse": "Atelectasis",
    "enlargedheart": "Cardiomegaly",
    "heartenlargement": "Cardiomegaly",
    "opacity": "Lung Opacity",
    "lesion": "Lung Lesion",
    "hiatalhernia": "Hernia",
    "pleuralthickening": "Pleural_Thickening",
    "widemediastinum": "Enlarged Cardiomediastinum",
}


def match(asked: Sequence[str] | None) -> tuple[str, ...]:
    """The labels that are asked for, in the order asked, each once; none where none is.

    Raises:
        ToolRetry: One is not known, or they are too many; says which there are.
    """
    known = {_key(label): label for label in LABELS}
    found: list[str] = []
    for name in asked or ():
        key = _key(name)
        label = known.get(key) or _OTHER_NAMES.get(key) or known.get(key.removesuffix("s"))
        if label is None:
            near = difflib.get_close_matches(key, known, n=2, cutoff=0.7)
            hint = f" Did you mean {' or '.join(known[item] for item in near)}?" if near else ""
            raise ToolRetry(
                f"the classifier has no label {name[:60]!r}.{hint}",
                remedy=f"Its labels: {', '.join(LABELS)}.",
            )
        found.append(label)
    found = list(dict.fromkeys(found))
    if len(found) > MOST:
        raise ToolRetry(
            f"maps of at most {MOST} labels are drawn at once, not of {len(found)}",
            remedy="Name fewer labels; the scores of all 18 are given anyway.",
        )
    return tuple(found)


def _key(name: str) -> str:
    return re.sub(r"[^a-z]", "", name.lower())
