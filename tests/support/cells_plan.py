"""What the made-up microscopy pack tells the planner: the seed's chain as data.

Segment, crop, analyse, visualise; a caption is recommended. Comparison words win over counting
words; a count needs the segmenter alone; the analyser is never skipped after the cropper when a
full analysis is asked.
"""

from __future__ import annotations

from app.tools.pack_plan import (
    Accepts,
    AllOf,
    AnyOf,
    Discovery,
    Feed,
    PackPlan,
    Priority,
    QuestionKind,
    Successor,
    ToolRule,
)

PREPROCESSOR = "Image_Preprocessor_Tool"
CELLS = "Cell_Segmenter_Tool"
NUCLEI = "Nuclei_Segmenter_Tool"
ORGANOIDS = "Organoid_Segmenter_Tool"
THRESHOLD = "Threshold_Segmenter_Tool"
CROPPER = "Single_Cell_Cropper_Tool"
ANALYZER = "Cell_State_Analyzer_Tool"
VISUALIZER = "Analysis_Visualizer_Tool"
CAPTIONER = "Image_Captioner_Tool"
INFO = "Image_Info_Tool"
GENERALIST = "Generalist_Solution_Generator_Tool"

SEGMENTERS = (CELLS, NUCLEI, ORGANOIDS)
CHAIN = (CELLS, CROPPER, ANALYZER, VISUALIZER, CAPTIONER)
"""A full analysis of cells, the recommended caption included."""

COUNTING = "counting"
FULL = "full analysis"
ANALYSED = "analysis of something"
COMPARISON = "comparison"
COMPARED = "comparison of something"

DEEP = (FULL, ANALYSED, COMPARISON, COMPARED)
"""Kinds of question for which cells are cropped and analysed."""

_MICROGRAPH = Accepts(modalities=("SM", "GM", "XC"), what="a micrograph (a picture, SM, GM)")
_CLEANED = Feed("image_path", (PREPROCESSOR,), "image_path")
_LOOK = Discovery(INFO, "channels", "channel")
_DEEP = (AnyOf(SEGMENTERS), CROPPER, ANALYZER, VISUALIZER)

_SEGMENT = ("segment*", "outline*", "contour*", "mask*", "delineat*", "umrand*", "umriss*")

# Words such as "count" and "change" ask for nothing here unless something countable is named.
_THINGS = "things"


def _deep(name: str, words: tuple[str, ...], *, of_things: bool = False) -> QuestionKind:
    """A kind of question for which cells are cropped and analysed."""
    return QuestionKind(
        name,
        words=words,
        with_kinds=(_THINGS,) if of_things else (),
        beats=(COUNTING,),
        tools=_DEEP,
        expects_data=True,
    )


