"""Reader of weights files that never runs code from the file (torch).

torch before 1.6 saved whole modules as plain pickles; the published torchxrayvision DenseNets are
such files. `torch.load(weights_only=True)` refuses them, because they refer to their classes by
"persistent ids", and plain unpickling would run any code that the file names. This module
therefore interprets the pickle's opcodes itself: it keeps class names and the arguments of calls as
plain data, imports and calls nothing, and looks for the tensors in this data.

Layout of such a file: four pickles (magic number, protocol version, system information, the
object), a pickle with the keys of the storages, then for each storage its length (int64) and its
values, all little endian.
"""

from __future__ import annotations

import pickletools
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

import torch
from torch import Tensor, nn

from app.tools.api import ToolFailed
from app.tools.needs import command

State = dict[str, Tensor]


def load_state(path: Path) -> State:
    """Return the tensors in a weights file by name, on the CPU.

    Args:
        path: A .safetensors file; a state dict written by `torch.save`; or a whole module written
            by a torch version before 1.6.

    Raises:
        ToolFailed: The file is damaged, is not a weights file, or contains anything other than
            weights.
    """
    try:
        return _strip_prefix(_load(path))
    except ToolFailed:
        raise
    except Exception as error:  # torch raises any exception class for damaged files
        raise ToolFailed(
            "this weights file cannot be read: it is damaged or not a weights file",
            subject=str(path),
            remedy=f"Get it again and install it with `{command()} models install PATH`.",
            detail=f"{type(error).__name__}: {error}",
        ) from error


def load_into(model: nn.Module, state: State, path: Path) -> None:
    """Load tensors into a model; all names and shapes must agree.

    Raises:
        ToolFailed: The names or shapes differ, so the file (`path`) belongs to a different model.
    """
    try:
        model.load_state_dict(state)
    except RuntimeError as error:
        raise ToolFailed(
            f"these are weights of another model than {type(model).__name__}",
            subject=str(path),
            remedy=f"See `{command()} models list` for the file that is needed.",
            detail=str(error)[:2000],
        ) from error


def _load(path: Path) -> State:
    if path.suffix == ".safetensors":
        from safetensors.torch import load_file

        return load_file(path)
    module = read_module(path)
    if module is not None:
        return module
    loaded: Any = torch.load(path, map_location="cpu", weights_only=True)
    if isinstance(loaded, dict):
        # Training scripts save the weights under these keys, beside the optimiser's state.
        for inner in ("state_dict", "model"):
            if isinstance(loaded.get(inner), dict):
                loaded = loaded[inner]
        state = {str(key): value for key, value in loaded.items() if isinstance(value, Tensor)}
        if state:
            return state
    raise ValueError("it contains no weights")


def _strip_prefix(state: State) -> State:
    """Return the state without the `module.` that DataParallel puts before each name."""
    if state and all(name.startswith("module.") for name in state):
        return {name.removeprefix("module."): tensor for name, tensor in state.items()}
    return state


_MAGIC = 0x1950A86A20F9469CFC6C
_MAX_DEPTH = 64
_STORAGES: dict[str, tuple[torch.dtype, int]] = {
    "FloatStorage": (torch.float32, 4),
    "DoubleStorage": (torch.float64, 8),
    "HalfStorage": (torch.float16, 2),
    "LongStorage": (torch.int64, 8),
    "IntStorage": (torch.int32, 4),
    "ByteStorage": (torch.uint8, 1),
    "BoolStorage": (torch.bool, 1),
}


@dataclass(frozen=True, slots=True)
class _GlobalName:
    """The name of a global that the pickle refers to; it is never imported."""

    text: str


@dataclass(slots=True)
class _Call:
    """A call in the pickle: its function and arguments, recorded but not executed."""

    function: Any
    args: tuple[Any, ...]
    state: Any = None
    items: dict[Any, Any] = field(default_factory=dict[Any, Any])


@dataclass(frozen=True, slots=True)
class _Storage:
    kind: str
    key: str
    length: int


def read_module(path: Path) -> dict[str, Tensor] | None:
    """Return the tensors of a module that was saved by a torch version before 1.6.

    Returns:
        Name in the module's state dict -> tensor; None if the file has a different layout or
        contains no module.

    Raises:
        ValueError: The module in the file is malformed.
    """
    with path.open("rb") as stream:
        tree = _read_object(stream)
        if not isinstance(tree, _Call) or "_modules" not in _table_items(tree.state):
            return None
        keys = _read_pickle(stream)
        found: dict[str, _Call] = {}
        _collect_tensors(tree, "", found, 0)
        kinds = {item.args[0].key: item.args[0] for item in found.values()}
        storages = {str(key): _read_storage(stream, kinds.get(str(key))) for key in keys}
    if not found:
        raise ValueError("no tensors")
    return {name: _tensor(item, storages) for name, item in found.items()}


def _read_object(stream: IO[bytes]) -> Any:
    """Return the tree of the fourth pickle, or None if the file has another layout."""
    if stream.read(4) == b"PK\x03\x04":
        return None
    stream.seek(0)
    try:
        if _read_pickle(stream) != _MAGIC:
            return None
        return [_read_pickle(stream) for _ in range(3)][-1]
    except (ValueError, LookupError, TypeError, AttributeError):
        return None


