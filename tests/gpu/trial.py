"""Runs the real tools with made-up models and measures them; on any device, at any size."""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tifffile

from app.errors import Cancelled
from app.tools.api import CancelToken, Tool, ToolFailed
from app.tools.hosting.host import ProcessHost
from app.tools.hosting.states import ModelState, State
from app.tools.models.store import ModelStore
from app.tools.registry import load_packs
from app.tools.tables import Table, write_table
from tests.support.four_prompts import MODELS as OF_THE_PROMPTS
from tests.unit.tools.chest.synthetic import radiograph
from tests.unit.tools.support import Bench, write_dicom

_BUILD_S = 550.0
_TOKENS = 64
_IMAGE = "image-1"

MODELS: Mapping[str, tuple[str, ...]] = {
    **OF_THE_PROMPTS,
    "cell_state_analyzer": ("dinov3-vits16",),
    "medgemma_qa": ("medgemma-4b-it",),
    "medsam2_segment": ("medsam2",),
}
"""Cards of the models of each tool that is tried; the rest is in `tests.support.tiny`."""

ARGUMENTS: Mapping[str, dict[str, Any]] = {
    "chest_xray_classifier": {"image_path": _IMAGE},
    "chest_xray_segmentation": {"image_path": _IMAGE},
    "chest_xray_report_generator": {"image_path": _IMAGE},
    "chest_xray_expert": {
        "image_paths": [_IMAGE],
        "prompt": "List the top abnormalities.",
        "max_new_tokens": _TOKENS,
    },
    "llava_med_qa": {
        "question": "Is the heart enlarged?",
        "image_path": _IMAGE,
        "max_new_tokens": _TOKENS,
    },
    "medgemma_qa": {
        "question": "Is the heart enlarged?",
        "image_paths": [_IMAGE],
        "max_new_tokens": _TOKENS,
    },
    "xray_phrase_grounding": {
        "image_path": _IMAGE,
        "phrase": "left pleural effusion",
        "max_new_tokens": _TOKENS,
    },
    "chest_xray_generator": {"prompt": "a large heart", "num_inference_steps": 20, "seed": 1},
    "medsam2_segment": {"image_path": _IMAGE, "box": [60, 60, 140, 160]},
    "cell_state_analyzer": {"crops_paths": ["crops.csv"], "method": "dinov3", "epochs": 1},
}


@dataclass(frozen=True, slots=True)
class Figures:
    """What was measured of a tool.

    Attributes:
        tool: Its name.
        device: Where it ran, in the words of the machine.
        outcome: Status of the result, or why it failed: made-up weights may write nonsense.
        load_s: For how long its models were being loaded, a start of the process in it.
        first_s: All of that call.
        again_s: The same on another film.
        stop_s: From the cancel to the end of the call, when it was cancelled at its first word.
        parameters: Of the loaded models.
        memory: Bytes of the loaded models, as counted by the host.
        most: Bytes on the accelerator at most.
        stayed: Whether the process and its models outlived the cancel.
    """

    tool: str
    device: str
    outcome: str
    load_s: float
    first_s: float
    again_s: float
    stop_s: float
    parameters: int
    memory: int
    most: int
    stayed: bool

    def told(self) -> dict[str, Any]:
        """As JSON."""
        return asdict(self)


class _Loading:
    """Adds up for how long models were being loaded."""

    def __init__(self, models: tuple[str, ...]) -> None:
        self._models = models
        self._began: dict[str, float] = {}
        self.seconds = 0.0

    def __call__(self, state: ModelState) -> None:
        if state.model not in self._models:
            return
        if state.state is State.LOADING:
            self._began.setdefault(state.model, time.perf_counter())
        elif state.model in self._began:
            self.seconds += time.perf_counter() - self._began.pop(state.model)


