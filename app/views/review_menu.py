"""The commands with which the user accepts, edits and rejects what tools found."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial

from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QMenu, QWidget

from app.imaging.findings import State
from app.views.translation import tr
from app.workspace import drawing
from app.workspace.annotations import Annotations


class ReviewMenu(QMenu):
    """The menu of what can be made of the selected finding and of its tool call's.

    Args:
        make_action: Makes an action of the window from its text, function and key.
        edit: Begins editing the selected finding on the canvas.
    """

    def __init__(
        self,
        annotations: Annotations,
        make_action: Callable[..., QAction],
        edit: Callable[[], object],
        parent: QWidget,
    ) -> None:
        super().__init__(tr("Review findings"), parent)
        self._annotations = annotations
        decide = self._decide
        self.accept = make_action(tr("Accept finding"), partial(decide, State.ACCEPTED), "A")
        self.edit = make_action(tr("Edit finding"), edit, "E", "pen-line")
        self.reject = make_action(tr("Reject finding"), partial(decide, State.REJECTED), "R")
        self.propose = make_action(tr("Set finding back to proposed"), partial(decide))
        self.accept_call = make_action(
            tr("Accept all of this result"),
            partial(self._decide_call, State.ACCEPTED),
            "Ctrl+Shift+A",
        )
        self.reject_call = make_action(
            tr("Reject all of this result"),
            partial(self._decide_call, State.REJECTED),
            "Ctrl+Shift+R",
        )
        self.restore = make_action(
            tr("Restore original"), lambda: annotations.restore([annotations.selected])
        )
        self.originals = make_action(
            tr("Show originals of edited findings"),
            lambda: annotations.show_originals(not annotations.originals_shown),
            checkable=True,
        )
        self.rejected = make_action(
            tr("Show rejected findings"),
            lambda: annotations.show_rejected(not annotations.rejected_shown),
            checkable=True,
        )
        self.commands = (
            *(self.accept, self.edit, self.reject, self.propose),
            *(self.accept_call, self.reject_call, self.restore),
        )
        self.addActions(self.commands)
        self.addSeparator()
        self.addActions((self.originals, self.rejected))
        annotations.changed.connect(self.refresh)
        annotations.selection_changed.connect(lambda _id: self.refresh())
        self.refresh()

    def refresh(self) -> None:
        annotations = self._annotations
        self.originals.setChecked(annotations.originals_shown)
        self.rejected.setChecked(annotations.rejected_shown)
        item = annotations.get(annotations.selected)
        finding = item.finding if item is not None else None
        by_tool = finding is not None and not drawing.by_hand(finding)
        state = finding.state if finding is not None and by_tool else None
        self.accept.setEnabled(state in (State.PROPOSED, State.REJECTED))
        self.reject.setEnabled(by_tool and state is not State.REJECTED)
        self.propose.setEnabled(by_tool and state is not State.PROPOSED)
        self.restore.setEnabled(finding is not None and finding.corrected)
        call = annotations.of_call(finding.provenance) if finding is not None and by_tool else ()
        some = bool(annotations.proposed(call))
        self.accept_call.setEnabled(some)
        self.reject_call.setEnabled(some)

    def show_for(self, ids: Iterable[str], place: QPoint) -> None:
        """Open a heading's menu at a screen position, for all its findings or the only one."""
        every = list(ids)
        if len(every) == 1:
            self._annotations.select(every[0])
            self.popup(place)
            return
        menu = QMenu(self)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        proposed = self._annotations.proposed(every)
        settled = [key for key in every if key not in proposed]
        for text, which, state in (
            (tr("Accept all of this result"), proposed, State.ACCEPTED),
            (tr("Reject all of this result"), proposed, State.REJECTED),
            (tr("Set all back to proposed"), settled, State.PROPOSED),
        ):
            action = menu.addAction(text)
            action.setEnabled(bool(which))
            action.triggered.connect(
                lambda _checked=False, which=which, state=state: self._annotations.decide(
                    which, state
                )
            )
        menu.popup(place)

    def _decide(self, state: State = State.PROPOSED) -> None:
        self._annotations.decide([self._annotations.selected], state)

    def _decide_call(self, state: State) -> None:
        annotations = self._annotations
        item = annotations.get(annotations.selected)
        if item is not None:
            ids = annotations.of_call(item.finding.provenance)
            annotations.decide(annotations.proposed(ids), state)
