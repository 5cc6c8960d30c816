"""Train large graphs in batches, and refuse what does not fit in memory, before training starts."""

import os
import shutil
import tempfile
from collections.abc import Callable, Collection
from typing import Any

import torch
from torch_geometric.data import Data

from sfa import memory
from sfa.distributed import world_size
from sfa.errors import InputError
from sfa.methods import Method
from sfa.run.recipe import Recipe, Training
from sfa.sampling import Sampler
from sfa.train import BatchPlan

NODES = 50_000  # of which a processor needs minutes to compare all pairs
BATCH_SIZE = 1024


def in_batches(
    recipe: Recipe,
    method: Method,
    data: Data,
    asked: Collection[str],
    say: Callable[[str], None],
    device: torch.device | str = "cpu",
) -> Recipe:
    """Return the recipe with sampled batches if the graph is too large for steps on the whole of it, and say so.

    There are fewer epochs, so that there are about as many steps. Settings in ``asked``, given by path, stay.
    """
    names = [name for name in method.samplers or ("neighbours",) if name != "whole"]
    if recipe.sampler["name"] != "whole" or not names or any(path.startswith("sampler") for path in asked):
        return recipe
    is_slow = method.compares_all_pairs and data.num_nodes > NODES and torch.device(device).type == "cpu"
    if data.num_nodes <= BATCH_SIZE or not (is_slow or method.memory(data) > memory.free_bytes(device)):
        return recipe
    steps = -(-data.num_nodes // BATCH_SIZE)
    changes: dict[str, Any] = {"sampler": {"name": names[0], "batch_size": BATCH_SIZE}}
    if "training.epochs" not in asked:
        changes["training.epochs"] = -(-recipe.training.epochs // steps)
    recipe = recipe.updated(changes)
    why = "would take minutes" if is_slow else "would not fit in memory"
    say(
        f"A step on all {data.num_nodes} nodes {why}: training in batches of {BATCH_SIZE} ({names[0]}), epochs of "
        f"{steps} steps ({recipe.training.epochs} of them); --batch-size, --sampler and --epochs choose otherwise."
    )
    return recipe


def require_memory_for(method: Method, data: Data, sampler: Sampler, training: Training, device: torch.device) -> None:
    """Raise if a step, or embedding all nodes, takes more memory or temporary files than are free; say what helps."""
    batches = BatchPlan(data, lambda _: sampler, training.seed, device, training.accumulate)
    needed = max(method.memory(batches.first()), method.memory_to_embed(batches.data))
    is_shared = world_size() > 1 and device.type != "cuda"  # by the processes of this machine
    free = memory.free_bytes(device) / (int(os.environ.get("LOCAL_WORLD_SIZE", 1)) if is_shared else 1)
    if needed > free:
        raise InputError(
            f"{type(method).__name__} would take about {needed / 1e9:.3g} GB of memory on these data, and "
            f"{free / 1e9:.3g} GB are free: {method.saves_memory}."
        )
    if method.embeds_from_disk(data):
        columns = 0 if method.encoder is None else method.encoder.width * (getattr(method, "hops", 0) + 2)
        needed = data.num_nodes * (data.x.element_size() * columns + 4 * method.width)
        place = tempfile.gettempdir()
        if needed > (room := shutil.disk_usage(place).free):
            found = f"{needed / 1e9:.3g} GB of temporary files, and {place} has {room / 1e9:.3g} GB"
            raise InputError(
                f"Embeddings would need {found}: set TMPDIR to another folder, or take a smaller --hidden."
            )
