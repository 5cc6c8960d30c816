"""Images in memory, by name and by path: the same set whatever they come in."""

from __future__ import annotations

import io
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from PIL import Image
from torch_geometric.data import Data

from sfa.data import arrays as mapped
from sfa.data import as_images, build_images, fingerprint, load
from sfa.errors import InputError
from tests.memory_maps import file_of

COLOUR = np.random.default_rng(0).integers(0, 256, (4, 5, 6, 3), dtype=np.uint8)
GREY = COLOUR[..., 0]
linux = pytest.mark.skipif(sys.platform != "linux", reason="only Linux says which memory is which file")


@pytest.mark.parametrize("x", [COLOUR, GREY], ids=["colour", "grey"])
def test_every_form_is_the_same_set(x: NDArray[np.uint8]) -> None:
    pictures = [Image.fromarray(one) for one in x]
    objects = np.empty(len(x), dtype=object)
    objects[:] = pictures
    forms: dict[str, Any] = {
        "array": x,
        "tensor": torch.from_numpy(x.copy()),
        "list of arrays": list(x),
        "tuple of tensors": tuple(torch.from_numpy(x.copy())),
        "PIL images": pictures,
        "mixture": [pictures[0], x[1], torch.from_numpy(x[2].copy()), pictures[3]],
        "array of PIL images": objects,
        "image set": build_images(x),
    }
    assert {name: fingerprint(as_images(form)) for name, form in forms.items()} == dict.fromkeys(
        forms, fingerprint(build_images(x))
    )


def test_grey_images_among_coloured_ones_get_three_equal_channels() -> None:
    for images in (
        [COLOUR[0], GREY[1]],
        [Image.fromarray(COLOUR[0]), Image.fromarray(GREY[1])],
        [COLOUR[0], GREY[1, ..., None]],
    ):
        x = as_images(images).x.numpy()
        assert np.array_equal(x[0], COLOUR[0])
        assert np.array_equal(x[1], np.repeat(GREY[1, ..., None], 3, axis=2))


def test_pil_images_of_any_kind() -> None:
    see_through = Image.new("RGBA", (6, 5), (200, 0, 0, 0))
    see_through.putpixel((1, 2), (200, 0, 0, 255))
    x = as_images([see_through, Image.new("P", (6, 5)), Image.new("CMYK", (6, 5), (0, 0, 0, 255))]).x
    assert x.shape == (3, 5, 6, 3)
    assert x[0, 2, 1].tolist() == [200, 0, 0]
    assert x[0, 0, 0].tolist() == [255, 255, 255]
    assert x[1:].max() == 0
    assert as_images([Image.new("1", (6, 5), 1)]).x.unique().tolist() == [255]
    sixteen_bits = Image.fromarray(np.full((5, 6), 65535, dtype=np.uint16))
    assert as_images([sixteen_bits]).x.unique().tolist() == [255]
    with pytest.raises(InputError, match="1 of the list"):
        as_images([see_through, Image.new("F", (6, 5))])


@pytest.mark.parametrize("mode", ["L", "RGB"])
def test_a_pil_image_that_is_cut_short(mode: str) -> None:
    file = io.BytesIO()
    Image.fromarray(np.random.default_rng(0).integers(0, 256, (64, 64, 3), dtype=np.uint8)).convert(mode).save(
        file, "png"
    )
    cut = Image.open(io.BytesIO(file.getvalue()[:2000]))
    with pytest.raises(InputError, match="1 of the list"):
        as_images([Image.new(mode, (64, 64)), cut])


def test_a_name_or_a_path(tmp_path: Path) -> None:
    assert fingerprint(as_images("digits")) == fingerprint(load("digits"))
    np.savez(tmp_path / "mine.npz", x=COLOUR, y=[0, 1, 1, 0])
    for path in (tmp_path / "mine.npz", str(tmp_path / "mine.npz")):
        data = as_images(path)
        assert (data.name, data.y.tolist()) == ("mine", [0, 1, 1, 0])
    with pytest.raises(InputError, match="did you mean 'digits'"):
        as_images("digitz")


