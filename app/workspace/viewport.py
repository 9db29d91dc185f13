"""The state of the viewport (which frame is shown, and how) and of the panes beside it.

The viewport emits a numbered request, another object decodes the frame, and the viewport uses the
result only if its request is the latest one.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from app.imaging.axes import MOST_TOGETHER, Axes, Rgb, channel_colors
from app.imaging.layers import may_be_same_patient
from app.imaging.pixels import presentation_pipeline
from app.imaging.pixels.composite import Tint, can_compose
from app.imaging.pixels.windows import has_automatic_window
from app.imaging.presentation import ImagePresentation, PresentationState
from app.imaging.types import Frame, Instance, Voi, Window
from app.workspace.layers import Layers
from app.workspace.signals import Signal

REFORMAT = "reformat"  # `Instance.kind` of sections that were made here


@dataclass(frozen=True, slots=True)
class FrameRequest:
    """A numbered request for a frame; only the answer to the latest one is shown."""

    number: int
    instance: Instance
    frame_index: int
    channels: tuple[int, ...] = ()
    """The frames of the channels that are shown together with this one; () for it alone."""


@dataclass(frozen=True, slots=True)
class ChannelLook:
    """How a channel is shown together with others; without a window, in its own or automatic."""

    color: Rgb
    visible: bool = True
    window: Window | None = None


@dataclass(frozen=True, slots=True)
class Display:
    """How an image is displayed: window, polarity, orientation and colour map.

    Of an image with several channels, one is selected. `window` is its window, whatever `channels`
    says of it. If `together` is true, all visible channels are shown in their colours, otherwise
    the selected one in greys.

    Flips (`flip_h` exchanges left and right) come before the clockwise quarter turns, 0 to 3 (as in
    `geometry.edge_letters` and PS3.3 C.10.6). Without a window, that of the file or the automatic
    one is used. `colormap` names the map that colours a grey image's greys, "" for none.
    """

    window: Window | None = None
    invert: bool = False
    flip_h: bool = False
    flip_v: bool = False
    quarter_turns: int = 0
    colormap: str = ""
    channels: tuple[ChannelLook, ...] = ()
    together: bool = False

    @property
    def look(self) -> tuple[object, ...]:
        """All that the colours of pixels depend on."""
        return self.window, self.invert, self.colormap, self.channels, self.together

    def flipped(self, *, across: bool) -> Display:
        """Return the display mirrored on the screen: left-right if `across`, else top-bottom."""
        # Flips come before the rotation, so a quarter turn exchanges them.
        if across != bool(self.quarter_turns % 2):
            return self._plain(not self.flip_h, self.flip_v, self.quarter_turns)
        return self._plain(self.flip_h, not self.flip_v, self.quarter_turns)

    def turned(self, quarters: int) -> Display:
        """Return the display rotated clockwise on the screen by a number of quarter turns."""
        return self._plain(self.flip_h, self.flip_v, self.quarter_turns + quarters)

    def _plain(self, flip_h: bool, flip_v: bool, turns: int) -> Display:
        if flip_h and flip_v:  # the same as half a turn
            flip_h, flip_v, turns = False, False, turns + 2
        return replace(self, flip_h=flip_h, flip_v=flip_v, quarter_turns=turns % 4)

    @property
    def turn_text(self) -> str:
        """Flips and rotation in words; "" if there are none."""
        turns = (self.quarter_turns + 2 * self.flip_v) % 4
        rotated = ("", "rotated 90° right", "rotated 180°", "rotated 90° left")[turns]
        if self.flip_h == self.flip_v:
            return rotated.capitalize()
        if turns == 2:
            return "Flipped top-bottom"
        return "Flipped left-right" + (f", {rotated}" if rotated else "")


def _display_of(presented: ImagePresentation | None) -> Display:
    """Return the flip and rotation of a presentation state."""
    if presented is None:
        return Display()
    return Display(flip_h=presented.flip_h, quarter_turns=presented.quarter_turns % 4)


def _own_key(instance: Instance) -> object:
    return instance.path, instance.part


Place = tuple[Instance, int]
"""An acquired image, and a frame of it (from 0)."""


class Viewport:
    """The frame in one viewport and its display. All methods must be called on the GUI thread.

    Args:
        scale_key: Returns a key that all images of a series share (see `Workspace.scale_key`).
        layers: The layers drawn over the image.
        sections: Filled with the instances that hold sections, by UID, each with its source.
    """

    def __init__(
        self,
        scale_key: Callable[[Instance], object] = _own_key,
        layers: Layers | None = None,
        sections: dict[str, tuple[Instance, Place]] | None = None,
    ) -> None:
        self._scale_key = scale_key
        self._sections = {} if sections is None else sections
        self.layers = layers or Layers()
        self._source: Place | None = None  # where the shown sections were made from
        self._greys: dict[object, Display] = {}  # how a series was shown last, if changed
        self.instance: Instance | None = None
        self.frame_index = 0
        self.frame: Frame | None = None
        self.error = ""
        self.display = Display()
        self.lent_window: Window | None = None  # the acquired image's, for sections
        self._automatic: Mapping[int, Window] = {}  # windows of the shown series, by channel
        self._channel = 0  # the channel whose window `display.window` is
        self._decoded: Frame | None = None  # the shown frame as the file has it
        self._delivered = 0  # number of the request that it answers
        self.presentation: PresentationState | None = None
        self._applied: ImagePresentation | None = None  # what `display` was last fitted to
        self._number = 0
        self.requested: Signal[FrameRequest] = Signal()
        self.image_changed: Signal[()] = Signal()  # another instance, or none
        self.frame_changed: Signal[()] = Signal()  # new pixels, or an error
        self.display_changed: Signal[()] = Signal()

    def clear(self) -> None:
        """Show nothing, and forget how series were shown."""
        self.show(None)
        self.set_display(Display())
        self._greys.clear()

    def close(self) -> None:
        """Disconnect all listeners."""
        for model in (self, self.layers):
            for value in vars(model).values():
                if isinstance(value, Signal):
                    value.clear()

    @property
    def acquired(self) -> Instance | None:
        """The shown instance; for a reformat, the acquired image that it was made from."""
        shown = self.instance
        if shown is not None and shown.kind == REFORMAT:
            return self._source[0] if self._source else None
        return shown

    @property
    def loading(self) -> bool:
        """Whether the viewport is empty because its requested frame has not arrived yet."""
        shown = self.instance
        return shown is not None and shown.has_frames and self.frame is None and not self.error

    def show(
        self, instance: Instance | None, frame_index: int = 0, *, keep_display: bool = False
    ) -> None:
        """Show frame `frame_index` (from 0) of an instance; None for nothing.

        Window, inversion and colour map are those in which the image's series was last shown, or
        else its own.
        With `keep_display`, the present window, inversion and orientation are kept, e.g. for a
        neighbour of the shown image; those made by a presentation state only if the state applies
        to the instance. For objects without frames, such as reports, no frame is requested.
        """
        if instance is not None and instance.sop_instance_uid in self._sections:
            self._source = self._sections[instance.sop_instance_uid][1]
        if self.instance is not None and self._applied is None:
            shown, key = self.display, self._scale_key(self.instance)
            shown = replace(shown, channels=self.channel_looks)
            own = self.own_display(self.frame_index)
            if shown.look == own.look:
                self._greys.pop(key, None)  # as every series is shown
            else:
                self._greys[key] = shown
        self.instance = instance
        self.frame = self._decoded = None
        self.error = ""
        self.frame_index = 0
        if not self._is_about(self.presentation):
            self.presentation = None  # it is about other images
        shown = self._carried(frame_index) if keep_display else self._remembered(frame_index)
        self.display = self._fitted(shown)
        self._channel = self._channel_of(frame_index)
        self._applied = self.presented(frame_index)
        self._number += 1
        self.layers.set_presentation(self.presentation)
        self.image_changed.emit()
        if instance is not None and instance.has_frames:
            self._request(frame_index)

    def show_reformat(
        self, instance: Instance, index: int = 0, window: Window | None = None
    ) -> None:
        """Show section `index` (from 0) of a reformat, i.e. of sections through the shown series.

        Window and inversion are kept; flips and rotation are not, since they would mean something
        else in another plane. If the user has not set a window, `window` is used: the one in which
        the acquired image is shown.
        """
        shown, source = self.instance, self._source
        if shown is not None and shown.kind != REFORMAT:
            source = (shown, self.frame_index)
            self.lent_window = None
        if source is None:
            return
        if self.display.window is None:
            self.lent_window = window
        self._sections[instance.sop_instance_uid] = (instance, source)
        self._swap(instance, index)

    def show_acquired(self, image: Instance | None = None, index: int = 0) -> None:
        """Leave a reformat: show frame `index` of `image`, or if None the frame shown before."""
        shown = self.instance
        if shown is not None and shown.kind == REFORMAT and self._source is not None:
            self._swap(*((image, index) if image is not None else self._source))

    def _swap(self, instance: Instance, index: int) -> None:
        display = self.display
        self.show(instance, index)
        self.set_display(Display(display.window, display.invert, colormap=display.colormap))

    def scroll_to(self, frame_index: int) -> None:
        """Show another frame of the same instance.

        Window and zoom are kept, and the old frame stays until the new one has been decoded.
        """
        if self.instance is not None and frame_index != self.frame_index:
            self._request(frame_index)

    def deliver(self, request: FrameRequest, frame: Frame) -> bool:
        """Show a decoded frame; return False if a later request has replaced this one."""
        if request.number != self._number:
            return False
        self._decoded, self._delivered = frame, request.number
        self.frame = self._prepared(frame)
        self.error = ""
        display = self._carried(request.frame_index)
        channel = self._channel_of(request.frame_index)
        if channel != self._channel and display.channels:
            looks = self.channel_looks
            display = replace(display, channels=looks, window=looks[channel].window)
        self._channel = channel
        self._applied = self.presented(request.frame_index)
        self.set_display(display)
        self.frame_changed.emit()
        return True

    def _prepared(self, frame: Frame) -> Frame:
        """Return a decoded frame with the series' automatic window and the presentation state."""
        lent = self.lent_window if self.instance and self.instance.kind == REFORMAT else None
        automatic = self._automatic.get(self._channel_of(frame.ref.frame))
        whole = prepared(frame, lent, automatic, self.presented(self.frame_index))
        channels = tuple(self._prepared_channel(one) for one in frame.channels)
        return replace(whole, channels=channels) if channels else whole

    def _prepared_channel(self, frame: Frame) -> Frame:
        automatic = self._automatic.get(self._channel_of(frame.ref.frame))
        return prepared(frame, None, automatic, None)

    # Channels

    @property
    def axes(self) -> Axes | None:
        """The axes of the shown image if it has several channels, else None."""
        axes = self.instance.axes if self.instance is not None else None
        return axes if axes is not None and len(axes.channels) > 1 else None

    @property
    def channel(self) -> int:
        """The selected channel, from 0."""
        return self._channel

    @property
    def channel_looks(self) -> tuple[ChannelLook, ...]:
        """How each channel is shown, with the window of the selected one; () for a single one."""
        looks = self.display.channels
        return tuple(
            replace(look, window=self.display.window) if number == self._channel else look
            for number, look in enumerate(looks)
        )

    def select_channel(self, channel: int) -> None:
        """Select a channel, from 0: its window is set, and tools get it."""
        axes = self.axes
        if axes is not None and 0 <= channel < len(axes.channels):
            _, z, time = axes.place(self.frame_index)
            self.scroll_to(axes.index(channel, z, time))

    def show_channels(self, looks: Sequence[ChannelLook]) -> None:
        """Set how the channels are shown together, the window of the selected one too."""
        if len(looks) == len(self.display.channels):
            window = looks[self._channel].window
            self.set_display(replace(self.display, channels=tuple(looks), window=window))

    def _channel_of(self, frame_index: int) -> int:
        axes = self.axes
        return axes.place(frame_index)[0] if axes is not None else 0

    def _together(self, frame_index: int) -> tuple[int, ...]:
        """Return the frames of the channels that are to be shown with a frame."""
        axes, display = self.axes, self.display
        if axes is None or not display.together:
            return ()
        beside = axes.beside(frame_index)
        return tuple(
            index for index, look in zip(beside, display.channels, strict=True) if look.visible
        )

    def _fitted(self, display: Display) -> Display:
        """Return a display with looks for the channels that the image has."""
        count = len(self.axes.channels) if self.axes is not None else 0
        if len(display.channels) == count:
            return display
        own = self.own_display(self.frame_index)
        return replace(display, channels=own.channels, together=own.together)

    @property
    def needs_automatic(self) -> bool:
        """Whether the shown frame's file has no window, so that an automatic one is used."""
        return self._decoded is not None and has_automatic_window(self._decoded)

    @property
    def acquired_window(self) -> Window | None:
        """The window set for the image, or the automatic one; None if the file's own is used."""
        return self.display.window or (self.automatic if self.needs_automatic else None)

    @property
    def automatic(self) -> Window | None:
        """The automatic window of the shown series, or of its selected channel; None if unknown."""
        return self._automatic.get(self._channel)

    @property
    def automatic_windows(self) -> Mapping[int, Window]:
        """The automatic windows of the shown series by channel, as far as they are known."""
        return self._automatic

    def set_automatic(self, windows: Mapping[int, Window]) -> None:
        """Set the windows, by channel, for frames whose file has none.

        Without one, each frame gets its own automatic window.
        """
        if windows == self._automatic:
            return
        self._automatic = dict(windows)
        if self._decoded is not None and self._delivered == self._number:
            self.frame = self._prepared(self._decoded)
            self.frame_changed.emit()

    def present(self, state: PresentationState | None) -> None:
        """Apply a presentation state; None removes the current one.

        A state that refers to other images is not applied. A state that refers to other frames of
        this image applies once one of those is shown.
        """
        self.presentation = state if self._is_about(state) else None
        self._applied = self.presented(self.frame_index)
        self.set_display(self.own_display(self.frame_index))
        self._request(self.frame_index)
        self.layers.set_presentation(self.presentation)

    def reset_display(self) -> None:
        """Restore the image's own window and orientation, or those of the applied state."""
        self.set_display(self.own_display(self.frame_index))

    def _is_about(self, state: PresentationState | None) -> bool:
        """Return whether a state applies to the shown image or one of its frames."""
        if state is None or self.instance is None:
            return False
        uid = self.instance.sop_instance_uid
        return may_be_same_patient(state.layer.instance, self.instance) and any(
            named == uid for named, _ in state.images
        )

    def presented(self, frame_index: int) -> ImagePresentation | None:
        """Return the applied presentation state's settings for a frame of the image, or None."""
        if self.presentation is None or self.instance is None:
            return None
        return self.presentation.of(self.instance.sop_instance_uid, frame_index)

    def own_display(self, frame_index: int) -> Display:
        """Return the display in which a frame is shown before the user changes anything."""
        own, axes = _display_of(self.presented(frame_index)), self.axes
        if axes is None:
            return own
        return replace(own, channels=own_looks(axes), together=True)

    def _remembered(self, frame_index: int) -> Display:
        """Return the display for an image whose series may have been shown before."""
        own = self.own_display(frame_index)
        if self.instance is None or self.presented(frame_index) is not None:
            return own
        last = self._greys.get(self._scale_key(self.instance))
        if last is None:
            return own
        own = replace(own, window=last.window, invert=last.invert, colormap=last.colormap)
        if not own.channels or len(own.channels) != len(last.channels):
            return own
        window = last.channels[self._channel_of(frame_index)].window
        return replace(own, channels=last.channels, together=last.together, window=window)

    def _carried(self, frame_index: int) -> Display:
        """Return the display for another frame or a neighbour of the shown image.

        Where a presentation state begins or stops to apply, its own display is used: its flip must
        not stay on other frames, and a window set by hand must not hide its window.
        """
        before, now = self._applied, self.presented(frame_index)
        same_turn = _display_of(before) == _display_of(now)
        if (before is None) == (now is None) and same_turn:
            return self.display
        return self.own_display(frame_index)

    def fail(self, request: FrameRequest, error: str) -> bool:
        """Show an error for a request; return False if a later request has replaced this one."""
        if request.number != self._number:
            return False
        self.frame = self._decoded = None
        self.error = error
        self.frame_changed.emit()
        return True

    def set_display(self, display: Display) -> None:
        """Set the window, polarity, orientation and colours in which the image is shown."""
        display = self._fitted(display)
        if display == self.display:
            return
        self.display = display
        self.display_changed.emit()
        wanted, shown = self._together(self.frame_index), self.frame
        if shown is not None and wanted:
            there = {one.ref.frame for one in shown.channels}
            if not there.issuperset(wanted) and self._delivered == self._number:
                self._request(self.frame_index)  # channels that were not visible before

    def _request(self, frame_index: int) -> None:
        if self.instance is None or not self.instance.has_frames:
            return
        self.frame_index = max(0, min(frame_index, self.instance.frames - 1))
        self._number += 1
        channels = self._together(self.frame_index)
        request = FrameRequest(self._number, self.instance, self.frame_index, channels)
        self.requested.emit(request)


