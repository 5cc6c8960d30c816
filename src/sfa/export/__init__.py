"""Embeddings to a file, with the ids of their nodes, graphs or images: a format a file here."""

from sfa.export.table import Columns, Embeddings, Ids, Layout
from sfa.export.write import WRITERS, ExportError, check_export, write_embeddings

__all__ = ["WRITERS", "Columns", "Embeddings", "ExportError", "Ids", "Layout", "check_export", "write_embeddings"]
