"""The key images of the shown study, and steps through them."""

from __future__ import annotations

from app.imaging.report import ImageLink, Report, key_images
from app.imaging.types import Content, Instance, Study
from app.workspace.workspace import Workspace


class KeyImages:
    """Steps through the images named by the key object selections of the shown study.

    Args:
        workspace: The models.
    """

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._learnt: dict[str, tuple[ImageLink, ...]] = {}
        self._of: tuple[Study | None, tuple[ImageLink, ...]] = (None, ())

    def learn(self, instance: Instance, report: Report) -> None:
        """Take a key object selection that was read, with frames the catalogue does not know."""
        self._learnt[instance.sop_instance_uid] = key_images(report)
        self._of = (None, ())

    @property
    def links(self) -> tuple[ImageLink, ...]:
        """Key images of the shown study, each once, in the order of the selections."""
        shown = self._workspace.viewport.instance
        study = self._workspace.studies.study_of(shown) if shown else None
        if study is None:
            return ()
        if self._of[0] is not study:
            self._of = (study, self._links_of(study))
        return self._of[1]

    def _links_of(self, study: Study) -> tuple[ImageLink, ...]:
        found: dict[ImageLink, None] = {}
        for series in study.series:
            if series.content is Content.KEY_OBJECTS:
                for item in series.instances:
                    if item.note:
                        continue  # a note that withdraws images
                    plain = tuple(ImageLink(uid) for uid in item.references)
                    found |= dict.fromkeys(self._learnt.get(item.sop_instance_uid, plain))
        return tuple(found)

    def step(self, by: int) -> bool:
        """Show the next (1) or previous (-1) open key image; return False if there is none."""
        links = self.links
        place = self._place(links)
        start = place if place is not None else (-1 if by > 0 else 0)
        for distance in range(1, len(links) + 1):
            if self.show(links[(start + by * distance) % len(links)]):
                return True
        return False

    def _place(self, links: tuple[ImageLink, ...]) -> int | None:
        viewport = self._workspace.viewport
        shown = viewport.instance
        uid = shown.sop_instance_uid if shown else ""
        for number, link in enumerate(links):
            same_frame = not link.frames or viewport.frame_index in link.frames
            if link.sop_instance_uid == uid and same_frame:
                return number
        return None

    def show(self, link: ImageLink) -> bool:
        """Show a key image at its frame; return False when it is not open."""
        instance = self._workspace.instance_of(link.sop_instance_uid)
        if instance is None or not instance.has_frames:
            return False
        frame = link.frames[0] if link.frames else 0
        viewport = self._workspace.viewport
        if viewport.instance is instance:
            viewport.scroll_to(frame)
        else:
            viewport.show(instance, frame)
        return True
