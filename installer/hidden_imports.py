"""Modules and files that are named in strings, and that a PyInstaller spec must list.

Workers and model processes get their functions by name ("app.imaging.scanning.listing:list_entry");
readers and writers are imported when the first such file comes; libraries find plug-ins by name.
"""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

PLUGINS = ("jpeg_ls", "openjpeg", "data_store")
"""Decoders, and the demo study's package, which pydicom and pylibjpeg find by name."""

CODECS = (
    *("deflate", "htj2k", "imcd", "jpeg2k", "jpeg8", "jpegls", "jpegsof3", "jpegxl", "jpegxr"),
    *("lerc", "ljpeg", "lzma", "png", "shared_cython", "webp", "zlib", "zstd"),
)
"""Parts of imagecodecs: what all need, and each for a compression of DICOM, PNG or TIFF."""

ENDPOINTS = ("anthropic", "openai")
"""Packages that the endpoints' code imports by name."""

DATA = {"symspellpy": "frequency_dictionary_en_82_765.txt"}
"""Package that is found by name and not imported -> the file in it that is read."""


def hidden_imports(repo: Path) -> list[str]:
    """Return the dotted names of all of the app's modules, and of what libraries import by name.

    Args:
        repo: The folder in which `app` lies.
    """
    paths = (path.relative_to(repo).with_suffix("") for path in (repo / "app").rglob("*.py"))
    modules = (path.parent if path.name == "__init__" else path for path in paths)
    own = {".".join(module.parts) for module in modules if module.name != "__main__"}
    return sorted(own.union(PLUGINS, ENDPOINTS, DATA, (f"imagecodecs._{one}" for one in CODECS)))


def data_files() -> list[tuple[str, str]]:
    """Return the path of each library file that the app reads, and its folder in the bundle.

    Raises:
        LookupError: A package is not installed.
    """
    found: list[tuple[str, str]] = []
    for package, name in DATA.items():
        spec = find_spec(package)
        folders = spec.submodule_search_locations if spec is not None else None
        if not folders:
            raise LookupError(f"{package} is not installed")
        found.append((str(Path(folders[0], name)), package))
    return found
