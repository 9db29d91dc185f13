"""One tool call as a card: title, progress, result, or why it failed."""

from __future__ import annotations

import json
import math
import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice
from pathlib import PurePath
from typing import Any

from PySide6.QtCore import Qt, QTimer
from PySide6.QtWidgets import QFrame, QLayout, QPushButton, QWidget
from shiboken6 import isValid

from app.agent.answers.german import in_german, is_german
from app.agent.answers.items import Item
from app.agent.events import ToolFinished, ToolProgress, ToolStarted
from app.agent.messages import for_people
from app.agent.request import PlanEdit
from app.imaging.findings import Finding, Provenance
from app.paths import shipped_table
from app.tools.api import Artifact
from app.views.background import Background
from app.views.chat import missing_models
from app.views.chat.approval import Answer
from app.views.chat.finding_links import FindingChip, FindingLinks
from app.views.chat.markdown import CitedResult
from app.views.chat.thumbnails import Thumbnail
from app.views.chat.widgets import ElidedText, ThinProgress, link_button, show_open
from app.views.layouts import Flow, column, icon_row, row
from app.views.plain_text import one_line
from app.views.text_view import TextView, literal_view
from app.views.theme import SPACE, THEME, restyle
from app.views.translation import language, tr, tr_n, tr_report, translatable
from app.views.widgets import IconLabel, label, plain_tip
from app.views.wording import PackTexts, words_of

CHIPS = 12  # that are shown; the findings list has all
JSON_CHARS = 20_000
_COLUMNS: dict[str, str] = shipped_table("window", "key_figures")
_SKIPPED = ("path", "uid", "sha256", "status", "note", "warning", "judgement", "cutoff")
_CITED_MS = 1600
_MAX_HEIGHT = 260  # px of an opened section
_STATES = {
    "running": ("loader-circle", THEME.accent, translatable("Running")),
    "ok": ("circle-check", THEME.ok, translatable("Done")),
    "failed": ("circle-x", THEME.error, translatable("Failed")),
    "refused": ("ban", THEME.text_faint, translatable("Not run")),
    "cancelled": ("ban", THEME.text_faint, translatable("Stopped")),
}


@dataclass(frozen=True, slots=True)
class ChatServices:
    """Shared objects, and callbacks for buttons, that the dock gives to run views and cards."""

    links: FindingLinks
    background: Background
    texts: PackTexts
    open_artifact: Callable[[Artifact, str], object]  # (artifact, tool)
    open_models: Callable[[str], object]  # at a model
    open_limits: Callable[[], object]
    answer: Answer
    ask_again: Callable[[str], object]
    branch: Callable[[Any], object]  # continues in a new thread from before a RunView
    edit: Callable[[Any, str], object]  # asks a text in place of a RunView's question
    step: Callable[[Any, int], object]  # shows another version of a RunView's question
    pin: Callable[[Any, bool], object]  # pins or unpins a RunView's answer
    dress: Callable[[Any], object]  # shows versions and pin of a RunView
    crops: Callable[[Sequence[Finding]], QWidget | None]  # pictures of findings on shown images
    edit_plan: Callable[[PlanEdit], object]  # of the run that goes on
    result: Callable[[int], ToolCard | None]  # the card of a result among all runs shown
    follow: Callable[[str], object]  # shows what a link of an answer leads to
    point_at: Callable[[str], object]  # highlights it while the pointer is on the link


