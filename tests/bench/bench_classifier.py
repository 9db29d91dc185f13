"""What the classifier costs beside its network: the tool from end to end, and how one would do it.

    python -m tests.bench.bench_classifier [--rounds 15] [--rows 2500] [--columns 2048]

Five ways from the same radiograph to 18 scores, in turns, the shortest of each counts, and beside
it the mean time that processors computed for it, in both processes together:

- `tool`: the image lies in the viewer; `chest_xray_classifier` is run as an agent runs it, through
  the gate, the model store and the model process, and its result is taken apart again.
- `new`: the same of an image that was never asked about, which the gate looks at with a model.
- `bare`: in this process, model loaded: the same greys, the same preprocessing, the forward pass.
- `network`: the forward pass alone.
- `seed`: the seed's pipeline: skimage reads a PNG of the image, torchxrayvision normalises, crops
  and resizes it, forward; the model is kept in memory.

DenseNet-121 at full size with random weights; both processes use the same number of threads.
"""

from __future__ import annotations

import argparse
import contextlib
import itertools
import json
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from app.imaging.decode import Decoder
from app.imaging.pixels import pipeline, windows
from app.imaging.reading.image_entries import read_instance
from app.tools.api import CancelToken, ToolContext, ToolResult
from app.tools.chest.classifier import MODEL, ChestXRayClassifier, ClassifierInput
from app.tools.hosting.host import ProcessHost, default_threads
from app.tools.images import OpenImage, RunImages
from app.tools.models.cards import card
from tests.unit.tools.chest.synthetic import radiograph
from tests.unit.tools.support import write_dicom

Way = Callable[[], dict[str, float]]

MOST = 1.15
"""The tool may take so much of the bare way, as promised."""


class Viewer:
    """An image that is open, and a run's context for each question about it."""

    def __init__(self, folder: Path, rows: int, columns: int, images: int) -> None:
        self.folder = folder
        self.models = folder / "models"
        self.models.mkdir()
        film = radiograph(rows, columns)
        self.images = [
            OpenImage(f"image-{number}", read_instance(self._written(film, number)))
            for number in range(images + 1)
        ]
        self.decoder = Decoder()
        self.host = ProcessHost()
        frames = [self.decoder.frame(image.instance, 0).result(60) for image in self.images]
        self.frame = frames[0]
        self.runs = 0

    def _written(self, film: NDArray[np.uint16], number: int) -> Path:
        """The film as a file, with a mark that makes it another picture."""
        marked = film.copy()
        marked[20 : 40 + 2 * number, 20:60] = film.max()
        said = {"BodyPartExamined": "CHEST", "WindowCenter": 2048, "WindowWidth": 4096}
        return write_dicom(self.folder / f"film-{number}.dcm", marked, **said)

    def context(self, number: int) -> ToolContext:
        """Of a new run on an image, as each question of a user makes one."""
        self.runs += 1
        out = self.folder / f"run-{self.runs}"
        out.mkdir()
        return ToolContext(
            run_id=f"run-{self.runs}",
            call_id="call-1",
            images=RunImages([self.images[number]], out, self.decoder),
            out_dir=out,
            host=self.host,
            models_dir=self.models,
            device="cpu",
            cancel=CancelToken(),
            progress=lambda fraction, text: None,
        )

    def close(self) -> None:
        """End all processes."""
        self.host.close()
        self.decoder.close()


