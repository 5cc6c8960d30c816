"""What the commands say of what they did, or could not do."""

from __future__ import annotations

import json
import resource
import shutil
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from sfa.evaluate import possible
from sfa.registry import registered, resolve
from sfa.run.display import counted
from sfa.run.evaluate import _of_other_tasks
from sfa.run.train_recipe import _of_probe
from sfa.train import RunFolder, load_tensors, save_tensors

RunSfa = Callable[..., Any]
TINY = ["--hidden", "4", "--set", "method.head_hidden=16", "--set", "method.head_width=8", "--batch-size", "16"]


@pytest.fixture(scope="module")
def image_run(pictures_file: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    from sfa.cli import main

    path = tmp_path_factory.mktemp("runs") / "pictures"
    with pytest.raises(SystemExit) as ended:
        main(["train", str(pictures_file), "--epochs", "1", "--out", str(path), "--quiet", "--no-evaluate", *TINY])
    assert not ended.value.code
    return path


@pytest.mark.parametrize("suffix", [".npz", ".parquet", ".csv", ".pt"])
def test_embeddings_that_no_longer_fit_on_the_disk(
    trained_run: Path, run_sfa: RunSfa, workplace: Path, suffix: str
) -> None:
    (workplace / f"z{suffix}").write_text("the old ones")
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (500, limits[1]))
    try:
        result = run_sfa("embed", trained_run, "--quiet", out=f"z{suffix}")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert (result.code, result.out, result.err) == (1, "", f"sfa: Cannot write z{suffix}: File too large.\n")
    assert {file.name: file.read_text() for file in workplace.iterdir()} == {f"z{suffix}": "the old ones"}


def test_one_is_no_plural(run_sfa: RunSfa, image_run: Path, pictures_arrays: dict[str, np.ndarray]) -> None:
    np.savez("one.npz", x=pictures_arrays["x"][:1])
    result = run_sfa("embed", image_run, data="one.npz", out="z.csv")
    assert "1 embedding of width 16 in z.csv" in result.err, result.err
    assert counted(2, "image") == "2 images"


def test_an_online_probe_needs_labels(
    pictures_arrays: dict[str, np.ndarray], tmp_path: Path, refuses: Callable[..., str]
) -> None:
    np.savez(tmp_path / "bare.npz", x=pictures_arrays["x"])
    sentence = refuses("train", tmp_path / "bare.npz", "--online-probe", *TINY)
    assert sentence.startswith("sfa: --online-probe is not possible here: ")
    assert "labels" in sentence


def test_what_an_online_probe_tells() -> None:
    online = {"train": 81.2, "validation": 83.1, "validation_top5": 97.0}
    assert _of_probe(online) == "81.20 % of the views, 83.10 % of held-out training images (top-5 97.00 %)"
    assert _of_probe({"validation": 50.0}) == "50.00 % of held-out training images"


def test_images_of_several_sizes_are_told_the_size_of_training(
    image_run: Path, tmp_path: Path, refuses: Callable[..., str]
) -> None:
    folder = tmp_path / "photos"
    folder.mkdir()
    for side in (8, 9):
        Image.fromarray(np.zeros((side, side, 3), dtype=np.uint8)).save(folder / f"{side}.png")
    sentence = refuses("embed", image_run, data=folder, out="z.csv")
    assert "have different sizes: 8.png is 8 × 8 pixels" in sentence
    assert f"give a size to which all are brought, --image-size 12, the size that the run in {image_run}" in sentence
    assert "image-size 64" not in sentence.replace(str(image_run), "")
    assert json.loads((image_run / "run.json").read_text())["size"] == [12, 12]


def test_protocols_for_other_data_are_one_line(
    run_sfa: RunSfa, image_run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "sfa.run.evaluate.possible", lambda data: ([resolve("protocol", "image-knn")], possible(data)[1])
    )
    shutil.copytree(image_run, tmp_path / "run")
    result = run_sfa("evaluate", tmp_path / "run", "--quiet", protocol="all")
    assert result.code == 0, result.err
    fitting = ("clustering", "label-signal", "ridge-60-20-20")
    others = [name for name in registered("protocol") if name not in fitting and not name.startswith("image-")]
    by_name, whole, line = [line for line in result.out.splitlines() if line.startswith("not here")]
    assert whole.startswith("not here, ridge-60-20-20: The labels are whole numbers")
    assert by_name == "not here, label-signal: It is a diagnosis and no score: ask for it by name."
    of = "the nodes of one graph or whole graphs"
    assert line == f"not here, {len(others)} protocols for {of}: {', '.join(others)}"
    assert _of_other_tasks(["image-knn"]) == "not here, 1 protocol for images: image-knn"


def test_images_without_labels_are_not_refused_for_being_images(
    run_sfa: RunSfa, image_run: Path, tmp_path: Path, pictures_arrays: dict[str, np.ndarray]
) -> None:
    np.savez(tmp_path / "bare.npz", x=pictures_arrays["x"])
    assert run_sfa("train", tmp_path / "bare.npz", *TINY, epochs=1, out=tmp_path / "run").code == 0
    assert (
        "No protocol is possible here: Evaluation needs labels"
        in run_sfa("evaluate", tmp_path / "run", protocol="all").err
    )


def test_a_resumed_run_says_where_it_goes_on(trained_run: Path, run_sfa: RunSfa, tmp_path: Path) -> None:
    folder = RunFolder(Path(shutil.copytree(trained_run, tmp_path / "run")))
    resume = ["train", "--resume", "--no-evaluate"]
    assert "\nTraining is done already, at epoch 5.\n" in run_sfa(*resume, out=folder.path).err
    tensors, meta = load_tensors(folder.checkpoint)
    save_tensors(folder.checkpoint, tensors, {**meta, "epoch": 3, "finished": False})
    assert "\nGoing on from epoch 3.\n" in run_sfa(*resume, out=folder.path).err
    folder.checkpoint.unlink()
    assert "\nNo checkpoint yet: from the start.\n" in run_sfa(*resume, out=folder.path).err


def test_help_and_the_doctor_tell_of_images(run_sfa: RunSfa, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "400")
    told = run_sfa("train", "--help").out
    for words in ("--data-root", "--image-size", "4<=x<=2048"):
        assert words in told
    doctor = run_sfa("doctor").out
    rows = dict(line.split(maxsplit=1) for line in doctor.splitlines() if len(line.split()) == 2)
    assert rows["Pillow"].strip() == version("pillow")
    assert "CIFAR" in doctor.split("•")[1]


@pytest.mark.parametrize(("size", "says"), [(3, "equal to 4"), (2049, "equal to 2048")])
def test_sizes_that_images_cannot_be_brought_to(run_sfa: RunSfa, size: int, says: str) -> None:
    result = run_sfa("train", "photos", image_size=size)
    assert result.code == 2
    assert "--image-size" in result.err
    assert says in result.err