class ToolCard(QFrame):
    """A card that shows a tool call: its progress, then its result or why there is none."""

    def __init__(self, started: ToolStarted, tools: ChatServices, *, live: bool = True) -> None:
        super().__init__()
        self.setObjectName("chatCard")
        self.call_id = started.call_id
        self.tool = started.tool
        self.arguments = started.arguments
        self.status = "running"  # or another key of `_STATES`
        self.evidence = 0  # the number by which answers cite the result
        self.findings: tuple[Finding, ...] = ()
        self.items: Sequence[Item] = ()  # what the result holds, cited as [3.1], [3.2]
        self.missing: tuple[str, ...] = ()
        self.thumbnails: list[Thumbnail] = []
        self.chips: list[FindingChip] = []
        self.results: list[QPushButton] = []  # that open tables and plots
        self._tools = tools
        self._cited: QTimer | None = None  # runs while the card stands out
        self._began = time.monotonic() if live else None
        self.progress = ThinProgress()
        self.progress_text = ElidedText("", "caption")
        self.progress_text.hide()
        self._details = Disclosures()
        self._details.add(tr("Details"), self._call_text)
        self.outdated = label("", "warning", wrap=True)
        self.outdated.hide()
        parts = (self._make_head(), self.outdated, self.progress, self.progress_text, self._details)
        self._body = column(*parts, margins=(SPACE.m, 10, SPACE.m, 10), parent=self)
        self.models_button: QPushButton | None = None
        self.summary: TextView | None = None
        self.error: TextView | None = None
        self.reason: TextView | None = None  # why it was not run
        self.warning: TextView | None = None
        self._warned: list[str] = []  # its lines in English
        self._name()

    @property
    def running(self) -> bool:
        return self.status == "running"

    def update_links(self) -> None:
        """Show a warning if an outline was changed by hand and the result is thus outdated."""
        if isValid(self):
            text = self._tools.links.outdated(item.id for item in self.findings)
            self.outdated.setText(text)
            self.outdated.setVisible(bool(text))

    @property
    def cited(self) -> CitedResult:
        """What answers that cite the result link to."""
        there = self._tools.links.existing({one.id: one.id for one in self.findings})
        found = [(one.label, one.id) for one in self.findings if one.label.strip()]
        return CitedResult(
            self._citation_tooltip, self.items, [pair for pair in found if pair[1] in there]
        )

    def item(self, place: int) -> Item | None:
        """Return the item with a number, from 1; None if the result has no such item."""
        return self.items[place - 1] if 0 < place <= len(self.items) else None

    @property
    def _citation_tooltip(self) -> str:
        image = _image_names(self.arguments)
        lines = [
            tr("Result {number}: {title} ({tool})").format(
                number=self.evidence, title=self._tools.texts.title(self.tool), tool=self.tool
            )
        ]
        return "\n".join([*lines, *([tr("Image: {image}").format(image=image)] if image else [])])

    def point_out(self) -> None:
        """Highlight the card for a moment and focus it, because a citation was clicked."""
        self.setProperty("cited", True)
        restyle(self)
        if self._cited is None:
            self._cited = QTimer(self, singleShot=True, interval=_CITED_MS)
            self._cited.timeout.connect(self._unmark)
        self._cited.start()
        first = self.chips[0] if self.chips else self._details.button(tr("Details"))
        first.setFocus(Qt.FocusReason.OtherFocusReason)

    def open_details(self) -> None:
        """Open the section with the call's arguments, model and weights."""
        view = self._details.view(tr("Details"))
        if view is None or view.isHidden():
            self._details.toggle(tr("Details"))

    def _unmark(self) -> None:
        self.setProperty("cited", False)
        restyle(self)

    def tick(self) -> None:
        if self._began is not None and self.running:
            self._duration.setText(seconds(time.monotonic() - self._began))

    def waiting(self, waiting: bool) -> None:
        """Show whether the call is waiting for the user's answer."""
        if self.running:
            self._word.setText(tr("Waiting") if waiting else tr("Running"))
            self.progress.setVisible(not waiting)

    def stopping(self) -> None:
        """Show that the call is being stopped."""
        if self.running:
            self._word.setText(tr("Stopping"))
            self._word.show()
            self.setAccessibleName(
                tr("Tool call: {tool}, stopping").format(tool=self._tools.texts.title(self.tool))
            )

    def set_progress(self, event: ToolProgress) -> None:
        if not self.running:
            return
        self.progress.set_fraction(event.fraction)
        self.progress_text.set_full(tr_report(event.text))
        self.progress_text.setVisible(bool(event.text))

    def fold(self, answer: str) -> None:
        """Move the result's summary to a closed section; hide warnings that `answer` repeats."""
        # A citation is no figure.
        said = _figures_in(re.sub(r"\[[\d.]+(?:, ?[\d.]+)*\]", "", answer))
        if self.summary is not None:
            self.summary.hide()
            self._details.add(tr("Summary"), self.summary.plain, "muted")
        if self.warning is not None:
            text = answer.casefold()
            left = [
                one
                for one in self._warned
                if not set() < _figures_in(one) <= said and one.casefold() not in text
            ]
            self._show_warnings(left)
            if left:
                self._in_german(left, self._show_warnings, text, always=is_german([answer]))
        for chip in self.chips:
            chip.set_brief()

    def _show_warnings(self, warned: Sequence[str]) -> None:
        if self.warning is not None:
            self.warning.set_plain("\n".join(f"⚠ {one}" for one in warned))
            self.warning.setVisible(bool(warned))

    def _in_german(
        self,
        texts: Sequence[str],
        show: Callable[[list[str]], object],
        answer: str = "",
        *,
        always: bool = False,
    ) -> None:
        """Show what a tool said in German, in a German window or `always`.

        What an `answer` (in lower case) repeats is left out.
        """
        if not always and language() != "de":
            return

        def work() -> list[str]:
            told = [in_german(one) for one in texts]
            return [one for one in told if one.rstrip(".").casefold() not in answer or not answer]

        def take(told: list[str]) -> None:
            if isValid(self):
                show(told)

        self._tools.background.submit(work, take, lambda _error: None)

    def _show_german(self, view: TextView) -> TextView:
        """Have the text of a view shown in German, in a German window; return the view."""
        self._in_german([view.plain()], lambda told: view.set_plain(told[0]))
        return view

    def finish(self, event: ToolFinished) -> None:
        self.status = "refused" if event.refused else event.status
        self.setProperty("state", self.status)
        restyle(self)
        self.progress.hide()
        self.progress_text.hide()
        name, tint, word = _STATES[self.status]
        word = tr(word)
        self._mark.set_icon(name, tint)
        self._mark.setAccessibleName(word)
        self._word.setText(word if event.status != "ok" else "")
        self._word.setVisible(event.status != "ok")
        self._show_number(event)
        took = event.duration_s if not event.refused else 0.0
        self._duration.setText(seconds(took) if took else "")
        at = self._body.indexOf(self._details)
        for part in self._parts(event):
            self._body.insertWidget(at, part)
            at += 1
        figures = key_figures(event.output) if event.status == "ok" else ""
        if figures:
            self._details.add(tr("Figures"), lambda: figures)
        if event.output or event.metadata:
            result = {"output": event.output, "metadata": event.metadata}
            self._details.add(tr("Result"), lambda: _as_json(result))
        self._name()

    def _show_number(self, event: ToolFinished) -> None:
        self.evidence = event.evidence
        self.findings, self.items = tuple(event.findings), event.items
        self._tools.links.keep_current(self)
        self.update_links()
        self._number.setText(f"[{event.evidence}]")
        self._number.setVisible(bool(event.evidence))
        self._number.setToolTip(
            plain_tip(
                tr("Answers cite this result as [{evidence}]").format(evidence=event.evidence)
            )
        )

    def _parts(self, event: ToolFinished) -> list[QWidget]:
        parts: list[QWidget] = []
        if event.refused:
            self.reason = _text(self._tools.texts.with_titles(event.refused, (self.tool,)), "muted")
            parts.append(self._show_german(self.reason))
        elif event.status == "failed":
            reason = for_people(event.error) or event.summary or tr("It failed without a reason.")
            short = missing_models.without_commands(reason)
            self.error = _text(missing_models.without_files(short), "error")
            parts.append(self._show_german(self.error))
        elif event.status == "ok":
            warned = _warnings(event.output, event.metadata)
            parts.extend(self._summary(event, _without_warnings(event.summary, warned)))
            if warned:
                self._warned = warned
                self.warning = _text("\n".join(f"⚠ {text}" for text in warned), "warning")
                self._in_german(warned, self._show_warnings)
                parts.append(self.warning)
            parts.extend(self._results(event))
        parts.extend(self._missing(event))
        if event.findings:
            parts.append(self._chips(event.findings))
        return parts

    def _make_head(self) -> QLayout:
        title = ElidedText(self._tools.texts.title(self.tool), "strong")
        self._duration = label("", "caption")
        self._word = label(tr("Running"), "caption")
        self._mark = IconLabel("loader-circle", 14, THEME.accent)
        self._mark.setAccessibleName(tr("Running"))
        self._number = label("", "caption")
        self._number.setObjectName("chatNumber")
        self._number.hide()
        icon_name = self._tools.texts.icon(self.tool)
        return row(
            IconLabel(icon_name, 18, THEME.text_muted),
            (title, 1),
            row(self._duration, self._word, self._mark, self._number, spacing=6),
            spacing=10,
        )

    def _summary(self, event: ToolFinished, text: str) -> list[QWidget]:
        """Return widgets for the summary and the pictures; a single picture stands beside it."""
        if text:
            self.summary = _text(text, "muted")
            self._show_german(self.summary)
        pictures = self._pictures(event)
        if self.summary is None or len(pictures) != 1:
            parts: list[QWidget] = [self.summary] if self.summary is not None else []
            return parts + ([_flow(pictures)] if pictures else [])
        beside = QWidget()
        summary = column(self.summary, 1)
        column(icon_row(pictures[0], summary, SPACE.m), parent=beside)
        return [beside]

    def _pictures(self, event: ToolFinished) -> list[QWidget]:
        pictures: list[QWidget] = []
        shown = [item for item in event.artifacts if item.role in ("image", "show")][:4]
        for artifact in shown:
            thumbnail = Thumbnail(
                artifact.path,
                one_line(artifact.title, 80),
                self._tools.background,
                lambda item=artifact: self._tools.open_artifact(item, self.tool),
                str(artifact.options.get("model") or tr("a model"))
                if artifact.options.get("synthetic")
                else "",
            )
            self.thumbnails.append(thumbnail)
            pictures.append(thumbnail)
        return pictures

    def _results(self, event: ToolFinished) -> list[QWidget]:
        for artifact in event.artifacts:
            whole = artifact.title or artifact.path.name
            title = one_line(whole, 32)  # a dock is hardly wider
            if artifact.role == "table":
                rows = artifact.options.get("rows")
                text = tr("Table: {title}").format(title=title)
                if isinstance(rows, int):
                    text = tr_n("Table: {title} (%n row)", "Table: {title} (%n rows)", rows).format(
                        title=title
                    )
                icon = "table-properties"
            elif artifact.role == "plot":
                text, icon = tr("Plot: {title}").format(title=title), "chart-scatter"
            else:
                continue
            show = partial(self._tools.open_artifact, artifact, self.tool)
            button = link_button(text, icon, show)
            button.setToolTip(plain_tip(whole) if title != whole else "")
            self.results.append(button)
        return [_flow(self.results)] if self.results else []

    def _missing(self, event: ToolFinished) -> list[QWidget]:
        self.missing = missing_models.card_names([event.error, event.output, event.metadata])
        return [self._models_button()] if self.missing else []

    def _models_button(self) -> QWidget:
        first, several = self.missing[0], len(self.missing) > 1
        button = link_button(tr("Models…"), "cpu", lambda: self._tools.open_models(first))
        button.setAccessibleName(
            tr("Open the models") if several else tr("Open the model {first}").format(first=first)
        )
        button.setToolTip(
            plain_tip(tr("Install or download: {missing}").format(missing=", ".join(self.missing)))
        )
        self.models_button = button
        return _flow([button])

    def _chips(self, findings: Sequence[Finding]) -> QWidget:
        shown = findings if len(findings) <= CHIPS + 1 else findings[:CHIPS]
        self.chips = [self._tools.links.chip(finding) for finding in shown]
        left = len(findings) - len(shown)
        return _flow(
            [
                *self.chips,
                *([label(tr("and {left} more").format(left=left), "faint")] if left else []),
            ]
        )

    def _call_text(self) -> str:
        return call_text(self.tool, self.arguments, [one.provenance for one in self.findings])

    def _name(self) -> None:
        word = tr(_STATES[self.status][2])
        text = (
            tr("Tool call: {tool}, {state}, result {number}")
            if self.evidence
            else tr("Tool call: {tool}, {state}")
        )
        title = self._tools.texts.title(self.tool)
        self.setAccessibleName(text.format(tool=title, state=word, number=self.evidence))


