"""The commands on images: what changes for a user, and what stays."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas
import pytest
from PIL import Image

from sfa.cli import main
from sfa.run import load_recipe

RunSfa = Callable[..., Any]
TINY = ["--hidden", "4", "--set", "method.head_hidden=16", "--set", "method.head_width=8", "--batch-size", "16"]


@pytest.fixture(scope="session")
def image_run(pictures_file: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished run on the small set, for reading only."""
    path = tmp_path_factory.mktemp("runs") / "pictures"
    with pytest.raises(SystemExit) as ended:
        main(["train", str(pictures_file), "--epochs", "2", "--out", str(path), "--quiet", "--no-evaluate", *TINY])
    assert not ended.value.code
    return path


@pytest.fixture(scope="session")
def image_folder(pictures_arrays: dict[str, np.ndarray], tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("images")
    for number, (image, label) in enumerate(zip(pictures_arrays["x"], pictures_arrays["y"], strict=True)):
        place = folder / f"kind{label}"
        place.mkdir(exist_ok=True)
        Image.fromarray(image).save(place / f"{number:02}.png")
    return folder


def test_training_says_what_it_trains_on_and_scores(run_sfa: RunSfa, pictures_file: Path, tmp_path: Path) -> None:
    result = run_sfa("train", pictures_file, *TINY, epochs=2, out=tmp_path / "run")
    assert result.code == 0, result.err
    assert "pictures: 60 images of 12 × 12 pixels, 3 channels, 45 to train on, 15 to test on" in result.err
    assert "simclr + sfa, seed 0" in result.err
    assert "batches of 16 (images)" in result.err
    for row in ("image-linear: ", "raw pixels", "untrained encoder", "simclr + sfa"):
        assert row in result.out
    record = json.loads((tmp_path / "run" / "run.json").read_text())
    assert record["images"] == 60
    assert "nodes" not in record


@pytest.mark.slow
def test_the_bundled_digits_need_no_network(run_sfa: RunSfa, tmp_path: Path) -> None:
    result = run_sfa("train", "digits", "--no-evaluate", *TINY, epochs=1, method="barlow-twins", out=tmp_path / "run")
    assert result.code == 0, result.err
    assert "digits: 1797 images of 8 × 8 pixels, 1 channel, 1287 to train on, 510 to test on" in result.err


@pytest.mark.parametrize("protocol", ["image-knn", "image-sgd", "clustering"])
def test_other_protocols(run_sfa: RunSfa, image_run: Path, tmp_path: Path, protocol: str) -> None:
    path = tmp_path / "run"
    shutil.copytree(image_run, path)
    result = run_sfa("evaluate", path, protocol=protocol)
    assert result.code == 0, result.err
    assert "raw pixels" in result.out


def test_embeddings_carry_the_ids_of_images(run_sfa: RunSfa, image_run: Path, tmp_path: Path) -> None:
    assert run_sfa("embed", image_run, out=tmp_path / "z.csv").code == 0
    table = pandas.read_csv(tmp_path / "z.csv")
    assert table.columns[0] == "image_id"
    assert table.shape == (60, 1 + 16)


def test_a_folder_of_images_is_embedded(run_sfa: RunSfa, image_run: Path, image_folder: Path, tmp_path: Path) -> None:
    assert run_sfa("embed", image_run, data=image_folder, out=tmp_path / "folder.csv").code == 0
    assert run_sfa("embed", image_run, out=tmp_path / "own.csv").code == 0
    folder, own = (pandas.read_csv(tmp_path / name, index_col="image_id") for name in ("folder.csv", "own.csv"))
    np.testing.assert_allclose(folder.loc["kind1/01.png"], own.loc[1], rtol=1e-4, atol=1e-5)
    assert len(folder) == 60


def test_a_folder_is_trained_on_and_remembered(run_sfa: RunSfa, image_folder: Path, tmp_path: Path) -> None:
    path = tmp_path / "run"
    trained = run_sfa("train", image_folder, "--image-size", "8", *TINY, epochs=1, out=path)
    assert trained.code == 0, trained.err
    assert "60 images of 8 × 8 pixels" in trained.err
    assert run_sfa("embed", path, out=tmp_path / "z.npz").code == 0, "the size is in the run's record"


def test_corrupt_images_are_named_or_left_out(run_sfa: RunSfa, image_folder: Path, tmp_path: Path) -> None:
    folder, path = tmp_path / "images", tmp_path / "run"
    shutil.copytree(image_folder, folder)
    (folder / "kind1" / "broken.png").write_bytes(b"no image")
    refused = run_sfa("train", folder, *TINY, epochs=1, out=path)
    assert refused.code == 2
    assert "broken.png" in refused.err
    assert "--skip-corrupt" in refused.err
    assert not path.exists()
    trained = run_sfa("train", folder, "--skip-corrupt", "--no-evaluate", *TINY, epochs=1, out=path)
    assert trained.code == 0, trained.err
    assert "1 of 61 images could not be read and was left out: kind1/broken.png" in trained.err
    again = run_sfa("evaluate", path)
    assert again.code == 0, again.err


def test_an_interrupted_run_goes_on_to_the_same_bits(run_sfa: RunSfa, image_run: Path, tmp_path: Path) -> None:
    path = tmp_path / "run"
    shutil.copytree(image_run, path)
    before = (path / "checkpoint.safetensors").read_bytes()
    (path / "checkpoint.safetensors").unlink()
    assert run_sfa("train", "--resume", "--no-evaluate", out=path).code == 0
    assert (path / "checkpoint.safetensors").read_bytes() == before


def test_the_online_probe_reports_and_changes_nothing(
    run_sfa: RunSfa, image_run: Path, pictures_file: Path, tmp_path: Path
) -> None:
    path = tmp_path / "run"
    result = run_sfa("train", pictures_file, "--no-evaluate", "--online-probe", *TINY, epochs=2, out=path)
    assert result.code == 0, result.err
    line = r"^Online probe: \d+\.\d\d % of the views, \d+\.\d\d % of held-out training images$"
    assert re.search(line, result.err, re.MULTILINE), "top-5 says nothing of 3 classes"
    metrics = [json.loads(line) for line in (path / "metrics.jsonl").read_text().splitlines()]
    assert [0 <= epoch["online"]["train"] <= 100 for epoch in metrics] == [True, True]
    assert 0 <= metrics[-1]["online"]["validation"] <= 100
    from sfa.train import load_tensors

    watched, plain = (load_tensors(run / "checkpoint.safetensors")[0] for run in (path, image_run))
    for name in plain:
        assert np.array_equal(watched[name], plain[name]), name


def test_the_papers_recipe_of_another_method_is_that_methods_own_with_sfa() -> None:
    recipe = load_recipe("paper", "cifar10", "barlow-twins")
    own = load_recipe("barlow-twins/cifar10")
    assert recipe.method == own.method
    assert recipe.training == own.training
    assert (own.spectral["name"], recipe.spectral["name"], recipe.spectral["iterations"]) == ("none", "sfa", 1)
    assert recipe.training.epochs == 1000


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (
            ["train", "digits", "--method", "grace"],
            "grace embeds the nodes of one graph, and digits is a set of images",
        ),
        (["train", "cora", "--method", "simclr"], "simclr embeds images, and cora is one graph"),
        (["train", "mutag", "--method", "swav"], "swav embeds images, and mutag is a set of graphs"),
        (["train", "digits", "--sampler", "neighbours"], "simclr embeds images, and batches of neighbours"),
        (["train", "digits", "--set", "feature_norm=row"], "have no features to normalize"),
        (["train", "digits", "--image-size", "16"], "image"),
        (["train", "cora", "--skip-corrupt"], "image"),
        (["train", "cora", "--online-probe"], "image"),
        (["train", "digits", "--precision", "16-mixed", "--device", "cpu"], "16-mixed"),
        (["study", "methods", "--datasets", "digits", "mutag"], "A study is of one kind of data"),
        (["study", "noisy-features", "--datasets", "digits"], "have no features to normalize"),
        (["study", "noisy-edges", "--datasets", "digits"], "edge_noise replaces edges of one graph, and simclr embeds"),
    ],
)
def test_bad_input_is_refused_in_a_sentence(
    run_sfa: RunSfa, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], sentence: str
) -> None:
    monkeypatch.chdir(tmp_path)
    result = run_sfa(*arguments)
    assert result.code == 2
    assert sentence in result.err
    assert "Traceback" not in result.err
    assert not list(tmp_path.rglob("checkpoint*"))


