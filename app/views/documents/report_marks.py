"""Marks of a report as findings on the open images, so that they can be shown and changed."""

from __future__ import annotations

from collections import Counter
from functools import partial
from typing import TYPE_CHECKING

from app.imaging.layers import may_be_same_patient
from app.imaging.report import ReportMarks
from app.imaging.types import Content, Instance
from app.views import wording
from app.views.translation import tr, tr_n, tr_report
from app.workspace.annotations import Annotation

if TYPE_CHECKING:
    from app.views.main_window import MainWindow


def take_marks(window: MainWindow) -> None:
    """Put the marks of the report in the active viewport on the images; tell how it went."""
    report = window.workspace.viewport.instance
    if report is None or report.content is not Content.REPORT:
        return
    named = map(window.workspace.instance_of, dict.fromkeys(report.references))
    images = [
        one
        for one in named
        if one is not None and one.has_frames and may_be_same_patient(report, one)
    ]
    window.background.watch(
        window.decoder.report_findings(report, images),
        partial(_put, window, report),
        window.notices.show_error,
    )


def _put(window: MainWindow, report: Instance, marks: ReportMarks) -> None:
    workspace = window.workspace
    annotations = workspace.annotations
    known = [one for one in marks.findings if annotations.get(one.id) is not None]
    fresh = [one for one in marks.findings if annotations.get(one.id) is None]
    annotations.put_all(
        [Annotation(one, annotations.color_of(one.label)) for one in fresh],
        "Take marks over from a report",
    )
    lines = [
        tr_n("%n mark left out: {reason}", "%n marks left out: {reason}", count).format(
            reason=tr_report(reason)
        )
        for reason, count in Counter(reason for _, reason in marks.left_out).items()
    ]
    if known:
        text = tr_n("%n mark is there already", "%n marks are there already", len(known))
        lines.append(text)
    title = (
        tr_n("%n mark taken over", "%n marks taken over", len(fresh))
        if fresh
        else tr("No mark was taken over")
    )
    tone = "warning" if marks.left_out or not (fresh or known) else "info"
    window.notices.show_notice(tone, title, wording.DOT.join(lines))
    shown = next(
        (one for one in fresh or known if workspace.instance_of(one.image.sop_instance_uid)), None
    )
    if shown is not None:
        for viewport in workspace.layout.viewports:
            viewport.layers.set_report(None, {})  # they would be drawn twice
        workspace.show_image(shown.image)
        annotations.select(shown.id)