class Disclosures(QWidget):
    """Sections that open from buttons; a section's text is made when it is first opened."""

    def __init__(self) -> None:
        super().__init__()
        self._row = Flow(2)
        self._layout = column(self._row, spacing=6, parent=self)
        self._texts: dict[str, tuple[Callable[[], str], str]] = {}
        self._views: dict[str, TextView] = {}
        self._buttons: dict[str, QPushButton] = {}

    def add(self, title: str, text: Callable[[], str], tone: str = "mono") -> None:
        """Add a closed section; `text` is called when it is opened; `tone` is its text style."""
        button = link_button(title, action=lambda: self.toggle(title))
        show_open(button, False)
        self._texts[title] = text, tone
        self._buttons[title] = button
        self._row.addWidget(button)

    def toggle(self, title: str) -> None:
        opened = self.view(title) is not None and not self._views[title].isHidden()
        if title not in self._views:
            text, tone = self._texts[title]
            view = literal_view(text(), tone, title, max_height=_MAX_HEIGHT)
            view.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
            self._views[title] = view
            self._layout.addWidget(view)
        self._views[title].setVisible(not opened)
        show_open(self._buttons[title], not opened)

    def view(self, title: str) -> TextView | None:
        """Return the text view of a section; None if it has not been opened yet."""
        return self._views.get(title)

    def button(self, title: str) -> QPushButton:
        return self._buttons[title]


