"""Tasks: embed the nodes of one graph, the graphs of a set, or images."""

from collections.abc import Mapping
from typing import Any, Literal

from torch_geometric.data import Data

from sfa.errors import unknown_name

Task = Literal["node", "graph", "image"]

# The items that are embedded and scored, and the data that they come in.
ITEMS: dict[Task, str] = {"node": "the nodes of one graph", "graph": "whole graphs", "image": "images"}
DATA: dict[Task, str] = {"node": "one graph", "graph": "a set of graphs", "image": "a set of images"}


def task_of(data: Data) -> Task:
    """Return the attribute ``task`` of data, or infer it: ``ptr`` means graphs, four dimensions of ``x`` images."""
    task: Any = data.get("task")
    if isinstance(task, str) and task in DATA:
        return task
    is_image = getattr(data.get("x"), "ndim", None) == 4
    return "graph" if data.get("ptr") is not None else "image" if is_image else "node"


def task_attribute(part: Any) -> Any:
    """Return the task that a method, encoder, augmentation or loader is for, ``None`` if it names none."""
    return getattr(part, "task", getattr(part, "level", None))  # its name before version 0.2


def num_items(data: Data) -> int:
    """Return the number of embeddings: one for each node of a graph, for each graph of a set, or for each image."""
    return int(data.num_nodes) if data.get("ptr") is None else len(data.ptr) - 1


def num_seed_nodes(batch: Data) -> int:
    """Return how many of the first rows of a feature map count; the other nodes of a batch only send messages."""
    return int(batch.get("roots", num_items(batch)))


def item_word(data: Data) -> str:
    """Return what the items are called, in the plural."""
    return f"{task_of(data)}s"


_COSINE: dict[str, Any] = {"warmup": 10, "cosine": True, "patience": None}
SETTINGS: dict[Task, dict[str, Any]] = {
    "node": {"encoder": {"name": "gcn"}, "augmentation": {"name": "uniform"}},
    "graph": {
        "encoder": {"name": "gin"},
        "augmentation": {"name": "random-choice"},
        "training": {"epochs": 20, "lr": 0.01, "weight_decay": 0.0, "patience": None},
        "feature_norm": "none",
        "sampler": {"name": "graphs", "batch_size": 128},
    },
    "image": {
        "encoder": {"name": "small"},
        "augmentation": {"name": "image"},
        "training": {"epochs": 100, "optimizer": "adamw", "lr": 1e-3, "weight_decay": 1e-4, **_COSINE},
        "feature_norm": "none",
        "sampler": {"name": "images", "batch_size": 256},
    },
}
"""Defaults of a recipe by section. Those of graphs are GraphCL's on the TU sets; those of images suit a CPU."""

SECTIONS = ("encoder", "augmentation", "spectral", "training", "feature_norm", "sampler")  # of a method's defaults


def settings_of(method: Any) -> dict[str, Any]:
    """Return the settings of a method or its class, by recipe section: its own ``defaults`` over its task's.

    A section keeps what the method does not change, unless the method gives it another name.
    """
    settings = dict(SETTINGS[method.task])
    for key, value in method.defaults.items():
        if key not in SECTIONS:
            raise unknown_name(f"section in the defaults of {getattr(method, '__name__', method)}", key, SECTIONS)
        old = settings.get(key)
        same = isinstance(old, Mapping) and isinstance(value, Mapping) and value.get("name") in (None, old.get("name"))
        settings[key] = {**old, **value} if same else value  # type: ignore[dict-item]
    return settings
