"""The study list: what each row says, and that a growing study disturbs nobody."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QGuiApplication, QImage
from PySide6.QtTest import QAbstractItemModelTester, QTest
from PySide6.QtWidgets import QApplication, QLabel

from app.imaging.types import Content, Instance, Problem, Series, Study
from app.views.background import Background
from app.views.browser.problem_list import by_reason
from app.views.browser.study_list import StudyList, StudyModel
from app.views.browser.study_rows import SeriesRow, StudyRow, WarningRow, rows_of
from app.views.loader import Loader
from app.views.theme import THEME
from app.views.wording import CONTENT_NAMES
from app.workspace.workspace import Workspace
from tests.gui.viewer_support import FakeDecoder, Heartbeat, WaitUntil, found, instance

pytestmark = pytest.mark.gui
LEFT = Qt.MouseButton.LeftButton


class Desk:
    """A study list with its models."""

    def __init__(self, wait_until: WaitUntil) -> None:
        self.wait_until = wait_until
        self.workspace = Workspace()
        self.decoder = FakeDecoder()
        self.background = Background()
        self.loader = Loader(self.workspace.viewport, self.decoder, self.background)
        self.list = StudyList(self.workspace, self.loader)
        self.list.resize(300, 600)
        self.list.show()

    @property
    def titles(self) -> list[str]:
        model = self.list.model
        rows = [model.row(model.index(number)) for number in range(model.rowCount())]
        return [row.title for row in rows if isinstance(row, SeriesRow)]

    def click(self, title: str) -> None:
        row = self.titles.index(title) + 1
        rect = self.list.view.visualRect(self.list.model.index(row))
        QTest.mouseClick(self.list.view.viewport(), LEFT, pos=rect.center())

    def close(self) -> None:
        self.wait_until(lambda: not self.background.pending)
        self.loader.close()
        self.list.close_models()
        self.list.close()
        self.list.deleteLater()
        self.background.close()


@pytest.fixture
def desk(qapp: QApplication, wait_until: WaitUntil) -> Iterator[Desk]:
    made = Desk(wait_until)
    yield made
    made.close()


def a_series(name: str, *instances: Instance, **fields: object) -> Series:
    made = Series(name, name, "CT", 1, instances or (instance(f"{name}.1"),))
    return replace(made, **fields)


def a_study(*series: Series, uid: str = "s", warnings: tuple[str, ...] = ()) -> Study:
    return Study(uid, "CT head", "Doe^Jane", "4711", "20240131", series, uid, warnings)


def of(content: Content, count: int = 1, frames: int = 1, references: int = 0) -> Series:
    one = replace(
        instance(frames=frames),
        content=content,
        references=tuple(f"r{number}" for number in range(references)),
    )
    many = tuple(replace(one, sop_instance_uid=f"u{number}") for number in range(count))
    return a_series("x", *many)


@pytest.mark.parametrize(
    ("series", "detail"),
    [
        (of(Content.IMAGE), "1 image"),
        (of(Content.IMAGE, 2000), "2,000 images"),
        (of(Content.IMAGE, 1, 60), "60 frames"),
        (of(Content.IMAGE, 2, 60), "2 images, 120 frames"),
        (of(Content.DOCUMENT, 1, 3), "3 pages"),
        (of(Content.DOCUMENT, 2, 3), "2 documents, 6 pages"),
        (of(Content.SEGMENTATION, 1, 12), "segmentation, 12 frames"),
        (of(Content.KEY_OBJECTS, 1, 1, 4), "4 key images"),
        (of(Content.REPORT), "report"),
        (of(Content.REPORT, 3), "3 reports"),
        (of(Content.WAVEFORM), "waveform"),
        (of(Content.STRUCTURES), "set of contours"),
        (of(Content.PRESENTATION, 2), "2 presentation states"),
        (of(Content.OTHER), "not displayable"),
    ],
)
def test_a_card_says_how_much_there_is_of_what(series: Series, detail: str):
    row = SeriesRow(a_study(series), series)
    assert row.detail == f"CT  ·  {detail}"
    assert CONTENT_NAMES[series.content].icon


def test_a_split_series_is_named_by_its_part_and_its_tooltip_tells_order_and_warnings():
    series = a_series("DWI", split="b-value 800", part=1, order="position", warnings=("a gap",))
    row = SeriesRow(a_study(series), series)
    assert row.title == "DWI, b-value 800"
    assert "Sorted by position" in row.tip
    assert "a gap" in row.tip
    assert row.key != SeriesRow(a_study(series), replace(series, part=0)).key


def test_two_patients_who_share_an_id_are_warned_of_in_a_line_of_its_own(desk: Desk):
    warning = "another patient has the same Patient ID"
    desk.workspace.add(found(a_study(a_series("A"), warnings=(warning,))))
    rows = rows_of(desk.workspace.studies.all[0])
    assert [type(row) for row in rows] == [StudyRow, WarningRow, SeriesRow]
    assert isinstance(rows[1], WarningRow)
    assert rows[1].text == "Another patient has the same Patient ID."
    picture = QImage(desk.list.size(), QImage.Format.Format_RGB32)
    desk.list.render(picture)
    ink = [picture.pixelColor(x, y).name() for x in range(300) for y in range(72, 144)]
    assert THEME.warning in ink, "it is seen, not only in a tooltip"


def test_a_click_on_an_overlay_asks_for_it_over_its_image_and_without_one_for_itself(desk: Desk):
    contours = replace(
        instance("9.1"), content=Content.STRUCTURES, references=("gone", "7.1"), rows=0, columns=0
    )
    desk.workspace.add(found(a_study(a_series("Other"))))
    desk.workspace.add(found(a_study(a_series("RT", contours), uid="t")), show=False)
    asked: list[Instance] = []
    desk.list.over_images.connect(asked.append)
    index = desk.list.model.place_of("t\0RT")
    desk.list.view.clicked.emit(index)
    assert asked == []
    assert desk.workspace.viewport.instance is contours, "what it is and what it needs is said"
    image = a_study(a_series("CT", instance("7.1")), uid="u")
    desk.workspace.add(found(image), show=False)
    desk.list.view.clicked.emit(desk.list.model.place_of("t\0RT"))
    assert asked == [contours]


# A scan that goes on


def test_a_growing_study_moves_neither_selection_nor_scroll_nor_image(desk: Desk):
    later = [a_series(f"S{number:02}") for number in range(30)]
    desk.workspace.add(found(a_study(*later)))
    desk.click("S02")
    chosen = desk.workspace.viewport.instance
    bar = desk.list.view.verticalScrollBar()
    bar.setValue(700)
    top = desk.list.view.indexAt(QPoint(4, 0))
    before = desk.list.model.row(top).key, desk.list.view.visualRect(top).top()
    early = [a_series(f"A{number}") for number in range(5)]
    desk.workspace.add(found(a_study(*early, *later)), show=False)
    QApplication.processEvents()
    top = desk.list.view.indexAt(QPoint(4, 0))
    assert (desk.list.model.row(top).key, desk.list.view.visualRect(top).top()) == before
    assert desk.workspace.viewport.instance is chosen
    assert desk.list.model.row(desk.list.view.currentIndex()).key == "s\0S02"
    assert sorted(desk.titles) == sorted(series.description for series in [*early, *later])


names = st.lists(st.sampled_from("abcdefghij"), unique=True, max_size=10)


@given(st.lists(names, min_size=2, max_size=5))
@settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
    deadline=None,
    max_examples=60,
)
def test_rows_follow_whatever_is_open(qapp: QApplication, states: list[list[str]]):
    class Fixed:
        all: tuple[Study, ...] = ()

    workspace = Workspace()
    background = Background()
    model = StudyModel(workspace, Loader(workspace.viewport, FakeDecoder(), background))
    tester = QAbstractItemModelTester(model, QAbstractItemModelTester.FailureReportingMode.Fatal)
    cards = {name: a_series(name) for name in "abcdefghij"}
    workspace.studies = Fixed()  # pyright: ignore[reportAttributeAccessIssue]
    for state in states:
        Fixed.all = (a_study(*(cards[name] for name in state)),) if state else ()
        model.refresh()
        expected = [row.key for study in Fixed.all for row in rows_of(study)]
        assert [row.key for row in model._rows] == expected
    background.close()
    del tester


def test_thumbnails_are_made_for_rows_in_view_only(desk: Desk):
    many = [a_series(f"S{number}") for number in range(3000)]
    desk.workspace.add(found(a_study(*many)))
    desk.list.view.viewport().repaint()
    desk.wait_until(lambda: not desk.background.pending)
    assert 0 < len(desk.decoder.thumbnails) < 30
    desk.list.view.scrollToBottom()
    desk.list.view.viewport().repaint()
    assert "S2999.1" in desk.decoder.thumbnails
    assert len(desk.decoder.thumbnails) < 60


def test_a_hundred_thousand_images_are_listed_without_a_stall(desk: Desk, gui_heartbeat: Heartbeat):
    base = instance()

    def study(number: int, series: int) -> Study:
        parts = [
            a_series(
                f"{number}.{s}",
                *(replace(base, sop_instance_uid=f"{number}.{s}.{n}") for n in range(50)),
            )
            for s in range(series)
        ]
        return a_study(*parts, uid=str(number))

    whole = [study(number, 50) for number in range(40)]
    desk.workspace.add(found(*whole))
    desk.list.view.viewport().repaint()
    desk.wait_until(lambda: not desk.background.pending)
    stalls: list[float] = []
    for number in range(1, 4):  # other programs can only lengthen a stall: one quiet time is proof
        grown = study(39, 50 + number)
        gui_heartbeat.restart()
        desk.workspace.add(found(grown), show=False)
        QApplication.processEvents()
        gui_heartbeat.look()
        stalls.append(gui_heartbeat.longest_ms)
        assert desk.list.model.rowCount() == 40 * 51 + number
    assert min(stalls) < 100


# What could not be opened


def test_thousands_of_problems_are_told_by_reason(desk: Desk):
    alike = [Problem(Path(f"/x/{n}.txt"), "it is not an image", "Open DICOM") for n in range(4900)]
    copies = [
        Problem(Path(f"/x/copy{n}"), f"it is a copy of IM{n}.dcm, which is listed", "Leave it")
        for n in range(100)
    ]
    desk.workspace.add(found(problems=[*copies, *alike]))
    reasons = by_reason(desk.workspace.studies.problems)
    assert [len(reason.problems) for reason in reasons] == [4900, 100]
    assert reasons[1].text == "it is a copy of … which is listed"
    texts = [label.text() for label in desk.list.problems.findChildren(QLabel)]
    assert "5,000 files could not be opened" in texts
    assert "4,900 files" in texts
    assert len(texts) < 20
    desk.list.problems.copy()
    copied = QGuiApplication.clipboard().text().splitlines()
    assert len(copied) == 5000, "each file is still to be had"
    assert copied[0] == "/x/copy0\tit is a copy of IM0.dcm, which is listed\tLeave it"


def test_one_problem_keeps_its_own_words():
    (reason,) = by_reason([Problem(Path("/x/a.dcm"), "frame 3 of 5 is missing", "Ask again")])
    assert (reason.heading, reason.text, reason.names) == ("a.dcm", "frame 3 of 5 is missing", "")


def test_the_shown_series_stays_in_sight_when_another_panel_takes_room(desk: Desk):
    desk.workspace.add(found(a_study(*(a_series(name) for name in "abcdef"))))
    last = desk.workspace.studies.all[0].series[-1].instances[0]
    desk.list.resize(300, 600)
    desk.workspace.viewport.show(last)
    QApplication.processEvents()
    view = desk.list.view
    for height in (420, 300):
        desk.list.resize(300, height)
        desk.wait_until(
            lambda: view.viewport().rect().contains(view.visualRect(view.currentIndex()))
        )
    desk.workspace.add(
        found(problems=[Problem(Path(f"/x/{n}"), "it is empty", "Copy it") for n in range(4)])
    )
    desk.wait_until(lambda: desk.list.problems.isVisible())
    desk.wait_until(lambda: view.viewport().rect().contains(view.visualRect(view.currentIndex())))


def test_a_series_that_grew_is_pictured_by_its_new_middle(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
):
    asked: list[str] = []
    fetch = desk.decoder.thumbnail

    def noted(image: Instance, size: int) -> object:
        asked.append(image.sop_instance_uid)
        return fetch(image, size)

    monkeypatch.setattr(desk.decoder, "thumbnail", noted)
    images = [instance(f"1.{number}") for number in range(9)]
    for known in (images[:3], images, images):
        desk.workspace.add(found(a_study(a_series("a", *known))))
        desk.list.view.viewport().repaint()
        desk.wait_until(lambda: not desk.background.pending)
        desk.list.view.viewport().repaint()
    assert asked == ["1.1", "1.4"]