def test_an_image_set_comes_back_as_it_is(pictures: Data) -> None:
    back = as_images(pictures)
    assert back.x.data_ptr() == pictures.x.data_ptr()
    assert back.keys() == pictures.keys()
    assert (back.name, back.image_ids, fingerprint(back)) == ("pictures", pictures.image_ids, fingerprint(pictures))


def test_labels_that_are_not_asked_for_may_be_anything() -> None:
    parts: dict[str, Any] = {"train_mask": [True, True, False, False], "test_mask": [False, False, True, True]}
    data = build_images(COLOUR, y=["a", "b", "a", "b"], **parts)
    data.y = torch.rand(3, 3)
    data.class_names = 7
    bare = as_images(data, labels=False)
    assert {"y", "class_names"}.isdisjoint(bare.keys())
    assert bare.train_mask.tolist() == parts["train_mask"]  # they say what is to be learned from
    assert bare.test_mask.tolist() == parts["test_mask"]
    with pytest.raises(InputError, match="labels of shape"):
        as_images(data)


@linux
def test_what_lies_on_disk_stays_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mapped, "MAPPED_BYTES", 100)
    np.save(tmp_path / "x.npy", COLOUR)
    data = as_images(np.load(tmp_path / "x.npy", mmap_mode="r"))
    monkeypatch.setattr(mapped, "MAPPED_BYTES", 1 << 30)
    again = as_images(data)
    assert again.mapped_features is True
    assert file_of(again.x) == str(tmp_path / "x.npy")


def test_what_is_no_set_of_images(subtests: pytest.Subtests) -> None:
    for given, says in [
        ([], "of 0 sizes .*it is empty; give some"),
        (
            [COLOUR[0], COLOUR[1, :4]],
            r"of 2 sizes \(height × width × channels\), 5 × 6 × 3 and 4 × 6 × 3; .* make",
        ),
        ([Image.new("L", (6, 5)), Image.new("L", (5, 6))], ", 5 × 6 × 1 and 6 × 5 × 1"),
        ([COLOUR[0], COLOUR[0, ..., :2]], ", 5 × 6 × 3 and 5 × 6 × 2"),
        ([COLOUR[0], COLOUR], r"Item 1 of the list is a ndarray of shape \[4, 5, 6, 3\], which is not one image"),
        ([COLOUR[0], "cat.png"], r"Item 1 of the list is a str of shape \[\]"),
        ([COLOUR[0], COLOUR[1] / 255], "float64 values, but bytes"),
        ([COLOUR[0].transpose(2, 0, 1)], "channels last"),
        ([COLOUR[0, ..., :2]], r"shape \[1, 5, 6, 2\]"),
        (COLOUR / 255, "float64 values, but bytes"),
        (Image.new("L", (6, 5)), "A Image is no set of images; allowed is .* a list of PIL images"),
        (7, "A int is no set of images; allowed is an array or tensor"),
        ({"x": COLOUR}, "A dict is no set of images"),
        (b"bytes", "A bytes is no set of images"),
        (None, "A NoneType is no set of images"),
        ("mutag", "mutag is a set of graphs, and a set of images is needed: GraphEmbedder .* embeds it"),
        ("cora", "cora is one graph, and a set of images is needed: NodeEmbedder"),
        (Data(x=torch.rand(4, 3)), "This is one graph"),
    ]:
        with subtests.test(says):
            with pytest.raises(InputError, match=says) as caught:
                as_images(given)
            assert "\n" not in str(caught.value)


def test_arrays_need_no_pillow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "PIL.Image")
    monkeypatch.setitem(sys.modules, "PIL", None)
    assert as_images(list(COLOUR)).x.shape == (4, 5, 6, 3)
    assert as_images("digits").num_nodes == 1797
