"""Icons: Lucide outlines (ISC), tinted with theme colours when they are drawn.

One SVG serves every state and every pixel density; nothing is stored as a bitmap.
"""

from __future__ import annotations

from functools import cache, lru_cache

from PySide6.QtCore import QByteArray, QRect, QRectF, QSize, Qt
from PySide6.QtGui import QIcon, QIconEngine, QPainter, QPixmap
from PySide6.QtSvg import QSvgRenderer

from app import paths
from app.views.theme import THEME, current

MARK = "sightline"


@lru_cache(maxsize=256)
def _source(name: str) -> str:
    return (paths.resources_dir() / "icons" / f"{name}.svg").read_text(encoding="utf-8")


@lru_cache(maxsize=256)
def _renderer(name: str, tint: str) -> QSvgRenderer:
    text = (
        _source(name)
        .replace("currentColor", tint)
        .replace('stroke-width="2"', 'stroke-width="1.75"')
    )
    return QSvgRenderer(QByteArray(text.encode()))


class _SvgEngine(QIconEngine):
    """Draws one icon at any size and density."""

    def __init__(self, name: str, tint: str, on_tint: str, off_tint: str) -> None:
        super().__init__()
        self._name = name
        self._tint = tint
        self._on_tint = on_tint
        self._off_tint = off_tint

    def _color(self, mode: QIcon.Mode, state: QIcon.State) -> str:
        if mode == QIcon.Mode.Disabled:
            return current(self._off_tint)
        return current(self._on_tint if state == QIcon.State.On else self._tint)

    def paint(self, painter: QPainter, rect: QRect, mode: QIcon.Mode, state: QIcon.State) -> None:
        _renderer(self._name, self._color(mode, state)).render(painter, QRectF(rect))

    def pixmap(self, size: QSize, mode: QIcon.Mode, state: QIcon.State) -> QPixmap:
        return self.scaledPixmap(size, mode, state, 1.0)

    def scaledPixmap(
        self, size: QSize, mode: QIcon.Mode, state: QIcon.State, scale: float
    ) -> QPixmap:
        # `size` is in device pixels already; the caller sets the pixmap's ratio.
        result = QPixmap(size)
        if size.isEmpty():
            return result  # a button without room asks for it, and none can be painted on
        result.fill(Qt.GlobalColor.transparent)
        painter = QPainter(result)
        self.paint(painter, QRect(0, 0, size.width(), size.height()), mode, state)
        painter.end()
        return result

    def clone(self) -> QIconEngine:
        return _SvgEngine(self._name, self._tint, self._on_tint, self._off_tint)


@cache  # there are few, and bars ask for theirs with every change
def icon(
    name: str,
    tint: str = THEME.text_muted,
    on_tint: str = THEME.accent,
    off_tint: str = THEME.border,
) -> QIcon:
    """Return the icon `name` of resources/icons, in the colours of whichever theme is shown.

    Its colour is `on_tint` in a checked button and `off_tint` in a disabled one.

    Raises:
        FileNotFoundError: There is no such icon.
    """
    _source(name)
    return QIcon(_SvgEngine(name, tint, on_tint, off_tint))


def draw(painter: QPainter, name: str, rect: QRect, tint: str = THEME.text_muted) -> None:
    """Draw an icon into `rect` in the colour `tint`, sharp at any pixel density."""
    _renderer(name, current(tint)).render(painter, QRectF(rect))
