"""Pictures for models that accept images: reduced views of the images, as PNG files.

They are made from the pixels as the viewer displays them, never from the file's own bytes, and
stored beside the thread. The file name is derived from the pixels, and the PNG contains no text
blocks, so neither reveals the patient. Text that is burnt into the image remains; therefore a
remote model needs a separate consent for pictures, and a second one for those that are likely to
contain such text.
"""

from __future__ import annotations

import hashlib
import io
import logging
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from app.agent.events import Noted
from app.agent.loop.emitter import Emitter
from app.agent.loop.tool_execution import in_thread, log_unexpected
from app.agent.messages import Picture
from app.agent.policy.approvals import ask
from app.agent.privacy.burnt_in_text import risk_of as risk_of
from app.agent.privacy.confidentiality_profile import is_code
from app.agent.privacy.consents import Consents, Shown, Target, picture_request, risky_request
from app.agent.request import RunRequest
from app.errors import Cancelled, SightlineError
from app.imaging.axes import dye_names
from app.imaging.pixels import pipeline
from app.imaging.space import projections
from app.tools.api import ImageSnapshot, ViewPicture
from app.user_files import write_atomic

_log = logging.getLogger(__name__)

LONG_SIDE = 1024  # pixels
MOST = 4  # pictures with one question
FOLDER = "seen"  # in the run's output folder

_ASPECTS = (0.05, 20.0)  # of a pixel; beyond them a file's figure is a mistake


@dataclass(frozen=True, slots=True)
class ShownPictures:
    """The pictures that are made of the open images for one question.

    Attributes:
        shown: The pictures, the current image first.
        problems: Reasons why images have no picture, for the user.
    """

    shown: tuple[Shown, ...] = ()
    problems: tuple[str, ...] = ()

    @property
    def pictures(self) -> tuple[Picture, ...]:
        """Return the pictures in the form that the model receives."""
        return tuple(item.picture for item in self.shown)


async def make_pictures(
    request: RunRequest,
    named: Sequence[str] = (),
    *,
    exact: bool = False,
    views: Sequence[ViewPicture] = (),
) -> ShownPictures:
    """Return pictures of the current image and of those that the question names (`named`, by id).

    `views` are viewports, at most four, whose pictures follow, as the user sees them.

    They are made in a thread, and nothing is sent. An image that cannot be read raises no error,
    because tools can still answer the question. With `exact`, only those in `named` are made, which
    may also be pictures that the run has made, by their path.

    Raises:
        Cancelled: The run was stopped.
    """
    names = list(dict.fromkeys(named))[:MOST] if exact else []
    names = names or wanted_images(named, request.images.names())
    if not names:
        return ShownPictures()
    value, error = await in_thread(lambda: _look(request, names, views[:MOST]), "pictures")
    if isinstance(error, Cancelled):
        raise error
    if isinstance(error, BaseException):
        log_unexpected("The pictures could not be made", error)
        return ShownPictures(problems=("The images could not be pictured for the model.",))
    return value or ShownPictures()


async def may_send(
    request: RunRequest,
    look: ShownPictures,
    model: str,
    host: str,
    *,
    consents: Consents,
    emitter: Emitter,
) -> tuple[Picture, ...]:
    """Return the pictures of this question (`look`) that the model may receive.

    A model on this machine (`host` is "") receives all, a remote one those that the user allows.
    The user is asked about pictures that they have not been asked about before, and once more about
    those that may reveal the patient. Pictures from earlier questions are not handled here.
    """
    if not host:
        return look.pictures
    to = Target(request.thread.thread_id, host, model)
    kept = [item.picture.image_id for item in look.shown if consents.about(to, item) is False]
    if kept:
        emitter.emit(Noted, text=_kept_back(kept, host))
    new = [item for item in look.shown if consents.about(to, item) is None]
    if new:
        decision = await ask(emitter, request.approve, picture_request(model, host, new))
        await _settle(request, new, to, decision.granted, consents, emitter)
    allowed = [item for item in look.shown if consents.about(to, item)]
    for item in allowed:
        consents.allow(to, item)  # another picture of an image that was shown
    return tuple(item.picture for item in allowed)


