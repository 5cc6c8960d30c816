"""Convert generated graphs of growing size to stores, train on them and embed: time, memory, steps per second, probes.

    python benchmarks/scale.py --nodes 100000 1000000 10000000 --degree 20

The graph is a stochastic block model: a node draws half its partners, each of its own class with probability --same,
and is drawn by as many. Features are the mean of a node's class, with the other sign in a share --flip of the nodes,
plus noise, in float16: sums over neighbors lose most of the means, and an encoder that learns what the nodes of a class
have in common does not. With --tables the graph is also written as Parquet tables, of which "convert" makes the store
that is used, which must be the same. Each step runs in a process of its own. Memory is the largest anonymous part
(RssAnon), which leaves out the page cache of mapped files; beside it is the largest of all (ru_maxrss). Folders are
made in TMPDIR and removed.
"""

from __future__ import annotations

import argparse
import filecmp
import json
import os
import resource
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import torch
from torch import Tensor, nn

from sfa.data import convert_to_store
from sfa.data.store import StoredGraph, open_store
from sfa.data.write_store import NpyWriter, new_store, write_manifest
from sfa.graph.structure import take_rows
from sfa.methods import Propagate
from sfa.run import embed_run, train_run

CLASSES, WIDTH, CHUNK, BUCKET = 10, 64, 1 << 20, 1 << 18
LEARN, TEST = 100_000, 50_000  # rows, at most, of a probe


