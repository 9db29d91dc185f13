"""The look: colours, type scale and spacing, in one place. Dark by default, for a reading room.

Contrast of text on its background is at least 4.5:1 (WCAG AA); accent colours differ in lightness
too, so that they stay apart for colour-blind readers.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Theme:
    """Design tokens. Colours are #RRGGBB."""

    canvas: str = "#000000"  # behind images: true black, as on a diagnostic display
    window: str = "#101317"  # window background
    panel: str = "#171b21"  # docks, lists
    raised: str = "#1f252d"  # cards, inputs, hovered rows
    border: str = "#2b333d"
    text: str = "#e6eaef"
    text_muted: str = "#9aa5b1"
    text_faint: str = "#76818d"
    accent: str = "#4aa8ff"  # actions, selection, focus
    accent_text: str = "#04121f"
    ok: str = "#4cc38a"
    warning: str = "#f0b429"
    error: str = "#ff6b6b"
    overlay_text: str = "#d7dee6"  # corner text on the image
    annotation: tuple[str, ...] = (
        "#4cc9f0",  # right lung
        "#80ed99",  # left lung
        "#ff8fa3",  # heart
        "#ffd166",
        "#c8a2ff",
        "#ff9f6b",
        "#6be4d0",
        "#f4a8ff",
    )


@dataclass(frozen=True, slots=True)
class Type:
    """Type scale in px at 100% scaling; family falls back to the system's."""

    family: str = "Inter"
    mono: str = "JetBrains Mono"
    caption: int = 11
    body: int = 13
    label: int = 12
    title: int = 15
    heading: int = 20


@dataclass(frozen=True, slots=True)
class Space:
    """Spacing scale in px."""

    xs: int = 4
    s: int = 8
    m: int = 12
    l: int = 16  # noqa: E741 - the usual name in a spacing scale
    xl: int = 24
    radius: int = 8


THEME = Theme()
TYPE = Type()
SPACE = Space()