def test_a_run_on_colours_refuses_grey_images(run_sfa: RunSfa, image_run: Path, tmp_path: Path) -> None:
    result = run_sfa("embed", image_run, data="digits", out=tmp_path / "z.csv")
    assert result.code == 2
    assert "Channels of digits: 1; the run in " in result.err


def test_a_study_compares_methods_on_images(run_sfa: RunSfa, pictures_file: Path, tmp_path: Path) -> None:
    narrow = ["--set", "method.hidden=4", "--set", "method.head_hidden=16", "--set", "method.head_width=8"]
    ledger = ["--ledger", str(tmp_path / "ledger.sqlite")]
    arguments = ["study", "methods", "--datasets", str(pictures_file), "--method", "simclr", *narrow, *ledger]
    result = run_sfa(*arguments, epochs=1, protocol="image-knn")
    assert result.code == 0, result.err
    for row in ("raw pixels", "untrained encoder", "simclr", "simclr + SFA"):
        assert row in result.out
    assert "One split and one seed: no deviation; several --seeds give one." in result.out
    exported = tmp_path / "ledger.csv"
    assert run_sfa("ledger", "export", *ledger, "--out", str(exported)).code == 0
    assert "image-knn" in exported.read_text()


def test_weights_that_are_too_large_to_be_of_use_are_not_saved(
    run_sfa: RunSfa, pictures_file: Path, tmp_path: Path
) -> None:
    """The loss of the only epoch is a number, and so is every weight; no embedding would be."""
    path = tmp_path / "run"
    result = run_sfa("train", pictures_file, *TINY, "--lr", "1e30", "--set", "training.warmup=0", epochs=1, out=path)
    assert result.code == 1
    assert "try a smaller learning rate" in result.err
    assert not (path / "checkpoint.safetensors").exists()
