"""Reader of weights files that never runs code from the file (torch).

torch before 1.6 saved whole modules as plain pickles; the published torchxrayvision DenseNets are
such files. `torch.load(weights_only=True)` refuses them, because they refer to their classes by
"persistent ids", and plain unpickling would run any code that the file names. This module
therefore interprets the pickle's opcodes itself: it records the names of classes and the arguments
of calls without resolving either, and takes the tensors from the resulting tree.

Layout of such a file: four pickles (magic number, protocol version, system information, the
object), a pickle with the keys of the storages, then for each storage its length (int64) and its
values, all little endian.
"""

from __future__ import annotations

import pickletools
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

import torch
from torch import Tensor, nn

from app.tools.api import ToolFailed
from app.tools.needs import command

State = dict[str, Tensor]

_LAYERS: tuple[type[nn.Module], ...] = (
    nn.Conv2d,
    nn.BatchNorm2d,
    nn.ReLU,
    nn.MaxPool2d,
    nn.AvgPool2d,
    nn.Linear,
    nn.Sequential,
)


def load_state(path: Path, classes: Iterable[type[nn.Module]] = ()) -> State:
    """Return the tensors in a weights file by name, on the CPU.

    Args:
        path: A .safetensors file, or a file written by `torch.save`.
        classes: Names of the module classes, besides torch's own layers, that a pickled module may
            contain. A file with any other class is refused.

    Raises:
        ToolFailed: The file is damaged, is not a weights file, or contains anything other than
            weights.
    """
    try:
        return _strip_prefix(_load(path, classes))
    except ToolFailed:
        raise
    except Exception as error:  # torch raises any exception class for damaged files
        raise ToolFailed(
            "this weights file cannot be read: it is damaged or no weights file",
            subject=str(path),
            remedy=f"Get it again and install it with `{command()} models install PATH`.",
            detail=f"{type(error).__name__}: {error}",
        ) from error


def load_into(model: nn.Module, state: State, path: Path) -> None:
    """Load tensors into a model; all names and shapes must agree.

    Raises:
        ToolFailed: The names or shapes differ, so the file belongs to a different model.
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


def _load(path: Path, classes: Iterable[type[nn.Module]]) -> State:
    if path.suffix == ".safetensors":
        from safetensors.torch import load_file

        return load_file(path)
    module = read_module(path)
    if module is not None:
        return module
    with torch.serialization.safe_globals([*_LAYERS, *classes, set]):
        loaded: Any = torch.load(path, map_location="cpu", weights_only=True)
    if isinstance(loaded, nn.Module):
        return _module_tensors(loaded)
    if isinstance(loaded, dict):
        # Training scripts save the weights under these keys, beside the optimiser's state.
        for inner in ("state_dict", "model"):
            if isinstance(loaded.get(inner), dict):
                loaded = loaded[inner]
        state = {str(key): value for key, value in loaded.items() if isinstance(value, Tensor)}
        if state:
            return state
    raise ValueError("it holds no weights")


def _module_tensors(module: nn.Module, prefix: str = "") -> State:
    """Return a module's parameters and buffers from its own tables, without calling its methods."""
    state: State = {}
    tables: dict[str, Any] = module.__dict__
    for table in ("_parameters", "_buffers"):
        for name, tensor in tables[table].items():
            if isinstance(tensor, Tensor):
                state[prefix + name] = tensor.detach()
    for name, child in tables["_modules"].items():
        if isinstance(child, nn.Module):
            state |= _module_tensors(child, f"{prefix}{name}.")
    return state


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
        keys = _Reader(stream).read()
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
        if _Reader(stream).read() != _MAGIC:
            return None
        for _ in range(2):
            _Reader(stream).read()
        return _Reader(stream).read()
    except (ValueError, LookupError, TypeError, AttributeError):
        return None


def _collect_tensors(tree: Any, prefix: str, found: dict[str, _Call], depth: int) -> None:
    """Add the tensors of a module and its submodules to `found`."""
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


