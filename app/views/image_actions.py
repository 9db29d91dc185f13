"""The actions of the image: how it is shown, what is measured on it, and which one comes next."""

from __future__ import annotations

from collections.abc import Callable

from app.views import icons
from app.views.canvas.canvas import Canvas
from app.views.canvas.image_view import WHEEL_STEP
from app.views.mark_actions import MakeAction
from app.workspace import measurements
from app.workspace.workspace import Workspace


class ImageActions:
    """How the image is shown, and what is measured on it.

    Args:
        make: Makes actions.
        canvas: What they act on.
        workspace: The models.
    """

    def __init__(self, make: MakeAction, canvas: Canvas, workspace: Workspace) -> None:
        self._canvas = canvas
        self._workspace = workspace
        self.invert = make("Invert", canvas.toggle_invert, "I", "contrast", checkable=True)
        self.reset = make("Reset view", canvas.reset, "R", "rotate-ccw")
        self.fit = make("Fit to window", canvas.fit, "F", "maximize")
        self.one_to_one = make("One to one", canvas.one_to_one, "1")
        self.one_to_one.setIconText("1:1")
        zoom = canvas.zoom_by
        self.zoom_in = make("Zoom in", lambda: zoom(WHEEL_STEP), "Ctrl++", "zoom-in")
        self.zoom_out = make("Zoom out", lambda: zoom(1 / WHEEL_STEP), "Ctrl+-", "zoom-out")
        flip, rotate = canvas.flip, canvas.rotate
        self.flip_h = make("Flip left-right", lambda: flip(across=True), "H", "flip-horizontal")
        self.flip_v = make("Flip top-bottom", lambda: flip(across=False), "V", "flip-vertical")
        self.turn_left = make("Rotate left", lambda: rotate(-1), "[", "rotate-ccw-square")
        self.turn_right = make("Rotate right", lambda: rotate(1), "]", "rotate-cw-square")
        toggle = canvas.measuring.toggle
        self.ruler = make(
            "Measure a length", lambda: toggle(measurements.RULER), "L", "ruler", checkable=True
        )
        self.angle = make(
            "Measure an angle",
            lambda: toggle(measurements.ANGLE),
            "Shift+L",
            "angle",
            checkable=True,
        )
        self._all = (
            *(self.invert, self.reset, self.fit, self.one_to_one, self.zoom_in, self.zoom_out),
            *(self.flip_h, self.flip_v, self.turn_left, self.turn_right, self.ruler, self.angle),
        )

    def refresh(self, *, has_image: bool) -> None:
        """Follow the models: what is possible, and what is on."""
        for action in self._all:
            action.setEnabled(has_image)
        self.invert.setChecked(self._workspace.viewport.display.invert)
        tool = self._canvas.measuring.tool
        self.ruler.setChecked(tool == measurements.RULER)
        self.angle.setChecked(tool == measurements.ANGLE)


class ScrollActions:
    """From frame to frame and image to image, to key images and other series, and as a film.

    Args:
        make: Makes actions.
        canvas: What they act on.
        workspace: The models.
        key_image: Goes so many key images on.
        has_key_images: Whether there are any.
        step_series: Goes so many series on.
    """

    def __init__(
        self,
        make: MakeAction,
        canvas: Canvas,
        workspace: Workspace,
        *,
        key_image: Callable[[int], object],
        has_key_images: Callable[[], bool],
        step_series: Callable[[int], object],
    ) -> None:
        self._studies = workspace.studies
        self._has_key_images = has_key_images
        self._playing = False
        self._scroll = scroll = canvas.scroller
        self.play = make("Play cine", scroll.toggle, "P", "play", checkable=True)
        self.faster = make("Faster cine", lambda: scroll.change_speed(1), ".")
        self.slower = make("Slower cine", lambda: scroll.change_speed(-1), ",")
        self.next = make("Next image or frame", lambda: scroll.step(1), "Ctrl+Right")
        self.previous = make("Previous image or frame", lambda: scroll.step(-1), "Ctrl+Left")
        self.next_key = make("Next key image", lambda: key_image(1), "K", "star")
        self.previous_key = make("Previous key image", lambda: key_image(-1), "Shift+K")
        self.next_series = make("Next series", lambda: step_series(1), "N")
        self.previous_series = make("Previous series", lambda: step_series(-1), "Shift+N")

    def refresh(self) -> None:
        """Follow the models: what is possible, and what is on."""
        scroll = self._scroll
        for action in (self.play, self.faster, self.slower):
            action.setEnabled(scroll.playable)
        self.play.setChecked(scroll.playing)
        # An icon set anew at every step of a drag would flicker.
        if scroll.playing != self._playing:
            self._playing = scroll.playing
            self.play.setIcon(icons.icon("pause" if scroll.playing else "play"))
        for action in (self.next, self.previous):
            action.setEnabled(scroll.scrollable)
        for action in (self.next_key, self.previous_key):
            action.setEnabled(self._has_key_images())
        for action in (self.next_series, self.previous_series):
            action.setEnabled(bool(self._studies.all))
