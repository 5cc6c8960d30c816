"""Whatever is wrong with the input: one sentence, exit code 2, no traceback, nothing on disk touched."""

from __future__ import annotations

import os
import pickle
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch_geometric.data import Data

from sfa.cli import main
from sfa.errors import InputError
from sfa.train import load_tensors, save_tensors

RunSfa = Callable[..., Any]

ABSENT = "mps" if torch.cuda.is_available() else "cuda"


def x(n: int = 4) -> np.ndarray:
    return np.ones((n, 3), dtype=np.float32)


EDGES = np.array([[0, 1, 2], [1, 2, 3]])
POISONED = x()
POISONED[2, 1] = np.nan
INFINITE = x()
INFINITE[3, 0] = np.inf

BAD_GRAPHS: dict[str, tuple[dict[str, Any], str]] = {
    "features of one dimension": ({"x": np.ones(4), "edge_index": EDGES}, "shape"),
    "no features": ({"edge_index": EDGES}, "features"),
    "no edges key": ({"x": x(), "edges": EDGES}, "edge_index"),
    "an edge index of three rows": ({"x": x(), "edge_index": np.ones((3, 4), dtype=int)}, "shape"),
    "NaN features": ({"x": POISONED, "edge_index": EDGES}, "NaN.*row 2"),
    "infinite features": ({"x": INFINITE, "edge_index": EDGES}, "infinite.*row 3"),
    "an edge beyond the nodes": ({"x": x(), "edge_index": np.array([[0], [4]])}, "4"),
    "a negative edge": ({"x": x(), "edge_index": np.array([[0], [-1]])}, "-1"),
    "no edges": ({"x": x(), "edge_index": np.zeros((2, 0), dtype=int)}, "no edges"),
    "self-loops alone": ({"x": x(), "edge_index": np.array([[0, 1], [0, 1]])}, "no edges"),
    "one node": ({"x": x(1), "edge_index": np.array([[0], [0]])}, "1 node"),
    "features that are text": ({"x": np.full((4, 3), "a"), "edge_index": EDGES}, "numbers"),
    "labels of another length": ({"x": x(), "edge_index": EDGES, "y": np.zeros(3, dtype=int)}, "labels of shape"),
    "negative labels": ({"x": x(), "edge_index": EDGES, "y": np.array([0, 1, -7, 0])}, "-7"),
    "weights of another length": ({"x": x(), "edge_index": EDGES, "edge_weight": np.ones(2)}, "weight"),
}


@pytest.mark.parametrize(("arrays", "reason"), BAD_GRAPHS.values(), ids=BAD_GRAPHS)
def test_graphs(tmp_path: Path, refuses: Callable[..., str], arrays: dict[str, Any], reason: str) -> None:
    np.savez(tmp_path / "graph.npz", **arrays)
    sentence = refuses("train", tmp_path / "graph.npz")
    assert re.search(reason, sentence), sentence


BAD_FILES: dict[str, tuple[str, bytes | None]] = {
    "missing": ("graph.npz", None),
    "empty": ("graph.npz", b""),
    "not an archive": ("graph.npz", b"hello there"),
    "half an archive": ("graph.npz", b"PK\x03\x04" + b"\0" * 40),
    "a pickle in a .pt": ("graph.pt", pickle.dumps({"x": 1})),
    "an unknown suffix": ("graph.xls", b"1,2"),
    "an edge list without features": ("edges.csv", b"source,target\n0,1\n"),
    "broken XML": ("graph.graphml", b"<graphml><graph"),
}


@pytest.mark.parametrize(("name", "content"), BAD_FILES.values(), ids=BAD_FILES)
def test_files(tmp_path: Path, refuses: Callable[..., str], name: str, content: bytes | None) -> None:
    path = tmp_path / name
    if content is not None:
        path.write_bytes(content)
    assert str(path) in refuses("train", path)


def test_a_folder_without_graphs_in_it(tmp_path: Path, refuses: Callable[..., str]) -> None:
    assert "has no graph files in it" in refuses("train", tmp_path)