class Trial:
    """Tools, their models in a folder, an open film and a host.

    Args:
        folder: Of its own.
        host: May call `tests.`.
        device: "cuda" or "cpu".
        builder: Where models are made; None for `host`.
    """

    def __init__(
        self, folder: Path, host: ProcessHost, device: str, builder: ProcessHost | None = None
    ) -> None:
        self._host = host
        self._builder = builder or host
        self._device = device
        self._bench = Bench(folder, host)
        _write_crops(self._bench.out)
        self._tools: dict[str, Tool] = {tool.spec.name: tool for tool in load_packs().all()}
        self._runs = 0

    def install(self, tool: str, size: str) -> None:
        """Make a tool's models of that size where the store looks for them, unless they are."""
        store = ModelStore(self._bench.models)
        for name in MODELS[tool]:
            if store.has(name):
                continue
            place = store.paths_of(store.card(name)).path
            payload = {"tool": tool, "folder": str(place), "options": {"size": size}}
            self._builder.call(
                "tests.support.tiny_making:entry",
                {**payload, "device": "cpu"},
                cancel=CancelToken(),
                timeout_s=_BUILD_S,
            )
            store.accept(name)

    def measure(self, tool: str) -> Figures:
        """Run a tool three times: with loading, without, and cancelled on the way."""
        loading = _Loading(MODELS[tool])
        end = self._host.subscribe(loading)
        first_s, outcome = self._timed(tool, CancelToken())
        end()
        again_s, _ = self._timed(tool, CancelToken())
        after = self.used()
        pids = self._host.pids
        stop_s = self._stopped(tool)
        return Figures(
            tool,
            after["name"],
            outcome,
            round(loading.seconds, 2),
            round(first_s, 2),
            round(again_s, 2),
            round(stop_s, 2),
            after["parameters"],
            sum(one["memory"] for one in after["models"]),
            after["most"],
            stayed=self._host.pids == pids and len(self.used()["models"]) == len(after["models"]),
        )

    def stop_loading(self, tool: str, after_s: float) -> float:
        """Seconds from a cancel, so long after loading began, to the end of the call.

        Raises:
            AssertionError: It was loaded sooner, or ended otherwise.
        """
        cancel, began = CancelToken(), threading.Event()
        at = 0.0

        def pressed() -> None:
            nonlocal at
            at = time.perf_counter()
            cancel.cancel()

        def heard(fraction: float, text: str) -> None:
            assert fraction < 0.2, f"{tool} was loaded before the cancel"
            if began.is_set():
                return
            began.set()
            if after_s > 0:
                threading.Timer(after_s, pressed).start()
            else:
                pressed()

        with pytest.raises(Cancelled):
            self._run(tool, cancel, heard)
        return time.perf_counter() - at

    def loaded(self) -> list[str]:
        """Names of the models that are loaded, the least recently used first."""
        return [one["model"] for one in self.used()["models"]]

    def limit(self, text: str) -> None:
        """Memory that all models together may take ("20G"); "" for what is free."""
        self._call("tests.gpu.probe:limit", {"limit": text, "device": self._device})

    def unload(self) -> None:
        """End the process."""
        self._host.unload()

    def convolution_error(self) -> float:
        """See `probe.convolution`."""
        payload = {"weights": str(self._bench.folder), "device": self._device}
        return self._call("tests.gpu.probe:convolution", payload)["error"]

    def used(self) -> dict[str, Any]:
        """See `probe.used`."""
        return self._call("tests.gpu.probe:used", {"device": self._device})

    def run(self, tool: str) -> str:
        """Run a tool; its outcome."""
        return self._timed(tool, CancelToken())[1]

    def _timed(self, tool: str, cancel: CancelToken) -> tuple[float, str]:
        began = time.perf_counter()
        try:
            outcome = self._run(tool, cancel, self._ignore)
        except ToolFailed as error:
            outcome = error.reason
        return time.perf_counter() - began, outcome

    def _stopped(self, tool: str) -> float:
        """Seconds from a cancel, at the work's first word after loading, to the end of the call."""
        cancel, told = CancelToken(), threading.Event()
        at = 0.0

        def heard(fraction: float, text: str) -> None:
            nonlocal at
            if fraction >= 0.2 and not told.is_set():
                told.set()
                at = time.perf_counter()
                cancel.cancel()

        with suppress(Cancelled, ToolFailed):
            self._run(tool, cancel, heard)
        assert told.is_set(), f"{tool} said nothing of its work"
        return time.perf_counter() - at

    def _run(self, tool: str, cancel: CancelToken, heard: Any) -> str:
        self._runs += 1
        self._open_another_film()
        context = replace(
            self._bench.context(f"call-{self._runs}"),
            device=self._device,
            cancel=cancel,
            progress=heard,
            confirm=lambda *_, **__: True,
        )
        chosen = self._tools[tool]
        args = chosen.spec.Input.model_validate(ARGUMENTS[tool])
        return str(chosen.run(args, context).metadata["status"])

    def _open_another_film(self) -> None:
        """Open a film unlike the last: tools keep what their network found on an image."""
        film = radiograph(400, 360)
        film[:20, :20] = 37 * self._runs % 4000
        path = self._bench.folder / f"film-{self._runs}.dcm"
        self._bench.opened.clear()
        self._bench.open(write_dicom(path, film, BodyPartExamined="CHEST"))

    def _ignore(self, fraction: float, text: str) -> None:
        """Progress that nobody needs."""

    def _call(self, entry: str, payload: dict[str, Any]) -> dict[str, Any]:
        return self._host.call(entry, payload, cancel=CancelToken(), timeout_s=_BUILD_S)


def _write_crops(folder: Path) -> None:
    """Write the crops of 64 cells, bright discs of two sizes, and their table."""
    down, across = np.mgrid[:32, :32] - 16
    columns = ("image", "label", "crop_file", "mask_file", "index")
    cells = [(down**2 + across**2 < (8 + 4 * (n % 2)) ** 2) * np.uint16(900 + n) for n in range(64)]
    with tifffile.TiffWriter(folder / "crops.tif") as crops:
        for cell in cells:
            crops.write(cell, contiguous=False, metadata=None)
    rows = tuple(("a.tif", n + 1, "crops.tif", "", n) for n in range(len(cells)))
    write_table(folder / "crops.csv", Table(columns, rows), "Crops")
