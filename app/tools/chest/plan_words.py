"""Words, English and German, by which chest questions are recognised.

`app.tools.pack_plan` documents their form. German nouns have a `*` on the side where they
form compounds ("*erguss", "lungen*").
"""

from __future__ import annotations

from app.tools.pack_plan import ValueWords, phrases

_PICTURES = (
    *("image", "picture", "film", "x-ray", "xray", "radiograph", "scan", "study", "cxr"),
    *("chest film", "chest x-ray", "chest xray", "chest radiograph"),
)
_BILDER = ("bild", "aufnahme", "roentgenbild", "thoraxbild", "thoraxaufnahme", "roentgenaufnahme")

EVERYTHING = phrases("""
    all available tools, all tools, every tool, full analysis, complete analysis, full work up,
    full workup, comprehensive analysis, full read, complete work up, alle werkzeuge,
    vollstaendige analyse, komplette analyse, volle analyse, kompletter befund, alle tools
""")
VISIBLE = ("what do you see", "what can you see", "was siehst du", "was sieht man")
"""Questions that a language model with image input may answer by itself."""
DESCRIBE = (
    *phrases("""
        what does .. show, what you see, was .. zu sehen, what is shown, what can be seen,
        was zeigt, was ist zu sehen
    """),
    *(f"describe {noun}" for noun in _PICTURES),
    *(f"beschreib* {noun}" for noun in _BILDER),
)
ANALYSE = (
    *(f"{verb} {noun}" for verb in ("analyse", "analyze") for noun in _PICTURES),
    *(f"analysier* {noun}" for noun in _BILDER),
)

GENERIC = (
    *("finding*", "befund", "befunde", "diagnos*", "diagnose*", "abnormal*", "patholog*"),
    *("pathologi*", "abnormality"),
)
"""All terms for findings, which a report describes."""
DISEASES = (
    *("laesion*", "rundschatten", "herd", "schatten auf", "density", "shadow on", "shadow in"),
    "disease*",
    *("classif*", "score", "scores", "scoring"),
    "score|scores|scoring|probabilities|probability|likelihoods|findings|werte for|of|fuer|von "
    "everything|all|alles",
    *phrases("""
        labels, label scores, worried about, worrying, worrisome, concerning, film clean,
        lungs clean, findings, eff, ptx, pleff, amiss, out of the ordinary, something off,
        anything off, suspicious, lesion*, illness, unremarkable, unusual, red flags, rule out,
        probabilities, probability, likelihood, screen for, screening, decompensat*, heart failure,
        cardiac failure, copd, hyperinflat*, empyema, granuloma*, cardiopulmonary, pna, chf, ild,
        ggo, tb, abscess*, fx, embol*, bronchiect*, bronchitis, pneumonitis, sarcoid*, cyst*,
        cavit*, calcif*, inflammation, aneurysm*, pneumomediastin*, pneumoperiton*, bulla, bullae,
        scar, scars, scarring, interstitial, ground glass, airspace, haziness, hazy, blunt*,
        costophrenic, free air, air leak, air under, lytic, malignan*, carcinoma*, pleural plaque*,
        broken, fissure
    """),
    *(f"read {noun}" for noun in _PICTURES),
    *(f"assess {noun}" for noun in _PICTURES),
    *(f"evaluate {noun}" for noun in _PICTURES),
    *(f"interpret {noun}" for noun in _PICTURES),
    *(f"{lead} {noun}" for lead in ("make of", "think of", "opinion on") for noun in _PICTURES),
    *phrases("""
        pneumonia*, effusion*, pneumothora*, ptx, hydrothorax, haemothorax, hemothorax, atelecta*,
        consolidat*, infiltrat*, oedema*, edema*, emphysema*, fibros*, fibrotic, nodul*, mass,
        masses, hernia*, fractur*, opacit*, opacification*, pleural thickening, lung thickening,
        lung lesion, pleural lesion, collapse*, infection, infected, congestion, congested, tumor*,
        tumour*, cancer*, metasta*, broken rib*, broken bone*, broken collarbone*, broken clavicle*,
        fluid, shadowing, enlarged cardiomediastinum, tuberculosis, covid
    """),
    # German
    *phrases("""
        krank*, *erkrankung*, auffaellig*, unauffaellig, klassifi*, gesund, pneumoni*,
        *lungenentzuendung*, *erguss*, *erguesse*, pneu, atelektas*, konsolidi*, konsolidation*,
        *infiltrat*, *oedem*, emphysem*, *fibrose*, *knoten, rundherd*, *herde, raumforderung*,
        *hernie*, *fraktur*, *pneumothora*, *metastase*, *bruch, *brueche, verschattung*,
        verdichtung*, pleuraverdickung*, pleuraschwiele*, *kollaps*, stauung*, *tumore, *krebs,
        lungenstauung, kollabiert*, gebrochen*, fluessigkeit, lungenkollaps, was faellt auf,
        faellt .. auf, normalbefund, herzinsuffizienz, dekompens*, tuberkulose, ueberblaeht,
        ueberblaehung, narbe, narben, vernarbung*, transparenzminderung*, rippenbrueche, karzinom*,
        metastase*, boesartig*, wahrscheinlichkeit*, befunde diese*, ausgeschlossen, ausschliessen,
        abszess*, embolie, zyste*, verkalk*, infekt*, entzuendung*, wasser
    """),
)

