"""Lets the registry's torch run without NVIDIA's CUDA libraries, which take 4 GiB.

On Linux x86-64 the package index has torch only in its CUDA build. Its libraries name NVIDIA's, so
without them not even the CPU parts load, though on a machine without a GPU not one of their
functions is ever called. There, stand-ins are written instead: shared libraries of a few kilobytes
with the same names, versions and functions, each of which returns an error. triton, which only
`torch.compile` uses, is left out with them. torch then says that CUDA is not available, with a
driver too.

Format: System V ABI, chapters 4 and 5; its AMD64 supplement; symbol versions of the Linux Standard
Base Core Specification 5.0, chapter 10.7.
"""

from __future__ import annotations

import ctypes
import mmap
import os
import platform
import re
import struct
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

VARIABLE = "SIGHTLINE_TORCH"
"""Environment variable: `cpu` or `cuda`, in place of looking for a driver."""

PACKAGES = re.compile(r"(nvidia-|cuda-|triton)")
"""Start of the names of the locked packages that are left out without a driver."""

MARK = b"Sightline stand-in for "
"""In every stand-in, and in no other library."""

# A driver's traces: on Linux itself, and in the Windows Subsystem for Linux.
DRIVER = ("/proc/driver/nvidia/version", "/dev/nvidia0", "/usr/lib/wsl/lib/libcuda.so.1")
# NVIDIA's libraries, but those of the driver, and those that a wheel brings itself.
_REPLACED = re.compile(
    r"lib(cu(blas|dart|dnn|dss|fft|file|pti|rand|solver|sparse)|nccl|nv(rtc|shmem|JitLink|tx))\w*\.so"
)
# Functions that return a text.
_TELLS = re.compile(r".*(String|ErrorName|StatusName)|ncclGetLastError")
# What the others return: an error in all these libraries, and in the runtime cudaErrorNoDevice,
# which torch takes for an answer and not for a fault.
_ERROR, _NO_DEVICE = 1, 100
# Opened by name, beside those that torch or another of them links to.
_OPENED = re.compile(r"libcudnn_|libnvrtc-builtins\.so")
_LIBRARIES = ("torch/lib/*.so", "torch/_C.*.so", "torchvision/*.so")
# Kinds of sections.
_DYNAMIC, _DYNSYM, _VERNEED, _VERDEF, _VERSYM = 6, 11, 0x6FFFFFFE, 0x6FFFFFFD, 0x6FFFFFFF
_PAGE = 0x1000


def cuda_wanted() -> bool | None:
    """Return whether torch is to have its CUDA libraries; None if those at hand are to stay.

    `SIGHTLINE_TORCH` decides; without it, an NVIDIA driver does. Where torch comes in one build for
    all machines, it is always True: the lock files leave out what is not for that system.
    """
    if sys.platform != "linux" or platform.machine() != "x86_64":
        return True
    told = os.environ.get(VARIABLE, "")
    if told in ("cpu", "cuda"):
        return told == "cuda"
    return True if has_driver() else None


def has_driver() -> bool:
    """Return whether this machine has an NVIDIA driver."""
    if any(Path(trace).exists() for trace in DRIVER):
        return True
    try:
        ctypes.CDLL("libcuda.so.1")
    except OSError:
        return False
    return True


def stand_ins(site_packages: Path, target: Path | None = None) -> list[Path]:
    """Write a stand-in for each of NVIDIA's libraries that torch links to.

    Args:
        site_packages: The folder with torch, and torchvision if it is installed.
        target: The folder below which they are written; `site_packages` if None. torch looks for
            them in `nvidia/*/lib` beside its own folder, in a PyInstaller bundle too.

    Returns:
        The paths of the files.
    """
    functions: dict[str, dict[str, str]] = {}
    folders: set[str] = set()
    for library in _torch(site_packages):
        folders.update(re.findall(r"nvidia/\w+/lib", ":".join(library.folders)))
        names = [name for name in library.needed if _REPLACED.match(name)]
        functions.update({name: {} for name in names if name not in functions})
        for file, version, function in library.undefined:
            if not file:
                # Without a version only the prefix tells: cusparseLtInit is in libcusparseLt.
                likely = [name for name in names if function.lower().startswith(_stem(name))]
                file = max(likely, key=len, default="")
            if file in names:
                functions[file][function] = version
    written: list[Path] = []
    for name in sorted(functions):
        path = (target or site_packages) / _folder_of(name, folders) / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.unlink(missing_ok=True)  # A program that has it open keeps the old one.
        error = _NO_DEVICE if name.startswith("libcudart") else _ERROR
        path.write_bytes(shared_library(name, functions[name], error))
        written.append(path)
    return written