def test_features_and_labels_that_do_not_fit(tmp_path: Path, refuses: Callable[..., str]) -> None:
    edges, features, labels = (tmp_path / name for name in ("edges.csv", "features.csv", "labels.csv"))
    edges.write_text("source,target\na,b\nb,zebra\n")
    features.write_text("id,f0\na,1\nb,2\n")
    labels.write_text("id,label\na,1\nyak,2\n")
    assert "zebra" in refuses("train", edges, features=features)
    edges.write_text("source,target\na,b\n")
    assert "yak" in refuses("train", edges, features=features, labels=labels)
    assert "missing.csv" in refuses("train", edges, features=tmp_path / "missing.csv")
    assert "missing.csv" in refuses("train", edges, features=features, labels=tmp_path / "missing.csv")


@pytest.mark.parametrize(
    ("options", "nearest"),
    [
        (["--method", "grcae"], "did you mean 'grace'"),
        (["--method", "gbt"], "did you mean 'g-bt'"),
        (["--spectral", "sfaa"], "did you mean 'sfa'"),
        (["--recipe", "paper/coar"], "did you mean 'paper/cora'"),
        (["--recipe", "paper"], "cora"),
        (["--method", "grace", "--set", "method.taus=1"], "did you mean 'tau'"),
        (["--set", "metod.tau=1"], "did you mean 'method'"),
        (["--set", "training.epoch=1"], "did you mean 'epochs'"),
        (["--method", "grace", "--set", "spectral.iteration=1"], "did you mean 'iterations'"),
        (
            ["--method", "grace", "--hidden", "16", "--set", "spectral.directions=16"],
            "below the number of features, 16",
        ),
        (["--method", "g-bt", "--hidden", "8", "--set", "spectral.directions=9"], "below the number of features, 8"),
        (["--spectral", "maxexp", "--set", "spectral.etta=3"], "did you mean 'eta'"),
        (["--spectral", "costa", "--set", "spectral.ratio=0"], "ratio"),
        (["--set", "training.diagnose_every=-1"], "diagnose_every"),
        (["--method", "g-bt", "--tau", "0.5"], "tau"),
        (["--spectral", "none", "--iterations", "2"], "iterations"),
        (["--set", "method.tau"], "KEY=VALUE"),
        (["--set", "method.tau=[1"], "YAML"),
        (["--set", "method.name=[grace]"], "method"),
        (["--epochs", "0"], "epochs"),
        (["--epochs", "-3"], "epochs"),
        (["--hidden", "0"], "hidden"),
        (["--lr", "0"], "lr"),
        (["--lr", "nan"], "lr"),
        (["--method", "grace", "--tau", "-1"], "tau"),
        (["--seed", "-1"], "seed"),
        (["--method", "grace", "--iterations", "-1"], "iterations"),
        (["--method", "grace", "--set", "method.edge_drop=[0.2,1.5]"], "edge_drop"),
        (["--device", "nonsense"], "nonsense"),
        (["--device", ABSENT], ABSENT),
        (["--recipe", "missing.yaml"], "missing.yaml"),
    ],
    ids=str,
)
def test_options(planted_file: Path, refuses: Callable[..., str], options: list[str], nearest: str) -> None:
    assert nearest in refuses("train", planted_file, *options)


def test_the_name_of_a_data_set(refuses: Callable[..., str]) -> None:
    assert "did you mean 'cora'" in refuses("train", "corra")
    assert "own features" in refuses("train", "cora", features="x.csv")
    assert "which data" in refuses("train", "--epochs", 3)


def test_a_recipe_file(planted_file: Path, tmp_path: Path, refuses: Callable[..., str]) -> None:
    recipe = tmp_path / "mine.yaml"
    recipe.write_text("method:\n  name: grace\n  temperature: 0.5\n")
    assert "'temperature'" in refuses("train", planted_file, recipe=recipe)
    recipe.write_text("method: [")
    assert "not valid YAML" in refuses("train", planted_file, recipe=recipe)
    recipe.write_text("trainig:\n  epochs: 5\n")
    assert "did you mean 'training'" in refuses("train", planted_file, recipe=recipe)


def test_output_folders(planted_file: Path, tmp_path: Path, refuses: Callable[..., str]) -> None:
    (tmp_path / "file").write_text("precious")
    assert "is a file" in refuses("train", planted_file, out=tmp_path / "file")
    assert "is a file" in refuses("train", planted_file, out=tmp_path / "file" / "run")
    assert "already holds files" in refuses("train", planted_file, out=tmp_path)