_KINDS = (
    QuestionKind(
        _THINGS,
        words=(
            *("cell", "nucleus", "nuclei", "organoid*", "object", "group", "sample", "condition"),
            *("dish", "well", "image", "picture", "micrograph", "phenotype", "drug", "zelle"),
            *("zellen", "zellkern*", "kern", "kerne", "kernen", "kernzahl", "zellzahl"),
            *("gruppe*", "probe", "proben", "bild", "bilder", "aufnahme"),
            *(
                "spheroid*",
                "population*",
                "kernes",
                "objekte",
                "kultur",
                "membrane*",
                "zellgrenze*",
                "zellränder*",
                "zellumriss*",
            ),
        ),
    ),
    _deep(
        COMPARISON,
        (
            *("treatment*", "treated", "untreated", "control*", "versus", "vs"),
            *("behandlung*", "behandelt*", "unbehandelt*", "kontroll*"),
        ),
    ),
    _deep(
        COMPARED,
        (
            *("compar*", "difference*", "differ", "differs", "different*", "change*", "affect*"),
            *("vergleich*", "unterschied*", "unterscheid*", "veränder*", "effect of", "effects of"),
            *(
                "respond*",
                "response",
                "look alike",
                "look the same",
                "wirkt",
                "wirken",
                "wirkung*",
                "reagier*",
            ),
            *("anders", "im vergleich", "gegenüber", "against"),
        ),
        of_things=True,
    ),
    _deep(
        FULL,
        (
            *("cell state*", "state of the cells", "cluster*", "umap*", "embedding*", "phenotyp*"),
            *("full analysis", "full pipeline", "zellzust*", "phänotyp*", "subpopulation*"),
            *("sub population*", "subtype*", "tsne", "t sne", "pca", "heterogen*", "cell type*"),
            *("zelltyp*", "geclustert", "clustern", "subgruppen", "unterpopulation*"),
        ),
    ),
    _deep(
        ANALYSED,
        (
            *("analy*", "state", "states", "morpholog*", "zustand", "zustände*", "auswert*"),
            *("population*", "fall into", "sort", "sorted", "sortier*", "gruppier*", "categor*"),
            *(
                "grouped",
                "into groups",
                "in gruppen",
                "distinct groups",
                "profil*",
                "form .. groups",
            ),
            *("kinds of", "types of", "arten von", "typen", "zerfallen", "einteil*", "analys*"),
        ),
        of_things=True,
    ),
    QuestionKind(
        COUNTING,
        words=(
            *("how many", "count", "counts", "counted", "counting", "number", "numbers", "#"),
            *("quantity", "n", "tally", "enumerate", "headcount"),
            *("total", "wie viele", "wie viel", "wieviele", "wieviel", "zähl*", "*zahl", "zahl"),
            *("auszähl*", "gezählt", "durchzähl*", "abzähl*"),
        ),
        with_kinds=(_THINGS,),
        unless=(
            *("number|many of channel*|pixel*|stain*", "many channel*|pixel*|stains"),
            *("viele kanäle*|pixel*|färbungen", "zahl kanäle*|pixel*", "nothing", "nichts"),
        ),
        tools=(AnyOf(SEGMENTERS),),
        certain=True,
        expects_data=True,
    ),
    QuestionKind(
        "tracing",
        words=(
            *(
                "trace*",
                "tracing",
                "border*",
                "boundar*",
                "edges",
                "draw .. around",
                "draw .. round",
            ),
            *("circle", "delimit*", "nachzeichn*", "umfahr*", "einzeichn*", "abgrenz*", "kontur*"),
            *("einkreis*", "grenzen", "ränder", "draw", "mark", "highlight", "markier*", "zeichne"),
            *("detect*", "perimeter*", "rand", "eingezeichnet*", "nachgezeichnet*", "drawn"),
        ),
        with_kinds=(_THINGS,),
        tools=(AnyOf(SEGMENTERS),),
        expects_data=True,
    ),
    QuestionKind(
        "segmentation",
        words=(*_SEGMENT, "*segmentierung"),
        tools=(AnyOf(SEGMENTERS),),
        expects_data=True,
    ),
    QuestionKind(
        "cropping",
        words=(
            "crop*",
            "cut out",
            "cut .. out",
            "ausschneid*",
            "auszuschneiden",
            "ausgeschnitten",
            "schneid* .. aus",
        ),
        tools=(AnyOf(SEGMENTERS), CROPPER),
        expects_data=True,
    ),
    QuestionKind(
        "preprocessing",
        words=(
            *(
                "preprocess*",
                "pre process*",
                "denois*",
                "noise",
                "noisy",
                "illumination",
                "clean up",
            ),
            *(
                "clean .. up",
                "cleaned up",
                "cleanup",
                "background",
                "shading",
                "flat field",
                "vignett*",
            ),
            *("flatfield", "smooth*", "despeckl*", "speckle*", "grainy", "grain", "uneven*"),
            *(
                "flattened out",
                "flatten out",
                "glow",
                "hot spot*",
                "halo",
                "brighter .. edge*",
                "dark corners",
            ),
            *("even .. out", "even out", "evened out", "lighting", "haze", "deblur*"),
            *(
                "vorverarbeit*",
                "entrausch*",
                "rauschen",
                "verrauscht",
                "ausleuchtung",
                "hintergrund*",
            ),
            *("ausgleich*", "glätt*", "beleuchtung", "schattierung", "bildrauschen", "säuber*"),
            *("bereinig*", "ungleichmäßig*", "körnig", "aufbereit*", "rausch*"),
        ),
        tools=(PREPROCESSOR,),
    ),
    QuestionKind(
        "caption",
        words=(
            *("caption*", "describe*", "description*", "beschreib*", "bildbeschreibung*", "legend"),
            *(
                "one sentence",
                "a sentence",
                "single sentence",
                "in words",
                "one liner",
                "line of text",
                "one line",
            ),
            *("einem satz", "bildunterschrift*", "bildlegende*", "legende", "kurzbeschreibung"),
            *("sum up picture", "summarise picture", "summarize picture", "summarise image"),
        ),
        tools=(CAPTIONER,),
    ),
    QuestionKind(
        "structure",
        words=(
            *("channel*", "kanal", "kanäle*", "farbkanal", "farbkanäle*", "which stain*"),
            *("what stain*", "stains are", "stains used", "stain is", "stained with"),
            *("welche färbung*", "färbungen", "gefärbt", "welcher färbung", "how .. stained"),
            *("image size", "picture size", "file size", "size of image", "size of picture"),
            *(
                "how large .. image",
                "how large .. picture",
                "how large .. file",
                "how big .. image",
            ),
            *("how big .. file", "how big .. picture", "size .. image", "size .. picture"),
            *("dimension*", "pixels", "resolution", "bit depth", "bildgröße", "wie groß .. bild"),
            *("wie groß .. aufnahme", "wie groß .. datei", "auflösung", "abmessung*", "pixelzahl"),
            *("image info*", "file info*", "metadata", "metadaten", "bildinfo*", "how wide"),
            *("width and height", "breite und höhe", "size in pixels", "größe in pixel*"),
        ),
        # "Every nucleus in the DAPI channel" asks for the nuclei.
        unless=("in|of|from|im|aus dapi|gfp|blue|green|red|first channel|kanal", "heart", "chest"),
        tools=(INFO,),
    ),
)

