"""The plan of the made-up microscopy pack: the seed's chain as data.

Segment, crop, analyse, visualise; a caption is recommended. Comparison words win over counting
words; a count needs the segmenter alone; the analyser is never skipped after the cropper when a
full analysis is asked.
"""

from __future__ import annotations

from dataclasses import replace

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
    phrases,
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

# Words such as "count" and "change" ask for nothing here unless something countable is named.
_THINGS = phrases("""
    cell, nucleus, nuclei, organoid*, object, group, sample, condition, dish, well, image, picture,
    micrograph, phenotype, drug, zelle, zellen, zellkern*, kern, kerne, kernen, kernzahl, zellzahl,
    gruppe*, probe, proben, bild, bilder, aufnahme, spheroid*, population*, kernes, objekte, kultur,
    membrane*, zellgrenze*, zellränder*, zellumriss*
""")
_TREATMENT = phrases("""
    treatment*, treated, untreated, control*, versus, vs, behandlung*, behandelt*, unbehandelt*,
    kontroll*
""")
_DIFFERENCE = phrases("""
    compar*, difference*, differ, differs, different*, change*, affect*, vergleich*, unterschied*,
    unterscheid*, veränder*, effect of, effects of, respond*, response, look alike, look the same,
    wirkt, wirken, wirkung*, reagier*, anders, im vergleich, gegenüber, against
""")
_STATES = phrases("""
    cell state*, state of the cells, cluster*, umap*, embedding*, phenotyp*, full analysis,
    full pipeline, zellzust*, phänotyp*, subpopulation*, sub population*, subtype*, tsne, t sne,
    pca, heterogen*, cell type*, zelltyp*, geclustert, clustern, subgruppen, unterpopulation*
""")
_GROUPS = phrases("""
    analy*, state, states, morpholog*, zustand, zustände*, auswert*, population*, fall into, sort,
    sorted, sortier*, gruppier*, categor*, grouped, into groups, in gruppen, distinct groups,
    profil*, form .. groups, kinds of, types of, arten von, typen, zerfallen, einteil*, analys*
""")
_COUNT = phrases("""
    how many, count, counts, counted, counting, number, numbers, #, quantity, n, tally, enumerate,
    headcount, total, wie viele, wie viel, wieviele, wieviel, zähl*, *zahl, zahl, auszähl*, gezählt,
    durchzähl*, abzähl*
""")
_NOT_COUNTED = phrases("""
    number|many of channel*|pixel*|stain*, many channel*|pixel*|stains,
    viele kanäle*|pixel*|färbungen, zahl kanäle*|pixel*, nothing, nichts
""")
_TRACE = phrases("""
    trace*, tracing, border*, boundar*, edges, draw .. around, draw .. round, circle, delimit*,
    nachzeichn*, umfahr*, einzeichn*, abgrenz*, kontur*, einkreis*, grenzen, ränder, draw, mark,
    highlight, markier*, zeichne, detect*, perimeter*, rand, eingezeichnet*, nachgezeichnet*, drawn
""")
_SEGMENT = phrases("segment*, outline*, contour*, mask*, delineat*, umrand*, umriss*")
_CROP = phrases("""
    crop*, cut out, cut .. out, ausschneid*, auszuschneiden, ausgeschnitten, schneid* .. aus
""")
_CLEAN = phrases("""
    preprocess*, pre process*, denois*, noise, noisy, illumination, clean up, clean .. up,
    cleaned up, cleanup, background, shading, flat field, vignett*, flatfield, smooth*, despeckl*,
    speckle*, grainy, grain, uneven*, flattened out, flatten out, glow, hot spot*, halo,
    brighter .. edge*, dark corners, even .. out, even out, evened out, lighting, haze, deblur*,
    vorverarbeit*, entrausch*, rauschen, verrauscht, ausleuchtung, hintergrund*, ausgleich*,
    glätt*, beleuchtung, schattierung, bildrauschen, säuber*, bereinig*, ungleichmäßig*, körnig,
    aufbereit*, rausch*
""")
_CAPTION = phrases("""
    caption*, describe*, description*, beschreib*, bildbeschreibung*, legend, one sentence,
    a sentence, single sentence, in words, one liner, line of text, one line, einem satz,
    bildunterschrift*, bildlegende*, legende, kurzbeschreibung, sum up picture,
    summarise|summarize picture, summarise image
""")
_STRUCTURE = phrases("""
    channel*, kanal, kanäle*, farbkanal, farbkanäle*, which|what stain*, stains are|used, stain is,
    stained with, welche|welcher färbung*, färbungen, gefärbt, how .. stained,
    image|picture|file size, size of image|picture, how large|big .. image|picture|file,
    size .. image|picture, dimension*, pixels, resolution, bit depth, bildgröße,
    wie groß .. bild|aufnahme|datei, auflösung, abmessung*, pixelzahl, image|file info*, metadata,
    metadaten, bildinfo*, how wide, width and height, breite und höhe, size in pixels,
    größe in pixel*
""")

_ANY_SEGMENTER = AnyOf(SEGMENTERS)
_OUTLINED_BY = (*SEGMENTERS, THRESHOLD)
COUNTING = "counting"
FULL = "full analysis"
_COUNTABLE = ("things",)
_DEEP = (FULL, "analysis of something", "comparison", "comparison of something")
"""Kinds of question for which cells are cropped and analysed."""