def test_an_output_folder_that_cannot_be_written(
    planted_file: Path, tmp_path: Path, refuses: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def read_only(*_: object, **__: object) -> None:
        raise OSError(30, "Read-only file system")

    monkeypatch.setattr("tempfile.mkdtemp", read_only)
    assert "Read-only file system" in refuses("train", planted_file, out=tmp_path / "run")


def test_the_demo_checks_its_output_folder_before_it_trains(tmp_path: Path, refuses: Callable[..., str]) -> None:
    (tmp_path / "file").write_text("precious")
    assert "is a file" in refuses("demo", "--quiet", out=tmp_path / "file", epochs=1)


@pytest.fixture
def run_copy(trained_run: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(trained_run, tmp_path / "run"))


READERS = [("evaluate",), ("embed", "--out", "z.npz"), ("train", "--resume", "--out")]


def command(reader: tuple[str, ...], run: Path) -> list[str]:
    return [*reader, str(run)] if reader[-1] == "--out" else [reader[0], str(run), *reader[1:]]


@pytest.mark.parametrize("reader", READERS, ids=lambda reader: reader[0])
@pytest.mark.parametrize(
    ("record", "reason"),
    [
        ('{"format": 999}', "another version"),
        ("{}", "another version"),
        ("{", "cannot be read"),
        ("", "cannot be read"),
        (None, "not a run folder"),
        ('{"format": 3}', "run.json"),
        ('{"format": 3, "source": 3, "fingerprint": "", "in_features": 8}', "run.json"),
    ],
)
def test_records(
    run_copy: Path, refuses: Callable[..., str], reader: tuple[str, ...], record: str | None, reason: str
) -> None:
    (run_copy / "run.json").unlink()
    if record is not None:
        (run_copy / "run.json").write_text(record)
    assert reason in refuses(*command(reader, run_copy))


@pytest.mark.parametrize("reader", READERS, ids=lambda reader: reader[0])
def test_recipes_of_a_run(run_copy: Path, refuses: Callable[..., str], reader: tuple[str, ...]) -> None:
    recipe = run_copy / "recipe.yaml"
    recipe.write_text(recipe.read_text() + "colour: red\n")
    assert "colour" in refuses(*command(reader, run_copy))
    recipe.unlink()
    assert "recipe.yaml" in refuses(*command(reader, run_copy))


@pytest.mark.parametrize("reader", READERS, ids=lambda reader: reader[0])
@pytest.mark.parametrize("share", [0, 0.005, 0.3, 0.99])
def test_truncated_checkpoints(
    run_copy: Path, refuses: Callable[..., str], reader: tuple[str, ...], share: float
) -> None:
    checkpoint = run_copy / "checkpoint.safetensors"
    content = checkpoint.read_bytes()
    checkpoint.write_bytes(content[: int(share * len(content))])
    assert "truncated" in refuses(*command(reader, run_copy), *(["--quiet"] if reader[0] == "train" else []))


@pytest.mark.parametrize("reader", READERS, ids=lambda reader: reader[0])
def test_checkpoints_of_another_shape(run_copy: Path, refuses: Callable[..., str], reader: tuple[str, ...]) -> None:
    recipe = run_copy / "recipe.yaml"
    recipe.write_text(recipe.read_text().replace("hidden: 8", "hidden: 9"))
    assert "does not fit" in refuses(*command(reader, run_copy), *(["--quiet"] if reader[0] == "train" else []))


class Bomb:
    def __reduce__(self) -> tuple[object, tuple[str]]:
        return os.mkdir, ("marker",)


@pytest.mark.parametrize("reader", READERS, ids=lambda reader: reader[0])
def test_checkpoints_are_never_unpickled(run_copy: Path, refuses: Callable[..., str], reader: tuple[str, ...]) -> None:
    (run_copy / "checkpoint.safetensors").write_bytes(pickle.dumps(Bomb()))
    refuses(*command(reader, run_copy), *(["--quiet"] if reader[0] == "train" else []))
    assert not Path("marker").exists()


@pytest.mark.parametrize("reader", READERS[:2], ids=lambda reader: reader[0])
def test_runs_without_a_checkpoint(run_copy: Path, refuses: Callable[..., str], reader: tuple[str, ...]) -> None:
    (run_copy / "checkpoint.safetensors").unlink()
    assert "no checkpoint" in refuses(*command(reader, run_copy))


@pytest.mark.parametrize("reader", READERS, ids=lambda reader: reader[0])
def test_data_that_changed(
    planted: Data,
    tiny: list[str],
    tmp_path: Path,
    run_sfa: RunSfa,
    refuses: Callable[..., str],
    reader: tuple[str, ...],
) -> None:
    data, run = tmp_path / "graph.pt", tmp_path / "run"
    torch.save(Data(x=planted.x, edge_index=planted.edge_index, y=planted.y), data)
    assert run_sfa("train", data, *tiny, out=run, epochs=1).code == 0
    torch.save(Data(x=2 * planted.x, edge_index=planted.edge_index, y=planted.y), data)
    assert "have changed" in refuses(*command(reader, run))
    data.unlink()
    assert re.search("There is no file or folder|are no longer in", refuses(*command(reader, run)))


def test_resuming(trained_run: Path, planted_file: Path, refuses: Callable[..., str]) -> None:
    resume = ("train", "--resume", "--out", trained_run)
    assert "training.lr" in refuses(*resume, lr=0.5)
    assert "another value of encoder.hidden:" in refuses(*resume, hidden=9)
    assert "encoder.name" in refuses(*resume, encoder="mlp")
    assert "another value of spectral" in refuses(*resume, spectral="noise,sfa")
    assert "another value of feature_norm:" in refuses(*resume, set="feature_norm=none")
    assert "method.name" in refuses(*resume, method="g-bt")
    assert "--out" in refuses("train", "--resume")
    assert "--out" in refuses("train", planted_file, "--resume")
    assert "not a run folder" in refuses("train", "--resume", out="nowhere")
    assert "have changed" in refuses("train", "cora", "--resume", out=trained_run)


@pytest.mark.parametrize(
    ("out", "reason"),
    [
        ("missing/z.npz", "does not exist"),
        ("z.txt", "must end in"),
        ("folder.d", "must end in"),
        (".", "holds other files"),
        ("folder.npz", "is a folder"),
        ("file/z.npz", "file"),
    ],
)
def test_where_to_embed(
    trained_run: Path,
    workplace: Path,
    refuses: Callable[..., str],
    monkeypatch: pytest.MonkeyPatch,
    out: str,
    reason: str,
) -> None:
    (workplace / "folder.npz").mkdir()
    (workplace / "file").touch()
    monkeypatch.setattr("sfa.run.embed.open_runs", None)  # refused before any work
    assert reason in refuses("embed", trained_run, out=out)


def test_embedding_a_graph_with_other_features(trained_run: Path, tmp_path: Path, refuses: Callable[..., str]) -> None:
    np.savez(tmp_path / "other.npz", x=x(), edge_index=EDGES)
    assert "3 features" in refuses("embed", trained_run, out="z.npz", data=tmp_path / "other.npz")


def test_the_protocol(trained_run: Path, refuses: Callable[..., str]) -> None:
    assert "did you mean 'honest-10-10-80'" in refuses("evaluate", trained_run, protocol="honest-10-80")


def train_with_labels(planted: Data, y: Any, path: Path, run_sfa: RunSfa, tiny: list[str]) -> Any:
    """Train with scoring on: it must succeed whatever the labels are."""
    labels = {} if y is None else {"y": y}
    np.savez(path / "graph.npz", x=planted.x.numpy(), edge_index=planted.edge_index.numpy(), **labels)
    return run_sfa("train", path / "graph.npz", *tiny, "--evaluate", epochs=1, out=path / "run")


@pytest.mark.parametrize(
    ("labels", "reason"),
    [
        (None, "needs labels"),
        ([0] * 60, "2 classes"),
        ([0, 1] * 29 + [1, 2], "Class 2 has 1"),
        (["ham", "spam"] * 29 + ["spam", "egg"], "'?egg'? has 1"),
        ([0, 1, 2, -1, -1, -1] * 2 + [-1] * 48, "too few|at least 3|has 2"),
    ],
    ids=["none", "one class", "a rare class", "a rare class with a name", "few"],
)
def test_labels_that_cannot_be_scored(
    planted: Data,
    tmp_path: Path,
    run_sfa: RunSfa,
    refuses: Callable[..., str],
    tiny: list[str],
    labels: list[Any] | None,
    reason: str,
) -> None:
    result = train_with_labels(planted, labels, tmp_path, run_sfa, tiny)
    assert result.code == 0
    assert "No scores: " in result.err
    assert re.search(reason, result.err)
    assert "propagated features" in result.out, "what can be told without labels"
    if labels is None:
        assert run_sfa("evaluate", tmp_path / "run").out == result.out
        return
    sentence = refuses("evaluate", tmp_path / "run")
    assert re.search(reason, sentence), sentence


@pytest.mark.parametrize(
    "words",
    [
        ["train", "missing.npz"],
        ["--debug", "train", "missing.npz"],
        ["evaluate", "nowhere"],
        ["embed", "nowhere", "--out", "z.npz"],
        ["train", "cora", "--method", "grcae"],
    ],
    ids=" ".join,
)
def test_debug_shows_the_real_exception(words: list[str]) -> None:
    with pytest.raises(InputError):
        main([*words, "--debug"])


@pytest.mark.parametrize(
    ("words", "named"),
    [
        (["trian", "cora"], "trian"),
        (["train", "cora", "--colour", "red"], "--colour"),
        (["train", "cora", "--epochs", "many"], "--epochs"),
        (["train", "cora", "--feature-norm", "rows"], "--feature-norm"),
        (["list", "metods"], "methods"),
        (["embed", "run"], "--out"),
    ],
)
def test_a_wrong_line_is_refused(run_sfa: RunSfa, workplace: Path, words: list[str], named: str) -> None:
    result = run_sfa(*words)
    assert result.code == 2
    assert result.out == ""
    assert named in result.err
    assert "Traceback" not in result.err
    assert list(workplace.iterdir()) == []


@pytest.mark.parametrize("reader", [*READERS, ("cluster",)], ids=lambda reader: reader[0])
@pytest.mark.parametrize(
    ("meta", "weights", "state", "reason"),
    [
        ({"epoch": "5"}, 1.0, True, "epoch"),
        ({"epoch": None}, 1.0, True, "epoch"),
        ({"epoch": -1}, 1.0, True, "epoch"),
        ({"epoch": 6}, 1.0, True, "epoch 6, and the recipe has 5"),
        ({"finished": False}, 1.0, True, "epoch 5, and the recipe has 5"),
        ({}, float("nan"), True, "NaN"),
        ({}, float("inf"), True, "infinite"),
        ({}, 1.0, False, "the state of the optimizer is missing"),
    ],
)
def test_checkpoints_that_are_damaged(
    run_copy: Path,
    refuses: Callable[..., str],
    reader: tuple[str, ...],
    meta: dict[str, Any],
    weights: float,
    state: bool,
    reason: str,
) -> None:
    path = run_copy / "checkpoint.safetensors"
    tensors, before = load_tensors(path)
    tensors["model.head.0.bias"].mul_(weights)
    tensors = {name: one for name, one in tensors.items() if state or not name.startswith("optimizer.")}
    save_tensors(path, tensors, before | meta)
    assert reason in refuses(*command(reader, run_copy), *(["--quiet"] if reader[0] == "train" else []))


def test_a_checkpoint_that_is_not_what_was_written(run_copy: Path, refuses: Callable[..., str]) -> None:
    path = run_copy / "checkpoint.safetensors"
    content = bytearray(path.read_bytes())
    content[-9] ^= 1
    path.write_bytes(content)
    assert "not what was written" in refuses("evaluate", run_copy)


LONG = "x" * 300


@pytest.mark.parametrize("out", [LONG, f"{LONG}/run", "~nosuchuser/run", "loop", "loop/run"])
def test_names_of_output_that_no_file_can_have(
    planted_file: Path, trained_run: Path, refuses: Callable[..., str], out: str
) -> None:
    Path("loop").symlink_to("loop")
    refuses("train", planted_file, out=out)
    refuses("embed", trained_run, out=f"{out}/z.npz")
    refuses("sweep", planted_file, out=out, epochs=1)


def test_a_folder_that_cannot_hold_a_search(planted_file: Path, refuses: Callable[..., str]) -> None:
    assert "question mark" in refuses("sweep", planted_file, out="a?b", epochs=1)
    Path("s").mkdir()
    Path("s", "trials.sqlite").write_text("mine")
    assert "without its search.json" in refuses("sweep", planted_file, out="s", epochs=1)


@pytest.mark.parametrize("out", ["pipe", "loop", "~nosuchuser/results.json"])
def test_what_no_ledger_may_take_the_place_of(planted_file: Path, refuses: Callable[..., str], out: str) -> None:
    Path("loop").symlink_to("loop")
    os.mkfifo("pipe")
    refuses("study", "ablation", "--datasets", planted_file, ledger=out, epochs=1)
    assert Path("pipe").is_fifo()