_TOOLS = (
    ToolRule(
        PREPROCESSOR,
        why="evens out the background and the noise",
        leave_out=("preprocess*", "denois*", "clean*", "vorverarbeit*", "entrausch*", "background"),
        accepts=_MICROGRAPH,
        makes="image_path",
    ),
    ToolRule(
        CELLS,
        why="outlines each cell",
        words=(
            "cell",
            "zelle",
            "zellen",
            "zellzahl",
            "zellgrenze*",
            "zellränder*",
            "zellzust*",
            "zellsegmentierung",
        ),
        leave_out=(*_SEGMENT, "cell", "cells", "zellen"),
        priority=Priority.HIGH,
        feeds=(_CLEANED,),
        accepts=_MICROGRAPH,
        empty=("count",),
        discovery=_LOOK,
    ),
    ToolRule(
        NUCLEI,
        why="outlines each nucleus",
        words=("nucleus", "nuclei", "nuclear", "zellkern*", "kern", "kerne", "kernen"),
        leave_out=(*_SEGMENT, "nucleus", "nuclei", "zellkern*", "kerne"),
        feeds=(_CLEANED,),
        accepts=_MICROGRAPH,
        empty=("count",),
        discovery=_LOOK,
    ),
    ToolRule(
        ORGANOIDS,
        why="outlines each organoid",
        words=("organoid*",),
        leave_out=(*_SEGMENT, "organoid*"),
        feeds=(_CLEANED,),
        accepts=_MICROGRAPH,
        empty=("count",),
        discovery=_LOOK,
    ),
    ToolRule(
        THRESHOLD,
        why="outlines what is bright",
        leave_out=_SEGMENT,
        priority=Priority.LOW,
        feeds=(_CLEANED,),
        accepts=_MICROGRAPH,
        empty=("count",),
    ),
    ToolRule(
        CROPPER,
        why="cuts out each cell",
        leave_out=("crop*", "cut*", "ausschneid*", "auszuschneiden"),
        requires=(AnyOf((*SEGMENTERS, THRESHOLD)),),
        feeds=(_CLEANED, Feed("mask_path", (*SEGMENTERS, THRESHOLD), "mask_path")),
        accepts=_MICROGRAPH,
        empty=("crops",),
    ),
    ToolRule(
        ANALYZER,
        why="finds the states of the cells",
        leave_out=("analy*", "cluster*", "umap", "compar*", "vergleich*", "auswert*", "phenotyp*"),
        requires=(AllOf((CROPPER,)),),
        feeds=(Feed("crops_path", (CROPPER,), "crops_path"),),
        empty=("states",),
    ),
    ToolRule(
        VISUALIZER,
        why="draws what was found",
        leave_out=("visuali*", "plot*", "draw*", "chart*"),
        feeds=(
            Feed("data_path", (ANALYZER,), "analysis_path"),
            Feed("data_path", (*SEGMENTERS, THRESHOLD), "mask_path"),
        ),
        makes="picture_path",
    ),
    ToolRule(
        CAPTIONER,
        why="describes the picture",
        leave_out=("caption*", "describ*", "description*", "beschreib*", "bildbeschreibung*"),
        accepts=_MICROGRAPH,
    ),
    ToolRule(INFO, why="lists the channels of the picture", accepts=_MICROGRAPH),
    ToolRule(GENERALIST, why="guesses", priority=Priority.EXCLUDED),
)

PLAN = PackPlan(
    pack="cells",
    kinds=_KINDS,
    tools=_TOOLS,
    alternatives=(AnyOf((*SEGMENTERS, THRESHOLD)),),
    successors=(
        Successor(
            (CROPPER,),
            ANALYZER,
            kinds=DEEP,
            reason="cropped cells say nothing of their states before they are analysed",
        ),
        Successor((ANALYZER,), VISUALIZER, reason="states are read from their picture"),
        Successor(
            (VISUALIZER,),
            CAPTIONER,
            kinds=DEEP,
            mandatory=False,
            reason="a caption says what the picture shows",
        ),
    ),
)
