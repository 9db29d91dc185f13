"""The Markdown subset: read a line at a time, the same however it is cut into pieces."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PySide6.QtCore import Qt
from PySide6.QtGui import QTextCursor, QTextDocument, QTextTable

from app.views.chat.markdown import Linker, MarkdownWriter, Span, Style, plain_text
from app.views.chat.tool_card import key_figures, number
from app.views.plain_text import clean, one_line
from app.views.widgets import plain_tip

SAMPLE = """# Findings
Intro with **bold**, `code` and a *star*.

- first
  - nested
1. one
2) two
```
**raw** <b>
  kept
```
after"""


def written(*pieces: str, links: dict[str, str] | None = None) -> QTextDocument:
    document = QTextDocument()
    writer = MarkdownWriter(document)
    if links:
        writer.set_links(links)
    for piece in pieces:
        writer.append(piece)
    return document


def runs(document: QTextDocument) -> list[tuple[str, bool, str]]:
    """Pieces of equal format: text, whether bold, where it leads."""
    found: list[tuple[str, bool, str]] = []
    block = document.begin()
    while block.isValid():
        iterator = block.begin()
        while not iterator.atEnd():
            piece = iterator.fragment()
            form = piece.charFormat()
            found.append((piece.text(), form.fontWeight() > 500, form.anchorHref()))
            iterator += 1
        block = block.next()
    return found


def test_the_subset_is_read(qapp: object):
    assert written(SAMPLE).toPlainText() == (
        "Findings\nIntro with bold, code and a star.\n•\tfirst\n•\tnested\n1.\tone\n2)\ttwo\n"
        "**raw** <b>\n  kept\nafter"
    )


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(0, len(SAMPLE)), max_size=12))
def test_it_looks_the_same_however_the_stream_is_cut(cuts: list[int]):
    ends = [0, *sorted(cuts), len(SAMPLE)]
    pieces = [SAMPLE[a:b] for a, b in pairwise(ends)]
    assert runs(written(*pieces)) == runs(written(SAMPLE))


@settings(max_examples=80, deadline=None)
@given(st.text(max_size=80), st.integers(0, 80))
def test_no_text_breaks_the_writer_or_becomes_structure(text: str, cut: int):
    document = written(text[:cut], text[cut:], links={"Heart": "1"})
    assert "\ufffc" not in document.toPlainText()
    assert document.rootFrame().childFrames() == []


def test_labels_become_links_but_not_in_code(qapp: object):
    found = runs(written("The heart, **Heart** and `Heart`.", links={"Heart": "id1"}))
    assert ("heart", False, "finding:id1") in found
    assert ("Heart", False, "finding:id1") in found
    assert ("Heart", False, "") in found


def test_longer_labels_win():
    spans = list(Linker({"Heart": "a", "Heart width": "b"}).spans("Heart width"))
    assert spans == [Span("Heart width", Style.LINK, "b")]


def test_a_label_with_signs_of_a_pattern_is_taken_literally():
    spans = list(Linker({"A.*(B)?": "x"}).spans("see A.*(B)? here"))
    assert spans[1] == Span("A.*(B)?", Style.LINK, "x")


def test_cleaning():
    assert clean("a\r\nb\u2029c") == "a\nb\nc"
    assert clean("\u202eevil") == "\ufffdevil"
    assert one_line(" a \n b ", 10) == "a b"
    assert one_line("x" * 50, 10) == "x" * 9 + "…"
    assert "&lt;b&gt;" in plain_tip("<b>")
    assert "\u202e" not in plain_tip("a\u202eb")


@pytest.mark.parametrize(
    ("value", "text"),
    [(3, "3"), (1234567, "1\u2009234\u2009567"), (0.12345, "0.123"), (float("nan"), "–"),
     (187.26, "187.3"), (2.0, "2"), (float("inf"), "–")],
)  # fmt: skip
def test_figures_are_written_as_people_do(value: float, text: str):
    assert number(value) == text


TABLE = """Found:
| Structure | Area |
|---|---:|
| **Heart** | 132.4 \\| 1 |
| Left lung | 210 | more |
| - | - |
After.
| no | table |
"""


@pytest.mark.parametrize("size", [1, 7, 1000])
def test_a_table_has_rows_of_cells_in_whatever_pieces_it_comes(size: int):
    pieces = [TABLE[at : at + size] for at in range(0, len(TABLE), size)]
    document = written(*pieces, links={"Left lung": "f1"})
    frames = document.rootFrame().childFrames()
    tables = [table for table in frames if isinstance(table, QTextTable)]
    cells = [table.cellAt(0, n).firstCursorPosition() for table in tables for n in range(2)]
    ends = [cell.blockFormat().alignment() == Qt.AlignmentFlag.AlignRight for cell in cells]
    assert ends == [False, True] * 4, "as the rule below the head says"
    rows = [
        [table.cellAt(0, n).firstCursorPosition().block().text() for n in range(table.columns())]
        for table in frames
        if isinstance(table, QTextTable)
    ]
    assert rows == [
        ["Structure", "Area"],
        ["Heart", "132.4 | 1"],
        ["Left lung", "210 | more"],
        ["-", "-"],
    ]
    assert document.toPlainText().splitlines()[0] == "Found:"
    assert document.toPlainText().splitlines()[-2:] == ["After.", "| no | table |"]
    assert document.toHtml() == written(TABLE, links={"Left lung": "f1"}).toHtml()


@pytest.mark.parametrize(
    ("rule", "percent"),
    [
        ("| --- | :--- | ---: | - |", [100 * one / 7 for one in (2, 2, 2, 1)]),
        ("| ----- | --- | --- | ----- |", [31.25, 18.75, 18.75, 31.25]),
        ("| --- | --- | --- | --- |", [25.0] * 4),
    ],
)
def test_columns_are_as_wide_as_the_rule_below_the_head_says(rule: str, percent: list[float]):
    document = written(f"| a | b | c | d |\n{rule}\n| 1 | 2 | 3 | 4 |\n")
    tables = [one for one in document.rootFrame().childFrames() if isinstance(one, QTextTable)]
    assert len(tables) == 2
    for table in tables:
        widths = table.format().toTableFormat().columnWidthConstraints()
        assert [one.rawValue() for one in widths] == pytest.approx(percent)


def test_italics_are_no_products_and_no_list(qapp: object):
    text = "An *old* film, 2 * 3 * 4, a*b*c, *  * and **both *of* them**; in `*code*`."
    document = written(text)
    shown = document.toPlainText()
    assert shown == "An old film, 2 * 3 * 4, a*b*c, *  * and **both of them**; in *code*."
    slanted: list[str] = []
    iterator = document.begin().begin()
    while not iterator.atEnd():
        if iterator.fragment().charFormat().fontItalic():
            slanted.append(iterator.fragment().text())
        iterator += 1
    assert slanted == ["old", "of"]
    assert plain_text(text) == shown


def test_a_quotation_is_set_off_and_a_greater_than_sign_is_none(qapp: object):
    document = written("The report says:\n> Small *effusion*.\n> - none on the left\n> 0.5 is wide")
    blocks = [document.findBlockByNumber(n) for n in range(document.blockCount())]
    assert [block.text() for block in blocks] == [
        *("The report says:", "Small effusion.", "•\tnone on the left", "> 0.5 is wide")
    ]
    plain, *quoted, last = (block.blockFormat().leftMargin() for block in blocks)
    assert plain == last == 0
    assert all(margin > 0 for margin in quoted)


def test_a_table_that_is_too_wide_or_too_long_shows_as_it_is_written():
    wide = "|".join(["x"] * 50)
    assert written(f"{wide}\n{'|'.join(['-'] * 50)}\n").toPlainText().startswith(wide)
    long = written("a|b\n-|-\n" + "1|2\n" * 200)
    assert len(long.rootFrame().childFrames()) < 100
    assert long.toPlainText().endswith("1|2")


def test_facts_choose_what_is_worth_a_table():
    organs = {"Heart": {"area_pixels": 10, "area_cm2": None}, "Left Lung": {"area_pixels": 20}}
    lines = key_figures({"path": "x", "metrics": organs}).splitlines()
    assert [line.split() for line in lines[1:]] == [["Heart", "10"], ["Left", "Lung", "20"]]
    assert len({len(line) for line in lines}) == 1
    scores = {f"P{index}": index / 20 for index in range(18)}
    ranked = key_figures(scores).splitlines()
    assert ranked[0] == "P17  0.85"
    assert len(ranked) == 18
    assert key_figures(
        {"ratio": 0.52, "reliable": False, "approximate": True, "image_path": "/x"}
    ) == ("Ratio     0.52\nReliable    no")
    assert key_figures({}) == ""


def test_a_selection_across_list_items_is_plain(qapp: object):
    document = written("- one\n- two")
    cursor = QTextCursor(document)
    cursor.select(QTextCursor.SelectionType.Document)
    assert cursor.selection().toPlainText() == "•\tone\n•\ttwo"
