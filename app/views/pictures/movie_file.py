"""Writes MP4 movies with Qt Multimedia, whose FFmpeg is the LGPL build that PySide6 ships.

Video is H.264 where the system has an encoder of its own (Windows, macOS), else MPEG-4 part 2: x264
is GPL and is not shipped. The wheels that would add an encoder (PyAV, imageio-ffmpeg) contain it.
"""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np
from PySide6.QtCore import QEventLoop, QSize, QTimer, QUrl
from PySide6.QtGui import QGuiApplication, QImage

from app.errors import FileProblem
from app.views.pictures.picture_files import PictureWriter, Pixels, TemporaryFile
from app.views.translation import tr

_WAIT_S = 30.0  # without any frame taken
_MOST_MS = 200  # between looks at the recorder, in case a signal was missed


def encoder_problem() -> str:
    """Return why no MP4 movie can be written on this computer, for the user; "" if it can."""
    try:
        from PySide6.QtMultimedia import QMediaFormat
    except ImportError:  # on Linux, libpulse is missing
        return tr("the system lacks a library that movies need (on Debian: libpulse0)")
    wanted = QMediaFormat(QMediaFormat.FileFormat.MPEG4)
    codecs = wanted.supportedVideoCodecs(QMediaFormat.ConversionMode.Encode)
    known = (QMediaFormat.VideoCodec.H264, QMediaFormat.VideoCodec.MPEG4)
    return "" if any(one in codecs for one in known) else tr("there is no encoder for MP4 movies")


class Mp4Writer(PictureWriter):
    """Writes an MP4 with each picture's duration, on any one thread, by an event loop."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        if QGuiApplication.instance() is None:  # the command line
            QGuiApplication(["", "-platform", "offscreen"])
        if reason := encoder_problem():
            raise FileProblem(reason, subject=str(path), remedy="Save it as GIF or as TIFF instead")
        from PySide6.QtMultimedia import (
            QMediaCaptureSession,
            QMediaFormat,
            QMediaRecorder,
            QVideoFrameInput,
        )

        self._file = TemporaryFile(path)
        self._time = 0.0
        self._loop = QEventLoop()
        self._input = QVideoFrameInput()
        self._session = QMediaCaptureSession()
        self._recorder = QMediaRecorder()
        self._session.setVideoFrameInput(self._input)
        self._session.setRecorder(self._recorder)
        made = QMediaFormat(QMediaFormat.FileFormat.MPEG4)
        codecs = made.supportedVideoCodecs(QMediaFormat.ConversionMode.Encode)
        h264 = QMediaFormat.VideoCodec.H264
        made.setVideoCodec(h264 if h264 in codecs else QMediaFormat.VideoCodec.MPEG4)
        self._recorder.setMediaFormat(made)
        self._recorder.setQuality(QMediaRecorder.Quality.VeryHighQuality)
        self._recorder.setEncodingMode(QMediaRecorder.EncodingMode.ConstantQualityEncoding)
        self._recorder.setOutputLocation(QUrl.fromLocalFile(str(self._file.path)))
        self._recorder.setAutoStop(True)
        self._stopped = QMediaRecorder.RecorderState.StoppedState
        self._input.readyToSendVideoFrame.connect(self._loop.quit)
        self._recorder.recorderStateChanged.connect(self._loop.quit)
        self._recorder.errorOccurred.connect(self._loop.quit)

    def _add(self, pixels: Pixels, duration_ms: float) -> None:
        from PySide6.QtMultimedia import QVideoFrame

        rows, columns = pixels.shape[:2]
        # Colours are stored for blocks of 2 x 2 pixels.
        odd = ((0, rows % 2), (0, columns % 2), (0, 0))
        even = np.ascontiguousarray(np.pad(pixels, odd, mode="edge"))
        rows, columns = even.shape[:2]
        if self._time == 0:
            self._recorder.setVideoResolution(QSize(columns, rows))
            self._recorder.record()
        image = QImage(even.data, columns, rows, columns * 3, QImage.Format.Format_RGB888)
        frame = QVideoFrame(image.convertToFormat(QImage.Format.Format_RGB32))
        frame.setStartTime(round(self._time * 1000))
        self._time += duration_ms
        frame.setEndTime(round(self._time * 1000))
        self._send(frame)

    def _send(self, frame: object) -> None:
        """Hand over a frame as soon as the recorder takes one; an empty one ends the movie."""
        until = time.monotonic() + _WAIT_S
        while not self._input.sendVideoFrame(frame):  # pyright: ignore[reportArgumentType]
            self._check(until)
            self._wait()

    def _finish(self) -> None:
        from PySide6.QtMultimedia import QVideoFrame

        self._send(QVideoFrame())
        until = time.monotonic() + _WAIT_S
        while self._recorder.recorderState() != self._stopped:
            self._check(until)
            self._wait()
        self._check(until)
        if self._file.path.stat().st_size == 0:
            raise self._failed(tr("nothing was recorded"))
        self._file.keep()

    def _wait(self) -> None:
        QTimer.singleShot(_MOST_MS, self._loop.quit)
        self._loop.exec()

    def _check(self, until: float) -> None:
        if self._recorder.error() != self._recorder.Error.NoError:
            raise self._failed(self._recorder.errorString())
        if time.monotonic() > until:
            raise self._failed(tr("the encoder does not answer"))

    def _failed(self, reason: str) -> FileProblem:
        return FileProblem(
            tr("the movie cannot be written ({reason})").format(reason=reason),
            subject=str(self.path),
            remedy="Save it as GIF or as TIFF instead",
        )

    def _discard(self) -> None:
        self._recorder.stop()
        self._file.discard()
