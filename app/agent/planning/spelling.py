"""Misspelt words: which word of the packs was meant, if any.

A word that is one in English or is common in German is never "corrected": hear, long, massage and
account stay what they are.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import lru_cache
from importlib.resources import files

from rapidfuzz import process
from rapidfuzz.distance import OSA

_SHORTEST = 3
_SAFE = 4
"""A shorter word is only put right where its letters are swapped."""
_LONG = 8
_LIST = "frequency_dictionary_en_82_765.txt"

# Common German words of four letters and more; and those that lie near a word of the field.
_GERMAN_TEXT = (
    "aber alle allen aller alles also andere anderen auch auf aus beide beiden bein beim bereit "
    "bereits beste besten bild bilder bitte bleibt braucht brauche buch danach dann darauf darf "
    "dass davon dazu dein deine denn deren dessen deutlich diese diesem diesen dieser dieses doch "
    "dort drei durch eben eher eigentlich eine einem einen einer eines einfach einmal erst erste "
    "ersten etwa etwas euch fall falls fast fehlt film finde finden findest frage fragen frau "
    "fuer gang ganz ganze ganzen geben gegen gehen geht genau gericht gerne gibt ging gleich "
    "gross grosse grossen grosser grund gute guten haben habe halt halte hand hast hatte hatten "
    "heisst helfen hier herr herrn hinten hinter hoch ihre ihrem ihren immer irgendein irgendwo "
    "ist jede jedem jeden jeder jetzt kann kannst kein keine keinen klar klein kleine koennen "
    "koennte kommen kommt land lang lange langen langer lassen leicht lesen letzte letzten liegen "
    "liegt linke linken linker links lunte mach mache machen macht maessig mann masse mehr mein "
    "meine meinen meiner messe mich mittel moechte moeglich muss muessen nach nahe name namen "
    "naechste neben nehmen neue neuen nicht nichts noch normale normalen nummer oben oder ohne "
    "patient patienten patientin rand recht rechte rechten rechter rechts reicht reihe richtig "
    "rund sache sagen sage schau schauen schon schreib schreibe sehe sehen sehr sein seine seiner "
    "seit seite selbst sich sicher sieht sind soll sollen sollte sonst spitze statt steht stelle "
    "suche tage tasse teil test text tief trotz ueber unten unter unsere viel viele vielen "
    "vielleicht vier voll vom vorher vorn wand wann waren warum was weil welche welchem welchen "
    "welcher welches wenig wenige wenn werden werte wieder will wird wirklich wissen wohl wollen "
    "worden wort wurde wurden zahl zehn zeig zeige zeigen zeigt zeit zeile zeilen zelt zelte "
    "zuerst zwei zwischen kennst kennen rippe rippen leber niere nieren magen kopf hals bauch "
    "ruecken knochen blut haut arzt aerztin befinden berichte"
)
_GERMAN = frozenset(_GERMAN_TEXT.split())


class Speller:
    """What misspelt words may have meant.

    Args:
        literals: The packs' words, and whether letters may follow them.
    """

    def __init__(self, literals: Mapping[str, bool]) -> None:
        words = [word for word in literals if len(word) >= _SHORTEST and word.isalpha()]
        self._words = words
        self._stems: dict[int, list[str]] = {}
        for word in words:
            if literals[word] and len(word) > _SAFE:
                self._stems.setdefault(len(word), []).append(word)
        self.nearest = lru_cache(maxsize=4096)(self._nearest)

    def _nearest(self, word: str) -> str:
        """What `word` misspells, "" where that is nothing or it is a word itself.

        What follows a pack's stem is kept: "pneumotorax" is read as "pneumothorax".

        Args:
            word: In small letters, umlauts as "ae".
        """
        if len(word) < _SHORTEST or not word.isalpha() or word in _GERMAN:
            return ""
        found = [
            (distance, abs(len(word) - len(meant + rest)), meant + rest)
            for distance, meant, rest in self._near(word)
            if 0 < distance <= _allowed(meant) and _begins_alike(word, meant, distance)
        ]
        if not found or _is_word(word):
            return ""
        return min(found)[2]

    def _near(self, word: str) -> Iterator[tuple[int, str, str]]:
        for meant, distance, _ in _closest(word, self._words):
            yield int(distance), meant, ""
        for length, stems in self._stems.items():
            for begun in {word[: length + more] for more in (-1, 0, 1)}:
                if len(begun) >= length - 1 and len(begun) < len(word):
                    for meant, distance, _ in _closest(begun, stems):
                        yield int(distance), meant, word[len(begun) :]


def _closest(word: str, words: Sequence[str]) -> Sequence[tuple[str, float, int]]:
    return process.extract(word, words, scorer=OSA.distance, score_cutoff=2, limit=8)


def _allowed(literal: str) -> int:
    """How many letters of a word may be wrong, doubled, lost or swapped."""
    return 2 if len(literal) >= _LONG else 1


def _begins_alike(word: str, literal: str, distance: int) -> bool:
    """Whoever misspells a word seldom gets its first letter wrong; in a short one it is another."""
    if min(len(word), len(literal)) < _SAFE:
        return word[0] == literal[0] and sorted(word) == sorted(literal)
    if word[0] == literal[0] or word[:2] == literal[1::-1]:
        return True
    return distance == 1 and len(literal) >= 6


def _is_word(word: str) -> bool:
    known = english()
    return word in known or (word.endswith("s") and word[:-1] in known)


@lru_cache(maxsize=1)
def english() -> Collection[str]:
    """English words, read when the first doubtful one comes up."""
    text = files("symspellpy").joinpath(_LIST).read_text(encoding="utf-8-sig")
    return frozenset(line.partition(" ")[0] for line in text.splitlines())
