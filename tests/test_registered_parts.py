"""All registered encoders, augmentations and postprocessing steps, whatever their names are."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor
from torch_geometric.data import Data

from sfa.augment import Augmentation
from sfa.nn import as_encoder
from sfa.registry import build, registered
from sfa.tasks import Task, num_items, task_of

KINDS = {"encoder": "encoders", "augmentation": "augmentations", "postprocess": "postprocess"}
"""Kinds of parts, and what ``sfa list`` calls them."""


@pytest.fixture
def data(planted: Data, molecules: Data, pictures: Data) -> dict[Task, Data]:
    return {task_of(one): one for one in (planted, molecules, pictures)}


def features_of(data: Data) -> int:
    return int(data.x.shape[-1])


def built_encoder(name: str, data: dict[Task, Data]) -> tuple[Any, Data]:
    """Encoders say their level; each takes the number of features or channels first."""
    for task, one in data.items():
        encoder = build("encoder", {"name": name}, features_of(one))
        if encoder.task == task:
            return encoder, one
    raise AssertionError(f"{name} embeds nothing")


@pytest.mark.parametrize("name", registered("encoder"))
def test_encoders_are_built_with_their_defaults_and_embed(name: str, data: dict[Task, Data]) -> None:
    encoder, one = built_encoder(name, data)
    assert as_encoder(encoder, encoder.task) is encoder
    with torch.no_grad():
        z = encoder.embed(one)
    assert z.shape == (num_items(one), encoder.width)
    assert z.isfinite().all()
    assert encoder.training


@pytest.mark.parametrize("name", registered("augmentation"))
def test_augmentations_are_built_with_their_defaults_and_give_two_views(name: str, data: dict[Task, Data]) -> None:
    augmentation = build("augmentation", {"name": name})
    assert isinstance(augmentation, Augmentation)
    assert repr(augmentation).startswith(f"{type(augmentation).__name__}(")
    for task in data if augmentation.task is None else [augmentation.task]:
        one = data[task]
        before = {key: value.clone() for key, value in one.to_dict().items() if isinstance(value, Tensor)}
        views, again = (augmentation(one, torch.Generator().manual_seed(0)) for _ in range(2))
        assert len(views) == 2
        for view, same in zip(views, again, strict=True):
            assert rows_of(view) == num_items(one)
            assert all(torch.equal(*pair) for pair in zip(tensors_of(view), tensors_of(same), strict=True))
        alone = torch.Generator().manual_seed(0)
        for index, view in enumerate(views):
            single = augmentation.view(one, alone, index)
            assert all(torch.equal(*pair) for pair in zip(tensors_of(view), tensors_of(single), strict=True))
        assert all(torch.equal(one[key], value) for key, value in before.items()), "the data stay as they are"


def rows_of(view: Data | Tensor) -> int:
    return num_items(view) if isinstance(view, Data) else len(view)


def tensors_of(view: Data | Tensor) -> list[Tensor]:
    values = view.to_dict().values() if isinstance(view, Data) else [view]
    return [value.to_dense() for value in values if isinstance(value, Tensor)]


@pytest.mark.parametrize("name", registered("postprocess"))
def test_steps_are_built_with_their_defaults_and_keep_the_rows(name: str, planted: Data) -> None:
    step: Callable[[Tensor, Data], Tensor] = build("postprocess", {"name": name})
    z = torch.randn(60, 5, generator=torch.Generator().manual_seed(0))
    before = z.clone()
    found = step(z, planted)
    assert found.dim() == 2
    assert len(found) == 60
    assert found.dtype == z.dtype
    assert found.isfinite().all()
    assert torch.equal(z, before)


@pytest.mark.parametrize("kind", KINDS)
def test_all_are_described_and_listed(kind: str, run_sfa: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """By the first line of the docstring, one sentence that begins with a capital letter."""
    monkeypatch.setenv("COLUMNS", "300")
    result = run_sfa("list", KINDS[kind])
    assert result.code == 0
    assert registered(kind)
    for name, part in registered(kind).items():
        summary = (inspect.getdoc(part) or "").splitlines()[0]
        summary = re.sub(r":\w+:`~?([\w.]+)`", lambda role: role[1].split(".")[-1], summary).replace("`", "")
        assert summary[0].isupper()
        assert summary.endswith((".", ":"))
        line = next(line for line in result.out.splitlines() if line.split()[:1] == [name])
        assert " ".join(line.split()) == " ".join([name, *summary.split()])
