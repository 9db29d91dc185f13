"""The import rule of DESIGN.md holds, and the contracts that say so would notice if it did not."""

from __future__ import annotations

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


@pytest.fixture
def copy(repo: Path, tmp_path: Path) -> Path:
    """A copy of the app and its contracts, to plant violations in."""
    shutil.copytree(repo / "app", tmp_path / "app", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(repo / "pyproject.toml", tmp_path)
    return tmp_path


def test_the_import_contracts_hold(repo: Path) -> None:
    done = lint_imports(repo)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize(
    ("planted", "contract"),
    [
        pytest.param(
            {"app/imaging/planted.py": "import PySide6.QtGui"}, "qt-below-views", id="qt-in-imaging"
        ),
        pytest.param(
            {
                "app/tools/planted.py": "import shiboken6",
                "app/agent/planted.py": "import app.tools.planted",
            },
            "qt-below-views",
            id="qt-in-the-agent-by-a-detour",
        ),
        pytest.param(
            {"app/cli.py": "def main():\n    import PySide6.QtWidgets"},
            "qt-above-views",
            id="qt-cli",
        ),
        pytest.param(
            {"app/agent/planted.py": "from app.views import theme"}, "layers", id="views-in-agent"
        ),
        pytest.param(
            {"app/agent/planted.py": "import app.workspace"}, "layers", id="workspace-in-agent"
        ),
        pytest.param({"app/errors.py": "import app.paths"}, "layers", id="a-leaf-in-a-leaf"),
        pytest.param({"app/planted.py": ""}, "layers", id="a-room-without-a-place"),
        pytest.param(
            {"app/imaging/files/planted.py": "import app.imaging.dicom"},
            "imaging-layers",
            id="dicom-below-itself",
        ),
        pytest.param(
            {"app/imaging/scanning/planted.py": "import app.imaging.reading.sniffing"},
            "imaging-layers",
            id="reading-in-scanning",
        ),
        pytest.param(
            {"app/imaging/planted.py": ""}, "imaging-layers", id="a-room-of-imaging-without-a-place"
        ),
        pytest.param(
            {
                "app/imaging/studies/planted.py": "def scan():\n    import pydicom",
                "app/imaging/scanning/scan.py": "import app.imaging.studies.planted",
            },
            "codecs-in-workers",
            id="a-parser-in-the-window-by-a-detour",
        ),
        pytest.param(
            {"app/views/planted.py": "from app.imaging.reading import image_entries"},
            "codecs-in-workers",
            id="a-reader-in-a-view",
        ),
        pytest.param({"app/agent/planted.py": "import torch"}, "torch", id="torch-in-agent"),
        pytest.param(
            {"app/agent/planted.py": "import app.agent.llm.local.transformers_main"},
            "engines",
            id="a-local-model-s-engine-in-the-app",
        ),
        pytest.param(
            {"app/agent/planted.py": "import app.agent.llm.local.gguf_main"},
            "engines",
            id="llama-cpp-in-the-app",
        ),
        pytest.param(
            {
                "app/tools/chest/planted.py": "def run():\n    import torchxrayvision",
                "app/imaging/planted.py": "import app.tools.chest.planted",
            },
            "torch",
            id="torch-in-imaging-by-a-detour",
        ),
        pytest.param(
            {
                "app/tools/chest/planted.py": "import torch",
                "app/tools/chest/__init__.py": "import app.tools.chest.planted",
            },
            "torch",
            id="torch-in-what-a-pack-registers",
        ),
        pytest.param(
            {"app/tools/chest/planted.py": "import app.tools.general"},
            "packs-apart",
            id="a-pack-in-a-pack",
        ),
        pytest.param(
            {"app/tools/chest/planted.py": "import app.tools.hosting.host"},
            "packs-see-api",
            id="the-host-in-a-pack",
        ),
    ],
)
def test_a_planted_violation_fails_its_contract(
    planted: dict[str, str],
    contract: str,
    copy: Path,
    contracts: dict[str, dict[str, Any]],
) -> None:
    for path, text in planted.items():
        with (copy / path).open("a", encoding="utf-8") as file:
            file.write(f"\n{text}\n")
    done = lint_imports(copy)
    assert done.returncode == 1, done.stdout + done.stderr
    # The output wraps long names, so only their words are compared.
    verdict = " ".join(f"{contracts[contract]['name']} BROKEN".split())
    assert verdict in " ".join(done.stdout.split()), done.stdout


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