EXAMINE = ("analyse", "analyze", "analysis", "analysier*")
"""Words that request a disease, of the heart as well; without them the heart itself is meant."""

STATES = (
    *("wrong", "sick", "ill", "normal", "healthy", "condition", "conditions", "problem"),
    *("problems", "clear", "krank", "gesund", "frei", "unauffaellig"),
)
SUBJECT = phrases("""
    chest, thorax, cxr, x-ray, xray, radiograph*, lobe, lobes, field, fields, upper, lower, middle,
    pleural, pulmonary, cardiac, aufnahme, roentgen*, thorax*, lungenlappen, oberlappen,
    unterlappen, mittellappen, side, bone*
""")
"""Words of the field that request nothing by themselves."""
WIDE_MEDIASTINUM = phrases("""
    mediastin* .. wide, mediastin* .. broad, mediastin* .. breit, mediastin* .. widen*,
    widen* .. mediastin*, wide mediastinum, broad mediastinum, mediastin* .. verbreiter*,
    verbreiter* .. mediastin*, mediastinalverbreiterung*
""")

WHERE = phrases("""
    where, locate, located, location*, locali*, position of, situated, whereabouts, which side,
    which lung, which lobe, wo, lokalisi*, lokalisation*, lage, welche seite, auf welcher seite
""")

OUTLINE = phrases("""
    segment*, mask, masks, masking, outlin*, contour*, delineat*, area, areas, segment everything,
    outline everything, contour everything, delineate everything, mask everything,
    segment out everything, trace, tracing, border, borders, boundary, boundaries, edges,
    silhouette, extract, isolate, circle, paint, smaller, asymmetr*, segmentation, roi, annotat*,
    pixelwise, raender, grenzen, begrenz*, kleiner, nachzeichn*, freistellen, silhouette,
    zeichne .. ein, zeichne .. nach, ausschneid*, segmentier*, *segmentierung*, umriss*, umrande*,
    umrand*, kontur*, maske, masken, flaeche, flaechen, einzeichn*, abgrenz*, umfahr*,
    segmentiere alles, alles segmentieren, anatomy, anatomie, organs, organ, organe
""")