def generate(folder: Path, nodes: int, degree: int, same: float, strength: float, flip: float) -> dict[str, Any]:
    """Write a store, one row of nodes at a time: edges go to a file for each range of rows, which is then sorted."""
    rng = np.random.default_rng(0)
    means = strength * rng.standard_normal((CLASSES, WIDTH), dtype=np.float32)
    with new_store(folder) as (new, scratch):
        buckets = [(scratch / str(number)).open("wb") for number in range(-(-nodes // BUCKET))]
        for start in range(0, nodes * degree // 2, CHUNK):
            row = np.arange(start, min(start + CHUNK, nodes * degree // 2)) % nodes
            of_class = CLASSES * rng.integers(nodes // CLASSES, size=len(row)) + row % CLASSES
            col = np.where(rng.random(len(row)) < same, of_class, rng.integers(nodes, size=len(row)))
            ends = np.concatenate([[row, col], [col, row]], 1)[:, np.tile(row != col, 2)]
            ends = ends[:, np.argsort(ends[0] // BUCKET, kind="stable")]
            parts = np.split(ends, np.searchsorted(ends[0] // BUCKET, np.arange(1, len(buckets))), axis=1)
            for bucket, part in zip(buckets, parts, strict=True):
                bucket.write((part[0] * nodes + part[1]).tobytes())
        total = 0
        with NpyWriter(new / "indptr.npy", np.int64) as indptr, NpyWriter(new / "indices.npy", np.int64) as indices:
            indptr.append([0])
            for number, bucket in enumerate(buckets):
                bucket.close()
                keys = np.unique(np.fromfile(bucket.name, np.int64))
                Path(bucket.name).unlink()
                rows = min(BUCKET, nodes - number * BUCKET)
                indptr.append(total + np.bincount(keys // nodes - number * BUCKET, minlength=rows).cumsum())
                indices.append(keys % nodes)
                total += len(keys)
        with NpyWriter(new / "x.npy", np.float16, WIDTH) as x, NpyWriter(new / "y.npy", np.int64) as y:
            for start in range(0, nodes, BUCKET):
                label = np.arange(start, min(start + BUCKET, nodes)) % CLASSES
                sign = np.where(rng.random((len(label), 1)) < flip, -1, 1)
                x.append(sign * means[label] + rng.standard_normal((len(label), WIDTH), dtype=np.float32))
                y.append(label)
        write_manifest(new, f"blocks of {nodes}", {})
    return {"edges": total // 2, "GB": sum(file.stat().st_size for file in folder.iterdir()) / 1e9}


def write_tables(folder: Path) -> dict[str, Any]:
    """Write edges, each in one direction, and features with labels as Parquet tables, and remove all but the edges."""
    data, tables = open_store(folder / "store"), folder / "tables"
    tables.mkdir()
    for number, start in enumerate(range(0, data.num_nodes, BUCKET)):
        stop = min(start + BUCKET, data.num_nodes)
        rows, ids = data.indptr[start : stop + 1], torch.arange(start, stop)
        source = ids.repeat_interleave(rows.diff())
        target = data.indices[rows[0] : rows[-1]]
        kept = source < target
        edges = pa.table({"source": source[kept].numpy(), "target": target[kept].numpy()})
        pq.write_table(edges, tables / f"edges-{number:04d}.parquet")
        x = data.x[start:stop].float().numpy()
        columns = {"id": ids.numpy(), **{f"x{i}": x[:, i] for i in range(x.shape[1])}}
        columns["label"] = data.y[start:stop].numpy()
        pq.write_table(pa.table(columns), tables / f"nodes-{number:04d}.parquet")
    for name in ("x.npy", "y.npy"):
        (folder / "store" / name).unlink()
    (folder / "store").rename(folder / "generated")
    return {"GB": sum(file.stat().st_size for file in tables.iterdir()) / 1e9}


def convert(folder: Path) -> dict[str, Any]:
    """Convert the tables to a store, and compare its edges with those that were generated."""
    tables = folder / "tables"
    given = {"features": str(tables / "nodes-*.parquet"), "float16": True, "memory": os.environ["SFA_MEMORY"]}
    convert_to_store(str(tables / "edges-*.parquet"), folder / "store", **given)
    for name in ("indptr.npy", "indices.npy"):
        if not filecmp.cmp(folder / "generated" / name, folder / "store" / name, shallow=False):
            raise SystemExit(f"{name} is not the one that was generated.")
    return {"GB": sum(file.stat().st_size for file in (folder / "store").iterdir()) / 1e9}


def train(folder: Path, method: str, epochs: int, settings: list[str]) -> dict[str, Any]:
    """Train by a method, in the folder ``run`` beside the store."""
    given = dict(one.split("=") for one in settings)
    options = {key: json.loads(value) for key, value in given.items()}
    run = train_run(
        str(folder / "store"), method=method, set=options, epochs=epochs, out=folder / f"run-{method}", embed="none",
        evaluate=False, progress=True, spectral="none",
    )  # fmt: skip
    seconds = [row["seconds"] for row in run.metrics]
    if len(seconds) < 3:
        return {}
    sampler = run.recipe.sampler
    steps = -(-run.data.num_nodes // sampler["batch_size"])
    steps = min(steps, sampler.get("steps", steps))
    return {"first epoch, s": seconds[0], "steps/s": steps * (len(seconds) - 1) / (seconds[-1] - seconds[0])}


def embed(folder: Path, method: str) -> dict[str, Any]:
    """Write the embeddings into the folder ``z`` beside the store."""
    z = embed_run(folder / f"run-{method}", out=folder / f"z-{method}", progress=True).z
    return {"width": z.shape[1], "GB": sum(file.stat().st_size for file in (folder / f"z-{method}").iterdir()) / 1e9}


def probe(folder: Path, kind: str) -> dict[str, Any]:
    """Learn labels from some rows by logistic regression in batches, and return the accuracy on others."""
    data = open_store(folder / "store")
    rows = torch.from_numpy(np.random.default_rng(1).permutation(data.num_nodes))
    learn, test = (some.sort().values for some in (rows[: min(LEARN, len(rows) // 2)], rows[len(rows) // 2 :][:TEST]))
    x, other = (_rows(data, folder, kind, some).float() for some in (learn, test))
    mean, deviation = x.mean(0), x.std(0).clamp_min(1e-6)
    layer, generator = nn.Linear(x.shape[1], CLASSES), torch.Generator().manual_seed(0)
    optimizer = torch.optim.Adam(layer.parameters(), 0.01)
    steps = 1000
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, steps)
    for _ in range(steps):
        batch = torch.randint(len(x), (1024,), generator=generator)
        loss = nn.functional.cross_entropy(layer((x[batch] - mean) / deviation), data.y[learn[batch]])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        scheduler.step()
    with torch.no_grad():
        right = layer((other - mean) / deviation).argmax(1) == data.y[test]
    return {"accuracy, %": 100 * float(right.double().mean())}


def _rows(data: StoredGraph, folder: Path, kind: str, rows: Tensor) -> Tensor:
    """Return some ascending rows of raw features, of features over all hops, or of embeddings."""
    if kind == "raw":
        return take_rows(data.x, rows)
    if kind == "hops":
        method = Propagate(data.num_features)
        method.find_weights(data)
        return method.stored_blocks(data).rows(rows)
    found, first = [], 0
    for file in sorted((folder / f"z-{kind}").iterdir()):
        table = pq.read_table(file).drop_columns("node_id")
        own = rows[(rows >= first) & (rows < first + len(table))] - first
        found.append(torch.from_numpy(np.stack([column.to_numpy()[own] for column in table.columns], 1)))
        first += len(table)
    return torch.cat(found)


def measured(work: Callable[..., dict[str, Any]], *given: Any) -> dict[str, Any]:
    """Do something and return what it took."""
    most, done = [0], threading.Event()

    def watch() -> None:
        while not done.wait(0.02):
            with suppress(StopIteration), open("/proc/self/status") as file:
                held = next(line for line in file if line.startswith("RssAnon"))
                most[0] = max(most[0], 1024 * int(held.split()[1]))

    thread, start = threading.Thread(target=watch), time.perf_counter()
    thread.start()
    try:
        found = work(*given)
    finally:
        done.set()
        thread.join()
    whole = 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return {"seconds": time.perf_counter() - start, "memory, GB": most[0] / 1e9, "with pages, GB": whole / 1e9, **found}


def main() -> None:
    """Measure each step at each size, and print a table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--nodes", type=int, nargs="+", default=[100_000, 1_000_000])
    parser.add_argument("--degree", type=int, default=20)
    parser.add_argument("--same", type=float, default=0.5)
    parser.add_argument("--strength", type=float, default=0.4)
    parser.add_argument("--flip", type=float, default=0.4)
    parser.add_argument("--methods", nargs="*", default=["neighbor-contrast"])
    parser.add_argument("--epochs", type=int, default=30)
    parser.add_argument("--set", nargs="*", default=["method.hidden=128", "encoder.hidden=128"], help="as KEY=JSON")
    parser.add_argument("--memory", default="1.5GB", help="that work on a stored graph may hold")
    parser.add_argument("--tables", action="store_true", help="write tables and convert them to the store")
    parser.add_argument("--step", nargs=2, help=argparse.SUPPRESS)
    given = parser.parse_args()
    os.environ["SFA_MEMORY"] = given.memory
    if given.step:
        name, folder = given.step[0], Path(given.step[1])
        kind, _, method = name.partition(" ")
        graph = given.nodes[0], given.degree, given.same, given.strength, given.flip
        settings = [one for one in given.set if method != "propagate" or not one.startswith("encoder")]
        settings = [one for one in settings if method != "signa" or one != "method.hidden=128"]
        work: dict[str, tuple[Any, ...]] = {
            "generate": (generate, folder / "store", *graph),
            "tables": (write_tables, folder),
            "convert": (convert, folder),
            "train": (train, folder, method, given.epochs if method != "propagate" else 1, settings),
            "embed": (embed, folder, method),
            "probe": (probe, folder, method),
        }
        print(json.dumps(measured(*work[kind])))
        return
    columns = ("seconds", "memory, GB", "with pages, GB", "GB", "first epoch, s", "steps/s", "accuracy, %")
    print(f"| nodes | step | {' | '.join(columns)} |\n| --- | --- |{' --- |' * len(columns)}", flush=True)
    for nodes in given.nodes:
        with tempfile.TemporaryDirectory(prefix="scale-") as folder:
            steps = ["generate", *(["tables", "convert"] if given.tables else []), "probe raw", "probe hops"]
            steps += [f"{kind} {method}" for method in given.methods for kind in ("train", "embed", "probe")]
            for step in steps:
                command = [sys.executable, __file__, *sys.argv[1:], "--step", step, folder, "--nodes", str(nodes)]
                answer = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout
                found = json.loads(answer.splitlines()[-1])
                cells = [f"{found[column]:.3g}" if column in found else "" for column in columns]
                print(f"| {nodes} | {step} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
