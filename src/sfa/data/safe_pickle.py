"""A look at a pickle that runs no code: Planetoid's raw files are pickles, and a download or folder may be foreign."""

from __future__ import annotations

import pickle
import warnings
from pathlib import Path
from typing import Any

from sfa.errors import InputError

# All that arrays, CSR matrices and the dictionary of neighbours are made of, under old and new module names.
ALLOWED = {
    *((f"numpy.{core}.multiarray", "_reconstruct") for core in ("core", "_core")),
    *((f"numpy.{core}.multiarray", "scalar") for core in ("core", "_core")),
    *((f"numpy.{core}.numeric", "_frombuffer") for core in ("core", "_core")),
    ("numpy", "ndarray"),
    ("numpy", "dtype"),
    ("scipy.sparse.csr", "csr_matrix"),
    ("scipy.sparse._csr", "csr_matrix"),
    ("scipy.sparse._csr", "csr_array"),
    ("collections", "defaultdict"),
    ("__builtin__", "list"),
    ("builtins", "list"),
    ("_codecs", "encode"),
    ("copy_reg", "_reconstructor"),
    ("copyreg", "_reconstructor"),
    ("__builtin__", "object"),
    ("builtins", "object"),
}


class _ArraysOnly(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        if (module, name) not in ALLOWED:
            raise pickle.UnpicklingError(f"it refers to {module}.{name}")
        return super().find_class(module, name)


def check_pickle(path: Path) -> None:
    """Raises unless the pickle is made of arrays, sparse matrices and dictionaries alone."""
    with path.open("rb") as file, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # SciPy says that the old module name scipy.sparse.csr goes away
        try:
            _ArraysOnly(file, encoding="latin1").load()
        except Exception as error:  # a damaged pickle can raise nearly anything
            raise InputError(
                f"{path} is refused: a Planetoid file may hold arrays only, and it is damaged or holds more ({error}); "
                "fetch it again from a source you trust."
            ) from error
