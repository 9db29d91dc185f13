"""Offers a fitting window where the window in an image's file is plainly useless."""

from __future__ import annotations

from functools import partial

from PySide6.QtCore import QEvent, QObject, Qt
from PySide6.QtWidgets import QFrame

from app.imaging.pixels import windows
from app.imaging.pixels.windows import Misfit
from app.imaging.types import Instance
from app.views import wording
from app.views.background import Background
from app.views.canvas.canvas import Canvas
from app.views.layouts import row
from app.views.theme import SPACE, THEME
from app.views.translation import tr
from app.views.widgets import IconLabel, label, plain_tip, push_button, tool_button
from app.workspace.viewport import REFORMAT
from app.workspace.workspace import ScaleKey, Workspace

WIDTH = 520  # px
NARROW = 440  # px of the canvas below which the button alone has room
ABOVE = 100  # px above the bottom of the canvas: clear of its corner text


class WindowHint(QFrame):
    """A line on the canvas that says why a file's window is useless, with a button to change it.

    `windows.window_misfit` judges it, once a series, by a frame in the middle half of a stack: the
    ends of one show little but air. Nothing is changed unless the user presses the button, and the
    hint does not come again for a series for which it was closed.

    Args:
        known: What was found for each series or image, shared by all viewports; None: nothing, or
            closed by the user.
    """

    def __init__(
        self,
        canvas: Canvas,
        workspace: Workspace,
        background: Background,
        known: dict[ScaleKey, Misfit | None],
    ) -> None:
        super().__init__(canvas)
        self._canvas = canvas
        self._workspace = workspace
        self._background = background
        self._known = known
        self._key: ScaleKey | None = None  # of the series that it is shown for
        self.setProperty("notice", True)
        self.setProperty("tone", "warning")
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        self.text = label("", "caption", wrap=True)
        self.button = push_button(tr("Use a fitting window"), self._use)
        self.close_button = tool_button("x", tr("Keep the window of the file"), self._dismiss, 14)
        for one in (self.button, self.close_button):
            one.setFocusPolicy(Qt.FocusPolicy.TabFocus)  # a click leaves the keys to the image
        margins = (SPACE.s, SPACE.xs, SPACE.xs, SPACE.xs)
        mark = IconLabel("triangle-alert", 14, THEME.warning)
        row(mark, (self.text, 1), self.button, self.close_button, margins=margins, parent=self)
        self.hide()
        canvas.installEventFilter(self)
        canvas.picture_changed.connect(self.refresh)
        canvas.model.display_changed.connect(self.refresh)

    def refresh(self) -> None:
        """Show or hide the hint for the image on the canvas; judge its window if nobody has."""
        picture, display = self._canvas.picture, self._canvas.model.display
        self._key = None
        if picture is not None and display.window is None and picture.job.presented is None:
            instance, frame = picture.job.instance, picture.job.frame
            if instance.kind != REFORMAT and windows.can_misfit(frame, instance.get("Modality")):
                key = self._workspace.scale_key(instance)
                if key in self._known:
                    self._offer(key, self._known[key])
                elif self._is_telling(instance):
                    self._known[key] = None  # until it is judged
                    judge = partial(windows.window_misfit, frame, instance.get("Modality"))
                    self._background.submit(judge, partial(self._take, key))
        if self._key is None:
            self.hide()

    def _is_telling(self, instance: Instance) -> bool:
        """Return whether the image alone has its window, or lies in the middle of its stack."""
        place, count = self._canvas.scroller.place
        alone = instance.frames == 1 and windows.has_own_scale(instance)
        return alone or count < 4 or 0.25 <= (place + 0.5) / count <= 0.75

    def _take(self, key: ScaleKey, misfit: Misfit | None) -> None:
        if misfit is not None:
            self._known[key] = misfit
            self.refresh()

    def _offer(self, key: ScaleKey, misfit: Misfit | None) -> None:
        picture = self._canvas.picture
        if misfit is None or picture is None:
            return
        if picture.job.frame.voi.windows[0] != misfit.window:
            return  # what was found does not hold of this image, which has another window
        self._key = key
        window, share = wording.window_text(picture.window), round(misfit.share * 100)
        text = tr("The file's window ({window}) leaves {share}% of the pixels black or white.")
        if misfit.greys:
            text = tr(
                "The file's window ({window}) shows {share}% of the pixels in {greys} of 256 greys."
            )
        self.text.setText(text.format(window=window, share=share, greys=misfit.greys))
        self.button.setToolTip(plain_tip(self.text.text()))
        self._place()
        self.show()
        self.raise_()

    def _use(self) -> None:
        misfit = self._known.get(self._key) if self._key is not None else None
        if misfit is not None:
            self._forget()
            self._canvas.set_window(misfit.better)
        else:  # closed in another viewport meanwhile
            self.hide()

    def _dismiss(self) -> None:
        self._forget()
        self.hide()

    def _forget(self) -> None:
        if self._key is not None:
            self._known[self._key] = None
            self._key = None

    def _place(self) -> None:
        room = self._canvas.rect()
        wide = room.width() >= NARROW
        self.text.setVisible(wide)
        self.button.setText(tr("Use a fitting window") if wide else tr("Better window"))
        width = min(WIDTH, room.width() - 2 * SPACE.s)
        if not wide:
            width = min(width, self.minimumSizeHint().width())
        height = max(self.heightForWidth(width), self.minimumSizeHint().height())
        left = (room.width() - width) // 2
        self.setGeometry(left, room.height() - ABOVE - height, width, height)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if watched is self._canvas and event.type() == QEvent.Type.Resize:
            self._place()
        return False
