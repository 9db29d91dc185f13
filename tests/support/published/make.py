"""Runs the published programs on tiny models and writes `numbers/*.json`. Not a part of CI.

    nice .venv/bin/python -m tests.support.published.make --sites DIR --programs DIR [--only NAME]

`--sites` is a folder for the programs' own versions of transformers: one folder each, which pip
fills where it is missing. `--programs` is a folder with the published programs, which lie in no
registry and are never copied into this repository:

    sam2/, efficient_track_anything/  those folders of github.com/bowang-lab/MedSAM2
    llava/      a checkout of github.com/microsoft/LLaVA-Med
    chexagent/  modeling_chexagent.py, modeling_visual.py and tokenization_chexagent.py of
                huggingface.co/StanfordAIMI/CheXagent-2-3b
    maira2/     configuration_maira2.py, modeling_maira2.py and processing_maira2.py of
                huggingface.co/microsoft/maira-2

Report models, MedGemma, DenseNet and PSPNet need no program beside the packages. Run it when a
model is added or a published program changes. To change the version of transformers that Sightline
itself uses, do not run it: the committed numbers are what the new version must reproduce.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

from tests.support.published.alike import kept
from tests.support.published.cases import MODELS, build

NUMBERS = Path(__file__).parent / "numbers"
_ROOT = Path(__file__).parents[3]
_OLD = "huggingface-hub==0.30.2"
SITES: dict[str, tuple[str, ...]] = {
    "transformers-4.36.2": ("transformers==4.36.2", "tokenizers==0.15.2", _OLD),
    "transformers-4.40.0": ("transformers==4.40.0", "tokenizers==0.19.1", _OLD),
    "transformers-4.50.3": ("transformers==4.50.3", "tokenizers==0.21.1", _OLD, "protobuf"),
    "transformers-4.48.3": ("transformers==4.48.3", "tokenizers==0.21.1", _OLD),
    "sam2": (
        *("hydra-core==1.3.2", "omegaconf==2.3.0", "antlr4-python3-runtime==4.9.3"),
        *("iopath==0.1.10", "portalocker"),
    ),
    "common": (
        *("requests", "charset-normalizer", "urllib3", "idna", "certifi", "regex", "einops"),
        *("matplotlib", "contourpy", "cycler", "fonttools", "kiwisolver", "pyparsing"),
        *("python-dateutil", "six"),
    ),
}
"""Folder -> what pip puts into it, without what that depends on."""
NEEDS: dict[str, tuple[str, ...]] = {
    "medsam2": ("sam2", "common"),
    "chexagent": ("transformers-4.40.0", "common"),
    "maira": ("transformers-4.48.3", "common"),
    "llava": ("transformers-4.36.2", "common"),
    "medgemma": ("transformers-4.50.3", "common"),
    "report": ("transformers-4.40.0", "common"),
    "densenet": (),
    "pspnet": (),
}


def install(sites: Path) -> None:
    """Fill the folders that are missing."""
    for name, wanted in SITES.items():
        if not (sites / name).is_dir():
            pip = [sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--target"]
            subprocess.run([*pip, str(sites / name), *wanted], check=True)


def run(which: str, sites: Path, programs: Path) -> None:
    """Run a published program on its tiny model, and write its numbers."""
    with tempfile.TemporaryDirectory() as made:
        where, out = build(which, Path(made)), Path(made) / "out.npz"
        places = [*(sites / name for name in NEEDS[which]), programs, programs / "llava", _ROOT]
        script = [sys.executable, "-m", "tests.support.published.theirs", which]
        known = {
            "PYTHONPATH": os.pathsep.join(map(str, places)),
            "HF_HUB_OFFLINE": "1",
            "CUDA_VISIBLE_DEVICES": "",
        }
        done = subprocess.run(
            [*script, str(where), str(out)],
            env=os.environ | known,
            cwd=made,
            check=True,
            stdout=subprocess.PIPE,
            text=True,
        )
        with np.load(out) as found:
            numbers = {name: kept(found[name]) for name in found.files}
        about = json.loads(done.stdout.splitlines()[-1])
    NUMBERS.mkdir(exist_ok=True)
    text = json.dumps({"made_with": about, "numbers": numbers})
    (NUMBERS / f"{which}.json").write_text(text + "\n", encoding="utf-8")
    sys.stdout.write(f"{which}: {about}, {len(numbers)} arrays\n")


def main() -> None:
    """Make the numbers of all models, or of one."""
    read = argparse.ArgumentParser(description="Numbers of published programs; see the docstring.")
    read.add_argument("--sites", type=Path, required=True)
    read.add_argument("--programs", type=Path, required=True)
    read.add_argument("--only", choices=list(MODELS))
    given = read.parse_args()
    install(given.sites.resolve())
    for which in [given.only] if given.only else MODELS:
        run(which, given.sites.resolve(), given.programs.resolve())


if __name__ == "__main__":
    main()