def main() -> int:
    """Measure and print; 1 where the promise is broken."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--rows", type=int, default=2500)
    parser.add_argument("--columns", type=int, default=2048)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        viewer = Viewer(Path(name), options.rows, options.columns, options.rounds + 1)
        try:
            return _compare(viewer, options.rounds)
        finally:
            viewer.close()


def _compare(viewer: Viewer, rounds: int) -> int:
    ways, loads = _ways(viewer), _loads(viewer)
    scores = {name: way() for name, way in ways.items()}
    for label, score in scores["bare"].items():
        assert abs(scores["tool"][label] - score) < 1e-4, label
    loaded = loads()
    times: dict[str, list[float]] = {name: [] for name in ways}
    computed = dict.fromkeys(ways, 0.0)
    for _ in range(rounds):
        for name, way in ways.items():
            began, before = time.perf_counter(), _computed_ms(viewer)
            way()
            times[name].append((time.perf_counter() - began) * 1000)
            computed[name] += (_computed_ms(viewer) - before) / rounds
    _say(viewer, times, computed)
    if loads() != loaded:
        sys.stdout.write("a later call loaded the model again\n")
        return 1
    return 0 if min(times["tool"]) <= MOST * min(times["bare"]) else 1


def _computed_ms(viewer: Viewer) -> float:
    """Processor time of this process and of the model process (Linux), which no load lengthens."""
    there = 0.0
    with contextlib.suppress(OSError, KeyError):
        text = Path(f"/proc/{viewer.host.pids['cpu']}/stat").read_text(encoding="ascii")
        fields = text.rpartition(")")[2].split()
        there = (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    return (time.process_time() + there) * 1000


def _say(viewer: Viewer, times: dict[str, list[float]], computed: dict[str, float]) -> None:
    rows, columns = viewer.frame.rows, viewer.frame.columns
    threads = default_threads()
    sys.stdout.write(f"{columns} x {rows} pixels, {threads} thread(s)\n")
    bare = min(times["bare"])
    for name, found in times.items():
        best, middle = min(found), statistics.median(found)
        sys.stdout.write(
            f"{name:8} {best:7.1f} ms (median {middle:7.1f})  {best / bare:5.2f} x bare;"
            f" computed {computed[name]:7.1f} ms, {computed[name] / computed['bare']:5.2f} x bare\n"
        )


def _loads(viewer: Viewer) -> Callable[[], int]:
    """Counts how often models were loaded so far."""
    count = 0

    def heard(state: Any) -> None:
        nonlocal count
        count += state.state == "loading"

    viewer.host.subscribe(heard)
    return lambda: count


def _ways(viewer: Viewer) -> dict[str, Way]:
    import torch

    torch.set_num_threads(default_threads())
    import skimage.io
    import torchxrayvision as xrv
    from PIL import Image
    from torch.nn import functional

    from app.tools.chest import densenet

    path = viewer.models / card(MODEL).files[0].name
    torch.manual_seed(3)
    made = xrv.models.DenseNet(weights=None, num_classes=len(densenet.LABELS))
    torch.save(made.state_dict(), path)
    model = densenet.load(path)
    tool = ChestXRayClassifier()
    png = viewer.folder / "film.png"
    window = windows.default_window(viewer.frame)
    Image.fromarray(pipeline.render(viewer.frame, window)).save(png)
    steps = [xrv.datasets.XRayCenterCrop(), xrv.datasets.XRayResizer(224)]

    def named(scores: Any) -> dict[str, float]:
        return dict(zip(densenet.LABELS, scores[0].tolist(), strict=True))

    def by_tool(number: int = 0) -> dict[str, float]:
        args = ClassifierInput(image_path=f"image-{number}")
        result: ToolResult = tool.run(args, viewer.context(number))
        json.dumps(result.metadata)
        return result.output

    unseen = itertools.count(1)

    def new() -> dict[str, float]:
        return by_tool(next(unseen))

    def bare() -> dict[str, float]:
        shown = pipeline.render(viewer.frame, windows.default_window(viewer.frame))
        square = steps[0](xrv.datasets.normalize(shown, 255)[None])
        small = functional.interpolate(
            torch.from_numpy(square)[None], size=(224, 224), mode="bilinear", antialias=True
        )
        with torch.inference_mode():
            return named(model(small))

    ready = densenet.preprocess(pipeline.render(viewer.frame, window))

    def network() -> dict[str, float]:
        with torch.inference_mode():
            return named(model(ready))

    def seed() -> dict[str, float]:
        image = skimage.io.imread(png)
        image = xrv.datasets.normalize(image, 255)
        if image.ndim > 2:
            image = image[:, :, 0]
        image = image[None]
        for step in steps:
            image = step(image)
        with torch.inference_mode():
            return named(model(torch.from_numpy(np.asarray(image, np.float32))[None]))

    return {"tool": by_tool, "new": new, "bare": bare, "network": network, "seed": seed}


if __name__ == "__main__":
    sys.exit(main())
