"""Questions that no tool answers: general knowledge, other people, the program itself."""

from __future__ import annotations

from collections.abc import Sequence

from app.agent.planning.vocabulary import Token, Vocabulary
from app.tools.pack_plan import phrases

KNOWLEDGE = (
    *phrases("""
        cause, causes, caused, who discovered, how accurate, how reliable, how good is, accuracy,
        sensitivity, specificity, sensitivitaet, spezifitaet, wie zuverlaessig, good for, bad for,
        gut fuer, schlecht fuer, medication*, which drug*, what drug*, drug of choice, how do i,
        how to, medicine*, medikament*, entsteht, entstehen, wie lange dauert,
        how long does .. last, who invented, kill, kills, fatal, deadly, contagious, hereditary,
        heal, heals, heilt, heilen, toedlich, ansteckend, make|made|take|took first, wofuer steht,
        wer hat .. entdeckt, wer hat .. erfunden, why does, why do, how .. treat, how .. treated,
        how .. cure, how .. managed, treatment of, treatment for, therapy, antibiotic*, dose of,
        dosage, prescri*, prognosis, symptoms, risk factors, icd, guideline*, literature,
        definition, define, meaning of, what .. mean, what .. means, what .. stand for, explain how,
        explain why, explain what, erklaer* wie, erklaer* warum, erklaer* was, normal range,
        reference range, normal value*, how common, what is difference between,
        what's difference between, was ist unterschied zwischen, worin .. unterschied*, a human,
        humans, human body, how dangerous, how long .. live, how do .. work, how does .. work,
        wie behandel*, wie .. behandelt, behandlung von, behandlung der, behandlung einer,
        behandlung eines, therapie*, ursache*, was verursacht, wodurch, symptome, bedeutet,
        bedeutung von, normwert*, normalwert*, antibioti*, leitlinie*, wie gefaehrlich,
        wie haeufig ist
    """),
    # What was done or said earlier, and the reasons for it.
    *phrases("""
        how did, why did, why was, why were, why is, why are, how long did, who wrote, who made,
        thanks for, thank you for, warum, wieso, weshalb, wie hast, danke fuer
    """),
    # Medication, treatment and the laboratory.
    *phrases("""
        can i give, should i give, may i give, should we give, can we give, kann ich .. geben,
        soll ich .. geben, kann man .. geben, *cillin, *mycin, *floxacin, furosemid*, lasix,
        heparin*, prednisolon*, diuretic*, diuretik*, steroid*, paracetamol, ibuprofen, mg, dose,
        dosis, dosier*, dosage*, start him on, start her on, put him on, antibod*, antikoerper*,
        reagent*, which medication, what medication, iv, would you recommend, do you recommend,
        empfiehlst du, empfehlen sie, empfehlung, wuerdest du empfehlen, wuerden sie empfehlen,
        wuerden sie geben, wuerdest du geben, should i treat, should we treat, how should .. treat,
        discharge*, send home, can he go home, can she go home, entlassen, nach hause, operieren,
        surgery, survive*, life expectancy, ueberleb*, lebenserwartung, passage number, passage,
        incubat*, inkubier*, freez*, einfrier*, protocol for, protokoll fuer, who first, who was,
        in which year, in welchem jahr, nobel*, wer war, wer hat, incidence, prevalence,
        pathophysiolog*, mechanism*, epidemiolog*, mortality, complications of, etiology, aetiology,
        textbook, stages of, first line, hurt*, painful, curable, vaccin*, transmit*, milligram*,
        ml of, units of, how often, inzidenz, praevalenz, pathophysiologie, mortalitaet, impf*,
        milligramm, komplikationen, stadien, aetiologie, entstehung, wie oft, weh, fly, flying,
        drive, fliegen, autofahren, smoke, survival, life threatening, lebensbedrohlich,
        management of, manage, treat, behandle, behandeln,
        should i|we|he|she
        give|put|start|treat|order|send|admit|call|refer|drain|intubate|stop|add|repeat|tap|transfuse|operate|discharge|switch|prescribe|use|get|insert|place|take|have|go,
        do|does i|we|he|she need,
        can|may|could i|we|he|she give|start|stop|go|eat|fly|leave|put|insert|drain|extubate,
        soll|sollte|darf|muss|kann ich|wir|man|er|sie ..
        geben|anlegen|legen|ziehen|drainieren|punktieren|intubieren|extubieren|operieren|entlassen|aufnehmen|therapieren|anordnen,
        how is|are|do|does ..
        drained|treated|made|diagnosed|removed|done|managed|develop|spread|form,
        wie wird|werden .. behandelt|drainiert|gemacht|entfernt|diagnostiziert, function of,
        funktion von|der|des, aufgabe der|des, darf|muss patient*, darf|muss er|sie, how many mg,
        wie viel mg, wie viele mg, what's best treatment, next step, next steps, what happens if,
        what should .. do, was soll .. tun, was tun bei, what do .. do about, naechste schritt*,
        naechster schritt, was mache ich bei, crp, troponin*, lab, labs, laborwerte, laborwert*,
        blood pressure, blutdruck, temperature, allerg*, haemoglobin, hemoglobin, white count,
        leukozyten, creatinine, kreatinin, ecg, ekg, phone number, telefonnummer, visiting hours,
        next of kin, versicher*
    """),
    # Other patients.
    *phrases("""
        other patient, another patient, last patient, previous patient, next patient,
        former patient, yesterday's, patient in room, patient from, patient .. yesterday,
        patient before, anderer patient*, andere patient*, anderen patient*, vorherige* patient*,
        letzte* patient*, patient* .. gestern, patient* aus zimmer, patient* in zimmer,
        naechste* patient*
    """),
)
# Clinical scores, further tests, and reports that somebody else wrote: these words count even
# within a tool's own ("score", "report").
ELSEWHERE = phrases("""
    curb 65|0, crb 65|0, cha2ds2*, chads*, wells score, geneva score, grace score, has bled,
    qsofa, sofa score, apache, child pugh, meld score, nihss, glasgow*, timi, perc rule,
    which|what|any test|tests|investigation|investigations|exam|examination|imaging|scan
    next|should|now|further|to,
    which|what further|other|additional test|tests|investigation|investigations|imaging,
    next test|tests|investigation*, welch* untersuchung|test .. naechstes|jetzt|noch,
    what|which|are|show|list|find|read|fetch|where .. reports .. patient|him|her|chart|file|pacs,
    patient's|his|her|their|old|older|earlier|previous|prior|former|existing|last|radiology
    reports, old|older|earlier|previous|prior|former|existing|last|original report,
    what does|did|do|says .. report|reports .. say|says|said, alte*|frueher*|vorig* befund*,
    vorbefund*, is|are there report|reports, report already|yet|available
""")
# Only whole phrases of "weather", which may be "whether" misspelt ("ask it weather the lungs ...").
ERRANDS = phrases("""
    billing, bill, cpt, abrechn*, goae, ebm, drg, icd, insurance, reimburs*, window bigger,
    window larger, window smaller, resize window, maximi*, easter, today's date, date today,
    day is it today, welcher tag ist heute, what time is it, menu, menue, button, toolbar,
    shortcut*, keyboard, screen brightness, undo, install*, licence, license, update, crash*,
    version, oberflaeche, user interface, language of, english interface, log out, logout, login,
    monitor, cafeteria, canteen, kantine, lunch, coffee, kaffee, wetter,
    weather like|today|tomorrow|forecast|outside|report|app|in|for,
    what|what's|whats|how|how's|hows|is|nice|bad|good weather, drucke*, ausdrucken, drucker,
    printer, speicher*, pager, piep*, dienstplan, send, e-mail, email, mail, write letter, call dr,
    fax, upload, print, delete, erase, book, appointment, schedule, buy, order a, order an,
    order ct, order another, price, invoice, poem, joke, translat*, font, dark mode, open settings,
    change settings, my settings, password, software, theme, schriftgroesse, schriftart,
    einstellungen, passwort, sprache, spell, remind, rename, share image, share it, share with,
    burn, schick*, sende, senden, versende*, loesch*, bestell*, kaufe*, termin, gedicht, witz,
    uebersetz*, maile, mailen, umbenennen, hochladen,
    call|tell|text|page|inform|notify|alert|message
    dr|doctor|ward|nurse|team|radiolog*|surg*|clinician*|referr*|colleague*|family|registrar|physician*|consultant*,
    ruf* .. an, informier*, benachrichtig*, verstaendig*
""")