def _deep(name: str, words: tuple[str, ...], with_kinds: tuple[str, ...] = ()) -> QuestionKind:
    """Return a kind of question for which cells are cropped and analysed."""
    tools = (_ANY_SEGMENTER, CROPPER, ANALYZER, VISUALIZER)
    return QuestionKind(name, words, with_kinds, beats=(COUNTING,), tools=tools)


_KINDS = (
    QuestionKind("things", _THINGS),
    _deep("comparison", _TREATMENT),
    _deep("comparison of something", _DIFFERENCE, _COUNTABLE),
    _deep(FULL, _STATES),
    _deep("analysis of something", _GROUPS, _COUNTABLE),
    QuestionKind(
        COUNTING, _COUNT, _COUNTABLE, tools=(_ANY_SEGMENTER,), unless=_NOT_COUNTED, certain=True
    ),
    QuestionKind("tracing", _TRACE, _COUNTABLE, tools=(_ANY_SEGMENTER,)),
    QuestionKind("segmentation", (*_SEGMENT, "*segmentierung"), tools=(_ANY_SEGMENTER,)),
    QuestionKind("cropping", _CROP, tools=(_ANY_SEGMENTER, CROPPER)),
    QuestionKind("preprocessing", _CLEAN, tools=(PREPROCESSOR,)),
    QuestionKind("caption", _CAPTION, tools=(CAPTIONER,)),
    # "Every nucleus in the DAPI channel" asks for the nuclei.
    QuestionKind(
        "structure",
        _STRUCTURE,
        unless=("in|of|from|im|aus dapi|gfp|blue|green|red|first channel|kanal", "heart", "chest"),
        tools=(INFO,),
    ),
)

_MICROGRAPH = Accepts(modalities=("SM", "GM", "XC"), what="a micrograph (a picture, SM, GM)")
_CLEANED = Feed("image_path", (PREPROCESSOR,), "image_path")


def _segmenter(
    tool: str, why: str, words: str, left_out: str, priority: Priority = Priority.NORMAL
) -> ToolRule:
    """Return the rule of a segmenter: words for what it outlines, and words that leave it out."""
    return ToolRule(
        tool,
        why,
        phrases(words),
        (*_SEGMENT, *phrases(left_out)),
        priority,
        feeds=(_CLEANED,),
        empty=("count",),
        discovery=None if tool == THRESHOLD else Discovery(INFO, "channels", "channel"),
    )


_TOOLS = (
    ToolRule(
        PREPROCESSOR,
        why="evens out the background and the noise",
        leave_out=phrases("preprocess*, denois*, clean*, vorverarbeit*, entrausch*, background"),
        makes="image_path",
    ),
    _segmenter(
        CELLS,
        "outlines each cell",
        "cell, zelle, zellen, zellzahl, zellgrenze*, zellränder*, zellzust*, zellsegmentierung",
        "cell, cells, zellen",
        Priority.HIGH,
    ),
    _segmenter(
        NUCLEI,
        "outlines each nucleus",
        "nucleus, nuclei, nuclear, zellkern*, kern, kerne, kernen",
        "nucleus, nuclei, zellkern*, kerne",
    ),
    _segmenter(ORGANOIDS, "outlines each organoid", "organoid*", "organoid*"),
    _segmenter(THRESHOLD, "outlines what is bright", "", "", Priority.LOW),
    ToolRule(
        CROPPER,
        why="cuts out each cell",
        leave_out=phrases("crop*, cut*, ausschneid*, auszuschneiden"),
        requires=(AnyOf(_OUTLINED_BY),),
        feeds=(_CLEANED, Feed("mask_path", _OUTLINED_BY, "mask_path")),
        empty=("crops",),
    ),
    ToolRule(
        ANALYZER,
        why="finds the states of the cells",
        leave_out=phrases("analy*, cluster*, umap, compar*, vergleich*, auswert*, phenotyp*"),
        requires=(AllOf((CROPPER,)),),
        feeds=(Feed("crops_path", (CROPPER,), "crops_path"),),
        empty=("states",),
    ),
    ToolRule(
        VISUALIZER,
        why="draws what was found",
        leave_out=phrases("visuali*, plot*, draw*, chart*"),
        feeds=(
            Feed("data_path", (ANALYZER,), "analysis_path"),
            Feed("data_path", _OUTLINED_BY, "mask_path"),
        ),
        makes="picture_path",
    ),
    ToolRule(
        CAPTIONER,
        why="describes the picture",
        leave_out=phrases("caption*, describ*, description*, beschreib*, bildbeschreibung*"),
    ),
    ToolRule(INFO, why="lists the channels of the picture"),
    ToolRule(GENERALIST, why="guesses", priority=Priority.EXCLUDED),
)

PLAN = PackPlan(
    pack="cells",
    kinds=_KINDS,
    tools=tuple(replace(rule, accepts=_MICROGRAPH) for rule in _TOOLS),
    alternatives=(AnyOf(_OUTLINED_BY),),
    successors=(
        Successor(
            (CROPPER,),
            ANALYZER,
            _DEEP,
            reason="cropped cells say nothing of their states before they are analysed",
        ),
        Successor((ANALYZER,), VISUALIZER, reason="states are read from their picture"),
        Successor(
            (VISUALIZER,), CAPTIONER, _DEEP, mandatory=False, reason="a caption says what it shows"
        ),
    ),
)
