"""The microscopy pack's plan: the chain of tools of document 002 of the seeds, as data.

    [preprocess] -> segment -> crop -> analyse -> visualise -> caption

Three kinds of question go three depths. A count needs a segmenter alone, since the count is in its
result. Measures of form need a segmenter and a plot. States and comparisons need the whole chain:
after the cropper comes the analyser, and after that the visualiser, whatever a model chooses; a
caption is recommended. Comparison wins over counting, and counting over states; what fits none of
them is for the language model.
"""

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
    SEGMENTERS,
    VISUALIZER,
)
from app.tools.pack_plan import (
    Accepts,
    AnyOf,
    Discovery,
    Feed,
    PackPlan,
    Priority,
    QuestionKind,
    Successor,
    ToolRule,
    ValueWords,
    pack_prompt,
    phrases,
    word_lists,
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
        ResultWording(
            VISUALIZER,
            _TITLES[VISUALIZER],
            kinds=frozenset(comparisons),
            subject=lambda _: "how the groups differ",
            answer=_compared,
        ),
    )


_WORDS = {section: phrases(words) for section, words in word_lists("microscopy").items()}

COUNTING = "counting"
MORPHOLOGY = "cell morphology"
FULL = "cell states"
STATES_OF = "states of something"
COMPARISON = "comparison of groups"
COMPARISON_OF = "comparison of something"
BARE_COMPARISON = "comparison in micrographs"
DEEP = (FULL, STATES_OF, COMPARISON, COMPARISON_OF, BARE_COMPARISON)
"""Kinds of question for which cells are cropped and analysed."""

_ANY_SEGMENTER = AnyOf(SEGMENTERS)
_CHAIN = (_ANY_SEGMENTER, CROPPER, ANALYZER, VISUALIZER)
_COUNTABLE = ("things",)

_MICROGRAPH = Accepts(
    kinds=("picture", "tiff", "dicom"),
    modalities=("SM", "GM", "XC"),
    what="a micrograph (a picture, TIFF, SM, GM)",
)
_SURELY_MICROGRAPH = Accepts(kinds=("tiff",), modalities=("SM", "GM"))
"""Images for which words that other packs use as well are taken to be about cells."""

_KINDS = (
    QuestionKind("things", _WORDS["THINGS"]),
    QuestionKind("cell objects", _WORDS["OBJECTS"]),
    QuestionKind("compared things", (*_WORDS["OBJECTS"], *_WORDS["COMPARED"])),
    QuestionKind(
        COMPARISON,
        _WORDS["TREATMENT"],
        beats=(COUNTING, MORPHOLOGY),
        tools=_CHAIN,
        unless=_WORDS["NO_TREATMENT"],
        over_groups=True,
    ),
    QuestionKind(
        COMPARISON_OF,
        _WORDS["DIFFERENCE"],
        ("compared things",),
        beats=(COUNTING, MORPHOLOGY),
        tools=_CHAIN,
        over_groups=True,
    ),
    QuestionKind(
        BARE_COMPARISON,
        (*_WORDS["DIFFERENCE"], *_WORDS["BARE_GROUPS"]),
        beats=(COUNTING, MORPHOLOGY),
        tools=_CHAIN,
        over_groups=True,
        only_for=_SURELY_MICROGRAPH,
    ),
    QuestionKind(FULL, _WORDS["STATES"], beats=(MORPHOLOGY,), tools=_CHAIN),
    QuestionKind(STATES_OF, _WORDS["GROUPS"], _COUNTABLE, beats=(MORPHOLOGY,), tools=_CHAIN),
    QuestionKind(
        COUNTING,
        _WORDS["COUNT"],
        _COUNTABLE,
        beats=(FULL, STATES_OF),
        tools=(_ANY_SEGMENTER,),
        unless=_WORDS["NOT_COUNTED"],
        certain=True,
    ),
    QuestionKind(
        MORPHOLOGY, _WORDS["MORPHOLOGY"], _COUNTABLE, tools=(_ANY_SEGMENTER, VISUALIZER)
    ),
    QuestionKind("tracing", _WORDS["TRACE"], ("cell objects",), tools=(_ANY_SEGMENTER,)),
    QuestionKind(
        "cell segmentation", (*_WORDS["SEGMENT"], "*segmentierung"), ("cell objects",),
        tools=(_ANY_SEGMENTER,),
    ),
    QuestionKind(
        "segmentation of micrographs",
        (*_WORDS["SEGMENT"], "*segmentierung"),
        tools=(_ANY_SEGMENTER,),
        only_for=_SURELY_MICROGRAPH,
    ),
    QuestionKind("cropping", _WORDS["CROP"], tools=(_ANY_SEGMENTER, CROPPER)),
    QuestionKind("preprocessing", _WORDS["CLEAN"], tools=(PREPROCESSOR,)),
    QuestionKind("caption", _WORDS["CAPTION"], tools=(CAPTIONER,)),
    QuestionKind(
        "look at a micrograph",
        _WORDS["LOOK"],
        unless=phrases(
            "what|whats|was .. magnification|channel*|pixel*|resolution|depth|size|dimension*|"
            "objective|vergrößerung|kanäle|auflösung|pixelgröße"
        ),
        tools=(CAPTIONER,),
        only_for=_SURELY_MICROGRAPH,
    ),
    # "Every nucleus in the DAPI channel" asks for the nuclei.
    QuestionKind(
        "structure",
        _WORDS["STRUCTURE"],
        unless=("in|of|from|im|aus dapi|gfp|blue|green|red|first channel|kanal", "heart", "chest"),
        tools=(INFO,),
    ),
)  # fmt: skip

