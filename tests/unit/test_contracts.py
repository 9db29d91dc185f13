"""The import rule of DESIGN.md holds, and the contracts that say so would notice if it did not."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

LINT = "from importlinter.cli import lint_imports_command as lint; lint()"
TORCH_AND_KIN = (
    "torch",
    "torchvision",
    "torchxrayvision",
    "transformers",
    "diffusers",
    "xllamacpp",
)
QT = ("PySide6", "shiboken6", "pyqtgraph")


def lint_imports(folder: Path) -> subprocess.CompletedProcess[str]:
    """Runs import-linter on the `app` in a folder, by that folder's pyproject.toml."""
    command = [sys.executable, "-c", LINT, "--no-cache"]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def contracts(repo: Path) -> dict[str, dict[str, Any]]:
    """The contracts of pyproject.toml by id."""
    project = tomllib.loads((repo / "pyproject.toml").read_text(encoding="utf-8"))
    return {c["id"]: c for c in project["tool"]["importlinter"]["contracts"]}


def test_the_import_contracts_hold(repo: Path) -> None:
    done = lint_imports(repo)
    assert done.returncode == 0, done.stdout + done.stderr


PLANTED: dict[str, tuple[str, dict[str, str], str]] = {
    "qt-in-imaging": ("qt-below-views", {"app/imaging/planted.py": "import PySide6.QtGui"}, ""),
    "qt-in-the-agent-by-a-detour": (
        "qt-below-views",
        {
            "app/tools/planted.py": "import shiboken6",
            "app/agent/planted.py": "import app.tools.planted",
        },
        "",
    ),
    "qt-cli": (
        "qt-above-views",
        {"app/cli.py": "def main():\n    import PySide6.QtWidgets"},
        "app.cli -> PySide6",
    ),
    "views-in-agent": ("layers", {"app/agent/planted.py": "from app.views import theme"}, ""),
    "workspace-in-agent": ("layers", {"app/agent/planted.py": "import app.workspace"}, ""),
    "a-leaf-in-a-leaf": (
        "layers",
        {"app/errors.py": "import app.paths"},
        "app.errors -> app.paths",
    ),
    "a-room-without-a-place": ("layers", {"app/planted.py": ""}, ""),
    "dicom-below-itself": (
        "imaging-layers",
        {"app/imaging/files/planted.py": "import app.imaging.dicom"},
        "",
    ),
    "reading-in-scanning": (
        "imaging-layers",
        {"app/imaging/scanning/planted.py": "import app.imaging.reading.sniffing"},
        "",
    ),
    "a-room-of-imaging-without-a-place": ("imaging-layers", {"app/imaging/planted.py": ""}, ""),
    "a-parser-in-the-window-by-a-detour": (
        "codecs-in-workers",
        {
            "app/imaging/studies/planted.py": "def scan():\n    import pydicom",
            "app/imaging/scanning/scan.py": "import app.imaging.studies.planted",
        },
        "",
    ),
    "a-reader-in-a-view": (
        "codecs-in-workers",
        {"app/views/planted.py": "from app.imaging.reading import image_entries"},
        "",
    ),
    "torch-in-agent": ("torch", {"app/agent/planted.py": "import torch"}, ""),
    "a-local-model-s-engine-in-the-app": (
        "engines",
        {"app/agent/planted.py": "import app.agent.llm.local.transformers_main"},
        "",
    ),
    "llama-cpp-in-the-app": (
        "engines",
        {"app/agent/planted.py": "import app.agent.llm.local.gguf_main"},
        "",
    ),
    "torch-in-imaging-by-a-detour": (
        "torch",
        {
            "app/tools/chest/planted.py": "def run():\n    import torchxrayvision",
            "app/imaging/planted.py": "import app.tools.chest.planted",
        },
        "",
    ),
    "torch-in-what-a-pack-registers": (
        "torch",
        {
            "app/tools/chest/planted.py": "import torch",
            "app/tools/chest/__init__.py": "import app.tools.chest.planted",
        },
        "",
    ),
    "a-pack-in-a-pack": (
        "packs-apart",
        {"app/tools/chest/planted.py": "import app.tools.general"},
        "",
    ),
    "the-host-in-a-pack": (
        "packs-see-api",
        {"app/tools/chest/planted.py": "import app.tools.hosting.host"},
        "",
    ),
}
"""What breaks a contract: its id, code by file, and what is told of it; "": the planted module."""


@pytest.fixture(scope="module")
def told(
    repo: Path, contracts: dict[str, dict[str, Any]], tmp_path_factory: pytest.TempPathFactory
) -> dict[str, str]:
    """What import-linter tells of each broken contract, by id, of a copy with all of `PLANTED`."""
    folder = tmp_path_factory.mktemp("planted")
    shutil.copytree(repo / "app", folder / "app", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(repo / "pyproject.toml", folder)
    for number, (_, files, _) in enumerate(PLANTED.values()):
        for path, text in files.items():
            own = folder / path.replace("planted", f"planted{number}")
            with own.open("a", encoding="utf-8") as file:
                file.write("\n" + text.replace("planted", f"planted{number}") + "\n")
    done = lint_imports(folder)
    assert done.returncode == 1, done.stdout + done.stderr
    # The output wraps long names, so only their words are compared.
    _, _, broken = " ".join(done.stdout.split()).partition(" Broken contracts ")
    starts = {key: broken.find(" ".join(one["name"].split())) for key, one in contracts.items()}
    ends = sorted([*starts.values(), len(broken)])
    return {
        key: broken[start : ends[ends.index(start) + 1]]
        for key, start in starts.items()
        if start >= 0
    }


@pytest.mark.parametrize("name", PLANTED)
def test_a_planted_violation_is_told_of_its_contract(name: str, told: dict[str, str]) -> None:
    contract, _, words = PLANTED[name]
    words = words or f"planted{list(PLANTED).index(name)}"
    assert re.search(rf"{re.escape(words)}\b", told[contract]), told


def test_every_pack_is_named_in_its_contracts(
    repo: Path, contracts: dict[str, dict[str, Any]]
) -> None:
    tools = repo / "app" / "tools"
    found = [path for path in tools.glob("*/__init__.py") if "def register(" in path.read_text()]
    packs = {f"app.tools.{path.parent.name}" for path in found}
    assert packs
    assert set(contracts["packs-apart"]["modules"]) == packs
    assert set(contracts["packs-see-api"]["source_modules"]) == packs


@pytest.mark.parametrize(
    ("module", "unwanted"),
    [
        ("app.agent.loop.agent_loop", (*QT, *TORCH_AND_KIN)),
        ("app.workspace.workspace", (*QT, *TORCH_AND_KIN)),
        ("app.cli", (*QT, *TORCH_AND_KIN)),
        ("app.wiring", TORCH_AND_KIN),
    ],
)
def test_a_fresh_import_loads_neither_qt_nor_torch(
    module: str, unwanted: tuple[str, ...], repo: Path
) -> None:
    code = f"import sys, {module}; print(*sorted({{name.split('.')[0] for name in sys.modules}}))"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=repo, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert set(unwanted).isdisjoint(done.stdout.split())


def test_what_compares_words_is_loaded_with_the_first_doubtful_word(repo: Path) -> None:
    code = "import sys, app.agent.loop.agent_loop; print(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=repo, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert {"rapidfuzz", "symspellpy"}.isdisjoint(done.stdout.split())
