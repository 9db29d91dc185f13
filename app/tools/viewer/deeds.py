"""The deeds of the viewer that an answer may claim, in English and German, with their calls.

An answer that claims one of them in a conversation without such a call is marked.
"""

from __future__ import annotations

from app.tools.pack_plan import Deed
from app.tools.viewer import tools as named

_DRAWN = (
    r"(?:mark|(?<!side )marker|annotation|box|arrow|ellipse|circle|rectangle|measurement|mask"
    r"|overlay|outline|contour|heat ?map|segmentation)(?:s|es)?"
    r"|markierung(?:en)?|maske\w*|pfeile?|kästen|kasten|kreise?|ellipsen?|rechtecke?|rahmen|umrisse?"
    r"|konturen?|messung(?:en)?|heatmaps?|überlagerung(?:en)?|segmentierung(?:en)?"
)
_LESIONS = (
    r"(?:finding|nodule|lesion|mass|masse|opacity|opacitie|effusion|consolidation|infiltrate"
    r"|fracture|pneumothorax|atelectasis|tumou?r|measurement)s?"
    r"|(?:rund)?herde?s?|läsion(?:en)?|befunde?n?|ergüsse|erguss|infiltrate?|raumforderung(?:en)?"
    rf"|frakturen?|pneumothorax|tumore?n?|{_DRAWN}"
)
_FINDINGS = rf"(?:heart|lung|thorax)s?|herz|lungen?|{_LESIONS}"
_IT = r"^(?:\w+ )?(?:it|them|both|all of them|everything)|beide|ihn"
"""What is done to a pronoun: it must follow an English verb ("I accepted the value as it is")."""
_IMAGE = (
    r"(?:image|picture|film|view|radiograph|x-?ray|scan|display|viewport|grey values|gray values"
    r"|colou?rs)s?|(?:bild|aufnahme|ansicht|darstellung|graustufe|grauwerte|röntgenbild)\w*"
)
_WINDOW = (
    r"(?<!time )(?<!second )(?<!new )window(?:ing|s)?|window (?:level|width)|window/level"
    r"|contrast(?! (?:medium|agent|media))|brightness|preset"
    r"|(?:lungen|knochen|weichteil|weichgewebe?s?|mediastinal|hirn|leber|abdomen|gehirn|standard"
    r"|ct)?-?fenster\w*|fensterung|fenstereinstellung|kontrast(?!mittel)\w*|helligkeit\w*"
)
_STUDY = (
    r"prior(?! (?:report|result|score|value|reading|finding|impression))(?:s|'s image)?"
    r"|previous (?:study|film|image|radiograph|x-?ray|scan|examination|ct|series)"
    r"|(?:older|earlier|current|newer|other|comparison) (?:study|film|image|radiograph|x-?ray|scan"
    r"|ct|series)|study|studies|series|viewports?|layout|hanging protocol"
    r"|(?:images|films|studies|radiographs|scans) (?:side by side|next to each other)"
    r"|(?:voraufnahme|voruntersuchung|untersuchung|studie|serie|ansichtsfenster|bildfenster|layout"
    r"|anordnung|aufteilung|vergleichsaufnahme|vergleichsuntersuchung)(?:e?n|s)?"
    r"|(?:bilder|aufnahmen|untersuchungen) (?:nebeneinander|nebeneinander)"
)
_SLICE = (
    r"slices?|(?:image|frame) (?:number )?\d+|(?:first|last|middle|next|previous|other)"
    r" (?:slice|image|frame|finding|time point|series)|time point|schicht(?:en)?|bild \d+"
    r"|(?:erste|letzte|mittlere|nächste|vorherige)[nrs]? (?:schicht|bild|befund|zeitpunkt|serie)"
    r"|zeitpunkt"
)
_UNDO = tuple(f"{named.COMMAND} {what}" for what in ("undo", "take back", "redo"))
_REMOVES = (
    *(f"{named.FINDINGS} {what}" for what in ("delete", "hide", "only")),
    *(f"{named.COMMAND} {what}" for what in ("hide", "not a key")),
    *_UNDO,
)
_GOES = (
    *(named.GO_TO, named.ZOOM, named.SHOW, named.PLACE, f"{named.FINDINGS} select"),
    *(f"{named.COMMAND} {what}" for what in ("next", "previous", "undo")),
)
_DRAWS = (
    *(named.MARK, named.PLACE, named.MEASURE),
    *(f"{named.COMMAND} {what}" for what in ("mark", "draw", "measure", "edit")),
)
_PICTURES = ("dicom_processor", "image_visualizer", "image_preprocessor")
"""Tools that make a picture in a window, in colours or with a contrast of its own."""
_WINDOWS = (named.WINDOW, f"{named.COMMAND} reset", *_UNDO, *_PICTURES)