def call_text(tool: str, arguments: Mapping[str, Any] | None, made: Sequence[Provenance]) -> str:
    """Return tool, version, arguments (None if unknown), models and weights of a call as text."""
    versions = dict.fromkeys(one.tool_version for one in made if one.tool == tool)
    models = sorted({one.model for one in made} - {""})
    weights = sorted({one.weights_sha256 for one in made} - {""})
    given = () if arguments is None else (_as_json(arguments),)
    lines = [" ".join((tool, *versions, *given))]
    lines += [", ".join(models)] if models else []
    lines += [f"{tr('Weights')} sha256 {digest}" for digest in weights]
    return "\n".join(lines)


def seconds(value: float) -> str:
    """Return a duration of `value` seconds as text, e.g. "1.3 s" or "2 min 05 s"."""
    if value < 0.1:
        return "< 0.1 s"
    if value < 60:
        return f"{value:.1f} s"
    return f"{int(value // 60)} min {int(value % 60):02d} s"


def _flow(parts: Sequence[QWidget]) -> QWidget:
    box = QWidget()
    box.setLayout(Flow(6, *parts))
    return box


def _text(text: str, tone: str) -> TextView:
    view = literal_view(text, tone)
    view.setFocusPolicy(Qt.FocusPolicy.ClickFocus)
    return view