_LUNG = (
    *("lung", "lungs", "lung field*", "lunge", "lungen", "lungenfluegel*", "lungenfeld*"),
    *("lungensegment*", "lungenmaske*", "lungenumriss*", "lungenkontur*", "lungenflaeche*"),
)
_CLAVICLE = ("clavicle", "clavicles", "collarbone*", "collar bone*", "*schluesselbein*")
_CLAVICLE_LATIN = ("clavicula*", "claviculae", "klavikula*")
_SCAPULA = ("scapula", "scapulas", "scapulae", "shoulder blade*", "*schulterbl*", "skapula*")
_HILUM = ("hilum", "hilus", "hila", "hili", "hilar", "hilar region*", "hilen")
_HEART = phrases("""
    heart, cardiac, cardiac silhouette, heart shadow, heart silhouette, cardiac shadow,
    cardiomediastinum, hart, herz, hertz, herzens, herzschatten, herzsilhouette, herzkontur*,
    herzumriss*, herzsegment*, herzmaske*, herzflaeche
""")
_SINGLE = (
    ("Heart", _HEART),
    ("Aorta", ("aorta", "aortic arch", "aortic knob", "aortenbogen", "aortensegment*")),
    ("Facies Diaphragmatica", ("diaphragm*", "hemidiaphragm*", "zwerchfell*")),
    ("Mediastinum", ("mediastin*",)),
    ("Weasand", ("oesophagus", "esophagus", "gullet", "speiseroehre", "oesophag*")),
    ("Spine", ("spine", "spinal column", "vertebral column", "wirbelsaeule*", "vertebrae")),
)

STRUCTURES = (
    ValueWords("organs", "{side} Lung", _LUNG, sided=True),
    ValueWords("organs", "{side} Clavicle", (*_CLAVICLE, *_CLAVICLE_LATIN), sided=True),
    ValueWords("organs", "{side} Scapula", _SCAPULA, sided=True),
    ValueWords("organs", "{side} Hilus Pulmonis", _HILUM, sided=True),
    *(ValueWords("organs", name, words) for name, words in _SINGLE),
)
"""User terms for the structures that the segmentation can outline."""

ANATOMY = tuple(word for item in STRUCTURES for word in item.words)

SHOWN = tuple(
    f"{verb} .. {name}"
    for verb in phrases("""
        show, mark, where, wo, locate, highlight, find, draw, label, identify, color, colour, zeig*,
        markier*, zeichne, finde, hebe, faerbe
    """)
    for name in ANATOMY
    if " " not in name
)
"""Words for showing a structure: they request its outline, whatever else the clause contains."""

_HEART_WORDS = (
    *("heart", "cardiac", "cardiac silhouette", "heart shadow", "cardiac shadow", "herz"),
    *("heart silhouette", "herzens", "herzschatten", "herzsilhouette", "hertz", "hart"),
)
_BIG = phrases("""
    enlarg*, big, bigger, large, larger, wide, wider, widened, broad, dilated, size, sized, width,
    too big, oversized, normal, normally, ok, huge, borderline, diameter, massive, hypertroph*,
    expanded, vergroesser*, gross, groesse, breit, breite, verbreitert, zu gross, normal,
    normalgross, dilatiert, weit, durchmesser, riesig, verdickt
""")
_MEASURES = ("herzgroesse*", "heart size", "cardiac size", "ctr", "ratio", "htq", "quotient*")
HEART_SIZE = (
    *(f"{measure} .. normal*" for measure in _MEASURES),
    *(f"normal* .. {measure}" for measure in _MEASURES),
    *phrases("""
        vermiss .. herz, vermesse .. herz, miss .. herz, measure .. heart, cardiomegal*, ctr,
        cardiothoracic, cardio thoracic, cardiothoracic ratio, cardiothoracic index,
        cardio thoracic ratio, cardio thoracic index, heart size, ratio of heart, measure heart,
        cardiac size, heart to chest, heart to thorax
    """),
    *(f"{heart} .. {big}" for heart in _HEART_WORDS for big in _BIG),
    *(f"{big} .. {heart}" for heart in _HEART_WORDS for big in _BIG if big not in ("ok",)),
    *phrases("""
        heart .. thorax, thorax .. heart, herz .. thorax, herz .. brustkorb, heart lung ratio,
        heart to lung ratio, heart chest ratio, heart thorax ratio, heart .. ratio, ratio .. heart,
        ratio, ratios, quotient*, herz .. *messen, herz .. quotient*, herz .. ratio, htq, ctq,
        herzgroesse*, herzbreite, kardiomegali*, herzvergroesserung, herz messen, herz vermessen,
        miss herz, herzthoraxquotient*, herz|hertz|hertzt thorax quotient*, herz thorax index,
        herzthorax*, herz .. verhaeltnis*, herz thorax verhaeltnis*, herz lungen quotient*,
        thoraxquotient*, kardiothorakal*, grossherz, herzverbreiterung, cor .. vergroessert
    """),
)

