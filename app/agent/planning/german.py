"""Common German words, which are never taken for misspellings of a pack's words.

No dependency provides a German word list, so this one holds the most frequent words and those
similar to a medical term. Umlauts are written "ae", "oe", "ue".
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from app.agent.planning.vocabulary import Token

_TEXT = """
abend aber abgeben acht aehnlich aerzte aerztin akut alle allein allem allen aller allerdings
alles also alte alten andere anderem anderen anderer anderes anders anfang angabe angeben angst
anlage antwort arbeit art arzt auch auf aufgabe aufnahmen auge augen aus ausgeben ausser
ausschnitt ausschnitts ausschnitten baby
bald band bank bauch bauen bauer bedarf befinden befindet beginn behandeln behandlung beide
beiden beides beim bein beine bekannt bekommen bereich bereiche bereit bereits bericht berichte
beruf besser bestand beste besteht besten bestimmt besuch betrag bett beurteilen bevor bewegen
beweis bezug bild bilder bin bis bisher bist bitte bitten blatt bleiben bleibt blick bloss blut
boden brand brauche brauchen braucht breit brief bringen bringt bruder brust buch bunt chronisch
dabei dadurch dafuer dagegen daher dame damit danach daneben dank danke dann daran darauf daraus
darf darin darueber darum darunter dass datei dateien daten datum dauer dauern dauert davon
davor dazu dein deine deinem deinen deiner denen denke denken denn dennoch der deren derzeit
deshalb dessen deutlich deutsch dich dicht dick dienen dies diese diesem diesen dieser dieses
ding dinge dir direkt doch dort draussen drei dritte druck duerfen dunkel durch eben ebenfalls
echt eher eigen eigene eigenen eigentlich ein einander eine einem einen einer eines einfach
einig einige einigen einiger einmal einzeln einzelne einzelnen eis ende enden endlich eng
entfernt entlang entstehen entsteht entweder erde erfolg erfolgt erhalten erinnern erkannt
erkennen erklaeren ernst erst erste erstem ersten erster erstes erwarten erwartet erzaehl
erzaehlen essen etwa etwas euch euer fach faden faellt fahren fall falle falls falsch familie
farbe farben fast fehlen fehler fehlt fein feld felder fenstern fertig fest feuer film filme
finde finden findest findet finger folge folgen folgt form fort frage fragen fragt frau frauen
frei fremd freuen freund frisch frist fristen froh frueh frueher fuehlen fuehren fuer funktion
fuss gab gabe gang ganz ganze ganzen ganzer garten gast geben gebiet geboren gebracht gedanke
gefahr gefallen gefuehl gefunden gegen gegend gehe gehen gehoert geht geist geld gelegt gelten
gemacht gemeinsam gemeint genannt genau genauer genauso genug gerade gericht gering gern gerne
gesagt geschichte geschrieben gesehen gesicht gestern gesund gewebe gewesen gibs gibst gibt gilt
ging glaube glauben gleich gleiche gleichen glied glueck gott grad grade grau grenze groesse
groesser gross grosse grossem grossen grosser grosses grund gruppe guck gucke guckt gut gute
guten guter gutes haar haare haben haelt haende halb halbe hals halt halten hand handeln hart
harz hast hat hatte hatten haus haut heiss heisst helfen hell herd herde herr herren herrn heute
hier hilfe hilft himmel hin hinten hinter hinweis hinweise hoch hoechst hoehe hoeher hoeren hof
hohe hohen holen hund ich idee ihm ihn ihnen ihr ihre ihrem ihren ihrer immer indem innen inner
irgend irgendein irgendwas irgendwie irgendwo ist jahr jahre jahren jede jedem jeden jeder jedes
jedoch jemand jene jener jetzt jung junge jungen kalt kam kampf kann kannst karte kasten kauf
kein keine keinem keinen keiner keines kennen kennst kennt kern kerze kind kinder klar klasse
klein kleine kleinen kleiner kleines knapp knochen kochen koennen koennte koennten koerper komme
kommen kommt konnte konnten kopf kosten kostet kraft krank kreis kueche kunde kunden kunst kurve
kurven kurz kurze kurzen laenge laesst lage land lang lange langen langer langes langsam lass
lassen lasst last laufen laut leben leber leer legen legt lehrer leicht leid leider leise leiten
lernen lesen letzte letzten letzter leute licht lieb lieben lieber liegen liegt liess linie
linke linken linker linkes links linse liste luft lunte lust mache machen machst macht maenner
maessig mag magen mal man manche manchen manchmal mann markt masern masse medikament medikamente
mehr mehrere mein meine meinem meinen meiner meint meist meiste meisten mensch menschen merken
messe mich milch minute minuten mir mit mittag mitte mittel mitten mochte moechte moechten
moeglich moegliche moment monat monate morgen muede muessen mund musik muss musst musste mutter
nach nachdem nachricht nacht nah nahe name namen namens nase natuerlich natur neben nehmen nein
nennen nennt neu neue neuem neuen neuer neues nicht nichts nie niemand niere nieren noch norden
normal normale normalen not note noten notwendig nuetzlich null nummer nun nur nutzen oben ober
obere oberen obwohl oder offen oft ohne ohr ohren ordner ort orte ostern paar papier park
patient patienten patientin person personen pferd pferde pflege pflegen plan plane platz preis
probe problem prozent pruefen punkt punkte raender rahmen rand rat raum recht rechte rechten
rechter rechts rede reden regel regen reich reicht reihe rein reise rest richtig richtige
richtigen richtung rief rippe rippen ruecken rufen ruhe rund sache sachen sag sage sagen sagt
sah sand satz schaden schaffen schau schauen schein scheinen scheint schicken schlaf schlag
schlecht schlechte schliesslich schluss schmal schmerz schmerzen schmerzt schnell schnelle
schoen schoene schon schreib schreibe schreiben schreibt schritt schule schwach schwarz schwer
schwere schwester sechs see seele sehe sehen sehr sei seid seien sein seine seinem seinen seiner
seines seit seite seiten selber selbst selten serie serien setzen setzt sich sicher sicht sie
sieben sieh siehe siehst sieht sind sinn sitz sitzen sofort sogar sohn solange solch solche
solchen soll sollen sollte sollten somit sommer sondern sonne sonst sorge soviel sowie sowohl
spaet spaeter spiel spielen spitze sprache sprechen spricht spuren staat stadt stand stark
starke starken statt stehen steht stein stelle stellen stellt sterben stern stets stimme stimmt
stoff strasse strich studie studien stueck stunde stunden suche suchen sucht sueden tag tage
tagen tanz tasche tasse tat teil teile teilen teilweise text texte tief tiefe tiefer tier tiere
tisch titel tochter tod toll ton tot tragen traum treffen treten trotz trotzdem tumore tun tut
uebel ueben ueber ueberall ueberhaupt uhr umgebung umstand und uns unser unsere unserem unseren
unserer unten unter untere unteren unterm ursache vater verbinden verdacht verein vergessen
vergiss verlauf verlieren verloren verstehen versuch versuche versuchen viel viele vielem vielen
vieler vielleicht vier voellig voll volle vollen vom von vor voran voraus vorhanden vorher
vorhin vorn vorne vorsicht waehlen waehrend waere wahl wahr wald wand wann war ware waren warm
warst warte warten warum was wasser weder weg wegen weh weich weil wein weise weiss weit weite
weiten weiter weitere weiteren welche welchem welchen welcher welches welt wem wen wenig wenige
wenigen weniger wenn wer werde werden werdet wert werte wesen weshalb wessen westen wetter
wichtig wichtige wider wie wieder wieso wieviel will willst wind winter wir wird wirklich wirkt
wirst wissen wo wobei woche wochen wodurch woerter wofuer woher wohin wohl wohnen wollen wollte
woran worauf woraus worin wort worte worum wovon wozu wucht wuerde wuerden wunder wunsch wurde
wurden zaehler zahl zahlen zahn zehn zeichen zeile zeilen zeit zeiten zeitung zelt zelte zentrum
ziehen ziel ziemlich zimmer zudem zuerst zufall zug zuletzt zum zunge zur zurueck zusammen
zustand zuviel stund stunde beruht beruhen basiert zwar zwei zweite zweiten zwischen
"""
GERMAN = frozenset(_TEXT.split())

_DIALECT = {"net": "nicht", "ned": "nicht", "nit": "nicht", "san": "sind", "bloss": "nur"}
_GERMAN_MARKERS = frozenset(
    ("die", "der", "das", "den", "ich", "bitte", "ist", "und", "mir", "wie")
)


def in_standard_german(tokens: Sequence[Token]) -> list[Token]:
    """Return a German question's words with dialect replaced by standard German ("net" is "nicht").

    English questions are returned unchanged: there, "net" is a neural network.
    """
    if not any(token.text in _GERMAN_MARKERS for token in tokens):
        return list(tokens)
    return [
        replace(token, text=meant, forms=(meant,))
        if token.forms and (meant := _DIALECT.get(token.text))
        else token
        for token in tokens
    ]