def key_figures(output: Mapping[str, Any]) -> str:
    """Return the table, scores or values in a tool's output as columns of text; "" if none."""
    rows = _rows(output)
    if not rows:
        return ""
    names, *others = (max(map(len, cells)) for cells in zip(*rows, strict=True))
    return "\n".join(
        "  ".join([name.ljust(names), *map(str.rjust, cells, others)]) for name, *cells in rows
    )


def _rows(output: Mapping[str, Any]) -> list[tuple[str, ...]]:
    for value in output.values():
        if isinstance(value, Mapping) and all(isinstance(item, Mapping) for item in value.values()):
            columns = _columns(list(value.values()))
            if columns:
                return [("", *columns.values())] + [
                    (words_of(str(name)), *(_figure(item.get(key)) for key in columns))
                    for name, item in value.items()
                ]
    for value in (output, *output.values()):
        scores = isinstance(value, Mapping) and len(value) >= 4
        if scores and all(isinstance(item, float) for item in value.values()):
            ranked = sorted(value.items(), key=lambda item: item[1], reverse=True)
            return [(words_of(str(key)), f"{score:.2f}") for key, score in ranked]
    return list(_pairs(output))


def number(value: float) -> str:
    """Return a number as short text, with thin spaces between thousands; "–" for nan and inf."""
    if isinstance(value, int) or (value.is_integer() and abs(value) < 1e15):
        return f"{int(value):,}".replace(",", "\u2009")
    if not math.isfinite(value):
        return "–"
    if abs(value) >= 1000:
        return f"{value:,.0f}".replace(",", "\u2009")
    return f"{value:.1f}" if abs(value) >= 100 else f"{value:.3g}"