def remove_stand_ins(site_packages: Path) -> None:
    """Delete the stand-ins, and nothing else."""
    for path in site_packages.glob("nvidia/*/lib/*.so*"):
        if is_stand_in(path):
            path.unlink()


def is_stand_in(path: Path) -> bool:
    """Return whether a library is one of the stand-ins."""
    return path.stat().st_size < 2**18 and MARK in path.read_bytes()


def of_cuda(place: str) -> bool:
    """Return whether a file of a bundle is a CUDA library, triton's, or a link to one."""
    return place.startswith(("nvidia/", "cuda/", "triton/")) or bool(_REPLACED.match(place))


def cuda_files(site_packages: Path, cuda: Path) -> tuple[list[Path], list[Path]]:
    """Return the real libraries of NVIDIA that torch needs on a GPU, as paths in `cuda`.

    Not headers, tools, static libraries, and parts for several machines. triton is not among them:
    only `torch.compile` imports it, which Sightline does not call.

    Args:
        site_packages: The folder with torch.
        cuda: The folder with `nvidia/*/lib`; may be the same.

    Returns:
        What torch, or one of these libraries, is linked to, each after those that it needs itself;
        and what is opened by name.

    Raises:
        LookupError: There are stand-ins in `cuda`, or no libraries at all.
    """
    real = {path.name: path for path in cuda.glob("nvidia/*/lib/*.so*")}
    if not real or any(map(is_stand_in, real.values())):
        raise LookupError(f"there are no CUDA libraries in {cuda}; with {VARIABLE}=cuda there are")
    linked: dict[str, None] = {}

    def add(name: str) -> None:
        if name in real and name not in linked:
            for needed in Library(real[name]).needed:
                add(needed)
            linked[name] = None

    opened = sorted(name for name in real if _OPENED.match(name))
    for library in _torch(site_packages):
        for name in library.needed:
            add(name)
    for name in opened:  # what these are linked to
        for needed in Library(real[name]).needed:
            if needed not in opened:
                add(needed)
    places = {name: path.relative_to(cuda) for name, path in real.items()}
    return [places[name] for name in linked], [places[n] for n in opened if n not in linked]


def _torch(site_packages: Path) -> Iterator[Library]:
    for pattern in _LIBRARIES:
        yield from map(Library, sorted(site_packages.glob(pattern)))


def _stem(name: str) -> str:
    """Return a library's name without "lib" and version, in lower case."""
    return name.removeprefix("lib").partition(".")[0].lower()


def _folder_of(name: str, folders: Iterable[str]) -> str:
    """Return the folder for a library: one that has its name, or the toolkit's, e.g. `cu13`."""
    rooms = {folder.split("/")[1]: folder for folder in folders}
    own = [room for room in rooms if room in _stem(name)]
    return rooms[next(iter([*own, *(room for room in rooms if re.fullmatch(r"cu\d+", room))]))]


