"""Reads which frames the open key object selections name, so that they bear a sign."""

from __future__ import annotations

from functools import partial

from PySide6.QtCore import QObject

from app.errors import SightlineError
from app.imaging.layers import may_be_same_patient
from app.imaging.report import ImageLink, Report, key_images
from app.imaging.types import Content, Instance
from app.views.loader import Loader
from app.workspace.workspace import Workspace


class KeyImageSigns(QObject):
    """Keeps `Workspace.key_marks` informed about key object selections.

    Which images they name the index knows; which frames of an image of several is in their files.
    """

    def __init__(self, workspace: Workspace, loader: Loader, parent: QObject) -> None:
        super().__init__(parent)
        self._workspace = workspace
        self._loader = loader
        self._learnt: dict[str, tuple[ImageLink, ...] | None] = {}  # None: it is being read
        workspace.studies.changed.connect(self._refresh)
        self._refresh()

    def _refresh(self) -> None:
        named: dict[str, tuple[ImageLink, ...]] = {}
        for study in self._workspace.studies.all:
            for series in study.series:
                for item in series.instances if series.content is Content.KEY_OBJECTS else ():
                    if not item.note:  # one with a note withdraws images
                        named[item.sop_instance_uid] = self._links(item)
        for uid in self._learnt.keys() - named.keys():
            del self._learnt[uid]
        self._workspace.key_marks.name(named)

    def _links(self, item: Instance) -> tuple[ImageLink, ...]:
        found = [self._workspace.instance_of(uid) for uid in item.references]
        images = [one for one in found if one is not None and may_be_same_patient(item, one)]
        if all(one.frames <= 1 for one in images):
            return tuple(ImageLink(one.sop_instance_uid) for one in images)
        if item.sop_instance_uid not in self._learnt:
            self._learnt[item.sop_instance_uid] = None
            self._loader.report(item, partial(self._learn, item), self._give_up)
        return self._learnt[item.sop_instance_uid] or ()

    def _learn(self, item: Instance, report: Report) -> None:
        self._learnt[item.sop_instance_uid] = key_images(report)
        self._refresh()

    def _give_up(self, _error: SightlineError) -> None:
        """Leave its images without a sign; its page says why it cannot be read."""
