"""Design tokens (colours, type scale, spacing) and the palette, style sheet and fonts made of them.

Contrast of text on its background is at least 4.5:1 (WCAG AA). Accent colours differ in lightness
too, so that colour-blind readers can tell them apart.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from string import Template

from PySide6.QtGui import QColor, QFont, QFontDatabase, QPalette
from PySide6.QtWidgets import QApplication, QWidget

from app import paths
from app.imaging.label_colors import COLORS
from app.log import get_logger


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


_log = get_logger(__name__)


def color(value: str, alpha: float = 1.0) -> QColor:
    """Return a colour token as a Qt colour with `alpha` from 0 (transparent) to 1 (opaque)."""
    result = QColor(value)
    result.setAlphaF(alpha)
    return result


def palette() -> QPalette:
    """Return the palette, used where the style sheet has no rule (dialogs, selection, links)."""
    roles = QPalette.ColorRole
    result = QPalette()
    for role, value in (
        (roles.Window, THEME.panel),
        (roles.Base, THEME.raised),
        (roles.AlternateBase, THEME.panel),
        (roles.Button, THEME.raised),
        (roles.ToolTipBase, THEME.raised),
        (roles.WindowText, THEME.text),
        (roles.Text, THEME.text),
        (roles.ButtonText, THEME.text),
        (roles.ToolTipText, THEME.text),
        (roles.BrightText, THEME.error),
        (roles.PlaceholderText, THEME.text_faint),
        (roles.Highlight, THEME.accent),
        (roles.HighlightedText, THEME.accent_text),
        (roles.Link, THEME.accent),
        (roles.LinkVisited, THEME.accent),
        (roles.Accent, THEME.accent),
        (roles.Light, THEME.border),
        (roles.Midlight, THEME.border),
        (roles.Mid, THEME.border),
        (roles.Dark, THEME.window),
        (roles.Shadow, THEME.canvas),
    ):
        result.setColor(role, QColor(value))
    for role in (roles.WindowText, roles.Text, roles.ButtonText):
        result.setColor(QPalette.ColorGroup.Disabled, role, QColor(THEME.text_faint))
    return result


def part_sheet(name: str) -> str:
    """Return the style sheet `name` with the theme's values: "sightline", "chat" or "settings".

    Raises:
        KeyError: The style sheet's file names a value that the theme does not have.
    """
    folder = paths.resources_dir() / "theme"
    template = Template((folder / f"{name}.qss").read_text(encoding="utf-8"))
    tokens = asdict(THEME) | asdict(TYPE) | asdict(SPACE)
    return template.substitute(tokens, theme_folder=folder.as_posix())


def load_fonts() -> None:
    """Register the bundled fonts; without them Qt falls back to the system's own."""
    for file in sorted((paths.resources_dir() / "fonts").glob("*.[ot]tf")):
        if QFontDatabase.addApplicationFont(str(file)) < 0:
            _log.warning("font %s could not be loaded", file.name)


def ui_font(pixels: int = TYPE.body, weight: QFont.Weight = QFont.Weight.Normal) -> QFont:
    """Return the interface font in a size of `pixels` px."""
    font = QFont(TYPE.family)
    font.setPixelSize(pixels)
    font.setWeight(weight)
    font.setStyleHint(QFont.StyleHint.SansSerif)
    # Full hinting distorts Inter's letter shapes at small sizes.
    font.setHintingPreference(QFont.HintingPreference.PreferVerticalHinting)
    return font


def mono_font(pixels: int = TYPE.label) -> QFont:
    """Return the fixed-width font in a size of `pixels` px."""
    font = QFont(TYPE.mono)
    font.setPixelSize(pixels)
    font.setStyleHint(QFont.StyleHint.Monospace)
    font.setHintingPreference(QFont.HintingPreference.PreferVerticalHinting)
    return font


def apply(application: QApplication) -> None:
    """Apply fonts, palette and style sheet to the application."""
    load_fonts()
    application.setStyle("Fusion")
    application.setPalette(palette())
    application.setFont(ui_font())
    application.setStyleSheet(part_sheet("sightline"))


def restyle(widget: QWidget) -> None:
    """Apply the style sheet again after a dynamic property of `widget` has changed."""
    widget.style().unpolish(widget)
    widget.style().polish(widget)
    widget.update()