class _Reader:
    """Interpreter of one pickle, limited to the opcodes that torch wrote (protocol 2)."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream = stream
        self._stack: list[Any] = []
        self._marks: list[int] = []
        self._memo: dict[int, Any] = {}

    def read(self) -> Any:
        """Return the pickle's content, and leave the stream at the end of the pickle."""
        for opcode, argument, _ in pickletools.genops(self._stream):
            if opcode.name == "STOP":
                return self._stack.pop()
            if opcode.name in _CONSTANTS:
                self._stack.append(_CONSTANTS[opcode.name]())
            elif opcode.name in _VALUES:
                self._stack.append(argument)
            elif opcode.name in _STEPS:
                _STEPS[opcode.name](self, argument)
            else:
                raise ValueError(f"opcode {opcode.name} is not expected in weights")
        raise ValueError("a pickle without an end")

    def mark(self, _argument: Any) -> None:
        """Remember the current height of the stack."""
        self._marks.append(len(self._stack))

    def pop_to_mark(self) -> list[Any]:
        """Remove and return the values above the last mark."""
        at = self._marks.pop()
        taken = self._stack[at:]
        del self._stack[at:]
        return taken

    def put(self, index: int) -> None:
        """Store the top value in the memo."""
        self._memo[index] = self._stack[-1]

    def get(self, index: int) -> None:
        """Push a value from the memo."""
        self._stack.append(self._memo[index])

    def make_tuple(self, count: int) -> None:
        """Replace the top `count` values by a tuple of them."""
        taken = self._stack[-count:]
        del self._stack[-count:]
        self._stack.append(tuple(taken))

    def push_global(self, argument: str) -> None:
        """Push the name of a global."""
        self._stack.append(_GlobalName(argument.replace(" ", ".")))

    def push_call(self, _argument: Any) -> None:
        """Replace a function and its arguments by a record of the call."""
        args = self._stack.pop()
        function = self._stack.pop()
        self._stack.append(_Call(function, tuple(args)))

    def build(self, _argument: Any) -> None:
        """Attach the top value to the call below it as the object's state."""
        state = self._stack.pop()
        if isinstance(self._stack[-1], _Call):
            self._stack[-1].state = state

    def set_items(self, taken: list[Any]) -> None:
        """Add alternating keys and values to the dictionary on top."""
        target = self._stack[-1]
        items = target.items if isinstance(target, _Call) else target
        items.update(zip(taken[::2], taken[1::2], strict=True))

    def set_item(self, _argument: Any) -> None:
        """Add the top key and value to the dictionary below them."""
        value = self._stack.pop()
        key = self._stack.pop()
        self.set_items([key, value])

    def append(self, _argument: Any) -> None:
        """Append the top value to the list below it."""
        value = self._stack.pop()
        self._stack[-1].append(value)

    def persistent(self, _argument: Any) -> None:
        """Push the storage or class that a persistent id refers to.

        A class comes as ("module", class, source file, source code), of which only its name is
        used.
        """
        pid = self._stack.pop()
        kind = pid[0]
        if kind == "storage":
            if len(pid) > 5 and pid[5] is not None:
                raise ValueError("views of storages are not expected in weights")
            name: str = pid[1].text
            self._stack.append(_Storage(name.rpartition(".")[2], str(pid[2]), int(pid[4])))
        elif kind == "module":
            self._stack.append(pid[1])
        else:
            raise ValueError("an unknown kind of reference")

    def push(self, value: Any) -> None:
        """Push a value."""
        self._stack.append(value)

    def extend(self, _argument: Any) -> None:
        """Append the values above the last mark to the list below it."""
        taken = self.pop_to_mark()
        self._stack[-1].extend(taken)


_CONSTANTS: dict[str, Callable[[], Any]] = {
    "NONE": lambda: None,
    "NEWTRUE": lambda: True,
    "NEWFALSE": lambda: False,
    "EMPTY_DICT": dict,
    "EMPTY_LIST": list,
    "EMPTY_TUPLE": tuple,
}
_VALUES = {
    "BININT",
    "BININT1",
    "BININT2",
    "LONG1",
    "BINFLOAT",
    "BINUNICODE",
    "SHORT_BINSTRING",
    "BINSTRING",
}
_STEPS: dict[str, Callable[[_Reader, Any], None]] = {
    "PROTO": lambda reader, argument: None,
    "MARK": _Reader.mark,
    "BINPUT": _Reader.put,
    "LONG_BINPUT": _Reader.put,
    "BINGET": _Reader.get,
    "LONG_BINGET": _Reader.get,
    "GLOBAL": _Reader.push_global,
    "REDUCE": _Reader.push_call,
    "NEWOBJ": _Reader.push_call,
    "BUILD": _Reader.build,
    "SETITEM": _Reader.set_item,
    "SETITEMS": lambda reader, argument: reader.set_items(reader.pop_to_mark()),
    "APPEND": _Reader.append,
    "APPENDS": _Reader.extend,
    "TUPLE": lambda reader, argument: reader.push(tuple(reader.pop_to_mark())),
    "TUPLE1": lambda reader, argument: reader.make_tuple(1),
    "TUPLE2": lambda reader, argument: reader.make_tuple(2),
    "TUPLE3": lambda reader, argument: reader.make_tuple(3),
    "BINPERSID": _Reader.persistent,
}