def _kept_back(images: Sequence[str], host: str) -> str:
    verb = "is" if len(images) == 1 else "are"
    return (
        f"{' and '.join(images)} {verb} not sent to {host}, as you said. To be asked again, "
        "withdraw what it was allowed in the privacy settings."
    )


async def _settle(
    request: RunRequest,
    new: Sequence[Shown],
    to: Target,
    granted: bool,
    consents: Consents,
    emitter: Emitter,
) -> None:
    """Store the answer about new pictures; risky ones need a second yes.

    Nothing is stored before the last answer: a run that is stopped in between has allowed nothing.
    """
    risky = [item for item in new if item.risk]
    despite = granted
    if granted and risky:
        wanted = risky_request(to.model, to.host, risky)
        despite = (await ask(emitter, request.approve, wanted)).granted
    for item in new:
        if despite if item.risk else granted:
            consents.allow(to, item)
        else:
            consents.refuse(to, item)


def wanted_images(named: Sequence[str], names: Sequence[str]) -> list[str]:
    """Return the names of the current image and of the open images in `named`, at most four.

    Of the images `names`, those called "image-1" and so on are open; the first is the current one.
    """
    opened = [name for name in names if re.fullmatch(r"image-\d+", name)]
    return list(dict.fromkeys([*opened[:1], *(name for name in named if name in opened)]))[:MOST]


def picture_of(name: str, snapshot: ImageSnapshot, folder: Path) -> Picture:
    """Write a PNG of an image, as displayed, into `folder`; return the picture with its caption.

    Raises:
        OSError: The file cannot be written.
    """
    shown = snapshot.display
    if snapshot.inverted:
        shown = pipeline.render(snapshot.frame, snapshot.window, invert=True)
    width, height = reduced_size(shown.shape[1], shown.shape[0], snapshot.frame.spacing.aspect)
    return Picture(
        path=_write(shown, width, height, folder),
        caption=caption(name, snapshot, width, height),
        image_id=name,
        mirrored=snapshot.frame.orientation.row[:1] == "R",
    )


def _picture_of_view(view: ViewPicture, folder: Path) -> Picture:
    pixels = view.draw()
    width, height = reduced_size(pixels.shape[1], pixels.shape[0])
    path = _write(pixels, width, height, folder)
    return Picture(path=path, caption=view.caption, image_id=view.image_id)


def _write(pixels: NDArray[np.uint8], width: int, height: int, folder: Path) -> str:
    """Write pixels as a PNG of this size, named by its content; return its path."""
    png = encode(pixels, width, height)
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    path = folder / f"{hashlib.sha256(png).hexdigest()[:24]}.png"
    if not path.exists():
        write_atomic(path, png)
    return str(path)


def reduced_size(columns: int, rows: int, aspect: float = 1.0) -> tuple[int, int]:
    """Return the (width, height) in pixels of a picture in true proportions, each at most 1024.

    `aspect` is the height of a pixel divided by its width.
    """
    low, high = _ASPECTS
    tall = rows * (aspect if low <= aspect <= high else 1.0)
    scale = min(1.0, LONG_SIDE / max(columns, tall))
    return max(1, round(columns * scale)), max(1, round(tall * scale))


def encode(shown: NDArray[np.uint8], width: int, height: int) -> bytes:
    """Return the pixels `shown`, [rows, columns] or [rows, columns, 3], as a PNG of this size.

    Each pixel of the PNG is the mean of the pixels that it covers, so that fine structures fade
    instead of aliasing.
    """
    image = Image.fromarray(np.ascontiguousarray(shown))
    if image.size != (width, height):
        image = image.resize((width, height), Image.Resampling.BOX)
    file = io.BytesIO()
    image.save(file, format="PNG", optimize=False)
    return file.getvalue()


