"""The page of a differential: bars, and tabs of findings, steps, tests and sources."""

from __future__ import annotations

from PySide6.QtCore import QSignalBlocker, Qt, Signal
from PySide6.QtWidgets import QSplitter, QTabWidget, QWidget

from app.tools.diagnosis.differential import Differential, Evidence
from app.views.diagnosis.diagnosis_texts import (
    finding_rows,
    gain_rows,
    moves_nothing_text,
    sources_text,
    step_rows,
)
from app.views.diagnosis.lists import FindingStates, RowList
from app.views.diagnosis.probability_bars import ProbabilityBars, bar_figures
from app.views.diagnosis.step_chart import StepChart
from app.views.layouts import column, row
from app.views.text_view import PlainTextBrowser
from app.views.theme import SPACE
from app.views.translation import tr
from app.views.widgets import label, number_field, plain_tip, push_button, search_field, tool_button
from app.views.wording import DOT
from app.workspace.diagnosis import OpenDiagnosis

_CHART_HEIGHT = 170  # px at first
_TABS = "QTabBar::tab { padding: 7px 8px; }"
_FINDINGS, _STEPS, _NEXT, _SOURCES = range(4)


class DifferentialPage(QWidget):
    """Shows a differential, and lets the user set findings and priors.

    `finding_wanted` and `entry_wanted` ask to show what evidence rests on: a finding on an image,
    or an entry of the record, by id.
    """

    finding_wanted = Signal(str)
    entry_wanted = Signal(str)

    def __init__(self, diagnosis: OpenDiagnosis) -> None:
        super().__init__()
        self._diagnosis = diagnosis
        self._prefixes: tuple[Differential, ...] = ()
        self._disease = ""  # whose sources are shown
        self.population = label("", "muted", wrap=True)
        self.bars = ProbabilityBars()
        self.bars.chosen.connect(self.show_sources)
        self.legend = label("", "caption", wrap=True)
        self.tabs = QTabWidget()
        self.tabs.setDocumentMode(True)
        self.tabs.tabBar().setAccessibleName(tr("Parts of the differential"))
        self.tabs.tabBar().setExpanding(False)
        self.tabs.tabBar().setStyleSheet(_TABS)
        self._lists: dict[int, RowList] = {}  # of the tabs that were made, by their place
        self._makers = (self._make_findings, self._make_steps, self._make_next, self._make_sources)
        self._parts = [QWidget() for _ in self._makers]
        names = (tr("Findings"), tr("Steps"), tr("What next"), tr("Sources"))
        for part, name in zip(self._parts, names, strict=True):
            self.tabs.addTab(part, name)
        self.tabs.currentChanged.connect(lambda _place: self._fill_tab())
        self.show_link = push_button(tr("Show on the image"), self._follow_link)
        self.take_back = push_button(tr("Take back what I set"), self._take_back)
        buttons = row(self.show_link, self.take_back, 1)
        parts = (self.population, self.bars, self.legend, (self.tabs, 1), buttons)
        column(*parts, spacing=SPACE.xs, parent=self)

    def _made(self, place: int) -> bool:
        """Return whether a tab was made: each is when it is shown first, to stall nobody."""
        return self._parts[place].layout() is not None

    def _make_findings(self, part: QWidget) -> None:
        self.filter = search_field(tr("Search the findings"))
        self.filter.textChanged.connect(lambda _text: self._fill_tab())
        self.findings = self._lists[_FINDINGS] = FindingStates()
        self.findings.state_wanted.connect(self._diagnosis.set_finding)
        self.findings.chosen.connect(lambda _key: self._offer_link())
        self.words = label("", "caption", wrap=True)
        margins = (0, SPACE.s, 0, 0)
        column(self.filter, (self.findings, 1), self.words, margins=margins, parent=part)

    def _make_steps(self, part: QWidget) -> None:
        self.chart = StepChart()
        self.chart.step_clicked.connect(self.show_step)
        self.steps = self._lists[_STEPS] = RowList(tr("Steps"))
        self.steps.chosen.connect(lambda _key: self._draw_steps())
        parts = QSplitter(Qt.Orientation.Vertical)
        parts.setChildrenCollapsible(False)
        parts.addWidget(self.chart)
        parts.addWidget(self.steps)
        parts.setStretchFactor(1, 1)
        parts.setSizes([_CHART_HEIGHT, 2 * _CHART_HEIGHT])
        column(parts, parent=part)

    def _make_next(self, part: QWidget) -> None:
        title = label(tr("What would change my mind"), "strong", wrap=True)
        self.entropy = label("", "caption", wrap=True)
        self.gains = self._lists[_NEXT] = RowList(tr("What would change my mind"))
        margins = (0, SPACE.s, 0, 0)
        column(title, self.entropy, (self.gains, 1), margins=margins, parent=part)

    def _make_sources(self, part: QWidget) -> None:
        self.disease = label("", "strong", wrap=True)
        self.prior = number_field(tr("Probability before any finding, in per cent"))
        self.prior.setToolTip(plain_tip(tr("Probability before any finding, in per cent")))
        self.prior.setDecimals(2)
        self.prior.setRange(0.01, 99.99)
        self.prior.setSuffix(" %")
        self.prior.setKeyboardTracking(False)
        self.prior.valueChanged.connect(
            lambda value: self._diagnosis.set_prior(self._disease, value / 100)
        )
        self.reset = tool_button(
            "undo-2",
            tr("Take the table's probability again"),
            lambda: self._diagnosis.set_prior(self._disease, None),
        )
        self.sources = PlainTextBrowser()
        self.sources.setAccessibleName(tr("Sources"))
        copy = push_button(tr("Copy"), self.sources.copy_all)
        before = row(label(tr("Before any finding"), "muted"), self.prior, self.reset, 1)
        parts = (self.disease, before, (self.sources, 1), row(1, copy))
        column(*parts, margins=(0, SPACE.s, 0, 0), parent=part)

    # What is shown

    def show_now(self) -> None:
        """Show the differential as it is now."""
        table, differential = self._diagnosis.presentation, self._diagnosis.differential
        self.population.setText(table.population if table is not None else "")
        self._prefixes = differential.prefixes() if differential is not None else ()
        self._show_bars()
        self._fill_tab()

    def forget(self) -> None:
        """Forget what is shown of a patient."""
        self._disease, self._prefixes = "", ()
        if self._made(_FINDINGS):
            self.filter.clear()
            self.findings.show_rows([])
        self._clear()

    def _clear(self) -> None:
        """Show nothing that is computed."""
        for place in (_STEPS, _NEXT):
            if self._made(place):
                self._lists[place].show_rows([])
        if self._made(_STEPS):
            self.chart.clear()
        if self._made(_SOURCES):
            self.sources.clear()

    @property
    def busy(self) -> bool:
        return self._made(_STEPS) and self.chart.busy

    def restyle(self) -> None:
        """Draw the chart in the theme's colours."""
        if self._made(_STEPS):
            self.chart.restyle()

    def close_models(self) -> None:
        """Delete the chart; call before the window is destroyed."""
        if self._made(_STEPS):
            self.chart.close_models()

    def show_sources(self, hypothesis: str) -> None:
        """Show what the probability of a disease rests on."""
        self._disease = hypothesis
        self.tabs.setCurrentIndex(_SOURCES)
        self._fill_tab()

    def show_step(self, step: int) -> None:
        """Show the evidence of a step; 0 is before any finding."""
        if 0 <= step < len(self.steps.texts.rows):
            self.steps.choose(self.steps.texts.rows[step].key)
            self._draw_steps()

    def _show_bars(self) -> None:
        differential = self._diagnosis.differential
        figures = bar_figures(differential) if differential is not None else []
        if self._disease not in [one.hypothesis for one in figures]:
            self._disease = figures[0].hypothesis if figures else ""
        self.bars.show_figures(figures)
        parts = [tr("○ before any finding")]
        if any(one.low < one.value or one.value < one.high for one in figures):
            parts.append(tr("grey: range of the published intervals"))
        if any(one.test or one.treatment for one in figures):
            parts.append(tr("dotted: thresholds to test and to treat"))
        self.legend.setText(DOT.join(parts))
        self.legend.setVisible(bool(figures))

    def _fill_tab(self) -> None:
        """Show what the tab in front has to show."""
        diagnosis, table = self._diagnosis, self._diagnosis.presentation
        differential, tab = diagnosis.differential, self.tabs.currentIndex()
        if table is None:
            return
        if not self._made(tab):
            self._makers[tab](self._parts[tab])
        if tab == _FINDINGS:
            text = self.filter.text()
            self.findings.show_rows(finding_rows(table, diagnosis.evidence, differential, text))
            words = moves_nothing_text(differential) if differential is not None else ""
            self.words.setText(words)
            self.words.setVisible(bool(words))
        elif differential is None:
            self._clear()
        elif tab == _STEPS:
            self.steps.show_rows(step_rows(self._prefixes))
            if not self.steps.currentIndex().isValid():
                self.steps.choose(self.steps.texts.rows[-1].key)
            self._draw_steps()
        elif tab == _NEXT:
            self.gains.show_rows(gain_rows(differential, differential.next_findings()))
            text = tr("Uncertainty now: {bits} bits. The tests by what they are expected to tell:")
            self.entropy.setText(text.format(bits=f"{differential.entropy:.2f}"))
        elif self._disease:
            self._show_prior(differential)
            self.sources.setPlainText(sources_text(differential, self._disease))
        self._show_marked()
        self._offer_link()

    def _show_marked(self) -> None:
        on_sources = self.tabs.currentIndex() == _SOURCES
        self.bars.mark(self._disease if on_sources else "")

    def _show_prior(self, differential: Differential) -> None:
        self.disease.setText(differential.presentation.hypotheses[self._disease].name)
        with QSignalBlocker(self.prior):
            self.prior.setValue(100 * differential.probability(self._disease).prior)
        self.reset.setEnabled(self._diagnosis.own_prior(self._disease))

    def _draw_steps(self) -> None:
        if self._prefixes:
            step = max(self.steps.currentIndex().row(), 0)
            self.chart.show_steps(self._prefixes, step)
        self._offer_link()

    # What evidence rests on

    def _current(self) -> tuple[str, Evidence | None]:
        """Return the finding of the current row, and its evidence if it counts."""
        tab = self.tabs.currentIndex()
        rows = self._lists.get(tab) if tab in (_FINDINGS, _STEPS) else None
        finding = rows.current() if rows is not None else ""
        found = (one for one in self._diagnosis.evidence if one.finding == finding)
        return finding, next(found, None)

    def _offer_link(self) -> None:
        finding, evidence = self._current()
        link = evidence.link if evidence is not None else ""
        self.show_link.setVisible(bool(link))
        on_image = self._diagnosis.is_of_image(link)
        self.show_link.setText(tr("Show on the image") if on_image else tr("Show in the record"))
        self.take_back.setVisible(bool(finding) and self._diagnosis.is_set(finding))

    def _follow_link(self) -> None:
        _finding, evidence = self._current()
        if evidence is not None and evidence.link:
            on_image = self._diagnosis.is_of_image(evidence.link)
            (self.finding_wanted if on_image else self.entry_wanted).emit(evidence.link)

    def _take_back(self) -> None:
        finding, _evidence = self._current()
        self._diagnosis.forget_setting(finding)