def _collect_tensors(tree: Any, prefix: str, found: dict[str, _Call], depth: int) -> None:
    if not isinstance(tree, _Call) or not isinstance(tree.state, dict) or depth > _MAX_DEPTH:
        raise ValueError("not a module")
    state: dict[str, Any] = tree.state
    for table in ("_parameters", "_buffers"):
        for name, value in _table_items(state.get(table)).items():
            tensor = _tensor_call(value)
            if tensor is not None:
                found[f"{prefix}{name}"] = tensor
    for name, child in _table_items(state.get("_modules")).items():
        if child is not None:
            _collect_tensors(child, f"{prefix}{name}.", found, depth + 1)


def _table_items(table: Any) -> dict[Any, Any]:
    if isinstance(table, _Call):  # an OrderedDict
        return table.items
    return table if isinstance(table, dict) else {}


def _tensor_call(value: Any) -> _Call | None:
    """Return the `_rebuild_tensor_v2` call of a tensor or parameter, or None for other values."""
    if not isinstance(value, _Call) or not isinstance(value.function, _GlobalName):
        return None
    if value.function.text == "torch._utils._rebuild_parameter":
        return _tensor_call(value.args[0])
    is_tensor = value.function.text == "torch._utils._rebuild_tensor_v2"
    return value if is_tensor and isinstance(value.args[0], _Storage) else None


def _read_storage(stream: IO[bytes], storage: _Storage | None) -> Tensor | None:
    length = int.from_bytes(stream.read(8), "little")
    if storage is None or length != storage.length:
        raise ValueError("a storage nobody refers to, or of another length")
    dtype, size = _STORAGES[storage.kind]
    data = stream.read(length * size)
    if len(data) != length * size:
        raise ValueError("the file ends early")
    if not length:
        return torch.empty(0, dtype=dtype)
    return torch.frombuffer(bytearray(data), dtype=dtype)


def _tensor(item: _Call, storages: dict[str, Tensor | None]) -> Tensor:
    storage, offset, size, stride = item.args[:4]
    data = storages[storage.key]
    numbers = [offset, *size, *stride]
    if data is None or any(not isinstance(n, int) or n < 0 for n in numbers):
        raise ValueError("a malformed tensor")
    last = offset + sum((n - 1) * step for n, step in zip(size, stride, strict=True))
    if all(size) and last >= len(data):
        raise ValueError("a tensor reaches beyond its storage")
    return data.as_strided(tuple(size), tuple(stride), offset).clone()


def _read_pickle(stream: IO[bytes]) -> Any:
    """Read one pickle (protocol 2) and stop behind it; raise ValueError for other opcodes."""
    stack: list[Any] = []
    marks: list[int] = []
    memo: dict[int, Any] = {}

    def above_mark() -> list[Any]:
        at = marks.pop()
        taken = stack[at:]
        del stack[at:]
        return taken

    def set_items(taken: list[Any]) -> None:
        target = stack[-1]
        items = target.items if isinstance(target, _Call) else target
        items.update(zip(taken[::2], taken[1::2], strict=True))

    for opcode, given, _ in pickletools.genops(stream):
        argument: Any = given
        match opcode.name:
            case "STOP":
                return stack.pop()
            case "PROTO":
                pass
            case "MARK":
                marks.append(len(stack))
            case "BINPUT" | "LONG_BINPUT":
                memo[argument] = stack[-1]
            case "BINGET" | "LONG_BINGET":
                stack.append(memo[argument])
            case "NONE" | "NEWTRUE" | "NEWFALSE" | "EMPTY_DICT" | "EMPTY_LIST" | "EMPTY_TUPLE":
                stack.append(_CONSTANTS[opcode.name]())
            case "BININT" | "BININT1" | "BININT2" | "LONG1" | "BINFLOAT" | "BINUNICODE":
                stack.append(argument)
            case "SHORT_BINSTRING" | "BINSTRING":
                stack.append(argument)
            case "TUPLE":
                stack.append(tuple(above_mark()))
            case "TUPLE1" | "TUPLE2" | "TUPLE3":
                count = int(opcode.name[-1])
                stack[-count:] = [tuple(stack[-count:])]
            case "GLOBAL":
                stack.append(_GlobalName(argument.replace(" ", ".")))
            case "REDUCE" | "NEWOBJ":
                function, args = stack[-2:]
                stack[-2:] = [_Call(function, tuple(args))]
            case "BUILD":
                state = stack.pop()
                target = stack[-1]
                if isinstance(target, _Call):
                    target.state = state
            case "SETITEM":
                value, key = stack.pop(), stack.pop()
                set_items([key, value])
            case "SETITEMS":
                set_items(above_mark())
            case "APPEND":
                value = stack.pop()
                stack[-1].append(value)
            case "APPENDS":
                taken = above_mark()
                stack[-1].extend(taken)
            case "BINPERSID":
                stack[-1] = _persistent(stack[-1])
            case _:
                raise ValueError(f"opcode {opcode.name} is not expected in weights")
    raise ValueError("a pickle without an end")


_CONSTANTS: dict[str, Callable[[], Any]] = {
    "NONE": lambda: None,
    "NEWTRUE": lambda: True,
    "NEWFALSE": lambda: False,
    "EMPTY_DICT": dict,
    "EMPTY_LIST": list,
    "EMPTY_TUPLE": tuple,
}


def _persistent(pid: Any) -> Any:
    """Return a persistent id's storage or class, of which only the name is used."""
    if pid[0] == "module":
        return pid[1]
    if pid[0] != "storage":
        raise ValueError("an unknown kind of reference")
    if len(pid) > 5 and pid[5] is not None:
        raise ValueError("views of storages are not expected in weights")
    name: str = pid[1].text
    return _Storage(name.rpartition(".")[2], str(pid[2]), int(pid[4]))
