"""The layout: which viewports there are, where each stands, and which one is active."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from app.workspace.signals import Signal
from app.workspace.viewport import Viewport

Edge = Literal["left", "right", "top", "bottom"]
LARGEST = 4  # rows and columns of a grid
MOST = LARGEST * LARGEST
"""Largest number of viewports."""
_TOLERANCE = 1e-6


@dataclass(frozen=True, slots=True)
class Slot:
    """A rectangle of the layout, in fractions of its width and height; (0, 0) is top left."""

    x: float
    y: float
    width: float
    height: float

    @property
    def right(self) -> float:
        """X of the right edge."""
        return self.x + self.width

    @property
    def bottom(self) -> float:
        """Y of the bottom edge."""
        return self.y + self.height


def grid(rows: int, columns: int) -> tuple[Slot, ...]:
    """Return the slots of a grid, row by row.

    Raises:
        ValueError: A number is not from 1 to 4.
    """
    if not (1 <= rows <= LARGEST and 1 <= columns <= LARGEST):
        raise ValueError(f"a layout has 1 to {LARGEST} rows and columns, not {rows}x{columns}")
    across, down = 1 / columns, 1 / rows
    return tuple(
        Slot(column * across, row * down, across, down)
        for row in range(rows)
        for column in range(columns)
    )


def one_beside(count: int) -> tuple[Slot, ...]:
    """Return a large slot and, at its right, `count` small ones one below the other."""
    down = 1 / count
    small = tuple(Slot(2 / 3, row * down, 1 / 3, down) for row in range(count))
    return (Slot(0.0, 0.0, 2 / 3, 1.0), *small)


LAYOUTS: dict[str, tuple[Slot, ...]] = {
    **{
        f"{rows}x{columns}": grid(rows, columns)
        for rows in range(1, LARGEST + 1)
        for columns in range(1, LARGEST + 1)
    },
    "1+2": one_beside(2),
    "1+3": one_beside(3),
}
"""The layouts by name: rows x columns, and one large viewport beside 2 or 3 small ones."""


@dataclass(eq=False, slots=True)
class Screen:
    """The viewports of one window.

    Attributes:
        slots: Where each of `viewports` stands, in the same order.
        maximised: The viewport that takes all the room, or None.
    """

    slots: tuple[Slot, ...]
    viewports: tuple[Viewport, ...]
    maximised: Viewport | None = None

    @property
    def name(self) -> str:
        """Name of the layout, as in `LAYOUTS`; "" for one that was split by hand."""
        return next((name for name, slots in LAYOUTS.items() if slots == self.slots), "")

    @property
    def visible(self) -> tuple[Viewport, ...]:
        """The viewports to be seen: all, or the one that is maximised."""
        return (self.maximised,) if self.maximised is not None else self.viewports


class Layout:
    """The viewports of the program, in its main window and in a second one for another monitor.

    There is always at least one viewport, and one of all is active. Commands on the layout are
    those of the window with the active viewport: its `screen`.

    Args:
        new_viewport: Makes an empty viewport.

    Attributes:
        main: The viewports of the main window.
        second: Those of the second window; None if it is closed.
        pictures: The viewport with the pictures that tools made, or None. It shows no image.
    """

    def __init__(self, new_viewport: Callable[[], Viewport]) -> None:
        self._new = new_viewport
        self.main = Screen(LAYOUTS["1x1"], (new_viewport(),))
        self.second: Screen | None = None
        self.active = self.main.viewports[0]
        self.pictures: Viewport | None = None
        self._split_for_pictures = False
        self._spare: list[Viewport] = []  # removed ones, which are used again
        self.changed: Signal[()] = Signal()  # slots, viewports or what is maximised
        self.active_changed: Signal[()] = Signal()

    @property
    def screens(self) -> tuple[Screen, ...]:
        """The main window's viewports, and those of the second window if it is open."""
        return (self.main,) if self.second is None else (self.main, self.second)

    @property
    def screen(self) -> Screen:
        """The screen with the active viewport."""
        return self.screen_of(self.active)

    def screen_of(self, viewport: Viewport) -> Screen:
        """Return the screen that has a viewport; the main one if none has it."""
        return next((one for one in self.screens if viewport in one.viewports), self.main)

    @property
    def viewports(self) -> tuple[Viewport, ...]:
        """The viewports of both windows, those of the main window first."""
        return tuple(viewport for screen in self.screens for viewport in screen.viewports)

    @property
    def visible(self) -> tuple[Viewport, ...]:
        """The viewports to be seen in both windows."""
        return tuple(viewport for screen in self.screens for viewport in screen.visible)

    @property
    def slots(self) -> tuple[Slot, ...]:
        """Where the viewports of the active screen stand."""
        return self.screen.slots

    @property
    def name(self) -> str:
        """Name of the active screen's layout, as in `LAYOUTS`; "" if it was split by hand."""
        return self.screen.name

    @property
    def maximised(self) -> bool:
        """Whether a viewport of the active screen takes all its room."""
        return self.screen.maximised is not None

    @property
    def made(self) -> tuple[Viewport, ...]:
        """All viewports that were ever made: those of the layout, and removed ones, now empty."""
        return (*self.viewports, *self._spare)

    def _empty(self) -> Viewport:
        return self._spare.pop() if self._spare else self._new()

    # Windows

    def open_second(self, *, activate: bool = True) -> None:
        """Add the second window's screen, with one empty viewport, which is activated."""
        if self.second is None:
            self.second = Screen(LAYOUTS["1x1"], (self._empty(),))
            if activate:
                self.active = self.second.viewports[0]
            self.changed.emit()
            if activate:
                self.active_changed.emit()

    def close_second(self) -> None:
        """Remove the second window's viewports."""
        gone = self.second
        if gone is None:
            return
        self.second = None
        if self.pictures in gone.viewports:
            self.pictures = None
        active = self.active in gone.viewports
        if active:
            self.active = self.main.visible[0]
        self.changed.emit()
        self._retire(gone.viewports)
        if active:
            self.active_changed.emit()

    # Viewports

    def activate(self, viewport: Viewport) -> None:
        """Make a viewport of this layout the active one."""
        if viewport is not self.active and viewport in self.viewports:
            self.active = viewport
            screen = self.screen
            hidden = viewport not in screen.visible
            if hidden:
                screen.maximised = viewport
            self.active_changed.emit()
            if hidden:
                self.changed.emit()

    def arrange(self, slots: Sequence[Slot]) -> tuple[Viewport, ...]:
        """Place the active screen's viewports in `slots`; return those that were added, empty.

        If there are fewer slots than viewports, the last ones are removed, but never the active.
        Where that is the one with the tools' pictures, an image takes its place.
        """
        kept = list(self.screen.viewports)
        images = [one for one in kept if one is not self.pictures]
        if self.active is self.pictures and images and len(slots) < len(kept):
            self.activate(images[0])
        while len(kept) > len(slots):
            kept.remove(next(one for one in reversed(kept) if one is not self.active))
        added = tuple(self._empty() for _ in range(len(slots) - len(kept)))
        self._become(self.screen, tuple(slots), (*kept, *added))
        return added

    def split(self, viewport: Viewport, edge: Edge) -> Viewport | None:
        """Halve a viewport's slot and return a new, empty viewport at its `edge`.

        None if the screen has as many viewports as it can have.
        """
        screen = self.screen_of(viewport)
        if len(screen.viewports) >= MOST:
            return None
        place = screen.viewports.index(viewport)
        first, second = _halves(screen.slots[place], across=edge in ("left", "right"))
        before = edge in ("left", "top")
        new = self._empty()
        pair = (new, viewport) if before else (viewport, new)
        self._become(
            screen,
            (*screen.slots[:place], first, second, *screen.slots[place + 1 :]),
            (*screen.viewports[:place], *pair, *screen.viewports[place + 1 :]),
        )
        return new

    def close(self, viewport: Viewport) -> None:
        """Remove a viewport and give its room to its neighbours.

        The main window's last one stays; the second window closes with its last one.
        """
        screen = self.screen_of(viewport)
        if screen is self.second and screen.viewports == (viewport,):
            self.close_second()
            return
        if len(screen.viewports) == 1 or viewport not in screen.viewports:
            return
        place = screen.viewports.index(viewport)
        rest = (*screen.viewports[:place], *screen.viewports[place + 1 :])
        slots = _without(screen.slots, place)
        if viewport is self.active:
            self.active = rest[min(place, len(rest) - 1)]
            self._become(screen, slots, rest)
            self.active_changed.emit()
        else:
            self._become(screen, slots, rest)

    def swap(self, one: Viewport, other: Viewport) -> None:
        """Exchange the places of two viewports, which may be in different windows."""
        if one is other:
            return
        places = {one: other, other: one}
        for screen in self.screens:
            screen.viewports = tuple(places.get(item, item) for item in screen.viewports)
            screen.maximised = None
        self.changed.emit()

    def maximise(self, maximised: bool) -> None:
        """Give the active viewport all the room of its window, or show every viewport again."""
        screen = self.screen
        large = self.active if maximised and len(screen.viewports) > 1 else None
        if large is not screen.maximised:
            screen.maximised = large
            self.changed.emit()

    def step(self, by: int) -> None:
        """Activate the viewport that is `by` places further on, round the end."""
        place = self.viewports.index(self.active) + by
        self.activate(self.viewports[place % len(self.viewports)])

    def _become(
        self, screen: Screen, slots: tuple[Slot, ...], viewports: tuple[Viewport, ...]
    ) -> None:
        gone = [one for one in screen.viewports if one not in viewports]
        if self.pictures in gone:
            self.pictures = None
        same = (slots, viewports, None) == (screen.slots, screen.viewports, screen.maximised)
        screen.slots, screen.viewports, screen.maximised = slots, viewports, None
        if not same:
            self.changed.emit()
        self._retire(gone)

    def _retire(self, gone: Iterable[Viewport]) -> None:
        for one in gone:
            one.clear()
            self._spare.append(one)

    # Pictures that tools made

    def show_pictures(self, edge: Edge) -> None:
        """Make a viewport the one with the tools' pictures, if none is.

        It is an empty one beside the active viewport, or else a new one at `edge` of that. Where
        there is no room for more, all are shown again, and it may be the last one.
        """
        if self.pictures is not None:
            return
        others = [one for one in self.screen.visible if one is not self.active]
        if not others and len(self.screen.viewports) >= MOST:  # the active one is maximised
            self.screen.maximised = None
            others = [one for one in self.screen.viewports if one is not self.active]
        empty = next((one for one in others if one.instance is None), None)
        self._split_for_pictures = empty is None and len(self.screen.viewports) < MOST
        if self._split_for_pictures:
            self.pictures = self._spare[-1] if self._spare else self._new_spare()
            self.split(self.active, edge)
            return
        self.pictures = empty or others[-1]
        self.pictures.clear()
        self.changed.emit()

    def hide_pictures(self) -> None:
        """Show the tools' pictures no longer: close their viewport, or leave it empty."""
        viewport, self.pictures = self.pictures, None
        alone = viewport is not None and self.screen_of(viewport).viewports == (viewport,)
        if viewport is not None and self._split_for_pictures and not alone:
            self.close(viewport)
        if viewport in self.viewports:  # also the only one of a window, which stays
            self.changed.emit()

    def _new_spare(self) -> Viewport:
        self._spare.append(self._new())
        return self._spare[-1]


