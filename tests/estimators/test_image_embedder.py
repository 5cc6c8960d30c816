"""The embedder of images has scikit-learn's manners, and takes images in any of their shapes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from torch_geometric.data import Data

import sfa
from sfa import ImageEmbedder
from sfa.data import build_images
from sfa.errors import InputError
from sfa.run import Recipe, load_recipe
from sfa.train import train

NARROW = {"method.head_hidden": 16, "method.head_width": 8}
SMALL: dict[str, Any] = {"hidden": 4, "epochs": 2, "batch_size": 16, "random_state": 0, "options": NARROW}
WIDTH = 16
"""Of the embeddings: the last of three stages."""


@pytest.fixture(scope="module")
def images(pictures_arrays: dict[str, np.ndarray]) -> np.ndarray:
    return pictures_arrays["x"]


@pytest.fixture(scope="module")
def fitted(images: np.ndarray) -> ImageEmbedder:
    """For reading only."""
    return ImageEmbedder(**SMALL).fit(images)


def test_it_is_the_packages_own_name() -> None:
    assert sfa.ImageEmbedder is ImageEmbedder
    assert "ImageEmbedder" in sfa.__all__


def test_parameters_round_trip() -> None:
    given = {
        "method": "barlow-twins",
        "spectral": "none",
        "encoder": "resnet18",
        "augmentation": "identity",
        "hidden": 5,
        "iterations": 2,
        "tau": 0.5,
        "epochs": 7,
        "lr": 0.1,
        "batch_size": 9,
        "image_size": 8,
        "skip_corrupt": True,
        "options": {"training.warmup": 2},
        "random_state": 4,
        "device": "cpu",
        "verbose": 0,
        "callbacks": None,
    }
    embedder = ImageEmbedder(**given)
    assert embedder.get_params() == given
    assert clone(embedder).get_params() == given


def test_it_trains_as_the_recipe_says(images: np.ndarray, fitted: ImageEmbedder) -> None:
    """Training by hand gives the same embeddings."""
    changes = {"encoder.hidden": 4, "training.epochs": 2, "sampler.batch_size": 16, "training.seed": 0, **NARROW}
    recipe = Recipe.parse({"method": "simclr", "spectral": "sfa"}).updated(changes)
    assert fitted.recipe_ == recipe
    data = build_images(images)
    method = recipe.build_for(data)
    train(method, data, **recipe.training.arguments, sampler=recipe.make_sampler(), device="cpu")
    assert np.array_equal(method.eval().embed(data).numpy(), fitted.embedding_)
    assert fitted.embedding_.shape == (60, WIDTH)
    assert [epoch["epoch"] for epoch in fitted.history_] == [1, 2]
    assert fitted.image_ids_ == list(range(60))
    assert fitted.n_features_in_ == 3


def test_images_of_every_shape_give_the_same(images: np.ndarray, fitted: ImageEmbedder, tmp_path: Path) -> None:
    np.savez(tmp_path / "images.npz", x=images)
    shapes: list[Any] = [
        torch.from_numpy(images),
        [Image.fromarray(image) for image in images],
        list(images),
        build_images(images),
        str(tmp_path / "images.npz"),
    ]
    for given in shapes:
        np.testing.assert_allclose(fitted.transform(given), fitted.embedding_, atol=1e-6)


def test_what_it_makes_of_an_image_depends_on_no_other(images: np.ndarray, fitted: ImageEmbedder) -> None:
    np.testing.assert_allclose(fitted.transform(images[7:8]), fitted.embedding_[7:8], atol=1e-5)


def test_of_a_set_with_parts_those_to_train_on_alone_are_learnt_from(pictures: Data) -> None:
    changed = build_images(
        np.where(np.arange(60)[:, None, None, None] < 45, pictures.x.numpy(), 255 - pictures.x.numpy()),
        train_mask=pictures.train_mask.numpy(),
        test_mask=pictures.test_mask.numpy(),
    )
    one, other = (ImageEmbedder(**SMALL).fit_transform(data) for data in (pictures, changed))
    assert np.array_equal(one[:45], other[:45])
    assert not np.allclose(one[45:], other[45:])


def test_saved_and_loaded_it_is_the_same(images: np.ndarray, fitted: ImageEmbedder, tmp_path: Path) -> None:
    """The colors that it was fitted to are part of it."""
    fitted.save(tmp_path / "mine.safetensors")
    again = ImageEmbedder.load(tmp_path / "mine.safetensors")
    assert np.array_equal(again.transform(images), fitted.embedding_)
    assert torch.equal(again.method_.encoder.mean, fitted.method_.encoder.mean)
    assert again.recipe_ == fitted.recipe_
    with pytest.raises(InputError, match=r"a fitted sfa.ImageEmbedder: load"):
        sfa.NodeEmbedder.load(tmp_path / "mine.safetensors")


def test_a_recipe_by_name_and_methods_of_other_levels() -> None:
    embedder = ImageEmbedder.from_recipe("barlow-twins/cifar10")
    assert embedder._recipe() == (load_recipe("barlow-twins/cifar10"), {})
    with pytest.raises(InputError, match=r"not images: use sfa.NodeEmbedder"):
        ImageEmbedder("grace").fit(np.zeros((4, 8, 8), np.uint8))
    with pytest.raises(InputError, match=r"not graphs: use sfa.ImageEmbedder"):
        sfa.GraphEmbedder("simclr").fit([])


def test_channels_must_agree(fitted: ImageEmbedder, images: np.ndarray) -> None:
    with pytest.raises(InputError, match="images: 1; this embedder"):
        fitted.transform(images[..., 0])


def test_unfitted_it_says_so(images: np.ndarray) -> None:
    with pytest.raises(NotFittedError, match=r"ImageEmbedder is not fitted yet"):
        ImageEmbedder().transform(images)


def test_it_is_a_step_of_a_pipeline(images: np.ndarray, pictures_arrays: dict[str, np.ndarray]) -> None:
    classifier = make_pipeline(ImageEmbedder(**SMALL), LogisticRegression(max_iter=5000))
    accuracy = cross_val_score(classifier, images, pictures_arrays["y"], cv=3)
    assert accuracy.mean() > 0.5, "three corners"


def test_an_online_probe_is_refused(images: np.ndarray) -> None:
    with pytest.raises(InputError, match="An online probe needs labels"):
        ImageEmbedder(**{**SMALL, "options": {"training.online_probe": True}}).fit(images)
