"""Small graph stores, graphs of planted classes, and how much memory a block of code takes."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import torch
from torch_geometric.data import Data

from sfa.data import build_graph


def planted_graph(n: int = 20_000, classes: int = 10, degree: int = 10, width: int = 32) -> Data:
    """Return a stochastic block model, whose edges join the same class in seven of ten, and weak features."""
    rng = np.random.default_rng(0)
    y = rng.integers(classes, size=n)
    by_class = np.argsort(y, kind="stable")
    start = np.searchsorted(y[by_class], np.arange(classes + 1))
    source, target = rng.integers(n, size=(2, n * degree // 2))
    of_source = y[source]
    same = by_class[start[of_source] + (rng.random(len(source)) * np.diff(start)[of_source]).astype(int)]
    target = np.where(rng.random(len(source)) < 0.7, same, target)
    x = rng.standard_normal((n, width), dtype=np.float32) + 0.5 * np.eye(classes, width, dtype=np.float32)[y]
    return build_graph(x, np.stack([source, target])[:, source != target], y=y, name="planted")


@contextmanager
def anonymous_memory() -> Iterator[list[int]]:
    """Measure by how many bytes memory beside mapped files grows at most; they are in the list after the block."""

    def now() -> int:
        lines = Path("/proc/self/status").read_text().splitlines()
        return 1024 * next(int(line.split()[1]) for line in lines if line.startswith("RssAnon"))

    found, seen, done = list[int](), [now()], threading.Event()

    def watch() -> None:
        while not done.wait(0.002):
            seen.append(now())

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        yield found
    finally:
        done.set()
        watcher.join()
        found.append(max(seen) - seen[0])


def random_rows(folder: Path, n: int, width: int, classes: int = 5) -> tuple[torch.Tensor, torch.Tensor]:
    """Return float16 embeddings that are mapped from a file, and their classes, which they tell."""
    rng = np.random.default_rng(0)
    y = rng.integers(classes, size=n)
    z = np.lib.format.open_memmap(folder / "z.npy", "w+", np.float16, (n, width))
    for start in range(0, n, 50_000):
        piece = y[start : start + 50_000]
        z[start : start + 50_000] = rng.standard_normal((len(piece), width), dtype=np.float32)
        z[np.arange(start, start + len(piece)), piece] += 2
    z.flush()
    return torch.from_numpy(np.load(folder / "z.npy", mmap_mode="c")), torch.from_numpy(y)
