"""Read the arrays in a pickle without running anything that it names, and check one that torch is to read."""

import io
import pickle
import pickletools
import re
import zipfile
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from sfa.errors import InputError
from sfa.folders import require_regular_file

MAX_BYTES = 1 << 26  # the largest file of Planetoid has 8 MB; a byte of a pickle can take 64 bytes of memory
MAX_NESTING = 1000


class Part(dict[Any, Any]):
    """Keep the arguments and the state of an array, a matrix or a dictionary that a pickle would make."""

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


# The names under which Python 2 and 3 pickle arrays, CSR matrices and dictionaries of lists.
NAMES = {
    *((f"numpy.{core}.multiarray", "_reconstruct") for core in ("core", "_core")),
    *((f"scipy.sparse.{module}", kind) for module in ("csr", "_csr") for kind in ("csr_matrix", "csr_array")),
    *((module, name) for module in ("__builtin__", "builtins") for name in ("list", "object")),
    *((module, "_reconstructor") for module in ("copy_reg", "copyreg")),
    *(("numpy", "ndarray"), ("numpy", "dtype"), ("collections", "defaultdict"), ("_codecs", "encode")),
}
PARTS = {(module, name): type(name, (Part,), {"__slots__": ()}) for module, name in NAMES}


class PartsOnly(pickle._Unpickler):
    """Read a pickle with a `Part` in place of whatever it names, so that no code of it is run.

    It is the unpickler in Python: that in C allocates as much as a wrong number in a file says.
    """

    def find_class(self, module: str, name: str) -> type[Part]:
        if (module, name) not in PARTS:
            raise pickle.UnpicklingError(f"it refers to {module}.{name}")
        return PARTS[module, name]


def read_pickle(path: Path) -> Any:
    """Return the array, the parts of a CSR matrix or the dictionary of lists that a pickle of Python 2 or 3 holds."""
    content = require_regular_file(path, max_bytes=MAX_BYTES).read_bytes()
    try:
        check_pickle(io.BytesIO(content))
        part = PartsOnly(io.BytesIO(content), encoding="bytes").load()
        kind = type(part).__name__
        if kind == "_reconstruct":
            return _array(part)
        if kind in ("csr_matrix", "csr_array", "_reconstructor"):
            state = {_text(key).lstrip("_"): value for key, value in part.state.items()}
            arrays = {f"x_{key}": _array(state[key]) for key in ("data", "indices", "indptr")}
            return arrays | {"x_shape": np.array(state["shape"])}
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


def check_pickle(file: BinaryIO) -> None:
    """Raise if reading the next pickle in a file could take far more memory than the file, or crash the interpreter.

    Python runs out of stack when it hashes deeply nested tuples, as keys of a dictionary are. So this follows how deep
    the values on the stack of the unpickler may be nested.
    """
    stack: list[int] = []
    marks: list[int] = []
    memo: dict[int, int] = {}
    for step, number, _ in pickletools.genops(file):
        if step.name in ("POP", "POP_MARK", "DUP", "BYTEARRAY8") or str(number).endswith(" bytearray"):
            raise pickle.UnpicklingError(f"it has a step {step.name} that no array needs")
        if step.name == "MARK":
            marks.append(len(stack))
        elif "PUT" in step.name or step.name == "MEMOIZE":
            memo[len(memo) if number is None else int(number)] = stack[-1]
        elif "GET" in step.name:
            stack.append(memo[int(number or 0)])
        else:
            taken = step.stack_before
            has_mark = pickletools.markobject in taken
            start = marks.pop() - taken.index(pickletools.markobject) if has_mark else len(stack) - len(taken)
            depth = max(stack[max(start, 0) :], default=0) + ("TUPLE" in step.name)
            if start < 0 or depth > MAX_NESTING:
                raise pickle.UnpicklingError("it is nested too deep")
            stack[start:] = [depth] * len(step.stack_after)


def check_torch_file(path: Path) -> None:
    """Raise if a file of `torch.save` unpacks to more bytes than it has, or its pickles could crash the interpreter."""
    with path.open("rb") as file:
        if file.read(4) != b"PK\3\4":  # the format before PyTorch 1.6: five pickles, then numbers
            file.seek(0)
            for _ in range(5):
                check_pickle(file)
            return
        with zipfile.ZipFile(file) as archive:
            members = archive.infolist()
            if sum(member.file_size for member in members) > path.stat().st_size:
                raise pickle.UnpicklingError("it unfolds to more than it is long")
            for member in members:
                if member.filename.endswith(".pkl"):
                    check_pickle(io.BytesIO(archive.read(member)))