def caption(name: str, snapshot: ImageSnapshot, width: int, height: int) -> str:
    """Return a picture's caption: image, view, frame, window, patient directions, pixel scale.

    Only codes and numbers are taken from the file, because its free text could name the patient.
    """
    instance, frame, window = snapshot.instance, snapshot.frame, snapshot.window
    columns, rows = snapshot.display.shape[1], snapshot.display.shape[0]
    parts = [f"{name}: {_code('Modality', instance.get('Modality')) or 'picture'}"]
    view = _code("ViewPosition", projections.projection_name(instance))
    parts += [f"view {view}"] if view else []
    axes = instance.axes
    if axes is not None and axes.frames > 1:
        names = dye_names(axes.names)
        channel, z, time = axes.place(snapshot.ref.frame)
        if len(names) > 1:
            parts.append(f"channel {channel} ({names[channel]}) of {len(names)}, counted from 0")
        parts += [f"depth {z} of {axes.depths}, counted from 0"] if axes.depths > 1 else []
        parts += [f"time point {time} of {axes.times}, counted from 0"] if axes.times > 1 else []
    elif instance.frames > 1:
        parts.append(f"frame {snapshot.ref.frame} of {instance.frames}, counted from 0")
    if window is not None:
        parts.append(f"grey window center {window.center:g} width {window.width:g}")
    else:
        parts.append("in its own colours or greys, without a window")
    if snapshot.inverted:
        parts.append("black and white exchanged by the user")
    right = _code("PatientOrientation", frame.orientation.row)
    bottom = _code("PatientOrientation", frame.orientation.column)
    if right and bottom:
        parts.append(f"towards the right edge the patient's {right}, towards the bottom {bottom}")
    return f"{', '.join(parts)}. {_size_text(columns, rows, width, height)}"


def _size_text(columns: int, rows: int, width: int, height: int) -> str:
    if (columns, rows) == (width, height):
        return f"Full size, {columns} x {rows} pixels (columns x rows)."
    how = "Reduced" if width <= columns and height <= rows else "Brought into true shape,"
    return (
        f"{how} from {columns} x {rows} to {width} x {height} pixels (columns x rows): state "
        f"positions in pixels of the original, x times {columns / width:.4g} and y times "
        f"{rows / height:.4g}."
    )


def _code(keyword: str, text: str) -> str:
    """Return a coded attribute's value; "" for anything that is not in its code list."""
    return text.strip().upper() if is_code(keyword, text) else ""


def _look(request: RunRequest, names: Sequence[str], views: Sequence[ViewPicture]) -> ShownPictures:
    shown: list[Shown] = []
    problems: list[str] = []
    for name in names:
        request.cancel.check()
        try:
            snapshot = request.images.resolve(name)
            # Of a path, only the name that the program itself gave the file.
            picture = picture_of(Path(name).name, snapshot, request.out_dir / FOLDER)
        except SightlineError as error:
            problems.append(f"The model gets no picture of {name}: {error.reason}.")
        except OSError as error:
            _log.warning("A picture for the model could not be written (%s)", type(error).__name__)
            problems.append(f"The model gets no picture of {name}: the file cannot be written.")
        else:
            ref = snapshot.ref
            image = f"{ref.sop_instance_uid} {ref.frame} {ref.pixel_sha256}"
            shown.append(Shown(picture, image, risk_of(snapshot.instance)))
    for view in views:
        request.cancel.check()
        try:
            picture = _picture_of_view(view, request.out_dir / FOLDER)
        except (SightlineError, OSError) as error:
            _log.warning("A viewport could not be pictured (%s)", type(error).__name__)
            problems.append("The model gets no picture of a viewport: it could not be made.")
        else:
            shown.append(Shown(picture, view.image, view.risk))
    return ShownPictures(tuple(shown), tuple(problems))
