"""How answers without a language model word the results of the microscopy pack's tools."""

from __future__ import annotations

from app.tools.microscopy.analysis_visualizer import comparison_lines
from app.tools.microscopy.names import (
    ANALYZER,
    CAPTIONER,
    CELLS,
    CROPPER,
    INFO,
    NUCLEI,
    ORGANOIDS,
    PREPROCESSOR,
    VISUALIZER,
)
from app.tools.result_wording import Data, ResultWording, Sentence, cited


def _compared(data: Data, targets: frozenset[str]) -> list[list[Sentence]]:
    del targets
    lines = comparison_lines(data.get("clusters") or (), data.get("features") or (), data["unit"])
    return [cited([line]) for line in [*lines, str(data["statistics_note"])] if line]


_TITLES = {
    PREPROCESSOR: "Prepared image",
    CELLS: "Cells",
    NUCLEI: "Nuclei",
    ORGANOIDS: "Organoids",
    CROPPER: "Cut-out cells",
    ANALYZER: "Cell states",
    VISUALIZER: "Cell analysis",
    CAPTIONER: "Caption",
    INFO: "Image file",
}


def wordings(comparisons: tuple[str, ...]) -> tuple[ResultWording, ...]:
    """Return the wordings; `comparisons` are the kinds of question that compare groups."""
    titled = {name: title for name, title in _TITLES.items() if name != VISUALIZER}
    return (
        *(ResultWording(name, title) for name, title in titled.items()),
        *(
            ResultWording(
                VISUALIZER,
                _TITLES[VISUALIZER],
                kind=kind,
                subject="how the groups differ",
                answer=_compared,
            )
            for kind in comparisons
        ),
    )
