"""Read the arrays in a pickle, as Planetoid's files are, without running or importing anything that it names."""

import io
import pickle
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfa.data.readers.graph import CSR_PARTS, read_csr
from sfa.errors import InputError
from sfa.folders import require_regular_file

MAX_BYTES = 1 << 26  # the largest file of Planetoid has 8 MB; a byte of a pickle can take 64 bytes of memory
# The names under which Python 2 and 3 pickle arrays, CSR matrices and dictionaries of lists.
NAMES = {
    *((f"numpy.{core}.multiarray", "_reconstruct") for core in ("core", "_core")),
    *((f"scipy.sparse.{module}", kind) for module in ("csr", "_csr") for kind in ("csr_matrix", "csr_array")),
    *(("numpy", name) for name in ("ndarray", "dtype")),
    *((module, name) for module in ("__builtin__", "builtins") for name in ("list", "object")),
    *((module, "_reconstructor") for module in ("copy_reg", "copyreg")),
    *(("collections", "defaultdict"), ("_codecs", "encode")),
}
# All but the steps of which a number alone takes memory, or that hash what there is.
UNNEEDED = pickle.BYTEARRAY8 + pickle.EMPTY_SET + pickle.FROZENSET
STEPS = {code: step for code, step in pickle._Unpickler.dispatch.items() if code not in UNNEEDED}
KEYS = {pickle.SETITEM[0]: slice(-2, -1), pickle.SETITEMS[0]: slice(0, None, 2), pickle.DICT[0]: slice(0, None, 2)}


class Part(dict[Any, Any]):
    """Keep what a pickle would make an array, a matrix or a dictionary of."""

    __slots__ = ("args", "state")
    args: tuple[Any, ...]
    state: Any

    def __new__(cls, *args: Any) -> "Part":
        made = super().__new__(cls)
        made.args, made.state = args, None
        return made

    def __init__(self, *args: Any) -> None:
        super().__init__()

    def __setstate__(self, state: Any) -> None:
        self.state = state


PARTS = {(module, name): type(name, (Part,), {"__slots__": ()}) for module, name in NAMES}


def _with_plain_keys(step: Callable[[Any], None], keys: slice) -> Callable[[Any], None]:
    """Set items by numbers and text alone: to hash a tuple of tuples of tuples … ends the interpreter."""

    def set_items(unpickler: Any) -> None:
        if any(type(key) not in (int, bytes, str) for key in unpickler.stack[keys]):
            raise pickle.UnpicklingError("a key is neither a number nor text")
        step(unpickler)

    return set_items


class PartsOnly(pickle._Unpickler):
    """Read a pickle with a `Part` in place of whatever it names, so that no code of it is run.

    It is the unpickler in Python: that in C allocates as much as a wrong number in a file says.
    """

    dispatch = STEPS | {code: _with_plain_keys(STEPS[code], keys) for code, keys in KEYS.items()}

    def find_class(self, module: str, name: str) -> type[Part]:
        if (module, name) not in PARTS:
            raise pickle.UnpicklingError(f"it refers to {module}.{name}")
        return PARTS[module, name]


def read_pickle(path: Path) -> Any:
    """Return the array, the CSR matrix or the dictionary of lists that a pickle of Python 2 or 3 holds."""
    content = io.BytesIO(require_regular_file(path, max_bytes=MAX_BYTES).read_bytes())
    try:
        part = PartsOnly(content, encoding="bytes").load()
        kind = type(part).__name__
        if kind == "_reconstruct":
            return _array(part)
        if kind in ("csr_matrix", "csr_array", "_reconstructor"):
            state = {_text(key).lstrip("_"): value for key, value in part.state.items()}
            parts = {f"x_{key}": _array(state[key]) for key in CSR_PARTS[:-1]}
            return read_csr(parts | {"x_shape": np.array(state["shape"])}, "x", path)
        if kind in ("defaultdict", "dict"):
            return {key: list(value) for key, value in part.items()}
        raise pickle.UnpicklingError(f"it holds a {kind}")
    except Exception as error:  # a damaged pickle can raise nearly anything
        reason = " ".join(str(error).split())[:200].rstrip(".") or type(error).__name__
        raise InputError(
            f"{path} is refused: a Planetoid file may hold arrays only, and it is damaged or holds more ({reason}); "
            "fetch it again from a source you trust."
        ) from error


def _array(part: Part) -> NDArray[Any]:
    """Return the array of which the shape, the type and the bytes are given."""
    _, shape, dtype, is_fortran, content = part.state
    kind, order_of_bytes = _text(dtype.args[0]), _text(dtype.state[1])
    if not re.fullmatch(r"[biuf][1248]", kind) or order_of_bytes not in ("<", ">", "=", "|"):
        raise ValueError(f"its values are of the type {kind}")
    if isinstance(content, Part):  # bytes, as Python 3 writes them for Python 2
        content = content.args[0].encode("latin1")
    array: NDArray[Any] = np.frombuffer(content, np.dtype(order_of_bytes + kind))
    return np.reshape(array, shape, order="F" if is_fortran else "C")


def _text(value: Any) -> str:
    return value.decode("latin1") if isinstance(value, bytes) else str(value)