def own_looks(axes: Axes) -> tuple[ChannelLook, ...]:
    """Return how channels are shown together before the user changes anything."""
    return tuple(
        ChannelLook(color, number < MOST_TOGETHER)
        for number, color in enumerate(channel_colors(axes.channels))
    )


def tints_of(frame: Frame, display: Display, axes: Axes | None) -> tuple[Tint, ...]:
    """Return the channels of a frame that a display shows together; () where it shows one alone.

    They are those that are visible and at hand; if there are none, the selected one is shown alone.
    """
    if axes is None or not display.together or len(display.channels) != len(axes.channels):
        return ()
    if not frame.channels or not can_compose(frame.channels):
        return ()
    selected = axes.place(frame.ref.frame)[0]
    tints: list[Tint] = []
    for one in frame.channels:
        number = axes.place(one.ref.frame)[0]
        look = display.channels[number]
        window = display.window if number == selected else look.window
        if look.visible:
            tints.append(Tint(one, window, look.color))
    return tuple(tints)


def prepared(
    frame: Frame,
    lent: Window | None,
    automatic: Window | None,
    presented: ImagePresentation | None,
) -> Frame:
    """Return a decoded frame with the window of its series and a presentation state's settings.

    `lent` is the acquired image's window, for sections; `automatic` is for a frame without one.
    """
    if window := lent or (automatic if has_automatic_window(frame) else None):
        frame = replace(frame, voi=Voi((window,)))
    if presented is not None:
        frame = presentation_pipeline.apply_presentation(frame, presented)
    return frame


