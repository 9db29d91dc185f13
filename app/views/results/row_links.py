"""Links between the rows of a table and the objects that they are about."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from app.imaging.types import ImageRef
from app.tools.tables import Table
from app.views.translation import translatable
from app.workspace.workspace import Workspace

GONE = translatable("The objects are no longer on the image: run the tool again to link them.")

Target = tuple[str, int]
"""A finding's id, and the number of one of its objects or 0."""


class RowLinks:
    """Which object each row of a table is about, and the other way round; made on any thread.

    Args:
        table: The table; a column "finding" with their ids goes before `findings`.
        image_column: Column with the name of each row's image; "" for none.
        label_column: Column with the number of each row's object; "" for none.
        findings: Ids of the findings with the objects, by the image's name; "" is any image's.
    """

    def __init__(
        self, table: Table, image_column: str, label_column: str, findings: Mapping[str, Any]
    ) -> None:
        self._targets: list[Target | None] = [None] * len(table.rows)
        self._rows: dict[Target, int] = {}
        if label_column not in table.columns:
            return
        images = table.column(image_column) if image_column in table.columns else None
        # Two images may have one name.
        own = table.column("finding") if "finding" in table.columns else None
        for row, number in enumerate(table.column(label_column)):
            image = str(images[row]) if images is not None else ""
            finding = (own[row] if own else None) or findings.get(image) or findings.get("")
            if isinstance(finding, str) and isinstance(number, int) and number > 0:
                self._targets[row] = finding, number
                self._rows.setdefault((finding, number), row)

    def __bool__(self) -> bool:
        return bool(self._rows)

    def row_of(self, finding_id: str, number: int) -> int | None:
        """Return the row about an object, or None."""
        return self._rows.get((finding_id, number))

    def choose(self, row: int, workspace: Workspace) -> bool:
        """Select a row's object and show its image; return False if the object is gone."""
        target = self._targets[row]
        if target is None:
            return True
        item = workspace.annotations.get(target[0])
        if item is None:
            return False
        _show(item.finding.image, workspace)
        workspace.annotations.select(*target)
        return True


def _show(ref: ImageRef, workspace: Workspace) -> None:
    """Show an image in a viewport, not in that of the tables, and leave the keys where they are."""
    layout = workspace.layout
    viewports = [one for one in layout.viewports if one is not layout.pictures]
    for viewport in viewports:
        if viewport.instance and viewport.instance.sop_instance_uid == ref.sop_instance_uid:
            viewport.scroll_to(ref.frame)
            return
    instance = workspace.instance_of(ref.sop_instance_uid)
    if instance is not None and viewports:
        viewport = layout.active if layout.active in viewports else viewports[0]
        viewport.show(instance, ref.frame)
