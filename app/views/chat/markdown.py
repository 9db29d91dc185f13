"""Markdown of an answer, written into a document line by line while it streams.

Headings, lists, quotations, tables (GFM), bold, italics, code, fenced blocks and formulas are
formatted; everything else shows as it is written.
No text of a model ever becomes HTML, an image or a link to the outside: the only links are to
findings, to results of this conversation, and to entries of the patient's record.

`QTextDocument.setMarkdown` is not used. It reads the whole text again for every piece: 200,000
streamed characters stalled the window for up to 0.4 s and a wide table for 1 s. It also fetches
images, decodes entities, joins lines and drops some text, such as a line of backticks.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum, auto
from functools import lru_cache
from itertools import pairwise

from PySide6.QtCore import Qt
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

from app.agent.answers.evidence import (
    EARLIER,
    FORMULA,
    MARK,
    NOT_LOOKED_FOR,
    UNKNOWN,
    UNKNOWN_ITEM,
    citations,
    numbers_in,
    sentences,
    wrapped,
)
from app.agent.answers.items import ENTRY_ID, MOST, Item
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
# Not "> 0.5 is enlarged", whose sign is no mark of a quotation.
_QUOTED = re.compile(r"\s*>\s+(?P<text>(?=[^\W\d]|[-*•]\s|[*\"“„]).*)")
_INLINE = re.compile(
    r"(?P<code>`[^`\n]+`)|(?P<bold>\*\*(?=\S)[^*\n]+?(?<=\S)\*\*)"
    r"|(?P<italic>(?<![*\w])\*(?=[^\W_])[^*\n]+?(?<=[^\s*])\*(?![*\w]))"
    rf"|(?P<formula>{FORMULA})"
)
_ENTRY = re.compile(rf"\[(?P<id>{ENTRY_ID})\]")
"""An entry of the record, cited by its id."""


_STOP = re.compile(r"[.!?]\S*\s")  # only a line with one may have several sentences
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
    ITALIC = auto()
    CODE = auto()
    FORMULA = auto()
    LINK = auto()
    CITATION = auto()
    ENTRY = auto()
    UNKNOWN = auto()


@dataclass(frozen=True, slots=True)
class Span:
    """A piece of a line in one style; `target` is what a link leads to, or ""."""

    text: str
    style: Style = Style.PLAIN
    target: str = ""
    tip: str = ""  # tooltip of a citation


@dataclass(frozen=True, slots=True)
class CitedResult:
    """A result that answers cite: its tooltip, its items, and its findings as (label, id)."""

    tip: str
    items: Sequence[Item] = ()
    findings: Sequence[tuple[str, str]] = ()
    shown: bool = True  # else its findings are not known here


class Linker:
    """Splits a line into spans; turns labels of findings and citations into links.

    A citation is the number of a result ("[3]"), the id of its item ("[3.2]"), or the id of an
    entry ("[Observation/a1]"), which is too long to be read. In a sentence that cites results with
    findings, a label is a link only to a finding of theirs, or of their image.

    Args:
        targets: Maps labels to the ids of findings.
        results: Maps the number of a tool result to what is cited of it.
        unknown: Cited results and items that there are not; they are shown as unknown.
        same_image: Returns whether two findings, by their ids, are on the same image.
    """

    def __init__(
        self,
        targets: Mapping[str, str] | None = None,
        results: Mapping[int, CitedResult] | None = None,
        unknown: Collection[int | str] = (),
        same_image: Callable[[str, str], bool] = lambda _one, _other: True,
    ) -> None:
        self._results = dict(results or {})
        self._known = {
            number: len(result.items) if result.shown else 5 * MOST
            for number, result in self._results.items()
        }
        self._unknown = frozenset(str(one) for one in unknown)
        self._same_image = same_image
        self._targets = {label.casefold(): target for label, target in (targets or {}).items()}
        # The longest first: "Heart width" is not a link to "Heart".
        own = {label.casefold() for one in self._results.values() for label, _ in one.findings}
        labels = sorted({key for key in self._targets.keys() | own if len(key) > 2}, key=len)
        joined = "|".join(re.escape(label) for label in reversed(labels))
        # Not a part of a compound: "Heart" in "Heart-lung ratio".
        pattern = rf"(?<!\w)(?<!\w-)(?:{joined})(?!-?\w)" if joined else "(?!)"
        self._labels = re.compile(pattern, re.IGNORECASE)

    def spans(self, text: str, behind: str = "") -> Iterator[Span]:
        """Yield the spans of a line: bold text, code, links, and the rest unchanged.

        `behind` is the next line if the last sentence goes on in it, and may be cited there.
        """
        if not _STOP.search(text):
            yield from self._sentence(text, behind)
            return
        found = (*_INLINE.finditer(text), *self._labels.finditer(text))
        whole = [one.span() for one in found]
        starts = [
            start
            for start, _ in sentences(text)
            if not any(first < start < last for first, last in whole)
        ]
        for start, end in pairwise([*starts, len(text)]):
            yield from self._sentence(text[start:end], behind if end == len(text) else "")

    def _sentence(self, text: str, behind: str) -> Iterator[Span]:
        rest = behind[: next(sentences(behind))[1]]
        targets = self._targets_in(f"{text} {rest}")
        for piece, inline in split(text, _INLINE.finditer(text)):
            if inline is None:
                yield from self._linked(piece, Style.PLAIN, targets)
            elif inline["code"]:
                yield Span(piece[1:-1], Style.CODE)
            elif inline["formula"]:
                tex = inline["display"] or inline["round"] or inline["square"] or inline["dollar"]
                yield Span(formulas.unicode_formula(tex), Style.FORMULA)
            elif inline["italic"]:
                yield from self._linked(piece[1:-1], Style.ITALIC, targets)
            else:
                yield from self._linked(piece[2:-2], Style.BOLD, targets)

    def _targets_in(self, sentence: str) -> Mapping[str, str]:
        """Return the findings by label that a sentence may link to, by what it cites."""
        found = citations(sentence, self._known)
        ids = [(one["number"], one["item"]) for part in found for one in numbers_in(part[0])]
        own = [pair for number, item in ids for pair in self._findings_of(int(number), item)]
        results = (self._results.get(int(number)) for number, _ in ids)
        if any(result is not None and not result.shown for result in results):
            return {}
        if not own:  # of an earlier image nothing tells which finding is meant
            return {} if EARLIER.search(sentence) else self._targets
        chosen: dict[str, str] = {}
        for label, key in own:  # of two images' findings of one name neither is meant for sure
            first = chosen.get(label, key)
            chosen[label] = key if first and self._same_image(first, key) else ""
        for label, key in self._targets.items():
            if label not in chosen and all(self._same_image(key, other) for _, other in own):
                chosen[label] = key
        return {label: key for label, key in chosen.items() if key}

    def _findings_of(self, number: int, item: str | None) -> Iterator[tuple[str, str]]:
        """Yield the findings, as (label, id), of a cited result or of its item."""
        result = self._results.get(number)
        if result is None or int(item or 0) > len(result.items):
            return
        only = result.items[int(item) - 1].findings if item else ()
        yield from ((a.casefold(), key) for a, key in result.findings if not only or key in only)

    def _linked(self, text: str, style: Style, targets: Mapping[str, str]) -> Iterator[Span]:
        for piece, mark in split(text, MARK.finditer(text)):
            spans = [Span(piece, Style.UNKNOWN)] if mark else self._unmarked(piece, style, targets)
            yield from spans

    def _unmarked(self, text: str, style: Style, targets: Mapping[str, str]) -> Iterator[Span]:
        for piece, entry in split(text, _ENTRY.finditer(text)):
            if entry is None:
                yield from self._without_entries(piece, style, targets)
            else:
                yield Span(f"[{tr('record')}]", Style.ENTRY, entry["id"], entry["id"])

    def _without_entries(
        self, text: str, style: Style, targets: Mapping[str, str]
    ) -> Iterator[Span]:
        for piece, citation in split(text, citations(text, self._known)):
            if citation is not None:
                yield from self._cited(piece, style)
                continue
            for part, label in split(piece, self._labels.finditer(piece)):
                target = targets.get(part.casefold(), "") if label else ""
                yield Span(part, Style.LINK, target) if target else Span(part, style)

    def _cited(self, text: str, style: Style) -> Iterator[Span]:
        numbers = list(numbers_in(text))
        # The brackets around a single number belong to its link: a larger target for the pointer.
        alone = len(numbers) == 1
        for piece, number in [(text, numbers[0])] if alone else split(text, numbers):
            yield Span(piece, style) if number is None else self._number(piece, number, style)

    def _number(self, text: str, found: re.Match[str], style: Style) -> Span:
        number, item = int(found["number"]), int(found["item"] or 0)
        if found["unknown"]:
            return Span(text, Style.UNKNOWN)
        if found["id"] in self._unknown or found["number"] in self._unknown:
            end = text.index(found["id"]) + len(found["id"])
            why = UNKNOWN if found["number"] in self._unknown else UNKNOWN_ITEM
            return Span(f"{text[:end]}{why}{text[end:]}", Style.UNKNOWN)
        if number not in self._results or item > self._known[number]:
            return Span(text, style)
        result = self._results[number]
        known = item and result.shown
        tip = f"{result.items[item - 1].text}\n{result.tip}" if known else result.tip
        return Span(text, Style.CITATION, found["id"], tip)


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
    unlinked: bool = False  # in the list of what was not looked for
    fresh: bool = True  # the last paragraph is empty: at the start, and after a table
    gap: bool = False  # a blank line came before
    columns: int = 0  # of the table that the line before belongs to
    right: tuple[int, ...] = ()  # numbers of its columns whose cells end at the right
    widths: tuple[float, ...] = ()  # of its columns, in percent
    rows: int = 0  # of that table so far


_NO_LINKS = Linker()


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
        results: Mapping[int, CitedResult] | None = None,
        unknown: Collection[int | str] = (),
        same_image: Callable[[str, str], bool] = lambda _one, _other: True,
    ) -> None:
        """Set the links, also in text already written; the arguments are those of `Linker`."""
        self._linker = Linker(targets, results, unknown, same_image)
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
            return replace(state, gap=True, unlinked=False, columns=0)
        if line.strip() in NOT_LOOKED_FOR:
            state = replace(state, unlinked=True)
        if "|" in line and not state.fenced:
            cells = _cells(line)
            head = not state.columns and _RULE.fullmatch(following) is not None
            columns = len(cells) if head else state.columns
            if columns and (not head or len(_cells(following)) == columns <= _MOST_COLUMNS):
                right, widths = state.right, state.widths
                if head:
                    rule = _cells(following)
                    right = tuple(
                        at for at, one in enumerate(rule) if one.endswith(":") and one[0] != ":"
                    )
                    widths = _widths(rule)
                last = "|" not in following
                self._write_row(cursor, cells, widths, right, head=head, last=last)
                rows = 1 if head else state.rows + 1
                columns = columns if rows < _MOST_ROWS else 0
                shown = replace(state, fresh=True, gap=False, columns=columns, rows=rows)
                return replace(shown, right=right, widths=widths)
        quoted = None if state.fenced else _QUOTED.match(line)
        line = quoted["text"] if quoted else line
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
        if quoted:
            block.setLeftMargin(block.leftMargin() + _INDENT)
            block.setBackground(QColor(THEME.raised))
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
            goes_on = wrapped(f"{line}\n{following}", len(line))
            behind = following if goes_on else ""
            linker = _NO_LINKS if state.unlinked else self._linker
            spans = linker.spans(text, behind)
            self._write_spans(cursor, spans, bold=heading is not None)
        return replace(state, fresh=False, gap=False, columns=0)

    def _write_row(
        self,
        cursor: QTextCursor,
        cells: Sequence[str],
        widths: Sequence[float],
        right: Sequence[int],
        *,
        head: bool,
        last: bool,
    ) -> None:
        """Write a row as a table of its own, so that the time does not grow with the rows."""
        columns = len(widths)
        percent = QTextLength.Type.PercentageLength
        shape = QTextTableFormat()
        shape.setWidth(QTextLength(percent, 100))
        shape.setColumnWidthConstraints([QTextLength(percent, one) for one in widths])
        shape.setBorder(0)
        shape.setCellSpacing(0)
        shape.setCellPadding(2)
        shape.setTopMargin(SPACE.s if head else 0)
        shape.setBottomMargin(SPACE.s if last else 0)
        table = cursor.insertTable(1, columns, shape)
        texts = [*cells[: columns - 1], " | ".join(cells[columns - 1 :])]
        for number, text in enumerate(texts):
            cell = table.cellAt(0, number).firstCursorPosition()
            if number in right:
                block = QTextBlockFormat()
                block.setAlignment(Qt.AlignmentFlag.AlignRight)
                cell.setBlockFormat(block)
            self._write_spans(cell, self._linker.spans(text), bold=head)
        cursor.movePosition(QTextCursor.MoveOperation.End)

    @property
    def _formats(self) -> dict[Style, QTextCharFormat]:
        return _char_formats(THEME.window)

    def _write_spans(self, cursor: QTextCursor, spans: Iterable[Span], *, bold: bool) -> None:
        for span in spans:
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


def _widths(rule: Sequence[str]) -> tuple[float, ...]:
    """Return the widths of a table's columns in percent, in the ratio of the rule's dashes.

    That is as Pandoc reads it; none is more than twice as wide as another.
    """
    counts = [one.count("-") for one in rule]
    shares = [min(count, 2 * min(counts)) for count in counts]
    return tuple(100 * share / sum(shares) for share in shares)


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
    formats[Style.ITALIC].setFontItalic(True)
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
