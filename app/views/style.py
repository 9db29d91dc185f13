"""Creates Qt's palette, style sheet and fonts from the design tokens."""

from __future__ import annotations

from dataclasses import asdict
from string import Template

from PySide6.QtGui import QColor, QFont, QFontDatabase, QPalette
from PySide6.QtWidgets import QApplication, QWidget

from app import paths
from app.log import get_logger
from app.views.theme import SPACE, THEME, TYPE, Space, Theme, Type

_log = get_logger(__name__)


def color(value: str, alpha: float = 1.0) -> QColor:
    """Return a colour token as a Qt colour with `alpha` from 0 (transparent) to 1 (opaque)."""
    result = QColor(value)
    result.setAlphaF(alpha)
    return result


def palette(theme: Theme = THEME) -> QPalette:
    """Return the palette, used where the style sheet has no rule (dialogs, selection, links)."""
    roles = QPalette.ColorRole
    result = QPalette()
    for role, value in (
        (roles.Window, theme.panel),
        (roles.Base, theme.raised),
        (roles.AlternateBase, theme.panel),
        (roles.Button, theme.raised),
        (roles.ToolTipBase, theme.raised),
        (roles.WindowText, theme.text),
        (roles.Text, theme.text),
        (roles.ButtonText, theme.text),
        (roles.ToolTipText, theme.text),
        (roles.BrightText, theme.error),
        (roles.PlaceholderText, theme.text_faint),
        (roles.Highlight, theme.accent),
        (roles.HighlightedText, theme.accent_text),
        (roles.Link, theme.accent),
        (roles.LinkVisited, theme.accent),
        (roles.Accent, theme.accent),
        (roles.Light, theme.border),
        (roles.Midlight, theme.border),
        (roles.Mid, theme.border),
        (roles.Dark, theme.window),
        (roles.Shadow, theme.canvas),
    ):
        result.setColor(role, QColor(value))
    for role in (roles.WindowText, roles.Text, roles.ButtonText):
        result.setColor(QPalette.ColorGroup.Disabled, role, QColor(theme.text_faint))
    return result


def stylesheet(theme: Theme = THEME, type_: Type = TYPE, space: Space = SPACE) -> str:
    """Return the style sheet with all tokens replaced by their values.

    Raises:
        KeyError: The template names a token that does not exist.
    """
    return _filled("sightline", asdict(theme) | asdict(type_) | asdict(space))


def part_sheet(name: str) -> str:
    """Return the style sheet of a part of the window, "chat" or "settings", in the theme."""
    return _filled(name, asdict(THEME) | asdict(TYPE) | asdict(SPACE))


def _filled(name: str, tokens: dict[str, object]) -> str:
    template = (paths.resources_dir() / "theme" / f"{name}.qss").read_text(encoding="utf-8")
    return Template(template).substitute(tokens)


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
    """Return the fixed-width font."""
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
    application.setStyleSheet(stylesheet())


def restyle(widget: QWidget) -> None:
    """Apply the style sheet again after a dynamic property of `widget` has changed."""
    widget.style().unpolish(widget)
    widget.style().polish(widget)
    widget.update()