_EVENT = (
    "meeting*|conference*|lecture*|seminar*|consultation|congress|course|shift|party|holiday*|"
    "appointment|*besprechung|*konferenz|vorlesung*|sprechstunde|visite|dienst|schicht|urlaub|"
    "pruefung|kurs|kongress|feier|fortbildung*|uebergabe"
)
_ILL = (
    "flu|influenza|grippe|erkaeltung|pain|pains|headache|toothache|schmerz*|kopfschmerz*|winter|"
    "storm|earthquake|flood|fire|delay*|crisis|recession|traffic|weather|hangover|pandemic|pandemie|side|nebenwirkung*|stress|heimweh"
)
_LIVING = (
    "frog|dog|cat|horse|whale|mouse|fish|bird|cow|animal|animals|insect|mammal*|human|humans|"
    "person|baby|people|frosch|hund|katze|pferd|wal|maus|fisch|vogel|tier|tiere|mensch|menschen|"
    "saeugling|body|man"
)
_PEOPLE = (
    "adults|children|infants|newborns|smokers|nonsmokers|men|women|people|humans|athletes|mice|"
    "dogs|cats|animals|pregnancy|erwachsenen|kindern|rauchern|maennern|frauen|menschen|sportlern|"
    "schwangeren|tieren|hunden|katzen|saeuglingen"
)
_PROGRAM = "program|programme|programs|app|apps|application|software|programm*|website|webseite"
_NICE = "lovely|beautiful|gorgeous|wonderful|magnificent|stunning|schoene|schoener|herrlich*"
_SCREEN = "second|other|main|big|external|zweiten|anderen|externen screen|monitor|display|desktop"
_OPENED = "aufmachen|zumachen|oeffnen|schliessen|kippen|putzen|aufgemacht|gekippt|gelueftet"

