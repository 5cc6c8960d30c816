"""A run on a graph store, from training to files of embeddings."""

from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import torch
from torch_geometric.data import Data

from sfa.data.write_store import write_store
from sfa.errors import InputError
from sfa.run import embed_run, open_run, train_run

SMALL = {"encoder.hidden": 12, "encoder.inner": 16, "method.hidden": 16}


def test_a_store_is_trained_on_and_embedded_into_a_folder(
    planted: Data, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SFA_MEMORY", "64MB")  # set_memory changes it
    write_store(planted, tmp_path / "store", float16=True)
    options = {"set": SMALL, "epochs": 2, "evaluate": False, "memory": "100MB"}
    run = train_run(str(tmp_path / "store"), out=tmp_path / "run", **options)
    frame = pd.read_parquet(tmp_path / "run" / "embeddings")
    assert frame["node_id"].tolist() == list(range(60))
    columns = [f"z{i}" for i in range(16)]
    z = run.embedding()
    assert np.array_equal(frame[columns].to_numpy(), z.numpy())
    embed_run(tmp_path / "run", out=f"{tmp_path}/again/")
    assert np.array_equal(pd.read_parquet(tmp_path / "again")[columns].to_numpy(), z.numpy())
    embed_run(tmp_path / "run", data=str(tmp_path / "store"), out=tmp_path / "z.npy")
    assert np.array_equal(np.load(tmp_path / "z.npy"), z.numpy())


def test_an_encoder_that_uses_edges_reads_the_store_into_memory(planted: Data, tmp_path: Path) -> None:
    write_store(planted, tmp_path / "store", float16=True)
    z = []
    for number, data in enumerate((str(tmp_path / "store"), planted)):
        options = {"method": "grace", "hidden": 8, "epochs": 1, "embed": "none", "evaluate": False, "spectral": "none"}
        z.append(train_run(data, out=tmp_path / str(number), **options).embedding())
    torch.testing.assert_close(*z, atol=2e-3, rtol=2e-2)


def test_what_does_not_fit_in_memory_is_refused_before_training(
    planted: Data, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_store(planted, tmp_path / "store")
    monkeypatch.setattr("sfa.memory.free_bytes", lambda *_: 1000)
    with pytest.raises(InputError, match="GB of memory"):
        train_run(str(tmp_path / "store"), method="grace", out=tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_what_does_not_fit_on_the_disk_is_refused_before_training(
    planted: Data, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_store(planted, tmp_path / "store")
    monkeypatch.setattr("sfa.run.large.shutil.disk_usage", lambda _: SimpleNamespace(free=1000))
    with pytest.raises(InputError, match="TMPDIR"):
        train_run(str(tmp_path / "store"), out=tmp_path / "run", set=SMALL)
    assert not (tmp_path / "run").exists()


def test_a_run_on_a_store_opens_again(planted: Data, tmp_path: Path) -> None:
    write_store(planted, tmp_path / "store")
    options = {"method": "propagate", "hidden": 8, "embed": "none", "evaluate": False}
    run = train_run(str(tmp_path / "store"), out=tmp_path / "run", **options)
    assert torch.equal(open_run(tmp_path / "run").embedding(), run.embedding())
