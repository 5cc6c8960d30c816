"""Embeddings as AnnData, for scanpy and its kin: a row an observation."""

from __future__ import annotations

import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from sfa.errors import InputError
from sfa.export.table import Table


def require_anndata() -> None:
    """Raise unless the package is installed."""
    try:
        import anndata  # noqa: F401
    except ImportError as error:
        raise InputError("Writing .h5ad needs the extra `anndata`: pip install 'sfa[anndata]'.") from error


def write_h5ad(path: Path, table: Table) -> None:
    """Embeddings are ``X``, ids the index of ``obs``, further columns categories in it; ``uns["sfa"]`` says whence."""
    import anndata
    import h5py
    import pandas

    obs = pandas.DataFrame(
        {name: _categories(values) for name, values in table.columns.items()},
        index=_text([str(one) for one in table.ids]).rename(table.id_name),
    )
    var = pandas.DataFrame(index=_text(table.feature_names))
    content = io.BytesIO()
    with h5py.File(content, "w") as file:
        annotated = anndata.AnnData(X=table.z, obs=obs, var=var, uns={"sfa": dict(table.about)})
        anndata.io.write_elem(file, "/", annotated)
    path.write_bytes(content.getvalue())  # written by Python, so that a full disk is the OSError that it is


def _text(words: Sequence[str]) -> Any:
    """Words as plain objects: not every AnnData writes the newer kinds of text of pandas."""
    import pandas

    return pandas.Index(list(words), dtype=object)


def _categories(values: Sequence[str | None]) -> Any:
    import pandas

    return pandas.Categorical(list(values), categories=_text(sorted({one for one in values if one is not None})))
