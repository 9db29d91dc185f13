"""Markdown of an answer, written into a document line by line while it streams.

Headings, lists, tables (GFM), bold, code, fenced blocks and formulas are formatted; everything else
shows as it is written.
No text of a model ever becomes HTML, an image or a link to the outside: the only links are to
findings, to results of this conversation, and to entries of the patient's record.

`QTextDocument.setMarkdown` is not used. It reads the whole text again for every piece: 200,000
streamed characters stalled the window for up to 0.4 s and a wide table for 1 s. It also fetches
images, decodes entities, joins lines and drops some text, such as a line of backticks.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum, auto
from functools import lru_cache
from itertools import pairwise

from PySide6.QtGui import (
    QColor,
    QFont,
    QTextBlockFormat,
    QTextCharFormat,
    QTextCursor,
    QTextDocument,
    QTextLength,
    QTextOption,
    QTextTableFormat,
)

from app.agent.answers.evidence import MARK, UNKNOWN, citations, numbers_in
from app.views.chat import formulas
from app.views.plain_text import clean
from app.views.text_view import ENTRY_SCHEME, LINK_SCHEME, RESULT_SCHEME
from app.views.theme import SPACE, THEME, TYPE
from app.views.translation import tr
from app.views.widgets import plain_tip

_FENCE = re.compile(r"\s*```")
_DISPLAY = re.compile(r"\s*(?:\$\$|\\\[|\\\])\s*")  # a line around lines of a formula
_HEADING = re.compile(r"#{1,6}\s+(?P<text>.*)")
_ITEM = re.compile(r"(?P<indent>\s*)(?:[-*•]|(?P<number>\d{1,3}[.)]))\s+(?P<text>.*)")
_INLINE = re.compile(
    r"(?P<code>`[^`\n]+`)|(?P<bold>\*\*(?=\S)[^*\n]+?(?<=\S)\*\*)"
    rf"|(?P<formula>{formulas.INLINE})"
)
_ENTRY = re.compile(
    r"\[(?P<id>(?:AdverseEvent|AllergyIntolerance|Appointment|CarePlan|CareTeam|Claim|"
    r"ClinicalImpression|Communication|Composition|Condition|Consent|Coverage|DetectedIssue|Device"
    r"|DeviceUseStatement|DiagnosticReport|DocumentReference|Encounter|EpisodeOfCare|"
    r"ExplanationOfBenefit|FamilyMemberHistory|Flag|Goal|ImagingStudy|Immunization|List|Media|"
    r"MedicationAdministration|MedicationDispense|MedicationRequest|MedicationStatement|"
    r"NutritionOrder|Observation|Patient|Procedure|Provenance|QuestionnaireResponse|"
    r"RiskAssessment|ServiceRequest|Specimen)/[A-Za-z0-9\-.]{1,64})\]"
)
"""An entry of the record, cited by its FHIR resource type and id; not "[Mass/volume]", as in names
of LOINC."""

_BAR = re.compile(r"(?<!\\)\|")
_OUTER_BARS = re.compile(r"^\||(?<!\\)\|$")
_RULE = re.compile(r"\s*\|?(?:\s*:?-+:?\s*\|)+(?:\s*:?-+:?)?\s*")
_MOST_COLUMNS, _MOST_ROWS = 12, 60  # of a table; what is beyond shows as it is written
_INDENT = 18  # px that a list level is moved in
_DEEPEST = 3  # list levels below the first with an indent of their own


class Style(Enum):
    """Text style of a span."""

    PLAIN = auto()
    BOLD = auto()
    CODE = auto()
    FORMULA = auto()
    LINK = auto()
    CITATION = auto()
    ENTRY = auto()
    UNKNOWN = auto()


@dataclass(frozen=True, slots=True)
class Span:
    """A piece of a line in one style; `target` is a finding, entry, result number or ""."""

    text: str
    style: Style = Style.PLAIN
    target: str = ""
    tip: str = ""  # tooltip of a citation


class Linker:
    """Splits a line into spans; turns labels of findings and citations into links.

    A citation is the number of a result ("[3]") or the id of an entry ("[Observation/a1]"), which
    is too long to be read.

    Args:
        targets: Maps labels to the ids of findings.
        results: Maps the number of a tool result to its description.
        unknown: Cited numbers for which there is no result; they are shown as unknown.
    """

    def __init__(
        self,
        targets: Mapping[str, str] | None = None,
        results: Mapping[int, str] | None = None,
        unknown: Collection[int] = (),
    ) -> None:
        self._results = dict(results or {})
        self._unknown = frozenset(unknown)
        self._targets = {label.casefold(): target for label, target in (targets or {}).items()}
        # The longest first: "Heart width" is not a link to "Heart".
        labels = sorted((key for key in self._targets if len(key) > 2), key=len, reverse=True)
        joined = "|".join(re.escape(label) for label in labels)
        pattern = rf"(?<!\w)(?:{joined})(?!\w)" if joined else "(?!)"
        self._labels = re.compile(pattern, re.IGNORECASE)

    def spans(self, text: str) -> Iterator[Span]:
        """Yield the spans of a line: bold text, code, links, and the rest unchanged."""
        for piece, inline in split(text, _INLINE.finditer(text)):
            if inline is None:
                yield from self._linked(piece, Style.PLAIN)
            elif inline["code"]:
                yield Span(piece[1:-1], Style.CODE)
            elif inline["formula"]:
                tex = inline["display"] or inline["round"] or inline["square"] or inline["dollar"]
                yield Span(formulas.unicode_formula(tex), Style.FORMULA)
            else:
                yield from self._linked(piece[2:-2], Style.BOLD)

    def _linked(self, text: str, style: Style) -> Iterator[Span]:
        for piece, mark in split(text, MARK.finditer(text)):
            yield from [Span(piece, Style.UNKNOWN)] if mark else self._unmarked(piece, style)

    def _unmarked(self, text: str, style: Style) -> Iterator[Span]:
        for piece, entry in split(text, _ENTRY.finditer(text)):
            if entry is None:
                yield from self._without_entries(piece, style)
            else:
                yield Span(f"[{tr('record')}]", Style.ENTRY, entry["id"], entry["id"])

    def _without_entries(self, text: str, style: Style) -> Iterator[Span]:
        for piece, citation in split(text, citations(text, self._results)):
            if citation is not None:
                yield from self._cited(piece, style)
                continue
            for part, label in split(piece, self._labels.finditer(piece)):
                target = self._targets.get(part.casefold(), "") if label else ""
                yield Span(part, Style.LINK, target) if label else Span(part, style)

    def _cited(self, text: str, style: Style) -> Iterator[Span]:
        numbers = list(numbers_in(text))
        # The brackets around a single number belong to its link: a larger target for the pointer.
        alone = len(numbers) == 1
        for piece, number in [(text, numbers[0])] if alone else split(text, numbers):
            yield Span(piece, style) if number is None else self._number(piece, number, style)

    def _number(self, text: str, found: re.Match[str], style: Style) -> Span:
        number = int(found["number"])
        if found["unknown"]:
            return Span(text, Style.UNKNOWN)
        if number in self._unknown:
            end = text.index(found["number"]) + len(found["number"])
            return Span(f"{text[:end]}{UNKNOWN}{text[end:]}", Style.UNKNOWN)
        if number not in self._results:
            return Span(text, style)
        return Span(text, Style.CITATION, found["number"], self._results[number])


def split(
    text: str, matches: Iterable[re.Match[str]]
) -> Iterator[tuple[str, re.Match[str] | None]]:
    """Yield all of `text` in order, as (matched text, match) or (text between matches, None)."""
    at = 0
    for match in matches:
        if match.start() > at:
            yield text[at : match.start()], None
        yield match[0], match
        at = match.end()
    if at < len(text):
        yield text[at:], None


@dataclass(frozen=True, slots=True)
class _State:
    """State of the text before a line."""

    fenced: bool = False  # inside a ``` block
    formula: bool = False  # inside a formula of several lines
    fresh: bool = True  # the last paragraph is empty: at the start, and after a table
    gap: bool = False  # a blank line came before
    columns: int = 0  # of the table that the line before belongs to
    rows: int = 0  # of that table so far


class MarkdownWriter:
    """Appends streamed Markdown, rewriting only the unfinished last line: constant cost."""

    def __init__(self, document: QTextDocument) -> None:
        self._document = document
        self._linker = Linker()
        self._clear()

    @property
    def text(self) -> str:
        """Return all text received so far, unchanged."""
        return self._text

    def append(self, text: str) -> None:
        self._text += text
        lines = (self._open + clean(text)).split("\n")
        # A line with a bar may be the head of a table, which only the line after it tells.
        kept = 2 if "|" in "".join(lines[-2:-1]) else 1
        self._open = "\n".join(lines[-kept:])
        cursor = QTextCursor(self._document)
        cursor.beginEditBlock()
        cursor.setPosition(self._end)
        cursor.movePosition(QTextCursor.MoveOperation.End, QTextCursor.MoveMode.KeepAnchor)
        cursor.removeSelectedText()
        for line, following in pairwise(lines[: len(lines) - kept + 1]):
            self._state = self._write(cursor, line, following, self._state)
            self._end = cursor.position()
        state = self._state  # not kept: these lines may still turn into something else
        for line, following in pairwise([*lines[-kept:], ""]):
            if line:
                state = self._write(cursor, line, following, state)
        cursor.endEditBlock()

    def set_text(self, text: str) -> None:
        self._clear()
        self.append(text)

    def cut(self, length: int) -> None:
        """Remove all but the first `length` characters of `text`."""
        if length < len(self._text):
            self.set_text(self._text[:length])

    def set_links(
        self,
        targets: Mapping[str, str],
        results: Mapping[int, str] | None = None,
        unknown: Collection[int] = (),
    ) -> None:
        """Set the links, also in text already written; the arguments are those of `Linker`."""
        self._linker = Linker(targets, results, unknown)
        if self._text:
            self.set_text(self._text)

    def _clear(self) -> None:
        self._document.clear()
        self._document.setUndoRedoEnabled(False)
        self._text = ""
        self._open = ""
        self._end = 0  # position in the document where the open line starts
        self._state = _State()

    def _write(self, cursor: QTextCursor, line: str, following: str, state: _State) -> _State:
        if state.columns and state.rows == 1:  # the rule below a table's head
            return replace(state, rows=2)
        if _FENCE.match(line):
            return replace(state, fenced=not state.fenced, columns=0)
        if not state.fenced and _DISPLAY.fullmatch(line):
            return replace(state, formula=not state.formula, gap=True, columns=0)
        if state.formula and line.strip() and not state.fenced:
            line = f"$${line.strip().replace('$', '')}$$"
        if not state.fenced and not line.strip():
            return replace(state, gap=True, columns=0)
        if "|" in line and not state.fenced:
            cells = _cells(line)
            head = not state.columns and _RULE.fullmatch(following) is not None
            columns = len(cells) if head else state.columns
            if columns and (not head or len(_cells(following)) == columns <= _MOST_COLUMNS):
                self._write_row(cursor, cells, columns, head=head)
                rows = 1 if head else state.rows + 1
                columns = columns if rows < _MOST_ROWS else 0
                return replace(state, fresh=True, gap=False, columns=columns, rows=rows)
        heading = None if state.fenced else _HEADING.match(line)
        item = None if state.fenced else _ITEM.match(line)
        block = QTextBlockFormat()
        block.setLineHeight(135, QTextBlockFormat.LineHeightTypes.ProportionalHeight.value)
        if cursor.position():
            block.setTopMargin(SPACE.s if state.gap or heading else SPACE.xs / 2)
        if item:
            level = min(_DEEPEST, len(item["indent"].expandtabs(4)) // 2)
            block.setLeftMargin(_INDENT * (level + 1))
            block.setTextIndent(-_INDENT)
            block.setTabPositions([QTextOption.Tab(_INDENT, QTextOption.TabType.LeftTab)])
        if state.fresh:
            cursor.setBlockFormat(block)
        else:
            cursor.insertBlock(block, self._formats[Style.PLAIN])
        if state.fenced:
            cursor.insertText(line or " ", self._formats[Style.CODE])
        elif item:
            cursor.insertText(f"{item['number'] or '•'}\t", self._formats[Style.PLAIN])
        if not state.fenced:
            text = heading["text"] if heading else item["text"] if item else line.strip()
            self._write_spans(cursor, text, bold=heading is not None)
        return replace(state, fresh=False, gap=False, columns=0)

    def _write_row(
        self, cursor: QTextCursor, cells: Sequence[str], columns: int, *, head: bool
    ) -> None:
        """Write a row as a table of its own, so that the time does not grow with the rows."""
        percent = QTextLength.Type.PercentageLength
        shape = QTextTableFormat()
        shape.setWidth(QTextLength(percent, 100))
        shape.setColumnWidthConstraints([QTextLength(percent, 100 / columns)] * columns)
        shape.setBorder(0)
        shape.setCellSpacing(0)
        shape.setCellPadding(2)
        shape.setTopMargin(SPACE.s if head else 0)
        table = cursor.insertTable(1, columns, shape)
        texts = [*cells[: columns - 1], " | ".join(cells[columns - 1 :])]
        for number, text in enumerate(texts):
            self._write_spans(table.cellAt(0, number).firstCursorPosition(), text, bold=head)
        cursor.movePosition(QTextCursor.MoveOperation.End)

    @property
    def _formats(self) -> dict[Style, QTextCharFormat]:
        return _char_formats(THEME.window)

    def _write_spans(self, cursor: QTextCursor, text: str, *, bold: bool) -> None:
        for span in self._linker.spans(text):
            cursor.insertText(span.text, self._format(span, bold=bold))

    def _format(self, span: Span, *, bold: bool) -> QTextCharFormat:
        cites = span.style in (Style.CITATION, Style.ENTRY, Style.UNKNOWN)
        if bold and not cites:
            return self._formats[Style.BOLD]
        if not span.target:
            return self._formats[span.style]
        form = QTextCharFormat(self._formats[span.style])
        scheme = {Style.LINK: LINK_SCHEME, Style.ENTRY: ENTRY_SCHEME}
        form.setAnchorHref(scheme.get(span.style, RESULT_SCHEME) + span.target)
        if span.tip:
            form.setToolTip(plain_tip(span.tip))
        return form


def plain_text(text: str) -> str:
    """Return Markdown as plain text: without marks, rows of tables with tabs between the cells."""
    linker, lines, fenced, formula = Linker(), list[str](), False, False
    for line in clean(text).split("\n"):
        if _FENCE.match(line):
            fenced = not fenced
        elif fenced:
            lines.append(line)
        elif _DISPLAY.fullmatch(line):
            formula = not formula
        elif formula:
            lines.append(formulas.unicode_formula(line))
        elif not _RULE.fullmatch(line):
            heading, item = _HEADING.match(line), _ITEM.match(line)
            cells = _cells(line) if line.strip().startswith("|") else [line.rstrip()]
            if heading:
                cells = [heading["text"]]
            elif item:
                cells = [f"{item['indent']}{item['number'] or '•'} {item['text']}"]
            spans = ("".join(span.text for span in linker.spans(cell)) for cell in cells)
            lines.append("\t".join(spans))
    return "\n".join(lines).strip("\n")


def _cells(line: str) -> list[str]:
    """Return the texts of a table's row; a bar after a backslash belongs to a text."""
    inside = _OUTER_BARS.sub("", line.strip())
    return [cell.strip().replace("\\|", "|") for cell in _BAR.split(inside)]


