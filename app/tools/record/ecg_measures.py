"""Measures an ECG: R peaks, intervals, P waves, and whether they are those of atrial fibrillation.

R peaks and the limits of waves come from NeuroKit2 (Makowski et al., Behav Res Methods 2021,
doi:10.3758/s13428-020-01516-y; waves by their prominence, Emrich et al., EUSIPCO 2024).

Atrial fibrillation needs both signs of the ESC guideline (Hindricks et al., Eur Heart J
2021;42:373): irregular RR intervals, and no P waves that repeat. Irregularity is the coefficient of
sample entropy with the limit -1.4 (Lake and Moorman, Am J Physiol Heart Circ Physiol 2011;300:
H319), made for as few as 12 beats. P waves repeat if the stretches before the QRS complexes are
alike: the share of their power that all have in common.

Runs in the model process only.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from typing import Any

import neurokit2 as nk
import numpy as np
from numpy.typing import NDArray
from scipy import ndimage

Floats = NDArray[np.float64]

LEAST_BEATS = 6
LEAST_SECONDS = 5.0
ENTROPY_LIMIT = -1.4
"""Coefficient of sample entropy at or above which RR intervals are those of fibrillation."""

ENTROPY_BEATS = 12
P_ALIKE = 0.5
"""Share of the power before the QRS that all beats have in common, from
which on P waves repeat."""
P_ABSENT = 0.3
REGULAR = 0.1
"""Standard deviation of RR intervals over their mean, below which a rhythm is called regular."""

_PREFERRED = ("II", "I", "V5", "V2", "MLII", "ECG")
_MOST_MINUTES = 10


def measure(samples: Floats, leads: Sequence[str], rate: float) -> dict[str, Any]:
    """Measure the ECG in [leads, samples] in mV at `rate` Hz.

    Returns:
        "measured" False with a "reason", or True with: "lead", "seconds", "beats", "r_peaks_s",
        "rr_ms", "rr_mean_ms", "rr_sd_ms", "rr_variation", "heart_rate", "regular", "entropy" (None
        with fewer than 12 intervals), "p_repeat" (None if it cannot be told), "p_upright",
        "pr_ms", "qrs_ms", "qt_ms", "qtc_fridericia_ms", "qtc_bazett_ms" (medians over beats, None
        where too few waves were found), "noise" and "wander" (in mV). Times are in ms or s.
    """
    number = _lead(leads)
    signal = samples[number][: int(rate * 60 * _MOST_MINUTES)]
    if not np.isfinite(signal).all():
        good = np.isfinite(signal)
        if good.mean() < 0.9:
            return _not("more than a tenth of the lead's samples are missing")
        places = np.arange(signal.size)
        signal = np.interp(places, places[good], signal[good])
    seconds = signal.size / rate
    if seconds < LEAST_SECONDS:
        return _not(
            f"the recording lasts {seconds:.1f} s, and at least {LEAST_SECONDS:g} s is needed"
        )
    if rate < 100:
        return _not(f"it was sampled at {rate:g} Hz, and at least 100 Hz is needed")
    if float(np.ptp(signal)) < 0.05:
        return _not("the lead is flat")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of empty slices, where no wave was found
        return _measured(signal, rate, leads[number], seconds)


def _not(reason: str) -> dict[str, Any]:
    return {"measured": False, "reason": reason}


def _lead(leads: Sequence[str]) -> int:
    names = [name.casefold() for name in leads]
    return next((names.index(one.casefold()) for one in _PREFERRED if one.casefold() in names), 0)


def _measured(signal: Floats, rate: float, lead: str, seconds: float) -> dict[str, Any]:
    whole = round(rate)
    cleaned = np.asarray(nk.ecg_clean(signal, sampling_rate=whole), np.float64)
    try:
        _, found = nk.ecg_peaks(cleaned, sampling_rate=whole, correct_artifacts=False)
        peaks = np.asarray(found["ECG_R_Peaks"], np.int64)
    except (ValueError, IndexError, KeyError, ZeroDivisionError):
        peaks = np.empty(0, np.int64)
    if peaks.size < LEAST_BEATS:
        return _not(f"{peaks.size} R peaks were found, and at least {LEAST_BEATS} are needed")
    rr = np.diff(peaks) / rate * 1000
    mean = float(rr.mean())
    variation = float(rr.std(ddof=1) / mean)
    waves = _waves(cleaned, peaks, whole)
    intervals = _intervals(waves, rate, mean)
    correlation, upright = _p_waves(cleaned, peaks, waves, rate, mean)
    smooth = np.asarray(nk.signal_smooth(signal, method="convolution", size=max(3, whole // 100)))
    return {
        "measured": True,
        "lead": lead,
        "seconds": seconds,
        "beats": int(peaks.size),
        "r_peaks_s": (peaks / rate).tolist(),
        "rr_ms": rr.tolist(),
        "rr_mean_ms": mean,
        "rr_sd_ms": float(rr.std(ddof=1)),
        "rr_variation": variation,
        "heart_rate": 60000 / mean,
        "regular": variation < REGULAR,
        "entropy": coefficient_of_sample_entropy(rr) if rr.size >= ENTROPY_BEATS else None,
        "p_repeat": correlation,
        "p_upright": upright,
        **intervals,
        "noise": float(np.std(signal - smooth)),
        "wander": float(np.std(signal - cleaned)),
    }


def _waves(cleaned: Floats, peaks: NDArray[np.int64], rate: int) -> dict[str, Floats]:
    """Return the samples at which waves start, peak and end, one a beat, NaN for none."""
    try:
        _, found = nk.ecg_delineate(cleaned, peaks, sampling_rate=rate, method="prominence")
    except (ValueError, IndexError, KeyError, ZeroDivisionError, TypeError):
        return {}
    waves = {name: np.asarray(places, np.float64) for name, places in found.items()}
    return {name: places for name, places in waves.items() if places.size == peaks.size}


def _median(values: Floats) -> float | None:
    """Return the median in ms of at least half of the beats, None if fewer were found."""
    good = values[np.isfinite(values)]
    if good.size < max(3, values.size / 2):
        return None
    return float(np.median(good))


def _intervals(waves: dict[str, Floats], rate: float, rr_ms: float) -> dict[str, Any]:
    def between(start: str, end: str, low: float, high: float) -> float | None:
        if start not in waves or end not in waves:
            return None
        lengths = (waves[end] - waves[start]) / rate * 1000
        return _median(np.where((lengths >= low) & (lengths <= high), lengths, np.nan))

    qt = between("ECG_R_Onsets", "ECG_T_Offsets", 200, 700)
    return {
        "pr_ms": between("ECG_P_Onsets", "ECG_R_Onsets", 60, 400),
        "qrs_ms": between("ECG_R_Onsets", "ECG_R_Offsets", 40, 250),
        "qt_ms": qt,
        "qtc_fridericia_ms": qt / (rr_ms / 1000) ** (1 / 3) if qt else None,
        "qtc_bazett_ms": qt / math.sqrt(rr_ms / 1000) if qt else None,
    }


def _p_waves(
    cleaned: Floats, peaks: NDArray[np.int64], waves: dict[str, Floats], rate: float, rr_ms: float
) -> tuple[float | None, bool | None]:
    """Return how alike the stretches before the QRS complexes are, and whether they bulge upwards.

    The stretch ends 10 ms before the usual onset of the QRS complex. It starts 220 ms earlier, or
    less at high rates, so that it does not reach the T wave before.
    """
    onset = 0.05 * rate
    if "ECG_R_Onsets" in waves:
        leads = peaks - waves["ECG_R_Onsets"]
        good = leads[np.isfinite(leads) & (leads > 0) & (leads < 0.12 * rate)]
        onset = float(np.median(good)) if good.size else onset
    end = round(onset + 0.01 * rate)
    length = round(min(0.22, rr_ms / 1000 - 0.33) * rate)
    if length < 0.08 * rate:
        return None, None
    parts = [cleaned[p - end - length : p - end] for p in peaks if p - end - length >= 0]
    if len(parts) < LEAST_BEATS - 1:
        return None, None
    # Muscle noise is smoothed away over 20 ms; a P wave lasts five times as long.
    stretches = ndimage.uniform_filter1d(np.array(parts), max(1, round(0.02 * rate)), axis=1)
    average = stretches.mean(0) - np.median(stretches.mean(0))
    upright = bool(average.max() > -average.min())
    # Without offset and slope: neither the baseline nor the end of the T wave is a P wave.
    x = np.linspace(-1, 1, length)
    stretches = stretches - stretches.mean(1, keepdims=True)
    slopes = stretches @ x / (x @ x)
    stretches = stretches - slopes[:, None] * x
    average = stretches.mean(0)
    power, common = float((stretches**2).mean()), float((average**2).mean())
    if power <= 0:
        return None, None
    # Of N unrelated stretches, 1/N of the power is common by chance.
    count = len(stretches)
    shared = (count * common / power - 1) / (count - 1)
    return shared, upright


def coefficient_of_sample_entropy(rr_ms: Floats) -> float:
    """Return the coefficient of sample entropy (COSEn) of RR intervals in ms.

    Lake and Moorman 2011: sample entropy with m = 1 and a tolerance r that starts at 30 ms and
    grows until at least 5 pairs of templates of length 2 match; then ln(2 r) is added and the
    logarithm of the mean interval subtracted, all in the same unit.
    """
    one = np.abs(rr_ms[:-1, None] - rr_ms[None, :-1])
    next_one = np.abs(rr_ms[1:, None] - rr_ms[None, 1:])
    upper = np.triu_indices(rr_ms.size - 1, 1)
    first, second = one[upper], np.maximum(one, next_one)[upper]
    r = 30.0
    while int((second < r).sum()) < 5 and r < 5000:
        r += 5.0
    matches, longer = int((first < r).sum()), int((second < r).sum())
    entropy = math.log(matches / max(longer, 1))
    return entropy + math.log(2 * r) - math.log(float(rr_ms.mean()))


def judged_fibrillation(measured: dict[str, Any]) -> tuple[bool | None, str]:
    """Return whether the measures are those of atrial fibrillation, None if that is open, and why.

    Both signs are needed: irregular RR intervals (entropy) and no repeating P waves.
    """
    entropy, p = measured["entropy"], measured["p_repeat"]
    if entropy is None:
        if measured["regular"] and p is not None and p >= P_ALIKE:
            return False, "the RR intervals are regular and P waves repeat before the QRS complexes"
        return (
            None,
            f"fewer than {ENTROPY_BEATS} RR intervals: too few for the irregularity measure",
        )
    irregular = entropy >= ENTROPY_LIMIT
    said = f"coefficient of sample entropy {entropy:.2f} (limit {ENTROPY_LIMIT:g})"
    if not irregular:
        return False, f"the RR intervals are not irregular enough: {said}"
    if p is None:
        return None, f"irregular RR intervals ({said}), but P waves cannot be judged at this rate"
    if p >= P_ALIKE:
        return False, f"irregular RR intervals ({said}), but P waves repeat (share {p:.2f})"
    if p > P_ABSENT:
        return None, f"irregular RR intervals ({said}); P waves are uncertain (share {p:.2f})"
    return True, f"irregular RR intervals ({said}) and no repeating P waves (share {p:.2f})"
