"""A bundle holds what the app imports by name: every name is found and leads to a function."""

from __future__ import annotations

import ast
import asyncio
import importlib.util
import shutil
from importlib.machinery import PathFinder
from pathlib import Path

import pytest

from app.agent.llm import hosted_model
from app.agent.llm.base import ModelFailed
from app.agent.llm.providers import KINDS, ModelChoice, build
from app.agent.messages import Message
from app.agent.planning import spelling
from app.settings import Kind, ProviderSettings
from installer.hidden_imports import (
    DATA,
    ENDPOINTS,
    PLUGINS,
    data_files,
    entry_names,
    hidden_imports,
)

OTHERS = sorted([*PLUGINS, *ENDPOINTS, *DATA])


@pytest.fixture(scope="module")
def named(repo: Path) -> set[str]:
    return entry_names(repo)


@pytest.fixture(scope="module")
def hidden(repo: Path, named: set[str]) -> list[str]:
    with pytest.MonkeyPatch.context() as patch:  # all of the app was read already
        patch.setattr("installer.hidden_imports.entry_names", lambda _: named)
        return hidden_imports(repo)


def test_modules_named_in_strings_are_found(tmp_path: Path) -> None:
    (tmp_path / "app" / "pack").mkdir(parents=True)
    for name in ("reader", "net", "__init__"):
        (tmp_path / "app" / "pack" / f"{name}.py").touch()
    (tmp_path / "app" / "main.py").write_text(
        'A = "app.pack.reader"\nB = lambda kind: f"app.pack.net:{kind}"\n'
        'C = "app.pack.none:entry"\nD = "see app.pack.reader"\n'
    )
    assert entry_names(tmp_path) == {"app.pack.reader", "app.pack.net:*", "app.pack.none:entry"}
    assert hidden_imports(tmp_path) == sorted(["app.pack.net", "app.pack.reader", *OTHERS])


def test_a_module_name_that_is_filled_in_stands_for_all_of_its_package(tmp_path: Path) -> None:
    (tmp_path / "app" / "pack").mkdir(parents=True)
    for name in ("one", "two", "__init__"):
        (tmp_path / "app" / "pack" / f"{name}.py").touch()
    (tmp_path / "app" / "main.py").write_text('A = lambda net: f"app.pack.{net}:entry"\n')
    assert hidden_imports(tmp_path) == sorted(["app.pack.one", "app.pack.two", *OTHERS])


def test_every_reader_worker_and_model_is_among_them(hidden: list[str]) -> None:
    assert set(hidden) >= {
        "app.imaging.reading.dicom_image",
        "app.imaging.formats.pdf_file",
        "app.imaging.objects.waveforms",
        "app.imaging.scanning.listing",
        "app.imaging.reading.object_entries",
        "app.tools.chest.thorax_net",
        "app.tools.chest.densenet",
        "app.agent.llm.transport",
        "app.agent.llm.local.gguf_main",
        "app.agent.llm.local.transformers_main",
    }


def test_every_package_that_an_endpoint_loads_by_name_is_among_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Asked of the models themselves: each starts an answer, and what it loads is noted."""
    loaded: list[str] = []

    def note(package: str) -> None:
        loaded.append(package)
        raise ModelFailed("noted")

    async def begin(kind: Kind) -> None:
        model = build(
            ModelChoice(kind, ProviderSettings(base_url="http://127.0.0.1:9/v1", model="m"))
        )
        async for _ in model.stream([Message(role="user", text="?")], []):
            pass

    endpoints: list[Kind] = [kind for kind in KINDS if kind not in ("offline", "local")]
    monkeypatch.setattr(hosted_model, "load", note)
    for kind in endpoints:
        with pytest.raises(ModelFailed, match="noted"):
            asyncio.run(begin(kind))
    assert len(loaded) == len(endpoints)
    assert set(loaded) == set(ENDPOINTS)


def test_every_function_named_is_there(repo: Path, named: set[str]) -> None:
    """Read, not imported: torch is not needed to know."""
    for name in named:
        module, _, function = name.partition(":")
        if "*" in name or not function:
            continue
        path = repo.joinpath(*module.split(".")).with_suffix(".py")
        tree = ast.parse(path.read_text(encoding="utf-8"))
        defined = {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}
        assert function in defined, name


def test_every_one_can_be_found_by_the_importer(hidden: list[str]) -> None:
    for module in hidden:
        if module == "jpeg_ls" and importlib.util.find_spec(module) is None:
            pytest.skip("pyjpegls has no wheel for this Python")
        assert importlib.util.find_spec(module) is not None, module


def test_the_planner_reads_its_words_in_a_bundle_that_holds_the_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A bundle is a folder of its own: of the library only these files are in it."""
    root = str(tmp_path)
    for source, folder in data_files():
        (tmp_path / folder).mkdir()
        shutil.copy(source, tmp_path / folder)
    monkeypatch.setattr(spelling, "find_spec", lambda name: PathFinder.find_spec(name, [root]))
    read = spelling.english.__wrapped__()
    assert {"account", "count", "lung"} <= set(read)