DEEDS = (
    # findings
    Deed(
        r"accepted|approved|angenommen|akzeptiert",
        f"{_FINDINGS}|{_IT}",
        (f"{named.FINDINGS} accept", *_UNDO),
        told_of_state=True,
    ),
    Deed(
        r"rejected|dismissed|abgelehnt|verworfen|zurückgewiesen",
        f"{_FINDINGS}|{_IT}",
        (f"{named.FINDINGS} reject", *_UNDO),
        told_of_state=True,
    ),
    Deed(
        r"reset|reopened|took|taken|withdrew|withdrawn|zurückgenommen|zurückgesetzt",
        r"decisions?|acceptance|rejection|entscheidung(?:en)?|annahme|ablehnung",
        (f"{named.FINDINGS} propose", *_UNDO),
    ),
    Deed(
        r"deleted|erased|gelöscht",
        _DRAWN,
        (f"{named.FINDINGS} delete", *_UNDO),
        told_of_state=True,
    ),
    Deed(
        r"deleted|erased|gelöscht",
        _FINDINGS,
        (f"{named.FINDINGS} delete", *_UNDO),
        told_of_state=None,
    ),
    Deed(r"removed|cleared|entfernt", _DRAWN, _REMOVES, told_of_state=True),
    Deed(r"removed|entfernt", _FINDINGS, _REMOVES, told_of_state=None),
    Deed(
        r"hidden|hid|ausgeblendet|eingeblendet|versteckt|(?:switched|turned) (?:on|off)"
        r"|(?:ein|aus)geschaltet",
        f"{_FINDINGS}|names?|labels?|texts?|panels?|namen|beschriftung(?:en)?|texte|leisten?",
        (
            *(f"{named.FINDINGS} {what}" for what in ("hide", "show", "only", "select")),
            *(f"{named.COMMAND} {what}" for what in ("hide", "show", "panel")),
            *_UNDO,
        ),
    ),
    Deed(
        r"selected|ausgewählt|angewählt|markiert|marked|circled|annotated|labell?ed|eingekreist"
        r"|umrandet|outlined|umrissen",
        _FINDINGS,
        (
            f"{named.FINDINGS} select",
            *(f"{named.FINDINGS} {what}" for what in ("only", "show")),
            *(named.MARK, named.PLACE, named.MEASURE, named.GO_TO, named.ZOOM),
            *(f"{named.COMMAND} {what}" for what in ("mark", "draw", "measure", "edit")),
        ),
        draws=True,
        told_of_state=None,
    ),
    Deed(
        r"drew|drawn|placed|put|added|set|eingezeichnet|gezeichnet|gesetzt|hinzugefügt|platziert",
        r"(?:arrow|circle|ellipse|(?<!side )marker|annotation|mark)s?|point (?:on|at|in)"
        r"|markierung(?:en)?|pfeile?|kreise?|ellipsen?|punkt",
        _DRAWS,
        told_of_state=True,
    ),
    Deed(
        r"drew|drawn|placed|put|added|eingezeichnet|gezeichnet|gesetzt|hinzugefügt|platziert",
        r"(?:box|rectangle)(?:es|s)?|kasten|kästen|rechtecke?|rahmen",
        _DRAWS,
        draws=True,
        told_of_state=True,
    ),
    # what is shown, and how
    Deed(
        r"set|adjusted|changed|applied|switched|chose|chosen|selected|put|restored|reset|activated"
        r"|eingestellt|gesetzt|gestellt|angepasst|geändert|verändert|gewählt|ausgewählt|umgestellt"
        r"|umgeschaltet|gewechselt|angewendet|angewandt|aktiviert",
        _WINDOW,
        _WINDOWS,
        told_of_state=True,
    ),
    Deed(
        r"widened|narrowed|optimi[sz]ed|increased|reduced|lowered|raised|optimiert|erhöht"
        r"|verringert|reduziert",
        _WINDOW,
        _WINDOWS,
    ),
    Deed(
        r"brightened|darkened|windowed|aufgehellt|abgedunkelt|gefenstert",
        f"{_IMAGE}|{_IT}",
        _WINDOWS,
    ),
    Deed(
        "made|gemacht",
        rf"(?:{_IMAGE}|{_IT})\s(?:\w+\s)?(?:brighter|darker|lighter|heller|dunkler|kontrastreicher)",
        _WINDOWS,
    ),
    Deed(
        "made|gemacht",
        rf"(?:{_IMAGE}|{_IT})\s(?:\w+\s)?(?:larger|bigger|smaller|größer|kleiner)",
        (named.ZOOM, named.PLACE, named.LAYOUT, named.COMMAND),
    ),
    Deed(
        r"zoomed|(?:heran|ein|hinein|heraus|aus)?gezoomt|zoomte",
        "",
        (
            *(named.ZOOM, f"{named.PLACE} zoom", f"{named.PLACE} center", f"{named.LAYOUT} max"),
            *(f"{named.COMMAND} {what}" for what in ("zoom", "fit", "actual", "true", "reset")),
            *_UNDO,
        ),
    ),
    Deed(
        r"magnified|enlarged|cent(?:er|r)ed|panned|fitted|vergrößert|verkleinert|zentriert"
        r"|verschoben|eingepasst",
        _IMAGE,
        (
            *(named.ZOOM, named.PLACE, named.GO_TO, f"{named.LAYOUT} max"),
            *(f"{named.COMMAND} {what}" for what in ("zoom", "fit", "actual", "true", "reset")),
            *(f"{named.COMMAND} {what}" for what in ("maximise", "magnifier")),
        ),
    ),
    Deed(
        r"went(?! (?:on|through|over))|gone(?! (?:on|through|over))|jumped|navigated"
        r"|moved(?! on)|stepped|switched|gesprungen|gegangen|navigiert"
        r"|gewechselt|brought|taken",
        _SLICE,
        _GOES,
    ),
    Deed(
        r"scrolled|paged|gescrollt|geblättert",
        "",
        _GOES,
    ),
    Deed(
        r"jumped to|navigated to|went to|gone to|moved to"
        r"|gesprungen|navigiert|gegangen",
        _LESIONS,
        _GOES,
        told_of_state=None,
    ),
    Deed(
        r"opened|hung|placed|put|arranged|displayed|shown|showed|loaded|laid out|split|swapped"
        r"|exchanged|switched|brought up|pulled up|changed|set|geöffnet|gehängt|aufgehängt"
        r"|angeordnet|gestellt|gelegt|geladen|getauscht|vertauscht|aufgerufen|angezeigt|gewechselt"
        r"|eingestellt|aufgeteilt",
        _STUDY,
        (
            *(named.SHOW, named.LAYOUT, f"{named.FINDINGS} show"),
            *(f"{named.COMMAND} {what}" for what in ("next", "previous", "open", "maximise")),
            *(f"{named.COMMAND} {what}" for what in ("second", "close", "panel", "plane")),
            *_UNDO,
        ),
    ),
    Deed(
        r"played|started|stopped|paused|resumed|slowed|sped up|abgespielt|gestartet|gestoppt"
        r"|angehalten|pausiert|verlangsamt|beschleunigt",
        r"cine|loop|movie|playback|animation|cine-?(?:loop|lauf)|filmlauf|wiedergabe",
        (named.CINE, *(f"{named.COMMAND} {what}" for what in ("play", "faster", "slower"))),
    ),
    # commands
    Deed(
        r"inverted|invertiert|umgekehrt",
        f"{_IMAGE}|{_IT}",
        (*(f"{named.COMMAND} {what}" for what in ("invert", "not inverted")), *_UNDO, *_PICTURES),
    ),
    Deed(
        r"flipped|mirrored|rotated|turned(?! (?:to|on|off|out|up|(?:it |both |them )?around))"
        r"|gespiegelt|gedreht|rotiert",
        f"{_IMAGE}|{_IT}",
        (
            *(f"{named.COMMAND} {what}" for what in ("flip", "not flipped", "rotate", "reset")),
            *_UNDO,
        ),
    ),
    Deed(
        r"reset|restored|zurückgesetzt|wiederhergestellt",
        rf"zoom|layout|anordnung|{_IMAGE}",
        (
            *(named.WINDOW, named.ZOOM, named.LAYOUT),
            *(f"{named.COMMAND} {what}" for what in ("reset", "fit")),
            *_UNDO,
        ),
    ),
    Deed(
        r"undid|undone|reverted|redid|redone|rückgängig gemacht",
        r"steps?|changes?|commands?|edits?|that|this|it|last|everything|schritte?|änderung(?:en)?"
        r"|befehle?|das|dies|es|alles",
        (*_UNDO, f"{named.FINDINGS} propose"),
        told_of_state=True,
    ),
    Deed(
        r"(?:un)?linked|(?:de)?synchroni[sz]ed|(?:un)?coupled|verknüpft|gekoppelt|synchronisiert",
        r"viewports?|scrolling|windows|zoom|images|films|series|views|ansichten|bilder|serien"
        r"|aufnahmen|scrollen|blättern|fenster",
        (*(f"{named.COMMAND} {what}" for what in ("link", "unlink", "reference")), *_UNDO),
    ),
    Deed(
        r"maximi[sz]ed|maximiert",
        "",
        (f"{named.LAYOUT} max", f"{named.LAYOUT} 1x1", f"{named.COMMAND} maximise"),
    ),
    Deed(
        r"closed(?! to)|geschlossen",
        r"study|studies|record|viewports?|windows?|panels?|images?|films?"
        r"|studien?|untersuchung(?:en)?|akte|ansicht(?:en)?|fenster|leisten?|bild(?:er)?",
        (
            *(f"{named.COMMAND} {what}" for what in ("close", "hide", "panel", "show", "undo")),
            *(named.LAYOUT, named.SHOW),
        ),
        told_of_state=True,
    ),
    Deed(
        r"switched|changed|set|reformatted|umgeschaltet|gewechselt|umgestellt|eingestellt",
        r"axial|coronal|sagittal|plane|koronar\w*|sagittal\w*|ebene",
        (f"{named.COMMAND} plane", named.LAYOUT, named.SHOW),
    ),
    Deed(
        r"marked|flagged|saved|markiert|gekennzeichnet",
        r"key image|schlüsselbild",
        (*(f"{named.COMMAND} {what}" for what in ("mark as key", "not a key")), *_UNDO),
        told_of_state=True,
    ),
    Deed(
        r"set|changed|applied|colou?red|switched|eingestellt|geändert|gewechselt|eingefärbt",
        r"colou?r ?map|colou?r scale|look-?up table|farbtabelle|farbskala|farbpalette",
        (f"{named.COMMAND} colours", *_UNDO, *_PICTURES),
    ),
    Deed(
        r"switched|opened|showed|shown|hid|hidden|geöffnet|geschaltet|eingeblendet|ausgeblendet",
        r"full ?screen|histogram|magnifier|panels?|reference lines|vollbild\w*|histogramm|lupe"
        r"|leisten?|referenzlinien",
        (named.COMMAND,),
    ),
    # files and reports
    Deed(r"deleted|gelöscht", r"\w+", (f"{named.FINDINGS} delete",), told_of_state=None),
    Deed(
        r"saved|stored|exported|gespeichert|exportiert",
        r"\w+",
        tuple(f"{named.COMMAND} {what}" for what in ("export", "de-identified", "copy")),
        told_of_state=None,
    ),
    Deed(
        r"printed|gedruckt|ausgedruckt",
        r"\w+",
        (f"{named.COMMAND} print",),
        told_of_state=None,
    ),
    Deed(
        r"copied|kopiert",
        r"(?:picture|screenshot|viewport|view(?! of))s?|bildschirmfoto|ansicht",
        (f"{named.COMMAND} copy", f"{named.COMMAND} export"),
    ),
    Deed(
        r"de-?identified|anonymi[sz]ed|pseudonymi[sz]ed|anonymisiert|pseudonymisiert",
        r"study|studies|images?|files?|copy|studie|bilder|aufnahmen?|dateien|untersuchung|kopie",
        (f"{named.COMMAND} de-identified",),
    ),
    Deed(
        "took|taken|captured|made|gemacht|aufgenommen|erstellt",
        "screenshots?|snapshots?|bildschirmfotos?",
        (f"{named.COMMAND} copy", f"{named.COMMAND} export"),
    ),
    # what none of the viewer's tools does
    Deed(
        r"signed|finali[sz]ed|submitted|filed|dictated|unterschrieben|unterzeichnet|signiert"
        r"|freigegeben|finalisiert|vidiert|diktiert|abgezeichnet",
        r"report|befund|bericht|befundbericht|study|studie",
    ),
    Deed(
        "added|inserted|entered|copied|transferred|übernommen|eingetragen|eingefügt|übertragen",
        r"(?:to|into|in) (?:the|your|this|his|her|their) (?:[\w’']+ )?(?:report|record|chart|pacs)"
        r"|in (?:den|die|ihren|ihre) (?:bericht|befund|akte|befundbericht|patientenakte)",
        told_of_state=None,
    ),
    Deed(
        "updated|amended|corrected|changed|aktualisiert|geändert|korrigiert",
        r"(?:patient(?:['’]s)? )?(?:record|chart)|patientenakte|akte",
        told_of_state=None,
    ),
    Deed(
        r"called|phoned|telephoned|rang|angerufen",
        r"(?:physician|doctor|surgeon|clinician|ward|radiologist|colleague)s?|arzt|ärztin|station"
        r"|kolleg\w+|zuweiser\w*",
        told_of_state=None,
    ),
)
