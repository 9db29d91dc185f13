"""Scores of the nervous system: Glasgow Coma Scale and NIH Stroke Scale."""

from __future__ import annotations

import math

from app.tools.record.scores.engine import Band, Item, Paper, Scheme, Score, chosen
from app.tools.record.scores.inputs import Input

_LOW = -math.inf


def _scale(name: str, label: str, labels: tuple[str, ...], first: int = 0) -> Input:
    """Return a choice of numbered answers, `first` being the lowest."""
    return Input(name, label, "choice", choices=tuple(
        (str(at), text) for at, text in enumerate(labels, first)
    ))  # fmt: skip


def _by_number(one: Input, title: str) -> Item:
    """Return an item whose points are the number of the choice."""
    points = {
        value: (float(value), label) if value != "UN" else
        (0.0, "untestable: not added, as the scale's rules say")
        for value, label in one.choices
    }  # fmt: skip
    return chosen(one.name, title, points)


_EYE = _scale("eye", "Eye opening", ("none", "to pressure (pain)", "to sound", "spontaneous"), 1)
_VERBAL = _scale(
    "verbal", "Verbal response", ("none", "sounds", "words", "confused", "orientated"), 1
)
_MOTOR = _scale(
    "motor",
    "Best motor response",
    (
        "none",
        "extension",
        "abnormal flexion",
        "normal flexion (withdrawal)",
        "localising",
        "obeys commands",
    ),
    1,
)

GCS = Score(
    name="gcs",
    title="Glasgow Coma Scale",
    other_names=("glasgow coma scale", "glasgow coma score"),
    inputs=(_EYE, _VERBAL, _MOTOR),
    items=(
        _by_number(_EYE, "Eye opening"),
        _by_number(_VERBAL, "Verbal response"),
        _by_number(_MOTOR, "Motor response"),
    ),
    papers=(
        Paper(
            "Teasdale G, Jennett B. Assessment of coma and impaired consciousness: a practical "
            "scale. Lancet 1974;304:81-4.",
            "10.1016/S0140-6736(74)91639-0",
        ),
        Paper(
            "Teasdale G, Maas A, Lecky F, Manley G, Stocchetti N, Murray G. The Glasgow Coma Scale "
            "at 40 years: standing the test of time. Lancet Neurol 2014;13:844-54.",
            "10.1016/S1474-4422(14)70120-6",
        ),
    ),
    schemes=(
        Scheme(
            "usual grouping of head injuries (Teasdale 2014)",
            (Band(_LOW, "severe"), Band(9, "moderate"), Band(13, "mild")),
        ),
    ),
    limits=(
        "A part that cannot be tested (intubated, eyes swollen shut) is left out, and no total is "
        "then stated. Children under 5 need the paediatric scale."
    ),
    youngest=5,
    days=1,
)

_ARM = ("no drift", "drift", "some effort against gravity", "no effort against gravity",
        "no movement")  # fmt: skip


def _limb(name: str, label: str) -> Input:
    scale = _scale(name, label, _ARM)
    untestable = ("UN", "amputation or joint fusion: untestable")
    return Input(name, label, "choice", choices=(*scale.choices, untestable))


def _or_untestable(one: Input, why: str) -> Input:
    return Input(one.name, one.label, "choice", choices=(*one.choices, ("UN", why)))


_NIHSS = (
    _scale("consciousness", "1a Level of consciousness", (
        "alert", "not alert, arousable by minor stimulation",
        "not alert, needs repeated stimulation", "reflex responses only or unresponsive")),
    _scale("loc_questions", "1b Questions (month, age)", (
        "both right", "one right", "neither right")),
    _scale("loc_commands", "1c Commands (open and close eyes, grip)", (
        "both done", "one done", "neither done")),
    _scale("gaze", "2 Best gaze", ("normal", "partial gaze palsy", "forced deviation")),
    _scale("visual", "3 Visual fields", (
        "no loss", "partial hemianopia", "complete hemianopia", "bilateral hemianopia")),
    _scale("facial_palsy", "4 Facial palsy", (
        "normal", "minor", "partial", "complete on one or both sides")),
    _limb("left_arm", "5a Motor, left arm"),
    _limb("right_arm", "5b Motor, right arm"),
    _limb("left_leg", "6a Motor, left leg"),
    _limb("right_leg", "6b Motor, right leg"),
    _or_untestable(_scale("ataxia", "7 Limb ataxia", ("absent", "in one limb", "in two limbs")),
                   "amputation or joint fusion: untestable"),
    _scale("sensory", "8 Sensory", ("normal", "mild to moderate loss", "severe or total loss")),
    _scale("language", "9 Best language", (
        "no aphasia", "mild to moderate aphasia", "severe aphasia", "mute, global aphasia")),
    _or_untestable(_scale("dysarthria", "10 Dysarthria", (
        "normal", "mild to moderate", "severe")), "intubated or other barrier: untestable"),
    _scale("neglect", "11 Extinction and inattention", (
        "no abnormality", "in one modality", "profound, in more than one modality")),
)  # fmt: skip

NIHSS = Score(
    name="nihss",
    title="NIH Stroke Scale",
    other_names=("nih stroke scale", "nihss score"),
    inputs=_NIHSS,
    items=tuple(_by_number(one, one.label) for one in _NIHSS),
    papers=(
        Paper(
            "Brott T, Adams HP, Olinger CP, et al. Measurements of acute cerebral infarction: a "
            "clinical examination scale. Stroke 1989;20:864-70.",
            "10.1161/01.STR.20.7.864",
        ),
        Paper(
            "Adams HP, Davis PH, Leira EC, et al. Baseline NIH Stroke Scale score strongly "
            "predicts outcome after stroke. Neurology 1999;53:126-31.",
            "10.1212/WNL.53.1.126",
        ),
    ),
    schemes=(
        Scheme(
            "usual grouping",
            (
                Band(_LOW, "no stroke symptoms"),
                Band(1, "minor stroke"),
                Band(5, "moderate stroke"),
                Band(16, "moderate to severe stroke"),
                Band(21, "severe stroke"),
            ),
        ),
        Scheme(
            "Adams 1999",
            (
                Band(_LOW, "6 or less", "forecasts a good recovery"),
                Band(7, "7 to 15"),
                Band(16, "16 or more", "forecasts a high risk of death or severe disability"),
            ),
        ),
    ),
    limits=(
        "Limb items are named by the patient's own side. The scale weighs dominant-hemisphere "
        "signs more and measures strokes of the posterior circulation poorly."
    ),
    youngest=18,
    days=1,
)  # fmt: skip

SCORES = (GCS, NIHSS)