@dataclass
class Library:
    """What an ELF64 file asks of other libraries.

    Attributes:
        path: The file.
        needed: Names of the libraries that it links to.
        folders: Where it looks for them (RPATH), e.g. `$ORIGIN/../../nvidia/nccl/lib`.
        undefined: Functions that it does not define itself: file ("" if no version is asked for),
            version, name.
    """

    path: Path
    needed: list[str] = field(default_factory=list[str])
    folders: list[str] = field(default_factory=list[str])
    undefined: list[tuple[str, str, str]] = field(default_factory=list[tuple[str, str, str]])

    def __post_init__(self) -> None:
        with self.path.open("rb") as file:
            self._data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
            try:
                self._read()
            finally:
                self._data.close()

    def _read(self) -> None:
        start, size, count = *struct.unpack_from("<Q", self._data, 40), *self._at("<HH", 58)
        heads = [self._at("<IIQQQQIIQQ", start + size * n) for n in range(count)]
        sections = {head[1]: head for head in heads}
        strings = {head[1]: heads[head[6]][4] for head in heads if head[6] < count}
        dynamic, symbols = sections[_DYNAMIC], sections[_DYNSYM]
        for at in range(dynamic[4], dynamic[4] + dynamic[5], 16):
            tag, value = self._at("<QQ", at)
            if tag == 1:
                self.needed.append(self._text(strings[_DYNAMIC] + value))
            elif tag in (15, 29):
                self.folders += self._text(strings[_DYNAMIC] + value).split(":")
        versions = self._versions(sections, strings)
        indices = sections[_VERSYM][4] if _VERSYM in sections else None
        for n in range(symbols[5] // 24):
            name, info, _, section = self._at("<IBBH", symbols[4] + 24 * n)
            if section or info >> 4 != 1:  # Defined here, or weak: may be missing.
                continue
            index = self._at("<H", indices + 2 * n)[0] & 0x7FFF if indices is not None else 1
            file, version = versions.get(index, ("", ""))
            self.undefined.append((file, version, self._text(strings[_DYNSYM] + name)))

    def _versions(
        self, sections: Mapping[int, tuple[int, ...]], strings: Mapping[int, int]
    ) -> dict[int, tuple[str, str]]:
        """Return index -> file and version, for the versions asked for."""
        found: dict[int, tuple[str, str]] = {}
        if _VERNEED not in sections:
            return found
        at, text = sections[_VERNEED][4], strings[_VERNEED]
        for _ in range(sections[_VERNEED][7]):
            _, count, file, first, following = self._at("<HHIII", at)
            one = at + first
            for _ in range(count):
                _, _, index, name, after = self._at("<IHHII", one)
                found[index] = self._text(text + file), self._text(text + name)
                one += after
            at += following
        return found

    def _at(self, form: str, offset: int) -> tuple[int, ...]:
        return struct.unpack_from(form, self._data, offset)

    def _text(self, offset: int) -> str:
        return self._data[offset : self._data.find(b"\0", offset)].decode()


def shared_library(name: str, functions: Mapping[str, str], error: int = _ERROR) -> bytes:
    """Return a shared library (ELF64, x86-64) whose functions return an error.

    Args:
        name: Its SONAME.
        functions: Name of each function -> its version, "" for none.
        error: The number that they return; those that return a text tell what the library is.
    """
    order = sorted(functions)
    named = sorted({version for version in functions.values() if version})
    texts, labels = _Strings(), _Strings()
    file = bytearray(64 + 4 * 56)  # The ELF header and four program headers, filled in at the end.
    heads = [bytes(64)]

    def add(
        label: str, kind: int, flags: int, data: bytes,
        *, link: int = 0, info: int = 0, align: int = 8, entry: int = 0,
    ) -> int:  # fmt: skip
        """Append a section, and return its address: its offset, on the next page if written to."""
        file.extend(bytes(-len(file) % align))
        at = len(file)
        place = (at + _PAGE * (flags & 1)) if flags else 0
        head = (labels.add(label), kind, flags, place, at, len(data), link, info, align, entry)
        heads.append(struct.pack("<IIQQQQIIQQ", *head))
        file.extend(data)
        return place

    # mov eax, error; ret, padded to 8 bytes; lea rax, [rip + 1], which is the text; ret; the text.
    code = struct.pack("<BIB2x", 0xB8, error, 0xC3) + bytes.fromhex("488d0501000000c3")
    told = MARK + name.encode() + b": NVIDIA's CUDA libraries are not installed\0"
    text = add(".text", 1, 6, code + told, align=16)
    symbols = bytearray(24)
    for function in order:
        place = text + 8 * bool(_TELLS.fullmatch(function))
        symbols += struct.pack("<IBBHQQ", texts.add(function), 0x12, 0, 1, place, 8)
    indices = [0, *(named.index(functions[f]) + 2 if functions[f] else 1 for f in order)]
    versions = [name, *named]  # The first is that of the file itself.
    defined = b"".join(
        struct.pack("<HHHHIII", 1, not n, n + 1, 1, _hash(version), 20, 28 * (n < len(named)))
        + struct.pack("<II", texts.add(version), 0)
        for n, version in enumerate(versions)
    )
    tags = [
        (14, texts.add(name)),  # SONAME
        (4, add(".hash", 5, 2, _hash_table(order), link=3, entry=4)),
        (6, add(".dynsym", _DYNSYM, 2, bytes(symbols), link=4, info=1, entry=24)),
        (5, add(".dynstr", 3, 2, bytes(texts), align=1)),
        (10, len(bytes(texts))),
        (11, 24),  # The size of a symbol.
        (
            0x6FFFFFF0,
            add(".gnu.version", _VERSYM, 2, _words("H", indices), link=3, align=2, entry=2),
        ),
        (0x6FFFFFFC, add(".gnu.version_d", _VERDEF, 2, defined, link=4, info=len(versions))),
        (0x6FFFFFFD, len(versions)),
        (0, 0),
    ]
    end = len(file)
    table = _words("Q", [number for tag in tags for number in tag])
    dynamic = add(".dynamic", _DYNAMIC, 3, table, link=4, entry=16)
    labels.add(".shstrtab")
    add(".shstrtab", 3, 0, bytes(labels), align=1)
    file.extend(bytes(-len(file) % 8))
    segments = [
        (1, 5, 0, 0, end, _PAGE),
        (1, 6, dynamic - _PAGE, dynamic, len(table), _PAGE),  # The loader writes to it.
        (2, 6, dynamic - _PAGE, dynamic, len(table), 8),
        (0x6474E551, 6, 0, 0, 0, 16),  # The stack is not executable.
    ]
    ident = b"\x7fELF\x02\x01\x01"
    # A shared object (3) for x86-64 (62); its section headers follow the sections.
    form, sizes = "<16sHHIQQQIHHHHHH", (0, 64, 56, len(segments), 64, len(heads), len(heads) - 1)
    struct.pack_into(form, file, 0, ident, 3, 62, 1, 0, 64, len(file), *sizes)
    for n, (kind, flags, offset, place, length, align) in enumerate(segments):
        head = (kind, flags, offset, place, place, length, length, align)
        struct.pack_into("<IIQQQQQQ", file, 64 + 56 * n, *head)
    return bytes(file) + b"".join(heads)


class _Strings:
    """A string table, which begins with an empty string."""

    def __init__(self) -> None:
        self._data = bytearray(1)
        self._places = {"": 0}

    def add(self, text: str) -> int:
        """Return the offset of a text, added unless it is there."""
        if text not in self._places:
            self._places[text] = len(self._data)
            self._data += text.encode() + b"\0"
        return self._places[text]

    def __bytes__(self) -> bytes:
        return bytes(self._data)


def _hash(name: str) -> int:
    """Return the System V hash of a symbol's name."""
    value = 0
    for byte in name.encode():
        value = (value << 4) + byte
        high = value & 0xF0000000
        value = (value ^ (high >> 24)) & ~high & 0xFFFFFFFF
    return value


def _hash_table(names: list[str]) -> bytes:
    """Return the hash table of symbols, which are numbered from 1."""
    buckets, chain = [0] * max(1, len(names) // 2), [0]
    for number, name in enumerate(names, 1):
        bucket = _hash(name) % len(buckets)
        chain.append(buckets[bucket])
        buckets[bucket] = number
    return _words("I", [len(buckets), len(chain), *buckets, *chain])


def _words(kind: str, numbers: list[int]) -> bytes:
    return struct.pack(f"<{len(numbers)}{kind}", *numbers)
