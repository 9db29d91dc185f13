"""Design tokens (colours, type scale, spacing) and the palette, style sheet and fonts made of them.

Contrast of text on its background is at least 4.5:1 (WCAG AA). Accent colours differ in lightness
too, so that colour-blind readers can tell them apart.

There are a dark and a light theme. `THEME` holds the colours of the one that is shown; `show`
replaces them in place. What paints with `THEME` is then right by itself. A colour that was taken
from it before, in a style sheet, a text document or a constant, is translated by `current`: every
colour that differs between the themes stands for one token. What is drawn on images uses `DARK`,
since images are on black in both themes.
"""

from __future__ import annotations

import re
from dataclasses import asdict, dataclass, fields
from functools import cache
from string import Template

from PySide6.QtCore import QObject, Qt, Signal
from PySide6.QtGui import (
    QColor,
    QFont,
    QFontDatabase,
    QPalette,
    QTextCharFormat,
    QTextCursor,
    QTextDocument,
)
from PySide6.QtWidgets import QApplication, QTextEdit, QWidget

from app import paths
from app.imaging.label_colors import COLORS
from app.log import get_logger


@dataclass(slots=True)
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


DARK = Theme()
"""The colours on images too, in both themes."""

LIGHT = Theme(
    window="#e7eaee",
    panel="#f6f7f9",
    raised="#ffffff",
    hover="#e4e9f0",
    selected="#d5e5f8",
    border="#c9d0d9",
    text="#171c22",
    text_muted="#47525f",
    text_faint="#56616e",
    accent="#0a5bb8",
    accent_hover="#08498f",
    accent_text="#fbfdff",
    ok="#17653f",
    warning="#7a4f00",
    error="#ad2119",
)

THEME = Theme()
"""The colours of the theme that is shown."""

TYPE = Type()
SPACE = Space()


_log = get_logger(__name__)

_COLOR = re.compile(r"#[0-9a-fA-F]{6}")
_MARKS = re.compile(r"-(dark|light)\.svg")  # arrows and ticks, which a style sheet cannot tint


class _Changes(QObject):
    changed = Signal()
    scheme = "dark"


@cache
def changes() -> _Changes:
    """Return the signal of theme changes; `scheme` is "dark", "light" or "system"."""
    return _Changes()


@cache
def _token_of() -> dict[str, str]:
    """Return the name of the token of each colour that differs between the themes."""
    names = [one.name for one in fields(Theme) if one.name != "annotation"]
    differing = [name for name in names if getattr(DARK, name) != getattr(LIGHT, name)]
    return {getattr(theme, name): name for theme in (DARK, LIGHT) for name in differing}


def current(value: str) -> str:
    """Return a colour of either theme as it is in the shown one; another colour unchanged."""
    token = _token_of().get(value)
    return value if token is None else str(getattr(THEME, token))


def current_sheet(sheet: str) -> str:
    """Return a style sheet with its colours as they are in the shown theme."""
    translated = _COLOR.sub(lambda found: current(found[0]), sheet)
    return _MARKS.sub(f"-{_marks()}.svg", translated)


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
    return template.substitute(tokens, theme_folder=folder.as_posix(), marks=_marks())


def is_light() -> bool:
    """Return whether the light theme is shown."""
    return THEME.window == LIGHT.window


def _marks() -> str:
    return "light" if is_light() else "dark"


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


def show(application: QApplication, scheme: str) -> None:
    """Show a theme in every window: "dark", "light" or "system", which follows the desktop."""
    follower, hints = _follower(application), application.styleHints()
    schemes = {"dark": Qt.ColorScheme.Dark, "light": Qt.ColorScheme.Light}
    changes().scheme = scheme
    asked = schemes.get(scheme, Qt.ColorScheme.Unknown)
    follower.active = asked is Qt.ColorScheme.Unknown
    hints.setColorScheme(asked)  # of file dialogs and frames, which the desktop draws
    follower.follow(hints.colorScheme() if follower.active else asked, asked=True)


class _Follower(QObject):
    """Shows the desktop's theme when that changes, while the user wants it followed."""

    def __init__(self, application: QApplication) -> None:
        super().__init__(application)
        self.active = False
        self._application = application
        application.styleHints().colorSchemeChanged.connect(self.follow)

    def follow(self, scheme: Qt.ColorScheme, *, asked: bool = False) -> None:
        """Show the theme of a scheme, if the user has `asked` for it or for the desktop's."""
        if self.active or asked:
            _use(self._application, LIGHT if scheme is Qt.ColorScheme.Light else DARK)


@cache
def _follower(application: QApplication) -> _Follower:
    return _Follower(application)


def _use(application: QApplication, theme: Theme) -> None:
    if theme.window == THEME.window:
        return
    for one in fields(Theme):
        setattr(THEME, one.name, getattr(theme, one.name))
    application.setPalette(palette())
    application.setStyleSheet(part_sheet("sightline"))
    for widget in application.allWidgets():
        sheet = widget.styleSheet()
        if sheet and (translated := current_sheet(sheet)) != sheet:
            widget.setStyleSheet(translated)
        if isinstance(widget, QTextEdit):
            _recolor(widget.document())
        widget.update()
    changes().changed.emit()


def _recolor(document: QTextDocument) -> None:
    """Give the written texts of a document the colours of the shown theme."""
    found: list[tuple[int, int, QTextCharFormat]] = []
    block = document.begin()
    while block.isValid():
        pieces = block.begin()
        while not pieces.atEnd():
            piece = pieces.fragment()
            form = _recolored(piece.charFormat())
            if form is not None:
                found.append((piece.position(), piece.length(), form))
            pieces += 1
        block = block.next()
    cursor = QTextCursor(document)
    cursor.beginEditBlock()
    for start, length, form in found:
        cursor.setPosition(start)
        cursor.setPosition(start + length, QTextCursor.MoveMode.KeepAnchor)
        cursor.setCharFormat(form)
    cursor.endEditBlock()


def _recolored(form: QTextCharFormat) -> QTextCharFormat | None:
    """Return a text format in the shown theme's colours; None if it has none of the other's."""
    properties = QTextCharFormat.Property
    result = QTextCharFormat(form)
    if form.hasProperty(properties.ForegroundBrush.value):
        result.setForeground(_translated(form.foreground().color()))
    if form.hasProperty(properties.BackgroundBrush.value):
        result.setBackground(_translated(form.background().color()))
    if form.hasProperty(properties.TextUnderlineColor.value):
        result.setUnderlineColor(_translated(form.underlineColor()))
    return result if result != form else None


def _translated(before: QColor) -> QColor:
    return color(current(before.name()), before.alphaF())


def restyle(widget: QWidget) -> None:
    """Apply the style sheet again after a dynamic property of `widget` has changed."""
    widget.style().unpolish(widget)
    widget.style().polish(widget)
    widget.update()
