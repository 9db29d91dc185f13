"""One bar a disease: its probability, the range, where it began, and published thresholds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from PySide6.QtCore import QPointF, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QColor, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QAbstractButton, QScrollArea, QSizePolicy, QVBoxLayout, QWidget

from app.tools.diagnosis.differential import Differential
from app.tools.diagnosis.differential_tool import percent
from app.views.diagnosis.diagnosis_texts import range_text
from app.views.theme import SPACE, THEME, TYPE, color, ui_font
from app.views.translation import tr
from app.views.widgets import plain_tip

_HEIGHT, _BAR = 44, 10  # px
_MOST_SEEN = 4  # bars; more are scrolled to


@dataclass(frozen=True, slots=True)
class BarFigures:
    """The figures of a bar; probabilities from 0 to 1, thresholds None where none is published."""

    hypothesis: str
    name: str
    tint: str
    value: float
    low: float
    high: float
    prior: float
    test: float | None
    treatment: float | None


def bar_figures(differential: Differential) -> list[BarFigures]:
    """Return the bars of a differential, the likeliest first."""
    table = differential.presentation
    places = {key: place for place, key in enumerate(table.hypotheses)}
    found: list[BarFigures] = []
    for one in differential.probabilities:
        disease = table.hypotheses[one.hypothesis]
        test, treatment = disease.test_threshold, disease.treatment_threshold
        found.append(
            BarFigures(
                one.hypothesis,
                disease.name,
                THEME.annotation_color(places[one.hypothesis]),
                one.value,
                one.low,
                one.high,
                one.prior,
                test.value if test else None,
                treatment.value if treatment else None,
            )
        )
    return found


class ProbabilityBars(QScrollArea):
    """The bars; a click on one, or Space, tells its disease (`chosen`)."""

    chosen = Signal(str)

    def __init__(self) -> None:
        super().__init__()
        self.setWidgetResizable(True)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)  # its bars have it
        self.setFrameShape(QScrollArea.Shape.NoFrame)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.bars: list[ProbabilityBar] = []
        inner = QWidget()
        self._layout = QVBoxLayout(inner)
        self._layout.setContentsMargins(0, 0, 0, 0)
        self._layout.setSpacing(0)
        self.setWidget(inner)

    def show_figures(self, figures: Sequence[BarFigures]) -> None:
        """Show a bar for each disease."""
        while len(self.bars) < len(figures):
            bar = ProbabilityBar()
            bar.clicked.connect(lambda _on=False, bar=bar: self.chosen.emit(bar.hypothesis))
            self.bars.append(bar)
            self._layout.addWidget(bar)
        for bar in self.bars[len(figures) :]:
            bar.hide()
            bar.deleteLater()
        del self.bars[len(figures) :]
        for bar, one in zip(self.bars, figures, strict=True):
            bar.show_figures(one)
        self.setFixedHeight(_HEIGHT * min(len(figures), _MOST_SEEN))

    def mark(self, hypothesis: str) -> None:
        """Mark the bar of a disease, whose sources are shown; "" for none."""
        for bar in self.bars:
            bar.mark(bool(hypothesis) and bar.hypothesis == hypothesis)


class ProbabilityBar(QAbstractButton):
    """The bar of one disease, as a button."""

    def __init__(self) -> None:
        super().__init__()
        self.figures: BarFigures | None = None
        self._marked = False
        self.setFixedHeight(_HEIGHT)
        self.setCursor(Qt.CursorShape.PointingHandCursor)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setAttribute(Qt.WidgetAttribute.WA_Hover)

    @property
    def hypothesis(self) -> str:
        return self.figures.hypothesis if self.figures else ""

    def show_figures(self, figures: BarFigures) -> None:
        self.figures = figures
        self.setText(f"{figures.name}: {range_text(figures.value, figures.low, figures.high)}")
        lines = [self.text(), tr("Before any finding: {percent}")]
        lines[1] = lines[1].format(percent=percent(figures.prior))
        if figures.test is not None:
            text = tr("Below {percent} one stops testing")
            lines.append(text.format(percent=percent(figures.test)))
        if figures.treatment is not None:
            text = tr("Above {percent} one treats")
            lines.append(text.format(percent=percent(figures.treatment)))
        self.setAccessibleName(". ".join(lines))
        self.setToolTip(plain_tip("\n".join((*lines, tr("Click for the sources.")))))
        self.update()

    def mark(self, marked: bool) -> None:
        self._marked = marked
        self.update()

    def sizeHint(self) -> QSize:
        return QSize(200, _HEIGHT)

    def paintEvent(self, event: QPaintEvent) -> None:
        figures = self.figures
        if figures is None:
            return
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        if self._marked or self.underMouse():
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(QColor(THEME.selected if self._marked else THEME.hover))
            painter.drawRoundedRect(self.rect(), SPACE.radius_small, SPACE.radius_small)
        if self.hasFocus():
            painter.setPen(QPen(QColor(THEME.accent), 1.5))
            painter.setBrush(Qt.BrushStyle.NoBrush)
            frame = QRectF(self.rect()).adjusted(1, 1, -1, -1)
            painter.drawRoundedRect(frame, SPACE.radius_small, SPACE.radius_small)
        inside = self.rect().adjusted(SPACE.s, SPACE.xs, -SPACE.s, -SPACE.xs)
        self._paint_texts(painter, figures, QRectF(inside))
        top = inside.bottom() - _BAR - 3
        self._paint_bar(painter, figures, QRectF(inside.left(), top, inside.width(), _BAR))
        painter.end()

    def _paint_texts(self, painter: QPainter, figures: BarFigures, place: QRectF) -> None:
        middle = Qt.AlignmentFlag.AlignTop
        shown = range_text(figures.value, figures.low, figures.high)
        painter.setFont(ui_font(TYPE.label))
        painter.setPen(QColor(THEME.text))
        width = painter.fontMetrics().horizontalAdvance(shown)
        painter.drawText(place, int(middle | Qt.AlignmentFlag.AlignRight), shown)
        room = int(place.width() - width - SPACE.s)
        name = painter.fontMetrics().elidedText(figures.name, Qt.TextElideMode.ElideRight, room)
        painter.drawText(place, int(middle | Qt.AlignmentFlag.AlignLeft), name)

    def _paint_bar(self, painter: QPainter, figures: BarFigures, place: QRectF) -> None:
        def at(probability: float) -> float:
            return place.left() + probability * place.width()

        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(QColor(THEME.border))
        painter.drawRoundedRect(place, 3, 3)
        painter.setBrush(QColor(figures.tint))
        filled = QRectF(place.left(), place.top(), at(figures.value) - place.left(), _BAR)
        painter.drawRoundedRect(filled, 3, 3)
        painter.setBrush(color(THEME.text, 0.28))
        left, right = at(figures.low), at(figures.high)
        painter.drawRect(QRectF(left, place.top() + 2, max(right - left, 0), _BAR - 4))
        painter.setPen(QPen(QColor(THEME.text), 1.5))
        x = at(figures.value)
        painter.drawLine(QPointF(x, place.top() - 1), QPointF(x, place.bottom() + 1))
        painter.setBrush(QColor(THEME.panel))
        painter.drawEllipse(QPointF(at(figures.prior), place.center().y()), 3, 3)
        for threshold, tint in (
            (figures.test, THEME.warning),
            (figures.treatment, THEME.error),
        ):
            if threshold is not None:
                painter.setPen(QPen(QColor(tint), 2, Qt.PenStyle.DotLine))
                x = at(threshold)
                painter.drawLine(QPointF(x, place.top() - 4), QPointF(x, place.bottom() + 4))
