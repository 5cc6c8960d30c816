"""Every augmentation says in one sentence what it cannot take."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from torch_geometric.data import Data

from sfa import InputError
from sfa.registry import registered
from tests.cases import each

EDGES = torch.tensor([[0, 1], [1, 0]])
WRONG: dict[str, Any] = {
    "an array": np.ones((2, 3)),
    "a list": [[1.0, 2.0]],
    "nothing": None,
    "a tensor": torch.ones(2, 3),
    "empty": Data(),
    "no edges": Data(x=torch.ones(2, 3)),
    "no features": Data(edge_index=EDGES, num_nodes=2),
    "arrays": Data(x=np.ones((2, 3)), edge_index=EDGES.numpy()),
}
AUGMENTATIONS = {name: made for name, made in registered("augmentation").items() if made.task is not None}


@each(("name", "given"), [(name, wrong) for name in AUGMENTATIONS for wrong in WRONG])
def test_what_cannot_be_augmented_is_refused_in_one_sentence(name: str, given: str) -> None:
    with pytest.raises(InputError) as caught:
        AUGMENTATIONS[name]()(WRONG[given])
    assert "\n" not in str(caught.value)