HEART_JUDGED = (
    *("cardiomegal*", "kardiomegali*", "cardiothoracic ratio .. normal|elevated|increased"),
    *(
        pair
        for heart in ("heart", "heart size", "cardiac silhouette", "cardiac size", "herz")
        for big in phrases("enlarg*, big, large, dilated, normal, huge, vergroesser*, gross")
        for pair in (f"{heart} .. {big}", f"{big} .. {heart}")
    ),
)
"""Words of statements on whether the heart is enlarged."""
HEART_MEASURED = ("cardiothoracic", "ctr", "heart width", "thorax width", "thoracic width")

OVERLAY = (
    *(f"{verb} {noun}" for verb in ("show", "display", "visualise", "visualize", "view", "see")
      for noun in ("overlay", "overlays", "segmentation", "segmented image", "masks", "mask image",
                   "segmentation overlay", "segmentation mask", "segmentation masks")),
    *(f"{verb} {noun}" for verb in ("zeig*", "anzeigen") for noun in
      ("overlay", "segmentierung", "maske", "masken", "segmentierungsmaske")),
    *("overlay anzeigen", "overlay zeigen", "overlay"),
)  # fmt: skip

PHRASES = phrases("""
    my heart, my lungs, mein herz, meine lunge, lung window*, bone window*, lungenfenster,
    knochenfenster, cardiac arrest, cardiac surg*, lung transplant*, everything ok, everything okay,
    everything alright, alles ok, alles klar, alles gut, i am sick, sick of, i am ill, broken heart,
    heart .. broken, heart rate, heart beat, heartbeat, heart attack, heart sound*, heart murmur*,
    heart transplant*, herzfrequenz, herzinfarkt, herzschlag, mass effect of, lung function,
    lung volume test, lungenfunktion*, normal saline, bone scan, critical mass, body mass,
    muscle mass, analysis of variance, blood analysis, report bug, bug report, where do i,
    where can i, how do i, how can i, what can you do
""")

ELSEWHERE = phrases("""
    liver, spleen, kidney*, brain, stomach, bowel*, bladder, pancreas, prostate, uterus, thyroid,
    knee*, hip, hips, wrist*, ankle*, femur, tibia, skull, tooth, teeth, breast*, pelvis,
    gallbladder, appendix, leber, milz, niere*, gehirn, magen, darm, blase, knie*, huefte*, skin,
    rash*, haut, handgelenk*, oberschenkel*, schaedel*, zahn*, becken, schilddruese*,
    bauchspeicheldruese, gallenblase, brust, mamma, elbow*, ellenbogen, finger*, toe, toes, cell,
    cells, nuclei, nucleus, zelle*, zellkern*, organoid*, abdomen, sinuses, femoral, fibula,
    patella, meniscus, sacrum, acetabul*, coccyx, jaw, mandible, maxilla, eye, eyes, nose, neck,
    foot, feet, heel, thumb, forearm, ulna, metacarp*, metatars*, tarsal, ovar*, testi*, cervix,
    colon, rectum, fuss, hals, kiefer*, auge, nase, wade, unterschenkel*, unterarm*, hueftgelenk*,
    kniegelenk*, schenkelhals*, meniskus, kreuzbein, eierstock*, adrenal*, nebenniere*, dickdarm,
    nasal, orbit*, nasennebenhoehle*, paranasal, maxillary
""")
"""Parts of the body for which the pack has no tool."""
BEYOND_TUBES = tuple(
    word
    for word in ELSEWHERE
    if word not in ("stomach", "magen", "abdomen", "brust", "bowel*", "darm", "skin", "haut")
)
"""The same parts where the question is about a tube, which may end in the stomach."""
NOT_OUTLINED = phrases("""
    rib, ribs, trachea, bronch*, vessel*, sternum, pacemaker*, tube, tubes, catheter*, line,
    humerus, carina, pulmonary arter*, vein*, lymph node*, rippe*, luftroehre, gefaess*, brustbein,
    schrittmacher*, katheter*, lymphknoten, muscle*, muskel*, skin, haut, coronary, arteries
""")
"""Structures of the chest that the segmentation cannot outline."""