DATA = ("table", "plot")
"""Roles of panes that show no picture, but data that can be exported."""


@dataclass(frozen=True, slots=True)
class Pane:
    """A picture made by a tool, to be shown beside the viewport, with title and description.

    Attributes:
        path: The file in the run's output folder.
        tool: Title, for users, of the tool that made it.
        options: The artifact's options, as its role has them.
        sop_instance_uid: UID of the image that the picture was made from, or "" if unknown.
        instance: The image whose content the picture shows, for its patient and date; None if
            unknown.
        role: That of the artifact: "show", "image", "table" or "plot".
    """

    path: Path
    title: str
    description: str
    tool: str
    options: dict[str, Any] = field(default_factory=dict[str, Any])
    sop_instance_uid: str = ""
    instance: Instance | None = field(default=None, compare=False)
    role: str = "show"

    @property
    def sides(self) -> tuple[str, str, str, str]:
        """Patient letters at the (left, right, top, bottom) edges, "" where unknown."""
        given: Any = self.options.get("sides")
        if not isinstance(given, list) or len(given) != 4:
            return "", "", "", ""
        left, right, top, bottom = (str(one)[:3] for one in given)
        return left, right, top, bottom


class Panes:
    """The open panes in order; showing a file that is already open moves its pane to the end.

    A picture is shown only beside images of the study that it was made from.
    """

    def __init__(self) -> None:
        self._panes: list[Pane] = []
        self._beside: Sequence[Container[str]] = ()
        self.changed: Signal[()] = Signal()

    @property
    def all(self) -> tuple[Pane, ...]:
        """The open panes whose pictures belong to a shown study."""
        return tuple(pane for pane in self._panes if self._fits(pane))

    def set_studies(self, sop_instance_uids: Sequence[Container[str]]) -> None:
        """Set the images of each shown study; panes of other studies are hidden, not closed."""
        before = self.all
        self._beside = sop_instance_uids
        if self.all != before:
            self.changed.emit()

    def show(self, pane: Pane) -> None:
        """Open a pane and put it last in the list."""
        self._panes = [item for item in self._panes if item.path != pane.path]
        self._panes.append(pane)
        self.changed.emit()

    def of_picture(self, path: Path) -> Pane | None:
        """Return the pane that shows a file, or None."""
        return next((pane for pane in self._panes if pane.path == path), None)

    def close(self, pane: Pane) -> None:
        """Remove a pane from the open panes; does nothing if it is not open."""
        if pane in self._panes:
            self._panes.remove(pane)
            self.changed.emit()

    def close_study(self, sop_instance_uids: Container[str]) -> None:
        """Close the panes that belong to a closed study."""
        kept = [pane for pane in self._panes if pane.sop_instance_uid not in sop_instance_uids]
        if kept != self._panes:
            self._panes = kept
            self.changed.emit()

    def _fits(self, pane: Pane) -> bool:
        uid = pane.sop_instance_uid
        return not uid or any(uid in one for one in self._beside)