_ENTRIES = (
    # Other meanings of the packs' words.
    *phrases(f"""
        tube|underground|metro|subway|bus|train|tram|railway
        station|stations|map|ticket*|strike|stop|ride|line|timetable,
        line .. station|airport|town|hospital|city, phone|telephone|power|bus|train|tram line|lines,
        morning|sunday|evening|midnight|catholic|holy|easter mass, mass begin*|start*|service,
        attend|celebrate mass,
        box|kasten|schachtel|kiste of|with|mit ..
        gloves|masks|needles|chocolate*|tissues|swabs|handschuh*|masken|nadeln|pralinen|tupfer*|spritzen,
        lunch|letter|mail|post|tool|cardboard|juke|black box,
        heart of city|town|matter|problem|country|story|campus, von herzen, heart goes out,
        herz* der|einer stadt|sache, window seat|cleaner|sill|shopping|glass|ledge,
        {_NICE} .. view|window|day|colour|color|picture|film|aussicht|fenster, fenster .. {_OPENED},
        oeffne|schliesse|kipp|putz .. fenster, fenster putzen,
        open|close|shut|clean|crack window|windows, window|windows|fenster .. {_SCREEN},
        window|windows .. minimi*|resiz*|movable|draught*|draughty|stuck,
        film|films|movie|movies .. cinema|tonight|oscar*|netflix|festival|tv|kino|fernsehen|abend,
        which|what|welcher film|movie is|laeuft on|im|in,
        spreadsheet|excel|prison|fuel|solar|battery|cell|mobile cell|cells|phone|phones,
        excel zelle*, police|us|member|united states, state is .. in, states of america,
        which|what|welche tube|line|lines|linie|bus|train .. take|catch|goes|go|faehrt|nehme|nehmen,
        tumor|tumour|mdt|chest|cancer board|registry|clinic|society|foundation, tumorboard*,
        heart|lung|fracture|hernia|pacemaker clinic|center|centre|institute|society|foundation|ward,
        window|windows|fenster smaller|bigger|larger|kleiner|groesser,
        view .. floor|roof|terrace|balcony|hill|office|corridor|turm|balkon, state of art,
        report|reports|befund .. due|overdue|deadline|faellig|ueberfaellig, herz in hose,
        herz auf zunge, herz aus stein|gold, heart of gold|stone,
        kasten|box|schachtel .. handschuh*|gloves|masken|tissues,
        company|work|office|pop|national culture, colour|color|farbe .. paint|wall*|wand|labor|lab,
        outline|summary|structure|agenda|draft .. {_EVENT}|essay|thesis|talk|book|chapter|paper,
        mark|marks|grade .. {_EVENT}|test|essay, book|annual|tax|police|weather|bug report,
        report template*|form|deadline|card|panel|format|layout, reporting room|rota|deadline*
    """),
    # Appointments and duties.
    *phrases(f"""
        when|where|wann|wo|room|raum|time|day|tag|uhrzeit .. {_EVENT},
        who|wer .. tonight|tomorrow|duty|shift|charge|dienst|schicht|heute|morgen|naechste,
        who|wer .. on call, phone|telefon, birthday, geburtstag*, congratulations, alles gute,
        herzlichen glueckwunsch, taxi, traffic
    """),
    # General knowledge.
    *phrases(f"""
        how|wie severe|bad|serious|dangerous|strong|schwer|schlimm|stark|heftig .. {_ILL},
        how|wie large|big|small|bad|long|wide|gross|klein|lang|breit can|could|may|kann|darf,
        how|more|less|most|very|so|quite common|frequent|prevalent|contagious|hereditary,
        haeufiger|seltener|haeufigsten, wie haeufig|selten, how rare,
        what|what's|how .. usual|typical|average|mean size|width|ratio|range|value|level|weight,
        what|what's normal size|width|ratio|range|value|level|diameter|weight,
        how|wie big|large|wide|heavy|gross|breit|schwer is|are|ist|sind
        normal|healthy|average|typical|normales|gesundes|normale|gesunde|durchschnittliche*,
        how|wie many|much|viele|viel .. do|does|can|hat|haben|besitzt .. {_LIVING}, human body,
        in|among|amongst|bei {_PEOPLE}, most {_PEOPLE}, bei den meisten {_PEOPLE},
        ever made|taken|seen|built|invented|produced, first|erste ever, wer hat|machte .. erste,
        who|wer invented|discovered|introduced|coined|erfand|entdeckte|named, in general,
        generally speaking, im allgemeinen, allgemein gesprochen,
        before|until|bevor you need|must|should|have, how much|wie viel radiation|strahlung,
        strahlenbelastung, radiation dose|exposure, learn to|about|how, lernen,
        textbook*|lehrbuch*|website|youtube|podcast*, cost, costs, kostet, kosten,
        how|wie do|does|teilen|vermehren|entstehen .. divide|multiply|reproduce|sich,
        can|kann .. turn|become|werden|develop into|cancer|cancerous|malignant|boesartig|chronic,
        kann|koennen .. boesartig|chronisch|gefaehrlich werden,
        can|kann .. twice|recur|disappear|wiederkommen|zweimal|wiederkehren|verschwinden,
        can you|one|people|anyone|kids get|catch|die|have, kann man .. bekommen|kriegen|sterben,
        is|are|ist|sind .. emergency|notfall|gefaehrlich|heilbar|curable|preventable|reversible,
        erzaehl* .. ueber|von, tell about, teach, lecture me,
        what|which|welche|was are|is|sind|ist
        typical|classic|main|usual|characteristic|common|typische|klassische|haeufige
        signs|features|findings|symptoms|appearance*|zeichen|befunde,
        ct|mri|mrt|ultrasound|sonography|ultraschall .. better|superior|preferable|besser|cheaper,
        paper|papers|article|articles|publication*|studie|literatur .. on|about|ueber|zu|zur,
        how many .. fit|fits, wie viele .. passen, how many .. should|must i|we, plate per,
        population|economy|president|capital of
    """),
    # The program and the assistant.
    *phrases(f"""
        of|in|by|des|im|vom|with|from {_PROGRAM},
        {_PROGRAM}
        based|use|uses|run|runs|store|stores|cost|save|saves|send|sends|written|made|certified|approved|free|work|works|offline|support|supports|beruht|basiert|nutzt|laeuft,
        are|bist|sind you|du|sie
        allowed|able|licensed|certified|trained|human|real|robot|approved|sentient|mensch|zugelassen|zertifiziert,
        artificial|kuenstlich* intelligen*,
        who|wer trained|built|programmed|developed|trainiert|programmiert|entwickelt,
        model|network|classifier|tool|tools|ai|algorithm|modell|netz|werkzeug ..
        trained|trainiert|validated|validiert|entwickelt|certified|cost,
        what|was can|kann .. tool|tools|classifier|werkzeug|werkzeuge do|tun|machen|leisten,
        on|im|in duty|leave|vacation|holiday|dienst|urlaub, cloud, toolbar*, symbolleiste,
        dark theme, {_PROGRAM} .. intelligen*|ai|ki, based on ai
    """),
)
_FRAMES = Vocabulary(
    [
        *(("world", entry) for entry in _ENTRIES),
        (
            "between",
            "what|what's|whats|explain|was|erklaer* .. difference*|unterschied* between|zwischen",
        ),
    ]
)
_IMAGES = (
    "film|films|image|images|picture|pictures|radiograph|xray|ray|x|cxr|scan|slice|study|field|"
    "micrograph|photo|patient|patients|patient's|patientin|bild|bilder|bildes|aufnahme|aufnahmen|"
    "roentgenbild|thoraxbild|gentleman|lady|person|man|woman|header|metadata|culture|dish|well|"
    "roentgenaufnahme|herr|herrn|frau"
)
_ANCHORS = Vocabulary(
    [
        ("this", f"this|these|diese*|the|der|die|das|dem|den|her|his|my|our {_IMAGES}"),
        ("this", "here"),
        ("this", "hier"),
        ("this", "on|in|from|auf|im film|image|picture|bild|micrograph|header"),
    ]
)
_SHOWN = frozenset(("this", "these", "his", "her", "diese", "dieser", "dieses", "diesem", "diesen"))
_SIDES_TEXT = (
    "lung lungs side sides lunge lungen seiten hila hemithoraces lobes halves film both beiden "
    "cells nuclei organoids group groups treated control controls conditions populations"
)
_SIDES = frozenset(_SIDES_TEXT.split())
_PASSING_TEXT = (
    "program programme software software's app winter summer year week month morning evening "
    "afternoon night time window hospital ward city town country jahr woche monat sommer abend "
    "krankenhaus stadt fenster programm station nachmittag"
)
_PASSING = frozenset(_PASSING_TEXT.split())


def everyday_words(tokens: Sequence[Token]) -> frozenset[int]:
    """Return the positions of words in clauses about everyday matters rather than the images."""
    frames = _FRAMES.find(tokens)
    if not frames:
        return frozenset()
    shown = {tokens[match.first].clause for match in _ANCHORS.find(tokens)}
    for place, token in enumerate(tokens[:-1]):
        if token.text in _SHOWN and tokens[place + 1].text not in _PASSING:
            shown.add(token.clause)
    sides = {token.clause for token in tokens if token.text in _SIDES}
    everyday_clauses = {
        clause
        for match in frames
        for clause in (tokens[match.first].clause,)
        if clause not in shown and (match.owner == "world" or clause not in sides)
    }
    return frozenset(
        place for place, token in enumerate(tokens) if token.clause in everyday_clauses
    )