@lru_cache(maxsize=2)
def _char_formats(_theme: str) -> dict[Style, QTextCharFormat]:
    """Return the formats of the styles in the shown theme, which a colour of its own names."""
    formats = {style: QTextCharFormat() for style in Style}
    for form in formats.values():
        form.setForeground(QColor(THEME.text))
    formats[Style.BOLD].setFontWeight(QFont.Weight.DemiBold)
    formula = formats[Style.FORMULA]
    formula.setFontFamilies(["STIX Two Text", "Cambria Math", "DejaVu Serif", "serif"])
    code = formats[Style.CODE]
    code.setFontFamilies([TYPE.mono, "DejaVu Sans Mono", "monospace"])
    code.setProperty(QTextCharFormat.Property.FontPixelSize, TYPE.label)
    code.setBackground(QColor(THEME.raised))
    for style in (Style.LINK, Style.CITATION, Style.ENTRY):
        formats[style].setAnchor(True)
        formats[style].setForeground(QColor(THEME.accent))
    formats[Style.LINK].setUnderlineStyle(QTextCharFormat.UnderlineStyle.DotLine)
    formats[Style.LINK].setUnderlineColor(QColor(THEME.accent))
    formats[Style.UNKNOWN].setForeground(QColor(THEME.warning))
    return formats