_CLEANED = Feed("image_path", (PREPROCESSOR,), "image_path")
_CLEANED_FOR_CROPS = Feed("image_paths", (PREPROCESSOR,), "image_path")


_DYES = "DAPI Hoechst GFP YFP RFP mCherry FITC TRITC Cy3 Cy5".split()  # noqa: SIM905
_PLACES = {"1": "first|1st|ersten|erster", "2": "second|2nd|zweiten", "3": "third|3rd|dritten"}
_COLOURS = {"red": "red|roten|rote", "green": "green|grünen|grüne", "blue": "blue|blauen|blaue"}
_CHANNELS = tuple(
    ValueWords("channel", name, phrases(f"{words} channel|kanal, channel|kanal {name.lower()}"))
    for name, words in {**{dye: dye.lower() for dye in _DYES}, **_COLOURS, **_PLACES}.items()
)
"""Channels that a question may name. Others are taken as they are shown, which the answer says."""


_DEPTHS = (
    ValueWords("depth", "maximum", _WORDS["PROJECTION"]),
    ValueWords("depth", "all", _WORDS["ALL_DEPTHS"]),
)
_NAMED_CELLS = tuple(word for word in _WORDS["CELLS"] if not word.startswith("obje"))


def _segmenter(
    tool: str,
    why: str,
    words: str,
    left_out: str,
    priority: Priority = Priority.NORMAL,
    values: tuple[ValueWords, ...] = (),
    usual: tuple[tuple[str, tuple[str, ...]], ...] = (),
) -> ToolRule:
    """Return the rule of a segmenter: words for what it outlines, and words that leave it out."""
    return ToolRule(
        tool,
        why,
        _WORDS[words],
        (*_WORDS["SEGMENT"], *phrases(left_out)),
        priority,
        accepts=_MICROGRAPH,
        feeds=(_CLEANED,),
        empty=("count",),
        discovery=Discovery(INFO, "channels", "channel"),
        values=(*_CHANNELS, *_DEPTHS, *values),
        usual=usual,
    )


_TOOLS = (
    ToolRule(
        PREPROCESSOR,
        why="evens out the background and the noise",
        leave_out=phrases("preprocess*, denois*, clean*, vorverarbeit*, entrausch*, background"),
        accepts=_MICROGRAPH,
        makes="image_path",
    ),
    _segmenter(
        CELLS,
        "outlines each cell",
        "CELLS",
        "cell, cells, zellen",
        Priority.HIGH,
        # Where the question names nothing, the picture decides what is outlined.
        values=(ValueWords("objects", "cells", _NAMED_CELLS),),
        usual=(("objects", ("auto",)),),
    ),
    _segmenter(
        NUCLEI, "outlines each nucleus", "NUCLEI", "nucleus, nuclei, zellkern*, kerne"
    ),
    _segmenter(ORGANOIDS, "outlines each organoid", "ORGANOIDS", "organoid*"),
    ToolRule(
        CROPPER,
        why="cuts out each cell",
        leave_out=phrases("crop*, cut*, ausschneid*, auszuschneiden"),
        accepts=_MICROGRAPH,
        requires=(_ANY_SEGMENTER,),
        feeds=(_CLEANED_FOR_CROPS, Feed("mask_paths", SEGMENTERS, "mask_path")),
        empty=("count",),
    ),
    ToolRule(
        ANALYZER,
        why="finds the states of the cells",
        leave_out=phrases("analy*, cluster*, umap, compar*, vergleich*, auswert*, phenotyp*"),
        accepts=_MICROGRAPH,
        requires=(AnyOf((CROPPER,)),),
        feeds=(Feed("crops_paths", (CROPPER,), "crops_path"),),
        empty=("clusters",),
    ),
    ToolRule(
        VISUALIZER,
        why="draws what was found",
        leave_out=phrases("visuali*, plot*, draw*, chart*"),
        accepts=_MICROGRAPH,
        feeds=(
            Feed("table_paths", (ANALYZER,), "table_path"),
            Feed("table_paths", SEGMENTERS, "table_path"),
        ),
    ),
    ToolRule(
        CAPTIONER,
        why="describes the picture",
        leave_out=phrases("caption*, describ*, description*, beschreib*, bildbeschreibung*"),
        feeds=(
            Feed("table_paths", (ANALYZER,), "table_path"),
            Feed("table_paths", SEGMENTERS, "table_path"),
        ),
        accepts=_MICROGRAPH,
    ),
    ToolRule(INFO, why="lists the channels of the picture", accepts=_MICROGRAPH),
)  # fmt: skip

PLAN = PackPlan(
    pack="microscopy",
    title="Microscopy",
    icon="shapes",
    prompt=pack_prompt("microscopy"),
    kinds=_KINDS,
    tools=_TOOLS,
    alternatives=(_ANY_SEGMENTER,),
    successors=(
        Successor(
            (CROPPER,),
            ANALYZER,
            DEEP,
            reason="cropped cells say nothing of their states before they are analysed",
        ),
        Successor((ANALYZER,), VISUALIZER, reason="states are read from their picture"),
        Successor(
            (VISUALIZER,),
            CAPTIONER,
            DEEP,
            mandatory=False,
            before_others=True,
            reason="a caption says what it shows",
        ),
    ),
    wordings=wordings((COMPARISON, COMPARISON_OF, BARE_COMPARISON)),
    suggestions=("How many cells are there?", "Which cell states are there?"),
    suggested_for=_SURELY_MICROGRAPH,
    own_images=_SURELY_MICROGRAPH,
)
