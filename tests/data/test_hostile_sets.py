"""Files of named data sets that would run code, crash or flood: none of it happens, whichever file it is."""

from __future__ import annotations

import io
import os
import pickle
import subprocess
import sys
import zipfile
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from scipy import sparse
from torch_geometric.data import Data

from sfa.data import load
from sfa.data.readers.pickled import read_pickle
from sfa.errors import InputError
from tests.data.test_datasets import LAYOUTS, random_graph
from tests.data.test_tu_sets import ATOMS, write_tu


class Evil:
    """Make a folder when unpickled."""

    def __init__(self, trace: Path) -> None:
        self.trace = trace

    def __reduce__(self) -> tuple[Any, ...]:
        return os.mkdir, (str(self.trace),)


def hostile(trace: Path) -> dict[str, bytes]:
    """Pickles that would run code: by themselves, in the archive of torch.save, of numpy.save and of numpy.savez."""
    evil, made = Evil(trace), {}
    for protocol in (0, 2, 4):
        made[f"pickle {protocol}"] = pickle.dumps(evil, protocol)
    for name, write in {
        "pt": lambda file: torch.save({"x": evil}, file),
        "old pt": lambda file: torch.save({"x": evil}, file, _use_new_zipfile_serialization=False),
        "npy": lambda file: np.save(file, np.array([evil], dtype=object), allow_pickle=True),
        "npz": lambda file: np.savez(file, **{key: np.array([evil], dtype=object) for key in EVERY}),
    }.items():
        file = io.BytesIO()
        write(file)
        made[name] = file.getvalue()
    return made


EVERY = ["x", "y", "edge_index", "ptr", "labels", "node_features", "node_labels", "edges", "x_train", "x_test"]
EVERY += [f"{prefix}_{part}" for prefix in ("attr", "adj") for part in ("data", "indices", "indptr", "shape")]
EVERY += ["train_mask", "val_mask", "test_mask", "train_masks", "val_masks", "test_masks"]


def write_set(name: str, root: Path) -> list[Path]:
    if name == "nci1":
        write_tu(root, node_labels=ATOMS)
    else:
        LAYOUTS[name][0](root, random_graph(LAYOUTS[name][2]))
    return sorted(path for path in root.rglob("*") if path.is_file())


@pytest.mark.parametrize("name", [*LAYOUTS, "nci1"])
def test_nothing_in_a_raw_file_is_run(name: str, tmp_path: Path) -> None:
    files = write_set(name, tmp_path / "root")
    for file in [*files[:3], *files[-2:]]:
        sound = file.read_bytes()
        for content in hostile(tmp_path / "trace").values():
            file.write_bytes(content)
            with pytest.raises(InputError):
                load(name, root=tmp_path / "root")
        file.write_bytes(sound)
        file.rename(tmp_path / "aside")
        os.mkfifo(file)
        with pytest.raises(InputError, match=r"ordinary file|has no file"):
            load(name, root=tmp_path / "root")
        file.unlink()
        (tmp_path / "aside").rename(file)
    load(name, root=tmp_path / "root")
    assert not (tmp_path / "trace").exists()


def test_processed_files_of_torch_geometric_are_not_read(tmp_path: Path, cache: Path) -> None:
    for name in ("photo", "citeseer", "wikics", "nci1"):
        raw = write_set(name, tmp_path / name)[0].parent
        for processed in (raw.parent / "processed", cache / raw.parent.relative_to(tmp_path / name) / "processed"):
            processed.mkdir(parents=True)
            for file in ("data.pt", "data_undirected.pt", "pre_filter.pt", "pre_transform.pt"):
                (processed / file).write_bytes(hostile(tmp_path / "trace")["pt"])
        load(name, root=tmp_path / name)
    assert not (tmp_path / "trace").exists()


def test_arrays_in_the_cache_that_became_pickles_are_refused(tmp_path: Path, cache: Path) -> None:
    write_set("ogbn-arxiv", tmp_path / "root")
    load("ogbn-arxiv", root=tmp_path / "root")
    kept = sorted((cache / "processed").rglob("*.npy"))
    assert len(kept) == 6
    for file in kept:
        sound = file.read_bytes()
        for content in hostile(tmp_path / "trace").values():
            file.write_bytes(content)
            with pytest.raises(InputError):
                load("ogbn-arxiv", root=tmp_path / "root")
        file.write_bytes(sound)
    assert not (tmp_path / "trace").exists()


@pytest.mark.parametrize("suffix", ["npz", "npy", "pt", "csv", "tsv", "txt", "gml", "graphml", "png", "parquet"])
def test_nothing_in_a_file_is_run(suffix: str, tmp_path: Path) -> None:
    (tmp_path / "e.csv").write_text("a,b\nb,c\n")
    (tmp_path / "photos").mkdir()
    for content in hostile(tmp_path / "trace").values():
        file = tmp_path / "photos" / f"g.{suffix}"
        file.write_bytes(content)
        for given, options in (
            (file, {"node_features": "degree"}),
            (file.parent, {"node_features": "degree"}),
            (tmp_path / "e.csv", {"features": file}),
            (tmp_path / "e.csv", {"labels": file, "node_features": "degree"}),
        ):
            with pytest.raises(InputError):
                load(given, **options)  # type: ignore[arg-type]
    assert not (tmp_path / "trace").exists()