def _figure(value: Any) -> str:
    return number(value) if _is_number(value) else "–"


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _columns(rows: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    known = {
        key: tr(title)
        for key, title in _COLUMNS.items()
        if any(_is_number(row.get(key)) for row in rows)
    }
    if "area_cm2" in known:
        known.pop("area_pixels", None)
    return dict(islice(known.items(), 3))


def _pairs(output: Mapping[str, Any]) -> Iterator[tuple[str, ...]]:
    for key, value in output.items():
        if any(part in str(key).casefold() for part in _SKIPPED):
            continue
        if _is_number(value):
            yield words_of(str(key)), number(value)
        elif value is False:  # True is the ordinary case and not worth a row
            yield words_of(str(key)), "no"
        elif isinstance(value, str) and 0 < len(value) <= 60:
            yield words_of(str(key)), one_line(value)


def _figures_in(text: str) -> set[str]:
    """Return the numbers in a text, without spaces and commas between thousands."""
    return set(re.findall(r"\d+(?:\.\d+)?", re.sub(r"(?<=\d)[,\u2009](?=\d{3})", "", text)))


def _warnings(*parts: Mapping[str, Any]) -> list[str]:
    """Return the texts under "warning" and "warnings", each once."""
    found: list[str] = []
    for part in parts:
        for key in ("warnings", "warning"):
            value = part.get(key)
            items = value if isinstance(value, list) else [value]
            found += [text for text in items if isinstance(text, str) and text.strip()]
    return list(dict.fromkeys(found))


def _without_warnings(summary: str, warned: Sequence[str]) -> str:
    """Return a summary without the warnings at its end: the card shows them separately."""
    return summary.removesuffix(f"Warnings: {'; '.join(warned)}.").rstrip() if warned else summary


def _image_names(arguments: Mapping[str, Any]) -> str:
    """Return the images that the arguments of a call name, at most three of them."""
    found: list[str] = []
    for key, value in arguments.items():
        if "image" in str(key).casefold() or str(key).endswith("path"):
            items = value if isinstance(value, list) else [value]
            found += [PurePath(item).name for item in items if isinstance(item, str) and item]
    shown = [one_line(item, 60) for item in dict.fromkeys(found)]
    listed = ", ".join(shown[:3])
    if len(shown) <= 3:
        return listed
    return tr("{listed} and {count} more").format(listed=listed, count=len(shown) - 3)


def _as_json(value: Any) -> str:
    """Return `value` as indented JSON, cut with a notice if it is long."""
    text = json.dumps(value, indent=2, ensure_ascii=False, default=str)
    if len(text) <= JSON_CHARS:
        return text
    left = len(text) - JSON_CHARS
    return (
        text[:JSON_CHARS]
        + "\n"
        + tr_n(
            "… %n more character; the session file has them all.",
            "… %n more characters; the session file has them all.",
            left,
        )
    )
