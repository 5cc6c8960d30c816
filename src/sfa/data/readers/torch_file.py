"""A `.pt` file: a PyG `Data` (or a dictionary of its tensors) or a list of many, loaded without running code."""

from __future__ import annotations

import pickle
import warnings
from pathlib import Path

import torch
from torch_geometric.data import Data
from torch_geometric.data.data import DataEdgeAttr, DataTensorAttr
from torch_geometric.data.storage import GlobalStorage

from sfa.data.as_graphs import as_graphs
from sfa.data.labels import given_masks
from sfa.data.readers.tables import Parts
from sfa.errors import InputError

# What a saved Data is made of; torch_geometric tells torch of only some of it.
SAFE = [Data, DataEdgeAttr, DataTensorAttr, GlobalStorage]


def read_torch(path: Path) -> Parts:
    """The parts of a saved Data, or of a list of Data, which is a graph set.

    A file that needs more than tensors and PyG's own classes is refused.
    """
    try:
        with torch.serialization.safe_globals(SAFE), warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # about pickles that it then refuses
            loaded = torch.load(path, map_location="cpu", weights_only=True)
    except pickle.UnpicklingError as error:
        raise InputError(
            f"{path} cannot be loaded safely: it is damaged, or holds more than tensors and a torch_geometric Data; "
            "save Data(x=..., edge_index=..., y=...) with torch.save."
        ) from error
    if isinstance(loaded, (list, tuple)) and all(isinstance(one, Data) for one in loaded):
        loaded = as_graphs(loaded, name=path.stem)
        if "features_of" in loaded:
            loaded.x = None  # not the file's: what they are to be made of is yet to be said
    if isinstance(loaded, dict):
        loaded = Data.from_dict(loaded)
    if not isinstance(loaded, Data):
        raise InputError(
            f"{path} holds a {type(loaded).__name__}, but a torch_geometric Data or a list of them is needed."
        )
    if loaded.edge_index is None:
        raise InputError(f"{path} has no edge_index; it holds {', '.join(loaded.keys()) or 'nothing'}.")
    return Parts(
        edges=loaded.edge_index,
        edge_weight=loaded.edge_weight,
        x=loaded.x,
        y=loaded.y,
        class_names=_listed(loaded, "class_names", path),
        node_ids=getattr(loaded, "node_ids", None),
        num_nodes=loaded.get("num_nodes"),
        name=loaded.name if isinstance(getattr(loaded, "name", None), str) else None,
        masks=given_masks(loaded.to_dict()),
        ptr=loaded.get("ptr"),
        graph_ids=getattr(loaded, "graph_ids", None),
    )


def _listed(loaded: Data, key: str, path: Path) -> list[str] | None:
    value = getattr(loaded, key, None)
    if value is not None and not isinstance(value, (list, tuple)):
        raise InputError(f"{path} has {key} that are a {type(value).__name__}, but a list of names is needed.")
    return None if value is None else list(value)