LABELS = tuple(
    ValueWords("labels", label, words)
    for label, words in (
        ("Atelectasis", ("atelecta*", "atelektas*", "collapse*", "*kollaps*", "collapsed")),
        ("Consolidation", ("consolidat*", "konsolidi*", "konsolidation*")),
        ("Infiltration", ("infiltrat*", "*infiltrat*")),
        ("Pneumothorax", ("pneumothora*", "ptx", "pneu", "*pneumothora*")),
        ("Edema", ("edema*", "oedema*", "*oedem*", "congestion", "lungenstauung")),
        ("Emphysema", ("emphysem*",)),
        ("Fibrosis", ("fibros*", "fibrotic", "*fibrose*")),
        ("Effusion", ("effusion*", "eff", "*erguss*", "*erguesse*", "hydrothorax")),
        ("Pneumonia", ("pneumoni*", "pna", "*lungenentzuendung*")),
        ("Pleural_Thickening", ("pleural thickening", "pleuraverdickung*", "pleuraschwiele*")),
        ("Cardiomegaly", ("cardiomegal*", "kardiomegali*")),
        ("Nodule", ("nodul*", "*knoten", "rundherd*")),
        ("Mass", ("mass", "masses", "raumforderung*")),
        ("Hernia", ("hernia*", "*hernie*")),
        ("Lung Lesion", ("lung lesion*",)),
        ("Fracture", ("fractur*", "*fraktur*", "broken rib*", "*bruch", "*brueche")),
        ("Lung Opacity", ("opacit*", "opacification*", "verschattung*")),
        ("Enlarged Cardiomediastinum", ("enlarged cardiomediastinum",)),
    )
)
"""User terms for each label of the classifier."""

FINDINGS = (
    *(word for item in LABELS for word in item.words if " " not in word),
    *("lesion*", "fluid", "shadow*", "tumor*", "tumour*", "granuloma*", "cavit*", "metasta*"),
    *("abnormal*", "infection", "haziness", "density", "calcif*", "herd", "herde", "*metastase*"),
    *("verdichtung*", "laesion*", "rundschatten", "verkalk*", "fluessigkeit", "stauung"),
)
"""All terms for findings, scored by the classifier or not."""

NORMAL = phrases("""
    lung|lungs .. clear|normal, clear|normal .. lung|lungs, unremarkable, healthy, no .. abnormal*,
    normal .. film|radiograph|xray|study|chest, film|radiograph|xray|study|chest .. normal
""")
"""Words of statements that nothing is found."""
BEYOND_LABELS = phrases("""
    carcinoma*, cancer*, malignan*, tumor*, tumour*, metasta*, tuberculosis, granuloma*, cavit*,
    calcif*, abscess*, empyema, sarcoid*, aneurysm*, bronchiect*, embol*, copd, covid, infection,
    heart failure, cardiac failure, lesion*, hyperinflat*, karzinom*, *krebs, furosemide, diuretic*,
    antibiotic*, biopsy, surgery, chemotherapy, treat*, therapy, prescrib*
""")
"""Further findings, and treatments, of which only a result that names them says anything."""

TARGETS = (
    *((item.value, item.words) for item in LABELS),
    ("Cardiomegaly", ("enlarged heart",)),
    ("Enlarged Cardiomediastinum", ("widen* mediastinum", "mediastin* .. widen*")),
    (
        "lesion",
        phrases("""
            tumor*, tumour*, lesion*, mass, masses, nodul*, cancer*, metasta*, cavit*, fractur*,
            infiltrat*, opacit*, effusion*, consolidat*, pneumothora*
        """),
    ),
    (
        "size",
        phrases("""
            size, how many|much|big|large|long|wide, measure*, count, number of, largest, smallest,
            diameter, segment*, outline*, contour*, delineate*, box, boxes
        """),
    ),
    (
        "part",
        phrases("""
            left, right, upper, lower, middle, lobe, lobar, bilateral*, unilateral*, apical, apex,
            apices, basal, bases
        """),
    ),
    ("volume", ("volume", "capacity")),
)
"""What the wordings of results distinguish: the classifier's labels, and what no tool finds."""