@pytest.mark.parametrize("protocol", range(5))
def test_pickles_of_arrays_are_read(protocol: int, tmp_path: Path) -> None:
    matrix = sparse.csr_matrix(np.eye(3, dtype=np.float32))
    lists = defaultdict(list, {0: [1, 2], 1: [], 2: [70000]})
    for value in (np.arange(6, dtype=">i4").reshape(2, 3), np.asfortranarray(np.ones((2, 3))), np.array([True])):
        (tmp_path / "p").write_bytes(pickle.dumps(value, protocol))
        assert np.array_equal(read_pickle(tmp_path / "p"), value)
    (tmp_path / "p").write_bytes(pickle.dumps(matrix, protocol))
    assert np.array_equal(read_pickle(tmp_path / "p")["x_data"], matrix.data)
    assert read_pickle(tmp_path / "p")["x_shape"].tolist() == [3, 3]
    (tmp_path / "p").write_bytes(pickle.dumps(lists, protocol))
    assert read_pickle(tmp_path / "p") == lists


DEEP = b")" + b"\x85" * 500_000
BAD_PICKLES = {
    "a key that is nested deep": b"\x80\x02}" + DEEP + b"K\1s.",
    "a set of what is nested deep": b"\x80\x04\x8f(" + DEEP + b"\x90.",
    "a place beyond memory": b"\x80\x02}r\xff\xff\xff\x7fcx\ny\n.",
    "bytes beyond memory": b"\x80\x05\x96\0\0\0\0\0\1\0\0.",
    "a state for a class": b"\x80\x02cnumpy\nndarray\n}U\1xK\1sb.",
    "a call of what is read": b"\x80\x02cnumpy\nndarray\n)R)R.",
    "a name in a name": b"\x80\x04\x8c\5numpy\x8c\x0cndarray.view\x93)R.",
    "another module": b"cos\nsystem\n(S'true'\ntR.",
    "an extension": b"\x80\x02\x82\1.",
    "more taken than there is": b"\x80\x02\x87\x87R.",
    "no end": b"\x80\x02}",
    "nothing": b"",
    "objects": pickle.dumps(np.array([None]), 2),
    "a number": pickle.dumps(5, 2),
}


@pytest.mark.parametrize("kind", BAD_PICKLES)
def test_pickles_of_something_else_are_refused(kind: str, tmp_path: Path) -> None:
    (tmp_path / "p").write_bytes(BAD_PICKLES[kind])
    with pytest.raises(InputError, match="is refused: a Planetoid file may hold arrays only") as caught:
        read_pickle(tmp_path / "p")
    assert "\n" not in str(caught.value)


def test_indices_of_a_pickled_matrix_are_checked(tmp_path: Path) -> None:
    write_set("citeseer", tmp_path)
    for key, wrong in (("indices", [10**9, 1]), ("indptr", [0, 10**9] + [0] * 511), ("_shape", (512, 10**12))):
        matrix = sparse.csr_matrix(np.eye(512, 4, dtype=np.float32))
        matrix.__dict__[key] = wrong if key == "_shape" else np.array(wrong, dtype=np.int32)
        file = next(tmp_path.rglob("ind.citeseer.allx"))
        file.write_bytes(pickle.dumps(matrix, 2))
        with pytest.raises(InputError):
            load("citeseer", root=tmp_path)


def test_files_that_would_end_the_interpreter(tmp_path: Path) -> None:
    """In a process of their own, for a defect would end this one."""
    torch.save(Data(x=torch.eye(3), edge_index=torch.tensor([[0, 1], [1, 2]])), tmp_path / "sound.pt")
    contents = {"key": b"\x80\x02}" + DEEP + b"K\1s.", "set": b"\x80\x02c__builtin__\nset\n]" + DEEP + b"a\x85R."}
    contents["bytes"] = b"\x80\x02cbuiltins\nbytearray\n\x8a\6\0\0\0\0\0\1\x85R."
    for name, content in contents.items():
        with zipfile.ZipFile(tmp_path / "sound.pt") as sound, zipfile.ZipFile(tmp_path / f"{name}.pt", "w") as bad:
            for member in sound.infolist():
                bad.writestr(member.filename, content if member.filename.endswith("data.pkl") else sound.read(member))
        (tmp_path / f"old_{name}.pt").write_bytes(content)
    with (
        zipfile.ZipFile(tmp_path / "sound.pt") as sound,
        zipfile.ZipFile(tmp_path / "bomb.pt", "w", zipfile.ZIP_DEFLATED) as bomb,
    ):
        for member in sound.infolist():
            bomb.writestr(member.filename, sound.read(member) + b"\0" * 10**7 * member.filename.endswith("/0"))
    paths = sorted(map(str, tmp_path.glob("*.pt")))
    script = (
        "import sys\nfrom sfa.data import load\nfrom sfa.errors import InputError\nfor path in sys.argv[1:]:\n"
        "    try:\n        load(path)\n        print('loaded', path)\n    except InputError as error:\n        pass\n"
    )
    done = subprocess.run([sys.executable, "-c", script, *paths], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, f"loaded {tmp_path / 'sound.pt'}\n"), done.stderr