def _halves(slot: Slot, *, across: bool) -> tuple[Slot, Slot]:
    """Return the left and right half of a slot if `across`, else its upper and lower half."""
    if across:
        width = slot.width / 2
        return Slot(slot.x, slot.y, width, slot.height), Slot(
            slot.x + width, slot.y, width, slot.height
        )
    height = slot.height / 2
    return Slot(slot.x, slot.y, slot.width, height), Slot(
        slot.x, slot.y + height, slot.width, height
    )


def _without(slots: Sequence[Slot], place: int) -> tuple[Slot, ...]:
    """Return slots but one, taken by neighbours along an edge, else a smaller `LAYOUTS`."""
    gone, rest = slots[place], [*slots[:place], *slots[place + 1 :]]
    for edge in ("left", "right", "top", "bottom"):
        beside = [n for n, one in enumerate(rest) if _touches(one, gone, edge)]
        across = edge in ("left", "right")
        length = sum(rest[n].height if across else rest[n].width for n in beside)
        if beside and abs(length - (gone.height if across else gone.width)) < _TOLERANCE:
            for n in beside:
                rest[n] = _grown(rest[n], gone, edge)
            return tuple(rest)
    return next(one for one in LAYOUTS.values() if len(one) >= len(rest))[: len(rest)]


def _touches(one: Slot, gone: Slot, edge: str) -> bool:
    """Return whether a slot lies at an edge of the closed one, and not beyond its corners."""
    if edge in ("left", "right"):
        meets = one.right - gone.x if edge == "left" else one.x - gone.right
        inside = one.y >= gone.y - _TOLERANCE and one.bottom <= gone.bottom + _TOLERANCE
    else:
        meets = one.bottom - gone.y if edge == "top" else one.y - gone.bottom
        inside = one.x >= gone.x - _TOLERANCE and one.right <= gone.right + _TOLERANCE
    return inside and abs(meets) < _TOLERANCE


def _grown(one: Slot, gone: Slot, edge: str) -> Slot:
    """Return a slot that takes the room of a closed one, at whose `edge` it lies."""
    match edge:
        case "left":
            return Slot(one.x, one.y, one.width + gone.width, one.height)
        case "right":
            return Slot(gone.x, one.y, one.width + gone.width, one.height)
        case "top":
            return Slot(one.x, one.y, one.width, one.height + gone.height)
        case _:
            return Slot(one.x, gone.y, one.width, one.height + gone.height)
