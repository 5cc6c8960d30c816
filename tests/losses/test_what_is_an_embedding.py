"""Every loss says in one sentence what it cannot take."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from sfa import InputError, losses
from tests.cases import each

LOSSES = {name: loss for name, loss in vars(losses).items() if inspect.isfunction(loss)}
Z = torch.linspace(-1, 1, 24).reshape(4, 6)
ROWS = {
    "owner": torch.tensor([0, 1, 2, 3]),
    "edges": torch.tensor([[0, 1], [1, 2]]),
    "shuffles": torch.tensor([[1, 2, 3, 0]]),
}
ROWS["non_edges"] = ROWS["edges"]
WRONG: dict[str, Any] = {
    "an array": np.ones((4, 6), dtype=np.float32),
    "a list": [[1.0, 2.0]],
    "nothing": None,
    "a sparse tensor": torch.eye(4).to_sparse(),
    "compressed rows": torch.eye(4).to_sparse_csr(),
    "a meta tensor": torch.ones(4, 6, device="meta"),
    "booleans": torch.ones(4, 6, dtype=torch.bool),
    "complex numbers": torch.ones(4, 6, dtype=torch.complex64),
    "text": "text",
}


def arguments(name: str) -> dict[str, Any]:
    """Sound arguments, for every parameter that is a tensor."""
    wanted = [
        key for key, one in inspect.signature(LOSSES[name]).parameters.items() if one.annotation in (Tensor, "Tensor")
    ]
    z = Z.reshape(2, 2, 6) if name == "skip_gram" else Z
    given = {key: ROWS.get(key, z) for key in wanted}
    return given | ({"window": 1} if name == "skip_gram" else {})


def test_all_losses_are_here() -> None:
    assert {"nt_xent", "barlow_twins", "sinkhorn", "multiplet", "schatten_penalty"} < LOSSES.keys()
    assert all(LOSSES[name](**arguments(name)).isfinite().all() for name in LOSSES)


@pytest.mark.filterwarnings("ignore:Sparse CSR tensor support is in beta")
@each(("name", "given"), [(name, wrong) for name in LOSSES for wrong in WRONG])
def test_what_is_no_embedding_is_refused_in_one_sentence(name: str, given: str) -> None:
    for key, value in arguments(name).items():
        if isinstance(value, Tensor):
            with pytest.raises(InputError, match=r"is a (floating-point )?tensor.*, not ") as caught:
                LOSSES[name](**arguments(name) | {key: WRONG[given]})
            assert "\n" not in str(caught.value)
    with pytest.raises((InputError, TypeError)):
        LOSSES[name](WRONG[given], WRONG[given], WRONG[given])


@each(("name", "key"), [("reconstruction", "edges"), ("reconstruction", "non_edges"), ("multiplet", "shuffles")])
def test_rows_that_are_not_there_are_named(name: str, key: str) -> None:
    with pytest.raises(InputError, match="row number is out of range"):
        LOSSES[name](**arguments(name) | {key: ROWS[key] + 9})
