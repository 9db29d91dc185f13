"""Design tokens: colours, type scale and spacing. Dark, for a reading room.

Contrast of text on its background is at least 4.5:1 (WCAG AA). Accent colours differ in lightness
too, so that colour-blind readers can tell them apart.
"""

from __future__ import annotations

from dataclasses import dataclass

from app.imaging.label_colors import COLORS


@dataclass(frozen=True, slots=True)
class Theme:
    """The colours of the interface and of annotations, as #RRGGBB."""

    canvas: str = "#000000"  # behind images: true black, as on a diagnostic display
    window: str = "#0d1014"  # window background, and the gaps between panels
    panel: str = "#15191f"  # docks, lists
    raised: str = "#1d232b"  # cards, inputs
    hover: str = "#262d37"
    selected: str = "#1b3350"  # selected rows and cards, switched-on buttons
    border: str = "#2a323c"
    text: str = "#e6eaef"
    text_muted: str = "#9aa5b1"
    text_faint: str = "#7f8a96"
    accent: str = "#4aa8ff"  # actions, selection, focus
    accent_hover: str = "#74bdff"
    accent_text: str = "#04121f"
    ok: str = "#4cc38a"
    warning: str = "#f0b429"
    error: str = "#ff6b6b"
    synthetic: str = "#ff4fd8"  # the band of images that a model made: no such colour in any scan
    synthetic_text: str = "#1a0014"
    overlay_text: str = "#d7dee6"  # corner text on the image
    overlay_shade: str = "#000000"  # behind it, so that it reads on white bone too
    annotation: tuple[str, ...] = COLORS  # by `LabelColors`

    def annotation_color(self, index: int) -> str:
        """Return the colour for a label's index (from 0); colours repeat after the last one."""
        return self.annotation[index % len(self.annotation)]


@dataclass(frozen=True, slots=True)
class Type:
    """The font families, and the font sizes in px at 100% display scaling."""

    family: str = "Inter"
    mono: str = "JetBrains Mono"
    caption: int = 11
    body: int = 13
    label: int = 12
    title: int = 15
    heading: int = 20


@dataclass(frozen=True, slots=True)
class Space:
    """The spacings, corner radii and icon size in px."""

    xs: int = 4
    s: int = 8
    m: int = 12
    l: int = 16  # noqa: E741 - the usual name in a spacing scale
    xl: int = 24
    radius: int = 8
    radius_small: int = 6
    icon: int = 18


THEME = Theme()
TYPE = Type()
SPACE = Space()
