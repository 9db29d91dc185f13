"""Our code against what the published programs computed on the same tiny models.

The numbers were made by `tests.support.published.make`. They are what another version of
transformers must reproduce.
"""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path
from typing import Any

import pytest

from app.tools.hosting.host import ProcessHost
from tests.support import published
from tests.unit.tools.support import call

pytest.importorskip("transformers")

FOLDER = Path(published.__file__).parent / "numbers"
MOST: dict[str, dict[str, float]] = {
    # Resampled in fractions of a grey level there, in whole ones by transformers' processor here;
    # by PIL there, and by torchvision here. Less than one grey level apart.
    "medsam2": {"resampled": 0.03},
    "medgemma": {"resampled": 0.03},
}
"""Largest difference, in the spread of what was published; 1e-4 where nothing else stands."""
ROOT = Path(__file__).parents[4]


@pytest.mark.parametrize(
    "which",
    [
        pytest.param(name, marks=pytest.mark.slow) if name == "pspnet" else name  # 20 s
        for name in sorted(path.stem for path in FOLDER.glob("*.json"))
    ],
)
def test_our_code_computes_what_the_published_program_computes(
    model_process: ProcessHost, tmp_path: Path, which: str
):
    from tests.support.published.alike import apart

    theirs: dict[str, Any] = json.loads((FOLDER / f"{which}.json").read_text())["numbers"]
    entry = "tests.support.published.ours:entry"
    ours = call(model_process, entry, which=which, folder=str(tmp_path))
    found = {name: apart(theirs[name], ours[name]) for name in theirs}
    assert set(ours) == set(theirs)
    most = {name: MOST.get(which, {}).get(name.split(": ")[-1], 1e-4) for name in theirs}
    assert {name: value for name, value in found.items() if value > most[name]} == {}


def test_every_model_that_has_a_published_program_has_its_numbers():
    names = ["medsam2", "chexagent", "maira", "llava", "medgemma", "report", "densenet", "pspnet"]
    assert {path.stem for path in FOLDER.glob("*.json")} == set(names)


def test_transformers_is_bound_to_the_version_that_was_compared():
    """Its private names are used, and its defaults are part of what a model computes."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    wanted = project["project"]["optional-dependencies"]["ai"]
    (bound,) = [one for one in wanted if one.startswith("transformers")]
    lock = (ROOT / "installer" / "requirements" / "ai.txt").read_text(encoding="utf-8")
    found = re.search(r"^transformers==(\d+)\.(\d+)\.", lock, re.MULTILINE)
    assert found
    major, minor = map(int, found.groups())
    assert bound == f"transformers>={major}.{minor},<{major}.{minor + 1}"
