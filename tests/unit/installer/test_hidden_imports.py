"""A bundle holds what the app imports by name: every name is found and leads to a function."""

from __future__ import annotations

import ast
import asyncio
import importlib.util
import re
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
from installer.hidden_imports import CODECS, ENDPOINTS, data_files, hidden_imports

_NAMED = re.compile(r"(app(?:\.\w+)+):(\w+)")


@pytest.fixture(scope="module")
def hidden(repo: Path) -> list[str]:
    return hidden_imports(repo)


@pytest.fixture(scope="module")
def named(repo: Path) -> set[tuple[str, str]]:
    """All strings in the app that name a module and a function in it."""
    found: set[tuple[str, str]] = set()
    for path in (repo / "app").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            text = node.value if isinstance(node, ast.Constant) else None
            if isinstance(text, str) and (match := _NAMED.fullmatch(text)):
                found.add((match[1], match[2]))
    return found


def test_every_module_of_the_app_is_among_them(tmp_path: Path) -> None:
    (tmp_path / "app" / "pack").mkdir(parents=True)
    for name in ("__init__", "__main__", "pack/__init__", "pack/reader"):
        (tmp_path / "app" / f"{name}.py").touch()
    assert {"app", "app.pack", "app.pack.reader"} <= set(hidden_imports(tmp_path))
    assert "app.__main__" not in hidden_imports(tmp_path)  # the program itself


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


def test_every_function_named_is_there(repo: Path, named: set[tuple[str, str]]) -> None:
    """Read, not imported: torch is not needed to know."""
    assert len(named) > 10
    for module, function in named:
        path = repo.joinpath(*module.split(".")).with_suffix(".py")
        tree = ast.parse(path.read_text(encoding="utf-8"))
        defined = {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}
        assert function in defined, f"{module}:{function}"


def test_every_part_of_imagecodecs_that_decoding_loads_is_among_them() -> None:
    """Asked of imagecodecs itself: which part holds the function that the app or tifffile calls."""
    from imagecodecs import imagecodecs as parts

    ours = ("jpegls", "jpeg8", "htj2k", "jpegxl", "packbits", "png", "jpegsof3")
    theirs = ("lzw", "deflate", "zlib", "jpeg2k", "lerc", "lzma", "webp", "zstd", "jpegxr")
    loaded = {parts._ATTRIBUTES[f"{codec}_decode"] for codec in (*ours, *theirs)}
    assert {name.lstrip("_") for name in loaded} <= set(CODECS)


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
